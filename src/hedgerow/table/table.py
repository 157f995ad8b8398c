"""Schema and Table: the columns of a model, and rows as plain float matrices, one block at a time.

    block(start, stop) =  columns ->   0      1      2          (stop - start, n_columns), C order,
                          row 0      0.35    2.0    nan         float32 or float64
                          row 1      1.25    nan    7.0

Column 1 is categorical in this example: 2.0 is the third category of the schema, NaN is missing or unknown.
There are three kinds of tables: one matrix, one array per column, one sparse matrix. None of them copies the
whole input; numeric values are converted when a block is read.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Floats, Keys
from hedgerow.threads import PickledWithoutCache, cached_property

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
FLOAT32_INTEGERS = 2**24  # below this every integer is exact in float32
REMEDY = "convert it to numbers, or to a categorical dtype if its values are categories"

_ALL = slice(0, None)
_STRIP = 4096  # rows written column by column at a time: a strip of 28 columns stays in L2
_CATEGORY_TYPES = {  # dtype of a category array -> the Python types its values may have in a model file
    "bool": (bool,),
    "int64": (int,),
    "uint64": (int,),
    "float64": (int, float),
    "object": (str, int, float),
}


@dataclass(frozen=True, eq=False)
class Schema(PickledWithoutCache):
    """The columns of a model's training table: their number, names, and categories.

    The position of a category among the sorted ones is its number in the table.

    >>> schema = Schema(2, ("age", "colour"), (None, np.array(["blue", "red"], dtype=object)))
    >>> schema.categorical_columns
    (1,)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    n_columns: int
    names: tuple[str, ...] | None  # None also for names that are not strings
    categories: tuple[NDArray[Any] | None, ...]  # None for a numeric column, else distinct and sorted

    def __post_init__(self) -> None:
        for name, entries in (("categories", self.categories), ("names", self.names)):
            if entries is not None and len(entries) != self.n_columns:
                required = f"{name} of a schema must have {self.n_columns} entries, one per column"
                raise ValueError(f"{required}; got {len(entries)}")

    @cached_property
    def categorical_columns(self) -> tuple[int, ...]:
        """Positions of the categorical columns, in increasing order."""
        return tuple(j for j, values in enumerate(self.categories) if values is not None)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are numeric and unnamed, so that any float matrix of the right width fits."""
        return self.names is None and not self.categorical_columns

    @cached_property
    def category_positions(self) -> dict[int, dict[Any, int]]:
        """The position of every category, for each categorical column."""
        return {
            column: {value: number for number, value in enumerate(values.tolist())}
            for column, values in enumerate(self.categories)
            if values is not None
        }

    def __eq__(self, other: object) -> bool:
        # Dataclasses compare fields with ==, which has no single truth value for arrays.
        if not isinstance(other, Schema):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def to_dict(self) -> dict[str, Any]:
        """Return plain data (dict, list, str, int, float, bool, None) for strict JSON."""
        return {
            "n_columns": self.n_columns,
            "names": None if self.names is None else list(self.names),
            "categories": [_encoded(values) for values in self.categories],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Schema":
        """Make a schema from the result of `to_dict`; raise ValueError for any other data."""
        try:
            n_columns, names, categories = data["n_columns"], data["names"], data["categories"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"a schema must have n_columns, names and categories: {error}") from error
        if type(n_columns) is not int or n_columns < 1:
            raise ValueError(f"n_columns of a schema must be a positive int; got {n_columns!r}")
        if names is not None and not _all_of(names, str):
            raise ValueError(f"names of a schema must be None or a list of str; got {names!r}")
        if not _all_of(categories, dict, type(None)):
            raise ValueError(f"categories of a schema must be a list of dicts; got {categories!r}")
        return cls(
            n_columns,
            None if names is None else tuple(names),
            tuple(_decoded(entry, column) for column, entry in enumerate(categories)),
        )


def _encoded(values: NDArray[Any] | None) -> dict[str, Any] | None:
    """Encode categories as {"dtype", "values"}; infinities, which strict JSON lacks, become text."""
    if values is None:
        return None
    plain = [
        {"float": str(value)} if isinstance(value, float) and math.isinf(value) else value
        for value in values.tolist()
    ]
    # A schema made by hand may hold NumPy strings or short integers.
    dtype = values.dtype.name if values.dtype.name in _CATEGORY_TYPES else "object"
    return {"dtype": dtype, "values": plain}


def _decoded(entry: dict[str, Any] | None, column: int) -> NDArray[Any] | None:
    if entry is None:
        return None
    dtype = str(entry.get("dtype"))
    if dtype not in _CATEGORY_TYPES or not isinstance(entry.get("values"), list):
        raise ValueError(f"categories of column {column} must be a dict of dtype and values; got {entry!r}")
    plain = [_infinity(value) for value in entry["values"]]
    if not _all_of(plain, *_CATEGORY_TYPES[dtype]):
        raise ValueError(f"categories of column {column} must all be of dtype {dtype}; got {plain!r}")
    if len(set(plain)) != len(plain) or any(value != value for value in plain):  # noqa: PLR0124
        raise ValueError(f"categories of column {column} must be distinct and not NaN; got {plain!r}")
    values = np.empty(len(plain), dtype=dtype)
    try:
        values[:] = plain
    except OverflowError as error:
        raise ValueError(f"categories of column {column} do not fit {dtype}: {error}") from error
    return values


def _infinity(value: Any) -> Any:
    if isinstance(value, dict):
        return {"inf": math.inf, "-inf": -math.inf}.get(str(value.get("float")))
    return value


def _all_of(values: Any, *types: type) -> bool:
    """Return whether it is a list of values of exactly these types; a bool is not an int."""
    return isinstance(values, list) and all(type(value) in types for value in values)


class Table(ABC):
    """A validated input, made by `read_table`.

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
    dtype: np.dtype[Any]  # float32 if every numeric column is float32 or float16, else float64

    @abstractmethod
    def block(self, start: int, stop: int) -> AnyFloats:
        """Return rows start..stop-1, C-contiguous, of `dtype`; possibly a view: do not write to it."""

    @abstractmethod
    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """Return rows by number, of a range of columns, in the form of `block`."""


