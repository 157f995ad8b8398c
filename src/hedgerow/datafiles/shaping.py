"""One column of any file becomes the feature that a recipe plans; what does not fit is named."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.dates import as_moments
from hedgerow.datafiles.errors import DataFileError, shown_value
from hedgerow.datafiles.settling import is_text, settle
from hedgerow.datafiles.spelling import as_categories, can_be_category

_WORDS = {"number": "numbers", "boolean": "true or false", "date": "dates"}


def as_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Numbers as float64, null where missing; integers, truth values and numbers in texts fit too.

    >>> as_numbers(pa.chunked_array([["1", " 2.5", "NA"]]), "age").to_pylist()
    [1.0, 2.5, None]
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_float64(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64())
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return values.cast(pa.float64(), safe=False)  # unsafe: integers beyond 2**53 are rounded
    if is_text(kind):
        try:  # 01234, which settling leaves a text
            return values.cast(pa.float64())
        except pa.ArrowInvalid:
            _refuse_text(values, name)
    raise _not(values, name, "number")


def _refuse_text(values: pa.ChunkedArray, name: str) -> None:
    for value in pc.unique(values).to_pylist():
        try:
            float(value if value is not None else 0)
        except ValueError:
            row = pc.index(values, pa.scalar(value, values.type)).as_py()
            raise _not(values, name, "number", row) from None


def as_truths(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Truth values, null where missing; 0 and 1, true and false in texts fit too.

    >>> as_truths(pa.chunked_array([[1, 0, None]]), "smoker").to_pylist()
    [True, False, None]
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return values.cast(pa.bool_())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = as_numbers(values, name)
        numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
        fits = pc.fill_null(pc.or_(pc.equal(numbers, 0.0), pc.equal(numbers, 1.0)), fill_value=True)
        if pc.all(fits).as_py() is not False:
            return pc.equal(numbers, 1.0)
        raise _not(values, name, "boolean", pc.index(fits, value=False).as_py())
    if is_text(kind):
        fits = pc.fill_null(
            pc.is_in(pc.utf8_lower(values), value_set=pa.array(["true", "false", "0", "1"])), fill_value=True
        )
        fits = pc.or_(fits, pc.is_null(values))
        raise _not(values, name, "boolean", max(pc.index(fits, value=False).as_py(), 0))
    raise _not(values, name, "boolean")


def as_dates(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Timestamps in microseconds, null where missing; dates in texts fit too.

    >>> as_dates(pa.chunked_array([["2024-05-17", None]]), "born").null_count
    1
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_null(kind):
        return values.cast(pa.timestamp("us"))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return as_moments(values, name)
    raise _not(values, name, "date", _first_undated(values) if is_text(kind) else None)


def _first_undated(values: pa.ChunkedArray) -> int:
    fits = pc.fill_null(pc.match_substring_regex(values, r"^\d{4}-\d\d-\d\d([T ].*)?$"), fill_value=True)
    return max(int(pc.index(fits, value=False).as_py()), 0)


def as_category_column(column: pa.ChunkedArray, name: str) -> pa.DictionaryArray:
    """Categories as dictionary<string>; see `spelling`.

    >>> as_category_column(pa.chunked_array([[1, 2]]), "zone").to_pylist()
    ['1', '2']
    """
    if not can_be_category(column.type):
        raise DataFileError(
            f"column {shown_value(name)} has the type {shown_value(column.type)}, which cannot be categories"
        )
    return as_categories(column)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return settle(column)


def _not(values: pa.ChunkedArray, name: str, kind: str, row: int | None = None) -> DataFileError:
    """The error for a column that does not hold what the recipe plans; with the value that shows it."""
    if row is None:
        known = pc.is_valid(values)
        row = int(pc.index(known, value=True).as_py())
    value: Any = values[row].as_py()
    return DataFileError(
        f"column {shown_value(name)} must hold {_WORDS[kind]}, as in training, but row {row + 1} holds "
        f"{shown_value(value)}"
    )
