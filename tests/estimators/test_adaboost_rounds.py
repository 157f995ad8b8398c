"""Rounds of the AdaBoost family: evaluation sets, early stopping, callbacks, stages, warm starts."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, log_loss

from adaboost_cases import (
    ALGORITHMS,
    KINDS,
    SEVERAL_KINDS,
    SklearnRegressionStump,
    SklearnStump,
    breast,
    fit_without_warnings,
    make_kind,
    problem,
    signs,
    staged_errors,
    two,
)
from hedgerow import AdaBoostClassifier, EarlyStopping, LogitBoostClassifier, TimeLimit

FOREIGN = {"discrete": SklearnStump(), "real": SklearnStump(), "gentle": SklearnRegressionStump()}


def halves():
    X, y = two(400, noise=0.8)
    return (X[:200], y[:200]), (X[200:], y[200:])


# --- statistics and history


@pytest.mark.parametrize("kind", KINDS)
def test_the_statistics_have_one_entry_per_round(kind):
    X, y = two()
    model = make_kind(kind, n_estimators=7).fit(X, y)
    names = ["estimator_weights_", "estimator_errors_", "edges_", "normalizers_", "training_error_bound_"]
    assert all(getattr(model, name).shape == (7,) for name in names)
    assert len(model.estimators_) == model.n_estimators_ == model.n_iter_ == 7
    assert model.best_iteration_ is None
    assert model.stop_reason_ == "all 7 rounds are done"
    loss = "train_error" if kind in ALGORITHMS else "train_loss"
    assert list(model.history_) == ["round", "seconds", "leaves", loss]
    assert model.history_["round"] == list(range(7))
    assert model.history_["leaves"] == [2] * 7
    assert model.history_["seconds"] == sorted(model.history_["seconds"])


@pytest.mark.parametrize(
    ("algorithm", "n_classes"),
    [*((name, 2) for name in ALGORITHMS), *((name, 3) for name in ALGORITHMS if name in SEVERAL_KINDS)],
)
def test_the_history_holds_the_weighted_errors_of_the_stages(algorithm, n_classes):
    X, y = problem(n_classes)
    weight = np.random.default_rng(0).uniform(size=len(y))
    half = slice(0, 100)
    model = AdaBoostClassifier(algorithm=algorithm, n_estimators=8)
    model.fit(X, y, weight, eval_set=[(X[half], y[half]), (X[half], y[half], weight[half])])
    history = model.history_
    np.testing.assert_allclose(history["train_error"], staged_errors(model, X, y, weight), atol=1e-15)
    for name, of_rows in (("validation_error", None), ("validation_error_1", weight[half])):
        np.testing.assert_allclose(history[name], staged_errors(model, X[half], y[half], of_rows), atol=1e-15)
    plain = AdaBoostClassifier(algorithm=algorithm, n_estimators=8).fit(X, y, weight)
    assert np.array_equal(
        model.decision_function(X), plain.decision_function(X)
    )  # evaluation does not change the model


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_history_of_logitboost_holds_log_losses(n_classes):
    X, y = problem(n_classes)
    half, weight = slice(0, 100), np.random.default_rng(0).uniform(size=len(y))
    model = LogitBoostClassifier(n_estimators=6).fit(X, y, weight, eval_set=(X[half], y[half]))
    losses = [log_loss(y, p, sample_weight=weight) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.history_["train_loss"], losses, rtol=1e-9)
    losses = [log_loss(y[half], p[half]) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.history_["validation_loss"], losses, rtol=1e-9)


@pytest.mark.parametrize("name", FOREIGN)
def test_evaluation_sets_of_foreign_learners(name):
    train, test = halves()
    model = AdaBoostClassifier(FOREIGN[name], algorithm=name, n_estimators=5)
    model.fit(*train, eval_set=[test, train])
    np.testing.assert_allclose(model.history_["validation_error"], staged_errors(model, *test), atol=1e-15)
    assert model.history_["validation_error_1"] == model.history_["train_error"]
    assert model.history_["leaves"] == [0] * 5


# --- stages


@pytest.mark.parametrize("kind", SEVERAL_KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_last_stage_is_the_model(kind, n_classes):
    X, y = problem(n_classes)
    model = make_kind(kind, n_estimators=6).fit(X, y)
    for name in ("predict", "predict_proba", "decision_function"):
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == 6
        assert np.array_equal(stages[-1], getattr(model, name)(X))
        if name != "predict":
            assert not np.array_equal(stages[0], stages[-1])  # not one array, overwritten
    scores = list(model.staged_score(X, y))
    assert scores == [accuracy_score(y, p) for p in model.staged_predict(X)]
    assert scores[-1] == model.score(X, y)
    weight = np.arange(len(y))
    assert list(model.staged_score(X, y, weight))[-1] == pytest.approx(model.score(X, y, weight))


@pytest.mark.parametrize("kind", KINDS)
def test_a_stage_is_a_shorter_fit(kind):
    X, y = two()
    long, short = (make_kind(kind, n_estimators=n).fit(X, y) for n in (9, 4))
    assert np.array_equal(list(long.staged_decision_function(X))[3], short.decision_function(X))


# --- early stopping


@pytest.mark.parametrize("kind", KINDS)
def test_early_stopping_keeps_the_rounds_up_to_the_best(kind):
    train, test = halves()
    options = {"n_estimators": 300, "learning_rate": 1.0 if kind != "any sigmoid" else 3.0}
    model = make_kind(kind, early_stopping=True, n_iter_no_change=6, **options).fit(*train, eval_set=test)
    name = "validation_error" if kind in ALGORITHMS else "validation_loss"
    losses = model.history_[name]
    best = int(np.argmin(losses))
    assert model.best_iteration_ == best
    assert model.n_estimators_ == len(model.estimators_) == len(model.estimator_weights_) == best + 1
    assert len(losses) == best + 1 + 6
    assert model.stop_reason_ == f"no improvement for 6 rounds: the {best + 1} rounds up to the best are kept"
    short = make_kind(kind, **options | {"n_estimators": best + 1}).fit(*train)
    X = test[0]
    assert np.array_equal(model.decision_function(X), short.decision_function(X))
    for record in ("sample_weights_", "training_error_bound_", "normalizers_", "edges_"):
        np.testing.assert_allclose(getattr(model, record), getattr(short, record), rtol=1e-12)
    np.testing.assert_allclose(model.margins(*test), short.margins(*test), rtol=1e-12)


@pytest.mark.parametrize("name", FOREIGN)
def test_early_stopping_of_foreign_learners(name):
    train, test = halves()
    options = {"estimator": FOREIGN[name], "algorithm": name, "early_stopping": True, "n_iter_no_change": 4}
    model = fit_without_warnings(AdaBoostClassifier(n_estimators=100, **options), *train, eval_set=test)
    assert model.n_estimators_ == model.best_iteration_ + 1 < len(model.history_["round"])
    margin = signs(model, train[1]) * model.decision_function(train[0])
    expected = np.exp(-margin)
    np.testing.assert_allclose(model.sample_weights_, expected / expected.sum(), rtol=1e-9)


def test_validation_rows_are_not_trained_on():
    X, y = breast()
    options = {"early_stopping": True, "n_iter_no_change": 5, "n_estimators": 60, "random_state": 4}
    model = AdaBoostClassifier(validation_fraction=0.2, **options).fit(X, y)
    held = model.sample_weights_ == 0
    assert held.sum() == round(0.2 * len(y))
    assert abs(np.mean(y[held]) - np.mean(y)) < 0.01  # the same share of each class
    same = AdaBoostClassifier(**options).fit(X[~held], y[~held], eval_set=(X[held], y[held]))
    assert model.history_["validation_error"] == same.history_["validation_error"]
    assert np.array_equal(model.decision_function(X), same.decision_function(X))
    again = AdaBoostClassifier(validation_fraction=0.2, **options).fit(X, y)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_auto_stops_early_only_above_ten_thousand_rows():
    X, y = two(10_001)
    for n, stops in ((10_000, False), (10_001, True)):
        model = AdaBoostClassifier(early_stopping="auto", n_estimators=3, random_state=0).fit(X[:n], y[:n])
        assert ("validation_error" in model.history_) is stops


def test_without_improvement_the_first_round_is_kept():
    train, (X, _) = halves()
    first = AdaBoostClassifier(n_estimators=1).fit(*train)
    model = AdaBoostClassifier(early_stopping=True, n_iter_no_change=3)
    model.fit(*train, eval_set=(X, first.predict(X)))
    assert (model.n_estimators_, len(model.history_["round"])) == (1, 4)


# --- callbacks


def test_callbacks_receive_errors_and_may_stop_the_fit():
    train, test = halves()
    rounds = []
    callbacks = [rounds.append, lambda done: done.number == 4]
    model = AdaBoostClassifier().fit(*train, eval_set=test, callbacks=callbacks)
    assert model.n_estimators_ == len(rounds) == 5
    assert model.stop_reason_ == "stopped by a callback or an interrupt after 5 rounds"
    assert {(done.measure, done.n_rounds) for done in rounds} == {("error", 50)}
    assert [done.train_loss for done in rounds] == model.history_["train_error"]
    assert [done.validation_loss[0] for done in rounds] == model.history_["validation_error"]


def test_an_error_in_a_callback_is_raised_and_an_interrupt_stops_the_fit():
    X, y = two()

    def fail(_done):
        raise RuntimeError("an error of the user")

    def interrupt(done):
        if done.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="an error of the user"):
        AdaBoostClassifier().fit(X, y, callbacks=[fail])
    with pytest.warns(UserWarning, match="interrupted"):
        model = AdaBoostClassifier().fit(X, y, callbacks=[interrupt])
    assert model.n_estimators_ == len(model.history_["round"]) == 3


def test_ready_made_callbacks():
    train, test = halves()
    model = AdaBoostClassifier(n_estimators=200).fit(*train, eval_set=test, callbacks=[EarlyStopping(5)])
    best = int(np.argmin(model.history_["validation_error"]))
    assert model.n_estimators_ == best + 1 + 5  # among the callbacks it only stops
    assert AdaBoostClassifier().fit(*train, callbacks=[TimeLimit(1e-9)]).n_estimators_ == 1
    with pytest.raises(TypeError, match="callbacks=3"):
        AdaBoostClassifier().fit(*train, callbacks=3)


def test_lines_are_printed_on_request(capsys):
    train, test = halves()
    AdaBoostClassifier(n_estimators=3, verbose=2).fit(*train, eval_set=test)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]
    assert all("train 0." in line and "validation 0." in line for line in lines)
    AdaBoostClassifier(n_estimators=3).fit(*train)
    assert capsys.readouterr() == ("", "")


# --- warm starts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("foreign", [False, True])
def test_a_warm_start_is_one_long_fit(kind, foreign):
    X, y = two()
    learner = None
    if foreign:
        learner = SklearnRegressionStump() if kind in ("gentle", "logit") else SklearnStump()
    options = {"estimator": learner, "random_state": 0}
    long = make_kind(kind, n_estimators=11, **options).fit(X, y, eval_set=(X[:50], y[:50]))
    warm = make_kind(kind, n_estimators=4, warm_start=True, **options).fit(X, y, eval_set=(X[:50], y[:50]))
    members = warm.estimators_ if foreign else []
    warm.set_params(n_estimators=11).fit(X, y, eval_set=(X[:50], y[:50]))
    assert np.array_equal(warm.decision_function(X), long.decision_function(X))
    for name in ("estimator_weights_", "estimator_errors_", "normalizers_", "sample_weights_"):
        np.testing.assert_allclose(getattr(warm, name), getattr(long, name), rtol=1e-12)
    for name in ("round", "leaves", *[n for n in long.history_ if n.startswith(("train", "validation"))]):
        np.testing.assert_allclose(warm.history_[name], long.history_[name], rtol=1e-12)
    assert [id(member) for member in members] == [id(member) for member in warm.estimators_[: len(members)]]


def test_a_warm_start_with_the_same_rounds_changes_nothing():
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    scores = model.decision_function(X)
    assert np.array_equal(model.fit(X, y).decision_function(X), scores)
    assert model.n_estimators_ == 5


def test_a_warm_start_continues_after_early_stopping():
    train, test = halves()
    model = AdaBoostClassifier(
        n_estimators=200, early_stopping=True, n_iter_no_change=5, warm_start=True
    ).fit(*train, eval_set=test)
    kept = model.n_estimators_
    model.set_params(early_stopping=False, n_estimators=kept + 3).fit(*train)
    plain = AdaBoostClassifier(n_estimators=kept + 3).fit(*train)
    assert np.array_equal(model.decision_function(test[0]), plain.decision_function(test[0]))
    assert len(model.history_["round"]) == kept + 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": 2}, "n_estimators=2 is below the 5 rounds"),
        ({"estimator": SklearnStump(), "n_estimators": 9}, "cannot continue the fitted model"),
        ({"algorithm": "gentle", "n_estimators": 9}, "algorithm"),
        ({"algorithm": "samme", "n_estimators": 9}, "algorithm"),
    ],
)
def test_a_warm_start_from_another_kind_of_model_is_refused(change, message):
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(X, y)
    model.set_params(algorithm="discrete")
    assert np.array_equal(model.decision_function(X), scores)


def test_a_fit_without_warm_start_is_a_new_fit():
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    model.fit(X, 1 - y)
    fresh = AdaBoostClassifier(n_estimators=5).fit(X, 1 - y)
    assert np.array_equal(model.decision_function(X), fresh.decision_function(X))
    assert model.history_["round"] == list(range(5))


def test_a_warm_start_after_a_perfect_round_changes_nothing():
    X = np.arange(10.0)[:, np.newaxis]
    y = X[:, 0] > 4
    long = AdaBoostClassifier(n_estimators=8).fit(X, y)
    warm = AdaBoostClassifier(n_estimators=3, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=8).fit(X, y)
    assert warm.n_estimators_ == long.n_estimators_ == 1
    assert warm.stop_reason_ == long.stop_reason_
    assert warm.history_["round"] == long.history_["round"] == [0]


def test_members_are_made_once_and_not_pickled():
    X, y = two()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    before = len(pickle.dumps(model))
    assert model.estimators_[3] is model.estimators_[3]
    assert len(pickle.dumps(model)) == before
    model.set_params(n_estimators=7).fit(X, y)
    assert len(model.estimators_) == 7


def test_margins_of_new_rows_stay_within_one():
    X, y = two()
    model = AdaBoostClassifier(LinearRegression(), algorithm="gentle", n_estimators=3).fit(X, y)
    far = model.margins(100.0 * X, y)
    assert np.abs(far).max() == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_that_stops_early_never_keeps_a_worse_model(kind):
    X, y = breast()
    settings = {"n_iter_no_change": 5, "early_stopping": True}
    held = {"eval_set": (X[400:], y[400:])}
    model = make_kind(kind, n_estimators=100, warm_start=True, **settings).fit(X[:400], y[:400], **held)
    kept, best = model.n_estimators_, model.best_iteration_
    model.set_params(n_estimators=200).fit(X[:400], y[:400], **held)
    assert (model.n_estimators_, model.best_iteration_) == (kept, best)
