"""Growing symmetric trees on sharded rows: one call of all shards per level.

A call partitions the rows of all nodes of a level and sums the histogram of one child of each. The kernels
that search a level are those of rows in memory, so that the tree is the same.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import CODE, Integers
from hedgerow.binning import Bins
from hedgerow.growing.gradient_shard import codes_by_row
from hedgerow.growing.grower import GrowthOptions, make_nodes, make_workspace
from hedgerow.growing.shards import ShardedRows, Sums
from hedgerow.kernels.cpu.frontier import N_NODES
from hedgerow.kernels.cpu.records import Rules
from hedgerow.kernels.cpu.symmetric import choose_sides, split_level_from_sums, start_symmetric_from_sums


class ShardedSymmetricGrower:
    """Grows symmetric trees on shards of type `GradientShard`; the number of a node is its identifier."""

    def __init__(self, shards: ShardedRows, bins: Bins, options: GrowthOptions, n_rows: int) -> None:
        self.shards = shards
        self._codes = codes_by_row(bins, np.empty((0, 0), CODE))
        n_leaves, n_words = options.max_leaves(n_rows), options.groups.shape[1]
        self._work = make_workspace(self._codes, n_leaves, n_words, 1, is_complete=True)
        self._nodes = make_nodes(n_leaves)

    def grow(self, rules: Rules, root: Sums) -> tuple[NDArray[np.void], Integers]:
        """Grow a tree; see `hedgerow.growing.sharded_grower.ShardedGrower.grow`."""
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
            best = int(split_level_from_sums(codes, rules, nodes, depth, split, *memory, counts, sides, sums))
            depth += 1
        n_nodes = int(frontier.control[N_NODES])
        return nodes[:n_nodes], np.arange(n_nodes)
