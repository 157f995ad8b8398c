"""Boosting in a file: gradient boosting and the AdaBoost family.

Rounds have trees (see `trees`) or members (see `members`). Entries and arrays beside those of `sections`:

    initial_scores      of gradient boosting, before the first round, one per output
    fold_scores         the same for the model of every fold, if the model is the mean of several
    loss                {"name": "huber", "parameters": {"alpha": 0.9, "delta": 1.3}}
    steps               the step length of each round with members

    round_statistics    of the AdaBoost family: weights, errors, normalizers of the rounds; for classifiers
                        also bounds, max_steps, restarts
    rule                the update rule of the fit, see RULES
    learners            the base learners of all fits that made the model: a class and its parameters
    max_rounds          the largest n_estimators of these fits
    probability_floor   the smallest probability used, for classifiers with members
    sample_weights      the last weights of the training rows
    training_margins    the margins of the training rows

A checkpoint of gradient boosting with `drop_rate` or `leaf_value_folds` has raw scores after its last round:

    scores.training     float64 (models, outputs, rows), of the training rows
    scores.evaluation   float64 (outputs, rows), of all evaluation sets; with `drop_rate` only
"""

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from hedgerow._typing import MAX_WIDE_BINS, Floats
from hedgerow.boosting.adaboost import RULES as ADABOOST_RULES
from hedgerow.boosting.adaboost_family import RoundStatistics, rounds_before
from hedgerow.boosting.adaboost_models import MedianMembers, MedianModel, MedianTrees, VoteModel
from hedgerow.boosting.anyboost import AnyRule, LogitRule
from hedgerow.boosting.costs import COSTS, make_cost
from hedgerow.boosting.folds import FOLD_COUNTS
from hedgerow.boosting.gradient_members import MemberModel
from hedgerow.boosting.r2 import LOSSES as R2_LOSSES
from hedgerow.container import JSON, ModelFileError
from hedgerow.estimators import AdaBoostClassifier, AnyBoostClassifier, DecisionTreeRegressor
from hedgerow.estimators.decision_trees import WeakTreeEstimator
from hedgerow.estimators.fingerprints import DataFingerprint
from hedgerow.forest import TreeModel
from hedgerow.io import sections
from hedgerow.io.checks import MAX_SCORE, check_copies
from hedgerow.io.members import MemberSpec, read_members, write_members
from hedgerow.io.parameters import held_by_name, read_spec, write_spec
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.trees import read_trees, write_trees
from hedgerow.losses import LOSSES, Huber, Loss, make_loss
from hedgerow.table import Schema

RULES: dict[str, type[Any]] = {
    name: rule
    for name, rule in ADABOOST_RULES.items()
    if name != "samme.r"  # another name of "real"
} | {"logit": LogitRule, "anyboost": AnyRule}
ADABOOST_ROUNDS = ("weights", "errors", "normalizers", "bounds", "max_steps", "restarts")  # RoundStatistics
R2_ROUNDS = ADABOOST_ROUNDS[:3]
_LOSS_PARAMETERS = {"quantile": ("quantile",), "huber": ("alpha", "delta"), "tweedie": ("power",)}
_MAYBE_INFINITE = ("errors", "normalizers", "bounds")  # or NaN
_MAX_ROUNDS = 2**31
SCORES = {"training": 3, "evaluation": 2}  # arrays of a checkpoint, and their numbers of axes


# --- gradient boosting


def write_gradient_boosting(model: Any, writer: Writer) -> None:
    """Write a gradient boosting model."""
    fitted = model.model_
    verbose_only = () if "validation_loss" in model.history_ else ("train_loss",)
    sections.write_rounds(writer, model, verbose_only=verbose_only)
    writer.entries |= {"initial_scores": fitted.start.tolist(), "loss": _write_loss(model)}
    if isinstance(fitted, MemberModel):
        write_members(writer, fitted.members, MemberSpec.of(model.schema_))
        writer.entries["steps"] = sections.write_numbers(fitted.steps)
    else:
        write_trees(writer, fitted, model.schema_, model.loss_.n_outputs, is_gradient=True)
        if fitted.fold_starts is not None:
            writer.entries["fold_scores"] = fitted.fold_starts.tolist()
    if is_classifier(model):
        sections.write_row_fingerprints(writer, model)


