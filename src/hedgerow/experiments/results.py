"""Results of the experiments: tables, curves, and the page of all of them.

Values of tables are numbers, texts, or pairs of a mean and its standard deviation, which a format per column
turns into text.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.container import write_atomically
from hedgerow.experiments.measure import AccuracyCurve
from hedgerow.experiments.plan import CAVEATS
from hedgerow.plots import CurvesDisplay, ScoresDisplay
from hedgerow.report import page


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    key : str
        One word for links and files.
    name : str
        The title.
    columns : tuple of str
    values : tuple of rows
        Texts, numbers, or (mean, spread).
    formats : tuple of str
        Format of the numbers of each column, as in ``format(number, ".3f")``; empty for texts.

    Examples
    --------
    >>> table = ResultTable("a", "A", ("who", "score"), (("one", (0.5, 0.1)), ("two", 2.0)), ("", ".2f"))
    >>> table.rows
    [('one', '0.50 ± 0.10'), ('two', '2.00')]
    """

    key: str
    name: str
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    formats: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows as text."""
        return [tuple(map(_format, row, self.formats)) for row in self.values]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, for JSON."""
        rows = [[list(value) if isinstance(value, tuple) else value for value in row] for row in self.values]
        return {"key": self.key, "name": self.name, "columns": list(self.columns), "rows": rows}


