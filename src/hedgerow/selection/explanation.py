"""Explain why a trial is the best, in sentences for readers without statistics."""

from collections.abc import Sequence

import numpy as np

from hedgerow.selection.ensemble_selection import EnsembleTrial
from hedgerow.selection.metrics import Metric, standard_error
from hedgerow.selection.predictions import Predictions, class_predictions
from hedgerow.selection.results import Ensemble, Trial
from hedgerow.selection.search import MethodSearch
from hedgerow.selection.splits import RowOrder
from hedgerow.selection.trials import Split, TrialResult
from hedgerow.text_table import format_mean, format_score, listed

_MIN_ERRORS = 2.0  # standard errors within which a difference may be chance


def describe_validation(
    n_splits: int, n_valid: int, n_sample: int, n_rows: int, order: RowOrder | None = None
) -> str:
    """Describe how the trials were validated.

    Examples
    --------
    >>> describe_validation(5, 150, 150, 150)
    '5-fold cross-validation of 150 rows'
    >>> describe_validation(1, 4000, 20_000, 1_000_000)
    'one validation split of 4,000 rows, from a sample of 20,000 of the 1,000,000 rows'
    """
    if order is None:
        how = ""
    else:
        how = ", whole groups" if order.times is None else ", each later than its training rows"
    if n_splits > 1:
        name = "forward validation" if order is not None and order.times is not None else "cross-validation"
        return f"{n_splits}-fold {name} of {n_valid:,} rows{how}"
    if n_sample < n_rows:
        return (
            f"one validation split of {n_valid:,} rows{how}, from a sample of {n_sample:,} of the "
            f"{n_rows:,} rows"
        )
    return f"one validation split of {n_valid:,} of the {n_rows:,} rows{how}"


def explain_choice(search: MethodSearch, best: TrialResult, *, of_singles: bool) -> str:
    """Describe the best trial, the runner-up, and what was not tried.

    of_singles : whether the best is that of single models only, since the model is an ensemble.
    """
    metric, results = search.metric, search.results
    sentences = [
        _best_score(metric, best, " of the single models" if of_singles else ""),
        _compare_with_constant(metric, best, _constant_predictions(search.task, search.splits)),
    ]
    sentences += [_runner_up(metric, results, best), *_not_used(results, search.refused)]
    if search.interrupted:
        n_left = sum(map(len, search.queue.values())) - len(results)
        sentences.append(f"An interrupt ended the trials; {n_left} settings were not tried.")
    return " ".join(sentence for sentence in sentences if sentence)


def explain_ensemble(
    metric: Metric, tried: EnsembleTrial | None, chosen: Ensemble | None, trials: Sequence[Trial]
) -> str:
    """Describe the ensemble that was chosen, or why there is none.

    tried : the ensemble with all of its members
    chosen : the ensemble of the fitted members; None if the model is a single one
    """
    if tried is None or len(tried.members) < 2:
        return ""
    score = format_score(tried.scores[metric.name])
    gap = format_mean((tried.difference, tried.difference_spread))
    single = format_score(tried.single_score)
    how = "cross-fitted: weights are never chosen on the rows that they are scored on"
    than = f"A single model that is chosen in the same way has {single}; the advantage, {gap}, is"
    if chosen is not None:
        pairs = zip(chosen.members, chosen.weights, strict=True)
        listed = "; ".join(f"{weight:.2g} {trials[number].description}" for number, weight in pairs)
        return (
            f"The model is a {chosen.title} ({listed}). Its {metric.title} "
            f"is {score}, {how}. {than} more than half of its standard error."
        )
    more = "more" if tried.is_better else "not more"
    end = "" if tried.is_better else ": the model is a single one"
    return (
        f"A weighted ensemble of {len(tried.members)} trials has the {metric.title} {score}, {how}. "
        f"{than} {more} than half of its standard error{end}."
    )


def _score(metric: Metric, trial: Trial) -> str:
    score = trial.scores[metric.name]
    return format_mean((score, trial.spread)) if trial.spread else format_score(score)


