"""Leaks: columns that alone predict the target, and test rows that are copies of training rows.

The "number of injured" determines the severity of an accident, but is not known earlier. A model with such a
column looks perfect and is useless, so `train` warns of it.
"""

import shlex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.cli.prepared_table import PreparedTable
from hedgerow.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.selection import take_rows

_COLUMNS = 5  # number of the most important columns that are examined
_ROWS = 20_000
_DEPTH = 4
_REMAINING_ERROR = 0.03  # of the error of the best constant prediction, at most, if a column leaks the target
_MIN_ROWS = 30  # with fewer, a column predicts the target by chance
_COPIES = 0.05  # share of the test rows from which copies are reported
_CONTINUOUS = 0.1  # distinct values per row, from which equal rows are hardly chance


def find_leaks(model: Any, table: PreparedTable) -> list[str]:
    """Return a warning for every leak."""
    return leaking_columns(model, table) + copied_rows(table)


def leaking_columns(model: Any, table: PreparedTable) -> list[str]:
    """Return a warning for each important column that alone predicts the target."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(table.y) < _MIN_ROWS:
        return []
    names = table.X.column_names
    return [
        f"column {names[number]!r} alone predicts {table.recipe.target!r} almost perfectly: is it known "
        f"before {table.recipe.target!r} is? If not, leave it out: --drop {shlex.quote(names[number])}"
        for number in np.argsort(importances)[::-1][:_COLUMNS]
        if importances[number] > 0 and _is_leaking(table, names[number])
    ]


def _is_leaking(table: PreparedTable, name: str) -> bool:
    """Return whether a small tree on the column leaves at most 3 % of the error of a constant prediction."""
    X = table.X.select([name])
    rows, test = _some(table.train), np.concatenate([_some(table.train), _some(table.test)])
    y, y_true = table.y[rows], table.y[test]  # also training rows, because test rows may be few
    if table.task == "regression":
        tree = DecisionTreeRegressor(max_depth=_DEPTH + 2).fit(take_rows(X, rows), y)
        residual = y_true.astype(np.float64) - tree.predict(take_rows(X, test))
        return bool(np.mean(residual**2) <= _REMAINING_ERROR * np.var(y_true.astype(np.float64)))
    tree = DecisionTreeClassifier(max_depth=_DEPTH).fit(take_rows(X, rows), y)
    error = np.mean(tree.predict(take_rows(X, test)) != y_true)
    constant_error = 1.0 - np.unique(y_true, return_counts=True)[1].max() / len(y_true)
    return bool(error <= _REMAINING_ERROR * constant_error)


def copied_rows(table: PreparedTable) -> list[str]:
    """Return a warning if test rows are copies of training rows.

    Rows of categories are often equal by chance; so there is no warning unless a column of numbers has values
    that rarely occur twice.
    """
    if not any(_is_continuous(column) for column in table.X.columns):
        return []
    keys = _row_keys(table)
    copies = int(np.isin(keys[table.test], keys[table.train]).sum())
    if copies < max(2, _COPIES * len(table.test)):
        return []
    warning = (
        f"{copies:,} of the {len(table.test):,} held-out rows are copies of training rows: unless they are "
        "separate observations, scores and certificate are too optimistic; remove the copies"
    )
    return [warning]


def _row_keys(table: PreparedTable) -> NDArray[np.uint64]:
    """Return a hash for each row: the codes of its values, mixed modulo 2**64."""
    keys = np.unique(table.y, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    for column in table.X.columns:
        encoded = column.dictionary_encode().unify_dictionaries()
        codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        keys += codes.astype(np.int64).view(np.uint64)
    return keys


def _is_continuous(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= _CONTINUOUS * len(column))


def _some(rows: Integers) -> Integers:
    """Return at most `_ROWS` rows, evenly spaced because the file may be sorted."""
    return rows[:: -(-len(rows) // _ROWS)]
