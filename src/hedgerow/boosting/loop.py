"""The boosting loop.

    for every round:
        targets = rule.targets(round)          what the weak learner should fit
        fitted  = learner.fit(targets, round)
        result  = rule.update(fitted, round)   add it to the ensemble
        call the callbacks

Every boosting algorithm of the library is this loop with its own update rule, weak learner and callbacks.
`boost` is the bare loop; `run_rounds` adds the callbacks that the parameters of an estimator require.
"""

import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.backends.base import Backend
from hedgerow.backends.cpu import CpuBackend
from hedgerow.boosting.callbacks import Callback, HistoryDict, Round, format_losses
from hedgerow.memory import FitSize
from hedgerow.progress import ProgressBar
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import Dataset, Table
from hedgerow.threads import CHUNK_ROWS


@dataclass(frozen=True)
class RoundResult:
    """Result of adding a learner to the ensemble; the fields are those of `Round`.

    `last` stops the fit after this round: nothing is left to learn.
    """

    n_leaves: int = 0
    train_loss: float | None = None
    validation_loss: tuple[float, ...] = ()
    measure: str = "loss"
    last: bool = False


class UpdateRule(Protocol):
    """Defines what the next learner fits and how it is added to the ensemble."""

    def targets(self, iteration: int) -> Any:
        """Return what the learner of this round should fit."""

    def update(self, fitted: Any, iteration: int) -> RoundResult | None:
        """Add a fitted learner to the ensemble.

        Return None to reject it: the round is then repeated with new targets. Raise `StopBoosting` to
        reject it and stop.
        """


class WeakLearner(Protocol):
    """Fits the targets of the update rule."""

    def fit(self, targets: Any, iteration: int) -> Any:
        """Fit a member of the ensemble to the targets of a round."""


