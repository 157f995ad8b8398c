"""Small data and small helpers for the tests of gradient boosting."""

import numpy as np

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.losses import LOSSES

# Quick on small data, and without the penalty that the formulas and other libraries do not have.
PLAIN = {"n_estimators": 10, "min_samples_leaf": 5, "l2_regularization": 0.0}

# One target for each loss, from the same signal; see `target`.
REGRESSION_LOSSES = tuple(LOSSES["regression"])


def signal(n_rows=300, n_columns=4, seed=0, steps=20):
    """A matrix with few distinct values a column, so that bins are exact, and a smooth function of it."""
    X = np.round(np.random.default_rng(seed).normal(size=(n_rows, n_columns)) * steps) / steps
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]


def numbers(n_rows=300, n_columns=4, seed=0, noise=0.1):
    """A regression problem."""
    X, f = signal(n_rows, n_columns, seed)
    return X, f + noise * np.random.default_rng(seed + 1).normal(size=n_rows)


def classes(n_rows=300, n_classes=2, seed=0):
    """A classification problem, labels 0, 1, ... in about equal numbers."""
    X, y = numbers(n_rows, seed=seed, noise=0.3)
    edges = np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(y, edges)


def target(loss, f, seed=0):
    """A target the regression loss accepts, whose mean, or any quantile, rises with f."""
    rng = np.random.default_rng(seed)
    mean = np.exp(0.5 * f)
    if loss == "poisson":
        return rng.poisson(mean).astype(float)
    if loss == "gamma":
        return rng.gamma(4.0, mean / 4.0) + 1e-3
    if loss == "tweedie":
        return np.where(rng.random(len(f)) < 0.2, 0.0, rng.gamma(4.0, mean / 4.0))
    return f + 0.1 * rng.normal(size=len(f))


def regressor(**parameters):
    """A regressor that is quick on small data."""
    return GradientBoostingRegressor(**{**PLAIN, **parameters})


def classifier(**parameters):
    """A classifier that is quick on small data."""
    return GradientBoostingClassifier(**{**PLAIN, **parameters})


def same_forests(one, other):
    """Whether two fitted tree models are equal to the last bit."""
    first, second = one.model_, other.model_
    return (
        first.start.tobytes() == second.start.tobytes()
        and first.bins.edges.tobytes() == second.bins.edges.tobytes()
        and all(
            array.tobytes() == second.forest.arrays()[name].tobytes()
            for name, array in first.forest.arrays().items()
        )
        and linear_arrays(first.forest) == linear_arrays(second.forest)
    )


def linear_arrays(forest):
    """The bytes of the linear functions of leaves; none for constant ones."""
    linear = forest.linear
    return None if linear is None else {name: array.tobytes() for name, array in linear.arrays().items()}


def paths(forest):
    """For every tree, the set of columns on the path to each leaf."""
    for t in range(forest.n_trees):
        first, last = forest.starts[t], forest.starts[t + 1]
        left, column = forest.left[first:last], forest.column[first:last]
        above = [frozenset()] * len(left)
        for node, child in enumerate(left.tolist()):  # children have larger numbers than their parent
            if child:
                above[child] = above[child + 1] = above[node] | {int(column[node])}
        yield [above[node] for node in range(len(left)) if left[node] == 0]


def depths(forest):
    """The depth of every tree."""
    deepest = []
    for t in range(forest.n_trees):
        left = forest.left[forest.starts[t] : forest.starts[t + 1]].tolist()
        depth = [0] * len(left)
        for node, child in enumerate(left):
            if child:
                depth[child] = depth[child + 1] = depth[node] + 1
        deepest.append(max(depth))
    return deepest


def leaf_counts(forest):
    """Rows of every leaf, one array a tree."""
    for t in range(forest.n_trees):
        nodes = slice(forest.starts[t], forest.starts[t + 1])
        yield forest.count[nodes][forest.left[nodes] == 0]
