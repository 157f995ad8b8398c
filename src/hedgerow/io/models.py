"""Saving and loading: a model as one JSON text and named arrays, and back.

The text is a JSON object:

    format              1; files of a larger number were written by a later version
    hedgerow            the version that wrote the file
    versions            of the libraries that wrote it: others than Hedgerow only if the file holds their
                        objects
    estimator           the name of the class
    parameters          of its constructor, except those that cannot change the model; see `parameters`
    card                data of the user; left out if there are none
    certificate         see `annotations`; left out if there is none
    threshold           {"value": 0.3, "positive": 1}: the decision threshold of the probability of class 1;
                        left out if there is none
    data_fingerprints   of the training data, see `sections`
    schema, classes     the columns, and the labels of a classifier
    ...                 the entries of this kind of model, see the modules of the codecs in KINDS

What cannot change the model is left out: threads, printing, seconds. So the same training gives the same
bytes. A cascade is another kind of file, see `hedgerow.vision.model`.
"""

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sklearn.utils.validation import check_is_fitted

import hedgerow
from hedgerow import estimators
from hedgerow._typing import Floats
from hedgerow.container import JSON, ModelFileError, check_format, file_size, pack, unpack, write_atomically
from hedgerow.io import annotations, bagging, boosting, schapire, sections, trees
from hedgerow.io.foreign import check_trusted, check_versions, library_versions
from hedgerow.io.parameters import read_estimator, write_parameters
from hedgerow.io.reader import Arrays, Reader, Writer
from hedgerow.io.weighted import ENSEMBLES, read_ensemble, write_ensemble
from hedgerow.selection.threshold import FixedThresholdClassifier
from hedgerow.system_memory import format_bytes, require_memory
from hedgerow.table import Schema

if TYPE_CHECKING:
    from hedgerow.theory import Certificate

T = TypeVar("T")

FORMAT = 1
TABLE_KIND = "hedgerow table model 1"  # `kind` in the card that `hedgerow train` writes
_MAX_HEADER = 100 << 20  # bytes of the header of a safetensors file


class Codec(NamedTuple):
    """The functions that write a fitted model, and that set the fitted attributes of an estimator.

    Those that read get the schema and the classes of the file; the classes are None for a regressor.
    """

    write: Callable[[Any, Writer], None]
    read: Callable[[Reader, Any, Schema, Any], None]


_GRADIENT_BOOSTING = Codec(boosting.write_gradient_boosting, boosting.read_gradient_boosting)
_ADABOOST_FAMILY = Codec(boosting.write_adaboost_family, boosting.read_adaboost_family)
_FOREST = Codec(bagging.write_forest, bagging.read_forest)
_BAGGING = Codec(bagging.write_bagging, bagging.read_bagging)
_TREE = Codec(trees.write_tree, trees.read_tree)

KINDS: dict[type[Any], Codec] = {
    estimators.GradientBoostingClassifier: _GRADIENT_BOOSTING,
    estimators.GradientBoostingRegressor: _GRADIENT_BOOSTING,
    estimators.AdaBoostClassifier: _ADABOOST_FAMILY,
    estimators.AdaBoostRegressor: Codec(boosting.write_r2, boosting.read_r2),
    estimators.LogitBoostClassifier: _ADABOOST_FAMILY,
    estimators.AnyBoostClassifier: _ADABOOST_FAMILY,
    estimators.SchapireBoostClassifier: Codec(schapire.write_schapire, schapire.read_schapire),
    estimators.RandomForestClassifier: _FOREST,
    estimators.RandomForestRegressor: _FOREST,
    estimators.ExtraTreesClassifier: _FOREST,
    estimators.ExtraTreesRegressor: _FOREST,
    estimators.BaggingClassifier: _BAGGING,
    estimators.BaggingRegressor: _BAGGING,
    estimators.DecisionTreeClassifier: _TREE,
    estimators.DecisionTreeRegressor: _TREE,
    estimators.DecisionStump: _TREE,
}


