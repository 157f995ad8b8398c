"""Partial dependence computed: what a model says on average if a column had another value in every row.

A grid is a list of rows of the sample that hold the values wanted, so that values of any kind can be put into
any table (see `columns`); a row where the column is missing stands for "missing".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.plots import columns, labels, style

MOST_CLASSES = 5
_MOST_CATEGORIES = 12
_ENDS = (0.01, 0.99)  # quantiles between which a number is drawn: beyond are few rows


@dataclass(frozen=True, eq=False)
class Dependence:
    """What the predictions depend on in one column.

    Parameters
    ----------
    name : str
        Of the column.
    values : float64 array of shape (points,)
        Where it was looked at; of categories 0, 1, 2, ...
    categories : list of str, or None
        Of a categorical column, their names; None for numbers.
    means : float64 array of shape (outputs, points)
    missing : float64 array of shape (outputs,) or None
        The means where the column is missing; None if it never is.
    single : float64 array of shape (outputs, points, n_samples)
        The predictions that the means are of.
    deciles : float64 array of shape (9,) or empty
        Of a numeric column.
    n_categories : int
        How many there are, drawn or not.
    pair : list of str, or None
        Of numbers or truth values of which there are two at the most, their names: between them is nothing.
    """

    name: str
    values: Floats
    categories: list[str] | None
    means: Floats
    missing: Floats | None
    single: Floats
    deciles: Floats
    n_categories: int = 0
    pair: list[str] | None = None

    @property
    def dots(self) -> list[str] | None:
        """Names of the values, if they are single ones and not points of a line."""
        return self.pair if self.categories is None else self.categories

    @property
    def spread(self) -> float:
        """Highest mean less lowest, of the output where that is most."""
        return float(np.ptp(self.means, axis=1).max())


def predictor(model: Any, target: Any) -> tuple[Callable[[Any], Floats], list[str], str]:
    """What gives (outputs, n_rows) of a table; names of the outputs if several; what they are, in words."""
    check_is_fitted(model)
    classes = None if not hasattr(model, "classes_") else np.asarray(model.classes_).tolist()
    if classes is None:
        if target is not None:
            raise ValueError(f"target={target!r} is not allowed: {type(model).__name__} has no classes")
        return lambda X: np.asarray(model.predict(X), dtype=np.float64).reshape(1, -1), [], "mean prediction"
    if target is not None and target not in classes:
        raise ValueError(f"target={target!r} is not allowed: it must be None or one of {classes[:10]}")
    if target is None and len(classes) == 2:
        target = classes[1]
    has_proba = hasattr(model, "predict_proba")
    wanted = list(range(len(classes))) if target is None else [classes.index(target)]
    words = "mean probability" if has_proba else "share of rows called so"
    words += "" if target is None else f" of class {labels.short(style.label(target), 24)}"

    def ask(X: Any) -> Floats:
        if has_proba:
            return np.asarray(model.predict_proba(X), dtype=np.float64).T[wanted]
        called = np.asarray(model.predict(X))
        return np.array([called == classes[number] for number in wanted], dtype=np.float64)

    return ask, [] if len(wanted) == 1 else [style.label(name) for name in classes], words


def top_columns(model: Any, ask: Callable[[Any], Floats], table: Any, most: int, seed: int) -> list[int]:
    """The most important columns: by `feature_importances_`, else by how much shuffling moves predictions."""
    found = getattr(model, "feature_importances_", None)
    if found is None or len(found) != table.shape[1]:
        before = ask(columns.native(table))
        found = np.empty(table.shape[1])
        for column in range(table.shape[1]):
            shuffled = np.random.default_rng((seed, column)).permutation(table.shape[0]).astype(np.int64)
            after = ask(columns.native(columns.with_column_from(table, column, shuffled)))
            found[column] = np.abs(after - before).mean()
    order = np.argsort(-np.asarray(found), kind="stable")[:most].tolist()
    kept = [int(column) for column in order if found[column] > 0]
    if not kept:
        raise ValueError("no column has any influence on the predictions: there is nothing to draw")
    return kept


def dependence(
    ask: Callable[[Any], Floats],
    table: Any,
    column: int,
    known: tuple[str, Floats, NDArray[Any] | None],
    n_points: int,
) -> Dependence:
    """Put every value of a grid into all rows of a column, and take the means of what the model says.

    `known` are the column's name, its numbers with NaN for missing, and its categories or None.
    """
    name, numbers, categories = known
    is_missing = np.isnan(numbers)
    grid = _number_grid(numbers, n_points) if categories is None else _category_grid(numbers)
    rows = np.append(grid, np.flatnonzero(is_missing)[:1]).astype(np.int64)
    n_rows = table.shape[0]
    many = columns.take(table, np.tile(np.arange(n_rows), len(rows)))
    # the copy of the table number g has the value of row rows[g], which is in its own place there
    sources = np.repeat(np.arange(len(rows)) * n_rows + rows, n_rows)
    said = ask(columns.native(columns.with_column_from(many, column, sources)))
    single = said.reshape(len(said), len(rows), n_rows)
    means = single.mean(axis=2)
    n_grid = len(grid)
    present = numbers[~is_missing & np.isfinite(numbers)]
    has_deciles = categories is None and present.size
    return Dependence(
        name=name,
        values=numbers[grid] if categories is None else np.arange(n_grid, dtype=np.float64),
        categories=None
        if categories is None
        else [style.label(categories[int(numbers[row])]) for row in grid],
        means=means[:, :n_grid],
        missing=means[:, n_grid] if is_missing.any() else None,
        single=single[:, :n_grid],
        deciles=np.quantile(present, np.arange(0.1, 0.91, 0.1)) if has_deciles else np.empty(0),
        n_categories=0 if categories is None else len(np.unique(present)),
        pair=_pair(np.unique(present), is_boolean=columns.is_boolean(table, column))
        if categories is None
        else None,
    )


def _pair(distinct: Floats, *, is_boolean: bool) -> list[str] | None:
    """Names of two values at the most, None for more.

    >>> _pair(np.array([0.0, 1.0]), is_boolean=True), _pair(np.array([-1.0, 2.5]), is_boolean=False)
    (['false', 'true'], ['−1', '2.5'])
    """
    if len(distinct) > 2:
        return None
    return [
        ("true" if value else "false") if is_boolean else labels.figure(value) for value in distinct.tolist()
    ]


def _number_grid(numbers: Floats, n_points: int) -> Integers:
    """Rows whose values are all distinct ones if they are few, else evenly spaced quantiles, in order."""
    finite = np.flatnonzero(np.isfinite(numbers))
    distinct, first = np.unique(numbers[finite], return_index=True)
    if len(distinct) > n_points:
        order = finite[np.argsort(numbers[finite], kind="stable")]
        places = np.linspace(*_ENDS, n_points) * (len(order) - 1)
        rows = order[np.round(places).astype(np.int64)]
        _, first = np.unique(numbers[rows], return_index=True)
        return np.asarray(rows[first], dtype=np.int64)
    return np.asarray(finite[first], dtype=np.int64)


def _category_grid(numbers: Floats) -> Integers:
    """Rows that hold the most frequent categories, in the order of their numbers."""
    present = np.flatnonzero(~np.isnan(numbers))
    codes, first, counts = np.unique(numbers[present], return_index=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES])
    return np.asarray(present[first[kept]][np.argsort(codes[kept])], dtype=np.int64)
