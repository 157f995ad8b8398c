"""The other kernels by Python bodies: losses, quantiles of leaves, draws, weights of voters, keys."""

import numpy as np
import pytest
from scipy import sparse

import loss_cases
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionStump,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import bootstrap_counts, weighted_counts
from hedgerow.kernels.cpu import adaboost, elementary, vote_weights
from hedgerow.vision.detections import group_rectangles
from model_cases import assert_same, numbers
from python_bodies import both_ways, python_bodies
from remote_tables import ShardedInput

AWKWARD = [0.0, -0.0, 5e-324, 1e-310, -1e-12, 0.5, 1.0, -1.0, 3.7, -40.0, 709.0, 711.0, -745.0, -1e300, 1e300]
AWKWARD += [np.inf, -np.inf, np.nan]


def check(case):
    compiled, python = both_ways(case)
    assert_same(python, compiled)
    return python


@pytest.mark.parametrize("name", ["exp", "exp_clamped", "log", "log1p", "sigmoid"])
def test_elementary_functions_have_the_same_bits(name):
    def case():
        function = getattr(elementary, name)
        found = np.array([function(x) for x in AWKWARD])
        return np.where(np.isnan(found), np.nan, found).view(np.int64)  # a NaN may have either sign

    check(case)


@pytest.mark.parametrize("name", loss_cases.MAKERS)
def test_losses_gradients_and_hessians_have_the_same_bits(name):
    def case():
        loss = loss_cases.MAKERS[name]()
        y, raw = loss_cases.sample(loss)
        raw[:, :3] = [1e4, -1e4, 0.0]
        if name == "exponential":
            raw /= 4
        weight = np.arange(len(y)) % 3 + 0.5
        rows, starts = loss_cases.leaves(len(y))
        found = (*loss_cases.fill(loss, y, raw), loss.row_losses(y, raw, 0, len(y)), loss.start(y, weight))
        return (*found, loss.line_search(y, raw, weight, rows, starts))

    check(case)


def test_statistics_of_heavy_tails_are_the_same():
    X, y = numbers(60)
    y = np.exp(4 * y)

    def case():
        model = GradientBoostingRegressor(n_estimators=2, min_samples_leaf=3, max_leaf_nodes=5)
        return model.fit(X, y, sample_weight=np.arange(60) % 4)

    check(case)


def test_trees_of_few_and_of_many_leaves_predict_the_same():
    X, y = numbers(200)
    for leaves in (3, 60):
        model = GradientBoostingRegressor(n_estimators=2, max_leaf_nodes=leaves, min_samples_leaf=1).fit(X, y)
        for rows in (X, X[:3], X.astype(np.float32)):
            compiled, python = both_ways(lambda model=model, rows=rows: model.predict(rows))
            np.testing.assert_array_equal(python, compiled)


@pytest.mark.parametrize("method", ["oob", "jackknife+", "quantiles", "calibrated"])
def test_quantiles_and_intervals_of_a_forest_are_the_same(method):
    X, y = numbers(50)
    model = RandomForestRegressor(15, min_samples_leaf=3, oob_score=True, random_state=0)
    model.fit(X[:40], y[:40], sample_weight=np.arange(40) % 3 + 0.5)
    check(lambda: model.predict_interval(X[30:], 0.8, method))
    if method == "quantiles":
        check(lambda: model.predict_quantiles(X[30:], [0.1, 0.5, 0.9]))


def test_running_medians_are_the_same():
    X, y = numbers(50)
    model = AdaBoostRegressor(n_estimators=6, random_state=0).fit(X, y)
    check(lambda: np.stack(list(model.staged_predict(X))))


def test_weights_of_voters_are_the_same():
    rng = np.random.default_rng(0)
    matrix = rng.random((6, 6))
    matrix = matrix + matrix.T

    def case():
        votes = np.full(6, 1 / 6)
        steps = [
            vote_weights.minimize_objective(matrix, penalty, votes, 200, 1e-14) for penalty in (0.1, 1e-9)
        ]
        return votes, steps, vote_weights.mean_of_pairs(matrix, votes)

    check(case)


def test_draws_are_the_same_and_reject_too_many_of_one_row():
    def case():
        once, weighed = np.empty(40, np.uint8), np.empty(40, np.int64)
        bootstrap_counts(40, 60, 5, 3, once)
        weighted_counts(np.cumsum(np.arange(40)), 60, 5, 3, weighed)
        return once, weighed

    check(case)
    with python_bodies():
        with pytest.raises(OverflowError):
            bootstrap_counts(1, 300, 0, 0, np.empty(1, np.uint8))
        with pytest.raises(OverflowError):
            weighted_counts(np.array([5]), 300, 0, 0, np.empty(1, np.uint8))


def test_keys_of_rows_are_the_same_dense_and_sparse():
    X, y = numbers(30)
    X[X < 0] = 0
    X = np.nan_to_num(X)

    def case():
        tables = [RawTable.of(rows, "a test") for rows in (X, sparse.csr_array(X))]
        return [table.row_keys(y) for table in tables]

    dense, of_sparse = check(case)
    np.testing.assert_array_equal(dense, of_sparse)


def test_a_stump_that_finds_nothing_is_the_same():
    check(lambda: DecisionStump().fit(np.zeros((9, 2)), np.arange(9) % 2))


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_weak_trees_on_shards_are_the_same(kind):
    X, y = numbers()
    target = y if kind is AdaBoostRegressor else (y > np.median(y)).astype(int)
    check(lambda: kind(n_estimators=2, random_state=0).fit(ShardedInput(X, target)))


@pytest.mark.parametrize("copies", [None, np.arange(20) % 3])
def test_sums_and_rounded_moments_are_the_same(copies):
    rng = np.random.default_rng(0)
    values, targets = rng.random(20), rng.normal(size=20)
    values[3] = 0
    times = np.empty(0) if copies is None else copies.astype(float)

    def case():
        weight, second, rounded = (np.empty(20, np.int64) for _ in range(3))
        adaboost.round_moments(values, targets, times, 2.0**40, 2.0**10, weight, second)
        adaboost.round_weights(values, times, 2.0**40, rounded)
        return weight, second, rounded, adaboost.weighted_sum(values, times)

    check(case)


def test_rectangle_inside_another_is_removed():
    outer = np.tile([10, 10, 60, 60], (9, 1))
    inner = np.tile([30, 30, 14, 14], (2, 1))
    compiled, python = both_ways(lambda: group_rectangles(np.concatenate([outer, inner]), 1))
    for one, other in zip(compiled, python, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(python.rectangles) == 1
