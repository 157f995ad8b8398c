"""Fitting a forest: deep trees, each grown by one thread on rows of its own.

The loop is that of bagging: members know nothing of one another, are grown ahead in parallel and taken in the
order of their numbers. What a tree gets is a pure function of the seed and its number, so the forest is the
same for any number of threads, and the out-of-bag rows of a tree can be found again by drawing once more.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.bagging.loop import Collect
from hedgerow.bagging.resampling import Draws, Population
from hedgerow.binning import BinnedTable, Bins, GivenEdges, find_bins
from hedgerow.boosting.run import Plan, run
from hedgerow.growing.deep import DeepGrower, DeepTarget, TreeRules
from hedgerow.growing.statistics import Weights
from hedgerow.kernels.cpu.resample import add_code_keys, add_keys
from hedgerow.table import Table
from hedgerow.table.bits import value_bits
from hedgerow.table.surveyed import SurveyedTable
from hedgerow.threads import Team
from hedgerow.voting import GrownTree, VoteForest

_AHEAD = 2  # trees a thread may be ahead of the loop
_FACTOR_BITS = 49  # of a class's weight times all draws
LIGHT_BITS = 30  # for the rows' own weights, and as many for the classes', where there are both


@dataclass(frozen=True, eq=False)
class Sampling:
    """Which rows a tree gets, and how often.

    Parameters
    ----------
    draws : Draws
    replace : bool
        Draw; else every tree gets all rows.
    copies : int64 (n,)
        How often each row is there, for trees that get all.
    """

    draws: Draws
    replace: bool
    copies: Integers

    @classmethod
    def of(
        cls,
        table: BinnedTable,
        y: Floats,
        weight: Floats | None,
        *,
        replace: bool,
        n_draws: Callable[[int], int],
        seed: int,
        team: Team,
    ) -> "Sampling":
        """n_draws : a function of the number of rows, or of the copies that whole weights stand for."""
        keys = _row_keys(table, y, team)
        people = Population.of(keys, weight, by_weight=replace)
        given = Weights.of(weight, table.n_rows)
        counts = given.row_counts(table.n_rows)
        copies = np.ones(table.n_rows, np.int64) if counts is None else counts
        size = people.size if replace else int(copies.sum())
        chosen = n_draws(size) if replace else size
        draws = Draws(
            people, chosen, replace, table.n_columns, table.n_columns, replace_columns=False,
            shuffle_columns=False, seed=seed,
        )  # fmt: skip
        return cls(draws, replace, copies)

    def counts(self, tree: int) -> Integers:
        """How often the tree gets each row."""
        return self.draws.row_counts(tree) if self.replace else self.copies

    def in_bag(self, n_trees: int, team: Team) -> NDArray[np.uint8]:
        """A bit for every row that a tree learned from, (trees, bytes)."""
        n_rows = self.draws.population.n_rows
        bits = np.empty((n_trees, -(-n_rows // 8)), np.uint8)

        def share(member: int) -> None:
            for tree in range(member, n_trees, team.n_members):
                bits[tree] = np.packbits(self.counts(tree) > 0, bitorder="little")

        team.together(share)
        return bits


def _row_keys(table: BinnedTable, y: Floats, team: Team) -> NDArray[np.uint64]:
    """A hash of the codes and of the target: rows that no tree can tell apart have equal ones."""
    keys = np.zeros(table.n_rows, np.uint64)
    add_keys(value_bits(y.reshape(table.n_rows, -1)), table.n_columns, keys)
    by_column = table.codes.by_column
    team.over_rows(table.n_rows, lambda a, b: add_code_keys(by_column, keys, a, b))
    return keys


@dataclass(frozen=True, eq=False)
class ForestLesson:
    """What the trees are grown from.

    Parameters
    ----------
    grower : DeepGrower
    sampling : Sampling
    balance : bool
        Weigh the classes anew for every tree, so that all have the same weight in it.
    """

    grower: DeepGrower
    sampling: Sampling
    balance: bool = False

    def grow(self, grower: DeepGrower, tree: int) -> GrownTree:
        """Tree number `tree`, in the memory of `grower`."""
        counts = self.sampling.counts(tree)
        return grower.grow(tree, counts, self._factors(counts) if self.balance else None)

    def _factors(self, counts: Integers) -> Integers:
        """Whole weights of the classes, in proportion to all / (classes * of this class)."""
        target = self.grower.target
        of_class = np.zeros(target.n_outputs, np.int64)
        np.add.at(of_class, target.classes, counts)
        whole = int(of_class.sum())
        bits = LIGHT_BITS if target.own.size else _FACTOR_BITS
        steps = 2.0 ** (bits - whole.bit_length())
        ratio = whole / (target.n_outputs * np.maximum(of_class, 1).astype(np.float64))
        return np.maximum(np.rint(ratio * steps), 1.0).astype(np.int64)


class _Threads:
    """The learner of the loop: hands over trees that threads grow ahead."""

    def __init__(self, lesson: ForestLesson, numbers: range, n_threads: int) -> None:
        self._lesson, self._numbers, self._own = lesson, iter(numbers), local()
        self._pool = ThreadPoolExecutor(n_threads, "hedgerow") if n_threads > 1 else None
        self._waiting: deque[Future[GrownTree]] = deque()
        self._window = n_threads * _AHEAD

    def answer(self, request: int, number: int) -> GrownTree:
        if self._pool is None:
            return self._grow(request)
        while len(self._waiting) < self._window:
            following = next(self._numbers, None)
            if following is None:
                break
            self._waiting.append(self._pool.submit(self._grow, following))
        return self._waiting.popleft().result()

    def _grow(self, number: int) -> GrownTree:
        if not hasattr(self._own, "grower"):
            self._own.grower = self._lesson.grower.for_thread()
        return self._lesson.grow(self._own.grower, number)

    def close(self) -> Iterator[GrownTree]:
        """End the threads; the trees they had begun, of which there are some after an interrupt only."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        while self._waiting and not self._waiting[0].cancelled():
            yield self._waiting.popleft().result()


