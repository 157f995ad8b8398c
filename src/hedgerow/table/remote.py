"""Remote tables: rows in files that are read in chunks, or on the workers of a cluster.

`RemoteInput` is X as the user passed it. `RemoteInput.read` scans all rows once and returns a `RemoteTable`
with a `TableScan`: the schema, the target and the weights of all rows, keys of all rows, and the rows that
bin edges are computed from. The values of other rows never come to this process as a whole; their codes are
made where the rows are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import AnyFloats, Integers, Keys, RowNumbers
from hedgerow.table.table import Schema, Table


class RemoteInput(ABC):
    """An X, with its target and weights, that is not in the memory of this process."""

    source: Any  # X as the user passed it

    @abstractmethod
    def read(self, *, categorical_features: Any, schema: Schema | None, estimator_name: str) -> "RemoteTable":
        """Scan all rows; the parameters are those of `hedgerow.table.read_table`."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what other machines hold for the tables that were read."""


@dataclass(frozen=True, eq=False)
class TableScan:
    """The results of the first pass over all rows."""

    n_rows: int
    schema: Schema
    dtype: np.dtype[Any]  # of blocks, as that of a `Table`: float32 or float64
    y: NDArray[Any] | None  # (n_rows,), the target as it was passed, labels or numbers
    sample_weight: NDArray[Any] | None  # (n_rows,)
    keys: Keys  # (n_rows,), `hedgerow.kernels.cpu.binning.add_keys` of the values of every row
    rounded: RowNumbers  # (n_rows,), upper halves of the keys of the values rounded to float32
    sample_rows: Integers  # increasing; at least the rows that `hedgerow.binning` computes edges from
    sample: AnyFloats  # (len(sample_rows), n_columns) of `dtype`, their values


class RemoteTable(Table):
    """A scanned table; `make_shards` makes codes where the rows are, `encode` in this process."""

    __slots__ = ("scan",)

    low_memory = False  # whether shards store codes once instead of twice

    def __init__(self, scan: TableScan) -> None:
        self.scan = scan
        self.n_rows, self.n_columns = scan.n_rows, scan.schema.n_columns
        self.schema, self.dtype = scan.schema, scan.dtype

    def block(self, start: int, stop: int) -> NoReturn:
        """Raise: the rows are not in this process."""
        raise TypeError("the rows of a remote table cannot be read in blocks")

    def rows(self, numbers: NDArray[np.integer[Any]], columns: slice = slice(0, None)) -> AnyFloats:
        """Return values of sampled rows; see `Table.rows`."""
        known = self.scan.sample_rows
        positions = np.searchsorted(known, numbers).clip(max=max(0, len(known) - 1))
        if len(known) == 0 or not np.array_equal(known[positions], numbers):
            raise ValueError("max_bins above 255 needs all rows in memory, and X is remote: use at most 255")
        return self.scan.sample[positions, columns]

    def discard_targets(self) -> None:
        """Discard what only the start of a fit uses: targets, weights and keys."""
        none = np.empty(0, np.uint64)
        self.scan = replace(self.scan, y=None, sample_weight=None, keys=none, rounded=none.astype(np.uint32))

    @property
    def cluster(self) -> tuple[Any, Any] | None:
        """Client and settings of the Dask cluster that holds the rows; None for files."""
        return None

    def shared_codes(self) -> AbstractContextManager[None]:
        """Return a context in which the shards of several models are made, from codes that are made once."""
        return nullcontext()

    @abstractmethod
    def make_shards(
        self, factory: Callable[..., Any], bins: Any, row_arrays: dict[str, NDArray[Any]], n_threads: int
    ) -> Any:
        """Make the codes of all rows where the rows are, as `ShardedRows` of `hedgerow.growing.shards`.

        Each shard is made by `factory`, a ShardFactory, and gets its slice of `row_arrays`. It may change its
        codes if one of these is named "codes". Shards in this process use `n_threads`; other machines use
        their own threads.
        """

    @abstractmethod
    def read_codes(self, bins: Any) -> NDArray[Any]:
        """Return codes (columns, rows) of all rows in this process; other passes follow."""

    @abstractmethod
    def encode(self, bins: Any, team: Any, *, for_growing: bool = True) -> Any:
        """Return codes of all rows in this process, as `hedgerow.binning.Bins.encode` returns them."""
