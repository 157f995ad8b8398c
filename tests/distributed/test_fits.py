"""Fits of Dask collections: the model has the bytes of a fit in memory, and the cluster is released."""

import contextvars
import gc
import threading
import warnings
from types import SimpleNamespace

import dask
import dask.array as da
import joblib
import numpy as np
import pytest
from distributed.comm import CommClosedError
from sklearn.tree import DecisionTreeClassifier as TheirTree

import hedgerow
from dask_cases import (
    FEATURES,
    Blocked,
    cluster_of,
    dask_array,
    dask_frame,
    interrupt_soon,
    rows,
    tasks_left,
    uneven,
)
from hedgerow import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.backends.dask_forest import DaskTreeGrower
from hedgerow.distributed import Settings
from hedgerow.distributed.partitions import Partitions
from hedgerow.io.models import to_bytes

pytestmark = pytest.mark.usefixtures("client")

FRAME = rows()
N = len(FRAME)
VALUES, NUMBER = FRAME[list("abcd")].to_numpy(), FRAME["number"].to_numpy()
FEW = {"n_estimators": 3, "random_state": 0}

CASES = {
    "stumps": (AdaBoostClassifier(n_estimators=6, random_state=0), "label"),
    "trees": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **FEW), "label"),
    "logit": (hedgerow.LogitBoostClassifier(**FEW), "label"),
    "numbers": (hedgerow.AdaBoostRegressor(**FEW), "number"),
    "forest": (RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0), "label"),
    "extra": (ExtraTreesRegressor(**FEW), "number"),
    "boosting, two classes": (GradientBoostingClassifier(**FEW, early_stopping=False), "text"),
    "boosting, samples": (GradientBoostingClassifier(**FEW, early_stopping=False, subsample=0.7), "label"),
    "boosting, columns": (GradientBoostingRegressor(**FEW, max_features=0.5, min_samples_leaf=40), "number"),
    "boosting, symmetric": (
        GradientBoostingRegressor(**FEW, growth_policy="symmetric", random_strength=1.0),
        "number",
    ),
    "boosting, leaf values": (
        GradientBoostingClassifier(**FEW, path_smooth=5.0, leaf_value_folds=3, early_stopping=False),
        "text",
    ),
    "boosting, smoothed": (GradientBoostingRegressor(**FEW, path_smooth=5.0), "number"),
    "boosting, absolute error": (GradientBoostingRegressor(**FEW, loss="absolute_error"), "number"),
    "boosting, folds": (
        GradientBoostingRegressor(**FEW, n_folds=2, subsample=0.7, early_stopping=True),
        "number",
    ),
    "boosting, gradients": (GradientBoostingClassifier(**FEW, sampling="gradient", n_folds=2), "label"),
    "boosting, bayesian": (GradientBoostingRegressor(**FEW, sampling="bayesian", subsample=0.7), "number"),
    "boosting, dropped": (GradientBoostingRegressor(n_estimators=6, random_state=0, drop_rate=0.5), "number"),
    "boosting, statistics": (
        GradientBoostingClassifier(**FEW, max_categories_for_sets=2, n_folds=2, early_stopping=True),
        "label",
    ),
    "boosting, linear": (
        GradientBoostingRegressor(**FEW, linear_leaves=True, n_folds=2, early_stopping=True, subsample=0.7),
        "number",
    ),
    "boosting, linear, gradients": (
        GradientBoostingClassifier(**FEW, linear_leaves=True, sampling="gradient", max_categories_for_sets=2),
        "label",
    ),
    "boosting, validation rows": (
        GradientBoostingRegressor(n_estimators=6, random_state=1, early_stopping=True, n_iter_no_change=2),
        "number",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_model_of_a_data_frame_in_partitions_is_that_of_one_in_memory(name, client):
    model, target = CASES[name]
    expected = to_bytes(model.fit(FRAME[FEATURES], FRAME[target], sample_weight=FRAME["weight"]))
    lazy = dask_frame(FRAME[[*FEATURES, target, "weight"]], uneven(N, 17 if "boosting" in name else 5))
    assert to_bytes(model.fit(lazy, target=target, sample_weight="weight")) == expected
    assert not tasks_left(client)


def test_a_fit_with_folds_encodes_the_rows_once(client, monkeypatch):
    tasks, submit = [], Partitions.submit

    def counted(partitions, task, numbers, *args):
        tasks.extend([task.__name__] * len(numbers))
        return submit(partitions, task, numbers, *args)

    monkeypatch.setattr(Partitions, "submit", counted)
    model = GradientBoostingRegressor(**FEW, n_folds=4)
    assert to_bytes(model.fit(dask_array(VALUES, [N]), NUMBER)) == to_bytes(model.fit(VALUES, NUMBER))
    assert tasks.count("encode_rows") == 3  # one for each worker, of the only partition
    assert not tasks_left(client)


def test_the_model_of_a_wide_table_with_a_tree_of_calls():
    wide = np.random.default_rng(1).normal(size=(300, 150))
    model = GradientBoostingRegressor(n_estimators=2, random_state=0, max_leaf_nodes=20, min_samples_leaf=2)
    y = wide[:, 0] * wide[:, 1]
    with dask.config.set({"hedgerow.fan-out": 2}):
        assert to_bytes(model.fit(dask_array(wide, [300]), y)) == to_bytes(model.fit(wide, y))


def test_workers_with_threads_give_the_same_model_and_keep_warning_filters():
    """Tasks in threads that set the filters of the process would restore one another's."""
    lazy = dask_frame(FRAME[["a", "e", "label"]], [40] * 15)
    model = RandomForestClassifier(n_estimators=1)
    before = list(warnings.filters)
    with cluster_of(1, 4):
        for _ in range(2):
            model.fit(lazy, target="label")
            assert list(warnings.filters) == before
        check_fit()


def check_fit():
    """A fit of a collection gives the model of rows in memory."""
    model = GradientBoostingRegressor(**FEW)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    assert to_bytes(model.fit(dask_array(VALUES, [N]), NUMBER)) == expected


def test_early_stopping_with_a_remote_evaluation_set(client):
    X, y = (
        dask_frame(FRAME[FEATURES], [400, 0, 200]),
        dask_frame(FRAME["number"], [250, 350]),
    )
    other = rows(300, seed=9)
    lazy = dask_frame(other[FEATURES], [100, 200]), dask_frame(other["number"], [300])
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


def test_two_fits_may_run_at_a_time(client):
    X = dask_array(VALUES, [200, 400])
    models = [GradientBoostingRegressor(n_estimators=5, random_state=n) for n in range(2)]
    found = {}

    def fit(n):
        found[n] = to_bytes(models[n].fit(X, NUMBER))

    threads = [threading.Thread(target=contextvars.copy_context().run, args=(fit, n)) for n in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {n: to_bytes(models[n].fit(VALUES, NUMBER)) for n in range(2)}
    assert tasks_left(client) == []


def test_a_target_of_several_columns_in_chunks_is_concatenated():
    values, y = FRAME[["a", "c"]].to_numpy(), FRAME[["number", "label"]].to_numpy()
    model = ExtraTreesRegressor(n_estimators=2, random_state=0)
    found = model.fit(dask_array(values, [400, 200]), da.from_array(y, chunks=(300, 1)))
    assert to_bytes(found) == to_bytes(model.fit(values, y))


def test_members_of_other_libraries_are_fitted_on_the_workers_to_rows_in_memory():
    X, y = FRAME[["a", "c", "d"]].to_numpy(), FRAME["label"].to_numpy()
    model = hedgerow.BaggingClassifier(TheirTree(max_depth=3, random_state=0), **FEW)
    expected = [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_]
    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=600):
        assert [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_] == expected
    with pytest.raises((TypeError, ValueError), match="memory"):
        AdaBoostClassifier(TheirTree(max_depth=1)).fit(dask_array(X, [400, 200]), y)


# --- what a fit releases


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("model", [RandomForestClassifier(n_estimators=2), DecisionTreeClassifier()])
def test_partitions_are_released_without_garbage_collection(client, model, tmp_path):
    frame = FRAME[["a", "e", "label"]]
    more = {"checkpoint": tmp_path / "fit"} if isinstance(model, RandomForestClassifier) else {}
    model.fit(dask_frame(frame, [400, 200]), target="label", **more)
    assert tasks_left(client) == []
    with pytest.raises(ValueError) as error:  # raised after the rows were read; its frames are referenced
        model.fit(dask_frame(frame.assign(label=np.nan), [400, 200]), target="label")
    assert tasks_left(client) == []
    assert "label" in str(error.value) or "y" in str(error.value)


def after_round(number, do):
    """A callback that does something once, after a round."""
    return lambda one: do() if one.number == number else None


def test_an_interrupted_fit_leaves_nothing(client):
    senders = []
    callback = after_round(3, lambda: senders.append(interrupt_soon()))
    with pytest.warns(UserWarning, match="fit was interrupted"):
        GradientBoostingRegressor(n_estimators=100_000).fit(
            dask_array(VALUES, [N]), NUMBER, callbacks=[callback]
        )
    senders[0].join()
    assert tasks_left(client) == []
    check_fit()


@pytest.mark.parametrize(
    "options", [{}, {"drop_rate": 0.5}, {"leaf_value_folds": 3, "subsample": 0.7}], ids=str
)
def test_a_failed_fit_releases_the_cluster_and_resumes_from_its_checkpoint(client, tmp_path, options):
    X = dask_array(VALUES, [400, 200])
    model = GradientBoostingRegressor(n_estimators=6, random_state=2, **options)
    expected = to_bytes(model.fit(VALUES, NUMBER))
    path = tmp_path / "fit.checkpoint"

    def fail():
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        model.fit(X, NUMBER, callbacks=[after_round(4, fail)], checkpoint=hedgerow.Checkpoint(path, rounds=2))
    assert tasks_left(client) == []
    assert path.exists()
    assert to_bytes(model.fit(X, NUMBER, checkpoint=path)) == expected


# --- trees that workers grow


def task_of(grow):
    """A task whose trees are what a function of their numbers returns."""
    grower = SimpleNamespace(for_thread=lambda: None)
    return SimpleNamespace(n_rows=1, grower=grower, grow=lambda _, n: grow(n))


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
