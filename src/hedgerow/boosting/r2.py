"""AdaBoost.R2: boosting regressors by the size of their errors (Drucker 1997).

With D the weights of the rows, h the member of a round, e = |y - h(x)| and E the largest e:

    L        e / E (linear), (e / E)**2 (square) or 1 - exp(-e / E) (exponential), each in [0, 1]
    mean     sum of D L; the member is rejected unless it is below 1/2
    alpha    learning rate * ln((1 - mean) / mean)
    D        <- D exp(-alpha (1 - L)) / Z: well predicted rows lose weight

The prediction is the median of the members, weighted by alpha.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost_family import (
    CHANCE,
    MemberOutputs,
    RoundStatistics,
    RuleOptions,
    ScoreUpdate,
    Step,
)
from hedgerow.boosting.adaboost_members import Fitted, FittedMember
from hedgerow.boosting.adaboost_models import MedianRows
from hedgerow.boosting.loop import RoundResult, StopBoosting
from hedgerow.boosting.weak_learners import NumericTargets, RowWeights
from hedgerow.elementary import exp
from hedgerow.kernels.cpu import elementary
from hedgerow.losses.base import weighted_mean

LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda fraction: fraction,
    "square": lambda fraction: fraction * fraction,
    "exponential": lambda fraction: 1.0 - exp(-fraction),
}

# A largest error below one of these fractions counts as 0: of the range of the target (when resampling, trees
# round targets to 31 bits), and of its size (rounding within a learner).
_EXACT_RANGE, _EXACT_SIZE = 1e-9, 2.0**-50
_MAX_ALPHA = 2.0**900  # so that sums are finite


class R2Rule:
    """AdaBoost.R2 as an update rule.

    `train` has the training rows if their error is computed. `statistics` are those of the model that the fit
    starts from.
    """

    def __init__(
        self,
        y: Floats,
        train: MedianRows | None,
        evaluations: Sequence[MedianRows],
        weights: RowWeights,
        options: RuleOptions,
        statistics: RoundStatistics,
        *,
        loss: str,
    ) -> None:
        self.y, self.train, self.evaluations = y, train, evaluations
        self.weights, self.statistics = weights, statistics
        self.loss, self.learning_rate = LOSSES[loss], options.learning_rate
        self.steps: list[Step] = []
        self.stop_reason = ""
        self._copies = weights.copies if weights.copies.size else None
        used = y[weights.rows]
        self._exact = max(_EXACT_RANGE * float(np.ptp(used)), _EXACT_SIZE * float(np.abs(used).max()))
        # Trees fit y less its mean: the squares of a large mean would hide the gains of the splits.
        self.centre = 0.0 if options.external_members else weighted_mean(y, weights.sample_weight)
        self._target = np.zeros(len(y))
        self._target[weights.rows] = used - self.centre
        self._max_abs = float(np.abs(self._target).max())
        self._initialize_weights()

    # --- the weights of the rows

    def _initialize_weights(self) -> None:
        """Set D to the sample weights."""
        self._exponents = np.where(self.weights.factor > 0, 0.0, -np.inf)
        self.row_weight = self.weights.factor  # D, not normalized and without copies
        self._mean_weight = self._mean(self.row_weight)

    def _mean(self, values: Floats) -> float:
        """Mean over the copies of the rows: the same bits for a weight of 2 and for two copies of a row."""
        return weighted_mean(values, self._copies)

    def _losses(self, predicted: Floats) -> Floats | None:
        """L of every row, at most 1; None if all errors of the training rows are rounding."""
        errors = np.abs(self.y - predicted)  # finite: targets are far from the largest float
        largest = float(errors[self.weights.rows].max())
        return None if largest <= self._exact else self.loss(np.minimum(errors / largest, 1.0))

    def _reweight(self, losses: Floats, alpha: float) -> float:
        """Update D; return Z."""
        exponents = self._exponents - alpha * (1.0 - losses)
        shift = float(exponents.max())  # rows without weight have -inf
        exponents -= shift
        weight = np.empty(len(exponents))
        elementary.exp_into(exponents, weight)
        weight *= self.weights.factor
        mean = self._mean(weight)
        normalizer: float = mean / self._mean_weight * elementary.exp(shift)
        self._exponents, self.row_weight, self._mean_weight = exponents, weight, mean
        return normalizer

    # --- the round

    def targets(self, iteration: int) -> list[NumericTargets]:
        """Fit y by least squares under D."""
        return [NumericTargets(self._target, self.row_weight, self._max_abs)]

    def update(self, fitted: list[Fitted], iteration: int) -> RoundResult:
        """Weight the member by its mean loss, and update the weights of the rows."""
        (learner,) = fitted
        predicted = self._predict(learner)
        alpha, mean, normalizer = self._weights_of(predicted, iteration)
        step = Step([ScoreUpdate(learner, 0)], alpha, mean, normalizer, alpha)
        if not isinstance(learner, FittedMember):
            step.updates[0].leaf_values = (learner.values + self.centre)[np.newaxis]
            # Gains are sums over the weight of the sample that the tree was grown on.
            step.gain_scale = alpha / int(learner.sample_sums[:, 0].sum())
        self.steps.append(step)
        self.statistics.add(step)
        others = [self._predict(learner, rows.rows) for rows in self.evaluations if rows.subset is None]
        self._add_to_medians(predicted, others, iteration)
        train, n_leaves = None if self.train is None else self.train.error(), step.n_leaves
        step.compact()
        return RoundResult(n_leaves, train, self.evaluate(), last=self._has_ended())

    def _predict(self, learner: Fitted, rows: Any = None) -> Floats:
        """Return predictions of a fitted learner; None for the training rows."""
        if isinstance(learner, FittedMember):
            return learner.numbers(rows)
        leaf_ids = learner.leaf_ids if rows is None else learner.apply(rows)
        predicted: Floats = (learner.values + self.centre)[leaf_ids]
        return predicted

    def _weights_of(self, predicted: Floats, iteration: int) -> tuple[float, float, float]:
        """Return alpha, mean loss and Z of a member; update D."""
        losses = self._losses(predicted)
        if losses is None:
            self.stop_reason = _perfect(iteration + 1)
            total = math.fsum(self.statistics.weights)
            return total + elementary.log(2.0 * self.weights.n_copies + 1.0), 0.0, 0.0
        # The weights of all rows with an error may have become 0: the logarithm must be finite.
        mean = max(self._mean(self.row_weight * losses) / self._mean_weight, sys.float_info.min)
        if mean >= 0.5 - CHANCE:
            self._reject(mean, iteration)
            return 1.0, mean, 1.0
        alpha = self.learning_rate * elementary.log((1.0 - mean) / mean)
        if not alpha < _MAX_ALPHA:
            raise FloatingPointError(
                f"learning_rate={self.learning_rate} gives a weight of {alpha} in round {iteration + 1}, "
                "which is outside of the range of float64: it must be smaller"
            )
        return alpha, mean, self._reweight(losses, alpha)

    def _reject(self, mean: float, iteration: int) -> None:
        """Stop the fit, but keep the first member.

        In a later round R2 usually ends this way, so that there is no warning.
        """
        self.stop_reason = _no_better_than_chance(mean, iteration)
        if iteration:
            raise StopBoosting
        warnings.warn(f"boosting stopped: {self.stop_reason}", stacklevel=2)

    def evaluate(self) -> tuple[float, ...]:
        """Return the mean absolute error of each evaluation set."""
        return tuple(rows.error() for rows in self.evaluations)

    def _add_to_medians(self, predicted: Floats, others: Sequence[Floats], iteration: int) -> None:
        """Add a member to the medians; `others` are its predictions for the evaluation sets."""
        predictions, weights = iter(others), self.statistics.weights[: iteration + 1]
        for rows in (self.train, *self.evaluations):
            if rows is not None:
                rows.add(next(predictions) if rows.subset is None else predicted[rows.subset], weights)

    # --- end of the fit, and removed rounds

    def _has_ended(self) -> bool:
        """Return whether the last member is perfect, or is the only one and no better than chance."""
        errors = self.statistics.errors
        return bool(errors) and not 0.0 < errors[-1] < 0.5 - CHANCE

    def is_finished(self) -> bool:
        """Return whether no round can follow; set the reason."""
        if not self._has_ended():
            return False
        n_rounds, error = self.statistics.n_rounds, self.statistics.errors[-1]
        self.stop_reason = _no_better_than_chance(error, n_rounds - 1) if error else _perfect(n_rounds)
        return True

    def resume(self, model: Any, ensemble: MemberOutputs) -> None:
        """Restore D and the medians after the rounds of a model, with the same bits."""
        self._replay(model, ensemble, medians=True)

    def truncate(self, model: Any, ensemble: MemberOutputs) -> None:
        """Go back to D after the rounds of a truncated model."""
        self.statistics = self.statistics.first(model.n_rounds)
        self._initialize_weights()
        self._replay(model, ensemble, medians=False)

    def _replay(self, model: Any, ensemble: MemberOutputs, *, medians: bool) -> None:
        alphas = self.statistics.weights[: -1 if self._has_ended() else None]  # the last one left D unchanged
        others = [
            ensemble.member_predictions(model, rows.rows)
            for rows in self.evaluations
            if medians and rows.subset is None
        ]
        for iteration, predicted in enumerate(ensemble.member_predictions(model)):
            losses = self._losses(predicted)
            if losses is not None and iteration < len(alphas):
                self._reweight(losses, alphas[iteration])
            if medians:
                self._add_to_medians(predicted, [next(predictions) for predictions in others], iteration)


def _perfect(n_rounds: int) -> str:
    return (
        f"the learner of round {n_rounds} is perfect: its errors are 0 except for rounding, and it decides "
        "alone"
    )


def _no_better_than_chance(mean: float, iteration: int) -> str:
    remaining = "the model has the rounds before it" if iteration else "the model has this round only"
    return (
        f"the weak learner has a mean loss of {mean:.3g} in round {iteration + 1}, and 1/2 is chance: "
        f"{remaining}"
    )
