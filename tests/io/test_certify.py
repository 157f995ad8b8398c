"""Certificates and plots of loaded models equal those of the saved models."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from hedgerow import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.plots import ErrorRoundsDisplay, MarginDistributionDisplay, ShapeFunctionDisplay
from hedgerow.theory import certify
from model_cases import assert_same, fitted, numbers, plain, reweighted

CERTIFIED = (
    *("adaboost m1, three classes", "adaboost on a grid", "adaboost, weighted", "logitboost", "three"),
    *("forest", "forest on a grid", "extra trees", "bag", "bag, soft", "gradient"),
)


@pytest.fixture(autouse=True)
def _no_windows():
    mpl.use("Agg")
    yield
    plt.close("all")


def new_rows(X):
    """Rows that no model was fitted to; of a frame, with its columns."""
    other, _ = numbers(80, 4 if isinstance(X, np.ndarray) else 3, seed=9)
    if isinstance(X, np.ndarray):
        return other
    return pd.DataFrame(other, columns=X.columns[:3]).assign(colour=X["colour"][:80])


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificate_of_loaded_model_equals_that_of_saved_model(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert certify(same).chance_error < 1.0
    rows, labels = new_rows(X), y[:80]
    assert str(certify(same, rows, labels)) == str(certify(model, rows, labels))
    with pytest.raises(ValueError, match="have the same values as rows that the model was fitted to"):
        certify(same, X, y)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, RandomForestClassifier, BaggingClassifier])
def test_float32_rows_give_the_file_of_float64_rows(kind):
    X, y = plain(2)
    narrow = X.astype(np.float32)
    wide = kind(n_estimators=2, random_state=0).fit(narrow.astype(np.float64), y)
    assert to_bytes(kind(n_estimators=2, random_state=0).fit(narrow, y)) == to_bytes(wide)
    same = from_bytes(to_bytes(wide))
    for rows in (narrow, narrow.astype(np.float64), X):  # X is what they were rounded from
        assert same.is_training_row(rows).all()
        with pytest.raises(ValueError, match="have the same values"):
            certify(same, rows, y)


def test_certify_rejects_rows_that_optimized_the_weights():
    model, X, y = reweighted()
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert "calibration" in str(certify(same))
    with pytest.raises(ValueError, match="weights were chosen with"):
        certify(same, X[100:], y[100:])


@pytest.mark.parametrize("name", ["adaboost on a grid", "forest on a grid"])
def test_certify_rejects_rows_of_a_grid_also_after_warm_start(name):
    model, _, _ = fitted(name)
    X, y = plain(2)
    same = from_bytes(to_bytes(model))
    for _ in range(2):
        with pytest.raises(ValueError, match="bin_edges of the model were computed"):
            certify(same, X[:50], y[:50])
        same.set_params(warm_start=True, n_estimators=same.n_estimators + 1).fit(X[50:], y[50:])


@pytest.mark.parametrize("name", ["adaboost", "adaboost gentle", "anyboost sigmoid"])
def test_plots_of_loaded_model_equal_those_of_saved_model(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    lines = []
    for one in (model, same):
        rounds = ErrorRoundsDisplay.from_estimator(one, X, y)
        margins = MarginDistributionDisplay.from_estimator(one, X, y)
        lines.append([line.get_xydata() for shown in (rounds, margins) for line in shown.ax_.lines])
    assert len(lines[0]) == len(lines[1]) > 2
    for mine, theirs in zip(*lines, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_shape_functions_of_loaded_model_are_plotted():
    model, X, _ = fitted("logitboost")
    same = from_bytes(to_bytes(model))
    display = ShapeFunctionDisplay.from_estimator(same, X)
    assert display.figure_ is not None
    assert_same(list(model.shape_functions()), list(same.shape_functions()))
