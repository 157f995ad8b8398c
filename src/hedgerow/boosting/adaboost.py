"""The AdaBoost rules: discrete, M1, SAMME, Real, SAMME.R and Gentle.

All of them make the mean of exp(-margin) smaller round by round; they differ in what a member may say and in
how far its word is followed. With D the weights of a round, e = D(wrong) and K classes:

    discrete   votes     alpha = (ln((1 - e) / e) + ln(K - 1)) / 2          (Freund and Schapire 1997)
    M1         votes     alpha = ln((1 - e) / e), only while e < 1/2        (the same)
    SAMME      votes     alpha = ln((1 - e) / e) + ln(K - 1)                (Zhu et al. 2009)
    Real       f = ln(p1 / p0) / 2, p the share of D in a cell              (Friedman et al. 2000)
    SAMME.R    f_k = (K - 1)(ln p_k - mean of ln p)                         (Zhu et al. 2009); Real when K = 2
    Gentle     f = p1 - p0: a Newton step; each class against the others    (Friedman et al. 2000)

Discrete AdaBoost and M1 give the same classifier: alpha is twice as large, and so is the score, and
probabilities are read from it half as steeply.
"""

import math
from typing import Any, ClassVar

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import CHANCE, AdaBoostRule, Addition, Step, split_error
from hedgerow.boosting.row_weights import Distribution
from hedgerow.boosting.weak_learners import ClassProblem, MemberAnswer, NumberProblem, Problem
from hedgerow.kernels.cpu.elementary import exp, exp_into, log
from hedgerow.members import log_ratio, numbers, vote

_SIGNS = np.array([-1.0, 1.0])
_SMOOTHING_ROWS = 4.0


class VoteRule(AdaBoostRule):
    """A member votes with weight alpha; three rules by their share of the logarithm and their chance."""

    share: ClassVar[float] = 0.5
    needs_half: ClassVar[bool] = False  # an error below 1/2, whatever the number of classes

    @property
    def steepness(self) -> float:
        """Probabilities are softmax(steepness * score)."""
        return 1.0 / self.share

    def weigh(self) -> Distribution:
        """Weigh a row exp(-y F) for two classes, exp(-votes for its class) for more."""
        return self.exponential(self.steepness)

    def step(self, answers: list[Any]) -> Step | None:
        """Weigh the vote by its error."""
        (answer,) = answers
        right, wrong = split_error(answer)
        error = wrong / (right + wrong)
        k = self.n_classes
        chance = 0.5 if self.needs_half else (k - 1.0) / k
        if error >= chance - CHANCE:
            return None
        if wrong:
            odds = log(right / wrong) + (0.0 if self.needs_half else log(k - 1.0))
            alpha = self.learning_rate * self.share * odds
            normalizer = _two_sided(error, alpha * self.steepness / 2.0)
        else:  # its word is final: more weight than all others together
            alpha = self.share * log((1.0 + self.smoothing) / self.smoothing) + math.fsum(self.record.weights)
            normalizer = 0.0
        table = alpha * vote(answer.votes, k)
        return Step([Addition(answer, 0, table)], alpha, error, normalizer, alpha, last=wrong == 0)

    def bound(self) -> float:
        """Mean of exp(-y F), or of exp(half of all votes - those for the class): at least 1 where wrong."""
        if self.n_classes == 2:
            return self.mean_exponential()
        return self.mean_exponential(0.5 * self.steepness * math.fsum(self.record.weights))


class DiscreteRule(VoteRule):
    """Discrete AdaBoost; with several classes SAMME at half its scale."""


class M1Rule(VoteRule):
    """AdaBoost.M1."""

    share = 1.0
    needs_half = True


class SammeRule(VoteRule):
    """SAMME."""

    share = 1.0


