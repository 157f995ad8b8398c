"""choose with ensembles: the model, the record of the choice, members that are left out, automatic sizes."""

import json

import numpy as np
import pytest

from hedgerow.selection import (
    Choice,
    FixedThresholdClassifier,
    MethodOptions,
    Trial,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
    choose,
    ensemble_selection,
    fit_choice,
    make_model,
    search,
)
from hedgerow.selection.ensemble_selection import EnsembleTrial
from hedgerow.selection.final_fit import FinalFit, file_bytes, fit_ensemble, fit_members
from hedgerow.selection.limits import FitLimits
from hedgerow.selection.metrics import METRICS
from hedgerow.selection.settings import Setting, settings_for
from hedgerow.selection.splits import TrainingData
from hedgerow.selection.trials import Split, TrialContext, run_trial
from hedgerow.theory import certify

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
LABELS = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * RNG.normal(size=160) > 0, "up", "down")
NUMBERS = X[:, 0] - 2.0 * X[:, 1] + X[:, 2] * X[:, 3] + 0.1 * RNG.normal(size=160)
DATA = TrainingData.of(X, LABELS, "classification", "choose")
METHODS = ["gradient", "forest", "adaboost"]


def _short(method, task, n_rows, *_):
    found = [one for one in settings_for(method, task, n_rows) if not one.is_automatic]
    return [setting.shortened(8) for setting in found[:2]]


@pytest.fixture(autouse=True)
def short_settings(monkeypatch):
    monkeypatch.setattr(search, "settings_for", _short)


@pytest.fixture
def preferred(monkeypatch):
    """An ensemble is always chosen."""
    monkeypatch.setattr(ensemble_selection, "MIN_ADVANTAGE", -1e9)


def choose_model(y=LABELS, task="classification", **options):
    return choose(X, y, task, **{"methods": METHODS, "budget": None, "random_state": 3, **options})


@pytest.mark.usefixtures("preferred")
def test_the_model_is_the_weighted_mean_of_members_fitted_to_all_rows():
    choice = choose_model()
    assert isinstance(choice.model, WeightedEnsembleClassifier)
    assert 2 <= len(choice.members) <= 5
    weights = [weight for _, weight in choice.members]
    assert sum(weights) == pytest.approx(1.0)
    assert weights == sorted(weights, reverse=True)
    total = 0.0
    for trial, weight in choice.members:
        alone = make_model(trial.method, "classification", random_state=3, **trial.parameters)
        total = total + weight * alone.fit(X, LABELS).predict_proba(X)
    np.testing.assert_allclose(choice.model.predict_proba(X), total, rtol=1e-12)
    assert choice.best is choice.ranked[0]
    with pytest.raises(ValueError, match="rows that the model was fitted to"):
        certify(choice.model, X, LABELS)


@pytest.mark.usefixtures("preferred")
def test_the_text_says_what_the_ensemble_is_and_how_it_was_scored():
    choice = choose_model()
    ensemble, text = choice.ensemble, " ".join(str(choice).split())
    assert choice.reason.startswith(f"The model is a {ensemble.title} (")
    assert "cross-fitted: weights are never chosen on the rows" in choice.reason
    assert "the lowest log-loss of the single models" in choice.reason
    assert f"cross-validation of 160 rows: {ensemble.title}" in text
    assert text.count("weight 0.") == len(ensemble.members)
    assert ensemble.difference == pytest.approx(ensemble.single_score - ensemble.scores["log-loss"])
    assert ensemble.single_score >= choice.best.scores["log-loss"]  # that of the best of six is too good


@pytest.mark.usefixtures("preferred")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_ensemble_has_the_same_bits_for_any_number_of_threads(task):
    y = LABELS if task == "classification" else NUMBERS
    one, two = (choose_model(y, task, n_jobs=n) for n in (1, 2))
    assert one.ensemble == two.ensemble
    assert one.reason == two.reason
    np.testing.assert_array_equal(one.model.predict(X), two.model.predict(X))
    assert type(one.model) is (
        WeightedEnsembleClassifier if task == "classification" else WeightedEnsembleRegressor
    )


def test_a_single_model_is_kept_if_the_ensemble_is_not_better(monkeypatch):
    monkeypatch.setattr(ensemble_selection, "MIN_ADVANTAGE", 1e9)
    choice = choose_model()
    assert choice.ensemble is None
    assert choice.members == [(choice.best, 1.0)]
    assert "is not more than half of its standard error: the model is a single one" in choice.reason
    assert not isinstance(choice.model, WeightedEnsembleClassifier)


