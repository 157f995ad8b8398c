"""The AdaBoost family in a file: trees that add up or are asked for a median, and the record of their rounds.

record          weights, errors, normalizers of the rounds; for classifiers also bounds and reaches
rule            the update rule the model was fitted with, by the name of its class
learners        of all fits that made the model: a class and its parameters
most_rounds     that were ever asked for
rows.weights    the last weights of the training rows
rows.margins    their margins
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np

from hedgerow.boosting.adaboost import RULES
from hedgerow.boosting.adaptive import Record
from hedgerow.boosting.anyboost import AnyRule
from hedgerow.boosting.costs import COSTS, make_cost
from hedgerow.boosting.logitboost import LogitRule
from hedgerow.boosting.median import MedianTrees
from hedgerow.boosting.model import TreeModel
from hedgerow.boosting.r2 import LOSSES, R2Record
from hedgerow.container import ModelFileError
from hedgerow.dtypes import MAX_WIDE_BINS
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionTreeRegressor
from hedgerow.estimators.inputs import Numbers
from hedgerow.estimators.trees import WeakTreeEstimator
from hedgerow.files.parts import Reader, Writer, require
from hedgerow.files.pieces import (
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
from hedgerow.files.specs import mark_grids, read_spec, write_spec
from hedgerow.forest import Forest

_ALL: list[type[Any]] = [*RULES.values(), LogitRule, AnyRule]
_RULES = {rule.__name__: rule for rule in _ALL}
_FREE = ("errors", "normalizers", "bounds")  # may be NaN or infinite
_MOST_ROUNDS = 2**31
_SPLITS = ("left", "column", "threshold", "missing_left", "set_number")


def _refuse_members(model: Any) -> None:
    raise ModelFileError(
        f"estimator={model.estimator!r}: only models of Hedgerow's own trees can be saved; pickle and joblib "
        "hold the others"
    )


def _write_record(out: Writer, record: Record | R2Record) -> None:
    out.entries["record"] = {
        field.name: write_numbers(getattr(record, field.name)) for field in fields(record)
    }


def _read_record(part: Reader, kind: type[Any]) -> Any:
    """The record, with as many entries in all its lists; those that scores are made of are finite."""
    told = part.part("record", part.entry("record", dict))
    n_rounds = len(told.entry("weights", list))
    names = [field.name for field in fields(kind)]
    return kind(*(read_numbers(told, name, n_rounds, finite=name not in _FREE) for name in names))


# --- classifiers


def write_adaptive(model: Any, out: Writer) -> None:
    """AdaBoost, LogitBoost or AnyBoost."""
    if not isinstance(model.model_, TreeModel):
        _refuse_members(model)
    write_columns(out, model.schema_, model.classes_)
    write_rounds(out, model)
    _write_record(out, model._record)  # noqa: SLF001 - part of the fitted model
    out.entries |= {
        "rule": model._fitted_rule.__name__,  # noqa: SLF001
        "learners": [write_spec(learner) for learner in model._learners],  # noqa: SLF001
        "most_rounds": model.most_rounds_,
        "stop_reason": model.stop_reason_,
    }
    if isinstance(model, AnyBoostClassifier):
        out.entries["cost"] = _name_of_cost(model)
    out.put("rows.weights", model.sample_weights_)
    out.put("rows.margins", model.training_margins_)
    write_trees(out, model.model_, model.schema_, len(model.model_.start), most_bins=MAX_WIDE_BINS)
    write_seen(out, model)


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
    n_outputs = 1 if target.n_classes == 2 else target.n_classes
    record: Record = _read_record(part, Record)
    n_rounds, rule = len(record.weights), _RULES.get(part.entry("rule", str))
    if rule not in _rules_of(estimator):
        raise ModelFileError(f"rule {part.entries['rule']!r:.50} is none of {type(estimator).__name__}")
    model = read_trees(part, schema, np.zeros(n_outputs), n_outputs, most_bins=MAX_WIDE_BINS)
    require("forest.starts", model.n_rounds == n_rounds, f"trees of {n_rounds} rounds are needed")
    require("record", np.array(record.reaches) >= 0, "reaches must not be negative")
    if rule.says == "classes":
        _check_copies(model.forest, n_outputs)
    else:
        require("record", np.array(record.weights) != 0, "a weight of a member that says numbers is not 0")
    learners = _read_learners(part)
    seed, best = read_seed(part), read_best(part, n_rounds)
    estimator._keep_common(model, schema, target, seed, read_history(part), best, 0)  # noqa: SLF001
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
    estimator.grid_marks_ = read_grid_marks(part)
    mark_grids(estimator.grid_marks_, estimator, *learners)


def _rules_of(estimator: Any) -> list[type[Any]]:
    """The rules that such an estimator may have been fitted with."""
    if isinstance(estimator, AdaBoostClassifier):
        return list(RULES.values())
    return [AnyRule if isinstance(estimator, AnyBoostClassifier) else LogitRule]


def _read_learners(part: Reader) -> tuple[Any, ...]:
    learners = tuple(read_spec(told, "learners") for told in part.entry("learners", list))
    right = bool(learners) and all(isinstance(one, WeakTreeEstimator) for one in learners)
    require("learners", right, "there must be one at least, and all must be trees")
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
    if not isinstance(model.model_, MedianTrees):
        _refuse_members(model)
    write_columns(out, model.schema_, None)
    write_rounds(out, model)
    _write_record(out, model._record)  # noqa: SLF001 - part of the fitted model
    out.entries |= {"fitted_loss": model._fitted_loss, "stop_reason": model.stop_reason_}  # noqa: SLF001
    out.put("rows.weights", model.sample_weights_)
    write_trees(out, model.model_.trees, model.schema_, 1, most_bins=MAX_WIDE_BINS)


def read_r2(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    if estimator._has_members() or not isinstance(estimator._learner(), DecisionTreeRegressor):  # noqa: SLF001
        raise ModelFileError("the estimator of an AdaBoostRegressor in a file is a DecisionTreeRegressor")
    schema = read_schema(part)
    read_target(part, classes=False)
    record: R2Record = _read_record(part, R2Record)
    n_rounds, loss = len(record.weights), part.entry("fitted_loss", str)
    if loss not in LOSSES:
        raise ModelFileError(f"fitted_loss {loss!r:.50} is unknown; known are {', '.join(LOSSES)}")
    trees = read_trees(part, schema, np.zeros(1), 1, most_bins=MAX_WIDE_BINS)
    require("forest.starts", trees.n_rounds == n_rounds, f"trees of {n_rounds} rounds are needed")
    require("record", n_rounds > 0 and min(record.weights) > 0, "weights must be positive")
    require("record", max(record.weights) < math.ldexp(1.0, 1000) / n_rounds, "weights must be smaller")
    seed, best = read_seed(part), read_best(part, n_rounds)
    model = MedianTrees(record.weights, trees)
    estimator._keep_common(model, schema, Numbers(), seed, read_history(part), best, 0)  # noqa: SLF001
    estimator._keep_rounds(record, loss)  # noqa: SLF001 - sets what fit would
    estimator.sample_weights_ = _read_row_weights(part)
    estimator.stop_reason_ = part.entry("stop_reason", str)
