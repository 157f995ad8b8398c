"""Margins of votes, and bounds on the error of a weighted vote from the margins of the training rows.

The margin of a row is y f(x), from -1 to 1: f is the vote of classifiers with predictions -1 or 1 and weights
with sum 1, and y is the label, -1 or 1. It is the weight of the correct votes minus that of the wrong votes.
Any number of classifiers is chosen by any algorithm from a finite class H that does not depend on the rows.
Then, with probability 1 - delta over the m rows, simultaneously for all such votes, all theta > 0 and all
N >= 1 (Schapire, Freund, Bartlett and Lee 1998):

    P[yf <= 0] <= P_S[yf <= theta] + 2 exp(-N theta^2 / 8) + sqrt(ln(N (N + 1)^2 |H|^N / delta) / (2m))

The proof draws N classifiers from the vote; their mean is close to f, and there are only |H|^N such means.
Tighter if few margins are small, for m >= 5 and 0 < theta <= 1 (Gao and Zhou 2013), p = P_S[yf < theta]:

    P[yf < 0] <= 2/m + p + (7 mu + 3 sqrt(2 mu)) / (3m) + sqrt(2 mu p / m)
    mu = (8 / theta^2) ln m ln(2 |H|) + ln(2 |H| / delta)

Both may be minimised over theta and N on the same rows. P_S is a step function with steps at the margins, and
the other terms decrease with theta: the infimum is approached from below at a margin theta_k, with the
fraction of margins smaller than theta_k.

The bounds may be above 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.distributions import log_integer
from hedgerow.elementary import exp, log, log1p
from hedgerow.estimators.parameters import check_parameters, integer, number

_N_THETAS = 1000  # evaluated together: of more different margins, quantiles, then all between the best two
_N_VOTES = 48  # numbers of votes evaluated together
_MIN_THETA = 1e-100  # smaller margins give no bound, and their squares are 0


@dataclass(frozen=True)
class MarginBound:
    """A bound on the error, minimised over theta.

    Attributes
    ----------
    value : float
        The bound, which holds with probability 1 - delta; above 1 it is trivial.
    theta : float
        The margin at which the bound is smallest.
    n_votes : int or None
        The number N of classifiers drawn in the proof; None if the formula does not contain it.
    n : int
        Number of training rows.
    n_hypotheses : int
        The size of the class.
    delta : float
        Probability that the bound does not hold.

    Examples
    --------
    >>> bound = schapire_bound([0.2, 0.4, 0.9, 1.0] * 25000, n_hypotheses=100, delta=0.05)
    >>> round(bound.value, 3), bound.theta, bound.n_votes
    (0.165, 0.2, 974)
    """

    value: float
    theta: float
    n_votes: int | None
    n: int
    n_hypotheses: int
    delta: float


def schapire_bound(margins: ArrayLike, n_hypotheses: int, delta: float) -> MarginBound:
    """Bound the error by the distribution of the margins (Schapire, Freund, Bartlett and Lee 1998).

    Parameters
    ----------
    margins : array-like of shape (m,)
        Normalised margins of the training rows, from -1 to 1.
    n_hypotheses : int
        The size of the hypothesis class, which must not depend on the rows. It may have any number of
        digits.
    delta : float
        Probability that the bound does not hold; above 0 and below 1.

    Returns
    -------
    bound : MarginBound
        Rows with yf = 0 count as errors.

    References
    ----------
    R. E. Schapire, Y. Freund, P. Bartlett, W. S. Lee, "Boosting the margin: a new explanation for the
    effectiveness of voting methods", Annals of Statistics 26, 1998, theorem 1.

    Examples
    --------
    >>> margins = np.linspace(0.1, 0.9, 100_000)
    >>> round(schapire_bound(margins, n_hypotheses=1000, delta=0.05).value, 3)
    0.317
    """
    ordered = _checked(margins, n_hypotheses, delta)
    n, log_size, log_delta = len(ordered), log_integer(n_hypotheses), log(delta)

    def bound(theta: Floats, fraction: Floats, votes: Floats) -> Floats:
        log_union = log(votes) + 2.0 * log1p(votes) + votes * log_size - log_delta
        return np.asarray(fraction + 2.0 * exp(-votes * theta * theta / 8.0) + np.sqrt(log_union / (2.0 * n)))

    value, theta, votes = _best_theta(partial(_best_votes, bound), ordered)
    return MarginBound(value, theta, int(votes), n, int(n_hypotheses), float(delta))


def gao_zhou_bound(margins: ArrayLike, n_hypotheses: int, delta: float) -> MarginBound:
    """Bound the error by the distribution of the margins (Gao and Zhou 2013), for at least 5 rows.

    The constants are taken from papers that cite the theorem, not from the theorem itself.

    It is a bound on P[yf < 0], and also on the error of a vote that predicts a fixed class at ties, if the
    constant classifiers are in the class: add the constant of the ties to f with a small weight, which makes
    ties with the other label negative, and let the weight go to 0.

    The parameters are those of `schapire_bound`; `n_votes` of the result is None.

    References
    ----------
    W. Gao, Z.-H. Zhou, "On the doubt about margin explanation of boosting", Artificial Intelligence 203,
    2013.

    Examples
    --------
    >>> margins = np.linspace(0.1, 0.9, 1_000_000)
    >>> round(gao_zhou_bound(margins, n_hypotheses=1000, delta=0.05).value, 3)
    0.196
    """
    ordered = _checked(margins, n_hypotheses, delta)
    n, log_twice = len(ordered), log_integer(2 * int(n_hypotheses))
    if n < 5:
        raise ValueError(f"margins has {n} rows; the bound of Gao and Zhou requires at least 5")

    def bound(theta: Floats, fraction: Floats) -> tuple[Floats, Floats]:
        # Dividing twice: theta^2 may be too small for a float. An infinite mu is never the smallest.
        mu = 8.0 * log(n) * log_twice / theta / theta + log_twice - log(delta)
        deviation = (7.0 * mu + 3.0 * np.sqrt(2.0 * mu)) / (3.0 * n) + np.sqrt(2.0 * mu * fraction / n)
        return 2.0 / n + fraction + deviation, np.zeros_like(theta)

    value, theta, _ = _best_theta(bound, ordered)
    return MarginBound(value, theta, None, n, int(n_hypotheses), float(delta))


def margins(model: Any, X: Any, y: Any) -> Floats:
    """Return the normalised margins of rows, for two or more classes.

    For AdaBoost with two classes the margin is y f(x), where f is the sum of alpha h(x) divided by the sum of
    alpha. For several classes, for bagging and for forests, it is the fraction of the vote for the label
    minus the largest fraction of another class. The scores of gradient boosting are divided by their largest
    possible value.

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
        raise TypeError(f"model must be a classifier of hedgerow with margins; got {type(model).__name__}")
    check_is_fitted(model)
    return np.asarray(model.margins(X, y))


