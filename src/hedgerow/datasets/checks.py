"""Checks of the numbers that a data set is made from: an error names the parameter and what is allowed."""

import math
import numbers
from typing import Any

import numpy as np


def check_count(name: str, value: Any, low: int, high: int | None = None) -> int:
    """The value as an int, if it is an integer from low to high.

    >>> check_count("n_samples", 0, 1)
    Traceback (most recent call last):
    ValueError: n_samples=0 is not allowed: it must be an integer >= 1
    """
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        allowed = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
        raise ValueError(f"{name}={value!r} is not allowed: it must be {allowed}")
    return int(value)


def check_real(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """The value as a float, if it is a finite number from low to high.

    >>> check_real("share", 1.5, 0, 1)
    Traceback (most recent call last):
    ValueError: share=1.5 is not allowed: it must be a number >= 0 and <= 1
    """
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_real or not math.isfinite(value) or not low <= value <= high:
        allowed = f"a number >= {low}" + ("" if high == math.inf else f" and <= {high}")
        raise ValueError(f"{name}={value!r} is not allowed: it must be {allowed}")
    return float(value)
