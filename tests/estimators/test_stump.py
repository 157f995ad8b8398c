"""DecisionStump: the best split, its attributes and text, and predictions."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier as TreeOfScikitLearn

from hedgerow import DecisionStump

NAN = np.nan


# --- the best split


def least_error(X, y, weight):
    """The least weighted error of one threshold on one column, both ways round, or of none, exactly."""
    signed = [int(w) if label else -int(w) for w, label in zip(weight, y, strict=True)]
    total = sum(map(abs, signed))
    best = total - abs(sum(signed))  # twice the weight that is wrong
    for column in X.T:
        below, last = 0, None
        for row in np.argsort(column, kind="stable"):
            if column[row] != last:
                best = min(best, total - abs(below) - abs(sum(signed) - below))
            below, last = below + signed[row], column[row]
    return Fraction(best, 2 * total)


def error_of(stump, X, y, weight):
    wrong = stump.predict(X) != y
    return Fraction(int(weight[wrong].sum()), int(weight.sum()))


@pytest.mark.parametrize("seed", range(6))
def test_no_threshold_is_better(seed):
    rng = np.random.default_rng(seed)
    n = [3000, 900, 40, 3000, 7, 2000][seed]
    X = rng.normal(size=(n, 3))
    X[:, 1] = rng.integers(0, 30, n)
    y = (X[:, seed % 3] + rng.normal(size=n) * 2 > 0.3).astype(int)
    weight = rng.integers(0, 2**20, n) if seed % 2 else rng.integers(0, 3, n)
    stump = DecisionStump(max_bins=65_535).fit(X, y, sample_weight=weight)
    assert error_of(stump, X, y, weight) == least_error(X, y, weight)


def test_the_error_is_least_for_weights_that_are_no_integers():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(800, 4))
    y = np.where(X[:, 2] + rng.normal(size=800) > 0, "yes", "no")
    weight = rng.exponential(size=800) ** 3
    stump = DecisionStump(max_bins=65_535).fit(X, y, sample_weight=weight)
    wrong = weight[stump.predict(X) != y].sum() / weight.sum()
    scaled = np.round(weight * 1e12).astype(np.int64)
    assert wrong == pytest.approx(float(least_error(X, y == "yes", scaled)), rel=1e-9)


def test_more_bins_find_what_fewer_miss():
    rng = np.random.default_rng(8)
    X = rng.permutation(20_000).astype(float)[:, np.newaxis]
    y = (X[:, 0] >= 12_345).astype(int)
    assert DecisionStump(max_bins=65_535).fit(X, y).score(X, y) == 1.0
    assert DecisionStump(max_bins=65_535).fit(X, y).threshold_ == 12_344.5
    assert 0.99 < DecisionStump().fit(X, y).score(X, y) < 1.0


@pytest.mark.parametrize("cut", [1, 30_000, 65_534])
def test_as_many_values_as_bins(cut):
    X = np.random.default_rng(9).permutation(65_535).astype(float)[:, np.newaxis]
    stump = DecisionStump(max_bins=65_535).fit(X, X[:, 0] >= cut)
    assert stump.threshold_ == cut - 0.5
    assert stump.score(X, X[:, 0] >= cut) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_gini_splits_where_scikit_learn_does(seed):
    rng = np.random.default_rng(20 + seed)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    y = np.digitize(X[:, seed] + rng.normal(size=400), [-0.5, 0.5][: 1 + seed % 2])
    weight = rng.exponential(size=400)
    ours = DecisionStump("gini", max_bins=65_535).fit(X, y, weight)
    theirs = TreeOfScikitLearn(max_depth=1).fit(X, y, weight)
    assert ours.feature_ == theirs.tree_.feature[0]
    assert ours.threshold_ == pytest.approx(theirs.tree_.threshold[0])
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))


def test_ties_take_the_lowest_column_then_the_lowest_threshold():
    # thresholds 1.5 and 3.5 err on one row each, in both columns
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], 2, axis=1)
    stump = DecisionStump().fit(X, [0, 1, 0, 1])
    assert (stump.feature_, stump.threshold_, stump.polarity_) == (0, 1.5, 1)
    X[:, 0] = 5.0
    other = DecisionStump().fit(X, [1, 0, 1, 0])
    assert (other.feature_, other.threshold_, other.polarity_) == (1, 1.5, -1)


def test_threads_and_order_of_rows_do_not_matter():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(40_000, 5)).round(2)
    y = rng.integers(0, 2, 40_000) ^ (X[:, 3] > 0.7)
    weight = rng.exponential(size=40_000)
    order = rng.permutation(40_000)
    stumps = [DecisionStump(n_jobs=n).fit(X, y, weight) for n in (1, 2, 4)]
    stumps.append(DecisionStump().fit(X[order], y[order], weight[order]))
    assert len({(s.feature_, s.threshold_, s.predict_proba(X[:50]).tobytes()) for s in stumps}) == 1


# --- attributes and text


def test_a_numeric_stump():
    X = [[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0]]
    stump = DecisionStump().fit(X, ["low", "low", "high", "high"])
    assert str(stump) == "x0 <= 2.5: low, else high"
    assert (stump.feature_, stump.threshold_, stump.polarity_) == (0, 2.5, -1)
    assert stump.leaf_classes_.tolist() == ["low", "high"]
    assert stump.left_categories_ is None
    other = DecisionStump().fit(X, [0, 0, 1, 1])
    assert (other.polarity_, other.leaf_classes_.tolist()) == (1, [0, 1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_have_their_names(frame):
    X = frame({"size": [1.0, 1.0, 1.0, 1.0], "age": [10.0, 20.0, 30.0, 40.123456789]})
    stump = DecisionStump().fit(X, ["a", "a", "a", "b"])
    assert str(stump) == "age <= 35.0617: a, else b"
    assert stump.feature_ == 1


def test_a_stump_that_splits_off_missing_values():
    X = [[1.0], [2.0], [3.0], [NAN], [NAN]]
    stump = DecisionStump().fit(X, ["full", "full", "full", "empty", "empty"])
    assert str(stump) == "x0 present: full, missing: empty"
    assert stump.threshold_ == np.inf
    assert stump.polarity_ == -1
    assert stump.predict([[NAN], [1e300], [np.inf], [-np.inf]]).tolist() == ["empty"] + ["full"] * 3


def test_missing_values_take_the_side_that_fits():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [NAN], [NAN]])
    for y, side in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        stump = DecisionStump().fit(X, y)
        assert stump.threshold_ == 2.5
        assert stump.predict([[NAN]]).tolist() == [side]
        assert stump.score(X, y) == 1.0


@pytest.mark.parametrize(("copies", "side"), [([3, 1], 0), ([1, 3], 1), ([2, 2], 0)])
def test_missing_values_absent_in_training_go_to_the_heavier_side(copies, side):
    stump = DecisionStump().fit(np.repeat([[1.0], [2.0]], copies, axis=0), np.repeat([0, 1], copies))
    assert stump.predict([[NAN]]).tolist() == [side]


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_a_categorical_stump(kind):
    colours = ["red", "blue", "green", "red", "blue", "green", "white"]
    y = ["hot", "cold", "cold", "hot", "cold", "cold", "hot"]
    if kind == "pandas":
        X = pd.DataFrame({"colour": pd.Categorical(colours)})
    elif kind == "polars":
        X = pl.DataFrame({"colour": pl.Series(colours, dtype=pl.Categorical)})
    else:
        X = np.array(colours, dtype=object)[:, np.newaxis]
    stump = DecisionStump(categorical_features=[0] if kind == "array" else None).fit(X, y)
    assert stump.feature_ == 0
    assert np.isnan(stump.threshold_)
    left = {"hot": {"red", "white"}, "cold": {"blue", "green"}}[stump.leaf_classes_[0]]
    assert set(stump.left_categories_) == left
    name = "x0" if kind == "array" else "colour"
    assert str(stump) == (
        f"{name} in {stump.left_categories_}: {stump.leaf_classes_[0]}, else {stump.leaf_classes_[1]}"
    )
    assert stump.polarity_ == (1 if stump.leaf_classes_[0] == "cold" else -1)
    assert stump.score(X, y) == 1.0


def test_unknown_categories_go_to_the_heavier_side():
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", "b"], categories=["a", "b", "never"])})
    stump = DecisionStump().fit(X, [0, 1, 1])
    rows = pd.DataFrame({"c": pd.Categorical(["never", None, "a"], categories=["a", "b", "never"])})
    assert stump.predict(rows).tolist() == [1, 1, 0]
    assert stump.predict(pd.DataFrame({"c": pd.Categorical(["unknown"])})).tolist() == [1]


def test_missing_categories_are_a_category():
    X, y = pd.DataFrame({"c": pd.Categorical(["a", "b", None, None, "a", "b"])}), [0, 1, 1, 1, 0, 1]
    assert DecisionStump().fit(X, y).score(X, y) == 1.0


def test_more_categories_than_codes():
    rng = np.random.default_rng(11)
    numbers = np.concatenate([np.arange(400), rng.integers(0, 300, 5000)])
    y = rng.integers(0, 2, 400)[numbers]
    X = pd.DataFrame({"c": pd.Categorical([f"c{n}" for n in numbers])})
    stump = DecisionStump().fit(X, y)
    assert stump.score(X, y) > 0.9
    assert set(X["c"][stump.predict(X) == stump.leaf_classes_[0]]) == set(stump.left_categories_)


@pytest.mark.parametrize("X", [[[3.0], [3.0], [3.0]], [[NAN], [NAN], [NAN]]])
def test_nothing_to_split(X):
    stump = DecisionStump().fit(X, ["b", "a", "b"])
    assert str(stump) == "always b"
    assert (stump.feature_, stump.threshold_, stump.polarity_) == (-1, np.inf, 0)
    assert stump.leaf_classes_.tolist() == ["b", "b"]
    assert stump.predict([[1.0], [NAN]]).tolist() == ["b", "b"]
    assert stump.predict_proba([[1.0]]) == pytest.approx(np.array([[1 / 3, 2 / 3]]))


def test_several_classes():
    X = np.arange(9.0)[:, np.newaxis]
    y = np.repeat(["a", "b", "c"], [2, 3, 4])
    stump = DecisionStump().fit(X, y)
    assert str(stump) == "x0 <= 4.5: b, else c"
    assert stump.polarity_ == 0
    assert stump.predict_proba([[0.0], [8.0]]) == pytest.approx(np.array([[0.4, 0.6, 0.0], [0.0, 0.0, 1.0]]))


def test_both_sides_may_vote_alike_under_gini():
    stump = DecisionStump("gini").fit([[1.0], [1.0], [2.0], [2.0], [2.0]], [0, 0, 0, 1, 0])
    assert str(stump) == "x0 <= 1.5: 0, else 0"
    assert stump.polarity_ == 0
    assert DecisionStump("error").fit([[1.0], [1.0], [2.0], [2.0], [2.0]], [0, 0, 0, 1, 0]).feature_ == -1


def test_infinite_values_are_values():
    X = np.array([[-np.inf], [1.0], [2.0], [np.inf]])
    for y, threshold in (([0, 1, 1, 1], -np.inf), ([0, 0, 1, 1], 1.5), ([0, 0, 0, 1], 2.0)):
        stump = DecisionStump().fit(X, y)
        assert stump.threshold_ == threshold
        assert stump.score(X, y) == 1.0
        assert str(stump) == f"x0 <= {threshold:.6g}: 0, else 1"


def test_an_unfitted_stump_prints_its_parameters():
    assert str(DecisionStump(max_bins=9)) == "DecisionStump(max_bins=9)"


# --- predictions


def noisy(n_classes=2):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.1] = NAN
    y = np.digitize(np.nan_to_num(X[:, 1]) + rng.normal(size=300), np.linspace(-1, 1, n_classes - 1))
    return X, y


@pytest.mark.parametrize("criterion", ["error", "gini"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_predictions_agree_with_probabilities(criterion, n_classes):
    X, y = noisy(n_classes)
    labels = np.array(["e", "d", "c", "b", "a"])[y]
    stump = DecisionStump(criterion).fit(X, labels)
    probabilities = stump.predict_proba(X)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(300))
    assert (stump.predict(X) == stump.classes_[np.argmax(probabilities, axis=1)]).all()
    goes_left = np.where(np.isnan(X[:, stump.feature_]), np.nan, X[:, stump.feature_] <= stump.threshold_)
    known = ~np.isnan(goes_left)
    sides = stump.leaf_classes_[np.where(goes_left[known] == 1, 0, 1)]
    assert (stump.predict(X)[known] == sides).all()
    for side in (0, 1):  # shares of the training rows
        here = stump.apply(X) == 1 + side
        counts = [(labels[here] == label).mean() for label in stump.classes_]
        assert probabilities[here][0] == pytest.approx(counts)


def test_a_fitted_stump_can_be_cloned_and_pickled():
    X, y = noisy()
    stump = DecisionStump(max_bins=30).fit(X, y)
    again = pickle.loads(pickle.dumps(stump))  # noqa: S301 - our own
    assert (again.predict_proba(X) == stump.predict_proba(X)).all()
    assert str(again) == str(stump)
    assert not hasattr(clone(stump), "feature_")


def test_a_second_fit_is_a_new_fit():
    X, y = noisy()
    stump = DecisionStump().fit(pd.DataFrame({"c": pd.Categorical(["a", "b"])}), [0, 1])
    assert stump.left_categories_ is not None
    stump.fit(X, y)
    assert stump.left_categories_ is None
    assert np.isfinite(stump.threshold_)
    assert not hasattr(stump, "feature_names_in_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "entropy"}, "criterion='entropy' is not allowed: it must be 'error' or 'gini'"),
        ({"criterion": None}, "criterion=None is not allowed"),
        ({"max_bins": 1}, "max_bins=1 is not allowed: it must be an integer from 2 to 65535"),
        ({"max_bins": 65_536}, "max_bins=65536 is not allowed: it must be an integer from 2 to 65535"),
        ({"max_bins": 10.0}, "max_bins=10.0 is not allowed"),
        ({"max_bins": True}, "max_bins=True is not allowed"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed: it must be a positive integer"),
    ],
)
def test_fit_rejects_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        DecisionStump(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_fit_rejects_one_class_and_zero_weights():
    with pytest.raises(ValueError, match="one class only, 'a'"):
        DecisionStump().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match="zero weights only"):
        DecisionStump().fit([[1.0], [2.0]], [0, 1], sample_weight=[0, 0])
