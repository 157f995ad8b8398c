"""Growing trees on sharded rows with few calls.

    start the tree                     the histograms of all rows are summed
    while there is a node to split next:
        if its rows are not partitioned yet: partition them in all shards, together with those of the nodes
            that will probably be split after it, and sum the histogram of one child of each
        split it, search its children

Growth is best first: the node to split next is known only when its predecessor is split, and a call takes
longer than a search. Open nodes are therefore partitioned in advance, the best first, half as many as there
are leaves to grow. If a node is not split in the end, the new order of its rows has no effect. A tree of 31
leaves takes about as many calls as it is deep, not 30. The same kernels choose the splits as in memory
(`hedgerow.kernels.cpu.frontier`), so that the tree is the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import CODE, Floats, Integers
from hedgerow.binning import Bins
from hedgerow.growing.gradient_shard import codes_by_row
from hedgerow.growing.grower import (
    GrownTree,
    GrowthOptions,
    RowStatistics,
    make_nodes,
    make_workspace,
    packed_bits,
    wide_bits,
)
from hedgerow.growing.linear_leaves import ShardedLinearLeaves
from hedgerow.growing.shards import ShardedRows, Sums
from hedgerow.kernels.cpu.advance import repeat_search, split_from_sums, start_from_sums
from hedgerow.kernels.cpu.frontier import N_NODES, N_OPEN, finish, search_single, select_next
from hedgerow.kernels.cpu.records import Rules, Statistics
from hedgerow.kernels.cpu.split import best_column, least_gain, search_column
from hedgerow.kernels.cpu.symmetric import choose_sides, split_level_from_sums, start_symmetric_from_sums

_ONE_THREAD = np.int64(0)
_NO_ROWS = np.empty(0, np.uint32)
_CANDIDATE_FRACTION = (
    0.5  # of the leaves left to grow: for 31, 14.1 calls and 33.5 nodes a tree; with 1.0, 13.6 and 39.5
)


# --- one tree


@dataclass(eq=False)
class PartitionedNode:
    """A node whose rows are partitioned."""

    left: int  # the identifier of its left child in the shards; that of the right child is the next
    # (4,): rows and copies that went left; whether the histograms of the left and right child are present
    counts: Integers
    # of the children, (2, entries); an absent one is replaced by the other
    histograms: tuple[Integers, Integers]


class ShardedGrower:
    """Grows trees of at most `n_rows` rows on shards of type `GradientShard`."""

    def __init__(self, shards: ShardedRows, bins: Bins, options: GrowthOptions, n_rows: int) -> None:
        self.shards = shards
        self._codes = codes_by_row(bins, np.empty((0, 0), CODE))
        n_leaves = options.max_leaves(n_rows)
        self._work = make_workspace(self._codes, n_leaves, options.groups.shape[1], 1)
        self._nodes = make_nodes(n_leaves)
        self._identifiers = np.zeros(len(self._nodes), np.int64)
        self._n_identifiers = 1
        self._zeros = np.zeros((1, 2, int(bins.offsets[-1])), np.int64)
        self._partitioned: dict[int, PartitionedNode] = {}

    def grow(self, rules: Rules, root: Sums) -> tuple[NDArray[np.void], Integers]:
        """Grow a tree; `root` are the sums of `GradientShard.start_tree`.

        Returns the NODE records of the tree, and the identifiers of its nodes in the shards.
        """
        histogram, (n_rows, count) = root[0], root[1].tolist()
        work, nodes, codes = self._work, self._nodes, self._codes
        memory = (work.frontier, work.histograms, work.search)
        self._partitioned, self._n_identifiers = {}, 1
        self._identifiers[0] = 0
        number = int(start_from_sums(codes, rules, nodes, *memory, histogram, n_rows, count))
        while number >= 0:
            if number not in self._partitioned:
                self._partition_candidates(number, rules)
            done, node = self._partitioned.pop(number), nodes[number]
            least, n_left = rules.min_count, int(done.counts[1])
            if n_left < least or node["count"] - n_left < least:
                number = self._search_with_counts(number, rules)
                continue
            following = split_from_sums(codes, rules, nodes, number, *memory, *done.histograms, done.counts)
            left = int(node["left"])
            self._identifiers[left], self._identifiers[left + 1] = done.left, done.left + 1
            number = int(following)
        finish(rules, nodes, work.frontier)
        n_nodes = int(work.frontier.control[N_NODES])
        return nodes[:n_nodes], self._identifiers[:n_nodes].copy()

    def _partition_candidates(self, number: int, rules: Rules) -> None:
        """Partition the rows of a node, and of the open nodes that will probably be split after it."""
        nodes, control = self._nodes, self._work.frontier.control
        n_left_over = rules.max_leaves - (int(control[N_NODES]) + 1) // 2
        waiting = self._work.frontier.heap[: control[N_OPEN]]
        order = np.lexsort((waiting, -self._work.frontier.priority[waiting]))
        candidates = waiting[order][: math.ceil(_CANDIDATE_FRACTION * n_left_over) - 1].tolist()
        chosen = [number, *(other for other in candidates if other not in self._partitioned)]
        numbers = np.array(chosen)
        sides = self._sides(numbers, rules, is_last=n_left_over == 1)
        lefts = self._n_identifiers + 2 * np.arange(len(chosen))
        self._n_identifiers += 2 * len(chosen)
        identifiers = np.stack([self._identifiers[numbers], lefts], axis=1)
        splits = np.ascontiguousarray(nodes["split"][numbers])
        _, (counts, histograms) = self.shards.call("split_nodes", identifiers, splits, sides)
        counts, first = np.hstack([counts, sides]), 0
        for i, candidate in enumerate(chosen):
            n_present = int(counts[i, 2] + counts[i, 3])
            own = histograms[first : first + n_present] if n_present else self._zeros
            self._partitioned[candidate] = PartitionedNode(int(lefts[i]), counts[i], (own[0], own[-1]))
            first += n_present

    def _sides(self, numbers: Integers, rules: Rules, *, is_last: bool) -> Integers:
        """Choose the children whose histograms are needed: the lighter one, both if the parent's is gone."""
        chosen = self._nodes[numbers]
        sides = np.zeros((len(numbers), 2), np.int64)
        lighter = (2 * chosen["split"]["left_hessian"] > chosen["hessian"]).astype(np.int64)
        sides[np.arange(len(numbers)), lighter] = 1
        sides[chosen["slot"] < 0] = 1
        ends = (chosen["depth"] + 1 >= rules.max_depth) | is_last  # the children are not searched
        sides[ends] = 0
        return sides

    def _search_with_counts(self, number: int, rules: Rules) -> int:
        """Search a node again whose best split leaves too few rows on a side; return the node to split next.

        The best column is searched again with exact counts, until the best one has been searched in this way.
        """
        work, nodes, codes = self._work, self._nodes, self._codes
        frontier, memory, identifier = work.frontier, work.histograms, int(self._identifiers[number])
        search_single(nodes, number, frontier)
        fill = nodes[number]["slot"] < 0
        sums = self.shards.call("histogram", identifier)[1][0] if fill else np.empty((2, 0), np.int64)
        slot = repeat_search(codes, rules, nodes, frontier, memory, work.search, sums)
        counts = self.shards.call("bin_counts", identifier)[1][0]
        counted: set[int] = set()
        found, histogram, allowed = frontier.found[0], memory.pool[slot], frontier.allowed[0]
        least = least_gain(nodes[number], rules)
        while (best := int(best_column(rules, number, least, allowed, found))) >= 0 and best not in counted:
            search_column(
                codes, rules, histogram, counts, nodes[number], best, work.search, _ONE_THREAD, found[best]
            )
            counted.add(best)
        return int(select_next(rules, nodes, frontier))


