"""Gradient boosting on rows that are elsewhere: in parts of this process, or on other machines.

Where a loss is a sum over rows and its hessian gives the leaf values, everything of a row stays with it: its
part computes gradients, packs them, and adds leaf values to its scores. Here are the frontier of the tree,
and sums. Other losses (medians, quantiles, those of users) need many rows at once: their targets, scores and
gradients are here, as on one machine; statistics go to the parts, and the leaves of all rows come back, a
byte each.

Parts may be lost with the machine they are on. They are made anew with codes and targets, are told the model
so far, and the round begins again.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.gradient import Followed
from hedgerow.boosting.learners import TreeSteps
from hedgerow.boosting.loop import RoundResult
from hedgerow.forest import Forest
from hedgerow.growing.gradient_shard import EVALUATED, TRAINING
from hedgerow.growing.grower import GrownTree, GrowthOptions
from hedgerow.growing.rounds import RoundLeader
from hedgerow.growing.shards import LossCounter, ShardedRows, ShardsLost
from hedgerow.growing.statistics import RowStatistics
from hedgerow.kernels.cpu.records import Rules
from hedgerow.losses import Loss
from hedgerow.losses.base import total_weight
from hedgerow.threads import Team

Answer = TypeVar("Answer")

_NO_ROWS = np.empty(0, np.uint32)


def stays_with_rows(loss: Loss, *, newton: bool) -> bool:
    """Whether gradients and leaf values need no more than one row at a time and sums."""
    prepares = type(loss).prepare is not Loss.prepare
    return newton and loss.splittable and not loss.needs_line_search and not prepares


class RowsElsewhere:
    """Rows in a place, and the model that they have the scores of.

    Parameters
    ----------
    shards : ShardedRows
    training : uint32 rows that train, rising; None for all
    model : callable
        The start (outputs,) and the trees that the scores should have.
    task : callable, optional
        Makes who leads the parts.
    """

    def __init__(
        self,
        shards: ShardedRows,
        training: NDArray[np.uint32] | None,
        model: Callable[[], tuple[Floats, Forest]],
        task: Callable[[ShardedRows], RoundLeader] | None = None,
    ) -> None:
        self.shards, self._training, self._model, self._task = shards, training, model, task
        self._losses = LossCounter()
        self.leader: Any = None  # made by `restore`

    def restore(self) -> None:
        """Give all parts the scores of the model, and a new leader."""
        start, forest = self._model()
        while True:
            try:
                firsts = np.array([first for first, _ in self.shards.bounds])
                before = firsts if self._training is None else np.searchsorted(self._training, firsts)
                self.shards.call_each(
                    "restore_scores", [(start, forest, number) for number in before.tolist()]
                )
                self.leader = None if self._task is None else self._task(self.shards)
            except ShardsLost:
                self._losses.count()
                continue
            return

    def surely(self, question: Callable[[], Answer]) -> Answer:
        """Ask until no part is lost meanwhile."""
        while True:
            try:
                answer = question()
            except ShardsLost:
                self._losses.count()
                self.restore()
                continue
            self._losses.reset()
            return answer


# --- rows that are followed


class FollowedElsewhere:
    """Rows elsewhere whose loss is followed.

    Parameters
    ----------
    rows : RowsElsewhere
    y, weight : float64 (n,), and None if all weigh the same
    own : bool
        Whether their scores are moved here; those of training rows held out are moved with the others.
    """

    def __init__(self, rows: RowsElsewhere, y: Floats, weight: Floats | None, *, own: bool) -> None:
        self.rows, self._own, self._total = rows, own, total_weight(y, weight)

    def take(self, answer: TreeSteps) -> None:
        """Add the trees of a round."""
        if not self._own:
            return
        try:
            for output, nodes in enumerate(answer.trees):
                self.rows.shards.call("add_tree", output, nodes)
        except ShardsLost:
            self.rows.restore()  # the model has the trees already

    def mean_loss(self, loss: Loss) -> float:
        """The weighted mean of the loss at the present scores."""
        return mean_loss(self.rows, loss, EVALUATED, self._total)


def mean_loss(rows: RowsElsewhere, loss: Loss, role: int, total: float) -> float:
    """The weighted mean of the loss of the rows with a role."""
    parts, _ = rows.surely(lambda: rows.shards.call("loss_sums", loss, role))
    return math.fsum(value for part in parts for value in part) / total


# --- everything of a row stays with it


class PlaceLearner:
    """Has the trees of a round grown where the rows are.

    Parameters
    ----------
    rows : RowsElsewhere
        With a leader.
    team : Team
        For rows in this process that are followed.
    """

    def __init__(self, rows: RowsElsewhere, team: Team) -> None:
        self.rows, self.team = rows, team

    def fit(self, _targets: None, iteration: int) -> TreeSteps:
        """Grow the trees of a round."""
        trees = self.rows.surely(lambda: self.rows.leader.grow(iteration))
        if trees is None:
            raise FloatingPointError(
                "the loss gave a gradient or hessian that is not finite, or a hessian < 0"
            )
        return TreeSteps(trees, [], None, self.team)

    def settle(self) -> None:
        """Have all parts add the values of the last tree."""
        try:
            self.rows.leader.settle()
        except ShardsLost:
            self.rows.restore()  # the model has the tree already


class PlaceRule:
    """The update rule where rows keep their own scores: there is nothing to ask for.

    Parameters
    ----------
    loss : Loss
    learner : PlaceLearner
    evaluations : sequence of Followed
    follow_train : float or None
        The total weight of the training rows, if their loss is followed.
    """

    def __init__(
        self, loss: Loss, learner: PlaceLearner, evaluations: Sequence[Followed], follow_train: float | None
    ) -> None:
        self.loss, self.learner, self.evaluations = loss, learner, evaluations
        self._total = follow_train
        self.steps: list[TreeSteps] = []

    def targets(self, iteration: int) -> None:
        """Nothing: parts compute their gradients themselves."""

    def update(self, fitted: TreeSteps, iteration: int) -> RoundResult:
        """Add a round's trees to the ensemble."""
        self.steps.append(fitted)
        for scores in self.evaluations:
            scores.take(fitted)
        if self._total is None and not self.evaluations:
            return RoundResult(fitted.n_leaves)
        self.learner.settle()
        rows = self.learner.rows
        train = None if self._total is None else mean_loss(rows, self.loss, TRAINING, self._total)
        return RoundResult(fitted.n_leaves, train, self.evaluate())

    def evaluate(self) -> tuple[float, ...]:
        """What is followed of each evaluation set, at the present scores."""
        return tuple(scores.mean_loss(self.loss) for scores in self.evaluations)


