"""Growing one tree: a single kernel that all threads of a team run together.

    start -> [ take the open node with the largest score
               partition its rows                      (rows divided among threads)
               histogram of the smaller child          (rows divided among threads)
               sibling by subtraction, search both     (columns divided among threads) ] until done

Only thread 0 changes nodes, heap and slots; the others read its decisions from `work.frontier.control`.
Between two barriers every array has one writer per element. Sums are integers and choices are made in a fixed
order, so the tree does not depend on the number of threads. The sums give gains, not counts: the minimal leaf
size is checked by counting the best split, in small nodes at once, in large ones when it is made, and
a column whose best split is too small is searched again with exact counts. A node's gain can only fall then,
so that the best-first order is the same as with counts from the start.
"""

import numpy as np

from hedgerow.kernels.cpu.frontier import (
    FILL,
    LARGE,
    LARGE_SLOT,
    N_FILLS,
    N_NODES,
    NEXT,
    SMALL,
    SMALL_SLOT,
    TRIED,
    allow_columns,
    commit,
    finish,
    search_single,
    select_next,
    start_tree,
)
from hedgerow.kernels.cpu.histogram import (
    fill_private,
    merge_column,
    subtract_column,
    sum_stored,
)
from hedgerow.kernels.cpu.jit import intrinsics, kernel
from hedgerow.kernels.cpu.partition import count_copies, count_left, gather_rows, split_rows, thread_range
from hedgerow.kernels.cpu.split import best_column, least_gain, search_column

atomic_add, atomic_load, yield_time_slice = intrinsics(
    "intrinsics", "atomic_add", "atomic_load", "yield_time_slice"
)
_LEADER = np.int64(0)  # typed: a literal would compile the called kernel again
_LARGEST = np.finfo(np.float64).max
VERIFIED_ROWS = 2048  # nodes up to this size have their best split counted at once
ROWS_PER_THREAD = 2048  # below this a second thread does not pay off

_SPINS_BEFORE_YIELD = 2000  # about two microseconds: longer than a barrier between running threads takes


@kernel
def barrier(sync, n_threads):
    """Wait until all threads of the team have called it.

    sync : int64 (16,), element 0 counts arrivals, element 8 (another cache line) counts barriers passed.
    """
    if n_threads == 1:
        return
    passed = atomic_load(sync, 8)
    if atomic_add(sync, 0, 1) == n_threads - 1:
        atomic_add(sync, 0, -n_threads)
        atomic_add(sync, 8, 1)
        return
    spins = 0
    while atomic_load(sync, 8) == passed:
        spins += 1
        if spins > _SPINS_BEFORE_YIELD:
            yield_time_slice()


