"""Scores of models on rows that are elsewhere: predictions and targets come here, rows do not."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from hedgerow.estimators.elsewhere import is_collection

Metric = Callable[..., float]


def _of_collections(model: Any, metric: Metric, X: Any, y: Any, weight: Any) -> float | None:
    """The score of rows of which something is of Dask, else None."""
    if not any(is_collection(one) for one in (X, y, weight)):
        return None
    predicted, labels, weights = (
        np.asarray(one.compute()) if is_collection(one) else one for one in (model.predict(X), y, weight)
    )
    return float(metric(labels, predicted, sample_weight=weights))


class Classifies(ClassifierMixin):  # type: ignore[misc]
    """A classifier of scikit-learn whose `score` takes Dask collections."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are given the right label.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
        y : array or Dask collection of shape (n_samples,)
        sample_weight : array or Dask collection of shape (n_samples,), optional

        Returns
        -------
        float
        """
        found = _of_collections(self, accuracy_score, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if found is None else found


class Regresses(RegressorMixin):  # type: ignore[misc]
    """A regressor of scikit-learn whose `score` takes Dask collections."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the variance of y that is explained, R².

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
        y : array or Dask collection of shape (n_samples,)
        sample_weight : array or Dask collection of shape (n_samples,), optional

        Returns
        -------
        float
        """
        found = _of_collections(self, r2_score, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if found is None else found
