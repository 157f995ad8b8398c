"""AdaBoost.R2: boosting regressors by the size of their errors (Drucker 1997).

With D the weights of the rows, h the member of a round, e = |y - h(x)| and E the largest e:

    L        e / E (linear), (e / E)**2 (square) or 1 - exp(-e / E) (exponential), each in [0, 1]
    mean     sum D L, below 1/2 or the member is refused
    alpha    learning rate * ln((1 - mean) / mean)
    D        <- D exp(-alpha (1 - L)) / Z: rows that are well predicted become light

The ensemble says the median of its members, weighted by alpha.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import CHANCE
from hedgerow.boosting.loop import RoundResult, StopBoosting
from hedgerow.boosting.median import Followed
from hedgerow.boosting.row_weights import RowWeights
from hedgerow.boosting.weak_learners import NumberProblem
from hedgerow.kernels.cpu import elementary
from hedgerow.losses.base import weighted_mean
from hedgerow.losses.links import exp

LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda share: share,
    "square": lambda share: share * share,
    "exponential": lambda share: 1.0 - exp(-share),
}

# The largest error is taken for 0 below a share of the target's spread (when rows are drawn, our trees round
# targets to 31 bits), or of its size (a learner's own rounding).
_EXACT_SPREAD, _EXACT_SIZE = 1e-9, 2.0**-50
_LARGEST_ALPHA = 2.0**900  # so that sums stay finite


@dataclass(eq=False)
class R2Record:
    """alpha, mean loss and Z of every round; see the attributes of `hedgerow.AdaBoostRegressor`."""

    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the last member is perfect, or the only one and no better than chance: none can follow."""
        return bool(self.errors) and not 0.0 < self.errors[-1] < 0.5 - CHANCE

    def cut(self, n_rounds: int) -> "R2Record":
        """The first rounds, copied."""
        return R2Record(self.weights[:n_rounds], self.errors[:n_rounds], self.normalizers[:n_rounds])


class Problem(Protocol):
    """What is learned, and how answers are read."""

    target: Floats  # as the learner is given it
    largest: float  # |target| at the most

    def says(self, answer: Any, rows: Any = None) -> Floats:
        """What an answer says of rows; None for the training rows."""

    def keep(self, answer: Any, alpha: float) -> Any:
        """What the model needs of an answer."""


