"""Quantiles and intervals of the forests themselves, and the example that measures them."""

import copy
import importlib.util
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from hedgerow import ExtraTreesRegressor, RandomForestRegressor

PATH = Path(__file__).parents[2] / "examples" / "forest_quantiles.py"
METHODS = ("oob", "jackknife+", "quantiles", "calibrated")
X, Y = make_friedman1(400, noise=1.0, random_state=0)
TRAIN, TEST = slice(0, 250), slice(250, None)


@cache
def fitted(**parameters):
    options = {"n_estimators": 40, "min_samples_leaf": 3, "oob_score": True, "random_state": 0} | parameters
    return RandomForestRegressor(**options).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("method", METHODS)
def test_wider_intervals_contain_narrower_ones(method):
    model = fitted()
    inner, outer = (model.predict_interval(X[TEST], coverage, method) for coverage in (0.5, 0.9))
    assert inner.shape == (150, 2)
    assert np.all(outer[:, 0] <= inner[:, 0])
    assert np.all(inner[:, 0] <= inner[:, 1])
    assert np.all(inner[:, 1] <= outer[:, 1])


@pytest.mark.parametrize("method", METHODS)
def test_coverage_on_test_rows(method):
    low, high = fitted(n_estimators=150).predict_interval(X[TEST], 0.9, method).T
    assert 0.82 < np.mean((low <= Y[TEST]) & (Y[TEST] <= high)) < 0.98


def test_quantiles_are_ascending_training_targets():
    found = fitted().predict_quantiles(X[TEST], [0.1, 0.5, 0.9])
    assert np.all(np.diff(found, axis=1) >= 0)
    assert np.isin(found, Y[TRAIN]).all()
    assert fitted().predict_quantiles(X[TEST]).shape == (150, 3)
    assert np.array_equal(fitted().predict_quantiles(X[TEST], 0.5)[:, 0], found[:, 1])


def test_intervals_do_not_depend_on_threads():
    one, more = fitted(n_jobs=1), fitted(n_jobs=4)
    for method in METHODS:
        assert np.array_equal(one.predict_interval(X, 0.8, method), more.predict_interval(X, 0.8, method))


def test_warm_start_gives_the_intervals_of_one_fit():
    model = copy.copy(fitted(n_estimators=15, warm_start=True))
    model.set_params(n_estimators=40).fit(X[TRAIN], Y[TRAIN])
    for method in METHODS:
        found, expected = (m.predict_interval(X[TEST], 0.8, method) for m in (model, fitted()))
        assert np.array_equal(found, expected), method


def test_extra_trees_without_bootstrap_have_quantiles():
    model = ExtraTreesRegressor(20, min_samples_leaf=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.predict_interval(X[TEST], 0.8, "quantiles").shape == (150, 2)
    with pytest.raises(ValueError, match="oob_score=True"):
        model.predict_interval(X[TEST], 0.8, "oob")


def test_rows_of_weight_zero_are_ignored():
    weight = np.ones(400)
    weight[TEST] = 0.0
    options = {"n_estimators": 20, "min_samples_leaf": 3, "oob_score": True, "random_state": 0}
    all_rows = RandomForestRegressor(**options).fit(X, np.where(weight > 0, Y, 1e6), weight)
    for method in METHODS:
        found = all_rows.predict_interval(X[TEST], 0.8, method)
        expected = fitted(n_estimators=20).predict_interval(X[TEST], 0.8, method)
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=method)


def test_fractional_weights_count_in_the_leaves():
    weight = np.where(np.median(Y) < Y, 5.5, 0.5)
    options = {"n_estimators": 20, "bootstrap": False, "max_depth": 1, "random_state": 0}
    plain = RandomForestRegressor(**options).fit(X, Y)
    heavy = RandomForestRegressor(**options).fit(X, Y, weight)
    assert heavy.predict_quantiles(X, 0.5).mean() > plain.predict_quantiles(X, 0.5).mean()


def test_missing_targets_and_residuals_raise_an_error():
    lean = fitted(keep_targets=False)
    assert lean.predict_interval(X[TEST]).shape == (150, 2)
    with pytest.raises(ValueError, match="keep_targets=True"):
        lean.predict_quantiles(X[TEST])
    with pytest.raises(ValueError, match="keep_targets=True"):
        lean.predict_interval(X[TEST], 0.9, "calibrated")
    for method in ("oob", "jackknife+", "calibrated"):
        with pytest.raises(ValueError, match="oob_score=True"):
            fitted(oob_score=False).predict_interval(X[TEST], 0.9, method)


def test_a_new_fit_removes_old_residuals():
    model = copy.copy(fitted())
    model.set_params(oob_score=False).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="oob_score=True"):
        model.predict_interval(X[TEST])


def test_several_outputs_have_no_intervals():
    model = RandomForestRegressor(5, random_state=0).fit(X[TRAIN], np.column_stack([Y, Y])[TRAIN])
    with pytest.raises(ValueError, match="one output"):
        model.predict_quantiles(X[TEST])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1.0, "oob"), "coverage=1.0"), ((0.9, "exact"), "method='exact'"), ((0.9, None), "method=None")],
)
def test_wrong_arguments_raise_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted().predict_interval(X[TEST], *arguments)


# --- the example


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("example_forest_quantiles", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for dataclasses
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_verdict_follows_the_numbers(example):
    near, far = 0.9 + np.array([-0.01, 0.0, 0.01]), np.array([0.95, 0.951, 0.952])
    assert example.compare(near, 0.9) == "as promised"
    assert example.compare(far, 0.9) == "too often"
    assert example.compare(far, 0.99) == "too rarely"


def test_the_whole_example_runs_on_few_trees(example, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(example, "DATA", {"diabetes": example.split_diabetes})
    example.main([str(tmp_path / "bands.png"), "--splits", "2", "--trees", "20"])
    printed = capsys.readouterr().out
    for name in example.METHODS.values():
        assert name in printed
        assert f"{name.capitalize()}: covers as promised in" in printed
    assert (tmp_path / "bands.png").stat().st_size > 10_000
