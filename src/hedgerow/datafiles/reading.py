"""read_data: a file on disk becomes an Arrow table, whatever the file is called."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import feather, ipc, parquet

from hedgerow.datafiles import content
from hedgerow.datafiles.delimited import read_delimited
from hedgerow.datafiles.errors import DataFileError, one_line, shown_path
from hedgerow.datafiles.names import check_columns, nearest_names
from hedgerow.datafiles.settling import settle, with_decimal_commas

_HEAD = 4096  # bytes that tell what a file is


def read_data(path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> pa.Table:
    r"""Read a table from a file: CSV, Parquet or Arrow, told by its content and not by its name.

    Parameters
    ----------
    path : str or path
        CSV and its relatives: values separated by commas, semicolons, tabs or bars (found out), a first line
        of names, UTF-8 with or without byte-order mark, line ends of any kind. Parquet. Arrow's file and
        stream formats, Feather. Each may be compressed by gzip, bzip2, xz, Zstandard or LZ4.
    columns : sequence of str, optional
        Read these columns only, in this order.

    Returns
    -------
    pyarrow.Table
        At least one row. Columns of Parquet and Arrow files have the types of the file. Columns of a CSV file
        have the type that all their values have: integers, numbers, true and false, dates
        (2024-05-17, 2024-05-17 12:30:00), else text. Empty values and NA, N/A, NaN, null, None and ? are
        missing (- too, among numbers and dates; not NA among two-letter codes). A column with leading
        zeros, such as the postal code 01234, stays text, because a number would lose them. Outer spaces of
        names and values are removed. If the separator is no comma, 3,14 is a number. A column without a name
        is called column_N by its place.

    Raises
    ------
    DataFileError
        If the file is not there, cannot be read, or is something else; in one line that says what it is.

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
    with _named(path):
        data = _content(path)
        table = _read_table_file(path, columns) if data is None else _read_bytes(data, columns)
        if table.num_rows == 0:
            raise DataFileError("it holds no rows")
        if table.num_columns == 0:
            raise DataFileError("it holds no columns")
    return table


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong into a DataFileError that begins with the file."""
    name = shown_path(path)
    if "\0" in os.fspath(path):
        raise DataFileError(f"{name}: no file can have that name")
    try:
        yield
    except DataFileError as error:
        raise DataFileError(f"{name}: {error}") from error.__cause__
    except FileNotFoundError as error:
        raise DataFileError(f"{name}: {_not_there(path)}") from error
    except IsADirectoryError as error:
        raise DataFileError(f"{name}: it is a folder; give the name of a file") from error
    except PermissionError as error:
        raise DataFileError(f"{name}: it may not be read (permission denied)") from error
    except MemoryError as error:
        raise DataFileError(f"{name}: it does not fit into memory; read fewer columns or rows") from error
    except OSError as error:
        raise DataFileError(f"{name}: it cannot be read ({one_line(error)})") from error


def _not_there(path: str | os.PathLike[str]) -> str:
    """Say that a file is missing and, if the folder holds a like name, which."""
    wanted = Path(path)
    try:
        stems = {entry.name.partition(".")[0]: entry.name for entry in wanted.parent.iterdir()}
    except OSError:
        return f"there is no folder {shown_path(wanted.parent)}"
    near = nearest_names(wanted.name.partition(".")[0], stems, 1)
    return "there is no such file" + (f"; did you mean {stems[near[0]]!r}?" if near else "")


def _content(path: str | os.PathLike[str]) -> bytes | None:
    """The bytes of a file, unpacked; None for a Parquet or Arrow file that Arrow reads from disk itself."""
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
        if not head:
            raise DataFileError("it is empty")
        if not content.is_packed(head):
            kind = content.what_it_is(head)  # refuses what is no data before all of it is read
            if kind != content.TEXT and file.seekable():
                return None
        return content.unpacked(head + file.read())


def _read_table_file(path: str | os.PathLike[str], columns: Sequence[str] | None) -> pa.Table:
    with Path(path).open("rb") as file:
        kind = content.what_it_is(file.read(_HEAD))
    with pa.OSFile(os.fspath(path)) as source:
        return _read_binary(kind, source, columns)


def _read_bytes(data: bytes, columns: Sequence[str] | None) -> pa.Table:
    if not data:
        raise DataFileError("it is empty")
    if content.is_packed(data[:_HEAD]):
        raise DataFileError("it is compressed twice; unpack it once")
    kind = content.what_it_is(data)
    if kind != content.TEXT:
        return _read_binary(kind, pa.BufferReader(data), columns)
    texts, separator = read_delimited(data, columns)
    settled = [settle(column) for column in texts.columns]
    if separator != ",":
        settled = [with_decimal_commas(column) for column in settled]
    return pa.table(settled, names=texts.column_names)


def _read_binary(kind: str, source: Any, columns: Sequence[str] | None) -> pa.Table:
    """Read Parquet and Arrow formats; what is cut short or damaged is refused."""
    title = "an Arrow" if kind != content.PARQUET else "a Parquet"
    try:
        table = _READERS[kind](source, columns)
        table.validate(full=True)  # offsets and letters too: later steps trust them
    except DataFileError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DataFileError(
            f"it begins as {title} file but is damaged or cut short ({one_line(error, 100)}); fetch or write "
            "it again"
        ) from error
    return table


def _read_parquet(source: Any, columns: Sequence[str] | None) -> pa.Table:
    file = parquet.ParquetFile(source)
    check_columns(columns, file.schema_arrow.names)
    table = file.read(columns=None if columns is None else list(columns))
    return table if columns is None else table.select(list(columns))


def _read_stream(open_it: Callable[[Any], Any]) -> Callable[[Any, Sequence[str] | None], pa.Table]:
    def read(source: Any, columns: Sequence[str] | None) -> pa.Table:
        with open_it(source) as reader:
            check_columns(columns, reader.schema.names)
            table = reader.read_all()
        return table if columns is None else table.select(list(columns))

    return read


def _read_feather(source: Any, columns: Sequence[str] | None) -> pa.Table:
    table = feather.read_table(source)
    check_columns(columns, table.column_names)
    return table if columns is None else table.select(list(columns))


_READERS: dict[str, Callable[[Any, Sequence[str] | None], pa.Table]] = {
    content.PARQUET: _read_parquet,
    content.ARROW_FILE: _read_stream(ipc.open_file),
    content.ARROW_STREAM: _read_stream(ipc.open_stream),
    content.FEATHER_1: _read_feather,
}
