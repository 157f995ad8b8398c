"""Weak learners of gradient boosting: our trees, or any scikit-learn regressor.

A tree answers with a step per leaf: in second order -G / (H + l2), in first order, and for losses without
curvature, a line search in every leaf (Friedman 2001). Any other regressor is fitted to the pseudo-residuals
and answers with a direction; one line search finds the length of the whole step.
"""

import inspect
import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from hedgerow._typing import Floats
from hedgerow.boosting.gradient import Scores
from hedgerow.boosting.weak_learners import seeded_clone
from hedgerow.forest import Forest
from hedgerow.growing.grower import GrownTree
from hedgerow.growing.statistics import Quantiser, RowStatistics
from hedgerow.kernels.cpu.quantise import add_leaf_values
from hedgerow.kernels.cpu.random import ROW_SAMPLE, sample_rows
from hedgerow.losses import Loss
from hedgerow.threads import Team


class Grower(Protocol):
    """Where trees are grown; see `hedgerow.backends`."""

    def grow(self, measured: RowStatistics, rows: NDArray[np.uint32], tree: int) -> GrownTree:
        """Grow one tree."""


class TreeLearner:
    """Answers with one tree for every output.

    Parameters
    ----------
    grower : Grower
    quantiser : Quantiser
    loss : Loss
        Gives leaf values by line search where the hessian does not.
    train : Scores
    monotonic : int8 (columns,) or empty
        Directions the leaf values must respect; the grower sees to it for its own values, and here for
        those of a line search.
    learning_rate : float
    newton : bool
    subsample : float
        Share of the rows a tree is grown on, drawn anew for every round.
    seed : int
    team : Team
    """

    def __init__(
        self,
        grower: Grower,
        quantiser: Quantiser,
        loss: Loss,
        train: Scores,
        *,
        monotonic: NDArray[np.int8],
        learning_rate: float,
        newton: bool,
        subsample: float,
        seed: int,
        team: Team,
    ) -> None:
        self.grower, self.quantiser, self.loss, self.train = grower, quantiser, loss, train
        self.learning_rate, self.subsample, self.seed, self.team = learning_rate, subsample, seed, team
        self.monotonic = monotonic
        self.search_leaves = loss.needs_line_search or not newton

    def fit(self, targets: tuple[Floats, Floats], iteration: int) -> "TreeSteps":
        """Grow the trees of a round and set their leaf values."""
        rows = self._rows(iteration)
        n_outputs = len(targets[0])
        grown: list[GrownTree] = []
        for output, (gradient, hessian) in enumerate(zip(*targets, strict=True)):
            measured = self.quantiser.quantise(gradient, hessian)
            tree = self.grower.grow(measured, rows, iteration * n_outputs + output)
            self._set_values(tree, output)
            if n_outputs > 1:
                tree.rows = tree.rows.copy()  # the grower reuses its row array for the next output
            grown.append(tree)
        by_leaf = self.train if self.subsample >= 1.0 else None
        return TreeSteps([tree.nodes for tree in grown], grown, by_leaf, self.team)

    def _rows(self, number: int) -> NDArray[np.uint32]:
        rows = self.quantiser.weights.rows
        if self.subsample >= 1.0:
            return rows
        # Places among the rows with weight are drawn, not row numbers: a row of weight zero acts as no row.
        return rows[draw_rows(len(rows), self.subsample, self.seed, number)]

    def _set_values(self, tree: GrownTree, output: int) -> None:
        values = tree.nodes["value"]
        if self.search_leaves:
            train = self.train
            steps = self.loss.line_search(train.y, train.raw, train.weight, tree.rows, tree.starts, output)
            if self.monotonic.size:
                order_steps(steps, tree, self.monotonic)
            values[tree.leaves] = steps
        values *= self.learning_rate


def draw_rows(n_rows: int, share: float, seed: int, number: int) -> NDArray[np.uint32]:
    """Places of a random share of so many rows for round `number`, rising; at least one."""
    places = np.empty(n_rows, np.uint32)
    n = sample_rows(share, seed, ROW_SAMPLE, number, 0, n_rows, places)
    return places[:n] if n else np.zeros(1, np.uint32)


def order_steps(steps: Floats, tree: GrownTree, monotonic: NDArray[np.int8]) -> None:
    """Move the steps of the leaves, from left to right, so that they respect the monotonic directions.

    The grower bounds its own values as it grows; a line search may give others. Where the leaves on the
    low side of a monotonic split reach above those on its high side, the ones that overlap meet at their
    mean. Splits are visited from the root down: what happens below a split moves no leaf out of the range
    that the leaves on its side already have.
    """
    nodes, counts = tree.nodes, tree.nodes["count"][tree.leaves]
    for node in nodes[nodes["left"] > 0]:
        direction = monotonic[node["split"]["column"]]
        if not direction:
            continue
        parts = [node["start"], nodes["start"][node["left"] + 1], node["stop"]]
        first, middle, last = np.searchsorted(tree.starts, parts)
        low, high = np.arange(first, middle), np.arange(middle, last)
        if direction < 0:
            low, high = high, low
        top, bottom = steps[low].max(), steps[high].min()
        if top > bottom:
            overlap = np.concatenate([low[steps[low] > bottom], high[steps[high] < top]])
            mean = math.fsum(steps[overlap] * counts[overlap]) / math.fsum(counts[overlap])
            mean = min(max(mean, bottom), top)  # rounding
            steps[low], steps[high] = np.minimum(steps[low], mean), np.maximum(steps[high], mean)


