"""The vote bounds: the inequalities themselves, the allowance for chance, and the smallest over mu."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

import oracle_bounds as oracle
from hedgerow.theory.deviations import binary_kl, kl_lower, kl_upper
from hedgerow.theory.vote_bounds import c_bound, chebyshev_cantelli_bound, first_order_bound, tandem_bound

MANY = 10**15  # rows: the deviation is negligible


def described(losses, rho):
    """Mean, joint loss and disagreement of voters with losses (rows, voters), all rows alike."""
    gibbs = float(losses.mean(axis=0) @ rho)
    tandem = float(rho @ (losses.T @ losses / len(losses)) @ rho)
    differ = losses.T @ (1 - losses) / len(losses)
    return gibbs, tandem, float(rho @ (differ + differ.T) @ rho)


@pytest.mark.parametrize("soft", [False, True])
def test_no_bound_is_below_the_share_of_rows_where_half_the_vote_is_wrong(soft):
    rng = np.random.default_rng(0)
    tight = {"first": 9.0, "tandem": 9.0, "c": 9.0, "cantelli": 9.0}
    for _ in range(60):
        n_rows, n_voters = rng.integers(1, 30), rng.integers(1, 8)
        hardness = rng.beta(0.3, 1.5, n_rows)[:, np.newaxis]
        losses = rng.random((n_rows, n_voters))
        losses = np.clip(losses * 0.5 + hardness, 0, 1) if soft else (losses < hardness).astype(float)
        rho = rng.dirichlet(np.full(n_voters, 0.7))
        wrong = np.mean(losses @ rho >= 0.5)
        gibbs, tandem, disagreement = described(losses, rho)
        bounds = {
            "first": first_order_bound(gibbs, MANY, 0.0, 0.05),
            "tandem": tandem_bound(tandem, MANY, 0.0, 0.05),
            "c": c_bound(gibbs, disagreement, MANY, MANY, 0.0, 0.05),
            "cantelli": chebyshev_cantelli_bound(gibbs, tandem, MANY, MANY, 0.0, 0.05),
        }
        for name, bound in bounds.items():
            assert wrong <= bound <= 1.0, name
            tight[name] = min(tight[name], bound / wrong if 0 < wrong < 1 else 9.0)
    assert max(tight.values()) < 2.0  # each is near it in one of the cases


def test_chebyshev_cantelli_equals_the_c_bound_for_two_classes():
    gibbs, tandem = 0.25, 0.1
    one = chebyshev_cantelli_bound(gibbs, tandem, MANY, MANY, 0.0, 0.05)
    other = c_bound(gibbs, 2 * gibbs - 2 * tandem, MANY, MANY, 0.0, 0.05)
    assert one == pytest.approx(other, abs=1e-5)
    assert one == pytest.approx((tandem - gibbs**2) / (tandem - gibbs**2 + (0.5 - gibbs) ** 2), abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 30, 100, 400])
def test_the_moment_of_kl_is_at_most_two_roots(n):
    assert math.sqrt(n) <= oracle.moment_of_kl(n) <= 2 * math.sqrt(n)


def test_the_deviation_falls_with_the_number_of_rows():
    n = np.arange(1.0, 10**5)
    assert np.all(np.diff(np.log(2 * np.sqrt(n)) / n) < 0)


@pytest.mark.parametrize("mean", [0.0, 0.001, 0.1, 0.4])
@pytest.mark.parametrize("n", [20, 1000, 10**6])
@pytest.mark.parametrize("kl", [0.0, 3.0])
def test_first_and_second_order_are_inverses_of_kl(mean, n, kl):
    def upper(amount):
        return brentq(lambda p: binary_kl(mean, p) - amount, mean, 1 - 1e-15, xtol=1e-15)

    chance = math.log(2 * math.sqrt(n) / 0.05)
    assert first_order_bound(mean, n, kl, 0.05) == pytest.approx(
        min(1, 2 * upper((kl + chance) / n)), rel=1e-7
    )
    assert tandem_bound(mean, n, kl, 0.05) == pytest.approx(
        min(1, 4 * upper((2 * kl + chance) / n)), rel=1e-7
    )


def test_the_c_bound_takes_half_of_delta_for_each_mean():
    chance = math.log(2 * math.sqrt(5000) / 0.02) / 5000
    pairs = (2 * 0.7 + math.log(2 * math.sqrt(900) / 0.02)) / 900
    G, D = kl_upper(0.2, 0.7 / 5000 + chance), kl_lower(0.28, pairs)
    assert c_bound(0.2, 0.28, 5000, 900, 0.7, 0.04) == pytest.approx(1 - (1 - 2 * G) ** 2 / (1 - 2 * D))


def test_the_c_bound_is_1_for_random_voters():
    assert c_bound(0.5, 0.4, MANY, MANY, 0.0, 0.05) == 1.0
    assert c_bound(0.45, 0.4, 50, 50, 0.0, 0.05) == 1.0


def test_contradicting_estimates_give_1():
    # Voters that are hardly ever wrong cannot disagree on 80 % of the rows, nor be wrong together less often
    # than their mean loss squared.
    assert c_bound(0.01, 0.8, 10**6, 10**6, 0.0, 0.05) == 1.0
    assert chebyshev_cantelli_bound(0.4, 0.01, 10**6, 10**6, 0.0, 0.05) == 1.0


def test_the_closed_form_is_the_smallest_over_all_mu():
    mu = np.concatenate([-np.geomspace(1e4, 1e-5, 1000), [0.0], np.linspace(1e-5, 0.4999, 2000)])
    signs = set()
    cases = itertools.product([0.01, 0.3, 0.48, 0.6], [0.3, 0.9, 1.0], [60, 10**6], [0.0, 2.0])
    for gibbs, share, n, kl in cases:
        tandem = max(gibbs * share, gibbs**2)
        n_pairs = n // 2
        found = chebyshev_cantelli_bound(gibbs, tandem, n, n_pairs, kl, 0.05)
        amount = (kl + math.log(2 * math.sqrt(n) / 0.025)) / n
        T = kl_upper(tandem, (2 * kl + math.log(2 * math.sqrt(n_pairs) / 0.025)) / n_pairs)
        G = np.where(mu >= 0, kl_lower(gibbs, amount), kl_upper(gibbs, amount))
        values = (T - 2 * mu * G + mu**2) / (0.5 - mu) ** 2
        assert found <= min(1.0, values.min()) * (1 + 1e-12)
        assert found >= min(1.0, values.min()) * (1 - 1e-3)
        signs.add(float(np.sign(mu[values.argmin()])))
        assert found <= tandem_bound(tandem, n_pairs, kl, 0.025)
    assert {-1.0, 1.0} <= signs


def test_rounding_errors_of_means_and_divergences_are_allowed():
    assert first_order_bound(-1e-17, 100, -1e-17, 0.05) == first_order_bound(0.0, 100, 0.0, 0.05)
    assert tandem_bound(1 + 2**-52, 100, 0.0, 0.05) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: first_order_bound(1.1, 10, 0.0, 0.05), r"gibbs=1.1 is not allowed"),
        (lambda: first_order_bound(math.nan, 10, 0.0, 0.05), r"gibbs=nan"),
        (lambda: first_order_bound(0.1, 0, 0.0, 0.05), r"n=0 is not allowed: it must be an integer >= 1"),
        (lambda: first_order_bound(0.1, 10, -0.1, 0.05), r"kl=-0.1 is not allowed"),
        (
            lambda: first_order_bound(0.1, 10, 0.0, 1.0),
            r"delta=1.0 is not allowed: it must be a number > 0 and < 1",
        ),
        (lambda: tandem_bound(-0.1, 10, 0.0, 0.05), r"tandem=-0.1"),
        (lambda: tandem_bound(0.1, 10.5, 0.0, 0.05), r"n_pairs=10.5"),
        (lambda: c_bound(0.1, 2.0, 10, 10, 0.0, 0.05), r"disagreement=2.0"),
        (lambda: chebyshev_cantelli_bound(0.1, 0.1, 10, 0, 0.0, 0.05), r"n_pairs=0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
