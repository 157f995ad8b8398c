"""Confidence bounds on a probability from a sample, by the binary KL divergence and by Clopper and Pearson.

A fraction q of n rows is wrong; the true probability is p. The divergence

    kl(q||p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p))

measures how improbable q is: P[fraction <= q] <= exp(-n kl(q||p)) for q <= p (Chernoff). The confidence
interval kl(q||p) <= c is from `kl_lower` to `kl_upper`. Both are rounded outwards and remain bounds.

The divergence is computed without cancellation. With d = p - q and D(x, m) = x ln(x / m) + m - x >= 0, the
terms linear in d cancel exactly:

    kl(q||p) = D(q, p) + D(1 - q, 1 - p)

For one fixed classifier the exact bound from its number of errors is `holdout_bound`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.distributions import binomial_cdf, binomial_pmf, deviance
from hedgerow.elementary import exp, expm1, log, log1p
from hedgerow.estimators.parameters import check_parameters, integer, number
from hedgerow.theory.growth import numbers, plain

_EPSILON = float(np.finfo(np.float64).eps)
_SLACK = 1.0 + 16.0 * _EPSILON  # the largest error of a computed kl was 5 epsilon
_ABOVE_0 = float(np.finfo(np.float64).tiny)
_BELOW_1 = 1.0 - 0.5 * _EPSILON


def binary_kl(q: ArrayLike, p: ArrayLike) -> Any:
    """Return the binary KL divergence kl(q||p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)).

    Parameters
    ----------
    q, p : float or array
        From 0 to 1, broadcast.

    Returns
    -------
    kl : float or float64 array
        Accurate to nearly all digits, also for p close to q. Infinite if p is 0 or 1 and q is not.

    Examples
    --------
    >>> binary_kl(0.0, 0.5)
    0.6931471805599453
    >>> binary_kl([0.1, 0.3], 0.1)
    array([0.        , 0.15366359])
    """
    q, p = np.broadcast_arrays(numbers("q", q, 0.0, 1.0), numbers("p", p, 0.0, 1.0))
    return plain(_kl(q, p))


def kl_upper(q: ArrayLike, c: ArrayLike) -> Any:
    """Return the largest p >= q with kl(q||p) <= c, rounded up.

    Parameters
    ----------
    q : float or array
        From 0 to 1.
    c : float or array
        At least 0.

    Returns
    -------
    p : float or float64 array

    Examples
    --------
    >>> round(kl_upper(0.1, 0.05), 6), kl_upper(0.3, 0.0), kl_upper(1.0, 0.1)
    (0.220079, 0.3, 1.0)
    """
    q, c = np.broadcast_arrays(numbers("q", q, 0.0, 1.0), numbers("c", c, 0.0, math.inf))
    goal = np.maximum(c * _SLACK, 1e-300)  # smaller ones have too few digits
    with np.errstate(all="ignore"):  # both branches of np.where are computed
        # All three are above the result: (p - q)^2 <= c / 2 (Pinsker) and (p - q)^2 <= 2 p c, for small c;
        # 1 - p >= (1 - q) exp(-(c - q ln q) / (1 - q)), exact for q = 0 and never far off for large c.
        near = np.minimum(np.sqrt(goal / 2.0), goal + np.sqrt(goal) * np.sqrt(goal + 2.0 * q))
        far = -(1.0 - q) * expm1(-(goal - q * log(np.maximum(q, _ABOVE_0))) / (1.0 - q))
        start = q + np.fmin(near, far) * (1.0 + 1e-9)
    start = np.nextafter(np.nextafter(start, 2.0), 2.0)
    p = _nearest_outside(q, np.minimum(start, _BELOW_1), goal, _BELOW_1, 1.0)
    return plain(np.where(c == 0.0, q, np.where((q >= _BELOW_1) | (c == np.inf), 1.0, p)))


def kl_lower(q: ArrayLike, c: ArrayLike) -> Any:
    """Return the smallest p <= q with kl(q||p) <= c, rounded down; the parameters are those of `kl_upper`.

    Examples
    --------
    >>> round(kl_lower(0.1, 0.05), 6), kl_lower(0.3, 0.0), kl_lower(0.0, 0.1)
    (0.031278, 0.3, 0.0)
    """
    q, c = np.broadcast_arrays(numbers("q", q, 0.0, 1.0), numbers("c", c, 0.0, math.inf))
    goal = np.maximum(c * _SLACK, 1e-300)  # smaller ones have too few digits
    with np.errstate(all="ignore"):
        # Below it: (q - p)^2 <= c / 2, (q - p)^2 <= 2 q c and ln p >= ln q + ((1 - q) ln(1 - q) - c) / q.
        near = q - np.minimum(np.sqrt(goal / 2.0), np.sqrt(2.0 * q) * np.sqrt(goal)) * (1.0 + 1e-9)
        rest = (1.0 - q) * log1p(-np.minimum(q, _BELOW_1))
        far = q * exp((rest - goal) / q) * (1.0 - 1e-9)
        start = np.fmax(near, far)
    start = np.nextafter(np.nextafter(start, -1.0), -1.0)
    p = _nearest_outside(q, np.maximum(start, _ABOVE_0), goal, _ABOVE_0, 0.0)
    return plain(np.where(c == 0.0, q, np.where((q <= _ABOVE_0) | (c == np.inf), 0.0, p)))


def holdout_bound(n_errors: int, n: int, delta: float) -> float:
    """Return an upper bound on the error of a classifier with n_errors errors on n hold-out rows.

    It is the largest p for which n_errors or fewer errors have probability delta (Clopper and Pearson 1934).
    No bound that holds for all distributions is smaller. Rounding never makes it too small.

    Parameters
    ----------
    n_errors : int
        Number of errors, from 0 to n.
    n : int
        Number of rows, drawn independently of the classifier and of each other.
    delta : float
        Probability that the true error is above the bound; above 0 and below 1.

    Returns
    -------
    bound : float
        1 if all rows are errors.

    Examples
    --------
    >>> round(holdout_bound(0, 100, 0.05), 6)  # 1 - 0.05^(1/100)
    0.029513
    >>> round(holdout_bound(7, 100, 0.05), 6)
    0.127458
    """
    check_parameters(locals(), {"n": integer(1), "delta": number(0, 1, above=True, below=True)})
    check_parameters(locals(), {"n_errors": integer(0, int(n))})
    k, rest = float(n_errors), float(n - n_errors)
    if rest == 0.0:
        return 1.0
    if k == 0.0:  # (1 - p)^n = delta
        return min(1.0, float(-expm1(log(delta) / rest)) * _SLACK)
    # The logarithm of P[n_errors or fewer | p] falls with p and is concave. Newton's steps start at kl_upper
    # (Chernoff), where it is too small, and it stays too small except for rounding. The goal is below delta
    # by more than the rounding error of the probability.
    goal = delta * (1.0 - 1e-11)
    p = float(kl_upper(k / n, -log(goal) / n))
    while p < 1.0 and goal > 1e-290:  # smaller probabilities have too few digits
        probability = binomial_cdf(n_errors, n, p)
        slope = rest / (1.0 - p) * binomial_pmf(n_errors, n, p) / probability
        closer = p - log(goal * (1.0 - 1e-12) / probability) / slope
        if not closer < p:
            break
        p = closer
    while p < 1.0 and binomial_cdf(n_errors, n, p) > goal:
        p = math.nextafter(p, 1.0)
    return p


def clopper_pearson(n_hits: int, n: int, alpha: float = 0.05) -> tuple[float, float]:
    """Return the exact interval of a probability, wrong with probability alpha (Clopper and Pearson 1934).

    >>> [round(end, 4) for end in clopper_pearson(139, 143)]
    [0.9299, 0.9923]
    """
    return 1.0 - holdout_bound(n - n_hits, n, alpha / 2), holdout_bound(n_hits, n, alpha / 2)


def _kl(q: Floats, p: Floats) -> Floats:
    return np.asarray(deviance(q, p, p - q) + deviance(1.0 - q, 1.0 - p, q - p))


def _nearest_outside(q: Floats, outer: Floats, c: Floats, last: float, end: float) -> Floats:
    """Return a number next to the p with kl(q||p) = c, on the other side of it than q.

    Newton's steps start outside the interval: kl is convex in p, so they stay outside except for rounding,
    and each is shortened by more than its rounding error. They end when the remaining step is 0.

    `outer`, on the side of `end` from q, should have kl(q||outer) >= c; `end` is 1 or 0, and `last` the
    number next to it.
    """
    sign = 1.0 if end == 1.0 else -1.0
    shape, q, c, outer = q.shape, q.ravel(), c.ravel(), outer.ravel()
    outer = np.where(_kl(q, outer) >= c, outer, last)
    beyond = ~(_kl(q, outer) >= c)
    inner = q.copy()
    active = np.flatnonzero(~beyond & (sign * outer > sign * q))
    while len(active):
        a, b, at, goal = inner[active], outer[active], q[active], c[active]
        over_slope = (b / (b - at)) * (1.0 - b)
        back = _EPSILON * (4.0 * goal * np.abs(over_slope) + 2.0 * b)
        new = b - (_kl(at, b) - goal) * over_slope + sign * back
        middle = a + 0.5 * (b - a)
        new = np.where(sign * new > sign * a, new, middle)  # halving is for safety: steps stay outside
        closer = (sign * new < sign * b) & (new != a)
        outside = _kl(at, new) >= goal
        outer[active] = np.where(closer & outside, new, b)
        inner[active] = np.where(closer & ~outside, new, a)
        active = active[closer]
    return np.where(beyond, end, outer).reshape(shape)
