"""Rounds of boosting in the plane: weights, regions, marks, panels, and rejected inputs."""

import importlib
import math
import sys
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.naive_bayes import GaussianNB

from hedgerow import AdaBoostClassifier, DecisionTreeClassifier, LogitBoostClassifier
from hedgerow.datasets import flip_labels, load_toy, make_hastie
from hedgerow.plots import BoostingRoundsDisplay
from plot_cases import texts


class Stump:
    def __init__(self, column, threshold, polarity, classes=(-1, 1)):
        self.rule, self.classes_ = (column, threshold, polarity), np.array(classes)

    def predict(self, X):
        column, threshold, polarity = self.rule
        above = np.asarray(X)[:, column] > threshold
        return self.classes_[(above == (polarity > 0)).astype(int)]


class Boosted(BaseEstimator):
    """The three rounds of the toy, as AdaBoost leaves them."""

    def __init__(self, classes=(-1, 1), share=1.0):
        self.classes, self.share = classes, share
        rules = [(0, 0.21, -1), (0, 0.76, -1), (1, 0.60, 1)]
        self.classes_ = np.array(classes)
        self.estimators_ = [Stump(*rule, classes) for rule in rules]
        errors = np.array([3 / 10, 3 / 14, 3 / 22])
        self.estimator_weights_ = share * np.log((1 - errors) / errors) / 2

    def fit(self, X, y):
        return self

    def predict(self, X):
        votes = [2 * (h.predict(X) == self.classes_[1]) - 1 for h in self.estimators_]
        return self.classes_[(self.estimator_weights_ @ np.array(votes) > 0).astype(int)]


def draw(model=None, X=None, y=None, **parameters):
    toy_X, toy_y = load_toy()
    X, y = toy_X if X is None else X, toy_y if y is None else y
    return BoostingRoundsDisplay.from_estimator(Boosted() if model is None else model, X, y, **parameters)


@cache
def toy():
    """The display of the three rounds; made once."""
    return draw()


def points_of(panel):
    """Positions, areas and colours of the marks of both classes in a panel, and the positions in rings."""
    minus, plus, rings = panel.collections[-3:]
    return minus, plus, rings.get_offsets()


def titles(display):
    notes = [[text.get_text() for text in panel.texts] for panel in display.axes_]
    return [panel.get_title(loc="left") for panel in display.axes_], [note for (note,) in notes]


def test_toy_has_three_rounds_and_their_sum():
    display = toy()
    names, notes = titles(display)
    assert names == ["Round 1", "Round 2", "Round 3", "All 3 rounds"]
    assert " ".join(notes[0].split()) == "ε = 0.30 α = 0.42"
    assert " ".join(notes[1].split()) == "ε = 0.21 α = 0.65"
    assert " ".join(notes[2].split()) == "ε = 0.14 α = 0.92"
    assert notes[3] == "training error 0 %"
    assert display.figure_.axes == list(display.axes_)


def test_weights_are_those_of_the_textbook():
    display, (_, y) = toy(), load_toy()
    np.testing.assert_allclose(display.weights.sum(axis=1), 1)
    np.testing.assert_allclose(display.weights[0], 0.1)
    np.testing.assert_allclose(display.errors, [3 / 10, 3 / 14, 3 / 22])
    wrong = display.votes[0] != y
    np.testing.assert_allclose(display.weights[1], np.where(wrong, 1 / 6, 1 / 14))


def test_areas_of_points_are_proportional_to_weights():
    display, (X, y) = toy(), load_toy()
    for weights, panel in zip(display.weights, display.axes_, strict=False):
        minus, plus, _ = points_of(panel)
        np.testing.assert_array_equal(minus.get_offsets(), X[y == -1])
        np.testing.assert_array_equal(plus.get_offsets(), X[y == 1])
        areas = np.concatenate([minus.get_sizes(), plus.get_sizes()])
        np.testing.assert_allclose(areas / areas.sum(), np.concatenate([weights[y == -1], weights[y == 1]]))


def test_rings_mark_the_errors_of_a_round():
    display, (X, y) = toy(), load_toy()
    rings = [points_of(panel)[2] for panel in display.axes_]
    assert [len(ring) for ring in rings] == [3, 3, 3, 0]
    np.testing.assert_array_equal(rings[0], X[display.votes[0] != y])


def test_regions_are_the_half_planes_and_the_final_classifier():
    display = toy()
    (left, right), (low, high) = display.limits
    x, y = np.linspace(left, right, 240), np.linspace(low, high, 240)
    np.testing.assert_array_equal(display.regions[0], np.tile(np.where(x > 0.21, -1, 1), (240, 1)))
    np.testing.assert_array_equal(display.regions[2].T, np.tile(np.where(y > 0.60, 1, -1), (240, 1)))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    np.testing.assert_array_equal(display.regions[3].ravel(), Boosted().predict(grid))
    for panel in display.axes_:
        assert panel.get_xlim() == (left, right)
        assert panel.get_ylim() == (low, high)


