"""Bias and variance: identities, known cases, and brute force."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as TheirTree

import hedgerow as hr
from bias_variance_cases import (
    CLASSES_TEST,
    NUMBERS_TEST,
    draw_classes,
    draw_noise,
    draw_numbers,
    draw_two,
    some_points,
)
from hedgerow.theory import bias_variance
from hedgerow.theory.decomposition import class_truth, one_hot, squared, zero_one

LOSSES = ("zero_one", "kohavi_wolpert", "brier")


def assert_sums(result):
    """The terms add up, on the whole and at every point."""
    np.testing.assert_allclose(
        result.net_noise + result.bias + result.net_variance, result.error, rtol=1e-12, atol=1e-14
    )
    points = result.per_point
    parts = [points.get("net_noise", points["noise"]), points["bias"]]
    np.testing.assert_allclose(
        sum(parts) + points.get("net_variance", points["variance"]), points["error"], rtol=1e-12, atol=1e-13
    )
    total = 0.0
    for sign, term, _ in result.sum_of_terms:
        total += getattr(result, term) if sign == "+" else -getattr(result, term)
    assert total == pytest.approx(result.error, rel=1e-12)


# --- identities


@pytest.mark.parametrize("noise", [None, np.linspace(0, 2, 50)])
def test_squared_error_is_noise_and_bias_and_variance(noise):
    result = bias_variance(
        KNeighborsRegressor(3), draw_numbers, test=NUMBERS_TEST, noise=noise, random_state=0
    )
    assert_sums(result)
    assert result.noise == pytest.approx(0.0 if noise is None else np.mean(noise))
    assert result.noise_known == (noise is not None)
    assert result.variance > 10 * result.standard_errors["variance"] > 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("noise", [None, 0.1])
def test_losses_of_classes_are_the_sums_of_their_terms(loss, noise):
    options = {"test": CLASSES_TEST, "n_repeats": 8, "random_state": 0}
    result = bias_variance(GaussianNB(), draw_classes, loss=loss, noise=noise, **options)
    assert_sums(result)
    assert result.classes.tolist() == [0, 1, 2]


def test_the_error_is_that_of_the_fitted_clones():
    X, y = CLASSES_TEST
    seen = []

    def sampler(seed):
        seen.append(seed)
        return draw_classes(seed)

    options = {"test": CLASSES_TEST, "n_repeats": 5, "random_state": 3, "n_jobs": 1}
    result = bias_variance(GaussianNB(), sampler, **options)
    errors = [np.mean(GaussianNB().fit(*draw_classes(seed)).predict(X) != y) for seed in seen[1:]]
    assert len(errors) == 5
    assert result.error == pytest.approx(np.mean(errors))
    assert (
        result.error
        == bias_variance(GaussianNB(), draw_classes, loss="kohavi_wolpert", **options).error
        == pytest.approx(result.error)
    )
    brier = bias_variance(GaussianNB(), draw_classes, loss="brier", **options)
    scores = [
        np.mean(np.sum((GaussianNB().fit(*draw_classes(seed)).predict_proba(X) - np.eye(3)[y]) ** 2, axis=1))
        for seed in seen[1:]
    ]
    assert brier.error == pytest.approx(np.mean(scores) / 2)
    assert brier.main_prediction.shape == (50, 3)


# --- brute force


@st.composite
def votes_and_truth(draw):
    n_classes = draw(st.integers(2, 4))
    n_repeats = draw(st.integers(2, 7))
    n_points = draw(st.integers(1, 5))
    a_class = st.integers(0, n_classes - 1)
    votes = draw(
        st.lists(
            st.lists(a_class, min_size=n_points, max_size=n_points), min_size=n_repeats, max_size=n_repeats
        )
    )
    labels = draw(st.lists(a_class, min_size=n_points, max_size=n_points))
    noise = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=n_points, max_size=n_points))
    return n_classes, np.array(votes), np.array(labels), np.array(noise)


def by_hand(n_classes, votes, label, noise):
    """Domingos's terms at one point, from his definitions: expectations over all pairs of vote and label."""
    weight = {t: 1 - noise if t == label else noise / (n_classes - 1) for t in range(n_classes)}
    pairs = list(itertools.product(votes, weight))
    error = sum(weight[t] / len(votes) for vote, t in pairs if vote != t)
    main = min(range(n_classes), key=lambda k: (-votes.count(k), k))
    bias, variance = float(main != label), sum(vote != main for vote in votes) / len(votes)
    right = votes.count(label) / len(votes)
    # P(y = t | y != label, t != label): over the pairs that are neither.
    others = [(vote, t) for vote, t in pairs if label not in (vote, t)]
    agree = sum(weight[t] for vote, t in others if vote == t)
    whole = sum(weight[t] for _, t in others)
    c1 = right - (1 - right) * (agree / whole if whole else 0.0)
    leavers = [vote for vote in votes if vote != main]
    c2 = 1.0 if main == label else -leavers.count(label) / len(leavers) if leavers else 0.0
    return {"error": error, "noise": c1 * noise, "bias": bias, "variance": variance, "net": c2 * variance}


