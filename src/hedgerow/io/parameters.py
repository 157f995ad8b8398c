"""Parameters and class labels as plain data that strict JSON can hold, and back.

None, bool, int, finite float and str stand for themselves, and lists hold them; beyond that

    infinities and NaN     {"float": "inf"}
    dicts                  {"items": [[key, value], ...]}, ordered by key
    tuples, arrays, sets   lists; sets sorted, since their own order changes from run to run
    a grid of edges        {"grid": [[0.5, 1.5], null]}; its fingerprints are arrays of the file
    an array of labels     {"dtype": "<U5", "values": ["blue", "red"]}


Estimators that are not fitted: a class name and the parameters of its constructor.

    {"estimator": "DecisionTreeClassifier", "parameters": {"criterion": "gini", "max_depth": 2, ...}}

Parameters that cannot change a model, threads and printing, are left out. A parameter `estimator` is in turn
such an object, or {"skops": 0} if it is of another library, and is left out when it is None. Parameters that
a file does not have take their defaults, so that a file of an older version can be read.
"""

import itertools
import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow import estimators
from hedgerow.container import ModelFileError, entry
from hedgerow.estimators.fingerprints import RowHashes
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.estimators.schapire import ALLOWED as OF_THREE
from hedgerow.io.reader import Reader, Writer, is_foreign, short

_PLAIN = (type(None), bool, int, float, str)

_LABEL_DTYPES = ("|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)), "object")
_LABEL_TYPES = {  # dtype kind -> the Python types its labels have
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float,),
    "U": (str,),
    "O": (bool, int, float, str),
}
_MOST_TEXT = 1 << 28  # bytes of all string labels: NumPy gives each the room of the longest
_SPARE_TEXT = 1 << 18  # bytes that they may take without a reason in the labels themselves


def encode(value: Any, name: str) -> Any:
    """Plain data for a value of the parameter `name`; ModelFileError if there is none.

    >>> encode({1: 2.5, "red": (np.int8(3), math.inf)}, "weights")
    {'items': [['red', [3, {'float': 'inf'}]], [1, 2.5]]}
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
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
    if isinstance(value, list) and hasattr(value, "hashes"):
        return {"grid": [encode(one, name) for one in value]}
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
    if set(data) == {"grid"} and isinstance(data["grid"], list):
        return as_grid([_edges(decode(one, name), name) for one in data["grid"]])
    items = data.get("items")
    if set(data) != {"items"} or not isinstance(items, list):
        raise ModelFileError(f"{name} is malformed: {reprlib.repr(data)}")
    decoded = {}
    for item in items:
        if not isinstance(item, list) or len(item) != 2 or type(item[0]) not in _PLAIN:
            raise ModelFileError(f"{name} is malformed: {reprlib.repr(item)} is not a key and its value")
        decoded[item[0]] = decode(item[1], name)
    return decoded


def as_grid(edges: list[Any]) -> Any:
    """A list of edges as a `hedgerow.theory.grid.Grid`, without fingerprints yet."""
    from hedgerow.theory.grid import Grid  # noqa: PLC0415 - loads 0.1 s of modules that few files need

    return Grid(edges)


def _edges(values: Any, name: str) -> NDArray[np.float64] | None:
    """The edges of a column of a grid."""
    if values is None:
        return None
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ModelFileError(f"{name} is malformed: a grid holds lists of numbers")
    try:
        return np.array(values, np.float64)
    except OverflowError as error:
        raise ModelFileError(f"{name} is malformed: a grid holds lists of numbers") from error


def encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Class labels as {"dtype", "values"}."""
    dtype = "object" if classes.dtype == object else classes.dtype.newbyteorder("<").str
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    data = {"dtype": dtype, "values": values}
    try:
        decode_labels(data)
    except ModelFileError as error:
        raise ModelFileError(
            f"classes_ has dtype {classes.dtype} and begins with {classes[0]!r}; a model file holds labels "
            "that are strings, booleans or numbers of at most 64 bits"
        ) from error
    return data


def decode_labels(data: Any) -> NDArray[Any]:
    """The labels that `encode_labels` described: at least two, rising.

    >>> decode_labels({"dtype": "<i2", "values": [-1, 1]})
    array([-1,  1], dtype=int16)
    """
    if not isinstance(data, dict) or set(data) != {"dtype", "values"}:
        raise ModelFileError("classes are malformed; a dtype and values are needed")
    values = data["values"]
    if not isinstance(values, list) or len(values) < 2:
        raise ModelFileError("classes must be a list of at least two labels")
    dtype = _label_dtype(data["dtype"], values)
    if not all(type(value) in _LABEL_TYPES[dtype.kind] for value in values):
        raise ModelFileError(f"classes are not all of dtype {dtype}")
    labels = np.empty(len(values), dtype)
    try:
        labels[:] = values
        rising = all(a < b for a, b in itertools.pairwise(labels))
    except (OverflowError, TypeError) as error:
        raise ModelFileError(f"classes do not fit dtype {dtype}: {error}") from error
    if not rising or labels.tolist() != values:  # unequal: a string or a number was cut
        raise ModelFileError(f"classes are not distinct, rising labels of dtype {dtype}")
    return labels


def _label_dtype(name: Any, values: list[Any]) -> np.dtype[Any]:
    """The dtype of that name; one of strings may have some room that no label needs, but not any amount."""
    if name in _LABEL_DTYPES:
        known: np.dtype[Any] = np.dtype(name).newbyteorder("=")
        return known
    width = re.fullmatch("<U([1-9][0-9]{0,8})", name) if isinstance(name, str) else None
    longest = max(len(value) if isinstance(value, str) else 0 for value in values)
    most = min(max(4 * 16 * longest * len(values), _SPARE_TEXT), _MOST_TEXT)
    if width and 4 * int(width[1]) * len(values) <= most:
        text: np.dtype[Any] = np.dtype(name).newbyteorder("=")
        return text
    raise ModelFileError(f"classes have the dtype {reprlib.repr(name)}, which labels cannot have")


