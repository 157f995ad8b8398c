"""Dask DataFrames and Arrays as X, with a target and weights that are on the cluster or in this process.

A collection is a list of partitions, each a pandas data frame, a NumPy array or a SciPy sparse matrix that a
worker computes; rows are numbered consecutively over all partitions.
"""

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.distributed.cluster import Client, Settings, client_of, gather_results, settings
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.scan import CollectionColumns, CollectionRows, concatenate, scan_partitions
from hedgerow.distributed.shards import ENCODING, DaskShards
from hedgerow.system_memory import require_memory
from hedgerow.table.remote import RemoteInput, RemoteTable, TableScan
from hedgerow.table.table import Schema
from hedgerow.threads import Team

_TYPES = ("DataFrame", "Series", "Array", "Index", "Scalar", "Bag", "Delayed")


def collection_type(X: Any) -> str | None:
    """Return the name of the type of a Dask collection, "DataFrame", "Series", "Array", ..., or None.

    The names of the type and its module decide, so that Dask is not imported.

    >>> collection_type([1.0]) is None
    True
    """
    if not type(X).__module__.startswith(("dask.", "dask_expr.")):
        return None
    for base in type(X).__mro__:
        if base.__name__ in _TYPES:
            return base.__name__
    return type(X).__name__ if hasattr(X, "__dask_graph__") else None


def delayed_blocks(values: Any) -> list[Any]:
    """Return the partitions of a collection, each as a Delayed."""
    blocks = values.to_delayed()
    return list(blocks.ravel()) if isinstance(blocks, np.ndarray) else list(blocks)


def open_collection(X: Any, y: Any = None, target: Any = None, weight: Any = None) -> RemoteInput | None:
    """Return a Dask collection as remote input.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array of shape (n_samples, n_features)
        The values are those of `X.compute()`. The partitions of a DataFrame may have any lengths, also
        unknown ones and 0, and may lack categories that others have. If dtypes of a column differ, the result
        is that of `pandas.concat`, and for chunks of an Array that of `numpy.concatenate`.
    y : Dask Series, Array or DataFrame of one column, or any target in memory
        Its partitions may differ from those of X.
    target : str, optional
        The column of the DataFrame X that is the target, if y is None.
    weight : as y, or str
        Weights of the rows; a str names a column of the DataFrame X.

    Returns
    -------
    RemoteInput or None
        None if X is not a Dask collection.

    Examples
    --------
    >>> open_collection([[1.0], [2.0]], [0, 1]) is None
    True
    """
    kind = collection_type(X)
    if kind is None:
        _check_in_memory(y, "y")
        _check_in_memory(weight, "sample_weight")
        return None
    if kind not in ("DataFrame", "Array"):
        raise TypeError(f"X must be a Dask DataFrame or a Dask Array of two dimensions; got a Dask {kind}")
    if target is not None and y is not None:
        raise ValueError(f"only one of y and target may be passed; got y and target={target!r}")
    name, weights = (weight, None) if isinstance(weight, str) else (None, weight)
    for parameter, column in (("target", target), ("sample_weight", name)):
        if column is not None:
            _check_column(X, kind, parameter, column)
    client = client_of(X)
    for parameter, values in (("y", y), ("sample_weight", weights)):
        if collection_type(values) not in (None, "DataFrame", "Series", "Array"):
            raise TypeError(
                f"{parameter} must be a Dask Series or a Dask Array; got a Dask {collection_type(values)}"
            )
    return DaskInput(X, client, CollectionColumns(kind == "DataFrame", target, name), y, weights)


def _check_in_memory(values: Any, name: str) -> None:
    kind = collection_type(values)
    if kind is not None:
        raise TypeError(f"{name} is a Dask {kind}, but X is in memory: pass {name}.compute()")


def _check_column(X: Any, kind: str, name: str, column: Any) -> None:
    if kind == "Array":
        raise ValueError(
            f"{name}={column!r} names a column, but X is a Dask Array, whose columns have no names"
        )
    if column not in list(X.columns):
        raise ValueError(f"{name}={column!r} is not a column of X; its columns are {list(X.columns)}")


