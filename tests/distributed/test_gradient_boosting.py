"""Gradient boosting fits on a cluster: the bytes of the model are those of a fit in memory."""

import os
import signal
import threading

import dask
import numpy as np
import pandas as pd
import pytest

import hedgerow
from dask_cases import (
    array_in_parts,
    cluster_of,
    fast_clock,
    frame_in_parts,
    interrupt_soon,
    tasks_left,
    uneven,
    worker_pids,
)
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.distributed import cluster
from hedgerow.growing.gradient_shard import GradientShard
from hedgerow.io.models import to_bytes

pytestmark = pytest.mark.usefixtures("client")


def rows(n=1500, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    score = frame["a"] + np.where(frame["e"] == "u", 1.0, -0.5) + rng.normal(size=n) * 0.3
    frame["y"] = np.where(score > 0, "yes", "no")
    frame["number"] = score
    frame["weight"] = rng.integers(0, 3, n)
    return frame


FRAME = rows()
FEATURES = list("abcde")
N = len(FRAME)
VALUES, NUMBER = FRAME[list("abcd")].to_numpy(), FRAME["number"].to_numpy()


def check_fit(model=None):
    """A fit after a disturbance gives the model of rows in memory."""
    model = model or GradientBoostingRegressor(n_estimators=2, random_state=0)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    assert to_bytes(model.fit(array_in_parts(VALUES, [N]), NUMBER)) == expected


@pytest.mark.parametrize("n_parts", [3, 40])
def test_a_classifier_is_the_same_for_any_partitions(n_parts):
    X = frame_in_parts(FRAME[[*FEATURES, "y", "weight"]], uneven(N, n_parts))
    model = GradientBoostingClassifier(n_estimators=5, random_state=1, early_stopping=False)
    memory = X.compute()
    expected = to_bytes(model.fit(memory[FEATURES], memory["y"], sample_weight=memory["weight"]))
    assert to_bytes(model.fit(X, target="y", sample_weight="weight")) == expected


MODELS = {
    "four classes": GradientBoostingClassifier(
        n_estimators=2, random_state=1, early_stopping=False, subsample=0.7
    ),
    "few columns a tree": GradientBoostingRegressor(
        n_estimators=4, random_state=1, max_features=0.5, min_samples_leaf=90
    ),
    "absolute error": GradientBoostingRegressor(n_estimators=3, random_state=1, loss="absolute_error"),
    "validation rows": GradientBoostingRegressor(
        n_estimators=6, random_state=1, early_stopping=True, n_iter_no_change=2
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_rows_in_memory(name):
    y = np.floor(NUMBER).clip(-2, 1) if name == "four classes" else NUMBER
    expected = to_bytes(MODELS[name].fit(VALUES, y))
    assert to_bytes(MODELS[name].fit(array_in_parts(VALUES, uneven(N, 5)), y)) == expected


def test_a_wide_table_and_a_tree_of_calls():
    wide = np.random.default_rng(1).normal(size=(400, 150))
    model = GradientBoostingRegressor(n_estimators=2, random_state=0, max_leaf_nodes=20, min_samples_leaf=2)
    y = wide[:, 0] * wide[:, 1]
    with dask.config.set({"hedgerow.fan-out": 2}):
        assert to_bytes(model.fit(array_in_parts(wide, [400]), y)) == to_bytes(model.fit(wide, y))


def test_early_stopping_with_a_remote_evaluation_set(client):
    X, y = frame_in_parts(FRAME[FEATURES], [1000, 0, 500]), frame_in_parts(FRAME["number"], [600, 900])
    other = rows(500, seed=9)
    lazy = frame_in_parts(other[FEATURES], [200, 300]), frame_in_parts(other["number"], [500])
    model = GradientBoostingRegressor(
        n_estimators=40, early_stopping=True, n_iter_no_change=2, learning_rate=0.9, random_state=0
    )
    memory = model.fit(X.compute(), y.compute(), eval_set=tuple(one.compute() for one in lazy))
    expected, history, n = to_bytes(memory), memory.history_, memory.n_estimators_
    assert n < 40
    found = model.fit(X, y, eval_set=lazy)
    assert to_bytes(found) == expected
    assert found.history_ | {"seconds": None} == history | {"seconds": None}
    assert tasks_left(client) == []


def test_workers_with_threads_give_the_same_model():
    with cluster_of(1, 2, processes=False):
        check_fit()


def test_two_fits_at_a_time(client):
    X = array_in_parts(VALUES, [500, 1000])
    models = [GradientBoostingRegressor(n_estimators=10, random_state=n) for n in range(2)]
    found = {}

    def fit(n):
        found[n] = to_bytes(models[n].fit(X, NUMBER))

    threads = [threading.Thread(target=fit, args=(n,)) for n in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {n: to_bytes(models[n].fit(VALUES, NUMBER)) for n in range(2)}
    assert tasks_left(client) == []


# --- disturbances


def at_round(number, do):
    """A callback that does something once, after a round."""
    return lambda one: do() if one.number == number else None


def test_a_worker_killed_between_rounds_changes_nothing(client):
    model = GradientBoostingRegressor(n_estimators=12, random_state=0)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    kill = at_round(3, lambda: os.kill(worker_pids(client)[0], signal.SIGKILL))
    assert to_bytes(model.fit(array_in_parts(VALUES, uneven(N, 5)), NUMBER, callbacks=[kill])) == expected
    assert tasks_left(client) == []


def kill_in_call(n_calls):
    """Have this process die inside of a call of its shards."""
    split, calls = GradientShard.split_nodes, iter(range(n_calls))

    def dying(shard, *args):
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return split(shard, *args)

    GradientShard.split_nodes = dying


def test_a_worker_killed_in_a_round_changes_nothing(client):
    model = GradientBoostingRegressor(n_estimators=8, random_state=0)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    victim = list(client.scheduler_info()["workers"])[1]
    client.run(kill_in_call, 20, workers=[victim])
    assert to_bytes(model.fit(array_in_parts(VALUES, uneven(N, 5)), NUMBER)) == expected
    assert tasks_left(client) == []


def fail_from(n_calls):
    """Have the shards of this process fail after so many calls; None to undo it."""
    if n_calls is None:
        GradientShard.split_nodes = GradientShard.kept
        return
    GradientShard.kept, calls = GradientShard.split_nodes, iter(range(n_calls))

    def split_nodes(shard, *args):
        if next(calls, None) is None:
            raise ValueError("this worker fails")
        return GradientShard.kept(shard, *args)

    GradientShard.split_nodes = split_nodes


@pytest.mark.parametrize(("which", "fan_out"), [(0, 8), (2, 2)])
def test_an_error_on_one_worker_is_raised_here(client, which, fan_out):
    fails = list(client.scheduler_info()["workers"])[which]
    client.run(fail_from, 20, workers=[fails])
    try:
        with (
            dask.config.set({"hedgerow.fan-out": fan_out}),
            pytest.raises(ValueError, match="this worker fails"),
        ):
            GradientBoostingRegressor(n_estimators=100).fit(array_in_parts(VALUES, [N]), NUMBER)
    finally:
        client.run(fail_from, None, workers=[fails])
    assert tasks_left(client) == []
    check_fit()


def test_a_worker_that_stops_in_a_round_is_reported(client, monkeypatch):
    pid = worker_pids(client)[0]

    def stop():
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(cluster, "clock", fast_clock)

    model = GradientBoostingRegressor(n_estimators=1000)
    try:
        with pytest.raises(TimeoutError) as error:
            model.fit(array_in_parts(VALUES, [N]), NUMBER, callbacks=[at_round(3, stop)])
    finally:
        os.kill(pid, signal.SIGCONT)
    monkeypatch.undo()
    assert "(hedgerow.timeout=600): restart it and fit again" in str(error.value)
    assert tasks_left(client) == []
    check_fit()


def test_an_interrupted_fit_leaves_nothing(client):
    senders = []
    callback = at_round(3, lambda: senders.append(interrupt_soon()))
    with pytest.warns(UserWarning, match="fit was interrupted"):
        GradientBoostingRegressor(n_estimators=100_000).fit(
            array_in_parts(VALUES, [N]), NUMBER, callbacks=[callback]
        )
    senders[0].join()
    assert tasks_left(client) == []
    check_fit()


def test_a_fit_that_fails_frees_the_cluster_and_resumes_from_its_checkpoint(client, tmp_path):
    X = array_in_parts(VALUES, [1000, 500])
    model = GradientBoostingRegressor(n_estimators=8, random_state=2)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    path = tmp_path / "fit.checkpoint"

    def fail():
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        model.fit(X, NUMBER, callbacks=[at_round(4, fail)], checkpoint=hedgerow.Checkpoint(path, rounds=2))
    assert tasks_left(client) == []
    assert path.exists()
    assert to_bytes(model.fit(X, NUMBER, checkpoint=path)) == expected
