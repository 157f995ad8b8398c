"""The experiments as a page: sections with tables, figures and sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.experiments.methods import CAVEATS
from hedgerow.experiments.tables import ResultCurves, ResultTable
from hedgerow.report import page

TITLE = "Boosting beside logistic regression"
LEAD = (
    "Simulated data, breast cancer and road accidents: which method is right more often, how many weak "
    "learners it takes, what shrinkage and wrong labels do, and whether five learners are enough."
)
# Of the figures, by the key of their curves: section, title, and what a caption begins with.
FIGURES = {
    "learners": ("Figure 1: how many weak learners", "Accuracy on held-out rows after every round"),
    "shrinkage": (
        "Figure 2: shrinkage",
        "Accuracy against the learning rate, with a fixed number of learners",
    ),
    "noise": ("Wrong labels", "Accuracy on true labels against the share of training labels flipped"),
}
BANDS = "The band is one standard deviation over the folds to each side."


def experiments_page(
    tables: Sequence[ResultTable],
    curves: Sequence[ResultCurves],
    displays: Mapping[str, Any],
    said: Mapping[str, Sequence[str]],
    left_out: Sequence[str],
    how: Sequence[str],
) -> str:
    """The whole page as HTML.

    Parameters
    ----------
    tables, curves : sequences
    displays : mapping of displays
        By the names of the curves, and "scores-" with the name of a problem.
    said : mapping of sequences of str
        Sentences by experiment. Those of "compare" and "claim" open the page.
    left_out : sequence of str
    how : sequence of str
        Lines of a program that repeat all this.

    Returns
    -------
    str
    """
    opening = [*said.get("compare", ()), *said.get("claim", ()), *left_out]
    sections = [page.Section("findings", "What was found", page.bullets(opening))]
    compared = [table for table in tables if table.key != "claim"]
    parts = [part for table in compared for part in _comparison(table, displays)]
    if parts:
        sections.append(page.Section("methods", "All methods", page.join(*parts)))
    for key, (title, words) in FIGURES.items():
        drawn = [_figure(one, displays[one.name], words) for one in curves if one.key == key]
        if drawn:
            body = page.join(page.side_by_side(*drawn), page.bullets(said.get(key, ())))
            sections.append(page.Section(key, title, body))
    claims = [_table(table) for table in tables if table.key == "claim"]
    if claims:
        sections.append(page.Section("claim", "Are five learners enough?", page.join(*claims)))
    sections.append(page.Section("caveats", "What to keep in mind", page.bullets(CAVEATS)))
    sections.append(page.Section("how", "How to do it again", page.listing(how)))
    return page.render_page(TITLE, sections, lead=LEAD)


def _comparison(table: ResultTable, displays: Mapping[str, Any]) -> list[Any]:
    parts = [_table(table)]
    display = displays.get(f"scores-{table.key}")
    if display is not None:
        title = table.name.partition(":")[0]
        caption = f"{title}: mean accuracy and one standard deviation over the folds, best first."
        names = ", ".join(display.names)
        alt = f"Dots for the accuracy of each method, best first: {names}."
        parts.append(page.figure(display.plot(), caption, alt, name=f"scores-{table.key}"))
    return parts


def _table(table: ResultTable) -> Any:
    numbers = [place for place, how in enumerate(table.formats) if how]
    return page.table(table.name, table.columns, table.rows, numbers=numbers)


def _figure(curves: ResultCurves, display: Any, words: str) -> Any:
    caption = f"{curves.title}. {words}. {BANDS}"
    ends = "; ".join(
        f"{name} from {100 * curve.mean[0]:.1f} to {100 * curve.mean[-1]:.1f} %"
        for name, curve in curves.curves.items()
    )
    alt = f"Lines over the {curves.x_label}: {ends}."
    return page.figure(display.plot(), caption, alt, name=curves.name)
