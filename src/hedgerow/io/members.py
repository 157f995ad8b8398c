"""Members in a file: fitted estimators of an ensemble, of Hedgerow or of another library.

    {"estimator": "DecisionStump", "parameters": {...}, ...}    the entries of a model of Hedgerow
    {"skops": 3}                                                an object of another library, see `foreign`
    {"constant": 2}                                             a member that always predicts class number 2

Members of boosting are in lists, one list per round, with one member for each output.
"""

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow.container import ModelFileError
from hedgerow.io.foreign import one_line
from hedgerow.io.parameters import is_known_class
from hedgerow.io.reader import Reader, Writer, is_foreign, require
from hedgerow.io.sections import read_count
from hedgerow.members import ConstantHypothesis, predict_classes, predict_probabilities, predict_values
from hedgerow.table import Schema

_PROBE_VALUES = (1.0, 0.0, 0.5)  # a transformer such as np.log may not accept one of them


@dataclass(frozen=True, eq=False)
class MemberSpec:
    """What a member must be."""

    classes: NDArray[Any] | None  # the labels that a classifier may predict; None for a regressor
    n_columns: int
    names: tuple[str, ...] | None  # of the columns
    method: str = "predict"  # that the ensemble calls

    @classmethod
    def of(cls, schema: Schema, classes: NDArray[Any] | None = None, method: str = "predict") -> "MemberSpec":
        """Describe a member that gets all columns of a schema."""
        return cls(classes, schema.n_columns, schema.names, method)


def write_member(writer: Writer, member: Any, name: str, spec: MemberSpec) -> dict[str, Any]:
    """Write the arrays of a member; return its entries."""
    if isinstance(member, ConstantHypothesis) and spec.classes is not None:
        return {"constant": int(np.searchsorted(spec.classes, member.classes_[0]))}
    if is_known_class(member):
        return writer.model(member, name)
    _check_member(writer.prefix + name, member, spec, is_own=False)
    return writer.foreign(member, name)


def read_member(reader: Reader, name: str, entries: Any, spec: MemberSpec) -> Any:
    """Read and check a member."""
    classes = spec.classes
    if isinstance(entries, dict) and set(entries) == {"constant"} and classes is not None:
        number = read_count(reader.section(name, entries), "constant", 0, len(classes) - 1)
        return ConstantHypothesis(classes[number : number + 1])
    if is_foreign(entries):
        member = reader.foreign(name, entries)
        _check_member(reader.prefix + name, member, spec, is_own=False)
        if not reader.trusted:  # code of types that the user trusts is not run before it is needed
            _probe(reader.prefix + name, member, spec)
        return member
    member = reader.model(name, entries)
    _check_member(name, member, spec, is_own=True)
    return member


def _check_member(name: str, member: Any, spec: MemberSpec, *, is_own: bool) -> None:
    """Refuse what cannot be a fitted member for these columns and classes.

    is_own : whether it is of Hedgerow: it then has the names of the columns and the dtype of the classes.
    """
    classes, n_columns = spec.classes, spec.n_columns
    try:
        check_is_fitted(member)
        right_kind = is_classifier(member) == (classes is not None)
        callable_method = callable(getattr(member, spec.method, None))
        n_features = getattr(member, "n_features_in_", n_columns)
        names = getattr(member, "feature_names_in_", None)
        same_columns = isinstance(n_features, int | np.integer) and n_features == n_columns
        if names is not None or is_own:
            member_names = None if names is None else tuple(np.asarray(names).tolist())
            same_columns = same_columns and member_names == spec.names
        known_classes = True
        if classes is not None:
            member_classes = np.asarray(getattr(member, "classes_", classes))
            known_classes = member_classes.ndim == 1 and set(member_classes.tolist()) <= set(classes.tolist())
            known_classes = known_classes and len(member_classes) <= len(classes)
            known_classes = known_classes and (not is_own or member_classes.dtype == classes.dtype)
    except Exception as error:  # an object of a file may raise anything
        raise ModelFileError(f"{name} is not a fitted member: {one_line(error)}") from error
    kind = "regressor" if classes is None else "classifier"
    require(name, right_kind, f"it must be a {kind}")
    require(name, callable_method, f"it must have the method {spec.method}")
    require(name, known_classes, "its classes must be classes of the model")
    require(name, same_columns, "its columns must be those of the model")


def _probe(name: str, member: Any, spec: MemberSpec) -> None:
    """Refuse a member that cannot predict: its arrays may have shapes or dtypes that do not fit.

    The member predicts two rows of a constant. Their predictions must have the shape, the dtype and the
    range that the ensemble relies on.
    """
    failure: Exception | None = None
    for value in _PROBE_VALUES:
        rows: Any = np.full((2, spec.n_columns), value)
        if getattr(member, "feature_names_in_", None) is not None:
            try:
                rows = importlib.import_module("pandas").DataFrame(rows, columns=list(spec.names or ()))
            except ImportError:  # a pipeline may select columns by name, which arrays do not have
                return
        try:
            with warnings.catch_warnings(), np.errstate(all="warn"):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                for predict in _predictions(member, spec):
                    predict(member, rows)
        except Exception as error:  # noqa: BLE001 - an object of a file may raise anything
            failure = error
        else:
            return
    raise ModelFileError(f"{name} cannot predict: {one_line(failure)}") from failure


def _predictions(member: Any, spec: MemberSpec) -> list[Callable[[Any, Any], Any]]:
    """Return the checked predictions that an ensemble may request from a member."""
    classes = spec.classes
    if classes is None:
        return [predict_values]
    functions: list[Callable[[Any, Any], Any]] = [lambda member, rows: predict_classes(member, rows, classes)]
    if hasattr(member, "predict_proba"):
        functions.append(lambda member, rows: predict_probabilities(member, rows, classes))
    return functions


# --- rounds


def write_members(writer: Writer, rounds: list[list[Any]], spec: MemberSpec) -> None:
    """Write the members of every round."""
    writer.entries["members"] = [
        [
            write_member(writer, member, f"members.{number}.{output}", spec)
            for output, member in enumerate(members)
        ]
        for number, members in enumerate(rounds)
    ]


def read_members(reader: Reader, n_each: int, spec: MemberSpec) -> list[list[Any]]:
    """Read the members of every round, the same number in each."""
    rounds = []
    for number, listed in enumerate(reader.entry("members", list)):
        if not isinstance(listed, list) or len(listed) != n_each:
            raise ModelFileError(f"members: round {number} must have {n_each}")
        named = ((f"members.{number}.{output}", entries) for output, entries in enumerate(listed))
        rounds.append([read_member(reader, name, entries, spec) for name, entries in named])
    return rounds
