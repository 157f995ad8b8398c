"""Sources of record batches: files, a dataset, or a function; each can be read several times.

All batches of a source have the same columns, in the order of the first. Only the widths of dictionary codes
and of the offsets of strings may differ, and columns may be all null in some files: this changes no value.
The index of a pandas DataFrame, which is a column of its files, is left out unless it is named: pandas does
not treat it as a feature either.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import dataset as arrow_datasets

from hedgerow.datafiles import DataFileError, unknown_name
from hedgerow.datafiles.column_types import is_text
from hedgerow.datafiles.errors import one_line
from hedgerow.streams.files import File, buffer_bytes, find_files
from hedgerow.table.frames import index_columns, widened

Batches: TypeAlias = Generator[pa.RecordBatch, None, None]


def open_source(source: Any, named: Collection[str] = (), *, only: bool = False) -> "Source":
    """Return the source of a `Stream`, with the `named` columns, and all others except those of an index.

    only : whether only the named columns are used, so that others may differ between files.
    """
    if isinstance(source, arrow_datasets.Dataset):
        return DatasetSource(source, named)
    if callable(source):
        return FunctionSource(source, named, only=only)
    return FileSource(find_files(source), named, only=only)


class FileSource:
    """The rows of files, one file after the other.

    Like all sources, it has the `schema` of all batches, `n_rows` if the number is known before the rows are
    read, and a `name` for messages.
    """

    def __init__(self, files: list[File], named: Collection[str] = (), *, only: bool = False) -> None:
        self._files = files
        schemas_and_counts = [file.read_schema() for file in files]
        schemas = [_plain(schema, named) for schema, _ in schemas_and_counts]
        self.schema = schemas[0]
        self.name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
        _check_unique(self.schema, files[0].name)
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            self.schema = join_schemas(self.schema, schema, files[0].name, file.name, named if only else None)
        counts = [count for _, count in schemas_and_counts if count is not None]
        self.n_rows = sum(counts) if len(counts) == len(files) else None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """Yield all rows, with these columns in this order: about `rows` at a time, if that can be chosen."""
        wanted = [self.schema.field(name) for name in columns]
        for file in self._files:
            for batch in file.batches(columns, rows, use_threads=use_threads):
                _check_unchanged(batch.schema, wanted, file.name)
                yield _select(batch, wanted)


class DatasetSource:
    """The rows of a `pyarrow.dataset.Dataset`."""

    name = "the dataset"

    def __init__(self, dataset: Any, named: Collection[str] = ()) -> None:
        self._dataset = dataset
        self.schema = _plain(dataset.schema, named)
        _check_unique(self.schema, self.name)
        kind = getattr(dataset, "format", None)
        self._is_parquet = isinstance(kind, arrow_datasets.ParquetFileFormat)
        # Parquet files contain their counts; in other files all rows would have to be read
        with self._readable():
            self.n_rows = dataset.count_rows() if self._is_parquet else None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """See `FileSource.batches`."""
        more: dict[str, Any] = {}
        if self._is_parquet:
            more["fragment_scan_options"] = arrow_datasets.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=buffer_bytes(len(columns))
            )
        wanted = [self.schema.field(name) for name in columns]
        with self._readable():
            for batch in self._dataset.to_batches(
                columns=list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1,
                use_threads=use_threads, **more,
            ):  # fmt: skip
                yield _select(batch, wanted)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise DataFileError(f"{self.name} cannot be read ({one_line(error)})") from error


class FunctionSource:
    """The rows of the iterators that a function returns, a new one for each pass."""

    n_rows: int | None = None

    def __init__(self, function: Any, named: Collection[str] = (), *, only: bool = False) -> None:
        self._function, self._named, self._used = function, named, named if only else None
        self.name = f"the function {getattr(function, '__name__', type(function).__name__)}"
        batches = self._call()
        first = next(batches, None)
        if first is None:
            raise ValueError(f"{self.name} returns no batches: X needs at least one row")
        self.schema = _plain(first.schema, named)
        _check_unique(self.schema, self.name)
        # the first pass continues this iterator: if it can be read only once, no batch is lost
        self._started: Iterator[pa.RecordBatch] | None = itertools.chain([first], batches)

    def _call(self) -> Batches:
        returned = self._function()
        if not isinstance(returned, Iterable):
            raise TypeError(
                f"{self.name} must return an iterator of pyarrow record batches; got a "
                f"{type(returned).__name__}"
            )
        for number, batch in enumerate(returned):
            if isinstance(batch, pa.Table):
                yield from batch.to_batches() or [pa.RecordBatch.from_pylist([], schema=batch.schema)]
            elif isinstance(batch, pa.RecordBatch):
                yield batch
            else:
                raise TypeError(
                    f"batch {number} of {self.name} must be a pyarrow RecordBatch; got a "
                    f"{type(batch).__name__}"
                )

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """See `FileSource.batches`."""
        wanted = [self.schema.field(name) for name in columns]
        number = -1
        for number, batch in enumerate(self._next_pass()):
            self._check(batch, number)
            yield _select(batch, wanted)
        if number < 0:
            raise ValueError(
                f"{self.name} returns no batches when it is called again: it must return a new iterator each "
                "time"
            )

    def _check(self, batch: pa.RecordBatch, number: int) -> None:
        """Raise if a batch does not have the columns of the first."""
        where, schema = f"batch {number} of {self.name}", _plain(batch.schema, self._named)
        both = join_schemas(self.schema, schema, f"batch 0 of {self.name}", where, self._used)
        for field, known in zip(both, self.schema, strict=True):
            if field.type != known.type:
                raise ValueError(
                    f"column {field.name!r} is all null in batch 0 of {self.name} and has values in {where}: "
                    "the first batch must have the type of the others"
                )

    def _next_pass(self) -> Iterator[pa.RecordBatch]:
        started, self._started = self._started, None
        return self._call() if started is None else started


Source: TypeAlias = FileSource | DatasetSource | FunctionSource


# --- columns


def _plain(schema: pa.Schema, named: Collection[str] = ()) -> pa.Schema:
    """Return names and types of the columns, without metadata, and without an index that is not named."""
    left_out = index_columns(schema).difference(named)
    return pa.schema([(field.name, field.type) for field in schema if field.name not in left_out])


def _check_unique(schema: pa.Schema, where: str) -> None:
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise ValueError(f"{where} has several columns {name!r}: names must be unique")


def join_schemas(
    known: pa.Schema, other: pa.Schema, where: str, other_where: str, used: Collection[str] | None = None
) -> pa.Schema:
    """Return the columns of two files, which must be the same; raise with the first that is not.

    used : the columns to compare, all if None.

    >>> numbers, nulls = pa.schema([("x", pa.int64())]), pa.schema([("x", pa.null())])
    >>> join_schemas(nulls, numbers, "a.parquet", "b.parquet").field("x").type
    DataType(int64)
    >>> join_schemas(numbers, pa.schema([("x", pa.string())]), "a.parquet", "b.parquet")
    Traceback (most recent call last):
    ValueError: column 'x' is string in b.parquet and int64 in a.parquet: write both with the same types
    """
    _check_unique(other, other_where)
    known_names, other_names = set(known.names), set(other.names)
    for name in other.names:
        if name not in known_names and (used is None or name in used):
            raise ValueError(
                f"{other_where} has a column {name!r}, which {where} does not have: write both alike"
            )
    joined = known
    for number, field in enumerate(known):
        if used is not None and field.name not in used:
            continue
        if field.name not in other_names:
            raise ValueError(
                f"{other_where} has no column {field.name!r}, which {where} has: write both alike"
            )
        other_type = other.field(field.name).type
        if pa.types.is_null(field.type):
            joined = joined.set(number, field.with_type(other_type))
        elif not _same_values(field.type, other_type):
            raise ValueError(
                f"column {field.name!r} is {other_type} in {other_where} and {field.type} in {where}: write "
                "both with the same types"
            )
    return joined


def _same_values(known: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types have the same values and the same numbers, or the other is all null."""
    if pa.types.is_dictionary(known) and pa.types.is_dictionary(other):
        known, other = known.value_type, other.value_type
    return known == other or (is_text(known) and is_text(other)) or bool(pa.types.is_null(other))


