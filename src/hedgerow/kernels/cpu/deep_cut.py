"""The best cut of one column of a node, from the sums of its codes.

See `deep_split` for the channels that the sums of a set of rows have. Gains are in the units of the integers:
the weight of the node times the decrease of its impurity.
"""

from typing import NamedTuple

import numpy as np

from hedgerow._typing import Integers
from hedgerow.kernels.cpu.elementary import log
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel

GINI, ENTROPY, SQUARED, POISSON = (np.int64(i) for i in range(4))


class ColumnSums(NamedTuple):
    """The rows of a node by the codes of one column."""

    own: Integers  # (codes * stride,) sums of the codes, in the order they are cut
    codes: Integers  # (256,) those that occur, in the order they are cut
    n: int  # of these
    sums: Integers  # (stride,) of the node, only channels that are not empty
    stride: int  # how many they are, that of the draws among them
    means: Integers  # (stride,) of the numbers, rounded down
    classes: bool
    counted: bool  # the last channel is that of the draws
    categorical: bool
    missing: bool  # code 0 occurs in a numeric column
    drawn: int  # the last code (for categories, its position) that the only cut to try sends left, or -1


class MinLeaf(NamedTuple):
    """Minimum of a side."""

    draws: int
    weight: int


@deep_inline
def scan_two(candidate, min_leaf, top):
    """Return the best cut for two classes by Gini, or one number by squares, that gains more than `top`.

    It has the position of the last code that goes left, or -1, whether missing values go left, and the gain.
    With h the weight and g the difference of the classes, sum_k W_k**2 / W is (h + g**2 / h) / 2. Numbers are
    relative to the mean of the node, so that no digits cancel. All sums are in registers.
    """
    own, n, two = candidate.own, candidate.n, candidate.classes
    half, mean = (0.5, np.int64(0)) if two else (1.0, candidate.means[1])
    whole_h = candidate.sums[0] + candidate.sums[1] if two else candidate.sums[0]
    whole_g = candidate.sums[1] - candidate.sums[0] if two else candidate.sums[1] - mean * candidate.sums[0]
    min_weight = max(min_leaf.draws, min_leaf.weight)
    whole = half * np.float64(whole_g) * np.float64(whole_g) / np.float64(whole_h)
    at, side, drawn = np.int64(-1), np.int64(0), candidate.drawn
    for missing_left in range(2 if candidate.missing else 1):
        h, g = np.int64(0), np.int64(0)
        if missing_left:
            h = own[0] + own[1] if two else own[0]
            g = own[1] - own[0] if two else own[1] - mean * own[0]
        # the last cut separates missing from all values
        last = n if candidate.missing and not missing_left else n - 1
        for i in range(np.int64(candidate.missing), last):
            u, v = own[np.uintp(2 * i)], own[np.uintp(2 * i + 1)]
            h += u + v if two else u
            g += v - u if two else v - mean * u
            if min(h, whole_h - h) < min_weight or (drawn >= 0 and _is_not_drawn(candidate, i)):
                continue
            other = np.float64(whole_g - g)
            gain = np.float64(g) * np.float64(g) / np.float64(h) + other * other / np.float64(whole_h - h)
            gain = half * gain - whole
            if gain > top:
                top, at, side = gain, i, np.int64(missing_left)
    return at, side, top


@deep_inline
def scan_gini(candidate, min_leaf, top, side):
    """Return the best cut, as `scan_two` does, for any number of classes by Gini.

    With the weights T_k of a node and L_k of its left side, those of its right side have the squares
    sum_k T_k**2 - 2 sum_k T_k L_k + sum_k L_k**2: the two sums are updated without a branch.
    side : float64 (2, channels), scratch.
    """
    own, n, stride = candidate.own, candidate.n, np.uintp(candidate.stride)
    whole, squares = 0.0, 0.0
    for j in range(stride):
        side[1, j] = np.float64(candidate.sums[j])
        whole += side[1, j]
        squares += side[1, j] * side[1, j]
    min_weight, whole_purity = np.float64(max(min_leaf.draws, min_leaf.weight)), squares / whole
    at, missing_side = np.int64(-1), np.int64(0)
    for missing_left in range(2 if candidate.missing else 1):
        for j in range(stride):
            side[0, j] = 0.0
        left, low, cross = 0.0, 0.0, 0.0
        last = n if candidate.missing and not missing_left else n - 1
        for i in range(0 if missing_left else np.int64(candidate.missing), last):
            entry = np.uintp(i) * stride
            for j in range(stride):
                moved, before = np.float64(own[entry + j]), side[0, j]
                low += moved * (2.0 * before + moved)
                cross += moved * side[1, j]
                left += moved
                side[0, j] = before + moved
            if min(left, whole - left) < min_weight or (candidate.drawn >= 0 and _is_not_drawn(candidate, i)):
                continue
            gain = low / left + (squares - 2.0 * cross + low) / (whole - left) - whole_purity
            # with missing on the right, the cut that separates missing from all values was tried already
            if gain > top and not (missing_left and i == 0):
                top, at, missing_side = gain, i, np.int64(missing_left)
    return at, missing_side, top


