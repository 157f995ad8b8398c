"""Forests with tools of scikit-learn: searches, pipelines, parameters and importances."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from forest_cases import KINDS
from hedgerow import RandomForestClassifier, RandomForestRegressor

X, Y = load_iris(return_X_y=True)


def test_searches_and_pipelines_accept_forests():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0))
    grid = {"randomforestclassifier__max_depth": [1, 8], "randomforestclassifier__max_features": [1, "sqrt"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.93
    assert search.best_params_["randomforestclassifier__max_depth"] == 8
    again = pickle.loads(pickle.dumps(search.best_estimator_))  # noqa: S301 - our own
    assert np.array_equal(again.predict_proba(X), search.predict_proba(X))


def test_data_frames_reach_forests_through_pipelines_with_their_names():
    table = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0))
    pipeline.set_output(transform="pandas").fit(table, Y)
    assert pipeline[-1].feature_names_in_.tolist() == table.columns.tolist()
    assert pipeline.score(table, Y) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_those_of_scikit_learn_and_some_more(kind):
    theirs = getattr(sklearn.ensemble, kind.__name__)()
    mine = kind().get_params()
    ours_alone = {"bin_edges", "max_bins", "categorical_features"} | (
        {"keep_targets"} if "Regressor" in kind.__name__ else set()
    )
    not_ours = {"ccp_alpha"}
    assert mine.keys() == (theirs.get_params().keys() - not_ours) | ours_alone
    for name, value in theirs.get_params().items():
        if name not in not_ours:
            assert mine[name] == value, name


@pytest.mark.parametrize("kind", KINDS)
def test_importances_are_shares_and_found_by_permutation_too(kind):
    rng = np.random.default_rng(0)
    table = rng.random((300, 4))
    y = np.digitize(3 * table[:, 1] + table[:, 3], [1.5, 2.5])
    model = kind(30, random_state=0).fit(table[:200], y[:200])
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances.min() >= 0
    assert importances.sum() == pytest.approx(1.0)
    assert np.argsort(importances)[2:].tolist() == [3, 1]
    permuted = permutation_importance(model, table[200:], y[200:], n_repeats=3, random_state=0)
    assert np.argsort(permuted.importances_mean)[2:].tolist() == [3, 1]
    assert abs(permuted.importances_mean[[0, 2]]).max() < permuted.importances_mean[3]


@pytest.mark.parametrize("kind", KINDS)
def test_importances_of_trees_without_a_split_are_zero(kind):
    model = kind(3).fit(np.zeros((20, 2)), np.arange(20) % 2)
    assert model.feature_importances_.tolist() == [0.0, 0.0]
    assert model.apply([[5.0, 5.0]]).tolist() == [[0, 0, 0]]


def test_a_forest_is_better_than_its_trees():
    table, labels = load_breast_cancer(return_X_y=True)
    alone, together = (
        cross_val_score(RandomForestClassifier(n, random_state=0), table, labels, cv=4).mean()
        for n in (1, 50)
    )
    assert together > alone + 0.02
    table, targets = load_diabetes(return_X_y=True)
    alone, together = (
        cross_val_score(
            RandomForestRegressor(n, max_features=0.4, random_state=0), table, targets, cv=4
        ).mean()
        for n in (1, 50)
    )
    assert together > alone + 0.3