@settings(max_examples=40, deadline=None)
@given(votes_and_truth())
def test_zero_one_terms_are_those_of_domingos(case):
    n_classes, votes, labels, noise = case
    found = zero_one(np.stack([one_hot(v, n_classes) for v in votes]), labels, noise).points
    for point, label in enumerate(labels.tolist()):
        hand = by_hand(n_classes, votes[:, point].tolist(), label, noise[point])
        assert hand["error"] == pytest.approx(hand["noise"] + hand["bias"] + hand["net"])
        assert found["error"][point] == pytest.approx(hand["error"])
        assert found["net_noise"][point] == pytest.approx(hand["noise"])
        assert found["bias"][point] == hand["bias"]
        assert found["variance"][point] == pytest.approx(hand["variance"])
        assert found["net_variance"][point] == pytest.approx(hand["net"])
    if n_classes == 2:
        parts = found["unbiased_variance"] + found["biased_variance"]
        np.testing.assert_allclose(parts, found["variance"], atol=1e-15)


@settings(max_examples=20, deadline=None)
@given(votes_and_truth())
def test_kohavi_wolpert_decomposes_the_same_error(case):
    n_classes, votes, labels, noise = case
    votes_of_classes, truth = (
        np.stack([one_hot(v, n_classes) for v in votes]),
        class_truth(labels, noise, n_classes),
    )
    found = squared(votes_of_classes, truth, 0.5 * (1 - (truth**2).sum(axis=0)), 0.5).points
    np.testing.assert_allclose(
        found["error"], zero_one(votes_of_classes, labels, noise).points["error"], atol=1e-12
    )
    n, shares = len(votes), votes_of_classes.mean(axis=0)
    variance = 0.5 * (1 - (shares**2).sum(axis=0)) * n / (n - 1)
    np.testing.assert_allclose(found["variance"], variance, atol=1e-12)
    bias = 0.5 * ((truth - shares) ** 2).sum(axis=0) - variance / n
    np.testing.assert_allclose(found["bias"], bias, atol=1e-12)


# --- known cases


def test_a_constant_has_no_variance():
    result = bias_variance(
        DummyRegressor(strategy="constant", constant=1e6),
        draw_numbers,
        test=NUMBERS_TEST,
        noise=1.0,
        n_repeats=10,
    )
    assert result.variance == 0.0
    assert result.bias == pytest.approx(np.mean((1e6 - NUMBERS_TEST[1]) ** 2))
    labels = bias_variance(
        DummyClassifier(strategy="constant", constant=1), draw_classes, test=CLASSES_TEST, n_repeats=10
    )
    assert labels.variance == 0.0
    assert labels.error == labels.bias == np.mean(CLASSES_TEST[1] != 1)


def test_the_mean_of_normal_data_has_variance_sigma_squared_over_n():
    options = {"test": (some_points(), np.zeros(50)), "noise": 1.0, "random_state": 1, "n_repeats": 400}
    result = bias_variance(DummyRegressor(), draw_noise, **options)
    assert abs(result.variance - 1 / 60) < 4 * result.standard_errors["variance"]
    assert abs(result.bias) < 4 * result.standard_errors["bias"]
    # The variance of a sample variance of normal numbers is 2 sigma^4 / (R - 1).
    assert result.standard_errors["variance"] == pytest.approx(math.sqrt(2 / 399) / 60, rel=0.3)
    assert result.standard_errors["error"] == pytest.approx(math.sqrt(2 / 400) / 60, rel=0.3)


