"""Margins of every voting model against their definition, from the predictions of the members."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as OtherTree
from sklearn.tree import DecisionTreeRegressor as OtherRegressor

import hedgerow as hr
from forest_cases import classes, predictions_by_tree
from hedgerow.estimators.votes import score_margins
from hedgerow.theory import margin_distribution, margins

DEEPER = hr.DecisionTreeClassifier(max_depth=2)


def table(n_classes=2, n_rows=150, seed=0):
    X, y = classes(n_rows, n_classes, seed)
    return np.nan_to_num(X), y


def ahead(scores, y, labels):
    """Score (rows, classes) of the label less the largest other one."""
    found = []
    for row, label in zip(scores, np.searchsorted(labels, y), strict=True):
        found.append(row[label] - max(value for k, value in enumerate(row) if k != label))
    return np.array(found)


def votes_of(members, weights, X, labels):
    """Weighted votes (rows, classes) of members that name a class."""
    votes = np.zeros((len(X), len(labels)))
    for member, weight in zip(members, weights, strict=True):
        votes += weight * (member.predict(X)[:, np.newaxis] == labels)
    return votes


VOTERS = {
    "discrete": hr.AdaBoostClassifier(n_estimators=15),
    "trees": hr.AdaBoostClassifier(DEEPER, n_estimators=8),
    "m1": hr.AdaBoostClassifier(hr.DecisionTreeClassifier(max_depth=4), n_estimators=8, algorithm="m1"),
    "samme": hr.AdaBoostClassifier(DEEPER, n_estimators=8, algorithm="samme"),
    "slow": hr.AdaBoostClassifier(DEEPER, n_estimators=8, learning_rate=0.3),
    "foreign": hr.AdaBoostClassifier(OtherTree(max_depth=3, random_state=0), n_estimators=6),
    "drawn": hr.AdaBoostClassifier(DEEPER, n_estimators=8, resample=True, random_state=0),
    "stopping": hr.AdaBoostClassifier(DEEPER, n_estimators=30, early_stopping=True, random_state=0),
    "any": hr.AnyBoostClassifier(n_estimators=10),
    "any, logistic": hr.AnyBoostClassifier(cost="logistic", n_estimators=10),
    "any, sigmoid": hr.AnyBoostClassifier(cost="sigmoid", n_estimators=10),
}
SCORERS = {
    "real": hr.AdaBoostClassifier(n_estimators=8, algorithm="real"),
    "samme.r": hr.AdaBoostClassifier(n_estimators=8, algorithm="samme.r"),
    "gentle": hr.AdaBoostClassifier(DEEPER, n_estimators=8, algorithm="gentle"),
    "logit": hr.LogitBoostClassifier(n_estimators=8),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", VOTERS)
def test_weighted_votes_have_the_margin_of_their_shares(name, n_classes):
    if n_classes == 3 and name.startswith("any"):
        pytest.skip("two classes only")
    X, y = table(n_classes)
    other, labels = table(n_classes, seed=1)
    model = VOTERS[name].fit(X, y)
    alphas = model.estimator_weights_
    votes = votes_of(model.estimators_, alphas, other, model.classes_)
    expected = ahead(votes, labels, model.classes_) / alphas.sum()
    np.testing.assert_allclose(model.margins(other, labels), expected, atol=1e-12)
    np.testing.assert_allclose(model.training_margins_, model.margins(X, y), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_divided_by_their_largest_possible_value(name, n_classes):
    if n_classes == 3 and name == "real":
        pytest.skip("two classes only")
    X, y = table(n_classes)
    other, labels = table(n_classes, seed=1)
    model = SCORERS[name].fit(X, y)
    scores, steps = _staged(model, other), np.diff(_staged(model, X), axis=0, prepend=0)
    largest = sum(np.abs(step).max() for step in steps)  # every leaf has a training row
    last = scores[-1]
    if n_classes == 2:
        expected = np.where(labels == model.classes_[1], last[0], -last[0]) / largest
    else:
        expected = ahead(last.T, labels, model.classes_) / (2 * largest)
    np.testing.assert_allclose(model.margins(other, labels), expected, atol=1e-12)
    assert np.abs(model.margins(X, y)).max() <= 1.0


def _staged(model, X):
    """Scores (rounds, outputs, rows)."""
    return np.array([np.atleast_2d(score.T) for score in model.staged_decision_function(X)])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_boosting_is_divided_by_start_and_leaves(n_classes):
    X, y = table(n_classes)
    other, labels = table(n_classes, seed=1)
    model = hr.GradientBoostingClassifier(n_estimators=12, max_leaf_nodes=4).fit(X, y)
    start = model.model_.start
    staged = _staged(model, X)
    largest = np.abs(start).max()
    before = np.repeat(start[:, np.newaxis], len(X), axis=1)
    for scores in staged:
        largest += np.abs(scores - before).max()
        before = scores
    last = _staged(model, other)[-1]
    if n_classes == 2:
        expected = np.where(labels == model.classes_[1], last[0], -last[0]) / largest
    else:
        expected = ahead(last.T, labels, model.classes_) / (2 * largest)
    np.testing.assert_allclose(model.margins(other, labels), expected, atol=1e-12)


def test_gradient_boosting_of_other_learners_has_no_margins():
    X, y = table()
    model = hr.GradientBoostingClassifier(estimator=OtherRegressor(max_depth=2), n_estimators=3).fit(X, y)
    with pytest.raises((TypeError, ValueError, AttributeError), match="margins"):
        model.margins(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [hr.RandomForestClassifier, hr.ExtraTreesClassifier])
def test_forests_have_the_margin_of_their_mean_shares(kind, n_classes):
    X, y = table(n_classes)
    other, labels = table(n_classes, seed=1)
    model = kind(9, max_leaf_nodes=12, random_state=0).fit(X, y)
    predicted = predictions_by_tree(model, other)
    expected = ahead(predicted.mean(axis=0), labels, model.classes_)
    np.testing.assert_allclose(model.margins(other, labels), expected, atol=1e-12)
    weights = np.arange(1.0, 10.0) / 45
    expected = ahead(np.einsum("t,tik->ik", weights, predicted), labels, model.classes_)
    np.testing.assert_allclose(model.reweighted(weights).margins(other, labels), expected, atol=1e-12)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("learner", [None, LogisticRegression()])
def test_bags_have_the_margin_of_their_mean_predictions(learner, voting):
    X, y = table(3)
    other, labels = table(3, seed=1)
    model = hr.BaggingClassifier(learner, n_estimators=7, voting=voting, max_features=0.8, random_state=0)
    model.fit(X, y)
    shares = np.zeros((len(other), 3))
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        predicted = member.predict(other[:, columns])[:, np.newaxis] == model.classes_
        shares += (member.predict_proba(other[:, columns]) if voting == "soft" else predicted) / 7
    np.testing.assert_allclose(
        model.margins(other, labels), ahead(shares, labels, model.classes_), atol=1e-12
    )


def test_three_hypotheses_have_thirds():
    X, y = table(n_rows=600)
    model = hr.SchapireBoostClassifier(random_state=0).fit(X, y)
    found = model.margins(X, y)
    assert "three hypotheses" in model.stop_reason_
    assert set(np.round(3 * found).astype(int)) <= {-3, -1, 1, 3}
    np.testing.assert_allclose(found, ahead(model.predict_proba(X), y, model.classes_), atol=1e-15)


# --- along the rounds


BOOSTED = {**VOTERS, **SCORERS, "gradient": hr.GradientBoostingClassifier(n_estimators=8)}
ALL = {
    **BOOSTED,
    "forest": hr.RandomForestClassifier(4, random_state=0),
    "even bag": hr.BaggingClassifier(n_estimators=4, voting="hard", random_state=0),
    "three": hr.SchapireBoostClassifier(random_state=0),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ALL)
def test_the_sign_of_a_margin_is_that_of_a_correct_prediction_in_every_round(name, n_classes):
    if n_classes == 3 and (name.startswith("any") or name == "real"):
        pytest.skip("two classes only")
    X, y = table(n_classes)
    other, labels = table(n_classes, seed=2)
    model = ALL[name].fit(X, y)
    for rows, target in ((X, y), (other, labels)):
        found, right = margins(model, rows, target), model.predict(rows) == target
        assert np.all(right[found > 0])
        assert not np.any(right[found < 0])
    if name in BOOSTED:
        staged = list(model.staged_margins(other, labels))
        assert len(staged) == model.n_estimators_
        assert len({one.__array_interface__["data"][0] for one in staged}) == len(staged)  # separate arrays
        assert np.array_equal(staged[-1], found)
        for one, predicted in zip(staged, model.staged_predict(other), strict=True):
            assert np.all(np.abs(one) <= 1.0)
            assert np.all(predicted[one > 1e-12] == labels[one > 1e-12])
            assert not np.any(predicted[one < -1e-12] == labels[one < -1e-12])


def test_a_tie_has_margin_zero_and_goes_to_the_first_class():
    X, y = table()
    model = hr.BaggingClassifier(DEEPER, n_estimators=2, voting="hard", random_state=0).fit(X, y)
    found = model.margins(X, y)
    tied = found == 0.0
    assert tied.any()
    assert np.all(model.predict(X)[tied] == model.classes_[0])


# --- the functions


def test_scores_become_margins_of_one_or_more_outputs():
    raw, numbers = np.array([[0.5, -0.25, 0.0]]), np.array([1, 1, 0])
    assert score_margins(raw, numbers, 0.5).tolist() == [1.0, -0.5, 0.0]
    raw = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    assert score_margins(raw, np.array([0, 2]), 4.0).tolist() == [0.25, 0.0]
    assert raw.tolist() == [[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]  # left as it was


def test_models_without_votes_are_refused():
    X, y = table()
    with pytest.raises(TypeError, match="model must be a classifier of hedgerow with margins; got Log"):
        margins(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        margins(hr.AdaBoostClassifier(), X, y)


def test_labels_that_are_no_classes_are_refused():
    X, y = table()
    model = hr.AdaBoostClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="zebra"):
        margins(model, X, np.where(np.arange(len(y)) == 3, "zebra", y))
    with pytest.raises(ValueError, match="149 rows, but X has 150"):
        margins(model, X, y[:-1])


def test_the_distribution_counts_margins_up_to_a_value():
    rng = np.random.default_rng(0)
    values, at = np.round(rng.uniform(-1, 1, 200), 1), np.linspace(-1.1, 1.1, 23)
    assert margin_distribution(values, at).tolist() == [np.mean(values <= value) for value in at]
    assert margin_distribution(values, 0.0).shape == (1,)
    for bad in ([], [0.1, np.nan]):
        with pytest.raises(ValueError, match="margins must have"):
            margin_distribution(bad, 0.0)
