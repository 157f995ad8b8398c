"""Reports: the sections that apply, their content, and a valid page."""

import hashlib
import re
from copy import copy
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta
from sklearn.linear_model import LinearRegression, LogisticRegression

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.datafiles import describe, make_recipe
from hedgerow.report import (
    Report,
    sections_columns,
    sections_data,
    sections_model,
    sections_quality,
    sections_rows,
)
from hedgerow.report.data import ReportData, table_values
from hedgerow.report.sections_columns import is_sum_of_stumps
from hedgerow.report.sections_data import median_interval
from hedgerow.selection import Choice, Trial
from hedgerow.theory import certify
from hedgerow.theory.deviations import clopper_pearson
from report_cases import case, faults, mixed_table, report, text_of

ALWAYS = ["summary", "data", "method"]
CLASSES = ["confusion", "calibration", "ranking", "importances", "dependence"]
EXPECTED = {
    "adaboost": [*ALWAYS, "curves", *CLASSES, "shapes", "margins", "hardest", "certificate", "reproduce"],
    "forest": [*ALWAYS, "curves", *CLASSES, "margins", "hardest", "reproduce"],
    "regression": [*ALWAYS, "curves", "predicted", "importances", "dependence", "hardest", "reproduce"],
    "mixed": [*ALWAYS, "curves", *CLASSES, "margins", "hardest", "reproduce"],
}


def body(made, name):
    return next(section.body for section in made.sections if section.id == name)


@pytest.fixture(scope="module")
def small():
    """A model of sixty rows, with the rows."""
    X, y = mixed_table(60)
    return GradientBoostingClassifier(n_estimators=3, random_state=7).fit(X, y), X, y


def rows_of(html, caption):
    """The rows of a table, as texts."""
    table = html[html.index(f"<caption><span>{caption}") :]
    table = table[table.index("<tbody>") : table.index("</tbody>")]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_pages_are_valid_and_have_the_sections_that_apply():
    for kind, sections in EXPECTED.items():
        assert [section.id for section in report(kind).sections] == sections, kind
        html = report(kind).to_html()
        assert not faults(html), kind
        assert "http" not in html
        assert len(html.encode()) < 2_000_000


def test_same_inputs_give_the_same_bytes_with_any_settings_and_report_progress():
    first, calls, before = report("mixed").to_html(), [], plt.get_fignums()
    model, _, _, X, y = case("mixed")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None}):
        again = Report.from_estimator(model, X, y, progress=lambda *call: calls.append(call))
        assert again.to_html() == first
    assert plt.get_fignums() == before  # figures are closed
    assert {"curves", "confusion", "importances", "permutation", "dependence"} <= set(again.figures)
    assert all(hasattr(display, "figure_") for display in again.figures.values())
    done, total, names = zip(*calls, strict=True)
    assert list(done) == list(range(total[0] + 1))
    assert set(total) == {len(calls) - 1}
    assert all(names)


def test_saved_report_is_the_page(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    report("mixed").save(path)
    assert path.read_text(encoding="utf-8") == report("mixed").to_html()
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


# --- in short


@pytest.mark.parametrize(("n_wrong", "n"), [(0, 10), (4, 143), (10, 10), (500, 1000)])
def test_accuracy_interval_is_that_of_clopper_and_pearson(n_wrong, n):
    right = n - n_wrong
    low = beta.ppf(0.025, right, n_wrong + 1) if right else 0.0
    high = beta.ppf(0.975, right + 1, n_wrong) if n_wrong else 1.0
    np.testing.assert_allclose(clopper_pearson(n - n_wrong, n), (low, high), rtol=1e-9)


def test_median_interval_has_its_coverage():
    random = np.random.default_rng(0)
    for n in (6, 25, 200):
        ends = np.array([median_interval(sample) for sample in random.exponential(size=(1000, n))])
        coverage = np.mean((ends[:, 0] <= np.log(2)) & (np.log(2) <= ends[:, 1]))
        assert coverage > 0.935
        assert n < 25 or coverage < 0.99


def test_summary_has_the_statement_of_the_certificate():
    short = body(report("adaboost"), "summary")
    assert "With probability at least 95 %, the error on new rows is at most" in short


# --- data


def test_columns_have_kind_missing_values_and_a_histogram():
    html = body(report("mixed"), "data")
    rows = rows_of(html, "Test set")
    assert [row[0] for row in rows] == ["age of the &#34;owner&#34;", "colour", "member"]
    assert [row[1] for row in rows] == ["number", "category", "boolean"]
    assert rows[2][2] == "–"
    assert "%" in rows[0][2]
    assert html.count('class="spark"') >= 2
    assert "<bdi>&lt;blue&gt; &amp; &#39;co&#39;</bdi>" in html


def test_preparation_of_a_file_is_listed():
    table, y = mixed_table()
    table = table.append_column("constant", [["same"] * len(y)]).append_column("bought", [y.tolist()])
    recipe = make_recipe(table, "bought")
    X, labels = recipe.features(table), recipe.labels(table)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, labels)
    data = ReportData(model, X, labels, summary=describe(table), recipe=recipe)
    html = sections_data.data_section(data).body
    assert "Columns dropped" in html
    assert "<code>constant</code>: " in html
    assert "constant (dropped)" in html
    assert "bought (target)" in html
    assert all(note.split()[0] in html for note in recipe.notes)
    assert "bought, one of 2 classes" in sections_data.summary_section(data).body


