"""Gradient boosting fits to rows in memory and to the same rows in shards, and how to compare them."""

import numpy as np

from hedgerow.backends.target_statistics import TargetOptions
from hedgerow.boosting.folds import draw_folds
from hedgerow.boosting.gradient_boosting import GradientBoostingOptions, fit_gradient_boosting
from hedgerow.growing.grower import GrowthOptions
from hedgerow.losses.classification import BinaryLogLoss, MultinomialLogLoss
from hedgerow.losses.regression import AbsoluteError, Huber, Poisson, Quantile, SquaredError
from hedgerow.table import read_table
from hedgerow.table.table import Dataset

N_ROWS = 900

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(N_ROWS, 6))
VALUES[RNG.random(VALUES.shape) < 0.05] = np.nan
VALUES[:, 3] = RNG.integers(0, 9, N_ROWS)
VALUES[:, 4] = (RNG.random(N_ROWS) < 0.1) * RNG.integers(0, 5, N_ROWS)  # mostly the same
TABLE = read_table(VALUES, categorical_features=[3])
SIGNAL = np.nansum(VALUES[:, :3], axis=1) + np.sin(VALUES[:, 3]) + RNG.normal(size=N_ROWS)
TWO, THREE = (SIGNAL > 0).astype(float), np.digitize(SIGNAL, [-1, 1]).astype(float)
WHOLE, SMOOTH = RNG.integers(0, 4, N_ROWS).astype(float), RNG.random(N_ROWS) + 0.1
HELD = np.sort(RNG.choice(N_ROWS, 90, replace=False)).astype(np.uint32)
RISING = np.array([1, 0, -1, 0, 0, 0], np.int8)

SYMMETRIC = {"symmetric": True, "max_leaf_nodes": None, "max_depth": 5, "min_samples_leaf": 10}

# Weights of random draws, rows drawn by gradients, dropped rounds, linear leaves, and target statistics
GRADIENT, BAYESIAN = {"sampling": "gradient", "subsample": 0.3}, {"sampling": "bayesian"}
DROPPED = {"drop_rate": 0.5, "n_rounds": 6}
LINEAR = {"linear_l2": 2.0}
STATISTICS, OF_THREE = ({"target_options": TargetOptions((3,), 4.0, n)} for n in (0, 3))


def folds(y, weight=None, n_folds=2):
    """Options of a fit of a model for each fold."""
    return {"n_folds": n_folds, "folds": draw_folds(y, weight, N_ROWS, n_folds, seed=5)}


