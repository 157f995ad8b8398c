"""Weak trees: stumps and small trees grown on integer class weights, or on integer moments.

A weak tree is an array of NODE records and the integer sums of every node; the update rule computes leaf
values from the sums. The leaf of largest gain is split next, until no split gains or a limit is reached.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MAX_BINS, MISSING_CODE, Floats, Integers, RowNumbers
from hedgerow.binning import Bins
from hedgerow.forest import Forest
from hedgerow.kernels.cpu.adaboost import class_sums, descend, find_stump_sides, grow_stump
from hedgerow.kernels.cpu.records import NODE, SPLIT
from hedgerow.kernels.cpu.weak import COLUMNS_PER_BLOCK, ERROR, GINI, MOMENTS, Sample, search_columns
from hedgerow.table.table import Table
from hedgerow.threads import Team

CRITERIA = {"error": ERROR, "gini": GINI, "moments": MOMENTS}
_VALUES_PER_THREAD = 60_000  # rows x columns below which a second thread does not pay off
_WEIGHT_SLACK = 2.0**-30  # the rounded weights of half of the rows may sum to a little less than half
_ALL_ROWS = np.empty(0, np.uint32)
_STUMP_NODES = 3
_FEW_NODES = 256

LeafIds = NDArray[Any]  # node numbers of the leaves of rows, one byte each where that is enough
FoundSplit = tuple[np.void, Integers]  # a SPLIT record, and the sums of its left side
SearchNode = Callable[[int, RowNumbers, Integers], FoundSplit]  # see `TreeBuilder`
PartitionNode = Callable[[int, RowNumbers, FoundSplit], list[RowNumbers]]


class ColumnCodes(Protocol):
    """Codes by column: by_column (columns, rows), n_bins int64 and categorical uint8 (columns,)."""

    @property
    def by_column(self) -> NDArray[Any]: ...  # noqa: D102 - see the class
    @property
    def n_bins(self) -> Integers: ...  # noqa: D102
    @property
    def categorical(self) -> NDArray[np.uint8]: ...  # noqa: D102


class CodedTable(Protocol):
    """Input of a weak tree: a binned table, or the features of windows."""

    @property
    def codes(self) -> ColumnCodes: ...  # noqa: D102
    @property
    def n_rows(self) -> int: ...  # noqa: D102
    @property
    def n_columns(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class WeakRules:
    """Limits of a weak tree."""

    max_depth: int | None = 1
    max_leaf_nodes: int | None = None
    criterion: str = "error"  # or "gini", of splits by class weights; moments have their own
    min_weight_fraction: float = 0.0  # of the total weight, in a leaf

    @property
    def is_stump(self) -> bool:
        """Whether a single split is the only limit."""
        return self.max_depth == 1 and self.max_leaf_nodes is None and not self.min_weight_fraction

    def limits(self, width: int, totals: Integers, *, moments: bool) -> Integers:
        """Return the limits as `search_columns` reads them, for rows with these sums."""
        weight = int(totals[0]) if moments else sum(totals.tolist())
        min_fraction = self.min_weight_fraction * (1.0 - _WEIGHT_SLACK)
        min_side = max(1, math.ceil(min_fraction * weight))
        criterion = MOMENTS if moments else CRITERIA[self.criterion]
        return np.array([criterion, width, min_side], np.int64)


@dataclass(frozen=True, eq=False)
class WeakTree:
    """A grown weak tree."""

    nodes: NDArray[np.void]  # NODE records, `value` still 0
    sums: Integers  # (nodes, channels), 0 in inner nodes

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return (len(self.nodes) + 1) // 2

    def apply(self, table: CodedTable, team: Team) -> LeafIds:
        """Return the node number of the leaf of every row of a coded table."""
        return find_leaf_ids(self.nodes, table.codes.by_column, team)


def find_leaf_ids(nodes: NDArray[np.void], codes: NDArray[Any], team: Team) -> LeafIds:
    """Return the node number of the leaf of every row, for codes (columns, rows)."""
    n_rows = codes.shape[1]
    if len(nodes) == 1:
        return np.zeros(n_rows, np.uint8)
    leaf_ids = np.empty(n_rows, np.uint8 if len(nodes) <= _FEW_NODES else np.int32)
    simple = len(nodes) == _STUMP_NODES and not nodes["split"]["categorical"][0]
    find = find_stump_sides if simple else descend
    team.over_rows(n_rows, lambda a, b: find(codes, nodes, a, b, leaf_ids))
    return leaf_ids


def total_sums(sample: Sample, n_channels: int) -> Integers:
    """Return the sums of all rows, (channels,)."""
    totals = np.zeros(n_channels, np.int64)
    if sample.second.size:
        totals[:] = sample.weight.sum(), sample.second.sum()
    else:
        class_sums(sample.classes, sample.weight, totals)
    return totals


def _empty_splits(n_columns: int, n_channels: int) -> tuple[NDArray[np.void], Integers]:
    """Return memory for the best split of every column, and the sums of its left side."""
    return np.empty(n_columns, SPLIT), np.empty((n_columns, n_channels), np.int64)


def search_slices(
    n_columns: int, n_channels: int, n_threads: int, team: Team, search: Callable[..., None]
) -> FoundSplit:
    """Call search(thread, first column, last, found, left) on threads of a team; return the best split."""
    found, left = _empty_splits(n_columns, n_channels)
    ends = [n_columns * thread // n_threads for thread in range(n_threads + 1)]

    def search_slice(thread: int) -> None:
        search(thread, ends[thread], ends[thread + 1], found, left)

    search_slice(0) if n_threads == 1 else team.together(search_slice, n_threads)
    best = int(np.argmax(found["gain"]))  # the first of equal ones
    return found[best].copy(), left[best].copy()  # views would keep those of all columns


class WeakGrower:
    """Grows weak trees on a coded table, of which only the codes by column are used, of one byte or two."""

    def __init__(self, table: CodedTable, rules: WeakRules, team: Team) -> None:
        self.table, self.rules, self.team, self.n_columns = table, rules, team, table.n_columns
        self.width = int(table.codes.n_bins.max()) + 2  # codes of a channel, missing, and one unused entry
        self._hist = np.empty((0, 0, 0), np.int64)
        self._work: tuple[NDArray[Any], ...] | None = None

    def grow_with_leaf_ids(self, sample: Sample, n_channels: int) -> tuple[WeakTree, LeafIds]:
        """Grow a tree on the rows with weight; return it and the leaves of all rows."""
        if self._threads_for(self.table.n_rows) == 1 and self.rules.is_stump:
            return self._stump(sample, n_channels)
        tree = self.grow(sample, total_sums(sample, n_channels))
        return tree, tree.apply(self.table, self.team)

    def _stump(self, sample: Sample, n_channels: int) -> tuple[WeakTree, LeafIds]:
        """Grow the stump that `grow` returns in one call of `grow_stump`."""
        table, n_columns = self.table, self.n_columns
        criterion = MOMENTS if sample.second.size else CRITERIA[self.rules.criterion]
        if self._work is None or self._work[3].shape[1] != n_channels:
            limits, hist = np.array([criterion, self.width, 1], np.int64), self._histograms(1, n_channels)[0]
            self._work = (limits, hist, *_empty_splits(n_columns, n_channels))
        self._work[0][0] = criterion
        nodes, sums = np.zeros(_STUMP_NODES, NODE), np.empty((_STUMP_NODES, n_channels), np.int64)
        leaf_ids = np.empty(table.n_rows, np.uint8)
        codes, n_bins, categorical = table.codes.by_column, table.codes.n_bins, table.codes.categorical
        n = grow_stump(codes, n_bins, categorical, sample, self._work, nodes, sums, leaf_ids)
        return WeakTree(nodes[:n], sums[:n]), leaf_ids

    def grow(self, sample: Sample, totals: Integers, rows: RowNumbers = _ALL_ROWS) -> WeakTree:
        """Grow a tree on the rows with weight, or on `rows` alone; `totals` (channels,) are their sums."""
        limits = self.rules.limits(self.width, totals, moments=bool(sample.second.size))
        codes = self.table.codes.by_column

        def partition(_number: int, rows: RowNumbers, found: FoundSplit) -> list[RowNumbers]:
            return partition_rows(codes, rows if len(rows) else rows_with_weight(sample), found[0])

        def search(_number: int, rows: RowNumbers, sums: Integers) -> FoundSplit:
            return self.search(sample, rows, sums, limits)

        return TreeBuilder(self.rules, search, partition).grow(totals, rows)

    def search(self, sample: Sample, rows: RowNumbers, totals: Integers, limits: Integers) -> FoundSplit:
        """Find the best split of a node."""
        codes, n_bins = self.table.codes.by_column, self.table.codes.n_bins
        categorical = self.table.codes.categorical
        n_threads = self._threads_for(len(rows) or self.table.n_rows)
        hist = self._histograms(n_threads, len(totals))

        def search(thread: int, a: int, b: int, found: NDArray[np.void], left: Integers) -> None:
            search_columns(
                codes[a:b], n_bins[a:b], categorical[a:b], sample, rows, totals, limits,
                hist[thread], found[a:b], left[a:b],
            )  # fmt: skip
            found["column"][a:b] += a

        return search_slices(self.n_columns, len(totals), n_threads, self.team, search)

    def _threads_for(self, n_rows: int) -> int:
        """Return the number of threads that pay off for this number of rows."""
        n_threads = n_rows * self.n_columns // _VALUES_PER_THREAD
        return max(1, min(self.team.n_threads, n_threads, self.n_columns))

    def _histograms(self, n_threads: int, n_channels: int) -> Integers:
        """Return scratch memory for every thread; wide histograms are filled one at a time."""
        at_once = COLUMNS_PER_BLOCK if self.width <= MAX_BINS + 2 else 1
        shape = (n_threads, at_once, n_channels * self.width)
        if self._hist.shape != shape:
            self._hist = np.empty(shape, np.int64)
        return self._hist


class TreeBuilder:
    """Builds one tree: the frontier is a heap of leaves by decreasing gain, then by number.

    search(number, rows, sums) finds the best split of a node. partition(number, rows, split) partitions its
    rows between its children, which have the next two numbers.
    """

    def __init__(self, rules: WeakRules, search: SearchNode, partition: PartitionNode) -> None:
        self.rules, self.search, self.partition = rules, search, partition
        self.open: list[tuple[float, int]] = []
        self.sums: list[Integers] = []
        self._nodes: list[tuple[int, int]] = []  # left child, depth
        self._splits: list[FoundSplit | None] = []
        self._rows: list[RowNumbers] = []

    def grow(self, totals: Integers, rows: RowNumbers) -> WeakTree:
        """Grow a tree on rows with these sums."""
        self._add(totals, rows, 0)
        n_leaves = 1
        while self.open and n_leaves < (self.rules.max_leaf_nodes or np.inf):
            self._split_best()
            n_leaves += 1
        return self._tree()

    def _add(self, totals: Integers, rows: RowNumbers, depth: int) -> None:
        number = len(self._nodes)
        self._nodes.append((0, depth))
        self.sums.append(totals)
        self._rows.append(rows)
        split = None
        if depth < (self.rules.max_depth or np.inf):
            split = self.search(number, rows, totals)
            if split[0]["gain"] > 0:
                heapq.heappush(self.open, (-float(split[0]["gain"]), number))
        self._splits.append(split)

    def _split_best(self) -> None:
        """Split the leaf of largest gain."""
        _, number = heapq.heappop(self.open)
        found = self._splits[number]
        assert found is not None  # noqa: S101 - only leaves with a split are open
        left, depth = found[1], self._nodes[number][1]
        children = [_ALL_ROWS, _ALL_ROWS]
        if depth + 1 < (self.rules.max_depth or np.inf):
            children = self.partition(number, self._rows[number], found)
        self._nodes[number] = (len(self._nodes), depth)
        self._rows[number] = _ALL_ROWS
        self._add(left, children[0], depth + 1)
        self._add(self.sums[number] - left, children[1], depth + 1)

    def _tree(self) -> WeakTree:
        nodes = np.zeros(len(self._nodes), NODE)
        nodes["left"], nodes["depth"] = zip(*self._nodes, strict=True)
        splits = nodes["split"]
        for number, found in enumerate(self._splits):
            if found is not None and self._nodes[number][0]:
                splits[number] = found[0]
        sums = np.array(self.sums)
        sums[nodes["left"] > 0] = 0
        return WeakTree(nodes, sums)


def rows_with_weight(sample: Sample) -> RowNumbers:
    """Return the rows of positive weight."""
    return np.flatnonzero(sample.weight).astype(np.uint32)


def partition_rows(codes: NDArray[Any], rows: RowNumbers, split: np.void) -> list[RowNumbers]:
    """Return the rows that go left and those that go right; codes are (columns, rows)."""
    goes_left = codes_left(split, codes[split["column"]][rows])
    return [rows[goes_left], rows[~goes_left]]


def codes_left(split: np.void, codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether each code of the column of the split goes left."""
    if split["categorical"]:
        bits = np.unpackbits(split["goes_left"].astype("<u8").view(np.uint8), bitorder="little")
        return bits[codes].astype(np.bool_)
    goes_left: NDArray[np.bool_] = codes <= split["threshold"]
    return np.where(codes == MISSING_CODE, bool(split["missing_left"]), goes_left)


class LocalWeakRows:
    """Codes of a table in memory, on which weak trees are grown; see `backends.base.WeakRows`."""

    def __init__(self, table: Table, bins: Bins, team: Team) -> None:
        self._codes, self._team = bins.encode(table, team, for_growing=False), team

    def make_grower(self, rules: WeakRules) -> WeakGrower:
        """Return a grower of trees on these rows."""
        return WeakGrower(self._codes, rules, self._team)

    def leaf_ids(self, tree: WeakTree) -> LeafIds:
        """Return the node number of the leaf of every row."""
        return tree.apply(self._codes, self._team)

    def scores(self, forest: Forest, n_outputs: int) -> Floats:
        """Sum the leaf values of the trees of a forest, (outputs, rows)."""
        scores = np.zeros((n_outputs, self._codes.n_rows))
        for tree, output in enumerate(forest.output):
            forest.add_coded_scores(self._codes, tree, scores[output], self._team)
        return scores

    def close(self) -> None:
        """Do nothing: the rows are in the memory of this process."""
