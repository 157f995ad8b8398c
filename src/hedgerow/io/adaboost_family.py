"""The AdaBoost family in a file: trees or members that add up or are asked for a median, and their record.

record          weights, errors, normalizers of the rounds; for classifiers also bounds and reaches
rule            the update rule the model was fitted with, by the name of its class
learners        of all fits that made the model: a class and its parameters
most_rounds     that were ever asked for
members         lists of members, one list a round, see `members`; only where there are no trees
floor           of probabilities, for classifiers with members
rows.weights    the last weights of the training rows
rows.margins    their margins
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.adaboost import RULES
from hedgerow.boosting.adaboost_family import RoundStatistics, rounds_before
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianTrees, VoteModel
from hedgerow.boosting.anyboost import AnyRule
from hedgerow.boosting.costs import COSTS, make_cost
from hedgerow.boosting.logitboost import LogitRule
from hedgerow.boosting.r2 import LOSSES
from hedgerow.container import ModelFileError
from hedgerow.dtypes import MAX_WIDE_BINS
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionTreeRegressor
from hedgerow.estimators.decision_trees import WeakTreeEstimator
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.members import Expected, read_members, write_members
from hedgerow.io.parameters import mark_grids, read_spec, write_spec
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import (
    read_best,
    read_count,
    read_grid_marks,
    read_history,
    read_labels,
    read_numbers,
    read_schema,
    read_seed,
    read_seen,
    read_target,
    read_trees,
    write_columns,
    write_numbers,
    write_rounds,
    write_seen,
    write_trees,
)
from hedgerow.table import Schema

_ALL: list[type[Any]] = [*RULES.values(), LogitRule, AnyRule]
_RULES = {rule.__name__: rule for rule in _ALL}
_FREE = ("errors", "normalizers", "bounds")  # may be NaN or infinite
_MOST_ROUNDS = 2**31
_SPLITS = ("left", "column", "threshold", "missing_left", "set_number")


# Lists of the file and the fields of `RoundStatistics`.
_R2_STATISTICS = {"weights": "weights", "errors": "errors", "normalizers": "normalizers"}
_STATISTICS = _R2_STATISTICS | {"bounds": "bounds", "reaches": "max_steps", "restarts": "restarts"}


def _write_record(out: Writer, statistics: RoundStatistics, names: dict[str, str]) -> None:
    out.entries["record"] = {name: write_numbers(getattr(statistics, field)) for name, field in names.items()}


def _read_record(part: Reader, names: dict[str, str]) -> RoundStatistics:
    """Read lists of equal lengths; those that scores are computed from must be finite."""
    lists = part.part("record", part.entry("record", dict))
    n_rounds = len(lists.entry("weights", list))
    statistics = RoundStatistics()
    for name, field in names.items():
        if name == "restarts" and part.format < 3:
            statistics.restarts = [-1.0] * n_rounds
        else:
            setattr(statistics, field, read_numbers(lists, name, n_rounds, finite=name not in _FREE))
    return statistics


# --- classifiers


def write_adaptive(model: Any, out: Writer) -> None:
    """AdaBoost, LogitBoost or AnyBoost."""
    write_columns(out, model.schema_, model.classes_)
    write_rounds(out, model)
    _write_record(out, model._statistics, _STATISTICS)  # noqa: SLF001 - part of the fitted model
    out.entries |= {
        "rule": model._fitted_rule.__name__,  # noqa: SLF001
        "learners": [write_spec(learner, out) for learner in model._learners],  # noqa: SLF001
        "most_rounds": model.most_rounds_,
        "stop_reason": model.stop_reason_,
    }
    if isinstance(model, AnyBoostClassifier):
        out.entries["cost"] = _name_of_cost(model)
    out.put("rows.weights", model.sample_weights_)
    out.put("rows.margins", model.training_margins_)
    held = model.model_
    if isinstance(held, VoteModel):
        write_members(out, held.members, _expected(held.prediction_type, model.schema_, model.classes_))
        out.entries["floor"] = held.floor
    else:
        write_trees(out, held, model.schema_, len(held.start), most_bins=MAX_WIDE_BINS)
    write_seen(out, model)


def _expected(says: str, schema: Schema, classes: NDArray[Any]) -> Expected:
    """What a member must be, by what it says."""
    asked = "predict_proba" if says == "probabilities" else "predict"
    return Expected(None if says == "numbers" else classes, schema.n_columns, schema.names, asked)


def _name_of_cost(model: AnyBoostClassifier) -> str:
    names = {kind: name for name, kind in COSTS.items()}
    cost, named = model._fitted_cost, model._fitted_cost_is_ours  # noqa: SLF001
    if not named:
        raise ModelFileError(
            f"the model was fitted with {cost!r}; a model file holds costs by name only; pickle and joblib "
            "hold the others"
        )
    return names[type(cost)]


def read_adaptive(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema, target = read_schema(part), read_labels(part)
    record: RoundStatistics = _read_record(part, _STATISTICS)
    n_rounds, rule = len(record.weights), _RULES.get(part.entry("rule", str))
    if rule not in _rules_of(estimator):
        raise ModelFileError(f"rule {part.entries['rule']!r:.50} is none of {type(estimator).__name__}")
    model = _read_rounds(part, schema, record, rule.prediction_type, target.classes)
    require("record", np.array(record.max_steps) >= 0, "reaches must not be negative")
    for number, draw in enumerate(record.restarts):
        fine = draw == -1 or (draw >= 0 and draw == int(draw) and rounds_before(draw) <= number)
        require("record", fine, "restarts must be -1, or numbers of draws before the round")
    record.restarts[:] = [int(draw) for draw in record.restarts]  # as a fit has them
    if isinstance(model, TreeModel) and rule.prediction_type == "classes":
        _check_copies(model.forest, len(model.start))
    elif rule.prediction_type != "classes":
        require("record", np.array(record.weights) != 0, "a weight of a member that says numbers is not 0")
    learners = _read_learners(part, trees=isinstance(model, TreeModel))
    seed, best = read_seed(part), read_best(part, n_rounds)
    estimator._set_rounds(model, schema, target.classes, seed, read_history(part), best)  # noqa: SLF001
    estimator._keep_rounds(record, rule, learners)  # noqa: SLF001 - sets what fit would
    if isinstance(estimator, AnyBoostClassifier):
        _read_cost(part, estimator, target.n_classes)
    estimator.most_rounds_ = read_count(part, "most_rounds", 1, _MOST_ROUNDS)
    estimator.stop_reason_ = part.entry("stop_reason", str)
    estimator.sample_weights_ = _read_row_weights(part)
    margins = estimator.training_margins_ = part.array("rows.margins", np.float64)
    require("rows.margins", np.abs(margins) <= 1.0, "margins lie in -1..1")
    require("rows.margins", len(margins) == len(estimator.sample_weights_), "there must be one a row")
    read_seen(part, estimator, target.n_classes)
    estimator.grid_hashes_ = read_grid_marks(part)
    mark_grids(estimator.grid_hashes_, estimator, *learners)


def _read_rounds(
    part: Reader, schema: Schema, record: RoundStatistics, says: str, classes: NDArray[Any]
) -> TreeModel | VoteModel:
    """The trees or members of as many rounds as the record has."""
    n_rounds, n_outputs = len(record.weights), 1 if len(classes) == 2 else len(classes)
    if part.format < 3 or "members" not in part.entries:
        trees = read_trees(part, schema, np.zeros(n_outputs), n_outputs, most_bins=MAX_WIDE_BINS)
        require("forest.starts", trees.n_rounds == n_rounds, f"trees of {n_rounds} rounds are needed")
        return trees
    floor = part.entry("floor", float)
    require("floor", 0 < floor <= 0.5, "it is a small probability")
    n_each = n_outputs if says == "numbers" else 1
    members = read_members(part, n_each, _expected(says, schema, classes))
    require("members", len(members) == n_rounds, f"members of {n_rounds} rounds are needed")
    return VoteModel(members, list(record.weights), says, classes, n_outputs, floor)


def _rules_of(estimator: Any) -> list[type[Any]]:
    """The rules that such an estimator may have been fitted with."""
    if isinstance(estimator, AdaBoostClassifier):
        return list(RULES.values())
    return [AnyRule if isinstance(estimator, AnyBoostClassifier) else LogitRule]


def _read_learners(part: Reader, *, trees: bool) -> tuple[Any, ...]:
    learners = tuple(read_spec(part, told, "learners") for told in part.entry("learners", list))
    right = bool(learners) and all(isinstance(one, WeakTreeEstimator) == trees for one in learners)
    require(
        "learners", right, f"there must be one at least, and all must be {'trees' if trees else 'others'}"
    )
    return learners


def _check_copies(forest: Forest, n_outputs: int) -> None:
    """A vote for one of several classes is a tree for each, all with the same splits."""
    if n_outputs == 1:
        return
    sizes = np.diff(forest.starts).reshape(-1, n_outputs)
    require("forest.starts", sizes == sizes[:, :1], "the trees of a round must be alike")
    places = [np.repeat(forest.starts[k:-1:n_outputs], sizes[:, 0]) for k in range(n_outputs)]
    within = np.arange(int(sizes[:, 0].sum())) - np.repeat(np.cumsum(sizes[:, 0]) - sizes[:, 0], sizes[:, 0])
    for name in _SPLITS:
        array = getattr(forest, name)
        if name == "set_number":
            array = array >= 0
        first = array[places[0] + within]
        for place in places[1:]:
            require(f"forest.{name}", array[place + within] == first, "the trees of a round must be alike")


def _read_cost(part: Reader, estimator: AnyBoostClassifier, n_classes: int) -> None:
    require("classes", n_classes == 2, "there must be two")
    name = part.entry("cost", str)
    if name not in COSTS:
        raise ModelFileError(f"cost {name!r:.50} is unknown; known are {', '.join(COSTS)}")
    estimator._fitted_cost, estimator._fitted_cost_is_ours = make_cost(name), True  # noqa: SLF001


def _read_row_weights(part: Reader) -> Any:
    weights = part.array("rows.weights", np.float64)
    require("rows.weights", (weights >= 0) & np.isfinite(weights), "weights are numbers from 0 on")
    return weights


# --- the regressor


def write_r2(model: Any, out: Writer) -> None:
    """AdaBoost.R2."""
    held = model.model_
    if isinstance(held, MedianTrees):
        _check_tree_learner(model)
    write_columns(out, model.schema_, None)
    write_rounds(out, model, printed=("train_loss",))
    _write_record(out, model._statistics, _R2_STATISTICS)  # noqa: SLF001 - part of the fitted model
    out.entries |= {"fitted_loss": model._fitted_loss, "stop_reason": model.stop_reason_}  # noqa: SLF001
    out.put("rows.weights", model.sample_weights_)
    if isinstance(held, MedianMembers):
        rounds = [[member] for member in held.members]
        write_members(out, rounds, Expected(None, model.schema_.n_columns, model.schema_.names))
    else:
        write_trees(out, held.trees, model.schema_, 1, most_bins=MAX_WIDE_BINS)


def read_r2(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema = read_schema(part)
    read_target(part, classes=False)
    record: RoundStatistics = _read_record(part, _R2_STATISTICS)
    n_rounds, loss = len(record.weights), part.entry("fitted_loss", str)
    if loss not in LOSSES:
        raise ModelFileError(f"fitted_loss {loss!r:.50} is unknown; known are {', '.join(LOSSES)}")
    require("record", n_rounds > 0 and min(record.weights) > 0, "weights must be positive")
    require("record", max(record.weights) < math.ldexp(1.0, 1000) / n_rounds, "weights must be smaller")
    seed, best = read_seed(part), read_best(part, n_rounds)
    model = _read_median(part, estimator, schema, record)
    estimator._set_rounds(model, schema, None, seed, read_history(part), best)  # noqa: SLF001
    estimator._keep_rounds(record, loss)  # noqa: SLF001 - sets what fit would
    estimator.sample_weights_ = _read_row_weights(part)
    estimator.stop_reason_ = part.entry("stop_reason", str)


def _read_median(part: Reader, estimator: Any, schema: Schema, record: RoundStatistics) -> MedianModel:
    n_rounds = len(record.weights)
    if part.format > 2 and "members" in part.entries:
        members = read_members(part, 1, Expected(None, schema.n_columns, schema.names))
        require("members", len(members) == n_rounds, f"members of {n_rounds} rounds are needed")
        return MedianMembers(record.weights, [member for (member,) in members])
    _check_tree_learner(estimator)
    trees = read_trees(part, schema, np.zeros(1), 1, most_bins=MAX_WIDE_BINS)
    require("forest.starts", trees.n_rounds == n_rounds, f"trees of {n_rounds} rounds are needed")
    return MedianTrees(record.weights, trees)


def _check_tree_learner(model: Any) -> None:
    """Refuse another learner than the one that the trees are shown as."""
    if not isinstance(model._learner(), DecisionTreeRegressor):  # noqa: SLF001 - of our own kind
        raise ModelFileError("the estimator of an AdaBoostRegressor of trees must be a DecisionTreeRegressor")