class ShardedSymmetricGrower:
    """Grows symmetric trees on shards of type `GradientShard`, with one call of all shards per level.

    A call partitions the rows of all nodes of a level and sums the histogram of one child of each. The number
    of a node is its identifier.
    """

    def __init__(self, shards: ShardedRows, bins: Bins, options: GrowthOptions, n_rows: int) -> None:
        self.shards = shards
        self._codes = codes_by_row(bins, np.empty((0, 0), CODE))
        n_leaves, n_words = options.max_leaves(n_rows), options.groups.shape[1]
        self._work = make_workspace(self._codes, n_leaves, n_words, 1, is_complete=True)
        self._nodes = make_nodes(n_leaves)

    def grow(self, rules: Rules, root: Sums) -> tuple[NDArray[np.void], Integers]:
        """Grow a tree; see `ShardedGrower.grow`."""
        histogram, (n_rows, count) = root[0], root[1].tolist()
        work, nodes, codes = self._work, self._nodes, self._codes
        frontier, memory = work.frontier, (work.frontier, work.histograms, work.search)
        best = int(start_symmetric_from_sums(codes, rules, nodes, *memory, histogram, n_rows, count))
        depth = 0
        while best >= 0:
            split, first = frontier.found[0, best], (1 << depth) - 1
            numbers, sides = np.arange(first, 2 * first + 1), np.empty((first + 1, 2), np.int64)
            choose_sides(codes, rules, nodes, depth, split, work.histograms.pool, sides)
            identifiers = np.stack([numbers, 2 * numbers + 1], axis=1)
            splits = np.repeat(frontier.found[0, best : best + 1], first + 1)
            _, (counts, sums) = self.shards.call("split_nodes", identifiers, splits, sides)
            best = int(split_level_from_sums(codes, rules, nodes, depth, *memory, counts, sides, sums))
            depth += 1
        n_nodes = int(frontier.control[N_NODES])
        return nodes[:n_nodes], np.arange(n_nodes)


