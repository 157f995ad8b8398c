"""Weights of the rows of a round, and the trees that are fitted under them.

The distribution D over the training rows is stored as floats and as exact integers:

    u  float64 (n,)   weight of a row, not normalized, without its copies
    q  int64 (n,)     copies * round(u * 2**61 / sum)      used by the trees and for all errors

Sums of q do not depend on the order of the rows, and 61 bits are more than a float64 has. An integer
sample weight multiplies the rounded weight, so that it acts exactly as that many copies of the row.

An update rule returns a list of targets for every round: one, or one for each class. A learner fits one tree
to each of them, which assigns every row to a leaf; `adaboost_members` fits estimators of other libraries.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, Keys, RowNumbers
from hedgerow.backends.base import WeakTreeGrower
from hedgerow.growing.grower import Weights
from hedgerow.growing.weak_tree import LeafIds, WeakTree
from hedgerow.kernels.cpu.adaboost import (
    WHOLE,
    fill_exponents,
    raise_exponents,
    round_moments,
    round_weights,
    sum_by_leaf,
    weigh_rows,
    weighted_sum,
)
from hedgerow.kernels.cpu.elementary import log_into
from hedgerow.kernels.cpu.random import RESAMPLE, draw_rows
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.threads import CHUNK_ROWS, Team, cached_property

Classes = NDArray[Any]  # class numbers, one byte each where that is enough; see `class_dtype`
_MAX_DRAWS = 16  # times the number of rows, with large integer weights
_TARGET_STEPS = 1 << 30  # resolution of a numeric target between 0 and its largest value, when resampling
_NO_INTEGERS, _NO_CLASSES = np.empty(0, np.int64), np.empty(0, np.uint8)


def class_dtype(n_classes: int) -> type[np.integer[Any]]:
    """Return the dtype of class numbers."""
    return np.uint8 if n_classes <= 256 else np.int32


@dataclass(frozen=True, eq=False)
class Distribution:
    """Weights of the rows in one round."""

    weight: Floats  # u
    rounded: Integers  # q
    total: float  # the sum of u times the copies


class RowWeights:
    """The sample weights of the training rows, and the computation of distributions from them."""

    def __init__(
        self, sample_weight: Floats | None, n_rows: int, validation_rows: RowNumbers | None, team: Team
    ) -> None:
        self.n_rows, self.team = n_rows, team
        self.counts: Integers | None = None  # copies of the rows, for bins; None if all are one
        self._rows: RowNumbers | None = None  # None for all rows
        self.plain_factor = self.copies = np.empty(0)  # empty if all are one
        self.n_training_rows = self.n_copies = n_rows
        if sample_weight is None and validation_rows is None:
            return
        weights = Weights.of(sample_weight, n_rows, validation_rows)
        self.counts = weights.row_counts(n_rows)
        all_train = len(weights.rows) == n_rows
        self._rows = None if all_train else weights.rows
        if weights.weight.size or not all_train:
            self.plain_factor = np.zeros(n_rows)
            rows = weights.rows
            self.plain_factor[rows] = _near_one(weights.weight[rows]) if weights.weight.size else 1.0
        self.copies = weights.copies.astype(np.float64)
        self.n_training_rows = len(weights.rows)
        self.n_copies = int(weights.copies[weights.rows].sum()) if weights.copies.size else len(weights.rows)

    @property
    def rows(self) -> RowNumbers:
        """The rows that are trained on: those with a positive weight that are not validation rows."""
        return np.arange(self.n_rows, dtype=np.uint32) if self._rows is None else self._rows

    @cached_property
    def factor(self) -> Floats:
        """The sample weights, without copies, scaled so that the largest is near 1."""
        return self.plain_factor if self.plain_factor.size else np.ones(self.n_rows)

    @property
    def rounded(self) -> Integers:
        """The sample weights as integers; empty if all rows have the same weight."""
        if not self.plain_factor.size and not self.copies.size:
            return np.empty(0, np.int64)
        return self.initial_distribution().rounded

    @property
    def sample_weight(self) -> Floats:
        """The sample weights, 0 for rows that are not trained on."""
        return self.factor * self.copies if self.copies.size else self.factor

    def initial_distribution(self) -> Distribution:
        """D of the first round: the sample weights."""
        return self.distribution(self.factor.copy())

    def distribution(self, weight: Floats, into: Integers | None = None) -> Distribution:
        """Return D for weights that include the sample weights, but not the copies."""
        total = self.sum(weight)
        self._check_total(total)
        rounded, copies = np.empty(self.n_rows, np.int64) if into is None else into, self.copies
        scale = WHOLE / total
        self._over_rows(lambda a, b: round_weights(weight[a:b], copies[a:b], scale, rounded[a:b]))
        return Distribution(weight, rounded, total)

    def _over_rows(self, task: Callable[[int, int], Any], chunk_rows: int | None = None) -> list[Any]:
        return self.team.over_rows(self.n_rows, task, chunk_rows)

    def _check_total(self, total: float) -> None:
        if not (total > 0.0 and math.isfinite(total)):
            raise FloatingPointError(
                f"the weights of the rows sum to {total}: the scores have left the range of float64"
            )

    def moments(self, weight: Floats, target: Floats, largest: float) -> tuple[Integers, Integers]:
        """Return weight and weight * target / largest as integers, for least squares; |target| <= largest."""
        # The inverse of a subnormal number overflows.
        scale, unit = WHOLE / self.sum(weight), min(1.0 / largest, sys.float_info.max) if largest else 0.0
        first, second, copies = np.empty(self.n_rows, np.int64), np.empty(self.n_rows, np.int64), self.copies
        self._over_rows(
            lambda a, b: round_moments(
                weight[a:b], target[a:b], copies[a:b], scale, unit, first[a:b], second[a:b]
            )
        )
        return first, second

    def exponential(
        self,
        raw: Floats,
        classes: Classes,
        steepness: float,
        factor: Floats | None = None,
        into: Floats | None = None,
    ) -> tuple[Floats, float]:
        """Return u = factor * exp(exponent - shift) of every row and the shift, the largest exponent.

        `factor` replaces the sample weights; `fill_exponents` documents the exponent.
        """
        factor = self.plain_factor if factor is None else factor
        out = np.empty(self.n_rows) if into is None else into
        shift = max(self._over_rows(partial(fill_exponents, raw, classes, steepness, factor, out)))
        self._over_rows(lambda a, b: raise_exponents(out[a:b], factor[a:b], shift))
        return out, shift

    def exponential_distribution(
        self,
        raw: Floats,
        classes: Classes,
        steepness: float,
        factor: Floats | None = None,
        into: Distribution | None = None,
    ) -> tuple[Distribution, float]:
        """Return D of the exponential weights and their shift; `into` is a D whose memory is reused."""
        weight, rounded = (None, None) if into is None else (into.weight, into.rounded)
        if self.n_rows > CHUNK_ROWS:
            weight, shift = self.exponential(raw, classes, steepness, factor, weight)
            return self.distribution(weight, rounded), shift
        factor = self.plain_factor if factor is None else factor
        if weight is None or rounded is None:
            weight, rounded = np.empty(self.n_rows), np.empty(self.n_rows, np.int64)
        total, shift = weigh_rows(raw, classes, steepness, factor, self.copies, weight, rounded)
        self._check_total(total)
        return Distribution(weight, rounded, total), shift

    def sum(self, weight: Floats) -> float:
        """Sum the weights times the copies.

        The sum has about 100 bits before it is rounded: it does not depend on threads or the order of rows,
        and a weight of 2 gives the same sum as two copies of the row.
        """
        copies = self.copies
        sums = self._over_rows(lambda a, b: weighted_sum(weight[a:b], copies[a:b]), CHUNK_ROWS)
        return math.fsum(chain.from_iterable(sums))

    def normalized(self, weight: Floats, *, in_place: bool = False) -> Floats:
        """Return D: weights with their copies, which sum to one."""
        scaled = np.divide(weight, self.sum(weight), out=weight if in_place else None)
        return np.multiply(scaled, self.copies, out=scaled) if self.copies.size else scaled


def _near_one(weight: Floats) -> Floats:
    """Scale weights by a power of two so that the largest is near 1: sums and scales do not overflow.

    Weights below the resolution of the integers are raised to it: none becomes 0 times an exponential.
    """
    scaled: Floats = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return np.maximum(scaled, 2.0**-62)


def draw_sample(rounded: Integers, n_draws: int, seed: int, number: int) -> Integers:
    """Draw row numbers with replacement, with probabilities proportional to the integer weights."""
    draws = np.empty(n_draws, np.uint64)
    draw_rows(seed, RESAMPLE, number, draws)
    ends = np.cumsum(rounded)
    positions = (draws % np.uint64(ends[-1])).astype(np.int64)
    return np.searchsorted(ends, positions, side="right")


# --- targets


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


@dataclass(frozen=True, eq=False)
class RowSubset:
    """Some of the training rows; their leaves are known from those of all training rows."""

    numbers: RowNumbers


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

    def apply(self, rows: Any) -> LeafIds:
        """Return the leaves of other rows, encoded by the ensemble, or of a `RowSubset`."""
        in_training = isinstance(rows, RowSubset)
        leaf_ids: LeafIds = self.leaf_ids[rows.numbers] if in_training else rows.leaf_ids(self.tree)
        return leaf_ids


# --- directions in score space


def vote_directions(classes: NDArray[Any] | list[int], n_classes: int) -> Floats:
    """Return directions (outputs, rows) of votes for classes."""
    if n_classes == 2:
        return 2.0 * np.asarray(classes)[np.newaxis] - 1.0
    votes: Floats = (np.arange(n_classes)[:, np.newaxis] == np.asarray(classes)).astype(np.float64)
    return votes


def probability_directions(probabilities: Floats, floor: float) -> Floats:
    """Return directions (outputs, rows) of probabilities (classes, rows), which are raised to `floor`."""
    logs = np.maximum(probabilities, floor)
    log_into(logs.reshape(-1), logs.reshape(-1))
    if len(logs) == 2:
        return np.asarray(0.5 * (logs[1:] - logs[:1]))
    mean = np.zeros(logs.shape[1])
    for class_logs in logs:  # np.mean may add in another order
        mean += class_logs
    directions: Floats = (logs - mean / len(logs)) * (len(logs) - 1.0)
    return directions


# --- learners


class Resampler:
    """Draws rows by their weights; a pure function of the seed, the round, the attempt and the target.

    The number of draws is the number of training rows; an integer weight counts as that many rows. They
    are drawn in the order of their values: neither the order of the rows matters, nor whether equal rows are
    copies or one row with a weight.

    Parameters
    ----------
    row_keys, y : hashes of the rows, and their targets
    """

    def __init__(self, row_keys: Keys, y: Floats, weights: RowWeights, seed: int) -> None:
        self._order, self._seed = np.lexsort((y, row_keys)), seed
        self.n_draws = min(weights.n_copies, _MAX_DRAWS * weights.n_training_rows)
        self._iteration, self._attempt = -1, 0

    def start(self, iteration: int) -> None:
        """Start a round; the same round again counts as another attempt."""
        self._attempt = self._attempt + 1 if iteration == self._iteration else 0
        self._iteration = iteration

    def draw(self, rounded: Integers, index: int) -> Integers:
        """Draw row numbers for target number `index`."""
        key = (self._iteration << 32) + (self._attempt << 24) + index
        return self._order[draw_sample(rounded[self._order], self.n_draws, self._seed, key)]


class WeakTreeLearner:
    """Fits trees on codes; with a `resampler` to rows drawn by the distribution, not to weighted rows."""

    def __init__(
        self, grower: WeakTreeGrower, weights: RowWeights, resampler: Resampler | None = None
    ) -> None:
        self.grower, self.weights, self.resampler = grower, weights, resampler

    def fit(self, targets: list[Targets], iteration: int) -> list[FittedTree]:
        """Grow one tree for each target."""
        if self.resampler is not None:
            self.resampler.start(iteration)
        return [
            self._fit_classes(target, i) if isinstance(target, ClassTargets) else self._fit_numbers(target, i)
            for i, target in enumerate(targets)
        ]

    def _fit_classes(self, targets: ClassTargets, index: int) -> FittedTree:
        weight = targets.distribution.rounded
        if self.resampler is not None:
            weight = np.bincount(self.resampler.draw(weight, index), minlength=len(weight))
        sample = Sample(weight, _NO_INTEGERS, targets.classes)
        tree, leaf_ids = self.grower.grow_with_leaf_ids(sample, len(targets.labels))
        sums = sample_sums = tree.sums
        if self.resampler is not None:
            sums = np.zeros_like(sample_sums)
            sum_by_leaf(leaf_ids, targets.classes, targets.distribution.rounded, sums)
        return FittedTree(tree, leaf_ids, sums, sample_sums)

    def _fit_numbers(self, targets: NumericTargets, index: int) -> FittedTree:
        values, max_abs = targets.values, targets.max_abs
        weight, moment = self.weights.moments(targets.weight, values, max_abs)
        if self.resampler is not None:
            counts = np.bincount(self.resampler.draw(weight, index), minlength=len(weight))
            unit = min(_TARGET_STEPS / (max_abs or 1.0), sys.float_info.max)
            weight, moment = counts * _TARGET_STEPS, counts * np.rint(values * unit).astype(np.int64)
        tree, leaf_ids = self.grower.grow_with_leaf_ids(Sample(weight, moment, _NO_CLASSES), 2)
        if self.weights.n_training_rows < self.weights.n_rows:
            values = values[self.weights.rows]
        target_range = max_abs, float(values.min()), float(values.max())
        return FittedTree(tree, leaf_ids, tree.sums, tree.sums, target_range)
