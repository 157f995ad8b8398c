"""What boosting proves of its own training error, round by round.

A round has a weighted error e_t and an edge g_t = 1/2 - e_t, how much better it is than guessing. AdaBoost
multiplies the sum of the weights by Z_t = 2 sqrt(e_t (1 - e_t)) = sqrt(1 - 4 g_t^2), and the training error
of the vote after T rounds is at most the product of these (Freund and Schapire 1997):

    error <= prod_t 2 sqrt(e_t (1 - e_t)) <= exp(-2 sum_t g_t^2)

An error below 1/m on m rows is no error at all: with every edge at least g it is reached once exp(-2 g^2 T) <
1/m.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, real, whole


def edges(model: Any) -> Floats:
    """The edges of a fitted boosting model: 1/2 less the weighted error of every round.

    Parameters
    ----------
    model : estimator
        One that was fitted in rounds and has the attribute `edges_`, such as `AdaBoostClassifier`.

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
    check_is_fitted(model)  # TypeError for what is no estimator
    found = getattr(model, "edges_", None)
    if found is None:
        raise TypeError(
            f"model is a {type(model).__name__}, which has no edges_; "
            "a boosting model with a weighted error in every round is needed, such as AdaBoostClassifier"
        )
    return np.array(found, np.float64)


def training_error_bound(errors: ArrayLike) -> Floats:
    """The product of 2 sqrt(e (1 - e)) over the rounds so far, which the training error is never above.

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
    bound: Floats = np.cumprod(2.0 * np.sqrt(e * (1.0 - e)), dtype=np.float64)
    return bound


def exponential_bound(edges: ArrayLike) -> Floats:
    """exp(-2 sum of g^2) over the rounds so far: a simpler bound, above `training_error_bound`.

    Parameters
    ----------
    edges : array-like of shape (rounds,)
        1/2 less the weighted error of every round, from -1/2 to 1/2.

    Returns
    -------
    bound : float64 array of shape (rounds,)

    Examples
    --------
    >>> exponential_bound([0.3, 0.4, 0.0]).round(4)
    array([0.8353, 0.6065, 0.6065])
    """
    g = _rounds("edges", edges, -0.5, 0.5)
    bound: Floats = np.exp(-2.0 * np.cumsum(g * g))
    return bound


def rounds_to_zero_error(gamma: float, m: int) -> int:
    """The fewest rounds T with exp(-2 gamma^2 T) < 1/m: all m rows are then classified rightly.

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
    check_parameters(locals(), {"gamma": real(0, 0.5, above=True), "m": whole(1)})
    rounds = math.log(m) / 2.0 / gamma / gamma  # gamma^2 may be too small for a float
    if not math.isfinite(rounds):
        raise ValueError(f"gamma={gamma!r} is not allowed: the number of rounds is beyond all numbers")
    return math.floor(rounds) + 1


def _rounds(name: str, values: ArrayLike, low: float, high: float) -> Floats:
    """The values as an array, if each is from low to high."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must be one-dimensional, a number a round")
    wrong = np.flatnonzero(~((array >= low) & (array <= high)))  # NaN is neither
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}]={array[wrong[0]]} is not allowed: it must be a number >= {low} and <= {high}"
        )
    return array
