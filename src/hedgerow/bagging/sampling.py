"""Samples of rows and columns: pure functions of the seed and the number of the member.

Rows are drawn with replacement, as counts per row, or without, as a set. With sample weights every row has an
integer weight, the number of its copies in the list from which rows are drawn:

    weight   2   0   1          an integer sample weight is the number of copies
    ends     2   2   3          copy i is row 0 for i < 2, row 2 for i = 2

A draw is a position in a `SamplingPool`, in which rows are sorted by their keys (hashes of their values). So
a sample depends neither on the order of the rows nor on whether a row has weight 2 or occurs twice.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, Keys, RowNumbers
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.growing.grower import Weights
from hedgerow.kernels.cpu.random import (
    BAG_COLUMNS,
    BAG_SEEDS,
    BOOTSTRAP,
    choose_columns,
    count_draws,
    count_weighted_draws,
    draw,
)
from hedgerow.threads import Team

_TOTAL_WEIGHT = 2.0**61  # of all rows, if weights are not integers
MAX_COPIES_PER_ROW = 16  # per row on average: larger integer weights are proportions, see `SamplingPool.of`


def count_or_fraction(name: str, value: Any, n: int, counted: str) -> int:
    """Return a parameter that is a number, or a fraction of n rounded down, as a number from 1 to n.

    >>> count_or_fraction("max_samples", 5, 100, "rows"), count_or_fraction("max_samples", 0.078, 100, "rows")
    (5, 7)
    >>> count_or_fraction("max_samples", np.int64(1), 100, "rows")
    1
    """
    if not isinstance(value, int | np.integer):
        return max(1, int(value * n))
    if value > n:
        raise ValueError(f"{name}={value} is not allowed: it must be at most {n}, the number of {counted}")
    return int(value)


def bootstrap_counts(n_rows: int, n_draws: int, seed: int, member: int, out: NDArray[np.integer]) -> None:
    """Count how often each row is drawn with replacement; raise `OverflowError` if a count does not fit.

    >>> counts = np.empty(6, np.uint8)
    >>> bootstrap_counts(6, 6, seed=0, member=3, out=counts)
    >>> counts
    array([0, 1, 2, 0, 2, 1], dtype=uint8)
    """
    _refuse_overflow(count_draws(n_rows, n_draws, seed, member, np.iinfo(out.dtype).max, out), out)


def weighted_counts(ends: Integers, n_draws: int, seed: int, member: int, out: NDArray[np.integer]) -> None:
    """Count how often each row is drawn with replacement, in proportion to its integer weight.

    ends : int64 (n_rows,), cumulative sums of the integer weights; the draws with weights of 1 are those
        of `bootstrap_counts`.

    >>> counts = np.empty(3, np.uint8)
    >>> weighted_counts(np.array([2, 2, 3]), 6, seed=0, member=0, out=counts)
    >>> counts
    array([5, 0, 1], dtype=uint8)
    """
    _refuse_overflow(count_weighted_draws(ends, n_draws, seed, member, np.iinfo(out.dtype).max, out), out)


def _refuse_overflow(fits: bool, out: NDArray[np.integer]) -> None:
    if not fits:
        raise OverflowError(f"a row was drawn more often than {out.dtype} can count")


def sample_without(n_rows: int, n_draws: int, seed: int, member: int) -> Integers:
    """Draw row numbers without replacement; return them in ascending order.

    >>> sample_without(10, 4, seed=0, member=0)
    array([0, 3, 5, 6])
    """
    rows = np.arange(n_rows)
    if n_draws < n_rows:
        choose_columns(rows, n_draws, seed, BOOTSTRAP, member)
    return np.sort(rows[:n_draws])


def chosen_columns(
    n_columns: int, n_chosen: int, seed: int, member: int, *, replace: bool, shuffle: bool = False
) -> Integers:
    """Draw column numbers with or without replacement; in ascending order or, with `shuffle`, as drawn.

    >>> chosen_columns(5, 3, seed=0, member=0, replace=False)
    array([1, 2, 3])
    >>> chosen_columns(5, 3, seed=0, member=0, replace=True)
    array([0, 2, 3])
    """
    if replace:
        drawn = [int(draw(seed, BAG_COLUMNS, member, i)) % n_columns for i in range(n_chosen)]
        columns = np.array(drawn, np.int64)
    else:
        columns = np.arange(n_columns)
        if shuffle or n_chosen < n_columns:
            choose_columns(columns, n_chosen, seed, BAG_COLUMNS, member)
        columns = columns[:n_chosen]
    return columns if shuffle else np.sort(columns)


def integer_weights(weight: Floats) -> Integers:
    """Return integers in proportion to positive weights, about 2**61 in total and at least 1 each."""
    scaled = np.ldexp(weight, -math.frexp(float(weight.max()))[1])  # neither sum nor scale overflows
    scale = _TOTAL_WEIGHT / math.fsum(scaled)
    return np.maximum(np.rint(scaled * scale), 1.0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SamplingPool:
    """The rows to sample from.

    n_rows : rows of the table.
    order : uint32 (p,), the rows of positive weight, sorted by their keys.
    ends : int64 (p,), cumulative sums of their integer weights; empty if all are 1.
    size : what fractions refer to: the number of copies if weights are integers, otherwise of rows.
    """

    n_rows: int
    order: RowNumbers
    ends: Integers
    size: int

    @classmethod
    def of(cls, keys: Keys, sample_weight: Floats | None, *, by_weight: bool) -> "SamplingPool":
        """Sort rows by key; with `by_weight`, set integer weights in proportion to the weights.

        Integer weights are copies as long as these are at most `MAX_COPIES_PER_ROW` times the rows.
        Larger ones, such as the thousands of persons that a row of a survey represents, are proportions: a
        sample of that size would only repeat rows.
        """
        weights = Weights.of(sample_weight, len(keys))
        order = weights.rows[np.argsort(keys[weights.rows], kind="stable")]
        size, ends = len(order), np.empty(0, np.int64)
        if by_weight and weights.copies.size:
            ends = np.cumsum(weights.copies[order])
            size = int(ends[-1]) if ends[-1] <= MAX_COPIES_PER_ROW * size else size
        elif by_weight and weights.weight.size:
            ends = np.cumsum(integer_weights(weights.weight[order]))
        return cls(len(keys), order, ends, size)


@dataclass(frozen=True, eq=False)
class BootstrapSampler:
    """Samples of rows and columns for the members of an ensemble.

    n_draws : rows per member.
    replace : draw rows with replacement.
    n_columns, n_chosen : columns of the table, and columns per member.
    shuffle_columns : permute the columns of every member. A Hedgerow tree uses the first of equally good
        splits, and small nodes of a deep tree have many of these: with one order for all, members would be
        correlated and their mean worse.
    """

    pool: SamplingPool
    n_draws: int
    replace: bool
    n_columns: int
    n_chosen: int
    replace_columns: bool
    shuffle_columns: bool
    seed: int

    @property
    def all_columns(self) -> bool:
        """Whether every member is fitted to all columns in their order."""
        return self.n_chosen == self.n_columns and not (self.replace_columns or self.shuffle_columns)

    @property
    def leaves_rows_out(self) -> bool:
        """Whether a row of positive weight can be missing from a sample."""
        return self.replace or self.n_draws < len(self.pool.order)

    def rows(self, member: int) -> Integers:
        """Return row numbers, repeated as often as they are drawn, in the order of the pool.

        If a member is fitted to all rows once, they are in the order of the table.
        """
        pool = self.pool
        if not self.replace:
            if self.n_draws == pool.n_rows:
                return np.arange(pool.n_rows)
            drawn = sample_without(len(pool.order), self.n_draws, self.seed, member)
            return pool.order[drawn].astype(np.int64)
        return np.repeat(pool.order, self._pool_counts(member)).astype(np.int64)

    def _pool_counts(self, member: int) -> Integers:
        """Return how often each row of the pool is drawn, with replacement."""
        pool = self.pool
        counts = np.empty(len(pool.order), np.int64)
        if pool.ends.size:
            weighted_counts(pool.ends, self.n_draws, self.seed, member, counts)
        else:
            bootstrap_counts(len(pool.order), self.n_draws, self.seed, member, counts)
        return counts

    def row_counts(self, member: int) -> Integers:
        """Return how often each row of the table is drawn, with replacement."""
        counts = np.zeros(self.pool.n_rows, np.int64)
        counts[self.pool.order] = self._pool_counts(member)
        return counts

    def out_of_bag(self, member: int) -> Integers:
        """Return the rows that are not in the sample of the member, in ascending order."""
        left_out = np.ones(self.pool.n_rows, bool)
        left_out[self.rows(member)] = False
        return np.flatnonzero(left_out)

    def columns(self, member: int) -> Integers:
        """Return column numbers in the order in which the member receives them."""
        return chosen_columns(
            self.n_columns, self.n_chosen, self.seed, member,
            replace=self.replace_columns, shuffle=self.shuffle_columns,
        )  # fmt: skip

    def member_seed(self, member: int) -> int:
        """Return the random state of the member, below 2**31."""
        return int(draw(self.seed, BAG_SEEDS, member, 0)) >> 33

    def same_as(self, other: "BootstrapSampler") -> bool:
        """Return whether both draw the same samples."""
        own_pool, other_pool = self.pool, other.pool
        names = ("n_draws", "replace", "n_columns", "n_chosen", "replace_columns", "shuffle_columns", "seed")
        return (
            own_pool.n_rows == other_pool.n_rows
            and all(getattr(self, name) == getattr(other, name) for name in names)
            and np.array_equal(own_pool.order, other_pool.order)
            and np.array_equal(own_pool.ends, other_pool.ends)
        )


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """The rows of every tree, and how often each row counts.

    replace : draw rows with replacement; otherwise every tree is grown on all rows.
    copies : int64 (n,), how often each row counts in trees that are grown on all rows.
    """

    draws: BootstrapSampler
    replace: bool
    copies: Integers

    @classmethod
    def of(
        cls,
        keys: Keys,
        weight: Floats | None,
        n_columns: int,
        *,
        bootstrap: bool,
        max_samples: float | None,
        seed: int,
    ) -> "TreeSampler":
        """Sort the rows by keys and set the number of draws."""
        n_rows = len(keys)
        pool = SamplingPool.of(keys, weight, by_weight=bootstrap)
        counts = Weights.of(weight, n_rows).row_counts(n_rows)
        copies = np.ones(n_rows, np.int64) if counts is None else counts
        n_draws = pool.size if bootstrap else int(copies.sum())
        if bootstrap and max_samples is not None:
            n_draws = count_or_fraction("max_samples", max_samples, n_draws, "rows")
        draws = BootstrapSampler(
            pool, n_draws, bootstrap, n_columns, n_columns, replace_columns=False, shuffle_columns=False,
            seed=seed,
        )  # fmt: skip
        return cls(draws, bootstrap, copies)

    def counts(self, tree: int) -> Integers:
        """Return how often each row is in the sample of a tree."""
        return self.draws.row_counts(tree) if self.replace else self.copies

    def in_bag(self, n_trees: int, team: Team) -> NDArray[np.uint8]:
        """Return bits (trees, bytes) of the rows that are in the sample of each tree."""
        n_rows = self.draws.pool.n_rows
        bits = np.empty((n_trees, -(-n_rows // 8)), np.uint8)

        def fill(thread: int) -> None:
            for tree in range(thread, n_trees, team.n_threads):
                bits[tree] = np.packbits(self.counts(tree) > 0, bitorder="little")

        team.together(fill)
        return bits

    def same_as(self, other: "TreeSampler") -> bool:
        """Return whether both sample the same rows in the same way."""
        return self.draws.same_as(other.draws) and np.array_equal(self.copies, other.copies)


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Predictions of the training rows by the members that were not trained on them.

    means : float64 (rows, outputs), NaN for rows that every member was trained on.
    votes : int64 (rows,), the number of members that were not trained on the row.
    losses : of classifiers.
    ranks : float64 (rows, 2), of forests that store the targets of their leaves, see `LeafTargets.ranks`.
    score : set by the estimator, which defines the metric.
    """

    means: Floats
    votes: Integers
    losses: PairLosses | None = None
    ranks: Floats | None = None
    score: float = math.nan
