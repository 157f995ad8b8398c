"""Bags in a file: members, each a part of the file, and how they were drawn.

    members        the members' entries, see `members`; those of ours have parameters only where they are not
                   those of the bag's own `estimator`
    members.3.*    the arrays of member 3
    soft           whether members are asked for probabilities

Everything else is as in `forests`.
"""

from typing import Any

from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import BootstrapSampler
from hedgerow.estimators import BaggingClassifier
from hedgerow.estimators.validation import ClassTarget
from hedgerow.io.forests import (
    read_draws,
    read_out_of_bag,
    read_weights,
    write_draws,
    write_out_of_bag,
    write_weights,
)
from hedgerow.io.members import Expected, read_member, write_member
from hedgerow.io.parameters import is_ours, mark_grids, write_spec
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import (
    read_grid_marks,
    read_schema,
    read_seen,
    read_target,
    write_columns,
    write_seen,
)
from hedgerow.table import Schema


def write_bag(model: Any, out: Writer) -> None:
    """Bagging of classifiers or regressors."""
    classes = model.classes_ if isinstance(model, BaggingClassifier) else None
    learner = write_spec(model._learner(), out)  # noqa: SLF001 - of our own kind
    write_columns(out, model._schema, classes)  # noqa: SLF001
    write_draws(out, model._sampler)  # noqa: SLF001
    write_weights(out, model._weights)  # noqa: SLF001
    out.entries["soft"] = bool(model._soft)  # noqa: SLF001
    out.entries["members"] = []
    for number, member in enumerate(model.estimators_):
        expected = Expected(classes, *_given(model._schema, model._sampler, number))  # noqa: SLF001
        entries = write_member(out, member, f"members.{number}", expected)
        out.entries["members"].append(_without(learner, entries))
    write_out_of_bag(out, model)
    if classes is not None:
        write_seen(out, model)


def read_bag(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema = read_schema(part)
    target = read_target(part, classes=isinstance(estimator, BaggingClassifier))
    draws, told = read_draws(part, schema.n_columns), part.entry("members", list)
    require("members", len(told) > 0, "there must be one")
    learner, soft = _read_common(part, estimator), part.entry("soft", bool)
    members = []
    for number, entries in enumerate(told):
        expected = Expected(target.classes, *_given(schema, draws, number))
        member = read_member(part, f"members.{number}", _with(learner, entries), expected)
        if is_ours(member) and "n_jobs" in member.get_params(deep=False):
            member.set_params(n_jobs=1)  # the members are what runs in parallel
        members.append(member)
    weights, n_rows = read_weights(part, len(members)), draws.pool.n_rows
    table = RawTable(None, (n_rows, schema.n_columns), names=schema.names)
    estimator._keep(members, draws, table, target)  # noqa: SLF001 - sets what fit would
    estimator._weights, estimator._soft = weights, soft  # noqa: SLF001
    read_out_of_bag(part, estimator, n_rows, len(members), target.n_classes or 1)
    if isinstance(target, ClassTarget):
        read_seen(part, estimator, target.n_classes)
        estimator.grid_hashes_ = read_grid_marks(part)
        mark_grids(estimator.grid_hashes_, estimator, *members)


# --- columns and parameters of members


def _given(schema: Schema, draws: BootstrapSampler, number: int) -> tuple[int, tuple[str, ...] | None]:
    """How many columns a member is given, and their names."""
    if schema.names is None or draws.replace_columns:
        return draws.n_chosen, None
    return draws.n_chosen, tuple(schema.names[column] for column in draws.columns(number))


def _read_common(part: Reader, estimator: Any) -> dict[str, Any]:
    """The entries of the bag's own learner, as they stand in the file."""
    written = part.entry("parameters", dict).get("estimator")
    if written is None:
        written = write_spec(estimator._learner())  # noqa: SLF001 - of our own kind
    common: dict[str, Any] = written
    return common


def _without(learner: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """A member's entries without the parameters that are those of the learner: edges can be many."""
    if "estimator" not in entries or entries["estimator"] != learner.get("estimator"):
        return entries
    common, mine = learner["parameters"], entries["parameters"]
    own = {name: value for name, value in mine.items() if name not in common or common[name] != value}
    return entries | {"parameters": own | {name: None for name in common if name not in mine}}


def _with(learner: dict[str, Any], entries: Any) -> Any:
    """The member's entries with all its parameters."""
    known = isinstance(entries, dict) and "estimator" in entries
    if not known or entries["estimator"] != learner.get("estimator"):
        return entries
    own = entries.get("parameters")
    return entries | {"parameters": learner["parameters"] | own} if isinstance(own, dict) else entries
