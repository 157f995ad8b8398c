"""compare: the same folds for all methods, reasons for methods that are not used, and the printed table."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss

from hedgerow.selection import METHODS, MethodOptions, RowOrder, compare, fold_rows, make_model
from hedgerow.selection.comparing import CompareRow, Comparison
from hedgerow.selection.results import Choice, Trial, format_parameters

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
NUMBERS = X[:, 0] - 2.0 * X[:, 1]


def test_every_method_and_a_linear_model_are_compared():
    comparison = compare(X, LABELS, "classification", folds=2, n_jobs=1)
    assert [row.method for row in comparison.rows] == list(METHODS)
    for row in comparison.rows:
        expected = {"accuracy", "balanced-accuracy", "f1", "log-loss", "brier", "auc", "pr-auc"}
        assert set(row.scores) == expected, row
        assert row.scores["accuracy"][0] > 0.6
        assert row.fit_seconds > 0
        assert row.predict_seconds > 0
    assert comparison.folds == 2


def test_scores_are_means_and_deviations_over_the_folds():
    (row,) = compare(X, LABELS, "classification", methods=["forest"], folds=3, random_state=5).rows
    losses = []
    for train, test in fold_rows(LABELS, "classification", 3, 5):
        model = make_model("forest", "classification", random_state=5).fit(X[train], LABELS[train])
        losses.append(log_loss(LABELS[test], model.predict_proba(X[test])))
    assert row.scores["log-loss"] == pytest.approx((np.mean(losses), np.std(losses, ddof=1)))


def test_the_scores_do_not_depend_on_the_number_of_threads():
    methods = ["gradient", "forest", "linear", "bagging"]
    one, two = (compare(X, LABELS, "classification", methods=methods, folds=2, n_jobs=n) for n in (1, 2))
    assert [row.scores for row in one.rows] == [row.scores for row in two.rows]


def test_methods_that_do_not_support_the_target_have_a_reason():
    comparison = compare(X, NUMBERS, "regression", folds=2, methods=["stump", "logitboost", "linear"])
    notes = {row.method: row.note for row in comparison.rows}
    assert notes["logitboost"] == "not used: it is for classification, not for regression"
    (linear,) = [row for row in comparison.rows if row.method == "linear"]
    assert linear.title == "ridge regression"
    assert linear.scores["r2"][0] > 0.99
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    (row,) = compare(X, three, "classification", folds=2, methods=["anyboost"]).rows
    assert row.note == "not used: it is for two classes, and y has 3"
    assert row.scores == {}


def test_a_method_that_fails_has_a_note_and_the_others_continue(monkeypatch):
    def broken(*_):
        raise MemoryError("too much\nof it")

    monkeypatch.setattr("hedgerow.estimators.RandomForestClassifier.fit", broken)
    forest, stump = compare(X, LABELS, "classification", methods=["forest", "stump"], folds=2).rows
    assert forest.note == "failed: MemoryError: too much"
    assert stump.scores["accuracy"][0] > 0.5


def test_tables_with_rare_classes_and_categories():
    y = LABELS.astype(object)
    y[:2] = "rare"
    colours = pa.array(np.array(["red", "green", None], dtype=object)[RNG.integers(0, 3, 150)])
    table = pa.table({"c": colours.dictionary_encode(), "x": X[:, 0], "z": X[:, 1]})
    comparison = compare(table, y, "classification", folds=3, n_jobs=1)
    notes = {row.method: row.note for row in comparison.rows if row.note}
    assert notes == {"anyboost": "not used: it is for two classes, and y has 3"}


def test_progress_is_reported_and_errors_of_the_callback_are_raised():
    steps = []
    compare(
        X, LABELS, "classification", methods=["stump", "tree"], folds=2, progress=lambda *s: steps.append(s)
    )
    assert [step[:2] for step in steps] == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]

    def fails(*_):
        raise RuntimeError("the callback")

    with pytest.raises(RuntimeError, match="the callback"):
        compare(X, LABELS, "classification", methods=["stump"], folds=2, progress=fails)


def test_a_comparison_is_json_and_prints_as_a_table():
    comparison = compare(X, LABELS, "classification", methods=["stump", "linear"], folds=2)
    again = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert again["rows"][1]["title"] == "logistic regression"
    assert len(again["rows"][1]["scores"]["auc"]) == 2
    text = str(comparison)
    assert "logistic regression" in text
    assert max(map(len, text.splitlines())) <= 150


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"folds": 1}, "folds=1 is not allowed"),
        ({"folds": 151}, "folds=151 is not allowed"),
        ({"methods": ["boost"]}, "method='boost' is not allowed"),
        ({"y": LABELS[:3]}, "y has 3 rows, but X has 150"),
        ({"task": "?"}, "is not allowed"),
    ],
)
def test_bad_arguments_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        compare(**{"X": X, "y": LABELS, "task": "classification", **changed})


# --- text


def test_parameters_are_formatted():
    assert format_parameters("adaboost", {"n_estimators": 1, "max_depth": 1}) == "1 round, stumps"
    assert format_parameters("bagging", {"n_estimators": 50, "max_depth": None}) == "50 trees, any depth"
    assert format_parameters("forest", {"n_estimators": 9, "new": 3}) == "9 trees, new=3"
    assert (
        Trial("gradient", "g", {"n_estimators": 100}, status="skipped").description == "g (up to 100 rounds)"
    )
    assert Trial("forest", "f", {"n_estimators": 100}, status="skipped").description == "f (100 trees)"
    assert Trial("linear", "l", {}).description == "l"


def test_brackets_in_texts_are_not_markup():
    row = CompareRow("x", "[bold]x[/bold]", note="failed: [red]")
    assert "[bold]x[/bold]" in str(Comparison("classification", 5, (row,)))
    trial = Trial("forest", "[i]f", {"n_estimators": 1}, {"rmse": 1.0}, 0.1, 0.1)
    assert "[i]f (1 tree)" in str(Choice("regression", "rmse", "folds", (trial,), trial, "[b]", None, 1.0))


def test_folds_of_a_comparison_keep_groups_together():
    groups = np.arange(len(LABELS)) // 10
    options = MethodOptions(order=RowOrder.of(len(LABELS), groups=groups), class_weight="balanced")
    comparison = compare(X, LABELS, "classification", methods=["tree", "schapire"], folds=3, options=options)
    whole = compare(X, LABELS, "classification", methods=["tree"], folds=3)
    assert comparison.folds == 3
    assert comparison.rows[0].scores != whole.rows[0].scores
    assert comparison.rows[1].note == "not used: it has no weights of rows"
