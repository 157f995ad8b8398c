"""Growing a deep tree, from the root to leaves that cannot be split, by one thread.

A node of the tree is one machine word, in the format of `votes`; the two children of a split are neighbours.
During growth a node is rows[start:stop], and its rows are partitioned in place. Nodes are split depth first,
or, if leaves are limited, by falling gain.

A node of few rows is deferred. When all nodes are that small, the codes of one after the other are copied to
one block and its subtree is grown in the cache: its rows lie far apart in the table, and each would cost a
cache miss on each of the dozen levels below (measured: a tenth of the time on 100,000 rows).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.deep_codes import DeepColumns, DeepRows, Scratch, add_row
from hedgerow.kernels.cpu.deep_cut import clip
from hedgerow.kernels.cpu.deep_split import DeepRules, Open, best_split, child_key
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.random import NODE_COLUMNS, stream
from hedgerow.kernels.cpu.votes import pack_leaf, pack_set, pack_split

N_NODES, N_VALUES, N_SETS, N_OPEN, N_USED, N_LEAVES, N_DEFERRED = range(7)  # indices of Growing.state


class DeepTree(NamedTuple):
    """The tree during growth: arrays long enough for any tree on these rows."""

    words: NDArray[np.uint64]  # (nodes,)
    values: NDArray[np.float64]  # (leaves, classes or outputs) of leaves that are not of one class
    sets: NDArray[np.uint64]  # (sets, 4) codes that go left
    set_number: NDArray[np.int32]  # (nodes,) or empty without categorical columns
    leaf_starts: NDArray[np.int64]  # (leaves + 1,) first entry of a leaf in leaf_rows; empty if not wanted
    leaf_rows: NDArray[np.uint32]  # (n,) of the table, by leaf
    gains: NDArray[np.float64]  # (2, columns) sums over the splits, and their rounding errors


class Growing(NamedTuple):
    """Memory of a thread."""

    rows: NDArray[np.uint32]  # (n,)
    spare: NDArray[np.uint32]  # (n,)
    nodes: Open
    heap: NDArray[np.int64]  # (slots,) those of open nodes
    free: NDArray[np.int64]  # (slots,) unused ones
    deferred: NDArray[np.int64]  # (n, 4) small nodes, as in Open.extent
    deferred_bounds: NDArray[np.float64]  # (n, 2)
    deferred_key: NDArray[np.uint64]  # (n,)
    block: DeepRows  # rows of a small node, copied to one block
    block_rows: NDArray[np.uint32]
    scratch: Scratch
    state: NDArray[np.int64]


class Job(NamedTuple):
    """The input of a tree."""

    data: DeepRows
    columns: DeepColumns
    rules: DeepRules


@deep_kernel
def grow_tree(job, tree, growing, n_rows):
    """Grow a tree on growing.rows[:n_rows]; growing.state has the numbers of its nodes, values and sets."""
    nodes, state = growing.nodes, growing.state
    best_first = job.rules.max_leaves <= n_rows
    limit = 0 if best_first else growing.block_rows.shape[0]
    data, rows, origin, n_done = job.data, growing.rows, np.int64(-1), np.int64(0)
    left = right = _start(job, tree, growing, n_rows)
    while True:
        for side in range(1 if left == right else 2):
            slot = right if side else left
            if nodes.extent[slot, 2] - nodes.extent[slot, 1] <= limit:
                _defer(growing, slot)
            elif best_split(data, job.columns, job.rules, rows, nodes, slot, growing.scratch):
                growing.heap[state[N_OPEN]] = slot
                state[N_OPEN] += 1
            else:
                _make_leaf(data, tree, growing, rows, slot, origin)
        if state[N_OPEN] > 0 and state[N_LEAVES] < job.rules.max_leaves:
            left, right = _split(data, job.columns, tree, growing, rows, _pop(growing, best_first))
            continue
        while state[N_OPEN] > 0:
            _make_leaf(data, tree, growing, rows, _pop(growing, best_first), origin)
        if n_done == state[N_DEFERRED]:
            return
        data, rows, limit = growing.block, growing.block_rows, 0
        origin = growing.deferred[n_done, 1]
        left = right = _copy_node(job.data, growing, n_done)
        n_done += 1


@deep_inline
def _start(job, tree, growing, n_rows):
    """Start a tree with its root; return the slot of the root."""
    nodes, state = growing.nodes, growing.state
    state[:] = 0
    state[N_NODES] = state[N_LEAVES] = 1
    tree.gains[:, :] = 0.0
    for slot in range(growing.free.shape[0]):
        growing.free[slot] = slot
    for column in range(growing.scratch.order.shape[0]):
        growing.scratch.order[column] = column
    slot = _allocate_slot(growing)
    nodes.extent[slot, 0], nodes.extent[slot, 1], nodes.extent[slot, 2], nodes.extent[slot, 3] = (
        0,
        0,
        n_rows,
        0,
    )
    nodes.bounds[slot, 0], nodes.bounds[slot, 1] = -np.inf, np.inf
    nodes.key[slot] = stream(job.rules.seed, NODE_COLUMNS, job.rules.tree)
    _sum_node(job.data, growing.rows, nodes, slot)
    return slot


@deep_inline
def _defer(growing, slot):
    """Store a small node, to be grown when all open nodes are small."""
    nodes, n = growing.nodes, growing.state[N_DEFERRED]
    for j in range(4):
        growing.deferred[n, j] = nodes.extent[slot, j]
    for j in range(2):
        growing.deferred_bounds[n, j] = nodes.bounds[slot, j]
    growing.deferred_key[n] = nodes.key[slot]
    growing.state[N_DEFERRED] += 1
    _free_slot(growing, slot)


@deep_inline
def _copy_node(table, growing, i):
    """Copy the rows of deferred node i to the block; return its slot."""
    block, nodes = growing.block, growing.nodes
    number, start, stop, depth = growing.deferred[i]
    width = table.codes.shape[1]
    for j in range(stop - start):
        row = np.uintp(growing.rows[start + j])
        growing.block_rows[j] = j
        for f in range(width):
            block.codes[j, f] = table.codes[row, f]
        block.weight[j] = table.weight[row]
        if table.draws.shape[0]:
            block.draws[j] = table.draws[row]
        if table.classes.shape[0]:
            block.classes[j] = table.classes[row]
        for k in range(table.numbers.shape[1]):
            block.numbers[j, k] = table.numbers[row, k]
        for k in range(table.same.shape[1]):
            block.same[j, k] = table.same[row, k]
    slot = _allocate_slot(growing)
    nodes.extent[slot, 0], nodes.extent[slot, 1], nodes.extent[slot, 2] = number, 0, stop - start
    nodes.extent[slot, 3] = depth
    for j in range(2):
        nodes.bounds[slot, j] = growing.deferred_bounds[i, j]
    nodes.key[slot] = growing.deferred_key[i]
    _sum_node(block, growing.block_rows, nodes, slot)
    return slot


@deep_inline
def _sum_node(data, rows, nodes, slot):
    """Compute the sums of a node from its rows."""
    sums = nodes.sums[slot]
    sums[:] = 0
    nodes.constant[slot, :] = 0
    for i in range(nodes.extent[slot, 1], nodes.extent[slot, 2]):
        add_row(data, np.uintp(rows[i]), sums, 0, sums.shape[0])


@deep_inline
def _allocate_slot(growing):
    slot = growing.free[growing.state[N_USED]]
    growing.state[N_USED] += 1
    return slot


@deep_inline
def _free_slot(growing, slot):
    growing.state[N_USED] -= 1
    growing.free[growing.state[N_USED]] = slot


@deep_inline
def _pop(growing, best_first):
    """Remove the last open node, or the first one with the largest gain; return its slot."""
    heap, nodes, last = growing.heap, growing.nodes, growing.state[N_OPEN] - 1
    if best_first:
        best = 0
        for i in range(1, last + 1):
            gain, top = nodes.gain[heap[i]], nodes.gain[heap[best]]
            if gain > top or (gain == top and nodes.extent[heap[i], 0] < nodes.extent[heap[best], 0]):
                best = i
        heap[best], heap[last] = heap[last], heap[best]
    growing.state[N_OPEN] = last
    return heap[last]


@deep_inline
def _split(data, columns, tree, growing, rows, slot):
    """Partition the rows of a node; return the slots of its children, and free its own."""
    nodes, state = growing.nodes, growing.state
    number, start, stop, depth = nodes.extent[slot]
    column, threshold, missing_left, categorical = nodes.split[slot]
    child = state[N_NODES]
    state[N_NODES] += 2
    state[N_LEAVES] += 1
    if categorical:
        tree.words[number] = pack_set(child, column)
        tree.set_number[number] = state[N_SETS]
        for word in range(4):
            tree.sets[state[N_SETS], word] = nodes.goes_left[slot, word]
        state[N_SETS] += 1
    else:
        tree.words[number] = pack_split(child, column, threshold, missing_left)
    _add_gain(tree.gains, column, max(nodes.gain[slot], 0.0))
    left, right = _allocate_slot(growing), _allocate_slot(growing)
    middle = _partition(data.codes, columns, rows, growing.spare, nodes, slot)
    for k in range(nodes.sums.shape[1]):
        nodes.sums[left, k] = nodes.left[slot, k]
        nodes.sums[right, k] = nodes.sums[slot, k] - nodes.left[slot, k]
    for side in (left, right):
        extent = nodes.extent[side]
        extent[0], extent[1], extent[2], extent[3] = child, start, middle, depth + 1
        for word in range(nodes.constant.shape[1]):
            nodes.constant[side, word] = nodes.constant[slot, word]
        nodes.bounds[side, 0], nodes.bounds[side, 1] = nodes.bounds[slot, 0], nodes.bounds[slot, 1]
    nodes.extent[right, 0], nodes.extent[right, 1], nodes.extent[right, 2] = child + 1, middle, stop
    nodes.key[left], nodes.key[right] = child_key(nodes.key[slot], False), child_key(nodes.key[slot], True)
    if columns.direction.shape[0] and columns.direction[column]:
        between = (nodes.bounds[slot, 2] + nodes.bounds[slot, 3]) / 2.0
        lower, upper = (right, left) if columns.direction[column] > 0 else (left, right)
        nodes.bounds[lower, 0], nodes.bounds[upper, 1] = between, between
    _free_slot(growing, slot)
    return left, right


@deep_inline
def _add_gain(gains, column, gain):
    """Add a gain and its rounding error (Knuth's two-sum): the order of the splits does not matter."""
    before = gains[0, column]
    after = before + gain
    added = after - before
    gains[1, column] += (before - (after - added)) + (gain - added)
    gains[0, column] = after


@deep_inline
def _partition(codes, columns, rows, spare, nodes, slot):
    """Move the rows that go left to the front, stably; return the index of the first other row."""
    start, stop = nodes.extent[slot, 1], nodes.extent[slot, 2]
    column, threshold, missing_left, categorical = nodes.split[slot]
    stored = np.uintp(columns.stored[column])
    at, n_right, one = np.uintp(start), np.uintp(0), np.uintp(1)
    if categorical or columns.usual[column] >= 0:
        bytes_left = nodes.goes_left[slot]
        if columns.usual[column] >= 0:
            bytes_left = nodes.goes_left[nodes.goes_left.shape[0] - 1]  # scratch
            _translate(columns, nodes, slot, bytes_left)
        for i in range(start, stop):
            row = rows[i]
            left = np.uintp(in_set(bytes_left, np.int64(codes[np.uintp(row), stored])))
            rows[at] = row
            spare[n_right] = row
            at += left
            n_right += one - left
    else:
        base = np.uint8(not missing_left)
        highest = np.uint8(threshold - np.int64(base))
        for i in range(start, stop):
            row = rows[i]
            left = np.uintp(np.uint8(codes[np.uintp(row), stored] - base) <= highest)
            rows[at] = row
            spare[n_right] = row
            at += left
            n_right += one - left
    for i in range(n_right):
        rows[at + i] = spare[i]
    return np.int64(at)


@deep_kernel
def _translate(columns, nodes, slot, bytes_left):
    """Write the set of bytes of a shared column that stand for codes that go left."""
    column, threshold, missing_left, categorical = nodes.split[slot]
    usual, base = columns.usual[column], columns.base[column]
    for code in range(-1, columns.n_bins[column] + 1):  # first -1, which stands for the usual code
        this = usual if code < 0 else np.int64(code)
        if code == usual:
            continue
        if categorical:
            left = in_set(nodes.goes_left[slot], this) != 0
        else:
            left = this <= threshold if this else missing_left != 0
        if code < 0:
            for word in range(4):
                bytes_left[word] = ~np.uint64(0) if left else np.uint64(0)
            continue
        byte = base + this - np.int64(this > usual)
        bit = np.uint64(1) << np.uint64(byte & 63)
        if left:
            bytes_left[byte >> 6] |= bit
        else:
            bytes_left[byte >> 6] &= ~bit


@deep_inline
def _make_leaf(data, tree, growing, rows, slot, origin):
    """Write a leaf: the number of its class if it has only one, else a row of values."""
    nodes, state = growing.nodes, growing.state
    _free_slot(growing, slot)
    sums, outputs = nodes.sums[slot], tree.values.shape[1]
    classes = data.classes.shape[0] > 0
    weight, n_present, present = np.float64(sums[0]), 0, np.int64(0)
    if classes:
        whole = np.int64(0)
        for k in range(outputs):
            whole += sums[k]
            if sums[k]:
                n_present += 1
                present = k
        weight = np.float64(whole)
    second = (
        np.float64(sums[1]) / weight
    )  # of two classes, or the first number: the value that is constrained
    clipped = clip(second, nodes.bounds[slot])
    if n_present == 1 and clipped == second:
        tree.words[nodes.extent[slot, 0]] = pack_leaf(present)
        return
    number = state[N_VALUES]
    tree.words[nodes.extent[slot, 0]] = pack_leaf(number + outputs if classes else number)
    for k in range(outputs):
        tree.values[number, k] = np.float64(sums[k if classes else k + 1]) / weight
    if clipped != second:
        tree.values[number, np.int64(classes)] = clipped
        if classes:
            tree.values[number, 0] = 1.0 - clipped
    state[N_VALUES] += 1
    if tree.leaf_starts.shape[0]:
        _store_rows(tree, growing, rows, slot, origin, number)


@deep_kernel
def _store_rows(tree, growing, rows, slot, origin, number):
    """Store the rows of the table that are in a leaf."""
    start, stop = growing.nodes.extent[slot, 1], growing.nodes.extent[slot, 2]
    first = tree.leaf_starts[number]
    for i in range(start, stop):
        row = rows[i]
        tree.leaf_rows[first + i - start] = row if origin < 0 else growing.rows[origin + np.int64(row)]
    tree.leaf_starts[number + 1] = first + stop - start
