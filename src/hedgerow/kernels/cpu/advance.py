"""Growing a tree on sharded rows: the kernels of a shard, and those of the process that grows the tree.

A shard stores its rows grouped by node, as runs of one array. To split a node, its run is partitioned and the
rows of one side are summed; the histogram of the other side is the parent's minus that. Without codes by
column, which take as much memory again, the codes by row decide the side. (Summing a few thousand rows right
after they were partitioned, while they are in the cache, is slower: sums then take a third longer.)

One process keeps the frontier, with the same kernels as for rows in memory. Between two searches it receives,
for one node, how many rows went left and the histogram of one side.
"""

import numpy as np

from hedgerow.kernels.cpu.frontier import (
    FILL,
    LARGE,
    LARGE_SLOT,
    SMALL,
    SMALL_SLOT,
    allow_columns,
    commit,
    select_next,
    start_tree,
)
from hedgerow.kernels.cpu.grow import search_nodes
from hedgerow.kernels.cpu.histogram import add_packed, add_wide, clear, widen
from hedgerow.kernels.cpu.jit import intrinsics, kernel
from hedgerow.kernels.cpu.partition import count_copies, in_set, split_rows

(prefetch,) = intrinsics("intrinsics", "prefetch")
_PREFETCH_ROWS = 16  # rows between the prefetch and the use of a row
LEFT, RIGHT, NEITHER = (np.int64(i) for i in range(3))  # the side that is summed
_THREAD, _N_THREADS = np.int64(0), np.int64(1)

# --- in a shard


@kernel
def _split_by_row(by_row, split, rows, start, stop, lefts, rights):
    """`hedgerow.kernels.cpu.partition.split_rows` with codes by row.

    Measured on 1M x 28: 5 ns a row, as each reads another cache line; by column it is 1 ns.
    """
    column, one = np.uintp(split.column), np.uintp(1)
    stride = np.uintp(by_row.strides[0])
    left, right = np.uintp(0), np.uintp(0)
    base = by_row.dtype.type(1 - split.missing_left)
    threshold = by_row.dtype.type(split.threshold - np.int64(base))
    for k in range(np.uintp(start), np.uintp(stop)):
        if k + np.uintp(_PREFETCH_ROWS) < np.uintp(stop):
            prefetch(by_row, np.uintp(rows[k + np.uintp(_PREFETCH_ROWS)]) * stride)
        row = rows[k]
        code = by_row[np.uintp(row), column]
        if split.categorical:
            goes_left = np.uintp(in_set(split.goes_left, np.int64(code)))
        else:
            goes_left = np.uintp(by_row.dtype.type(code - base) <= threshold)
        lefts[left] = row
        rights[right] = row
        left += goes_left
        right += one - goes_left
    return np.int64(left)


@kernel
def sum_run(codes, statistics, rows, start, stop, stored, packed, out):
    """out (2, entries) = sums of gradient and hessian of rows[start:stop]; packed : zeroed scratch.

    Packed sums are widened before they could overflow.
    """
    by_row, offsets = codes.by_row, codes.stored_offsets
    clear(out[0])
    clear(out[1])
    if statistics.packed.shape[0] == 0:
        add_wide(by_row, rows, start, stop, statistics.wide, stored, offsets, out)
        return
    while start < stop:
        middle = min(stop, start + statistics.packed_block_rows)
        add_packed(by_row, rows, start, middle, statistics.packed, stored, offsets, packed)
        widen(packed, out)
        start = middle


@kernel
def advance_run(codes, statistics, split, side, rows, buffer, run, stored, packed, out):
    """Partition the run of a node and sum one side into `out`; return the rows and copies that go left.

    run : int64 (2,), the run is rows[run[0]:run[1]]. buffer : uint32, as long as the longest run.
    packed, out : zeroed scratch (entries,), and (2, entries) for the sums; with NEITHER `out` is not used.
    """
    start, stop = run[0], run[1]
    if codes.by_column.shape[1]:
        column = codes.by_column[split.column]
        n_left = split_rows(column, split, rows, start, stop, rows[start:], buffer)
    else:
        n_left = _split_by_row(codes.by_row, split, rows, start, stop, rows[start:], buffer)
    middle = start + n_left
    for k in range(stop - middle):
        rows[middle + k] = buffer[k]
    if side == LEFT:
        sum_run(codes, statistics, rows, start, middle, stored, packed, out)
    elif side == RIGHT:
        sum_run(codes, statistics, rows, middle, stop, stored, packed, out)
    return n_left, count_copies(rows, start, middle, statistics.copies)


@kernel
def count_codes(codes, columns, rows, start, stop, copies, out):
    """out[entry] += copies (or 1) of rows[start:stop], for the codes of some columns."""
    for k in range(start, stop):
        row = np.uintp(rows[k])
        times = copies[row] if copies.shape[0] else 1
        for column in columns:
            out[codes.offsets[column] + np.int64(codes.by_row[row, column])] += times


