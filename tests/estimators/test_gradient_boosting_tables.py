"""Values of X and y: missing values, categories, infinities, few rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from boosting_cases import classes, classifier, numbers, regressor, same_forests
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor

# --- missing values


@pytest.mark.parametrize("where", ["among the low", "among the high"])
def test_missing_values_take_the_side_that_fits(where):
    x = np.linspace(-1, 1, 200)
    y = np.where(x > 0, 5.0, 0.0)
    low = where == "among the low"
    x[np.flatnonzero(y == (0.0 if low else 5.0))[::3]] = np.nan
    model = regressor(learning_rate=1.0, n_estimators=1).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict([[np.nan]]), 0.0 if low else 5.0, atol=0.01)
    assert model.score(x[:, None], y) > 0.999


def test_missingness_itself_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = rng.integers(0, 2, 400)
    X[y == 1, 1] = np.nan  # only missingness has influence
    model = classifier(n_estimators=20).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.feature_importances_[1] > 0.99


def test_values_missing_only_at_prediction_go_to_the_heavier_side():
    x = np.linspace(0, 1, 100)[:, None]
    y = np.where(x[:, 0] > 0.7, 1.0, 0.0)
    model = regressor(learning_rate=1.0, n_estimators=1, max_leaf_nodes=2).fit(x, y)
    assert model.predict([[np.nan]])[0] == model.predict([[0.0]])[0]
    assert np.isfinite(regressor().fit(*numbers()).predict(np.full((2, 4), np.nan))).all()


def test_a_column_of_missing_values_does_not_change_the_model():
    X, y = numbers()
    wide = np.column_stack([X, np.full(len(X), np.nan)])
    model = regressor().fit(wide, y)
    assert np.array_equal(model.predict(wide), regressor().fit(X, y).predict(X))
    wide[:, 4] = 7.0
    assert np.array_equal(model.predict(wide), regressor().fit(X, y).predict(X))


def test_a_table_of_missing_values_gives_the_mean():
    model = regressor().fit(np.full((30, 2), np.nan), np.arange(30.0))
    np.testing.assert_allclose(model.predict([[np.nan, 0.0]]), 14.5, atol=1e-3)


# --- extreme values


def test_infinities_are_ordinary_extreme_values():
    X, y = numbers()
    low, high = X[:, 0].min(), X[:, 0].max()
    extreme = X.copy()
    extreme[X[:, 0] == low, 0], extreme[X[:, 0] == high, 0] = -np.inf, np.inf
    one, other = regressor().fit(X, y), regressor().fit(extreme, y)
    assert np.array_equal(one.predict(X), other.predict(extreme))
    assert other.predict([[np.inf, 0, 0, 0]]) == one.predict([[1e300, 0, 0, 0]])


def test_constant_columns_are_never_split():
    X, y = numbers()
    wide = np.column_stack([np.ones(len(X)), X, np.zeros(len(X))])
    model = regressor().fit(wide, y)
    assert np.array_equal(model.importances("split")[[0, 5]], [0, 0])
    assert np.array_equal(model.predict(wide), regressor().fit(X, y).predict(X))


@pytest.mark.parametrize("n_rows", [1, 2])
def test_one_and_two_rows(n_rows):
    X, y = np.arange(4.0).reshape(2, 2)[:n_rows], np.array([3.0, 5.0])[:n_rows]
    assert np.array_equal(GradientBoostingRegressor().fit(X, y).predict(X), np.full(n_rows, y.mean()))
    eager = regressor(min_samples_leaf=1, learning_rate=1.0, n_estimators=1).fit(X, y)
    np.testing.assert_allclose(eager.predict(X), y)
    labels = GradientBoostingClassifier(min_samples_leaf=1).fit([[0.0], [1.0]], ["a", "b"])
    assert list(labels.predict([[0.0], [1.0]])) == ["a", "b"]


def test_a_target_far_from_zero():
    X, y = numbers()
    near, far = regressor().fit(X, y).predict(X), regressor().fit(X, y + 1e9).predict(X)
    np.testing.assert_allclose(far - 1e9, near, atol=1e-5)


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**300])
def test_a_target_of_any_scale(scale):
    X, y = numbers()
    assert np.array_equal(regressor().fit(X, y * scale).predict(X), regressor().fit(X, y).predict(X) * scale)


# --- categories


def shuffled_categories(n_rows=600, n_categories=30, seed=0):
    """A category whose effect has nothing to do with its number."""
    rng = np.random.default_rng(seed)
    effect = rng.permutation(n_categories) % 2 * 4.0
    kind = rng.integers(0, n_categories, n_rows)
    return kind, effect[kind] + 0.1 * rng.normal(size=n_rows)


def test_categories_beat_their_numbers():
    kind, y = shuffled_categories()
    X = kind[:, None].astype(float)
    fast = {"n_estimators": 3, "learning_rate": 0.9, "max_leaf_nodes": 4}
    as_categories = regressor(categorical_features=[0], categorical_smoothing=0.0, **fast).fit(X, y)
    as_numbers = regressor(**fast).fit(X, y)
    assert as_categories.score(X, y) > 0.99
    assert as_numbers.score(X, y) < 0.7


def test_every_way_to_name_a_categorical_column_gives_the_same_model():
    kind, y = shuffled_categories()
    names = np.array([f"kind {number:02}" for number in range(30)])[kind]
    x = np.random.default_rng(1).normal(size=len(y))
    frame = pd.DataFrame({"x": x, "kind": names})
    typed = frame.astype({"kind": "category"})
    polar = pl.DataFrame({"x": x, "kind": names})
    arrow = pa.table({"x": x, "kind": pa.array(names).dictionary_encode()})
    ways = [
        ({}, typed),
        ({"categorical_features": "from_dtype"}, typed),
        ({"categorical_features": ["kind"]}, frame),
        ({"categorical_features": [1]}, frame),
        ({"categorical_features": [False, True]}, frame),
        ({}, polar.with_columns(pl.col("kind").cast(pl.Categorical))),
        ({"categorical_features": ["kind"]}, polar),
        ({}, arrow),
        ({"categorical_features": [1]}, np.column_stack([x.astype(object), names.astype(object)])),
    ]
    models = [regressor(**parameters).fit(table, y) for parameters, table in ways]
    wanted = models[0].predict(typed)
    for model, (_, table) in zip(models, ways, strict=True):
        assert same_forests(model, models[0])
        assert np.array_equal(model.predict(table), wanted)
    assert models[0].model_.forest.sets.shape[0] > 0


@pytest.mark.parametrize("some_missing", [False, True])
def test_an_unknown_category_is_treated_as_missing(some_missing):
    kind, y = shuffled_categories()
    values = np.array([f"kind {number}" for number in range(30)], dtype=object)[kind]
    if some_missing:
        values[::11] = None
    x = np.random.default_rng(1).normal(size=len(y))
    frame = pd.DataFrame({"x": x, "kind": values})
    model = regressor(categorical_features=["kind"]).fit(frame, y)
    missing, unseen = (frame.assign(kind=pd.Series([v] * len(y), dtype=object)) for v in (None, "new"))
    assert np.array_equal(model.predict(unseen), model.predict(missing))
    assert np.array_equal(model.apply(unseen), model.apply(missing))
    assert not np.array_equal(model.predict(unseen), model.predict(frame))


def test_missing_is_a_category_of_its_own():
    kind, y = shuffled_categories()
    values = kind.astype(float)
    values[::4] = np.nan
    y[::4] = 20.0
    fast = {"n_estimators": 5, "learning_rate": 0.9, "categorical_smoothing": 0.0}
    model = regressor(categorical_features=[0], **fast).fit(values[:, None], y)
    np.testing.assert_allclose(model.predict([[np.nan]]), 20.0, atol=0.1)


def test_more_categories_than_bins():
    rng = np.random.default_rng(0)
    kind = np.concatenate([rng.integers(0, 20, 3000), np.arange(20, 620)])  # 20 common, 600 rare
    y = np.where(kind < 20, kind % 2 * 4.0, 9.0)
    model = regressor(categorical_features=[0], n_estimators=20, learning_rate=0.5).fit(kind[:, None], y)
    assert model.score(kind[:, None], y) > 0.99
    np.testing.assert_allclose(model.predict(np.arange(20)[:, None]), np.arange(20) % 2 * 4.0, atol=0.3)
    assert np.isfinite(model.predict([[10_000]])).all()


def test_few_bins_for_many_categories():
    kind, y = shuffled_categories()
    model = regressor(categorical_features=[0], max_bins=4).fit(kind[:, None], y)
    assert model.model_.bins.n_bins[0] == 4
    assert np.isfinite(model.predict(kind[:, None])).all()


# --- targets


@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_column_vector_is_read_with_a_warning(make):
    X, y = classes()
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = make().fit(X, y[:, None])
    assert np.array_equal(model.predict(X), make().fit(X, y).predict(X))


def test_fit_rejects_a_target_of_two_columns():
    with pytest.raises(ValueError, match="y should be a 1d array"):
        regressor().fit(numbers()[0], np.ones((300, 2)))


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [(["a", "a"], ValueError, "unique"), (["a", 1], TypeError, "Feature names are only supported")],
)
def test_fit_rejects_invalid_column_names(names, error, message):
    with pytest.raises(error, match=message):
        regressor().fit(pd.DataFrame(np.ones((300, 2)), columns=names), np.arange(300.0))


def test_fit_rejects_categorical_features_that_x_does_not_have():
    X, y = numbers()
    with pytest.raises(ValueError, match=r"categorical_features names the positions \[4\].*0..3"):
        regressor(categorical_features=[4]).fit(X, y)
    with pytest.raises(ValueError, match="categorical_features='kind' is not allowed; allowed are"):
        regressor(categorical_features="kind").fit(X, y)