def save(
    model: Any, path: str | os.PathLike[str], *, card: Any = None, certificate: "Certificate | None" = None
) -> None:
    """Save a fitted model or a cascade to one file.

    The file is a safetensors file without pickled objects. It replaces an existing file at once, so that an
    interrupted save leaves the old one unchanged. Equal models give equal files, byte for byte, whatever the
    number of threads they were trained with.

    The loaded model has the same predictions, to the last bit, and the fitted attributes of the saved one.
    These include fingerprints of the training rows (4 or 8 bytes per row): `hedgerow.theory.certify` returns
    the same bounds for both, and `warm_start` continues either. The file does not hold `n_jobs` and
    `verbose`: the loaded model has their defaults. The seconds in `history_` become NaN. A
    `random_state` that is not an integer becomes None; the seed drawn from it is stored. An `oob_score` that
    is a function becomes True.

    Parameters
    ----------
    model : an estimator of Hedgerow, fitted, a TableModel, or a hedgerow.vision.Cascade
        A `hedgerow.selection.FixedThresholdClassifier` of an estimator is stored with its threshold, a
        `hedgerow.selection.WeightedEnsembleClassifier` or -Regressor of such models with its members. A model
        that `hedgerow train` saved and `load` returned keeps its card and certificate. Learners and
        members of scikit-learn are stored through skops (``pip install skops``). A loss or a cost of
        your own is refused; use pickle or joblib for such a model.
    path : str or path
        An existing file is replaced.
    card : dict, optional
        Data about the model, which `load_card` returns: finite numbers, strings, True, False, None, and lists
        and dicts of them, up to 16 MB as JSON. A cascade has its `info` instead.
    certificate : hedgerow.theory.Certificate, optional
        A certificate of this model, which `load_certificate` returns. One of another model is refused, as far
        as that can be detected.

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
            f"{os.fspath(path)}: save writes Hedgerow's own format; cascade.save(path) writes OpenCV's XML"
        )
    write_atomically(path, to_bytes(model, card, certificate))


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Load a model or a cascade from a file that `save` wrote.

    Nothing in the file is executed, and every size, index and value is checked before it is used: a file from
    an unknown source can hold a bad model, but it can do no harm. Members of other libraries are checked as
    far as possible: their types must be known to predict with plain arithmetic, or be `trusted`.

    Parameters
    ----------
    path : str or path
    trusted : list of str
        Names of further types that members of other libraries may have, such as "sklearn.tree._tree.Tree",
        the nodes of scikit-learn's trees. Only for files whose author you trust: scikit-learn follows the
        indices in such objects without checks, and types of any other library run their own code.

    Returns
    -------
    estimator, TableModel or Cascade
        The fitted model; its predictions are those of the saved one to the last bit. A file of `hedgerow
        train` gives a `TableModel`, which accepts raw data frames; its `estimator` is the fitted model.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a later version; or if it holds objects of
        types that are not trusted, which the message names.

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
    names = check_trusted(trusted)
    return _read_file(path, lambda data: _from_file(data, names))


def _from_file(data: bytes, trusted: frozenset[str]) -> Any:
    """Return the model of a file; that of `hedgerow train` with its recipe."""
    model = from_bytes(data, trusted)
    if _is_cascade(model):
        return model
    content = open_bytes(data)[0]
    card = annotations.read_card(content)
    if card is None or card.get("kind") != TABLE_KIND:
        return model
    from hedgerow.io.table_model import TableModel  # noqa: PLC0415 - needs pyarrow, other files do not

    return TableModel.from_card(model, card, annotations.read_certificate(content))


def load_card(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Load the card that was saved with a model, a dict; None if there is none.

    Path and errors are those of `load`.

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
    return _read_file(path, lambda data: annotations.read_card(open_bytes(data)[0]))


def load_certificate(path: str | os.PathLike[str]) -> "Certificate | None":
    """Load the `hedgerow.theory.Certificate` that was saved with a model; None if there is none.

    It equals the one that was saved. Path and errors are those of `load`.

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
    return _read_file(path, lambda data: annotations.read_certificate(open_bytes(data)[0]))


def _read_file(path: str | os.PathLike[str], read: Callable[[bytes], T]) -> T:
    """Read a file; errors name it."""
    data = read_bytes(path)
    try:
        return read(data)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


