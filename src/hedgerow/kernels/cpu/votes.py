"""What a forest of deep trees says: rows down the trees, and what they find in the leaves added up.

A node is one word, as in `forest`: left child, column, threshold, kind. Children are counted within the tree.
A leaf has a kind of its own, and in place of the child a number: a class, when all its rows had it, else,
from the number of classes on, a row of values. Rows take a step each in turn, so that the wait of one row for its
next node hides behind the others; those that have come to a leaf drop out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hedgerow.kernels.cpu.forest import BY_SET, CHILD_SHIFT, COLUMN_SHIFT, MOST_COLUMNS, THRESHOLD_SHIFT
from hedgerow.kernels.cpu.partition import in_set

LEAF = 3

_CHILD, _COLUMN, _THRESHOLD = (np.uint64(shift) for shift in (CHILD_SHIFT, COLUMN_SHIFT, THRESHOLD_SHIFT))
_COLUMN_MASK = np.uint64(MOST_COLUMNS - 1)
_KIND_MASK = np.uint64(3)
_ROWS_AT_ONCE = 1024


class VoteTrees(NamedTuple):
    """The forest as the kernels read it."""

    starts: NDArray[np.int64]  # (trees + 1,) nodes
    words: NDArray[np.uint64]  # (nodes,)
    value_starts: NDArray[np.int64]  # (trees + 1,) rows of values
    values: NDArray[np.float64]  # (rows, classes or outputs)
    set_starts: NDArray[np.int64]  # (trees + 1,)
    sets: NDArray[np.uint64]  # (sets, 4)
    set_number: NDArray[np.int32]  # (nodes,) within the tree, or empty
    n_pure: NDArray[np.int64]  # (1,) numbers of leaves that are classes


@njit(cache=True, nogil=True, error_model="numpy")
def pack_split(child, column, threshold, missing_left):
    """A numeric split: codes up to the threshold go left, and missing as told."""
    kind = np.uint64(0) if missing_left else np.uint64(1)
    word = (np.uint64(child) << _CHILD) | (np.uint64(column) << _COLUMN)
    return word | ((np.uint64(threshold) - kind) << _THRESHOLD) | kind


@njit(cache=True, nogil=True, error_model="numpy")
def pack_set(child, column):
    """A categorical split."""
    return (np.uint64(child) << _CHILD) | (np.uint64(column) << _COLUMN) | np.uint64(BY_SET)


@njit(cache=True, nogil=True, error_model="numpy")
def pack_leaf(number):
    """A leaf."""
    return (np.uint64(number) << _CHILD) | np.uint64(LEAF)


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(trees, tree, codes, top, active, at, n):
    """From the root to leaves with the rows top + active[:n]; at[i] is where row top + i ends."""
    words = trees.words[trees.starts[tree] : trees.starts[tree + 1]]
    has_sets = trees.set_number.shape[0] > 0
    for j in range(n):
        at[active[j]] = 0
    while n > 0:
        kept = 0
        for j in range(n):
            i = active[j]
            node = at[i]
            word = words[node]
            kind = np.uint16(word & _KIND_MASK)
            code = np.uint16(codes[top + i, np.intp((word >> _COLUMN) & _COLUMN_MASK)])
            right = np.int64(np.uint16(code - kind) > np.uint16(word >> _THRESHOLD))
            if has_sets and kind == BY_SET:
                number = trees.set_starts[tree] + trees.set_number[trees.starts[tree] + node]
                right = 1 - np.int64(in_set(trees.sets[number], np.int64(code)))
            inner = kind != LEAF
            at[i] = np.int64(word >> _CHILD) + right if inner else node
            active[kept] = i
            kept += inner
        n = kept


@njit(cache=True, nogil=True, error_model="numpy")
def add_votes(codes, trees, chosen, in_bag, first_row, out, n_votes):
    """out[row] += what the leaves of the trees chosen[0]..chosen[1] - 1 say, in the order of the trees.

    codes : uint8 (rows, stride). in_bag : uint8 (trees, bytes), a bit for every row of the table, of which
    codes[0] is row `first_row`: trees that know a row do not vote on it; or (0, 0) for all votes.
    out : float64 (rows, classes or outputs). n_votes : int64 (rows,) or empty.
    """
    n_rows, outputs = out.shape
    width = min(_ROWS_AT_ONCE, n_rows)
    at, active, asked = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    for top in range(0, n_rows, _ROWS_AT_ONCE):
        size = min(_ROWS_AT_ONCE, n_rows - top)
        for tree in range(chosen[0], chosen[1]):
            n = 0
            for i in range(size):
                row = first_row + top + i
                known = in_bag.shape[0] and (in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1)
                if not known:
                    active[n] = asked[n] = i
                    n += 1
            _descend(trees, tree, codes, top, active, at, n)
            start, first_value = trees.starts[tree], trees.value_starts[tree] - trees.n_pure[0]
            for j in range(n):
                i = asked[j]
                number = np.int64(trees.words[start + at[i]] >> _CHILD)
                if number < trees.n_pure[0]:
                    out[top + i, number] += 1.0
                else:
                    for k in range(outputs):
                        out[top + i, k] += trees.values[first_value + number, k]
                if n_votes.shape[0]:
                    n_votes[top + i] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def find_vote_leaves(codes, trees, out):
    """out[row, tree] = number, within its tree, of the leaf the row comes to."""
    n_rows = out.shape[0]
    width = min(_ROWS_AT_ONCE, n_rows)
    at, active = np.empty(width, np.int64), np.empty(width, np.int64)
    for top in range(0, n_rows, _ROWS_AT_ONCE):
        size = min(_ROWS_AT_ONCE, n_rows - top)
        for tree in range(out.shape[1]):
            for i in range(size):
                active[i] = i
            _descend(trees, tree, codes, top, active, at, size)
            for i in range(size):
                out[top + i, tree] = at[i]
