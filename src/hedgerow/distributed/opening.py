"""What users give: Dask DataFrames and Arrays, with a target and weights that are on the cluster or here.

A collection is a list of partitions, each a pandas data frame, an array of NumPy or a sparse matrix of SciPy
that a worker makes when it is asked to; rows are numbered through all of them.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.distributed.cluster import Client, active_client, results
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.scan import Columns, joined, scan_partitions
from hedgerow.distributed.settings import Settings, settings
from hedgerow.distributed.table import DaskTable
from hedgerow.table.remote import RemoteInput
from hedgerow.table.table import Schema


def kind_of(X: Any) -> str | None:
    """The name of a Dask collection's type, "DataFrame", "Series", "Array", ..., or None if it is none.

    By the names of the type and its module: whoever has no Dask has no collections.

    >>> kind_of([1.0]) is None
    True
    """
    if not type(X).__module__.startswith(("dask.", "dask_expr.")):
        return None
    for base in type(X).__mro__:
        if base.__name__ in ("DataFrame", "Series", "Array", "Index", "Scalar", "Bag", "Delayed"):
            return base.__name__
    return type(X).__name__ if hasattr(X, "__dask_graph__") else None


def open_collection(X: Any, y: Any = None, target: Any = None, weight: Any = None) -> RemoteInput | None:
    """A Dask collection as a table whose rows are elsewhere.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array of shape (n_samples, n_features)
        The values are those that `X.compute()` has. The partitions of a DataFrame may be of any lengths, also
        unknown ones and 0, and may lack categories that others have. If dtypes of a column differ, they
        become what `pandas.concat` makes of them, those of chunks of an Array what `numpy.concatenate` does.
    y : Dask Series, Array or DataFrame of one column, or any target that is in memory
        Its partitions may be others than those of X.
    target : str, optional
        The column of the DataFrame X that is the target, if y is not given.
    weight : as y, or str
        Weights of the rows; a str names a column of the DataFrame X.

    Returns
    -------
    RemoteInput or None
        None if X is no Dask collection.

    Examples
    --------
    >>> open_collection([[1.0], [2.0]], [0, 1]) is None
    True
    """
    kind = kind_of(X)
    if kind is None:
        _refuse_collection(y, "y")
        _refuse_collection(weight, "sample_weight")
        return None
    if kind not in ("DataFrame", "Array"):
        raise TypeError(f"X is a Dask {kind}: give a Dask DataFrame, or a Dask Array of two dimensions")
    if target is not None and y is not None:
        raise ValueError(f"target={target!r} and y are both given: give one of them")
    named = {"target": target, "sample_weight": weight if isinstance(weight, str) else None}
    for name, column in named.items():
        if column is not None:
            _check_named(X, kind, name, column)
    client = active_client(X)
    given_weight = None if isinstance(weight, str) else weight
    for name, values in (("y", y), ("sample_weight", given_weight)):
        if kind_of(values) not in (None, "DataFrame", "Series", "Array"):
            raise TypeError(f"{name} is a Dask {kind_of(values)}: give a Dask Series or a Dask Array")
    columns = Columns(kind == "DataFrame", named["target"], named["sample_weight"])
    return Collection(client, X, columns, y, given_weight)


def _refuse_collection(values: Any, name: str) -> None:
    if kind_of(values) is not None:
        raise TypeError(f"{name} is a Dask {kind_of(values)}, but X is in memory: give {name}.compute()")


def _check_named(X: Any, kind: str, name: str, column: Any) -> None:
    if kind == "Array":
        raise ValueError(
            f"{name}={column!r} names a column, but X is a Dask Array, whose columns have no names"
        )
    if column not in list(X.columns):
        raise ValueError(f"{name}={column!r} is no column of X; its columns are {list(X.columns)}")


@dataclass(eq=False)
class Collection(RemoteInput):
    """A Dask collection with its target and weights."""

    client: Client
    X: Any
    columns: Columns
    y: Any
    weight: Any
    _read: list[Partitions] = field(default_factory=list)

    @property
    def source(self) -> Any:
        """The collection; see `RemoteInput.source`."""
        return self.X

    def read(self, *, categorical_features: Any, schema: Schema | None, estimator_name: str) -> DaskTable:
        """Scan all rows; see `RemoteInput.read`."""
        chosen = settings()
        whole = self.X if self.columns.is_frame else _in_one_column(self.X)
        partitions = Partitions(self.client, chosen, blocks_of(whole))
        self._read.append(partitions)
        try:
            found = scan_partitions(partitions, self.columns, categorical_features, schema, estimator_name)
            scan = found.scan
            if self.y is not None:
                scan = replace(scan, y=self._here(self.y, chosen, "reading y"))
            if self.weight is not None:
                weight = self._here(self.weight, chosen, "reading sample_weight")
                scan = replace(scan, sample_weight=weight)
        except BaseException:
            partitions.release()
            raise
        return DaskTable(replace(found, scan=scan), partitions)

    def close(self) -> None:
        """Let go of the partitions; see `RemoteInput.close`."""
        for partitions in self._read:
            partitions.release()
        self._read.clear()

    def _here(self, values: Any, chosen: Settings, what: str) -> Any:
        """A target or weights as an array of this process."""
        kind = kind_of(values)
        if kind is None:
            return values
        if kind == "Array" and values.ndim > 1:
            values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
        parts = results(self.client, self.client.compute(blocks_of(values)), chosen, what)
        return joined(parts)


def _in_one_column(X: Any) -> Any:
    """An array whose chunks hold whole rows."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead (X is a Dask Array): reshape it to rows and "
            "columns"
        )
    if X.numblocks[1] == 1:
        return X
    warnings.warn(
        f"the columns of X are in {X.numblocks[1]} chunks, and are put together first; X.rechunk({{1: -1}}) "
        "does it once for several fits",
        UserWarning,
        stacklevel=4,
    )
    return X.rechunk({1: -1})


def blocks_of(values: Any) -> list[Any]:
    """The partitions of a collection, each as a Delayed."""
    blocks = values.to_delayed()
    return list(blocks.ravel()) if isinstance(blocks, np.ndarray) else list(blocks)
