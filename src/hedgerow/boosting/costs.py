"""Margin costs: what AnyBoost makes small. m = y F is the margin of a row, one array a call.

A cost falls as the margin rises and is never negative, so that cost(m) / cost(0) is at least 1 where a row
is wrong: its mean bounds the training error. Of a user's own cost the same is asked.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from hedgerow._typing import Floats
from hedgerow.losses.base import LogitLink, exp, log


@runtime_checkable
class MarginCost(Protocol):
    """A cost of margins; `normalised` (optional, False) asks for margins divided by the sum of weights."""

    def cost(self, margin: Floats) -> Floats:
        """The cost of every margin."""

    def derivative(self, margin: Floats) -> Floats:
        """Its derivative, never positive."""


class ExponentialCost:
    """exp(-m): AnyBoost is AdaBoost.

    >>> ExponentialCost().cost(np.zeros(1))
    array([1.])
    """

    normalised: ClassVar[bool] = False

    def cost(self, margin: Floats) -> Floats:
        """exp(-m)."""
        return exp(-margin)

    def derivative(self, margin: Floats) -> Floats:
        """-exp(-m)."""
        return -exp(-margin)

    def probability(self, score: Floats) -> Floats:
        """The probability of the second class that has this score as its best."""
        return LogitLink(2.0).inverse(score)


class LogisticCost:
    """ln(1 + exp(-m)).

    >>> LogisticCost().derivative(np.zeros(1))
    array([-0.5])
    """

    normalised: ClassVar[bool] = False

    def cost(self, margin: Floats) -> Floats:
        """max(-m, 0) + ln(1 + exp(-|m|))."""
        return np.maximum(-margin, 0.0) + log(1.0 + exp(-np.abs(margin)))

    def derivative(self, margin: Floats) -> Floats:
        """-1 / (1 + exp(m))."""
        return -LogitLink().inverse(-margin)

    def probability(self, score: Floats) -> Floats:
        """The probability of the second class that has this score as its best."""
        return LogitLink().inverse(score)


class SigmoidCost:
    """1 - tanh(slope * (m - centre)) of the normalised margin m (DOOM II, Mason et al. 2000).

    It gives up on rows that are far on the wrong side, which makes it robust against wrong labels: the
    smaller the slope, the more so, and the slower. The centre lies below 0 so that rows on the wrong side
    weigh a little more than those on the right one. At 0 all rows would weigh the same after the first
    voter, and no second one would be a descent.

    >>> SigmoidCost().cost(np.array([-1.0, -0.1, 1.0])).round(3)
    array([2., 1., 0.])
    """

    normalised: ClassVar[bool] = True

    def __init__(self, slope: float = 10.0, centre: float = -0.1) -> None:
        self.slope, self.centre = slope, centre

    def __repr__(self) -> str:
        return f"SigmoidCost(slope={self.slope}, centre={self.centre})"

    def cost(self, margin: Floats) -> Floats:
        """1 - tanh(t) = 2 / (1 + exp(2 t))."""
        return 2.0 * LogitLink().inverse(-2.0 * self.slope * (margin - self.centre))

    def derivative(self, margin: Floats) -> Floats:
        """-s (1 - tanh(t)**2)."""
        half = LogitLink().inverse(2.0 * self.slope * (margin - self.centre))
        return -4.0 * self.slope * half * (1.0 - half)


COSTS: dict[str, Any] = {
    "exponential": ExponentialCost,
    "logistic": LogisticCost,
    "sigmoid": SigmoidCost,
}


def make_cost(cost: Any) -> MarginCost:
    """A cost by its name, or the user's own."""
    made: MarginCost = COSTS[cost]() if isinstance(cost, str) else cost
    return made