@dataclass(eq=False)
class DaskInput(RemoteInput):
    """A Dask collection with its target and weights."""

    source: Any
    client: Client
    columns: CollectionColumns
    y: Any
    weight: Any
    _read: list[Partitions] = field(default_factory=list)

    def read(self, *, categorical_features: Any, schema: Schema | None, estimator_name: str) -> "DaskTable":
        """Scan all rows; see `RemoteInput.read`."""
        chosen = settings()
        source = self.source if self.columns.is_frame else _rechunk_rows(self.source)
        partitions = Partitions(self.client, chosen, delayed_blocks(source))
        self._read.append(partitions)
        try:
            scan, rows = scan_partitions(
                partitions, self.columns, categorical_features, schema, estimator_name
            )
            others = {"y": self.y, "sample_weight": self.weight}
            loaded = {
                name: self._load(values, chosen, f"reading {name}")
                for name, values in others.items()
                if values is not None
            }
        except BaseException:
            partitions.release()
            raise
        return DaskTable(replace(scan, **loaded), rows)

    def close(self) -> None:
        """Release the partitions; see `RemoteInput.close`."""
        for partitions in self._read:
            partitions.release()
        self._read.clear()

    def _load(self, values: Any, chosen: Settings, what: str) -> Any:
        """Return a target or weights as an array of this process."""
        kind = collection_type(values)
        if kind is None:
            return values
        if kind == "Array" and values.ndim > 1:
            values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
        futures = self.client.compute(delayed_blocks(values))
        return concatenate(gather_results(self.client, futures, chosen, what))


def _rechunk_rows(X: Any) -> Any:
    """Return an array whose chunks have all columns."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead (X is a Dask Array): reshape it to rows and "
            "columns"
        )
    if X.numblocks[1] == 1:
        return X
    warnings.warn(
        f"the columns of X are in {X.numblocks[1]} chunks and are concatenated first; X.rechunk({{1: -1}}) "
        "does it once for several fits",
        UserWarning,
        stacklevel=4,
    )
    return X.rechunk({1: -1})


class DaskTable(RemoteTable):
    """A scanned Dask collection; see `hedgerow.table.remote.RemoteTable`."""

    __slots__ = ("_rows", "partitions")

    def __init__(self, scan: TableScan, rows: CollectionRows) -> None:
        super().__init__(scan)
        self._rows, self.partitions = rows, rows.partitions

    @property
    def cluster(self) -> tuple[Client, Settings]:
        """The client of the cluster and its settings."""
        return self.partitions.client, self.partitions.settings

    def shared_codes(self) -> AbstractContextManager[None]:
        """Return a context in which rows are encoded once; see `RemoteTable.shared_codes`."""
        return self._rows.shared_codes()

    def make_shards(
        self, factory: Any, bins: Bins, row_arrays: dict[str, NDArray[Any]], n_threads: int
    ) -> DaskShards:
        """Return the codes of all rows, in shards on the workers; see `RemoteTable.make_shards`."""
        return DaskShards(self._rows, bins, factory, row_arrays)

    def encode(self, bins: Bins, team: Team, *, for_growing: bool = True) -> BinnedTable:
        """Return the codes of all rows in this process; see `RemoteTable.encode`."""
        codes = self.read_codes(bins)
        self.partitions.release()
        return BinnedTable.of(bins, codes, team, for_growing=for_growing)

    def read_codes(self, bins: Bins) -> NDArray[Any]:
        """Return the codes of all rows in this process; see `RemoteTable.read_codes`."""
        n_bytes = bins.n_columns * self.n_rows * np.dtype(bins.code_dtype).itemsize
        require_memory({"codes": 2 * n_bytes}, f"bringing the codes of {self.n_rows:,} rows to this process")
        futures = self._rows.submit_codes(bins, 0, self.n_rows, None)
        codes = gather_results(self.partitions.client, futures, self.partitions.settings, ENCODING)
        return np.concatenate(codes, axis=1)
