"""VoteForest: deep trees whose leaf values are averaged, as flat compact arrays.

Trees are stored one after the other; tree t owns nodes[starts[t]:starts[t + 1]], 64 bits each, see
`kernels.cpu.votes`. Most leaves of a classifier hold one class: such a leaf stores only the class number. All
other leaves refer to a row of values: class probabilities, or the means of the outputs.

Trees read bin codes, not values. `CodedRows` yields the codes of a block of rows: `EncodedRows` encodes a
table, `BinnedRows` reads the codes that the trees were grown on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.binning import BinnedTable, Bins
from hedgerow.kernels.cpu.binning import encode
from hedgerow.kernels.cpu.votes import VoteTrees, add_votes, find_vote_leaves, tree_losses
from hedgerow.table import Table
from hedgerow.threads import PickledWithoutCache, cached_property, over_rows, rows_per_block

_CHUNK_ROWS = 8192  # rows that one thread predicts at a time
_LOSS_ROWS = 32_768  # rows whose losses are held in memory at a time
_ALL_TREES = np.empty((0, 0), np.uint8)  # as in_bag: every tree votes on every row
_NO_COUNTS = np.empty(0, np.int64)
_NO_SETS = np.empty(0, np.int32)
_NO_CODES = np.empty((0, 0), np.uint8)


# --- rows as codes


class CodedRows(ABC):
    """Rows as bin codes, a block at a time."""

    n_rows: int
    n_columns: int

    @abstractmethod
    def codes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the codes of rows start to stop - 1, one row after the other, as one flat array."""


class EncodedRows(CodedRows):
    """Rows of a table, encoded when they are read."""

    def __init__(self, table: Table, bins: Bins) -> None:
        self.table, self.bins = table, bins
        self.n_rows, self.n_columns = table.n_rows, table.n_columns

    def codes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """See `CodedRows.codes`."""
        bins, block = self.bins, self.table.block(start, stop)
        out = _empty_codes(stop - start, block.shape[1])
        encode(block, bins.edges, bins.edge_starts, bins.tables, bins.table_starts, out, _NO_CODES, 0)
        return out.reshape(-1)


class BinnedRows(CodedRows):
    """Rows that are encoded already: training rows, in memory or read from files or a cluster.

    Examples
    --------
    >>> from hedgerow.binning import find_bins
    >>> from hedgerow.table import read_table
    >>> from hedgerow.threads import Team
    >>> table = read_table([[1.0], [2.0], [None], [9.0]])
    >>> bins = find_bins(table)
    >>> read, encoded = BinnedRows(bins.encode(table, Team(1))), EncodedRows(table, bins)
    >>> read.codes(0, 4)[::32], encoded.codes(0, 4)[::32]
    (array([1, 2, 0, 3], dtype=uint8), array([1, 2, 0, 3], dtype=uint8))
    """

    def __init__(self, binned: BinnedTable) -> None:
        self.binned, self.n_rows, self.n_columns = binned, binned.n_rows, binned.n_columns

    def codes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """See `CodedRows.codes`."""
        by_column = self.binned.codes.by_column[:, start:stop]
        out = _empty_codes(stop - start, len(by_column))
        out[:, : len(by_column)] = by_column.T
        return out.reshape(-1)


