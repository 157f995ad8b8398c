"""AdaBoost.R2: evaluation sets, early stopping, callbacks, warm starts."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor as TheirTree

from hedgerow.estimators.adaboost import AdaBoostRegressor
from r2_cases import STUMP, columns, noisy, same_bits

# --- evaluation sets and callbacks


def test_evaluation_sets_follow_the_mean_absolute_error():
    X, y = noisy()
    other, weight = noisy(100, seed=7), np.random.default_rng(0).random(100)
    sets = [(X, y), (*other, weight)]
    for estimator in (None, Ridge()):
        model = AdaBoostRegressor(estimator, n_estimators=20, learning_rate=0.3, verbose=1)
        model.fit(X, y, eval_set=sets)
        first = [mean_absolute_error(y, stage) for stage in model.staged_predict(X)]
        second = [
            mean_absolute_error(other[1], stage, sample_weight=weight)
            for stage in model.staged_predict(other[0])
        ]
        np.testing.assert_allclose(model.history_["validation_loss"], first, rtol=1e-12)
        np.testing.assert_allclose(model.history_["validation_loss_1"], second, rtol=1e-12)
        assert model.history_["train_loss"] == model.history_["validation_loss"]


@pytest.mark.parametrize("held_out", [False, True])
def test_early_stopping_keeps_the_rounds_up_to_the_best(held_out):
    X, y = noisy(400)
    parameters = {"random_state": 1, "n_iter_no_change": 4}
    more = {} if held_out else {"eval_set": noisy(100, seed=7)}
    model = AdaBoostRegressor(n_estimators=300, early_stopping=True, **parameters).fit(X, y, **more)
    losses = model.history_["validation_loss"]
    assert model.best_iteration_ == np.argmin(losses) < 295
    assert model.n_estimators_ == model.best_iteration_ + 1 == len(model.estimators_) == len(losses) - 4
    kept = f"the {model.n_estimators_} rounds up to the best are kept"
    assert model.stop_reason_ == f"no improvement for 4 rounds: {kept}"
    if held_out:
        assert np.sum(model.sample_weights_ == 0) == 40
    else:
        plain = AdaBoostRegressor(n_estimators=model.n_estimators_, **parameters).fit(X, y)
        assert plain.predict(X).tobytes() == model.predict(X).tobytes()
        assert plain.sample_weights_.tobytes() == model.sample_weights_.tobytes()


def test_callbacks_receive_rounds_and_may_stop_the_fit():
    X, y = noisy()
    rounds = []
    callbacks = [rounds.append, lambda done: done.number == 3]
    model = AdaBoostRegressor(n_estimators=9).fit(X, y, callbacks=callbacks)
    assert [done.number for done in rounds] == [0, 1, 2, 3]
    assert [done.n_leaves for done in rounds] == model.history_["leaves"]
    assert model.n_estimators_ == 4
    assert model.stop_reason_ == "stopped by a callback or an interrupt after 4 rounds"


# --- warm starts


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "exponential", "resample": True},
        {"loss": "square", "estimator": STUMP, "learning_rate": 0.4},
        {"estimator": TheirTree(max_depth=2)},
        {"estimator": KNeighborsRegressor(), "loss": "square"},
        {"early_stopping": True, "n_iter_no_change": 50},
    ],
)
def test_a_warm_start_is_one_long_fit(parameters):
    X, y = noisy()
    more = {} if "early_stopping" in parameters else {"eval_set": noisy(50, seed=7)}
    weight = np.random.default_rng(4).random(len(y))
    long = AdaBoostRegressor(n_estimators=12, random_state=7, **parameters)
    warm = clone(long).set_params(n_estimators=5, warm_start=True).fit(X, y, weight, **more)
    long.fit(X, y, weight, **more)
    for n in (8, 12):
        warm.set_params(n_estimators=n).fit(X, y, weight, **more)
    if "early_stopping" in parameters:
        assert 5 < warm.n_estimators_ <= long.n_estimators_
        assert warm.estimator_errors_.tolist() == long.estimator_errors_[: warm.n_estimators_].tolist()
    else:
        assert same_bits(warm, long, X)
        assert warm.history_["validation_loss"] == long.history_["validation_loss"]
        assert warm.history_["round"] == list(range(long.n_estimators_))


@pytest.mark.filterwarnings("ignore:boosting stopped")  # a first member at chance
def test_a_warm_start_after_the_last_round_changes_nothing():
    for predictions in (
        ([0, 0, 1, 2], [0, 0, 0, 0], [4, 2, 0, 0]),
        ([1, 1, 1, 0], [4, 2, 0, 0], [0, 0, 1, 2]),
        ([0, 0, 1, 2], [1, 1, 1, 0], [4, 2, 0, 0]),
    ):
        warm, X = columns(*predictions, n_estimators=2, warm_start=True)
        long, _ = columns(*predictions, n_estimators=3)
        warm.set_params(n_estimators=3).fit(X, np.zeros(4))
        assert same_bits(warm, long, X)


def test_a_warm_start_rejects_another_loss_or_learner():
    X, y = noisy(50)
    model = AdaBoostRegressor(n_estimators=3, warm_start=True).fit(X, y)
    for change, message in [
        ({"n_estimators": 2}, "n_estimators=2 is below the 3 rounds"),
        ({"loss": "square"}, "loss='square' cannot continue a model fitted with loss='linear'"),
        ({"estimator": Ridge()}, r"estimator=Ridge\(\) cannot continue a model of trees"),
    ]:
        other = copy.copy(model).set_params(**change)
        with pytest.raises(ValueError, match=message):
            other.fit(X, y)
    members = AdaBoostRegressor(KNeighborsRegressor(), n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="estimator=None cannot continue a model of other regressors"):
        members.set_params(estimator=None).fit(X, y)
