"""Prediction of a forest of deep trees: the values of the leaves of all trees are added up.

A node is one machine word, as in `forest`: left child, column, threshold, kind. Children are counted within
the tree. A leaf has its own kind, and a number instead of the child: a class, if all its rows have it, else,
from the number of classes on, a row of values. All rows of a block take each step together, so that the
latency of one row is overlapped by the others; rows in a leaf are removed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.forest import BY_SET, CHILD_SHIFT, COLUMN_SHIFT, MAX_COLUMNS, THRESHOLD_SHIFT
from hedgerow.kernels.cpu.jit import kernel, separate_kernel
from hedgerow.kernels.cpu.partition import in_set

LEAF = 3

_LEAF = np.uint64(LEAF)
_CHILD, _COLUMN, _THRESHOLD = (np.uint64(shift) for shift in (CHILD_SHIFT, COLUMN_SHIFT, THRESHOLD_SHIFT))
_COLUMN_MASK = np.uint64(MAX_COLUMNS - 1)
_KIND_MASK = np.uint64(3)
_ROWS_PER_BLOCK = 1024
_STEPS = 4


class VoteTrees(NamedTuple):
    """The forest as the kernels read it."""

    starts: Integers  # (trees + 1,) nodes
    packed_nodes: NDArray[np.uint64]  # (nodes,)
    value_starts: Integers  # (trees + 1,) rows of values
    values: Floats  # (rows, classes or outputs)
    set_starts: Integers  # (trees + 1,)
    sets: NDArray[np.uint64]  # (sets, 4)
    set_number: NDArray[np.int32]  # (nodes,) within the tree, or empty
    n_pure: Integers  # (1,) leaf numbers below it are classes


@kernel
def pack_split(child, column, threshold, missing_left):
    """Return a numeric split: codes up to the threshold go left, missing ones if `missing_left`."""
    kind = np.uint64(0) if missing_left else np.uint64(1)
    word = (np.uint64(child) << _CHILD) | (np.uint64(column) << _COLUMN)
    return word | ((np.uint64(threshold) - kind) << _THRESHOLD) | kind


@kernel
def pack_set(child, column):
    """Return a categorical split."""
    return (np.uint64(child) << _CHILD) | (np.uint64(column) << _COLUMN) | np.uint64(BY_SET)


@kernel
def pack_leaf(number):
    """Return a leaf."""
    return (np.uint64(number) << _CHILD) | np.uint64(LEAF)


class Traversal(NamedTuple):
    """Rows that are not in a leaf of a tree yet."""

    at: NDArray[np.uint32]  # node within the tree
    base: NDArray[np.uint32]  # index of the first code of the row
    rows: NDArray[np.uint32]  # number of the row
    leaves: NDArray[np.uint32]  # (rows,) by number: the leaf


@kernel
def new_traversal(n):
    """Return memory for n rows."""
    return Traversal(
        np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    )


@separate_kernel
def descend(trees, tree, codes, traversal, n):
    """Find the leaves of the first n rows of a traversal.

    Not inlined: LLVM would know that the arrays do not alias, and its code would take twice the time.

    codes : uint8, the codes of all rows one after the other. Rows in leaves are removed after every few
    steps; until then they stay at their leaf.
    """
    packed_nodes = trees.packed_nodes[trees.starts[tree] : trees.starts[tree + 1]]
    at, base, rows = traversal.at, traversal.base, traversal.rows
    for j in range(n):
        at[j] = 0
    while n > 0:
        if trees.set_number.shape[0]:
            _step_by_sets(trees, tree, packed_nodes, codes, traversal, n)
        else:
            for _ in range(_STEPS):
                for j in range(np.uintp(n)):
                    word = packed_nodes[np.uintp(at[j])]
                    kind = word & _KIND_MASK
                    column = np.uintp((word >> _COLUMN) & _COLUMN_MASK)
                    code = np.uint16(codes[np.uintp(base[j]) + column])
                    right = np.uint64(np.uint16(code - np.uint16(kind)) > np.uint16(word >> _THRESHOLD))
                    at[j] = np.uint32((word >> _CHILD) + right) if kind != _LEAF else at[j]
        n_open = np.uintp(0)
        for j in range(np.uintp(n)):
            traversal.leaves[np.uintp(rows[j])] = at[j]
            inner = np.uintp((packed_nodes[np.uintp(at[j])] & _KIND_MASK) != _LEAF)
            at[n_open], base[n_open], rows[n_open] = at[j], base[j], rows[j]
            n_open += inner
        n = np.int64(n_open)


@kernel
def _step_by_sets(trees, tree, packed_nodes, codes, traversal, n):
    """One step, in a forest with categorical splits."""
    for j in range(n):
        node = np.int64(traversal.at[j])
        word = packed_nodes[node]
        kind = word & _KIND_MASK
        code = np.uint16(codes[np.uintp(traversal.base[j]) + np.uintp((word >> _COLUMN) & _COLUMN_MASK)])
        right = np.uint64(np.uint16(code - np.uint16(kind)) > np.uint16(word >> _THRESHOLD))
        if kind == BY_SET:
            number = trees.set_starts[tree] + trees.set_number[trees.starts[tree] + node]
            right = np.uint64(1) - np.uint64(in_set(trees.sets[number], np.int64(code)))
        if kind != _LEAF:
            traversal.at[j] = np.uint32((word >> _CHILD) + right)


@kernel
def add_votes(codes, trees, weights, in_bag, first_row, out, n_votes):
    """out[row] += values of the leaves, times the weights of the trees, in the order of the trees.

    codes : uint8, those of the rows one after the other, the same number each. weights : float64 (trees,).
    in_bag : uint8 (trees, bytes), a bit for every row of the table, whose row `first_row` is the first of
    `out`: trees do not vote on rows that they were fitted to; or (0, 0) for all votes. out : float64 (rows,
    classes or outputs). n_votes : int64 (rows,) or empty.
    """
    n_rows = out.shape[0]
    stride = codes.shape[0] // n_rows
    traversal, chosen = (
        new_traversal(min(_ROWS_PER_BLOCK, n_rows)),
        np.empty(min(_ROWS_PER_BLOCK, n_rows), np.int64),
    )
    for top in range(0, n_rows, _ROWS_PER_BLOCK):
        size = min(_ROWS_PER_BLOCK, n_rows - top)
        for tree in range(weights.shape[0]):
            n = _choose_rows(in_bag, tree, first_row + top, size, stride, traversal, chosen)
            descend(trees, tree, codes[top * stride :], traversal, n)
            _add_leaf_votes(trees, tree, weights[tree], traversal.leaves, chosen, n, out[top : top + size])
            if n_votes.shape[0]:
                for j in range(n):
                    n_votes[top + chosen[j]] += 1


@kernel
def _add_leaf_votes(trees, tree, weight, leaves, chosen, n, out):
    """Add the values of the leaves of a tree."""
    packed_nodes = trees.packed_nodes[trees.starts[tree] : trees.starts[tree + 1]]
    n_pure = np.uint64(trees.n_pure[0])
    values = trees.values[trees.value_starts[tree] : trees.value_starts[tree + 1]]
    for j in range(n):
        i = np.uintp(chosen[j])
        number = packed_nodes[np.uintp(leaves[i])] >> _CHILD
        if number < n_pure:
            out[i, number] += weight
        else:
            for k in range(out.shape[1]):
                out[i, k] += weight * values[number - n_pure, k]


@kernel
def find_vote_leaves(codes, trees, out):
    """out[row, tree] = number, within its tree, of the leaf of the row."""
    n_rows = out.shape[0]
    stride = codes.shape[0] // n_rows
    traversal = new_traversal(min(_ROWS_PER_BLOCK, n_rows))
    for top in range(0, n_rows, _ROWS_PER_BLOCK):
        size = min(_ROWS_PER_BLOCK, n_rows - top)
        for tree in range(out.shape[1]):
            for i in range(size):
                traversal.rows[i], traversal.base[i] = i, i * stride
            descend(trees, tree, codes[top * stride :], traversal, size)
            for i in range(size):
                out[top + i, tree] = traversal.leaves[i]


@kernel
def tree_losses(codes, trees, in_bag, first_row, classes, steps, out):
    """out[row, tree] = steps * (1 - p + q) / 2, rounded up; p is the vote of its class, q of the best other.

    in_bag as in `add_votes`: -1 where the tree was fitted to the row. classes : int64 (rows,). out : int16.
    """
    n_rows, n_pure = out.shape[0], trees.n_pure[0]
    stride = codes.shape[0] // n_rows
    traversal, chosen = (
        new_traversal(min(_ROWS_PER_BLOCK, n_rows)),
        np.empty(min(_ROWS_PER_BLOCK, n_rows), np.int64),
    )
    for top in range(0, n_rows, _ROWS_PER_BLOCK):
        size = min(_ROWS_PER_BLOCK, n_rows - top)
        for tree in range(out.shape[1]):
            n = _choose_rows(in_bag, tree, first_row + top, size, stride, traversal, chosen)
            descend(trees, tree, codes[top * stride :], traversal, n)
            packed_nodes = trees.packed_nodes[trees.starts[tree] : trees.starts[tree + 1]]
            values = trees.values[trees.value_starts[tree] : trees.value_starts[tree + 1]]
            for i in range(size):
                out[top + i, tree] = -1
            for j in range(n):
                i = chosen[j]
                number = np.int64(packed_nodes[np.uintp(traversal.leaves[i])] >> _CHILD)
                label = classes[top + i]
                margin = 1.0 if number == label else -1.0
                if number >= n_pure:
                    other = 0.0
                    for k in range(n_pure):
                        if k != label:
                            other = max(other, values[number - n_pure, k])
                    margin = values[number - n_pure, label] - other
                out[top + i, tree] = np.int16(np.ceil(steps * (0.5 * (1.0 - margin))))


@kernel
def _choose_rows(in_bag, tree, first_row, size, stride, traversal, chosen):
    """Write the rows that a tree was not fitted to at the start of the traversal; return their number."""
    n = 0
    for i in range(size):
        row = first_row + i
        in_sample = in_bag.shape[0] and (in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1)
        if not in_sample:
            traversal.rows[n], traversal.base[n], chosen[n] = i, i * stride, i
            n += 1
    return n
