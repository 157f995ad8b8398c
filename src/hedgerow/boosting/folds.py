"""Gradient boosting as the mean of models of several folds, which grow together.

    fold 0:  [validation | training   | training   | training  ]   model 0
    fold 1:  [training   | validation | training   | training  ]   model 1
    ...

The model of a fold is fitted to the rows of all other folds. Every round grows the trees of all models, so
that the losses of the folds, each under the model that was not fitted to it, are an out-of-fold loss of all
rows. It decides the number of rounds, the same for all, and no row is lost to validation. The mean of the
scores has less variance than one model (Breiman 1996, "Bagging predictors"; cross-validated committees:
Parmanto, Munro and Doyle 1996).

The number of folds is a power of two: leaf values can then be divided by it, and multiplied again when a
fit is resumed, without rounding.
"""

import copy
import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, RowNumbers
from hedgerow.backends.base import EvaluationRows, TrainingRows, TreeRound
from hedgerow.kernels.cpu.random import FOLDS, draw_rows
from hedgerow.losses.base import total_weight
from hedgerow.threads import Team

FOLD_COUNTS = (2, 4, 8, 16)
NO_FOLD = 255


def draw_folds(
    classes: Floats | None, sample_weight: Floats | None, n_rows: int, n_folds: int, seed: int
) -> NDArray[np.uint8]:
    """Draw the fold of every row: folds of equal size, with equal fractions of every class.

    Rows of weight zero have no fold, so that they equal no rows; neither has the only row of a class, which
    all models are fitted to: without it a model cannot know the class.

    >>> draw_folds(None, None, 8, 4, seed=0).tolist()
    [3, 0, 1, 3, 2, 2, 0, 1]
    """
    rows = np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    draws = np.empty(len(rows), np.uint64)
    draw_rows(seed, FOLDS, n_folds, draws)
    groups = np.zeros(len(rows), np.intp) if classes is None else classes[rows].astype(np.intp)
    order = np.lexsort((draws, groups))
    order = order[np.bincount(groups)[groups[order]] > 1] if classes is not None else order
    folds = np.full(n_rows, NO_FOLD, np.uint8)
    folds[rows[order]] = np.arange(len(order)) % n_folds
    return folds


def count_held_out(classes: Floats | None, sample_weight: Floats | None, n_rows: int) -> int:
    """Count the rows that may be held out: of positive weight, without those that are alone in their class.

    >>> count_held_out(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 0.0, 1.0]), 5)
    2
    """
    rows = np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    if classes is None:
        return len(rows)
    counts = np.bincount(classes[rows].astype(np.intp))
    return int(counts[counts > 1].sum())


def fold_seed(seed: int, fold: int) -> int:
    """Return the seed of the rows and columns that the model of a fold draws.

    >>> len({fold_seed(0, fold) for fold in range(8)})
    8
    """
    draws = np.empty(fold + 1, np.uint64)
    draw_rows(seed, FOLDS, 0, draws)
    return int(draws[fold] >> np.uint64(33))


def fold_options(options: Any, fold: int) -> Any:
    """Return the options of the model of a fold."""
    seed = fold_seed(options.seed, fold)
    return replace(
        options,
        loss=copy.copy(options.loss),  # some have a state, which follows from the scores of a model
        growth=replace(options.growth, seed=seed),
        seed=seed,
        folds=None,
        validation_rows=np.flatnonzero(options.folds == fold).astype(np.uint32),
    )


class FoldTeams:
    """The threads of the models: some models at once, each with some threads.

    Small tables gain nothing from several threads for one tree, but everything from several trees at once.
    """

    def __init__(self, team: Team, n_folds: int, stack: ExitStack, *, at_once: bool) -> None:
        self._team = team
        self._n_groups = min(team.n_members, n_folds) if at_once else 1
        share = team.n_members // self._n_groups
        groups = [Team(share, team.chunk_rows) for _ in range(self._n_groups)] if at_once else [team]
        self.teams = [groups[fold % self._n_groups] for fold in range(n_folds)]
        for group in groups if at_once else []:
            stack.enter_context(group)

    def run(self, task: Any) -> list[Any]:
        """Call `task(fold)` for all folds; return the results in their order."""
        results: list[Any] = [None] * len(self.teams)

        def run_group(group: int) -> None:
            for fold in range(group, len(self.teams), self._n_groups):
                results[fold] = task(fold)

        if self._n_groups == 1:
            run_group(0)
        else:
            self._team.together(run_group, self._n_groups)
        return results


class FoldTrainingRows:
    """The training rows of all models; together they are the weak learner of the boosting loop.

    Parameters
    ----------
    models : one `TrainingRows` for each fold, whose validation rows are those of the fold
    y, weight : of all rows
    folds : uint8 (rows,)
    teams : FoldTeams
    """

    def __init__(
        self,
        models: Sequence[TrainingRows],
        y: Floats,
        weight: Floats | None,
        folds: NDArray[np.uint8],
        teams: FoldTeams,
    ) -> None:
        self._models, self._teams = models, teams
        self._fitted: list[TreeRound] = []
        held_out = [_weight_of(y, weight, np.flatnonzero(folds == fold)) for fold in range(len(models))]
        self._trained = [math.fsum(held_out) - one for one in held_out]
        self.validation: FoldValidation | None = FoldValidation(
            [model.validation for model in models], held_out
        )

    def gradients(self) -> None:
        """Do nothing: `fit` computes the gradients of a model when it grows its trees."""

    def fit(self, gradients: None, iteration: int) -> TreeRound:
        """Grow the trees of all models; return them with their shares of the mean."""
        models = self._models
        self._fitted = self._teams.run(lambda fold: models[fold].fit(models[fold].gradients(), iteration))
        trees = [nodes.copy() for fitted in self._fitted for nodes in fitted.trees]
        for nodes in trees:
            nodes["value"] /= len(models)
        return TreeRound(trees, sum(fitted.n_leaves for fitted in self._fitted))

    def update(self, fitted: TreeRound) -> None:
        """Add the trees of the round to the scores of their models."""
        self._teams.run(lambda fold: self._models[fold].update(self._fitted[fold]))

    def mean_loss(self) -> float:
        """Return the mean loss of the rows that the models are fitted to."""
        return _mean([model.mean_loss() for model in self._models], self._trained)

    def close(self) -> None:
        """Release what is not in the memory of this process."""
        for model in self._models:
            model.close()


class FoldValidation:
    """The out-of-fold rows: those of every fold, under its model."""

    def __init__(self, folds: Sequence[EvaluationRows | None], weights: Sequence[float]) -> None:
        self._folds, self._weights = [fold for fold in folds if fold is not None], weights

    def update(self, fitted: TreeRound) -> None:
        """Do nothing: the models update their validation rows."""

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        return _mean([fold.mean_loss() for fold in self._folds], self._weights)

    def close(self) -> None:
        """Do nothing: the models close their rows."""


def _weight_of(y: Floats, weight: Floats | None, rows: RowNumbers | NDArray[Any]) -> float:
    return total_weight(y[rows], None if weight is None else weight[rows])


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    products = [value * weight for value, weight in zip(values, weights, strict=True)]
    return math.fsum(products) / math.fsum(weights)