# name: loss, target, weights, options, growth options
CASES = {
    "two classes": (BinaryLogLoss, TWO, None, {}, {}),
    "large leaves": (BinaryLogLoss, TWO, None, {}, {"min_samples_leaf": 100}),
    "small leaves": (BinaryLogLoss, TWO, None, {}, {"min_samples_leaf": 1}),
    "by depth": (BinaryLogLoss, TWO, None, {}, {"max_depth": 3, "max_leaf_nodes": None}),
    "whole weights": (BinaryLogLoss, TWO, WHOLE, {}, {}),
    "weights": (BinaryLogLoss, TWO, SMOOTH, {}, {"min_samples_leaf": 40}),
    "rows held out": (BinaryLogLoss, TWO, None, {"validation_rows": HELD, "patience": 2}, {}),
    "some rows per tree": (BinaryLogLoss, TWO, None, {"validation_rows": HELD, "subsample": 0.3}, {}),
    "one row a tree": (BinaryLogLoss, TWO, None, {"subsample": 1e-6}, {}),
    "three classes": (lambda: MultinomialLogLoss(3), THREE, None, {"subsample": 0.7}, {}),
    "three classes, heavy tails": (lambda: MultinomialLogLoss(3), THREE, SMOOTH**200, {}, {}),
    "random columns": (
        lambda: MultinomialLogLoss(3), THREE, WHOLE, {"validation_rows": HELD},
        {"columns_per_tree": 0.5, "columns_per_node": 0.6, "seed": 3},
    ),
    "noise": (
        BinaryLogLoss, TWO, WHOLE, {"subsample": 0.7},
        {"random_strength": 2.0, "min_samples_leaf": 60},
    ),
    "monotonic": (SquaredError, SIGNAL, None, {}, {"monotonic": RISING}),
    "groups": (SquaredError, SIGNAL, None, {}, {"groups": np.array([[1]] * 3 + [[2]] * 3, np.uint64)}),
    "symmetric": (BinaryLogLoss, TWO, WHOLE, {"validation_rows": HELD}, SYMMETRIC),
    "symmetric, three classes": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH, {"subsample": 0.7},
        SYMMETRIC | {"columns_per_node": 0.6, "random_strength": 1.0},
    ),
    "symmetric, absolute": (AbsoluteError, SIGNAL, None, {}, SYMMETRIC | {"monotonic": RISING}),
    "smoothed": (
        SquaredError, SIGNAL, WHOLE, {"path_smooth": 7.0, "subsample": 0.6},
        {"monotonic": RISING, "min_samples_leaf": 3},
    ),
    "smoothed, symmetric": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH, {"path_smooth": 7.0, "max_leaf_step": 0.8}, SYMMETRIC,
    ),
    "smoothed, absolute": (
        AbsoluteError, SIGNAL, None, {"path_smooth": 3.0}, SYMMETRIC | {"monotonic": RISING},
    ),
    "leaf folds": (BinaryLogLoss, TWO, WHOLE, {"leaf_value_folds": 3, "validation_rows": HELD}, {}),
    "leaf folds, three classes": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH,
        {"leaf_value_folds": 4, "path_smooth": 2.0, "subsample": 0.7}, SYMMETRIC,
    ),
    "leaf folds, quantile": (
        lambda: Quantile(0.3), SIGNAL, SMOOTH, {"leaf_value_folds": 2, "validation_rows": HELD},
        {"monotonic": RISING},
    ),
    "heavy tails": (SquaredError, SIGNAL**9, None, {}, {"min_samples_leaf": 1}),
    "penalties": (Poisson, np.floor(np.abs(SIGNAL)), None, {}, {"l1_regularization": 0.1}),
    "absolute": (AbsoluteError, SIGNAL, None, {"validation_rows": HELD}, {}),
    "quantile": (lambda: Quantile(0.3), SIGNAL, None, {"subsample": 0.5}, {}),
    "huber": (Huber, SIGNAL, SMOOTH, {}, {}),
    "first order": (BinaryLogLoss, TWO, None, {"newton": False}, {}),
    "gradient": (BinaryLogLoss, TWO, WHOLE, GRADIENT | {"validation_rows": HELD}, {}),
    "gradient, three classes": (lambda: MultinomialLogLoss(3), THREE, SMOOTH, GRADIENT, {}),
    "gradient, folds": (SquaredError, SIGNAL, WHOLE, GRADIENT | folds(None, WHOLE), {}),
    "gradient, absolute": (AbsoluteError, SIGNAL, None, GRADIENT, SYMMETRIC),
    "bayesian": (BinaryLogLoss, TWO, WHOLE, BAYESIAN | {"validation_rows": HELD}, {}),
    "bayesian, heavy tails": (SquaredError, SIGNAL**9, None, BAYESIAN, {"min_samples_leaf": 1}),
    "bayesian, folds": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH,
        BAYESIAN | folds(THREE, SMOOTH) | {"subsample": 0.6, "bagging_temperature": 2.0}, {},
    ),
    "bayesian, absolute": (AbsoluteError, SIGNAL, WHOLE, BAYESIAN | {"subsample": 0.6}, {}),
    "dropped": (BinaryLogLoss, TWO, WHOLE, DROPPED, {}),
    "dropped, three classes": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH, DROPPED | {"max_drop": 2, "subsample": 0.7}, {},
    ),
    "dropped, absolute": (AbsoluteError, SIGNAL, None, DROPPED | GRADIENT, {}),
    "dropped, bayesian": (SquaredError, SIGNAL, WHOLE, DROPPED | BAYESIAN, SYMMETRIC),
    "statistics": (BinaryLogLoss, TWO, WHOLE, STATISTICS | {"validation_rows": HELD}, {}),
    "statistics, three classes": (
        lambda: MultinomialLogLoss(3), THREE, WHOLE, OF_THREE | folds(THREE, WHOLE) | {"subsample": 0.7},
        {"groups": np.array([[1]] * 3 + [[2]] * 3, np.uint64)},
    ),
    "statistics, absolute": (AbsoluteError, SIGNAL, SMOOTH, STATISTICS | {"validation_rows": HELD}, {}),
    "statistics, gradient": (SquaredError, SIGNAL, WHOLE, STATISTICS | GRADIENT | folds(None, WHOLE, 4), {}),
    "statistics, dropped": (SquaredError, SIGNAL, WHOLE, STATISTICS | DROPPED | BAYESIAN, {}),
    "linear": (BinaryLogLoss, TWO, WHOLE, LINEAR | {"validation_rows": HELD}, {}),
    "linear, heavy tails": (SquaredError, SIGNAL**9, None, LINEAR, {"min_samples_leaf": 1}),
    "linear, three classes": (
        lambda: MultinomialLogLoss(3), THREE, SMOOTH,
        LINEAR | OF_THREE | folds(THREE, SMOOTH) | {"subsample": 0.7}, {},
    ),
    "linear, symmetric": (Poisson, WHOLE, SMOOTH, LINEAR | {"path_smooth": 4.0}, SYMMETRIC),
    "linear, gradient": (
        BinaryLogLoss, TWO, WHOLE, LINEAR | GRADIENT | {"validation_rows": HELD, "subsample": 0.8},
        {"min_samples_leaf": 8},
    ),
    "linear, statistics, gradient": (
        lambda: MultinomialLogLoss(3), THREE, None, LINEAR | GRADIENT | OF_THREE | folds(THREE), SYMMETRIC,
    ),
    "linear, bayesian": (SquaredError, SIGNAL, WHOLE, LINEAR | BAYESIAN | {"subsample": 0.6}, {}),
}  # fmt: skip


def fit(name, table, evaluation_sets=(), previous=None, n_rounds=5, **more):
    """Fit a case to a table that holds the rows of TABLE."""
    loss, y, weight, options, growth = CASES[name]
    fit_options = GradientBoostingOptions(
        **({"loss": loss(), "n_rounds": n_rounds, "learning_rate": 0.3, "seed": 7} | options | more),
        growth=GrowthOptions(**growth),
    )
    train = Dataset(None, table, y.copy(), None if weight is None else weight.copy())
    return fit_gradient_boosting(train, evaluation_sets, fit_options, previous)


def assert_same(one, other):
    """Compare trees, to the last bit, and histories."""
    np.testing.assert_array_equal(one.model.start, other.model.start)
    for name, values in vars(one.model.forest).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(values, getattr(other.model.forest, name), err_msg=name)
    linear = [result.model.forest.linear for result in (one, other)]
    assert (linear[0] is None) == (linear[1] is None)
    if linear[0] is not None:
        assert [array.tobytes() for array in linear[0].arrays().values()] == [
            array.tobytes() for array in linear[1].arrays().values()
        ]
    assert one.best_round == other.best_round
    assert set(one.history) == set(other.history)
    for name in set(one.history) - {"seconds"}:
        assert one.history[name] == other.history[name], name
