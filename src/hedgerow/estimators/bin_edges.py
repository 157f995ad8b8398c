"""Bin edges that the user gives: one float64 array or None for every column of X.

    bin_edges                        columns "age", "height", "colour" (categorical)
    None                             None, or as if it were [None, None, None]
    [0.0, 50.0]                      [0, 50]     [0, 50]     None      the same for all numeric columns
    [[18, 65], [], None]             [18, 65]    []          None      one entry a column; [] is never cut
    {"age": [18, 65]}, {0: [18, 65]} [18, 65]    None        None      by name or by position

None stands for edges at quantiles of the training rows. A model whose edges are all given is one of a finite
class that was fixed before the rows were seen, which is what bounds on its error ask for.
"""

import math
import numbers
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.table import Schema


def given_edges(bin_edges: Any, schema: Schema, max_bins: int) -> list[Floats | None] | None:
    """The edges of every column, or None when there are none at all.

    Parameters
    ----------
    bin_edges : None, sequence or mapping
        See above; its outer form has been checked (`parameters.edges`).
    schema : Schema
    max_bins : int
        One more than a column may have edges.

    Examples
    --------
    >>> given_edges({"age": [18, 65]}, Schema(2, ("age", "height"), (None, None)), 255)
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
            f"bin_edges has {len(entries)} entries, but X has {schema.n_columns} columns; give one entry a "
            "column, None where edges are to come from the training rows"
        )
    return [
        None if entry is None else _of_column(entry, column, schema, max_bins)
        for column, entry in enumerate(entries)
    ]


def by_position(bin_edges: Any) -> bool:
    """Whether it says something else once the columns of X stand in another order.

    >>> [by_position(edges) for edges in (None, [0.5, 1.5], [[0.5], [1.5]], {"age": [18]}, {0: [18]})]
    [False, False, True, False, True]
    """
    if isinstance(bin_edges, Mapping):
        return not all(isinstance(key, str) for key in bin_edges)
    return bin_edges is not None and not _is_one(bin_edges)


def _is_one(bin_edges: Any) -> bool:
    """Whether it is one sequence of numbers, not one of sequences."""
    return not any(entry is None or _is_series(entry) for entry in bin_edges)


def _is_series(value: Any) -> bool:
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return hasattr(value, "__array__") and np.ndim(value) > 0


def _by_key(bin_edges: Mapping[Any, Any], schema: Schema) -> list[Any]:
    """Entries in the order of the columns, None for those that are not named."""
    entries: list[Any] = [None] * schema.n_columns
    places: dict[int, Any] = {}
    for key, entry in bin_edges.items():
        column = _place(key, bin_edges, schema)
        if column in places:
            raise ValueError(f"bin_edges names a column twice, as {places[column]!r} and as {key!r}")
        places[column], entries[column] = key, entry
    return entries


def _place(key: Any, bin_edges: Mapping[Any, Any], schema: Schema) -> int:
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
            f"bin_edges names the columns {named}, but X has no column names; give their positions"
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
    """Edges as float64, a copy, once they are found right."""
    if not _is_series(entry) or any(_is_series(one) for one in entry):
        raise ValueError(f"{label} is {reprlib.repr(entry)}; it must be a sequence of numbers or None")
    values = entry.tolist() if hasattr(entry, "tolist") else list(entry)
    edges = np.array([_as_float(value) for value in values], np.float64)
    bad = np.flatnonzero(~np.isfinite(edges))
    if bad.size:
        raise ValueError(f"{label} holds {values[bad[0]]!r} at place {bad[0]}; edges must be finite numbers")
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
    """A number as a float, NaN for anything else."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf
