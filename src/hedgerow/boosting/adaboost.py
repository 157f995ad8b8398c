"""The AdaBoost rules: discrete, M1, SAMME, Real, SAMME.R and Gentle.

Every rule lowers the mean of exp(-margin) in each round. The rules differ in what a member predicts and in
the weight of its prediction. With D the weights of a round, e = D(wrong) and K classes:

    discrete   votes     alpha = (ln((1 - e) / e) + ln(K - 1)) / 2          (Freund and Schapire 1997)
    M1         votes     alpha = ln((1 - e) / e), only while e < 1/2        (Freund and Schapire 1997)
    SAMME      votes     alpha = ln((1 - e) / e) + ln(K - 1)                (Zhu et al. 2009)
    Real       f = ln(p1 / p0) / 2, p: fraction of D in a leaf              (Friedman et al. 2000)
    SAMME.R    f_k = (K - 1)(ln p_k - mean of ln p)                         (Zhu et al. 2009); Real when K = 2
    Gentle     f = p1 - p0: a Newton step; each class against the others    (Friedman et al. 2000)

Discrete AdaBoost and M1 give the same classifier: alpha and the score are twice as large in M1, and the
probabilities are half as steep.
"""

import math
from typing import Any, ClassVar

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import CHANCE, AdaBoostRule, ScoreUpdate, Step
from hedgerow.boosting.adaboost_members import FittedMember
from hedgerow.boosting.weak_learners import (
    Classes,
    ClassTargets,
    Distribution,
    NumericTargets,
    RowWeights,
    Targets,
    probability_directions,
    vote_directions,
)
from hedgerow.kernels.cpu.elementary import exp, exp_into, log
from hedgerow.threads import Team

_SIGNS = np.array([-1.0, 1.0])
_SMOOTHING_ROWS = 4.0


def split_error(fitted: Any) -> tuple[int, int]:
    """Return the integer weights of the rows that the votes of the leaves classify correctly and wrongly."""
    sums: list[list[int]] = fitted.sums.tolist()
    right = sum(row[vote] for row, vote in zip(sums, fitted.votes, strict=True))
    return right, sum(map(sum, sums)) - right


class VoteRule(AdaBoostRule):
    """A member votes with weight alpha. Subclasses set the factor of the logarithm and the chance level."""

    log_factor: ClassVar[float] = 0.5
    error_below_half: ClassVar[bool] = False  # require an error below 1/2 for any number of classes

    @classmethod
    def steepness_for(cls, n_classes: int) -> float:  # noqa: ARG003 - other rules use it
        """Return the factor of scores in probabilities."""
        return 1.0 / cls.log_factor

    def reweight(self) -> Distribution:
        """Return weights exp(-y F) for two classes, exp(-votes for the class of the row) for more."""
        return self.exponential(self.steepness)

    def step(self, fitted: list[Any]) -> Step | None:
        """Weight the vote by its error."""
        (learner,) = fitted
        right, wrong = split_error(learner)
        error = wrong / (right + wrong)
        k = self.n_classes
        chance = 0.5 if self.error_below_half else (k - 1.0) / k
        if error >= chance - CHANCE:
            return None
        if wrong:
            odds = log(right / wrong) + (0.0 if self.error_below_half else log(k - 1.0))
            alpha = self.learning_rate * self.log_factor * odds
            normalizer = _two_sided(error, alpha * self.steepness / 2.0)
        else:  # a perfect learner has more weight than all others together, so that it alone decides
            total = math.fsum(self.statistics.weights)
            alpha = self.log_factor * log((1.0 + self.smoothing) / self.smoothing) + total
            normalizer = 0.0
        update = ScoreUpdate(learner, 0, alpha * vote_directions(learner.votes, k))
        return Step([update], alpha, error, normalizer, alpha, last=wrong == 0)

    def bound(self) -> float:
        """Mean of exp(-y F), or of exp(half of all votes - those for the class): >= 1 where it is wrong."""
        if self.n_classes == 2:
            return self.mean_exponential()
        return self.mean_exponential(0.5 * self.steepness * math.fsum(self.statistics.weights))


class DiscreteRule(VoteRule):
    """Discrete AdaBoost; for several classes SAMME at half its scale."""


class M1Rule(VoteRule):
    """AdaBoost.M1."""

    log_factor = 1.0
    error_below_half = True


class SammeRule(VoteRule):
    """SAMME."""

    log_factor = 1.0


