"""LogitBoost: Newton steps on the log-likelihood of two or more classes (Friedman et al. 2000).

With p the probability at the current scores and y 0 or 1, each round fits by weighted least squares

    z = (y - p) / (p (1 - p)),  clipped at +-4          with weights  w = p (1 - p)

and adds f / 2 to the score F of two classes (p = 1 / (1 + exp(-2 F))), or (K - 1) / K * f_k to the score of
each of several classes (p = softmax(F)). The paper also subtracts the mean of f_k over the classes; that
shifts all scores of a row equally and changes no probability.
"""

import math
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import CHANCE, ScoredRows, ScoreUpdate, Step
from hedgerow.boosting.adaboost_members import FittedMember
from hedgerow.boosting.anyboost import LossRule
from hedgerow.boosting.weak_learners import Classes, Distribution, NumericTargets, Targets
from hedgerow.losses import Loss, make_loss
from hedgerow.losses.base import LogitLink, SoftmaxLink
from hedgerow.threads import cached_property

MAX_RESPONSE = 4.0
MIN_WEIGHT = 2.0**-51  # of p (1 - p): twice the machine epsilon


class LogitRule(LossRule):
    """LogitBoost."""

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
        """Mean log-loss to base 2: a misclassified row has a probability of at most 1/2."""
        return self.mean_loss(self.train) / math.log(2.0)

    def train_loss(self) -> float:
        """Mean log-loss of the training rows, from the bound."""
        return self.statistics.bounds[-1] * math.log(2.0)

    def mean_loss(self, rows: ScoredRows) -> float:
        """Weighted mean log-loss at the current scores."""
        weight = self.weights.sample_weight if rows is self.train else rows.weight
        return self.loss.mean_loss(rows.classes.astype(np.float64), rows.raw * self.steepness, weight)
