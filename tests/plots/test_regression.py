"""Predictions of regressions against the truth."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score

from hedgerow import DecisionStump, GradientBoostingRegressor
from hedgerow.plots import PredictedDisplay
from hedgerow.plots.inputs import as_table

draw = PredictedDisplay.from_predictions


def test_scores_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=10).fit(X[::2], y[::2])
    display = PredictedDisplay.from_estimator(model, X[1::2], y[1::2])
    assert display.r2 == pytest.approx(r2_score(y[1::2], model.predict(X[1::2])))
    assert f"R² {display.r2:.3f}" in display.ax_.get_title(loc="left")
    points = display.axes_[1].collections[0].get_offsets()[:, 1]
    np.testing.assert_allclose(points, y[1::2] - model.predict(X[1::2]))


def test_samples_of_many_rows_are_noted():
    display = draw(np.arange(5000.0), np.arange(5000.0) + 1)
    assert len(display.ax_.collections[0].get_offsets()) == 1000
    assert "1,000 of 5,000 rows drawn" in display.ax_.get_title(loc="left")
    assert draw(np.arange(5000.0), np.arange(5000.0)).rmse == 0


def test_band_follows_the_residuals():
    generator = np.random.default_rng(0)
    predicted = np.sort(generator.random(3000))
    display = draw(predicted + 2 * predicted * generator.normal(size=3000), predicted)
    band = display.axes_[1].collections[1]
    corners = band.get_paths()[0].vertices
    width = [np.ptp(corners[np.abs(corners[:, 0] - at) < 0.06, 1]) for at in (0.1, 0.9)]
    assert width[1] > 4 * width[0]


def test_few_rows_have_no_band():
    display = draw([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    assert len(display.axes_[1].collections) == 1
    assert display.r2 == 0
    assert np.isnan(draw([1.0, 1.0], [1.0, 2.0]).r2)


def test_invalid_inputs_are_rejected():
    with pytest.raises(ValueError, match="y_true has 2 rows, but y_pred has 1"):
        draw([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="y_pred holds NaN or infinite values"):
        draw([1.0], [np.inf])
    with pytest.raises(ValueError, match="y_true must hold numbers"):
        draw(["many"], [1.0])
    with pytest.raises(TypeError, match="DecisionStump is a classifier: use ConfusionMatrixDisplay"):
        PredictedDisplay.from_estimator(DecisionStump().fit([[0.0], [1.0]], [0, 1]), [[0.0]], [0])


def test_invalid_shapes_are_rejected():
    with pytest.raises(ValueError, match=r"X of shape \(3,\) is not allowed: it must be a table"):
        as_table([1, 2, 3])
    with pytest.raises(ValueError, match=r"of shape \(2, 2\) is not allowed: it must be a list of numbers"):
        PredictedDisplay.from_predictions(np.zeros((2, 2)), np.zeros((2, 2)))