def _check_unchanged(schema: pa.Schema, wanted: Sequence[pa.Field], where: str) -> None:
    """Raise if a file was rewritten with other columns since its schema was read."""
    for field in wanted:
        changed = f"{where} was changed while it was read: "
        if schema.get_field_index(field.name) < 0:
            raise ValueError(f"{changed}it has no column {field.name!r} any more")
        kind = schema.field(field.name).type
        if not _same_values(field.type, kind):
            raise ValueError(f"{changed}column {field.name!r} was {field.type} and is {kind}")


def _select(batch: pa.RecordBatch, wanted: Sequence[pa.Field]) -> pa.RecordBatch:
    """Return the wanted columns of a batch, in their order; nulls without a type get that of the column."""
    columns = []
    for field in wanted:
        column = batch.column(field.name)
        if pa.types.is_null(column.type) and not pa.types.is_null(field.type):
            column = pa.nulls(len(column), field.type)
        columns.append(widened(column) if pa.types.is_dictionary(column.type) else column)
    return pa.RecordBatch.from_arrays(columns, [field.name for field in wanted])


def check_names(names: Iterable[str], schema: pa.Schema, what: str, where: str) -> None:
    """Raise if a name is not that of a column."""
    for name in names:
        if name not in schema.names:
            raise ValueError(f"{what}={name!r}: in {where} {unknown_name(name, schema.names)}")
