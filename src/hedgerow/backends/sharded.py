"""Rows in shards: in this process, read from files, or on the workers of a cluster.

Where the loss is a sum over rows and its hessian gives the leaf values, each shard computes the gradients,
statistics and scores of its rows; this process receives sums and grows the trees (`ShardTrainingRows`). Some
fits need many rows at once, or sums of scores that follow from more than the trees (`is_central`): their
targets, scores and gradients are in this process, which sends statistics to the shards and receives the leaf
of every row, one byte each.

If a machine is lost, its shards are created again with their codes and targets and receive the model so far,
and the call is repeated. Codes of target statistics are computed in this process and sent as the targets are.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.backends.base import (
    BoostingOptions,
    EvaluationRows,
    ForestGrower,
    TrainingRows,
    TreeFit,
    TreeRound,
    WeakRows,
)
from hedgerow.backends.cpu import TrainingScores, Trees, TreeScores
from hedgerow.backends.row_sampling import bayesian_factors
from hedgerow.backends.target_statistics import SetSplits
from hedgerow.binning import Bins
from hedgerow.forest import Forest
from hedgerow.growing.deep import ForestTask, ThreadedTreeGrower
from hedgerow.growing.gradient_shard import EVALUATED, TRAINING, GradientShardFactory
from hedgerow.growing.grower import NOT_FINITE, GrownTree, RowStatistics, packed_block_rows
from hedgerow.growing.sharded_grower import RoundGrower
from hedgerow.growing.shards import ShardedRows, ShardFailureCounter, ShardsLost
from hedgerow.growing.weak_shards import ShardedWeakRows
from hedgerow.kernels.cpu.records import Rules
from hedgerow.losses import Loss
from hedgerow.losses.base import total_weight
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import Dataset, Table
from hedgerow.threads import Team

Result = TypeVar("Result")

_NO_ROWS = np.empty(0, np.uint32)


class ShardedBackend:
    """The backend for remote tables.

    cluster : client and settings of the Dask cluster that holds the rows; None for rows in files
    """

    concurrent_fits = False  # shards have threads of their own

    def __init__(self, cluster: tuple[Any, Any] | None = None) -> None:
        self._cluster = cluster

    def weak_rows(self, table: Table, bins: Bins, team: Team) -> WeakRows:
        """Create the shards of rows for weak trees."""
        assert isinstance(table, RemoteTable)  # noqa: S101 - this backend is for remote tables
        return ShardedWeakRows(table, bins, team)

    def forest_grower(self, task: ForestTask, numbers: range, n_threads: int) -> ForestGrower:
        """Have the workers grow the trees of a forest, or threads of this process, which has all codes."""
        if self._cluster is None or not numbers:
            return ThreadedTreeGrower(task, numbers, n_threads)
        from hedgerow.backends.dask_forest import DaskTreeGrower  # noqa: PLC0415 - loads Dask

        return DaskTreeGrower(task, numbers, *self._cluster)

    def training_rows(self, fits: Sequence[TreeFit], train: Dataset) -> list[TrainingRows]:
        """Create the shards of the training rows, separate ones for each fit; rows are encoded once."""
        rows: list[TrainingRows] = []
        table = train.table
        assert isinstance(table, RemoteTable)  # noqa: S101 - this backend is for remote tables
        try:
            with table.shared_codes() if len(fits) > 1 else nullcontext():
                for fit in fits:
                    dataset = train if fit is fits[-1] else replace(train)  # the last may release the targets
                    rows.append(self._training_rows(fit, dataset))
        except BaseException:
            for created in rows:
                created.close()
            raise
        return rows

    def _training_rows(self, fit: TreeFit, train: Dataset) -> TrainingRows:
        shards = _training_shards(fit, train)
        with _closed_on_error(shards):
            shards.restore()
            if is_central(fit.options):
                return _central_rows(fit, train, shards)
            return ShardTrainingRows(fit, train, shards)

    def evaluation_rows(self, fit: TreeFit, rows: Dataset) -> EvaluationRows:
        """Create the shards of an evaluation set."""
        arrays = {"y": _narrow(rows.y), "role": np.full(len(rows.y), EVALUATED, np.uint8)}
        if rows.sample_weight is not None:
            arrays["weight"] = rows.sample_weight
        shards = RestorableShards(_make_shards(fit, rows, arrays, _shard_factory(fit, rows)), fit, _NO_ROWS)
        with _closed_on_error(shards):
            shards.restore()
            if fit.options.drop_rate:
                return _central_evaluation(fit, rows, shards)
        return ShardEvaluationRows(shards, fit.options.loss, total_weight(rows.y, rows.sample_weight))


@contextmanager
def _closed_on_error(shards: "RestorableShards") -> Iterator[None]:
    try:
        yield
    except BaseException:
        shards.shards.close()
        raise


def is_central(options: BoostingOptions) -> bool:
    """Return whether targets, scores and gradients of rows in shards are in this process.

    So they are where the loss, the draw of rows by their gradients, or leaf values by fold need many rows at
    once. With dropped rounds, scores depend on the order in which trees were added and removed: no lost shard
    could repeat it.
    """
    loss = options.loss
    is_sum = loss.splittable and not loss.requires_line_search and type(loss).prepare is Loss.prepare
    samples_rows = options.sampling == "gradient" or options.leaf_value_folds is not None
    return not (is_sum and options.newton) or samples_rows or bool(options.drop_rate)


# --- shards that are created again after a loss


class RestorableShards:
    """Shards, and what is needed to restore their scores.

    Parameters
    ----------
    shards : ShardedRows
    fit : TreeFit
    training : uint32 rows that trees are grown on, in ascending order; None for all
    make_grower : callable, optional
        Creates the grower for the shards.
    set_splits : SetSplits, optional
        Converts the splits of columns that are coded by target statistics.
    """

    keeps_scores = True  # False once this process has taken the scores

    def __init__(
        self,
        shards: ShardedRows,
        fit: TreeFit,
        training: RowNumbers | None,
        make_grower: Callable[[ShardedRows], RoundGrower] | None = None,
        set_splits: SetSplits | None = None,
    ) -> None:
        self.shards, self._fit, self._training, self._make_grower = shards, fit, training, make_grower
        self.set_splits = set_splits
        self._failures = ShardFailureCounter()
        self.grower: Any = None  # created by `restore`

    def restore(self) -> None:
        """Set the scores of all shards to those of the trees so far, and create a new grower."""
        start, forest = self._fit.start, self._fit.forest()
        if not self.keeps_scores:
            start, forest = start[:0], Forest.of([], [])
        while True:
            try:
                firsts = np.array([first for first, _ in self.shards.bounds])
                n_before = firsts if self._training is None else np.searchsorted(self._training, firsts)
                self.shards.call_each(
                    "restore_scores", [(start, forest, number) for number in n_before.tolist()]
                )
                self.grower = None if self._make_grower is None else self._make_grower(self.shards)
            except ShardsLost:
                self._failures.count()
                continue
            return

    def retry(self, call: Callable[[], Result]) -> Result:
        """Call a function of the shards; repeat the call if some were lost during it."""
        return self._failures.retry(call, self.restore)

    def update(self, call: Callable[[], Any]) -> None:
        """Call a function that adds trees of the ensemble to scores; after a loss, restore them instead."""
        try:
            call()
        except ShardsLost:
            self.restore()  # the ensemble already contains the trees

    def pop_scores(self) -> Floats:
        """Return the scores of all rows, (outputs, rows), and release those of the shards."""
        raw = np.concatenate(self.retry(lambda: self.shards.call("pop_scores"))[0], axis=1)
        self.keeps_scores = False
        return raw

    def mean_loss(self, loss: Loss, role: int, total: float) -> float:
        """Return the weighted mean of the loss of the rows with a role."""
        sums, _ = self.retry(lambda: self.shards.call("loss_sums", loss, role))
        return math.fsum(value for shard in sums for value in shard) / total


def _shard_factory(fit: TreeFit, rows: Dataset) -> GradientShardFactory:
    options, table = fit.options, rows.table
    low_memory = isinstance(table, RemoteTable) and table.low_memory
    return GradientShardFactory(fit.bins, options.loss, options.seed, options.subsample, low_memory)


def _make_shards(
    fit: TreeFit, rows: Dataset, arrays: dict[str, NDArray[Any]], factory: GradientShardFactory
) -> Any:
    table = rows.table
    assert isinstance(table, RemoteTable)  # noqa: S101 - this backend is for remote tables
    return table.make_shards(factory, fit.bins, arrays, fit.options.n_threads)


def _training_shards(fit: TreeFit, train: Dataset) -> RestorableShards:
    """Create the shards of the training rows."""
    options, weights, n = fit.options, fit.weights, train.table.n_rows
    copies, n_training = weights.copies, len(weights.rows)
    arrays: dict[str, NDArray[Any]] = {"y": _narrow(train.y)}
    if copies.size:
        arrays["copies"] = copies
    elif weights.weight.size:
        arrays["weight"] = weights.weight
    if n_training < n:
        roles = np.zeros(n, np.uint8)
        roles[weights.rows] = TRAINING
        if options.validation_rows is not None:
            roles[options.validation_rows] = EVALUATED
        arrays["role"] = roles
    factory, set_splits, finish_tree = _shard_factory(fit, train), None, options.shrink
    if fit.statistics is not None:
        bins, replaced, arrays["codes"], set_splits = fit.statistics.encode_rows(
            fit.bins, weights, options.seed
        )
        factory = replace(factory, bins=bins, replaced=replaced)
        finish_tree = partial(_finish_tree, options, set_splits)
        fit.statistics = None  # a number per row and column, which no fit uses any more
    if options.sampling == "bayesian" and not is_central(options):
        temperature = options.bagging_temperature
        factory = replace(factory, row_factors=partial(bayesian_factors, options.seed, temperature))
    make_grower = partial(
        RoundGrower, factory.bins, options.growth,
        n_rows=n_training, n_copies=int(copies.sum()) if copies.size else n_training,
        packed_block_rows=packed_block_rows(copies), n_outputs=options.loss.n_outputs, shrink=finish_tree,
    )  # fmt: skip
    shards = _make_shards(fit, train, arrays, factory)
    rows = weights.rows if n_training < n else None
    return RestorableShards(shards, fit, rows, make_grower, set_splits)


def _finish_tree(
    options: BoostingOptions,
    set_splits: SetSplits,
    nodes: NDArray[np.void],
    iteration: int,
    value_nodes: Integers | None,
) -> None:
    options.shrink(nodes, iteration, value_nodes)
    set_splits.convert(nodes)


def _validation_weight(fit: TreeFit, train: Dataset) -> Floats | None:
    rows = fit.options.validation_rows
    return None if train.sample_weight is None or rows is None else train.sample_weight[rows]


def _narrow(y: Floats) -> NDArray[Any]:
    """Return class numbers as uint8, other numbers unchanged."""
    if y.min(initial=0.0) < 0 or y.max(initial=0.0) > np.iinfo(np.uint8).max:
        return y
    narrow = y.astype(np.uint8)
    return narrow if np.array_equal(narrow, y) else y


# --- scores in the shards


class ShardEvaluationRows:
    """Rows whose scores are in shards.

    Parameters
    ----------
    shards : RestorableShards
    loss : Loss
    total : float
        The sum of the weights.
    """

    def __init__(self, shards: RestorableShards, loss: Loss, total: float) -> None:
        self._shards, self._loss, self._total = shards, loss, total

    def update(self, fitted: TreeRound) -> None:
        """Add the trees of a round to the scores."""
        call = self._shards.shards.call
        self._shards.update(
            lambda: [
                call("add_tree", tree % self._loss.n_outputs, nodes)
                for tree, nodes in enumerate(fitted.trees)
            ]
        )

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        return self._shards.mean_loss(self._loss, EVALUATED, self._total)

    def close(self) -> None:
        """Release the shards."""
        self._shards.shards.close()


class ShardTrainingRows(ShardEvaluationRows):
    """Training rows whose scores, gradients and statistics are in shards."""

    def __init__(self, fit: TreeFit, train: Dataset, shards: RestorableShards) -> None:
        options = fit.options
        super().__init__(shards, options.loss, total_weight(train.y, fit.loss_weight))
        fit.weights = replace(fit.weights, rows=_NO_ROWS)  # four bytes per row, which the shards have
        self.validation: EvaluationRows | None = None
        if options.validation_rows is not None:
            total = total_weight(train.y[options.validation_rows], _validation_weight(fit, train))
            self.validation = ShardEvaluationRows(self._shards, options.loss, total)
        train.y = np.empty(0)  # eight bytes per row, which the shards have

    def gradients(self) -> None:
        """Do nothing: the shards compute them when the trees are grown."""

    def fit(self, gradients: None, iteration: int) -> TreeRound:
        """Grow the trees of a round."""
        trees = self._shards.retry(lambda: self._shards.grower.grow(iteration))
        if trees is None:
            raise FloatingPointError(NOT_FINITE)
        return TreeRound(trees, sum((len(nodes) + 1) // 2 for nodes in trees))

    def update(self, fitted: TreeRound) -> None:
        """Do nothing: the leaf values are sent with the next call, or by `mean_loss`."""

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        self._shards.update(self._shards.grower.send_leaf_values)
        return self._shards.mean_loss(self._loss, TRAINING, self._total)


# --- scores in this process, codes in the shards


class _CentralEvaluation(TreeScores):
    """An evaluation set whose codes alone are in shards."""

    shards: RestorableShards

    def close(self) -> None:
        """Release the shards."""
        self.shards.shards.close()


def _central_evaluation(fit: TreeFit, rows: Dataset, shards: RestorableShards) -> _CentralEvaluation:
    add_trees = _make_add_trees(shards, None)
    central = _CentralEvaluation(fit.options.loss, rows.y, rows.sample_weight, shards.pop_scores(), add_trees)
    central.shards = shards
    return central


class _CentralScores(TrainingScores):
    """Training rows whose codes alone are in shards."""

    shards: RestorableShards

    def close(self) -> None:
        """Release the shards."""
        self.shards.shards.close()


def _central_rows(fit: TreeFit, train: Dataset, shards: RestorableShards) -> _CentralScores:
    loss, chosen = fit.options.loss, fit.options.validation_rows
    raw = shards.pop_scores()
    rows = TreeScores(loss, train.y, fit.loss_weight, raw, _make_add_trees(shards, None))
    validation = None
    if chosen is not None:
        weight, add_trees = _validation_weight(fit, train), _make_add_trees(shards, chosen)
        raw = np.ascontiguousarray(raw[:, chosen])
        validation = TreeScores(loss, train.y[chosen], weight, raw, add_trees)
    central = _CentralScores(fit, rows, validation, _CentralGrower(shards, fit), shards.set_splits)
    central.shards = shards
    return central


def _make_add_trees(shards: RestorableShards, rows: RowNumbers | None) -> Callable[[Trees, Floats], None]:
    """Return a function that adds the leaf values of trees to the scores of rows; None for all rows."""

    def add_trees(trees: Trees, raw: Floats) -> None:
        for tree, nodes in enumerate(trees):
            shard_leaf_ids, _ = shards.retry(partial(shards.shards.call, "leaf_ids", nodes))
            leaf_ids = np.concatenate(shard_leaf_ids)
            raw[tree % len(raw)] += nodes["value"][leaf_ids if rows is None else leaf_ids[rows]]

    return add_trees


class _CentralGrower:
    """Grows trees on sharded codes from statistics in this process."""

    def __init__(self, shards: RestorableShards, fit: TreeFit) -> None:
        self._shards, self._options = shards, fit.options.growth
        self._n_columns, self._n_outputs = fit.bins.n_columns, fit.options.loss.n_outputs
        self._sends_rows = fit.options.sampling == "gradient"

    def grow(self, statistics: RowStatistics, rows: RowNumbers, tree: int) -> GrownTree:
        """Grow tree number `tree` on some rows, which the shards draw themselves unless gradients decide."""
        rules = self._options.for_tree(statistics, np.arange(self._n_columns), tree)
        drawn = rows if self._sends_rows else None
        grown, leaf_ids = self._shards.retry(lambda: self._grow(statistics, drawn, rules, tree))
        rank = np.empty(len(grown.nodes), np.int64)
        rank[grown.leaves] = np.arange(len(grown.leaves))
        grown.rows = rows[np.argsort(rank[leaf_ids[rows]], kind="stable")]
        return grown

    def _grow(
        self, statistics: RowStatistics, drawn: RowNumbers | None, rules: Rules, tree: int
    ) -> tuple[GrownTree, NDArray[Any]]:
        shards, own = self._shards.shards, statistics.statistics
        of_shards = [
            (own.packed[a:b], own.wide[a:b], None if drawn is None else _rows_within(drawn, a, b))
            for a, b in shards.bounds
        ]
        shards.call_each("set_statistics", of_shards)
        nodes = self._shards.grower.grow_tree(rules, tree // self._n_outputs)
        grown = GrownTree.of(nodes, _NO_ROWS, statistics.gradient_unit, statistics.hessian_unit)
        if self._options.symmetric:
            grown.set_value_nodes(rules)
        return grown, np.concatenate(shards.call("leaf_ids", grown.nodes)[0])


def _rows_within(rows: RowNumbers, start: int, stop: int) -> RowNumbers:
    """Return the rows of [start, stop), counted from `start`; `rows` are in ascending order."""
    a, b = np.searchsorted(rows, [start, stop]).tolist()
    return rows[a:b] - np.uint32(start)
