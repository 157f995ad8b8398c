"""Forests: predictions, values of leaves, several outputs, categories, missing values and sizes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier as TheirClassifier
from sklearn.ensemble import RandomForestRegressor as TheirRegressor

from forest_cases import (
    CLASSIFIERS,
    KINDS,
    REGRESSORS,
    bag_counts,
    classes,
    counts,
    data_for,
    depths,
    numbers,
    predictions,
    predictions_by_tree,
)
from hedgerow import RandomForestClassifier, RandomForestRegressor

# --- learning


def xor(n_rows=400):
    """The four corners of a square, equally often: no split of one column has a gain."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat(n_rows // 4, axis=0)
    return X, (X[:, 0] != X[:, 1]).astype(np.int64)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_exclusive_or_is_learned_without_a_gain_of_the_first_split(kind, criterion):
    X, y = xor()
    model = kind(5, criterion=criterion, bootstrap=False, random_state=0).fit(X, y)
    assert model.predict_proba(X).tolist() == np.eye(2)[y].tolist()
    assert {max(depth) for depth in depths(model)} == {2}
    assert kind(20, bootstrap=True, random_state=0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("kind", REGRESSORS)
def test_exclusive_or_is_learned_as_a_number(kind):
    X, y = xor()
    for criterion in ("squared_error", "poisson"):
        model = kind(5, criterion=criterion, bootstrap=False, random_state=0).fit(X, y + 1.0)
        np.testing.assert_allclose(model.predict(X), y + 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_poisson_mean_is_never_zero(kind):
    """The deviance of a count is infinite for a predicted mean of zero: no leaf may hold only zeros."""
    X, y = counts()
    model = kind(10, criterion="poisson", random_state=0).fit(X, y)
    assert (y == 0).sum() > 50
    assert predictions_by_tree(model, X).min() > 0
    squared = kind(10, random_state=0).fit(X, y)
    assert predictions_by_tree(squared, X).min() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_distinct_rows_are_fitted_exactly_without_bootstrap(kind):
    X, y = data_for(kind, 200)
    model = kind(3, bootstrap=False, random_state=0).fit(X, y)
    if kind in CLASSIFIERS:
        assert np.array_equal(model.predict(X), y)
        assert model.predict_proba(X).max(axis=1).min() == 1.0
    else:
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_leaf_values_are_means_of_drawn_rows():
    X, y = numbers(200)
    model = RandomForestRegressor(4, max_leaf_nodes=8, random_state=0).fit(X, y)
    leaves, drawn, predicted = model.apply(X), bag_counts(model), predictions_by_tree(model, X)
    for tree in range(4):
        for leaf in np.unique(leaves[:, tree]):
            here = leaves[:, tree] == leaf
            mean = np.average(y[here], weights=drawn[tree, here])
            np.testing.assert_allclose(predicted[tree, here, 0], mean, rtol=1e-12)


def test_leaf_values_are_class_shares_of_drawn_rows():
    X, y = classes(200)
    weights = {"alder": 2.0, "beech": 0.5, "cedar": 1.0}
    for class_weight in (None, weights):
        model = RandomForestClassifier(4, max_leaf_nodes=8, class_weight=class_weight, random_state=0)
        model.fit(X, y)
        leaves, drawn, predicted = model.apply(X), bag_counts(model), predictions_by_tree(model, X)
        factor = np.array([1.0 if class_weight is None else weights[label] for label in y])
        for tree in range(4):
            for leaf in np.unique(leaves[:, tree]):
                here = leaves[:, tree] == leaf
                sums = [np.sum((drawn[tree] * factor)[here & (y == label)]) for label in model.classes_]
                np.testing.assert_allclose(
                    predicted[tree, here], np.tile(np.array(sums) / np.sum(sums), (here.sum(), 1)), rtol=1e-9
                )


def test_balanced_trees_give_classes_the_same_weight_in_every_tree():
    """A share of a class in a leaf is in proportion to how much of the class came to the leaf."""
    X, y = classes(300)
    y = np.where((y == "alder") & (np.arange(300) % 2 == 0), "rare", "usual")
    model = RandomForestClassifier(6, class_weight="balanced_subsample", max_leaf_nodes=2, random_state=0)
    model.fit(X, y)
    leaves, drawn, predicted = model.apply(X), bag_counts(model), predictions_by_tree(model, X)
    for tree in range(6):
        of_class = [drawn[tree, y == label].sum() for label in model.classes_]
        for leaf in np.unique(leaves[:, tree]):
            here = leaves[:, tree] == leaf
            odds = [
                drawn[tree, here & (y == label)].sum() / n
                for label, n in zip(model.classes_, of_class, strict=True)
            ]
            np.testing.assert_allclose(
                predicted[tree, here], np.tile(np.array(odds) / np.sum(odds), (here.sum(), 1)), rtol=1e-9
            )
    plain = RandomForestClassifier(6, max_leaf_nodes=2, random_state=0).fit(X, y)
    assert model.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1


def test_balanced_and_balanced_in_every_tree_differ():
    X, y = classes(300, 2)
    models = [
        RandomForestClassifier(5, class_weight=c, min_samples_leaf=5, random_state=0).fit(X, y)
        for c in ("balanced", "balanced_subsample", None)
    ]
    predicted = [model.predict_proba(X).tobytes() for model in models]
    assert len(set(predicted)) >= 2
    assert np.array_equal(bag_counts(models[0]), bag_counts(models[1]))


# --- several outputs


@pytest.mark.parametrize("kind", REGRESSORS)
def test_several_outputs_are_predicted_together(kind):
    X, y = numbers(n_outputs=3)
    model = kind(20, random_state=0).fit(X, y)
    assert model.n_outputs_ == 3
    assert model.predict(X).shape == (300, 3)
    assert model.predict(X[:1]).shape == (1, 3)
    np.testing.assert_array_equal(model.predict(X), predictions_by_tree(model, X).sum(axis=0) / 20)
    assert model.score(X, y) > 0.7
    single = kind(20, random_state=0).fit(X, y[:, :1].ravel())
    assert single.n_outputs_ == 1
    assert single.predict(X).shape == (300,)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_a_repeated_output_changes_nothing(criterion):
    X, y = counts()
    parameters = {"criterion": criterion, "max_leaf_nodes": 20, "random_state": 0, "bootstrap": False}
    once = RandomForestRegressor(5, **parameters).fit(X, y)
    twice = RandomForestRegressor(5, **parameters).fit(X, np.column_stack([y, y]))
    predicted = twice.predict(X)
    np.testing.assert_allclose(predicted[:, 0], once.predict(X), rtol=1e-9)
    np.testing.assert_allclose(predicted[:, 1], once.predict(X), rtol=1e-9)


def test_an_output_of_large_scale_dominates_the_splits():
    X, y = numbers(n_outputs=2)
    parameters = {"max_leaf_nodes": 9, "bootstrap": False, "random_state": 0}
    large = RandomForestRegressor(1, **parameters).fit(X, y * [1.0, 1e-9])
    alone = RandomForestRegressor(1, **parameters).fit(X, y[:, 0])
    other = RandomForestRegressor(1, **parameters).fit(X, y * [1e-9, 1.0])
    assert np.array_equal(large.apply(X), alone.apply(X))
    assert not np.array_equal(large.apply(X), other.apply(X))


# --- categories and missing values


def coded(n_rows=600, seed=0):
    """Twelve categories, of which every other one is high: codes in order would need many cuts."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 12, n_rows)
    names = np.array([f"kind {i:02}" for i in range(12)])
    return pd.DataFrame({"kind": pd.Categorical(names[code]), "noise": rng.random(n_rows)}), code, rng


@pytest.mark.parametrize("kind", KINDS)
def test_categories_are_better_split_by_sets_than_by_codes(kind):
    table, code, rng = coded()
    y = code % 2 + (0.0 if kind in CLASSIFIERS else rng.normal(size=600) / 4)
    parameters = {"max_depth": 2, "n_estimators": 20, "max_features": None, "random_state": 0}
    by_sets = kind(**parameters).fit(table[:300], y[:300])
    as_codes = table.assign(kind=code)
    by_codes = kind(**parameters).fit(as_codes[:300], y[:300])
    assert by_sets.model_.forest.sets.size
    assert not by_codes.model_.forest.sets.size
    high = 0.99 if kind in CLASSIFIERS else 0.55
    assert by_sets.score(table[300:], y[300:]) > high
    assert by_sets.score(table[300:], y[300:]) > by_codes.score(as_codes[300:], y[300:]) + 0.2
    named = kind(**parameters, categorical_features=["kind"]).fit(as_codes[:300], y[:300])
    assert np.array_equal(predictions(named, as_codes), predictions(by_sets, table))


@pytest.mark.parametrize("kind", KINDS)
def test_unseen_categories_are_missing_values(kind):
    table, code, _ = coded()
    y = code % 2
    model = kind(10, random_state=0).fit(table, y)
    new = table[:30].assign(kind=pd.Categorical(["kind 99"] * 30))
    gone = table[:30].assign(kind=pd.Categorical([None] * 30, categories=table["kind"].cat.categories))
    assert np.array_equal(predictions(model, new), predictions(model, gone))
    assert np.isfinite(predictions(model, new)).all()
    missing = table.assign(kind=table["kind"].where(code != 3))  # a missing value is informative
    learned = kind(30, random_state=0, max_features=None).fit(missing, code == 3)
    predicted = predictions(learned, missing[:50])
    predicted = predicted[:, 1] if predicted.ndim == 2 else predicted
    assert predicted[code[:50] == 3].min() > 0.9
    assert predicted[code[:50] != 3].max() < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_go_to_the_better_side(kind):
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    X[rng.random(400) < 0.3, 0] = np.nan
    for y in (np.isnan(X[:, 0]), np.isnan(X[:, 0]) | (X[:, 0] < 0.4), np.isnan(X[:, 0]) | (X[:, 0] > 0.6)):
        model = kind(30, max_features=None, random_state=0).fit(X[:300], y[:300])
        predicted = predictions(model, X[300:])
        predicted = predicted[:, 1] if predicted.ndim == 2 else predicted
        assert np.mean((predicted > 0.5) == y[300:]) > 0.95


def test_missing_values_are_predicted_without_any_in_training():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    X[:, 2] = np.nan
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.predict_proba(np.full((2, 4), np.nan)).shape == (2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_infinities_are_ordinary_values(kind):
    X, y = data_for(kind, 200)
    X[:40, 0] = np.inf
    X[40:70, 0] = -np.inf
    far = np.where(np.isinf(X), np.sign(X) * 1e6, X)
    model = kind(5, random_state=0, bootstrap=False, max_features=None).fit(X, y)
    assert np.isfinite(predictions(model, X)).all()
    if kind in (RandomForestClassifier, RandomForestRegressor):
        other = kind(5, random_state=0, bootstrap=False, max_features=None).fit(far, y)
        assert np.array_equal(predictions(model, X), predictions(other, far))


# --- labels


def test_many_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(300), 4)
    X = np.column_stack([y // 20, y % 20]) + rng.random((1200, 2)) / 2
    model = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (1200, 300)
    assert model.score(X, y) == 1.0


# --- leaves and sizes


@pytest.mark.parametrize("kind", KINDS)
def test_proximity_by_common_leaves(kind):
    X, y = load_iris(return_X_y=True)
    model = kind(50, random_state=0).fit(X, y)
    leaves = model.apply(X)
    assert leaves.shape == (150, 50)
    assert leaves.dtype == np.int64
    nodes = np.diff(model.model_.forest.starts)
    assert (leaves >= 0).all()
    assert (leaves < nodes).all()
    proximity = np.mean(leaves[:, np.newaxis] == leaves[np.newaxis], axis=2)
    assert np.array_equal(np.diag(proximity), np.ones(150))
    assert proximity[y == 0][:, y == 0].mean() > 0.3
    assert proximity[y == 0][:, y == 2].mean() < 0.01


def test_a_forest_is_much_smaller_than_that_of_scikit_learn():
    X, y = make_classification(2000, 20, n_informative=6, flip_y=0.1, random_state=0)
    mine = RandomForestClassifier(20, random_state=0).fit(X, y)
    theirs = TheirClassifier(20, random_state=0).fit(X, y)
    assert mine.model_.nbytes < len(pickle.dumps(theirs)) / 4
    X, y = make_regression(2000, 20, noise=10.0, random_state=0)
    mine = RandomForestRegressor(20, random_state=0).fit(X, y)
    theirs = TheirRegressor(20, random_state=0).fit(X, y)
    assert mine.model_.nbytes < len(pickle.dumps(theirs)) / 4
    forest = mine.model_.forest
    n_nodes = forest.starts[-1]
    assert mine.model_.nbytes >= sum(array.nbytes for array in forest.arrays().values()) >= 12 * n_nodes