# --- bytes


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that may be a model; its first bytes are checked before the rest is read."""
    size, name = file_size(path), os.fspath(path)
    with Path(path).open("rb") as file:
        head = file.read(64)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
            raise ModelFileError(
                f"{name}: this is XML; hedgerow.vision.load_cascade reads the cascades of OpenCV"
            )
        length = int.from_bytes(head[:8], "little")
        if size > _MAX_HEADER and not (8 < length < _MAX_HEADER and head[8:9] == b"{"):
            raise ModelFileError(f"{name}: not a safetensors file ({format_bytes(size)})")
        require_memory(3 * size, f"loading {name}", "close other programs")  # the bytes, their copies, arrays
        return head + file.read()


def to_bytes(
    model: Any,
    card: Any = None,
    certificate: Any = None,
    *,
    checkpoint: Any = None,
    scores: Mapping[str, Floats] = MappingProxyType({}),
) -> bytes:
    """Return the bytes of a model's file; `checkpoint` and `scores` are those of an unfinished fit."""
    if _is_cascade(model):
        if card is not None or certificate is not None:
            raise ModelFileError("a cascade has no card and no certificate; use its info instead")
        packed: bytes = model.to_bytes()
        return packed
    if _is_table_model(model):
        card = model.card if card is None else card
        certificate = model.certificate if certificate is None else certificate
        model = model.estimator
    writer = Writer(_write_model)
    writer.entries |= {"format": FORMAT, "hedgerow": hedgerow.__version__}
    certified = model
    if isinstance(model, FixedThresholdClassifier):
        writer.entries["threshold"] = annotations.write_threshold(model)
        model = model.estimator_
    if card is not None:
        writer.entries["card"] = annotations.checked_card(card)
    if checkpoint is not None:
        writer.entries["checkpoint"] = checkpoint
    _write_model(model, writer)
    sections.write_data_fingerprints(writer, model)
    boosting.write_scores(writer, scores)
    if certificate is not None:
        writer.entries["certificate"] = annotations.write_certificate(certificate, certified)
    versions = {"hedgerow": hedgerow.__version__} | (library_versions() if writer.archives else {})
    writer.entries["versions"] = versions
    return pack(JSON.dumps(writer.entries, "the model"), writer.arrays)


def _is_cascade(model: Any) -> bool:
    vision = sys.modules.get("hedgerow.vision.cascade")  # not imported: it loads many modules
    return vision is not None and isinstance(model, vision.Cascade)


def _is_table_model(model: Any) -> bool:
    module = sys.modules.get("hedgerow.io.table_model")  # not imported: it needs pyarrow
    return module is not None and isinstance(model, module.TableModel)


def _write_model(model: Any, writer: Writer) -> None:
    """Write a model, or a member of one."""
    if type(model) in ENSEMBLES.values():
        write_ensemble(model, writer)
        return
    codec = KINDS.get(type(model))
    if codec is None:
        known = ", ".join([*(kind.__name__ for kind in KINDS), *ENSEMBLES])
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved; allowed are {known} and Cascade; use pickle or joblib"
        )
    check_is_fitted(model)
    writer.entries |= {"estimator": type(model).__name__, "parameters": write_parameters(model, writer)}
    sections.write_columns(writer, model)
    codec.write(model, writer)


def from_bytes(data: bytes, trusted: frozenset[str] = frozenset(), *, unfinished: bool = False) -> Any:
    """Return the model of a file's bytes; with `unfinished`, also a checkpoint without a complete model."""
    content, arrays = open_bytes(data)
    if content.get("kind") == "cascade":
        from hedgerow.vision.cascade import Cascade  # noqa: PLC0415 - loads many modules that few files need

        return Cascade.from_bytes(data)
    check_versions(JSON.entry(content, "versions", dict), foreign="skops.0" in arrays)
    try:
        annotations.read_card(content)
        annotations.read_certificate(content)
        reader = Reader(_read_model, content, arrays, trusted=trusted)
        model = _read_model(reader)
        fingerprints = sections.read_data_fingerprints(reader)
        if fingerprints:
            model._set_fitted_attributes(data_fingerprints_=fingerprints)  # noqa: SLF001
        if "checkpoint" in content:
            boosting.check_scores(reader, model, fingerprints)
        if "threshold" in content:
            model = annotations.read_threshold(content["threshold"], model)
    except RecursionError as error:
        raise ModelFileError("the description of the model is nested too deeply") from error
    reader.refuse_unused()
    if hasattr(model, "_learned") and not unfinished:
        raise ModelFileError(
            f"the fit of this {type(model).__name__} is not finished: resume it with fit(checkpoint=path)"
        )
    return model


def open_bytes(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the description and the arrays of an undamaged file of a known format."""
    contents = unpack(data)
    content = JSON.parse(contents.text, "the description of the model")
    check_format(content, FORMAT, hedgerow.__version__)
    if not contents.intact:
        raise ModelFileError("the file is damaged: its checksum does not match its contents")
    return content, contents.arrays


def _read_model(reader: Reader) -> Any:
    """Read a model, or a member of one."""
    if reader.entries.get("estimator") in tuple(ENSEMBLES):
        return read_ensemble(reader)
    estimator = read_estimator(reader, reader.entries)
    schema, classes = sections.read_columns(reader, estimator)
    KINDS[type(estimator)].read(reader, estimator, schema, classes)
    return estimator
