"""Members of other libraries in the AdaBoost family: clones of a scikit-learn estimator, fitted to X.

A fitted classifier is read as a tree whose leaves are the classes that it predicts; a regressor predicts a
number for every row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.weak_learners import ClassTargets, FittedTree, Resampler, RowWeights, Targets
from hedgerow.growing.weak_tree import LeafIds
from hedgerow.kernels.cpu.adaboost import sum_by_leaf
from hedgerow.members import (
    fit_member,
    indexable_rows,
    predict_classes,
    predict_probabilities,
    predict_values,
    take_rows,
)
from hedgerow.threads import cached_property


class FittedMember:
    """A fitted estimator of another library, with the training rows."""

    n_leaves = 0

    def __init__(self, member: Any, X: Any, targets: Targets, prediction_type: str) -> None:
        self.member, self._X, self._targets, self._prediction_type = member, X, targets, prediction_type

    @property
    def compact(self) -> Any:
        """What the model stores: the estimator without the training rows."""
        return self.member

    @property
    def _class_targets(self) -> ClassTargets:
        assert isinstance(self._targets, ClassTargets)  # noqa: S101 - regressors have no leaves
        return self._targets

    @cached_property
    def _train_probabilities(self) -> Floats:
        return predict_probabilities(self.member, self._X, self._class_targets.labels)

    def probabilities(self, rows: Any = None) -> Floats:
        """Predict probabilities (classes, rows); None for the training rows."""
        if rows is None:
            return self._train_probabilities
        return predict_probabilities(self.member, rows, self._class_targets.labels)

    def numbers(self, rows: Any = None) -> Floats:
        """Predict the numbers of a regressor; None for the training rows."""
        return predict_values(self.member, self._X if rows is None else rows)

    @cached_property
    def leaf_ids(self) -> LeafIds:
        """The class numbers that the member predicts for the training rows."""
        if self._prediction_type == "probabilities":
            return np.asarray(np.argmax(self._train_probabilities, axis=0), np.int32)
        return self.apply(self._X)

    def apply(self, rows: Any) -> LeafIds:
        """Return the class numbers that the member predicts for other rows."""
        return predict_classes(self.member, rows, self._class_targets.labels)

    @property
    def votes(self) -> list[int]:
        """The class of every leaf: its own number."""
        return list(range(len(self._class_targets.labels)))

    @cached_property
    def sums(self) -> Integers:
        """Weights of the distribution by predicted and true class."""
        targets = self._class_targets
        sums = np.zeros((len(targets.labels),) * 2, np.int64)
        sum_by_leaf(self.leaf_ids, targets.classes, targets.distribution.rounded, sums)
        return sums


Fitted = FittedTree | FittedMember


class MemberLearner:
    """Fits clones of an estimator of another library to X as the user passed it.

    With a `resampler`, which estimators without `sample_weight` require, they are fitted to rows drawn by the
    distribution. The seed is that of the clones that have a `random_state`.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        weights: RowWeights,
        prediction_type: str,
        resampler: Resampler | None,
        seed: int,
    ) -> None:
        self.estimator, self.weights, self.seed = estimator, weights, seed
        self.X, self._prediction_type, self.resampler = indexable_rows(X), prediction_type, resampler
        all_train = weights.n_training_rows == weights.n_rows
        self._training_X = self.X if all_train else take_rows(self.X, weights.rows)

    def fit(self, targets: list[Targets], iteration: int) -> list[FittedMember]:
        """Fit one clone to each target."""
        if self.resampler is not None:
            self.resampler.start(iteration)
        first = self.seed + iteration * len(targets)
        return [
            FittedMember(self._member(target, i, first + i, iteration), self.X, target, self._prediction_type)
            for i, target in enumerate(targets)
        ]

    def _member(self, targets: Targets, index: int, seed: int, iteration: int) -> Any:
        step = f"in round {iteration + 1}"
        y: NDArray[Any]
        if isinstance(targets, ClassTargets):
            y, weight = targets.labels[targets.classes], targets.distribution.weight
            rounded = targets.distribution.rounded
        else:
            y, weight = targets.values, targets.weight
            rounded, _ = self.weights.moments(weight, y, targets.max_abs)
        if self.resampler is not None:
            rows = self.resampler.draw(rounded, index)
            return fit_member(self.estimator, seed, take_rows(self.X, rows), y[rows], step=step)
        used = self.weights.rows
        # A mean of one, not a sum of one: many learners weigh rows against a penalty of fixed size.
        scaled = self.weights.normalized(weight)[used] * self.weights.n_copies
        return fit_member(self.estimator, seed, self._training_X, y[used], scaled, step=step)
