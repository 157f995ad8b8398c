"""The scikit-learn interface of the estimators, and the consistency of their methods."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from boosting_cases import classes, classifier, numbers, regressor, same_forests
from hedgerow import GradientBoostingRegressor

# --- predictions


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predictions_of_a_classifier_agree(n_classes):
    X, y = classes(n_classes=n_classes)
    names = np.array(["ant", "bee", "cow"])[:n_classes]
    model = classifier().fit(X, names[y])
    proba, scores = model.predict_proba(X), model.decision_function(X)
    assert list(model.classes_) == list(names)
    assert proba.shape == (len(X), n_classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X), names[np.argmax(proba, axis=1)])
    if n_classes == 2:
        np.testing.assert_allclose(scores, np.log(proba[:, 1] / proba[:, 0]), rtol=1e-9, atol=1e-12)
    else:
        odds = np.log(proba) - np.log(proba).mean(axis=1, keepdims=True)
        np.testing.assert_allclose(scores - scores.mean(axis=1, keepdims=True), odds, rtol=1e-9, atol=1e-12)


def test_exponential_loss_scores_are_half_the_log_odds():
    X, y = classes()
    model = classifier(loss="exponential").fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(2 * model.decision_function(X), np.log(proba[:, 1] / proba[:, 0]), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("other", [None, DecisionTreeRegressor(max_depth=2)])
def test_the_last_stage_of_a_classifier_is_the_model(n_classes, other):
    X, y = classes(n_classes=n_classes)
    model = classifier(estimator=other, random_state=0).fit(X, y)
    for name in ("predict", "predict_proba", "decision_function"):
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == model.n_estimators_ == 10
        assert stages[-1].tobytes() == getattr(model, name)(X).tobytes()
        assert not np.array_equal(stages[0], stages[-1])  # not one array, overwritten


@pytest.mark.parametrize("other", [None, DecisionTreeRegressor(max_depth=2)])
def test_the_last_stage_of_a_regressor_is_the_model(other):
    X, y = numbers()
    model = regressor(estimator=other, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 10
    assert stages[-1].tobytes() == model.predict(X).tobytes()
    errors = [float(np.mean((stage - y) ** 2)) for stage in stages]
    assert errors == sorted(errors, reverse=True)


def test_apply_gives_a_leaf_of_every_tree():
    X, y = classes(n_classes=3)
    model = classifier().fit(X, y)
    leaves, forest = model.apply(X), model.model_.forest
    assert leaves.shape == (len(X), 30)
    assert leaves.dtype == np.int32
    raw = np.repeat(model.model_.start[:, None], len(X), axis=1)
    for tree, start in enumerate(forest.starts[:-1]):
        assert np.all(forest.left[start + leaves[:, tree]] == 0)
        raw[tree % 3] += forest.value[start + leaves[:, tree]]
    assert np.array_equal(raw.T, model.decision_function(X))


def test_importances():
    X, _ = numbers(n_columns=5)
    y = np.where(X[:, 0] > 0, 10.0, 0.0) + X[:, 1]  # columns 2 to 4 have no influence
    model = regressor(max_depth=2).fit(X, y)
    gain, split = model.importances(), model.importances("split")
    assert np.array_equal(model.feature_importances_, gain)
    assert gain.sum() == pytest.approx(1.0)
    assert np.argmax(gain) == 0
    assert gain[0] > 0.9
    assert np.all(gain[2:] < 0.02)
    assert split.sum() == np.sum(model.model_.forest.left > 0)
    assert np.array_equal(split, np.round(split))
    with pytest.raises(ValueError, match="kind='weight' is not allowed: it must be 'gain' or 'split'"):
        model.importances("weight")


def test_importances_of_a_model_that_splits_nothing_are_zero():
    X, _ = numbers()
    model = regressor().fit(X, np.ones(len(X)))
    assert np.array_equal(model.feature_importances_, np.zeros(4))
    assert np.array_equal(model.predict(X), np.ones(len(X)))


# --- copies of a model


@pytest.mark.parametrize("make", [classifier, regressor])
def test_pickle_and_joblib_keep_every_bit(make, tmp_path):
    X, y = classes() if make is classifier else numbers()
    model = make().fit(X, y)
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    method = "predict_proba" if make is classifier else "predict"
    wanted = getattr(model, method)(X).tobytes()
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(path)):  # noqa: S301 - our own file
        assert getattr(copy, method)(X).tobytes() == wanted
        assert same_forests(copy, model)


def test_clone_and_parameters():
    model = GradientBoostingRegressor(loss="huber", alpha=0.8, monotonic_cst=[1, 0])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(n_estimators=3, learning_rate=0.3).n_estimators == 3
    assert model.n_estimators == "auto"
    with pytest.raises(ValueError, match="Invalid parameter 'leaves'"):
        model.set_params(leaves=3)
    nested = GradientBoostingRegressor(estimator=Ridge()).set_params(estimator__alpha=7.0)
    assert nested.get_params()["estimator__alpha"] == 7.0


# --- inside scikit-learn's tools


def test_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), classifier()).fit(X, y)
    assert model.score(X, y) > 0.95


def test_in_a_pipeline_with_named_columns():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    steps = make_pipeline(FunctionTransformer(validate=False), regressor()).set_output(transform="pandas")
    steps.fit(frame, y)
    assert list(steps[-1].feature_names_in_) == list("abcd")
    assert np.array_equal(steps.predict(frame), regressor().fit(X, y).predict(X))


def test_grid_search_finds_the_better_parameter():
    X, y = numbers()
    search = GridSearchCV(regressor(), {"learning_rate": [1e-4, 0.3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.3}


def test_column_names_are_those_of_the_last_fit():
    X, y = numbers()
    model = regressor().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert list(model.feature_names_in_) == list("abcd")
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


class ShiftedLogLoss:
    """The log-loss of y and raw - 1: the second class is the more probable one above the score 1."""

    def loss(self, y, raw):
        return np.log1p(np.exp(raw - 1.0)) - y * (raw - 1.0)

    def gradient_hessian(self, y, raw):
        p = self.inverse_link(raw)
        return p - y, p * (1.0 - p)

    def inverse_link(self, raw):
        return 1.0 / (1.0 + np.exp(1.0 - raw))


@pytest.mark.parametrize("loss", ["log_loss", "exponential", ShiftedLogLoss()])
def test_predicted_classes_are_the_most_probable_also_where_scores_are_close_to_0(loss):
    X, y = classes(n_classes=2)
    model = classifier(loss=loss, n_estimators=5).fit(X, y)
    probabilities = model.predict_proba(X)
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(probabilities, axis=1)])
    for raw in ([0.5, -0.5, 0.7], [1e-18, -1e-18, 0.0, 0.5, -0.5]):  # 1e-18 rounds to a probability of 1/2
        scores = np.array([raw])
        expected = model.classes_[np.argmax(model._probabilities(scores), axis=1)]
        assert np.array_equal(model._most_probable(scores), expected)
