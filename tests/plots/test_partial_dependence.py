"""Partial dependence: the means, grids of numbers and categories, missing values, tables of any kind."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from hedgerow import BaggingClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.plots import PartialDependenceDisplay
from plot_cases import texts

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
    towns = [None if row % 11 == 5 else ["Rome", "Oslo", "Bonn"][k] for row, k in enumerate(kind)]
    return {"number": number.tolist(), "town": towns, "rooms": rooms.tolist()}, y


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


def test_without_importances_columns_are_chosen_by_permutation():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = BaggingClassifier(n_estimators=5, random_state=0).fit(X, X[:, 2] > 0)
    assert draw(model, X, top=1).dependences[0].name == "column 2"


@pytest.fixture(scope="module")
def reference(mixed):
    """The means of the column "number" for an Arrow table."""
    X = as_arrow(mixed[0])
    model = GradientBoostingRegressor(n_estimators=40).fit(X, mixed[1])
    return draw(model, X, features=["number"]).dependences[0].means


@pytest.mark.parametrize("make", [as_arrow, as_pandas, as_polars])
def test_data_frames_have_the_same_means(mixed, reference, make):
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
    np.testing.assert_allclose(number.means, reference, atol=1e-9)


def test_categories_are_dots_and_missing_is_a_tick_or_a_diamond(mixed):
    columns, y = mixed
    X = as_arrow(columns)
    display = draw(GradientBoostingRegressor(n_estimators=5).fit(X, y), X, features=["town", "number"])
    town, number = display.axes_
    assert texts(town.get_xticklabels()) == ["Bonn", "Oslo", "Rome", "missing"]
    assert {line.get_marker() for line in town.lines if line.get_linestyle() == "None"} == {"o"}
    assert number.get_xticklabels()[-1].get_text() == "missing"
    assert "D" in {line.get_marker() for line in number.lines}
    assert town.get_ylim() == number.get_ylim()


def test_only_the_most_frequent_of_many_categories_are_drawn():
    codes = np.minimum(np.random.default_rng(0).geometric(0.08, 600), 40)
    X = pd.DataFrame({"kind": pd.Categorical([f"number {code:02d}" for code in codes])})
    display = draw(GradientBoostingRegressor(n_estimators=5).fit(X, codes), X, max_rows=600)
    (found,) = display.dependences
    order = np.argsort(-np.bincount(codes), kind="stable")
    assert set(found.categories) == {f"number {code:02d}" for code in order[:12]}
    assert found.n_categories == len(np.unique(codes))
    assert display.axes_[0].get_xlabel() == f"the 12 most frequent of {found.n_categories} categories"


def test_strings_of_a_scikit_learn_pipeline_are_categories():
    X = pd.DataFrame({"size": np.tile([1.0, 2.0, 3.0, 4.0], 30), "colour": ["red", "blue", "green"] * 40})
    y = (X["colour"] == "red").to_numpy()
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    display = draw(model, X, top=1)
    assert display.dependences[0].categories == ["blue", "green", "red"]
    assert display.dependences[0].means[0, 2] > 0.7


def test_at_most_five_classes_have_a_line():
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    display = draw(model, X, features=[2])
    assert display.outputs == [0, 1, 2]
    np.testing.assert_allclose(display.dependences[0].means.sum(axis=0), 1)
    assert len(display.figure_.legends[0].get_texts()) == 3
    assert draw(model, X, features=2, target=1).dependences[0].means.shape[0] == 1
    many = LogisticRegression().fit(X, np.arange(150) % 7)
    assert len(draw(many, X, features=[2]).outputs) == 5


def test_ice_draws_single_rows(cancer):
    model, X = cancer
    plain, single = (len(draw(model, X, features=[0], ice=ice).axes_[0].lines) for ice in (False, True))
    assert single - plain == 40


def test_sample_depends_on_the_seed(cancer):
    model, X = cancer
    first, again, other = (
        draw(model, X, features=[27], max_rows=30, random_state=seed).dependences[0].means
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()


@pytest.mark.parametrize(("value", "names"), [(np.inf, ["∞"]), (-np.inf, ["−∞"]), (None, ["−∞", "∞"])])
def test_infinite_columns_are_dots(value, names):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] + X[:, 1]
    X[:, 0] = np.where(X[:, 0] > 0, np.inf, -np.inf) if value is None else value
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    display = draw(model, X, features=[0])
    assert texts(display.axes_[0].get_xticklabels()) == names
    assert display.dependences[0].means.shape == (1, len(names))


def test_grid_has_at_most_n_points_and_omits_the_tails():
    X = np.random.default_rng(0).normal(size=(500, 1))
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    (found,) = draw(model, X, n_points=7).dependences
    assert len(found.values) == 7
    assert X.min() < found.values[0] < found.values[-1] < X.max()


def test_panels_replace_a_single_axes(cancer):
    model, X = cancer
    figure, axes = plt.subplots(1, 2)
    draw(model, X, top=2, ax=axes[1])
    assert len(figure.axes) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"features": [name]}, f"feature {name!r} is not allowed: it must be a number from 0 to 29")
            for name in ("worst aria", 30, -1, True, 1.5)
        ),
        ({"features": []}, r"features=\[\] is not allowed"),
        ({"target": 7}, "target=7 is not allowed"),
        ({"n_points": 1}, "n_points=1 is not allowed"),
        ({"ice": 1, "features": [0]}, "ice=1 is not allowed"),
    ],
)
def test_invalid_options_are_rejected(cancer, options, message):
    with pytest.raises(ValueError, match=message):
        draw(*cancer, **options)


def test_models_and_columns_without_dependence_are_rejected(cancer):
    model, X = cancer
    regressor = GradientBoostingRegressor(n_estimators=1).fit(X, X["mean area"])
    with pytest.raises(ValueError, match="target=0 is not allowed: GradientBoostingRegressor has no classes"):
        draw(regressor, X, target=0)
    empty = X.assign(**{"mean area": np.nan})
    with pytest.raises(ValueError, match="column 'mean area' is missing in all rows"):
        draw(model, empty, features="mean area")
    constant = GradientBoostingRegressor(n_estimators=1).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="no column has any influence"):
        draw(constant, X)


def test_booleans_and_pairs_of_numbers_are_dots():
    random = np.random.default_rng(0)
    member = random.random(200) < 0.5
    level = np.where(random.random(200) < 0.5, 1.5, -1.0)
    number = random.normal(size=200)
    X = pa.table({"member": pa.array(member), "level": pa.array(level), "number": pa.array(number)})
    model = GradientBoostingRegressor(n_estimators=5).fit(X, member + level + number)
    display = draw(model, X, features=["member", "level", "number"], n_points=2)
    shown = [texts(ax.get_xticklabels()) for ax in display.axes_[:2]]
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
    display = draw(model, X, n_columns=2)
    display.figure_.canvas.draw()
    box = display.figure_.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= display.figure_.bbox.width


def test_text_columns_of_an_object_array_are_categories():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    towns = np.array([["a", "b", "c"][i % 3] for i in range(80)], object)
    table = np.column_stack([X[:, :1].astype(object), towns])
    model = GradientBoostingClassifier(n_estimators=3, categorical_features=[1]).fit(table, y)
    display = draw(model, table, [0, 1])
    assert [found.categories is None for found in display.dependences] == [True, False]
