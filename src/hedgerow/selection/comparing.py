"""Comparing: every method of the library and a linear model on the same folds, with times."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.estimators import inputs
from hedgerow.selection.given import Given
from hedgerow.selection.methods import METHODS, Method, make_model
from hedgerow.selection.metrics import METRICS, answers_of, score_answers
from hedgerow.selection.results import CompareRow, Comparison
from hedgerow.selection.splits import Rows, first_rows, fold_rows, take_rows
from hedgerow.selection.trying import Told, first_line, heard


def compare(
    X: Any,
    y: Any,
    task: str,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    told: Told | None = None,
) -> Comparison:
    """Cross-validate methods with their defaults on the same folds.

    Parameters
    ----------
    X : array, data frame, Arrow table or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    task : {"classification", "regression"}
    methods : sequence of str, optional
        Names of `METHODS`; all of them by default.
    folds : int
        Each has the same share of every class, as far as that is possible.
    random_state : int, RandomState or None
        Of the folds and of the methods.
    n_jobs : int or None
        Threads of the fits; None for all cores. Scores are the same for any number.
    told : callable, optional
        Called as told(done, total, words) before every fit and at the end.

    Returns
    -------
    Comparison
        Methods that are not made for such a target, and those that fail, have a note that says why.

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
    given = Given.of(X, y, task, "compare")
    usable, refused = given.methods(tuple(METHODS) if methods is None else methods)
    seed = inputs.read_seed(random_state)
    pairs = fold_rows(given.numbers, task, folds, seed)
    total = len(pairs) * len(usable)
    rows = {
        method.name: _compared(method, given, pairs, seed, n_jobs, _Teller(told, len(pairs) * place, total))
        for place, method in enumerate(usable)
    }
    for method, reason in refused:
        rows[method.name] = CompareRow(method.name, method.title_of(task), note=f"not used: {reason}")
    _Teller(told, total, total)(0, "done")
    return Comparison(task, len(pairs), tuple(rows.values()))


@dataclass(frozen=True)
class _Teller:
    told: Told | None
    before: int
    total: int

    def __call__(self, done: int, words: str) -> None:
        if self.told is not None:
            self.told(self.before + done, self.total, words)


@dataclass(frozen=True)
class _Fold:
    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float


def _compared(
    method: Method, given: Given, pairs: list[Rows], seed: int, n_jobs: int | None, tell: _Teller
) -> CompareRow:
    title = method.title_of(given.task)
    done: list[_Fold] = []
    notes: list[str] = []
    for number, pair in enumerate(pairs):
        tell(number, f"{title}, fold {number + 1} of {len(pairs)}")
        if number == 0:
            _warm_up(method, given, n_jobs)
        model = make_model(method.name, given.task, random_state=seed, n_jobs=n_jobs)
        try:
            with heard() as now:
                done.append(_measured(model, given, pair))
        except Exception as error:  # noqa: BLE001 - whatever a method cannot do, others can
            return CompareRow(method.name, title, note=f"failed: {first_line(error)}")
        notes += now
    fit_seconds = float(np.median([fold.fit_seconds for fold in done]))
    predict_seconds = float(np.median([fold.predict_seconds for fold in done]))
    scores = _summary([fold.scores for fold in done])
    return CompareRow(method.name, title, scores, fit_seconds, predict_seconds, notes[0] if notes else "")


def _measured(model: Any, given: Given, pair: Rows) -> _Fold:
    (X, X_test), (y, y_test) = (
        [take_rows(given.X, rows) for rows in pair],
        [given.numbers[rows] for rows in pair],
    )
    began = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    answers = answers_of(model, X_test, y_test, given.task)
    asked = time.perf_counter()
    return _Fold(score_answers(answers, given.task), fitted - began, asked - fitted)


def _warm_up(method: Method, given: Given, n_jobs: int | None) -> None:
    """Fit and ask once on a few rows, so that no time measured is one of compiling."""
    rows = first_rows(given.numbers, given.task)
    X, y = take_rows(given.X, rows), given.numbers[rows]
    few = {"n_estimators": 2} if method.rounds != "none" else {}
    with suppress(Exception), heard():  # what cannot be done with so few rows may be possible with more
        model = make_model(method.name, given.task, n_jobs=n_jobs, **few).fit(X, y)
        answers_of(model, X, y, given.task)


def _summary(scores: list[dict[str, float]]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of every metric over the folds in which it has a meaning."""
    summary = {}
    for name in METRICS:
        values = [fold[name] for fold in scores if name in fold]
        if values:
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            summary[name] = (float(np.mean(values)), deviation)
    return summary
