"""Compare all methods of the library, and a linear model, on the same folds, with times."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.boosting.callbacks import TimeLimit
from hedgerow.estimators import validation
from hedgerow.members import take_rows
from hedgerow.progress import ProgressCallback
from hedgerow.selection.method_options import MethodOptions
from hedgerow.selection.methods import (
    AUTO_ROUNDS,
    METHODS,
    Method,
    fit_parameters,
    make_model,
    usable_methods,
)
from hedgerow.selection.metrics import METRICS, score_predictions
from hedgerow.selection.predictions import predict_rows
from hedgerow.selection.results import FORMAT, format_metric
from hedgerow.selection.splits import Rows, TrainingData, first_rows, fold_rows
from hedgerow.selection.trials import first_line, fit_warnings
from hedgerow.strict_json import to_plain
from hedgerow.text_table import WIDTH, format_column, format_means, format_page


@dataclass(frozen=True)
class CompareRow:
    """A method in a comparison.

    Parameters
    ----------
    method, title : str
    scores : dict of str to (float, float)
        Mean and standard deviation over the folds; empty if the method was not used.
    fit_seconds, predict_seconds : float or None
        Medians over the folds, without compilation.
    note : str
        Why the method was not used, or its first warning.

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
        """Return the record as numbers, texts, lists and dicts."""
        content: dict[str, Any] = to_plain(self)
        return content


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

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
    Mean ± standard deviation over 5 folds; seconds are medians, without compilation.
    <BLANKLINE>
     method         accuracy   fit s   predict s
     ───────────────────────────────────────────
     one stump   0.80 ± 0.05   0.100       0.010
    """

    task: str
    folds: int
    rows: tuple[CompareRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the record as numbers, texts, lists and dicts."""
        return {"format": FORMAT, **to_plain(self)}

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the table, for a page of `width` characters; columns that do not fit are left out."""
        names = list(dict.fromkeys(name for row in self.rows for name in row.scores))
        noted = any(row.note for row in self.rows)
        heads = ["method", *map(format_metric, names), "fit s", "predict s", *([""] if noted else [])]
        columns = [
            [row.title for row in self.rows],
            *(format_means([row.scores.get(name) for row in self.rows]) for name in names),
            format_column([row.fit_seconds for row in self.rows], 3),
            format_column([row.predict_seconds for row in self.rows], 3),
            *([[row.note for row in self.rows]] if noted else []),
        ]
        rows = list(map(list, zip(*columns, strict=True)))
        first = (
            f"Mean ± standard deviation over {self.folds} folds; seconds are medians, without compilation."
        )
        # By importance: method, first score, times, notes, other scores.
        n = len(names)
        order = [0, *range(1, min(n, 1) + 1), *range(n + 1, len(heads)), *range(2, n + 1)]
        return format_page([first], heads, rows, order, (0, n + 3), width)


def compare(
    X: Any,
    y: Any,
    task: str,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
    options: MethodOptions | None = None,
) -> Comparison:
    """Cross-validate methods, with their defaults, on the same folds.

    Gradient boosting finds its number of rounds within the training rows of a fold; with groups or times it
    has 100 rounds.

    Parameters
    ----------
    X, y, task, n_jobs
        As in `choose`; scores are the same for any number of threads.
    methods : sequence of str, optional
        Names of `METHODS`; all of them by default.
    folds : int
        Number of folds, stratified by class.
    random_state : int, RandomState or None
        Seed of the folds and of the methods.
    progress : callable, optional
        Called as progress(done, total, text) before every fit and at the end.
    options : MethodOptions, optional
        Weights, and groups or times of the rows, which decide the folds; other fields are not used.

    Returns
    -------
    Comparison
        Methods that do not support the target, and those that fail, have a note with the reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare(X, y, "classification", methods=["stump", "linear", "anyboost"])
    >>> for row in comparison.rows:
    ...     print(row.title, row.note or round(row.scores["accuracy"][0], 2))
    one stump 0.67
    logistic regression 0.96
    AnyBoost, logistic cost not used: it is for two classes, and y has 3
    """
    options = options or MethodOptions()
    data = TrainingData.of(X, y, task, "compare")
    data = replace(data, weights=options.weights(data.y, task), order=options.order)
    names = tuple(METHODS) if methods is None else methods
    usable, refused = usable_methods(names, task, data.n_classes, weighted=data.weights is not None)
    seed = validation.make_seed(random_state)
    pairs = fold_rows(data.encoded, task, folds, seed, order=options.order)
    total = len(pairs) * len(usable)

    def report(done: int, text: str) -> None:
        if progress is not None:
            progress(done, total, text)

    rows = []
    for number, method in enumerate(usable):
        first = len(pairs) * number
        rows.append(_cross_validate(method, data, pairs, seed, n_jobs, report, first))
    for method, reason in refused:
        rows.append(CompareRow(method.name, method.title_for(task), note=f"not used: {reason}"))
    report(total, "done")
    return Comparison(task, len(pairs), tuple(rows))


@dataclass(frozen=True)
class _Fold:
    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float


def _cross_validate(
    method: Method,
    data: TrainingData,
    pairs: list[Rows],
    seed: int,
    n_jobs: int | None,
    report: Callable[[int, str], None],
    first_step: int,
) -> CompareRow:
    title = method.title_for(data.task)
    done: list[_Fold] = []
    notes: list[str] = []
    for number, pair in enumerate(pairs):
        report(first_step + number, f"{title}, fold {number + 1} of {len(pairs)}")
        if number == 0:
            warm_up(method, data, n_jobs, {})
        parameters = fit_parameters(method.name, {}, has_order=data.order is not None)
        model = make_model(method.name, data.task, random_state=seed, n_jobs=n_jobs, **parameters)
        try:
            with fit_warnings() as caught:
                done.append(_fit_fold(model, data, pair))
        except Exception as error:  # noqa: BLE001 - other methods may succeed
            return CompareRow(method.name, title, note=f"failed: {first_line(error)}")
        notes += caught
    fit_seconds = float(np.median([fold.fit_seconds for fold in done]))
    predict_seconds = float(np.median([fold.predict_seconds for fold in done]))
    scores = _summary([fold.scores for fold in done])
    return CompareRow(method.name, title, scores, fit_seconds, predict_seconds, notes[0] if notes else "")


def _fit_fold(model: Any, data: TrainingData, pair: Rows) -> _Fold:
    X, X_test = (take_rows(data.X, rows) for rows in pair)
    y, y_test = (data.encoded[rows] for rows in pair)
    start = time.perf_counter()
    model.fit(X, y, **data.weights_of(pair[0]))
    fitted = time.perf_counter()
    predictions = predict_rows(model, X_test, y_test, data.task)
    predicted = time.perf_counter()
    return _Fold(score_predictions(predictions, data.task), fitted - start, predicted - fitted)


def warm_up(method: Method, data: TrainingData, n_jobs: int | None, parameters: Mapping[str, Any]) -> None:
    """Fit and predict a few rows, so that measured times do not include compilation."""
    rows = first_rows(data.encoded, data.task)
    X, y = take_rows(data.X, rows), data.encoded[rows]
    values = fit_parameters(method.name, parameters, has_order=data.order is not None)
    callbacks: dict[str, Any] = {}
    if method.name == "gradient" and values.get("n_estimators", AUTO_ROUNDS) == AUTO_ROUNDS:
        callbacks = {"callbacks": [TimeLimit(1e-6)]}  # the number of rounds would start other kernels
    elif method.rounds != "none":
        values["n_estimators"] = 2
    with suppress(Exception), fit_warnings():  # a method that fails on few rows may succeed on more
        model = make_model(method.name, data.task, n_jobs=n_jobs, **values)
        model.fit(X, y, **callbacks, **data.weights_of(rows, positive=True))
        predict_rows(model, X, y, data.task)


def _summary(scores: list[dict[str, float]]) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of every metric over the folds for which it is defined."""
    summary = {}
    for name in METRICS:
        values = [fold[name] for fold in scores if name in fold]
        if values:
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            summary[name] = (float(np.mean(values)), deviation)
    return summary
