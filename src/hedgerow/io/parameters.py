"""Parameters, class labels and unfitted estimators as plain data that strict JSON can hold.

None, bool, int, finite float and str are written as they are, in lists too. Other values:

    infinities and NaN     {"float": "inf"}
    dicts                  {"items": [[key, value], ...]}, ordered by key
    tuples, arrays, sets   lists; sets are sorted, since their order changes from run to run
    a grid of edges        {"grid": [[0.5, 1.5], null]}; its fingerprints are arrays of the file
    an array of labels     {"dtype": "<U5", "values": ["blue", "red"]}
    an estimator           {"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": 2, ...}}
    ... of scikit-learn    {"skops": 0}

Parameters that cannot change a model (threads, printing) are left out, and so is a parameter `estimator` that
is None. Parameters that a file does not have take their defaults.
"""

import contextlib
import itertools
import json
import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow import estimators
from hedgerow._typing import Floats
from hedgerow.container import JSON, ModelFileError
from hedgerow.estimators.fingerprints import RowHashes
from hedgerow.estimators.parameters import check_parameters
from hedgerow.io.reader import Reader, Writer, is_foreign

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
_MAX_TEXT = 1 << 28  # bytes of all string labels: NumPy stores each with the length of the longest
_SPARE_TEXT = 1 << 18  # bytes that their dtype may take beyond the length of the labels


def encode(value: Any, name: str) -> Any:
    """Return plain data for a value of the parameter `name`.

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
        items = [[encode(key, name), encode(item, name)] for key, item in value.items()]
        return {"items": sorted(items, key=lambda item: json.dumps(item[0]))}
    if isinstance(value, list) and hasattr(value, "hashes"):
        return {"grid": [encode(edges, name) for edges in value]}
    if isinstance(value, AbstractSet):
        return sorted((encode(item, name) for item in value), key=lambda item: (type(item).__name__, item))
    if isinstance(value, list | tuple | range | np.ndarray) or hasattr(value, "__array__"):
        return [encode(item, name) for item in value]
    raise ModelFileError(
        f"{name} holds {value!r}, a {type(value).__name__}; a model file can hold numbers, strings, None, "
        "and lists, sets, dicts and arrays of them"
    )


def decode(data: Any, name: str) -> Any:
    """Return the value that `encode` described.

    >>> decode({"items": [["red", [3, {"float": "inf"}]], [1, 2.5]]}, "weights")
    {'red': [3, inf], 1: 2.5}
    """
    if isinstance(data, list):
        return [decode(item, name) for item in data]
    if not isinstance(data, dict):
        return data
    if set(data) == {"float"} and data["float"] in ("inf", "-inf", "nan"):
        return float(data["float"])
    if set(data) == {"grid"} and isinstance(data["grid"], list):
        return as_grid([_edges(decode(edges, name), name) for edges in data["grid"]])
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
    """Return a list of edges as a `hedgerow.theory.grid.Grid`, without fingerprints yet."""
    from hedgerow.theory.grid import Grid  # noqa: PLC0415 - takes 0.1 s, and few files need it

    return Grid(edges)


def _edges(values: Any, name: str) -> Floats | None:
    """Return the edges of a column of a grid."""
    if values is None:
        return None
    if isinstance(values, list) and all(type(value) in (int, float) for value in values):
        with contextlib.suppress(OverflowError):
            return np.array(values, np.float64)
    raise ModelFileError(f"{name} is malformed: a grid must hold lists of numbers")


def encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Return class labels as {"dtype", "values"}."""
    dtype = "object" if classes.dtype == object else classes.dtype.newbyteorder("<").str
    values = [value.item() if isinstance(value, np.generic) else value for value in classes.tolist()]
    data = {"dtype": dtype, "values": values}
    try:
        decode_labels(data)
    except ModelFileError as error:
        raise ModelFileError(
            f"classes_ has dtype {classes.dtype} and begins with {classes[0]!r}; a model file can hold "
            "labels that are strings, booleans or numbers of at most 64 bits"
        ) from error
    return data


def decode_labels(data: Any) -> NDArray[Any]:
    """Return the labels that `encode_labels` described: at least two, increasing.

    >>> decode_labels({"dtype": "<i2", "values": [-1, 1]})
    array([-1,  1], dtype=int16)
    """
    if not isinstance(data, dict) or set(data) != {"dtype", "values"}:
        raise ModelFileError("classes must be a JSON object of dtype and values")
    values = data["values"]
    if not isinstance(values, list) or len(values) < 2:
        raise ModelFileError("classes must be a list of at least two labels")
    dtype = _label_dtype(data["dtype"], values)
    if not all(type(value) in _LABEL_TYPES[dtype.kind] for value in values):
        raise ModelFileError(f"classes must all be of dtype {dtype}")
    labels = np.empty(len(values), dtype)
    try:
        labels[:] = values
        increasing = all(a < b for a, b in itertools.pairwise(labels))
    except (OverflowError, TypeError) as error:
        raise ModelFileError(f"classes do not fit dtype {dtype}: {error}") from error
    if not increasing or labels.tolist() != values:  # unequal: a string or a number was cut
        raise ModelFileError(f"classes must be distinct, increasing labels of dtype {dtype}")
    return labels


