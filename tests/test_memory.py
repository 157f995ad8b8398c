import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

import all_estimators
import hedgerow as hr
from all_estimators import small
from hedgerow.bagging.pair_losses import PairLosses
from hedgerow.estimators import base
from hedgerow.memory import (
    FitSize,
    estimate_adaboost,
    estimate_adaboost_r2,
    estimate_bagging,
    estimate_forest,
    estimate_gradient_boosting,
    estimate_pairs,
    estimate_weak_trees,
)
from hedgerow.vision.images import integral_image

FEW = {"n_estimators": 3, "n_jobs": 1}
CLASSIFIERS = [
    *map(small, all_estimators.CLASSIFIERS),
    small(hr.AdaBoostClassifier, algorithm="gentle"),
    hr.AdaBoostClassifier(LogisticRegression(), n_estimators=1),
]
REGRESSORS = [
    *map(small, all_estimators.REGRESSORS),
    hr.GradientBoostingRegressor(estimator=LinearRegression(), **FEW),
]
MODELS = [*CLASSIFIERS, *REGRESSORS]
NAMES = [f"{type(m).__name__}-{i}" for i, m in enumerate(MODELS)]


def rows(n, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    noisy = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, (noisy > 0).astype(np.int64), noisy


# --- fits


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_a_fit_without_memory_is_refused_and_leaves_the_model_unchanged(monkeypatch, model):
    X, labels, numbers = rows(300)
    y = labels if model in CLASSIFIERS else numbers
    model.fit(X, y)
    before, predicted = pickle.dumps(model), model.predict(X)
    monkeypatch.setenv("HEDGEROW_MEMORY", "1kB")
    with pytest.raises(MemoryError) as caught:
        model.fit(X[::-1], y[::-1])
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"fitting {type(model).__name__} to 300 rows of 4 columns needs about ")
    assert "; HEDGEROW_MEMORY allows 1.0 kB: use fewer rows" in message
    assert pickle.dumps(model) == before
    monkeypatch.delenv("HEDGEROW_MEMORY")
    np.testing.assert_array_equal(model.predict(X), predicted)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_a_huge_broadcast_table_is_refused_by_its_shape(monkeypatch, model):
    monkeypatch.setenv("HEDGEROW_MEMORY", "8GB")
    X = np.broadcast_to(np.float64(1.5), (10**9, 1000))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"to 1,000,000,000 rows of 1,000 columns needs about"):
            type(model)(**model.get_params(deep=False)).fit(X, np.broadcast_to(np.int64(1), 10**9))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", [sparse.coo_matrix, sparse.coo_array], ids=["matrix", "array"])
@pytest.mark.parametrize(
    "model",
    [
        *map(small, (hr.GradientBoostingClassifier, hr.AdaBoostClassifier, hr.RandomForestClassifier)),
        small(hr.BaggingClassifier),
        CLASSIFIERS[-1],
    ],
    ids=str,
)
def test_a_huge_sparse_table_is_refused_by_its_shape(monkeypatch, make, model):
    monkeypatch.setenv("HEDGEROW_MEMORY", "8GB")
    X = make((np.ones(2), ([0, 10**9 - 1], [0, 9_999])), shape=(10**9, 10_000))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"to 1,000,000,000 rows of 10,000 columns needs about"):
            model.fit(X, np.broadcast_to(np.int64(1), 10**9))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_the_memory_of_an_evaluation_set_is_counted(monkeypatch):
    X, y, _ = rows(2000)
    model = hr.GradientBoostingClassifier(**FEW)
    need = sum(estimate_gradient_boosting(FitSize(name="", n_rows=2000, n_columns=4, n_rounds=3)).values())
    monkeypatch.setenv("HEDGEROW_MEMORY", str(need + 100_000))
    model.fit(X, y)
    for times, message in (
        (20, r"^fitting .* to 2,000 rows .* a smaller eval_set"),
        (2000, r"^evaluating an eval"),
    ):
        with pytest.raises(MemoryError, match=message):
            model.fit(X, y, eval_set=(np.tile(X, (times, 1)), np.tile(y, times)))


