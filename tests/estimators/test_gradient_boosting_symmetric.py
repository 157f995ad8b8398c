"""Symmetric trees: every loss, kind of column and way of fitting; tests/kernels has the trees themselves."""

import numpy as np
import pandas as pd
import pytest

import hedgerow
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
from hedgerow.io.models import from_bytes, to_bytes

SYMMETRIC = {"growth_policy": "symmetric", "max_depth": 4}


def splits_by_level(forest):
    """The sets of (column, threshold) of every level of every tree."""
    for first, last in zip(forest.starts, forest.starts[1:], strict=False):
        n_levels = (int(last - first) + 1).bit_length() - 2
        assert last - first == 2 ** (n_levels + 1) - 1
        for level in range(n_levels):
            nodes = slice(first + 2**level - 1, first + 2 ** (level + 1) - 1)
            columns, thresholds = forest.column[nodes].tolist(), forest.threshold[nodes].tolist()
            yield set(zip(columns, thresholds, strict=True))


def predicted_by_leaves(model, X):
    """Scores, from the leaves that `apply` returns, added up in the order of the trees as the model does."""
    forest, leaves = model.model_.forest, model.apply(X)
    scores = np.full(len(leaves), model.model_.start[0])
    for start, leaf in zip(forest.starts, leaves.T, strict=False):
        scores += forest.value[start + leaf]
    return scores


def test_default_depth_is_six_and_the_limit_of_leaves_does_not_apply():
    X, y = numbers(2000)
    model = regressor(growth_policy="symmetric", min_samples_leaf=1, n_estimators=3).fit(X, y)
    assert depths(model.model_.forest) == [6, 6, 6]
    same = regressor(growth_policy="symmetric", min_samples_leaf=1, n_estimators=3, max_leaf_nodes=None)
    assert same_forests(same.fit(X, y), model)
    assert all(len(level) == 1 for level in splits_by_level(model.model_.forest))
    assert np.array_equal(model.predict(X), predicted_by_leaves(model, X))
    assert model.history_["leaves"] == [64, 64, 64]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_leaf_nodes": 32}, r"max_leaf_nodes=32 is not allowed with growth_policy='symmetric'"),
        (
            {"max_depth": 17},
            "max_depth=17 is not allowed with growth_policy='symmetric': it must be at most 16",
        ),
    ],
)
def test_sizes_that_symmetric_trees_cannot_have_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        regressor(growth_policy="symmetric", **parameters).fit(None, None)  # before anything is read


def test_histograms_of_a_level_must_fit_into_memory(monkeypatch):
    monkeypatch.setenv("HEDGEROW_MEMORY", "1GB")
    X = np.random.default_rng(0).normal(size=(200, 200))
    with pytest.raises(MemoryError, match="a smaller max_depth"):
        regressor(growth_policy="symmetric", max_depth=16).fit(X, X[:, 0])
    assert regressor(growth_policy="symmetric", max_depth=8).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5


def test_trees_of_one_split_are_those_of_best_first_growth():
    X, y = numbers(500)
    X[::7, 0] = np.nan
    one, other = (
        regressor(growth_policy=policy, max_depth=1, min_samples_leaf=1).fit(X, y)
        for policy in ("symmetric", "best_first")
    )
    assert same_forests(one, other)
    shapes = one.shape_functions()
    assert len(shapes) == 4


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_every_loss_for_numbers(loss, newton):
    X, f = signal()
    y = target(loss, f)
    model = regressor(loss=loss, newton=newton, **SYMMETRIC).fit(X, y)
    constant = np.full((1, len(y)), model.model_.start[0])
    assert model.loss_.mean_loss(y, model._raw(X), None) < 0.97 * model.loss_.mean_loss(y, constant, None)
    forest = model.model_.forest
    assert any((counts == 0).any() for counts in leaf_counts(forest))
    assert np.isfinite(forest.value).all()
    empty = (forest.left == 0) & (forest.count == 0)
    assert np.mean(forest.value[empty] != 0) > 0.9  # they have the value of a node above; a median may be 0
    loaded = from_bytes(to_bytes(model))
    assert same_forests(loaded, model)
    assert loaded.growth_policy == "symmetric"


