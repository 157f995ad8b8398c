"""Bounds of a certificate, scores of methods, and curves over a quantity."""

import matplotlib as mpl
import numpy as np
import pytest

from hedgerow.plots import BoundsDisplay, CurvesDisplay, ScoresDisplay
from hedgerow.selection.comparing import CompareRow, Comparison
from hedgerow.selection.results import Choice, Trial
from hedgerow.theory.certificate import Bound, Certificate
from plot_cases import legend, notes, texts

# --- bounds


def certificate(*values):
    found = tuple(Bound(f"bound {number}", value, 0.01, 100, "", "") for number, value in enumerate(values))
    return Certificate("a model", 0.05, 0.4, found)


def test_bounds_are_sorted_bars_that_end_at_one():
    display = BoundsDisplay.from_certificate(certificate(0.7, 1.8, 0.12341), test_error=0.1)
    assert texts(display.ax_.get_yticklabels()) == ["bound 2", "bound 0", "bound 1"]
    assert notes(display) == ["0.1235", "0.7000", "> 1"]  # rounded up
    assert [bar.get_width() for bar in display.ax_.patches] == pytest.approx([0.12341, 0.7, 1.0])


def test_vacuous_bounds_are_grey():
    display = BoundsDisplay.from_certificate(certificate(0.1, 0.4, 0.5))
    colours = [mpl.colors.to_hex(bar.get_facecolor()) for bar in display.ax_.patches]
    assert colours == ["#0072b2", "#9a9a9a", "#9a9a9a"]


def test_chance_and_test_error_are_named_lines():
    display = BoundsDisplay.from_certificate(certificate(0.2), test_error=0.125)
    assert legend(display) == ["most frequent class: 0.4000", "test error: 0.1250"]
    assert "95 %" in display.ax_.get_xlabel()


def test_invalid_certificates_are_rejected():
    with pytest.raises(ValueError, match="the certificate has no bound"):
        BoundsDisplay.from_certificate(certificate())
    with pytest.raises(ValueError, match="test_error=2 is not allowed"):
        BoundsDisplay.from_certificate(certificate(0.1), test_error=2)
    with pytest.raises(TypeError, match="certificate must be the result of certify; got a dict"):
        BoundsDisplay.from_certificate({})


# --- scores


@pytest.fixture
def comparison():
    rows = (
        CompareRow("forest", "random forest", {"accuracy": (0.9, 0.02), "log-loss": (0.3, 0.1)}, 1.0, 0.1),
        CompareRow("stump", "one stump", {"accuracy": (0.7, 0.05), "log-loss": (0.2, 0.1)}, 0.1, 0.1),
        CompareRow("schapire", "three learners", {}, note="not used"),
    )
    return Comparison("classification", 5, rows)


@pytest.mark.parametrize("test_error", [0.2, 0.22, 0.26, 0.3])
def test_no_line_crosses_the_label_of_a_bound(test_error):
    display = BoundsDisplay.from_certificate(certificate(0.2, 0.38), test_error=test_error)
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.texts]
    assert len(boxes) == 2
    for line in display.ax_.lines:
        at = line.get_window_extent().x0
        assert not any(box.x0 - 1 <= at <= box.x1 + 1 for box in boxes), at
    edge = display.figure_.bbox.x1
    assert all(box.x1 < edge for box in boxes)


def test_best_method_is_at_the_top(comparison):
    display = ScoresDisplay.from_comparison(comparison)
    assert display.names == ["random forest", "one stump"]
    assert notes(display) == ["90 ± 2 %", "70 ± 5 %"]
    assert display.ax_.get_xlabel() == "accuracy (higher is better)"
    other = ScoresDisplay.from_comparison(comparison, "log-loss")
    assert other.names == ["one stump", "random forest"]
    assert other.spreads == [0.1, 0.1]
    assert other.ax_.get_xlabel() == "log-loss (lower is better)"


