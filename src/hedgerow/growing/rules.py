"""Growth rules: what a tree may become, in the user's terms, and their translation for the kernels."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedgerow.growing.statistics import Measured
from hedgerow.kernels.cpu.random import TREE_COLUMNS, choose_columns
from hedgerow.kernels.cpu.records import Rules

_NO_LIMIT = 1 << 40


def _no_directions() -> NDArray[np.int8]:
    return np.empty(0, np.int8)


def _no_groups() -> NDArray[np.uint64]:
    return np.empty((0, 0), np.uint64)


@dataclass(frozen=True, eq=False)
class GrowthRules:
    """Limits and penalties of tree growing.

    Parameters
    ----------
    max_leaf_nodes, max_depth : int or None
        Best-first growth stops at so many leaves; no leaf is deeper. None is no limit.
    min_samples_leaf : int
        Rows of a leaf, an integer weight counting as so many rows.
    min_child_weight : float
        Sum of hessians of a leaf.
    min_split_gain, l1_regularization, l2_regularization : float
        See `hedgerow.kernels.cpu.split` for the objective.
    categorical_smoothing : float
        Hessian added to every category when categories are ordered and judged.
    columns_per_tree, columns_per_node : float
        Share of the columns a tree, and a node of it, may use.
    monotonic : int8 (columns,) or empty
        +1 rising, -1 falling, 0 free.
    groups : uint64 (columns, words) or empty
        Bit g of a column is set when it belongs to interaction group g.
    seed : int
        Of the random choice of columns.
    """

    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    l1_regularization: float = 0.0
    l2_regularization: float = 0.0
    categorical_smoothing: float = 10.0
    columns_per_tree: float = 1.0
    columns_per_node: float = 1.0
    monotonic: NDArray[np.int8] = field(default_factory=_no_directions)
    groups: NDArray[np.uint64] = field(default_factory=_no_groups)
    seed: int = 0

    def most_leaves(self, n_rows: int) -> int:
        """An upper limit of the leaves of any tree on so many rows."""
        by_rows = max(1, n_rows)
        by_depth = 1 << min(self.max_depth, 40) if self.max_depth is not None else _NO_LIMIT
        return min(self.max_leaf_nodes or _NO_LIMIT, by_depth, by_rows)

    def columns_for(self, n_columns: int, tree: int) -> NDArray[np.int64]:
        """The columns that a tree may use, ascending."""
        columns = np.arange(n_columns)
        n_tree = share_of(self.columns_per_tree, n_columns)
        if n_tree < n_columns:
            choose_columns(columns, n_tree, self.seed, TREE_COLUMNS, tree)
            columns = np.sort(columns[:n_tree])
        return columns

    def for_tree(self, measured: Measured, stored: NDArray[np.int64], tree: int) -> Rules:
        """The rules in units of the integer statistics, with the columns drawn for this tree.

        A gradient step is worth g and a hessian step h, so that the objective G v + H v**2 / 2 is in
        units of g**2 / h and values in units of g / h. stored : of every column, where it is stored by row.
        """
        g, h = measured.gradient_unit, measured.hessian_unit
        n_columns = len(stored)
        columns, used = self.columns_for(n_columns, tree), np.arange(int(stored.max()) + 1)
        n_tree = len(columns)
        if n_tree < n_columns:
            used = np.unique(stored[columns])
        floor = max(
            1.0,
            math.ceil(min(self.min_child_weight / h, 2.0**61)),
            float(self.min_samples_leaf * measured.smallest_hessian),
        )
        return Rules(
            columns=columns,
            stored=used,
            columns_per_node=share_of(self.columns_per_node, n_tree),
            max_leaves=self.max_leaf_nodes or _NO_LIMIT,
            max_depth=_NO_LIMIT if self.max_depth is None else self.max_depth,
            min_count=self.min_samples_leaf,
            min_hessian=int(min(floor, 2.0**61)),
            min_gain=self.min_split_gain * h / g / g,
            l1=self.l1_regularization / g,
            l2=self.l2_regularization / h,
            smoothing=self.categorical_smoothing / h,
            monotonic=self.monotonic,
            groups=self.groups,
            seed=self.seed,
            tree=tree,
        )


def share_of(share: float, whole: int) -> int:
    """So much of the whole, at least one.

    >>> share_of(0.5, 7), share_of(0.01, 7)
    (4, 1)
    """
    return max(1, min(whole, math.ceil(share * whole)))
