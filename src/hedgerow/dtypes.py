"""The few dtypes of the library, each with its reason."""

import numpy as np

CODE = np.uint8  # hence at most 255 bins for values and one code for missing
WIDE_CODE = np.uint16  # for columns cut so finely that a stump is exact
ROW = np.uint32  # row numbers: half the memory traffic of int64, up to 4.29e9 rows
MOST_ROWS = 2**32 - 1
STATISTIC = np.int64  # gradients, hessians and counts are summed as integers: any order, same sum
SCORE = np.float64  # raw scores, leaf values, losses

MISSING_CODE = 0  # code 0 is "missing or unseen"; the codes 1..n_bins are the bins of a column
MAX_BINS = 255  # the bins one byte leaves beside MISSING_CODE
MAX_WIDE_BINS = 65_535  # the same for two bytes
