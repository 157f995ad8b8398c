"""The partitions of a collection, and the tasks that run on them.

Every pass over the rows is one task per partition. While the futures of partitions are held, a partition is
computed once. A collection that does not fit into the memory of the workers is computed again for every pass.

A task casts its partition to the dtypes that all partitions have when concatenated, and reads it as any table
is read. So each value, missing value and category is the same as with all rows in one process.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow._typing import AnyFloats, Keys, RowNumbers
from hedgerow.binning import Bins, edge_rows, row_keys, upper_half
from hedgerow.distributed.cluster import Client, Future, Settings, gather_results, release, require_workers
from hedgerow.growing.row_layout import RowLayout
from hedgerow.optional import require_extra
from hedgerow.table.columns import string_names
from hedgerow.table.reading import read_table
from hedgerow.table.table import Schema, Table
from hedgerow.threads import rows_per_block

Task = Callable[..., Any]
Args = Sequence[tuple[Any, ...]]

_HELD_FRACTION = 0.4  # of the memory of all workers, at most, for partitions that are held
# Values hashed at a time: the system allocates arrays above 128 KiB each time and frees them at once where
# Dask sets MALLOC_TRIM_THRESHOLD_; new memory costs more than the keys (200 ms for 500,000 x 28, else 40).
_BLOCK_VALUES = 16_000
_ENCODE_ROWS = 65_536


class Partitions:
    """The partitions of a collection, in order, each a Delayed."""

    def __init__(self, client: Client, settings: Settings, blocks: Sequence[Any]) -> None:
        self.client, self.settings, self._blocks = client, settings, list(blocks)
        self._held: list[Future] | None = client.compute(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def submit(self, task: Task, numbers: Sequence[int], args: Args, common: Any) -> list[Future]:
        """Run ``task(partition, common, *args)`` on some partitions; return the futures in their order."""
        if not numbers:
            return []
        client, name = self.client, f"hedgerow-{task.__name__}"
        # as a task of its own the common argument is sent to every worker once, and is never lost
        shared = client.submit(identity, common, pure=False, key=_unique("hedgerow-common"))
        each = list(zip(numbers, args, strict=True))
        if self._held is not None:
            return [
                client.submit(task, self._held[number], shared, *own, pure=False, key=_unique(name))
                for number, own in each
            ]
        delayed = require_extra("dask", extra="dask").delayed(task, pure=False)
        blocks = [(self._blocks[number], own) for number, own in each]
        return list(
            client.compute([delayed(one, shared, *own, dask_key_name=_unique(name)) for one, own in blocks])
        )

    def run(self, what: str, task: Task, numbers: Sequence[int], args: Args, common: Any) -> list[Any]:
        """Submit tasks and return their results; `what` starts the messages of errors."""
        return gather_results(self.client, self.submit(task, numbers, args, common), self.settings, what)

    def release_if_large(self, n_bytes: int) -> None:
        """Release the partitions if all of them together take too much memory."""
        workers = require_workers(self.client, self.settings)
        limits = [info.get("memory_limit") or 0 for info in workers.values()]
        if all(limits) and n_bytes > _HELD_FRACTION * sum(limits):
            self.release()

    def release(self) -> None:
        """Release the partitions; later tasks compute them again."""
        held, self._held = self._held, None
        release(self.client, held or [])


def identity(value: Any) -> Any:
    """Return the argument."""
    return value


def _unique(name: str) -> str:
    return f"{name}-{uuid4().hex}"


# --- tasks


@dataclass(frozen=True, eq=False)
class PartitionLayout:
    """How a partition is read."""

    target: Any  # the name of the column of data frames that is the target, or None
    weight: Any  # the name of the column of weights, or None
    names: list[Any] | None  # the columns of data frames, without those two; None for arrays
    dtypes: Any  # of all partitions when concatenated: a dict by name, or the dtype of arrays
    categorical: list[int]  # the indices of the categorical columns
    n_rows: int  # of all partitions
    n_columns: int  # of X
    schema: Schema | None  # with the categories of all partitions, once they are known
    estimator_name: str

    @property
    def string_names(self) -> tuple[str, ...] | None:
        """The names of the columns, if they are strings."""
        return None if self.names is None else string_names(self.names)


class PartitionHead(NamedTuple):
    """The first pass: what must be known of a partition before it can be read."""

    n_rows: int
    n_bytes: int
    rows: Any  # a few rows with a valid value in every column that has any; they have the partition's dtypes


class PartitionScan(NamedTuple):
    """The last pass: what one partition adds to a `hedgerow.table.remote.TableScan`."""

    dtype: np.dtype[Any]
    keys: Keys
    rounded: RowNumbers
    sample: AnyFloats
    y: Any
    weight: Any


@contextmanager
def _errors_name_partition(number: int) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number} of X: {' '.join(str(error).split())}") from None


def read_head(partition: Any, _common: None, number: int) -> PartitionHead:
    """Return the length and the dtypes of a partition."""
    with _errors_name_partition(number):
        if hasattr(partition, "iloc"):
            chosen = {0} if len(partition) else set()
            for column in range(partition.shape[1]):
                valid = partition.iloc[:, column].notna().to_numpy()
                if valid.any():
                    chosen.add(int(valid.argmax()))
            size = int(partition.memory_usage(index=True, deep=False).sum())
            return PartitionHead(len(partition), size, partition.iloc[sorted(chosen)].reset_index(drop=True))
        if not (isinstance(partition, np.ndarray) or sparse.issparse(partition)):
            raise TypeError(f"it must be a data frame or an array; got a {type(partition).__name__}")
        partition = partition.tocsr() if sparse.issparse(partition) else partition
        size = partition.data.nbytes if sparse.issparse(partition) else partition.nbytes
        return PartitionHead(partition.shape[0], size, partition[:1])


def find_categories(partition: Any, layout: PartitionLayout, number: int) -> list[list[Any]]:
    """Return the categories of a partition, for every categorical column."""
    with _errors_name_partition(number):
        table = read_table(
            _features(partition, layout),
            categorical_features=layout.categorical,
            estimator_name=layout.estimator_name,
        )
        categories = [table.schema.categories[column] for column in layout.categorical]
        return [[] if values is None else values.tolist() for values in categories]


def scan_partition(partition: Any, layout: PartitionLayout, number: int, first: int) -> PartitionScan:
    """Keys of all rows, the rows that bin edges are computed from, the target and the weights."""
    with _errors_name_partition(number):
        table = _read(_features(partition, layout), layout)
    keys, rounded = row_keys(table, max(1, _BLOCK_VALUES // table.n_columns))
    sample = table.rows(edge_rows(first, first + table.n_rows, layout.n_rows) - first)
    y, weight = (
        None if name is None else partition[name].reset_index(drop=True)
        for name in (layout.target, layout.weight)
    )
    return PartitionScan(table.dtype, keys, upper_half(rounded), sample, y, weight)


def encode_rows(
    partition: Any, common: tuple[PartitionLayout, Bins, RowLayout | None], start: int, stop: int
) -> NDArray[Any]:
    """Return codes of some rows of a partition: (rows, stride) or (columns, rows)."""
    layout, bins, rows = common
    if hasattr(partition, "iloc"):
        partition = partition.iloc[start:stop]
    else:
        partition = (partition.tocsr() if sparse.issparse(partition) else partition)[start:stop]
    table = _read(_features(partition, layout), layout)
    n = table.n_rows
    codes = np.empty((bins.n_columns, n), bins.code_dtype) if rows is None else rows.allocate(n)
    step = rows_per_block(bins.n_columns, _ENCODE_ROWS)
    for first in range(0, n, step):
        block = table.block(first, min(first + step, n))
        if rows is None:
            bins.encode_block(block, codes, first, by_row=False)
        else:
            rows.encode(bins, block, codes, first)
    return codes


def _features(partition: Any, layout: PartitionLayout) -> Any:
    """Return the columns of X, with the dtypes that all partitions have when concatenated."""
    if layout.names is None:
        return partition if partition.dtype == layout.dtypes else partition.astype(layout.dtypes)
    if layout.target is not None or layout.weight is not None:
        partition = partition[layout.names]
    for name in layout.names:
        if partition[name].dtype != layout.dtypes[name]:
            try:
                partition = partition.astype({name: layout.dtypes[name]})
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"column {name!r} has dtype {partition[name].dtype} and cannot be cast to "
                    f"{layout.dtypes[name]}, which it has in all partitions together: {error}"
                ) from None
    return partition


def _read(values: Any, layout: PartitionLayout) -> Table:
    if layout.schema is None:  # no categories: any partition is read as the whole would be
        return read_table(values, categorical_features=[], estimator_name=layout.estimator_name)
    # The client warns about names, once. (Tasks must not change the warning filters: these belong to the
    # process, and threads would restore one another's.)
    schema = replace(layout.schema, names=layout.string_names)
    return read_table(values, schema=schema, estimator_name=layout.estimator_name)
