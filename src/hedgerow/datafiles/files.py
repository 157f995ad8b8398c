"""Read a table from a file on disk, and write one."""

import bz2
import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc, parquet

from hedgerow.container import write_atomically
from hedgerow.datafiles import errors, formats
from hedgerow.datafiles.column_types import TypedTable, infer_type, parse_decimal_commas
from hedgerow.datafiles.delimited import read_delimited
from hedgerow.datafiles.errors import DataFileError, check_columns, check_distinct, format_path, one_line

_HEAD = 4096  # bytes that determine the format of a file
_REASONS: dict[type[Exception], str] = {
    IsADirectoryError: "it is a folder; pass the name of a file",
    PermissionError: "it may not be read (permission denied)",
    MemoryError: "it does not fit into memory; read fewer columns or rows",
}


def read_data(path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> pa.Table:
    r"""Read a table from a file: CSV, Parquet or Arrow, detected from its content and not from its name.

    Parameters
    ----------
    path : str or path
        CSV: values separated by commas, semicolons, tabs or bars (detected), a first line of names, UTF-8
        with or without byte-order mark, any line ends. Parquet. Arrow's file and stream formats, Feather.
        Each may be compressed by gzip, bzip2, xz, Zstandard or LZ4.
    columns : sequence of str, optional
        Read these columns only, in this order.

    Returns
    -------
    pyarrow.Table
        A table of at least one row. Columns of Parquet and Arrow files have the types of the file. Columns of
        a CSV file have the type that all their values have: integers, numbers, booleans, dates (2024-05-17,
        2024-05-17 12:30:00), otherwise text. Empty values and NA, N/A, NaN, null, None and ? are missing
        (also - among numbers and dates; not NA among two-letter codes). A column with leading zeros, such as
        the postal code 01234, stays text, because a number would lose them. Leading and trailing spaces of
        names and values are removed. If the separator is not a comma, 3,14 is a number. A column without a
        name is called column_N by its position.

    Raises
    ------
    DataFileError
        If the file does not exist, cannot be read, or has another format; in one line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hedgerow.datafiles import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text("age;born;zip\n31;1993-02-01;01234\n;1990-11-30;98765\n")
    ...     table = read_data(path)
    >>> [str(field.type) for field in table.schema]
    ['int64', 'date32[day]', 'string']
    >>> table["age"].to_pylist()
    [31, None]
    """
    return read_typed(path, columns=columns).table


def read_typed(path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> TypedTable:
    r"""Read a table as `read_data` does, for functions that need the types of all columns.

    Parameters
    ----------
    path : str or path
        A file as for `read_data`.
    columns : sequence of str, optional
        Read these columns only, in this order.

    Returns
    -------
    TypedTable
        For `make_recipe`, `Recipe.features` and `describe`, which then infer each column's type once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hedgerow.datafiles import describe, read_typed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.csv")
    ...     _ = path.write_text("age,name\n31,Ann\n27,Bob\n")
    ...     table = read_typed(path)
    >>> [column.kind for column in describe(table).columns]
    ['number', 'text']
    """
    with _named(path):
        table = _read(path, columns)
        if table.num_rows == 0:
            raise DataFileError("it holds no rows")
        if not table.column_names:
            raise DataFileError("it holds no columns")
    return table


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert every error into a DataFileError that begins with the path."""
    name = format_path(path)
    if "\0" in os.fspath(path):
        raise DataFileError(f"{name}: no file can have that name")
    try:
        yield
    except DataFileError as error:
        raise DataFileError(f"{name}: {error}") from error.__cause__
    except FileNotFoundError as error:
        raise DataFileError(f"{name}: {_file_not_found(path)}") from error
    except (OSError, MemoryError) as error:
        reasons = [reason for kind, reason in _REASONS.items() if isinstance(error, kind)]
        reason = reasons[0] if reasons else f"it cannot be read ({one_line(error)})"
        raise DataFileError(f"{name}: {reason}") from error


def _file_not_found(path: str | os.PathLike[str]) -> str:
    """Return the message for a missing file, with a similar name of the folder if there is one."""
    wanted = Path(path)
    try:
        stems = {entry.name.partition(".")[0]: entry.name for entry in wanted.parent.iterdir()}
    except OSError:
        return f"there is no folder {format_path(wanted.parent)}"
    near = errors.nearest_names(wanted.name.partition(".")[0], stems, 1)
    return "there is no such file" + (f"; did you mean {stems[near[0]]!r}?" if near else "")


def _read(path: str | os.PathLike[str], columns: Sequence[str] | None) -> TypedTable:
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
        if not formats.is_compressed(head):
            kind = formats.detect_format(head)  # rejects other formats before all bytes are read
            if kind != formats.TEXT and file.seekable():
                with pa.OSFile(os.fspath(path)) as source:
                    return TypedTable(_read_binary(kind, source, columns))
        data = formats.decompress(head + file.read())
    if not data:
        raise DataFileError("it is empty")
    if formats.is_compressed(data[:_HEAD]):
        raise DataFileError("it is compressed twice; decompress it once")
    kind = formats.detect_format(data)
    if kind != formats.TEXT:
        return TypedTable(_read_binary(kind, pa.BufferReader(data), columns))
    texts, separator = read_delimited(data, columns)
    typed = [infer_type(column) for column in texts.columns]
    if separator != ",":
        typed = [parse_decimal_commas(column) for column in typed]
    return TypedTable(pa.table(typed, names=texts.column_names), inferred=True)


def _read_binary(kind: str, source: Any, columns: Sequence[str] | None) -> pa.Table:
    """Read Parquet and Arrow formats; damaged and truncated files are refused."""
    title = "an Arrow" if kind != formats.PARQUET else "a Parquet"
    try:
        if kind == formats.PARQUET:
            file = parquet.ParquetFile(source)
            check_columns(columns, file.schema_arrow.names)
            table = file.read(columns=None if columns is None else list(columns))
        else:
            table = _READERS[kind](source)
            check_columns(columns, table.column_names)
        table = table if columns is None else table.select(list(columns))
        table.validate(full=True)  # also offsets and characters, which later steps rely on
    except DataFileError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DataFileError(
            f"it begins as {title} file but is damaged or truncated ({one_line(error, 100)}); download or "
            "write it again"
        ) from error
    return table


_READERS: dict[str, Callable[[Any], pa.Table]] = {
    formats.ARROW_FILE: lambda source: ipc.open_file(source).read_all(),
    formats.ARROW_STREAM: lambda source: ipc.open_stream(source).read_all(),
    formats.FEATHER_1: feather.read_table,
}


# --- writing


def write_data(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, in the format of its suffix.

    Parameters
    ----------
    table : pyarrow.Table
        The table to write.
    path : str or path
        The suffix is .csv (.csv.gz, .csv.bz2 and .csv.zst compress), .parquet, .arrow or .feather. A file
        that exists is replaced atomically: if the process ends, the old or the new file is complete.

    Raises
    ------
    DataFileError
        If the suffix is another one, the folder does not exist, or the format does not support the type of a
        column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import read_data, write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.csv.gz")
    ...     write_data(pa.table({"a": [1, 2], "b": ["x", None]}), path)
    ...     read_data(path).to_pydict()
    {'a': [1, 2], 'b': ['x', None]}
    """
    name = format_path(path)
    writer = writer_of(path)
    try:
        check_distinct(table.column_names)
        data = writer(table)
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise DataFileError(f"{name}: the table cannot be written ({one_line(error)})") from error
    try:
        write_atomically(path, data)
    except OSError as error:
        raise DataFileError(f"{name}: it cannot be written ({one_line(error)})") from error


def writer_of(path: str | os.PathLike[str]) -> Callable[[pa.Table], bytes]:
    r"""Return the function that converts a table to the bytes of a file; DataFileError for other suffixes.

    Examples
    --------
    >>> writer_of("x.csv")(pa.table({"a": [1]}))
    b'"a"\n1\n'
    """
    lowered = Path(path).name.lower()
    for suffix, writer in _WRITERS.items():
        if lowered.endswith(suffix):
            return writer
    *most, last = _WRITERS
    raise DataFileError(f"{format_path(path)}: the name must end in {', '.join(most)} or {last}")


def _buffered(write: Callable[[Any], None]) -> bytes:
    """Return the bytes that a function writes to a file."""
    sink = pa.BufferOutputStream()
    write(sink)
    return bytes(sink.getvalue())


def _csv(table: pa.Table) -> bytes:
    return _buffered(lambda sink: arrow_csv.write_csv(_plain(table), sink))


def _plain(table: pa.Table) -> pa.Table:
    """Replace dictionaries by values; in a single column, missing by "", since empty lines are ignored."""
    for number, field in enumerate(table.schema):
        column = table.column(number)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if table.num_columns == 1 and column.null_count:
            column = pc.fill_null(column.cast(pa.string()), "")
        table = table.set_column(number, field.name, column)
    return table


def _arrow(table: pa.Table) -> bytes:
    return _buffered(lambda sink: feather.write_feather(table, sink, compression="uncompressed"))


_WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    ".csv": _csv,
    ".csv.gz": lambda table: gzip.compress(_csv(table), 6, mtime=0),  # no time stamp: equal bytes
    ".csv.bz2": lambda table: bz2.compress(_csv(table)),
    ".csv.zst": lambda table: pa.compress(_csv(table), "zstd", asbytes=True),
    ".parquet": lambda table: _buffered(lambda sink: parquet.write_table(table, sink, compression="zstd")),
    ".arrow": _arrow,
    ".feather": _arrow,
}
