"""Monotonic and interaction constraints of the parameters as arrays for the grower.

`hedgerow.estimators.parameters` checks their form; here they are checked against the columns of X.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.table import Schema


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
