"""Deep trees, one grown by one thread: the trees of random forests and of extremely randomised trees.

A row brings an integer weight and either a class or integer numbers; a node is rows[start:stop], and its
sums are integers by channel:

    classes    channel k = weight of class k
    numbers    channel 0 = weight, channel k = sum of weight * number k

A forest has millions of nodes of a few rows. A histogram of 256 codes for ten rows is waste: here only the
codes that occur are visited, found as the set bits of four words, and only their entries are cleared.
All columns drawn for a node are added up in one pass over its rows, which lie together (by row).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hedgerow.kernels.cpu.elementary import log
from hedgerow.kernels.cpu.intrinsics import lowest_bit
from hedgerow.kernels.cpu.partition import in_set
from hedgerow.kernels.cpu.random import NODE_COLUMNS, RANDOM_CUT, draw

GINI, ENTROPY, SQUARED, POISSON = (np.int64(i) for i in range(4))
FULL = np.int64(-1)  # the arrays of the tree are too short

_CODES = np.int64(256)
_WORDS = 4
_NOISE = 2.0**-40  # a gain below this share of the weight is rounding
_ONE = np.uint64(1)


class DeepRows(NamedTuple):
    """The rows a tree is grown on."""

    codes: NDArray[np.uint8]  # (n, stride)
    categorical: NDArray[np.uint8]  # (columns,)
    weight: NDArray[np.int64]  # (n,) 0 for a row that takes no part
    classes: NDArray[np.int32]  # (n,) or empty
    numbers: NDArray[np.int64]  # (n, k), weight already in, or empty


class DeepRules(NamedTuple):
    """What a tree may become; weights and gains are in the units of the integers."""

    criterion: int
    max_depth: int
    min_split: int  # weight of a node that may be split
    min_leaf: int  # weight of a leaf
    columns_per_node: int
    min_gain: float
    random_cuts: int
    seed: int
    tree: int


class DeepTree(NamedTuple):
    """The tree as it grows: one entry a node, children side by side, and the sets of categorical splits."""

    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    set_number: NDArray[np.int32]
    depth: NDArray[np.int32]
    gain: NDArray[np.float64]
    sums: NDArray[np.int64]  # (nodes, channels)
    sets: NDArray[np.uint64]  # (nodes, 4)


class DeepWork(NamedTuple):
    """Scratch of one thread."""

    rows: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    stack: NDArray[np.int64]  # (depth, 3): node, start, stop
    order: NDArray[np.int64]  # columns, drawn ones first
    hist: NDArray[np.int64]  # (columns at once, 256 * channels), zero between nodes
    seen: NDArray[np.uint64]  # (columns at once, 4)
    codes: NDArray[np.int64]  # (256,) of a column, in the order they are cut
    keys: NDArray[np.float64]  # (256,)
    side: NDArray[np.int64]  # (2, channels)
    best: NDArray[np.int64]  # column, threshold, missing_left, categorical
    best_set: NDArray[np.uint64]  # (4,)


@njit(cache=True, nogil=True, error_model="numpy")
def grow_deep(data, rules, tree, work, n_rows):
    """Grow a tree on work.rows[:n_rows]; returns the number of nodes and of sets, or FULL twice."""
    n_channels = tree.sums.shape[1]
    _sum_rows(data, work.rows, 0, n_rows, tree.sums[0])
    tree.depth[0] = 0
    stack = work.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n_rows
    height, n_nodes, n_sets = 1, 1, 0
    while height > 0:
        height -= 1
        node, start, stop = stack[height, 0], stack[height, 1], stack[height, 2]
        tree.left[node] = 0
        tree.gain[node] = 0.0
        if tree.depth[node] >= rules.max_depth or stop - start < 2:
            continue
        gain = _best_split(data, rules, tree.sums[node], node, work, start, stop)
        if not gain > 0.0:
            continue
        if n_nodes + 2 > tree.left.shape[0]:
            return FULL, FULL
        middle = _part(data.codes, work, start, stop)
        _sum_rows(data, work.rows, start, middle, tree.sums[n_nodes])
        for k in range(n_channels):
            tree.sums[n_nodes + 1, k] = tree.sums[node, k] - tree.sums[n_nodes, k]
        best = work.best
        tree.column[node], tree.threshold[node], tree.missing_left[node] = best[0], best[1], best[2]
        tree.left[node], tree.gain[node] = n_nodes, gain
        tree.set_number[node] = -1
        if best[3]:
            tree.set_number[node] = n_sets
            for word in range(_WORDS):
                tree.sets[n_sets, word] = work.best_set[word]
            n_sets += 1
        tree.depth[n_nodes] = tree.depth[n_nodes + 1] = tree.depth[node] + 1
        stack[height, 0], stack[height, 1], stack[height, 2] = n_nodes + 1, middle, stop
        stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = n_nodes, start, middle
        height += 2
        n_nodes += 2
    return n_nodes, n_sets


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_rows(data, rows, start, stop, sums):
    """Channel sums of rows[start:stop]."""
    for k in range(sums.shape[0]):
        sums[k] = 0
    if data.classes.shape[0]:
        for i in range(start, stop):
            row = np.uintp(rows[i])
            sums[data.classes[row]] += data.weight[row]
    else:
        for i in range(start, stop):
            row = np.uintp(rows[i])
            sums[0] += data.weight[row]
            for k in range(1, sums.shape[0]):
                sums[k] += data.numbers[row, k - 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _part(codes, work, start, stop):
    """Rows that go left to the front, stably; returns where the others begin."""
    rows, spare, best = work.rows, work.spare, work.best
    column, threshold, missing_left = best[0], best[1], best[2] != 0
    at, kept = start, 0
    for i in range(start, stop):
        row = rows[i]
        code = np.int64(codes[np.uintp(row), column])
        if best[3]:
            goes_left = in_set(work.best_set, code) != 0
        else:
            goes_left = code <= threshold if code else missing_left
        if goes_left:
            rows[at] = row
            at += 1
        else:
            spare[kept] = row
            kept += 1
    for i in range(kept):
        rows[at + i] = spare[i]
    return at


@njit(cache=True, nogil=True, error_model="numpy")
def _best_split(data, rules, totals, node, work, start, stop):
    """The best split of a node over columns drawn for it, in work.best; returns its gain, 0 for none.

    A column with one code only is drawn in vain; when all of them are, more are drawn (as scikit-learn does).
    """
    weight = _weight(totals, data)
    whole = _worth(totals, rules.criterion)
    if weight < rules.min_split or _is_pure(totals, weight, data):
        return 0.0
    n_columns, at_once = work.order.shape[0], work.hist.shape[0]
    key = (np.int64(rules.tree) << 32) + node
    floor = max(rules.min_gain, weight * _NOISE)
    top, drawn, useful = floor, 0, 0
    while drawn < n_columns and (drawn < rules.columns_per_node or not useful):
        n = min(at_once, n_columns - drawn, rules.columns_per_node - drawn) if not drawn else 1
        for place in range(drawn, drawn + n):
            other = place + np.int64(
                draw(rules.seed, NODE_COLUMNS, key, place) % np.uint64(n_columns - place)
            )
            work.order[place], work.order[other] = work.order[other], work.order[place]
        _fill(data, work, drawn, n, start, stop)
        for i in range(n):
            column = work.order[drawn + i]
            found = _search(data, rules, totals, column, key, work, i, whole, top)
            useful += found >= 0.0
            top = max(top, found)
        drawn += n
    return top if top > floor else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(data, work, first, n, start, stop):
    """Histograms of n columns from work.order[first] on, and the codes they have."""
    n_channels = work.side.shape[1]
    for i in range(n):
        for word in range(_WORDS):
            work.seen[i, word] = 0
    for r in range(start, stop):
        row = np.uintp(work.rows[r])
        codes = data.codes[row]
        weight = data.weight[row]
        channel = np.int64(data.classes[row]) if data.classes.shape[0] else 0
        for i in range(n):
            code = np.int64(codes[work.order[first + i]])
            work.seen[i, code >> 6] |= _ONE << np.uint64(code & 63)
            place = code * n_channels
            work.hist[i, place + channel] += weight
            for k in range(data.numbers.shape[1]):
                work.hist[i, place + 1 + k] += data.numbers[row, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _search(data, rules, totals, column, key, work, place, whole, top):
    """The best cut of one column if it gains more than `top`, and clear its histogram.

    whole : what the node is worth. Returns the gain, 0 if no cut gains more, -1 for a column of one code.
    """
    hist, seen, codes = work.hist[place], work.seen[place], work.codes
    n_channels = totals.shape[0]
    categorical = data.categorical[column] != 0
    n = 0
    for word in range(_WORDS):
        bits = seen[word]
        while bits != 0:
            codes[n] = word * 64 + np.int64(lowest_bit(bits))
            bits &= bits - _ONE
            n += 1
    found = -1.0
    if n > 1:
        if categorical:
            _sort_codes(hist, codes, n, totals, data, work.keys)
        if n_channels == 2 and (rules.criterion == GINI or rules.criterion == SQUARED):
            found = _scan_two(data, rules, totals, column, key, work, place, n, top)
        else:
            found = _scan(data, rules, totals, column, key, work, place, n, whole, top)
        if found > top:
            work.best[0], work.best[3] = column, np.int64(categorical)
            if categorical:
                _make_set(hist, codes, n, totals, data, work)
    for i in range(n):
        entry = codes[i] * n_channels
        for k in range(n_channels):
            hist[entry + k] = 0
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _scan(data, rules, totals, column, key, work, place, n, whole, top):
    """Try the cuts of codes in order, missing on the right and on the left; the best into work.best."""
    hist, codes, side = work.hist[place], work.codes, work.side
    n_channels = totals.shape[0]
    categorical = data.categorical[column] != 0
    missing = not categorical and codes[0] == 0
    first = np.int64(missing)
    only = _random_cut(rules, key, column, first, n)
    found = 0.0
    for missing_left in range(2 if missing else 1):
        for k in range(n_channels):
            side[0, k] = hist[k] if missing_left else 0
        last = n - 1 if missing_left or not missing else n  # the last cut leaves missing alone on the right
        for i in range(first, last):
            entry = codes[i] * n_channels
            for k in range(n_channels):
                side[0, k] += hist[entry + k]
                side[1, k] = totals[k] - side[0, k]
            if only >= 0 and i != only:
                continue
            light = min(_weight(side[0], data), _weight(side[1], data))
            if light < rules.min_leaf:
                continue
            gain = _worth(side[0], rules.criterion) + _worth(side[1], rules.criterion) - whole
            if gain > top:
                top = found = gain
                work.best[1], work.best[2] = i if categorical else codes[i], missing_left
    if found > 0.0 and not missing and not categorical:
        work.best[2] = _left_is_heavier(data, totals, work, place, n)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _scan_two(data, rules, totals, column, key, work, place, n, top):
    """The same for two classes, or one number: all sums in registers, three times as fast.

    With h the weight and g the difference of the classes, sum_k W_k**2 / W is (h + g**2 / h) / 2.
    """
    hist, codes = work.hist[place], work.codes
    two = data.classes.shape[0] > 0
    half = 0.5 if two else 1.0
    whole_h = totals[0] + totals[1] if two else totals[0]
    whole_g = totals[1] - totals[0] if two else totals[1]
    whole = half * np.float64(whole_g) * np.float64(whole_g) / np.float64(whole_h)
    categorical = data.categorical[column] != 0
    missing = not categorical and codes[0] == 0
    first = np.int64(missing)
    only = _random_cut(rules, key, column, first, n)
    found, at, side = 0.0, np.int64(-1), 0
    for missing_left in range(2 if missing else 1):
        h, g = np.int64(0), np.int64(0)
        if missing_left:
            h, g = (hist[0] + hist[1], hist[1] - hist[0]) if two else (hist[0], hist[1])
        last = n - 1 if missing_left or not missing else n
        for i in range(first, last):
            entry = 2 * codes[i]
            a, b = hist[entry], hist[entry + 1]
            h += a + b if two else a
            g += b - a if two else b
            if (only >= 0 and i != only) or min(h, whole_h - h) < rules.min_leaf:
                continue
            other = np.float64(whole_g - g)
            gain = np.float64(g) * np.float64(g) / np.float64(h) + other * other / np.float64(whole_h - h)
            gain = half * gain - whole
            if gain > top:
                top = found = gain
                at, side = i, missing_left
    if at >= 0:
        work.best[1], work.best[2] = at if categorical else codes[at], side
        if not missing and not categorical:
            work.best[2] = _left_is_heavier(data, totals, work, place, n)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _random_cut(rules, key, column, first, n):
    """The one place that is tried when cuts are random, -1 when all are."""
    if not rules.random_cuts:
        return np.int64(-1)
    span = np.uint64(max(n - first - (0 if first else 1), 1))
    return first + np.int64(draw(rules.seed, RANDOM_CUT, key, column) % span)


@njit(cache=True, nogil=True, error_model="numpy")
def _left_is_heavier(data, totals, work, place, n):
    """Where a missing value goes that the node has not seen: to the heavier side."""
    hist, codes = work.hist[place], work.codes
    n_channels = totals.shape[0]
    left = np.int64(0)
    for i in range(n):
        if codes[i] <= work.best[1]:
            left += _weight(hist[codes[i] * n_channels : (codes[i] + 1) * n_channels], data)
    return np.int64(2 * left >= _weight(totals, data))


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_codes(hist, codes, n, totals, data, keys):
    """Codes by rising mean of the first number, or rising share of the heaviest class."""
    n_channels = totals.shape[0]
    which = np.argmax(totals) if data.classes.shape[0] else 1
    for i in range(n):
        code = codes[i]
        entry = hist[code * n_channels : (code + 1) * n_channels]
        key = np.float64(entry[which]) / np.float64(_weight(entry, data))
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], codes[at] = keys[at - 1], codes[at - 1]
            at -= 1
        keys[at], codes[at] = key, code


@njit(cache=True, nogil=True, error_model="numpy")
def _make_set(hist, codes, n, totals, data, work):
    """The codes up to place work.best[1] go left; those not seen go to the heavier side."""
    n_channels = totals.shape[0]
    last = work.best[1]
    left = np.int64(0)
    for i in range(last + 1):
        left += _weight(hist[codes[i] * n_channels : (codes[i] + 1) * n_channels], data)
    heavier = 2 * left >= _weight(totals, data)
    for word in range(_WORDS):
        work.best_set[word] = ~np.uint64(0) if heavier else np.uint64(0)
    for i in range(n):
        bit = _ONE << np.uint64(codes[i] & 63)
        if i <= last:
            work.best_set[codes[i] >> 6] |= bit
        else:
            work.best_set[codes[i] >> 6] &= ~bit
    work.best[1], work.best[2] = 0, 0


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(sums, data):
    """The weight of a set of rows, from its channel sums."""
    if not data.classes.shape[0]:
        return sums[0]
    weight = np.int64(0)
    for k in range(sums.shape[0]):
        weight += sums[k]
    return weight


@njit(cache=True, nogil=True, error_model="numpy")
def _is_pure(totals, weight, data):
    if not data.classes.shape[0]:
        return False
    return np.max(totals) == weight


@njit(cache=True, nogil=True, error_model="numpy")
def _worth(sums, criterion):
    """What a split makes large, added up over its two sides.

    GINI sum_k W_k**2 / W, ENTROPY sum_k W_k ln(W_k / W), SQUARED sum_k G_k**2 / W, POISSON G ln(G / W).
    """
    worth, weight = 0.0, 0.0
    if criterion == GINI:
        for k in range(sums.shape[0]):
            w = np.float64(sums[k])
            weight += w
            worth += w * w
        return worth / weight
    if criterion == ENTROPY:
        for k in range(sums.shape[0]):
            weight += np.float64(sums[k])
        for k in range(sums.shape[0]):
            w = np.float64(sums[k])
            worth += w * log(w / weight) if w > 0.0 else 0.0
        return worth
    weight = np.float64(sums[0])
    for k in range(1, sums.shape[0]):
        g = np.float64(sums[k])
        if criterion == SQUARED:
            worth += g * g / weight
        else:
            worth += g * log(g / weight) if g > 0.0 else 0.0
    return worth
