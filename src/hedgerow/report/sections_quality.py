"""Sections: quality of the predictions for the test set."""

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
from hedgerow.plots.inputs import encode_labels
from hedgerow.report import page, text
from hedgerow.report.data import ReportData
from hedgerow.report.page import Section
from hedgerow.selection import METRICS

_MAX_BINS, _MIN_BIN_ROWS = 10, 15  # of the calibration curve; intervals of few rows are wide
_MAX_CLASSES = 100  # of a matrix and a table of classes


def confusion(data: ReportData) -> Section | None:
    """Draw the confusion matrix, and precision and recall of every class."""
    if not data.has_known_labels or len(data.classes) > _MAX_CLASSES:
        return None
    display = ConfusionMatrixDisplay.from_predictions(data.y, data.predicted, labels=data.classes)
    n_classes, n_wrong = len(data.classes), int(np.sum(data.wrong))
    alt = (
        f"Matrix of {n_classes} by {n_classes} cells: {len(data.y) - n_wrong:,} correct predictions, "
        f"{n_wrong:,} errors; the table below has the numbers per class"
    )
    caption = "The test set by true and predicted label. Shades are shares of a row of the matrix."
    drawn = data.draw("confusion", display, caption, alt)
    return Section("confusion", "Confusion matrix", drawn + _per_class(data))


def _per_class(data: ReportData) -> Markup:
    codes = [encode_labels(labels, data.classes) for labels in (data.y, data.predicted)]
    found = precision_recall_fscore_support(
        *codes, labels=range(len(data.classes)), average=None, zero_division=np.nan
    )
    rows = [
        [text.value(label), *(labels.share(float(one)) for one in numbers[:3]), f"{int(numbers[3]):,}"]
        for label, *numbers in zip(data.classes, *found, strict=True)
    ]
    head = ["class", "precision", "recall", "F1", "rows"]
    note = (
        "Precision: share of the predictions of the class that are correct. Recall: share of the rows of the "
        "class that are predicted. F1: their harmonic mean."
    )
    return page.table("Quality by class", head, rows, numbers=range(1, 5)) + page.paragraph(
        note, kind="small"
    )


def calibration(data: ReportData) -> Section | None:
    """Draw the calibration of the probabilities."""
    if data.probabilities is None or not data.has_known_labels:
        return None
    n_bins = max(2, min(_MAX_BINS, len(data.y) // _MIN_BIN_ROWS))
    classes = [data.classes[number] for number in data.class_order]
    probabilities = data.probabilities[:, data.class_order]
    display = CalibrationDisplay.from_predictions(data.y, probabilities, labels=classes, n_bins=n_bins)
    caption = (
        "Observed frequency of rows with similar predicted probabilities; calibrated probabilities are on "
        "the diagonal. Error bars are exact 95 % intervals. Below, a histogram of the predicted "
        "probabilities."
    )
    error = labels.percent(display.calibration_error)
    alt = f"Observed frequencies against predicted probabilities: calibration error {error}"
    return Section("calibration", "Calibration", data.draw("calibration", display, caption, alt))


def ranking(data: ReportData) -> Section | None:
    """ROC and precision-recall curves."""
    if data.probabilities is None or not data.has_known_labels or len(set(data.y.tolist())) < 2:
        return None
    elements = []
    known = [data.classes[number] for number in data.class_order]
    probabilities = data.probabilities[:, data.class_order]
    for name, kind, title, area in (
        ("roc", RocCurveDisplay, "ROC", "area under the curve"),
        ("precision-recall", PrecisionRecallDisplay, "Precision-recall", "average precision"),
    ):
        display: Any = kind.from_predictions(data.y, probabilities, labels=known)
        drawn = display.curves[0] if display.mean is None else display.mean
        classes = "mean of the classes, each against the rest" if display.mean else f"class {drawn.name}"
        value = labels.below_one(drawn.area)
        caption = f"{title} curve, {classes}: {area} {value}."
        elements.append(data.draw(name, display, caption, f"{title} curve, {area} {value}"))
    return Section("ranking", "ROC and precision-recall", page.side_by_side(*elements))


def predicted(data: ReportData) -> Section | None:
    """Draw actual against predicted values, and the errors."""
    if data.is_classification:
        return None
    display = PredictedDisplay.from_predictions(data.y, data.predicted)
    caption = "Above, actual against predicted values; below, the residuals: actual minus predicted."
    r2 = text.score(data.scores.get("r2"))
    alt = f"Scatter plot of {len(data.y):,} actual against predicted values, R² {r2}"
    measures = {METRICS[name].title: value for name, value in data.scores.items()}
    measures["mean residual"] = float(np.mean(data.residuals))
    quantiles = {"median": 0.5, "90 % quantile of the": 0.9, "99 % quantile of the": 0.99, "largest": 1.0}
    for name, quantile in quantiles.items():
        measures[f"{name} absolute error"] = float(np.quantile(np.abs(data.residuals), quantile))
    rows = [[name, text.score(value)] for name, value in measures.items()]
    table = page.table("Errors on the test set", ["measure", "value"], rows, numbers=[1])
    drawn = data.draw("predicted", display, caption, alt)
    return Section("predicted", "Predicted and actual values", drawn + table)


def margins(data: ReportData) -> Section | None:
    """Distribution of the margins."""
    if not data.is_classification or not hasattr(data.model, "margins"):
        return None
    elements = []
    for name, which, (X, y) in (
        ("training-margins", "Training set", data.some_train),
        ("margins", "Test set", data.some_test),
    ):
        if y is None:
            continue
        display = MarginDistributionDisplay.from_estimator(data.model, X, y)
        last = display.margins[-1]
        caption = (
            f"{which}: cumulative distribution of the margins. Smallest "
            f"{text.number(float(last.min()), 3)}, median {text.number(float(np.median(last)), 3)}."
        )
        negative = labels.percent(float(np.mean(last <= 0)))
        alt = f"{which}: cumulative distribution of margins; {negative} not above 0"
        elements.append(data.draw(name, display, caption, alt))
    if not elements:
        return None
    about = page.paragraph(
        "The margin of a row is the share of the votes for its label minus that for the strongest other "
        f"class: 1 if all votes agree, negative if the prediction is wrong.{data.sample_note}"
    )
    return Section("margins", "Margins", about + page.side_by_side(*elements))
