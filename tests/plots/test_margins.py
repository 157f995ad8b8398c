"""Distributions of margins: curves, their names, and the choice of the rounds."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from hedgerow import AdaBoostClassifier, DecisionTreeClassifier
from hedgerow.datasets import load_toy, make_hastie
from hedgerow.plots import MarginDistributionDisplay
from plot_cases import legend, notes, texts

draw = MarginDistributionDisplay.from_estimator


@pytest.fixture(scope="module")
def hastie():
    X, y = make_hastie(300, 4, random_state=0)
    return AdaBoostClassifier(n_estimators=120).fit(X, y), X, y


class Voters(ClassifierMixin, BaseEstimator):
    """A model with margins but without rounds."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def margins(self, X, y):
        return np.linspace(-0.5, 1.0, len(y))


def curves(display):
    return [line for line in display.ax_.lines if line.get_drawstyle() == "steps-post"]


def test_curve_is_the_cumulative_share_of_rows(hastie):
    model, X, y = hastie
    display = draw(model, X, y, rounds=[7])
    (curve,) = curves(display)
    margins = list(model.staged_margins(X, y))[6]
    np.testing.assert_allclose(np.sort(display.margins[0]), np.sort(margins))
    x, share = curve.get_xdata(), curve.get_ydata()
    assert (x[0], share[0], x[-1], share[-1]) == (-1, 0, 1, 1)
    for at in (-0.2, 0.0, 0.3):
        assert share[np.searchsorted(x, at, side="right") - 1] == pytest.approx(np.mean(margins <= at))


def test_last_curve_has_the_margins_of_the_model(hastie):
    model, X, y = hastie
    display = draw(model, X, y)
    assert display.rounds == [5, 100, 120]
    np.testing.assert_allclose(display.margins[-1], model.margins(X, y), atol=1e-12)
    smallest = [f"{value:.2f}".replace("-", "−") for value in display.margins.min(axis=1)]
    assert legend(display) == [
        f"{t} rounds: smallest {s}" for t, s in zip((5, 100, 120), smallest, strict=True)
    ]
    assert "−" in legend(display)[0]


@pytest.mark.parametrize(
    ("n_rounds", "name"), [(1, "1 round: smallest −1.00"), (3, "3 rounds: smallest 0.08")]
)
def test_few_rounds_have_one_curve(n_rounds, name):
    X, y = load_toy()
    display = draw(AdaBoostClassifier(n_estimators=n_rounds).fit(X, y), X, y)
    assert display.rounds == [n_rounds]
    assert legend(display) == [name]


def test_rounds_are_drawn_once_in_increasing_order(hastie):
    display = draw(*hastie, rounds=[20, 1, 20, np.int64(3)])
    assert display.rounds == [1, 3, 20]
    line_styles = [(curve.get_color(), curve.get_linestyle()) for curve in curves(display)]
    assert len(set(line_styles)) == 3
    assert line_styles[-1] == (curves(draw(*hastie))[-1].get_color(), "-")


def test_axes_have_notes_and_true_minus_signs(hastie):
    display = draw(*hastie)
    display.figure_.canvas.draw()
    assert notes(display) == ["error", "correct"]
    assert texts(display.ax_.get_xticklabels()) == ["−1", "−0.5", "0", "0.5", "1"]
    low, high = display.ax_.get_xlim()
    assert -1.1 < low <= -1 < 1 <= high < 1.1
    legend, label = display.ax_.get_legend(), display.ax_.xaxis.label
    assert not legend.get_window_extent().overlaps(label.get_window_extent())
    assert legend.get_window_extent().y1 < display.ax_.get_window_extent().y0


def test_several_classes_can_be_drawn():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), algorithm="samme", n_estimators=8)
    display = draw(model.fit(X, y), X, y, rounds=range(1, 8))
    assert len(curves(display)) == 7
    assert np.all(np.abs(display.margins) <= 1)


def test_models_without_rounds_have_one_curve():
    X, y = load_iris(return_X_y=True)
    model = Voters().fit(X, y)
    display = draw(model, X, y)
    assert display.rounds is None
    assert legend(display) == ["smallest margin −0.50"]
    with pytest.raises(ValueError, match=r"rounds=\[1\] is not allowed: Voters has no staged_margins"):
        draw(model, X, y, rounds=[1])


@pytest.mark.parametrize("rounds", [[], [0], [121], [1.0], "5", 5, [True], [None], list(range(1, 9))])
def test_invalid_rounds_are_rejected(hastie, rounds):
    with pytest.raises(ValueError, match=r"rounds=.* is not allowed: the model has the rounds 1 to 120"):
        draw(*hastie, rounds=rounds)


def test_models_without_margins_and_inconsistent_data_are_rejected(hastie):
    model, X, y = hastie
    with pytest.raises(TypeError, match="DecisionTreeClassifier has no margins"):
        draw(SklearnTree().fit(X, y), X, y)
    with pytest.raises(ValueError, match="the data has 300 rows in X and 299 in y"):
        draw(model, X, y[1:])
