"""Sections: the rows with the largest errors, and those whose labels may be wrong."""

from typing import Any

import numpy as np
from markupsafe import Markup

from hedgerow._typing import Floats, Integers
from hedgerow.plots import labels
from hedgerow.plots.inputs import encode_labels
from hedgerow.report import page, text
from hedgerow.report.data import ReportData, table_values
from hedgerow.report.page import Section
from hedgerow.selection import take_rows
from hedgerow.text_table import format_number

_HARDEST = 10  # rows in the tables of hard ones
_SHOWN = 4  # features in these tables
_MAX_WEIGHTS = 10_000_000  # training rows times rounds up to which weights are computed
_LARGE_WEIGHT = 2.0  # weight, relative to the mean of the class, from which a label is doubtful
_LARGE_RATIO = 10.0  # likelihood ratio from which a label is doubtful
_SMALLEST = 1e-6  # probability: those of votes may be 0
_LARGEST_SHOWN = 1000.0  # likelihood ratio


def hardest(data: ReportData) -> Section | None:
    """List the test rows with the largest errors, and rows with doubtful labels."""
    elements = []
    if data.is_classification and data.margins is not None:
        elements.append(_hardest_labels(data))
    elif not data.is_classification:
        elements.append(_hardest_numbers(data))
    if data.is_classification:
        elements += _doubtful(data)
    return Section("hardest", "Hardest rows", page.join(*elements)) if elements else None


def _table_of_rows(
    data: ReportData,
    caption: str,
    X: Any,
    chosen: Any,
    head: list[str],
    rows: list[list[str]],
    numbers: set[int],
) -> Markup:
    """Return a table of rows with the values of the most important columns."""
    top = data.top_features(_SHOWN)
    values = table_values(X, chosen, top)
    for position, column in enumerate(zip(*values, strict=True), len(head)):
        if not any(isinstance(value, str) for value in column):
            numbers = numbers | {position}
    filled = [[*row, *(text.value(one, 24) for one in more)] for row, more in zip(rows, values, strict=True)]
    head = [*head, *(labels.shorten(data.names[column], 24) for column in top)]
    return page.table(caption, head, filled, numbers=numbers)


def _hardest_labels(data: ReportData) -> Markup:
    assert data.margins is not None and data.rows is not None  # noqa: S101, PT018 - checked by the caller
    chosen = np.argsort(data.margins, kind="stable")[:_HARDEST]
    rows = []
    for number in chosen.tolist():
        row = [text.value(one[number], 24) for one in (data.rows, data.y, data.predicted)]
        if data.probabilities is not None:
            row.append(labels.share(float(data.probabilities[number].max())))
        rows.append([*row, labels.minus(f"{data.margins[number]:.3f}")])
    head = ["row", "true label", "predicted label", *(["probability"] if len(rows[0]) > 4 else []), "margin"]
    caption, numbers = "Test rows with the smallest margins", {0, *range(3, len(head))}
    return _table_of_rows(data, caption, data.X, chosen, head, rows, numbers)


def _hardest_numbers(data: ReportData) -> Markup:
    assert data.rows is not None  # noqa: S101 - set in __post_init__
    chosen = np.argsort(-np.abs(data.residuals), kind="stable")[:_HARDEST]
    values = (data.y, data.predicted, data.residuals)
    shown = text.column([float(one[i]) for i in chosen for one in values])
    rows = [[str(data.rows[i]), *shown[3 * n : 3 * n + 3]] for n, i in enumerate(chosen.tolist())]
    caption, head = "Test rows with the largest errors", ["row", "actual", "predicted", "residual"]
    return _table_of_rows(data, caption, data.X, chosen, head, rows, set(range(4)))


# --- doubtful labels


def doubtful_labels(probabilities: Floats, codes: Integers) -> tuple[Integers, Integers, Floats]:
    """Return rows whose label may be wrong, the class that fits better and its likelihood ratio.

    The threshold of a class is the mean of its probability over the rows of the class (confident learning:
    Northcutt, Jiang and Chuang 2021). The label i of a row is doubtful if the probability of another class j
    is not below the threshold of j, exceeds that of i, and the likelihood ratio of j and i is large:

        (p_j / p_i) / (prior_j / prior_i) >= 10

    Threshold and ratio are relative to the frequency of a class: a small probability of a rare class says
    nothing. Rows with the largest ratios are first.

    Parameters
    ----------
    probabilities : float64 array of shape (n_samples, n_classes)
        Predicted by a model that was not fitted to these rows.
    codes : int64 array of shape (n_samples,)
        Class numbers: the labels.

    Returns
    -------
    rows, classes : int64 arrays of shape (n_doubtful,)
    ratios : float64 array of shape (n_doubtful,)

    Examples
    --------
    >>> p = np.array([0.9, 0.9, 0.9, 0.1, 0.1, 0.95])
    >>> doubtful_labels(np.column_stack([p, 1 - p]), np.array([0, 0, 0, 1, 1, 1]))[:2]
    (array([5]), array([0]))
    """
    n_rows, n_classes = probabilities.shape
    own = np.eye(n_classes, dtype=np.bool_)[codes]
    counts = own.sum(axis=0)
    present = counts > 0
    thresholds = np.full(n_classes, np.inf)
    thresholds[present] = (probabilities * own).sum(axis=0)[present] / counts[present]
    likelihoods = np.maximum(probabilities, _SMALLEST) * (n_rows / np.maximum(counts, 1))  # up to a factor
    ratios = likelihoods / likelihoods[own][:, np.newaxis]
    is_larger = probabilities > probabilities[own][:, np.newaxis]
    ratios[~is_larger | (probabilities < thresholds)] = 0.0
    better, largest = ratios.argmax(axis=1), ratios.max(axis=1)
    rows = np.argsort(-largest, kind="stable")
    rows = rows[largest[rows] >= _LARGE_RATIO]
    return rows, better[rows], largest[rows]


