"""The training targets in the leaves of a forest, and quantiles from them (Meinshausen 2006).

For a row x, each of T trees spreads the weight 1 / T over the training rows in x's leaf, in proportion to how
often it drew them (times their own weight). That is a distribution of the target at x; its mean is what the
forest predicts. The quantile q is the smallest target up to which at least the weight q lies:

    targets         10    20    30
    weight         1/4   1/4   1/2
    up to it       1/4   1/2    1        quantile 0.5 is 20, quantile 0.51 is 30, quantile 0 is 10

There is no interpolation: a quantile is a target that was seen. Every tree has 2**40 whole units to spread
and rounds down; a weight short of q by less than 2**-40, which is what rounding may take, counts as q. So a
third in one tree and two thirds in another are a half on every machine, in any order of the trees and rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.binning import Bins
from hedgerow.kernels.cpu.leaf_targets import (
    UNITS,
    LeafEntries,
    Ledger,
    gather_leaves,
    leaf_quantiles,
    leaf_ranks,
)
from hedgerow.kernels.cpu.votes import find_vote_leaves
from hedgerow.table import Table
from hedgerow.threads import over_rows
from hedgerow.voting import VoteForest, VotingTree, coded_rows

_CHUNK_CELLS = 1 << 20  # rows times trees that a thread holds the leaves of: 8 MB
_MOST_TREES = 2**22  # times the units of a tree that is 2**62
_LEAST_ROWS = 64  # of a chunk: below that, starting a thread takes longer than it saves


def chunk_rows(n_rows: int, n_trees: int, n_threads: int) -> int:
    """Rows handed to a thread at a time: enough chunks for all threads, and little memory.

    >>> chunk_rows(100_000, 100, 2), chunk_rows(1000, 100, 2), chunk_rows(10, 100, 2)
    (10485, 125, 64)
    """
    return max(_LEAST_ROWS, min(_CHUNK_CELLS // n_trees, -(-n_rows // (4 * n_threads))))


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Targets by leaf, as flat compact arrays.

    Rows of the same target and weight share a place among the sorted ones, and in a leaf an entry.

    Parameters
    ----------
    starts : uint32 or uint64 (leaves + 1,)
        The entries of leaf k, counted over all trees, are starts[k]:starts[k + 1].
    places : uint32 (entries,)
        Places in `targets`, rising within a leaf.
    draws : unsigned (entries,)
        How often the tree drew rows of this target.
    targets : float64 (places,)
        Rising.
    weights : float64 (places,) or empty
        What a row of this place weighs.

    Examples
    --------
    A tree with two leaves, in which are the rows 0, 2 and 1, 3; row 2 was drawn twice:

    >>> no, starts, rows = np.empty(0), np.array([0, 2, 4]), np.array([0, 2, 1, 3], np.uint32)
    >>> tree = VotingTree(no, no, no, no, no, starts, rows)
    >>> y = np.array([7.0, 5.0, 3.0, 5.0])
    >>> leaves = LeafTargets.of([tree], y, lambda tree: np.array([1, 1, 2, 1]))
    >>> leaves.targets
    array([3., 5., 7.])
    >>> [(leaves.places[a:b].tolist(), leaves.draws[a:b].tolist()) for a, b in ((0, 2), (2, 3))]
    [([0, 2], [2, 1]), ([1], [2])]
    """

    starts: NDArray[np.unsignedinteger[Any]]
    places: NDArray[np.uint32]
    draws: NDArray[np.unsignedinteger[Any]]
    targets: Floats
    weights: Floats

    @classmethod
    def of(
        cls,
        trees: Sequence[VotingTree],
        y: Floats,
        draws: Callable[[int], Integers],
        weight: Floats | None = None,
    ) -> "LeafTargets":
        """Gather the rows that grown trees kept.

        Parameters
        ----------
        trees : sequence of VotingTree
            Grown with `keep_rows`.
        y : float64 (n,)
        draws : callable
            draws(t) : int64 (n,), how often trees[t] drew each row.
        weight : float64 (n,) or None
            Of the rows themselves, if trees know of it; None when rows were drawn by their weights.
        """
        order, place_of, targets, weights = _sorted_targets(y, weight)
        leaf_of = np.empty(len(y), np.int64)
        sizes, places, counts = [], [], []
        for number, tree in enumerate(trees):
            n_rows, n_leaves = len(tree.leaf_rows), len(tree.leaf_starts) - 1
            if n_leaves < 0:
                raise ValueError(f"tree {number} was grown without keep_rows: its leaves know no rows")
            size = np.empty(n_leaves, np.int64)
            place, count = np.empty(n_rows, np.uint32), np.empty(n_rows, np.int64)
            n = gather_leaves(
                tree.leaf_starts, tree.leaf_rows, draws(number), order, place_of, leaf_of, size, place, count
            )
            sizes.append(size)
            places.append(place[:n].copy())
            counts.append(count[:n].astype(np.min_scalar_type(int(count[:n].max(initial=0)))))
        ends = np.cumsum(np.concatenate(sizes))
        return cls(
            _starts(np.concatenate([[0], ends])),
            np.concatenate(places),
            np.concatenate(counts),
            targets,
            weights,
        )

    @classmethod
    def join(cls, first: "LeafTargets", second: "LeafTargets") -> "LeafTargets":
        """The trees of both, in order; they must know the same targets."""
        same = np.array_equal(first.targets, second.targets) and np.array_equal(first.weights, second.weights)
        if not same:
            raise ValueError("trees that learned from different targets cannot be joined")
        mine, theirs = first.starts.astype(np.int64), second.starts.astype(np.int64)
        return replace(
            first,
            starts=_starts(np.concatenate([mine, theirs[1:] + mine[-1]])),
            places=np.concatenate([first.places, second.places]),
            draws=np.concatenate([first.draws, second.draws]),
        )

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    @property
    def _entries(self) -> LeafEntries:
        return LeafEntries(self.starts, self.places, self.draws, self.targets, self.weights)

    def quantiles(
        self, forest: VoteForest, table: Table, bins: Bins, quantiles: Floats, n_threads: int
    ) -> Floats:
        """Quantiles of the target for every row; see the head of this module.

        Parameters
        ----------
        forest : VoteForest
            Of the trees that these are the leaves of.
        table : Table
        bins : Bins
        quantiles : float64 (q,)
            From 0, the smallest target in the leaves, to 1, the largest; in any order.
        n_threads : int
            Each takes 8 bytes a training row beside the leaves of its chunk.

        Returns
        -------
        float64 array of shape (rows, q)
        """
        self._check_forest(forest)
        order = np.argsort(quantiles, kind="stable")
        needed = np.array([_units(q, forest.n_trees) for q in quantiles[order]], np.int64)
        n_places = len(self.targets)
        shift = (n_places.bit_length() + 1) // 2  # about as many coarse sums as places in one
        n_coarse = (n_places >> shift) + 1
        rising = np.empty((table.n_rows, len(order)))

        def ask(start: int, stop: int) -> None:
            nodes = np.empty((stop - start, forest.n_trees), np.int64)
            find_vote_leaves(coded_rows(table, bins, start, stop), forest.trees, nodes)
            ledger = Ledger(np.zeros(n_places, np.int64), np.zeros(n_coarse, np.int64))
            leaf_quantiles(nodes, forest.trees, self._entries, needed, ledger, shift, rising[start:stop])

        over_rows(table.n_rows, ask, n_threads, chunk_rows(table.n_rows, forest.n_trees, n_threads))
        out = np.empty_like(rising)
        out[:, order] = rising
        return out

    def ranks(
        self,
        forest: VoteForest,
        table: Table,
        bins: Bins,
        in_bag: NDArray[np.uint8],
        y: Floats,
        n_threads: int,
    ) -> Floats:
        """Where targets stand in what the trees that did not learn from them say.

        Parameters
        ----------
        forest, bins, n_threads
            As in `quantiles`.
        table : Table
            Of the training rows.
        in_bag : uint8 (trees, bytes)
            A bit for every row that a tree learned from.
        y : float64 (n,)
            Their targets.

        Returns
        -------
        float64 array of shape (n, 2)
            The weight of targets below y, and of those up to y; NaN for rows that every tree learned from.
        """
        self._check_forest(forest)
        out = np.empty((table.n_rows, 2))

        def ask(start: int, stop: int) -> None:
            nodes = np.empty((stop - start, forest.n_trees), np.int64)
            find_vote_leaves(coded_rows(table, bins, start, stop), forest.trees, nodes)
            leaf_ranks(nodes, forest.trees, self._entries, in_bag, start, y[start:stop], out[start:stop])

        over_rows(table.n_rows, ask, n_threads, chunk_rows(table.n_rows, forest.n_trees, n_threads))
        return out

    def _check_forest(self, forest: VoteForest) -> None:
        if forest.n_trees > _MOST_TREES:
            raise ValueError(
                f"{forest.n_trees:,} trees are too many for quantiles: {_MOST_TREES:,} are allowed"
            )
        if len(self.starts) - 1 != len(forest.values):
            raise ValueError(
                f"the forest has {len(forest.values)} leaves, the targets of {len(self.starts) - 1} are known"
            )


def _units(quantile: float, n_trees: int) -> int:
    """Units that reach a quantile. Every tree has lost less than one by rounding down."""
    return max(1, math.floor(Fraction(float(quantile)) * n_trees * UNITS) - n_trees + 1)


def _starts(starts: Integers) -> NDArray[np.unsignedinteger[Any]]:
    return starts.astype(np.uint32 if starts[-1] < 2**32 else np.uint64)


def _sorted_targets(
    y: Floats, weight: Floats | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Floats, Floats]:
    """Rows by rising target, the place of each of them, and the targets and weights of the places."""
    y = y + 0.0  # -0.0 becomes 0.0: they are one target
    order = np.argsort(y, kind="stable") if weight is None else np.lexsort((weight, y))
    is_new = np.ones(len(y), bool)
    is_new[1:] = y[order[1:]] != y[order[:-1]]
    weights = np.empty(0)
    if weight is not None:
        is_new[1:] |= weight[order[1:]] != weight[order[:-1]]
        scale = -math.frexp(float(weight.max()))[1]  # a power of two, so that no sum overflows
        weights = np.ldexp(weight[order][is_new], scale)
    places = np.cumsum(is_new) - 1
    return order.astype(np.uint32), places.astype(np.uint32), y[order][is_new], weights
