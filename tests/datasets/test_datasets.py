import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_hastie_10_2
from sklearn.linear_model import LogisticRegression

from hedgerow import GradientBoostingClassifier
from hedgerow.datasets import (
    flip_labels,
    load_three_points,
    load_toy,
    make_gaussian,
    make_hastie,
    make_interval,
)


def all_stumps(X):
    """Votes of every stump: each column, each threshold (below all values too) and both polarities."""
    votes = {}
    for column in range(X.shape[1]):
        values = np.unique(X[:, column])
        for threshold in [-math.inf, *((values[1:] + values[:-1]) / 2)]:
            for polarity in (-1, 1):
                votes[column, threshold, polarity] = np.where(X[:, column] > threshold, polarity, -polarity)
    return votes


def best_stumps(votes, y, D):
    """The smallest weighted error, and all stumps that have it; fractions, so that ties are ties."""
    errors = {
        stump: sum(d for d, right in zip(D, h == y, strict=True) if not right) for stump, h in votes.items()
    }
    smallest = min(errors.values())
    return smallest, [stump for stump, error in errors.items() if error == smallest]


def every_course(votes, y, n_rounds):
    """Errors, stumps and final scores of AdaBoost for every choice among tied stumps."""
    courses = [([], [], [Fraction(1, len(y))] * len(y), np.zeros(len(y)))]
    for _ in range(n_rounds):
        longer = []
        for errors, stumps, D, F in courses:
            eps, best = best_stumps(votes, y, D)
            alpha = math.log((1 - eps) / eps) / 2
            for stump in best:
                right = votes[stump] == y
                after = [d / (2 * (1 - eps) if ok else 2 * eps) for d, ok in zip(D, right, strict=True)]
                longer.append(([*errors, eps], [*stumps, stump], after, F + alpha * votes[stump]))
        courses = longer
    return courses


def test_the_toy_gives_the_known_errors_for_every_choice_among_ties():
    X, y = load_toy()
    courses = every_course(all_stumps(X), y, 3)
    assert len(courses) == 6  # the three half-planes in any order
    for errors, _, _, F in courses:
        assert errors == [Fraction(3, 10), Fraction(3, 14), Fraction(3, 22)]
        assert [round(float(eps), 2) for eps in errors] == [0.30, 0.21, 0.14]
        assert [round(math.log((1 - eps) / eps) / 2, 2) for eps in errors] == [0.42, 0.65, 0.92]
        np.testing.assert_array_equal(np.sign(F), y)


def test_the_lowest_column_and_threshold_first_gives_the_order_of_the_drawing():
    X, y = load_toy()
    stumps = min(course[1] for course in every_course(all_stumps(X), y, 3))
    assert [(column, polarity) for column, _, polarity in stumps] == [(0, -1), (0, -1), (1, 1)]
    thresholds = [threshold for _, threshold, _ in stumps]
    assert [(X[:, 0] < thresholds[0]).sum(), (X[:, 0] > thresholds[1]).sum()] == [2, 2]


def test_the_toy_is_five_and_five_points_that_no_two_rounds_classify():
    X, y = load_toy()
    assert X.shape == (10, 2)
    assert X.dtype == np.float64
    assert sorted(y.tolist()) == [-1] * 5 + [1] * 5
    assert all(len(np.unique(column)) == 10 for column in X.T)
    assert all((np.sign(F) != y).any() for _, _, _, F in every_course(all_stumps(X), y, 2))


def test_a_changed_toy_does_not_change_the_next():
    X, y = load_toy()
    X[:], y[:] = 0, 0
    assert load_toy()[0].any()
    assert load_toy()[1].all()


def test_every_threshold_errs_on_one_of_the_three_points():
    X, y = load_three_points()
    np.testing.assert_array_equal(X, [[-1], [0], [1]])
    np.testing.assert_array_equal(y, [-1, 1, -1])
    assert min((h != y).sum() for h in all_stumps(X).values()) == 1


# --- intervals


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_samples", [3, 4, 50])
def test_no_threshold_is_right_on_an_interval_but_the_best_has_an_edge_of_a_sixth(n_samples, seed):
    X, y = make_interval(n_samples, -0.01, 0.02, random_state=seed)
    votes = np.array(list(all_stumps(X).values()))
    D = np.random.default_rng(seed).dirichlet(np.full(n_samples, 0.3))
    assert (votes != y).any(axis=1).all()
    assert ((votes != y) @ D).min() <= 1 / 3 + 1e-12


def test_an_interval_is_uniform_and_labelled_by_its_ends():
    X, y = make_interval(4000, -0.5, 0.25, random_state=0)
    x = X[:, 0]
    assert X.shape == (4000, 1)
    np.testing.assert_array_equal(y, np.where((x >= -0.5) & (x <= 0.25), 1, -1))
    np.testing.assert_allclose(np.histogram(x, 4, (-1, 1))[0], 1000, atol=120)


def test_noise_flips_a_share_of_the_labels_of_an_interval():
    X, y = make_interval(200, noise=0.2, random_state=1)
    truth = np.where(np.abs(X[:, 0]) <= 0.5, 1, -1)
    assert (y != truth).sum() == 40
    X, y = make_interval(3, noise=1.0, random_state=1)
    np.testing.assert_array_equal(y[np.argsort(X[:, 0])], [-1, 1, -1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 2}, "n_samples=2 is not allowed: it must be an integer >= 3"),
        ({"n_samples": 9.0}, "n_samples=9.0 is not allowed"),
        ({"low": -1.0}, "low=-1.0 and high=0.5 are not allowed"),
        ({"low": 0.6}, "-1 < low < high < 1 is required"),
        ({"high": math.nan}, "high=nan is not allowed"),
        ({"noise": 1.1}, "noise=1.1 is not allowed: it must be a number >= 0 and <= 1"),
    ],
)
def test_an_impossible_interval_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        make_interval(**parameters)