# --- method


def test_parameters_at_their_defaults_are_folded():
    html = body(report("adaboost"), "method")
    changed = rows_of(html, "Parameters that differ from their defaults")
    assert changed == [["n_estimators", "12", "50"], ["random_state", "0", "None"]]
    folded = html[html.index("<details>") : html.index("</details>")]
    kept = rows_of(folded, "Parameters at their defaults")
    known = AdaBoostClassifier().get_params(deep=False)
    assert {row[0] for row in kept} == known.keys() - {"n_estimators", "random_state"}
    assert all(row[1] == repr(known[row[0]]).replace("'", "&#39;") for row in kept)
    assert f"{len(kept)} other parameters, at their defaults" in folded


def choice_of(best, *others, reason="The only one.", budget=None):
    return Choice("classification", "log-loss", "5 folds", (*others, best), best, reason, None, 4.0, budget)


BEST = Trial("gradient", "gradient boosting", {}, {"log-loss": 0.3, "accuracy": 0.9}, 0.01, 2.0)


def test_trials_are_sorted_and_the_best_is_marked(small):
    scores = {"log-loss": 0.5, "accuracy": 0.7}
    worse = Trial("forest", "random forest", {"n_estimators": 50}, scores, 0.02, 1.0)
    skipped = Trial("bagging", "bagging <of trees>", {}, status="skipped", note="no time was left")
    data = ReportData(*small, choice=choice_of(BEST, worse, skipped, reason="It is the best.", budget=9.0))
    html = sections_model.choice(data).body
    rows = rows_of(html, "Methods, the best first")
    assert [row[0] for row in rows] == ["gradient boosting", "random forest", "bagging &lt;of trees&gt;"]
    assert [row[1] for row in rows] == ["defaults", "50 trees", "defaults"]
    assert [row[2] for row in rows] == ["0.300 ± 0.010", "0.500 ± 0.020", "–"]
    assert [row[-1] for row in rows] == ["", "", "skipped: no time was left"]
    assert "note</th>" not in sections_model.choice(ReportData(*small, choice=choice_of(BEST))).body
    assert html.count('class="marked"') == 1
    assert "It is the best." in html
    assert "4.0 seconds of 9 allowed" in html
    assert "scores" in data.figures


def test_forest_has_its_out_of_bag_score_instead_of_curves():
    html = body(report("forest"), "curves")
    assert "out-of-bag accuracy" in html
    assert "<svg" not in html


def test_curves_of_adaboost_have_bounds_and_both_errors():
    display = report("adaboost").figures["curves"]
    assert display.test_error is not None
    assert "training" in display.bounds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_folds": 2}, "the out-of-fold loss, of every row under a model that was not fitted to it,"),
        ({"n_folds": None}, "the validation set"),
    ],
)
def test_curves_of_folds_are_not_those_of_a_validation_set(options, said):
    X, y = mixed_table(120)
    model = GradientBoostingClassifier(n_estimators=4, early_stopping=True, random_state=0, **options)
    made = Report.from_estimator(model.fit(X[:80], y[:80]), X[80:], y[80:], X_train=X[:80], y_train=y[:80])
    curves = str(body(made, "curves"))
    assert f"Losses recorded during the fit; {said} determines the number of rounds." in curves


