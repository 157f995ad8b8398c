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
    LARGE_PLACE,
    SMALL,
    SMALL_PLACE,
    allow_columns,
    commit,
    plant,
    settle,
)
from hedgerow.kernels.cpu.grow import search_nodes
from hedgerow.kernels.cpu.histogram import add_packed, add_wide, clear, widen
from hedgerow.kernels.cpu.intrinsics import prefetch
from hedgerow.kernels.cpu.jit import njit
from hedgerow.kernels.cpu.partition import in_set

_AHEAD = 16  # rows between asking for a row and using it
LEFT, RIGHT, NEITHER = (np.int64(i) for i in range(3))  # the side that is summed
_ALONE, _ONLY = np.int64(0), np.int64(1)  # member 0 of 1

# --- in a shard


@njit(cache=True, nogil=True, error_model="numpy")
def _part_by_row(by_row, split, rows, spare, start, stop):
    """Partition rows[start:stop]: left ones to rows[start:], right ones to spare; returns both ends.

    The left end never passes the row that is read. See `hedgerow.kernels.cpu.partition.split_share` for the
    comparison. Measured on 1M x 28: 5 ns a row, as each reads another cache line; by column it is 1 ns.
    """
    column, one = np.uintp(split.column), np.uintp(1)
    stride = np.uintp(by_row.strides[0])
    end_left, end_right = np.uintp(start), np.uintp(0)
    base = by_row.dtype.type(1 - split.missing_left)
    threshold = by_row.dtype.type(split.threshold - np.int64(base))
    for k in range(np.uintp(start), np.uintp(stop)):
        if k + np.uintp(_AHEAD) < np.uintp(stop):
            prefetch(by_row, np.uintp(rows[k + np.uintp(_AHEAD)]) * stride)
        row = rows[k]
        code = by_row[np.uintp(row), column]
        if split.categorical:
            goes_left = np.uintp(in_set(split.goes_left, np.int64(code)))
        else:
            goes_left = np.uintp(by_row.dtype.type(code - base) <= threshold)
        rows[end_left] = row
        spare[end_right] = row
        end_left += goes_left
        end_right += one - goes_left
    return np.int64(end_left), np.int64(end_right)


@njit(cache=True, nogil=True, error_model="numpy")
def _part_by_column(codes, split, rows, spare, start, stop):
    """The same with the codes of the column of the split, one after the other."""
    one = np.uintp(1)
    end_left, end_right = np.uintp(start), np.uintp(0)
    base = codes.dtype.type(1 - split.missing_left)
    threshold = codes.dtype.type(split.threshold - np.int64(base))
    if split.categorical:
        for k in range(np.uintp(start), np.uintp(stop)):
            row = rows[k]
            goes_left = np.uintp(in_set(split.goes_left, np.int64(codes[np.uintp(row)])))
            rows[end_left] = row
            spare[end_right] = row
            end_left += goes_left
            end_right += one - goes_left
    else:
        for k in range(np.uintp(start), np.uintp(stop)):
            row = rows[k]
            goes_left = np.uintp(codes.dtype.type(codes[np.uintp(row)] - base) <= threshold)
            rows[end_left] = row
            spare[end_right] = row
            end_left += goes_left
            end_right += one - goes_left
    return np.int64(end_left), np.int64(end_right)


@njit(cache=True, nogil=True, error_model="numpy")
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
        middle = min(stop, start + statistics.piece_rows)
        add_packed(by_row, rows, start, middle, statistics.packed, stored, offsets, packed)
        widen(packed, out)
        start = middle


@njit(cache=True, nogil=True, error_model="numpy")
def advance_run(codes, statistics, split, side, rows, spare, run, stored, packed, out):
    """Partition the run of a node and sum one side into `out`; returns rows and copies that go left.

    run : int64 (2,), the run is rows[run[0]:run[1]]. spare : uint32, as long as the longest run.
    packed, out : zeroed scratch (entries,), and (2, entries) for the sums; with NEITHER `out` is not used.
    """
    start, stop = run[0], run[1]
    if codes.by_column.shape[1]:
        column = codes.by_column[split.column]
        left, right = _part_by_column(column, split, rows, spare, start, stop)
    else:
        left, right = _part_by_row(codes.by_row, split, rows, spare, start, stop)
    for k in range(right):
        rows[left + k] = spare[k]
    if side == LEFT:
        sum_run(codes, statistics, rows, start, left, stored, packed, out)
    elif side == RIGHT:
        sum_run(codes, statistics, rows, left, stop, stored, packed, out)
    copies = statistics.copies
    count = left - start
    if copies.shape[0]:
        count = np.int64(0)
        for k in range(start, left):
            count += copies[np.uintp(rows[k])]
    return left - start, count


