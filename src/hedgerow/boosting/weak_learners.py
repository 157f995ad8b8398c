"""Weak learners of the AdaBoost family: trees grown on codes, or any scikit-learn estimator fitted to X.

An update rule returns a list of targets for every round: one, or one for each class. A learner fits one tree
or one clone to each of them. A fitted tree assigns every row to a leaf; a fitted estimator of another library
is read as a tree whose leaves are the classes it predicts, or predicts a number for every row.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.binning import BinnedTable
from hedgerow.boosting.row_weights import Classes, Distribution, RowWeights, draw_sample
from hedgerow.growing.weak_shards import RemoteRows, RowSubset, ShardedWeakGrower
from hedgerow.growing.weak_tree import LeafIds, WeakGrower, WeakTree
from hedgerow.kernels.cpu.adaboost import tally
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.members import (
    accepts_weights,
    fit_member,
    indexable_rows,
    predict_classes,
    predict_probabilities,
    predict_values,
    take_rows,
)
from hedgerow.threads import Team, cached_property

_TARGET_STEPS = 1 << 30  # resolution of a numeric target between 0 and its largest value, when resampling
_NO_INTEGERS, _NO_CLASSES = np.empty(0, np.int64), np.empty(0, np.uint8)


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """Class numbers to separate under a distribution; `labels` are the labels of the classes."""

    classes: Classes
    labels: NDArray[Any]
    distribution: Distribution


@dataclass(frozen=True, eq=False)
class NumericTargets:
    """Numbers to fit by weighted least squares; no |value| exceeds `max_abs`."""

    values: Floats
    weight: Floats
    max_abs: float


Targets = ClassTargets | NumericTargets


# --- fitted learners


class FittedTree:
    """A tree grown on codes.

    Parameters
    ----------
    tree : WeakTree
    leaf_ids : int (n,)
        Leaves of the training rows.
    sums : int64 (nodes, classes)
        Weight of each class under the distribution in every leaf; 0 in inner nodes.
    sample_sums : int64 (nodes, classes), or (nodes, 2)
        The same for the rows that the tree was grown on: a drawn sample, or all. For numeric targets the
        weights and the weighted targets.
    team : Team
    target_range : (float, float, float)
        For numeric targets: `max_abs`, the smallest and the largest value.
    """

    def __init__(
        self,
        tree: WeakTree,
        leaf_ids: LeafIds,
        sums: Integers,
        sample_sums: Integers,
        team: Team,
        target_range: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        self.tree, self.leaf_ids, self.sums, self.sample_sums = tree, leaf_ids, sums, sample_sums
        self.n_leaves, self._range, self._team = tree.n_leaves, target_range, team

    @property
    def compact(self) -> WeakTree:
        """What the model stores: the tree without arrays of the size of the training rows."""
        return self.tree

    @cached_property
    def votes(self) -> list[int]:
        """The heaviest class of every node; the first of equal ones."""
        return [weights.index(max(weights)) for weights in self.sample_sums.tolist()]

    @property
    def values(self) -> Floats:
        """The weighted mean of numeric targets in every node, clipped to the range of the targets.

        Moments of rows that are lighter than others by many powers of ten have few bits left.
        """
        max_abs, low, high = self._range
        weight, moment = self.sample_sums.T.astype(np.float64)
        means: Floats = np.divide(moment, weight, out=np.zeros(len(weight)), where=weight > 0)
        return np.clip(means * max_abs, low, high)

    def apply(self, rows: BinnedTable | RemoteRows | RowSubset) -> LeafIds:
        """Return the leaves of other rows, or of a subset of the training rows."""
        if isinstance(rows, RowSubset):
            subset: LeafIds = self.leaf_ids[rows.numbers]
            return subset
        return rows.leaf_ids(self.tree) if isinstance(rows, RemoteRows) else self.tree.apply(rows, self._team)


class FittedMember:
    """A fitted estimator of another library.

    Parameters
    ----------
    member : estimator
    X : the training rows
    targets : Targets
    prediction_type : {"classes", "probabilities", "numbers"}
    """

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
        tally(self.leaf_ids, targets.classes, targets.distribution.rounded, sums)
        return sums


Fitted = FittedTree | FittedMember


# --- learners


class Resampler:
    """Draws rows by their weights; a pure function of the seed, the round, the attempt and the target."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._iteration, self._attempt = -1, 0

    def start(self, iteration: int) -> None:
        """Start a round; the same round again counts as another attempt."""
        self._attempt = self._attempt + 1 if iteration == self._iteration else 0
        self._iteration = iteration

    def draw(self, rounded: Integers, n_draws: int, index: int) -> Integers:
        """Draw row numbers for target number `index`."""
        key = (self._iteration << 32) + (self._attempt << 24) + index
        return draw_sample(rounded, n_draws, self.seed, key)


