"""choose: the order of trials, the result, failures and interrupts; the same for any number of threads."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.estimators import RandomForestClassifier
from hedgerow.selection import AUTO, METHODS, Choice, Trial, choose, make_model, search
from hedgerow.selection.settings import Setting, settings_for

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
LABELS = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=160) > 0, "up", "down")
NUMBERS = X[:, 0] - 2.0 * X[:, 1] + 0.1 * RNG.normal(size=160)
FAST = ["gradient", "forest"]


def _short(method, task, n_rows, *_):
    """Two settings of a method with few rounds."""
    found = [one for one in settings_for(method, task, n_rows) if not one.is_automatic]
    return [setting.shortened(4) for setting in found[:2]]


@pytest.fixture(autouse=True)
def short_settings(monkeypatch):
    monkeypatch.setattr(search, "settings_for", _short)


def choose_labels(methods=FAST, y=LABELS, **options):
    return choose(X, y, "classification", methods=methods, budget=None, **options)


@pytest.fixture(scope="module")
def choice():
    """The choice among all methods of `auto`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "settings_for", _short)
        return choose_labels(AUTO, random_state=3, ensemble=False)


def test_the_model_is_the_best_trial_fitted_to_all_rows(choice):
    best = choice.best
    assert best in choice.trials
    assert best.scores["log-loss"] == min(t.scores["log-loss"] for t in choice.trials)
    again = make_model(best.method, "classification", random_state=3, **best.parameters).fit(X, LABELS)
    np.testing.assert_array_equal(choice.model.predict_proba(X), again.predict_proba(X))
    assert set(choice.model.classes_) == {"up", "down"}
    assert choice.metric == "log-loss"
    assert choice.validation == "5-fold cross-validation of 160 rows"
    assert choice.ranked[0] is best


def test_first_settings_come_first_and_then_better_methods(choice):
    order = [trial.method for trial in choice.trials]
    assert order[: len(AUTO)] == list(AUTO)
    assert all(trial.status == "done" for trial in choice.trials)
    first = {trial.method: trial.scores["log-loss"] for trial in choice.trials[: len(AUTO)]}
    assert order[len(AUTO) :] == sorted(AUTO, key=first.get)


def test_a_choice_is_json_and_prints_as_a_table(choice):
    again = json.loads(json.dumps(choice.to_dict(), allow_nan=False))
    assert again["best"]["parameters"] == choice.best.parameters
    assert len(again["trials"]) == 2 * len(AUTO)
    assert "model" not in again
    text = str(choice)
    assert choice.best.description in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 118


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_choice_does_not_depend_on_the_number_of_threads(task):
    y = LABELS if task == "classification" else NUMBERS
    one, two = (choose(X, y, task, methods=FAST, budget=None, n_jobs=n) for n in (1, 2))
    assert len(one.trials) == len(two.trials)
    for a, b in zip(one.trials, two.trials, strict=True):
        assert (a.method, a.parameters, a.scores, a.spread) == (b.method, b.parameters, b.scores, b.spread)
    assert one.best.parameters == two.best.parameters
    assert one.reason == two.reason
    np.testing.assert_array_equal(one.model.predict(X), two.model.predict(X))


def test_regression_is_scored_by_rmse_and_logitboost_is_not_used():
    choice = choose(X, NUMBERS, "regression", methods=["gradient", "logitboost"], budget=None)
    assert choice.metric == "rmse"
    (refused,) = [trial for trial in choice.trials if trial.status == "skipped"]
    assert (refused.method, refused.note) == ("logitboost", "it is for classification, not for regression")
    assert "LogitBoost, it is for classification" in choice.reason
    assert choice.best.scores["r2"] > 0.2


def test_larger_tables_are_split_once():
    many = np.tile(X, (15, 1)) + 0.01 * np.random.default_rng(1).normal(size=(2400, 4))
    choice = choose(many, np.tile(LABELS, 15), "classification", methods=["forest"], budget=None)
    assert choice.validation == "one validation split of 480 of the 2,400 rows"


@pytest.mark.parametrize("metric", ["auc", "brier"])
def test_another_metric_decides(metric):
    choice = choose_labels(["adaboost", "forest"], metric=metric)
    scores = [trial.scores[metric] for trial in choice.trials]
    assert choice.best.scores[metric] == (min(scores) if metric == "brier" else max(scores))


