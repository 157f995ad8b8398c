"""Binomial and chi-squared probabilities with the same bits on every processor.

Functions of C libraries, and therefore of SciPy, round differently on different processors. The probabilities
here decide whether rows are refused, and are stored in certificates, so this module uses
`hedgerow.elementary` and plain arithmetic in a fixed order.

Probabilities of single values are exponentials of deviances, without the cancellation of large factorials
(C. Loader, "Fast and accurate computation of binomial probabilities", 2000). With
D(x, m) = x ln(x / m) + m - x, which `deviance` computes, and s(n) = ln n! - ln(sqrt(2 pi n) (n / e)^n):

    P[X = k] = sqrt(n / (2 pi k (n - k))) exp(s(n) - s(k) - s(n - k) - D(k, n p) - D(n - k, n (1 - p)))

The sum over smaller k is a continued fraction (Didonato and Morris, "Algorithm 708", ACM Transactions on
Mathematical Software 18, 1992). Relative errors are below 1e-12 for probabilities above 1e-300.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hedgerow._typing import Floats
from hedgerow.elementary import exp, log

LN2 = 0.6931471805599453
_HALF_LN_2_PI = 0.9189385332046728
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # of 1/n, 1/n^3, ...
_MIN_STIRLING = 10.0  # from here on, the terms that are left out are below 1e-16
_SERIES = 0.5  # |x| up to which ln(1 + x) is computed as a series
_COEFFICIENTS = [2.0 / (2 * k + 3) for k in range(17, -1, -1)]  # of s^2 <= 1/9: the rest is below 1e-17
_TINY = float(np.finfo(np.float64).tiny)
_MAX_DEVIANCE = 45.0  # the upper tail is below exp(-45) = 3e-20


def log_integer(n: int) -> float:
    """Return the natural logarithm of an integer >= 1 with any number of digits.

    >>> log_integer(1), round(log_integer(10**1000), 6)
    (0.0, 2302.585093)
    """
    shift = max(int(n).bit_length() - 64, 0)
    return log(float(int(n) >> shift)) + shift * LN2


def stirling_error(n: ArrayLike) -> Floats:
    """Return s(n) = ln n! - ln(sqrt(2 pi n) (n / e)^n), for integers or halves of integers; 0 for n = 0.

    >>> stirling_error([0.0, 1.0, 1000.0]).round(10)
    array([0.00000000e+00, 8.10614668e-02, 8.33333000e-05])
    """
    values = np.asarray(n, np.float64)
    x, shifted = np.maximum(values, 0.5), np.zeros(values.shape)
    # s(x) = s(x + 1) + (x + 1/2) ln((x + 1) / x) - 1
    for _ in range(int(_MIN_STIRLING)):
        small = x < _MIN_STIRLING
        shifted = shifted + np.where(small, (x + 0.5) * log((x + 1.0) / x) - 1.0, 0.0)
        x = np.where(small, x + 1.0, x)
    series = np.polyval(_STIRLING[::-1], 1.0 / (x * x)) / x
    return np.where(values > 0.0, shifted + series, 0.0)


def deviance(x: Floats, m: Floats, d: Floats) -> Floats:
    """Return x ln(x / m) + m - x >= 0 for d = m - x, also accurate for small d.

    >>> deviance(np.array([2.0, 0.0]), np.array([1.0, 3.0]), np.array([-1.0, 3.0])).round(6)
    array([0.386294, 3.      ])
    """
    with np.errstate(all="ignore"):
        y = d / x
        # ln(1 + y) = 2 (s + s^3/3 + s^5/5 + ...) with s = y / (2 + y), and y - 2 s = y s.
        s = y / (2.0 + y)
        series = x * s * (y - s * s * np.polyval(_COEFFICIENTS, s * s))
        ratio = m / x
        regular = (ratio >= _TINY) & (ratio < np.inf)
        logarithm = np.where(regular, log(ratio), log(m) - log(x))
        term = np.where(np.abs(y) <= _SERIES, series, d - x * logarithm)
    return np.where(x == 0.0, d, np.where(m == 0.0, np.inf, term))


def binomial_pmf(k: int, n: int, p: float | Fraction) -> float:
    """Return the probability of k successes in n trials, 0 < p < 1.

    >>> round(binomial_pmf(1, 3, 0.5), 12)
    0.375
    """
    p = Fraction(p)
    successes, failures = np.array([k, n - k], np.float64)
    difference = float(n * p - k)  # exact up to one rounding
    exponent = np.sum(
        deviance(
            np.array([successes, failures]),
            np.array([float(n * p), float(n * (1 - p))]),
            np.array([difference, -difference]),
        )
    )
    if k in (0, n):
        return exp(-float(exponent))
    s = stirling_error([n, k, n - k])
    factor = math.sqrt(n / successes / failures / (2.0 * math.pi))
    return factor * exp(float(s[0] - s[1] - s[2] - exponent))


def binomial_cdf(k: int, n: int, p: float | Fraction) -> float:
    """Return the probability of at most k successes in n trials, 0 < p < 1.

    >>> round(binomial_cdf(1, 3, 0.5), 12), binomial_cdf(3, 3, 0.5), binomial_cdf(-1, 3, 0.5)
    (0.5, 1.0, 0.0)
    """
    p = Fraction(p)
    if k < 0 or k >= n:
        return 0.0 if k < 0 else 1.0
    if (k + 1) > (n + 1) * p:  # the continued fraction is fast, and all its terms positive, below the mean
        return 1.0 - _lower_tail(n - k - 1, n, 1 - p)
    return _lower_tail(k, n, p)


def binomial_sf(k: int, n: int, p: float | Fraction) -> float:
    """Return the probability of more than k successes in n trials, 0 < p < 1.

    >>> round(binomial_sf(1, 3, 0.5), 12)
    0.5
    """
    return binomial_cdf(n - k - 1, n, 1 - Fraction(p))


def chi2_cdf(x: float, df: int) -> float:
    """Return the probability that a chi-squared variable with df >= 1 degrees of freedom is at most x >= 0.

    >>> round(chi2_cdf(2.0, 2), 12), chi2_cdf(0.0, 5)
    (0.632120558829, 0.0)
    """
    a, half = df / 2.0, x / 2.0
    if half <= 0.0:
        return 0.0
    exponent = float(deviance(*np.array([a, half, half - a])))
    if half > a and exponent > _MAX_DEVIANCE:
        return 1.0
    # x^a e^-x / Gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...), x the half
    total, term, at = 1.0, 1.0, a
    while term > total * 1e-17:
        at += 1.0
        term *= half / at
        total += term
    density = exp(-exponent - float(stirling_error(a))) / math.sqrt(2.0 * math.pi * a)
    return min(1.0, density * total)


def _lower_tail(k: int, n: int, p: Fraction) -> float:
    """P[X <= k] for 0 <= k < n and k + 1 <= (n + 1) p, as I_(1 - p)(n - k, k + 1), by Lentz's method."""
    a, b, x = float(n - k), float(k + 1), float(1 - p)
    excess = float((n + 1) * p - (k + 1)) + 1.0  # a p - b (1 - p) + 1
    term = a * excess / (a + 1.0)
    value, numerator, denominator = term, term, 0.0
    m = 0.0
    while True:
        m += 1.0
        odd = a + 2.0 * m - 1.0
        step = m * (b - m) * x / odd
        a_m = (a + m - 1.0) * ((a + b + m - 1.0) / odd) * x * step
        b_m = m + step + (a + m) / (odd + 2.0) * (excess + m * (2.0 - x))
        denominator = 1.0 / (b_m + a_m * denominator)
        numerator = b_m + a_m / numerator
        change = numerator * denominator
        value *= change
        if abs(change - 1.0) < 1e-16 or m >= b:
            return min(1.0, binomial_pmf(k, n, p) * a * float(p) / value)
