"""Comparison with other libraries: the same model for the same algorithm, else the same quality."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_absolute_error, mean_poisson_deviance, mean_squared_error
from sklearn.model_selection import train_test_split

from boosting_cases import classes, numbers, regressor, signal, target
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.growing import grower

LEAVES = 15
ROUNDS = 40


def lightgbm_model(X, y, n_rounds=ROUNDS, **parameters):
    """LightGBM with bins as fine as the values and no penalty."""
    lightgbm = pytest.importorskip("lightgbm")
    bins = {"max_bin": 255, "min_data_in_bin": 1, "feature_pre_filter": False, "verbose": -1}
    fixed = {"num_leaves": LEAVES, "learning_rate": 0.1, "lambda_l2": 0.0, "num_threads": 1}
    fixed |= {"deterministic": True, "force_col_wise": True}
    data = lightgbm.Dataset(X, y, params=bins)
    return lightgbm.train(bins | fixed | parameters, data, n_rounds)


def model(kind, **parameters):
    """A model with the limits of `lightgbm_model`."""
    same = {"l2_regularization": 0.0, "n_estimators": ROUNDS, "max_leaf_nodes": LEAVES}
    return kind(**same | {"min_samples_leaf": 1, "min_child_weight": 0.0} | parameters)


@pytest.mark.compare
@pytest.mark.parametrize("fewest", [5, 20])
def test_second_order_squared_error_is_lightgbm(fewest):
    X, y = numbers(2000, 6)
    theirs = lightgbm_model(X, y, objective="regression", min_data_in_leaf=fewest, min_sum_hessian_in_leaf=0)
    mine = model(GradientBoostingRegressor, min_samples_leaf=fewest).fit(X, y)
    # 16-bit gradients round each step by about 1e-5; the trees are the same.
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), atol=2e-4)


@pytest.mark.compare
def test_second_order_log_loss_is_lightgbm():
    X, y = classes(2000)
    # LightGBM guesses the rows of a leaf from its hessian: only the sum of hessians limits both alike.
    theirs = lightgbm_model(X, y, objective="binary", min_data_in_leaf=1, min_sum_hessian_in_leaf=5.0)
    mine = model(GradientBoostingClassifier, min_child_weight=5.0).fit(X, y)
    np.testing.assert_allclose(mine.decision_function(X), theirs.predict(X, raw_score=True), atol=5e-4)


@pytest.mark.compare
def test_second_order_poisson_is_lightgbm():
    X, f = signal(2000)
    y = target("poisson", f)
    limits = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 20.0, "poisson_max_delta_step": 1e-12}
    theirs = lightgbm_model(X, y, 5, objective="poisson", **limits)
    mine = model(GradientBoostingRegressor, loss="poisson", n_estimators=5, min_child_weight=20.0).fit(X, y)
    np.testing.assert_allclose(np.log(mine.predict(X)), theirs.predict(X, raw_score=True), atol=5e-4)


@pytest.mark.compare
def test_penalties_are_lightgbms():
    X, y = numbers(2000, 6)
    # Not min_gain_to_split: LightGBM takes a column that cannot be split in a node as lost below it too.
    penalties = {"lambda_l1": 3.0, "lambda_l2": 7.0}
    theirs = lightgbm_model(
        X, y, objective="regression", min_data_in_leaf=20, min_sum_hessian_in_leaf=0, **penalties
    )
    penalties = {"l1_regularization": 3.0, "l2_regularization": 7.0}
    mine = model(GradientBoostingRegressor, min_samples_leaf=20, **penalties).fit(X, y)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), atol=2e-4)


@pytest.mark.compare
@pytest.mark.parametrize("path_smooth", [3.0, 30.0])
def test_smoothed_values_are_lightgbms(path_smooth):
    """LightGBM also smooths gains; the signal is clear enough for the same splits."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 3)) * 10) / 10
    y = 3.0 * (X[:, 0] > 0.2) + 2.0 * ((X[:, 0] > 0.2) & (X[:, 1] > 0.7)) + 0.3 * (X[:, 2] > 1)
    y += 0.1 * rng.normal(size=400)
    same = {"n_estimators": 1, "learning_rate": 1.0, "min_child_weight": 0.0, "path_smooth": path_smooth}
    theirs = lightgbm.LGBMRegressor(
        num_leaves=5, min_child_samples=2, min_data_in_bin=1, verbose=-1, **same
    ).fit(X, y)
    mine = GradientBoostingRegressor(
        max_leaf_nodes=5, min_samples_leaf=2, l2_regularization=0.0, **same
    ).fit(X, y)  # fmt: skip
    assert np.abs(mine.predict(X) - theirs.predict(X)).max() < 1e-4
    plain = GradientBoostingRegressor(**same | {"path_smooth": 0.0}).fit(X, y)
    assert np.abs(mine.predict(X) - plain.predict(X)).max() > 0.01


