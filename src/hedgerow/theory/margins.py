"""Margins of any voting model, and how they are distributed.

A margin says how clear the vote on a row is: from -1, all for one wrong class, to 1, all for the label.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats


def margins(model: Any, X: Any, y: Any) -> Floats:
    """Normalised margins of rows, for two or more classes.

    For AdaBoost y f(x), with f the sum of alpha h(x) over the sum of alpha; for more classes the share of the
    vote for the label less the largest share of another class, as for bags and forests. Scores of gradient
    boosting are divided by the largest they can be.

    Parameters
    ----------
    model : fitted classifier of this library
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)

    Returns
    -------
    float64 array of shape (n_samples,)

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> margins(AdaBoostClassifier(n_estimators=3).fit(X, y), X, y).min().round(3)
    np.float64(0.075)
    """
    if not hasattr(model, "margins"):
        raise TypeError(f"model is a {type(model).__name__}: it must be a classifier of hedgerow that votes")
    check_is_fitted(model)
    found: Floats = model.margins(X, y)
    return found


def margin_distribution(margins: Any, at: Any) -> Floats:
    """Share of the rows whose margin is up to some values.

    Parameters
    ----------
    margins : array of shape (n_samples,)
    at : float or array of shape (k,)

    Returns
    -------
    float64 array of shape (k,)

    Examples
    --------
    >>> margin_distribution([0.1, 0.3, 0.3, 0.9], [0.0, 0.3, 1.0])
    array([0.  , 0.75, 1.  ])
    """
    values = np.sort(np.asarray(margins, np.float64).reshape(-1))
    if not values.size or np.isnan(values).any():
        raise ValueError("margins must be one or more numbers, none of them NaN")
    places = np.searchsorted(values, np.atleast_1d(np.asarray(at, np.float64)), side="right")
    shares: Floats = places / values.size
    return shares
