"""Weak trees: leaves of rows by all code paths, and the estimators against the trees of scikit-learn."""

import bisect
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as sklearn_tree

from hedgerow import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.binning import find_bins
from hedgerow.boosting.weak_learners import RowWeights
from hedgerow.forest import Forest, TreeModel
from hedgerow.growing.weak_tree import WeakGrower, WeakRules
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.table import read_table
from hedgerow.threads import Team
from tree_cases import codes_in

ONE = Team(1)


# --- leaves of rows


def values(n_rows, seed=0):
    """Four numeric columns, with missing values and infinities, and a categorical one; exact in float32."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32).astype(np.float64)
    X[:, 1] = rng.integers(0, 300, n_rows)
    X[:, 4] = rng.integers(0, 9, n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(n_rows) < 0.02, 0] = np.inf
    X[rng.random(n_rows) < 0.02, 0] = -np.inf
    return X


def grown(X, max_bins, team=ONE, **rules):
    """A weak tree on noise, so that it splits on every column; the bins, the table and its codes."""
    rng = np.random.default_rng(1)
    table = read_table(X, categorical_features=[4])
    bins = find_bins(table, max_bins)
    coded = bins.encode(table, team, for_growing=False)
    classes = rng.integers(0, 3, len(X)).astype(np.int32)
    grower = WeakGrower(coded, WeakRules(criterion="gini", **rules), team)
    weight = RowWeights(None, len(X), None, team).initial_distribution().rounded
    totals = np.array([weight[classes == k].sum() for k in range(3)])
    tree = grower.grow(Sample(weight, np.empty(0, np.int64), classes), totals)
    return tree, bins, coded


def model_of(tree, bins):
    """A model whose scores are the numbers of the leaves."""
    nodes = tree.nodes.copy()
    nodes["value"] = np.arange(len(nodes))
    return TreeModel(np.zeros(1), bins, Forest.of([nodes], [0]))


def leaves_by_hand(nodes, bins, rows):
    """Follow the tree one step at a time, on the values themselves."""
    ends = bins.edge_starts.tolist()
    edges = [bins.edges[a:b].tolist() for a, b in itertools.pairwise(ends)]
    tables = [bins.tables[a:b].tolist() for a, b in itertools.pairwise(bins.table_starts.tolist())]
    children, splits = nodes["left"].tolist(), nodes["split"]

    def goes_left(split, value):
        column = split["column"]
        if split["categorical"]:
            code = tables[column][int(value)] if not math.isnan(value) else 0
            return code in codes_in(split["goes_left"])
        if math.isnan(value):
            return bool(split["missing_left"])
        return 1 + bisect.bisect_left(edges[column], value) <= split["threshold"]

    for row in rows:
        number = 0
        while children[number]:
            split = splits[number]
            number = children[number] + (0 if goes_left(split, row[split["column"]]) else 1)
        yield number


def other_rows(n_rows):
    """Values between and beyond those of the training rows, and unknown categories."""
    X = values(n_rows, seed=2)
    X[::3, 4] = np.where(np.isnan(X[::3, 4]), np.nan, X[::3, 4] + 6)
    X[1::5, 2] = [1e30 if i % 2 else -1e30 for i in range(len(X[1::5]))]
    return X


@pytest.mark.parametrize(
    ("max_bins", "rules"),
    [
        (255, {}),
        (255, {"max_depth": 6}),
        (65_535, {"max_depth": 2}),
        (65_535, {"max_depth": None, "max_leaf_nodes": 60}),
    ],
)
def test_all_code_paths_find_the_same_leaf(max_bins, rules):
    train = values(1000)
    tree, bins, coded = grown(train, max_bins, **rules)
    assert coded.codes.by_column.dtype == (np.uint8 if max_bins == 255 else np.uint16)
    nodes, model = tree.nodes, model_of(tree, bins)
    assert tree.n_leaves > 1
    expected = list(leaves_by_hand(nodes, bins, train.tolist()))
    assert tree.apply(coded, ONE).tolist() == expected
    with Team(3, chunk_rows=100) as team:
        assert tree.apply(coded, team).tolist() == expected
    X = other_rows(200)
    schema = read_table(train, categorical_features=[4]).schema
    table = read_table(X, schema=schema)
    numbered = np.column_stack([X[:, :4], table.block(0, 200)[:, 4]])  # categories as the table counts them
    expected = list(leaves_by_hand(nodes, bins, numbered.tolist()))
    other = bins.encode(table, ONE, for_growing=False)
    assert tree.apply(other, ONE).tolist() == expected
    for dtype in (np.float64, np.float32):
        for n_rows in (1, 5, 200):
            for first in range(0, min(200, 10 * n_rows), n_rows):
                part = read_table(X[first : first + n_rows].astype(dtype), schema=schema)
                scores = model.scores(part, 2)[0]
                assert scores.tolist() == expected[first : first + n_rows]
                leaves = model.predictor.leaves(part, 1)[:, 0]
                assert leaves.tolist() == expected[first : first + n_rows]


def test_tree_of_one_leaf_puts_all_rows_there():
    tree, _, coded = grown(np.ones((4, 5)), 255)
    assert tree.n_leaves == 1
    assert tree.apply(coded, ONE).tolist() == [0, 0, 0, 0]


def test_stump_on_a_categorical_column_finds_the_leaves():
    X = values(400)
    X[:, :4] = 1.0
    tree, bins, coded = grown(X, 255)
    assert tree.nodes["split"]["categorical"][0] == 1
    expected = list(leaves_by_hand(tree.nodes, bins, X.tolist()))
    assert tree.apply(coded, ONE).tolist() == expected
    assert set(expected) == {1, 2}


# --- against scikit-learn


def numbers(n_rows=600, n_classes=None, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32).astype(np.float64)
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)
    weight = rng.exponential(size=n_rows)
    y = score if n_classes is None else np.digitize(score, np.linspace(-1, 1, n_classes - 1))
    return X, y, weight


LIMITS = [
    {"max_depth": 1},
    {"max_depth": 4},
    {"max_depth": None, "max_leaf_nodes": 12},
    {"max_depth": 3, "max_leaf_nodes": 6},
    {"max_depth": 5, "min_weight_fraction_leaf": 0.04},
    {"max_depth": None, "min_weight_fraction_leaf": 0.1},
]


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (4, False)])
@pytest.mark.parametrize("limits", LIMITS)
def test_classifiers_are_those_of_scikit_learn(limits, n_classes, weighted):
    X, y, weight = numbers(n_classes=n_classes)
    weight = weight if weighted else None
    ours = DecisionTreeClassifier(max_bins=65_535, **limits).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeClassifier(random_state=0, **limits).fit(X, y, weight)
    assert len(set(ours.apply(X))) == theirs.get_n_leaves()
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)
    assert ours.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight))


@pytest.mark.parametrize("limits", LIMITS)
def test_regressors_are_those_of_scikit_learn(limits):
    X, y, weight = numbers()
    ours = DecisionTreeRegressor(max_bins=65_535, **limits).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeRegressor(random_state=0, **limits).fit(X, y, weight)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-11)
    assert np.mean((ours.predict(X) - y) ** 2) == pytest.approx(np.mean((theirs.predict(X) - y) ** 2))


def test_without_limits_every_row_is_fitted():
    X, y, _ = numbers(300)
    assert DecisionTreeRegressor(max_depth=None, max_bins=65_535).fit(X, y).predict(X) == pytest.approx(y)
    labels = np.digitize(y, [-0.5, 0.5])
    assert DecisionTreeClassifier(max_depth=None, max_bins=65_535).fit(X, labels).score(X, labels) == 1.0


def test_error_criterion_decreases_the_error_at_every_split():
    X, y, weight = numbers(600, 3)
    errors = []
    for n_leaves in range(2, 9):
        tree = DecisionTreeClassifier("error", max_depth=None, max_leaf_nodes=n_leaves).fit(X, y, weight)
        errors.append(1 - tree.score(X, y, weight))
    assert (np.diff([1 - np.bincount(y, weight).max() / weight.sum(), *errors]) < 0).all()


def test_an_offset_of_the_target_moves_the_predictions_only():
    X, y, _ = numbers(2000)
    y = np.round(y * 64) / 64  # sums with the offset are exact
    first = DecisionTreeRegressor(max_depth=4, min_weight_fraction_leaf=0.01).fit(X, y)
    far = DecisionTreeRegressor(max_depth=4, min_weight_fraction_leaf=0.01).fit(X, y + 2.0**20)
    assert far.apply(X).tolist() == first.apply(X).tolist()
    assert far.predict(X) - 2.0**20 == pytest.approx(first.predict(X), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-10, 1e10, 1e90])
def test_the_scale_of_the_target_does_not_matter(scale):
    X, y, _ = numbers(500)
    first = DecisionTreeRegressor(max_depth=4).fit(X, y)
    scaled = DecisionTreeRegressor(max_depth=4).fit(X, y * scale)
    assert scaled.apply(X).tolist() == first.apply(X).tolist()
    assert scaled.predict(X) / scale == pytest.approx(first.predict(X))


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
def test_outlier_does_not_hide_other_differences(far):
    X = np.arange(100.0)[:, np.newaxis]
    y = (X[:, 0] > 50).astype(float)
    y[99] = far
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert tree.predict(X[:99]) == pytest.approx(y[:99], abs=1e-6)


def test_a_target_with_heavy_tails_is_fitted_as_scikit_learn_fits_it():
    X, _, _ = numbers(2000)
    y = np.random.default_rng(4).standard_cauchy(2000) + 3 * (X[:, 0] > 0)
    limits = {"max_depth": None, "max_leaf_nodes": 40}
    ours = DecisionTreeRegressor(max_bins=65_535, **limits).fit(X, y)
    theirs = sklearn_tree.DecisionTreeRegressor(random_state=0, **limits).fit(X, y)
    assert np.mean((ours.predict(X) - y) ** 2) == pytest.approx(np.mean((theirs.predict(X) - y) ** 2))


def test_a_constant_target_is_its_own_mean():
    X = np.arange(5.0)[:, np.newaxis]
    for value in (0.0, 0.1, -1e99):
        tree = DecisionTreeRegressor().fit(X, np.full(5, value), [0.1, 0.2, 0.7, 1.3, 0.3])
        assert tree.predict(X).tolist() == [value] * 5
        assert set(tree.apply(X)) == {0}


# --- weights


def arrays_of(model):
    """All arrays of a fitted tree, as bytes; gains in their own unit."""
    bins, forest = model.model_.bins, model.model_.forest.arrays()
    found = {**vars(bins), **forest}.items()
    return {name: array.tobytes() for name, array in found if name not in ("n_bins", "sources")}


MODELS = {
    "gini": DecisionTreeClassifier(max_depth=5),
    "errors": DecisionTreeClassifier("error", max_depth=5, max_leaf_nodes=9),
    "heavy leaves": DecisionTreeClassifier(max_depth=4, max_bins=65_535, min_weight_fraction_leaf=0.05),
    "numbers": DecisionTreeRegressor(max_depth=5),
    "numbers, exact": DecisionTreeRegressor(max_depth=None, max_leaf_nodes=15, max_bins=65_535),
}


def rounded(model, n_rows=800):
    X, y, _ = numbers(n_rows, None if isinstance(model, DecisionTreeRegressor) else 3, seed=5)
    X[np.random.default_rng(6).random(X.shape) < 0.05] = np.nan
    X[:, 3] = np.round(X[:, 3])
    return X, y


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_whole_weight_is_so_many_copies(model):
    X, y = rounded(model)
    copies = np.random.default_rng(7).integers(0, 5, len(y))
    weighed = arrays_of(model.fit(X, y, sample_weight=copies))
    repeated = arrays_of(model.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies)))
    assert {name for name in weighed if weighed[name] != repeated[name]} == set()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", ["ones", "real"])
def test_a_weight_of_zero_is_no_row(model, kind):
    X, y = rounded(model)
    rng = np.random.default_rng(8)
    weight = np.ones(len(y)) if kind == "ones" else rng.exponential(size=len(y))
    left_out = rng.random(len(y)) < 0.2
    weight[left_out] = 0.0
    if isinstance(model, DecisionTreeRegressor):
        y = np.where(left_out, 1e9, y)  # would change everything
    X[left_out] *= 1e3
    with_zeros = arrays_of(model.fit(X, y, sample_weight=weight))
    without = arrays_of(model.fit(X[~left_out], y[~left_out], sample_weight=weight[~left_out]))
    assert {name for name in without if without[name] != with_zeros[name]} == set()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_neither_order_nor_threads_nor_a_scale_of_the_weights_matter(model):
    X, y = rounded(model, 13_000)  # two threads search
    weight = np.random.default_rng(9).exponential(size=len(y))
    order = np.random.default_rng(10).permutation(len(y))
    first = arrays_of(model.set_params(n_jobs=1).fit(X, y, weight))
    assert arrays_of(model.set_params(n_jobs=4).fit(X, y, weight)) == first
    assert arrays_of(model.fit(X[order], y[order], weight[order])) == first
    assert arrays_of(model.fit(X, y, weight * 2.0**-400)) == first


# --- limits, leaves, errors


def depths(model):
    forest = model.model_.forest
    left = forest.left[: forest.starts[1]]
    found = np.zeros(len(left), int)
    for number in np.flatnonzero(left):  # children come after their parents
        found[left[number] : left[number] + 2] = found[number] + 1
    return found


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_limits_are_reached_and_not_exceeded(depth):
    X, y, _ = numbers(2000, 3)
    tree = DecisionTreeClassifier(max_depth=depth).fit(X, y)
    assert depths(tree).max() == depth
    assert 0.9 * 2**depth < len(set(tree.apply(X))) <= 2**depth  # a node of one class is not split
    tree = DecisionTreeClassifier(max_depth=None, max_leaf_nodes=depth + 1).fit(X, y)
    assert len(set(tree.apply(X))) == depth + 1


def test_leaves_have_the_minimum_weight():
    X, y, weight = numbers(1000, 2)
    for least in (0.05, 0.2, 0.4):
        tree = DecisionTreeClassifier(max_depth=None, min_weight_fraction_leaf=least).fit(X, y, weight)
        shares = np.bincount(tree.apply(X), weight) / weight.sum()
        assert shares[shares > 0].min() >= least
    X, y = np.arange(6.0)[:, np.newaxis], [0, 0, 0, 1, 1, 1]
    assert DecisionTreeClassifier(min_weight_fraction_leaf=0.5).fit(X, y).score(X, y) == 1.0
    assert DecisionTreeRegressor(min_weight_fraction_leaf=0.5).fit(X, y).predict(X).tolist() == y


def test_leaves_hold_the_shares_of_the_classes():
    X, y, weight = numbers(600, 3)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y, weight)
    leaves, probabilities = tree.apply(X), tree.predict_proba(X)
    for leaf in set(leaves):
        here = leaves == leaf
        shares = np.bincount(y[here], weight[here], 3) / weight[here].sum()
        assert probabilities[here] == pytest.approx(np.repeat(shares[np.newaxis], here.sum(), axis=0))
    assert (tree.predict(X) == np.argmax(probabilities, axis=1)).all()


def test_categories_and_missing_values():
    rng = np.random.default_rng(11)
    colour = rng.choice(["red", "blue", "green", "white", "grey"], 500)
    x = rng.normal(size=500)
    y = np.where(np.isin(colour, ["red", "white"]), x, -x) > 0
    X = pd.DataFrame({"colour": pd.Categorical(colour), "x": np.where(rng.random(500) < 0.1, np.nan, x)})
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    present = X["x"].notna().to_numpy()
    assert (tree.predict(X) == y)[present].mean() > 0.9


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("max_depth", 0, "an integer >= 1 or None"),
        ("max_depth", 2.0, "an integer >= 1 or None"),
        ("max_leaf_nodes", 1, "an integer >= 2 or None"),
        ("min_weight_fraction_leaf", 0.6, "a number >= 0 and <= 0.5"),
        ("min_weight_fraction_leaf", -0.1, "a number >= 0 and <= 0.5"),
        ("min_weight_fraction_leaf", np.nan, "a number >= 0 and <= 0.5"),
        ("max_bins", 65_536, "an integer from 2 to 65535"),
        ("n_jobs", 0, "a positive integer"),
    ],
)
def test_fit_rejects_parameters(name, value, allowed):
    for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        with pytest.raises(ValueError) as caught:
            kind(**{name: value}).fit([[1.0], [2.0]], [0, 1])
        assert f"{name}={value!r} is not allowed: it must be {allowed}" in str(caught.value)


def test_fit_rejects_other_criteria():
    with pytest.raises(ValueError, match="criterion='mse' is not allowed: it must be 'gini' or 'error'"):
        DecisionTreeClassifier("mse").fit([[1.0], [2.0]], [0, 1])
