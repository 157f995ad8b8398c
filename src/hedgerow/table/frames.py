"""Data frames: pandas, polars and Arrow, read through narwhals one column at a time.

narwhals provides the dtype and the numbers of a column. It does not provide the codes of category, enum,
dictionary and string columns; this module reads them from each library directly.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Floats, is_missing
from hedgerow.table.columns import (
    CodedColumn,
    check_numbers,
    code_numbers,
    code_objects,
    numbers_of_objects,
    string_names,
)
from hedgerow.table.table import (
    REMEDY,
    ColumnTable,
    MatrixTable,
    Schema,
    Table,
    check_kind,
    check_two_dimensional,
)
from hedgerow.threads import cached_property

Series: TypeAlias = Any  # a narwhals Series; the type stubs of v2 frames do not return v2 series

_SMALL = 4096  # rows; a larger frame is never copied whole
_CODE_BITS = 32  # the smallest width of dictionary codes


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X as a narwhals data frame, None if it is not one; raise an error for lazy frames and series."""
    arrow = sys.modules.get("pyarrow")  # X cannot be an Arrow table if pyarrow was never imported
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        X = arrow.Table.from_batches([X])
    if arrow is not None and isinstance(X, arrow.Table) and (index := index_columns(X.schema)):
        X = X.select([name for name in X.column_names if name not in index])
    try:
        frame = nw.from_native(X, allow_series=True, pass_through=True)
    except DuplicateError as error:
        details = " ".join(str(error).split())  # narwhals writes one name per line
        raise ValueError(f"Column names must be unique. {details}") from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy frame ({type(X).__module__}.{type(X).__name__}); "
            "collect it first, for example with X.collect()."
        )
    if isinstance(frame, nw.Series):
        check_two_dimensional(1, X)
    return frame if isinstance(frame, nw.DataFrame) else None


def index_columns(schema: Any) -> set[str]:
    """Return the columns of an Arrow schema that store the index of a pandas DataFrame.

    pandas and Dask mark them in the metadata; an index is not a feature.

    >>> import pyarrow as pa
    >>> noted = {"pandas": '{"index_columns": ["day", {"kind": "range"}]}'}
    >>> index_columns(pa.schema([("day", pa.int8()), ("x", pa.int8())], noted))
    {'day'}
    """
    names: Any = ()
    with suppress(ValueError, TypeError, KeyError):  # metadata can be anything
        names = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


class FrameSource:
    """A data frame: named columns, each with its own dtype."""

    def __init__(self, frame: nw.DataFrame[Any], hint: str) -> None:
        self._hint = hint  # for the error about a column that is not numeric
        self._frame = frame
        self.shape: tuple[int, int] = frame.shape
        self.names = string_names(frame.columns)

    @cached_property
    def _columns(self) -> list[Series]:
        return list(self._frame.iter_columns())

    @property
    def categorical_by_dtype(self) -> frozenset[int]:
        """Columns of a categorical dtype."""
        return frozenset(
            number
            for number, dtype in enumerate(self._frame.schema.values())
            if isinstance(dtype, (nw.Categorical, nw.Enum))
        )

    def label(self, column: int) -> str:
        """Return the name of a column for messages."""
        name = self._columns[column].name
        return f"Column {name!r}" if isinstance(name, str) else f"Column {name}"

    def coded(self, column: int) -> CodedColumn:
        """Return a categorical column as codes and distinct values."""
        return _coded(self._columns[column], self.label(column))

    def table(self, schema: Schema, numbers: Mapping[int, AnyFloats]) -> Table:
        """Make the table; `numbers` are the category numbers of the categorical columns."""
        matrix = None if numbers else _small_matrix(self._frame)
        if matrix is not None:
            return MatrixTable(matrix, schema)
        columns: list[NDArray[Any]] = [
            numbers[number] if number in numbers else _numbers(column, self.label(number), self._hint)
            for number, column in enumerate(self._columns)
        ]
        return ColumnTable(columns, schema)


