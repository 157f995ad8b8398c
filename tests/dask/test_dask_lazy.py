"""Predictions of Dask collections: lazy, and the same as of rows in memory."""

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import hedgerow
from dask_cases import array_in_parts, frame_in_parts


def rows(n=400, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    return frame


FRAME = rows()
THREE = np.where(FRAME["a"] > 0.5, "high", np.where(FRAME["b"] > 0, "middle", "low"))
TWO = (FRAME["a"] > FRAME["b"]).to_numpy()
NUMBERS = FRAME["a"].to_numpy() * 3

MODELS = [
    (hedgerow.GradientBoostingClassifier(n_estimators=3), THREE),
    (hedgerow.GradientBoostingClassifier(n_estimators=3), TWO),
    (hedgerow.GradientBoostingRegressor(n_estimators=3), NUMBERS),
    (hedgerow.AdaBoostClassifier(n_estimators=3), TWO),
    (hedgerow.AdaBoostRegressor(n_estimators=3), NUMBERS),
    (hedgerow.RandomForestClassifier(n_estimators=3), THREE),
    (hedgerow.RandomForestRegressor(n_estimators=3), NUMBERS),
    (hedgerow.DecisionStump(), TWO),
]


def same(lazy, eager):
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == eager.dtype
    assert lazy.ndim == eager.ndim
    assert lazy.shape[1:] == eager.shape[1:]
    assert type(lazy._meta) is np.ndarray
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lazy.compute(scheduler="threads")
    assert found.dtype == eager.dtype
    assert np.array_equal(found, eager)


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda one: type(one).__name__)
def test_all_methods_of_rows_are_lazy_and_say_the_same(model, y):
    model.fit(FRAME, y)
    X = frame_in_parts(FRAME, [150, 0, 250])
    for name in ("predict", "predict_proba", "decision_function", "apply", "predict_log_proba"):
        if hasattr(model, name):
            same(getattr(model, name)(X), getattr(model, name)(FRAME))


def test_an_array_keeps_its_chunks():
    values = FRAME[list("abc")].to_numpy()
    model = hedgerow.GradientBoostingClassifier(n_estimators=3).fit(values, THREE)
    X = array_in_parts(values, [100, 300])
    for name in ("predict", "predict_proba"):
        lazy = getattr(model, name)(X)
        assert lazy.chunks[0] == (100, 300)
        same(lazy, getattr(model, name)(values))
        same(getattr(model, name)(X.rechunk((40, 2))), getattr(model, name)(values))
        some = X[X[:, 0] > 0]
        same(getattr(model, name)(some), getattr(model, name)(values[values[:, 0] > 0]))


def test_members_of_other_libraries_predict_lazily():
    values = FRAME[list("abc")].to_numpy()
    model = hedgerow.BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0).fit(values, TWO)
    same(model.predict(array_in_parts(values, [100, 300])), model.predict(values))


def test_columns_are_checked_at_once():
    model = hedgerow.GradientBoostingRegressor(n_estimators=2).fit(FRAME[["a", "b"]], NUMBERS)
    X = frame_in_parts(FRAME, [400])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["b", "c"]])
    with pytest.raises(TypeError, match="X is a Dask Series"):
        model.predict(X["a"])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        model.predict(da.zeros(3))
    with (
        pytest.raises(ValueError, match="X has 3 features, but"),
        pytest.warns(UserWarning, match="feature names"),
    ):
        model.predict(da.zeros((3, 3)))
    with pytest.raises(NotFittedError):
        hedgerow.GradientBoostingRegressor().predict(dd.from_pandas(FRAME, npartitions=2))


def test_the_model_in_the_graph_is_light():
    model = hedgerow.GradientBoostingClassifier(n_estimators=3, n_jobs=2).fit(FRAME, TWO)
    graph = dict(model.predict(frame_in_parts(FRAME, [200, 200])).__dask_graph__())
    sent = [value for value in _values_in(graph) if isinstance(value, hedgerow.GradientBoostingClassifier)]
    assert len({id(one) for one in sent}) == 1
    assert sent[0].n_jobs == 1
    assert not hasattr(sent[0], "seen_rows_")
    assert model.n_jobs == 2
    assert hasattr(model, "seen_rows_")


def _values_in(graph):
    for task in graph.values():
        yield getattr(task, "value", None)
        yield from (getattr(one, "value", one) for one in getattr(task, "args", ()))
