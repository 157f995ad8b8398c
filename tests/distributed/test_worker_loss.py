"""Workers that are killed, suspended or fail: the model is the same, or the error is one line."""

import os
import signal
from contextlib import ExitStack
from types import SimpleNamespace

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from sklearn.base import clone

from dask_cases import (
    FEATURES,
    VALUES,
    KillOnce,
    SummingFactory,
    check_sums,
    dask_array,
    dask_frame,
    fast_clock,
    make_shards,
    one_line,
    read_collection,
    rows,
    stopped,
    tasks_left,
    uneven,
    wait_until,
    worker_pids,
)
from hedgerow import GradientBoostingRegressor
from hedgerow.backends.dask_forest import DaskTreeGrower
from hedgerow.binning import find_bins
from hedgerow.distributed import Settings
from hedgerow.growing.gradient_shard import GradientShard
from hedgerow.growing.shards import ShardsLost
from hedgerow.io.models import to_bytes

NUMBERS = np.arange(1500)


def check_sums_again(shards):
    for _ in range(5):
        try:
            check_sums(shards)
        except ShardsLost:
            continue
        return
    raise AssertionError("shards are lost repeatedly")


# --- shards


def test_a_worker_killed_in_a_call_is_replaced(processes):
    with dask.config.set({"hedgerow.fan-out": 2}):
        shards = make_shards(dask_frame(pd.DataFrame(VALUES, columns=list("abc")), uneven(1500, 6)))
    shards.call_each("add", [(10**n,) for n in range(3)])
    with pytest.raises(ShardsLost):
        shards.call("die", 1499)
    assert check_sums(shards) == 11
    shards.close()
    assert tasks_left(processes) == []


def test_codes_that_are_shared_are_made_again_after_a_loss(processes):
    table = read_collection(dask_array(VALUES, uneven(1500, 5)), NUMBERS)
    bins = find_bins(table)
    with table.shared_codes():
        first = table.make_shards(SummingFactory(), bins, {"number": NUMBERS}, 1)
        os.kill(processes.run(os.getpid)[first.actors[0].address], signal.SIGKILL)
        second = table.make_shards(SummingFactory(), bins, {"number": NUMBERS}, 1)
        check_sums_again(first)
    for shards in (first, second):
        check_sums_again(shards)
        shards.close()
    del table
    assert tasks_left(processes) == []


class KillingFactory(SummingFactory):
    """Creates shards, and kills the worker of the first one it creates after it was armed."""

    def __init__(self, kill):
        self.kill = kill

    def __call__(self, codes, row_arrays, first):
        self.kill()
        return super().__call__(codes, row_arrays, first)


def test_a_second_worker_may_be_killed_while_shards_of_the_first_are_created(processes, tmp_path):
    kill = KillOnce(tmp_path / "armed")
    shards = make_shards(dask_array(VALUES, uneven(1500, 5)), KillingFactory(kill))
    kill.arm()
    os.kill(processes.run(os.getpid)[shards.actors[0].address], signal.SIGKILL)
    check_sums_again(shards)
    assert kill.has_killed
    assert len(shards.bounds) <= 9
    shards.close()
    assert tasks_left(processes) == []


def test_a_worker_may_be_killed_while_rows_are_read_or_encoded(processes, tmp_path):
    kill = KillOnce(tmp_path / "armed")

    def deadly(block):
        kill()
        return block

    X = dask_array(VALUES, uneven(1500, 12)).map_blocks(deadly, dtype=VALUES.dtype, meta=VALUES[:0])
    kill.arm()
    table = read_collection(X, NUMBERS)
    assert kill.has_killed
    kill.arm()
    table.partitions.release()  # they are read again by the next pass
    shards = table.make_shards(SummingFactory(), find_bins(table), {"number": NUMBERS}, 1)
    assert kill.has_killed
    check_sums_again(shards)
    shards.close()
    del table
    assert tasks_left(processes) == []


# --- fits


FRAME = rows()
X, Y = FRAME[FEATURES[:4]].to_numpy(), FRAME["number"].to_numpy()
MODEL = GradientBoostingRegressor(n_estimators=6, random_state=0)


@pytest.fixture(scope="module")
def expected():
    return to_bytes(MODEL.fit(X, Y))


def test_a_worker_killed_between_rounds_does_not_change_linear_leaves(processes):
    model = clone(MODEL).set_params(linear_leaves=True, n_folds=2, subsample=0.7)
    wanted = to_bytes(model.fit(X, Y))
    kill = after_round(3, lambda: os.kill(worker_pids(processes)[0], signal.SIGKILL))
    assert to_bytes(model.fit(dask_array(X, uneven(len(X), 5)), Y, callbacks=[kill])) == wanted
    assert tasks_left(processes) == []


