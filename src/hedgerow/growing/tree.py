"""A grown tree as it leaves the grower: node records, and the rows grouped by leaf.

rows = [leaf A's rows | leaf B's rows | ...]   from the leftmost leaf to the rightmost
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernels.cpu.forest import convert_units, leaves_in_order


@dataclass(eq=False)
class GrownTree:
    """Node records with values and gains in the loss's own units.

    `leaves` are the numbers of the leaves from left to right; the rows of leaf l, as they were grown on,
    are rows[starts[l]:starts[l + 1]].
    """

    nodes: NDArray[np.void]
    leaves: NDArray[np.int64]
    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]

    @classmethod
    def of(
        cls, nodes: NDArray[np.void], rows: NDArray[np.uint32], gradient_unit: float, hessian_unit: float
    ) -> "GrownTree":
        """Take the grower's records and convert them from the units of the integer statistics."""
        nodes = nodes.copy()
        convert_units(nodes, gradient_unit, hessian_unit)
        leaves = np.empty((len(nodes) + 1) // 2, np.int64)
        starts = np.empty(len(leaves) + 1, np.int64)
        leaves_in_order(nodes, leaves, starts)
        return cls(nodes, leaves, rows, starts)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of the leaves from left to right."""
        values: NDArray[np.float64] = self.nodes["value"][self.leaves]
        return values
