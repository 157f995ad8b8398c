"""Allowed values of parameters, and conversion of those that refer to columns of X to arrays.

One line per parameter defines what is allowed, and the error message repeats it. Constraints and bin edges
are also checked against the columns of X. `bin_edges` becomes one float64 array or None for every column:

    bin_edges                        columns "age", "height", "colour" (categorical)
    None                             None, which equals [None, None, None]
    [0.0, 50.0]                      [0, 50]     [0, 50]     None      the same for all numeric columns
    [[18, 65], [], None]             [18, 65]    []          None      one entry per column; [] is never split
    {"age": [18, 65]}, {0: [18, 65]} [18, 65]    None        None      by name or by position

None means edges at quantiles of the training rows. If all edges are passed, the model is chosen from a
finite class that does not depend on the training rows, which bounds on its error require.
"""

import math
import numbers
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from hedgerow._typing import Floats
from hedgerow.losses import LOSSES, Loss
from hedgerow.table import Schema


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be: a test and its description."""

    test: Callable[[Any], bool]
    description: str

    def __or__(self, other: "Allowed") -> "Allowed":
        return Allowed(
            lambda value: self.test(value) or other.test(value), f"{self.description} or {other.description}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def integer(low: int, high: float = math.inf) -> Allowed:
    """Allow an integer from low to high."""
    description = f"an integer >= {low}" if high == math.inf else f"an integer from {low} to {high}"
    return Allowed(
        lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(low <= v <= high),
        description,
    )


def number(low: float, high: float = math.inf, *, above: bool = False, below: bool = False) -> Allowed:
    """Allow a finite number from low (or above it) to high (or below it)."""
    description = f"a number {'>' if above else '>='} {low}"
    description += "" if high == math.inf else f" and {'<' if below else '<='} {high}"

    def test(v: Any) -> bool:
        if not _is_number(v) or not math.isfinite(v):
            return False
        return bool((low < v if above else low <= v) and (v < high if below else v <= high))

    return Allowed(test, description)


def one_of(*options: str) -> Allowed:
    """Allow one of the names."""
    return Allowed(lambda v: isinstance(v, str) and v in options, " or ".join(map(repr, options)))


def any_of(*numbers: int) -> Allowed:
    """Allow one of the integers."""
    description = f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"
    return Allowed(lambda v: integer(0).test(v) and v in numbers, description)


def none() -> Allowed:
    """Allow None."""
    return Allowed(lambda v: v is None, "None")


def flag() -> Allowed:
    """Allow True or False."""
    return Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False")


def threads() -> Allowed:
    """Allow a number of threads, as in scikit-learn."""
    description = "a positive integer, a negative one to count back from all cores (-1)"
    return Allowed(lambda v: integer(-(2**31), 2**31).test(v) and v != 0, description)


def seed() -> Allowed:
    """Allow a seed or a random generator, as in scikit-learn."""
    return Allowed(
        lambda v: integer(0).test(v) or isinstance(v, np.random.RandomState) or v is np.random,
        "an integer >= 0, a numpy.random.RandomState",
    )


def loss_for(task: str) -> Allowed:
    """Allow the name of a loss for the task, or a loss object."""

    def test(v: Any) -> bool:
        if isinstance(v, str):
            return v in LOSSES[task]
        methods = ("loss", "gradient_hessian")
        is_object = not isinstance(v, type) and all(callable(getattr(v, name, None)) for name in methods)
        return is_object or isinstance(v, Loss)

    names = ", ".join(map(repr, LOSSES[task]))
    return Allowed(test, f"{names} or an object with loss(y, raw) and gradient_hessian(y, raw)")


def regressor() -> Allowed:
    """Allow a scikit-learn regressor."""
    return Allowed(lambda v: _is_learner(v, is_regressor), "a regressor (an object, not its class)")


def classifier() -> Allowed:
    """Allow a scikit-learn classifier."""
    return Allowed(lambda v: _is_learner(v, is_classifier), "a classifier (an object, not its class)")


def learner() -> Allowed:
    """Allow a scikit-learn regressor or classifier."""
    return regressor() | classifier()


def _is_learner(value: Any, is_kind: Callable[[Any], bool]) -> bool:
    try:
        return not isinstance(value, type) and bool(is_kind(value)) and callable(value.fit)
    except (AttributeError, TypeError):  # raised by scikit-learn for objects that are not estimators
        return False


def class_weights() -> Allowed:
    """Allow a mapping from labels to weights."""

    def test(v: Any) -> bool:
        return isinstance(v, Mapping) and all(number(0).test(weight) for weight in v.values())

    return Allowed(test, "a dict from labels to numbers >= 0")


def directions() -> Allowed:
    """Allow monotonic directions, by position or by name; their number is checked with X."""

    def test(v: Any) -> bool:
        if not isinstance(v, Collection) or isinstance(v, str):
            return False
        values = v.values() if isinstance(v, Mapping) else v
        return all(_is_number(direction) and direction in (-1, 0, 1) for direction in values)

    return Allowed(test, "a sequence of -1, 0 and 1, one per column, or a dict of them by column name")


def groups() -> Allowed:
    """Allow sets of column numbers; whether there are such columns is checked with X."""

    def test(v: Any) -> bool:
        if not isinstance(v, Collection) or isinstance(v, str | Mapping):
            return False
        sets = list(v)
        if not all(isinstance(columns, Collection) and not isinstance(columns, str) for columns in sets):
            return False
        return all(integer(0).test(column) for columns in sets for column in columns)

    return Allowed(test, "a sequence of sets of column numbers")


def edges() -> Allowed:
    """Allow bin edges for all columns, by column or by name; their values are checked with X."""

    def test(v: Any) -> bool:
        if isinstance(v, Mapping):
            return all(isinstance(key, str) or integer(0).test(key) for key in v)
        if isinstance(v, Sequence):
            return not isinstance(v, str | bytes)
        if isinstance(v, np.ndarray):
            return v.ndim in (1, 2)
        return hasattr(v, "__array__") and np.ndim(v) == 1  # a series of a data frame

    return Allowed(
        test,
        "a sequence of numbers, a sequence of such sequences or None, one per column, or a dict of them by "
        "column name or position",
    )


def check_parameters(values: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise ValueError for the first parameter that is not allowed."""
    for name, rule in allowed.items():
        if not rule.test(values[name]):
            raise ValueError(f"{name}={values[name]!r} is not allowed: it must be {rule.description}")


