"""Growing on this machine's cores: one compiled kernel grows the whole tree."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable
from hedgerow.growing.rules import GrowthRules
from hedgerow.growing.statistics import Measured
from hedgerow.growing.tree import GrownTree
from hedgerow.growing.workspace import make_nodes, make_workspace
from hedgerow.kernels.cpu.grow import grow
from hedgerow.threads import Team

_COMPILING = "hedgerow: compiling kernels for this machine; later fits load them from disk\n"
_CELLS_PER_MEMBER = 20_000  # rows x columns below which a second thread costs more than it brings


class CpuBackend:
    """Grows trees on a binned table in memory.

    Parameters
    ----------
    table : BinnedTable
    rules : GrowthRules
    team : Team
        Threads to grow with; small tables are grown on one.
    """

    def __init__(self, table: BinnedTable, rules: GrowthRules, team: Team) -> None:
        if len(table.codes.by_row) != table.n_rows:
            raise ValueError("the table was coded without the layout by row, which growing needs")
        if sys.stderr.isatty() and not _compiled_before():
            sys.stderr.write(_COMPILING)
        self.table = table
        self.rules = rules
        self.team = team
        cells = table.n_rows * table.n_columns
        self.n_members = max(1, min(team.n_members, cells // _CELLS_PER_MEMBER))
        n_leaves = rules.most_leaves(table.n_rows)
        words = rules.groups.shape[1]
        self._work = make_workspace(table.codes, n_leaves, words, self.n_members)
        self._nodes = make_nodes(n_leaves)

    def grow(self, measured: Measured, rows: NDArray[np.uint32], tree: int) -> GrownTree:
        """Grow tree number `tree` on the given rows; the row order inside is valid until the next one."""
        n = len(rows)
        work, nodes, codes = self._work, self._nodes, self.table.codes
        work.rows[:n] = rows
        rules = self.rules.for_tree(measured, self.table.stored, tree)
        team, n_members = self.team, self.n_members
        n_nodes = team.together(
            lambda member: grow(
                codes, measured.statistics, rules, nodes, work, team.sync, n, member, n_members
            ),
            n_members,
        )
        return GrownTree.of(nodes[:n_nodes], work.rows[:n], measured.gradient_unit, measured.hessian_unit)


def _compiled_before() -> bool:
    """Whether the growing kernel is in this process, or in Numba's cache on disk."""
    kernel: Any = grow  # Numba has no public question for it
    folder = Path(kernel._cache.cache_path)  # noqa: SLF001
    return bool(grow.signatures) or any(folder.glob("grow.grow-*.nbi"))
