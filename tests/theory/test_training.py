"""Edges, and the bounds of the training error that follow from them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hedgerow import AdaBoostClassifier, DecisionStump
from hedgerow.datasets import make_hastie
from hedgerow.theory.training import edges, exponential_bound, rounds_to_zero_error, training_error_bound


@pytest.fixture(scope="module")
def fitted():
    X, y = make_hastie(300, random_state=0)
    return AdaBoostClassifier(n_estimators=40).fit(X, y), X, y


def test_edges_are_a_half_less_the_errors_and_a_copy(fitted):
    model, _, _ = fitted
    found = edges(model)
    np.testing.assert_array_equal(found, 0.5 - model.estimator_errors_)
    found[:] = 7.0
    assert np.all(model.edges_ < 0.5)


def test_the_bounds_are_above_the_training_error_of_every_round(fitted):
    model, X, y = fitted
    product = training_error_bound(model.estimator_errors_)
    simple = exponential_bound(edges(model))
    measured = [np.mean(predicted != y) for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(product, model.training_error_bound_, rtol=1e-9)
    assert np.all(measured <= product)
    assert np.all(product <= simple)
    assert product[-1] < simple[-1] < simple[0]


def test_bounds_of_errors_computed_by_hand():
    np.testing.assert_allclose(training_error_bound([0.2, 0.5, 0.1, 0.9]), [0.8, 0.8, 0.48, 0.288])
    np.testing.assert_allclose(exponential_bound([0.5, -0.1]), [math.exp(-0.5), math.exp(-0.52)])
    np.testing.assert_array_equal(training_error_bound([0.3, 0.0, 0.3])[1:], 0.0)
    assert training_error_bound([]).shape == exponential_bound([]).shape == (0,)


@pytest.mark.parametrize("gamma", [0.5, 0.31, 0.1, 0.01, 1e-5])
@pytest.mark.parametrize("m", [1, 2, 3, 1000, 10**9])
def test_fewest_rounds_to_zero_error_is_the_first_that_is_below_one_row(gamma, m):
    rounds = rounds_to_zero_error(gamma, m)
    assert isinstance(rounds, int)
    assert -2 * gamma**2 * rounds < -math.log(m)
    assert rounds == 1 or -2 * gamma**2 * (rounds - 1) >= -math.log(m)


def test_models_without_edges_are_named():
    X, y = make_hastie(50, random_state=0)
    with pytest.raises(TypeError, match="got DecisionStump, which has no edges_"):
        edges(DecisionStump().fit(X, y))
    with pytest.raises(TypeError, match="not an estimator"):
        edges(SimpleNamespace(edges_=[0.1]))
    with pytest.raises(NotFittedError, match="AdaBoostClassifier"):
        edges(AdaBoostClassifier())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: training_error_bound([0.1, 1.5]),
            r"errors\[1\]=1.5 is not allowed: it must be a number >= 0",
        ),
        (lambda: training_error_bound([np.nan]), r"errors\[0\]=nan"),
        (lambda: training_error_bound([[0.1]]), r"errors has shape \(1, 1\); it must be one-dimensional"),
        (lambda: exponential_bound([0.6]), r"edges\[0\]=0.6 is not allowed"),
        (
            lambda: rounds_to_zero_error(0.0, 10),
            r"gamma=0.0 is not allowed: it must be a number > 0 and <= 0.5",
        ),
        (lambda: rounds_to_zero_error(0.6, 10), r"gamma=0.6"),
        (lambda: rounds_to_zero_error(0.1, 0), r"m=0 is not allowed: it must be an integer >= 1"),
        (lambda: rounds_to_zero_error(1e-200, 10), r"gamma=1e-200 is not allowed"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