@pytest.mark.usefixtures("preferred")
def test_without_ensembles_nothing_is_said_of_them():
    choice = choose_model(ensemble=False)
    assert choice.ensemble is None
    assert "ensemble" not in choice.reason
    with pytest.raises(ValueError, match="ensemble='no' is not allowed: it must be True or False"):
        choose_model(ensemble="no")


@pytest.mark.usefixtures("preferred")
def test_the_threshold_is_chosen_on_cross_fitted_probabilities():
    choice = choose_model(options=MethodOptions(threshold={"fp": 5, "fn": 1}))
    assert isinstance(choice.model, FixedThresholdClassifier)
    assert isinstance(choice.model.estimator_, WeightedEnsembleClassifier)
    assert 0.5 < choice.threshold < 1.0
    fixed = choose_model(options=MethodOptions(threshold=0.4), metric="accuracy")
    assert fixed.model.threshold == 0.4


@pytest.mark.usefixtures("preferred")
def test_a_choice_is_fitted_to_other_rows():
    choice = choose_model(options=MethodOptions(threshold="f1"))
    again = fit_choice(choice, X, LABELS, random_state=3)
    np.testing.assert_array_equal(again.predict_proba(X), choice.model.predict_proba(X))
    assert again.threshold == choice.threshold
    fewer = fit_choice(choice, X[:100], LABELS[:100])
    assert len(fewer.estimator_.estimators_) == len(choice.members)
    single = choose_model(ensemble=False)
    again = fit_choice(single, X, LABELS, random_state=3, budget=100)
    np.testing.assert_array_equal(again.predict_proba(X), single.model.predict_proba(X))


# --- the record of the choice


def stored():
    """The content of a file."""
    trials = [Trial("forest", "random forest", {"n_estimators": n}, {"log-loss": 0.3}) for n in (1, 2)]
    ensemble = ensemble_selection_result()
    choice = Choice(
        "classification",
        "log-loss",
        "5 folds",
        tuple(trials),
        trials[0],
        "Why.",
        None,
        1.0,
        ensemble=ensemble,
    )
    return json.loads(json.dumps(choice.to_dict(), allow_nan=False))


def ensemble_selection_result():
    from hedgerow.selection import Ensemble  # noqa: PLC0415 - used here only

    return Ensemble((1, 0), (0.75, 0.25), {"log-loss": 0.25}, 0.02, 0.3, 0.05, 0.01)


def test_a_stored_ensemble_can_be_read():
    choice = Choice.from_dict(stored())
    assert choice.to_dict() == stored()
    assert choice.members == [(choice.trials[1], 0.75), (choice.trials[0], 0.25)]
    assert "weighted ensemble of 2 models" in str(choice)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("members", [0]),
        ("members", [0, 0]),
        ("members", [0, 2]),
        ("members", [0, True]),
        ("members", "01"),
        ("weights", [1.0]),
        ("weights", [1.5, -0.5]),
        ("weights", [0.5, 0.4]),
        ("weights", [0.5, "0.5"]),
        ("scores", {}),
        ("scores", {"joy": 1.0}),
        ("spread", -1.0),
        ("single_score", None),
        ("difference", float("nan")),
        ("difference_spread", None),
        ("extra", 1),
    ],
)
def test_a_changed_ensemble_is_refused_in_one_line(key, value):
    content = stored()
    content["ensemble"][key] = value
    with pytest.raises(ValueError, match=r"^[^\n]{1,400}$"):
        Choice.from_dict(content)


def test_members_without_a_score_are_refused():
    content = stored()
    content["trials"][1] |= {"status": "failed", "scores": {}}
    with pytest.raises(ValueError, match="a member without one"):
        Choice.from_dict(content)


# --- limits of the final fits


def members(n=3):
    """Trials of small models."""
    names = ("gradient", "forest", "adaboost")[:n]
    return [Trial(name, name, {"n_estimators": 5}, {"log-loss": 0.3}, fit_seconds=1.0) for name in names]


TRIED = EnsembleTrial((4, 2, 7), (0.5, 0.3, 0.2), {"log-loss": 0.2}, 0.01, 0.3, 0.1, 0.01, None)


def fit_tried(seconds, limits):
    return fit_ensemble(TRIED, members()[0], members(), seconds, DATA, 0, 1, limits)


