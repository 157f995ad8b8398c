"""What workers do with a partition: look at it, and make codes of it.

A partition is cast to the dtypes that all partitions put together have, and then read as any table is. So
every value, missing value and category is what it would be if all rows were in one memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow._typing import AnyFloats
from hedgerow.binning import EDGE_SAMPLE_ROWS, Bins, aligned_rows
from hedgerow.dtypes import CODE
from hedgerow.kernels.cpu.binning import encode
from hedgerow.kernels.cpu.random import EDGE_SAMPLE, sample_rows
from hedgerow.kernels.cpu.resample import add_keys
from hedgerow.memory import rows_per_block
from hedgerow.table.reading import read_table
from hedgerow.table.table import Schema, Table, value_bits

# Cells read at a time: arrays above 128 KiB are asked of the system each time and given back, where Dask
# sets MALLOC_TRIM_THRESHOLD_, and new memory costs more than the keys (200 ms for 500,000 x 28, else 40).
_BLOCK_CELLS = 16_000
_ROWS_TO_ENCODE = 65_536


@dataclass(frozen=True, eq=False)
class Layout:
    """How a partition is read.

    Parameters
    ----------
    target, weight : names of columns of data frames, or None
    names : list of the columns of data frames, without those two, or None for arrays
    dtypes : dict by name, or the dtype of arrays
        Of all partitions put together.
    categorical : list of int
        Positions of the categorical columns.
    n_rows, n_columns : int
        Of all partitions, and of X.
    schema : Schema or None
        With the categories of all partitions, once they are known.
    estimator_name : str
    """

    target: Any
    weight: Any
    names: list[Any] | None
    dtypes: Any
    categorical: list[int]
    n_rows: int
    n_columns: int
    schema: Schema | None
    estimator_name: str

    @property
    def strings(self) -> tuple[str, ...] | None:
        """The names of the columns, if they are strings."""
        if self.names is None or not all(isinstance(name, str) for name in self.names):
            return None
        return tuple(self.names)


class Head(NamedTuple):
    """What must be known of a partition before it can be read."""

    n_rows: int
    n_bytes: int
    rows: Any  # few rows, with a value of every column that has any: they have the dtypes of the partition


class Look(NamedTuple):
    """What becomes known of a partition."""

    dtype: np.dtype[Any]
    keys: NDArray[np.uint64]
    rounded: NDArray[np.uint32]
    sample: AnyFloats
    y: Any
    weight: Any


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Say in errors which partition it was."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = " ".join(str(error).split())
        raise kind(f"partition {number} of X: {said}") from None


def head(part: Any, _common: None, number: int) -> Head:
    """The length and the dtypes of a partition."""
    with _naming(number):
        if hasattr(part, "iloc"):
            positions = {0} if len(part) else set()
            for column in range(part.shape[1]):
                valid = part.iloc[:, column].notna().to_numpy()
                if valid.any():
                    positions.add(int(valid.argmax()))
            size = int(part.memory_usage(index=True, deep=False).sum())
            return Head(len(part), size, part.iloc[sorted(positions)].reset_index(drop=True))
        if not (isinstance(part, np.ndarray) or sparse.issparse(part)):
            raise TypeError(f"it is a {type(part).__name__}: it must be a data frame or an array")
        part = part.tocsr() if sparse.issparse(part) else part
        size = part.data.nbytes if sparse.issparse(part) else part.nbytes
        return Head(part.shape[0], size, part[:1])


def categories(part: Any, layout: Layout, number: int) -> list[list[Any]]:
    """The categories that occur in a partition, for every categorical column."""
    with _naming(number):
        table = read_table(
            _values(part, layout),
            categorical_features=layout.categorical,
            estimator_name=layout.estimator_name,
        )
        found = [table.schema.categories[column] for column in layout.categorical]
        return [[] if one is None else one.tolist() for one in found]


def look(part: Any, layout: Layout, number: int, first: int) -> Look:
    """Keys of all rows, those rows that edges are taken from, the target and the weights."""
    with _naming(number):
        table = _table(_values(part, layout), layout)
    keys, rounded = _keys(table)
    sample = table.rows(sampled(first, table.n_rows, layout.n_rows) - first)
    y, weight = (None if name is None else part[name].reset_index(drop=True) for name in _named(layout))
    return Look(table.dtype, keys, rounded, sample, y, weight)


def codes(part: Any, common: tuple[Layout, Bins, bool], start: int, stop: int) -> NDArray[Any]:
    """Codes of some rows of a partition: (rows, stride) or (columns, rows)."""
    layout, bins, by_row = common
    table = _table(_values(_cut(part, start, stop), layout), layout)
    n = table.n_rows
    none = np.empty((0, 0), CODE)
    made: NDArray[Any]
    made = zeros_by_row(n, bins.n_columns) if by_row else np.empty((bins.n_columns, n), bins.code_dtype)
    raw = (bins.edges, bins.edge_starts, bins.tables, bins.table_starts)
    step = rows_per_block(bins.n_columns, _ROWS_TO_ENCODE)
    for first in range(0, n, step):
        block = table.block(first, min(first + step, n))
        encode(block, *raw, made if by_row else none, none if by_row else made, first)
    return made


def _cut(part: Any, start: int, stop: int) -> Any:
    """Some rows of a partition."""
    if hasattr(part, "iloc"):
        return part.iloc[start:stop]
    return (part.tocsr() if sparse.issparse(part) else part)[start:stop]


def zeros_by_row(n_rows: int, n_columns: int) -> NDArray[Any]:
    """Memory for codes by row; what lies between rows is zero."""
    made = aligned_rows(n_rows, n_columns)
    made[:] = 0
    return made


def _named(layout: Layout) -> tuple[Any, Any]:
    return layout.target, layout.weight


def _values(part: Any, layout: Layout) -> Any:
    """The columns of X, of the dtypes that they have in all partitions together."""
    if layout.names is None:
        return part if part.dtype == layout.dtypes else part.astype(layout.dtypes)
    if any(name is not None for name in _named(layout)):
        part = part[layout.names]
    for name in layout.names:
        if part[name].dtype != layout.dtypes[name]:
            try:
                part = part.astype({name: layout.dtypes[name]})
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"column {name!r} has dtype {part[name].dtype}, and {layout.dtypes[name]} with the other "
                    f"partitions, which it cannot be cast to: {error}"
                ) from None
    return part


def _table(values: Any, layout: Layout) -> Table:
    if layout.schema is None:  # no categories: any partition is read as the whole would be
        return read_table(values, categorical_features=[], estimator_name=layout.estimator_name)
    # A warning about names is given once, where the fit is. (Tasks must leave the filters of warnings alone:
    # those belong to the process, and threads would put back one another's.)
    schema = replace(layout.schema, names=layout.strings)
    return read_table(values, schema=schema, estimator_name=layout.estimator_name)


def _keys(table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    keys, rounded = np.zeros(table.n_rows, np.uint64), np.zeros(table.n_rows, np.uint64)
    step = max(1, _BLOCK_CELLS // table.n_columns)
    for first in range(0, table.n_rows, step):
        block = table.block(first, min(first + step, table.n_rows))
        add_keys(value_bits(block), 0, keys[first : first + step])
        add_keys(value_bits(block, rounded=True), 0, rounded[first : first + step])
    return keys, (rounded >> np.uint64(32)).astype(np.uint32)


def sampled(first: int, n: int, n_rows: int) -> NDArray[np.int64]:
    """Those of n rows from `first` on that edges are taken from; as `hedgerow.binning` chooses them."""
    rows = np.arange(first, first + n, dtype=np.int64)
    if n_rows <= EDGE_SAMPLE_ROWS:
        return rows
    return rows[: sample_rows(EDGE_SAMPLE_ROWS / n_rows, 0, EDGE_SAMPLE, 0, first, first + n, rows)]
