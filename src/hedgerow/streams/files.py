"""Parquet and Arrow files: find those of a path, and read their columns and batches.

The first bytes of a file determine its format (`hedgerow.datafiles`). Reading takes little memory: a Parquet
file is read through small buffers, an Arrow file is mapped.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from hedgerow.datafiles import DataFileError, formats
from hedgerow.datafiles.errors import format_path, format_value, one_line

_HEAD = 4096  # bytes that determine the format of a file
_LONG = 300  # characters of a path that is shown in full
_SUFFIXES = (".parquet", ".arrow", ".feather")
_READ = {formats.PARQUET: "a Parquet", formats.ARROW_FILE: "an Arrow", formats.ARROW_STREAM: "an Arrow"}


@dataclass(frozen=True)
class File:
    """A file of rows; `kind` is one of the formats of `hedgerow.datafiles.formats`."""

    path: str
    kind: str

    @property
    def name(self) -> str:
        """Its name in messages."""
        return format_path(self.path)

    def read_schema(self) -> tuple[pa.Schema, int | None]:
        """Return the columns, and the number of rows if the metadata contain it."""
        with _errors_name_file(self):
            if self.kind == formats.PARQUET:
                with parquet.ParquetFile(self.path) as file:
                    return file.schema_arrow, file.metadata.num_rows
            with pa.memory_map(self.path) as mapped, _open_arrow(self.kind, mapped) as reader:
                return reader.schema, None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Iterator[pa.RecordBatch]:
        """Yield its rows, with at least these columns: `rows` at a time, or stored batches of Arrow."""
        with _errors_name_file(self):
            if self.kind == formats.PARQUET:
                buffer = buffer_bytes(len(columns))
                with parquet.ParquetFile(self.path, buffer_size=buffer, pre_buffer=False) as file:
                    yield from file.iter_batches(rows, columns=list(columns), use_threads=use_threads)
                return
            with pa.memory_map(self.path) as mapped, _open_arrow(self.kind, mapped) as reader:
                if self.kind == formats.ARROW_FILE:
                    for number in range(reader.num_record_batches):
                        yield reader.get_batch(number)
                else:
                    yield from reader


def buffer_bytes(n_columns: int) -> int:
    """Bytes that are read ahead of each column of a Parquet file.

    >>> buffer_bytes(10), buffer_bytes(1000)
    (1048576, 33554)
    """
    return max(8192, min(1 << 20, (1 << 25) // max(1, n_columns)))


def _open_arrow(kind: str, source: Any) -> Any:
    return (ipc.open_file if kind == formats.ARROW_FILE else ipc.open_stream)(source)


@contextmanager
def _errors_name_file(file: File) -> Iterator[None]:
    """Raise errors of reading as one line that starts with the file."""
    try:
        yield
    except DataFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(
            f"{file.name}: it starts as {_READ[file.kind]} file but cannot be read ({one_line(error, 100)}); "
            "download or write it again"
        ) from error


# --- which files


def find_files(source: Any) -> list[File]:
    """Return the files of a path, a glob, a folder or a list of paths, in the order they are read."""
    if isinstance(source, list | tuple):
        return [file for path in source for file in find_files(path)]
    path = os.fspath(source)
    name = format_path(path)
    if not path or "\0" in path:
        raise DataFileError(f"X={path!r} cannot be the name of a file")
    if os.path.isdir(path):  # noqa: PTH112 - false for a string that is too long for a name
        return _in_folder(path)
    if os.path.exists(path) or not glob.has_magic(path):  # noqa: PTH110
        return [_check_file(path)]
    matched = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may begin anywhere
    paths = sorted(name for name in matched if not Path(name).is_dir())
    if not paths:
        raise DataFileError(f"{name}: no file matches")
    return [_check_file(name) for name in paths]


def _in_folder(path: str) -> list[File]:
    """Return the files of a folder, without other files such as those that mark a finished job."""
    files, entries = [], sorted(os.scandir(path), key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir() or entry.name.startswith((".", "_")):
            continue
        if entry.name.lower().endswith(_SUFFIXES):
            files.append(_check_file(entry.path))  # raises if it is broken: its rows would be missing
        elif entry.is_file() and (kind := _kind(entry.path)) in _READ:
            files.append(File(entry.path, kind))
    if not files:
        is_partitioned = any("=" in entry.name and entry.is_dir() for entry in entries)
        advice = (
            "pyarrow.dataset.dataset(path, partitioning='hive'), which also reads columns from folder names"
            if is_partitioned
            else "a glob such as rows/**/*.parquet"
        )
        raise DataFileError(
            f"{format_path(path)}: the folder has no Parquet or Arrow files; for files in subfolders pass "
            f"{advice}"
        )
    return files


def _check_file(path: str) -> File:
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - as above
        raise DataFileError(f"{format_path(path)}: it is a pipe or a device, which cannot be read twice")
    try:
        kind = _kind(path)
    except FileNotFoundError as error:
        more = "; for files on other machines pass a pyarrow.dataset.dataset" if "://" in path else ""
        raise DataFileError(f"{format_path(path)}: there is no such file{more}") from error
    except OSError as error:
        name = format_path(path) if len(path) <= _LONG else format_value(path)
        raise DataFileError(f"{name}: it cannot be read ({error.strerror})") from error
    if kind not in _READ:
        if not Path(path).stat().st_size:
            raise DataFileError(f"{format_path(path)}: it is an empty file; download or write it again")
        raise DataFileError(
            f"{format_path(path)}: it is not a Parquet or Arrow file, and only these are read in batches; "
            "write it as Parquet, or read it into memory"
        )
    return File(path, kind)


def _kind(path: str) -> str:
    """Return the format of a file, or TEXT for all formats that are not read here."""
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
    try:
        return formats.detect_format(head)
    except DataFileError:
        return formats.TEXT
