"""Estimators that are not fitted: a class name and the parameters of its constructor.

    {"estimator": "DecisionTreeClassifier", "parameters": {"criterion": "gini", "max_depth": 2, ...}}

Parameters that cannot change a model, threads and printing, are left out. A parameter `estimator` is in turn
such an object, and is left out when it is None. Parameters that a file does not have take their defaults, so
that a file of an older version can be read.
"""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hedgerow import estimators
from hedgerow.container import ModelFileError, entry
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.estimators.schapire import ALLOWED as OF_THREE
from hedgerow.estimators.seen import Marks
from hedgerow.files.pieces import short
from hedgerow.files.values import as_grid, decode, encode

MOST_LEVELS = 5  # of estimators within estimators: checking one takes four times as long as checking its own
LEFT_OUT = frozenset({"n_jobs", "verbose"})  # no influence on the model
CLASSES: dict[str, type[Any]] = {name: getattr(estimators, name) for name in estimators.__all__}


def write_spec(estimator: Any, level: int = 0) -> dict[str, Any]:
    """A class of ours and its parameters."""
    _check_level(level)
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise ModelFileError(
            f"estimator={estimator!r}: a model file holds estimators of Hedgerow only; pickle and joblib "
            "hold the others"
        )
    return {"estimator": name, "parameters": write_parameters(estimator, level)}


def write_parameters(estimator: Any, level: int = 0) -> dict[str, Any]:
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
    return written if learner is None else written | {"estimator": write_spec(learner, level + 1)}


def _check_level(level: int) -> None:
    if level > MOST_LEVELS:
        raise ModelFileError(f"estimators within estimators: a model file holds {MOST_LEVELS} levels of them")


def read_spec(data: Any, name: str = "estimator", level: int = 0) -> Any:
    """The estimator that `write_spec` described."""
    _check_level(level)
    if not isinstance(data, dict) or set(data) != {"estimator", "parameters"}:
        raise ModelFileError(f"{name} is {reprlib.repr(data)}; a class and its parameters are needed")
    return read_estimator(data, level)


def read_estimator(entries: Mapping[str, Any], level: int = 0) -> Any:
    """The estimator of the entries `estimator` and `parameters`, with its parameters checked."""
    name = entry(entries, "estimator", str)
    if name not in CLASSES:
        raise ModelFileError(f"estimator {reprlib.repr(name)} is unknown; known are {', '.join(CLASSES)}")
    return _read_parameters(CLASSES[name], entry(entries, "parameters", dict), level)


def _read_parameters(kind: type[Any], given: dict[str, Any], level: int) -> Any:
    estimator = kind()
    values = estimator.get_params(deep=False)
    parameters = {}
    for name, data in given.items():
        if name not in values or name in LEFT_OUT:
            raise ModelFileError(f"{kind.__name__} has no parameter {reprlib.repr(name)} in a file")
        is_learner = name == "estimator" and data is not None
        parameters[name] = read_spec(data, level=level + 1) if is_learner else decode(data, name)
    values |= parameters
    try:
        check_parameters(values, allowed_of(estimator))
    except (ValueError, TypeError, OverflowError) as error:  # an integer may have thousands of digits
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
        if estimator is not None:
            values = estimator.get_params(deep=False)
            yield values.get("bin_edges")
            yield from _edges((values.get("estimator"),))
