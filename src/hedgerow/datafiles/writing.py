"""write_data: an Arrow table becomes a file, whole or not at all."""

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from hedgerow.container import write_atomically
from hedgerow.datafiles.errors import DataFileError, one_line, shown_path
from hedgerow.datafiles.names import check_distinct

_ALLOWED = ".csv, .csv.gz, .csv.bz2, .csv.zst, .parquet, .arrow or .feather"


def write_data(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, of the kind that its name says.

    Parameters
    ----------
    table : pyarrow.Table
        What to write.
    path : str or path
        Ends in .csv (.csv.gz, .csv.bz2 and .csv.zst compress), .parquet, .arrow or .feather. A file of that
        name is replaced, at once: whenever the process ends, the old file or the new one is there, whole.

    Raises
    ------
    DataFileError
        If the name ends otherwise, the folder is missing, or a column has a type that the format cannot hold.

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
    name = shown_path(path)
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
    r"""How a table becomes the bytes of a file of this name; DataFileError if the suffix says nothing.

    Examples
    --------
    >>> writer_of("x.csv")(pa.table({"a": [1]}))
    b'"a"\n1\n'
    """
    lowered = Path(path).name.lower()
    for suffix, writer in _WRITERS.items():
        if lowered.endswith(suffix):
            return writer
    raise DataFileError(f"{shown_path(path)}: the name must end in {_ALLOWED}")


def _csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(_plain(table), sink)
    return bytes(sink.getvalue())


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries as their values; missing as "" if the only column, since empty lines do not count."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if table.num_columns == 1 and column.null_count:
            column = pc.fill_null(column.cast(pa.string()), "")
        table = table.set_column(place, field.name, column)
    return table


def _zst(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(_csv(table))
    return bytes(sink.getvalue())


def _gzip(table: pa.Table) -> bytes:
    return gzip.compress(_csv(table), 6, mtime=0)  # no time: the same table gives the same bytes


def _bzip2(table: pa.Table) -> bytes:
    return bz2.compress(_csv(table))


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    feather.write_feather(table, sink, compression="uncompressed")
    return bytes(sink.getvalue())


_WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    ".csv": _csv,
    ".csv.gz": _gzip,
    ".csv.bz2": _bzip2,
    ".csv.zst": _zst,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
