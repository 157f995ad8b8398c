"""The targets in the leaves of a forest: quantiles, ranks and out-of-bag predictions.

The targets of a forest are entries, leaf by leaf:

    starts     (leaves + 1,)  entries starts[k]:starts[k + 1] are those of leaf k, trees one after the other
    positions  (entries,)     positions among the sorted targets, rising within a leaf
    draws      (entries,)     how often the tree drew rows with this target

Every tree distributes 2**40 units over the entries of a leaf. Units are integers: their sums do not depend on
the order of the trees, and a quantile has the same bits on every machine.

The trees that were not fitted to a row are bits, (rows, groups) bytes with a bit for each of eight trees.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.forest import CHILD_SHIFT
from hedgerow.kernels.cpu.jit import kernel

UNITS = 2**40  # per tree; 2**22 trees do not overflow

_CHILD = np.uint64(CHILD_SHIFT)
_UNITS = float(UNITS)


class LeafEntries(NamedTuple):
    """The entries as the kernels read them."""

    starts: NDArray[np.unsignedinteger]  # (leaves + 1,)
    positions: NDArray[np.uint32]  # (entries,)
    draws: NDArray[np.unsignedinteger]  # (entries,)
    targets: Floats  # (positions,) rising
    weights: Floats  # (positions,) or empty


class UnitSums(NamedTuple):
    """Sums of units, all zero between two rows."""

    fine: Integers  # (positions,)
    coarse: Integers  # (positions >> shift + 1,) sums of 2**shift neighbours


# --- entries


@kernel
def gather_leaves(leaf_starts, leaf_rows, drawn, order, position_of, leaf_of, sizes, positions, draws):
    """Write the entries of a tree; return their number.

    leaf_starts, leaf_rows : of the tree, see `VotingTree`. drawn : (n,) how often the tree drew each row.
    order : (n,) rows by rising target; position_of : (n,) the position of each of them.
    leaf_of : int64 (n,) scratch. sizes : int64 (leaves,) entries per leaf. positions, draws : (n,) entries.
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
        if sizes[leaf] and positions[end - 1] == position_of[i]:
            draws[end - 1] += drawn[row]
        else:
            positions[end], draws[end] = position_of[i], drawn[row]
            sizes[leaf] += 1
    n = 0
    for leaf in range(sizes.shape[0]):  # equal targets are one entry: make the entries contiguous
        for j in range(leaf_starts[leaf], leaf_starts[leaf] + sizes[leaf]):
            positions[n], draws[n] = positions[j], draws[j]
            n += 1
    return n


# --- quantiles


@kernel
def leaf_quantiles(nodes, trees, entries, thresholds, sums, shift, out):
    """out[row, j] = the smallest target at which the running sum of the units is at least thresholds[j].

    nodes : int64 (rows, trees) leaves as `find_vote_leaves` writes them. thresholds : int64 (quantiles,)
    rising, from 1 to all units.
    """
    for row in range(nodes.shape[0]):
        for tree in range(nodes.shape[1]):
            leaf = _leaf(trees, tree, nodes[row, tree])
            _add_units(
                entries, np.int64(entries.starts[leaf]), np.int64(entries.starts[leaf + 1]), sums, shift
            )
        _find_targets(entries.targets, sums, thresholds, shift, out[row])
        for tree in range(nodes.shape[1]):
            leaf = _leaf(trees, tree, nodes[row, tree])
            for position in entries.positions[entries.starts[leaf] : entries.starts[leaf + 1]]:
                sums.fine[position] = 0
                sums.coarse[position >> shift] = 0


@kernel
def _leaf(trees, tree, node):
    """Return the leaf at a node, counted over all trees."""
    return trees.value_starts[tree] + np.int64(trees.packed_nodes[trees.starts[tree] + node] >> _CHILD)


@kernel
def _add_units(entries, start, stop, sums, shift):
    """Distribute the units of a tree over the entries start:stop, in proportion to draws times weight.

    An entry gets the increase of floor(units * fraction of the weight up to it): the total is exact.
    """
    weighted = entries.weights.shape[0] > 0
    total = 0.0
    for j in range(start, stop):
        total += entries.draws[j] * (entries.weights[entries.positions[j]] if weighted else 1.0)
    running, before = 0.0, np.int64(0)
    for j in range(start, stop):
        position = entries.positions[j]
        running += entries.draws[j] * (entries.weights[position] if weighted else 1.0)
        after = np.int64(running / total * _UNITS)  # a sum in the order of `total`: the last ratio is 1
        sums.fine[position] += after - before
        sums.coarse[position >> shift] += after - before
        before = after


