"""LinearTerms: the linear functions of leaves, as flat arrays beside the nodes of trees.

    f(x) = value + sum over the terms of the leaf of  slope (clip(x[column], lower, upper) - mean)

A term whose value is missing is left out. lower <= mean <= upper are of the training rows of the leaf, which
bounds the function.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.kernels.cpu.linear import FlatTerms


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Terms of the leaves of one or several trees, in the order of the nodes.

    Parameters
    ----------
    counts : int32 (nodes,), terms of every node; 0 for inner nodes
    column : int32 (terms,)
    slope, mean, lower, upper : float64 (terms,)

    Examples
    --------
    >>> counts, column = np.array([0, 1, 0], np.int32), np.zeros(1, np.int32)
    >>> terms = LinearTerms(counts, column, *np.array([[2.0], [1.0], [0.0], [3.0]]))
    >>> terms.largest(np.array([5.0, -0.5, 4.0]))
    array([5. , 3.5, 4. ])
    """

    counts: NDArray[np.int32]
    column: NDArray[np.int32]
    slope: Floats
    mean: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def none(cls, n_nodes: int) -> "LinearTerms":
        """Return no terms for a number of nodes."""
        empty = np.empty(0)
        return cls(np.zeros(n_nodes, np.int32), np.empty(0, np.int32), empty, empty, empty, empty)

    @classmethod
    def join(cls, parts: Sequence["LinearTerms"]) -> "LinearTerms":
        """Return the terms of all, in order."""
        if not parts:
            return cls.none(0)
        arrays = zip(*(part.arrays().values() for part in parts), strict=True)
        return cls(*(np.concatenate(own) for own in arrays))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _of_terms(self) -> list[NDArray[Any]]:
        return list(self.arrays().values())[1:]

    def select(self, nodes: slice | NDArray[np.bool_]) -> "LinearTerms":
        """Return the terms of some nodes, a range or a mask."""
        chosen = np.zeros(len(self.counts), bool)
        chosen[nodes] = True
        terms = np.repeat(chosen, self.counts)
        return LinearTerms(self.counts[chosen], *(array[terms] for array in self._of_terms()))

    def scaled(self, factor: float) -> "LinearTerms":
        """Multiply the functions, less their values, by a factor."""
        return replace(self, slope=self.slope * factor)

    def flat(self) -> FlatTerms:
        """Return the arrays of the kernels."""
        starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        return FlatTerms(starts, *self._of_terms())

    def largest(self, values: Floats) -> Floats:
        """Return the largest absolute value of the function of every node with these constant values."""
        node = np.repeat(np.arange(len(self.counts)), self.counts)
        ends = self.slope * (self.lower - self.mean), self.slope * (self.upper - self.mean)
        size = len(self.counts)
        highest = values + np.bincount(node, np.maximum(*ends), size)
        lowest = values + np.bincount(node, np.minimum(*ends), size)
        return np.maximum(np.abs(highest), np.abs(lowest))
