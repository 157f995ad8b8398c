"""Read a table from a file on disk, from standard input, or from a sheet or table inside a file."""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import feather, ipc, parquet
from pyarrow import json as arrow_json

from hedgerow.datafiles import errors, formats
from hedgerow.datafiles.databases import read_duckdb, read_sqlite
from hedgerow.datafiles.delimited import read_delimited
from hedgerow.datafiles.encodings import to_utf8
from hedgerow.datafiles.errors import DataFileError, check_columns, format_path, one_line
from hedgerow.datafiles.findings import ReadOptions, UndecidedError
from hedgerow.datafiles.frames import values_to_arrow
from hedgerow.datafiles.typed_table import TypedTable
from hedgerow.datafiles.workbooks import read_workbook

STANDARD_INPUT = "-"
_HEAD = 4096  # bytes that determine the format of a file
_REASONS: dict[type[Exception], str] = {
    IsADirectoryError: "it is a folder; pass the name of a file",
    PermissionError: "it may not be read (permission denied)",
    MemoryError: "it does not fit into memory; read fewer columns or rows",
}


def read_data(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    options: ReadOptions | None = None,
) -> pa.Table:
    r"""Read a table from a file; its format is detected from its content and not from its name.

    Parameters
    ----------
    path : str or path
        Delimited text: values separated by commas, semicolons, tabs or bars (detected), a line of names,
        any encoding and line ends. Lines above the names, a row of units below them and totals below the
        rows are left out; fields missing at the end of a row are missing values. JSON: an object on each
        line, or an array of objects. Parquet. Arrow's file and stream formats, Feather. Each may be
        compressed by gzip, bzip2, xz, Zstandard or LZ4, or be the only file of a zip archive. A workbook of
        Excel (.xlsx): its first sheet, or ``book.xlsx::Sheet``. A database: ``file.db::table`` of SQLite,
        ``file.duckdb::table`` of DuckDB. ``-`` is standard input.
    columns : sequence of str, optional
        Read these columns only, in this order.
    options : ReadOptions, optional
        The encoding, the decimal sign, further markers of missing values, formats of dates, and whether to
        leave out lines with more fields than the header has names.

    Returns
    -------
    pyarrow.Table
        A table of at least one row. Columns of Parquet and Arrow files have the types of the file. Columns
        of texts have the type that all their values have: integers, numbers (also 1,234.50, 1.234,50, $5,
        12 %), booleans, dates (2024-05-17, 17.5.2024, 5/17/24 10:00 PM, 17 May 2024), times of day (14:05),
        otherwise text. Empty values and NA, N/A, NaN, null, None, ? and errors of Excel such as #DIV/0! are
        missing (also - among numbers and dates; not NA among two-letter codes). A column with leading zeros,
        such as the postal code 01234, stays text, because a number would lose them. Leading and trailing
        spaces of names and values are removed. A column without a name is called column_N by its position.

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
    ...     _ = path.write_text("age;born;zip\n31;1.2.1993;01234\n;30.11.1990;98765\n")
    ...     table = read_data(path)
    >>> [str(field.type) for field in table.schema]
    ['int64', 'date32[day]', 'string']
    >>> table["age"].to_pylist()
    [31, None]
    """
    return read_typed(path, columns=columns, options=options).typed()


