"""Choosing: what is tried, in which order, how it ends, and that it is the same for any number of threads."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.estimators import RandomForestClassifier
from hedgerow.selection import AUTO, METHODS, Choice, choose, choosing, make_model
from hedgerow.selection.methods import Setting, settings_for

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
LABELS = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=240) > 0, "up", "down")
NUMBERS = X[:, 0] - 2.0 * X[:, 1] + 0.1 * RNG.normal(size=240)


def _short(method, task, n_rows, most=8, n_settings=2):
    """The settings of a method with few rounds, so that a test is quick."""
    settings = settings_for(method, task, n_rows)[:n_settings]
    return [setting.shortened(most) for setting in settings]


@pytest.fixture(autouse=True)
def short_settings(monkeypatch):
    monkeypatch.setattr(choosing, "settings_for", _short)


def test_the_model_is_that_of_the_best_trial_fitted_to_all_rows():
    choice = choose(X, LABELS, "classification", budget=None, random_state=3)
    best = choice.best
    assert best in choice.trials
    assert best.scores["log-loss"] == min(t.scores["log-loss"] for t in choice.trials)
    again = make_model(best.method, "classification", random_state=3, **best.parameters).fit(X, LABELS)
    np.testing.assert_array_equal(choice.model.predict_proba(X), again.predict_proba(X))
    assert set(choice.model.classes_) == {"up", "down"}
    assert choice.metric == "log-loss"
    assert choice.validation == "5-fold cross-validation of 240 rows"
    assert choice.ranked[0] is best


def test_every_family_has_its_first_setting_before_any_has_its_second():
    choice = choose(X, LABELS, "classification", budget=None)
    order = [trial.method for trial in choice.trials]
    assert order[: len(AUTO)] == list(AUTO)
    assert sorted(order[len(AUTO) :]) == sorted(AUTO)
    assert all(trial.status == "done" for trial in choice.trials)


def test_after_the_first_round_better_families_come_first():
    choice = choose(X, LABELS, "classification", budget=None)
    first = {trial.method: trial.scores["log-loss"] for trial in choice.trials[: len(AUTO)]}
    second = [trial.method for trial in choice.trials[len(AUTO) :]]
    assert second == sorted(second, key=first.get)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_choice_is_the_same_to_the_bit_for_any_number_of_threads(task):
    y = LABELS if task == "classification" else NUMBERS
    one, two = (choose(X, y, task, budget=None, n_jobs=n) for n in (1, 2))
    assert len(one.trials) == len(two.trials)
    for a, b in zip(one.trials, two.trials, strict=True):
        assert (a.method, a.parameters, a.scores, a.spread) == (b.method, b.parameters, b.scores, b.spread)
    assert one.best.parameters == two.best.parameters
    assert one.reason == two.reason
    np.testing.assert_array_equal(one.model.predict(X), two.model.predict(X))


def test_numbers_are_scored_by_their_error_and_logitboost_is_not_used():
    choice = choose(X, NUMBERS, "regression", budget=None)
    assert choice.metric == "rmse"
    (refused,) = [trial for trial in choice.trials if trial.status == "skipped"]
    assert (refused.method, refused.note) == ("logitboost", "it is for classification, not for regression")
    assert "LogitBoost, it is for classification" in choice.reason
    assert choice.best.scores["r2"] > 0.5


def test_larger_tables_are_split_once():
    many = np.tile(X, (10, 1)) + 0.01 * np.random.default_rng(1).normal(size=(2400, 4))
    choice = choose(many, np.tile(LABELS, 10), "classification", methods=["forest"], budget=None)
    assert choice.validation == "one validation split of 480 of the 2,400 rows"


@pytest.mark.parametrize("metric", ["accuracy", "auc", "balanced-accuracy", "brier"])
def test_another_metric_decides(metric):
    choice = choose(X, LABELS, "classification", methods=["adaboost", "forest"], metric=metric, budget=None)
    scores = [trial.scores[metric] for trial in choice.trials]
    assert choice.best.scores[metric] == (min(scores) if metric == "brier" else max(scores))


def test_early_stopping_finds_the_rounds_and_the_model_has_as_many(monkeypatch):
    noisy = np.where(RNG.random(240) < 0.3, "up", LABELS)
    monkeypatch.setattr(
        choosing, "settings_for", lambda *_: [Setting("gradient", {"n_estimators": 200}, patience=10)]
    )
    choice = choose(X, noisy, "classification", methods=["gradient"], budget=None)
    rounds = choice.best.parameters["n_estimators"]
    assert 1 <= rounds < 100
    assert choice.model.n_estimators_ == rounds


# --- tables and targets


def test_rare_classes_do_not_break_the_folds():
    y = LABELS.astype(object)
    y[:2], y[2] = "rare", "single"
    choice = choose(X, y, "classification", budget=None)
    assert {trial.status for trial in choice.trials} == {"done"}
    assert set(choice.model.classes_) == {"up", "down", "rare", "single"}


def test_very_unequal_classes_work_and_a_guess_is_mentioned():
    y = np.zeros(240, int)
    y[:3] = 1
    choice = choose(np.random.default_rng(5).normal(size=(240, 3)), y, "classification", budget=None)
    assert "not clearly better than a constant prediction" in choice.reason


def test_a_good_model_is_not_stated_to_be_a_guess():
    choice = choose(X, X[:, 0] > 0, "classification", methods=["gradient", "bagging"], budget=None)
    assert "constant" not in choice.reason
    assert choice.model.predict(X).dtype == bool


def _mixed():
    colours = np.array(["red", "green", None, "blue"], dtype=object)[RNG.integers(0, 4, 240)]
    values = X[:, 0].copy()
    values[::7] = np.nan
    return colours, values


def test_tables_with_categories_and_missing_values_work():
    colours, values = _mixed()
    y = np.where((colours == "red") ^ (np.nan_to_num(values) > 0), 1, 0)
    arrow = pa.table({"c": pa.array(colours).dictionary_encode(), "v": pa.array(values, from_pandas=True)})
    frame = pd.DataFrame({"c": pd.Categorical(colours), "v": values})
    choices = [choose(table, y, "classification", budget=None) for table in (arrow, frame)]
    for choice, table in zip(choices, (arrow, frame), strict=True):
        assert {trial.status for trial in choice.trials} == {"done"}
        assert np.mean(choice.model.predict(table) == y) > 0.9
    by_kind = [[trial.scores for trial in choice.trials if trial.method == "gradient"] for choice in choices]
    assert by_kind[0] == by_kind[1]


def test_sparse_tables_work():
    table = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    choice = choose(table, LABELS, "classification", methods=["gradient", "bagging"], budget=None)
    assert {trial.status for trial in choice.trials} == {"done"}


# --- failures and interrupts


class _Broken(RandomForestClassifier):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("it does not work\nand this is the second line")


@pytest.fixture
def broken_forest(monkeypatch):
    monkeypatch.setitem(METHODS, "forest", replace(METHODS["forest"], classifier=_Broken))


@pytest.mark.usefixtures("broken_forest")
def test_a_family_that_raises_has_failed_with_the_first_line_of_its_error():
    choice = choose(X, LABELS, "classification", methods=["forest", "adaboost"], budget=None)
    failed = [trial for trial in choice.trials if trial.status == "failed"]
    assert [trial.method for trial in failed] == ["forest", "forest"]
    assert failed[0].note == "RuntimeError: it does not work"
    assert choice.best.method == "adaboost"
    assert "RuntimeError: it does not work" in choice.reason
    assert "RuntimeError" in str(choice)


@pytest.mark.usefixtures("broken_forest")
def test_if_no_method_works_one_line_reports_it():
    with pytest.raises(
        ValueError, match=r"^no method could be fitted: random forest: RuntimeError: it does not work$"
    ):
        choose(X, LABELS, "classification", methods=["forest"], budget=None)


def _interrupt_at(words):
    def progress(_done, _total, now):
        if words in now:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_hands_back_the_best_so_far():
    progress = _interrupt_at("LogitBoost (")
    choice = choose(X, LABELS, "classification", budget=None, progress=progress)
    assert [trial.method for trial in choice.trials] == ["gradient", "adaboost"]
    assert "An interrupt ended the trials; 8 settings were not tried." in choice.reason
    assert choice.model.predict(X[:2]).shape == (2,)


def test_an_interrupt_before_anything_is_found_is_raised():
    progress = _interrupt_at("gradient boosting (")
    with pytest.raises(KeyboardInterrupt):
        choose(X, LABELS, "classification", budget=None, progress=progress)


def test_an_interrupt_that_a_fit_only_warns_of_ends_the_trials(monkeypatch):
    real = METHODS["adaboost"].classifier

    class Interrupted(real):
        def fit(self, X, y, **more):
            def stop(_done):
                raise KeyboardInterrupt

            callbacks = [*(more.pop("callbacks", None) or []), *([stop] if len(y) > 100 else [])]
            return super().fit(X, y, callbacks=callbacks, **more)

    monkeypatch.setitem(METHODS, "adaboost", replace(METHODS["adaboost"], classifier=Interrupted))
    choice = choose(X, LABELS, "classification", methods=["gradient", "adaboost"], budget=None)
    assert {trial.method for trial in choice.trials} == {"gradient"}


# --- telling and keeping


def test_progress_is_reported_step_by_step():
    steps = []
    choose(X, LABELS, "classification", budget=None, methods=["adaboost", "forest"],
           progress=lambda *step: steps.append(step))  # fmt: skip
    assert [done for done, _, _ in steps] == list(range(8))
    assert {total for _, total, _ in steps} == {7}
    assert "compiles" in steps[0][2]
    assert "fitted to all 240 rows" in steps[-2][2]
    assert steps[-1][2] == "done"


def test_a_choice_is_json_and_prints_as_a_table():
    choice = choose(X, LABELS, "classification", budget=None, methods=["adaboost", "forest"])
    again = json.loads(json.dumps(choice.to_dict(), allow_nan=False))
    assert again["best"]["parameters"] == choice.best.parameters
    assert len(again["trials"]) == 4
    assert "model" not in again
    text = str(choice)
    assert choice.best.description in text
    assert max(map(len, text.splitlines())) <= 118


def test_the_reason_names_the_runner_up_and_whether_it_is_within_noise():
    choice = choose(X, LABELS, "classification", budget=None, methods=["gradient", "forest"])
    assert choice.reason.startswith(choice.best.title.capitalize())
    other = {"gradient": "random forest", "forest": "gradient boosting"}[choice.best.method]
    assert f"The best of the other methods is {other}" in choice.reason
    assert "times its standard error over the validation rows" in choice.reason
    assert ("within noise" in choice.reason) != ("more than noise" in choice.reason)


def test_two_methods_with_equal_predictions_are_equal_in_the_reason(monkeypatch):
    monkeypatch.setattr(
        choosing, "settings_for", lambda method, *_: [Setting(method, {"n_estimators": 5})] * 2
    )
    choice = choose(X, LABELS, "classification", budget=None, methods=["forest"])
    assert "of its other settings" in choice.reason
    assert "equal on every row" in choice.reason
    assert choice.best is choice.trials[0]


# --- arguments


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": 0}, "budget=0 is not allowed: it must be a number above 0, or None"),
        ({"budget": -1}, "budget=-1 is not allowed"),
        ({"budget": "long"}, "budget='long' is not allowed"),
        ({"budget": True}, "budget=True is not allowed"),
        ({"methods": []}, "must be a list of names"),
        ({"methods": "forest"}, "must be a list of names"),
        ({"methods": ["trees"]}, "method='trees' is not allowed"),
        ({"metric": "rmse"}, "metric='rmse' is not allowed for classification"),
        ({"task": "both"}, "task='both' is not allowed"),
        ({"y": np.ones(240)}, "one class only"),
        ({"y": LABELS[:10]}, "y has 10 rows, but X has 240"),
        ({"X": X[:3], "y": LABELS[:3]}, "X has 3 rows; choose needs at least 4"),
        ({"X": np.array([["a"]] * 240)}, "Column 0"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(given, words):
    progress = []
    everything = {"X": X, "y": LABELS, "task": "classification", **given}
    with pytest.raises(ValueError, match=words) as refused:
        choose(**everything, progress=lambda *step: progress.append(step))
    assert "\n" not in str(refused.value)
    assert progress == []


def test_methods_that_are_all_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="none of them supports this target"):
        choose(X, NUMBERS, "regression", methods=["logitboost"])


def kept_choice():
    """A choice as a file keeps it."""
    trial = {
        "method": "forest",
        "title": "random forest",
        "parameters": {"n_estimators": 200},
        "scores": {"log-loss": 0.3},
        "spread": 0.01,
        "fit_seconds": None,
        "status": "done",
        "note": "",
    }
    return {
        "format": 1,
        "task": "classification",
        "metric": "log-loss",
        "validation": "5 folds",
        "trials": [trial],
        "best": dict(trial),
        "reason": "Alone.",
        "seconds": None,
        "budget": 60.0,
    }


def test_a_stored_choice_can_be_read():
    choice = Choice.from_dict(kept_choice())
    assert choice.best is choice.trials[0]
    assert "200 trees" in str(choice)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), 2),
        (("task",), "magic"),
        (("metric",), "rmse"),
        (("metric",), ["log-loss"]),
        (("reason",), "\x1b[2J"),
        (("seconds",), "1"),
        (("budget",), -1.0),
        (("trials",), {}),
        (("trials",), []),
        (("trials", 0), None),
        (("trials", 0, "method"), "nothing"),
        (("trials", 0, "scores"), {"log-loss": float("nan")}),
        (("trials", 0, "scores"), {"joy": 1.0}),
        (("trials", 0, "scores"), []),
        (("trials", 0, "parameters"), {"n_estimators": [1]}),
        (("best", "status"), "failed"),
        (("best", "spread"), True),
        (("extra",), 1),
    ],
)
def test_a_choice_that_was_tampered_with_is_refused_in_one_line(place, value):
    content = kept_choice()
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match=r"^[^\n]{1,400}$"):
        Choice.from_dict(content)


def test_a_warning_that_mentions_an_interrupt_is_no_interrupt(monkeypatch):
    class Warns(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("the download was interrupted", stacklevel=2)
            return super().fit(X, y, sample_weight)

    monkeypatch.setitem(METHODS, "forest", replace(METHODS["forest"], classifier=Warns))
    choice = choose(X, LABELS, "classification", methods=["forest"], budget=None)
    assert {trial.status for trial in choice.trials} == {"done"}
    assert choice.trials[0].note == "the download was interrupted"
