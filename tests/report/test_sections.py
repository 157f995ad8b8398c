"""The report: which sections there are, what they say, and that the page is whole."""

import hashlib
import re
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression

from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hedgerow.datafiles import describe, make_recipe
from hedgerow.report import Report, sections_data, sections_model, sections_quality
from hedgerow.report.facts import Facts, table_values
from hedgerow.report.sections_data import accuracy_interval, median_interval
from hedgerow.report.sections_quality import is_sum_of_stumps
from hedgerow.selection import Choice, Trial
from report_cases import faults, halves, mixed_table, report, text_of

KINDS = ("adaboost", "forest", "regression", "mixed")
ALWAYS = ["in-short", "data", "method"]
CLASSES = ["confusion", "calibration", "ranking", "importances", "dependence"]
EXPECTED = {
    "adaboost": [*ALWAYS, "curves", *CLASSES, "shapes", "margins", "hardest", "certificate", "reproduce"],
    "forest": [*ALWAYS, "curves", *CLASSES, "margins", "hardest", "reproduce"],
    "regression": [*ALWAYS, "curves", "predicted", "importances", "dependence", "hardest", "reproduce"],
    "mixed": [*ALWAYS, "curves", *CLASSES, "margins", "hardest", "reproduce"],
}


def body(made, name):
    return next(section.body for section in made.sections if section.id == name)


