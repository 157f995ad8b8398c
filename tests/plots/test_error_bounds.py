"""Errors along the rounds: bounds by trees and by margins, and models that have none."""

import warnings

import numpy as np
import pytest
import sklearn.ensemble

from hedgerow import AdaBoostClassifier, DecisionStump, DecisionTreeClassifier
from hedgerow.datasets import make_hastie
from hedgerow.plots import ErrorRoundsDisplay
from hedgerow.theory import gao_zhou_bound, quantile_grid, schapire_bound, tree_bound

draw = ErrorRoundsDisplay.from_estimator


def test_trees_have_bounds_by_the_number_of_trees():
    X, y = make_hastie(300, 4, random_state=0)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    display = draw(model, X, y, bounds="all")
    assert {"vc", "growth", "trees"} <= set(display.bounds)
    expected = tree_bound(300, 4, 4, np.arange(1, 6), 0.05)
    np.testing.assert_allclose(display.bounds["trees"] - display.train_error, expected)
    with pytest.raises(ValueError, match="the bound 'stumps' does not apply: the trees have up to 4 leaves"):
        draw(model, X, y, bounds="stumps")
    model.set_params(estimator=DecisionStump())  # a parameter that says nothing about the fitted model
    assert "trees" in draw(model, X, y, bounds="all").bounds


def test_bounds_by_margins_are_computed_at_some_rounds():
    X, y = make_hastie(400, 4, random_state=0)
    grid = quantile_grid(X[:100], 8)
    model = AdaBoostClassifier(DecisionStump(bin_edges=grid), n_estimators=60).fit(X[100:], y[100:])
    display = draw(model, X[100:], y[100:], bounds=["schapire", "gao_zhou"])
    size, last = model.hypothesis_class_.size, model.margins(X[100:], y[100:])
    assert display.bounds["schapire"][-1] == schapire_bound(last, size, 0.05).value
    assert display.bounds["gao_zhou"][-1] == gao_zhou_bound(last, size, 0.05).value
    assert 20 < np.isfinite(display.bounds["schapire"]).sum() < 60
    found = AdaBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=r"'schapire' does not apply: requires fixed thresholds"):
        draw(found, X, y, bounds="schapire")


def test_bounds_of_other_rows_after_warm_start_are_not_drawn():
    rng = np.random.default_rng(0)
    X, other = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    y, opposite = (X[:, 0] > 0).astype(int), (other[:, 0] < 0).astype(int)
    y[:20] ^= 1
    model = AdaBoostClassifier(n_estimators=10, warm_start=True).fit(X, y)
    model.set_params(n_estimators=12).fit(other, opposite)
    assert not draw(model, other, opposite).bounds
    with pytest.raises(ValueError, match="'training' does not apply: it is for other rows"):
        draw(model, other, opposite, bounds="training")


def test_models_of_other_libraries_have_errors_without_bounds():
    X, y = make_hastie(100, 3, random_state=0)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert not draw(theirs, X, y, bounds="all").bounds
    with pytest.raises(ValueError, match="the bound 'vc' does not apply"):
        draw(theirs, X, y, bounds="vc")


def test_bounds_by_margins_require_five_rows():
    X, y = np.random.default_rng(0).normal(size=(4, 2)), np.array([0, 1, 0, 1])
    model = AdaBoostClassifier(DecisionStump(bin_edges=[[0.0], [0.0]]), n_estimators=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # boosting may end early
        model.fit(X, y)
    assert "schapire" not in draw(model, X, y, bounds="all").bounds
