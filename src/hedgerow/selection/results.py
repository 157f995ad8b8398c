"""Results: what was tried and what came of it, as records that can be printed and kept.

Choice      = trials, the best of them, why, and the model
Comparison  = one row a method: scores as (mean, deviation) over the folds, and times
"""

import math
from dataclasses import dataclass, field
from typing import Any

from hedgerow.selection import checks
from hedgerow.selection.methods import METHODS
from hedgerow.selection.metrics import METRICS
from hedgerow.selection.splits import TASKS
from hedgerow.text_table import WIDTH, fitting_columns, format_mean, format_page, format_seconds

FORMAT = 1  # of the dicts
STATUSES = ("done", "cut short", "skipped", "failed")
_TRIAL_KEYS = ("method", "title", "parameters", "scores", "spread", "fit_seconds", "status", "note")
_KEYS = ("format", "task", "metric", "validation", "trials", "best", "reason", "seconds", "budget")


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

    @classmethod
    def from_dict(cls, content: Any) -> "Trial":
        """The trial that `to_dict` gave; ValueError, in one line, for anything else.

        Examples
        --------
        >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
        >>> Trial.from_dict(trial.to_dict()) == trial
        True
        """
        given = checks.fields(content, _TRIAL_KEYS, "a trial")
        known = given["scores"] if type(given["scores"]) is dict else {}
        scores = checks.fields(given["scores"], [name for name in METRICS if name in known], "scores")
        return cls(
            checks.one_of(given["method"], tuple(METHODS), "method"),
            checks.words(given["title"], "title"),
            checks.parameters(given["parameters"]),
            {name: checks.number(value, f"the score {name}") for name, value in scores.items()},
            checks.maybe_number(given["spread"], "spread"),
            checks.maybe_number(given["fit_seconds"], "fit_seconds"),
            checks.one_of(given["status"], STATUSES, "status"),
            checks.words(given["note"], "note"),
        )


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
        All that it took, without compiling; NaN if that was not kept.
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

    @classmethod
    def from_dict(cls, content: Any, model: Any = None) -> "Choice":
        """The choice that `to_dict` gave, without a model.

        Parameters
        ----------
        content : dict
            Perhaps from a stranger's file.
        model : estimator, optional
            To go with it.

        Returns
        -------
        Choice

        Raises
        ------
        ValueError
            In one line, if anything is not as `to_dict` makes it.

        Examples
        --------
        >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
        >>> kept = Choice("classification", "log-loss", "5 folds", (trial,), trial, "Alone.", None, 2.0)
        >>> Choice.from_dict(kept.to_dict()) == kept
        True
        """
        given = checks.fields(content, _KEYS, "the choice")
        if given["format"] != FORMAT:
            raise ValueError(f"the choice has the format {given['format']!r}; {FORMAT} can be read")
        task = checks.one_of(given["task"], TASKS, "task")
        fitting = [name for name, metric in METRICS.items() if task in metric.tasks]
        metric = checks.one_of(given["metric"], fitting, "metric")
        trials = tuple(Trial.from_dict(one) for one in checks.entries(given["trials"], "trials"))
        best = Trial.from_dict(given["best"])
        if best not in trials or any(one.counts and metric not in one.scores for one in trials):
            raise ValueError("the best of the choice is none of its trials, or a trial has no score")
        if not best.counts:
            raise ValueError("the best of the choice was not tried to the end")
        took = checks.maybe_number(given["seconds"], "seconds")
        return cls(
            task,
            metric,
            checks.words(given["validation"], "validation"),
            trials,
            trials[trials.index(best)],
            checks.words(given["reason"], "reason"),
            model,
            math.nan if took is None else took,
            checks.maybe_number(given["budget"], "budget"),
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The reason and a table of the trials, in lines of so many characters; what does not fit is left."""
        names = [self.metric, *(name for name in self.best.scores if name != self.metric)]
        ranked = [*self.ranked, *(trial for trial in self.trials if trial.status == "failed")]
        body = [self._row(trial, names) for trial in ranked]
        heads = ["method", "parameters", *names, "seconds", ""]
        # By importance: method, parameters, the score that decides, seconds, notes, other scores.
        order = [0, 1, 2, len(heads) - 2, len(heads) - 1, *range(3, len(heads) - 2)]
        columns = [[heads[place], *(row[place] for row in body)] for place in order]
        kept = sorted(order[number] for number in fitting_columns(columns, (1, 4), width))
        left = [number for number, place in enumerate(kept) if place in (0, 1, len(heads) - 1)]
        lines = [
            f"Chosen by {METRICS[self.metric].title}, {self.validation}: {self.best.words}",
            self.reason,
        ]
        picked = [[row[place] for place in kept] for row in body]
        return format_page(lines, [heads[place] for place in kept], picked, left, width)

    def _row(self, trial: Trial, names: list[str]) -> list[str]:
        scores = [f"{trial.scores[name]:.4g}" if name in trial.scores else "–" for name in names]
        if trial.spread is not None and trial.counts:
            scores[0] += f" ± {trial.spread:.2g}"
        mark = "chosen" if trial is self.best else "" if trial.status == "done" else trial.status
        note = ": ".join(part for part in (mark, trial.note) if part)
        return [trial.title, trial.parameters_in_words, *scores, format_seconds(trial.fit_seconds), note]


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
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """The table, in lines of so many characters; columns that do not fit are left out."""
        names = list(dict.fromkeys(name for row in self.rows for name in row.scores))
        noted = any(row.note for row in self.rows)
        heads = ["method", *names, "fit s", "predict s", *([""] if noted else [])]
        body = []
        for row in self.rows:
            scores = [format_mean(row.scores.get(name)) for name in names]
            times = [format_seconds(row.fit_seconds), format_seconds(row.predict_seconds)]
            body.append([row.title, *scores, *times, *([row.note] if noted else [])])
        first = (
            f"Mean ± standard deviation over {self.folds} folds; seconds are medians, after a fit that "
            "compiled everything."
        )
        # By importance: method, first score, times, notes, other scores.
        n = len(names)
        order = [0, *range(1, min(n, 1) + 1), *range(n + 1, len(heads)), *range(2, n + 1)]
        columns = [[heads[place], *(row[place] for row in body)] for place in order]
        folding = [number for number, place in enumerate(order) if noted and place == len(heads) - 1]
        kept = sorted(order[number] for number in fitting_columns(columns, folding, width))
        left = [number for number, place in enumerate(kept) if place == 0 or place > n + 2]
        picked = [[row[place] for place in kept] for row in body]
        return format_page([first], [heads[place] for place in kept], picked, left, width)


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
