"""Shards of the rows of a fit that are created again after a machine was lost.

A shard has codes, and by default targets, weights and scores of its rows. Its state follows from these
arrays, which this process sends again, and from the trees so far. `training_shards` makes those of the
training rows, with a function that makes the grower; `evaluation_shards` makes those of an evaluation set.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.backends.base import BoostingOptions, TreeFit
from hedgerow.backends.row_sampling import bayesian_factors
from hedgerow.backends.target_statistics import SetSplits
from hedgerow.forest import Forest
from hedgerow.growing.gradient_shard import EVALUATED, TRAINING, GradientShardFactory
from hedgerow.growing.grower import packed_block_rows
from hedgerow.growing.linear_leaves import ShardedLinearLeaves
from hedgerow.growing.row_layout import RowLayout
from hedgerow.growing.sharded_grower import RoundGrower
from hedgerow.growing.shards import ShardedRows, ShardFailureCounter, ShardsLost
from hedgerow.losses import Loss
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import Dataset

Result = TypeVar("Result")

_NO_ROWS = np.empty(0, np.uint32)


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
    assert isinstance(table, RemoteTable)  # noqa: S101 - this backend is for remote tables
    layout = None if options.linear_l2 is None else RowLayout.with_values(fit.bins, table.dtype)
    return GradientShardFactory(
        fit.bins, options.loss, options.seed, options.subsample, table.low_memory, layout=layout
    )


def _make_shards(
    fit: TreeFit, rows: Dataset, arrays: dict[str, NDArray[Any]], factory: GradientShardFactory
) -> Any:
    table = rows.table
    assert isinstance(table, RemoteTable)  # noqa: S101 - this backend is for remote tables
    return table.make_shards(factory, fit.bins, arrays, fit.options.n_threads)


def training_shards(fit: TreeFit, train: Dataset) -> RestorableShards:
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
    linear = None
    if options.linear_l2 is not None:
        linear = ShardedLinearLeaves(fit.bins, options.linear_l2, options.rate)
    make_grower = partial(
        RoundGrower, factory.bins, options.growth,
        n_rows=n_training, n_copies=int(copies.sum()) if copies.size else n_training,
        packed_block_rows=packed_block_rows(copies), n_outputs=options.loss.n_outputs, shrink=finish_tree,
        linear=linear,
    )  # fmt: skip
    shards = _make_shards(fit, train, arrays, factory)
    rows = weights.rows if n_training < n else None
    return RestorableShards(shards, fit, rows, make_grower, set_splits)


def evaluation_shards(fit: TreeFit, rows: Dataset) -> RestorableShards:
    """Create the shards of an evaluation set."""
    arrays = {"y": _narrow(rows.y), "role": np.full(len(rows.y), EVALUATED, np.uint8)}
    if rows.sample_weight is not None:
        arrays["weight"] = rows.sample_weight
    return RestorableShards(_make_shards(fit, rows, arrays, _shard_factory(fit, rows)), fit, _NO_ROWS)


def _finish_tree(
    options: BoostingOptions,
    set_splits: SetSplits,
    nodes: NDArray[np.void],
    iteration: int,
    value_nodes: Integers | None,
) -> None:
    options.shrink(nodes, iteration, value_nodes)
    set_splits.convert(nodes)


def _narrow(y: Floats) -> NDArray[Any]:
    """Return class numbers as uint8, other numbers unchanged."""
    if y.min(initial=0.0) < 0 or y.max(initial=0.0) > np.iinfo(np.uint8).max:
        return y
    narrow = y.astype(np.uint8)
    return narrow if np.array_equal(narrow, y) else y