# --- scores are here, codes elsewhere


class PlaceGrower:
    """Grows trees elsewhere on statistics measured here, as `hedgerow.backends.TreeGrower` does here.

    Parameters
    ----------
    rows : RowsElsewhere
        With a leader.
    rules : GrowthOptions
    n_columns, n_outputs : int
    """

    def __init__(self, rows: RowsElsewhere, rules: GrowthOptions, n_columns: int, n_outputs: int) -> None:
        self.rows, self.rules, self.n_columns, self.n_outputs = rows, rules, n_columns, n_outputs

    def grow(self, measured: RowStatistics, rows: NDArray[np.uint32], tree: int) -> GrownTree:
        """Grow tree number `tree` on the given rows, which the parts draw again."""
        rules = self.rules.for_tree(measured, np.arange(self.n_columns), tree)
        grown, cells = self.rows.surely(lambda: self._grow(measured, rules, tree))
        rank = np.empty(len(grown.nodes), np.int64)
        rank[grown.leaves] = np.arange(len(grown.leaves))
        grown.rows = rows[np.argsort(rank[cells[rows]], kind="stable")]
        return grown

    def _grow(self, measured: RowStatistics, rules: Rules, tree: int) -> tuple[GrownTree, NDArray[Any]]:
        shards, given = self.rows.shards, measured.statistics
        shards.call_each("set_statistics", [(given.packed[a:b], given.wide[a:b]) for a, b in shards.bounds])
        nodes = self.rows.leader.tree(rules, tree // self.n_outputs)
        grown = GrownTree.of(nodes, _NO_ROWS, measured.gradient_unit, measured.hessian_unit)
        return grown, np.concatenate(shards.call("leaf_ids", grown.nodes)[0])


class LeavesElsewhere:
    """Coded rows elsewhere, all of a place or some, whose leaves can be asked for."""

    def __init__(self, rows: RowsElsewhere, chosen: NDArray[np.uint32] | None = None) -> None:
        self.rows, self.chosen = rows, chosen

    def leaves(self, nodes: NDArray[np.void]) -> NDArray[Any]:
        """The number of the node of a tree that every row comes to."""
        found, _ = self.rows.surely(lambda: self.rows.shards.call("leaf_ids", nodes))
        leaves = np.concatenate(found)
        return leaves if self.chosen is None else leaves[self.chosen]
