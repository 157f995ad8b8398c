"""The AdaBoost family in a file: trees or members whose votes are added or whose median is taken.

round_statistics    weights, errors, normalizers of the rounds; for classifiers also bounds, max_steps,
                    restarts
rule                the update rule of the fit, see `layout.RULES`
learners            the base learners of all fits that made the model: a class and its parameters
max_rounds          the largest n_estimators of these fits
members             lists of members, one list per round, see `members`; only without trees
probability_floor   the smallest probability used, for classifiers with members
sample_weights      the last weights of the training rows
training_margins    the margins of the training rows
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import RULES as ADABOOST_RULES
from hedgerow.boosting.adaboost_family import RoundStatistics, rounds_before
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianTrees, VoteModel
from hedgerow.boosting.anyboost import AnyRule
from hedgerow.boosting.costs import COSTS, make_cost
from hedgerow.boosting.logitboost import LogitRule
from hedgerow.boosting.r2 import LOSSES
from hedgerow.container import JSON, ModelFileError
from hedgerow.dtypes import MAX_WIDE_BINS
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionTreeRegressor
from hedgerow.estimators.decision_trees import WeakTreeEstimator
from hedgerow.forest import TreeModel
from hedgerow.io.checks import check_copies
from hedgerow.io.layout import ADABOOST_ROUNDS, R2_ROUNDS, RULES
from hedgerow.io.members import MemberSpec, read_members, write_members
from hedgerow.io.parameters import read_spec, restore_grids, write_spec
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import (
    read_best,
    read_count,
    read_grid_fingerprints,
    read_history,
    read_labels,
    read_numbers,
    read_row_fingerprints,
    read_schema,
    read_seed,
    read_target,
    read_trees,
    write_columns,
    write_numbers,
    write_rounds,
    write_row_fingerprints,
    write_trees,
)
from hedgerow.table import Schema

_MAYBE_INFINITE = ("errors", "normalizers", "bounds")  # or NaN
_MAX_ROUNDS = 2**31


def _write_statistics(writer: Writer, record: Any, table: Mapping[str, str]) -> None:
    writer.entries["round_statistics"] = {
        name: write_numbers(getattr(record, attribute)) for name, attribute in table.items()
    }


def _read_statistics(reader: Reader, table: Mapping[str, str]) -> dict[str, list[float]]:
    """Read lists of equal length; those that scores are computed from are finite."""
    section = reader.section("round_statistics", reader.entry("round_statistics", dict))
    n_rounds = len(section.entry("weights", list))
    return {
        attribute: read_numbers(section, name, n_rounds, finite=name not in _MAYBE_INFINITE)
        for name, attribute in table.items()
    }


# --- classifiers


def write_adaboost_family(model: Any, writer: Writer) -> None:
    """Write AdaBoost, LogitBoost or AnyBoost."""
    write_columns(writer, model.schema_, model.classes_)
    write_rounds(writer, model)
    _write_statistics(writer, model._statistics, ADABOOST_ROUNDS)  # noqa: SLF001 - a fitted attribute
    rule = model._fitted_rule  # noqa: SLF001
    writer.entries |= {
        "rule": next(name for name, known in RULES.items() if known is rule),
        "learners": [write_spec(learner, writer) for learner in model._learners],  # noqa: SLF001
        "max_rounds": model.most_rounds_,
        "stop_reason": model.stop_reason_,
    }
    if isinstance(model, AnyBoostClassifier):
        writer.entries["cost"] = _name_of_cost(model)
    writer.put("sample_weights", model.sample_weights_)
    writer.put("training_margins", model.training_margins_)
    fitted = model.model_
    if isinstance(fitted, VoteModel):
        write_members(
            writer, fitted.members, _member_spec(fitted.prediction_type, model.schema_, model.classes_)
        )
        writer.entries["probability_floor"] = fitted.floor
    else:
        write_trees(writer, fitted, model.schema_, len(fitted.start), max_bins=MAX_WIDE_BINS)
    write_row_fingerprints(writer, model)


def _member_spec(output: str, schema: Schema, classes: NDArray[Any]) -> MemberSpec:
    """Describe the members of a rule by what they return."""
    method = "predict_proba" if output == "probabilities" else "predict"
    return MemberSpec.of(schema, None if output == "numbers" else classes, method)


def _name_of_cost(model: AnyBoostClassifier) -> str:
    names = {kind: name for name, kind in COSTS.items()}
    cost, named = model._fitted_cost, model._fitted_cost_is_named  # noqa: SLF001
    if not named:
        raise ModelFileError(
            f"the model was fitted with {cost!r}; a model file can hold a cost by its name only; use pickle "
            "or joblib"
        )
    return names[type(cost)]


def read_adaboost_family(reader: Reader, estimator: Any) -> None:
    """Set the fitted attributes."""
    schema, target = read_schema(reader), read_labels(reader)
    record = RoundStatistics(**_read_statistics(reader, ADABOOST_ROUNDS))
    n_rounds, rule = len(record.weights), RULES.get(reader.entry("rule", str))
    if rule is None or rule not in _rules_of(estimator):
        name = type(estimator).__name__
        raise ModelFileError(f"rule {reader.entries['rule']!r:.50} is not one of {name}")
    model = _read_rounds(reader, schema, record, rule.prediction_type, target.classes)
    _check_statistics(record)
    if isinstance(model, TreeModel) and rule.prediction_type == "classes":
        check_copies(model.forest, len(model.start))
    elif rule.prediction_type != "classes":
        require("round_statistics", np.array(record.weights) != 0, "weights must not be 0 with this rule")
    learners = _read_learners(reader, trees=isinstance(model, TreeModel))
    seed, best = read_seed(reader), read_best(reader, n_rounds)
    estimator._set_rounds(model, schema, target.classes, seed, read_history(reader), best)  # noqa: SLF001
    estimator._set_statistics(record, learners)  # noqa: SLF001 - as fit sets them
    estimator._set_rule(rule)  # noqa: SLF001
    if isinstance(estimator, AnyBoostClassifier):
        require("classes", target.n_classes == 2, "there must be two")
        cost = JSON.choice(reader.entries.get("cost"), tuple(COSTS), "cost")
        estimator._set_cost(make_cost(cost), is_named=True)  # noqa: SLF001
    estimator.most_rounds_ = read_count(reader, "max_rounds", 1, _MAX_ROUNDS)
    estimator.stop_reason_ = reader.entry("stop_reason", str)
    estimator.sample_weights_ = _read_sample_weights(reader)
    margins = estimator.training_margins_ = reader.array("training_margins", np.float64)
    require("training_margins", np.abs(margins) <= 1.0, "margins must be in -1..1")
    same_length = len(margins) == len(estimator.sample_weights_)
    require("training_margins", same_length, "there must be one per training row")
    read_row_fingerprints(reader, estimator, target.n_classes)
    estimator.grid_hashes_ = read_grid_fingerprints(reader)
    restore_grids(estimator.grid_hashes_, estimator, *learners)


def _check_statistics(record: RoundStatistics) -> None:
    require("round_statistics", np.array(record.max_steps) >= 0, "max_steps must not be negative")
    for number, draw in enumerate(record.restarts):
        valid = draw == -1 or (draw >= 0 and draw == int(draw) and rounds_before(draw) <= number)
        require("round_statistics", valid, "restarts must be -1, or numbers of draws before the round")
    record.restarts[:] = [int(draw) for draw in record.restarts]  # as fit has them


def _read_rounds(
    reader: Reader, schema: Schema, record: RoundStatistics, output: str, classes: NDArray[Any]
) -> TreeModel | VoteModel:
    """Read the trees or members of all rounds."""
    n_rounds, n_outputs = len(record.weights), 1 if len(classes) == 2 else len(classes)
    if "members" not in reader.entries:
        return _read_round_trees(reader, schema, n_rounds, n_outputs)
    floor = reader.entry("probability_floor", float)
    require("probability_floor", 0 < floor <= 0.5, "it must be in (0, 0.5]")
    n_each = n_outputs if output == "numbers" else 1
    members = read_members(reader, n_each, _member_spec(output, schema, classes))
    require("members", len(members) == n_rounds, f"members of {n_rounds} rounds are required")
    return VoteModel(members, list(record.weights), output, classes, n_outputs, floor)


def _read_round_trees(reader: Reader, schema: Schema, n_rounds: int, n_outputs: int) -> TreeModel:
    trees = read_trees(reader, schema, np.zeros(n_outputs), n_outputs, max_bins=MAX_WIDE_BINS)
    require("forest.starts", trees.n_rounds == n_rounds, f"trees of {n_rounds} rounds are required")
    return trees


def _rules_of(estimator: Any) -> list[type[Any]]:
    """Return the rules that such an estimator may have been fitted with."""
    if isinstance(estimator, AdaBoostClassifier):
        return list(ADABOOST_RULES.values())
    return [AnyRule if isinstance(estimator, AnyBoostClassifier) else LogitRule]


def _read_learners(reader: Reader, *, trees: bool) -> tuple[Any, ...]:
    learners = tuple(read_spec(reader, data, "learners") for data in reader.entry("learners", list))
    valid = bool(learners) and all(isinstance(one, WeakTreeEstimator) == trees for one in learners)
    kind = "decision trees" if trees else "other estimators than decision trees"
    require("learners", valid, f"there must be at least one, and all must be {kind}")
    return learners


def _read_sample_weights(reader: Reader) -> Floats:
    weights: Floats = reader.array("sample_weights", np.float64)
    require(
        "sample_weights", (weights >= 0) & np.isfinite(weights), "weights must be finite and not negative"
    )
    return weights


# --- the regressor


def write_r2(model: Any, writer: Writer) -> None:
    """Write AdaBoost.R2."""
    fitted = model.model_
    if isinstance(fitted, MedianTrees):
        _check_tree_learner(model)
    write_columns(writer, model.schema_, None)
    write_rounds(writer, model, verbose_only=("train_loss",))
    _write_statistics(writer, model._statistics, R2_ROUNDS)  # noqa: SLF001 - a fitted attribute
    writer.entries |= {"fitted_loss": model._fitted_loss, "stop_reason": model.stop_reason_}  # noqa: SLF001
    writer.put("sample_weights", model.sample_weights_)
    if isinstance(fitted, MedianMembers):
        write_members(writer, [[member] for member in fitted.members], MemberSpec.of(model.schema_))
    else:
        write_trees(writer, fitted.trees, model.schema_, 1, max_bins=MAX_WIDE_BINS)


def read_r2(reader: Reader, estimator: Any) -> None:
    """Set the fitted attributes."""
    schema = read_schema(reader)
    read_target(reader, classes=False)
    record = RoundStatistics(**_read_statistics(reader, R2_ROUNDS))
    n_rounds = len(record.weights)
    loss = JSON.choice(reader.entries.get("fitted_loss"), tuple(LOSSES), "fitted_loss")
    weights = np.array(record.weights)
    require("round_statistics", n_rounds > 0 and weights.min() > 0, "weights must be positive")
    require("round_statistics", weights < math.ldexp(1.0, 1000) / n_rounds, "weights are too large")
    seed, best = read_seed(reader), read_best(reader, n_rounds)
    model = _read_median(reader, estimator, schema, record)
    estimator._set_rounds(model, schema, None, seed, read_history(reader), best)  # noqa: SLF001
    learner = clone(estimator._weak_learner())  # noqa: SLF001
    estimator._set_statistics(record, (learner,))  # noqa: SLF001 - as fit sets them
    estimator._fitted_loss = loss  # noqa: SLF001
    estimator.sample_weights_ = _read_sample_weights(reader)
    estimator.stop_reason_ = reader.entry("stop_reason", str)


def _read_median(reader: Reader, estimator: Any, schema: Schema, record: RoundStatistics) -> MedianModel:
    n_rounds = len(record.weights)
    if "members" in reader.entries:
        members = read_members(reader, 1, MemberSpec.of(schema))
        require("members", len(members) == n_rounds, f"members of {n_rounds} rounds are required")
        return MedianMembers(record.weights, [member for (member,) in members])
    _check_tree_learner(estimator)
    return MedianTrees(record.weights, _read_round_trees(reader, schema, n_rounds, 1))


def _check_tree_learner(model: Any) -> None:
    """Refuse another learner than the class of the trees in `estimators_`."""
    if not isinstance(model._weak_learner(), DecisionTreeRegressor):  # noqa: SLF001 - a class of Hedgerow
        raise ModelFileError("the estimator of an AdaBoostRegressor of trees must be a DecisionTreeRegressor")
