"""Small models of every kind: the Python bodies of the kernels fit what the compiled ones fit."""

import numpy as np
import pytest

from model_cases import KINDS, MODELS, assert_same, fit
from python_bodies import python_bodies

# these take seconds for what others show
LONG = {"bag", "bag, soft", "bag, weighted", "bag of numbers", "adaboost, exact", "forest of pairs"}
LONG |= {"forest of numbers, weighted"}


@pytest.mark.parametrize("name", sorted(KINDS.keys() - LONG))
def test_a_fit_by_python_bodies_has_the_same_bits(name):
    compiled, X, _ = fit(name)
    with python_bodies():
        python, _, _ = fit(name)
        predicted = python.predict(X)
    assert_same(python, compiled)
    np.testing.assert_array_equal(predicted, compiled.predict(X))


@pytest.mark.parametrize("name", sorted(MODELS.keys() - LONG))
def test_a_booster_by_python_bodies_has_the_same_bits(name):
    compiled, X = MODELS[name]()
    with python_bodies():
        python, _ = MODELS[name]()
        predicted = python.predict(X)
    assert_same(python, compiled)
    np.testing.assert_array_equal(predicted, compiled.predict(X))