@njit(cache=True, nogil=True, error_model="numpy")
def count_codes(codes, columns, rows, start, stop, copies, out):
    """out[entry] += copies (or 1) of rows[start:stop], for the codes of some columns."""
    for k in range(start, stop):
        row = np.uintp(rows[k])
        times = copies[row] if copies.shape[0] else 1
        for column in columns:
            out[codes.offsets[column] + np.int64(codes.by_row[row, column])] += times


@njit(cache=True, nogil=True, error_model="numpy")
def find_nodes(by_row, nodes, rows, out):
    """out[i] = number of the leaf that rows[i] comes to."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def _run_up(offsets, columns, sums):
    """Sums by code become running sums over the codes of each column."""
    for column in columns:
        for channel in range(2):
            entries = sums[channel, offsets[column] : offsets[column + 1]]
            run = np.int64(0)
            for entry in range(entries.shape[0]):
                run += entries[entry]
                entries[entry] = run


@njit(cache=True, nogil=True, error_model="numpy")
def _search_and_settle(codes, rules, nodes, frontier, memory, search):
    allow_columns(rules, frontier)
    search_nodes(codes, rules, nodes, frontier, memory, search, _ALONE, _ONLY)
    return settle(rules, nodes, frontier)


@njit(cache=True, nogil=True, error_model="numpy")
def take_root(codes, rules, nodes, frontier, memory, search, sums, n_rows, count):
    """Start a tree with the sums (2, entries) of all rows; returns the node to split next, -1 for none."""
    plant(nodes, n_rows, count, frontier)
    root, column = nodes[0], rules.columns[0]
    root.gradient, root.hessian = 0, 0
    for entry in range(
        codes.offsets[column], codes.offsets[column + 1]
    ):  # every row has a code in any column
        root.gradient += sums[0, entry]
        root.hessian += sums[1, entry]
    _run_up(codes.offsets, rules.columns, sums)
    memory.pool[frontier.control[SMALL_PLACE]] = sums
    return _search_and_settle(codes, rules, nodes, frontier, memory, search)


@njit(cache=True, nogil=True, error_model="numpy")
def take_children(codes, rules, nodes, number, frontier, memory, search, left, right, facts):
    """Carry out the split of node `number`, search its children; returns the node to split next.

    left, right : sums (2, entries) of the children; only those that `facts` names are present.
    facts : int64 (4,), rows and copies that went left, and whether the sums of each side are present.
    """
    parent = nodes[number].slot  # may be given back and be that of the smaller child next
    commit(rules, nodes, number, facts[0], facts[1], frontier)
    control, pool = frontier.control, memory.pool
    if control[SMALL] >= 0 or control[LARGE] >= 0:
        if facts[2]:
            _run_up(codes.offsets, rules.columns, left)
        if facts[3]:
            _run_up(codes.offsets, rules.columns, right)
        side = control[FILL] - nodes[number].left  # of the child with fewer rows
        mine, others = (left, right) if side == 0 else (right, left)
        place, other_place = pool[control[SMALL_PLACE]], pool[control[LARGE_PLACE]]
        for channel in range(2):
            for entry in range(pool.shape[2]):
                if facts[2 + side]:
                    fewer = mine[channel, entry]
                    more = others[channel, entry] if facts[3 - side] else pool[parent, channel, entry] - fewer
                else:
                    more = others[channel, entry]
                    fewer = pool[parent, channel, entry] - more
                place[channel, entry] = fewer
                if control[LARGE] >= 0:
                    other_place[channel, entry] = more
    return _search_and_settle(codes, rules, nodes, frontier, memory, search)


@njit(cache=True, nogil=True, error_model="numpy")
def search_again(codes, rules, nodes, frontier, memory, search, sums):
    """Search the one node that `search_alone` named; returns where its running sums are.

    sums : (2, entries) of its rows if they were not kept, else (2, 0).
    """
    place = frontier.control[SMALL_PLACE]
    if sums.shape[1]:
        _run_up(codes.offsets, rules.columns, sums)
        memory.pool[place] = sums
    allow_columns(rules, frontier)
    search_nodes(codes, rules, nodes, frontier, memory, search, _ALONE, _ONLY)
    return place
