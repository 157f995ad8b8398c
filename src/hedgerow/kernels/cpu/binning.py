"""Bin edges, codes of values, and keys of rows.

The edges of all columns lie one after the other in one float64 array, rising within a column; code k of a
numeric column holds the values with edges[k - 2] < x <= edges[k - 1], code 0 is missing.

A key is a hash of the values of a row, or of their codes. It is a sum over the columns, so that blocks of
columns can be added one after the other, and equal rows have equal keys on any machine.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.random import ROW_KEYS, draw

_ROWS_OF_A_BIN = 3  # minimum, in a column with more values than bins: finer bins cost time and gain nothing
_ROWS_PER_BLOCK = 256  # a block of rows stays in cache while its columns are visited one by one


@kernel
def encode(block, edges, starts, tables, table_starts, by_row, by_column, first_row):
    """Write the codes of a block of rows to both layouts, from `first_row` on.

    block : float (rows, columns), missing is NaN, a category is its number.
    edges, starts : edges of column f are edges[starts[f]:starts[f + 1]].
    tables, table_starts : the code of category c of column f is tables[table_starts[f] + c]; a column
        without table is numeric.
    by_row : (n, stride) or (0, 0); by_column : (columns, n) or (0, 0).
    """
    n_rows, n_columns = block.shape
    values = np.empty(_ROWS_PER_BLOCK, np.float64)
    positions = np.empty(_ROWS_PER_BLOCK, np.int64)
    for top in range(0, n_rows, _ROWS_PER_BLOCK):
        n = min(_ROWS_PER_BLOCK, n_rows - top)
        for f in range(n_columns):
            for i in range(n):
                values[i] = np.float64(block[top + i, f])
            if table_starts[f + 1] > table_starts[f]:
                _category_codes(tables, table_starts[f], values, n, positions)
            else:
                _count_below(edges, starts[f], starts[f + 1] - starts[f], values, n, positions)
            for i in range(n):
                code = 0 if np.isnan(values[i]) else positions[i]
                if by_row.shape[0]:
                    by_row[first_row + top + i, f] = code
                if by_column.shape[0]:
                    by_column[f, first_row + top + i] = code


@kernel
def _category_codes(tables, first, values, n, positions):
    for i in range(n):
        number = 0.0 if np.isnan(values[i]) else values[i]
        positions[i] = tables[first + np.int64(number)]


@kernel
def _count_below(edges, first, n_edges, values, n, positions):
    """positions = 1 + how many of the column's edges are below each value.

    The binary search is done for all values at once, without a data-dependent branch: nine times faster
    than value by value, where the branch predictor fails at every second comparison.
    """
    for i in range(n):
        positions[i] = first
    length = n_edges
    while length > 1:
        half = length >> 1
        for i in range(n):
            positions[i] += half * (edges[positions[i] + half - 1] < values[i])
        length -= half
    for i in range(n):
        last = n_edges > 0 and edges[positions[i]] < values[i]
        positions[i] += 1 - first + np.int64(last)


@kernel
def cut_positions(values, copies, max_bins, out):
    """Find the cuts of sorted values into at most `max_bins` bins of about equal weight.

    values : sorted, no NaN. copies : int64 weights of the values, or empty for one each.
    out : receives the index of the last value of every bin but the last. Returns their number.
    A value that fills a bin has it alone, and the other values share the remaining bins; if there are at most
    as many distinct values as bins, each has its own.
    """
    n = values.shape[0]
    rest, n_distinct = np.int64(0), 1
    for i in range(n):
        rest += copies[i] if copies.shape[0] else 1
        n_distinct += i > 0 and values[i] != values[i - 1]
    few = n_distinct <= max_bins
    bins_left, in_bin, n_cuts = max_bins, np.int64(0), 0
    run = np.int64(0)  # weight of the current distinct value
    for i in range(n - 1):
        run += copies[i] if copies.shape[0] else 1
        if values[i] == values[i + 1]:
            continue
        in_bin += run
        run = 0
        # the bin is full when in_bin / rest >= 1 / bins_left
        if few or (in_bin * bins_left >= rest and in_bin >= _ROWS_OF_A_BIN):
            out[n_cuts] = i
            n_cuts += 1
            rest -= in_bin
            in_bin = 0
            bins_left -= 1
            if bins_left == 1:
                break
    return n_cuts


@kernel
def middles(values, positions, edges):
    """Edges between values[p] and values[p + 1]: low <= edge < high, halfway where that is representable."""
    for i in range(edges.shape[0]):
        low, high = values[positions[i]], values[positions[i] + 1]
        edge = low / 2.0 + high / 2.0
        edges[i] = edge if low <= edge < high else low


@kernel
def store_rows(by_column, stored, usual, base, by_row, start, stop):
    """Fill by_row[start:stop] from the codes by column; see `hedgerow.binning.Bundles` for shared columns."""
    for top in range(start, stop, _ROWS_PER_BLOCK):
        bottom = min(top + _ROWS_PER_BLOCK, stop)
        for row in range(top, bottom):
            by_row[row, :] = 0
        for column in range(by_column.shape[0]):
            codes, target = by_column[column], stored[column]
            if usual[column] < 0:
                for row in range(top, bottom):
                    by_row[row, target] = codes[row]
            else:
                for row in range(top, bottom):
                    code = np.int64(codes[row])
                    if code != usual[column]:
                        by_row[row, target] = base[column] + code - (1 if code > usual[column] else 0)


# --- keys of rows


@kernel
def add_keys(bits, first_column, keys):
    """keys[row] += hash(column, bits of the value); bits is uint64 (rows, columns), and 0 adds nothing."""
    for row in range(bits.shape[0]):
        key = keys[row]
        for column in range(bits.shape[1]):
            if bits[row, column]:
                key += draw(0, ROW_KEYS, first_column + column, bits[row, column])
        keys[row] = key


@kernel
def add_sparse_keys(bits, indices, starts, keys):
    """Do `add_keys` for the values of a compressed sparse row matrix, with the keys of the dense matrix."""
    for row in range(keys.size):
        key = keys[row]
        for entry in range(starts[row], starts[row + 1]):
            if bits[entry]:
                key += draw(0, ROW_KEYS, indices[entry], bits[entry])
        keys[row] = key


@kernel
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
