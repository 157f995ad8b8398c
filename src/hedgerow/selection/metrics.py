"""Metrics of predictions, with one value for each row.

A metric returns a *row score* for every row, such that their mean is the score:

    log-loss           -log p(label)
    rmse               r + (e^2 - r^2) / 2r                 r: the rmse itself; e: the error of the row
    auc                A + (placement - A) n / n_class      placement: share of the rows of the other class
                                                            that are ranked correctly relative to the row

Where the score itself is not a mean (the last two, balanced accuracy), the row score is the score plus the
influence of the row. So one formula serves all metrics: the standard error of a score is that of the mean of
its row scores, and the standard error of a difference is that of the mean of the differences (for the AUC
this is the method of DeLong, DeLong and Clarke-Pearson 1988).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.elementary import log
from hedgerow.selection.splits import check_task

_SMALLEST = float(np.finfo(np.float64).eps)  # probabilities are clipped there, as in scikit-learn's log_loss


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a model for some rows, with the true values.

    Parameters
    ----------
    y_true : array of shape (n,)
        True class numbers, -1 for a class that the model was not fitted to; or true numbers.
    y_pred : array of shape (n,)
        Predicted class numbers or numbers.
    probabilities : array of shape (n, classes) or None
        None for a classifier without probabilities.
    """

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    probabilities: Floats | None = None

    @classmethod
    def concatenate(cls, several: "list[Predictions]") -> "Predictions":
        """Concatenate the predictions of several splits."""
        known = [one.probabilities for one in several if one.probabilities is not None]
        return cls(
            np.concatenate([one.y_true for one in several]),
            np.concatenate([one.y_pred for one in several]),
            np.concatenate(known) if len(known) == len(several) else None,
        )


RowScores = Callable[[Predictions], Floats | None]


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    name, title : str
    tasks : tuple of str
    higher_is_better : bool
    row_scores : callable
        Returns the score of every row of `Predictions`; None if the metric is undefined for them.
    two_classes : bool
        Whether it is for two classes only.

    Examples
    --------
    >>> METRICS["mae"].score(Predictions(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    higher_is_better: bool
    row_scores: RowScores = field(repr=False)
    two_classes: bool = False

    def score(self, predictions: Predictions) -> float | None:
        """Return the score; None if the metric is undefined."""
        scores = self.row_scores(predictions)
        return None if scores is None else float(np.mean(scores))

    def loss(self, score: float) -> float:
        """Return the score with a sign such that lower is better."""
        return -score if self.higher_is_better else score


# --- classes


def _accuracy(predictions: Predictions) -> Floats:
    return np.asarray(predictions.y_pred == predictions.y_true, np.float64)


def _balanced_accuracy(predictions: Predictions) -> Floats:
    """Mean recall of the classes that occur."""
    classes, numbers, counts = np.unique(predictions.y_true, return_inverse=True, return_counts=True)
    right = predictions.y_pred == predictions.y_true
    recalls = np.bincount(numbers, right, len(classes)) / counts
    influence = (right - recalls[numbers]) * (len(right) / (len(classes) * counts[numbers]))
    return np.asarray(np.mean(recalls) + influence)


def _label_probability(predictions: Predictions, probabilities: Floats) -> Floats:
    known = predictions.y_true >= 0
    return np.where(known, probabilities[np.arange(len(known)), np.maximum(predictions.y_true, 0)], 0.0)


def _log_loss(predictions: Predictions) -> Floats | None:
    if predictions.probabilities is None:
        return None
    return -log(
        np.clip(_label_probability(predictions, predictions.probabilities), _SMALLEST, 1.0 - _SMALLEST)
    )


def _brier(predictions: Predictions) -> Floats | None:
    """Squared distance of the probabilities from the true class; half of it for two classes, as usual."""
    if predictions.probabilities is None:
        return None
    squares = np.sum(predictions.probabilities**2, axis=1)
    distance = squares - 2.0 * _label_probability(predictions, predictions.probabilities) + 1.0
    return np.asarray(distance / (2.0 if predictions.probabilities.shape[1] == 2 else 1.0))


def _auc(predictions: Predictions) -> Floats | None:
    """Probability that a row of the second class is ranked above one of the first; ties count half."""
    if predictions.probabilities is None or predictions.probabilities.shape[1] != 2:
        return None
    from scipy.stats import rankdata  # noqa: PLC0415 - loads 0.3 s of modules

    scores, second = predictions.probabilities[:, 1], predictions.y_true == 1
    first = predictions.y_true == 0
    if not (second.any() and first.any()):
        return None
    known = first | second
    ranks = np.zeros(len(scores))
    ranks[known] = rankdata(scores[known])
    below = (ranks[second] - rankdata(scores[second])) / np.count_nonzero(first)
    above = 1.0 - (ranks[first] - rankdata(scores[first])) / np.count_nonzero(second)
    area = float(np.mean(below))
    row_scores = np.full(len(scores), area)
    row_scores[second] += (below - area) * (len(scores) / len(below))
    row_scores[first] += (above - area) * (len(scores) / len(above))
    return row_scores


# --- numbers


def _squared_errors(predictions: Predictions) -> Floats:
    return np.asarray((predictions.y_pred - predictions.y_true) ** 2, np.float64)


def _rmse(predictions: Predictions) -> Floats:
    squares = _squared_errors(predictions)
    root = float(np.sqrt(np.mean(squares)))
    return np.asarray(root + (squares - root**2) / (2.0 * root)) if root > 0 else squares


def _mae(predictions: Predictions) -> Floats:
    return np.asarray(np.abs(predictions.y_pred - predictions.y_true), np.float64)


def _r2(predictions: Predictions) -> Floats | None:
    """1 - squared errors / variance of the target; the variance counts as fixed."""
    variance = float(np.var(predictions.y_true))
    return 1.0 - _squared_errors(predictions) / variance if variance > 0 else None


_CLASSES, _NUMBERS = ("classification",), ("regression",)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _CLASSES, True, _accuracy),
        Metric("balanced-accuracy", "balanced accuracy", _CLASSES, True, _balanced_accuracy),
        Metric("log-loss", "log-loss", _CLASSES, False, _log_loss),
        Metric("brier", "Brier score", _CLASSES, False, _brier),
        Metric("auc", "area under the ROC curve", _CLASSES, True, _auc, two_classes=True),
        Metric("r2", "R squared", _NUMBERS, True, _r2),
        Metric("rmse", "root mean squared error", _NUMBERS, False, _rmse),
        Metric("mae", "mean absolute error", _NUMBERS, False, _mae),
    )
}

