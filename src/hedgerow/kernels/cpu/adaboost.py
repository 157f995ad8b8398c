"""The row loops of the AdaBoost family: weights from scores, stumps, leaves of rows, additions to scores.

raw is (K, n): K = 1 for two classes, with h = -1 for class 0 and +1 for class 1, else one score a class.
classes is int32 (n,). The weight of a row is a function of its score alone,

    K = 1   exp(-steepness * y * raw / 2),  y = -1 or +1
    K > 1   exp(-steepness * raw[class])

and is not carried from round to round: a fit that continues a saved model has the same weights, bit for bit,
as one that was never interrupted. `hedgerow.kernels.cpu.weak` searches the splits of a stump.
"""

import numpy as np

from hedgerow.kernels.cpu.elementary import exp
from hedgerow.kernels.cpu.gradients import pair_sum
from hedgerow.kernels.cpu.jit import kernel
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.weak import search_columns

WHOLE = 2.0**61  # the approximate sum of all integer weights


@kernel
def fill_exponents(raw, classes, steepness, factor, out, start, stop):
    """out = exponent of the weight; return the largest one of the rows with a positive factor.

    An empty factor stands for ones, here and below.
    """
    largest = -np.inf
    if raw.shape[0] == 1:
        scores = raw[0]
        half = 0.5 * steepness
        for i in range(start, stop):
            exponent = half * scores[i]
            out[i] = -exponent if classes[i] else exponent
    else:
        for i in range(start, stop):
            out[i] = -steepness * raw[classes[i], i]
    if factor.size:
        for i in range(start, stop):
            value = out[i] if factor[i] > 0.0 else -np.inf
            largest = max(largest, value)
    else:
        for i in range(start, stop):
            largest = max(largest, out[i])
    return largest


@kernel
def raise_exponents(exponents, factor, shift):
    """exponents = factor * exp(exponents - shift), in place; never 0 by underflow, see `round_weights`.

    Only rows of factor 0 are above the shift, for which 0 * inf must not occur.
    """
    if factor.size:
        for i in range(exponents.size):
            exponents[i] = factor[i] * exp(min(max(exponents[i] - shift, -700.0), 0.0))
    else:
        for i in range(exponents.size):
            exponents[i] = exp(max(exponents[i] - shift, -700.0))


@kernel
def weighted_sum(values, copies):
    """Return the sum of values times their copies (float64; 1 if empty), as high + low.

    It has about 100 bits, so that a row with two copies and two equal rows have the same sum; see `pair_sum`.
    There are four interleaved sums, since a single one waits for each addition.
    """
    if copies.size:
        return pair_sum(values, copies)
    n = values.size
    high, low = np.zeros(4), np.zeros(4)
    n_blocked = n - n % 4
    for i in range(0, n_blocked, 4):
        for lane in range(4):
            value = values[i + lane]
            total = high[lane] + value
            back = total - high[lane]
            low[lane] += (high[lane] - (total - back)) + (value - back)
            high[lane] = total
    last_high, last_low = pair_sum(values[n_blocked:], copies)
    first, more = pair_sum(high, copies)
    total = first + last_high
    back = total - first
    lost = (first - (total - back)) + (last_high - back)
    return total, ((lost + more) + last_low) + ((low[0] + low[1]) + (low[2] + low[3]))


@kernel
def weigh_rows(raw, classes, steepness, factor, copies, out, rounded):
    """Compute a distribution in one call, for at most one block of rows; see `RowWeights`.

    On small data, calls take more time than rows. Returns the sum of the weights and their shift.
    """
    shift = fill_exponents(raw, classes, steepness, factor, out, 0, out.size)
    raise_exponents(out, factor, shift)
    high, low = weighted_sum(out, copies)
    total = high + low
    round_weights(out, copies, WHOLE / total, rounded)
    return total, shift


@kernel
def round_weights(values, copies, scale, out):
    """out = values * scale as integers, at least 1 for a positive value, times the copies.

    A weight never becomes 0: an error of 0 means that no row is wrong.
    """
    for i in range(values.size):
        rounded = np.int64(np.rint(values[i] * scale))
        out[i] = max(rounded, np.int64(1)) if values[i] > 0.0 else 0
    if copies.size:
        for i in range(values.size):
            out[i] *= np.int64(copies[i])


@kernel
def round_moments(values, targets, copies, scale, unit, weight, second):
    """weight = values * scale and second = values * scale * target * unit as integers, times the copies."""
    for i in range(values.size):
        scaled = values[i] * scale
        rounded = np.int64(np.rint(scaled))
        weight[i] = max(rounded, np.int64(1)) if values[i] > 0.0 else 0
        second[i] = np.int64(np.rint(scaled * (targets[i] * unit)))
    if copies.size:
        for i in range(values.size):
            weight[i] *= np.int64(copies[i])
            second[i] *= np.int64(copies[i])


# --- stumps and leaves


