"""Prediction intervals, compared with plain Python that follows the papers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forest_cases import GrownForest
from hedgerow.bagging.intervals import (
    JackknifePlus,
    OutOfBagTrees,
    between_levels,
    calibrated_levels,
    check_coverage,
    check_method,
    check_quantiles,
    jackknife_interval,
    oob_interval,
    quantile_interval,
)
from hedgerow.kernels.cpu.leaf_targets import nth_smallest, predict_trees
from hedgerow.table import read_table
from hedgerow.voting import EncodedRows


def jackknife_oracle(predictions, in_bag, residuals, coverage):
    """Bounds for one row: predictions (trees,), in_bag (trees, n)."""
    n_trees, n = in_bag.shape
    below, above = [], []
    for i in range(n):
        others = [predictions[tree] for tree in range(n_trees) if not in_bag[tree, i]]
        if others and not math.isnan(residuals[i]):
            mean = math.fsum(others) / len(others)
            below.append(mean - abs(residuals[i]))
            above.append(mean + abs(residuals[i]))
    rank = math.ceil(coverage * (len(above) + 1) - 1e-9)
    if rank > len(above):
        return -math.inf, math.inf
    lower, upper = sorted(below, reverse=True)[rank - 1], sorted(above)[rank - 1]
    return (lower, upper) if lower <= upper else ((lower + upper) / 2,) * 2


def oob_oracle(residuals, coverage):
    residuals = sorted(r for r in residuals if not math.isnan(r))
    rank = math.ceil((1 + coverage) / 2 * (len(residuals) + 1) - 1e-9)
    if rank > len(residuals):
        return -math.inf, math.inf
    return residuals[-rank], residuals[rank - 1]


def in_bag_of(in_bag):
    return np.packbits(in_bag, axis=1, bitorder="little")


def jackknife_plus(predictions, trees, residuals, coverage):
    lower, upper = np.empty(len(predictions)), np.empty(len(predictions))
    JackknifePlus(trees, residuals, coverage).bounds(predictions, lower, upper)
    return lower, upper


def tree_predictions(forest, rows):
    """Predictions (rows, trees) of a forest with one output."""
    out = np.empty((rows.n_rows, forest.n_trees))
    forest.over_leaves(
        rows, 1, rows.n_rows, lambda leaves, a, b: predict_trees(leaves, forest.trees, out[a:b])
    )
    return out


class Grown(GrownForest):
    """A forest on noisy data, and its out-of-bag predictions."""

    def __init__(self, n_rows=300, n_trees=60, n_test=400):
        rng = np.random.default_rng(5)
        X = rng.uniform(size=(n_rows + n_test, 2))
        y = 3 * X[:, 0] + rng.normal(size=len(X))
        draws = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=n_trees)
        super().__init__(X[:n_rows], y[:n_rows], draws)
        self.y_test, self.test_rows = y[n_rows:], EncodedRows(read_table(X[n_rows:]), self.bins)
        self.oob_trees = OutOfBagTrees.of(in_bag_of(draws > 0), n_rows)
        out = draws.T == 0
        predicted = tree_predictions(self.forest, self.rows)
        self.residuals = self.y - (predicted * out).sum(axis=1) / out.sum(axis=1)
        self.predictions = tree_predictions(self.forest, self.test_rows)

    def covered(self, bounds):
        lower, upper = bounds
        return float(np.mean((lower <= self.y_test) & (self.y_test <= upper)))


@pytest.fixture(scope="module")
def grown():
    return Grown()


# --- order statistics


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5, 5) | st.floats(-1e9, 1e9), min_size=1, max_size=40), st.data())
def test_the_nth_smallest_is_that_of_the_sorted_values(values, data):
    n = data.draw(st.integers(0, len(values) - 1))
    mixed = np.array(values, float)
    assert nth_smallest(mixed, n) == sorted(values)[n]
    assert sorted(mixed) == sorted(values)


@pytest.mark.parametrize("values", [np.zeros(1000), np.arange(1000.0), np.arange(1000.0)[::-1]])
def test_the_nth_smallest_of_values_in_order(values):
    assert nth_smallest(values.copy(), 300) == np.sort(values)[300]


# --- out of bag


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-9, 9).map(float) | st.just(math.nan), max_size=40),
    st.sampled_from([0.1, 0.5, 0.7, 0.8, 0.9, 0.95]),
)
def test_out_of_bag_bounds_are_order_statistics(residuals, coverage):
    lower, upper = oob_interval(np.array([2.0, 5.0]), np.array(residuals), coverage)
    low, high = oob_oracle(residuals, coverage)
    assert lower.tolist() == [2.0 + low, 5.0 + low]
    assert upper.tolist() == [2.0 + high, 5.0 + high]


def test_skewed_residuals_give_skewed_bounds():
    lower, upper = oob_interval(np.zeros(1), np.arange(99.0), 0.9)
    assert (lower[0], upper[0]) == (4.0, 94.0)


def test_weights_of_residuals_count_in_proportion():
    residuals, zero = np.arange(39.0), np.zeros(1)
    plain = oob_interval(zero, residuals, 0.8)
    assert oob_interval(zero, residuals, 0.8, np.full(39, 0.3)) == plain
    weight = np.where(residuals < 20, 1.0, 0.0)
    assert oob_interval(zero, residuals, 0.8, weight) == oob_interval(zero, residuals[:20], 0.8)
    heavy = np.where(residuals > 34, 100.0, 1.0)
    lower, upper = oob_interval(zero, residuals, 0.8, heavy)
    assert lower[0] > plain[0][0]
    assert upper[0] == 38.0


# --- jackknife+


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 12),
    st.sampled_from([0.2, 0.5, 0.7, 0.8, 0.9]),
    st.integers(0, 2**32 - 1),
)
def test_jackknife_bounds_are_those_of_the_paper(n_trees, n, coverage, seed):
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=(3, n_trees))
    in_bag = rng.random((n_trees, n)) < 0.6
    residuals = np.where(rng.random(n) < 0.1, math.nan, rng.normal(size=n))
    found = jackknife_plus(predictions, OutOfBagTrees.of(in_bag_of(in_bag), n), residuals, coverage)
    expected = [jackknife_oracle(row, in_bag, residuals, coverage) for row in predictions]
    np.testing.assert_allclose(np.column_stack(found), expected, rtol=1e-12, atol=1e-12)


def test_out_of_bag_trees():
    in_bag = np.random.default_rng(0).random((19, 37)) < 0.5
    left_out = OutOfBagTrees.of(in_bag_of(in_bag), 37)
    bits = np.unpackbits(left_out.bits, axis=1, bitorder="little")
    assert np.array_equal(bits[:, :19], ~in_bag.T)
    assert not bits[:, 19:].any()
    assert np.array_equal(left_out.counts, np.sum(~in_bag, axis=0))


def test_too_few_rows_give_infinite_bounds():
    left_out = OutOfBagTrees.of(in_bag_of(np.zeros((2, 5), bool)), 5)
    for bounds in (
        jackknife_plus(np.zeros((1, 2)), left_out, np.ones(5), 0.9),
        oob_interval(np.zeros(1), np.ones(5), 0.9),
        oob_interval(np.zeros(1), np.ones(5), 0.9, np.ones(5)),
    ):
        assert [bound.tolist() for bound in bounds] == [[-math.inf], [math.inf]]


def test_rows_in_every_bag_are_ignored(grown):
    residuals, in_bag = grown.residuals.copy(), grown.draws > 0
    in_bag[:, :10], residuals[:10] = True, math.nan
    fewer = OutOfBagTrees.of(in_bag_of(in_bag[:, 10:]), 290)
    found = jackknife_plus(grown.predictions, OutOfBagTrees.of(in_bag_of(in_bag), 300), residuals, 0.8)
    expected = jackknife_plus(grown.predictions, fewer, residuals[10:], 0.8)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_jackknife_bounds_do_not_depend_on_threads(grown, n_threads):
    rows, residuals = grown.test_rows, grown.residuals
    found = jackknife_interval(grown.forest, rows, grown.oob_trees, residuals, 0.9, n_threads)
    assert np.array_equal(found, jackknife_plus(grown.predictions, grown.oob_trees, residuals, 0.9))


def test_tree_predictions_sum_to_the_votes(grown):
    votes = grown.forest.votes(grown.test_rows, 1)[:, 0]
    np.testing.assert_allclose(grown.predictions.sum(axis=1), votes, rtol=1e-12)


# --- coverage


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_coverage_of_new_rows(grown, coverage):
    prediction = grown.predictions.mean(axis=1)
    leaves = grown.leaves()
    bounds = {
        "oob": oob_interval(prediction, grown.residuals, coverage),
        "jackknife+": jackknife_plus(grown.predictions, grown.oob_trees, grown.residuals, coverage),
        "quantiles": quantile_interval(leaves, grown.forest, grown.test_rows, coverage, 1),
    }
    ranks = leaves.ranks(grown.forest, grown.rows, in_bag_of(grown.draws > 0), grown.y, 1)
    levels = calibrated_levels(ranks, coverage)
    bounds["calibrated"] = between_levels(leaves, grown.forest, grown.test_rows, levels, 1)
    # three standard errors of 400 test rows and of 300 residuals
    margin = 3 * math.sqrt(coverage * (1 - coverage) * (1 / 400 + 1 / 300))
    for name, pair in bounds.items():
        assert abs(grown.covered(pair) - coverage) < margin, name


def test_a_quantile_interval_is_a_pair_of_quantiles(grown):
    leaves = grown.leaves()
    found = quantile_interval(leaves, grown.forest, grown.test_rows, 0.5, 1)
    expected = leaves.quantiles(grown.forest, grown.test_rows, np.array([0.25, 0.75]), 1)
    assert np.array_equal(np.column_stack(found), expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.sampled_from([0.3, 0.5, 0.8, 0.9]), st.integers(0, 2**32 - 1))
def test_calibrated_levels_enclose_the_required_share_of_ranks(n, coverage, seed):
    ranks = np.sort(np.random.default_rng(seed).integers(0, 13, (n, 2)) / 12, axis=1)
    low, high = calibrated_levels(ranks, coverage)
    rank = math.ceil((1 + coverage) / 2 * (n + 1) - 1e-9)
    if rank > n:
        assert (low, high) == (-math.inf, math.inf)
        return
    ends = sorted(ranks[:, 1], reverse=True)[rank - 1], sorted(ranks[:, 0])[rank - 1]
    reached = [ends[0] or -math.inf, ends[1] if ends[1] < 1 else math.inf]  # beyond all targets of the leaves
    assert (low, high) == pytest.approx(sorted(reached), abs=1e-9)


def test_a_level_is_above_its_rank():
    ranks = np.full((99, 2), [0.25, 0.5])
    low, high = calibrated_levels(ranks, 0.9)
    assert (low, high) == (0.25 + 2.0**-38, 0.5)  # crossed, hence in order
    ranks = np.column_stack([np.arange(99) / 100, np.arange(1, 100) / 100])
    low, high = calibrated_levels(ranks, 0.9)
    assert (low, high) == (0.05, 0.94 + 2.0**-38)


def test_rows_without_a_rank_or_a_weight_do_not_move_the_levels():
    rng = np.random.default_rng(0)
    ranks = np.sort(rng.random((60, 2)), axis=1)
    expected = calibrated_levels(ranks[:40], 0.8)
    weight = np.repeat([2.0, 0.0], [40, 20])
    assert calibrated_levels(ranks, 0.8, weight) == expected
    ranks[40:] = math.nan
    assert calibrated_levels(ranks, 0.8) == expected


# --- checks


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, math.nan, None, "0.9", True])
def test_a_coverage_outside_of_0_and_1_is_refused(coverage):
    with pytest.raises(ValueError, match=r"coverage=.* is not allowed: it must be a number > 0 and < 1"):
        check_coverage(coverage)


@pytest.mark.parametrize("quantiles", [1.5, [-0.1], [0.5, math.nan], [], [[0.5]], "half", None, [[0.5], []]])
def test_quantiles_outside_of_0_to_1_are_refused(quantiles):
    with pytest.raises(ValueError, match=r"quantiles=.* is not allowed: it must be numbers from 0 to 1"):
        check_quantiles(quantiles)


def test_the_ends_are_quantiles():
    assert check_quantiles([0, 1]).tolist() == [0.0, 1.0]


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="method='exact' is not allowed: it must be 'oob' or 'jackknife"):
        check_method("exact")