@dataclass(frozen=True, eq=False)
class ResultCurves:
    """Curves of accuracy over one quantity, on one problem.

    Parameters
    ----------
    key : str
        "learners", "shrinkage" or "noise".
    problem : str
        The name of the data.
    title : str
        Title of the problem.
    x_label : str
    curves : dict of AccuracyCurve
        By method, all over the same x.
    level : tuple of (str, float) or None
        A method that does not depend on x, and its accuracy.
    log_x : bool
    """

    key: str
    problem: str
    title: str
    x_label: str
    curves: dict[str, AccuracyCurve]
    level: tuple[str, float] | None = None
    log_x: bool = False

    @property
    def name(self) -> str:
        """One word for links and files."""
        return f"{self.key}-{self.problem}"

    @property
    def x(self) -> tuple[float, ...]:
        """The points of the curves."""
        return next(iter(self.curves.values())).x

    def display(self) -> CurvesDisplay:
        """Return the display; `plot` draws it."""
        x = np.array(self.x)
        lines: dict[str, Any] = {name: (curve.mean, curve.spread) for name, curve in self.curves.items()}
        if self.level:
            lines[self.level[0]] = (np.full(len(x), self.level[1]), None)
        return CurvesDisplay(x, lines, self.x_label, "accuracy", self.log_x)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, for JSON."""
        return {
            "key": self.key,
            "problem": self.problem,
            "x_label": self.x_label,
            "x": list(self.x),
            "curves": {
                name: {"mean": curve.mean.tolist(), "spread": curve.spread.tolist()}
                for name, curve in self.curves.items()
            },
            "level": list(self.level) if self.level else None,
        }


def _format(value: Any, how: str) -> str:
    if isinstance(value, tuple):
        return " ± ".join(format(number, how) for number in value)
    return str(value) if isinstance(value, str) else format(value, how)


TITLE = "Boosting beside logistic regression"
LEAD = (
    "Simulated data, breast cancer and road accidents: which method is more accurate, how many weak "
    "learners it needs, the effects of shrinkage and wrong labels, and whether five learners are enough."
)
# Title of the section and beginning of the captions, by the key of the curves.
FIGURES = {
    "learners": ("Figure 1: how many weak learners", "Accuracy on test rows after every round"),
    "shrinkage": (
        "Figure 2: shrinkage",
        "Accuracy against the learning rate, with a fixed number of learners",
    ),
    "noise": ("Wrong labels", "Accuracy on true labels against the share of training labels flipped"),
}
BANDS = "The band is one standard deviation over the folds to each side."


def _scores_figure(table: ResultTable, display: Any) -> Any:
    title = table.name.partition(":")[0]
    caption = f"{title}: mean accuracy and one standard deviation over the folds, best first."
    alt = f"Dots for the accuracy of each method, best first: {', '.join(display.names)}."
    return page.figure(display.plot(), caption, alt, name=f"scores-{table.key}")


def _table(table: ResultTable) -> Any:
    numbers = [column for column, how in enumerate(table.formats) if how]
    return page.table(table.name, table.columns, table.rows, numbers=numbers)


def _figure(curves: ResultCurves, display: Any, beginning: str) -> Any:
    caption = f"{curves.title}. {beginning}. {BANDS}"
    ends = "; ".join(
        f"{name} from {100 * curve.mean[0]:.1f} to {100 * curve.mean[-1]:.1f} %"
        for name, curve in curves.curves.items()
    )
    alt = f"Lines over the {curves.x_label}: {ends}."
    return page.figure(display.plot(), caption, alt, name=curves.name)


@dataclass(frozen=True, eq=False)
class Experiments:
    """Tables, figures and findings; the result of `run_experiments`.

    Parameters
    ----------
    full : bool
        Whether all rows and repeats were used.
    random_state : int
    tables : tuple of ResultTable
        One for every problem, then the claim about five learners.
    curves : tuple of ResultCurves
        The lines of figure 1 (key "learners"), figure 2 ("shrinkage") and of flipped labels ("noise").
    scores : dict of dict
        Mean accuracy and spread by method, by the name of the problem.
    sentences : dict of tuples of str
        Sentences that follow from the numbers, by experiment: "compare", the keys of the curves, "claim".
    left_out : tuple of str
        Sentences about data sets that are not installed.

    Examples
    --------
    >>> empty = Experiments(False, 0, (), (), {}, {"compare": ("Nothing was found.",)}, ())
    >>> empty.findings
    ('Nothing was found.',)
    """

    full: bool
    random_state: int
    tables: tuple[ResultTable, ...]
    curves: tuple[ResultCurves, ...]
    scores: dict[str, dict[str, tuple[float, float]]]
    sentences: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """All sentences."""
        return tuple(sentence for group in self.sentences.values() for sentence in group)

    @property
    def figures(self) -> dict[str, CurvesDisplay | ScoresDisplay]:
        """Displays by name, such as "learners-cancer"; their `plot` draws them."""
        displays: dict[str, CurvesDisplay | ScoresDisplay] = {}
        for problem, scores in self.scores.items():
            names = sorted(scores, key=lambda name: -scores[name][0])
            means, spreads = zip(*(scores[name] for name in names), strict=True)
            displays[f"scores-{problem}"] = ScoresDisplay(
                names, list(means), list(spreads), "accuracy", is_share=True
            )
        return displays | {curves.name: curves.display() for curves in self.curves}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, for JSON."""
        return {
            "full": self.full,
            "random_state": self.random_state,
            "tables": [table.to_dict() for table in self.tables],
            "curves": [curves.to_dict() for curves in self.curves],
            "findings": list(self.findings),
            "left_out": list(self.left_out),
            "caveats": list(CAVEATS),
        }

    def to_html(self) -> str:
        """Return a self-contained page."""
        sentences, displays = self.sentences, self.figures
        main = [*sentences.get("compare", ()), *sentences.get("claim", ()), *self.left_out]
        sections = [page.Section("findings", "Findings", page.bullets(main))]
        compared = [table for table in self.tables if table.key != "claim"]
        if compared:
            elements = [
                element
                for table in compared
                for element in (_table(table), _scores_figure(table, displays[f"scores-{table.key}"]))
            ]
            sections.append(page.Section("methods", "All methods", page.join(*elements)))
        for key, (title, beginning) in FIGURES.items():
            drawn = [_figure(one, displays[one.name], beginning) for one in self.curves if one.key == key]
            if drawn:
                body = page.join(page.side_by_side(*drawn), page.bullets(sentences.get(key, ())))
                sections.append(page.Section(key, title, body))
        claims = [_table(table) for table in self.tables if table.key == "claim"]
        if claims:
            sections.append(page.Section("claim", "Are five learners enough?", page.join(*claims)))
        sections.append(page.Section("caveats", "Caveats", page.bullets(CAVEATS)))
        sections.append(page.Section("how", "How to reproduce", page.listing(self._how())))
        return page.render_page(TITLE, sections, lead=LEAD)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file atomically."""
        write_atomically(Path(path), self.to_html().encode())

    def _how(self) -> tuple[str, ...]:
        options = ["full=True"] if self.full else []
        options += [f"random_state={self.random_state}"] if self.random_state else []
        return ("from hedgerow.experiments import run_experiments", f"run_experiments({', '.join(options)})")
