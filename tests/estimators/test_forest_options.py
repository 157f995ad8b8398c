"""Options of forests: sizes of leaves, depth, columns per node, gains, monotonic constraints."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as TheirClassifier
from sklearn.ensemble import RandomForestRegressor as TheirRegressor

from forest_cases import (
    CLASSIFIERS,
    KINDS,
    REGRESSORS,
    bag_counts,
    bits,
    classes,
    data_for,
    depths,
    predictions,
)
from hedgerow import RandomForestClassifier, RandomForestRegressor

# --- trees


@pytest.mark.parametrize("kind", KINDS)
def test_min_samples_leaf(kind):
    X, y = data_for(kind)
    for bootstrap in (True, False):
        for min_leaf, least in [(7, 7), (0.05, 15)]:
            model = kind(4, bootstrap=bootstrap, min_samples_leaf=min_leaf, random_state=0).fit(X, y)
            leaves, drawn = model.apply(X), bag_counts(model)
            for tree in range(4):
                sizes = np.bincount(leaves[:, tree], drawn[tree])
                sizes = sizes[np.unique(leaves[drawn[tree] > 0, tree])]
                assert sizes.min() >= least
                assert sizes.min() < 2 * least
                assert len(sizes) > 4


def test_min_samples_leaf_ignores_weights():
    X, y = classes()
    for parameters in ({"class_weight": {"alder": 0.01}}, {"bootstrap": False}):
        weight = None if "class_weight" in parameters else np.random.default_rng(0).random(300) / 10
        model = RandomForestClassifier(3, min_samples_leaf=10, random_state=0, **parameters)
        model.fit(X, y, sample_weight=weight)
        leaves, drawn = model.apply(X), bag_counts(model)
        for tree in range(3):
            sizes = np.bincount(leaves[:, tree], drawn[tree])
            assert 10 <= sizes[sizes > 0].min() < 25


@pytest.mark.parametrize("kind", KINDS)
def test_min_weight_fraction_leaf(kind):
    X, y = data_for(kind)
    weight = np.random.default_rng(0).exponential(size=300)
    model = kind(4, bootstrap=False, min_weight_fraction_leaf=0.04, random_state=0)
    model.fit(X, y, sample_weight=weight)
    leaves = model.apply(X)
    for tree in range(4):
        shares = np.bincount(leaves[:, tree], weight)[np.unique(leaves[:, tree])] / weight.sum()
        assert 0.04 * (1 - 1e-6) <= shares.min() < 0.08
        assert len(shares) > 4


@pytest.mark.parametrize("kind", KINDS)
def test_min_samples_split(kind):
    X, y = data_for(kind)
    model = kind(4, bootstrap=False, min_samples_split=40, random_state=0).fit(X, y)
    for tree, depth in enumerate(depths(model)):
        forest = model.model_.forest
        words = forest.nodes[forest.starts[tree] : forest.starts[tree + 1]].tolist()
        sizes = np.bincount(model.apply(X)[:, tree], minlength=len(words))
        for node in reversed(range(len(words))):
            if words[node] & 3 != 3:
                child = words[node] >> 36
                sizes[node] = sizes[child] + sizes[child + 1]
                assert sizes[node] >= 40
        assert sizes[0] == 300
        assert max(depth) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_max_depth_and_max_leaf_nodes(kind):
    X, y = data_for(kind)
    assert min(max(depth) for depth in depths(kind(4, random_state=0).fit(X, y))) > 7
    for max_depth in (1, 2, 5):
        model = kind(4, max_depth=max_depth, random_state=0).fit(X, y)
        assert {max(depth) for depth in depths(model)} == {max_depth}
    for most in (2, 3, 17):
        model = kind(4, max_leaf_nodes=most, random_state=0).fit(X, y)
        assert [len(np.unique(column)) for column in model.apply(X).T] == [most] * 4
        assert np.diff(model.model_.forest.starts).tolist() == [2 * most - 1] * 4


def test_the_best_leaves_are_grown_first():
    """The splits with the largest gains come first: all of them on the side of the large steps."""
    X = np.repeat(np.arange(0.0, 400.0, 2.0), 2)[:, np.newaxis]
    y = np.where(X[:, 0] < 200, X[:, 0] // 100 / 100, 10 + X[:, 0] // 25)
    model = RandomForestRegressor(1, bootstrap=False, max_leaf_nodes=5, random_state=0).fit(X, y)
    leaves = model.apply(X)[:, 0]
    assert len(np.unique(leaves[:200])) == 1
    assert len(np.unique(leaves[200:])) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_min_impurity_decrease(kind):
    X, y = data_for(kind)
    models = [kind(5, min_impurity_decrease=a, random_state=0).fit(X, y) for a in (0.0, 0.004, 0.01, 1e3)]
    sizes = [len(model.model_.forest.nodes) for model in models]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == 5


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_min_impurity_decrease_equals_that_of_scikit_learn(criterion):
    """A stump of one binary column: its gain is known, and the split is made just below it, not above."""
    x = np.repeat([0.0, 1.0], [60, 40])
    y = np.concatenate([np.repeat([0, 1], [50, 10]), np.repeat([0, 1], [5, 35])])
    their = TheirClassifier if criterion in ("gini", "entropy") else TheirRegressor
    mine = RandomForestClassifier if criterion in ("gini", "entropy") else RandomForestRegressor
    tree = their(1, criterion=criterion, bootstrap=False).fit(x[:, np.newaxis], y).estimators_[0].tree_
    gain = tree.impurity[0] - np.dot(tree.impurity[1:], tree.weighted_n_node_samples[1:]) / 100
    for factor, n_nodes in [(0.999, 3), (1.001, 1)]:
        model = mine(1, criterion=criterion, bootstrap=False, min_impurity_decrease=gain * factor)
        assert len(model.fit(x[:, np.newaxis], y).model_.forest.nodes) == n_nodes


@pytest.mark.parametrize("kind", KINDS)
def test_max_features(kind):
    """With one column per node every column is used; with all of them, the one that determines y."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 6))
    y = X[:, 2] > 0.5
    roots = []
    for max_features in (1, None):
        forest = kind(40, max_features=max_features, max_depth=1, random_state=0).fit(X, y).model_.forest
        columns = [word >> 18 & 0x3FFFF for word in forest.nodes[forest.starts[:-1]].tolist()]
        roots.append(np.bincount(columns, minlength=6))
    assert roots[0].min() > 0
    assert roots[1][2] >= 38  # a random cut near the end of the range gains little