def margin_distribution(margins: Any, at: Any) -> Floats:
    """Return the fraction of the rows whose margin is at most some values.

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
        raise ValueError("margins must have at least one number and no NaN")
    counts = np.searchsorted(values, np.atleast_1d(np.asarray(at, np.float64)), side="right")
    return np.asarray(counts / values.size)


def _checked(margins: ArrayLike, n_hypotheses: int, delta: float) -> Floats:
    """Return the sorted margins."""
    check_parameters(locals(), {"n_hypotheses": integer(1), "delta": number(0, 1, above=True, below=True)})
    array = np.asarray(margins, np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"margins has shape {array.shape}; it must be one-dimensional, one number per row")
    wrong = np.flatnonzero(~(np.abs(array) <= 1.0 + 1e-9))  # a sum of normalised weights may be 1 + 1e-16
    if len(wrong):
        raise ValueError(
            f"margins[{wrong[0]}]={array[wrong[0]]} is not allowed: a normalised margin is >= -1 and <= 1"
        )
    return np.sort(np.clip(array, -1.0, 1.0))


def _best_theta(
    bound: Callable[[Floats, Floats], tuple[Floats, Floats]], ordered: Floats
) -> tuple[float, float, float]:
    """Return the smallest value over theta, its theta and its number of votes.

    `bound(theta, fraction)` returns values and numbers of votes for arrays of theta and P_S[yf < theta].
    """
    positive = ordered[np.searchsorted(ordered, _MIN_THETA) :]
    thetas = np.unique(np.append(positive, 1.0))
    low, high = 0, len(thetas)
    while True:
        tried = np.unique(np.linspace(low, high - 1, min(high - low, _N_THETAS)).round().astype(np.int64))
        theta = thetas[tried]
        fraction = np.searchsorted(ordered, theta, side="left") / len(ordered)
        values, votes = bound(theta, fraction)
        best = int(np.argmin(values))
        if len(tried) == high - low:
            return float(values[best]), float(theta[best]), float(votes[best])
        low, high = int(tried[max(best - 1, 0)]), int(tried[min(best + 1, len(tried) - 1)]) + 1


def _best_votes(
    bound: Callable[[Floats, Floats, Floats], Floats], theta: Floats, fraction: Floats
) -> tuple[Floats, Floats]:
    """Return the smallest values over N = 1, 2, ... for every theta, and these N.

    They are searched on a grid of ln N, then on finer grids about the best. From N = 320 / theta^2 on,
    2 exp(-N theta^2 / 8) is below 1e-17, and more votes only add.
    """
    theta, fraction = theta[:, np.newaxis], fraction[:, np.newaxis]
    low, high = np.zeros_like(theta), log(np.ceil(320.0 / theta / theta))
    steps = np.linspace(0.0, 1.0, _N_VOTES)
    rows = np.arange(len(theta))
    while True:
        votes: Floats = exp(low + steps * (high - low)).round()  # (thetas, _N_VOTES)
        values = bound(theta, fraction, votes)
        best = np.argmin(values, axis=1)
        width = float((high - low).max())
        if width < 1e-4:
            return values[rows, best], votes[rows, best]
        centre, step = log(votes[rows, best])[:, np.newaxis], (high - low) / (_N_VOTES - 1)
        low, high = np.maximum(centre - step, 0.0), centre + step
