"""Binning: a table of values becomes a table of codes of one byte, or of two.

`Bins` holds the edges of every numeric column and the code of every category. A `BinnedTable` holds the codes
twice: by row, padded and aligned, for histograms, and by column for partitions. Code 0 is missing or unknown;
code k of a numeric column holds the values x with edges[k - 2] < x <= edges[k - 1]. Edges are quantiles
of the rows, or defined by the user.

Columns that never differ from their usual code in the same row share one stored column of the layout by row
(exclusive feature bundling, Ke et al. 2017, without conflicts). One-hot and other sparse columns mostly hold
one code, the usual one. If two of them never differ from it in the same row, one byte per row can hold both:
0 for "both usual", then the other codes of the first, then those of the second. Histograms add one entry per
row instead of two; the sum of the usual code of a column is the total of the node less the others. Sums are
integers, so the trees are exactly those without bundling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import (
    CODE,
    MAX_BINS,
    MAX_ROWS,
    WIDE_CODE,
    AnyFloats,
    Floats,
    Integers,
    Keys,
    RowNumbers,
)
from hedgerow.kernels.cpu.binning import add_keys, cut_positions, encode, middles, store_rows
from hedgerow.kernels.cpu.forest import MAX_COLUMNS
from hedgerow.kernels.cpu.random import EDGE_SAMPLE, sample_rows
from hedgerow.kernels.cpu.records import Codes
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import value_bits
from hedgerow.threads import PickledWithoutCache, Team, cached_property, rows_per_block

EDGE_SAMPLE_ROWS = 200_000  # with all rows, edges differ by less than the width of a bin
_VALUES_PER_BLOCK = 100_000  # sampled values that a thread holds while it computes edges, or one column
_FEW_VALUES = 100_000  # below this a second thread does not pay off
_LINE = 64  # bytes of a cache line
_USUAL_FRACTION = 0.5  # of sampled rows: columns whose most frequent code is rarer are stored alone
_USUAL_SAMPLE = 8192  # rows that are read to find the usual codes
_MAX_CODES = 255  # of a shared column beside "all usual"
_MAX_TRIED = 16  # bundles that a column is compared with
MIN_CATEGORY_FREQUENCY = 10  # rows of a category with a code of its own, see `_category_codes`
_FEW_CATEGORIES = 32  # columns of no more categories keep all of them

UserEdges = Sequence[Floats | None]  # for every column strictly rising edges, or None for quantiles


@dataclass(frozen=True, eq=False)
class Bins(PickledWithoutCache):
    """The bins of every column of a table."""

    edges: Floats  # those of column f are edges[edge_starts[f]:edge_starts[f + 1]], rising
    edge_starts: Integers
    tables: NDArray[np.uint8]  # the code of category c of column f is tables[table_starts[f] + c]
    table_starts: Integers  # a numeric column has no codes of categories
    # the column of the table that a column codes; None if they are the same. A column that is coded by target
    # statistics of several classes is repeated: see hedgerow.backends.target_statistics
    sources: Integers | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.edge_starts) - 1

    def positions_of(self, column: int) -> list[int]:
        """Return which columns code a column of the table; one unless it is repeated."""
        if self.sources is None:
            return [column]
        positions: list[int] = np.flatnonzero(self.sources == column).tolist()
        return positions

    def select(self, block: AnyFloats) -> AnyFloats:
        """Return the columns of a block of table rows that are coded; a view if these are all."""
        return block if self.sources is None else np.ascontiguousarray(block[:, self.sources])

    @cached_property
    def user_defined(self) -> NDArray[np.uint8]:
        """1 for every column with edges of the user, 0 for quantiles and categorical columns.

        Not a field, because codes do not depend on it.
        """
        return np.zeros(self.n_columns, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"user_defined": self.user_defined}  # it cannot be computed again

    def with_user_defined(self, user_defined: NDArray[np.uint8]) -> "Bins":
        """Return the same bins with another `user_defined`."""
        bins = replace(self)
        vars(bins)["user_defined"] = user_defined  # the value of the cached property
        return bins

    def edges_of(self, column: int) -> Floats:
        """Return the edges of one column."""
        return self.edges[self.edge_starts[column] : self.edge_starts[column + 1]]

    def checked_for_warm_start(self, user_edges: UserEdges | None) -> "Bins":
        """Return these bins; raise an error if the edges of the user have changed."""
        for column, edges in enumerate(user_edges or [None] * self.n_columns):
            same = bool(self.user_defined[column]) == (edges is not None)
            if not same or (edges is not None and not np.array_equal(edges, self.edges_of(column))):
                raise ValueError(
                    f"bin_edges of column {column} must be those of the fitted model with warm_start=True; "
                    "set warm_start=False to fit from the start"
                )
        return self

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        """1 for every categorical column."""
        return (np.diff(self.table_starts) > 0).astype(np.uint8)

    @cached_property
    def n_bins(self) -> Integers:
        """The largest code of every column."""
        n_bins: Integers = np.diff(self.edge_starts) + 1
        for column in np.flatnonzero(self.categorical):
            table = self.tables[self.table_starts[column] : self.table_starts[column + 1]]
            n_bins[column] = max(n_bins[column], table.max())
        return n_bins

    @cached_property
    def by_statistic(self) -> NDArray[np.bool_]:
        """Whether a categorical column is coded by target statistics: it has edges of these."""
        by_statistic: NDArray[np.bool_] = (self.categorical == 1) & (np.diff(self.edge_starts) > 0)
        return by_statistic

    @property
    def code_dtype(self) -> type[np.unsignedinteger[Any]]:
        """One byte if that is enough for every column, else two."""
        return CODE if int(self.n_bins.max(initial=1)) <= MAX_BINS else WIDE_CODE

    @cached_property
    def offsets(self) -> Integers:
        """The first histogram entry of every column, and the number of entries."""
        return np.concatenate([[0], np.cumsum(self.n_bins + 1)]).astype(np.int64)

    def encode(self, table: Table, team: Team, *, for_growing: bool = True) -> "BinnedTable":
        """Return the codes of all rows of a table; the layout by row only if trees are grown on it."""
        if isinstance(table, RemoteTable):
            coded: BinnedTable = table.encode(self, team, for_growing=for_growing)
            return coded
        by_column = np.empty((self.n_columns, table.n_rows), self.code_dtype)
        team.over_rows(
            table.n_rows,
            lambda a, b: self.encode_block(table.block(a, b), by_column, a, by_row=False),
            rows_per_block(self.n_columns, team.chunk_rows),
        )
        return BinnedTable.of(self, by_column, team, for_growing=for_growing)

    def encode_block(self, block: AnyFloats, codes: NDArray[Any], first: int, *, by_row: bool) -> None:
        """Write the codes of a block to rows `first`... of codes (rows, stride) or (columns, rows)."""
        none = np.empty((0, 0), CODE)
        outputs = (codes, none) if by_row else (none, codes)
        tables = (self.tables, self.table_starts)
        encode(self.select(block), self.edges, self.edge_starts, *tables, *outputs, first)


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Codes of a table, its bins, and the stored column of each column."""

    bins: Bins
    codes: Codes
    stored: Integers

    @classmethod
    def of(
        cls, bins: Bins, by_column: NDArray[Any], team: Team, *, for_growing: bool = True
    ) -> "BinnedTable":
        """Add the layout by row to codes (columns, rows) if trees are grown on them."""
        n = by_column.shape[1]
        bundles = find_bundles(by_column, bins.n_bins) if for_growing else no_bundles(bins.n_bins)
        by_row = aligned_rows(n if for_growing else 0, len(bundles.widths))
        stored, usual, base = bundles.stored, bundles.usual, bundles.base
        if for_growing:
            team.over_rows(n, lambda a, b: store_rows(by_column, stored, usual, base, by_row, a, b))
        starts = np.concatenate([[0], np.cumsum(bundles.widths)]).astype(np.int64)
        entries = starts[stored] + base
        codes = Codes(by_row, by_column, bins.offsets, bins.n_bins, bins.categorical, starts, entries, usual)
        return cls(bins, codes, stored)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.by_column.shape[1])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.bins.n_columns

    def take(self, rows: RowNumbers) -> "BinnedTable":
        """Return some of the rows."""
        by_column = np.ascontiguousarray(self.codes.by_column[:, rows])
        by_row = self.codes.by_row[rows] if len(self.codes.by_row) else self.codes.by_row
        codes = self.codes._replace(by_row=by_row, by_column=by_column)
        return BinnedTable(self.bins, codes, self.stored)


