"""Write a table to a file, in the format of its suffix."""

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from hedgerow.container import write_atomically
from hedgerow.datafiles.errors import DataFileError, check_distinct, format_path, one_line


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