def test_members_without_time_are_left_out_and_weights_renormalised():
    final = fit_tried([1.0, 50.0, 1.0], FitLimits(60.0))
    assert final.ensemble.members == (4, 2, 7)
    final = fit_tried([1.0, 30.0, 40.0], FitLimits(60.0))
    assert final.ensemble.members == (4, 2)
    assert final.ensemble.weights == pytest.approx((0.625, 0.375))
    assert final.note.startswith(
        "1 member of the ensemble was left out, for lack of time or because of the size limit"
    )
    assert "the score is that of all 3" in final.note
    np.testing.assert_allclose(final.model.weights_, [0.625, 0.375])
    assert fit_tried([40.0, 30.0, 1.0], FitLimits(60.0)) is None


def test_a_member_that_takes_the_time_of_the_others_is_the_model(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("hedgerow.selection.final_fit.time.perf_counter", lambda: now[0])
    real = make_model("forest", "classification", n_estimators=2).fit(X, LABELS)

    def slow(*_):
        now[0] += 59.5
        return FinalFit(real, "The budget ended the final fit after 1 of 5; more.")

    monkeypatch.setattr("hedgerow.selection.final_fit.fit_final", slow)
    final = fit_tried([1.0, 1.0, 1.0], FitLimits(60.0))
    assert final.model is real
    assert final.ensemble is None
    assert "no time was left for forest" in final.note
    assert "gradient (5 rounds): the budget ended the final fit after 1 of 5" in final.note


def test_members_that_exceed_the_size_are_left_out():
    whole = fit_tried([0.0] * 3, FitLimits())
    assert len(whole.model.estimators_) == 3
    size = file_bytes(whole.model.estimators_, "classification")
    assert len(fit_tried([0.0] * 3, FitLimits(None, size)).model.estimators_) == 3
    final = fit_tried([0.0] * 3, FitLimits(None, size - 1))
    assert final.ensemble.members == (4, 2)
    assert "the size limit excludes adaboost (5 rounds)" in final.note


def test_an_interrupt_leaves_the_finished_members(monkeypatch):
    done = []

    def interrupted(trial, *_):
        if done:
            raise KeyboardInterrupt
        done.append(trial)
        return FinalFit(make_model(trial.method, "classification", n_estimators=2).fit(X, LABELS))

    monkeypatch.setattr("hedgerow.selection.final_fit.fit_final", interrupted)
    fits = fit_members(members(), [1.0] * 3, DATA, 0, 1, FitLimits())
    assert fits.kept == [0]
    assert fits.note == "Final fits: an interrupt ended the others."
    with pytest.raises(KeyboardInterrupt):
        fit_members(members(), [1.0] * 3, DATA, 0, 1, FitLimits())


# --- the library's defaults of gradient boosting, which find the number of rounds themselves

AUTO = Setting("gradient", {"n_estimators": "auto", "learning_rate": "auto"})
SPLIT = Split(X[:120], DATA.encoded[:120], X[120:], DATA.encoded[120:])


def context(**options):
    return TrialContext("classification", METRICS["log-loss"], [SPLIT], 0, 1, n_rows=160, **options)


def test_automatic_sizes_are_the_second_setting_of_gradient_boosting():
    settings = settings_for("gradient", "classification", 5000)
    assert [one.is_automatic for one in settings].index(True) == 1
    assert settings[1].likely_rounds == 800
    assert settings[1].shortened(3) is settings[1]
    fixed = settings_for("gradient", "classification", 5000, {"n_estimators": 50})
    assert not any(one.is_automatic for one in fixed)


def test_a_trial_of_automatic_sizes_is_the_default_model_of_the_library():
    result = run_trial(context(), AUTO, None)
    assert result.trial.status == "done"
    assert result.trial.description == "gradient boosting (automatic sizes)"
    assert result.trial.parameters == AUTO.parameters
    model = make_model("gradient", "classification", n_estimators="auto", learning_rate="auto")
    model.fit(SPLIT.X, SPLIT.y)
    np.testing.assert_array_equal(result.predictions.probabilities, model.predict_proba(SPLIT.X_valid))
    assert result.n_rounds == model.n_estimators_


def test_automatic_sizes_end_at_the_limits():
    result = run_trial(context(), AUTO, 1e-9)
    assert (result.trial.status, result.trial.note) == ("cut short", "stopped by the budget after 1")
    result = run_trial(context(max_bytes=110_000), AUTO, None)
    assert result.trial.status == "failed"
    assert "are too large for the size limit of" in result.trial.note


def test_automatic_sizes_can_win_and_are_fitted_to_all_rows(monkeypatch):
    monkeypatch.setattr(search, "settings_for", lambda *_: [Setting("gradient", {"n_estimators": 2}), AUTO])
    choice = choose_model(methods=["gradient"], ensemble=False, budget=60)
    assert choice.best.parameters == AUTO.parameters
    assert choice.model.n_folds_ == 8
    assert choice.model.n_estimators == "auto"
