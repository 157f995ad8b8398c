"""Table: rows of a checked input as plain float matrices, a block at a time.

    block(start, stop) =  columns ->   0      1      2          (stop - start, n_columns), C order,
                          row 0      0.35    2.0    nan         float32 or float64
                          row 1      1.25    nan    7.0

Column 1 is categorical here: 2.0 is the third category of the schema, NaN is missing or unseen.
Three kinds, by where the values lie: one matrix, one array a column, one sparse matrix.  None of
them copies the whole input; numeric values are converted when a block is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats
from hedgerow.table.categories import FLOAT32_INTEGERS
from hedgerow.table.schema import Schema

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

_STRIP = 4096  # rows written column by column at a time: a strip of 28 columns stays in L2

_ALL = slice(0, None)


class Table(ABC):
    """A checked input, made by `read_table`.

    Attributes
    ----------
    n_rows, n_columns : int
        Its shape.
    schema : Schema
        Its columns: names, and the categories of the categorical ones.
    dtype : numpy.dtype
        float32 when every numeric column is float32 or float16, else float64.

    Examples
    --------
    >>> from hedgerow.table import read_table
    >>> table = read_table([[0.5, "red"], [1.5, None], [2.5, "blue"]], categorical_features=[1])
    >>> table.block(0, 3)
    array([[0.5, 1. ],
           [1.5, nan],
           [2.5, 0. ]])
    """

    __slots__ = ("dtype", "n_columns", "n_rows", "schema")

    n_rows: int
    n_columns: int
    schema: Schema
    dtype: np.dtype[Any]

    @abstractmethod
    def block(self, start: int, stop: int) -> AnyFloats:
        """Give rows start..stop-1, C-contiguous, of `dtype`; a view perhaps: do not write to it."""

    @abstractmethod
    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """Give any rows by their numbers, of some columns that follow one another, as `block` does."""


class MatrixTable(Table):
    """A table in one numeric matrix; the numbers of categorical columns replace its own."""

    __slots__ = ("_as_is", "_matrix", "_numbers")

    def __init__(
        self, matrix: NDArray[Any], schema: Schema, numbers: Mapping[int, AnyFloats] | None = None
    ) -> None:
        self._matrix = matrix
        self._numbers = numbers
        self.n_rows, self.n_columns = matrix.shape
        self.schema = schema
        dtype = matrix.dtype
        if numbers or dtype not in (FLOAT32, FLOAT64):
            dtype = block_dtype([dtype] * (self.n_columns - len(numbers or ())), schema)
            self._as_is = False
        else:
            # Read-only or unaligned blocks would have compiled kernels compiled a second time.
            self._as_is = bool(matrix.flags.carray)
        self.dtype = dtype

    def block(self, start: int, stop: int) -> AnyFloats:
        """See `Table.block`; a view when the matrix is floats in C order and writable."""
        part = self._matrix[start:stop]
        return part if self._as_is else self._converted(part, slice(start, stop), _ALL, copy=True)

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """See `Table.rows`."""
        return self._converted(self._matrix[numbers, columns], numbers, columns, copy=None)

    def _converted(self, part: NDArray[Any], which: Any, columns: slice, *, copy: bool | None) -> AnyFloats:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
            values = np.array(part, dtype=self.dtype, order="C", copy=copy)
        _put(values, self._numbers or {}, which, columns)
        return values


class ColumnTable(Table):
    """A table of separate columns, each an array of any numeric dtype."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[NDArray[Any]], schema: Schema) -> None:
        self._columns = columns
        self.n_rows, self.n_columns = len(columns[0]), len(columns)
        self.schema = schema
        self.dtype = block_dtype(
            [
                column.dtype
                for column, categories in zip(columns, schema.categories, strict=True)
                if categories is None
            ],
            schema,
        )

    def block(self, start: int, stop: int) -> AnyFloats:
        """See `Table.block`."""
        start, stop, _ = slice(start, stop).indices(self.n_rows)
        values = np.empty((max(stop - start, 0), self.n_columns), dtype=self.dtype)
        for first in range(start, stop, _STRIP):
            last = min(first + _STRIP, stop)
            strip = values[first - start : last - start]
            for number, column in enumerate(self._columns):
                strip[:, number] = column[first:last]
        return values

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """See `Table.rows`."""
        wanted = self._columns[columns]
        values = np.empty((len(numbers), len(wanted)), dtype=self.dtype)
        for number, column in enumerate(wanted):
            values[:, number] = column[numbers]
        return values


class SparseTable(Table):
    """A table in a SciPy CSR matrix: what is not stored is zero, and only blocks are dense."""

    __slots__ = ("_matrix", "_numbers")

    def __init__(self, matrix: Any, schema: Schema, numbers: Mapping[int, AnyFloats]) -> None:
        self.n_rows, self.n_columns = matrix.shape
        self.schema = schema
        self.dtype = block_dtype([matrix.dtype] * (self.n_columns - len(numbers)), schema)
        self._matrix = matrix.astype(self.dtype, copy=False)
        self._numbers = numbers

    def block(self, start: int, stop: int) -> AnyFloats:
        """See `Table.block`."""
        return self._dense(slice(start, stop), _ALL)

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """See `Table.rows`."""
        return self._dense(np.asarray(numbers, dtype=np.intp), columns)

    def _dense(self, which: Any, columns: slice) -> AnyFloats:
        part = self._matrix[which]
        values: AnyFloats = (part if columns == _ALL else part[:, columns]).toarray(order="C")
        _put(values, self._numbers, which, columns)
        return values


def _put(values: AnyFloats, numbers: Mapping[int, AnyFloats], which: Any, columns: slice) -> None:
    """Write the numbers of the categories over the columns they replace; `values` begins at `columns`."""
    for column, of_column in numbers.items():
        place = column - columns.start
        if 0 <= place < values.shape[1]:
            values[:, place] = of_column[which]


def block_dtype(numeric: Iterable[np.dtype[Any]], schema: Schema) -> np.dtype[Any]:
    """Find the dtype of blocks that loses no precision of the numeric columns."""
    small = all(dtype.kind == "f" and dtype.itemsize <= FLOAT32.itemsize for dtype in numeric)
    most = max((len(values) for values in schema.categories if values is not None), default=0)
    return FLOAT32 if small and most <= FLOAT32_INTEGERS else FLOAT64
