"""read_table: one door for every input, at fit (a schema comes out) and at predict (it goes in)."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from hedgerow._typing import AnyFloats
from hedgerow.table.arrays import ArraySource
from hedgerow.table.categories import Labels, category_numbers, known_categories
from hedgerow.table.checks import check_not_empty, check_same_columns, chosen_columns
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.remote import RemoteInput
from hedgerow.table.schema import Schema
from hedgerow.table.sparse import SparseSource
from hedgerow.table.table import FLOAT32, FLOAT64, MatrixTable, Table

FIT_HINT = (
    "If its values are categories, cast it to a categorical dtype or list it in "
    "categorical_features; otherwise convert it to numbers."
)
PREDICT_HINT = "It was numeric when the model was fitted; convert it to numbers."


class _Source(Protocol):
    """What the reading needs from each kind of input."""

    shape: tuple[int, int]

    @property
    def names(self) -> tuple[str, ...] | None: ...
    @property
    def typed_categorical(self) -> frozenset[int]: ...
    def labels(self, column: int) -> Labels: ...
    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table: ...


def read_table(
    X: Any,
    *,
    categorical_features: Any = None,
    schema: Schema | None = None,
    estimator_name: str = "estimator",
) -> Table:
    """Check any input and make a table of it.

    Parameters
    ----------
    X : array, list of lists, data frame, sparse matrix of shape (n_rows, n_columns), or RemoteInput
        NumPy arrays of any real dtype and memory order, object arrays of numbers, pandas, polars
        and Arrow tables, SciPy sparse matrices and arrays. NaN, None, NA and nulls are missing,
        infinities are ordinary extreme values, zeros of sparse matrices are zeros. Integers
        beyond 2**53 are rounded to float64, except in categorical columns.
    categorical_features : None, "from_dtype", boolean mask, positions or names
        For fit: which columns are categorical. None and "from_dtype" mean those with a
        category, enum or dictionary dtype; anything else is the whole list.
    schema : Schema, optional
        For predict: the columns of the fitted model, which X must have too. Categories are
        recognised by value; unseen ones become NaN, as missing ones.
    estimator_name : str
        How messages call the estimator.

    Returns
    -------
    Table
        With `table.schema` to be kept by the model.

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
    if (  # one row of floats to predict: nothing to do, so do nothing slow before it
        schema is not None
        and type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[1] == schema.n_columns
        and X.shape[0] > 0
        and X.dtype in (FLOAT32, FLOAT64)
        and schema.is_plain
        and categorical_features is None
    ):
        return MatrixTable(X, schema)
    if isinstance(X, RemoteInput):
        return X.read(categorical_features=categorical_features, schema=schema, estimator_name=estimator_name)
    source = _source(X, FIT_HINT if schema is None else PREDICT_HINT)
    if schema is None:
        check_not_empty(source.shape, estimator_name)
        return _read_to_fit(source, categorical_features)
    if categorical_features is not None:
        raise ValueError("categorical_features is for fit; a schema already says it.")
    check_same_columns(source.names, source.shape[1], schema, estimator_name)
    check_not_empty(source.shape, estimator_name)
    numbers = {
        column: category_numbers(source.labels(column), places) for column, places in schema.places.items()
    }
    return source.table(schema, numbers)


def _read_to_fit(source: _Source, categorical_features: Any) -> Table:
    n_columns = source.shape[1]
    chosen = chosen_columns(categorical_features, source.names, n_columns)
    categorical = sorted(source.typed_categorical if chosen is None else chosen)
    labels = {column: source.labels(column) for column in categorical}
    categories = {column: known_categories(found) for column, found in labels.items()}
    schema = Schema(n_columns, source.names, tuple(map(categories.get, range(n_columns))))
    numbers = {column: category_numbers(labels[column], places) for column, places in schema.places.items()}
    return source.table(schema, numbers)


def _source(X: Any, hint: str) -> _Source:
    if sparse.issparse(X):
        return SparseSource(X)
    if not isinstance(X, (np.ndarray, list, tuple)):
        frame = as_frame(X)
        if frame is not None:
            return FrameSource(frame, hint)
    return ArraySource(X, hint)
