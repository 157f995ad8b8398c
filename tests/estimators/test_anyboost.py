"""AnyBoost: the costs and their derivatives, AdaBoost as a special case, and custom costs."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from adaboost_cases import IgnoresWeights, SklearnStump, breast, signs, staged_errors, two
from hedgerow import AdaBoostClassifier, AnyBoostClassifier, DecisionTreeClassifier
from hedgerow.boosting.anyboost import rising_root
from hedgerow.boosting.costs import COSTS, make_cost
from hedgerow.datasets import flip_labels, load_toy, make_hastie, make_interval

# --- the costs


@pytest.mark.parametrize("name", COSTS)
def test_derivatives_are_those_of_the_costs(name):
    cost = make_cost(name)
    margin = np.linspace(-3, 3, 61)
    step = 1e-6
    numerical = (cost.cost(margin + step) - cost.cost(margin - step)) / (2 * step)
    np.testing.assert_allclose(cost.derivative(margin), numerical, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", COSTS)
def test_costs_fall_and_are_never_negative(name):
    cost = make_cost(name)
    margin = np.linspace(-700, 700, 2001)
    values, slopes = cost.cost(margin), cost.derivative(margin)
    assert np.all(np.isfinite(values) & np.isfinite(slopes))
    assert np.all(values >= 0)
    assert np.all(slopes <= 0)
    assert np.all(np.diff(values) <= 0)
    assert cost.derivative(np.zeros(1))[0] < 0


def test_costs_are_their_formulas():
    margin = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(make_cost("exponential").cost(margin), np.exp(-margin))
    np.testing.assert_allclose(make_cost("logistic").cost(margin), np.log1p(np.exp(-margin)))
    np.testing.assert_allclose(
        make_cost("sigmoid").cost(margin), 1 - np.tanh(10 * (margin + 0.1)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("slope", "scale", "furthest", "root"),
    [
        (lambda x: x * x - 2, 0.1, 64.0, 2**0.5),
        (lambda x: np.exp(x) - 1e6, 0.5, 32.0, 6 * np.log(10)),
        (lambda x: np.arctan(1e4 * (x - 0.3)), 0.5, 32.0, 0.3),
        (lambda x: -np.exp(-x), 0.5, 32.0, 32.0),  # never rises through zero
        (lambda x: x - 1e-9, 0.5, 32.0, 1e-9),
    ],
)
def test_the_line_search_finds_where_a_slope_rises_through_zero(slope, scale, furthest, root):
    assert rising_root(slope, scale, furthest) == pytest.approx(root, rel=1e-9)


# --- the exponential cost is AdaBoost


@pytest.mark.parametrize(
    ("data", "learner", "learning_rate"),
    [
        (load_toy, None, 1.0),
        (lambda: make_interval(80, noise=0.1, random_state=0), DecisionTreeClassifier(max_depth=2), 0.3),
        (two, SklearnStump(), 1.0),
        (breast, None, 0.3),
        (breast, DecisionTreeClassifier(max_depth=2), 1.0),
    ],
)
def test_the_exponential_cost_gives_discrete_adaboost(data, learner, learning_rate):
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {"estimator": learner, "n_estimators": 15, "learning_rate": learning_rate}
    ada = AdaBoostClassifier(**options).fit(X, y, weight)
    model = AnyBoostClassifier(**options).fit(X, y, weight)
    assert model.stop_reason_ == ada.stop_reason_
    np.testing.assert_allclose(model.estimator_weights_, ada.estimator_weights_, rtol=1e-8)
    np.testing.assert_allclose(model.estimator_errors_, ada.estimator_errors_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), ada.decision_function(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), ada.predict_proba(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.training_error_bound_, ada.training_error_bound_, rtol=1e-6)
    np.testing.assert_allclose(model.normalizers_, ada.normalizers_, rtol=1e-6)


# --- costs decrease


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("data", [two, breast])
def test_the_cost_falls_in_every_round_and_bounds_the_error(cost, data):
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = AnyBoostClassifier(cost=cost, n_estimators=40).fit(X, y, weight)
    costs = model.history_["train_loss"]
    assert np.all(np.diff(costs) < 0)
    start = float(make_cost(cost).cost(np.zeros(1))[0])
    assert costs[0] < start
    np.testing.assert_allclose(model.training_error_bound_, np.array(costs) / start, rtol=1e-9)
    np.testing.assert_allclose(np.cumprod(model.normalizers_), model.training_error_bound_, rtol=1e-9)
    assert np.all(staged_errors(model, X, y, weight) <= model.training_error_bound_)


@pytest.mark.parametrize("cost", ["exponential", "logistic"])
def test_every_step_equals_a_numerical_line_search(cost):
    X, y = two()
    model = AnyBoostClassifier(cost=cost, n_estimators=8).fit(X, y)
    y = signs(model, y)
    before, function = np.zeros(len(y)), make_cost(cost)
    for member, alpha, score in zip(
        model.estimators_, model.estimator_weights_, model.staged_decision_function(X), strict=True
    ):
        agrees = y * signs(model, member.predict(X))
        found = minimize_scalar(
            lambda step, agrees=agrees, before=before: np.mean(function.cost(y * before + step * agrees)),
            bracket=(0.0, 1.0),
            tol=1e-10,
        )
        assert alpha == pytest.approx(found.x, abs=1e-6)
        before = score


def test_steps_of_the_normalised_cost_are_a_tenth_of_the_whole_at_the_most():
    X, y = two()
    model = AnyBoostClassifier(cost="sigmoid", n_estimators=40).fit(X, y)
    before = np.concatenate([[0.0], np.cumsum(model.estimator_weights_)[:-1]])
    assert np.all(model.estimator_weights_ <= 0.1 * np.maximum(1.0, before) * (1 + 1e-12))
    assert np.all(model.estimator_weights_ > 0)
    share = 0.5 + 0.5 * model.decision_function(X) / model.estimator_weights_.sum()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-9)


def test_the_sigmoid_cost_withstands_wrong_labels():
    clean, robust = [], []
    for seed in range(3):
        X, y = make_hastie(1500, 4, random_state=seed)
        noisy, _ = flip_labels(y[:500], 0.2, random_state=seed)
        for cost, found in (("exponential", clean), ("sigmoid", robust)):
            model = AnyBoostClassifier(cost=cost, n_estimators=150).fit(X[:500], noisy)
            found.append(model.score(X[500:], y[500:]))
    assert np.mean(robust) > np.mean(clean)


# --- custom costs


class Squared:
    """(1 - m)**2 up to m = 1, then nothing: the squared hinge."""

    def cost(self, margin):
        return np.maximum(0.0, 1.0 - margin) ** 2

    def derivative(self, margin):
        return -2.0 * np.maximum(0.0, 1.0 - margin)


class WithProbability(Squared):
    """The same, with probabilities."""

    def probability(self, score):
        return np.clip(0.5 + 0.5 * score, 0.0, 1.0)


class Normalised(Squared):
    normalised = True


@pytest.mark.parametrize("cost", [Squared(), WithProbability(), Normalised()])
def test_a_custom_cost_is_minimized(cost):
    X, y = two()
    model = AnyBoostClassifier(cost=cost, n_estimators=20).fit(X, y)
    costs = model.history_["train_loss"]
    assert np.all(np.diff(costs) <= 0)
    assert costs[-1] < 0.9 * costs[0]
    length = max(1.0, model.estimator_weights_.sum()) if isinstance(cost, Normalised) else 1.0
    margin = signs(model, y) * model.decision_function(X) / length
    assert costs[-1] == pytest.approx(cost.cost(margin).mean(), rel=1e-9)
    expected = -cost.derivative(margin)
    np.testing.assert_allclose(model.sample_weights_, expected / expected.sum(), atol=1e-12)
    assert np.array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.5)
    if isinstance(cost, WithProbability):
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], cost.probability(model.decision_function(X)))
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))  # noqa: S301
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_rows_that_cost_nothing_still_count_when_a_learner_is_called_perfect():
    X, y = make_interval(50, random_state=0)
    model = AnyBoostClassifier(cost=Squared(), n_estimators=30).fit(X, y)
    assert "perfect" not in model.stop_reason_  # a stump that is right wherever there is weight is not
    assert model.score(X, y) == 1.0


class Modest:
    """A squared hinge at a margin of 0.1."""

    def cost(self, margin):
        return np.maximum(0.0, 0.1 - margin) ** 2

    def derivative(self, margin):
        return -2.0 * np.maximum(0.0, 0.1 - margin)


def test_a_cost_that_is_flat_everywhere_at_last_ends_the_fit():
    X, y = make_interval(30, random_state=0)
    model = AnyBoostClassifier(cost=Modest(), n_estimators=200, learning_rate=1.5).fit(X, y)
    assert model.stop_reason_ == "the cost is flat at the margins of all rows: nothing is left to learn"
    assert model.n_estimators_ < 20
    assert model.score(X, y) == 1.0
    assert model.training_error_bound_[-1] == model.history_["train_loss"][-1] == 0.0
    assert np.all(model.margins(X, y) > 0)


class Bad:
    def __init__(self, cost=None, derivative=None):
        self.of, self.slope = cost, derivative

    def __repr__(self):
        return "Bad"

    def cost(self, margin):
        return np.exp(-margin) if self.of is None else self.of(margin)

    def derivative(self, margin):
        return -np.exp(-margin) if self.slope is None else self.slope(margin)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (Bad(derivative=np.exp), "its derivative must be one finite number <= 0 for every margin"),
        (Bad(derivative=lambda m: m * np.nan), "its derivative must be"),
        (Bad(derivative=lambda _m: -1.0), "its derivative must be"),
        (Bad(derivative=lambda m: m - np.inf), "its derivative must be"),
        (Bad(derivative=np.zeros_like), "its derivative at margin 0 must not be 0"),
        (Bad(cost=lambda m: m * np.nan), "it must be one finite number >= 0 for every margin"),
        (Bad(cost=lambda m: -m), "it must be one finite number >= 0"),
        (Bad(cost=lambda m: float(np.exp(-m).sum())), "it must be one finite number >= 0"),
    ],
)
def test_fit_rejects_invalid_costs(cost, message):
    with pytest.raises(ValueError, match=f"^cost=Bad: {message}"):
        AnyBoostClassifier(cost=cost).fit(*two())


@pytest.mark.parametrize("cost", ["hinge", None, 3, Squared, np.exp])
def test_fit_rejects_objects_that_are_not_costs(cost):
    with pytest.raises(ValueError, match=r"^cost=.* is not allowed: it must be 'exponential'"):
        AnyBoostClassifier(cost=cost).fit(*two())


def test_more_classes_than_two_are_refused():
    with pytest.raises(ValueError, match="y has 3 classes; AnyBoostClassifier needs two"):
        AnyBoostClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_a_learner_that_finds_no_descent_stops():
    X, y = two()
    for cost in COSTS:
        with pytest.warns(UserWarning, match="no better than chance"):
            model = AnyBoostClassifier(IgnoresWeights(), cost=cost, n_estimators=30).fit(X, y)
        assert model.n_estimators_ < 30
        assert np.array_equal(model.predict(X), model.estimators_[0].predict(X))