def test_how_to_reproduce_has_code_versions_and_the_checksum(small, tmp_path):
    path = tmp_path / "model.hedgerow"
    path.write_bytes(b"a model")
    options = {"reproduce": ["hedgerow train a.csv --target <y>"], "model_file": path}
    html = sections_model.reproduce(ReportData(*small, **options)).body
    assert "hedgerow train a.csv --target &lt;y&gt;" in html
    assert hashlib.sha256(b"a model").hexdigest() in html
    assert str(tmp_path) not in html
    for name in ("Python", "hedgerow", "numpy", "scikit-learn"):
        assert f'<th scope="row">{name}</th>' in html
    code = sections_model.reproduce(ReportData(*small)).body
    assert "GradientBoostingClassifier(n_estimators=3, random_state=7)" in code


def test_choice_within_a_budget_is_reproduced_by_the_chosen_model(small):
    model = copy(small[0]).set_params(n_estimators=12)  # as if the budget had ended the fit after 3 rounds
    command = "hedgerow train a.csv --target y"
    data = ReportData(model, *small[1:], choice=choice_of(BEST, budget=9.0), reproduce=[command])
    html = sections_model.reproduce(data).body
    assert html.index(command) < html.index("GradientBoostingClassifier(n_estimators=3, random_state=7)")
    assert "depend on the machine" in html
    plain = sections_model.reproduce(ReportData(model, *small[1:], reproduce=[command])).body
    assert "depend on the machine" not in plain


# --- rows


def test_hardest_rows_are_those_of_smallest_margin():
    model, _, _, X_test, y_test = case("adaboost")
    numbers = 1000 + np.arange(len(y_test))
    html = sections_rows.hardest(ReportData(model, X_test, y_test, rows=numbers)).body
    rows = rows_of(html, "Test rows with the smallest margins")
    worst = np.argsort(model.margins(X_test, y_test), kind="stable")[:10]
    assert [int(row[0]) for row in rows] == (1000 + worst).tolist()
    assert [row[1] for row in rows] == [str(label) for label in y_test[worst]]
    assert [row[2] for row in rows] == [str(label) for label in model.predict(X_test)[worst]]


def test_training_rows_with_wrong_labels_have_large_weights():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    y[[10, 20]] = 1 - y[[10, 20]]
    X[[10, 20], 0] *= 5
    model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    html = sections_rows.hardest(ReportData(model, X[:50], y[:50], X_train=X, y_train=y)).body
    rows = rows_of(html, "Training rows with the largest weights in their class: possibly wrong labels")
    assert {rows[0][0], rows[1][0]} == {"10", "20"}


def test_largest_errors_of_regression_are_listed():
    model, _, _, X, y = case("regression")
    worst = np.argsort(-np.abs(y - model.predict(X)), kind="stable")[:10]
    rows = rows_of(body(report("regression"), "hardest"), "Test rows with the largest errors")
    assert [int(row[0]) for row in rows] == worst.tolist()


def test_values_of_an_arrow_table_are_numbers_categories_or_none():
    table, _ = mixed_table(40)
    known = table.to_pylist()
    names = table.column_names
    for number, row in zip([3, 7, 20], table_values(table, np.array([3, 7, 20]), [0, 1, 2]), strict=True):
        assert row == [known[number][name] for name in names]


def test_samples_of_many_rows_are_noted(small, monkeypatch):
    monkeypatch.setattr("hedgerow.report.data.MAX_ROWS", 40)
    model, X, y = small
    data = ReportData(model, X, y, X_train=X, y_train=y)
    some_X, some_y = data.some_train
    assert some_X.num_rows == len(some_y) == 40
    known = list(zip(X.to_pylist(), y, strict=True))
    assert all(pair in known for pair in zip(some_X.to_pylist(), some_y, strict=True))
    assert "Computed on a random sample of at most 40 rows." in sections_model.curves(data).body


# --- sections that do not apply, and unusual rows


