"""The result of `choose`: trials, the best of them, the reason, and the model; printed, stored and read."""

import math
import reprlib
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from hedgerow.selection.methods import AUTO_ROUNDS, METHODS
from hedgerow.selection.metrics import METRICS, Metric, metric_named
from hedgerow.selection.splits import TASKS
from hedgerow.strict_json import JsonChecker, Limits, StoredRecord, strings, to_plain
from hedgerow.text_table import WIDTH, format_column, format_means, format_page

FORMAT = 1  # of the dicts
_CHECK = JsonChecker()
_MAX_LENGTH = 10_000  # of texts and lists
_MAX_BYTES = 100_000  # of the parameters of a trial
STATUSES = ("done", "cut short", "skipped", "failed")
Text = Annotated[str, Limits(printable=True, max_length=_MAX_LENGTH)]
NotNegative = Annotated[float, Limits(0.0)]


@dataclass(frozen=True)
class Trial(StoredRecord):
    """A trial: one setting of a method, with its scores.

    Parameters
    ----------
    method, title : str
    parameters : dict
        Parameters for `make_model`, with the number of rounds that was found.
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
    >>> Trial.from_dict(trial.to_dict()) == trial
    True
    """

    method: Annotated[str, Limits(choices=tuple(METHODS))]
    title: Text
    parameters: dict[str, Any]
    scores: dict[str, float] = field(default_factory=dict)
    spread: NotNegative | None = None
    fit_seconds: NotNegative | None = None
    status: Annotated[str, Limits(choices=STATUSES)] = "done"
    note: Text = ""

    @property
    def description(self) -> str:
        """The method and its parameters as text."""
        text = self.parameter_text
        return f"{self.title} ({text})" if text else self.title

    @property
    def parameter_text(self) -> str:
        """The parameters as text; "up to" a number of rounds if validation has not found the number."""
        text = format_parameters(self.method, self.parameters)
        is_final = self.has_scores or self.parameters.get("n_estimators") in (None, AUTO_ROUNDS)
        return text if is_final or METHODS[self.method].rounds not in ("loss", "staged") else f"up to {text}"

    @property
    def has_scores(self) -> bool:
        """Whether it has scores."""
        return self.status in ("done", "cut short")

    def check_stored(self) -> None:
        """Raise ValueError for names of metrics or values of parameters that no trial has."""
        _check_metrics(self.scores)
        _check_parameters(self.parameters)


