"""Numbers of the report agree with scikit-learn and SciPy on the same rows."""

import re
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.inspection import partial_dependence, permutation_importance

from hedgerow import AdaBoostClassifier, RandomForestClassifier
from hedgerow.plots import CalibrationDisplay, ImportancesDisplay, labels
from hedgerow.report import (
    ReportData,
    sections_columns,
    sections_data,
    sections_model,
    sections_quality,
    sections_rows,
)
from hedgerow.report.sections_columns import compare_importances
from hedgerow.theory.certificate import Bound, Certificate
from hedgerow.theory.deviations import holdout_bound
from report_cases import case

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@cache
def data(kind):
    model, _, _, X, y = case(kind)
    return ReportData(model, X, y)


@cache
def body(kind, make):
    return make(data(kind)).body


def figure(kind, make, name):
    body(kind, make)
    return data(kind).figures[name]


def key_figures(html):
    """Value and note of every key figure, by its name."""
    found = re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>(?:<dd class="note">(.*?)</dd>)?', html)
    return {name: (value, note) for name, value, note in found}


def test_key_figures_of_two_classes():
    model, _, _, X, y = case("adaboost")
    predicted, probabilities = model.predict(X), model.predict_proba(X)
    found = key_figures(body("adaboost", sections_data.summary_section))
    n_wrong = int(np.sum(predicted != y))
    assert found["accuracy"][0] == f"{100 * metrics.accuracy_score(y, predicted):.1f} %"
    assert found["errors"][0] == f"{n_wrong} of {len(y)}"
    assert found["most frequent class"][0] == f"{100 * max(np.mean(y), 1 - np.mean(y)):.1f} %"
    area = metrics.roc_auc_score(y, probabilities[:, 1])
    assert float(found["area under ROC"][0]) == pytest.approx(area, abs=5e-4)
    assert float(found["log-loss"][0]) == pytest.approx(metrics.log_loss(y, probabilities), rel=5e-3)
    exact = binomtest(len(y) - n_wrong, len(y)).proportion_ci(0.95, "exact")
    low, high = (float(end) / 100 for end in re.findall(r"([\d.]+) %(?: to|$)", found["accuracy"][1]))
    assert low <= exact.low < low + 1e-3  # rounded outwards
    assert high - 1e-3 < exact.high <= high


def test_key_figures_of_regression():
    model, _, _, X, y = case("regression")
    predicted = model.predict(X)
    html = body("regression", sections_data.summary_section)
    found = key_figures(html)
    for name, score in (
        ("R²", metrics.r2_score),
        ("root mean squared error", metrics.root_mean_squared_error),
        ("mean absolute error", metrics.mean_absolute_error),
        ("median absolute error", metrics.median_absolute_error),
    ):
        assert float(found[name][0]) == pytest.approx(score(y, predicted), rel=5e-3), name
    mean_error = metrics.root_mean_squared_error(y, np.full(len(y), y.mean()))
    assert float(found["standard deviation of the target"][0]) == pytest.approx(mean_error, rel=5e-3)
    assert "accuracy" not in html


@pytest.mark.parametrize("kind", ["adaboost", "forest"])
def test_precision_and_recall_of_every_class(kind):
    model, _, _, X, y = case(kind)
    known = metrics.precision_recall_fscore_support(y, model.predict(X))
    html = body(kind, sections_quality.confusion)
    rows = re.findall(r"<tr>(.*?)</tr>", html.split("<tbody>")[1])
    for number, row in enumerate(rows):
        shares = [float(cell) / 100 for cell in re.findall(r">([\d.]+) %</td>", row)]
        np.testing.assert_allclose(shares, [one[number] for one in known[:3]], atol=5.1e-4)
        assert int(re.search(r">(\d+)</td>$", row)[1]) == known[3][number]
    assert len(rows) == len(model.classes_)


