"""AdaBoost and its theory: the toy data, discrete AdaBoost and M1, thresholds of intervals, memorising."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from adaboost_cases import breast, problem, signs, staged_errors, two
from hedgerow import AdaBoostClassifier, DecisionStump, DecisionTreeClassifier
from hedgerow.datasets import load_three_points, load_toy, make_hastie, make_interval

EXACT = DecisionStump(max_bins=65535)
PROBLEMS = {
    "toy": load_toy,
    "interval": lambda: make_interval(80, noise=0.1, random_state=1),
    "noise": two,
    "hastie": lambda: make_hastie(300, random_state=0),
    "breast": breast,
}

# --- the ten points


def test_the_toy_is_solved_in_three_rounds_with_the_numbers_of_the_book():
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert model.estimator_errors_.round(2).tolist() == [0.30, 0.21, 0.14]
    assert model.estimator_weights_.round(2).tolist() == [0.42, 0.65, 0.92]
    np.testing.assert_allclose(model.estimator_errors_, [3 / 10, 3 / 14, 3 / 22], rtol=1e-12)
    assert model.history_["train_error"] == [0.3, 0.3, 0.0]
    assert np.array_equal(model.predict(X), y)
    assert [stump.feature_ for stump in model.estimators_] == [0, 0, 1]
    np.testing.assert_allclose([stump.threshold_ for stump in model.estimators_], [0.21, 0.76, 0.60])


def test_no_round_of_the_toy_could_do_better():
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    weights = np.full(10, 0.1)
    for stump, error, alpha in zip(
        model.estimators_, model.estimator_errors_, model.estimator_weights_, strict=True
    ):
        best = min(np.sum(weights[h != y]) for h in half_planes(X))
        assert error == pytest.approx(best, rel=1e-12)
        weights *= np.exp(-alpha * y * stump.predict(X))
        weights /= weights.sum()
    np.testing.assert_allclose(model.sample_weights_, weights, rtol=1e-12)


def half_planes(X):
    """Every way in which one threshold on one column can label the rows, constants included."""
    for column in X.T:
        cuts = np.concatenate([[-np.inf], np.sort(column)])
        for cut, side in itertools.product(cuts, (-1, 1)):
            yield np.where(column <= cut, side, -side)


# --- discrete AdaBoost and M1, and stagewise minimisation


@pytest.mark.parametrize(("name", "learning_rate"), [*zip(PROBLEMS, [1.0, 0.3, 1.0, 0.3, 1.0], strict=True)])
def test_m1_is_discrete_adaboost_with_twice_the_alpha(name, learning_rate):
    X, y = PROBLEMS[name]()
    options = {"n_estimators": 40, "learning_rate": learning_rate}
    discrete = AdaBoostClassifier(**options).fit(X, y)
    m1 = AdaBoostClassifier(algorithm="m1", **options).fit(X, y)
    assert np.array_equal(m1.estimator_weights_, 2 * discrete.estimator_weights_)
    assert np.array_equal(m1.estimator_errors_, discrete.estimator_errors_)
    assert [str(one) for one in m1.estimators_] == [str(one) for one in discrete.estimators_]
    assert np.array_equal(m1.decision_function(X), 2 * discrete.decision_function(X))
    for method in ("predict", "predict_proba", "margins"):
        extra = (y,) if method == "margins" else ()
        one, other = (getattr(model, method)(X, *extra) for model in (m1, discrete))
        assert np.array_equal(one, other)
    assert np.array_equal(m1.sample_weights_, discrete.sample_weights_)
    assert np.array_equal(m1.training_error_bound_, discrete.training_error_bound_)


@pytest.mark.parametrize("learner", [DecisionStump(), DecisionTreeClassifier(max_depth=2)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_alpha_is_the_stagewise_minimum_of_the_exponential_loss(name, learner):
    X, y = PROBLEMS[name]()
    model = AdaBoostClassifier(learner, n_estimators=12).fit(X, y)
    y = signs(model, y)
    before = np.zeros(len(y))
    for member, alpha, score in zip(
        model.estimators_, model.estimator_weights_, model.staged_decision_function(X), strict=True
    ):
        agrees = y * signs(model, member.predict(X))
        if np.all(agrees > 0):  # a perfect member, the last one: the loss falls for ever
            break
        found = minimize_scalar(
            lambda beta, agrees=agrees, before=before: np.mean(np.exp(-y * before - beta * agrees)),
            bracket=(0.0, 1.0),
            tol=1e-10,
        )
        assert found.x == pytest.approx(alpha, abs=1e-6)
        before = score


def test_the_stump_of_least_weighted_error_is_the_one_that_lowers_the_exponential_loss_most():
    X, y = load_toy()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    before = np.zeros(len(y))
    for score in model.staged_decision_function(X):
        losses = [
            minimize_scalar(lambda beta, h=h, f=before: np.mean(np.exp(-y * (f + beta * h)))).fun
            for h in half_planes(X)
        ]
        assert np.mean(np.exp(-y * score)) == pytest.approx(min(losses), rel=1e-6)
        before = score


# --- an interval is no threshold, but thresholds are weak learners of it


def test_every_threshold_errs_on_one_of_the_three_points():
    X, y = load_three_points()
    errors = [np.mean(h != y) for h in half_planes(X)]
    assert min(errors) == pytest.approx(1 / 3)
    assert np.mean(EXACT.fit(X, y).predict(X) != y) == pytest.approx(1 / 3)
    boosted = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert boosted.score(X, y) == 1.0  # three thresholds represent the interval


@pytest.mark.parametrize("concentration", [0.01, 0.1, 1.0, 10.0])
def test_thresholds_have_an_edge_of_one_sixth_over_any_weighting_of_an_interval(concentration):
    X, y = make_interval(40, random_state=3)
    rng = np.random.default_rng(0)
    edges = []
    for weight in rng.dirichlet(np.full(len(y), concentration), 60):
        wrong = EXACT.fit(X, y, weight).predict(X) != y
        edges.append(0.5 - weight[wrong].sum())
    assert min(edges) >= 1 / 6 - 1e-9
    assert max(edges) > 1 / 6 + 0.01  # the weightings differ


def test_the_edge_is_one_sixth_if_the_three_intervals_have_equal_weight():
    X, y = make_interval(40, low=-0.4, high=0.3, random_state=5)
    third = np.digitize(X[:, 0], [-0.4, 0.3 + 1e-12])
    assert np.array_equal(y == 1, third == 1)
    for seed in range(20):
        weight = np.random.default_rng(seed).exponential(size=len(y))
        weight /= 3 * np.bincount(third, weight)[third]
        wrong = EXACT.fit(X, y, weight).predict(X) != y
        assert 0.5 - weight[wrong].sum() == pytest.approx(1 / 6, abs=1e-9)


@pytest.mark.parametrize("n_samples", [3, 10, 100, 1000])
def test_boosted_thresholds_learn_an_interval_as_fast_as_the_bound(n_samples):
    X, y = make_interval(n_samples, random_state=n_samples)
    # exp(-2 gamma**2 T) < 1 / m: no point can be wrong any more
    enough = math.ceil(math.log(n_samples) / (2 / 36)) + 1
    model = AdaBoostClassifier(EXACT, n_estimators=enough).fit(X, y)
    assert model.history_["train_error"][-1] == 0.0
    assert np.all(model.edges_ >= 1 / 6 - 1e-9)
    rounds = np.arange(1, model.n_estimators_ + 1)
    assert np.all(model.training_error_bound_ <= np.exp(-2 * rounds / 36) + 1e-12)


# --- memorising


def rounds_to_memorise(m):
    """T of ln(2 m) / (2 gamma**2) with gamma = 1 / (2 m)."""
    gamma = 1 / (2 * m)
    return math.ceil(math.log(2 * m) / (2 * gamma**2))


def test_every_labelling_of_five_points_is_memorised():
    X = np.array([[0.3], [0.1], [0.9], [0.5], [0.7]])
    for labels in list(itertools.product([0, 1], repeat=5))[1:-1]:
        model = AdaBoostClassifier(EXACT, n_estimators=rounds_to_memorise(5)).fit(X, labels)
        assert model.history_["train_error"][-1] == 0.0
        assert np.all(model.edges_ >= 1 / 10 - 1e-9)  # gamma = 1 / (2 m) for any weights


@pytest.mark.parametrize("seed", range(6))
def test_random_labels_are_memorised_within_the_rounds_of_the_theory(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(6, 13))
    X, y = rng.permutation(m)[:, None].astype(float), rng.integers(0, 2, m)
    y[:2] = 0, 1
    model = AdaBoostClassifier(EXACT, n_estimators=rounds_to_memorise(m)).fit(X, y)
    assert np.all(model.edges_ >= 1 / (2 * m) - 1e-9)
    assert model.training_error_bound_[-1] < 1 / m
    assert np.array_equal(model.predict(X), y)


# --- training error and its bound, on data of real size


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bounds_of_the_theory_are_ordered(name):
    X, y = PROBLEMS[name]()
    model = AdaBoostClassifier(n_estimators=60).fit(X, y)
    errors = staged_errors(model, X, y)
    product = np.cumprod(2 * np.sqrt(model.estimator_errors_ * (1 - model.estimator_errors_)))
    by_edges = np.cumprod(np.sqrt(1 - 4 * model.edges_**2))
    exponential = np.exp(-2 * np.cumsum(model.edges_**2))
    np.testing.assert_allclose(model.training_error_bound_, product, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(product, by_edges, rtol=1e-9, atol=1e-300)
    assert np.all(errors <= model.training_error_bound_)
    assert np.all(by_edges <= exponential * (1 + 1e-12))


def test_the_bound_of_thousands_of_rounds_of_three_random_classes_is_still_a_number():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), rng.integers(0, 3, 60)
    model = AdaBoostClassifier(n_estimators=2400).fit(X, y)
    assert 2 * model.estimator_weights_.sum() > 800  # exp of it, or of its negative, has no float64
    logarithm = np.cumsum(np.log(model.normalizers_))
    np.testing.assert_allclose(np.log(model.training_error_bound_), logarithm, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learning_rate", [10.0, 100.0, 1000.0])
def test_every_row_keeps_a_positive_weight_for_any_learning_rate(learning_rate, n_classes):
    X, y = problem(n_classes)
    model = AdaBoostClassifier(n_estimators=20, learning_rate=learning_rate).fit(X, y)
    assert np.all(model.sample_weights_ > 0)
    assert "perfect" not in model.stop_reason_  # it would be, if rows of tiny weight did not count
    assert np.all(staged_errors(model, X, y) <= model.training_error_bound_)
