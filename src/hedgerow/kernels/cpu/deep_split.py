"""The best split of a node of a deep tree: the trees of forests, each grown by one thread.

A row brings a whole weight and either a class or whole numbers. A node is rows[start:stop], and what is known
of a set of rows are its sums, one integer a channel:

    classes    channel k = weight of class k
    numbers    channel 0 = weight, channel k = sum of weight * number k
    either     a last channel = draws, only where weights are not the draws themselves

A forest has millions of nodes of a few rows. A histogram of 256 codes for ten rows is waste: here only the
codes that occur are visited, as the set bits of four words, and only their entries are cleared. All columns
drawn for a node are added up in one pass over its rows, which lie together by row. Few classes are left in
a deep node; only these are looked at, and two of them, the usual case, fit into registers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.deep_cut import (
    GINI,
    SQUARED,
    Case,
    Least,
    make_set,
    scan,
    scan_classes,
    scan_two,
    sort_codes,
    sum_left,
    weight_of,
)
from hedgerow.kernels.cpu.intrinsics import lowest_bit, prefetch
from hedgerow.kernels.cpu.jit import deep_kernel, deep_part
from hedgerow.kernels.cpu.random import NODE_COLUMNS, RANDOM_CUT, below, draw_from, stream

_WORDS = 4  # of 64 codes each
_CODES, _SIX, _LOW = np.uintp(256), np.uintp(6), np.uintp(63)
_MANY_ROWS = 256  # from here on finding the codes in the histogram is quicker than noting them
_AHEAD = 16  # rows whose codes are fetched before they are needed
_ALL_CODES = np.int64(255)
_ONE = np.uint64(1)


class DeepRows(NamedTuple):
    """The rows that trees are grown on, or those of a subtree."""

    codes: NDArray[np.uint8]  # (n, stride), columns that exclude one another sharing a place
    weight: NDArray[np.int64]  # (n,) draws times the row's own weight; 0 for a row that takes no part
    draws: NDArray[np.int64]  # (n,) or empty when they are the weights
    classes: NDArray[np.integer]  # (n,) or empty
    numbers: NDArray[np.int64]  # (n, outputs), the row's own weight already in; (n, 0) for classes
    same: NDArray[np.int64]  # (n, any) equal for rows of equal targets: the numbers, if they are unweighted


class DeepColumns(NamedTuple):
    """The columns, and where their codes are stored; see `hedgerow.bundling`."""

    categorical: NDArray[np.uint8]  # (columns,)
    direction: NDArray[np.int8]  # (columns,) -1, 0 or 1, or empty without constraints
    n_bins: NDArray[np.int64]  # (columns,) the largest code
    stored: NDArray[np.int64]  # (columns,) the place of its codes in a row
    base: NDArray[np.int64]  # (columns,)
    usual: NDArray[np.int64]  # (columns,) the code that a shared place does not hold, -1 for a place alone


class DeepRules(NamedTuple):
    """What a tree may become; weights and gains are in the units of the integers."""

    criterion: int
    max_depth: int
    max_leaves: int
    min_split: int  # draws of a node that may be split
    min_rows: int  # draws of a leaf
    min_weight: int  # weight of a leaf
    columns_per_node: int
    min_gain: float
    random_cuts: int
    seed: int
    tree: int


class Open(NamedTuple):
    """Nodes that can be split, and how: a slot each."""

    place: NDArray[np.int64]  # (slots, 4) number in the tree, start, stop, depth
    split: NDArray[np.int64]  # (slots, 4) column, threshold, missing_left, categorical
    goes_left: NDArray[np.uint64]  # (slots, 4) the codes of a categorical split
    gain: NDArray[np.float64]
    sums: NDArray[np.int64]  # (slots, channels)
    left: NDArray[np.int64]  # (slots, channels) sums of the left side
    bounds: NDArray[np.float64]  # (slots, 4) lowest and highest value allowed, values of both sides
    constant: NDArray[np.uint64]  # (slots, words) a bit for every column known to have one code


class Scratch(NamedTuple):
    """Memory of a thread for the search."""

    order: NDArray[np.int64]  # (columns,) drawn ones first
    chosen: NDArray[np.int64]  # (columns,) those looked at together
    filled: NDArray[np.uintp]  # (at once,) stored columns that have a histogram
    number: NDArray[np.int64]  # (stored columns,) of its histogram, or -1
    hist: NDArray[np.int64]  # (at once * 256 * channels,) zero between nodes
    seen: NDArray[np.uint64]  # (at once * 4,) a bit for every byte that occurs
    own: NDArray[np.int64]  # (256 * channels,) the histogram of a column that shares its place
    codes: NDArray[np.int64]  # (256,) those of a column, in the order they are cut
    keys: NDArray[np.float64]  # (256,)
    channels: NDArray[np.int64]  # (channels,) those that are not empty
    means: NDArray[np.int64]  # (channels,) of the numbers, rounded down
    side: NDArray[np.int64]  # (2, channels)
    logs: NDArray[np.float64]  # w ln w for w = 0, 1, 2, ...


@deep_part
def best_split(data, columns, rules, rows, nodes, slot, scratch):
    """Find the best split of the node in a slot, over columns drawn for it; whether there is one.

    A column of one code does not count as drawn: others are drawn in its place until there are enough, or
    none are left. (In scikit-learn it counts unless all drawn are such; on Covertype, whose deep nodes have
    few columns that still vary, this rule makes trees a third smaller and the forest a point better.)
    """
    constant, start, stop = nodes.constant[slot], nodes.place[slot, 1], nodes.place[slot, 2]
    n_channels = _list_channels(data, nodes.sums[slot], scratch)
    if not _may_split(data, rules, rows, nodes, slot, n_channels):
        return False
    n_columns, at_once = scratch.order.shape[0], scratch.filled.shape[0]
    key = stream(rules.seed, NODE_COLUMNS, (np.int64(rules.tree) << 32) + nodes.place[slot, 0])
    drawn, n_filled, wanted = np.int64(0), np.int64(0), np.int64(rules.columns_per_node)
    nodes.gain[slot] = -np.inf
    while drawn < n_columns and wanted > 0:
        n, first = 0, n_filled
        while n < wanted and drawn < n_columns and n_filled < at_once:
            other = drawn + below(draw_from(key, drawn), n_columns - drawn)
            column = scratch.order[other]
            scratch.order[other], scratch.order[drawn] = scratch.order[drawn], column
            drawn += 1
            if (constant[column >> 6] >> np.uint64(column & 63)) & _ONE:
                continue
            stored = columns.stored[column]
            if scratch.number[stored] < 0:
                scratch.number[stored] = n_filled
                scratch.filled[n_filled] = stored
                n_filled += 1
            scratch.chosen[n] = column
            n += 1
        _fill(data, rows, scratch, first, n_filled, start, stop)
        for i in range(n):
            varies = _search(data, columns, rules, nodes, slot, scratch, scratch.chosen[i], n_channels)
            wanted -= np.int64(varies)
        if n_filled == at_once or wanted <= 0 or drawn == n_columns:
            _empty(data, scratch, n_filled, n_channels)
            n_filled = 0
    return nodes.gain[slot] > -np.inf and nodes.gain[slot] >= rules.min_gain


@deep_part
def _list_channels(data, sums, scratch):
    """List the channels that are not empty; returns how many, without that of the draws."""
    if data.classes.shape[0] == 0:
        outputs = data.numbers.shape[1]
        for k in range(outputs + 1):
            scratch.channels[k] = k
            scratch.means[k] = sums[k] // sums[0]
        return outputs + 1
    n = 0
    for k in range(sums.shape[0] - np.int64(data.draws.shape[0] > 0)):
        if sums[k]:
            scratch.channels[n] = k
            n += 1
    return n


@deep_part
def _may_split(data, rules, rows, nodes, slot, n_channels):
    """Whether the rules allow a split at all, and the targets differ."""
    sums, (_, start, stop, depth) = nodes.sums[slot], nodes.place[slot]
    if stop - start < 2 or depth >= rules.max_depth:
        return False
    weight = sums[0]
    if data.classes.shape[0]:
        if n_channels < 2:
            return False
        for k in range(1, sums.shape[0] - np.int64(data.draws.shape[0] > 0)):
            weight += sums[k]
    draws = sums[sums.shape[0] - 1] if data.draws.shape[0] else weight
    if draws < max(rules.min_split, 2 * rules.min_rows) or weight < 2 * rules.min_weight:
        return False
    return data.classes.shape[0] > 0 or _targets_differ(data.same, rows, start, stop)


@deep_kernel
def _targets_differ(same, rows, start, stop):
    first = same[np.uintp(rows[start])]
    for i in range(start + 1, stop):
        other = same[np.uintp(rows[i])]
        for k in range(first.shape[0]):
            if other[k] != first[k]:
                return True
    return False


@deep_part
def _fill(data, rows, scratch, first, last, start, stop):
    """Histograms first to last - 1, and the bytes they have.

    Indices are unsigned: Numba would test each signed one for being negative.
    """
    filled, hist, seen = scratch.filled[first:last], scratch.hist, scratch.seen
    stride, classes = np.uintp(scratch.side.shape[1]), data.classes.shape[0] > 0
    width, offset = stride * _CODES, np.uintp(first) * stride * _CODES
    for i in range(first * _WORDS, last * _WORDS):
        seen[i] = 0
    if stop - start < _MANY_ROWS:
        for r in range(start, stop):
            row = np.uintp(rows[r])
            weight = data.weight[row]
            base = offset + (np.uintp(data.classes[row]) if classes else np.uintp(0))
            for i in range(np.uintp(filled.shape[0])):
                code = np.uintp(data.codes[row, filled[i]])
                hist[base + code * stride] += weight
                base += width
                seen[(np.uintp(first) + i) * np.uintp(_WORDS) + (code >> _SIX)] |= _ONE << (code & _LOW)
    else:
        row_bytes, end = np.uintp(data.codes.shape[1]), stop - 1
        for r in range(start, stop):
            prefetch(data.codes, np.uintp(rows[min(r + _AHEAD, end)]) * row_bytes)
            row = np.uintp(rows[r])
            weight = data.weight[row]
            base = offset + (np.uintp(data.classes[row]) if classes else np.uintp(0))
            for i in range(np.uintp(filled.shape[0])):
                hist[base + np.uintp(data.codes[row, filled[i]]) * stride] += weight
                base += width
        for i in range(first, last):
            _note_codes(scratch, i, classes)
    if not classes or data.draws.shape[0]:
        _fill_more(data, rows, scratch, first, last, start, stop)


@deep_part
def _fill_more(data, rows, scratch, first, last, start, stop):
    """The channels of numbers and of draws."""
    hist, stride = scratch.hist, np.uintp(scratch.side.shape[1])
    width, offset = stride * _CODES, np.uintp(first) * stride * _CODES
    counted, outputs = data.draws.shape[0] > 0, np.uintp(data.numbers.shape[1])
    filled = scratch.filled[first:last]
    for r in range(start, stop):
        row = np.uintp(rows[r])
        draws = data.draws[row] if counted else data.weight[row]
        base = offset + np.uintp(1)
        for i in range(np.uintp(filled.shape[0])):
            place = base + np.uintp(data.codes[row, filled[i]]) * stride
            for k in range(outputs):
                hist[place + k] += draws * data.numbers[row, k]
            if counted:
                hist[place + stride - np.uintp(2)] += draws
            base += width


@deep_part
def _note_codes(scratch, number, classes):
    """Set the bits of the bytes with weight."""
    stride = np.uintp(scratch.side.shape[1])
    base, channels = np.uintp(number) * _CODES * stride, stride if classes else np.uintp(1)
    for code in range(_CODES):
        entry = base + code * stride
        for k in range(channels):
            if scratch.hist[entry + k]:
                scratch.seen[np.uintp(number * _WORDS) + (code >> _SIX)] |= _ONE << (code & _LOW)
                break


@deep_part
def _empty(data, scratch, n_filled, n_channels):
    """Zero the histograms where there are bytes; only channels in use (and no call of memset for each)."""
    stride = np.uintp(scratch.side.shape[1])
    if data.draws.shape[0]:
        scratch.channels[n_channels] = stride - np.uintp(1)
        n_channels += 1
    for number in range(n_filled):
        base = np.uintp(number) * _CODES * stride
        for word in range(_WORDS):
            bits = scratch.seen[number * _WORDS + word]
            while bits != 0:
                entry = base + (np.uintp(word * 64) + lowest_bit(bits)) * stride
                bits &= bits - _ONE
                for j in range(np.uintp(n_channels)):
                    scratch.hist[entry + np.uintp(scratch.channels[j])] = 0
        scratch.number[scratch.filled[number]] = -1


@deep_part
def _list_codes(scratch, number):
    """Write the set bits as codes, rising; returns how many."""
    n = np.uintp(0)
    for word in range(_WORDS):
        bits = scratch.seen[number * _WORDS + word]
        while bits != 0:
            scratch.codes[n] = word * 64 + np.int64(lowest_bit(bits))
            bits &= bits - _ONE
            n += np.uintp(1)
    return np.int64(n)


@deep_part
def _list_own(data, columns, column, sums, scratch, number):
    """List those of a column that shares its place, with a histogram of its own; the usual code has the rest."""
    stride, usual, base = sums.shape[0], columns.usual[column], columns.base[column]
    hist, seen, own = scratch.hist, scratch.seen, scratch.own
    first, rest = number * 64 * _WORDS * stride, usual * stride
    for k in range(stride):
        own[rest + k] = sums[k]
    n = 0
    for code in range(columns.n_bins[column] + 1):
        if code == usual:
            scratch.codes[n] = code
            n += 1
            continue
        byte = base + code - np.int64(code > usual)
        if not (seen[number * _WORDS + (byte >> 6)] >> np.uint64(byte & 63)) & _ONE:
            continue
        scratch.codes[n] = code
        n += 1
        for k in range(stride):
            own[code * stride + k] = hist[first + byte * stride + k]
            own[rest + k] -= own[code * stride + k]
    weight = own[rest]
    for k in range(1, stride if data.classes.shape[0] else 1):
        weight += own[rest + k]
    if weight == 0:  # no row of the node has the usual code: close the gap
        at = 0
        while scratch.codes[at] != usual:
            at += 1
        for i in range(at, n - 1):
            scratch.codes[i] = scratch.codes[i + 1]
        n -= 1
    return n


@deep_part
def _search(data, columns, rules, nodes, slot, scratch, column, n_channels):
    """Keep the best cut of a column in the slot if it gains more than what is there; whether it varies."""
    codes, split, number = scratch.codes, nodes.split[slot], scratch.number[columns.stored[column]]
    width = 64 * _WORDS * scratch.side.shape[1]
    hist = scratch.hist[number * width : (number + 1) * width]
    if columns.usual[column] < 0:
        n = _list_codes(scratch, number)
    else:
        n = _list_own(data, columns, column, nodes.sums[slot], scratch, number)
        hist = scratch.own[:width]
    if n < 2:
        nodes.constant[slot, column >> 6] |= _ONE << np.uint64(column & 63)
        return False
    categorical = columns.categorical[column] != 0
    missing = not categorical and codes[0] == 0
    case = Case(
        hist, codes, n, nodes.sums[slot], scratch.channels, n_channels, scratch.means,
        data.classes.shape[0] > 0, data.draws.shape[0] > 0, categorical, missing,
        _draw_cut(rules, nodes.place[slot, 0], column, codes, n, categorical) if rules.random_cuts else -1,
    )  # fmt: skip
    if categorical:
        sort_codes(case, scratch.keys)
    least, constrained = Least(rules.min_rows, rules.min_weight), columns.direction.shape[0] > 0
    plain = not (case.counted or constrained)
    if plain and n_channels == 2 and rules.criterion in (GINI, SQUARED):
        at, side, gain = scan_two(case, least, nodes.gain[slot])
    elif plain and case.classes:
        at, side, gain = scan_classes(
            case, least, nodes.gain[slot], rules.criterion, scratch.side, scratch.logs
        )
    else:
        direction = np.int64(columns.direction[column]) if constrained else 2
        at, side, gain = scan(
            case, least, nodes.gain[slot], rules.criterion, direction, nodes.bounds[slot], scratch.side
        )
    if at >= 0:
        nodes.gain[slot] = gain
        split[0], split[1], split[2] = column, _threshold(case, at, rules.random_cuts), side
        split[3] = np.int64(categorical)
        sum_left(case, at, side, nodes.left[slot])
        heavier = 2 * weight_of(case, nodes.left[slot]) >= weight_of(case, nodes.sums[slot])
        if categorical:
            make_set(case, at, heavier, nodes.goes_left[slot])
        elif not missing:
            split[2] = np.int64(heavier)  # where values go that are missing later
    return True


@deep_part
def _threshold(case, at, random_cuts):
    """The largest code that goes left: halfway to the next that occurs, or the one drawn."""
    if case.categorical:
        return np.int64(0)
    if at == case.n - 1:
        return _ALL_CODES  # only missing is on the right
    return case.drawn if random_cuts else (case.codes[at] + case.codes[at + 1]) >> 1


@deep_kernel
def _draw_cut(rules, number, column, codes, n, categorical):
    """The only cut that is tried: uniform over the codes from the lowest to the highest, or over places."""
    drawn = draw_from(stream(rules.seed, RANDOM_CUT, (np.int64(rules.tree) << 32) + number), column)
    if categorical:
        return below(drawn, n - 1)
    first = np.int64(codes[0] == 0)
    return codes[first] + below(drawn, max(codes[n - 1] - codes[first], 1))
