"""Bagging in parallel: the same bits for any number of jobs, and interrupts."""

import signal
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.estimators.adaboost import AdaBoostClassifier
from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.estimators.decision_trees import DecisionTreeClassifier as OurTree
from hedgerow.estimators.gradient_boosting import GradientBoostingClassifier

X, Y = load_iris(return_X_y=True)


def bag(estimator=None, **parameters):
    return BaggingClassifier(estimator, **{"random_state": 0, "n_estimators": 7} | parameters)


def bag_of_numbers(estimator=None, **parameters):
    return BaggingRegressor(estimator, **{"random_state": 0, "n_estimators": 7} | parameters)


@pytest.mark.parametrize(
    "estimator", [None, DecisionTreeClassifier(max_depth=3), SVC()], ids=lambda e: type(e).__name__
)
def test_the_model_is_the_same_for_any_number_of_jobs(estimator):
    found = []
    for n_jobs in (1, 3):
        with joblib.parallel_config("threading"):
            model = bag(estimator, n_jobs=n_jobs, oob_score=True, n_estimators=20).fit(X, Y)
            found.append([model.predict_proba(X), model.oob_decision_function_, *model.estimators_samples_])
    assert all(map(np.array_equal, *found))


def test_processes_fit_the_same_members():
    frame = pd.DataFrame(X, columns=list("abcd"))
    alone = bag_of_numbers(DecisionTreeRegressor(), n_jobs=1, n_estimators=4).fit(frame, Y)
    model = bag_of_numbers(DecisionTreeRegressor(), n_jobs=2, n_estimators=4).fit(frame, Y)
    assert np.array_equal(model.set_params(n_jobs=1).predict(frame), alone.predict(frame))


@pytest.mark.parametrize(
    "estimator",
    [OurTree(), GradientBoostingClassifier(n_estimators=3), AdaBoostClassifier(n_estimators=3)],
    ids=lambda e: type(e).__name__,
)
def test_hedgerow_estimators_run_in_threads(estimator):
    models = [bag(estimator, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2)]
    assert np.array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert [member.n_jobs for member in models[1].estimators_] == [1] * 7
    assert estimator.n_jobs is None


# --- interrupts


class Interrupts(RegressorMixin, BaseEstimator):
    """Learns nothing, and raises an interrupt when the counter `at` reaches zero."""

    def __init__(self, at=None, random_state=None):
        self.at, self.random_state = at, random_state

    def fit(self, X, y):
        self.at["left"] -= 1  # shared by the clones
        if self.at["left"] == 0:
            signal.raise_signal(signal.SIGINT)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def __sklearn_clone__(self):
        return Interrupts(self.at)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_the_members_finished_so_far(n_jobs):
    with joblib.parallel_config("threading"), pytest.warns(UserWarning, match="fit was interrupted"):
        model = bag_of_numbers(Interrupts({"left": 3}), n_estimators=500, n_jobs=n_jobs).fit(X, Y)
    assert 1 <= len(model.estimators_) < 500
    assert len(model.estimators_) == len(model.estimators_samples_) == len(model.estimators_features_)
    assert n_jobs > 1 or len(model.estimators_) == 3
    assert all(isinstance(member, Interrupts) for member in model.estimators_)
    assert not model.set_params(n_jobs=1).predict(X).any()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert threading.active_count() < 20
