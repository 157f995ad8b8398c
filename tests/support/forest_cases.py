"""Small data for the tests of forests, and predictions of the trees of a fitted forest one by one."""

import numpy as np
import pandas as pd

from hedgerow import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.binning import find_bins
from hedgerow.growing.deep import DeepGrower, DeepOptions, DeepTarget
from hedgerow.table import read_table
from hedgerow.threads import Team
from hedgerow.voting import EncodedRows, VoteForest

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
KINDS = CLASSIFIERS + REGRESSORS


def signal(n_rows=300, n_columns=5, seed=0):
    """Float64 values that float32 can represent, some missing, and a score that depends on most columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32).astype(np.float64)
    X[:, 1] = np.round(4 * X[:, 1]) / 4
    X[X < -1.5] = 0.0
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, score


def numbers(n_rows=300, n_outputs=1, seed=0):
    X, score = signal(n_rows, seed=seed)
    if n_outputs == 1:
        return X, score
    return X, np.column_stack([score, *(np.nan_to_num(X[:, k]) ** 2 for k in range(1, n_outputs))])


def counts(n_rows=300, seed=0):
    X, score = signal(n_rows, seed=seed)
    return X, np.random.default_rng(seed + 1).poisson(np.exp(score / 2)).astype(np.float64)


def classes(n_rows=300, n_classes=3, seed=0):
    """Labels are names of trees, in ascending order of the score."""
    X, score = signal(n_rows, seed=seed)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    names = np.array(["alder", "beech", "cedar", "ebony", "larch"])
    return X, names[np.searchsorted(edges, score)]


def frame(n_rows=300, seed=0):
    """A pandas data frame with a column of colours, and a score that depends on the colour."""
    X, score = signal(n_rows, 3 + 1, seed=seed)
    which = np.random.default_rng(seed + 2).integers(0, 5, n_rows)
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    table["colour"] = pd.Categorical(np.array(["red", "blue", "white", "green", "black"])[which])
    return table, score + which % 2


def data_for(kind, n_rows=300, seed=0):
    return classes(n_rows, seed=seed) if kind in CLASSIFIERS else numbers(n_rows, seed=seed)


def predictions(model, X):
    """Probabilities of a classifier, predictions of a regressor."""
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def bits(model):
    """Every byte of a fitted model: its trees and its bins."""
    bins, forest = model.model_.bins, model.model_.forest
    of_bins = {name: getattr(bins, name) for name in ("edges", "edge_starts", "tables", "table_starts")}
    return [(name, a.dtype.str, a.shape, a.tobytes()) for name, a in (forest.arrays() | of_bins).items()]


def predictions_by_tree(model, X):
    """Predictions (trees, rows, outputs) of every tree, leaf by leaf in plain Python.

    The word of a leaf holds a number above 36 other bits: a class, or the number of classes plus the index of
    a value of the tree.
    """
    forest, leaves = model.model_.forest, model.apply(X)
    predicted = np.zeros((forest.n_trees, len(leaves), forest.n_outputs))
    for tree in range(forest.n_trees):
        words = forest.nodes[forest.starts[tree] : forest.starts[tree + 1]].tolist()
        values = forest.values[forest.value_starts[tree] : forest.value_starts[tree + 1]]
        for row, leaf in enumerate(leaves[:, tree].tolist()):
            assert words[leaf] & 3 == 3
            number = words[leaf] >> 36
            if number < forest.n_pure:
                predicted[tree, row, number] = 1.0
            else:
                predicted[tree, row] = values[number - forest.n_pure]
    return predicted


def bag_counts(model):
    """How often every row is in the sample of every tree, (trees, rows)."""
    return np.array([model._tree_sampler.counts(tree) for tree in range(model.model_.forest.n_trees)])


def depths(model):
    """The depth of every node, a list for every tree."""
    forest, found = model.model_.forest, []
    for tree in range(forest.n_trees):
        words = forest.nodes[forest.starts[tree] : forest.starts[tree + 1]].tolist()
        depth = [0] * len(words)
        for node, word in enumerate(words):  # children come after their parent
            if word & 3 != 3:
                child = word >> 36
                depth[child] = depth[child + 1] = depth[node] + 1
        found.append(depth)
    return found


class GrownForest:
    """A regression forest grown tree by tree, and the rows that every tree drew (trees, rows)."""

    def __init__(self, X, y, draws, weight=None, *, min_leaf=5, seed=0):
        n_rows = len(X)
        self.X, self.y, self.draws, self.weight = X, y, draws, weight
        table = read_table(X)
        with Team(1) as team:
            self.bins = find_bins(table, 255, team=team)
            binned = self.bins.encode(table, team)
        self.rows = EncodedRows(table, self.bins)
        rows = np.arange(n_rows, dtype=np.uint32)
        target = DeepTarget.of_numbers(y[:, np.newaxis], np.zeros(1), rows, n_rows, weight)
        options = DeepOptions(criterion="squared_error", min_leaf=min_leaf, columns_per_node=2)
        grower = DeepGrower(binned, target, options, np.empty(0, np.int8), n_rows, seed, keep_rows=True)
        self.trees = [grower.grow(tree, drawn) for tree, drawn in enumerate(draws)]
        self.forest = VoteForest.of(self.trees, 0)

    def leaves(self):
        """The targets in the leaves."""
        return LeafTargets.of(self.trees, self.y, self.draws.__getitem__, self.weight)