@kernel
def threads_for(n_rows, n_threads):
    """Return how many threads process the rows of a node."""
    return min(n_threads, max(1, n_rows // ROWS_PER_THREAD))


@kernel
def own_columns(rules, thread, n_threads):
    """Return the columns of a thread: neighbours, so that two threads seldom write to one cache line."""
    first, last = thread_range(0, rules.columns.shape[0], thread, n_threads)
    return rules.columns[first:last]


@kernel
def fill_histograms(codes, statistics, rules, nodes, rows, control, memory, sync, thread, n_threads):
    """Compute the histograms of the nodes selected in control.

    The smaller child is summed from its rows, the larger by subtraction, or from its rows too when the
    pool does not hold the histogram of the parent.
    """
    offsets, pool, used, partial = codes.offsets, memory.pool, memory.used, memory.partial
    for turn in range(control[N_FILLS]):
        node = nodes[control[FILL + turn]]
        n_private = threads_for(node.stop - node.start, n_threads)
        if thread < n_private:
            first, last = thread_range(node.start, node.stop, thread, n_private)
            used[thread] = fill_private(
                codes, statistics, rows, first, last, rules.stored, memory.packed[thread], partial[thread]
            )
        barrier(sync, n_threads)
        packed = memory.packed[: n_private if statistics.packed.shape[0] else 0]
        if node.depth == 0:
            if thread == 0:
                only = codes.stored_offsets[rules.stored[0] :]
                node.gradient, node.hessian = sum_stored(only, n_private, packed, partial, used)
            barrier(sync, n_threads)
        slot, parent = control[SMALL_SLOT + turn], control[LARGE_SLOT]
        for column in own_columns(rules, thread, n_threads):
            merge_column(codes, column, node, n_private, packed, partial, used, pool[slot])
            if control[LARGE] >= 0 and control[N_FILLS] == 1:
                subtract_column(offsets[column], offsets[column + 1], pool[parent], pool[slot])
        if turn + 1 < control[N_FILLS]:
            barrier(sync, n_threads)


@kernel
def search_nodes(codes, rules, nodes, frontier, memory, search, thread, n_threads):
    """Find the best split of every column for the nodes selected in control; each thread has its columns."""
    control = frontier.control
    columns = own_columns(rules, thread, n_threads)
    for turn in range(2 * columns.shape[0]):
        which, column = turn & 1, columns[turn >> 1]
        number = control[SMALL + which]
        if number >= 0 and frontier.allowed[which, column]:
            histogram, split = memory.pool[control[SMALL_SLOT + which]], frontier.found[which, column]
            uncounted = memory.counts[:0]
            search_column(codes, rules, histogram, uncounted, nodes[number], column, search, thread, split)


@kernel
def _verify(codes, copies, rules, nodes, rows, frontier, memory, search):
    """Replace a best split whose children are too small.

    This is done at once for small nodes, for others when their split was tried and did not fit. Thread 0
    counts the rows that it sends left; if these are too few or too many, its column is searched again with
    exact counts, until the best split fits.
    """
    control = frontier.control
    for which in range(2):
        number = control[SMALL + which]
        size = nodes[max(number, 0)].stop - nodes[max(number, 0)].start
        if number < 0 or (size > VERIFIED_ROWS and not control[TRIED]):
            continue
        node, histogram = nodes[number], memory.pool[control[SMALL_SLOT + which]]
        least, allowed, found = least_gain(node, rules), frontier.allowed[which], frontier.found[which]
        best = best_column(rules, number, least, allowed, found)
        while best >= 0:
            split, column = found[best], codes.by_column[best]
            count = count_left(column, split, rows, node.start, node.stop, copies)
            if count >= rules.min_count and node.count - count >= rules.min_count:
                break
            counts = memory.counts
            for entry in range(codes.offsets[best], codes.offsets[best + 1]):
                counts[entry] = 0
            for k in range(node.start, node.stop):
                row = np.uintp(rows[k])
                counts[codes.offsets[best] + np.int64(column[row])] += copies[row] if copies.shape[0] else 1
            search_column(codes, rules, histogram, counts, node, best, search, _LEADER, split)
            best = best_column(rules, number, least, allowed, found)


@kernel
def _split_node(codes, copies, rules, nodes, number, work, sync, thread, n_threads):
    """Split a node, or select it to be searched again if a child would be too small."""
    node, lefts, frontier = nodes[number], work.lefts, work.frontier
    start, stop, total = node.start, node.stop, node.count
    n_workers = threads_for(stop - start, n_threads)
    if thread < n_workers:
        first, last = thread_range(start, stop, thread, n_workers)
        column = codes.by_column[node.split.column]
        left, right = work.buffer[0, first:], work.buffer[1, first:]
        lefts[0, thread] = split_rows(column, node.split, work.rows, first, last, left, right)
        lefts[1, thread] = count_copies(work.buffer[0], first, first + lefts[0, thread], copies)
    barrier(sync, n_threads)
    n_left, count = lefts[0, 0], lefts[1, 0]
    for other in range(1, n_workers):
        n_left += lefts[0, other]
        count += lefts[1, other]
    fits = count >= rules.min_count and total - count >= rules.min_count
    if fits and thread < n_workers:
        gather_rows(work.rows, work.buffer, start, stop, lefts[0], thread, n_workers)
    if thread == 0:
        if fits:
            commit(rules, nodes, number, n_left, count, frontier)
        else:
            search_single(nodes, number, frontier)
    barrier(sync, n_threads)


@kernel
def grow(codes, statistics, rules, nodes, work, sync, n_rows, thread, n_threads):
    """Grow a tree on work.rows[:n_rows] into `nodes`; return the number of nodes."""
    frontier, memory, control = work.frontier, work.histograms, work.frontier.control
    if thread == 0:
        count = count_copies(work.rows, 0, n_rows, statistics.copies)
        start_tree(nodes, n_rows, count, frontier)
    barrier(sync, n_threads)
    while True:
        if control[SMALL] >= 0 or control[LARGE] >= 0:
            if thread == 0:
                allow_columns(rules, frontier)
            barrier(sync, n_threads)
            fill_histograms(
                codes, statistics, rules, nodes, work.rows, control, memory, sync, thread, n_threads
            )
            search_nodes(codes, rules, nodes, frontier, memory, work.search, thread, n_threads)
            barrier(sync, n_threads)
        if thread == 0:
            if rules.min_count > 1:
                _verify(codes, statistics.copies, rules, nodes, work.rows, frontier, memory, work.search)
            control[NEXT] = select_next(rules, nodes, frontier)
        barrier(sync, n_threads)
        number = control[NEXT]
        if number < 0:
            break
        _split_node(codes, statistics.copies, rules, nodes, number, work, sync, thread, n_threads)
    if thread == 0:
        finish(rules, nodes, frontier)
    return control[N_NODES]


# --- records of a grown tree


@kernel
def leaves_in_order(nodes, leaves, starts):
    """Write the numbers of the leaves of a grown tree from left to right, and the starts of their rows."""
    stack = np.empty(nodes.shape[0] + 1, np.int64)
    stack[0] = 0
    depth, n = 1, 0
    while depth > 0:
        depth -= 1
        number = stack[depth]
        left = nodes[number].left
        if left == 0:
            leaves[n] = number
            starts[n] = nodes[number].start
            n += 1
        else:
            stack[depth] = left + 1
            stack[depth + 1] = left
            depth += 2
    starts[n] = nodes[0].stop


@kernel
def convert_units(nodes, gradient_unit, hessian_unit):
    """Convert values, bounds and gains of a grown tree from integer steps to the units of the loss.

    A value is in units of g / h, a gain in units of g**2 / h; a leaf has no gain. A gain above the range
    of float64, of a target near 1e155, becomes the largest float64.
    """
    unit = gradient_unit / hessian_unit
    for number in range(nodes.shape[0]):
        node = nodes[number]
        node.value *= unit
        node.lower *= unit
        node.upper *= unit
        node.split.gain = min(node.split.gain * unit * gradient_unit, _LARGEST) if node.left else 0.0