def test_a_line_search_uses_the_rows_of_the_node_above_for_small_leaves():
    X, y = numbers(400)
    options = SYMMETRIC | {"min_samples_leaf": 40, "n_estimators": 1, "learning_rate": 1.0}
    model = regressor(loss="absolute_error", **options).fit(X, y)
    forest, leaves, median = model.model_.forest, model.apply(X)[:, 0], model.model_.start[0]
    below = {leaf: np.flatnonzero(leaves == leaf) for leaf in range(15, 31)}
    n_small = 0
    for leaf in range(15, 31):
        node, rows = leaf, below[leaf]
        while len(rows) < 40:
            node = (node - 1) // 2
            under = [n for n in range(15, 31) if node in ancestors(n)]
            rows = np.concatenate([below[n] for n in under])
        n_small += node != leaf
        residuals = np.sort(y[rows] - median)
        assert forest.value[leaf] == pytest.approx(residuals[(len(residuals) - 1) // 2], abs=1e-9)
    assert n_small > 2


def ancestors(node):
    found = {node}
    while node:
        node = (node - 1) // 2
        found.add(node)
    return found


@pytest.mark.parametrize("newton", [True, False])
def test_several_classes_weights_and_evaluation_sets(newton):
    X, y = classes(400, 3)
    weight = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    model = classifier(newton=newton, early_stopping=True, n_estimators=15, subsample=0.8, **SYMMETRIC)
    model.fit(X, y, weight, eval_set=(X, y))
    assert model.score(X, y) > 0.75
    repeated = np.repeat(np.arange(400), weight.astype(int))
    plain = classifier(newton=newton, **SYMMETRIC)
    one = plain.fit(X, y, weight).predict_proba(X)
    other = plain.fit(X[repeated], y[repeated]).predict_proba(X)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def coloured(n=500):
    rng = np.random.default_rng(1)
    colour, size = rng.integers(0, 40, n), rng.normal(size=n)
    y = np.isin(colour % 7, [1, 3]) * 2.0 + (colour % 5 == 2) * (size > 0) + 0.1 * rng.normal(size=n)
    size[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"colour": pd.Categorical(colour), "size": size}), y


def test_categories_and_missing_values():
    table, y = coloured()
    model = regressor(n_estimators=40, categorical_smoothing=1.0, **SYMMETRIC).fit(table, y)
    assert model.score(table, y) > 0.85
    assert (model.model_.forest.set_number >= 0).any()
    assert same_forests(from_bytes(to_bytes(model)), model)
    assert np.array_equal(model.predict(table), predicted_by_leaves(model, table))
    unseen = table.assign(colour=pd.Categorical([99] * len(table)))
    assert np.isfinite(model.predict(unseen)).all()


def test_exclusive_columns_are_bundled_without_changing_the_trees():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, 600)
    X = (group[:, None] == np.arange(8)) * rng.integers(1, 4, (600, 8)).astype(float)
    y = X @ np.arange(8.0) + rng.normal(size=600)
    bundled = regressor(**SYMMETRIC).fit(X, y)
    noise = np.hstack([X, rng.normal(size=(600, 1))])
    noise[:, 8] = 0.0  # a constant column
    assert np.array_equal(regressor(**SYMMETRIC).fit(noise, y).predict(noise), bundled.predict(X))
    assert all(len(level) == 1 for level in splits_by_level(bundled.model_.forest))
    assert bundled.score(X, y) > 0.7


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_constraints_hold(loss):
    X, _ = signal(600)
    y = target(loss, X[:, 0] + np.sin(4 * X[:, 0]) - X[:, 1] + np.cos(3 * X[:, 1]) + X[:, 2] * X[:, 3])
    options = SYMMETRIC | {"loss": loss, "n_estimators": 20}
    grid = np.repeat(np.random.default_rng(5).normal(size=(50, 4)), 40, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 40), 50)

    def smallest_step(model):
        return np.diff(model.predict(grid).reshape(50, 40), axis=1).min()

    held = regressor(monotonic_cst=[1, 0, 0, 0], **options).fit(X, y)
    assert smallest_step(held) >= 0.0 > smallest_step(regressor(**options).fit(X, y))
    assert held.score(X, y) > 0.3
    pairs = regressor(interaction_cst=[{0, 1}, {2, 3}], **options).fit(X, y)
    assert all(path <= {0, 1} or path <= {2, 3} for tree in paths(pairs.model_.forest) for path in tree)


