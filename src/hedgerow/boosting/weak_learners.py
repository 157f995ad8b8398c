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

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.binning import BinnedTable, Bins
from hedgerow.boosting.row_weights import Classes, Distribution, RowWeights, draw_sample
from hedgerow.forest import Forest
from hedgerow.growing.weak_shards import RemoteRows, ShardedWeakGrower
from hedgerow.growing.weak_tree import LeafIds, WeakGrower, WeakRules, WeakTree
from hedgerow.kernels.cpu.adaboost import sum_by_leaf
from hedgerow.kernels.cpu.elementary import log_into
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
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
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


# --- rows


@dataclass(frozen=True, eq=False)
class RowSubset:
    """Some of the training rows; their leaves are known from those of all training rows."""

    numbers: RowNumbers


class LocalRows:
    """Codes of a table in memory; `RemoteRows` has the same methods for a remote table."""

    def __init__(self, codes: BinnedTable, team: Team) -> None:
        self.codes, self._team = codes, team

    def make_grower(self, rules: WeakRules, team: Team) -> WeakGrower:
        """Return a grower of trees on these rows."""
        return WeakGrower(self.codes, rules, team)

    def leaf_ids(self, tree: WeakTree) -> LeafIds:
        """Return the node number of the leaf of every row."""
        return tree.apply(self.codes, self._team)

    def scores(self, forest: Forest, n_outputs: int) -> Floats:
        """Sum the leaf values of the trees of a forest, (outputs, rows)."""
        scores = np.zeros((n_outputs, self.codes.n_rows))
        for tree, output in enumerate(forest.output):
            forest.add_coded_scores(self.codes, tree, scores[output], self._team)
        return scores

    def close(self) -> None:
        """Nothing is remote."""


CodedRows = LocalRows | RemoteRows


def code_rows(table: Table, bins: Bins, team: Team) -> CodedRows:
    """Encode the rows of a table where they are; nothing else depends on the kind of table."""
    if isinstance(table, RemoteTable):
        return RemoteRows(table, bins, team.n_members)
    return LocalRows(bins.encode(table, team, for_growing=False), team)


# --- fitted learners


class FittedTree:
    """A tree grown on codes, with the leaves of the training rows.

    sums : int64 (nodes, classes), weights of the distribution in every leaf; 0 in inner nodes
    sample_sums : the same for the rows that the tree was grown on, a drawn sample or all; for numeric targets
        the weights and the weighted targets, (nodes, 2)
    target_range : for numeric targets `max_abs`, the smallest and the largest value
    """

    def __init__(
        self,
        tree: WeakTree,
        leaf_ids: LeafIds,
        sums: Integers,
        sample_sums: Integers,
        target_range: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        self.tree, self.leaf_ids, self.sums, self.sample_sums = tree, leaf_ids, sums, sample_sums
        self.n_leaves, self._range = tree.n_leaves, target_range

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

    def apply(self, rows: "CodedRows | RowSubset") -> LeafIds:
        """Return the leaves of other rows, or of a subset of the training rows."""
        if isinstance(rows, RowSubset):
            subset: LeafIds = self.leaf_ids[rows.numbers]
            return subset
        return rows.leaf_ids(self.tree)


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


# --- directions in score space


def vote_directions(classes: NDArray[Any] | list[int], n_classes: int) -> Floats:
    """Directions (outputs, rows) of votes for classes."""
    if n_classes == 2:
        return 2.0 * np.asarray(classes)[np.newaxis] - 1.0
    votes: Floats = (np.arange(n_classes)[:, np.newaxis] == np.asarray(classes)).astype(np.float64)
    return votes


def probability_directions(probabilities: Floats, floor: float) -> Floats:
    """Directions (outputs, rows) of probabilities (classes, rows), which are raised to `floor`."""
    logs = np.maximum(probabilities, floor)
    log_into(logs.reshape(-1), logs.reshape(-1))
    if len(logs) == 2:
        return np.asarray(0.5 * (logs[1:] - logs[:1]))
    mean = np.zeros(logs.shape[1])
    for of_class in logs:  # in this order: np.mean may add in another
        mean += of_class
    directions: Floats = (logs - mean / len(logs)) * (len(logs) - 1.0)
    return directions


def split_error(fitted: Fitted) -> tuple[int, int]:
    """Integer weights of the rows that the votes of the leaves classify correctly and wrongly."""
    sums: list[list[int]] = fitted.sums.tolist()
    right = sum(row[vote] for row, vote in zip(sums, fitted.votes, strict=True))
    return right, sum(map(sum, sums)) - right


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
    """Fits trees on codes; with `resample` to rows drawn by the distribution, instead of weighted rows."""

    def __init__(
        self,
        grower: WeakGrower | ShardedWeakGrower,
        weights: RowWeights,
        *,
        resample: bool = False,
        seed: int = 0,
    ) -> None:
        self.grower, self.weights, self.resample = grower, weights, resample
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
            sum_by_leaf(leaf_ids, targets.classes, targets.distribution.rounded, sums)
        return FittedTree(tree, leaf_ids, sums, sample_sums)

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
        return FittedTree(tree, leaf_ids, tree.sums, tree.sums, target_range)

    def _counts(self, rounded: Integers, index: int) -> Integers:
        """How often each row is drawn, in as many draws as there are training rows."""
        rows = self._resampler.draw(rounded, self.weights.n_training_rows, index)
        return np.bincount(rows, minlength=len(rounded)).astype(np.int64)


class MemberLearner:
    """Fits clones of an estimator of another library to X as the user passed it.

    Estimators without `sample_weight` are always fitted to rows drawn by the distribution. The seed is that
    of the draws and of the clones that have a `random_state`.
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
