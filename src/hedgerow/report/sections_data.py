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
from hedgerow.plots.labels import below_one
from hedgerow.report import page, text
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section
from hedgerow.table import read_table
from hedgerow.theory.certificate import format_bound
from hedgerow.theory.deviations import holdout_bound

_ALPHA = 0.05  # the largest probability that an interval misses
_MOST_CLASSES = 30  # in the table of their shares
_MOST_COLUMNS = 200  # in the table of columns


# --- summary


def accuracy_interval(n_wrong: int, n: int, alpha: float = _ALPHA) -> tuple[float, float]:
    """The exact interval of the accuracy on new rows (Clopper and Pearson 1934), by errors and test rows.

    >>> [round(end, 4) for end in accuracy_interval(4, 143)]
    [0.9299, 0.9923]
    """
    return 1.0 - holdout_bound(n_wrong, n, alpha / 2), holdout_bound(n - n_wrong, n, alpha / 2)


def median_interval(sizes: Iterable[float], alpha: float = _ALPHA) -> tuple[float, float]:
    """An interval of the median of new values for any distribution: two order statistics.

    The number of n values below the median is binomial(n, 1/2).

    >>> median_interval(range(1, 101))
    (40.0, 61.0)
    >>> median_interval([1.0, 2.0])  # too few values
    (-inf, inf)
    """
    ordered = np.sort(np.asarray(list(sizes), dtype=np.float64))
    n = len(ordered)
    below = int(binom.ppf(alpha / 2, n, 0.5))  # the largest number with P[B < below] <= alpha / 2
    if below < 1:
        return -math.inf, math.inf
    return float(ordered[below - 1]), float(ordered[n - below])


def in_short(facts: Facts) -> Section:
    """The model, its scores and its certificate."""
    rows = _classification_figures(facts) if facts.is_classification else _regression_figures(facts)
    elements = [page.paragraph(_describe_model(facts)), page.key_figures(rows)]
    if facts.certificate is not None:
        best = facts.certificate.best
        vacuous = best is None or facts.certificate.is_vacuous(best)
        kind = "statement vacuous" if vacuous else "statement"
        elements.append(page.paragraph(facts.certificate.statement, kind=kind))
    elements.append(page.paragraph(_interval_note(facts), kind="small"))
    if not facts.can_evaluate:
        unknown = sorted({str(label) for label in facts.y.tolist()} - {str(label) for label in facts.classes})
        note = (
            f"Some test rows have classes that the model does not have ({', '.join(unknown)}): they count "
            "as errors, and the sections that require probabilities of all classes are omitted."
        )
        elements.append(page.paragraph(text.shortened(note, 400)))
    return Section("in-short", "Summary", page.join(*elements))


def _describe_model(facts: Facts) -> str:
    n_columns = text.plural(facts.n_columns, "column")
    size = f"fitted to {text.plural(facts.n_train, 'row')} of {n_columns}" if facts.n_train else n_columns
    n_classes = text.plural(len(facts.classes), "class", "classes")
    values = f"one of {n_classes}" if facts.is_classification else "a number"
    n_test = text.plural(len(facts.y), "row")
    about = f"{facts.kind}, {size}, to predict {facts.target}, {values}."
    return f"{about} It is evaluated on a test set of {n_test}."


def _interval_note(facts: Facts) -> str:
    if facts.is_classification:
        return (
            "The interval is exact (Clopper and Pearson): it misses the accuracy on new rows with a "
            "probability of at most 5 %, if the test rows are independent of the model and of each other."
        )
    return (
        "The interval of the median error is exact for any distribution (order statistics): it misses the "
        "median for new rows with a probability of at most 5 %, if the test rows are independent of the "
        "model and of each other."
    )


def _classification_figures(facts: Facts) -> list[tuple[str, str, str]]:
    n, n_wrong = len(facts.y), int(np.sum(facts.wrong))
    interval = text.between(*accuracy_interval(n_wrong, n))
    counts = np.unique(facts.y.astype(str), return_counts=True)[1]
    chance = counts.max() / n
    figures = [
        ("accuracy", text.share(1 - n_wrong / n), f"95 % interval {interval}"),
        ("errors", f"{n_wrong:,} of {n:,}", "rows of the test set"),
        ("most frequent class", text.share(chance), "accuracy of always predicting it"),
    ]
    if facts.certificate is not None and facts.certificate.best is not None:
        bound = facts.certificate.error_bound
        shown = f"≤ {format_bound(bound)}" if bound < 1 else text.NOTHING
        confidence = f"{100 * (1 - facts.certificate.delta):.4g} %"
        vacuous = facts.certificate.is_vacuous(facts.certificate.best)
        note = "vacuous: not below chance" if vacuous else f"with probability {confidence}"
        figures.append(("error bound", shown, note))
    if "auc" in facts.scores:
        figures.append(("area under ROC", below_one(facts.scores["auc"]), "1 is best, 0.5 is chance"))
    if facts.rare_class is not None and facts.rare_precision is not None:
        rare = facts.classes[facts.rare_class]
        share = text.share(float(np.mean(facts.y == rare)))
        note = f"of class {text.value(rare, 24)}; {share} of the rows is chance"
        figures.append(("average precision", below_one(facts.rare_precision), note))
    if "log-loss" in facts.scores:
        figures.append(("log-loss", text.number(facts.scores["log-loss"], 3), "0 is best"))
    return figures