class StopBoosting(Exception):  # noqa: N818 - not an error
    """Raised by a rule that rejects a learner and has no other targets; the rounds so far are kept."""


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted (Ctrl-C); the model holds the rounds finished so far."""


class IndependentMembers:
    """Update rule of bagging and forests: members do not depend on each other, and are only collected."""

    def __init__(self, members: list[Any]) -> None:
        self.members = members

    def evaluate(self) -> tuple[float, ...]:
        """Return no losses: there are no evaluation sets."""
        return ()

    def targets(self, iteration: int) -> int:
        """Return the number of the next member."""
        return iteration

    def update(self, fitted: Any, iteration: int) -> RoundResult:
        """Append a member."""
        self.members.append(fitted)
        return RoundResult()


def boost(
    rule: UpdateRule,
    learner: WeakLearner,
    n_rounds: int,
    callbacks: Sequence[Callback] = (),
    first_round: int = 0,
    *,
    raise_interrupt: bool = False,
) -> None:
    """Run rounds `first_round` to `n_rounds` - 1, or until a callback or the rule stops.

    An interrupt (Ctrl-C) stops after the current round with a warning: the rounds so far are a complete
    model. With `raise_interrupt` it is raised instead.
    """
    start = time.perf_counter()
    try:
        with _delayed_interrupts() as raise_if_interrupted:
            iteration = first_round
            while iteration < n_rounds:
                fitted = learner.fit(rule.targets(iteration), iteration)
                result = rule.update(fitted, iteration)
                if result is None:
                    raise_if_interrupted()
                    continue
                values = (result.n_leaves, result.train_loss, result.validation_loss, result.measure)
                done = Round(iteration, n_rounds, time.perf_counter() - start, *values)
                stops = [callback(done) for callback in callbacks]  # call all of them before stopping
                raise_if_interrupted()
                if result.last or any(stops):
                    return
                iteration += 1
    except StopBoosting:
        return
    except KeyboardInterrupt:
        if raise_interrupt:
            raise
        message = "fit was interrupted: the model holds the rounds finished so far"
        warnings.warn(message, FitInterruptedWarning, stacklevel=2)


@contextmanager
def _delayed_interrupts() -> Iterator[Callable[[], None]]:
    """Delay an interrupt until the end of the round, so that no thread of a team waits for another forever.

    Yields a function that raises a delayed interrupt. Only Python's default handler is replaced, and only
    in the main thread, where signals arrive. A second interrupt is raised immediately.
    """
    received: list[int] = []

    def handler(number: int, _frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    def raise_if_interrupted() -> None:
        if received:
            raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield raise_if_interrupted
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield raise_if_interrupted
    finally:
        if signal.getsignal(signal.SIGINT) is handler:  # a callback may have set another one
            signal.signal(signal.SIGINT, signal.default_int_handler)


# --- a fit with the callbacks of its options


class Checkpointer(Protocol):
    """Stores a fit that is in progress, so that it can be resumed.

    past_rounds : rounds of the resumed fit; callbacks are called with them again
    initial_losses : validation losses before the first round, if the fit started from a model
    """

    past_rounds: Sequence[Round]
    initial_losses: tuple[float, ...] | None

    def pop_scores(self) -> dict[str, Any]:
        """Return and release the scores of rows of the resumed fit, if they were stored."""

    def after_round(self, done: Round, snapshot: Callable[[], Any]) -> None:
        """Store the fit if it is due; `snapshot` returns the result of the rounds so far."""

    def finish(self, snapshot: Callable[[], Any]) -> None:
        """Store the fit after the last round."""


@dataclass(eq=False, kw_only=True)
class FitOptions:
    """Options that all methods share.

    patience, tol : those of `EarlyStopping`; patience=None for no early stopping
    verbose : 1 for a progress bar, 2 for a line per round
    validation_rows : training rows that are used for validation instead of training
    title : of the progress bar
    """

    n_rounds: int
    seed: int = 0
    estimator: Any = None
    n_threads: int = 1
    chunk_rows: int = CHUNK_ROWS
    patience: int | None = None
    tol: float = 1e-7
    verbose: int = 0
    callbacks: Sequence[Callback] = ()
    validation_rows: NDArray[np.uint32] | None = None
    title: str = "boosting"
    checkpointer: Checkpointer | None = None

    def size(self, train: Dataset, evaluations: Sequence[Dataset], **more: Any) -> FitSize:
        """Return the numbers that a memory estimate of the fit needs; `more` are further fields."""
        return FitSize.of(
            train.table,
            self.title,
            n_threads=self.n_threads,
            n_evaluated=sum(rows.table.n_rows for rows in evaluations),
            n_held_out=0 if self.validation_rows is None else len(self.validation_rows),
            n_rounds=1 if self.patience is not None or self.callbacks else self.n_rounds,
            **more,
        )

    def backend(self, table: Table) -> Backend:
        """Choose where the rows of a table are kept; no other code does. A device would be an option."""
        if not isinstance(table, RemoteTable):
            return CpuBackend()
        from hedgerow.backends.sharded import ShardedBackend  # noqa: PLC0415 - for remote tables only

        return ShardedBackend(table.cluster)


class History:
    """Callback that collects the values of all rounds in lists, by name.

    Examples
    --------
    >>> history = History()
    >>> history(Round(0, 1, 0.5, n_leaves=31, validation_loss=(0.6,)))
    >>> history.record
    {'round': [0], 'seconds': [0.5], 'leaves': [31], 'validation_loss': [0.6]}
    """

    def __init__(self) -> None:
        self.record: HistoryDict = {}

    def __call__(self, done: Round) -> None:
        """Process a finished round."""
        values: dict[str, float | None] = {
            "round": done.number,
            "seconds": done.seconds,
            "leaves": done.n_leaves,
            f"train_{done.measure}": done.train_loss,
        }
        for i, loss in enumerate(done.validation_loss):
            name = f"validation_{done.measure}"
            values[name if i == 0 else f"{name}_{i}"] = loss
        for name, value in values.items():
            if value is not None:
                self.record.setdefault(name, []).append(value)


class EarlyStopping:
    """Stop when the loss on the first evaluation set has not improved for `patience` rounds.

    Parameters
    ----------
    patience : int
        Number of rounds without improvement after which the fit stops.
    tol : float
        A loss is an improvement only if it is lower than the best by more than `tol` times the improvement
        since the first round, or since the model that a warm start continues. This does not depend on the
        unit of the target, and holds for losses that may be negative.

    Attributes
    ----------
    best_round : int
        Index of the best round so far, -1 before the first. As one of the `callbacks` of a fit it only
        stops; with ``early_stopping=True`` the model is also truncated after this round.

    Examples
    --------
    >>> stopper = EarlyStopping(patience=2)
    >>> [bool(stopper(Round(i, 9, 0.0, validation_loss=(x,)))) for i, x in enumerate([3, 2, 2, 2, 1])]
    [False, False, False, True, False]
    >>> stopper.best_round
    4
    """

    def __init__(self, patience: int = 10, tol: float = 1e-7) -> None:
        if not patience >= 1:
            raise ValueError(f"patience={patience} is not allowed: it must be an integer >= 1")
        if not tol >= 0:
            raise ValueError(f"tol={tol} is not allowed: it must be a number >= 0")
        self.patience = patience
        self.tol = tol
        self.first_loss, self.best_loss = math.nan, math.inf
        self.best_round = self.last_round = -1

    def __call__(self, done: Round) -> bool:
        """Process a finished round."""
        if not done.validation_loss:
            raise ValueError("EarlyStopping needs an evaluation set: pass eval_set to fit")
        if done.number <= self.last_round:  # a new fit has started
            self.first_loss, self.best_loss, self.best_round = math.nan, math.inf, -1
        self.last_round = done.number
        loss = done.validation_loss[0]
        improvement = self.first_loss - self.best_loss
        if loss < self.best_loss - (self.tol * improvement if math.isfinite(improvement) else 0.0):
            self.best_loss, self.best_round = loss, done.number
            if not math.isfinite(self.first_loss):
                self.first_loss = loss
        if self.best_round < 0:  # the first round counts even if its loss is infinite
            self.best_round = done.number
        return done.number - self.best_round >= self.patience


class EvaluatedRule(UpdateRule, Protocol):
    """An update rule that computes losses of evaluation sets."""

    def evaluate(self) -> tuple[float, ...]:
        """Return the loss or error of each evaluation set at the current scores."""


def run_rounds(
    rule: EvaluatedRule,
    learner: WeakLearner,
    options: FitOptions,
    first_round: int,
    *,
    has_evaluation_sets: bool,
    snapshot: Callable[[HistoryDict, int | None], Any],
    finished: bool = False,
) -> tuple[HistoryDict, int | None]:
    """Boost with the callbacks of the options; return the history and, with early stopping, the best round.

    snapshot : returns the result of the fit so far, from the history and the best round; None within a round
        that was interrupted, if no fit could be resumed from there.
    finished : whether the resumed model cannot have further rounds.
    """
    checkpointer = options.checkpointer
    past = checkpointer.past_rounds if checkpointer else ()
    if finished and not past:
        return {}, None
    history = History()
    callbacks: list[Callback] = [history]
    stopper = None
    if options.patience is not None and has_evaluation_sets:
        stopper = EarlyStopping(options.patience, options.tol)
        _start_from_model(stopper, rule, options, first_round)
        callbacks.append(stopper)
    callbacks += options.callbacks  # last: an error in one of them leaves the others complete

    def best_round() -> int | None:
        return None if stopper is None or stopper.best_round < 0 else stopper.best_round

    for done in past:
        stops = [callback(done) for callback in callbacks[1:]]  # call all of them, as in the loop
        finished = finished or any(stops)
    if checkpointer:
        callbacks.append(
            lambda done: checkpointer.after_round(done, lambda: snapshot(history.record, best_round()))
        )
    with ExitStack() as stack:
        if options.verbose:
            lines = options.verbose > 1
            bar = stack.enter_context(ProgressBar(options.n_rounds, options.title, lines=lines))
            callbacks.append(lambda done: bar.update(done.number + 1, format_losses(done)))
        if not finished:
            boost(rule, learner, options.n_rounds, callbacks, first_round)
    if checkpointer:
        checkpointer.finish(lambda: snapshot(history.record, best_round()))
    return history.record, best_round()


def _start_from_model(
    stopper: EarlyStopping, rule: EvaluatedRule, options: FitOptions, first_round: int
) -> None:
    """Count a model that the fit starts from as the best one so far."""
    checkpointer = options.checkpointer
    past = checkpointer.past_rounds if checkpointer else ()
    if checkpointer and past:
        losses = checkpointer.initial_losses
    else:
        losses = rule.evaluate() if first_round else None
    if losses is not None:
        last_round = (past[0].number if past else first_round) - 1
        stopper(Round(last_round, options.n_rounds, 0.0, validation_loss=losses))
        if checkpointer:
            checkpointer.initial_losses = losses
