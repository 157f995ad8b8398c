"""Rules that minimise a loss: AnyBoost, and LogitBoost (see `LogitRule`).

AnyBoost is gradient descent in function space on any cost of the margin (Mason et al. 2000).

The weight of a row is the negative derivative of the cost at its margin. A learner that votes well under
these weights is a descent direction, and a line search finds the length of the step:

    D ~ -C'(m),   stop unless sum of D (y h - m') > 0,   alpha = argmin of sum of w C(margin after the step)

with m = y F and m' = 0. A cost of the normalized margin (DOOM II) has m = y F / max(1, sum of alpha), and
m' = m once the sum is at least 1. Its steps are at most a tenth of the sum: otherwise the first learner alone
would be the whole ensemble.
"""

import abc
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import split_error
from hedgerow.boosting.adaboost_family import CHANCE, AdaBoostRule, ScoredRows, ScoreUpdate, Step
from hedgerow.boosting.adaboost_members import FittedMember
from hedgerow.boosting.costs import MarginCost
from hedgerow.boosting.loop import RoundResult
from hedgerow.boosting.weak_learners import (
    Classes,
    Distribution,
    NumericTargets,
    Targets,
    vote_directions,
)
from hedgerow.kernels.cpu.elementary import log
from hedgerow.losses import Loss, make_loss
from hedgerow.losses.base import LogitLink, SoftmaxLink
from hedgerow.threads import cached_property

MAX_RESPONSE = 4.0  # of LogitBoost
MIN_WEIGHT = 2.0**-51  # of p (1 - p): twice the machine epsilon
_MAX_STEP = 32.0
_MAX_RELATIVE_STEP = 0.1  # of the sum of weights, for normalized margins
_SEARCH_ITERATIONS = 60
_FLAT = 1e-14  # a slope this small relative to the slope at 0 is rounding


class LossRule(AdaBoostRule):
    """A rule that lowers a mean loss. The bound is a multiple of that loss; Z is the factor of the bound."""

    measure = "loss"
    _flat = False  # whether the loss has no slope at any row

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._last_bound = self.bound()

    @abc.abstractmethod
    def mean_loss(self, rows: ScoredRows) -> float:
        """Return the weighted mean loss at the current scores."""

    def train_loss(self) -> float:
        """Return the mean loss of the training rows."""
        return self.mean_loss(self.train)

    def result(self, step: Step) -> RoundResult:
        """Return losses of the round; Z is the factor by which the bound changed."""
        bound, last_bound = self.statistics.bounds[-1], self._last_bound
        step.normalizer = self.statistics.normalizers[-1] = (
            bound / last_bound if last_bound else 1.0
        )  # it may be 0
        self._last_bound = bound
        last = step.last or self._flat
        return RoundResult(step.n_leaves, self.train_loss(), self.evaluate(), self.measure, last)

    def evaluate(self) -> tuple[float, ...]:
        """Return the mean loss of each evaluation set at the current scores."""
        return tuple(self.mean_loss(rows) for rows in self.evaluations)


