"""The reference grower: one tree, in Python and NumPy, that the compiled grower must reproduce bit for bit.

    start, search the root
    while nodes are open and more leaves are allowed:
        take the open node with the largest gain, the older among equals
        partition its rows
        histogram of the smaller child from its rows, of the larger one by subtraction
        search both; a child whose split gains enough is open

It is the algorithm of `hedgerow.kernels.cpu.grow` without threads or reused memory, and with exact counts in
every search.
"""

import heapq
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import CODE
from hedgerow.binning import BinnedTable, Bins
from hedgerow.growing.grower import GrownTree, GrowthOptions, RowStatistics, make_nodes
from hedgerow.growing.weak_tree import codes_left
from hedgerow.kernels.cpu.histogram import sum_statistics
from hedgerow.kernels.cpu.random import NODE_COLUMNS, choose_columns
from hedgerow.kernels.cpu.records import SPLIT, Codes, Rules, Search, Statistics
from hedgerow.kernels.cpu.split import (
    NO_GAIN,
    best_column,
    leaf_value,
    least_gain,
    search_column,
    split_score,
)


class RowsInMemory:
    """Coded rows, grouped by the nodes of the tree being grown; statistics are three integers per row."""

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        self._channels = np.empty((3, 0), np.int64)
        self._columns = np.empty(0, np.int64)
        self._rows: dict[int, NDArray[np.uint32]] = {}

    @property
    def bins(self) -> Bins:
        """How the columns are coded."""
        return self.table.bins

    def start(self, statistics: Statistics, rows: NDArray[np.uint32], columns: NDArray[np.int64]) -> None:
        """Start a tree: node 0 holds `rows`, and only `columns` are used."""
        self._channels = channels(statistics)
        self._columns = columns
        self._rows = {0: rows.copy()}

    def histograms(self, nodes: Sequence[int]) -> NDArray[np.int64]:
        """Sums of gradient, hessian and copies by column and code, (nodes, 3, entries).

        Code c of column f is entry ``bins.offsets[f] + c``; columns that the tree does not use stay 0.
        """
        offsets = self.bins.offsets
        out = np.zeros((len(nodes), 3, offsets[-1]), np.int64)
        for histogram, node in zip(out, nodes, strict=True):
            rows = self._rows[node]
            for column in self._columns:
                entries = offsets[column] + self.table.codes.by_column[column, rows]
                for sums, channel in zip(histogram, self._channels, strict=True):
                    np.add.at(sums, entries, channel[rows])
        return out

    def partition(self, node: int, split: np.void, left: int) -> tuple[int, int]:
        """Partition the rows of `node` stably into `left` and `left + 1`; rows and copies that went left."""
        rows = self._rows.pop(node)
        goes_left = codes_left(split, self.table.codes.by_column[split["column"], rows])
        self._rows[left], self._rows[left + 1] = rows[goes_left], rows[~goes_left]
        return int(goes_left.sum()), int(self._channels[2, rows[goes_left]].sum())

    def gather(self, nodes: Sequence[int]) -> NDArray[np.uint32]:
        """The rows of the nodes, one node after the other."""
        return np.concatenate([self._rows[node] for node in nodes])


def channels(statistics: Statistics) -> NDArray[np.int64]:
    """Gradient, hessian and copies of every row, (3, n), from packed or wide statistics."""
    if len(statistics.packed):
        gradient, hessian = statistics.packed >> 32, statistics.packed & 0xFFFFFFFF
    else:
        gradient, hessian = statistics.wide.T
    copies = statistics.copies if len(statistics.copies) else np.ones(len(gradient), np.int64)
    return np.stack([gradient, hessian, copies])


class ReferenceGrower:
    """Grows one tree at a time with the plain algorithm.

    Parameters
    ----------
    store : RowsInMemory
    rules : GrowthOptions
    """

    def __init__(self, store: RowsInMemory, rules: GrowthOptions) -> None:
        self.store = store
        self.rules = rules

    def grow(self, measured: RowStatistics, rows: NDArray[np.uint32], tree: int) -> GrownTree:
        """Grow tree number `tree` on these rows."""
        rules = self.rules.for_tree(measured, np.arange(self.store.bins.n_columns), tree)
        if self.rules.random_strength:
            rules = self.rules.with_noise(rules, sum_statistics(measured.statistics, rows, 0, len(rows)))
        self.store.start(measured.statistics, rows, rules.columns)
        growing = _Tree(self.store, rules, self.rules.max_leaves(len(rows)), len(rows))
        while growing.open and growing.n_leaves < rules.max_leaves:
            growing.split_best()
        grown = GrownTree.of(growing.finished(), rows, measured.gradient_unit, measured.hessian_unit)
        grown.rows = self.store.gather(grown.leaves.tolist())
        return grown


