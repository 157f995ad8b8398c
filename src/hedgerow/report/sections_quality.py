"""Sections: how good the answers are on the rows held out."""

from typing import Any

import numpy as np
from markupsafe import Markup
from sklearn.metrics import precision_recall_fscore_support

from hedgerow.plots import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    MarginDistributionDisplay,
    PrecisionRecallDisplay,
    PredictedDisplay,
    RocCurveDisplay,
    labels,
)
from hedgerow.report import page, words
from hedgerow.report.facts import Facts, cells
from hedgerow.report.page import Section
from hedgerow.selection import METRICS

_HARDEST = 10  # rows in the tables of hard ones
_MOST_BINS, _FEWEST_A_BIN = 10, 15  # of the reliability curve; whiskers of a few rows say nothing
_SHOWN = 4  # features beside them
_MOST_CLASSES = 100  # of a matrix and a table of classes
_MOST_WEIGHED = 10_000_000  # training rows times rounds up to which weights are followed
_SUSPECT = 2.0  # times its share that a row weighs before its label is in doubt


def confusion(facts: Facts) -> Section | None:
    """The confusion matrix, and precision and recall of every class."""
    if not facts.knows_labels or len(facts.classes) > _MOST_CLASSES:
        return None
    display = ConfusionMatrixDisplay.from_predictions(facts.y, facts.predicted, labels=facts.classes)
    n_wrong = int(np.sum(facts.wrong))
    alt = (
        f"Matrix of {len(facts.classes)} by {len(facts.classes)} cells: {len(facts.y) - n_wrong:,} rows "
        f"right, {n_wrong:,} wrong; the table below has the same per class"
    )
    caption = "Rows of each true class by what they were called. Shades are shares of a row of the matrix."
    parts = [facts.draw("confusion", display, caption, alt), _per_class(facts)]
    return Section("confusion", "Confusion matrix", page.join(*parts))


def _per_class(facts: Facts) -> Markup:
    order = {label: number for number, label in enumerate(facts.classes)}
    truth = [order[label] for label in facts.y.tolist()]
    said = [order[label] for label in facts.predicted.tolist()]
    found = precision_recall_fscore_support(
        truth, said, labels=range(len(order)), average=None, zero_division=np.nan
    )
    rows = [
        [words.value(label), *(words.share(float(one)) for one in numbers[:3]), words.count(int(numbers[3]))]
        for label, *numbers in zip(facts.classes, *found, strict=True)
    ]
    head = ["class", "precision", "recall", "F1", "rows"]
    told = page.table("Quality by class", head, rows, numbers=range(1, 5))
    note = (
        "Precision: of the rows called so, the share that are. Recall: of the rows that are, the share "
        "called so. F1: their harmonic mean."
    )
    return told + page.paragraph(note, kind="small")


