"""Rows in memory: scores, gradients, statistics and the tree grower in this process.

    raw  float64 (outputs, rows)   scores of the ensemble so far

Only `grower` and `add_trees` read the codes, so the codes may also be in shards; see
`hedgerow.backends.sharded`.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Floats, Integers, RowNumbers
from hedgerow.backends.base import EvaluationRows, TrainingRows, TreeFit, TreeRound
from hedgerow.backends.leaf_values import LeafValueFolds
from hedgerow.backends.linear_leaves import AddsLinearRounds, LinearGrower, LinearRows
from hedgerow.backends.row_sampling import RowSampler
from hedgerow.backends.target_statistics import SetSplits
from hedgerow.binning import BinnedTable
from hedgerow.growing.deep import ThreadedTreeGrower
from hedgerow.growing.grower import GrownTree, Quantiser, RowStatistics, TreeGrower
from hedgerow.growing.weak_tree import LocalWeakRows
from hedgerow.kernels.cpu.forest import add_tree
from hedgerow.kernels.cpu.gradients import add_leaf_values
from hedgerow.losses import Loss
from hedgerow.table.table import Dataset
from hedgerow.threads import Team

Trees = list[NDArray[np.void]]


class Scores(EvaluationRows):
    """Rows with their targets, weights and raw scores.

    Parameters
    ----------
    loss : Loss
    y, weight : float64 (rows,); the weight is None if all rows weigh the same
    raw : float64 (outputs, rows)
    """

    def __init__(self, loss: Loss, y: Floats, weight: Floats | None, raw: Floats) -> None:
        self.loss, self.y, self.weight, self.raw = loss, y, weight, raw

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        return self.loss.mean_loss(self.y, self.raw, self.weight)

    def close(self) -> None:
        """Do nothing: all arrays are in memory."""

    def allocate_gradients(self, team: Team, *, newton: bool = True) -> None:
        """Allocate the arrays of `gradients`, which are reused for every round."""
        self._team, self._gradient = team, np.empty_like(self.raw)
        self._filled = np.empty_like(self.raw)  # the hessian that the loss computes
        self._hessian = self._filled if newton else np.ones_like(self.raw)

    def gradients(self) -> tuple[Floats, Floats]:
        """Compute gradient and hessian (outputs, rows) of the loss at the current scores."""
        loss, y, raw, gradient, hessian = self.loss, self.y, self.raw, self._gradient, self._filled
        loss.prepare(y, raw, self.weight)
        if loss.splittable:
            self._team.over_rows(len(y), partial(loss.fill, y, raw, gradient, hessian))
        else:
            loss.fill(y, raw, gradient, hessian, 0, len(y))
        return gradient, self._hessian


class TreeScores(Scores):
    """Rows whose scores are updated by trees.

    `add_trees(trees, raw)` adds the leaf values of trees to scores. `linear` adds trees with linear leaves;
    None if leaves are constant.
    """

    def __init__(
        self,
        loss: Loss,
        y: Floats,
        weight: Floats | None,
        raw: Floats,
        add_trees: Callable[[Trees, Floats], None],
        linear: AddsLinearRounds | None = None,
    ) -> None:
        super().__init__(loss, y, weight, raw)
        self.add_trees, self.linear = add_trees, linear

    def update(self, fitted: TreeRound) -> None:
        """Add the trees of a round to the scores."""
        if self.linear is None:
            self.add_trees(fitted.trees, self.raw)
        else:
            self.linear.add_round(fitted, self.raw)


class Grower(Protocol):
    """Grows a tree from the statistics of rows, see `hedgerow.growing.grower.TreeGrower`."""

    def grow(self, statistics: RowStatistics, rows: RowNumbers, tree: int) -> GrownTree:
        """Grow one tree."""


class TrainingScores(TreeScores):
    """Training rows whose scores, gradients and statistics are in memory.

    A tree is grown on all rows, on a uniform draw of them, or on the rows of a `RowSampler`. Its leaf values
    are Newton steps -G / (H + l2), or the results of a line search in every leaf (Friedman 2001) in first
    order and for losses that need one.

    Parameters
    ----------
    fit : TreeFit
    rows : TreeScores
        Targets and scores of all training rows.
    validation : TreeScores or None
        Those of the validation rows.
    grower : Grower
    set_splits : SetSplits or None
        Converts the splits of columns that are coded by target statistics.
    """

    def __init__(
        self,
        fit: TreeFit,
        rows: TreeScores,
        validation: TreeScores | None,
        grower: Grower,
        set_splits: SetSplits | None = None,
    ) -> None:
        super().__init__(rows.loss, rows.y, rows.weight, rows.raw, rows.add_trees, rows.linear)
        self._fit, self.validation, self._grower = fit, validation, grower
        self._set_splits = set_splits
        self.allocate_gradients(fit.team, newton=fit.options.newton)
        self._quantiser = Quantiser(fit.weights, len(rows.y), fit.team)
        self._sampler: RowSampler | None = None
        if fit.options.sampling != "uniform":
            self._sampler = RowSampler(fit.options, fit.weights, len(rows.y))
        self._searches_lines = self.loss.requires_line_search or not fit.options.newton
        self._grown: list[GrownTree] = []
        self._folds: LeafValueFolds | None = None
        if fit.options.leaf_value_folds is not None:
            self._folds = LeafValueFolds(fit.options, fit.weights, len(rows.y), fit.team)
        self._fold_values: list[Floats] = []  # (leaves, folds) of every tree of the round

    def fit(self, gradients: tuple[Floats, Floats], iteration: int) -> TreeRound:
        """Grow one tree per output and set the leaf values."""
        n_outputs, options, factors = len(self.raw), self._fit.options, None
        if self._sampler is None:
            rows = self._quantiser.weights.draw(options.subsample, options.seed, iteration)
        else:
            rows, factors = self._sampler.draw(gradients[0], iteration)
        self._grown, self._fold_values = [], []
        if self._folds is not None:
            self._folds.draw(iteration)
        for output, (gradient, hessian) in enumerate(zip(*gradients, strict=True)):
            own = (gradient, hessian) if factors is None else (gradient * factors, hessian * factors)
            statistics = self._quantiser.quantise(*own)
            tree = self._grower.grow(statistics, rows, iteration * n_outputs + output)
            if self._searches_lines:
                tree.nodes["value"] = self._line_search(tree, output, factors)
                tree.nodes["lower"], tree.nodes["upper"] = -np.inf, np.inf  # were those of Newton steps
            self._fit.options.shrink(tree.nodes, iteration, tree.value_nodes)
            self._order_smoothed(tree, tree.nodes["value"])
            if self._folds is not None:
                self._fold_values.append(
                    self._values_by_fold(self._folds, tree, statistics, output, factors, iteration)
                )
            if self._set_splits is not None:
                self._set_splits.convert(tree.nodes)
            if n_outputs > 1 and (self._fit.options.subsample >= 1.0 or self._folds is not None):
                tree.rows = tree.rows.copy()  # for `update`; the grower reuses its array for the next output
            self._grown.append(tree)
        rate = self._fit.options.rate(iteration)
        terms = [tree.terms.scaled(rate) for tree in self._grown if tree.terms is not None]
        n_leaves = sum(len(tree.leaves) for tree in self._grown)
        return TreeRound([tree.nodes for tree in self._grown], n_leaves, terms=terms)

    def _line_search(
        self, tree: GrownTree, output: int, factors: Floats | None, fold: int | None = None
    ) -> Floats:
        """Return the values of the nodes by line searches, in leaves alone if they are not smoothed.

        fold : whose rows are left out
        """
        weight = self.weight
        if factors is not None:
            weight = factors if weight is None else weight * factors
        is_smoothed = self._fit.options.path_smooth > 0.0
        numbers = np.arange(len(tree.nodes)) if is_smoothed else tree.leaves
        rows, starts, group = _rows_of_values(tree, numbers)
        if fold is not None and self._folds is not None:
            kept = self._folds.folds[rows] != fold
            rows, starts = rows[kept], np.concatenate([[0], np.cumsum(kept)])[starts]
        values: Floats = tree.nodes["value"].copy()
        values[numbers] = self.loss.line_search(self.y, self.raw, weight, rows, starts, output)[group]
        if not is_smoothed:
            self._order(tree, values)
        return values

    def _order(self, tree: GrownTree, values: Floats) -> None:
        """Change values of leaves that a line search has found so that they satisfy the constraints."""
        monotonic = self._fit.options.growth.monotonic
        if monotonic.size:
            steps = values[tree.leaves]
            order_steps(steps, tree, monotonic)
            values[tree.leaves] = steps

    def _order_smoothed(self, tree: GrownTree, values: Floats) -> None:
        """Do `_order` for values that have been smoothed."""
        if self._searches_lines and self._fit.options.path_smooth:
            self._order(tree, values)

    def _values_by_fold(
        self,
        folds: LeafValueFolds,
        tree: GrownTree,
        statistics: RowStatistics,
        output: int,
        factors: Floats | None,
        iteration: int,
    ) -> Floats:
        """Return the values of the leaves without the rows of each fold, (leaves, folds)."""
        values, counts = folds.newton_values(tree, statistics)
        if self._searches_lines:
            for fold in range(folds.n_folds):
                values[:, fold] = self._line_search(tree, output, factors, fold)
        options = self._fit.options
        values = options.finish_values(values, counts, tree.nodes, iteration, tree.value_nodes)
        for fold in range(folds.n_folds):
            self._order_smoothed(tree, values[:, fold])
        return values[tree.leaves]

    def update(self, fitted: TreeRound) -> None:
        """Add the trees of a round to the scores, leaf by leaf if they are constant and grown on all rows.

        No tree is grown on validation rows, but their gradients share the scale of the integer statistics:
        their scores must be up to date here too.
        """
        chosen, validation = self._fit.options.validation_rows, self.validation
        if self._fit.options.subsample < 1.0 or self.linear is not None:
            if self._folds is None:
                super().update(fitted)
            else:
                self._add_with_folds(fitted)
            if validation is not None:
                validation.raw[:] = self.raw[:, chosen]  # the same sums as those of `update`
            return
        for output in range(len(self.raw)):
            self._add_by_leaf(output)
        self._grown = []  # the order of the rows is valid until the next tree only
        if validation is not None:
            validation.update(fitted)
            self.raw[:, chosen] = validation.raw

    def restore(self, raw: Floats) -> None:
        """Set the scores (outputs, rows) to those of a checkpoint."""
        self.raw[:] = raw
        if self.validation is not None:
            self.validation.raw[:] = raw[:, self._fit.options.validation_rows]  # equal after every round

    def _add_with_folds(self, fitted: TreeRound) -> None:
        """Add the trees to the scores of all rows; those that they were grown on get the values by fold."""
        before = [raw[tree.rows] for raw, tree in zip(self.raw, self._grown, strict=True)]
        self.add_trees(fitted.trees, self.raw)
        for output, tree in enumerate(self._grown):
            self.raw[output, tree.rows] = before[output]
            self._add_by_leaf(output)

    def _add_by_leaf(self, output: int) -> None:
        raw, tree = self.raw[output], self._grown[output]
        if self._folds is not None:
            self._folds.add(raw, tree, self._fold_values[output])
            return
        rows, starts, values = tree.rows, tree.starts, tree.values
        self._fit.team.over_rows(len(rows), lambda a, b: add_leaf_values(raw, rows, starts, values, a, b))

    def close(self) -> None:
        """Do nothing: the rows are in the memory of this process."""


def _rows_of_values(tree: GrownTree, numbers: Integers) -> tuple[RowNumbers, Integers, Any]:
    """Return rows grouped by the nodes that give some nodes their values, and the group of each of these."""
    value_nodes = numbers if tree.value_nodes is None else tree.value_nodes[numbers]
    if np.array_equal(value_nodes, tree.leaves):
        return tree.rows, tree.starts, slice(None)
    chosen, group = np.unique(value_nodes, return_inverse=True)
    nodes = tree.nodes[chosen]
    groups = [tree.rows[a:b] for a, b in zip(nodes["start"].tolist(), nodes["stop"].tolist(), strict=True)]
    return np.concatenate(groups), np.cumsum([0, *map(len, groups)]), group


class CpuBackend:
    """The backend for tables in memory."""

    concurrent_fits = True
    weak_rows = LocalWeakRows
    forest_grower = ThreadedTreeGrower

    def training_rows(self, fits: Sequence[TreeFit], train: Dataset) -> list[TrainingRows]:
        """Encode the training rows and compute their first scores."""
        first = fits[0]
        codes = first.bins.encode(train.table, first.team, for_growing=first.statistics is None)
        values = _values_of(first, train)
        return [self._training_scores(fit, train, codes, values) for fit in fits]

    def _training_scores(
        self, fit: TreeFit, train: Dataset, codes: BinnedTable, values: AnyFloats | None
    ) -> TrainingScores:
        set_splits = None
        if fit.statistics is not None:
            codes, set_splits = fit.statistics.encode(
                codes.codes.by_column, fit.bins, fit.weights, fit.options.seed, fit.team
            )
        rows = _tree_scores(fit, train, fit.loss_weight, codes, values, by_codes=set_splits is not None)
        chosen, validation = fit.options.validation_rows, None
        if chosen is not None:
            weight = None if train.sample_weight is None else train.sample_weight[chosen]
            own_codes = codes.take(chosen)
            linear = None if values is None else LinearRows(own_codes, values[chosen], fit.team)
            raw = np.ascontiguousarray(rows.raw[:, chosen])
            add_trees = _make_add_trees(own_codes, fit.team)
            validation = TreeScores(rows.loss, train.y[chosen], weight, raw, add_trees, linear)
        trees = TreeGrower(codes, fit.options.growth, fit.team)
        grower: Grower = trees if values is None else LinearGrower(trees, fit, values)
        return TrainingScores(fit, rows, validation, grower, set_splits)

    def evaluation_rows(self, fit: TreeFit, rows: Dataset) -> TreeScores:
        """Encode an evaluation set and compute its first scores."""
        codes = fit.bins.encode(rows.table, fit.team, for_growing=False)
        return _tree_scores(fit, rows, rows.sample_weight, codes, _values_of(fit, rows))


def _values_of(fit: TreeFit, rows: Dataset) -> AnyFloats | None:
    """Return the values of all rows if leaves are linear; a view of a matrix of floats."""
    return None if fit.options.linear_l2 is None else rows.table.block(0, rows.table.n_rows)


def _tree_scores(
    fit: TreeFit,
    rows: Dataset,
    weight: Floats | None,
    codes: BinnedTable,
    values: AnyFloats | None,
    *,
    by_codes: bool = False,
) -> TreeScores:
    raw = np.repeat(fit.start[:, np.newaxis], len(rows.y), axis=1)
    linear = None if values is None else LinearRows(codes, values, fit.team)
    if fit.previous is not None and by_codes and linear is not None:
        linear.add_forest(fit.previous.forest, raw)
    elif fit.previous is not None and by_codes:
        for tree, output in enumerate(fit.previous.forest.output.tolist()):
            fit.previous.forest.add_coded_scores(codes, tree, raw[output], fit.team)
    elif fit.previous is not None:
        raw = fit.previous.scores(rows.table, fit.team.n_threads)
    return TreeScores(fit.options.loss, rows.y, weight, raw, _make_add_trees(codes, fit.team), linear)


def _make_add_trees(codes: BinnedTable, team: Team) -> Callable[[Trees, Floats], None]:
    """Return a function that adds the leaf values of trees to the scores of encoded rows."""
    by_column = codes.codes.by_column

    def add_trees(trees: Trees, raw: Floats) -> None:
        for tree, nodes in enumerate(trees):
            scores = raw[tree % len(raw)]
            team.over_rows(codes.n_rows, partial(add_tree, by_column, nodes, scores))

    return add_trees


def _leaves_below(tree: GrownTree) -> tuple[Integers, Integers]:
    """Return for every node the position of its first leaf, from left to right, and how many it has."""
    n_leaves, first = np.ones(len(tree.nodes), np.int64), np.zeros(len(tree.nodes), np.int64)
    inner = [(number, left) for number, left in enumerate(tree.nodes["left"].tolist()) if left]
    for number, left in reversed(inner):  # children follow their parent
        n_leaves[number] = n_leaves[left] + n_leaves[left + 1]
    for number, left in inner:
        first[left], first[left + 1] = first[number], first[number] + n_leaves[left]
    return first, n_leaves


def order_steps(steps: Floats, tree: GrownTree, monotonic: NDArray[np.int8]) -> None:
    """Change the steps of the leaves, from left to right, so that they satisfy the monotonic constraints.

    The grower bounds the values it computes; those of a line search may violate the constraints. Where leaves
    on the low side of a monotonic split have larger steps than leaves on its high side, the overlapping ones
    are replaced by their mean. Splits are visited from the root down: what changes below a split stays within
    the range of the leaves on its side.
    """
    nodes, counts = tree.nodes, np.maximum(tree.nodes["count"][tree.leaves], 1)
    first_leaves, n_leaves = _leaves_below(tree)
    for number in np.flatnonzero(nodes["left"]).tolist():
        direction, right = monotonic[nodes["split"]["column"][number]], nodes["left"][number] + 1
        if not direction:
            continue
        first, middle = first_leaves[number], first_leaves[right]
        last = middle + n_leaves[right]
        low, high = np.arange(first, middle), np.arange(middle, last)
        if direction < 0:
            low, high = high, low
        top, bottom = steps[low].max(), steps[high].min()
        if top > bottom:
            overlap = np.concatenate([low[steps[low] > bottom], high[steps[high] < top]])
            mean = math.fsum(steps[overlap] * counts[overlap]) / math.fsum(counts[overlap])
            mean = min(max(mean, bottom), top)  # rounding
            steps[low], steps[high] = np.minimum(steps[low], mean), np.maximum(steps[high], mean)
