"""Results: what was tried and what came of it, as records that can be printed and kept.

Choice      = trials, the best of them, why, and the model
Comparison  = one row a method: scores as (mean, deviation) over the folds, and times
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from hedgerow.selection.methods import METHODS
from hedgerow.selection.metrics import METRICS

FORMAT = 1  # of the dicts
STATUSES = ("done", "cut short", "skipped", "failed")


@dataclass(frozen=True)
class Trial:
    """One setting of a method, tried.

    Parameters
    ----------
    method, title : str
    parameters : dict
        For `make_model`, with the number of rounds that was found.
    scores : dict of str to float
        By the names of `METRICS`, on the validation rows; empty if it was not tried to the end.
    spread : float or None
        Standard error, over the validation rows, of the score that decided.
    fit_seconds : float or None
        Of all its fits, without compiling.
    status : {"done", "cut short", "skipped", "failed"}
        "cut short": the clock ended it with fewer rounds or members than it should have; it counts.
    note : str
        What else there is to say: why it was skipped, how far it came.

    Examples
    --------
    >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
    >>> trial.words
    'random forest (200 trees)'
    """

    method: str
    title: str
    parameters: dict[str, Any]
    scores: dict[str, float] = field(default_factory=dict)
    spread: float | None = None
    fit_seconds: float | None = None
    status: str = "done"
    note: str = ""

    @property
    def words(self) -> str:
        """The method and its parameters, to be read."""
        said = self.parameters_in_words
        return f"{self.title} ({said})" if said else self.title

    @property
    def parameters_in_words(self) -> str:
        """The parameters, to be read; "up to" so many rounds, where these are still to be found."""
        said = in_words(self.method, self.parameters)
        found = self.counts or "n_estimators" not in self.parameters
        return said if found or METHODS[self.method].rounds not in ("loss", "staged") else f"up to {said}"

    @property
    def counts(self) -> bool:
        """Whether it has scores."""
        return self.status in ("done", "cut short")

    def to_dict(self) -> dict[str, Any]:
        """Everything in numbers, texts, lists and dicts."""
        return {
            "method": self.method,
            "title": self.title,
            "parameters": dict(self.parameters),
            "scores": dict(self.scores),
            "spread": self.spread,
            "fit_seconds": self.fit_seconds,
            "status": self.status,
            "note": self.note,
        }


@dataclass(frozen=True)
class Choice:
    """What `choose` has found.

    Parameters
    ----------
    task, metric : str
    validation : str
        How the trials were judged, in words.
    trials : tuple of Trial
        In the order of the attempts.
    best : Trial
    reason : str
        Why it is the best, whether the runner-up is within noise, what was skipped and what a larger budget
        would try.
    model : estimator
        Fitted to all rows with the parameters of `best`.
    seconds : float
        All that it took, without compiling.
    budget : float or None

    Examples
    --------
    >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3}, 0.02, 1.5)
    >>> choice = Choice("classification", "log-loss", "5 folds", (trial,), trial, "It is alone.", None, 2.0)
    >>> choice.to_dict()["best"]["scores"]
    {'log-loss': 0.3}
    """

    task: str
    metric: str
    validation: str
    trials: tuple[Trial, ...]
    best: Trial
    reason: str
    model: Any
    seconds: float
    budget: float | None = None

    @property
    def ranked(self) -> list[Trial]:
        """The trials that count, the best first."""
        metric = METRICS[self.metric]
        return sorted(
            (trial for trial in self.trials if trial.counts),
            key=lambda trial: metric.loss(trial.scores[self.metric]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, in numbers, texts, lists and dicts."""
        return {
            "format": FORMAT,
            "task": self.task,
            "metric": self.metric,
            "validation": self.validation,
            "trials": [trial.to_dict() for trial in self.trials],
            "best": self.best.to_dict(),
            "reason": self.reason,
            "seconds": self.seconds,
            "budget": self.budget,
        }

    def __str__(self) -> str:
        names = [self.metric, *(name for name in self.best.scores if name != self.metric)]
        heads = ["method", "parameters", *names, "seconds", ""]
        ranked = self.ranked
        body = [self._row(trial, names) for trial in ranked]
        body += [self._row(trial, names) for trial in self.trials if trial.status == "failed"]
        first = f"Chosen by {METRICS[self.metric].title}, {self.validation}: {self.best.words}"
        return _page([first, self.reason], heads, body, left=(0, 1, len(heads) - 1))

    def _row(self, trial: Trial, names: list[str]) -> list[str]:
        scores = [f"{trial.scores[name]:.4g}" if name in trial.scores else "–" for name in names]
        if trial.spread is not None and trial.counts:
            scores[0] += f" ± {trial.spread:.2g}"
        mark = "chosen" if trial is self.best else "" if trial.status == "done" else trial.status
        note = ": ".join(part for part in (mark, trial.note) if part)
        return [trial.title, trial.parameters_in_words, *scores, _seconds(trial.fit_seconds), note]


