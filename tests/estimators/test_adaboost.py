"""Fitted ensembles of the AdaBoost family: members, statistics, margins, weights, outliers, input tables."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from adaboost_cases import (
    ALGORITHMS,
    KINDS,
    SEVERAL_KINDS,
    VOTES,
    SklearnRegressionStump,
    SklearnStump,
    breast,
    make_kind,
    problem,
    several,
    signs,
    two,
)
from documents import DOCS
from hedgerow import (
    AdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LogitBoostClassifier,
)
from hedgerow.datasets import flip_labels


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_documented(algorithm):
    guide = DOCS / "guide" / "adaboost.md"
    assert f'"{algorithm}"' in str(AdaBoostClassifier.__doc__)
    assert f'`"{algorithm}"`' in guide.read_text()
    stored = "real" if algorithm == "samme.r" else algorithm  # its name in files
    assert re.search(rf"^\|.*`{stored}`.*\| [12] \|", (DOCS / "files.md").read_text(), re.MULTILINE)


# --- the score is the weighted sum of the members


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("kind", [*VOTES, "any exponential", "any sigmoid"])
def test_the_weighted_votes_of_the_stumps_are_the_score(kind, learning_rate):
    X, y = two()
    model = make_kind(kind, n_estimators=15, learning_rate=learning_rate).fit(X, y)
    score = np.zeros(len(y))
    for stump, alpha in zip(model.estimators_, model.estimator_weights_, strict=True):
        assert isinstance(stump, DecisionStump)
        score += alpha * signs(model, stump.predict(X))
    assert np.array_equal(score, model.decision_function(X))


@pytest.mark.parametrize("kind", VOTES)
def test_the_votes_for_several_classes_are_the_scores(kind):
    X, y = several(4)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=9, algorithm=kind).fit(X, y)
    scores = np.zeros((len(y), 4))
    for tree, alpha in zip(model.estimators_, model.estimator_weights_, strict=True):
        assert isinstance(tree, DecisionTreeClassifier)
        scores += alpha * (tree.predict(X)[:, None] == np.arange(4))
    assert np.array_equal(scores, model.decision_function(X))


@pytest.mark.parametrize("kind", ["real", "gentle", "logit"])
@pytest.mark.parametrize(("n_classes", "learning_rate"), [(2, 1.0), (2, 0.3), (3, 0.3)])
def test_predictions_of_regression_members_add_up_to_the_score(kind, n_classes, learning_rate):
    X, y = problem(n_classes)
    model = make_kind(kind, n_estimators=8, learning_rate=learning_rate).fit(X, y)
    scores = np.zeros_like(model.decision_function(X))
    for members, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        several_members = [members] if n_classes == 2 else members
        predicted = np.stack([member.predict(X) for member in several_members], axis=1)
        scores += weight * (predicted[:, 0] if n_classes == 2 else predicted)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12, atol=1e-12)


def test_a_member_is_a_complete_stump():
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    stump = model.estimators_[0]
    goes_right = X[:, stump.feature_] > stump.threshold_
    by_hand = np.where(goes_right, stump.leaf_classes_[1], stump.leaf_classes_[0])
    assert np.array_equal(stump.predict(X), by_hand)
    assert stump.polarity_ in (-1, 1)
    assert str(stump).startswith(f"x{stump.feature_} <= ")
    assert stump.feature_ == DecisionStump().fit(X, y).feature_  # the first round has no weights yet


@pytest.mark.parametrize("learner", [DecisionTreeRegressor(max_depth=2), DecisionTreeClassifier(max_depth=2)])
def test_gentle_and_logit_boosting_take_either_tree(learner):
    X, y = two()
    for model in (AdaBoostClassifier(learner, algorithm="gentle"), LogitBoostClassifier(learner)):
        model.set_params(n_estimators=5).fit(X, y)
        assert isinstance(model.estimators_[0], DecisionTreeRegressor)
        assert set(model.history_["leaves"]) <= {3, 4}


# --- weights of the rows


@pytest.mark.parametrize("kind", [k for k in KINDS if k.startswith("any") or k in ALGORITHMS])
def test_the_last_weights_are_those_of_the_formula(kind):
    X, y = two()
    sample = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = make_kind(kind, n_estimators=12).fit(X, y, sample)
    margin = signs(model, y) * model.decision_function(X)
    if kind in ("m1", "samme"):  # their scores are twice as large
        margin = margin / 2
    expected = np.exp(-margin)
    if kind == "any logistic":
        expected = 1 / (1 + np.exp(margin))
    elif kind == "any sigmoid":
        normalised = margin / max(1.0, model.estimator_weights_.sum())
        expected = 1 / np.cosh(10 * (normalised + 0.1)) ** 2
    expected *= sample
    np.testing.assert_allclose(model.sample_weights_, expected / expected.sum(), rtol=1e-9)
    assert model.sample_weights_.sum() == pytest.approx(1.0, rel=1e-12)


def test_the_last_weights_of_logitboost_are_p_times_one_less_p():
    for n_classes in (2, 3):
        X, y = problem(n_classes)
        model = LogitBoostClassifier(n_estimators=6).fit(X, y)
        p = model.predict_proba(X)[:, 1:] if n_classes == 2 else model.predict_proba(X)
        expected = (p * (1 - p)).sum(axis=1)
        np.testing.assert_allclose(model.sample_weights_, expected / expected.sum(), rtol=1e-6)


def test_the_last_weights_of_samme_and_of_gentle_boosting_of_several_classes():
    X, y = several()
    samme = AdaBoostClassifier(algorithm="samme", n_estimators=8).fit(X, y)
    weight = np.exp(-samme.decision_function(X)[np.arange(len(y)), y])
    np.testing.assert_allclose(samme.sample_weights_, weight / weight.sum(), rtol=1e-9)
    gentle = AdaBoostClassifier(algorithm="gentle", n_estimators=8).fit(X, y)
    each = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    weight = np.exp(-each * gentle.decision_function(X)).sum(axis=1)
    np.testing.assert_allclose(gentle.sample_weights_, weight / weight.sum(), rtol=1e-9)


# --- probabilities


def test_probabilities_are_those_of_the_additive_logistic_model():
    X, y = two()
    for kind in ("discrete", "real", "gentle", "logit", "any exponential"):
        model = make_kind(kind).fit(X, y)
        odds = np.exp(2 * model.decision_function(X))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], odds / (1 + odds), rtol=1e-9)
    logistic = make_kind("any logistic").fit(X, y)
    odds = np.exp(logistic.decision_function(X))
    np.testing.assert_allclose(logistic.predict_proba(X)[:, 1], odds / (1 + odds), rtol=1e-9)


@pytest.mark.parametrize("kind", ["discrete", "samme", "samme.r", "logit"])
def test_probabilities_of_several_classes_are_a_softmax(kind):
    X, y = several()
    model = make_kind(kind).fit(X, y)
    scale = {"discrete": 2.0, "samme": 1.0, "samme.r": 0.5, "logit": 1.0}[kind]
    powers = np.exp(scale * model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), powers / powers.sum(axis=1, keepdims=True), rtol=1e-9)


# --- margins


@pytest.mark.parametrize("kind", [*VOTES, "any logistic"])
def test_margins_are_normalised_votes(kind):
    X, y = two()
    model = make_kind(kind).fit(X, y)
    expected = signs(model, y) * model.decision_function(X) / model.estimator_weights_.sum()
    np.testing.assert_allclose(model.margins(X, y), expected, rtol=1e-12)
    assert np.array_equal(model.margins(X, y) > 0, model.predict(X) == y)  # no row stands at 0 here
    flipped = model.classes_[1 - np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(model.margins(X, flipped), -model.margins(X, y))


@pytest.mark.parametrize("kind", SEVERAL_KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_lie_between_minus_one_and_one_for_any_rows(kind, n_classes):
    X, y = problem(n_classes)
    model = make_kind(kind).fit(X, y)
    other = np.random.default_rng(1).normal(size=X.shape) * 10
    for rows in (X, other):
        margins = model.margins(rows, y)
        assert np.all(np.abs(margins) <= 1.0 + 1e-12)
        wrong = model.predict(rows) != y
        assert np.all(margins[wrong] <= 0)
        assert np.all(margins[~wrong] >= 0)


def test_margins_of_several_classes_are_votes_less_those_of_the_strongest_other():
    X, y = several()
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    votes = model.decision_function(X) / model.estimator_weights_.sum()
    own = votes[np.arange(len(y)), y]
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    strongest = np.where(np.arange(3) == y[:, None], -1.0, votes).max(axis=1)
    np.testing.assert_allclose(model.margins(X, y), own - strongest, atol=1e-12)


def test_margins_grow_after_the_training_error_is_zero():
    X, y = breast()
    model = AdaBoostClassifier(n_estimators=300).fit(X, y)
    first = model.history_["train_error"].index(0.0)
    assert first < 100
    lengths = np.cumsum(model.estimator_weights_)
    smallest = [
        np.min(signs(model, y) * score / length)
        for score, length in zip(model.staged_decision_function(X), lengths, strict=True)
    ]
    assert smallest[-1] == pytest.approx(model.margins(X, y).min(), rel=1e-12)
    assert smallest[-1] > 0.05 > 2 * smallest[first]


@pytest.mark.parametrize("name", ["margins", "outlier_scores"])
def test_margins_and_outlier_scores_reject_unknown_labels(name):
    X, y = two()
    model = AdaBoostClassifier(n_estimators=3).fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(ValueError, match="'perhaps'"):
        getattr(model, name)(X, np.array(["perhaps"] * len(y)))
    with pytest.raises(ValueError, match="y has 5 rows, but X has 200"):
        getattr(model, name)(X, np.array(["no"] * 5))


# --- outliers


def flipped_problem(share, seed, n_classes=2):
    """A problem that stumps can learn without error, with some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5))
    score = X[:, 0] + X[:, 1] + X[:, 2]
    y = np.digitize(score, [0.0] if n_classes == 2 else [-1.0, 1.0])
    noisy, flipped = flip_labels(y, share, random_state=seed)
    return X, noisy, np.isin(np.arange(len(y)), flipped)


