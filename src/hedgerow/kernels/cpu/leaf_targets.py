"""What a forest knows beyond its mean: the targets in its leaves, and who learned from which row.

The targets of a forest are entries, leaf by leaf:

    starts   (leaves + 1,)  entries starts[k]:starts[k + 1] are those of leaf k, trees one after the other
    places   (entries,)     places among the sorted targets, rising within a leaf
    draws    (entries,)     how often the tree drew rows with this target

Every tree spreads 2**40 units over the entries of a leaf. Units are whole numbers: their sums do not depend
on the order of the trees, and a quantile has the same bits everywhere.

Trees that did not learn from a row are bits, (rows, groups) bytes with a bit for each of eight trees.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.forest import CHILD_SHIFT
from hedgerow.kernels.cpu.jit import njit

UNITS = 2**40  # of a tree; 2**22 trees do not overflow

_CHILD = np.uint64(CHILD_SHIFT)
_UNITS = float(UNITS)


class LeafEntries(NamedTuple):
    """The entries as the kernels read them."""

    starts: NDArray[np.unsignedinteger]  # (leaves + 1,)
    places: NDArray[np.uint32]  # (entries,)
    draws: NDArray[np.unsignedinteger]  # (entries,)
    targets: NDArray[np.float64]  # (places,) rising
    weights: NDArray[np.float64]  # (places,) or empty


class Ledger(NamedTuple):
    """Memory to add units up in, all zero between two rows."""

    fine: NDArray[np.int64]  # (places,)
    coarse: NDArray[np.int64]  # (places >> shift + 1,) sums of 2**shift neighbours


# --- entries


@njit(cache=True, nogil=True, error_model="numpy")
def gather_leaves(leaf_starts, leaf_rows, drawn, order, place_of, leaf_of, sizes, places, draws):
    """Entries of a tree; returns how many.

    leaf_starts, leaf_rows : of the tree, see `GrownTree`. drawn : (n,) how often the tree drew each row.
    order : (n,) rows by rising target; place_of : (n,) the place of each of them.
    leaf_of : int64 (n,) scratch. sizes : int64 (leaves,) entries of each leaf. places, draws : (n,) entries.
    """
    leaf_of[:] = -1
    for leaf in range(sizes.shape[0]):
        for row in leaf_rows[leaf_starts[leaf] : leaf_starts[leaf + 1]]:
            leaf_of[row] = leaf
    sizes[:] = 0
    for i in range(order.shape[0]):  # by rising target, so that every leaf is filled in order
        row = order[i]
        leaf = leaf_of[row]
        if leaf < 0:
            continue
        end = leaf_starts[leaf] + sizes[leaf]
        if sizes[leaf] and places[end - 1] == place_of[i]:
            draws[end - 1] += drawn[row]
        else:
            places[end], draws[end] = place_of[i], drawn[row]
            sizes[leaf] += 1
    n = 0
    for leaf in range(sizes.shape[0]):  # equal targets are one entry: close the gaps
        for j in range(leaf_starts[leaf], leaf_starts[leaf] + sizes[leaf]):
            places[n], draws[n] = places[j], draws[j]
            n += 1
    return n


# --- quantiles


@njit(cache=True, nogil=True, error_model="numpy")
def leaf_quantiles(nodes, trees, entries, needed, ledger, shift, out):
    """out[row, j] = the smallest target at which the units of all trees reach needed[j].

    nodes : int64 (rows, trees) leaves as `find_vote_leaves` writes them. needed : int64 (quantiles,) rising,
    from 1 to all units.
    """
    for row in range(nodes.shape[0]):
        for tree in range(nodes.shape[1]):
            leaf = _leaf(trees, tree, nodes[row, tree])
            _pay(entries, np.int64(entries.starts[leaf]), np.int64(entries.starts[leaf + 1]), ledger, shift)
        _read(entries.targets, ledger, needed, shift, out[row])
        for tree in range(nodes.shape[1]):
            leaf = _leaf(trees, tree, nodes[row, tree])
            for place in entries.places[entries.starts[leaf] : entries.starts[leaf + 1]]:
                ledger.fine[place] = 0
                ledger.coarse[place >> shift] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _leaf(trees, tree, node):
    """The leaf at a node, counted over all trees."""
    return trees.value_starts[tree] + np.int64(trees.words[trees.starts[tree] + node] >> _CHILD)


@njit(cache=True, nogil=True, error_model="numpy")
def _pay(entries, start, stop, ledger, shift):
    """Spread the units of a tree over the entries start:stop, in proportion to draws times weight.

    An entry gets the rise of floor(units * share of the entries up to it), so that all of them are spent.
    """
    weighted = entries.weights.shape[0] > 0
    whole = 0.0
    for j in range(start, stop):
        whole += entries.draws[j] * (entries.weights[entries.places[j]] if weighted else 1.0)
    running, spent = 0.0, np.int64(0)
    for j in range(start, stop):
        place = entries.places[j]
        running += entries.draws[j] * (entries.weights[place] if weighted else 1.0)
        due = np.int64(running / whole * _UNITS)  # a sum in the order of `whole`: the last ratio is 1
        ledger.fine[place] += due - spent
        ledger.coarse[place >> shift] += due - spent
        spent = due


@njit(cache=True, nogil=True, error_model="numpy")
def _read(targets, ledger, needed, shift, out):
    """Find the targets: coarse sums first, then within one of them."""
    part, before = 0, np.int64(0)
    for j in range(needed.shape[0]):
        while before + ledger.coarse[part] < needed[j]:
            before += ledger.coarse[part]
            part += 1
        place = part << shift
        reached = before + ledger.fine[place]
        while reached < needed[j]:
            place += 1
            reached += ledger.fine[place]
        out[j] = targets[place]


@njit(cache=True, nogil=True, error_model="numpy")
def leaf_ranks(nodes, trees, entries, in_bag, first_row, y, out):
    """Shares of the weight below y[row], and up to it, among the trees that did not learn from the row.

    in_bag : uint8 (trees, bytes), a bit for every row of the table, of which nodes[0] is row `first_row`.
    out : float64 (rows, 2), NaN where every tree learned from the row.
    """
    weighted = entries.weights.shape[0] > 0
    for i in range(nodes.shape[0]):
        row = first_row + i
        n_trees, below, up_to = 0, np.int64(0), np.int64(0)
        for tree in range(nodes.shape[1]):
            if (in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1):
                continue
            leaf = _leaf(trees, tree, nodes[i, tree])
            whole, less, no_more = 0.0, 0.0, 0.0
            for j in range(np.int64(entries.starts[leaf]), np.int64(entries.starts[leaf + 1])):
                place = entries.places[j]
                whole += entries.draws[j] * (entries.weights[place] if weighted else 1.0)
                if entries.targets[place] < y[i]:
                    less = whole
                if entries.targets[place] <= y[i]:
                    no_more = whole
            below += np.int64(less / whole * _UNITS)
            up_to += np.int64(no_more / whole * _UNITS)
            n_trees += 1
        out[i, 0] = below / (n_trees * _UNITS)
        out[i, 1] = up_to / (n_trees * _UNITS)


# --- trees that did not learn from a row


@njit(cache=True, nogil=True, error_model="numpy")
def tree_answers(nodes, trees, out):
    """out[row, tree] = what the tree says, for one output. nodes : see `leaf_quantiles`."""
    for row in range(out.shape[0]):
        for tree in range(out.shape[1]):
            out[row, tree] = trees.values[_leaf(trees, tree, nodes[row, tree]), 0]


@njit(cache=True, nogil=True, error_model="numpy")
def jackknife_bounds(answers, left_out, n_left_out, residuals, rank, sums, below, above, lower, upper):
    """Bounds of the jackknife+ after the bootstrap, for every row of `answers`.

    With m_i the mean of the trees that did not learn from training row i, lower is the `rank`-th largest of
    m_i - residuals[i], upper the `rank`-th smallest of m_i + residuals[i].

    answers : float64 (rows, trees). left_out : uint8 (n, groups) bits. n_left_out : (n,) at least 1.
    sums : float64 (groups, 256) scratch, the sum of the answers of every subset of a group: a training row
    costs an addition for eight trees. below, above : float64 (n,) scratch.
    """
    n, n_groups = left_out.shape
    for row in range(answers.shape[0]):
        _sum_subsets(answers[row], sums)
        for i in range(n):
            whole = 0.0
            for g in range(n_groups):
                whole += sums[g, left_out[i, g]]
            mean = whole / n_left_out[i]
            below[i] = mean - residuals[i]
            above[i] = mean + residuals[i]
        lower[row] = nth_smallest(below, n - rank)
        upper[row] = nth_smallest(above, rank - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_subsets(answers, sums):
    """sums[g, bits] = the sum of answers[8 g + k] over the set bits k; trees that are not there say 0."""
    for g in range(sums.shape[0]):
        sums[g, 0] = 0.0
        for k in range(8):
            tree = 8 * g + k
            said = answers[tree] if tree < answers.shape[0] else 0.0
            for bits in range(1 << k):
                sums[g, bits + (1 << k)] = sums[g, bits] + said


@njit(cache=True, nogil=True, error_model="numpy")
def nth_smallest(values, n):
    """The value that would stand at place n if they were sorted; puts them in another order (Hoare 1961)."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        first, middle, last = values[low], values[(low + high) >> 1], values[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            return values[n]
    return values[n]
