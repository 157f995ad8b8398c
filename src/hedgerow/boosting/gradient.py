"""Gradient boosting as an update rule.

Scores are raw (outputs, rows). Each round asks for gradient and hessian of the loss at the present scores,
and adds the steps that the learner answers with (Friedman 2001; second order: Chen and Guestrin 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.loop import RoundResult
from hedgerow.losses import Loss
from hedgerow.threads import Team


@dataclass(eq=False)
class Scores:
    """Rows with a target and the raw scores the ensemble gives them.

    `rows` is what the learner reads to compute a step for these rows: codes for trees, X for others.
    `validation_rows` are the training rows of the first evaluation set. No tree is grown on them, but their
    gradients share the scale of the integer statistics, so their scores are kept up to date.
    """

    y: Floats
    weight: Floats | None
    raw: Floats  # (outputs, rows)
    rows: Any
    validation_rows: NDArray[np.uint32] | None = None

    def take(self, answer: "Steps") -> None:
        """Add a round's step."""
        answer.add_to(self)

    def mean_loss(self, loss: Loss) -> float:
        """The weighted mean of the loss at the present scores."""
        return loss.mean_loss(self.y, self.raw, self.weight)


class Followed(Protocol):
    """Rows whose loss is followed: `Scores`, or rows that are elsewhere."""

    def take(self, answer: Any) -> None:
        """Add a round's step."""

    def mean_loss(self, loss: Loss) -> float:
        """The weighted mean of the loss at the present scores."""


class Steps(Protocol):
    """A round's addition to the ensemble."""

    n_leaves: int

    def add_to(self, scores: Scores) -> None:
        """Add the step to the scores."""


class GradientRule:
    """Asks for the gradient, adds the steps, follows the losses.

    Parameters
    ----------
    loss : Loss
    train : Scores
    evaluations : sequence of Followed
        Further rows whose loss is followed.
    newton : bool
        False asks for gradients only: every hessian is 1.
    follow_train : bool
        Whether to compute the training loss of every round; it costs a pass over the rows.
    team : Team
    """

    def __init__(
        self,
        loss: Loss,
        train: Scores,
        evaluations: Sequence[Followed],
        *,
        newton: bool,
        follow_train: bool,
        team: Team,
    ) -> None:
        self.loss, self.train, self.evaluations = loss, train, evaluations
        self.follow_train, self.team = follow_train, team
        self.gradient = np.empty_like(train.raw)
        self.filled = np.empty_like(train.raw)  # the hessian as the loss gives it
        self.hessian = self.filled if newton else np.ones_like(train.raw)
        self.steps: list[Any] = []

    def targets(self, iteration: int) -> tuple[Floats, Floats]:
        """Gradient and hessian (outputs, rows) of the loss at the present scores."""
        y, raw, n = self.train.y, self.train.raw, len(self.train.y)
        self.loss.prepare(y, raw, self.train.weight)
        if self.loss.splittable:
            self.team.over_rows(n, lambda a, b: self.loss.fill(y, raw, self.gradient, self.filled, a, b))
        else:
            self.loss.fill(y, raw, self.gradient, self.filled, 0, n)
        return self.gradient, self.hessian

    def update(self, fitted: Steps, iteration: int) -> RoundResult:
        """Add a round's steps to all scores."""
        self.steps.append(fitted)  # first: rows elsewhere that are lost meanwhile get the whole model
        for scores in (self.train, *self.evaluations):
            scores.take(fitted)
        if self.train.validation_rows is not None:
            first = self.evaluations[0]
            assert isinstance(first, Scores)  # noqa: S101 - those of the training rows
            self.train.raw[:, self.train.validation_rows] = first.raw
        train_loss = self.train.mean_loss(self.loss) if self.follow_train else None
        return RoundResult(fitted.n_leaves, train_loss, self.evaluate())

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(scores.mean_loss(self.loss) for scores in self.evaluations)
