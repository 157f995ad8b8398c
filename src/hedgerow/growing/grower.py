"""Gradients as integers, and the tree grower for rows in memory, its options and the tree it returns.

Gradients and hessians are scaled by powers of two and rounded. Sixteen bits are enough if most rows are of
similar size. If most are a thousandth of the largest or less (a heavy-tailed target, very unequal weights),
the small ones would be rounded to 0, and about 40 bits are used instead. The choice depends on integer sums
only, which are the same in any order, so it does not depend on threads.

One compiled kernel, `hedgerow.kernels.cpu.grow`, grows a whole tree, best node first. All memory it needs is
allocated once per fit and reused for every tree.

    rows = [rows of leaf A | rows of leaf B | ...]   of a grown tree, from the leftmost leaf to the rightmost
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import ROW, Floats, Integers, RowNumbers
from hedgerow.binning import BinnedTable
from hedgerow.kernels.cpu.elementary import exp
from hedgerow.kernels.cpu.gradients import largest, pack, spread
from hedgerow.kernels.cpu.grow import convert_units, grow, leaves_in_order
from hedgerow.kernels.cpu.histogram import sum_statistics
from hedgerow.kernels.cpu.random import TREE_COLUMNS, choose_columns, draw_positions
from hedgerow.kernels.cpu.records import (
    NODE,
    SPLIT,
    Codes,
    Frontier,
    Histograms,
    Rules,
    Search,
    Statistics,
    Workspace,
)
from hedgerow.kernels.cpu.symmetric import grow_symmetric
from hedgerow.linear_terms import LinearTerms
from hedgerow.threads import Team

NOT_FINITE = "the loss returned a gradient or hessian that is not finite, or a hessian < 0"
_PACKED_BITS = 15  # |gradient| <= 2**15 and hessian <= 2**16: 2**15 rows fit into 32 bits each
_WIDE_BITS = 40
_SUM_BITS = 62  # of a wide sum
_MAX_COPIES = 2.0**46  # of all rows: times 2**16 steps, or 65,535 bins, that is below 2**63
_FINE_MEAN = 32  # minimum mean of gradients and hessians in packed steps, with at most 1024 per row
_MIN_PACKED_BLOCK_ROWS = 1024  # widening more often than this costs more than unpacked sums
_VALUES_PER_THREAD = 20_000  # rows x columns below which a second thread costs more than it saves
_POOL_BYTES = 128 << 20  # histograms of open nodes that are kept for subtraction; others are computed again
_NO_LIMIT = 1 << 40


# --- weights of rows, and gradients as integers


def is_whole(sample_weight: Floats) -> bool:
    """Return whether weights are integers that count copies of rows; very large ones are proportions.

    >>> is_whole(np.array([1.0, 3.0])), is_whole(np.array([1.0, 0.5])), is_whole(np.full(10, 2.0**40))
    (True, False, False)
    """
    is_small = sample_weight.max() < 2**31 and sample_weight.sum() < _MAX_COPIES
    return bool(is_small and np.all(sample_weight == np.floor(sample_weight)))


@dataclass(frozen=True, eq=False)
class Weights:
    """Sample weights: `copies` if all are integers, else `weight`; both are empty without weights."""

    weight: Floats
    copies: Integers
    rows: RowNumbers  # the rows that trees are grown on

    @classmethod
    def of(
        cls, sample_weight: Floats | None, n_rows: int, validation_rows: RowNumbers | None = None
    ) -> "Weights":
        """Read sample weights; rows of weight zero and validation rows are not trained on."""
        none, no_copies = np.empty(0), np.empty(0, np.int64)
        is_training = np.ones(n_rows, bool) if sample_weight is None else sample_weight > 0
        if validation_rows is not None:
            is_training[validation_rows] = False
        rows = np.flatnonzero(is_training).astype(np.uint32)
        if sample_weight is None or np.all(sample_weight == 1.0):
            return cls(none, no_copies, rows)
        if is_whole(sample_weight):
            return cls(none, sample_weight.astype(np.int64), rows)
        return cls(sample_weight, no_copies, rows)

    def draw(self, fraction: float, seed: int, iteration: int) -> RowNumbers:
        """Draw a fraction of `rows` for a round, in ascending order."""
        if fraction >= 1.0:
            return self.rows
        # among the rows with weight, not among all: a row of weight zero must have no influence
        return self.rows[draw_positions(len(self.rows), fraction, seed, iteration)]

    def row_counts(self, n_rows: int) -> Integers | None:
        """Return how often every row counts when bin edges are computed; None for once each."""
        if len(self.rows) == n_rows and not self.copies.size:
            return None
        counts = np.zeros(n_rows, np.int64)
        counts[self.rows] = self.copies[self.rows] if self.copies.size else 1
        return counts


def mask_weights(
    sample_weight: Floats | None, validation_rows: RowNumbers | None, n_rows: int
) -> Floats | None:
    """Return the weights of the training rows for the loss: those of validation rows are 0."""
    if validation_rows is None:
        return sample_weight
    weight = np.ones(n_rows) if sample_weight is None else sample_weight.copy()
    weight[validation_rows] = 0.0
    return weight


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Integer statistics of the rows, and their units."""

    statistics: Statistics
    gradient_unit: float
    hessian_unit: float
    smallest_hessian: int


