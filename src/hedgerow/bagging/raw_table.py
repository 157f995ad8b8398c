"""RawTable: X as the user passed it; it selects rows and columns for members and computes a key of every row.

Members may be estimators of any library, so X keeps its type: parts of a data frame are data frames, parts of
a sparse matrix are sparse matrices. A key is a hash of the values of a row. Sorted by key, rows have an order
that does not depend on their order in X; samples are drawn from rows in that order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from hedgerow._typing import MISSING_TYPES, Floats, Integers, Keys, is_missing
from hedgerow.kernels.cpu.binning import add_keys, add_sparse_keys
from hedgerow.table import Schema
from hedgerow.table.columns import string_names
from hedgerow.table.frames import FrameSource, as_frame, proper_numbers, seconds_since_1970
from hedgerow.table.reading import as_array, as_csr, check_not_empty
from hedgerow.table.table import check_kind, check_two_dimensional, value_bits
from hedgerow.threads import rows_per_block

BLOCK_ROWS = 4096  # hashed at a time: their float64 copy stays in the cache
_NUMBERS = (Real, np.bool, Decimal)  # integers and floats of Python and NumPy are Real


@dataclass(frozen=True, eq=False)
class RawTable:
    """An array, a CSR matrix or a data frame, whose column names are `names`."""

    X: Any
    shape: tuple[int, int]
    is_frame: bool = False
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, estimator_name: str) -> "RawTable":
        """Check shape and column names only: the members check the values."""
        if sparse.issparse(X):
            check_two_dimensional(X.ndim, X)
            check_kind(X.dtype, "X")
            table = cls(as_csr(X), X.shape)
        elif (frame := _frame_of(X)) is not None:
            table = cls(frame.to_native(), frame.shape, is_frame=True, names=string_names(frame.columns))
        else:
            array = as_array(X)
            check_two_dimensional(array.ndim, X)
            check_kind(array.dtype, "X")
            if array.dtype.kind == "O":
                _check_objects(array)
            table = cls(array, array.shape)
        check_not_empty(table.shape, estimator_name)
        return table

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.shape[1]

    @property
    def dtype(self) -> Any:
        """The dtype of an array or a sparse matrix; None for a data frame."""
        return None if self.is_frame else self.X.dtype

    @property
    def schema(self) -> Schema:
        """The column names, as a model stores them."""
        return Schema(self.n_columns, self.names, (None,) * self.n_columns)

    def not_finite_rows(self) -> Integers:
        """Return the rows of a numeric array or sparse matrix with NaN or infinity."""
        if sparse.issparse(self.X):
            bad = ~np.isfinite(self.X.data.astype(np.float64))
            return np.unique(np.searchsorted(self.X.indptr, np.flatnonzero(bad), side="right") - 1)
        if self.is_frame or self.X.dtype.kind != "f":
            return np.empty(0, np.int64)
        return np.flatnonzero(~np.isfinite(self.X).all(axis=1))

    def as_matrix(self) -> "RawTable":
        """Return a data frame as an array, which may hold a column twice."""
        frame = _frame_of(self.X) if self.is_frame else None
        if frame is None:
            return self
        if not any(map(_has_codes, frame.schema.values())):
            return RawTable(frame.to_numpy(), self.shape)
        matrix = np.empty(self.shape, object)
        for number, column in enumerate(frame.iter_columns()):
            matrix[:, number] = column.to_list()  # to_numpy of an Arrow dictionary drops missing values
        return RawTable(matrix, self.shape)

    def take(self, rows: Integers | None, columns: Integers | None) -> Any:
        """Return these rows and columns of X; None for all."""
        X = self.X
        try:
            if rows is not None:
                X = _safe_indexing(X, rows)
            return X if columns is None else _safe_indexing(X, columns, axis=1)
        except NotImplementedError as error:  # Arrow, for some of its newer types
            raise ValueError(f"rows of this X cannot be selected; convert its columns: {error}") from error

    def row_keys(self, y: Floats | None = None, *, rounded: bool = False) -> Keys:
        """Hash the values of every row, and its target if y is passed; equal rows have equal keys.

        Numbers are hashed as float64, or `rounded` to float32, other values as text. All NaN are equal, and
        so are both zeros: a table has the same keys in every library.

        >>> table = RawTable.of([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]], "")
        >>> keys = table.row_keys(np.array([5.0, 5.0, 5.0]))
        >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
        (True, False)
        """
        n_rows, n_columns = self.shape
        keys = np.zeros(n_rows, np.uint64)
        if y is not None:
            add_keys(value_bits(y[:, np.newaxis]), n_columns, keys)
        if self.is_frame:
            frame = _frame_of(self.X)
            source = FrameSource(frame, "")
            for number, column in enumerate(frame.iter_columns()):
                if _has_codes(column.dtype):
                    codes, values = source.coded(number)
                    add_keys(_code_bits(codes, values, rounded=rounded)[:, np.newaxis], number, keys)
                else:
                    _add_column(_values(column), number, keys, rounded=rounded)
        elif sparse.issparse(self.X):
            _add_sparse(self.X, keys, rounded=rounded)
        elif self.X.dtype.kind in "fiub":
            step = rows_per_block(n_columns, BLOCK_ROWS)
            for start in range(0, n_rows, step):
                block = slice(start, start + step)
                add_keys(value_bits(self.X[block], rounded=rounded), 0, keys[block])
        else:
            for number in range(n_columns):
                _add_column(self.X[:, number], number, keys, rounded=rounded)
        return keys


def _frame_of(X: Any) -> Any:
    """Return X as a narwhals data frame; None if it is not a data frame."""
    return None if isinstance(X, np.ndarray | list | tuple) else as_frame(X)


def _has_codes(dtype: Any) -> bool:
    """Return whether a column of a frame is stored as codes of a list of values."""
    return isinstance(dtype, nw.Categorical | nw.Enum)


def _check_objects(array: NDArray[Any]) -> None:
    """Raise TypeError for Python objects that no column may hold; their rows may be in no sample."""
    for kind in set(map(type, array.flat)):
        missing = kind is type(None) or kind.__name__ in MISSING_TYPES
        if not (missing or issubclass(kind, str | bytes) or hasattr(kind, "__float__")):
            raise TypeError(
                f"X holds a {kind.__name__}: a value of the X argument must be a string or a number"
            )


# --- values as bits


def _values(column: Any) -> Any:
    """Return a column of a frame as an array, or as a list if it is nested."""
    dtype = column.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return proper_numbers(column)
    if isinstance(dtype, (nw.Datetime, nw.Date)):
        return seconds_since_1970(column)
    return column.to_list() if dtype.is_nested() else column.to_numpy()


def _add_column(values: Any, number: int, keys: Keys, *, rounded: bool) -> None:
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        bits = value_bits(values, rounded=rounded)
    else:
        bits = _object_bits(values, rounded=rounded)
    add_keys(bits[:, np.newaxis], number, keys)


def _code_bits(codes: NDArray[np.integer[Any]], values: list[Any], *, rounded: bool) -> Keys:
    """Return the bits of values stored as codes, -1 for missing; unused values are ignored."""
    used, positions = np.unique(codes, return_inverse=True)
    used_values = [None if code < 0 else values[code] for code in used.tolist()]
    bits: Keys = _object_bits(used_values, rounded=rounded)[positions]
    return bits


def _object_bits(values: Sequence[Any], *, rounded: bool) -> Keys:
    """Return the bits of Python values: of numbers, of NaN for missing values, otherwise of their text."""
    plain = [_number_or_text(value) for value in values]
    is_text = np.fromiter((type(value) is str for value in plain), bool, len(plain))
    bits = np.empty(len(plain), np.uint64)
    numbers = [value for value in plain if type(value) is float]
    bits[~is_text] = value_bits(np.array(numbers, np.float64), rounded=rounded)
    texts = [value for value in plain if type(value) is str]
    hashes = {text: _text_bits(text) for text in set(texts)}
    bits[is_text] = [hashes[text] for text in texts]
    return bits


def _number_or_text(value: Any) -> float | str:
    if type(value) is str:
        return value
    if isinstance(value, np.timedelta64):  # a subclass of np.integer
        return str(value)
    if is_missing(value):  # None in one library is NaN in another
        return np.nan
    try:
        return float(value) if isinstance(value, _NUMBERS) else str(value)
    except OverflowError:  # an integer beyond float64
        return str(value)


def _text_bits(text: str) -> int:
    """Hash a text; Python's own hash differs between processes."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest())


def _add_sparse(X: Any, keys: Keys, *, rounded: bool) -> None:
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    bits = value_bits(X.data, rounded=rounded)
    add_sparse_keys(bits, X.indices.astype(np.int64), X.indptr.astype(np.int64), keys)