@pytest.mark.parametrize(("form", "n_copies"), [(np.asarray, 0), (np.asfortranarray, 1)])
def test_the_values_of_linear_leaves_are_counted(form, n_copies):
    X, _, y = rows(20_000, n_columns=30)
    X, peaks = form(X), []
    for linear in (False, True):
        model = hr.GradientBoostingRegressor(max_leaf_nodes=8, linear_leaves=linear, **FEW)
        model.fit(X, y)  # imports and caches
        tracemalloc.start()
        model.fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    size = FitSize(name="", n_rows=20_000, n_columns=30, n_rounds=3)
    without, estimate = (
        sum(
            estimate_gradient_boosting(
                replace(size, linear_leaves=linear, is_copied=n_copies > 0), 8
            ).values()
        )
        for linear in (False, True)
    )
    assert peaks[1] - peaks[0] - 100_000 < estimate - without < n_copies * X.nbytes + 100_000


def test_thousands_of_classes_are_counted_by_their_scores(monkeypatch):
    X, _, _ = rows(6000)
    monkeypatch.setenv("HEDGEROW_MEMORY", "300MB")
    with pytest.raises(MemoryError, match=r"and 3,000 outputs needs about .* \(.*gradients \d+ MB"):
        hr.GradientBoostingClassifier(n_estimators=1, n_jobs=1).fit(X, np.arange(6000) % 3000)


# --- predictions


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_predictions_are_refused_by_their_size(monkeypatch, model):
    X, labels, numbers = rows(300)
    model.fit(X, labels if model in CLASSIFIERS else numbers)
    monkeypatch.setenv("HEDGEROW_MEMORY", "100kB")
    model.predict(X[:50])
    if isinstance(model, hr.SchapireBoostClassifier | hr.AdaBoostRegressor):
        return  # one number per row
    large = np.broadcast_to(X[0], (10**9, 4))
    with pytest.raises(MemoryError, match=r"for 1,000,000,000 rows with . outputs needs about"):
        model.predict(large)


def test_leaves_of_many_trees_and_stages_of_medians_are_refused(monkeypatch):
    X, y, numbers = rows(300)
    boosted, forest = (
        hr.GradientBoostingClassifier(**FEW).fit(X, y),
        hr.RandomForestClassifier(**FEW).fit(X, y),
    )
    medians = hr.AdaBoostRegressor(**FEW).fit(X, numbers)
    monkeypatch.setenv("HEDGEROW_MEMORY", "2kB")
    monkeypatch.setattr(base, "_MAX_UNCHECKED_PREDICTIONS", 0)
    for predict in (boosted.apply, forest.apply, lambda X: next(iter(medians.staged_predict(X)))):
        with pytest.raises(MemoryError, match="300 rows"):
            predict(X)


def test_pairs_of_many_voters_are_refused(monkeypatch):
    monkeypatch.setenv("HEDGEROW_MEMORY", "1GB")
    with pytest.raises(MemoryError, match=r"^comparing all pairs of 20,000 voters needs about 35 GB"):
        PairLosses.of([], n_voters=20_000, n_classes=2)


def test_integral_images_of_huge_photographs_are_refused(monkeypatch):
    monkeypatch.setenv("HEDGEROW_MEMORY", "1MB")
    with pytest.raises(MemoryError, match=r"^the integral image of 500 x 400 pixels needs about 6.4 MB"):
        integral_image(np.zeros((400, 500), np.uint8))


# --- estimates are near the measured memory


def measured(monkeypatch, model, X, y, **more):
    """The estimate of a fit, divided by its measured peak."""
    model.fit(X, y, **more)  # compilation and imports are not counted
    estimates_and_start = []

    def record(_size, *estimates, **_advice):
        if set(estimates[0]) not in ({"codes", "targets"}, {"rows"}):
            tracemalloc.reset_peak()
            estimates_and_start.append(
                (sum(sum(one.values()) for one in estimates), tracemalloc.get_traced_memory()[0])
            )

    monkeypatch.setattr(FitSize, "require", record)
    tracemalloc.start()
    try:
        model.fit(X, y, **more)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    estimate, before = estimates_and_start[0]
    return estimate / (peak - before)


