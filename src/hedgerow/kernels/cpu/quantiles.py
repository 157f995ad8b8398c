"""Weighted quantiles of the values of leaves, for losses whose leaf values these are, and weighted medians.

Arrays are grouped by leaf, and `starts` (n_leaves + 1,) cuts them, as in `hedgerow.kernels.cpu.gradients`.
"""

import numpy as np

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.jit import kernel


def weighted_quantiles(values: Floats, weight: Floats, starts: Integers, level: float) -> Floats:
    """Return for every leaf the smallest value v with weight(values <= v) >= level * weight(all).

    There is no interpolation: a weight of 2 equals two copies of the row, a weight of 0 omits it. A leaf
    without weight has 0. Both arrays are reordered.
    """
    quantiles = np.empty(starts.size - 1)
    fill_weighted_quantiles(values, weight, starts, level, quantiles)
    return quantiles


@kernel
def fill_weighted_quantiles(
    values: Floats, weight: Floats, starts: Integers, level: float, quantiles: Floats
) -> None:
    """Write the quantiles of all leaves."""
    for leaf in range(quantiles.size):
        a, b = starts[leaf], starts[leaf + 1]
        quantiles[leaf] = _quantile(values[a:b], weight[a:b], level) + 0.0  # -0 becomes 0


@kernel
def _quantile(values: Floats, weight: Floats, level: float) -> float:
    """Quickselect by weight: continue in the segment in which the running weight passes the target."""
    a, b, total = 0, 0, 0.0
    for i in range(values.size):
        if weight[i] > 0.0:
            values[b], weight[b] = values[i], weight[i]
            total += weight[b]
            b += 1
    if b == 0:
        return 0.0
    target, before, state = level * total, 0.0, np.uint64(b)
    while True:
        # a pivot from hashed positions: no order of the rows is a worst case
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        size = np.uint64(b - a)
        first = values[a + np.int64((state >> np.uint64(33)) % size)]
        second = values[a + np.int64((state >> np.uint64(17)) % size)]
        third = values[a + np.int64((state >> np.uint64(3)) % size)]
        pivot: float = max(min(first, second), min(max(first, second), third))
        less, equal, smaller, same = _three_segments(values, weight, a, b, pivot)
        if smaller > a and before + less >= target:
            b = smaller
        elif same == b or before + less + equal >= target:
            return pivot
        else:
            a, before = same, before + less + equal


@kernel
def _three_segments(
    values: Floats, weight: Floats, a: int, b: int, pivot: float
) -> tuple[float, float, int, int]:
    """Reorder [a, b) into [ < pivot | = pivot | > pivot ]; return two weights, two boundaries."""
    less, equal = 0.0, 0.0
    i, smaller, same = a, a, b  # [a, smaller) < pivot, [smaller, i) = pivot, [same, b) > pivot
    while i < same:
        v, w = values[i], weight[i]
        if v > pivot:
            same -= 1
            values[i], weight[i] = values[same], weight[same]
            values[same], weight[same] = v, w
        else:
            if v < pivot:
                values[i], weight[i] = values[smaller], weight[smaller]
                values[smaller], weight[smaller] = v, w
                smaller += 1
                less += w
            else:
                equal += w
            i += 1
    return less, equal, smaller, same