def _doubtful(data: ReportData) -> list[Markup]:
    """Tables of rows with doubtful labels: by probabilities of rows that were not fitted, and by weights."""
    elements = []
    if data.probabilities is not None and data.has_known_labels:
        assert data.rows is not None  # noqa: S101 - set in __post_init__
        elements.append(_by_probabilities(data, "Test", data.X, data.y, data.rows, data.probabilities))
    votes = getattr(data.model, "oob_decision_function_", None)
    if data.y_train is not None and votes is not None and np.shape(votes)[0] == len(data.y_train):
        assert data.train_rows is not None  # noqa: S101 - set in __post_init__
        known = np.flatnonzero(~np.isnan(votes).any(axis=1))  # rows in every sample have no votes
        rows = take_rows(data.X_train, known), data.y_train[known], data.train_rows[known]
        elements.append(_by_probabilities(data, "Training", *rows, np.asarray(votes)[known]))
    elif data.y_train is not None and hasattr(data.model, "outlier_scores"):
        elements.append(_by_weights(data))
    return [page.heading("Doubtful labels"), *elements] if elements else []


def _by_probabilities(
    data: ReportData, which: str, X: Any, y: Any, numbers: Integers, probabilities: Floats
) -> Markup:
    chosen, better, ratios = doubtful_labels(probabilities, encode_labels(y, data.classes))
    if not len(chosen):
        return page.paragraph(f"{which} set: no label is doubtful by the predicted probabilities.")
    n_doubtful, chosen = len(chosen), chosen[:_HARDEST]
    rows = [
        [str(numbers[i]), text.value(y[i], 24), text.value(data.classes[j], 24), _format_ratio(ratio)]
        for i, j, ratio in zip(chosen.tolist(), better.tolist(), ratios.tolist(), strict=False)
    ]
    source = "out-of-bag probability" if which == "Training" else "predicted probability"
    about = (
        f"{which} set: {text.plural(n_doubtful, 'label is', 'labels are')} doubtful. The {source} of another "
        "class is larger and at least its mean over the rows of that class, and the row is at least "
        f"{_LARGE_RATIO:g} times likelier in that class. Both are relative to the frequency of a class."
    )
    caption = f"{which} rows that are much likelier in another class: possibly wrong labels"
    head = ["row", "true label", "likelier class", "likelihood ratio"]
    return page.paragraph(about) + _table_of_rows(data, caption, X, chosen, head, rows, {0, 3})


def _format_ratio(ratio: float) -> str:
    """Format a likelihood ratio with two digits.

    >>> _format_ratio(12.345), _format_ratio(123.45), _format_ratio(1e9)
    ('12', '123', '> 1,000')
    """
    return f"> {_LARGEST_SHOWN:,.0f}" if ratio > _LARGEST_SHOWN else format_number(ratio, 2)


def _by_weights(data: ReportData) -> Markup:
    assert data.y_train is not None and data.train_rows is not None  # noqa: S101, PT018 - checked by the caller
    n_rounds = int(getattr(data.model, "n_estimators_", 1))
    if len(data.y_train) * n_rounds > _MAX_WEIGHTS:
        size = f"{len(data.y_train):,} rows and {n_rounds:,} rounds"
        return page.paragraph(f"Training set: weights are not computed for {size}.")
    weights = np.asarray(data.model.outlier_scores(data.X_train, data.y_train))
    # All rows of a rare class have large weights: a weight must be large in the class and among all rows.
    _, codes = np.unique(data.y_train, return_inverse=True)
    weights = np.minimum(weights, weights / (np.bincount(codes, weights) / np.bincount(codes))[codes])
    chosen = np.argsort(-weights, kind="stable")[:_HARDEST]
    chosen = chosen[weights[chosen] >= _LARGE_WEIGHT]
    if not len(chosen):
        return page.paragraph(
            f"Training set: no row has {_LARGE_WEIGHT:g} times the mean weight of its class and of all rows, "
            "so no label is doubtful."
        )
    rows = [
        [str(data.train_rows[i]), text.value(data.y_train[i], 24), f"{weights[i]:.1f}"]
        for i in chosen.tolist()
    ]
    about = page.paragraph(
        "Training set: boosting increases the weights of rows that it predicts wrongly. Weights are means "
        "over the rounds, relative to the mean of the class or of all rows, whichever is larger, since all "
        "rows of a rare class have large weights. Labels of rows with large weights may be wrong."
    )
    caption = "Training rows with the largest weights in their class: possibly wrong labels"
    head = ["row", "true label", "relative weight"]
    return about + _table_of_rows(data, caption, data.X_train, chosen, head, rows, {0, 2})