def rows_of(html, caption):
    """The table_values of a table, as texts."""
    table = html[html.index(f"<caption><span>{caption}") :]
    table = table[table.index("<tbody>") : table.index("</tbody>")]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_has_the_sections_that_apply(kind):
    assert [section.id for section in report(kind).sections] == EXPECTED[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_valid_small_and_needs_nothing_else(kind):
    html = report(kind).to_html()
    assert not faults(html)
    assert "http" not in html
    assert len(html.encode()) < 2_000_000


def test_the_same_inputs_give_the_same_bytes_whatever_the_settings():
    first = report("mixed").to_html()
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert report.__wrapped__("mixed").to_html() == first


def test_a_report_leaves_no_figure_behind():
    before = plt.get_fignums()
    made = report.__wrapped__("regression")
    assert plt.get_fignums() == before
    assert {"curves", "predicted", "importances", "permutation", "dependence"} <= set(made.figures)
    assert all(hasattr(display, "figure_") for display in made.figures.values())


def test_progress_is_told_from_none_to_all():
    X, y, X_test, y_test = halves(*load_diabetes(return_X_y=True))
    told = []
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    Report.from_estimator(model, X_test, y_test, progress=lambda *given: told.append(given))
    done, total, words = zip(*told, strict=True)
    assert list(done) == list(range(total[0] + 1))
    assert set(total) == {len(told) - 1}
    assert all(words)


def test_a_saved_report_is_the_page(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    report("mixed").save(path)
    assert path.read_text(encoding="utf-8") == report("mixed").to_html()
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


# --- in short


@pytest.mark.parametrize(("n_wrong", "n"), [(0, 10), (4, 143), (10, 10), (500, 1000)])
def test_the_interval_of_the_accuracy_is_that_of_clopper_and_pearson(n_wrong, n):
    right = n - n_wrong
    low = beta.ppf(0.025, right, n_wrong + 1) if right else 0.0
    high = beta.ppf(0.975, right + 1, n_wrong) if n_wrong else 1.0
    np.testing.assert_allclose(accuracy_interval(n_wrong, n), (low, high), rtol=1e-9)


def test_the_interval_of_the_median_holds_it_as_often_as_it_says():
    random = np.random.default_rng(0)
    for n in (6, 25, 200):
        samples = random.exponential(size=(2000, n))
        ends = np.array([median_interval(sample) for sample in samples])
        held = np.mean((ends[:, 0] <= np.log(2)) & (np.log(2) <= ends[:, 1]))
        assert held > 0.94
        assert n < 25 or held < 0.99


def test_the_headline_counts_the_mistakes_on_the_rows_held_out():
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    model = AdaBoostClassifier(n_estimators=25, random_state=0).fit(X, y)
    n_wrong = int(np.sum(model.predict(X_test) != y_test))
    short = body(report("adaboost"), "in-short")
    assert f"{n_wrong} of {len(y_test)}" in short
    assert f"{100 * (1 - n_wrong / len(y_test)):.1f} %" in short
    low, high = accuracy_interval(n_wrong, len(y_test))
    told = [float(end) / 100 for end in re.search(r"95 % interval ([\d.]+) % to ([\d.]+) %", short).groups()]
    assert told[0] <= low < told[0] + 0.001
    assert told[1] - 0.001 < high <= told[1]
    assert "With probability at least 95 %, the error on new rows is at most" in short


def test_regression_is_told_in_errors():
    short = body(report("regression"), "in-short")
    assert "R²" in short
    assert "root mean squared error" in short
    assert "accuracy" not in short


# --- data


def test_columns_are_told_with_kind_missing_values_and_a_histogram():
    html = body(report("mixed"), "data")
    rows = rows_of(html, "Test rows")
    assert [row[0] for row in rows] == ["age of the &#34;owner&#34;", "colour", "member"]
    assert [row[1] for row in rows] == ["number", "category", "boolean"]
    assert rows[2][2] == "–"
    assert "%" in rows[0][2]
    assert html.count('class="spark"') >= 2
    assert "<bdi>&lt;blue&gt; &amp; &#39;co&#39;</bdi>" in html


def test_what_became_of_a_file_is_told():
    table, y = mixed_table()
    table = table.append_column("constant", [["same"] * len(y)]).append_column("bought", [y.tolist()])
    recipe = make_recipe(table, "bought")
    X, labels = recipe.features(table), recipe.labels(table)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, labels)
    facts = Facts(model, X, labels, summary=describe(table), recipe=recipe)
    html = sections_data.data(facts).body
    assert "Columns dropped" in html
    assert "<code>constant</code>: " in html
    assert "constant (dropped)" in html
    assert "bought (target)" in html
    assert all(note.split()[0] in html for note in recipe.notes)
    assert "bought, one of 2 classes" in sections_data.in_short(facts).body


# --- method


def test_parameters_that_differ_from_their_defaults_come_first_and_the_others_are_folded():
    html = body(report("adaboost"), "method")
    changed = rows_of(html, "Parameters that differ from their defaults")
    assert changed == [["n_estimators", "25", "50"], ["random_state", "0", "None"]]
    folded = html[html.index("<details>") : html.index("</details>")]
    kept = rows_of(folded, "Parameters at their defaults")
    known = AdaBoostClassifier().get_params(deep=False)
    assert {row[0] for row in kept} == known.keys() - {"n_estimators", "random_state"}
    assert all(row[1] == repr(known[row[0]]).replace("'", "&#39;") for row in kept)
    assert f"{len(kept)} other parameters, at their defaults" in folded


def test_trials_are_told_the_best_first_and_marked():
    worse = Trial(
        "forest", "random forest", {"n_estimators": 50}, {"log-loss": 0.5, "accuracy": 0.7}, 0.02, 1.0
    )
    better = Trial("gradient", "gradient boosting", {}, {"log-loss": 0.3, "accuracy": 0.9}, 0.01, 2.0)
    skipped = Trial("bagging", "bagging <of trees>", {}, status="skipped", note="no time was left")
    choice = Choice(
        "classification",
        "log-loss",
        "5 folds",
        (worse, skipped, better),
        better,
        "It is the best.",
        None,
        4.0,
        9.0,
    )
    X, y = mixed_table(60)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    facts = Facts(model, X, y, choice=choice)
    html = sections_model.choice(facts).body
    rows = rows_of(html, "Methods, the best first")
    assert [row[0] for row in rows] == ["gradient boosting", "random forest", "bagging &lt;of trees&gt;"]
    assert [row[1] for row in rows] == ["defaults", "50 trees", "defaults"]
    assert rows[0][2] == "0.3"
    assert [row[-1] for row in rows] == ["", "", "skipped: no time was left"]
    alone = Choice("classification", "log-loss", "5 folds", (better,), better, "Alone.", None, 4.0)
    assert "note</th>" not in sections_model.choice(Facts(model, X, y, choice=alone)).body
    assert html.count('class="marked"') == 1
    assert "It is the best." in html
    assert "4.0 seconds of 9 allowed" in html
    assert "scores" in facts.figures


def test_a_forest_has_its_out_of_bag_score_instead_of_curves():
    html = body(report("forest"), "curves")
    assert "out-of-bag accuracy" in html
    assert "<svg" not in html


def test_curves_of_adaboost_have_bounds_and_both_errors():
    display = report("adaboost").figures["curves"]
    assert display.test_error is not None
    assert "training" in display.bounds


def test_how_to_reproduce_has_code_versions_and_the_checksum(tmp_path):
    path = tmp_path / "model.hedgerow"
    path.write_bytes(b"a model")
    X, y = mixed_table(60)
    model = GradientBoostingClassifier(n_estimators=3, random_state=7).fit(X, y)
    given = {"reproduce": ["hedgerow train a.csv --target <y>"], "model_file": path}
    html = sections_model.reproduce(Facts(model, X, y, **given)).body
    assert "hedgerow train a.csv --target &lt;y&gt;" in html
    assert hashlib.sha256(b"a model").hexdigest() in html
    assert str(tmp_path) not in html
    for name in ("Python", "hedgerow", "numpy", "numba", "scikit-learn"):
        assert f'<th scope="row">{name}</th>' in html
    code = sections_model.reproduce(Facts(model, X, y)).body
    assert "GradientBoostingClassifier(n_estimators=3, random_state=7)" in code


def test_a_choice_by_the_clock_is_reproduced_by_the_model_that_it_found():
    X, y = mixed_table(60)
    model = GradientBoostingClassifier(n_estimators=9, random_state=7)
    model.fit(X, y).set_params(n_estimators=12)  # as if the clock had ended the fit after 9 rounds
    best = Trial("gradient", "gradient boosting", {}, {"log-loss": 0.3}, 0.01, 2.0)
    choice = Choice("classification", "log-loss", "5 folds", (best,), best, "Alone.", None, 4.0, 9.0)
    command = "hedgerow train a.csv --target y"
    html = sections_model.reproduce(Facts(model, X, y, choice=choice, reproduce=[command])).body
    assert html.index(command) < html.index("GradientBoostingClassifier(n_estimators=9, random_state=7)")
    assert "depend on the machine" in html
    plain = sections_model.reproduce(Facts(model, X, y, reproduce=[command])).body
    assert "depend on the machine" not in plain


# --- rows


def test_the_hardest_rows_are_those_of_smallest_margin_with_their_numbers():
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    numbers = 1000 + np.arange(len(y_test))
    html = sections_quality.hardest(Facts(model, X_test, y_test, rows=numbers)).body
    rows = rows_of(html, "Test rows with the smallest margins")
    worst = np.argsort(model.margins(X_test, y_test), kind="stable")[:10]
    assert [int(row[0]) for row in rows] == (1000 + worst).tolist()
    assert [row[1] for row in rows] == [str(label) for label in y_test[worst]]
    assert [row[2] for row in rows] == [str(label) for label in model.predict(X_test)[worst]]


def test_rows_with_wrong_labels_are_found_doubtful():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    y[[10, 20]] = 1 - y[[10, 20]]
    X[[10, 20], 0] *= 5
    model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    html = sections_quality.hardest(Facts(model, X[:50], y[:50], X_train=X, y_train=y)).body
    rows = rows_of(html, "Training rows with the largest weights: possibly wrong labels")
    assert {rows[0][0], rows[1][0]} == {"10", "20"}


def test_the_largest_errors_of_regression_are_told():
    X, y, X_test, y_test = halves(*load_diabetes(return_X_y=True))
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    worst = np.argsort(-np.abs(y_test - model.predict(X_test)), kind="stable")[:10]
    rows = rows_of(body(report("regression"), "hardest"), "Test rows with the largest errors")
    assert [int(row[0]) for row in rows] == worst.tolist()


def test_cells_of_an_arrow_table_are_values_categories_or_nothing():
    table, _ = mixed_table(40)
    known = table.to_pylist()
    names = table.column_names
    for number, row in zip([3, 7, 20], table_values(table, np.array([3, 7, 20]), [0, 1, 2]), strict=True):
        assert row == [known[number][name] for name in names]


def test_of_very_many_rows_some_are_drawn_and_it_is_said(monkeypatch):
    monkeypatch.setattr("hedgerow.report.facts.MOST_ROWS", 40)
    X, y = mixed_table(90)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    facts = Facts(model, X, y, X_train=X, y_train=y)
    some_X, some_y = facts.some_train
    assert some_X.num_rows == len(some_y) == 40
    known = list(zip(X.to_pylist(), y, strict=True))
    assert all(pair in known for pair in zip(some_X.to_pylist(), some_y, strict=True))
    assert "Computed on a random sample of at most 40 rows." in sections_model.curves(facts).body


# --- what does not apply


def test_only_a_sum_of_stumps_has_shape_functions():
    X, y = load_diabetes(return_X_y=True)
    stumps = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=2).fit(X, y)
    assert is_sum_of_stumps(stumps)
    assert not is_sum_of_stumps(GradientBoostingRegressor(n_estimators=4).fit(X, y))
    assert not is_sum_of_stumps(AdaBoostRegressor(n_estimators=4).fit(X, y))
    assert not is_sum_of_stumps(LinearRegression().fit(X, y))
    assert sections_quality.shapes(Facts(stumps, X, y)).id == "shapes"


