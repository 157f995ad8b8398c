"""Growing a deep tree, from the root to leaves that cannot be split, by one thread.

A node of the tree is one machine word, in the format of `votes`; the two children of a split are neighbours.
During growth a node is rows[start:stop], and its rows are partitioned in place. Nodes are split depth first,
or, if leaves are limited, by decreasing gain.

A node of few rows is deferred. When all open nodes are small, the codes of each in turn are copied to one
block and its subtree is grown in the cache. Its rows are far apart in the table, and each would cause a cache
miss on each of the dozen levels below (measured: a tenth of the time on 100,000 rows).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.deep_codes import DeepColumns, DeepRows, Scratch, add_row
from hedgerow.kernels.cpu.deep_cut import clip
from hedgerow.kernels.cpu.deep_split import DeepRules, OpenNodes, best_split, child_key
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.random import NODE_COLUMNS, stream
from hedgerow.kernels.cpu.votes import pack_leaf, pack_set, pack_split

N_NODES, N_VALUES, N_SETS, N_OPEN, N_USED, N_LEAVES, N_DEFERRED = range(7)  # indices of DeepWorkspace.state


class DeepTree(NamedTuple):
    """The tree during growth: arrays long enough for any tree on these rows."""

    packed_nodes: NDArray[np.uint64]  # (nodes,)
    values: Floats  # (leaves, classes or outputs) of leaves that are not of one class
    sets: NDArray[np.uint64]  # (sets, 4) codes that go left
    set_number: NDArray[np.int32]  # (nodes,) or empty without categorical columns
    leaf_starts: Integers  # (leaves + 1,) first entry of a leaf in leaf_rows; empty if rows are not stored
    leaf_rows: NDArray[np.uint32]  # (n,) of the table, by leaf
    gains: Floats  # (2, columns) sums over the splits, and their rounding errors


class DeepWorkspace(NamedTuple):
    """Memory of a thread."""

    rows: NDArray[np.uint32]  # (n,)
    buffer: NDArray[np.uint32]  # (n,)
    nodes: OpenNodes
    heap: Integers  # (slots,) those of open nodes
    free: Integers  # (slots,) unused ones
    deferred: Integers  # (n, 4) small nodes, as in OpenNodes.extent
    deferred_bounds: Floats  # (n, 2)
    deferred_key: NDArray[np.uint64]  # (n,)
    block: DeepRows  # rows of a small node, copied to one block
    block_rows: NDArray[np.uint32]
    scratch: Scratch
    state: Integers


class TreeInput(NamedTuple):
    """The input of a tree."""

    data: DeepRows
    columns: DeepColumns
    rules: DeepRules


@deep_kernel
def grow_tree(tree_input, tree, workspace, n_rows):
    """Grow a tree on workspace.rows[:n_rows]; workspace.state counts its nodes, values and sets."""
    nodes, state = workspace.nodes, workspace.state
    best_first = tree_input.rules.max_leaves <= n_rows
    limit = 0 if best_first else workspace.block_rows.shape[0]
    data, rows, origin, n_done = tree_input.data, workspace.rows, np.int64(-1), np.int64(0)
    left = right = _start(tree_input, tree, workspace, n_rows)
    while True:
        for side in range(1 if left == right else 2):
            slot = right if side else left
            if nodes.extent[slot, 2] - nodes.extent[slot, 1] <= limit:
                _defer(workspace, slot)
            elif best_split(data, tree_input.columns, tree_input.rules, rows, nodes, slot, workspace.scratch):
                workspace.heap[state[N_OPEN]] = slot
                state[N_OPEN] += 1
            else:
                _make_leaf(data, tree, workspace, rows, slot, origin)
        if state[N_OPEN] > 0 and state[N_LEAVES] < tree_input.rules.max_leaves:
            left, right = _split(data, tree_input.columns, tree, workspace, rows, _pop(workspace, best_first))
            continue
        while state[N_OPEN] > 0:
            _make_leaf(data, tree, workspace, rows, _pop(workspace, best_first), origin)
        if n_done == state[N_DEFERRED]:
            return
        data, rows, limit = workspace.block, workspace.block_rows, 0
        origin = workspace.deferred[n_done, 1]
        left = right = _copy_node(tree_input.data, workspace, n_done)
        n_done += 1


@deep_inline
def _start(tree_input, tree, workspace, n_rows):
    """Start a tree with its root; return the slot of the root."""
    nodes, state = workspace.nodes, workspace.state
    state[:] = 0
    state[N_NODES] = state[N_LEAVES] = 1
    tree.gains[:, :] = 0.0
    for slot in range(workspace.free.shape[0]):
        workspace.free[slot] = slot
    for column in range(workspace.scratch.order.shape[0]):
        workspace.scratch.order[column] = column
    slot = _allocate_slot(workspace)
    nodes.extent[slot, :] = 0
    nodes.extent[slot, 2] = n_rows
    nodes.bounds[slot, 0], nodes.bounds[slot, 1] = -np.inf, np.inf
    nodes.key[slot] = stream(tree_input.rules.seed, NODE_COLUMNS, tree_input.rules.tree)
    _sum_node(tree_input.data, workspace.rows, nodes, slot)
    return slot


@deep_inline
def _defer(workspace, slot):
    """Store a small node, to be grown when all open nodes are small."""
    nodes, n = workspace.nodes, workspace.state[N_DEFERRED]
    for j in range(4):
        workspace.deferred[n, j] = nodes.extent[slot, j]
    for j in range(2):
        workspace.deferred_bounds[n, j] = nodes.bounds[slot, j]
    workspace.deferred_key[n] = nodes.key[slot]
    workspace.state[N_DEFERRED] += 1
    _free_slot(workspace, slot)


@deep_inline
def _copy_node(table, workspace, i):
    """Copy the rows of deferred node i to the block; return its slot."""
    block, nodes = workspace.block, workspace.nodes
    number, start, stop, depth = workspace.deferred[i]
    width = table.codes.shape[1]
    for j in range(stop - start):
        row = np.uintp(workspace.rows[start + j])
        workspace.block_rows[j] = j
        for f in range(width):
            block.codes[j, f] = table.codes[row, f]
        block.weight[j] = table.weight[row]
        if table.draws.shape[0]:
            block.draws[j] = table.draws[row]
        if table.classes.shape[0]:
            block.classes[j] = table.classes[row]
        for k in range(table.numbers.shape[1]):
            block.numbers[j, k] = table.numbers[row, k]
        for k in range(table.target_keys.shape[1]):
            block.target_keys[j, k] = table.target_keys[row, k]
    slot = _allocate_slot(workspace)
    nodes.extent[slot, 0], nodes.extent[slot, 1], nodes.extent[slot, 2] = number, 0, stop - start
    nodes.extent[slot, 3] = depth
    for j in range(2):
        nodes.bounds[slot, j] = workspace.deferred_bounds[i, j]
    nodes.key[slot] = workspace.deferred_key[i]
    _sum_node(block, workspace.block_rows, nodes, slot)
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
def _allocate_slot(workspace):
    slot = workspace.free[workspace.state[N_USED]]
    workspace.state[N_USED] += 1
    return slot


@deep_inline
def _free_slot(workspace, slot):
    workspace.state[N_USED] -= 1
    workspace.free[workspace.state[N_USED]] = slot


@deep_inline
def _pop(workspace, best_first):
    """Remove the last open node, or the first one with the largest gain; return its slot."""
    heap, nodes, last = workspace.heap, workspace.nodes, workspace.state[N_OPEN] - 1
    if best_first:
        best = 0
        for i in range(1, last + 1):
            gain, top = nodes.gain[heap[i]], nodes.gain[heap[best]]
            if gain > top or (gain == top and nodes.extent[heap[i], 0] < nodes.extent[heap[best], 0]):
                best = i
        heap[best], heap[last] = heap[last], heap[best]
    workspace.state[N_OPEN] = last
    return heap[last]


@deep_inline
def _split(data, columns, tree, workspace, rows, slot):
    """Partition the rows of a node; return the slots of its children, and free its own."""
    nodes, state = workspace.nodes, workspace.state
    number, start, stop, depth = nodes.extent[slot]
    column, threshold, missing_left, categorical = nodes.split[slot]
    child = state[N_NODES]
    state[N_NODES] += 2
    state[N_LEAVES] += 1
    if categorical:
        tree.packed_nodes[number] = pack_set(child, column)
        tree.set_number[number] = state[N_SETS]
        for word in range(4):
            tree.sets[state[N_SETS], word] = nodes.goes_left[slot, word]
        state[N_SETS] += 1
    else:
        tree.packed_nodes[number] = pack_split(child, column, threshold, missing_left)
    _add_gain(tree.gains, column, max(nodes.gain[slot], 0.0))
    left, right = _allocate_slot(workspace), _allocate_slot(workspace)
    middle = _partition(data.codes, columns, rows, workspace.buffer, nodes, slot)
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
        boundary = (nodes.bounds[slot, 2] + nodes.bounds[slot, 3]) / 2.0
        lower, upper = (right, left) if columns.direction[column] > 0 else (left, right)
        nodes.bounds[lower, 0], nodes.bounds[upper, 1] = boundary, boundary
    _free_slot(workspace, slot)
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
def _partition(codes, columns, rows, buffer, nodes, slot):
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
            buffer[n_right] = row
            at += left
            n_right += one - left
    else:
        base = np.uint8(not missing_left)
        highest = np.uint8(threshold - np.int64(base))
        for i in range(start, stop):
            row = rows[i]
            left = np.uintp(np.uint8(codes[np.uintp(row), stored] - base) <= highest)
            rows[at] = row
            buffer[n_right] = row
            at += left
            n_right += one - left
    for i in range(n_right):
        rows[at + i] = buffer[i]
    return np.int64(at)


@deep_kernel
def _translate(columns, nodes, slot, bytes_left):
    """Write the set of bytes of a shared column that stand for codes that go left."""
    column, threshold, missing_left, categorical = nodes.split[slot]
    usual, base = columns.usual[column], columns.base[column]
    for code in range(-1, columns.n_bins[column] + 1):  # first -1, which stands for the usual code
        actual = usual if code < 0 else np.int64(code)
        if code == usual:
            continue
        if categorical:
            left = in_set(nodes.goes_left[slot], actual) != 0
        else:
            left = actual <= threshold if actual else missing_left != 0
        if code < 0:
            for word in range(4):
                bytes_left[word] = ~np.uint64(0) if left else np.uint64(0)
            continue
        byte = base + actual - np.int64(actual > usual)
        bit = np.uint64(1) << np.uint64(byte & 63)
        if left:
            bytes_left[byte >> 6] |= bit
        else:
            bytes_left[byte >> 6] &= ~bit


@deep_inline
def _make_leaf(data, tree, workspace, rows, slot, origin):
    """Write a leaf: the number of its class if it has only one, else a row of values."""
    nodes, state = workspace.nodes, workspace.state
    _free_slot(workspace, slot)
    sums, outputs = nodes.sums[slot], tree.values.shape[1]
    classes = data.classes.shape[0] > 0
    weight, n_present, present = np.float64(sums[0]), 0, np.int64(0)
    if classes:
        total = np.int64(0)
        for k in range(outputs):
            total += sums[k]
            if sums[k]:
                n_present += 1
                present = k
        weight = np.float64(total)
    second = np.float64(sums[1]) / weight  # fraction of class 1, or mean of the first target: constrained
    clipped = clip(second, nodes.bounds[slot])
    if n_present == 1 and clipped == second:
        tree.packed_nodes[nodes.extent[slot, 0]] = pack_leaf(present)
        return
    number = state[N_VALUES]
    tree.packed_nodes[nodes.extent[slot, 0]] = pack_leaf(number + outputs if classes else number)
    for k in range(outputs):
        tree.values[number, k] = np.float64(sums[k if classes else k + 1]) / weight
    if clipped != second:
        tree.values[number, np.int64(classes)] = clipped
        if classes:
            tree.values[number, 0] = 1.0 - clipped
    state[N_VALUES] += 1
    if tree.leaf_starts.shape[0]:
        _store_rows(tree, workspace, rows, slot, origin, number)


@deep_kernel
def _store_rows(tree, workspace, rows, slot, origin, number):
    """Store the rows of the table that are in a leaf."""
    start, stop = workspace.nodes.extent[slot, 1], workspace.nodes.extent[slot, 2]
    first = tree.leaf_starts[number]
    for i in range(start, stop):
        row = rows[i]
        tree.leaf_rows[first + i - start] = row if origin < 0 else workspace.rows[origin + np.int64(row)]
    tree.leaf_starts[number + 1] = first + stop - start
