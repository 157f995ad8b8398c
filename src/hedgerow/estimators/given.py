"""Targets and weights of any library as plain arrays, before anything is known of what they mean.

What NumPy would do silently is refused here: forget a mask, drop imaginary parts, read dates as numbers.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from hedgerow._typing import Floats
from hedgerow.table.columns import is_missing

LARGEST = 1e100  # of targets and of weights: weighted sums of squares then stay within the range of float64
_LABELS = "labels must be strings, whole numbers or booleans, and all of one kind"


def given_target(y: Any) -> NDArray[Any]:
    """Y as an array of any number of dimensions that no mask hides a part of."""
    if sparse.issparse(y):
        raise TypeError(f"y is a sparse {type(y).__name__}, but dense data is required: give y.toarray()")
    if isinstance(y, np.matrix):
        raise TypeError("y is a np.matrix, which is not supported: give numpy.asarray(y)")
    _refuse_masked(y, "y")
    try:
        values = np.asarray(_decoded(y))
        if isinstance(y, list | tuple) and _is_converted(values, y):
            values = np.asarray(y, object)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"y ({type(y).__name__}) is not an array: every row needs one value") from error
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {values.dtype}")
    return values


def _is_converted(values: NDArray[Any], y: list[Any] | tuple[Any, ...]) -> bool:
    """Whether NumPy made texts of numbers in a list, or rounded integers that are too large for one dtype."""
    if values.dtype.kind in "US":
        return not all(isinstance(value, str) for value in y)
    return values.dtype.kind == "f" and all(isinstance(value, int | np.integer) for value in y)


def one_column(values: NDArray[Any]) -> NDArray[Any]:
    """A target of shape (n,), also from (n, 1), with scikit-learn's warning."""
    if values.ndim != 1 and (values.ndim != 2 or values.shape[1] != 1):
        raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead")
    # scikit-learn knows no StringDType
    values = values.astype(object) if values.dtype.kind == "T" else values
    column: NDArray[Any] = values if values.ndim == 1 else column_or_1d(values, warn=True)
    return column


def _decoded(y: Any) -> Any:
    """Arrow's dictionary columns as their values: NumPy would get some category where a value is missing."""
    arrow = sys.modules.get("pyarrow")  # if nobody imported pyarrow, y is none of its types
    if arrow is None or not isinstance(y, arrow.Array | arrow.ChunkedArray):
        return y
    return y.cast(y.type.value_type) if arrow.types.is_dictionary(y.type) else y


def _as_floats(values: NDArray[Any]) -> Floats:
    """Numbers as float64, always a copy: for a read-only array kernels would be compiled anew."""
    if values.dtype == object and any(is_missing(value) for value in values.flat):
        known = [np.nan if is_missing(value) else value for value in values.flat]  # NA is no float
        values = np.array(known, object).reshape(values.shape)
    with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
        return np.array(values, np.float64, order="C")


def _refuse_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0])
        raise ValueError(f"{name} has a masked value in row {row}: every row needs a value")


# --- numbers


def plain_numbers(y: NDArray[Any]) -> Floats:
    """A regression target as float64; every number is finite and within LARGEST."""
    if y.dtype.kind not in "fiubO":
        raise ValueError(f"y has dtype {y.dtype}; a regression target must be numeric")
    try:
        values = _as_floats(y)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y must be numeric for regression: {error}") from error
    refuse_not_finite(values)
    large = _rows_with(np.abs(values) > LARGEST)
    if large.size:
        raise ValueError(
            f"y[{large[0]}] is {values[large[0]]}; the targets of a regression must lie within "
            f"±{LARGEST:g}: scale them"
        )
    return values


def refuse_not_finite(values: NDArray[Any]) -> None:
    """Refuse targets with NaN or infinity."""
    bad = _rows_with(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"Input y contains NaN or infinity: row {bad[0]} is {values[bad[0]]}; "
            "only finite values are allowed"
        )


def _rows_with(bad: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))


# --- labels


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels of a dtype that can be sorted; integers and booleans among objects get one of their own."""
    kind = y.dtype.kind
    if kind == "O":
        return _labels_of_objects(y)
    if kind == "f":
        refuse_not_finite(y)
        fractions = np.flatnonzero(y != np.floor(y))
        if fractions.size:
            raise ValueError(
                f"Unknown label type: continuous. Row {fractions[0]} of y is {y[fractions[0]]}, and a "
                "classifier expects discrete classes: give whole numbers, strings, or use a regressor"
            )
    elif kind in "mM":
        missing = np.flatnonzero(np.isnat(y))
        if missing.size:
            raise ValueError(f"y has a missing label: row {missing[0]} is NaT; every row needs a class")
    elif kind == "S":
        raise TypeError(f"y has dtype {y.dtype}: labels of bytes are not supported; decode them to strings")
    elif kind not in "iubU":
        raise ValueError(f"y has dtype {y.dtype}; {_LABELS}")
    return y


def _labels_of_objects(y: NDArray[Any]) -> NDArray[Any]:
    labels = y.tolist()
    for row, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(f"y has a missing label: row {row} is {label!r}; every row needs a class")
    kinds = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in kinds):
        return y
    if all(issubclass(kind, bool | np.bool) for kind in kinds):
        return y.astype(bool)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return _whole_labels([int(label) for label in labels])
    if all(issubclass(kind, float | np.floating) for kind in kinds):
        return plain_labels(y.astype(np.float64))
    names = sorted({kind.__name__ for kind in kinds})
    listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    raise TypeError(f"the labels in y cannot be sorted: they are of type {listed}; {_LABELS}")


def _whole_labels(labels: list[int]) -> NDArray[Any]:
    least, greatest = min(labels), max(labels)
    for dtype in (np.int64, np.uint64):  # NumPy alone would round a mixture of both to float64
        if np.iinfo(dtype).min <= least and greatest <= np.iinfo(dtype).max:
            return np.array(labels, dtype)
    raise ValueError(f"y holds labels from {least} to {greatest}, which do not fit into 64 bits")


# --- weights


def plain_weights(sample_weight: Any) -> Floats:
    """Weights as float64 of any shape."""
    _refuse_masked(sample_weight, "sample_weight")
    try:
        given = np.asarray(_decoded(sample_weight))
        if given.dtype.kind in "fiubO":
            return _as_floats(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    raise ValueError(f"sample_weight has dtype {given.dtype}; it must be numbers")
