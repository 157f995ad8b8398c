"""A classifier of raw scores: decision, probabilities, classes, and the same after every round."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.estimators.base import Boosting
from hedgerow.estimators.fingerprints import RowFingerprintsMixin
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.margins import score_margins
from hedgerow.estimators.scoring import Classifies


class ScoreClassifier(Classifies, RowFingerprintsMixin, Boosting):
    """What a classifier does with raw scores (outputs, rows), given what they mean, `_probabilities`.

    The class predicted is always the one of largest probability, the first of equal ones.
    """

    classes_: NDArray[Any]

    def _probabilities(self, raw: Floats) -> Floats:
        """Probabilities (rows, classes) of raw scores."""
        raise TypeError(f"{type(self).__name__} does not say what its scores mean")

    @lazily
    def decision_function(self, X: Any) -> Floats:
        """Raw scores.

        Returns
        -------
        float64 array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return _as_decision(self._raw(X))

    @lazily
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        return self._probabilities(self._raw(X))

    @lazily
    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of every row; ties go to the first class.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._most_probable(self._raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Raw scores after every round."""
        for raw in self._staged_raw(X):
            yield _as_decision(raw).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Probabilities of the classes after every round."""
        for raw in self._staged_raw(X):
            yield self._probabilities(raw)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Most probable classes after every round."""
        for raw in self._staged_raw(X):
            yield self._most_probable(raw)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after every round."""
        from sklearn.metrics import accuracy_score  # noqa: PLC0415 - loads 0.05 s of modules

        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _largest_margin(self, n_rounds: int) -> float:
        """What the score of the label can be ahead of all others by, after so many rounds."""
        raise TypeError(f"{type(self).__name__} does not say how large its scores can be")

    def margins(self, X: Any, y: Any) -> Floats:
        """Normalised margins, from -1 (all against) to 1 (all for the label), cut there.

        For two classes y F(x) / sum of the largest values each round can add; for votes that is the sum of
        their weights. For more classes, the score of the label less that of the strongest other class, over
        the largest that this can be.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        raw = self._raw(X)
        return score_margins(
            raw, self._class_numbers(y, raw.shape[1]), self._largest_margin(self.n_estimators_)
        )

    def staged_margins(self, X: Any, y: Any) -> Iterator[Floats]:
        """`margins` after every round."""
        classes = self._class_numbers(y, self._read(X).n_rows)
        for number, raw in enumerate(self._staged_raw(X), 1):
            yield score_margins(raw, classes, self._largest_margin(number))

    def _most_probable(self, raw: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[np.argmax(self._probabilities(raw), axis=1)]
        return labels


def _as_decision(raw: Floats) -> Floats:
    return raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)


def columns_of(means: Floats) -> Floats:
    """Probabilities (rows, classes) from (outputs, rows), where one output is that of the second class."""
    if len(means) > 1:
        return np.ascontiguousarray(means.T)
    second = means[0]
    return np.stack([1.0 - second, second], axis=1)
