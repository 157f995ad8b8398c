"""Splits of the rows into train and test, as sorted row numbers; and the training data that is split.

    y      = [a, a, b, a, b, b, a, b]
    train  = [0, 2, 3, 5, 6, 7]           int64, increasing; contains every class of y
    test   = [1, 4]                       the same share of every class, as far as possible

Rows are ordered by a hash of (seed, purpose, row number): no generator has a state, so a split is the same on
every machine and for any number of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow._typing import Integers
from hedgerow.estimators import validation
from hedgerow.kernels.cpu.random import FOLDS, HOLD_OUT, draw_rows
from hedgerow.table import read_table
from hedgerow.table.frames import as_frame
from hedgerow.table.reading import as_array

Rows = tuple[Integers, Integers]

_FEW = 50
_MIN_ROWS = 4
TASKS = ("classification", "regression")


def check_task(task: str) -> None:
    """Raise ValueError unless the task is one of `TASKS`."""
    if task not in TASKS:
        raise ValueError(f"task={task!r} is not allowed: it must be 'classification' or 'regression'")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A table and its target, checked once for all methods.

    Parameters
    ----------
    X : any table
    y : array
        The labels or numbers as passed; the final model is fitted to them.
    encoded : array
        Class numbers (int64), which trials are fitted to because they are read faster; or numbers (float64).
    task : str
    n_classes : int or None

    Examples
    --------
    >>> data = TrainingData.of([[1.0], [2.0], [3.0], [4.0]], ["b", "a", "b", "b"], "classification", "choose")
    >>> data.encoded.tolist(), data.n_classes
    ([1, 0, 1, 1], 2)
    """

    X: Any
    y: NDArray[Any]
    encoded: NDArray[Any]
    task: str
    n_classes: int | None

    @classmethod
    def of(cls, X: Any, y: Any, task: str, caller: str) -> "TrainingData":
        """Check the table, the target and the task; `caller` is the name in messages."""
        check_task(task)
        table = read_table(X, estimator_name=caller)
        raw_y = validation.validate_target(y, table.n_rows, caller)
        target = validation.ClassTarget.of(raw_y) if task == "classification" else validation.NumberTarget()
        encoded: NDArray[Any] = target.encode(raw_y)
        if table.n_rows < _MIN_ROWS:
            raise ValueError(f"X has {table.n_rows} rows; {caller} needs at least {_MIN_ROWS}")
        if target.n_classes is not None:
            encoded = encoded.astype(np.int64)
        return cls(X, raw_y, encoded, task, target.n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)


def hold_out(y: Any, task: str, fraction: float = 0.2, seed: int = 0, *, draw: int = 0) -> Rows:
    """Split the rows into train and test.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels or numbers. For labels the test rows contain the same share of every class, but never all of
        its rows: the training rows contain every class.
    task : {"classification", "regression"}
    fraction : float
        The share of test rows, above 0 and below 1; at least one row.
    seed : int
    draw : int
        Different numbers give different splits of the same seed.

    Returns
    -------
    train, test : int64 arrays
        Row numbers, increasing.

    Examples
    --------
    >>> train, test = hold_out(["a", "a", "b", "a", "b", "b", "a", "b"], "classification", 0.25)
    >>> train.tolist(), test.tolist()
    ([0, 2, 3, 4, 6, 7], [1, 5])
    """
    check_task(task)
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"fraction={fraction} is not allowed: it must be a number above 0 and below 1")
    groups = _groups(y, task)
    n = len(groups)
    order, rank, size = _drawn_order(groups, seed, HOLD_OUT, draw)
    # Row i of the m rows of a class has the quantile (i + 1/2) / m: the lowest of all classes are test rows.
    quantile = np.where(
        rank < size - 1, (rank + 0.5) / size, 2.0
    )  # 2: the last row of a class is for training
    n_free = int(np.count_nonzero(quantile < 2.0))
    n_test = min(max(1, round(fraction * n)), n_free)
    if not n_test:
        raise ValueError(f"fraction={fraction} of {n} rows leaves no training rows: there are too few rows")
    test = np.sort(order[np.argsort(quantile, kind="stable")[:n_test]])
    is_train = np.ones(n, bool)
    is_train[test] = False
    return np.flatnonzero(is_train), test