class WeakTreeLearner:
    """Fits trees on codes.

    Parameters
    ----------
    grower : WeakGrower or ShardedWeakGrower
    weights : RowWeights
    resample : bool
        Grow trees on rows drawn by the distribution, instead of on weighted rows.
    seed : int
    team : Team
    """

    def __init__(
        self,
        grower: WeakGrower | ShardedWeakGrower,
        weights: RowWeights,
        *,
        resample: bool,
        seed: int,
        team: Team,
    ) -> None:
        self.grower, self.weights, self.resample, self.team = grower, weights, resample, team
        self._resampler = Resampler(seed)

    def fit(self, targets: list[Targets], iteration: int) -> list[FittedTree]:
        """Grow one tree for each target."""
        self._resampler.start(iteration)
        return [
            self._fit_classes(one, i) if isinstance(one, ClassTargets) else self._fit_numbers(one, i)
            for i, one in enumerate(targets)
        ]

    def _fit_classes(self, targets: ClassTargets, index: int) -> FittedTree:
        weight = targets.distribution.rounded
        if self.resample:
            weight = self._counts(weight, index)
        sample = Sample(weight, _NO_INTEGERS, targets.classes)
        tree, leaf_ids = self.grower.grow_with_leaf_ids(sample, len(targets.labels))
        sums = sample_sums = tree.sums
        if self.resample:
            sums = np.zeros_like(sample_sums)
            tally(leaf_ids, targets.classes, targets.distribution.rounded, sums)
        return FittedTree(tree, leaf_ids, sums, sample_sums, self.team)

    def _fit_numbers(self, targets: NumericTargets, index: int) -> FittedTree:
        values, max_abs = targets.values, targets.max_abs
        weight, moment = self.weights.moments(targets.weight, values, max_abs)
        if self.resample:
            counts = self._counts(weight, index)
            unit = min(_TARGET_STEPS / (max_abs or 1.0), sys.float_info.max)
            weight, moment = counts * _TARGET_STEPS, counts * np.rint(values * unit).astype(np.int64)
        tree, leaf_ids = self.grower.grow_with_leaf_ids(Sample(weight, moment, _NO_CLASSES), 2)
        if self.weights.n_training_rows < self.weights.n_rows:
            values = values[self.weights.rows]
        target_range = max_abs, float(values.min()), float(values.max())
        return FittedTree(tree, leaf_ids, tree.sums, tree.sums, self.team, target_range)

    def _counts(self, rounded: Integers, index: int) -> Integers:
        """How often each row is drawn, in as many draws as there are training rows."""
        rows = self._resampler.draw(rounded, self.weights.n_training_rows, index)
        return np.bincount(rows, minlength=len(rounded)).astype(np.int64)


class MemberLearner:
    """Fits clones of an estimator of another library.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor
    X : the training rows as the user passed them
    weights : RowWeights
    prediction_type : {"classes", "probabilities", "numbers"}
    resample : bool
        Fit to rows drawn by the distribution; always done for estimators without `sample_weight`.
    seed : int
        Seed of the draws and of the clones that have a `random_state`.
    """

    def __init__(
        self, estimator: Any, X: Any, weights: RowWeights, prediction_type: str, *, resample: bool, seed: int
    ) -> None:
        self.estimator, self.weights, self.seed = estimator, weights, seed
        self.X, self._prediction_type = indexable_rows(X), prediction_type
        self.resample = resample or not accepts_weights(estimator)
        all_train = weights.n_training_rows == weights.n_rows
        self._training_X = self.X if all_train else take_rows(self.X, weights.rows)
        self._resampler = Resampler(seed)

    def fit(self, targets: list[Targets], iteration: int) -> list[FittedMember]:
        """Fit one clone to each target."""
        self._resampler.start(iteration)
        first = self.seed + iteration * len(targets)
        return [
            FittedMember(self._member(one, i, first + i, iteration), self.X, one, self._prediction_type)
            for i, one in enumerate(targets)
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
        if self.resample:
            rows = self._resampler.draw(rounded, self.weights.n_training_rows, index)
            return fit_member(self.estimator, seed, take_rows(self.X, rows), y[rows], step=step)
        used = self.weights.rows
        # A mean of one, not a sum of one: many learners weigh rows against a penalty of fixed size.
        scaled = self.weights.normalized(weight)[used] * self.weights.n_copies
        return fit_member(self.estimator, seed, self._training_X, y[used], scaled, step=step)
