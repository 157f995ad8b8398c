"""Dtypes and limits of the library, each with its reason."""

import numpy as np

CODE = np.uint8  # hence at most 255 bins for values and one code for missing
WIDE_CODE = np.uint16  # for up to 65,535 bins, with which stumps are exact
ROW = np.uint32  # row numbers: half the memory traffic of int64, up to 4.29e9 rows
MOST_ROWS = 2**32 - 1

MISSING_CODE = 0  # missing or unknown; the codes 1..n_bins are the bins of a column
MAX_BINS = 255  # bins of one byte beside MISSING_CODE
MAX_WIDE_BINS = 65_535  # the same for two bytes