def test_doubled_alphas_of_samme_and_m1_give_the_same_weights():
    plain = toy()
    for algorithm in ("m1", "samme", "SAMME"):
        model = Boosted(share=2.0)
        model.algorithm = algorithm
        doubled = draw(model)
        np.testing.assert_allclose(doubled.weights, plain.weights)
        np.testing.assert_allclose(doubled.alphas, 2 * plain.alphas)


@pytest.mark.parametrize(
    ("learner", "algorithm"),
    [(None, "discrete"), (None, "m1"), (DecisionTreeClassifier(max_depth=2), "m1"), (GaussianNB(), "samme")],
    ids=str,
)
def test_recomputed_weights_are_those_of_the_fit(learner, algorithm):
    X, y = make_hastie(200, 2, random_state=0)
    X, y = pd.DataFrame(X, columns=["a", "b"]), np.where(flip_labels(y, random_state=0)[0] > 0, "out", "in")
    model = AdaBoostClassifier(learner, n_estimators=6, algorithm=algorithm, learning_rate=0.5).fit(X, y)
    display = draw(model, X, y, rounds=range(1, model.n_estimators_ + 1))
    np.testing.assert_allclose(display.errors, model.estimator_errors_, atol=1e-6)
    wrong, last = display.votes[-1] != display.y, display.alphas[-1] * (1 if algorithm == "discrete" else 0.5)
    after = display.weights[-1] * np.exp(np.where(wrong, last, -last))
    np.testing.assert_allclose(after / after.sum(), model.sample_weights_, rtol=1e-5)
    assert display.training_error == pytest.approx(model.history_["train_error"][-1])


def test_adaboost_has_the_rounds_of_the_tutorial():
    display = draw(AdaBoostClassifier(n_estimators=3).fit(*load_toy()))
    np.testing.assert_array_equal(display.regions, toy().regions)
    np.testing.assert_allclose(display.weights, toy().weights, rtol=1e-6)


def test_adaboost_of_scikit_learn_can_be_drawn():
    X, y = load_toy()
    display = draw(SklearnAdaBoost(n_estimators=3).fit(X, y))
    np.testing.assert_allclose(display.errors, [3 / 10, 3 / 14, 3 / 22])
    assert display.training_error == 0


def test_other_learners_and_labels_can_be_drawn():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where((X**2).sum(axis=1) > 1.2, "outer", "inner")
    model = SklearnAdaBoost(GaussianNB(), n_estimators=4).fit(X, y)
    display = draw(model, X, y)
    assert display.rounds == [1, 2, 3, 4][: len(model.estimators_)]
    assert display.training_error == pytest.approx(1 - model.score(X, y))
    np.testing.assert_allclose(display.errors, model.estimator_errors_[: len(display.rounds)])
    assert texts(display.figure_.legends[0].get_texts()) == ["class outer", "class inner"]
    assert all(len(points_of(panel)[2]) == 0 for panel in display.axes_)  # too many for rings


@pytest.mark.parametrize(("library", "kind"), [(pd, SklearnAdaBoost), (pl, AdaBoostClassifier)])
def test_axes_have_the_names_of_data_frame_columns(library, kind):
    X, y = load_toy()
    frame = library.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = kind(n_estimators=3).fit(frame, y)
    assert list(model.feature_names_in_) == ["width", "height"]
    display = draw(model, frame)
    assert display.names == ["width", "height"]
    assert display.axes_[0].get_ylabel() == "height"
    assert display.axes_[0].get_xlabel() == "width"
    assert display.axes_[1].get_ylabel() == ""


def test_sample_weights_are_the_first_weights():
    weight = np.arange(1.0, 11.0)
    display = draw(sample_weight=weight)
    np.testing.assert_allclose(display.weights[0], weight / 55)


@pytest.mark.parametrize(
    ("rounds", "expected"), [(None, [1, 2, 3]), (1, [1]), (np.int64(2), [1, 2]), ([3], [3]), ((3, 1), [3, 1])]
)
def test_rounds_can_be_chosen(rounds, expected):
    display = draw(rounds=rounds)
    assert titles(display)[0] == [*(f"Round {number}" for number in expected), "All 3 rounds"]
    np.testing.assert_allclose(display.weights, toy().weights[np.array(expected) - 1])


def test_of_many_rounds_the_first_seven_are_drawn():
    model = Boosted()
    model.estimators_ *= 4
    model.estimator_weights_ = np.tile(model.estimator_weights_, 4)
    model.predict = model.estimators_[0].predict
    display = draw(model)
    assert display.rounds == [1, 2, 3, 4, 5, 6, 7]
    assert titles(display)[0][-1] == "All 12 rounds"
    assert display.training_error == pytest.approx(0.3)


