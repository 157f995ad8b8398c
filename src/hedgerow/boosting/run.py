"""Running the loop as a fit asks for it: the callbacks of its parameters around the user's own."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.callbacks import EarlyStopping, History, format_losses
from hedgerow.boosting.loop import Callback, Round, UpdateRule, WeakLearner, boost
from hedgerow.progress import ProgressBar
from hedgerow.threads import CHUNK_ROWS

Record = dict[str, list[float]]


class Keeper(Protocol):
    """Keeps a fit while it is under way, so that it can go on after it was stopped.

    Attributes
    ----------
    past : rounds done before this process took over; callbacks are told of them again
    base : what was followed of the evaluation sets before the first of all rounds, if there was a model
    """

    past: Sequence[Round]
    base: tuple[float, ...] | None

    def note(self, done: Round, made: Callable[[], Any]) -> None:
        """Look at a round; `made` gives what the fit would leave if it ended now."""

    def end(self, made: Callable[[], Any]) -> None:
        """Look at the end of all rounds."""


@dataclass(eq=False, kw_only=True)
class Plan:
    """What every fit is told beside its method: how many rounds, on what, and who watches.

    Parameters
    ----------
    n_rounds : int
    seed : int
    estimator : the user's weak learner, or None
    n_threads, chunk_rows : int
    patience, tol : int or None, float
        Rounds without an improvement of more than `tol` that end the fit; None to go on.
    verbose : int
        1 for a bar, 2 for a line a round.
    callbacks : sequence of callables
        The user's own.
    held_out : uint32 rows
        Training rows kept for validation instead.
    title : str
        Of the bar.
    keeper : Keeper or None
        Of a fit with a checkpoint.
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
    held_out: NDArray[np.uint32] | None = None
    title: str = "boosting"
    keeper: Keeper | None = None


class Watched(UpdateRule, Protocol):
    """A rule that follows evaluation sets."""

    def validation(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""


def run(
    rule: Watched,
    learner: WeakLearner,
    plan: Plan,
    first_round: int,
    *,
    followed: bool,
    made: Callable[[Record, int | None], Any],
    over: bool = False,
) -> tuple[Record, int | None]:
    """Boost; returns the history and, when stopping early, the best round.

    followed : whether there are evaluation sets.
    made : from these two to what the fit would leave with all rounds so far.
    over : whether nothing can follow on the rounds gone on from.
    """
    past = plan.keeper.past if plan.keeper else ()
    if over and not past:
        return {}, None
    history = History()
    callbacks: list[Callback] = [history]
    stopper = None
    if plan.patience is not None and followed:
        stopper = EarlyStopping(plan.patience, plan.tol)
        base = plan.keeper.base if plan.keeper and past else rule.validation() if first_round else None
        if base is not None:  # a model that is gone on from is the best so far
            before = (past[0].number if past else first_round) - 1
            stopper(Round(before, plan.n_rounds, 0.0, validation_loss=base))
            if plan.keeper:
                plan.keeper.base = base
        callbacks.append(stopper)
    callbacks += plan.callbacks  # after ours: an error or an interrupt in one leaves these complete

    def best() -> int | None:
        return None if stopper is None or stopper.best_round < 0 else stopper.best_round

    for done in past:
        answers = [callback(done) for callback in callbacks[1:]]  # all are told, as in the loop
        over = over or any(answers)
    if plan.keeper:
        keeper = plan.keeper
        callbacks.append(lambda done: keeper.note(done, lambda: made(history.record, best())))
    with ExitStack() as stack:
        if plan.verbose:
            bar = stack.enter_context(ProgressBar(plan.n_rounds, plan.title, lines=plan.verbose > 1))
            callbacks.append(lambda done: bar.update(done.number + 1, format_losses(done)))
        if not over:
            boost(rule, learner, plan.n_rounds, callbacks, first_round)
    if plan.keeper:
        plan.keeper.end(lambda: made(history.record, best()))
    return history.record, best()