def _best_score(metric: Metric, best: TrialResult, among: str) -> str:
    end = "highest" if metric.higher_is_better else "lowest"
    also = ""
    for name in ("accuracy", "r2"):
        if name in best.trial.scores and name != metric.name:
            also = f" ({'R²' if name == 'r2' else name} {format_score(best.trial.scores[name])})"
    text = best.trial.description
    score = _score(metric, best.trial)
    return f"{text[0].upper()}{text[1:]} has the {end} {metric.title}{among}, {score}{also}."


def _constant_predictions(task: str, splits: Sequence[Split]) -> Predictions:
    """Return the predictions of a model without columns: the fractions of the classes, or the mean."""
    predictions = []
    for split in splits:
        n = len(split.y_valid)
        if task == "regression":
            predictions.append(Predictions(split.y_valid, np.full(n, np.mean(split.y))))
        else:
            shares = np.bincount(split.y) / len(split.y)
            predictions.append(class_predictions(split.y_valid, np.tile(shares, (n, 1))))
    return Predictions.concatenate(predictions)


def _compare_with_constant(metric: Metric, best: TrialResult, constant: Predictions) -> str:
    """Warn if the columns may carry no information about the target."""
    scores = metric.row_scores(constant)
    if scores is None or best.row_scores is None:
        return ""
    ahead = (best.row_scores - scores) if metric.higher_is_better else (scores - best.row_scores)
    if float(np.mean(ahead)) >= _MIN_ERRORS * standard_error(ahead) > 0:
        return ""
    score = format_score(float(np.mean(scores)))
    return (
        f"That is not clearly better than a constant prediction ({score}): the columns "
        "may carry little information about the target."
    )


def _runner_up(metric: Metric, results: Sequence[TrialResult], best: TrialResult) -> str:
    """Describe the best of the other methods; another setting of the same method if there is no other."""
    others = [result for result in results if result is not best and result.trial.has_scores]
    method = best.trial.method
    others = [result for result in others if result.trial.method != method] or others
    if not others:
        return "There is no other trial to compare it with."
    runner_up = min(others, key=lambda result: metric.loss(result.trial.scores[metric.name]))
    group = "of the other methods" if runner_up.trial.method != method else "of its other settings"
    start = f"The best {group} is {runner_up.trial.description} with {_score(metric, runner_up.trial)}"
    a, b = best.row_scores, runner_up.row_scores
    if a is None or b is None or len(a) != len(b):
        return start + "."
    differences = b - a
    gap, error = abs(float(np.mean(differences))), standard_error(differences)
    if error == 0.0:
        return f"{start}, " + ("equal on every row." if gap == 0.0 else "worse by the same on every row.")
    if gap < _MIN_ERRORS * error:
        text = "below two standard errors: these rows cannot distinguish the two"
    else:
        text = "above two standard errors"
    return f"{start}; the difference, {format_mean((gap, error))} over the validation rows, is {text}."


def _not_used(results: Sequence[TrialResult], refused: Sequence[Trial]) -> list[str]:
    """Describe the trials that were cut short, skipped, failed or refused."""
    sentences = []
    cut = [result.trial for result in results if result.trial.status == "cut short"]
    if cut:
        sentences.append(f"Cut short by the budget: {_listed(cut)}.")
    skipped = [result.trial for result in results if result.trial.status == "skipped"]
    if skipped:
        sentences.append(f"Skipped; a larger budget would try next: {_listed(skipped)}.")
    failed = [result.trial for result in results if result.trial.status == "failed"]
    if failed:
        sentences.append("Failed: " + "; ".join(f"{t.description}: {t.note}" for t in failed) + ".")
    if refused:
        sentences.append("Not used: " + "; ".join(f"{t.title}, {t.note}" for t in refused) + ".")
    return sentences


def _listed(trials: Sequence[Trial]) -> str:
    return listed([trial.description for trial in trials], 3, separator="; ", end="; and")
