"""Small learners and helpers for the tests of AdaBoost.R2."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from boosting_cases import numbers
from hedgerow.estimators.adaboost import AdaBoostRegressor
from hedgerow.estimators.decision_trees import DecisionTreeRegressor

LOSSES = ("linear", "square", "exponential")
STUMP = DecisionTreeRegressor(max_depth=1)


class Column(RegressorMixin, BaseEstimator):
    """Member number t predicts column t of X."""

    def __init__(self, random_state=None):
        self.random_state = random_state  # the ensemble seeds its members by their number

    def fit(self, X, y, sample_weight=None):
        self.weight_ = sample_weight
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.random_state]


def columns(*predictions, **parameters):
    """An ensemble whose members predict these values on four rows with target 0."""
    X = np.array(predictions, float).T
    common = {"n_estimators": len(predictions), "random_state": 0, "resample": False}
    model = AdaBoostRegressor(Column(), **common | parameters)
    return model.fit(X, np.zeros(len(X))), X


def noisy(n_rows=300, **parameters):
    """A regression problem that no small tree solves."""
    return numbers(n_rows, noise=0.5, **parameters)


def same_bits(one, other, X):
    """Whether predictions and statistics of two models are equal, bit for bit."""
    return (
        one.predict(X).tobytes() == other.predict(X).tobytes()
        and one.sample_weights_.tobytes() == other.sample_weights_.tobytes()
        and one.estimator_weights_.tobytes() == other.estimator_weights_.tobytes()
        and one.normalizers_.tobytes() == other.normalizers_.tobytes()
        and one.stop_reason_ == other.stop_reason_
    )
