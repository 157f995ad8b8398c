"""The result of `choose`: trials, the best of them, the reason, and the model; printed, stored and read."""

import math
import reprlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hedgerow.selection.methods import AUTO_ROUNDS, METHODS
from hedgerow.selection.metrics import METRICS, Metric, metric_named
from hedgerow.selection.splits import TASKS
from hedgerow.strict_json import JsonChecker
from hedgerow.text_table import (
    WIDTH,
    fitting_columns,
    format_mean,
    format_number,
    format_page,
    format_seconds,
)

FORMAT = 1  # of the dicts
_CHECK = JsonChecker()
_MAX_LENGTH = 10_000  # of texts and lists
STATUSES = ("done", "cut short", "skipped", "failed")
_KEYS = (
    "format",
    "task",
    "metric",
    "validation",
    "trials",
    "best",
    "reason",
    "seconds",
    "budget",
    "threshold",
    "ensemble",
)


@dataclass(frozen=True)
class Trial:
    """A trial: one setting of a method, with its scores.

    Parameters
    ----------
    method, title : str
    parameters : dict
        For `make_model`, with the number of rounds that was found.
    scores : dict of str to float
        Scores of the validation rows by the names of `METRICS`; empty if the trial did not finish.
    spread : float or None
        Standard error, over the validation rows, of the score that ranks the trials.
    fit_seconds : float or None
        Time of all its fits, without compilation.
    status : {"done", "cut short", "skipped", "failed"}
        "cut short": the budget ended it with fewer rounds or members than planned; its scores count.
    note : str
        For example why it was skipped, or how many rounds it had.

    Examples
    --------
    >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
    >>> trial.description
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
    def description(self) -> str:
        """The method and its parameters as text."""
        text = self.parameter_text
        return f"{self.title} ({text})" if text else self.title

    @property
    def parameter_text(self) -> str:
        """The parameters as text; "up to" a number of rounds if validation has not found the number."""
        text = format_parameters(self.method, self.parameters)
        found = self.has_scores or self.parameters.get("n_estimators") in (None, AUTO_ROUNDS)
        return text if found or METHODS[self.method].rounds not in ("loss", "staged") else f"up to {text}"

    @property
    def has_scores(self) -> bool:
        """Whether it has scores."""
        return self.status in ("done", "cut short")

    def to_dict(self) -> dict[str, Any]:
        """Return the record as numbers, texts, lists and dicts."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> "Trial":
        """Read the result of `to_dict`; ValueError, in one line, for other values.

        Examples
        --------
        >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
        >>> Trial.from_dict(trial.to_dict()) == trial
        True
        """
        _CHECK.fields(content, [one.name for one in fields(cls)], "a trial")
        return cls(
            _CHECK.choice(content["method"], tuple(METHODS), "method"),
            _text(content["title"], "title"),
            _parameters(content["parameters"]),
            _scores(content["scores"]),
            _optional_number(content["spread"], "spread"),
            _optional_number(content["fit_seconds"], "fit_seconds"),
            _CHECK.choice(content["status"], STATUSES, "status"),
            _text(content["note"], "note"),
        )


