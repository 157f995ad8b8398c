"""Intervals that hold the target of a new row with a chosen probability, from what a forest has seen.

R_i is the residual of training row i: its target less the mean m_i of the trees that did not learn from it.

out of bag   The prediction plus quantiles of the R_i (Zhang, Zimmerman, Nettleton and Nordman 2020). One
             width for all rows: right on average over the rows, and for each of them when the noise is alike.
jackknife+   after the bootstrap (Kim, Xu and Barber 2020). Lower is a quantile of m_i(x) - |R_i|, upper one
             of m_i(x) + |R_i|, over all i. For rows exchangeable with the training rows, whatever their
             distribution, it covers with probability 1 - 2 alpha at least, if the number of trees is itself
             drawn (binomial); in practice it covers about 1 - alpha. Widths vary little.
quantiles    Quantiles of the targets in the leaves (Meinshausen 2006), see `leaf_targets`. Widths follow the
             noise. There is no guarantee: few rows in the leaves cover too rarely, rows whose means differ
             too often.
calibrated   The same at other levels: those between which training rows stand, as often as is wanted, in the
             distributions that the trees give that did not learn from them (distributional conformal
             prediction, Chernozhukov, Wüthrich and Zhu 2021, with out-of-bag trees). Widths follow the noise,
             and the coverage is right on average over the rows; somewhat high with few trees, of which only
             a third give their distribution to a training row, and all to a new one.

The k-th smallest of n values bounds the next one, if all are exchangeable, with probability k / (n + 1).
Hence ranks of ceil(level * (n + 1)), and infinite bounds where there are too few rows for a level.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.leaf_targets import LeafTargets, chunk_rows
from hedgerow.binning import Bins
from hedgerow.kernels.cpu.leaf_targets import jackknife_bounds, tree_answers
from hedgerow.kernels.cpu.votes import find_vote_leaves
from hedgerow.table import Table
from hedgerow.threads import over_rows
from hedgerow.voting import VoteForest, coded_rows

METHODS = ("oob", "jackknife+", "quantiles", "calibrated")

Bounds = tuple[Floats, Floats]

_ALMOST = 1.0 - 2.0**-40  # so that 0.7 * 10, which is above 7 in floating point, is rank 7
_STEP = 2.0**-38  # above the weight that counts as none, see `leaf_targets`


# --- checks


def check_coverage(coverage: Any) -> float:
    """The coverage as a float, above 0 and below 1.

    >>> check_coverage(0.9)
    0.9
    """
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool | np.bool_)
    if not is_number or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} is not allowed: it must be a number > 0 and < 1")
    return float(coverage)


def check_quantiles(quantiles: Any) -> Floats:
    """Quantiles (q,) as float64, from 0 to 1; one number is one quantile.

    >>> check_quantiles((0.05, 0.5)), check_quantiles(0.5)
    (array([0.05, 0.5 ]), array([0.5]))
    """
    words = "it must be numbers from 0 to 1, at least one"
    try:
        values = np.atleast_1d(np.array(quantiles, np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"quantiles={quantiles!r} is not allowed: {words}") from error
    if values.ndim != 1 or not values.size or not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"quantiles={quantiles!r} is not allowed: {words}")
    return values


def check_method(method: Any) -> str:
    """One of `METHODS`.

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
    """Predictions plus quantiles of the out-of-bag residuals, with the same share left out on both sides.

    Parameters
    ----------
    prediction : float64 (rows,)
    residuals : float64 (n,)
        Targets less out-of-bag predictions; NaN for rows that have none, which do not count.
    coverage : float
    weight : float64 (n,) or None
        How much a residual counts, in proportion.

    Returns
    -------
    lower, upper : float64 (rows,)

    Examples
    --------
    >>> residuals = np.arange(-9.0, 10.0)  # 19 of them: the first and the last leave out 1/20 each
    >>> oob_interval(np.array([100.0]), residuals, 0.9)
    (array([91.]), array([109.]))
    """
    known = np.isfinite(residuals)
    if weight is not None:
        known &= weight > 0
        weight = weight[known]
    residuals, level = residuals[known], (1 + coverage) / 2
    lower, upper = -_upper(-residuals, weight, level), _upper(residuals, weight, level)
    return prediction + lower, prediction + upper