class AnyRule(LossRule):
    """AnyBoost on a margin cost."""

    two_classes_only = True

    def __init__(self, *args: Any, cost: MarginCost, **kwargs: Any) -> None:
        self.cost = cost
        self.normalised = bool(getattr(cost, "normalised", False))
        super().__init__(*args, **kwargs)

    @cached_property
    def _signs(self) -> Floats:
        return np.where(self.train.classes == 1, 1.0, -1.0)

    @property
    def length(self) -> float:
        """Divisor of the scores."""
        return max(1.0, math.fsum(self.statistics.weights)) if self.normalised else 1.0

    def reweight(self) -> Distribution:
        """Return the negative derivatives of the cost as weights."""
        scores = self.scores_since_restart()[0]
        weight = -self._derivative(self._signs * scores / self.length) * self.factor
        self._flat = not np.any(weight > 0)
        if not self._flat:
            return self.weights.distribution(weight)
        if not self.statistics.weights:
            raise ValueError(f"cost={self.cost!r}: its derivative at margin 0 must not be 0")
        self.stop_reason = "the cost is flat at the margins of all rows: nothing is left to learn"
        return self.weights.initial_distribution()

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
            raise ValueError(f"cost={self.cost!r}: it must be one finite number >= 0 for every margin")
        return costs

    def step(self, fitted: list[Any]) -> Step | None:
        """Find the length of the step along the votes by line search."""
        (learner,) = fitted
        right, wrong = split_error(learner)
        error = wrong / (right + wrong)
        votes, total = vote_directions(learner.votes, 2), math.fsum(self.statistics.weights)
        agreement = self._signs * votes[0][learner.leaf_ids]  # y h of every row
        descent = 1.0 - 2.0 * error
        if self.normalised and total >= 1.0:
            weight = self.distribution.weight
            margins = self._signs * self.train.raw[0] / self.length
            descent -= self.weights.sum(weight * margins) / self.distribution.total
        if descent <= 2.0 * CHANCE:
            return None
        # No ensemble has a lower cost than a perfect learner alone; rows of weight 0 (as with a hinge) count
        # too.
        perfect = not np.any((agreement < 0) & (self.weights.factor > 0))
        if perfect:  # as in AdaBoost, it has more weight than all others together
            alpha = 0.5 * log((1.0 + self.smoothing) / self.smoothing) + total
        else:
            alpha = self.learning_rate * self._search(self._signs * self.train.raw[0], agreement)
        return Step([ScoreUpdate(learner, 0, alpha * votes)], alpha, error, math.nan, alpha, last=perfect)

    def _search(self, scores: Floats, agreement: Floats) -> float:
        """Return the step at which the cost stops falling; `scores` are y F of every row."""
        weight_sum = math.fsum(self.statistics.weights)

        def slope(step: float) -> float:
            length = max(1.0, weight_sum + step) if self.normalised else 1.0
            moved = (scores + step * agreement) / length
            direction = (
                (agreement - moved) / length if self.normalised and weight_sum + step > 1.0 else agreement
            )
            return self.weights.sum(self._derivative(moved) * direction * self.weights.factor)

        if not self.normalised:
            return rising_root(slope, 0.5, _MAX_STEP)
        max_step = _MAX_RELATIVE_STEP * self.length
        return rising_root(slope, max_step, max_step)

    def bound(self) -> float:
        """Return the mean cost, divided by the cost of margin 0."""
        zero = float(self._costs(np.zeros(1))[0])
        return self.mean_loss(self.train) / zero if zero > 0 else math.nan

    def mean_loss(self, rows: ScoredRows) -> float:
        """Return the weighted mean cost at the current scores."""
        signs = np.where(rows.classes == 1, 1.0, -1.0)
        costs = self._costs(signs * rows.raw[0] / self.length)
        if rows is self.train:
            return self.weights.sum(costs * self.weights.factor) / self.initial_total
        weight = np.ones(len(costs)) if rows.weight is None else rows.weight
        return math.fsum(costs * weight) / math.fsum(weight)


def rising_root(slope: Callable[[float], float], scale: float, upper: float) -> float:
    """Find where a slope that is negative at 0 rises through zero; `upper` if it is negative up to there.

    The bracket is doubled from `scale`, then reduced by false position with halved end values (Illinois).

    >>> round(rising_root(lambda x: x * x - 2, 0.1, 64.0), 9)
    1.414213562
    """
    low, high = 0.0, scale
    at_low, at_high = slope(low), slope(high)
    first_slope = abs(at_low)
    while at_high < 0.0:
        low, at_low, high = high, at_high, 2.0 * high
        if high > upper:
            return upper
        at_high = slope(high)
    side, middle = 0, high
    for _ in range(_SEARCH_ITERATIONS):
        if high - low <= 1e-12 * high or at_high == at_low:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = middle if low < middle < high else 0.5 * (low + high)
        value = slope(middle)
        if abs(value) <= _FLAT * first_slope:
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