@kernel
def _find_targets(targets, sums, thresholds, shift, out):
    """Find the quantiles: coarse sums first, then within one of them."""
    block, before = 0, np.int64(0)
    for j in range(thresholds.shape[0]):
        while before + sums.coarse[block] < thresholds[j]:
            before += sums.coarse[block]
            block += 1
        position = block << shift
        running = before + sums.fine[position]
        while running < thresholds[j]:
            position += 1
            running += sums.fine[position]
        out[j] = targets[position]


@kernel
def leaf_ranks(nodes, trees, entries, in_bag, first_row, y, out):
    """Write the fractions of the weight below y[row], and up to it, of the trees not fitted to the row.

    in_bag : uint8 (trees, bytes), a bit for every row of the table, of which nodes[0] is row `first_row`.
    out : float64 (rows, 2), NaN where every tree was fitted to the row.
    """
    weighted = entries.weights.shape[0] > 0
    for i in range(nodes.shape[0]):
        row = first_row + i
        n_trees, below, up_to = 0, np.int64(0), np.int64(0)
        for tree in range(nodes.shape[1]):
            if (in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1):
                continue
            leaf = _leaf(trees, tree, nodes[i, tree])
            total, less, no_more = 0.0, 0.0, 0.0
            for j in range(np.int64(entries.starts[leaf]), np.int64(entries.starts[leaf + 1])):
                position = entries.positions[j]
                total += entries.draws[j] * (entries.weights[position] if weighted else 1.0)
                if entries.targets[position] < y[i]:
                    less = total
                if entries.targets[position] <= y[i]:
                    no_more = total
            below += np.int64(less / total * _UNITS)
            up_to += np.int64(no_more / total * _UNITS)
            n_trees += 1
        out[i, 0] = below / (n_trees * _UNITS)
        out[i, 1] = up_to / (n_trees * _UNITS)


# --- trees that were not fitted to a row


@kernel
def predict_trees(nodes, trees, out):
    """out[row, tree] = prediction of the tree, for one output. nodes : see `leaf_quantiles`."""
    for row in range(out.shape[0]):
        for tree in range(out.shape[1]):
            out[row, tree] = trees.values[_leaf(trees, tree, nodes[row, tree]), 0]


@kernel
def jackknife_bounds(predictions, left_out, n_left_out, residuals, rank, sums, below, above, lower, upper):
    """Write the bounds of the jackknife+ after the bootstrap, for every row of `predictions`.

    With m_i the mean of the trees that were not fitted to training row i, lower is the `rank`-th largest of
    m_i - residuals[i], upper the `rank`-th smallest of m_i + residuals[i].

    predictions : float64 (rows, trees). left_out : uint8 (n, groups) bits. n_left_out : (n,) at least 1.
    sums : float64 (groups, 256) scratch, the sum of the predictions of every subset of a group: a training
    row takes one addition for eight trees. below, above : float64 (n,) scratch.
    """
    n, n_groups = left_out.shape
    for row in range(predictions.shape[0]):
        _sum_subsets(predictions[row], sums)
        for i in range(n):
            total = 0.0
            for g in range(n_groups):
                total += sums[g, left_out[i, g]]
            mean = total / n_left_out[i]
            below[i] = mean - residuals[i]
            above[i] = mean + residuals[i]
        lower[row] = nth_smallest(below, n - rank)
        upper[row] = nth_smallest(above, rank - 1)


@kernel
def _sum_subsets(predictions, sums):
    """sums[g, bits] = the sum of predictions[8 g + k] over the set bits k; 0 for trees that do not exist."""
    for g in range(sums.shape[0]):
        sums[g, 0] = 0.0
        for k in range(8):
            tree = 8 * g + k
            value = predictions[tree] if tree < predictions.shape[0] else 0.0
            for bits in range(1 << k):
                sums[g, bits + (1 << k)] = sums[g, bits] + value


@kernel
def nth_smallest(values, n):
    """Return the value at index n if they were sorted; reorders them (quickselect, Hoare 1961)."""
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
