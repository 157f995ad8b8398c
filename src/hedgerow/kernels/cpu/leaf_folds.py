"""Row loops of leaf values by fold: sums of statistics by leaf and fold, and the values added to the scores.

`folds` uint8 (n,) has the fold of every row. `starts` (leaves + 1,) divides row numbers that are grouped by
leaf, see `hedgerow.kernels.cpu.gradients`.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import kernel

_LOW = np.int64(0xFFFFFFFF)


@kernel
def add_fold_sums(statistics, rows, starts, folds, sums, start, stop):
    """Add gradient, hessian and copies of rows[start:stop] to sums (leaves, folds, 3)."""
    leaf = np.searchsorted(starts, start, side="right") - 1
    while start < stop:
        end = min(stop, starts[leaf + 1])
        own = sums[leaf]
        for k in range(start, end):
            row = np.uintp(rows[k])
            fold = np.uintp(folds[row])
            if statistics.packed.shape[0]:
                own[fold, 0] += statistics.packed[row] >> np.int64(32)
                own[fold, 1] += statistics.packed[row] & _LOW
            else:
                own[fold, 0] += statistics.wide[row, 0]
                own[fold, 1] += statistics.wide[row, 1]
            own[fold, 2] += statistics.copies[row] if statistics.copies.shape[0] else 1
        start = end
        leaf += 1


@kernel
def add_fold_values(scores, rows, starts, folds, values, start, stop):
    """scores[row] += values[leaf, fold of the row] for rows[start:stop]."""
    leaf = np.searchsorted(starts, start, side="right") - 1
    while start < stop:
        end = min(stop, starts[leaf + 1])
        own = values[leaf]
        for k in range(start, end):
            row = np.uintp(rows[k])
            scores[row] += own[np.uintp(folds[row])]
        start = end
        leaf += 1
