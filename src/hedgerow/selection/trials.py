"""Trials: fit a setting of a method to training rows and score it on validation rows.

    split(s) -> fits -> validation curve -> number of rounds -> predictions of all validation rows -> scores

With several splits (folds) the number of rounds is the same for all: the minimum of the mean curve.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.callbacks import Round, TimeLimit
from hedgerow.boosting.loop import EarlyStopping, FitInterruptedWarning
from hedgerow.members import take_rows
from hedgerow.selection.caught_warnings import caught_warnings
from hedgerow.selection.limits import FitLimits, count_members, grow_members, most_rounds
from hedgerow.selection.methods import AUTO_ROUNDS, METHODS, make_model
from hedgerow.selection.metrics import Metric, score_predictions, standard_error
from hedgerow.selection.predictions import Predictions, class_predictions, predict_rows
from hedgerow.selection.results import Trial
from hedgerow.selection.settings import Setting
from hedgerow.system_memory import format_bytes


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, with weights if there are any, and validation rows; labels are class numbers."""

    X: Any
    y: NDArray[Any]
    X_valid: Any
    y_valid: NDArray[Any]
    weights: Floats | None = None

    @property
    def evaluation_rows(self) -> tuple[Any, NDArray[Any]]:
        """The validation rows of classes that occur in training; later rows may have others."""
        if self.y_valid.dtype.kind != "i":
            return self.X_valid, self.y_valid
        known = np.isin(self.y_valid, self.y)
        if known.all():
            return self.X_valid, self.y_valid
        return take_rows(self.X_valid, np.flatnonzero(known)), self.y_valid[known]


@dataclass(frozen=True)
class TrialContext:
    """The options that all trials share."""

    task: str
    metric: Metric  # ranks the trials, and finds the number of rounds of methods scored after every round
    splits: Sequence[Split]
    seed: int
    n_jobs: int | None
    n_classes: int | None = None
    positive: int = 1  # number of the positive class
    threshold: float | None = None  # of the probability of the positive class
    max_bytes: float = np.inf  # of a model of all rows
    n_rows: int = 0  # of the final fit

    def limits(self, seconds: float | None, split: Split) -> FitLimits:
        """Return the limits of a fit to a split, such that a fit to all rows is not too large."""
        return FitLimits(seconds, self.max_bytes, max(self.n_rows / len(split.y), 1.0))


@dataclass(frozen=True, eq=False)
class SplitFit:
    """A model fitted to a split; `curve` is the validation loss after every round, if there are rounds."""

    model: Any
    n_rounds: int
    curve: Floats | None
    seconds: float
    stopped_by_clock: bool = False
    stopped_by_size: bool = False

    @property
    def round_seconds(self) -> float:
        """Median seconds of a round, since other processes may disturb some; 0 if there are no rounds."""
        if self.curve is None:
            return self.seconds / self.n_rounds if self.n_rounds else 0.0
        times = np.diff(self.model.history_["seconds"], prepend=0.0)
        return float(np.median(times)) if len(times) else 0.0


@dataclass(frozen=True, eq=False)
class TrialResult:
    """A trial with measurements that are not stored."""

    trial: Trial
    row_scores: Floats | None = None  # of the validation rows, by the metric that ranks the trials
    seconds: float = 0.0
    n_rounds: int = 0  # the maximum over the splits that were fitted; usually more than the best number
    round_seconds: float = 0.0  # 0 if not measured
    predictions: Predictions | None = None  # of the validation rows
    sample: Predictions | None = None  # of those on which the weights of an ensemble are chosen

    @property
    def is_automatic(self) -> bool:
        """Whether the fit itself found the number of rounds."""
        return bool(self.trial.parameters.get("n_estimators") == AUTO_ROUNDS)


class Interrupted(KeyboardInterrupt):
    """A fit was interrupted (Ctrl-C) and returned a model of the finished rounds, with a warning."""


class OutOfTime(Exception):  # noqa: N818 - the end of a trial, not an error
    """The remaining folds would take longer than the remaining time."""


