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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.backends.base import EvaluationRows, TrainingRows, TreeRound
from hedgerow.kernels.cpu.random import FOLDS, VALIDATION, draw_rows
from hedgerow.losses.base import total_weight
from hedgerow.threads import Team

FOLD_COUNTS = (2, 4, 8, 16)
NO_FOLD = 255


class StratifiedOrder(NamedTuple):
    """Rows class after class, each class in random order.

    rows, rank, size : row numbers, the rank of each in its class, and the number of rows of its class.
    draws : the random numbers by which rows are sorted, in the order of the table.

    >>> order = StratifiedOrder.of(np.array([1, 0, 1, 1]), seed=0, purpose=FOLDS, first=0)
    >>> order.rows.tolist(), order.rank.tolist(), order.size.tolist()
    ([1, 3, 2, 0], [0, 0, 1, 2], [1, 3, 3, 3])
    """

    rows: Integers
    rank: Integers
    size: Integers
    draws: NDArray[np.uint64]

    @classmethod
    def of(cls, classes: NDArray[np.integer[Any]], seed: int, purpose: int, first: int) -> "StratifiedOrder":
        """Draw the order for class numbers (n,); `purpose` and `first` number the draws."""
        draws = np.empty(len(classes), np.uint64)
        draw_rows(seed, purpose, first, draws)
        rows = np.lexsort((draws, classes))
        counts = np.bincount(classes)
        starts, row_classes = np.cumsum(counts) - counts, classes[rows]
        return cls(rows, np.arange(len(classes)) - starts[row_classes], counts[row_classes], draws)


