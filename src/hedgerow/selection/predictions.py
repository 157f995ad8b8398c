"""Predictions of a model for some rows, with the true values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a model for some rows, with the true values."""

    y_true: NDArray[Any]  # (n,), numbers, or class numbers: -1 for a class that the model was not fitted to
    y_pred: NDArray[Any]  # (n,), predicted class numbers or numbers
    probabilities: Floats | None = None  # (n, classes); None for a classifier without probabilities
    positive: int = 1  # number of the positive class, of two: "f1" and "pr-auc" depend on it

    @classmethod
    def concatenate(cls, several: "list[Predictions]") -> "Predictions":
        """Concatenate the predictions of several splits."""
        known = [
            predictions.probabilities for predictions in several if predictions.probabilities is not None
        ]
        return cls(
            np.concatenate([predictions.y_true for predictions in several]),
            np.concatenate([predictions.y_pred for predictions in several]),
            np.concatenate(known) if len(known) == len(several) else None,
            several[0].positive,
        )

    def take(self, rows: Integers) -> "Predictions":
        """Return the predictions of some rows."""
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        return Predictions(self.y_true[rows], self.y_pred[rows], probabilities, self.positive)


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


def predict_rows(model: Any, X: Any, y: Any, task: str, positive: Any = None) -> Predictions:
    """Predict rows with a fitted model; `positive` is the label of the positive class, by default the second.

    With probabilities, the predicted class is the most probable one, the first of equal ones, as `predict` of
    the library's classifiers returns; so the model is called once. A model with a threshold decides itself.
    """
    if task == "regression":
        return Predictions(np.asarray(y, np.float64), np.asarray(model.predict(X), np.float64))
    classes = np.asarray(model.classes_)
    y_true = class_numbers(y, classes)
    number = int(class_numbers([positive], classes)[0]) if positive is not None else 1
    if not hasattr(model, "predict_proba"):
        return Predictions(y_true, class_numbers(model.predict(X), classes), None, number)
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    decide = getattr(model, "decide", None)
    y_pred = np.argmax(probabilities, axis=1) if decide is None else decide(probabilities)
    return Predictions(y_true, y_pred, probabilities, number)


def class_predictions(
    y_true: Integers, probabilities: Floats, positive: int = 1, threshold: float | None = None
) -> Predictions:
    """Return the predictions of a classifier from its probabilities; of two classes also by a threshold."""
    known = np.asarray(probabilities, np.float64)
    y_pred = (
        np.argmax(known, axis=1)
        if threshold is None
        else np.where(known[:, positive] >= threshold, positive, 1 - positive)
    )
    return Predictions(y_true, y_pred, known, positive)
