"""Weak trees on sharded rows. A shard holds codes, and the rows of each node of the tree being grown.

Weights, classes and scores of all rows are in this process. A tree is grown with these calls of the shards:

    start_tree(weights of the rows of the shard)  -> histograms of the root, summed over all shards
    split_node(a node, its split)                 -> histograms of the lighter child; the other by difference
    leaf_ids(the finished tree)                   -> the leaf of every row, one byte each

A histogram is int64 (channels, entries), the codes of all columns one after the other; see
`hedgerow.kernels.cpu.weak`. This process searches the splits with the kernels for rows in memory, so that the
tree is the same, bit for bit. All state of a shard can be sent again: after `ShardsLost` the tree is started
again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.binning import Bins
from hedgerow.forest import Forest
from hedgerow.growing.shards import Result, ShardedRows, ShardFailureCounter, Sums
from hedgerow.growing.weak_tree import (
    FoundSplit,
    LeafIds,
    TreeBuilder,
    WeakRules,
    WeakTree,
    find_leaf_ids,
    partition_rows,
    rows_with_weight,
    search_slices,
    total_sums,
)
from hedgerow.kernels.cpu.forest import add_coded
from hedgerow.kernels.cpu.weak import Sample, fill_columns, search_filled
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team

_KEPT_BYTES = 1 << 28  # of histograms of open leaves; above this, both children are requested
_ENTRIES_PER_THREAD = 60_000  # below which a second thread does not pay off in a search
_ALL_ROWS = np.empty(0, np.uint32)
_NO_CLASSES = -1

Histogram = Integers


# --- shards


@dataclass(frozen=True)
class WeakShardFactory:
    """Creates shards. offsets : cumulative numbers of codes of the columns, as `Bins.offsets`."""

    offsets: Integers
    by_row = False
    layout = None
    row_bytes = 24  # weight, moment, row number and a spare row number

    def __call__(self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int) -> "WeakShard":
        """Create a shard of the codes (columns, rows)."""
        return WeakShard(codes, self.offsets)


class WeakShard:
    """Codes (columns, rows) of some of the rows; the module describes its methods.

    Two rows of class 0 and one of class 1; one column of codes 0 (missing) to 2:

    >>> shard = WeakShard(np.array([[1, 1, 2]], np.uint8), np.array([0, 3]))
    >>> empty = np.empty(0, np.int64)
    >>> _, (root,) = shard.start_tree(np.array([5, 6, 7]), empty, 2, 0, np.array([0, 0, 1], np.uint8))
    >>> root.tolist()
    [[0, 11, 0], [0, 0, 7]]
    """

    def __init__(self, codes: NDArray[Any], offsets: Integers) -> None:
        self._codes, self._offsets = codes, offsets
        self._classes: dict[int, NDArray[Any]] = {}
        self._rows: dict[int, RowNumbers] = {}
        self._team = Team(1)

    def start_tree(
        self, weight: Integers, second: Integers, n_channels: int, key: int, classes: NDArray[Any] | None
    ) -> tuple[None, Sums]:
        """Start a tree with these weights. classes : stored under `key`; None if they already are."""
        if classes is not None:
            self._classes[key] = _writable(classes)
        stored = np.empty(0, np.uint8) if key == _NO_CLASSES else self._classes[key]
        self._sample, self._n_channels = Sample(_writable(weight), _writable(second), stored), n_channels
        self._rows = {}
        return None, (self._histogram(_ALL_ROWS, all_rows=True),)

    def split_node(self, number: int, split: np.void, first: int, nodes: Sequence[int]) -> tuple[None, Sums]:
        """Partition the rows of a node into nodes `first` and `first + 1`; return histograms of `nodes`."""
        rows = self._rows.pop(number, None)
        rows = rows_with_weight(self._sample) if rows is None else rows
        self._rows[first], self._rows[first + 1] = partition_rows(self._codes, rows, split)
        return None, tuple(self._histogram(self._rows[node], all_rows=False) for node in nodes)

    def leaf_ids(self, nodes: NDArray[np.void]) -> tuple[LeafIds, Sums]:
        """Return the leaves of the rows in a tree."""
        self._rows = {}
        return find_leaf_ids(_writable(nodes), self._codes, self._team), ()

    def scores(self, forest: Forest, n_outputs: int) -> tuple[Floats, Sums]:
        """Sum the leaf values of the trees, in their order; (outputs, rows)."""
        n_rows, trees = self._codes.shape[1], forest.trees
        scores = np.zeros((n_outputs, n_rows))
        for tree, output in enumerate(forest.output):
            add_coded(self._codes, trees, tree, 0, n_rows, scores[output])
        return scores, ()

    def _histogram(self, rows: RowNumbers, *, all_rows: bool) -> Histogram:
        hist = np.zeros((self._n_channels, int(self._offsets[-1])), np.int64)
        fill_columns(self._codes, self._offsets, self._sample, rows, all_rows, hist.reshape(-1))
        return hist


def _writable(array: NDArray[Any]) -> NDArray[Any]:
    """Copy a read-only array, such as one received over a network: kernels are compiled for writable ones."""
    return array if array.flags.writeable else array.copy()


# --- the process that grows the trees


class ShardedWeakRows:
    """Codes of a remote table, in shards; see `backends.base.WeakRows`."""

    def __init__(self, table: RemoteTable, bins: Bins, team: Team) -> None:
        self.bins, self.n_rows, self.n_columns, self.team = bins, table.n_rows, table.n_columns, team
        factory = WeakShardFactory(bins.offsets)
        self.shards: ShardedRows = table.make_shards(factory, bins, {}, team.n_threads)
        self._failures = ShardFailureCounter()
        self.sent_classes: list[NDArray[Any]] = []  # stored by the shards; empty after shards were lost

    def make_grower(self, rules: WeakRules) -> "ShardedWeakGrower":
        """Return a grower of trees on these rows."""
        return ShardedWeakGrower(self, rules)

    def leaf_ids(self, tree: WeakTree) -> LeafIds:
        """Return the node number of the leaf of every row."""
        if len(tree.nodes) == 1:
            return np.zeros(self.n_rows, np.uint8)
        return np.concatenate(self.retry(lambda: self.shards.call("leaf_ids", tree.nodes)[0]))

    def scores(self, forest: Forest, n_outputs: int) -> Floats:
        """Sum the leaf values of the trees of a forest, (outputs, rows)."""
        return np.concatenate(self.retry(lambda: self.shards.call("scores", forest, n_outputs)[0]), axis=1)

    def retry(self, call: Callable[[], Result]) -> Result:
        """Call a function of the shards; repeat the call if some were lost: new shards have no state."""
        return self._failures.retry(call, self.sent_classes.clear)

    def close(self) -> None:
        """Release the shards."""
        self.shards.close()


class ShardedWeakGrower:
    """Grows the trees of a `WeakGrower` on sharded rows; the threads of their team search histograms."""

    def __init__(self, rows: ShardedWeakRows, rules: WeakRules) -> None:
        self.rows, self.rules, self.team = rows, rules, rows.team
        self.width = int(rows.bins.n_bins.max()) + 2  # codes of a channel, missing, and one unused entry

    def grow_with_leaf_ids(self, sample: Sample, n_channels: int) -> tuple[WeakTree, LeafIds]:
        """Grow a tree on the rows with weight; return it and the leaves of all rows."""
        totals, moments = total_sums(sample, n_channels), bool(sample.second.size)

        def grow() -> WeakTree:
            root = self._start_tree(sample, n_channels)
            return _ShardedBuilder(self, root, moments=moments).grow(totals, _ALL_ROWS)

        tree = self.rows.retry(grow)
        return tree, self.rows.leaf_ids(tree)

    def _start_tree(self, sample: Sample, n_channels: int) -> Histogram:
        """Send the weights to the shards, and classes that they have not stored yet."""
        sent, key, is_new = self.rows.sent_classes, _NO_CLASSES, False
        if not sample.second.size:
            key = next((i for i, classes in enumerate(sent) if classes is sample.classes), len(sent))
            is_new = key == len(sent)
        args = []
        for a, b in self.rows.shards.bounds:
            classes = sample.classes[a:b] if is_new else None
            args.append((sample.weight[a:b], sample.second[a:b], n_channels, key, classes))
        _, (root,) = self.rows.shards.call_each("start_tree", args)
        if is_new:
            sent.append(sample.classes)
        return root

    def search(self, hist: Histogram, totals: Integers, limits: Integers) -> FoundSplit:
        """Find the best split of a node with this histogram."""
        bins, n_columns = self.rows.bins, self.rows.n_columns
        n_threads = max(1, min(self.team.n_threads, hist.size // _ENTRIES_PER_THREAD, n_columns))

        def search(_thread: int, a: int, b: int, found: NDArray[np.void], left: Integers) -> None:
            search_filled(hist, bins.offsets, bins.categorical, totals, limits, (a, b), found, left)

        return search_slices(n_columns, len(totals), n_threads, self.team, search)


class _ShardedBuilder(TreeBuilder):
    """Builds one tree, with the histograms of its open leaves in this process."""

    def __init__(self, grower: ShardedWeakGrower, root: Histogram, *, moments: bool) -> None:
        super().__init__(grower.rules, self._search, self._partition)
        self._grower, self._moments = grower, moments
        self._hists = {0: root}

    def _search(self, number: int, rows: RowNumbers, totals: Integers) -> FoundSplit:
        hist = self._hists[number]
        limits = self.rules.limits(self._grower.width, self.sums[0], moments=self._moments)
        found = self._grower.search(hist, totals, limits)
        if found[0]["gain"] <= 0 or hist.nbytes * len(self._hists) > _KEPT_BYTES:
            del self._hists[number]
        return found

    def _partition(self, number: int, rows: RowNumbers, found: FoundSplit) -> list[RowNumbers]:
        """Request the histogram of the lighter child, which has fewer rows in most cases.

        The other one is the difference, unless the histogram of the node was discarded.
        """
        split, left = found
        parent, first = self._hists.pop(number, None), len(self.sums)
        lighter, other = first, first + 1
        if self._weight(left) * 2 > self._weight(self.sums[number]):
            lighter, other = other, lighter
        requested = [lighter, other] if parent is None else [lighter]
        _, hists = self._grower.rows.shards.call("split_node", number, split, first, requested)
        self._hists.update(zip(requested, hists, strict=True))
        if parent is not None:
            self._hists[other] = parent - hists[0]
        return [_ALL_ROWS, _ALL_ROWS]

    def _weight(self, sums: Integers) -> int:
        return int(sums[0]) if self._moments else sum(sums.tolist())
