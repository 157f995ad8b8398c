"""The best split of a node of a deep tree: the trees of forests, each grown by one thread.

A row has an integer weight and either a class or integers. A node is rows[start:stop]. A set of rows is
described by its sums, one integer per channel:

    classes    channel k = weight of class k
    numbers    channel 0 = weight, channel k = sum of weight * number k
    either     a last channel = draws, only if weights differ from the draws

A deep node has few classes, most often two: only these are visited, and two fit into registers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.deep_codes import (
    clear_shared,
    collect_codes,
    collect_few_rows,
    collect_shared_codes,
    fill,
)
from hedgerow.kernels.cpu.deep_cut import (
    ENTROPY,
    GINI,
    SQUARED,
    ColumnSums,
    MinLeaf,
    scan,
    scan_entropy,
    scan_gini,
    scan_two,
    sort_codes,
    sum_left,
    weight_of,
)
from hedgerow.kernels.cpu.jit import deep_inline, deep_kernel
from hedgerow.kernels.cpu.partition import fill_set
from hedgerow.kernels.cpu.random import bounded_draw, draw_from

_FEW_ROWS = 8  # up to this number, rows are sorted one by one
_ALL_CODES = np.int64(255)
_LEFT, _RIGHT, _CUTS = np.uint64(2**40), np.uint64(2**40 + 1), np.uint64(2**40 + 2)  # above any column
_ONE = np.uint64(1)


class DeepRules(NamedTuple):
    """Limits of a tree; weights and gains in units of the integers."""

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


class OpenNodes(NamedTuple):
    """Open nodes and their best splits, one slot each."""

    extent: Integers  # (slots, 4) number in the tree, start, stop, depth
    key: NDArray[np.uint64]  # (slots,) of its random draws; see `child_key`
    split: Integers  # (slots, 4) column, threshold, missing_left, categorical
    goes_left: NDArray[np.uint64]  # (slots, 4) the codes of a categorical split
    gain: Floats
    sums: Integers  # (slots, channels)
    left: Integers  # (slots, channels) sums of the left side
    bounds: Floats  # (slots, 4) lowest and highest value allowed, values of both sides
    constant: NDArray[np.uint64]  # (slots, words) a bit for every column that has only one code


@deep_inline
def child_key(key, right):
    """Return the key of a child: draws depend on the path to a node, not on the order of growth."""
    return draw_from(key, _RIGHT if right else _LEFT)


@deep_inline
def best_split(data, columns, rules, rows, nodes, slot, scratch):
    """Find the best split of the node in a slot, over columns drawn for it; return whether there is one.

    A column of one code does not count as drawn: others are drawn instead until there are enough, or none
    is left. (In scikit-learn it counts unless all drawn columns have one code; on Covertype, whose deep nodes
    have few columns that still vary, this rule makes trees a third smaller and the accuracy of the forest two
    percentage points higher.)
    """
    constant, start, stop = nodes.constant[slot], nodes.extent[slot, 1], nodes.extent[slot, 2]
    n_channels = _list_channels(data, nodes.sums[slot], scratch)
    if not _may_split(data, rules, rows, nodes, slot, n_channels):
        return False
    n_columns, at_once = scratch.order.shape[0], scratch.filled.shape[0]
    drawn, n_filled, wanted = np.int64(0), np.int64(0), np.int64(rules.columns_per_node)
    nodes.gain[slot] = -np.inf
    few = stop - start <= _FEW_ROWS
    while drawn < n_columns and wanted > 0:
        n, first = 0, n_filled
        while n < wanted and drawn < n_columns and n_filled < at_once:
            other = drawn + bounded_draw(draw_from(nodes.key[slot], drawn), n_columns - drawn)
            column = scratch.order[other]
            scratch.order[other], scratch.order[drawn] = scratch.order[drawn], column
            scratch.swapped[drawn] = other
            drawn += 1
            if (constant[column >> 6] >> np.uint64(column & 63)) & _ONE:
                continue
            stored = columns.stored[column]
            if scratch.number[stored] < 0 and not few:
                scratch.number[stored] = n_filled
                scratch.filled[n_filled] = stored
                n_filled += 1
            scratch.chosen[n] = column
            n += 1
        fill(data, rows, scratch, first, n_filled, start, stop)
        for i in range(n):
            column = scratch.chosen[i]
            if few:
                n_codes = collect_few_rows(data, columns, column, rows, start, stop, scratch, n_channels)
            elif columns.usual[column] < 0:
                n_codes = collect_codes(data, scratch, scratch.number[columns.stored[column]], n_channels)
            else:
                number = scratch.number[columns.stored[column]]
                n_codes = collect_shared_codes(data, columns, column, scratch, number, n_channels)
            if n_codes < 2:
                constant[column >> 6] |= _ONE << np.uint64(column & 63)
            else:
                wanted -= 1
                _search(data, columns, rules, nodes, slot, scratch, column, n_codes, n_channels)
        if n_filled == at_once or wanted <= 0 or drawn == n_columns:
            clear_shared(data, scratch, columns.shared, n_filled, n_channels)
            n_filled = 0
    for i in range(drawn - 1, -1, -1):  # restore the order: draws do not depend on those of other nodes
        other = scratch.swapped[i]
        scratch.order[i], scratch.order[other] = scratch.order[other], scratch.order[i]
    return nodes.gain[slot] > -np.inf and nodes.gain[slot] >= rules.min_gain


@deep_inline
def _list_channels(data, sums, scratch):
    """List the channels that are not empty; return how many, without that of the draws, which is last."""
    n, counted = np.int64(0), np.int64(data.draws.shape[0] > 0)
    for k in range(sums.shape[0]):
        if sums[k] or data.classes.shape[0] == 0:
            scratch.channels[n], scratch.local[k], scratch.sums[n] = k, n, sums[k]
            scratch.means[n] = sums[k] // sums[0] if data.classes.shape[0] == 0 else 0
            n += 1
    return n - counted


@deep_inline
def _may_split(data, rules, rows, nodes, slot, n_channels):
    """Return whether the rules allow a split, and the targets differ."""
    sums, (_, start, stop, depth) = nodes.sums[slot], nodes.extent[slot]
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
    return data.classes.shape[0] > 0 or _targets_differ(data.target_keys, rows, start, stop)


@deep_kernel
def _targets_differ(target_keys, rows, start, stop):
    first = target_keys[np.uintp(rows[start])]
    for i in range(start + 1, stop):
        other = target_keys[np.uintp(rows[i])]
        for k in range(first.shape[0]):
            if other[k] != first[k]:
                return True
    return False


@deep_inline
def _search(data, columns, rules, nodes, slot, scratch, column, n, n_channels):
    """Store the best cut of a column in the slot if it gains more than the cut there."""
    codes, split = scratch.codes, nodes.split[slot]
    categorical = columns.categorical[column] != 0
    missing = not categorical and codes[0] == 0
    counted, drawn = data.draws.shape[0] > 0, np.int64(-1)
    if rules.random_cuts:
        drawn = _draw_cut(nodes.key[slot], column, codes, n, categorical)
    candidate = ColumnSums(
        scratch.sorted if categorical else scratch.own, codes, n, scratch.sums,
        n_channels + np.int64(counted), scratch.means, data.classes.shape[0] > 0, counted, categorical,
        missing, drawn,
    )  # fmt: skip
    if categorical:
        sort_codes(candidate, scratch.own, scratch.keys, scratch.positions)
    min_leaf, constrained = MinLeaf(rules.min_rows, rules.min_weight), columns.direction.shape[0] > 0
    plain = not (candidate.counted or constrained)
    if plain and n_channels == 2 and rules.criterion in (GINI, SQUARED):
        at, side, gain = scan_two(candidate, min_leaf, nodes.gain[slot])
    elif plain and rules.criterion == GINI:
        at, side, gain = scan_gini(candidate, min_leaf, nodes.gain[slot], scratch.float_side)
    elif plain and rules.criterion == ENTROPY:
        at, side, gain = scan_entropy(candidate, min_leaf, nodes.gain[slot], scratch.side, scratch.logs)
    else:
        direction = np.int64(columns.direction[column]) if constrained else 2
        at, side, gain = scan(
            candidate,
            min_leaf,
            nodes.gain[slot],
            rules.criterion,
            direction,
            nodes.bounds[slot],
            scratch.side,
        )
    if at >= 0:
        nodes.gain[slot] = gain
        split[0], split[1], split[2] = column, _threshold(candidate, at, rules.random_cuts), side
        split[3] = np.int64(categorical)
        left = sum_left(candidate, at, side, scratch.channels, nodes.left[slot])
        heavier = 2 * left >= weight_of(candidate, candidate.sums)
        if categorical:
            fill_set(nodes.goes_left[slot], candidate.codes, candidate.n, at, heavier)
        elif not missing:
            split[2] = np.int64(heavier)  # the side of values that are missing in prediction


@deep_inline
def _threshold(candidate, at, random_cuts):
    """Return the largest code that goes left: halfway to the next that occurs, or the one drawn."""
    if candidate.categorical:
        return np.int64(0)
    if at == candidate.n - 1:
        return _ALL_CODES  # only missing is on the right
    return candidate.drawn if random_cuts else (candidate.codes[at] + candidate.codes[at + 1]) >> 1


@deep_kernel
def _draw_cut(key, column, codes, n, categorical):
    """Draw the only cut to try: uniform over the codes from the lowest to the highest, or over positions."""
    drawn = draw_from(draw_from(key, _CUTS), column)
    if categorical:
        return bounded_draw(drawn, n - 1)
    first = np.int64(codes[0] == 0)
    return codes[first] + bounded_draw(drawn, max(codes[n - 1] - codes[first], 1))