def _small_matrix(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    """Return a small pandas frame of one NumPy dtype as a matrix: ten times faster for one row."""
    if not frame.implementation.is_pandas() or len(frame) > _SMALL:
        return None
    native: Any = frame.to_native()
    dtypes = set(native.dtypes)
    dtype = dtypes.pop()
    if dtypes or not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
        return None
    matrix: NDArray[Any] = native.to_numpy()
    return matrix


def _numbers(column: Series, label: str, hint: str) -> NDArray[Any]:
    """Return a column as an array of a NumPy float, integer or bool dtype, NaN for missing."""
    dtype = column.dtype
    if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return proper_numbers(column)
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return _decoded_numbers(column, label, hint)
    if isinstance(dtype, nw.String):
        check_numbers(column.drop_nulls().head(1).to_list(), label, hint)
        return np.full(len(column), np.nan, dtype=np.float32)  # all null: missing, whatever the type
    if isinstance(dtype, nw.Object):
        return numbers_of_objects(column.to_numpy(), label, hint)
    if isinstance(dtype, nw.Unknown):
        return _unknown_numbers(column, label)
    if isinstance(dtype, (nw.Datetime, nw.Date)):
        return seconds_since_1970(column)
    raise ValueError(f"{label} has type {dtype}, which is not supported; {REMEDY}.")


def proper_numbers(column: Series) -> NDArray[Any]:
    """Return a column of numbers or booleans as an array of a numeric dtype, NaN for missing."""
    values: NDArray[Any]
    if not isinstance(column.dtype, (nw.Int128, nw.UInt128, nw.Decimal)):
        values = column.to_numpy()
        if values.dtype.kind in "fiub":
            return values
    values = column.cast(nw.Float64).to_numpy()  # no such NumPy dtype, or booleans with nulls
    return values


def seconds_since_1970(column: Series) -> Floats:
    """Return dates and timestamps as seconds since 1970 (UTC if they have a time zone), NaN for missing."""
    microseconds: Floats = column.dt.timestamp("us").cast(nw.Float64).to_numpy()
    return microseconds / 1e6  # a copy: the array may be a view of Arrow's memory


def _decoded_numbers(column: Series, label: str, hint: str) -> Floats:
    """Read a categorical dtype as numbers; its categories must be numbers."""
    codes, values = _coded(column, label)
    objects = np.empty(len(values) + 1, dtype=object)  # the last stays None, for code -1
    objects[:-1] = [None if is_missing(value) else value for value in values]
    decoded = numbers_of_objects(objects, label, hint)
    return np.take(decoded, codes)  # NumPy: -1 is the last


def _unknown_numbers(column: Series, label: str) -> NDArray[Any]:
    """Read what narwhals does not support: all-null columns, pandas sparse, complex and periods."""
    if column.null_count() == len(column):
        return np.full(len(column), np.nan, dtype=np.float32)
    native = column.to_native()
    values = np.asarray(native)
    check_kind(values.dtype, label)
    if values.dtype.kind in "fiub":
        return values
    kind = native.type if hasattr(native, "type") else native.dtype  # of Arrow, and of the others
    if str(kind).startswith("decimal"):  # of 256 bits
        return numbers_of_objects(values, label, "")
    raise ValueError(f"{label} has type {kind}, which is not supported; {REMEDY}.")


def _coded(column: Series, label: str) -> CodedColumn:
    """Return a column of any type as codes and distinct values."""
    dtype = column.dtype
    if isinstance(dtype, (nw.Categorical, nw.Enum, nw.String)):
        native = column.to_native()
        if column.implementation.is_pandas():
            return _code_pandas(native)
        if column.implementation.is_polars():
            return _code_polars(native)
        if column.implementation.is_pyarrow():
            return _code_arrow(native)
    elif isinstance(dtype, nw.Boolean) or dtype.is_float() or dtype.is_integer():
        if not isinstance(dtype, (nw.Int128, nw.UInt128)):
            return _code_number_column(column)
    elif dtype.is_nested():
        raise ValueError(f"{label} has type {dtype}, which cannot be categorical; {REMEDY}.")
    return code_objects(column.to_list(), label)


def _code_number_column(column: Series) -> CodedColumn:
    missing = column.is_null().to_numpy()
    if not missing.any():
        return code_numbers(column.to_numpy())
    # Filling keeps integers integers (floats would merge those beyond 2**53).
    filler = False if isinstance(column.dtype, nw.Boolean) else 0
    codes, values = code_numbers(column.fill_null(filler).to_numpy())
    return CodedColumn(np.where(missing, -1, codes), values)


def _code_pandas(native: Any) -> CodedColumn:
    if not hasattr(native, "cat"):  # that accessor exists for the category dtype only
        if getattr(native.dtype, "pyarrow_dtype", None) is not None:
            return _code_arrow(native.array.__arrow_array__())
        native = native.astype("category")
    return CodedColumn(native.cat.codes.to_numpy(), native.cat.categories.tolist())


def _code_polars(native: Any) -> CodedColumn:
    polars = sys.modules["polars"]
    texts = native.cast(polars.String)  # codes of a Categorical are shared with other columns
    values = texts.drop_nulls().unique().to_list()
    codes = texts.cast(polars.Enum(values)).to_physical().cast(polars.Int64).fill_null(-1)
    return CodedColumn(codes.to_numpy(), values)


def _code_arrow(native: Any) -> CodedColumn:
    arrow = sys.modules["pyarrow"]
    encoded = native.dictionary_encode()  # unchanged if the type is already dictionary
    if isinstance(encoded, arrow.ChunkedArray):
        wide = (
            arrow.chunked_array([widened(chunk) for chunk in encoded.chunks])
            if encoded.num_chunks
            else encoded
        )
        encoded = wide.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast(arrow.int64()).fill_null(-1)
    return CodedColumn(codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist())


def widened(column: Any) -> Any:
    """Return an Arrow dictionary with 32-bit codes, so that arrays can be joined; pandas uses 8 bits."""
    arrow = sys.modules["pyarrow"]
    if column.type.index_type.bit_width >= _CODE_BITS:
        return column
    codes = column.indices.cast(arrow.int32())
    return arrow.DictionaryArray.from_arrays(
        codes, column.dictionary, ordered=column.type.ordered, safe=False
    )