class RealRule(AdaBoostRule):
    """Real AdaBoost for two classes, SAMME.R for more."""

    says = "probabilities"
    refusal = "the weak learner is no better than chance, its step does not lower the mean of exp(-margin),"
    advice = "take a smaller learning_rate, a less confident estimator, or algorithm='discrete'"

    @property
    def steepness(self) -> float:
        """See `VoteRule.steepness`."""
        return 2.0 if self.n_classes == 2 else 1.0 / (self.n_classes - 1.0)

    def weigh(self) -> Distribution:
        """Weigh a row exp(-y F), or exp(-F of its class / (K - 1))."""
        return self.exponential(self.steepness)

    def step(self, answers: list[Any]) -> Step | None:
        """Add the log-ratio of the probabilities."""
        (answer,) = answers
        right, wrong = split_error(answer)
        if isinstance(answer, MemberAnswer):
            directions = self.directions(answer, None)
            normalizer = self.row_normalizer(self.learning_rate * directions)
            addition, reach = Addition(answer, 0, None, directions), float(np.abs(directions).max())
            reach *= self.learning_rate
        else:
            shares = answer.opinion / max(1, int(answer.opinion.sum()))
            smoothed = shares + self._leaf_smoothing()  # cells without weight stay even: ln(1) = 0
            smoothed /= smoothed.sum(axis=1, keepdims=True)
            table = self.learning_rate * log_ratio(np.ascontiguousarray(smoothed.T), 0.0)
            normalizer = self.cell_normalizer(answer.sums, table)
            addition, reach = Addition(answer, 0, table), float(np.abs(table).max())
        if normalizer >= 1.0 - CHANCE:
            return None
        return Step([addition], self.learning_rate, wrong / (right + wrong), normalizer, reach)

    def _leaf_smoothing(self) -> float:
        """Some rows' worth of weight, added to each class of a leaf: the share of one is the sum of D**2.

        As D concentrates on fewer rows, each of them weighs more, and so does what is added. With 1 / (2 m)
        instead the log-loss was higher on each of eight data sets tried.
        """
        weight = self.distribution.weight
        total = self.distribution.total
        return _SMOOTHING_ROWS * self.weights.sum(weight * weight) / (total * total)

    def directions(self, answer: MemberAnswer, rows: Any) -> Floats:
        """The log-ratio of a member's probabilities; `rows` None for the training rows."""
        if rows is None:
            return log_ratio(answer.probabilities, self.smoothing)
        return answer.model.directions([answer.member], rows)

    def cell_normalizer(self, sums: Any, table: Floats) -> float:
        """Sum of D times the factor of the weights, over cells and classes."""
        factors = np.empty((sums.shape[1], len(sums)))  # exponents by class and cell
        if self.n_classes == 2:
            factors[:] = -0.5 * self.steepness * _SIGNS[:, np.newaxis] * table
        else:
            factors[:] = -self.steepness * table
        exp_into(factors.reshape(-1), factors.reshape(-1))
        return math.fsum((sums.T * factors).reshape(-1)) / int(sums.sum())

    def row_normalizer(self, added: Floats) -> float:
        """The same over rows, for what would be added to the scores."""
        weight, shift = self.weights.exponential(
            added, self.train.classes, self.steepness, self.distribution.weight
        )
        return float(self.weights.sum(weight) * exp(shift) / self.distribution.total)

    def bound(self) -> float:
        """Mean of exp(-y F) for two classes; for more, none is proven."""
        return self.mean_exponential() if self.n_classes == 2 else math.nan