@deep_inline
def scan_entropy(candidate, min_leaf, top, side, logs):
    """Return the best cut by entropy: the purity of a side of weights W_k is sum_k W_k ln W_k - W ln W.

    side : int64 (2, channels), scratch. logs : see `_log_times`.
    """
    own, n, stride = candidate.own, candidate.n, np.uintp(candidate.stride)
    min_weight = max(min_leaf.draws, min_leaf.weight)
    weight, total = weight_of(candidate, candidate.sums), 0.0
    for j in range(stride):
        total += _log_times(candidate.sums[j], logs)
    node_purity = total - _log_times(weight, logs)
    at, missing_side = np.int64(-1), np.int64(0)
    for missing_left in range(2 if candidate.missing else 1):
        for j in range(stride):
            side[0, j], side[1, j] = 0, candidate.sums[j]
        left, low, high = np.int64(0), 0.0, total
        last = n if candidate.missing and not missing_left else n - 1
        for i in range(0 if missing_left else np.int64(candidate.missing), last):
            entry = np.uintp(i) * stride
            for j in range(stride):
                moved = own[entry + j]
                if moved:
                    low -= _log_times(side[0, j], logs)
                    high -= _log_times(side[1, j], logs)
                    side[0, j] += moved
                    side[1, j] -= moved
                    low += _log_times(side[0, j], logs)
                    high += _log_times(side[1, j], logs)
                    left += moved
            if min(left, weight - left) < min_weight or (
                candidate.drawn >= 0 and _is_not_drawn(candidate, i)
            ):
                continue
            gain = low - _log_times(left, logs) + (high - _log_times(weight - left, logs)) - node_purity
            if gain > top and not (missing_left and i == 0):
                top, at, missing_side = gain, i, np.int64(missing_left)
    return at, missing_side, top


@deep_inline
def _log_times(w, logs):
    """Compute w ln w; logs : float64, that of 0, 1, 2, ... for the small weights that most nodes have."""
    if w < logs.shape[0]:
        return logs[np.uintp(w)]
    return np.float64(w) * log(np.float64(w))


@deep_kernel
def scan(candidate, min_leaf, top, criterion, direction, bounds, side):
    """Return the best cut for any target and criterion, with counted draws and monotonic constraints.

    direction : -1, 0 or 1, or 2 without constraints. bounds : float64 (4,), lowest and highest value allowed,
    and the values of both sides, which are written. side : int64 (2, stride), scratch.
    """
    own, sums, stride, n = candidate.own, candidate.sums, candidate.stride, candidate.n
    node_purity = purity(candidate, sums, criterion)
    at, missing_side = np.int64(-1), np.int64(0)
    for missing_left in range(2 if candidate.missing else 1):
        for k in range(stride):
            side[0, k] = own[k] if missing_left else 0
        last = n if candidate.missing and not missing_left else n - 1
        for i in range(np.int64(candidate.missing), last):
            for k in range(stride):
                side[0, k] += own[i * stride + k]
                side[1, k] = sums[k] - side[0, k]
            if _is_too_light(candidate, side[0], min_leaf) or _is_too_light(candidate, side[1], min_leaf):
                continue
            if candidate.drawn >= 0 and _is_not_drawn(candidate, i):
                continue
            gain = purity(candidate, side[0], criterion) + purity(candidate, side[1], criterion) - node_purity
            if not gain > top:
                continue
            if direction != 2:
                low, high = _value(candidate, side[0]), _value(candidate, side[1])
                if direction * (high - low) < 0.0:
                    continue
                bounds[2], bounds[3] = clip(low, bounds), clip(high, bounds)
            top, at, missing_side = gain, i, np.int64(missing_left)
    return at, missing_side, top