def test_columns_are_drawn_for_a_level():
    X, y = numbers(400, n_columns=8)
    y = y + X.sum(axis=1)
    options = SYMMETRIC | {"max_features": 0.2, "random_strength": 0.5, "n_estimators": 20}
    one, other = (regressor(random_state=seed, **options).fit(X, y) for seed in (1, 2))
    assert not same_forests(one, other)
    assert all(len(level) == 1 for level in splits_by_level(one.model_.forest))
    used = {column for level in splits_by_level(one.model_.forest) for column, _ in level}
    assert used == set(range(8))


def test_warm_starts_folds_and_checkpoints_go_on(tmp_path):
    X, y = numbers()
    options = SYMMETRIC | {"n_folds": 2, "subsample": 0.7, "random_strength": 0.5}
    whole = regressor(**options).fit(X, y)
    model = regressor(n_estimators=4, warm_start=True, **options).fit(X, y)
    assert same_forests(model.set_params(n_estimators=10).fit(X, y), whole)

    def stop(done):
        return done.number == 3

    path = hedgerow.Checkpoint(tmp_path / "fit", rounds=1)
    regressor(**options).fit(X, y, checkpoint=path, callbacks=[stop])
    assert same_forests(regressor(**options).fit(X, y, checkpoint=path), whole)


def test_sizes_from_the_table():
    X, y = classes(120)
    model = classifier(n_estimators="auto", growth_policy="symmetric", max_depth=3, n_iter_no_change=3)
    model.set_params(min_samples_leaf="auto", learning_rate=0.3).fit(X, y)
    assert model.n_folds_ == 8
    assert max(depths(model.model_.forest)) <= 3


def test_importances_are_positive_and_find_the_column():
    X, _ = numbers(400)
    model = regressor(**SYMMETRIC).fit(X, np.sign(X[:, 2]) + 0.1 * X[:, 0])
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_.min() >= 0.0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("depth", [2, 5, 7])
def test_predictions_are_those_of_the_leaves(depth):
    X, y = numbers(700)
    X[::9, 1] = np.nan
    model = regressor(growth_policy="symmetric", max_depth=depth, min_samples_leaf=2).fit(X, y)
    assert depths(model.model_.forest) == [depth] * 10
    assert model.model_.forest.trees.n_levels.tolist() == [depth] * 10
    assert np.array_equal(model.predict(X), predicted_by_leaves(model, X))
    staged = list(model.staged_predict(X))
    assert np.array_equal(staged[-1], model.predict(X))
    assert np.array_equal(np.concatenate([model.predict(X[k : k + 3]) for k in range(0, 700, 3)]), staged[-1])


def test_the_number_of_threads_does_not_change_the_model():
    X, y = numbers(40_000, 5)
    one, two = (regressor(n_jobs=n_jobs, n_estimators=3, **SYMMETRIC).fit(X, y) for n_jobs in (1, 2))
    assert same_forests(one, two)


def test_very_few_rows():
    for n in (1, 2, 5):
        X, y = numbers(n)
        model = regressor(growth_policy="symmetric", min_samples_leaf=1, max_depth=2).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
