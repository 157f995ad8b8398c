"""Parameters and class labels as plain data that strict JSON can hold, and back.

None, bool, int, finite float and str stand for themselves, and lists hold them; beyond that

    infinities and NaN     {"float": "inf"}
    dicts                  {"items": [[key, value], ...]}, ordered by key
    tuples, arrays, sets   lists; sets sorted, since their own order changes from run to run
    an array of labels     {"dtype": "<U5", "values": ["blue", "red"]}
"""

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.files.container import ModelFileError

_PLAIN = (type(None), bool, int, float, str)
_LABEL_KINDS = "biufUO"  # dtype kinds of labels


def encode(value: Any, name: str) -> Any:
    """Plain data for a value of the parameter `name`; ModelFileError if there is none.

    >>> encode({1: 2.5, "red": (np.int8(3), math.inf)}, "weights")
    {'items': [['red', [3, {'float': 'inf'}]], [1, 2.5]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    for kind in _PLAIN:
        if type(value) is kind:
            return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        items = [[encode(key, name), encode(one, name)] for key, one in value.items()]
        return {"items": sorted(items, key=lambda item: json.dumps(item[0]))}
    if isinstance(value, AbstractSet):
        return sorted((encode(one, name) for one in value), key=lambda one: (type(one).__name__, one))
    if isinstance(value, list | tuple | range | np.ndarray) or hasattr(value, "__array__"):
        return [encode(one, name) for one in value]
    raise ModelFileError(
        f"{name} holds {value!r}, a {type(value).__name__}, which a model file cannot; it can hold "
        "numbers, strings, None, and lists, sets, dicts and arrays of them"
    )


def decode(data: Any, name: str) -> Any:
    """The value that `encode` described.

    >>> decode({"items": [["red", [3, {"float": "inf"}]], [1, 2.5]]}, "weights")
    {'red': [3, inf], 1: 2.5}
    """
    if isinstance(data, list):
        return [decode(one, name) for one in data]
    if not isinstance(data, dict):
        return data
    if set(data) == {"float"} and data["float"] in ("inf", "-inf", "nan"):
        return float(data["float"])
    items = data.get("items")
    if set(data) != {"items"} or not isinstance(items, list):
        raise ModelFileError(f"{name} is malformed: {data!r}")
    decoded = {}
    for item in items:
        if not isinstance(item, list) or len(item) != 2 or type(item[0]) not in _PLAIN:
            raise ModelFileError(f"{name} is malformed: {item!r} is not a key and its value")
        decoded[item[0]] = decode(item[1], name)
    return decoded


def encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Class labels as {"dtype", "values"}."""
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    usable = all(isinstance(value, bool | int | float | str) for value in values)
    if classes.dtype.kind not in _LABEL_KINDS or not usable or _is_long(classes.dtype):
        raise ModelFileError(
            f"classes_ has dtype {classes.dtype} and begins with {classes[0]!r}; a model file holds labels "
            "that are strings, booleans or numbers of at most 64 bits"
        )
    dtype = "object" if classes.dtype == object else classes.dtype.newbyteorder("<").str
    return {"dtype": dtype, "values": [encode(value, "classes_") for value in values]}


def decode_labels(data: Any) -> NDArray[Any]:
    """The labels that `encode_labels` described, at least two, rising."""
    if not isinstance(data, dict) or set(data) != {"dtype", "values"}:
        raise ModelFileError(f"classes are malformed: {data!r}")
    values = data["values"]
    if not isinstance(values, list) or len(values) < 2:
        raise ModelFileError("classes must be a list of at least two labels")
    dtype = _label_dtype(data["dtype"])
    kinds = {"b": (bool,), "i": (int,), "u": (int,), "f": (float,), "U": (str,), "O": (bool, int, float, str)}
    if not all(type(value) in kinds[dtype.kind] for value in values):
        raise ModelFileError(f"classes are not all of dtype {dtype}")
    labels = np.empty(len(values), dtype)
    try:
        labels[:] = values
        rising = all(a < b for a, b in zip(labels[:-1], labels[1:], strict=True))
    except (OverflowError, TypeError) as error:
        raise ModelFileError(f"classes do not fit dtype {dtype}: {error}") from error
    if not rising or labels.tolist() != values:  # a string or number that was cut short
        raise ModelFileError(f"classes are not distinct, rising labels of dtype {dtype}")
    return labels


def _label_dtype(name: Any) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name) if isinstance(name, str) and len(name) <= 16 else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None or dtype.shape or dtype.kind not in _LABEL_KINDS or _is_long(dtype):
        raise ModelFileError(f"classes have the dtype {name!r}, which labels cannot have")
    return dtype.newbyteorder("=")


def _is_long(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.itemsize > 8
