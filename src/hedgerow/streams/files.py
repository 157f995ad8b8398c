"""Parquet and Arrow files: which ones a path means, their columns, and their batches.

A file is told by its first bytes, as everywhere (`hedgerow.datafiles`), and read with little memory: a
Parquet file through small buffers, an Arrow file mapped.
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

_HEAD = 4096  # bytes that tell what a file is
_LONG = 300  # letters of a path that is shown in full
_SUFFIXES = (".parquet", ".arrow", ".feather")
_READ = {formats.PARQUET: "a Parquet", formats.ARROW_FILE: "an Arrow", formats.ARROW_STREAM: "an Arrow"}


@dataclass(frozen=True)
class File:
    """A file of rows.

    Parameters
    ----------
    path : str
    kind : str
        One of those that `hedgerow.datafiles.formats` tells.
    """

    path: str
    kind: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return format_path(self.path)

    def look(self) -> tuple[pa.Schema, int | None]:
        """Its columns, and how many rows it has if that stands at its end."""
        with _named(self):
            if self.kind == formats.PARQUET:
                with parquet.ParquetFile(self.path) as file:
                    return file.schema_arrow, file.metadata.num_rows
            with pa.memory_map(self.path) as mapped, _open_arrow(self.kind, mapped) as reader:
                return reader.schema, None

    def batches(self, columns: Sequence[str], rows: int, *, use_threads: bool) -> Iterator[pa.RecordBatch]:
        """Its rows, of these columns at least; a Parquet file gives `rows` at a time, others as written."""
        with _named(self):
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
def _named(file: File) -> Iterator[None]:
    """Turn what goes wrong while reading into an error of one line that begins with the file."""
    try:
        yield
    except DataFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(
            f"{file.name}: it begins as {_READ[file.kind]} file but cannot be read ({one_line(error, 100)}); "
            "fetch or write it again"
        ) from error


# --- which files


def find_files(source: Any) -> list[File]:
    """The files that a path, a glob, a folder or a list of paths means, in the order they are read."""
    if isinstance(source, list | tuple):
        return [file for one in source for file in find_files(one)]
    path = os.fspath(source)
    name = format_path(path)
    if not path or "\0" in path:
        raise DataFileError(f"X={path!r}: no file can have that name")
    if os.path.isdir(path):  # noqa: PTH112 - says no to a text that is too long for a name
        return _in_folder(path)
    if os.path.exists(path) or not glob.has_magic(path):  # noqa: PTH110
        return [_checked(path)]
    matched = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may begin anywhere
    found = sorted(one for one in matched if not Path(one).is_dir())
    if not found:
        raise DataFileError(f"{name}: no file has a name like that")
    return [_checked(one) for one in found]


def _in_folder(path: str) -> list[File]:
    """Files that others have put beside the data, notes or marks of a finished job, are left alone."""
    found, entries = [], sorted(os.scandir(path), key=lambda entry: entry.name)
    for one in entries:
        if one.is_dir() or one.name.startswith((".", "_")):
            continue
        if one.name.lower().endswith(_SUFFIXES):
            found.append(_checked(one.path))  # refuses one that is broken: its rows would be missing
        elif one.is_file() and (kind := _kind(one.path)) in _READ:
            found.append(File(one.path, kind))
    if not found:
        is_parted = any("=" in one.name and one.is_dir() for one in entries)
        raise DataFileError(
            f"{format_path(path)}: the folder holds no Parquet or Arrow files; folders in it are not looked "
            + (
                "into: give pyarrow.dataset.dataset(path, partitioning='hive'), which reads columns from "
                "their names too"
                if is_parted
                else "into, a glob such as rows/**/*.parquet does that"
            )
        )
    return found


def _checked(path: str) -> File:
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - as above
        raise DataFileError(f"{format_path(path)}: it is a pipe or a device, and rows are read twice")
    try:
        kind = _kind(path)
    except FileNotFoundError as error:
        more = "; give a pyarrow.dataset.dataset of what is not on this machine" if "://" in path else ""
        raise DataFileError(f"{format_path(path)}: there is no such file{more}") from error
    except OSError as error:
        name = format_path(path) if len(path) <= _LONG else format_value(path)
        raise DataFileError(f"{name}: it cannot be read ({error.strerror})") from error
    if kind not in _READ:
        if not Path(path).stat().st_size:
            raise DataFileError(f"{format_path(path)}: it is an empty file; fetch or write it again")
        raise DataFileError(
            f"{format_path(path)}: it is no Parquet or Arrow file, and only these are read batch by batch; "
            "write it as Parquet, or read it into memory"
        )
    return File(path, kind)


def _kind(path: str) -> str:
    """What the file is, TEXT for whatever is not read here."""
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
    try:
        return formats.detect_format(head)
    except DataFileError:
        return formats.TEXT
