"""Ensemble selection (Caruana et al. 2004): weights of trials, from their predictions of validation rows.

    start with the best trial
    repeat: add the trial, one of those already in or a new one, whose addition gives the best mean prediction
    return the counts after the step with the best score, divided by their sum

The score of weights on the rows that they were chosen on is too good, and so is the score of the best of many
trials. Both are therefore estimated by cross-fitting: weights, and the best trial, are chosen on all folds of
the validation rows except one, and predict this fold. The ensemble is used if the difference is more than
half of its standard error.

R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, "Ensemble selection from libraries of models", ICML 2004.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.selection.metrics import Metric, score_predictions, standard_error
from hedgerow.selection.predictions import Predictions, class_predictions
from hedgerow.selection.results import Ensemble
from hedgerow.selection.splits import RowOrder, fold_rows, sample_rows

MAX_MEMBERS = 5  # different trials: each is fitted to all rows, and predicts
MAX_CANDIDATES = 10  # the best trials; worse ones hardly ever get a weight
# Standard errors by which an ensemble must be better than single trials, both cross-fitted. On 37 real tables
# (`benchmarks/ensembles.py --tables all`), ensembles had a lower test loss in 24 and a higher one in 12. With
# 0.5 they are used in 20: 15 better, 5 worse, mean gain 0.6 %; with 2 in 13: 10 better, 3 worse, mean gain
# 0.2 %. The number was chosen on these tables, also on those held back, so that they do not confirm it.
MIN_ADVANTAGE = 0.5
_STEPS = 30
_MIN_WEIGHT = 0.05  # lighter members are left out: they cost as much as others
_MAX_ROWS = 10_000  # of validation, on which weights are chosen
_MIN_ROWS = 20
_FEW_ROWS, _FEW_FOLDS, _MANY_FOLDS = 2_000, 5, 2  # with few rows there are more folds


@dataclass(frozen=True, eq=False)
class EnsembleRows:
    """The validation rows on which weights are chosen, and their folds."""

    rows: Integers  # numbers of the validation rows, increasing; a sample if there are many
    folds: list[Integers]  # positions in `rows`

    @classmethod
    def of(cls, y: NDArray[Any], task: str, seed: int, groups: Integers | None) -> "EnsembleRows | None":
        """Sample and divide the validation rows; None if there are too few."""
        if len(y) < _MIN_ROWS:
            return None
        rows = np.arange(len(y)) if len(y) <= _MAX_ROWS else sample_rows(y, task, _MAX_ROWS, seed)
        n_folds = _FEW_FOLDS if len(rows) <= _FEW_ROWS else _MANY_FOLDS
        order = None if groups is None else RowOrder(groups=np.unique(groups[rows], return_inverse=True)[1])
        try:
            pairs = fold_rows(y[rows], task, n_folds, seed, order=order)
        except ValueError:  # one group, or a single row of every class
            return None
        return cls(rows, [fold for _, fold in pairs])


@dataclass(frozen=True, eq=False)
class CandidatePredictions:
    """Predictions of several models for the same rows, and the metric of a mean of them."""

    predictions: Sequence[Predictions]
    metric: Metric
    threshold: float | None = None

    def mean(self, counts: Integers) -> Predictions:
        """Return the weighted mean of the predictions."""
        total = sum(int(n) * _values(one) for n, one in zip(counts, self.predictions, strict=True) if n)
        return self._of(np.asarray(total) / int(np.sum(counts)))

    def take(self, rows: Integers) -> "CandidatePredictions":
        """Return the predictions of some rows."""
        return CandidatePredictions([one.take(rows) for one in self.predictions], self.metric, self.threshold)

    def _of(self, values: Floats) -> Predictions:
        first = self.predictions[0]
        if first.probabilities is None:
            return Predictions(first.y_true, values)
        return class_predictions(first.y_true, values, first.positive, self.threshold)

    def loss(self, values: Floats) -> float:
        """Return the loss of mean predictions; infinity if it is undefined."""
        score = self.metric.score(self._of(values))
        return np.inf if score is None or np.isnan(score) else self.metric.loss(score)


def choose_weights(
    library: CandidatePredictions, *, max_members: int = MAX_MEMBERS, n_steps: int = _STEPS
) -> Integers:
    """Return how often each model is selected; equal predictions are selected in their order.

    Examples
    --------
    >>> from hedgerow.selection.metrics import METRICS
    >>> y = np.array([1.0, 2.0, 3.0])
    >>> guesses = [y - [0.3, 0.0, 0.0], y + [0.3, 0.1, 0.1], y + 5.0]
    >>> library = CandidatePredictions([Predictions(y, guess) for guess in guesses], METRICS["rmse"])
    >>> choose_weights(library, n_steps=2).tolist()
    [1, 1, 0]
    """
    allowed = np.arange(len(library.predictions))
    best = _best_single(library, allowed)
    best_loss = library.loss(_values(library.predictions[best]))
    while True:
        counts = _greedy(library, allowed, max_members, n_steps)
        light = (counts > 0) & (counts < _MIN_WEIGHT * counts.sum())
        if not light.any():
            return counts
        kept = np.flatnonzero((counts > 0) & ~light)
        fewer = _greedy(library, kept, max_members, n_steps)
        if library.loss(_values(library.mean(fewer))) > best_loss:  # the best must stay, even if it is light
            kept = np.union1d(kept, [best])
        if len(kept) == np.count_nonzero(counts):
            return counts
        allowed = kept


def _best_single(library: CandidatePredictions, allowed: Integers) -> int:
    losses = [library.loss(_values(library.predictions[number])) for number in allowed]
    return int(allowed[int(np.argmin(losses))])


def _greedy(library: CandidatePredictions, allowed: Integers, max_members: int, n_steps: int) -> Integers:
    """Return the counts after the best step; see the module docstring."""
    counts = np.zeros(len(library.predictions), np.int64)
    first = _best_single(library, allowed)
    counts[first] = 1
    total = _values(library.predictions[first])
    best_counts, best_loss = counts.copy(), library.loss(total)
    for step in range(2, n_steps + 1):
        is_full = np.count_nonzero(counts) >= max_members
        candidates = [number for number in allowed if counts[number] or not is_full]
        losses = [library.loss((total + _values(library.predictions[one])) / step) for one in candidates]
        added = int(np.argmin(losses))
        number = candidates[added]
        counts[number] += 1
        total = total + _values(library.predictions[number])
        if losses[added] < best_loss:
            best_counts, best_loss = counts.copy(), losses[added]
    return best_counts


def choose_single(library: CandidatePredictions) -> Integers:
    """Return 1 for the best model, and 0 for the others."""
    counts = np.zeros(len(library.predictions), np.int64)
    counts[_best_single(library, np.arange(len(counts)))] = 1
    return counts


def cross_fit(
    library: CandidatePredictions,
    folds: Sequence[Integers],
    choose: Callable[[CandidatePredictions], Integers],
) -> Predictions:
    """Predict each fold with weights chosen on the others; the rows are in the order of the folds."""
    rows = np.arange(len(library.predictions[0].y_true))
    counts = [choose(library.take(np.setdiff1d(rows, fold))) for fold in folds]
    pairs = zip(folds, counts, strict=True)
    return Predictions.concatenate([library.take(fold).mean(one) for fold, one in pairs])


@dataclass(frozen=True, eq=False)
class EnsembleTrial(Ensemble):
    """The ensemble of some trials, with its cross-fitted predictions, before the final fits."""

    predictions: Predictions

    @property
    def is_better(self) -> bool:
        """Whether it has at least two members and is better than single trials by `MIN_ADVANTAGE`."""
        return len(self.members) > 1 and self.difference > MIN_ADVANTAGE * self.difference_spread


def try_ensemble(
    task: str,
    metric: Metric,
    numbers: Sequence[int],
    predictions: Sequence[Predictions],
    folds: Sequence[Integers],
    threshold: float | None = None,
) -> EnsembleTrial | None:
    """Choose the weights of an ensemble, and score it by cross-fitting.

    numbers, predictions : of the candidates, the best first
    folds : of the rows, for cross-fitting
    Return None if a prediction has no probabilities, or the metric is undefined.
    """
    if task == "classification" and any(one.probabilities is None for one in predictions):
        return None
    library = CandidatePredictions(predictions, metric, threshold)
    counts = choose_weights(library)
    crossed, single = cross_fit(library, folds, choose_weights), cross_fit(library, folds, choose_single)
    scores, others = metric.row_scores(crossed), metric.row_scores(single)
    if scores is None or others is None or not (np.isfinite(scores).all() and np.isfinite(others).all()):
        return None
    better = scores - others if metric.higher_is_better else others - scores
    order = [int(one) for one in np.argsort(-counts, kind="stable") if counts[one]]
    return EnsembleTrial(
        tuple(numbers[one] for one in order),
        tuple(float(counts[one] / counts.sum()) for one in order),
        score_predictions(crossed, task, metric),
        spread=standard_error(scores),
        single_score=float(np.mean(others)),
        difference=float(np.mean(better)),
        difference_spread=standard_error(better),
        predictions=crossed,
    )


def _values(predictions: Predictions) -> Floats:
    """Return what is averaged: probabilities, or numbers."""
    return predictions.y_pred if predictions.probabilities is None else predictions.probabilities
