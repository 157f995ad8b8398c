"""Fit a forest: deep trees, each grown by one thread on its own sample of the rows.

Trees are independent of each other. They are grown in parallel, by threads or by the workers of a Dask
cluster, and collected in the order of their numbers. A tree is a pure function of the seed and its number:
the forest is the same for any number of threads, and the out-of-bag rows of a tree are found by drawing
again.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, Keys
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.bagging.pair_losses import STEPS, PairLosses
from hedgerow.bagging.sampling import OutOfBag, TreeSampler, count_or_fraction
from hedgerow.binning import BinnedTable, UserEdges, find_bins
from hedgerow.boosting.loop import FitOptions, IndependentMembers, run_rounds
from hedgerow.growing.deep import WEIGHT_BITS, DeepGrower, DeepOptions, DeepTarget
from hedgerow.growing.grower import Weights
from hedgerow.kernels.cpu.binning import add_code_keys, add_keys
from hedgerow.losses.base import weighted_mean
from hedgerow.table.table import Dataset, value_bits
from hedgerow.threads import Team
from hedgerow.voting import BinnedRows, ForestModel, VoteForest, VotingTree

_FACTOR_BITS = 49  # of a class weight times all draws
_ROW_WEIGHT_BITS = 30  # of row weights if there are class weights too, which then have as many


@dataclass(frozen=True, kw_only=True)
class ForestOptions:
    """Options of a forest, as the parameters of the estimators define them; see `RandomForestClassifier`.

    n_classes : None for regression.
    random_cuts : try one random cut of each column (extremely randomised trees).
    directions : int8 (columns,), monotonic constraints: -1, 0 or 1; empty for none.
    edges : bin edges of columns that are not binned at quantiles.
    balance_trees : compute class weights for the sample of every tree, so that all classes have the same
        total weight.
    keep_targets : store the training targets of the leaves.
    """

    n_classes: int | None
    criterion: str
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_features: float | str | None
    random_cuts: bool
    bootstrap: bool
    max_samples: float | None
    max_bins: int
    edges: UserEdges | None
    directions: NDArray[np.int8]
    balance_trees: bool = False
    keep_targets: bool = False
    out_of_bag: bool = False

    def tree_options(self, n_draws: int, n_columns: int) -> DeepOptions:
        """Return the options of a tree, with fractions as numbers."""
        return DeepOptions(
            criterion=self.criterion,
            max_depth=self.max_depth,
            max_leaves=self.max_leaf_nodes,
            min_split=max(2, rounded_up(self.min_samples_split, n_draws)),
            min_leaf=rounded_up(self.min_samples_leaf, n_draws),
            min_weight_fraction=self.min_weight_fraction_leaf,
            min_gain=self.min_impurity_decrease,
            columns_per_node=columns_per_node(self.max_features, n_columns),
            random_cuts=self.random_cuts,
        )


def rounded_up(value: float, n: int) -> int:
    """Return a number unchanged, and a fraction as a number of n rows, rounded up.

    >>> rounded_up(5, 100), rounded_up(0.071, 100)
    (5, 8)
    """
    if isinstance(value, int | np.integer):
        return int(value)
    return max(1, math.ceil(value * n * (1.0 - 2.0**-50)))


def columns_per_node(max_features: Any, n_columns: int) -> int:
    """Return the number of columns tried at a node.

    >>> [columns_per_node(value, 30) for value in (None, "sqrt", "log2", 7, 0.5)]
    [30, 5, 4, 7, 15]
    """
    if max_features is None:
        return n_columns
    if isinstance(max_features, str):
        return max(1, math.isqrt(n_columns) if max_features == "sqrt" else n_columns.bit_length() - 1)
    return count_or_fraction("max_features", max_features, n_columns, "columns of X")


# --- growing trees


@dataclass(frozen=True, eq=False)
class TreeTask:
    """The data that all trees are grown on; with `balance`, class weights are computed for every tree."""

    grower: DeepGrower
    sampler: TreeSampler
    balance: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return self.sampler.draws.pool.n_rows

    def grow(self, grower: DeepGrower, tree: int) -> VotingTree:
        """Grow tree number `tree`, in the memory of `grower`."""
        counts = self.sampler.counts(tree)
        return grower.grow(tree, counts, self._class_weights(counts) if self.balance else None)

    def _class_weights(self, counts: Integers) -> Integers:
        """Return integer class weights in proportion to all draws / (classes * draws of the class)."""
        target = self.grower.target
        per_class = np.zeros(target.n_outputs, np.int64)
        np.add.at(per_class, target.classes, counts)
        total = int(per_class.sum())
        bits = _ROW_WEIGHT_BITS if target.own.size else _FACTOR_BITS
        steps = 2.0 ** (bits - total.bit_length())
        ratio = total / (target.n_outputs * np.maximum(per_class, 1).astype(np.float64))
        return np.maximum(np.rint(ratio * steps), 1.0).astype(np.int64)


# --- the fit


@dataclass(frozen=True, eq=False)
class FittedForest:
    """Result of a fit, or of the trees so far."""

    model: ForestModel
    sampler: TreeSampler
    leaf_targets: LeafTargets | None
    out_of_bag: OutOfBag | None = None


def fit_forest(
    data: Dataset,
    tree_weight: Floats | None,
    options: ForestOptions,
    run: FitOptions,
    previous: FittedForest | None = None,
) -> FittedForest:
    """Fit a forest, or add trees to a previous one, which must have the same data and options.

    tree_weight : float64 (n,) or None, weights of the rows within a tree, beyond those that sampling
        accounts for.
    """
    weight = data.sample_weight
    with Team(run.n_threads) as team:
        copies = Weights.of(weight, data.table.n_rows).row_counts(data.table.n_rows)
        bins = find_bins(data.table, options.max_bins, copies=copies, team=team, user_edges=options.edges)
        binned = bins.encode(data.table, team)
        sampler = TreeSampler.of(
            _code_keys(binned, data.y, team), weight, binned.n_columns,
            bootstrap=options.bootstrap, max_samples=options.max_samples, seed=run.seed,
        )  # fmt: skip
        if previous is not None:
            _check_same(binned, sampler, previous)
        growth = _Growth(data, tree_weight, options, binned, sampler, previous)
        growth.grow(run)
        fitted = growth.result()
        if not options.out_of_bag:
            return fitted
        in_bag = sampler.in_bag(fitted.model.forest.n_trees, team)
    rows = BinnedRows(binned)
    return replace(fitted, out_of_bag=_out_of_bag(fitted, rows, in_bag, data.y, options, run.n_threads))


def _out_of_bag(
    fitted: FittedForest,
    rows: BinnedRows,
    in_bag: NDArray[np.uint8],
    y: Floats,
    options: ForestOptions,
    n_threads: int,
) -> OutOfBag:
    forest, losses, ranks = fitted.model.forest, None, None
    sums, votes = forest.out_of_bag_votes(rows, in_bag, n_threads)
    means = np.full_like(sums, np.nan)
    np.divide(sums, votes[:, np.newaxis], out=means, where=(votes > 0)[:, np.newaxis])
    if options.n_classes is not None:
        blocks = forest.losses(rows, y.astype(np.int64), STEPS, n_threads, in_bag)
        losses = PairLosses.of(blocks, forest.n_trees, options.n_classes, n_threads=n_threads)
    if fitted.leaf_targets is not None:
        ranks = fitted.leaf_targets.ranks(forest, rows, in_bag, y.ravel(), n_threads)
    return OutOfBag(means, votes, losses, ranks)


class _Growth:
    """The trees of a fit in progress."""

    def __init__(
        self,
        data: Dataset,
        tree_weight: Floats | None,
        options: ForestOptions,
        binned: BinnedTable,
        sampler: TreeSampler,
        previous: FittedForest | None,
    ) -> None:
        self._data, self._tree_weight, self._options = data, tree_weight, options
        self._binned, self._sampler, self._previous = binned, sampler, previous
        self._n_previous = 0 if previous is None else previous.model.forest.n_trees
        self._trees: list[VotingTree] = []

    def grow(self, run: FitOptions) -> None:
        """Grow the trees; fewer after an interrupt."""
        task, numbers = self._task(run.seed), range(self._n_previous, run.n_rounds)
        rule = IndependentMembers(self._trees)
        grower = run.backend(self._data.table).forest_grower(task, numbers, run.n_threads)
        try:
            run_rounds(
                rule, grower, run, self._n_previous,
                has_evaluation_sets=False, snapshot=lambda *_: self.result(),
            )  # fmt: skip
        finally:
            self._trees.extend(grower.close())
        if not self._trees and not self._n_previous:
            raise KeyboardInterrupt  # before the first tree: there is no model

    def _task(self, seed: int) -> TreeTask:
        options, binned, n_draws = self._options, self._binned, self._sampler.draws.n_draws
        target = self._target()
        grower = DeepGrower(
            binned, target, options.tree_options(n_draws, binned.n_columns), options.directions, n_draws,
            seed, class_factors=options.balance_trees,
            keep_rows=options.keep_targets and target.n_outputs == 1,
        )  # fmt: skip
        return TreeTask(grower, self._sampler, options.balance_trees)

    def _target(self) -> DeepTarget:
        """Return the targets as integers."""
        y, weight, options, draws = self._data.y, self._tree_weight, self._options, self._sampler.draws
        if options.n_classes is not None:
            bits = _ROW_WEIGHT_BITS if options.balance_trees else WEIGHT_BITS
            return DeepTarget.of_classes(y.astype(np.int64), options.n_classes, weight, draws.n_draws, bits)
        columns, rows = y.reshape(len(y), -1), draws.pool.order
        centre = np.zeros(columns.shape[1])
        if options.criterion == "squared_error":
            counts = (self._sampler.copies if weight is None else weight)[rows].astype(np.float64)
            centre = np.array([weighted_mean(column[rows], counts) for column in columns.T])
        return DeepTarget.of_numbers(columns, centre, rows, draws.n_draws, weight)

    def result(self) -> FittedForest:
        """Return the forest of the trees so far."""
        previous, trees = self._previous, self._trees
        if previous is not None and not trees:
            forest = previous.model.forest
        else:
            forest = VoteForest.of(trees, self._options.n_classes or 0)
            if previous is not None:
                forest = VoteForest.join(previous.model.forest, forest)
        return FittedForest(ForestModel(self._binned.bins, forest), self._sampler, self._leaf_targets(forest))

    def _leaf_targets(self, forest: VoteForest) -> LeafTargets | None:
        previous = None if self._previous is None else self._previous.leaf_targets
        if not self._options.keep_targets or forest.n_outputs > 1 or (self._n_previous and previous is None):
            return None
        if not self._trees:
            return previous
        added = LeafTargets.of(
            self._trees,
            self._data.y.ravel(),
            lambda tree: self._sampler.counts(self._n_previous + tree),
            self._tree_weight,
        )
        return added if previous is None else LeafTargets.join(previous, added)


def _code_keys(table: BinnedTable, y: Floats, team: Team) -> Keys:
    """Return a hash of the codes and the target of every row: rows equal for every tree have equal keys."""
    keys = np.zeros(table.n_rows, np.uint64)
    add_keys(value_bits(y.reshape(table.n_rows, -1)), table.n_columns, keys)
    by_column = table.codes.by_column
    team.over_rows(table.n_rows, lambda a, b: add_code_keys(by_column, keys, a, b))
    return keys


def _check_same(binned: BinnedTable, sampler: TreeSampler, previous: FittedForest) -> None:
    """Raise ValueError if the previous forest has other rows or options."""
    bins, old = binned.bins, previous.model.bins
    same_bins = all(
        np.array_equal(getattr(bins, name), getattr(old, name))
        for name in ("edges", "edge_starts", "tables", "table_starts", "user_defined")
    )
    if not (same_bins and sampler.same_as(previous.sampler)):
        raise ValueError(
            "warm_start=True needs the same X, y and sample_weight and the same max_samples, bootstrap, "
            "max_bins and bin_edges; at least one of these has changed since the last fit. Set "
            "warm_start=False to start again"
        )
