"""Bagging compared with scikit-learn's: the same predictions of the same members, and the same quality."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from sklearn.ensemble import BaggingClassifier as TheirClassifier
from sklearn.ensemble import BaggingRegressor as TheirRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.bagging.members import FittedMembers, JobRunner
from hedgerow.bagging.raw_table import RawTable
from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor

ALONE = JobRunner(1, threads=False)
CLASSIFIERS = {
    "tree": DecisionTreeClassifier(),
    "stump": DecisionTreeClassifier(max_depth=1),
    "nearest": KNeighborsClassifier(algorithm="kd_tree"),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "Bayes": GaussianNB(),
    "SVC": SVC(),
}


class TheirDraws:
    """Rows out of the bag of their members."""

    def __init__(self, model, n_rows):
        self.left = [np.setdiff1d(np.arange(n_rows), rows) for rows in model.estimators_samples_]

    def out_of_bag(self, member):
        return self.left[member]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_votes_of_scikit_learn_members_are_the_same(name):
    X, y = load_breast_cancer(return_X_y=True)
    theirs = TheirClassifier(
        CLASSIFIERS[name], n_estimators=25, max_features=0.5, oob_score=True, random_state=0
    )
    theirs.fit(X, y)
    bag = FittedMembers(theirs.estimators_, theirs.estimators_features_, np.array([0, 1]), soft=True)
    table = RawTable.of(X, "a test")
    np.testing.assert_allclose(bag.means(table, ALONE), theirs.predict_proba(X), rtol=1e-12)
    oob = bag.out_of_bag(table, TheirDraws(theirs, len(X)), ALONE)
    assert oob.votes.min() > 0
    np.testing.assert_allclose(oob.means, theirs.oob_decision_function_, rtol=1e-12)
    assert theirs.oob_score_ == pytest.approx(np.mean(np.argmax(oob.means, axis=1) == y))


def test_means_of_scikit_learn_members_are_the_same():
    X, y = load_diabetes(return_X_y=True)
    theirs = TheirRegressor(KNeighborsRegressor(), n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    bag = FittedMembers(theirs.estimators_, theirs.estimators_features_, None, soft=False)
    table = RawTable.of(X, "a test")
    np.testing.assert_allclose(bag.means(table, ALONE)[:, 0], theirs.predict(X), rtol=1e-12)
    oob = bag.out_of_bag(table, TheirDraws(theirs, len(X)), ALONE)
    assert oob.votes.min() > 0
    np.testing.assert_allclose(oob.means[:, 0], theirs.oob_prediction_, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("bootstrap", "share"), [(True, 1.0), (True, 0.3), (False, 0.5)])
def test_samples_have_as_many_rows_as_theirs(bootstrap, share, weighted):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(y)) if weighted and bootstrap else None
    parameters = {"n_estimators": 20, "max_samples": share, "bootstrap": bootstrap, "random_state": 0}
    mine = BaggingClassifier(GaussianNB(), **parameters).fit(X, y, sample_weight=weight)
    theirs = TheirClassifier(GaussianNB(), **parameters).fit(X, y, sample_weight=weight)
    sizes = [{len(rows) for rows in model.estimators_samples_} for model in (mine, theirs)]
    assert sizes[0] == sizes[1]
    distinct = [
        np.mean([len(np.unique(rows)) for rows in model.estimators_samples_]) for model in (mine, theirs)
    ]
    assert distinct[0] == pytest.approx(distinct[1], rel=0.02)


def mean_score(kind, estimator, X, y, n_seeds=3):
    scores = []
    for seed in range(n_seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        model = kind(estimator, n_estimators=20, max_samples=0.5, random_state=seed)
        scores.append(model.fit(X_train, y_train).score(X_test, y_test))
    return np.mean(scores)


@pytest.mark.parametrize("name", ["tree", "Bayes", "SVC"])
def test_accuracy_equals_that_of_scikit_learn(name):
    # Differences of means over five splits have a standard deviation of about 0.004.
    X, y = load_breast_cancer(return_X_y=True)
    mine, theirs = (
        mean_score(kind, CLASSIFIERS[name], X, y) for kind in (BaggingClassifier, TheirClassifier)
    )
    assert mine == pytest.approx(theirs, abs=0.015)


def test_bagged_hedgerow_trees_are_as_accurate():
    X, y = load_digits(return_X_y=True)
    theirs = mean_score(TheirClassifier, None, X, y, n_seeds=2)
    assert mean_score(BaggingClassifier, None, X, y, n_seeds=2) == pytest.approx(theirs, abs=0.015)
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    theirs = mean_score(TheirRegressor, None, X, y)
    assert mean_score(BaggingRegressor, None, X, y) == pytest.approx(theirs, abs=0.02)
    assert mean_score(BaggingRegressor, DecisionTreeRegressor(), X, y) == pytest.approx(theirs, abs=0.02)
