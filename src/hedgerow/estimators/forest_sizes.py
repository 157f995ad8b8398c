"""Parameters of forests that are a number or a share: what they come to for a table."""

import math
from typing import Any

import numpy as np


def share_of(value: Any, n: int, *, round_up: bool = True) -> int:
    """A number, or a share of n as a number, at least 1.

    >>> share_of(5, 100), share_of(0.071, 100), share_of(0.071, 100, round_up=False)
    (5, 8, 7)
    """
    if isinstance(value, int | np.integer):
        return int(value)
    return max(1, math.ceil(value * n * (1.0 - 2.0**-50)) if round_up else int(value * n))


def columns_per_node(max_features: Any, n_columns: int) -> int:
    """How many columns are tried at a node.

    >>> [columns_per_node(value, 30) for value in (None, "sqrt", "log2", 7, 0.5)]
    [30, 5, 4, 7, 15]
    """
    if max_features is None:
        return n_columns
    if max_features == "sqrt":
        return max(1, math.isqrt(n_columns))
    if max_features == "log2":
        return max(1, n_columns.bit_length() - 1)
    if isinstance(max_features, int | np.integer):
        if max_features > n_columns:
            raise ValueError(
                f"max_features={max_features} is not allowed: it must be at most {n_columns}, the number of "
                "columns of X"
            )
        return int(max_features)
    return max(1, int(max_features * n_columns))
