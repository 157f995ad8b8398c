"""Numbers of labelings, counted one by one, and the bounds that follow from them."""

import itertools
import math

import numpy as np
import pytest

import oracle_bounds as oracle
from hedgerow.theory.class_bounds import growth_bound, growth_deviation, stump_bound, tree_bound, vc_bound
from hedgerow.theory.growth import (
    boosted_growth,
    boosted_stump_growth,
    boosted_tree_growth,
    boosted_vc_dimension,
    sauer,
    stump_growth,
    stump_vc_dimension,
    threshold_vc_dimension,
    tree_growth,
    tree_vc_dimension,
)

ROUNDING = 1 + 1e-12
LN2 = math.log(2)


def tables(n_tables, most_points, most_columns, *, missing, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_tables):
        X = rng.permuted(np.tile(np.arange(most_points), (most_columns, 1)), axis=1).T.astype(float)
        X = X[: rng.integers(1, most_points + 1), : rng.integers(1, most_columns + 1)]
        if rng.random() < 0.3:
            X = np.floor(X / 2)  # equal values
        if missing:
            X[rng.random(X.shape) < rng.choice([0.1, 0.4, 0.9])] = np.nan
        yield X


def test_sauer_is_never_below_the_sum_of_binomials():
    for m, d in itertools.product(range(1, 60), range(1, 30)):
        truth = math.log(sum(math.comb(m, i) for i in range(min(m, d) + 1)))
        assert truth <= sauer(m, d) * ROUNDING
    assert sauer(1000, 3) == pytest.approx(3 * math.log(math.e * 1000 / 3))
    assert sauer(4, 9) == pytest.approx(4 * LN2)


@pytest.mark.parametrize("missing", [False, True])
def test_stumps_have_no_more_labelings_than_counted(missing):
    most = 0.0
    for X in tables(150, 7, 3, missing=missing):
        count = len(oracle.stump_labelings(X))
        bound = math.exp(stump_growth(*X.shape, missing=missing))
        assert count <= bound * ROUNDING
        most = max(most, count / bound if len(X) > 4 else 0.0)
    assert most > 0.8  # hence the count is not far too large


@pytest.mark.parametrize("m", range(1, 9))
def test_counts_of_stumps_in_one_column_are_exact(m):
    X = np.arange(float(m))[:, np.newaxis]
    assert math.exp(stump_growth(m, 1)) == pytest.approx(len(oracle.stump_labelings(X)))
    X[0] = np.nan
    assert math.exp(stump_growth(m, 1, missing=True)) == pytest.approx(len(oracle.stump_labelings(X)))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 4])
def test_trees_have_no_more_labelings_than_counted(n_leaves, missing):
    for X in tables(25, 7, 2, missing=missing, seed=n_leaves):
        count = len(oracle.tree_labelings(X, n_leaves))
        assert count <= math.exp(tree_growth(*X.shape, n_leaves, missing=missing)) * ROUNDING


def test_tree_counts_hold_for_more_points_than_they_can_shatter():
    X = np.arange(24.0)[:, np.newaxis]
    for n_leaves in (2, 3):
        bound = tree_growth(24, 1, n_leaves)
        assert bound < 23 * LN2
        assert math.log(len(oracle.tree_labelings(X, n_leaves))) <= bound


def test_tree_growth_is_the_documented_product():
    catalan = [1, 1, 2, 5, 14, 42, 132]
    for n_leaves, m, columns in itertools.product(range(1, 8), (1000, 10**6), (1, 30)):
        for missing in (False, True):
            cuts = (1 + missing) * columns * (m - 1) + 1
            exact = math.log(catalan[n_leaves - 1] * cuts ** (n_leaves - 1) * 2**n_leaves)
            assert tree_growth(m, columns, n_leaves, missing=missing) == pytest.approx(exact, rel=1e-14)


def test_majorities_of_three_stumps_have_no_more_labelings_than_counted():
    m = 40
    weak = np.array(sorted(oracle.stump_labelings(np.arange(float(m))[:, np.newaxis])), np.int64)
    a, b, c = weak[:, None, None], weak[None, :, None], weak[None, None, :]
    votes = np.unique((a & b) | (a & c) | (b & c))
    bound = boosted_stump_growth(m, 1, 3)
    assert bound < (m - 1) * LN2
    assert math.log(len(votes)) <= bound <= boosted_tree_growth(m, 1, 2, 3)


