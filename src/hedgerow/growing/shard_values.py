"""ShardValues: the values of numeric columns of the rows of a shard, of which linear leaves are functions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.forest import Forest
from hedgerow.growing.row_layout import RowLayout
from hedgerow.kernels.cpu.linear import FlatTerms, add_linear_coded
from hedgerow.kernels.cpu.linear_shards import (
    LeafRuns,
    TreeColumns,
    add_linear_leaves,
    find_leaf_ranges,
    sum_leaves,
)
from hedgerow.kernels.cpu.records import Statistics
from hedgerow.linear_terms import LinearTerms


class ShardValues:
    """Values behind the codes of rows.

    Parameters
    ----------
    layout : RowLayout
    rows : uint8 (rows, stride)
    """

    def __init__(self, layout: RowLayout, rows: NDArray[Any]) -> None:
        self._values, self._positions = layout.values(rows), layout.positions

    def _flat(self, terms: LinearTerms) -> FlatTerms:
        """Return terms whose columns are those of the array of values."""
        flat = terms.flat()
        return flat._replace(column=self._positions[flat.column].astype(np.int32))

    def add_forest(self, forest: Forest, by_column: NDArray[Any], start: int, raw: Floats) -> None:
        """Add all trees to scores (outputs, rows) of the rows from `start` on, with codes by column."""
        block = self._values[start : start + by_column.shape[1]]
        terms = self._flat(forest.linear or LinearTerms.none(len(forest.left)))
        for tree, output in enumerate(forest.output.tolist()):
            add_linear_coded(by_column, block, forest.trees, terms, tree, 0, len(block), raw[output])

    def add_tree(
        self,
        nodes: NDArray[np.void],
        terms: LinearTerms,
        rows: RowNumbers,
        leaf_ids: NDArray[np.int32],
        raw: Floats,
    ) -> None:
        """Add a tree to the scores of some rows, whose leaves are known."""
        values = np.ascontiguousarray(nodes["value"])
        add_linear_leaves(self._values, values, self._flat(terms), rows, leaf_ids, raw)

    def ranges(self, runs: LeafRuns, columns: TreeColumns) -> tuple[Floats, Floats]:
        """Return the ranges of the columns in the leaves, each (leaves, MAX_TERMS)."""
        lower, upper = np.empty(columns.lower.shape), np.empty(columns.upper.shape)
        own = columns._replace(column=self._positions[columns.column], lower=lower, upper=upper)
        find_leaf_ranges(self._values, runs, own)
        return lower, upper

    def sums(self, runs: LeafRuns, columns: TreeColumns, statistics: Statistics, n_sums: int) -> Integers:
        """Return the sums of `linear_shards.sum_leaves`, (leaves, n_sums, 3)."""
        words = np.empty((len(columns.counts), n_sums, 3), np.int64)
        own = columns._replace(column=self._positions[columns.column])
        sum_leaves(self._values, runs, statistics, own, words)
        return words
