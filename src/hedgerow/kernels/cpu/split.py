"""Finding the best split of a node in the columns of its histogram.

A split is evaluated by twice the reduction of the second-order objective (Chen and Guestrin 2016, with the
l1 term):

    score(G, H) = max over v of  -(2 G v + (H + l2) v**2 + 2 l1 |v|)  =  T(G)**2 / (H + l2)
    gain        = score(left) + score(right) - score(node),    T = soft threshold by l1

All quantities are in units of the integer statistics: G and H are integers below 2**62, and Rules holds
l1, l2 and the other limits converted to these units. Nothing can overflow, whatever the scale of the data.

The histogram of a column is stored as running sums. It is searched in two short loops that LLVM vectorises:
gains as float64 without a branch (one division for two, since a division costs as much as all the rest), and
the first largest gain. Columns are compared by their score: the largest gain, or, with `random_strength`, its
square root plus a normal number. Ties go to the lower column, then to missing values on the right, then to
the lower threshold.
"""

import numpy as np

from hedgerow.kernels.cpu.jit import inlined_kernel, kernel
from hedgerow.kernels.cpu.partition import fill_set
from hedgerow.kernels.cpu.random import SPLIT_NOISE, normal

NO_GAIN = -np.inf
ROUNDING = 1e-10  # a gain below this fraction of the node's score is rounding, not structure


@kernel
def leaf_value(gradient, hessian, l1, l2, lower, upper):
    """argmin over v in [lower, upper] of G v + (H + l2) v**2 / 2 + l1 |v|."""
    if gradient > l1:
        shrunk = gradient - l1
    elif gradient < -l1:
        shrunk = gradient + l1
    else:
        shrunk = 0.0
    curvature = hessian + l2
    value = -shrunk / curvature if curvature > 0.0 else 0.0
    return min(max(value, lower), upper)


@kernel
def value_score(gradient, hessian, value, l1, l2):
    """Twice the reduction of the objective when a leaf has `value`."""
    return -(2.0 * gradient * value + (hessian + l2) * value * value + 2.0 * l1 * abs(value))


@inlined_kernel
def _plain_gains(run_g, run_h, node, l2, fewest, gains):
    """Write the gains of all splits of a column without l1 and without bounds.

    gl**2 / hl + gr**2 / hr = (gl**2 hr + gr**2 hl) / (hl hr)
    """
    total_g, total_h = np.float64(node.gradient), np.float64(node.hessian)
    parent = total_g * total_g / (total_h + l2)
    total_hessian = node.hessian
    for p in range(run_g.shape[0]):
        left_h = run_h[p]
        right_h = total_hessian - left_h
        gl = np.float64(run_g[p])
        gr = total_g - gl
        hl = np.float64(left_h) + l2
        hr = np.float64(right_h) + l2
        gain = (gl * gl * hr + gr * gr * hl) / (hl * hr) - parent
        gains[p] = gain if min(left_h, right_h) >= fewest else NO_GAIN


@kernel
def _bounded_gains(run_g, run_h, node, rules, l2, direction, gains):
    """Write gains with l1, bounds and a monotonic direction (+1 rising, -1 falling, 0 free)."""
    l1, lower, upper = rules.l1, node.lower, node.upper
    total_g, total_h = np.float64(node.gradient), np.float64(node.hessian)
    value = leaf_value(total_g, total_h, l1, l2, lower, upper)
    parent = value_score(total_g, total_h, value, l1, l2)
    for p in range(run_g.shape[0]):
        gl, hl = np.float64(run_g[p]), np.float64(run_h[p])
        gr, hr = total_g - gl, total_h - hl
        left = leaf_value(gl, hl, l1, l2, lower, upper)
        right = leaf_value(gr, hr, l1, l2, lower, upper)
        gain = value_score(gl, hl, left, l1, l2) + value_score(gr, hr, right, l1, l2) - parent
        fits = (run_h[p] >= rules.min_hessian) & (node.hessian - run_h[p] >= rules.min_hessian)
        fits &= (right - left) * direction >= 0.0
        gains[p] = gain if fits else NO_GAIN


