"""Boosting by three hypotheses: the vote, special cases, weak learners, and the interface."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from hedgerow.boosting.schapire import node_path
from hedgerow.boosting.schapire_votes import VoteOfThree, WeakHypothesis, vote
from hedgerow.estimators.decision_trees import DecisionStump
from hedgerow.estimators.schapire import SchapireBoostClassifier
from hedgerow.members import ConstantHypothesis
from schapire_cases import STUMP, TREE, boosted, four_classes, moons


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts the sign of the first column, or its opposite."""

    def __init__(self, *, contrary=False):
        self.contrary = contrary

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return ((np.asarray(X)[:, 0] > 0) != self.contrary).astype(int)


def signs(n_rows=400, noise=0.2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 2))
    return X, (X[:, 0] > 0).astype(int) ^ (random.random(n_rows) < noise)


# --- the vote


def test_the_vote_is_the_majority_and_the_third_decides_when_all_differ():
    first, second, third = np.meshgrid([0, 1, 2], [0, 1, 2], [0, 1, 2])
    for a, b, c in zip(first.ravel(), second.ravel(), third.ravel(), strict=True):
        decided = vote([np.array([a]), np.array([b]), np.array([c])])[0]
        counts = np.bincount([a, b, c], minlength=3)
        assert decided == (np.argmax(counts) if counts.max() > 1 else c)


class ColumnClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the label in a column of X."""

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        return np.asarray(X)[:, self.column]


def vote_on(*columns):
    classes, rows = np.arange(4), np.arange(3)
    members = tuple(WeakHypothesis(rows, ColumnClassifier(column), classes) for column in columns)
    return VoteOfThree(rows, members, (rows, rows, rows), np.zeros(3), 0.0, 0.0, "")


def test_shares_of_the_vote_never_contradict_it():
    X = np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(-1, 3)
    h = vote_on(0, 1, 2)
    fractions = h.vote_fractions(X, 4)
    np.testing.assert_allclose(fractions.sum(axis=1), 1.0)
    assert np.array_equal(np.argmax(fractions, axis=1), h.predict(X))
    assert (np.sort(fractions, axis=1)[:, -2] < fractions.max(axis=1)).all()  # no ties
    np.testing.assert_allclose(h.vote_fractions(np.array([[3, 3, 3]]), 4), [[0, 0, 0, 1]])
    np.testing.assert_allclose(h.vote_fractions(np.array([[1, 3, 1]]), 4), [[0, 2 / 3, 0, 1 / 3]])
    np.testing.assert_allclose(h.vote_fractions(np.array([[0, 1, 3]]), 4), [[1 / 4, 1 / 4, 0, 1 / 2]])
    np.testing.assert_allclose(vote_on(1).vote_fractions(np.array([[0, 2, 3]]), 4), [[0, 0, 1, 0]])


@pytest.mark.parametrize(("make", "depth"), [(moons, 2), (four_classes, 1), (four_classes, 2)])
@pytest.mark.parametrize("estimator", [STUMP, GaussianNB()], ids=lambda e: type(e).__name__)
def test_the_most_probable_class_is_the_predicted_one(estimator, make, depth):
    X, y = make()
    model = boosted(estimator, depth=depth).fit(X, y)
    assert len(model.estimators_) >= 3**depth - 4
    probabilities = model.predict_proba(X)
    assert np.array_equal(model.classes_[np.argmax(probabilities, axis=1)], model.predict(X))
    assert (np.sort(probabilities, axis=1)[:, -2] < probabilities.max(axis=1)).all()


# --- special cases


def test_a_first_hypothesis_without_mistakes_is_the_classifier():
    X, _ = signs()
    y = (X[:, 0] > 0).astype(int)
    model = boosted(Fixed()).fit(X, y)
    assert model.stop_reason_ == (
        "h1 alone, learned from all 400 rows: h1 made no mistake on the 267 rows outside S1, so that S2 has "
        "no wrong half"
    )
    assert [len(sample) for sample in model.samples_] == [400, 0, 0]
    assert model.n_estimators_ == 1
    assert np.array_equal(model.predict(X), y)
    assert np.array_equal(model.predict_proba(X), np.eye(2)[y])
    np.testing.assert_array_equal(model.errors_, [0.0, np.nan, np.nan])
    assert model.training_error_ == model.training_error_bound_ == 0.0


def test_too_few_mistakes_leave_the_first_hypothesis_alone():
    X, y = signs(noise=0.02)
    model = boosted(Fixed()).fit(X, y)
    n_wrong = int(model.stop_reason_.split("only ")[1].split()[0])
    assert 0 < n_wrong < 10
    assert f"only {n_wrong} of the 267 rows outside S1 wrongly, and S2 requires 10" in model.stop_reason_
    assert model.training_error_ == model.errors_[0] == np.mean(Fixed().predict(X) != y) > 0


def test_too_few_correct_predictions_leave_the_first_hypothesis_alone():
    X, y = signs(noise=0.02)
    model = boosted(Fixed(contrary=True)).fit(X, y)
    assert "rows outside S1 correctly, and S2 requires 10" in model.stop_reason_
    assert model.n_estimators_ == 1


def test_a_given_share_is_tried_once():
    X, y = signs(noise=0.02)
    model = boosted(Fixed(), first_share=0.9).fit(X, y)
    assert "of the 40 rows outside S1" in model.stop_reason_
    assert len(model.samples_[0]) == 400


def test_without_disagreement_the_third_hypothesis_is_the_first():
    X, y = signs()
    model = boosted(Fixed()).fit(X, y)
    assert model.stop_reason_.endswith("; h3 is h1, because h1 and h2 agree on all rows outside S1 and S2")
    assert len(model.samples_[2]) == 0
    assert model.n_estimators_ == 2
    assert model.hypothesis_.members[2] is model.hypothesis_.members[0]
    assert np.array_equal(model.predict(X), Fixed().predict(X))
    assert np.isnan(model.errors_[2])
    assert "h3 is h1" in str(model.hypothesis_)


def test_a_sample_of_one_class_has_a_constant_hypothesis():
    # Where h1 and h2 dispute, the label is always 1; this learner cannot fit that.
    class Disputes(Fixed):
        def fit(self, X, y):
            if len(np.unique(y)) < 2:
                raise ValueError("one class only")
            self.second_ = len(X) < 200  # S2 is the smaller one
            return super().fit(X, y)

        def predict(self, X):
            return np.where(X[:, 1] > 1, self.second_, super().predict(X)).astype(int)

    X, y = signs()
    y[X[:, 1] > 1] = 1
    model = boosted(Disputes()).fit(X, y)
    assert "h3 is constant, because its sample has one class only" in model.stop_reason_
    constant = model.estimators_[2]
    assert isinstance(constant, ConstantHypothesis)
    assert constant.classes_.tolist() == [1]
    assert np.array_equal(constant.predict(X[:3]), [1, 1, 1])
    assert repr(constant) == "ConstantHypothesis(1)"
    assert np.array_equal(model.predict(X)[X[:, 1] > 1], y[X[:, 1] > 1])


def test_a_vote_within_a_vote_of_one_class_is_a_constant_too():
    X, y = signs(2000, noise=0.3)
    y[:1990] = 0
    y[1990:] = 1
    model = boosted(LogisticRegression(), depth=2).fit(X, y)  # logistic regression refuses one class
    assert model.score(X, y) >= 0.99


@pytest.mark.parametrize("n_rows", [2, 3, 19, 28, 29, 40])
@pytest.mark.parametrize("first_share", [None, 0.01, 0.99])
def test_tiny_tables_are_fitted(n_rows, first_share):
    X, y = np.arange(n_rows, dtype=float)[:, None], np.arange(n_rows) % 2
    for depth in (1, 3):
        model = boosted(depth=depth, first_share=first_share).fit(X, y)
        # S2 requires ten wrong and ten right predictions outside S1
        if n_rows < 20 or (n_rows == 28 and first_share is None):
            assert model.stop_reason_.startswith(f"h1 alone, learned from all {n_rows} rows: ")
            assert np.array_equal(model.predict(X), STUMP.fit(X, y).predict(X))
            if first_share is None:
                assert model.stop_reason_.endswith(f"{n_rows} rows are too few for three samples")
        assert model.predict_proba(X).shape == (n_rows, 2)


# --- the weak learner


def test_the_default_learner_is_our_stump_with_what_it_can_read():
    X, y = moons()
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": pd.Categorical(np.where(y, "red", "blue"))})
    frame.loc[random.random(len(y)) < 0.3, "c"] = None
    frame.loc[random.random(len(y)) < 0.1, "a"] = np.nan
    model = SchapireBoostClassifier(random_state=0).fit(frame, y)
    explicit = SchapireBoostClassifier(DecisionStump(), random_state=0).fit(frame, y)
    assert all(isinstance(member, DecisionStump) for member in model.estimators_)
    assert np.array_equal(model.predict(frame), explicit.predict(frame))
    assert model.score(frame, y) > DecisionStump().fit(frame, y).score(frame, y)
    assert "c in " in str(model.hypothesis_)


def test_the_model_is_a_function_of_the_seed():
    X, y = moons()
    learner = ExtraTreeClassifier(max_depth=2)
    one, same, other = (boosted(learner, random_state=s).fit(X, y) for s in (3, 3, 4))
    np.random.seed(1)  # noqa: NPY002 - the state that must not matter
    again = boosted(learner, random_state=3).fit(X, y)
    for model in (same, again):
        assert all(np.array_equal(a, b) for a, b in zip(one.samples_, model.samples_, strict=True))
        assert np.array_equal(one.predict_proba(X), model.predict_proba(X))
    assert not np.array_equal(one.samples_[0], other.samples_[0])
    drawn = [boosted(learner, random_state=np.random.RandomState(5)).fit(X, y) for _ in range(2)]
    assert np.array_equal(drawn[0].predict(X), drawn[1].predict(X))


def test_members_have_different_seeds_and_the_estimator_is_not_changed():
    X, y = moons()
    learner = make_pipeline(StandardScaler(), ExtraTreeClassifier(max_depth=2))
    model = boosted(learner, random_state=10).fit(X, y)
    assert [member[-1].random_state for member in model.estimators_] == [11, 12, 13]
    assert learner[-1].random_state is None
    assert not hasattr(learner[-1], "tree_")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_error_of_a_learner_names_its_hypothesis(number):
    class Breaks(DecisionTreeClassifier):
        def fit(self, X, y):
            if self.random_state == number:
                raise RuntimeError("out of luck")
            return super().fit(X, y)

    X, y = moons()
    message = rf"estimator=Breaks\(max_depth=1\) failed as h{number}, learning from \d+ rows: out of luck"
    with pytest.raises(ValueError, match=message) as caught:
        boosted(Breaks(max_depth=1)).fit(X, y)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_nodes_of_the_recursion_have_readable_names():
    assert [node_path(node) for node in (0, 1, 3, 4, 9, 12, 13)] == [
        "the vote", "h1", "h3", "h1.h1", "h2.h3", "h3.h3", "h1.h1.h1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.full(1000, 7), r"predicted 7, .* classes \[0, 1\]"),
        (np.zeros(3, int), "returned 3 predictions for 1000 rows"),
    ],
)
def test_fit_rejects_predictions_that_are_not_labels(output, message):
    class Invalid(DecisionTreeClassifier):
        def predict(self, X):
            return output

    with pytest.raises(ValueError, match=rf"as h1, predicting 1000 rows: .* {message}"):
        boosted(Invalid()).fit(*moons())


def test_a_failed_fit_does_not_change_the_model():
    X, y = moons()
    model = boosted().fit(X, y)
    before = model.predict(X)
    model.set_params(estimator=DecisionTreeClassifier(max_depth=-5))
    with pytest.raises(ValueError, match="failed as h1"):
        model.fit(X, y)
    assert np.array_equal(model.predict(X), before)


def test_a_column_of_predictions_is_flattened():
    class Column(DecisionTreeClassifier):
        def predict(self, X):
            return super().predict(X)[:, None]

    X, y = moons()
    assert np.array_equal(boosted(Column(max_depth=1)).fit(X, y).predict(X), boosted().fit(X, y).predict(X))


def test_the_learner_receives_x_unchanged():
    X, y = moons()
    X[np.abs(X) < 0.2] = 0.0
    wanted = boosted(TREE).fit(X, y).predict(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    tables = [frame, pl.DataFrame(X, schema=["a", "b"]), pa.table({"a": X[:, 0], "b": X[:, 1]})]
    for table in (*tables, X.tolist(), sparse.csr_matrix(X), sparse.coo_array(X)):
        model = boosted(TREE).fit(table, y)
        assert np.array_equal(model.predict(table), wanted)
    model = boosted(TREE).fit(frame, y)
    assert model.feature_names_in_.tolist() == model.estimators_[2].feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])
    assert not hasattr(model.fit(X, y), "feature_names_in_")


# --- the interface


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("estimator", DecisionTreeClassifier, "a classifier (an object, not its class) or None"),
        ("estimator", StandardScaler(), "a classifier (an object, not its class) or None"),
        ("estimator", "stump", "a classifier (an object, not its class) or None"),
        ("depth", 0, "an integer from 1 to 10"),
        ("depth", 1.5, "an integer from 1 to 10"),
        ("first_share", 0, "a number > 0 and < 1 or None"),
        ("first_share", 1.0, "a number > 0 and < 1 or None"),
        ("random_state", -1, "an integer >= 0, a numpy.random.RandomState or None"),
        ("verbose", -1, "an integer >= 0 or True or False"),
    ],
)
def test_parameters_are_checked_before_the_work(name, value, allowed):
    model = boosted(**{name: value}) if name != "estimator" else boosted(value)
    with pytest.raises(ValueError) as caught:
        model.fit([["not read"]], [0])
    assert str(caught.value) == f"{name}={value!r} is not allowed: it must be {allowed}"


def test_the_hypothesis_is_printed_as_a_tree():
    X, y = moons()
    lines = str(boosted(depth=2, first_share=0.5).fit(X, y).hypothesis_).splitlines()
    assert lines[0].startswith("from 1000 rows: vote of three, error 0.")
    assert [line.split()[0] for line in lines[1:5]] == ["h1", "h1", "h2", "h3"]
    assert sum("DecisionTreeClassifier(max_depth=1" in line for line in lines) >= 7


def test_trials_are_printed(capsys):
    X, y = moons()
    boosted(depth=2).fit(X, y)
    assert capsys.readouterr().err == ""
    boosted(depth=2, verbose=1, first_share=0.5).fit(X, y)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("S1 of 500, S2 of ")
    assert line.endswith(" of 1000 are used")
    boosted(depth=2, verbose=2, first_share=0.5).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert line in lines
    assert [one for one in lines if one.startswith("  S1 of 250, ")]


def test_it_works_with_tools_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(boosted(GaussianNB()), {"depth": [1, 2]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    model = boosted(TREE).fit(*moons())
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - made here
    assert np.array_equal(copied.predict(moons()[0]), model.predict(moons()[0]))
    assert boosted(boosted(STUMP)).fit(*moons(3000)).score(*moons(3000, 1)) > 0.8  # a vote as weak learner
    assert SchapireBoostClassifier(LogisticRegression()).__sklearn_tags__().input_tags.sparse
