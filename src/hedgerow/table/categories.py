"""A categorical column: codes (one integer a row, -1 for missing) into a list of distinct values.

Every kind of input is brought to that form, Labels, because then only the distinct values, few
beside the rows, need Python's own rules of equality: 1, 1.0, np.int8(1) and True are one category
whatever the dtype, while 1 and "1" are two.  The model keeps the categories that occur in
training, sorted; the number of a category is its place there.
"""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plain: TypeAlias = str | bool | int | float  # what JSON can hold, hence what a category may be

FLOAT32_INTEGERS = 2**24  # below this every integer is exact in float32


class Labels(NamedTuple):
    """A categorical column before its numbers are known; `values` may hold unused ones."""

    codes: NDArray[np.integer[Any]]  # (n_rows,) places in values, -1 for missing
    values: list[Any]  # distinct, in any order; may hold None or NaN for missing


def labels_of_numbers(column: NDArray[Any]) -> Labels:
    """Find the labels of a numeric column; NaN is one of the values, later read as missing."""
    if column.dtype.kind == "f" and column.dtype.itemsize > np.dtype(np.float64).itemsize:
        column = column.astype(np.float64)  # longdouble: its scalars are no Python floats
    values, codes = np.unique(column, return_inverse=True)
    return Labels(codes, values.tolist())


def labels_of_objects(column: Iterable[Any], label: str) -> Labels:
    """Find the labels of any hashable Python values."""
    places: dict[Any, int] = {}
    try:
        codes = np.fromiter((places.setdefault(v, len(places)) for v in column), dtype=np.int64)
    except TypeError as error:
        raise TypeError(
            f"{label} is categorical but holds an unhashable value ({error}); "
            "categories must be strings, numbers, booleans or other hashable values."
        ) from error
    return Labels(codes, list(places))


def is_missing(value: Any) -> bool:
    """Whether a value stands for "missing": None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")  # by name: pandas stays optional


def plain(value: Any) -> Plain:
    """Give a category as a plain value; dates, intervals, tuples and the like stand by their text.

    >>> plain(np.float32(0.5)), plain(b"red"), plain((1, 2))
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


def known_categories(labels: Labels) -> NDArray[Any]:
    """Sort the distinct values that occur: what a model remembers of the column."""
    used = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.values)) > 0
    found = {
        plain(value)
        for value, occurs in zip(labels.values, used.tolist(), strict=True)
        if occurs and not is_missing(value)
    }
    return _sorted_array(found)


def category_numbers(labels: Labels, places: Mapping[Plain, int]) -> NDArray[np.floating[Any]]:
    """Give one float a row: the place of its category, NaN for missing and for unseen ones."""
    wide = len(places) > FLOAT32_INTEGERS
    dtype = np.float64 if wide else np.float32
    table: NDArray[np.floating[Any]] = np.full(len(labels.values) + 1, np.nan, dtype=dtype)
    for place, value in enumerate(labels.values):
        if not is_missing(value):
            table[place] = places.get(plain(value), math.nan)
    numbers: NDArray[np.floating[Any]] = table[labels.codes]  # -1 reads the last entry, NaN
    return numbers


def _sorted_array(found: set[Plain]) -> NDArray[Any]:
    """Sort by value where values can be compared, else by (type name, text)."""
    kinds = {type(value) for value in found}
    if kinds == {bool}:
        return np.array(sorted(found), dtype=bool)
    folded = {_fold(value) for value in found}
    kinds = {type(value) for value in folded}
    if kinds == {str}:
        # Not a NumPy string dtype: that one drops trailing zero characters.
        return _objects(sorted(folded))
    if str in kinds:
        return _objects(sorted(folded, key=lambda value: (type(value).__name__, str(value))))
    return _number_array(sorted(folded))


def _fold(value: Plain) -> Plain:
    """Give equal numbers one spelling (1.0 and True become 1), whichever row came first."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _number_array(ordered: list[Any]) -> NDArray[Any]:
    """Use the first of int64, uint64, float64, object that holds every number exactly."""
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