def read_gradient_boosting(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    loss = _read_loss(reader, estimator, None if classes is None else len(classes))
    start = _scores(reader.entry("initial_scores", list), "initial_scores")
    model = _read_gradient_rounds(reader, schema, start, loss.n_outputs)
    sections.read_rounds(reader, estimator, model, schema, classes)
    estimator._set_fitted_attributes(loss_=loss)  # noqa: SLF001
    if classes is not None:
        sections.read_row_fingerprints(reader, estimator)


def _scores(values: list[Any], name: str) -> Floats:
    if not all(type(score) is float for score in values):
        raise ModelFileError(f"{name} must be a list of numbers")
    return np.array(values, np.float64)


def _read_gradient_rounds(
    reader: Reader, schema: Schema, start: Floats, n_outputs: int
) -> TreeModel | MemberModel:
    if "members" not in reader.entries:
        return _read_folds(reader, read_trees(reader, schema, start, n_outputs, is_gradient=True))
    require("initial_scores", len(start) == n_outputs, f"{n_outputs} scores are required")
    require("initial_scores", np.isfinite(start), "the scores must be finite")
    members = read_members(reader, n_outputs, MemberSpec.of(schema))
    return MemberModel(start, members, sections.read_numbers(reader, "steps", len(members)))


def _read_folds(reader: Reader, model: TreeModel) -> TreeModel:
    if "fold_scores" not in reader.entries:
        return model
    rows = reader.entry("fold_scores", list)
    require("fold_scores", len(rows) in FOLD_COUNTS, f"{', '.join(map(str, FOLD_COUNTS))} lists are possible")
    require("fold_scores", all(type(row) is list for row in rows), "it must be a list of lists")
    n_outputs, n_trees = len(model.start), model.forest.n_trees
    require("fold_scores", all(len(row) == n_outputs for row in rows), f"{n_outputs} scores are required")
    starts = np.stack([_scores(row, "fold_scores") for row in rows])
    require("fold_scores", np.isfinite(starts), "the scores must be finite")
    means = [math.fsum(of_output) / len(starts) for of_output in starts.T]
    require("initial_scores", model.start == means, "they must be the means of fold_scores")
    n_each = n_outputs * len(rows)
    require("forest.starts", n_trees % n_each == 0, f"every round must have {n_each} trees")
    return replace(model, fold_starts=starts)


def write_scores(writer: Writer, scores: Mapping[str, Floats]) -> None:
    """Write the scores of rows of a checkpoint."""
    for name, array in scores.items():
        writer.section("scores").put(name, array)


def check_scores(reader: Reader, model: Any, fingerprints: Sequence[DataFingerprint]) -> None:
    """Check the scores of rows of a checkpoint; those that other fits have are refused as unknown arrays."""
    drops = bool(getattr(model, "drop_rate", 0.0))
    if not drops and getattr(model, "leaf_value_folds", None) is None:
        return
    require("data_fingerprints", len(fingerprints) == 1, "there must be one")
    require("fold_scores", model.n_folds_ == 1 or not drops, "there must be none with drop_rate")
    n_outputs, section = model.loss_.n_outputs, reader.section("scores", {})
    _check_scores_of(section, "training", (model.n_folds_, n_outputs, fingerprints[0].n_rows))
    if drops and JSON.items(reader.entry("checkpoint", dict).get("evaluation_sets"), "evaluation_sets"):
        _check_scores_of(section, "evaluation", (n_outputs,))


def _check_scores_of(section: Reader, name: str, shape: tuple[int, ...]) -> None:
    """Check an array whose shape begins with `shape`."""
    scores = section.array(name, np.float64, SCORES[name])
    require(f"scores.{name}", scores.shape[: len(shape)] == shape, f"its shape must begin with {shape}")
    require(f"scores.{name}", np.abs(scores) < MAX_SCORE, "the scores must be finite, and not too large")


def _task(model: Any) -> str:
    return "classification" if is_classifier(model) else "regression"


def _write_loss(model: Any) -> dict[str, Any]:
    loss, task = model.loss_, _task(model)
    known = LOSSES[task].get(loss.name)
    n_classes = max(2, loss.n_outputs)
    # A loss of the user may have any name, so the class is compared too.
    if known is None or type(make_loss(loss.name, task=task, n_classes=n_classes)) is not type(loss):
        raise ModelFileError(f"the model was fitted with {loss!r}; {held_by_name('loss')}")
    names = _LOSS_PARAMETERS.get(loss.name, ())
    return {"name": loss.name, "parameters": {name: getattr(loss, name) for name in names}}


def _read_loss(reader: Reader, estimator: Any, n_classes: int | None) -> Loss:
    described, task = reader.entry("loss", dict), _task(estimator)
    name = JSON.choice(described.get("name"), tuple(LOSSES[task]), "loss")
    parameters = dict(JSON.entry(described, "parameters", dict))
    if set(parameters) != set(_LOSS_PARAMETERS.get(name, ())):
        raise ModelFileError(f"loss {name!r} has other parameters than {reprlib.repr(list(parameters))}")
    if not all(type(value) is float and math.isfinite(value) for value in parameters.values()):
        raise ModelFileError(f"the parameters of loss {name!r} must be finite numbers")
    delta = parameters.pop("delta", 1.0)
    try:
        loss = make_loss(name, task=task, n_classes=n_classes, **parameters)
    except ValueError as error:
        raise ModelFileError(f"loss: {error}") from error
    if isinstance(loss, Huber):
        if delta <= 0:
            raise ModelFileError(f"delta of loss 'huber' must be positive; got {delta}")
        loss.delta = delta
    return loss


# --- classifiers of the AdaBoost family


def write_adaboost_family(model: Any, writer: Writer) -> None:
    """Write AdaBoost, LogitBoost or AnyBoost."""
    sections.write_rounds(writer, model)
    rule, fitted = model._fitted_rule, model.model_  # noqa: SLF001 - a fitted attribute
    writer.entries |= {
        "round_statistics": _write_statistics(model, ADABOOST_ROUNDS),
        "rule": next(name for name, known in RULES.items() if known is rule),
        "learners": [write_spec(learner, writer) for learner in model._learners],  # noqa: SLF001
        "max_rounds": model._max_rounds,  # noqa: SLF001
        "stop_reason": model.stop_reason_,
    }
    if isinstance(model, AnyBoostClassifier):
        writer.entries["cost"] = _name_of_cost(model)
    writer.put("sample_weights", model.sample_weights_)
    writer.put("training_margins", model.training_margins_)
    if isinstance(fitted, VoteModel):
        spec = _member_spec(fitted.prediction_type, model.schema_, model.classes_)
        write_members(writer, fitted.members, spec)
        writer.entries["probability_floor"] = fitted.floor
    else:
        write_trees(writer, fitted, model.schema_, len(fitted.start), max_bins=MAX_WIDE_BINS)
    sections.write_row_fingerprints(writer, model)


def _member_spec(output: str, schema: Schema, classes: NDArray[Any]) -> MemberSpec:
    """Describe the members of a rule by what they return."""
    method = "predict_proba" if output == "probabilities" else "predict"
    return MemberSpec.of(schema, None if output == "numbers" else classes, method)


def _name_of_cost(model: AnyBoostClassifier) -> str:
    names = {kind: name for name, kind in COSTS.items()}
    cost, named = model._fitted_cost, model._fitted_cost_is_named  # noqa: SLF001
    if not named:
        raise ModelFileError(f"the model was fitted with {cost!r}; {held_by_name('cost')}")
    return names[type(cost)]


def read_adaboost_family(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    record = _read_statistics(reader, ADABOOST_ROUNDS)
    rule = RULES.get(reader.entry("rule", str))
    if rule is None or rule not in _rules_of(estimator):
        name = type(estimator).__name__
        raise ModelFileError(f"rule {reader.entries['rule']!r:.50} is not a rule of {name}")
    model = _read_adaboost_rounds(reader, schema, record, rule.prediction_type, classes)
    _check_steps(record)
    is_trees = isinstance(model, TreeModel)
    if isinstance(model, TreeModel) and rule.prediction_type == "classes":
        check_copies(model.forest, len(model.start))
    elif rule.prediction_type != "classes":
        require("round_statistics", np.array(record.weights) != 0, "weights must not be 0 with this rule")
    learners = tuple(read_spec(reader, data, "learners") for data in reader.entry("learners", list))
    valid = bool(learners) and all(isinstance(learner, WeakTreeEstimator) == is_trees for learner in learners)
    kind = "decision trees" if is_trees else "other estimators than decision trees"
    require("learners", valid, f"there must be at least one, and all must be {kind}")
    sections.read_rounds(reader, estimator, model, schema, classes)
    estimator._set_statistics(record, learners)  # noqa: SLF001 - as fit sets them
    estimator._set_rule(rule)  # noqa: SLF001
    if isinstance(estimator, AnyBoostClassifier):
        require("classes", len(classes) == 2, "there must be two")
        cost = JSON.choice(reader.entries.get("cost"), tuple(COSTS), "cost")
        estimator._set_cost(make_cost(cost), is_named=True)  # noqa: SLF001
    weights, margins = _read_sample_weights(reader), reader.array("training_margins", np.float64)
    require("training_margins", np.abs(margins) <= 1.0, "margins must be in -1..1")
    require("training_margins", len(margins) == len(weights), "there must be one per training row")
    estimator._set_fitted_attributes(  # noqa: SLF001
        _max_rounds=sections.read_count(reader, "max_rounds", 1, _MAX_ROUNDS),
        stop_reason_=reader.entry("stop_reason", str),
        sample_weights_=weights,
        training_margins_=margins,
    )
    sections.read_row_fingerprints(reader, estimator)
    sections.read_grid_fingerprints(reader, estimator, *learners)


def _check_steps(record: RoundStatistics) -> None:
    require("round_statistics", np.array(record.max_steps) >= 0, "max_steps must not be negative")
    for number, draw in enumerate(record.restarts):
        valid = draw == -1 or (draw >= 0 and draw == int(draw) and rounds_before(draw) <= number)
        require("round_statistics", valid, "restarts must be -1, or numbers of draws before the round")
    record.restarts[:] = [int(draw) for draw in record.restarts]  # as fit has them


def _read_adaboost_rounds(
    reader: Reader, schema: Schema, record: RoundStatistics, output: str, classes: NDArray[Any]
) -> TreeModel | VoteModel:
    n_outputs = 1 if len(classes) == 2 else len(classes)
    if "members" not in reader.entries:
        return _read_round_trees(reader, schema, len(record.weights), n_outputs)
    floor = reader.entry("probability_floor", float)
    require("probability_floor", 0 < floor <= 0.5, "it must be in (0, 0.5]")
    n_each = n_outputs if output == "numbers" else 1
    members = _read_round_members(reader, n_each, _member_spec(output, schema, classes), record)
    return VoteModel(members, list(record.weights), output, classes, n_outputs, floor)


def _rules_of(estimator: Any) -> list[type[Any]]:
    """Return the rules that such an estimator may have been fitted with."""
    if isinstance(estimator, AdaBoostClassifier):
        return list(ADABOOST_RULES.values())
    return [AnyRule if isinstance(estimator, AnyBoostClassifier) else LogitRule]


# --- AdaBoost.R2


def write_r2(model: Any, writer: Writer) -> None:
    """Write AdaBoost.R2."""
    fitted = model.model_
    if isinstance(fitted, MedianTrees):
        _check_tree_learner(model)
    sections.write_rounds(writer, model, verbose_only=("train_loss",))
    writer.entries |= {
        "round_statistics": _write_statistics(model, R2_ROUNDS),
        "fitted_loss": model._fitted_loss,  # noqa: SLF001 - a fitted attribute
        "stop_reason": model.stop_reason_,
    }
    writer.put("sample_weights", model.sample_weights_)
    if isinstance(fitted, MedianMembers):
        write_members(writer, [[member] for member in fitted.members], MemberSpec.of(model.schema_))
    else:
        write_trees(writer, fitted.trees, model.schema_, 1, max_bins=MAX_WIDE_BINS)


def read_r2(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    record = _read_statistics(reader, R2_ROUNDS)
    loss = JSON.choice(reader.entries.get("fitted_loss"), tuple(R2_LOSSES), "fitted_loss")
    weights = np.array(record.weights)
    require("round_statistics", len(weights) > 0 and weights.min() > 0, "weights must be positive")
    require("round_statistics", weights < math.ldexp(1.0, 1000) / len(weights), "weights are too large")
    model = _read_median(reader, estimator, schema, record)
    sections.read_rounds(reader, estimator, model, schema, classes)
    learner = clone(estimator._weak_learner())  # noqa: SLF001
    estimator._set_statistics(record, (learner,))  # noqa: SLF001 - as fit sets them
    weights, reason = _read_sample_weights(reader), reader.entry("stop_reason", str)
    estimator._set_fitted_attributes(_fitted_loss=loss, sample_weights_=weights, stop_reason_=reason)  # noqa: SLF001


def _read_median(reader: Reader, estimator: Any, schema: Schema, record: RoundStatistics) -> MedianModel:
    if "members" in reader.entries:
        members = _read_round_members(reader, 1, MemberSpec.of(schema), record)
        return MedianMembers(record.weights, [member for (member,) in members])
    _check_tree_learner(estimator)
    return MedianTrees(record.weights, _read_round_trees(reader, schema, len(record.weights), 1))


def _check_tree_learner(model: Any) -> None:
    """Refuse another learner than the class of the trees in `estimators_`."""
    if not isinstance(model._weak_learner(), DecisionTreeRegressor):  # noqa: SLF001 - a class of Hedgerow
        raise ModelFileError("the estimator of an AdaBoostRegressor of trees must be a DecisionTreeRegressor")


# --- rounds of the AdaBoost family


def _write_statistics(model: Any, names: tuple[str, ...]) -> dict[str, Any]:
    record = model._statistics  # noqa: SLF001 - a fitted attribute
    return {name: sections.write_numbers(getattr(record, name)) for name in names}


def _read_statistics(reader: Reader, names: tuple[str, ...]) -> RoundStatistics:
    """Read lists of equal length; those that scores are computed from are finite."""
    section = reader.section("round_statistics", reader.entry("round_statistics", dict))
    n_rounds = len(section.entry("weights", list))
    lists = {
        name: sections.read_numbers(section, name, n_rounds, finite=name not in _MAYBE_INFINITE)
        for name in names
    }
    return RoundStatistics(**lists)


def _read_round_trees(reader: Reader, schema: Schema, n_rounds: int, n_outputs: int) -> TreeModel:
    trees = read_trees(reader, schema, np.zeros(n_outputs), n_outputs, max_bins=MAX_WIDE_BINS)
    require("forest.starts", trees.n_rounds == n_rounds, f"trees of {n_rounds} rounds are required")
    return trees


def _read_round_members(
    reader: Reader, n_each: int, spec: MemberSpec, record: RoundStatistics
) -> list[list[Any]]:
    members, n_rounds = read_members(reader, n_each, spec), len(record.weights)
    require("members", len(members) == n_rounds, f"members of {n_rounds} rounds are required")
    return members


def _read_sample_weights(reader: Reader) -> Floats:
    weights: Floats = reader.array("sample_weights", np.float64)
    valid = (weights >= 0) & np.isfinite(weights)
    require("sample_weights", valid, "weights must be finite and not negative")
    return weights
