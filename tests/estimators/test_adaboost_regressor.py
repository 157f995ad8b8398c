"""AdaBoost.R2: comparison with plain Python, end of the fit, learners, rows, and the interface."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import DecisionTreeRegressor as TheirTree

from boosting_cases import numbers
from hedgerow.estimators.adaboost import AdaBoostRegressor
from hedgerow.estimators.decision_trees import DecisionTreeRegressor
from r2_cases import LOSSES, STUMP, Column, columns, noisy, same_bits

# --- the algorithm


def oracle(learner, X, y, n_rounds, loss, learning_rate):
    """AdaBoost.R2 by the book; `learner(X, y, D)` gives a function that predicts."""
    n = len(y)
    D = [1 / n] * n
    record = {"weights": [], "errors": [], "normalizers": [], "predicted": []}
    for _ in range(n_rounds):
        predicted = learner(X, y, D)(X)
        errors = [abs(a - b) for a, b in zip(y, predicted, strict=True)]
        shares = [e / max(errors) for e in errors]
        if loss == "square":
            shares = [share**2 for share in shares]
        if loss == "exponential":
            shares = [1 - math.exp(-share) for share in shares]
        mean = sum(d * share for d, share in zip(D, shares, strict=True))
        if mean >= 0.5:
            break
        beta = mean / (1 - mean)
        moved = [d * beta ** (learning_rate * (1 - share)) for d, share in zip(D, shares, strict=True)]
        D = [d / sum(moved) for d in moved]
        record["weights"].append(learning_rate * math.log(1 / beta))
        record["errors"].append(mean)
        record["normalizers"].append(sum(moved))
        record["predicted"].append(predicted)
    return record, D


def stump(X, y, D):
    """The best cut by weighted least squares, by trying all."""
    best = (math.inf, None)
    for column in range(X.shape[1]):
        values = np.unique(X[:, column])
        for cut in (values[:-1] + values[1:]) / 2:
            left = X[:, column] <= cut
            means = [np.average(y[side], weights=np.array(D)[side]) for side in (left, ~left)]
            squares = float(np.sum(np.array(D) * (y - np.where(left, *means)) ** 2))
            if squares < best[0] - 1e-12:
                best = squares, (column, cut, means)
    column, cut, means = best[1]
    return lambda rows: np.where(rows[:, column] <= cut, *means).tolist()


def their_tree(X, y, D):
    return TheirTree(max_depth=2).fit(X, y, sample_weight=np.array(D) * len(y)).predict


@pytest.mark.parametrize(("loss", "learning_rate"), [*zip(LOSSES, (1.0, 0.5, 1.0), strict=True)])
@pytest.mark.parametrize(("ours", "theirs"), [(STUMP, stump), (TheirTree(max_depth=2), their_tree)])
def test_every_round_is_that_of_the_book(ours, theirs, loss, learning_rate):
    X, y = noisy(60)
    model = AdaBoostRegressor(
        ours, n_estimators=8, loss=loss, learning_rate=learning_rate, resample=False
    ).fit(X, y)
    record, D = oracle(theirs, X, y, 8, loss, learning_rate)
    assert model.n_estimators_ == len(record["weights"]) > 2
    np.testing.assert_allclose(model.estimator_weights_, record["weights"], rtol=1e-9)
    np.testing.assert_allclose(model.estimator_errors_, record["errors"], rtol=1e-9)
    np.testing.assert_allclose(model.normalizers_, record["normalizers"], rtol=1e-9)
    np.testing.assert_allclose(model.sample_weights_, D, rtol=1e-9)
    np.testing.assert_allclose(
        [tree.predict(X) for tree in model.estimators_], record["predicted"], rtol=1e-9
    )


def test_two_rounds_by_hand():
    model, X = columns([0, 0, 1, 2], [4, 2, 0, 0])
    # Errors are the columns. Round 1: L = 0, 0, 1/2, 1, mean 3/8, beta 3/5; D is as 3/5, 3/5, sqrt(3/5), 1.
    D = np.array([0.6, 0.6, math.sqrt(0.6), 1.0])
    # Round 2: L = 1, 1/2, 0, 0.
    second = 0.9 / D.sum()
    np.testing.assert_allclose(model.estimator_errors_, [3 / 8, second])
    np.testing.assert_allclose(model.edges_, [1 / 8, 0.5 - second])
    np.testing.assert_allclose(model.estimator_weights_, [math.log(5 / 3), math.log(1 / second - 1)])
    np.testing.assert_allclose(model.normalizers_[0], D.sum() / 4)
    after = D * (second / (1 - second)) ** np.array([0, 0.5, 1, 1])
    np.testing.assert_allclose(model.sample_weights_, after / after.sum())
    np.testing.assert_allclose(model.estimators_[1].weight_, 4 * D / D.sum())
    assert list(map(list, model.staged_predict(X))) == [[0, 0, 1, 2], [4, 2, 0, 0]]  # the second is heavier
    assert model.stop_reason_ == "all 2 rounds are done"


def test_three_members_agree_on_the_weighted_median():
    model, X = columns([0, 0, 1, 2], [4, 2, 0, 0], [1, 5, 2, 1], n_estimators=3)
    assert model.estimator_weights_.max() < model.estimator_weights_.sum() / 2
    assert model.predict(X).tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("parameters", [{}, {"estimator": STUMP}, {"estimator": Ridge(), "resample": True}])
def test_stages_are_the_predictions_of_shorter_fits(parameters):
    X, y = noisy()
    model = AdaBoostRegressor(n_estimators=6, random_state=0, **parameters).fit(X, y)
    stages = list(model.staged_predict(X))
    for n, stage in enumerate(stages, start=1):
        shorter = clone(model).set_params(n_estimators=n).fit(X, y)
        assert stage.tobytes() == shorter.predict(X).tobytes()
    scores = list(model.staged_score(X, y))
    assert scores == [r2_score(y, stage) for stage in stages]
    assert scores[-1] == model.score(X, y)


# --- end of the fit


def test_a_perfect_learner_decides_alone_and_ends_the_fit():
    model, X = columns([0, 0, 1, 2], [4, 2, 0, 0], [0, 0, 0, 0], [9, 9, 9, 9])
    assert model.n_estimators_ == 3
    assert model.predict(X).tolist() == [0, 0, 0, 0]
    assert model.estimator_weights_[2] > model.estimator_weights_[:2].sum()
    assert model.estimator_errors_[2] == model.normalizers_[2] == 0
    assert model.stop_reason_.startswith("the learner of round 3 is perfect")
    assert model.sample_weights_.tobytes() == columns([0, 0, 1, 2], [4, 2, 0, 0])[0].sample_weights_.tobytes()


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("offset", [0.0, 0.1, 1e9])
def test_rounding_does_not_hide_a_perfect_tree(offset, resample):
    X = np.repeat(np.arange(4.0), 10)[:, np.newaxis]
    y = offset + np.array([0.1, 0.7, 0.3, 0.2])[X[:, 0].astype(int)]
    model = AdaBoostRegressor(resample=resample, random_state=0).fit(X, y)
    assert model.n_estimators_ == 1
    assert "perfect" in model.stop_reason_
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e12])
def test_a_constant_target_is_learned_at_once(value, estimator):
    X, _ = numbers(30)
    model = AdaBoostRegressor(estimator).fit(X, np.full(30, value))
    assert model.n_estimators_ == 1
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-12)


def test_a_first_learner_at_chance_is_kept_with_a_warning():
    with pytest.warns(UserWarning, match=r"mean loss of 0.75 in round 1, and 1/2 is chance: the model has"):
        model, X = columns([1, 1, 1, 0], [4, 2, 0, 0])
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.estimator_errors_.tolist() == [0.75]
    assert model.predict(X).tolist() == [1, 1, 1, 0]
    assert model.sample_weights_.tolist() == [0.25] * 4
    assert "the model has this round only" in model.stop_reason_


def test_a_later_learner_at_chance_ends_the_fit_without_it():
    X, y = np.zeros((5, 1)), [0.0, 0.0, 0.0, 0.0, 10.0]
    model = AdaBoostRegressor(DummyRegressor(), resample=False).fit(X, y)  # no warning: the usual end of R2
    assert model.predict(X).tolist() == [2.0] * 5
    assert model.n_estimators_ == len(model.estimators_) == len(model.history_["round"]) == 1
    assert "in round 2, and 1/2 is chance" in model.stop_reason_


class Broken(Column):
    def fit(self, X, y, sample_weight=None):
        if self.random_state == 1:
            raise self.error
        return self

    error = RuntimeError("no second round")


class Interrupted(Broken):
    error = KeyboardInterrupt()


def test_a_learner_that_raises_is_named_with_its_round():
    X, y = noisy(20)
    with pytest.raises(ValueError, match=r"Broken\(\) failed in round 2: no second round"):
        AdaBoostRegressor(Broken(), random_state=0).fit(X, y)


def test_an_interrupt_keeps_the_rounds_before_it_and_raises_when_there_are_none():
    X, y = noisy(20)
    with pytest.warns(UserWarning, match="interrupted"):
        model = AdaBoostRegressor(Interrupted(), random_state=0).fit(X, y)
    assert model.n_estimators_ == 1
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        AdaBoostRegressor(Interrupted(), random_state=1).fit(X, y)


def test_fit_rejects_predictions_that_are_not_numbers():
    X, y = np.full((5, 1), np.nan), np.arange(5.0)
    with pytest.raises(ValueError, match=r"Column.* predicted a value that is not finite"):
        AdaBoostRegressor(Column(), random_state=0).fit(X, y)


def test_fit_rejects_numbers_beyond_float64():
    X, y = noisy(50)
    with pytest.raises(FloatingPointError, match=r"learning_rate=1e\+300 gives a weight"):
        AdaBoostRegressor(learning_rate=1e300).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\] is -1e\+308; the targets of a regression must lie within"):
        AdaBoostRegressor(Column(), random_state=0).fit([[0.0], [1.0]], [-1e308, 1e308])
    learned = AdaBoostRegressor(Column(), random_state=0, n_estimators=1)
    with pytest.warns(UserWarning, match="boosting stopped"):  # a learner may predict any finite number
        assert learned.fit([[1.7e308], [-1.7e308]], [-1e100, 1e100]).predict([[1.7e308]]) == [1.7e308]


# --- learners


@pytest.mark.parametrize(
    ("estimator", "loss", "resample"),
    [
        (None, "linear", True),
        (None, "square", False),
        (STUMP, "exponential", True),
        (TheirTree(max_depth=3), "square", True),
        (TheirTree(max_depth=3), "exponential", False),
        (KNeighborsRegressor(), "linear", False),
        (make_pipeline(StandardScaler(), Ridge()), "linear", True),
    ],
)
def test_any_regressor_is_boosted_and_fits_are_repeated(estimator, loss, resample):
    X, y = noisy()
    model = AdaBoostRegressor(estimator, n_estimators=10, loss=loss, resample=resample, random_state=3)
    first = model.fit(X, y).predict(X)
    assert model.score(X, y) > 0.3
    assert np.all((model.edges_ > 0) & (model.edges_ <= 0.5))
    assert math.isclose(math.fsum(model.sample_weights_), 1.0, rel_tol=1e-12)
    assert clone(model).fit(X, y).predict(X).tobytes() == first.tobytes()
    predicted = np.array([member.predict(X) for member in model.estimators_])
    assert np.all(np.any(predicted == first, axis=0))  # a median is the prediction of one member


def test_boosting_beats_its_learner():
    X, y = noisy(600)
    train, test = slice(0, 400), slice(400, 600)
    alone = DecisionTreeRegressor().fit(X[train], y[train]).score(X[test], y[test])
    for resample in (False, True):
        model = AdaBoostRegressor(resample=resample, random_state=0).fit(X[train], y[train])
        assert model.score(X[test], y[test]) > alone + 0.05


def test_resampling_draws_other_rows_for_another_seed():
    X, y = noisy()
    one, other, weighted = (
        AdaBoostRegressor(n_estimators=5, resample=resample, random_state=seed).fit(X, y).predict(X)
        for resample, seed in [(True, 0), (True, 1), (False, 0)]
    )
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, weighted)


def test_importances_find_the_column_that_matters():
    X, y = noisy()
    X = np.column_stack([X, np.random.default_rng(5).normal(size=len(X))])
    for resample in (False, True):
        model = AdaBoostRegressor(n_estimators=20, resample=resample, random_state=0).fit(X, y)
        assert math.isclose(model.feature_importances_.sum(), 1.0)
        assert np.argmax(model.feature_importances_) == 0
        assert model.importances("split").sum() == sum(model.history_["leaves"]) - 20
    with pytest.raises(AttributeError, match="importances needs trees"):
        AdaBoostRegressor(Ridge()).fit(X, y).feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match="shape_functions needs a sum of stumps"):
        model.shape_functions()


# --- rows and weights


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_whole_weight_is_that_many_copies_and_zero_is_no_row(loss, estimator, resample):
    X, y = noisy()
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    y[weight == 0] = 1e9
    rows = np.random.default_rng(3).permutation(np.repeat(np.arange(len(y)), weight))
    model = AdaBoostRegressor(estimator, n_estimators=10, loss=loss, resample=resample, random_state=0)
    weighted = model.fit(X, y, sample_weight=weight).predict(X)
    assert model.sample_weights_[weight == 0].tolist() == [0.0] * np.sum(weight == 0)
    copied = clone(model).fit(X[rows], y[rows]).predict(X)
    if estimator is None:
        assert weighted.tobytes() == copied.tobytes()
    np.testing.assert_allclose(weighted, copied, rtol=1e-6)


def test_threads_and_chunks_do_not_change_a_bit(monkeypatch):
    X, y = noisy(3000)
    y += np.random.default_rng(0).normal(size=len(y))
    parameters = {"n_estimators": 6, "loss": "exponential", "early_stopping": True, "random_state": 0}
    expected = AdaBoostRegressor(n_jobs=1, **parameters).fit(X, y)
    monkeypatch.setattr("hedgerow.growing.weak_tree._VALUES_PER_THREAD", 10)
    for n_jobs, chunk in [(2, 700), (4, 64), (1, 1000)]:
        model = AdaBoostRegressor(n_jobs=n_jobs, **parameters)
        model._chunk_rows = chunk
        model.fit(X, y)
        assert same_bits(model, expected, X)
        assert model.history_["validation_loss"] == expected.history_["validation_loss"]


def test_members_receive_frames_and_sparse_matrices():
    X, y = noisy()
    for table in (pd.DataFrame(X).add_prefix("c"), sparse.csc_array(X)):
        AdaBoostRegressor(KNeighborsRegressor(), n_estimators=2, random_state=0).fit(table, y).predict(table)


def test_missing_values_and_categories_are_learned():
    random = np.random.default_rng(0)
    kind = random.integers(0, 4, 400)
    missing = random.random(400) < 0.3
    x = np.where(missing, np.nan, random.normal(size=400))
    y = np.array([0.0, 5.0, 1.0, 4.0])[kind] + 3.0 * missing + 0.1 * random.normal(size=400)
    frame = pd.DataFrame({"x": x, "kind": pd.Categorical(np.array(["a", "b", "c", "d"])[kind])})
    model = AdaBoostRegressor(n_estimators=10, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.95
    numbered = np.column_stack([x, kind])
    tree = DecisionTreeRegressor(max_depth=3, categorical_features=[1])
    by_set = AdaBoostRegressor(tree, n_estimators=10, random_state=0).fit(numbered, y)
    assert by_set.predict(numbered).tobytes() == model.predict(frame).tobytes()
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostRegressor(Ridge()).fit(numbered, y)


# --- the interface


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "huber"}, "loss='huber' is not allowed: it must be 'linear' or 'square' or 'exponential'"),
        ({"n_estimators": 0}, "n_estimators=0 is not allowed: it must be an integer >= 1"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 is not allowed: it must be a number > 0"),
        ({"estimator": DecisionTreeClassifier()}, "estimator=DecisionTreeClassifier.* must be a regressor"),
        ({"estimator": Ridge}, "must be a regressor"),
        ({"estimator": DecisionTreeRegressor(max_depth=0)}, "max_depth=0 is not allowed"),
    ],
)
def test_fit_rejects_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostRegressor(**parameters).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_a_model_is_pickled(estimator):
    X, y = noisy(50)
    model = AdaBoostRegressor(estimator, n_estimators=3, learning_rate=0.1).fit(X, y)
    assert same_bits(pickle.loads(pickle.dumps(model)), model, X)  # noqa: S301


# --- members


def test_members_do_not_change_with_the_parameters():
    X, y = noisy()
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3).fit(X, y)
    expected = [member.predict(X).tobytes() for member in model.estimators_]
    model.set_params(estimator=DecisionTreeRegressor(max_depth=5))
    assert [member.max_depth for member in model.estimators_] == [2, 2, 2]
    model.set_params(estimator=Ridge())
    assert [member.predict(X).tobytes() for member in model.estimators_] == expected
    assert len(model.feature_importances_) == X.shape[1]


def test_an_unfitted_model_has_no_members():
    with pytest.raises(NotFittedError):
        _ = AdaBoostRegressor().estimators_
