"""Bounds on the training error of boosting, round by round.

A round has a weighted error e_t and an edge g_t = 1/2 - e_t, its advantage over random guessing. AdaBoost
multiplies the sum of the weights by Z_t = 2 sqrt(e_t (1 - e_t)) = sqrt(1 - 4 g_t^2), and the training error
of the vote after T rounds is at most the product of the Z_t (Freund and Schapire 1997):

    error <= prod_t 2 sqrt(e_t (1 - e_t)) <= exp(-2 sum_t g_t^2)

An error below 1/m on m rows is zero: if every edge is at least g, it is zero once exp(-2 g^2 T) < 1/m.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.distributions import log_integer
from hedgerow.elementary import exp
from hedgerow.estimators.parameters import check_parameters, integer, number


def edges(model: Any) -> Floats:
    """Return the edges of a fitted boosting model: 1/2 minus the weighted error of every round.

    Parameters
    ----------
    model : estimator
        A fitted model with the attribute `edges_`, such as `AdaBoostClassifier`.

    Returns
    -------
    edges : float64 array of shape (rounds,)
        A copy.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import make_hastie
    >>> X, y = make_hastie(200, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    >>> edges(model).shape
    (5,)
    """
    check_is_fitted(model)  # TypeError if it is not an estimator
    result = getattr(model, "edges_", None)
    if result is None:
        raise TypeError(
            "model must have a weighted error in every round, such as AdaBoostClassifier; got "
            f"{type(model).__name__}, which has no edges_"
        )
    return np.array(result, np.float64)


def training_error_bound(errors: ArrayLike) -> Floats:
    """Return the bound after every round: the product of 2 sqrt(e (1 - e)) over the rounds so far.

    Parameters
    ----------
    errors : array-like of shape (rounds,)
        The weighted error of every round, from 0 to 1.

    Returns
    -------
    bound : float64 array of shape (rounds,)

    Examples
    --------
    >>> training_error_bound([0.2, 0.1, 0.5])
    array([0.8 , 0.48, 0.48])
    """
    e = _rounds("errors", errors, 0.0, 1.0)
    return np.asarray(np.cumprod(2.0 * np.sqrt(e * (1.0 - e)), dtype=np.float64))


def exponential_bound(edges: ArrayLike) -> Floats:
    """Return the simpler bound exp(-2 sum of g^2) after every round, which is larger.

    Parameters
    ----------
    edges : array-like of shape (rounds,)
        1/2 minus the weighted error of every round, from -1/2 to 1/2.

    Returns
    -------
    bound : float64 array of shape (rounds,)

    Examples
    --------
    >>> exponential_bound([0.3, 0.4, 0.0]).round(4)
    array([0.8353, 0.6065, 0.6065])
    """
    g = _rounds("edges", edges, -0.5, 0.5)
    return np.asarray(exp(-2.0 * np.cumsum(g * g)))


def rounds_to_zero_error(gamma: float, m: int) -> int:
    """Return the smallest T with exp(-2 gamma^2 T) < 1/m: the training error is then zero.

    Parameters
    ----------
    gamma : float
        The smallest edge of any round, above 0 and at most 1/2.
    m : int
        Training rows.

    Returns
    -------
    rounds : int

    Examples
    --------
    >>> rounds_to_zero_error(0.1, 1000)
    346
    """
    check_parameters(locals(), {"gamma": number(0, 0.5, above=True), "m": integer(1)})
    rounds = log_integer(m) / 2.0 / gamma / gamma  # gamma^2 may be too small for a float
    if not math.isfinite(rounds):
        raise ValueError(f"gamma={gamma!r} is not allowed: the number of rounds is not finite")
    return math.floor(rounds) + 1


def _rounds(name: str, values: ArrayLike, low: float, high: float) -> Floats:
    """Return the values as an array; each must be from low to high."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must be one-dimensional, one number per round")
    wrong = np.flatnonzero(~((array >= low) & (array <= high)))  # also NaN
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}]={array[wrong[0]]} is not allowed: it must be a number >= {low} and <= {high}"
        )
    return array
