"""Trying: one setting of a method, fitted on some rows and judged by others.

    split(s) -> fits -> validation curve -> number of rounds -> answers of all validation rows -> scores

With several splits (folds) the number of rounds is the same for all: the lowest point of the mean curve.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.callbacks import EarlyStopping, TimeLimit
from hedgerow.selection.given import Given
from hedgerow.selection.hearing import collected
from hedgerow.selection.methods import METHODS, make_model
from hedgerow.selection.metrics import Answers, Metric, answers_of, classified, score_answers
from hedgerow.selection.results import Trial
from hedgerow.selection.settings import Setting
from hedgerow.threads import resolve_n_jobs

_FIRST_SHARE = 0.1  # of the members, grown first to see how long one takes


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to be judged by; labels are class numbers."""

    X: Any
    y: NDArray[Any]
    X_valid: Any
    y_valid: NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """What is the same for all trials.

    Parameters
    ----------
    task : str
    metric : Metric
        Decides, and finds the rounds of methods that must be scored after every one.
    splits : sequence of Split
    seed : int
    n_jobs : int or None
    """

    task: str
    metric: Metric
    splits: Sequence[Split]
    seed: int
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model; with a curve, what is to be made small after every round, lower is better."""

    model: Any
    n_rounds: int
    curve: Floats | None
    seconds: float
    cut: bool = False

    @property
    def round_seconds(self) -> float:
        """What a round took: the median, for others may want the processor too; 0 if there are no rounds."""
        if self.curve is None:
            return self.seconds / self.n_rounds if self.n_rounds else 0.0
        times = np.diff(self.model.history_["seconds"], prepend=0.0)
        return float(np.median(times)) if len(times) else 0.0


@dataclass(frozen=True, eq=False)
class Tried:
    """A trial with what is not kept of it.

    Parameters
    ----------
    trial : Trial
    shares : array or None
        Of every validation row in the score that decides.
    seconds : float
        All that it took.
    n_rounds : int
        Rounds or members that were fitted, the most of all splits; more than the best number, mostly.
    round_seconds : float
        What one of them took; 0 if that is not known.
    """

    trial: Trial
    shares: Floats | None = None
    seconds: float = 0.0
    n_rounds: int = 0
    round_seconds: float = 0.0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came during a fit that hands back what it has so far, and only warns of it."""


class OutOfTime(Exception):  # noqa: N818 - an end, not an error
    """The folds that are left would take longer than there is time."""


def try_setting(problem: Problem, setting: Setting, limit: float | None) -> Tried:
    """Fit and judge a setting.

    Parameters
    ----------
    problem : Problem
    setting : Setting
    limit : float or None
        Seconds for all of it; a fit that would take longer ends with fewer rounds.

    Returns
    -------
    Tried
        A setting that raises has the status "failed" and the first line of the error.
    """
    title = METHODS[setting.method].title_of(problem.task)
    began = time.perf_counter()
    try:
        with heard() as notes:
            fits = _fits(problem, setting, limit)
            trial, shares = _judged(problem, setting, title, fits)
    except OutOfTime as end:
        trial = Trial(setting.method, title, dict(setting.parameters), status="skipped", note=str(end))
        return Tried(trial, None, time.perf_counter() - began)
    except Exception as error:  # noqa: BLE001 - whatever a method cannot do, others can
        note = first_line(error)
        trial = Trial(setting.method, title, dict(setting.parameters), status="failed", note=note)
        return Tried(trial, None, time.perf_counter() - began)
    if notes and not trial.note:
        trial = replace(trial, note=notes[0])
    longest = max(fits, key=lambda fit: fit.n_rounds)
    return Tried(trial, shares, time.perf_counter() - began, longest.n_rounds, longest.round_seconds)


