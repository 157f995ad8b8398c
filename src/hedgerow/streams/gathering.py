"""What the first pass keeps of all rows, each in as few bytes as can be while it grows.

Gathered     one number a row, in an array that grows at its end
Coded        texts or categories, as narrow codes into the values met so far; 0 is missing
EdgeSample   whole rows, those that bin edges are taken from
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.binning import EDGE_SAMPLE_ROWS
from hedgerow.kernels.cpu.random import EDGE_SAMPLE, sample_rows
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.table.columns import (
    CodedColumn,
    PlainValue,
    category_numbers,
    is_missing,
    plain_value,
    sorted_categories,
)
from hedgerow.table.table import value_bits

_GROWTH = 1.2  # of an array that is full: at the most so much more than needed
_FIRST = 65_536  # entries
_SPARE_SAMPLE = 1.2  # rows of the sample that may be kept, as a multiple of those that are wanted


class Gathered:
    """An array that grows at its end; its dtype widens when values need it.

    Parameters
    ----------
    n_rows : int or None
        How long it will be, if that is known.

    Examples
    --------
    >>> gathered = Gathered(None)
    >>> for part in ([1, 2], [3]):
    ...     gathered.add(np.array(part, np.int8))
    >>> gathered.add(np.array([np.nan]))
    >>> gathered.whole()
    array([ 1.,  2.,  3., nan])
    """

    def __init__(self, n_rows: int | None) -> None:
        self._expected = n_rows
        self._array: NDArray[Any] | None = None
        self.n = 0

    def add(self, values: NDArray[Any]) -> None:
        """Put values at the end."""
        stop = self.n + len(values)
        if self._array is None:
            self._array = np.empty(max(stop, self._expected or _FIRST), values.dtype)
        elif self._array.dtype != values.dtype:
            self._array = self._array.astype(np.result_type(self._array.dtype, values.dtype), copy=False)
        if stop > len(self._array):
            # memory of this size is moved by the system, not copied, and never there twice
            self._array.resize(max(stop, int(len(self._array) * _GROWTH)), refcheck=False)
        self._array[self.n : stop] = values
        self.n = stop

    def so_far(self) -> NDArray[Any]:
        """A view of what there is."""
        assert self._array is not None  # noqa: S101 - there are no sources without rows
        return self._array[: self.n]

    def whole(self) -> NDArray[Any]:
        """All values, in an array of their number."""
        assert self._array is not None  # noqa: S101 - as above
        if len(self._array) != self.n:
            self._array.resize(self.n, refcheck=False)
        return self._array


class Coded:
    """A column of few different values.

    Attributes
    ----------
    values : dict
        The values that occur, as plain ones, and their codes from 1 on, in the order they were met.
    """

    def __init__(self, n_rows: int | None) -> None:
        self.values: dict[PlainValue, int] = {}
        self._codes = Gathered(n_rows)

    def add(self, labels: CodedColumn) -> None:
        """Put the rows of a batch at the end."""
        codes = np.zeros(len(labels.values) + 1, np.uint32)  # the last stays 0, for rows without a value
        used = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.values)) > 0
        for place in np.flatnonzero(used).tolist():
            value = labels.values[place]
            if not is_missing(value):
                codes[place] = self.values.setdefault(plain_value(value), len(self.values) + 1)
        self._codes.add(codes[labels.codes].astype(np.min_scalar_type(len(self.values)), copy=False))

    def categories(self) -> NDArray[Any]:
        """The values, sorted as a schema keeps them."""
        return sorted_categories(self._all_values())

    def objects(self) -> NDArray[Any]:
        """All rows as Python objects, None for missing ones."""
        found = np.empty(len(self.values) + 1, object)  # the first stays None
        found[1:] = list(self.values)
        objects: NDArray[Any] = found[self._codes.whole()]
        return objects

    def numbers_by_code(self, places: Mapping[PlainValue, int]) -> AnyFloats:
        """What the codes from 0 on are in a table: the places of the categories, NaN first."""
        return np.concatenate([[np.nan], category_numbers(self._all_values(), places)])

    def numbers(self, by_code: AnyFloats, rows: slice | NDArray[np.int64]) -> AnyFloats:
        """Some rows as numbers of their categories."""
        found: AnyFloats = by_code[self._codes.so_far()[rows]]
        return found

    def _all_values(self) -> CodedColumn:
        return CodedColumn(np.arange(len(self.values)), list(self.values))


def add_coded_keys(
    column: int, coded: Coded, by_code: AnyFloats, keys: NDArray[np.uint64], *, rounded: bool = False
) -> None:
    """Add what a categorical column gives to the keys of all rows, now that its numbers are known."""
    for start in range(0, len(keys), _FIRST):
        rows = slice(start, start + _FIRST)
        numbers = coded.numbers(by_code, rows)
        add_keys(value_bits(numbers[:, np.newaxis], rounded=rounded), column, keys[rows])


# --- the rows that edges are taken from


def edge_rows(start: int, stop: int, n_rows: int) -> NDArray[np.int64]:
    """Rows of [start, stop) that `hedgerow.binning` takes edges from when there are `n_rows` in all.

    Of more rows a smaller share is taken, of those that would have been taken of fewer.

    >>> edge_rows(5, 8, 100)
    array([5, 6, 7])
    >>> set(edge_rows(0, 1000, 900_000)) <= set(edge_rows(0, 1000, 800_000))
    True
    """
    rows = np.arange(start, stop, dtype=np.int64)
    if n_rows > EDGE_SAMPLE_ROWS:
        n = sample_rows(EDGE_SAMPLE_ROWS / n_rows, 0, EDGE_SAMPLE, 0, start, stop, rows)
        rows = rows[:n].copy()
    return rows


class EdgeSample:
    """Rows that edges are taken from, as far as can be told: when there are more rows, some are dropped."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, int, NDArray[np.int64], AnyFloats]] = []
        self._n_kept = 0

    def add(self, start: int, stop: int, rows: NDArray[np.int64], values: AnyFloats) -> None:
        """Keep rows of [start, stop), all those that `edge_rows` names for some number up to the last one."""
        self._pieces.append((start, stop, rows, values))
        self._n_kept += len(rows)
        if self._n_kept > EDGE_SAMPLE_ROWS * _SPARE_SAMPLE:
            self._drop(stop)

    def _drop(self, n_rows: int) -> None:
        self._n_kept = 0
        for place, (start, stop, rows, values) in enumerate(self._pieces):
            stay = edge_rows(start, stop, n_rows)
            if len(stay) < len(rows):
                self._pieces[place] = (start, stop, stay, values[np.searchsorted(rows, stay)])
            self._n_kept += len(stay)

    def whole(self, n_rows: int, dtype: np.dtype[Any]) -> tuple[NDArray[np.int64], AnyFloats]:
        """The rows for `n_rows` in all, and their values; lets go of everything."""
        self._drop(n_rows)
        values = np.empty((self._n_kept, self._pieces[0][3].shape[1]), dtype)
        rows = np.concatenate([piece[2] for piece in self._pieces])
        first = 0
        self._pieces.reverse()
        while self._pieces:
            part = self._pieces.pop()[3]
            values[first : first + len(part)] = part
            first += len(part)
        return rows, values
