"""The codes of a column in a node, and the sums of the rows of each code, for the search of cuts.

See `deep_split` for the sums and their channels. They are written to the same arrays for every column:
codes[:n], rising, and own[i * m : (i + 1) * m], the sums of the rows with codes[i], of the m channels that
are not empty in the node.

A forest has millions of nodes of a few rows. A histogram of 256 codes for ten rows would be wasteful: only
the codes that occur are visited, as the set bits of four machine words, and only their entries are cleared.
All columns drawn for a node are added up in one pass over its rows, whose codes are stored by row. Very few
rows are sorted directly: on numbers, where most nodes are that small, that is more than twice as fast.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.jit import deep_inline, intrinsics

lowest_bit, prefetch = intrinsics("intrinsics", "lowest_bit", "prefetch")
_BITSET_WORDS = 4  # of 64 codes each
_CODES, _SIX, _LOW = np.uintp(256), np.uintp(6), np.uintp(63)
_MANY_ROWS = 2048  # from here on finding the codes in the histogram is faster than setting their bits
_PREFETCH_ROWS = 16  # rows between the prefetch and the use of a row
_ONE = np.uint64(1)


class DeepRows(NamedTuple):
    """The rows that trees are grown on, or those of a subtree."""

    codes: NDArray[np.uint8]  # (n, stride), mutually exclusive columns share a stored column
    weight: Integers  # (n,) draws times the row's own weight; 0 for a row that is not used
    draws: Integers  # (n,) or empty when they are the weights
    classes: NDArray[np.integer]  # (n,) or empty
    numbers: Integers  # (n, outputs), times the row's own weight; (n, 0) for classes
    target_keys: NDArray[
        np.int64
    ]  # (n, any) equal for rows of equal targets: the numbers, if they are unweighted


class DeepColumns(NamedTuple):
    """The columns, and the stored columns of their codes; see `hedgerow.binning.Bundles`."""

    categorical: NDArray[np.uint8]  # (columns,)
    direction: NDArray[np.int8]  # (columns,) -1, 0 or 1, or empty without constraints
    n_bins: Integers  # (columns,) the largest code
    stored: Integers  # (columns,) number of its stored column
    base: Integers  # (columns,)
    usual: Integers  # (columns,) the code that a shared column does not store, -1 if not shared
    shared: NDArray[np.uint8]  # (stored columns,)


class Scratch(NamedTuple):
    """Memory of a thread for the search."""

    order: Integers  # (columns,) those drawn for the node first
    swapped: Integers  # (columns,) positions that were exchanged
    chosen: Integers  # (columns,) those searched together
    filled: NDArray[np.uintp]  # (at once,) stored columns that have a histogram
    number: Integers  # (stored columns,) of its histogram, or -1
    hist: Integers  # (at once * 256 * channels,) zero between nodes
    present: NDArray[np.uint64]  # (at once * 4,) a bit for every byte that occurs
    own: Integers  # (256 * channels,) sums of the codes of a column
    sorted: Integers  # (256 * channels,) the same in another order
    codes: Integers  # (256,) those of a column, in the order they are cut
    positions: Integers  # (256,)
    keys: Floats  # (256,)
    channels: Integers  # (channels,) those of the node that are not empty
    local: Integers  # (channels,) index of each among these
    sums: Integers  # (channels,) of the node, without the empty ones
    means: Integers  # (channels,) of the numbers, rounded down
    side: Integers  # (2, channels)
    float_side: Floats  # (2, channels)
    logs: Floats  # w ln w for w = 0, 1, 2, ...


@deep_inline
def fill(data, rows, scratch, first, last, start, stop):
    """Fill histograms first to last - 1, and the sets of the bytes that occur.

    Indices are unsigned: Numba would test whether a signed one is negative.
    """
    for i in range(first * _BITSET_WORDS, last * _BITSET_WORDS):
        scratch.present[i] = 0
    if data.classes.shape[0] == 0 or data.draws.shape[0]:
        _fill_channels(data, rows, scratch, first, last, start, stop)
        return
    filled, hist, present = scratch.filled[first:last], scratch.hist, scratch.present
    stride, n = np.uintp(scratch.side.shape[1]), np.uintp(last - first)
    width, offset = stride * _CODES, np.uintp(first) * stride * _CODES
    if stop - start < _MANY_ROWS:
        for r in range(start, stop):
            row = np.uintp(rows[r])
            weight, base = data.weight[row], offset + np.uintp(data.classes[row])
            mark = np.uintp(first * _BITSET_WORDS)
            for i in range(n):
                code = np.uintp(data.codes[row, filled[i]])
                hist[base + code * stride] += weight
                present[mark + (code >> _SIX)] |= _ONE << (code & _LOW)
                base += width
                mark += np.uintp(_BITSET_WORDS)
        return
    row_bytes, end = np.uintp(data.codes.shape[1]), stop - 1
    for r in range(start, stop):
        prefetch(data.codes, np.uintp(rows[min(r + _PREFETCH_ROWS, end)]) * row_bytes)
        row = np.uintp(rows[r])
        weight, base = data.weight[row], offset + np.uintp(data.classes[row])
        for i in range(n):
            hist[base + np.uintp(data.codes[row, filled[i]]) * stride] += weight
            base += width
    for i in range(first, last):
        _mark_codes(scratch, i)


@deep_inline
def _fill_channels(data, rows, scratch, first, last, start, stop):
    """Do `fill` for numbers, and where draws are counted."""
    filled, hist, present = scratch.filled[first:last], scratch.hist, scratch.present
    stride, n = np.uintp(scratch.side.shape[1]), np.uintp(last - first)
    width, offset = stride * _CODES, np.uintp(first) * stride * _CODES
    counted, outputs = data.draws.shape[0] > 0, np.uintp(data.numbers.shape[1])
    for r in range(start, stop):
        row = np.uintp(rows[r])
        weight = data.weight[row]
        draws = data.draws[row] if counted else weight
        channel = np.uintp(data.classes[row]) if data.classes.shape[0] else np.uintp(0)
        base, mark = offset, np.uintp(first * _BITSET_WORDS)
        for i in range(n):
            code = np.uintp(data.codes[row, filled[i]])
            entry = base + code * stride
            hist[entry + channel] += weight
            for k in range(outputs):
                hist[entry + np.uintp(1) + k] += draws * data.numbers[row, k]
            if counted:
                hist[entry + stride - np.uintp(1)] += draws
            present[mark + (code >> _SIX)] |= _ONE << (code & _LOW)
            base += width
            mark += np.uintp(_BITSET_WORDS)


@deep_inline
def _mark_codes(scratch, number):
    """Set the bits of the bytes with weight, from a histogram of classes."""
    stride = np.uintp(scratch.side.shape[1])
    base = np.uintp(number) * _CODES * stride
    for code in range(_CODES):
        entry = base + code * stride
        for k in range(stride):
            if scratch.hist[entry + k]:
                scratch.present[np.uintp(number * _BITSET_WORDS) + (code >> _SIX)] |= _ONE << (code & _LOW)
                break


@deep_inline
def clear_shared(data, scratch, columns_shared, n_filled, n_channels):
    """Zero the histograms of shared columns, which `collect_shared_codes` does not change."""
    stride, n_all = np.uintp(scratch.side.shape[1]), np.uintp(n_channels + np.int64(data.draws.shape[0] > 0))
    for number in range(n_filled):
        stored = scratch.filled[number]
        scratch.number[stored] = -1
        if not columns_shared[stored]:
            continue
        base = np.uintp(number) * _CODES * stride
        for word in range(_BITSET_WORDS):
            bits = scratch.present[number * _BITSET_WORDS + word]
            while bits != 0:
                entry = base + (np.uintp(word * 64) + lowest_bit(bits)) * stride
                bits &= bits - _ONE
                for j in range(n_all):
                    scratch.hist[entry + np.uintp(scratch.channels[j])] = 0


@deep_inline
def collect_codes(data, scratch, number, n_channels):
    """Move the sums of a column that is not shared out of its histogram; return the number of codes."""
    stride, n_all = np.uintp(scratch.side.shape[1]), np.uintp(n_channels + np.int64(data.draws.shape[0] > 0))
    base, own, n = np.uintp(number) * _CODES * stride, np.uintp(0), np.uintp(0)
    for word in range(_BITSET_WORDS):
        bits = scratch.present[number * _BITSET_WORDS + word]
        while bits != 0:
            code = np.uintp(word * 64) + lowest_bit(bits)
            entry = base + code * stride
            bits &= bits - _ONE
            scratch.codes[n] = code
            for j in range(n_all):
                k = np.uintp(scratch.channels[j])
                scratch.own[own + j] = scratch.hist[entry + k]
                scratch.hist[entry + k] = 0
            own += n_all
            n += np.uintp(1)
    return np.int64(n)


@deep_inline
def collect_shared_codes(data, columns, column, scratch, number, n_channels):
    """Copy the sums of a shared column; its usual code has the remaining rows of the node."""
    stride, m = scratch.side.shape[1], n_channels + np.int64(data.draws.shape[0] > 0)
    usual, base, own, channels = columns.usual[column], columns.base[column], scratch.own, scratch.channels
    first, n, rest = number * 64 * _BITSET_WORDS * stride, 0, 0
    for code in range(columns.n_bins[column] + 1):
        if code == usual:
            rest = n
        else:
            byte = base + code - np.int64(code > usual)
            if not (scratch.present[number * _BITSET_WORDS + (byte >> 6)] >> np.uint64(byte & 63)) & _ONE:
                continue
            for j in range(m):
                own[n * m + j] = scratch.hist[first + byte * stride + channels[j]]
        scratch.codes[n] = code
        n += 1
    left = np.int64(0)
    for j in range(m):
        own[rest * m + j] = scratch.sums[j]
        for i in range(n):
            own[rest * m + j] -= own[i * m + j] if i != rest else 0
        left += own[rest * m + j] if j == 0 or data.classes.shape[0] else 0
    if left == 0:  # no row of the node has the usual code: remove it
        for i in range(rest, n - 1):
            scratch.codes[i] = scratch.codes[i + 1]
            for j in range(m):
                own[i * m + j] = own[(i + 1) * m + j]
        n -= 1
    return n


@deep_inline
def collect_few_rows(data, columns, column, rows, start, stop, scratch, n_channels):
    """Sort very few rows by their codes, one after the other; return the number of codes."""
    m, counted = n_channels + np.int64(data.draws.shape[0] > 0), data.draws.shape[0] > 0
    stored, codes, own = columns.stored[column], scratch.codes, scratch.own
    n = np.int64(0)
    for r in range(start, stop):
        row = np.uintp(rows[r])
        code = _code_of(columns, column, np.int64(data.codes[row, stored]))
        at = n
        while at > 0 and codes[at - 1] >= code:
            at -= 1
        if at == n or codes[at] != code:
            for i in range(n, at, -1):
                codes[i] = codes[i - 1]
            for i in range((n + 1) * m - 1, (at + 1) * m - 1, -1):
                own[i] = own[i - m]
            codes[at] = code
            for i in range(at * m, (at + 1) * m):
                own[i] = 0
            n += 1
        draws = data.draws[row] if counted else data.weight[row]
        channel = scratch.local[np.int64(data.classes[row])] if data.classes.shape[0] else 0
        own[at * m + channel] += data.weight[row]
        for k in range(data.numbers.shape[1]):
            own[at * m + 1 + k] += draws * data.numbers[row, k]
        if counted:
            own[at * m + m - 1] += draws
    return n


@deep_inline
def _code_of(columns, column, byte):
    """Return the code of a column for a byte of its stored column."""
    usual, offset = columns.usual[column], byte - columns.base[column]
    if usual < 0:
        return byte
    if offset < 0 or offset >= columns.n_bins[column]:
        return usual
    return offset + np.int64(offset >= usual)


@deep_inline
def add_row(data, row, sums, first, stride):
    """Add a row to the sums from `first` on."""
    counted = data.draws.shape[0] > 0
    draws = data.draws[row] if counted else data.weight[row]
    sums[first + (np.int64(data.classes[row]) if data.classes.shape[0] else 0)] += data.weight[row]
    for k in range(data.numbers.shape[1]):
        sums[first + 1 + k] += draws * data.numbers[row, k]
    if counted:
        sums[first + stride - 1] += draws
