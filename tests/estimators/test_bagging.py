"""Bagging: samples of the members, their vote, out-of-bag predictions, and weights."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from hedgerow.estimators.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.estimators.decision_trees import DecisionStump
from hedgerow.members import ConstantHypothesis

QUICK = settings(max_examples=8, deadline=None, derandomize=True)
TREE = DecisionTreeClassifier(max_depth=3)


def three_classes(n_rows=120, seed=0):
    X, y = make_classification(n_rows, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=seed)
    return X, np.array(["ash", "beech", "oak"])[y]


def numbers(n_rows=120, seed=0):
    return make_regression(n_rows, 4, noise=10.0, random_state=seed)


def bag(estimator=None, **parameters):
    return BaggingClassifier(estimator, **{"random_state": 0, "n_estimators": 7} | parameters)


def bag_of_numbers(estimator=None, **parameters):
    return BaggingRegressor(estimator, **{"random_state": 0, "n_estimators": 7} | parameters)


class Recorder(ClassifierMixin, BaseEstimator):
    """Stores its input, and predicts the most frequent label."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weight_ = X, y, sample_weight
        self.classes_, counts = np.unique(y, return_counts=True)
        self.label_ = self.classes_[np.argmax(counts)]
        return self

    def predict(self, X):
        self.predicted_X_ = X
        return np.full(X.shape[0], self.label_)


# --- samples


def test_members_are_fitted_to_the_listed_rows_and_columns():
    X, y = three_classes()
    model = bag(Recorder(), max_samples=0.5, max_features=3).fit(X, y)
    assert len({tuple(columns) for columns in model.estimators_features_}) > 1
    samples = zip(model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True)
    for member, rows, columns in samples:
        assert rows.shape == (60,)
        assert columns.shape == (3,)
        assert np.array_equal(member.X_, X[rows][:, columns])
        assert np.array_equal(member.y_, y[rows])
        assert member.weight_ is None
    model.predict(X[:9])
    assert np.array_equal(model.estimators_[2].predicted_X_, X[:9][:, model.estimators_features_[2]])


def test_members_have_different_samples_and_seeds():
    X, y = three_classes()
    model = bag(make_pipeline(StandardScaler(), ExtraTreeClassifier())).fit(X, y)
    assert len({tuple(rows) for rows in model.estimators_samples_}) == 7
    assert len({member[-1].random_state for member in model.estimators_}) == 7
    again = bag(make_pipeline(StandardScaler(), ExtraTreeClassifier()), random_state=1).fit(X, y)
    assert not np.array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("bootstrap", "max_samples", "size"),
    [
        *((True, 1.0, 120), (True, 17, 17), (False, 0.25, 30), (False, 1, 1)),
        *((False, np.int64(1), 1), (True, np.uint8(17), 17), (False, np.float32(0.25), 30)),
    ],
)
def test_max_samples(bootstrap, max_samples, size):
    X, y = three_classes()
    model = bag(Recorder(), bootstrap=bootstrap, max_samples=max_samples).fit(X, y)
    assert {len(rows) for rows in model.estimators_samples_} == {size}
    repeats = [size - len(set(rows.tolist())) for rows in model.estimators_samples_]
    assert (max(repeats) > 0) == bootstrap


def test_all_rows_and_columns_are_passed_unchanged():
    X, y = three_classes()
    model = bag(Recorder(), bootstrap=False).fit(X, y)
    assert all(member.X_ is X for member in model.estimators_)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_parts_of_data_frames_are_data_frames(make):
    X, y = three_classes()
    frame = make({name: X[:, i] for i, name in enumerate("abcde")})
    model = bag(Recorder(), max_features=2).fit(frame, y)
    assert all(type(member.X_) is type(frame) for member in model.estimators_)
    assert model.feature_names_in_.tolist() == list("abcde")
    names = getattr(model.estimators_[0].X_, "column_names", None) or list(model.estimators_[0].X_.columns)
    assert names == ["abcde"[i] for i in model.estimators_features_[0]]
    same = bag(Recorder(), max_features=2).fit(X, y)
    assert all(map(np.array_equal, model.estimators_samples_, same.estimators_samples_))


def test_columns_of_strings_reach_a_pipeline_that_encodes_them():
    X, y = three_classes()
    frame = pd.DataFrame({"kind": y, "size": X[:, 0]})
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]))
    model = bag(make_pipeline(encode, LogisticRegression())).fit(frame, y)
    assert model.score(frame, y) == 1.0


def test_sparse_rows_stay_sparse():
    X, y = three_classes()
    X[X < 0.5] = 0.0
    model = bag(LogisticRegression(), max_features=4).fit(sparse.coo_array(X), y)
    dense = bag(LogisticRegression(), max_features=4).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(sparse.csc_matrix(X)), dense.predict_proba(X), rtol=1e-6)


def test_a_column_drawn_twice_is_repeated():
    X, y = three_classes()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = bag(bootstrap_features=True).fit(frame, y)
    assert any(len(set(columns.tolist())) < 5 for columns in model.estimators_features_)
    same = bag(bootstrap_features=True).fit(X, y)
    assert np.array_equal(model.predict_proba(frame), same.predict_proba(X))