def test_early_stopping_finds_the_number_of_rounds(monkeypatch):
    noisy = np.where(RNG.random(160) < 0.3, "up", LABELS)
    monkeypatch.setattr(
        search, "settings_for", lambda *_: [Setting("gradient", {"n_estimators": 200}, patience=10)]
    )
    choice = choose_labels(["gradient"], noisy)
    rounds = choice.best.parameters["n_estimators"]
    assert 1 <= rounds < 100
    assert choice.model.n_estimators_ == rounds


# --- tables and targets


def test_rare_classes_do_not_break_the_folds():
    y = LABELS.astype(object)
    y[:2], y[2] = "rare", "single"
    choice = choose_labels(["adaboost", "logitboost", *FAST], y)
    assert {trial.status for trial in choice.trials} == {"done"}
    assert set(choice.model.classes_) == {"up", "down", "rare", "single"}


def test_the_reason_mentions_scores_near_a_constant_prediction():
    y = np.zeros(160, int)
    y[:3] = 1
    assert "not clearly better than a constant prediction" in choose_labels(y=y).reason
    choice = choose_labels(["gradient", "bagging"], X[:, 0] > 0)
    assert "constant" not in choice.reason
    assert choice.model.predict(X).dtype == bool


def test_tables_with_categories_and_missing_values():
    colours = np.array(["red", "green", None, "blue"], dtype=object)[RNG.integers(0, 4, 160)]
    values = X[:, 0].copy()
    values[::7] = np.nan
    y = np.where((colours == "red") ^ (np.nan_to_num(values) > 0), 1, 0)
    arrow = pa.table({"c": pa.array(colours).dictionary_encode(), "v": pa.array(values, from_pandas=True)})
    frame = pd.DataFrame({"c": pd.Categorical(colours), "v": values})
    methods = ["adaboost", "logitboost", *FAST]
    choices = [choose(table, y, "classification", methods=methods, budget=None) for table in (arrow, frame)]
    for choice, table in zip(choices, (arrow, frame), strict=True):
        assert {trial.status for trial in choice.trials} == {"done"}
        assert np.mean(choice.model.predict(table) == y) > 0.9
    by_table = [[trial.scores for trial in choice.trials if trial.method == "gradient"] for choice in choices]
    assert by_table[0] == by_table[1]


def test_sparse_tables():
    table = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    choice = choose(table, LABELS, "classification", methods=FAST, budget=None)
    assert {trial.status for trial in choice.trials} == {"done"}


# --- failures and interrupts


class _Broken(RandomForestClassifier):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("it does not work\nand this is the second line")


@pytest.fixture
def broken_forest(monkeypatch):
    monkeypatch.setitem(METHODS, "forest", replace(METHODS["forest"], classifier=_Broken))


@pytest.mark.usefixtures("broken_forest")
def test_a_method_that_raises_is_failed_with_the_first_line_of_its_error():
    choice = choose_labels(["forest", "adaboost"])
    failed = [trial for trial in choice.trials if trial.status == "failed"]
    assert [trial.method for trial in failed] == ["forest", "forest"]
    assert failed[0].note == "RuntimeError: it does not work"
    assert choice.best.method == "adaboost"
    assert "RuntimeError: it does not work" in choice.reason
    assert "RuntimeError" in str(choice)

    with pytest.raises(
        ValueError, match=r"^no method could be fitted: random forest: RuntimeError: it does not work$"
    ):
        choose_labels(["forest"])


def _interrupt_at(text):
    def progress(_done, _total, step):
        if text in step:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_returns_the_best_model_so_far_if_there_is_one():
    choice = choose_labels(["gradient", "adaboost", "forest"], progress=_interrupt_at("random forest ("))
    assert [trial.method for trial in choice.trials] == ["gradient", "adaboost"]
    assert "An interrupt ended the trials; 4 settings were not tried." in choice.reason
    assert choice.model.predict(X[:2]).shape == (2,)
    with pytest.raises(KeyboardInterrupt):
        choose_labels(progress=_interrupt_at("gradient boosting ("))


def test_an_interrupt_that_a_fit_converts_to_a_warning_ends_the_trials(monkeypatch):
    real = METHODS["adaboost"].classifier

    class Interrupted(real):
        def fit(self, X, y, **more):
            def stop(_done):
                raise KeyboardInterrupt

            callbacks = [*(more.pop("callbacks", None) or []), *([stop] if len(y) > 100 else [])]
            return super().fit(X, y, callbacks=callbacks, **more)

    monkeypatch.setitem(METHODS, "adaboost", replace(METHODS["adaboost"], classifier=Interrupted))
    choice = choose_labels(["gradient", "adaboost"])
    assert {trial.method for trial in choice.trials} == {"gradient"}


