"""Parts on the workers of a cluster: asked together, made anew when a worker dies, let go of in the end."""

import os
import signal
import threading
import time

import dask
import numpy as np
import pandas as pd
import pytest

from dask_cases import (
    MakeSumming,
    array_in_parts,
    cluster_of,
    frame_in_parts,
    tasks_left,
    uneven,
    worker_pids,
)
from hedgerow.binning import find_bins
from hedgerow.distributed import open_collection
from hedgerow.growing.shards import ShardsLost
from hedgerow.table import read_table
from hedgerow.threads import Team

VALUES = np.random.default_rng(2).normal(size=(1500, 3))
NUMBERS = np.arange(1500, dtype=np.int64)


pytestmark = pytest.mark.usefixtures("client")


@pytest.fixture(scope="module")
def client():
    with cluster_of(4) as found:
        yield found


def table_of(X):
    given = open_collection(X, NUMBERS)
    return given.read(categorical_features=None, schema=None, estimator_name="Model")


def placed(X):
    table = table_of(X)
    return table.make_shards(MakeSumming(), find_bins(table), {"number": NUMBERS}, 1)


def expected():
    memory = read_table(VALUES)
    bins = find_bins(memory)
    with Team(1) as team:
        codes = bins.encode(memory, team).codes.by_column
    return codes.sum(axis=1, dtype=np.int64).tolist()


def assert_all_there(shards):
    """All rows are in the parts once, in order."""
    said, (codes, share, told) = shards.call("look")
    assert [first for first, _ in said] == [start for start, _ in shards.bounds]
    assert [n for _, n in said] == [stop - start for start, stop in shards.bounds]
    assert shards.bounds[0][0] == 0
    assert shards.bounds[-1][1] == 1500
    assert all(one[1] == other[0] for one, other in zip(shards.bounds, shards.bounds[1:], strict=False))
    assert codes[:3].tolist() == expected()
    assert share.tolist() == [NUMBERS.sum()]
    return told.tolist()[0]


@pytest.mark.parametrize("n_parts", [1, 3, 17])
def test_all_rows_are_in_one_part_whatever_the_partitions(client, n_parts):
    shards = placed(array_in_parts(VALUES, uneven(1500, n_parts)))
    assert len(shards.bounds) == 4
    assert assert_all_there(shards) == 0
    shards.call("tell", 3)
    assert assert_all_there(shards) == 12
    said, sums = shards.call_each("tell", [(n,) for n in range(4)])
    assert said == [start for start, _ in shards.bounds]
    assert sums == ()
    assert assert_all_there(shards) == 18
    shards.close()
    assert tasks_left(client) == []


def test_holders_ask_one_another_in_a_tree():
    X = array_in_parts(VALUES, uneven(1500, 5))
    with dask.config.set({"hedgerow.fan-out": 2}):
        shards = placed(X)
    assert [len(node.children) for node in shards._nodes] == [1, 1]
    assert assert_all_there(shards) == 0
    shards.call_each("tell", [(10**n,) for n in range(4)])
    assert assert_all_there(shards) == 1111
    with pytest.raises(ValueError, match="this part fails"):
        shards.call("fail")
    with pytest.raises(ShardsLost):
        shards.call("die", 1499)
    assert assert_all_there(shards) == 1111 - 1000
    shards.close()


def test_the_scheduler_passes_questions_on_if_workers_cannot_be_reached():
    X = array_in_parts(VALUES, uneven(1500, 5))
    with dask.config.set({"hedgerow.direct": False}):
        shards = placed(X)
    assert shards._through_scheduler
    assert assert_all_there(shards) == 0
    shards.close()


def test_wide_sums_and_writable_arrays_come_through():
    shards = placed(array_in_parts(VALUES, [1500]))
    n = len(shards.bounds)  # a worker that was killed before may not be back
    assert shards.call("wide")[1][0].tolist() == [n * 2**40, -n]
    assert all(all(one) for one in shards.call("writable", np.arange(3))[0])
    shards.close()


def test_errors_of_a_part_are_told_and_the_place_goes_on():
    shards = placed(array_in_parts(VALUES, [1500]))
    with pytest.raises(ValueError, match="this part fails"):
        shards.call("fail")
    with pytest.raises(ValueError, match="9 parts are given arguments, but there are"):
        shards.call_each("tell", [(1,)] * 9)
    assert assert_all_there(shards) == 0
    shards.close()


def test_a_worker_killed_inside_a_question_is_replaced(client):
    X = frame_in_parts(pd.DataFrame(VALUES, columns=list("abc")), uneven(1500, 6))
    shards = placed(X)
    for row in (0, 700):
        shards.call("tell", 1)
        with pytest.raises(ShardsLost):
            shards.call("die", row)
        assert_all_there(shards)
    shards.close()
    assert tasks_left(client) == []


def test_workers_killed_at_random_moments_are_replaced(client):
    rng = np.random.default_rng(11)
    shards = placed(array_in_parts(VALUES, uneven(1500, 9)))
    for _ in range(2):
        victim = rng.choice(worker_pids(client))
        killer = threading.Timer(rng.random() * 0.2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        lost = 0
        for _ in range(300):
            try:
                assert_all_there(shards)
            except ShardsLost:
                lost += 1
                break
        killer.join()
        assert_all_there_in_the_end(shards)
    shards.close()


def assert_all_there_in_the_end(shards):
    for _ in range(5):
        try:
            assert_all_there(shards)
        except ShardsLost:
            continue
        return
    raise AssertionError("parts are lost for ever")


class SlowSumming(MakeSumming):
    """Makes parts so slowly that workers are looked at meanwhile."""

    def __call__(self, codes, shares, first):
        time.sleep(0.8)
        return super().__call__(codes, shares, first)


def test_a_second_worker_lost_while_parts_of_the_first_are_made(client):
    client.wait_for_workers(4)
    table = table_of(array_in_parts(VALUES, uneven(1500, 5)))
    shards = table.make_shards(SlowSumming(), find_bins(table), {"number": NUMBERS}, 1)
    by_address = client.run(os.getpid)
    victims = [by_address[held.address] for held in shards._held]
    os.kill(victims[0], signal.SIGKILL)
    killer = threading.Timer(0.5, os.kill, (victims[1], signal.SIGKILL))
    killer.start()
    assert_all_there_in_the_end(shards)
    killer.join()
    assert_all_there_in_the_end(shards)
    assert len(shards.bounds) <= 20  # a loss adds fewer than there are workers
    shards.close()
    assert tasks_left(client) == []


def test_a_worker_killed_while_rows_are_read_or_coded_does_no_harm(client):
    def slowly(block):
        time.sleep(0.1)
        return block

    X = array_in_parts(VALUES, uneven(1500, 12)).map_blocks(slowly, dtype=VALUES.dtype)
    for delay in (0.15, 0.6):
        victim = worker_pids(client)[0]
        killer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
        killer.start()
        shards = placed(X)
        killer.join()
        assert_all_there_in_the_end(shards)
        shards.close()
    assert tasks_left(client) == []


def test_a_place_that_cannot_be_made_leaves_nothing(client):
    class Broken(MakeSumming):
        def __call__(self, codes, shares, first):
            raise KeyError("no such share")

    table = table_of(array_in_parts(VALUES, [700, 800]))
    with pytest.raises(KeyError, match="no such share"):
        table.make_shards(Broken(), find_bins(table), {}, 1)
    del table
    assert tasks_left(client) == []
