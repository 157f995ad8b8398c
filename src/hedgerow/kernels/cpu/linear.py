"""Linear functions of leaves: fitting them to a grown tree, and adding trees with them to scores.

    f(x) = value + sum_j slope_j (clip(x_j, lower_j, upper_j) - mean_j)

without the terms of missing x_j.

To fit a leaf, the values of a column are rounded to 2**15 steps of its range in the rows of the leaf, and
counted from a step next to their mean. Sums of hessian times products of steps, and of gradient times steps,
are exact integers of 93 bits in three words, so that they do not depend on the order of the rows:

    sum = words[0] + words[1] * 2**31 + words[2] * 2**62
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.forest import FEW_ROWS, ROWS_PER_BLOCK, encode_block, find_block_leaves, traverse
from hedgerow.kernels.cpu.jit import kernel

MAX_TERMS = 8  # columns of a leaf: the deepest ones of its path
N_SUMS = 2 + 2 * MAX_TERMS + MAX_TERMS * (MAX_TERMS + 1) // 2  # of a leaf, see `sum_products`
_STEPS = 1 << 15  # of the range of a column
_WORD = np.int64(31)
_MASK = np.int64((1 << 31) - 1)
_HALF = np.int64(1 << 31)
_LOW = np.int64(0xFFFFFFFF)
_WORD_UNIT = 2.0**31
_SMALLEST_PIVOT = 1e-10  # relative to the diagonal: below it, a column is a combination of earlier ones


class LeafRows(NamedTuple):
    """A grown tree: its nodes, the numbers of its leaves, and its rows grouped by leaf."""

    nodes: NDArray[np.void]
    leaves: Integers
    rows: NDArray[np.uint32]
    starts: Integers


class LinearRules(NamedTuple):
    """What the linear functions of a tree are fitted with."""

    usable: NDArray[np.uint8]  # (columns,) 1 for numeric columns
    ridge: float  # in units of the integer hessians
    unit: float  # of gradients over that of hessians
    rows_per_term: int


class LeafColumns(NamedTuple):
    """The columns of one leaf, (MAX_TERMS,): range, steps per unit, the step next to the mean."""

    column: Integers
    lower: Floats
    upper: Floats
    scale: Floats
    middle: Integers


class LeafTerms(NamedTuple):
    """The terms of every leaf, (leaves, MAX_TERMS), of which counts[leaf] are used."""

    counts: NDArray[np.int32]
    column: NDArray[np.int32]
    slope: Floats
    mean: Floats
    lower: Floats
    upper: Floats


class FlatTerms(NamedTuple):
    """The terms of a forest; those of a node are starts[node]:starts[node + 1]."""

    starts: Integers
    column: NDArray[np.int32]
    slope: Floats
    mean: Floats
    lower: Floats
    upper: Floats


# --- exact sums


@kernel
def _add_product(value, factor, words, is_packed):
    """Add value * factor to a sum; |value| <= 2**62, |factor| <= 2**30, and at most 2**31 products.

    Values of packed statistics are added to one word, which `carry` must empty after `_block_rows` rows.
    """
    if is_packed:
        words[0] += value * factor
    elif -_HALF <= value < _HALF:
        product = value * factor
        words[0] += product & _MASK
        words[1] += product >> _WORD
    else:
        product = (value & _MASK) * factor
        words[0] += product & _MASK
        words[1] += product >> _WORD
        product = (value >> _WORD) * factor
        words[1] += product & _MASK
        words[2] += product >> _WORD


@kernel
def carry(words, word):
    """Make word 0 or 1 of every sum smaller than 2**31."""
    for entry in range(words.shape[0]):
        words[entry, word + 1] += words[entry, word] >> _WORD
        words[entry, word] &= _MASK


@kernel
def _block_rows(statistics):
    """Return after how many rows `carry` must be called: their packed values sum to 2**31 at most."""
    return statistics.packed_block_rows if statistics.packed.shape[0] else _HALF


@kernel
def total(words):
    """Return a sum as the same float for the same integer."""
    middle = words[1] + (words[0] >> _WORD)
    high = words[2] + (middle >> _WORD)
    upper_part = np.float64(high) * _WORD_UNIT + np.float64(middle & _MASK)
    return upper_part * _WORD_UNIT + np.float64(words[0] & _MASK)


# --- fitting


@kernel
def find_parents(nodes, parents):
    """Write the number of the parent of every node, 0 for the root."""
    parents[0] = 0
    for number in range(nodes.shape[0]):
        if nodes[number].left > 0:
            parents[nodes[number].left] = number
            parents[nodes[number].left + 1] = number


@kernel
def path_columns(nodes, parents, number, usable, most, column):
    """Write the usable columns above a node, the deepest first; return their number, at most `most`."""
    n = 0
    while number > 0 and n < most:
        number = parents[number]
        candidate = nodes[number].split.column
        known = usable[candidate] == 0
        for j in range(n):
            known = known or column[j] == candidate
        if not known:
            column[n] = candidate
            n += 1
    return n


@kernel
def find_ranges(block, rows, own, n):
    """Find the range of the finite values of columns; of none, it is inf to -inf."""
    for j in range(n):
        own.lower[j], own.upper[j] = np.inf, -np.inf
    for k in range(rows.shape[0]):
        row = np.uintp(rows[k])
        for j in range(n):
            x = np.float64(block[row, np.uintp(own.column[j])])
            if -np.inf < x < np.inf:
                own.lower[j] = min(own.lower[j], x)
                own.upper[j] = max(own.upper[j], x)


@kernel
def keep_varying(own, n):
    """Move columns whose values vary to the front, and set their scale; return how many these are."""
    kept = 0
    for j in range(n):
        width = own.upper[j] - own.lower[j]
        if 0.0 < width < np.inf and _STEPS / width < np.inf:
            own.column[kept], own.lower[kept], own.upper[kept] = own.column[j], own.lower[j], own.upper[j]
            own.scale[kept] = _STEPS / width
            kept += 1
    return kept


@kernel
def _step_at(block, row, own, j):
    """Return the step of a value in the range of column j of the leaf, -1 for a missing one."""
    x = np.float64(block[row, np.uintp(own.column[j])])
    if np.isnan(x):
        return np.int64(-1)
    inside = min(max(x, own.lower[j]), own.upper[j]) - own.lower[j]
    return min(np.int64(inside * own.scale[j] + 0.5), np.int64(_STEPS))


@kernel
def _clear(words):
    for entry in range(words.shape[0]):
        for word in range(words.shape[1]):
            words[entry, word] = 0


@kernel
def _gradient(statistics, row):
    if statistics.packed.shape[0]:
        return statistics.packed[row] >> np.int64(32)
    return statistics.wide[row, 0]


@kernel
def _hessian(statistics, row):
    if statistics.packed.shape[0]:
        return statistics.packed[row] & _LOW
    return statistics.wide[row, 1]


@kernel
def sum_steps(block, rows, statistics, own, n, words):
    """Sum hessian times step, and hessian, over the present values of every column."""
    _clear(words)
    is_packed, block_rows = statistics.packed.shape[0] > 0, _block_rows(statistics)
    for k in range(rows.shape[0]):
        row = np.uintp(rows[k])
        hessian = _hessian(statistics, row)
        for j in range(n):
            step = _step_at(block, row, own, j)
            if step >= 0:
                _add_product(hessian, step, words[2 * j], is_packed)
                _add_product(hessian, np.int64(1), words[2 * j + 1], is_packed)
        if (k + 1) % block_rows == 0:
            carry(words, 0)


@kernel
def set_middles(own, n, words):
    """own.middle[j] = the step next to the mean of column j, weighted by hessians, over present values."""
    for j in range(n):
        weight = total(words[2 * j + 1])
        own.middle[j] = np.int64(total(words[2 * j]) / weight + 0.5) if weight > 0.0 else np.int64(0)


@kernel
def sum_products(block, rows, statistics, own, n, words):
    """Sum gradient and hessian, then for every column these times steps, and hessian times two steps.

    Steps are counted from the middle of their column; that of a missing value is the middle.
    """
    _clear(words)
    steps = np.empty(MAX_TERMS, np.int64)
    is_packed, block_rows = statistics.packed.shape[0] > 0, _block_rows(statistics)
    for k in range(rows.shape[0]):
        row = np.uintp(rows[k])
        gradient, hessian = _gradient(statistics, row), _hessian(statistics, row)
        _add_product(gradient, np.int64(1), words[0], is_packed)
        _add_product(hessian, np.int64(1), words[1], is_packed)
        entry = 2
        for j in range(n):
            step = _step_at(block, row, own, j)
            steps[j] = step - own.middle[j] if step >= 0 else np.int64(0)
            _add_product(gradient, steps[j], words[entry], is_packed)
            _add_product(hessian, steps[j], words[entry + 1], is_packed)
            entry += 2
            for i in range(j + 1):
                _add_product(hessian, steps[j] * steps[i], words[entry], is_packed)
                entry += 1
        if (k + 1) % block_rows == 0:
            carry(words, 0)


@kernel
def _solve(words, n, rules, matrix, target, mean):
    """target[:n] = the slopes by step; mean[:n] = the means of the steps, from the middle.

    With C the covariances of the steps times the sum of hessians H, the slopes minimise
    sum_i g_i d_i + d' C d / 2 + ridge / 2 * sum_j d_j**2 C_jj / H: the ridge of standardised columns.
    """
    gradient, hessian = total(words[0]), total(words[1])
    entry = 2
    for j in range(n):
        mean[j] = total(words[entry + 1]) / hessian
        target[j] = -(total(words[entry]) - mean[j] * gradient)
        entry += 2
        for i in range(j + 1):
            matrix[j, i] = total(words[entry]) - mean[j] * mean[i] * hessian
            entry += 1
        matrix[j, j] *= 1.0 + rules.ridge / hessian
    for j in range(n):  # the Cholesky factor, in place
        diagonal = matrix[j, j]
        for i in range(j):
            entries = matrix[j, i]
            for k in range(i):
                entries -= matrix[j, k] * matrix[i, k]
            matrix[j, i] = entries / matrix[i, i] if matrix[i, i] > 0.0 else 0.0
        pivot = diagonal
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        usable = pivot > diagonal * _SMALLEST_PIVOT and pivot > 0.0
        matrix[j, j] = np.sqrt(pivot) if usable else 0.0
        for k in range(j):
            target[j] -= matrix[j, k] * target[k]
        target[j] = target[j] / matrix[j, j] if usable else 0.0
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            target[j] -= matrix[k, j] * target[k]
        target[j] = target[j] / matrix[j, j] if matrix[j, j] > 0.0 else 0.0


@kernel
def _store(leaf, own, n, mean, target, unit, terms):
    """Write the terms of a leaf in units of the columns; none if one of them is not finite."""
    kept = 0
    for j in range(n):
        lower, upper = own.lower[j], own.upper[j]
        slope = target[j] * unit * own.scale[j]
        if not abs(slope * (upper - lower)) < np.inf:
            kept = 0
            break
        if slope != 0.0:
            center = lower + (np.float64(own.middle[j]) + mean[j]) / own.scale[j]
            terms.column[leaf, kept], terms.slope[leaf, kept] = own.column[j], slope
            terms.mean[leaf, kept] = min(max(center, lower), upper)
            terms.lower[leaf, kept], terms.upper[leaf, kept] = lower, upper
            kept += 1
    terms.counts[leaf] = kept


@kernel
def solve_leaf(leaf, own, n, words, rules, terms):
    """Write the terms of a leaf from the sums of `sum_products`."""
    matrix, target, mean = np.empty((MAX_TERMS, MAX_TERMS)), np.empty(MAX_TERMS), np.empty(MAX_TERMS)
    terms.counts[leaf] = 0
    if total(words[1]) > 0.0:
        _solve(words, n, rules, matrix, target, mean)
        _store(leaf, own, n, mean, target, rules.unit, terms)


@kernel
def fit_leaves(block, tree, statistics, rules, terms, thread, n_threads):
    """Fit the linear functions of leaves `thread`, `thread` + n_threads, ... of a tree.

    block : float (rows, columns), the values of all rows. terms : a `LeafTerms`, filled.
    """
    nodes = tree.nodes
    parents = np.empty(nodes.shape[0], np.int64)
    find_parents(nodes, parents)
    own = LeafColumns(
        np.empty(MAX_TERMS, np.int64),
        np.empty(MAX_TERMS),
        np.empty(MAX_TERMS),
        np.empty(MAX_TERMS),
        np.empty(MAX_TERMS, np.int64),
    )
    words = np.empty((N_SUMS, 3), np.int64)
    for leaf in range(thread, tree.leaves.shape[0], n_threads):
        terms.counts[leaf] = 0
        rows = tree.rows[tree.starts[leaf] : tree.starts[leaf + 1]]
        number = tree.leaves[leaf]
        most = min(nodes[number].count // rules.rows_per_term, MAX_TERMS)
        n = path_columns(nodes, parents, number, rules.usable, most, own.column)
        find_ranges(block, rows, own, n)
        n = keep_varying(own, n)
        if n > 0:
            sum_steps(block, rows, statistics, own, n, words)
            set_middles(own, n, words)
            sum_products(block, rows, statistics, own, n, words)
            solve_leaf(leaf, own, n, words, rules, terms)


# --- evaluating


@kernel
def value_at(block, row, node, value, terms):
    """Return the linear function of a leaf at a row of a block."""
    for k in range(terms.starts[node], terms.starts[node + 1]):
        x = np.float64(block[row, np.uintp(terms.column[k])])
        if not np.isnan(x):
            value += terms.slope[k] * (min(max(x, terms.lower[k]), terms.upper[k]) - terms.mean[k])
    return value


@kernel
def add_linear_coded(codes, block, trees, terms, tree, start, stop, out):
    """out[row] += function of one tree, for codes by column and the values of the same rows."""
    at = np.empty(ROWS_PER_BLOCK, np.int64)
    for top in range(start, stop, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, stop - top)
        at[:n] = trees.starts[tree]
        some = codes[:, top : top + n]
        traverse(trees.packed_nodes, trees.set_number, trees.sets, some, at, n, trees.depth[tree])
        for i in range(n):
            out[top + i] += value_at(block, np.uintp(top + i), at[i], trees.value[at[i]], terms)


@kernel
def add_linear_predictions(block, bins, trees, thresholds, terms, chosen, out, first_row):
    """Do `forest.add_predictions` for trees with linear functions."""
    n_rows, n_columns = block.shape
    width = min(ROWS_PER_BLOCK, n_rows)
    few = n_rows <= FEW_ROWS
    values = np.empty((n_columns, width), block.dtype)
    codes = np.empty((n_columns, width), np.uint16)
    at = np.empty(width, np.int64)
    bits = np.empty(width, np.uint32)
    for top in range(0, n_rows, ROWS_PER_BLOCK):
        n = min(ROWS_PER_BLOCK, n_rows - top)
        if few or trees.uses_codes[0]:
            encode_block(block[top : top + n], bins, codes)
        if not few:
            for i in range(n):
                for column in range(n_columns):
                    values[column, i] = block[top + i, column]
        for tree in range(chosen[0], chosen[1]):
            find_block_leaves(trees, tree, thresholds, values, codes, bits, at, n, few)
            target = out[trees.output[tree], first_row + top : first_row + top + n]
            for i in range(n):
                target[i] += value_at(block, np.uintp(top + i), at[i], trees.value[at[i]], terms)
