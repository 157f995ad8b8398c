"""AnyBoost: gradient descent in the space of functions on any cost of margins (Mason et al. 2000).

The derivative of the cost at the margin of a row is its weight, a learner that votes well under these
weights is a direction of descent, and a line search finds how far to go:

    D ~ -C'(m),   stop unless sum of D (y h - m') > 0,   alpha = argmin of sum of w C(margin after the step)

with m = y F and m' = 0. A cost of the normalised margin (DOOM II) looks at m = y F / max(1, sum of alpha),
and m' = m once the sum has reached 1. Its steps are short, a tenth of the whole at the most: the first voter
alone would already be the whole.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import (
    CHANCE,
    AdaBoostRule,
    Addition,
    Record,
    RuleSettings,
    ScoredRows,
    Step,
    n_leaves,
    split_error,
)
from hedgerow.boosting.costs import MarginCost
from hedgerow.boosting.loop import RoundResult
from hedgerow.boosting.row_weights import Distribution, RowWeights
from hedgerow.kernels.cpu.elementary import log
from hedgerow.members import vote

_LARGEST_STEP = 32.0
_SHORT_STEP = 0.1
_SEARCH_STEPS = 60
_FLAT = 1e-14  # a slope this small against the one at 0 is rounding


class AnyRule(AdaBoostRule):
    """AnyBoost on a margin cost."""

    measure = "loss"

    def __init__(
        self,
        train: ScoredRows,
        evaluations: Sequence[ScoredRows],
        weights: RowWeights,
        settings: RuleSettings,
        record: Record | None = None,
        *,
        cost: MarginCost,
    ) -> None:
        self.cost = cost
        self.normalised = bool(getattr(cost, "normalised", False))
        self._signs = np.where(train.classes == 1, 1.0, -1.0)
        super().__init__(train, evaluations, weights, settings, record)
        self._last_bound = self.bound()

    @property
    def length(self) -> float:
        """What scores are divided by."""
        return max(1.0, math.fsum(self.record.weights)) if self.normalised else 1.0

    def weigh(self) -> Distribution:
        """Weigh a row minus the derivative of its cost."""
        scores = self.train.raw[0] if self._since is None else self.train.raw[0] - self._since[0]
        weight = -self._derivative(self._signs * scores / self.length) * self.factor
        self._flat = not np.any(weight > 0)
        if not self._flat:
            return self.weights.distribution(weight)
        if not self.record.weights:
            raise ValueError(
                f"cost={self.cost!r}: its derivative is 0 at margin 0, there is nothing to descend"
            )
        self.stop_reason = "the cost is flat at the margins of all rows: nothing is left to learn"
        return self.weights.uniform()

    def _derivative(self, margins: Floats) -> Floats:
        slopes = np.asarray(self.cost.derivative(margins), np.float64)
        if slopes.shape != margins.shape or not np.all(np.isfinite(slopes)) or np.any(slopes > 0):
            raise ValueError(
                f"cost={self.cost!r}: its derivative must be one finite number <= 0 for every margin"
            )
        return slopes

    def _costs(self, margins: Floats) -> Floats:
        costs = np.asarray(self.cost.cost(margins), np.float64)
        if costs.shape != margins.shape or not np.all(np.isfinite(costs)) or np.any(costs < 0):
            raise ValueError(f"cost={self.cost!r}: it must give one finite number >= 0 for every margin")
        return costs

    def step(self, answers: list[Any]) -> Step | None:
        """Search the length of the step along the votes."""
        (answer,) = answers
        right, wrong = split_error(answer)
        error = wrong / (right + wrong)
        agrees = self._signs * vote(answer.votes, 2)[0][answer.cells]  # y h of every row
        pull = 1.0 - 2.0 * error
        if self.normalised and math.fsum(self.record.weights) >= 1.0:
            weight = self.distribution.weight
            margins = self._signs * self.train.raw[0] / self.length
            pull -= self.weights.sum(weight * margins) / self.distribution.total
        if pull <= 2.0 * CHANCE:
            return None
        # Nothing costs less than a perfect answer alone; rows of weight 0 (a hinge has them) count as well.
        final = not np.any((agrees < 0) & (self.weights.factor > 0))
        if final:  # its word is final, as in AdaBoost: more weight than all others together
            alpha = 0.5 * log((1.0 + self.smoothing) / self.smoothing) + math.fsum(self.record.weights)
        else:
            alpha = self.learning_rate * self._search(self._signs * self.train.raw[0], agrees)
        table = alpha * vote(answer.votes, 2)
        return Step([Addition(answer, 0, table)], alpha, error, math.nan, alpha, last=final)

    def _search(self, scores: Floats, agrees: Floats) -> float:
        """The step where the cost along the direction stops to fall; scores are y F of every row."""
        before = math.fsum(self.record.weights)

        def slope(step: float) -> float:
            length = max(1.0, before + step) if self.normalised else 1.0
            moved = (scores + step * agrees) / length
            turn = (agrees - moved) / length if self.normalised and before + step > 1.0 else agrees
            return self.weights.sum(self._derivative(moved) * turn * self.weights.factor)

        if not self.normalised:
            return rising_root(slope, 0.5, _LARGEST_STEP)
        furthest = _SHORT_STEP * self.length
        return rising_root(slope, furthest, furthest)

    def bound(self) -> float:
        """Mean cost over the cost of margin 0."""
        zero = float(self._costs(np.zeros(1))[0])
        return self._mean_cost(self.train) / zero if zero > 0 else math.nan

    def outcome(self, step: Step) -> RoundResult:
        """Follow the cost."""
        bound = self.record.bounds[-1]
        factor = bound / self._last_bound if self._last_bound else 1.0  # a hinge may cost nothing at all
        step.normalizer = self.record.normalizers[-1] = factor
        self._last_bound = bound
        train, last = self._mean_cost(self.train), step.last or self._flat
        return RoundResult(n_leaves(step), train, self.evaluate(), self.measure, last)

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(self._mean_cost(judged) for judged in self.evaluations)

    def _mean_cost(self, judged: ScoredRows) -> float:
        signs = np.where(judged.classes == 1, 1.0, -1.0)
        costs = self._costs(signs * judged.raw[0] / self.length)
        if judged is self.train:
            return self.weights.sum(costs * self.weights.factor) / self.initial_total
        weight = np.ones(len(costs)) if judged.weight is None else judged.weight
        return math.fsum(costs * weight) / math.fsum(weight)


def rising_root(slope: Callable[[float], float], scale: float, furthest: float) -> float:
    """Where a slope that is negative at 0 rises through zero; `furthest` if it does not before.

    The bracket is doubled from `scale`, then cut by the rule of false position, where an end that stays
    counts half (Illinois).

    >>> round(rising_root(lambda x: x * x - 2, 0.1, 64.0), 9)
    1.414213562
    """
    low, high = 0.0, scale
    at_low, at_high = slope(low), slope(high)
    flat = abs(at_low)
    while at_high < 0.0:
        low, at_low, high = high, at_high, 2.0 * high
        if high > furthest:
            return furthest
        at_high = slope(high)
    side, middle = 0, high
    for _ in range(_SEARCH_STEPS):
        if high - low <= 1e-12 * high or at_high == at_low:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = middle if low < middle < high else 0.5 * (low + high)
        value = slope(middle)
        if abs(value) <= _FLAT * flat:
            break
        if value < 0.0:
            low, at_low = middle, value
            at_high *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, at_high = middle, value
            at_low *= 0.5 if side > 0 else 1.0
            side = 1
    return middle
