"""NumPy arrays, lists of lists and anything NumPy can turn into an array.

A numeric array stays as it is, whatever its dtype, order or strides.  An array of Python objects
(or strings) is read column by column, because its columns differ: numbers here, categories there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.table.categories import Labels, is_missing, labels_of_numbers, labels_of_objects
from hedgerow.table.checks import check_kind, check_numbers, check_two_dimensional
from hedgerow.table.schema import Schema
from hedgerow.table.table import ColumnTable, MatrixTable, Table


class ArraySource:
    """A numeric or object matrix without column names."""

    names = None
    typed_categorical = frozenset[int]()  # a NumPy dtype never says "categorical"

    def __init__(self, X: Any, hint: str) -> None:
        self._hint = hint  # what to do about a column that is not numeric
        self._array = as_array(X)
        check_two_dimensional(self._array.ndim, X)
        check_kind(self._array.dtype, "X")
        if self._array.dtype.kind in "UST":
            self._array = self._array.astype(object)
        self.shape: tuple[int, int] = self._array.shape

    def label(self, column: int) -> str:
        """How messages call a column."""
        return f"Column {column}"

    def labels(self, column: int) -> Labels:
        """Give a categorical column as codes and distinct values."""
        values = self._array[:, column]
        if values.dtype == object:
            return labels_of_objects(values, self.label(column))
        return labels_of_numbers(values)

    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table:
        """Make the table, given the numbers of the categorical columns."""
        if self._array.dtype != object:
            return MatrixTable(self._array, schema, numbers)
        columns: list[NDArray[Any]] = [
            numbers[column]
            if column in numbers
            else numbers_of_objects(self._array[:, column], self.label(column), self._hint)
            for column in range(self.shape[1])
        ]
        return ColumnTable(columns, schema)


def as_array(X: Any) -> NDArray[Any]:
    """Give X as a plain ndarray, without a copy where possible; masked entries become NaN."""
    if isinstance(X, np.ma.MaskedArray):
        dtype = np.float64 if X.dtype.kind in "biu" else X.dtype if X.dtype.kind == "f" else object
        array = X.data.astype(dtype)
        array[np.ma.getmaskarray(X)] = None if dtype is object else np.nan
        return array
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # NumPy made strings of everything in [[1.5, "red"], ...]: keep each value's own type.
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"X ({type(X).__name__}) is not a table: every row needs the same number of values ({error})."
        ) from error
    return array


def numbers_of_objects(values: NDArray[Any], label: str, hint: str) -> NDArray[np.float64]:
    """Convert Python numbers, None and NA to float64; a clear error for anything else."""
    check_numbers(values, label, hint)
    try:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # pandas.NA is no argument of float(), and an integer may be too large for it
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{label} holds a value that is no float64 number: {error}.") from error
