"""Members in a file: fitted estimators that a model asks, of ours or of another library.

    {"estimator": "DecisionStump", "parameters": {...}, ...}    the entries of a model of ours
    {"skops": 3}                                                an object of another library, see `foreign`
    {"constant": 2}                                             a member that always names class number 2

Members of boosting stand in lists, one list a round, with one member for each output.


"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow.container import ModelFileError
from hedgerow.io.foreign import line
from hedgerow.io.parameters import is_ours
from hedgerow.io.reader import Reader, Writer, is_foreign, require
from hedgerow.io.sections import read_count
from hedgerow.members import ConstantHypothesis


@dataclass(frozen=True, eq=False)
class Expected:
    """What a member must be.

    Parameters
    ----------
    classes : array, or None
        The labels that a classifier may know; None for a regressor.
    n_columns : int
        That it is given.
    names : tuple, or None
        Of these columns.
    asked : str
        The method that it is asked by.
    """

    classes: NDArray[Any] | None
    n_columns: int
    names: tuple[str, ...] | None
    asked: str = "predict"


def write_member(out: Writer, member: Any, name: str, expected: Expected) -> dict[str, Any]:
    """The entries of a member; its arrays are put under its name."""
    if isinstance(member, ConstantHypothesis) and expected.classes is not None:
        return {"constant": int(np.searchsorted(expected.classes, member.classes_[0]))}
    if is_ours(member):
        return out.model(member, name)
    _check_foreign(out.prefix + name, member, expected)
    return out.foreign(member, name)


def read_member(part: Reader, name: str, entries: Any, expected: Expected) -> Any:
    """A member that is what it must be."""
    classes = expected.classes
    if isinstance(entries, dict) and set(entries) == {"constant"} and classes is not None:
        number = read_count(part.part(name, entries), "constant", 0, len(classes) - 1)
        return ConstantHypothesis(classes[number : number + 1])
    if part.format > 2 and is_foreign(entries):
        member = part.foreign(name, entries)
        _check_foreign(part.prefix + name, member, expected)
        return member
    member = part.model(name, entries)
    require(name, is_classifier(member) == (classes is not None), "it is of the wrong kind")
    if classes is not None:
        own = member.classes_
        among = own.dtype == classes.dtype and set(own.tolist()) <= set(classes.tolist())
        require(name, among, "it has other classes")
    require(name, hasattr(member, expected.asked), f"it has no {expected.asked}")
    require(name, member.n_features_in_ == expected.n_columns, f"it must know {expected.n_columns} columns")
    names = getattr(member, "feature_names_in_", None)
    found = None if names is None else tuple(names.tolist())
    require(name, found == expected.names, "its columns have other names")
    return member


def _check_foreign(name: str, member: Any, expected: Expected) -> None:
    columns = (expected.n_columns, expected.names)
    check_member(name, member, expected.classes, columns, expected.asked)


# --- rounds


def write_members(out: Writer, rounds: list[list[Any]], expected: Expected) -> None:
    """The members of every round."""
    out.entries["members"] = [
        [
            write_member(out, member, f"members.{number}.{place}", expected)
            for place, member in enumerate(made)
        ]
        for number, made in enumerate(rounds)
    ]


def read_members(part: Reader, n_each: int, expected: Expected) -> list[list[Any]]:
    """The members of every round, as many in each."""
    rounds = []
    for number, told in enumerate(part.entry("members", list)):
        if not isinstance(told, list) or len(told) != n_each:
            raise ModelFileError(f"members: round {number} must have {n_each}")
        named = ((f"members.{number}.{place}", entries) for place, entries in enumerate(told))
        rounds.append([read_member(part, name, entries, expected) for name, entries in named])
    return rounds


# --- members


def check_member(
    name: str,
    member: Any,
    classes: NDArray[Any] | None,
    columns: tuple[int, tuple[str, ...] | None],
    asked: str = "predict",
) -> None:
    """Refuse what cannot be a fitted member for so many columns, of these names if it knows names.

    Parameters
    ----------
    name : str
        Of the member.
    member : object of another library
    classes : array, or None
        The labels that a classifier may know; None for a regressor.
    columns : (int, names or None)
    asked : str
        The method that it is asked by.
    """
    try:
        check_is_fitted(member)
        right = is_classifier(member) == (classes is not None) and callable(getattr(member, asked))
        n_columns = getattr(member, "n_features_in_", columns[0])
        names = getattr(member, "feature_names_in_", None)
        alike = n_columns == columns[0] and (
            names is None or (len(names) == columns[0] and tuple(np.asarray(names).tolist()) == columns[1])
        )
        own = None if classes is None else np.asarray(getattr(member, "classes_", classes))
        known = (
            own is None
            or classes is None
            or (own.ndim == 1 and len(own) <= len(classes) and set(own.tolist()) <= set(classes.tolist()))
        )
    except Exception as error:  # an object of a file may raise anything
        raise ModelFileError(f"{name} is no fitted member: {line(error)}") from error
    for fine, wrong in ((right, "it is of the wrong kind"), (known, "it has other classes")):
        if not fine:
            raise ModelFileError(f"{name}: {wrong}")
    if not alike:
        raise ModelFileError(f"{name}: it knows other columns")