# --- the trees of a round


class RoundGrower:
    """Grows the trees of boosting rounds on shards that have their own scores.

    In a round it finds the powers of two that gradients are scaled by, starts a tree, grows it, and sends its
    leaf values with the next call. Its state is the guessed powers and the last tree; it can start with any
    round.

    n_rows, n_copies : training rows, and the copies they count.
    packed_block_rows : rows whose packed statistics may be added up before the sum is widened.
    shrink : called with the nodes of a tree, the number of the round and `GrownTree.value_nodes`; bounds and
        smooths the values and multiplies them by the rate.
    linear : fits linear functions of the leaves, unless these are constant.
    """

    def __init__(
        self,
        bins: Bins,
        options: GrowthOptions,
        shards: ShardedRows,
        *,
        n_rows: int,
        n_copies: int,
        packed_block_rows: int,
        n_outputs: int,
        shrink: Callable[[NDArray[np.void], int, Integers | None], None],
        linear: ShardedLinearLeaves | None = None,
    ) -> None:
        self.options, self.shards, self._n_columns = options, shards, bins.n_columns
        self._n_copies, self._packed_block_rows, self._n_outputs = n_copies, packed_block_rows, n_outputs
        self._shrink, self.linear = shrink, linear
        kind = ShardedSymmetricGrower if options.symmetric else ShardedGrower
        self._grower = kind(shards, bins, options, n_rows)
        self._bits = np.zeros((n_outputs, 2), np.int64)
        self._unsent: tuple[Any, ...] | None = None  # a tree whose values the shards have not received yet

    def send_leaf_values(self) -> None:
        """Send the values of the last tree to all shards, which add them to their scores."""
        if self._unsent is not None:
            unsent, self._unsent = self._unsent, None
            self.shards.call("add_leaf_values", *unsent)

    def grow(self, iteration: int) -> list[GrownTree] | None:
        """Grow the trees of a round, one per output, without rows; None if a gradient is not finite."""
        call, n_outputs = self.shards.call, self._n_outputs
        numbers = [iteration * n_outputs + output for output in range(n_outputs)]
        columns = self.options.columns_for(self._n_columns, numbers[0])
        packed, root = call("start_round", self._unsent, self._bits, iteration, columns)
        self._unsent = None
        if any(n_bad for _, n_bad, _ in packed):
            return None
        tops: Floats = np.max([top for top, _, _ in packed], axis=0)  # (outputs, 2)
        bits = np.array([packed_bits(*top) for top in tops.tolist()])
        if not np.array_equal(bits, self._bits):  # those of the last round do not fit
            self._bits = bits
            packed, _ = call("pack_statistics", bits)
            root = ()
        grown = list[GrownTree]()
        # of all outputs before the first tree: its values change the scores that gradients are computed from
        of_outputs = [self._statistics(output, tops[output], packed) for output in range(n_outputs)]
        for output, (tree, (statistics, is_wide)) in enumerate(zip(numbers, of_outputs, strict=True)):
            self.send_leaf_values()
            rules = self.options.for_tree(statistics, np.arange(self._n_columns), tree)
            if output or not root or is_wide:
                root = self._start_tree(output, iteration, rules)
            elif root[1][0] == 0:
                root = self._start_tree(output, iteration, rules, first_only=1)
            nodes, identifiers = self._grower.grow(self._with_noise(rules), root)
            finished = GrownTree.of(nodes, _NO_ROWS, statistics.gradient_unit, statistics.hessian_unit)
            if self.options.symmetric:
                finished.set_value_nodes(rules)
            if self.linear is not None:
                self.linear.fit(self.shards, finished, identifiers, statistics)
                finished.terms = finished.terms and finished.terms.scaled(self.linear.rate(iteration))
            self._shrink(finished.nodes, iteration, finished.value_nodes)
            leaves = identifiers[finished.leaves]
            self._unsent = output, leaves, finished.values, finished.nodes, finished.terms
            grown.append(finished)
        return grown

    def grow_tree(self, rules: Rules, iteration: int, statistics: RowStatistics) -> GrownTree:
        """Grow a tree, without rows, on statistics that the shards have received."""
        root = self._start_tree(0, iteration, rules)
        nodes, identifiers = self._grower.grow(self._with_noise(rules), root)
        grown = GrownTree.of(nodes, _NO_ROWS, statistics.gradient_unit, statistics.hessian_unit)
        if self.options.symmetric:
            grown.set_value_nodes(rules)
        if self.linear is not None:
            self.linear.fit(self.shards, grown, identifiers, statistics)
        return grown

    def _with_noise(self, rules: Rules) -> Rules:
        """Set the noise of splits for the tree that was started."""
        if not self.options.random_strength:
            return rules
        gradient, hessian, n = self.shards.call("sum_statistics")[1][0].tolist()
        return self.options.with_noise(rules, (gradient, hessian, n))

    def _start_tree(self, output: int, iteration: int, rules: Rules, first_only: int = 0) -> Sums:
        _, root = self.shards.call("start_tree", output, iteration, rules.columns, first_only)
        if root[1][0] == 0 and not first_only:
            return self._start_tree(output, iteration, rules, first_only=1)
        return root

    def _statistics(self, output: int, tops: Floats, packed: list[Any]) -> tuple[RowStatistics, bool]:
        """Return the units of the statistics; request unpacked ones if the packed ones are too coarse.

        Return also whether they are unpacked.
        """
        steps = (
            sum(int(shard[2][output, 0]) for shard in packed),
            sum(int(shard[2][output, 1]) for shard in packed),
        )
        top_g, top_h = tops.tolist()
        wide = wide_bits((top_g, top_h), steps, self._n_copies, self._packed_block_rows)
        if wide is not None:
            smallest, _ = self.shards.call("widen_statistics", output, *wide)
            return _units(*wide, min(smallest)), True
        g_bits, h_bits = self._bits[output].tolist()
        return _units(g_bits, h_bits, min(int(shard[2][output, 2]) for shard in packed)), False


def _units(g_bits: int, h_bits: int, smallest: int) -> RowStatistics:
    """Return the units of statistics that are in the shards."""
    empty = np.empty(0, np.int64)
    statistics = Statistics(empty, empty.reshape(0, 2), empty, 1)
    return RowStatistics(statistics, 2.0**-g_bits, 2.0**-h_bits, smallest)