def test_a_perfect_learner_with_an_infinite_weight_can_be_drawn():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([-1, 1])
    model = Boosted()
    model.estimators_, model.estimator_weights_ = [Stump(0, 0.5, 1)], np.array([math.inf])
    model.predict = model.estimators_[0].predict
    display = draw(model, X, y)
    np.testing.assert_array_equal(display.weights, [[0.5, 0.5]])
    assert display.errors == [0.0]


def test_a_constant_learner_can_be_drawn():
    model = Boosted()
    model.estimators_[0] = Stump(0, -math.inf, 1)
    assert draw(model).regions[0].min() == 1


# --- axes


def test_panels_use_passed_axes():
    figure, axes = plt.subplots(2, 2)
    display = draw(ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes.ravel())
    assert not figure.legends


def test_panels_replace_a_single_axes():
    figure, (left, right) = plt.subplots(1, 2)
    display = draw(ax=right, n_columns=2)
    assert len(display.axes_) == 4
    assert len(figure.axes) == 6
    figure.canvas.draw()
    assert all(panel.get_position().x0 > left.get_position().x1 for panel in display.axes_)
    assert not right.axison


def test_only_outer_panels_have_tick_labels_when_drawn_again():
    display = draw()
    first = display.figure_
    assert display.plot(n_columns=2) is display
    assert display.figure_ is not first
    display.figure_.canvas.draw()
    shown = [
        (panel.yaxis.get_tick_params()["labelleft"], panel.xaxis.get_tick_params()["labelbottom"])
        for panel in display.axes_
    ]
    assert shown == [(True, False), (False, False), (True, True), (False, True)]


# --- errors


INVALID = [
    ("n_columns", (0, 2.0, True), "n_columns=.* is not allowed: it must be an integer >= 1"),
    ("X", (np.zeros((10, 3)),), "X has 3 columns: it must have two columns"),
    ("X", (np.zeros(10),), r"X has shape \(10,\)"),
    ("X", (np.where(np.arange(20).reshape(10, 2) == 5, np.nan, 1.0),), r"X\[2, 1\] is nan"),
    ("X", (np.zeros((9, 2)),), "y has 10 rows, but X has 9; they must be equal"),
    ("y", (np.arange(10),), r"y holds 0: it must hold the classes \[-1, 1\] only"),
    (
        "rounds",
        (0, 4, [], [1, 4], [0], [1.0], "1", True, [True], 2.0),
        "rounds=.* is not allowed: the estimator has the rounds 1 to 3",
    ),
    (
        "sample_weight",
        (np.ones(9), -np.ones(10), np.zeros(10), np.full(10, np.nan)),
        "sample_weight must hold 10 finite numbers >= 0",
    ),
]


def test_invalid_inputs_are_rejected():
    for name, values, message in INVALID:
        for value in values:
            with pytest.raises(ValueError, match=message):
                draw(**{name: value})


def test_wrong_numbers_of_axes_are_rejected():
    _, axes = plt.subplots(1, 3)
    with pytest.raises(ValueError, match="ax holds 3 axes, and there are 4 panels"):
        draw(ax=axes)
    with pytest.raises(ValueError, match="ax holds 1 axes, and there are 4 panels"):
        draw(ax=plt.axes((0, 0, 1, 1)))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"classes_": np.arange(3)}, "Boosted has 3 classes: it must have two"),
        (
            {"estimators_": [Stump(0, 0.5, 1, ("a", "b"))] * 3},
            "Stump.predict holds .a.: it must hold",
        ),
        ({"algorithm": "real"}, "algorithm='real' is not allowed: its weights do not follow from votes"),
        ({"algorithm": "gentle"}, "algorithm='gentle' is not allowed: its weights do not follow from votes"),
        (
            {"algorithm": "samme.r"},
            "algorithm='samme.r' is not allowed: its weights",
        ),
        ({"cost": "logistic"}, "cost='logistic' is not allowed: it must be 'exponential'"),
        ({"estimators_": [], "estimator_weights_": np.empty(0)}, "Boosted has no rounds"),
    ],
)
def test_estimators_other_than_adaboost_with_votes_are_rejected(attributes, message):
    model = Boosted()
    for name, value in attributes.items():
        setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        draw(model)


def test_estimators_without_weighted_votes_are_rejected():
    with pytest.raises(TypeError, match="GaussianNB has no estimators_"):
        draw(GaussianNB().fit(*load_toy()))
    with pytest.raises(ValueError, match=r"DecisionTreeRegressor\.predict holds"):
        draw(LogitBoostClassifier(n_estimators=2).fit(*load_toy()))


def test_without_matplotlib_the_message_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[plots\]'"):
        draw()
    monkeypatch.delitem(sys.modules, "hedgerow.plots")
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[plots\]'"):
        importlib.import_module("hedgerow.plots")
