"""Data frames in memory (pandas, polars, Arrow) become the Arrow tables that recipes read.

Columns of numbers, dates, booleans, texts and categories keep their types. A column of Python objects of
several types becomes text, as a file would hold it.
"""

import datetime as dt
import decimal
from collections.abc import Collection
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from hedgerow._typing import is_missing
from hedgerow.datafiles.errors import DataFileError, check_distinct, format_value, one_line


def frame_to_arrow(frame: Any, columns: Collection[str] | None = None) -> pa.Table:
    """Return a data frame as an Arrow table; names of columns become texts.

    Parameters
    ----------
    frame : pandas or polars DataFrame, pyarrow Table or RecordBatch
    columns : collection of str, optional
        Convert these columns only; names that the frame does not have are ignored.

    Returns
    -------
    pyarrow.Table
        A table with the same columns; the index of a pandas DataFrame is left out.

    Examples
    --------
    >>> import polars as pl
    >>> frame_to_arrow(pl.DataFrame({"size": [1, None], "born": ["17.5.2024", "?"]})).to_pydict()
    {'size': [1, None], 'born': ['17.5.2024', '?']}
    """
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        wanted = [
            number for number, name in enumerate(frame.column_names) if columns is None or name in columns
        ]
        return frame.select(wanted)
    native = nw.from_native(frame, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        raise DataFileError("the data frame is lazy; collect it first, for example with frame.collect()")
    if not isinstance(native, nw.DataFrame):
        kind = type(frame).__name__
        raise DataFileError(f"a data frame of pandas, polars or Arrow is needed; got {format_value(kind)}")
    names = [str(name) for name in native.columns]
    check_distinct(names)
    found = {
        name: _to_arrow(column, name)
        for name, column in zip(names, native.iter_columns(), strict=True)
        if columns is None or name in columns
    }
    return pa.table(found)


def _to_arrow(column: Any, name: str) -> Any:
    if isinstance(column.dtype, nw.Object):
        return values_to_arrow(column.to_list(), name)
    array = column.to_arrow()
    if isinstance(column.dtype, nw.Categorical | nw.Enum) and not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return array


def values_to_arrow(values: list[Any], name: str) -> Any:
    """Convert Python objects: of one type as Arrow does, otherwise to texts."""
    known = [None if is_missing(value) else value for value in values]
    kinds = {type(value) for value in known if value is not None}
    are_numbers = kinds <= {int, float, bool} and (len(kinds) < 2 or bool not in kinds)
    if len(kinds) > 1 and not are_numbers:
        known = [value if value is None or isinstance(value, str) else _text(value) for value in known]
    try:
        return pa.array(known, pa.float64() if are_numbers and float in kinds else None)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataFileError(
            f"column {format_value(name)} holds Python objects that are not values of a table "
            f"({one_line(error, 80)})"
        ) from error


def _text(value: Any) -> Any:
    """Return a value as a file would hold it; nested values stay unchanged and are refused later."""
    plain = (bool, int, float, decimal.Decimal, dt.date, dt.time)  # datetime is a date
    return str(value) if isinstance(value, plain) else value
