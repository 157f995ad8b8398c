"""Sample weights and class weights: an integer weight equals that many copies of the row, zero no row."""

import numpy as np
import pytest

from boosting_cases import (
    REGRESSION_LOSSES,
    classes,
    classifier,
    numbers,
    regressor,
    same_forests,
    signal,
    target,
)

LOSSES = [(regressor, loss) for loss in REGRESSION_LOSSES] + [
    (classifier, "log_loss"),
    (classifier, "exponential"),
    (classifier, "three classes"),
]


def problem(make, loss):
    if make is classifier:
        X, y = classes(n_classes=3 if loss == "three classes" else 2)
        return X, y, {"loss": "exponential" if loss == "exponential" else "log_loss"}
    X, f = signal()
    return X, target(loss, f), {"loss": loss}


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize(("make", "loss"), LOSSES)
def test_a_whole_weight_is_that_many_copies(make, loss, newton):
    X, y, parameters = problem(make, loss)
    copies = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make(newton=newton, **parameters).fit(X, y, sample_weight=copies)
    repeated = make(newton=newton, **parameters).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert same_forests(weighted, repeated)
    assert weighted._raw(X).tobytes() == repeated._raw(X).tobytes()


def test_copies_anywhere_in_the_table_are_the_same_copies():
    X, y = numbers()
    copies = np.random.default_rng(0).integers(0, 4, len(y))
    order = np.random.default_rng(1).permutation(int(copies.sum()))
    rows = np.repeat(np.arange(len(y)), copies)[order]
    weighted = regressor().fit(X, y, copies)
    np.testing.assert_allclose(regressor().fit(X[rows], y[rows]).predict(X), weighted.predict(X), rtol=1e-12)


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"newton": False},
        {"loss": "absolute_error"},
        {"subsample": 0.5},
        {"early_stopping": True, "n_estimators": 30},
        {"max_bins": 16},
        {"growth_policy": "symmetric", "max_leaf_nodes": None, "max_depth": 4},
    ],
)
def test_a_weight_of_zero_is_no_row(parameters, fractional):
    X, y = numbers()
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(y)) * (rng.uniform(0.5, 1.5, len(y)) if fractional else 1.0)
    X[weight == 0] = 1e6  # would change the bins
    kept = weight > 0
    zero = regressor(random_state=0, **parameters).fit(X, y, weight)
    dropped = regressor(random_state=0, **parameters).fit(X[kept], y[kept], weight[kept])
    assert same_forests(zero, dropped)


def test_one_weight_for_all_is_no_weight():
    X, y = numbers()
    plain = regressor().fit(X, y)
    assert same_forests(regressor().fit(X, y, np.ones(len(y))), plain)
    assert same_forests(regressor().fit(X, y, 1.0), plain)
    light = regressor(min_samples_leaf=5).fit(X, y, np.full(len(y), 0.25))
    heavy = regressor(min_samples_leaf=20).fit(X, y, np.full(len(y), 4.0))  # rows count four times
    assert np.array_equal(light.predict(X), plain.predict(X))
    assert np.array_equal(heavy.predict(X), plain.predict(X))


def test_weights_pull_the_model():
    X, _ = numbers()
    y = np.tile([0.0, 1.0], 150)
    weight = np.tile([1.0, 9.0], 150)
    mean = np.average(regressor().fit(X, y, weight).predict(X), weights=weight)
    assert mean == pytest.approx(0.9, abs=0.01)


def test_very_unequal_weights():
    X, y = numbers()
    weight = np.ones(len(y))
    weight[0] = 1e8
    model = regressor(n_estimators=50, min_samples_leaf=1).fit(X, y, weight)
    assert model.predict(X[:1])[0] == pytest.approx(y[0], abs=0.05)
    assert model.score(X, y) > 0.5  # the other rows still count


def test_min_samples_leaf_counts_copies():
    X, y = numbers()
    model = regressor(min_samples_leaf=60).fit(X, y, np.full(len(y), 3.0))
    assert model.model_.forest.count[0] == 900
    copies = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    assert same_forests(model, regressor(min_samples_leaf=60).fit(*copies))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(5), r"sample_weight.shape == \(5,\), expected \(300,\)"),
        (np.r_[-1.0, np.ones(299)], r"sample_weight\[0\] is -1.0; weights must be finite and >= 0"),
        (np.zeros(300), "sample_weight holds zero weights only; at least one row needs a positive weight"),
    ],
)
def test_fit_rejects_invalid_weights(weight, message):
    X, y = numbers()
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"^eval_set\[0\]: " + message):
        regressor().fit(X, y, eval_set=(X, y, weight))


# --- class weights


def skewed(n_classes=2):
    X, y = classes(600, n_classes)
    kept = (y > 0) | (np.arange(600) % 6 == 0)
    return X[kept], y[kept]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weights_are_sample_weights(n_classes):
    X, y = skewed(n_classes)
    model = classifier(class_weight={0: 5.0, 1: 2.0}).fit(X, y)
    assert same_forests(model, classifier().fit(X, y, np.array([5.0, 2.0, 1.0])[y]))
    names = np.array(["a", "b", "c"])[y]
    named = classifier(class_weight={"a": 5.0, "b": 2.0}).fit(X, names)
    assert same_forests(model, named)


def test_class_weights_multiply_sample_weights():
    X, y = skewed()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = classifier(class_weight={0: 3.0}).fit(X, y, weight)
    assert same_forests(model, classifier().fit(X, y, weight * np.where(y == 0, 3, 1)))


def test_balanced_classes_have_the_same_weight():
    X, y = skewed()
    by_hand = len(y) / (2 * np.bincount(y))
    model = classifier(class_weight="balanced").fit(X, y)
    assert same_forests(model, classifier().fit(X, y, by_hand[y]))
    np.testing.assert_allclose(model.loss_.link.inverse(model.model_.start), 0.5)


def test_balanced_counts_with_the_weights():
    X, y = skewed()
    copies = np.random.default_rng(0).integers(0, 4, len(y))
    # min_samples_leaf=1: the products are fractions, with which rows are counted, not copies
    balanced = {"class_weight": "balanced", "min_samples_leaf": 1, "max_leaf_nodes": 8}
    weighted = classifier(**balanced).fit(X, y, copies)
    repeated = classifier(**balanced).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_a_class_of_weight_zero_is_never_predicted():
    X, y = skewed(3)
    model = classifier(class_weight={0: 0.0}).fit(X, y)
    assert model.predict_proba(X)[:, 0].max() < 1e-3
    assert list(model.classes_) == [0, 1, 2]


def test_class_weight_must_name_the_classes():
    X, y = skewed()
    with pytest.raises(ValueError, match=r"class_weight names the classes \['0'\], .* classes \[0, 1\]"):
        classifier(class_weight={"0": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight=\{0: 0.0, 1: 0.0\} leaves zero weights only"):
        classifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    # a fold of a cross-validation may lack a class that is named
    assert same_forests(
        classifier(class_weight={0: 2.0, 1: 1.0, 2: 7.0}).fit(X, y),
        classifier(class_weight={0: 2.0}).fit(X, y),
    )
