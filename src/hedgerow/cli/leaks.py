"""Columns that tell the target all by themselves: often it is known only afterwards, or is the target again.

Of an accident's severity, "number of injured" says everything and is known no earlier. A model that has such
a column looks perfect and is useless, so `train` says so.
"""

from typing import Any

import numpy as np

from hedgerow.cli.tables import Problem, Rows
from hedgerow.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.selection import take_rows

_COLUMNS = 5  # the most important ones are looked at
_ROWS = 20_000
_DEPTH = 4
_LEFT = 0.1  # of the error of the best constant answer: what a telling column leaves


def telling_columns(model: Any, problem: Problem) -> list[str]:
    """A sentence for each important column by which alone the target can be told."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None:
        return []
    names = problem.X.column_names
    return [
        f"column {names[number]!r} alone predicts {problem.recipe.target!r} almost perfectly: is it known "
        f"before {problem.recipe.target!r} is? If not, leave it out: --drop {names[number]}"
        for number in np.argsort(importances)[::-1][:_COLUMNS]
        if importances[number] > 0 and _is_telling(problem, names[number])
    ]


def _is_telling(problem: Problem, name: str) -> bool:
    """Whether a small tree on the column leaves at most a tenth of the error of the best constant answer."""
    X = problem.X.select([name])
    rows, test = _some(problem.train), _some(problem.test)
    y, truth = problem.y[rows], problem.y[test]
    if problem.task == "regression":
        tree = DecisionTreeRegressor(max_depth=_DEPTH + 2).fit(take_rows(X, rows), y)
        residual = truth.astype(np.float64) - tree.predict(take_rows(X, test))
        return bool(np.mean(residual**2) <= _LEFT * np.var(truth.astype(np.float64)))
    tree = DecisionTreeClassifier(max_depth=_DEPTH).fit(take_rows(X, rows), y)
    error = np.mean(tree.predict(take_rows(X, test)) != truth)
    chance = 1.0 - np.unique(truth, return_counts=True)[1].max() / len(truth)
    return bool(error <= _LEFT * chance)


def _some(rows: Rows) -> Rows:
    """At most so many rows, from all over the file, which may be sorted."""
    return rows[:: -(-len(rows) // _ROWS)]
