"""Binomial and chi-squared probabilities against sums and logarithms of 60 digits."""

import math

import mpmath as mp
import numpy as np
import pytest

from hedgerow.distributions import (
    binomial_cdf,
    binomial_pmf,
    binomial_sf,
    chi2_cdf,
    deviance,
    log_integer,
    stirling_error,
)

SIZES = [1, 2, 5, 30, 1000, 10**5, 10**7, 10**9]


def exact_pmf(k, n, p):
    choose = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return mp.exp(choose + k * mp.log(p) + (n - k) * mp.log1p(-p))


def exact_cdf(k, n, p):
    """The sum from k downwards, for a k that is not far above the mean."""
    ratio = (1 - p) / p
    total = term = mp.mpf(1)
    while k > 0 and term > total * mp.mpf(10) ** -20:
        term *= k * ratio / (n - k + 1)
        total += term
        k -= 1
    return exact_pmf(k, n, p) * total / term


@pytest.mark.parametrize("n", SIZES)
def test_binomial_tails_are_accurate_to_12_digits(n):
    rng = np.random.default_rng(n)
    with mp.workdps(40):
        for _ in range(20):
            k = int(10 ** rng.uniform(0, math.log10(n))) - 1
            deviation = rng.uniform(-2 if n < 10**6 else 1, 20)
            p = (k + 1 + deviation * math.sqrt((k + 1) * (n - k + 1) / n)) / (n + 1)
            truth = exact_cdf(k, n, mp.mpf(p)) if 0 < p < 1 else 0
            if truth < 1e-300:
                continue
            assert abs(binomial_cdf(k, n, p) / truth - 1) < 1e-12, (k, p)
            assert abs(binomial_pmf(k, n, p) / exact_pmf(k, n, mp.mpf(p)) - 1) < 1e-12, (k, p)
            if truth < 0.9:
                assert binomial_sf(k, n, p) == pytest.approx(float(1 - truth), rel=1e-11)


def test_binomial_probabilities_of_all_counts():
    for n in (1, 4, 9):
        for p in (1e-9, 0.3, 0.5, 0.999):
            each = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
            for k in range(n + 1):
                assert binomial_pmf(k, n, p) == pytest.approx(each[k], rel=1e-13)
                assert binomial_cdf(k, n, p) == pytest.approx(math.fsum(each[: k + 1]), rel=1e-13)
                assert binomial_sf(k, n, p) == pytest.approx(math.fsum(each[k + 1 :]), rel=1e-13)
            assert binomial_cdf(-1, n, p) == 0.0
            assert binomial_sf(-1, n, p) == 1.0


@pytest.mark.parametrize("df", [1, 2, 3, 19, 1000, 10**5])
def test_chi_squared_probabilities_are_accurate_to_12_digits(df):
    with mp.workdps(30):
        for deviation in (-12, -6, -3, -1, 0, 1, 3):
            x = max(df + deviation * math.sqrt(2 * df), df * math.exp(deviation))
            a, half = mp.mpf(df) / 2, mp.mpf(x) / 2
            total, term, i = mp.mpf(1), mp.mpf(1), 0
            while term > total * mp.mpf(10) ** -20:
                i += 1
                term *= half / (a + i)
                total += term
            truth = mp.exp(a * mp.log(half) - half - mp.loggamma(a + 1)) * total
            assert abs(chi2_cdf(x, df) / truth - 1) < 1e-12, x


def test_chi_squared_at_its_ends():
    assert chi2_cdf(0.0, 3) == 0.0
    assert chi2_cdf(1e6, 3) == chi2_cdf(1e300, 10**6) == 1.0


def test_stirling_errors_are_accurate():
    sizes = [0.5, 1.0, 1.5, 4.5, 9.5, 10.0, 11.0, 170.0, 1e6, 1e12]
    with mp.workdps(40):
        truth = [
            mp.loggamma(n + 1) - mp.log(2 * mp.pi * n) / 2 - n * mp.log(n) + n for n in map(mp.mpf, sizes)
        ]
    np.testing.assert_allclose(stirling_error(sizes), np.array(truth, float), atol=2e-15, rtol=0)
    assert stirling_error(0) == 0.0


def test_deviances_are_accurate_next_to_the_mean_and_far_away():
    with mp.workdps(40):
        for x in (1e-300, 0.5, 3.0, 1e9):
            for ratio in (1e-10, 0.3, 1 - 1e-9, 1 + 1e-13, 1.7, 1e8):
                m = x * ratio
                exact_x, exact_m = mp.mpf(x), mp.mpf(m)
                truth = exact_x * mp.log(exact_x / exact_m) + exact_m - exact_x
                found = float(deviance(*np.array([x, m, float(exact_m - exact_x)])))
                assert found == pytest.approx(float(truth), rel=4e-15), (x, ratio)


@pytest.mark.parametrize("n", [1, 2, 10**15 + 1, 2**63 - 1, 2**64 + 1, 3**5000])
def test_logarithms_of_integers(n):
    assert log_integer(n) == pytest.approx(float(mp.log(n)), rel=4e-16)