def _regression_figures(facts: Facts) -> list[tuple[str, str, str]]:
    sizes = np.abs(facts.residuals)
    low, high = median_interval(sizes)
    interval = f"95 % interval {text.number(low, 3)} to {text.number(high, 3)}" if high < math.inf else ""
    spread = float(np.std(facts.y.astype(np.float64)))
    return [  # a single row has no R²
        ("R²", text.number(facts.scores.get("r2"), 3), "1 is best, 0 is that of the mean"),
        ("root mean squared error", text.number(facts.scores["rmse"], 3), "test set"),
        ("mean absolute error", text.number(facts.scores["mae"], 3), "test set"),
        ("median absolute error", text.number(float(np.median(sizes)), 3), interval),
        ("standard deviation of the target", text.number(spread, 3), "error of always predicting the mean"),
    ]


# --- the data


def data(facts: Facts) -> Section:
    """Rows, columns and target, and how they were prepared."""
    summary = facts.summary if facts.summary is not None else describe(as_arrow(facts))
    elements = [_counts(facts, summary)]
    elements.append(_class_balance(facts) if facts.is_classification else _target_numbers(facts))
    if facts.recipe is not None:
        elements += _preparation(facts.recipe)
    elements.append(_columns(summary, facts))
    return Section("data", "The data", page.join(*elements))


def as_arrow(facts: Facts) -> pa.Table:
    """The training rows, or without them the test rows, as an Arrow table."""
    X = facts.X if facts.X_train is None else facts.X_train
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
    return pa.table(columns, names=facts.names)


def _counts(facts: Facts, summary: Any) -> Markup:
    figures = [] if facts.summary is None else [("rows", f"{summary.n_rows:,}", "in the file")]
    if facts.n_train is not None:
        figures.append(("training set", f"{facts.n_train:,}", "rows"))
    figures.append(("test set", f"{len(facts.y):,}", "rows, not used in training"))
    figures.append(("columns used", f"{facts.n_columns:,}", ""))
    return page.key_figures(figures)


def _class_balance(facts: Facts) -> Markup:
    test = Counter(facts.y.astype(str).tolist())
    train = Counter([] if facts.y_train is None else facts.y_train.astype(str).tolist())
    total = train + test
    n = total.total()
    order = sorted(total, key=lambda label: (-total[label], label))
    rows = []
    for label in order[:_MOST_CLASSES]:
        fitted = [f"{train[label]:,}"] if train else []
        rows.append([text.value(label), *fitted, f"{test[label]:,}", text.share(total[label] / n)])
    head = ["class", *(["training set"] if train else []), "test set", "share"]
    more = len(order) - _MOST_CLASSES
    caption = f"Classes of {facts.target}" + (f"; {more} more are not shown" if more > 0 else "")
    return page.table(caption, head, rows, numbers=range(1, len(head)))


def _target_numbers(facts: Facts) -> Markup:
    rows = []
    for name, labels in (("training set", facts.y_train), ("test set", facts.y)):
        if labels is None:
            continue
        numbers = labels.astype(np.float64)
        quartiles = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        bins, _ = np.histogram(numbers, bins=12)
        drawn = page.histogram(bins.tolist(), f"histogram of {facts.target}, {name}: {bins.tolist()}")
        values = [text.number(float(one)) for one in (*quartiles, numbers.mean(), numbers.std())]
        rows.append([name, *values, drawn])
    head = ["set", "min", "25 %", "median", "75 %", "max", "mean", "standard deviation", "histogram"]
    return page.table(f"Values of {facts.target}", head, rows, numbers=range(1, 8))


def _preparation(recipe: Any) -> list[Markup]:
    """Columns dropped and expanded, and notes."""
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


def _columns(summary: Any, facts: Facts) -> Markup:
    shown = summary.columns[:_MOST_COLUMNS]
    roles: dict[str, str] = {}
    if facts.recipe is not None:
        roles = {name: " (dropped)" for name, _ in facts.recipe.dropped}
        roles[facts.recipe.target] = " (target)"
    rows = []
    for column in shown:
        missing = text.NOTHING
        if column.n_missing:
            missing = f"{column.n_missing:,} ({100 * column.n_missing / max(1, summary.n_rows):.1f} %)"
        name, n_distinct = column.name + roles.get(column.name, ""), f"{column.n_distinct:,}"
        rows.append([name, column.kind, missing, n_distinct, _content(column, summary), _bars(column)])
    more = len(summary.columns) - len(shown)
    which = "Training set" if facts.y_train is not None else "Test set"
    caption = "All rows of the file" if facts.summary is not None else which
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
        mean = f", mean {text.value(_mean(column))}" if column.mean is not None else ""
        return f"{text.value(column.low)} to {text.value(column.high)}{mean}"
    return text.shortened(str(column.example), 60)


def _mean(column: Any) -> Any:
    """The mean of a column; 0 if it differs from 0 only by rounding."""
    width = column.high - column.low if isinstance(column.mean, float) else 0.0
    return 0.0 if isinstance(column.mean, float) and abs(column.mean) < 1e-12 * width else column.mean


def _bars(column: Any) -> str:
    counts = list(column.histogram) or [times for _, times in column.top]
    if not counts:
        return ""
    what = "histogram of 12 equal bins" if column.histogram else "most frequent values"
    return page.histogram(counts, f"{column.name}, {what}: {', '.join(map(str, counts))}")
