"""Rows of shards: codes, and values of numeric columns behind them."""

import numpy as np
import pytest

from hedgerow.binning import find_bins, row_stride
from hedgerow.growing.row_layout import RowLayout
from hedgerow.table import read_table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 3, 8, 9, 40])
def test_rows_hold_codes_and_values(n_columns, dtype):
    X = np.random.default_rng(n_columns).integers(0, 5, (50, n_columns)).astype(dtype)
    X[::7, 0] = np.nan
    categorical = [1, n_columns - 1] if n_columns > 2 else []
    table = read_table(X, categorical_features=categorical)
    block, bins = table.block(0, 50), find_bins(table)
    layout = RowLayout.with_values(bins, block.dtype)
    numeric = [column for column in range(n_columns) if column not in categorical]
    assert layout.columns == tuple(numeric)
    rows = layout.allocate(50)
    assert rows.shape == (50, layout.width)
    rows[:] = 255
    for first, stop in ((30, 50), (0, 30)):
        layout.encode(bins, block[first:stop], rows, first)
    codes = np.zeros((50, row_stride(n_columns)), np.uint8)
    bins.encode_block(block, codes, 0, by_row=True)
    np.testing.assert_array_equal(rows[:, :n_columns], codes[:, :n_columns])
    values = layout.values(rows)
    assert np.shares_memory(values, rows)
    assert values.dtype == block.dtype
    assert values.flags.c_contiguous
    assert values[:, layout.positions[numeric]].tobytes() == block[:, numeric].tobytes()
    n_bytes = n_columns + len(numeric) * block.dtype.itemsize
    assert n_bytes <= layout.width <= 2 * (n_bytes + 8)


def test_without_values_rows_are_those_of_codes():
    layout = RowLayout(28)
    assert layout.width == row_stride(28)
    assert layout.values(layout.allocate(4)).shape == (4, 0)