def test_boosted_growth_is_the_product_of_both_steps():
    m, d, T = 10**6, 5, 200
    weak, outer = d * math.log(math.e * m / d), T * math.log(math.e * m / T)
    assert boosted_growth(m, d, T) == pytest.approx(T * weak + outer)
    assert boosted_stump_growth(m, 7, T) == pytest.approx(T * math.log(2 + 14 * (m - 1)) + outer)
    assert boosted_tree_growth(m, 7, 4, T) == pytest.approx(T * tree_growth(m, 7, 4) + outer)


def test_no_growth_is_above_all_labelings():
    for m in (1, 2, 3, 10, 100):
        cap = m * LN2 * ROUNDING
        for T in (1, 3, 50, 10**4):
            assert boosted_growth(m, 4, T) <= cap
            assert boosted_stump_growth(m, 10**6, T, missing=True) <= cap
            assert boosted_tree_growth(m, 10**6, 64, T) <= cap
        assert stump_growth(m, 10**6) <= cap
        assert tree_growth(m, 10**6, 64) <= cap


def test_large_sizes_do_not_overflow():
    m, T = 10**9, 10**4
    assert math.isfinite(boosted_vc_dimension(T, 100))
    for value in (
        vc_bound(m, boosted_vc_dimension(T, 100), 1e-12),
        growth_bound(m, 100, T, 1e-12),
        stump_bound(m, 10**6, T, 1e-12, missing=True),
        tree_bound(m, 10**6, 1000, T, 1e-12),
    ):
        assert 0 < value < 5


def test_vc_dimension_of_thresholds_by_counting():
    def shattered(m, labelings):
        return len(labelings) == 2**m

    X = np.arange(3.0)[:, np.newaxis]
    for m in (1, 2, 3):
        assert shattered(m, oracle.stump_labelings(X[:m])) == (m <= threshold_vc_dimension())
        assert shattered(m, oracle.sides(X[:m])) == (m <= threshold_vc_dimension(polarity=False))


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_stumps_shatter_as_many_points_as_their_vc_dimension_and_no_more(n_columns):
    size = stump_vc_dimension(n_columns)
    assert size == n_columns + 1

    def shatters(X):
        return len(oracle.stump_labelings(X)) == 2 ** len(X)

    assert any(shatters(X) for X in oracle.orders(size, n_columns))
    assert not any(shatters(X) for X in oracle.orders(size + 1, n_columns))


def test_five_columns_shatter_five_points():
    turns = [np.roll([0, 1, 3, 2, 4], 0) for _ in range(5)]
    X = np.column_stack(
        [(np.argsort(order) * 1.0)[np.roll(np.arange(5), i)] for i, order in enumerate(turns)]
    )
    assert stump_vc_dimension(4) == 4
    assert stump_vc_dimension(5) == 5
    assert len(oracle.stump_labelings(X)) == 2**5


def test_a_missing_value_makes_three_points_of_one_column_shattered():
    X = np.array([[np.nan], [0.0], [1.0]])
    assert len(oracle.stump_labelings(X)) == 2**3
    assert stump_vc_dimension(1, missing=True) == 3
    for absent in range(5):  # all tables of four points, up to their names
        X = np.arange(4.0)[:, np.newaxis]
        X[:absent] = np.nan
        assert len(oracle.stump_labelings(X)) < 2**4


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n_columns", "n_leaves"), [(1, 1), (1, 2), (1, 4), (2, 3), (30, 8), (10**6, 1000)])
def test_tree_vc_dimension_is_the_largest_with_all_labelings(n_columns, n_leaves, missing):
    size = tree_vc_dimension(n_columns, n_leaves, missing=missing)
    nodes = n_leaves - 1
    shapes = math.comb(2 * nodes, nodes) // n_leaves

    def count(m):
        return shapes * ((1 + missing) * n_columns * (m - 1) + 1) ** nodes * 2**n_leaves

    assert 2**size <= count(size)
    assert 2 ** (size + 1) > count(size + 1)


