"""Callbacks: objects that are called with a `Round` after every round and may stop the fit.

`fit` creates some of them from its parameters (see `loop`); users pass others with
``fit(..., callbacks=[...])``. Any callable that takes a `Round` is a callback. A true return value stops the
fit.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Round:
    """The result of one boosting round, as callbacks receive it.

    Attributes
    ----------
    number, n_rounds : int
        Index of the finished round, from 0, and the number of planned rounds.
    seconds : float
        Seconds since the start of the fit.
    n_leaves : int
        Leaves of the trees of this round; 0 for learners that are not trees.
    train_loss : float or None
        Mean loss on the training rows, if it is computed.
    validation_loss : tuple of float
        Mean loss on each evaluation set.
    measure : str
        Meaning of the two losses: "loss", or "error" for the fraction of misclassified rows.

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


class Callback(Protocol):
    """A callable that receives every round; a true return value stops the fit."""

    def __call__(self, done: Round, /) -> bool | None:
        """Process a finished round."""


HistoryDict = dict[str, list[float]]  # the values of all rounds by name; see `loop.History`


class TimeLimit:
    """Stop after the first round that ends more than `seconds` after the start of the fit.

    Examples
    --------
    >>> limit = TimeLimit(60)
    >>> limit(Round(0, 10, seconds=59.0)), limit(Round(1, 10, seconds=61.0))
    (False, True)
    """

    def __init__(self, seconds: float) -> None:
        if not seconds > 0:
            raise ValueError(f"seconds={seconds}: a time limit must be positive")
        self.seconds = seconds

    def __call__(self, done: Round) -> bool:
        """Process a finished round."""
        return done.seconds >= self.seconds


def format_losses(done: Round) -> str:
    """Format the losses of a round for a progress line.

    >>> format_losses(Round(0, 5, 1.0, train_loss=0.25, validation_loss=(0.5,)))
    'train 0.25000  validation 0.50000'
    """
    losses = [("train", done.train_loss), *(("validation", loss) for loss in done.validation_loss)]
    return "  ".join(f"{name} {loss:.5f}" for name, loss in losses if loss is not None)