# --- constraints


def monotonic_directions(constraints: Any, schema: Schema) -> NDArray[np.int8]:
    """Return +1, -1 or 0 for every column, or an empty array without constraints.

    constraints : None, a sequence with a direction for every column, or a mapping from column names.
    """
    if constraints is None:
        return np.empty(0, np.int8)
    by_name = isinstance(constraints, Mapping)
    directions = _by_name(constraints, schema) if by_name else [int(direction) for direction in constraints]
    if len(directions) != schema.n_columns:
        raise ValueError(
            f"monotonic_cst has {len(directions)} directions, but X has {schema.n_columns} columns; "
            "pass one direction per column"
        )
    for column, direction in enumerate(directions):
        if direction and schema.categories[column] is not None:
            label = column if schema.names is None else repr(schema.names[column])
            raise ValueError(
                f"monotonic_cst of column {label} is {direction}, but the column is categorical and has "
                "no order; it must be 0"
            )
    return np.array(directions if any(directions) else [], np.int8)


def _by_name(constraints: Mapping[Any, Any], schema: Schema) -> list[int]:
    if schema.names is None:
        raise ValueError(
            f"monotonic_cst names the columns {list(constraints)}, but X has no column names; "
            "pass a sequence with one direction per column"
        )
    unknown = [name for name in constraints if name not in schema.names]
    if unknown:
        raise ValueError(
            f"monotonic_cst names the columns {unknown}, which X does not have; its columns are "
            f"{list(schema.names)}"
        )
    return [int(constraints.get(name, 0)) for name in schema.names]


