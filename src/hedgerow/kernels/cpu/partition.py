"""Partition: the rows of a node are a run of the row array; a split reorders the run, stably.

    rows[start:stop] = [a b c d e f g h]  ->  [b c f g | a d e h]

Each thread writes the left rows of its range to one buffer array and the right rows to another, without a
branch; the rows are then copied to offsets computed from the counts of all threads. Measured on 1M rows: 0.8
ns per row. Filling one array from both ends, with a prefetch, takes four times as long.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import kernel


@kernel
def thread_range(start, stop, thread, n_threads):
    """Return the range of start..stop that a thread processes."""
    size = (stop - start + n_threads - 1) // n_threads
    first = min(start + thread * size, stop)
    return first, min(first + size, stop)


@kernel
def in_set(goes_left, code):
    """Return whether bit `code` of a 256-bit set is 1."""
    return (goes_left[code >> 6] >> np.uint64(code & 63)) & np.uint64(1)


@kernel
def fill_set(goes_left, codes, n, last, others_left):
    """Write the set of codes[:last + 1]; codes that are not in codes[:n] belong to it if `others_left`."""
    for word in range(goes_left.shape[0]):
        goes_left[word] = ~np.uint64(0) if others_left else np.uint64(0)
    for i in range(n):
        bit = np.uint64(1) << np.uint64(codes[i] & 63)
        if i <= last:
            goes_left[codes[i] >> 6] |= bit
        else:
            goes_left[codes[i] >> 6] &= ~bit


@kernel
def split_rows(codes, split, rows, start, stop, lefts, rights):
    """Copy rows[start:stop] to `lefts` and `rights`, in order; return how many go left.

    `lefts` may be rows[start:]: a write never passes the row that is read. A missing code is 0.
    Counting codes from `base` in their own unsigned type makes it the largest if missing goes right and
    leaves it the smallest if missing goes left: one comparison for both.
    """
    left, right, one = np.uintp(0), np.uintp(0), np.uintp(1)
    if split.categorical:
        for k in range(np.uintp(start), np.uintp(stop)):
            row = rows[k]
            goes_left = np.uintp(in_set(split.goes_left, np.int64(codes[np.uintp(row)])))
            lefts[left] = row
            rights[right] = row
            left += goes_left
            right += one - goes_left
    else:
        base = codes.dtype.type(1 - split.missing_left)
        threshold = codes.dtype.type(split.threshold - np.int64(base))
        for k in range(np.uintp(start), np.uintp(stop)):
            row = rows[k]
            goes_left = np.uintp(codes.dtype.type(codes[np.uintp(row)] - base) <= threshold)
            lefts[left] = row
            rights[right] = row
            left += goes_left
            right += one - goes_left
    return np.int64(left)


@kernel
def gather_rows(rows, buffer, start, stop, lefts, thread, n_threads):
    """Copy the rows of a thread back: all left rows first, in order, then all right rows, in order."""
    first, last = thread_range(start, stop, thread, n_threads)
    to_left, to_right = start, start
    for other in range(n_threads):
        to_right += lefts[other]
        if other < thread:
            to_left += lefts[other]
            other_first, other_last = thread_range(start, stop, other, n_threads)
            to_right += other_last - other_first - lefts[other]
    n_left, n_right = lefts[thread], last - first - lefts[thread]
    for side in range(2):
        target = to_left if side == 0 else to_right
        size = n_left if side == 0 else n_right
        source, out = buffer[side, first : first + size], rows[target : target + size]
        for k in range(size):
            out[k] = source[k]


@kernel
def count_copies(rows, start, stop, copies):
    """Return the number of rows in rows[start:stop], each counted as often as its integer weight."""
    if copies.shape[0] == 0:
        return stop - start
    total = 0
    for k in range(start, stop):
        total += copies[np.uintp(rows[k])]
    return total


@kernel
def count_left(codes, split, rows, start, stop, copies):
    """The number of rows[start:stop] that a split sends left, each counted as often as its integer weight."""
    base = codes.dtype.type(1 - split.missing_left)
    threshold = codes.dtype.type(split.threshold - np.int64(base))
    total = 0
    for k in range(start, stop):
        row = np.uintp(rows[k])
        if split.categorical:
            left = np.int64(in_set(split.goes_left, np.int64(codes[row])))
        else:
            left = np.int64(codes.dtype.type(codes[row] - base) <= threshold)
        total += left * (copies[row] if copies.shape[0] else 1)
    return total
