"""Gradient boosting in a file: initial scores, trees or members whose values are added, and a loss.

initial_scores   before the first round, one per output
loss             {"name": "huber", "parameters": {"alpha": 0.9, "delta": 1.3}}
members          lists of members, one list per round, see `members`; only without trees
steps            the step length of each round with members
"""

import math
import reprlib
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.gradient_members import MemberModel
from hedgerow.container import JSON, ModelFileError
from hedgerow.estimators import GradientBoostingClassifier
from hedgerow.forest import TreeModel
from hedgerow.io.members import MemberSpec, read_members, write_members
from hedgerow.io.reader import Reader, Writer, require, short
from hedgerow.io.sections import (
    read_best,
    read_history,
    read_numbers,
    read_row_fingerprints,
    read_schema,
    read_seed,
    read_target,
    read_trees,
    write_columns,
    write_numbers,
    write_rounds,
    write_row_fingerprints,
    write_trees,
)
from hedgerow.losses import LOSSES, Huber, Loss, make_loss
from hedgerow.table import Schema

_LOSS_PARAMETERS = {"quantile": ("quantile",), "huber": ("alpha", "delta"), "tweedie": ("power",)}


def _task(model: Any) -> str:
    return "classification" if isinstance(model, GradientBoostingClassifier) else "regression"


def write_gradient_boosting(model: Any, writer: Writer) -> None:
    """Write a gradient boosting model."""
    task, fitted = _task(model), model.model_
    write_columns(writer, model.schema_, model.classes_ if task == "classification" else None)
    verbose_only = () if "validation_loss" in model.history_ else ("train_loss",)
    write_rounds(writer, model, verbose_only=verbose_only)
    writer.entries |= {"initial_scores": fitted.start.tolist(), "loss": _write_loss(model.loss_, task)}
    if isinstance(fitted, MemberModel):
        write_members(writer, fitted.members, MemberSpec.of(model.schema_))
        writer.entries["steps"] = write_numbers(fitted.steps)
    else:
        write_trees(writer, fitted, model.schema_, model.loss_.n_outputs)
    if task == "classification":
        write_row_fingerprints(writer, model)


def read_gradient_boosting(reader: Reader, estimator: Any) -> None:
    """Set the fitted attributes."""
    task = _task(estimator)
    schema, target = read_schema(reader), read_target(reader, classes=task == "classification")
    loss = _read_loss(reader, task, target.n_classes)
    start = reader.entry("initial_scores", list)
    if not all(type(score) is float for score in start):
        raise ModelFileError("initial_scores must be a list of numbers")
    model = _read_rounds(reader, schema, np.array(start, np.float64), loss.n_outputs)
    history, best = read_history(reader), read_best(reader, model.n_rounds)
    estimator._set_rounds(model, schema, target.classes, read_seed(reader), history, best)  # noqa: SLF001
    estimator.loss_ = loss
    if target.n_classes is not None:
        read_row_fingerprints(reader, estimator, target.n_classes)


def _read_rounds(reader: Reader, schema: Schema, start: Floats, n_outputs: int) -> TreeModel | MemberModel:
    if "members" not in reader.entries:
        return read_trees(reader, schema, start, n_outputs)
    require("initial_scores", len(start) == n_outputs, f"{n_outputs} scores are required")
    require("initial_scores", np.isfinite(start), "the scores must be finite")
    members = read_members(reader, n_outputs, MemberSpec.of(schema))
    return MemberModel(start, members, read_numbers(reader, "steps", len(members)))


def _write_loss(loss: Loss, task: str) -> dict[str, Any]:
    known = LOSSES[task].get(loss.name)
    n_classes = max(2, loss.n_outputs)
    # A loss of the user may have any name, so the class is compared too.
    if known is None or type(make_loss(loss.name, task=task, n_classes=n_classes)) is not type(loss):
        raise ModelFileError(
            f"the model was fitted with {loss!r}; a model file can hold a loss by its name only; use pickle "
            "or joblib"
        )
    names = _LOSS_PARAMETERS.get(loss.name, ())
    return {"name": loss.name, "parameters": {name: getattr(loss, name) for name in names}}


def _read_loss(reader: Reader, task: str, n_classes: int | None) -> Loss:
    described = reader.entry("loss", dict)
    name = JSON.choice(described.get("name"), tuple(LOSSES[task]), "loss")
    parameters = dict(JSON.entry(described, "parameters", dict))
    if set(parameters) != set(_LOSS_PARAMETERS.get(name, ())):
        raise ModelFileError(f"loss {name!r} has other parameters than {reprlib.repr(list(parameters))}")
    if not all(type(value) is float and math.isfinite(value) for value in parameters.values()):
        raise ModelFileError(f"the parameters of loss {name!r} must be finite numbers")
    delta = parameters.pop("delta", 1.0)
    try:
        loss = make_loss(name, task=task, n_classes=n_classes, **parameters)
    except ValueError as error:
        raise ModelFileError(f"loss: {short(error)}") from error
    if isinstance(loss, Huber):
        if delta <= 0:
            raise ModelFileError(f"delta of loss 'huber' must be positive; got {delta}")
        loss.delta = delta
    return loss