DEFAULT_METRIC = {"classification": "log-loss", "regression": "rmse"}


def find_metric(name: str | None, task: str, n_classes: int | None) -> Metric:
    """Return the metric of a name, if it supports the task; the default metric for None.

    Examples
    --------
    >>> find_metric(None, "regression", None).title
    'root mean squared error'
    """
    check_task(task)
    if name is None:
        return METRICS[DEFAULT_METRIC[task]]
    metric = METRICS.get(name)
    allowed = ", ".join(repr(one.name) for one in METRICS.values() if task in one.tasks)
    if metric is None or task not in metric.tasks:
        raise ValueError(f"metric={name!r} is not allowed for {task}: it must be one of {allowed}")
    if metric.two_classes and n_classes != 2:
        raise ValueError(f"metric={name!r} is not allowed: it needs two classes, and y has {n_classes}")
    return metric


def class_numbers(y: Any, classes: NDArray[Any]) -> Integers:
    """Return the positions of labels among sorted classes; -1 for other labels.

    Examples
    --------
    >>> class_numbers(["b", "z"], np.array(["a", "b"])).tolist()
    [1, -1]
    """
    labels = np.asarray(y)
    positions = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return np.where(classes[positions] == labels, positions, -1).astype(np.int64)


def predict_rows(model: Any, X: Any, y: Any, task: str) -> Predictions:
    """Predict rows with a fitted model.

    With probabilities, the predicted class is the most probable one, the first of equal ones, as `predict` of
    the library's classifiers returns; so the model is called once.
    """
    if task == "regression":
        return Predictions(np.asarray(y, np.float64), np.asarray(model.predict(X), np.float64))
    y_true = class_numbers(y, np.asarray(model.classes_))
    if not hasattr(model, "predict_proba"):
        return Predictions(y_true, class_numbers(model.predict(X), np.asarray(model.classes_)))
    return class_predictions(y_true, model.predict_proba(X))


def class_predictions(y_true: Integers, probabilities: Floats) -> Predictions:
    """Return the predictions of a classifier from its probabilities."""
    return Predictions(y_true, np.argmax(probabilities, axis=1), np.asarray(probabilities, np.float64))


def score_predictions(predictions: Predictions, task: str) -> dict[str, float]:
    """Return all scores that are defined."""
    scores = {name: metric.score(predictions) for name, metric in METRICS.items() if task in metric.tasks}
    return {name: score for name, score in scores.items() if score is not None}


def score_model(model: Any, X: Any, y: Any, task: str) -> dict[str, float]:
    """Score a fitted model on labelled rows.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}

    Returns
    -------
    dict of str to float
        Scores by the names of `METRICS`, those that are defined: no "auc" for more than two classes or rows
        of one class only, no "log-loss" without probabilities, no "r2" for a constant target.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scores = score_model(AdaBoostClassifier(n_estimators=10).fit(X[:400], y[:400]), X[400:], y[400:],
    ...                      "classification")
    >>> {name: round(score, 2) for name, score in scores.items()}
    {'accuracy': 0.94, 'balanced-accuracy': 0.94, 'log-loss': 0.16, 'brier': 0.05, 'auc': 0.99}
    """
    check_task(task)
    return score_predictions(predict_rows(model, X, y, task), task)