def test_choice_shows_the_best_trial_of_each_method():
    trials = (
        Trial("gradient", "gradient boosting", {"a": 1}, {"log-loss": 0.5, "accuracy": 0.8}, 0.02),
        Trial("gradient", "gradient boosting", {"a": 2}, {"log-loss": 0.4, "accuracy": 0.7}, 0.03),
        Trial("forest", "random forest", {}, {"log-loss": 0.45, "accuracy": 0.9}, None),
        Trial("bagging", "bagging", {}, status="skipped"),
    )
    choice = Choice("classification", "log-loss", "5 folds", trials, trials[1], "", None, 1.0)
    display = ScoresDisplay.from_comparison(choice)
    assert (display.names, display.means) == (["gradient boosting", "random forest"], [0.4, 0.45])
    assert display.spreads == [0.03, 0]
    assert ScoresDisplay.from_comparison(choice, "accuracy").spreads == [0, 0]


def test_invalid_scores_are_rejected(comparison):
    with pytest.raises(ValueError, match=r"metric='rmse' is not allowed: .* \['accuracy', 'log-loss'\]"):
        ScoresDisplay.from_comparison(comparison, "rmse")
    with pytest.raises(TypeError, match="comparison must be the result of compare or choose; got a list"):
        ScoresDisplay.from_comparison([])
    with pytest.raises(ValueError, match="no method has a score: there is nothing to draw"):
        ScoresDisplay.from_comparison(Comparison("classification", 5, ()))
    with pytest.raises(ValueError, match="metric='f2' is not allowed"):
        ScoresDisplay.from_scores({"a": (1.0, 0.0)}, "f2")
    with pytest.raises(ValueError, match="no method has a score that is a number"):
        ScoresDisplay.from_scores({"a": (np.nan, 0.0)}, "r2")


# --- curves


def test_curves_are_lines_with_bands_and_names_at_their_ends():
    found = {"one": ([0.1, 0.2, 0.3], [0.01, 0.01, 0.01]), "two": ([0.1, np.nan, 0.5], None)}
    display = CurvesDisplay.from_values(
        [1, 10, 100], found, x_label="learners", y_label="accuracy", log_x=True
    )
    assert notes(display) == ["one", "two"]
    assert len(display.ax_.collections) == 1
    assert display.ax_.lines[1].get_xdata().tolist() == [1, 100]
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.yaxis.get_major_formatter()(0.25, 0) == "25 %"


def test_one_point_is_drawn():
    display = CurvesDisplay.from_values([3], {"one": ([0.5], None)}, log_x=True)
    assert display.ax_.lines[0].get_marker() == "o"


@pytest.mark.parametrize(
    ("x", "curves", "options", "message"),
    [
        ([2, 1], {"one": ([1, 1], None)}, {}, "x of shape .* must be increasing"),
        ([0, 1], {"one": ([1, 1], None)}, {"log_x": True}, "x begins with 0: with log_x=True"),
        ([0, 1], {}, {}, "0 curves are not allowed: there must be 1 to 7"),
        ([0, 1], {str(number): ([1, 1], None) for number in range(8)}, {}, "8 curves are not allowed"),
        ([0, 1], {"one": ([1], None)}, {}, r"curve 'one' has means of shape \(1,\): x has 2 points"),
        ([0, 1], {"one": ([1, 2], [1])}, {}, "curve 'one' has spreads of shape"),
        ([0, 1], {"one": [1, 2, 3]}, {}, "curve 'one' must be a pair"),
        ([0, 1], {"one": ([np.nan, np.nan], None)}, {}, "curve 'one' holds no number"),
        ([0, 1], {"one": ([1, 2], None)}, {"log_x": 1}, "log_x=1 is not allowed"),
    ],
)
def test_invalid_curves_are_rejected(x, curves, options, message):
    with pytest.raises(ValueError, match=message):
        CurvesDisplay.from_values(x, curves, **options)
