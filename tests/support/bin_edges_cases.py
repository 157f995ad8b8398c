"""Learners with bin edges set by the user, and small helpers, for the tests of `bin_edges`."""

import numpy as np
from sklearn.base import clone

from forest_cases import bits
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AnyBoostClassifier,
    DecisionStump,
    LogitBoostClassifier,
)
from hedgerow.binning import find_bins
from hedgerow.estimators.decision_trees import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.table import read_table

NAN = np.nan
WEAK = [DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor]
GRID = [-1.0, -0.25, 0.5, 1.25]
BOOSTED = [
    AdaBoostClassifier(DecisionStump(), n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5, algorithm="samme.r"),
    AnyBoostClassifier(estimator=DecisionStump(), n_estimators=5),
    LogitBoostClassifier(estimator=DecisionTreeRegressor(max_depth=1), n_estimators=5),
    AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=5, random_state=0),
]


def problem(estimator=None, n_rows=250, seed=0):
    """Many distinct values, a few missing ones; numbers for regressors, else two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] + np.abs(X[:, 1]) - 0.8 + 0.5 * X[:, 2] * X[:, 3] + 0.4 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.04] = NAN
    return X, score if "Regressor" in type(estimator).__name__ else (score > 0).astype(int)


def tree_model(model):
    """The trees and bins of a fitted model."""
    return getattr(model.model_, "trees", model.model_)


def same(one, other):
    """Whether two models are equal to the last bit, except the marks of fixed edges."""
    if hasattr(one, "oob_score"):
        return bits(one) == bits(other)
    first, second = tree_model(one), tree_model(other)
    names = ("edges", "edge_starts", "tables", "table_starts")
    return all(
        a.tobytes() == second.forest.arrays()[k].tobytes() for k, a in first.forest.arrays().items()
    ) and all(getattr(first.bins, k).tobytes() == getattr(second.bins, k).tobytes() for k in names)


def found_edges(X, max_bins=255):
    bins = find_bins(read_table(X), max_bins)
    return [bins.edges_of(column) for column in range(bins.n_columns)]


def boosted(model, **parameters):
    return clone(model).set_params(**{f"estimator__{name}": value for name, value in parameters.items()})


def cuts(model):
    """The values that numeric splits cut at; infinity stands for "is it missing?"."""
    forest, bins = tree_model(model).forest, tree_model(model).bins
    numeric = (forest.left > 0) & (forest.set_number < 0)
    return set(forest.thresholds(bins)[numeric].tolist())
