"""Running the loop as a fit asks for it: the callbacks of its parameters around the user's own."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.callbacks import EarlyStopping, History
from hedgerow.boosting.loop import Callback, Round, UpdateRule, WeakLearner, boost
from hedgerow.threads import CHUNK_ROWS


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


class Watched(UpdateRule, Protocol):
    """A rule that follows evaluation sets."""

    def validation(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""


def run(
    rule: Watched, learner: WeakLearner, plan: Plan, first_round: int, *, followed: bool
) -> tuple[dict[str, list[float]], int | None]:
    """Boost; returns the history and, when stopping early, the best round.

    followed : whether there are evaluation sets.
    """
    history = History()
    callbacks: list[Callback] = [history]
    stopper = None
    if plan.patience is not None and followed:
        stopper = EarlyStopping(plan.patience, plan.tol)
        if first_round:  # a model that is gone on from is the best so far
            stopper(Round(first_round - 1, plan.n_rounds, 0.0, validation_loss=rule.validation()))
        callbacks.append(stopper)
    callbacks += plan.callbacks  # after ours: an error or an interrupt in one leaves these complete
    with ExitStack() as stack:
        if plan.verbose:
            callbacks.append(_progress(plan, stack))
        boost(rule, learner, plan.n_rounds, callbacks, first_round)
    best = None if stopper is None or stopper.best_round < 0 else stopper.best_round
    return history.record, best


def _progress(plan: Plan, stack: ExitStack) -> Any:
    from hedgerow.boosting.progress import Printer, ProgressBar  # noqa: PLC0415 - loads rich

    if plan.verbose > 1:
        return Printer()
    return stack.enter_context(ProgressBar(plan.n_rounds, plan.title))
