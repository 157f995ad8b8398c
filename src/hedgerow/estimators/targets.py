"""Targets, labels and weights of other types as NumPy arrays; weights of classes.

`hedgerow.estimators.validation` reads arrays of ordinary dtypes itself and uses this module for everything
else: lists, series, Arrow arrays, arrays of objects. What NumPy would do silently raises an error here:
ignoring a mask, dropping imaginary parts, reading dates as numbers.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from hedgerow._typing import Floats, Integers, is_missing

LARGEST = 1e100  # of targets and weights: weighted sums of squares then stay within the range of float64
_LABELS = "labels must be strings, whole numbers or booleans, and all of one type"


def as_target_array(y: Any) -> NDArray[Any]:
    """Return y as an array of any number of dimensions without masked or complex values."""
    if sparse.issparse(y):
        raise TypeError(f"y is a sparse {type(y).__name__}, but dense data is required: pass y.toarray()")
    if isinstance(y, np.matrix):
        raise TypeError("y is a np.matrix, which is not supported: pass numpy.asarray(y)")
    _check_not_masked(y, "y")
    try:
        values = np.asarray(_decode_arrow(y))
        if isinstance(y, list | tuple) and _is_converted(values, y):
            values = np.asarray(y, object)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"y ({type(y).__name__}) is not an array: every row needs one value") from error
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {values.dtype}")
    return values


def _is_converted(values: NDArray[Any], y: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether NumPy made strings of numbers in a list, or rounded integers too large for one dtype."""
    if values.dtype.kind in "US":
        return not all(isinstance(value, str) for value in y)
    return values.dtype.kind == "f" and all(isinstance(value, int | np.integer) for value in y)


def as_column(values: NDArray[Any]) -> NDArray[Any]:
    """Return a target of shape (n,), also from (n, 1) with scikit-learn's warning."""
    if values.ndim != 1 and (values.ndim != 2 or values.shape[1] != 1):
        raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead")
    # scikit-learn does not support StringDType
    values = values.astype(object) if values.dtype.kind == "T" else values
    column: NDArray[Any] = values if values.ndim == 1 else column_or_1d(values, warn=True)
    return column


def _decode_arrow(y: Any) -> Any:
    """Return values of Arrow's dictionary columns: NumPy would get some category where a value is missing."""
    arrow = sys.modules.get("pyarrow")  # without it y is none of its types
    if arrow is None or not isinstance(y, arrow.Array | arrow.ChunkedArray):
        return y
    return y.cast(y.type.value_type) if arrow.types.is_dictionary(y.type) else y


def _as_floats(values: NDArray[Any]) -> Floats:
    """Return numbers as float64, always a copy: kernels would be compiled again for a read-only array."""
    if values.dtype == object and any(is_missing(value) for value in values.flat):
        known = [np.nan if is_missing(value) else value for value in values.flat]  # NA is no float
        values = np.array(known, object).reshape(values.shape)
    with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
        return np.array(values, np.float64, order="C")


def _check_not_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0])
        raise ValueError(f"{name} has a masked value in row {row}: every row needs a value")


# --- numbers


def as_numbers(y: NDArray[Any]) -> Floats:
    """Return a regression target as float64; all numbers are finite and within LARGEST."""
    if y.dtype.kind not in "fiubO":
        raise ValueError(f"y has dtype {y.dtype}; a regression target must be numeric")
    try:
        values = _as_floats(y)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y must be numeric for regression: {error}") from error
    _check_finite(values)
    large = _rows_with(np.abs(values) > LARGEST)
    if large.size:
        raise ValueError(
            f"y[{large[0]}] is {values[large[0]]}; the targets of a regression must lie within "
            f"±{LARGEST:g}: scale them"
        )
    return values


def _check_finite(values: NDArray[Any]) -> None:
    bad = _rows_with(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"Input y contains NaN or infinity: row {bad[0]} is {values[bad[0]]}; "
            "only finite values are allowed"
        )


def _rows_with(bad: NDArray[np.bool_]) -> Integers:
    return np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))


