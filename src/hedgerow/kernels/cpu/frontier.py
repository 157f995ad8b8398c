"""The frontier: the open nodes of a tree being grown, managed by thread 0 of the team.

Open nodes are in a heap, the largest score first (the gain, if no noise is added) and the older node among
equals. The histogram of an open node stays in a slot of the pool, so that its larger child needs only a
subtraction; when the pool is full, an open node has none and both its children are summed from their rows.
Sums are integers: the tree is the same either way.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.random import NODE_COLUMNS, choose_columns
from hedgerow.kernels.cpu.split import NO_GAIN, best_column, leaf_value, least_gain, split_score

# Indices of Frontier.control.
NEXT = 0  # the node to split, -1 to stop
SMALL = 1  # the child with fewer rows, -1 when it need not be searched
LARGE = 2
SMALL_SLOT = 3  # slots of the pool for their histograms
LARGE_SLOT = 4
FILL = 5  # the node whose rows are summed first, the smaller child, and in 6 the larger one
N_FILLS = 7  # 1, 0 when the histogram is present, 2 when that of the parent is not
TRIED = 8  # whether a split of the node was tried and did not fit
N_NODES = 9
N_LEAVES = 10
N_OPEN = 11
N_FREE = 12

# Typed constants: a literal argument would compile the called kernel again.
_FIRST, _SECOND = np.int64(0), np.int64(1)


@kernel
def _is_before(frontier, number, other):
    a, b = frontier.priority[number], frontier.priority[other]
    return a > b or (a == b and number < other)


@kernel
def _push(frontier, number):
    heap = frontier.heap
    at = frontier.control[N_OPEN]
    frontier.control[N_OPEN] += 1
    while at > 0 and _is_before(frontier, number, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = number


@kernel
def _pop(frontier):
    heap = frontier.heap
    top = heap[0]
    frontier.control[N_OPEN] -= 1
    n = frontier.control[N_OPEN]
    number = heap[n]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and _is_before(frontier, heap[child + 1], heap[child]):
            child += 1
        if not _is_before(frontier, heap[child], number):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number
    return top


@kernel
def _allocate(frontier, scratch):
    """Return a free slot, or scratch entry `scratch` behind the slots."""
    if frontier.control[N_FREE] == 0:
        return frontier.slots.shape[0] + scratch
    frontier.control[N_FREE] -= 1
    return frontier.slots[frontier.control[N_FREE]]


@kernel
def _release(frontier, slot):
    if 0 <= slot < frontier.slots.shape[0]:
        frontier.slots[frontier.control[N_FREE]] = slot
        frontier.control[N_FREE] += 1


@kernel
def allow_columns(rules, frontier):
    """Mark the columns the selected nodes may be split on: their interaction groups, then a random choice."""
    chosen = frontier.chosen
    for which in range(2):
        number, allowed, n = frontier.control[SMALL + which], frontier.allowed[which], 0
        if number < 0:
            continue
        for column in range(allowed.shape[0]):
            allowed[column] = 0
        for column in rules.columns:
            fits = rules.groups.shape[0] == 0
            for word in range(frontier.groups.shape[1]):
                fits |= (rules.groups[column, word] & frontier.groups[number, word]) != 0
            if fits:
                chosen[n] = column
                n += 1
        if rules.columns_per_node < n:
            key = rules.tree * (1 << 32) + number
            choose_columns(chosen[:n], rules.columns_per_node, rules.seed, NODE_COLUMNS, key)
            n = rules.columns_per_node
        for i in range(n):
            allowed[chosen[i]] = 1


@kernel
def splittable(node, rules):
    """Return whether the limits allow a split of a node, without its histogram."""
    large = node.count >= 2 * rules.min_count and node.hessian >= 2 * rules.min_hessian
    return large and node.depth < rules.max_depth


@kernel
def start_tree(nodes, n_rows, count, frontier):
    """Start a tree: one open node with all rows, all slots free. Its sums follow from its histogram."""
    root = nodes[0]
    root.left = 0
    root.start = 0
    root.stop = n_rows
    root.count = count
    root.depth = 0
    root.lower = -np.inf
    root.upper = np.inf
    root.split.gain = NO_GAIN
    control = frontier.control
    control[N_NODES] = 1
    control[N_LEAVES] = 1
    control[N_OPEN] = 0
    control[N_FREE] = 0
    for slot in range(frontier.slots.shape[0] - 1, -1, -1):
        _release(frontier, slot)
    for word in range(frontier.groups.shape[1]):
        frontier.groups[0, word] = ~np.uint64(0)
    control[FILL] = 0
    control[N_FILLS] = 1
    control[TRIED] = 0
    control[SMALL] = 0
    control[LARGE] = -1
    control[SMALL_SLOT] = _allocate(frontier, _FIRST)
    root.slot = control[SMALL_SLOT]


@kernel
def _bound_children(rules, node, left, right):
    """Pass the bounds on leaf values down; a monotonic split divides them halfway between its two values."""
    left.lower, left.upper = node.lower, node.upper
    right.lower, right.upper = node.lower, node.upper
    if rules.monotonic.shape[0] == 0 or rules.monotonic[node.split.column] == 0:
        return
    l1, l2 = rules.l1, rules.l2
    left_value = leaf_value(
        np.float64(left.gradient), np.float64(left.hessian), l1, l2, node.lower, node.upper
    )
    right_value = leaf_value(
        np.float64(right.gradient), np.float64(right.hessian), l1, l2, node.lower, node.upper
    )
    middle = (left_value + right_value) / 2.0
    if rules.monotonic[node.split.column] > 0:
        left.upper, right.lower = middle, middle
    else:
        left.lower, right.upper = middle, middle


@kernel
def _add_children(rules, nodes, number, n_left, count, frontier):
    node = nodes[number]
    node.left = frontier.control[N_NODES]
    left, right = nodes[node.left], nodes[node.left + 1]
    frontier.control[N_NODES] += 2
    frontier.control[N_LEAVES] += 1
    left.start, left.stop = node.start, node.start + n_left
    right.start, right.stop = node.start + n_left, node.stop
    left.count, right.count = count, node.count - count
    left.gradient, left.hessian = node.split.left_gradient, node.split.left_hessian
    right.gradient = node.gradient - node.split.left_gradient
    right.hessian = node.hessian - node.split.left_hessian
    _bound_children(rules, node, left, right)
    for side in range(2):
        child = nodes[node.left + side]
        child.left = 0
        child.depth = node.depth + 1
        child.slot = -1
        child.split.gain = NO_GAIN
        for word in range(frontier.groups.shape[1]):
            common = frontier.groups[number, word] & rules.groups[node.split.column, word]
            frontier.groups[node.left + side, word] = common


@kernel
def commit(rules, nodes, number, n_left, count, frontier):
    """Add the children of a partitioned node; write to `control` which of them need a histogram."""
    control = frontier.control
    _add_children(rules, nodes, number, n_left, count, frontier)
    node = nodes[number]
    last = control[N_LEAVES] >= rules.max_leaves  # no more splits: the children are not searched
    small, large = node.left, node.left + 1
    if nodes[small].stop - nodes[small].start > nodes[large].stop - nodes[large].start:
        small, large = large, small
    small_open = not last and splittable(nodes[small], rules)
    large_open = not last and splittable(nodes[large], rules)
    control[FILL] = small
    control[FILL + 1] = large
    control[N_FILLS] = 2 if large_open and node.slot < 0 else 1
    control[TRIED] = 0
    control[SMALL] = small if small_open else -1
    control[LARGE] = large if large_open else -1
    if large_open:
        control[LARGE_SLOT] = node.slot if node.slot >= 0 else _allocate(frontier, _SECOND)
    else:
        _release(frontier, node.slot)
    control[SMALL_SLOT] = _allocate(frontier, _FIRST) if small_open else frontier.slots.shape[0]
    node.slot = -1
    if small_open:
        nodes[small].slot = control[SMALL_SLOT]
    if large_open:
        nodes[large].slot = control[LARGE_SLOT]


@kernel
def search_single(nodes, number, frontier):
    """Select one node to be searched again instead of two children."""
    control = frontier.control
    slot = nodes[number].slot
    control[FILL] = number
    control[N_FILLS] = 1 if slot < 0 else 0
    control[TRIED] = 1
    control[SMALL] = number
    control[LARGE] = -1
    control[SMALL_SLOT] = slot if slot >= 0 else frontier.slots.shape[0]


@kernel
def select_next(rules, nodes, frontier):
    """Open the searched nodes whose split gains enough; return the best open node, -1 when done."""
    for which in range(2):
        number = frontier.control[SMALL + which]
        if number < 0:
            continue
        node = nodes[number]
        least = least_gain(node, rules)
        best = best_column(rules, number, least, frontier.allowed[which], frontier.found[which])
        opens = best >= 0
        if opens:
            copy_split(frontier.found[which, best], node.split)
            opens = node.split.gain > least
        if opens:
            frontier.priority[number] = split_score(rules, number, best, node.split.gain)
            _push(frontier, number)
        else:
            node.split.gain = NO_GAIN
            _release(frontier, node.slot)
        if not opens or node.slot >= frontier.slots.shape[0]:
            node.slot = -1
    if frontier.control[N_OPEN] == 0 or frontier.control[N_LEAVES] >= rules.max_leaves:
        return -1
    return _pop(frontier)


@kernel
def copy_split(source, target):
    """Copy a record."""
    target.gain = source.gain
    target.left_gradient = source.left_gradient
    target.left_hessian = source.left_hessian
    target.column = source.column
    target.threshold = source.threshold
    target.missing_left = source.missing_left
    target.categorical = source.categorical
    for word in range(target.goes_left.shape[0]):
        target.goes_left[word] = source.goes_left[word]


@kernel
def finish(rules, nodes, frontier):
    """Compute the value of every node: -T(G) / (H + l2), within its bounds."""
    for number in range(frontier.control[N_NODES]):
        node = nodes[number]
        gradient, hessian = np.float64(node.gradient), np.float64(node.hessian)
        node.value = leaf_value(gradient, hessian, rules.l1, rules.l2, node.lower, node.upper)
