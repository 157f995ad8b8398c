"""Workers of one machine lead themselves: the same model, whoever leads, and no worker waits for ever."""

import os
import signal
import threading

import dask
import numpy as np
import pytest

from dask_cases import array_in_parts, cluster_of, tasks_left, uneven, worker_pids
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.growing.gradient_shard import GradientShard
from hedgerow.io.models import to_bytes

N = 3000
RNG = np.random.default_rng(7)
VALUES = np.where(RNG.random((N, 5)) < 0.05, np.nan, RNG.normal(size=(N, 5)))
NUMBER = np.nan_to_num(VALUES[:, 0] * VALUES[:, 1]) + np.nan_to_num(VALUES[:, 2]) + RNG.normal(size=N) * 0.2


@pytest.fixture(scope="module")
def client():
    with cluster_of(3) as found:
        yield found


MODELS = {
    "two classes": GradientBoostingClassifier(n_estimators=4, random_state=1, early_stopping=False),
    "four classes": GradientBoostingClassifier(
        n_estimators=2, random_state=1, early_stopping=False, subsample=0.7
    ),
    "few columns a tree": GradientBoostingRegressor(
        n_estimators=4, random_state=1, max_features=0.5, min_samples_leaf=90
    ),
    "scores here": GradientBoostingRegressor(n_estimators=3, random_state=1, loss="absolute_error"),
    "held out": GradientBoostingRegressor(
        n_estimators=6, random_state=1, early_stopping=True, n_iter_no_change=2
    ),
}


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_same_in_one_process(name):
    model = MODELS[name]
    y = NUMBER if isinstance(model, GradientBoostingRegressor) else np.floor(NUMBER).clip(-1, 0)
    y = np.floor(NUMBER).clip(-2, 1) if name == "four classes" else y
    X = array_in_parts(VALUES, uneven(N, 5))
    expected = to_bytes(model.fit(VALUES, y))
    assert to_bytes(model.fit(X, y)) == expected


def soon(seconds, pid, number):
    timer = threading.Timer(seconds, os.kill, (pid, number))
    timer.start()
    return timer


def test_a_worker_killed_in_a_round_changes_nothing(client):
    model = GradientBoostingRegressor(n_estimators=20, random_state=0)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    victim = worker_pids(client)[1]

    def kill(one):
        if one.number == 5:
            soon(0.01, victim, signal.SIGKILL)

    found = model.fit(array_in_parts(VALUES, uneven(N, 5)), NUMBER, callbacks=[kill])
    assert to_bytes(found) == expected
    assert tasks_left(client) == []
    client.wait_for_workers(3)


def fail_from(n_calls):
    """Have the parts of this process fail after so many questions; None for: as ever."""
    if n_calls is None:
        GradientShard.split_nodes = GradientShard.kept
        return
    GradientShard.kept, calls = GradientShard.split_nodes, iter(range(n_calls))

    def split_nodes(part, *args):
        if next(calls, None) is None:
            raise ValueError("this worker fails")
        return GradientShard.kept(part, *args)

    GradientShard.split_nodes = split_nodes


@pytest.mark.parametrize("fan_out", [2, 8])
@pytest.mark.parametrize("which", range(3))
def test_an_error_on_one_worker_is_raised_at_once(client, which, fan_out):
    settings = {"hedgerow.fan-out": fan_out, "hedgerow.patience": 20, "hedgerow.timeout": 5}
    X, fails = array_in_parts(VALUES, [N]), list(client.scheduler_info()["workers"])[which]
    client.run(fail_from, 20, workers=[fails])
    try:
        with dask.config.set(settings), pytest.raises(ValueError, match="this worker fails"):
            GradientBoostingRegressor(n_estimators=100).fit(X, NUMBER)
    finally:
        client.run(fail_from, None, workers=[fails])
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


def test_a_worker_that_stands_still_in_a_round_is_told_of(client):
    X = array_in_parts(VALUES, [N])
    GradientBoostingRegressor(n_estimators=1).fit(X, NUMBER)  # workers load what they need
    stopped = worker_pids(client)[0]

    def stop(one):
        if one.number == 3:
            os.kill(stopped, signal.SIGSTOP)

    try:
        with dask.config.set({"hedgerow.timeout": 3}), pytest.raises(TimeoutError) as error:
            GradientBoostingRegressor(n_estimators=1000).fit(X, NUMBER, callbacks=[stop])
        assert "(hedgerow.timeout=3): restart it and fit again" in str(error.value)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


def test_an_interrupted_fit_leaves_nobody_waiting(client):
    X = array_in_parts(VALUES, [N])
    main = threading.get_ident()
    timer = threading.Timer(1.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.warns(UserWarning, match="fit was interrupted"):
        GradientBoostingRegressor(n_estimators=100_000).fit(X, NUMBER)
    timer.join()
    assert tasks_left(client) == []
    model = GradientBoostingRegressor(n_estimators=2)
    assert to_bytes(model.fit(X, NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))


def test_two_fits_at_a_time(client):
    X, models = (
        array_in_parts(VALUES, [1000, 2000]),
        [GradientBoostingRegressor(n_estimators=20, random_state=n) for n in range(2)],
    )
    found = {}

    def fit(n):
        found[n] = to_bytes(models[n].fit(X, NUMBER))

    threads = [threading.Thread(target=fit, args=(n,)) for n in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert found == {n: to_bytes(models[n].fit(VALUES, NUMBER)) for n in range(2)}
    assert tasks_left(client) == []
