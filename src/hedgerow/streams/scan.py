"""The first pass: all rows are read once, and what a fit must know of all of them is kept.

For each row its target and weight, as they are in the files, and two keys; of categorical columns the values
that occur and, until their numbers are known, a narrow code a row; and those rows that edges are taken from.
"""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.binning import EDGE_SAMPLE_ROWS, check_counts
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.memory import require_memory, rows_per_block
from hedgerow.streams.chunks import Chunk
from hedgerow.streams.gathering import Coded, EdgeSample, Gathered, add_coded_keys, edge_rows
from hedgerow.streams.reading import Reading
from hedgerow.streams.sources import is_text
from hedgerow.streams.stream import Stream
from hedgerow.streams.table import StreamedTable
from hedgerow.table.columns import CodedColumn, category_numbers
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.reading import FIT_HINT, PREDICT_HINT, check_not_empty, check_same_columns, chosen_columns
from hedgerow.table.remote import TableScan
from hedgerow.table.table import FLOAT32, FLOAT64, Schema, block_dtype, value_bits

_BLOCK_ROWS = 4096  # hashed at a time: their float64 copy stays in the cache


def scan_stream(
    stream: Stream, *, categorical_features: Any, schema: Schema | None, estimator_name: str
) -> StreamedTable:
    """Read all rows of a stream once; the parameters are those of `hedgerow.table.read_table`."""
    reading = Reading.of(stream)
    plan = _plan(reading, categorical_features, schema, estimator_name)
    names = {"y": stream.target, "weight": stream.sample_weight}
    more = [name for name in names.values() if name is not None]
    n_known, n_columns = reading.source.n_rows, plan.schema.n_columns
    if n_known is not None:
        check_not_empty((n_known, n_columns), estimator_name)
        check_counts(n_known, n_columns)
        require_memory(
            _need(n_known, n_columns), f"reading {n_known:,} rows of {n_columns:,} columns from files"
        )
    kept = _Kept(plan, n_known)

    def look(chunk: Chunk) -> _Found:
        return _look(reading, plan, chunk, names, n_known or 0)

    with closing(reading.over(look, "Reading rows", n_known, more)) as all_found:
        for found in all_found:
            kept.add(found)
    check_not_empty((kept.n_rows, n_columns), estimator_name)
    if n_known is not None and kept.n_rows != n_known:
        raise ValueError(
            f"{reading.source.name} gave {kept.n_rows:,} rows, and {n_known:,} were announced: it was "
            "changed while it was read"
        )
    return StreamedTable(kept.result(), reading, stream, plan.hint)


def _need(n_rows: int, n_columns: int) -> dict[str, int]:
    """Target and weight at the most, keys of two kinds, and the sample with its spare rows."""
    sample = 2 * min(n_rows, EDGE_SAMPLE_ROWS) * n_columns * FLOAT64.itemsize
    return {"targets": 8 * n_rows, "keys": 16 * n_rows, "rows for bin edges": sample}


# --- the columns


@dataclass(frozen=True, eq=False)
class _Plan:
    """The columns before the rows are read.

    Parameters
    ----------
    schema : Schema
        Without the categories of the columns in `unknown`.
    unknown : tuple of int
        Categorical columns whose categories are to be found.
    hint : str
        What to do about columns of texts.
    """

    schema: Schema
    unknown: tuple[int, ...]
    hint: str


def _plan(reading: Reading, categorical_features: Any, known: Schema | None, estimator_name: str) -> _Plan:
    """Check names and types, so that mistakes are told before all rows are read."""
    frame = reading.empty_frame(FIT_HINT if known is None else PREDICT_HINT)
    n_columns = frame.shape[1]
    check_not_empty((1, n_columns), estimator_name)
    if known is not None:
        if categorical_features is not None:
            raise ValueError("categorical_features is for fit; a schema already says it.")
        check_same_columns(frame.names, n_columns, known, estimator_name)
        plan = _Plan(known, (), PREDICT_HINT)
    else:
        chosen = chosen_columns(categorical_features, frame.names, n_columns)
        unknown = frame.categorical_by_dtype if chosen is None else chosen
        none = np.empty(0, object)
        categories = tuple(none if column in unknown else None for column in range(n_columns))
        plan = _Plan(Schema(n_columns, frame.names, categories), tuple(sorted(unknown)), FIT_HINT)
    columns = plan.schema.categorical_columns
    labels = {column: frame.coded(column) for column in columns}  # refuses types that have no categories
    frame.table(plan.schema, {column: np.zeros(len(labels[column].codes), np.float32) for column in columns})
    return plan


# --- a chunk