def interaction_groups(constraints: Any, n_columns: int) -> NDArray[np.uint64]:
    """Return bit sets of the groups of each column, (columns, words), or an empty array without constraints.

    constraints : None, "pairwise", "no_interactions", or a sequence of sets of column numbers. Columns
    in no set form one more set.
    """
    if constraints is None:
        return np.empty((0, 0), np.uint64)
    if isinstance(constraints, str):
        size = {"no_interactions": 1, "pairwise": 2}[constraints]
        groups = [set(group) for group in combinations(range(n_columns), min(size, n_columns))]
    else:
        groups = [{int(column) for column in group} for group in constraints]
    outside = sorted(set().union(*groups) - set(range(n_columns)))
    if outside:
        raise ValueError(
            f"interaction_cst names the columns {outside}, but X has {n_columns} columns; column numbers "
            f"must lie in 0..{n_columns - 1}"
        )
    rest = set(range(n_columns)).difference(*groups)
    if rest:
        groups.append(rest)
    bits = np.zeros((n_columns, -(-len(groups) // 64)), np.uint64)
    for number, group in enumerate(groups):
        for column in group:
            bits[column, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return bits


# --- bin edges


def edges_by_column(bin_edges: Any, schema: Schema, max_bins: int) -> list[Floats | None] | None:
    """Return the edges of every column, fewer than `max_bins`, or None without any.

    >>> edges_by_column({"age": [18, 65]}, Schema(2, ("age", "height"), (None, None)), 255)
    [array([18., 65.]), None]
    """
    if bin_edges is None:
        return None
    if isinstance(bin_edges, Mapping):
        entries = _by_key(bin_edges, schema)
    elif _is_single_sequence(bin_edges):
        edges = _read(bin_edges, "bin_edges", max_bins)
        return [edges if categories is None else None for categories in schema.categories]
    else:
        entries = list(bin_edges)
    if len(entries) != schema.n_columns:
        raise ValueError(
            f"bin_edges has {len(entries)} entries, but X has {schema.n_columns} columns; pass one entry per "
            "column, None for edges at quantiles of the training rows"
        )
    return [
        None if entry is None else _of_column(entry, column, schema, max_bins)
        for column, entry in enumerate(entries)
    ]


def uses_positions(bin_edges: Any) -> bool:
    """Return whether the meaning depends on the order of the columns of X.

    >>> [uses_positions(edges) for edges in (None, [0.5, 1.5], [[0.5], [1.5]], {"age": [18]}, {0: [18]})]
    [False, False, True, False, True]
    """
    if isinstance(bin_edges, Mapping):
        return not all(isinstance(key, str) for key in bin_edges)
    return bin_edges is not None and not _is_single_sequence(bin_edges)


def _is_single_sequence(bin_edges: Any) -> bool:
    """Return whether it is one sequence of numbers, not a sequence of sequences."""
    return not any(entry is None or _is_series(entry) for entry in bin_edges)


def _is_series(value: Any) -> bool:
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return hasattr(value, "__array__") and np.ndim(value) > 0


def _by_key(bin_edges: Mapping[Any, Any], schema: Schema) -> list[Any]:
    """Return entries in the order of the columns, None for those that are not named."""
    entries: list[Any] = [None] * schema.n_columns
    keys: dict[int, Any] = {}
    for key, entry in bin_edges.items():
        column = _column_of(key, bin_edges, schema)
        if column in keys:
            raise ValueError(f"bin_edges names a column twice, as {keys[column]!r} and as {key!r}")
        keys[column], entries[column] = key, entry
    return entries


def _column_of(key: Any, bin_edges: Mapping[Any, Any], schema: Schema) -> int:
    if not isinstance(key, str):
        if key >= schema.n_columns:
            raise ValueError(
                f"bin_edges names column {key}, but X has {schema.n_columns} columns; positions must lie in "
                f"0..{schema.n_columns - 1}"
            )
        return int(key)
    if schema.names is None:
        names = [name for name in bin_edges if isinstance(name, str)]
        raise ValueError(
            f"bin_edges names the columns {names}, but X has no column names; pass their positions"
        )
    if key not in schema.names:
        raise ValueError(
            f"bin_edges names the column {key!r}, which X does not have; its columns are {list(schema.names)}"
        )
    return schema.names.index(key)


def _of_column(entry: Any, column: int, schema: Schema, max_bins: int) -> Floats:
    label = f"bin_edges of column {column if schema.names is None else repr(schema.names[column])}"
    if schema.categories[column] is not None:
        raise ValueError(
            f"{label} is {reprlib.repr(entry)}, but the column is categorical and has no order; it must be "
            "None"
        )
    return _read(entry, label, max_bins)


def _read(entry: Any, label: str, max_bins: int) -> Floats:
    """Validate edges and return them as a float64 array, a copy."""
    if not _is_series(entry) or any(_is_series(value) for value in entry):
        raise ValueError(f"{label} is {reprlib.repr(entry)}; it must be a sequence of numbers or None")
    values = entry.tolist() if hasattr(entry, "tolist") else list(entry)
    edges = np.array([_as_float(value) for value in values], np.float64)
    bad = np.flatnonzero(~np.isfinite(edges))
    if bad.size:
        raise ValueError(
            f"{label} holds {values[bad[0]]!r} at position {bad[0]}; edges must be finite numbers"
        )
    not_rising = np.flatnonzero(edges[1:] <= edges[:-1])
    if not_rising.size:
        low, high = edges[not_rising[0] : not_rising[0] + 2].tolist()
        raise ValueError(f"{label} holds {high} after {low}; edges must be strictly rising")
    if len(edges) >= max_bins:
        raise ValueError(
            f"{label} has {len(edges)} edges, but max_bins={max_bins} allows at most {max_bins - 1}"
        )
    return edges


def _as_float(value: Any) -> float:
    """Return a number as a float, NaN for anything else."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf
