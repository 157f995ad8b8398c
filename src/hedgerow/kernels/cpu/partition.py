"""Partition: the rows of a node are a run of the row array; a split reorders the run, stably.

    rows[start:stop] = [a b c d e f g h]  ->  [b c f g | a d e h]

Each member writes the left rows of its share to one spare array and the right rows to another, without a
branch; the shares are then copied to where the counts of all members say. Measured on 1M rows: 0.8 ns a
row, a quarter of what it costs to fill one array from both ends with a prefetch.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
def share(start, stop, member, n_members):
    """The member's part of start..stop."""
    size = (stop - start + n_members - 1) // n_members
    first = min(start + member * size, stop)
    return first, min(first + size, stop)


@njit(cache=True, nogil=True, error_model="numpy")
def in_set(goes_left, code):
    """Whether bit `code` of a 256-bit set is 1."""
    return (goes_left[code >> 6] >> np.uint64(code & 63)) & np.uint64(1)


@njit(cache=True, nogil=True, error_model="numpy")
def split_share(codes, split, rows, spare, start, stop):
    """Write the left rows of rows[start:stop] to spare[0, start:], the right ones to spare[1, start:].

    A missing code is 0. Counting codes from `base` in their own unsigned type makes it the largest when
    missing goes right and leaves it the smallest when missing goes left: one comparison for both.
    Returns how many rows go left.
    """
    lefts, rights = spare[0], spare[1]
    left, right = np.uintp(start), np.uintp(start)
    one = np.uintp(1)
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
    return np.int64(left) - start


@njit(cache=True, nogil=True, error_model="numpy")
def gather_share(rows, spare, start, stop, lefts, member, n_members):
    """Copy the member's share back: all left rows first, in order, then all right rows, in order."""
    first, last = share(start, stop, member, n_members)
    to_left, to_right = start, start
    for other in range(n_members):
        to_right += lefts[other]
        if other < member:
            to_left += lefts[other]
            other_first, other_last = share(start, stop, other, n_members)
            to_right += other_last - other_first - lefts[other]
    n_left, n_right = lefts[member], last - first - lefts[member]
    for side in range(2):
        target = to_left if side == 0 else to_right
        size = n_left if side == 0 else n_right
        source, out = spare[side, first : first + size], rows[target : target + size]
        for k in range(size):
            out[k] = source[k]


@njit(cache=True, nogil=True, error_model="numpy")
def count_copies(rows, start, stop, copies):
    """How many rows stand in rows[start:stop], each as often as its integer weight says."""
    if copies.shape[0] == 0:
        return stop - start
    total = 0
    for k in range(start, stop):
        total += copies[np.uintp(rows[k])]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def count_left(codes, split, rows, start, stop, copies):
    """How many of rows[start:stop] a split would send left, each as often as its integer weight says."""
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
