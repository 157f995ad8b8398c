"""The first pass: read all rows once, and keep what a fit needs of all of them.

It keeps the target, the weight and two keys of each row; of categorical columns, the values that occur and,
until their numbers are known, a narrow code per row; and the rows that bin edges are computed from.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Integers, Keys, is_missing
from hedgerow.binning import EDGE_SAMPLE_ROWS, check_counts, edge_rows, row_keys, upper_half
from hedgerow.datafiles.column_types import is_text
from hedgerow.kernels.cpu.binning import add_keys
from hedgerow.streams.reader import Chunk, StreamReader
from hedgerow.streams.stream import Stream
from hedgerow.streams.table import StreamedTable
from hedgerow.system_memory import require_memory
from hedgerow.table import columns as table_columns
from hedgerow.table.columns import CodedColumn, PlainValue, category_numbers
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.reading import FIT_HINT, PREDICT_HINT, check_not_empty, check_same_columns, chosen_columns
from hedgerow.table.remote import TableScan
from hedgerow.table.table import FLOAT32, FLOAT64, Schema, block_dtype, value_bits
from hedgerow.threads import rows_per_block

_BLOCK_ROWS = 4096  # hashed at a time: their float64 copy stays in the cache
_GROWTH = 1.2  # of an array that is full: at most this multiple of what is needed
_FIRST_ROWS = 65_536  # of an array whose length is unknown
_SAMPLE_SLACK = 1.2  # rows of the sample that may be kept, as a multiple of those needed


def scan_stream(
    stream: Stream, *, categorical_features: Any, schema: Schema | None, estimator_name: str
) -> StreamedTable:
    """Read all rows of a stream once; the parameters are those of `hedgerow.table.read_table`."""
    reader = StreamReader.open(stream)
    columns = _find_columns(reader, categorical_features, schema, estimator_name)
    names = {"y": stream.target, "weight": stream.sample_weight}
    more = [name for name in names.values() if name is not None]
    n_rows, n_columns = reader.source.n_rows, columns.schema.n_columns
    if n_rows is not None:
        check_not_empty((n_rows, n_columns), estimator_name)
        check_counts(n_rows, n_columns)
        sample = 2 * min(n_rows, EDGE_SAMPLE_ROWS) * n_columns * FLOAT64.itemsize
        need = {"targets": 8 * n_rows, "keys": 16 * n_rows, "rows for bin edges": sample}
        require_memory(need, f"reading {n_rows:,} rows of {n_columns:,} columns from files")
    builder = _ScanBuilder(columns, n_rows)

    def scan(chunk: Chunk) -> _ChunkScan:
        return _scan_chunk(reader, columns, chunk, names, n_rows or 0)

    with closing(reader.map_chunks(scan, "Reading rows", n_rows, more)) as scans:
        for chunk_scan in scans:
            builder.add(chunk_scan)
    check_not_empty((builder.n_rows, n_columns), estimator_name)
    if n_rows is not None and builder.n_rows != n_rows:
        raise ValueError(
            f"{reader.source.name} was changed while it was read: it had {n_rows:,} rows and returned "
            f"{builder.n_rows:,}"
        )
    return StreamedTable(builder.result(), reader, stream, columns.hint)


# --- columns


@dataclass(frozen=True, eq=False)
class _StreamColumns:
    """The columns before the rows are read."""

    schema: Schema  # without the categories of the columns in `unknown`
    unknown: tuple[int, ...]  # categorical columns whose categories are to be found
    hint: str  # advice about columns of strings


def _find_columns(
    reader: StreamReader, categorical_features: Any, known: Schema | None, estimator_name: str
) -> _StreamColumns:
    """Check names and types, so that errors are raised before all rows are read."""
    frame = reader.empty_frame(FIT_HINT if known is None else PREDICT_HINT)
    n_columns = frame.shape[1]
    check_not_empty((1, n_columns), estimator_name)
    if known is not None:
        if categorical_features is not None:
            raise ValueError("categorical_features must be None where a schema is passed")
        check_same_columns(frame.names, n_columns, known, estimator_name)
        columns = _StreamColumns(known, (), PREDICT_HINT)
    else:
        chosen = chosen_columns(categorical_features, frame.names, n_columns)
        unknown = frame.categorical_by_dtype if chosen is None else chosen
        none = np.empty(0, object)
        categories = tuple(none if column in unknown else None for column in range(n_columns))
        columns = _StreamColumns(Schema(n_columns, frame.names, categories), tuple(sorted(unknown)), FIT_HINT)
    chosen_numbers = columns.schema.categorical_columns
    coded = {column: frame.coded(column) for column in chosen_numbers}  # raises for types without categories
    zeros = {column: np.zeros(len(coded[column].codes), np.float32) for column in chosen_numbers}
    frame.table(columns.schema, zeros)
    return columns


# --- a chunk


@dataclass(eq=False)
class _ChunkScan:
    """The scan of a chunk of rows."""

    first: int
    last: int  # the row after its last one
    dtype: np.dtype[Any]  # of its numeric columns
    coded: dict[int, CodedColumn]  # the columns whose categories are unknown
    others: dict[str, CodedColumn | NDArray[Any]]  # target and weights, if there are any
    keys: Keys  # without the columns whose categories are unknown
    rounded: Keys
    rows: Integers  # that edges may be computed from
    values: AnyFloats  # of these rows; 0 in columns with unknown categories


def _scan_chunk(
    reader: StreamReader, columns: _StreamColumns, chunk: Chunk, names: dict[str, str | None], n_at_least: int
) -> _ChunkScan:
    first, arrow = chunk
    n = arrow.num_rows
    frame = reader.frame(arrow, columns.hint)
    coded = {column: frame.coded(column) for column in columns.unknown}
    numbers: dict[int, AnyFloats] = {
        column: np.zeros(n, np.float32)  # zeros add nothing to keys
        if column in coded
        else category_numbers(frame.coded(column), positions)
        for column, positions in columns.schema.category_positions.items()
    }
    table = frame.table(columns.schema, numbers)
    keys, rounded = row_keys(table, rows_per_block(table.n_columns, _BLOCK_ROWS))
    rows = edge_rows(first, first + n, max(first + n, n_at_least))
    others = {what: _read_other(arrow, name) for what, name in names.items() if name is not None}
    return _ChunkScan(
        first, first + n, table.dtype, coded, others, keys, rounded, rows, table.rows(rows - first)
    )


def _read_other(table: pa.Table, name: str) -> CodedColumn | NDArray[Any]:
    """Return a target or weights as NumPy reads an Arrow column, strings as codes."""
    column = table[name]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind):
        frame = as_frame(table.select([name]))
        assert frame is not None  # noqa: S101 - it is an Arrow table
        return FrameSource(frame, "").coded(0)
    return np.asarray(column.cast(kind))


# --- all rows


class _ScanBuilder:
    """Collects the scans of chunks."""

    def __init__(self, columns: _StreamColumns, n_rows: int | None) -> None:
        self.n_rows = 0
        self._columns, self._expected = columns, n_rows
        self._dtype: np.dtype[Any] = FLOAT32
        self._coded = {column: CategoryArray(n_rows) for column in columns.unknown}
        self._others: dict[str, CategoryArray | GrowingArray] = {}
        self._keys, self._rounded = GrowingArray(n_rows), GrowingArray(n_rows)
        self._sample = EdgeSample()

    def add(self, scan: _ChunkScan) -> None:
        """Add the next chunk."""
        self.n_rows = scan.last
        if scan.dtype == FLOAT64:
            self._dtype = FLOAT64
        for column, coded in scan.coded.items():
            self._coded[column].add(coded)
        for what, values in scan.others.items():
            kind = CategoryArray if isinstance(values, CodedColumn) else GrowingArray
            self._others.setdefault(what, kind(self._expected)).add(values)  # type: ignore[arg-type]
        self._keys.add(scan.keys)
        # half of the bits are enough, once all columns are added
        self._rounded.add(scan.rounded if self._coded else upper_half(scan.rounded))
        self._sample.add(scan.first, scan.last, scan.rows, scan.values)

    def result(self) -> TableScan:
        """Return the scan of all rows; discard intermediate arrays."""
        categories = list(self._columns.schema.categories)
        for column, coded in self._coded.items():
            categories[column] = coded.categories()
        schema = replace(self._columns.schema, categories=tuple(categories))
        dtype = block_dtype([self._dtype], schema)
        y, weight = (self._other(what) for what in ("y", "weight"))
        keys, rounded = self._keys.to_array(), self._rounded.to_array()
        rows, sample = self._sample.select(self.n_rows, dtype)
        for column in list(self._coded):
            coded = self._coded.pop(column)
            by_code = coded.numbers_by_code(schema.category_positions[column])
            _add_category_keys(column, coded, by_code, keys)
            _add_category_keys(column, coded, by_code, rounded, rounded=True)
            sample[:, column] = by_code[coded.codes[rows]]
        rounded = rounded if rounded.dtype == np.uint32 else upper_half(rounded)
        return TableScan(self.n_rows, schema, dtype, y, weight, keys, rounded, rows, sample)

    def _other(self, what: str) -> NDArray[Any] | None:
        values = self._others.pop(what, None)
        if values is None:
            return None
        return values.objects() if isinstance(values, CategoryArray) else values.to_array()


class GrowingArray:
    """An array that grows at its end, up to a length that may be unknown; its dtype widens if necessary.

    >>> array = GrowingArray(None)
    >>> for values in (np.array([1, 2], np.int8), np.array([3], np.int8), np.array([np.nan])):
    ...     array.add(values)
    >>> array.to_array()
    array([ 1.,  2.,  3., nan])
    """

    def __init__(self, n_rows: int | None) -> None:
        self._expected = n_rows
        self._array: NDArray[Any] | None = None
        self.n = 0

    def add(self, values: NDArray[Any]) -> None:
        """Append values."""
        stop = self.n + len(values)
        if self._array is None:
            self._array = np.empty(max(stop, self._expected or _FIRST_ROWS), values.dtype)
        elif self._array.dtype != values.dtype:
            self._array = self._array.astype(np.result_type(self._array.dtype, values.dtype), copy=False)
        if stop > len(self._array):
            # the system moves memory of this size without a copy
            self._array.resize(max(stop, int(len(self._array) * _GROWTH)), refcheck=False)
        self._array[self.n : stop] = values
        self.n = stop

    def view(self) -> NDArray[Any]:
        """Return a view of the values so far."""
        assert self._array is not None  # noqa: S101 - every source has rows
        return self._array[: self.n]

    def to_array(self) -> NDArray[Any]:
        """Return all values, in an array without spare entries."""
        assert self._array is not None  # noqa: S101 - every source has rows
        if len(self._array) != self.n:
            self._array.resize(self.n, refcheck=False)
        return self._array


class CategoryArray:
    """A column of few different values, as narrow codes that grow at the end; 0 is missing."""

    def __init__(self, n_rows: int | None) -> None:
        self.values: dict[PlainValue, int] = {}  # with their codes from 1 on, in the order of occurrence
        self._codes = GrowingArray(n_rows)

    def add(self, column: CodedColumn) -> None:
        """Append the rows of a chunk."""
        codes = np.zeros(len(column.values) + 1, np.uint32)  # the last stays 0, for rows without a value
        used = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)) > 0
        for position in np.flatnonzero(used).tolist():
            value = column.values[position]
            if not is_missing(value):
                plain = table_columns.plain_value(value)
                codes[position] = self.values.setdefault(plain, len(self.values) + 1)
        self._codes.add(codes[column.codes].astype(np.min_scalar_type(len(self.values)), copy=False))

    def categories(self) -> NDArray[Any]:
        """Return the values, sorted as in a schema."""
        return table_columns.sorted_categories(self._all_values())

    def objects(self) -> NDArray[Any]:
        """Return all rows as Python objects, None for missing ones."""
        values = np.empty(len(self.values) + 1, object)  # the first stays None
        values[1:] = list(self.values)
        return np.asarray(values[self._codes.to_array()])

    def numbers_by_code(self, positions: Mapping[PlainValue, int]) -> AnyFloats:
        """Return the number of each code in a table: NaN for code 0, then the positions of the categories."""
        return np.concatenate([[np.nan], category_numbers(self._all_values(), positions)])

    @property
    def codes(self) -> NDArray[Any]:
        """The codes of the rows so far."""
        return self._codes.view()

    def _all_values(self) -> CodedColumn:
        return CodedColumn(np.arange(len(self.values)), list(self.values))


def _add_category_keys(
    column: int, coded: CategoryArray, by_code: AnyFloats, keys: Keys, *, rounded: bool = False
) -> None:
    """Add a categorical column to the keys of all rows, now that its numbers are known."""
    for start in range(0, len(keys), _FIRST_ROWS):
        rows = slice(start, start + _FIRST_ROWS)
        numbers = by_code[coded.codes[rows]]
        add_keys(value_bits(numbers[:, np.newaxis], rounded=rounded), column, keys[rows])


class EdgeSample:
    """Rows that edges are computed from, more than needed while the number of rows is unknown."""

    def __init__(self) -> None:
        self._chunks: list[tuple[int, int, Integers, AnyFloats]] = []
        self._n_kept = 0

    def add(self, start: int, stop: int, rows: Integers, values: AnyFloats) -> None:
        """Add the sampled rows of [start, stop), of a table that has at least `stop` rows."""
        self._chunks.append((start, stop, rows, values))
        self._n_kept += len(rows)
        if self._n_kept > EDGE_SAMPLE_ROWS * _SAMPLE_SLACK:
            self._drop(stop)

    def _drop(self, n_rows: int) -> None:
        """Drop the rows that are not in the sample of `n_rows` rows: a sample of more rows is a subset."""
        self._n_kept = 0
        for number, (start, stop, rows, values) in enumerate(self._chunks):
            stay = edge_rows(start, stop, n_rows)
            if len(stay) < len(rows):
                self._chunks[number] = (start, stop, stay, values[np.searchsorted(rows, stay)])
            self._n_kept += len(stay)

    def select(self, n_rows: int, dtype: np.dtype[Any]) -> tuple[Integers, AnyFloats]:
        """Return the sample of `n_rows` rows and its values; discard the chunks."""
        self._drop(n_rows)
        values = np.empty((self._n_kept, self._chunks[0][3].shape[1]), dtype)
        rows = np.concatenate([chunk[2] for chunk in self._chunks])
        first = 0
        self._chunks.reverse()
        while self._chunks:
            chunk_values = self._chunks.pop()[3]
            values[first : first + len(chunk_values)] = chunk_values
            first += len(chunk_values)
        return rows, values
