"""A table whose rows are on the workers of a Dask cluster."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.distributed import pieces
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.place import DaskShards
from hedgerow.distributed.rows import RowsOfPartitions
from hedgerow.distributed.scan import Found
from hedgerow.memory import require_memory
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team


class DaskTable(RemoteTable):
    """A surveyed Dask collection; see `hedgerow.table.remote.RemoteTable`."""

    __slots__ = ("_found", "_partitions")

    def __init__(self, found: Found, partitions: Partitions) -> None:
        super().__init__(found.scan)
        self._found, self._partitions = found, partitions

    @property
    def cluster(self) -> tuple[Any, Any]:
        """The client of the cluster and its settings."""
        return self._partitions.client, self._partitions.settings

    def discard_targets(self) -> None:
        """Discard targets, weights and keys; see `RemoteTable.discard_targets`."""
        super().discard_targets()
        self._found = replace(self._found, scan=self.scan)

    def make_shards(
        self, factory: Any, bins: Bins, row_arrays: dict[str, NDArray[Any]], n_threads: int
    ) -> DaskShards:
        """Codes of all rows, in parts on the workers; see `RemoteTable.make_shards`."""
        rows = RowsOfPartitions(self._partitions, self._found, bins, by_row=factory.by_row)
        return DaskShards(rows, factory, row_arrays)

    def encode(self, bins: Bins, team: Team, *, for_growing: bool = True) -> BinnedTable:
        """Codes of all rows, brought to this process; see `RemoteTable.encode`."""
        n_bytes = bins.n_columns * self.n_rows * np.dtype(bins.code_dtype).itemsize
        require_memory({"codes": 2 * n_bytes}, f"bringing the codes of {self.n_rows:,} rows to this process")
        lengths = self._found.lengths
        filled = [number for number, n in enumerate(lengths) if n]
        parts = self._partitions.ask(
            pieces.codes,
            filled,
            [(0, lengths[number]) for number in filled],
            (self._found.layout, bins, False),
            "making codes of the partitions of X",
        )
        self._partitions.release()
        return BinnedTable.of(bins, np.concatenate(parts, axis=1), team, for_growing=for_growing)
