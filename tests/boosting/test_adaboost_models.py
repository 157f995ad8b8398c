"""Weighted medians, at once and member by member, compared with their definition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boosting.adaboost_models import MedianRows, RunningMedians, weighted_medians
from hedgerow.threads import Team

# Eighths are exact in float64: halves of their sums are exact.
eighths = st.integers(1, 40).map(lambda n: n / 8)
any_weight = st.floats(1e-6, 1e6)
few_values = st.integers(-3, 3).map(float)


def defined(values, weights):
    """The smallest value such that members that predict at most this have half of the weight."""
    exact = [Fraction(weight) for weight in weights]
    for value in sorted(values):
        at_most = sum(weight for other, weight in zip(values, exact, strict=True) if other <= value)
        if 2 * at_most >= sum(exact):
            return value
    raise AssertionError


def running(values, weights, n_threads=1):
    """The medians after every member, (members, rows)."""
    with Team(n_threads, chunk_rows=3) as team:
        medians = RunningMedians(len(values), team.over_rows)
        after = []
        for n in range(1, len(weights) + 1):
            medians.add(values[:, n - 1], weights[:n])
            after.append(medians.medians.copy())
    return np.array(after)


@given(st.lists(st.tuples(few_values, eighths), min_size=1, max_size=40))
def test_it_is_the_smallest_value_that_half_of_the_weight_does_not_exceed(members):
    values, weights = zip(*members, strict=True)
    assert weighted_medians(np.array([values]), weights) == [defined(values, weights)]
    staged = running(np.array([values]), weights)[:, 0]
    assert staged.tolist() == [defined(values[:n], weights[:n]) for n in range(1, len(values) + 1)]


@given(st.lists(st.tuples(st.floats(-10, 10), any_weight), min_size=1, max_size=40), st.randoms())
def test_neither_the_order_of_the_members_nor_the_way_changes_a_bit(members, random):
    values, weights = zip(*members, strict=True)
    expected = weighted_medians(np.array([values]), weights)
    assert expected.tobytes() == running(np.array([values]), weights)[-1].tobytes()
    random.shuffle(members)
    values, weights = zip(*members, strict=True)
    assert expected.tobytes() == weighted_medians(np.array([values]), weights).tobytes()


def test_many_rows_members_and_threads():
    random = np.random.default_rng(0)
    values, weights = random.integers(0, 9, (50, 70)).astype(float), random.integers(1, 5, 70) / 4
    expected = [defined(row, weights) for row in values.tolist()]
    assert weighted_medians(values, weights).tolist() == expected
    for n_threads in (1, 2, 4):
        assert running(values, weights, n_threads)[-1].tolist() == expected


def test_exact_halves_go_to_the_smaller_value():
    assert weighted_medians(np.array([[2.0, 1.0]]), [1.0, 1.0]) == [1.0]
    assert weighted_medians(np.array([[4.0, 3.0, 2.0, 1.0]]), [1.0, 1.0, 1.0, 3.0]) == [1.0]


def test_a_weight_beside_which_the_others_vanish_decides_alone():
    assert weighted_medians(np.array([[1.0, 7.0, 3.0]]), [1e-300, 1e300, 1e-300]) == [7.0]


def test_weighted_medians_does_not_change_its_input():
    values = np.array([[3.0, 1.0, 2.0]])
    weighted_medians(values, [1.0, 1.0, 1.0])
    assert values.tolist() == [[3.0, 1.0, 2.0]]


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 0.0])])
def test_median_rows_return_the_weighted_mean_error(weight):
    y = np.array([0.0, 1.0, 5.0])
    with Team(1) as team:
        rows = MedianRows(y, weight, team)
        rows.add(np.array([1.0, 1.0, 1.0]), [2.0])
        assert rows.error() == np.average([1.0, 0.0, 4.0], weights=weight)
        rows.add(np.array([9.0, 3.0, 4.0]), [2.0, 2.5])
        assert rows.error() == np.average([9.0, 2.0, 1.0], weights=weight)
