"""Bagging as a scikit-learn estimator: parameters, warm starts, failed fits, searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor

X, Y = load_iris(return_X_y=True)


# --- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_samples": 151}, "max_samples=151 is not allowed: it must be at most 150, the number of rows"),
        ({"max_features": 5}, "max_features=5 is not allowed: it must be at most 4, the number of columns"),
    ],
)
def test_fit_rejects_numbers_beyond_the_table(parameters, message):
    with pytest.raises(ValueError, match=message):
        BaggingClassifier(**parameters).fit(X, Y)


def test_numbers_are_bagged_by_regressors_only():
    with pytest.raises(ValueError, match="it must be a regressor"):
        BaggingRegressor(KNeighborsClassifier()).fit(X, Y)


# --- warm starts


@pytest.mark.parametrize("estimator", [None, ExtraTreeClassifier(max_depth=3)], ids=["ours", "theirs"])
def test_warm_start_gives_the_members_of_one_fit(estimator):
    parameters = {"n_estimators": 30, "max_features": 0.5, "oob_score": True, "random_state": 4}
    whole = BaggingClassifier(estimator, **parameters).fit(X, Y)
    grown = BaggingClassifier(estimator, **parameters | {"n_estimators": 25}, warm_start=True)
    first = grown.fit(X, Y).estimators_
    grown.set_params(n_estimators=30).fit(X, Y)
    assert all(a is b for a, b in zip(first, grown.estimators_, strict=False))
    assert np.array_equal(grown.predict_proba(X), whole.predict_proba(X))
    assert np.array_equal(grown.oob_decision_function_, whole.oob_decision_function_)
    assert grown.oob_score_ == whole.oob_score_
    assert all(map(np.array_equal, grown.estimators_samples_, whole.estimators_samples_))
    grown.fit(X, Y)
    assert len(grown.estimators_) == 30


def test_warm_start_keeps_the_seed():
    model = BaggingRegressor(n_estimators=3, warm_start=True).fit(X, Y)
    samples = model.estimators_samples_
    model.set_params(n_estimators=5, random_state=1).fit(X, Y)
    assert all(map(np.array_equal, samples, model.estimators_samples_[:3]))
    rows = np.random.default_rng(0).permutation(150)
    with pytest.raises(ValueError, match="at least one of these has changed"):
        model.fit(X[rows], Y[rows])  # row numbers of the samples would be those of other rows


@pytest.mark.parametrize("changed", [{"max_samples": 0.5}, {"max_features": 2}, {"bootstrap_features": True}])
def test_warm_start_refuses_other_parameters(changed):
    model = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start=True needs the same X, y and sample_weight"):
        model.set_params(**changed, n_estimators=4).fit(X, Y)
    model.set_params(warm_start=False).fit(X, Y)
    assert len(model.estimators_) == 4


def test_fewer_members_and_other_rows_are_refused():
    model = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="n_estimators=2 is below the 3 members of the fitted model"):
        clone_of(model, n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="at least one of these has changed since the last fit"):
        clone_of(model, n_estimators=4).fit(X + 1.0, Y)
    with pytest.raises(ValueError, match="at least one of these has changed since the last fit"):
        clone_of(model, n_estimators=4).fit(X, Y, sample_weight=np.arange(150))


def clone_of(model, **parameters):
    """A copy of a fitted model with other parameters."""
    return pickle.loads(pickle.dumps(model)).set_params(**parameters)  # noqa: S301 - our own


# --- refits, searches and messages


def test_a_failed_fit_leaves_the_model_unchanged():
    model = BaggingClassifier(GaussianNB(), random_state=0).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_missing_values_outside_of_all_samples_are_refused(make):
    table = X.copy()
    table[60, 2] = np.nan
    model = BaggingClassifier(GaussianNB(), n_estimators=1, max_samples=0.1)
    model.set_params(random_state=next(seed for seed in range(9) if 60 not in first_sample(seed)))
    learner = DecisionTreeClassifier()  # accepts missing values
    assert model.set_params(estimator=learner).fit(make(table), Y).estimators_samples_
    with pytest.raises(
        ValueError, match=r"NaN or infinity in row 60, which is in no sample; estimator=LinearSVC\(\)"
    ):
        model.set_params(estimator=LinearSVC()).fit(make(table), Y)


def first_sample(seed):
    model = BaggingClassifier(n_estimators=1, max_samples=0.1, random_state=seed)
    return model.fit(X, Y).estimators_samples_[0]


def test_another_fit_replaces_names_and_classes():
    model = BaggingClassifier(n_estimators=2).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    model.fit(X[:, :3], Y == 1)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    assert model.classes_.tolist() == [False, True]
    with pytest.raises(ValueError, match="X has 4 features, but BaggingClassifier is expecting 3"):
        model.predict(X)


def test_searches_pipelines_and_copies_work():
    pipeline = make_pipeline(StandardScaler(), BaggingClassifier(KNeighborsClassifier(), random_state=0))
    grid = {
        "baggingclassifier__max_samples": [0.2, 1.0],
        "baggingclassifier__estimator__n_neighbors": [1, 10],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    model = search.best_estimator_[-1]
    assert clone(model).get_params()["estimator__n_neighbors"] == model.estimator.n_neighbors
    again = clone_of(search.best_estimator_)
    assert np.array_equal(again.predict_proba(X), search.predict_proba(X))
    assert all(map(np.array_equal, again[-1].estimators_samples_, model.estimators_samples_))


def test_a_bag_of_trees_is_better_than_a_tree():
    table, labels = load_breast_cancer(return_X_y=True)
    tree, bag = DecisionTreeClassifier(random_state=0), BaggingClassifier(random_state=0)
    alone, bagged = (cross_val_score(model, table, labels, cv=3).mean() for model in (tree, bag))
    assert bagged > alone + 0.01


def test_a_bag_of_bags_is_a_bag():
    model = BaggingClassifier(BaggingClassifier(n_estimators=2), n_estimators=3, random_state=0).fit(X, Y)
    assert [len(member.estimators_) for member in model.estimators_] == [2, 2, 2]
    assert model.score(X, Y) > 0.95


def test_verbose_prints_a_line_per_member(capfd):
    BaggingClassifier(n_estimators=3, verbose=2).fit(X, Y)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]
    BaggingClassifier(n_estimators=3, verbose=1).fit(X, Y)  # a bar on terminals, few lines in logs
    assert [line.split()[1] for line in capfd.readouterr().err.splitlines()] == ["1/3", "3/3"]
