"""Forest: trees as flat arrays, and TreeModel, the additive model of a forest.

Trees follow one another; tree t owns the nodes starts[t]:starts[t + 1]. A split sends the codes up to
`threshold` of `column` left, or the codes in sets[set_number]; its children are `left` and `left + 1`,
counted within the tree, and `left` is 0 in a leaf. A tree adds its leaf values to one output.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers
from hedgerow.binning import BinnedTable, Bins
from hedgerow.kernels.cpu import forest as kernels
from hedgerow.kernels.cpu.forest import RawBins, Trees
from hedgerow.kernels.cpu.linear import FlatTerms, add_linear_predictions
from hedgerow.kernels.cpu.records import NODE
from hedgerow.linear_terms import LinearTerms
from hedgerow.table import Table
from hedgerow.threads import PickledWithoutCache, Team, cached_property, over_rows, rows_per_block

_LARGEST_CODE = 65_535  # a leaf's threshold: no code is larger, so that a row stays in its leaf
_CHUNK_ROWS = 8192  # rows that a thread predicts at a time


@dataclass(frozen=True, eq=False)
class Forest(PickledWithoutCache):
    """Flat trees.

    Parameters
    ----------
    starts : int64 (trees + 1,)
    output : int32 (trees,), the output a tree adds to
    column, threshold, left, set_number : int32 (nodes,), set_number is -1 for numeric splits
    missing_left : uint8 (nodes,)
    value, gain : float64 (nodes,), the gain of a leaf is 0
    count : int64 (nodes,), training rows in the node
    sets : uint64 (sets, 4), sets of codes that go left
    linear : LinearTerms or None, linear functions of the leaves
    """

    starts: Integers
    output: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left: NDArray[np.int32]
    set_number: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    value: Floats
    gain: Floats
    count: Integers
    sets: NDArray[np.uint64]
    linear: LinearTerms | None = None

    @classmethod
    def of(
        cls,
        trees: Sequence[NDArray[np.void]],
        output: Sequence[int],
        terms: Sequence[LinearTerms] | None = None,
    ) -> "Forest":
        """Make a forest of the node records of grown trees; `terms` are those of linear leaves."""
        starts = np.concatenate([[0], np.cumsum([len(nodes) for nodes in trees])]).astype(np.int64)
        joined = b"".join(map(bytes, trees))  # np.concatenate is slow for records
        nodes = np.frombuffer(joined, NODE) if joined else np.empty(0, NODE)
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
            linear=LinearTerms.join(terms) if terms else None,
        )

    def records(self) -> list[NDArray[np.void]]:
        """Return the node records of every tree, from which `of` makes the same forest.

        Fields that only the growing of a tree uses are 0.
        """
        nodes, by_set = np.zeros(len(self.left), NODE), self.set_number >= 0
        for name in ("left", "count", "value"):
            nodes[name] = getattr(self, name)
        for name in ("column", "threshold", "missing_left", "gain"):
            nodes["split"][name] = getattr(self, name)
        nodes["split"]["categorical"] = by_set
        nodes["split"]["goes_left"][by_set] = self.sets[self.set_number[by_set]]
        trees = [nodes[a:b].copy() for a, b in pairwise(self.starts.tolist())]
        for tree in trees:
            left, depth = tree["left"], tree["depth"]
            for number in np.flatnonzero(left).tolist():  # children follow their parent
                depth[left[number] : left[number] + 2] = depth[number] + 1
        return trees

    @classmethod
    def join(cls, first: "Forest", second: "Forest") -> "Forest":
        """Return the trees of both, in order."""
        joined = {
            name: np.concatenate([array, second.arrays()[name]]) for name, array in first.arrays().items()
        }
        joined["starts"] = np.concatenate([first.starts, second.starts[1:] + first.starts[-1]])
        moved = np.where(second.set_number < 0, -1, second.set_number + len(first.sets))
        joined["set_number"] = np.concatenate([first.set_number, moved]).astype(np.int32)
        linear = None
        if first.linear is not None or second.linear is not None:
            both = [forest.linear or LinearTerms.none(len(forest.left)) for forest in (first, second)]
            linear = LinearTerms.join(both)
        return cls(**joined, linear=linear)

    def select(self, trees: range) -> "Forest":
        """Return a range of trees."""
        first, last = int(self.starts[trees.start]), int(self.starts[trees.stop])
        nodes = slice(first, last)
        numbers = self.set_number[nodes]
        used = numbers[numbers >= 0]
        arrays = {name: array[nodes] for name, array in self.arrays().items()}
        arrays["starts"] = self.starts[trees.start : trees.stop + 1] - first
        arrays["output"] = self.output[trees.start : trees.stop]
        arrays["sets"] = self.sets[used]
        arrays["set_number"] = np.where(numbers < 0, -1, np.cumsum(numbers >= 0) - 1).astype(np.int32)
        return Forest(**arrays, linear=None if self.linear is None else self.linear.select(nodes))

    def select_strided(self, first: int, size: int, step: int) -> "Forest":
        """Return the trees whose number modulo `step` is from `first` to first + size - 1."""
        trees = np.arange(self.n_trees)
        chosen = (trees % step >= first) & (trees % step < first + size)
        nodes = np.repeat(chosen, np.diff(self.starts))
        numbers = self.set_number[nodes]
        arrays = {name: array[nodes] for name, array in self.arrays().items() if len(array) == len(nodes)}
        arrays["starts"] = np.concatenate([[0], np.cumsum(np.diff(self.starts)[chosen])])
        arrays["output"] = self.output[chosen]
        arrays["sets"] = self.sets[numbers[numbers >= 0]]
        arrays["set_number"] = np.where(numbers < 0, -1, np.cumsum(numbers >= 0) - 1).astype(np.int32)
        return Forest(**arrays, linear=None if self.linear is None else self.linear.select(nodes))

    def scaled(self, factor: float) -> "Forest":
        """Return the same splits with multiplied values."""
        linear = None if self.linear is None else self.linear.scaled(factor)
        return replace(self, value=self.value * factor, linear=linear)

    def with_values(self, values: Floats, output: int) -> "Forest":
        """Return the same splits with other values; all trees add to one output."""
        return replace(self, value=values, output=np.full(self.n_trees, output, np.int32))

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays of the nodes by name, for model files."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "linear"}

    @cached_property
    def flat_terms(self) -> FlatTerms:
        """The linear functions of the leaves as the kernels read them."""
        return (self.linear or LinearTerms.none(len(self.left))).flat()

    @cached_property
    def trees(self) -> Trees:
        """The arrays of the prediction kernels."""
        starts, n_nodes = self.starts, len(self.left)
        tree_of = np.repeat(np.arange(self.n_trees), np.diff(starts))
        leaf, by_set = self.left == 0, self.set_number >= 0
        child = np.where(leaf, np.arange(n_nodes), starts[tree_of] + self.left).astype(np.int32)
        side = np.where(leaf | (self.missing_left == 1), kernels.MISSING_LEFT, kernels.MISSING_RIGHT)
        kind = np.where(by_set & ~leaf, kernels.BY_SET, side)
        threshold = np.where(leaf, _LARGEST_CODE, np.where(by_set, 0, self.threshold - kind))
        last_column = int(self.column.max(initial=0))
        if n_nodes >= kernels.MAX_NODES or last_column >= kernels.MAX_COLUMNS:
            raise ValueError(
                f"a forest must have at most {kernels.MAX_NODES:,} nodes and {kernels.MAX_COLUMNS:,} "
                f"columns; got {n_nodes:,} nodes and a split of column {last_column:,}"
            )
        packed_nodes = (
            (child.astype(np.uint64) << np.uint64(kernels.CHILD_SHIFT))
            | (self.column.astype(np.uint64) << np.uint64(kernels.COLUMN_SHIFT))
            | (threshold.astype(np.uint64) << np.uint64(kernels.THRESHOLD_SHIFT))
            | kind.astype(np.uint64)
        )
        masks, scratch = np.empty(n_nodes, np.uint32), np.empty(n_nodes, np.int64)
        entry = np.zeros((self.n_trees, kernels.TOP_LEAVES), np.int32)
        n_top, depth, below, n_levels = np.zeros((4, self.n_trees), np.int64)
        for t in range(self.n_trees):
            first, last = starts[t], starts[t + 1]
            n_top[t] = kernels.mask_top(self.left, first, last, masks, entry[t])
            depth[t], below[t] = kernels.depth_below(child, first, last, entry[t], n_top[t] + 1, scratch)
            n_levels[t] = self._n_levels(int(first), int(last))
            below[t] = 0 if n_levels[t] else below[t]
        return Trees(
            starts=starts,
            output=self.output.astype(np.int64),
            depth=depth,
            n_top=n_top,
            depth_below=below,
            entry=entry,
            packed_nodes=packed_nodes,
            set_number=self.set_number,
            masks=masks,
            value=self.value,
            sets=self.sets,
            uses_codes=np.array([below.any() or len(self.sets) > 0], np.int64),
            n_levels=n_levels,
        )

    def _n_levels(self, first: int, last: int) -> int:
        """Return the number of levels of a symmetric tree in the order of its levels, 0 for another tree."""
        n_levels = (last - first).bit_length() - 1
        n_inner = (1 << n_levels) - 1
        if n_levels < 2 or last - first != 2 * n_inner + 1:
            return 0
        inner, sizes = np.arange(first, first + n_inner), 1 << np.arange(n_levels)
        if not np.array_equal(self.left[inner], 2 * (inner - first) + 1):
            return 0
        heads = np.repeat(first + sizes - 1, sizes)  # the first node of the level
        for array in (self.column, self.threshold, self.missing_left):
            if not np.array_equal(array[inner], array[heads]):
                return 0
        by_set = self.set_number[heads] >= 0  # a column has either sets or thresholds
        sets, others = (self.sets[self.set_number[nodes[by_set]]] for nodes in (inner, heads))
        return n_levels if np.array_equal(sets, others) else 0

    def thresholds(self, bins: Bins) -> Floats:
        """Return the largest value that goes left at a numeric split; inf if only missing values go right."""
        first, last = bins.edge_starts[self.column], bins.edge_starts[self.column + 1]
        position = first + self.threshold - 1
        numeric = (self.left > 0) & (self.set_number < 0) & (position < last)
        thresholds = np.full(len(self.left), np.inf)
        thresholds[numeric] = bins.edges[position[numeric]]
        return thresholds

    def add_coded_scores(self, table: BinnedTable, tree: int, scores: Floats, team: Team) -> None:
        """Add the values of one tree to scores (rows,) of encoded rows."""
        trees, codes = self.trees, table.codes.by_column
        team.over_rows(table.n_rows, lambda a, b: kernels.add_coded(codes, trees, tree, a, b, scores))


class Predictor:
    """A forest and the bins of its input, prepared for prediction.

    Parameters
    ----------
    forest : Forest
    bins : Bins
    """

    def __init__(self, forest: Forest, bins: Bins) -> None:
        self.forest = forest
        self.bins = RawBins(bins.edges, bins.edge_starts, bins.tables, bins.table_starts)
        self._select = bins.select
        wide = forest.thresholds(bins)
        with np.errstate(
            over="ignore"
        ):  # a value too large for float32 becomes infinite, and is then rounded down
            narrow = wide.astype(np.float32)  # x <= wide is x <= narrow for every float32 x
        narrow = np.where(narrow > wide, np.nextafter(narrow, np.float32(-np.inf)), narrow)
        self._thresholds = {np.dtype(np.float64): wide, np.dtype(np.float32): narrow}

    def add_scores(self, table: Table, scores: Floats, n_threads: int, trees: range | None = None) -> None:
        """Add the values of a range of trees to scores (outputs, rows), in the order of the trees."""
        chosen = range(self.forest.n_trees) if trees is None else trees
        if not chosen:
            return
        flat, bins, thresholds = self.forest.trees, self.bins, self._thresholds[table.dtype]
        select = self._select
        ends, terms = (chosen.start, chosen.stop), self.forest.flat_terms

        def add(a: int, b: int) -> None:
            block = select(table.block(a, b))
            if self.forest.linear is None:
                kernels.add_predictions(block, bins, flat, thresholds, ends, scores, a)
            else:
                add_linear_predictions(block, bins, flat, thresholds, terms, ends, scores, a)

        over_rows(table.n_rows, add, n_threads, rows_per_block(table.n_columns, _CHUNK_ROWS))

    def leaves(self, table: Table, n_threads: int) -> NDArray[np.int32]:
        """Return the number of the leaf of every row in every tree, (rows, trees)."""
        out = np.empty((table.n_rows, self.forest.n_trees), np.int32)
        flat, bins, select = self.forest.trees, self.bins, self._select
        over_rows(
            table.n_rows,
            lambda a, b: kernels.find_leaves(select(table.block(a, b)), bins, flat, out, a),
            n_threads,
            rows_per_block(table.n_columns, _CHUNK_ROWS),
        )
        return out


@dataclass(frozen=True, eq=False)
class TreeModel(PickledWithoutCache):
    """An additive model: start scores and trees, or the mean of such models, one for each of several folds.

    A round owns `trees_per_round` trees: one per output, and with folds first those of fold 0, then those of
    fold 1, and so on. Their leaf values are divided by the number of folds already, and `start` is the mean
    of `fold_starts`, so that scores are computed as without folds.
    """

    start: Floats  # (outputs,)
    bins: Bins
    forest: Forest
    fold_starts: Floats | None = None  # (folds, outputs)

    @property
    def n_folds(self) -> int:
        """The number of models that this one is the mean of."""
        return 1 if self.fold_starts is None else len(self.fold_starts)

    @property
    def trees_per_round(self) -> int:
        """The number of trees of a round."""
        return len(self.start) * self.n_folds

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return self.forest.n_trees // self.trees_per_round

    def cut(self, n_rounds: int) -> "TreeModel":
        """Return a model of the first rounds."""
        if n_rounds == self.n_rounds:
            return self
        return replace(self, forest=self.forest.select(range(n_rounds * self.trees_per_round)))

    def fold_model(self, fold: int) -> "TreeModel":
        """Return the model of one fold."""
        if self.fold_starts is None:
            return self
        n_outputs = len(self.start)
        trees = self.forest.select_strided(fold * n_outputs, n_outputs, self.trees_per_round)
        return TreeModel(self.fold_starts[fold], self.bins, trees.scaled(self.n_folds))

    @cached_property
    def predictor(self) -> Predictor:
        """The forest, prepared for prediction."""
        return Predictor(self.forest, self.bins)

    @cached_property
    def max_scores(self) -> Floats:
        """Running sums (rounds + 1,) of the largest absolute values of the start and of every round."""
        forest = self.forest
        values = np.abs(forest.value) if forest.linear is None else forest.linear.largest(forest.value)
        in_leaves = np.where(forest.left == 0, values, 0.0)
        largest = np.maximum.reduceat(in_leaves, self.forest.starts[:-1])
        by_fold = largest.reshape(self.n_rounds, self.n_folds, len(self.start))
        round_maxima = by_fold.sum(axis=1).max(axis=1)
        return np.cumsum([np.abs(self.start).max(), *round_maxima])

    def scores(self, table: Table, n_threads: int) -> Floats:
        """Return the raw scores (outputs, rows)."""
        scores = self._start_scores(table.n_rows)
        self.predictor.add_scores(table, scores, n_threads)
        return scores

    def staged_scores(self, table: Table, n_threads: int) -> Iterator[Floats]:
        """Yield the raw scores after every round; the array is reused."""
        scores, n_trees = self._start_scores(table.n_rows), self.trees_per_round
        for number in range(self.n_rounds):
            trees = range(number * n_trees, (number + 1) * n_trees)
            self.predictor.add_scores(table, scores, n_threads, trees)
            yield scores

    def _start_scores(self, n_rows: int) -> Floats:
        scores = np.empty((len(self.start), n_rows))
        scores[:] = self.start[:, None]
        return scores