@dataclass(frozen=True)
class Ensemble:
    """The weighted ensemble of trials that was chosen.

    Parameters
    ----------
    members : tuple of int
        Positions of its members in the trials of the choice, the heaviest first.
    weights : tuple of float
        Of sum 1.
    scores : dict of str to float
        Cross-fitted: each part of the validation rows was predicted with weights chosen on the others.
    spread : float
        Standard error of the score that ranks the trials.
    single_score : float
        Of single trials, cross-fitted as well: each part was predicted by the best trial of the others.
    difference, difference_spread : float
        How much better the score of the ensemble is, on the same rows, and the standard error of that.

    Examples
    --------
    >>> found = Ensemble((2, 0), (0.75, 0.25), {"log-loss": 0.28}, 0.02, 0.30, 0.02, 0.004)
    >>> Ensemble.from_dict(found.to_dict(), 3) == found
    True
    """

    members: tuple[int, ...]
    weights: tuple[float, ...]
    scores: dict[str, float]
    spread: float
    single_score: float
    difference: float
    difference_spread: float

    @property
    def title(self) -> str:
        """What it is, as text."""
        return f"weighted ensemble of {len(self.members)} models"

    def to_dict(self) -> dict[str, Any]:
        """Return the record as numbers, texts, lists and dicts."""
        return {**asdict(self), "members": list(self.members), "weights": list(self.weights)}

    @classmethod
    def from_dict(cls, content: Any, n_trials: int) -> "Ensemble":
        """Read the result of `to_dict`; ValueError, in one line, for other values."""
        _CHECK.fields(content, [one.name for one in fields(cls)], "the ensemble")
        members = _CHECK.items(content["members"], "members", max_length=n_trials)
        weights = _CHECK.items(content["weights"], "weights", max_length=n_trials)
        if len(members) < 2 or len(members) != len(weights) or len(set(map(repr, members))) < len(members):
            raise ValueError("an ensemble must have two different members or more, and a weight for each")
        numbers = [_CHECK.number(one, "weights", minimum=0.0) for one in weights]
        if abs(math.fsum(numbers) - 1.0) > 1e-6:
            raise ValueError(f"the weights of an ensemble must have the sum 1; got {math.fsum(numbers)}")
        spread, error = (
            _CHECK.number(content[name], name, minimum=0.0) for name in ("spread", "difference_spread")
        )
        return cls(
            tuple(_CHECK.integer(one, "members", 0, n_trials - 1) for one in members),
            tuple(numbers),
            _scores(content["scores"]),
            spread,
            _CHECK.number(content["single_score"], "single_score"),
            _CHECK.number(content["difference"], "difference"),
            error,
        )


