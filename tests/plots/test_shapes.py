"""Shape functions: choice of the features, step functions and bars, classes, and rejected inputs."""

from copy import copy
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.datasets import make_interval
from hedgerow.plots import ShapeFunctionDisplay
from hedgerow.shapes import shape_functions
from plot_cases import texts

draw = ShapeFunctionDisplay.from_estimator


@cache
def table(n=300):
    """Columns of decreasing influence: big, gaps (with missing values), colour, small; then noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["small", "gaps", "big", "noise"])
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], n))
    score = 3 * X["big"] + 1.5 * X["gaps"] + (X["colour"] == "red") + 0.3 * X["small"]
    X.loc[rng.random(n) < 0.2, "gaps"] = np.nan
    return X, np.asarray(score)


@cache
def regressor():
    X, score = table()
    return GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=60, learning_rate=0.3).fit(X, score), X


@cache
def classifier(n_classes, names=("low", "middle", "high")):
    X, score = table()
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    model = GradientBoostingClassifier(max_leaf_nodes=2, n_estimators=20)
    return model.fit(X, np.array(names)[labels] if names else labels), X


def names_of(display):
    return [panel.get_title(loc="left") for panel in display.axes_]


def lines_of(panel):
    """Borders and heights of the lines of steps of a panel."""
    return [
        patch.get_data() for patch in panel.patches if hasattr(patch, "get_data") and not patch.get_fill()
    ]


def test_features_are_ordered_by_spread():
    model, X = regressor()
    assert names_of(draw(model, X))[:3] == ["big", "gaps", "colour"]
    assert names_of(draw(model))[:2] == ["big", "gaps"]


def test_at_most_six_used_features_are_drawn():
    X = np.random.default_rng(0).normal(size=(300, 9))
    X[:, 8] = 1.0
    model = GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=50).fit(X, X[:, :8].sum(axis=1))
    assert len(draw(model, X).axes_) == 6
    model = GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=50).fit(X[:, 7:], X[:, 7])
    assert names_of(draw(model)) == ["feature 0"]


@pytest.mark.parametrize("with_data", [True, False])
def test_lines_are_the_shape_functions(with_data):
    model, X = regressor()
    display = draw(model, X if with_data else None, ["big"])
    exact = shape_functions(model.model_, model.schema_)
    function = (exact.centred(X) if with_data else exact)[2]
    (line,) = lines_of(display.axes_[0])
    middles = (line.edges[1:] + line.edges[:-1]) / 2
    np.testing.assert_allclose(line.values, function(middles)[0])
    assert set(function.edges) >= set(line.edges[1:-1])
    if with_data:
        assert (line.edges[0], line.edges[-1]) == (X["big"].min(), X["big"].max())
    else:
        np.testing.assert_array_equal(line.edges[1:-1], function.edges)


def test_data_centre_the_functions_and_give_deciles():
    model, X = regressor()
    display = draw(model, X, "small")
    (ticks,) = display.axes_[0].collections
    shown = [segment[0, 0] for segment in ticks.get_segments()]
    np.testing.assert_allclose(shown, np.quantile(X["small"], np.arange(1, 10) / 10))
    assert abs(display.functions[0](X["small"]).mean()) < 1e-12
    assert not draw(model, features="small").axes_[0].collections


def test_diamond_marks_the_value_of_missing():
    model, X = regressor()
    display = draw(model, X, ["gaps", "big"])
    with_gaps, without = display.axes_
    diamonds = [line for line in with_gaps.lines if line.get_marker() == "D"]
    np.testing.assert_allclose([line.get_ydata()[0] for line in diamonds], display.functions[0].missing)
    assert texts(with_gaps.get_xticklabels())[-1] == "missing"
    assert not [line for line in without.lines if line.get_marker() == "D"]


def test_categories_are_named_bars():
    model, X = regressor()
    X = X.copy()
    X.loc[:5, "colour"] = None
    display = draw(model, X, "colour")
    (panel,) = display.axes_
    assert texts(panel.get_xticklabels()) == ["blue", "green", "red", "missing"]
    function = display.functions[0]
    heights = [bar.get_height() for bar in panel.patches]
    np.testing.assert_allclose(heights, [*function.heights[0], *function.missing])


def test_only_the_largest_of_many_categories_are_drawn():
    numbers = np.random.default_rng(0).integers(0, 40, 3000)
    X = pd.DataFrame({"town": pd.Categorical([f"a long name of town {number}" for number in numbers])})
    model = GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=20)
    (panel,) = draw(model.fit(X, (numbers % 20 == 3).astype(float)), X).axes_
    names = texts(panel.get_xticklabels())
    assert len(panel.patches) == len(names) == 16
    assert {"a long… town 3", "a long…town 23"} <= set(names)
    assert panel.get_xlabel() == "16 of 40 categories"


def test_panels_share_limits_that_include_every_height():
    model, X = regressor()
    display = draw(model, X)
    (limits,) = {panel.get_ylim() for panel in display.axes_}
    heights = np.concatenate([function.heights.ravel() for function in display.functions])
    assert limits[0] < heights.min() < heights.max() < limits[1]


def test_two_classes_have_one_line_with_the_name_of_the_second():
    model, X = classifier(2, ("no", "yes"))
    display = draw(model, X, ["big", "small"])
    assert [len(lines_of(panel)) for panel in display.axes_] == [1, 1]
    assert display.figure_.get_supylabel() == "added to the score of class yes"
    assert not display.figure_.legends


def test_several_classes_have_a_line_each_and_a_legend():
    model, X = classifier(3)
    display = draw(model, X, ["big", "colour"])
    assert len(lines_of(display.axes_[0])) == 3
    assert len(display.axes_[1].patches) == 9
    (legend,) = display.figure_.legends
    assert texts(legend.get_texts()) == ["high", "low", "middle"]


def test_target_class_keeps_its_colour():
    model, X = classifier(3)
    together = draw(model, X, "big").axes_[0].patches
    alone = draw(model, X, "big", target="low")
    (line,) = lines_of(alone.axes_[0])
    np.testing.assert_array_equal(line.values, together[1].get_data().values)
    assert alone.axes_[0].patches[0].get_edgecolor() == together[1].get_edgecolor()
    assert alone.figure_.get_supylabel() == "added to the score of class low"


@pytest.mark.parametrize("features", [["big", 0], [np.int64(2), "small"], ("big", "small")])
def test_features_are_names_or_numbers_in_the_order_passed(features):
    model, X = regressor()
    assert names_of(draw(model, X, features)) == ["big", "small"]
    assert names_of(draw(model, X, features[0])) == ["big"]


def test_shape_functions_of_the_estimator_are_preferred():
    model = copy(regressor()[0])
    exact = shape_functions(model.model_, model.schema_)
    model.shape_functions = lambda: exact
    del model.model_
    assert draw(model, features="big").functions[0] is exact[2]


def test_boosted_thresholds_form_the_interval():
    X, y = make_interval(random_state=0)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    display = draw(model, X)
    (line,) = lines_of(display.axes_[0])
    inside = np.abs((line.edges[1:] + line.edges[:-1]) / 2) < 0.5
    assert line.values[inside].min() > 0 > line.values[~inside].max()
    assert display.figure_.get_supylabel() == "added to the score of class 1"


def test_display_draws_on_passed_axes_and_again():
    model, X = classifier(3)
    figure, axes = plt.subplots(1, 2)
    display = draw(model, X, ["big", "gaps"], ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    assert axes[0].get_ylabel() == "added to the score"
    assert axes[0].get_legend() is not None
    assert not figure.legends
    assert display.plot(n_columns=1) is display
    assert {panel.get_subplotspec().get_geometry()[:2] for panel in display.axes_} == {(2, 1)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "large"}, "'large' is not allowed: .* from 0 to 4 or one of the names 'small'"),
        ({"features": [5]}, "feature 5 is not allowed"),
        ({"features": [-1]}, "feature -1 is not allowed"),
        ({"features": [True]}, "feature True is not allowed"),
        ({"features": []}, r"features=\[\] is not allowed"),
        ({"target": 1}, "target=1 is not allowed: it must be None for a model with one output"),
    ],
)
def test_unknown_features_and_targets_are_rejected(options, message):
    model, X = regressor()
    with pytest.raises(ValueError, match=message):
        draw(model, X, **options)


def test_targets_of_several_classes_are_checked():
    with pytest.raises(ValueError, match=r"target='none' is not allowed: it must be None or one of \['high'"):
        draw(classifier(3)[0], target="none")
    model, X = classifier(8, None)
    with pytest.raises(ValueError, match="target=None is not allowed with 8 classes"):
        draw(model, X)
    assert draw(model, X, target=7).outputs == [7]


def test_models_without_shape_functions_are_rejected():
    model = GradientBoostingRegressor(max_leaf_nodes=2).fit(np.ones((30, 2)), np.arange(30.0))
    with pytest.raises(ValueError, match="no feature has any influence on the score"):
        draw(model)
    assert len(draw(model, features=[0, 1]).axes_) == 2
    X, score = table()
    with pytest.raises(ValueError, match="set max_leaf_nodes=2"):
        draw(GradientBoostingRegressor(n_estimators=2).fit(X, score), X)
    with pytest.raises(NotFittedError):
        draw(GradientBoostingRegressor(), X)
