"""Predictions of Dask collections: lazy, and the same as of rows in memory."""

import pickle
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import hedgerow
from dask_cases import dask_array, dask_frame, rows

FRAME = rows(400)[["a", "c", "d", "e"]].set_axis(list("abce"), axis=1)
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


def check_methods(model):
    """Compare the lazy results of all methods with those of rows in memory."""
    X = dask_frame(FRAME, [150, 0, 250])
    for name in ("predict", "predict_proba", "decision_function", "apply", "predict_log_proba"):
        if hasattr(model, name):
            same(getattr(model, name)(X), getattr(model, name)(FRAME))


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda one: type(one).__name__)
def test_predictions_are_lazy_and_scores_accept_collections(model, y):
    model.fit(FRAME, y)
    check_methods(model)
    weight = np.arange(400) % 3 + 1
    X = dask_frame(FRAME, [150, 250])
    lazy, weights = dask_frame(pd.Series(y), [400]), da.from_array(weight, chunks=100)
    assert model.score(X, lazy) == model.score(FRAME, y)
    assert model.score(X, y, sample_weight=weights) == model.score(FRAME, y, sample_weight=weight)


def test_an_array_keeps_its_chunks():
    values = FRAME[list("abc")].to_numpy()
    model = hedgerow.GradientBoostingClassifier(n_estimators=3).fit(values, THREE)
    X = dask_array(values, [100, 300])
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
    same(model.predict(dask_array(values, [100, 300])), model.predict(values))


@pytest.mark.parametrize("kind", [hedgerow.BaggingClassifier, hedgerow.AdaBoostClassifier])
def test_members_receive_columns_by_name_and_known_categories(kind):
    by_name = ColumnTransformer([("e", OneHotEncoder(), ["e"]), ("a", "passthrough", ["a"])])
    model = kind(make_pipeline(by_name, LogisticRegression()), n_estimators=2, random_state=0)
    check_methods(model.fit(FRAME, THREE))


class ComparesFilters(ClassifierMixin, BaseEstimator):
    """A member that predicts whether the warning filters are those of its fit."""

    def fit(self, X, y):
        self.classes_, self.filters_ = np.unique(y), list(warnings.filters)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[int(list(warnings.filters) == self.filters_)])


def test_predict_does_not_change_warning_filters():
    """They belong to the process: tasks in threads that set them would restore one another's."""
    values = FRAME[list("abc")].to_numpy()
    model = hedgerow.BaggingClassifier(ComparesFilters(), n_estimators=1, random_state=0).fit(values, TWO)
    assert model.predict(dask_array(values, [100, 300])).compute(scheduler="sync").all()


def test_missing_feature_names_warn_once():
    numbers = FRAME[list("abc")]
    values, unnamed = numbers.to_numpy(), numbers.set_axis(range(3), axis=1)
    named = hedgerow.RandomForestRegressor(n_estimators=2, random_state=0).fit(numbers, NUMBERS)
    plain = hedgerow.RandomForestRegressor(n_estimators=2, random_state=0).fit(values, NUMBERS)
    cases = [
        (named, dask_array(values, [100, 300]), "does not have valid feature names"),
        (named, dask_frame(unnamed, [100, 300]), "does not have valid feature names"),
        (plain, dask_frame(numbers, [100, 300]), "was fitted without feature names"),
    ]
    for model, X, text in cases:
        for method in ("predict", "apply"):
            with pytest.warns(UserWarning, match=text) as caught:
                lazy = getattr(model, method)(X)
            assert len(caught) == 1
            same(lazy, getattr(plain, method)(values))


def test_columns_are_checked_before_rows_are_computed():
    model = hedgerow.GradientBoostingRegressor(n_estimators=2).fit(FRAME[["a", "b"]], NUMBERS)
    X = dask_frame(FRAME, [400])
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


def test_the_model_in_the_graph_has_no_fingerprints():
    model = hedgerow.GradientBoostingClassifier(n_estimators=3, n_jobs=2).fit(FRAME, TWO)
    graph = dict(model.predict(dask_frame(FRAME, [200, 200])).__dask_graph__())
    sent = [value for value in _values_in(graph) if isinstance(value, hedgerow.GradientBoostingClassifier)]
    assert len({id(one) for one in sent}) == 1
    assert sent[0].n_jobs == 1
    assert not hasattr(sent[0], "row_fingerprints_")
    assert model.n_jobs == 2
    assert hasattr(model, "row_fingerprints_")


FEW = {"max_depth": 2, "n_estimators": 3, "random_state": 0}
BY_ROW = [
    (hedgerow.RandomForestClassifier(**FEW, oob_score=True), TWO),
    (hedgerow.RandomForestRegressor(**FEW, oob_score=True, keep_targets=True), NUMBERS),
    (hedgerow.AdaBoostClassifier(n_estimators=3), TWO),
    (hedgerow.AdaBoostRegressor(n_estimators=3), NUMBERS),
    (hedgerow.LogitBoostClassifier(n_estimators=3), TWO),
    (hedgerow.BaggingClassifier(hedgerow.DecisionStump(), n_estimators=3, random_state=0), TWO),
]


@pytest.mark.parametrize(("model", "y"), BY_ROW, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore:.*out of bag|.*out-of-bag")
def test_no_training_rows_are_sent(model, y):
    """Twenty times the rows, with the same values: the model is the same but for what it keeps of rows."""
    X = da.zeros((8, 3), chunks=4)
    sizes = []
    for copies in (1, 20):
        values = np.tile(np.sign(FRAME[list("abc")].to_numpy()), (copies, 1))  # few bins, also of few rows
        graph = dict(model.fit(values, np.tile(y, copies)).predict(X).__dask_graph__())
        sizes.append(len(pickle.dumps(next(v for v in _values_in(graph) if isinstance(v, type(model))))))
    assert sizes[1] - sizes[0] < len(y)  # for 19 times as many more


def _values_in(graph):
    for task in graph.values():
        yield getattr(task, "value", None)
        yield from (getattr(one, "value", one) for one in getattr(task, "args", ()))
