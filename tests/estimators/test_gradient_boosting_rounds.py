"""Rounds: evaluation sets, early stopping, callbacks and progress output."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from boosting_cases import classes, classifier, numbers, regressor, same_forests
from hedgerow import EarlyStopping, TimeLimit
from hedgerow.boosting.folds import validation_rows
from hedgerow.estimators import boosting_base
from hedgerow.growing.grower import Quantiser
from terminal import Terminal

# --- history


def test_history_without_evaluation():
    X, y = numbers()
    history = regressor().fit(X, y).history_
    assert list(history) == ["round", "seconds", "leaves"]  # a loss costs a pass over the rows
    assert history["round"] == list(range(10))
    assert history["seconds"] == sorted(history["seconds"])
    assert history["leaves"] == [31] * 10


def test_history_follows_every_evaluation_set():
    X, y = numbers()
    half = slice(0, 150)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    model = regressor().fit(X, y, eval_set=[(X, y), (X[half], y[half], weight)])
    stages, history = list(model.staged_predict(X)), model.history_
    everywhere = [np.mean((stage - y) ** 2) / 2 for stage in stages]
    weighted = [np.average((stage[half] - y[half]) ** 2, weights=weight) / 2 for stage in stages]
    np.testing.assert_allclose(history["train_loss"], everywhere)
    np.testing.assert_allclose(history["validation_loss"], everywhere)
    np.testing.assert_allclose(history["validation_loss_1"], weighted)
    assert same_forests(model, regressor().fit(X, y))  # evaluation does not change the model
    assert model.best_iteration_ is None


def test_history_counts_the_leaves_of_all_classes():
    X, y = classes(n_classes=3)
    model = classifier(n_estimators=3, max_leaf_nodes=4).fit(X, y)
    assert model.history_["leaves"] == [12] * 3


def test_other_learners_have_no_leaves():
    X, y = numbers()
    assert regressor(estimator=Ridge()).fit(X, y).history_["leaves"] == [0] * 10


def test_class_weights_act_on_held_out_rows_but_not_on_an_evaluation_set():
    X, y = classes()
    model = classifier(class_weight={0: 9.0}).fit(X, y, eval_set=(X, y))
    raw = model.decision_function(X)
    plain = np.mean(np.logaddexp(0, raw) - y * raw)
    assert model.history_["validation_loss"][-1] == pytest.approx(plain)
    assert model.history_["train_loss"][-1] != pytest.approx(plain)


@pytest.mark.parametrize(
    ("eval_set", "error", "message"),
    [
        ("validation", ValueError, r"eval_set is a str of another form; it must be \(X, y\)"),
        ([[1, 2], [3, 4]], ValueError, r"it must be \(X, y\), \(X, y, sample_weight\) or a list"),
        ((1, 2, 3, 4), ValueError, "eval_set is a tuple of another form"),
        ((np.ones((5, 4)), np.ones(4)), ValueError, r"eval_set\[0\]: y has 4 rows, but X has 5"),
        ((np.ones((5, 3)), np.ones(5)), ValueError, r"eval_set\[0\]: X has 3 features, but"),
        ((np.ones((5, 4)), np.full(5, np.nan)), ValueError, r"eval_set\[0\]: Input y contains NaN"),
        ((np.ones((5, 4)), None), ValueError, r"eval_set\[0\]: .* the target y is None"),
    ],
)
def test_bad_evaluation_sets(eval_set, error, message):
    with pytest.raises(error, match=message):
        regressor().fit(*numbers(), eval_set=eval_set)


def test_an_evaluation_set_must_have_the_training_labels():
    X, y = classes()
    names = np.array(["no", "yes"])[y]
    for wrong in (np.full(300, "maybe"), y, np.full(300, None)):
        with pytest.raises((ValueError, TypeError), match=r"eval_set\[0\]: .*label"):
            classifier().fit(X, names, eval_set=(X, wrong))


# --- early stopping


def noisy(n_rows=500):
    return numbers(n_rows, noise=2.0)


def test_early_stopping_keeps_the_best_round():
    X, y = noisy()
    model = regressor(
        n_estimators=300, learning_rate=0.3, early_stopping=True, random_state=0, n_iter_no_change=4
    )
    model.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    losses = model.history_["validation_loss"]
    best = model.best_iteration_
    assert best == int(np.argmin(losses)) < 299
    assert model.n_estimators_ == model.n_iter_ == best + 1
    assert len(losses) == best + 1 + 4
    # early stopping is only a choice of n_estimators
    assert same_forests(model, regressor(n_estimators=best + 1, learning_rate=0.3).fit(X[:300], y[:300]))


def test_early_stopping_uses_the_first_evaluation_set():
    X, y = noisy()
    stopper = regressor(
        n_estimators=100, learning_rate=0.3, early_stopping=True, random_state=0, n_iter_no_change=3
    )
    train, validation = (X[:300], y[:300]), (X[300:], y[300:])
    first = stopper.fit(*train, eval_set=[validation, train]).n_estimators_
    assert first < 50
    assert stopper.fit(*train, eval_set=[train, validation]).n_estimators_ == 100


def test_tol_is_the_minimal_improvement():
    X, y = numbers(500)
    rounds = [
        regressor(n_estimators=200, early_stopping=True, tol=tol, random_state=0).fit(X, y).n_estimators_
        for tol in (0.0, 1e-3, 1e-1)
    ]
    assert rounds[0] > rounds[1] > rounds[2]


def test_held_out_rows_are_a_function_of_the_seed_and_are_not_trained_on():
    X, y = noisy()
    stopper = {"n_estimators": 50, "early_stopping": True, "validation_fraction": 0.2}
    one, same, other = (regressor(random_state=seed, **stopper).fit(X, y) for seed in (0, 0, 1))
    assert same_forests(one, same)
    assert one.history_["validation_loss"] == same.history_["validation_loss"]
    assert not same_forests(one, other)
    assert one.model_.forest.count[0] == 400


def test_held_out_rows_act_as_an_evaluation_set():
    X, y = noisy()
    model = regressor(n_estimators=50, early_stopping=True, random_state=3).fit(X, y)
    held = validation_rows(None, None, 500, 0.1, 3)
    rest = np.setdiff1d(np.arange(500), held)
    by_hand = regressor(n_estimators=50, early_stopping=True, random_state=0)
    by_hand.fit(X[rest], y[rest], eval_set=(X[held], y[held]))
    np.testing.assert_allclose(by_hand.history_["validation_loss"], model.history_["validation_loss"])
    np.testing.assert_allclose(by_hand.predict(X), model.predict(X))


def test_the_gradients_of_validation_rows_are_updated(monkeypatch):
    # Left as they were at the start, they would set the scale of the integer statistics for all rows.
    X, y = numbers()
    gradients = []
    quantise = Quantiser.quantise

    def watched(self, gradient, hessian):
        gradients.append(gradient.copy())
        return quantise(self, gradient, hessian)

    monkeypatch.setattr(Quantiser, "quantise", watched)
    model = regressor(early_stopping=True, random_state=0).fit(X, y)
    for gradient, stage in zip(gradients[1:], model.staged_predict(X), strict=False):
        np.testing.assert_allclose(gradient, stage - y, atol=1e-12)


def test_classes_are_held_out_in_proportion():
    X, y = classes(600, 3)
    kept = (y != 0) | (np.arange(600) % 4 == 0)
    X, y = X[kept], y[kept]
    held = validation_rows(y.astype(float), None, len(y), 0.2, 0)
    np.testing.assert_allclose(np.bincount(y[held]) / np.bincount(y), 0.2, atol=0.02)
    model = classifier(early_stopping=True, validation_fraction=0.2, random_state=0).fit(X, y)
    assert model.model_.forest.count[0] == len(y) - len(held)


def test_auto_stops_only_on_many_rows(monkeypatch):
    X, y = numbers()
    assert regressor(early_stopping="auto").fit(X, y).best_iteration_ is None
    monkeypatch.setattr(boosting_base, "_LARGE", 299)
    assert regressor(early_stopping="auto").fit(X, y).best_iteration_ is not None


@pytest.mark.parametrize("stops", [True, np.True_])
def test_any_kind_of_true_stops(stops):
    assert regressor(early_stopping=stops).fit(*numbers()).best_iteration_ is not None


def test_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 of n_samples=1 rows leaves nothing"):
        regressor(early_stopping=True).fit([[1.0]], [1.0])
    assert regressor(early_stopping=True).fit([[1.0], [2.0]], [1.0, 2.0]).n_estimators_ >= 1


def test_early_stopping_of_a_line_search_loss():
    X, y = noisy()
    options = {"loss": "absolute_error", "n_estimators": 200, "learning_rate": 0.5, "early_stopping": True}
    model = regressor(random_state=0, **options).fit(X, y)
    assert model.n_estimators_ < 200
    assert model.n_estimators_ == int(np.argmin(model.history_["validation_loss"])) + 1


# --- callbacks


def test_callbacks_receive_every_round_and_may_stop_the_fit():
    X, y = numbers()
    rounds = []
    callbacks = [lambda done: done.number == 3, rounds.append]
    model = regressor().fit(X, y, eval_set=(X, y), callbacks=callbacks)
    assert [done.number for done in rounds] == [0, 1, 2, 3]  # all callbacks receive the last round
    assert [done.validation_loss[0] for done in rounds] == model.history_["validation_loss"]
    assert {(done.n_rounds, done.n_leaves) for done in rounds} == {(10, 31)}
    assert model.n_estimators_ == 4
    assert same_forests(model, regressor(n_estimators=4).fit(X, y))


def test_time_limit(monkeypatch):
    X, y = numbers()
    clock = iter(np.arange(0.0, 100.0, 1.0))
    monkeypatch.setattr("hedgerow.boosting.loop.time.perf_counter", lambda: next(clock))
    model = regressor().fit(X, y, callbacks=[TimeLimit(3.0)])
    assert model.history_["seconds"] == [1.0, 2.0, 3.0]


def test_early_stopping_as_a_callback_does_not_truncate_the_model():
    X, y = noisy()
    stopper = EarlyStopping(patience=3)
    for _ in range(2):  # the same object may be used in several fits
        model = regressor(n_estimators=100, learning_rate=0.5)
        model.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]), callbacks=[stopper])
        assert model.n_estimators_ == stopper.best_round + 4 < 100
    with pytest.raises(ValueError, match="EarlyStopping needs an evaluation set: pass eval_set to fit"):
        regressor().fit(X, y, callbacks=[EarlyStopping()])


@pytest.mark.parametrize("callbacks", [print, [print, 3], "print", {"a": print}])
def test_fit_rejects_callbacks_that_are_not_callable(callbacks):
    with pytest.raises(TypeError, match=r"callbacks=.* is not allowed: it must be a list of callables"):
        regressor().fit(*numbers(), callbacks=callbacks)


# --- progress


def test_without_a_terminal_progress_is_a_few_plain_lines(capfd):
    regressor(verbose=0).fit(*numbers())
    assert capfd.readouterr() == ("", "")
    model = regressor(verbose=1).fit(*numbers())
    printed, lines = capfd.readouterr()
    assert printed == ""
    assert lines.splitlines()[-1].endswith(f"train {model.history_['train_loss'][-1]:.5f}")
    assert lines.replace("\n", "").isprintable()


@pytest.mark.parametrize("verbose", [1, True])
def test_progress_on_a_terminal(monkeypatch, verbose):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    model = regressor(verbose=verbose).fit(*numbers())
    assert "GradientBoostingRegressor" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()
    assert f"train {model.history_['train_loss'][-1]:.5f}" in terminal.getvalue()


def test_a_line_a_round_on_standard_error(capfd):
    X, y = numbers()
    model = regressor(verbose=2, n_estimators=3).fit(X, y, eval_set=[(X, y)] * 4)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line[:5] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]  # long lines are not broken
    assert lines[2].count(f"validation {model.history_['validation_loss'][-1]:.5f}") == 4
