"""The seam: what a place where rows live must be able to do so that trees can be grown there.

Splits are chosen once, centrally, on whole histograms; rows, codes and statistics never leave their place.
A place is asked four things: to start a tree, for histograms of nodes, to part the rows of a node, and in
the end which rows came to which leaf. A histogram is a sum of integers over rows, so that a place made of
several (cards, machines, files) adds the histograms of its parts, in any order, and grows the same tree.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import Bins
from hedgerow.kernels.cpu.records import Statistics


class RowStore(Protocol):
    """A place that holds coded rows, grouped by the nodes of the tree being grown.

    `hedgerow.backends.rows.RowsInMemory` is the smallest one; `hedgerow.growing.reference` grows trees in
    any of them.
    """

    @property
    def bins(self) -> Bins:
        """How the columns are coded, which is also how the entries of a histogram are arranged."""

    def plant(self, statistics: Statistics, rows: NDArray[np.uint32], columns: NDArray[np.int64]) -> None:
        """Start a tree: node 0 holds `rows`, and only `columns` will be asked for."""

    def histograms(self, nodes: Sequence[int]) -> NDArray[np.int64]:
        """Sums of gradient, hessian and copies by column and code, (nodes, 3, entries).

        Code c of column f is entry ``bins.offsets[f] + c``; columns that the tree may not use stay 0.
        """

    def partition(self, node: int, split: np.void, left: int) -> tuple[int, int]:
        """Part the rows of `node` into the nodes `left` and `left + 1`, each in the order they had.

        `split` is a `hedgerow.kernels.cpu.records.SPLIT` record. Returns how many rows went left and how
        many copies they count.
        """

    def gather(self, nodes: Sequence[int]) -> NDArray[np.uint32]:
        """The rows of the nodes, one node after the other."""