class GentleRule(AdaBoostRule):
    """Gentle AdaBoost: least squares on -1 and +1; several classes each against the others (AdaBoost.MH)."""

    says = "numbers"
    refusal, advice = RealRule.refusal, RealRule.advice
    criterion = "gini"  # for two classes the same as least squares
    steepness = 2.0

    def weigh(self) -> Distribution:
        """Weigh a row exp(-y F) in every problem; their sum over the problems is the row's weight."""
        self._binary = [self.train.classes]
        if self.n_classes > 2:
            self._binary = [(self.train.classes == k).astype(np.uint8) for k in range(self.n_classes)]
        parts = [
            self.weights.exponential(self._raw(k), self._binary[k], self.steepness, self._drawn_factor)
            for k in range(len(self.train.raw))
        ]
        top = max(shift for _, shift in parts)
        self._problems = [self.weights.distribution(weight) for weight, _ in parts]
        self._totals = [
            problem.total * exp(shift - top)
            for problem, (_, shift) in zip(self._problems, parts, strict=True)
        ]
        self._log_total = top
        if len(parts) == 1:
            return self._problems[0]
        whole = np.zeros(self.weights.n_rows)
        for weight, shift in parts:
            whole += weight * exp(shift - top)
        return self.weights.distribution(whole)

    def _raw(self, k: int) -> Floats:
        raw = self.train.raw[k : k + 1]
        return raw if self._since is None else raw - self._since[k : k + 1]

    def targets(self, iteration: int) -> list[Problem]:
        """Ask for each class against the others."""
        labels = np.array([0, 1])
        if self.settings.foreign:  # members are regressors
            return [
                NumberProblem(_SIGNS[classes], problem.weight, 1.0)
                for classes, problem in zip(self._binary, self._problems, strict=True)
            ]
        return [
            ClassProblem(classes, labels, problem)
            for classes, problem in zip(self._binary, self._problems, strict=True)
        ]

    def step(self, answers: list[Any]) -> Step | None:
        """Add the mean of y in each cell, or what a regressor predicts."""
        additions, reach, wrong, after = [], 0.0, 0.0, 0.0
        for k, (answer, total) in enumerate(zip(answers, self._totals, strict=True)):
            if isinstance(answer, MemberAnswer):
                directions = self.directions(answer, None)
                error, normalizer = self._judge_rows(directions[0], k)
                additions.append(Addition(answer, k, None, directions))
                reach = max(reach, self.learning_rate * float(np.abs(directions).max()))
            else:
                low, high = answer.opinion.T.astype(np.float64)
                weight = low + high
                means = np.divide(high - low, weight, out=np.zeros(len(weight)), where=weight > 0)
                table = self.learning_rate * means[np.newaxis]
                right, missed = split_error(answer)
                error, normalizer = missed / (right + missed), _normalizer_of(answer.sums, table[0])
                additions.append(Addition(answer, k, table))
                reach = max(reach, float(np.abs(table).max()))
            wrong += total * error
            after += total * normalizer
        before = math.fsum(self._totals)
        if after >= before * (1.0 - CHANCE):
            return None
        return Step(additions, self.learning_rate, wrong / before, after / before, reach)

    def directions(self, answer: MemberAnswer, rows: Any) -> Floats:
        """What a regressor predicts; `rows` None for the training rows."""
        return numbers(answer.member, answer.X if rows is None else rows)[np.newaxis]

    def _judge_rows(self, direction: Floats, k: int) -> tuple[float, float]:
        """Weighted error of the signs and normaliser of a direction."""
        problem, signs = self._problems[k], _SIGNS[self._binary[k]]
        wrong = int(problem.rounded[signs * direction <= 0].sum())
        weight, shift = self.weights.exponential(
            self.learning_rate * direction[np.newaxis], self._binary[k], self.steepness, problem.weight
        )
        normalizer = self.weights.sum(weight) * exp(shift) / problem.total
        return wrong / int(problem.rounded.sum()), float(normalizer)

    def bound(self) -> float:
        """Mean of exp(-y F), added up over the classes: a row is wrong only where one of them is."""
        if self._since is None:
            return float(math.fsum(self._totals) * exp(self._log_total) / self.initial_total)
        parts = [
            self.weights.exponential(self.train.raw[k : k + 1], classes, self.steepness)
            for k, classes in enumerate(self._binary)
        ]
        return float(math.fsum(self.weights.sum(w) * exp(shift) for w, shift in parts) / self.initial_total)


def _two_sided(error: float, half: float) -> float:
    """Z = (1 - e) exp(-half) + e exp(half)."""
    return float((1.0 - error) * exp(-half) + error * exp(half))


def _normalizer_of(sums: Any, values: Floats) -> float:
    """Z of a two-class answer that adds `values` to its cells."""
    low, high = np.empty(len(values)), np.empty(len(values))
    exp_into(values, low)
    exp_into(-values, high)
    whole = math.fsum([*(sums[:, 0] * low), *(sums[:, 1] * high)])
    return whole / int(sums.sum())


RULES: dict[str, type[AdaBoostRule]] = {
    "discrete": DiscreteRule,
    "m1": M1Rule,
    "samme": SammeRule,
    "real": RealRule,
    "samme.r": RealRule,
    "gentle": GentleRule,
}