def sample_rows(y: Any, task: str, n_rows: int, seed: int = 0) -> Integers:
    """Sample rows: the same share of every class, and at least one row of each.

    Examples
    --------
    >>> sample_rows(["a"] * 8 + ["b"] * 4, "classification", 6).tolist()
    [0, 1, 2, 7, 8, 10]
    """
    n = len(y)
    if n_rows >= n:
        return np.arange(n)
    return hold_out(y, task, 1.0 - n_rows / n, seed, draw=2)[0]


def first_rows(numbers: NDArray[Any], task: str) -> Integers:
    """Return the first rows of every class, about 50 in total and at least two of each class.

    Examples
    --------
    >>> first_rows(np.array([0] * 90 + [1] * 10), "classification").tolist()[-12:]
    [23, 24, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99]
    """
    if task == "regression":
        return np.arange(min(_FEW, len(numbers)))
    classes = np.unique(numbers)[:_FEW]
    each = max(2, _FEW // len(classes))
    return np.sort(np.concatenate([np.flatnonzero(numbers == k)[:each] for k in classes]))


def fold_rows(y: Any, task: str, folds: int, seed: int = 0) -> list[Rows]:
    """Split the rows for cross-validation.

    Parameters
    ----------
    y : array of shape (n_samples,)
        For labels, the rows of every class are distributed evenly. A class of one row is always in the
        training rows; a class of fewer rows than folds is missing from some test sets, but never from the
        training rows.
    task : {"classification", "regression"}
    folds : int
        At least 2, and at most the number of rows.
    seed : int

    Returns
    -------
    list of (train, test)
        Row numbers as from `hold_out`; the test sets are disjoint.

    Examples
    --------
    >>> [test.tolist() for _, test in fold_rows([0, 0, 0, 0, 1, 1], "classification", 3)]
    [[0, 3], [1, 5], [2, 4]]
    """
    check_task(task)
    groups = _groups(y, task)
    n = len(groups)
    is_whole = isinstance(folds, int | np.integer)
    if not (is_whole and 2 <= folds <= n):
        raise ValueError(f"folds={folds!r} is not allowed: it must be an integer from 2 to the {n} rows")
    order, _, size = _drawn_order(groups, seed, FOLDS, 0)
    # Distributed in turn, class after class: two consecutive rows of a class are never in the same fold.
    number = np.empty(n, np.int64)
    number[order] = np.where(size > 1, np.arange(n) % folds, -1)
    splits = [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(folds)]
    kept = [(train, test) for train, test in splits if len(test)]
    if not kept:
        raise ValueError(f"y has {n} rows of {n} classes; cross-validation needs a class of two rows")
    return kept


def take_rows(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    """Select rows of a table; the result has the type of the table.

    Parameters
    ----------
    X : array, data frame (pandas, polars), Arrow table, sparse matrix or list of rows
    rows : integer array
        Row numbers, in any order.

    Returns
    -------
    array, data frame, Arrow table or CSR matrix

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).ravel().tolist()
    [3.0, 1.0]
    """
    numbers = np.asarray(rows, dtype=np.int64)
    if sparse.issparse(X):
        return X.tocsr()[numbers]
    if not isinstance(X, np.ndarray | list | tuple):
        frame = as_frame(X)
        if frame is not None:
            return frame[numbers].to_native()
    if isinstance(X, np.ma.MaskedArray):
        return X[numbers]
    return as_array(X)[numbers]


def _groups(y: Any, task: str) -> Integers:
    """Return the class numbers of the rows; all 0 for regression."""
    if task == "regression":
        return np.zeros(len(y), np.int64)
    return np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _drawn_order(
    groups: Integers, seed: int, purpose: int, first: int
) -> tuple[Integers, Integers, Integers]:
    """Return the rows class after class, each in random order, their ranks in the class, and its size."""
    draws = np.empty(len(groups), np.uint64)
    draw_rows(int(seed) % 2**63, purpose, first, draws)
    order = np.lexsort((draws, groups))
    counts = np.bincount(groups)
    starts = np.cumsum(counts) - counts
    sorted_groups = groups[order]
    return order, np.arange(len(groups)) - starts[sorted_groups], counts[sorted_groups]
