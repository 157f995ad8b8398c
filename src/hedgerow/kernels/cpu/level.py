"""One level of a symmetric tree: the search for the split that all its nodes share, and their children.

The nodes of depth d are 2**d - 1 ... 2**(d + 1) - 2, from left to right, and the children of node i are
2 i + 1 and 2 i + 2, empty ones too. The score of a split is the sum over the nodes of their gains, as in
`hedgerow.kernels.cpu.split`, added up in the order of the nodes. A node adds 0 if a child has a smaller
hessian than allowed, or if its children would break a monotonic constraint; the split is applied to it
nevertheless.

The value of a child of too few rows or of too small a hessian is that of its parent, so that every value
stands on enough rows. Categories are ordered by the mean of the gradients that the splits above have left:
sum of g + (v - v0) h over the nodes, where v is the value of the node and v0 that of the root.
"""

import numpy as np

from hedgerow.kernels.cpu.frontier import LARGE, SMALL, allow_columns, copy_split, splittable
from hedgerow.kernels.cpu.jit import inlined_kernel, kernel
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.split import (
    NO_GAIN,
    ROUNDING,
    best_column,
    first_largest,
    insert,
    leaf_value,
    ordered_sums,
    send_left,
    value_score,
)


@inlined_kernel
def _add_plain_gains(run_g, run_h, less_g, less_h, node, l2, fewest, totals):
    """Add the gains of a node for all splits of a column, without l1 and without bounds.

    The left sums are run - less. See `hedgerow.kernels.cpu.split._plain_gains`.
    """
    total_g, total_h = np.float64(node.gradient), np.float64(node.hessian)
    parent = total_g * total_g / (total_h + l2)
    total_hessian = node.hessian
    for p in range(run_g.shape[0]):
        left_h = run_h[p] - less_h
        right_h = total_hessian - left_h
        gl = np.float64(run_g[p] - less_g)
        gr = total_g - gl
        hl = np.float64(left_h) + l2
        hr = np.float64(right_h) + l2
        gain = (gl * gl * hr + gr * gr * hl) / (hl * hr) - parent
        totals[p] += gain if min(left_h, right_h) >= fewest else 0.0


@kernel
def _bounded_gain(left_g, left_h, node, rules, l2, direction):
    """The gain of one split of a node with l1, bounds and a monotonic direction, or 0 if it does not fit."""
    if min(left_h, node.hessian - left_h) < rules.min_hessian:
        return 0.0
    l1, lower, upper = rules.l1, node.lower, node.upper
    total_g, total_h = np.float64(node.gradient), np.float64(node.hessian)
    gl, hl = np.float64(left_g), np.float64(left_h)
    value = leaf_value(total_g, total_h, l1, l2, lower, upper)
    gr, hr = total_g - gl, total_h - hl
    left = leaf_value(gl, hl, l1, l2, lower, upper)
    right = leaf_value(gr, hr, l1, l2, lower, upper)
    gain = value_score(gl, hl, left, l1, l2) + value_score(gr, hr, right, l1, l2)
    gain -= value_score(total_g, total_h, value, l1, l2)
    return gain if (right - left) * direction >= 0.0 else 0.0


@inlined_kernel
def _add_gains(run_g, run_h, less_g, less_h, node, rules, column, l2, totals):
    """Add the gains of a node for all splits of a column to the totals of the level."""
    if rules.l1 == 0.0 and rules.monotonic.shape[0] == 0:
        _add_plain_gains(run_g, run_h, less_g, less_h, node, l2, rules.min_hessian, totals)
        return
    direction = np.float64(rules.monotonic[column]) if rules.monotonic.shape[0] else 0.0
    for p in range(run_g.shape[0]):
        totals[p] += _bounded_gain(run_g[p] - less_g, run_h[p] - less_h, node, rules, l2, direction)


@kernel
def _order_categories(nodes, first_node, pool, first, last, smoothing, order, ratio):
    """Write the codes of the level by rising residual / (H + smoothing), then code; return their number."""
    n, root_value = 0, nodes[0].value
    for entry in range(first, last):
        residual, hessian, present = 0.0, np.int64(0), False
        for number in range(first_node, 2 * first_node + 1):
            slot = nodes[number].slot
            if slot < 0:
                continue
            g, h = pool[slot, 0, entry], pool[slot, 1, entry]
            if entry > first:
                g -= pool[slot, 0, entry - 1]
                h -= pool[slot, 1, entry - 1]
            residual += np.float64(g) + (nodes[number].value - root_value) * np.float64(h)
            hessian += h
            present |= g != 0 or h != 0
        if not present:
            continue
        below = np.float64(hessian) + smoothing
        value = residual / below if below > 0.0 or residual != 0.0 else np.inf
        insert(entry - first, value, n, order, ratio)
        n += 1
    return n


