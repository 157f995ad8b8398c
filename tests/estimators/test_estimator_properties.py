"""Properties of gradient boosting for any table, target and parameters."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boosting_cases import REGRESSION_LOSSES, classifier, regressor, same_forests

QUICK = settings(max_examples=30, deadline=None)

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 60)


def table(seed, n_rows, n_columns=3):
    """Few distinct values, some missing, some infinite, perhaps a constant column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, size=(n_rows, n_columns)) / 4.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.03] = np.inf
    X[rng.random(X.shape) < 0.03] = -np.inf
    if rng.random() < 0.3:
        X[:, rng.integers(n_columns)] = 1.0
    return X


def labels(seed, n_rows, n_classes):
    y = np.random.default_rng(seed).integers(0, n_classes, n_rows)
    y[:2] = [0, 1]
    return np.array(["a", "b", "c", "d"])[y]


rules = st.fixed_dictionaries(
    {
        "n_estimators": st.integers(1, 6),
        "learning_rate": st.sampled_from([0.01, 0.3, 1.0]),
        "max_leaf_nodes": st.sampled_from([2, 5, None]),
        "max_depth": st.sampled_from([1, 3, None]),
        "min_samples_leaf": st.integers(1, 8),
        "min_child_weight": st.sampled_from([0.0, 1e-3, 1.0]),
        "l1_regularization": st.sampled_from([0.0, 0.1]),
        "l2_regularization": st.sampled_from([0.0, 1.0]),
        "max_bins": st.sampled_from([2, 7, 255]),
        "newton": st.booleans(),
        "path_smooth": st.sampled_from([0.0, 0.0, 2.0, 100.0]),
        "subsample": st.sampled_from([0.3, 1.0]),
        "max_features": st.sampled_from([0.5, 1.0]),
        "interaction_cst": st.sampled_from([None, "pairwise", "no_interactions"]),
        "categorical_features": st.sampled_from([None, [0], [1, 2]]),
        "random_state": st.integers(0, 99),
    }
)


@QUICK
@given(seed=seeds, n_rows=sizes, n_classes=st.integers(2, 4), parameters=rules)
def test_predictions_of_a_classifier_are_consistent(seed, n_rows, n_classes, parameters):
    X, y = table(seed, n_rows), labels(seed, n_rows, n_classes)
    model = classifier(**parameters).fit(X, y)
    other = np.concatenate([X, table(seed + 1, 40)])
    proba = model.predict_proba(other)
    assert np.all(np.isfinite(proba))
    assert np.all(proba >= 0)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(other), model.classes_[np.argmax(proba, axis=1)])
    assert list(model.staged_predict_proba(other))[-1].tobytes() == proba.tobytes()
    assert pickle.loads(pickle.dumps(model)).predict_proba(other).tobytes() == proba.tobytes()  # noqa: S301
    raw = model.decision_function(other)
    largest = (raw > 0).astype(int) if raw.ndim == 1 else np.argmax(raw, axis=1)
    near = np.abs(np.diff(np.sort(proba, axis=1)[:, -2:], axis=1))[:, 0] < 1e-9
    assert np.all((model.classes_[largest] == model.predict(other)) | near)


@QUICK
@given(seed=seeds, n_rows=sizes, loss=st.sampled_from(REGRESSION_LOSSES), parameters=rules)
def test_a_regressor_predicts_single_rows_the_same(seed, n_rows, loss, parameters):
    X = table(seed, n_rows)
    y = np.random.default_rng(seed).gamma(1.0, size=n_rows) + 0.01
    model = regressor(loss=loss, **parameters).fit(X, y)
    predicted = model.predict(X)
    assert np.all(np.isfinite(predicted))
    assert np.concatenate([model.predict(row[None]) for row in X]).tobytes() == predicted.tobytes()
    assert list(model.staged_predict(X))[-1].tobytes() == predicted.tobytes()
    assert model.predict(np.asfortranarray(X)).tobytes() == predicted.tobytes()
    again = regressor(loss=loss, **parameters).fit(X, y)
    assert same_forests(model, again)


@QUICK
@given(seed=seeds, n_rows=sizes, loss=st.sampled_from(REGRESSION_LOSSES), parameters=rules)
def test_whole_weights_are_copies(seed, n_rows, loss, parameters):
    X = table(seed, n_rows)
    rng = np.random.default_rng(seed)
    y, copies = rng.gamma(1.0, size=n_rows) + 0.01, rng.integers(0, 4, n_rows)
    copies[0] = 2
    if parameters["categorical_features"] is not None:  # rows of weight zero define categories, too
        copies = np.maximum(copies, 1)
    settings_ = parameters | {"subsample": 1.0, "loss": loss}
    weighted = regressor(**settings_).fit(X, y, copies)
    repeated = regressor(**settings_).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert same_forests(weighted, repeated)


@QUICK
@given(seed=seeds, n_rows=st.integers(5, 60), n_more=st.integers(0, 5), parameters=rules)
def test_a_warm_start_is_one_long_fit(seed, n_rows, n_more, parameters):
    X, y = table(seed, n_rows), labels(seed, n_rows, 3)
    warm = classifier(**parameters, warm_start=True).fit(X, y)
    total = parameters["n_estimators"] + n_more
    warm.set_params(n_estimators=total).fit(X, y)
    assert same_forests(warm, classifier(**parameters | {"n_estimators": total}).fit(X, y))


@QUICK
@given(seed=seeds, n_rows=st.integers(5, 80), loss=st.sampled_from(REGRESSION_LOSSES), parameters=rules)
def test_monotonic_constraints_hold(seed, n_rows, loss, parameters):
    X = table(seed, n_rows)
    y = np.random.default_rng(seed).gamma(1.0, size=n_rows) + 0.01
    free = parameters | {"categorical_features": None, "loss": loss}
    model = regressor(**free, monotonic_cst=[1, -1, 0]).fit(X, y)
    points = table(seed + 1, 30)
    for column, direction in ((0, 1), (1, -1)):
        grid = np.repeat(points, 9, axis=0)
        grid[:, column] = np.tile([-np.inf, -1.25, -0.75, -0.25, 0.0, 0.25, 0.75, 1.25, np.inf], 30)
        steps = np.diff(model._raw(grid)[0].reshape(30, 9), axis=1)
        assert np.all(steps * direction >= -1e-12)  # sums of ordered values, each rounded


@QUICK
@given(seed=seeds, n_rows=st.integers(20, 80), newton=st.booleans())
def test_rising_functions_of_the_columns_change_nothing(seed, n_rows, newton):
    X = table(seed, n_rows)
    y = np.random.default_rng(seed).normal(size=n_rows)
    bent = np.arctan(X) * 3.0 + 7.0  # arctan keeps the order, infinities included
    one, other = (regressor(newton=newton).fit(values, y) for values in (X, bent))
    assert np.array_equal(one.predict(X), other.predict(bent))


@pytest.mark.parametrize("n_jobs", [1, 2])
@QUICK
@given(seed=seeds, n_rows=sizes)
def test_unseen_categories_are_missing(n_jobs, seed, n_rows):
    X = table(seed, n_rows)
    y = np.random.default_rng(seed).normal(size=n_rows)
    model = regressor(categorical_features=[0, 1], min_samples_leaf=1, n_jobs=n_jobs).fit(X, y)
    unseen, missing = X.copy(), X.copy()
    unseen[:, :2], missing[:, :2] = 99.0, np.nan
    assert np.array_equal(model.predict(unseen), model.predict(missing))