@dataclass(eq=False)
class _Found:
    """What a chunk of rows says.

    Parameters
    ----------
    first, last : int
        Its first row, and the one after its last.
    dtype : dtype
        Of its numeric columns.
    labels : dict
        Of the columns whose categories are not known.
    others : dict
        Target and weights, if there are any.
    keys, rounded : uint64
        Without the columns whose categories are not known.
    rows, values
        Those that edges may be taken from; values of columns without known categories are 0.
    """

    first: int
    last: int
    dtype: np.dtype[Any]
    labels: dict[int, CodedColumn]
    others: dict[str, CodedColumn | NDArray[Any]]
    keys: NDArray[np.uint64]
    rounded: NDArray[np.uint64]
    rows: NDArray[np.int64]
    values: AnyFloats


def _look(
    reading: Reading, plan: _Plan, chunk: Chunk, names: dict[str, str | None], n_at_least: int
) -> _Found:
    first, rows_of_all = chunk
    n = rows_of_all.num_rows
    frame = reading.frame(rows_of_all, plan.hint)
    labels = {column: frame.coded(column) for column in plan.unknown}
    numbers: dict[int, AnyFloats] = {
        column: np.zeros(n, np.float32)  # zeros add nothing to keys
        if column in labels
        else category_numbers(frame.coded(column), places)
        for column, places in plan.schema.category_positions.items()
    }
    table = frame.table(plan.schema, numbers)
    keys, rounded = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    step = rows_per_block(table.n_columns, _BLOCK_ROWS)
    for start in range(0, n, step):
        block, here = table.block(start, start + step), slice(start, start + step)
        add_keys(value_bits(block), 0, keys[here])
        add_keys(value_bits(block, rounded=True), 0, rounded[here])
    rows = edge_rows(first, first + n, max(first + n, n_at_least))
    return _Found(
        first, first + n, table.dtype, labels,
        {what: _given(rows_of_all, name) for what, name in names.items() if name is not None},
        keys, rounded, rows, table.rows(rows - first),
    )  # fmt: skip


def _given(table: pa.Table, name: str) -> CodedColumn | NDArray[Any]:
    """A target or weights as NumPy reads an Arrow column, texts as codes."""
    column = table[name]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind):
        frame = as_frame(table.select([name]))
        assert frame is not None  # noqa: S101 - it is an Arrow table
        return FrameSource(frame, "").coded(0)
    return np.asarray(column.cast(kind))


# --- all rows


class _Kept:
    """What is kept of the chunks so far."""

    def __init__(self, plan: _Plan, n_rows: int | None) -> None:
        self.n_rows = 0
        self._plan, self._expected = plan, n_rows
        self._dtype: np.dtype[Any] = FLOAT32
        self._coded = {column: Coded(n_rows) for column in plan.unknown}
        self._others: dict[str, Coded | Gathered] = {}
        self._keys, self._rounded = Gathered(n_rows), Gathered(n_rows)
        self._sample = EdgeSample()

    def add(self, found: _Found) -> None:
        """Add the next chunk."""
        self.n_rows = found.last
        if found.dtype == FLOAT64:
            self._dtype = FLOAT64
        for column, labels in found.labels.items():
            self._coded[column].add(labels)
        for what, values in found.others.items():
            kind = Coded if isinstance(values, CodedColumn) else Gathered
            self._others.setdefault(what, kind(self._expected)).add(values)  # type: ignore[arg-type]
        self._keys.add(found.keys)
        # half of the bits is enough, once all columns are added up
        self._rounded.add(found.rounded if self._coded else _upper(found.rounded))
        self._sample.add(found.first, found.last, found.rows, found.values)

    def result(self) -> TableScan:
        """What is known of all rows; lets go of what was only needed on the way."""
        known = {column: coded.categories() for column, coded in self._coded.items()}
        plan = self._plan.schema
        categories = tuple(known.get(column, one) for column, one in enumerate(plan.categories))
        schema = Schema(plan.n_columns, plan.names, categories)
        dtype = block_dtype([self._dtype], schema)
        y, weight = (self._other(what) for what in ("y", "weight"))
        keys, rounded = self._keys.whole(), self._rounded.whole()
        rows, sample = self._sample.whole(self.n_rows, dtype)
        for column in list(self._coded):
            coded = self._coded.pop(column)
            by_code = coded.numbers_by_code(schema.category_positions[column])
            add_coded_keys(column, coded, by_code, keys)
            add_coded_keys(column, coded, by_code, rounded, rounded=True)
            sample[:, column] = coded.numbers(by_code, rows)
        return TableScan(
            self.n_rows, schema, dtype, y, weight, keys,
            rounded if rounded.dtype == np.uint32 else _upper(rounded), rows, sample,
        )  # fmt: skip

    def _other(self, what: str) -> NDArray[Any] | None:
        found = self._others.pop(what, None)
        if found is None:
            return None
        return found.objects() if isinstance(found, Coded) else found.whole()


def _upper(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return (keys >> np.uint64(32)).astype(np.uint32)
