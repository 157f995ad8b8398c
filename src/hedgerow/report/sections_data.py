"""Sections: the summary of the report, and the data."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from scipy.stats import binom

from hedgerow.datafiles import describe
from hedgerow.plots import labels
from hedgerow.report import page, text
from hedgerow.report.data import ReportData
from hedgerow.report.page import Section
from hedgerow.table import read_table
from hedgerow.theory.certificate import format_bound
from hedgerow.theory.deviations import clopper_pearson

_ALPHA = 0.05  # the largest probability that an interval misses
_MAX_CLASSES = 30  # in the table of their shares
_MAX_COLUMNS = 200  # in the table of columns
_GROUPED = 10_000  # from which numbers of a range have commas


# --- summary


def median_interval(sizes: Iterable[float]) -> tuple[float, float]:
    """Return an interval of the median of new values for any distribution: two order statistics.

    The number of n values below the median is binomial(n, 1/2).

    >>> median_interval(range(1, 101))
    (40.0, 61.0)
    >>> median_interval([1.0, 2.0])  # too few values
    (-inf, inf)
    """
    ordered = np.sort(np.asarray(list(sizes), dtype=np.float64))
    n = len(ordered)
    below = int(binom.ppf(_ALPHA / 2, n, 0.5))  # the largest number with P[B < below] <= alpha / 2
    if below < 1:
        return -math.inf, math.inf
    return float(ordered[below - 1]), float(ordered[n - below])


def summary_section(data: ReportData) -> Section:
    """Describe the model, its scores and its certificate."""
    rows = _classification_figures(data) if data.is_classification else _regression_figures(data)
    elements = [page.paragraph(_describe_model(data)), page.key_figures(rows)]
    if data.certificate is not None:
        best = data.certificate.best
        vacuous = best is None or data.certificate.is_vacuous(best)
        kind = "statement vacuous" if vacuous else "statement"
        elements.append(page.paragraph(data.certificate.statement, kind=kind))
        if vacuous and best is not None and hasattr(data.model, "row_fingerprints_"):
            note = "In this sentence the most frequent class is that of the training set."
            elements.append(page.paragraph(note, kind="small"))
    elements.append(page.paragraph(_interval_note(data), kind="small"))
    if not data.can_evaluate:
        unknown = sorted({str(label) for label in data.y.tolist()} - {str(label) for label in data.classes})
        note = (
            f"Some test rows have classes that the model does not have ({', '.join(unknown)}): they count "
            "as errors, and the sections that require probabilities of all classes are omitted."
        )
        elements.append(page.paragraph(text.shortened(note, 400)))
    return Section("summary", "Summary", page.join(*elements))


def _describe_model(data: ReportData) -> str:
    n_columns = text.plural(data.n_columns, "column")
    size = f"fitted to {text.plural(data.n_train, 'row')} of {n_columns}" if data.n_train else n_columns
    n_classes = text.plural(len(data.classes), "class", "classes")
    values = f"one of {n_classes}" if data.is_classification else "a number"
    n_test = text.plural(len(data.y), "row")
    about = f"{data.kind}, {size}, to predict {data.target}, {values}."
    return f"{about} It is evaluated on a test set of {n_test}."


def _interval_note(data: ReportData) -> str:
    if data.is_classification:
        return (
            "The interval is exact (Clopper and Pearson): it misses the accuracy on new rows with a "
            "probability of at most 5 %, if the test rows are independent of the model and of each other."
        )
    return (
        "The interval of the median error is exact for any distribution (order statistics): it misses the "
        "median for new rows with a probability of at most 5 %, if the test rows are independent of the "
        "model and of each other."
    )


def _classification_figures(data: ReportData) -> list[tuple[str, str, str]]:
    n, n_wrong = len(data.y), int(np.sum(data.wrong))
    interval = text.percent_interval(*clopper_pearson(n - n_wrong, n))
    counts = np.unique(data.y.astype(str), return_counts=True)[1]
    chance = counts.max() / n
    figures = [
        ("accuracy", labels.share(1 - n_wrong / n), f"95 % interval {interval}"),
        ("errors", f"{n_wrong:,} of {n:,}", "rows of the test set"),
        ("most frequent class", labels.share(chance), "of the test set: accuracy of always predicting it"),
    ]
    if data.certificate is not None and data.certificate.best is not None:
        bound = data.certificate.error_bound
        shown = f"≤ {format_bound(bound)}" if bound < 1 else text.NOTHING
        confidence = f"{100 * (1 - data.certificate.delta):.4g} %"
        vacuous = data.certificate.is_vacuous(data.certificate.best)
        note = "vacuous: not below chance" if vacuous else f"with probability {confidence}"
        figures.append(("error bound", shown, note))
    if "auc" in data.scores:
        figures.append(("area under ROC", text.score(data.scores["auc"]), "1 is best, 0.5 is chance"))
    if data.ranked_class is not None and data.average_precision is not None:
        label = data.classes[data.ranked_class]
        share = labels.share(float(np.mean(data.y == label)))
        note = f"of class {text.value(label, 24)}; {share} of the rows is chance"
        figures.append(("average precision", text.score(data.average_precision), note))
    if "log-loss" in data.scores:
        figures.append(("log-loss", text.score(data.scores["log-loss"]), "0 is best"))
    return figures


def _regression_figures(data: ReportData) -> list[tuple[str, str, str]]:
    sizes = np.abs(data.residuals)
    low, high = median_interval(sizes)
    median, *ends = text.column([float(np.median(sizes)), low, high])
    interval = f"95 % interval {ends[0]} to {ends[1]}" if high < math.inf else ""
    spread = float(np.std(data.y.astype(np.float64)))
    return [  # a single row has no R²
        ("R²", text.score(data.scores.get("r2")), "1 is best, 0 is that of the mean"),
        ("root mean squared error", text.score(data.scores["rmse"]), "test set"),
        ("mean absolute error", text.score(data.scores["mae"]), "test set"),
        ("median absolute error", median, interval),
        ("standard deviation of the target", text.score(spread), "error of always predicting the mean"),
    ]


# --- the data


def data_section(data: ReportData) -> Section:
    """Describe rows, columns and target, and how they were prepared."""
    summary = data.summary if data.summary is not None else describe(as_arrow(data))
    elements = [_counts(data, summary)]
    elements.append(_class_balance(data) if data.is_classification else _target_numbers(data))
    if data.recipe is not None:
        elements += _preparation(data.recipe)
    elements.append(_columns(summary, data))
    return Section("data", "The data", page.join(*elements))


def as_arrow(data: ReportData) -> pa.Table:
    """Return the training rows, or without them the test rows, as an Arrow table."""
    X = data.X if data.X_train is None else data.X_train
    if isinstance(X, pa.Table):
        return X
    table = read_table(X, estimator_name="Report")
    values = np.asarray(table.block(0, table.n_rows), dtype=np.float64)
    columns: list[Any] = []
    for column, categories in enumerate(table.schema.categories):
        numbers = values[:, column]
        missing = np.isnan(numbers)
        if categories is None:
            columns.append(pa.array(numbers, mask=missing))
        else:
            codes = pa.array(np.where(missing, 0, numbers).astype(np.int32), mask=missing)
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array([str(one) for one in categories])))
    return pa.table(columns, names=data.names)


def _counts(data: ReportData, summary: Any) -> Markup:
    figures = [] if data.summary is None else [("rows", f"{summary.n_rows:,}", "in the file")]
    if data.n_train is not None:
        figures.append(("training set", f"{data.n_train:,}", "rows"))
    figures.append(("test set", f"{len(data.y):,}", "rows, not used in training"))
    figures.append(("columns used", f"{data.n_columns:,}", ""))
    return page.key_figures(figures)


def _class_balance(data: ReportData) -> Markup:
    test = Counter(data.y.astype(str).tolist())
    train = Counter([] if data.y_train is None else data.y_train.astype(str).tolist())
    total = train + test
    n = total.total()
    order = sorted(total, key=lambda label: (-total[label], label))
    rows = []
    for label in order[:_MAX_CLASSES]:
        fitted = [f"{train[label]:,}"] if train else []
        rows.append([text.value(label), *fitted, f"{test[label]:,}", labels.share(total[label] / n)])
    head = ["class", *(["training set"] if train else []), "test set", "share"]
    more = len(order) - _MAX_CLASSES
    caption = f"Classes of {data.target}" + (f"; {more} more are not shown" if more > 0 else "")
    return page.table(caption, head, rows, numbers=range(1, len(head)))


def _target_numbers(data: ReportData) -> Markup:
    rows, drawings = [], []
    for name, values in (("training set", data.y_train), ("test set", data.y)):
        if values is None:
            continue
        numbers = values.astype(np.float64)
        quartiles = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        bins, _ = np.histogram(numbers, bins=12)
        drawn = page.histogram(bins.tolist(), f"histogram of {data.target}, {name}: {bins.tolist()}")
        rows.append([name, *map(float, (*quartiles, numbers.mean(), numbers.std()))])
        drawings.append(drawn)
    columns = [text.column(list(column), whole=True) for column in list(zip(*rows, strict=True))[1:]]
    head = ["set", "min", "25 %", "median", "75 %", "max", "mean", "standard deviation", "histogram"]
    cells = zip([row[0] for row in rows], *columns, drawings, strict=True)
    return page.table(f"Values of {data.target}", head, map(list, cells), numbers=range(1, 8))


def _preparation(recipe: Any) -> list[Markup]:
    """Describe columns dropped and expanded, and notes."""
    elements = []
    if recipe.dropped:
        elements += [
            page.heading("Columns dropped"),
            page.bullets(page.join(page.code(name), f": {reason}") for name, reason in recipe.dropped),
        ]
    expanded = [column for column in recipe.columns if len(column.parts) > 1]
    if expanded:
        elements += [
            page.heading("Columns expanded"),
            page.bullets(
                page.join(page.code(column.name), " became ", ", ".join(column.parts)) for column in expanded
            ),
        ]
    if recipe.notes:
        elements += [page.heading("Notes on the data"), page.bullets(recipe.notes)]
    return elements


def _columns(summary: Any, data: ReportData) -> Markup:
    shown = summary.columns[:_MAX_COLUMNS]
    roles: dict[str, str] = {}
    if data.recipe is not None:
        roles = {name: " (dropped)" for name, _ in data.recipe.dropped}
        roles[data.recipe.target] = " (target)"
    rows = []
    for column in shown:
        missing = text.NOTHING
        if column.n_missing:
            missing = f"{column.n_missing:,} ({100 * column.n_missing / max(1, summary.n_rows):.1f} %)"
        name, n_distinct = column.name + roles.get(column.name, ""), f"{column.n_distinct:,}"
        rows.append([name, column.kind, missing, n_distinct, _content(column, summary), _bars(column)])
    more = len(summary.columns) - len(shown)
    which = "Training set" if data.y_train is not None else "Test set"
    caption = "All rows of the file" if data.summary is not None else which
    caption += f"; {more} more columns are not shown" if more > 0 else ""
    head = ["column", "kind", "missing", "distinct", "range, or most frequent values", "histogram"]
    return page.heading("Columns") + page.table(caption, head, rows, numbers=[2, 3])


def _content(column: Any, summary: Any) -> str:
    if column.top:
        known = max(1, summary.n_rows - column.n_missing)
        shares = [
            page.join(page.isolated(text.shortened(str(one), 24)), f" {100 * times / known:.0f} %")
            for one, times in column.top
        ]
        return Markup(", ").join(shares) + (", …" if column.n_distinct > len(column.top) else "")
    if column.low is not None and column.high is not None:
        mean = f", mean {_grouped(_mean(column))}" if column.mean is not None else ""
        return f"{_grouped(column.low)} to {_grouped(column.high)}{mean}"
    return text.shortened(str(column.example), 60)


def _grouped(value: Any) -> str:
    """Format a value of a range; numbers from 10,000 have commas, years do not.

    >>> _grouped(1998), _grouped(1998.25), _grouped(96651), _grouped(96651.5), _grouped("b")
    ('1998', '1998', '96,651', '96,652', 'b')
    """
    if isinstance(value, int) and abs(value) >= _GROUPED:
        return f"{value:,}".replace("-", "−")
    is_small = isinstance(value, float) and abs(value) < _GROUPED
    return text.value(value).replace(",", "") if is_small else text.value(value)


def _mean(column: Any) -> Any:
    """Return the mean of a column; 0 if it differs from 0 only by rounding."""
    width = column.high - column.low if isinstance(column.mean, float) else 0.0
    return 0.0 if isinstance(column.mean, float) and abs(column.mean) < 1e-12 * width else column.mean


def _bars(column: Any) -> str:
    counts = list(column.histogram) or [times for _, times in column.top]
    if not counts:
        return ""
    what = "histogram of 12 equal bins" if column.histogram else "most frequent values"
    return page.histogram(counts, f"{column.name}, {what}: {', '.join(map(str, counts))}")