# --- simulated


def test_boosted_stumps_beat_logistic_regression_on_gaussian_data():
    X, y = make_gaussian(random_state=0)
    X_test, y_test = make_gaussian(random_state=1)
    assert X.shape == (5000, 30)
    assert set(y.tolist()) == {-1, 1}
    linear = LogisticRegression().fit(X, y).score(X_test, y_test)
    stumps = GradientBoostingClassifier(max_leaf_nodes=2, n_estimators=50, learning_rate=0.5).fit(X, y)
    assert 0.6 < linear < stumps.score(X_test, y_test) - 0.05


def test_gaussian_labels_follow_the_documented_rule():
    X, y = make_gaussian(500, 5, n_informative=3, noise=0, random_state=0)
    score = X[:, 0] + (X[:, 1] ** 2 - 1) / math.sqrt(2) + X[:, 2]
    np.testing.assert_array_equal(y, np.where(score > 0, 1, -1))


def test_hastie_has_the_points_of_scikit_learn():
    X, y = make_hastie(300, random_state=7)
    expected_X, expected_y = make_hastie_10_2(300, random_state=7)
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y, expected_y)


@pytest.mark.parametrize("n_features", [1, 4, 10, 25])
def test_half_of_hastie_is_outside_the_sphere_for_any_number_of_features(n_features):
    X, y = make_hastie(8000, n_features, random_state=0)
    assert X.shape == (8000, n_features)
    assert abs((y == 1).mean() - 0.5) < 0.02
    assert (X[y == 1] ** 2).sum(axis=1).min() > (X[y == -1] ** 2).sum(axis=1).max()


@pytest.mark.parametrize("make", [make_gaussian, make_hastie, make_interval])
def test_a_seed_repeats_the_data_and_another_seed_does_not(make):
    (X, y), (same_X, same_y), (other_X, _) = (make(50, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(X, same_X)
    np.testing.assert_array_equal(y, same_y)
    assert (other_X != X).any()
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_gaussian, {"n_samples": 0}, "n_samples=0 is not allowed: it must be an integer >= 1"),
        (make_gaussian, {"n_features": True}, "n_features=True is not allowed"),
        (make_gaussian, {"n_informative": 31}, "n_informative=31 .* an integer from 1 to 30"),
        (make_gaussian, {"noise": -1}, "noise=-1 is not allowed: it must be a number >= 0"),
        (make_hastie, {"n_features": 0}, "n_features=0 is not allowed"),
    ],
)
def test_impossible_simulated_data_are_refused(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)


# --- label noise


@pytest.mark.parametrize(
    "labels", [[0, 1], [-1, 1], ["a", "bb", "ccc"], [True, False], [0.5, 1.5, 2.5, 3.5]], ids=str
)
def test_flipped_labels_are_another_class_and_the_others_stay(labels):
    y = np.array(labels)[np.random.default_rng(0).integers(0, len(labels), 200)]
    before = y.copy()
    noisy, flipped = flip_labels(y, 0.25, random_state=0)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(np.flatnonzero(noisy != y), flipped)
    assert len(flipped) == 50
    assert noisy.dtype == y.dtype
    assert set(noisy.tolist()) <= set(labels)


def test_the_other_classes_are_equally_likely():
    y = np.repeat([0, 1, 2, 3], 3000)
    noisy, _ = flip_labels(y, 1.0, random_state=0)
    counts = np.array([np.bincount(noisy[y == label], minlength=4) for label in range(4)])
    np.testing.assert_array_equal(np.diag(counts), 0)
    np.testing.assert_allclose(counts[~np.eye(4, dtype=bool)], 1000, atol=120)


def test_flip_labels_of_lists_and_series():
    noisy, flipped = flip_labels(pd.Series(["x", "y", "x"], index=[5, 6, 7]), 0.0)
    np.testing.assert_array_equal(noisy, ["x", "y", "x"])
    assert flipped.size == 0
    noisy, flipped = flip_labels([1, 0, 1, 0], 1.0)
    np.testing.assert_array_equal(noisy, [0, 1, 0, 1])
    np.testing.assert_array_equal(flipped, [0, 1, 2, 3])
    assert flip_labels([1, 1], 0.0)[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("y", "share", "message"),
    [
        ([0, 1], 1.2, "share=1.2 is not allowed: it must be a number >= 0 and <= 1"),
        ([0, 1], "all", "share='all' is not allowed"),
        ([[0], [1]], 0.5, "y must be one-dimensional; got shape .2, 1."),
        ([1, 1, 1], 0.5, "y must have at least two classes; got only 1"),
        ([0.0, math.nan], 0.5, r"y\[1\]=nan is not allowed"),
        (["a", None], 0.5, r"y\[1\]=None is not allowed"),
        (pd.array(["a", pd.NA]), 0.5, r"y\[1\]=<NA> is not allowed"),
    ],
)
def test_labels_that_cannot_be_flipped_are_refused(y, share, message):
    with pytest.raises(ValueError, match=message):
        flip_labels(y, share)


def test_labels_of_mixed_types_are_refused():
    with pytest.raises(TypeError, match="the labels in y cannot be sorted"):
        flip_labels(np.array(["a", 1], dtype=object), 0.5)


def test_simulated_data_need_no_extra():
    """The data of a file need PyArrow, the others only the core."""
    code = "import sys; sys.modules['pyarrow'] = None; import hedgerow.datasets; hedgerow.datasets.load_toy()"
    subprocess.run([sys.executable, "-c", code], check=True)
