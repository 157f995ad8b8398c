"""The training targets in the leaves of a forest, and quantiles from them (Meinshausen 2006).

For a row x, each of T trees spreads the weight 1 / T over the training rows in the leaf of x, in proportion
to how often the tree drew them (times their own weight). This is a distribution of the target at x; its mean
is the prediction of the forest. The quantile q is the smallest target up to which the total weight is at
least q:

    targets         10    20    30
    weight         1/4   1/4   1/2
    cumulative     1/4   1/2    1        quantile 0.5 is 20, quantile 0.51 is 30, quantile 0 is 10

There is no interpolation: a quantile is a training target. The weight of a tree is 2**40 integer units,
rounded down for each entry; a weight below q by less than 2**-40, the largest rounding error, counts as q. So
the mean of 1/3 in one tree and 2/3 in another is 1/2 on every machine, in any order of the trees and rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.kernels.cpu.leaf_targets import (
    UNITS,
    LeafEntries,
    UnitSums,
    gather_leaves,
    leaf_quantiles,
    leaf_ranks,
)
from hedgerow.voting import CodedRows, VoteForest, VotingTree

_CHUNK_LEAVES = 1 << 20  # rows times trees whose leaves a thread holds: 8 MB
_MAX_TREES = 2**22  # times the units of a tree this is 2**62
_LEAST_ROWS = 64  # of a chunk: with fewer rows, starting a thread takes longer than the work


def chunk_rows(n_rows: int, n_trees: int, n_threads: int) -> int:
    """Return the rows that a thread processes at a time: enough chunks for all threads, and little memory.

    >>> chunk_rows(100_000, 100, 2), chunk_rows(1000, 100, 2), chunk_rows(10, 100, 2)
    (10485, 125, 64)
    """
    return max(_LEAST_ROWS, min(_CHUNK_LEAVES // n_trees, -(-n_rows // (4 * n_threads))))


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Targets by leaf, as flat compact arrays.

    Rows of equal target and weight share one position among the sorted targets, and one entry of a leaf.

    starts : uint32 or uint64 (leaves + 1,); leaf k of all trees has the entries starts[k]:starts[k + 1].
    positions : uint32 (entries,), positions in `targets`, ascending within a leaf.
    draws : unsigned (entries,), how often the tree drew rows of this target.
    targets : float64 (positions,), in ascending order.
    weights : float64 (positions,) or empty, weight of a row of this target.

    A tree with two leaves, of rows 0, 2 and rows 1, 3; row 2 was drawn twice:

    >>> no, starts, rows = np.empty(0), np.array([0, 2, 4]), np.array([0, 2, 1, 3], np.uint32)
    >>> tree = VotingTree(no, no, no, no, no, starts, rows)
    >>> y = np.array([7.0, 5.0, 3.0, 5.0])
    >>> leaves = LeafTargets.of([tree], y, lambda tree: np.array([1, 1, 2, 1]))
    >>> leaves.targets
    array([3., 5., 7.])
    >>> [(leaves.positions[a:b].tolist(), leaves.draws[a:b].tolist()) for a, b in ((0, 2), (2, 3))]
    [([0, 2], [2, 1]), ([1], [2])]
    """

    starts: NDArray[np.unsignedinteger[Any]]
    positions: NDArray[np.uint32]
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
        """Collect the rows of the leaves of trees that were grown with `keep_rows`.

        draws(t) : int64 (n,), how often trees[t] drew each row.
        weight : float64 (n,), weights of the rows within trees; None if rows were drawn by weight.
        """
        order, position_of, targets, weights = _sorted_targets(y, weight)
        leaf_of = np.empty(len(y), np.int64)
        sizes, positions, counts = [], [], []
        for number, tree in enumerate(trees):
            n_rows, n_leaves = len(tree.leaf_rows), len(tree.leaf_starts) - 1
            if n_leaves < 0:
                raise ValueError(
                    f"tree {number} was grown without keep_rows: the rows of its leaves are not stored"
                )
            size = np.empty(n_leaves, np.int64)
            position, count = np.empty(n_rows, np.uint32), np.empty(n_rows, np.int64)
            n = gather_leaves(
                tree.leaf_starts, tree.leaf_rows, draws(number), order, position_of, leaf_of,
                size, position, count,
            )  # fmt: skip
            sizes.append(size)
            positions.append(position[:n].copy())
            counts.append(count[:n].astype(np.min_scalar_type(int(count[:n].max(initial=0)))))
        ends = np.cumsum(np.concatenate(sizes))
        starts = _starts(np.concatenate([[0], ends]))
        return cls(starts, np.concatenate(positions), np.concatenate(counts), targets, weights)

    @classmethod
    def join(cls, first: "LeafTargets", second: "LeafTargets") -> "LeafTargets":
        """Concatenate the trees of both; they must have the same targets."""
        same = np.array_equal(first.targets, second.targets) and np.array_equal(first.weights, second.weights)
        if not same:
            raise ValueError("trees of different training targets cannot be joined")
        left, right = first.starts.astype(np.int64), second.starts.astype(np.int64)
        return replace(
            first,
            starts=_starts(np.concatenate([left, right[1:] + left[-1]])),
            positions=np.concatenate([first.positions, second.positions]),
            draws=np.concatenate([first.draws, second.draws]),
        )

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    @property
    def _entries(self) -> LeafEntries:
        return LeafEntries(self.starts, self.positions, self.draws, self.targets, self.weights)

    def quantiles(self, forest: VoteForest, rows: CodedRows, quantiles: Floats, n_threads: int) -> Floats:
        """Return quantiles (rows, q) of the target for every row; see the module docstring.

        quantiles : float64 (q,), from 0, the smallest target in the leaves, to 1, the largest; in any order.
        n_threads : each uses 8 bytes per training row beside the leaves of its chunk.
        """
        self._check_forest(forest)
        order = np.argsort(quantiles, kind="stable")
        thresholds = np.array([_units(q, forest.n_trees) for q in quantiles[order]], np.int64)
        n_positions = len(self.targets)
        shift = (n_positions.bit_length() + 1) // 2  # about as many coarse sums as positions per sum
        n_coarse = (n_positions >> shift) + 1
        ascending = np.empty((rows.n_rows, len(order)))

        def fill(leaves: Integers, start: int, stop: int) -> None:
            unit_sums = UnitSums(np.zeros(n_positions, np.int64), np.zeros(n_coarse, np.int64))
            out = ascending[start:stop]
            leaf_quantiles(leaves, forest.trees, self._entries, thresholds, unit_sums, shift, out)

        forest.over_leaves(rows, n_threads, chunk_rows(rows.n_rows, forest.n_trees, n_threads), fill)
        out = np.empty_like(ascending)
        out[:, order] = ascending
        return out

    def ranks(
        self, forest: VoteForest, rows: CodedRows, in_bag: NDArray[np.uint8], y: Floats, n_threads: int
    ) -> Floats:
        """Return ranks (n, 2) of the training targets y in the distributions of their out-of-bag trees.

        A rank is the weight of targets below y, and of targets up to y; NaN for rows that every tree was
        trained on. in_bag : uint8 (trees, bytes), bits of the rows that each tree was trained on.
        """
        self._check_forest(forest)
        out = np.empty((rows.n_rows, 2))

        def fill(leaves: Integers, start: int, stop: int) -> None:
            leaf_ranks(leaves, forest.trees, self._entries, in_bag, start, y[start:stop], out[start:stop])

        forest.over_leaves(rows, n_threads, chunk_rows(rows.n_rows, forest.n_trees, n_threads), fill)
        return out

    def _check_forest(self, forest: VoteForest) -> None:
        if forest.n_trees > _MAX_TREES:
            raise ValueError(
                f"{forest.n_trees:,} trees are too many for quantiles: {_MAX_TREES:,} are allowed"
            )
        if len(self.starts) - 1 != len(forest.values):
            raise ValueError(
                f"the forest has {len(forest.values)} leaves, but the targets of {len(self.starts) - 1} are "
                "stored"
            )


def _units(quantile: float, n_trees: int) -> int:
    """Return the units of a quantile; rounding down loses less than one unit per tree."""
    return max(1, math.floor(Fraction(float(quantile)) * n_trees * UNITS) - n_trees + 1)


def _starts(starts: Integers) -> NDArray[np.unsignedinteger[Any]]:
    return starts.astype(np.uint32 if starts[-1] < 2**32 else np.uint64)


def _sorted_targets(
    y: Floats, weight: Floats | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Floats, Floats]:
    """Return rows by ascending target, the position of each, and the targets and weights of the positions."""
    y = y + 0.0  # -0.0 becomes 0.0: they are one target
    order = np.argsort(y, kind="stable") if weight is None else np.lexsort((weight, y))
    is_new = np.ones(len(y), bool)
    is_new[1:] = y[order[1:]] != y[order[:-1]]
    weights = np.empty(0)
    if weight is not None:
        is_new[1:] |= weight[order[1:]] != weight[order[:-1]]
        scale = -math.frexp(float(weight.max()))[1]  # a power of two, so that no sum overflows
        weights = np.ldexp(weight[order][is_new], scale)
    positions = np.cumsum(is_new) - 1
    return order.astype(np.uint32), positions.astype(np.uint32), y[order][is_new], weights