@dataclass(frozen=True)
class CompareRow:
    """A method in a comparison.

    Parameters
    ----------
    method, title : str
    scores : dict of str to (float, float)
        Mean and standard deviation over the folds; empty if the method was not used.
    fit_seconds, predict_seconds : float or None
        Medians over the folds, after a fit that compiled everything.
    note : str
        Why the method was not used, or what it warned of.

    Examples
    --------
    >>> CompareRow("stump", "one stump", {"accuracy": (0.8, 0.05)}, 0.1, 0.01).to_dict()["scores"]
    {'accuracy': [0.8, 0.05]}
    """

    method: str
    title: str
    scores: dict[str, tuple[float, float]] = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything in numbers, texts, lists and dicts."""
        return {
            "method": self.method,
            "title": self.title,
            "scores": {name: list(pair) for name, pair in self.scores.items()},
            "fit_seconds": self.fit_seconds,
            "predict_seconds": self.predict_seconds,
            "note": self.note,
        }


@dataclass(frozen=True)
class Comparison:
    """What `compare` has measured.

    Parameters
    ----------
    task : str
    folds : int
    rows : tuple of CompareRow
        In the order of the methods.

    Examples
    --------
    >>> row = CompareRow("stump", "one stump", {"accuracy": (0.8, 0.05)}, 0.1, 0.01)
    >>> print(Comparison("classification", 5, (row,)))
    Mean ± standard deviation over 5 folds; seconds are medians, after a fit that compiled everything.
    <BLANKLINE>
     method           accuracy   fit s   predict s
     ─────────────────────────────────────────────
     one stump   0.800 ± 0.050   0.100      0.0100
    """

    task: str
    folds: int
    rows: tuple[CompareRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything in numbers, texts, lists and dicts."""
        return {
            "format": FORMAT,
            "task": self.task,
            "folds": self.folds,
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for row in self.rows for name in row.scores))
        noted = any(row.note for row in self.rows)
        heads = ["method", *names, "fit s", "predict s", *([""] if noted else [])]
        body = []
        for row in self.rows:
            scores = [_pair(row.scores.get(name)) for name in names]
            times = [_seconds(row.fit_seconds), _seconds(row.predict_seconds)]
            body.append([row.title, *scores, *times, *([row.note] if noted else [])])
        first = (
            f"Mean ± standard deviation over {self.folds} folds; seconds are medians, after a fit that "
            "compiled everything."
        )
        return _page([first], heads, body, left=(0, len(heads) - 1) if noted else (0,))


# --- words and tables

_COUNTED = {"gradient": "rounds", "forest": "trees", "extra-trees": "trees", "bagging": "trees"}
_WORDS = {
    "learning_rate": "learning rate {}",
    "max_leaf_nodes": "{} leaves",
    "max_depth": "depth {}",
    "min_samples_leaf": "at least {} rows a leaf",
    "max_features": "{} of the columns",
    "subsample": "{} of the rows a round",
    "max_samples": "{} of the rows",
    "colsample_bytree": "{} of the columns a tree",
    "l2_regularization": "penalty {}",
    "algorithm": "{}",
    "loss": "{} loss",
}


def in_words(method: str, parameters: dict[str, Any]) -> str:
    """Parameters to be read.

    Examples
    --------
    >>> in_words("gradient", {"n_estimators": 137, "learning_rate": 0.1, "max_leaf_nodes": 31})
    '137 rounds, learning rate 0.1, 31 leaves'
    """
    said = []
    for name, value in parameters.items():
        if name == "n_estimators":
            words = _COUNTED.get(method, "rounds")
            said.append(f"{value} {words[:-1] if value == 1 else words}")
        elif name == "max_depth" and value in (1, None):
            said.append("stumps" if value == 1 else "any depth")
        else:
            said.append(_WORDS.get(name, f"{name}={{}}").format(value))
    return ", ".join(said)


def _pair(pair: tuple[float, float] | None) -> str:
    return "–" if pair is None else f"{pair[0]:#.3g} ± {pair[1]:#.2g}"


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:#.3g}" if seconds < 100 else f"{seconds:.0f}"


def _page(
    lines: Sequence[str], heads: Sequence[str], body: Iterable[Sequence[str]], left: Sequence[int]
) -> str:
    """Sentences and a table, as plain text."""
    from rich import box  # noqa: PLC0415 - loads 0.1 s of modules
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    page = StringIO()
    console = Console(file=page, width=150, color_system=None)
    for line in lines:
        console.print(line, markup=False, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        is_left = number in left
        table.add_column(head, justify="left" if is_left else "right", no_wrap=not is_left)
    for row in body:
        table.add_row(*map(Text, row))  # no text of a stranger's file is taken for markup
    console.print(table)
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines())
