"""LogitBoost: Newton steps on the log-likelihood of two or more classes (Friedman et al. 2000).

With p the probability at the current scores and y 0 or 1, each round fits by weighted least squares

    z = (y - p) / (p (1 - p)),  clipped at +-4          with weights  w = p (1 - p)

and adds f / 2 to the score F of two classes (p = 1 / (1 + exp(-2 F))), or (K - 1) / K * f_k to the score of
each of several classes (p = softmax(F)). The paper also subtracts the mean of f_k over the classes; that
shifts all scores of a row equally and changes no probability.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import (
    CHANCE,
    AdaBoostRule,
    RoundStatistics,
    RuleOptions,
    ScoredRows,
    ScoreUpdate,
    Step,
)
from hedgerow.boosting.loop import RoundResult
from hedgerow.boosting.row_weights import Classes, Distribution, RowWeights
from hedgerow.boosting.weak_learners import FittedMember, NumericTargets, Targets
from hedgerow.losses import make_loss
from hedgerow.losses.base import LogitLink, SoftmaxLink

MAX_RESPONSE = 4.0
MIN_WEIGHT = 2.0**-51  # of p (1 - p): twice the machine epsilon


class LogitRule(AdaBoostRule):
    """LogitBoost."""

    prediction_type = "numbers"
    measure = "loss"
    no_progress = "the weak learner is no better than chance, it finds nothing to add,"

    def __init__(
        self,
        train: ScoredRows,
        evaluations: Sequence[ScoredRows],
        weights: RowWeights,
        options: RuleOptions,
        statistics: RoundStatistics | None = None,
    ) -> None:
        self.loss = make_loss("log_loss", task="classification", n_classes=options.n_classes)
        self.share = 0.5 if options.n_classes == 2 else (options.n_classes - 1.0) / options.n_classes
        self._y = train.classes.astype(np.float64)
        super().__init__(train, evaluations, weights, options, statistics)
        self._last_bound = self.bound()

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
        """Weights p (1 - p), summed over the classes; `targets` uses the responses and weights."""
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
        weight = self.learning_rate * self.share
        updates, max_step, wrong, total = [], 0.0, 0, 0
        for k, learner in enumerate(fitted):
            if isinstance(learner, FittedMember):
                directions = self.directions(learner)
                updates.append(ScoreUpdate(learner, k, None, directions))
                predicted, largest = directions[0], weight * float(np.abs(directions).max())
            else:
                values = weight * learner.values[np.newaxis]
                updates.append(ScoreUpdate(learner, k, values))
                predicted, largest = values[0][learner.leaf_ids], float(np.abs(values).max())
            rounded = self.weights.distribution(self._weights[k]).rounded
            wrong += int(rounded[self._responses[k] * predicted <= 0].sum())
            total += int(rounded.sum())
            max_step = max(max_step, largest)
        if max_step < CHANCE:
            return None
        return Step(updates, weight, wrong / total, math.nan, max_step)

    def bound(self) -> float:
        """Mean log-loss to base 2: a misclassified row has a probability of at most 1/2."""
        return self._mean_loss(self.train) / math.log(2.0)

    def result(self, step: Step) -> RoundResult:
        """Log-losses of the round; Z is the factor by which the bound changed."""
        bound = self.statistics.bounds[-1]
        factor = bound / self._last_bound if self._last_bound else 1.0  # the loss may have become 0
        step.normalizer = self.statistics.normalizers[-1] = factor
        self._last_bound = bound
        return RoundResult(step.n_leaves, bound * math.log(2.0), self.evaluate(), self.measure)

    def evaluate(self) -> tuple[float, ...]:
        """Return the log-loss of each evaluation set at the current scores."""
        return tuple(self._mean_loss(rows) for rows in self.evaluations)

    def _mean_loss(self, rows: ScoredRows) -> float:
        weight = self.weights.sample_weight if rows is self.train else rows.weight
        return self.loss.mean_loss(rows.classes.astype(np.float64), rows.raw * self.steepness, weight)