@inlined_kernel
def first_largest(gains, n):
    """Return the index of the first largest positive gain, -1 when there is none.

    The bits of positive floats sort as integers do, and only an integer maximum is vectorised.
    """
    bits = gains.view(np.int64)[:n]
    top = np.int64(0)
    for p in range(n):
        top = max(top, bits[p])
    if top == 0:
        return -1
    at = 0
    while bits[at] != top:
        at += 1
    return at


@inlined_kernel
def insert(code, value, n, order, ratio):
    """Insert a code into `order`, whose n codes have rising values in `ratio`, after those of equal value."""
    position = n
    while position > 0 and ratio[position - 1] > value:
        ratio[position] = ratio[position - 1]
        order[position] = order[position - 1]
        position -= 1
    ratio[position] = value
    order[position] = code


@kernel
def _order_categories(histogram, first, last, smoothing, order, ratio):
    """Write the codes in the node by rising G / (H + smoothing), ties by code; return their number.

    For a convex loss the best of all 2**k subsets is a prefix of this order (Fisher 1958).
    """
    n = 0
    last_g, last_h = np.int64(0), np.int64(0)
    for entry in range(first, last):
        gradient, hessian = histogram[0, entry] - last_g, histogram[1, entry] - last_h
        last_g, last_h = histogram[0, entry], histogram[1, entry]
        if gradient == 0 and hessian == 0:
            continue
        value = np.float64(gradient) / (np.float64(hessian) + smoothing)
        insert(entry - first, value, n, order, ratio)
        n += 1
    return n


@kernel
def ordered_sums(histogram, counts, first, order, n, sums):
    """sums[:, p] = sums over the first p + 1 categories of the order."""
    run_g, run_h, run_c = np.int64(0), np.int64(0), np.int64(0)
    for p in range(n):
        entry = first + order[p]
        run_g += histogram[0, entry] - (histogram[0, entry - 1] if order[p] else 0)
        run_h += histogram[1, entry] - (histogram[1, entry - 1] if order[p] else 0)
        sums[0, p] = run_g
        sums[1, p] = run_h
        if counts.shape[0]:
            run_c += counts[entry]
            sums[2, p] = run_c


@kernel
def _running_sums(histogram, counts, first, n, with_missing, sums):
    """sums[:, p] = sums over the codes 1..p+1, and over the missing code 0 if `with_missing`."""
    less_g = np.int64(0) if with_missing else histogram[0, first]
    less_h = np.int64(0) if with_missing else histogram[1, first]
    for channel, less in ((0, less_g), (1, less_h)):
        source, target = histogram[channel, first + 1 : first + 1 + n], sums[channel, :n]
        for p in range(n):
            target[p] = source[p] - less
    if counts.shape[0]:
        run_c = counts[first] if with_missing else 0
        for p in range(n):
            run_c += counts[first + 1 + p]
            sums[2, p] = run_c


@kernel
def _count_rows_without_statistics(sums, n, node, rows_without_statistics, missing_position):
    """Count the rows of codes without statistics (G = H = 0) on the side they will go to.

    They go with the missing values, at `missing_position` of the order, or else to the heavier side.
    """
    for p in range(n):
        with_missing = 0 <= missing_position <= p
        heavier_left = missing_position < 0 and 2 * sums[1, p] > node.hessian
        if with_missing or heavier_left:
            sums[2, p] += rows_without_statistics


@kernel
def send_left(split, order, n, position):
    """Write the set of the first position + 1 categories; those without rows go with the missing values."""
    for p in range(n):
        if order[p] == 0:
            split.missing_left = np.int64(p <= position)
    fill_set(split.goes_left, order, n, position, split.missing_left)


@inlined_kernel
def _best_cut(run_g, run_h, run_c, node, rules, column, l2, gains):
    """The best of the splits with these left sums, -1 when none fits; run_c is empty without counts."""
    n = run_g.shape[0]
    if rules.l1 == 0.0 and rules.monotonic.shape[0] == 0:
        _plain_gains(run_g, run_h, node, l2, rules.min_hessian, gains)
    else:
        direction = np.float64(rules.monotonic[column]) if rules.monotonic.shape[0] else 0.0
        _bounded_gains(run_g, run_h, node, rules, l2, direction, gains)
    for p in range(run_c.shape[0]):
        if run_c[p] < rules.min_count or node.count - run_c[p] < rules.min_count:
            gains[p] = NO_GAIN
    return first_largest(gains, n)


