"""Growing a symmetric tree: all nodes of a level have the same split.

    start -> [ search the level               (columns divided among threads)
               choose its split
               for every node of the level: partition its rows, add its children, histogram of the smaller
               child, sibling by subtraction  (nodes divided among threads, or rows if there are few nodes)
             ] until the largest depth, or until no split gains enough

Sums are integers, and what a node adds to the score of a split is added in the order of the nodes, so that
the tree does not depend on the number of threads. A node whose histogram is in slot s of the pool leaves it
to its larger child; the smaller one gets the slot s + 2**depth. So no slot is assigned twice.
"""

import numpy as np

from hedgerow.kernels.cpu.advance import accumulate, add_column, store_root, store_sums
from hedgerow.kernels.cpu.frontier import N_NODES, NEXT, start_tree
from hedgerow.kernels.cpu.grow import barrier, fill_histograms, own_columns, threads_for
from hedgerow.kernels.cpu.histogram import fill_private, merge_column, subtract_column, sum_rows
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.level import (
    add_level_children,
    allow_level_columns,
    choose_column,
    left_sums,
    prepare_root,
    search_level,
    select_slots,
)
from hedgerow.kernels.cpu.partition import count_copies, gather_rows, split_rows, thread_range

_LEADER, _ALONE = np.int64(0), np.int64(1)  # typed: literals would compile the called kernels again
NODES_PER_THREAD = 4  # from this number on, nodes are divided among threads instead of rows


@kernel
def _partition_node(codes, statistics, rules, nodes, number, work, sync, base, thread, n_threads):
    """Partition the rows of a node and add its children; scratch memory is that of threads from `base` on."""
    node, copies, split = (
        nodes[number],
        statistics.copies,
        work.frontier.found[0, work.frontier.control[NEXT]],
    )
    start, stop = node.start, node.stop
    n_workers = threads_for(stop - start, n_threads)
    lefts, counts = work.lefts[0, base:], work.lefts[1, base:]
    if thread < n_workers:
        first, last = thread_range(start, stop, thread, n_workers)
        column = codes.by_column[split.column]
        lefts[thread] = split_rows(
            column, split, work.rows, first, last, work.buffer[0, first:], work.buffer[1, first:]
        )
        counts[thread] = count_copies(work.buffer[0], first, first + lefts[thread], copies)
    barrier(sync, n_threads)
    if thread < n_workers:
        gather_rows(work.rows, work.buffer, start, stop, lefts, thread, n_workers)
    barrier(sync, n_threads)
    if thread == 0:
        n_left, count = np.int64(0), np.int64(0)
        for other in range(n_workers):
            n_left += lefts[other]
            count += counts[other]
        if node.slot >= 0:
            left_g, left_h = left_sums(codes, work.histograms.pool[node.slot], split)
        else:
            left_g, left_h = sum_rows(statistics, work.rows, start, start + n_left)
        left = left_g, left_h, n_left, count
        add_level_children(rules, nodes, number, split, left, work.search, base)
        select_slots(rules, nodes, number, np.int64(2 * n_left > stop - start))
    barrier(sync, n_threads)


@kernel
def _fill_children(codes, statistics, rules, nodes, number, work, sync, base, thread, n_threads):
    """Compute the histograms of the children of a node: the smaller one from its rows."""
    node, memory = nodes[number], work.histograms
    present = np.int64(2 * (nodes[node.left].stop - node.start) > node.stop - node.start)
    child, other = nodes[node.left + present], nodes[node.left + 1 - present]
    if child.slot < 0 and other.slot < 0:
        return
    packed, partial, used = memory.packed[base:], memory.partial[base:], memory.used[base:]
    n_workers = threads_for(child.stop - child.start, n_threads)
    if thread < n_workers:
        first, last = thread_range(child.start, child.stop, thread, n_workers)
        used[thread] = fill_private(
            codes, statistics, work.rows, first, last, rules.stored, packed[thread], partial[thread]
        )
    barrier(sync, n_threads)
    packed = packed[: n_workers if statistics.packed.shape[0] else 0]
    slot, offsets = node.slot + (1 << node.depth), codes.offsets
    for column in own_columns(rules, thread, n_threads):
        merge_column(codes, column, child, n_workers, packed, partial, used, memory.pool[slot])
        if other.slot >= 0:
            subtract_column(offsets[column], offsets[column + 1], memory.pool[node.slot], memory.pool[slot])
    barrier(sync, n_threads)


@kernel
def _split_level(codes, statistics, rules, nodes, depth, work, sync, thread, n_threads):
    """Apply the chosen split to all nodes of a level."""
    first, stop = (1 << depth) - 1, (2 << depth) - 1
    base, own, n_sharing, step = _LEADER, thread, n_threads, _ALONE
    if stop - first >= NODES_PER_THREAD * n_threads:
        base, own, n_sharing, step = thread, _LEADER, _ALONE, n_threads
        first += thread
    for number in range(first, stop, step):
        _partition_node(codes, statistics, rules, nodes, number, work, sync, base, own, n_sharing)
        if depth + 1 < rules.max_depth:
            _fill_children(codes, statistics, rules, nodes, number, work, sync, base, own, n_sharing)


