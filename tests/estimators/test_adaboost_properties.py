"""Properties of the AdaBoost family for any table, weights, learner and rule."""

import pickle
import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from adaboost_cases import (
    ALGORITHMS,
    EXPONENTIAL,
    SEVERAL_KINDS,
    VOTES,
    SklearnRegressionStump,
    SklearnStump,
)
from hedgerow import (
    AdaBoostClassifier,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    LogitBoostClassifier,
)

QUICK = settings(max_examples=35, deadline=None)  # the first example may compile a kernel

LEARNERS = {
    "stump": None,
    "gini stump": DecisionStump("gini", max_bins=65535),
    "coarse stump": DecisionStump(max_bins=3),
    "tree": DecisionTreeClassifier(max_depth=2),
    "leaves": DecisionTreeClassifier("error", max_depth=None, max_leaf_nodes=5),
    "foreign stump": SklearnStump(),
    "bayes": GaussianNB(var_smoothing=1e-3),
    "neighbours": KNeighborsClassifier(1),  # takes no weights: by resampling
    "foreign numbers": SklearnRegressionStump(),
}
OWN = ("stump", "gini stump", "coarse stump", "tree", "leaves")
CLASSIFIERS = tuple(name for name in LEARNERS if name != "foreign numbers")

seeds = st.integers(0, 2**32 - 1)
rates = st.sampled_from([0.05, 0.5, 1.0, 1.5])
kinds = st.sampled_from([*ALGORITHMS, "logit", "exponential", "logistic", "sigmoid"])
learners = st.sampled_from(tuple(LEARNERS))
weightings = st.sampled_from(["none", "whole", "real", "unequal"])


def data(seed, n_classes):
    """Rows with few distinct values, and labels of which about half follow from them."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(n_classes + 2, 40))
    X = rng.integers(-4, 5, size=(n_rows, 3)) / 2.0
    follows = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.5, 1.5][: n_classes - 1])
    y = np.where(rng.random(n_rows) < 0.5, follows, rng.integers(0, n_classes, n_rows))
    y[:n_classes] = np.arange(n_classes)
    return X, np.array(["a", "b", "c", "d"])[y]


def weights_of(kind, seed, n_rows):
    """Sample weights, the first rows (one a class) among those that count."""
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    if kind == "whole":
        weight = rng.integers(0, 4, n_rows).astype(float)
    elif kind == "real":
        weight = rng.random(n_rows) * (rng.random(n_rows) < 0.8)
    else:
        weight = np.exp(6 * rng.normal(size=n_rows))
    weight[:4] = np.maximum(weight[:4], 0.5 if kind == "real" else 1.0)
    return weight


def model_of(kind, learner, **parameters):
    """A model of a kind with a learner; None where they do not fit together."""
    numbers = kind in ("gentle", "logit")
    fits = learner in OWN or (learner == "foreign numbers") == numbers
    if not fits or (learner == "bayes" and parameters.get("resample")):  # one row drawn has no variance
        return None
    estimator = LEARNERS[learner]
    if kind == "logit":
        return LogitBoostClassifier(estimator, **parameters)
    if kind in ALGORITHMS:
        return AdaBoostClassifier(estimator, algorithm=kind, **parameters)
    return AnyBoostClassifier(estimator, cost=kind, **parameters)


def fitted(model, X, y, weight=None):
    """Fit; examples whose first learner is at chance are skipped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, sample_weight=weight)
    except ValueError as error:
        if "no better than chance" not in str(error):
            raise
        assume(False)
        raise


def tied(raw):
    """Rows whose two largest scores are equal but for rounding."""
    scores = np.stack([-raw, raw], axis=1) if raw.ndim == 1 else raw
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] < 1e-12


