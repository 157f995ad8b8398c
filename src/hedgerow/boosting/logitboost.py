"""LogitBoost: Newton steps on the log-likelihood of two or more classes (Friedman et al. 2000).

With p the probability of the present scores and y 0 or 1, each round fits by weighted least squares

    z = (y - p) / (p (1 - p)),  cut at +-4          with weights  w = p (1 - p)

and adds f / 2 to the score F of two classes (p = 1 / (1 + exp(-2 F))), or (K - 1) / K * f_k to the score of
each of several classes (p = softmax(F)). The paper also takes the mean over the classes off f_k; that moves
all scores of a row alike, and no probability.
"""

import math
from collections.abc import Sequence
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
)
from hedgerow.boosting.loop import RoundResult
from hedgerow.boosting.row_weights import Distribution, RowWeights
from hedgerow.boosting.weak_learners import MemberAnswer, NumberProblem, Problem
from hedgerow.losses import make_loss
from hedgerow.members import numbers

LARGEST_RESPONSE = 4.0
SMALLEST_WEIGHT = 2.0**-51  # of p (1 - p): twice the machine's epsilon


class LogitRule(AdaBoostRule):
    """LogitBoost."""

    says = "numbers"
    measure = "loss"
    refusal = "the weak learner is no better than chance, it finds nothing to add,"

    def __init__(
        self,
        train: ScoredRows,
        evaluations: Sequence[ScoredRows],
        weights: RowWeights,
        settings: RuleSettings,
        record: Record | None = None,
    ) -> None:
        self.loss = make_loss("log_loss", task="classification", n_classes=settings.n_classes)
        self.share = 0.5 if settings.n_classes == 2 else (settings.n_classes - 1.0) / settings.n_classes
        self.steepness = 2.0 if settings.n_classes == 2 else 1.0
        self._y = train.classes.astype(np.float64)
        super().__init__(train, evaluations, weights, settings, record)
        self._last_bound = self.bound()

    def weigh(self) -> Distribution:
        """Weigh a row p (1 - p), added up over the classes; responses and weights are kept for `ask`."""
        raw = self.train.raw * self.steepness if self.steepness != 1.0 else self.train.raw
        if self._since is not None:
            raw = raw - self._since * self.steepness
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        self.loss.prepare(self._y, raw, None)
        self.team.over_rows(
            self.weights.n_rows, lambda a, b: self.loss.fill(self._y, raw, gradient, hessian, a, b)
        )
        np.maximum(hessian, SMALLEST_WEIGHT, out=hessian)
        np.divide(gradient, hessian, out=gradient)
        np.negative(gradient, out=gradient)
        self._responses = np.clip(gradient, -LARGEST_RESPONSE, LARGEST_RESPONSE, out=gradient)
        hessian *= self.factor
        self._weights = hessian
        whole = hessian[0].copy()
        for more in hessian[1:]:
            whole += more
        return self.weights.distribution(whole)

    def targets(self, iteration: int) -> list[Problem]:
        """Fit the responses of each output by weighted least squares."""
        return [
            NumberProblem(response, weight, LARGEST_RESPONSE)
            for response, weight in zip(self._responses, self._weights, strict=True)
        ]

    def step(self, answers: list[Any]) -> Step | None:
        """Add half of f, or (K - 1) / K of it."""
        weight = self.learning_rate * self.share
        additions, reach, wrong, total = [], 0.0, 0, 0
        for k, answer in enumerate(answers):
            if isinstance(answer, MemberAnswer):
                directions = self.directions(answer, None)
                additions.append(Addition(answer, k, None, directions))
                fitted, top = directions[0], weight * float(np.abs(directions).max())
            else:
                table = weight * answer.values[np.newaxis]
                additions.append(Addition(answer, k, table))
                fitted, top = table[0][answer.cells], float(np.abs(table).max())
            rounded = self.weights.distribution(self._weights[k]).rounded
            wrong += int(rounded[self._responses[k] * fitted <= 0].sum())
            total += int(rounded.sum())
            reach = max(reach, top)
        if reach < CHANCE:
            return None
        return Step(additions, weight, wrong / total, math.nan, reach)

    def directions(self, answer: MemberAnswer, rows: Any) -> Floats:
        """What a regressor predicts; `rows` None for the training rows."""
        return numbers(answer.member, answer.X if rows is None else rows)[np.newaxis]

    def bound(self) -> float:
        """Mean log-loss to the base of 2: a row that is wrong has probability 1/2 at the most."""
        return self._mean_loss(self.train) / math.log(2.0)

    def outcome(self, step: Step) -> RoundResult:
        """Follow the log-loss."""
        bound = self.record.bounds[-1]
        factor = bound / self._last_bound if self._last_bound else 1.0  # no loss is left of 64 bits
        step.normalizer = self.record.normalizers[-1] = factor
        self._last_bound = bound
        return RoundResult(n_leaves(step), bound * math.log(2.0), self.evaluate(), self.measure)

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(self._mean_loss(judged) for judged in self.evaluations)

    def _mean_loss(self, judged: ScoredRows) -> float:
        weight = self.weights.user if judged is self.train else judged.weight
        return self.loss.mean_loss(judged.classes.astype(np.float64), judged.raw * self.steepness, weight)
