"""Ways to sample rows, learning rates that decay, and bounded steps."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import hedgerow
from boosting_cases import classes, numbers, same_forests

REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
FEW = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 3}


def data(n_classes=None):
    return numbers(300) if n_classes is None else classes(300, n_classes)


OPTIONS = {
    "gradient": (CLASSIFIER, 3, {"sampling": "gradient", "n_folds": 2}),
    "gradient, line search": (REGRESSOR, None, {"sampling": "gradient", "loss": "absolute_error"}),
    "bayesian": (REGRESSOR, None, {"sampling": "bayesian", "bagging_temperature": 0.5, "n_folds": 2}),
    "bayesian, first order": (CLASSIFIER, 2, {"sampling": "bayesian", "subsample": 0.8, "newton": False}),
    "decay": (REGRESSOR, None, {"learning_rate_decay": 0.9, "subsample": 0.7}),
    "bounded steps": (CLASSIFIER, 3, {"max_leaf_step": 0.3, "learning_rate_decay": 0.8, "n_folds": 2}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_threads_chunks_warm_starts_and_files_do_not_change_bits(name, tmp_path):
    kind, n_classes, options = OPTIONS[name]
    X, y = data(n_classes)
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    one = kind(n_jobs=1, **FEW, **options).fit(X, y, sample_weight=weight)
    two = kind(n_jobs=2, warm_start=True, **FEW | {"n_estimators": 2}, **options)
    two._chunk_rows = 41
    two.fit(X, y, sample_weight=weight)
    hedgerow.save(two, tmp_path / "part")
    two = hedgerow.load(tmp_path / "part").set_params(n_estimators=6)
    two.fit(X, y, sample_weight=weight)
    assert same_forests(one, two)
    plain = {name: value for name, value in options.items() if name in ("loss", "n_folds", "newton")}
    assert not same_forests(one, kind(**FEW, **plain).fit(X, y, sample_weight=weight))


def test_a_temperature_of_zero_is_no_sampling():
    X, y = data()
    flat = REGRESSOR(sampling="bayesian", bagging_temperature=0.0, **FEW).fit(X, y)
    assert same_forests(flat, REGRESSOR(**FEW).fit(X, y))


def test_medians_are_those_of_weighted_rows():
    X, y = data()
    options = {"loss": "absolute_error", "n_estimators": 1, "learning_rate": 1.0, "max_leaf_nodes": 2}
    model = REGRESSOR(sampling="bayesian", bagging_temperature=2.0, **options).fit(X, y)
    plain = REGRESSOR(**options).fit(X, y)
    assert not np.array_equal(model.model_.forest.value, plain.model_.forest.value)


@pytest.mark.parametrize("sampling", ["gradient", "bayesian"])
def test_sampling_learns(sampling):
    X, y = data(2)
    model = CLASSIFIER(n_estimators=40, sampling=sampling).fit(X, y)
    assert model.score(X, y) > 0.85
    assert CLASSIFIER(n_estimators="auto", sampling=sampling, tol=0.01).fit(X, y).n_folds_ == 8


# --- learning rates


def test_the_rate_of_a_round_is_a_power_of_the_decay():
    X, y = data()
    options = {"max_leaf_nodes": 2, "n_estimators": 3, "l2_regularization": 0.0}
    model = REGRESSOR(learning_rate=0.5, learning_rate_decay=0.5, **options).fit(X, y)
    raw = np.full(len(y), model.model_.start[0])
    forest, leaves = model.model_.forest, model.apply(X)
    for tree in range(3):
        own = leaves[:, tree]
        for leaf in np.unique(own):
            mean = (y - raw)[own == leaf].mean()
            value = forest.value[forest.starts[tree] + leaf]
            assert value == pytest.approx(0.5 * 0.5**tree * mean, rel=1e-3)
        raw += forest.value[forest.starts[tree] + own]
    staged = list(model.staged_predict(X))
    assert np.array_equal(staged[-1], model.predict(X))


def test_other_regressors_have_rates_that_decay():
    X, y = data()
    X = np.nan_to_num(X)
    options = {"estimator": LinearRegression(), "n_estimators": 3}
    steps = REGRESSOR(learning_rate_decay=0.5, **options).fit(X, y).model_.steps
    first = REGRESSOR(**options).fit(X, y).model_.steps
    assert steps[0] == first[0]
    assert steps[1] == pytest.approx(0.5 * first[1], rel=1e-6)


# --- bounded steps


def test_an_unpenalised_multinomial_fit_stays_finite_with_bounded_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    y = np.where(rng.random(150) < 0.15, rng.integers(0, 3, 150), y)
    options = {
        "n_estimators": 40, "learning_rate": 1.0, "l2_regularization": 0.0, "min_child_weight": 0.0,
        "min_samples_leaf": 1, "max_leaf_nodes": 4, "subsample": 0.5,
    }  # fmt: skip
    bounded = CLASSIFIER(max_leaf_step=1.0, **options).fit(X, y)
    assert np.abs(bounded.model_.forest.value).max() <= 1.0
    assert np.abs(bounded.decision_function(X)).max() < 100.0
    assert bounded.score(X, y) > 0.95
    free = CLASSIFIER(**options).fit(X, y)
    assert np.abs(free.decision_function(X)).max() > 1e6
    assert free.score(X, y) < 0.6


def test_steps_are_bounded_before_they_are_shrunk():
    X, y = data()
    options = {"n_estimators": 1, "learning_rate": 0.5, "min_samples_leaf": 5}
    values = REGRESSOR(**options).fit(X, y).model_.forest.value
    bounded = REGRESSOR(max_leaf_step=0.25, **options).fit(X, y).model_.forest.value
    assert np.abs(values).max() > 0.2
    assert np.array_equal(bounded, np.clip(values, -0.125, 0.125))


# --- errors


def test_errors():
    X, y = data()
    for parameters, message in (
        (
            {"sampling": "goss"},
            "sampling='goss' is not allowed: it must be 'uniform' or 'gradient' or 'bayes",
        ),
        ({"bagging_temperature": -1.0}, "bagging_temperature=-1.0 is not allowed: it must be a number >= 0"),
        ({"learning_rate_decay": 0.0}, "learning_rate_decay=0.0 is not allowed: it must be a number > 0 and"),
        ({"max_leaf_step": 0}, "max_leaf_step=0 is not allowed: it must be a number > 0 or None"),
        ({"sampling": "gradient", "subsample": 1.0}, "subsample=1.0 is not allowed with sampling='gradient'"),
        (
            {"sampling": "bayesian", "estimator": LinearRegression()},
            "is not allowed with sampling='bayesian'",
        ),
    ):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            REGRESSOR(**parameters).fit(X, y)
