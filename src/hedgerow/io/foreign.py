"""Objects of other libraries in a file: learners and fitted members of scikit-learn, through skops.

    skops.0    uint8, an archive, see `skops_archive`; entries refer to it as {"skops": 0}

skops restores an object from the names of its types and their attributes, and runs no code of the file. This
module decides which types are allowed: those that predict with arithmetic of NumPy, so that wrong contents
can cause wrong numbers and errors, but no more. Other types follow indices of the file without checks, as
scikit-learn's trees do, or run their own code. They require `load(..., trusted=[...])`.
"""

import functools
import importlib
import importlib.metadata
import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from hedgerow.container import ModelFileError
from hedgerow.io.skops_archive import SCHEMA, State, canonical, checked, packed, type_name

LIBRARIES = ("scikit-learn", "skops")  # a file with such objects names their versions

_SCALARS = frozenset(
    {f"numpy.{kind}{size}" for kind in ("int", "uint", "float") for size in (8, 16, 32, 64)}
    | {f"numpy.{name}" for name in ("bool", "bool_", "longlong", "str_", "ulonglong")}
)
_SPARSE = frozenset(
    f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc") for form in ("array", "matrix")
)
# The loaders of skops, and the types that are safe with each. The loader matters: one reads an array from its
# bytes, another would create it by calling its class with a size.
_PLAIN = {
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict", "collections.OrderedDict"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", *_SCALARS},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "SparseMatrixNode": _SPARSE,
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {*(f"builtins.{name}" for name in ("bool", "float", "int", "str")), *_SCALARS},
}
# skops does not trust these; `skops_archive` checks their contents.
_CHECKED = frozenset({"numpy.dtype", *_SPARSE})
# Estimators that predict with arithmetic of NumPy alone, most listed by module; skops has the list of types.
# Trees are included: what is dangerous in them is of another type, `sklearn.tree._tree.Tree`.
_ESTIMATORS = (
    "sklearn._loss.link.",
    "sklearn._loss.loss.",
    "sklearn.compose.",
    "sklearn.decomposition._pca.",
    "sklearn.discriminant_analysis.",
    "sklearn.dummy.",
    "sklearn.impute._base.",
    "sklearn.linear_model.",
    "sklearn.naive_bayes.",
    "sklearn.pipeline.",
    "sklearn.preprocessing._data.",
    "sklearn.preprocessing._function_transformer.",
    "sklearn.preprocessing._label.",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.svm._classes.LinearSVR",
    "sklearn.tree._classes.",
)
_LOSSES = ("sklearn._loss._loss.", "sklearn.linear_model._sgd_fast.")
_OWN_TYPES = "hedgerow."  # kernels trust the arrays of Hedgerow's models: only codecs may restore them
_VERSION = "_sklearn_version"  # scikit-learn adds this attribute, and compares it when it is set


# --- writing


def dumped(value: Any, name: str) -> bytes:
    """Return the archive of an object.

    >>> from sklearn.linear_model import Ridge
    >>> same = loaded(dumped(Ridge(alpha=2.0), "estimator"), "estimator")
    >>> same
    Ridge(alpha=2.0)
    """
    skops = _skops(f"{name}={_shown(value)} is an object of another library")
    try:
        data = canonical(skops.dumps(value))
        _, states = checked(data)
        _refuse_own(states)
        named = {*skops.get_untrusted_types(data=data), *map(type_name, states)}
        if canonical(skops.dumps(skops.loads(data, trusted=sorted(named)))) != data:
            raise ModelFileError("a loaded copy would differ")  # noqa: TRY301 - the same message for all
    except Exception as error:  # whatever the object or skops may raise
        raise ModelFileError(
            f"{name}={_shown(value)} cannot be saved by skops: {one_line(error)}; use pickle or joblib"
        ) from error
    return data


