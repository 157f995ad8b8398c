"""Binning: a table of values becomes a table of codes of one byte, or of two.

`Bins` says how: the edges of every numeric column and the code of every category. A `BinnedTable` is the
result, kept twice: by row, padded and aligned, for histograms, and by column for partitions. Code 0 is
missing or unseen; code k of a numeric column holds the values x with edges[k - 2] < x <= edges[k - 1].
Edges are found, at quantiles of the rows, or given: fixed before the rows were seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.bundling import find_bundles, no_bundles
from hedgerow.dtypes import CODE, MAX_BINS, MOST_ROWS, WIDE_CODE
from hedgerow.kernels.cpu.binning import cut_places, encode, middles, store_rows
from hedgerow.kernels.cpu.forest import MOST_COLUMNS
from hedgerow.kernels.cpu.random import EDGE_SAMPLE, sample_rows
from hedgerow.kernels.cpu.records import Codes
from hedgerow.memory import rows_per_block
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Lean, Team, cached_property

EDGE_SAMPLE_ROWS = 200_000  # edges move by less than a bin's width when all rows are used
_CELLS_AT_ONCE = 100_000  # sampled values that a thread holds while edges are chosen, or one column
_FEW_CELLS = 100_000  # below, a second thread costs more than it brings
_LINE = 64  # bytes of a cache line

GivenEdges = Sequence[NDArray[np.float64] | None]  # one a column, strictly rising; None: to be found


@dataclass(frozen=True, eq=False)
class Bins(Lean):
    """How the columns of a table are cut.

    Parameters
    ----------
    edges, edge_starts : arrays
        The edges of column f are ``edges[edge_starts[f]:edge_starts[f + 1]]``, rising.
    tables, table_starts : arrays
        The code of category c of column f is ``tables[table_starts[f] + c]``; numeric columns have none.
    """

    edges: NDArray[np.float64]
    edge_starts: NDArray[np.int64]
    tables: NDArray[np.uint8]
    table_starts: NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.edge_starts) - 1

    @cached_property
    def given(self) -> NDArray[np.uint8]:
        """1 for every column whose edges were given, 0 where they were found or the column is categorical.

        No part of how values are coded, and so no field.
        """
        return np.zeros(self.n_columns, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"given": self.given}  # this one cannot be computed again

    def marked(self, given: NDArray[np.uint8]) -> "Bins":
        """The same bins, that say which columns had edges given."""
        bins = replace(self)
        vars(bins)["given"] = given  # where a cached property keeps its value
        return bins

    def edges_of(self, column: int) -> NDArray[np.float64]:
        """The edges of one column."""
        return self.edges[self.edge_starts[column] : self.edge_starts[column + 1]]

    def kept_for(self, given: GivenEdges | None) -> "Bins":
        """These bins, for a fit that goes on; refuses edges other than those that they were given."""
        for column, edges in enumerate(given or [None] * self.n_columns):
            same = bool(self.given[column]) == (edges is not None)
            if not same or (edges is not None and not np.array_equal(edges, self.edges_of(column))):
                raise ValueError(
                    f"bin_edges of column {column} are not those of the fitted model; with warm_start=True "
                    "they must stay the same. Set warm_start=False to begin anew"
                )
        return self

    @cached_property
    def categorical(self) -> NDArray[np.uint8]:
        """1 for every categorical column."""
        return (np.diff(self.table_starts) > 0).astype(np.uint8)

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """The largest code of every column."""
        n_bins: NDArray[np.int64] = np.diff(self.edge_starts) + 1
        for column in np.flatnonzero(self.categorical):
            table = self.tables[self.table_starts[column] : self.table_starts[column + 1]]
            n_bins[column] = table.max()
        return n_bins

    @property
    def code_dtype(self) -> type[np.unsignedinteger[Any]]:
        """One byte where that is enough for every column, else two."""
        return CODE if int(self.n_bins.max(initial=1)) <= MAX_BINS else WIDE_CODE

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """First histogram entry of every column, and the number of entries."""
        return np.concatenate([[0], np.cumsum(self.n_bins + 1)]).astype(np.int64)

    def encode(self, table: Table, team: Team, *, for_growing: bool = True) -> "BinnedTable":
        """The codes of all rows of a table; without the layout by row unless trees are grown on it."""
        if isinstance(table, RemoteTable):
            coded: BinnedTable = table.encode(self, team, for_growing=for_growing)
            return coded
        n = table.n_rows
        by_column = np.empty((self.n_columns, n), self.code_dtype)
        raw = (self.edges, self.edge_starts, self.tables, self.table_starts)
        none = np.empty((0, 0), CODE)
        team.over_rows(
            n,
            lambda a, b: encode(table.block(a, b), *raw, none, by_column, a),
            rows_per_block(self.n_columns, team.chunk_rows),
        )
        return BinnedTable.of(self, by_column, team, for_growing=for_growing)


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Codes of a table, how they were made, and in which stored column each column is."""

    bins: Bins
    codes: Codes
    stored: NDArray[np.int64]

    @classmethod
    def of(
        cls, bins: Bins, by_column: NDArray[Any], team: Team, *, for_growing: bool = True
    ) -> "BinnedTable":
        """Lay out codes (columns, rows) by row too, unless no trees are grown on them."""
        n = by_column.shape[1]
        bundles = find_bundles(by_column, bins.n_bins) if for_growing else no_bundles(bins.n_bins)
        by_row = aligned_rows(n if for_growing else 0, len(bundles.widths))
        stored, usual, base = bundles.stored, bundles.usual, bundles.base
        if for_growing:
            team.over_rows(n, lambda a, b: store_rows(by_column, stored, usual, base, by_row, a, b))
        starts = np.concatenate([[0], np.cumsum(bundles.widths)]).astype(np.int64)
        places = starts[stored] + base
        codes = Codes(by_row, by_column, bins.offsets, bins.n_bins, bins.categorical, starts, places, usual)
        return cls(bins, codes, stored)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.by_column.shape[1])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.bins.n_columns

    def take(self, rows: NDArray[np.uint32]) -> "BinnedTable":
        """Some of the rows."""
        by_column = np.ascontiguousarray(self.codes.by_column[:, rows])
        by_row = self.codes.by_row[rows] if len(self.codes.by_row) else self.codes.by_row
        codes = self.codes._replace(by_row=by_row, by_column=by_column)
        return BinnedTable(self.bins, codes, self.stored)


