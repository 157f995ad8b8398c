"""Growing a tree on rows in several places, with few questions.

    plant                      sums of all rows come here
    while there is a node to split next:
        if its rows were not parted yet: ask the places to part them, together with those of the nodes
            that will probably be split after it, and to sum one side of each
        split it, search its children

Growth is best first, so that what will be split next is known only one node at a time, and a question takes
longer than a search. Hence nodes are parted ahead: open ones, the best first, half as many as leaves are left
over. Rows of a node that is not split after all are in another order within it, which nobody sees. A tree of
31 leaves takes about as many questions as it is deep, not 30. Which nodes are split, and how, is decided by
the same kernels as on one machine (`hedgerow.kernels.cpu.frontier`), so that the tree is the same.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.binning import Bins
from hedgerow.dtypes import CODE
from hedgerow.growing.gradient_shard import codes_by_row
from hedgerow.growing.grower import GrowthOptions, make_nodes, make_workspace
from hedgerow.growing.shards import ShardedRows, Sums
from hedgerow.kernels.cpu.advance import search_again, take_children, take_root
from hedgerow.kernels.cpu.frontier import N_NODES, N_OPEN, finish, search_alone, settle
from hedgerow.kernels.cpu.records import Rules
from hedgerow.kernels.cpu.split import best_column, search_column

_ALONE = np.int64(0)
_AHEAD = 0.5  # of the leaves left over: for 31, 14.1 questions and 33.5 nodes a tree; with 1.0, 13.6 and 39.5


@dataclass(eq=False)
class Parted:
    """What is known of a node whose rows were parted.

    Parameters
    ----------
    left : int
        The name of its left child in the parts; the right one has the next.
    facts : int64 (4,)
        Rows and copies that went left; whether the sums of the left and the right child are there.
    sums : two of int64 (2, entries)
        Of both children; what is not there is the other one's.
    """

    left: int
    facts: Integers
    sums: tuple[Integers, Integers]


@dataclass(frozen=True, eq=False)
class LevelTree:
    """A grown tree: its NODE records, and the names that the parts have for its leaves."""

    nodes: NDArray[np.void]
    names: Integers  # (nodes,)


class LevelGrower:
    """Grows trees in a place.

    Parameters
    ----------
    shards : ShardedRows
        Of parts as `hedgerow.growing.gradient_shard.GradientShard`.
    bins : Bins
    rules : GrowthOptions
    n_rows : int
        The most rows that a tree is grown on.
    """

    def __init__(self, shards: ShardedRows, bins: Bins, rules: GrowthOptions, n_rows: int) -> None:
        self.shards, self.bins, self.rules = shards, bins, rules
        self._codes = codes_by_row(bins, np.empty((0, 0), CODE))
        n_leaves = rules.max_leaves(n_rows)
        self._work = make_workspace(self._codes, n_leaves, rules.groups.shape[1], 1)
        self._nodes = make_nodes(n_leaves)
        self._names = np.zeros(len(self._nodes), np.int64)
        self._n_names = 1
        self._nothing = np.zeros((1, 2, int(bins.offsets[-1])), np.int64)
        self._parted: dict[int, Parted] = {}

    def grow(self, rules: Rules, planted: Sums) -> LevelTree:
        """Grow the tree that was planted; `planted` is what `GradientShard.start_tree` says, added up."""
        sums, (n_rows, count) = planted[0], planted[1].tolist()
        work, nodes, codes = self._work, self._nodes, self._codes
        tools = (work.frontier, work.histograms, work.search)
        self._parted, self._n_names = {}, 1
        self._names[0] = 0
        number = int(take_root(codes, rules, nodes, *tools, sums, n_rows, count))
        while number >= 0:
            if number not in self._parted:
                self._part_ahead(number, rules)
            parted, node = self._parted.pop(number), nodes[number]
            least, n_left = rules.min_count, int(parted.facts[1])
            if n_left < least or node["count"] - n_left < least:
                number = self._search_with_counts(number, rules)
                continue
            following = int(take_children(codes, rules, nodes, number, *tools, *parted.sums, parted.facts))
            left = int(node["left"])
            self._names[left], self._names[left + 1] = parted.left, parted.left + 1
            number = following
        finish(rules, nodes, work.frontier)
        n_nodes = int(work.frontier.control[N_NODES])
        return LevelTree(nodes[:n_nodes], self._names[:n_nodes].copy())

    def _part_ahead(self, number: int, rules: Rules) -> None:
        """Part the rows of a node, and of those open ones that may be split after it."""
        nodes, control = self._nodes, self._work.frontier.control
        n_left_over = rules.max_leaves - (int(control[N_NODES]) + 1) // 2
        waiting = self._work.frontier.heap[: control[N_OPEN]]
        order = np.lexsort((waiting, -nodes["split"]["gain"][waiting]))
        ahead = waiting[order][: math.ceil(_AHEAD * n_left_over) - 1].tolist()
        chosen = [number, *(other for other in ahead if other not in self._parted)]
        numbers = np.array(chosen)
        sides = self._sides(numbers, rules, is_last=n_left_over == 1)
        lefts = self._n_names + 2 * np.arange(len(chosen))
        self._n_names += 2 * len(chosen)
        names = np.stack([self._names[numbers], lefts], axis=1)
        splits = np.ascontiguousarray(nodes["split"][numbers])
        _, (counts, sums) = self.shards.call("split_nodes", names, splits, sides)
        facts, place = np.hstack([counts, sides]), 0
        for i, one in enumerate(chosen):
            n_there = int(facts[i, 2] + facts[i, 3])
            mine = sums[place : place + n_there] if n_there else self._nothing
            self._parted[one] = Parted(int(lefts[i]), facts[i], (mine[0], mine[-1]))
            place += n_there

    def _sides(self, numbers: Integers, rules: Rules, *, is_last: bool) -> Integers:
        """Which children's sums are asked for: the lighter one's, or both if the parent's were not kept."""
        chosen = self._nodes[numbers]
        sides = np.zeros((len(numbers), 2), np.int64)
        lighter = (2 * chosen["split"]["left_hessian"] > chosen["hessian"]).astype(np.int64)
        sides[np.arange(len(numbers)), lighter] = 1
        sides[chosen["slot"] < 0] = 1
        ends = (chosen["depth"] + 1 >= rules.max_depth) | is_last  # nobody will search the children
        sides[ends] = 0
        return sides

    def _search_with_counts(self, number: int, rules: Rules) -> int:
        """Search a node again whose best split leaves too few rows on a side; the node to split next.

        Each column that comes out best is searched again with exact counts, until one that was so is best.
        """
        work, nodes, codes = self._work, self._nodes, self._codes
        frontier, memory, name = work.frontier, work.histograms, int(self._names[number])
        search_alone(nodes, number, frontier)
        fill = nodes[number]["slot"] < 0
        sums = self.shards.call("histogram", name)[1][0] if fill else np.empty((2, 0), np.int64)
        place = search_again(codes, rules, nodes, frontier, memory, work.search, sums)
        counts = self.shards.call("bin_counts", name)[1][0]
        counted: set[int] = set()
        found, histogram = frontier.found[0], memory.pool[place]
        while (best := int(best_column(rules, frontier.allowed[0], found))) >= 0 and best not in counted:
            search_column(
                codes, rules, histogram, counts, nodes[number], best, work.search, _ALONE, found[best]
            )
            counted.add(best)
        return int(settle(rules, nodes, frontier))
