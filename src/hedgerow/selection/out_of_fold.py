"""Fits to all rows that also predict every row by models that were not fitted to it.

    gradient boosting   the mean of models of folds: a row is predicted by the model of its own fold
    forest, bagging     the mean of trees: a row is predicted by the trees that did not draw it (out-of-bag)

Such a fit is a trial and the final fit in one: all rows validate, and none is lost to validation.
"""

import copy
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.folds import NO_FOLD, draw_folds
from hedgerow.estimators import validation
from hedgerow.members import take_rows
from hedgerow.selection.limits import FitLimits, count_members, grow_members


class OutOfFoldRows(NamedTuple):
    """All rows: the labels that a model is fitted to, class numbers or numbers, and weights if there are any.

    order : numbers of the rows that are predicted, in the order of the validation rows of other trials
    """

    X: Any
    y: NDArray[Any]
    encoded: NDArray[Any]
    weights: Floats | None
    order: Integers


class OutOfFoldFit(NamedTuple):
    """A model of all rows, and its predictions of those in `order`: numbers or probabilities."""

    model: Any
    predicted: Floats
    n_rounds: int
    seconds: float
    round_seconds: float = 0.0
    stopped_by_clock: bool = False


def fit_boosting(model: Any, rows: OutOfFoldRows, clock: Any) -> OutOfFoldFit:
    """Fit gradient boosting with folds; `clock` is a callback that ends it and records that it did."""
    start = time.perf_counter()
    weighted = {} if rows.weights is None else {"sample_weight": rows.weights}
    model.fit(rows.X, rows.y, callbacks=[clock], **weighted)
    classes = rows.encoded.astype(np.float64) if rows.encoded.dtype.kind == "i" else None
    seed = validation.make_seed(model.random_state)
    folds = draw_folds(classes, rows.weights, len(rows.y), model.n_folds_, seed)[rows.order]
    if model.n_folds_ == 1 or np.any(folds == NO_FOLD):
        raise ValueError("some rows have no fold, so that no model predicts them that was not fitted to them")
    predicted: Any = None
    for fold in range(model.n_folds_):
        one = copy.copy(model)
        one.model_ = model.model_.fold_model(fold)
        positions = np.flatnonzero(folds == fold)
        values = _predict(one, take_rows(rows.X, rows.order[positions]))
        if predicted is None:
            predicted = np.empty((len(folds), *values.shape[1:]))
        predicted[positions] = values
    times = np.diff(model.history_["seconds"], prepend=0.0)
    seconds = time.perf_counter() - start
    return OutOfFoldFit(
        model, predicted, model.n_estimators_, seconds, float(np.median(times)), bool(clock.reached)
    )


def fit_forest(model: Any, rows: OutOfFoldRows, limits: FitLimits) -> OutOfFoldFit:
    """Grow a forest, with fewer trees if all would exceed a limit."""
    start = time.perf_counter()
    weighted = {} if rows.weights is None else {"sample_weight": rows.weights}
    planned = int(model.n_estimators)
    affordable = grow_members(model, rows.X, rows.y, limits, weighted)
    n_trees = count_members(model)
    # A warm start without new trees computes the out-of-bag predictions of those there are.
    model.set_params(warm_start=True, oob_score=True).fit(rows.X, rows.y, **weighted)
    name = "oob_prediction_" if rows.encoded.dtype.kind == "f" else "oob_decision_function_"
    predicted = np.asarray(getattr(model, name), np.float64)[rows.order]
    if np.isnan(predicted).any():
        raise ValueError(f"{n_trees} trees are too few: some rows were drawn by all of them")
    for attribute in model._oob_names:  # noqa: SLF001 - the model shall be that of a fit without them
        vars(model).pop(attribute, None)
    model.set_params(warm_start=False, oob_score=False, n_estimators=n_trees)
    seconds = time.perf_counter() - start
    return OutOfFoldFit(
        model, predicted, n_trees, seconds, seconds / n_trees, n_trees < min(planned, affordable)
    )


def _predict(model: Any, X: Any) -> Floats:
    values = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return np.asarray(values, np.float64)
