"""Fits to all rows that are trials and final models in one."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, root_mean_squared_error

from hedgerow.boosting.folds import draw_folds
from hedgerow.selection import choose, make_model, search
from hedgerow.selection.limits import FitLimits
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.metrics import METRICS, find_metric
from hedgerow.selection.out_of_fold import OutOfFoldRows, fit_boosting, fit_forest
from hedgerow.selection.search import MethodSearch
from hedgerow.selection.settings import OUT_OF_FOLD, Setting, settings_for
from hedgerow.selection.splits import RowOrder, TrainingData
from hedgerow.selection.trials import RecordedLimit, TrialContext, run_trial

N = 160
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(N, 4))
LABELS = np.array(["left", "right", "up"])[(X[:, 0] > 0.5).astype(int) + (X[:, 1] + X[:, 0] > 0.3)]
NUMBERS = X[:, 0] ** 2 + X[:, 1] + 0.1 * RANDOM.normal(size=N)
TARGETS = {"classification": LABELS, "regression": NUMBERS}
ORDER = RANDOM.permutation(N)


def _rows(task, weights=None):
    data = TrainingData.of(X, TARGETS[task], task, "test")
    return OutOfFoldRows(X, data.y, data.encoded, weights, ORDER)


def _loss(task, y, predicted, weights):
    if task == "classification":
        return log_loss(y, predicted, sample_weight=weights, labels=sorted(set(LABELS)))
    return root_mean_squared_error(y, predicted, sample_weight=weights) ** 2 / 2


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_of_boosting_have_the_loss_that_ended_the_fit(task, weighted):
    weights = RANDOM.uniform(0.5, 2.0, N) if weighted else None
    model = make_model("gradient", task, random_state=11, n_estimators="auto")
    fit = fit_boosting(model, _rows(task, weights), RecordedLimit(np.inf))
    expected = model.history_["validation_loss"][model.best_iteration_]
    of_order = None if weights is None else weights[ORDER]
    assert _loss(task, TARGETS[task][ORDER], fit.predicted, of_order) == pytest.approx(expected, rel=1e-9)
    assert fit.n_rounds == model.n_estimators_
    assert not fit.stopped_by_clock


def test_a_row_is_predicted_by_a_model_that_its_target_did_not_change():
    rows = _rows("regression")
    folds = draw_folds(None, None, N, 4, 0)
    changed = rows.y.copy()
    # the same values, in one round: the largest gradient of all rows decides how gradients are rounded
    changed[folds == 2] = RANDOM.permutation(changed[folds == 2])
    options = {"random_state": 0, "n_estimators": 1, "n_folds": 4}
    one, other = (
        fit_boosting(make_model("gradient", "regression", **options), each, RecordedLimit(np.inf)).predicted
        for each in (rows, rows._replace(y=changed, encoded=changed))
    )
    same = folds[ORDER] == 2
    np.testing.assert_array_equal(one[same], other[same])
    assert np.mean(one[~same] != other[~same]) > 0.5


@pytest.mark.parametrize("task", TARGETS)
def test_a_forest_is_that_of_a_fit_without_out_of_bag_predictions(task):
    fit = fit_forest(make_model("forest", task, random_state=2, n_estimators=60), _rows(task), FitLimits())
    scored = make_model("forest", task, random_state=2, n_estimators=60, oob_score=True).fit(X, TARGETS[task])
    name = "oob_decision_function_" if task == "classification" else "oob_prediction_"
    np.testing.assert_array_equal(fit.predicted, getattr(scored, name)[ORDER])
    plain = make_model("forest", task, random_state=2, n_estimators=60).fit(X, TARGETS[task])
    assert vars(fit.model).keys() == vars(plain).keys()
    assert fit.model.get_params() == plain.get_params()
    np.testing.assert_array_equal(fit.model.predict(X), plain.predict(X))


def test_a_forest_without_predictions_of_some_rows_is_refused():
    model = make_model("forest", "regression", random_state=2, n_estimators=2)
    with (
        pytest.warns(UserWarning, match="in the bag of every"),
        pytest.raises(ValueError, match="2 trees are too few"),
    ):
        fit_forest(model, _rows("regression"), FitLimits())


def test_a_size_limit_bounds_forests_and_excludes_larger_models_of_folds():
    rows = _rows("regression")

    def limited(max_bytes):
        options = {"n_rows": N, "all_rows": rows, "max_bytes": max_bytes}
        return TrialContext("regression", METRICS["rmse"], [], 0, 1, **options)

    context = limited(400_000)
    forest = run_trial(context, Setting("forest", {"n_estimators": 200}, out_of_fold=True), None)
    assert forest.trial.status == "done", forest.trial.note
    assert 10 < forest.model.n_estimators_ == forest.trial.parameters["n_estimators"] < 200
    boosting = run_trial(
        limited(150_000), Setting("gradient", {"n_estimators": "auto"}, out_of_fold=True), None
    )
    assert boosting.trial.status == "failed"
    assert "too large for the size limit of" in boosting.trial.note


# --- in `choose`


@pytest.fixture
def two_settings(monkeypatch):
    """Two settings of each method."""
    monkeypatch.setattr(search, "settings_for", lambda *given: settings_for(*given)[:2])


@pytest.mark.usefixtures("two_settings")
@pytest.mark.parametrize("task", TARGETS)
def test_the_model_is_that_of_the_trial_and_the_same_for_any_number_of_threads(task):
    methods = ("gradient", "forest")
    one, two = (
        choose(X, TARGETS[task], task, methods=methods, budget=None, n_jobs=n, random_state=3, ensemble=False)
        for n in (1, 2)
    )
    assert one.validation == (
        "5-fold cross-validation of 160 rows, with gradient boosting by its own folds and forests out of bag"
    )
    assert [trial.scores for trial in one.trials] == [trial.scores for trial in two.trials]
    again = make_model(one.best.method, task, random_state=3, **one.best.parameters).fit(X, TARGETS[task])
    np.testing.assert_array_equal(one.model.predict(X), again.predict(X))
    np.testing.assert_array_equal(one.model.predict(X), two.model.predict(X))


@pytest.mark.usefixtures("two_settings")
@pytest.mark.parametrize("task", TARGETS)
def test_all_trials_predict_the_same_rows_in_the_same_order(task):
    data = TrainingData.of(X, TARGETS[task], task, "test")
    metric = find_metric(None, task, data.n_classes, data.encoded)
    names = ["gradient", "adaboost", "forest", "bagging"]
    found = MethodSearch(data, metric, names, [], None, 0, 1, None)
    found.warm_up()
    found.start_clock()
    found.plan_rows()
    found.try_all()
    kept = found.candidates()
    assert {result.trial.method for result in kept} == set(names)
    order = found.ensemble_rows.rows
    expected = np.concatenate([split.y_valid for split in found.splits])[order]
    for result in kept:
        np.testing.assert_array_equal(result.sample.y_true, expected)
        assert (result.model is None) == (result.trial.method == "adaboost")
        if task == "regression":  # predictions in another order would not be correlated
            assert np.corrcoef(result.sample.y_pred, expected)[0, 1] > 0.7


def _scored(monkeypatch, y=NUMBERS, task="regression", **options):
    """Return how the settings are scored."""
    seen = []

    def record(*given):
        seen.append(given[-1])
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "settings_for", record)
    with pytest.raises(KeyboardInterrupt):
        choose(X[: len(y)], y, task, methods=["gradient"], options=MethodOptions(**options))
    return seen[0]


def test_tables_whose_rows_cannot_be_scored_out_of_fold_have_splits(monkeypatch):
    assert _scored(monkeypatch) == OUT_OF_FOLD
    assert _scored(monkeypatch, LABELS, "classification") == OUT_OF_FOLD
    assert _scored(monkeypatch, sample_weight=np.full(N, 2.0)) == OUT_OF_FOLD
    assert _scored(monkeypatch, max_size=50_000_000) == OUT_OF_FOLD
    alone = LABELS.copy()
    alone[3] = "alone"
    for changed in (
        {"y": NUMBERS[:40]},
        {"y": alone, "task": "classification"},
        {"sample_weight": np.arange(N)},
        {"order": RowOrder.of(N, groups=np.arange(N) // 4)},
        {"order": RowOrder.of(N, times=np.arange(N))},
        {"max_size": 1_000_000},
        {"parameters": {"max_depth": 3}},
        {"parameters": {"loss": "huber"}},
    ):
        assert _scored(monkeypatch, **changed) == "on splits"


def test_a_fit_that_the_budget_ends_is_the_model_and_the_text_says_so():
    model = make_model("gradient", "regression", random_state=0, n_estimators="auto")
    fit = fit_boosting(model, _rows("regression"), RecordedLimit(1e-9))
    assert (fit.stopped_by_clock, fit.n_rounds) == (True, 1)
    assert np.isfinite(fit.predicted).all()