@kernel
def search_column(codes, rules, histogram, counts, node, column, search, thread, split):
    """Write the best split of a column to `split`; the gain is NO_GAIN without one.

    A numeric column is tried with missing values on the right and, if there are any, on the left. In a
    categorical column missing values are another category. If none are missing, those of prediction go to the
    heavier side. The histogram holds running sums, counts do not; counts may be empty: then the minimal leaf
    size is not checked.
    """
    sums, gains, order = search.sums[thread], search.gains[thread], search.order[thread]
    first, n_bins = codes.offsets[column], codes.n_bins[column]
    some_missing = histogram[0, first] != 0 or histogram[1, first] != 0
    categorical = codes.categorical[column] != 0
    copied = categorical or some_missing or counts.shape[0] > 0
    l2, n_present = rules.l2, 0
    split.gain = NO_GAIN
    for missing_left in range(2 if some_missing and not categorical else 1):
        if categorical:
            l2 += rules.smoothing
            last = first + n_bins + 1
            n_present = _order_categories(histogram, first, last, rules.smoothing, order, gains)
            n = max(n_present - 1, 0)
            ordered_sums(histogram, counts, first, order, n, sums)
            if counts.shape[0]:
                rows_without_statistics, missing_position = node.count, -1
                for p in range(n_present):
                    rows_without_statistics -= counts[first + order[p]]
                    if order[p] == 0:
                        missing_position = p
                _count_rows_without_statistics(sums, n, node, rows_without_statistics, missing_position)
        else:
            # the last threshold of missing-right sends every value left and only missing right
            n = n_bins if some_missing and not missing_left else n_bins - 1
            if copied:
                _running_sums(histogram, counts, first, n, missing_left, sums)
            if counts.shape[0] and not some_missing:
                _count_rows_without_statistics(sums, n, node, counts[first], -1)
        start = 0 if copied else first + 1
        source = sums[:2] if copied else histogram
        run_g, run_h = source[0, start : start + n], source[1, start : start + n]
        run_c = sums[2, : n if counts.shape[0] else 0]
        position = _best_cut(run_g, run_h, run_c, node, rules, column, l2, gains)
        if position >= 0 and gains[position] > split.gain:
            heavier_left = 2 * run_h[position] > node.hessian
            split.gain = gains[position]
            split.column = column
            split.threshold = position + 1
            split.missing_left = missing_left if some_missing else np.int64(heavier_left)
            split.left_gradient = run_g[position]
            split.left_hessian = run_h[position]
            split.categorical = np.int64(categorical)
            if categorical:
                send_left(split, order, n_present, position)


@kernel
def split_score(rules, number, column, gain):
    """Return the score by which the best split of a column of node `number` is compared with others.

    It is the gain, or with noise its square root and a normal number. It rises with the gain.
    """
    if rules.noise == 0.0:
        return gain
    key = rules.tree * (1 << 32) + number
    return np.sqrt(gain) + rules.noise * normal(rules.seed, SPLIT_NOISE, key, column)


@kernel
def best_column(rules, number, least, allowed, found):
    """The column of the largest score for node `number`, the first among equals; -1 when none has a split.

    With noise, only splits that gain more than `least` are compared.
    """
    best, score = -1, NO_GAIN
    for column in rules.columns:
        gain = found[column].gain
        if not allowed[column] or gain == NO_GAIN or (rules.noise > 0.0 and not gain > least):
            continue
        other = split_score(rules, number, column, gain)
        if other > score:
            best, score = column, other
    return best


@kernel
def least_gain(node, rules):
    """Return the gain that a split of a node must exceed: the minimum, or rounding errors if larger."""
    gradient = np.float64(node.gradient)
    rounding = ROUNDING * gradient * gradient / (np.float64(node.hessian) + rules.l2)
    return max(rules.min_gain, rounding)
