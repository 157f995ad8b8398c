import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.datasets import make_interval
from hedgerow.plots import ShapeFunctionDisplay
from hedgerow.shapes import shape_functions


def table(n=300):
    """Columns of falling influence: big, gaps (with missing values), colour, small; then noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["small", "gaps", "big", "noise"])
    X["colour"] = pd.Categorical(rng.choice(["blue", "green", "red"], n))
    score = 3 * X["big"] + 1.5 * X["gaps"] + (X["colour"] == "red") + 0.3 * X["small"]
    X.loc[rng.random(n) < 0.2, "gaps"] = np.nan
    return X, np.asarray(score)


def regressor(**parameters):
    X, score = table()
    model = GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=60, learning_rate=0.3, **parameters)
    return model.fit(X, score), X


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


def test_the_features_of_largest_spread_come_first():
    model, X = regressor()
    names = names_of(ShapeFunctionDisplay.from_estimator(model, X))
    assert names[:3] == ["big", "gaps", "colour"]
    assert names_of(ShapeFunctionDisplay.from_estimator(model))[:2] == ["big", "gaps"]


def test_six_panels_are_drawn_at_the_most_and_unused_features_never():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9))
    X[:, 8] = 1.0
    model = GradientBoostingRegressor(max_leaf_nodes=2).fit(X, X[:, :8].sum(axis=1))
    assert len(ShapeFunctionDisplay.from_estimator(model, X).axes_) == 6
    model = GradientBoostingRegressor(max_leaf_nodes=2).fit(X[:, 7:], X[:, 7])
    assert names_of(ShapeFunctionDisplay.from_estimator(model)) == ["feature 0"]


@pytest.mark.parametrize("with_data", [True, False])
def test_the_lines_are_the_shape_functions(with_data):
    model, X = regressor()
    display = ShapeFunctionDisplay.from_estimator(model, X if with_data else None, ["big"])
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


def test_with_data_the_bottom_shows_the_deciles_and_the_functions_are_centred():
    model, X = regressor()
    display = ShapeFunctionDisplay.from_estimator(model, X, "small")
    (ticks,) = display.axes_[0].collections
    shown = [segment[0, 0] for segment in ticks.get_segments()]
    np.testing.assert_allclose(shown, np.quantile(X["small"], np.arange(1, 10) / 10))
    assert abs(display.functions[0](X["small"]).mean()) < 1e-12
    assert not ShapeFunctionDisplay.from_estimator(model, features="small").axes_[0].collections


def test_a_diamond_shows_the_value_of_missing_where_the_data_has_gaps():
    model, X = regressor()
    display = ShapeFunctionDisplay.from_estimator(model, X, ["gaps", "big"])
    with_gaps, without = display.axes_
    diamonds = [line for line in with_gaps.lines if line.get_marker() == "D"]
    np.testing.assert_allclose([line.get_ydata()[0] for line in diamonds], display.functions[0].missing)
    assert [text.get_text() for text in with_gaps.get_xticklabels()][-1] == "missing"
    assert not [line for line in without.lines if line.get_marker() == "D"]


def test_categories_are_bars_with_their_names():
    model, X = regressor()
    X.loc[:5, "colour"] = None
    display = ShapeFunctionDisplay.from_estimator(model, X, "colour")
    (panel,) = display.axes_
    assert [text.get_text() for text in panel.get_xticklabels()] == ["blue", "green", "red", "missing"]
    function = display.functions[0]
    heights = [bar.get_height() for bar in panel.patches]
    np.testing.assert_allclose(heights, [*function.heights[0], *function.missing])


def test_of_many_categories_those_that_matter_most_are_drawn():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 40, 3000)
    X = pd.DataFrame({"place": pd.Categorical([f"a long name of place {number}" for number in numbers])})
    model = GradientBoostingRegressor(max_leaf_nodes=2).fit(X, (numbers % 20 == 3).astype(float))
    (panel,) = ShapeFunctionDisplay.from_estimator(model, X).axes_
    labels = [text.get_text() for text in panel.get_xticklabels()]
    assert len(panel.patches) == len(labels) == 16
    assert {"a long…place 3", "a long…lace 23"} <= set(labels)
    assert panel.get_xlabel() == "16 of 40 categories"


def test_all_panels_have_one_scale_that_holds_every_height():
    model, X = regressor()
    display = ShapeFunctionDisplay.from_estimator(model, X)
    (limits,) = {panel.get_ylim() for panel in display.axes_}
    heights = np.concatenate([function.heights.ravel() for function in display.functions])
    assert limits[0] < heights.min() < heights.max() < limits[1]


def test_two_classes_have_one_line_and_say_whose_score_it_is():
    model, X = classifier(2, ("no", "yes"))
    display = ShapeFunctionDisplay.from_estimator(model, X, ["big", "small"])
    assert [len(lines_of(panel)) for panel in display.axes_] == [1, 1]
    assert display.figure_.get_supylabel() == "added to the score of class yes"
    assert not display.figure_.legends


def test_several_classes_have_a_line_each_and_a_legend():
    model, X = classifier(3)
    display = ShapeFunctionDisplay.from_estimator(model, X, ["big", "colour"])
    assert len(lines_of(display.axes_[0])) == 3
    assert len(display.axes_[1].patches) == 9
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["high", "low", "middle"]


def test_one_of_several_classes_can_be_chosen_and_keeps_its_colour():
    model, X = classifier(3)
    together = ShapeFunctionDisplay.from_estimator(model, X, "big").axes_[0].patches
    alone = ShapeFunctionDisplay.from_estimator(model, X, "big", target="low")
    (line,) = lines_of(alone.axes_[0])
    np.testing.assert_array_equal(line.values, together[1].get_data().values)
    assert alone.axes_[0].patches[0].get_edgecolor() == together[1].get_edgecolor()
    assert alone.figure_.get_supylabel() == "added to the score of class low"


@pytest.mark.parametrize("features", [["big", 0], [np.int64(2), "small"], ("big", "small")])
def test_features_are_names_or_numbers_in_the_order_given(features):
    model, X = regressor()
    assert names_of(ShapeFunctionDisplay.from_estimator(model, X, features)) == ["big", "small"]
    assert names_of(ShapeFunctionDisplay.from_estimator(model, X, features[0])) == ["big"]


def test_the_estimators_own_shape_functions_are_asked_first():
    model, _ = regressor()
    exact = shape_functions(model.model_, model.schema_)
    model.shape_functions = lambda: exact
    del model.model_
    display = ShapeFunctionDisplay.from_estimator(model, features="big")
    assert display.functions[0] is exact[2]


def test_boosted_thresholds_are_drawn_as_the_interval_they_found():
    X, y = make_interval(random_state=0)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    display = ShapeFunctionDisplay.from_estimator(model, X)
    (line,) = lines_of(display.axes_[0])
    inside = np.abs((line.edges[1:] + line.edges[:-1]) / 2) < 0.5
    assert line.values[inside].min() > 0 > line.values[~inside].max()
    assert display.figure_.get_supylabel() == "added to the score of class 1"


def test_axes_of_the_user_are_used():
    model, X = classifier(3)
    figure, axes = plt.subplots(1, 2)
    display = ShapeFunctionDisplay.from_estimator(model, X, ["big", "gaps"], ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    assert axes[0].get_ylabel() == "added to the score"
    assert axes[0].get_legend() is not None
    assert not figure.legends


def test_a_display_can_be_drawn_again():
    model, X = regressor()
    display = ShapeFunctionDisplay.from_estimator(model, X)
    n_panels = len(display.axes_)
    assert display.plot(n_columns=1) is display
    assert {panel.get_subplotspec().get_geometry()[:2] for panel in display.axes_} == {(n_panels, 1)}


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            "large",
            "feature 'large' is not allowed: it must be a number from 0 to 4 or one of the names 'small'",
        ),
        ([5], "feature 5 is not allowed"),
        ([-1], "feature -1 is not allowed"),
        ([True], "feature True is not allowed"),
        ([], r"features=\[\] is not allowed"),
    ],
)
def test_unknown_features_are_refused(features, message):
    model, X = regressor()
    with pytest.raises(ValueError, match=message):
        ShapeFunctionDisplay.from_estimator(model, X, features)


def test_unknown_targets_are_refused():
    model, _ = classifier(3)
    with pytest.raises(ValueError, match=r"target='none' is not allowed: it must be None or one of \['high'"):
        ShapeFunctionDisplay.from_estimator(model, target="none")
    model, _ = regressor()
    with pytest.raises(
        ValueError, match="target=1 is not allowed: it must be None for a model with one output"
    ):
        ShapeFunctionDisplay.from_estimator(model, target=1)


def test_more_classes_than_colours_need_a_target():
    model, X = classifier(8, None)
    with pytest.raises(ValueError, match="target=None is not allowed with 8 classes"):
        ShapeFunctionDisplay.from_estimator(model, X)
    assert ShapeFunctionDisplay.from_estimator(model, X, target=7).outputs == [7]


def test_a_model_that_uses_no_feature_is_refused():
    model = GradientBoostingRegressor(max_leaf_nodes=2).fit(np.ones((30, 2)), np.arange(30.0))
    with pytest.raises(ValueError, match="no feature has any influence on the score"):
        ShapeFunctionDisplay.from_estimator(model)
    assert len(ShapeFunctionDisplay.from_estimator(model, features=[0, 1]).axes_) == 2


def test_larger_trees_and_unfitted_models_are_refused():
    X, score = table()
    with pytest.raises(ValueError, match="set max_leaf_nodes=2"):
        ShapeFunctionDisplay.from_estimator(GradientBoostingRegressor().fit(X, score), X)
    with pytest.raises(NotFittedError):
        ShapeFunctionDisplay.from_estimator(GradientBoostingRegressor(), X)