def test_areas_of_two_and_of_several_classes():
    model, _, _, X, y = case("adaboost")
    probabilities = model.predict_proba(X)[:, 1]
    html = body("adaboost", sections_quality.ranking)
    areas = [float(area) for area in re.findall(r"(?:curve|precision) ([\d.]+)\.<", html)]
    wanted = [score(y, probabilities) for score in (metrics.roc_auc_score, metrics.average_precision_score)]
    np.testing.assert_allclose(areas, wanted, atol=5e-4)
    model, _, _, X, y = case("forest")
    probabilities = model.predict_proba(X)
    roc, precision = (
        figure("forest", sections_quality.ranking, name).mean.area for name in ("roc", "precision-recall")
    )
    assert roc == pytest.approx(metrics.roc_auc_score(y, probabilities, multi_class="ovr"))
    assert precision == pytest.approx(metrics.average_precision_score(np.eye(3)[y], probabilities))


def test_calibration_of_the_report():
    model, _, _, X, y = case("adaboost")
    probabilities = model.predict_proba(X)[:, 1]
    drawn = figure("adaboost", sections_quality.calibration, "calibration")
    assert drawn.brier == pytest.approx(metrics.brier_score_loss(y, probabilities))
    assert drawn.n_rows.sum() == len(y)
    assert np.sum(drawn.prob_pred * drawn.n_rows) == pytest.approx(probabilities.sum())
    hits = np.rint(drawn.prob_true * drawn.n_rows).astype(int)
    assert hits.sum() == y.sum()
    few = ReportData(model, X[:45], y[:45])
    sections_quality.calibration(few)
    assert len(few.figures["calibration"].n_rows) <= 3