def test_models_of_other_libraries_have_a_shorter_report():
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    model = LogisticRegression(max_iter=1000).fit(X[:, :3], y)
    made = Report.from_estimator(model, X_test[:, :3], y_test, title="By <hand>")
    ids = [section.id for section in made.sections]
    assert ids == [*ALWAYS, *CLASSES, "hardest", "reproduce"]
    assert not faults(made.to_html())


def test_rows_of_one_class_have_no_ranking_and_no_failure():
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    facts = Facts(model, X_test[y_test == 1], y_test[y_test == 1])
    assert sections_quality.ranking(facts) is None
    assert sections_quality.confusion(facts) is not None
    assert sections_quality.calibration(facts) is not None


def test_a_class_that_the_model_does_not_know_is_a_mistake_and_no_failure():
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    X, X_test = X[:, :3], X_test[:, :3]
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    labels = np.where(np.arange(len(y_test)) == 5, 7, y_test)
    made = Report.from_estimator(model, X_test, labels, X_train=X, y_train=y)
    ids = [section.id for section in made.sections]
    assert not {"confusion", "calibration", "ranking"} & set(ids)
    assert made.figures["curves"].test_error is None
    told = text_of(made.to_html())
    assert f"{np.sum(model.predict(X_test) != labels)} of {len(labels)}" in told
    assert "classes that the model does not have (7)" in told


def test_a_section_that_fails_is_heard_of():
    X, y = mixed_table(60)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(AttributeError, match="dropped"):
        Report.from_facts(Facts(model, X, y, recipe=SimpleNamespace(target="y")))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [0, 1]}, "y_test has shape"),
        ({"X_train": [[1.0]]}, "y_train=None is not allowed: X_train and y_train must be passed together"),
        (
            {"rows": [1, 2]},
            "test_rows is not allowed: it must hold one integer for each of the 60 rows",
        ),
    ],
)
def test_inputs_that_do_not_fit_together_are_refused(given, message):
    X, y = mixed_table(60)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=re.escape(message)):
        Facts(model, **{"X": X, "y": y, **given})
