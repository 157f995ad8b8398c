"""Splits: which rows a model learns from and which it is judged by, as sorted row numbers.

    y      = [a, a, b, a, b, b, a, b]
    train  = [0, 2, 3, 5, 6, 7]           int64, rising; every class of y is there
    test   = [1, 4]                       the same share of every class, as far as that is possible

A row's place follows from a hash of (seed, purpose, row number): no generator has a state, so a split is the
same on every machine and with any number of threads.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow._typing import Integers
from hedgerow.kernels.cpu.random import FOLDS, HOLD_OUT, draw_rows
from hedgerow.table.arrays import as_array
from hedgerow.table.frames import as_frame

Rows = tuple[Integers, Integers]

_FEW = 50
TASKS = ("classification", "regression")


def check_task(task: str) -> None:
    """Refuse a task that is none."""
    if task not in TASKS:
        raise ValueError(f"task={task!r} is not allowed: it must be 'classification' or 'regression'")


def hold_out(y: Any, task: str, fraction: float = 0.2, seed: int = 0, *, draw: int = 0) -> Rows:
    """Set a share of the rows aside.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels or numbers. With labels, the same share of every class is set aside, but never all of its
        rows: what is learned from the rest knows every class.
    task : {"classification", "regression"}
    fraction : float
        The share, above 0 and below 1; at least one row.
    seed : int
    draw : int
        Other numbers give other splits of the same seed.

    Returns
    -------
    train, test : int64 arrays
        Row numbers, rising.

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
    order, place, size = _drawn_order(groups, seed, HOLD_OUT, draw)
    # Row number i of the m rows of a class stands at (i + 1/2) / m: the lowest of all classes are set aside.
    stands = np.where(place < size - 1, (place + 0.5) / size, 2.0)  # 2: the last of a class stays
    n_free = int(np.count_nonzero(stands < 2.0))
    n_held = min(max(1, round(fraction * n)), n_free)
    if not n_held:
        raise ValueError(f"fraction={fraction} of {n} rows leaves nothing to learn from: there are too few")
    test = np.sort(order[np.argsort(stands, kind="stable")[:n_held]])
    is_train = np.ones(n, bool)
    is_train[test] = False
    return np.flatnonzero(is_train), test


def sample_rows(y: Any, task: str, n_rows: int, seed: int = 0) -> Integers:
    """Some of the rows, the same share of every class and at least one row of each.

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
    """The first rows of every class, about 50 in all and two of a class at least: enough for a first fit.

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
        With labels, the rows of every class are dealt out evenly. A class of one row is always learned
        from; one of fewer rows than folds is missing from some folds, but never from what is learned from.
    task : {"classification", "regression"}
    folds : int
        At least 2, and at most the number of rows.
    seed : int

    Returns
    -------
    list of (train, test)
        As of `hold_out`; the tests have no row in common.

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
    # Dealt out like cards, class after class: two rows of a class that follow each other never share a fold.
    number = np.empty(n, np.int64)
    number[order] = np.where(size > 1, np.arange(n) % folds, -1)
    splits = [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(folds)]
    kept = [(train, test) for train, test in splits if len(test)]
    if not kept:
        raise ValueError(f"y has {n} rows of {n} classes; cross-validation needs a class of two rows")
    return kept


def take_rows(X: Any, rows: NDArray[np.integer[Any]]) -> Any:
    """Some rows of a table, which stays of its kind.

    Parameters
    ----------
    X : array, data frame (pandas, polars), Arrow table, sparse matrix or list of rows
    rows : integer array
        Row numbers, in the order wanted.

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
    """Class numbers of the rows; all 0 for numbers."""
    if task == "regression":
        return np.zeros(len(y), np.int64)
    return np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _drawn_order(
    groups: Integers, seed: int, purpose: int, first: int
) -> tuple[Integers, Integers, Integers]:
    """Rows class after class, each class in a random order; their place in the class, and its size."""
    draws = np.empty(len(groups), np.uint64)
    draw_rows(int(seed) % 2**63, purpose, first, draws)
    order = np.lexsort((draws, groups))
    counts = np.bincount(groups)
    starts = np.cumsum(counts) - counts
    sorted_groups = groups[order]
    return order, np.arange(len(groups)) - starts[sorted_groups], counts[sorted_groups]
