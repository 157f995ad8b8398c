"""Parameter checks: one line a parameter says what is allowed, and the error repeats it."""

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be: a test and the words for it."""

    test: Callable[[Any], bool]
    words: str

    def __or__(self, other: "Allowed") -> "Allowed":
        return Allowed(lambda value: self.test(value) or other.test(value), f"{self.words} or {other.words}")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def whole(low: int, high: float = math.inf) -> Allowed:
    """Allow an integer from low to high."""
    words = f"an integer >= {low}" if high == math.inf else f"an integer from {low} to {high}"
    return Allowed(
        lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(low <= v <= high),
        words,
    )


def real(low: float, high: float = math.inf, *, above: bool = False) -> Allowed:
    """Allow a finite number from low (or above it) to high."""
    words = f"a number {'>' if above else '>='} {low}" + ("" if high == math.inf else f" and <= {high}")
    return Allowed(
        lambda v: _is_number(v) and (low < v if above else low <= v) and v <= high and math.isfinite(v), words
    )


def one_of(*options: Any) -> Allowed:
    """Allow one of the options."""
    return Allowed(lambda v: isinstance(v, str | bool) and v in options, " or ".join(map(repr, options)))


def nothing() -> Allowed:
    """Allow None."""
    return Allowed(lambda v: v is None, "None")


def flag() -> Allowed:
    """Allow True or False."""
    return Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False")


def check_parameters(values: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise ValueError for the first parameter that is not allowed."""
    for name, rule in allowed.items():
        if not rule.test(values[name]):
            raise ValueError(f"{name}={values[name]!r} is not allowed: it must be {rule.words}")