def run_trial(context: TrialContext, setting: Setting, limit: float | None) -> TrialResult:
    """Fit and score a setting; a setting that raises has the status "failed" and the first line of the error.

    A fit that would take longer than `limit` seconds ends with fewer rounds.
    """
    title = METHODS[setting.method].title_for(context.task)
    start = time.perf_counter()
    try:
        with fit_warnings() as notes:
            fits = _fit_splits(context, setting, limit)
            trial, row_scores, predictions = _score_fits(context, setting, title, fits)
    except Exception as error:  # noqa: BLE001 - other methods may succeed
        out_of_time = isinstance(error, OutOfTime)
        status, note = ("skipped", str(error)) if out_of_time else ("failed", first_line(error))
        trial = Trial(setting.method, title, dict(setting.parameters), status=status, note=note)
        return TrialResult(trial, None, time.perf_counter() - start)
    if notes and not trial.note:
        trial = replace(trial, note=notes[0])
    longest = max(fits, key=lambda fit: fit.n_rounds)
    seconds = time.perf_counter() - start
    return TrialResult(trial, row_scores, seconds, longest.n_rounds, longest.round_seconds, predictions)


def _fit_splits(context: TrialContext, setting: Setting, limit: float | None) -> list[SplitFit]:
    """Fit the setting to every split, if the time suffices for all."""
    start = time.perf_counter()
    fits: list[SplitFit] = []
    for number, split in enumerate(context.splits):
        elapsed = time.perf_counter() - start
        to_do = len(context.splits) - number
        if limit is not None and number and elapsed / number * to_do > 1.5 * max(limit - elapsed, 0.0):
            raise OutOfTime(
                f"{number} of {len(context.splits)} folds took {elapsed:.2g} s, too long for the rest"
            )
        share = None if limit is None else max((limit - elapsed) / to_do, 1e-6)
        fits.append(fit_split(context, setting, split, share))
    return fits


def _score_fits(
    context: TrialContext, setting: Setting, title: str, fits: Sequence[SplitFit]
) -> tuple[Trial, Floats, Predictions]:
    """Score the fits after the number of rounds that is best for all splits, within the size limit."""
    boosted = FitLimits(None, context.max_bytes)  # members were limited in growing
    most = min(
        [most_rounds(fit.model, fit.n_rounds, boosted) for fit in fits if fit.curve is not None] or [0]
    )
    rounds = _common_rounds(fits, most)
    pairs = zip(context.splits, fits, strict=True)
    predictions = Predictions.concatenate([_predict_at(context, fit, split, rounds) for split, fit in pairs])
    scores = score_predictions(predictions, context.task, context.metric)
    row_scores = context.metric.row_scores(predictions)
    if row_scores is None:
        raise ValueError(f"{context.metric.title} is undefined for the validation rows")
    if not np.isfinite(scores[context.metric.name]):
        raise ValueError(f"{context.metric.title} is {scores[context.metric.name]}")
    planned = setting.parameters.get("n_estimators")
    parameters = dict(setting.parameters)
    if planned is not None and not setting.is_automatic:
        parameters["n_estimators"] = rounds
    cut = any(fit.stopped_by_clock for fit in fits)
    of = "" if setting.is_automatic else f" of {planned}"
    note = f"stopped by the budget after {min(fit.n_rounds for fit in fits)}{of}" if cut else ""
    if rounds == most or any(fit.stopped_by_size for fit in fits):
        note = f"the size limit of {format_bytes(int(context.max_bytes))} allows {rounds}"
    trial = Trial(
        setting.method, title, parameters, scores,
        spread=standard_error(row_scores),
        fit_seconds=float(sum(fit.seconds for fit in fits)),
        status="cut short" if cut else "done",
        note=note,
    )  # fmt: skip
    return trial, row_scores, predictions


# --- one fit


def fit_split(context: TrialContext, setting: Setting, split: Split, limit: float | None) -> SplitFit:
    """Fit a setting to the training rows of a split, for at most `limit` seconds."""
    kind = METHODS[setting.method].rounds
    common = {"random_state": context.seed, "n_jobs": context.n_jobs}
    model = make_model(setting.method, context.task, **common, **setting.parameters)
    weighted = {} if split.weights is None else {"sample_weight": split.weights}
    start = time.perf_counter()
    if kind == "none":
        model.fit(split.X, split.y, **weighted)
        return SplitFit(model, 0, None, time.perf_counter() - start)
    if setting.is_automatic:
        return _fit_automatic(context, model, split, limit, weighted)
    most = int(model.n_estimators)
    if kind == "members":
        limits = context.limits(limit, split)
        n_affordable = grow_members(model, split.X, split.y, limits, weighted)
        seconds = time.perf_counter() - start
        n_members = count_members(model)
        exceeds_size = n_members == n_affordable < most
        return SplitFit(model, n_members, None, seconds, n_members < most and not exceeds_size, exceeds_size)
    callbacks: list[Any] = [] if limit is None else [TimeLimit(limit)]
    if kind == "loss":
        stopper = EarlyStopping(setting.patience)
        rows = split.evaluation_rows
        model.fit(split.X, split.y, eval_set=rows, callbacks=[stopper, *callbacks], **weighted)
        seconds = time.perf_counter() - start
        curve = np.array(model.history_["validation_loss"])
        stopped = stopper.last_round - stopper.best_round >= setting.patience
    else:
        model.fit(split.X, split.y, callbacks=callbacks, **weighted)
        seconds, stopped = time.perf_counter() - start, False
        curve = np.array([_loss(context.metric, one) for one in _staged(context, model, split)])
    in_time = limit is None or not model.history_["seconds"] or model.history_["seconds"][-1] < limit
    out_of_time = not (stopped or in_time) and len(curve) < most
    return SplitFit(model, model.n_estimators_, curve, seconds, out_of_time)


