"""The end of `choose`: the ensemble or the best trial, fitted to all rows within limits, and explained.

trials -> ensemble, cross-fitted -> is it better? -> final fits -> threshold -> Choice

members, heaviest first -> those that fit the time -> fits, each with its share -> those that fit the size
"""

import pickle
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.selection.ensemble_selection import EnsembleTrial, try_ensemble
from hedgerow.selection.explanation import (
    describe_validation,
    explain_choice,
    explain_ensemble,
)
from hedgerow.selection.limits import (
    FILE_BYTES,
    OVERTIME,
    OVERTIME_SECONDS,
    FitLimits,
    count_members,
    grow_members,
)
from hedgerow.selection.methods import AUTO_ROUNDS, METHODS, make_model
from hedgerow.selection.predictions import Predictions
from hedgerow.selection.results import Choice, Ensemble, Trial
from hedgerow.selection.search import MethodSearch
from hedgerow.selection.splits import TrainingData
from hedgerow.selection.threshold import FixedThresholdClassifier, choose_threshold
from hedgerow.selection.trials import Interrupted, RecordedLimit, TrialResult, fit_warnings
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
) -> FinalModel | None:
    """Fit the members of an ensemble to all rows; None if there is no time for two.

    trials, seconds : of its members, with the estimated times of their fits
    The weights of members that are left out are distributed among the others, in proportion.
    """
    planned = affordable_members(tried.weights, seconds, limits.seconds)
    if len(planned) < 2:
        return None
    times = [seconds[one] for one in planned]
    fits = fit_members([trials[one] for one in planned], times, data, seed, n_jobs, limits)
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
) -> EnsembleFit:
    """Fit trials to all rows, in their order, until the time or the size is used up.

    seconds : estimated time of each fit; a fit has its share of the time that is left
    Return at least the first.
    """
    start, notes = time.perf_counter(), []
    kept: list[int] = []
    models: list[Any] = []
    for number, trial in enumerate(trials):
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


def finish(search: MethodSearch) -> Choice:
    """Fit the best setting, or the members of an ensemble, to all rows, and explain the choice."""
    best = search.best
    assert best is not None  # noqa: S101 - try_all raises without one
    search.n_done = search.n_steps - 1
    tried = _try_ensemble(search)
    remaining, budget = search.clock.remaining(), search.budget
    limit = remaining
    if remaining is not None and budget is not None:
        limit = max(remaining, OVERTIME * budget + OVERTIME_SECONDS)
    start = search.clock.elapsed()
    final = _fit_best(search, best, tried, FitLimits(limit, search.max_bytes))
    seconds = search.clock.elapsed()
    model, threshold = _with_threshold(search, final, tried)
    search.n_done += 1
    search.report("done")
    n_valid = sum(len(split.y_valid) for split in search.splits)
    n_rows, trials = search.data.n_rows, (*(result.trial for result in search.results), *search.refused)
    return Choice(
        search.task,
        search.metric.name,
        describe_validation(len(search.splits), n_valid, search.n_sample, n_rows, search.data.order),
        trials,
        final.trial,
        _reason(search, best, final, tried),
        model,
        seconds,
        budget,
        threshold,
        final.ensemble,
        seconds - start,
    )


def _try_ensemble(search: MethodSearch) -> EnsembleTrial | None:
    """Choose the weights of an ensemble and compare it with the best trial; None if there is none."""
    candidates = search.candidates()
    samples = [result.sample for result in candidates if result.sample is not None]
    if search.ensemble_rows is None or len(samples) < 2:
        return None
    numbers = [
        next(i for i, result in enumerate(search.results) if result is wanted) for wanted in candidates
    ]
    threshold = search.context(search.splits).threshold
    return try_ensemble(search.task, search.metric, numbers, samples, search.ensemble_rows.folds, threshold)


def _fit_best(
    search: MethodSearch, best: TrialResult, tried: EnsembleTrial | None, limits: FitLimits
) -> FinalModel:
    """Fit the ensemble if it is better and there is time for two members; otherwise the best trial."""
    data, seed, n_jobs = search.data, search.seed, search.n_jobs
    rows = f"fitted to all {data.n_rows:,} rows"
    note = ""
    if tried is not None and tried.is_better:
        search.report(f"weighted ensemble of {len(tried.members)} models, {rows}")
        results = [search.results[number] for number in tried.members]
        seconds = [search.final_seconds(result) for result in results]
        trials = [result.trial for result in results]
        fitted = fit_ensemble(tried, best.trial, trials, seconds, data, seed, n_jobs, limits)
        if fitted is not None:
            return fitted
        note = "There was no time for the final fits of the ensemble: the model is the best single one."
    search.report(f"{best.trial.description}, {rows}")
    fit = fit_final(best.trial, data, seed, n_jobs, limits)
    return FinalModel(fit.model, best.trial, None, " ".join(result for result in (note, fit.note) if result))


def _with_threshold(
    search: MethodSearch, final: FinalModel, tried: EnsembleTrial | None
) -> tuple[Any, float | None]:
    """Return the model with the requested decision threshold, and the threshold."""
    if search.options.threshold is None:
        return final.model, None
    if final.ensemble is not None and tried is not None:
        predictions: Predictions | None = tried.predictions
    else:
        predictions = next(result.predictions for result in search.results if result.trial is final.trial)
    threshold = choose_threshold(predictions, search.options.threshold)
    label = np.asarray(final.model.classes_)[search.positive]
    return FixedThresholdClassifier.of(final.model, threshold, label), threshold


def _reason(search: MethodSearch, best: TrialResult, final: FinalModel, tried: EnsembleTrial | None) -> str:
    """Explain the choice in sentences, first what the model is."""
    trials = [result.trial for result in search.results]
    of_trials = explain_choice(search, best, of_singles=final.ensemble is not None)
    of_ensemble = explain_ensemble(search.metric, tried, final.ensemble, trials)
    texts = (of_trials, of_ensemble) if final.ensemble is None else (of_ensemble, of_trials)
    return " ".join(text for text in (*texts, final.note) if text)