@settings(max_examples=50, deadline=None)
@given(
    seed=seeds, kind=kinds, learner=learners, n_classes=st.integers(2, 4), rate=rates, weighting=weightings,
    resample=st.booleans(), on_chance=st.sampled_from(["stop", "restart"]),
)  # fmt: skip
def test_the_training_error_is_never_above_its_bound(
    seed, kind, learner, n_classes, rate, weighting, resample, on_chance
):
    options = {"learning_rate": rate, "resample": resample, "on_chance": on_chance}
    model = model_of(kind, learner, n_estimators=8, random_state=seed % 1000, **options)
    assume(model is not None and (n_classes == 2 or kind in SEVERAL_KINDS))
    X, y = data(seed, n_classes)
    weight = weights_of(weighting, seed, len(y))
    fitted(model, X, y, weight)
    errors = np.array([np.average(p != y, weights=weight) for p in model.staged_predict(X)])
    bound = model.training_error_bound_
    assert len(errors) == len(bound) == model.n_estimators_
    proven = not (kind in ("real", "samme.r") and n_classes > 2)
    assert np.all(np.isfinite(bound)) if proven else np.all(np.isnan(bound))
    if proven:
        assert np.all(errors <= bound * (1 + 1e-9) + 1e-12)
    if kind in ALGORITHMS:
        # probabilities of scores that differ by rounding only are equal, and then the first class is said
        ties = [np.average(tied(raw), weights=weight) for raw in model.staged_decision_function(X)]
        assert np.all(np.abs(np.array(model.history_["train_error"]) - errors) <= np.array(ties) + 1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds, kind=st.sampled_from(EXPONENTIAL), learner=learners, rate=rates, weighting=weightings,
    resample=st.booleans(),
)  # fmt: skip
def test_the_bound_of_two_classes_is_the_product_of_the_normalizers(
    seed, kind, learner, rate, weighting, resample
):
    model = model_of(kind, learner, n_estimators=8, learning_rate=rate, resample=resample, random_state=1)
    assume(model is not None)
    X, y = data(seed, 2)
    fitted(model, X, y, weights_of(weighting, seed, len(y)))
    error = model.estimator_errors_
    assert_product(model)
    if kind in VOTES and rate == 1.0:
        np.testing.assert_allclose(model.normalizers_, 2 * np.sqrt(error * (1 - error)), rtol=1e-9)
    np.testing.assert_allclose(model.edges_, 0.5 - error)


@QUICK
@given(seed=seeds, kind=st.sampled_from(VOTES), n_classes=st.integers(3, 4), rate=rates, weighting=weightings)
def test_the_bound_of_votes_for_more_classes_is_the_product_too(seed, kind, n_classes, rate, weighting):
    model = model_of(kind, "tree", n_estimators=8, learning_rate=rate)
    X, y = data(seed, n_classes)
    fitted(model, X, y, weights_of(weighting, seed, len(y)))
    assert_product(model)


