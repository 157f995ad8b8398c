"""Prediction intervals of forests.

R_i is the residual of training row i: its target minus the mean m_i of the trees that were not trained on it.

oob          The prediction plus quantiles of the R_i (Zhang, Zimmerman, Nettleton and Nordman 2020). All
             rows have the same width: the coverage is right on average, and for each row if the noise is
             homoscedastic.
jackknife+   after the bootstrap (Kim, Xu and Barber 2020). The lower bound is a quantile of m_i(x) - |R_i|,
             the upper bound one of m_i(x) + |R_i|, over all i. For rows exchangeable with the training rows,
             of any distribution, the coverage is at least 1 - 2 alpha if the number of trees is itself drawn
             (binomial); in practice it is about 1 - alpha. Widths vary little.
quantiles    Quantiles of the targets in the leaves (Meinshausen 2006), see `leaf_targets`. Widths follow the
             noise. There is no guarantee: the coverage is too low with few rows in the leaves, and too high
             if the rows of a leaf have different means.
calibrated   As "quantiles", at other levels: between them the training targets lie as often as required, in
             the distributions of the trees that were not trained on them (distributional conformal
             prediction, Chernozhukov, Wüthrich and Zhu 2021, with out-of-bag trees). Widths follow the noise,
             and the coverage is right on average; somewhat high with few trees, since only a third of the
             trees predict the distribution of a training row, but all of them that of a new row.

The k-th smallest of n values bounds the next one, if all are exchangeable, with probability k / (n + 1).
Hence the rank is ceil(level * (n + 1)), and a bound is infinite if there are too few rows for a level.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.leaf_targets import LeafTargets, chunk_rows
from hedgerow.kernels.cpu.leaf_targets import jackknife_bounds, predict_trees
from hedgerow.voting import CodedRows, VoteForest

METHODS = ("oob", "jackknife+", "quantiles", "calibrated")

Bounds = tuple[Floats, Floats]

_ALMOST = 1.0 - 2.0**-40  # 0.7 * 10 is above 7 in floating point, but means rank 7
_STEP = 2.0**-38  # above the weight that counts as zero, see `leaf_targets`


# --- checks


def check_coverage(coverage: Any) -> float:
    """Return the coverage as a float, above 0 and below 1.

    >>> check_coverage(0.9)
    0.9
    """
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool | np.bool_)
    if not is_number or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} is not allowed: it must be a number > 0 and < 1")
    return float(coverage)


def check_quantiles(quantiles: Any) -> Floats:
    """Return quantiles (q,) as float64, from 0 to 1; one number is one quantile.

    >>> check_quantiles((0.05, 0.5)), check_quantiles(0.5)
    (array([0.05, 0.5 ]), array([0.5]))
    """
    allowed = "it must be numbers from 0 to 1, at least one"
    try:
        values = np.atleast_1d(np.array(quantiles, np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"quantiles={quantiles!r} is not allowed: {allowed}") from error
    if values.ndim != 1 or not values.size or not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"quantiles={quantiles!r} is not allowed: {allowed}")
    return values


def check_method(method: Any) -> str:
    """Return the method, one of `METHODS`.

    >>> check_method("oob")
    'oob'
    """
    if not isinstance(method, str) or method not in METHODS:
        allowed = " or ".join(map(repr, METHODS))
        raise ValueError(f"method={method!r} is not allowed: it must be {allowed}")
    return method


# --- out of bag


def oob_interval(
    prediction: Floats, residuals: Floats, coverage: float, weight: Floats | None = None
) -> Bounds:
    """Return predictions plus quantiles of the out-of-bag residuals, with equal tails.

    residuals : float64 (n,), targets minus out-of-bag predictions; NaN for rows without one, which are
        ignored.
    weight : float64 (n,) or None, relative weights of the residuals.

    >>> residuals = np.arange(-9.0, 10.0)  # 19 of them: each tail is 1/20
    >>> oob_interval(np.array([100.0]), residuals, 0.9)
    (array([91.]), array([109.]))
    """
    used = np.isfinite(residuals)
    if weight is not None:
        used &= weight > 0
        weight = weight[used]
    residuals, level = residuals[used], (1 + coverage) / 2
    lower, upper = -_upper(-residuals, weight, level), _upper(residuals, weight, level)
    return prediction + lower, prediction + upper


def _upper(values: Floats, weight: Floats | None, level: float) -> float:
    """Return the smallest value with at least `level * (n + 1)` values up to it; inf if n is too small."""
    n = len(values)
    min_weight = level * (n + 1) * _ALMOST
    if min_weight > n:
        return math.inf
    if weight is None:
        rank = math.ceil(min_weight)
        return float(np.partition(values, rank - 1)[rank - 1])
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    position = int(np.searchsorted(cumulative * (n / cumulative[-1]), min_weight))
    return float(values[order[min(position, n - 1)]])


# --- jackknife+


@dataclass(frozen=True, eq=False)
class OutOfBagTrees:
    """The trees that were not trained on a row, for every training row.

    bits : uint8 (n, groups); bit k of group g is tree 8 g + k.
    counts : int64 (n,), the number of these trees.

    >>> in_bag = np.packbits([[1, 1, 0], [0, 1, 0]], axis=1, bitorder="little")  # two trees, three rows
    >>> OutOfBagTrees.of(in_bag, 3).counts
    array([1, 0, 2])
    """

    bits: NDArray[np.uint8]
    counts: Integers

    @classmethod
    def of(cls, in_bag: NDArray[np.uint8], n_rows: int) -> "OutOfBagTrees":
        """Find the trees of every row from `in_bag`, uint8 (trees, bytes): bits of the rows of each tree."""
        n_trees = len(in_bag)
        bits = np.empty((n_rows, -(-n_trees // 8)), np.uint8)
        for group in range(bits.shape[1]):
            trees = in_bag[8 * group : 8 * group + 8]
            in_sample = np.unpackbits(trees, axis=1, count=n_rows, bitorder="little")
            bits[:, group] = np.packbits(in_sample == 0, axis=0, bitorder="little")[0]
        return cls(bits, np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


class JackknifePlus:
    """The jackknife+ after the bootstrap: arrays of the training rows, and the rank of the bounds.

    Rows that every tree was trained on, and those whose residual is NaN, are ignored. With a coverage below a
    half the lower bound may exceed the upper one, if trees differ by more than their errors: both bounds are
    then their mean.

    Three trees, each trained without one of three rows; with 3 rows, the largest has rank 3 of 4:

    >>> in_bag = np.packbits([[0, 1, 1], [1, 0, 1], [1, 1, 0]], axis=1, bitorder="little")
    >>> plus = JackknifePlus(OutOfBagTrees.of(in_bag, 3), np.array([1.0, -2.0, 0.5]), 0.75)
    >>> lower, upper = np.empty(1), np.empty(1)
    >>> plus.bounds(np.array([[10.0, 11.0, 12.0]]), lower, upper)
    >>> lower, upper
    (array([9.]), array([13.]))
    """

    def __init__(self, trees: OutOfBagTrees, residuals: Floats, coverage: float) -> None:
        used = (trees.counts > 0) & np.isfinite(residuals)
        self._bits, self._counts = trees.bits[used], trees.counts[used]
        self._residuals = np.abs(residuals[used])
        self._n = len(self._residuals)
        self._rank = math.ceil(coverage * (self._n + 1) * _ALMOST)

    def bounds(self, predictions: Floats, lower: Floats, upper: Floats) -> None:
        """Write the bounds for predictions (rows, trees)."""
        if self._rank > self._n:
            lower[:], upper[:] = -math.inf, math.inf
            return
        sums = np.empty((self._bits.shape[1], 256))
        below, above = np.empty(self._n), np.empty(self._n)
        jackknife_bounds(
            predictions, self._bits, self._counts, self._residuals, self._rank, sums, below, above,
            lower, upper,
        )  # fmt: skip
        crossed = lower > upper
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2


# --- intervals of a forest


def jackknife_interval(
    forest: VoteForest,
    rows: CodedRows,
    trees: OutOfBagTrees,
    residuals: Floats,
    coverage: float,
    n_threads: int,
) -> Bounds:
    """Return jackknife+ bounds for new rows, a chunk at a time; memory does not grow with their number."""
    plus = JackknifePlus(trees, residuals, coverage)
    lower, upper = np.empty(rows.n_rows), np.empty(rows.n_rows)

    def fill(leaves: Integers, start: int, stop: int) -> None:
        predictions = np.empty(leaves.shape)
        predict_trees(leaves, forest.trees, predictions)
        plus.bounds(predictions, lower[start:stop], upper[start:stop])

    forest.over_leaves(rows, n_threads, chunk_rows(rows.n_rows, forest.n_trees, n_threads), fill)
    return lower, upper


def quantile_interval(
    leaves: LeafTargets, forest: VoteForest, rows: CodedRows, coverage: float, n_threads: int
) -> Bounds:
    """Return quantiles of the targets in the leaves, with equal tails."""
    return between_levels(leaves, forest, rows, ((1 - coverage) / 2, (1 + coverage) / 2), n_threads)


def calibrated_levels(ranks: Floats, coverage: float, weight: Floats | None = None) -> tuple[float, float]:
    """Return levels of quantiles between which the training targets lie with the required frequency.

    A target y is at most the quantile q if the weight below y is less than q, and at least that quantile if
    the weight up to y is q or more.

    The levels are from 0 to 1, or infinite if there are too few rows for the coverage, or if too many of them
    lie beyond all targets of their leaves. Rows whose ranks (`LeafTargets.ranks`) are NaN are ignored.

    >>> ranks = np.repeat(np.arange(1, 20)[:, np.newaxis] / 20, 2, axis=1)  # uniform
    >>> low, high = calibrated_levels(ranks, 0.8)
    >>> round(low, 6), round(high, 6)
    (0.1, 0.9)
    """
    used = np.isfinite(ranks[:, 0])
    if weight is not None:
        used &= weight > 0
        weight = weight[used]
    level = (1 + coverage) / 2
    low, high = -_upper(-ranks[used, 1], weight, level), _upper(ranks[used, 0], weight, level)
    low = low if low > 0.0 else -np.inf
    high = min(1.0, high + _STEP) if high < 1.0 else np.inf
    return min(low, high), max(low, high)


def between_levels(
    leaves: LeafTargets, forest: VoteForest, rows: CodedRows, levels: tuple[float, float], n_threads: int
) -> Bounds:
    """Return quantiles of the targets in the leaves at two levels, such as `calibrated_levels`."""
    bounds = leaves.quantiles(forest, rows, np.clip(levels, 0.0, 1.0), n_threads)
    low, high = (
        side.copy() if np.isfinite(level) else np.full(len(side), level)
        for side, level in zip(bounds.T, levels, strict=True)
    )
    return low, high