def _empty_codes(n_rows: int, n_columns: int) -> NDArray[np.uint8]:
    """Return memory for codes, padded to 32 bytes per row: few rows cross a cache line."""
    return np.empty((n_rows, -(-n_columns // 32) * 32), np.uint8)


# --- trees


@dataclass(frozen=True, eq=False)
class VotingTree:
    """One grown tree.

    Parameters
    ----------
    nodes : uint64 (nodes,)
    values : float64 (rows, classes or outputs)
    sets : uint64 (sets, 4), the codes that go left at categorical splits
    set_number : int32 (nodes,), or empty without categorical columns
    gains : float64 (columns,), the sum over the splits of each column
    leaf_starts : int64 (leaves + 1,), or empty
    leaf_rows : uint32, the training rows of leaf k are leaf_rows[leaf_starts[k]:leaf_starts[k + 1]]
    """

    nodes: NDArray[np.uint64]
    values: Floats
    sets: NDArray[np.uint64]
    set_number: NDArray[np.int32]
    gains: Floats
    leaf_starts: Integers
    leaf_rows: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class VoteForest(PickledWithoutCache):
    """Flat trees.

    Parameters
    ----------
    starts, value_starts, set_starts : int64 (trees + 1,)
    nodes, values, sets, set_number
        Those of the trees, one after the other; `set_number` is empty if no tree has sets.
    gains : float64 (trees, columns)
    n_pure : int
        Leaf numbers below it are classes: the number of classes, or 0.
    """

    starts: Integers
    nodes: NDArray[np.uint64]
    value_starts: Integers
    values: Floats
    set_starts: Integers
    sets: NDArray[np.uint64]
    set_number: NDArray[np.int32]
    gains: Floats
    n_pure: int

    @classmethod
    def of(cls, trees: Sequence[VotingTree], n_pure: int) -> "VoteForest":
        """Concatenate grown trees, in order."""
        has_sets = any(len(tree.sets) for tree in trees)
        return cls(
            starts=_ends([len(tree.nodes) for tree in trees]),
            nodes=np.concatenate([tree.nodes for tree in trees]),
            value_starts=_ends([len(tree.values) for tree in trees]),
            values=np.concatenate([tree.values for tree in trees]),
            set_starts=_ends([len(tree.sets) for tree in trees]),
            sets=np.concatenate([tree.sets for tree in trees]),
            set_number=np.concatenate([tree.set_number if has_sets else _NO_SETS for tree in trees]),
            gains=np.stack([tree.gains for tree in trees]),
            n_pure=n_pure,
        )

    @classmethod
    def join(cls, first: "VoteForest", second: "VoteForest") -> "VoteForest":
        """Concatenate two forests."""
        left, right = first.with_set_numbers(second), second.with_set_numbers(first)
        joined: dict[str, Any] = {}
        for name, array in left.arrays().items():
            other = right.arrays()[name]
            more = other[1:] + array[-1] if name.endswith("starts") else other
            joined[name] = np.concatenate([array, more])
        return cls(**joined, n_pure=first.n_pure)

    def with_set_numbers(self, other: "VoteForest") -> "VoteForest":
        """Return the same forest, with a set number for every node if the other forest has them."""
        if self.set_number.size or not other.set_number.size:
            return self
        return replace(self, set_number=np.full(len(self.nodes), -1, np.int32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "n_pure"}

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    @property
    def n_outputs(self) -> int:
        """The number of classes, or of outputs."""
        return int(self.values.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @cached_property
    def trees(self) -> VoteTrees:
        """The arrays as the kernels take them."""
        pure = np.array([self.n_pure], np.int64)
        return VoteTrees(
            self.starts, self.nodes, self.value_starts, self.values, self.set_starts, self.sets,
            self.set_number, pure,
        )  # fmt: skip

    # --- predictions

    def votes(self, rows: CodedRows, n_threads: int, weights: Floats | None = None) -> Floats:
        """Return sums (rows, outputs) of leaf values times tree weights, in the order of the trees."""
        weights = np.ones(self.n_trees) if weights is None else weights
        return self._votes(rows, weights, _ALL_TREES, n_threads, _NO_COUNTS)

    def out_of_bag_votes(
        self, rows: CodedRows, in_bag: NDArray[np.uint8], n_threads: int
    ) -> tuple[Floats, Integers]:
        """Return sums (rows, outputs) over the trees not trained on a row, and the number of these trees.

        in_bag : uint8 (trees, bytes), bit `row` is set for the rows that a tree was trained on.
        """
        n_votes = np.zeros(rows.n_rows, np.int64)
        return self._votes(rows, np.ones(self.n_trees), in_bag, n_threads, n_votes), n_votes

    def _votes(
        self, rows: CodedRows, weights: Floats, in_bag: NDArray[np.uint8], n_threads: int, n_votes: Integers
    ) -> Floats:
        out, trees = np.zeros((rows.n_rows, self.n_outputs)), self.trees

        def add(start: int, stop: int) -> None:
            codes = rows.codes(start, stop)
            add_votes(codes, trees, weights, in_bag, start, out[start:stop], n_votes[start:stop])

        over_rows(rows.n_rows, add, n_threads, rows_per_block(rows.n_columns, _CHUNK_ROWS))
        return out

    def losses(
        self,
        rows: CodedRows,
        classes: Integers,
        steps: int,
        n_threads: int,
        in_bag: NDArray[np.uint8] | None = None,
    ) -> Iterator[NDArray[np.int16]]:
        """Yield the loss of each tree on a block of rows, (some rows, trees), in steps, rounded up.

        See `tree_losses`. -1 where the tree was trained on the row; in_bag as in `out_of_bag_votes`. Memory
        does not grow with the number of rows.
        """
        bags, trees = _ALL_TREES if in_bag is None else in_bag, self.trees
        for first in range(0, rows.n_rows, _LOSS_ROWS):
            n_rows = min(_LOSS_ROWS, rows.n_rows - first)
            out = np.empty((n_rows, self.n_trees), np.int16)

            def fill(a: int, b: int, first: int = first, out: NDArray[np.int16] = out) -> None:
                start, stop = first + a, first + b
                codes = rows.codes(start, stop)
                tree_losses(codes, trees, bags, start, classes[start:stop], steps, out[a:b])

            over_rows(n_rows, fill, n_threads, rows_per_block(rows.n_columns, _CHUNK_ROWS))
            yield out

    def leaf_ids(self, rows: CodedRows, n_threads: int) -> Integers:
        """Return the leaf of every row in every tree, (rows, trees), as its number in the tree."""
        out = np.empty((rows.n_rows, self.n_trees), np.int64)

        def copy(leaves: Integers, start: int, stop: int) -> None:
            out[start:stop] = leaves

        self.over_leaves(rows, n_threads, rows_per_block(rows.n_columns, _CHUNK_ROWS), copy)
        return out

    def over_leaves(
        self, rows: CodedRows, n_threads: int, chunk_rows: int, use: Callable[[Integers, int, int], None]
    ) -> None:
        """Call use(leaf_ids, start, stop) for blocks of rows, in several threads."""

        def find(start: int, stop: int) -> None:
            leaves = np.empty((stop - start, self.n_trees), np.int64)
            find_vote_leaves(rows.codes(start, stop), self.trees, leaves)
            use(leaves, start, stop)

        over_rows(rows.n_rows, find, n_threads, chunk_rows)

    def importances(self) -> Floats:
        """Return the fraction of each column in the gains of a tree, averaged over the trees with a split."""
        fractions = np.zeros(self.gains.shape[1])
        n_split = 0
        for gains in self.gains:
            total = float(np.add.reduce(gains))
            if total > 0:
                fractions += gains / total
                n_split += 1
        return fractions / max(1, n_split)


def _ends(sizes: list[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A fitted forest: trees, the bins of its columns, and tree weights of sum 1 (None if all are equal)."""

    bins: Bins
    forest: VoteForest
    weights: Floats | None = None

    def means(self, table: Table, n_threads: int) -> Floats:
        """Return the mean (rows, outputs) of the predictions of the trees."""
        votes = self.forest.votes(EncodedRows(table, self.bins), n_threads, self.weights)
        if self.weights is None:
            votes /= self.forest.n_trees
        return votes

    @property
    def nbytes(self) -> int:
        """The memory of the model."""
        bins = self.bins
        return self.forest.nbytes + sum(a.nbytes for a in (bins.edges, bins.edge_starts, bins.tables))
