"""Margin costs: what AnyBoost makes small. m = y F is the margin of a row, one array a call.

A cost falls as the margin rises and is never negative, so that cost(m) / cost(0) is at least 1 where a row
is wrong: its mean bounds the training error. Of a user's own cost the same is asked.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.losses.links import LogitLink, exp, log

Floats = NDArray[np.float64]


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
    """1 - tanh(slope * m) of the normalised margin (DOOM II, Mason et al. 2000).

    It gives up on rows that are far on the wrong side, which makes it robust against wrong labels.

    >>> SigmoidCost().cost(np.array([-1.0, 0.0, 1.0])).round(3)
    array([1.995, 1.   , 0.005])
    """

    normalised: ClassVar[bool] = True

    def __init__(self, slope: float = 3.0) -> None:
        self.slope = slope

    def cost(self, margin: Floats) -> Floats:
        """1 - tanh(s m) = 2 / (1 + exp(2 s m))."""
        return 2.0 * LogitLink().inverse(-2.0 * self.slope * margin)

    def derivative(self, margin: Floats) -> Floats:
        """-s (1 - tanh(s m)**2)."""
        half = LogitLink().inverse(2.0 * self.slope * margin)
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
