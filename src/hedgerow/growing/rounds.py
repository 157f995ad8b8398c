"""A round of gradient boosting on rows that keep their own scores: a leader asks the parts, and gives trees.

It measures gradients and finds the powers of two they are scaled by, plants a tree, has it grown, and tells
the parts its values: with the next question, so that a tree costs none of its own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.binning import Bins
from hedgerow.growing.grower import GrownTree, GrowthOptions
from hedgerow.growing.levels import LevelGrower, LevelTree
from hedgerow.growing.shards import ShardedRows, Sums
from hedgerow.growing.statistics import RowStatistics, packed_bits, wide_bits
from hedgerow.kernels.cpu.records import Rules, Statistics

_NO_ROWS = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class Rounds:
    """What a leader is told of the fit; calling it makes one.

    Parameters
    ----------
    bins : Bins
    rules : GrowthOptions
    n_rows, n_copies, n_piece : int
        Rows that train, how many copies they count, and rows that may be added packed.
    n_outputs : int
    learning_rate : float
    """

    bins: Bins
    rules: GrowthOptions
    n_rows: int
    n_copies: int
    n_piece: int
    n_outputs: int
    learning_rate: float

    def __call__(self, shards: ShardedRows) -> "RoundLeader":
        """A leader of some parts."""
        return RoundLeader(self, shards)


class RoundLeader:
    """Grows the trees of rounds; see `Rounds`. All that it remembers are guesses, and what it did last."""

    def __init__(self, task: Rounds, shards: ShardedRows) -> None:
        self.task, self.shards = task, shards
        self.grower = LevelGrower(shards, task.bins, task.rules, task.n_rows)
        self._bits = np.zeros((task.n_outputs, 2), np.int64)
        self._is_wide = False
        self._ended: tuple[Any, ...] | None = None  # a tree whose values the parts were not told yet

    def settle(self) -> None:
        """Have all parts add the values of the last tree."""
        if self._ended is not None:
            ended, self._ended = self._ended, None
            self.shards.call("add_leaf_values", *ended)

    def grow(self, number: int) -> list[NDArray[np.void]] | None:
        """The nodes of the trees of round `number`, one an output; None if a gradient is not finite."""
        task, call, n_columns = self.task, self.shards.call, self.task.bins.n_columns
        numbers = [number * task.n_outputs + k for k in range(task.n_outputs)]
        columns = [task.rules.columns_for(n_columns, tree) for tree in numbers]
        said, planted = call("start_round", self._ended, self._bits, number, columns[0])
        self._ended = None
        if any(n_bad for _, n_bad, _ in said):
            return None
        tops: Floats = np.max([top for top, _, _ in said], axis=0)  # (outputs, 2)
        bits = np.array([packed_bits(*top) for top in tops.tolist()])
        if not np.array_equal(bits, self._bits):  # the powers of the round before were not the right ones
            self._bits = bits
            said, _ = call("pack_statistics", bits)
            planted = ()
        grown = []
        for k, tree in enumerate(numbers):
            self.settle()
            measured = self._measured(k, tops[k], said)
            rules = task.rules.for_tree(measured, np.arange(n_columns), tree)
            if k or not planted or self._is_wide:
                planted = self._plant(k, number, rules)
            elif planted[1][0] == 0:
                planted = self._plant(k, number, rules, first_only=1)
            grown.append(self._finished(k, self.grower.grow(rules, planted), measured))
        return grown

    def tree(self, rules: Rules, number: int) -> NDArray[np.void]:
        """The nodes of a tree of round `number` on statistics that parts were given, in units of these."""
        return self.grower.grow(rules, self._plant(0, number, rules)).nodes.copy()

    def _plant(self, output: int, number: int, rules: Rules, first_only: int = 0) -> Sums:
        _, planted = self.shards.call("start_tree", output, number, rules.columns, first_only)
        if planted[1][0] == 0 and not first_only:
            return self._plant(output, number, rules, first_only=1)
        return planted

    def _measured(self, output: int, tops: Floats, said: list[Any]) -> RowStatistics:
        """The units of the statistics, which are packed already; if that is too coarse they are spread."""
        steps = sum(int(one[2][output, 0]) for one in said), sum(int(one[2][output, 1]) for one in said)
        top_g, top_h = tops.tolist()
        wide = wide_bits((top_g, top_h), steps, self.task.n_copies, self.task.n_piece)
        self._is_wide = wide is not None
        if wide is not None:
            leasts, _ = self.shards.call("widen_statistics", output, *wide)
            return _units(*wide, min(leasts))
        g_bits, h_bits = self._bits[output]
        return _units(int(g_bits), int(h_bits), min(int(one[2][output, 2]) for one in said))

    def _finished(self, output: int, tree: LevelTree, measured: RowStatistics) -> NDArray[np.void]:
        grown = GrownTree.of(tree.nodes, _NO_ROWS, measured.gradient_unit, measured.hessian_unit)
        grown.nodes["value"] *= self.task.learning_rate
        self._ended = output, tree.names[grown.leaves], grown.values, grown.nodes
        return grown.nodes


def _units(g_bits: int, h_bits: int, least: int) -> RowStatistics:
    """The units of statistics that are with the parts."""
    nothing = np.empty(0, np.int64)
    statistics = Statistics(nothing, nothing.reshape(0, 2), nothing, 1)
    return RowStatistics(statistics, 2.0**-g_bits, 2.0**-h_bits, least)
