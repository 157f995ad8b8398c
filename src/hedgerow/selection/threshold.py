"""Decision thresholds: a classifier of two classes predicts the positive class from a probability on.

By default a classifier predicts the more probable class, a threshold of 0.5. If a missed positive row costs
more than a false alarm, a lower threshold is better. It is a number, or chosen on validation rows:

    0.3                      the number itself
    "f1"                     the threshold with the highest F1
    {"fp": 1, "fn": 10}      the threshold with the lowest cost of false positives and false negatives
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.selection.predictions import Predictions, class_numbers

Threshold = float | str | Mapping[str, float]

# Fitted attributes and methods of the classifier that do not depend on the threshold.
_DELEGATED = frozenset(
    {
        *("feature_importances_", "feature_names_in_", "n_features_in_", "schema_", "n_estimators_"),
        *("row_fingerprints_", "row_hashes", "grid_hashes_", "is_training_row", "data_fingerprints_"),
        "separate_members_",
    }
)


class FixedThresholdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes with a decision threshold, as scikit-learn's class of the same name.

    Model files store it: `hedgerow.save` and `hedgerow.load` keep the threshold. `hedgerow.theory.certify`
    certifies its decisions with the threshold.

    Parameters
    ----------
    estimator : classifier with predict_proba
    threshold : float
        The positive class is predicted if its probability is at least this number.
    pos_label : label, optional
        The positive class; the second of the sorted classes by default.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : array of the two labels
    positive_ : number of the positive class

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=10).fit(X[:400], y[:400])
    >>> cautious = FixedThresholdClassifier.of(model, 0.9)
    >>> int(model.predict(X[400:]).sum()), int(cautious.predict(X[400:]).sum())
    (124, 114)
    """

    def __init__(self, estimator: Any, threshold: float = 0.5, *, pos_label: Any = None) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.pos_label = pos_label

    @classmethod
    def of(cls, fitted: Any, threshold: float, pos_label: Any = None) -> Self:
        """Return a fitted classifier with a threshold; it is not copied."""
        model = cls(fitted, threshold, pos_label=pos_label)
        model._set_fitted(fitted)
        return model

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the classifier; `fit_params` are passed on."""
        self._set_fitted(clone(self.estimator).fit(X, y, **fit_params))
        return self

    def _set_fitted(self, fitted: Any) -> None:
        check_is_fitted(fitted)
        value: Any = self.threshold
        is_number = isinstance(value, int | float | np.number) and type(value) is not bool
        if not (is_number and 0.0 <= self.threshold <= 1.0):
            raise ValueError(f"threshold={self.threshold!r} is not allowed: it must be a number from 0 to 1")
        if len(fitted.classes_) != 2 or not hasattr(fitted, "predict_proba"):
            raise ValueError("a threshold needs a classifier of two classes with probabilities")
        self.positive_ = positive_number(self.pos_label, fitted.classes_)
        self.estimator_, self.classes_ = fitted, fitted.classes_

    def __getattr__(self, name: str) -> Any:
        if name in _DELEGATED and "estimator_" in self.__dict__:
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def decide(self, probabilities: Floats) -> Integers:
        """Return the numbers of the predicted classes for probabilities of shape (n_samples, 2)."""
        check_is_fitted(self, "estimator_")
        positive = self.positive_
        return np.where(probabilities[:, positive] >= self.threshold, positive, 1 - positive)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, which do not depend on the threshold."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X), np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the positive class if its probability is at least the threshold, otherwise the other."""
        labels: NDArray[Any] = np.asarray(self.classes_)[self.decide(self.predict_proba(X))]
        return labels


def positive_number(label: Any, classes: NDArray[Any]) -> int:
    """Return the number of the positive class; 1, the second, without a label.

    >>> positive_number("no", np.array(["no", "yes"])), positive_number(None, np.array(["no", "yes"]))
    (0, 1)
    """
    if label is None:
        return 1
    numbers = class_numbers(np.array([label], dtype=classes.dtype), classes)
    if numbers[0] < 0:
        raise ValueError(f"the positive class {label!r} is not one of the classes {classes.tolist()}")
    return int(numbers[0])


def check_threshold(threshold: Threshold | None, n_classes: int | None) -> None:
    """Raise ValueError unless the threshold is None, a number, "f1" or costs, and there are two classes."""
    if threshold is None:
        return
    text = f"threshold={threshold!r} is not allowed: it must be"
    if isinstance(threshold, str):
        if threshold != "f1":
            raise ValueError(f"{text} a number from 0 to 1, 'f1', or costs")
    elif isinstance(threshold, Mapping):
        numbers = [threshold.get("fp"), threshold.get("fn")]
        if set(threshold) != {"fp", "fn"} or not all(_is_cost(one) for one in numbers) or not any(numbers):
            raise ValueError(f"{text} costs {{'fp': number, 'fn': number}}, at least 0 and not both 0")
    elif not _is_cost(threshold) or threshold > 1:
        raise ValueError(f"{text} a number from 0 to 1, 'f1', or costs")
    if n_classes != 2:
        found = "numbers" if n_classes is None else f"{n_classes} classes"
        raise ValueError(f"threshold={threshold!r} is not allowed: it needs two classes, and y has {found}")


def _is_cost(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < math.inf


def choose_threshold(predictions: Predictions | None, threshold: Threshold) -> float:
    """Return the threshold that is best on some rows; a number is returned unchanged.

    The candidates lie between neighbouring probabilities; the highest of equally good ones is returned.

    Examples
    --------
    >>> probabilities = np.array([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
    >>> rows = Predictions(np.array([0, 1, 0, 1]), np.zeros(4), probabilities)
    >>> round(choose_threshold(rows, "f1"), 2), round(choose_threshold(rows, {"fp": 5, "fn": 1}), 2)
    (0.2, 0.6)
    """
    if not isinstance(threshold, str | Mapping):
        return float(threshold)
    assert predictions is not None  # noqa: S101 - trials store them for such a threshold
    assert predictions.probabilities is not None  # noqa: S101 - all methods with two classes have them
    scores = predictions.probabilities[:, predictions.positive]
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], (predictions.y_true == predictions.positive)[order]
    n, n_positive = len(positive), int(np.count_nonzero(positive))
    ends = np.concatenate([[0], np.flatnonzero(scores[1:] != scores[:-1]) + 1, [n]])  # predicted positive
    true = np.concatenate([[0], np.cumsum(positive)])[ends]
    false = ends - true
    if isinstance(threshold, str):
        losses = -2.0 * true / np.maximum(ends + n_positive, 1)
    else:
        losses = threshold["fp"] * false + threshold["fn"] * (n_positive - true)
    best = int(ends[int(np.argmin(losses))])
    above = float(scores[best - 1]) if best > 0 else 1.0
    below = float(scores[best]) if best < n else 0.0
    middle = 0.5 * (above + below)
    return middle if below < middle else above  # neighbouring floats have no number between them