@pytest.mark.parametrize("kind", ["discrete", "m1", "real", "gentle", "logit", "any logistic", "any sigmoid"])
def test_outlier_scores_find_flipped_labels(kind):
    found = []
    for seed in range(3):
        X, noisy, flipped = flipped_problem(0.05, seed)
        scores = make_kind(kind, n_estimators=50).fit(X, noisy).outlier_scores(X, noisy)
        found.append(roc_auc_score(flipped, scores))
        assert scores.mean() == pytest.approx(1.0)  # in units of 1 / n
        assert scores[flipped].mean() > 2.0 > scores[~flipped].mean()
    assert np.mean(found) > 0.93
    assert min(found) > 0.9


@pytest.mark.parametrize("kind", ["samme", "samme.r", "gentle", "logit"])
def test_outlier_scores_find_flipped_labels_of_three_classes(kind):
    found = []
    for seed in range(2):
        X, noisy, flipped = flipped_problem(0.05, seed, n_classes=3)
        model = make_kind(kind, n_estimators=50).set_params(estimator=DecisionTreeClassifier(max_depth=2))
        found.append(roc_auc_score(flipped, model.fit(X, noisy).outlier_scores(X, noisy)))
    assert np.mean(found) > 0.85


def test_the_outlier_score_is_the_mean_weight_over_the_rounds():
    X, y = two(60)
    model = AdaBoostClassifier(n_estimators=7).fit(X, y)
    weights = [np.exp(-signs(model, y) * f) for f in model.staged_decision_function(X)]
    expected = np.mean([w / w.mean() for w in weights], axis=0)
    np.testing.assert_allclose(model.outlier_scores(X, y), expected, rtol=1e-9)


