"""The AdaBoost family with tools of scikit-learn, and invalid parameters."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier as ForeignTree

from adaboost_cases import KINDS, make_kind, several, two
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    LogitBoostClassifier,
)

# --- tools of scikit-learn


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_cloned_and_pickled(kind):
    X, y = two()
    model = make_kind(kind, random_state=3, learning_rate=0.7).fit(X, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "model_")
    scores = model.decision_function(X)
    assert np.array_equal(twin.fit(X, y).decision_function(X), scores)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(again.decision_function(X), scores)
    assert np.array_equal(again.margins(X, y), model.margins(X, y))
    again.set_params(warm_start=True, n_estimators=12).fit(X, y)  # a copy can be continued
    assert again.n_estimators_ == 12


def test_a_model_of_foreign_members_survives_joblib(tmp_path):
    X, y = several()
    model = AdaBoostClassifier(LogisticRegression(), algorithm="real", n_estimators=3).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_nested_parameters_of_the_learner_can_be_set():
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2))
    assert model.get_params()["estimator__max_depth"] == 2
    model.set_params(estimator__max_depth=3, algorithm="real")
    assert model.estimator.max_depth == 3
    assert repr(AdaBoostClassifier(n_estimators=7)) == "AdaBoostClassifier(n_estimators=7)"
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        model.set_params(depth=1)


def test_a_grid_is_searched():
    X, y = two()
    grid = {"estimator__max_depth": [1, 2], "algorithm": ["discrete", "real", "gentle"], "n_estimators": [5]}
    search = GridSearchCV(AdaBoostClassifier(DecisionTreeClassifier()), grid, cv=3, error_score="raise")
    search.fit(X, y)
    assert search.best_score_ > 0.75
    assert len(search.cv_results_["params"]) == 6


def test_in_a_pipeline_and_inside_others():
    X, y = several()
    pipe = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=20)).fit(X, y)
    assert pipe.score(X, y) > 0.7
    np.testing.assert_allclose(pipe.predict_proba(X).sum(axis=1), 1.0)
    assert cross_val_score(LogitBoostClassifier(n_estimators=10), X, y, cv=3).min() > 0.6
    many = OneVsRestClassifier(AnyBoostClassifier(cost="logistic", n_estimators=20)).fit(X, y)
    assert many.score(X, y) > 0.7
    calibrated = CalibratedClassifierCV(AdaBoostClassifier(n_estimators=10), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(y), 3)


def test_sample_weights_are_routed():
    X, y = two()
    weight = np.random.default_rng(0).uniform(size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdaBoostClassifier(n_estimators=5).set_fit_request(sample_weight=True)
        pipe = make_pipeline(MinMaxScaler(), model).fit(X, y, sample_weight=weight)
        inside = pipe.named_steps["adaboostclassifier"]
        boosted = AdaBoostClassifier(ForeignTree(max_depth=1), n_estimators=3).fit(X, y, weight)
    direct = AdaBoostClassifier(n_estimators=5).fit(MinMaxScaler().fit_transform(X), y, weight)
    assert np.array_equal(inside.estimator_errors_, direct.estimator_errors_)
    assert boosted.n_estimators_ == 3


# --- parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0), ("n_estimators", 2.5), ("n_estimators", True), ("n_estimators", None),
        ("learning_rate", 0), ("learning_rate", -1.0), ("learning_rate", np.nan), ("learning_rate", np.inf),
        ("learning_rate", "fast"), ("resample", 1), ("resample", None), ("on_chance", "go on"),
        ("on_chance", None), ("early_stopping", "yes"), ("early_stopping", 1), ("validation_fraction", 0),
        ("validation_fraction", 1.0), ("n_iter_no_change", 0), ("tol", -1e-9), ("tol", None),
        ("warm_start", "no"), ("random_state", -1), ("random_state", "seed"), ("n_jobs", 0), ("n_jobs", 1.5),
        ("verbose", -1), ("verbose", "loud"), ("estimator", "stump"), ("estimator", DecisionStump),
        ("estimator", 3),
    ],
)  # fmt: skip
def test_fit_names_every_invalid_parameter(name, value):
    X, y = two(20)
    for make in (AdaBoostClassifier, LogitBoostClassifier, AnyBoostClassifier):
        model = make(**{name: value})
        with pytest.raises(ValueError, match=f"^{name}=.* is not allowed: it must be "):
            model.fit(X, y)
        assert not hasattr(model, "classes_")


@pytest.mark.parametrize("value", ["adaboost", "SAMME", None, 1])
def test_fit_names_an_invalid_algorithm_and_the_valid_ones(value):
    X, y = two(20)
    with pytest.raises(ValueError, match=r"^algorithm=.* 'discrete' or 'm1' or 'samme' or 'real'"):
        AdaBoostClassifier(algorithm=value).fit(X, y)


def test_parameters_of_our_learners_are_checked_too():
    X, y = two(20)
    with pytest.raises(ValueError, match="max_bins=1 is not allowed"):
        AdaBoostClassifier(DecisionStump(max_bins=1)).fit(X, y)
    with pytest.raises(ValueError, match="criterion='entropy' is not allowed"):
        AdaBoostClassifier(DecisionTreeClassifier("entropy")).fit(X, y)


def test_a_failed_fit_does_not_change_the_model():
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="learning_rate"):
        model.set_params(learning_rate=-1).fit(X, y)
    with pytest.raises(ValueError, match="no better than chance"):
        model.set_params(learning_rate=1.0).fit(np.zeros((4, 4)), [0, 1, 0, 1])
    assert np.array_equal(model.decision_function(X), before)
    assert len(model.estimator_weights_) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfitted_model_raises_not_fitted(kind):
    model = make_kind(kind)
    for name in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(model, name)([[0.0]])
    assert not hasattr(model, "estimators_")
    with pytest.raises(ValueError, match="not fitted yet"):
        model.shape_functions()
