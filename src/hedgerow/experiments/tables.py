"""What experiments leave behind: tables of values, and lines of accuracies over a quantity.

Values are numbers, texts, or pairs of a mean and its spread, so that a machine can read them; the words that
a person reads are made from them by the format of each column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.experiments.measure import Curve
from hedgerow.plots import CurvesDisplay

SECONDS = "seconds"  # in the names of columns that differ from run to run


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    key : str
        One word for links and files.
    name : str
        The title, in words.
    columns : tuple of str
    values : tuple of rows
        Texts, numbers, or (mean, spread).
    formats : tuple of str
        For each column how a number is written, as in ``format(number, ".3f")``; empty for texts.

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
        """The rows in words."""
        return [tuple(map(_words, row, self.formats)) for row in self.values]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
        rows = [[list(value) if isinstance(value, tuple) else value for value in row] for row in self.values]
        return {"key": self.key, "name": self.name, "columns": list(self.columns), "rows": rows}


@dataclass(frozen=True, eq=False)
class ResultCurves:
    """Lines of accuracy over one quantity, on one problem.

    Parameters
    ----------
    key : str
        "learners", "shrinkage" or "noise".
    problem : str
        The name of the data.
    title : str
        That of the problem, in words.
    x_label : str
    curves : dict of Curve
        By method, all over the same x.
    level : tuple of (str, float) or None
        A method that does not depend on x, and its accuracy.
    log_x : bool
    """

    key: str
    problem: str
    title: str
    x_label: str
    curves: dict[str, Curve]
    level: tuple[str, float] | None = None
    log_x: bool = False

    @property
    def name(self) -> str:
        """One word for links and files."""
        return f"{self.key}-{self.problem}"

    @property
    def x(self) -> tuple[float, ...]:
        """Where the lines have their points."""
        return next(iter(self.curves.values())).x

    def display(self) -> CurvesDisplay:
        """The picture, not yet drawn: `plot` draws it."""
        x = np.array(self.x)
        lines: dict[str, Any] = {name: (curve.mean, curve.spread) for name, curve in self.curves.items()}
        if self.level:
            lines[self.level[0]] = (np.full(len(x), self.level[1]), None)
        return CurvesDisplay(x, lines, self.x_label, "accuracy", self.log_x)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
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


def _words(value: Any, how: str) -> str:
    if isinstance(value, tuple):
        return " ± ".join(format(number, how) for number in value)
    return str(value) if isinstance(value, str) else format(value, how)