class RealRule(AdaBoostRule):
    """Real AdaBoost for two classes, SAMME.R for more."""

    prediction_type = "probabilities"
    default_criterion = "gini"
    no_progress = (
        "the weak learner is no better than chance, its step does not lower the mean of exp(-margin),"
    )
    advice = "use a smaller learning_rate, a less confident estimator, or algorithm='discrete'"

    @classmethod
    def steepness_for(cls, n_classes: int) -> float:
        """Return the factor of scores in probabilities."""
        return 2.0 if n_classes == 2 else 1.0 / (n_classes - 1.0)

    def reweight(self) -> Distribution:
        """Weights exp(-y F), or exp(-F of the class of the row / (K - 1)) for more than two classes."""
        return self.exponential(self.steepness)

    def step(self, fitted: list[Any]) -> Step | None:
        """Add the log-ratio of the probabilities."""
        (learner,) = fitted
        right, wrong = split_error(learner)
        if isinstance(learner, FittedMember):
            directions = self.directions(learner)
            normalizer = self._row_normalizer(self.learning_rate * directions)
            update = ScoreUpdate(learner, 0, None, directions)
            max_step = self.learning_rate * float(np.abs(directions).max())
        else:
            fractions = learner.sample_sums / max(1, int(learner.sample_sums.sum()))
            smoothed = fractions + self._leaf_smoothing()  # leaves without weight get ln(1) = 0
            smoothed /= smoothed.sum(axis=1, keepdims=True)
            values = self.learning_rate * probability_directions(np.ascontiguousarray(smoothed.T), 0.0)
            normalizer = self._leaf_normalizer(learner.sums, values)
            update, max_step = ScoreUpdate(learner, 0, values), float(np.abs(values).max())
        if normalizer >= 1.0 - CHANCE:
            return None
        return Step([update], self.learning_rate, wrong / (right + wrong), normalizer, max_step)

    def _leaf_smoothing(self) -> float:
        """The weight of a few rows, added to each class of a leaf; the mean weight of a row is sum of D**2.

        As D concentrates on fewer rows, their weights grow, and so does the smoothing. With 1 / (2 m)
        instead, the log-loss was higher on all of eight data sets.
        """
        weight = self.distribution.weight
        total = self.distribution.total
        return _SMOOTHING_ROWS * self.weights.sum(weight * weight) / (total * total)

    def _leaf_normalizer(self, sums: Any, values: Floats) -> float:
        """Z: the sum of D times the factor of the weights, over leaves and classes."""
        factors = np.empty((sums.shape[1], len(sums)))  # exponents by class and leaf
        if self.n_classes == 2:
            factors[:] = -0.5 * self.steepness * _SIGNS[:, np.newaxis] * values
        else:
            factors[:] = -self.steepness * values
        exp_into(factors.reshape(-1), factors.reshape(-1))
        return math.fsum((sums.T * factors).reshape(-1)) / int(sums.sum())

    def _row_normalizer(self, added: Floats) -> float:
        """Z over rows, for values that would be added to the scores."""
        weight, shift = self.weights.exponential(
            added, self.train.classes, self.steepness, self.distribution.weight
        )
        return float(self.weights.sum(weight) * exp(shift) / self.distribution.total)

    def bound(self) -> float:
        """Return the mean of exp(-y F) for two classes; no bound is known for more."""
        return self.mean_exponential() if self.n_classes == 2 else math.nan


