"""Losses along the rounds: from the history, computed on other rows, and the best round."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor as SklearnBoosting
from sklearn.metrics import log_loss

from hedgerow import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.plots import LossRoundsDisplay
from plot_cases import legend, lines

draw = LossRoundsDisplay.from_estimator


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def test_history_of_early_stopping_has_its_best_round(cancer):
    X, y, _, _ = cancer
    model = GradientBoostingClassifier(
        n_estimators=200, early_stopping=True, n_iter_no_change=5, learning_rate=0.3, random_state=0
    ).fit(X, y)
    display = draw(model)
    assert list(display.curves) == ["train", "validation"]
    assert display.best_round == model.best_iteration_ + 1
    np.testing.assert_array_equal(display.curves["validation"], model.history_["validation_loss"])
    lowest = display.curves["validation"].min()
    assert legend(display)[:3] == [
        "training set", "validation set", f"lowest at round {model.best_iteration_ + 1}: {lowest:.4g}"
    ]  # fmt: skip


def test_discarded_rounds_are_marked():
    display = LossRoundsDisplay({"validation": np.array([0.5, 0.2, 0.3, 0.4])}, "log-loss", 3).plot()
    assert legend(display) == ["validation set", "lowest at round 2: 0.2", "the model has 3 rounds"]
    assert lines(display)["lowest at round 2: 0.2"].get_xydata().tolist() == [[2, 0.2]]
    assert lines(display)["the model has 3 rounds"].get_xdata()[0] == 3
    assert len(legend(LossRoundsDisplay(display.curves, "log-loss", 2).plot())) == 2


def test_log_losses_of_passed_rows_are_those_of_scikit_learn(cancer):
    model = GradientBoostingClassifier(n_estimators=8).fit(*cancer[:2])
    display = draw(model, *cancer)
    assert display.measure == "log-loss"
    assert display.curves["test"][-1] == pytest.approx(log_loss(cancer[3], model.predict_proba(cancer[2])))
    assert len(display.curves["train"]) == 8


def test_regressors_have_root_mean_squared_errors():
    X, y = load_diabetes(return_X_y=True)
    for kind in (GradientBoostingRegressor, SklearnBoosting):
        model = kind(n_estimators=6, random_state=0).fit(X[::2], y[::2])
        display = draw(model, X_test=X[1::2], y_test=y[1::2])
        wanted = np.sqrt(np.mean((model.predict(X[1::2]) - y[1::2]) ** 2))
        assert display.curves["test"][-1] == pytest.approx(wanted)
        assert list(display.curves) == ["test"]


def test_adaboost_has_error_rates_without_best_round(cancer):
    display = draw(AdaBoostClassifier(n_estimators=5).fit(*cancer[:2]))
    assert display.measure == "error rate"
    assert display.best_round is None
    assert display.ax_.yaxis.get_major_formatter()(0.05, 0) == "5 %"


def test_invalid_inputs_are_rejected(cancer):
    X, y, _, _ = cancer
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="has recorded no loss: pass X_train and y_train, or fit it with"):
        draw(model)
    with pytest.raises(ValueError, match="y_train=None is not allowed"):
        draw(model, X)
    with pytest.raises(ValueError, match="log_rounds=2 is not allowed"):
        draw(model, X, y, log_rounds=2)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="RandomForestClassifier has no history_"):
        draw(forest)
    with pytest.raises(TypeError, match="RandomForestClassifier has no staged_predict_proba"):
        draw(forest, X, y)