def assert_product(model):
    """To 1e-9; an error near 2**-61, the last bit of the integer weights, has fewer digits."""
    errors = model.estimator_errors_
    tolerance = 1e-9 + 2.0**-58 / np.min(errors, where=errors > 0, initial=1.0)
    np.testing.assert_allclose(model.training_error_bound_, np.cumprod(model.normalizers_), rtol=tolerance)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds, kind=kinds, learner=learners, n_classes=st.integers(2, 4), rate=rates, weighting=weightings,
    resample=st.booleans(),
)  # fmt: skip
def test_all_prediction_methods_are_consistent(seed, kind, learner, n_classes, rate, weighting, resample):
    options = {"learning_rate": rate, "resample": resample, "random_state": 3}
    model = model_of(kind, learner, n_estimators=6, **options)
    assume(model is not None and (n_classes == 2 or kind in SEVERAL_KINDS))
    X, y = data(seed, n_classes)
    weight = weights_of(weighting, seed, len(y))
    fitted(model, X, y, weight)
    other = np.concatenate([X, np.random.default_rng(seed).normal(size=(20, 3)) * 3])
    proba = model.predict_proba(other)
    assert proba.shape == (len(other), n_classes)
    assert np.all(np.isfinite(proba) & (proba >= 0) & (proba <= 1))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    predicted, raw = model.predict(other), model.decision_function(other)
    assert np.array_equal(predicted, model.classes_[np.argmax(proba, axis=1)])
    largest = model.classes_[(raw > 0).astype(int) if raw.ndim == 1 else np.argmax(raw, axis=1)]
    assert np.all((largest == predicted) | tied(raw))
    for name in ("predict", "predict_proba", "decision_function"):
        last = list(getattr(model, f"staged_{name}")(other))[-1]
        assert np.array_equal(last, getattr(model, name)(other))
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(again.predict_proba(other), proba)
    margins = model.margins(X, y)
    assert np.all(np.abs(margins) <= 1 + 1e-12)
    taking_part = np.ones(len(y), bool) if weight is None else weight > 0
    assert np.all((model.sample_weights_ > 0) == taking_part)
    np.testing.assert_allclose(model.sample_weights_.sum(), 1.0)
    assert np.all(model.outlier_scores(X, y) >= 0)


@QUICK
@given(seed=seeds, kind=kinds, learner=st.sampled_from(OWN), n_classes=st.integers(2, 4), rate=rates)
def test_whole_weights_are_copies(seed, kind, learner, n_classes, rate):
    model = model_of(kind, learner, n_estimators=6, learning_rate=rate)
    assume(n_classes == 2 or kind in SEVERAL_KINDS)
    X, y = data(seed, n_classes)
    copies = weights_of("whole", seed, len(y)).astype(int)
    weighted = fitted(model, X, y, copies)
    scores, alphas = weighted.decision_function(X), weighted.estimator_weights_
    fitted(model, np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert np.array_equal(model.estimator_weights_, alphas)
    assert np.array_equal(model.decision_function(X), scores)


@QUICK
@given(
    seed=seeds, kind=kinds, learner=learners, n_classes=st.integers(2, 3), weighting=weightings,
    first=st.integers(1, 5), resample=st.booleans(),
)  # fmt: skip
def test_a_warm_start_is_one_long_fit(seed, kind, learner, n_classes, weighting, first, resample):
    options = {"random_state": seed % 1000, "resample": resample}
    warm = model_of(kind, learner, n_estimators=first, warm_start=True, **options)
    assume(warm is not None and (n_classes == 2 or kind in SEVERAL_KINDS))
    X, y = data(seed, n_classes)
    weight = weights_of(weighting, seed, len(y))
    long = fitted(model_of(kind, learner, n_estimators=7, **options), X, y, weight)
    fitted(warm, X, y, weight)
    assume("perfect" not in warm.stop_reason_)  # a finished fit has no further rounds
    fitted(warm.set_params(n_estimators=7), X, y, weight)
    assert np.array_equal(warm.decision_function(X), long.decision_function(X))
    for name in ("estimator_weights_", "estimator_errors_", "sample_weights_"):
        assert np.array_equal(getattr(warm, name), getattr(long, name))
    np.testing.assert_allclose(warm.training_error_bound_, long.training_error_bound_, rtol=1e-12)
    assert warm.history_["round"] == long.history_["round"]


@QUICK
@given(seed=seeds, kind=kinds, learner=st.sampled_from(OWN), n_classes=st.integers(2, 4))
def test_the_order_of_the_rows_does_not_matter(seed, kind, learner, n_classes):
    assume(n_classes == 2 or kind in SEVERAL_KINDS)
    X, y = data(seed, n_classes)
    order = np.random.default_rng(seed).permutation(len(y))
    one = fitted(model_of(kind, learner, n_estimators=6), X, y)
    other = fitted(model_of(kind, learner, n_estimators=6), X[order], y[order])
    assert np.array_equal(one.decision_function(X), other.decision_function(X))