def _fits(problem: Problem, setting: Setting, limit: float | None) -> list[Fit]:
    """One fit a split, if there is time for all."""
    began = time.perf_counter()
    fits: list[Fit] = []
    for number, split in enumerate(problem.splits):
        spent = time.perf_counter() - began
        to_do = len(problem.splits) - number
        if limit is not None and number and spent / number * to_do > 1.5 * max(limit - spent, 0.0):
            raise OutOfTime(
                f"{number} of {len(problem.splits)} folds took {spent:.2g} s, too long for the rest"
            )
        share = None if limit is None else max((limit - spent) / to_do, 1e-6)
        fits.append(fit_split(problem, setting, split, share))
    return fits


def _judged(problem: Problem, setting: Setting, title: str, fits: Sequence[Fit]) -> tuple[Trial, Floats]:
    """Scores after the number of rounds that is best for all splits."""
    rounds = _common_rounds(fits)
    pairs = zip(problem.splits, fits, strict=True)
    answers = Answers.joined([_answers_at(problem, fit, split, rounds) for split, fit in pairs])
    scores = score_answers(answers, problem.task)
    shares = problem.metric.shares(answers)
    if shares is None:
        raise ValueError(f"{problem.metric.title} has no meaning on the validation rows")
    if not np.isfinite(scores[problem.metric.name]):
        raise ValueError(f"{problem.metric.title} is {scores[problem.metric.name]}")
    most = setting.parameters.get("n_estimators")
    parameters = dict(setting.parameters)
    if most is not None:
        parameters["n_estimators"] = rounds
    cut = any(fit.cut for fit in fits)
    trial = Trial(
        setting.method, title, parameters, scores,
        spread=standard_error(shares),
        fit_seconds=float(sum(fit.seconds for fit in fits)),
        status="cut short" if cut else "done",
        note=f"the clock ended it after {min(fit.n_rounds for fit in fits)} of {most}" if cut else "",
    )  # fmt: skip
    return trial, shares


# --- one fit


def fit_split(problem: Problem, setting: Setting, split: Split, limit: float | None) -> Fit:
    """Fit to the rows of a split, for `limit` seconds at the most."""
    kind = METHODS[setting.method].rounds
    given = {"random_state": problem.seed, "n_jobs": problem.n_jobs, **setting.parameters}
    model = make_model(setting.method, problem.task, **given)
    began = time.perf_counter()
    if kind == "none":
        model.fit(split.X, split.y)
        return Fit(model, 0, None, time.perf_counter() - began)
    most = int(model.n_estimators)
    if kind == "members":
        grow_members(model, split.X, split.y, limit)
        seconds = time.perf_counter() - began
        n_members = n_members_of(model)
        return Fit(model, n_members, None, seconds, n_members < most)
    callbacks: list[Any] = [] if limit is None else [TimeLimit(limit)]
    if kind == "loss":
        stopper = EarlyStopping(setting.patience)
        model.fit(split.X, split.y, eval_set=(split.X_valid, split.y_valid), callbacks=[stopper, *callbacks])
        seconds = time.perf_counter() - began
        curve = np.array(model.history_["validation_loss"])
        stopped = stopper.last_round - stopper.best_round >= setting.patience
    else:
        model.fit(split.X, split.y, callbacks=callbacks)
        seconds, stopped = time.perf_counter() - began, False
        curve = np.array([_loss_of(problem.metric, one) for one in _staged(problem, model, split)])
    in_time = limit is None or not model.history_["seconds"] or model.history_["seconds"][-1] < limit
    return Fit(model, model.n_estimators_, curve, seconds, not (stopped or in_time) and len(curve) < most)


def grow_members(model: Any, X: Any, y: Any, limit: float | None) -> None:
    """Fit a forest or a bag, with fewer members when all would take longer than `limit` seconds.

    A few are grown first. Going on from them gives the same members as one fit.
    """
    most = int(model.n_estimators)
    first = max(resolve_n_jobs(model.n_jobs), round(_FIRST_SHARE * most))
    if limit is None or first >= most:
        model.fit(X, y)
        return
    began = time.perf_counter()
    model.set_params(warm_start=True, n_estimators=first).fit(X, y)
    spent = time.perf_counter() - began
    affordable = first + int((limit - spent) / (spent / first))
    if affordable > first:
        model.set_params(n_estimators=min(most, affordable)).fit(X, y)
    model.set_params(warm_start=False)


