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
from hedgerow.bagging.members import CollectMembers
from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool
from hedgerow.binning import BinnedTable, Bins, GivenEdges, find_bins
from hedgerow.boosting.loop import FitOptions, run_rounds
from hedgerow.growing.deep import DeepGrower, DeepOptions, DeepTarget
from hedgerow.growing.statistics import Weights
from hedgerow.kernels.cpu.resample import add_code_keys, add_keys
from hedgerow.table import Schema, Table
from hedgerow.table.remote import RemoteTable
from hedgerow.table.table import value_bits
from hedgerow.threads import Team
from hedgerow.voting import VoteForest, VotingTree

_AHEAD = 2  # trees a thread may be ahead of the loop
_FACTOR_BITS = 49  # of a class's weight times all draws
LIGHT_BITS = 30  # for the rows' own weights, and as many for the classes', where there are both


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """Which rows a tree gets, and how often.

    Parameters
    ----------
    draws : BootstrapSampler
    replace : bool
        Draw; else every tree gets all rows.
    copies : int64 (n,)
        How often each row is there, for trees that get all.
    """

    draws: BootstrapSampler
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
    ) -> "TreeSampler":
        """n_draws : a function of the number of rows, or of the copies that whole weights stand for."""
        keys = _row_keys(table, y, team)
        pool = SamplingPool.of(keys, weight, by_weight=replace)
        given = Weights.of(weight, table.n_rows)
        counts = given.row_counts(table.n_rows)
        copies = np.ones(table.n_rows, np.int64) if counts is None else counts
        size = pool.size if replace else int(copies.sum())
        chosen = n_draws(size) if replace else size
        draws = BootstrapSampler(
            pool, chosen, replace, table.n_columns, table.n_columns, replace_columns=False,
            shuffle_columns=False, seed=seed,
        )  # fmt: skip
        return cls(draws, replace, copies)

    def counts(self, tree: int) -> Integers:
        """How often the tree gets each row."""
        return self.draws.row_counts(tree) if self.replace else self.copies

    def in_bag(self, n_trees: int, team: Team) -> NDArray[np.uint8]:
        """A bit for every row that a tree learned from, (trees, bytes)."""
        n_rows = self.draws.pool.n_rows
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
class TreeTask:
    """What the trees are grown from.

    Parameters
    ----------
    grower : DeepGrower
    sampling : TreeSampler
    balance : bool
        Weigh the classes anew for every tree, so that all have the same weight in it.
    """

    grower: DeepGrower
    sampling: TreeSampler
    balance: bool = False

    def grow(self, grower: DeepGrower, tree: int) -> VotingTree:
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

    def __init__(self, lesson: TreeTask, numbers: range, n_threads: int) -> None:
        self._lesson, self._numbers, self._own = lesson, iter(numbers), local()
        self._pool = ThreadPoolExecutor(n_threads, "hedgerow") if n_threads > 1 else None
        self._waiting: deque[Future[VotingTree]] = deque()
        self._window = n_threads * _AHEAD

    def fit(self, targets: int, iteration: int) -> VotingTree:
        if self._pool is None:
            return self._grow(targets)
        while len(self._waiting) < self._window:
            following = next(self._numbers, None)
            if following is None:
                break
            self._waiting.append(self._pool.submit(self._grow, following))
        return self._waiting.popleft().result()

    def _grow(self, number: int) -> VotingTree:
        if not hasattr(self._own, "grower"):
            self._own.grower = self._lesson.grower.for_thread()
        return self._lesson.grow(self._own.grower, number)

    def close(self) -> Iterator[VotingTree]:
        """End the threads; the trees they had begun, of which there are some after an interrupt only."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        while self._waiting and not self._waiting[0].cancelled():
            yield self._waiting.popleft().result()


def grow_forest(
    lesson: TreeTask, n_before: int, plan: FitOptions, table: Table | None = None
) -> list[VotingTree]:
    """Trees number `n_before` and on, up to as many as planned; fewer after an interrupt.

    table : what the codes were made of; if that is on a cluster, its workers grow the trees.
    """
    rule, numbers = CollectMembers([]), range(n_before, plan.n_rounds)
    growers = _shared_out(lesson, numbers, table) or _Threads(
        lesson, numbers, min(plan.n_threads, len(numbers))
    )
    try:
        run_rounds(
            rule, growers, plan, n_before,
            has_evaluation_sets=False, snapshot=lambda *_: list(rule.members),
        )  # fmt: skip
    finally:
        rule.members.extend(growers.close())
    if not rule.members and not n_before:
        raise KeyboardInterrupt  # not one tree is there to make a model of
    return rule.members


def _shared_out(lesson: TreeTask, numbers: range, table: Table | None) -> Any:
    """JobRunner that grow the trees, or None."""
    if not isinstance(table, RemoteTable) or not numbers:
        return None
    from hedgerow.bagging.dask_forest import DaskTreeGrower  # noqa: PLC0415 - few need it
    from hedgerow.distributed.table import DaskTable  # noqa: PLC0415

    if not isinstance(table, DaskTable):
        return None
    partitions = table._partitions  # noqa: SLF001 - they know the cluster
    return DaskTreeGrower(lesson, numbers, partitions.client, partitions.settings)


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


# --- codes as a table of values


class DecodedTable(Table):
    """A coded table, to be asked as one of values by trees that were grown with the same bins.

    Parameters
    ----------
    binned : BinnedTable
    schema : Schema

    Examples
    --------
    >>> from hedgerow.binning import find_bins
    >>> from hedgerow.table import read_table
    >>> from hedgerow.threads import Team
    >>> table = read_table([[1.0], [2.0], [None], [9.0]])
    >>> binned = find_bins(table).encode(table, Team(1))
    >>> DecodedTable(binned, table.schema).block(0, 4).ravel()
    array([1.5, 5.5, nan, inf])
    """

    __slots__ = ("_codes", "_values")

    def __init__(self, binned: BinnedTable, schema: Schema) -> None:
        self.n_rows, self.n_columns, self.schema = binned.n_rows, binned.n_columns, schema
        self.dtype = np.dtype(np.float64)
        self._codes = binned.codes.by_column
        self._values = [_values(binned.bins, column) for column in range(binned.n_columns)]

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """See `Table.block`."""
        return self._decoded(slice(start, stop), range(self.n_columns))

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = slice(0, None)) -> NDArray[np.float64]:
        """See `Table.rows`."""
        return self._decoded(numbers, range(self.n_columns)[columns])

    def _decoded(self, which: Any, columns: range) -> NDArray[np.float64]:
        parts = [self._values[column][self._codes[column][which]] for column in columns]
        return np.ascontiguousarray(np.stack(parts, axis=1))


def at_hand(table: Table, binned: BinnedTable) -> Table:
    """The table itself, or if its rows are elsewhere, what trees can be asked about instead."""
    return DecodedTable(binned, table.schema) if isinstance(table, RemoteTable) else table


def _values(bins: Bins, column: int) -> NDArray[np.float64]:
    """The value that each code of a column stands for."""
    if not bins.categorical[column]:
        return np.concatenate([[np.nan], bins.edges_of(column), [np.inf]])
    table = bins.tables[bins.table_starts[column] : bins.table_starts[column + 1]]
    values = np.full(int(table.max()) + 1, np.nan)
    codes, first = np.unique(table, return_index=True)
    values[codes] = first
    return values


__all__ = [
    "LIGHT_BITS",
    "DeepOptions",
    "DeepTarget",
    "ForestModel",
    "TreeSampler",
    "TreeTask",
    "bin_rows",
    "grow_forest",
]
