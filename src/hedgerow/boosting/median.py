"""The weighted median of members: the model of AdaBoost.R2, and rows that are followed with it.

What the members say is (rows, members). The median of a row is the smallest of their values at which the
weights of the members that say no more reach half of all. Nothing is added up, so that one wild member
moves it little.
"""

import abc
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.forest import TreeModel
from hedgerow.kernels.cpu.forest import find_leaves
from hedgerow.kernels.cpu.losses import leaf_quantiles
from hedgerow.kernels.cpu.median import insert_and_find
from hedgerow.losses.base import weighted_mean
from hedgerow.members import numbers
from hedgerow.memory import require_memory, rows_per_block
from hedgerow.table import Table
from hedgerow.threads import Team, over_rows

Said = Callable[[int, int], Floats]  # what the members say, (rows, members), of rows start..stop-1
OverRows = Callable[[int, Callable[[int, int], Any]], None]

_BITS = 52  # of the sum of whole-number weights
_BLOCK_ROWS = 4096  # rows whose medians are found at a time
_CHUNK_ROWS = 8192  # rows handed to a thread at a time
_FIRST_ROUNDS = 16  # that a table of followed rows has room for, doubled when it is full


def whole_weights(weights: Sequence[float]) -> Floats:
    """Weights times a power of two as whole numbers whose sums stay below 2**53.

    Float64 adds these exactly, in any order, so that halves are exact halves.
    """
    exponent = _BITS - math.frexp(math.fsum(weights))[1]
    whole: Floats = np.maximum(np.rint(np.ldexp(np.array(weights), exponent)), 1.0)
    return whole


def weighted_medians(values: Floats, weights: Sequence[float]) -> Floats:
    """The weighted median of every row of `values` (rows, members).

    >>> weighted_medians(np.array([[3.0, 1.0, 2.0], [5.0, 0.0, 9.0]]), [1.0, 1.0, 1.5])
    array([2., 5.])
    """
    n_rows, n_members = values.shape
    starts = np.arange(n_rows + 1, dtype=np.int64) * n_members
    flat = np.array(values, order="C").reshape(-1)  # a copy: the kernel reorders it
    medians: Floats = leaf_quantiles(flat, np.tile(whole_weights(weights), n_rows), starts, 0.5)
    return medians


class RunningMedians:
    """Weighted medians of rows as members join one by one.

    Parameters
    ----------
    n_rows : int
    over_rows : callable
        Runs a task over chunks of the rows, as `Team.over_rows` does.
    """

    def __init__(self, n_rows: int, over_rows: OverRows) -> None:
        self.medians = np.empty(n_rows)
        self._over_rows = over_rows
        self._values = np.empty((n_rows, _FIRST_ROUNDS))
        self._members = np.empty((n_rows, _FIRST_ROUNDS), np.int32)

    def add(self, said: Floats, weights: Sequence[float]) -> None:
        """Move the medians by what a further member says; `weights` are those of all members."""
        if len(weights) > self._values.shape[1]:
            self._values, self._members = (
                np.concatenate([array, np.empty_like(array)], axis=1)
                for array in (self._values, self._members)
            )
        values, members, medians = self._values, self._members, self.medians
        whole, said = whole_weights(weights).astype(np.int64), np.ascontiguousarray(said)
        self._over_rows(
            len(medians), lambda a, b: insert_and_find(values, members, said, whole, medians, a, b)
        )


@dataclass(frozen=True, eq=False)
class MedianModel(abc.ABC):
    """Members and their weights alpha, one of each a round."""

    weights: list[float]

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.weights)

    @abc.abstractmethod
    def cut(self, n_rounds: int) -> "MedianModel":
        """The first rounds."""

    @abc.abstractmethod
    def said(self, X: Any, table: Table) -> Said:
        """What the members say of rows."""

    def predict(self, X: Any, table: Table, n_threads: int) -> Floats:
        """Weighted medians of all rows."""
        said, out = self.said(X, table), np.empty(table.n_rows)
        step = rows_per_block(max(table.n_columns, self.n_rounds), _BLOCK_ROWS)

        def fill(start: int, stop: int) -> None:
            for a in range(start, stop, step):
                b = min(a + step, stop)
                out[a:b] = weighted_medians(said(a, b), self.weights)

        over_rows(table.n_rows, fill, n_threads, _CHUNK_ROWS)
        return out

    def staged_predict(self, X: Any, table: Table, n_threads: int) -> Iterator[Floats]:
        """Weighted medians after every round."""
        said, n_rows = self.said(X, table), table.n_rows
        need = {"what the members say": 24 * n_rows * self.n_rounds}
        require_memory(
            need, f"medians of {n_rows:,} rows after each of {self.n_rounds:,} rounds", "use fewer rows"
        )
        whole = np.empty((n_rows, self.n_rounds))
        step = rows_per_block(max(table.n_columns, self.n_rounds), _BLOCK_ROWS)
        for a in range(0, n_rows, step):
            b = min(a + step, n_rows)
            whole[a:b] = said(a, b)
        running = RunningMedians(n_rows, lambda n, task: over_rows(n, task, n_threads, _CHUNK_ROWS))
        for number in range(self.n_rounds):
            running.add(whole[:, number], self.weights[: number + 1])
            yield running.medians.copy()


@dataclass(frozen=True, eq=False)
class MedianTrees(MedianModel):
    """Trees of ours: the value of a leaf is what the tree says. Their values are not added up."""

    trees: TreeModel

    def cut(self, n_rounds: int) -> "MedianTrees":
        """The first rounds."""
        return MedianTrees(self.weights[:n_rounds], self.trees.cut(n_rounds))

    def said(self, X: Any, table: Table) -> Said:
        """Leaf values of a table."""
        forest, bins = self.trees.forest, self.trees.predictor.bins
        flat, firsts = forest.trees, forest.starts[:-1]

        def said(start: int, stop: int) -> Floats:
            leaves = np.empty((stop - start, forest.n_trees), np.int32)
            find_leaves(table.block(start, stop), bins, flat, leaves, 0)
            values: Floats = forest.value[leaves + firsts]
            return values

        return said


@dataclass(frozen=True, eq=False)
class MedianMembers(MedianModel):
    """Fitted regressors of another library."""

    members: list[Any]

    def cut(self, n_rounds: int) -> "MedianMembers":
        """The first rounds."""
        return MedianMembers(self.weights[:n_rounds], self.members[:n_rounds])

    def said(self, X: Any, table: Table) -> Said:
        """Predictions for X; each member is asked once."""
        whole = np.stack([numbers(member, X) for member in self.members], axis=1)
        return lambda start, stop: whole[start:stop]


class Followed:
    """Rows whose mean absolute error is followed.

    Parameters
    ----------
    y, weight : float64 (n,), or no weight
    team : Team
    rows : as the learner reads them, or None
    taken : numbers of these rows among the training rows, when they are some of them
    """

    def __init__(
        self,
        y: Floats,
        weight: Floats | None,
        team: Team,
        *,
        rows: Any = None,
        taken: NDArray[np.uint32] | None = None,
    ) -> None:
        self.y, self.weight, self.rows, self.taken = y, weight, rows, taken
        self._running = RunningMedians(len(y), team.over_rows)

    def add(self, said: Floats, weights: Sequence[float]) -> None:
        """Note what a further member says; `weights` are those of all members."""
        self._running.add(said, weights)

    def error(self) -> float:
        """The weighted mean of |y - median|."""
        return weighted_mean(np.abs(self.y - self._running.medians), self.weight)
