"""The boosting loop: ask, answer, take, tell.

Every boosting algorithm of the library is this loop with another update rule (what is asked for, and what
is done with the answer), another weak learner (who answers) and other callbacks (who watches).
"""

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Round:
    """What callbacks are told after a round.

    Attributes
    ----------
    number, n_rounds : int
        The round just done, from 0, and how many are planned.
    seconds : float
        Since the start of the fit.
    n_leaves : int
        Leaves of the trees of this round; 0 for learners that are not trees.
    train_loss : float or None
        Mean loss on the training rows, when it is followed.
    validation_loss : tuple of float
        Mean loss on each evaluation set.
    measure : str
        What these are: "loss", or "error" for the share of rows classified wrongly.

    Examples
    --------
    >>> done = Round(number=9, n_rounds=100, seconds=0.2, validation_loss=(0.31,))
    >>> f"{done.number + 1} of {done.n_rounds}: {done.validation_loss[0]}"
    '10 of 100: 0.31'
    """

    number: int
    n_rounds: int
    seconds: float
    n_leaves: int = 0
    train_loss: float | None = None
    validation_loss: tuple[float, ...] = ()
    measure: str = "loss"


@dataclass(frozen=True)
class Outcome:
    """What an update rule says of an answer it has added to the ensemble; fields as those of `Round`.

    `last` ends the fit: nothing is left to learn.
    """

    n_leaves: int = 0
    train_loss: float | None = None
    validation_loss: tuple[float, ...] = ()
    measure: str = "loss"
    last: bool = False


class Callback(Protocol):
    """Called after every round; a true answer ends the fit."""

    def __call__(self, done: Round, /) -> bool | None:
        """Look at a round."""


class UpdateRule(Protocol):
    """What the next learner is asked for, and what is done with its answer."""

    def ask(self, number: int) -> Any:
        """Say what the learner of round `number` should fit."""

    def take(self, answer: Any, number: int) -> Outcome | None:
        """Add the answer to the ensemble, or refuse it and return None: then it is asked again.

        A rule that refuses and has nothing else to ask raises `NoBetter`.
        """


class NoBetter(Exception):  # noqa: N818 - an end, not an error
    """The rule refuses the answer and has nothing else to ask: the rounds so far are the model."""


class WeakLearner(Protocol):
    """Fits what the update rule asks for."""

    def answer(self, request: Any, number: int) -> Any:
        """Fit a member for the request of round `number`."""


def boost(
    rule: UpdateRule,
    learner: WeakLearner,
    n_rounds: int,
    callbacks: Sequence[Callback] = (),
    first_round: int = 0,
    *,
    whole: bool = False,
) -> None:
    """Run rounds `first_round` to `n_rounds` - 1, until a callback ends it.

    An interrupt (Ctrl-C) ends it too, with a warning: the rounds done so far make a complete model. If only
    the `whole` is of use, the interrupt is raised.
    """
    began = time.perf_counter()
    try:
        with _interrupts_at_rounds() as check:
            number = first_round
            while number < n_rounds:
                answer = learner.answer(rule.ask(number), number)
                taken = rule.take(answer, number)
                if taken is None:
                    check()
                    continue
                told = (taken.n_leaves, taken.train_loss, taken.validation_loss, taken.measure)
                done = Round(number, n_rounds, time.perf_counter() - began, *told)
                answers = [callback(done) for callback in callbacks]  # all are told before any may end it
                check()
                if taken.last or any(answers):
                    return
                number += 1
    except NoBetter:
        return
    except KeyboardInterrupt:
        if whole:
            raise
        warnings.warn("fit was interrupted: the model holds the rounds finished so far", stacklevel=2)


@contextmanager
def _interrupts_at_rounds() -> Iterator[Callable[[], None]]:
    """Hold an interrupt back until the round is done: threads of a team must not lose each other in it.

    Gives a function that raises it then. Only Python's own handler is replaced, and only in the main
    thread, where signals arrive; a second interrupt comes through at once.
    """
    came: list[int] = []

    def note(number: int, _frame: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # a callback may have set another
            signal.signal(signal.SIGINT, signal.default_int_handler)