def _label_dtype(name: Any, values: list[Any]) -> np.dtype[Any]:
    """Return the dtype of that name; one of strings may be longer than the labels, within limits."""
    width = re.fullmatch("<U([1-9][0-9]{0,8})", name) if isinstance(name, str) else None
    longest = max(len(value) if isinstance(value, str) else 0 for value in values)
    most = min(max(4 * 16 * longest * len(values), _SPARE_TEXT), _MAX_TEXT)
    if name not in _LABEL_DTYPES and not (width and 4 * int(width[1]) * len(values) <= most):
        raise ModelFileError(f"classes cannot have the dtype {reprlib.repr(name)}")
    dtype: np.dtype[Any] = np.dtype(name).newbyteorder("=")
    return dtype


MAX_LEVELS = 5  # of nested estimators: checking one takes four times as long as checking its own
LEFT_OUT = frozenset({"n_jobs", "verbose"})  # no influence on the model
CLASSES: dict[str, type[Any]] = {name: getattr(estimators, name) for name in estimators.__all__}


def is_known_class(estimator: Any) -> bool:
    """Return whether the class of an estimator, not a base class of it, is one of `CLASSES`."""
    return CLASSES.get(type(estimator).__name__) is type(estimator)


def write_spec(estimator: Any, writer: Writer | None = None, level: int = 0) -> dict[str, Any]:
    """Return a class of Hedgerow and its parameters; an object of another library is added to the writer."""
    _check_level(level)
    writer = Writer(lambda _model, _section: None) if writer is None else writer
    if not is_known_class(estimator):
        return writer.foreign(clone(estimator), "estimator")  # without its fitted attributes
    return {"estimator": type(estimator).__name__, "parameters": write_parameters(estimator, writer, level)}


def write_parameters(estimator: Any, writer: Writer, level: int = 0) -> dict[str, Any]:
    """Return the parameters as plain data."""
    values = estimator.get_params(deep=False)
    check_parameters(values, estimator._allowed)  # noqa: SLF001 - a class of Hedgerow
    for name in ("loss", "cost"):
        if not isinstance(values.get(name, ""), str):
            raise ModelFileError(f"{name}={values[name]!r} is an object; {held_by_name(name)}")
    if "random_state" in values and not isinstance(values["random_state"], int | np.integer):
        del values["random_state"]
        if signature(type(estimator)).parameters["random_state"].default is not None:
            values["random_state"] = None
    if callable(values.get("oob_score")):
        values["oob_score"] = True
    learner = values.pop("estimator", None)
    written = {name: encode(value, name) for name, value in values.items() if name not in LEFT_OUT}
    return written if learner is None else written | {"estimator": write_spec(learner, writer, level + 1)}


def held_by_name(name: str) -> str:
    """Return the end of the message about a loss or a cost that is an object."""
    return f"a model file can hold a {name} by its name only; use pickle or joblib"


def _check_level(level: int) -> None:
    if level > MAX_LEVELS:
        raise ModelFileError(f"estimators are nested more than {MAX_LEVELS} deep")


def read_spec(reader: Reader, data: Any, name: str = "estimator", level: int = 0) -> Any:
    """Return the estimator that `write_spec` described."""
    _check_level(level)
    if is_foreign(data):
        learner = reader.foreign(name, data)
        try:
            return clone(learner)  # with checked parameters, and without fitted attributes
        except Exception as error:
            raise ModelFileError(f"{reader.prefix}{name} is not an estimator: {error}") from error
    if not isinstance(data, dict) or set(data) != {"estimator", "parameters"}:
        raise ModelFileError(
            f"{name} must be a JSON object of estimator and parameters; got {reprlib.repr(data)}"
        )
    return read_estimator(reader, data, level)


def read_estimator(reader: Reader, entries: Mapping[str, Any], level: int = 0) -> Any:
    """Return the estimator of the entries `estimator` and `parameters`, with its parameters checked."""
    name = JSON.entry(entries, "estimator", str)
    if name not in CLASSES:
        raise ModelFileError(f"estimator must be one of {', '.join(CLASSES)}; got {reprlib.repr(name)}")
    return _read_parameters(reader, CLASSES[name], JSON.entry(entries, "parameters", dict), level)


def _read_parameters(reader: Reader, kind: type[Any], content: dict[str, Any], level: int) -> Any:
    estimator = kind()
    values = estimator.get_params(deep=False)
    parameters = {}
    for name, data in content.items():
        if name not in values or name in LEFT_OUT:
            raise ModelFileError(f"{kind.__name__} has no parameter {reprlib.repr(name)} in files")
        is_learner = name == "estimator" and data is not None
        parameters[name] = read_spec(reader, data, level=level + 1) if is_learner else decode(data, name)
    values |= parameters
    try:
        check_parameters(values, estimator._allowed)  # noqa: SLF001
    # An integer may have thousands of digits, and a learner of another library may raise anything.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"parameters: {error}") from error
    for name, kinds in (("loss", (str,)), ("cost", (str,)), ("random_state", (int, type(None)))):
        if name in values:
            JSON.entry(values, name, *kinds)
    return kind(**parameters)


def restore_grids(hashes: RowHashes | None, *estimators: Any) -> None:
    """Restore the fingerprints of the grids of edges among the parameters of estimators, nested ones too."""
    if hashes is not None:
        kind = type(as_grid([]))
        for edges in _bin_edges(estimators):
            if isinstance(edges, kind):
                edges.hashes = hashes


def _bin_edges(estimators: tuple[Any, ...]) -> Iterator[Any]:
    for estimator in estimators:
        if is_known_class(estimator):
            values = estimator.get_params(deep=False)
            yield values.get("bin_edges")
            yield from _bin_edges((values.get("estimator"),))
