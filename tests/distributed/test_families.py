"""AdaBoost, LogitBoost, forests and bags on a cluster: the model has the bytes of a fit in memory."""

import gc
import warnings
from types import SimpleNamespace

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed.comm import CommClosedError
from sklearn.tree import DecisionTreeClassifier as TheirTree

from dask_cases import (
    Blocked,
    array_in_parts,
    cluster_of,
    fast_clock,
    frame_in_parts,
    stopped,
    tasks_left,
    uneven,
    wait_until,
    worker_pids,
)
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
)
from hedgerow.bagging.dask_forest import DaskTreeGrower
from hedgerow.distributed import Settings, cluster
from hedgerow.io.models import to_bytes

N_ROWS = 600


pytestmark = pytest.mark.usefixtures("client")


def rows(seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], N_ROWS))
    frame.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    frame["number"] = frame["a"] + np.where(frame["e"] == "u", 1.0, -0.5) + rng.normal(size=N_ROWS) * 0.3
    frame["label"] = np.digitize(frame["number"], [-0.5, 0.8])
    frame["weight"] = rng.integers(1, 3, N_ROWS)
    return frame


CASES = {
    "stumps": (AdaBoostClassifier(n_estimators=6, random_state=0), "label"),
    "trees": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0), "label",
    ),
    "logit": (LogitBoostClassifier(n_estimators=4, random_state=0), "label"),
    "numbers": (AdaBoostRegressor(n_estimators=4, random_state=0), "number"),
    "forest": (RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0), "label"),
    "extra": (ExtraTreesRegressor(n_estimators=4, random_state=0), "number"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_a_data_frame_in_partitions_is_that_of_one_in_memory(name, client):
    model, target = CASES[name]
    frame = rows()
    features = frame.drop(columns=["number", "label", "weight"])
    here = to_bytes(model.fit(features, frame[target], sample_weight=frame["weight"]))
    lazy = frame_in_parts(frame[[*features.columns, target, "weight"]], uneven(N_ROWS, 5))
    there = to_bytes(model.fit(lazy, target=target, sample_weight="weight"))
    assert there == here
    assert not tasks_left(client)


def test_members_of_other_libraries_are_fitted_on_the_workers(client):
    frame = rows()
    X, y = frame[["a", "c", "d"]].to_numpy(), frame["label"].to_numpy()
    model = BaggingClassifier(TheirTree(max_depth=3, random_state=0), n_estimators=4, random_state=0)
    here = [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_]
    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=600):
        there = [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_]
    assert there == here
    assert client.scheduler_info()["workers"]


def test_members_of_other_libraries_need_rows_in_memory():
    X = array_in_parts(rows()[["a", "c"]].to_numpy(), [400, 200])
    with pytest.raises((TypeError, ValueError), match="memory"):
        AdaBoostClassifier(TheirTree(max_depth=1)).fit(X, rows()["label"].to_numpy())


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("model", [RandomForestClassifier(n_estimators=2), DecisionTreeClassifier()])
def test_partitions_are_let_go_of_at_once(client, model, tmp_path):
    frame = rows()[["a", "e", "label"]]
    more = {"checkpoint": tmp_path / "fit"} if isinstance(model, RandomForestClassifier) else {}
    model.fit(frame_in_parts(frame, [400, 200]), target="label", **more)
    assert tasks_left(client) == []
    with pytest.raises(ValueError) as error:  # refused when the rows were read already; its frames are kept
        model.fit(frame_in_parts(frame.assign(label=np.nan), [400, 200]), target="label")
    assert tasks_left(client) == []
    assert "label" in str(error.value) or "y" in str(error.value)


def test_a_target_of_several_columns_in_chunks_is_put_together():
    values, y = rows()[["a", "c"]].to_numpy(), rows()[["number", "label"]].to_numpy()
    model = ExtraTreesRegressor(n_estimators=2, random_state=0)
    found = model.fit(array_in_parts(values, [400, 200]), da.from_array(y, chunks=(300, 1)))
    assert to_bytes(found) == to_bytes(model.fit(values, y))


def test_tasks_of_several_threads_leave_the_filters_of_warnings_alone():
    before = list(warnings.filters)
    with cluster_of(1, 4, processes=False):
        frame = rows()[["a", "e", "label"]]
        for _ in range(2):
            RandomForestClassifier(n_estimators=1).fit(frame_in_parts(frame, [20] * 30), target="label")
            assert list(warnings.filters) == before


def task_of(grow):
    """A task whose trees are what a function of their numbers returns."""
    draws = SimpleNamespace(pool=SimpleNamespace(n_rows=1))
    grower = SimpleNamespace(for_thread=lambda: None)
    return SimpleNamespace(sampler=SimpleNamespace(draws=draws), grower=grower, grow=lambda _, n: grow(n))


def test_codes_are_sent_again_if_a_worker_dies_meanwhile(client, monkeypatch):
    send, n_tried = client.scatter, 0

    def scatter(*args, **options):
        nonlocal n_tried
        n_tried += 1
        if n_tried == 1:
            raise CommClosedError("Stream is closed")
        return send(*args, **options)

    monkeypatch.setattr(client, "scatter", scatter)
    trees = DaskTreeGrower(task_of(lambda number: number), range(3), client, Settings())
    assert [trees.fit(number, number) for number in range(3)] == [0, 1, 2]
    assert list(trees.close()) == []
    assert n_tried == 2
    assert not tasks_left(client)


def test_a_tree_that_does_not_end_ends_the_forest(client, tmp_path):
    with Blocked(tmp_path / "trees") as blocked:
        task = task_of(lambda number: number if number < 3 else Blocked(tmp_path / "trees").wait())
        trees = DaskTreeGrower(task, range(9), client, Settings())
        assert [trees.fit(number, number) for number in range(3)] == [0, 1, 2]
        trees._settings = Settings(patience=0.3)
        with pytest.raises(TimeoutError, match=r"no task has ended for 0.3 seconds .*, and 6 are left"):
            trees.fit(3, 3)
        blocked.release()
    assert list(trees.close()) == []
    assert not tasks_left(client)


def test_a_tree_on_a_worker_that_is_silent_ends_the_forest(client, monkeypatch):
    trees = DaskTreeGrower(task_of(lambda number: number), range(9), client, Settings())
    assert trees.fit(0, 0) == 0
    wait_until(lambda: all(future.status == "finished" for _, future in trees._pending))
    with stopped(worker_pids(client)):
        monkeypatch.setattr(cluster, "clock", fast_clock)
        with pytest.raises(TimeoutError, match=r"has been silent .*\(hedgerow.timeout=60\): restart it"):
            trees.fit(1, 1)
        monkeypatch.undo()
        assert list(trees.close()) == []
    assert not tasks_left(client)
