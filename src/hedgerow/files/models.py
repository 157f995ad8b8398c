"""Saving and loading models: an estimator as a text and arrays, and back.

The text is a JSON object:

    format            1; a larger number is a file of a later version
    hedgerow          the version that wrote it
    estimator         the name of the class
    parameters        of its constructor, but for those in LEFT_OUT
    schema            the columns, see `Schema.to_dict`
    classes           labels of a classifier, null for a regressor
    start             scores before the first tree, one an output
    loss              {"name": "huber", "parameters": {"alpha": 0.9, "delta": 1.3}}
    history           what each round reported, but for the seconds
    best_iteration    null without early stopping
    seed              of the random choices; null when none was made

The arrays are those of the forest and of the bins (`checks.ARRAYS`). What cannot change the model is left
out: threads, printing, seconds. The same training gives the same bytes whatever these are.
"""

import json
import math
import os
import reprlib
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow.binning import Bins
from hedgerow.boosting.fit import Fitted, Settings
from hedgerow.boosting.model import TreeModel
from hedgerow.container import ModelFileError, check_format, entry, pack, parse, unpack, write_atomically
from hedgerow.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.estimators.gradient_base import ALLOWED
from hedgerow.estimators.inputs import Labels, Numbers
from hedgerow.estimators.parameters import Allowed, check_parameters
from hedgerow.files.checks import check_arrays, check_model
from hedgerow.files.values import decode, decode_labels, encode, encode_labels
from hedgerow.forest import Forest
from hedgerow.growing.rules import GrowthRules
from hedgerow.losses import LOSSES, Huber, Loss, make_loss
from hedgerow.table import Schema

Model: TypeAlias = GradientBoostingClassifier | GradientBoostingRegressor

FORMAT = 1
LEFT_OUT = frozenset({"estimator", "n_jobs", "verbose"})  # always None here; no influence on the model
_TASKS = {GradientBoostingClassifier: "classification", GradientBoostingRegressor: "regression"}
_LOSS_PARAMETERS = {"quantile": ("quantile",), "huber": ("alpha", "delta"), "tweedie": ("power",)}
_RANDOM_SHARES = ("subsample", "colsample_bytree", "max_features")


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to one file.

    The file is a safetensors file without pickled objects. It is written beside its place and then
    renamed, so that an interrupted save leaves an older file as it was. Equal models give equal files,
    byte for byte, whatever the number of threads they were trained with.

    Not in the file, and at their defaults in the loaded model: `n_jobs` and `verbose`. The seconds in
    `history_` come back as NaN. A `random_state` that is no integer comes back as None; the seed drawn
    from it is kept, so that `warm_start` goes on with the same random choices. Fingerprints of the training
    rows (`seen_rows_`) are not in the file.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        Fitted, with trees; models with another `estimator` or a loss of your own are refused.
    path : str or path
        Where to; an existing file is replaced.

    Raises
    ------
    ModelFileError
        If a file cannot hold the model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.safetensors")
    ...     save(model, path)
    ...     same = load(path)
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    write_atomically(path, to_bytes(model))


def load(path: str | os.PathLike[str]) -> Model:
    """Load a model from a file that `save` wrote.

    Nothing in the file is executed, and every size, index and value is checked before it is used: a file
    from a stranger can hold a bad model, but it can do no harm.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GradientBoostingClassifier or GradientBoostingRegressor
        The fitted model; its predictions are those of the saved one to the last bit.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a later version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "diabetes.safetensors")
    ...     save(GradientBoostingRegressor(loss="huber", n_estimators=5).fit(X, y), path)
    ...     load(path)
    GradientBoostingRegressor(loss='huber', n_estimators=5)
    """
    try:
        return from_bytes(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def to_bytes(model: Model) -> bytes:
    """The bytes of a model's file."""
    task = _TASKS.get(type(model))
    if task is None:
        known = " and ".join(kind.__name__ for kind in _TASKS)
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved; allowed are {known}; others can be pickled"
        )
    check_is_fitted(model)
    if model.estimator is not None or not isinstance(model.model_, TreeModel):
        raise ModelFileError(
            f"estimator={model.estimator!r}: only models of Hedgerow's own trees can be saved; fit with "
            "estimator=None"
        )
    content = {
        "format": FORMAT,
        "hedgerow": hedgerow.__version__,
        "estimator": type(model).__name__,
        "parameters": _encode_parameters(model),
        "schema": model.schema_.to_dict(),
        "classes": encode_labels(model.classes_) if task == "classification" else None,
        "start": model.model_.start.tolist(),
        "loss": _encode_loss(model.loss_, task),
        "history": _encode_history(model.history_),
        "best_iteration": model.best_iteration_,
        "seed": model._seed if _is_random(model) else None,  # noqa: SLF001 - part of the fitted model
    }
    parts: dict[str, Bins | Forest] = {"bins": model.model_.bins, "forest": model.model_.forest}
    arrays = {
        f"{part}.{field.name}": getattr(held, field.name)
        for part, held in parts.items()
        for field in fields(held)
    }
    check_arrays(arrays)
    check_model(model.model_, model.schema_, model.loss_.n_outputs)
    return pack(json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False), arrays)


def from_bytes(data: bytes) -> Model:
    """The model of a file's bytes; see `load`."""
    contents = unpack(data)
    content = parse(contents.text, "the description of the model")
    check_format(content, FORMAT, hedgerow.__version__)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not fit its contents")
    try:
        return _decode_model(content, contents.arrays)
    except RecursionError as error:
        raise ModelFileError("the description of the model is nested too deeply") from error


def _short(error: ValueError) -> str:
    return str(error)[:300]  # it may quote the file at length