CASES = {
    "boosting": (hr.GradientBoostingClassifier(n_estimators=3, n_jobs=1), 60_000, 10),
    "boosting wide": (hr.GradientBoostingRegressor(n_estimators=3, n_jobs=1), 6_000, 100),
    "boosting stopped": (
        hr.GradientBoostingClassifier(n_estimators=3, early_stopping=True, n_jobs=1),
        60_000,
        10,
    ),
    "adaboost": (hr.AdaBoostClassifier(n_estimators=3, n_jobs=1), 60_000, 10),
    "gentle": (hr.AdaBoostClassifier(n_estimators=3, algorithm="gentle", n_jobs=1), 60_000, 10),
    "logitboost": (hr.LogitBoostClassifier(n_estimators=3, n_jobs=1), 60_000, 10),
    "r2": (hr.AdaBoostRegressor(n_estimators=3, n_jobs=1), 60_000, 10),
    "stump": (hr.DecisionStump(n_jobs=1), 60_000, 10),
    "forest": (hr.RandomForestRegressor(n_estimators=10, n_jobs=1, random_state=0), 8_000, 5),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_estimates_are_near_the_memory_of_fits(monkeypatch, case, order):
    model, n, n_columns = CASES[case]
    X, labels, numbers = rows(n, n_columns)
    y = numbers if "Regressor" in type(model).__name__ else labels
    ratio = measured(monkeypatch, model, np.asarray(X, order=order), y)
    assert 0.6 < ratio < 2.4, ratio


def test_estimates_are_near_the_memory_of_fits_of_many_classes(monkeypatch):
    X, _, _ = rows(4000, 5)
    y = np.arange(4000) % 100
    for model in (
        hr.LogitBoostClassifier(n_estimators=2, n_jobs=1),
        hr.AdaBoostClassifier(n_estimators=2, n_jobs=1),
    ):
        assert 0.6 < measured(monkeypatch, model, X, y) < 2.4


# --- estimates grow with the size


SIZES = st.tuples(st.integers(1, 10**7), st.integers(1, 1000), st.integers(1, 1000))


@given(sizes=SIZES, more=st.tuples(st.integers(0, 10**6), st.integers(0, 100), st.integers(0, 100)))
@settings(max_examples=100, deadline=None)
def test_estimates_never_fall_when_a_table_grows(sizes, more):
    larger = tuple(a + b for a, b in zip(sizes, more, strict=True))
    for estimate in (
        lambda size: estimate_gradient_boosting(replace(size, n_evaluated=size.n_rows // 10)),
        lambda size: estimate_weak_trees(size, size.n_outputs),
        lambda size: estimate_adaboost(size, regression_trees=True, n_nodes=size.n_columns),
        lambda size: estimate_adaboost_r2(size, n_evaluated=size.n_columns),
        lambda size: estimate_forest(size, n_drawn=size.n_rows, n_leaves=size.n_rows, oob=True),
        lambda size: estimate_forest(
            size, n_drawn=size.n_rows, n_leaves=size.n_rows, classes=False, keep_rows=True
        ),
        lambda size: estimate_bagging(size, n_drawn=size.n_rows, n_chosen=size.n_columns, n_jobs=2, oob=True),
        lambda size: estimate_pairs(size.n_columns, size.n_outputs),
    ):
        small, large = (
            FitSize(name="", n_rows=n, n_columns=c, n_outputs=k, n_rounds=k) for n, c, k in (sizes, larger)
        )
        assert 0 < sum(estimate(small).values()) <= sum(estimate(large).values())


def test_the_estimate_of_a_copied_table_is_not_smaller():
    for n, c in ((1000, 5), (10_000, 500), (100, 20_000)):
        size = FitSize(name="", n_rows=n, n_columns=c)
        copied = estimate_gradient_boosting(replace(size, is_copied=True))
        assert sum(copied.values()) >= sum(estimate_gradient_boosting(size).values())


@pytest.mark.parametrize("max_samples", [50, np.int64(50), np.int32(50)])
def test_max_samples_of_a_forest_may_be_any_integer_type(monkeypatch, max_samples):
    X, y, _ = rows(20_000)
    estimates = []
    monkeypatch.setattr(FitSize, "require", lambda _size, *parts, **_advice: estimates.extend(parts))
    hr.RandomForestClassifier(max_samples=max_samples, random_state=0, **FEW).fit(X, y)
    assert estimates[-1]["trees"] < 10_000  # 3 trees of at most 50 leaves
