"""Partition: the rows of a node are a run of the row array; a split reorders the run in place, stably.

    rows[start:stop] = [a b c d e f g h]  ->  [b c f g | a d e h]

Each member splits its share of the run into `spare`, left rows from the front and right rows from the
back, without a branch; the shares are then copied to where the counts of all members say.
"""

import numpy as np
from numba import njit

from hedgerow.kernels.cpu.intrinsics import prefetch

_AHEAD = 32  # rows between asking for a code and using it


@njit(cache=True, nogil=True, error_model="numpy")
def share(start, stop, member, n_members):  # type: ignore[no-untyped-def]
    """The member's part of start..stop."""
    size = (stop - start + n_members - 1) // n_members
    first = min(start + member * size, stop)
    return first, min(first + size, stop)


@njit(cache=True, nogil=True, error_model="numpy")
def in_set(goes_left, code):  # type: ignore[no-untyped-def]
    """Whether bit `code` of a 256-bit set is 1."""
    return (goes_left[code >> 6] >> np.uint64(code & 63)) & np.uint64(1)


@njit(cache=True, nogil=True, error_model="numpy")
def split_share(codes, split, rows, spare, start, stop):  # type: ignore[no-untyped-def]
    """Split rows[start:stop] into spare[start:stop], the right rows backwards; returns how many go left."""
    if split.categorical:
        return _split_by_set(codes, split.goes_left, rows, spare, start, stop)
    # A missing code is 0. Counting codes from `base` modulo their range makes it the largest when
    # missing goes right and leaves it the smallest when missing goes left: one comparison for both.
    base = np.int64(1 - split.missing_left)
    mask = np.int64(255) if codes.itemsize == 1 else np.int64(65535)
    threshold = split.threshold - base
    left, right = start, stop - 1
    for k in range(start, stop):
        if k + _AHEAD < stop:
            prefetch(codes, np.uintp(rows[k + _AHEAD]) * np.uintp(codes.itemsize))
        row = rows[k]
        goes_left = ((np.int64(codes[np.uintp(row)]) - base) & mask) <= threshold
        spare[left] = row
        spare[right] = row
        left += goes_left
        right -= not goes_left
    return left - start


@njit(cache=True, nogil=True, error_model="numpy")
def _split_by_set(codes, goes_left, rows, spare, start, stop):  # type: ignore[no-untyped-def]
    left, right = start, stop - 1
    for k in range(start, stop):
        row = rows[k]
        if in_set(goes_left, np.int64(codes[np.uintp(row)])):
            spare[left] = row
            left += 1
        else:
            spare[right] = row
            right -= 1
    return left - start


@njit(cache=True, nogil=True, error_model="numpy")
def gather_share(rows, spare, start, stop, lefts, member, n_members):  # type: ignore[no-untyped-def]
    """Copy the member's share back: all left rows first, in order, then all right rows, in order."""
    first, last = share(start, stop, member, n_members)
    to_left, to_right = start, start
    for other in range(n_members):
        to_right += lefts[other]
        if other < member:
            to_left += lefts[other]
            other_first, other_last = share(start, stop, other, n_members)
            to_right += other_last - other_first - lefts[other]
    n_left = lefts[member]
    for k in range(n_left):
        rows[to_left + k] = spare[first + k]
    for k in range(last - first - n_left):
        rows[to_right + k] = spare[last - 1 - k]


@njit(cache=True, nogil=True, error_model="numpy")
def count_copies(rows, start, stop, copies):  # type: ignore[no-untyped-def]
    """How many rows stand in rows[start:stop], each as often as its integer weight says."""
    if copies.shape[0] == 0:
        return stop - start
    total = 0
    for k in range(start, stop):
        total += copies[np.uintp(rows[k])]
    return total
