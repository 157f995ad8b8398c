"""Sections: quality of the predictions for the test rows, and importance and effect of the columns."""

from typing import Any

import numpy as np
from markupsafe import Markup
from sklearn.metrics import precision_recall_fscore_support

from hedgerow.forest import TreeModel
from hedgerow.plots import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    ImportancesDisplay,
    MarginDistributionDisplay,
    PartialDependenceDisplay,
    PrecisionRecallDisplay,
    PredictedDisplay,
    RocCurveDisplay,
    ShapeFunctionDisplay,
    labels,
)
from hedgerow.plots.inputs import encode_labels
from hedgerow.report import page, text
from hedgerow.report.facts import Facts, table_values
from hedgerow.report.page import Section
from hedgerow.selection import METRICS

_HARDEST = 10  # rows in the tables of hard ones
_MAX_BINS, _MIN_BIN_ROWS = 10, 15  # of the calibration curve; intervals of few rows are wide
_SHOWN = 4  # features in these tables
_MOST_CLASSES = 100  # of a matrix and a table of classes
_MAX_WEIGHTS = 10_000_000  # training rows times rounds up to which weights are computed
_SUSPECT = 2.0  # mean weight, relative to 1/n, from which a label is suspect


def confusion(facts: Facts) -> Section | None:
    """The confusion matrix, and precision and recall of every class."""
    if not facts.has_known_labels or len(facts.classes) > _MOST_CLASSES:
        return None
    display = ConfusionMatrixDisplay.from_predictions(facts.y, facts.predicted, labels=facts.classes)
    n_classes, n_wrong = len(facts.classes), int(np.sum(facts.wrong))
    alt = (
        f"Matrix of {n_classes} by {n_classes} cells: {len(facts.y) - n_wrong:,} correct predictions, "
        f"{n_wrong:,} errors; the table below has the numbers per class"
    )
    caption = "Test rows by true and predicted class. Shades are shares of a row of the matrix."
    drawn = facts.draw("confusion", display, caption, alt)
    return Section("confusion", "Confusion matrix", drawn + _per_class(facts))


def _per_class(facts: Facts) -> Markup:
    codes = [encode_labels(labels, facts.classes) for labels in (facts.y, facts.predicted)]
    found = precision_recall_fscore_support(
        *codes, labels=range(len(facts.classes)), average=None, zero_division=np.nan
    )
    rows = [
        [text.value(label), *(text.share(float(one)) for one in numbers[:3]), f"{int(numbers[3]):,}"]
        for label, *numbers in zip(facts.classes, *found, strict=True)
    ]
    head = ["class", "precision", "recall", "F1", "rows"]
    note = (
        "Precision: share of the predictions of the class that are correct. Recall: share of the rows of the "
        "class that are predicted. F1: their harmonic mean."
    )
    return page.table("Quality by class", head, rows, numbers=range(1, 5)) + page.paragraph(
        note, kind="small"
    )