def fit_collection(**options):
    return to_bytes(MODEL.fit(dask_array(X, uneven(len(X), 5)), Y, **options))


def after_round(number, do):
    """A callback that does something once, after a round."""
    return lambda one: do() if one.number == number else None


def test_a_worker_killed_between_rounds_does_not_change_the_model(processes, expected):
    kill = after_round(3, lambda: os.kill(worker_pids(processes)[0], signal.SIGKILL))
    assert fit_collection(callbacks=[kill]) == expected
    assert tasks_left(processes) == []


def in_call(number, do):
    """Have this process do something in a call of its shards, and in all later ones; None to undo it."""
    if number is None:
        GradientShard.split_nodes = GradientShard.original
        return
    GradientShard.original, calls = GradientShard.split_nodes, iter(range(number))

    def split_nodes(shard, *args):
        if next(calls, None) is None:
            do()
        return GradientShard.original(shard, *args)

    GradientShard.split_nodes = split_nodes


def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def fail():
    raise ValueError("this worker fails")


def test_a_worker_killed_in_a_round_does_not_change_the_model(processes, expected):
    processes.run(in_call, 20, kill_itself, workers=[list(processes.scheduler_info()["workers"])[1]])
    assert fit_collection() == expected
    assert tasks_left(processes) == []


def test_a_killed_worker_does_not_change_a_model_whose_scores_are_in_this_process(processes):
    model = GradientBoostingRegressor(
        n_estimators=4, random_state=0, sampling="gradient", drop_rate=0.5, max_categories_for_sets=2
    )
    expected = to_bytes(model.fit(FRAME[FEATURES], Y))
    processes.run(in_call, 20, kill_itself, workers=[list(processes.scheduler_info()["workers"])[1]])
    assert to_bytes(model.fit(dask_frame(FRAME[FEATURES], uneven(len(X), 5)), Y)) == expected
    assert tasks_left(processes) == []


@pytest.mark.parametrize("fan_out", [8, 2])
def test_an_error_of_the_last_worker_is_raised(processes, expected, fan_out):
    last = list(processes.scheduler_info()["workers"])[-1:]
    processes.run(in_call, 20, fail, workers=last)
    try:
        with (
            dask.config.set({"hedgerow.fan-out": fan_out}),
            pytest.raises(ValueError, match="this worker fails"),
        ):
            fit_collection()
    finally:
        processes.run(in_call, None, None, workers=last)
    assert tasks_left(processes) == []
    assert fit_collection() == expected


def test_a_suspended_worker_raises(processes, expected):
    with ExitStack() as stack:

        def suspend():
            stack.enter_context(stopped(worker_pids(processes)[:1]))
            stack.enter_context(fast_clock())

        with pytest.raises(TimeoutError) as error:
            fit_collection(callbacks=[after_round(3, suspend)])
    assert "(hedgerow.timeout=600): restart it and fit again" in one_line(error)
    assert tasks_left(processes) == []
    assert fit_collection() == expected


def test_suspended_workers_end_a_forest(processes):
    grower = SimpleNamespace(for_thread=lambda: None)
    task = SimpleNamespace(n_rows=1, grower=grower, grow=lambda _, n: n)
    trees = DaskTreeGrower(task, range(9), processes, Settings())
    assert trees.fit(0, 0) == 0
    wait_until(lambda: all(future.status == "finished" for _, future in trees._pending))
    with stopped(worker_pids(processes)):
        with fast_clock(), pytest.raises(TimeoutError, match=r"silent .*\(hedgerow.timeout=60\): restart it"):
            trees.fit(1, 1)
        assert list(trees.close()) == []
    assert not tasks_left(processes)


def test_scattered_rows_are_lost_with_their_workers(processes):
    """The last test: no other one has to wait until the workers start again."""
    scattered = processes.scatter([pd.DataFrame(VALUES[:700]), pd.DataFrame(VALUES[700:])])
    lazy = [delayed(one) for one in scattered]
    shards = make_shards(dd.from_delayed(lazy, meta=pd.DataFrame(VALUES[:0]), verify_meta=False))
    for pid in worker_pids(processes):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ConnectionError) as error:
        shards.call("sums")
    assert "rows were lost with a worker and cannot be computed again" in one_line(error)
    shards.close()
