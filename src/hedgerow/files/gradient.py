"""Gradient boosting in a file: start scores, a forest whose trees add up, and a loss.

start     scores before the first tree, one an output
loss      {"name": "huber", "parameters": {"alpha": 0.9, "delta": 1.3}}
"""

import math
import reprlib
from typing import Any

import numpy as np

from hedgerow.boosting.fit import Fitted, Settings
from hedgerow.boosting.model import TreeModel
from hedgerow.container import ModelFileError, entry
from hedgerow.estimators import GradientBoostingClassifier
from hedgerow.files.parts import Reader, Writer
from hedgerow.files.pieces import (
    read_best,
    read_history,
    read_schema,
    read_seed,
    read_seen,
    read_target,
    read_trees,
    short,
    write_columns,
    write_rounds,
    write_seen,
    write_trees,
)
from hedgerow.growing.rules import GrowthRules
from hedgerow.losses import LOSSES, Huber, Loss, make_loss

_LOSS_PARAMETERS = {"quantile": ("quantile",), "huber": ("alpha", "delta"), "tweedie": ("power",)}


def _task(model: Any) -> str:
    return "classification" if isinstance(model, GradientBoostingClassifier) else "regression"


def write_gradient(model: Any, out: Writer) -> None:
    """A gradient boosted model."""
    if not isinstance(model.model_, TreeModel):
        raise ModelFileError(
            f"estimator={model.estimator!r}: only models of Hedgerow's own trees can be saved; fit with "
            "estimator=None, or use pickle or joblib"
        )
    task = _task(model)
    write_columns(out, model.schema_, model.classes_ if task == "classification" else None)
    write_rounds(out, model)
    out.entries |= {"start": model.model_.start.tolist(), "loss": _write_loss(model.loss_, task)}
    write_trees(out, model.model_, model.schema_, model.loss_.n_outputs)
    if task == "classification":
        write_seen(out, model)


def read_gradient(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    if estimator.estimator is not None:
        raise ModelFileError("a gradient boosted model in a file is one of trees: it has no estimator")
    task = _task(estimator)
    schema, target = read_schema(part), read_target(part, classes=task == "classification")
    loss = _read_loss(part, task, target.n_classes)
    start = part.entry("start", list)
    if not all(type(score) is float for score in start):
        raise ModelFileError("start must be a list of scores")
    model = read_trees(part, schema, np.array(start, np.float64), loss.n_outputs)
    fitted = Fitted(model, read_history(part), read_best(part, model.n_rounds))
    settings = Settings(
        loss=loss,
        n_rounds=model.n_rounds,
        learning_rate=estimator.learning_rate,
        rules=GrowthRules(),
        seed=read_seed(part),
    )
    estimator._keep(fitted, schema, target, settings, None)  # noqa: SLF001 - sets what fit would
    if target.n_classes is not None:
        read_seen(part, estimator, target.n_classes)


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
