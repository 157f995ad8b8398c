"""Small models of every kind: the Python bodies of the kernels fit what the compiled ones fit."""

import numpy as np
import pytest

from hedgerow import RandomForestClassifier, RandomForestRegressor
from model_cases import KINDS, MODELS, assert_same, fit, plain, weighted
from python_bodies import python_bodies

FOREST = {"n_estimators": 4, "random_state": 0, "oob_score": True}
# models with kernels of their own: bags run those of their members, and test_python_small.py runs all losses
CASES = {name: lambda name=name: fit(name)[:2] for name in KINDS if name.startswith(("adaboost", "anyboost"))}
CASES |= {
    name: lambda name=name: fit(name)[:2]
    for name in (
        *("logitboost, three classes", "nine", "forest, categories", "extra trees", "tree", "gradient"),
        *("extra trees of numbers", "tree of numbers", "stump", "stump, categories", "gradient of numbers"),
    )
}
CASES |= {
    name: MODELS[name]
    for name in (
        "class_weight",
        "exponential",
        "huber",
        "constraints",
        "sampling",
        "symmetric",
        "leaf values",
    )
}
del CASES["adaboost, exact"]  # takes seconds


@pytest.mark.parametrize("name", CASES)
def test_fit_by_python_bodies_has_the_same_bits(name):
    compiled, X = CASES[name]()
    with python_bodies():
        python, _ = CASES[name]()
        predicted = python.predict(X)
    assert_same(python, compiled)
    np.testing.assert_array_equal(predicted, compiled.predict(X))


@pytest.mark.filterwarnings("ignore:.*are in the bag of every tree")
@pytest.mark.parametrize(
    ("kind", "n_classes", "parameters"),
    [
        (RandomForestClassifier, 3, {"class_weight": "balanced", "min_samples_leaf": 3}),
        (RandomForestClassifier, 2, {"bootstrap": False, "oob_score": False}),
        (RandomForestRegressor, None, {"min_samples_leaf": 4}),
    ],
)
def test_weighted_forest_by_python_bodies_has_the_same_bits(kind, n_classes, parameters):
    model, X, y, more = weighted(kind, plain(n_classes), **FOREST | parameters)
    compiled = model.fit(X[:80], y[:80], sample_weight=more["sample_weight"][:80])
    with python_bodies():
        python = kind(**FOREST | parameters).fit(X[:80], y[:80], sample_weight=more["sample_weight"][:80])
    assert_same(python, compiled)
