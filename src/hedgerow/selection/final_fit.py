"""The final fits of `choose`: a trial, or the members of an ensemble, fitted to all rows within limits.

members, heaviest first -> those that fit the time -> fits, each with its share -> those that fit the size
"""

import pickle
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.selection.ensemble_selection import EnsembleTrial
from hedgerow.selection.fit_limits import FILE_BYTES, FitLimits, count_members, grow_members
from hedgerow.selection.methods import AUTO_ROUNDS, METHODS, make_model
from hedgerow.selection.results import Ensemble, Trial
from hedgerow.selection.splits import TrainingData
from hedgerow.selection.trials import Interrupted, RecordedLimit, fit_warnings
from hedgerow.selection.weighted_ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
    ordered_sum,
)

_STOPPED = "The final fit was interrupted: the model holds the finished rounds."


class FinalFit(NamedTuple):
    """A fitted model, and a note if the budget or an interrupt ended the fit."""

    model: Any
    note: str = ""
    interrupted: bool = False


def fit_final(trial: Trial, data: TrainingData, seed: int, n_jobs: int | None, limits: FitLimits) -> FinalFit:
    """Fit the parameters of a trial to all rows; with a note if the budget or an interrupt ended the fit."""
    model = make_model(trial.method, data.task, random_state=seed, n_jobs=n_jobs, **trial.parameters)
    kind = METHODS[trial.method].rounds
    weighted = {} if data.weights is None else {"sample_weight": data.weights}
    planned = fitted = getattr(model, "n_estimators", None)
    limit = RecordedLimit(np.inf if limits.seconds is None else limits.seconds)
    try:
        with fit_warnings():
            if kind == "members":
                planned = grow_members(model, data.X, data.y, limits, weighted)
                fitted = count_members(model)
            elif kind == "none":
                model.fit(data.X, data.y, **weighted)
            else:
                callbacks = [] if limits.seconds is None else [limit]
                model.fit(data.X, data.y, callbacks=callbacks, **weighted)
                fitted = model.n_estimators_
    except Interrupted:
        return FinalFit(model, _STOPPED, interrupted=True)
    if planned is None or limits.seconds is None:
        return FinalFit(model)
    is_complete = not limit.reached if planned == AUTO_ROUNDS else fitted >= planned
    if is_complete:
        return FinalFit(model)
    of = "" if planned == AUTO_ROUNDS else f" of {planned}"
    return FinalFit(
        model, f"The budget ended the final fit after {fitted}{of}; a larger budget would finish it."
    )


# --- ensembles


class FinalModel(NamedTuple):
    """The final model: of one trial, or an ensemble of several; `trial` is the only or the best one."""

    model: Any
    trial: Trial
    ensemble: Ensemble | None
    note: str


def fit_ensemble(
    tried: EnsembleTrial,
    best: Trial,
    trials: Sequence[Trial],
    seconds: Sequence[float],
    data: TrainingData,
    seed: int,
    n_jobs: int | None,
    limits: FitLimits,
    models: Sequence[Any] = (),
) -> FinalModel | None:
    """Fit the members of an ensemble to all rows; None if there is no time for two.

    trials, seconds : of its members, with the estimated times of their fits
    models : those that are fitted to all rows already, None for others
    The weights of members that are left out are distributed among the others, in proportion.
    """
    planned = affordable_members(tried.weights, seconds, limits.seconds)
    if len(planned) < 2:
        return None
    times = [seconds[one] for one in planned]
    fitted = [models[one] for one in planned] if models else []
    fits = fit_members([trials[one] for one in planned], times, data, seed, n_jobs, limits, fitted)
    kept = [planned[one] for one in fits.kept]
    weights = np.array([tried.weights[one] for one in kept])
    weights = weights / ordered_sum(weights)
    note, n_left_out = fits.note, len(trials) - len(kept)
    if n_left_out:
        are = "member of the ensemble was" if n_left_out == 1 else "members of the ensemble were"
        what = "the score" if len(kept) > 1 else "the score of the ensemble"
        note = (
            f"{n_left_out} {are} left out, for lack of time or because of the size limit, and the "
            f"weights of the others raised: "
            f"{what} is that of all {len(trials)}. {note}"
        ).strip()
    model = make_ensemble(fits.models, weights.tolist(), data.task)
    if len(kept) == 1:
        return FinalModel(model, trials[kept[0]], None, note)
    members = tuple(tried.members[one] for one in kept)
    compared = (tried.spread, tried.single_score, tried.difference, tried.difference_spread)
    ensemble = Ensemble(members, tuple(weights.tolist()), tried.scores, *compared)
    return FinalModel(model, best, ensemble, note)


