"""Rows in memory behind the seam, in plain NumPy: the smallest place where trees can be grown.

A node is an array of row numbers; a row's statistics are three integers, gradient, hessian and copies.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.dtypes import MISSING_CODE, STATISTIC
from hedgerow.kernels.cpu.records import Statistics


class RowsInMemory:
    """A `hedgerow.backends.base.RowStore` over a binned table.

    Parameters
    ----------
    table : BinnedTable

    Examples
    --------
    The root of a table of one column and three rows, the second of them missing:

    >>> import numpy as np
    >>> from hedgerow.binning import find_bins
    >>> from hedgerow.growing.statistics import Quantiser, Weights
    >>> from hedgerow.table import read_table
    >>> from hedgerow.threads import Team
    >>> table, team = read_table(np.array([[1.0], [np.nan], [2.0]])), Team(1)
    >>> weights = Weights.of(np.array([1.0, 1.0, 5.0]), 3)
    >>> measured = Quantiser(weights, 3, team).measure(np.array([1.0, -1.0, 0.5]), np.ones(3))
    >>> store = RowsInMemory(find_bins(table).encode(table, team))
    >>> store.plant(measured.statistics, weights.rows, np.array([0]))
    >>> gradient, hessian, count = store.histograms([0])[0]
    >>> (gradient * measured.gradient_unit).tolist(), count.tolist()
    ([-1.0, 1.0, 2.5], [1, 1, 5])
    """

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        self._channels = np.empty((3, 0), STATISTIC)
        self._columns = np.empty(0, np.int64)
        self._rows: dict[int, NDArray[np.uint32]] = {}

    @property
    def bins(self) -> Bins:
        """How the columns are coded."""
        return self.table.bins

    def plant(self, statistics: Statistics, rows: NDArray[np.uint32], columns: NDArray[np.int64]) -> None:
        """Start a tree; see `RowStore.plant`."""
        self._channels = channels(statistics)
        self._columns = columns
        self._rows = {0: rows.copy()}

    def histograms(self, nodes: Sequence[int]) -> NDArray[np.int64]:
        """Integer sums by column and code; see `RowStore.histograms`."""
        offsets = self.bins.offsets
        out = np.zeros((len(nodes), 3, offsets[-1]), STATISTIC)
        for histogram, node in zip(out, nodes, strict=True):
            rows = self._rows[node]
            for column in self._columns:
                entries = offsets[column] + self.table.codes.by_column[column, rows]
                for sums, channel in zip(histogram, self._channels, strict=True):
                    np.add.at(sums, entries, channel[rows])
        return out

    def partition(self, node: int, split: np.void, left: int) -> tuple[int, int]:
        """Part the rows of a node, stably; see `RowStore.partition`."""
        rows = self._rows.pop(node)
        goes_left = codes_left(split, self.table.codes.by_column[split["column"], rows])
        self._rows[left], self._rows[left + 1] = rows[goes_left], rows[~goes_left]
        return int(goes_left.sum()), int(self._channels[2, rows[goes_left]].sum())

    def gather(self, nodes: Sequence[int]) -> NDArray[np.uint32]:
        """The rows of the nodes; see `RowStore.gather`."""
        return np.concatenate([self._rows[node] for node in nodes])


def channels(statistics: Statistics) -> NDArray[np.int64]:
    """Gradient, hessian and copies of every row, (3, n), from packed or wide statistics."""
    if len(statistics.packed):
        gradient, hessian = statistics.packed >> 32, statistics.packed & 0xFFFFFFFF
    else:
        gradient, hessian = statistics.wide.T
    copies = statistics.copies if len(statistics.copies) else np.ones(len(gradient), STATISTIC)
    return np.stack([gradient, hessian, copies])


def codes_left(split: np.void, codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each of the codes, all of the column of the split, goes left."""
    if split["categorical"]:
        bits = np.unpackbits(split["goes_left"].astype("<u8").view(np.uint8), bitorder="little")
        return bits[codes].astype(np.bool_)
    goes_left: NDArray[np.bool_] = codes <= split["threshold"]
    return np.where(codes == MISSING_CODE, bool(split["missing_left"]), goes_left)
