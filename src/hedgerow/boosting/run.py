"""Running the loop as a fit asks for it: the callbacks of its parameters around the user's own."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from hedgerow.boosting.callbacks import EarlyStopping, History
from hedgerow.boosting.loop import Callback, UpdateRule, WeakLearner, boost


class Plan(Protocol):
    """What is asked of a run, among the settings of any fit."""

    @property
    def n_rounds(self) -> int:
        """Rounds in all."""

    @property
    def patience(self) -> int | None:
        """Rounds without improvement that end it; None to go on."""

    @property
    def tol(self) -> float:
        """What counts as improvement."""

    @property
    def verbose(self) -> int:
        """1 for a bar, 2 for a line a round."""

    @property
    def callbacks(self) -> Sequence[Callback]:
        """The user's own."""

    @property
    def title(self) -> str:
        """Of the bar."""


def run(
    rule: UpdateRule, learner: WeakLearner, plan: Plan, first_round: int, *, followed: bool
) -> tuple[dict[str, list[float]], int | None]:
    """Boost; returns the history and, when stopping early, the best round.

    followed : whether there are evaluation sets.
    """
    history = History()
    callbacks: list[Callback] = [history]
    stopper = None
    if plan.patience is not None and followed:
        stopper = EarlyStopping(plan.patience, plan.tol)
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
