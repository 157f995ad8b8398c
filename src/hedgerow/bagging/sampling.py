"""Which rows and columns a member of a bag gets: pure functions of the seed and the member's number.

Rows are drawn with replacement as counts, how often each is drawn, or without as a set. With sample weights
every row has tickets, and draws are of tickets:

    weight   2   0   1          a whole weight is as many tickets
    ends     2   2   3          ticket t is row 0 for t < 2, row 2 for t = 2

Draws are positions in a `SamplingPool`, in which rows are sorted by their keys,
see `rows`, so that neither the order of the rows, nor whether a row has the weight 2 or is there twice,
changes a sample.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, Keys
from hedgerow.growing.statistics import Weights
from hedgerow.kernels.cpu.random import BAG_COLUMNS, BAG_SEEDS, BOOTSTRAP, choose_columns, draw
from hedgerow.kernels.cpu.resample import count_draws, count_weighted_draws

_TICKETS = 2.0**61  # of all rows, when weights are not whole numbers
MOST_COPIES = 16  # on average a row: whole weights above that are taken for proportions, see `SamplingPool`


def bootstrap_counts(n_rows: int, n_draws: int, seed: int, member: int, out: NDArray[np.integer]) -> None:
    """How often each row is drawn, with replacement.

    Parameters
    ----------
    n_rows, n_draws : int
    seed, member : int
    out : uint8, uint16, ... or int64 array of shape (n_rows,)
        For the counts. An `OverflowError` says that they do not fit.

    Examples
    --------
    >>> counts = np.empty(6, np.uint8)
    >>> bootstrap_counts(6, 6, seed=0, member=3, out=counts)
    >>> counts
    array([0, 1, 2, 0, 2, 1], dtype=uint8)
    """
    _refuse_overflow(count_draws(n_rows, n_draws, seed, member, np.iinfo(out.dtype).max, out), out)


def weighted_counts(ends: Integers, n_draws: int, seed: int, member: int, out: NDArray[np.integer]) -> None:
    """How often each row is drawn, with replacement and by tickets.

    Parameters
    ----------
    ends : int64 (n_rows,)
        Running sums of the tickets; see `tickets`. One ticket a row gives the draws of `bootstrap_counts`.
    n_draws, seed, member, out
        As there.

    Examples
    --------
    >>> counts = np.empty(3, np.uint8)
    >>> weighted_counts(np.array([2, 2, 3]), 6, seed=0, member=0, out=counts)
    >>> counts
    array([5, 0, 1], dtype=uint8)
    """
    _refuse_overflow(count_weighted_draws(ends, n_draws, seed, member, np.iinfo(out.dtype).max, out), out)


def _refuse_overflow(fits: bool, out: NDArray[np.integer]) -> None:
    if not fits:
        raise OverflowError(f"a row was drawn too often for the counts, which are {out.dtype}")


def sample_without(n_rows: int, n_draws: int, seed: int, member: int) -> Integers:
    """Row numbers drawn without replacement, rising.

    Examples
    --------
    >>> sample_without(10, 4, seed=0, member=0)
    array([0, 3, 5, 6])
    """
    places = np.arange(n_rows)
    if n_draws < n_rows:
        choose_columns(places, n_draws, seed, BOOTSTRAP, member)
    return np.sort(places[:n_draws])


def chosen_columns(
    n_columns: int, n_chosen: int, seed: int, member: int, *, replace: bool, shuffle: bool = False
) -> Integers:
    """Column numbers drawn with or without replacement, rising or, when told to `shuffle`, as drawn.

    Examples
    --------
    >>> chosen_columns(5, 3, seed=0, member=0, replace=False)
    array([1, 2, 3])
    >>> chosen_columns(5, 3, seed=0, member=0, replace=True)
    array([0, 2, 3])
    """
    if replace:
        places = [int(draw(seed, BAG_COLUMNS, member, i)) % n_columns for i in range(n_chosen)]
        columns = np.array(places, np.int64)
    else:
        columns = np.arange(n_columns)
        if shuffle or n_chosen < n_columns:
            choose_columns(columns, n_chosen, seed, BAG_COLUMNS, member)
        columns = columns[:n_chosen]
    return columns if shuffle else np.sort(columns)


def tickets(weight: Floats) -> Integers:
    """Integers in proportion to positive weights, about 2**61 in all and at least 1 each."""
    near_one = np.ldexp(weight, -math.frexp(float(weight.max()))[1])  # neither sum nor scale overflows
    scale = _TICKETS / math.fsum(near_one)
    return np.maximum(np.rint(near_one * scale), 1.0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SamplingPool:
    """The rows that members are drawn from.

    Parameters
    ----------
    n_rows : int
        Of the table.
    order : uint32 (p,)
        The rows of positive weight, in the order of their keys.
    ends : int64 (p,) or empty
        Running sums of their tickets; empty for one each.
    size : int
        What a share of the rows is a share of: copies when weights are whole numbers, else rows.
    """

    n_rows: int
    order: NDArray[np.uint32]
    ends: Integers
    size: int

    @classmethod
    def of(cls, keys: Keys, sample_weight: Floats | None, *, by_weight: bool) -> "SamplingPool":
        """Put rows in order, and give them tickets if they are drawn `by_weight`.

        Whole weights are copies as long as there are no more than `MOST_COPIES` times as many copies as rows.
        Larger ones, such as the thousands of pool that a row of a survey stands for, are meant as
        proportions, and a sample of that size would do no more than repeat rows.
        """
        given = Weights.of(sample_weight, len(keys))
        order = given.rows[np.argsort(keys[given.rows], kind="stable")]
        size, ends = len(order), np.empty(0, np.int64)
        if by_weight and given.copies.size:
            ends = np.cumsum(given.copies[order])
            size = int(ends[-1]) if ends[-1] <= MOST_COPIES * size else size
        elif by_weight and given.weight.size:
            ends = np.cumsum(tickets(given.weight[order]))
        return cls(len(keys), order, ends, size)


@dataclass(frozen=True, eq=False)
class BootstrapSampler:
    """How the members of a bag are given rows and columns.

    Parameters
    ----------
    pool : SamplingPool
    n_draws : int
        Rows a member.
    replace : bool
        Whether a row may come more than once.
    n_columns, n_chosen : int
        Columns of the table, and those a member gets.
    replace_columns : bool
    shuffle_columns : bool
        Put the columns of every member in an order of its own. A tree of ours takes the first of equally good
        splits, of which the small nodes of a deep tree have many: in one order for all, members would agree
        too often, and their mean would be the worse for it.
    seed : int
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
        """Whether every member gets the columns as they are."""
        return self.n_chosen == self.n_columns and not (self.replace_columns or self.shuffle_columns)

    @property
    def leaves_rows_out(self) -> bool:
        """Whether rows that count can be out of the bag of a member."""
        return self.replace or self.n_draws < len(self.pool.order)

    def rows(self, member: int) -> Integers:
        """Row numbers, as often as they are drawn, in the order of the pool.

        All rows, when a member gets each of them once, are in the order of the table.
        """
        pool = self.pool
        if not self.replace:
            if self.n_draws == pool.n_rows:
                return np.arange(pool.n_rows)
            places = sample_without(len(pool.order), self.n_draws, self.seed, member)
            return pool.order[places].astype(np.int64)
        return np.repeat(pool.order, self._place_counts(member)).astype(np.int64)

    def _place_counts(self, member: int) -> Integers:
        """How often each place is drawn, with replacement."""
        pool = self.pool
        counts = np.empty(len(pool.order), np.int64)
        if pool.ends.size:
            weighted_counts(pool.ends, self.n_draws, self.seed, member, counts)
        else:
            bootstrap_counts(len(pool.order), self.n_draws, self.seed, member, counts)
        return counts

    def row_counts(self, member: int) -> Integers:
        """How often each row of the table is drawn, with replacement."""
        counts = np.zeros(self.pool.n_rows, np.int64)
        counts[self.pool.order] = self._place_counts(member)
        return counts

    def out_of_bag(self, member: int) -> Integers:
        """The rows that the member does not get, rising."""
        left = np.ones(self.pool.n_rows, bool)
        left[self.rows(member)] = False
        return np.flatnonzero(left)

    def columns(self, member: int) -> Integers:
        """Column numbers, in the order in which the member gets them."""
        return chosen_columns(
            self.n_columns,
            self.n_chosen,
            self.seed,
            member,
            replace=self.replace_columns,
            shuffle=self.shuffle_columns,
        )

    def member_seed(self, member: int) -> int:
        """A seed for the member itself, below 2**31."""
        return int(draw(self.seed, BAG_SEEDS, member, 0)) >> 33

    def same_as(self, other: "BootstrapSampler") -> bool:
        """Whether both draw from the same rows and in the same way: one goes on where the other ended."""
        mine, theirs = self.pool, other.pool
        names = ("n_draws", "replace", "n_columns", "n_chosen", "replace_columns", "shuffle_columns", "seed")
        return (
            mine.n_rows == theirs.n_rows
            and all(getattr(self, name) == getattr(other, name) for name in names)
            and np.array_equal(mine.order, theirs.order)
            and np.array_equal(mine.ends, theirs.ends)
        )