class LogitRule(LossRule):
    """LogitBoost: Newton steps on the log-likelihood of two or more classes (Friedman et al. 2000).

    With p the probability at the current scores and y 0 or 1, each round fits by weighted least squares

        z = (y - p) / (p (1 - p)),  clipped at +-4          with weights  w = p (1 - p)

    and adds f / 2 to the score F of two classes (p = 1 / (1 + exp(-2 F))), or (K - 1) / K * f_k to the score
    of each of several classes (p = softmax(F)). The paper also subtracts the mean of f_k over the classes;
    that shifts all scores of a row equally and changes no probability.
    """

    prediction_type = "numbers"
    no_progress = "the weak learner is no better than chance, it finds nothing to add,"

    @cached_property
    def loss(self) -> Loss:
        """The log-loss."""
        return make_loss("log_loss", task="classification", n_classes=self.n_classes)

    @cached_property
    def _y(self) -> Floats:
        return self.train.classes.astype(np.float64)

    @classmethod
    def steepness_for(cls, n_classes: int) -> float:
        """Return the factor of scores in probabilities."""
        return 2.0 if n_classes == 2 else 1.0

    @classmethod
    def row_weights(cls, raw: Floats, classes: Classes) -> Floats:
        """Return the probability of the other classes, which is never 0."""
        if len(raw) == 1:
            return LogitLink(2.0).inverse(np.where(classes == 1, -raw[0], raw[0]))
        others = SoftmaxLink().inverse(raw)
        others[classes, np.arange(len(classes))] = 0.0
        return np.asarray(others.sum(axis=0))

    def reweight(self) -> Distribution:
        """Return weights p (1 - p), summed over the classes; `targets` uses the responses and weights."""
        raw = self.train.raw * self.steepness if self.steepness != 1.0 else self.train.raw
        if self._restart_scores is not None:
            raw = raw - self._restart_scores * self.steepness
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        self.loss.prepare(self._y, raw, None)
        self.team.over_rows(
            self.weights.n_rows, lambda a, b: self.loss.fill(self._y, raw, gradient, hessian, a, b)
        )
        np.maximum(hessian, MIN_WEIGHT, out=hessian)
        np.divide(gradient, hessian, out=gradient)
        np.negative(gradient, out=gradient)
        self._responses = np.clip(gradient, -MAX_RESPONSE, MAX_RESPONSE, out=gradient)
        hessian *= self.factor
        self._weights = hessian
        total = hessian[0].copy()
        for weight in hessian[1:]:
            total += weight
        return self.weights.distribution(total)

    def targets(self, iteration: int) -> list[Targets]:
        """Fit the responses of each output by weighted least squares."""
        pairs = zip(self._responses, self._weights, strict=True)
        return [NumericTargets(response, weight, MAX_RESPONSE) for response, weight in pairs]

    def step(self, fitted: list[Any]) -> Step | None:
        """Add half of f, or (K - 1) / K of it."""
        k = self.n_classes
        weight = self.learning_rate * (0.5 if k == 2 else (k - 1.0) / k)
        updates, max_step, wrong, total = [], 0.0, 0, 0
        for output, learner in enumerate(fitted):
            if isinstance(learner, FittedMember):
                directions = self.directions(learner)
                updates.append(ScoreUpdate(learner, output, None, directions))
                predicted, largest = directions[0], weight * float(np.abs(directions).max())
            else:
                values = weight * learner.values[np.newaxis]
                updates.append(ScoreUpdate(learner, output, values))
                predicted, largest = values[0][learner.leaf_ids], float(np.abs(values).max())
            rounded = self.weights.distribution(self._weights[output]).rounded
            wrong += int(rounded[self._responses[output] * predicted <= 0].sum())
            total += int(rounded.sum())
            max_step = max(max_step, largest)
        if max_step < CHANCE:
            return None
        return Step(updates, weight, wrong / total, math.nan, max_step)

    def bound(self) -> float:
        """Return the mean log-loss to base 2: a misclassified row has a probability of at most 1/2."""
        return self.mean_loss(self.train) / math.log(2.0)

    def train_loss(self) -> float:
        """Return the mean log-loss of the training rows, from the bound."""
        return self.statistics.bounds[-1] * math.log(2.0)

    def mean_loss(self, rows: ScoredRows) -> float:
        """Return the weighted mean log-loss at the current scores."""
        weight = self.weights.sample_weight if rows is self.train else rows.weight
        return self.loss.mean_loss(rows.classes.astype(np.float64), rows.raw * self.steepness, weight)