@functools.cache  # reads a file
def _version(name: str) -> str:
    return importlib.metadata.version(name)


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that write the archives."""
    return {name: _version(name) for name in LIBRARIES}


# --- reading


class UntrustedError(ModelFileError):
    """Raised for an object of types that are not known to be safe; `names` lists them."""

    def __init__(self, name: str, names: Iterable[str]) -> None:
        self.names = sorted(names)
        super().__init__(
            f"{name} holds objects of types that are not known to be safe; if you trust its author, load it "
            f"with trusted={self.names}"
        )


def loaded(data: bytes, name: str, trusted: Collection[str] = ()) -> Any:
    """Return the object of an archive if all its types are known to be safe or are trusted."""
    skops = _skops(f"{name} is an object of another library")
    try:
        entries, states = checked(data)
        _refuse_own(states)
        if all(_is_safe(state) or type_name(state) in trusted for state in states):
            if _set_version(states):
                data = packed(entries | {SCHEMA: json.dumps(states[0]).encode("ascii")})
            return skops.loads(data, trusted=sorted(_CHECKED.union(trusted)))
    # zipfile, NumPy, skops and scikit-learn may raise anything for damaged contents
    except Exception as error:
        if type(error).__name__ != "UntrustedTypesFoundException":
            raise ModelFileError(f"{name} is damaged: {one_line(error)}") from error
    raise UntrustedError(name, untrusted_types(data, name).difference(trusted))


def untrusted_types(data: bytes, name: str) -> set[str]:
    """Return the names of the types in an archive that are not known to be safe, to Hedgerow or to skops."""
    skops = _skops(f"{name} is an object of another library")
    try:
        unknown = {type_name(state) for state in checked(data)[1] if not _is_safe(state)}
        return unknown.union(skops.get_untrusted_types(data=data)) - (_CHECKED - unknown)
    except Exception as error:  # as above
        raise ModelFileError(f"{name} is damaged: {one_line(error)}") from error


def _is_safe(state: State) -> bool:
    """Return whether the type of a state is known to be safe with the loader that the state names."""
    name, loader = type_name(state), state.get("__loader__")
    module, _, last = name.rpartition(".")
    if loader == "ObjectNode":
        return name.startswith(_ESTIMATORS)
    if loader == "LossNode":
        return name.startswith(_LOSSES)
    if loader == "FunctionNode":
        return module == "numpy" and isinstance(getattr(np, last, None), np.ufunc)
    return isinstance(loader, str) and name in _PLAIN.get(loader, ())


def _refuse_own(states: list[State]) -> None:
    own = sorted(type_name(state) for state in states if type_name(state).startswith(_OWN_TYPES))
    if own:
        raise ModelFileError(f"it holds {own[0]}, an object of Hedgerow within an object of another library")


def _set_version(states: list[State]) -> bool:
    """Set the version of all estimators to the installed one; return whether any had another.

    Otherwise scikit-learn would warn for each estimator; `check_versions` warns once.
    """
    installed, changed = json.dumps(_version("scikit-learn")), False
    for state in states:
        content = state.get("content")
        noted = content.get(_VERSION) if isinstance(content, dict) else None
        if isinstance(noted, dict) and noted.get("content") != installed:
            noted["content"], changed = installed, True
    return changed


def check_versions(versions: Mapping[str, Any], *, foreign: bool) -> None:
    """Check the versions that a file names; warn if its objects are of another version of scikit-learn."""
    expected = {"hedgerow", *(LIBRARIES if foreign else ())}
    if set(versions) != expected or not all(_is_version(version) for version in versions.values()):
        raise ModelFileError(f"versions must name those of {', '.join(sorted(expected))}")
    written, installed = versions.get("scikit-learn"), _version("scikit-learn")
    if written is not None and written != installed:
        warnings.warn(
            f"the file holds objects of scikit-learn {written}, and scikit-learn {installed} is installed: "
            "they may predict differently, or fail; save the model again with the version that loads it",
            UserWarning,
            stacklevel=6,
        )


def _is_version(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9A-Za-z.+!_-]{1,40}", value) is not None


def check_trusted(trusted: Any) -> frozenset[str]:
    """Check the names of types that are passed to `load`."""
    if isinstance(trusted, str) or not isinstance(trusted, Collection):
        raise TypeError(f"trusted must be a list of names of types; got {trusted!r:.200}")
    for name in trusted:
        if not isinstance(name, str):
            raise TypeError(f"trusted must hold names, such as 'sklearn.tree._tree.Tree'; got {name!r:.200}")
    return frozenset(trusted)


# --- shared


def _skops(why: str) -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ModelFileError(
            f"{why}; model files require skops for such objects: pip install 'hedgerow[skops]'"
        ) from error


def _shown(value: Any) -> str:
    """Return the repr of an object in one line, cut."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def one_line(error: BaseException | None) -> str:
    """Return the message of an error in one line, with its type unless it is a ModelFileError."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, ModelFileError) else f"{type(error).__name__}: {text}"