@kernel
def _is_heavier_left(codes, nodes, first_node, pool, split):
    """Return whether more than half of the hessian of the level goes left."""
    left, total = np.int64(0), np.int64(0)
    for number in range(first_node, 2 * first_node + 1):
        if nodes[number].slot >= 0:
            left += left_sums(codes, pool[nodes[number].slot], split)[1]
            total += nodes[number].hessian
    return 2 * left > total


@kernel
def left_sums(codes, histogram, split):
    """Sums of gradient and hessian of the rows of a node that a split sends left, from its running sums."""
    first = codes.offsets[split.column]
    if not split.categorical:
        gradient, hessian = histogram[0, first + split.threshold], histogram[1, first + split.threshold]
        if not split.missing_left:
            gradient -= histogram[0, first]
            hessian -= histogram[1, first]
        return gradient, hessian
    gradient, hessian = np.int64(0), np.int64(0)
    for code in range(codes.n_bins[split.column] + 1):
        if in_set(split.goes_left, code):
            gradient += histogram[0, first + code] - (histogram[0, first + code - 1] if code else 0)
            hessian += histogram[1, first + code] - (histogram[1, first + code - 1] if code else 0)
    return gradient, hessian


@kernel
def _search_level_column(codes, rules, nodes, first_node, pool, column, search, thread, split):
    """Write the best split of a column for a level to `split`; the gain is NO_GAIN without one.

    Splits are tried as in `hedgerow.kernels.cpu.split.search_column`.
    """
    totals, order, sums = search.gains[thread], search.order[thread], search.sums[thread]
    first, n_bins = codes.offsets[column], codes.n_bins[column]
    categorical, some_missing = codes.categorical[column] != 0, False
    l2, n_present = rules.l2, 0
    for number in range(first_node, 2 * first_node + 1):
        slot = nodes[number].slot
        if slot >= 0:
            some_missing |= pool[slot, 0, first] != 0 or pool[slot, 1, first] != 0
    split.gain = NO_GAIN
    if categorical:
        l2 += rules.smoothing
        last = first + n_bins + 1
        n_present = _order_categories(
            nodes, first_node, pool, first, last, rules.smoothing, order, search.gains[thread]
        )
    for missing_left in range(2 if some_missing and not categorical else 1):
        if categorical:
            n = max(n_present - 1, 0)
        else:
            n = n_bins if some_missing and not missing_left else n_bins - 1
        for p in range(n):
            totals[p] = 0.0
        for number in range(first_node, 2 * first_node + 1):
            if nodes[number].slot < 0:
                continue
            node, histogram = nodes[number], pool[nodes[number].slot]
            source, start, less_g, less_h = histogram, first + 1, np.int64(0), np.int64(0)
            if categorical:
                ordered_sums(histogram, order[:0], first, order, n, sums)
                source, start = sums[:2], 0
            elif not missing_left:
                less_g, less_h = histogram[0, first], histogram[1, first]
            run_g, run_h = source[0, start : start + n], source[1, start : start + n]
            _add_gains(run_g, run_h, less_g, less_h, node, rules, column, l2, totals)
        position = first_largest(totals, n)
        if position >= 0 and totals[position] > split.gain:
            split.gain = totals[position]
            split.column = column
            split.threshold = position + 1
            split.categorical = np.int64(categorical)
            split.missing_left = missing_left
            if categorical:
                send_left(split, order, n_present, position)
            if not some_missing:
                split.missing_left = np.int64(_is_heavier_left(codes, nodes, first_node, pool, split))
                if categorical:
                    send_left(split, order, n_present, position)


@kernel
def search_level(codes, rules, nodes, depth, frontier, pool, search, columns, thread):
    """Find the best split of the level for each of the columns."""
    first_node = (1 << depth) - 1
    for column in columns:
        if frontier.allowed[0, column]:
            split = frontier.found[0, column]
            _search_level_column(codes, rules, nodes, first_node, pool, column, search, thread, split)


@kernel
def allow_level_columns(rules, depth, frontier):
    """Mark the columns that the level may be split on; the draws are those of its first node."""
    frontier.control[SMALL] = (1 << depth) - 1
    frontier.control[LARGE] = -1
    allow_columns(rules, frontier)


