"""Weighted ensembles in a file: complete models as members, and their weights.

members           [{"estimator": "GradientBoostingClassifier", "parameters": {...}, ...}, ...]
member_weights    [0.6, 0.4], of sum 1
row_fingerprints  of a classifier, see `sections`: of the rows of all members; a member with the same
                  fingerprints has null, and gets those of the ensemble when it is read
members.0.*       the arrays of member 0

The columns and labels of an ensemble are those of its members, and the categories those of the first member.
"""

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.container import JSON, ModelFileError
from hedgerow.io import sections
from hedgerow.io.parameters import is_known_class
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.selection.weighted_ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
    ordered_sum,
)

ENSEMBLES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (WeightedEnsembleClassifier, WeightedEnsembleRegressor)
}
MAX_MEMBERS = 1000
_TOLERANCE = 1e-9  # of the sum of the weights


def write_ensemble(model: Any, writer: Writer) -> None:
    """Write an ensemble whose members are models of Hedgerow."""
    check_is_fitted(model, "estimators_")
    for number, member in enumerate(model.estimators_):
        if not is_known_class(member):
            raise ModelFileError(
                f"member {number} is a {type(member).__name__}; a model file holds weighted ensembles of "
                "Hedgerow's own estimators; use pickle or joblib"
            )
    writer.entries |= {"estimator": type(model).__name__, "parameters": {}}
    sections.write_columns(writer, model)
    if hasattr(model, "classes_"):
        sections.write_row_fingerprints(writer, model)
    shared = getattr(model, "row_fingerprints_", None)
    members = [_drop_shared_fingerprints(member, shared) for member in model.estimators_]
    writer.entries["members"] = [
        writer.model(member, f"members.{number}") for number, member in enumerate(members)
    ]
    writer.entries["member_weights"] = sections.write_numbers(model.weights_)


def _drop_shared_fingerprints(member: Any, shared: Any) -> Any:
    """Return the member without fingerprints that the ensemble has too."""
    if shared is None or getattr(member, "row_fingerprints_", None) is not shared:
        return member
    other = copy.copy(member)
    del other.row_fingerprints_
    return other


def read_ensemble(reader: Reader) -> Any:
    """Read and check an ensemble."""
    kind = ENSEMBLES[reader.entry("estimator", str)]
    if reader.level:
        raise ModelFileError(f"{reader.prefix}estimator: a weighted ensemble cannot be a member")
    require("parameters", reader.entry("parameters", dict) == {}, "an ensemble has none in files")
    listed = JSON.items(reader.entries.get("members"), "members", max_length=MAX_MEMBERS)
    require("members", len(listed) > 0, "at least one is required")
    weights = np.array(sections.read_numbers(reader, "member_weights", len(listed)))
    valid = bool((weights >= 0.0).all()) and abs(ordered_sum(weights) - 1.0) <= _TOLERANCE
    require("member_weights", valid, "they must be at least 0 and of sum 1")
    members = [reader.model(f"members.{number}", entries) for number, entries in enumerate(listed)]
    model = _assembled(kind, members, weights)
    schema, classes = sections.read_columns(reader, model)
    same = (
        members[0].schema_.to_dict() == schema.to_dict()
    )  # the names of the other members are checked already
    require("schema", same, "the columns must be those of the first member")
    if classes is not None:
        same = all(member.classes_.dtype == classes.dtype for member in (model, *members))
        require(
            "classes", same and np.array_equal(model.classes_, classes), "they must be those of the members"
        )
        _share_fingerprints(reader, model)
    return model


def _assembled(kind: type[Any], members: list[Any], weights: Any) -> Any:
    """Return the ensemble; its weights are those of the file, to the last bit."""
    try:
        model = kind.of(members, weights.tolist())
    except ValueError as error:
        raise ModelFileError(f"members: {error}") from error
    model._set_fitted_attributes(weights_=weights)  # noqa: SLF001
    return model


def _share_fingerprints(reader: Reader, model: Any) -> None:
    """Set the fingerprints of the ensemble, also for members that have none of their own."""
    sections.read_row_fingerprints(reader, model)
    sections.read_grid_fingerprints(reader, model)
    shared = getattr(model, "row_fingerprints_", None)
    for member in model.estimators_ if shared is not None else ():
        if not hasattr(member, "row_fingerprints_"):
            member._set_fitted_attributes(row_fingerprints_=shared)  # noqa: SLF001
