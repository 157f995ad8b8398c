"""Weights of single rows over the rounds: choice of the rows, lines and labels."""

import itertools

import numpy as np
import pytest
from matplotlib.text import Text

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier
from hedgerow.datasets import load_toy, make_hastie
from hedgerow.plots import WeightPathsDisplay
from hedgerow.plots.labels import spread
from plot_cases import legend, notes

draw = WeightPathsDisplay.from_estimator


@pytest.fixture(scope="module")
def noisy():
    X, y = make_hastie(200, 2, random_state=0)
    y[[3, 50]] *= -1
    return AdaBoostClassifier(n_estimators=30).fit(X, y), X, y


def paths(display):
    """The strong lines of the rows."""
    return [line for line in display.ax_.lines if line.get_label().startswith("_")]


def test_lines_are_weights_in_units_of_one_nth(noisy):
    model, X, y = noisy
    display = draw(model, X, y, rows=[3, 0])
    expected = 200 * np.array(list(model.staged_sample_weights(X, y)))
    np.testing.assert_allclose(display.paths, expected[:, [3, 0]].T)
    for line, row in zip(paths(display), (3, 0), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 31))
        np.testing.assert_allclose(line.get_ydata(), expected[:, row])
    np.testing.assert_allclose(expected[-1], 200 * model.sample_weights_, rtol=1e-5)
    assert display.ax_.get_yscale() == "log"


def test_weights_of_the_toy_are_those_of_the_textbook():
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=1).fit(X, y)
    wrong = model.predict(X) != y
    display = draw(model, X, y, rows=range(10))
    np.testing.assert_allclose(display.paths[:, 0], np.where(wrong, 10 / 6, 10 / 14), rtol=1e-6)
    assert display.others is None
    assert display.ax_.get_legend() is None


def test_band_contains_the_other_rows(noisy):
    model, X, y = noisy
    display = draw(model, X, y, rows=[3, 50])
    rest = np.delete(200 * np.array(list(model.staged_sample_weights(X, y))), [3, 50], axis=1)
    np.testing.assert_allclose(display.others, np.quantile(rest, [0.05, 0.5, 0.95], axis=1))
    (median,) = [line for line in display.ax_.lines if line.get_label() == "their median"]
    np.testing.assert_allclose(median.get_ydata(), display.others[1])
    (band,) = display.ax_.collections
    assert band.get_label() == "other rows, 5 % to 95 %"
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(display.others[0].min())
    assert heights.max() == pytest.approx(display.others[2].max())


def test_rows_of_the_highest_outlier_scores_are_chosen(noisy):
    model, X, y = noisy
    order = np.argsort(-model.outlier_scores(X, y), kind="stable")
    display = draw(model, X, y, n_rows=3)
    assert display.names == [f"row {row}" for row in order[:3]]
    assert len(draw(model, X, y).names) == 5
    assert {3, 50} <= set(order[:5].tolist())


def test_labels_at_the_ends_do_not_overlap(noisy):
    display = draw(*noisy, rows={f"name {row}": row for row in range(14)})
    assert notes(display) == [f"name {row}" for row in range(14)]
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in display.ax_.texts]  # without their lines
    assert not [1 for one, two in itertools.combinations(boxes, 2) if one.overlaps(two)]
    assert all(box.x0 > display.ax_.get_window_extent().x1 for box in boxes)
    assert all(box.x1 < display.figure_.bbox.x1 for box in boxes)
    positions = np.array([box.y0 for box in boxes])
    np.testing.assert_array_equal(np.argsort(positions), np.argsort(display.paths[:, -1], kind="stable"))
    assert [text.get_color() for text in display.ax_.texts] == [line.get_color() for line in paths(display)]


def test_lines_of_many_rounds_are_smoothed():
    X, y = make_hastie(100, 2, random_state=0)
    model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    display = draw(model, X, y, n_rows=1)
    pale, strong = paths(display)
    np.testing.assert_allclose(pale.get_ydata(), display.paths[0])
    assert strong.get_ydata()[50] == pytest.approx(np.exp(np.log(display.paths[0, 48:53]).mean()))
    assert legend(display) == ["other rows, 5 % to 95 %", "their median", "a row, mean of 5 rounds"]


def test_weights_near_zero_do_not_extend_the_axis():
    others = np.array([[1e-3, 0.0], [1e-2, 1e-200], [1.0, 2.0]])
    display = WeightPathsDisplay(np.array([[1.0, 100.0]]), ["row 0"], others).plot()
    low, high = display.ax_.get_ylim()
    assert low == pytest.approx(1e-4 / 1.25)
    assert high == pytest.approx(125)
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("wanted", "gap", "expected"),
    [
        ([0.2, 0.8], 0.1, [0.2, 0.8]),
        ([0.8, 0.8, 0.2], 0.1, [0.75, 0.85, 0.2]),
        ([1.0, 1.0], 0.1, [0.9, 1.0]),
        ([-3.0, 0.0], 0.1, [0.0, 0.1]),
        ([0.5, 0.5, 0.5], 0.9, [0.0, 0.5, 1.0]),
        ([0.4, 0.45, 0.5, 0.55], 0.1, [0.325, 0.425, 0.525, 0.625]),
    ],
)
def test_positions_of_labels_are_spread(wanted, gap, expected):
    np.testing.assert_allclose(spread(np.array(wanted), gap), expected)


@pytest.mark.parametrize("rows", [[], [200], [-1], [1.0], "3", [True], list(range(15)), {"a": 200}, {}])
def test_invalid_rows_are_rejected(noisy, rows):
    with pytest.raises(ValueError, match=r"rows=.* is not allowed: it must be None or from 1 to 14 numbers"):
        draw(*noisy, rows=rows)


@pytest.mark.parametrize("n_rows", [0, 15, 2.0, True])
def test_invalid_numbers_of_rows_are_rejected(noisy, n_rows):
    with pytest.raises(ValueError, match=r"n_rows=.* is not allowed: it must be an integer from 1 to 14"):
        draw(*noisy, n_rows=n_rows)


def test_models_without_weights_and_inconsistent_data_are_rejected(noisy):
    model, X, y = noisy
    gradient = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="GradientBoostingClassifier has no staged_sample_weights"):
        draw(gradient, X, y)
    with pytest.raises(ValueError, match="the training set has 200 rows in X and 199 in y"):
        draw(model, X, y[1:])
