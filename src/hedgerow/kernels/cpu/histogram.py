"""A histogram is, for every code of every column, the integer sums of gradient and hessian of a node's rows.

Its entries lie at offsets[column] + code; those of open nodes are stored as running sums over the codes.
Adding rows is the innermost loop of the library. Measured on 1M x 28: one packed int64 addition costs
0.45 ns an update in row order; taking four rows at once saves a quarter of it, prefetching the rows 16 ahead
halves the cost of scattered rows, and cutting the histogram into pieces that fit the first-level cache gains
nothing.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import intrinsics, kernel

(prefetch,) = intrinsics("intrinsics", "prefetch")
_PREFETCH_ROWS = 16  # rows between the prefetch and the use of a row
_LOW = np.int64(0xFFFFFFFF)


@kernel
def add_packed(by_row, rows, start, stop, packed, columns, offsets, out):
    """out[offsets[f] + code] += packed[row] for rows[start:stop] and every stored column f in `columns`."""
    stride = np.uintp(by_row.strides[0])
    n_columns = columns.shape[0]
    every = n_columns == offsets.shape[0] - 1  # then columns[j] is j, and not loading it saves a fifth
    whole = start + (stop - start) // 4 * 4
    for k in range(start, whole, 4):
        if k + _PREFETCH_ROWS + 3 < stop:
            for ahead in range(4):
                row = np.uintp(rows[k + _PREFETCH_ROWS + ahead])
                prefetch(by_row, row * stride)
                prefetch(packed, row * np.uintp(8))
        a, b = np.uintp(rows[k]), np.uintp(rows[k + 1])
        c, d = np.uintp(rows[k + 2]), np.uintp(rows[k + 3])
        va, vb, vc, vd = packed[a], packed[b], packed[c], packed[d]
        if every:
            for f in range(n_columns):
                first = np.uintp(offsets[f])
                out[first + np.uintp(by_row[a, f])] += va
                out[first + np.uintp(by_row[b, f])] += vb
                out[first + np.uintp(by_row[c, f])] += vc
                out[first + np.uintp(by_row[d, f])] += vd
        else:
            for j in range(n_columns):
                f = np.uintp(columns[j])
                first = np.uintp(offsets[f])
                out[first + np.uintp(by_row[a, f])] += va
                out[first + np.uintp(by_row[b, f])] += vb
                out[first + np.uintp(by_row[c, f])] += vc
                out[first + np.uintp(by_row[d, f])] += vd
    for k in range(whole, stop):
        a = np.uintp(rows[k])
        va = packed[a]
        for j in range(n_columns):
            f = np.uintp(columns[j])
            out[np.uintp(offsets[f]) + np.uintp(by_row[a, f])] += va


@kernel
def add_wide(by_row, rows, start, stop, wide, columns, offsets, out):
    """Do `add_packed` for unpacked statistics: out[0] gets gradients, out[1] hessians."""
    for k in range(start, stop):
        row = np.uintp(rows[k])
        gradient, hessian = wide[row, 0], wide[row, 1]
        for j in range(columns.shape[0]):
            f = np.uintp(columns[j])
            entry = np.uintp(offsets[f]) + np.uintp(by_row[row, f])
            out[0, entry] += gradient
            out[1, entry] += hessian


@kernel
def widen(packed, out):
    """Add a packed histogram to an unpacked one and clear it. packed = gradient * 2**32 + hessian."""
    for entry in range(packed.shape[0]):
        both = packed[entry]
        out[0, entry] += both >> np.int64(32)
        out[1, entry] += both & _LOW
        packed[entry] = 0


@kernel
def clear(entries):
    """Zero an array; a loop compiles in a tenth of the time of a slice assignment."""
    for entry in range(entries.shape[0]):
        entries[entry] = 0


@kernel
def fill_private(codes, statistics, rows, start, stop, stored, packed, partial):
    """Add rows[start:stop], those of one thread, to its own `packed` and `partial`.

    The true sum is partial + widened packed. Blocks of more than packed_block_rows rows could overflow 32
    bits, so all blocks but the last are widened at once. Returns whether `partial` was used.
    """
    by_row, offsets = codes.by_row, codes.stored_offsets
    if statistics.packed.shape[0] == 0:
        clear(partial[0])
        clear(partial[1])
        add_wide(by_row, rows, start, stop, statistics.wide, stored, offsets, partial)
        return True
    clear(packed)
    many = stop - start > statistics.packed_block_rows
    if many:
        clear(partial[0])
        clear(partial[1])
    while True:
        middle = min(stop, start + statistics.packed_block_rows)
        add_packed(by_row, rows, start, middle, statistics.packed, stored, offsets, packed)
        if middle == stop:
            return many
        widen(packed, partial)
        start = middle


@kernel
def _merge_run(source, first, n, n_private, packed, partial, used, out):
    """out[:, first:first + n] = the sum over the entries of all threads from `source` on.

    packed : (threads, entries), or no rows when the statistics are not packed.
    used : int64 (threads,), whether a thread used its `partial`.
    """
    gradient, hessian = out[0, first : first + n], out[1, first : first + n]
    end = source + n
    for thread in range(n_private):
        unwritten = thread == 0
        if packed.shape[0]:
            own = packed[thread, source:end]
            if unwritten:
                for entry in range(n):
                    gradient[entry] = own[entry] >> np.int64(32)
                    hessian[entry] = own[entry] & _LOW
            else:
                for entry in range(n):
                    gradient[entry] += own[entry] >> np.int64(32)
                    hessian[entry] += own[entry] & _LOW
            unwritten = False
        if used[thread]:
            if unwritten:
                clear(gradient)
                clear(hessian)
            more_g, more_h = partial[thread, 0, source:end], partial[thread, 1, source:end]
            for entry in range(n):
                gradient[entry] += more_g[entry]
                hessian[entry] += more_h[entry]


@kernel
def merge_column(codes, column, node, n_private, packed, partial, used, out):
    """Write the running sums of a column of `node` to `out`, from the private histograms of the threads.

    The usual code of a shared column is not stored: its sum is the total of the node less the other codes.
    The search needs running sums, and these can be subtracted like plain sums: the larger child gets them
    without a sequential pass.
    """
    first, usual, start = codes.offsets[column], codes.usual[column], codes.stored_entries[column]
    n = codes.n_bins[column] + 1
    below = n if usual < 0 else usual  # codes before the one that is not stored, then those after it
    for turn in range(1 if usual < 0 else 2):
        source, target = (start, first) if turn == 0 else (start + usual, first + usual + 1)
        size = below if turn == 0 else n - usual - 1
        _merge_run(source, target, size, n_private, packed, partial, used, out)
    gradient, hessian = out[0, first : first + n], out[1, first : first + n]
    if usual >= 0:
        gradient[usual], hessian[usual] = 0, 0
        rest_g, rest_h = node.gradient, node.hessian
        for entry in range(n):
            rest_g -= gradient[entry]
            rest_h -= hessian[entry]
        gradient[usual], hessian[usual] = rest_g, rest_h
    run_g, run_h = np.int64(0), np.int64(0)
    for entry in range(n):
        run_g += gradient[entry]
        run_h += hessian[entry]
        gradient[entry] = run_g
        hessian[entry] = run_h


@kernel
def sum_stored(offsets, n_private, packed, partial, used):
    """Sums of gradient and hessian over all rows: every row has one entry in the first stored column."""
    total_g, total_h = np.int64(0), np.int64(0)
    for thread in range(n_private):
        for entry in range(offsets[0], offsets[1]):
            if packed.shape[0]:
                total_g += packed[thread, entry] >> np.int64(32)
                total_h += packed[thread, entry] & _LOW
            if used[thread]:
                total_g += partial[thread, 0, entry]
                total_h += partial[thread, 1, entry]
    return total_g, total_h


@kernel
def sum_statistics(statistics, rows, start, stop):
    """Sums of |gradient| and hessian over rows[start:stop], and the number of rows with their copies."""
    total_g, total_h, count = np.int64(0), np.int64(0), np.int64(0)
    for k in range(start, stop):
        row = np.uintp(rows[k])
        if statistics.packed.shape[0]:
            gradient, hessian = statistics.packed[row] >> np.int64(32), statistics.packed[row] & _LOW
        else:
            gradient, hessian = statistics.wide[row, 0], statistics.wide[row, 1]
        total_g += abs(gradient)
        total_h += hessian
        count += statistics.copies[row] if statistics.copies.shape[0] else 1
    return total_g, total_h, count


@kernel
def sum_rows(statistics, rows, start, stop):
    """Return sums of gradient and hessian over rows[start:stop]."""
    total_g, total_h = np.int64(0), np.int64(0)
    for k in range(start, stop):
        row = np.uintp(rows[k])
        if statistics.packed.shape[0]:
            total_g += statistics.packed[row] >> np.int64(32)
            total_h += statistics.packed[row] & _LOW
        else:
            total_g += statistics.wide[row, 0]
            total_h += statistics.wide[row, 1]
    return total_g, total_h


@kernel
def subtract_column(first, last, parent, child):
    """parent[:, first:last] -= child[:, first:last]: exact, so the sibling needs no pass over its rows."""
    for channel in range(2):
        parent_sums, child_sums = parent[channel, first:last], child[channel, first:last]
        for entry in range(last - first):
            parent_sums[entry] -= child_sums[entry]
