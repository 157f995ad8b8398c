"""The budget: trials that are skipped, cut short or sampled; no test depends on the real time."""

import itertools

import numpy as np
import pytest

from hedgerow.selection import choose, make_model, search
from hedgerow.selection.final_fit import fit_final
from hedgerow.selection.limits import Clock, FitLimits, FitTime, grow_members, sample_size
from hedgerow.selection.metrics import METRICS
from hedgerow.selection.settings import Setting, settings_for
from hedgerow.selection.splits import TrainingData
from hedgerow.selection.trials import Split, TrialContext, run_trial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
LABELS = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=200) > 0).astype(np.int64)
AT_ONCE = 1e-9  # seconds: less than a round takes


def _context(n_splits=1):
    splits = [Split(X[:150], LABELS[:150], X[150:], LABELS[150:])] * n_splits
    return TrialContext("classification", METRICS["log-loss"], splits, 0, 1)


def _short(method, task, n_rows, *_):
    found = [one for one in settings_for(method, task, n_rows) if not one.is_automatic]
    return [setting.shortened(12) for setting in found[:2]]


@pytest.fixture
def one_second_per_call(monkeypatch):
    """A clock that advances by a second per call."""
    monkeypatch.setattr(search, "settings_for", _short)
    seconds = itertools.count()
    monkeypatch.setattr(search, "Clock", lambda budget: Clock(budget, now=lambda: float(next(seconds))))


@pytest.mark.usefixtures("one_second_per_call")
def test_settings_without_time_are_skipped():
    choice = choose(X, LABELS, "classification", methods=["gradient", "adaboost", "forest"], budget=2.5)
    statuses = [trial.status for trial in choice.trials]
    assert statuses[0] in ("done", "cut short")
    assert statuses[-3:] == ["skipped"] * 3
    assert len(statuses) == 6
    assert "a larger budget would try next" in choice.reason
    assert choice.budget == 2.5


@pytest.mark.usefixtures("one_second_per_call")
def test_the_first_trial_is_always_finished():
    choice = choose(X, LABELS, "classification", methods=["adaboost", "forest"], budget=0.001)
    assert choice.best.method == "adaboost"
    assert [trial.status for trial in choice.trials[1:]] == ["skipped"] * 3
    assert choice.trials[1].note == "no time was left"
    assert choice.model.predict(X).shape == (200,)


def test_boosting_without_time_stops_after_one_round():
    for method in ("gradient", "adaboost", "logitboost"):
        result = run_trial(_context(), Setting(method, {"n_estimators": 50}), AT_ONCE)
        assert result.trial.status == "cut short"
        assert result.trial.note == "stopped by the budget after 1 of 50"
        assert result.trial.parameters["n_estimators"] == 1


def test_folds_without_time_are_not_started():
    result = run_trial(_context(5), Setting("forest", {"n_estimators": 4}), AT_ONCE)
    assert result.trial.status == "skipped"
    assert result.trial.note.startswith("1 of 5 folds took")
    assert result.row_scores is None


@pytest.mark.parametrize("method", ["forest", "bagging"])
def test_members_without_time_are_left_out_and_the_others_are_the_same(method):
    few = make_model(method, "classification", n_jobs=1, n_estimators=20)
    grow_members(few, X, LABELS, FitLimits(AT_ONCE), {})
    as_many = make_model(method, "classification", n_jobs=1, n_estimators=1).fit(X, LABELS)
    np.testing.assert_array_equal(few.predict_proba(X), as_many.predict_proba(X))
    complete = make_model(method, "classification", n_jobs=1, n_estimators=20)
    grow_members(complete, X, LABELS, FitLimits(1e9), {})
    one_fit = make_model(method, "classification", n_jobs=1, n_estimators=20).fit(X, LABELS)
    np.testing.assert_array_equal(complete.predict_proba(X), one_fit.predict_proba(X))
    assert not complete.warm_start


def test_the_final_fit_can_be_cut_short():
    trial = run_trial(_context(), Setting("gradient", {"n_estimators": 30}, patience=30), None).trial
    data = TrainingData.of(X, LABELS, "classification", "choose")
    model, note, _ = fit_final(trial, data, 0, 1, FitLimits(AT_ONCE))
    assert model.n_estimators_ == 1
    assert note.startswith("The budget ended the final fit after 1 of ")
    whole, nothing, _ = fit_final(trial, data, 0, 1, FitLimits())
    assert (whole.n_estimators_, nothing) == (trial.parameters["n_estimators"], "")


def test_many_rows_are_sampled_and_rounds_are_limited_by_pilot_fits(monkeypatch):
    n = 24_000
    values = RNG.normal(size=(n, 3))
    labels = np.where(values[:, 0] + values[:, 1] > 0, "a", "b")
    monkeypatch.setattr(search, "settings_for", _short)
    real = FitTime.from_pilots.__func__
    monkeypatch.setattr(
        FitTime, "from_pilots", classmethod(lambda cls, _: real(cls, [(1000, 0.05), (2000, 0.1)]))
    )
    monkeypatch.setattr(FitTime, "update", lambda *_: None)
    choice = choose(values, labels, "classification", methods=["adaboost", "gradient"], budget=20.0)
    assert choice.validation == "one validation split of 800 rows, from a sample of 4,000 of the 24,000 rows"
    first = choice.trials[0]
    assert (
        first.status == "cut short"
    )  # a round on all rows takes 1.2 s, so that 8 would be possible: 10 at least
    assert first.note == "10 of 12, because more would take too long on all rows"
    assert choice.model.predict(values[:3]).shape == (3,)
    assert {trial.status for trial in choice.trials} <= {"cut short", "done", "skipped"}


def test_without_a_budget_nothing_is_sampled(monkeypatch):
    n = 21_000
    values = RNG.normal(size=(n, 2))
    monkeypatch.setattr(search, "settings_for", _short)
    choice = choose(values, values[:, 0] > 0, "classification", methods=["adaboost"], budget=None)
    assert choice.validation == "one validation split of 4,200 of the 21,000 rows"
    assert choice.budget is None


def test_estimated_times_never_fall_with_rows():
    cost = FitTime.from_pilots([(1000, 0.009), (5000, 0.004)])
    assert cost.seconds(10_000, 1) > cost.seconds(1000, 1) > 0


def test_sample_size_has_a_minimum_and_a_maximum():
    assert sample_size(50_000, 100.0, lambda rows: rows / 1000) == 50_000
    assert sample_size(50_000, 20.0, lambda rows: rows / 1000) == 19_000
    assert sample_size(50_000, 0.001, lambda rows: rows / 1000) == 4_000
