"""Costs of the margin m = y F, which AnyBoost minimizes; methods take arrays of margins.

A cost decreases with the margin and is never negative, so that cost(m) / cost(0) is at least 1 for a
misclassified row: its mean is an upper bound of the training error. A custom cost must have these properties.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from hedgerow._typing import Floats
from hedgerow.elementary import exp, log
from hedgerow.losses.base import LogitLink


@runtime_checkable
class MarginCost(Protocol):
    """A cost of margins; with the attribute `normalised` margins are divided by the sum of weights."""

    def cost(self, margin: Floats) -> Floats:
        """Return the cost of every margin."""

    def derivative(self, margin: Floats) -> Floats:
        """Return the derivative, which is never positive."""


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
        """Return the probability of the second class for which the score minimizes the expected cost."""
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
        """Return the probability of the second class for which the score minimizes the expected cost."""
        return LogitLink().inverse(score)


class SigmoidCost:
    """1 - tanh(slope * (m - centre)) of the normalized margin m (DOOM II, Mason et al. 2000).

    Rows far on the wrong side have little weight, which makes it robust against wrong labels. A smaller slope
    is more robust and slower. The centre is below 0 so that misclassified rows have a little more weight than
    others. With a centre of 0 all rows would have the same weight after the first round, and no second
    learner would be a descent direction.

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
    """Return a cost by its name, or a custom cost."""
    named_or_custom: MarginCost = COSTS[cost]() if isinstance(cost, str) else cost
    return named_or_custom
