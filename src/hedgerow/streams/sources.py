"""Sources of record batches: files, a dataset, or a function; each can be read from the beginning again.

All batches of a source have the same columns, in the order of the first. What may differ is what does not
change a value: the width of the codes of a dictionary, that of the offsets of texts, and columns that are
nothing but nulls in some files.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from pyarrow import dataset as arrow_datasets

from hedgerow.datafiles import DataFileError, unknown_name
from hedgerow.datafiles.errors import one_line
from hedgerow.streams.files import File, buffer_bytes, find_files

Batches: TypeAlias = Generator[pa.RecordBatch, None, None]

_ALIKE = "write both with the same types"


class Source(Protocol):
    """Where batches come from.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of all batches.
    n_rows : int or None
        How many there are, where that is known before they are read.
    name : str
        How messages call it.
    """

    schema: pa.Schema
    n_rows: int | None
    name: str

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """All rows, of these columns in this order; about `rows` at a time where that can be chosen."""


def open_source(source: Any) -> Source:
    """The source of what a `Stream` was given."""
    if isinstance(source, arrow_datasets.Dataset):
        return DatasetSource(source)
    if callable(source):
        return CalledSource(source)
    return FileSource(find_files(source))


class FileSource:
    """The rows of files, one file after the other."""

    def __init__(self, files: list[File]) -> None:
        self._files = files
        looks = [file.look() for file in files]
        self.schema = _plain(looks[0][0])
        self.name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
        _check_unique(self.schema, files[0].name)
        for file, (schema, _) in zip(files[1:], looks[1:], strict=True):
            self.schema = joined(self.schema, schema, files[0].name, file.name)
        counts = [count for _, count in looks if count is not None]
        self.n_rows = sum(counts) if len(counts) == len(files) else None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """See `Source.batches`."""
        wanted = [self.schema.field(name) for name in columns]
        for file in self._files:
            for batch in file.batches(columns, rows, use_threads=use_threads):
                yield _fitted(batch, wanted)


class DatasetSource:
    """The rows of a `pyarrow.dataset.Dataset`."""

    name = "the dataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.schema = _plain(dataset.schema)
        _check_unique(self.schema, self.name)
        kind = getattr(dataset, "format", None)
        self._is_parquet = isinstance(kind, arrow_datasets.ParquetFileFormat)
        # of Parquet the counts stand in the files; of others all rows would have to be read
        self.n_rows = dataset.count_rows() if self._is_parquet else None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """See `Source.batches`."""
        more: dict[str, Any] = {}
        if self._is_parquet:
            more["fragment_scan_options"] = arrow_datasets.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=buffer_bytes(len(columns))
            )
        wanted = [self.schema.field(name) for name in columns]
        try:
            for batch in self._dataset.to_batches(
                columns=list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1,
                use_threads=use_threads, **more,
            ):  # fmt: skip
                yield _fitted(batch, wanted)
        except (pa.ArrowException, OSError) as error:
            raise DataFileError(f"the dataset cannot be read ({one_line(error)})") from error


class CalledSource:
    """The rows of the iterators that a function gives, a new one each time."""

    n_rows: int | None = None

    def __init__(self, function: Any) -> None:
        self._function = function
        self.name = f"the function {getattr(function, '__name__', type(function).__name__)}"
        first = next(iter(self._given()), None)
        if first is None:
            raise ValueError(f"{self.name} gives no batches: X needs at least one row")
        self.schema = _plain(first.schema)
        _check_unique(self.schema, self.name)

    def _given(self) -> Batches:
        given = self._function()
        if not isinstance(given, Iterable):
            raise TypeError(
                f"{self.name} gives a {type(given).__name__}: it must give an iterator of pyarrow record "
                "batches"
            )
        for number, one in enumerate(given):
            if isinstance(one, pa.Table):
                yield from one.to_batches() or [pa.RecordBatch.from_pylist([], schema=one.schema)]
            elif isinstance(one, pa.RecordBatch):
                yield one
            else:
                raise TypeError(
                    f"{self.name} gives a {type(one).__name__} as batch {number}: it must be a pyarrow "
                    "RecordBatch"
                )

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Batches:
        """See `Source.batches`."""
        wanted = [self.schema.field(name) for name in columns]
        for number, batch in enumerate(self._given()):
            here = f"batch {number} of {self.name}"
            if not joined(self.schema, batch.schema, f"batch 0 of {self.name}", here).equals(self.schema):
                column = next(f.name for f in self.schema if pa.types.is_null(f.type))
                raise ValueError(
                    f"column {column!r} is all null in batch 0 of {self.name} and has values in {here}: give "
                    "the first batch the type of the others"
                )
            yield _fitted(batch, wanted)


# --- columns


def _plain(schema: pa.Schema) -> pa.Schema:
    """Names and types: whether nulls are allowed, and notes of other libraries, do not matter."""
    return pa.schema([(field.name, field.type) for field in schema])


def _check_unique(schema: pa.Schema, where: str) -> None:
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise ValueError(f"{where} has several columns {name!r}: names must be unique")


def joined(known: pa.Schema, other: pa.Schema, where: str, there: str) -> pa.Schema:
    """The columns of two files, which must be the same; one line about the first that is not.

    >>> numbers, nulls = pa.schema([("x", pa.int64())]), pa.schema([("x", pa.null())])
    >>> joined(nulls, numbers, "a.parquet", "b.parquet").field("x").type
    DataType(int64)
    >>> joined(numbers, pa.schema([("x", pa.string())]), "a.parquet", "b.parquet")
    Traceback (most recent call last):
    ValueError: column 'x' is string in b.parquet and int64 in a.parquet: write both with the same types
    """
    _check_unique(other, there)
    known_names, other_names = set(known.names), set(other.names)
    for name in other.names:
        if name not in known_names:
            raise ValueError(f"{there} has a column {name!r}, which {where} does not have: write both alike")
    fields = []
    for field in known:
        if field.name not in other_names:
            raise ValueError(f"{there} has no column {field.name!r}, which {where} has: write both alike")
        found = other.field(field.name).type
        if pa.types.is_null(field.type):
            field = field.with_type(found)  # noqa: PLW2901 - it takes its place
        elif not (pa.types.is_null(found) or _same_values(field.type, found)):
            raise ValueError(
                f"column {field.name!r} is {found} in {there} and {field.type} in {where}: {_ALIKE}"
            )
        fields.append(field)
    return pa.schema(fields)


def _same_values(first: pa.DataType, second: pa.DataType) -> bool:
    """Whether two types hold the same values and become the same numbers."""
    if pa.types.is_dictionary(first) and pa.types.is_dictionary(second):
        first, second = first.value_type, second.value_type
    return first == second or (_is_text(first) and _is_text(second))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _fitted(batch: pa.RecordBatch, wanted: Sequence[pa.Field]) -> pa.RecordBatch:
    """The batch with the wanted columns in their order; nulls without a type get that of the column."""
    columns = []
    for field in wanted:
        column = batch.column(field.name)
        if pa.types.is_null(column.type) and not pa.types.is_null(field.type):
            column = pa.nulls(len(column), field.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, [field.name for field in wanted])


def check_names(names: Iterable[str], schema: pa.Schema, what: str, where: str) -> None:
    """Refuse names of columns that are not there."""
    for name in names:
        if name not in schema.names:
            raise ValueError(f"{what}={name!r}: in {where} {unknown_name(name, schema.names)}")
