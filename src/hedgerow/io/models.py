"""Saving and loading models: an estimator as a text and arrays, and back.

The text is a JSON object:

    format            3; a larger number is a file of a later version. 1 knows gradient boosting only, 2 no
                      members of other libraries
    hedgerow          the version that wrote it, where every version looks for it
    versions          of the libraries that wrote it: others than Hedgerow only if they made objects of it
    estimator         the name of the class
    parameters        of its constructor, but for those that cannot change the model; see `specs`
    card              whatever the user has put beside the model; left out if there is none
    certificate       what is proven of the model, see `certificates`; left out if there is none
    trained           what it was fitted to, see `trained`
    schema, classes   the columns, and the labels of a classifier
    ...               what the kind of model has beyond that, see the modules named in KINDS

What cannot change the model is left out: threads, printing, seconds. The same training gives the same bytes
whatever these are. A cascade is a file of its own kind, see `hedgerow.vision.storage`.
"""

import json
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow import estimators
from hedgerow.container import (
    ModelFileError,
    check_format,
    entry,
    file_size,
    pack,
    parse,
    unpack,
    write_atomically,
)
from hedgerow.io.adaboost_family import read_adaptive, read_r2, write_adaptive, write_r2
from hedgerow.io.bagging import read_bag, write_bag
from hedgerow.io.card import checked_card, read_certificate, write_certificate
from hedgerow.io.decision_trees import read_tree, write_tree
from hedgerow.io.foreign import check_trusted, check_versions, library_versions
from hedgerow.io.forests import read_forest, write_forest
from hedgerow.io.gradient_boosting import read_gradient, write_gradient
from hedgerow.io.parameters import read_estimator, write_parameters
from hedgerow.io.reader import Arrays, Reader, Writer
from hedgerow.io.schapire import read_three, write_three
from hedgerow.io.sections import read_trained, write_trained
from hedgerow.memory import format_bytes, require_memory

if TYPE_CHECKING:
    from hedgerow.theory import Certificate

FORMAT = 3
_MOST_HEAD = 100 << 20  # bytes that a safetensors file may describe its arrays with


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


def save(
    model: Any, path: str | os.PathLike[str], *, card: Any = None, certificate: "Certificate | None" = None
) -> None:
    """Save a fitted model or a cascade to one file.

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
    model : an estimator of Hedgerow, fitted, or a hedgerow.vision.Cascade
        Learners and members of scikit-learn are kept through skops (``pip install skops``). A loss or a cost
        of your own is refused; pickle and joblib hold such a model.
    path : str or path
        Where to; an existing file is replaced.
    card : dict, optional
        What is to be known about the model, which `load_card` gives back: finite numbers, strings, True,
        False, None, and lists and dicts of them, up to 16 MB as JSON. A cascade has its `info` instead.
    certificate : hedgerow.theory.Certificate, optional
        What is proven of the model, which `load_certificate` gives back. That of another model is refused, as
        far as that can be told.

    Raises
    ------
    ModelFileError
        If a file cannot hold the model, the card or the certificate.

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
    if _is_cascade(model) and Path(path).suffix.lower() == ".xml":
        raise ModelFileError(
            f"{os.fspath(path)}: save writes Hedgerow's own files; cascade.save(path) writes OpenCV's XML"
        )
    write_atomically(path, to_bytes(model, card, certificate))


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Load a model or a cascade from a file that `save` wrote.

    Nothing in the file is executed, and every size, index and value is checked before it is used: a file
    from a stranger can hold a bad model, but it can do no harm. Members of other libraries are checked as
    far as they can be: their types must be known to predict with plain arithmetic, or be `trusted`.

    Parameters
    ----------
    path : str or path
    trusted : list of str
        Names of further types that members of other libraries may have, such as "sklearn.tree._tree.Tree",
        the nodes of scikit-learn's trees. Only for files whose maker you trust: the indices in such objects
        are followed without a look, and types of any other library run code of theirs.

    Returns
    -------
    estimator or Cascade
        The fitted model; its predictions are those of the saved one to the last bit.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a later version; or holds objects of types
        that are not trusted, which the message names.

    Warns
    -----
    UserWarning
        If members are of another version of scikit-learn than the one installed.

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
    names, data = check_trusted(trusted), read_bytes(path)
    try:
        return from_bytes(data, names)
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
    data = read_bytes(path)
    try:
        return _card_of(open_bytes(data)[0])
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def load_certificate(path: str | os.PathLike[str]) -> "Certificate | None":
    """The certificate that was saved beside a model; None if there is none.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    hedgerow.theory.Certificate or None
        Equal to the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a later version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import DecisionStump
    >>> from hedgerow.theory import certify
    >>> X, y = load_iris(return_X_y=True)
    >>> stump = DecisionStump().fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "stump.safetensors")
    ...     save(stump, path, certificate=certify(stump, X[1::2], y[1::2]))
    ...     load_certificate(path).best.name
    'hold-out'
    """
    data = read_bytes(path)
    try:
        return read_certificate(open_bytes(data)[0])
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


# --- bytes


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """A file that may be a model, which is looked at before all of it is read."""
    size, name = file_size(path), os.fspath(path)
    with Path(path).open("rb") as file:
        head = file.read(64)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
            raise ModelFileError(
                f"{name}: this is XML; hedgerow.vision.load_cascade reads the cascades of OpenCV"
            )
        length = int.from_bytes(head[:8], "little")
        if size > _MOST_HEAD and not (8 < length < _MOST_HEAD and head[8:9] == b"{"):
            raise ModelFileError(f"{name}: not a safetensors file, of {format_bytes(size)}")
        require_memory(3 * size, f"loading {name}", "close other programs")  # the bytes, their copies, arrays
        return head + file.read()


def to_bytes(model: Any, card: Any = None, certificate: Any = None, *, checkpoint: Any = None) -> bytes:
    """The bytes of a model's file; `checkpoint` are the notes of a fit that is under way."""
    if _is_cascade(model):
        if card is not None or certificate is not None:
            raise ModelFileError(
                "a cascade is saved without card and certificate: it keeps notes in its info"
            )
        packed: bytes = model.to_bytes()
        return packed
    out = Writer(_write_model)
    out.entries |= {"format": FORMAT, "hedgerow": hedgerow.__version__}
    if card is not None:
        out.entries["card"] = checked_card(card)
    if checkpoint is not None:
        out.entries["checkpoint"] = checkpoint
    _write_model(model, out)
    write_trained(out, model)
    if certificate is not None:
        out.entries["certificate"] = write_certificate(certificate, model)
    out.entries["versions"] = {"hedgerow": hedgerow.__version__} | (
        library_versions() if out.archives else {}
    )
    return pack(json.dumps(out.entries, sort_keys=True, separators=(",", ":"), allow_nan=False), out.arrays)