class Quantiser:
    """Converts gradients to integer statistics, in arrays that are reused for every tree."""

    def __init__(self, weights: Weights, n_rows: int, team: Team) -> None:
        self.weights = weights
        self.n_rows = n_rows
        self.team = team
        self._packed = np.empty(n_rows, np.int64)
        self._wide = np.empty((0, 2), np.int64)
        copies = weights.copies
        self.n_copies = int(copies.sum()) if copies.size else len(weights.rows)
        self._packed_block_rows = packed_block_rows(copies)

    def quantise(self, gradient: Floats, hessian: Floats) -> RowStatistics:
        """Convert the gradients of one output; raise FloatingPointError if one is not finite."""
        over_rows, n_rows = self.team.over_rows, self.n_rows
        rows = gradient, hessian, self.weights.weight, self.weights.copies
        tops = over_rows(n_rows, partial(largest, *rows))
        largest_g, largest_h = max(top[0] for top in tops), max(top[1] for top in tops)
        if any(top[2] for top in tops):
            raise FloatingPointError(NOT_FINITE)
        g_bits, h_bits = packed_bits(largest_g, largest_h)
        sums = over_rows(n_rows, partial(pack, *rows, 2.0**g_bits, 2.0**h_bits, self._packed))
        steps = (sum(s[0] for s in sums), sum(s[1] for s in sums))
        wide = wide_bits((largest_g, largest_h), steps, self.n_copies, self._packed_block_rows)
        if wide is None:
            least = min(s[2] for s in sums)
            return self._statistics(self._packed, self._wide[:0], g_bits, h_bits, least)
        if not len(self._wide):
            self._wide = np.empty((n_rows, 2), np.int64)
        g_bits, h_bits = wide
        smallest = over_rows(n_rows, partial(spread, *rows, 2.0**g_bits, 2.0**h_bits, self._wide))
        return self._statistics(self._packed[:0], self._wide, g_bits, h_bits, min(smallest))

    def _statistics(
        self, packed: Integers, wide: Integers, g_bits: int, h_bits: int, least: int
    ) -> RowStatistics:
        statistics = Statistics(packed, wide, self.weights.copies, self._packed_block_rows)
        return RowStatistics(statistics, 2.0**-g_bits, 2.0**-h_bits, int(least))


def packed_block_rows(copies: Integers) -> int:
    """Return how many rows may be added packed before the sum must be widened."""
    return (1 << _PACKED_BITS) // max(1, int(copies.max(initial=1)))


def packed_bits(top_g: float, top_h: float) -> tuple[int, int]:
    """Return the powers of two that scale gradients and hessians up to these for packing."""
    return _scale_bits(top_g, _PACKED_BITS), _scale_bits(top_h, _PACKED_BITS + 1)