def calibration(facts: Facts) -> Section | None:
    """Whether probabilities mean what they say."""
    if facts.probabilities is None or not facts.knows_labels:
        return None
    n_bins = max(2, min(_MOST_BINS, len(facts.y) // _FEWEST_A_BIN))
    display = CalibrationDisplay.from_predictions(
        facts.y, facts.probabilities, labels=facts.classes, n_bins=n_bins
    )
    caption = (
        "How often it was so, of rows with about the same predicted probability; on the diagonal "
        "probabilities mean what they say. Whiskers are exact 95 % intervals. Below, how many rows have "
        "such probabilities."
    )
    gap = words.percent(display.calibration_error)
    alt = f"Observed shares against predicted probabilities: mean distance from the diagonal {gap}"
    return Section("calibration", "Calibration", facts.draw("calibration", display, caption, alt))


def ranking(facts: Facts) -> Section | None:
    """ROC and precision-recall curves."""
    if facts.probabilities is None or not facts.knows_labels or len(set(facts.y.tolist())) < 2:
        return None
    given: Any = (facts.y, facts.probabilities)
    roc = RocCurveDisplay.from_predictions(*given, labels=facts.classes)
    recall = PrecisionRecallDisplay.from_predictions(*given, labels=facts.classes)
    parts = []
    for name, display, title, area in (
        ("roc", roc, "ROC", "area under it"),
        ("precision-recall", recall, "Precision and recall", "average precision"),
    ):
        drawn = display.curves[0] if display.mean is None else display.mean
        whose = (
            f"class {drawn.name}" if display.mean is None else "mean of the classes, each against the rest"
        )
        told = labels.below_one(drawn.area)
        caption = f"{title} at every threshold, {whose}: {area} {told}."
        parts.append(facts.draw(name, display, caption, f"{title} curve, {area} {told}"))
    return Section("ranking", "ROC and precision-recall", page.side_by_side(*parts))


def predicted(facts: Facts) -> Section | None:
    """Predicted against true numbers, and the errors."""
    if facts.is_classification:
        return None
    truth, said = facts.y.astype(np.float64), facts.predicted.astype(np.float64)
    display = PredictedDisplay.from_predictions(truth, said)
    caption = "Above, the truth against what was predicted; below, what is left over: truth less prediction."
    alt = f"Scatter of {len(truth):,} predictions against the truth, R² {words.number(facts.scores['r2'], 3)}"
    sizes = np.quantile(np.abs(truth - said), [0.5, 0.9, 0.99, 1.0]).tolist()
    rows = [[METRICS[name].title, words.number(value)] for name, value in facts.scores.items()]
    rows.append(["mean of truth less prediction", words.number(float(np.mean(truth - said)))])
    names = ("half of the rows are off by at most", "90 % of the rows", "99 % of the rows", "all rows")
    rows += [[name, words.number(size)] for name, size in zip(names, sizes, strict=True)]
    told = page.table("Errors on the rows held out", ["measure", "value"], rows, numbers=[1])
    return Section("predicted", "Predicted and true", facts.draw("predicted", display, caption, alt) + told)


def margins(facts: Facts) -> Section | None:
    """How clearly the rows are on the right side."""
    if not facts.is_classification or not hasattr(facts.model, "margins"):
        return None
    parts = []
    for name, which, (X, y) in (
        ("training-margins", "of the fit", facts.some_train),
        ("margins", "held out", facts.some_test),
    ):
        if y is None:
            continue
        display = MarginDistributionDisplay.from_estimator(facts.model, X, y)
        last = display.margins[-1]
        caption = (
            f"Rows {which}: share of rows with a margin up to so much. Smallest "
            f"{words.number(float(last.min()), 3)}, median {words.number(float(np.median(last)), 3)}."
        )
        negative = words.percent(float(np.mean(last <= 0)))
        alt = f"Cumulative distribution of margins, rows {which}; {negative} not above 0"
        parts.append(facts.draw(name, display, caption, alt))
    if not parts:
        return None
    told = page.paragraph(
        "The margin of a row is how clearly the vote is for its label: 1 if all agree, negative if the "
        f"answer is wrong.{facts.some_words}"
    )
    return Section("margins", "Margins", told + page.side_by_side(*parts))


# --- hardest rows


def hardest(facts: Facts) -> Section | None:
    """The rows held out that the model does worst on, and training rows whose label is in doubt."""
    parts = []
    if facts.is_classification and facts.margins is not None:
        parts.append(_hardest_labels(facts))
    elif not facts.is_classification:
        parts.append(_hardest_numbers(facts))
    if facts.y_train is not None and hasattr(facts.model, "outlier_scores"):
        parts.append(_doubtful(facts))
    return Section("hardest", "Hardest rows", page.join(*parts)) if parts else None


def _table_of_rows(
    facts: Facts, caption: str, X: Any, chosen: Any, head: list[str], rows: list[list[str]], numbers: set[int]
) -> Markup:
    """Rows of X with what is told about them, and the values of the columns that count most."""
    top = facts.top_features(_SHOWN)
    values = cells(X, chosen, top)
    for place, column in enumerate(zip(*values, strict=True), len(head)):
        if not any(isinstance(value, str) for value in column):
            numbers = numbers | {place}
    told = [[*row, *(words.value(one, 24) for one in more)] for row, more in zip(rows, values, strict=True)]
    return page.table(
        caption, [*head, *(labels.shorten(facts.names[column], 24) for column in top)], told, numbers=numbers
    )


def _hardest_labels(facts: Facts) -> Markup:
    assert facts.margins is not None and facts.rows is not None  # noqa: S101, PT018 - the caller looked
    chosen = np.argsort(facts.margins, kind="stable")[:_HARDEST]
    rows = []
    for number in chosen.tolist():
        row = [
            str(facts.rows[number]),
            words.value(facts.y[number], 24),
            words.value(facts.predicted[number], 24),
        ]
        if facts.probabilities is not None:
            row.append(words.share(float(facts.probabilities[number].max())))
        rows.append([*row, words.number(float(facts.margins[number]), 3)])
    sure = ["its probability"] if facts.probabilities is not None else []
    head = ["row", "true", "predicted", *sure, "margin"]
    caption, numbers = "Rows held out with the smallest margin", {0, *range(3, len(head))}
    return _table_of_rows(facts, caption, facts.X, chosen, head, rows, numbers)


def _hardest_numbers(facts: Facts) -> Markup:
    assert facts.rows is not None  # noqa: S101 - set when the facts were gathered
    left = facts.y.astype(np.float64) - facts.predicted.astype(np.float64)
    chosen = np.argsort(-np.abs(left), kind="stable")[:_HARDEST]
    rows = [
        [str(facts.rows[i]), *(words.number(float(one[i])) for one in (facts.y, facts.predicted, left))]
        for i in chosen.tolist()
    ]
    caption, head = "Rows held out with the largest error", ["row", "true", "predicted", "true − predicted"]
    return _table_of_rows(facts, caption, facts.X, chosen, head, rows, set(range(4)))


def _doubtful(facts: Facts) -> Markup:
    assert facts.y_train is not None and facts.train_rows is not None  # noqa: S101, PT018 - the caller looked
    n_rounds = int(getattr(facts.model, "n_estimators_", 1))
    if len(facts.y_train) * n_rounds > _MOST_WEIGHED:
        told = (
            f"Doubtful labels were not looked for among {len(facts.y_train):,} rows and {n_rounds:,} rounds."
        )
        return page.paragraph(told)
    scores = np.asarray(facts.model.outlier_scores(facts.X_train, facts.y_train))
    chosen = np.argsort(-scores, kind="stable")[:_HARDEST]
    chosen = chosen[scores[chosen] >= _SUSPECT]
    if not len(chosen):
        return page.paragraph(
            f"No row of the fit weighs {_SUSPECT:g} times its share: no label stands out as doubtful."
        )
    rows = [
        [str(facts.train_rows[i]), words.value(facts.y_train[i], 24), words.number(float(scores[i]), 3)]
        for i in chosen.tolist()
    ]
    told = page.paragraph(
        "Boosting gives weight to rows that stay hard; a weight of 5 is five times an even share, on "
        "average over the rounds. Labels of such rows may be wrong."
    )
    caption = "Rows of the fit that weigh most: possibly wrong labels"
    head = ["row", "label", "weight"]
    table = _table_of_rows(facts, caption, facts.X_train, chosen, head, rows, {0, 2})
    return page.heading("Doubtful labels") + told + table
