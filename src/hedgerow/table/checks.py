"""The checks every input goes through, whatever its kind, and their messages.

Where scikit-learn has a message for the same mistake the wording agrees with it, because its
users know it and its `check_estimator` looks for it.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table.schema import Schema

_ALLOWED = (
    "allowed are None, 'from_dtype', a boolean mask with one entry a column, "
    "a list of column positions, or a list of column names"
)


def check_two_dimensional(n_dimensions: int, X: object) -> None:
    """Refuse anything that is not rows by columns."""
    if n_dimensions == 2:
        return
    got = "scalar" if n_dimensions == 0 else f"{n_dimensions}D"
    raise ValueError(
        f"Expected 2D array, got {got} array instead (X is a {type(X).__name__}). "
        "Reshape your data either using array.reshape(-1, 1) if it has a single feature, "
        "or array.reshape(1, -1) if it is a single sample."
    )


def check_not_empty(shape: tuple[int, int], estimator_name: str) -> None:
    """Refuse tables without rows or without columns."""
    for count, noun in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is required "
                f"by {estimator_name}."
            )


def string_names(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """Give the column names of a data frame if they are strings, None if none of them is."""
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


def check_same_columns(
    names: tuple[str, ...] | None, n_columns: int, schema: Schema, estimator_name: str
) -> None:
    """Refuse columns other than those of the fitted model; warn if only one of both has names."""
    if names is not None and schema.names is not None:
        if names != schema.names:
            raise ValueError(_different_names(names, schema.names))
    elif names is not None:
        warnings.warn(
            f"X has feature names, but {estimator_name} was fitted without feature names",
            UserWarning,
            stacklevel=4,
        )
    elif schema.names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {estimator_name} was fitted with feature names",
            UserWarning,
            stacklevel=4,
        )
    if n_columns != schema.n_columns:
        raise ValueError(
            f"X has {n_columns} features, but {estimator_name} is expecting "
            f"{schema.n_columns} features as input."
        )


def _different_names(names: tuple[str, ...], fitted: tuple[str, ...]) -> str:
    unseen = sorted(set(names) - set(fitted))
    missing = sorted(set(fitted) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        message += f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names: list[str], at_most: int = 5) -> str:
    lines = [f"- {name}\n" for name in names[:at_most]]
    return "".join(lines) + ("- ...\n" if len(names) > at_most else "")


def chosen_columns(
    categorical_features: Any, names: tuple[str, ...] | None, n_columns: int
) -> frozenset[int] | None:
    """Find the positions of the columns named as categorical; None: the dtypes decide."""
    if categorical_features is None:
        return None
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        raise ValueError(f"categorical_features={categorical_features!r} is unknown; {_ALLOWED}.")
    if not isinstance(categorical_features, Iterable):
        raise TypeError(f"categorical_features={categorical_features!r} is no list; {_ALLOWED}.")
    entries = list(categorical_features)
    if all(isinstance(entry, (bool, np.bool)) for entry in entries) and entries:
        return _masked(entries, n_columns)
    if all(isinstance(entry, (int, np.integer)) for entry in entries):
        return _positioned(entries, n_columns)
    if all(isinstance(entry, str) for entry in entries):
        return _named(entries, names)
    raise ValueError(f"categorical_features={categorical_features!r} mixes types; {_ALLOWED}.")


def _masked(entries: list[Any], n_columns: int) -> frozenset[int]:
    if len(entries) != n_columns:
        raise ValueError(
            f"categorical_features is a boolean mask of {len(entries)} entries, but X has "
            f"{n_columns} columns; a mask needs one entry a column."
        )
    return frozenset(column for column, chosen in enumerate(entries) if chosen)


def _positioned(entries: list[Any], n_columns: int) -> frozenset[int]:
    outside = [int(entry) for entry in entries if not 0 <= entry < n_columns]
    if outside:
        raise ValueError(
            f"categorical_features names the positions {outside}, but X has {n_columns} columns; "
            f"positions must lie in 0..{n_columns - 1}."
        )
    return frozenset(int(entry) for entry in entries)


def _named(entries: list[str], names: tuple[str, ...] | None) -> frozenset[int]:
    if names is None:
        raise ValueError(
            f"categorical_features names the columns {entries}, but X has no column names; "
            "give positions or a boolean mask."
        )
    unknown = [entry for entry in entries if entry not in names]
    if unknown:
        raise ValueError(
            f"categorical_features names the columns {unknown}, which X does not have; "
            f"its columns are {list(names)}."
        )
    return frozenset(names.index(entry) for entry in entries)


def check_kind(dtype: np.dtype[Any], label: str) -> None:
    """Refuse NumPy dtypes that are neither numbers, nor strings, nor objects."""
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {label} has dtype {dtype}.")
    if dtype.kind not in "fiubOUST":
        raise ValueError(f"{label} has dtype {dtype}, which is not supported; {REMEDY}.")


REMEDY = "convert it to numbers, or to a categorical dtype if its values are categories"


def check_numbers(values: list[Any] | NDArray[Any], label: str, hint: str) -> None:
    """Refuse Python objects that are not all numbers or missing."""
    # Types first: there are few of them, and only the offending one needs its value looked up.
    for kind in set(map(type, values)):
        problem = _problem(kind)
        if problem:
            value = next(value for value in values if type(value) is kind)
            error = TypeError if problem == "no number" else ValueError
            raise error(_not_a_number(problem, value, label, hint))


def _problem(kind: type) -> str | None:
    if issubclass(kind, (str, bytes)):
        return "a string"
    if issubclass(kind, (complex, np.complexfloating)):
        return "complex"
    if issubclass(kind, (np.datetime64, np.timedelta64)) or not hasattr(kind, "__float__"):
        if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
            return None
        return "no number"
    return None


def _not_a_number(problem: str, value: Any, label: str, hint: str) -> str:
    if problem == "complex":
        return f"Complex data not supported: {label} holds {value!r}."
    if problem == "a string":
        return f"{label} holds strings (for example {value!r}). {hint}"
    kind = type(value).__name__
    return f"{label} holds a {kind}: a value of the X argument must be a string or a number. {hint}"