def calibration(facts: Facts) -> Section | None:
    """The calibration of the probabilities."""
    if facts.probabilities is None or not facts.has_known_labels:
        return None
    n_bins = max(2, min(_MAX_BINS, len(facts.y) // _MIN_BIN_ROWS))
    display = CalibrationDisplay.from_predictions(
        facts.y, facts.probabilities, labels=facts.classes, n_bins=n_bins
    )
    caption = (
        "Observed frequency of rows with similar predicted probabilities; calibrated probabilities are on "
        "the diagonal. Error bars are exact 95 % intervals. Below, a histogram of the predicted "
        "probabilities."
    )
    error = text.percent(display.calibration_error)
    alt = f"Observed frequencies against predicted probabilities: calibration error {error}"
    return Section("calibration", "Calibration", facts.draw("calibration", display, caption, alt))


def ranking(facts: Facts) -> Section | None:
    """ROC and precision-recall curves."""
    if facts.probabilities is None or not facts.has_known_labels or len(set(facts.y.tolist())) < 2:
        return None
    elements = []
    for name, kind, title, area in (
        ("roc", RocCurveDisplay, "ROC", "area under the curve"),
        ("precision-recall", PrecisionRecallDisplay, "Precision-recall", "average precision"),
    ):
        display: Any = kind.from_predictions(facts.y, facts.probabilities, labels=facts.classes)
        drawn = display.curves[0] if display.mean is None else display.mean
        classes = "mean of the classes, each against the rest" if display.mean else f"class {drawn.name}"
        value = labels.below_one(drawn.area)
        caption = f"{title} curve, {classes}: {area} {value}."
        elements.append(facts.draw(name, display, caption, f"{title} curve, {area} {value}"))
    return Section("ranking", "ROC and precision-recall", page.side_by_side(*elements))


def predicted(facts: Facts) -> Section | None:
    """Actual against predicted values, and the errors."""
    if facts.is_classification:
        return None
    display = PredictedDisplay.from_predictions(facts.y, facts.predicted)
    caption = "Above, actual against predicted values; below, the residuals: actual minus predicted."
    r2 = text.number(facts.scores.get("r2"), 3)
    alt = f"Scatter plot of {len(facts.y):,} actual against predicted values, R² {r2}"
    measures = {METRICS[name].title: value for name, value in facts.scores.items()}
    measures["mean residual"] = float(np.mean(facts.residuals))
    quantiles = {"median": 0.5, "90 % quantile of the": 0.9, "99 % quantile of the": 0.99, "largest": 1.0}
    for name, quantile in quantiles.items():
        measures[f"{name} absolute error"] = float(np.quantile(np.abs(facts.residuals), quantile))
    rows = [[name, text.number(value)] for name, value in measures.items()]
    table = page.table("Errors on the test rows", ["measure", "value"], rows, numbers=[1])
    drawn = facts.draw("predicted", display, caption, alt)
    return Section("predicted", "Predicted and actual values", drawn + table)


def margins(facts: Facts) -> Section | None:
    """Distribution of the margins."""
    if not facts.is_classification or not hasattr(facts.model, "margins"):
        return None
    elements = []
    for name, which, (X, y) in (
        ("training-margins", "Training rows", facts.some_train),
        ("margins", "Test rows", facts.some_test),
    ):
        if y is None:
            continue
        display = MarginDistributionDisplay.from_estimator(facts.model, X, y)
        last = display.margins[-1]
        caption = (
            f"{which}: cumulative distribution of the margins. Smallest "
            f"{text.number(float(last.min()), 3)}, median {text.number(float(np.median(last)), 3)}."
        )
        negative = text.percent(float(np.mean(last <= 0)))
        alt = f"{which}: cumulative distribution of margins; {negative} not above 0"
        elements.append(facts.draw(name, display, caption, alt))
    if not elements:
        return None
    about = page.paragraph(
        "The margin of a row is the share of the votes for its label minus that for the strongest other "
        f"class: 1 if all votes agree, negative if the prediction is wrong.{facts.sample_note}"
    )
    return Section("margins", "Margins", about + page.side_by_side(*elements))


# --- hardest rows


def hardest(facts: Facts) -> Section | None:
    """The test rows with the largest errors, and training rows with suspect labels."""
    elements = []
    if facts.is_classification and facts.margins is not None:
        elements.append(_hardest_labels(facts))
    elif not facts.is_classification:
        elements.append(_hardest_numbers(facts))
    if facts.y_train is not None and hasattr(facts.model, "outlier_scores"):
        elements.append(_suspect_labels(facts))
    return Section("hardest", "Hardest rows", page.join(*elements)) if elements else None


def _table_of_rows(
    facts: Facts, caption: str, X: Any, chosen: Any, head: list[str], rows: list[list[str]], numbers: set[int]
) -> Markup:
    """A table of rows with the values of the most important columns."""
    top = facts.top_features(_SHOWN)
    values = table_values(X, chosen, top)
    for position, column in enumerate(zip(*values, strict=True), len(head)):
        if not any(isinstance(value, str) for value in column):
            numbers = numbers | {position}
    filled = [[*row, *(text.value(one, 24) for one in more)] for row, more in zip(rows, values, strict=True)]
    head = [*head, *(labels.shorten(facts.names[column], 24) for column in top)]
    return page.table(caption, head, filled, numbers=numbers)


def _hardest_labels(facts: Facts) -> Markup:
    assert facts.margins is not None and facts.rows is not None  # noqa: S101, PT018 - checked by the caller
    chosen = np.argsort(facts.margins, kind="stable")[:_HARDEST]
    rows = []
    for number in chosen.tolist():
        row = [text.value(one[number], 24) for one in (facts.rows, facts.y, facts.predicted)]
        if facts.probabilities is not None:
            row.append(text.share(float(facts.probabilities[number].max())))
        rows.append([*row, text.number(float(facts.margins[number]), 3)])
    head = ["row", "true", "predicted", *(["probability"] if len(rows[0]) > 4 else []), "margin"]
    caption, numbers = "Test rows with the smallest margins", {0, *range(3, len(head))}
    return _table_of_rows(facts, caption, facts.X, chosen, head, rows, numbers)


def _hardest_numbers(facts: Facts) -> Markup:
    assert facts.rows is not None  # noqa: S101 - set in __post_init__
    chosen = np.argsort(-np.abs(facts.residuals), kind="stable")[:_HARDEST]
    values = (facts.y, facts.predicted, facts.residuals)
    rows = [[str(facts.rows[i]), *(text.number(float(one[i])) for one in values)] for i in chosen.tolist()]
    caption, head = "Test rows with the largest errors", ["row", "actual", "predicted", "residual"]
    return _table_of_rows(facts, caption, facts.X, chosen, head, rows, set(range(4)))


def _suspect_labels(facts: Facts) -> Markup:
    assert facts.y_train is not None and facts.train_rows is not None  # noqa: S101, PT018 - checked by the caller
    n_rounds = int(getattr(facts.model, "n_estimators_", 1))
    if len(facts.y_train) * n_rounds > _MAX_WEIGHTS:
        size = f"{len(facts.y_train):,} rows and {n_rounds:,} rounds"
        return page.paragraph(f"Suspect labels are not computed for {size}.")
    scores = np.asarray(facts.model.outlier_scores(facts.X_train, facts.y_train))
    chosen = np.argsort(-scores, kind="stable")[:_HARDEST]
    chosen = chosen[scores[chosen] >= _SUSPECT]
    if not len(chosen):
        return page.paragraph(
            f"No training row has a mean weight of {_SUSPECT:g}/n or more: no label is suspect."
        )
    rows = [
        [str(facts.train_rows[i]), text.value(facts.y_train[i], 24), text.number(float(scores[i]), 3)]
        for i in chosen.tolist()
    ]
    about = page.paragraph(
        "Boosting increases the weights of rows that it predicts wrongly. Weights are means over the rounds, "
        "in units of 1/n. Labels of rows with large weights may be wrong."
    )
    caption = "Training rows with the largest weights: possibly wrong labels"
    head = ["row", "label", "weight"]
    table = _table_of_rows(facts, caption, facts.X_train, chosen, head, rows, {0, 2})
    return page.heading("Suspect labels") + about + table


_MAX_PERMUTED = 200  # columns up to which permutation importances are computed
_PERMUTED_ROWS = (1000, 5000)  # fewer, the more columns there are
_MOST_CELLS = 200_000
_MOST_BARS = 15
_MOST_CURVES = 6
_MOST_ROWS = 500  # of the means of partial dependence
_STUMP_NODES = 3  # the root and two leaves


def importances(facts: Facts) -> Section | None:
    """Importances by splits and by permutation."""
    elements = []
    if facts.importances is not None and facts.importances.any():
        display = ImportancesDisplay.from_estimator(facts.model, facts.X, method="split", top=_MOST_BARS)
        first = facts.names[display.order[0]]
        caption = "By splits: share of each column in the gain of all splits, on the training rows."
        elements.append(facts.draw("importances", display, caption, f"Bars: {first} has the largest share"))
    can_evaluate = facts.can_evaluate and (facts.is_classification or len(set(facts.y.tolist())) > 1)
    if can_evaluate and facts.n_columns <= _MAX_PERMUTED:
        most = min(max(_MOST_CELLS // facts.n_columns, _PERMUTED_ROWS[0]), _PERMUTED_ROWS[1])
        options: dict[str, Any] = {"top": _MOST_BARS, "max_rows": most, "random_state": facts.random_state}
        display = ImportancesDisplay.from_estimator(
            facts.model, facts.X, facts.y, method="permutation", **options
        )
        first = facts.names[display.order[0]]
        which = f"{most:,} random test rows" if len(facts.y) > most else "the test rows"
        caption = (
            f"By permutation: how much worse the model is on {which} when a column is permuted; lines are "
            "standard deviations over permutations. Correlated columns can replace each other, and then both "
            "have small importances."
        )
        elements.append(
            facts.draw("permutation", display, caption, f"Bars: permuting {first} has the largest effect")
        )
    if not elements:
        return None
    body = page.side_by_side(*elements)
    if facts.n_columns > _MAX_PERMUTED:
        note = f"Importances by permutation are omitted: there are more than {_MAX_PERMUTED} columns."
        body += page.paragraph(note, kind="small")
    return Section("importances", "Importances", body)


def partial_dependence(facts: Facts) -> Section | None:
    """Partial dependence on the most important columns."""
    top = facts.top_features(_MOST_CURVES)
    if not top:
        return None
    display = PartialDependenceDisplay.from_estimator(
        facts.model, facts.X, features=top, max_rows=_MOST_ROWS, random_state=facts.random_state, n_columns=2
    )
    names = ", ".join(facts.names[column] for column in top)
    n = len(facts.y)
    which = f"{_MOST_ROWS} random test rows" if n > _MOST_ROWS else f"the {n} test rows"
    caption = f"The mean prediction over {which} when one column is set to a value."
    n_classes = len(display.output_names)
    if len(display.outputs) < n_classes:
        caption += f" The {len(display.outputs)} most probable of {n_classes} classes are drawn."
    drawn = facts.draw("dependence", display, caption, f"Curves of the mean prediction by {names}")
    return Section("dependence", "Partial dependence", drawn)


def shapes(facts: Facts) -> Section | None:
    """The shape functions of a sum of stumps."""
    if not is_sum_of_stumps(facts.model) or not facts.top_features(1):
        return None
    display = ShapeFunctionDisplay.from_estimator(facts.model, facts.X, n_columns=2)
    about = page.paragraph(
        "Every tree of this model has one split, so the model is exactly the sum of one function per column."
    )
    names = ", ".join(str(function.name or f"column {function.feature}") for function in display.functions)
    caption = "The functions of the six columns with the largest spread. Ticks are deciles of the test rows."
    drawn = facts.draw("shapes", display, caption, f"Step functions of {names}")
    return Section("shapes", "Shape functions", about + drawn)


def is_sum_of_stumps(model: object) -> bool:
    """Whether a model is a sum of trees with one split each.

    >>> from hedgerow import AdaBoostClassifier, RandomForestClassifier
    >>> from hedgerow.datasets import load_toy
    >>> is_sum_of_stumps(AdaBoostClassifier(n_estimators=3).fit(*load_toy()))
    True
    >>> is_sum_of_stumps(RandomForestClassifier(n_estimators=3).fit(*load_toy()))
    False
    """
    trees = getattr(model, "model_", None)
    if not hasattr(model, "shape_functions") or not isinstance(trees, TreeModel):
        return False
    return bool(np.all(np.diff(trees.forest.starts) <= _STUMP_NODES))