class GentleRule(AdaBoostRule):
    """Gentle AdaBoost: least squares on -1 and +1; several classes each against the others (AdaBoost.MH)."""

    prediction_type = "numbers"
    no_progress, advice = RealRule.no_progress, RealRule.advice
    criterion = default_criterion = "gini"  # equal to least squares for two classes

    def reweight(self) -> Distribution:
        """Return weights exp(-y F) in every binary problem; the weight of a row is their sum."""
        self._binary = [self.train.classes]
        if self.n_classes > 2:
            self._binary = [(self.train.classes == k).astype(np.uint8) for k in range(self.n_classes)]
        raw = self.scores_since_restart()
        scaled = [
            self.weights.exponential(raw[k : k + 1], classes, self.steepness, self._restart_factor)
            for k, classes in enumerate(self._binary)
        ]
        max_shift = max(shift for _, shift in scaled)
        self._distributions = [self.weights.distribution(weight) for weight, _ in scaled]
        self._totals = [
            distribution.total * exp(shift - max_shift)
            for distribution, (_, shift) in zip(self._distributions, scaled, strict=True)
        ]
        self._log_total = max_shift
        if len(scaled) == 1:
            return self._distributions[0]
        total = np.zeros(self.weights.n_rows)
        for weight, shift in scaled:
            total += weight * exp(shift - max_shift)
        return self.weights.distribution(total)

    @classmethod
    def row_weights(cls, raw: Floats, classes: Classes) -> Floats:
        """Return the sum of the weights exp(-y F) of every binary problem."""
        if len(raw) == 1:
            return super().row_weights(raw, classes)
        with Team(1) as team:
            weights = RowWeights(None, len(classes), None, team)
            scaled = [
                weights.exponential(raw[k : k + 1], (classes == k).astype(np.int32), 2.0)
                for k in range(len(raw))
            ]
        max_shift = max(shift for _, shift in scaled)
        total = np.zeros(len(classes))
        for weight, shift in scaled:
            total += weight * exp(shift - max_shift)
        return total

    def targets(self, iteration: int) -> list[Targets]:
        """Separate each class from the others; -1 and +1 for members of other libraries."""
        labels, pairs = np.array([0, 1]), zip(self._binary, self._distributions, strict=True)
        if self.options.external_members:  # they are regressors
            return [
                NumericTargets(_SIGNS[classes], distribution.weight, 1.0) for classes, distribution in pairs
            ]
        return [ClassTargets(classes, labels, distribution) for classes, distribution in pairs]

    def step(self, fitted: list[Any]) -> Step | None:
        """Add the mean of y in each leaf, or the prediction of a regressor."""
        updates, max_step, wrong, total_after = [], 0.0, 0.0, 0.0
        for k, (learner, total) in enumerate(zip(fitted, self._totals, strict=True)):
            if isinstance(learner, FittedMember):
                directions = self.directions(learner)
                error, normalizer = self._evaluate_rows(directions[0], k)
                updates.append(ScoreUpdate(learner, k, None, directions))
                max_step = max(max_step, self.learning_rate * float(np.abs(directions).max()))
            else:
                low, high = learner.sample_sums.T.astype(np.float64)
                weight = low + high
                means = np.divide(high - low, weight, out=np.zeros(len(weight)), where=weight > 0)
                values = self.learning_rate * means[np.newaxis]
                right, missed = split_error(learner)
                error, normalizer = missed / (right + missed), _binary_normalizer(learner.sums, values[0])
                updates.append(ScoreUpdate(learner, k, values))
                max_step = max(max_step, float(np.abs(values).max()))
            wrong += total * error
            total_after += total * normalizer
        total_before = math.fsum(self._totals)
        if total_after >= total_before * (1.0 - CHANCE):
            return None
        return Step(updates, self.learning_rate, wrong / total_before, total_after / total_before, max_step)

    def _evaluate_rows(self, direction: Floats, k: int) -> tuple[float, float]:
        """Return the weighted error of the signs, and Z, of a direction."""
        distribution, signs = self._distributions[k], _SIGNS[self._binary[k]]
        wrong = int(distribution.rounded[signs * direction <= 0].sum())
        weight, shift = self.weights.exponential(
            self.learning_rate * direction[np.newaxis], self._binary[k], self.steepness, distribution.weight
        )
        normalizer = self.weights.sum(weight) * exp(shift) / distribution.total
        return wrong / int(distribution.rounded.sum()), float(normalizer)

    def bound(self) -> float:
        """Return the mean of exp(-y F), summed over the classes: a row is wrong only if one of them is."""
        if self._restart_scores is None:
            return float(math.fsum(self._totals) * exp(self._log_total) / self.initial_total)
        scaled = [
            self.weights.exponential(self.train.raw[k : k + 1], classes, self.steepness)
            for k, classes in enumerate(self._binary)
        ]
        return float(math.fsum(self.weights.sum(w) * exp(shift) for w, shift in scaled) / self.initial_total)


def _two_sided(error: float, half: float) -> float:
    """Z = (1 - e) exp(-half) + e exp(half)."""
    return float((1.0 - error) * exp(-half) + error * exp(half))


def _binary_normalizer(sums: Any, values: Floats) -> float:
    """Z of a learner for two classes that adds `values` to its leaves."""
    low, high = np.empty(len(values)), np.empty(len(values))
    exp_into(values, low)
    exp_into(-values, high)
    total = math.fsum([*(sums[:, 0] * low), *(sums[:, 1] * high)])
    return total / int(sums.sum())


RULES: dict[str, type[AdaBoostRule]] = {
    "discrete": DiscreteRule,
    "m1": M1Rule,
    "samme": SammeRule,
    "real": RealRule,
    "samme.r": RealRule,
    "gentle": GentleRule,
}