def _fit_automatic(
    context: TrialContext, model: Any, split: Split, limit: float | None, weighted: dict[str, Any]
) -> SplitFit:
    """Fit a model that finds its number of rounds itself: the validation rows have no part in it."""
    clock = RecordedLimit(np.inf if limit is None else limit)
    start = time.perf_counter()
    model.fit(split.X, split.y, callbacks=[clock], **weighted)
    seconds = time.perf_counter() - start
    affordable = most_rounds(model, model.n_estimators_, FitLimits(None, context.max_bytes))
    if affordable < model.n_estimators_:
        limit_text = format_bytes(int(context.max_bytes))
        raise ValueError(f"{model.n_estimators_} rounds are too large for the size limit of {limit_text}")
    return SplitFit(model, model.n_estimators_, None, seconds, clock.reached)


class RecordedLimit(TimeLimit):
    """A time limit that records whether it was reached."""

    reached = False

    def __call__(self, done: Round) -> bool:
        """Process a finished round."""
        self.reached = super().__call__(done)
        return self.reached


# --- rounds


def _staged(context: TrialContext, model: Any, split: Split) -> Iterator[Predictions]:
    """Yield the predictions of the validation rows after every round."""
    if context.task == "regression":
        for y_pred in model.staged_predict(split.X_valid):
            yield Predictions(split.y_valid, y_pred)
        return
    for probabilities in model.staged_predict_proba(split.X_valid):
        yield _of_classes(context, model, split, probabilities)


def _of_classes(context: TrialContext, model: Any, split: Split, probabilities: Floats) -> Predictions:
    """Return predictions of all classes; a class that does not occur in training has probability 0."""
    numbers = np.asarray(model.classes_, np.int64)
    if context.n_classes is not None and len(numbers) < context.n_classes:
        known, probabilities = probabilities, np.zeros((len(probabilities), context.n_classes))
        probabilities[:, numbers] = known
    return class_predictions(split.y_valid, probabilities, context.positive, context.threshold)


def _loss(metric: Metric, predictions: Predictions) -> float:
    score = metric.score(predictions)
    return np.inf if score is None else metric.loss(score)


def _common_rounds(fits: Sequence[SplitFit], most: int) -> int:
    """Return the minimum of the mean curve, over the rounds that all curves have, at most `most`."""
    curves = [fit.curve for fit in fits if fit.curve is not None]
    if not curves:
        return min(fit.n_rounds for fit in fits)
    shortest = min(*map(len, curves), most)
    return int(np.argmin(np.mean([curve[:shortest] for curve in curves], axis=0))) + 1


def _predict_at(context: TrialContext, fit: SplitFit, split: Split, rounds: int) -> Predictions:
    """Predict the validation rows after a number of rounds."""
    if fit.curve is None or rounds >= fit.n_rounds:
        if context.task == "regression" or not hasattr(fit.model, "predict_proba"):
            return predict_rows(fit.model, split.X_valid, split.y_valid, context.task)
        return _of_classes(context, fit.model, split, fit.model.predict_proba(split.X_valid))
    return next(islice(_staged(context, fit.model, split), rounds - 1, None))


# --- warnings, errors


@contextmanager
def fit_warnings() -> Iterator[list[str]]:
    """Collect the first lines of warnings; raise Interrupted if a fit was interrupted.

    Examples
    --------
    >>> import warnings
    >>> with fit_warnings() as notes:
    ...     warnings.warn("did not converge")
    >>> notes
    ['did not converge']
    """
    notes: list[str] = []
    with caught_warnings() as caught:
        yield notes
    notes += [str(warning).split("\n", 1)[0] for warning in caught]
    if any(isinstance(warning, FitInterruptedWarning) for warning in caught):
        raise Interrupted


def first_line(error: BaseException) -> str:
    """Return the first line of an error.

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
