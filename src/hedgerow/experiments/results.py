"""All that a run of the experiments has found."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow.container import write_atomically
from hedgerow.experiments.methods import CAVEATS
from hedgerow.experiments.pages import experiments_page
from hedgerow.experiments.tables import ResultCurves, ResultTable
from hedgerow.plots import CurvesDisplay, ScoresDisplay


@dataclass(frozen=True, eq=False)
class Experiments:
    """Tables, figures and what they say; `run_experiments` makes one.

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
    said : dict of tuples of str
        Sentences that follow from the numbers, by experiment: "compare", the keys of the curves, "claim".
    left_out : tuple of str
        Sentences about what is missing here, and how to get it.

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
    said: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """All sentences."""
        return tuple(words for sentences in self.said.values() for words in sentences)

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
        """Everything as plain lists and numbers, for JSON."""
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
        """One page that needs no other file."""
        return experiments_page(self.tables, self.curves, self.figures, self.said, self.left_out, self._how())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        write_atomically(Path(path), self.to_html().encode())

    def _how(self) -> tuple[str, ...]:
        given = ["full=True"] if self.full else []
        given += [f"random_state={self.random_state}"] if self.random_state else []
        return ("from hedgerow.experiments import run_experiments", f"run_experiments({', '.join(given)})")
