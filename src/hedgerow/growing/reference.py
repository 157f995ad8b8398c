"""The reference grower: one tree, in Python, through the verbs of a place where rows live.

This is the algorithm of `hedgerow.kernels.cpu.grow` without its haste: nothing is shared by threads, no
memory is reused, and the exact counts are there from the start. It gives the identical tree, bit for bit,
and it is how trees are grown where rows are not in this process's memory.

    plant -> search the root
    while nodes are open and leaves are left:
        take the open node with the largest gain, the older among equals
        partition its rows
        histogram of the smaller child from its rows, of the larger by subtraction
        search both; those with a split that is worth it are open
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from hedgerow.backends.base import RowStore
from hedgerow.growing.rules import GrowthRules
from hedgerow.growing.statistics import Measured
from hedgerow.growing.tree import GrownTree
from hedgerow.growing.workspace import make_nodes
from hedgerow.kernels.cpu.random import NODE_COLUMNS, choose_columns
from hedgerow.kernels.cpu.records import SPLIT, Codes, Rules, Search
from hedgerow.kernels.cpu.split import leaf_value, search_columns, worth

_EVERY_GROUP = ~np.uint64(0)


class ReferenceGrower:
    """Grows trees where the rows are.

    Parameters
    ----------
    store : RowStore
    rules : GrowthRules

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.backends.rows import RowsInMemory
    >>> from hedgerow.binning import find_bins
    >>> from hedgerow.growing.statistics import Quantiser, Weights
    >>> from hedgerow.table import read_table
    >>> from hedgerow.threads import Team
    >>> table, team = read_table(np.array([[1.0], [2.0], [3.0], [4.0]])), Team(1)
    >>> weights = Weights.of(None, 4)
    >>> measured = Quantiser(weights, 4, team).measure(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    >>> store = RowsInMemory(find_bins(table).encode(table, team))
    >>> tree = ReferenceGrower(store, GrowthRules(min_samples_leaf=1)).grow(measured, weights.rows, 0)
    >>> tree.values.tolist(), tree.rows.tolist()
    ([-1.0, 1.0], [0, 1, 2, 3])
    """

    def __init__(self, store: RowStore, rules: GrowthRules) -> None:
        self.store = store
        self.rules = rules

    def grow(self, measured: Measured, rows: NDArray[np.uint32], tree: int) -> GrownTree:
        """Grow tree number `tree` on the given rows."""
        rules = self.rules.for_tree(measured, self.store.bins.n_columns, tree)
        self.store.plant(measured.statistics, rows, rules.columns)
        growing = _Tree(self.store, rules, self.rules.most_leaves(len(rows)), len(rows))
        while growing.open and growing.n_leaves < rules.max_leaves:
            growing.split()
        nodes = growing.finish()
        grown = GrownTree.of(nodes, rows, measured.gradient_unit, measured.hessian_unit)
        grown.rows = self.store.gather(grown.leaves.tolist())
        return grown


class _Tree:
    """A tree while it grows.

    nodes : NODE records, of which the first `n_nodes` are in use.
    open : heap of (-gain, node), so that the best node comes first and the older among equals.
    histograms : (3, entries) of every open node.
    groups : interaction groups still open in a node, as bits.
    """

    def __init__(self, store: RowStore, rules: Rules, most_leaves: int, n_rows: int) -> None:
        self.store, self.rules = store, rules
        self.nodes = make_nodes(most_leaves)
        self.n_nodes, self.n_leaves = 1, 1
        self.open: list[tuple[float, int]] = []
        self.histograms: dict[int, NDArray[np.int64]] = {}
        self.groups = {0: np.full(rules.groups.shape[1], _EVERY_GROUP)}
        self.searcher = _Searcher(store, rules)
        root, histogram = self.nodes[0], store.histograms([0])[0]
        offsets, any_column = store.bins.offsets, rules.columns[0]  # every row has one code in each column
        sums = histogram[:, offsets[any_column] : offsets[any_column + 1]].sum(axis=1)
        root["gradient"], root["hessian"], root["count"] = sums
        root["stop"], root["lower"], root["upper"] = n_rows, -np.inf, np.inf
        self.search(0, histogram)

    def search(self, number: int, histogram: NDArray[np.int64]) -> None:
        """Find the best split of a node; if it is worth making, the node is open."""
        node = self.nodes[number]
        if node["depth"] >= self.rules.max_depth:
            return
        best = self.searcher.best_split(node, histogram, self.allowed_columns(number))
        if best is not None and worth(best, node, self.rules):
            node["split"] = best
            self.histograms[number] = histogram
            heapq.heappush(self.open, (-float(best["gain"]), number))

    def allowed_columns(self, number: int) -> NDArray[np.int64]:
        """The columns a node may use: those of its interaction groups, then a random choice of them."""
        rules, columns = self.rules, self.rules.columns
        if rules.groups.size:
            columns = columns[(rules.groups[columns] & self.groups[number]).any(axis=1)]
        if rules.columns_per_node < len(columns):
            columns = columns.copy()
            key = rules.tree * (1 << 32) + number
            choose_columns(columns, rules.columns_per_node, rules.seed, NODE_COLUMNS, key)
            columns = columns[: rules.columns_per_node]
        return columns

    def split(self) -> None:
        """Split the best open node and search its children."""
        number = heapq.heappop(self.open)[1]
        node, left, right = self.nodes[number], self.n_nodes, self.n_nodes + 1
        n_left, count = self.store.partition(number, node["split"], left)
        self.add_children(node, left, n_left, count)
        whole = self.histograms.pop(number)
        groups = self.groups.pop(number) & self.rules.groups[node["split"]["column"] : node["split"]["column"] + 1]
        self.groups[left] = self.groups[right] = groups
        if self.n_leaves == self.rules.max_leaves:
            return
        small, large = (left, right) if 2 * n_left <= node["stop"] - node["start"] else (right, left)
        part = self.store.histograms([small])[0]
        self.search(small, part)
        self.search(large, whole - part)

    def add_children(self, node: np.void, left: int, n_left: int, count: int) -> None:
        """Write the records of two new leaves: their rows, counts, sums and bounds."""
        split, middle = node["split"], node["start"] + n_left
        node["left"] = left
        one, other = self.nodes[left], self.nodes[left + 1]
        one["depth"] = other["depth"] = node["depth"] + 1
        one["start"], one["stop"], other["start"], other["stop"] = node["start"], middle, middle, node["stop"]
        one["count"], other["count"] = count, node["count"] - count
        for name in ("gradient", "hessian"):
            one[name], other[name] = split[f"left_{name}"], node[name] - split[f"left_{name}"]
        self.bound(node, one, other)
        self.n_nodes += 2
        self.n_leaves += 1