def check_counts(n_rows: int, n_columns: int) -> None:
    """Raise an error for more rows than row numbers, or more columns than nodes of trees, can represent.

    >>> check_counts(5_000_000_000, 10)
    Traceback (most recent call last):
    ValueError: X has 5,000,000,000 rows; at most 4,294,967,295 are allowed: take a sample
    """
    if n_rows > MAX_ROWS:
        raise ValueError(f"X has {n_rows:,} rows; at most {MAX_ROWS:,} are allowed: take a sample")
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"X has {n_columns:,} columns; at most {MAX_COLUMNS:,} are allowed: leave some out, or hash "
            "them into fewer"
        )


def row_stride(n_columns: int) -> int:
    """Return the bytes from one row to the next; short rows never cross a cache line.

    >>> [row_stride(n) for n in (3, 28, 54, 100)]
    [4, 32, 64, 128]
    """
    if n_columns <= _LINE // 2:
        return 1 << (n_columns - 1).bit_length()
    return -(-n_columns // 32) * 32


def aligned_rows(n_rows: int, n_columns: int) -> NDArray[Any]:
    """Allocate codes (n_rows, row_stride) aligned to cache lines (measured: halves histogram time)."""
    stride = row_stride(n_columns)
    memory = np.empty(n_rows * stride + _LINE, CODE)
    skip = -memory.ctypes.data % _LINE
    return memory[skip : skip + n_rows * stride].reshape(n_rows, stride)


def find_bins(
    table: Table,
    max_bins: int = MAX_BINS,
    *,
    copies: Integers | None = None,
    team: Team | None = None,
    user_edges: UserEdges | None = None,
    min_category_frequency: int = MIN_CATEGORY_FREQUENCY,
) -> Bins:
    """Compute edges, which are quantiles of the columns, and codes of the categories.

    Parameters
    ----------
    table : Table
    max_bins : int
        The most bins of a numeric column, at most 65,535. Above 255 all rows are used instead of a sample: a
        column of no more distinct values than bins gets an edge between any two of them.
    copies : int64 array or None
        How often each row counts; 0 excludes it.
    team : Team or None
        Threads to sort columns with.
    user_edges : sequence with an array or None for every column, or None
        Edges of numeric columns, validated.
    min_category_frequency : int
        In a column of more than 32 categories, those of fewer rows share one code.
    """
    check_counts(table.n_rows, table.n_columns)
    n = table.n_rows
    rows = np.arange(n, dtype=np.int64) if max_bins > MAX_BINS else edge_rows(0, n, n)
    rows = rows if copies is None else rows[copies[rows] > 0]
    counts = np.empty(0, np.int64) if copies is None else copies[rows]
    if np.all(counts == 1):
        counts = counts[:0]
    passed = user_edges or [None] * table.n_columns
    user_defined = np.array([values is not None for values in passed], np.uint8)
    edges = [np.empty(0) if values is None else values for values in passed]
    tables: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)] * table.n_columns

    def compute(column: int, values: NDArray[Any]) -> None:
        categories = table.schema.categories[column]
        if user_defined[column]:
            return
        if categories is None:
            edges[column] = column_edges(values, counts, max_bins)
        else:
            n_codes = min(max_bins, MAX_BINS)
            tables[column] = _category_codes(values, counts, len(categories), n_codes, min_category_frequency)

    n_threads = 1 if team is None or len(rows) * table.n_columns < _FEW_VALUES else team.n_threads

    def compute_columns(thread: int) -> None:
        step = max(1, min(_VALUES_PER_BLOCK // max(1, len(rows)), -(-table.n_columns // n_threads)))
        for first in range(thread * step, table.n_columns, step * n_threads):
            columns = slice(first, min(first + step, table.n_columns))
            if user_defined[columns].all():
                continue
            sample = table.rows(rows, columns)
            for position, column in enumerate(range(columns.start, columns.stop)):
                compute(column, sample[:, position])

    compute_columns(0) if team is None else team.together(compute_columns, n_threads)
    bins = Bins(*_flatten(edges, np.float64), *_flatten(tables, np.uint8))
    return bins if user_edges is None else bins.with_user_defined(user_defined)


def edge_rows(start: int, stop: int, n_rows: int) -> Integers:
    """Return the rows of [start, stop) that edges are computed from when there are `n_rows` in all.

    Up to 200,000 rows these are all of them, above about 200,000, sampled by a hash of the row number. The
    hash has no seed: without other randomness, two fits on the same rows are the same model. A sample of more
    rows holds only rows that the sample of fewer rows holds.

    >>> edge_rows(5, 8, 100)
    array([5, 6, 7])
    >>> set(edge_rows(0, 1000, 900_000)) <= set(edge_rows(0, 1000, 800_000))
    True
    """
    rows = np.arange(start, stop, dtype=np.int64)
    if n_rows > EDGE_SAMPLE_ROWS:
        n = sample_rows(EDGE_SAMPLE_ROWS / n_rows, 0, EDGE_SAMPLE, 0, start, stop, rows)
        rows = rows[:n].copy()  # releases the other rows
    return rows


def row_keys(table: Table, step: int) -> tuple[Keys, Keys]:
    """Return a hash of the values of every row, and one of the values as float32; `step` rows at a time."""
    keys, rounded = np.zeros(table.n_rows, np.uint64), np.zeros(table.n_rows, np.uint64)
    for first in range(0, table.n_rows, step):
        block = table.block(first, min(first + step, table.n_rows))
        add_keys(value_bits(block), 0, keys[first : first + step])
        add_keys(value_bits(block, rounded=True), 0, rounded[first : first + step])
    return keys, rounded


def upper_half(keys: Keys) -> RowNumbers:
    """Return the upper 32 bits of hashes, which are enough for those of rounded values."""
    return (keys >> np.uint64(32)).astype(np.uint32)


def column_edges(values: NDArray[Any], counts: Integers, max_bins: int) -> Floats:
    """Compute the edges of one numeric column; `counts` are empty, or those of the values."""
    present = ~np.isnan(values)
    if not (present.all() and values.flags.c_contiguous):
        values = values[present]
    if counts.size:
        order = np.argsort(values, kind="stable")
        values, counts = values[order], counts[present][order]
    else:
        values.sort()  # before the conversion: twice as fast for float32
    values = values.astype(np.float64, copy=False)
    values += 0.0  # turns -0.0 into 0.0
    positions = np.empty(max_bins, np.int64)
    n = cut_positions(values, counts, max_bins, positions)
    edges = np.empty(n)
    middles(values, positions, edges)
    return edges


def _category_codes(
    numbers: NDArray[Any], counts: Integers, n_categories: int, max_bins: int, min_frequency: int
) -> NDArray[np.uint8]:
    """Return codes 1..k of the categories; infrequent ones share the last code.

    A category of a few rows has a mean that is mostly noise, and the order of many such categories by their
    means fits the training rows whatever they hold: on car prices with 319 models in 1,436 rows, the squared
    error of a forest was 1.8 times that without the column, and is below it with this limit.
    """
    codes = np.arange(1, n_categories + 1)
    if n_categories > min(max_bins, _FEW_CATEGORIES):
        present = ~np.isnan(numbers)
        known = numbers[present].astype(np.int64)
        weights = counts[present] if counts.size else np.ones(len(known), np.int64)
        frequency = np.zeros(n_categories, np.int64)
        np.add.at(frequency, known, weights)
        least = min_frequency if n_categories > _FEW_CATEGORIES else 0
        frequent = np.flatnonzero(frequency >= least)
        if len(frequent) > max_bins or (len(frequent) == max_bins and n_categories > max_bins):
            frequent = np.sort(np.argsort(-frequency, kind="stable")[: max_bins - 1])
        codes = np.full(n_categories, len(frequent) + 1)
        codes[frequent] = np.arange(1, len(frequent) + 1)
    return codes.astype(np.uint8)


def _flatten(arrays: list[NDArray[Any]], dtype: type) -> tuple[NDArray[Any], Integers]:
    starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays])]).astype(np.int64)
    return np.concatenate(arrays).astype(dtype), starts