def test_the_nearest_neighbour_has_the_variance_of_the_noise():
    options = {"test": (some_points(), np.zeros(50)), "noise": 1.0, "random_state": 0, "n_repeats": 60}
    result = bias_variance(KNeighborsRegressor(1), draw_noise, **options)
    for value, term in ((1.0, "variance"), (0.0, "bias"), (2.0, "error")):
        assert abs(getattr(result, term) - value) < 4 * result.standard_errors[term], term

    def coin(seed):
        X, y = draw_noise(seed)
        return X, np.where(y > 0, "heads", "tails")

    test = (some_points(), np.repeat("heads", 50))
    result = bias_variance(KNeighborsClassifier(1), coin, test=test, noise=0.5, random_state=0, n_repeats=60)
    assert result.error == pytest.approx(0.5)  # of any prediction
    assert 0.4 < result.variance < 0.5


def test_known_noise_is_separated_from_bias():
    X, f = NUMBERS_TEST
    noisy = f + np.random.default_rng(0).normal(size=len(f))
    known = bias_variance(LinearRegression(), draw_numbers, test=(X, f), noise=1.0, random_state=0)
    unknown = bias_variance(LinearRegression(), draw_numbers, test=(X, noisy), random_state=0)
    assert known.bias < 0.01
    assert unknown.bias > 0.5
    assert unknown.variance == known.variance
    assert "bias² and noise" in str(unknown)
    assert "bias² and noise" not in str(known)


def test_bootstrap_standard_errors_are_the_spread_of_other_runs():
    runs = [
        bias_variance(TheirTree(), draw_two, test=draw_two(10**6), n_repeats=20, random_state=s)
        for s in range(8)
    ]
    for term in ("error", "bias", "variance", "net_variance"):
        spread = np.std([getattr(run, term) for run in runs], ddof=1)
        reported = np.mean([run.standard_errors[term] for run in runs])
        assert 0.5 < reported / spread < 2, term


def test_results_of_one_seed_are_compared_on_the_same_training_sets():
    options = {"test": NUMBERS_TEST, "noise": 1.0, "n_repeats": 30}
    one, two, other = (
        bias_variance(KNeighborsRegressor(k), draw_numbers, random_state=seed, **options)
        for k, seed in ((5, 0), (6, 0), (6, 1))
    )
    paired, apart = one.difference(two, "variance"), one.difference(other, "variance")
    assert paired[0] == one.variance - two.variance
    assert 0 < paired[1] < apart[1]
    assert one.difference(one) == (0.0, 0.0)
    with pytest.raises(ValueError, match="term='margin' is not allowed: it must be one of 'error', 'noise'"):
        one.difference(two, "margin")
    classes = bias_variance(GaussianNB(), draw_classes, test=CLASSES_TEST, n_repeats=3)
    with pytest.raises(ValueError, match="other must have the loss 'squared'; got 'zero_one'"):
        one.difference(classes)
    with pytest.raises(TypeError, match="other must be a BiasVariance; got float"):
        one.difference(0.5)


# --- bagging and boosting


def test_bagging_lowers_the_variance_of_a_deep_tree():
    tree = hr.DecisionTreeClassifier(max_depth=None)
    options = {"test": draw_two(10**6, 500), "random_state": 0, "n_repeats": 20}
    alone = bias_variance(tree, draw_two, **options)
    bagged = bias_variance(hr.BaggingClassifier(tree, n_estimators=15), draw_two, **options)
    difference, error = bagged.difference(alone, "variance")
    assert difference < -4 * error
    difference, error = bagged.difference(alone, "bias")
    assert abs(difference) < 3 * error


def test_boosting_lowers_the_bias_of_a_stump():
    options = {"test": draw_two(10**6, 300), "random_state": 0, "n_repeats": 12}
    alone = bias_variance(hr.DecisionStump(), draw_two, **options)
    boosted = bias_variance(hr.AdaBoostClassifier(n_estimators=50), draw_two, **options)
    difference, error = boosted.difference(alone, "bias")
    assert difference < -4 * error


def test_bagging_and_boosting_of_regression_trees():
    def steep(seed):
        X, y = draw_numbers(seed)
        return X, y + 4 * X[:, 0]

    test = (NUMBERS_TEST[0], 5 * NUMBERS_TEST[1])
    options = {"test": test, "noise": 1.0, "random_state": 0, "n_repeats": 14}
    deep, stump = hr.DecisionTreeRegressor(max_depth=None), hr.DecisionTreeRegressor(max_depth=1)
    boosting = hr.GradientBoostingRegressor(max_leaf_nodes=2, min_samples_leaf=5, n_estimators=30)
    tree, bagged, weak, boosted = (
        bias_variance(one, steep, **options)
        for one in (deep, hr.BaggingRegressor(deep, n_estimators=15), stump, boosting)
    )
    difference, error = bagged.difference(tree, "variance")
    assert difference < -4 * error
    difference, error = boosted.difference(weak, "bias")
    assert difference < -4 * error


