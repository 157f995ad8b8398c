"""VoteForest: deep trees that vote, as flat compact arrays.

Trees lie one after the other; tree t owns the words starts[t]:starts[t + 1], one a node, see
`kernels.cpu.votes`. Most leaves of a classifier hold one class: they name it, and take no more room than
that. The others name a row of values, the shares of the classes or the means of the outputs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import Bins, aligned_rows
from hedgerow.kernels.cpu.binning import encode
from hedgerow.kernels.cpu.votes import VoteTrees, add_votes, find_vote_leaves, tree_losses
from hedgerow.memory import rows_per_block
from hedgerow.table import Table
from hedgerow.threads import Lean, cached_property, over_rows

_CHUNK_ROWS = 8192  # rows of a prediction handed to a thread at a time
_LOSS_ROWS = 32_768  # whose losses are held at a time
_NOBODY = np.empty((0, 0), np.uint8)


@dataclass(frozen=True, eq=False)
class VotingTree:
    """One tree.

    Parameters
    ----------
    words : uint64 (nodes,)
    values : float64 (rows, classes or outputs)
    sets : uint64 (sets, 4), codes that go left at categorical splits
    set_number : int32 (nodes,), or empty without categorical columns
    gains : float64 (columns,), the sums over the splits of a column
    leaf_starts : int64 (leaves + 1,), or empty
    leaf_rows : uint32, the training rows of leaf k are leaf_rows[leaf_starts[k]:leaf_starts[k + 1]]
    """

    words: NDArray[np.uint64]
    values: NDArray[np.float64]
    sets: NDArray[np.uint64]
    set_number: NDArray[np.int32]
    gains: NDArray[np.float64]
    leaf_starts: NDArray[np.int64]
    leaf_rows: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class VoteForest(Lean):
    """Flat trees.

    Parameters
    ----------
    starts, value_starts, set_starts : int64 (trees + 1,)
    words, values, sets, set_number
        Those of the trees, one after the other; `set_number` is empty when no tree has sets.
    gains : float64 (trees, columns)
    n_pure : int
        Leaves numbered below it are classes: the number of classes, or 0.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.uint64]
    value_starts: NDArray[np.int64]
    values: NDArray[np.float64]
    set_starts: NDArray[np.int64]
    sets: NDArray[np.uint64]
    set_number: NDArray[np.int32]
    gains: NDArray[np.float64]
    n_pure: int

    @classmethod
    def of(cls, trees: Sequence[VotingTree], n_pure: int) -> "VoteForest":
        """Gather grown trees, in order."""
        has_sets = any(len(tree.sets) for tree in trees)
        return cls(
            starts=_ends([len(tree.words) for tree in trees]),
            words=np.concatenate([tree.words for tree in trees]),
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
        """The trees of both, in order."""
        mine, theirs = first.with_set_numbers(second), second.with_set_numbers(first)
        joined: dict[str, Any] = {}
        for name, array in mine.arrays().items():
            other = theirs.arrays()[name]
            more = other[1:] + array[-1] if name.endswith("starts") else other
            joined[name] = np.concatenate([array, more])
        return cls(**joined, n_pure=first.n_pure)

    def with_set_numbers(self, other: "VoteForest") -> "VoteForest":
        """The same, with a set number for every node if the other has them."""
        if self.set_number.size or not other.set_number.size:
            return self
        return replace(self, set_number=np.full(len(self.words), -1, np.int32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "n_pure"}

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    @property
    def n_outputs(self) -> int:
        """The number of classes, or of numbers predicted."""
        return int(self.values.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return sum(array.nbytes for array in self.arrays().values())

    @cached_property
    def trees(self) -> VoteTrees:
        """The arrays of the kernels."""
        pure = np.array([self.n_pure], np.int64)
        return VoteTrees(
            self.starts, self.words, self.value_starts, self.values, self.set_starts, self.sets,
            self.set_number, pure,
        )  # fmt: skip

    def votes(
        self, table: Table, bins: Bins, n_threads: int, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Sums of what the trees say, times their weights, in their order, (rows, outputs)."""
        out, trees, none = np.zeros((table.n_rows, self.n_outputs)), self.trees, np.empty(0, np.int64)
        counts = np.ones(self.n_trees) if weights is None else weights

        def ask(start: int, stop: int) -> None:
            codes = coded_rows(table, bins, start, stop)
            add_votes(codes, trees, counts, _NOBODY, 0, out[start:stop], none)

        over_rows(table.n_rows, ask, n_threads, rows_per_block(table.n_columns, _CHUNK_ROWS))
        return out

    def left_out_votes(
        self, table: Table, bins: Bins, in_bag: NDArray[np.uint8], n_threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Sums (rows, outputs) over the trees that have not learned from a row, and how many they are.

        in_bag : uint8 (trees, bytes), bit `row` is set for the rows that a tree learned from.
        """
        out, n_votes = np.zeros((table.n_rows, self.n_outputs)), np.zeros(table.n_rows, np.int64)
        trees, counts = self.trees, np.ones(self.n_trees)

        def ask(start: int, stop: int) -> None:
            codes = coded_rows(table, bins, start, stop)
            add_votes(codes, trees, counts, in_bag, start, out[start:stop], n_votes[start:stop])

        over_rows(table.n_rows, ask, n_threads, rows_per_block(table.n_columns, _CHUNK_ROWS))
        return out, n_votes

    def losses(
        self,
        table: Table,
        bins: Bins,
        classes: NDArray[np.int64],
        steps: int,
        n_threads: int,
        in_bag: NDArray[np.uint8] | None = None,
    ) -> Iterator[NDArray[np.int16]]:
        """What each tree loses on a row, in steps and rounded up, (some rows, trees); see `tree_losses`.

        -1 where the tree learned from the row; in_bag as in `left_out_votes`. Memory does not grow with the
        number of rows.
        """
        bags, trees = _NOBODY if in_bag is None else in_bag, self.trees
        for first in range(0, table.n_rows, _LOSS_ROWS):
            n_rows = min(_LOSS_ROWS, table.n_rows - first)
            out = np.empty((n_rows, self.n_trees), np.int16)

            def ask(a: int, b: int, first: int = first, out: NDArray[np.int16] = out) -> None:
                start, stop = first + a, first + b
                codes = coded_rows(table, bins, start, stop)
                tree_losses(codes, trees, bags, start, classes[start:stop], steps, out[a:b])

            over_rows(n_rows, ask, n_threads, rows_per_block(table.n_columns, _CHUNK_ROWS))
            yield out

    def leaves(self, table: Table, bins: Bins, n_threads: int) -> NDArray[np.int64]:
        """Number of the leaf, among the nodes of its tree, of every row in every tree, (rows, trees)."""
        out, trees = np.empty((table.n_rows, self.n_trees), np.int64), self.trees
        over_rows(
            table.n_rows,
            lambda a, b: find_vote_leaves(coded_rows(table, bins, a, b), trees, out[a:b]),
            n_threads,
            rows_per_block(table.n_columns, _CHUNK_ROWS),
        )
        return out

    def importances(self) -> NDArray[np.float64]:
        """Share of every column in the gains of a tree, its mean over the trees that have a split."""
        shares = np.zeros(self.gains.shape[1])
        n_split = 0
        for gains in self.gains:
            whole = float(np.add.reduce(gains))
            if whole > 0:
                shares += gains / whole
                n_split += 1
        return shares / max(1, n_split)


_NO_SETS = np.empty(0, np.int32)


def _ends(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def coded_rows(table: Table, bins: Bins, start: int, stop: int) -> NDArray[np.uint8]:
    """Codes of some rows, one row after the other."""
    codes = aligned_rows(stop - start, bins.n_columns)
    none = np.empty((0, 0), np.uint8)
    encode(
        table.block(start, stop), bins.edges, bins.edge_starts, bins.tables, bins.table_starts, codes, none, 0
    )
    return codes.reshape(-1)
