"""Warm starts, interrupts, and failing fits that leave the old model unchanged."""

import signal as signals

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from boosting_cases import classes, classifier, numbers, regressor, same_forests
from hedgerow.boosting import gradient_boosting as fitting
from hedgerow.growing.grower import TreeGrower


def noisy(n_rows=500):
    return numbers(n_rows, noise=2.0)


# --- warm start


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"newton": False},
        {"loss": "huber"},
        {"subsample": 0.5, "max_features": 0.5, "colsample_bytree": 0.5},
        {"max_bins": 20},
        {"estimator": Ridge(), "subsample": 0.7},
    ],
)
def test_a_warm_start_is_one_long_fit(parameters):
    X, y = numbers()
    long = regressor(n_estimators=12, random_state=7, **parameters).fit(X, y)
    warm = regressor(n_estimators=5, random_state=7, warm_start=True, **parameters).fit(X, y)
    short = warm.predict(X)
    warm.set_params(n_estimators=12).fit(X, y)
    assert warm.predict(X).tobytes() == long.predict(X).tobytes() != short.tobytes()
    assert warm.n_estimators_ == 12
    assert warm.history_["round"] == list(range(12))
    assert warm.history_["leaves"] == long.history_["leaves"]
    if "estimator" not in parameters:
        assert same_forests(warm, long)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_of_classes_with_categories(n_classes):
    X, y = classes(n_classes=n_classes)
    X[:, 3] = np.round(X[:, 3] * 2)
    names = np.array(["a", "b", "c"])[y]
    settings = {"categorical_features": [3], "random_state": 0}
    long = classifier(n_estimators=8, **settings).fit(X, names)
    warm = classifier(n_estimators=3, warm_start=True, **settings).fit(X, names)
    for n in (5, 8):
        warm.set_params(n_estimators=n).fit(X, names)
    assert same_forests(warm, long)
    assert warm.predict_proba(X).tobytes() == long.predict_proba(X).tobytes()


def test_a_warm_start_keeps_a_random_seed():
    X, y = numbers()
    warm = regressor(n_estimators=4, subsample=0.5, warm_start=True).fit(X, y)
    seed = warm._seed
    warm.set_params(n_estimators=8).fit(X, y)
    assert same_forests(warm, regressor(n_estimators=8, subsample=0.5, random_state=seed).fit(X, y))


def test_a_warm_start_may_change_the_learning_rate_and_the_rows():
    X, y = numbers(600)
    warm = regressor(warm_start=True).fit(X[:300], y[:300])
    warm.set_params(n_estimators=20, learning_rate=0.5).fit(X[300:], y[300:])
    assert warm.n_estimators_ == 20
    assert warm.score(X[300:], y[300:]) > regressor().fit(X[:300], y[:300]).score(X[300:], y[300:])


def test_a_warm_start_of_no_more_rounds_changes_nothing():
    X, y = numbers()
    model = regressor(warm_start=True).fit(X, y, eval_set=(X, y))
    history, before = dict(model.history_), model.predict(X)
    model.fit(X, y)
    assert np.array_equal(model.predict(X), before)
    assert model.history_ == history


def test_the_history_of_a_warm_start_continues_that_of_the_model():
    X, y = noisy()
    model = regressor(
        n_estimators=60, learning_rate=0.5, early_stopping=True, random_state=0, warm_start=True
    )
    model.set_params(random_state=0).fit(X, y)
    kept = model.n_estimators_
    assert len(model.history_["round"]) > kept
    model.set_params(n_estimators=kept + 2, early_stopping=False).fit(X, y)
    assert model.history_["round"] == list(range(kept + 2))
    assert np.isnan(model.history_["validation_loss"]).tolist() == [False] * kept + [True] * 2
    assert model.best_iteration_ is None


def test_a_fit_without_warm_start_is_a_new_fit():
    X, y = numbers()
    model = regressor(n_estimators=20).fit(X, y)
    model.set_params(n_estimators=10).fit(X, -y)
    assert same_forests(model, regressor().fit(X, -y))