@dataclass(frozen=True)
class Choice:
    """The result of `choose`.

    Parameters
    ----------
    task, metric : str
    validation : str
        How the trials were validated.
    trials : tuple of Trial
        In the order in which they were run.
    best : Trial
        The best single one.
    reason : str
        Why it is the best, whether the runner-up is within noise, what was skipped and what a larger budget
        would try.
    model : estimator
        Fitted to all rows with the parameters of `best`; or the weighted ensemble of the members.
    seconds : float
        Total time without compilation; NaN if it was not stored.
    budget : float or None
    threshold : float or None
        The decision threshold, if one was requested.
    ensemble : Ensemble or None
        None if the model is a single one.
    fit_seconds : float
        Time of the final fits alone; NaN if it was not stored.

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
    threshold: float | None = None
    ensemble: Ensemble | None = None
    fit_seconds: float = field(default=math.nan, compare=False)

    @property
    def members(self) -> list[tuple[Trial, float]]:
        """The trials that the model consists of, with their weights, the heaviest first."""
        if self.ensemble is None:
            return [(self.best, 1.0)]
        pairs = zip(self.ensemble.members, self.ensemble.weights, strict=True)
        return [(self.trials[number], weight) for number, weight in pairs]

    @property
    def ranked(self) -> list[Trial]:
        """The trials with scores, the best first."""
        metric = self.ranking_metric
        return sorted(
            (trial for trial in self.trials if trial.has_scores),
            key=lambda trial: metric.loss(trial.scores[self.metric]),
        )

    @property
    def ranking_metric(self) -> Metric:
        """The metric that ranks the trials."""
        metric = metric_named(self.metric)
        assert metric is not None  # noqa: S101 - `choose` and `from_dict` check the name
        return metric

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the model as numbers, texts, lists and dicts."""
        content = {"format": FORMAT, **{name: getattr(self, name) for name in _KEYS[1:]}}
        trials = [trial.to_dict() for trial in self.trials]
        ensemble = self.ensemble and self.ensemble.to_dict()
        return {**content, "trials": trials, "best": self.best.to_dict(), "ensemble": ensemble}

    @classmethod
    def from_dict(cls, content: Any, model: Any = None) -> "Choice":
        """Read the result of `to_dict`, possibly from an untrusted file; ValueError, in one line, for others.

        Examples
        --------
        >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
        >>> kept = Choice("classification", "log-loss", "5 folds", (trial,), trial, "Alone.", None, 2.0)
        >>> Choice.from_dict(kept.to_dict()) == kept
        True
        """
        _CHECK.fields(content, _KEYS, "the choice")
        if content["format"] != FORMAT:
            raise ValueError(f"the choice has the format {content['format']!r}; {FORMAT} can be read")
        task = _CHECK.choice(content["task"], TASKS, "task")
        metric = _text(content["metric"], "metric")
        found = metric_named(metric)
        if found is None or task not in found.tasks:
            allowed = [name for name, one in METRICS.items() if task in one.tasks]
            _CHECK.choice(metric, allowed, "metric")
        entries = _CHECK.items(content["trials"], "trials", max_length=_MAX_LENGTH)
        trials, best = tuple(map(Trial.from_dict, entries)), Trial.from_dict(content["best"])
        if best not in trials or any(one.has_scores and metric not in one.scores for one in trials):
            raise ValueError("the best trial of the choice is not among its trials, or a trial has no score")
        if not best.has_scores:
            raise ValueError("the best trial of the choice did not finish")
        ensemble = content["ensemble"]
        if ensemble is not None:
            ensemble = Ensemble.from_dict(ensemble, len(trials))
            if metric not in ensemble.scores or not all(trials[one].has_scores for one in ensemble.members):
                raise ValueError("the ensemble of the choice has no score, or a member without one")
        seconds = _optional_number(content["seconds"], "seconds")
        return cls(
            task,
            metric,
            _text(content["validation"], "validation"),
            trials,
            trials[trials.index(best)],
            _text(content["reason"], "reason"),
            model,
            math.nan if seconds is None else seconds,
            _optional_number(content["budget"], "budget"),
            _optional_number(content["threshold"], "threshold"),
            ensemble,
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the reason and a table of the trials, for a page of `width` characters."""
        names = [self.metric, *(name for name in self.best.scores if name != self.metric)]
        ranked = [*self.ranked, *(trial for trial in self.trials if trial.status == "failed")]
        heads = ["method", "parameters", *names, "seconds", ""]
        last = len(heads) - 1
        # By importance: method, parameters, the score that ranks, seconds, notes, other scores.
        order = [0, 1, 2, last - 1, last, *range(3, last - 1)]
        what = self.best.description if self.ensemble is None else self.ensemble.title
        chosen = f"Chosen by {self.ranking_metric.title}, {self.validation}: {what}"
        rows = [self._row(trial, names) for trial in ranked]
        if self.ensemble is not None:
            rows.insert(0, self._ensemble_row(self.ensemble, names))
        return format_columns([chosen, self.reason], heads, rows, order, (0, 1, last), width)

    def mark(self, trial: Trial) -> str:
        """Return "chosen", the weight in the ensemble, or the status of a trial that is not done."""
        weight = next((weight for member, weight in self.members if member is trial), None)
        if weight is not None:
            return "chosen" if self.ensemble is None else f"weight {weight:.2g}"
        return "" if trial.status == "done" else trial.status

    def _ensemble_row(self, ensemble: Ensemble, names: list[str]) -> list[str]:
        scores = [format_number(ensemble.scores[name]) if name in ensemble.scores else "–" for name in names]
        scores[0] = format_mean((ensemble.scores[names[0]], ensemble.spread))
        seconds = sum(trial.fit_seconds or 0.0 for trial, _ in self.members)
        return [ensemble.title, "the models with weights", *scores, format_seconds(seconds or None), "chosen"]

    def _row(self, trial: Trial, names: list[str]) -> list[str]:
        scores = [format_number(trial.scores[name]) if name in trial.scores else "–" for name in names]
        if trial.spread is not None and trial.has_scores:
            scores[0] = format_mean((trial.scores[names[0]], trial.spread))
        note = ": ".join(text for text in (self.mark(trial), trial.note) if text)
        return [trial.title, trial.parameter_text, *scores, format_seconds(trial.fit_seconds), note]


# --- checks of a choice from a file


def _text(value: Any, what: str) -> str:
    return _CHECK.text(value, what, printable=True, max_length=_MAX_LENGTH)


def _scores(content: Any) -> dict[str, float]:
    """Check a dict of names of metrics with numbers."""
    scores = content if type(content) is dict else {}
    _CHECK.fields(content, [name for name in scores if metric_named(str(name))], "scores")
    return {name: _CHECK.number(value, f"the score {name}") for name, value in scores.items()}


def _optional_number(value: Any, what: str) -> float | None:
    return None if value is None else _CHECK.number(value, what, minimum=0.0)


def _parameters(value: Any) -> dict[str, Any]:
    """Check a dict of names with numbers, texts, booleans or None."""
    if type(value) is not dict or len(value) > 100:
        raise ValueError(f"parameters must be a dict; got {reprlib.repr(value)}")
    for name, one in value.items():
        _text(name, "the name of a parameter")
        if type(one) is str:
            _text(one, f"the parameter {name}")
        elif type(one) in (int, float):
            _CHECK.number(one, f"the parameter {name}")
        elif one is not None and type(one) is not bool:
            raise ValueError(f"the parameter {name} must be a number or a text; got {reprlib.repr(one)}")
    return dict(value)


# --- text


def format_columns(
    paragraphs: list[str],
    heads: list[str],
    rows: list[list[str]],
    order: list[int],
    text: tuple[int, ...],
    width: int,
) -> str:
    """Format the columns that fit a page; `order` lists them by importance, `text` names the text columns."""
    columns = [[heads[column], *(row[column] for row in rows)] for column in order]
    wrapped = [number for number, column in enumerate(order) if column in text and column > 0]
    kept = sorted(order[number] for number in fitting_columns(columns, wrapped, width))
    left = [number for number, column in enumerate(kept) if column in text]
    body = [[row[column] for column in kept] for row in rows]
    return format_page(paragraphs, [heads[column] for column in kept], body, left, width)


_COUNTED = {"gradient": "rounds", "forest": "trees", "extra-trees": "trees", "bagging": "trees"}
_FORMATS = {
    "learning_rate": "learning rate {}",
    "max_leaf_nodes": "{} leaves",
    "max_depth": "depth {}",
    "min_samples_leaf": "at least {} rows per leaf",
    "max_features": "{} of the columns",
    "subsample": "{} of the rows per round",
    "max_samples": "{} of the rows",
    "colsample_bytree": "{} of the columns per tree",
    "l2_regularization": "penalty {}",
    "algorithm": "{}",
    "loss": "{} loss",
}


def format_parameters(method: str, parameters: dict[str, Any]) -> str:
    """Format parameters as text.

    Examples
    --------
    >>> format_parameters("gradient", {"n_estimators": 137, "learning_rate": 0.1, "max_leaf_nodes": 31})
    '137 rounds, learning rate 0.1, 31 leaves'
    """
    texts = []
    for name, value in parameters.items():
        if name == "n_estimators" and value == AUTO_ROUNDS:
            texts.append("automatic sizes")
        elif name == "n_estimators":
            unit = _COUNTED.get(method, "rounds")
            texts.append(f"{value} {unit[:-1] if value == 1 else unit}")
        elif value == AUTO_ROUNDS:
            continue
        elif name == "max_depth" and value in (1, None):
            texts.append("stumps" if value == 1 else "any depth")
        else:
            texts.append(_FORMATS.get(name, f"{name}={{}}").format(value))
    return ", ".join(texts)