def _groups(classes: Floats | None, rows: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return the class numbers of some rows, 0 without classes."""
    return np.zeros(len(rows), np.intp) if classes is None else classes[rows].astype(np.intp)


def draw_folds(
    classes: Floats | None, sample_weight: Floats | None, n_rows: int, n_folds: int, seed: int
) -> NDArray[np.uint8]:
    """Draw the fold of every row: folds of equal size, with equal fractions of every class.

    Rows of weight zero have no fold, so that they have no influence; neither has the only row of a class,
    which all models are fitted to: without it a model could not predict the class.

    >>> draw_folds(None, None, 8, 4, seed=0).tolist()
    [3, 0, 1, 3, 2, 2, 0, 1]
    """
    rows = np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    drawn = StratifiedOrder.of(_groups(classes, rows), seed, FOLDS, n_folds)
    order = drawn.rows if classes is None else drawn.rows[drawn.size > 1]
    folds = np.full(n_rows, NO_FOLD, np.uint8)
    folds[rows[order]] = np.arange(len(order)) % n_folds
    return folds


def validation_rows(
    classes: Floats | None, sample_weight: Floats | None, n_rows: int, fraction: float, seed: int
) -> RowNumbers:
    """Draw rows for validation: the same fraction of every class, at least one row.

    Rows of weight zero are not counted, so that they have no influence. Every class is put into a random
    order, and row i of its m rows gets the rank (i + 1/2) / m; the rows of lowest rank over all classes are
    chosen. The last row of a class stays in training.
    """
    rows = np.arange(n_rows) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    drawn = StratifiedOrder.of(_groups(classes, rows), seed, VALIDATION, 0)
    ranks = np.empty(len(rows))
    ranks[drawn.rows] = np.where(drawn.rank < drawn.size - 1, (drawn.rank + 0.5) / drawn.size, 1.0)
    n_validation = min(max(1, round(fraction * len(rows))), int(np.sum(ranks < 1)))
    order = np.lexsort((drawn.draws, ranks))
    if not n_validation:
        raise ValueError(
            f"validation_fraction={fraction} of n_samples={n_rows} rows leaves nothing to train on; "
            "pass an eval_set or set early_stopping=False"
        )
    return np.sort(rows[order[:n_validation]]).astype(np.uint32)


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
    """The threads of the models: groups of them grow some models at once, each with some threads.

    With small tables, several threads for one tree are no faster, but several trees at once are.
    """

    def __init__(self, team: Team, n_folds: int, stack: ExitStack, *, at_once: bool) -> None:
        self.team = team
        self.n_groups = min(team.n_threads, n_folds) if at_once else 1
        n_threads = team.n_threads // self.n_groups
        groups = [Team(n_threads, team.chunk_rows) for _ in range(self.n_groups)] if at_once else [team]
        self.teams = [groups[fold % self.n_groups] for fold in range(n_folds)]
        for group in groups if at_once else []:
            stack.enter_context(group)

    def folds_of(self, group: int) -> range:
        """Return the folds whose models a group of threads grows, one after the other."""
        return range(group, len(self.teams), self.n_groups)


class FoldTrainingRows(EvaluationRows):
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
        self._fitted: list[Any] = [None] * len(models)  # the `TreeRound` of every model
        self._losses = [math.nan] * len(models)  # of the rows that every model is fitted to
        held_out = [_weight_of(y, weight, np.flatnonzero(folds == fold)) for fold in range(len(models))]
        self._trained = [math.fsum(held_out) - weight for weight in held_out]
        self.validation: FoldValidation | None = FoldValidation(
            [model.validation for model in models], held_out
        )

    def gradients(self) -> None:
        """Do nothing: `fit` computes the gradients of a model when it grows its trees."""

    def fit(self, gradients: None, iteration: int) -> TreeRound:
        """Grow the trees of all models; return them with leaf values divided by the number of models."""
        models, teams = self._models, self._teams

        def fit_group(group: int) -> None:
            for fold in teams.folds_of(group):
                self._fitted[fold] = models[fold].fit(models[fold].gradients(), iteration)

        teams.team.together(fit_group, teams.n_groups)
        trees = [nodes.copy() for fitted in self._fitted for nodes in fitted.trees]
        for nodes in trees:
            nodes["value"] /= len(models)
        terms = [own.scaled(1.0 / len(models)) for fitted in self._fitted for own in fitted.terms]
        return TreeRound(trees, sum(fitted.n_leaves for fitted in self._fitted), terms=terms)

    def update(self, fitted: TreeRound) -> None:
        """Add the trees of the round to the scores of their models, and compute their losses."""

        def update_group(group: int) -> None:
            for fold in self._teams.folds_of(group):
                model = self._models[fold]
                model.update(self._fitted[fold])
                self._losses[fold] = model.mean_loss()
                if self.validation is not None:
                    self.validation.losses[fold] = self.validation.folds[fold].mean_loss()

        self._teams.team.together(update_group, self._teams.n_groups)

    def mean_loss(self) -> float:
        """Return the mean loss of the rows that the models are fitted to."""
        return _mean(self._losses, self._trained)

    def close(self) -> None:
        """Release what is not in the memory of this process."""
        for model in self._models:
            model.close()


class FoldValidation(EvaluationRows):
    """The out-of-fold rows: those of every fold, under its model.

    losses : mean losses of the folds, which `FoldTrainingRows.update` computes
    """

    def __init__(self, folds: Sequence[EvaluationRows | None], weights: Sequence[float]) -> None:
        self.folds, self._weights = [fold for fold in folds if fold is not None], weights
        self.losses: dict[int, float] = {}

    def update(self, fitted: TreeRound) -> None:
        """Do nothing: the models update their validation rows."""

    def mean_loss(self) -> float:
        """Return the weighted mean of the loss at the current scores."""
        if not self.losses:  # before the first round
            self.losses = {number: fold.mean_loss() for number, fold in enumerate(self.folds)}
        return _mean([self.losses[number] for number in range(len(self.folds))], self._weights)


def _weight_of(y: Floats, weight: Floats | None, rows: RowNumbers | NDArray[Any]) -> float:
    return total_weight(y[rows], None if weight is None else weight[rows])


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    products = [value * weight for value, weight in zip(values, weights, strict=True)]
    return math.fsum(products) / math.fsum(weights)
