"""Gradient boosting with regressors of other libraries.

A regressor is fitted to the negative gradients and predicts a direction. One line search finds the length of
the step along it (Friedman 2001).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.backends.base import BoostingOptions
from hedgerow.backends.cpu import Scores
from hedgerow.kernels.cpu.random import draw_positions
from hedgerow.losses import Loss
from hedgerow.members import (
    MemberSum,
    accepts_weights,
    indexable_rows,
    predict_values,
    seeded_clone,
    take_rows,
)
from hedgerow.table.table import Dataset
from hedgerow.threads import Team


@dataclass(frozen=True, eq=False)
class MemberModel(MemberSum):
    """Fitted regressors, one per output and round, and the length of the step of every round."""

    start: Floats
    members: list[list[Any]]  # rounds x outputs
    steps: list[float]

    def cut(self, n_rounds: int) -> "MemberModel":
        """Return a model of the first rounds."""
        return MemberModel(self.start, self.members[:n_rounds], self.steps[:n_rounds])

    def _start(self, n_rows: int) -> Floats:
        return np.repeat(self.start[:, None], n_rows, axis=1)

    def _added(self, X: Any) -> Iterator[Floats]:
        for members, step in zip(self.members, self.steps, strict=True):
            yield np.stack(
                [step * np.asarray(member.predict(X), np.float64).reshape(-1) for member in members]
            )


@dataclass(eq=False)
class MemberRound:
    """The regressors of a round, one per output, and the length of their step."""

    members: list[Any]
    step: float
    n_leaves: int = 0

    def directions(self, X: Any) -> Floats:
        """Return the predictions of the members, (outputs, rows)."""
        return np.stack([predict_values(member, X) for member in self.members])


class MemberEnsemble:
    """Regressors of other libraries, which receive X as the user passed it.

    rounds : all rounds so far, without those of the `previous` model
    weight : weights of the training rows, 0 for validation rows; or None
    """

    def __init__(
        self,
        options: BoostingOptions,
        previous: MemberModel | None,
        rounds: list[MemberRound],
        start: Floats,
        weight: Floats | None,
        team: Team,
    ) -> None:
        self._options, self._rounds, self._weight, self._team = options, rounds, weight, team
        self._previous = previous or MemberModel(start, [], [])

    def training_rows(self, train: Dataset) -> "MemberTrainingRows":
        """Prepare the training rows; those of weight 0 are left out."""
        rows, chosen = self.evaluation_rows(train), self._options.validation_rows
        validation = None if chosen is None else rows.take(chosen)
        if self._weight is not None and not np.all(self._weight > 0):
            rows = rows.take(np.flatnonzero(self._weight > 0))
        return MemberTrainingRows(self._options, rows, validation, self._team)

    def evaluation_rows(self, rows: Dataset) -> "MemberScores":
        """Prepare an evaluation set."""
        raw = self._previous.scores(rows.X, len(rows.y))
        return MemberScores(self._options.loss, rows.y, rows.sample_weight, raw, rows.X)

    def scores(self) -> dict[str, Floats]:
        """Return no scores: they follow from the members."""
        return {}

    def restore_scores(self, scores: dict[str, Floats]) -> None:
        """Do nothing: no checkpoint has them."""

    def model(self) -> MemberModel:
        """Make a model of all rounds so far."""
        members = [done.members for done in self._rounds]
        steps = [done.step for done in self._rounds]
        previous = self._previous
        return MemberModel(previous.start, previous.members + members, previous.steps + steps)


class MemberScores(Scores):
    """Rows whose scores are updated by the predictions of regressors."""

    def __init__(self, loss: Loss, y: Floats, weight: Floats | None, raw: Floats, X: Any) -> None:
        super().__init__(loss, y, weight, raw)
        self.X = X

    def take(self, rows: NDArray[Any]) -> "MemberScores":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        X = take_rows(indexable_rows(self.X), rows)
        return MemberScores(self.loss, self.y[rows], weight, np.ascontiguousarray(self.raw[:, rows]), X)

    def update(self, fitted: MemberRound) -> None:
        """Add the step of a round to the scores."""
        self.raw += fitted.step * fitted.directions(self.X)


class MemberTrainingRows(MemberScores):
    """Training rows; the seed is that of the rows that are drawn and of the `random_state` of the clones."""

    def __init__(
        self, options: BoostingOptions, rows: MemberScores, validation: MemberScores | None, team: Team
    ) -> None:
        super().__init__(rows.loss, rows.y, rows.weight, rows.raw, rows.X)
        self._options, self.validation = options, validation
        self.allocate_gradients(team)
        estimator = options.estimator
        if self.weight is not None and not accepts_weights(estimator):
            raise ValueError(
                f"estimator={estimator!r} has no sample_weight in its fit, but rows have weights; do not "
                "pass sample_weight or class_weight"
            )

    def fit(self, gradients: tuple[Floats, Floats], iteration: int) -> MemberRound:
        """Fit the regressors to the negative gradients and search the length of the step."""
        options, gradient = self._options, gradients[0]
        sample: MemberScores = self
        if options.subsample < 1.0:
            rows = draw_positions(len(self.y), options.subsample, options.seed, iteration)
            sample, gradient = self.take(rows), gradient[:, rows]
        weight = {} if sample.weight is None else {"sample_weight": sample.weight}
        members = []
        for output, target in enumerate(-gradient):
            member = seeded_clone(options.estimator, options.seed + iteration * len(gradient) + output)
            member.fit(sample.X, target, **weight)
            members.append(member)
        fitted = MemberRound(members, 1.0)
        directions = fitted.directions(sample.X)
        length = self.loss.global_line_search(sample.y, sample.raw, directions, sample.weight)
        fitted.step = options.rate(iteration) * length
        return fitted

    def update(self, fitted: MemberRound) -> None:
        """Add the step of a round to the scores, also to those of the validation rows."""
        super().update(fitted)
        if self.validation is not None:
            self.validation.update(fitted)
