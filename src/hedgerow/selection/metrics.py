"""Metrics: how good answers are, row by row.

A metric gives one number a row, its *share*, such that the mean of the shares is the score:

    log-loss           -log p(label)
    rmse               r + (e^2 - r^2) / 2r                 r: the rmse itself; e: the error of the row
    auc                A + (placement - A) n / n_class      placement: the rows of the other class it stands
                                                            on the right side of, as a share

Where the score is no mean by itself (the last two, balanced accuracy), the share is the score plus the row's
influence on it. So one formula serves all metrics: the standard error of a score is that of the mean of its
shares, and the standard error of a difference that of the mean of the differences (for the AUC this is the
method of DeLong, DeLong and Clarke-Pearson 1988).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.selection.splits import check_task

_SMALLEST = float(np.finfo(np.float64).eps)  # probabilities are cut there, as in scikit-learn's log_loss


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of some rows, beside what is true.

    Parameters
    ----------
    truth : array of shape (n,)
        Class numbers, -1 for a class the model does not know; or the numbers to be predicted.
    said : array of shape (n,)
        Class numbers or numbers.
    probabilities : array of shape (n, classes) or None
        For a classifier that has them.
    """

    truth: NDArray[Any]
    said: NDArray[Any]
    probabilities: Floats | None = None

    @classmethod
    def joined(cls, parts: "list[Answers]") -> "Answers":
        """The answers of several parts of the rows, one after the other."""
        known = [part.probabilities for part in parts if part.probabilities is not None]
        return cls(
            np.concatenate([part.truth for part in parts]),
            np.concatenate([part.said for part in parts]),
            np.concatenate(known) if len(known) == len(parts) else None,
        )


Shares = Callable[[Answers], Floats | None]


@dataclass(frozen=True)
class Metric:
    """A measure of answers.

    Parameters
    ----------
    name, title : str
    tasks : tuple of str
    higher_is_better : bool
    shares : callable
        From `Answers`, the share of every row; None where the metric has no meaning.
    two_classes : bool
        Whether it is for two classes only.

    Examples
    --------
    >>> METRICS["mae"].score(Answers(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    higher_is_better: bool
    shares: Shares = field(repr=False)
    two_classes: bool = False

    def score(self, answers: Answers) -> float | None:
        """The score; None where the metric has no meaning."""
        shares = self.shares(answers)
        return None if shares is None else float(np.mean(shares))

    def loss(self, score: float) -> float:
        """The score, turned such that less is better."""
        return -score if self.higher_is_better else score


# --- classes


def _accuracy(answers: Answers) -> Floats:
    return np.asarray(answers.said == answers.truth, np.float64)


def _balanced_accuracy(answers: Answers) -> Floats:
    """Mean recall of the classes that are there."""
    classes, numbers, counts = np.unique(answers.truth, return_inverse=True, return_counts=True)
    right = answers.said == answers.truth
    recalls = np.bincount(numbers, right, len(classes)) / counts
    influence = (right - recalls[numbers]) * (len(right) / (len(classes) * counts[numbers]))
    return np.asarray(np.mean(recalls) + influence)


def _of_label(answers: Answers, probabilities: Floats) -> Floats:
    known = answers.truth >= 0
    return np.where(known, probabilities[np.arange(len(known)), np.maximum(answers.truth, 0)], 0.0)


def _log_loss(answers: Answers) -> Floats | None:
    if answers.probabilities is None:
        return None
    return -np.log(np.clip(_of_label(answers, answers.probabilities), _SMALLEST, 1.0 - _SMALLEST))


def _brier(answers: Answers) -> Floats | None:
    """Squared distance of the probabilities from the truth; for two classes half of it, as is usual."""
    if answers.probabilities is None:
        return None
    squares = np.sum(answers.probabilities**2, axis=1)
    distance = squares - 2.0 * _of_label(answers, answers.probabilities) + 1.0
    return np.asarray(distance / (2.0 if answers.probabilities.shape[1] == 2 else 1.0))


def _auc(answers: Answers) -> Floats | None:
    """Of the second class: how often one of its rows stands above one of the first, ties being halves."""
    if answers.probabilities is None or answers.probabilities.shape[1] != 2:
        return None
    from scipy.stats import rankdata  # noqa: PLC0415 - loads 0.3 s of modules

    scores, second = answers.probabilities[:, 1], answers.truth == 1
    first = answers.truth == 0
    if not (second.any() and first.any()):
        return None
    known = first | second
    ranks = np.zeros(len(scores))
    ranks[known] = rankdata(scores[known])
    below = (ranks[second] - rankdata(scores[second])) / np.count_nonzero(first)
    above = 1.0 - (ranks[first] - rankdata(scores[first])) / np.count_nonzero(second)
    area = float(np.mean(below))
    shares = np.full(len(scores), area)
    shares[second] += (below - area) * (len(scores) / len(below))
    shares[first] += (above - area) * (len(scores) / len(above))
    return shares


# --- numbers


def _squared_errors(answers: Answers) -> Floats:
    return np.asarray((answers.said - answers.truth) ** 2, np.float64)


def _rmse(answers: Answers) -> Floats:
    squares = _squared_errors(answers)
    root = float(np.sqrt(np.mean(squares)))
    return np.asarray(root + (squares - root**2) / (2.0 * root)) if root > 0 else squares


def _mae(answers: Answers) -> Floats:
    return np.asarray(np.abs(answers.said - answers.truth), np.float64)


def _r2(answers: Answers) -> Floats | None:
    """1 - squared errors over the variance of the target, which is taken as it is."""
    variance = float(np.var(answers.truth))
    return 1.0 - _squared_errors(answers) / variance if variance > 0 else None


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
    """The metric of that name, if it is one for this task; None for the usual one.

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
    """The places of labels among sorted classes; -1 for those that are not there.

    Examples
    --------
    >>> class_numbers(["b", "z"], np.array(["a", "b"])).tolist()
    [1, -1]
    """
    labels = np.asarray(y)
    places = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return np.where(classes[places] == labels, places, -1).astype(np.int64)


def answers_of(model: Any, X: Any, y: Any, task: str) -> Answers:
    """Ask a fitted model.

    Where it has probabilities, the class it says is that of the largest, the first of equal ones, as
    `predict` of our classifiers says too; so rows are walked through once.
    """
    if task == "regression":
        return Answers(np.asarray(y, np.float64), np.asarray(model.predict(X), np.float64))
    truth = class_numbers(y, np.asarray(model.classes_))
    if not hasattr(model, "predict_proba"):
        return Answers(truth, class_numbers(model.predict(X), np.asarray(model.classes_)))
    return classified(truth, model.predict_proba(X))


def classified(truth: Integers, probabilities: Floats) -> Answers:
    """Answers of a classifier from its probabilities."""
    return Answers(truth, np.argmax(probabilities, axis=1), np.asarray(probabilities, np.float64))


def score_answers(answers: Answers, task: str) -> dict[str, float]:
    """All scores that have a meaning."""
    scores = {name: metric.score(answers) for name, metric in METRICS.items() if task in metric.tasks}
    return {name: score for name, score in scores.items() if score is not None}


def score_model(model: Any, X: Any, y: Any, task: str) -> dict[str, float]:
    """Scores of a fitted model on rows with known answers.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}

    Returns
    -------
    dict of str to float
        By the names of `METRICS`, those that apply: no "auc" with more than two classes or with rows of one
        class only, no probabilities' scores for a model that has none, no "r2" of a constant target.

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
    return score_answers(answers_of(model, X, y, task), task)
