"""Row sampling by gradients and by the Bayesian bootstrap, compared with plain Python."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow.backends.row_sampling import RowSampler, bayesian_weights, top_count
from hedgerow.growing.grower import Weights
from hedgerow.kernels.cpu.random import ROW_WEIGHTS, draw, draw_positions

ROWS = 300


def sampler(sampling, subsample=0.3, temperature=1.0, sample_weight=None):
    options = SimpleNamespace(sampling=sampling, subsample=subsample, bagging_temperature=temperature, seed=7)
    return RowSampler(options, Weights.of(sample_weight, ROWS), ROWS)


def gradients(n_outputs=1):
    return np.random.default_rng(0).normal(size=(n_outputs, ROWS)).round(2)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("weighting", ["none", "copies", "shares"])
def test_rows_of_large_gradients_are_kept(n_outputs, weighting):
    rng = np.random.default_rng(1)
    weight = {"none": None, "copies": rng.integers(0, 3, ROWS) * 1.0, "shares": rng.random(ROWS)}[weighting]
    gradient = gradients(n_outputs)
    rows, factors = sampler("gradient", sample_weight=weight).draw(gradient, 4)
    own = np.ones(ROWS) if weight is None else weight
    training = [row for row in range(ROWS) if own[row] > 0]
    size = {row: sum(abs(one) for one in gradient[:, row].tolist()) * own[row] for row in training}
    n_top = math.ceil(0.2 * len(training))
    top = sorted(training, key=lambda row: (-size[row], row))[:n_top]
    fraction = (0.3 * len(training) - n_top) / (len(training) - n_top)
    drawn = {training[position] for position in draw_positions(len(training), fraction, 7, 4).tolist()}
    assert rows.tolist() == sorted(drawn | set(top))
    expected = np.ones(ROWS)
    expected[sorted(drawn - set(top))] = 1.0 / fraction
    assert np.array_equal(factors, expected)


def test_sums_are_unbiased():
    gradient, sums = gradients(), []
    for iteration in range(400):
        rows, factors = sampler("gradient").draw(gradient, iteration)
        sums.append((gradient[0, rows] * factors[rows]).sum())
    error = np.std(sums) / math.sqrt(len(sums))
    assert abs(np.mean(sums) - gradient.sum()) < 4 * error


def test_equal_gradients_and_few_rows():
    rows, _ = sampler("gradient").draw(np.ones((1, ROWS)), 0)
    assert set(range(60)) <= set(rows.tolist())  # of equal ones the first
    options = SimpleNamespace(sampling="gradient", subsample=0.1, bagging_temperature=1.0, seed=7)
    rows, factors = RowSampler(options, Weights.of(None, 3), 3).draw(np.array([[1.0, -3.0, 2.0]]), 0)
    assert (rows.tolist(), factors.tolist()) == ([1], [1.0, 1.0, 1.0])
    assert top_count(3, 0.1) == 1


def test_bayesian_weights_are_powers_of_exponential_draws():
    weight = np.ones(ROWS)
    weight[:50] = 0.0
    rows, factors = sampler("bayesian", 1.0, 0.7, weight).draw(gradients(), 3)
    assert rows.tolist() == list(range(50, ROWS))
    uniform = [((draw(7, ROW_WEIGHTS, 3, position) >> 12) + 0.5) / 2.0**52 for position in range(250)]
    assert np.allclose(factors[50:], [(-math.log(u)) ** 0.7 for u in uniform], rtol=1e-12)
    assert np.all(factors[:50] == 1.0)
    part, same = sampler("bayesian", 0.5, 0.7, weight).draw(gradients(), 3)
    assert np.array_equal(same, factors)
    assert 90 < len(part) < 160


def test_mean_of_bayesian_weights():
    draws = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64)
    assert abs(bayesian_weights(draws, 1.0).mean() - 1.0) < 0.03
    assert np.all(np.isfinite(bayesian_weights(np.array([0, 2**64 - 1], np.uint64), 10.0)))


def test_uniform_draws_are_among_the_rows_with_weight():
    weight = np.ones(ROWS)
    weight[:50] = 0.0
    weights = Weights.of(weight, ROWS)
    assert np.array_equal(weights.draw(0.3, 7, 2), 50 + draw_positions(ROWS - 50, 0.3, 7, 2))
    assert np.array_equal(weights.draw(1.0, 7, 2), np.arange(50, ROWS))
