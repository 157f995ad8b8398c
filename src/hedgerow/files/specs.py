"""Estimators that are not fitted: a class name and the parameters of its constructor.

    {"estimator": "DecisionTreeClassifier", "parameters": {"criterion": "gini", "max_depth": 2, ...}}

Parameters that cannot change a model, threads and printing, are left out. A parameter `estimator` is in turn
such an object, or {"skops": 0} if it is of another library, and is left out when it is None. Parameters that
a file does not have take their defaults, so that a file of an older version can be read.
"""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from hedgerow import estimators
from hedgerow.container import ModelFileError, entry
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.estimators.schapire import ALLOWED as OF_THREE
from hedgerow.estimators.seen import Marks
from hedgerow.files.parts import Reader, Writer, is_foreign
from hedgerow.files.pieces import short
from hedgerow.files.values import as_grid, decode, encode

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


def mark_grids(marks: Marks | None, *found: Any) -> None:
    """Give fingerprints back to the grids of edges among the parameters of estimators, and of theirs."""
    if marks is not None:
        kind = type(as_grid([]))
        for edges in _edges(found):
            if isinstance(edges, kind):
                edges.marks = marks


def _edges(found: tuple[Any, ...]) -> Iterator[Any]:
    for estimator in found:
        if is_ours(estimator):
            values = estimator.get_params(deep=False)
            yield values.get("bin_edges")
            yield from _edges((values.get("estimator"),))
