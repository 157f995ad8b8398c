"""Gradient boosting by default: sizes that follow from the table, and when the fit stops."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from boosting_cases import classes, numbers, same_forests
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.boosting.sizes import MAX_ROUNDS, auto_sizes

PASSED = {"n_estimators": 100, "early_stopping": None}


def test_the_unit_of_the_target_does_not_change_the_number_of_rounds():
    X, y = load_diabetes(return_X_y=True)
    y = np.round(y) / 256
    one = GradientBoostingRegressor().fit(X, y)
    other = GradientBoostingRegressor().fit(X, y * 2.0**-20)
    assert one.n_estimators_ == other.n_estimators_ > 10
    np.testing.assert_array_equal(one.predict(X) * 2.0**-20, other.predict(X))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_loss_that_may_be_negative_stops_early(loss):
    X, y = numbers(200, noise=0.5)
    y = np.exp(y) + 1.0
    fixed = {"n_folds": 2, "learning_rate": 0.3, "tol": 0.01}
    fixed |= {"l2_regularization": 0.0, "min_child_weight": 0.0}  # hessians have the unit of the target
    one, other = (GradientBoostingRegressor(loss, **fixed).fit(X, y * factor) for factor in (1.0, 2.0**-10))
    assert min(one.history_["validation_loss"]) * max(other.history_["validation_loss"]) < 0
    assert one.n_estimators_ == other.n_estimators_


def test_rows_of_weight_zero_do_not_change_the_sizes():
    X, y = numbers(40)
    few, weight = slice(0, 25), np.zeros(40)
    weight[few] = 1.0
    alone = GradientBoostingRegressor().fit(X[few], y[few])
    assert alone.n_estimators_ == 100
    assert same_forests(alone, GradientBoostingRegressor().fit(X, y, sample_weight=weight))
    weight[:33] = 1.0
    alone = GradientBoostingRegressor().fit(X[:33], y[:33])
    assert alone.n_folds_ == 8
    assert same_forests(alone, GradientBoostingRegressor().fit(X, y, sample_weight=weight))


@pytest.mark.parametrize("early_stopping", [False, "auto"])
def test_without_early_stopping_the_sizes_are_those_of_a_number_of_rounds(early_stopping):
    X, y = classes(100)
    model = GradientBoostingClassifier(early_stopping=early_stopping).fit(X, y)
    assert (model.n_estimators_, model.n_folds_) == (100, 1)
    assert same_forests(model, GradientBoostingClassifier(**PASSED).fit(X, y))


def test_a_lower_rate_has_more_rounds():
    sizes = auto_sizes(1000, 20, 1, classes=False)
    rounds = [sizes.with_rate(rate).n_estimators for rate in (1.0, 0.1, 0.05, 0.01, 1e-300)]
    assert rounds == [1000, 1000, 2000, MAX_ROUNDS, MAX_ROUNDS]
    sizes = auto_sizes(1000, 20, 3, classes=True)
    assert [sizes.with_rate(rate).n_estimators for rate in (0.2, 0.1)] == [400, 800]
    sizes = auto_sizes(1000, 20, 10, classes=True)
    assert [sizes.with_rate(rate).n_estimators for rate in (0.4, 0.2)] == [400, 800]
    X, y = numbers(60)
    model = GradientBoostingRegressor(learning_rate=0.002, n_folds=2, max_leaf_nodes=2).fit(X, y)
    assert model.n_estimators_ > 1000


def test_only_rows_of_a_class_are_not_counted():
    X, y = classes(36)
    y = y.copy()
    y[:6] = np.arange(10, 16)  # 30 rows may be held out
    assert GradientBoostingClassifier().fit(X, y).n_folds_ == 1
    with pytest.raises(
        ValueError, match=r"n_folds=4 is more than the 2 rows of positive weight, not counting the only row"
    ):
        GradientBoostingClassifier(n_folds=4).fit(X[:8], [0, 0, 1, 2, 3, 4, 5, 6])
    y[:6] = [0, 0, 0, 1, 1, 10]
    model = GradientBoostingClassifier().fit(X, y)
    assert model.n_folds_ == 8
    assert np.isfinite(model.history_["validation_loss"]).all()
