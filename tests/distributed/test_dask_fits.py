"""Fits to Dask collections: the bytes of the model are those of a fit in memory."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

import hedgerow
from dask_cases import array_in_parts, cluster_of, frame_in_parts, tasks_left, uneven, worker_pids
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor

pytestmark = pytest.mark.usefixtures("client")


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as found:
        yield found


def rows(n=3000, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    score = frame["a"] + np.where(frame["e"] == "u", 1.0, -0.5) + rng.normal(size=n) * 0.3
    frame["y"] = np.where(score > 0, "yes", "no")
    frame["number"] = score
    frame["weight"] = rng.integers(0, 3, n)
    return frame


def saved(model, path):
    hedgerow.save(model, path / "model.hedgerow")
    return (path / "model.hedgerow").read_bytes()


FRAME = rows()
FEATURES = list("abcde")


@pytest.mark.parametrize("n_parts", [3, 17, 64])
def test_a_classifier_is_the_same_whatever_the_partitions(tmp_path, n_parts):
    X = frame_in_parts(FRAME[[*FEATURES, "y", "weight"]], uneven(len(FRAME), n_parts))
    model = GradientBoostingClassifier(n_estimators=5, random_state=1, early_stopping=False)
    memory = X.compute()
    expected = saved(model.fit(memory[FEATURES], memory["y"], sample_weight=memory["weight"]), tmp_path)
    found = saved(model.fit(X, target="y", sample_weight="weight"), tmp_path)
    assert found == expected


def test_early_stopping_with_an_evaluation_set_that_is_elsewhere(client, tmp_path):
    X, y = frame_in_parts(FRAME[FEATURES], [2000, 0, 1000]), frame_in_parts(FRAME["number"], [1000, 2000])
    other = rows(500, seed=9)
    lazy = frame_in_parts(other[FEATURES], [200, 300]), frame_in_parts(other["number"], [500])
    model = GradientBoostingRegressor(
        n_estimators=40, early_stopping=True, n_iter_no_change=2, learning_rate=0.9, random_state=0
    )
    memory = model.fit(X.compute(), y.compute(), eval_set=tuple(one.compute() for one in lazy))
    expected, history, n = saved(memory, tmp_path), memory.history_, memory.n_estimators_
    assert n < 40
    found = model.fit(X, y, eval_set=lazy)
    assert saved(found, tmp_path) == expected
    assert found.history_ | {"seconds": None} == history | {"seconds": None}
    assert tasks_left(client) == []


@pytest.mark.parametrize("delay", [0.5])
def test_a_worker_killed_while_fitting_changes_nothing(client, tmp_path, delay):
    values, y = FRAME[list("abcd")].to_numpy(), FRAME["y"].to_numpy()
    model = GradientBoostingClassifier(n_estimators=60, random_state=2, early_stopping=False)
    expected = saved(model.fit(values, y), tmp_path)
    X = array_in_parts(values, uneven(len(values), 7))
    victim = worker_pids(client)[0]
    killer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
    killer.start()
    found = saved(model.fit(X, y), tmp_path)
    killer.join()
    assert found == expected
    assert tasks_left(client) == []


def test_a_fit_that_is_stopped_frees_the_cluster_and_goes_on_from_its_checkpoint(client, tmp_path):
    values, y = FRAME[list("abcd")].to_numpy(), FRAME["number"].to_numpy()
    X = array_in_parts(values, [1000, 2000])
    model = GradientBoostingRegressor(n_estimators=8, random_state=2)
    expected = saved(model.fit(values, y), tmp_path)
    shards = tmp_path / "fit.checkpoint"

    def stop(one):
        if one.number == 4:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        model.fit(X, y, callbacks=[stop], checkpoint=hedgerow.Checkpoint(shards, rounds=2))
    assert tasks_left(client) == []
    assert shards.exists()
    assert saved(model.fit(X, y, checkpoint=shards), tmp_path) == expected


def test_workers_with_threads_give_the_same_model(tmp_path):
    values, y = FRAME[list("abcd")].to_numpy(), FRAME["number"].to_numpy()
    model = GradientBoostingRegressor(n_estimators=5, random_state=2)
    expected = saved(model.fit(values, y), tmp_path)
    with cluster_of(2, 2):
        assert saved(model.fit(array_in_parts(values, [500, 2500]), y), tmp_path) == expected
