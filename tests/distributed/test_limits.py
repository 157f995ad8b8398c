"""Limits of time and memory of the code for clusters, without a cluster."""

import dask
import numpy as np
import pytest

from hedgerow.binning import find_bins
from hedgerow.distributed import Settings, cluster, settings
from hedgerow.distributed.actor import Call, ShardActor
from hedgerow.distributed.cluster import Heartbeats, TaskMonitor
from hedgerow.distributed.shards import require_memory_for_rows
from hedgerow.growing.gradient_shard import GradientShardFactory
from hedgerow.growing.shards import LocalShards
from hedgerow.losses import make_loss
from hedgerow.table import read_table


@pytest.mark.parametrize(
    ("name", "value"), [("timeout", 0), ("patience", "soon"), ("fan-out", 1), ("direct", "yes")]
)
def test_settings_are_checked(name, value):
    with (
        dask.config.set({f"hedgerow.{name}": value}),
        pytest.raises(ValueError, match=f"hedgerow.{name} must"),
    ):
        settings()


def test_heartbeats_are_timed_by_the_clock_of_this_process(monkeypatch):
    now = 0.0
    monkeypatch.setattr(cluster, "clock", lambda: now)
    heartbeats = Heartbeats(Settings(timeout=10.0))
    for now in (0.0, 9.0, 18.0):
        heartbeats.check({"a": {"last_seen": 1e9 + now}, "b": {"last_seen": 5.0 + now}})  # clocks may differ
    now = 27.0
    heartbeats.check({"a": {"last_seen": 1e9 + 27}, "b": {"last_seen": 23.0}})
    now = 29.0
    with pytest.raises(
        TimeoutError, match=r"worker b has been silent for 11 seconds \(hedgerow.timeout=10\)"
    ):
        heartbeats.check({"a": {"last_seen": 1e9 + 29}, "b": {"last_seen": 23.0}})


def test_tasks_are_awaited_while_some_end_and_there_are_workers(monkeypatch):
    now, workers = 0.0, {"a": {"last_seen": 0.0}}
    monkeypatch.setattr(cluster, "clock", lambda: now)
    monkeypatch.setattr(cluster, "list_workers", lambda *_: workers)
    monitor = TaskMonitor(None, Settings(timeout=10.0, patience=30.0), "reading")
    for now in range(0, 300, 9):
        workers["a"]["last_seen"] = now
        monitor.check(n_left=1000 - now // 27)
    for now in range(300, 330, 9):
        workers["a"]["last_seen"] = now
        monitor.check(n_left=5)
    now = workers["a"]["last_seen"] = 331
    with pytest.raises(TimeoutError, match=r"reading: no task has ended for 30 seconds .*, and 5 are left"):
        monitor.check(n_left=5)
    workers.clear()
    now = 340
    monitor.check(n_left=4)
    now = 342
    with pytest.raises(TimeoutError, match=r"no worker for 10 seconds \(hedgerow.timeout\)"):
        monitor.check(n_left=3)


class Recorder:
    """A shard that stores its arguments."""

    def __init__(self):
        self.values = []

    def store(self, value):
        self.values.append(value)
        return self.values.copy(), ()


def test_a_call_that_arrives_after_a_later_one_is_refused():
    actor = ShardActor([np.zeros((1, 2), np.uint8)], layout=None)
    actor._shards = LocalShards([Recorder()], [(0, 2)])
    assert actor.run(Call("store", {0: [("a",)]}, number=1), 0).results == {0: [["a"]]}
    assert actor.run(Call("store", {0: [("c",)]}, number=3), 0).results == {0: [["a", "c"]]}
    with pytest.raises(RuntimeError, match="arrived after a later one"):
        actor.run(Call("store", {0: [("b",)]}, number=2), 0)
    assert actor.run(Call("store", {0: [("d",)]}, number=4), 0).results == {0: [["a", "c", "d"]]}


def test_memory_of_workers():
    plan = [("a", 0, 100), ("b", 100, 300)]
    metrics = {"memory": 300_000_000, "managed_bytes": 100_000_000}
    workers = {"a": {}, "b": {"memory_limit": 10**9, "metrics": metrics}}
    require_memory_for_rows(plan, workers, 3_700_000)
    with pytest.raises(MemoryError) as error:
        require_memory_for_rows(plan, workers, 3_800_000)
    assert str(error.value) == (
        "the Dask worker b needs about 760 MB for its rows, and 750 MB of its memory limit of 1.0 GB are "
        "free: use more workers, or workers with more memory"
    )


@pytest.mark.parametrize("low_memory", [True, False])
def test_a_gradient_shard_takes_the_memory_that_its_factory_states(low_memory):
    n, n_classes = 500, 4
    table = read_table(np.random.default_rng(0).normal(size=(n, 3)))
    loss = make_loss("log_loss", task="classification", n_classes=n_classes)
    factory = GradientShardFactory(find_bins(table), loss, low_memory=low_memory)
    shard = factory(np.zeros((n, 16), np.uint8), {"y": (np.arange(n) % n_classes).astype(np.uint8)}, 0)
    shard.raw = np.zeros((n_classes, n))
    shard.pack_statistics(np.zeros((n_classes, 2), np.int64))
    shard.start_tree(0, 0, np.arange(3))
    held = [shard.raw, shard.packed, shard._rows, shard._buffer, shard.codes.by_column]
    assert sum(one.nbytes for one in held) == n * factory.row_bytes
