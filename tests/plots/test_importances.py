"""Importances: splits and permutations, tables of any kind, names, order and errors."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import RidgeClassifier

from hedgerow import BaggingClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.plots import ImportancesDisplay
from plot_cases import notes, texts

draw = ImportancesDisplay.from_estimator


@pytest.fixture(scope="module")
def signal():
    """Column 1 decides, column 2 helps, column 0 is noise."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    y = X[:, 1] + 0.5 * X[:, 2] + 0.3 * generator.normal(size=400) > 0
    return GradientBoostingClassifier(n_estimators=30).fit(X[:200], y[:200]), X[200:], y[200:]


def test_splits_are_sorted_feature_importances(signal):
    model, _, _ = signal
    display = draw(model)
    np.testing.assert_array_equal(display.values, model.feature_importances_)
    assert display.order == [1, 2, 0]
    assert texts(display.ax_.get_yticklabels()) == ["column 1", "column 2", "column 0"]
    assert display.spreads is None


def test_permutation_is_the_increase_of_the_brier_score(signal):
    model, X, y = signal
    display = draw(*signal, method="permutation")
    assert display.order[:2] == [1, 2]
    assert display.values[1] > 5 * abs(display.values[0])
    assert (display.spreads[1:] > 0).all()
    display = draw(model, X, y, method="permutation", n_repeats=1, random_state=3)
    shuffled = X.copy()
    shuffled[:, 1] = X[np.random.default_rng((3, 1, 0)).permutation(200), 1]
    before, after = (np.mean((model.predict_proba(rows)[:, 1] - y) ** 2) for rows in (X, shuffled))
    assert display.values[1] == pytest.approx(after - before)


def test_permutation_depends_on_the_seed(signal):
    first, again, other = (
        draw(*signal, method="permutation", random_state=seed, max_rows=50).values for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


NAMES = ["noise", "strong", "weak"]


@pytest.mark.parametrize(
    "make",
    [
        lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1] * 7),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
        np.ndarray.tolist,
        sparse.csr_matrix,
    ],
    ids=["pandas", "polars", "arrow", "list", "sparse"],
)
def test_all_tables_have_the_importances_of_the_array(signal, make):
    _, X, y = signal
    X = np.where(np.abs(X) < 0.3, 0, X)
    model, table = GradientBoostingClassifier(n_estimators=5), make(X)
    found = draw(model.fit(table, y), table, y, method="permutation", n_repeats=2)
    wanted = draw(model.fit(X, y), X, y, method="permutation", n_repeats=2)
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-12)
    assert found.names[1] == ("column 1" if make in {np.ndarray.tolist, sparse.csr_matrix} else "strong")


def test_models_without_split_gains_use_permutation(signal):
    _, X, y = signal
    for model in (BaggingClassifier(n_estimators=3, random_state=0), RidgeClassifier()):
        display = draw(model.fit(X, y), X, y)
        assert display.order[0] == 1
    assert display.measure == "decrease of accuracy when permuted"


def test_models_of_scikit_learn_have_both():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SklearnForest(n_estimators=5, random_state=0).fit(X, y)
    assert len(draw(model, top=3).order) == 3
    display = draw(model, X, y, method="permutation", n_repeats=1, top=2)
    assert set(texts(display.ax_.get_yticklabels())) <= set(X.columns)


def test_columns_without_any_effect_are_not_drawn():
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=2).fit(X, X[:, 3])
    assert draw(model).order == [3]
    assert draw(model, X, X[:, 3], method="permutation").order == [3]


def test_decreases_of_r2_may_be_negative():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=30).fit(X[:100], y[:100])
    display = draw(model, X[100:], y[100:], method="permutation")
    assert display.measure == "decrease of R² when permuted"
    assert display.values.min() < 0
    assert display.ax_.texts[-1].get_text().startswith("−")
    assert display.ax_.get_xlim()[0] < display.values.min()


def test_invalid_inputs_are_rejected(signal):
    model, X, y = signal
    for options, message in (
        ({"method": "gain"}, "method='gain' is not allowed: it must be 'split' or 'permutation' or None"),
        ({"top": 0}, "top=0 is not allowed"),
        ({"method": "permutation"}, "y=None is not allowed: importances by permutation need X and y"),
        ({"y": y[:3], "method": "permutation"}, "200 rows in X and 3 in y"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(model, X, **options)
    bag = BaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="BaggingClassifier has no feature_importances_: use method='perm"):
        draw(bag, method="split")
    regressor = GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y holds one value only"):
        draw(regressor, X, np.ones(200), method="permutation")


def test_numbers_that_round_to_zero_have_no_sign():
    display = ImportancesDisplay(["a", "b"], np.array([0.5, -0.0001]), np.zeros(2), "fall of R²", 15).plot()
    assert notes(display) == ["0.500", "0.000"]


def test_label_of_the_x_axis_is_within_the_figure():
    names = [f"x{number}" for number in range(30)]
    for measure in ("share of the gain of all splits", "increase of the Brier score when permuted"):
        display = ImportancesDisplay(names, np.linspace(1, 0.1, 30), None, measure, 15).plot()
        display.figure_.canvas.draw()
        box = display.ax_.xaxis.label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= display.figure_.bbox.width
        assert display.ax_.get_xlabel() == f"{measure}\n15 of 30 columns"