# --- tables and labels


def frame(n_rows=200):
    X, y = two(n_rows)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["colour"] = pd.Categorical(np.array(["blue", "green", "red"])[np.arange(n_rows) % 3])
    y = np.where(table["colour"] == "red", 1, y)  # red decides
    return table, y


@pytest.mark.parametrize("kind", ["discrete", "real", "gentle", "logit"])
def test_frames_with_categories_and_gaps(kind):
    table, y = frame()
    table.loc[::7, "b"] = np.nan
    model = make_kind(kind).fit(table, y)
    assert list(model.feature_names_in_) == list(table.columns)
    polars = pl.DataFrame({name: table[name].to_list() for name in table.columns})
    polars = polars.with_columns(pl.col("colour").cast(pl.Categorical), pl.col("b").fill_nan(None))
    again = make_kind(kind).fit(polars, y)
    assert np.array_equal(again.decision_function(polars), model.decision_function(table))
    assert model.feature_importances_[4] > 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="colour"):
        model.predict(table.drop(columns="colour"))


def test_a_stump_on_categories_prints_them():
    table, y = frame()
    table, y = table[["colour"]], (table["colour"] == "red").to_numpy().astype(int)
    (stump,) = AdaBoostClassifier().fit(table, y).estimators_
    assert str(stump) in ("colour in ['blue', 'green']: 0, else 1", "colour in ['red']: 1, else 0")
    assert np.isnan(stump.threshold_)


