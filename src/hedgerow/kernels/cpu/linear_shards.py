"""Linear functions of leaves whose rows are in shards; the steps of `linear.fit_leaves`.

    columns     start_columns    from the nodes
    ranges      find_leaf_ranges   in every shard; the smallest and largest of all shards
    varying     keep_columns
    steps       sum_leaves       in every shard; added up
    middles     middle_columns
    products    sum_leaves       in every shard; added up
    terms       solve_leaves

Sums of shards are exact integers in three words, of which the first two are made smaller than 2**31 before
they are added up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.linear import (
    MAX_TERMS,
    LeafColumns,
    carry,
    find_parents,
    find_ranges,
    keep_varying,
    path_columns,
    set_middles,
    solve_leaf,
    sum_products,
    sum_steps,
    value_at,
)


class TreeColumns(NamedTuple):
    """The columns of every leaf, (leaves, MAX_TERMS), of which counts[leaf] are used; see `LeafColumns`."""

    counts: Integers
    column: Integers
    lower: Floats
    upper: Floats
    scale: Floats
    middle: Integers


class LeafRuns(NamedTuple):
    """The rows of a shard in every leaf: rows[starts[leaf]:stops[leaf]]."""

    rows: NDArray[np.uint32]
    starts: Integers
    stops: Integers


@kernel
def _own(columns, leaf):
    """Return the columns of a leaf."""
    return LeafColumns(
        columns.column[leaf],
        columns.lower[leaf],
        columns.upper[leaf],
        columns.scale[leaf],
        columns.middle[leaf],
    )


# --- in every shard


@kernel
def find_leaf_ranges(block, runs, columns):
    """Set columns.lower and columns.upper to the ranges of the rows of a shard."""
    for leaf in range(columns.counts.shape[0]):
        rows = runs.rows[runs.starts[leaf] : runs.stops[leaf]]
        find_ranges(block, rows, _own(columns, leaf), columns.counts[leaf])


@kernel
def sum_leaves(block, runs, statistics, columns, words):
    """Write the sums of `sum_products` of every leaf, (leaves, entries, 3); of `sum_steps` if 2 a column."""
    for leaf in range(columns.counts.shape[0]):
        rows, n = runs.rows[runs.starts[leaf] : runs.stops[leaf]], columns.counts[leaf]
        own = _own(columns, leaf)
        if words.shape[1] == 2 * MAX_TERMS:
            sum_steps(block, rows, statistics, own, n, words[leaf])
        else:
            sum_products(block, rows, statistics, own, n, words[leaf])
        carry(words[leaf], 0)
        carry(words[leaf], 1)


@kernel
def add_linear_leaves(block, values, terms, rows, leaf_ids, out):
    """out[rows[i]] += function of leaf leaf_ids[i] of a tree; values : of its nodes."""
    for i in range(rows.shape[0]):
        row, leaf = np.uintp(rows[i]), np.int64(leaf_ids[i])
        out[row] += value_at(block, row, leaf, values[leaf], terms)


# --- in the process that grows the trees


@kernel
def start_columns(nodes, leaves, rules, columns):
    """Set columns.counts and columns.column to the columns on the paths of the leaves."""
    parents = np.empty(nodes.shape[0], np.int64)
    find_parents(nodes, parents)
    for leaf in range(leaves.shape[0]):
        number = leaves[leaf]
        most = min(nodes[number].count // rules.rows_per_term, MAX_TERMS)
        columns.counts[leaf] = path_columns(nodes, parents, number, rules.usable, most, columns.column[leaf])


@kernel
def keep_columns(columns):
    """Keep the columns that vary."""
    for leaf in range(columns.counts.shape[0]):
        columns.counts[leaf] = keep_varying(_own(columns, leaf), columns.counts[leaf])


@kernel
def middle_columns(columns, words):
    """Set columns.middle from the sums of `sum_steps`."""
    for leaf in range(columns.counts.shape[0]):
        set_middles(_own(columns, leaf), columns.counts[leaf], words[leaf])


@kernel
def solve_leaves(columns, words, rules, terms):
    """Write the terms of all leaves from the sums of `sum_products`."""
    for leaf in range(columns.counts.shape[0]):
        terms.counts[leaf] = 0
        if columns.counts[leaf] > 0:
            solve_leaf(leaf, _own(columns, leaf), columns.counts[leaf], words[leaf], rules, terms)
