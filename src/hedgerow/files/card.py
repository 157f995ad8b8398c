"""The card of a model file: whatever the user wants to have beside the model, as plain data.

{"title": "Injuries", "target": "MAX_SEV", "columns": ["HOUR", "SPEED"], "holdout": {"accuracy": 0.87}}
"""

import json
import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.container import ModelFileError

MOST_BYTES = 16 * 2**20  # of a card as JSON
_MOST_LEVELS = 64
_MOST_INTEGER = 2**64


def checked_card(card: Any) -> dict[str, Any]:
    """A copy of the card as plain data; ModelFileError if it holds anything else.

    Tuples become lists and NumPy numbers become Python's.

    >>> checked_card({"accuracy": np.float32(0.5), "columns": ("a", "b")})
    {'accuracy': 0.5, 'columns': ['a', 'b']}
    >>> checked_card({"accuracy": float("nan")})
    Traceback (most recent call last):
    hedgerow.container.ModelFileError: card['accuracy'] is nan: a card holds finite numbers...
    """
    if not isinstance(card, Mapping):
        raise ModelFileError(f"card is {reprlib.repr(card)}, a {type(card).__name__}: it must be a dict")
    plain: dict[str, Any] = _plain(card, "card", 0)
    size = len(json.dumps(plain))
    if size > MOST_BYTES:
        raise ModelFileError(f"card takes {size:,} bytes as JSON: it may take {MOST_BYTES:,}")
    return plain


def _plain(value: Any, place: str, level: int) -> Any:
    """The value at a place of the card, such as card['columns'][3]."""
    if level > _MOST_LEVELS:
        raise ModelFileError(f"card is nested more than {_MOST_LEVELS} deep")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) < _MOST_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_plain(one, f"{place}[{number}]", level + 1) for number, one in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ModelFileError(f"{place} has the key {reprlib.repr(key)}: keys must be strings")
        return {
            str(key): _plain(one, f"{place}[{reprlib.repr(key)}]", level + 1) for key, one in value.items()
        }
    kind = "" if isinstance(value, int | float) else f", a {type(value).__name__}"
    raise ModelFileError(
        f"{place} is {reprlib.repr(value)}{kind}: a card holds finite numbers of up to 64 bits, strings, "
        "True, False, None, and lists and dicts of them"
    )
