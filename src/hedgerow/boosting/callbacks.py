"""Callbacks: small objects that are told of every round and may end the fit.

A callback is anything that can be called with a `Round`; a true answer stops. Those here are what `fit`
makes from its parameters, and what users may pass to ``fit(..., callbacks=[...])``.
"""

import math

from hedgerow.boosting.loop import Round


class EarlyStopping:
    """Stop when the loss on the first evaluation set has not improved for some rounds.

    Parameters
    ----------
    patience : int
        Rounds without improvement that end the fit.
    tol : float
        A loss counts as better only when it is lower by more than this.

    Attributes
    ----------
    best_round : int
        Number of the best round so far, -1 before the first. Among the `callbacks` of a fit it only stops;
        with ``early_stopping=True`` the model is cut back to this round too.

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
        self.best_loss = math.inf
        self.best_round = self.last_round = -1

    def __call__(self, done: Round) -> bool:
        """Look at a round."""
        if not done.validation_loss:
            raise ValueError("EarlyStopping needs an evaluation set: give fit an eval_set")
        if done.number <= self.last_round:  # another fit: start anew
            self.best_loss, self.best_round = math.inf, -1
        self.last_round = done.number
        loss = done.validation_loss[0]
        if loss < self.best_loss - self.tol:
            self.best_loss, self.best_round = loss, done.number
        if self.best_round < 0:  # the first, whatever it is: a loss may begin infinite
            self.best_round = done.number
        return done.number - self.best_round >= self.patience


class TimeLimit:
    """Stop after the first round that ends later than `seconds` after the start.

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
        """Look at a round."""
        return done.seconds >= self.seconds


class History:
    """Keep what every round reports, as lists by name.

    Examples
    --------
    >>> history = History()
    >>> history(Round(0, 1, 0.5, n_leaves=31, validation_loss=(0.6,)))
    >>> history.record
    {'round': [0], 'seconds': [0.5], 'leaves': [31], 'validation_loss': [0.6]}
    """

    def __init__(self) -> None:
        self.record: dict[str, list[float]] = {}

    def __call__(self, done: Round) -> None:
        """Look at a round."""
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


def format_losses(done: Round) -> str:
    """Format the losses of a round for a progress line.

    >>> format_losses(Round(0, 5, 1.0, train_loss=0.25, validation_loss=(0.5,)))
    'train 0.25000  validation 0.50000'
    """
    losses = [("train", done.train_loss), *(("validation", loss) for loss in done.validation_loss)]
    return "  ".join(f"{name} {loss:.5f}" for name, loss in losses if loss is not None)
