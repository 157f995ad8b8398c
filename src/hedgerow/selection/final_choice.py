"""The end of `choose`: the ensemble or the best trial, fitted to all rows and explained.

trials -> ensemble, cross-fitted -> is it better? -> final fits -> threshold -> Choice
"""

from typing import Any

import numpy as np

from hedgerow.selection.budget import OVERTIME, OVERTIME_SECONDS
from hedgerow.selection.ensemble_selection import EnsembleTrial, try_ensemble
from hedgerow.selection.explanation import (
    constant_predictions,
    describe_validation,
    explain_choice,
    explain_ensemble,
)
from hedgerow.selection.final_fit import FinalModel, fit_ensemble, fit_final
from hedgerow.selection.fit_limits import FitLimits
from hedgerow.selection.predictions import Predictions
from hedgerow.selection.results import Choice
from hedgerow.selection.search import MethodSearch
from hedgerow.selection.threshold import FixedThresholdClassifier, choose_threshold
from hedgerow.selection.trials import TrialResult


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
        describe_validation(
            len(search.splits),
            n_valid,
            search.n_sample,
            n_rows,
            search.data.order,
            own_folds=any(result.model is not None for result in search.results),
        ),
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
        models = [result.model for result in results]
        fitted = fit_ensemble(tried, best.trial, trials, seconds, data, seed, n_jobs, limits, models)
        if fitted is not None:
            return fitted
        note = "There was no time for the final fits of the ensemble: the model is the best single one."
    search.report(f"{best.trial.description}, {rows}")
    if best.model is not None:
        cut = f"The final fit was {best.trial.note}." if best.trial.status == "cut short" else ""
        return FinalModel(best.model, best.trial, None, " ".join(text for text in (note, cut) if text))
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
    n_left = sum(map(len, search.queue.values())) - len(search.results)
    trials = [result.trial for result in search.results]
    of_trials = explain_choice(
        search.metric,
        search.results,
        search.refused,
        best,
        constant_predictions(search.task, search.splits),
        n_left if search.interrupted else None,
        of_singles=final.ensemble is not None,
    )
    of_ensemble = explain_ensemble(search.metric, tried, final.ensemble, trials)
    texts = (of_trials, of_ensemble) if final.ensemble is None else (of_ensemble, of_trials)
    return " ".join(text for text in (*texts, final.note) if text)