@kernel
def find_nodes(by_row, nodes, rows, out):
    """out[i] = number of the leaf of rows[i]."""
    for i in range(rows.shape[0]):
        row, number = np.uintp(rows[i]), np.int64(0)
        while nodes[number].left > 0:
            split = nodes[number].split
            code = np.int64(by_row[row, split.column])
            if split.categorical:
                goes_left = in_set(split.goes_left, code) != 0
            else:
                goes_left = code <= split.threshold if code else split.missing_left != 0
            number = nodes[number].left + (0 if goes_left else 1)
        out[i] = number


# --- in the process that grows the tree


@kernel
def accumulate(offsets, columns, sums):
    """Turn sums by code into running sums over the codes of each column, in place."""
    for column in columns:
        for channel in range(2):
            entries = sums[channel, offsets[column] : offsets[column + 1]]
            run = np.int64(0)
            for entry in range(entries.shape[0]):
                run += entries[entry]
                entries[entry] = run


@kernel
def _search_and_select(codes, rules, nodes, frontier, memory, search):
    allow_columns(rules, frontier)
    search_nodes(codes, rules, nodes, frontier, memory, search, _THREAD, _N_THREADS)
    return select_next(rules, nodes, frontier)


@kernel
def store_sums(sums, slot):
    """Copy the sums to a slot of the pool."""
    for channel in range(2):
        for entry in range(sums.shape[1]):
            slot[channel, entry] = sums[channel, entry]


@kernel
def store_root(codes, rules, nodes, frontier, memory, sums, n_rows, count):
    """Start a tree with the sums (2, entries) of all rows."""
    start_tree(nodes, n_rows, count, frontier)
    nodes[0].gradient, nodes[0].hessian = add_column(codes, rules.columns[0], sums)
    accumulate(codes.offsets, rules.columns, sums)
    store_sums(sums, memory.pool[frontier.control[SMALL_SLOT]])


@kernel
def add_column(codes, column, sums):
    """Add up a column of sums (2, entries): every row has a code in any column."""
    gradient, hessian = np.int64(0), np.int64(0)
    for entry in range(codes.offsets[column], codes.offsets[column + 1]):
        gradient += sums[0, entry]
        hessian += sums[1, entry]
    return gradient, hessian


@kernel
def start_from_sums(codes, rules, nodes, frontier, memory, search, sums, n_rows, count):
    """Start a tree with the sums (2, entries) of all rows; return the node to split next, -1 for none."""
    store_root(codes, rules, nodes, frontier, memory, sums, n_rows, count)
    return _search_and_select(codes, rules, nodes, frontier, memory, search)


@kernel
def split_from_sums(codes, rules, nodes, number, frontier, memory, search, left, right, counts):
    """Split node `number` and search its children; return the node to split next.

    left, right : sums (2, entries) of the children; only those that `counts` marks are present.
    counts : int64 (4,), rows and copies that went left, and whether the sums of each side are present.
    """
    parent = nodes[number].slot  # may be freed and become the slot of the smaller child
    commit(rules, nodes, number, counts[0], counts[1], frontier)
    control, pool = frontier.control, memory.pool
    if control[SMALL] >= 0 or control[LARGE] >= 0:
        if counts[2]:
            accumulate(codes.offsets, rules.columns, left)
        if counts[3]:
            accumulate(codes.offsets, rules.columns, right)
        side = control[FILL] - nodes[number].left  # of the child with fewer rows
        own, other = (left, right) if side == 0 else (right, left)
        small_sums, large_sums = pool[control[SMALL_SLOT]], pool[control[LARGE_SLOT]]
        for channel in range(2):
            for entry in range(pool.shape[2]):
                if counts[2 + side]:
                    fewer = own[channel, entry]
                    more = other[channel, entry] if counts[3 - side] else pool[parent, channel, entry] - fewer
                else:
                    more = other[channel, entry]
                    fewer = pool[parent, channel, entry] - more
                small_sums[channel, entry] = fewer
                if control[LARGE] >= 0:
                    large_sums[channel, entry] = more
    return _search_and_select(codes, rules, nodes, frontier, memory, search)


@kernel
def repeat_search(codes, rules, nodes, frontier, memory, search, sums):
    """Search the one node that `search_single` selected; return the slot of its running sums.

    sums : (2, entries) of its rows if the pool does not hold them, else (2, 0).
    """
    slot = frontier.control[SMALL_SLOT]
    if sums.shape[1]:
        accumulate(codes.offsets, rules.columns, sums)
        store_sums(sums, memory.pool[slot])
    allow_columns(rules, frontier)
    search_nodes(codes, rules, nodes, frontier, memory, search, _THREAD, _N_THREADS)
    return slot
