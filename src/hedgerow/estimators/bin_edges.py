"""Bin edges of the parameter `bin_edges`: one float64 array or None for every column of X.

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
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.table import Schema


def edges_by_column(bin_edges: Any, schema: Schema, max_bins: int) -> list[Floats | None] | None:
    """Return the edges of every column, or None without any.

    Parameters
    ----------
    bin_edges : None, sequence or mapping
        See above; its form has been checked by `parameters.edges`.
    schema : Schema
    max_bins : int
        The number of edges of a column is smaller.

    Examples
    --------
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