class EnsembleFit(NamedTuple):
    """The fitted members of an ensemble: their positions among those planned, and their models."""

    kept: list[int]
    models: list[Any]
    note: str = ""


def affordable_members(weights: Sequence[float], seconds: Sequence[float], limit: float | None) -> list[int]:
    """Return the members, heaviest first, whose estimated fits take at most `limit` seconds together.

    Lighter members are left out first.

    >>> affordable_members([0.2, 0.5, 0.3], [1.0, 2.0, 3.0], 5.0)
    [1, 2]
    """
    order = [int(number) for number in np.argsort(-np.asarray(weights), kind="stable")]
    if limit is None:
        return order
    total = np.cumsum([seconds[number] for number in order])
    return order[: int(np.count_nonzero(total <= limit))]


def fit_members(
    trials: Sequence[Trial],
    seconds: Sequence[float],
    data: TrainingData,
    seed: int,
    n_jobs: int | None,
    limits: FitLimits,
    models: Sequence[Any] = (),
) -> EnsembleFit:
    """Fit trials to all rows, in their order, until the time or the size is used up.

    seconds : estimated time of each fit; a fit has its share of the time that is left
    models : those that are fitted to all rows already, None for others
    Return at least the first.
    """
    start, notes = time.perf_counter(), []
    kept: list[int] = []
    fitted, models = models, list[Any]()
    for number, trial in enumerate(trials):
        if fitted and fitted[number] is not None:
            kept.append(number)
            models.append(fitted[number])
            if trial.status == "cut short":
                notes.append(f"{trial.description}: {trial.note}")
            continue
        within = limits
        if limits.seconds is not None:
            remaining = limits.seconds - (time.perf_counter() - start)
            if kept and seconds[number] > remaining:
                notes.append(f"no time was left for {trial.description}")
                continue
            share = seconds[number] / (sum(seconds[number:]) or 1.0)
            within = replace(limits, seconds=max(remaining * share, 1e-3))
        try:
            fit = fit_final(trial, data, seed, n_jobs, within)
        except KeyboardInterrupt:
            if not kept:
                raise
            return EnsembleFit(kept, models, _interrupted(notes))
        if fit.interrupted and kept:
            return EnsembleFit(kept, models, _interrupted(notes))
        is_limited = bool(kept) and np.isfinite(limits.max_bytes)
        if is_limited and file_bytes([*models, fit.model], data.task) > limits.max_bytes:
            notes.append(f"the size limit excludes {trial.description}")
            continue
        kept.append(number)
        models.append(fit.model)
        if fit.interrupted:
            return EnsembleFit(kept, models, _STOPPED)
        if fit.note:
            notes.append(f"{trial.description}: {fit.note[:1].lower()}{fit.note[1:-1]}")
    return EnsembleFit(kept, models, f"Final fits: {'; '.join(notes)}." if notes else "")


def _interrupted(notes: list[str]) -> str:
    return f"Final fits: {'; '.join([*notes, 'an interrupt ended the others'])}."


def make_ensemble(models: Sequence[Any], weights: Sequence[float], task: str) -> Any:
    """Return the weighted ensemble of fitted models; a single model itself."""
    if len(models) == 1:
        return models[0]
    kind = WeightedEnsembleRegressor if task == "regression" else WeightedEnsembleClassifier
    return kind.of(list(models), list(weights))


def file_bytes(models: Sequence[Any], task: str) -> int:
    """Return the approximate size of the model file; equal fingerprints of rows are stored once."""
    model = make_ensemble(models, [1.0] * len(models), task)
    return len(pickle.dumps((model, getattr(model, "row_fingerprints_", None)), protocol=5)) + FILE_BYTES
