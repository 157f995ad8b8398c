"""Errors over the rounds: curves and marks, and which bounds apply."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
)
from hedgerow.datasets import load_toy, make_hastie
from hedgerow.plots import labels
from hedgerow.plots.error_rounds import ErrorRoundsDisplay
from hedgerow.theory.class_bounds import growth_bound, stump_bound, vc_bound
from hedgerow.theory.growth import boosted_vc_dimension, stump_vc_dimension
from plot_cases import legend, lines, overlaps

draw = ErrorRoundsDisplay.from_estimator
CLASS_BOUNDS = ["vc", "growth", "stumps"]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    model = AdaBoostClassifier(n_estimators=120).fit(X[train], y[train])
    return model, X[train], y[train], X[test], y[test]


# --- curves and marks


def test_errors_are_those_of_staged_score(cancer):
    model, X, y, X_test, y_test = cancer
    display = draw(*cancer)
    np.testing.assert_allclose(display.train_error, 1 - np.array(list(model.staged_score(X, y))))
    np.testing.assert_allclose(display.test_error, 1 - np.array(list(model.staged_score(X_test, y_test))))
    test = lines(display)["test error"]
    np.testing.assert_array_equal(test.get_xdata(), np.arange(1, 121))
    np.testing.assert_allclose(test.get_ydata(), display.test_error)


def test_zero_training_error_is_marked_at_the_lower_end(cancer):
    display = draw(*cancer)
    start = display.zero_from
    assert np.all(display.train_error[start - 1 :] == 0)
    assert display.train_error[start - 2] > 0
    train = lines(display)["training error"].get_ydata()
    zero = display.ax_.get_ylim()[0]
    assert len(train) == start
    np.testing.assert_allclose(train, np.maximum(display.train_error[:start], zero))
    assert 0 < zero < display.train_error[display.train_error > 0].min()
    mark = lines(display)[f"training error 0 from round {start}"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (start, zero)
    assert mark.get_marker() == "o"


def test_lower_end_of_log_axis_is_below_all_positive_errors():
    errors = {"train_error": np.array([0.4, 0.1]), "test_error": np.array([0.0, 0.3]), "n_rows": 1000}
    display = ErrorRoundsDisplay(**errors, bounds={"training": np.array([0.9, 0.8])}).plot()
    assert display.ax_.get_ylim()[0] == pytest.approx(0.05)
    np.testing.assert_allclose(lines(display)["test error"].get_ydata(), [0.05, 0.3])
    np.testing.assert_allclose(lines(display)["training error"].get_ydata(), [0.4, 0.1])


@pytest.mark.parametrize(
    ("options", "scales"),
    [({}, ("log", "log")), ({"log_rounds": False}, ("linear", "log")), ({"bounds": None}, ("log", "linear"))],
)
def test_scales_of_the_axes(cancer, options, scales):
    ax = draw(*cancer, **options).ax_
    assert (ax.get_xscale(), ax.get_yscale()) == scales


def test_all_bounds_of_boosted_stumps_are_drawn(cancer):
    model, _, y, _, _ = cancer
    display = draw(*cancer, bounds="all", delta=0.1)
    m, rounds, d = len(y), np.arange(1, 121), stump_vc_dimension(30)
    dimension = boosted_vc_dimension(np.maximum(rounds, 3), d)
    expected = {
        "training": model.training_error_bound_,
        "exponential": np.exp(-2 * np.cumsum(model.edges_**2)),
        "vc": display.train_error + vc_bound(m, dimension, 0.1),
        "growth": display.train_error + growth_bound(m, d, rounds, 0.1),
        "stumps": display.train_error + stump_bound(m, 30, rounds, 0.1),
    }
    assert list(display.bounds) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(display.bounds[name], values)
    drawn = list(lines(display).values())[2:7]
    for line, values in zip(drawn, expected.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), values)
    assert np.all(display.train_error <= display.bounds["training"])
    assert legend(display) == [*lines(display), f"vacuous: above chance, {labels.percent(display.chance)}"]


def test_chance_is_the_error_of_the_most_frequent_class_in_the_test_set(cancer):
    model, X, y, _, y_test = cancer
    assert draw(*cancer).chance == pytest.approx(1 - np.mean(y_test == 1))
    assert draw(model, X, y).chance == pytest.approx(1 - np.mean(y == 1))


def test_without_bounds_marks_compare_test_errors_after_zero(cancer):
    display = draw(*cancer, bounds=None)
    start = display.zero_from
    after = display.test_error[start - 1 :]
    lowest = int(np.argmin(after)) + start
    assert after.min() < after[0]
    assert legend(display)[2:] == [
        f"training error 0 from round {start}",
        f"test error {labels.percent(after[0])} at that round",
        f"lowest after it: {labels.percent(after.min())} at round {lowest}",
    ]
    marks = {line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0]) for line in display.ax_.lines}
    assert marks["o"] == (start, after[0])
    assert marks["D"] == (lowest, after.min())
    (dashed,) = [line for line in display.ax_.lines if list(line.get_xdata()) == [start, start]]
    assert dashed.get_linestyle() == "--"


def test_marks_of_the_lowest_test_error():
    display = ErrorRoundsDisplay(np.array([0.2, 0.0, 0.0]), np.array([0.3, 0.1, 0.2])).plot()
    assert legend(display)[3:] == ["test error 10 % at that round, the lowest"]
    display = ErrorRoundsDisplay(np.array([0.2, 0.0, 0.1]), np.array([0.3, 0.1, 0.2])).plot()
    assert display.zero_from is None
    assert legend(display)[2:] == ["lowest test error: 10 % at round 2"]


def test_gradient_boosting_and_several_classes_can_be_drawn():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300].astype(str)
    model = GradientBoostingClassifier(n_estimators=5, max_leaf_nodes=4).fit(X, y)
    display = draw(model, X, y, bounds=None)
    assert display.train_error[-1] == pytest.approx(1 - model.score(X, y))
    assert display.test_error is None
    assert draw(model, X, y, bounds="all").bounds == {}


@pytest.mark.parametrize("bounds", [None, "all"])
@pytest.mark.parametrize("n_rounds", [1, 3])
def test_few_rounds_of_few_rows_can_be_drawn(n_rounds, bounds):
    X, y = load_toy()
    display = draw(AdaBoostClassifier(n_estimators=n_rounds).fit(X, y), X, y, X, y, bounds=bounds)
    assert overlaps(display) == []
    low, high = display.ax_.get_xlim()
    assert low <= 1 <= n_rounds <= high


@pytest.mark.parametrize("bounds", [None, "training", "all"])
def test_texts_do_not_overlap(cancer, bounds):
    assert overlaps(draw(*cancer, bounds=bounds)) == []


@pytest.mark.parametrize("bounds", [None, "all"])
def test_zero_error_from_the_first_round(bounds):
    X, y = np.arange(8.0)[:, np.newaxis], np.repeat(["a", "b"], 4)
    display = draw(AdaBoostClassifier(n_estimators=5).fit(X, y), X, y, X, y, bounds=bounds)
    assert display.zero_from == 1
    display.figure_.canvas.draw()


def test_bounds_far_above_one_do_not_extend_the_axis():
    display = ErrorRoundsDisplay(np.array([0.3, 0.2]), bounds={"training": np.array([2.0, 1e20])}).plot()
    assert display.ax_.get_ylim()[1] == 10


# --- which bounds apply


def test_missing_values_increase_the_count_of_stumps():
    X, y = make_hastie(200, 3, random_state=0)
    with_gap = X.copy()
    with_gap[5, 1] = np.nan
    model = AdaBoostClassifier(n_estimators=4).fit(with_gap, y)
    display = draw(model, with_gap, y, bounds="stumps")
    expected = stump_bound(200, 3, np.arange(1, 5), 0.05, missing=True)
    np.testing.assert_allclose(display.bounds["stumps"] - display.train_error, expected)
    in_test = draw(AdaBoostClassifier(n_estimators=4).fit(X, y), X, y, with_gap, y, bounds="stumps")
    np.testing.assert_allclose(in_test.bounds["stumps"] - in_test.train_error, expected)


def test_the_vc_bound_of_one_column_is_that_of_dimension_three():
    X, y = make_hastie(200, 1, random_state=0)
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    display = draw(model, X, y, bounds=["vc"])
    dimension = boosted_vc_dimension(np.array([3, 3, 3, 4]), 3)
    np.testing.assert_allclose(display.bounds["vc"] - display.train_error, vc_bound(200, dimension, 0.05))


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(DecisionStump(), algorithm="samme"),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), algorithm="m1"),
        AdaBoostClassifier(learning_rate=0.5),
        AnyBoostClassifier(),
    ],
)
def test_votes_of_stumps_have_bounds_of_their_class(model):
    X, y = make_hastie(100, 3, random_state=0)
    model = model.set_params(n_estimators=5).fit(X, y)
    display = draw(model, X, y, bounds="all")
    assert set(CLASS_BOUNDS) <= set(display.bounds)
    assert ("exponential" in display.bounds) == (model.learning_rate == 1)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (AdaBoostClassifier(algorithm="real"), "do not vote: they predict numbers"),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=None)), "any number of leaves"),
        (LogitBoostClassifier(), "do not vote: they predict numbers"),
        (GradientBoostingClassifier(), "not a GradientBoostingClassifier"),
    ],
)
def test_other_learners_have_no_bounds_of_the_class_of_stumps(model, reason):
    X, y = make_hastie(100, 3, random_state=0)
    model = model.set_params(n_estimators=3).fit(X, y)
    for name in CLASS_BOUNDS:
        with pytest.raises(ValueError, match=f"the bound '{name}' does not apply: .*{reason}"):
            draw(model, X, y, bounds=name)
    assert not set(CLASS_BOUNDS) & set(draw(model, X, y, bounds="all").bounds)


def test_several_classes_and_categories_have_no_bounds_of_the_class_of_stumps():
    X, y = make_hastie(90, 3, random_state=0)
    three = AdaBoostClassifier(n_estimators=3).fit(X, np.arange(90) % 3)
    with pytest.raises(ValueError, match="requires two classes; the model has 3"):
        draw(three, X, np.arange(90) % 3, bounds="vc")
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(np.where(X[:, 1] > 0, "red", "blue"))})
    model = AdaBoostClassifier(n_estimators=3).fit(frame, y)
    with pytest.raises(ValueError, match="categorical columns are split by sets"):
        draw(model, frame, y, bounds=["training", "stumps"])
    assert list(draw(model, frame, y, bounds="all").bounds) == ["training", "exponential"]


def test_bounds_of_the_training_error_require_recorded_full_steps():
    X, y = make_hastie(90, 3, random_state=0)
    gradient = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=r"the bound 'training' does not apply: Gradient.* has no training_"):
        draw(gradient, X, y, bounds="training")
    assert not draw(gradient, X, y).bounds
    shrunken = AdaBoostClassifier(n_estimators=3, learning_rate=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"the bound 'exponential' does not apply: .*a bound for the full"):
        draw(shrunken, X, y, bounds="exponential")
    real = AdaBoostClassifier(n_estimators=3, algorithm="samme.r").fit(X, np.arange(90) % 3)
    with pytest.raises(ValueError, match="the bound 'training' does not apply"):
        draw(real, X, np.arange(90) % 3, bounds="training")
    assert not draw(real, X, np.arange(90) % 3).bounds


# --- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"bounds": bounds}, r"bounds=.* is not allowed: it must be None, 'all', or some of 'training'")
            for bounds in ("margin", ["training", "x"], 3, [None])
        ),
        *(
            ({"delta": delta}, r"delta=.* is not allowed: it must be a number > 0 and < 1")
            for delta in (0, 1, "x", np.nan)
        ),
    ],
)
def test_invalid_options_are_rejected(cancer, options, message):
    with pytest.raises(ValueError, match=message):
        draw(*cancer, **options)


def test_inconsistent_data_are_rejected(cancer):
    model, X, y, X_test, y_test = cancer
    with pytest.raises(ValueError, match="y_test=None is not allowed: X_test and y_test must be passed"):
        draw(model, X, y, X_test)
    with pytest.raises(ValueError, match="the training set has 285 rows in X and 284 in y"):
        draw(model, X, y[1:])
    with pytest.raises(ValueError, match=r"y_test holds 2: it must hold the classes \[0, 1\] only"):
        draw(model, X, y, X_test, y_test + 1)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="RandomForestClassifier has no staged_predict"):
        draw(forest, X, y)
