"""What gradient boosting leaves behind: a start score and the steps of every round.

Two kinds with the same two verbs: `TreeModel` holds a flat forest and the bins that code its input,
`MemberModel` holds fitted regressors. Scores are (outputs, rows).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.binning import Bins
from hedgerow.forest import Forest, Predictor
from hedgerow.table import Table
from hedgerow.threads import Lean, cached_property


@dataclass(frozen=True, eq=False)
class TreeModel(Lean):
    """A forest of trees that add up; round r owns trees r * outputs to (r + 1) * outputs - 1."""

    start: Floats  # (outputs,)
    bins: Bins
    forest: Forest

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return self.forest.n_trees // len(self.start)

    def cut(self, n_rounds: int) -> "TreeModel":
        """The first rounds."""
        if n_rounds == self.n_rounds:
            return self
        return TreeModel(self.start, self.bins, self.forest.select(range(n_rounds * len(self.start))))

    @cached_property
    def predictor(self) -> Predictor:
        """The forest ready to predict."""
        return Predictor(self.forest, self.bins)

    @cached_property
    def reaches(self) -> Floats:
        """Running sums (rounds + 1,) of the largest absolute values of the start and of every round."""
        in_leaves = np.where(self.forest.left == 0, np.abs(self.forest.value), 0.0)
        largest = np.maximum.reduceat(in_leaves, self.forest.starts[:-1])
        of_rounds = largest.reshape(self.n_rounds, len(self.start)).max(axis=1)
        return np.cumsum([np.abs(self.start).max(), *of_rounds])

    def scores(self, table: Table, n_threads: int) -> Floats:
        """Raw scores of all rows."""
        scores = self._started(table.n_rows)
        self.predictor.add_scores(table, scores, n_threads)
        return scores

    def staged_scores(self, table: Table, n_threads: int) -> Iterator[Floats]:
        """Raw scores after every round; the array is reused."""
        scores, outputs = self._started(table.n_rows), len(self.start)
        for number in range(self.n_rounds):
            trees = range(number * outputs, (number + 1) * outputs)
            self.predictor.add_scores(table, scores, n_threads, trees)
            yield scores

    def _started(self, n_rows: int) -> Floats:
        scores = np.empty((len(self.start), n_rows))
        scores[:] = self.start[:, None]
        return scores


@dataclass(frozen=True, eq=False)
class MemberModel:
    """Regressors of any kind, one for every output of every round, and the length of each step."""

    start: Floats
    members: list[list[Any]]  # rounds x outputs
    steps: list[float]

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.members)

    def cut(self, n_rounds: int) -> "MemberModel":
        """The first rounds."""
        return MemberModel(self.start, self.members[:n_rounds], self.steps[:n_rounds])

    def scores(self, X: Any, n_rows: int) -> Floats:
        """Raw scores of all rows."""
        scores = np.repeat(self.start[:, None], n_rows, axis=1)
        for scores in self.staged_scores(X, n_rows):  # noqa: B007 - the last one is wanted
            pass
        return scores

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[Floats]:
        """Raw scores after every round; the array is reused."""
        scores = np.repeat(self.start[:, None], n_rows, axis=1)
        for members, step in zip(self.members, self.steps, strict=True):
            for output, member in enumerate(members):
                scores[output] += step * np.asarray(member.predict(X), np.float64).reshape(-1)
            yield scores
