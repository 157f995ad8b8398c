"""Forest: the grown model, as flat plain arrays.

Trees lie one after the other; tree t owns the nodes starts[t]:starts[t + 1]. A split sends the codes up to
`threshold` of `column` left, or the codes in sets[set_number]; its children are `left` and `left + 1`,
counted within the tree, and `left` is 0 in a leaf. A tree adds its leaf values to one output.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import BinnedTable, Bins
from hedgerow.kernels.cpu.forest import add_coded, add_predictions, find_leaves, left_masks
from hedgerow.kernels.cpu.records import NODE
from hedgerow.table import Table
from hedgerow.threads import Team, over_rows

_ALL_CODES = 65_535  # a leaf's threshold: no code is larger, so that a row stays in its leaf
_SET_BASE = 2
_CHUNK_ROWS = 8192  # rows of a prediction handed to a thread at a time


class Trees(NamedTuple):
    """The forest as the prediction kernels read it; children are counted over the whole forest."""

    starts: NDArray[np.int64]
    output: NDArray[np.int64]
    depth: NDArray[np.int64]
    leaves: NDArray[np.int64]  # how many a tree has
    leaf_starts: NDArray[np.int64]  # where its values begin in leaf_value
    child: NDArray[np.int32]  # left child; the node itself in a leaf
    column: NDArray[np.int32]
    threshold: NDArray[np.int32]  # less base; or the number of a set
    base: NDArray[np.uint8]  # 1 missing goes right, 0 missing goes left, 2 by set
    masks: NDArray[np.uint64]
    value: NDArray[np.float64]
    leaf_value: NDArray[np.float64]  # values of the leaves, from left to right
    sets: NDArray[np.uint64]


class RawBins(NamedTuple):
    """Bins as the kernels read them."""

    edges: NDArray[np.float64]
    edge_starts: NDArray[np.int64]
    tables: NDArray[np.uint8]
    table_starts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Flat trees.

    Parameters
    ----------
    starts : int64 (trees + 1,)
    output : int32 (trees,), the output a tree adds to
    column, threshold, left, set_number : int32 (nodes,), set_number is -1 for numeric splits
    missing_left : uint8 (nodes,)
    value, gain : float64 (nodes,), the gain of a leaf is 0
    count : int64 (nodes,), training rows that came by
    sets : uint64 (sets, 4), sets of codes that go left
    """

    starts: NDArray[np.int64]
    output: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    set_number: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    count: NDArray[np.int64]
    sets: NDArray[np.uint64]

    @classmethod
    def of(cls, trees: Sequence[NDArray[np.void]], output: Sequence[int]) -> "Forest":
        """Gather the node records of grown trees, in order."""
        starts = np.concatenate([[0], np.cumsum([len(nodes) for nodes in trees])]).astype(np.int64)
        nodes = np.concatenate([np.empty(0, NODE), *trees])
        split = nodes["split"]
        inner = nodes["left"] > 0
        by_set = inner & (split["categorical"] == 1)
        set_number = np.full(len(nodes), -1, np.int32)
        set_number[by_set] = np.arange(by_set.sum())
        return cls(
            starts=starts,
            output=np.asarray(output, np.int32),
            column=np.where(inner, split["column"], 0).astype(np.int32),
            threshold=np.where(inner & ~by_set, split["threshold"], 0).astype(np.int32),
            left=nodes["left"].astype(np.int32),
            set_number=set_number,
            missing_left=np.where(inner, split["missing_left"], 0).astype(np.uint8),
            value=nodes["value"].astype(np.float64),
            gain=np.where(inner, split["gain"], 0.0),
            count=nodes["count"].astype(np.int64),
            sets=np.ascontiguousarray(split["goes_left"][by_set]),
        )

    @classmethod
    def join(cls, first: "Forest", second: "Forest") -> "Forest":
        """The trees of both, in order."""
        joined = {
            name: np.concatenate([array, second.arrays()[name]]) for name, array in first.arrays().items()
        }
        joined["starts"] = np.concatenate([first.starts, second.starts[1:] + first.starts[-1]])
        moved = np.where(second.set_number < 0, -1, second.set_number + len(first.sets))
        joined["set_number"] = np.concatenate([first.set_number, moved]).astype(np.int32)
        return cls(**joined)

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, for model files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def trees(self) -> Trees:
        """The arrays of the prediction kernels."""
        starts = self.starts
        tree_of = np.repeat(np.arange(self.n_trees), np.diff(starts))
        leaf = self.left == 0
        node = np.arange(len(self.left))
        base = np.where(self.missing_left == 1, 0, 1)
        threshold = self.threshold - base
        base, threshold = np.where(leaf, 0, base), np.where(leaf, _ALL_CODES, threshold)
        by_set = self.set_number >= 0
        base = np.where(by_set, _SET_BASE, base)
        threshold = np.where(by_set, self.set_number, threshold)
        ranks = np.zeros(len(self.left), np.int64)
        masks = np.empty(len(self.left), np.uint64)
        leaves = np.array(
            [left_masks(self.left, starts[t], starts[t + 1], ranks, masks) for t in range(self.n_trees)],
            np.int64,
        )
        leaf_starts = np.concatenate([[0], np.cumsum(leaves)]).astype(np.int64)
        leaf_value = np.empty(int(leaf_starts[-1]))
        leaf_value[leaf_starts[tree_of[leaf]] + ranks[leaf]] = self.value[leaf]
        return Trees(
            starts=starts,
            output=self.output.astype(np.int64),
            depth=self.depths(),
            leaves=leaves,
            leaf_starts=leaf_starts,
            child=np.where(leaf, node, starts[tree_of] + self.left).astype(np.int32),
            column=self.column,
            threshold=threshold.astype(np.int32),
            base=base.astype(np.uint8),
            masks=masks,
            value=self.value,
            leaf_value=leaf_value,
            sets=self.sets,
        )

    def depths(self) -> NDArray[np.int64]:
        """The depth of every tree: 0 for a lone leaf."""
        depth = np.zeros(len(self.left), np.int64)
        deepest = np.zeros(self.n_trees, np.int64)
        for t in range(self.n_trees):
            first, last = self.starts[t], self.starts[t + 1]
            left = self.left[first:last].tolist()
            below = [0] * len(left)
            for number, child in enumerate(left):  # children have larger numbers than their parent
                if child:
                    below[child] = below[child + 1] = below[number] + 1
            deepest[t] = max(below)
            depth[first:last] = below
        return deepest

    def add_scores(
        self,
        table: Table,
        bins: Bins,
        scores: NDArray[np.float64],
        n_threads: int,
        trees: range | None = None,
    ) -> None:
        """Add the values of a range of trees to scores (outputs, rows), in the order of the trees."""
        chosen = range(self.n_trees) if trees is None else trees
        if not chosen:
            return
        flat, raw = self.trees, raw_bins(bins)
        first, last = chosen.start, chosen.stop
        over_rows(
            table.n_rows,
            lambda a, b: add_predictions(table.block(a, b), raw, flat, first, last, scores, a),
            n_threads,
            _CHUNK_ROWS,
        )

    def leaves(self, table: Table, bins: Bins, n_threads: int) -> NDArray[np.int32]:
        """Number of the leaf of every row in every tree, (rows, trees)."""
        out = np.empty((table.n_rows, self.n_trees), np.int32)
        flat, raw = self.trees, raw_bins(bins)
        over_rows(
            table.n_rows,
            lambda a, b: find_leaves(table.block(a, b), raw, flat, out, a),
            n_threads,
            _CHUNK_ROWS,
        )
        return out

    def add_coded_scores(
        self, table: BinnedTable, tree: int, scores: NDArray[np.float64], team: Team
    ) -> None:
        """Add the values of one tree to scores (rows,) of a table that is already coded."""
        trees, codes = self.trees, table.codes.by_column
        team.over_rows(table.n_rows, lambda a, b: add_coded(codes, trees, tree, a, b, scores))


def raw_bins(bins: Bins) -> RawBins:
    """The arrays of the bins, for kernels."""
    return RawBins(bins.edges, bins.edge_starts, bins.tables, bins.table_starts)