def test_missing_values_are_lightgbms():
    X, y = numbers(2000, 6)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    theirs = lightgbm_model(X, y, objective="regression", min_data_in_leaf=20, min_sum_hessian_in_leaf=0)
    mine = model(GradientBoostingRegressor, min_samples_leaf=20).fit(X, y)
    difference = np.abs(mine.predict(X) - theirs.predict(X))
    assert np.mean(difference < 2e-4) > 0.95


# --- quality beside HistGradientBoosting

SAME = {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 0.0}


FRIEDMAN = make_friedman1(2000, random_state=0)
POISSON = signal(2000)


@pytest.mark.parametrize(
    ("loss", "data", "metric"),
    [
        ("log_loss", load_breast_cancer(return_X_y=True), log_loss),
        ("log_loss", classes(2000, 4), log_loss),
        ("squared_error", FRIEDMAN, mean_squared_error),
        ("absolute_error", FRIEDMAN, mean_absolute_error),
        ("poisson", (POISSON[0], target("poisson", POISSON[1])), mean_poisson_deviance),
    ],
    ids=["two classes", "four classes", "squared_error", "absolute_error", "poisson"],
)
def test_the_test_loss_is_that_of_hist_gradient_boosting(loss, data, metric):
    kinds, method = [GradientBoostingRegressor, HistGradientBoostingRegressor], "predict"
    if loss == "log_loss":
        kinds, method = [GradientBoostingClassifier, HistGradientBoostingClassifier], "predict_proba"
    rounds = [{"n_estimators": 30}, {"max_iter": 30, "early_stopping": False}]
    ratios = []
    for seed in range(5):  # of single splits they are up to 1.05, below 1 as often as above
        X, X_test, y, y_test = train_test_split(*data, random_state=seed, test_size=0.5)
        models = [kind(loss=loss, **SAME, **more).fit(X, y) for kind, more in zip(kinds, rounds, strict=True)]
        mine, theirs = (metric(y_test, getattr(one, method)(X_test)) for one in models)
        ratios.append(mine / theirs)
    assert np.mean(ratios) < 1.01


# --- heavy tails: sixteen bits are too few


def cauchy(seed, n_rows=8000, furthest=1e6):
    """Cauchy noise about a signal, one draw as far out as it falls once in three million rows."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 4)) * 20) / 20
    f = 3 * np.sin(2 * X[:, 0]) + 2 * X[:, 1] + X[:, 2] * X[:, 3]
    u = rng.random(n_rows)
    u[np.argmax(u[: n_rows // 2])] = 0.5 + np.arctan(furthest) / np.pi
    y = f + 0.05 * np.tan(np.pi * (u - 0.5))
    half = n_rows // 2
    return X[:half], y[:half], X[half:], f[half:]


def tail_errors(kind, loss, **rounds):
    """Median and mean error about the signal, summed over three samples."""
    errors = np.zeros(2)
    for seed in range(3):
        X, y, X_test, f = cauchy(seed)
        off = np.abs(kind(loss=loss, **rounds, **SAME).fit(X, y).predict(X_test) - f)
        errors += [np.median(off), np.mean(off)]
    return errors


def test_heavy_tails_are_fitted_as_well_as_with_floats(monkeypatch):
    def both(loss):
        theirs = tail_errors(HistGradientBoostingRegressor, loss, max_iter=30, early_stopping=False)
        return tail_errors(GradientBoostingRegressor, loss, n_estimators=30), theirs

    mine, theirs = both("absolute_error")
    assert np.all(mine <= 1.02 * theirs)
    wide, theirs = both("squared_error")
    np.testing.assert_allclose(wide, theirs, rtol=1e-3)  # 40 bits are as good as floats
    monkeypatch.setattr(grower, "_FINE_MEAN", 0)  # always packed into 16 bits
    packed = tail_errors(GradientBoostingRegressor, "squared_error", n_estimators=30)
    assert np.all(packed > wide)
    assert packed[0] > 1.05 * wide[0]


def test_ordinary_targets_are_packed():
    X, y = numbers()
    kinds = []
    measure = grower.Quantiser.quantise
    with pytest.MonkeyPatch.context() as patch:

        def watched(self, gradient, hessian):
            measured = measure(self, gradient, hessian)
            kinds.append(len(measured.statistics.packed) > 0)
            return measured

        patch.setattr(grower.Quantiser, "quantise", watched)
        regressor().fit(X, y)
        assert all(kinds)
        kinds.clear()
        regressor(n_estimators=1).fit(*cauchy(0)[:2])
        assert not any(kinds)