# --- bundles: columns that share one stored column


@dataclass(frozen=True, eq=False)
class Bundles:
    """The stored column of every column.

    In a shared column, code c is stored as base + c for c < usual, and as base + c - 1 for c > usual.
    """

    stored: Integers  # (columns,), the stored column of each column
    usual: Integers  # (columns,), the code that a shared column omits; -1 for a column that is stored alone
    base: Integers  # (columns,)
    widths: Integers  # (stored columns,), codes of each stored column


def find_bundles(by_column: NDArray[np.uint8], n_bins: Integers) -> Bundles:
    """Assign columns to shared ones, first fit, in the order of the columns."""
    usual = _usual_codes(by_column)
    groups: list[list[int]] = []
    taken: list[NDArray[np.bool_]] = []
    codes_used: list[int] = []
    for column in np.flatnonzero(usual >= 0):
        unusual = by_column[column] != usual[column]
        for bundle in range(min(len(groups), _MAX_TRIED)):
            if codes_used[bundle] + n_bins[column] <= _MAX_CODES and not np.any(taken[bundle] & unusual):
                groups[bundle].append(int(column))
                taken[bundle] |= unusual
                codes_used[bundle] += int(n_bins[column])
                break
        else:
            groups.append([int(column)])
            if len(taken) < _MAX_TRIED:  # one byte per row: more would be as large as a second table
                taken.append(unusual)
            codes_used.append(int(n_bins[column]))
    return _layout([group for group in groups if len(group) > 1], usual, n_bins)