def test_only_a_sum_of_stumps_has_shape_functions():
    _, X, y, _, _ = case("regression")
    stumps = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=2).fit(X, y)
    assert is_sum_of_stumps(stumps)
    assert not is_sum_of_stumps(GradientBoostingRegressor(n_estimators=4).fit(X, y))
    assert not is_sum_of_stumps(AdaBoostRegressor(n_estimators=4).fit(X, y))
    assert not is_sum_of_stumps(LinearRegression().fit(X, y))
    assert sections_columns.shapes(ReportData(stumps, X, y)).id == "shapes"


def test_models_of_other_libraries_have_a_shorter_report():
    _, X, y, X_test, y_test = case("adaboost")
    model = LogisticRegression(max_iter=1000).fit(X[:, :2], y)
    made = Report.from_estimator(model, X_test[:, :2], y_test, title="By <hand>")
    ids = [section.id for section in made.sections]
    assert ids == [*ALWAYS, *CLASSES, "hardest", "reproduce"]
    assert not faults(made.to_html())


def test_rows_of_one_class_have_no_ranking():
    model, _, _, X, y = case("adaboost")
    data = ReportData(model, X[y == 1], y[y == 1])
    assert sections_quality.ranking(data) is None
    assert sections_quality.confusion(data) is not None
    assert sections_quality.calibration(data) is not None


def test_unknown_classes_count_as_errors():
    _, X, y, X_test, y_test = case("adaboost")
    model = AdaBoostClassifier(n_estimators=3).fit(X[:, :2], y)
    labels = np.where(np.arange(len(y_test)) == 5, 7, y_test)
    made = Report.from_estimator(model, X_test[:, :2], labels, X_train=X[:, :2], y_train=y)
    ids = [section.id for section in made.sections]
    assert not {"confusion", "calibration", "ranking"} & set(ids)
    assert made.figures["curves"].test_error is None
    content = text_of(made.to_html())
    assert f"{np.sum(model.predict(X_test[:, :2]) != labels)} of {len(labels)}" in content
    assert "classes that the model does not have (7)" in content


@pytest.mark.parametrize("kind", ["adaboost", "regression"])
def test_a_single_row_with_an_infinite_value_has_a_report(kind):
    model, _, _, X, y = case(kind)
    row = X[:1].copy()
    row[:, np.argmax(model.feature_importances_)] = np.inf
    made = Report.from_estimator(model, row, y[:1])
    left_out = {"curves", "ranking", "certificate", "importances"}
    assert [section.id for section in made.sections if section.id not in left_out] == [
        name for name in EXPECTED[kind] if name not in left_out
    ]
    assert not faults(made.to_html())


def test_errors_of_sections_are_raised(small):
    with pytest.raises(AttributeError, match="dropped"):
        sections_data.data_section(ReportData(*small, recipe=SimpleNamespace(target="y")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [0, 1]}, "y_test has shape"),
        ({"X_train": [[1.0]]}, "y_train=None is not allowed: X_train and y_train must be passed together"),
        ({"rows": [1, 2]}, "test_rows is not allowed: it must hold one integer for each of the 60 rows"),
    ],
)
def test_inconsistent_inputs_are_rejected(small, options, message):
    model, X, y = small
    with pytest.raises(ValueError, match=re.escape(message)):
        ReportData(model, **{"X": X, "y": y, **options})


def test_words_of_classes_and_of_the_sets_are_the_same_in_all_sections():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 2)), np.arange(300) % 10 == 0  # nothing to learn
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X[:200], y[:200])
    bound = certify(model, X[200:], y[200:])
    assert bound.is_vacuous(bound.best)
    html = Report.from_estimator(
        model, X[200:], y[200:], X_train=X[:200], y_train=y[:200], certificate=bound
    ).to_html()
    assert "of the test set: accuracy of always predicting it" in html
    assert "In this sentence the most frequent class is that of the training set." in html
    assert "predicted label" in html
    assert "actual" not in html


def test_text_of_drawings_of_many_panels_is_larger_on_phones():
    html = report("regression").to_html()
    drawn = {name: html.index(f'id="{name}') for name in ("dependence", "predicted")}
    for name, is_many in (("dependence", True), ("predicted", False)):
        start = html.index("<svg role", drawn[name])
        assert ('class="panels"' in html[start : html.index(">", start)]) == is_many
    assert "svg.panels text { font-size: " in html