@kernel
def grow_symmetric(codes, statistics, rules, nodes, work, sync, n_rows, thread, n_threads):
    """Grow a symmetric tree on work.rows[:n_rows] into `nodes`; return the number of nodes."""
    frontier, memory, control = work.frontier, work.histograms, work.frontier.control
    if thread == 0:
        start_tree(nodes, n_rows, count_copies(work.rows, 0, n_rows, statistics.copies), frontier)
    barrier(sync, n_threads)
    fill_histograms(codes, statistics, rules, nodes, work.rows, control, memory, sync, thread, n_threads)
    barrier(sync, n_threads)
    if thread == 0:
        prepare_root(rules, nodes)
    for depth in range(rules.max_depth):
        if thread == 0:
            allow_level_columns(rules, depth, frontier)
        barrier(sync, n_threads)
        columns = own_columns(rules, thread, n_threads)
        search_level(codes, rules, nodes, depth, frontier, memory.pool, work.search, columns, thread)
        barrier(sync, n_threads)
        if thread == 0:
            control[NEXT] = choose_column(rules, nodes, depth, frontier)
        barrier(sync, n_threads)
        if control[NEXT] < 0:
            break
        _split_level(codes, statistics, rules, nodes, depth, work, sync, thread, n_threads)
        if thread == 0:
            control[N_NODES] = (4 << depth) - 1
        barrier(sync, n_threads)
    return control[N_NODES]


# --- in the process that grows a tree on sharded rows


@kernel
def _search_and_choose(codes, rules, nodes, depth, frontier, memory, search):
    allow_level_columns(rules, depth, frontier)
    search_level(codes, rules, nodes, depth, frontier, memory.pool, search, rules.columns, _LEADER)
    frontier.control[NEXT] = choose_column(rules, nodes, depth, frontier)
    return frontier.control[NEXT]


@kernel
def start_symmetric_from_sums(codes, rules, nodes, frontier, memory, search, sums, n_rows, count):
    """Start a tree with the sums (2, entries) of all rows; return the column of its split, -1 for none."""
    store_root(codes, rules, nodes, frontier, memory, sums, n_rows, count)
    prepare_root(rules, nodes)
    return _search_and_choose(codes, rules, nodes, np.int64(0), frontier, memory, search)


@kernel
def choose_sides(codes, rules, nodes, depth, split, pool, sides):
    """Mark the children whose sums are needed, (nodes, 2): the lighter one, without a slot the left one."""
    first = (1 << depth) - 1
    for i in range(sides.shape[0]):
        node = nodes[first + i]
        sides[i, 0], sides[i, 1] = 0, 0
        if node.slot < 0:
            sides[i, 0] = np.int64(node.count > 0)
        elif depth + 1 < rules.max_depth:
            heavier = np.int64(2 * left_sums(codes, pool[node.slot], split)[1] > node.hessian)
            sides[i, heavier] = 1


@kernel
def split_level_from_sums(codes, rules, nodes, depth, frontier, memory, search, counts, sides, histograms):
    """Apply the chosen split to a level and search the next; return the column of its split, -1 for none.

    counts : (nodes, 2), rows and copies that went left. sides : see `choose_sides`.
    histograms : sums (2, entries) of these children, in order.
    """
    first_node, position, pool = (1 << depth) - 1, 0, memory.pool
    split = frontier.found[0, frontier.control[NEXT]]
    for i in range(sides.shape[0]):
        number = first_node + i
        node = nodes[number]
        left_g, left_h = np.int64(0), np.int64(0)
        is_present = sides[i, 0] + sides[i, 1] > 0
        if node.slot >= 0:
            left_g, left_h = left_sums(codes, pool[node.slot], split)
        elif is_present:
            left_g, left_h = add_column(codes, rules.columns[0], histograms[position])
        left = left_g, left_h, counts[i, 0], counts[i, 1]
        add_level_children(rules, nodes, number, split, left, search, _LEADER)
        if select_slots(rules, nodes, number, sides[i, 1]):
            sums, slot = histograms[position], node.slot + (1 << depth)
            accumulate(codes.offsets, rules.columns, sums)
            store_sums(sums, pool[slot])
            for column in rules.columns:
                first, last = codes.offsets[column], codes.offsets[column + 1]
                subtract_column(first, last, pool[node.slot], sums)
        position += np.int64(is_present)
    frontier.control[N_NODES] = (4 << depth) - 1
    if depth + 1 >= rules.max_depth:
        return -1
    return _search_and_choose(codes, rules, nodes, depth + 1, frontier, memory, search)