@runtime_checkable
class CodedElsewhere(Protocol):
    """Rows that are coded elsewhere."""

    def leaves(self, nodes: NDArray[np.void]) -> NDArray[Any]:
        """The number of the node of a tree that every row comes to."""


class TreeSteps:
    """The trees of a round: their nodes, and with `grown` the rows in their leaves.

    `by_leaf` are the scores of the rows the trees were grown on: these are updated leaf by leaf, from
    the row order the grower left; any others by walking the trees.
    """

    def __init__(
        self,
        trees: list[NDArray[np.void]],
        grown: list[GrownTree],
        by_leaf: Scores | None,
        team: Team,
    ) -> None:
        self.trees = trees
        self.n_leaves = sum((len(nodes) + 1) // 2 for nodes in trees)
        self._grown, self._by_leaf, self._team = grown, by_leaf, team

    def add_to(self, scores: Scores) -> None:
        """Add the leaf values to the scores."""
        if scores is self._by_leaf:
            for raw, tree in zip(scores.raw, self._grown, strict=True):
                self._add_by_leaf(raw, tree)
            self._grown, self._by_leaf = [], None  # the row order is gone with the next tree
            return
        if isinstance(scores.rows, CodedElsewhere):
            for output, nodes in enumerate(self.trees):
                scores.raw[output] += nodes["value"][scores.rows.leaves(nodes)]
            return
        forest = Forest.of(self.trees, range(len(self.trees)))
        for number, raw in enumerate(scores.raw):
            forest.add_coded_scores(scores.rows, number, raw, self._team)

    def _add_by_leaf(self, raw: Floats, tree: GrownTree) -> None:
        rows, starts, values = tree.rows, tree.starts, tree.values
        self._team.over_rows(len(rows), lambda a, b: add_leaf_values(raw, rows, starts, values, a, b))


class AnyLearner:
    """Answers with clones of a regressor, one for every output.

    Parameters
    ----------
    estimator : scikit-learn regressor
    loss : Loss
    train : Scores
        Its `rows` is X as the user gave it.
    learning_rate : float
    subsample : float
        Share of the rows a regressor is fitted to, drawn anew for every round.
    seed : int
        Of that choice; and gives every clone that has a `random_state` one of its own.
    """

    def __init__(
        self,
        estimator: Any,
        loss: Loss,
        train: Scores,
        *,
        learning_rate: float,
        subsample: float,
        seed: int,
    ) -> None:
        self.estimator, self.loss, self.train = estimator, loss, train
        self.learning_rate, self.subsample, self.seed = learning_rate, subsample, seed
        if train.weight is not None and "sample_weight" not in inspect.signature(estimator.fit).parameters:
            raise ValueError(
                f"rows have weights, but estimator={estimator!r} has no sample_weight in its fit; leave "
                "sample_weight and class_weight out"
            )

    def fit(self, targets: tuple[Floats, Floats], iteration: int) -> "MemberSteps":
        """Fit the regressors to the pseudo-residuals and search the length of the step."""
        part, gradients = self.train, targets[0]
        if self.subsample < 1.0:
            rows = draw_rows(len(part.y), self.subsample, self.seed, iteration)
            part, gradients = take_scores(part, rows), gradients[:, rows]
        weight = {} if part.weight is None else {"sample_weight": part.weight}
        members = []
        for output, gradient in enumerate(gradients):
            member = seeded_clone(self.estimator, self.seed + iteration * len(gradients) + output)
            member.fit(part.rows, -gradient, **weight)
            members.append(member)
        steps = MemberSteps(members, 1.0)
        direction = steps.directions(part.rows)
        if not np.all(np.isfinite(direction)):
            raise ValueError(f"estimator={self.estimator!r} predicted a value that is not finite")
        length = self.loss.global_line_search(part.y, part.raw, direction, part.weight)
        steps.step = self.learning_rate * length
        return steps


def take_scores(scores: Scores, rows: NDArray[Any]) -> Scores:
    """Some of the rows, where `rows` of the scores is X as the user gave it."""
    X = scores.rows.tocsr() if sparse.issparse(scores.rows) else scores.rows
    weight = None if scores.weight is None else scores.weight[rows]
    return Scores(scores.y[rows], weight, scores.raw[:, rows], _safe_indexing(X, rows.astype(np.int64)))


class MemberSteps:
    """The regressors of a round and the length of their step."""

    n_leaves = 0

    def __init__(self, members: list[Any], step: float) -> None:
        self.members = members
        self.step = step

    def directions(self, X: Any) -> Floats:
        """What the members predict, (outputs, rows)."""
        return np.stack([np.asarray(member.predict(X), np.float64).reshape(-1) for member in self.members])

    def add_to(self, scores: Scores) -> None:
        """Add the step to the scores."""
        scores.raw += self.step * self.directions(scores.rows)
