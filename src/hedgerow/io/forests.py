"""Forests in a file: deep trees that vote, how their rows were drawn, and what is known out of bag.

votes.*             the trees, see `votes`
draws, draws.*      see `draws`; draws.copies, int64, how often each row is there, empty for once
vote_weights        float64, of the trees; empty when all count the same
leaves.*            the targets in the leaves, of regressors with keep_targets
oob.*               out-of-bag answers of the rows, as the attributes of the model
oob_losses.*        what the trees lose on rows they do not know


What the arrays of deep trees that vote must be, and of the targets in their leaves.

A node is one word: left child (or the number of a leaf), column, threshold, kind; see `kernels.cpu.votes`.
The kernels follow it without looking.


Which rows and columns members were given: what is needed to draw them again.

draws           n_rows, n_draws, replace, n_columns, n_chosen, replace_columns, shuffle_columns, size, seed
draws.order     uint32, the rows of positive weight in the order they are drawn from
draws.rest      uint32, the other rows, rising; left out if there are none
draws.ends      int64, running sums of their tickets; empty for one each
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.bagging.forest import FittedForest, TreeSampler
from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.bagging.sampling import MOST_COPIES, BootstrapSampler, SamplingPool
from hedgerow.binning import Bins
from hedgerow.container import ModelFileError
from hedgerow.estimators.forest_base import ForestClassifier
from hedgerow.estimators.validation import ClassTarget
from hedgerow.io.checks import VOTES, check_bins, check_votes
from hedgerow.io.parameters import mark_grids
from hedgerow.io.reader import Reader, Writer, check_starts, require
from hedgerow.io.sections import (
    read_bins,
    read_count,
    read_grid_marks,
    read_losses,
    read_schema,
    read_seed,
    read_seen,
    read_target,
    write_bins,
    write_columns,
    write_losses,
    write_seen,
)
from hedgerow.voting import ForestModel, VoteForest

# Out-of-bag attributes and their dtype; all have an entry a row, NaN where no tree has an answer.
_OOB: dict[str, Any] = {
    "oob_votes_": np.int64,
    "oob_decision_function_": np.float64,
    "oob_prediction_": np.float64,
    "_residuals": np.float64,
    "_residual_weight": np.float64,
    "_ranks": np.float64,
}
_SHARES = ("oob_decision_function_", "_ranks")  # lie in 0..1
_LOSSES = ("oob_losses_", "vote_losses_")


# --- shared with bags


def write_weights(out: Writer, weights: NDArray[np.float64] | None) -> None:
    """Weights of the votes; none when all count the same."""
    out.put("vote_weights", np.empty(0) if weights is None else weights)


def read_weights(part: Reader, n_members: int) -> NDArray[np.float64] | None:
    """Weights of sum 1, or None."""
    weights = part.array("vote_weights", np.float64)
    if not len(weights):
        return None
    require("vote_weights", len(weights) == n_members, f"{n_members} weights are needed, one a member")
    require("vote_weights", (weights >= 0) & (weights <= 1), "weights lie in 0..1")
    require("vote_weights", abs(math.fsum(weights) - 1.0) < 1e-9, "the sum of weights must be 1")
    return weights


def write_out_of_bag(out: Writer, model: Any) -> None:
    """Out-of-bag answers, as far as the model has them."""
    score = getattr(model, "oob_score_", None)
    if score is not None and not (isinstance(score, float | int | np.number) and math.isfinite(score)):
        raise ModelFileError(f"oob_score_ is {score!r}; a model file holds finite numbers")
    out.entries["oob_score"] = None if score is None else float(score)
    out.entries["oob"] = {}
    for name in _OOB:
        array = getattr(model, name, None)
        if name in vars(model):
            out.entries["oob"][name] = 0 if array is None else array.ndim
        if array is not None:
            out.put(f"oob.{name}", array)
    for name in _LOSSES:
        write_losses(out, name, model)


def read_out_of_bag(part: Reader, model: Any, n_rows: int, n_members: int, n_outputs: int) -> None:
    """Set the out-of-bag attributes that the file has."""
    score = part.entry("oob_score", float, type(None))
    if score is not None:
        require("oob_score", math.isfinite(score), "it must be finite")
        model.oob_score_ = score
    held = part.entry("oob", dict)
    for name, n_axes in held.items():
        require("oob", name in _OOB and n_axes in (0, 1, 2), f"{name!r:.50} is no out-of-bag attribute")
        value = None
        if n_axes:
            value = part.array(f"oob.{name}", _OOB[name], n_axes)
            width = 2 if name == "_ranks" else n_outputs
            shape = (n_rows,) if value.ndim == 1 else (n_rows, width)
            require(f"oob.{name}", value.shape == shape, f"the shape {shape} is needed")
            _check_answers(name, value, n_members)
        setattr(model, name, value)
    classes = getattr(model, "classes_", None)
    for name in _LOSSES:
        if classes is None:
            part.entry(name, type(None))
        else:
            read_losses(part, name, model, n_members, len(classes))


def _check_answers(name: str, value: NDArray[Any], n_members: int) -> None:
    if name == "oob_votes_":
        require(f"oob.{name}", (value >= 0) & (value <= n_members), "no row has more answers than members")
        return
    known = value[~np.isnan(value)]
    require(f"oob.{name}", np.isfinite(known), "answers must be finite, or NaN where there is none")
    if name in _SHARES:
        require(f"oob.{name}", np.abs(known - 0.5) <= 0.5 + 1e-9, "shares lie in 0..1")
    if name == "_residual_weight":
        require(f"oob.{name}", (value >= 0) & (value.sum() > 0), "weights are numbers from 0 on")


# --- forests


def write_forest(model: Any, out: Writer) -> None:
    """A random forest or extra trees."""
    classes = isinstance(model, ForestClassifier)
    held: ForestModel = model.model_
    check_bins(held.bins, model.schema_)
    write_columns(out, model.schema_, model.classes_ if classes else None)
    write_bins(out, held.bins)
    write_votes(out, held.forest, held.bins)
    write_weights(out, held.weights)
    sampling: TreeSampler = model._tree_sampler  # noqa: SLF001 - part of the fitted model
    write_draws(out, sampling.draws)
    once = bool(np.all(sampling.copies == 1))
    out.put("draws.copies", sampling.copies[:0] if once else sampling.copies)
    write_out_of_bag(out, model)
    if classes:
        write_seen(out, model)
        out.entries["doubts"] = list(model._doubts)  # noqa: SLF001
    else:
        out.entries["n_outputs"] = model.n_outputs_
        write_leaves(out, model._leaf_targets)  # noqa: SLF001


def read_forest(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema = read_schema(part)
    target = read_target(part, classes=isinstance(estimator, ForestClassifier))
    bins = read_bins(part)
    check_bins(bins, schema)
    n_pure = target.n_classes or 0
    n_outputs = n_pure or read_count(part, "n_outputs", 1, 2**31)
    forest = read_votes(part, bins, n_outputs, n_pure)
    model = ForestModel(bins, forest, read_weights(part, forest.n_trees))
    sampling = _read_sampling(part, schema.n_columns)
    leaves = None if target.n_classes else read_leaves(part, forest)
    estimator._set_forest(FittedForest(model, sampling, leaves), schema, target.classes)  # noqa: SLF001
    n_rows = sampling.draws.pool.n_rows
    read_out_of_bag(part, estimator, n_rows, forest.n_trees, n_outputs)
    if isinstance(target, ClassTarget):
        read_seen(part, estimator, target.n_classes)
        estimator.grid_hashes_ = read_grid_marks(part)
        mark_grids(estimator.grid_hashes_, estimator)
        doubts = part.entry("doubts", list)
        require("doubts", all(type(doubt) is str for doubt in doubts), "they must be sentences")
        estimator._doubts = tuple(doubts)  # noqa: SLF001
    else:
        require("vote_weights", model.weights is None, "the trees of a regressor count the same")
        _check_intervals(estimator)


def _read_sampling(part: Reader, n_columns: int) -> TreeSampler:
    draws = read_draws(part, n_columns)
    n_rows, copies = draws.pool.n_rows, part.array("draws.copies", np.int64)
    require("draws", draws.n_chosen == n_columns, "a tree is given all columns")
    require("draws.copies", len(copies) in (0, n_rows), "there must be one a row")
    require("draws.copies", (copies >= 0) & (copies < 2**31), "they are numbers from 0 on")
    if not len(copies):
        copies = np.ones(n_rows, np.int64)
    return TreeSampler(draws, draws.replace, copies)


def _check_intervals(model: Any) -> None:
    """What intervals are made of is there together."""
    known, leaves = vars(model), model._leaf_targets  # noqa: SLF001 - of our own kind
    require("oob", ("_residuals" in known) == ("_residual_weight" in known), "residuals come with weights")
    if leaves is not None:
        require("leaves.starts", model.n_outputs_ == 1, "targets are kept for one output")
        require("oob", ("_ranks" in known) == ("_residuals" in known), "residuals come with ranks")


# --- trees that vote


def write_votes(out: Writer, forest: VoteForest, bins: Bins) -> None:
    """The trees, checked."""
    check_votes(forest, bins, forest.n_outputs)
    for name in VOTES:
        out.put(name, getattr(forest, name.removeprefix("votes.")))


def read_votes(part: Reader, bins: Bins, n_outputs: int, n_pure: int) -> VoteForest:
    """Checked trees for so many classes or numbers."""
    held = {name.removeprefix("votes."): part.array(name, *kind) for name, kind in VOTES.items()}
    forest = VoteForest(**held, n_pure=n_pure)
    check_votes(forest, bins, n_outputs)
    return forest


# --- targets in the leaves


_LEAF_ARRAYS = {  # name in the file -> attribute
    "starts": "starts",
    "places": "positions",
    "draws": "draws",
    "targets": "targets",
    "weights": "weights",
}


def write_leaves(out: Writer, leaves: LeafTargets | None) -> None:
    """The targets, if the forest keeps them."""
    out.entries["keeps_targets"] = leaves is not None
    if leaves is not None:
        for name, attribute in _LEAF_ARRAYS.items():
            array = getattr(leaves, attribute)
            # files have no integers of two bytes
            out.put(f"leaves.{name}", array.astype(np.uint32) if array.dtype == np.uint16 else array)


def read_leaves(part: Reader, forest: VoteForest) -> LeafTargets | None:
    """Targets for every leaf of the forest; unsigned integers as narrow as a fit would have them."""
    if not part.entry("keeps_targets", bool):
        return None
    starts, draws = part.unsigned("leaves.starts"), part.unsigned("leaves.draws")
    places = part.array("leaves.places", np.uint32)
    targets, weights = (part.array(f"leaves.{name}", np.float64) for name in ("targets", "weights"))
    n = len(places)
    check_starts("leaves.starts", starts, len(forest.values), n)
    require("leaves.starts", starts[1:] > starts[:-1], "every leaf needs a target")
    require("leaves.draws", len(draws) == n, "every target in a leaf needs draws")
    require("leaves.draws", (draws >= 1) & (draws < _MOST_DRAWS), "a target in a leaf was drawn")
    require("leaves.draws", float(draws.sum(dtype=np.float64)) < _MOST_DRAWS, "there are too many")
    require("leaves.places", places < len(targets), "there is no such target")
    require("leaves.targets", np.isfinite(targets), "targets must be finite")
    require("leaves.targets", targets[1:] >= targets[:-1], "targets must rise")
    require("leaves.targets", len(targets) < 2**32, "there are too many")
    first = np.zeros(n, bool)
    first[starts[:-1].astype(np.int64)] = True
    rising = places[1:] > places[:-1]
    require("leaves.places", rising | first[1:], "places must rise within a leaf")
    if len(weights):
        require("leaves.weights", len(weights) == len(targets), "every target needs a weight")
        require("leaves.weights", (weights >= 0) & (weights <= 1), "weights lie in 0..1")
        require("leaves.weights", weights[places] > 0, "a target in a leaf has a weight")
    narrow = draws.astype(np.min_scalar_type(int(draws.max())))
    wide = np.uint32 if n < 2**32 else np.uint64
    return LeafTargets(starts.astype(wide), places, narrow, targets, weights)


_MOST_DRAWS = 2**52  # whole numbers that float64 adds exactly
_MOST_ROWS = 2**32
_FLAGS = ("replace", "replace_columns", "shuffle_columns")


def write_draws(out: Writer, draws: BootstrapSampler) -> None:
    """How members are given rows and columns."""
    pool = draws.pool
    out.entries["draws"] = {
        "n_rows": pool.n_rows,
        "size": pool.size,
        "n_draws": draws.n_draws,
        "n_columns": draws.n_columns,
        "n_chosen": draws.n_chosen,
        "seed": draws.seed,
        **{name: bool(getattr(draws, name)) for name in _FLAGS},
    }
    out.put("draws.order", pool.order)
    if len(pool.order) < pool.n_rows:
        out.put("draws.rest", np.setdiff1d(np.arange(pool.n_rows, dtype=np.uint32), pool.order))
    out.put("draws.ends", pool.ends)


def read_draws(part: Reader, n_columns: int) -> BootstrapSampler:
    """BootstrapSampler from rows that are there, and not so many that they would never end."""
    told = part.part("draws", part.entry("draws", dict))
    flags: dict[str, Any] = {name: told.entry(name, bool) for name in _FLAGS}
    n_rows = read_count(told, "n_rows", 1, _MOST_ROWS)
    order, ends = told.array("order", np.uint32), told.array("ends", np.int64)
    n = len(order)
    # Every row is there: a number of rows alone could make a small file ask for any amount of memory.
    rest = told.array("rest", np.uint32) if n < n_rows else order[:0]
    require("draws.order", n >= 1, "there must be a row")
    require("draws.order", n + len(rest) == n_rows, f"{n_rows} rows are needed, found {n + len(rest)}")
    places = np.sort(np.concatenate([order, rest]))
    require("draws.order", places < n_rows, "there is no such row")
    require("draws.order", places == np.arange(n_rows), "a row has one place")
    if len(ends):
        require("draws.ends", len(ends) == n and ends[0] > 0, "every row needs tickets")
        require("draws.ends", ends[1:] > ends[:-1], "every row needs tickets")
        require("draws.ends", ends[-1] < 2**62, "there are too many tickets")
    size = read_count(told, "size", 1, MOST_COPIES * n)
    most = (
        size if flags["replace"] else _MOST_ROWS**2
    )  # rows that are not drawn may have any number of copies
    n_draws = read_count(told, "n_draws", 1, most)
    seed = read_seed(told)
    require("draws", seed is not None, "a seed is needed")
    require("draws", told.entry("n_columns", int) == n_columns, f"there are {n_columns} columns")
    n_chosen = read_count(told, "n_chosen", 1, n_columns)
    pool = SamplingPool(n_rows, order, ends, size)
    return BootstrapSampler(pool, n_draws, n_columns=n_columns, n_chosen=n_chosen, seed=seed, **flags)
