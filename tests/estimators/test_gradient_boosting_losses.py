"""Losses in the estimators: all of them fit, first order is Friedman's algorithm, custom losses."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier as SklearnClassifier
from sklearn.ensemble import GradientBoostingRegressor as SklearnRegressor
from sklearn.metrics import log_loss

from boosting_cases import REGRESSION_LOSSES, classes, classifier, numbers, regressor, signal, target
from hedgerow.losses import BinaryLogLoss, Huber, LogLink, MultinomialLogLoss, SquaredError
from loss_cases import LogCosh, LogCoshHessian1, PseudoHuber


def held_out(loss, newton):
    """Mean loss of the model, the best constant and the function f on rows that were not trained on."""
    X, f = signal(1500)
    y = target(loss, f)
    model = regressor(loss=loss, newton=newton, n_estimators=30, min_samples_leaf=20)
    model.fit(X[:1000], y[:1000])
    rule, rows = model.loss_, slice(1000, None)
    constant = np.broadcast_to(model.model_.start[:, None], (1, 500)).copy()
    raw = 0.5 * f if isinstance(rule.link, LogLink) else f  # of `target`
    return (
        rule.mean_loss(y[rows], model._raw(X[rows]), None),
        rule.mean_loss(y[rows], constant, None),
        rule.mean_loss(y[rows], raw[np.newaxis, rows], None),
        spearmanr(model.predict(X[rows]), f[rows]).statistic,
    )


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_every_regression_loss_beats_the_constant(loss, newton):
    mine, constant, best, correlation = held_out(loss, newton)
    assert mine < 0.5 * (constant + best)
    assert correlation > 0.8


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize(("loss", "n_classes"), [("log_loss", 2), ("log_loss", 4), ("exponential", 2)])
def test_every_classification_loss_beats_the_constant(loss, n_classes, newton):
    X, y = classes(1500, n_classes)
    model = classifier(loss=loss, newton=newton, n_estimators=30).fit(X[:1000], y[:1000])
    shares = np.bincount(y[:1000]) / 1000
    proba = model.predict_proba(X[1000:])
    assert log_loss(y[1000:], proba) < 0.7 * log_loss(y[1000:], np.tile(shares, (500, 1)))
    assert model.score(X[1000:], y[1000:]) > 1.5 / n_classes


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_leave_their_share_below(level):
    X, y = numbers(1500, noise=1.0)
    model = regressor(loss="quantile", quantile=level, n_estimators=50, min_samples_leaf=30)
    below = np.mean(y[1000:] <= model.fit(X[:1000], y[:1000]).predict(X[1000:]))
    assert below == pytest.approx(level, abs=0.08)


def test_targets_of_a_log_link_are_predicted_as_means():
    X, f = signal(1000)
    y = target("poisson", f)
    model = regressor(loss="poisson", n_estimators=50).fit(X, y)
    predicted = model.predict(X)
    assert np.all(predicted > 0)
    assert predicted.mean() == pytest.approx(y.mean(), rel=0.02)


# --- first order: Friedman's algorithm


@pytest.mark.parametrize(
    ("loss", "depth"),
    [
        ("squared_error", 1),
        ("squared_error", 5),
        ("absolute_error", 1),
        ("absolute_error", 3),
        ("quantile", 3),
    ],
)
def test_first_order_is_scikit_learns_algorithm(loss, depth):
    # With uneven weights no gains tie (gradients of quantiles are -1 or 1), and no median lies between rows.
    # scikit-learn gives the row that is the quantile a gradient, hedgerow none: no split may depend on it.
    X, y = numbers(1000, 6, seed=10)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    options = {"loss": loss, "max_depth": depth, "min_samples_leaf": 5, "n_estimators": 20}
    mine = regressor(newton=False, max_leaf_nodes=None, quantile=0.7, **options).fit(X, y, weight)
    theirs = SklearnRegressor(alpha=0.7, **options).fit(X, y, weight)
    for one, other in zip(mine.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("loss", "n_classes"), [("log_loss", 2), ("log_loss", 3), ("exponential", 2)])
def test_first_order_classification_is_that_of_scikit_learn(loss, n_classes):
    # Both fit trees to residuals and take one Newton step in each leaf; the values of X fit into bins. The
    # seed is one without splits of equal gain, which scikit-learn chooses at random.
    X, y = classes(400, n_classes, seed=1)
    options = {"loss": loss, "max_depth": 3, "min_samples_leaf": 5, "n_estimators": 20}
    mine = classifier(newton=False, max_leaf_nodes=None, **options).fit(X, y)
    theirs = SklearnClassifier(**options, random_state=0).fit(X, y)
    for one, other in zip(mine.staged_predict_proba(X), theirs.staged_predict_proba(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_a_first_order_leaf_takes_the_step_of_least_loss():
    X, f = signal(1000)
    y = target("poisson", f)
    model = regressor(loss="poisson", newton=False, learning_rate=1.0, n_estimators=1, min_samples_leaf=30)
    model.fit(X, y)
    rule, leaves, raw = model.loss_, model.apply(X)[:, 0], model._raw(X)

    def mean_loss(shift):
        return np.array(
            [
                rule.mean_loss(y[leaves == leaf], raw[:, leaves == leaf] + shift, None)
                for leaf in np.unique(leaves)
            ]
        )

    inner = np.abs(raw[0] - model.model_.start[0]) < rule.step_bound
    free = np.array([inner[leaves == leaf].all() for leaf in np.unique(leaves)])
    assert free.sum() >= 3
    for shift in (-1e-3, 1e-3):
        assert np.all(mean_loss(shift)[free] > mean_loss(0.0)[free])


def test_first_and_second_order_agree_for_squared_error():
    # Second order sums 16-bit gradients, the line search float64 ones. Large leaves: in small ones a
    # rounding of 1e-4 decides between splits of nearly the same gain.
    X, y = numbers(600)
    models = [regressor(newton=newton, max_leaf_nodes=8, min_samples_leaf=40) for newton in (False, True)]
    first, second = (model.fit(X, y).predict(X) for model in models)
    np.testing.assert_allclose(first, second, atol=1e-4)


# --- custom losses


class Square:
    name = "square"

    def loss(self, y, raw):
        return 0.5 * (raw - y) ** 2

    def gradient_hessian(self, y, raw):
        return raw - y, np.ones_like(y)

    def start(self, y, weight):
        return np.average(y, weights=weight)


class Logistic:
    def loss(self, y, raw):
        return np.logaddexp(0, raw) - y * raw

    def gradient_hessian(self, y, raw):
        p = 1 / (1 + np.exp(-raw))
        return p - y, p * (1 - p)


@pytest.mark.parametrize("newton", [True, False])
def test_a_custom_regression_loss_equals_the_built_in_one(newton):
    X, y = numbers()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    mine = regressor(loss=Square(), newton=newton).fit(X, y, weight)
    theirs = regressor(newton=newton).fit(X, y, weight)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)


def test_a_custom_classification_loss_equals_the_built_in_one():
    X, y = classes()
    labels = np.array(["no", "yes"])[y]
    mine = classifier(loss=Logistic(), min_samples_leaf=80).fit(X, labels)
    theirs = classifier(min_samples_leaf=80).fit(X, labels)
    assert np.array_equal(mine.predict(X), theirs.predict(X))
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


def test_a_custom_loss_learns_with_line_search_and_early_stopping():
    X, y = numbers(400)
    model = regressor(
        loss=PseudoHuber(), newton=False, early_stopping=True, n_estimators=50, random_state=0
    ).fit(X, y)
    assert min(model.history_["validation_loss"]) < 0.4 * model.history_["validation_loss"][0]


@pytest.mark.parametrize("loss", [LogCosh(), LogCoshHessian1()])
@pytest.mark.parametrize("offset", [30.0, 5000.0])
def test_a_custom_loss_fits_a_target_far_from_zero(loss, offset):
    X, y = numbers()
    near, far = (regressor(loss=loss).fit(X, y + by) for by in (0.0, offset))
    assert np.mean(np.abs(far.predict(X) - y - offset)) < 0.6 * np.mean(np.abs(y - np.median(y)))
    np.testing.assert_allclose(far.predict(X) - offset, near.predict(X), rtol=0, atol=1e-3)


class Broken(Square):
    def __init__(self, gradient=None, loss=None):
        self.wrong_gradient, self.wrong_loss = gradient, loss

    def gradient_hessian(self, y, raw):
        return super().gradient_hessian(y, raw) if self.wrong_gradient is None else self.wrong_gradient(y)

    def loss(self, y, raw):
        return super().loss(y, raw) if self.wrong_loss is None else self.wrong_loss(y)


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (
            lambda y: (np.where(y == y[3], np.nan, y), np.ones_like(y)),
            "gradient must be finite; got nan at row 3",
        ),
        (lambda y: (y, np.where(y == y[3], np.inf, y)), "hessian must be finite; got inf at row 3"),
        (lambda y: (y[:5], np.ones_like(y)), r"gradient must have shape \(300,\), .* got \(5,\)"),
        (lambda y: (y, -np.ones_like(y)), "hessian is -1.0 at row 0; it must be at least 0"),
        (lambda y: y, "must return two arrays, .* got ndarray"),
        (lambda y: (y.astype(str), y), "gradient must be real numbers; got dtype <U32"),
    ],
)
def test_fit_names_the_invalid_method_of_a_custom_loss(gradient, message):
    X, y = numbers()
    with pytest.raises(ValueError, match=f"square.gradient_hessian.*{message}"):
        regressor(loss=Broken(gradient)).fit(X, y)


def test_fit_rejects_invalid_values_of_a_custom_loss_when_evaluated():
    X, y = numbers()
    model = regressor(loss=Broken(loss=lambda y: np.full(len(y), np.nan)))
    model.fit(X, y)  # without an evaluation set it is not called
    with pytest.raises(ValueError, match=r"square\.loss must be finite; got nan at row 0"):
        model.fit(X, y, eval_set=(X, y))


def test_a_custom_loss_must_not_change_its_arguments():
    X, y = numbers()

    def careless(y):
        y[0] = 0.0
        return y, y

    with pytest.raises(ValueError, match="read-only"):
        regressor(loss=Broken(careless)).fit(X, y)


# --- losses as objects


def test_a_loss_object_is_not_changed():
    X, y = numbers()
    loss = Huber(0.8)
    model = regressor(loss=loss).fit(X, y)
    assert loss.delta == 1.0
    assert model.loss_.delta != 1.0
    assert np.array_equal(model.predict(X), regressor(loss="huber", alpha=0.8).fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("loss", "n_classes"), [(SquaredError(), 2), (MultinomialLogLoss(4), 3), (BinaryLogLoss(), 3)]
)
def test_a_classifier_rejects_losses_of_other_targets(loss, n_classes):
    message = rf"loss=.*{type(loss).__name__}.*is not a loss for the {n_classes} classes"
    with pytest.raises(ValueError, match=message):
        classifier(loss=loss).fit(*classes(n_classes=n_classes))


@pytest.mark.parametrize(
    ("loss", "name"), [("exponential", "loss='exponential'"), (Logistic(), "a custom loss")]
)
def test_losses_of_two_classes_reject_three(loss, name):
    with pytest.raises(ValueError, match=f"{name} supports two classes; y has 3"):
        classifier(loss=loss).fit(*classes(n_classes=3))


@pytest.mark.parametrize(
    ("loss", "value", "message"),
    [
        ("poisson", -1.0, "at least 0 for loss='poisson'; got -1.0 at row 5"),
        ("gamma", 0.0, "above 0 for loss='gamma'; got 0.0 at row 5"),
        ("tweedie", -2.0, "at least 0 for loss='tweedie'; got -2.0 at row 5"),
    ],
)
def test_fit_rejects_targets_outside_the_range_of_the_loss(loss, value, message):
    X, f = signal()
    y = np.exp(f)
    y[5] = value
    with pytest.raises(ValueError, match=message):
        regressor(loss=loss).fit(X, y)
    with pytest.raises(ValueError, match=rf"eval_set\[0\]: y must be {message}"):
        regressor(loss=loss).fit(X, np.exp(f), eval_set=(X, y))


def test_an_evaluation_set_of_zeros_is_a_target_for_poisson():
    X, f = signal()
    model = regressor(loss="poisson").fit(X, np.exp(f), eval_set=(X[:5], np.zeros(5)))
    assert len(model.history_["validation_loss"]) == 10


def test_many_classes():
    X, y = make_classification(600, 10, n_informative=8, n_classes=8, n_clusters_per_class=1, random_state=0)
    model = classifier().fit(X, y)
    assert model.model_.forest.n_trees == 80
    assert model.score(X, y) > 0.9