@kernel
def grow_stump(codes, n_bins, categorical, sample, work, nodes, sums, leaf_ids):
    """Grow a stump in one call: on small data, calls take more time than rows.

    work : (limits, hist, found, left) of `search_columns`, for all columns. The tree is written to nodes,
    three zeroed NODE records, sums (3, channels) and leaf_ids (n,). Returns the number of nodes.
    """
    limits, hist, found, left = work
    totals, weight, second = sums[0], sample.weight, sample.second
    for k in range(totals.shape[0]):
        totals[k] = 0
    if second.shape[0]:
        for i in range(weight.shape[0]):
            totals[0] += weight[i]
            totals[1] += second[i]
    else:
        for i in range(weight.shape[0]):
            totals[sample.classes[i]] += weight[i]
    all_rows = np.empty(0, np.uint32)  # a read-only global array would compile the search again
    search_columns(codes, n_bins, categorical, sample, all_rows, totals, limits, hist, found, left)
    best = 0
    for column in range(1, found.shape[0]):
        if found[column].gain > found[best].gain:
            best = column
    if not found[best].gain > 0.0:
        for i in range(leaf_ids.shape[0]):
            leaf_ids[i] = 0
        return 1
    split, chosen = nodes[0].split, found[best]
    split.gain, split.column, split.threshold = chosen.gain, chosen.column, chosen.threshold
    split.missing_left, split.categorical = chosen.missing_left, chosen.categorical
    for word in range(split.goes_left.shape[0]):
        split.goes_left[word] = chosen.goes_left[word]
    nodes[0].left, nodes[1].depth, nodes[2].depth = 1, 1, 1
    for k in range(totals.shape[0]):
        sums[1, k], sums[2, k] = left[best, k], totals[k] - left[best, k]
        totals[k] = 0
    if chosen.categorical:
        descend(codes, nodes, 0, leaf_ids.shape[0], leaf_ids)
    else:
        find_stump_sides(codes, nodes, 0, leaf_ids.shape[0], leaf_ids)
    return 3


@kernel
def descend(codes, nodes, start, stop, leaf_ids):
    """leaf_ids[row] = number of the leaf of the row, for codes by column."""
    depth = 0
    for number in range(nodes.shape[0]):
        depth = max(depth, nodes[number].depth)
    for row in range(start, stop):
        leaf_ids[row] = 0
    for _ in range(depth):
        for row in range(start, stop):
            number = leaf_ids[row]
            left = nodes[number].left
            if left == 0:
                continue
            split = nodes[number].split
            code = np.int64(codes[split.column, row])
            if split.categorical:
                goes_left = in_set(split.goes_left, code)
            else:
                goes_left = code <= split.threshold if code else split.missing_left != 0
            leaf_ids[row] = left + (0 if goes_left else 1)


@kernel
def find_stump_sides(codes, nodes, start, stop, leaf_ids):
    """Do `descend` for a stump with a numeric threshold: the leaves are nodes 1 and 2."""
    split = nodes[0].split
    column = codes[split.column]
    threshold, missing_side = split.threshold, 2 - split.missing_left
    for row in range(start, stop):
        code = np.int64(column[row])
        side = 1 if code <= threshold else 2
        leaf_ids[row] = side if code else missing_side


# --- sums by class and leaf, scores, errors


@kernel
def class_sums(classes, weight, sums):
    """sums[class] += weight."""
    for i in range(classes.size):
        sums[classes[i]] += weight[i]


@kernel
def sum_by_leaf(leaf_ids, classes, weight, sums):
    """sums[leaf, class] += weight."""
    for i in range(leaf_ids.size):
        sums[leaf_ids[i], classes[i]] += weight[i]


@kernel
def add_table(raw, leaf_ids, table, start, stop):
    """raw[k, row] += table[k, leaf of the row]."""
    for k in range(raw.shape[0]):
        scores, values = raw[k], table[k]
        for i in range(start, stop):
            scores[i] += values[leaf_ids[i]]


@kernel
def wrong_weight(raw, classes, weight, start, stop):
    """Return the sum of the weights of the rows whose first largest score is not that of their class.

    An empty weight stands for ones.
    """
    wrong = np.int64(0)
    for i in range(start, stop):
        if raw.shape[0] == 1:
            best = np.int64(raw[0, i] > 0.0)
        else:
            best = np.int64(0)
            for k in range(1, raw.shape[0]):
                if raw[k, i] > raw[best, i]:
                    best = k
        if best != classes[i]:
            wrong += weight[i] if weight.size else 1
    return wrong


# --- medians of AdaBoost.R2


@kernel
def update_medians(values, members, predictions, weights, out, start, stop):
    """Insert the predictions of the last member into sorted lists, and write the weighted medians to `out`.

    values : float64 (n, capacity), predictions of a row in rising order, in the first entries.
    members : int32 (n, capacity), the member of each prediction. weights : int64 (members,); integer sums do
    not depend on the order of equal values. The median is the smallest value at which the running sum of the
    weights is at least half of the total.
    """
    last = weights.size - 1
    total = np.int64(0)
    for weight in weights:
        total += weight
    for row in range(start, stop):
        ordered, member, value = values[row], members[row], predictions[row]
        i = last
        while i > 0 and ordered[i - 1] > value:
            ordered[i], member[i] = ordered[i - 1], member[i - 1]
            i -= 1
        ordered[i], member[i] = value, last
        i = 0
        running = weights[member[0]]
        while 2 * running < total:
            i += 1
            running += weights[member[i]]
        out[row] = ordered[i] + 0.0  # -0 becomes 0: the order of the two is arbitrary
