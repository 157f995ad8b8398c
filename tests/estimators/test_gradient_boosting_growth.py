"""Growth of trees: limits, penalties, constraints and sampling, checked in the fitted forests."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from boosting_cases import (
    REGRESSION_LOSSES,
    classes,
    classifier,
    depths,
    leaf_counts,
    numbers,
    paths,
    regressor,
    same_forests,
    signal,
    target,
)

# --- limits


@pytest.mark.parametrize("most", [2, 5, 31])
def test_max_leaf_nodes(most):
    forest = regressor(max_leaf_nodes=most).fit(*numbers()).model_.forest
    assert [len(counts) for counts in leaf_counts(forest)] == [most] * 10


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_max_depth(depth):
    forest = regressor(max_depth=depth, max_leaf_nodes=None).fit(*numbers()).model_.forest
    assert depths(forest) == [depth] * 10
    assert max(len(counts) for counts in leaf_counts(forest)) <= 2**depth


def test_without_limits_trees_grow_to_the_smallest_leaf():
    X, y = numbers(100)
    y += np.arange(100) * 1e-3  # all different
    model = regressor(max_leaf_nodes=None, min_samples_leaf=1, learning_rate=1.0, n_estimators=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)


@pytest.mark.parametrize("fewest", [1, 7, 40, 151])
def test_min_samples_leaf(fewest):
    forest = regressor(min_samples_leaf=fewest).fit(*numbers()).model_.forest
    assert min(counts.min() for counts in leaf_counts(forest)) >= fewest
    assert all(counts.sum() == 300 for counts in leaf_counts(forest))
    if fewest == 151:  # more than half of the rows: no split leaves enough on both sides
        assert forest.n_trees == len(forest.left) == 10


@pytest.mark.parametrize("least", [1.0, 10.0])
def test_min_child_weight(least):
    X, y = classes()
    model = classifier(min_child_weight=least, min_samples_leaf=1, n_estimators=5).fit(X, y)
    raws = [np.full(len(X), model.model_.start[0]), *model.staged_decision_function(X)]
    smallest = []
    for raw, leaves in zip(raws, model.apply(X).T, strict=False):
        p = 1 / (1 + np.exp(-raw))
        smallest.append(np.bincount(leaves, p * (1 - p))[np.unique(leaves)].min())
    assert min(smallest) >= least * 0.999  # hessians are 16-bit numbers
    assert min(smallest) < 3 * least  # the limit is what holds the trees back


def test_min_split_gain():
    X, y = numbers()
    free = regressor(n_estimators=3).fit(X, y).model_.forest
    gains = np.sort(free.gain[free.left > 0])
    limit = gains[len(gains) // 2]
    held = regressor(n_estimators=3, min_split_gain=limit).fit(X, y).model_.forest
    assert held.gain[held.left > 0].min() > limit
    assert 0 < np.sum(held.left > 0) < np.sum(free.left > 0)
    none = regressor(min_split_gain=1e9).fit(X, y)
    assert len(none.model_.forest.left) == 10


# --- penalties


def soft(gradient, l1):
    return np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.0, 30.0), (2.0, 0.0), (2.0, 30.0)])
def test_leaf_values_are_those_of_the_penalised_objective(l1, l2):
    X, y = numbers()
    model = regressor(
        n_estimators=1, learning_rate=0.5, l1_regularization=l1, l2_regularization=l2, max_leaf_nodes=6
    ).fit(X, y)
    leaves = model.apply(X)[:, 0]
    gradient = np.bincount(leaves, y.mean() - y)
    wanted = -0.5 * soft(gradient, l1) / (np.maximum(np.bincount(leaves), 1) + l2)
    np.testing.assert_allclose(model.predict(X) - y.mean(), wanted[leaves], atol=1e-4)
    forest = model.model_.forest
    root, left = gradient.sum(), np.isin(leaves, below(forest, forest.left[0]))
    parts = [(soft(gradient_of, l1) ** 2, n + l2) for gradient_of, n in sums(y, left)]
    gain = sum(top / bottom for top, bottom in parts) - soft(root, l1) ** 2 / (len(y) + l2)
    assert forest.gain[0] == pytest.approx(gain, rel=1e-3)


def below(forest, node):
    """Nodes of the first tree in the subtree of `node`."""
    found = {int(node)}
    for parent in range(forest.starts[1]):
        if parent in found and forest.left[parent]:
            found |= {int(forest.left[parent]), int(forest.left[parent]) + 1}
    return list(found)


def sums(y, left):
    return [((y.mean() - y[side]).sum(), side.sum()) for side in (left, ~left)]


def test_penalties_shrink_the_model():
    X, y = numbers()
    spread = [
        np.ptp(regressor(**{f"{kind}_regularization": strength}).fit(X, y).predict(X))
        for kind, strength in (("l1", 0.0), ("l1", 5.0), ("l1", 50.0), ("l2", 5.0), ("l2", 500.0))
    ]
    assert spread[0] > spread[1] > spread[2]
    assert spread[0] > spread[3] > spread[4]


def test_categorical_smoothing_limits_the_influence_of_rare_categories():
    rng = np.random.default_rng(0)
    kind = np.concatenate([np.repeat([0, 1], 200), np.arange(2, 32)])  # of more, rare ones share a code
    y = np.concatenate([np.repeat([0.0, 1.0], 200), rng.normal(0.5, 3.0, 30)])
    X = kind[:, None]
    loose, strict = (
        regressor(categorical_features=[0], categorical_smoothing=s, min_samples_leaf=1).fit(X, y)
        for s in (0.0, 100.0)
    )
    assert np.std(loose.predict(X[400:])) > 2 * np.std(strict.predict(X[400:]))
    assert np.diff(strict.predict([[0], [1]]))[0] > 0.5


# --- monotonic constraints


def rising_grid(model, column, n_columns=4):
    """Smallest change of the prediction along one column, from 100 random places."""
    rng = np.random.default_rng(5)
    places = np.repeat(rng.normal(size=(100, n_columns)), 50, axis=0)
    places[:, column] = np.tile(np.linspace(-3, 3, 50), 100)
    return np.diff(model._raw(places)[0].reshape(100, 50), axis=1).min()


def wavy(loss, seed=0):
    """A target that rises with column 0 on the whole but not everywhere, and falls with column 1."""
    X, _ = signal(600, seed=seed)
    return X, target(loss, X[:, 0] + np.sin(4 * X[:, 0]) - X[:, 1] + np.cos(3 * X[:, 1]))


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_monotonic_constraints_hold(loss, newton):
    X, y = wavy(loss)
    free = regressor(loss=loss, newton=newton, n_estimators=20, quantile=0.7).fit(X, y)
    assert rising_grid(free, 0) < -0.05
    held = regressor(loss=loss, newton=newton, n_estimators=20, quantile=0.7, monotonic_cst=[1, -1, 0, 0])
    held.fit(X, y)
    assert rising_grid(held, 0) >= 0.0
    flipped = X.copy()
    flipped[:, 1] *= -1
    mirrored = regressor(loss=loss, newton=newton, n_estimators=20, quantile=0.7, monotonic_cst=[1, 1, 0, 0])
    assert rising_grid(mirrored.fit(flipped, y), 1) >= 0.0
    constant = np.full((1, len(y)), held.model_.start[0])
    assert held.loss_.mean_loss(y, held._raw(X), None) < 0.95 * held.loss_.mean_loss(y, constant, None)


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_monotonic_constraints_hold_for_classes(loss, newton):
    X, y = wavy("squared_error")
    model = classifier(loss=loss, newton=newton, monotonic_cst=[1, 0, 0, 0]).fit(X, y > 0)
    assert rising_grid(model, 0) >= 0.0
    assert rising_grid(classifier(loss=loss, newton=newton).fit(X, y > 0), 0) < 0.0


@pytest.mark.parametrize("n_rounds", [1, 5])
def test_an_inactive_constraint_does_not_change_the_line_search(n_rounds):
    # The steps are of the size of y, far beyond the values that the grower takes from gradients of size 1.
    # In both rounds the medians of the leaves stand in order, so that nothing may move them.
    X, _ = signal(600)
    y = 1000 * X[:, 0]
    model = regressor(
        loss="absolute_error", monotonic_cst=[1, 0, 0, 0], n_estimators=n_rounds, learning_rate=1.0
    ).fit(X, y)
    before = ([np.full(600, model.model_.start[0]), *model.staged_predict(X)])[n_rounds - 1]
    leaves, residuals = model.apply(X)[:, -1], y - before
    medians = {leaf: np.sort(residuals[leaves == leaf])[(np.sum(leaves == leaf) - 1) // 2] for leaf in leaves}
    assert len(medians) > 1
    np.testing.assert_allclose(model.predict(X) - before, [medians[leaf] for leaf in leaves], atol=1e-9)


def test_monotonic_constraints_by_name():
    X, y = wavy("squared_error")
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = regressor(monotonic_cst={"b": -1, "a": 1}).fit(frame, y)
    assert same_forests(named, regressor(monotonic_cst=[1, -1, 0, 0]).fit(frame, y))


def test_monotonic_constraints_hold_beside_missing_values():
    X, y = wavy("squared_error")
    X[::5, 0] = np.nan
    assert rising_grid(regressor(monotonic_cst=[1, 0, 0, 0]).fit(X, y), 0) >= 0.0


# --- interaction constraints


@pytest.mark.parametrize(
    ("constraints", "n_columns", "allowed"),
    [
        ("no_interactions", 4, [{0}, {1}, {2}, {3}]),
        ("pairwise", 4, [{a, b} for a in range(4) for b in range(a)]),
        ([{0, 1}, {1, 2}], 4, [{0, 1}, {1, 2}, {3}]),
        ([[0, 1, 2]], 5, [{0, 1, 2}, {3, 4}]),
        ([(2,)], 4, [{2}, {0, 1, 3}]),
        ("no_interactions", 70, [{a} for a in range(70)]),  # more groups than bits of a word
        ("pairwise", 15, [{a, b} for a in range(15) for b in range(a)]),
    ],
)
def test_interaction_constraints_hold_on_every_path(constraints, n_columns, allowed):
    X, _ = numbers(400, n_columns)
    y = np.prod(1.5 + np.sin(X[:, : min(n_columns, 6)]), axis=1) + X.sum(axis=1)
    model = regressor(interaction_cst=constraints, n_estimators=15).fit(X, y)
    found = {path for tree in paths(model.model_.forest) for path in tree}
    assert all(any(path <= group for group in allowed) for path in found)
    assert max(map(len, found)) == max(map(len, allowed))
    free = regressor(n_estimators=15).fit(X, y)
    assert any(
        not any(path <= group for group in allowed) for tree in paths(free.model_.forest) for path in tree
    )


def test_one_column_has_no_pairs():
    X, y = numbers(n_columns=4)
    one = regressor(interaction_cst="pairwise").fit(X[:, :1], y)
    assert same_forests(one, regressor().fit(X[:, :1], y))


# --- sampling


@pytest.mark.parametrize("parameter", ["subsample", "colsample_bytree", "max_features"])
def test_sampling_is_a_function_of_the_seed(parameter):
    X, y = numbers(n_columns=6)
    one, same, other = (regressor(**{parameter: 0.5}, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert same_forests(one, same)
    assert not same_forests(one, other)
    assert not same_forests(one, regressor(random_state=1).fit(X, y))
    assert one.score(X, y) > 0.5


def test_without_sampling_the_seed_does_not_matter():
    X, y = numbers()
    assert same_forests(regressor(random_state=1).fit(X, y), regressor(random_state=None).fit(X, y))


def test_random_state_may_be_a_generator():
    X, y = numbers()
    one, same = (regressor(subsample=0.5, random_state=np.random.RandomState(3)).fit(X, y) for _ in range(2))
    assert same_forests(one, same)
    generator = np.random.RandomState(3)
    first, second = (regressor(subsample=0.5, random_state=generator).fit(X, y) for _ in range(2))
    assert not same_forests(first, second)
    random = regressor(subsample=0.5, random_state=None)
    assert not same_forests(clone(random).fit(X, y), random.fit(X, y))  # a new seed every time
    assert same_forests(
        regressor(subsample=0.5).fit(X, y), regressor(subsample=0.5, random_state=0).fit(X, y)
    )


def test_subsample_draws_its_share_of_rows_anew():
    X, y = numbers(2000)
    forest = regressor(subsample=0.3, random_state=0).fit(X, y).model_.forest
    roots = forest.count[forest.starts[:-1]]
    assert np.all(np.abs(roots - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7))
    assert len(set(roots.tolist())) > 3


def test_a_tiny_subsample_still_has_a_row():
    X, y = numbers(10)
    assert np.isfinite(regressor(subsample=1e-9, random_state=0).fit(X, y).predict(X)).all()


def test_colsample_bytree_limits_the_columns_of_a_tree():
    X, y = numbers(n_columns=8)
    y = y + X.sum(axis=1)
    model = regressor(colsample_bytree=0.3, random_state=0, n_estimators=20).fit(X, y)
    used = [set().union(*tree) for tree in paths(model.model_.forest)]
    assert max(map(len, used)) <= 3  # 0.3 * 8, rounded up
    assert set().union(*used) == set(range(8))


def test_max_features_limits_the_columns_of_a_node():
    X, y = numbers(n_columns=8)
    y = y + X.sum(axis=1)
    model = regressor(max_features=0.2, random_state=0, n_estimators=20).fit(X, y)
    forest = model.model_.forest
    assert len(set(forest.column[forest.starts[:-1]].tolist())) > 3  # roots see 2 of 8 columns each
    assert max(len(set().union(*tree)) for tree in paths(forest)) > 3


def test_rows_left_out_of_a_tree_are_scored_too():
    X, y = numbers()
    model = regressor(subsample=0.2, random_state=0).fit(X, y, eval_set=(X, y))
    np.testing.assert_allclose(model.history_["train_loss"], model.history_["validation_loss"], rtol=1e-12)


# --- noise


def test_noise_is_a_function_of_the_seed_and_changes_splits_only():
    X, y = numbers(n_columns=6)
    one, same, other = (regressor(random_strength=1.0, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert same_forests(one, same)
    assert not same_forests(one, other)
    forest = regressor(random_strength=1.0, n_estimators=1, learning_rate=1.0).fit(X, y).model_.forest
    leaf_sums = regressor(random_strength=1.0, n_estimators=1, learning_rate=1.0).fit(X, y)
    predicted = leaf_sums.predict(X)
    leaves = leaf_sums.apply(X)[:, 0]
    for leaf in np.flatnonzero(forest.left == 0):
        np.testing.assert_allclose(predicted[leaves == leaf], y[leaves == leaf].mean(), atol=1e-3)
    assert (forest.gain[forest.left > 0] > 0).all()


def test_strong_noise_chooses_any_column_and_weak_noise_the_best():
    X, y = numbers(2000, n_columns=8)
    model = regressor(random_strength=1e6, learning_rate=1.0, n_estimators=25, max_leaf_nodes=2).fit(X, y)
    used = model.model_.forest.column[model.model_.forest.starts[:-1]].tolist()
    assert set(used) >= {4, 5, 6, 7}  # columns that y does not depend on
    calm = regressor(random_strength=1.0, learning_rate=1.0, n_estimators=25, max_leaf_nodes=2).fit(X, y)
    plain = regressor(learning_rate=1.0, n_estimators=25, max_leaf_nodes=2).fit(X, y)
    assert not same_forests(calm, model)
    assert calm.model_.forest.column[0] == plain.model_.forest.column[0]


def test_noise_goes_on_with_a_warm_start():
    X, y = numbers()
    whole = regressor(random_strength=1.0).fit(X, y)
    model = regressor(random_strength=1.0, n_estimators=4, warm_start=True).fit(X, y)
    assert same_forests(model.set_params(n_estimators=10).fit(X, y), whole)


# --- threads


def test_concurrent_fits_are_independent():
    X, y = numbers()
    wanted = [regressor(max_leaf_nodes=leaves).fit(X, y) for leaves in range(2, 10)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda leaves: regressor(max_leaf_nodes=leaves).fit(X, y), range(2, 10)))
    assert all(same_forests(one, other) for one, other in zip(wanted, found, strict=True))


def test_the_number_of_threads_does_not_change_the_model():
    X, y = numbers(40_000, 5)
    one, two = (regressor(n_jobs=n_jobs, n_estimators=4).fit(X, y) for n_jobs in (1, 2))
    assert same_forests(one, two)
    assert np.array_equal(one.predict(X), two.predict(X))