def test_hedgerow_trees_receive_permuted_columns():
    """All columns of the same worth: whichever stands first is split on."""
    X = pd.DataFrame(np.repeat(np.arange(40.0)[:, np.newaxis], 5, axis=1), columns=list("abcde"))
    y = np.arange(40) >= 20
    model = bag(DecisionStump(), n_estimators=30).fit(X, y)
    assert {tuple(sorted(columns.tolist())) for columns in model.estimators_features_} == {(0, 1, 2, 3, 4)}
    assert {member.feature_names_in_[member.feature_] for member in model.estimators_} == set("abcde")
    assert model.predict_proba(X)[[0, -1]].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    by_position = bag(DecisionStump(categorical_features=[4])).fit(X, y)
    by_name = bag(DecisionStump(categorical_features=["e"])).fit(X, y)
    for model in (by_position, by_name):
        assert all(columns.tolist() == [0, 1, 2, 3, 4] for columns in model.estimators_features_)


def test_a_member_that_fails_is_named():
    X, y = three_classes()
    X[3, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"estimator=KNeighborsClassifier\(\) failed as member \d, fitted to .* NaN"
    ):
        bag(KNeighborsClassifier()).fit(X, y)


# --- votes


def member_predictions(model, member, columns, X):
    """Predictions of one member in plain Python: a list for every row."""
    part = X if columns.tolist() == list(range(X.shape[1])) else X[:, columns]
    if isinstance(model, BaggingRegressor):
        return [[value] for value in member.predict(part).tolist()]
    classes = model.classes_.tolist()
    if model.voting == "soft" and hasattr(member, "predict_proba"):
        known = member.classes_.tolist()
        return [
            [row[known.index(label)] if label in known else 0.0 for label in classes]
            for row in member.predict_proba(part).tolist()
        ]
    return [[float(label == named) for label in classes] for named in member.predict(part).tolist()]


def plain_means(model, X, samples=None):
    """Means over the members whose sample does not contain the row, and the number of these members."""
    width = len(model.classes_) if hasattr(model, "classes_") else 1
    sums, counts = [[0.0] * width for _ in X], [0] * len(X)
    for number, member in enumerate(model.estimators_):
        predicted = member_predictions(model, member, model.estimators_features_[number], X)
        in_bag = set() if samples is None else set(samples[number].tolist())
        for row, values in enumerate(predicted):
            if row not in in_bag:
                sums[row] = [a + b for a, b in zip(sums[row], values, strict=True)]
                counts[row] += 1
    means = [[a / n if n else np.nan for a in sums] for sums, n in zip(sums, counts, strict=True)]
    return np.array(means), np.array(counts)


LEARNERS = [None, TREE, KNeighborsClassifier(1), SVC()]


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_votes_equal_those_of_the_oracle(estimator, voting):
    X, y = three_classes(80)
    model = bag(estimator, voting=voting, max_features=4, n_estimators=15, oob_score=True).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(probabilities, plain_means(model, X)[0])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(probabilities, axis=1)])
    means, counts = plain_means(model, X, model.estimators_samples_)
    assert counts.min() > 0
    np.testing.assert_array_equal(model.oob_decision_function_, means)
    np.testing.assert_array_equal(model.oob_votes_, counts)
    assert model.oob_score_ == np.mean(model.classes_[np.argmax(means, axis=1)] == y)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("estimator", [None, KNeighborsRegressor()], ids=lambda e: type(e).__name__)
def test_means_equal_those_of_the_oracle(estimator, bootstrap):
    X, y = numbers()
    share = 1.0 if bootstrap else 0.7
    model = bag_of_numbers(estimator, oob_score=True, bootstrap=bootstrap, max_samples=share, n_estimators=20)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain_means(model, X)[0][:, 0])
    means, counts = plain_means(model, X, model.estimators_samples_)
    np.testing.assert_array_equal(model.oob_prediction_, means[:, 0])
    np.testing.assert_array_equal(model.oob_votes_, counts)
    assert model.oob_score_ == r2_score(y, means[:, 0])


def test_learners_without_probabilities_vote():
    X, y = three_classes()
    soft, hard = bag(LinearSVC()).fit(X, y), bag(LinearSVC(), voting="hard").fit(X, y)
    assert np.array_equal(soft.predict_proba(X), hard.predict_proba(X))
    assert set((soft.predict_proba(X) * 7).round(6).ravel()) <= set(range(8))


# --- samples that lack classes


@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_a_class_missing_from_a_sample_has_probability_zero(estimator):
    X, y = three_classes(60)
    y[y == "oak"] = "ash"
    y[:2] = "oak"  # two rows of sixty
    model = bag(estimator, n_estimators=12, oob_score=True).fit(X, y)
    sizes = [len(member.classes_) for member in model.estimators_]
    assert {2, 3} <= set(sizes)
    np.testing.assert_array_equal(model.predict_proba(X), plain_means(model, X)[0])
    lacking = model.estimators_[sizes.index(2)]
    assert "oak" not in lacking.classes_