@dataclass(eq=False)
class Dataset:
    """The rows of a fit or of an evaluation set, with targets and weights."""

    X: Any  # as passed by the user, for members of other libraries
    table: Table  # validated
    y: Floats  # (n_rows,) or (n_rows, n_outputs), numbers, or positions of the labels among the classes
    sample_weight: Floats | None  # (n_rows,)


def plain_table(X: Any, schema: Schema | None = None) -> "MatrixTable | None":
    """Return an array of floats without names or categories as a table, None for other input.

    A fast path: nothing needs to be converted, so predictions of single rows skip `read_table`. For them,
    `schema` is that of the fitted model.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or not X.size or X.dtype not in (FLOAT32, FLOAT64):
        return None
    if schema is None:
        return MatrixTable(X, Schema(X.shape[1], None, (None,) * X.shape[1]))
    return MatrixTable(X, schema) if X.shape[1] == schema.n_columns and schema.is_plain else None


class MatrixTable(Table):
    """A table in one numeric matrix; `numbers` replace the values of categorical columns."""

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
            # Read-only or unaligned blocks would make Numba compile the kernels a second time.
            self._as_is = bool(matrix.flags.carray)
        self.dtype = dtype

    def block(self, start: int, stop: int) -> AnyFloats:
        """See `Table.block`; a view when the matrix is floats in C order and writable."""
        some = self._matrix[start:stop]
        return some if self._as_is else self._converted(some, slice(start, stop), _ALL, copy=True)

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = _ALL) -> AnyFloats:
        """See `Table.rows`."""
        return self._converted(self._matrix[numbers, columns], numbers, columns, copy=None)

    def _converted(self, some: NDArray[Any], which: Any, columns: slice, *, copy: bool | None) -> AnyFloats:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes an infinity
            values = np.array(some, dtype=self.dtype, order="C", copy=copy)
        _put(values, self._numbers or {}, which, columns)
        return values


class ColumnTable(Table):
    """A table of separate columns, each an array of any numeric dtype."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[NDArray[Any]], schema: Schema) -> None:
        self._columns = columns
        self.n_rows, self.n_columns = len(columns[0]), len(columns)
        self.schema = schema
        pairs = zip(columns, schema.categories, strict=True)
        self.dtype = block_dtype([column.dtype for column, categories in pairs if categories is None], schema)

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
    """A table in a SciPy CSR matrix; only blocks are dense."""

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
        some = self._matrix[which]
        values: AnyFloats = (some if columns == _ALL else some[:, columns]).toarray(order="C")
        _put(values, self._numbers, which, columns)
        return values


def _put(values: AnyFloats, numbers: Mapping[int, AnyFloats], which: Any, columns: slice) -> None:
    """Write category numbers into their columns; `values` starts at column `columns.start`."""
    for column, of_column in numbers.items():
        position = column - columns.start
        if 0 <= position < values.shape[1]:
            values[:, position] = of_column[which]


def block_dtype(numeric: Iterable[np.dtype[Any]], schema: Schema) -> np.dtype[Any]:
    """Return the smaller of float32 and float64 that keeps the precision of all numeric columns."""
    small = all(dtype.kind == "f" and dtype.itemsize <= FLOAT32.itemsize for dtype in numeric)
    most = max((len(values) for values in schema.categories if values is not None), default=0)
    return FLOAT32 if small and most <= FLOAT32_INTEGERS else FLOAT64


def value_bits(values: NDArray[Any], *, rounded: bool = False) -> Keys:
    """Return the bits of values as float64, or rounded to float32; one pattern for NaN, one for zeros.

    Row keys are hashes of these bits: equal rows have equal keys.

    >>> bits = value_bits(np.array([0.0, -0.0, np.nan, -np.nan]))
    >>> bool(bits[0] == bits[1] == 0), bool(bits[2] == bits[3])
    (True, True)
    """
    if rounded:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    numbers: Floats = np.array(values, np.float64, order="C")
    numbers += 0.0  # -0.0 + 0.0 is 0.0, whose bits are 0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def check_two_dimensional(n_dimensions: int, X: object) -> None:
    """Raise an error unless the input has rows and columns."""
    if n_dimensions == 2:
        return
    got = "scalar" if n_dimensions == 0 else f"{n_dimensions}D"
    raise ValueError(
        f"Expected 2D array, got {got} array instead (X is a {type(X).__name__}). "
        "Reshape your data either using array.reshape(-1, 1) if it has a single feature, "
        "or array.reshape(1, -1) if it is a single sample."
    )


def check_kind(dtype: np.dtype[Any], label: str) -> None:
    """Raise an error for NumPy dtypes that are not numbers, strings or objects."""
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {label} has dtype {dtype}.")
    if dtype.kind not in "fiubOUST":
        raise ValueError(f"{label} has dtype {dtype}, which is not supported; {REMEDY}.")
