"""Weak trees on rows that are elsewhere: parts hold codes, and rows by node of the tree that is being grown.

Weights, classes and scores of all rows stay in this process. A tree goes through parts like this:

    begin(weights of the part's rows)           -> histograms of the root, added up over all parts
    split(a node, its split)                    -> histograms of the lighter side; the other is the difference
    cells(the finished tree)                    -> the leaf of every row, one byte each

A histogram is int64 (channels, entries), the codes of all columns one after the other; see
`hedgerow.kernels.cpu.weak`. Splits are searched here, by the kernels that search rows in memory: the tree is
the same, bit for bit. Parts remember nothing that cannot be said again, so that after `ShardsLost` the
tree is begun anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import Bins
from hedgerow.forest import Forest
from hedgerow.growing.shards import LossCounter, ShardedRows, ShardsLost, Sums
from hedgerow.growing.weak_tree import (
    Cells,
    Found,
    Growing,
    WeakRules,
    WeakTree,
    cells_of,
    part_rows,
    sums_of,
    with_weight,
)
from hedgerow.kernels.cpu.forest import add_coded
from hedgerow.kernels.cpu.records import SPLIT
from hedgerow.kernels.cpu.weak import Sample, fill_columns, search_filled
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team

_KEPT_BYTES = 1 << 28  # of histograms of open leaves; beyond, both sides of a split are asked for
_ENTRIES_PER_MEMBER = 60_000  # below which a second thread costs more than it brings to a search
_ALL_ROWS = np.empty(0, np.uint32)
_NO_CLASSES = -1

Histogram = NDArray[np.int64]


# --- where the rows are


@dataclass(frozen=True)
class WeakShardFactory:
    """Makes parts. offsets : running sums of the codes that columns have, as `Bins.offsets`."""

    offsets: NDArray[np.int64]
    by_row = False
    row_bytes = 24  # a weight and what is beside it, the row's number in the tree and a spare one

    def __call__(self, codes: NDArray[Any], shares: dict[str, NDArray[Any]], first: int) -> "WeakShard":
        """A part of the codes (columns, rows)."""
        return WeakShard(codes, self.offsets)


class WeakShard:
    """Some of the rows, in codes; see the module for its verbs.

    Parameters
    ----------
    codes : (columns, rows)
    offsets : int64 (columns + 1,)

    Examples
    --------
    Two rows of class 0 and one of class 1; one column of codes 0 (missing) to 2:

    >>> shard = WeakShard(np.array([[1, 1, 2]], np.uint8), np.array([0, 3]))
    >>> empty = np.empty(0, np.int64)
    >>> _, (root,) = shard.start_tree(np.array([5, 6, 7]), empty, 2, 0, np.array([0, 0, 1], np.uint8))
    >>> root.tolist()
    [[0, 11, 0], [0, 0, 7]]
    """

    def __init__(self, codes: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        self._codes, self._offsets = codes, offsets
        self._classes: dict[int, NDArray[Any]] = {}
        self._rows: dict[int, NDArray[np.uint32]] = {}
        self._team = Team(1)

    def start_tree(
        self,
        weight: NDArray[np.int64],
        second: NDArray[np.int64],
        n_channels: int,
        which: int,
        classes: NDArray[Any] | None,
    ) -> tuple[None, Sums]:
        """Begin a tree with these weights. classes : to be known as number `which`; None: they are known."""
        if classes is not None:
            self._classes[which] = _own(classes)
        known = np.empty(0, np.uint8) if which == _NO_CLASSES else self._classes[which]
        self._sample, self._n_channels = Sample(_own(weight), _own(second), known), n_channels
        self._rows = {}
        return None, (self._histogram(_ALL_ROWS, everyone=True),)

    def split_node(self, number: int, split: np.void, first: int, wanted: Sequence[int]) -> tuple[None, Sums]:
        """Part the rows of a node into nodes `first` and the next; histograms of those that are wanted."""
        rows = self._rows.pop(number, None)
        rows = with_weight(self._sample) if rows is None else rows
        self._rows[first], self._rows[first + 1] = part_rows(self._codes, rows, split)
        return None, tuple(self._histogram(self._rows[node], everyone=False) for node in wanted)

    def leaf_ids(self, nodes: NDArray[np.void]) -> tuple[Cells, Sums]:
        """The leaves of the rows in a tree."""
        self._rows = {}
        return cells_of(_own(nodes), self._codes, self._team), ()

    def scores(self, forest: Forest, n_outputs: int) -> tuple[NDArray[np.float64], Sums]:
        """What the trees add up to, (outputs, rows), added in their order."""
        n_rows, trees = self._codes.shape[1], forest.trees
        scores = np.zeros((n_outputs, n_rows))
        for tree, output in enumerate(forest.output):
            add_coded(self._codes, trees, tree, 0, n_rows, scores[output])
        return scores, ()

    def _histogram(self, rows: NDArray[np.uint32], *, everyone: bool) -> Histogram:
        hist = np.zeros((self._n_channels, int(self._offsets[-1])), np.int64)
        fill_columns(self._codes, self._offsets, self._sample, rows, everyone, hist)
        return hist


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """An array that can be written: one that came over a network cannot, and kernels were not made for it."""
    return array if array.flags.writeable else array.copy()


# --- here


class RemoteRows:
    """Coded rows that are elsewhere, as weak trees read them.

    Parameters
    ----------
    table : RemoteTable
    bins : Bins
    n_threads : int
    """

    def __init__(self, table: RemoteTable, bins: Bins, n_threads: int) -> None:
        self.bins, self.n_rows, self.n_columns = bins, table.n_rows, table.n_columns
        self.shards: ShardedRows = table.make_shards(WeakShardFactory(bins.offsets), bins, {}, n_threads)
        self._losses = LossCounter()
        self.told: list[NDArray[Any]] = []  # classes that parts know, by number; nothing once parts were lost

    def cells(self, tree: WeakTree) -> Cells:
        """The node number of the leaf of every row."""
        if len(tree.nodes) == 1:
            return np.zeros(self.n_rows, np.uint8)
        return np.concatenate(self._said("leaf_ids", tree.nodes))

    def scores(self, forest: Forest, n_outputs: int) -> NDArray[np.float64]:
        """What the trees of a forest add up to, (outputs, rows)."""
        return np.concatenate(self._said("scores", forest, n_outputs), axis=1)

    def _said(self, verb: str, *args: Any) -> list[Any]:
        """What the parts say; they need not have heard anything before."""
        while True:
            try:
                said = self.shards.call(verb, *args)[0]
            except ShardsLost:
                self.lost()
                continue
            self._losses.reset()
            return said

    def lost(self) -> None:
        """Parts were lost and made anew, and know nothing."""
        self._losses.count()
        self.told.clear()

    def close(self) -> None:
        """Let go of the rows."""
        self.shards.close()


@dataclass(frozen=True, eq=False)
class RowSubset:
    """Some of the training rows: what a tree says of all of them is known."""

    numbers: NDArray[np.uint32]


class ShardedWeakGrower:
    """Grows the trees of a `hedgerow.growing.weak_tree.WeakGrower` on rows that are elsewhere.

    Parameters
    ----------
    rows : RemoteRows
    rules : WeakRules
    team : Team
        Threads of this process, that search histograms.
    """

    def __init__(self, rows: RemoteRows, rules: WeakRules, team: Team) -> None:
        self.rows, self.rules, self.team = rows, rules, team
        self.width = int(rows.bins.n_bins.max()) + 2  # codes of a channel, missing, and one place free

    def grow_with_cells(self, sample: Sample, n_channels: int) -> tuple[WeakTree, Cells]:
        """Grow a tree on the rows with weight; also the leaves of all rows."""
        totals = sums_of(sample, n_channels)
        while True:
            try:
                root = self._begin(sample, n_channels)
                tree = _GrowingThere(self, root, moments=bool(sample.second.size)).grow(totals, _ALL_ROWS)
            except ShardsLost:
                self.rows.lost()
                continue
            return tree, self.rows.cells(tree)

    def _begin(self, sample: Sample, n_channels: int) -> Histogram:
        """Tell the parts the weights of their rows, and classes that they do not know."""
        which, news = _NO_CLASSES, False
        if not sample.second.size:
            known = [number for number, told in enumerate(self.rows.told) if told is sample.classes]
            which, news = (known[0], False) if known else (len(self.rows.told), True)
        args = [
            (
                sample.weight[a:b],
                sample.second[a:b],
                n_channels,
                which,
                sample.classes[a:b] if news else None,
            )
            for a, b in self.rows.shards.bounds
        ]
        _, (root,) = self.rows.shards.call_each("start_tree", args)
        if news:
            self.rows.told.append(sample.classes)
        return root

    def search(self, hist: Histogram, totals: NDArray[np.int64], limits: NDArray[np.int64]) -> Found:
        """The best split of a node with this histogram."""
        bins, n_columns = self.rows.bins, self.rows.n_columns
        found, left = np.empty(n_columns, SPLIT), np.empty((n_columns, len(totals)), np.int64)
        n_members = max(1, min(self.team.n_members, hist.size // _ENTRIES_PER_MEMBER, n_columns))
        ends = [n_columns * member // n_members for member in range(n_members + 1)]

        def share(member: int) -> None:
            columns = ends[member], ends[member + 1]
            search_filled(hist, bins.offsets, bins.categorical, totals, limits, columns, found, left)

        share(0) if n_members == 1 else self.team.together(share, n_members)
        best = int(np.argmax(found["gain"]))  # the first of equal ones
        return found[best].copy(), left[best].copy()


class _GrowingThere(Growing):
    """One tree on its way, of which the histograms of open leaves are here."""

    def __init__(self, grower: ShardedWeakGrower, root: Histogram, *, moments: bool) -> None:
        super().__init__(grower.rules)
        self._grower, self._moments = grower, moments
        self._hists = {0: root}

    def search(self, number: int, rows: NDArray[np.uint32], totals: NDArray[np.int64]) -> Found:
        hist = self._hists[number]
        limits = self.rules.limits(self._grower.width, self.sums[0], moments=self._moments)
        found = self._grower.search(hist, totals, limits)
        if found[0]["gain"] <= 0 or hist.nbytes * len(self._hists) > _KEPT_BYTES:
            del self._hists[number]
        return found

    def part(self, number: int, rows: NDArray[np.uint32], found: Found) -> list[NDArray[np.uint32]]:
        """Of a leaf whose histogram is here, ask for the lighter side: it has the fewer rows, most likely."""
        split, left = found
        whole, first = self._hists.pop(number, None), len(self.sums)
        lighter, other = first, first + 1
        if self._weight(left) * 2 > self._weight(self.sums[number]):
            lighter, other = other, lighter
        wanted = [lighter, other] if whole is None else [lighter]
        _, hists = self._grower.rows.shards.call("split_node", number, split, first, wanted)
        self._hists.update(zip(wanted, hists, strict=True))
        if whole is not None:
            self._hists[other] = whole - hists[0]
        return [_ALL_ROWS, _ALL_ROWS]

    def _weight(self, sums: NDArray[np.int64]) -> int:
        return int(sums[0]) if self._moments else sum(sums.tolist())