@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_a_sample_of_one_class_makes_a_constant_member(estimator):
    X, y = three_classes(9)
    model = bag(estimator, max_samples=2, n_estimators=30).fit(X, y)
    constant = [isinstance(member, ConstantHypothesis) for member in model.estimators_]
    assert 0 < sum(constant) < 30
    for member, rows, alone in zip(model.estimators_, model.estimators_samples_, constant, strict=True):
        assert alone == (len(set(y[rows])) == 1)
        assert not alone or member.predict(X[:3]).tolist() == [y[rows[0]]] * 3
    np.testing.assert_array_equal(model.predict_proba(X), plain_means(model, X)[0])


# --- out-of-bag predictions


def test_rows_without_votes_raise_a_warning():
    X, y = three_classes()
    with pytest.warns(UserWarning, match=r"\d+ of 120 rows are in the bag of every member"):
        model = bag(n_estimators=2, oob_score=True).fit(X, y)
    never = model.oob_votes_ == 0
    assert 0 < never.sum() < 120
    assert np.array_equal(np.isnan(model.oob_decision_function_).all(axis=1), never)
    right = model.classes_[np.argmax(model.oob_decision_function_[~never], axis=1)] == y[~never]
    assert model.oob_score_ == right.mean()
    X, y = numbers()
    with pytest.warns(UserWarning, match="in the bag of every member"):
        model = bag_of_numbers(n_estimators=1, oob_score=True).fit(X, y)
    assert np.array_equal(np.isnan(model.oob_prediction_), model.oob_votes_ == 0)


def test_score_is_nan_without_votes():
    with pytest.warns(UserWarning, match="2 of 2 rows"):
        model = bag(Recorder(), n_estimators=1, oob_score=True, random_state=3).fit([[0.0], [1.0]], [0, 1])
    assert sorted(model.estimators_samples_[0].tolist()) == [0, 1]
    assert np.isnan(model.oob_score_)


def test_oob_score_may_be_a_function():
    X, y = numbers()
    model = bag_of_numbers(n_estimators=30, oob_score=mean_absolute_error).fit(X, y)
    assert model.oob_score_ == mean_absolute_error(y, model.oob_prediction_)
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("oob") and name.endswith("_")]


def test_oob_score_needs_rows_outside_of_samples():
    X, y = three_classes()
    with pytest.raises(ValueError, match="oob_score=True needs rows that members are not trained on"):
        bag(bootstrap=False, oob_score=True).fit(X, y)


def test_out_of_bag_error_is_close_to_test_error():
    X, y = make_classification(3000, 10, n_informative=5, flip_y=0.1, random_state=0)
    model = bag(n_estimators=30, oob_score=True).fit(X[:1000], y[:1000])
    assert (
        abs(model.oob_score_ - model.score(X[1000:], y[1000:])) < 0.03
    )  # three standard errors of 1000 rows


# --- weights and the order of rows


@QUICK
@given(st.permutations(range(20)), st.lists(st.integers(0, 3), min_size=20, max_size=20))
def test_integer_weights_equal_copies_in_any_order(order, weights):
    X, y = load_iris(return_X_y=True)
    X, y, weight = X[45:65], y[45:65], np.array([1, *weights[1:19], 1])  # both classes have weight
    for estimator in (None, KNeighborsClassifier(1)):
        model = bag(estimator, n_estimators=3).fit(X[order], y[order], sample_weight=weight[order])
        copies = bag(estimator, n_estimators=3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert np.array_equal(model.predict_proba(X), copies.predict_proba(X))


def test_rows_are_drawn_by_their_weights():
    X, y = three_classes()
    weight = np.random.default_rng(0).random(120) * (y != "oak")
    model = bag(DecisionStump(), n_estimators=200, oob_score=True).fit(X, y, sample_weight=weight)
    drawn = sum(np.bincount(rows, minlength=120) for rows in model.estimators_samples_)
    assert not drawn[y == "oak"].any()
    assert np.corrcoef(drawn, weight)[0, 1] > 0.98
    assert not model.predict_proba(X)[:, 2].any()
    predicted = model.classes_[np.argmax(model.oob_decision_function_, axis=1)]
    assert model.oob_score_ == accuracy_score(y, predicted, sample_weight=weight)
    assert np.array_equal(model.oob_votes_[y == "oak"], [200] * np.sum(y == "oak"))


def test_weights_are_passed_to_members_without_replacement():
    X, y = three_classes()
    weight = np.where(np.arange(120) < 60, 0.5, 2.0)
    weight[7] = 0.0
    model = bag(Recorder(), bootstrap=False, max_samples=0.5).fit(X, y, sample_weight=weight)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert np.array_equal(member.weight_, weight[rows])
        assert len(rows) == 59
        assert 7 not in rows
    with pytest.raises(
        ValueError, match=r"KNeighborsClassifier\(\) has no sample_weight in its fit; set bootstrap"
    ):
        bag(KNeighborsClassifier(), bootstrap=False).fit(X, y, sample_weight=weight)
