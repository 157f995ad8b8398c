"""Read a table or view of a database: SQLite by Python's own module, DuckDB if it is installed."""

import importlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from hedgerow.datafiles.errors import DataFileError, one_line, unknown_name
from hedgerow.datafiles.frames import values_to_arrow

_TABLES = (
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' "
    "order by name"
)
_DUCKDB_TABLES = "select table_name from information_schema.tables order by table_name"


def read_sqlite(path: Path, name: str | None) -> pa.Table:
    """Return a table or view of an SQLite database; without a name, its only one.

    The database is opened for reading only.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = [row[0] for row in database.execute(_TABLES)]
            rows = database.execute(f"select * from {_quoted(_chosen(name, names))}")  # noqa: S608 - quoted
            columns = [column[0] for column in rows.description]
            values = list(zip(*rows.fetchall(), strict=True)) or [()] * len(columns)
    except sqlite3.Error as error:
        raise DataFileError(
            f"it begins as an SQLite database but cannot be read ({one_line(error, 80)})"
        ) from error
    arrays = [values_to_arrow(list(column), name) for column, name in zip(values, columns, strict=True)]
    return pa.table(arrays, names=columns)


def read_duckdb(path: Path, name: str | None) -> pa.Table:
    """Return a table or view of a DuckDB database; see `read_sqlite`."""
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError as error:
        raise DataFileError("it is a DuckDB database; reading it needs: pip install duckdb") from error
    try:
        with duckdb.connect(str(path), read_only=True) as database:
            names = [row[0] for row in database.execute(_DUCKDB_TABLES).fetchall()]
            rows = database.sql(f"select * from {_quoted(_chosen(name, names))}")  # noqa: S608 - quoted
            return rows.to_arrow_table()
    except duckdb.Error as error:
        raise DataFileError(
            f"it begins as a DuckDB database but cannot be read ({one_line(error, 80)})"
        ) from error


def _chosen(name: str | None, names: list[str]) -> str:
    if not names:
        raise DataFileError("it is a database without tables")
    if name is None:
        if len(names) > 1:
            listed = ", ".join(map(repr, names[:5])) + (" ..." if len(names) > 5 else "")
            raise DataFileError(
                f"it is a database of {len(names)} tables ({listed}); name one: FILE::{names[0]}"
            )
        return names[0]
    if name not in names:
        raise DataFileError(unknown_name(name, names, "table"))
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
