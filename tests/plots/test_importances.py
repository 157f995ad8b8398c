"""Importances: splits and permutations, tables of any kind, names, order and errors."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import RidgeClassifier

from hedgerow import BaggingClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.plots import ImportancesDisplay

draw = ImportancesDisplay.from_estimator


@pytest.fixture(scope="module")
def signal():
    """Column 1 decides, column 2 helps, column 0 is noise."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    y = X[:, 1] + 0.5 * X[:, 2] + 0.3 * generator.normal(size=400) > 0
    return GradientBoostingClassifier(n_estimators=30).fit(X[:200], y[:200]), X[200:], y[200:]


def ticks(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_splits_are_the_models_own_importances_sorted(signal):
    model, _, _ = signal
    display = draw(model)
    np.testing.assert_array_equal(display.values, model.feature_importances_)
    assert display.order == [1, 2, 0]
    assert ticks(display) == ["column 1", "column 2", "column 0"]
    assert display.spreads is None


def test_permutation_finds_the_columns_that_decide(signal):
    display = draw(*signal, method="permutation")
    assert display.order[:2] == [1, 2]
    assert display.values[1] > 5 * abs(display.values[0])
    assert (display.spreads[1:] > 0).all()


def test_permutation_is_the_rise_of_the_brier_score(signal):
    model, X, y = signal
    display = draw(model, X, y, method="permutation", n_repeats=1, random_state=3)
    shuffled = X.copy()
    shuffled[:, 1] = X[np.random.default_rng((3, 1, 0)).permutation(200), 1]
    rise = [np.mean((model.predict_proba(part)[:, 1] - y) ** 2) for part in (X, shuffled)]
    assert display.values[1] == pytest.approx(rise[1] - rise[0])


def test_the_same_seed_gives_the_same_bars_and_another_gives_others(signal):
    first, again, other = (
        draw(*signal, method="permutation", random_state=seed, max_rows=50).values for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "list", "sparse"])
def test_any_table_gives_the_bars_of_the_array(signal, kind):
    _, X, y = signal
    X = np.where(np.abs(X) < 0.3, 0, X)
    names = ["noise", "strong", "weak"]
    make = {
        "pandas": lambda: pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1] * 7),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "arrow": lambda: pa.table(dict(zip(names, X.T, strict=True))),
        "list": X.tolist,
        "sparse": lambda: sparse.csr_matrix(X),
    }[kind]
    table = make()
    found = draw(GradientBoostingClassifier(n_estimators=5).fit(table, y), table, y, method="permutation")
    wanted = draw(GradientBoostingClassifier(n_estimators=5).fit(X, y), X, y, method="permutation")
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-12)
    assert found.names[1] == ("column 1" if kind in {"list", "sparse"} else "strong")


def test_models_without_split_gains_are_permuted_if_rows_are_given(signal):
    _, X, y = signal
    for model in (BaggingClassifier(n_estimators=3, random_state=0), RidgeClassifier()):
        display = draw(model.fit(X, y), X, y)
        assert display.order[0] == 1
    assert display.measure == "decrease of accuracy when permuted"


def test_models_of_scikit_learn_have_both():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SklearnForest(n_estimators=5, random_state=0).fit(X, y)
    assert len(draw(model, top=4).order) == 4
    display = draw(model, X, y, method="permutation", n_repeats=1, top=2)
    assert set(ticks(display)) <= set(X.columns)


def test_columns_without_any_effect_are_not_drawn():
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=2).fit(X, X[:, 3])
    assert draw(model).order == [3]
    assert draw(model, X, X[:, 3], method="permutation").order == [3]


def test_regressors_lose_r2_and_negative_figures_have_a_true_minus():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=30).fit(X[:100], y[:100])
    display = draw(model, X[100:], y[100:], method="permutation")
    assert display.measure == "decrease of R² when permuted"
    assert display.values.min() < 0
    assert display.ax_.texts[-1].get_text().startswith("−")
    assert display.ax_.get_xlim()[0] < display.values.min()


def test_what_cannot_be_drawn_is_said(signal):
    model, X, y = signal
    with pytest.raises(
        ValueError, match="method='gain' is not allowed: it must be 'split' or 'permutation' or None"
    ):
        draw(model, method="gain")
    with pytest.raises(ValueError, match="top=0 is not allowed"):
        draw(model, top=0)
    with pytest.raises(ValueError, match="y=None is not allowed: importances by permutation need X and y"):
        draw(model, X, method="permutation")
    with pytest.raises(ValueError, match="200 rows in X and 3 in y"):
        draw(model, X, y[:3], method="permutation")
    bag = BaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(
        TypeError, match="BaggingClassifier has no feature_importances_: use method='permutation'"
    ):
        draw(bag, method="split")
    regressor = GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y holds one value only"):
        draw(regressor, X, np.ones(200), method="permutation")


def test_what_rounds_to_zero_has_no_sign():
    display = ImportancesDisplay(["a", "b"], np.array([0.5, -0.0001]), np.zeros(2), "fall of R²", 15).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["0.500", "0.000"]


def test_the_words_below_the_bars_are_not_cut_off():
    names = [f"x{number}" for number in range(30)]
    for measure in ("share of the gain of all splits", "increase of the Brier score when permuted"):
        display = ImportancesDisplay(names, np.linspace(1, 0.1, 30), None, measure, 15).plot()
        display.figure_.canvas.draw()
        box = display.ax_.xaxis.label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= display.figure_.bbox.width
        assert display.ax_.get_xlabel() == f"{measure}\n15 of 30 columns"
