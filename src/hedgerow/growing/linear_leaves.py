"""Linear functions of the leaves of trees whose rows are in shards.

They take three calls of the shards for each tree: the ranges of the columns, and sums for their means and for
the normal equations, of all leaves at once. See `hedgerow.kernels.cpu.linear_shards`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.binning import Bins
from hedgerow.growing.grower import GrownTree, RowStatistics
from hedgerow.growing.shards import ShardedRows
from hedgerow.kernels.cpu.linear import MAX_TERMS, N_SUMS, LeafTerms, LinearRules
from hedgerow.kernels.cpu.linear_shards import (
    TreeColumns,
    keep_columns,
    middle_columns,
    solve_leaves,
    start_columns,
)
from hedgerow.linear_terms import LinearTerms

_ROWS_PER_TERM = 5  # a leaf of fewer rows for each column has fewer columns
N_STEP_SUMS = 2 * MAX_TERMS


class ShardedLinearLeaves:
    """Fits the linear functions of trees that were grown on shards of type `GradientShard`.

    Parameters
    ----------
    bins : Bins
        Of the table; categorical columns have no terms.
    l2 : float
    rate : callable
        Returns the learning rate of a round.
    """

    def __init__(self, bins: Bins, l2: float, rate: Callable[[int], float]) -> None:
        self._usable, self._l2, self.rate = (bins.categorical == 0).astype(np.uint8), l2, rate

    def fit(
        self, shards: ShardedRows, grown: GrownTree, identifiers: Integers, statistics: RowStatistics
    ) -> None:
        """Set the terms of the tree whose rows the shards have; identifiers : of its nodes in the shards."""
        rules = linear_rules(self._usable, self._l2, statistics)
        leaves, own = grown.leaves, identifiers[grown.leaves]
        columns, terms = _allocate_columns(len(leaves)), allocate_terms(len(leaves))
        start_columns(grown.nodes, leaves, rules, columns)
        if columns.counts.any():
            ranges, _ = shards.call("linear_ranges", own, columns)
            _join_ranges(ranges, columns)
            keep_columns(columns)
        if columns.counts.any():
            _, (words,) = shards.call("linear_sums", own, columns, N_STEP_SUMS)
            middle_columns(columns, words)
            _, (words,) = shards.call("linear_sums", own, columns, N_SUMS)
            solve_leaves(columns, words, rules, terms)
        set_terms(grown, terms)


def _join_ranges(ranges: Sequence[tuple[Floats, Floats]], columns: TreeColumns) -> None:
    """Set the ranges of all rows; of 0.0 and -0.0 the first is kept, as `linear.find_ranges` does."""
    columns.lower[:], columns.upper[:] = np.inf, -np.inf
    for lower, upper in ranges:
        np.copyto(columns.lower, lower, where=lower < columns.lower)
        np.copyto(columns.upper, upper, where=upper > columns.upper)


def _allocate_columns(n_leaves: int) -> TreeColumns:
    shape = (n_leaves, MAX_TERMS)
    lower, upper, scale = (np.zeros(shape) for _ in range(3))
    counts, column, middle = (
        np.zeros(n_leaves, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
    )
    return TreeColumns(counts, column, lower, upper, scale, middle)


# --- in memory and in shards


def linear_rules(usable: NDArray[np.uint8], l2: float, statistics: RowStatistics) -> LinearRules:
    """Return the rules of a tree. usable : 1 for every numeric column."""
    unit = statistics.gradient_unit / statistics.hessian_unit
    return LinearRules(usable, l2 / statistics.hessian_unit, unit, _ROWS_PER_TERM)


def allocate_terms(n_leaves: int) -> LeafTerms:
    """Allocate the terms of the leaves of a tree."""
    shape = (n_leaves, MAX_TERMS)
    return LeafTerms(
        np.zeros(n_leaves, np.int32),
        np.zeros(shape, np.int32),
        *(np.zeros(shape) for _ in range(4)),
    )


def set_terms(grown: GrownTree, terms: LeafTerms) -> None:
    """Set the terms of a tree; leaves that have the value of a node above, in symmetric trees, have none."""
    if grown.value_nodes is not None:
        terms.counts[grown.value_nodes[grown.leaves] != grown.leaves] = 0
    grown.terms = _by_node(terms, grown.leaves, len(grown.nodes))


def _by_node(terms: LeafTerms, leaves: Integers, n_nodes: int) -> LinearTerms:
    """Return the terms in the order of the nodes."""
    counts = np.zeros(n_nodes, np.int32)
    counts[leaves] = terms.counts
    order = np.argsort(leaves)
    used = np.arange(MAX_TERMS) < terms.counts[order][:, np.newaxis]
    numbers = [array[order][used] for array in (terms.slope, terms.mean, terms.lower, terms.upper)]
    return LinearTerms(counts, terms.column[order][used], *numbers)
