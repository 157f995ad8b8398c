"""Margins: how clearly a vote is for the label, from -1 (all against it) to 1 (all for it)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.estimators.fingerprints import RowFingerprintsMixin


def score_margins(raw: Floats, classes: NDArray[np.integer[Any]], reach: float) -> Floats:
    """Margins from -1 to 1 of raw scores (outputs, rows).

    y F / reach for one output, which is that of the second class; else the score of the label less the
    largest other one, over `reach`.

    >>> score_margins(np.array([[1.0, -3.0]]), np.array([1, 1]), 4.0)
    array([ 0.25, -0.75])
    >>> score_margins(np.array([[0.5], [0.25], [0.25]]), np.array([1]), 1.0)
    array([-0.25])
    """
    if len(raw) == 1:
        ahead = np.where(classes == 1, raw[0], -raw[0])
    else:
        rows = np.arange(len(classes))
        others = raw.copy()
        others[classes, rows] = -np.inf
        ahead = raw[classes, rows] - others.max(axis=0)
    return np.asarray(np.clip(ahead / (reach or 1.0), -1.0, 1.0))  # where nothing is added, no margin either


class ShareMargins(RowFingerprintsMixin):
    """Margins of a classifier whose probabilities are shares of a vote, a mixin before the base class."""

    def margins(self, X: Any, y: Any) -> Floats:
        """Share of the vote for the label, less the largest share of another class.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
            From -1 to 1; negative where the vote is wrong.
        """
        shares = self.predict_proba(X)  # type: ignore[attr-defined]
        return score_margins(np.ascontiguousarray(shares.T), self._class_numbers(y, len(shares)), 1.0)
