"""Saving and loading models: an estimator as a text and arrays, and back.

The text is a JSON object:

    format            2; a larger number is a file of a later version, 1 knows gradient boosting only
    hedgerow          the version that wrote it
    estimator         the name of the class
    parameters        of its constructor, but for those that cannot change the model; see `specs`
    card              whatever the user has put beside the model; left out if there is none
    schema, classes   the columns, and the labels of a classifier
    ...               what the kind of model has beyond that, see the modules named in KINDS

What cannot change the model is left out: threads, printing, seconds. The same training gives the same bytes
whatever these are.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow import estimators
from hedgerow.container import ModelFileError, check_format, pack, parse, unpack, write_atomically
from hedgerow.files.adaptive import read_adaptive, read_r2, write_adaptive, write_r2
from hedgerow.files.bags import read_bag, write_bag
from hedgerow.files.card import checked_card
from hedgerow.files.forests import read_forest, write_forest
from hedgerow.files.gradient import read_gradient, write_gradient
from hedgerow.files.parts import Arrays, Reader, Writer
from hedgerow.files.specs import read_estimator, write_parameters
from hedgerow.files.three import read_three, write_three
from hedgerow.files.trees import read_tree, write_tree

FORMAT = 2


class _Write(Protocol):
    def __call__(self, model: Any, out: Writer) -> None:
        """Put a fitted model into a part."""


class _Read(Protocol):
    def __call__(self, part: Reader, estimator: Any) -> None:
        """Make an estimator, which has its parameters, the fitted one."""


class Codec(NamedTuple):
    """How a kind of model is written and read."""

    write: _Write
    read: _Read


_GRADIENT = Codec(write_gradient, read_gradient)
_ADAPTIVE = Codec(write_adaptive, read_adaptive)
_FOREST = Codec(write_forest, read_forest)
_BAG = Codec(write_bag, read_bag)
_TREE = Codec(write_tree, read_tree)

KINDS: dict[type[Any], Codec] = {
    estimators.GradientBoostingClassifier: _GRADIENT,
    estimators.GradientBoostingRegressor: _GRADIENT,
    estimators.AdaBoostClassifier: _ADAPTIVE,
    estimators.AdaBoostRegressor: Codec(write_r2, read_r2),
    estimators.LogitBoostClassifier: _ADAPTIVE,
    estimators.AnyBoostClassifier: _ADAPTIVE,
    estimators.SchapireBoostClassifier: Codec(write_three, read_three),
    estimators.RandomForestClassifier: _FOREST,
    estimators.RandomForestRegressor: _FOREST,
    estimators.ExtraTreesClassifier: _FOREST,
    estimators.ExtraTreesRegressor: _FOREST,
    estimators.BaggingClassifier: _BAG,
    estimators.BaggingRegressor: _BAG,
    estimators.DecisionTreeClassifier: _TREE,
    estimators.DecisionTreeRegressor: _TREE,
    estimators.DecisionStump: _TREE,
}
_FORMAT_1 = (estimators.GradientBoostingClassifier, estimators.GradientBoostingRegressor)


def save(model: Any, path: str | os.PathLike[str], *, card: Any = None) -> None:
    """Save a fitted model to one file.

    The file is a safetensors file without pickled objects. It is written beside its place and then
    renamed, so that an interrupted save leaves an older file as it was. Equal models give equal files,
    byte for byte, whatever the number of threads they were trained with.

    The loaded model predicts the same bits and has the fitted attributes of the saved one, fingerprints of
    its training rows among them (4 or 8 bytes a row): `hedgerow.theory.certify` says the same of both, and
    `warm_start` goes on from either. Not in the file, and at their defaults in the loaded model, are `n_jobs`
    and `verbose`. The seconds in `history_` come back as NaN. A `random_state` that is no integer comes
    back as None; the seed drawn from it is kept. An `oob_score` that is a function comes back as True.

    Parameters
    ----------
    model : an estimator of Hedgerow
        Fitted, and made of Hedgerow's own trees. Members of another library, and a loss or a cost of your
        own, are refused; pickle and joblib hold them.
    path : str or path
        Where to; an existing file is replaced.
    card : dict, optional
        What is to be known about the model, which `load_card` gives back: finite numbers, strings, True,
        False, None, and lists and dicts of them, up to 16 MB as JSON.

    Raises
    ------
    ModelFileError
        If a file cannot hold the model or the card.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.safetensors")
    ...     save(model, path, card={"flowers": "iris"})
    ...     same, card = load(path), load_card(path)
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all()), card
    (True, {'flowers': 'iris'})
    """
    write_atomically(path, to_bytes(model, card))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file that `save` wrote.

    Nothing in the file is executed, and every size, index and value is checked before it is used: a file
    from a stranger can hold a bad model, but it can do no harm.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        The fitted model; its predictions are those of the saved one to the last bit.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a later version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import GradientBoostingRegressor
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


def load_card(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The card that was saved beside a model; None if there is none.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict or None

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a later version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hedgerow import DecisionStump
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "stump.safetensors")
    ...     save(DecisionStump().fit([[0.0], [1.0]], ["low", "high"]), path, card={"rows": 2})
    ...     load_card(path)
    {'rows': 2}
    """
    try:
        content, _ = _open(Path(path).read_bytes())
        return _card_of(content)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def to_bytes(model: Any, card: Any = None) -> bytes:
    """The bytes of a model's file."""
    out = Writer(_write_model)
    out.entries |= {"format": FORMAT, "hedgerow": hedgerow.__version__}
    if card is not None:
        out.entries["card"] = checked_card(card)
    _write_model(model, out)
    return pack(json.dumps(out.entries, sort_keys=True, separators=(",", ":"), allow_nan=False), out.arrays)


def _write_model(model: Any, out: Writer) -> None:
    """A model, or a member of one."""
    codec = KINDS.get(type(model))
    if codec is None:
        known = ", ".join(kind.__name__ for kind in KINDS)
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved; allowed are {known}; pickle and joblib hold the others"
        )
    check_is_fitted(model)
    out.entries |= {"estimator": type(model).__name__, "parameters": write_parameters(model)}
    codec.write(model, out)


def from_bytes(data: bytes) -> Any:
    """The model of a file's bytes; see `load`."""
    content, arrays = _open(data)
    try:
        _card_of(content)
        part = Reader(_read_model, content, arrays, content["format"])
        model = _read_model(part)
    except RecursionError as error:
        raise ModelFileError("the description of the model is nested too deeply") from error
    part.refuse_rest()
    return model


def _open(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The description and the arrays of a file that is whole, and that this version knows."""
    contents = unpack(data)
    content = parse(contents.text, "the description of the model")
    check_format(content, FORMAT, hedgerow.__version__)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not fit its contents")
    if content.get("kind") == "cascade":
        raise ModelFileError("a cascade: hedgerow.vision.load_cascade reads it")
    return content, contents.arrays


def _card_of(content: dict[str, Any]) -> dict[str, Any] | None:
    return checked_card(content["card"]) if "card" in content else None


def _read_model(part: Reader) -> Any:
    """A model, or a member of one."""
    estimator = read_estimator(part.entries)
    if part.format == 1 and not isinstance(estimator, _FORMAT_1):
        raise ModelFileError(f"format 1 has no {type(estimator).__name__}")
    KINDS[type(estimator)].read(part, estimator)
    return estimator
