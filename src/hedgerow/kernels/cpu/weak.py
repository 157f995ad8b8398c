"""The best split of a set of rows by class weights or by moments: the weak learner of the AdaBoost family.

A row has integer statistics, and a histogram is their sums by channel and code:

    classes   channel k = sum of the weights of class k                 (one addition per row and column)
    moments   channel 0 = sum of weights h, channel 1 = sum of g        (two)

    hist[channel * width + code],  code 0 is missing, and the last entry of a channel is unused

Weights are scaled so that all of them sum to about 2**61, hence no sum overflows for any number of
rows, and the sums do not depend on the order of the rows.

A cut sends the first codes of a column left. With L_k and R_k the sums of the two sides and T_k of both:

    ERROR     sum of max_k L_k and max_k R_k, less max_k T_k       exact: the decrease of the weighted error
    GINI      sum_k L_k**2 / L + sum_k R_k**2 / R, less sum_k T_k**2 / T
    MOMENTS   G_left**2 / H_left + G_right**2 / H_right, less G**2 / H    (least squares)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.partition import fill_set
from hedgerow.kernels.cpu.split import first_largest

ERROR, GINI, MOMENTS = (np.int64(i) for i in range(3))
NO_GAIN = -1.0

COLUMNS_PER_BLOCK = 16  # their histograms stay in the second-level cache
_ROWS_PER_BLOCK = 4096  # whose weights stay in the first-level cache
_NOISE = 2.0**-44  # a gain below this fraction of the total is rounding


class Sample(NamedTuple):
    """The statistics of the rows; see the module."""

    weight: Integers  # of every row, 0 for one that is not used
    second: Integers  # g of every row for moments, else empty
    classes: NDArray[Any]  # of every row for classes, else empty


@kernel
def search_columns(codes, n_bins, categorical, sample, rows, totals, limits, hist, found, left):
    """Find the best cut of every column: write records to `found`, sums of the left sides to `left`.

    codes : (columns, n) of the columns to search, as are n_bins, categorical, found (SPLIT records, their
    `column` counted from the first one) and left (columns, channels).
    rows : uint32 row numbers of the node, empty for all rows. totals : (channels,) sums over them.
    limits : int64, the criterion, the width of a channel, and the least weight of a side.
    hist : int64 scratch, (columns at once, channels * width).
    """
    n_columns = codes.shape[0]
    at_once = hist.shape[0]
    n = rows.shape[0] or codes.shape[1]
    step = n if at_once == 1 else _ROWS_PER_BLOCK
    gains = np.empty(limits[1])
    for first in range(0, n_columns, at_once):
        last = min(first + at_once, n_columns)
        for column in range(first, last):
            _clear(hist[column - first], totals.shape[0], limits[1], n_bins[column])
        for top in range(0, n, step):
            bottom = min(top + step, n)
            for column in range(first, last):
                _fill(codes[column], sample, rows, limits[1], top, bottom, hist[column - first])
        for column in range(first, last):
            _search(hist[column - first], n_bins[column], categorical[column], totals, limits, gains,
                    found[column], left[column])  # fmt: skip
            found[column].column = column


@kernel
def fill_columns(codes, offsets, sample, rows, all_rows, hist):
    """Do the first half of `search_columns` for sharded rows: add them to histograms.

    offsets : int64 (columns + 1,), running sums of the codes that columns have, missing included.
    all_rows : whether to add all rows instead of `rows`, which may be empty here.
    hist : int64 (channels * offsets[-1],), the codes of column f of the first channel from offsets[f] on.
    """
    n_columns = codes.shape[0]
    width = offsets[n_columns]
    n = codes.shape[1] if all_rows else rows.shape[0]
    for first in range(0, n_columns, COLUMNS_PER_BLOCK):
        last = min(first + COLUMNS_PER_BLOCK, n_columns)
        for top in range(0, n, _ROWS_PER_BLOCK):
            bottom = min(top + _ROWS_PER_BLOCK, n)
            for column in range(first, last):
                _fill(codes[column], sample, rows, width, top, bottom, hist[offsets[column] :])


@kernel
def search_filled(filled, offsets, categorical, totals, limits, columns, found, left):
    """Do the second half of `search_columns` for columns[0]..columns[1] - 1, from histograms of all shards.

    filled, offsets : as `fill_columns` has them. categorical, found and left : of all columns.
    """
    width, n_channels = limits[1], totals.shape[0]
    hist = np.empty(n_channels * width, np.int64)  # the search replaces it by running sums
    gains = np.empty(width)
    for column in range(columns[0], columns[1]):
        first, last = offsets[column], offsets[column + 1]
        for k in range(n_channels):
            channel, whole = hist[k * width : k * width + last - first], filled[k, first:last]
            for code in range(channel.shape[0]):
                channel[code] = whole[code]
        _search(hist, last - first - 1, categorical[column], totals, limits, gains, found[column],
                left[column])  # fmt: skip
        found[column].column = column


@kernel
def _clear(hist, n_channels, width, n_bins):
    """Zero the entries of the codes of a column."""
    for k in range(n_channels):
        channel = hist[k * width : k * width + n_bins + 1]
        for i in range(channel.shape[0]):
            channel[i] = 0


@kernel
def _fill(codes, sample, rows, width, top, bottom, hist):
    """Add rows top..bottom - 1 (of all, or of `rows`) to the histogram of one column."""
    weight, second, classes = sample.weight, sample.second, sample.classes
    if second.shape[0]:
        upper = hist[width:]
        for i in range(top, bottom):
            row = np.uintp(rows[i]) if rows.shape[0] else np.uintp(i)
            code = np.uintp(codes[row])
            hist[code] += weight[row]
            upper[code] += second[row]
    elif rows.shape[0]:
        for i in range(top, bottom):
            row = np.uintp(rows[i])
            hist[np.uintp(classes[row]) * np.uintp(width) + np.uintp(codes[row])] += weight[row]
    else:
        code, label, value = codes[top:bottom], classes[top:bottom], weight[top:bottom]
        for i in range(bottom - top):
            hist[np.uintp(label[i]) * np.uintp(width) + np.uintp(code[i])] += value[i]


@kernel
def _search(hist, n_bins, categorical, totals, limits, gains, best, left):
    """Find the best cut of one column from its histogram, which becomes running sums."""
    n_channels, width = totals.shape[0], limits[1]
    missing = np.empty(n_channels, np.int64)
    some_missing = False
    for k in range(n_channels):
        missing[k] = hist[k * width]
        some_missing |= missing[k] != 0
    order = np.empty(0, np.int64)
    n = n_bins
    if categorical:
        order = _ordered(hist, n_bins, totals, limits)
        n = order.shape[0]
        _rearrange(hist, order, width, n_channels)
        some_missing = False  # missing is one of the ordered codes
        for k in range(n_channels):
            missing[k] = 0
    for k in range(n_channels):
        channel = hist[k * width + 1 : (k + 1) * width]
        for i in range(1, n):
            channel[i] += channel[i - 1]
    best.gain, best.missing_left, best.threshold = NO_GAIN, 0, 0
    best.categorical = np.int64(categorical)
    for missing_left in range(2 if some_missing else 1):
        # the last cut has all values on its left: only missing is on the other side
        n_cuts = n if some_missing and not missing_left else n - 1
        _gains(hist, missing, missing_left, totals, limits, n_cuts, gains)
        cut = first_largest(gains, n_cuts)
        if cut >= 0 and gains[cut] > best.gain:
            best.gain, best.threshold, best.missing_left = gains[cut], cut + 1, missing_left
    if best.gain > NO_GAIN:
        _complete(hist, order, missing, totals, limits, some_missing, best, left)


@kernel
def _gains(hist, missing, missing_left, totals, limits, n_cuts, gains):
    """gains[p] = gain of a cut after position p, NO_GAIN where a side has too little weight."""
    criterion, width, least = limits[0], limits[1], limits[2]
    if totals.shape[0] != 2:
        _gains_of_many(hist, missing, missing_left, totals, limits, n_cuts, gains)
        return
    first, second = hist[1 : n_cuts + 1], hist[width + 1 : width + 1 + n_cuts]
    out = gains[:n_cuts]
    add0, add1 = missing[0] * missing_left, missing[1] * missing_left
    t0, t1 = totals[0], totals[1]
    if criterion == ERROR:
        whole = max(t0, t1)
        for p in range(out.shape[0]):
            l0, l1 = first[p] + add0, second[p] + add1
            r0, r1 = t0 - l0, t1 - l1
            gain = max(l0, l1) + max(r0, r1) - whole
            fits = min(l0 + l1, r0 + r1) >= least
            out[p] = np.float64(gain) if fits & (gain > 0) else NO_GAIN
        return
    squares = criterion == GINI  # sum_k T_k**2 / T = (T + (T_1 - T_0)**2 / T) / 2
    h = t0 + t1 if squares else t0
    g = t1 - t0 if squares else t1
    whole, noise = np.float64(g) * np.float64(g) / np.float64(h), np.float64(h) * _NOISE
    if (
        not squares
    ):  # with an outlier all other targets are small, but their differences are not rounding errors
        noise = max(whole * _NOISE, noise * _NOISE)
    adds_second, subtracts_first = (np.int64(1), np.int64(1)) if squares else (np.int64(0), np.int64(0))
    for p in range(out.shape[0]):
        l0, l1 = first[p] + add0, second[p] + add1
        left_h, left_g = l0 + adds_second * l1, l1 - subtracts_first * l0
        right_h, right_g = h - left_h, g - left_g
        gain = np.float64(left_g) * np.float64(left_g) / np.float64(left_h)
        gain += np.float64(right_g) * np.float64(right_g) / np.float64(right_h) - whole
        fits = min(left_h, right_h) >= least
        out[p] = gain if fits & (gain > noise) else NO_GAIN


@kernel
def _gains_of_many(hist, missing, missing_left, totals, limits, n_cuts, gains):
    """Do `_gains` for any number of classes."""
    criterion, width, least = limits[0], limits[1], limits[2]
    weight = np.int64(0)
    whole, heaviest = 0.0, np.int64(0)
    for k in range(totals.shape[0]):
        weight += totals[k]
        heaviest = max(heaviest, totals[k])
        whole += np.float64(totals[k]) * np.float64(totals[k])
    whole /= np.float64(weight)
    for p in range(n_cuts):
        left_weight, left_most, right_most = np.int64(0), np.int64(0), np.int64(0)
        left_squares, right_squares = 0.0, 0.0
        for k in range(totals.shape[0]):
            left = hist[k * width + 1 + p] + missing[k] * missing_left
            right = totals[k] - left
            left_weight += left
            left_most, right_most = max(left_most, left), max(right_most, right)
            left_squares += np.float64(left) * np.float64(left)
            right_squares += np.float64(right) * np.float64(right)
        right_weight = weight - left_weight
        if criterion == ERROR:
            gain = np.float64(left_most + right_most - heaviest)
            noise = 0.0
        else:
            gain = left_squares / np.float64(left_weight) + right_squares / np.float64(right_weight) - whole
            noise = np.float64(weight) * _NOISE
        gains[p] = gain if min(left_weight, right_weight) >= least and gain > noise else NO_GAIN


@kernel
def _ordered(hist, n_bins, totals, limits):
    """Return the codes with weight, including missing, by rising fraction of one class, or rising mean.

    With two classes, or moments, the best subset of categories is a prefix of this order (Breiman et al.
    1984); with more classes, the order is that of the fraction of the heaviest class.
    """
    width, moments = limits[1], limits[0] == MOMENTS
    heaviest = np.argmax(totals)
    order = np.empty(n_bins + 1, np.int64)
    keys = np.empty(n_bins + 1)
    n = 0
    for code in range(n_bins + 1):
        weight, numerator = np.int64(0), np.int64(0)
        if moments:
            weight, numerator = hist[code], hist[width + code]
        else:
            for k in range(totals.shape[0]):
                weight += hist[k * width + code]
            numerator = hist[heaviest * width + code]
        if weight == 0:
            continue
        key = np.float64(numerator) / np.float64(weight)
        i = n
        while i > 0 and keys[i - 1] > key:
            keys[i], order[i] = keys[i - 1], order[i - 1]
            i -= 1
        keys[i], order[i] = key, code
        n += 1
    return order[:n]


@kernel
def _rearrange(hist, order, width, n_channels):
    """Move the entry of code order[p] of every channel to position p + 1."""
    moved = np.empty(order.shape[0], np.int64)
    for k in range(n_channels):
        channel = hist[k * width : (k + 1) * width]
        for i in range(order.shape[0]):
            moved[i] = channel[order[i]]
        for i in range(order.shape[0]):
            channel[i + 1] = moved[i]


@kernel
def _complete(hist, order, missing, totals, limits, some_missing, best, left):
    """Write the sums of the left side of the best cut, and the side of codes that the node does not have."""
    left_weight, weight = np.int64(0), np.int64(0)
    for k in range(totals.shape[0]):
        left[k] = hist[k * limits[1] + best.threshold] + missing[k] * best.missing_left
        if limits[0] != MOMENTS or k == 0:
            left_weight += left[k]
            weight += totals[k]
    heavier = left_weight >= weight - left_weight
    if not best.categorical:
        if not some_missing:
            best.missing_left = np.int64(heavier)
        return
    fill_set(best.goes_left, order, order.shape[0], best.threshold - 1, heavier)
    best.threshold = 0
