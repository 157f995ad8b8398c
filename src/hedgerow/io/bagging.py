"""Bagging in a file: members, each a section of the file, and the sampling of their rows and columns.

    members        the entries of the members, see `members`; those of Hedgerow have parameters only where
                   they
                   differ from the ensemble's own `estimator`
    members.3.*    the arrays of member 3
    soft_voting    whether probabilities of the members are averaged

Everything else is as in `forests`.
"""

from typing import Any

from hedgerow.bagging.members import FittedBagging
from hedgerow.bagging.sampling import BootstrapSampler
from hedgerow.estimators import BaggingClassifier
from hedgerow.estimators.validation import ClassTarget
from hedgerow.io.forests import (
    read_bootstrap,
    read_out_of_bag,
    read_weights,
    write_bootstrap,
    write_out_of_bag,
    write_weights,
)
from hedgerow.io.members import MemberSpec, read_member, write_member
from hedgerow.io.parameters import is_ours, restore_grids, write_spec
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import (
    read_grid_fingerprints,
    read_row_fingerprints,
    read_schema,
    read_target,
    write_columns,
    write_row_fingerprints,
)
from hedgerow.table import Schema


def write_bagging(model: Any, writer: Writer) -> None:
    """Write bagging of classifiers or regressors."""
    classes = model.classes_ if isinstance(model, BaggingClassifier) else None
    learner = write_spec(model._member_estimator(), writer)  # noqa: SLF001 - a class of Hedgerow
    write_columns(writer, model.schema_, classes)
    write_bootstrap(writer, model._sampler)  # noqa: SLF001
    write_weights(writer, model._weights)  # noqa: SLF001
    writer.entries["soft_voting"] = bool(model._soft)  # noqa: SLF001
    writer.entries["members"] = []
    for number, member in enumerate(model.estimators_):
        spec = MemberSpec(classes, *_columns(model.schema_, model._sampler, number))  # noqa: SLF001
        entries = write_member(writer, member, f"members.{number}", spec)
        writer.entries["members"].append(_without(learner, entries))
    write_out_of_bag(writer, model)
    if classes is not None:
        write_row_fingerprints(writer, model)


def read_bagging(reader: Reader, estimator: Any) -> None:
    """Set the fitted attributes."""
    schema = read_schema(reader)
    target = read_target(reader, classes=isinstance(estimator, BaggingClassifier))
    draws, listed = read_bootstrap(reader, schema.n_columns), reader.entry("members", list)
    require("members", len(listed) > 0, "at least one is required")
    learner, soft = _read_learner(reader, estimator), reader.entry("soft_voting", bool)
    members = []
    for number, entries in enumerate(listed):
        spec = MemberSpec(target.classes, *_columns(schema, draws, number))
        member = read_member(reader, f"members.{number}", _with(learner, entries), spec)
        if is_ours(member) and "n_jobs" in member.get_params(deep=False):
            member.set_params(n_jobs=1)  # the ensemble runs its members in parallel
        members.append(member)
    weights, n_rows = read_weights(reader, len(members)), draws.pool.n_rows
    estimator._set_members(FittedBagging(members, draws), schema, target.classes)  # noqa: SLF001
    estimator._weights, estimator._soft = weights, soft  # noqa: SLF001
    read_out_of_bag(reader, estimator, n_rows, len(members), target.n_classes or 1)
    if isinstance(target, ClassTarget):
        read_row_fingerprints(reader, estimator, target.n_classes)
        estimator.grid_hashes_ = read_grid_fingerprints(reader)
        restore_grids(estimator.grid_hashes_, estimator, *members)


# --- columns and parameters of members


def _columns(schema: Schema, draws: BootstrapSampler, number: int) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of columns of a member, and their names."""
    if schema.names is None or draws.replace_columns:
        return draws.n_chosen, None
    return draws.n_chosen, tuple(schema.names[column] for column in draws.columns(number))


def _read_learner(reader: Reader, estimator: Any) -> dict[str, Any]:
    """Return the entries of the ensemble's own learner, as the file has them."""
    written: dict[str, Any] | None = reader.entry("parameters", dict).get("estimator")
    return write_spec(estimator._member_estimator()) if written is None else written  # noqa: SLF001 - as above


def _without(learner: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters of a member that equal those of the learner: edges can be many."""
    if "estimator" not in entries or entries["estimator"] != learner.get("estimator"):
        return entries
    common, own = learner["parameters"], entries["parameters"]
    differing = {name: value for name, value in own.items() if name not in common or common[name] != value}
    return entries | {"parameters": differing | {name: None for name in common if name not in own}}


def _with(learner: dict[str, Any], entries: Any) -> Any:
    """Add the parameters of the learner to those of a member."""
    known = isinstance(entries, dict) and "estimator" in entries
    if not known or entries["estimator"] != learner.get("estimator"):
        return entries
    own = entries.get("parameters")
    return entries | {"parameters": learner["parameters"] | own} if isinstance(own, dict) else entries