def test_bins_of_distinct_probabilities_are_the_quantile_bins_of_scikit_learn():
    random = np.random.default_rng(1)
    probabilities = random.random(400)
    y = (random.random(400) < probabilities).astype(int)
    drawn = CalibrationDisplay.from_predictions(y, probabilities, n_bins=8)
    observed, predicted = calibration_curve(y, probabilities, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(drawn.prob_pred, predicted)
    np.testing.assert_allclose(drawn.prob_true, observed)


def test_permutation_importances_agree_with_scikit_learn():
    model, _, _, X, y = case("adaboost")
    drawn = figure("adaboost", sections_columns.importances, "permutation")
    known = permutation_importance(model, X, y, scoring="neg_brier_score", n_repeats=10, random_state=1)
    difference = np.abs(drawn.values - known.importances_mean)
    assert np.all(difference <= 3 * (known.importances_std + drawn.spreads) + 1e-6)
    clear = known.importances_mean > 2 * known.importances_std
    assert clear.any()
    assert np.all(drawn.values[clear] > 0)


def test_partial_dependence_agrees_with_scikit_learn():
    model, _, _, X, _ = case("adaboost")
    drawn = figure("adaboost", sections_columns.partial_dependence, "dependence").dependences
    for column, found in zip(data("adaboost").top_features(6), drawn, strict=True):
        grid = {column: found.values}
        known = partial_dependence(model, X, [column], custom_values=grid, response_method="predict_proba")
        np.testing.assert_allclose(found.means[0], known["average"][0], atol=1e-12)


def test_margins_of_a_forest_are_differences_of_votes():
    model, _, _, X, y = case("forest")
    votes = model.predict_proba(X)
    others = np.where(np.eye(3, dtype=bool)[y], -1.0, votes).max(axis=1)
    drawn = figure("forest", sections_quality.margins, "margins").margins[-1]
    np.testing.assert_allclose(np.sort(drawn), np.sort(votes[np.arange(len(y)), y] - others), atol=1e-12)


def test_one_error_among_many_rows_is_not_rounded_to_full_accuracy():
    X = np.random.default_rng(0).integers(0, 2, (4000, 2)).astype(float)
    y = (X[:, 0] > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    y[0] = 1 - y[0]
    found = key_figures(sections_data.summary_section(ReportData(model, X, y)).body)
    assert found["errors"][0] == "1 of 4,000"
    assert found["accuracy"][0] == "&gt; 99.9 %"
    assert labels.share(metrics.accuracy_score(y, model.predict(X))) == "> 99.9 %"


def test_omitted_and_sampled_permutations_are_noted(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(sections_columns, "_MAX_PERMUTED", 2)
        iris = ReportData(model, X, y)
        assert "omitted: there are more than 2 columns" in sections_columns.importances(iris).body
        assert "permutation" not in iris.figures
    monkeypatch.setattr(sections_columns, "_PERMUTED_ROWS", (40, 40))
    assert "40 random rows of the test set" in sections_columns.importances(ReportData(model, X, y)).body


@pytest.mark.parametrize(("n_rounds", "is_computed"), [(4, True), (5, False)])
def test_weights_are_omitted_for_many_rounds(monkeypatch, n_rounds, is_computed):
    monkeypatch.setattr(sections_rows, "_MAX_WEIGHTS", 150 * 4)
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=n_rounds, random_state=0).fit(X, y)
    html = sections_rows.hardest(ReportData(model, X, y, X_train=X, y_train=y)).body
    assert ("are not computed for" not in html) == is_computed


def test_number_of_drawn_classes_is_noted():
    X, y = load_iris(return_X_y=True)[0], np.arange(150) % 7
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    html = sections_columns.partial_dependence(ReportData(model, X, y)).body
    assert "The 5 most probable of 7 classes are drawn." in html


def test_average_precision_of_a_rare_class_is_a_key_figure():
    X, y = load_breast_cancer(return_X_y=True)
    kept = np.flatnonzero((y == 1) | (np.cumsum(y == 0) <= 25))
    X, y = X[kept][:, 20:24], np.where(y[kept] == 0, "malignant", "well")
    model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X[::2], y[::2])
    rare = ReportData(model, X[1::2], y[1::2])
    found = key_figures(sections_data.summary_section(rare).body)
    score = metrics.average_precision_score(rare.y == "malignant", model.predict_proba(rare.X)[:, 0])
    assert float(found["average precision"][0]) == pytest.approx(score, abs=5e-4)
    assert found["average precision"][1].startswith("of class malignant")
    sections_quality.ranking(rare)
    assert rare.figures["precision-recall"].curves[0].area == pytest.approx(score)
    sections_quality.calibration(rare)
    assert rare.figures["calibration"].pos_label == "malignant"
    for kind in ("adaboost", "forest", "regression"):
        assert "average precision" not in key_figures(body(kind, sections_data.summary_section))


def test_bound_is_the_same_in_tile_sentence_table_and_plot():
    model, _, _, X, y = case("adaboost")
    for n_errors in (0, 1, 3):
        n = 600  # a bound of 0.0051 is not 0.6 %
        bound = Bound("hold-out", holdout_bound(n_errors, n, 0.05), 0.05, n, f"{n_errors} errors", "")
        certified = ReportData(
            model, X, y, certificate=Certificate("AdaBoostClassifier", 0.05, 0.4, (bound,))
        )
        value = key_figures(sections_data.summary_section(certified).body)["error bound"][0].removeprefix(
            "≤ "
        )
        assert bound.value <= float(value) < bound.value + 1e-4
        html = sections_model.certificate(certified).body
        assert f"is at most {value} (hold-out)" in sections_data.summary_section(certified).body
        assert f'<td class="number">{value}</td>' in html
        assert [label.get_text() for label in certified.figures["bounds"].ax_.texts] == [value]


def importances(names, values, spreads=None):
    return ImportancesDisplay(list(names), np.array(values), spreads and np.array(spreads), "share")


def test_disagreeing_importances_are_explained():
    split = importances("abcd", [0.5, 0.3, 0.2, 0.0])
    same = importances("abcd", [0.3, 0.2, 0.1, 0.0], [0.01] * 4)
    assert compare_importances(split, same) == "The two kinds agree on the important columns."
    replaced = importances("abcd", [0.3, 0.005, 0.1, 0.0], [0.01] * 4)
    assert "Large by splits, near zero by permutation: b." in compare_importances(split, replaced)
    other = importances("abcd", [0.3, 0.2, 0.1, 0.2], [0.01] * 4)
    assert "Large by permutation, near zero by splits: d." in compare_importances(split, other)
    dominated = importances("abcd", [0.86, 0.04, 0.036, 0.013])
    smaller = importances("abcd", [1.06, 0.03, 0.05, 0.01], [0.01] * 4)
    assert compare_importances(dominated, smaller) == "The two kinds agree on the important columns."
    equal = importances("abcd", [0.3, 0.25, 0.2, 0.25])
    found = compare_importances(equal, importances("abcd", [0.1, 0.2, 0.3, 0.15], [0.01] * 4))
    assert "The rank correlation of the columns is −0.95." in found
    assert "shared among correlated columns" in found
