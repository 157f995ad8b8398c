"""Prediction of a flat forest.

There are three ways to find the leaf of a row, with the same result:

- masking (QuickScorer, Lucchese et al. 2015): number the leaves of a small tree from left to right, start
  with all bits set; every node whose test sends a row right clears the bits of its left subtree; the
  lowest set bit is the leaf. No node waits for another and LLVM vectorises the rows: 0.07 ns per node
  and row, on the values themselves, without encoding them.
- numbering: in a symmetric tree the outcomes of the tests of all levels are the bits of the number of the
  leaf: six tests instead of 63. The nodes must be in the order of the levels.
- traversal: follow the children, all rows of a block taking each step together, so that the latency of
  one row is overlapped by the others; a leaf is its own child. It works on codes.

Leaves of symmetric trees are numbered. The first 31 splits of another tree, in the order of growing, are
masked; the nodes below them are traversed. A few rows are only traversed: there is nothing to vectorise over.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.binning import encode
from hedgerow.kernels.cpu.jit import intrinsics, kernel
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.records import SET_WORDS

(lowest_bit,) = intrinsics("intrinsics", "lowest_bit")
TOP_LEAVES = 32  # one bit each
_TOP_NODES = 2 * TOP_LEAVES - 1
ROWS_PER_BLOCK = 256
FEW_ROWS = 8

# A node is one machine word, so that a step is one load: left child, column, threshold, kind.
CHILD_SHIFT, COLUMN_SHIFT, THRESHOLD_SHIFT = 36, 18, 2
MAX_NODES, MAX_COLUMNS = 1 << 28, 1 << 18
MISSING_LEFT = 0  # codes <= threshold go left, missing among them as code 0
MISSING_RIGHT = 1  # the same with codes counted from 1, so that missing wraps around to the largest
BY_SET = 2

_CHILD, _COLUMN, _THRESHOLD = (np.uint64(shift) for shift in (CHILD_SHIFT, COLUMN_SHIFT, THRESHOLD_SHIFT))
_COLUMN_MASK = np.uint64(MAX_COLUMNS - 1)


class Trees(NamedTuple):
    """The forest as the prediction kernels read it; nodes are counted over the whole forest."""

    starts: Integers
    output: Integers
    depth: Integers
    n_top: Integers  # splits of a tree that are masked
    depth_below: Integers  # steps left below them
    entry: NDArray[np.int32]  # (trees, 32) the node of each bit of the mask
    packed_nodes: NDArray[np.uint64]  # left child (a leaf is its own), column, threshold, kind
    set_number: NDArray[np.int32]
    masks: NDArray[np.uint32]
    value: Floats
    sets: NDArray[np.uint64]
    uses_codes: Integers  # (1,) whether masks and values do not suffice
    n_levels: Integers  # of a symmetric tree, 0 for others


class RawBins(NamedTuple):
    """Bins as the kernels read them."""

    edges: Floats
    edge_starts: Integers
    tables: NDArray[np.uint8]
    table_starts: Integers


@kernel
def mask_top(left, start, stop, masks, entry):
    """Write the masks of the first 31 splits of the tree in left[start:stop], and the nodes of its 32 bits.

    left : child numbers within the tree, 0 in a leaf. masks : uint32, for every top split the leaves that
    are not in its left subtree. entry : int32 (32,), nodes counted over the whole forest.
    Returns the number of top splits.
    """
    size = min(stop - start, _TOP_NODES)
    first = np.empty(size, np.int64)  # rank of the leftmost top leaf below a node
    stack = np.empty(size + 1, np.int64)
    stack[0] = 0
    depth, n = 1, 0
    while depth > 0:
        depth -= 1
        number = stack[depth]
        first[number] = n
        child = left[start + number]
        if child == 0 or child + 1 >= size:
            entry[n] = start + number
            n += 1
        else:
            stack[depth] = child + 1
            stack[depth + 1] = child
            depth += 2
    for number in range(size):
        child = left[start + number]
        masks[start + number] = ~np.uint32(0)
        if child != 0 and child + 1 < size:
            low, high = np.uint64(first[child]), np.uint64(first[child + 1])
            inside = ((np.uint64(1) << (high - low)) - np.uint64(1)) << low
            masks[start + number] = np.uint32(~inside & np.uint64(0xFFFFFFFF))
    return n - 1


@kernel
def depth_below(child, start, stop, entry, n_entries, depth):
    """Return the most steps from the root to a leaf, and from an entry; depth : scratch, (all nodes,)."""
    for node in range(start, stop):
        depth[node] = 0
    for node in range(start, stop):
        if child[node] != node:
            depth[child[node]] = depth[node] + 1
            depth[child[node] + 1] = depth[node] + 1
    full_depth = 0
    for node in range(start, stop):
        full_depth = max(full_depth, depth[node])
        depth[node] = -1
    for i in range(n_entries):
        depth[entry[i]] = 0
    below = 0
    for node in range(start, stop):
        if depth[node] >= 0 and child[node] != node:
            depth[child[node]] = depth[node] + 1
            depth[child[node] + 1] = depth[node] + 1
            below = max(below, depth[node] + 1)
    return full_depth, below


@kernel
def _column(word):
    return np.uintp((word >> _COLUMN) & _COLUMN_MASK)


@kernel
def _threshold(word):
    return np.uint16(word >> _THRESHOLD)


@kernel
def _kind(word):
    return np.uint16(word & np.uint64(3))


@kernel
def traverse(packed_nodes, set_number, sets, codes, at, n, n_steps):
    """Take `n_steps` steps down from the nodes at[:n]."""
    for _ in range(n_steps):
        if sets.shape[0] == 0:
            for i in range(n):
                word = packed_nodes[np.uintp(at[i])]
                code = np.uint16(codes[_column(word), np.uintp(i)])
                at[i] = np.int64(word >> _CHILD) + np.int64(np.uint16(code - _kind(word)) > _threshold(word))
        else:
            for i in range(n):
                node = np.uintp(at[i])
                word = packed_nodes[node]
                code = np.uint16(codes[_column(word), np.uintp(i)])
                right = np.int64(np.uint16(code - _kind(word)) > _threshold(word))
                if _kind(word) == BY_SET:
                    right = 1 - np.int64(in_set(sets[set_number[node]], np.int64(code)))
                at[i] = np.int64(word >> _CHILD) + right


@kernel
def _mask(trees, tree, thresholds, values, codes, bits, n):
    """bits[:n] = for every row the set of top leaves that no test excludes."""
    all_leaves = ~np.uint32(0)
    for i in range(n):
        bits[i] = all_leaves
    n_masked = 0
    node = trees.starts[tree]
    while n_masked < trees.n_top[tree]:
        mask = trees.masks[node]
        if mask != all_leaves:
            n_masked += 1
            column, kind = _column(trees.packed_nodes[node]), _kind(trees.packed_nodes[node])
            threshold = thresholds[node]
            if kind == BY_SET:
                codes_left = trees.sets[trees.set_number[node]]
                for i in range(n):
                    bits[i] &= all_leaves if in_set(codes_left, np.int64(codes[column, i])) else mask
            elif kind == MISSING_RIGHT:
                x = values[column]
                for i in range(n):  # false for NaN
                    bits[i] &= all_leaves if x[i] <= threshold else mask
            else:
                x = values[column]
                for i in range(n):  # false for NaN
                    bits[i] &= mask if x[i] > threshold else all_leaves
        node += 1


@kernel
def _number_leaves(trees, tree, thresholds, values, codes, bits, n):
    """bits[:n] = for every row the number of its leaf in a symmetric tree, from the left."""
    one, node = np.uint32(1), trees.starts[tree]
    for i in range(n):
        bits[i] = np.uint32(0)
    for level in range(trees.n_levels[tree]):
        column, kind = _column(trees.packed_nodes[node]), _kind(trees.packed_nodes[node])
        threshold, x = thresholds[node], values[column]
        if kind == BY_SET:
            codes_left = trees.sets[trees.set_number[node]]
            for i in range(n):
                right = one - np.uint32(in_set(codes_left, np.int64(codes[column, i])))
                bits[i] = bits[i] * np.uint32(2) + right
        elif kind == MISSING_RIGHT:
            for i in range(n):
                bits[i] = bits[i] * np.uint32(2) + (np.uint32(0) if x[i] <= threshold else one)
        else:
            for i in range(n):
                bits[i] = bits[i] * np.uint32(2) + (one if x[i] > threshold else np.uint32(0))
        node += 1 << level
    return node


@kernel
def encode_block(rows, bins, codes):
    """Write the codes (columns, rows) of some rows."""
    none = np.empty((0, 0), np.uint16)
    encode(rows, bins.edges, bins.edge_starts, bins.tables, bins.table_starts, none, codes, 0)


@kernel
def find_block_leaves(trees, tree, thresholds, values, codes, bits, at, n, few):
    """at[:n] = for every row of a block its leaf in a tree; bits : scratch."""
    if few:
        at[:n] = trees.starts[tree]
        n_steps = trees.depth[tree]
    elif trees.n_levels[tree]:
        first_leaf = _number_leaves(trees, tree, thresholds, values, codes, bits, n)
        for i in range(n):
            at[i] = first_leaf + np.int64(bits[i])
        n_steps = np.int64(0)
    else:
        _mask(trees, tree, thresholds, values, codes, bits, n)
        for i in range(n):
            at[i] = trees.entry[tree, lowest_bit(bits[i])]
        n_steps = trees.depth_below[tree]
    traverse(trees.packed_nodes, trees.set_number, trees.sets, codes, at, n, n_steps)


@kernel
def add_predictions(block, bins, trees, thresholds, chosen, out, first_row):
    """out[:, row] += values of the trees chosen[0]..chosen[1] - 1, in the order of the trees.

    block : float (rows, columns). thresholds : of every node, in the dtype of the block, rounded down.
    out : float64 (outputs, n), filled from first_row.
    """
    n_rows, n_columns = block.shape
    width = min(ROWS_PER_BLOCK, n_rows)
    few = n_rows <= FEW_ROWS
    coded = few or trees.uses_codes[0]
    values = np.empty((n_columns, width), block.dtype)
    codes = np.empty((n_columns, width), np.uint16)
    at = np.empty(width, np.int64)
    bits = np.empty(width, np.uint32)
    for top in range(0, n_rows, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, n_rows - top)
        if coded:
            encode_block(block[top : top + n], bins, codes)
        if not few:
            for i in range(n):
                for column in range(n_columns):
                    values[column, i] = block[top + i, column]
        for tree in range(chosen[0], chosen[1]):
            find_block_leaves(trees, tree, thresholds, values, codes, bits, at, n, few)
            target = out[trees.output[tree], first_row + top : first_row + top + n]
            for i in range(n):
                target[i] += trees.value[at[i]]


@kernel
def find_leaves(block, bins, trees, out, first_row):
    """out[row, tree] = number, within its tree, of the leaf of the row."""
    n_rows, n_columns = block.shape
    codes = np.empty((n_columns, min(ROWS_PER_BLOCK, n_rows)), np.uint16)
    at = np.empty(ROWS_PER_BLOCK, np.int64)
    for top in range(0, n_rows, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, n_rows - top)
        encode_block(block[top : top + n], bins, codes)
        for tree in range(out.shape[1]):
            at[:n] = trees.starts[tree]
            traverse(trees.packed_nodes, trees.set_number, trees.sets, codes, at, n, trees.depth[tree])
            for i in range(n):
                out[first_row + top + i, tree] = at[i] - trees.starts[tree]


@kernel
def add_coded(codes, trees, tree, start, stop, out):
    """out[row] += value of one tree, for codes by column."""
    at = np.empty(ROWS_PER_BLOCK, np.int64)
    for top in range(start, stop, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, stop - top)
        at[:n] = trees.starts[tree]
        traverse(
            trees.packed_nodes,
            trees.set_number,
            trees.sets,
            codes[:, top : top + n],
            at,
            n,
            trees.depth[tree],
        )
        for i in range(n):
            out[top + i] += trees.value[at[i]]


@kernel
def _pack_node(node, number, set_number):
    """Return the machine word of a node record; `set_number` is that of a categorical split, else -1."""
    kind = np.int64(BY_SET) if set_number >= 0 else np.int64(MISSING_RIGHT - node.split.missing_left)
    child, column, threshold = node.left, node.split.column, node.split.threshold - kind
    if node.left == 0:  # no code is above the threshold of a leaf, whose child it is itself
        child, column, threshold, kind = number, np.int64(0), np.int64(65_535), np.int64(MISSING_LEFT)
    elif set_number >= 0:
        threshold = np.int64(0)
    return (
        (np.uint64(child) << _CHILD)
        | (np.uint64(column) << _COLUMN)
        | (np.uint64(threshold) << _THRESHOLD)
        | np.uint64(kind)
    )


@kernel
def add_tree(codes, nodes, scores, start, stop):
    """scores[row] += value of a grown tree for the rows [start, stop), whose codes are by column.

    nodes : NODE records of the tree. They are packed here, so that a round needs no flat forest.
    """
    n_nodes, n_sets, depth = nodes.shape[0], 0, np.int64(0)
    packed = np.empty(n_nodes, np.uint64)
    set_number = np.empty(n_nodes, np.int32)
    for number in range(n_nodes):
        by_set = nodes[number].left > 0 and nodes[number].split.categorical == 1
        set_number[number] = n_sets if by_set else -1
        n_sets += by_set
        depth = max(depth, nodes[number].depth)
        packed[number] = _pack_node(nodes[number], number, set_number[number])
    sets = np.empty((n_sets, SET_WORDS), np.uint64)
    for number in range(n_nodes):
        if set_number[number] >= 0:
            for word in range(SET_WORDS):
                sets[set_number[number], word] = nodes[number].split.goes_left[word]
    at = np.empty(ROWS_PER_BLOCK, np.int64)
    for top in range(start, stop, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, stop - top)
        at[:n] = 0
        traverse(packed, set_number, sets, codes[:, top : top + n], at, n, depth)
        for i in range(n):
            scores[top + i] += nodes[at[i]].value
