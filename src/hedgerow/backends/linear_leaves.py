"""Linear functions in the leaves of trees grown with constant ones (Shi, Li and Li 2019).

A leaf adds to its value a linear function of the numeric columns on its path, fitted by one Newton step with
a ridge on standardised columns; see `hedgerow.kernels.cpu.linear`. The function is 0 at the means of the
columns in the leaf, weighted by hessians: there the constant value is the best one, with its own penalties.
Values beyond those of the rows in the leaf count as the nearest of these, missing ones as the mean.
"""

from typing import Any, Protocol

import numpy as np

from hedgerow._typing import AnyFloats, Floats, RowNumbers
from hedgerow.backends.base import TreeFit, TreeRound
from hedgerow.binning import BinnedTable
from hedgerow.forest import Forest
from hedgerow.growing.grower import GrownTree, RowStatistics, TreeGrower
from hedgerow.growing.linear_leaves import allocate_terms, linear_rules, set_terms
from hedgerow.kernels.cpu.linear import MAX_TERMS, LeafRows, add_linear_coded, fit_leaves
from hedgerow.threads import Team

_VALUES_PER_THREAD = 20_000  # rows x columns below which a second thread costs more than it saves


class LinearGrower:
    """Grows trees and fits the linear functions of their leaves.

    Parameters
    ----------
    grower : TreeGrower
    fit : TreeFit
        With `linear_l2`.
    values : float (rows, columns)
        All rows of the table.
    """

    def __init__(self, grower: TreeGrower, fit: TreeFit, values: AnyFloats) -> None:
        self._grower, self._values, self._team = grower, values, fit.team
        self._l2 = float(fit.options.linear_l2 or 0.0)
        self._usable = (fit.bins.categorical == 0).astype(np.uint8)

    def grow(self, statistics: RowStatistics, rows: RowNumbers, tree: int) -> GrownTree:
        """Grow one tree with linear leaves."""
        grown = self._grower.grow(statistics, rows, tree)
        rules = linear_rules(self._usable, self._l2, statistics)
        terms = allocate_terms(len(grown.leaves))
        leaf_rows = LeafRows(grown.nodes, grown.leaves, grown.rows, grown.starts)
        n_values = len(grown.rows) * min(MAX_TERMS, self._values.shape[1])
        n_threads = max(1, min(self._team.n_threads, n_values // _VALUES_PER_THREAD))
        self._team.together(
            lambda thread: fit_leaves(
                self._values, leaf_rows, statistics.statistics, rules, terms, thread, n_threads
            ),
            n_threads,
        )
        set_terms(grown, terms)
        return grown


class AddsLinearRounds(Protocol):
    """Adds trees with linear leaves to scores."""

    def add_round(self, fitted: TreeRound, raw: Floats) -> None:
        """Add the trees of a round to scores (outputs, rows)."""


class LinearRows:
    """Rows with codes and values, to which trees with linear leaves are added.

    Parameters
    ----------
    codes : BinnedTable
    values : float (rows, columns)
    team : Team
    """

    def __init__(self, codes: BinnedTable, values: AnyFloats, team: Team) -> None:
        self._codes, self._values, self._team = codes, values, team

    def add_round(self, fitted: TreeRound, raw: Floats) -> None:
        """Add the trees of a round to scores (outputs, rows)."""
        outputs = [tree % len(raw) for tree in range(len(fitted.trees))]
        self.add_forest(Forest.of(fitted.trees, outputs, fitted.terms), raw)

    def add_forest(self, forest: Forest, raw: Floats) -> None:
        """Add all trees of a forest to scores (outputs, rows)."""
        by_column, trees, terms = self._codes.codes.by_column, forest.trees, forest.flat_terms
        for tree, output in enumerate(forest.output.tolist()):

            def add(start: int, stop: int, tree: int = tree, scores: Any = raw[output]) -> None:
                add_linear_coded(by_column, self._values, trees, terms, tree, start, stop, scores)

            self._team.over_rows(self._codes.n_rows, add)
