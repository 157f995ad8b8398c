"""Accuracies on test folds, the same folds for every method, and compilation of the kernels.

Folds overlap in their training rows, so that a mean over them varies more than they suggest. The standard
error of a difference between two methods is therefore that of Nadeau and Bengio, "Inference for the
Generalization Error", Machine Learning 52, 2003: with k folds and test/train the ratio of their rows,

    sqrt((1 / k + test / train) * variance of the k differences).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold

from hedgerow._typing import Floats, Integers
from hedgerow.datasets import flip_labels
from hedgerow.experiments.plan import Maker, Problem

Fold = tuple[Integers, Integers]  # training and test rows


@dataclass(frozen=True, eq=False)
class MethodScores:
    """Accuracy and seconds of one method, each of shape (n_folds,)."""

    accuracy: Floats
    fit_seconds: Floats
    predict_seconds: Floats


@dataclass(frozen=True, eq=False)
class AccuracyCurve:
    """Accuracies (n_points, n_folds) at points x, of one method."""

    x: tuple[float, ...]
    accuracy: Floats

    @property
    def mean(self) -> Floats:
        """Mean over the folds."""
        return np.asarray(self.accuracy.mean(axis=1))

    @property
    def spread(self) -> Floats:
        """Standard deviation over the folds."""
        return np.asarray(self.accuracy.std(axis=1, ddof=1))


def make_folds(y: NDArray[np.int64], n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Stratified folds, drawn anew for every repeat.

    >>> folds = make_folds(np.arange(20) % 2, 5, 2, seed=0)
    >>> len(folds), len(folds[0][1])
    (10, 4)
    """
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=seed)
    return list(splitter.split(np.zeros((len(y), 1)), y))


def cross_validate(model: Any, problem: Problem, folds: Sequence[Fold]) -> MethodScores:
    """Fit to the rows of every fold, and score the others."""
    found = np.empty((3, len(folds)))
    for number, (train, test) in enumerate(folds):
        start = time.perf_counter()
        model.fit(problem.X[train], problem.y[train])
        fitted = time.perf_counter()
        found[0, number] = (model.predict(problem.X[test]) == problem.y[test]).mean()
        found[1:, number] = fitted - start, time.perf_counter() - fitted
    return MethodScores(*found)


def curve_of_rounds(model: Any, problem: Problem, folds: Sequence[Fold], n_rounds: int) -> AccuracyCurve:
    """Return accuracy after every round; a model that stopped early keeps its last accuracy."""
    accuracy = np.empty((n_rounds, len(folds)))
    for number, (train, test) in enumerate(folds):
        model.fit(problem.X[train], problem.y[train])
        last = 0
        for last, predicted in enumerate(model.staged_predict(problem.X[test])):
            accuracy[last, number] = (predicted == problem.y[test]).mean()
        accuracy[last + 1 :, number] = accuracy[last, number]
    return AccuracyCurve(tuple(float(number) for number in range(1, n_rounds + 1)), accuracy)


def curve_of_models(
    models: Sequence[Any], x: Sequence[float], problem: Problem, folds: Sequence[Fold]
) -> AccuracyCurve:
    """Return accuracy of one model for each point."""
    return AccuracyCurve(
        tuple(x), np.stack([cross_validate(model, problem, folds).accuracy for model in models])
    )


def curve_of_noise(
    model: Any, shares: Sequence[float], problem: Problem, folds: Sequence[Fold], seed: int
) -> AccuracyCurve:
    """Return accuracy on true labels after training on partly flipped labels.

    The flipped labels depend only on the seed, the fold and the share: they are the same for all methods.
    """
    accuracy = np.empty((len(shares), len(folds)))
    for point, share in enumerate(shares):
        for number, (train, test) in enumerate(folds):
            flipped = noisy_labels(problem.y[train], share, (seed, number))
            predicted = model.fit(problem.X[train], flipped).predict(problem.X[test])
            accuracy[point, number] = (predicted == problem.y[test]).mean()
    return AccuracyCurve(tuple(shares), accuracy)


def noisy_labels(y: NDArray[np.int64], share: float, key: tuple[int, int]) -> NDArray[np.int64]:
    """Return labels of which a share is flipped; a larger share flips the same rows and more.

    >>> y = np.arange(100) % 2
    >>> int((noisy_labels(y, 0.2, (0, 0)) != y).sum())
    20
    """
    return flip_labels(y, share, np.random.RandomState(list(key)))[0]


def mean_and_spread(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation."""
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def standard_error(difference: Floats, test_to_train: float) -> float:
    """Return the standard error of the mean of paired differences over overlapping folds (see above).

    >>> round(standard_error(np.array([0.01, 0.03]), 0.5), 4)
    0.0141
    """
    spread = difference.var(ddof=1) if len(difference) > 1 else np.inf
    return float(np.sqrt((1 / len(difference) + test_to_train) * spread))


_ROWS = 600  # more than 255 values a column, so that wide and narrow codes are both used


def compile_kernels(problems: Sequence[Problem], names: Sequence[str], maker: Maker) -> None:
    """Fit every method and predict once, on a few rows of every problem."""
    small = Maker(learners=2, trees=2, members=2, random_state=maker.random_state, n_jobs=maker.n_jobs)
    for problem in problems:
        rows = np.arange(min(_ROWS, len(problem.y)))
        if len(np.unique(problem.y[rows])) > 1:
            for name in names:
                model = small.make(name).fit(problem.X[rows], problem.y[rows])
                model.predict(problem.X[rows])
                if hasattr(model, "staged_predict"):
                    list(model.staged_predict(problem.X[rows]))