def grow_forest(
    lesson: ForestLesson, n_before: int, plan: Plan, table: Table | None = None
) -> list[GrownTree]:
    """Trees number `n_before` and on, up to as many as planned; fewer after an interrupt.

    table : what the codes were made of; if that is on a cluster, its workers grow the trees.
    """
    rule, numbers = Collect([]), range(n_before, plan.n_rounds)
    growers = _shared_out(lesson, numbers, table) or _Threads(
        lesson, numbers, min(plan.n_threads, len(numbers))
    )
    try:
        run(rule, growers, plan, n_before, followed=False, made=lambda *_: list(rule.members))
    finally:
        rule.members.extend(growers.close())
    if not rule.members and not n_before:
        raise KeyboardInterrupt  # not one tree is there to make a model of
    return rule.members


def _shared_out(lesson: ForestLesson, numbers: range, table: Table | None) -> Any:
    """Workers that grow the trees, or None."""
    if not isinstance(table, SurveyedTable) or not numbers:
        return None
    from hedgerow.bagging.shared_out import SharedOut  # noqa: PLC0415 - few need it
    from hedgerow.distributed.table import DaskTable  # noqa: PLC0415

    if not isinstance(table, DaskTable):
        return None
    partitions = table._partitions  # noqa: SLF001 - they know the cluster
    return SharedOut(lesson, numbers, partitions.client, partitions.settings)


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A fitted forest: trees, the bins that code its input, and weights of sum 1 unless all are the same."""

    bins: Bins
    forest: VoteForest
    weights: Floats | None = None

    def means(self, table: Table, n_threads: int) -> Floats:
        """Mean of what the trees say, (rows, outputs)."""
        votes = self.forest.votes(table, self.bins, n_threads, self.weights)
        if self.weights is None:
            votes /= self.forest.n_trees
        return votes

    @property
    def nbytes(self) -> int:
        """The memory that the model takes."""
        bins = self.bins
        return self.forest.nbytes + sum(a.nbytes for a in (bins.edges, bins.edge_starts, bins.tables))


def bin_rows(
    table: Table, weight: Floats | None, max_bins: int, team: Team, given: GivenEdges | None = None
) -> BinnedTable:
    """The table in codes; rows of weight zero do not move the edges, and no row those that are given."""
    copies = Weights.of(weight, table.n_rows).row_counts(table.n_rows)
    bins = find_bins(table, max_bins, copies=copies, team=team, given=given)
    return bins.encode(table, team)


__all__ = [
    "LIGHT_BITS",
    "DeepTarget",
    "ForestLesson",
    "ForestModel",
    "Sampling",
    "TreeRules",
    "bin_rows",
    "grow_forest",
]