def _is_cascade(model: Any) -> bool:
    vision = sys.modules.get("hedgerow.vision.cascade")  # without which there is none; it loads many modules
    return vision is not None and isinstance(model, vision.Cascade)


def _write_model(model: Any, out: Writer) -> None:
    """A model, or a member of one."""
    codec = KINDS.get(type(model))
    if codec is None:
        known = ", ".join(kind.__name__ for kind in KINDS)
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved; allowed are {known} and Cascade; pickle and joblib "
            "hold the others"
        )
    check_is_fitted(model)
    out.entries |= {"estimator": type(model).__name__, "parameters": write_parameters(model, out)}
    codec.write(model, out)


def from_bytes(data: bytes, trusted: frozenset[str] = frozenset(), *, unfinished: bool = False) -> Any:
    """The model of a file's bytes, see `load`; with `unfinished`, also a checkpoint that is no model yet."""
    content, arrays = open_bytes(data)
    if content.get("kind") == "cascade":
        from hedgerow.vision.cascade import Cascade  # noqa: PLC0415 - loads many modules that few files need

        return Cascade.from_bytes(data)
    if content["format"] > 2:
        check_versions(entry(content, "versions", dict), foreign="skops.0" in arrays)
    try:
        _card_of(content)
        read_certificate(content)
        part = Reader(_read_model, content, arrays, content["format"], trusted=trusted)
        model = _read_model(part)
        read_trained(part, model)
    except RecursionError as error:
        raise ModelFileError("the description of the model is nested too deeply") from error
    part.refuse_rest()
    if hasattr(model, "_learned") and not unfinished:
        raise ModelFileError(
            f"a fit of a {type(model).__name__} that is not finished: fit it with checkpoint= to go on"
        )
    return model


def open_bytes(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The description and the arrays of a file that is whole, and that this version knows."""
    contents = unpack(data)
    content = parse(contents.text, "the description of the model")
    check_format(content, FORMAT, hedgerow.__version__)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not fit its contents")
    return content, contents.arrays


def _card_of(content: dict[str, Any]) -> dict[str, Any] | None:
    return checked_card(content["card"]) if "card" in content else None


def _read_model(part: Reader) -> Any:
    """A model, or a member of one."""
    estimator = read_estimator(part, part.entries)
    if part.format == 1 and not isinstance(estimator, _FORMAT_1):
        raise ModelFileError(f"format 1 has no {type(estimator).__name__}")
    KINDS[type(estimator)].read(part, estimator)
    return estimator
