"""Partial dependence: the means, grids of numbers and categories, missing values, tables of any kind."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from hedgerow import BaggingClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.plots import PartialDependenceDisplay

draw = PartialDependenceDisplay.from_estimator


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return GradientBoostingClassifier(n_estimators=15).fit(X, y), X


@pytest.fixture(scope="module")
def mixed():
    """A number with missing values, a category with some, a whole number; and what they add up to."""
    generator = np.random.default_rng(0)
    number, kind, rooms = (
        generator.normal(size=600),
        generator.integers(0, 3, 600),
        generator.integers(0, 4, 600),
    )
    y = 2 * number + np.array([0, 10, 20])[kind] + rooms
    number[::9] = np.nan
    words = [None if row % 11 == 5 else ["Rome", "Oslo", "Bonn"][k] for row, k in enumerate(kind)]
    return {"number": number.tolist(), "town": words, "rooms": rooms.tolist()}, y


def as_arrow(columns):
    table = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
    return pa.table(table | {"town": table["town"].dictionary_encode()})


def as_pandas(columns):
    frame = pd.DataFrame(columns, index=np.arange(600)[::-1] * 3)
    return frame.astype({"town": "category"})


def as_polars(columns):
    return pl.DataFrame(columns, schema_overrides={"town": pl.Categorical}, nan_to_null=True)


def test_means_are_those_of_scikit_learn(cancer):
    model, X = cancer
    display = draw(model, X, features=["worst area"], max_rows=1000)
    (found,) = display.dependences
    wanted = partial_dependence(
        model, X, ["worst area"], custom_values={"worst area": found.values}, method="brute", kind="both"
    )
    np.testing.assert_allclose(found.means, wanted["average"], atol=1e-12)
    np.testing.assert_allclose(found.single[0].T, wanted["individual"][0], atol=1e-12)


def test_the_most_important_columns_are_drawn(cancer):
    model, X = cancer
    display = draw(model, X, top=4)
    wanted = X.columns[np.argsort(-model.feature_importances_)[:4]].tolist()
    assert [found.name for found in display.dependences] == wanted
    assert [ax.get_title(loc="left") for ax in display.axes_] == wanted
    assert display.measure == "mean probability of class 1"


def test_without_importances_the_columns_that_move_predictions_are_drawn():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = BaggingClassifier(n_estimators=5, random_state=0).fit(X, X[:, 2] > 0)
    assert draw(model, X, top=1).dependences[0].name == "column 2"


@pytest.mark.parametrize("make", [as_arrow, as_pandas, as_polars])
def test_tables_with_categories_and_missing_values_give_the_same_means(mixed, make):
    columns, y = mixed
    X = make(columns)
    model = GradientBoostingRegressor(n_estimators=40).fit(X, y)
    display = draw(model, X, features=["town", "number", "rooms"])
    town, number, rooms = display.dependences
    assert town.categories == ["Bonn", "Oslo", "Rome"]
    assert np.diff(town.means[0]) == pytest.approx([-10, -10], abs=1.5)
    assert town.missing is not None
    assert number.missing is not None
    assert rooms.missing is None
    assert rooms.values.tolist() == [0, 1, 2, 3]
    assert np.isfinite(number.values).all()
    reference = GradientBoostingRegressor(n_estimators=40).fit(as_arrow(columns), y)
    wanted = draw(reference, as_arrow(columns), features=["number"]).dependences[0]
    np.testing.assert_allclose(number.means, wanted.means, atol=1e-9)


def test_categories_are_dots_and_missing_is_a_word_or_a_diamond(mixed):
    columns, y = mixed
    X = as_arrow(columns)
    display = draw(GradientBoostingRegressor(n_estimators=5).fit(X, y), X, features=["town", "number"])
    town, number = display.axes_
    assert [text.get_text() for text in town.get_xticklabels()] == ["Bonn", "Oslo", "Rome", "missing"]
    assert {line.get_marker() for line in town.lines if line.get_linestyle() == "None"} == {"o"}
    assert number.get_xticklabels()[-1].get_text() == "missing"
    assert "D" in {line.get_marker() for line in number.lines}
    assert town.get_ylim() == number.get_ylim()


def test_many_categories_are_cut_to_the_most_frequent_and_it_is_said():
    generator = np.random.default_rng(0)
    codes = np.minimum(generator.geometric(0.08, 2000), 40)
    X = pd.DataFrame({"kind": pd.Categorical([f"number {code:02d}" for code in codes])})
    model = GradientBoostingRegressor(n_estimators=5).fit(X, codes)
    (found,) = draw(model, X, max_rows=2000).dependences
    counts = np.bincount(codes)
    assert set(found.categories) == {f"number {code:02d}" for code in np.argsort(-counts, kind="stable")[:12]}
    assert found.n_categories == len(np.unique(codes))
    (ax,) = draw(model, X, max_rows=2000).axes_
    assert ax.get_xlabel() == f"the 12 most frequent of {found.n_categories} categories"


def test_strings_of_a_scikit_learn_pipeline_are_categories():
    X = pd.DataFrame({"size": np.tile([1.0, 2.0, 3.0, 4.0], 30), "colour": ["red", "blue", "green"] * 40})
    y = (X["colour"] == "red").to_numpy()
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    display = draw(model, X, top=1)
    assert display.dependences[0].categories == ["blue", "green", "red"]
    assert display.dependences[0].means[0, 2] > 0.7


def test_each_class_has_a_line_and_five_at_the_most():
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    display = draw(model, X, features=[2])
    assert display.outputs == [0, 1, 2]
    np.testing.assert_allclose(display.dependences[0].means.sum(axis=0), 1)
    assert len(display.figure_.legends[0].get_texts()) == 3
    assert draw(model, X, features=2, target=1).dependences[0].means.shape[0] == 1
    digits, label = load_digits(return_X_y=True)
    many = draw(
        GradientBoostingClassifier(n_estimators=2).fit(digits, label), digits, features=[21], max_rows=100
    )
    assert len(many.outputs) == 5


def test_single_rows_are_drawn_behind_the_mean_if_asked_for(cancer):
    model, X = cancer
    plain, single = (len(draw(model, X, features=[0], ice=ice).axes_[0].lines) for ice in (False, True))
    assert single - plain == 40


def test_a_sample_is_drawn_by_the_seed(cancer):
    model, X = cancer
    first, again, other = (
        draw(model, X, features=[27], max_rows=30, random_state=seed).dependences[0].means
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()


def test_the_grid_has_no_more_points_than_asked_for_and_leaves_the_tails_out():
    X = np.random.default_rng(0).normal(size=(500, 1))
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    (found,) = draw(model, X, n_points=7).dependences
    assert len(found.values) == 7
    assert X.min() < found.values[0] < found.values[-1] < X.max()


def test_plot_divides_the_place_of_one_axes(cancer):
    model, X = cancer
    display = draw(model, X, top=2)
    figure, axes = plt.subplots(1, 2)
    display.plot(axes[1])
    assert len(figure.axes) == 4


def test_what_cannot_be_drawn_is_said(cancer):
    model, X = cancer
    for wrong in ("worst aria", 30, -1, True, 1.5):
        with pytest.raises(
            ValueError, match=f"feature {wrong!r} is not allowed: it must be a number from 0 to 29"
        ):
            draw(model, X, features=[wrong])
    with pytest.raises(ValueError, match=r"features=\[\] is not allowed"):
        draw(model, X, features=[])
    with pytest.raises(ValueError, match="target=7 is not allowed"):
        draw(model, X, target=7)
    with pytest.raises(ValueError, match="n_points=1 is not allowed"):
        draw(model, X, n_points=1)
    regressor = GradientBoostingRegressor(n_estimators=1).fit(X, X["mean area"])
    with pytest.raises(ValueError, match="target=0 is not allowed: GradientBoostingRegressor has no classes"):
        draw(regressor, X, target=0)
    empty = X.assign(**{"mean area": np.nan})
    with pytest.raises(ValueError, match="column 'mean area' is missing in all rows"):
        draw(model, empty, features="mean area")
    constant = GradientBoostingRegressor(n_estimators=1).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="no column has any influence"):
        draw(constant, X)


def test_truth_values_and_pairs_of_numbers_are_dots_without_a_line_between():
    random = np.random.default_rng(0)
    member = random.random(200) < 0.5
    level = np.where(random.random(200) < 0.5, 1.5, -1.0)
    number = random.normal(size=200)
    X = pa.table({"member": pa.array(member), "level": pa.array(level), "number": pa.array(number)})
    model = GradientBoostingRegressor(n_estimators=5).fit(X, member + level + number)
    display = PartialDependenceDisplay.from_estimator(
        model, X, features=["member", "level", "number"], n_points=2
    )
    shown = [[tick.get_text() for tick in ax.get_xticklabels()] for ax in display.axes_[:2]]
    assert shown == [["false", "true"], ["−1", "1.5"]]
    dots = [[line.get_linestyle() for line in ax.lines if line.get_marker() == "o"] for ax in display.axes_]
    assert dots == [["None"], ["None"], ["-"]]  # two points of a column with more values are a line
    for found, ax in zip(display.dependences[:2], display.axes_, strict=False):
        drawn = next(line for line in ax.lines if line.get_marker() == "o")
        np.testing.assert_array_equal(drawn.get_ydata(), found.means[0])


def test_a_legend_of_long_names_stays_within_the_figure():
    X, y = load_iris(return_X_y=True)
    names = np.array(["class number 10", "class number 15", "class number 22", "class number 26"])
    y = names[(y + (X[:, 0] > 6)).astype(int)]
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, n_columns=2)
    display.figure_.canvas.draw()
    box = display.figure_.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= display.figure_.bbox.width


def test_columns_of_words_in_an_array_of_objects_are_categories():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    words = np.array([["a", "b", "c"][i % 3] for i in range(80)], object)
    table = np.column_stack([X[:, :1].astype(object), words])
    model = GradientBoostingClassifier(n_estimators=3, categorical_features=[1]).fit(table, y)
    display = PartialDependenceDisplay.from_estimator(model, table, [0, 1])
    assert len(display.axes_) == 2
