"""Objects of other libraries in a file: learners and fitted members of scikit-learn, by way of skops.

    skops.0    uint8, an archive, see `archives`; entries name it as {"skops": 0}

skops makes an object again from the names of its types and their attributes, and runs no code of the file.
Which types it may make is decided here: those whose predictions are arithmetic of NumPy, so that wrong
contents can give wrong numbers and errors, but no more. Others follow indices of the file without looking, as
scikit-learn's trees do, or run code of their own. They need the word of the user, `load(..., trusted=[...])`.
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
from hedgerow.io.skops_archive import SCHEMA, State, checked, in_one_form, packed, type_name

LIBRARIES = ("scikit-learn", "skops")  # whose versions a file with such objects holds

_SCALARS = frozenset(
    {f"numpy.{kind}{size}" for kind in ("int", "uint", "float") for size in (8, 16, 32, 64)}
    | {f"numpy.{name}" for name in ("bool", "bool_", "longlong", "str_", "ulonglong")}
)
_SPARSE = frozenset(
    f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc") for form in ("array", "matrix")
)
# How skops makes an object, and the types that are safe when they are made in this way. The way matters: an
# array can be read from its bytes, and it can be made by calling its class with a size.
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
# skops doubts these, and `archives` has looked at their contents.
_CHECKED = frozenset({"numpy.dtype", *_SPARSE})
# Estimators that predict with arithmetic of NumPy alone, most by their modules; skops knows which types there
# are. The trees are here since all that is dangerous in them is of another type, `sklearn.tree._tree.Tree`.
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
_NEVER = "hedgerow."  # kernels trust the arrays of our own models: they come by their codecs, or not at all
_VERSION = "_sklearn_version"  # an attribute that scikit-learn adds, and compares when it is set


# --- writing


def dumped(found: Any, name: str) -> bytes:
    """The archive of an object.

    >>> from sklearn.linear_model import Ridge
    >>> same = loaded(dumped(Ridge(alpha=2.0), "estimator"), "estimator")
    >>> same
    Ridge(alpha=2.0)
    """
    skops = _skops(f"{name}={shown(found)} is of another library")
    try:
        data = in_one_form(skops.dumps(found))
        _, states = checked(data)
        _refuse_ours(states)
        named = {*skops.get_untrusted_types(data=data), *map(type_name, states)}
        again = in_one_form(skops.dumps(skops.loads(data, trusted=sorted(named))))
    except Exception as error:  # whatever the object or skops may raise
        raise ModelFileError(
            f"{name}={shown(found)} cannot be saved by skops: {line(error)}; pickle and joblib hold it"
        ) from error
    if again != data:
        raise ModelFileError(
            f"{name}={shown(found)} does not come back from skops as it was; pickle and joblib hold it"
        )
    return data


@functools.cache  # it reads a file each time
def _version(name: str) -> str:
    return importlib.metadata.version(name)


def library_versions() -> dict[str, str]:
    """Versions of the libraries that made the archives."""
    return {name: _version(name) for name in LIBRARIES}


# --- reading


class UntrustedError(ModelFileError):
    """An object of types that are not known to be safe; `names` are theirs."""

    def __init__(self, name: str, names: Iterable[str]) -> None:
        self.names = sorted(names)
        super().__init__(
            f"{name} holds objects of types that are not known to be safe; if you trust whoever made it, "
            f"load it with trusted={self.names}"
        )


def loaded(data: bytes, name: str, trusted: Collection[str] = ()) -> Any:
    """The object of an archive, if all its types are known to be safe or are among those trusted."""
    skops = _skops(f"{name} is of another library")
    try:
        entries, found = checked(data)
        _refuse_ours(found)
        if all(_is_sound(state) or type_name(state) in trusted for state in found):
            if _meet_version(found):
                data = packed(entries | {SCHEMA: json.dumps(found[0]).encode("ascii")})
            return skops.loads(data, trusted=sorted(_CHECKED.union(trusted)))
    # whatever zipfile, NumPy, skops and scikit-learn may raise of damaged contents
    except Exception as error:
        if type(error).__name__ != "UntrustedTypesFoundException":
            raise ModelFileError(f"{name} is damaged: {line(error)}") from error
    raise UntrustedError(name, untrusted_types(data, name).difference(trusted))


def untrusted_types(data: bytes, name: str) -> set[str]:
    """Names of the types in an archive that are not known to be safe, here or by skops."""
    skops = _skops(f"{name} is of another library")
    try:
        doubtful = {type_name(state) for state in checked(data)[1] if not _is_sound(state)}
        return doubtful.union(skops.get_untrusted_types(data=data)) - (_CHECKED - doubtful)
    except Exception as error:  # as above
        raise ModelFileError(f"{name} is damaged: {line(error)}") from error


def _is_sound(state: State) -> bool:
    """Whether the type of a state is known to be safe, made in the way that the state says."""
    name, loader = type_name(state), state.get("__loader__")
    module, _, last = name.rpartition(".")
    if loader == "ObjectNode":
        return name.startswith(_ESTIMATORS)
    if loader == "LossNode":
        return name.startswith(_LOSSES)
    if loader == "FunctionNode":
        return module == "numpy" and isinstance(getattr(np, last, None), np.ufunc)
    return isinstance(loader, str) and name in _PLAIN.get(loader, ())


def _refuse_ours(found: list[State]) -> None:
    ours = sorted(type_name(state) for state in found if type_name(state).startswith(_NEVER))
    if ours:
        raise ModelFileError(f"it holds {ours[0]}, an object of Hedgerow within one of another library")


def _meet_version(found: list[State]) -> bool:
    """Give all estimators the version that is here; whether they had another.

    Else scikit-learn would warn of each; `check_versions` does so once for all.
    """
    here, changed = json.dumps(_version("scikit-learn")), False
    for state in found:
        content = state.get("content")
        noted = content.get(_VERSION) if isinstance(content, dict) else None
        if isinstance(noted, dict) and noted.get("content") != here:
            noted["content"], changed = here, True
    return changed


def check_versions(versions: Mapping[str, Any], *, foreign: bool) -> None:
    """Check the versions that a file tells of, and warn if objects of scikit-learn are of another one."""
    expected = {"hedgerow", *(LIBRARIES if foreign else ())}
    if set(versions) != expected or not all(_is_version(one) for one in versions.values()):
        raise ModelFileError(f"versions must name those of {', '.join(sorted(expected))}")
    there, here = versions.get("scikit-learn"), _version("scikit-learn")
    if there is not None and there != here:
        warnings.warn(
            f"the file holds objects of scikit-learn {there}, and scikit-learn {here} is installed: "
            "they may answer differently, or not at all; save the model anew with the version that loads it",
            UserWarning,
            stacklevel=4,
        )


def _is_version(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9A-Za-z.+!_-]{1,40}", value) is not None


def check_trusted(trusted: Any) -> frozenset[str]:
    """Names of types, as `load` is given them."""
    if isinstance(trusted, str) or not isinstance(trusted, Collection):
        raise TypeError(f"trusted={trusted!r:.200} is not allowed: it must be a list of names of types")
    for name in trusted:
        if not isinstance(name, str):
            raise TypeError(
                f"trusted holds {name!r:.200}: it must hold names, such as 'sklearn.tree._tree.Tree'"
            )
    return frozenset(trusted)


# --- both


def _skops(why: str) -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ModelFileError(
            f"{why}; model files hold such objects through skops, which is not installed: pip install skops"
        ) from error


def shown(found: Any) -> str:
    """An object in a line, not at length."""
    text = " ".join(repr(found).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def line(error: BaseException) -> str:
    """What an error says, in a line; its kind, if it is none of ours."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, ModelFileError) else f"{type(error).__name__}: {text}"