@dataclass(frozen=True)
class Ensemble(StoredRecord):
    """The weighted ensemble of trials that was chosen.

    Parameters
    ----------
    members : tuple of int
        Positions of its members in the trials of the choice, the heaviest first.
    weights : tuple of float
        Weights of the members; their sum is 1.
    scores : dict of str to float
        Cross-fitted: each fold of the validation rows was predicted with weights chosen on the others.
    spread : float
        Standard error of the score that ranks the trials.
    single_score : float
        Cross-fitted score of single trials: each fold was predicted by the best trial of the others.
    difference, difference_spread : float
        Advantage of the score of the ensemble on the same rows, and its standard error.

    Examples
    --------
    >>> ensemble = Ensemble((2, 0), (0.75, 0.25), {"log-loss": 0.28}, 0.02, 0.30, 0.02, 0.004)
    >>> Ensemble.from_dict(ensemble.to_dict()) == ensemble
    True
    """

    members: Annotated[tuple[int, ...], Limits(0, max_length=_MAX_LENGTH)]
    weights: Annotated[tuple[float, ...], Limits(0.0, max_length=_MAX_LENGTH)]
    scores: dict[str, float]
    spread: NotNegative
    single_score: float
    difference: float
    difference_spread: NotNegative

    @property
    def title(self) -> str:
        """A description."""
        return f"weighted ensemble of {len(self.members)} models"

    def check_stored(self) -> None:
        """Raise ValueError for members and weights that no ensemble has."""
        _check_metrics(self.scores)
        n = len(self.members)
        if n < 2 or n != len(self.weights) or len(set(self.members)) < n:
            raise ValueError("an ensemble must have two different members or more, and a weight for each")
        total = math.fsum(self.weights)
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the weights of an ensemble must have the sum 1; got {total}")


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
        The best single trial.
    reason : str
        Why it is the best, how far the runner-up is behind, what was skipped and what a larger budget
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

    task: Annotated[str, Limits(choices=TASKS)]
    metric: Text
    validation: Text
    trials: Annotated[tuple[Trial, ...], Limits(max_length=_MAX_LENGTH)]
    best: Trial
    reason: Text
    model: Any
    seconds: float
    budget: NotNegative | None = None
    threshold: NotNegative | None = None
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
        fields = {name: to_plain(getattr(self, name)) for name in _FIELDS}
        return {"format": FORMAT, **fields}

    @classmethod
    def from_dict(cls, content: Any, model: Any = None) -> "Choice":
        """Read the result of `to_dict`, possibly from an untrusted file; ValueError, in one line, for others.

        Examples
        --------
        >>> trial = Trial("forest", "random forest", {"n_estimators": 200}, {"log-loss": 0.3})
        >>> choice = Choice("classification", "log-loss", "5 folds", (trial,), trial, "Alone.", None, 2.0)
        >>> Choice.from_dict(choice.to_dict()) == choice
        True
        """
        _CHECK.fields(content, ("format", *_FIELDS), "the choice")
        if content["format"] != FORMAT:
            raise ValueError(f"the choice has the format {content['format']!r}; {FORMAT} can be read")
        seconds = content["seconds"]
        found = {name: content[name] for name in _FIELDS if name != "seconds"}
        seconds = math.nan if seconds is None else _CHECK.number(seconds, "seconds", minimum=0.0)
        choice = _CHECK.read(cls, found, "the choice", model=model, seconds=seconds, fit_seconds=math.nan)
        return replace(choice, best=choice.trials[choice.trials.index(choice.best)])

    def check_stored(self) -> None:
        """Raise ValueError if the parts of a choice that was read contradict each other."""
        found = metric_named(self.metric)
        if found is None or self.task not in found.tasks:
            allowed = [name for name, one in METRICS.items() if self.task in one.tasks]
            _CHECK.choice(self.metric, allowed, "metric")
        if self.best not in self.trials or any(
            one.has_scores and self.metric not in one.scores for one in self.trials
        ):
            raise ValueError("the best trial of the choice is not among its trials, or a trial has no score")
        if not self.best.has_scores:
            raise ValueError("the best trial of the choice did not finish")
        if self.ensemble is None:
            return
        members = [self.trials[one] for one in self.ensemble.members if one < len(self.trials)]
        if len(members) < len(self.ensemble.members):
            raise ValueError(
                f"the members of the ensemble are {self.ensemble.members}, and the choice has "
                f"{len(self.trials)} trials"
            )
        if self.metric not in self.ensemble.scores or not all(one.has_scores for one in members):
            raise ValueError("the ensemble of the choice has no score, or a member without one")

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the reason and a table of the trials, for a page of `width` characters."""
        names = [self.metric, *(name for name in self.best.scores if name != self.metric)]
        ranked = [*self.ranked, *(trial for trial in self.trials if trial.status == "failed")]
        heads = ["method", "parameters", *map(format_metric, names), "seconds", ""]
        last = len(heads) - 1
        # By importance: method, parameters, the score that ranks, seconds, notes, other scores.
        order = [0, 1, 2, last - 1, last, *range(3, last - 1)]
        what = self.best.description if self.ensemble is None else self.ensemble.title
        chosen = f"Chosen by {self.ranking_metric.title}, {self.validation}: {what}"
        entries: list[Any] = ranked if self.ensemble is None else [self.ensemble, *ranked]
        scores = [self.format_scores(entries, name) for name in names]
        about = [self.describe(one) for one in entries]
        seconds = format_column([one[2] for one in about], 3)
        rows = [[one[0], one[1], *texts, one[3]] for one, *texts in zip(about, *scores, seconds, strict=True)]
        return format_page([chosen, self.reason], heads, rows, order, (0, 1, last), width)

    def mark(self, trial: Trial) -> str:
        """Return "chosen", the weight in the ensemble, or the status of a trial that is not done."""
        weight = next((weight for member, weight in self.members if member is trial), None)
        if weight is not None:
            return "chosen" if self.ensemble is None else f"weight {weight:.2g}"
        return "" if trial.status == "done" else trial.status

    def format_scores(self, entries: list[Any], name: str) -> list[str]:
        """Format a score of trials, with standard errors if it ranks them."""
        values = [one.scores.get(name) for one in entries]
        if name != self.metric:
            return format_column(values)
        pairs = zip(values, entries, strict=True)
        return format_means([None if value is None else (value, one.spread or 0.0) for value, one in pairs])

    def describe(self, one: Any) -> tuple[str, str, float | None, str]:
        """Return title, parameters, seconds and note of a trial or the ensemble."""
        if isinstance(one, Ensemble):
            seconds = sum(trial.fit_seconds or 0.0 for trial, _ in self.members)
            return one.title, "the models with weights", seconds or None, "chosen"
        note = ": ".join(text for text in (self.mark(one), one.note) if text)
        return one.title, one.parameter_text, one.fit_seconds, note


# --- checks of a choice from a file

# The fields of a choice that are stored.
_FIELDS = tuple(one.name for one in fields(Choice) if one.name not in ("model", "fit_seconds"))


def _check_metrics(scores: dict[str, float]) -> None:
    for name in scores:
        if metric_named(name) is None:
            raise ValueError(f"the scores have {reprlib.repr(name)}, which is not the name of a metric")


def _check_parameters(parameters: dict[str, Any]) -> None:
    """Check that parameters are JSON values, such as {"monotonic_cst": {"age": 1}}, with printable texts."""
    _CHECK.plain(parameters, "parameters", max_depth=4, max_bytes=_MAX_BYTES, exact=True)
    for path, text in strings(parameters):
        _CHECK.text(text, f"the parameter {path}", printable=True, max_length=_MAX_LENGTH)


# --- text


def format_metric(name: str) -> str:
    """Return the head of a column of scores.

    >>> format_metric("r2"), format_metric("log-loss")
    ('R²', 'log-loss')
    """
    return "R²" if name == "r2" else name


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
    "max_categories_for_sets": "target statistics for more than {} categories",
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
