"""Out-of-bag predictions of forests: means over the trees that were not trained on a row; scores."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

from forest_cases import (
    CLASSIFIERS,
    KINDS,
    bag_counts,
    classes,
    counts,
    data_for,
    frame,
    numbers,
    predictions_by_tree,
)
from hedgerow import RandomForestClassifier, RandomForestRegressor

SETTINGS = {
    "default": {},
    "few rows": {"max_samples": 0.3},
    "few leaves": {"max_leaf_nodes": 7},
    "large leaves": {"min_samples_leaf": 9, "max_features": 2},
}


def plain_means(predicted, drawn):
    """Means over the trees that did not draw the row, added one after the other, and how many these are."""
    n_trees, n_rows, n_outputs = predicted.shape
    sums, n_votes = np.zeros((n_rows, n_outputs)), np.zeros(n_rows, np.int64)
    for tree in range(n_trees):
        for row in np.flatnonzero(drawn[tree] == 0):
            sums[row] += predicted[tree, row]
            n_votes[row] += 1
    with np.errstate(invalid="ignore"):
        return sums / n_votes[:, np.newaxis], n_votes


def oob_predictions(model):
    found = model.oob_decision_function_ if hasattr(model, "classes_") else model.oob_prediction_
    return found.reshape(len(found), -1)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(KINDS[(i + j) % 4], setting) for i, setting in enumerate(SETTINGS) for j in range(2)],
)
def test_votes_equal_those_of_the_oracle(kind, setting):
    X, y = data_for(kind, 150)
    parameters = {"n_estimators": 25, "bootstrap": True, "oob_score": True, "random_state": 3}
    model = kind(**parameters | SETTINGS[setting]).fit(X, y)
    predicted = predictions_by_tree(model, X)
    means, n_votes = plain_means(predicted, bag_counts(model))
    assert n_votes.min() > 0
    np.testing.assert_array_equal(oob_predictions(model), means)
    np.testing.assert_array_equal(model.oob_votes_, n_votes)
    of_all_trees, _ = plain_means(predicted, np.zeros((25, 150)))
    np.testing.assert_array_equal(model._means(X), of_all_trees)
    if hasattr(model, "classes_"):
        np.testing.assert_allclose(means.sum(axis=1), 1.0)
        assert model.oob_score_ == np.mean(model.classes_[np.argmax(means, axis=1)] == y)
    else:
        assert model.oob_score_ == r2_score(y, means[:, 0])


def test_out_of_bag_predictions_of_several_outputs():
    X, y = numbers(120, n_outputs=3)
    model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    means, n_votes = plain_means(predictions_by_tree(model, X), bag_counts(model))
    assert model.oob_prediction_.shape == (120, 3)
    np.testing.assert_array_equal(model.oob_prediction_, means)
    np.testing.assert_array_equal(model.oob_votes_, n_votes)
    assert model.oob_score_ == r2_score(y, means)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {"alder": 3.0, "beech": 0.5}])
def test_out_of_bag_votes_with_class_weights(class_weight):
    X, y = classes(120)
    model = RandomForestClassifier(
        40, class_weight=class_weight, min_samples_leaf=4, oob_score=True, random_state=0
    ).fit(X, y)
    means, _ = plain_means(predictions_by_tree(model, X), bag_counts(model))
    np.testing.assert_array_equal(model.oob_decision_function_, means)


def test_out_of_bag_predictions_of_counts_and_categories():
    X, y = counts(120)
    model = RandomForestRegressor(30, criterion="poisson", oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        model.oob_prediction_, plain_means(predictions_by_tree(model, X), bag_counts(model))[0][:, 0]
    )
    X, y = frame(120)
    model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    assert model.model_.forest.sets.size
    np.testing.assert_array_equal(
        model.oob_prediction_, plain_means(predictions_by_tree(model, X), bag_counts(model))[0][:, 0]
    )


def test_number_of_rows_drawn_per_tree():
    X, y = classes(200)
    for max_samples, size in [(None, 200), (1.0, 200), (0.25, 50), (31, 31), (0.001, 1)]:
        model = RandomForestClassifier(10, max_samples=max_samples, random_state=0).fit(X, y)
        assert bag_counts(model).sum(axis=1).tolist() == [size] * 10
        distinct = (bag_counts(model) > 0).sum(axis=1)
        assert size == 1 or np.unique(bag_counts(model), axis=0).shape[0] == 10
        expected = 200 * (1 - (1 - 1 / 200) ** size)  # boxes that are hit by `size` balls
        assert abs(distinct.mean() - expected) < 6  # a standard deviation of the mean of ten is about 2


# --- rows without a vote, and scores


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_votes_raise_a_warning(kind):
    X, y = data_for(kind, 120)
    with pytest.warns(UserWarning, match=r"\d+ of 120 rows are in the bag of every tree") as caught:
        model = kind(n_estimators=2, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert caught[0].filename == __file__
    never = model.oob_votes_ == 0
    assert f"{never.sum()} of 120" in str(caught[0].message)
    assert 0 < never.sum() < 120
    assert np.array_equal(np.isnan(oob_predictions(model)).all(axis=1), never)
    assert np.array_equal(np.isnan(oob_predictions(model)).any(axis=1), never)
    known = oob_predictions(model)[~never]
    if hasattr(model, "classes_"):
        assert model.oob_score_ == np.mean(model.classes_[np.argmax(known, axis=1)] == y[~never])
    else:
        assert model.oob_score_ == r2_score(y[~never], known[:, 0])


def test_score_is_nan_without_votes():
    for seed in range(20):
        model = RandomForestClassifier(1, random_state=seed).fit([[0.0], [1.0]], [0, 1])
        if bag_counts(model).tolist() == [[1, 1]]:
            break
    with pytest.warns(UserWarning, match="2 of 2 rows"):
        model.set_params(oob_score=True).fit([[0.0], [1.0]], [0, 1])
    assert np.isnan(model.oob_score_)
    assert model.oob_votes_.tolist() == [0, 0]


def test_oob_score_may_be_a_function():
    X, y = numbers()
    model = RandomForestRegressor(30, oob_score=mean_absolute_error, random_state=0).fit(X, y)
    assert model.oob_score_ == mean_absolute_error(y, model.oob_prediction_)
    X, y = classes()
    calls = []

    def score(target, predicted):
        calls.append((target, predicted))
        return 0.25

    model = RandomForestClassifier(30, oob_score=score, random_state=0).fit(X, y)
    assert model.oob_score_ == 0.25
    target, predicted = calls[0]
    assert np.array_equal(target, y)
    assert np.array_equal(predicted, model.classes_[np.argmax(model.oob_decision_function_, axis=1)])


@pytest.mark.parametrize("kind", KINDS)
def test_another_fit_removes_the_score(kind):
    X, y = data_for(kind)
    model = kind(20, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert {name for name in vars(model) if name.startswith("oob_") and name.endswith("_")} == {
        *("oob_score_", "oob_votes_"),
        *(["oob_decision_function_", "oob_losses_"] if kind in CLASSIFIERS else ["oob_prediction_"]),
    }
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]


def test_weights_count_in_the_score():
    X, y = classes(200)
    weight = np.random.default_rng(0).random(200) * (y != "cedar")
    model = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y, sample_weight=weight)
    drawn = bag_counts(model)
    assert not drawn[:, y == "cedar"].any()
    assert np.corrcoef(drawn.sum(axis=0), weight)[0, 1] > 0.98
    assert np.array_equal(model.oob_votes_[y == "cedar"], [100] * np.sum(y == "cedar"))
    predicted = model.classes_[np.argmax(model.oob_decision_function_, axis=1)]
    assert model.oob_score_ == pytest.approx(accuracy_score(y, predicted, sample_weight=weight))
    X, y = numbers(200)
    model = RandomForestRegressor(100, oob_score=True, random_state=0).fit(X, y, sample_weight=weight)
    assert model.oob_score_ == pytest.approx(r2_score(y, model.oob_prediction_, sample_weight=weight))


# --- the error out of the bag is a test error
#
# Both errors are means over rows: of n training rows out of the bag, and of m test rows. The variance of a
# mean is that of the losses of a row, divided by the number of rows; so the standard error of the difference
# is sqrt(var_oob / n + var_test / m). Three of them are exceeded once in 370 sets, by chance. (The trees that
# vote on a row out of the bag are only 37 of 100; of 300 trees they are enough to be no worse.)


def agree(losses_oob, losses_test):
    difference = np.mean(losses_oob) - np.mean(losses_test)
    standard_error = np.sqrt(np.var(losses_oob) / len(losses_oob) + np.var(losses_test) / len(losses_test))
    assert abs(difference) <= 3 * standard_error
    return standard_error


def test_out_of_bag_error_is_close_to_test_error():
    X, y = make_classification(9000, 12, n_informative=6, flip_y=0.1, random_state=0)
    model = RandomForestClassifier(300, oob_score=True, random_state=0).fit(X[:1500], y[:1500])
    wrong_oob = np.argmax(model.oob_decision_function_, axis=1) != y[:1500]
    assert model.oob_score_ == 1 - np.mean(wrong_oob)
    standard_error = agree(wrong_oob, model.predict(X[1500:]) != y[1500:])
    assert standard_error < 0.01  # small enough for a meaningful test
    resubstituted = np.mean(model.predict(X[:1500]) != y[:1500])
    assert resubstituted < np.mean(wrong_oob) - 5 * standard_error


def test_out_of_bag_squared_error_is_close_to_test_squared_error():
    X, y = make_friedman1(8000, noise=1.0, random_state=2)
    model = RandomForestRegressor(300, max_features=0.4, oob_score=True, random_state=0)
    model.fit(X[:1000], y[:1000])
    squared_oob = (model.oob_prediction_ - y[:1000]) ** 2
    standard_error = agree(squared_oob, (model.predict(X[1000:]) - y[1000:]) ** 2)
    assert standard_error < 0.1 * np.mean(squared_oob)
    assert np.mean((model.predict(X[:1000]) - y[:1000]) ** 2) < np.mean(squared_oob) - 5 * standard_error