# --- progress, text and JSON


def test_progress_is_reported_step_by_step():
    steps = []
    choose_labels(["adaboost", "forest"], progress=lambda *step: steps.append(step))
    assert [done for done, _, _ in steps] == list(range(8))
    assert {total for _, total, _ in steps} == {7}
    assert "compiles" in steps[0][2]
    assert "fitted to all 160 rows" in steps[-2][2]
    assert steps[-1][2] == "done"


def test_the_reason_names_the_runner_up_and_whether_it_is_within_noise():
    choice = choose_labels(ensemble=False)
    assert choice.reason.startswith(choice.best.title.capitalize())
    other = {"gradient": "random forest", "forest": "gradient boosting"}[choice.best.method]
    assert f"The best of the other methods is {other}" in choice.reason
    assert "; the difference, " in choice.reason
    assert ("is below two standard errors" in choice.reason) != (
        "is above two standard errors" in choice.reason
    )


def test_two_methods_with_equal_predictions_are_equal_in_the_reason(monkeypatch):
    monkeypatch.setattr(search, "settings_for", lambda method, *_: [Setting(method, {"n_estimators": 5})] * 2)
    choice = choose_labels(["forest"])
    assert "of its other settings" in choice.reason
    assert "equal on every row" in choice.reason
    assert choice.best is choice.trials[0]


# --- arguments


@pytest.mark.parametrize(
    ("changed", "message"),
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
        ({"y": np.ones(160)}, "one class only"),
        ({"y": LABELS[:10]}, "y has 10 rows, but X has 160"),
        ({"X": X[:3], "y": LABELS[:3]}, "X has 3 rows; choose needs at least 4"),
        ({"X": np.array([["a"]] * 160)}, "Column 0"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(changed, message):
    progress = []
    arguments = {"X": X, "y": LABELS, "task": "classification", **changed}
    with pytest.raises(ValueError, match=message) as refused:
        choose(**arguments, progress=lambda *step: progress.append(step))
    assert "\n" not in str(refused.value)
    assert progress == []


def test_methods_that_do_not_support_the_target_are_refused():
    with pytest.raises(ValueError, match="none of them supports this target"):
        choose(X, NUMBERS, "regression", methods=["logitboost"])


def stored_choice():
    """The content of a file."""
    trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3}, 0.01)
    choice = Choice("classification", "log-loss", "5 folds", (trial,), trial, "Alone.", None, 1.0, 60.0)
    return {**choice.to_dict(), "seconds": None}


def test_a_stored_choice_can_be_read():
    choice = Choice.from_dict(stored_choice())
    assert choice.best is choice.trials[0]
    assert "200 trees" in str(choice)


def test_parameters_of_a_stored_choice_may_be_lists_and_dicts():
    parameters = {"n_estimators": 20, "monotonic_cst": {"age": 1}, "interaction_cst": [[0, 1], [2]]}
    trial = Trial("gradient", "gradient boosting", parameters, {"log-loss": 0.3}, 0.01)
    choice = Choice("classification", "log-loss", "5 folds", (trial,), trial, "Alone.", None, 1.0, 60.0)
    assert Choice.from_dict(choice.to_dict()).best.parameters == parameters


@pytest.mark.parametrize(
    ("keys", "value"),
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
        (("trials", 0, "parameters"), {"n_estimators": {"a": {"b": {"c": {"d": 1}}}}}),
        (("trials", 0, "parameters"), {"loss": "\x1b[2J"}),
        (("trials", 0, "parameters"), {"a": ["\x1b[2J"]}),
        (("trials", 0, "parameters"), {"n_estimators": float("inf")}),
        (("best", "status"), "failed"),
        (("best", "spread"), True),
        (("extra",), 1),
    ],
)
def test_a_changed_choice_is_refused_in_one_line(keys, value):
    content = inner = stored_choice()
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    with pytest.raises(ValueError, match=r"^[^\n]{1,400}$"):
        Choice.from_dict(content)


def test_a_warning_that_mentions_an_interrupt_does_not_interrupt(monkeypatch):
    class Warns(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("the download was interrupted", stacklevel=2)
            return super().fit(X, y, sample_weight)

    monkeypatch.setitem(METHODS, "forest", replace(METHODS["forest"], classifier=Warns))
    choice = choose_labels(["forest"])
    assert {trial.status for trial in choice.trials} == {"done"}
    assert choice.trials[0].note == "the download was interrupted"
