"""Values of one column: numbers, or categories.

A categorical column is a `CodedColumn`: one integer code per row, -1 for missing, into a list of distinct
values. Only the distinct values are compared as Python objects: 1, 1.0, np.int8(1) and True are one category
whatever the dtype, while 1 and "1" are two. A model stores the sorted categories of the training rows; the
number of a category is its position among them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MISSING_TYPES, AnyFloats, Floats, is_missing
from hedgerow.table.table import FLOAT32_INTEGERS

PlainValue: TypeAlias = str | bool | int | float  # a category as JSON can hold it


# --- categories


class CodedColumn(NamedTuple):
    """A categorical column; `values` may hold values that no row has."""

    codes: NDArray[np.integer[Any]]  # (n_rows,) positions in values, -1 for missing
    values: list[Any]  # distinct, in any order; may hold None or NaN for missing


def code_numbers(column: NDArray[Any]) -> CodedColumn:
    """Encode a numeric column; NaN is one of the values, later read as missing."""
    if column.dtype.kind == "f" and column.dtype.itemsize > np.dtype(np.float64).itemsize:
        column = column.astype(np.float64)  # longdouble scalars are not Python floats
    values, codes = np.unique(column, return_inverse=True)
    return CodedColumn(codes, values.tolist())


def code_objects(column: Iterable[Any], label: str) -> CodedColumn:
    """Encode any hashable Python values."""
    positions: dict[Any, int] = {}
    try:
        codes = np.fromiter((positions.setdefault(v, len(positions)) for v in column), dtype=np.int64)
    except TypeError as error:
        raise TypeError(
            f"{label} is categorical but holds an unhashable value ({error}); "
            "categories must be strings, numbers, booleans or other hashable values."
        ) from error
    return CodedColumn(codes, list(positions))


def plain_value(value: Any) -> PlainValue:
    """Return a category as a plain value; dates, intervals, tuples and the like become text.

    >>> plain_value(np.float32(0.5)), plain_value(b"red"), plain_value((1, 2))
    (0.5, 'red', '(1, 2)')
    """
    if isinstance(value, (bool, np.bool)):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):  # the second is an np.integer
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (Real, Decimal)):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return str(value)


def sorted_categories(column: CodedColumn) -> NDArray[Any]:
    """Return the distinct values that occur, sorted."""
    used = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)) > 0
    values = {
        plain_value(value)
        for value, occurs in zip(column.values, used.tolist(), strict=True)
        if occurs and not is_missing(value)
    }
    return _sorted_array(values)


def category_numbers(column: CodedColumn, positions: Mapping[PlainValue, int]) -> AnyFloats:
    """Return the position of every row's category as a float; NaN for missing and unknown ones."""
    wide = len(positions) > FLOAT32_INTEGERS
    dtype = np.float64 if wide else np.float32
    table: AnyFloats = np.full(len(column.values) + 1, np.nan, dtype=dtype)
    for position, value in enumerate(column.values):
        if not is_missing(value):
            table[position] = positions.get(plain_value(value), math.nan)
    numbers: AnyFloats = table[column.codes]  # -1 reads the last entry, NaN
    return numbers


def _sorted_array(values: set[PlainValue]) -> NDArray[Any]:
    """Sort by value if all values can be compared, else by (type name, text)."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(sorted(values), dtype=bool)
    folded = {_fold(value) for value in values}
    kinds = {type(value) for value in folded}
    if kinds == {str}:
        # NumPy string dtypes would drop trailing zero characters.
        return _objects(sorted(folded))
    if str in kinds:
        return _objects(sorted(folded, key=lambda value: (type(value).__name__, str(value))))
    return _number_array(sorted(folded))


def _fold(value: PlainValue) -> PlainValue:
    """Return the same form of equal numbers (1.0 and True become 1), whatever the order of the rows."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _number_array(ordered: list[Any]) -> NDArray[Any]:
    """Return an array of the first dtype of int64, uint64, float64 and object that represents all exactly."""
    if all(isinstance(value, int) for value in ordered):
        for dtype in (np.int64, np.uint64):
            limits = np.iinfo(dtype)
            if not ordered or (limits.min <= ordered[0] and ordered[-1] <= limits.max):
                return np.array(ordered, dtype=dtype)
    elif all(isinstance(value, float) or abs(value) <= 2**53 for value in ordered):
        return np.array(ordered, dtype=np.float64)
    return _objects(ordered)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# --- numbers


def numbers_of_objects(values: NDArray[Any], label: str, hint: str) -> Floats:
    """Convert Python numbers, None and NA to float64; raise an error for anything else."""
    check_numbers(values, label, hint)
    try:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # float() does not accept pandas.NA or integers beyond float64
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{label} must contain float64 numbers: {error}") from error


def check_numbers(values: list[Any] | NDArray[Any], label: str, hint: str) -> None:
    """Raise an error unless all Python objects are numbers or missing."""
    for kind in set(map(type, values)):  # by type: a column has few types
        value = next(value for value in values if type(value) is kind)
        if issubclass(kind, (str, bytes)):
            raise ValueError(f"{label} holds strings (for example {value!r}). {hint}")  # noqa: TRY004 - as scikit-learn
        if issubclass(kind, (complex, np.complexfloating)):
            raise ValueError(f"Complex data not supported: {label} holds {value!r}.")  # noqa: TRY004
        is_number = hasattr(kind, "__float__") and not issubclass(kind, (np.datetime64, np.timedelta64))
        if not is_number and kind is not type(None) and kind.__name__ not in MISSING_TYPES:
            raise TypeError(
                f"{label} holds a {kind.__name__}: a value of the X argument must be a string or a number. "
                f"{hint}"
            )


# --- names


def string_names(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the column names of a data frame if all are strings, None if none is."""
    strings = [isinstance(name, str) for name in columns]
    if all(strings):
        return tuple(str(name) for name in columns) or None
    if any(strings):
        types = sorted({type(name).__name__ for name in columns})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. Make them all strings, for "
            "example with X.columns = X.columns.astype(str)."
        )
    return None
