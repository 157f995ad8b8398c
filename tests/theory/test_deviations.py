"""kl, its inverses and the hold-out bound: against 700 digits, root finding and exact binomial sums."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

import oracle_bounds as oracle
from hedgerow.theory.deviations import binary_kl, holdout_bound, kl_lower, kl_upper

EPSILON = 2.0**-52
SHARES = [0.0, 1e-300, 1e-12, 0.1, 0.5, 0.999, 1 - EPSILON, 1.0]
AMOUNTS = [1e-300, 1e-15, 1e-3, 0.7, 36.0, 700.0, 1e5]


def random_share(rng):
    kind = rng.integers(3)
    return float((rng.random(), 10.0 ** rng.uniform(-300, 0), 1.0 - 10.0 ** rng.uniform(-15, 0))[kind])


def test_kl_is_accurate_to_all_digits():
    rng = np.random.default_rng(0)
    for _ in range(300):
        q = random_share(rng)
        near = q * (1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-15, -0.1))
        p = min(float(near if rng.random() < 0.6 else random_share(rng)), 1.0)
        truth = oracle.kl(q, p)
        if 1e-300 < truth < math.inf:
            assert abs(binary_kl(q, p) / truth - 1) < 8 * EPSILON, (q, p)


def test_kl_at_the_ends():
    assert binary_kl(0.0, 0.0) == binary_kl(1.0, 1.0) == binary_kl(0.3, 0.3) == 0.0
    assert (
        binary_kl(0.3, 0.0) == binary_kl(0.3, 1.0) == binary_kl(1.0, 0.0) == binary_kl(0.0, 1.0) == math.inf
    )
    assert binary_kl(0.0, 1e-300) == 1e-300
    assert binary_kl(1.0, 0.5) == binary_kl(0.0, 0.5) == binary_kl(5e-324, 0.5) == math.log(2)
    assert binary_kl(0.9, 5e-324) == pytest.approx(float(oracle.kl(0.9, 5e-324)), rel=8 * EPSILON)
    assert binary_kl(5e-324, 5e-324) == 0.0


@pytest.mark.parametrize("q", SHARES)
@pytest.mark.parametrize("c", AMOUNTS)
def test_inverses_are_rounded_outwards_and_accurate(q, c):
    upper, lower = kl_upper(q, c), kl_lower(q, c)
    assert 0.0 <= lower <= q <= upper <= 1.0
    assert isinstance(upper, float)
    assert oracle.kl(q, upper) >= c or q == upper == 1.0
    assert oracle.kl(q, lower) >= c or q == lower == 0.0
    inside = upper * (1 - 64 * EPSILON)
    assert inside <= q or oracle.kl(q, inside) < c
    # Far down, a rounding error of c is many of p: there kl is the measure.
    inside = lower * (1 + 16 * EPSILON)
    assert inside >= q or lower < 1e-307 or oracle.kl(q, inside) < c * (1 + 64 * EPSILON)


def test_inverses_of_random_arguments_are_rounded_outwards():
    rng = np.random.default_rng(1)
    q = np.array([random_share(rng) for _ in range(120)])
    c = 10.0 ** rng.uniform(-18, 3, 120)
    for share, amount, upper, lower in zip(q, c, kl_upper(q, c), kl_lower(q, c), strict=True):
        assert upper == 1.0 or oracle.kl(share, upper) >= amount
        assert lower == 0.0 or oracle.kl(share, lower) >= amount
        assert upper == kl_upper(float(share), float(amount))
        assert lower == kl_lower(float(share), float(amount))


def test_inverses_at_zero_and_infinite_divergence():
    assert kl_upper(0.3, 0.0) == kl_lower(0.3, 0.0) == 0.3
    assert kl_upper(0.3, math.inf) == 1.0
    assert kl_lower(0.3, math.inf) == 0.0


def test_arrays_are_broadcast():
    found = kl_upper(np.array([[0.1], [0.2]]), np.array([0.0, 0.1, 5.0]))
    assert found.shape == (2, 3)
    assert found[1, 1] == kl_upper(0.2, 0.1)
    assert kl_lower(np.zeros(0), 0.1).shape == (0,)
    np.testing.assert_array_equal(binary_kl([0.1, 0.2], 0.2), [binary_kl(0.1, 0.2), 0.0])


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-12])
@pytest.mark.parametrize(
    ("k", "n"),
    [(0, 1), (1, 2), (3, 7), (0, 1000), (700, 1000), (999, 1000), (0, 10**9), (1, 10**9), (900, 10**9)],
)
def test_holdout_bound_to_many_digits(k, n, delta):
    bound = holdout_bound(k, n, delta)
    assert oracle.at_most(k, n, bound) <= delta < oracle.at_most(k, n, bound * (1 - 1e-8))


@pytest.mark.parametrize("delta", [0.9, 1e-12])
@pytest.mark.parametrize("right", [1, 1000])
@pytest.mark.parametrize("n", [1001, 10**9])
def test_holdout_bound_where_nearly_all_are_errors(right, n, delta):
    bound = holdout_bound(n - right, n, delta)

    def chance(p):  # of `right` or more that are right
        return 1 - oracle.at_most(right - 1, n, 1 - mp.mpf(p))

    assert bound == 1.0 or chance(bound) <= delta
    assert chance(bound - 1e-8 * (1 - bound) - 2**-51) > delta


def test_holdout_bound_of_only_errors_is_one():
    assert holdout_bound(5, 5, 0.05) == holdout_bound(1, 1, 0.9) == 1.0


@pytest.mark.parametrize("n", [1, 5, 57])
@pytest.mark.parametrize("delta", [0.3, 1e-6])
def test_bounds_fail_with_probability_delta_at_most(n, delta):
    errors = np.arange(n + 1)
    exact = np.array([holdout_bound(int(k), n, delta) for k in errors])
    amount = math.log(2 * math.sqrt(n) / delta) / n
    upper, lower = kl_upper(errors / n, amount), kl_lower(errors / n, amount)
    assert np.all(exact <= upper)
    largest = 0.0
    for p in np.concatenate([np.linspace(0.001, 0.999, 173), exact[:-1] * (1 + 1e-9)]):
        chance = binom.pmf(errors, n, p)
        largest = max(largest, chance[exact < p].sum())
        assert chance[exact < p].sum() <= delta
        assert chance[(upper < p) | (lower > p)].sum() <= delta
    assert largest > 0.9 * delta  # the exact bound fails as often as it may


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binary_kl(1.1, 0.5), r"q=1.1 is not allowed: it must be a number >= 0 and <= 1"),
        (lambda: binary_kl(0.5, np.nan), r"p=nan is not allowed"),
        (lambda: kl_upper(-0.1, 0.5), r"q=-0.1"),
        (lambda: kl_lower(0.1, -0.5), r"c=-0.5 is not allowed: it must be a number >= 0"),
        (lambda: kl_upper(0.1, np.nan), r"c=nan"),
        (lambda: holdout_bound(3, 2, 0.05), r"n_errors=3 is not allowed: it must be an integer from 0 to 2"),
        (lambda: holdout_bound(-1, 2, 0.05), r"n_errors=-1"),
        (lambda: holdout_bound(0, 0, 0.05), r"n=0 is not allowed"),
        (lambda: holdout_bound(0, 5, 0.0), r"delta=0.0 is not allowed: it must be a number > 0 and < 1"),
        (lambda: holdout_bound(0, 5, 1.0), r"delta=1.0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