MOST_LEVELS = 5  # of estimators within estimators: checking one takes four times as long as checking its own
LEFT_OUT = frozenset({"n_jobs", "verbose"})  # no influence on the model
CLASSES: dict[str, type[Any]] = {name: getattr(estimators, name) for name in estimators.__all__}


def is_ours(estimator: Any) -> bool:
    """Whether an estimator is of a class of ours, and of no other derived from it."""
    return CLASSES.get(type(estimator).__name__) is type(estimator)


def write_spec(estimator: Any, out: Writer | None = None, level: int = 0) -> dict[str, Any]:
    """A class of ours and its parameters, or an object of another library, which is put into `out`."""
    _check_level(level)
    out = Writer(lambda _model, _part: None) if out is None else out
    if not is_ours(estimator):
        return out.foreign(
            clone(estimator), "estimator"
        )  # what it may know from a fit of its own is not used
    return {"estimator": type(estimator).__name__, "parameters": write_parameters(estimator, out, level)}


def write_parameters(estimator: Any, out: Writer, level: int = 0) -> dict[str, Any]:
    """The parameters as plain data."""
    values = estimator.get_params(deep=False)
    check_parameters(values, allowed_of(estimator))
    for name in ("loss", "cost"):
        if not isinstance(values.get(name, ""), str):
            raise ModelFileError(
                f"{name}={values[name]!r} is an object; a model file holds those that have a name only; "
                "pickle and joblib hold the others"
            )
    if not isinstance(values.get("random_state"), int | np.integer):
        values.pop("random_state", None)
    if callable(values.get("oob_score")):
        values["oob_score"] = True
    learner = values.pop("estimator", None)
    written = {name: encode(value, name) for name, value in values.items() if name not in LEFT_OUT}
    return written if learner is None else written | {"estimator": write_spec(learner, out, level + 1)}


def _check_level(level: int) -> None:
    if level > MOST_LEVELS:
        raise ModelFileError(f"estimators within estimators: a model file holds {MOST_LEVELS} levels of them")


def read_spec(part: Reader, data: Any, name: str = "estimator", level: int = 0) -> Any:
    """The estimator that `write_spec` described."""
    _check_level(level)
    if part.format > 2 and is_foreign(data):
        return _cloned(part.foreign(name, data), f"{part.prefix}{name}")
    if not isinstance(data, dict) or set(data) != {"estimator", "parameters"}:
        raise ModelFileError(f"{name} is {reprlib.repr(data)}; a class and its parameters are needed")
    return read_estimator(part, data, level)


def _cloned(learner: Any, name: str) -> Any:
    """A clone, which has sound parameters and nothing else."""
    try:
        return clone(learner)
    except Exception as error:
        raise ModelFileError(f"{name} is no estimator: {short(ValueError(error))}") from error


def read_estimator(part: Reader, entries: Mapping[str, Any], level: int = 0) -> Any:
    """The estimator of the entries `estimator` and `parameters`, with its parameters checked."""
    name = entry(entries, "estimator", str)
    if name not in CLASSES:
        raise ModelFileError(f"estimator {reprlib.repr(name)} is unknown; known are {', '.join(CLASSES)}")
    return _read_parameters(part, CLASSES[name], entry(entries, "parameters", dict), level)


def _read_parameters(part: Reader, kind: type[Any], given: dict[str, Any], level: int) -> Any:
    estimator = kind()
    values = estimator.get_params(deep=False)
    parameters = {}
    for name, data in given.items():
        if name not in values or name in LEFT_OUT:
            raise ModelFileError(f"{kind.__name__} has no parameter {reprlib.repr(name)} in a file")
        is_learner = name == "estimator" and data is not None
        parameters[name] = read_spec(part, data, level=level + 1) if is_learner else decode(data, name)
    values |= parameters
    try:
        check_parameters(values, allowed_of(estimator))
    # an integer may have thousands of digits, and a learner of another library anything
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"parameters: {short(ValueError(error))}") from error
    for name, kinds in (("loss", (str,)), ("cost", (str,)), ("random_state", (int, type(None)))):
        if name in values:
            entry(values, name, *kinds)
    return kind(**parameters)


def allowed_of(estimator: Any) -> dict[str, Allowed]:
    """What the parameters may be: the table that fit checks with."""
    if isinstance(estimator, estimators.SchapireBoostClassifier):
        return OF_THREE
    if hasattr(estimator, "_rules_of_parameters"):
        rules: dict[str, Allowed] = estimator._rules_of_parameters()  # noqa: SLF001 - of our own kind
    else:
        rules = estimator._allowed  # noqa: SLF001
    return rules


def mark_grids(marks: RowHashes | None, *found: Any) -> None:
    """Give fingerprints back to the grids of edges among the parameters of estimators, and of theirs."""
    if marks is not None:
        kind = type(as_grid([]))
        for edges in _bin_edges(found):
            if isinstance(edges, kind):
                edges.hashes = marks


def _bin_edges(found: tuple[Any, ...]) -> Iterator[Any]:
    for estimator in found:
        if is_ours(estimator):
            values = estimator.get_params(deep=False)
            yield values.get("bin_edges")
            yield from _bin_edges((values.get("estimator"),))
