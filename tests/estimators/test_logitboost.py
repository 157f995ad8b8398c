"""LogitBoost: comparison with a plain implementation of the paper, and properties of the log-loss."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeRegressor as ForeignTree

from adaboost_cases import SklearnRegressionStump, breast, iris, problem, staged_errors, two
from hedgerow import DecisionStump, DecisionTreeRegressor, LogitBoostClassifier


def softmax(F):
    powers = np.exp(F - F.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def two_classes_by_the_paper(X, y, n_rounds, weight, rate, make):
    """LogitBoost for two classes (Friedman, Hastie and Tibshirani 2000, algorithm 3), F after every round."""
    F, p = np.zeros(len(y)), np.full(len(y), 0.5)
    for _ in range(n_rounds):
        w = np.maximum(p * (1 - p), 2.0**-51)
        z = np.clip((y - p) / w, -4, 4)
        f = make().fit(X, z, sample_weight=weight * w).predict(X)
        F = F + 0.5 * rate * f
        p = 1 / (1 + np.exp(-2 * F))
        yield F


def several_classes_by_the_paper(X, y, n_rounds, weight, rate, make):
    """The same for K classes (algorithm 6), with the centring that moves no probability."""
    K = y.max() + 1
    F = np.zeros((len(y), K))
    for _ in range(n_rounds):
        p = softmax(F)
        f = np.empty_like(F)
        for k in range(K):
            w = np.maximum(p[:, k] * (1 - p[:, k]), 2.0**-51)
            z = np.clip(((y == k) - p[:, k]) / w, -4, 4)
            f[:, k] = make().fit(X, z, sample_weight=weight * w).predict(X)
        F = F + rate * (K - 1) / K * (f - f.mean(axis=1, keepdims=True))
        yield F


@pytest.mark.parametrize(("weighted", "learning_rate"), [(False, 1.0), (True, 0.4)])
@pytest.mark.parametrize("make", [SklearnRegressionStump, lambda: Ridge(alpha=0.0)])
def test_two_classes_are_those_of_the_paper(make, weighted, learning_rate):
    X, y = two()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model = LogitBoostClassifier(make(), n_estimators=6, learning_rate=learning_rate).fit(X, y, weight)
    expected = two_classes_by_the_paper(X, y, 6, weight, learning_rate, make)
    for F, by_paper in zip(model.staged_decision_function(X), expected, strict=True):
        np.testing.assert_allclose(F, by_paper, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, 0.5 * learning_rate)


@pytest.mark.parametrize(("n_classes", "learning_rate"), [(3, 1.0), (4, 0.4)])
def test_several_classes_are_those_of_the_paper_but_for_a_shift_of_all_scores(n_classes, learning_rate):
    X, y = problem(n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = LogitBoostClassifier(SklearnRegressionStump(), n_estimators=5, learning_rate=learning_rate)
    model.fit(X, y, weight)
    expected = several_classes_by_the_paper(X, y, 5, weight, learning_rate, SklearnRegressionStump)
    for F, p, by_paper in zip(
        model.staged_decision_function(X), model.staged_predict_proba(X), expected, strict=True
    ):
        np.testing.assert_allclose(p, softmax(by_paper), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(F - F.mean(axis=1, keepdims=True), by_paper, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, learning_rate * (n_classes - 1) / n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_our_stumps_fit_the_same_responses(n_classes):
    X, y = problem(n_classes)
    ours = LogitBoostClassifier(DecisionStump(max_bins=65535), n_estimators=6).fit(X, y)
    theirs = LogitBoostClassifier(SklearnRegressionStump(), n_estimators=6).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("depth", [2, 3])
def test_our_trees_fit_the_same_responses(depth):
    X, y = two()
    ours = LogitBoostClassifier(DecisionTreeRegressor(max_depth=depth, max_bins=65535), n_estimators=4)
    theirs = LogitBoostClassifier(ForeignTree(max_depth=depth), n_estimators=4, random_state=0)
    np.testing.assert_allclose(
        ours.fit(X, y).decision_function(X), theirs.fit(X, y).decision_function(X), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("data", [two, breast, iris, lambda: problem(4)])
def test_the_log_loss_falls(data):
    X, y = data()
    model = LogitBoostClassifier(n_estimators=30, learning_rate=0.5).fit(X, y)
    losses = model.history_["train_loss"]
    rises = [after / before for before, after in itertools.pairwise(losses) if after > before]
    assert not rises or data is iris  # a Newton step without a line search may go too far,
    assert max(rises, default=1.0) < 1.1  # where p is near 0 or 1
    assert losses[-1] < 0.7 * losses[0] < losses[0] < np.log(len(model.classes_))
    assert losses[-1] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-9)


@pytest.mark.parametrize("data", [two, breast, iris, lambda: problem(4)])
def test_the_training_error_is_below_the_log_loss_to_the_base_of_two(data):
    X, y = data()
    weight = np.random.default_rng(0).uniform(size=len(y))
    model = LogitBoostClassifier(n_estimators=30).fit(X, y, weight)
    bound = model.training_error_bound_
    np.testing.assert_allclose(bound, np.array(model.history_["train_loss"]) / np.log(2), rtol=1e-12)
    assert np.all(staged_errors(model, X, y, weight) <= bound)
    start = np.log2(len(model.classes_))  # the bound at scores of 0
    np.testing.assert_allclose(start * np.cumprod(model.normalizers_), bound, rtol=1e-9)


def test_errors_are_those_of_the_signs_of_the_responses():
    X, y = two()
    model = LogitBoostClassifier(n_estimators=1).fit(X, y)
    predicted = model.estimators_[0].predict(X)
    assert model.estimator_errors_[0] == pytest.approx(np.mean((predicted > 0) != (y == 1)), abs=1e-12)
    assert model.edges_[0] == 0.5 - model.estimator_errors_[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_data_without_noise_are_fitted(n_classes):
    X = np.arange(30.0)[:, None]
    y = np.arange(30) * n_classes // 30
    model = LogitBoostClassifier(n_estimators=300).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.normalizers_))
    assert model.training_error_bound_[-1] < 1e-9


def test_one_class_with_weight_is_predicted():
    X, y = two(60)
    model = LogitBoostClassifier(n_estimators=20).fit(X, y, sample_weight=y)
    assert np.all(model.predict(X) == 1)


def test_probabilities_are_calibrated():
    X, y = two(3000, noise=1.0)
    train, test = slice(0, 1500), slice(1500, 3000)
    model = LogitBoostClassifier(n_estimators=100, learning_rate=0.3).fit(X[train], y[train])
    probability = model.predict_proba(X[test])[:, 1]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        rows = (probability >= low) & (probability < low + 0.2)
        assert abs(probability[rows].mean() - y[test][rows].mean()) < 0.12


def test_outlier_scores_of_separated_classes_are_numbers():
    scores = LogitBoostClassifier().fit([[0.0], [1.0]], [0, 1]).outlier_scores([[0.0], [1.0]], [0, 1])
    assert np.all(scores > 0)
    assert np.isclose(scores.sum(), 2.0)
