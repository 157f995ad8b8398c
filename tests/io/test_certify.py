"""A model from a file is certified and drawn as the one that was saved."""

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

CERTIFIED = [
    "adaboost", "adaboost m1, three classes", "adaboost real", "adaboost on a grid", "adaboost, weighted",
    "logitboost", "anyboost sigmoid", "three", "forest", "forest on a grid", "forest, weighted",
    "extra trees", "bag", "bag, soft", "bag of boosters", "gradient",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_windows():
    mpl.use("Agg")
    yield
    plt.close("all")


def new_rows(X):
    """Rows that no model has seen; of a frame, with its columns."""
    other, _ = numbers(80, 4 if isinstance(X, np.ndarray) else 3, seed=9)
    if isinstance(X, np.ndarray):
        return other
    return pd.DataFrame(other, columns=X.columns[:3]).assign(colour=X["colour"][:80])


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_is_that_of_the_saved_model(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert certify(same).chance_error < 1.0
    rows, labels = new_rows(X), y[:80]
    assert str(certify(same, rows, labels)) == str(certify(model, rows, labels))


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_loaded_model_refuses_its_own_training_rows(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    with pytest.raises(ValueError, match="have the same values as rows that the model was fitted to"):
        certify(same, X, y)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, RandomForestClassifier, BaggingClassifier])
def test_rows_of_float32_give_the_same_file_as_float64(kind):
    X, y = plain(2)
    narrow = X.astype(np.float32)
    wide = kind(n_estimators=2, random_state=0).fit(narrow.astype(np.float64), y)
    assert to_bytes(kind(n_estimators=2, random_state=0).fit(narrow, y)) == to_bytes(wide)
    same = from_bytes(to_bytes(wide))
    for rows in (narrow, narrow.astype(np.float64), X):  # X is what they were rounded from
        assert same.is_training_row(rows).all()
        with pytest.raises(ValueError, match="have the same values"):
            certify(same, rows, y)


def test_rows_that_weights_were_chosen_with_are_refused():
    model, X, y = reweighted()
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert "calibration" in str(certify(same))
    with pytest.raises(ValueError, match="weights were chosen with"):
        certify(same, X[100:], y[100:])


@pytest.mark.parametrize("name", ["adaboost on a grid", "forest on a grid"])
def test_rows_of_a_grid_are_refused_even_after_going_on(name):
    model, _, _ = fitted(name)
    X, y = plain(2)
    same = from_bytes(to_bytes(model))
    for _ in range(2):
        with pytest.raises(ValueError, match="bin_edges of the model were computed"):
            certify(same, X[:50], y[:50])
        same.set_params(warm_start=True, n_estimators=same.n_estimators + 1).fit(X[50:], y[50:])


@pytest.mark.parametrize("name", ["adaboost", "adaboost gentle", "logitboost", "anyboost sigmoid"])
def test_plots_of_a_loaded_model_are_those_of_the_saved_one(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    drawn = []
    for one in (model, same):
        rounds = ErrorRoundsDisplay.from_estimator(one, X, y)
        margins = MarginDistributionDisplay.from_estimator(one, X, y)
        drawn.append([line.get_xydata() for shown in (rounds, margins) for line in shown.ax_.lines])
    assert len(drawn[0]) == len(drawn[1]) > 2
    for mine, theirs in zip(*drawn, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_shape_functions_of_a_loaded_model_are_drawn():
    model, X, _ = fitted("logitboost")
    same = from_bytes(to_bytes(model))
    display = ShapeFunctionDisplay.from_estimator(same, X)
    assert display.figure_ is not None
    assert_same(list(model.shape_functions()), list(same.shape_functions()))