# --- repeats


@pytest.mark.parametrize("estimator", [TheirTree(max_features=1), hr.BaggingClassifier(n_estimators=3)])
def test_the_result_does_not_depend_on_n_jobs(estimator):
    options = {"test": CLASSES_TEST, "n_repeats": 6, "random_state": 5}
    with parallel_config("threading"):  # processes take seconds to start
        one, two = (bias_variance(estimator, draw_classes, n_jobs=jobs, **options) for jobs in (1, 2))
    for term, values in one.per_point.items():
        np.testing.assert_array_equal(values, two.per_point[term])
    assert one.standard_errors == two.standard_errors
    assert repr(one) == repr(two)


def test_clones_get_seeds_of_their_own_and_the_estimator_is_not_changed():
    def always_the_same(_seed):
        return draw_classes(0)

    tree = TheirTree(max_features=1, random_state=0)
    result = bias_variance(tree, always_the_same, test=CLASSES_TEST, n_repeats=10, random_state=0)
    assert result.variance > 0
    assert tree.random_state == 0
    assert not hasattr(tree, "tree_")
    assert bias_variance(GaussianNB(), always_the_same, test=CLASSES_TEST).variance == 0


def test_more_repeats_add_training_sets():
    seen = []

    def sampler(seed):
        seen.append(seed)
        return draw_numbers(seed)

    for n_repeats in (3, 5):
        bias_variance(LinearRegression(), sampler, test=NUMBERS_TEST, n_repeats=n_repeats, random_state=0)
    few, many = seen[1:4], seen[5:]  # the first of each call is drawn once more, to be checked
    assert many[:3] == few
    assert len(set(many)) == 5
    assert seen[0] == seen[1] == seen[4]


def test_a_training_set_of_one_class_gives_a_constant():
    def sampler(seed):
        X, y = draw_classes(seed, 20)
        return (X, np.zeros(20, np.int64)) if seed % 2 else (X, y)

    for loss in LOSSES:
        result = bias_variance(
            hr.DecisionTreeClassifier(), sampler, test=CLASSES_TEST, loss=loss, n_repeats=8, random_state=0
        )
        assert_sums(result)
        assert result.variance > 0


def test_data_frames_with_labels_of_text():
    def sampler(seed):
        X, y = draw_classes(seed)
        return pd.DataFrame(X, columns=["a", "b"]), pd.Series(np.array(["low", "mid", "top"])[y])

    X, y = CLASSES_TEST
    test = (pd.DataFrame(X, columns=["a", "b"]), pd.Series(np.array(["low", "mid", "top"])[y]))
    learner = make_pipeline(StandardScaler(), LinearSVC())
    result = bias_variance(learner, sampler, test=test, n_repeats=4, random_state=0)
    assert set(result.main_prediction) <= {"low", "mid", "top"}
    assert np.mean(result.main_prediction != np.asarray(test[1])) == result.bias
    assert_sums(result)


# --- progress and text


def test_progress_is_a_line_per_repeat_or_a_bar_on_terminals(capsys):
    options = {"test": NUMBERS_TEST, "n_repeats": 3}
    bias_variance(LinearRegression(), draw_numbers, verbose=2, **options)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]
    bias_variance(LinearRegression(), draw_numbers, verbose=1, **options)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("bias and variance  1/3")
    assert lines[-1].startswith("bias and variance  3/3")


def test_a_result_prints_as_a_sum():
    result = bias_variance(
        GaussianNB(), draw_classes, test=CLASSES_TEST, noise=0.1, n_repeats=10, random_state=0
    )
    head, *lines = str(result).splitlines()
    assert head == "Bias and variance of GaussianNB, zero-one loss, 10 repeats, 50 test points"
    terms = [line.split("  ")[1].strip() for line in lines]
    assert terms == ["error", "= noise", "+ bias", "+ unbiased variance", "− biased variance"]
    assert repr(result).startswith("BiasVariance(GaussianNB, 'zero_one', error=0.")
