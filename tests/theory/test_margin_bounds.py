"""The margin bounds are the minima of their formulas."""

import math

import numpy as np
import pytest

import oracle_bounds as oracle
from hedgerow.theory.margin_bounds import gao_zhou_bound, schapire_bound

BOUNDS = {"schapire": schapire_bound, "gao_zhou": gao_zhou_bound}
both = pytest.mark.parametrize("name", BOUNDS)


def margins_of(kind, m, seed=0):
    rng = np.random.default_rng(seed)
    values = {
        "normal": np.clip(rng.normal(0.3, 0.2, m), -1, 1),
        "large": 0.5 + 0.5 * rng.random(m),
        "mixed": np.where(rng.random(m) < 0.05, -rng.random(m), 0.2 + 0.8 * rng.random(m)),
        "few values": rng.choice([-0.5, 0.0, 0.25, 0.5, 1.0], m),
        "wrong": -rng.random(m),
        "ones": np.ones(m),
        "tiny": np.abs(rng.normal(0, 1e-6, m)),
    }
    return values[kind]


KINDS = ["normal", "large", "mixed", "few values", "wrong", "ones", "tiny"]


def exact(name, bound, margins):
    """The formula at the point the bound names, approached from below."""
    share = oracle.mp.mpf(int(np.sum(margins < bound.theta))) / len(margins)
    arguments = (share, len(margins), bound.n_hypotheses, bound.delta)
    if name == "schapire":
        return oracle.schapire(bound.theta, bound.n_votes, *arguments)
    return oracle.gao_zhou(bound.theta, *arguments)


@both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [5, 3000])
def test_the_value_is_the_formula_at_its_own_point(name, kind, m):
    margins = margins_of(kind, m)
    for n_hypotheses, delta in [(1, 0.5), (200, 0.05), (10**9, 1e-9)]:
        bound = BOUNDS[name](margins, n_hypotheses, delta)
        assert 0 < bound.theta <= 1
        assert (bound.n_votes is None) == (name == "gao_zhou")
        assert bound.value == pytest.approx(float(exact(name, bound, margins)), rel=1e-12)
        assert (bound.n, bound.n_hypotheses, bound.delta) == (m, n_hypotheses, delta)


def dense(name, margins, n_hypotheses, delta):
    """The smallest value on a dense grid of theta and N, with shares P_S[yf <= theta]."""
    m, thetas = len(margins), np.linspace(0.002, 1.0, 500)
    share = np.searchsorted(np.sort(margins), thetas, side="right") / m
    if name == "gao_zhou":
        size = math.log(2 * n_hypotheses)
        mu = 8 / thetas**2 * math.log(m) * size + size - math.log(delta)
        return np.min(2 / m + share + (7 * mu + 3 * np.sqrt(2 * mu)) / (3 * m) + np.sqrt(2 * mu * share / m))
    votes = np.unique(np.concatenate([np.arange(1.0, 200.0), np.geomspace(200, 1e8, 2500).round()]))[
        :, np.newaxis
    ]
    union = np.log(votes) + 2 * np.log1p(votes) + votes * math.log(n_hypotheses) - math.log(delta)
    return np.min(share + 2 * np.exp(-votes * thetas**2 / 8) + np.sqrt(union / (2 * m)))


@both
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_no_dense_grid_finds_anything_smaller(name, kind):
    for m, n_hypotheses in [(50, 3), (3000, 1), (3000, 10**6), (200_000, 500)]:
        margins = margins_of(kind, m)
        found = BOUNDS[name](margins, n_hypotheses, 0.05).value
        assert found <= dense(name, margins, n_hypotheses, 0.05) * (1 + 1e-6)


def test_all_different_margins_are_tried():
    # 40,000 different margins; the best theta is the 812th, which is not a quantile of the first search.
    margins = np.concatenate([np.linspace(0.05, 0.1, 811), np.linspace(0.6, 0.61, 39_189)])
    share = np.arange(len(margins)) / len(margins)
    mu = 8 / margins**2 * math.log(len(margins)) * math.log(20) + math.log(20 / 0.05)
    n = len(margins)
    values = 2 / n + share + (7 * mu + 3 * np.sqrt(2 * mu)) / (3 * n) + np.sqrt(2 * mu * share / n)
    assert values.argmin() == 811
    assert gao_zhou_bound(margins, 10, 0.05).value == pytest.approx(values.min(), rel=1e-12)


@both
def test_classes_of_any_size_are_allowed(name):
    size = 10**10_000 + 7
    bound = BOUNDS[name](margins_of("large", 100_000), size, 0.05)
    assert math.isfinite(bound.value)
    assert bound.n_hypotheses == size
    assert bound.value == pytest.approx(float(exact(name, bound, margins_of("large", 100_000))))


@both
def test_the_bound_is_not_cut_at_one(name):
    assert BOUNDS[name](margins_of("wrong", 20), 10, 0.05).value > 1


@both
def test_the_order_of_rows_and_rounding_above_one_make_no_difference(name):
    margins = margins_of("few values", 1000)
    bound = BOUNDS[name](margins, 10, 0.05)
    assert BOUNDS[name](margins[::-1], 10, 0.05) == bound
    assert BOUNDS[name](np.where(margins == 1.0, 1 + 2**-52, margins), 10, 0.05) == bound


@both
@pytest.mark.parametrize(
    ("margins", "n_hypotheses", "delta", "message"),
    [
        (
            [0.1] * 5 + [1.5],
            10,
            0.05,
            r"margins\[5\]=1.5 is not allowed: a normalised margin is >= -1 and <= 1",
        ),
        ([np.nan] * 5, 10, 0.05, r"margins\[0\]=nan"),
        ([], 10, 0.05, r"margins has shape \(0,\); it must be one-dimensional"),
        ([[0.1]], 10, 0.05, r"margins has shape \(1, 1\)"),
        ([0.1] * 5, 0, 0.05, r"n_hypotheses=0 is not allowed: it must be an integer >= 1"),
        ([0.1] * 5, 2.5, 0.05, r"n_hypotheses=2.5"),
        ([0.1] * 5, 10, 0.0, r"delta=0.0 is not allowed: it must be a number > 0 and < 1"),
    ],
)
def test_wrong_arguments_are_named(name, margins, n_hypotheses, delta, message):
    with pytest.raises(ValueError, match=message):
        BOUNDS[name](margins, n_hypotheses, delta)


def test_the_bound_of_gao_and_zhou_needs_five_rows():
    with pytest.raises(ValueError, match="margins has 4 rows; the bound of Gao and Zhou requires at least 5"):
        gao_zhou_bound([0.5] * 4, 10, 0.05)
