"""Gradient boosting in a file: start scores, a forest whose trees add up or members that do, and a loss.

start     scores before the first round, one an output
loss      {"name": "huber", "parameters": {"alpha": 0.9, "delta": 1.3}}
members   lists of members, one list a round, see `members`; only where there are no trees
steps     the length of each round's step with them
"""

import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.gradient_members import MemberModel
from hedgerow.container import ModelFileError, entry
from hedgerow.estimators import GradientBoostingClassifier
from hedgerow.forest import TreeModel
from hedgerow.io.members import Expected, read_members, write_members
from hedgerow.io.reader import Reader, Writer, require, short
from hedgerow.io.sections import (
    read_best,
    read_history,
    read_numbers,
    read_schema,
    read_seed,
    read_seen,
    read_target,
    read_trees,
    write_columns,
    write_numbers,
    write_rounds,
    write_seen,
    write_trees,
)
from hedgerow.losses import LOSSES, Huber, Loss, make_loss
from hedgerow.table import Schema

_LOSS_PARAMETERS = {"quantile": ("quantile",), "huber": ("alpha", "delta"), "tweedie": ("power",)}


def _task(model: Any) -> str:
    return "classification" if isinstance(model, GradientBoostingClassifier) else "regression"


def write_gradient(model: Any, out: Writer) -> None:
    """A gradient boosted model."""
    task, held = _task(model), model.model_
    write_columns(out, model.schema_, model.classes_ if task == "classification" else None)
    write_rounds(out, model, printed=() if "validation_loss" in model.history_ else ("train_loss",))
    out.entries |= {"start": held.start.tolist(), "loss": _write_loss(model.loss_, task)}
    if isinstance(held, MemberModel):
        write_members(out, held.members, Expected(None, model.schema_.n_columns, model.schema_.names))
        out.entries["steps"] = write_numbers(held.steps)
    else:
        write_trees(out, held, model.schema_, model.loss_.n_outputs)
    if task == "classification":
        write_seen(out, model)


def read_gradient(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    task = _task(estimator)
    schema, target = read_schema(part), read_target(part, classes=task == "classification")
    loss = _read_loss(part, task, target.n_classes)
    start = part.entry("start", list)
    if not all(type(score) is float for score in start):
        raise ModelFileError("start must be a list of scores")
    model = _read_rounds(part, schema, np.array(start, np.float64), loss.n_outputs)
    history, best = read_history(part), read_best(part, model.n_rounds)
    estimator._set_rounds(model, schema, target.classes, read_seed(part), history, best)  # noqa: SLF001
    estimator.loss_ = loss
    if target.n_classes is not None:
        read_seen(part, estimator, target.n_classes)


def _read_rounds(
    part: Reader, schema: Schema, start: NDArray[np.float64], n_outputs: int
) -> TreeModel | MemberModel:
    if part.format < 3 or "members" not in part.entries:
        return read_trees(part, schema, start, n_outputs)
    require("start", len(start) == n_outputs, f"{n_outputs} scores are needed, one an output")
    require("start", np.isfinite(start), "the scores must be finite")
    members = read_members(part, n_outputs, Expected(None, schema.n_columns, schema.names))
    return MemberModel(start, members, read_numbers(part, "steps", len(members)))


def _write_loss(loss: Loss, task: str) -> dict[str, Any]:
    known = LOSSES[task].get(loss.name)
    n_classes = max(2, loss.n_outputs)
    # A user's loss may have any name, so the class is compared too.
    if known is None or type(make_loss(loss.name, task=task, n_classes=n_classes)) is not type(loss):
        raise ModelFileError(
            f"the model was fitted with {loss!r}; a model file holds losses by name only; pickle and joblib "
            "hold the others"
        )
    names = _LOSS_PARAMETERS.get(loss.name, ())
    return {"name": loss.name, "parameters": {name: getattr(loss, name) for name in names}}


def _read_loss(part: Reader, task: str, n_classes: int | None) -> Loss:
    described = part.entry("loss", dict)
    name, parameters = entry(described, "name", str), dict(entry(described, "parameters", dict))
    if name not in LOSSES[task]:
        raise ModelFileError(f"loss {reprlib.repr(name)} is unknown for {task}")
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
            raise ModelFileError(f"loss 'huber' has delta={delta}; it must be positive")
        loss.delta = delta
    return loss
