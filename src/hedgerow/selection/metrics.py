"""Metrics of predictions, with one value for each row.

A metric returns a *row score* for every row, such that their mean is the score:

    log-loss           -log p(label)
    rmse               r + (e^2 - r^2) / 2r                 r: the rmse itself; e: the error of the row
    f1                 F + (2 t p - F (t + p)) / mean(t + p)        t, p: whether the row is positive, and
                                                            whether it is predicted so
    auc                A + (placement - A) n / n_class      placement: share of the rows of the other class
                                                            that are ranked correctly relative to the row

Where the score itself is not a mean (the last three, balanced accuracy, average precision), the row score is
the score plus the influence of the row. So one formula serves all metrics: the standard error of a score is
that of the mean of its row scores, and the standard error of a difference is that of the mean of the
differences (for the AUC this is the method of DeLong, DeLong and Clarke-Pearson 1988).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.elementary import log
from hedgerow.selection.predictions import Predictions, predict_rows
from hedgerow.selection.splits import check_task

_SMALLEST = float(np.finfo(np.float64).eps)  # probabilities are clipped there, as in scikit-learn's log_loss


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
    on_request : bool
        Whether scores contain it only if trials are ranked by it.
    of_positive : bool
        Whether it depends on which class is the positive one.
    level : float or None
        Of the quantile that it is for.

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
    on_request: bool = False
    of_positive: bool = False
    level: float | None = None

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
    """Return the mean recall of the classes that occur."""
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


def _average_precision(predictions: Predictions) -> Floats | None:
    """Return the mean precision at the scores of the positive rows; ties are one threshold.

    A row j of label y_j changes the score by its own precision P_j and by the precisions of all positive
    rows i below it, of which N_i rows are not below:

        y_j / p (P_j - A) + n / n_pos sum_{i positive, s_i <= s_j} (y_j - P_i) / N_i      p = n_pos / n
    """
    if predictions.probabilities is None or predictions.probabilities.shape[1] != 2:
        return None
    positive = predictions.y_true == predictions.positive
    n, n_positive = len(positive), int(np.count_nonzero(positive))
    if not n_positive:
        return None
    order = np.argsort(-predictions.probabilities[:, predictions.positive], kind="stable")
    scores, is_positive = predictions.probabilities[order, predictions.positive], positive[order]
    # The last and the first row of every group of equal scores, for each row.
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), n - 1)
    group = np.searchsorted(ends, np.arange(n))
    starts = np.concatenate([[0], ends[:-1] + 1])
    n_above = (ends[group] + 1).astype(np.float64)
    precision = np.cumsum(is_positive)[ends[group]] / n_above
    area = float(np.mean(precision[is_positive]))
    below = np.cumsum(np.stack([is_positive / n_above, is_positive * precision / n_above])[:, ::-1], axis=1)[
        :, ::-1
    ]
    below = below[:, starts[group]]  # sums over the positive rows at or below the score
    influence = is_positive * (precision - area) * (n / n_positive)
    influence += (n / n_positive) * (is_positive * below[0] - below[1])
    row_scores = np.empty(n)
    row_scores[order] = area + influence
    return row_scores


def _f1_of_class(y_true: NDArray[Any], y_pred: NDArray[Any], number: int) -> Floats:
    true, predicted = y_true == number, y_pred == number
    total = np.mean(true) + np.mean(predicted)
    score = 2.0 * np.mean(true & predicted) / total if total > 0 else 0.0
    influence = (2.0 * (true & predicted) - score * (true + predicted.astype(np.float64))) / max(
        total, 1e-300
    )
    return np.asarray(score + influence)


def _f1(predictions: Predictions) -> Floats | None:
    """Harmonic mean of precision and recall of the positive class, of two; 0 without such rows."""
    if predictions.probabilities is not None and predictions.probabilities.shape[1] != 2:
        return None
    if max(predictions.y_true.max(initial=0), predictions.y_pred.max(initial=0)) > 1:
        return None
    return _f1_of_class(predictions.y_true, predictions.y_pred, predictions.positive)


def _f1_macro(predictions: Predictions) -> Floats:
    """Return the mean F1 of the classes that occur or are predicted."""
    classes = np.union1d(predictions.y_true, predictions.y_pred)
    known = [int(number) for number in classes if number >= 0]
    scores = [_f1_of_class(predictions.y_true, predictions.y_pred, one) for one in known]
    return np.asarray(np.mean(scores, axis=0))


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


def _mape(predictions: Predictions) -> Floats | None:
    """Absolute error relative to the true number, which must not be 0."""
    actual = np.abs(np.asarray(predictions.y_true, np.float64))
    return _mae(predictions) / actual if np.all(actual > 0) else None


def _pinball(level: float) -> RowScores:
    """Return the loss of a quantile: level (y - q) above the prediction q, (1 - level) (q - y) below."""

    def row_scores(predictions: Predictions) -> Floats:
        residual = np.asarray(predictions.y_true, np.float64) - predictions.y_pred
        return np.asarray(np.maximum(level * residual, (level - 1.0) * residual))

    return row_scores


_CLASSES, _NUMBERS = ("classification",), ("regression",)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _CLASSES, True, _accuracy),
        Metric("balanced-accuracy", "balanced accuracy", _CLASSES, True, _balanced_accuracy),
        Metric("f1", "F1", _CLASSES, True, _f1, two_classes=True, of_positive=True),
        Metric("f1-macro", "macro-averaged F1", _CLASSES, True, _f1_macro, on_request=True),
        Metric("log-loss", "log-loss", _CLASSES, False, _log_loss),
        Metric("brier", "Brier score", _CLASSES, False, _brier),
        Metric("auc", "area under the ROC curve", _CLASSES, True, _auc, two_classes=True),
        Metric(
            "pr-auc",
            "average precision",
            _CLASSES,
            True,
            _average_precision,
            two_classes=True,
            of_positive=True,
        ),
        Metric("r2", "R²", _NUMBERS, True, _r2),
        Metric("rmse", "root mean squared error", _NUMBERS, False, _rmse),
        Metric("mae", "mean absolute error", _NUMBERS, False, _mae),
        Metric("mape", "mean absolute percentage error", _NUMBERS, False, _mape),
        Metric("pinball", "pinball loss at 0.5", _NUMBERS, False, _pinball(0.5), on_request=True, level=0.5),
    )
}

DEFAULT_METRIC = {"classification": "log-loss", "regression": "rmse"}


def metric_named(name: str) -> Metric | None:
    """Return the metric of a name, which may be a pinball loss with its level; None for other names.

    Examples
    --------
    >>> metric_named("pinball:0.9").title
    'pinball loss at 0.9'
    """
    if not name.startswith("pinball:"):
        return METRICS.get(name)
    try:
        level = float(name.removeprefix("pinball:"))
    except ValueError:
        return None
    if not 0.0 < level < 1.0:
        return None
    title = f"pinball loss at {level:g}"
    return replace(METRICS["pinball"], name=name, title=title, row_scores=_pinball(level), level=level)


def find_metric(name: str | None, task: str, n_classes: int | None, y: Any = None) -> Metric:
    """Return the metric of a name, if it supports the task and the target; the default metric for None.

    Examples
    --------
    >>> find_metric(None, "regression", None).title
    'root mean squared error'
    >>> find_metric("mape", "regression", None, [1.0, 0.0])
    Traceback (most recent call last):
    ValueError: metric='mape' is not allowed: y holds 0, for which there is no percentage error; use 'mae'
    """
    check_task(task)
    if name is None:
        return METRICS[DEFAULT_METRIC[task]]
    metric = metric_named(name)
    if metric is None or task not in metric.tasks:
        allowed = ", ".join(repr(one.name) for one in METRICS.values() if task in one.tasks)
        level = " (also with a level, 'pinball:0.9')" if task == "regression" else ""
        raise ValueError(f"metric={name!r} is not allowed for {task}: it must be one of {allowed}{level}")
    if metric.two_classes and n_classes != 2:
        other = {"f1": "f1-macro", "auc": "log-loss"}.get(name, "balanced-accuracy")
        raise ValueError(
            f"metric={name!r} is not allowed: it needs two classes, and y has {n_classes}; use {other!r}"
        )
    if name == "mape" and y is not None and np.any(np.asarray(y, np.float64) == 0):
        raise ValueError(
            "metric='mape' is not allowed: y holds 0, for which there is no percentage error; use 'mae'"
        )
    return metric


def score_predictions(
    predictions: Predictions, task: str, requested: Metric | None = None
) -> dict[str, float]:
    """Return all scores that are defined, and that of a requested metric."""
    metrics = {name: one for name, one in METRICS.items() if task in one.tasks and not one.on_request}
    if requested is not None:
        metrics[requested.name] = requested
    scores = {name: metric.score(predictions) for name, metric in metrics.items()}
    return {name: score for name, score in scores.items() if score is not None}


def standard_error(row_scores: Floats) -> float:
    """Return the standard error of the mean of row scores."""
    return float(np.std(row_scores, ddof=1) / np.sqrt(len(row_scores))) if len(row_scores) > 1 else 0.0


def score_model(
    model: Any, X: Any, y: Any, task: str, *, metric: str | None = None, positive: Any = None
) -> dict[str, float]:
    """Score a fitted model on labelled rows.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}
    metric : str, optional
        A further metric, such as "f1-macro" or "pinball:0.9", which are computed on request only.
    positive : label, optional
        The positive class of "f1" and "pr-auc"; by default the second of two classes.

    Returns
    -------
    dict of str to float
        Scores by the names of `METRICS`, those that are defined: no "auc" for more than two classes or rows
        of one class only, no "log-loss" without probabilities, no "r2" for a constant target, no "mape" for a
        target with zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scores = score_model(AdaBoostClassifier(n_estimators=10).fit(X[:400], y[:400]), X[400:], y[400:],
    ...                      "classification")
    >>> {name: round(scores[name], 2) for name in ("accuracy", "f1", "log-loss", "brier", "auc", "pr-auc")}
    {'accuracy': 0.94, 'f1': 0.96, 'log-loss': 0.16, 'brier': 0.05, 'auc': 0.99, 'pr-auc': 1.0}
    """
    check_task(task)
    requested = None if metric is None else metric_named(metric)
    return score_predictions(predict_rows(model, X, y, task, positive), task, requested)
