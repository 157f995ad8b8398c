"""Explaining: why a trial is the best, in sentences that a reader without statistics can follow."""

from collections.abc import Sequence

import numpy as np

from hedgerow.selection.metrics import Answers, Metric, classified
from hedgerow.selection.results import Trial
from hedgerow.selection.trying import Split, Tried, standard_error

_NOISE = 2.0  # standard errors within which a difference is taken for chance


def validation_words(n_splits: int, n_valid: int, n_sample: int, n_rows: int) -> str:
    """How the trials were judged.

    Examples
    --------
    >>> validation_words(5, 150, 150, 150)
    '5-fold cross-validation of 150 rows'
    >>> validation_words(1, 4000, 20_000, 1_000_000)
    'one validation split of 4,000 rows, from a sample of 20,000 of the 1,000,000 rows'
    """
    if n_splits > 1:
        return f"{n_splits}-fold cross-validation of {n_valid:,} rows"
    if n_sample < n_rows:
        return (
            f"one validation split of {n_valid:,} rows, from a sample of {n_sample:,} of the {n_rows:,} rows"
        )
    return f"one validation split of {n_valid:,} of the {n_rows:,} rows"


def explain(
    metric: Metric,
    tried: Sequence[Tried],
    refused: Sequence[Trial],
    best: Tried,
    guess: Answers,
    n_interrupted: int | None,
) -> str:
    """Sentences on the best trial, the runner-up, and what was not tried.

    guess : answers without looking at the columns, see `guesses`.
    n_interrupted : how many settings an interrupt has left untried; None if there was none.
    """
    sentences = [_praise(metric, best), _beside_a_guess(metric, best, guess)]
    sentences += [_runner_up(metric, tried, best), *_left_out(tried, refused)]
    if n_interrupted is not None:
        sentences.append(f"An interrupt ended the trials; {n_interrupted} settings were not tried.")
    return " ".join(sentence for sentence in sentences if sentence)


def _score(metric: Metric, trial: Trial) -> str:
    return f"{trial.scores[metric.name]:.4g}"


def _praise(metric: Metric, best: Tried) -> str:
    end = "highest" if metric.higher_is_better else "lowest"
    also = ""
    for name in ("accuracy", "r2"):
        if name in best.trial.scores and name != metric.name:
            also = f" ({'R squared' if name == 'r2' else name} {best.trial.scores[name]:.4g})"
    words = best.trial.words
    return f"{words[0].upper()}{words[1:]} has the {end} {metric.title}, {_score(metric, best.trial)}{also}."


def guesses(task: str, splits: Sequence[Split]) -> Answers:
    """Answers of one who does not look at the columns: the shares of the classes, or the mean."""
    parts = []
    for split in splits:
        n = len(split.y_valid)
        if task == "regression":
            parts.append(Answers(split.y_valid, np.full(n, np.mean(split.y))))
        else:
            shares = np.bincount(split.y) / len(split.y)
            parts.append(classified(split.y_valid, np.tile(shares, (n, 1))))
    return Answers.joined(parts)


def _beside_a_guess(metric: Metric, best: Tried, guess: Answers) -> str:
    """A warning, if the columns may well say nothing about the target."""
    shares = metric.shares(guess)
    if shares is None or best.shares is None:
        return ""
    ahead = (best.shares - shares) if metric.higher_is_better else (shares - best.shares)
    if float(np.mean(ahead)) >= _NOISE * standard_error(ahead) > 0:
        return ""
    return (
        f"That is not clearly better than a guess that looks at no column ({float(np.mean(shares)):.4g}): "
        "the columns may say little about the target."
    )


def _runner_up(metric: Metric, tried: Sequence[Tried], best: Tried) -> str:
    """The best of the other families; another setting of the same, if there is no other family."""
    others = [one for one in tried if one is not best and one.trial.counts]
    family = best.trial.method
    rivals = [one for one in others if one.trial.method != family] or others
    if not rivals:
        return "Nothing else could be compared with it."
    rival = min(rivals, key=lambda one: metric.loss(one.trial.scores[metric.name]))
    what = "of the other methods" if rival.trial.method != family else "of its other settings"
    start = f"The best {what} is {rival.trial.words} with {_score(metric, rival.trial)}"
    if best.shares is None or rival.shares is None or len(best.shares) != len(rival.shares):
        return start + "."
    differences = rival.shares - best.shares
    gap, error = abs(float(np.mean(differences))), standard_error(differences)
    if error == 0.0:
        return f"{start}, " + ("the same on every row." if gap == 0.0 else "worse by the same on every row.")
    if gap < _NOISE * error:
        verdict = "within noise: on these rows the two cannot be told apart"
    else:
        verdict = "more than noise"
    return (
        f"{start}; the difference of {gap:.2g} is {gap / error:.1f} times its standard error over the "
        f"validation rows ({error:.2g}), {verdict}."
    )


def _left_out(tried: Sequence[Tried], refused: Sequence[Trial]) -> list[str]:
    sentences = []
    cut = [one.trial for one in tried if one.trial.status == "cut short"]
    if cut:
        sentences.append(f"Cut short by the budget: {_some(cut)}.")
    skipped = [one.trial for one in tried if one.trial.status == "skipped"]
    if skipped:
        sentences.append(f"Skipped, and what a larger budget would try next: {_some(skipped)}.")
    failed = [one.trial for one in tried if one.trial.status == "failed"]
    if failed:
        sentences.append("Failed: " + "; ".join(f"{t.words}: {t.note}" for t in failed) + ".")
    if refused:
        sentences.append("Not used: " + "; ".join(f"{t.title}, {t.note}" for t in refused) + ".")
    return sentences


def _some(trials: Sequence[Trial]) -> str:
    more = f"; and {len(trials) - 3} more" if len(trials) > 3 else ""
    return "; ".join(trial.words for trial in trials[:3]) + more