def test_no_more_points_are_shattered_by_trees_than_their_vc_dimension():
    for n_columns, n_leaves in [(1, 2), (1, 3), (2, 2), (2, 3)]:
        shattered = [
            m
            for m in range(1, 6)
            if any(len(oracle.tree_labelings(X, n_leaves)) == 2**m for X in oracle.orders(m, n_columns))
        ]
        assert max(shattered) >= n_leaves
        assert max(shattered) <= tree_vc_dimension(n_columns, n_leaves)


def test_deviation_inverts_the_symmetrised_bound():
    m, delta = 5000, 0.03
    eps = growth_deviation(stump_growth(2 * m, 4), m, delta)
    assert math.log(4) + stump_growth(2 * m, 4) - m * eps**2 / 8 == pytest.approx(math.log(delta))
    D = boosted_vc_dimension(10, 3)
    assert pytest.approx(40 * (3 * math.log(40) + 2)) == D
    formula = math.sqrt(8 / 10**5 * (D * math.log(2 * math.e * 10**5 / D) + math.log(4 / delta)))
    assert vc_bound(10**5, D, delta) == pytest.approx(formula)
    assert vc_bound(10, 1000, 0.05) > 1  # fewer rows than half the dimension: it is vacuous


def test_direct_counts_are_tighter_than_vc_dimensions():
    m, T, delta = 10**6, 100, 0.05
    by_dimension = vc_bound(m, boosted_vc_dimension(T, 3), delta)
    by_growth = growth_bound(m, stump_vc_dimension(2), T, delta)
    by_count = stump_bound(m, 2, T, delta)
    assert by_count < by_growth < by_dimension


def test_arrays_are_broadcast_and_scalars_are_floats():
    m, T = np.array([[10], [10**4], [10**9]]), np.array([1, 50, 10**4])
    for function, arguments in [
        (boosted_growth, (3,)),
        (growth_bound, (3,)),
        (boosted_stump_growth, (6,)),
        (stump_bound, (6,)),
        (boosted_tree_growth, (6, 4)),
        (tree_bound, (6, 4)),
    ]:
        more = (0.05,) if function.__name__.endswith("bound") else ()
        found = function(m, *arguments, T, *more)
        assert found.shape == (3, 3)
        one = function(10**4, *arguments, 50, *more)
        assert isinstance(one, float)
        assert one == found[1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sauer(0, 3), r"m=0 is not allowed: it must be an integer >= 1"),
        (lambda: sauer(2.5, 3), r"m=2.5 is not allowed"),
        (lambda: sauer(True, 3), r"m=True"),
        (lambda: sauer(5, 0.5), r"d=0.5 is not allowed: it must be a number >= 1"),
        (lambda: sauer(5, math.nan), r"d=nan"),
        (lambda: boosted_growth(5, 3, 0), r"T=0 is not allowed"),
        (lambda: boosted_vc_dimension(2, 3), r"T=2 is not allowed: it must be an integer >= 3"),
        (lambda: boosted_vc_dimension(3, 2), r"d=2 is not allowed: it must be a number >= 3"),
        (lambda: stump_growth(5, 0), r"n_columns=0 is not allowed"),
        (
            lambda: stump_growth(5, 1, missing="yes"),
            r"missing='yes' is not allowed: it must be True or False",
        ),
        (lambda: tree_growth(5, 1, 0), r"n_leaves=0 is not allowed"),
        (lambda: tree_growth(5, 1, 2, missing=2), r"missing=2"),
        (lambda: threshold_vc_dimension(3), r"polarity=3 is not allowed"),
        (lambda: stump_vc_dimension(0), r"n_columns=0 is not allowed: it must be an integer >= 1"),
        (lambda: tree_vc_dimension(1, 0), r"n_leaves=0 is not allowed"),
        (lambda: growth_deviation(-1.0, 5, 0.05), r"log_growth_2m=-1.0 is not allowed"),
        (lambda: vc_bound(5, 1, 0.0), r"delta=0.0 is not allowed: it must be a number > 0 and < 1"),
        (lambda: vc_bound(0, 1, 0.1), r"m=0 is not allowed"),
        (lambda: growth_bound([3, -1], 1, 2, 0.1), r"m=\[3, -1\] is not allowed"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