def _decode_model(content: dict[str, Any], arrays: dict[str, Any]) -> Model:
    if content.get("kind") == "cascade":
        raise ModelFileError("a cascade: hedgerow.vision.load_cascade reads it")
    name = entry(content, "estimator", str)
    kinds = {kind.__name__: kind for kind in _TASKS}
    if name not in kinds:
        raise ModelFileError(f"estimator {reprlib.repr(name)} is unknown; known are {', '.join(kinds)}")
    task = _TASKS[kinds[name]]
    estimator = _decode_parameters(content, kinds[name])
    described = entry(content, "schema", dict)
    try:
        schema = Schema.from_dict(described)
    except ValueError as error:
        raise ModelFileError(f"schema: {_short(error)}") from error
    target = Numbers() if task == "regression" else Labels(decode_labels(content.get("classes")))
    loss = _decode_loss(content, task, target.n_classes)
    start = entry(content, "start", list)
    if not all(type(score) is float for score in start):
        raise ModelFileError("start must be a list of scores")
    check_arrays(arrays)
    bins = Bins(**{key[5:]: array for key, array in arrays.items() if key.startswith("bins.")})
    forest = Forest(**{key[7:]: array for key, array in arrays.items() if key.startswith("forest.")})
    model = TreeModel(np.array(start, np.float64), bins, forest)
    check_model(model, schema, loss.n_outputs)
    best, seed = (entry(content, key, int, type(None)) for key in ("best_iteration", "seed"))
    if best is not None and not 0 <= best < model.n_rounds:
        raise ModelFileError(f"best_iteration {best} is none of the {model.n_rounds} rounds")
    if seed is not None and not 0 <= seed < 2**63:
        raise ModelFileError(f"seed {seed} does not lie in 0..2**63 - 1")
    fitted = Fitted(model, _decode_history(content), best)
    settings = Settings(
        loss=loss,
        n_rounds=model.n_rounds,
        learning_rate=estimator.learning_rate,
        rules=GrowthRules(),
        seed=seed,
    )
    estimator._keep(fitted, schema, target, settings, None)  # noqa: SLF001 - sets what fit would
    return estimator


def _encode_parameters(model: Model) -> dict[str, Any]:
    values = model.get_params(deep=False)
    check_parameters(values, _allowed(model))
    if not isinstance(model.loss, str):
        raise ModelFileError(f"loss={model.loss!r} is an object; a model file holds losses by name only")
    if not isinstance(model.random_state, int | np.integer):
        values["random_state"] = None
    return {name: encode(value, name) for name, value in values.items() if name not in LEFT_OUT}


def _decode_parameters(content: dict[str, Any], kind: type[Model]) -> Model:
    """The estimator; parameters that the file's version did not have take their defaults."""
    given = entry(content, "parameters", dict)
    parameters = {name: decode(data, name) for name, data in given.items()}
    estimator = kind()
    values = estimator.get_params(deep=False)
    unknown = [name for name in parameters if name not in values or name in LEFT_OUT]
    if unknown:
        raise ModelFileError(f"{kind.__name__} has no parameter {reprlib.repr(unknown[0])} in a file")
    values |= parameters
    try:
        check_parameters(values, _allowed(estimator))
    except ValueError as error:
        raise ModelFileError(f"parameters: {_short(error)}") from error
    entry(values, "loss", str)
    entry(values, "random_state", int, type(None))
    return kind(**parameters)


def _allowed(model: Model) -> dict[str, Allowed]:
    return ALLOWED | model._allowed  # noqa: SLF001 - the table that fit checks with


def _is_random(model: Model) -> bool:
    """Whether the seed took part; if not, any seed gives the same model."""
    held_out = model.early_stopping is True or model.best_iteration_ is not None
    drawn = held_out or any(getattr(model, name) < 1 for name in _RANDOM_SHARES)
    return drawn or isinstance(model.random_state, int | np.integer)


def _encode_loss(loss: Loss, task: str) -> dict[str, Any]:
    known = LOSSES[task].get(loss.name)
    # A user's loss may have any name, so the class is compared too.
    if known is None or type(make_loss(loss.name, task=task, n_classes=_n_classes(loss))) is not type(loss):
        raise ModelFileError(f"the model was fitted with {loss!r}; a model file holds losses by name only")
    names = _LOSS_PARAMETERS.get(loss.name, ())
    return {"name": loss.name, "parameters": {name: getattr(loss, name) for name in names}}


def _n_classes(loss: Loss) -> int:
    return max(2, loss.n_outputs)


def _decode_loss(content: dict[str, Any], task: str, n_classes: int | None) -> Loss:
    described = entry(content, "loss", dict)
    name, parameters = entry(described, "name", str), entry(described, "parameters", dict)
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
        raise ModelFileError(f"loss: {_short(error)}") from error
    if isinstance(loss, Huber):
        if delta <= 0:
            raise ModelFileError(f"loss 'huber' has delta={delta}; it must be positive")
        loss.delta = delta
    return loss


def _encode_history(history: dict[str, list[float]]) -> dict[str, Any]:
    return {name: encode(list(values), "history_") for name, values in history.items() if name != "seconds"}


def _decode_history(content: dict[str, Any]) -> dict[str, list[float]]:
    history: dict[str, list[float]] = {}
    for name, data in entry(content, "history", dict).items():
        values = decode(data, "history")
        if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
            raise ModelFileError(f"history: {reprlib.repr(name)} must be a list of numbers")
        history[name] = values
        if name == "round":
            history["seconds"] = [math.nan] * len(values)  # not in the file: they differ from run to run
    return history
