"""Forests and bagging in a file: members that vote, the sampling of their rows, and out-of-bag results.

votes.*                        the trees of a forest, see VOTES
members                        the entries of the members of bagging, see `members`; those of Hedgerow have
                               parameters only where they differ from the ensemble's own `estimator`
members.3.*                    the arrays of member 3
soft_voting                    whether probabilities of the members are averaged
bootstrap                      n_rows, size, n_draws, n_columns, n_chosen, replace, replace_columns,
                               shuffle_columns, seed
bootstrap.row_order            uint32, the rows of positive weight in the order they are drawn from
bootstrap.zero_weight_rows     uint32, the other rows, increasing; left out if there are none
bootstrap.cumulative_weights   int64, running sums of their integer weights; empty if all are 1
bootstrap.row_copies           int64, copies of each row, for trees fitted to all rows; empty if all are 1
vote_weights                   float64, of the trees; empty if all are equal
leaf_targets.*                 the targets in the leaves, of regressors with keep_targets
oob.*                          out-of-bag attributes, see OUT_OF_BAG
oob_losses.*, vote_losses.*    losses of the trees on rows they were not fitted to
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from hedgerow._typing import Floats
from hedgerow.bagging.forest import FittedForest
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.bagging.members import FittedBagging
from hedgerow.bagging.sampling import MAX_COPIES_PER_ROW, BootstrapSampler, SamplingPool, TreeSampler
from hedgerow.container import ModelFileError
from hedgerow.io import sections
from hedgerow.io.checks import check_bins, check_votes
from hedgerow.io.members import MemberSpec, read_member, write_member
from hedgerow.io.parameters import is_known_class, write_spec
from hedgerow.io.reader import ArrayField, Reader, Writer, check_starts, require
from hedgerow.io.trees import read_bins, write_bins
from hedgerow.table import Schema
from hedgerow.voting import ForestModel, VoteForest

VOTES = {  # deep trees that vote
    "votes.starts": ArrayField("starts", np.int64),
    "votes.nodes": ArrayField("nodes", np.uint64),
    "votes.value_starts": ArrayField("value_starts", np.int64),
    "votes.values": ArrayField("values", np.float64, 2),
    "votes.set_starts": ArrayField("set_starts", np.int64),
    "votes.sets": ArrayField("sets", np.uint64, 2),
    "votes.set_number": ArrayField("set_number", np.int32),
    "votes.gains": ArrayField("gains", np.float64, 2),
}
LEAF_TARGETS = {  # attributes only: the integers are as narrow as their values allow
    "leaf_targets.starts": "starts",
    "leaf_targets.target_index": "positions",
    "leaf_targets.counts": "draws",
    "leaf_targets.targets": "targets",
    "leaf_targets.weights": "weights",
}
OUT_OF_BAG: dict[str, tuple[str, Any]] = {  # attributes of forests and bags; the number of axes varies
    "votes": ("oob_votes_", np.int64),
    "decision_function": ("oob_decision_function_", np.float64),
    "prediction": ("oob_prediction_", np.float64),
    "residuals": ("_residuals", np.float64),
    "residual_weights": ("_residual_weight", np.float64),
    "target_ranks": ("_ranks", np.float64),
}
BOOTSTRAP_FLAGS = ("replace", "replace_columns", "shuffle_columns")  # attributes of a BootstrapSampler
_FRACTIONS = ("decision_function", "target_ranks")  # from 0 to 1
_MAX_DRAWS = 2**52  # float64 adds integers up to this exactly


# --- forests


def write_forest(model: Any, writer: Writer) -> None:
    """Write a random forest or extra trees."""
    fitted: ForestModel = model.model_
    check_bins(fitted.bins, model.schema_)
    check_votes(fitted.forest, fitted.bins, fitted.forest.n_outputs)
    write_bins(writer, fitted.bins)
    writer.put_fields(VOTES, fitted.forest)
    sampling: TreeSampler = model._tree_sampler  # noqa: SLF001 - a fitted attribute
    _write_votes(writer, model, sampling.draws, fitted.weights)
    once = bool(np.all(sampling.copies == 1))
    writer.put("bootstrap.row_copies", sampling.copies[:0] if once else sampling.copies)
    if is_classifier(model):
        writer.entries["caveats"] = list(model._caveats)  # noqa: SLF001
    else:
        writer.entries["n_outputs"] = model.n_outputs_
        _write_leaf_targets(writer, model._leaf_targets)  # noqa: SLF001


def read_forest(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    bins = read_bins(reader)
    check_bins(bins, schema)
    n_pure = 0 if classes is None else len(classes)
    n_outputs = n_pure or sections.read_count(reader, "n_outputs", 1, 2**31)
    forest = VoteForest(**reader.fields(VOTES), n_pure=n_pure)
    check_votes(forest, bins, n_outputs)
    model = ForestModel(bins, forest, _read_weights(reader, forest.n_trees))
    sampling = _read_sampling(reader, schema.n_columns)
    leaves = None if n_pure else _read_leaf_targets(reader, forest)
    estimator._set_members(FittedForest(model, sampling, leaves), schema, classes)  # noqa: SLF001
    _read_out_of_bag(reader, estimator, sampling.draws.pool.n_rows, forest.n_trees, n_outputs)
    if classes is not None:
        sections.read_row_fingerprints(reader, estimator)
        sections.read_grid_fingerprints(reader, estimator)
        estimator._set_fitted_attributes(_caveats=sections.read_strings(reader, "caveats"))  # noqa: SLF001
    else:
        require("vote_weights", model.weights is None, "the trees of a regressor have equal weights")
        _check_intervals(estimator)


def _read_sampling(reader: Reader, n_columns: int) -> TreeSampler:
    draws = _read_bootstrap(reader, n_columns)
    n_rows, copies = draws.pool.n_rows, reader.array("bootstrap.row_copies", np.int64)
    require("bootstrap", draws.n_chosen == n_columns, "a tree must get all columns")
    require("bootstrap.row_copies", len(copies) in (0, n_rows), "there must be one per row")
    require("bootstrap.row_copies", (copies >= 0) & (copies < 2**31), "they must be counts")
    if not len(copies):
        copies = np.ones(n_rows, np.int64)
    return TreeSampler(draws, draws.replace, copies)


def _check_intervals(model: Any) -> None:
    """Check that the attributes that intervals are computed from are complete."""
    known, leaves = vars(model), model._leaf_targets  # noqa: SLF001 - a class of Hedgerow
    complete = ("_residuals" in known) == ("_residual_weight" in known)
    require("oob", complete, "residuals and residual_weights must occur together")
    if leaves is not None:
        require("leaf_targets.starts", model.n_outputs_ == 1, "targets are stored for one output only")
        complete = ("_ranks" in known) == ("_residuals" in known)
        require("oob", complete, "residuals and target_ranks must occur together")


# --- bagging


def write_bagging(model: Any, writer: Writer) -> None:
    """Write bagging of classifiers or regressors."""
    sampler: BootstrapSampler = model._sampler  # noqa: SLF001 - a fitted attribute
    classes = model.classes_ if is_classifier(model) else None
    learner = write_spec(model._member_estimator(), writer)  # noqa: SLF001
    _write_votes(writer, model, sampler, model._weights)  # noqa: SLF001
    writer.entries |= {"soft_voting": bool(model._soft_voting), "members": []}  # noqa: SLF001
    for number, member in enumerate(model.estimators_):
        spec = MemberSpec(classes, *_columns(model.schema_, sampler, number))
        entries = write_member(writer, member, f"members.{number}", spec)
        writer.entries["members"].append(_drop_shared_parameters(learner, entries))


def read_bagging(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    draws, listed = _read_bootstrap(reader, schema.n_columns), reader.entry("members", list)
    require("members", len(listed) > 0, "at least one is required")
    learner = reader.entry("parameters", dict).get("estimator")
    if learner is None:
        learner = write_spec(estimator._member_estimator())  # noqa: SLF001
    members = []
    for number, entries in enumerate(listed):
        spec = MemberSpec(classes, *_columns(schema, draws, number))
        member = read_member(reader, f"members.{number}", _add_shared_parameters(learner, entries), spec)
        if is_known_class(member) and "n_jobs" in member.get_params(deep=False):
            member.set_params(n_jobs=1)  # the ensemble runs its members in parallel
        members.append(member)
    estimator._set_members(FittedBagging(members, draws), schema, classes)  # noqa: SLF001
    weights, soft_voting = _read_weights(reader, len(members)), reader.entry("soft_voting", bool)
    estimator._set_fitted_attributes(_weights=weights, _soft_voting=soft_voting)  # noqa: SLF001
    n_outputs = 1 if classes is None else len(classes)
    _read_out_of_bag(reader, estimator, draws.pool.n_rows, len(members), n_outputs)
    if classes is not None:
        sections.read_row_fingerprints(reader, estimator)
        sections.read_grid_fingerprints(reader, estimator, *members)


def _columns(schema: Schema, draws: BootstrapSampler, number: int) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of columns of a member, and their names."""
    if schema.names is None or draws.replace_columns:
        return draws.n_chosen, None
    return draws.n_chosen, tuple(schema.names[column] for column in draws.columns(number))


