"""Weak learners of gradient boosting: our trees, or any scikit-learn regressor.

A tree answers with a step per leaf: in second order -G / (H + l2), in first order, and for losses without
curvature, a line search in every leaf (Friedman 2001). Any other regressor is fitted to the pseudo-residuals
and answers with a direction; one line search finds the length of the whole step.
"""

import inspect
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow.boosting.gradient import Floats, Scores
from hedgerow.forest import Forest
from hedgerow.growing.statistics import Measured, Quantiser
from hedgerow.growing.tree import GrownTree
from hedgerow.kernels.cpu.quantise import add_leaf_values
from hedgerow.kernels.cpu.random import ROW_SAMPLE, sample_rows
from hedgerow.losses import Loss
from hedgerow.threads import Team


class Grower(Protocol):
    """Where trees are grown; see `hedgerow.backends`."""

    def grow(self, measured: Measured, rows: NDArray[np.uint32], tree: int) -> GrownTree:
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
        learning_rate: float,
        newton: bool,
        subsample: float,
        seed: int,
        team: Team,
    ) -> None:
        self.grower, self.quantiser, self.loss, self.train = grower, quantiser, loss, train
        self.learning_rate, self.subsample, self.seed, self.team = learning_rate, subsample, seed, team
        self.search_leaves = loss.needs_line_search or not newton

    def answer(self, request: tuple[Floats, Floats], number: int) -> "TreeSteps":
        """Grow the trees of a round and set their leaf values."""
        rows = self._rows(number)
        n_outputs = len(request[0])
        grown: list[GrownTree] = []
        for output, (gradient, hessian) in enumerate(zip(*request, strict=True)):
            measured = self.quantiser.measure(gradient, hessian)
            tree = self.grower.grow(measured, rows, number * n_outputs + output)
            self._set_values(tree, output)
            if n_outputs > 1:
                tree.rows = tree.rows.copy()  # the grower reuses its row array for the next output
            grown.append(tree)
        by_leaf = self.train if self.subsample >= 1.0 else None
        return TreeSteps(grown, by_leaf, self.team)

    def _rows(self, number: int) -> NDArray[np.uint32]:
        rows = self.quantiser.weights.rows
        if self.subsample >= 1.0:
            return rows
        drawn = np.empty(self.quantiser.n_rows, np.uint32)
        n = sample_rows(self.subsample, self.seed, ROW_SAMPLE, number, 0, len(drawn), drawn)
        chosen: NDArray[np.uint32] = np.intersect1d(drawn[:n], rows, assume_unique=True)
        return chosen if len(chosen) else rows[:1]

    def _set_values(self, tree: GrownTree, output: int) -> None:
        values = tree.nodes["value"]
        if self.search_leaves:
            train = self.train
            steps = self.loss.line_search(train.y, train.raw, train.weight, tree.rows, tree.starts, output)
            leaves = tree.nodes[tree.leaves]
            values[tree.leaves] = np.clip(steps, leaves["lower"], leaves["upper"])
        values *= self.learning_rate


class TreeSteps:
    """The trees of a round.

    `by_leaf` are the scores of the rows the trees were grown on: these are updated leaf by leaf, from
    the row order the grower left; any others by walking the trees.
    """

    def __init__(self, grown: list[GrownTree], by_leaf: Scores | None, team: Team) -> None:
        self.trees = [tree.nodes for tree in grown]
        self.n_leaves = sum(len(tree.leaves) for tree in grown)
        self._grown, self._by_leaf, self._team = grown, by_leaf, team

    def add_to(self, scores: Scores) -> None:
        """Add the leaf values to the scores."""
        if scores is self._by_leaf:
            for raw, tree in zip(scores.raw, self._grown, strict=True):
                self._add_by_leaf(raw, tree)
            self._grown, self._by_leaf = [], None  # the row order is gone with the next tree
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
    seed : int
        Gives every clone that has a `random_state` one of its own.
    """

    def __init__(self, estimator: Any, loss: Loss, train: Scores, *, learning_rate: float, seed: int) -> None:
        self.estimator, self.loss, self.train = estimator, loss, train
        self.learning_rate, self.seed = learning_rate, seed
        self._weighs = "sample_weight" in inspect.signature(estimator.fit).parameters
        if train.weight is not None and not self._weighs:
            raise ValueError(f"sample_weight was given, but {estimator!r} cannot use sample weights")

    def answer(self, request: tuple[Floats, Floats], number: int) -> "MemberSteps":
        """Fit the regressors to the pseudo-residuals and search the length of the step."""
        members = []
        for output, gradient in enumerate(request[0]):
            member = clone(self.estimator)
            if "random_state" in member.get_params():
                member.set_params(random_state=(self.seed + number * len(request[0]) + output) % 2**31)
            weight = {} if self.train.weight is None else {"sample_weight": self.train.weight}
            members.append(member.fit(self.train.rows, -gradient, **weight))
        steps = MemberSteps(members, 1.0)
        direction = steps.directions(self.train.rows)
        length = self.loss.global_line_search(self.train.y, self.train.raw, direction, self.train.weight)
        steps.step = self.learning_rate * length
        return steps


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
