"""Reliability curves: bins of equal counts, exact whiskers, two classes and more."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from hedgerow.plots import CalibrationDisplay

draw = CalibrationDisplay.from_predictions


@pytest.fixture
def coins():
    generator = np.random.default_rng(0)
    probabilities = generator.random(1000)
    return generator.random(1000) < probabilities, probabilities


def test_bins_have_equal_counts(coins):
    y, probabilities = coins
    display = draw(y, probabilities, n_bins=4)
    assert display.n_rows.tolist() == [250, 250, 250, 250]
    lowest = probabilities <= np.sort(probabilities)[249]
    assert display.prob_pred[0] == pytest.approx(probabilities[lowest].mean())
    assert display.prob_true[0] == pytest.approx(y[lowest].mean())


def test_intervals_are_those_of_clopper_and_pearson():
    y = np.repeat([0, 0, 1, 1, 1], [5, 5, 3, 4, 8])
    probabilities = np.repeat([0.1, 0.6, 0.6, 0.6, 0.9], [5, 5, 3, 4, 8])
    display = draw(y, probabilities, n_bins=3)
    for number, (hits, n) in enumerate([(0, 5), (7, 12), (8, 8)]):
        interval = binomtest(hits, n).proportion_ci(0.95, "exact")
        assert (display.low[number], display.high[number]) == pytest.approx((interval.low, interval.high))


def test_equal_probabilities_are_in_one_bin():
    display = draw([0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.2, 0.7], n_bins=5)
    assert display.n_rows.tolist() == [5, 1]


def test_calibration_error_is_small_only_for_true_probabilities(coins):
    y, probabilities = coins
    assert draw(y, probabilities).calibration_error < 0.05
    assert draw(y, probabilities**4).calibration_error > 0.15


def test_several_classes_use_the_predicted_class():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X[::2], y[::2])
    display = CalibrationDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=1)
    probabilities = model.predict_proba(X[1::2])
    assert display.prob_pred[0] == pytest.approx(probabilities.max(axis=1).mean())
    assert display.prob_true[0] == pytest.approx(model.score(X[1::2], y[1::2]))
    assert display.pos_label is None
    assert display.axes_[1].get_xlabel() == "Predicted probability (predicted class)"


def test_histogram_counts_all_rows(coins):
    display = draw(*coins)
    heights = [bar.get_height() for bar in display.axes_[1].patches]
    assert heights == np.histogram(coins[1], 20, (0, 1))[0].tolist()


def test_panels_replace_a_single_axes_or_use_two(coins):
    display = draw(*coins)
    figure, ax = plt.subplots(1, 2)
    display.plot(ax[0])
    assert len(figure.axes) == 4
    figure, ax = plt.subplots(2)
    assert display.plot(ax).axes_.tolist() == ax.tolist()
    with pytest.raises(ValueError, match="ax holds 3 axes, and there are 2 panels"):
        display.plot(plt.subplots(3)[1])


@pytest.mark.parametrize(
    ("probabilities", "n_bins", "message"),
    [
        ([0.5, 1.5], 10, "probabilities from -0.5 to 1.5 are not allowed"),
        ([0.5, np.nan], 10, "scores hold NaN"),
        ([0.5], 10, "2 rows of the 2 classes"),
        ([0.5, 0.5], 0, "n_bins=0 is not allowed"),
    ],
)
def test_invalid_inputs_are_rejected(probabilities, n_bins, message):
    with pytest.raises(ValueError, match=message):
        draw([0, 1], probabilities, n_bins=n_bins)


def test_models_without_probabilities_are_rejected():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="RidgeClassifier has no predict_proba"):
        CalibrationDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