class _Tree:
    """A tree while it grows.

    nodes : NODE records, of which the first `n_nodes` are in use
    open : heap of (-score, node): the largest score comes first, and the older node among equals
    histograms : (3, entries) of every open node
    groups : bit set of the interaction groups still open in a node
    """

    def __init__(self, store: RowsInMemory, rules: Rules, most_leaves: int, n_rows: int) -> None:
        self.store, self.rules = store, rules
        self.nodes = make_nodes(most_leaves)
        self.n_nodes = 1
        self.open: list[tuple[float, int]] = []
        self.histograms: dict[int, NDArray[np.int64]] = {}
        self.groups = {0: np.full(rules.groups.shape[1], ~np.uint64(0))}
        root, histogram = self.nodes[0], store.histograms([0])[0]
        first, last = store.bins.offsets[rules.columns[0] :][:2]  # every row has a code in any one column
        root["gradient"], root["hessian"], root["count"] = histogram[:, first:last].sum(axis=1)
        root["stop"], root["lower"], root["upper"] = n_rows, -np.inf, np.inf
        self.search(0, histogram)

    @property
    def n_leaves(self) -> int:
        return (self.n_nodes + 1) // 2

    def search(self, number: int, histogram: NDArray[np.int64]) -> None:
        """Find the best split of a node; if its gain suffices, the node is open."""
        node = self.nodes[number]
        if node["depth"] >= self.rules.max_depth:
            return
        columns, least = self.allowed_columns(number), least_gain(node, self.rules)
        best = best_split(self.store.bins, self.rules, histogram, node, number, columns)
        if best["gain"] > least:
            node["split"] = best
            self.histograms[number] = histogram
            score = split_score(self.rules, number, int(best["column"]), float(best["gain"]))
            heapq.heappush(self.open, (-float(score), number))

    def allowed_columns(self, number: int) -> NDArray[np.int64]:
        """The columns a node may use: those of its interaction groups, and a random choice of these."""
        rules, columns = self.rules, self.rules.columns.copy()
        if rules.groups.size:
            columns = columns[(rules.groups[columns] & self.groups[number]).any(axis=1)]
        if rules.columns_per_node < len(columns):
            key = rules.tree * (1 << 32) + number
            choose_columns(columns, rules.columns_per_node, rules.seed, NODE_COLUMNS, key)
        return columns[: rules.columns_per_node]

    def split_best(self) -> None:
        """Split the best open node and search its children."""
        number = heapq.heappop(self.open)[1]
        node, histogram, left = self.nodes[number], self.histograms.pop(number), self.n_nodes
        n_left, count = self.store.partition(number, node["split"], left)
        self.add_children(number, left, n_left, count)
        if self.n_leaves == self.rules.max_leaves:
            return
        small, large = (left, left + 1) if 2 * n_left <= node["stop"] - node["start"] else (left + 1, left)
        part = self.store.histograms([small])[0]
        self.search(small, part)
        self.search(large, histogram - part)

    def add_children(self, number: int, left: int, n_left: int, count: int) -> None:
        """Write the records of two new leaves: their rows, sums, bounds and interaction groups."""
        node, one, other = (self.nodes[which] for which in (number, left, left + 1))
        split, middle = node["split"], node["start"] + n_left
        node["left"] = left
        one["depth"] = other["depth"] = node["depth"] + 1
        one["start"], one["stop"], other["start"], other["stop"] = node["start"], middle, middle, node["stop"]
        one["count"], other["count"] = count, node["count"] - count
        for name in ("gradient", "hessian"):
            one[name], other[name] = split[f"left_{name}"], node[name] - split[f"left_{name}"]
        self.bound(node, one, other)
        if self.rules.groups.size:
            kept = self.groups[number] & self.rules.groups[split["column"]]
            self.groups[left] = self.groups[left + 1] = kept
        self.n_nodes += 2

    def bound(self, node: np.void, one: np.void, other: np.void) -> None:
        """Pass bounds of leaf values to the children; a monotonic split adds the middle of its values."""
        for name in ("lower", "upper"):
            one[name] = other[name] = node[name]
        directions = self.rules.monotonic
        direction = directions[node["split"]["column"]] if len(directions) else 0
        middle = (self.value(one) + self.value(other)) / 2.0
        if direction > 0:
            one["upper"] = other["lower"] = middle
        elif direction < 0:
            one["lower"] = other["upper"] = middle

    def value(self, node: np.void) -> float:
        """The value that minimises the objective within the node's bounds."""
        gradient, hessian, lower, upper = (node[name] for name in ("gradient", "hessian", "lower", "upper"))
        return float(leaf_value(float(gradient), float(hessian), self.rules.l1, self.rules.l2, lower, upper))

    def finished(self) -> NDArray[np.void]:
        """The records of the tree, with values."""
        nodes = self.nodes[: self.n_nodes]
        for node in nodes:
            node["value"] = self.value(node)
        return nodes


def best_split(
    bins: Bins,
    rules: Rules,
    histogram: NDArray[np.int64],
    node: np.void,
    number: int,
    columns: NDArray[np.int64],
) -> np.void:
    """The best split of a node in some columns, as a SPLIT record; its gain is -inf without one.

    Among equals the first column wins. histogram is (3, entries): gradient, hessian, copies.
    """
    longest = int(np.diff(bins.offsets).max())
    search = Search(
        np.empty((1, 3, longest), np.int64), np.empty((1, longest)), np.empty((1, longest), np.int64)
    )
    no_rows, none = np.empty((0, 0), CODE), np.empty(0, np.int64)
    codes = Codes(no_rows, no_rows, bins.offsets, bins.n_bins, bins.categorical, none, none, none)
    sums, allowed = running_sums(histogram[:2], bins.offsets), np.zeros(bins.n_columns, np.uint8)
    found = np.zeros(bins.n_columns, SPLIT)
    found["gain"] = NO_GAIN
    for column in columns:
        allowed[column] = 1
        search_column(codes, rules, sums, histogram[2], node, column, search, 0, found[column])
    best: np.void = found[best_column(rules, number, least_gain(node, rules), allowed, found)]
    return best


def running_sums(histogram: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums over the codes of a column up to each code, as the search reads them."""
    sums = np.empty_like(histogram)
    for first, last in itertools.pairwise(offsets):
        np.cumsum(histogram[:, first:last], axis=1, out=sums[:, first:last])
    return sums