@pytest.mark.parametrize(
    ("max_features", "tried"),
    [("sqrt", 4), ("log2", 4), (0.25, 4), (0.01, 1), (16, 16), (1.0, 16), (None, 16), (3, 3)],
)
def test_max_features_equals_that_of_scikit_learn(max_features, tried):
    X = np.random.default_rng(0).random((30, 16))
    their = TheirClassifier(1, max_features=max_features).fit(X, X[:, 0] > 0.5)
    assert their.estimators_[0].max_features_ == tried
    predicted = [
        bits(RandomForestClassifier(3, max_features=given, random_state=0).fit(X, X[:, 0] > 0.5))
        for given in (max_features, tried)
    ]
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_do_not_count_in_max_features(kind):
    X, y = data_for(kind)
    wide = np.column_stack([np.zeros((300, 40)), X, np.ones((300, 40))])
    model = kind(3, max_features=1, random_state=0, bootstrap=False).fit(wide, y)
    splits = [word >> 18 & 0x3FFFF for word in model.model_.forest.nodes.tolist() if word & 3 != 3]
    assert set(splits) == set(range(40, 45))
    assert not model.feature_importances_[:40].any()


# --- monotonic constraints


def rising(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 3))
    return X, 2 * X[:, 0] - 2 * X[:, 1] + np.sin(9 * X[:, 2]) + rng.normal(size=n_rows)


def steps_along(model, X, column):
    """Changes of the predictions when a column increases in small steps."""
    grid = np.repeat(X[:60], 41, axis=0)
    grid[:, column] = np.tile(np.linspace(-0.1, 1.1, 41), 60)
    predicted = predictions(model, grid)
    predicted = predicted[:, 1] if predicted.ndim == 2 else predicted
    return np.diff(predicted.reshape(60, 41), axis=1)


@pytest.mark.parametrize("parameters", [{"max_leaf_nodes": 25}, {"min_samples_leaf": 5, "max_features": 1}])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_obey_monotonic_constraints(kind, parameters):
    X, score = rising()
    y = score > 0 if kind in CLASSIFIERS else score
    free = kind(10, random_state=0, **parameters).fit(X, y)
    model = kind(10, random_state=0, monotonic_cst=[1, -1, 0], **parameters).fit(X, y)
    assert steps_along(free, X, 0).min() < 0 < steps_along(free, X, 1).max()
    assert steps_along(model, X, 0).min() >= 0
    assert steps_along(model, X, 1).max() <= 0
    assert steps_along(model, X, 2).min() < 0 < steps_along(model, X, 2).max()
    assert steps_along(model, X, 0).max() > 0
    assert steps_along(model, X, 1).min() < 0


@pytest.mark.parametrize("kind", REGRESSORS)
def test_poisson_predictions_obey_monotonic_constraints(kind):
    X, score = rising()
    y = np.random.default_rng(1).poisson(np.exp(score / 2))
    model = kind(10, criterion="poisson", monotonic_cst=[1, -1, 0], random_state=0).fit(X, y)
    assert steps_along(model, X, 0).min() >= 0
    assert steps_along(model, X, 1).max() <= 0


# --- integers of NumPy


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_integers_are_numbers_and_not_fractions(kind):
    X, y = data_for(kind)
    numbers = {"max_samples": 40, "min_samples_leaf": 1, "min_samples_split": 4, "max_features": 1}
    numbers |= {"max_depth": 5, "max_leaf_nodes": 9, "max_bins": 16, "n_estimators": 3}
    plain = kind(bootstrap=True, random_state=0, **numbers).fit(X, y)
    assert bag_counts(plain).sum(axis=1).tolist() == [40] * 3
    for dtype in (np.int64, np.uint8):
        integers = {name: dtype(value) for name, value in numbers.items()}
        assert bits(kind(bootstrap=True, random_state=0, **integers).fit(X, y)) == bits(plain)


@pytest.mark.parametrize(("max_samples", "enough"), [(np.int64(1), True), (1, True), (1.0, False)])
def test_the_memory_estimate_counts_numpy_integers_as_rows(max_samples, enough, monkeypatch):
    X, y = np.zeros((4000, 2)), np.arange(4000.0)
    model = RandomForestRegressor(200, max_samples=max_samples, n_jobs=1)
    monkeypatch.setenv("HEDGEROW_MEMORY", "20MB")
    if enough:
        assert len(bag_counts(model.fit(X, y))) == 200
    else:
        with pytest.raises(MemoryError, match="fitting RandomForestRegressor to 4,000 rows of 2 columns"):
            model.fit(X, y)
