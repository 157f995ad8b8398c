"""Records and arrays that the growing kernels share.

A tree being grown is an array of NODE records; node 0 is the root and the two children of a split are
neighbours, so that a split stores only `left`. Everything else is in NamedTuples of plain arrays:
Codes (the data), Statistics (gradients and hessians), Rules (limits of splits) and Workspace
(memory that is reused from tree to tree).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers

SET_WORDS = 4  # a set of categories is 256 bits

# The best split found for a node or a column. `left_*` are sums over the rows that go left;
# `goes_left` is a set of codes for categorical columns and unused for numeric ones.
SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("left_gradient", np.int64),
        ("left_hessian", np.int64),
        ("column", np.int64),
        ("threshold", np.int64),  # numeric: codes <= threshold go left
        ("missing_left", np.int64),
        ("categorical", np.int64),
        ("goes_left", np.uint64, (SET_WORDS,)),
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("left", np.int64),  # number of the left child, the right one follows it; 0 in a leaf
        ("start", np.int64),  # the node's rows are rows[start:stop]
        ("stop", np.int64),
        ("count", np.int64),  # rows, each counted as often as its integer weight
        ("depth", np.int64),
        ("slot", np.int64),  # of its histogram in the pool, -1 without one
        ("gradient", np.int64),
        ("hessian", np.int64),
        ("lower", np.float64),  # bounds on the leaf value, from monotonic constraints
        ("upper", np.float64),
        ("value", np.float64),
        ("split", SPLIT),
    ],
    align=True,
)


class Codes(NamedTuple):
    """The binned table, as kernels read it."""

    by_row: NDArray[Any]  # (n, stride) stored columns, rows padded; for histograms
    by_column: NDArray[Any]  # (columns, n); for partitions
    offsets: Integers  # (columns + 1,) first histogram entry of a column; its entry 0 is "missing"
    n_bins: Integers  # (columns,) codes 1..n_bins are values
    categorical: NDArray[np.uint8]  # (columns,)
    stored_offsets: Integers  # (stored columns + 1,) the same for the columns as stored by row
    stored_entries: Integers  # (columns,) entry of code 0 among these; see hedgerow.binning.Bundles
    usual: Integers  # (columns,) the code that is not stored, -1 for none


class Statistics(NamedTuple):
    """Gradient and hessian of every row, as integers.

    Either `packed` (gradient * 2**32 + hessian, 16 bits each) or `wide` is used; the other is empty.
    """

    packed: Integers  # (n,) or (0,)
    wide: Integers  # (n, 2) or (0, 2)
    copies: Integers  # (n,) integer weights, or (0,): every row counts once
    packed_block_rows: int  # rows that may be added packed before the sum must be widened


class Rules(NamedTuple):
    """Limits and penalties of a tree, in units of the integer statistics."""

    columns: Integers  # the columns this tree may use, ascending
    stored: Integers  # the stored columns that hold them, ascending
    columns_per_node: int  # how many of them a node may use
    max_leaves: int
    max_depth: int
    min_count: int
    min_hessian: int  # at least 1, and min_count times the smallest hessian of a row
    min_gain: float
    l1: float
    l2: float
    smoothing: float  # added to the hessian of a category
    noise: float  # standard deviation of what is added to the square root of a gain
    monotonic: NDArray[np.int8]  # (columns,) or (0,)
    groups: NDArray[np.uint64]  # (columns, words) bit sets of interaction groups, or (0, 0)
    seed: int
    tree: int


class Frontier(NamedTuple):
    """The open nodes of the tree, managed by thread 0."""

    heap: Integers  # open nodes, best first
    priority: Floats  # (nodes,) by which open nodes are ordered: the score of the best split
    slots: Integers  # stack of free slots of the pool
    control: Integers  # decisions of thread 0 for the others, see kernels.cpu.frontier
    groups: NDArray[np.uint64]  # (nodes, words) interaction groups still open in a node
    found: NDArray[Any]  # (2, columns) SPLIT records: best split of each column for two nodes
    allowed: NDArray[np.uint8]  # (2, columns) which columns the two nodes may use
    chosen: Integers  # (columns,) for the random choice of columns


class Histograms(NamedTuple):
    """Sums by column and code."""

    pool: Integers  # (slots + 2, 2, entries) of open nodes; the last two are scratch
    packed: Integers  # (threads, stored entries)
    partial: Integers  # (threads, 2, stored entries)
    counts: Integers  # (entries,) exact counts of a column whose best split is too small
    used: Integers  # (threads,) whether a thread used its `partial`


class Search(NamedTuple):
    """Scratch memory of the search of a column."""

    sums: Integers  # (threads, 3, longest column) running sums of gradient, hessian, count
    gains: Floats  # (threads, longest column)
    order: Integers  # (threads, longest column) categories in order of their ratio


class Workspace(NamedTuple):
    """Memory of one fit, reused from tree to tree."""

    rows: NDArray[np.uint32]  # the rows in the tree, grouped by node
    buffer: NDArray[np.uint32]  # (2, n) left and right rows of the node being split
    lefts: Integers  # (2, threads) rows each thread sent left, and how many copies they count
    frontier: Frontier
    histograms: Histograms
    search: Search