def no_bundles(n_bins: Integers) -> Bundles:
    """Store every column alone."""
    return _layout([], np.full(len(n_bins), -1, np.int64), n_bins)


def _usual_codes(by_column: NDArray[np.uint8]) -> Integers:
    """Return the usual code of every column, -1 for none."""
    usual = np.full(len(by_column), -1, np.int64)
    step = max(1, by_column.shape[1] // _USUAL_SAMPLE)
    for column, codes in enumerate(by_column):
        counts = np.bincount(codes[::step])
        if counts.max() > _USUAL_FRACTION * counts.sum():
            usual[column] = counts.argmax()
    return usual


def _layout(groups: list[list[int]], usual: Integers, n_bins: Integers) -> Bundles:
    """Number the stored columns in the order of the first column in each."""
    n_columns = len(n_bins)
    group_of = {column: group for group in groups for column in group}
    stored, base = np.full(n_columns, -1, np.int64), np.zeros(n_columns, np.int64)
    omitted = np.full(n_columns, -1, np.int64)
    widths: list[int] = []
    for column in range(n_columns):
        if stored[column] >= 0:
            continue
        if column not in group_of:
            stored[column] = len(widths)
            widths.append(int(n_bins[column]) + 1)
            continue
        width = 1
        for other in group_of[column]:
            stored[other], base[other], omitted[other] = len(widths), width, usual[other]
            width += int(n_bins[other])
        widths.append(width)
    return Bundles(stored, omitted, base, np.array(widths, np.int64))