def _drop_shared_parameters(learner: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters of a member that equal those of the learner: lists of edges can be long."""
    if "estimator" not in entries or entries["estimator"] != learner.get("estimator"):
        return entries
    common, own = learner["parameters"], entries["parameters"]
    differing = {name: value for name, value in own.items() if name not in common or common[name] != value}
    return entries | {"parameters": differing | {name: None for name in common if name not in own}}


def _add_shared_parameters(learner: dict[str, Any], entries: Any) -> Any:
    """Add the parameters of the learner to those of a member."""
    known = isinstance(entries, dict) and "estimator" in entries
    if not known or entries["estimator"] != learner.get("estimator"):
        return entries
    own = entries.get("parameters")
    return entries | {"parameters": learner["parameters"] | own} if isinstance(own, dict) else entries


# --- sampling, weights of votes and out-of-bag results


def _write_votes(writer: Writer, model: Any, draws: BootstrapSampler, weights: Floats | None) -> None:
    """Write the sampling, the weights of the votes (none if all are equal) and the out-of-bag attributes."""
    _write_bootstrap(writer, draws)
    writer.put("vote_weights", np.empty(0) if weights is None else weights)
    score = getattr(model, "oob_score_", None)
    if score is not None and not (isinstance(score, float | int | np.number) and math.isfinite(score)):
        raise ModelFileError(f"oob_score_ must be a finite number; got {score!r}")
    writer.entries |= {"oob_score": None if score is None else float(score), "oob": {}}
    for name, (attribute, _) in OUT_OF_BAG.items():
        array = getattr(model, attribute, None)
        if attribute in vars(model):
            writer.entries["oob"][name] = 0 if array is None else array.ndim
        if array is not None:
            writer.put(f"oob.{name}", array)
    sections.write_pair_losses(writer, model)
    if is_classifier(model):
        sections.write_row_fingerprints(writer, model)


def _read_weights(reader: Reader, n_members: int) -> Floats | None:
    """Read weights of sum 1, or None."""
    weights: Floats = reader.array("vote_weights", np.float64)
    if not len(weights):
        return None
    require("vote_weights", len(weights) == n_members, f"{n_members} weights are required, one per member")
    require("vote_weights", (weights >= 0) & (weights <= 1), "weights must be in 0..1")
    require("vote_weights", abs(math.fsum(weights) - 1.0) < 1e-9, "the sum of the weights must be 1")
    return weights


def _read_out_of_bag(reader: Reader, model: Any, n_rows: int, n_members: int, n_outputs: int) -> None:
    """Set the out-of-bag attributes that the file has."""
    attributes: dict[str, Any] = {}
    score = reader.entry("oob_score", float, type(None))
    if score is not None:
        require("oob_score", math.isfinite(score), "it must be finite")
        attributes["oob_score_"] = score
    for name, n_axes in reader.entry("oob", dict).items():
        known = name in OUT_OF_BAG and n_axes in (0, 1, 2)
        require("oob", known, f"{name!r:.50} is not an out-of-bag attribute")
        attribute, dtype = OUT_OF_BAG[name]
        value = None
        if n_axes:
            value = reader.array(f"oob.{name}", dtype, n_axes)
            width = 2 if name == "target_ranks" else n_outputs
            shape = (n_rows,) if value.ndim == 1 else (n_rows, width)
            require(f"oob.{name}", value.shape == shape, f"the shape must be {shape}")
            _check_oob(name, value, n_members)
        attributes[attribute] = value
    classes = getattr(model, "classes_", None)
    for name, attribute in sections.OOB_LOSSES.items():
        if classes is None:
            reader.entry(name, type(None))
        elif (losses := sections.read_pair_losses(reader, name, n_members, len(classes))) is not None:
            attributes[attribute] = losses
    model._set_fitted_attributes(**attributes)  # noqa: SLF001


def _check_oob(name: str, value: NDArray[Any], n_members: int) -> None:
    if name == "votes":
        require("oob.votes", (value >= 0) & (value <= n_members), "they must be numbers of members")
        return
    known = value[~np.isnan(value)]
    require(f"oob.{name}", np.isfinite(known), "numbers must be finite, or NaN where there is none")
    if name in _FRACTIONS:
        require(f"oob.{name}", np.abs(known - 0.5) <= 0.5 + 1e-9, "fractions must be in 0..1")
    if name == "residual_weights":
        require(f"oob.{name}", (value >= 0) & (value.sum() > 0), "weights must not be negative")


def _write_bootstrap(writer: Writer, draws: BootstrapSampler) -> None:
    """Write what is required to draw the rows and columns of the members again."""
    rows = draws.pool
    writer.entries["bootstrap"] = {
        "n_rows": rows.n_rows,
        "size": rows.size,
        "n_draws": draws.n_draws,
        "n_columns": draws.n_columns,
        "n_chosen": draws.n_chosen,
        "seed": draws.seed,
        **{name: bool(getattr(draws, name)) for name in BOOTSTRAP_FLAGS},
    }
    section = writer.section("bootstrap")
    section.put("row_order", rows.order)
    if len(rows.order) < rows.n_rows:
        section.put("zero_weight_rows", np.setdiff1d(np.arange(rows.n_rows, dtype=np.uint32), rows.order))
    section.put("cumulative_weights", rows.ends)


def _read_bootstrap(reader: Reader, n_columns: int) -> BootstrapSampler:
    """Read the sampling; the numbers of rows and draws are limited."""
    section = reader.section("bootstrap", reader.entry("bootstrap", dict))
    flags: dict[str, Any] = {name: section.entry(name, bool) for name in BOOTSTRAP_FLAGS}
    n_rows = sections.read_count(section, "n_rows", 1, sections.MAX_ROWS)
    order = section.array("row_order", np.uint32)
    ends = section.array("cumulative_weights", np.int64)
    n = len(order)
    # The file lists every row: a number of rows alone could make a small file require any amount of memory.
    rest = section.array("zero_weight_rows", np.uint32) if n < n_rows else order[:0]
    name = "bootstrap.row_order"
    require(name, n >= 1, "at least one row is required")
    require(name, n + len(rest) == n_rows, f"{n_rows} rows are required; got {n + len(rest)}")
    rows = np.sort(np.concatenate([order, rest]))
    require(name, rows < n_rows, "a row number is out of range")
    require(name, rows == np.arange(n_rows), "every row must occur once")
    if len(ends):
        name = "bootstrap.cumulative_weights"
        require(name, len(ends) == n and ends[0] > 0, "every row must have a weight")
        require(name, ends[1:] > ends[:-1], "every row must have a weight")
        require(name, ends[-1] < 2**62, "the sum of the weights is too large")
    size = sections.read_count(section, "size", 1, MAX_COPIES_PER_ROW * n)
    # Rows that are not drawn may have any number of copies.
    n_draws = sections.read_count(section, "n_draws", 1, size if flags["replace"] else sections.MAX_ROWS**2)
    seed = sections.read_seed(section)
    require("bootstrap", seed is not None, "a seed is required")
    require("bootstrap", section.entry("n_columns", int) == n_columns, f"n_columns must be {n_columns}")
    n_chosen = sections.read_count(section, "n_chosen", 1, n_columns)
    pool = SamplingPool(n_rows, order, ends, size)
    return BootstrapSampler(pool, n_draws, n_columns=n_columns, n_chosen=n_chosen, seed=seed, **flags)


# --- targets in the leaves


def _write_leaf_targets(writer: Writer, leaves: LeafTargets | None) -> None:
    writer.entries["has_leaf_targets"] = leaves is not None
    if leaves is not None:
        for name, attribute in LEAF_TARGETS.items():
            array = getattr(leaves, attribute)
            # Files have no integers of two bytes.
            writer.put(name, array.astype(np.uint32) if array.dtype == np.uint16 else array)


def _read_leaf_targets(reader: Reader, forest: VoteForest) -> LeafTargets | None:
    """Read targets of every leaf; unsigned integers become as narrow as `fit` makes them."""
    if not reader.entry("has_leaf_targets", bool):
        return None
    section = reader.section("leaf_targets", {})
    starts, counts = section.unsigned("starts"), section.unsigned("counts")
    index = section.array("target_index", np.uint32)
    targets, weights = section.array("targets", np.float64), section.array("weights", np.float64)
    n, name = len(index), "leaf_targets"
    check_starts(f"{name}.starts", starts, len(forest.values), n)
    require(f"{name}.starts", starts[1:] > starts[:-1], "every leaf must have a target")
    require(f"{name}.counts", len(counts) == n, "every target in a leaf must have a count")
    require(f"{name}.counts", (counts >= 1) & (counts < _MAX_DRAWS), "a count must be positive")
    require(f"{name}.counts", float(counts.sum(dtype=np.float64)) < _MAX_DRAWS, "the sum is too large")
    require(f"{name}.target_index", index < len(targets), "the number of a target is out of range")
    require(f"{name}.targets", np.isfinite(targets), "targets must be finite")
    require(f"{name}.targets", targets[1:] >= targets[:-1], "targets must not decrease")
    require(f"{name}.targets", len(targets) < 2**32, "there are too many")
    first = np.zeros(n, bool)
    first[starts[:-1].astype(np.int64)] = True
    require(f"{name}.target_index", (index[1:] > index[:-1]) | first[1:], "it must increase within a leaf")
    if len(weights):
        require(f"{name}.weights", len(weights) == len(targets), "every target must have a weight")
        require(f"{name}.weights", (weights >= 0) & (weights <= 1), "weights must be in 0..1")
        require(f"{name}.weights", weights[index] > 0, "a target in a leaf must have a positive weight")
    narrow = counts.astype(np.min_scalar_type(int(counts.max())))
    wide = np.uint32 if n < 2**32 else np.uint64
    return LeafTargets(starts.astype(wide), index, narrow, targets, weights)
