"""Checks of parameters: one line per parameter defines what is allowed, and the error message repeats it."""

import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from hedgerow.losses import LOSSES, Loss


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


def whole(low: int, high: float = math.inf) -> Allowed:
    """Allow an integer from low to high."""
    description = f"an integer >= {low}" if high == math.inf else f"an integer from {low} to {high}"
    return Allowed(
        lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(low <= v <= high),
        description,
    )


def real(low: float, high: float = math.inf, *, above: bool = False, below: bool = False) -> Allowed:
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


def nothing() -> Allowed:
    """Allow None."""
    return Allowed(lambda v: v is None, "None")


def flag() -> Allowed:
    """Allow True or False."""
    return Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False")


def threads() -> Allowed:
    """Allow a number of threads, as in scikit-learn."""
    description = "a positive integer, a negative one to count back from all cores (-1)"
    return Allowed(lambda v: whole(-(2**31), 2**31).test(v) and v != 0, description)


def seed() -> Allowed:
    """Allow a seed or a random generator, as in scikit-learn."""
    return Allowed(
        lambda v: whole(0).test(v) or isinstance(v, np.random.RandomState) or v is np.random,
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
    except (AttributeError, TypeError):  # raised by scikit-learn for objects that are no estimators
        return False


def class_weights() -> Allowed:
    """Allow a mapping from labels to weights."""

    def test(v: Any) -> bool:
        return isinstance(v, Mapping) and all(real(0).test(weight) for weight in v.values())

    return Allowed(test, "a dict from labels to numbers >= 0")


def directions() -> Allowed:
    """Allow monotonic directions, by position or by name; their number is checked with X."""

    def test(v: Any) -> bool:
        if not isinstance(v, Collection) or isinstance(v, str):
            return False
        values = v.values() if isinstance(v, Mapping) else v
        return all(_is_number(one) and one in (-1, 0, 1) for one in values)

    return Allowed(test, "a sequence of -1, 0 and 1, one per column, or a dict of them by column name")


def groups() -> Allowed:
    """Allow sets of column numbers; whether there are such columns is checked with X."""

    def test(v: Any) -> bool:
        if not isinstance(v, Collection) or isinstance(v, str | Mapping):
            return False
        sets = list(v)
        if not all(isinstance(one, Collection) and not isinstance(one, str) for one in sets):
            return False
        return all(whole(0).test(column) for one in sets for column in one)

    return Allowed(test, "a sequence of sets of column numbers")


def edges() -> Allowed:
    """Allow bin edges for all columns, by column or by name; their values are checked with X."""

    def test(v: Any) -> bool:
        if isinstance(v, Mapping):
            return all(isinstance(key, str) or whole(0).test(key) for key in v)
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
