"""Parameters that refer to columns of X, as arrays for the engines: constraints and bin edges.

`hedgerow.estimators.parameters` checks their form; this module checks them against the columns of X.

`bin_edges` becomes one float64 array or None for every column:

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
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.table import Schema

# --- constraints


def monotonic_directions(constraints: Any, schema: Schema) -> NDArray[np.int8]:
    """Return +1, -1 or 0 for every column, or an empty array without constraints.

    constraints : None, a sequence with a direction for every column, or a mapping from column names.
    """
    if constraints is None:
        return np.empty(0, np.int8)
    if isinstance(constraints, Mapping):
        directions = _by_name(constraints, schema)
    else:
        directions = [int(direction) for direction in constraints]
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
    if not any(directions):
        return np.empty(0, np.int8)
    return np.array(directions, np.int8)


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
    elif _is_one(bin_edges):
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
    return bin_edges is not None and not _is_one(bin_edges)


def _is_one(bin_edges: Any) -> bool:
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
        named = [one for one in bin_edges if isinstance(one, str)]
        raise ValueError(
            f"bin_edges names the columns {named}, but X has no column names; pass their positions"
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
    if not _is_series(entry) or any(_is_series(one) for one in entry):
        raise ValueError(f"{label} is {reprlib.repr(entry)}; it must be a sequence of numbers or None")
    values = entry.tolist() if hasattr(entry, "tolist") else list(entry)
    edges = np.array([_as_float(value) for value in values], np.float64)
    bad = np.flatnonzero(~np.isfinite(edges))
    if bad.size:
        raise ValueError(
            f"{label} holds {values[bad[0]]!r} at position {bad[0]}; edges must be finite numbers"
        )
    falls = np.flatnonzero(edges[1:] <= edges[:-1])
    if falls.size:
        low, high = edges[falls[0] : falls[0] + 2].tolist()
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
