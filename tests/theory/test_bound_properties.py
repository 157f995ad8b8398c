"""Bounds are monotonic in every argument."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.theory import deviations, growth, margin_bounds, vote_bounds
from hedgerow.theory.class_bounds import growth_bound, stump_bound, tree_bound, vc_bound

ROUNDING = 1e-12

shares = st.floats(0.0, 1.0)
deltas = st.floats(1e-12, 0.999)
divergences = st.floats(0.0, 1e3)
sizes = st.integers(1, 10**9)
columns = st.integers(1, 10**5)
rounds = st.integers(1, 10**4)
dimensions = st.integers(1, 1000)
flags = st.booleans()
factors = st.integers(1, 1000)


quick = settings(deadline=None, derandomize=True, max_examples=40)


def ordered(values):
    return st.tuples(values, values).map(sorted)


def not_above(small, large):
    assert small <= large + ROUNDING * abs(large)


@quick
@given(ordered(sizes), ordered(dimensions), ordered(rounds))
def test_growth_rises_with_points_dimension_and_rounds(m, d, T):
    not_above(growth.sauer(m[0], d[0]), growth.sauer(m[1], d[1]))
    not_above(growth.boosted_growth(m[0], d[0], T[0]), growth.boosted_growth(m[1], d[1], T[1]))
    not_above(
        growth.boosted_vc_dimension(T[0] + 2, d[0] + 2), growth.boosted_vc_dimension(T[1] + 2, d[1] + 2)
    )


@quick
@given(ordered(sizes), ordered(columns), ordered(st.integers(1, 500)), ordered(rounds), flags)
def test_counts_rise_with_points_columns_leaves_rounds_and_missing_values(m, c, leaves, T, missing):
    less, more = {"missing": False}, {"missing": missing}
    not_above(growth.stump_growth(m[0], c[0], **less), growth.stump_growth(m[1], c[1], **more))
    not_above(
        growth.tree_growth(m[0], c[0], leaves[0], **less), growth.tree_growth(m[1], c[1], leaves[1], **more)
    )
    not_above(
        growth.boosted_stump_growth(m[0], c[0], T[0], **less),
        growth.boosted_stump_growth(m[1], c[1], T[1], **more),
    )
    not_above(
        growth.boosted_tree_growth(m[0], c[0], leaves[0], T[0], **less),
        growth.boosted_tree_growth(m[1], c[1], leaves[1], T[1], **more),
    )
    assert growth.stump_vc_dimension(c[0], **less) <= growth.stump_vc_dimension(c[1], **more)
    assert growth.tree_vc_dimension(c[0], leaves[0], **less) <= growth.tree_vc_dimension(
        c[1], leaves[1], **more
    )


@quick
@given(ordered(sizes), ordered(dimensions), columns, st.integers(1, 100), ordered(rounds), ordered(deltas))
def test_deviations_fall_with_rows_and_delta_and_rise_with_rounds_and_dimension(m, d, c, leaves, T, delta):
    small = {"m": m[1], "delta": delta[1]}
    large = {"m": m[0], "delta": delta[0]}
    not_above(vc_bound(D=d[0], **small), vc_bound(D=d[1], **large))
    not_above(growth_bound(d=d[0], T=T[0], **small), growth_bound(d=d[1], T=T[1], **large))
    not_above(stump_bound(n_columns=c, T=T[0], **small), stump_bound(n_columns=c, T=T[1], **large))
    trees = {"n_columns": c, "n_leaves": leaves}
    not_above(tree_bound(T=T[0], **trees, **small), tree_bound(T=T[1], **trees, **large))


@quick
@given(shares, ordered(shares))
def test_kl_grows_away_from_q_and_is_zero_only_there(q, p):
    below, above = sorted(min(q, value) for value in p), sorted(max(q, value) for value in p)
    not_above(deviations.binary_kl(q, above[0]), deviations.binary_kl(q, above[1]))
    not_above(deviations.binary_kl(q, below[1]), deviations.binary_kl(q, below[0]))
    assert deviations.binary_kl(q, p[0]) >= 0.0


@quick
@given(ordered(shares), ordered(divergences))
def test_inverses_of_kl_enclose_q_and_widen(q, c):
    not_above(deviations.kl_upper(q[0], c[0]), deviations.kl_upper(q[1], c[1]))
    not_above(deviations.kl_lower(q[0], c[1]), deviations.kl_lower(q[1], c[0]))
    for share, amount in zip(q, c, strict=True):
        lower, upper = deviations.kl_lower(share, amount), deviations.kl_upper(share, amount)
        assert 0.0 <= lower <= share <= upper <= 1.0
        assert deviations.binary_kl(share, upper) >= amount or upper == share == 1.0
        assert deviations.binary_kl(share, lower) >= amount or lower == share == 0.0


@quick
@given(st.integers(1, 10**9), st.data(), ordered(deltas))
def test_the_holdout_bound_rises_with_errors_and_falls_with_delta(n, data, delta):
    k = data.draw(ordered(st.integers(0, n)))
    small, large = deviations.holdout_bound(k[0], n, delta[1]), deviations.holdout_bound(k[1], n, delta[0])
    assert small <= large * (1 + 1e-8)
    assert large <= deviations.kl_upper(k[1] / n, -math.log(delta[0]) / n) * (1 + 1e-8)
    assert deviations.holdout_bound(k[0], n + 1, delta[1]) <= small * (1 + 1e-8)


@quick
@given(ordered(shares), ordered(sizes), ordered(divergences), ordered(deltas))
def test_first_and_second_order_bounds_are_monotonic(mean, n, kl, delta):
    for bound in (vote_bounds.first_order_bound, vote_bounds.tandem_bound):
        small, large = bound(mean[0], n[1], kl[0], delta[1]), bound(mean[1], n[0], kl[1], delta[0])
        not_above(small, large)
        assert 0.0 < small <= large <= 1.0


@st.composite
def votes(draw):
    """Losses of a few voters, hence means that do not contradict each other."""
    rows, voters = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    losses = (rng.random((rows, voters)) < draw(shares) * rng.random((rows, 1))).astype(float)
    rho = rng.dirichlet(np.ones(voters))
    W = losses @ rho
    return float(W.mean()), float((W * W).mean())


@quick
@given(votes(), ordered(sizes), ordered(sizes), ordered(divergences), ordered(deltas), shares)
def test_bounds_of_two_means_are_monotonic(vote, n, n_pairs, kl, delta, more):
    gibbs, tandem = vote
    disagreement = max(0.0, 2 * gibbs - 2 * tandem)
    small, large = (n[1], n_pairs[1], kl[0], delta[1]), (n[0], n_pairs[0], kl[1], delta[0])
    one = vote_bounds.c_bound(gibbs, disagreement, *small)
    not_above(one, vote_bounds.c_bound(gibbs, disagreement, *large))
    not_above(one, vote_bounds.c_bound(gibbs, disagreement * more, *small))
    not_above(one, vote_bounds.c_bound(gibbs + more * (1 - gibbs), disagreement, *small))
    one = vote_bounds.chebyshev_cantelli_bound(gibbs, tandem, *small)
    not_above(one, vote_bounds.chebyshev_cantelli_bound(gibbs, tandem, *large))
    not_above(one, vote_bounds.chebyshev_cantelli_bound(gibbs, tandem + more * (1 - tandem), *small))
    assert 0.0 < one <= 1.0


@quick
@given(
    st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=60),
    ordered(factors),
    ordered(st.integers(1, 10**40)),
    ordered(deltas),
    shares,
)
def test_margin_bounds_are_monotonic(margins, repeats, n_hypotheses, delta, shift):
    for bound in (margin_bounds.schapire_bound, margin_bounds.gao_zhou_bound):
        small = bound(np.repeat(margins, repeats[1]), n_hypotheses[0], delta[1]).value
        large = bound(np.repeat(margins, repeats[0]), n_hypotheses[1], delta[0]).value
        assert small <= large * (1 + 1e-6)
        shifted = np.repeat(np.clip(np.array(margins) - shift, -1.0, 1.0), repeats[0])
        assert large <= bound(shifted, n_hypotheses[1], delta[0]).value * (1 + 1e-6)
