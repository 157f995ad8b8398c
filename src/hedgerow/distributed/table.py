"""A table whose rows are on the workers of a Dask cluster."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.distributed import pieces
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.place import DaskPlace
from hedgerow.distributed.rows import RowsOfPartitions
from hedgerow.distributed.survey import Found
from hedgerow.memory import require
from hedgerow.table.surveyed import SurveyedTable
from hedgerow.threads import Team


class DaskTable(SurveyedTable):
    """A surveyed Dask collection; see `hedgerow.table.surveyed.SurveyedTable`."""

    __slots__ = ("_found", "_partitions")

    def __init__(self, found: Found, partitions: Partitions) -> None:
        super().__init__(found.survey)
        self._found, self._partitions = found, partitions

    def forget(self) -> None:
        """Let go of what only the beginning of a fit needs: targets, weights and keys."""
        none = np.empty(0, np.uint64)
        self.survey = replace(
            self.survey, y=None, sample_weight=None, keys=none, rounded=none.astype(np.uint32)
        )
        self._found = replace(self._found, survey=self.survey)

    def place(self, make: Any, bins: Bins, shares: dict[str, NDArray[Any]], n_threads: int) -> DaskPlace:
        """Codes of all rows, in parts on the workers; see `SurveyedTable.place`."""
        rows = RowsOfPartitions(self._partitions, self._found, bins, by_row=make.by_row)
        return DaskPlace(rows, make, shares)

    def encode(self, bins: Bins, team: Team, *, for_growing: bool = True) -> BinnedTable:
        """Codes of all rows, brought to this process; see `SurveyedTable.encode`."""
        n_bytes = bins.n_columns * self.n_rows * np.dtype(bins.code_dtype).itemsize
        require({"codes": 2 * n_bytes}, f"bringing the codes of {self.n_rows:,} rows to this process")
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
