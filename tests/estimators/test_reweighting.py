"""Bagging and forests whose members vote with different weights."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from forest_cases import bits, classes, frame, predictions_by_tree
from hedgerow import BaggingClassifier, DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier

FORESTS = [RandomForestClassifier, ExtraTreesClassifier]
BAGS = {
    "soft": (DecisionTreeClassifier(max_depth=3), "soft"),
    "hard": (DecisionTreeClassifier(max_depth=3), "hard"),
    "foreign": (LogisticRegression(), "soft"),
    "foreign votes": (LinearSVC(), "soft"),
}


def table(n_rows=150, n_classes=3, seed=0):
    X, y = classes(n_rows, n_classes, seed)
    return np.nan_to_num(X), y


def forest(kind=RandomForestClassifier, n_trees=7, **options):
    X, y = table()
    return kind(n_trees, max_leaf_nodes=9, random_state=0, **options).fit(X, y)


def bag(name="soft", **options):
    learner, voting = BAGS[name]
    X, y = table()
    return BaggingClassifier(learner, n_estimators=6, voting=voting, random_state=0, **options).fit(X, y)


# --- predictions


@pytest.mark.parametrize("kind", FORESTS)
def test_a_forest_predicts_the_weighted_mean_of_its_trees(kind):
    model, (X, _) = forest(kind), table(seed=1)
    weights = np.random.default_rng(0).dirichlet(np.ones(7))
    tuned = model.reweighted(weights)
    expected = np.einsum("t,tik->ik", weights, predictions_by_tree(model, X))
    np.testing.assert_allclose(tuned.predict_proba(X), expected, rtol=1e-12, atol=1e-15)
    assert np.array_equal(tuned.predict(X), tuned.classes_[np.argmax(tuned.predict_proba(X), axis=1)])
    np.testing.assert_allclose(tuned.estimator_weights_, weights, rtol=1e-15)


@pytest.mark.parametrize("name", BAGS)
def test_bagging_predicts_the_weighted_mean_of_its_members(name):
    model, (X, _) = bag(name), table(seed=1)
    weights = np.random.default_rng(0).dirichlet(np.ones(6))
    votes = np.zeros((len(X), 3))
    for member, columns, weight in zip(model.estimators_, model.estimators_features_, weights, strict=True):
        soft, known = BAGS[name][1] == "soft" and hasattr(member, "predict_proba"), X[:, columns]
        votes += weight * (
            member.predict_proba(known) if soft else member.predict(known)[:, np.newaxis] == model.classes_
        )
    np.testing.assert_allclose(model.reweighted(weights).predict_proba(X), votes, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("make", [forest, bag])
def test_one_member_may_have_the_whole_vote(make):
    model, (X, _) = make(), table(seed=1)
    n = len(model.estimator_weights_)
    alone = [model.reweighted(np.eye(n)[k]).predict_proba(X) for k in range(n)]
    if make is forest:
        expected = predictions_by_tree(model, X)
    else:
        members = zip(model.estimators_, model.estimators_features_, strict=True)
        expected = [member.predict_proba(X[:, columns]) for member, columns in members]
    for one, other in zip(alone, expected, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("make", [forest, bag])
def test_equal_weights_are_the_equal_vote_whatever_their_scale(make):
    model, (X, _) = make(), table(seed=1)
    n = len(model.estimator_weights_)
    assert np.array_equal(model.estimator_weights_, np.full(n, 1.0 / n))
    for weights in (np.ones(n), np.full(n, 7), np.full(n, 1e-200), [True] * n, np.full(n, 3, np.uint8)):
        tuned = model.reweighted(weights)
        np.testing.assert_allclose(tuned.estimator_weights_, model.estimator_weights_, rtol=1e-15)
        np.testing.assert_allclose(tuned.predict_proba(X), model.predict_proba(X), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("make", [forest, bag])
def test_the_model_itself_stays_as_it_is(make):
    X, y = table()
    model = make(oob_score=True, max_samples=0.5) if make is forest else make(oob_score=True, max_samples=0.4)
    predicted, score = model.predict_proba(X), model.oob_score_
    tuned = model.reweighted(np.arange(1, len(model.estimator_weights_) + 1))
    assert not np.array_equal(tuned.predict_proba(X), predicted)
    assert np.array_equal(model.predict_proba(X), predicted)
    assert model.oob_score_ == score
    for name in ("oob_score_", "oob_decision_function_", "oob_votes_"):
        assert hasattr(model, name)
        assert not hasattr(tuned, name)  # they describe the equal vote
    assert tuned.oob_losses_ is model.oob_losses_  # losses of members do not depend on their weights
    tuned.fit(X[:100], y[:100])
    assert np.array_equal(model.predict_proba(X), predicted)


def test_reweighting_twice_uses_the_last_weights():
    model, (X, _) = forest(), table(seed=1)
    weights = np.arange(1.0, 8.0)
    twice = model.reweighted(weights[::-1]).reweighted(weights)
    assert np.array_equal(twice.predict_proba(X), model.reweighted(weights).predict_proba(X))


def test_estimator_weights_are_a_copy():
    tuned = forest().reweighted(np.arange(1.0, 8.0))
    tuned.estimator_weights_[:] = 0.0
    assert tuned.estimator_weights_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("make", [forest, bag])
def test_weights_are_pickled_and_not_cloned(make):
    model, (X, _) = make(), table(seed=1)
    tuned = model.reweighted(np.arange(1, len(model.estimator_weights_) + 1))
    copied = pickle.loads(pickle.dumps(tuned))  # noqa: S301 - our own bytes
    assert np.array_equal(copied.predict_proba(X), tuned.predict_proba(X))
    assert np.array_equal(copied.estimator_weights_, tuned.estimator_weights_)
    fresh = clone(tuned).fit(*table())
    assert np.array_equal(fresh.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("make", [forest, bag])
def test_a_new_fit_has_equal_weights(make):
    X, y = table()
    model = make()
    tuned = model.reweighted(np.arange(1, len(model.estimator_weights_) + 1)).fit(X, y)
    assert np.array_equal(tuned.predict_proba(X), model.predict_proba(X))


def test_threads_do_not_change_a_weighted_vote():
    X, y = classes(20_000)
    model = RandomForestClassifier(5, max_leaf_nodes=40, random_state=0).fit(X, y)
    tuned = model.reweighted([0.1, 0.2, 0.3, 0.25, 0.15])
    predicted = {tuned.set_params(n_jobs=n_jobs).predict_proba(X).tobytes() for n_jobs in (1, 2, 4)}
    assert len(predicted) == 1
    assert bits(tuned) == bits(model)


def test_categories_vote_with_weights_too():
    X, score = frame(200)
    model = RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(X, score > 1)
    weights = np.array([0.4, 0.1, 0.2, 0.2, 0.1])
    expected = np.einsum("t,tik->ik", weights, predictions_by_tree(model, X))
    np.testing.assert_allclose(model.reweighted(weights).predict_proba(X), expected, rtol=1e-12, atol=1e-15)


# --- invalid weights and warm starts


@pytest.mark.parametrize("make", [forest, bag])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w[:-1], "of shape"),
        (lambda w: w.reshape(1, -1), "of shape"),
        (lambda w: w.astype(str), "of shape"),
        (lambda w: w + 1j, "of shape"),
        (lambda _: 3.0, "of shape"),
        (lambda w: np.where(np.arange(len(w)) == 2, -0.5, w), r"weights\[2\]=-0.5"),
        (lambda w: np.where(np.arange(len(w)) == 1, np.nan, w), r"weights\[1\]=nan"),
        (lambda w: np.where(np.arange(len(w)) == 0, np.inf, w), r"weights\[0\]=inf"),
        (lambda w: 0 * w, "all zero"),
    ],
)
def test_weights_that_make_no_vote_are_refused(make, change, words):
    model = make()
    weights = np.ones(len(model.estimator_weights_))
    with pytest.raises(ValueError, match=f"{words}.*one for every member"):
        model.reweighted(change(weights))


@pytest.mark.parametrize("make", [forest, bag])
def test_going_on_from_a_weighted_vote_is_refused(make):
    X, y = table()
    model = make()
    n = len(model.estimator_weights_)
    tuned = model.reweighted(np.arange(1, n + 1)).set_params(warm_start=True, n_estimators=n + 2)
    with pytest.raises(ValueError, match=r"warm_start=True cannot add (trees|members) .* weights"):
        tuned.fit(X, y)


@pytest.mark.parametrize("model", [RandomForestClassifier(), BaggingClassifier()])
def test_a_model_that_is_not_fitted_has_no_weights(model):
    with pytest.raises(ValueError, match="not fitted"):
        model.reweighted([1.0])
    with pytest.raises(ValueError, match="not fitted"):
        _ = model.estimator_weights_