# --- weights of classes and of rows


@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_of_sample_weights_does_not_matter(kind):
    X, y = two()
    weight = np.random.default_rng(0).uniform(size=len(y))
    scores = make_kind(kind).fit(X, y, weight).decision_function(X)
    for scale in (2.0**-1000, 2.0**300):
        assert np.array_equal(make_kind(kind).fit(X, y, weight * scale).decision_function(X), scores)


@pytest.mark.parametrize("estimator", [SklearnStump(), SklearnRegressionStump()])
def test_rows_of_weight_zero_are_no_rows_for_foreign_learners(estimator):
    X, y = two()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    kind = "real" if isinstance(estimator, SklearnStump) else "gentle"
    model = make_kind(kind).set_params(estimator=estimator).fit(X, y, weight)
    part = make_kind(kind).set_params(estimator=estimator).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(model.decision_function(X), part.decision_function(X), rtol=1e-9)
    assert np.all(model.sample_weights_[weight == 0] == 0)


# --- same bits


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_chunks_change_nothing(kind):
    X, y = two(5000)
    weight = np.random.default_rng(0).uniform(size=len(y))
    one = make_kind(kind, n_jobs=1, n_estimators=4).fit(X, y, weight)
    for n_jobs, chunk in ((2, 65536), (3, 700)):
        other = make_kind(kind, n_jobs=n_jobs, n_estimators=4)
        other._chunk_rows = chunk
        other.fit(X, y, weight)
        assert other.decision_function(X).tobytes() == one.decision_function(X).tobytes()
        for name in ("estimator_weights_", "estimator_errors_", "training_error_bound_", "sample_weights_"):
            assert getattr(other, name).tobytes() == getattr(one, name).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_changing_parameters_does_not_change_a_fitted_model(kind):
    X, y = breast()
    model = make_kind(kind).fit(X, y)
    before = model.predict_proba(X), model.outlier_scores(X, y), model.margins(X, y)
    other = {"cost": "sigmoid"} if "cost" in model.get_params() else {}
    if "algorithm" in model.get_params():
        other = {"algorithm": "m1" if model.algorithm != "m1" else "gentle"}
    model.set_params(**other, estimator=SVC(), learning_rate=0.1)
    for old, new in zip(
        before, (model.predict_proba(X), model.outlier_scores(X, y), model.margins(X, y)), strict=True
    ):
        assert np.array_equal(old, new)
    assert len(model.estimators_) == model.n_estimators_


def test_members_of_an_unfitted_model_raise_not_fitted():
    with pytest.raises(NotFittedError, match="AdaBoostClassifier instance is not fitted"):
        _ = AdaBoostClassifier().estimators_
