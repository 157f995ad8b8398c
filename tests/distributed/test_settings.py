"""What needs no cluster of the code for clusters: clocks, questions that come too late, room."""

import numpy as np
import pytest

from hedgerow.binning import find_bins
from hedgerow.distributed import Settings, cluster
from hedgerow.distributed.cluster import Silence
from hedgerow.distributed.holder import Holder
from hedgerow.distributed.wire import Question
from hedgerow.growing.gradient_shard import GradientShardFactory
from hedgerow.growing.shards import LocalShards
from hedgerow.losses import make_loss
from hedgerow.table import read_table


def test_silence_is_told_by_the_clock_of_this_process(monkeypatch):
    now = 0.0
    monkeypatch.setattr(cluster.time, "monotonic", lambda: now)
    silence = Silence(Settings(timeout=10.0))
    for now in (0.0, 9.0, 18.0):
        silence.refuse({"a": {"last_seen": 1e9 + now}, "b": {"last_seen": 5.0 + now}})  # clocks may differ
    now = 27.0
    silence.refuse({"a": {"last_seen": 1e9 + 27}, "b": {"last_seen": 23.0}})
    now = 29.0
    with pytest.raises(
        TimeoutError, match=r"worker b has been silent for 11 seconds \(hedgerow.timeout=10\)"
    ):
        silence.refuse({"a": {"last_seen": 1e9 + 29}, "b": {"last_seen": 23.0}})


class Telling:
    """A part that keeps what it is told."""

    def __init__(self):
        self.told = []

    def tell(self, value):
        self.told.append(value)
        return self.told.copy(), ()


def test_a_question_that_comes_after_a_later_one_is_not_asked():
    holder = Holder([np.zeros((1, 2), np.uint8)], by_row=False, n_columns=1)
    holder._place = LocalShards([Telling()], [(0, 2)])
    assert holder.answer_here(Question("tell", ("a",), {}, turn=1), 0).said == {0: [["a"]]}
    assert holder.answer_here(Question("tell", ("c",), {}, turn=3), 0).said == {0: [["a", "c"]]}
    with pytest.raises(RuntimeError, match="came after a later one"):
        holder.answer_here(Question("tell", ("b",), {}, turn=2), 0)
    assert holder.answer_here(Question("tell", ("d",), {}, turn=4), 0).said == {0: [["a", "c", "d"]]}


@pytest.mark.parametrize("lean", [True, False])
def test_a_part_takes_the_memory_that_its_maker_says(lean):
    n, n_classes = 500, 4
    table = read_table(np.random.default_rng(0).normal(size=(n, 3)))
    bins = find_bins(table)
    maker = GradientShardFactory(
        bins, make_loss("log_loss", task="classification", n_classes=n_classes), low_memory=lean
    )
    part = maker(np.zeros((n, 16), np.uint8), {"y": (np.arange(n) % n_classes).astype(np.uint8)}, 0)
    part.raw = np.zeros((n_classes, n))
    part.pack_statistics(np.zeros((n_classes, 2), np.int64))
    part.start_tree(0, 0, np.arange(3))
    held = [part.raw, part.packed, part._rows, part._spare, part.codes.by_column]
    assert sum(one.nbytes for one in held) == n * maker.row_bytes
