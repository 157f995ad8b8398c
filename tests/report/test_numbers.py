"""The figures on the page are true: each is computed again by scikit-learn or SciPy from the same rows."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    median_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from hedgerow import AdaBoostClassifier, GradientBoostingRegressor, RandomForestClassifier
from hedgerow.plots import CalibrationDisplay
from hedgerow.report import Report, sections_data, sections_quality, text
from hedgerow.report.facts import Facts
from hedgerow.report.sections_quality import importances
from report_cases import halves, report


@pytest.fixture(autouse=True)
def _no_windows():
    mpl.use("Agg")
    yield
    plt.close("all")


def section(kind, name):
    return next(one.body for one in report(kind).sections if one.id == name)


def key_figures(html):
    """Value and note of every key figure, by its name."""
    found = re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>(?:<dd class="note">(.*?)</dd>)?', html)
    return {name: (value, note) for name, value, note in found}


def shares(row):
    return [float(cell) / 100 for cell in re.findall(r">([\d.]+) %</td>", row)]


@pytest.fixture(scope="module")
def boosted():
    """The model of the report "adaboost", made again."""
    X, y, X_test, y_test = halves(*load_breast_cancer(return_X_y=True))
    model = AdaBoostClassifier(n_estimators=25, random_state=0).fit(X, y)
    return model, X_test, y_test


@pytest.fixture(scope="module")
def grown():
    """The model of the report "forest", made again."""
    X, y, X_test, y_test = halves(*load_iris(return_X_y=True))
    model = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    return model, X_test, y_test


def test_key_figures_of_two_classes(boosted):
    model, X, y = boosted
    said, sure = model.predict(X), model.predict_proba(X)
    told = key_figures(section("adaboost", "in-short"))
    n_wrong = int(np.sum(said != y))
    assert told["accuracy"][0] == f"{100 * accuracy_score(y, said):.1f} %"
    assert told["errors"][0] == f"{n_wrong} of {len(y)}"
    assert told["most frequent class"][0] == f"{100 * max(np.mean(y), 1 - np.mean(y)):.1f} %"
    assert float(told["area under ROC"][0]) == pytest.approx(roc_auc_score(y, sure[:, 1]), abs=5e-4)
    assert float(told["log-loss"][0]) == pytest.approx(log_loss(y, sure), rel=5e-3)
    exact = binomtest(len(y) - n_wrong, len(y)).proportion_ci(0.95, "exact")
    low, high = (float(end) for end in re.findall(r"([\d.]+) %(?: to|$)", told["accuracy"][1]))
    assert low / 100 == pytest.approx(exact.low, abs=1e-3)
    assert high / 100 == pytest.approx(exact.high, abs=1e-3)


def test_key_figures_of_regression():
    X, y, X_test, y_test = halves(*load_diabetes(return_X_y=True))
    said = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y).predict(X_test)
    told = key_figures(section("regression", "in-short"))
    for name, score in (
        ("R²", r2_score),
        ("root mean squared error", root_mean_squared_error),
        ("mean absolute error", mean_absolute_error),
        ("median absolute error", median_absolute_error),
    ):
        assert float(told[name][0]) == pytest.approx(score(y_test, said), rel=5e-3), name
    always_the_mean = root_mean_squared_error(y_test, np.full(len(y_test), y_test.mean()))
    assert float(told["standard deviation of the target"][0]) == pytest.approx(always_the_mean, rel=5e-3)


@pytest.mark.parametrize("kind", ["adaboost", "forest"])
def test_precision_and_recall_of_every_class(kind, boosted, grown):
    model, X, y = boosted if kind == "adaboost" else grown
    known = precision_recall_fscore_support(y, model.predict(X))
    rows = re.findall(r"<tr>(.*?)</tr>", section(kind, "confusion").split("<tbody>")[1])
    for number, row in enumerate(rows):
        np.testing.assert_allclose(shares(row), [one[number] for one in known[:3]], atol=5.1e-4)
        assert int(re.search(r">(\d+)</td>$", row)[1]) == known[3][number]
    assert len(rows) == len(model.classes_)


def test_areas_of_two_classes_and_of_more(boosted, grown):
    model, X, y = boosted
    sure = model.predict_proba(X)[:, 1]
    told = [
        float(area) for area in re.findall(r"(?:curve|precision) ([\d.]+)\.<", section("adaboost", "ranking"))
    ]
    np.testing.assert_allclose(told, [roc_auc_score(y, sure), average_precision_score(y, sure)], atol=5e-4)
    model, X, y = grown
    sure, drawn = model.predict_proba(X), report("forest").figures
    assert drawn["roc"].mean.area == pytest.approx(roc_auc_score(y, sure, multi_class="ovr"))
    one_hot = np.eye(3)[y]
    assert drawn["precision-recall"].mean.area == pytest.approx(average_precision_score(one_hot, sure))


def test_calibration_of_the_report(boosted):
    model, X, y = boosted
    sure = model.predict_proba(X)[:, 1]
    drawn = report("adaboost").figures["calibration"]
    assert drawn.brier == pytest.approx(brier_score_loss(y, sure))
    assert drawn.n_rows.sum() == len(y)
    assert np.sum(drawn.prob_pred * drawn.n_rows) == pytest.approx(sure.sum())
    hits = np.rint(drawn.prob_true * drawn.n_rows).astype(int)
    assert hits.sum() == y.sum()
    for low, high, hit, n in zip(drawn.low, drawn.high, hits, drawn.n_rows, strict=True):
        exact = binomtest(int(hit), int(n)).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_bins_of_distinct_probabilities_are_the_quantile_bins_of_scikit_learn():
    random = np.random.default_rng(1)
    sure = random.random(400)
    y = (random.random(400) < sure).astype(int)
    drawn = CalibrationDisplay.from_predictions(y, sure, n_bins=8)
    observed, predicted = calibration_curve(y, sure, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(drawn.prob_pred, predicted)
    np.testing.assert_allclose(drawn.prob_true, observed)


def test_few_rows_have_few_bins():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    facts = Facts(model, X[:45], y[:45])
    sections_quality.calibration(facts)
    assert len(facts.figures["calibration"].n_rows) <= 3


def test_permutation_importances_agree_with_scikit_learn(boosted):
    model, X, y = boosted
    drawn = report("adaboost").figures["permutation"]
    known = permutation_importance(model, X, y, scoring="neg_brier_score", n_repeats=20, random_state=1)
    near = np.abs(drawn.values - known.importances_mean)
    assert np.all(near <= 3 * (known.importances_std + drawn.spreads) + 1e-6)
    clear = known.importances_mean > 2 * known.importances_std
    assert clear.any()
    assert np.all(drawn.values[clear] > 0)


def test_partial_dependence_agrees_with_scikit_learn(boosted):
    model, X, _ = boosted
    facts = Facts(model, X, np.zeros(len(X), dtype=int))
    drawn = report("adaboost").figures["dependence"].dependences
    for column, found in zip(facts.top_features(6), drawn, strict=True):
        grid = {column: found.values}
        known = partial_dependence(model, X, [column], custom_values=grid, response_method="predict_proba")
        np.testing.assert_allclose(found.means[0], known["average"][0], atol=1e-12)


def test_margins_of_a_forest_are_votes_for_the_label_less_those_for_the_next(grown):
    model, X, y = grown
    votes = model.predict_proba(X)
    of_label = votes[np.arange(len(y)), y]
    others = np.where(np.eye(3, dtype=bool)[y], -1.0, votes).max(axis=1)
    drawn = report("forest").figures["margins"].margins[-1]
    np.testing.assert_allclose(np.sort(drawn), np.sort(of_label - others), atol=1e-12)


def test_a_single_mistake_among_many_rows_is_no_accuracy_of_a_hundred_per_cent():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (4000, 2)).astype(float)
    y = (X[:, 0] > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    held = y.copy()
    held[0] = 1 - held[0]
    told = key_figures(sections_data.in_short(Facts(model, X, held)).body)
    assert told["errors"][0] == "1 of 4,000"
    assert told["accuracy"][0] == "&gt; 99.9 %"
    assert text.share(accuracy_score(held, model.predict(X))) == "> 99.9 %"


def test_what_is_left_out_or_drawn_is_said(monkeypatch):
    monkeypatch.setattr("hedgerow.report.sections_quality._MAX_PERMUTED", 2)
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    facts = Facts(model, X, y)
    assert "omitted: there are more than 2 columns" in importances(facts).body
    assert "permutation" not in facts.figures
    monkeypatch.undo()
    monkeypatch.setattr("hedgerow.report.sections_quality._PERMUTED_ROWS", (40, 40))
    assert "40 random test rows" in importances(Facts(model, X, y)).body


def test_rows_are_not_weighed_through_very_many_rounds(monkeypatch):
    monkeypatch.setattr("hedgerow.report.sections_quality._MAX_WEIGHTS", 150 * 4)
    X, y = load_iris(return_X_y=True)
    for n_rounds, looks in ((4, True), (5, False)):
        model = AdaBoostClassifier(n_estimators=n_rounds, random_state=0).fit(X, y)
        html = sections_quality.hardest(Facts(model, X, y, X_train=X, y_train=y)).body
        assert ("are not computed for" not in html) == looks


def test_of_many_classes_it_is_said_how_many_are_drawn():
    X, _ = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, np.arange(150) % 7)
    made = Report.from_estimator(model, X, np.arange(150) % 7)
    told = next(one.body for one in made.sections if one.id == "dependence")
    assert "The 5 most probable of 7 classes are drawn." in told
