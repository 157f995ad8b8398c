"""Rows in shards: in this process, read from files, or on the workers of a cluster.

Where the loss is a sum over rows and its hessian gives the leaf values, each shard computes the gradients,
statistics and scores of its rows; this process receives sums and grows the trees (`ShardTrainingRows`). Some
fits need many rows at once, or sums of scores that follow from more than the trees (`is_central`): their
targets, scores and gradients are in this process, which sends statistics to the shards and receives the leaf
of every row, one byte each.

If a machine is lost, its shards are created again with their codes and targets and receive the model so far,
and the call is repeated. Codes of target statistics are computed in this process and sent as the targets are.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, RowNumbers
from hedgerow.backends.base import (
    EvaluationRows,
    ForestGrower,
    TrainingRows,
    TreeFit,
    TreeRound,
    WeakRows,
)
from hedgerow.backends.cpu import TrainingScores, Trees, TreeScores
from hedgerow.backends.restorable_shards import (
    RestorableShards,
    evaluation_shards,
    is_central,
    training_shards,
)
from hedgerow.binning import Bins
from hedgerow.growing.deep import ForestTask, ThreadedTreeGrower
from hedgerow.growing.gradient_shard import EVALUATED, TRAINING
from hedgerow.growing.grower import NOT_FINITE, GrownTree, RowStatistics
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
        shards = training_shards(fit, train)
        with _closed_on_error(shards):
            shards.restore()
            if is_central(fit.options):
                return _central_rows(fit, train, shards)
            return ShardTrainingRows(fit, train, shards)

    def evaluation_rows(self, fit: TreeFit, rows: Dataset) -> EvaluationRows:
        """Create the shards of an evaluation set."""
        shards = evaluation_shards(fit, rows)
        with _closed_on_error(shards):
            shards.restore()
            if fit.options.drop_rate:
                return _central_evaluation(fit, rows, shards)
        return ShardEvaluationRows(shards, fit.options.loss, total_weight(rows.y, rows.sample_weight))


@contextmanager
def _closed_on_error(shards: RestorableShards) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shards.shards.close()
        raise


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
                call(
                    "add_tree",
                    tree % self._loss.n_outputs,
                    nodes,
                    fitted.terms[tree] if fitted.terms else None,
                )
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
        trees: list[GrownTree] | None = self._shards.retry(lambda: self._shards.grower.grow(iteration))
        if trees is None:
            raise FloatingPointError(NOT_FINITE)
        terms = [tree.terms for tree in trees if tree.terms is not None]
        return TreeRound([tree.nodes for tree in trees], sum(len(tree.leaves) for tree in trees), terms=terms)

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


def _validation_weight(fit: TreeFit, train: Dataset) -> Floats | None:
    rows = fit.options.validation_rows
    return None if train.sample_weight is None or rows is None else train.sample_weight[rows]


def _central_rows(fit: TreeFit, train: Dataset, shards: RestorableShards) -> _CentralScores:
    loss, chosen = fit.options.loss, fit.options.validation_rows
    raw = shards.pop_scores()
    linear = None if fit.options.linear_l2 is None else _CentralLinearRows(shards)
    rows = TreeScores(loss, train.y, fit.loss_weight, raw, _make_add_trees(shards, None), linear)
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


class _CentralLinearRows:
    """Adds trees with linear leaves to scores in this process; shards compute the functions."""

    def __init__(self, shards: RestorableShards) -> None:
        self._shards = shards

    def add_round(self, fitted: TreeRound, raw: Floats) -> None:
        """Add the trees of a round to scores (outputs, rows)."""
        call = self._shards.shards.call
        for tree, (nodes, terms) in enumerate(zip(fitted.trees, fitted.terms, strict=True)):
            scores, _ = self._shards.retry(partial(call, "linear_scores", nodes, terms))
            raw[tree % len(raw)] += np.concatenate(scores)


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
        grown: GrownTree = self._shards.grower.grow_tree(rules, tree // self._n_outputs, statistics)
        return grown, np.concatenate(shards.call("leaf_ids", grown.nodes)[0])


def _rows_within(rows: RowNumbers, start: int, stop: int) -> RowNumbers:
    """Return the rows of [start, stop), counted from `start`; `rows` are in ascending order."""
    a, b = np.searchsorted(rows, [start, stop]).tolist()
    return rows[a:b] - np.uint32(start)
