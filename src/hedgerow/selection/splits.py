"""Splits of the rows into train and test, as sorted row numbers; and the training data that is split.

    y      = [a, a, b, a, b, b, a, b]
    train  = [0, 2, 3, 5, 6, 7]           int64, increasing; contains every class of y
    test   = [1, 4]                       the same share of every class, as far as possible

Rows are ordered by a hash of (seed, purpose, row number): no generator has a state, so a split is the same on
every machine and for any number of threads. Where rows are not independent, a `RowOrder` replaces this order:

    groups   rows of one patient, shop, document: a group is never divided
    times    rows that follow one another: the test rows are later than all training rows
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.boosting.folds import StratifiedOrder
from hedgerow.estimators import validation
from hedgerow.kernels.cpu.random import FOLDS, HOLD_OUT, draw_rows
from hedgerow.table import read_table

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

    Examples
    --------
    >>> data = TrainingData.of([[1.0], [2.0], [3.0], [4.0]], ["b", "a", "b", "b"], "classification", "choose")
    >>> data.encoded.tolist(), data.n_classes
    ([1, 0, 1, 1], 2)
    """

    X: Any
    y: NDArray[Any]  # the labels or numbers as passed; the final model is fitted to them
    encoded: NDArray[Any]  # class numbers (int64), which trials read faster, or numbers (float64)
    task: str
    n_classes: int | None
    weights: Floats | None = None  # of the rows in fitting
    order: "RowOrder | None" = None
    n_categories: int = 0  # the most of a column

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
        sizes = (len(values) for values in table.schema.categories if values is not None)
        return cls(X, raw_y, encoded, task, target.n_classes, n_categories=max(sizes, default=0))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def weights_of(self, rows: Integers, *, positive: bool = False) -> dict[str, Floats]:
        """Return the argument of a fit to some rows: their weights, if there are any.

        positive : for fits that compile: a weight of 0 is 1, since some weight must not be 0
        """
        if self.weights is None:
            return {}
        weights = self.weights[rows]
        return {"sample_weight": np.where(weights > 0, weights, 1.0) if positive else weights}


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Groups or times of rows that are not independent; they decide the splits.

    Parameters
    ----------
    groups : int64 array or None
        The number of the group of each row.
    times : int64 or float64 array or None

    Examples
    --------
    >>> order = RowOrder.of(5, groups=["b", "a", "b", "a", "c"])
    >>> order.groups.tolist(), order.take(np.array([0, 4])).groups.tolist()
    ([1, 0, 1, 0, 2], [1, 2])
    """

    groups: Integers | None = None
    times: NDArray[Any] | None = None

    @classmethod
    def of(cls, n_rows: int, groups: Any = None, times: Any = None) -> "RowOrder | None":
        """Check groups or times of `n_rows` rows; None if there are neither."""
        if groups is None and times is None:
            return None
        if groups is not None and times is not None:
            raise ValueError("groups and times cannot be combined: pass one of them")
        name, values = ("groups", groups) if times is None else ("times", times)
        array = np.asarray(values)
        if array.shape != (n_rows,):
            raise ValueError(
                f"{name} has shape {array.shape}: it must have one value for each of {n_rows} rows"
            )
        if times is None:
            numbers = np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int64)
            if numbers.max() == 0:
                raise ValueError("groups has one group only: at least two are needed")
            return cls(groups=numbers)
        if array.dtype.kind == "M":
            array = array.astype("datetime64[ns]").view(np.int64)
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise ValueError("times must be numbers or dates, without missing values")
        if array.min() == array.max():
            raise ValueError("times has one value only: at least two are needed")
        return cls(times=array)

    def take(self, rows: NDArray[np.integer[Any]]) -> "RowOrder":
        """Return the order of some rows."""
        return RowOrder(*(None if one is None else one[rows] for one in (self.groups, self.times)))


def hold_out(
    y: Any, task: str, fraction: float = 0.2, seed: int = 0, *, draw: int = 0, order: RowOrder | None = None
) -> Rows:
    """Split the rows into train and test.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels or numbers. For labels the test rows contain the same share of every class, but never all of
        its rows: the training rows contain every class.
    task : {"classification", "regression"}
    fraction : float
        The fraction of test rows, above 0 and below 1; at least one row.
    seed : int
    draw : int
        Different numbers give different splits of the same seed.
    order : RowOrder, optional
        With groups, random whole groups are held out, as many as come closest to the fraction; a group is
        in training if a class occurs nowhere else. With times, the latest rows are held out, whatever their
        classes; rows of the same time are not divided.

    Returns
    -------
    train, test : int64 arrays
        Row numbers, increasing.

    Examples
    --------
    >>> train, test = hold_out(["a", "a", "b", "a", "b", "b", "a", "b"], "classification", 0.25)
    >>> train.tolist(), test.tolist()
    ([0, 2, 3, 4, 6, 7], [1, 5])
    >>> hold_out([1.0, 2.0, 3.0, 4.0], "regression", 0.25, order=RowOrder.of(4, times=[9, 1, 2, 3]))[1]
    array([0])
    """
    check_task(task)
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"fraction={fraction} is not allowed: it must be a number above 0 and below 1")
    classes = _class_numbers(y, task)
    if order is not None and order.times is not None:
        return _later_rows(order.times, fraction)
    if order is not None and order.groups is not None:
        return _whole_groups(order.groups, classes, fraction, seed, draw)
    n = len(classes)
    drawn, rank, size, _ = StratifiedOrder.of(classes, int(seed) % 2**63, HOLD_OUT, draw)
    # Row i of the m rows of a class has the quantile (i + 1/2) / m: the lowest of all classes are test rows.
    quantile = np.where(
        rank < size - 1, (rank + 0.5) / size, 2.0
    )  # 2: the last row of a class is for training
    n_free = int(np.count_nonzero(quantile < 2.0))
    n_test = min(max(1, round(fraction * n)), n_free)
    if not n_test:
        raise ValueError(f"fraction={fraction} of {n} rows leaves no training rows: there are too few rows")
    return _divided(drawn[np.argsort(quantile, kind="stable")[:n_test]], n)


def _divided(test: Integers, n: int) -> Rows:
    is_train = np.ones(n, bool)
    is_train[test] = False
    return np.flatnonzero(is_train), np.flatnonzero(~is_train)


def _later_rows(times: NDArray[Any], fraction: float) -> Rows:
    """Split at the time whose share of later rows is closest to the fraction."""
    values, counts = np.unique(times, return_counts=True)
    later = np.cumsum(counts[::-1])[::-1][1:]  # rows from values[1], values[2], ... on
    first = values[1 + int(np.argmin(np.abs(later - fraction * len(times))))]
    return np.flatnonzero(times < first), np.flatnonzero(times >= first)


def _whole_groups(groups: Integers, classes: Integers, fraction: float, seed: int, draw: int) -> Rows:
    """Hold out groups in random order, unless a class would be missing from the training rows."""
    counts = _group_classes(groups, classes)
    left, wanted, n_test = counts.sum(axis=0), fraction * len(groups), 0
    test = np.zeros(len(counts), bool)
    for group in _group_order(len(counts), seed, HOLD_OUT, draw):
        size = int(counts[group].sum())
        is_closer = abs(n_test + size - wanted) < abs(n_test - wanted)
        if is_closer and np.all((left - counts[group] > 0) | (counts[group] == 0)):
            test[group] = True
            left, n_test = left - counts[group], n_test + size
    if not test.any():
        raise ValueError(
            f"no group can be held out: each of the {len(counts)} groups has more than twice the share of "
            f"{fraction:g} of the rows, or all rows of a class"
        )
    return _divided(np.flatnonzero(test[groups]), len(groups))


def _group_classes(groups: Integers, classes: Integers) -> Integers:
    """Return the number of rows of every group and class, (groups, classes)."""
    n_groups, n_classes = int(groups.max()) + 1, int(classes.max()) + 1
    counts = np.bincount(groups * n_classes + classes, minlength=n_groups * n_classes)
    return counts.reshape(n_groups, n_classes).astype(np.int64)


def _group_order(n_groups: int, seed: int, purpose: int, first: int) -> Integers:
    draws = np.empty(n_groups, np.uint64)
    draw_rows(int(seed) % 2**63, purpose, first, draws)
    return np.argsort(draws, kind="stable")


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


def fold_rows(y: Any, task: str, folds: int, seed: int = 0, *, order: RowOrder | None = None) -> list[Rows]:
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
    order : RowOrder, optional
        With groups, every group is in one fold, or always in training if a class would be missing from the
        training rows otherwise. With times, each fold is tested on the rows that follow its training rows,
        and the first block of rows is always in training; there may be fewer folds.

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
    classes = _class_numbers(y, task)
    n = len(classes)
    is_whole = isinstance(folds, int | np.integer)
    if not (is_whole and 2 <= folds <= n):
        raise ValueError(f"folds={folds!r} is not allowed: it must be an integer from 2 to the {n} rows")
    if order is not None and order.times is not None:
        return _forward_folds(order.times, folds)
    if order is not None and order.groups is not None:
        number = _group_folds(order.groups, classes, folds, seed)
    else:
        drawn, _, size, _ = StratifiedOrder.of(classes, int(seed) % 2**63, FOLDS, 0)
        # Distributed in turn, class after class: two consecutive rows of a class are never in the same fold.
        number = np.empty(n, np.int64)
        number[drawn] = np.where(size > 1, np.arange(n) % folds, -1)
    splits = [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(folds)]
    kept = [(train, test) for train, test in splits if len(test)]
    if not kept:
        what = "class of two rows" if order is None else "group without all rows of a class"
        raise ValueError(f"y has {n} rows; cross-validation needs a {what}")
    return kept


def _group_folds(groups: Integers, classes: Integers, folds: int, seed: int) -> Integers:
    """Return the fold of each row: each group, in random order, goes to the smallest fold that is allowed.

    A fold must not hold all rows of a class; -1 for groups that are in training always.
    """
    counts = _group_classes(groups, classes)
    total, held = counts.sum(axis=0), np.zeros((folds, counts.shape[1]), np.int64)
    fold = np.full(len(counts), -1, np.int64)
    for group in _group_order(len(counts), seed, FOLDS, 0):
        fits = np.all((held + counts[group] < total) | (counts[group] == 0), axis=1)
        if fits.any():
            sizes = np.where(fits, held.sum(axis=1), np.iinfo(np.int64).max)
            fold[group] = np.argmin(sizes)
            held[fold[group]] += counts[group]
    return np.asarray(fold[groups])


def _forward_folds(times: NDArray[Any], folds: int) -> list[Rows]:
    """Divide the times into blocks of about equal size; each but the first is tested after all before it."""
    values, counts = np.unique(times, return_counts=True)
    block = np.minimum((np.cumsum(counts) - 0.5 * counts) * (folds + 1) / len(times), folds).astype(np.int64)
    block = np.unique(block, return_inverse=True)[1][np.searchsorted(values, times)]
    last = int(block.max())
    return [(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in range(1, last + 1)]


def _class_numbers(y: Any, task: str) -> Integers:
    """Return the class numbers of the rows; all 0 for regression."""
    if task == "regression":
        return np.zeros(len(y), np.int64)
    return np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1).astype(np.int64)