def check_counts(n_rows: int, n_columns: int) -> None:
    """Refuse a table of more rows than row numbers, or more columns than the nodes of trees, can name.

    >>> check_counts(5_000_000_000, 10)
    Traceback (most recent call last):
    ValueError: X has 5,000,000,000 rows; at most 4,294,967,295 are allowed: take a sample
    """
    if n_rows > MOST_ROWS:
        raise ValueError(f"X has {n_rows:,} rows; at most {MOST_ROWS:,} are allowed: take a sample")
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"X has {n_columns:,} columns; at most {MOST_COLUMNS:,} are allowed: leave some out, or hash "
            "them into fewer"
        )


def row_stride(n_columns: int) -> int:
    """Bytes from a row to the next: short rows never straddle a cache line.

    >>> [row_stride(n) for n in (3, 28, 54, 100)]
    [4, 32, 64, 128]
    """
    if n_columns <= _LINE // 2:
        return 1 << (n_columns - 1).bit_length()
    return -(-n_columns // 32) * 32


def aligned_rows(n_rows: int, n_columns: int) -> NDArray[Any]:
    """Room for codes (n_rows, row_stride) that begins at a cache line (measured: halves histogram time)."""
    stride = row_stride(n_columns)
    memory = np.empty(n_rows * stride + _LINE, CODE)
    skip = -memory.ctypes.data % _LINE
    return memory[skip : skip + n_rows * stride].reshape(n_rows, stride)


def find_bins(
    table: Table,
    max_bins: int = MAX_BINS,
    *,
    copies: NDArray[np.int64] | None = None,
    team: Team | None = None,
    given: GivenEdges | None = None,
) -> Bins:
    """Choose edges at quantiles of the columns and codes for the categories.

    Parameters
    ----------
    table : Table
    max_bins : int
        The most bins of a numeric column, at most 65,535. Above 255 all rows are looked at, not a sample:
        a column of no more distinct values than bins is then cut between all of them.
    copies : int64 array or None
        How often each row counts; 0 leaves it out.
    team : Team or None
        Threads to sort columns with.
    given : sequence with an array or None for every column, or None
        Edges of numeric columns to be used as they are; they have been checked.
    """
    check_counts(table.n_rows, table.n_columns)
    rows = _edge_rows(table.n_rows, copies, every=max_bins > MAX_BINS)
    counts = np.empty(0, np.int64) if copies is None else copies[rows]
    if np.all(counts == 1):
        counts = counts[:0]
    marks = np.array([one is not None for one in given or [None] * table.n_columns], np.uint8)
    edges = [np.empty(0) if one is None else one for one in given or [None] * table.n_columns]
    tables: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)] * table.n_columns

    def cut(column: int, values: NDArray[Any]) -> None:
        categories = table.schema.categories[column]
        if marks[column]:
            return
        if categories is None:
            edges[column] = _column_edges(values, counts, max_bins)
        else:
            tables[column] = _category_codes(values, counts, len(categories), min(max_bins, MAX_BINS))

    n_members = 1 if team is None or len(rows) * table.n_columns < _FEW_CELLS else team.n_members

    def share(member: int) -> None:
        step = max(1, min(_CELLS_AT_ONCE // max(1, len(rows)), -(-table.n_columns // n_members)))
        for first in range(member * step, table.n_columns, step * n_members):
            columns = slice(first, min(first + step, table.n_columns))
            if marks[columns].all():
                continue
            sample = table.rows(rows, columns)
            for place, column in enumerate(range(columns.start, columns.stop)):
                cut(column, sample[:, place])

    share(0) if team is None else team.together(share, n_members)
    bins = Bins(*_flatten(edges, np.float64), *_flatten(tables, np.uint8))
    return bins if given is None else bins.marked(marks)


def _edge_rows(n_rows: int, copies: NDArray[np.int64] | None, *, every: bool) -> NDArray[np.int64]:
    """Rows that edges are taken from: every one that counts, or 200,000 chosen by a hash of the row number.

    The choice has no seed: without other randomness, two fits on the same rows are the same model.
    """
    rows = np.arange(n_rows, dtype=np.int64)
    if n_rows > EDGE_SAMPLE_ROWS and not every:
        n = sample_rows(EDGE_SAMPLE_ROWS / n_rows, 0, EDGE_SAMPLE, 0, 0, n_rows, rows)
        rows = rows[:n].copy()  # lets go of the rest
    return rows if copies is None else rows[copies[rows] > 0]


def _column_edges(values: NDArray[Any], counts: NDArray[np.int64], max_bins: int) -> NDArray[np.float64]:
    """Edges of one numeric column."""
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
    places = np.empty(max_bins, np.int64)
    n = cut_places(values, counts, max_bins, places)
    edges = np.empty(n)
    middles(values, places, edges)
    return edges


def _category_codes(
    numbers: NDArray[Any], counts: NDArray[np.int64], n_categories: int, max_bins: int
) -> NDArray[np.uint8]:
    """Codes 1..k of the categories; the rarest share the last code when there are too many."""
    codes = np.arange(1, n_categories + 1)
    if n_categories > max_bins:
        present = ~np.isnan(numbers)
        seen = numbers[present].astype(np.int64)
        weights = counts[present] if counts.size else np.ones(len(seen), np.int64)
        frequency = np.zeros(n_categories, np.int64)
        np.add.at(frequency, seen, weights)
        kept = np.sort(np.argsort(-frequency, kind="stable")[: max_bins - 1])
        codes = np.full(n_categories, max_bins)
        codes[kept] = np.arange(1, max_bins)
    return codes.astype(np.uint8)


def _flatten(parts: list[NDArray[Any]], dtype: type) -> tuple[NDArray[Any], NDArray[np.int64]]:
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts).astype(dtype), starts
