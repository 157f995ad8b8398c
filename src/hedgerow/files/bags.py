"""Bags in a file: members that are models of ours, each a part of the file, and how they were drawn.

    members        the members' entries; parameters only where they are not those of the bag's own `estimator`
    members.3.*    the arrays of member 3
    constant       {"constant": 2} stands for a member that always names class number 2
    soft           whether members are asked for probabilities

Everything else is as in `forests`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from hedgerow.bagging.resampling import Draws
from hedgerow.bagging.rows import GivenTable
from hedgerow.boosting.three_votes import ConstantHypothesis
from hedgerow.estimators import BaggingClassifier
from hedgerow.estimators.inputs import Labels
from hedgerow.files.draws import read_draws, write_draws
from hedgerow.files.forests import read_out_of_bag, read_weights, write_out_of_bag, write_weights
from hedgerow.files.parts import Reader, Writer, require
from hedgerow.files.pieces import (
    read_count,
    read_grid_marks,
    read_schema,
    read_seen,
    read_target,
    write_columns,
    write_seen,
)
from hedgerow.files.specs import mark_grids, write_spec
from hedgerow.table import Schema


def write_bag(model: Any, out: Writer) -> None:
    """Bagging of classifiers or regressors."""
    classes = model.classes_ if isinstance(model, BaggingClassifier) else None
    learner = write_spec(model._learner())  # noqa: SLF001 - of our own kind
    write_columns(out, model._schema, classes)  # noqa: SLF001
    write_draws(out, model._draws)  # noqa: SLF001
    write_weights(out, model._weights)  # noqa: SLF001
    out.entries["soft"] = bool(model._soft)  # noqa: SLF001
    out.entries["members"] = [
        _without(learner, write_member(out, member, f"members.{number}", classes))
        for number, member in enumerate(model.estimators_)
    ]
    write_out_of_bag(out, model)
    if classes is not None:
        write_seen(out, model)


def read_bag(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema = read_schema(part)
    target = read_target(part, classes=isinstance(estimator, BaggingClassifier))
    draws, told = read_draws(part, schema.n_columns), part.entry("members", list)
    require("members", len(told) > 0, "there must be one")
    learner = write_spec(estimator._learner())  # noqa: SLF001 - of our own kind
    members = []
    for number, entries in enumerate(told):
        name = f"members.{number}"
        member = read_member(part, name, _with(learner, entries), target.classes)
        if not isinstance(member, ConstantHypothesis):
            check_columns(name, member, _given(schema, draws, number))
            if "n_jobs" in member.get_params(deep=False):
                member.set_params(n_jobs=1)  # the members are what runs in parallel
        members.append(member)
    weights, n_rows = read_weights(part, len(members)), draws.population.n_rows
    table = GivenTable(None, (n_rows, schema.n_columns), names=schema.names)
    estimator._keep(members, draws, table, target)  # noqa: SLF001 - sets what fit would
    estimator._weights, estimator._soft = weights, part.entry("soft", bool)  # noqa: SLF001
    read_out_of_bag(part, estimator, n_rows, len(members), target.n_classes or 1)
    if isinstance(target, Labels):
        read_seen(part, estimator, target.n_classes)
        estimator.grid_marks_ = read_grid_marks(part)
        mark_grids(estimator.grid_marks_, estimator, *(m for m in members if hasattr(m, "get_params")))


# --- members


def write_member(out: Writer, member: Any, name: str, classes: NDArray[Any] | None) -> dict[str, Any]:
    """The entries of a member; its arrays are put under its name."""
    if isinstance(member, ConstantHypothesis) and classes is not None:
        return {"constant": int(np.searchsorted(classes, member.classes_[0]))}
    return out.model(member, name)


def read_member(part: Reader, name: str, entries: Any, classes: NDArray[Any] | None) -> Any:
    """A member whose classes, if it has any, are among these."""
    if isinstance(entries, dict) and set(entries) == {"constant"} and classes is not None:
        number = read_count(part.part(name, entries), "constant", 0, len(classes) - 1)
        return ConstantHypothesis(classes[number : number + 1])
    member = part.model(name, entries)
    require(name, is_classifier(member) == (classes is not None), "it is of the wrong kind")
    if classes is not None:
        own = member.classes_
        among = own.dtype == classes.dtype and set(own.tolist()) <= set(classes.tolist())
        require(name, among, "it has other classes")
    return member


def check_columns(name: str, member: Any, names: tuple[int, tuple[str, ...] | None]) -> None:
    """A member knows the columns that it is given: so many, of these names."""
    n_columns, expected = names
    require(name, member.n_features_in_ == n_columns, f"it must know {n_columns} columns")
    own = getattr(member, "feature_names_in_", None)
    fits = own is None if expected is None else own is not None and tuple(own.tolist()) == expected
    require(name, fits, "its columns have other names")


def _given(schema: Schema, draws: Draws, number: int) -> tuple[int, tuple[str, ...] | None]:
    """How many columns a member is given, and their names."""
    if schema.names is None or draws.replace_columns:
        return draws.n_chosen, None
    return draws.n_chosen, tuple(schema.names[column] for column in draws.columns(number))


def _without(learner: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """A member's entries without the parameters that are those of the learner: edges can be many."""
    if entries.get("estimator") != learner["estimator"]:
        return entries
    common, mine = learner["parameters"], entries["parameters"]
    own = {name: value for name, value in mine.items() if name not in common or common[name] != value}
    return entries | {"parameters": own | {name: None for name in common if name not in mine}}


def _with(learner: dict[str, Any], entries: Any) -> Any:
    """The member's entries with all its parameters."""
    if not isinstance(entries, dict) or entries.get("estimator") != learner["estimator"]:
        return entries
    own = entries.get("parameters")
    return entries | {"parameters": learner["parameters"] | own} if isinstance(own, dict) else entries
