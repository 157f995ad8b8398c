"""read_table: validate any input, for fit (which makes a schema) and for predict (which uses one).

A source (ArraySource, SparseSource, FrameSource) has the shape and names of an input and reads its columns
one at a time. Where scikit-learn has a message for the same mistake the wording agrees with it; its
`check_estimator` tests that.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow._typing import AnyFloats
from hedgerow.system_memory import require_memory
from hedgerow.table.columns import (
    CodedColumn,
    category_numbers,
    code_numbers,
    code_objects,
    numbers_of_objects,
    sorted_categories,
)
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.remote import RemoteInput
from hedgerow.table.table import (
    ColumnTable,
    MatrixTable,
    Schema,
    SparseTable,
    Table,
    check_kind,
    check_two_dimensional,
    plain_table,
)

FIT_HINT = (
    "If its values are categories, cast it to a categorical dtype or list it in "
    "categorical_features; otherwise convert it to numbers."
)
PREDICT_HINT = "It was numeric when the model was fitted; convert it to numbers."
_ALLOWED = (
    "allowed are None, 'from_dtype', a boolean mask with one entry per column, "
    "a list of column positions, or a list of column names"
)


def read_table(
    X: Any,
    *,
    categorical_features: Any = None,
    schema: Schema | None = None,
    estimator_name: str = "estimator",
) -> Table:
    """Validate any input and return it as a table.

    Parameters
    ----------
    X : array, list of lists, data frame, sparse matrix of shape (n_rows, n_columns), or RemoteInput
        NumPy arrays of any real dtype and memory order, object arrays of numbers, pandas, polars
        and Arrow tables, SciPy sparse matrices and arrays. NaN, None, NA and nulls are missing,
        infinities are ordinary extreme values, zeros of sparse matrices are zeros. Integers
        beyond 2**53 are rounded to float64, except in categorical columns. Dates and timestamps of
        data frames become seconds since 1970 as float64, those with a time zone by their UTC instant.
    categorical_features : None, "from_dtype", boolean mask, positions or names
        For fit: which columns are categorical. None and "from_dtype" mean those with a
        category, enum or dictionary dtype; anything else is the whole list.
    schema : Schema, optional
        For predict: the columns of the fitted model, which X must have too. Categories are
        recognised by value; unknown ones become NaN, like missing ones.
    estimator_name : str
        For messages.

    Returns
    -------
    Table
        Its `schema` is stored by the model.

    Examples
    --------
    >>> import numpy as np
    >>> table = read_table(np.array([[1.0, 3.0], [2.0, 5.0]]), categorical_features=[1])
    >>> table.schema.categories
    (None, array([3, 5]))
    >>> read_table([[2, 5], [2, 4]], schema=table.schema).block(0, 2)
    array([[ 2.,  1.],
           [ 2., nan]])
    """
    if schema is not None and categorical_features is None:
        table = plain_table(X, schema)
        if table is not None:
            return table
    if isinstance(X, RemoteInput):
        return X.read(categorical_features=categorical_features, schema=schema, estimator_name=estimator_name)
    source = open_source(X, FIT_HINT if schema is None else PREDICT_HINT)
    if schema is None:
        check_not_empty(source.shape, estimator_name)
        return _read_for_fit(source, categorical_features)
    if categorical_features is not None:
        raise ValueError("categorical_features must be None if a schema is passed")
    check_same_columns(source.names, source.shape[1], schema, estimator_name)
    check_not_empty(source.shape, estimator_name)
    return make_table(source, schema)


def _read_for_fit(source: "Source", categorical_features: Any) -> Table:
    n_columns = source.shape[1]
    chosen = chosen_columns(categorical_features, source.names, n_columns)
    categorical = sorted(source.categorical_by_dtype if chosen is None else chosen)
    coded = {column: source.coded(column) for column in categorical}
    categories = {column: sorted_categories(found) for column, found in coded.items()}
    schema = Schema(n_columns, source.names, tuple(map(categories.get, range(n_columns))))
    return make_table(source, schema, coded)


def make_table(source: "Source", schema: Schema, coded: Mapping[int, CodedColumn] | None = None) -> Table:
    """Return the table of a source with known columns; `coded` are its categorical columns, if read."""
    numbers = {
        column: category_numbers(source.coded(column) if coded is None else coded[column], positions)
        for column, positions in schema.category_positions.items()
    }
    return source.table(schema, numbers)


def open_source(X: Any, hint: str) -> "Source":
    """Return the source of an input in memory; `hint` is advice about columns that are not numeric."""
    if sparse.issparse(X):
        return SparseSource(X)
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = as_frame(X)
        if frame is not None:
            return FrameSource(frame, hint)
    return ArraySource(X, hint)


# --- arrays and sparse matrices


class ArraySource:
    """A NumPy array, a list of lists, or anything that NumPy converts to an array.

    A numeric array stays as it is, whatever its dtype, order or strides. An array of Python objects or
    strings is read column by column: some may be numbers, others categories.
    """

    names = None
    categorical_by_dtype = frozenset[int]()  # NumPy has no categorical dtype

    def __init__(self, X: Any, hint: str) -> None:
        self._hint = hint  # for the error about a column that is not numeric
        self._array = as_array(X)
        check_two_dimensional(self._array.ndim, X)
        check_kind(self._array.dtype, "X")
        if self._array.dtype.kind in "UST":
            self._array = self._array.astype(object)
        self.shape: tuple[int, int] = self._array.shape

    def coded(self, column: int) -> CodedColumn:
        """Return a categorical column as codes and distinct values."""
        values = self._array[:, column]
        return code_objects(values, f"Column {column}") if values.dtype == object else code_numbers(values)

    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table:
        """Make the table; `numbers` are the category numbers of the categorical columns."""
        if self._array.dtype != object:
            return MatrixTable(self._array, schema, numbers)
        columns: list[NDArray[Any]] = [
            numbers[column]
            if column in numbers
            else numbers_of_objects(self._array[:, column], f"Column {column}", self._hint)
            for column in range(self.shape[1])
        ]
        return ColumnTable(columns, schema)


def as_array(X: Any) -> NDArray[Any]:
    """Return X as a plain ndarray, without a copy where possible; masked entries become NaN."""
    if isinstance(X, np.ma.MaskedArray):
        dtype = np.float64 if X.dtype.kind in "biu" else X.dtype if X.dtype.kind == "f" else object
        array = X.data.astype(dtype)
        array[np.ma.getmaskarray(X)] = None if dtype is object else np.nan
        return array
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # NumPy made strings of all values in [[1.5, "red"], ...]: keep their own types.
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"X must have the same number of values in every row; got a {type(X).__name__} ({error})"
        ) from error
    return array


class SparseSource:
    """A SciPy sparse matrix or array of any format; what is not stored is zero, a stored NaN is missing."""

    names = None
    categorical_by_dtype = frozenset[int]()

    def __init__(self, X: Any) -> None:
        check_two_dimensional(X.ndim, X)
        check_kind(X.dtype, "X")
        self._matrix = as_csr(X)
        self.shape: tuple[int, int] = self._matrix.shape

    def coded(self, column: int) -> CodedColumn:
        """Return a categorical column, zeros included, as codes and distinct values."""
        return code_numbers(self._matrix[:, [column]].toarray().ravel())

    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table:
        """Make the table; `numbers` are the category numbers of the categorical columns."""
        return SparseTable(self._matrix, schema, numbers)


Source: TypeAlias = ArraySource | SparseSource | FrameSource


def as_csr(X: Any) -> Any:
    """Convert a sparse matrix to CSR; raise MemoryError if it has too many rows for that."""
    n_rows, n_columns = X.shape
    if X.format != "csr":
        what = f"reading a sparse matrix of {n_rows:,} rows and {n_columns:,} columns"
        require_memory({"row starts": 8 * n_rows, "values": 16 * X.nnz}, what, "use fewer rows")
    return X.tocsr()


# --- checks of shapes, names and categorical_features


def check_not_empty(shape: tuple[int, int], estimator_name: str) -> None:
    """Raise an error for tables without rows or without columns."""
    for count, noun in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is required "
                f"by {estimator_name}."
            )


def check_same_columns(
    names: tuple[str, ...] | None, n_columns: int, schema: Schema, estimator_name: str
) -> None:
    """Raise an error unless the columns are those of the model; warn if only one of both has names."""
    if names is not None and schema.names is not None:
        if names != schema.names:
            raise ValueError(_different_names(names, schema.names))
    elif names is not None or schema.names is not None:
        passed, fitted = ("has", "without") if schema.names is None else ("does not have valid", "with")
        warnings.warn(
            f"X {passed} feature names, but {estimator_name} was fitted {fitted} feature names",
            UserWarning,
            stacklevel=4,
        )
    if n_columns != schema.n_columns:
        raise ValueError(
            f"X has {n_columns} features, but {estimator_name} is expecting "
            f"{schema.n_columns} features as input."
        )


def _different_names(names: tuple[str, ...], fitted: tuple[str, ...]) -> str:
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        message += f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names: list[str], at_most: int = 5) -> str:
    lines = [f"- {name}\n" for name in names[:at_most]]
    return "".join(lines) + ("- ...\n" if len(names) > at_most else "")


def chosen_columns(
    categorical_features: Any, names: tuple[str, ...] | None, n_columns: int
) -> frozenset[int] | None:
    """Return the positions of the columns chosen as categorical; None if the dtypes decide."""
    if categorical_features is None:
        return None
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        raise ValueError(f"categorical_features={categorical_features!r} is not allowed; {_ALLOWED}.")
    if not isinstance(categorical_features, Iterable):
        raise TypeError(f"categorical_features={categorical_features!r} is not a list; {_ALLOWED}.")
    entries = list(categorical_features)
    if all(isinstance(entry, (bool, np.bool)) for entry in entries) and entries:
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a boolean mask of {len(entries)} entries, but X has "
                f"{n_columns} columns; a mask must have one entry per column."
            )
        return frozenset(column for column, chosen in enumerate(entries) if chosen)
    if all(isinstance(entry, (int, np.integer)) for entry in entries):
        outside = [int(entry) for entry in entries if not 0 <= entry < n_columns]
        if outside:
            raise ValueError(
                f"categorical_features names the positions {outside}, but X has {n_columns} columns; "
                f"positions must be in 0..{n_columns - 1}."
            )
        return frozenset(int(entry) for entry in entries)
    if all(isinstance(entry, str) for entry in entries):
        return _named(entries, names)
    raise ValueError(f"categorical_features={categorical_features!r} mixes types; {_ALLOWED}.")


def _named(entries: list[str], names: tuple[str, ...] | None) -> frozenset[int]:
    if names is None:
        raise ValueError(
            f"categorical_features names the columns {entries}, but X has no column names; "
            "pass positions or a boolean mask."
        )
    unknown = [entry for entry in entries if entry not in names]
    if unknown:
        raise ValueError(
            f"categorical_features names the columns {unknown}, which X does not have; "
            f"its columns are {list(names)}."
        )
    return frozenset(names.index(entry) for entry in entries)
