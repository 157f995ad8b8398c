"""Scores of models on rows that are elsewhere: predictions and targets come here, rows do not stay."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.elsewhere import is_collection
from hedgerow.streams import Stream, open_stream

Metric = Callable[..., float]


def _of_elsewhere(model: Any, metric: Metric, X: Any, y: Any, weight: Any) -> float | None:
    """The score of rows of which something is in files or of Dask, else None."""
    if isinstance(y, str) and (stream := open_stream(X)) is not None:
        return _of_files(model, metric, stream, y, weight)
    if not any(is_collection(one) for one in (X, y, weight)):
        return None
    predicted, labels, weights = (
        np.asarray(one.compute()) if is_collection(one) else one for one in (model.predict(X), y, weight)
    )
    return float(metric(labels, predicted, sample_weight=weights))


def _of_files(model: Any, metric: Metric, stream: Stream, y: str, weight: Any) -> float:
    """The score of rows in files, whose target and weights are columns by these names."""
    check_is_fitted(model, "schema_")
    if weight is not None and not isinstance(weight, str):
        raise TypeError(
            f"sample_weight is a {type(weight).__name__}, and y={y!r} a column: name a column of X"
        )
    others = [y] if weight is None else [y, weight]
    names = model.schema_.names if stream.columns is None else stream.columns
    pieces = replace(stream, columns=None if names is None else [*names, *others]).tables(None)
    found: list[list[Any]] = [[], [], []]
    for piece in pieces:
        found[0].append(model.predict(piece.drop_columns(others)))
        for values, name in zip(found[1:], others, strict=False):
            values.append(piece[name].to_numpy())
    predicted, labels, *weights = (np.concatenate(values) for values in found if values)
    return float(metric(labels, predicted, sample_weight=weights[0] if weights else None))


class _Scored:
    """A model whose `score` takes files and Dask collections."""

    _metric: ClassVar[Metric]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are given the right label, or R², the share of the variance explained.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
            Or rows in files, as `fit` takes them.
        y : array or Dask collection of shape (n_samples,)
            Or the name of a column, if X is in files.
        sample_weight : array or Dask collection of shape (n_samples,), optional
            Or the name of a column, if y is one.

        Returns
        -------
        float
        """
        found = _of_elsewhere(self, self._metric, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if found is None else found  # type: ignore[misc]


class Classifies(_Scored, ClassifierMixin):  # type: ignore[misc]
    """A classifier of scikit-learn."""

    _metric: ClassVar[Metric] = staticmethod(accuracy_score)


class Regresses(_Scored, RegressorMixin):  # type: ignore[misc]
    """A regressor of scikit-learn."""

    _metric: ClassVar[Metric] = staticmethod(r2_score)
