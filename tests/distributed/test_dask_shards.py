"""Shards on workers: called together, created again when a worker dies, released at the end."""

import os
import signal

import dask
import numpy as np
import pandas as pd
import pytest

from dask_cases import (
    KillOnce,
    SummingFactory,
    array_in_parts,
    frame_in_parts,
    tasks_left,
    uneven,
)
from hedgerow.binning import find_bins
from hedgerow.distributed import open_collection
from hedgerow.growing.shards import ShardsLost
from hedgerow.table import read_table
from hedgerow.threads import Team

VALUES = np.random.default_rng(2).normal(size=(1500, 3))
NUMBERS = np.arange(1500, dtype=np.int64)

pytestmark = pytest.mark.usefixtures("client")


def table_of(X):
    source = open_collection(X, NUMBERS)
    return source.read(categorical_features=None, schema=None, estimator_name="Model")


def make_shards(X, factory=None):
    table = table_of(X)
    return table.make_shards(factory or SummingFactory(), find_bins(table), {"number": NUMBERS}, 1)


@pytest.fixture(scope="module")
def expected():
    memory = read_table(VALUES)
    bins = find_bins(memory)
    with Team(1) as team:
        codes = bins.encode(memory, team).codes.by_column
    return codes.sum(axis=1, dtype=np.int64).tolist()


def check_rows(shards, expected):
    """All rows are in one shard each, in order; returns the total of what was added."""
    results, (codes, numbers, total) = shards.call("sums")
    assert [first for first, _ in results] == [start for start, _ in shards.bounds]
    assert [n for _, n in results] == [stop - start for start, stop in shards.bounds]
    assert (shards.bounds[0][0], shards.bounds[-1][1]) == (0, 1500)
    assert all(one[1] == other[0] for one, other in zip(shards.bounds, shards.bounds[1:], strict=False))
    assert codes[:3].tolist() == expected
    assert numbers.tolist() == [NUMBERS.sum()]
    return total.tolist()[0]


def check_rows_again(shards, expected):
    for _ in range(5):
        try:
            check_rows(shards, expected)
        except ShardsLost:
            continue
        return
    raise AssertionError("shards are lost repeatedly")


@pytest.mark.parametrize("n_parts", [1, 17])
def test_every_row_is_in_one_shard_for_any_partitions(client, n_parts, expected):
    shards = make_shards(array_in_parts(VALUES, uneven(1500, n_parts)))
    assert len(shards.bounds) == 3
    assert check_rows(shards, expected) == 0
    shards.call("add", 3)
    assert check_rows(shards, expected) == 9
    results, sums = shards.call_each("add", [(n,) for n in range(3)])
    assert results == [start for start, _ in shards.bounds]
    assert sums == ()
    assert check_rows(shards, expected) == 12
    shards.close()
    assert tasks_left(client) == []


def test_actors_call_one_another_in_a_tree(expected):
    with dask.config.set({"hedgerow.fan-out": 2}):
        shards = make_shards(array_in_parts(VALUES, uneven(1500, 5)))
    assert [len(node.children) for node in shards.tree] == [0, 1]
    assert check_rows(shards, expected) == 0
    shards.call_each("add", [(10**n,) for n in range(3)])
    assert check_rows(shards, expected) == 111
    with pytest.raises(ValueError, match="this shard fails"):
        shards.call("fail")
    with pytest.raises(ShardsLost):
        shards.call("die", 1499)
    assert check_rows(shards, expected) == 11
    shards.close()


def test_the_scheduler_forwards_calls_if_workers_cannot_be_reached(expected):
    with dask.config.set({"hedgerow.direct": False}):
        shards = make_shards(array_in_parts(VALUES, uneven(1500, 5)))
    assert shards.through_scheduler
    assert check_rows(shards, expected) == 0
    shards.close()


def test_wide_sums_writable_arrays_and_errors(expected):
    shards = make_shards(array_in_parts(VALUES, [1500]))
    assert shards.call("wide")[1][0].tolist() == [3 * 2**40, -3]
    assert all(all(one) for one in shards.call("writable", np.arange(3))[0])
    with pytest.raises(ValueError, match="this shard fails"):
        shards.call("fail")
    with pytest.raises(ValueError, match="arguments for 9 shards were passed, but there are 3"):
        shards.call_each("add", [(1,)] * 9)
    assert check_rows(shards, expected) == 0
    shards.close()


def test_a_worker_killed_in_a_call_is_replaced(client, expected):
    shards = make_shards(frame_in_parts(pd.DataFrame(VALUES, columns=list("abc")), uneven(1500, 6)))
    shards.call("add", 1)
    with pytest.raises(ShardsLost):
        shards.call("die", 700)
    check_rows(shards, expected)
    shards.close()
    assert tasks_left(client) == []


class KillingFactory(SummingFactory):
    """Creates shards, and kills the worker of the first one it creates after it was armed."""

    def __init__(self, kill):
        self.kill = kill

    def __call__(self, codes, row_arrays, first):
        self.kill()
        return super().__call__(codes, row_arrays, first)


def test_a_second_worker_lost_while_shards_of_the_first_are_created(client, expected, tmp_path):
    kill = KillOnce(tmp_path / "armed")
    shards = make_shards(array_in_parts(VALUES, uneven(1500, 5)), KillingFactory(kill))
    kill.arm()
    os.kill(client.run(os.getpid)[shards.actors[0].address], signal.SIGKILL)
    check_rows_again(shards, expected)
    assert kill.has_killed
    assert len(shards.bounds) <= 9
    shards.close()
    assert tasks_left(client) == []


def test_a_worker_killed_while_rows_are_read_or_encoded(client, expected, tmp_path):
    kill = KillOnce(tmp_path / "armed")

    def deadly(block):
        kill()
        return block

    X = array_in_parts(VALUES, uneven(1500, 12)).map_blocks(deadly, dtype=VALUES.dtype, meta=VALUES[:0])
    kill.arm()
    table = table_of(X)
    assert kill.has_killed
    kill.arm()
    table.partitions.release()  # they are read again by the next pass
    shards = table.make_shards(SummingFactory(), find_bins(table), {"number": NUMBERS}, 1)
    assert kill.has_killed
    check_rows_again(shards, expected)
    shards.close()
    del table
    assert tasks_left(client) == []


def test_shards_that_cannot_be_created_leave_nothing(client):
    class Broken(SummingFactory):
        def __call__(self, codes, row_arrays, first):
            raise KeyError("no such array")

    with pytest.raises(KeyError, match="no such array"):
        make_shards(array_in_parts(VALUES, [700, 800]), Broken())
    assert tasks_left(client) == []
