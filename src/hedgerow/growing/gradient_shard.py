"""A shard of the rows of a gradient boosting fit: codes by row, targets, scores, statistics.

    codes    uint8 (rows, stride)     no bundled columns; also by column if memory allows, which is faster.
                                      Values of numeric columns, of linear leaves, are behind the codes
    y        float64 or uint8 (rows,) uint8 for the numbers of classes
    raw      float64 (outputs, rows)  scores of the ensemble so far
    packed   int64 (outputs, rows)    statistics of this round
    rows     uint32                   the rows of the tree that is grown, grouped by node in runs

Gradients are not stored: they are computed for 16,384 rows at a time and packed immediately. The state of a
shard follows from its codes, its slices of the row arrays and the model so far, so that a lost shard can be
created again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import CODE, Floats, Integers, RowNumbers
from hedgerow.binning import Bins
from hedgerow.forest import Forest
from hedgerow.growing.grower import packed_block_rows
from hedgerow.growing.row_layout import RowLayout
from hedgerow.growing.shard_values import ShardValues
from hedgerow.growing.shards import Sums
from hedgerow.kernels.cpu.advance import LEFT, NEITHER, RIGHT, advance_run, count_codes, find_nodes, sum_run
from hedgerow.kernels.cpu.forest import add_coded
from hedgerow.kernels.cpu.gradients import add_leaf_values, largest, pack, pair_sum, spread
from hedgerow.kernels.cpu.histogram import sum_statistics
from hedgerow.kernels.cpu.linear_shards import LeafRuns, TreeColumns
from hedgerow.kernels.cpu.random import ROW_SAMPLE, sample_rows
from hedgerow.kernels.cpu.records import SPLIT, Codes, Statistics
from hedgerow.linear_terms import LinearTerms
from hedgerow.losses import Loss

TRAINING, EVALUATED = 1, 2  # roles of rows; others have none
_ROWS_PER_BLOCK = 16_384
_POOL_BYTES = 4 << 20  # of sums that are used again for every tree
RowFactors = Callable[[int, int, int], Floats]  # of a round and a range of positions among the training rows
_NO_WEIGHT, _NO_COPIES = np.empty(0), np.empty(0, np.int64)


def codes_by_row(bins: Bins, by_row: NDArray[Any], *, by_column: bool = False) -> Codes:
    """Return codes (rows, stride) for the kernels, every column stored alone; `by_column` adds a copy."""
    alone = np.full(bins.n_columns, -1, np.int64)
    columns = np.empty((bins.n_columns, len(by_row) if by_column else 0), CODE)
    if by_column:
        for a in range(
            0, len(by_row), _ROWS_PER_BLOCK
        ):  # these rows stay in the cache while they are transposed
            columns[:, a : a + _ROWS_PER_BLOCK] = by_row[a : a + _ROWS_PER_BLOCK, : bins.n_columns].T
    offsets = bins.offsets
    return Codes(by_row, columns, offsets, bins.n_bins, bins.categorical, offsets, offsets[:-1].copy(), alone)


@dataclass(frozen=True, eq=False)
class GradientShardFactory:
    """Creates shards.

    Row arrays are y and, if any, weight (float64), copies (int64), role (uint8) and codes (uint8), which
    replace those of the columns `replaced`.
    """

    by_row: ClassVar[bool] = True
    bins: Bins
    loss: Loss
    seed: int = 0  # of the rows that are drawn for a tree
    subsample: float = 1.0  # their fraction
    low_memory: bool = False  # codes are stored once, by row, instead of twice
    replaced: tuple[int, ...] = ()
    row_factors: RowFactors | None = None  # what gradients are multiplied by; None for 1
    layout: RowLayout | None = None  # of codes and values, if leaves are linear

    @property
    def row_bytes(self) -> int:
        """Scores and statistics of all outputs, two row numbers, and codes by column."""
        return 16 * self.loss.n_outputs + 8 + (0 if self.low_memory else self.bins.n_columns)

    def __call__(
        self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int
    ) -> "GradientShard":
        """Create the shard of some rows."""
        return GradientShard(self, codes, row_arrays)


class GradientShard:
    """Training rows, or rows of an evaluation set; see the module."""

    def __init__(
        self, factory: GradientShardFactory, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]]
    ) -> None:
        self.loss, self.seed, self.subsample = factory.loss, factory.seed, factory.subsample
        self._row_factors = factory.row_factors
        if factory.replaced:
            codes[:, list(factory.replaced)] = row_arrays["codes"]
        self.codes = codes_by_row(factory.bins, codes, by_column=not factory.low_memory)
        self._values = None if factory.layout is None else ShardValues(factory.layout, codes)
        self.n_rows, self.y = len(codes), row_arrays["y"]
        self.weight = row_arrays.get("weight", _NO_WEIGHT)
        self.copies = row_arrays.get("copies", _NO_COPIES)
        role = row_arrays.get("role")
        no_rows = np.empty(0, np.uint32)
        self._training = None if role is None else np.flatnonzero(role == TRAINING).astype(np.uint32)
        self.evaluated = no_rows if role is None else np.flatnonzero(role == EVALUATED).astype(np.uint32)
        self.raw = np.empty((0, self.n_rows))
        self.packed = np.empty((0, 0), np.int64)
        self.wide: dict[int, Integers] = {}
        self._before = self._iteration = 0
        self._drawn: RowNumbers | None = None  # the rows of the tree, if the caller draws them
        self._rows, self._buffer = np.empty(0, np.uint32), np.empty(0, np.uint32)
        self._runs: dict[int, tuple[int, int]] = {}
        self._statistics = Statistics(self.packed.reshape(-1), np.empty((0, 2), np.int64), self.copies, 1)
        self._stored = np.empty(0, np.int64)
        self._scratch = np.zeros(int(self.codes.offsets[-1]), np.int64)
        self._no_histogram = np.empty((2, 0), np.int64)
        # Histograms of one tree. Allocating them for each call would take longer than computing them if freed
        # memory is returned to the system at once, as on Dask workers.
        self._pool = np.empty(
            (max(1, _POOL_BYTES // (16 * len(self._scratch))), 2, len(self._scratch)), np.int64
        )
        self._n_used = 0

    @property
    def training(self) -> RowNumbers:
        """The training rows; not stored if these are all, as that would take four bytes per row."""
        return np.arange(self.n_rows, dtype=np.uint32) if self._training is None else self._training

    # --- scores

    def restore_scores(self, start: Floats, forest: Forest, n_before: int) -> tuple[None, Sums]:
        """Set the scores to those of a model. n_before : training rows of the shards before this one."""
        self.raw = np.repeat(start[:, np.newaxis], self.n_rows, axis=1)
        self._before, self._runs = n_before, {}
        n_columns, outputs = len(self.codes.n_bins), forest.output.tolist()
        for a in range(0, self.n_rows if outputs else 0, _ROWS_PER_BLOCK):
            b = min(a + _ROWS_PER_BLOCK, self.n_rows)
            by_column = np.ascontiguousarray(self.codes.by_row[a:b, :n_columns].T)
            if self._values is not None:
                self._values.add_forest(forest, by_column, a, self.raw[:, a:b])
                continue
            for tree, output in enumerate(outputs):
                add_coded(by_column, forest.trees, tree, 0, b - a, self.raw[output, a:b])
        return None, ()

    def add_tree(self, output: int, nodes: NDArray[np.void], terms: LinearTerms | None) -> tuple[None, Sums]:
        """Add a tree to the scores of the evaluated rows; `terms` are None if its leaves are constant."""
        self._add_by_traversal(self.evaluated, self.raw[output], nodes, terms)
        return None, ()

    def add_leaf_values(
        self,
        output: int,
        leaves: Integers,
        values: Floats,
        nodes: NDArray[np.void],
        terms: LinearTerms | None,
    ) -> tuple[None, Sums]:
        """Add the last tree: leaf by leaf if it has values and was grown on all rows, else by traversal."""
        if self.subsample < 1.0 or terms is not None:
            self._add_by_traversal(self.training, self.raw[output], nodes, terms)
        else:
            runs = np.array([self._runs[leaf] for leaf in leaves.tolist()], np.int64)
            order = np.lexsort((runs[:, 1], runs[:, 0]))  # an empty run starts where another does
            starts = np.append(runs[order, 0], runs[order[-1], 1])
            rows = self._rows[: starts[-1]]
            add_leaf_values(self.raw[output], rows, starts, values[order], 0, len(rows))
        return self.add_tree(output, nodes, terms)

    def _add_by_traversal(
        self, rows: RowNumbers, raw: Floats, nodes: NDArray[np.void], terms: LinearTerms | None
    ) -> None:
        if len(rows):
            leaf_ids = np.empty(len(rows), np.int32)
            find_nodes(self.codes.by_row, nodes, rows, leaf_ids)
            if self._values is None or terms is None:
                raw[rows] += nodes["value"][leaf_ids]
            else:
                self._values.add_tree(nodes, terms, rows, leaf_ids, raw)

    def linear_scores(self, nodes: NDArray[np.void], terms: LinearTerms) -> tuple[Floats, Sums]:
        """Return the functions of the leaves of a tree at every row."""
        scores = np.full(self.n_rows, -0.0)  # what any number is added to without change
        self._add_by_traversal(np.arange(self.n_rows, dtype=np.uint32), scores, nodes, terms)
        return scores, ()

    def leaf_ids(self, nodes: NDArray[np.void]) -> tuple[NDArray[Any], Sums]:
        """Return the leaf of every row."""
        leaf_ids = np.empty(self.n_rows, np.uint8 if len(nodes) <= 256 else np.int32)
        find_nodes(self.codes.by_row, nodes, np.arange(self.n_rows, dtype=np.uint32), leaf_ids)
        return leaf_ids, ()

    def pop_scores(self) -> tuple[Floats, Sums]:
        """Return the scores of all rows, (outputs, rows), and release them."""
        raw, self.raw = self.raw, self.raw[:0]
        return raw, ()

    def loss_sums(self, loss: Loss, role: int) -> tuple[list[float], Sums]:
        """Return numbers whose exact sum is the weighted sum of the losses of the rows with a role."""
        rows = self.training if role == TRAINING else self.evaluated
        sums: list[float] = []
        for a in range(0, len(rows), _ROWS_PER_BLOCK):
            own = rows[a : a + _ROWS_PER_BLOCK]
            raw = np.ascontiguousarray(self.raw[:, own])
            losses = loss.row_losses(self.y[own].astype(np.float64), raw, 0, len(own))
            weight = _NO_WEIGHT
            if self.weight.size or self.copies.size:
                weight = (self.weight if self.weight.size else self.copies)[own].astype(np.float64)
            sums += pair_sum(losses, weight)
        return sums, ()

    # --- statistics

    def pack_statistics(self, bits: Integers) -> tuple[tuple[Floats, int, Integers], Sums]:
        """Compute and pack the statistics with guessed powers of two.

        bits : int64 (outputs, 2), the powers. Returns the largest gradient and hessian (outputs, 2), how many
        are not finite, and the counts of `pack` (outputs, 3), which are valid if the guess was right.
        """
        n_outputs = len(self.raw)
        if self.packed.shape != (n_outputs, self.n_rows):
            self.packed = np.empty((n_outputs, self.n_rows), np.int64)
        tops, bad, steps = np.zeros((n_outputs, 2)), 0, np.zeros((n_outputs, 3), np.int64)
        steps[:, 2] = 1 << 62
        for a, gradient, hessian, weight, copies in self._gradients():
            b = a + gradient.shape[1]
            for k in range(n_outputs):
                own = (gradient[k], hessian[k], weight, copies)
                top_g, top_h, n_bad = largest(*own, 0, b - a)
                bad += n_bad
                tops[k] = max(tops[k, 0], top_g), max(tops[k, 1], top_h)
                g_scale, h_scale = 2.0 ** float(bits[k, 0]), 2.0 ** float(bits[k, 1])
                packed_sums = pack(*own, g_scale, h_scale, self.packed[k, a:b], 0, b - a)
                steps[k, :2] += packed_sums[:2]
                steps[k, 2] = min(steps[k, 2], packed_sums[2])
        return (tops, bad, steps), ()

    def widen_statistics(self, output: int, g_bits: int, h_bits: int) -> tuple[int, Sums]:
        """Compute the statistics of an output without packing; return the smallest hessian."""
        wide, least = np.empty((self.n_rows, 2), np.int64), 1 << 62
        for a, gradient, hessian, weight, copies in self._gradients():
            b = a + gradient.shape[1]
            scales = 2.0 ** float(g_bits), 2.0 ** float(h_bits)
            smallest = spread(gradient[output], hessian[output], weight, copies, *scales, wide[a:b], 0, b - a)
            least = min(least, int(smallest))
        self.wide[output] = wide
        return least, ()

    def _gradients(self) -> Any:
        """Yield gradients and hessians (outputs, some rows), weights and copies of some rows at a time."""
        n_outputs = len(self.raw)
        gradient, hessian = np.empty((n_outputs, _ROWS_PER_BLOCK)), np.empty((n_outputs, _ROWS_PER_BLOCK))
        y = np.empty(_ROWS_PER_BLOCK)
        for a in range(0, self.n_rows, _ROWS_PER_BLOCK):
            b = min(a + _ROWS_PER_BLOCK, self.n_rows)
            if b - a < gradient.shape[1]:
                gradient, hessian = np.empty((n_outputs, b - a)), np.empty((n_outputs, b - a))
            y[: b - a] = self.y[a:b]
            raw = np.ascontiguousarray(self.raw[:, a:b])
            self.loss.fill(y[: b - a], raw, gradient, hessian, 0, b - a)
            if self._row_factors is not None:
                factors = self._factors(a, b)
                gradient *= factors
                hessian *= factors
            yield a, gradient, hessian, self.weight[a:b], self.copies[a:b]

    def _factors(self, start: int, stop: int) -> Floats:
        """Return what the gradients of some rows are multiplied by in this round; 1 for rows of no tree."""
        assert self._row_factors is not None  # noqa: S101 - the caller has checked it
        if self._training is None:
            return self._row_factors(self._iteration, self._before + start, self._before + stop)
        a, b = np.searchsorted(self._training, [start, stop]).tolist()
        factors = np.ones(stop - start)
        chosen = self._training[a:b] - np.uint32(start)
        factors[chosen] = self._row_factors(self._iteration, self._before + a, self._before + b)
        return factors

    def start_round(
        self, last_tree: tuple[Any, ...] | None, bits: Integers, iteration: int, columns: Integers
    ) -> tuple[tuple[Floats, int, Integers], Sums]:
        """Add the values of the last tree, pack the statistics and start the first tree, in one call."""
        if last_tree is not None:
            self.add_leaf_values(*last_tree)
        self.wide, self._iteration = {}, iteration
        packed, _ = self.pack_statistics(bits)
        return packed, self.start_tree(0, iteration, columns)[1]

    def set_statistics(self, packed: Integers, wide: Integers, drawn: RowNumbers | None) -> tuple[None, Sums]:
        """Set the statistics of one output, computed by the caller; one of the two is empty.

        drawn : the rows of the tree; None if the shards draw them themselves.
        """
        self.packed = packed.reshape(1, -1)
        self.wide = {0: wide} if len(wide) else {}
        self._drawn = drawn
        return None, ()

    # --- a tree

    def start_tree(
        self, output: int, iteration: int, columns: Integers, first_only: int = 0
    ) -> tuple[None, Sums]:
        """Start a tree; return the histogram of all its rows, and the number of rows and copies."""
        n = self._put_rows(iteration, first_only=bool(first_only))
        wide = self.wide.get(output)
        packed = self.packed[output] if wide is None else self.packed[0, :0]
        wide = np.empty((0, 2), np.int64) if wide is None else wide
        self._statistics = Statistics(packed, wide, self.copies, packed_block_rows(self.copies))
        self._stored, self._runs, self._n_used = columns, {0: (0, n)}, 0
        n_copies = int(self.copies[self._rows[:n]].sum()) if self.copies.size else n
        return None, (self._histogram(0), np.array([n, n_copies]))

    def sum_statistics(self) -> tuple[None, Sums]:
        """Return the sums of |gradient| and hessian over the rows of the tree, and their number."""
        start, stop = self._runs[0]
        return None, (np.array(sum_statistics(self._statistics, self._rows, start, stop)),)

    def _put_rows(self, iteration: int, *, first_only: bool) -> int:
        """Write the rows of the tree of a round into the row array; return their number."""
        all_rows = self._training is None and self.subsample >= 1.0 and not first_only and self._drawn is None
        rows = self.evaluated[:0] if all_rows else self._draw(iteration, first_only=first_only)
        n = self.n_rows if all_rows else len(rows)
        if len(self._rows) < n:
            self._rows, self._buffer = np.empty(n, np.uint32), np.empty(n, np.uint32)
        if all_rows:
            for a in range(
                0, n, _ROWS_PER_BLOCK
            ):  # in blocks: all at once would take another array of this size
                self._rows[a : a + _ROWS_PER_BLOCK] = np.arange(
                    a, min(a + _ROWS_PER_BLOCK, n), dtype=np.uint32
                )
        else:
            self._rows[:n] = rows
        return n

    def _draw(self, iteration: int, *, first_only: bool) -> RowNumbers:
        """Draw the rows of the tree of a round; `first_only` if no row of any shard was drawn."""
        if self._drawn is not None:
            return self._drawn
        rows, begin = self.training, self._before
        if first_only:
            return rows[: 1 if begin == 0 else 0]
        if self.subsample >= 1.0:
            return rows
        positions = np.empty(len(rows), np.uint32)
        end = begin + len(rows)
        n = int(sample_rows(self.subsample, self.seed, ROW_SAMPLE, iteration, begin, end, positions))
        drawn: RowNumbers = rows[positions[:n] - np.uint32(begin)]
        return drawn

    def _histogram(self, node: int) -> Integers:
        out = np.empty((2, len(self._scratch)), np.int64)
        start, stop = self._runs[node]
        sum_run(self.codes, self._statistics, self._rows, start, stop, self._stored, self._scratch, out)
        return out

    def histogram(self, node: int) -> tuple[None, Sums]:
        """Return the histogram of a node."""
        return None, (self._histogram(node),)

    def split_nodes(
        self, identifiers: Integers, splits: NDArray[np.void], sides: Integers
    ) -> tuple[None, Sums]:
        """Partition the rows of nodes; return the rows and copies that went left, and histograms.

        identifiers : (nodes, 2), of the node and of its left child; that of the right child is the next.
        sides : (nodes, 2), whether the histograms of the left and of the right child are returned.
        """
        splits = splits.view(SPLIT)  # records that came over a network have an equal dtype, not the same one
        counts = np.empty((len(identifiers), 2), np.int64)
        n_histograms, position = int(sides.sum()), 0
        out = self._pool[self._n_used : self._n_used + n_histograms]
        self._n_used += n_histograms
        if len(out) < n_histograms:
            out = np.empty((n_histograms, *out.shape[1:]), np.int64)
        for i, ((node, left), (of_left, of_right)) in enumerate(
            zip(identifiers.tolist(), sides.tolist(), strict=True)
        ):
            start, stop = self._runs[node]
            side = LEFT if of_left else RIGHT if of_right else NEITHER
            counts[i] = advance_run(
                self.codes, self._statistics, splits[i], side, self._rows, self._buffer,
                np.array([start, stop]), self._stored, self._scratch,
                self._no_histogram if side == NEITHER else out[position],
            )  # fmt: skip
            middle = start + int(counts[i, 0])
            self._runs[left], self._runs[left + 1] = (start, middle), (middle, stop)
            position += side != NEITHER
            if of_left and of_right:
                out[position] = self._histogram(left + 1)
                position += 1
        return None, (counts, out)

    def bin_counts(self, node: int) -> tuple[None, Sums]:
        """Count the copies of the rows of a node by column and code, (entries,)."""
        out = np.zeros(len(self._scratch), np.int64)
        count_codes(self.codes, self._stored, self._rows, *self._runs[node], self.copies, out)
        return None, (out,)

    # --- linear leaves

    def linear_ranges(self, identifiers: Integers, columns: TreeColumns) -> tuple[Any, Sums]:
        """Return the ranges of columns in the leaves of these identifiers; see `ShardValues`."""
        assert self._values is not None  # noqa: S101 - leaves are linear
        return self._values.ranges(self._leaf_runs(identifiers), columns), ()

    def linear_sums(self, identifiers: Integers, columns: TreeColumns, n_sums: int) -> tuple[None, Sums]:
        """Return sums of the leaves of these identifiers; see `ShardValues`."""
        assert self._values is not None  # noqa: S101 - leaves are linear
        runs = self._leaf_runs(identifiers)
        return None, (self._values.sums(runs, columns, self._statistics, n_sums),)

    def _leaf_runs(self, identifiers: Integers) -> LeafRuns:
        ends = np.array([self._runs[leaf] for leaf in identifiers.tolist()], np.int64)
        return LeafRuns(self._rows, ends[:, 0].copy(), ends[:, 1].copy())