def test_a_warm_start_rejects_changed_parameters():
    X, y = numbers()
    model = regressor(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=9 is below the 10 rounds of the fitted model"):
        model.set_params(n_estimators=9).fit(X, y)
    model.set_params(n_estimators=12)
    with pytest.raises(ValueError, match="X has 3 features, but GradientBoostingRegressor is expecting 4"):
        model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"loss='poisson' cannot continue a model fitted with SquaredError"):
        model.set_params(loss="poisson").fit(X, np.exp(y))
    with pytest.raises(ValueError, match=r"estimator=Ridge\(\) cannot continue a model of trees"):
        model.set_params(loss="squared_error", estimator=Ridge()).fit(X, y)
    other = regressor(warm_start=True, estimator=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="estimator=None cannot continue a model of other regressors"):
        other.set_params(estimator=None, n_estimators=12).fit(X, y)
    Xc, yc = classes()
    model = classifier(warm_start=True).fit(Xc, yc).set_params(n_estimators=12)
    with pytest.raises(ValueError, match="y holds the label 2, which is not among the training classes"):
        model.fit(Xc, yc + 1)


# --- interrupts and failures


def interrupt_at(number):
    def callback(done):
        if done.number == number:
            signals.raise_signal(signals.SIGINT)

    return callback


@pytest.mark.parametrize("number", [0, 3])
def test_an_interrupt_leaves_a_model_of_the_rounds_done(number):
    X, y = numbers()
    with pytest.warns(UserWarning, match="fit was interrupted: the model holds the rounds finished so far"):
        model = regressor().fit(X, y, callbacks=[interrupt_at(number)])
    assert model.n_estimators_ == number + 1
    assert same_forests(model, regressor(n_estimators=number + 1).fit(X, y))
    assert model.history_["round"] == list(range(number + 1))


@pytest.mark.parametrize("trees", [0, 7])
def test_an_interrupt_in_the_middle_of_a_round(monkeypatch, trees):
    X, y = classes(n_classes=3)
    grow = TreeGrower.grow

    def interrupted(self, measured, rows, tree):
        if tree == trees:
            raise KeyboardInterrupt
        return grow(self, measured, rows, tree)

    monkeypatch.setattr(TreeGrower, "grow", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = classifier(warm_start=True).fit(X, y)
    monkeypatch.undo()
    assert model.n_estimators_ == trees // 3  # an unfinished round is no round
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.apply(X).shape == (300, trees // 3 * 3)
    assert np.all(model.feature_importances_ >= 0)
    assert same_forests(model.fit(X, y), classifier().fit(X, y))  # and the fit can be continued


def test_an_interrupt_of_early_stopping_keeps_the_best_round():
    X, y = noisy()
    with pytest.warns(UserWarning, match="interrupted"):
        model = regressor(early_stopping=True, random_state=0, n_estimators=100, n_iter_no_change=100).fit(
            X, y, callbacks=[interrupt_at(50)]
        )
    best = int(np.argmin(model.history_["validation_loss"]))
    assert model.n_estimators_ == model.best_iteration_ + 1 == best + 1


def test_an_interrupt_of_other_learners():
    X, y = numbers()
    with pytest.warns(UserWarning, match="interrupted"):
        model = regressor(estimator=Ridge()).fit(X, y, callbacks=[interrupt_at(2)])
    assert np.array_equal(model.predict(X), regressor(estimator=Ridge(), n_estimators=3).fit(X, y).predict(X))


def test_a_second_interrupt_after_the_loop_leaves_the_old_model(monkeypatch):
    X, y = numbers()
    model = regressor().fit(X, y)
    before = vars(model).copy()

    class Interrupted(fitting.FitResult):
        def __init__(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "FitResult", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    assert vars(model) == before


def fail(_):
    raise RuntimeError("an error of the user")


@pytest.mark.parametrize(
    "bad",
    [
        lambda model, X, y: model.fit(X, y[:5]),
        lambda model, X, y: model.fit(X, np.full(len(y), np.nan)),
        lambda model, X, y: model.fit(X[:, :2], y, sample_weight=-np.ones(len(y))),
        lambda model, X, y: model.fit(X[:, :2], y, eval_set=(X, y)),
        lambda model, X, y: model.fit(X[:, :2], y, callbacks=[fail]),
        lambda model, X, y: model.set_params(max_bins=0).fit(X, y),
        lambda model, X, y: model.set_params(warm_start=True, n_estimators=20).fit(X, y, callbacks=[fail]),
    ],
)
def test_a_failed_fit_does_not_change_the_model(bad):
    X, y = numbers()
    model = regressor().fit(X, y)
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_") or name == "_seed"}
    before = model.predict(X)
    with pytest.raises((ValueError, RuntimeError)):
        bad(model, X, y)
    assert all(getattr(model, name) is value for name, value in fitted.items())
    assert np.array_equal(model.predict(X), before)
    assert same_forests(model, regressor().fit(X, y))


def test_an_error_in_a_callback_is_the_users_own():
    with pytest.raises(RuntimeError, match="an error of the user"):
        regressor().fit(*numbers(), callbacks=[fail])