def _upper(values: Floats, weight: Floats | None, level: float) -> float:
    """The smallest value up to which a share `level` of n + 1 lies; infinite if n are too few for that."""
    n = len(values)
    needed = level * (n + 1) * _ALMOST
    if needed > n:
        return math.inf
    if weight is None:
        rank = math.ceil(needed)
        return float(np.partition(values, rank - 1)[rank - 1])
    order = np.argsort(values, kind="stable")
    counted = np.cumsum(weight[order])
    reached = int(np.searchsorted(counted * (n / counted[-1]), needed))
    return float(values[order[min(reached, n - 1)]])


# --- jackknife+


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Which trees did not learn from a training row.

    Parameters
    ----------
    bits : uint8 (n, groups)
        Bit k of group g stands for tree 8 g + k.
    counts : int64 (n,)
        How many there are.

    Examples
    --------
    >>> in_bag = np.packbits([[1, 1, 0], [0, 1, 0]], axis=1, bitorder="little")  # two trees, three rows
    >>> LeftOut.of(in_bag, 3).counts
    array([1, 0, 2])
    """

    bits: NDArray[np.uint8]
    counts: Integers

    @classmethod
    def of(cls, in_bag: NDArray[np.uint8], n_rows: int) -> "LeftOut":
        """in_bag : uint8 (trees, bytes), a bit for each of n rows that a tree learned from."""
        n_trees = len(in_bag)
        bits = np.empty((n_rows, -(-n_trees // 8)), np.uint8)
        for group in range(bits.shape[1]):
            some = in_bag[8 * group : 8 * group + 8]
            learned = np.unpackbits(some, axis=1, count=n_rows, bitorder="little")
            bits[:, group] = np.packbits(learned == 0, axis=0, bitorder="little")[0]
        return cls(bits, np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


class _JackknifePlus:
    """The training rows as the kernel wants them, and its rank."""

    def __init__(self, left_out: LeftOut, residuals: Floats, coverage: float) -> None:
        known = (left_out.counts > 0) & np.isfinite(residuals)
        self._bits, self._counts = left_out.bits[known], left_out.counts[known]
        self._residuals = np.abs(residuals[known])
        self._n = len(self._residuals)
        self._rank = math.ceil(coverage * (self._n + 1) * _ALMOST)

    def bounds(self, answers: Floats, lower: Floats, upper: Floats) -> None:
        """Write the bounds for answers (rows, trees)."""
        if self._rank > self._n:
            lower[:], upper[:] = -math.inf, math.inf
            return
        sums = np.empty((self._bits.shape[1], 256))
        below, above = np.empty(self._n), np.empty(self._n)
        jackknife_bounds(
            answers, self._bits, self._counts, self._residuals, self._rank, sums, below, above, lower, upper
        )
        crossed = lower > upper
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2


def jackknife_plus(
    answers: Floats, left_out: LeftOut, residuals: Floats, coverage: float, n_threads: int = 1
) -> Bounds:
    """Bounds by the jackknife+ after the bootstrap.

    Parameters
    ----------
    answers : float64 (rows, trees)
        What each tree says.
    left_out : LeftOut
        Of n training rows. Those that every tree learned from do not count; from some 30 trees on there are
        hardly any.
    residuals : float64 (n,)
        Targets less out-of-bag predictions; rows with NaN do not count.
    coverage : float
        1 - alpha. A coverage below a half may ask for less than nothing, when trees differ by more than they
        err: both bounds are then the point halfway.
    n_threads : int

    Returns
    -------
    lower, upper : float64 (rows,)

    Examples
    --------
    Three trees, each of which left one of three rows out; with 3 rows the largest is rank 3 of 4:

    >>> in_bag = np.packbits([[0, 1, 1], [1, 0, 1], [1, 1, 0]], axis=1, bitorder="little")
    >>> answers, residuals = np.array([[10.0, 11.0, 12.0]]), np.array([1.0, -2.0, 0.5])
    >>> jackknife_plus(answers, LeftOut.of(in_bag, 3), residuals, 0.75)
    (array([9.]), array([13.]))
    """
    plus = _JackknifePlus(left_out, residuals, coverage)
    lower, upper = np.empty(len(answers)), np.empty(len(answers))
    over_rows(
        len(answers),
        lambda a, b: plus.bounds(answers[a:b], lower[a:b], upper[a:b]),
        n_threads,
        chunk_rows(len(answers), answers.shape[1], n_threads),
    )
    return lower, upper


# --- asking a forest


def _over_answers(
    forest: VoteForest, table: Table, bins: Bins, n_threads: int, use: Callable[[Floats, int, int], None]
) -> None:
    """Call use(answers, start, stop) for chunks of the rows: memory does not grow with the table."""

    def ask(start: int, stop: int) -> None:
        nodes = np.empty((stop - start, forest.n_trees), np.int64)
        answers = np.empty(nodes.shape)
        find_vote_leaves(coded_rows(table, bins, start, stop), forest.trees, nodes)
        tree_answers(nodes, forest.trees, answers)
        use(answers, start, stop)

    over_rows(table.n_rows, ask, n_threads, chunk_rows(table.n_rows, forest.n_trees, n_threads))


def answers_of(forest: VoteForest, table: Table, bins: Bins, n_threads: int) -> Floats:
    """What each tree of a forest with one output says, (rows, trees)."""
    out = np.empty((table.n_rows, forest.n_trees))

    def keep(answers: Floats, start: int, stop: int) -> None:
        out[start:stop] = answers

    _over_answers(forest, table, bins, n_threads, keep)
    return out


def jackknife_interval(
    forest: VoteForest,
    table: Table,
    bins: Bins,
    left_out: LeftOut,
    residuals: Floats,
    coverage: float,
    n_threads: int,
) -> Bounds:
    """`jackknife_plus` for the rows of a table, a chunk at a time."""
    plus = _JackknifePlus(left_out, residuals, coverage)
    lower, upper = np.empty(table.n_rows), np.empty(table.n_rows)
    _over_answers(
        forest, table, bins, n_threads, lambda answers, a, b: plus.bounds(answers, lower[a:b], upper[a:b])
    )
    return lower, upper


def quantile_interval(
    leaves: LeafTargets, forest: VoteForest, table: Table, bins: Bins, coverage: float, n_threads: int
) -> Bounds:
    """Quantiles of the targets in the leaves, with the same share left out on both sides."""
    return between_levels(leaves, forest, table, bins, ((1 - coverage) / 2, (1 + coverage) / 2), n_threads)


def calibrated_levels(ranks: Floats, coverage: float, weight: Floats | None = None) -> tuple[float, float]:
    """Levels of quantiles that enclose training targets as often as wanted.

    A target y is at most the quantile q if the weight below y is less than q, and at least that quantile if
    the weight up to y is q or more.

    Parameters
    ----------
    ranks : float64 (n, 2)
        See `LeafTargets.ranks`; rows with NaN do not count.
    coverage : float
    weight : float64 (n,) or None
        How much a row counts, in proportion.

    Returns
    -------
    low, high : float
        From 0 to 1; infinite where that is not enough, for there are too few rows, or too many of them lie
        beyond all targets in their leaves.

    Examples
    --------
    >>> ranks = np.repeat(np.arange(1, 20)[:, np.newaxis] / 20, 2, axis=1)  # as they should be
    >>> low, high = calibrated_levels(ranks, 0.8)
    >>> round(low, 6), round(high, 6)
    (0.1, 0.9)
    """
    known = np.isfinite(ranks[:, 0])
    if weight is not None:
        known &= weight > 0
        weight = weight[known]
    level = (1 + coverage) / 2
    low, high = -_upper(-ranks[known, 1], weight, level), _upper(ranks[known, 0], weight, level)
    low = low if low > 0.0 else -np.inf
    high = min(1.0, high + _STEP) if high < 1.0 else np.inf
    return min(low, high), max(low, high)


def between_levels(
    leaves: LeafTargets,
    forest: VoteForest,
    table: Table,
    bins: Bins,
    levels: tuple[float, float],
    n_threads: int,
) -> Bounds:
    """Quantiles of the targets in the leaves at two levels, such as `calibrated_levels`."""
    bounds = leaves.quantiles(forest, table, bins, np.clip(levels, 0.0, 1.0), n_threads)
    low, high = (
        side.copy() if np.isfinite(level) else np.full(len(side), level)
        for side, level in zip(bounds.T, levels, strict=True)
    )
    return low, high