@deep_kernel
def _is_not_drawn(candidate, i):
    """Return whether the cut after position i is not the one that was drawn."""
    if candidate.categorical:
        return i != candidate.drawn
    return candidate.codes[i] > candidate.drawn or (
        i + 1 < candidate.n and candidate.codes[i + 1] <= candidate.drawn
    )


@deep_inline
def weight_of(candidate, sums):
    """Return the weight of a set of rows."""
    if not candidate.classes:
        return sums[0]
    weight = np.int64(0)
    for k in range(candidate.stride - np.int64(candidate.counted)):
        weight += sums[k]
    return weight


@deep_kernel
def _is_too_light(candidate, sums, min_leaf):
    weight = weight_of(candidate, sums)
    draws = sums[candidate.stride - 1] if candidate.counted else weight
    return draws < min_leaf.draws or weight < min_leaf.weight


@deep_kernel
def purity(candidate, sums, criterion):
    """Return the purity of a set of rows: a split maximises its sum over both sides.

    GINI sum_k W_k**2 / W, ENTROPY sum_k W_k ln(W_k / W), SQUARED sum_k G_k**2 / W with numbers relative to
    the mean of the node, POISSON sum_k G_k ln(G_k / W), where every G_k must be positive.
    """
    total = 0.0
    weight, n = np.float64(weight_of(candidate, sums)), candidate.stride - np.int64(candidate.counted)
    if criterion == GINI:
        for k in range(n):
            w = np.float64(sums[k])
            total += w * w
        return total / weight
    if criterion == ENTROPY:
        for k in range(n):
            w = np.float64(sums[k])
            total += w * log(w / weight) if w > 0.0 else 0.0
        return total
    if criterion == SQUARED:
        for k in range(1, n):
            g = np.float64(sums[k] - candidate.means[k] * sums[0])
            total += g * g
        return total / weight
    for k in range(1, n):
        g = np.float64(sums[k])
        if g <= 0.0:
            return -np.inf
        total += g * log(g / weight)
    return total


# --- directions


@deep_kernel
def _value(candidate, sums):
    """Return the prediction of a leaf: the fraction of the second class, or the mean."""
    return np.float64(sums[1]) / np.float64(weight_of(candidate, sums))


@deep_inline
def clip(value, bounds):
    """Return the value within the bounds of its node, which hold for all leaves below it."""
    return min(max(value, bounds[0]), bounds[1])


# --- categories


@deep_kernel
def sort_codes(candidate, unsorted, keys, positions):
    """Sort codes and sums by rising mean of the first number, or fraction of the heaviest class.

    One of the cuts in that order is the best of all sets for two classes and for one number (Fisher 1958).
    unsorted : the sums by rising codes. keys : float64 (256,), positions : int64 (256,), scratch.
    """
    stride, codes = candidate.stride, candidate.codes
    which = np.int64(not candidate.classes)
    for k in range(1, stride - np.int64(candidate.counted) if candidate.classes else 1):
        if candidate.sums[k] > candidate.sums[which]:
            which = np.int64(k)
    for i in range(candidate.n):
        code, sums = codes[i], unsorted[i * stride : (i + 1) * stride]
        key = np.float64(sums[which]) / np.float64(weight_of(candidate, sums))
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], codes[at], positions[at] = keys[at - 1], codes[at - 1], positions[at - 1]
            at -= 1
        keys[at], codes[at], positions[at] = key, code, i
    for i in range(candidate.n):
        for k in range(stride):
            candidate.own[i * stride + k] = unsorted[positions[i] * stride + k]


@deep_inline
def sum_left(candidate, at, missing_left, channels, sums):
    """Write the sums of the codes up to position `at`, with missing if `missing_left`; return the weight.

    channels : int64, indices of the channels of the candidate in `sums`; all of `sums` is written.
    """
    for k in range(sums.shape[0]):
        sums[k] = 0
    for i in range(np.int64(candidate.missing and not missing_left), at + 1):
        for j in range(candidate.stride):
            sums[channels[j]] += candidate.own[i * candidate.stride + j]
    weight = np.int64(0)
    for j in range(candidate.stride - np.int64(candidate.counted) if candidate.classes else 1):
        weight += sums[channels[j]]
    return weight