def fit_whole(
    trial: Trial, given: Given, seed: int, n_jobs: int | None, limit: float | None
) -> tuple[Any, str]:
    """Fit the parameters of a trial to all rows; with a sentence if the clock or an interrupt ended it."""
    model = make_model(trial.method, given.task, random_state=seed, n_jobs=n_jobs, **trial.parameters)
    kind, wanted = METHODS[trial.method].rounds, trial.parameters.get("n_estimators")
    had = wanted
    try:
        with heard():
            if kind == "members":
                grow_members(model, given.X, given.y, limit)
                had = n_members_of(model)
            elif kind == "none":
                model.fit(given.X, given.y)
            else:
                model.fit(given.X, given.y, callbacks=[] if limit is None else [TimeLimit(limit)])
                had = model.n_estimators_
    except Interrupted:
        return model, "The last fit was interrupted: the model holds what was finished."
    if wanted is None or had >= wanted or limit is None:
        return model, ""
    return model, f"The clock ended the last fit after {had} of {wanted}; a larger budget would finish it."


def n_members_of(model: Any) -> int:
    """How many trees or members a fitted forest or bag has."""
    return int(getattr(model, "n_estimators_", 0) or len(model.estimators_))


# --- rounds


def _staged(problem: Problem, model: Any, split: Split) -> Iterator[Answers]:
    """Answers after every round."""
    if problem.task == "regression":
        for said in model.staged_predict(split.X_valid):
            yield Answers(split.y_valid, said)
        return
    for probabilities in model.staged_predict_proba(split.X_valid):
        yield classified(split.y_valid, probabilities)


def _loss_of(metric: Metric, answers: Answers) -> float:
    score = metric.score(answers)
    return np.inf if score is None else metric.loss(score)


def _common_rounds(fits: Sequence[Fit]) -> int:
    """The lowest point of the mean curve, as far as all curves go."""
    curves = [fit.curve for fit in fits if fit.curve is not None]
    if not curves:
        return min(fit.n_rounds for fit in fits)
    shortest = min(map(len, curves))
    return int(np.argmin(np.mean([curve[:shortest] for curve in curves], axis=0))) + 1


def _answers_at(problem: Problem, fit: Fit, split: Split, rounds: int) -> Answers:
    """Answers on the validation rows after so many rounds."""
    if fit.curve is None or rounds >= fit.n_rounds:
        return answers_of(fit.model, split.X_valid, split.y_valid, problem.task)
    return next(islice(_staged(problem, fit.model, split), rounds - 1, None))


# --- noise, warnings, errors


def standard_error(shares: Floats) -> float:
    """Of the mean of the shares of the rows."""
    return float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else 0.0


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the first lines of warnings, unshown; raise an interrupt that was only warned of.

    Examples
    --------
    >>> import warnings
    >>> with heard() as notes:
    ...     warnings.warn("so it is")
    >>> notes
    ['so it is']
    """
    notes: list[str] = []
    with collected() as caught:
        yield notes
    notes += [note.split("\n", 1)[0] for note in caught]
    if any("interrupted" in note for note in notes):
        raise Interrupted


def first_line(error: BaseException) -> str:
    """An error in one line.

    Examples
    --------
    >>> first_line(ValueError("no such thing"))
    'no such thing'
    >>> first_line(MemoryError())
    'MemoryError'
    """
    line = str(error).strip().split("\n", 1)[0]
    return (
        line
        if isinstance(error, ValueError | TypeError) and line
        else f"{type(error).__name__}: {line}".rstrip(": ")
    )


Told = Callable[[int, int, str], None]
