"""Dropped rounds: DART, multiple additive regression trees with dropout (Rashmi and Gilad-Bachrach 2015).

    in every round:
        drop k of the rounds so far
        fit trees to the gradients at the scores without them, with the learning rate r
        multiply the new trees by 1 / (k + r), those of the dropped rounds by k / (k + r)

Without the factors, the new trees and the dropped ones together would change the scores by about twice the
right amount; XGBoost uses the same factors. Later rounds change the values of earlier trees: the model of the
first rounds is not the model that was evaluated then, so that no early stopping can return to it.

Which rounds are dropped is a hash of the seed and the round. Scores must be in this process; codes may be in
shards. They depend on the order in which trees were added and removed, so that a checkpoint stores them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.backends.base import BoostingOptions, EvaluationRows, TreeRound
from hedgerow.backends.cpu import Trees
from hedgerow.forest import TreeModel
from hedgerow.kernels.cpu.random import DROPPED_FEW, DROPPED_ROUNDS, choose_columns, sample_rows


@dataclass(frozen=True, eq=False)
class DropRound(TreeRound):
    """The trees of a round, and trees with the changes of the values of the dropped trees."""

    corrections: Trees


def rounds_of(model: TreeModel) -> list[TreeRound]:
    """Return the rounds of a model, whose trees later rounds may drop."""
    trees, n_each = model.forest.records(), model.trees_per_round
    return [
        TreeRound(of_round, sum((len(nodes) + 1) // 2 for nodes in of_round))
        for of_round in (trees[first : first + n_each] for first in range(0, len(trees), n_each))
    ]


def draw_dropped(n_rounds: int, rate: float, most: int | None, seed: int) -> Integers:
    """Draw which of the rounds so far are dropped, in ascending order; each with the probability `rate`.

    >>> draw_dropped(20, 0.2, None, seed=0).tolist(), len(draw_dropped(20, 0.5, 3, seed=0))
    ([4, 9], 3)
    """
    numbers = np.empty(n_rounds, np.int64)
    dropped = numbers[: sample_rows(rate, seed, DROPPED_ROUNDS, n_rounds, 0, n_rounds, numbers)]
    if most is not None and len(dropped) > most:
        choose_columns(dropped, most, seed, DROPPED_FEW, n_rounds)
        dropped = np.sort(dropped[:most])
    return dropped


class DropTrainingRows(EvaluationRows):
    """Training rows whose trees are fitted without some of the rounds.

    rows : the training rows, with their scores in this process
    rounds : all rounds so far; the values of dropped trees are changed
    """

    validation: EvaluationRows | None = None

    def __init__(self, rows: Any, rounds: Sequence[TreeRound], options: BoostingOptions) -> None:
        self._rows, self._rounds, self._options = rows, rounds, options
        self._dropped: Trees = []
        self._n_dropped = 0

    def gradients(self) -> Any:
        """Drop rounds from the scores, and compute the gradients without them."""
        options = self._options
        dropped = draw_dropped(len(self._rounds), options.drop_rate, options.max_drop, options.seed)
        self._n_dropped = len(dropped)
        self._dropped = [tree for number in dropped.tolist() for tree in self._rounds[number].trees]
        self._add(_scaled(self._dropped, -1.0))
        return self._rows.gradients()

    def fit(self, gradients: Any, iteration: int) -> DropRound:
        """Grow the trees of the round, and change the values of these and of the dropped ones."""
        fitted, k, rate = self._rows.fit(gradients, iteration), self._n_dropped, self._options.rate(iteration)
        if not k:
            return DropRound(fitted.trees, fitted.n_leaves, [])
        factor = k / (k + rate)
        corrections = _scaled(self._dropped, factor - 1.0)
        for tree in self._dropped:
            tree["value"] *= factor
        for tree in fitted.trees:
            tree["value"] /= k + rate
        return DropRound(fitted.trees, fitted.n_leaves, corrections)

    def update(self, fitted: DropRound) -> None:
        """Add the trees of the round and the dropped ones to the scores."""
        self._rows.update(fitted)  # first: it needs the row order of the last tree
        self._add(self._dropped)

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        return float(self._rows.mean_loss())

    def close(self) -> None:
        """Release what is not in the memory of this process."""
        self._rows.close()

    def _add(self, trees: Trees) -> None:
        if trees:
            self._rows.add_trees(trees, self._rows.raw)


class DropEvaluationRows(EvaluationRows):
    """An evaluation set, in memory, whose scores follow the values of dropped trees."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def update(self, fitted: DropRound) -> None:
        """Add the trees of a round, and the changes of dropped trees, to the scores."""
        if fitted.corrections:
            self._rows.add_trees(fitted.corrections, self._rows.raw)
        self._rows.update(fitted)

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        return float(self._rows.mean_loss())

    def close(self) -> None:
        """Release what is not in the memory of this process."""
        self._rows.close()


def _scaled(trees: Sequence[NDArray[np.void]], factor: float) -> Trees:
    scaled = [tree.copy() for tree in trees]
    for tree in scaled:
        tree["value"] *= factor
    return scaled
