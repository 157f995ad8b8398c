"""Values of leaves after a tree is grown: smoothed along the path, and computed by fold for the scores.

Smoothing moves the value of a node towards that of its parent, the more the fewer rows the node has:

    v(node) = own(node) * n / (n + s) + v(parent) * s / (n + s)       v(root) = own(root)

This is `path_smooth` of LightGBM, a relative of hierarchical shrinkage (Agarwal et al. 2022), in which the
rows of the parent decide. The root keeps its value: it is what the round adds for all rows together, and
has nothing to be compared with. n counts rows with integer weights as copies, as `min_samples_leaf` does. The
grower bounds the values below a monotonic split so that they cannot cross, and the smoothed values are
clipped to the same bounds.

With leaf values by fold, the training rows are divided into K random folds, new ones in every round. The
score of a row then changes by a leaf value to which the rows of its fold do not contribute: the gradients of
later rounds are those of predictions for rows that the value was not fitted to, which is the idea of ordered
boosting (Prokhorenkova et al. 2018). The splits are chosen with all rows, and the model stores the values of
all rows. Sums by leaf and fold are integers, as those of the leaves.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.backends.base import BoostingOptions
from hedgerow.growing.grower import GrownTree, GrowthOptions, RowStatistics, Weights
from hedgerow.kernels.cpu.leaf_folds import add_fold_sums, add_fold_values
from hedgerow.kernels.cpu.random import LEAF_FOLDS, draw_rows
from hedgerow.threads import Team


def _levels(nodes: NDArray[np.void]) -> list[tuple[Integers, Integers]]:
    """Return the nodes with children of every depth, from the root down, and their left children."""
    left, depth = nodes["left"], nodes["depth"]
    inner = [np.flatnonzero((left > 0) & (depth == level)) for level in range(int(depth.max()))]
    return [(numbers, left[numbers]) for numbers in inner]


def smooth_values(
    values: Floats,
    counts: Integers,
    nodes: NDArray[np.void],
    path_smooth: float,
    value_nodes: Integers | None = None,
) -> Floats:
    """Return the smoothed values of the nodes of a tree, within their bounds.

    values, counts : (nodes, m), m values of every node and the rows that these stand on.
    value_nodes : (nodes,), see `GrownTree`; a node with the value of the node above it keeps that of its
        parent.
    """
    smoothed, totals = values.copy(), counts + path_smooth
    of_own, of_above = counts / totals, path_smooth / totals
    if value_nodes is not None:
        has_own = (value_nodes == np.arange(len(nodes)))[:, np.newaxis]
        of_own, of_above = np.where(has_own, of_own, 0.0), np.where(has_own, of_above, 1.0)
    lower, upper = nodes["lower"][:, np.newaxis], nodes["upper"][:, np.newaxis]
    for parents, left in _levels(nodes):
        above = smoothed[parents]
        for level in (left, left + 1):
            own = values[level]
            mixed = own * of_own[level] + above * of_above[level]
            mixed = np.clip(mixed, np.minimum(own, above), np.maximum(own, above))  # rounding
            smoothed[level] = np.clip(mixed, lower[level], upper[level])
    return smoothed


def newton_steps(gradient: Floats, hessian: Floats, growth: GrowthOptions) -> Floats:
    """Return -T(G) / (H + l2) for sums of some rows; 0 where these alone would be too few for a leaf."""
    size = np.abs(gradient) - growth.l1_regularization
    shrunk = np.where(size > 0.0, np.copysign(size, gradient), 0.0)
    is_enough = (hessian > 0.0) & (hessian >= growth.min_child_weight)
    curvature = hessian + growth.l2_regularization
    return np.divide(-shrunk, curvature, out=np.zeros_like(shrunk), where=is_enough)


class LeafValueFolds:
    """The folds of a round, and the leaf values of its trees by fold."""

    def __init__(self, options: BoostingOptions, weights: Weights, n_rows: int, team: Team) -> None:
        self._options, self._weights, self._team = options, weights, team
        self.n_folds = options.leaf_value_folds or 1
        self.folds = np.zeros(n_rows, np.uint8)  # of every row
        self._draws = np.empty(len(weights.rows), np.uint64)

    def draw(self, iteration: int) -> None:
        """Draw the folds of a round, among the rows of positive weight."""
        draw_rows(self._options.seed, LEAF_FOLDS, iteration, self._draws)
        self.folds[self._weights.rows] = (
            (self._draws >> np.uint64(32)) * np.uint64(self.n_folds)
        ) >> np.uint64(32)

    def sums(self, tree: GrownTree, statistics: RowStatistics) -> Integers:
        """Return gradient, hessian and copies of every node without each fold, (nodes, folds, 3)."""
        leaf_sums, lock = np.zeros((len(tree.leaves), self.n_folds, 3), np.int64), threading.Lock()

        def add(start: int, stop: int) -> None:
            block = np.zeros_like(leaf_sums)
            add_fold_sums(statistics.statistics, tree.rows, tree.starts, self.folds, block, start, stop)
            with lock:
                np.add(leaf_sums, block, out=leaf_sums)

        self._team.over_rows(len(tree.rows), add)
        sums = np.zeros((len(tree.nodes), self.n_folds, 3), np.int64)
        sums[tree.leaves] = leaf_sums
        for parents, left in reversed(_levels(tree.nodes)):
            sums[parents] = sums[left] + sums[left + 1]
        others: Integers = sums.sum(axis=1, keepdims=True) - sums
        return others

    def newton_values(self, tree: GrownTree, statistics: RowStatistics) -> tuple[Floats, Integers]:
        """Return the Newton steps (nodes, folds) without each fold, and the numbers of the other rows."""
        sums = self.sums(tree, statistics)
        gradient = sums[..., 0].astype(np.float64) * statistics.gradient_unit
        hessian = sums[..., 1].astype(np.float64) * statistics.hessian_unit
        values = newton_steps(gradient, hessian, self._options.growth)
        if tree.value_nodes is not None:
            values = values[tree.value_nodes]
        lower, upper = tree.nodes["lower"], tree.nodes["upper"]
        return np.clip(values, lower[:, np.newaxis], upper[:, np.newaxis]), sums[..., 2]

    def add(self, raw: Floats, tree: GrownTree, values: Floats) -> None:
        """Add the values (leaves, folds) of a tree to the scores of the rows it was grown on."""
        rows, starts, folds = tree.rows, tree.starts, self.folds
        self._team.over_rows(len(rows), lambda a, b: add_fold_values(raw, rows, starts, folds, values, a, b))