def wide_bits(
    tops: tuple[float, float], steps: tuple[int, int], n_copies: int, packed_block_rows: int
) -> tuple[int, int] | None:
    """Return the powers of two for unpacked statistics; None if packed ones are precise enough.

    tops, steps : the largest gradient and hessian, and the sums of their packed steps, as `pack` counts them.
    n_copies, packed_block_rows : copies of all rows, and the rows that may be added packed.
    """
    fine = all(
        top == 0 or step / max(1, n_copies) >= _FINE_MEAN for top, step in zip(tops, steps, strict=True)
    )
    if fine:
        return None if packed_block_rows >= _MIN_PACKED_BLOCK_ROWS else packed_bits(*tops)
    bits = min(_WIDE_BITS, _SUM_BITS - max(1, n_copies).bit_length())
    return _scale_bits(tops[0], bits), _scale_bits(tops[1], bits)


def _scale_bits(top: float, bits: int) -> int:
    """Return the power of two that scales `top` to just below 2**bits, within the range of float64."""
    return 0 if top == 0 else min(bits - math.frexp(top)[1], 1000)


# --- trees


@dataclass(frozen=True, eq=False)
class GrowthOptions:
    """Limits and penalties of tree growing; see `hedgerow.kernels.cpu.split` for the objective."""

    max_leaf_nodes: int | None = 31  # None for no limit
    max_depth: int | None = None  # of a leaf; None for no limit
    symmetric: bool = False  # all nodes of a depth have the same split; there must be a max_depth
    min_samples_leaf: int = 20  # rows of a leaf; an integer weight counts as that many rows
    min_child_weight: float = 1e-3  # sum of hessians of a leaf
    min_split_gain: float = 0.0
    l1_regularization: float = 0.0
    l2_regularization: float = 0.0
    categorical_smoothing: float = 10.0  # added to the hessian of a category when categories are compared
    columns_per_tree: float = 1.0  # the fraction that is drawn for a tree
    columns_per_node: float = 1.0  # the fraction of these that is drawn for a node
    # int8 (columns,) or empty: +1 increasing, -1 decreasing, 0 unconstrained
    monotonic: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, np.int8))
    # uint64 (columns, words) or empty: bit g of a column is set if it belongs to interaction group g
    groups: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    random_strength: float = 0.0  # of the noise that splits are chosen with, see `with_noise`
    learning_rate: float = 1.0  # which the noise decreases with
    n_outputs: int = 1  # trees of a round
    seed: int = 0  # of the drawn columns, and of the noise

    def max_leaves(self, n_rows: int) -> int:
        """Return an upper bound of the number of leaves of a tree on `n_rows` rows."""
        if self.symmetric:
            return 1 << (self.max_depth or 0)  # some are empty
        by_rows = max(1, n_rows)
        by_depth = 1 << min(self.max_depth, 40) if self.max_depth is not None else _NO_LIMIT
        return min(self.max_leaf_nodes or _NO_LIMIT, by_depth, by_rows)

    def columns_for(self, n_columns: int, tree: int) -> Integers:
        """Return the columns drawn for a tree, in ascending order."""
        columns = np.arange(n_columns)
        n_tree = count_of_fraction(self.columns_per_tree, n_columns)
        if n_tree < n_columns:
            choose_columns(columns, n_tree, self.seed, TREE_COLUMNS, tree)
            columns = np.sort(columns[:n_tree])
        return columns

    def for_columns(self, sources: Integers | None) -> "GrowthOptions":
        """Return the options for coded columns, if these are not those of the table; see `Bins.sources`."""
        if sources is None:
            return self
        monotonic = self.monotonic[sources] if self.monotonic.size else self.monotonic
        groups = self.groups[sources] if self.groups.size else self.groups
        return replace(self, monotonic=monotonic, groups=groups)

    def for_tree(self, statistics: RowStatistics, stored: Integers, tree: int) -> Rules:
        """Convert the options to units of the integer statistics, with the columns drawn for this tree.

        With g and h the units of gradients and hessians, the objective G v + H v**2 / 2 is in units of
        g**2 / h and leaf values are in units of g / h. stored : position of every column in the codes by row.
        """
        g, h = statistics.gradient_unit, statistics.hessian_unit
        columns, used = self.columns_for(len(stored), tree), np.arange(int(stored.max()) + 1)
        if len(columns) < len(stored):
            used = np.unique(stored[columns])
        by_rows = float(self.min_samples_leaf * statistics.smallest_hessian)
        floor = max(1.0, math.ceil(min(self.min_child_weight / h, 2.0**61)), by_rows)
        return Rules(
            columns=columns,
            stored=used,
            columns_per_node=count_of_fraction(self.columns_per_node, len(columns)),
            max_leaves=self.max_leaf_nodes or _NO_LIMIT,
            max_depth=_NO_LIMIT if self.max_depth is None else self.max_depth,
            min_count=self.min_samples_leaf,
            min_hessian=int(min(floor, 2.0**61)),
            min_gain=self.min_split_gain * h / g / g,
            l1=self.l1_regularization / g,
            l2=self.l2_regularization / h,
            smoothing=self.categorical_smoothing / h,
            noise=0.0,
            monotonic=self.monotonic,
            groups=self.groups,
            seed=self.seed,
            tree=tree,
        )

    def with_noise(self, rules: Rules, sums: tuple[int, int, int]) -> Rules:
        """Set the standard deviation of the noise, in units of the root of a gain.

        sums : of |gradient| and hessian over the rows of the tree, and their number n. After t rounds it is

            random_strength * sum |g| / sqrt(n * sum h) * m / (1 + m),   m = n * exp(-learning_rate * t)

        The first fraction is about what a split of noise gains: the root of the gain of a random split is the
        absolute value of a normal number times the standard deviation of gradients over sqrt(mean h).
        """
        gradient, hessian, n = sums
        if gradient == 0 or hessian == 0:
            return rules
        decayed = n * exp(-self.learning_rate * (rules.tree // self.n_outputs))
        scale = gradient / (math.sqrt(n) * math.sqrt(hessian))
        return rules._replace(noise=self.random_strength * scale * (decayed / (1.0 + decayed)))


def count_of_fraction(fraction: float, count: int) -> int:
    """Return a fraction of a count, rounded up, at least 1.

    >>> count_of_fraction(0.5, 7), count_of_fraction(0.01, 7)
    (4, 1)
    """
    return max(1, min(count, math.ceil(fraction * count)))


@dataclass(eq=False)
class GrownTree:
    """Node records with values and gains in the units of the loss, and the rows grouped by leaf.

    `leaves` are the node numbers of the leaves from left to right; the rows of leaf l are
    rows[starts[l]:starts[l + 1]]. `value_nodes` (nodes,) are the nodes whose rows give each node its value:
    in a symmetric tree a node of too few rows has the value of one above it. None if each has its own.
    `terms` are the linear functions of the leaves, in the order of the nodes; None for constant leaves.
    """

    nodes: NDArray[np.void]
    leaves: Integers
    rows: RowNumbers
    starts: Integers
    value_nodes: Integers | None = None
    terms: LinearTerms | None = None

    @classmethod
    def of(
        cls, nodes: NDArray[np.void], rows: RowNumbers, gradient_unit: float, hessian_unit: float
    ) -> "GrownTree":
        """Copy the records of the grower and convert them from the units of the integer statistics."""
        nodes = nodes.copy()
        convert_units(nodes, gradient_unit, hessian_unit)
        leaves = np.empty((len(nodes) + 1) // 2, np.int64)
        starts = np.empty(len(leaves) + 1, np.int64)
        leaves_in_order(nodes, leaves, starts)
        return cls(nodes, leaves, rows, starts)

    def set_value_nodes(self, rules: Rules) -> None:
        """Set `value_nodes` of a symmetric tree."""
        is_large = (self.nodes["count"] >= rules.min_count) & (self.nodes["hessian"] >= rules.min_hessian)
        value_nodes = np.arange(len(self.nodes))
        for number in np.flatnonzero(~is_large[1:]).tolist():  # parents come first
            value_nodes[number + 1] = value_nodes[number // 2]
        self.value_nodes = value_nodes

    @property
    def values(self) -> Floats:
        """Return the values of the leaves from left to right."""
        values: Floats = self.nodes["value"][self.leaves]
        return values


class TreeGrower:
    """Grows trees on a binned table in memory, with the threads of a team; small tables use one."""

    def __init__(self, table: BinnedTable, options: GrowthOptions, team: Team) -> None:
        if len(table.codes.by_row) != table.n_rows:
            raise ValueError("the table must be encoded by row for growing; use encode(for_growing=True)")
        self.table, self.options, self.team = table, options, team
        n_values = table.n_rows * table.n_columns
        self.n_threads = max(1, min(team.n_threads, n_values // _VALUES_PER_THREAD))
        n_leaves = options.max_leaves(table.n_rows)
        self._work = make_workspace(
            table.codes, n_leaves, options.groups.shape[1], self.n_threads, is_complete=options.symmetric
        )
        self._nodes = make_nodes(n_leaves)

    def grow(self, statistics: RowStatistics, rows: RowNumbers, tree: int) -> GrownTree:
        """Grow tree number `tree` on some rows; the rows of the result are valid until the next tree."""
        n, n_threads, team = len(rows), self.n_threads, self.team
        work, nodes, codes = self._work, self._nodes, self.table.codes
        work.rows[:n] = rows
        rules = self.options.for_tree(statistics, self.table.stored, tree)
        integers, units = statistics.statistics, (statistics.gradient_unit, statistics.hessian_unit)
        if self.options.random_strength:
            rules = self.options.with_noise(rules, self._sums(integers, n))
        kernel = grow_symmetric if self.options.symmetric else grow
        n_nodes = team.together(
            lambda thread: kernel(codes, integers, rules, nodes, work, team.sync, n, thread, n_threads),
            n_threads,
        )
        grown = GrownTree.of(nodes[:n_nodes], work.rows[:n], *units)
        if self.options.symmetric:
            grown.set_value_nodes(rules)
        return grown

    def _sums(self, statistics: Statistics, n: int) -> tuple[int, int, int]:
        """Return the sums of `sum_statistics` over the rows of the tree."""
        block_sums = self.team.over_rows(n, partial(sum_statistics, statistics, self._work.rows))
        gradient, hessian, count = (sum(values) for values in zip(*block_sums, strict=True))
        return gradient, hessian, count


def slots_for(n_leaves: int, entries: int, *, is_complete: bool = False) -> int:
    """Return how many histograms of open nodes are kept; for a complete tree those of a whole level."""
    if is_complete:
        return max(1, n_leaves // 2)
    return int(max(2, min(n_leaves, _POOL_BYTES // (16 * entries))))


def make_workspace(
    codes: Codes, n_leaves: int, group_words: int, n_threads: int, *, is_complete: bool = False
) -> Workspace:
    """Allocate the arrays for trees of at most `n_leaves` leaves on the rows of `codes`."""
    n_rows, n_columns = codes.by_column.shape[1], len(codes.n_bins)
    entries, stored_entries = int(codes.offsets[-1]), int(codes.stored_offsets[-1])
    longest = int(codes.n_bins.max()) + 1
    n_nodes = 2 * n_leaves + 1
    n_slots = slots_for(n_leaves, entries, is_complete=is_complete)
    frontier = Frontier(
        heap=np.empty(n_nodes, np.int64),
        priority=np.empty(n_nodes),
        slots=np.empty(n_slots, np.int64),
        control=np.zeros(16, np.int64),
        groups=np.zeros((n_nodes if group_words else 1, group_words), np.uint64),
        found=np.zeros((2, n_columns), SPLIT),
        allowed=np.zeros((2, n_columns), np.uint8),
        chosen=np.empty(n_columns, np.int64),
    )
    histograms = Histograms(
        pool=np.empty((n_slots + 2, 2, entries), np.int64),
        packed=np.empty((n_threads, stored_entries), np.int64),
        partial=np.empty((n_threads, 2, stored_entries), np.int64),
        counts=np.empty(entries, np.int64),
        used=np.zeros(n_threads, np.int64),
    )
    search = Search(
        sums=np.empty((n_threads, 3, longest), np.int64),
        gains=np.empty((n_threads, longest)),
        order=np.empty((n_threads, longest), np.int64),
    )
    rows, buffer = np.empty(n_rows, ROW), np.empty((2, n_rows), ROW)
    return Workspace(rows, buffer, np.zeros((2, n_threads), np.int64), frontier, histograms, search)


def make_nodes(n_leaves: int) -> NDArray[np.void]:
    """Allocate node records for a tree of at most `n_leaves` leaves."""
    return np.zeros(2 * n_leaves + 1, NODE)
