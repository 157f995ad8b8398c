"""Drawing rows for the members of a bag, and keys that say what a row holds.

Draw i of member b is draw(seed, BOOTSTRAP, b, i): a pure function, so that any thread may draw for any
member, and nothing but the seed has to be kept to draw the same rows once more.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import njit
from hedgerow.kernels.cpu.random import BOOTSTRAP, ROW_KEYS, draw, draw_from, stream


@njit(cache=True, nogil=True)
def count_draws(n_rows, n_draws, seed, member, most, out):
    """out[row] = how often the row is among the draws; False when one is drawn more than `most` times."""
    out[:] = 0
    size, key = np.uint64(n_rows), stream(seed, BOOTSTRAP, member)
    for i in range(n_draws):
        row = np.int64(draw_from(key, i) % size)
        if out[row] == most:
            return False
        out[row] += 1
    return True


@njit(cache=True, nogil=True)
def count_weighted_draws(ends, n_draws, seed, member, most, out):
    """The same with ends[row] - ends[row - 1] tickets a row; all ends one apart give the same draws."""
    out[:] = 0
    size, key = np.uint64(ends[-1]), stream(seed, BOOTSTRAP, member)
    for i in range(n_draws):
        ticket = np.int64(draw_from(key, i) % size)
        row, above = np.int64(0), np.int64(ends.size - 1)  # the first row whose end is above the ticket
        while row < above:
            middle = (row + above) >> 1
            if ends[middle] > ticket:
                above = middle
            else:
                row = middle + 1
        if out[row] == most:
            return False
        out[row] += 1
    return True


@njit(cache=True, nogil=True)
def add_keys(bits, first_column, keys):
    """keys[row] += hash(column, bits of the value); bits is uint64 (rows, columns), and 0 adds nothing."""
    for row in range(bits.shape[0]):
        key = keys[row]
        for column in range(bits.shape[1]):
            if bits[row, column]:
                key += draw(0, ROW_KEYS, first_column + column, bits[row, column])
        keys[row] = key


@njit(cache=True, nogil=True)
def add_sparse_keys(bits, indices, starts, keys):
    """The same for the values of a compressed sparse row matrix, with the same keys as when it is dense."""
    for row in range(keys.size):
        key = keys[row]
        for place in range(starts[row], starts[row + 1]):
            if bits[place]:
                key += draw(0, ROW_KEYS, indices[place], bits[place])
        keys[row] = key


@njit(cache=True, nogil=True)
def add_code_keys(by_column, keys, start, stop):
    """keys[row] += hash(column, codes of eight columns), for rows start to stop - 1."""
    n_columns = by_column.shape[0]
    for first in range(0, n_columns, 8):
        last = min(first + 8, n_columns)
        for row in range(start, stop):
            bits = np.uint64(0)
            for column in range(first, last):
                bits = (bits << np.uint64(8)) | np.uint64(by_column[column, row])
            keys[row] += draw(0, ROW_KEYS, first, bits)
