"""Columns that tell the target all by themselves: often it is known only afterwards, or is the target again.

Of an accident's severity, "number of injured" says everything and is known no earlier. A model that has such
a column looks perfect and is useless, so `train` says so.
"""

import shlex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.cli.tables import Problem
from hedgerow.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.selection import take_rows

_COLUMNS = 5  # the most important ones are looked at
_ROWS = 20_000
_DEPTH = 4
_LEFT = 0.03  # of the error of the best constant answer: what a telling column leaves
_LEAST_ROWS = 30  # with fewer, a column tells the target by chance
_COPIES = 0.05  # of the rows held out, from which copies among the others are told
_CONTINUOUS = 0.1  # of the rows: so many different values, and two rows alike are hardly chance


def telling_columns(model: Any, problem: Problem) -> list[str]:
    """A sentence for each important column by which alone the target can be told."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(problem.y) < _LEAST_ROWS:
        return []
    names = problem.X.column_names
    return [
        f"column {names[number]!r} alone predicts {problem.recipe.target!r} almost perfectly: is it known "
        f"before {problem.recipe.target!r} is? If not, leave it out: --drop {shlex.quote(names[number])}"
        for number in np.argsort(importances)[::-1][:_COLUMNS]
        if importances[number] > 0 and _is_telling(problem, names[number])
    ]


def _is_telling(problem: Problem, name: str) -> bool:
    """Whether a small tree on the column leaves at most a tenth of the error of the best constant answer."""
    X = problem.X.select([name])
    rows, test = _some(problem.train), np.concatenate([_some(problem.train), _some(problem.test)])
    y, truth = problem.y[rows], problem.y[test]  # of all rows, for those held out may be few
    if problem.task == "regression":
        tree = DecisionTreeRegressor(max_depth=_DEPTH + 2).fit(take_rows(X, rows), y)
        residual = truth.astype(np.float64) - tree.predict(take_rows(X, test))
        return bool(np.mean(residual**2) <= _LEFT * np.var(truth.astype(np.float64)))
    tree = DecisionTreeClassifier(max_depth=_DEPTH).fit(take_rows(X, rows), y)
    error = np.mean(tree.predict(take_rows(X, test)) != truth)
    chance = 1.0 - np.unique(truth, return_counts=True)[1].max() / len(truth)
    return bool(error <= _LEFT * chance)


def copied_rows(problem: Problem) -> list[str]:
    """A sentence if rows held out are copies of rows that the model sees.

    Rows of categories are often alike by nature; so nothing is said unless some column of numbers has values
    that hardly occur twice.
    """
    if not any(_is_continuous(column) for column in problem.X.columns):
        return []
    marks = _marks(problem)
    copies = int(np.isin(marks[problem.test], marks[problem.train]).sum())
    if copies < max(2, _COPIES * len(problem.test)):
        return []
    words = (
        f"{copies:,} of the {len(problem.test):,} rows held out are copies of rows that the model sees: "
        "unless they are separate observations, scores and certificate are too good; leave the copies out"
    )
    return [words]


def _marks(problem: Problem) -> NDArray[np.uint64]:
    """A number for each row, the same for rows that are alike: the codes of its values, mixed (wrapping)."""
    marks = np.unique(problem.y, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    for column in problem.X.columns:
        encoded = column.dictionary_encode().unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
        marks = (marks ^ (marks >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        marks += codes.astype(np.int64).view(np.uint64)
    return marks


def _is_continuous(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= _CONTINUOUS * len(column))


def _some(rows: Integers) -> Integers:
    """At most so many rows, from all over the file, which may be sorted."""
    return rows[:: -(-len(rows) // _ROWS)]
