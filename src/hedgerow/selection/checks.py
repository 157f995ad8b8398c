"""Checks of a choice that was kept in a file, perhaps a stranger's: every value is what it must be."""

import math
import reprlib
from collections.abc import Sequence
from typing import Any

_LONGEST = 10_000  # characters of a text
_MOST = 10_000  # entries of a list


def fields(content: Any, keys: Sequence[str], what: str) -> dict[str, Any]:
    """A dict of exactly these keys.

    >>> fields({"a": 1}, ["a"], "the trial")
    {'a': 1}
    """
    if type(content) is not dict or set(content) != set(keys):
        raise ValueError(f"{what} must be a dict of {', '.join(keys)}; found {reprlib.repr(content)}")
    return content


def entries(value: Any, what: str) -> list[Any]:
    """A list that is not endless.

    >>> entries([1], "trials")
    [1]
    """
    if type(value) is not list or len(value) > _MOST:
        raise ValueError(f"{what} must be a list; found {reprlib.repr(value)}")
    return value


def words(value: Any, what: str) -> str:
    """A text that a terminal can show.

    >>> words("so", "note")
    'so'
    """
    if type(value) is not str or len(value) > _LONGEST or not value.isprintable():
        raise ValueError(f"{what} must be a printable text; found {reprlib.repr(value)}")
    return value


def one_of(value: Any, allowed: Sequence[str], what: str) -> str:
    """One of some texts.

    >>> one_of("done", ["done", "failed"], "status")
    'done'
    """
    if type(value) is not str or value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}; found {reprlib.repr(value)}")
    return value


def number(value: Any, what: str) -> float:
    """A finite number.

    >>> number(1, "spread")
    1.0
    """
    if type(value) not in (int, float) or abs(value) > 1e308 or not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number; found {reprlib.repr(value)}")
    return float(value)


def maybe_number(value: Any, what: str) -> float | None:
    """A finite number of at least 0, or None.

    >>> maybe_number(None, "seconds") is None
    True
    """
    if value is None:
        return None
    if number(value, what) < 0:
        raise ValueError(f"{what} must be at least 0; found {value!r}")
    return float(value)


def parameters(value: Any) -> dict[str, Any]:
    """Names with numbers, texts, truth values or None.

    >>> parameters({"n_estimators": 200, "max_depth": None})
    {'n_estimators': 200, 'max_depth': None}
    """
    if type(value) is not dict or len(value) > 100:
        raise ValueError(f"parameters must be a dict; found {reprlib.repr(value)}")
    for name, one in value.items():
        words(name, "the name of a parameter")
        if type(one) is str:
            words(one, f"the parameter {name}")
        elif type(one) in (int, float):
            number(one, f"the parameter {name}")
        elif one is not None and type(one) is not bool:
            raise ValueError(f"the parameter {name} must be a number or a text; found {reprlib.repr(one)}")
    return dict(value)
