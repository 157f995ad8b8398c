"""Sections: the report in short, and the data."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from scipy.stats import binom

from hedgerow.datafiles import describe
from hedgerow.plots.labels import below_one
from hedgerow.report import page, words
from hedgerow.report.facts import Facts
from hedgerow.report.page import Section
from hedgerow.table import read_table
from hedgerow.theory.deviations import holdout_bound

_ALPHA = 0.05  # intervals fail with this probability at the most
_MOST_CLASSES = 30  # in the table of their shares
_MOST_COLUMNS = 200  # in the table of columns


# --- in short


def accuracy_interval(n_wrong: int, n: int, alpha: float = _ALPHA) -> tuple[float, float]:
    """The exact interval of the accuracy of new rows (Clopper and Pearson 1934).

    Parameters
    ----------
    n_wrong, n : int
        Mistakes, and rows held out.
    alpha : float
        The probability, at most, that the interval misses the accuracy.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> [round(end, 4) for end in accuracy_interval(4, 143)]
    [0.9299, 0.9923]
    """
    return 1.0 - holdout_bound(n_wrong, n, alpha / 2), holdout_bound(n - n_wrong, n, alpha / 2)


def median_interval(sizes: Iterable[float], alpha: float = _ALPHA) -> tuple[float, float]:
    """An interval that holds the median of new values whatever their distribution: two order statistics.

    The number of n values below the median is binomial(n, 1/2).

    >>> median_interval(range(1, 101))
    (40.0, 61.0)
    >>> median_interval([1.0, 2.0])  # too few: nothing is known
    (-inf, inf)
    """
    ordered = np.sort(np.asarray(list(sizes), dtype=np.float64))
    n = len(ordered)
    below = int(binom.ppf(alpha / 2, n, 0.5))  # the largest number with P[B < below] <= alpha / 2
    if below < 1:
        return -math.inf, math.inf
    return float(ordered[below - 1]), float(ordered[n - below])


def in_short(facts: Facts) -> Section:
    """What the model is, how well it does, what is proven."""
    rows = _classification_figures(facts) if facts.is_classification else _regression_figures(facts)
    parts = [page.paragraph(_what_it_is(facts)), page.key_figures(rows)]
    if facts.certificate is not None:
        best = facts.certificate.best
        vacuous = best is None or facts.certificate.is_vacuous(best)
        kind = "statement vacuous" if vacuous else "statement"
        parts.append(page.paragraph(facts.certificate.statement, kind=kind))
    parts.append(page.paragraph(_how_to_read(facts), kind="small"))
    if not facts.can_judge:
        unknown = sorted({str(label) for label in facts.y.tolist()} - {str(label) for label in facts.classes})
        told = (
            f"Rows held out have classes that the model was not fitted to ({', '.join(unknown)}): they count "
            "as mistakes, and the sections that need probabilities of all classes are left out."
        )
        parts.append(page.paragraph(words.shortened(told, 400)))
    return Section("in-short", "In short", page.join(*parts))


def _what_it_is(facts: Facts) -> str:
    n_columns = words.plural(facts.n_columns, "column")
    trained = f"fitted to {words.plural(facts.n_train, 'row')} of {n_columns}" if facts.n_train else n_columns
    aim = (
        f"to tell {words.plural(len(facts.classes), 'class', 'classes')} of {facts.target}"
        if facts.is_classification
        else f"to predict {facts.target}, a number"
    )
    held_out = words.plural(len(facts.y), "row")
    return f"{facts.kind}, {trained}, {aim}. It is judged by {held_out} that were held out."


def _how_to_read(facts: Facts) -> str:
    if facts.is_classification:
        return (
            "The interval is exact (Clopper and Pearson): it misses the accuracy on new rows in at most 5 "
            "of 100 reports, if the rows held out are independent of the model and of one another."
        )
    return (
        "The interval of the typical error is exact whatever the distribution (order statistics): it misses "
        "the median for new rows in at most 5 of 100 reports, if the rows held out are independent of the "
        "model and of one another."
    )


def _classification_figures(facts: Facts) -> list[tuple[str, str, str]]:
    n, n_wrong = len(facts.y), int(np.sum(facts.wrong))
    interval = words.between(*accuracy_interval(n_wrong, n))
    counts = np.unique(facts.y.astype(str), return_counts=True)[1]
    chance = counts.max() / n
    found = [
        ("accuracy", words.share(1 - n_wrong / n), f"95 % interval {interval}"),
        ("mistakes", f"{n_wrong:,} of {n:,}", "rows held out"),
        ("most frequent class", words.share(chance), "accuracy of always answering it"),
    ]
    if facts.certificate is not None and facts.certificate.best is not None:
        bound = facts.certificate.error_bound
        shown = f"≤ {math.ceil(1000 * bound) / 10:.1f} %" if bound < 1 else words.NOTHING
        sure = f"{100 * (1 - facts.certificate.delta):.4g} %"
        vacuous = facts.certificate.is_vacuous(facts.certificate.best)
        note = "no better than always one class" if vacuous else f"with probability {sure}"
        found.append(("proven error", shown, note))
    if "auc" in facts.scores:
        area = below_one(facts.scores["auc"])
        found.append(("area under ROC", area, "1 is best, 0.5 is chance"))
    if "log-loss" in facts.scores:
        found.append(("log-loss", words.number(facts.scores["log-loss"], 3), "0 is best"))
    return found


def _regression_figures(facts: Facts) -> list[tuple[str, str, str]]:
    truth = facts.y.astype(np.float64)
    sizes = np.abs(truth - facts.predicted.astype(np.float64))
    low, high = median_interval(sizes)
    interval = f"95 % interval {words.number(low, 3)} to {words.number(high, 3)}" if high < math.inf else ""
    spread = float(np.std(truth))
    return [
        ("R²", words.number(facts.scores["r2"], 3), "1 is best, 0 is the mean"),
        ("root mean squared error", words.number(facts.scores["rmse"], 3), "held-out rows"),
        ("mean absolute error", words.number(facts.scores["mae"], 3), "held-out rows"),
        (
            "typical error",
            words.number(float(np.median(sizes)), 3),
            f"median; {interval}" if interval else "median",
        ),
        ("spread of the target", words.number(spread, 3), "the error of always answering the mean"),
    ]


# --- the data


def data(facts: Facts) -> Section:
    """Rows, columns, target, and what became of them."""
    summary = facts.summary if facts.summary is not None else describe(as_arrow(facts))
    parts = [_counts(facts, summary)]
    parts.append(_class_balance(facts) if facts.is_classification else _target_numbers(facts))
    if facts.recipe is not None:
        parts += _what_became(facts.recipe)
    parts.append(_columns(summary, facts))
    return Section("data", "The data", page.join(*parts))


def as_arrow(facts: Facts) -> pa.Table:
    """The training rows, or those held out without them, as a table that can be described."""
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
    figures = [] if facts.summary is None else [("rows", words.count(summary.n_rows), "in the file")]
    if facts.n_train is not None:
        figures.append(("to fit", words.count(facts.n_train), "rows the model has learned from"))
    figures.append(("held out", words.count(len(facts.y)), "rows it has not seen"))
    figures.append(("columns used", words.count(facts.n_columns), ""))
    return page.key_figures(figures)


def _class_balance(facts: Facts) -> Markup:
    held_out = _tally(facts.y)
    train = {} if facts.y_train is None else _tally(facts.y_train)
    total = {label: held_out.get(label, 0) + train.get(label, 0) for label in {**train, **held_out}}
    n = sum(total.values())
    order = sorted(total, key=lambda label: (-total[label], label))
    rows = []
    for label in order[:_MOST_CLASSES]:
        share = words.share(total[label] / n)
        held = words.count(held_out.get(label, 0))
        fitted = [words.count(train.get(label, 0))] if train else []
        rows.append([words.value(label), *fitted, held, share])
    head = ["class", *(["to fit"] if train else []), "held out", "share"]
    more = len(order) - _MOST_CLASSES
    caption = f"Classes of {facts.target}" + (f"; {more} more are not shown" if more > 0 else "")
    return page.table(caption, head, rows, numbers=range(1, len(head)))


def _tally(labels: Any) -> dict[str, int]:
    found, counts = np.unique(labels.astype(str), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _target_numbers(facts: Facts) -> Markup:
    rows = []
    for name, labels in (("to fit", facts.y_train), ("held out", facts.y)):
        if labels is None:
            continue
        numbers = labels.astype(np.float64)
        quartiles = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        bins, _ = np.histogram(numbers, bins=12)
        drawn = page.histogram(bins.tolist(), f"histogram of {facts.target}, {name}: {bins.tolist()}")
        told = [words.number(float(one)) for one in (*quartiles, numbers.mean(), numbers.std())]
        rows.append([name, *told, drawn])
    head = [
        "rows",
        "lowest",
        "lower quarter",
        "median",
        "upper quarter",
        "highest",
        "mean",
        "spread",
        "histogram",
    ]
    return page.table(f"Values of {facts.target}", head, rows, numbers=range(1, 8))


def _what_became(recipe: Any) -> list[Markup]:
    """What was dropped, expanded and noted."""
    parts = []
    if recipe.dropped:
        parts += [
            page.heading("Columns left out"),
            page.bullets(page.join(page.code(name), f": {reason}") for name, reason in recipe.dropped),
        ]
    expanded = [column for column in recipe.columns if len(column.parts) > 1]
    if expanded:
        parts += [
            page.heading("Columns expanded"),
            page.bullets(
                page.join(page.code(column.name), " became ", ", ".join(column.parts)) for column in expanded
            ),
        ]
    if recipe.notes:
        parts += [page.heading("Notes on the data"), page.bullets(recipe.notes)]
    return parts


def _columns(summary: Any, facts: Facts) -> Markup:
    shown = summary.columns[:_MOST_COLUMNS]
    roles: dict[str, str] = {}
    if facts.recipe is not None:
        roles = {name: " (left out)" for name, _ in facts.recipe.dropped}
        roles[facts.recipe.target] = " (target)"
    rows = []
    for column in shown:
        missing = words.NOTHING
        if column.n_missing:
            missing = f"{column.n_missing:,} ({100 * column.n_missing / max(1, summary.n_rows):.1f} %)"
        rows.append(
            [
                column.name + roles.get(column.name, ""),
                column.kind,
                missing,
                words.count(column.n_distinct),
                _content(column, summary),
                _bars(column),
            ]
        )
    more = len(summary.columns) - len(shown)
    which = "of the rows of the fit" if facts.y_train is not None else "of the rows held out"
    caption = ("As in the file" if facts.summary is not None else which.capitalize()) + (
        f"; {more} more are not shown" if more > 0 else ""
    )
    head = ["column", "kind", "missing", "distinct", "range, or most frequent values", "histogram"]
    return page.heading("Columns") + page.table(caption, head, rows, numbers=[2, 3])


def _content(column: Any, summary: Any) -> str:
    if column.top:
        known = max(1, summary.n_rows - column.n_missing)
        told = [
            page.join(page.isolated(words.shortened(str(one), 24)), f" {100 * times / known:.0f} %")
            for one, times in column.top
        ]
        return Markup(", ").join(told) + (", …" if column.n_distinct > len(column.top) else "")
    if column.low is not None and column.high is not None:
        mean = f", mean {words.value(_mean(column))}" if column.mean is not None else ""
        return f"{words.value(column.low)} to {words.value(column.high)}{mean}"
    return words.shortened(str(column.example), 60)


def _mean(column: Any) -> Any:
    """The mean of a column; 0 if it differs from that by rounding only."""
    width = column.high - column.low if isinstance(column.mean, float) else 0.0
    return 0.0 if isinstance(column.mean, float) and abs(column.mean) < 1e-12 * width else column.mean


def _bars(column: Any) -> str:
    counts = list(column.histogram) or [times for _, times in column.top]
    if not counts:
        return ""
    what = "histogram of 12 equal bins" if column.histogram else "most frequent values"
    return page.histogram(counts, f"{column.name}, {what}: {', '.join(map(str, counts))}")
