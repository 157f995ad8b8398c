"""Monotonic and interaction constraints as the grower reads them."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table import Schema


def monotonic_directions(constraints: Any, schema: Schema) -> NDArray[np.int8]:
    """+1, -1 or 0 for every column, empty without constraints.

    constraints : None, a sequence with a direction for every column, or a mapping from column names.
    """
    if constraints is None:
        return np.empty(0, np.int8)
    if isinstance(constraints, Mapping):
        if schema.names is None:
            raise ValueError("monotonic_cst maps column names, but X has no column names")
        unknown = [name for name in constraints if name not in schema.names]
        if unknown:
            raise ValueError(f"monotonic_cst names the column {unknown[0]!r}, which X does not have")
        directions = [constraints.get(name, 0) for name in schema.names]
    else:
        directions = list(constraints)
    if len(directions) != schema.n_columns:
        raise ValueError(
            f"monotonic_cst has {len(directions)} directions for {schema.n_columns} columns; give one each"
        )
    for column, direction in enumerate(directions):
        if direction not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of column {column} is {direction!r}; allowed are -1, 0 and 1")
        if direction and schema.categories[column] is not None:
            raise ValueError(f"monotonic_cst of column {column} must be 0: the column is categorical")
    if not any(directions):
        return np.empty(0, np.int8)
    return np.array(directions, np.int8)


def interaction_groups(constraints: Any, n_columns: int) -> NDArray[np.uint64]:
    """Bit sets of the groups each column belongs to, (columns, words), empty without constraints.

    constraints : None, "pairwise", "no_interactions", or a sequence of sets of column numbers. Columns
    in no set form one more set.
    """
    if constraints is None:
        return np.empty((0, 0), np.uint64)
    groups = _as_groups(constraints, n_columns)
    rest = set(range(n_columns)).difference(*groups)
    if rest:
        groups.append(rest)
    bits = np.zeros((n_columns, -(-len(groups) // 64)), np.uint64)
    for number, group in enumerate(groups):
        for column in group:
            bits[column, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return bits


def _as_groups(constraints: Any, n_columns: int) -> list[set[int]]:
    if isinstance(constraints, str):
        sizes = {"pairwise": 2, "no_interactions": 1}
        if constraints not in sizes:
            raise ValueError(
                f"interaction_cst={constraints!r} is not allowed: it must be None, 'pairwise', "
                "'no_interactions' or a sequence of sets of column numbers"
            )
        size = min(sizes[constraints], n_columns)
        return [set(group) for group in combinations(range(n_columns), size)]
    if not isinstance(constraints, Iterable):
        raise TypeError(f"interaction_cst={constraints!r} is not a sequence of sets of column numbers")
    groups = [set(group) for group in constraints]
    for group in groups:
        for column in group:
            if not isinstance(column, int | np.integer) or not 0 <= column < n_columns:
                raise ValueError(
                    f"interaction_cst names the column {column!r}; allowed are 0 to {n_columns - 1}"
                )
    return [{int(column) for column in group} for group in groups]