class R2Rule:
    """AdaBoost.R2 as an update rule.

    Parameters
    ----------
    y : float64 (n,)
    problem : Problem
    weights : RowWeights
    loss : {"linear", "square", "exponential"}
    learning_rate : float
    train : Followed or None
        The training rows, when their error is followed.
    evaluations : sequence of Followed
        Further rows.
    record : R2Record
        Of the rounds gone on from.
    """

    def __init__(
        self,
        y: Floats,
        problem: Problem,
        weights: RowWeights,
        *,
        loss: str,
        learning_rate: float,
        train: Followed | None,
        evaluations: Sequence[Followed],
        record: R2Record,
    ) -> None:
        self.y, self.problem, self.weights = y, problem, weights
        self.loss, self.learning_rate = LOSSES[loss], learning_rate
        self.train, self.evaluations, self.record = train, evaluations, record
        self.kept: list[Any] = []
        self.stop_reason = ""
        self._copies = weights.copies if weights.copies.size else None
        taking_part = y[weights.rows]
        size = float(np.abs(taking_part).max())
        self._exact = max(_EXACT_SPREAD * float(np.ptp(taking_part)), _EXACT_SIZE * size)
        self.start()

    # --- the weights of the rows

    def start(self) -> None:
        """Set D to the sample weights."""
        self._exponents = np.where(self.weights.factor > 0, 0.0, -np.inf)
        self.weight = self.weights.factor  # D, not normalised and without copies
        self._mean_weight = self._mean(self.weight)

    def _mean(self, values: Floats) -> float:
        """Mean over the copies of the rows: the same bits for a weight of 2 and for the row twice."""
        return weighted_mean(values, self._copies)

    def losses(self, said: Floats) -> Floats | None:
        """L of every row, 1 at the most; None when all errors of the rows with weight are rounding."""
        errors = np.abs(self.y - said)  # finite: targets are far smaller than the largest number
        largest = float(errors[self.weights.rows].max())
        return None if largest <= self._exact else self.loss(np.minimum(errors / largest, 1.0))

    def reweigh(self, losses: Floats, alpha: float) -> float:
        """Move D; returns Z."""
        exponents = self._exponents - alpha * (1.0 - losses)
        shift = float(exponents.max())  # rows without weight are at -inf
        exponents -= shift
        weight = self.weights.factor * exp(exponents)
        mean = self._mean(weight)
        normalizer: float = mean / self._mean_weight * elementary.exp(shift)
        self._exponents, self.weight, self._mean_weight = exponents, weight, mean
        return normalizer

    # --- the round

    def targets(self, iteration: int) -> list[NumberProblem]:
        """Fit y by least squares under D."""
        return [NumberProblem(self.problem.target, self.weight, self.problem.largest)]

    def update(self, answers: list[Any], iteration: int) -> RoundResult:
        """Weigh the member by its mean loss, and the rows anew."""
        (answer,) = answers
        said = self.problem.says(answer)
        alpha, mean, normalizer = self._step(said, iteration)
        self.record.weights.append(alpha)
        self.record.errors.append(mean)
        self.record.normalizers.append(normalizer)
        self.kept.append(self.problem.keep(answer, alpha))
        elsewhere = [one.rows for one in self.evaluations if one.taken is None]
        self.note(said, [self.problem.says(answer, rows) for rows in elsewhere], iteration)
        train = None if self.train is None else self.train.error()
        return RoundResult(answer.n_leaves, train, self.evaluate(), last=self.record.ended)

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(one.error() for one in self.evaluations)

    def note(self, said: Floats, elsewhere: Sequence[Floats], number: int) -> None:
        """Tell the followed rows what a member says: of the training rows, and of each other set."""
        others, weights = iter(elsewhere), self.record.weights[: number + 1]
        for one in (self.train, *self.evaluations):
            if one is not None:
                one.add(next(others) if one.taken is None else said[one.taken], weights)

    def _step(self, said: Floats, number: int) -> tuple[float, float, float]:
        """alpha, mean loss and Z of a member; D is moved."""
        losses = self.losses(said)
        if losses is None:
            self.stop_reason = (
                f"the learner of round {number + 1} is perfect: its errors are 0 but for rounding, and it "
                "decides alone"
            )
            others = math.fsum(self.record.weights)
            return others + elementary.log(2.0 * self.weights.n_copies + 1.0), 0.0, 0.0
        # Weights of all rows that are wrong may have become 0: the logarithm stays finite.
        mean = max(self._mean(self.weight * losses) / self._mean_weight, sys.float_info.min)
        if mean >= 0.5 - CHANCE:
            self._refuse(mean, number)
            return 1.0, mean, 1.0
        alpha = self.learning_rate * elementary.log((1.0 - mean) / mean)
        if not alpha < _LARGEST_ALPHA:
            raise FloatingPointError(
                f"learning_rate={self.learning_rate} gives a weight of {alpha} in round {number + 1}, which "
                "leaves the range of float64: it must be smaller"
            )
        return alpha, mean, self.reweigh(losses, alpha)

    def _refuse(self, mean: float, number: int) -> None:
        """End the fit, but keep the first member, whatever it is worth.

        Later, this is how R2 usually ends, and no reason for a warning.
        """
        error = f"the weak learner has a mean loss of {mean:.3g} in round {number + 1}, and 1/2 is chance"
        kept = "the rounds before it are the model" if number else "it alone is the model"
        self.stop_reason = f"{error}: {kept}"
        if number:
            raise StopBoosting
        warnings.warn(f"boosting stopped: {self.stop_reason}", stacklevel=2)