@kernel
def choose_column(rules, nodes, depth, frontier):
    """Return the column of the split of the level, -1 if none gains enough."""
    first_node, score = (1 << depth) - 1, 0.0
    for number in range(first_node, 2 * first_node + 1):
        node = nodes[number]
        if node.slot >= 0:
            gradient = np.float64(node.gradient)
            score += gradient * gradient / (np.float64(node.hessian) + rules.l2)
    least = max(rules.min_gain, ROUNDING * score)
    best = best_column(rules, first_node, least, frontier.allowed[0], frontier.found[0])
    if best >= 0 and not frontier.found[0, best].gain > least:
        best = -1
    if best >= 0 and depth + 1 < rules.max_depth:
        for word in range(frontier.groups.shape[1]):
            common = frontier.groups[first_node, word] & rules.groups[best, word]
            frontier.groups[2 * first_node + 1, word] = common
    return best


# --- nodes


@kernel
def prepare_root(rules, nodes):
    """Compute the value of the root, and whether it is searched."""
    root = nodes[0]
    root.value = leaf_value(
        np.float64(root.gradient), np.float64(root.hessian), rules.l1, rules.l2, root.lower, root.upper
    )
    root.slot = 0 if splittable(root, rules) else -1


@kernel
def _own_value(rules, child, parent):
    """The value of a child within the bounds of its parent: that of the parent if it has too few rows."""
    if child.count < rules.min_count or child.hessian < rules.min_hessian:
        return parent.value
    gradient, hessian = np.float64(child.gradient), np.float64(child.hessian)
    return leaf_value(gradient, hessian, rules.l1, rules.l2, parent.lower, parent.upper)


@kernel
def _set_values(rules, node, left, right, column):
    """Set values and bounds of the children; a monotonic split divides the bounds between its two values."""
    left.lower, left.upper = node.lower, node.upper
    right.lower, right.upper = node.lower, node.upper
    left.value, right.value = _own_value(rules, left, node), _own_value(rules, right, node)
    direction = rules.monotonic[column] if rules.monotonic.shape[0] else 0
    if direction == 0:
        return
    middle = (left.value + right.value) / 2.0
    if direction > 0:
        left.upper, right.lower = middle, middle
    else:
        left.lower, right.upper = middle, middle
    left.value = min(max(left.value, left.lower), left.upper)
    right.value = min(max(right.value, right.lower), right.upper)


@kernel
def _gain_of_node(rules, node, left_g, left_h, search, thread):
    """Return what a node adds to the gain of a level; 0 if it is negative, as penalties may cause."""
    if node.slot < 0:
        return 0.0
    sums, total, split = search.sums[thread], search.gains[thread, :1], node.split
    sums[0, 0], sums[1, 0], total[0] = left_g, left_h, 0.0
    l2 = rules.l2 + (rules.smoothing if split.categorical else 0.0)
    less = np.int64(0)
    _add_gains(sums[0, :1], sums[1, :1], less, less, node, rules, split.column, l2, total)
    return max(total[0], 0.0)


@kernel
def add_level_children(rules, nodes, number, split, left, search, thread):
    """Write the split of a node and its children.

    left : sums of gradient and hessian, rows and copies on the left. search : scratch memory of the threads.
    """
    left_g, left_h, n_left, count = left
    node = nodes[number]
    copy_split(split, node.split)
    node.split.left_gradient, node.split.left_hessian = left_g, left_h
    node.split.gain = _gain_of_node(rules, node, left_g, left_h, search, thread)
    node.left = 2 * number + 1
    left_child, right_child = nodes[2 * number + 1], nodes[2 * number + 2]
    left_child.start, left_child.stop = node.start, node.start + n_left
    right_child.start, right_child.stop = node.start + n_left, node.stop
    left_child.count, right_child.count = count, node.count - count
    left_child.gradient, left_child.hessian = left_g, left_h
    right_child.gradient, right_child.hessian = node.gradient - left_g, node.hessian - left_h
    for side in range(2):
        child = nodes[2 * number + 1 + side]
        child.left = 0
        child.depth = node.depth + 1
        child.slot = -1
        child.split.gain = NO_GAIN
    _set_values(rules, node, left_child, right_child, split.column)


@kernel
def select_slots(rules, nodes, number, present):
    """Assign the slots of the children's histograms; return whether any is needed.

    The child `present` (0 left, 1 right), whose rows are summed, gets a new slot, the other that of the node.
    """
    node = nodes[number]
    summed, other = nodes[node.left + present], nodes[node.left + 1 - present]
    if node.slot < 0 or node.depth + 1 >= rules.max_depth:
        return False
    if splittable(summed, rules):
        summed.slot = node.slot + (1 << node.depth)
    if splittable(other, rules):
        other.slot = node.slot
    return summed.slot >= 0 or other.slot >= 0