def read_typed(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    options: ReadOptions | None = None,
) -> TypedTable:
    r"""Read a table as `read_data` does, for functions that need the types of all columns.

    Parameters
    ----------
    path, columns, options
        As in `read_data`.

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
        table = _read(path, columns, options or ReadOptions())
        if table.num_rows == 0:
            raise DataFileError("it holds no rows")
        if not table.column_names:
            raise DataFileError("it holds no columns")
    return table


def split_source(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Return the path of a file and the name of a sheet, table or archived file inside it.

    >>> split_source("book.xlsx::Sheet 2")
    (PosixPath('book.xlsx'), 'Sheet 2')
    """
    text = os.fspath(path)
    outer, separator, inner = text.rpartition("::")
    if not separator or not outer or os.path.exists(text):  # noqa: PTH110 - false for impossible names
        return Path(text), None
    return Path(outer), inner


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert every error into a DataFileError that begins with the path."""
    name = format_path(path)
    if "\0" in os.fspath(path):
        raise DataFileError(f"{name}: no file can have that name")
    try:
        yield
    except UndecidedError as error:  # keeps the options that solve it
        error.args = (f"{name}: {error}",)
        raise
    except DataFileError as error:
        raise DataFileError(f"{name}: {error}") from error.__cause__
    except FileNotFoundError as error:
        raise DataFileError(f"{name}: {_file_not_found(split_source(path)[0])}") from error
    except (OSError, MemoryError) as error:
        reasons = [reason for kind, reason in _REASONS.items() if isinstance(error, kind)]
        reason = reasons[0] if reasons else f"it cannot be read ({one_line(error)})"
        raise DataFileError(f"{name}: {reason}") from error


def _file_not_found(wanted: Path) -> str:
    """Return the message for a missing file, with a similar name of the folder if there is one."""
    try:
        stems = {entry.name.partition(".")[0]: entry.name for entry in wanted.parent.iterdir()}
    except OSError:
        return f"there is no folder {format_path(wanted.parent)}"
    near = errors.nearest_names(wanted.name.partition(".")[0], stems, 1)
    return "there is no such file" + (f"; did you mean {stems[near[0]]!r}?" if near else "")


def _read(path: str | os.PathLike[str], columns: Sequence[str] | None, options: ReadOptions) -> TypedTable:
    if os.fspath(path) == STANDARD_INPUT:
        return _read_bytes(sys.stdin.buffer.read(), None, columns, options)
    file_path, inner = split_source(path)
    with file_path.open("rb") as file:
        head = file.read(_HEAD)
        if not formats.is_compressed(head):
            kind = formats.detect_format(head)  # rejects other formats before all bytes are read
            if kind in (formats.SQLITE, formats.DUCKDB):
                reader = read_sqlite if kind == formats.SQLITE else read_duckdb
                return TypedTable(_selected(reader(file_path, inner), columns), options)
            if kind in _BINARY and file.seekable():
                _refuse_inner(inner)
                with pa.OSFile(os.fspath(file_path)) as source:
                    return TypedTable(_read_binary(kind, source, columns), options)
        data = head + file.read()
    return _read_bytes(data, inner, columns, options)


def _read_bytes(
    data: bytes, inner: str | None, columns: Sequence[str] | None, options: ReadOptions
) -> TypedTable:
    data = formats.decompress(data)
    if not data:
        raise DataFileError("it is empty")
    if formats.is_compressed(data[:_HEAD]):
        raise DataFileError("it is compressed twice; decompress it once")
    kind = formats.detect_format(data)
    if kind == formats.ZIP:
        return _read_zip(data, inner, columns, options)
    _refuse_inner(inner)
    if kind in (formats.SQLITE, formats.DUCKDB):
        raise DataFileError("it is a database inside another file; pass the database itself")
    if kind == formats.JSON:
        return TypedTable(_selected(_read_json(to_utf8(data, options.encoding)[0]), columns), options)
    if kind != formats.TEXT:
        return TypedTable(_read_binary(kind, pa.BufferReader(data), columns), options)
    text, guesses = to_utf8(data, options.encoding)
    table, separator, findings = read_delimited(text, columns, skip_bad_lines=options.skip_bad_lines)
    return TypedTable(table, options, [*guesses, *findings], is_text_file=True, comma_file=separator == ";")


def _refuse_inner(inner: str | None) -> None:
    if inner is not None:
        raise DataFileError(f"it holds one table only; leave out ::{inner}")


def _selected(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    check_columns(columns, table.column_names)
    return table if columns is None else table.select(list(columns))


def _read_zip(
    data: bytes, inner: str | None, columns: Sequence[str] | None, options: ReadOptions
) -> TypedTable:
    """Read a workbook, or the only file of an archive, or the one that `inner` names."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [
                name
                for name in archive.namelist()
                if not name.endswith("/") and not name.startswith("__MACOSX") and Path(name).name[:1] != "."
            ]
            if "xl/workbook.xml" in names:
                table, findings = read_workbook(data, inner)
                return TypedTable(_selected(table, columns), options, findings, is_text_file=True)
            if any(name.endswith(".npy") for name in names):
                raise DataFileError("it is a NumPy archive; save it as CSV or Parquet with named columns")
            if inner is None and len(names) == 1:
                inner = names[0]
            if inner not in names:
                raise DataFileError(_no_member(inner, names))
            content = archive.read(inner)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, KeyError) as error:
        raise DataFileError(
            f"it begins as a zip archive or workbook but is damaged, truncated or encrypted "
            f"({one_line(error, 80)})"
        ) from error
    if content.startswith(b"PK\x03\x04") and b"xl/" not in content:
        raise DataFileError("it is a zip archive inside another one; decompress it first")
    return _read_bytes(content, None, columns, options)


def _no_member(inner: str | None, names: list[str]) -> str:
    if not names:
        return "it is a zip archive without files"
    if inner is not None:
        return errors.unknown_name(inner, names, "file")
    listed = ", ".join(map(repr, names[:5])) + (" ..." if len(names) > 5 else "")
    return f"it is a zip archive of {len(names)} files ({listed}); name one: FILE.zip::{names[0]}"


def _read_json(data: bytes) -> pa.Table:
    """Read objects, one on each line or in an array; a column of values of several types becomes text."""
    is_array = data.lstrip()[:1] == b"["
    if not is_array:
        try:
            options = arrow_json.ReadOptions(block_size=max(len(data), 1 << 16))
            return arrow_json.read_json(pa.BufferReader(data), options)
        except (pa.ArrowException, ValueError):  # of several types, or not JSON
            pass
    try:
        text = data.decode()
        rows = (
            json.loads(text) if is_array else [json.loads(line) for line in text.split("\n") if line.strip()]
        )
    except (ValueError, RecursionError) as error:
        raise DataFileError(
            f"it is JSON, but not JSON lines, one object per line, or an array of objects "
            f"({one_line(error, 80)})"
        ) from error
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataFileError(f"it is JSON, but its row {number} is not an object")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: values_to_arrow([row.get(name) for row in rows], name) for name in names})


def _read_binary(kind: str, source: Any, columns: Sequence[str] | None) -> pa.Table:
    """Read Parquet and Arrow formats; damaged and truncated files are refused."""
    title = "an Arrow" if kind != formats.PARQUET else "a Parquet"
    try:
        if kind == formats.PARQUET:
            file = parquet.ParquetFile(source)
            check_columns(columns, file.schema_arrow.names)
            table = file.read(columns=None if columns is None else list(columns))
        else:
            table = _BINARY[kind](source)
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


_BINARY: dict[str, Callable[[Any], pa.Table]] = {
    formats.PARQUET: parquet.read_table,
    formats.ARROW_FILE: lambda source: ipc.open_file(source).read_all(),
    formats.ARROW_STREAM: lambda source: ipc.open_stream(source).read_all(),
    formats.FEATHER_1: feather.read_table,
}