# --- labels


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels of a dtype that can be sorted; objects that are integers or booleans get that dtype."""
    kind = y.dtype.kind
    if kind == "O":
        return _labels_of_objects(y)
    if kind == "f":
        _check_finite(y)
        fractions = np.flatnonzero(y != np.floor(y))
        if fractions.size:
            raise ValueError(
                f"Unknown label type: continuous. Row {fractions[0]} of y is {y[fractions[0]]}, and a "
                "classifier expects discrete classes: pass whole numbers or strings, or use a regressor"
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
    types = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in types):
        return y
    if all(issubclass(kind, bool | np.bool) for kind in types):
        return y.astype(bool)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in types):
        return _integer_labels([int(label) for label in labels])
    if all(issubclass(kind, float | np.floating) for kind in types):
        return as_labels(y.astype(np.float64))
    names = sorted({kind.__name__ for kind in types})
    listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    raise TypeError(f"the labels in y cannot be sorted: they are of type {listed}; {_LABELS}")


def _integer_labels(labels: list[int]) -> NDArray[Any]:
    least, greatest = min(labels), max(labels)
    for dtype in (np.int64, np.uint64):  # NumPy alone would round a mixture of both to float64
        if np.iinfo(dtype).min <= least and greatest <= np.iinfo(dtype).max:
            return np.array(labels, dtype)
    raise ValueError(f"y holds labels from {least} to {greatest}, which do not fit into 64 bits")


# --- weights


def validate_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return finite weights >= 0, at least one of them positive."""
    if sample_weight is None:
        return None
    weights = _as_weights(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has {weights.ndim} dimensions"
        )
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and >= 0")
    _check_largest(weights, "sample_weight")
    if not np.any(weights > 0):
        raise ValueError("sample_weight holds zero weights only; at least one row needs a positive weight")
    return weights


def _as_weights(sample_weight: Any) -> Floats:
    _check_not_masked(sample_weight, "sample_weight")
    try:
        values = np.asarray(_decode_arrow(sample_weight))
        if values.dtype.kind in "fiubO":
            return _as_floats(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    raise ValueError(f"sample_weight has dtype {values.dtype}; it must be numbers")


def _check_largest(weights: Floats, name: str) -> None:
    large = np.flatnonzero(~(weights <= LARGEST))
    if large.size:
        raise ValueError(
            f"{name}: row {large[0]} weighs {weights[large[0]]}; weights must be at most {LARGEST:g}"
        )


# --- weights of classes


def apply_class_weight(
    class_weight: Any, y: Floats, classes: NDArray[Any], sample_weight: Floats | None
) -> Floats | None:
    """Multiply the weights of the rows by the weights of their classes.

    "balanced" gives every class the same total weight: total / (n_classes * total of the class), where totals
    are sums of sample weights, so that an integer weight still equals that many copies of the row.

    y : positions of the labels among the classes.
    """
    if class_weight is None:
        return sample_weight
    weights: Floats = class_factors(class_weight, y, classes, sample_weight)[y.astype(np.int64)]
    if sample_weight is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            weights *= sample_weight
    _check_largest(weights, f"class_weight={class_weight!r}")
    if not np.any(weights > 0):
        raise ValueError(
            f"class_weight={class_weight!r} leaves zero weights only; a row needs a positive weight"
        )
    return weights


def class_factors(
    class_weight: Any, y: Floats, classes: NDArray[Any], sample_weight: Floats | None
) -> Floats:
    """Return the factor of each class, see `apply_class_weight`."""
    if isinstance(class_weight, Mapping):
        return _named_weights(class_weight, classes.tolist())
    totals = np.bincount(y.astype(np.int64), sample_weight, len(classes)).astype(np.float64)
    total = math.fsum(totals)
    return np.divide(total / len(classes), totals, out=np.ones(len(classes)), where=totals > 0)


def _named_weights(class_weight: Mapping[Any, float], classes: list[Any]) -> Floats:
    """Return weights in the order of the classes, 1 for those not named.

    Names of absent classes are allowed, since a fold of a cross-validation may lack one, but not together
    with classes that have no name: that is a misspelt label.
    """
    unknown = [label for label in class_weight if label not in classes]
    unnamed = [label for label in classes if label not in class_weight]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names the classes {unknown}, which y does not have, and not its classes {unnamed}"
        )
    return np.array([class_weight.get(label, 1.0) for label in classes], np.float64)
