"""Deep trees on a binned table: targets and weights as integers, and the threads that grow trees.

Each tree is grown by one thread, independently of the others. Weights are integers: how often a row was
drawn, times the weight of the row itself. Sums are exact, and a tree does not depend on the order of the
rows, nor on whether a row counts twice or occurs twice.
"""

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats, Integers, RowNumbers
from hedgerow.binning import BinnedTable
from hedgerow.kernels.cpu.deep import N_NODES, N_SETS, N_VALUES, DeepTree, DeepWorkspace, TreeInput, grow_tree
from hedgerow.kernels.cpu.deep_codes import DeepColumns, DeepRows, Scratch
from hedgerow.kernels.cpu.deep_cut import ENTROPY, GINI, POISSON, SQUARED
from hedgerow.kernels.cpu.deep_split import DeepRules, OpenNodes
from hedgerow.kernels.cpu.elementary import log_into
from hedgerow.losses.base import leaf_means
from hedgerow.threads import cached_property
from hedgerow.voting import VotingTree

CRITERIA = {
    "gini": int(GINI),
    "entropy": int(ENTROPY),
    "squared_error": int(SQUARED),
    "poisson": int(POISSON),
}

_BLOCK_ROWS = 4096  # rows of a node that are copied to one block: their codes fit into the second-level cache
_HIST_BYTES = 1 << 20  # histograms of a node that are held at a time
_LOGS = 1 << 16
_SUM_BITS = 61  # of the sums of targets
WEIGHT_BITS = 50  # of the sum of weights that are not integers: its square fits into float64
_UNLIMITED = 2**62
_TREES_PER_THREAD = 2  # trees per thread that may be grown before they are collected


@dataclass(frozen=True)
class DeepOptions:
    """Options of a tree. Numbers of rows count a row as often as it is drawn."""

    criterion: str = "gini"  # a key of CRITERIA
    max_depth: int | None = None
    max_leaves: int | None = None
    min_split: int = 2  # rows of a node that is split
    min_leaf: int = 1  # rows of a leaf
    min_weight_fraction: float = 0.0  # of the total weight, in a leaf
    min_gain: float = 0.0  # decrease of the impurity, weighted by the fraction of rows in the node
    columns_per_node: int = 1  # drawn for a node, of those that vary in it
    random_cuts: bool = False  # one random cut of each column is tried instead of all


@dataclass(frozen=True, eq=False)
class DeepTarget:
    """Targets as integers."""

    classes: NDArray[Any]  # unsigned (n,), or empty
    numbers: Integers  # (n, outputs), in steps of `unit` from `centre`, times the weight; (n, 0) for classes
    same: Integers  # (n, any), equal for rows of equal targets
    own: Integers  # (n,), weights of the rows; empty if all are 1
    n_outputs: int  # the number of classes, or of outputs
    centre: Floats  # (outputs,)
    unit: float = 1.0
    # (n, outputs), the targets themselves, for the means of the leaves: an outlier makes the steps large
    y: Floats | None = None

    @classmethod
    def of_classes(
        cls,
        classes: NDArray[Any],
        n_classes: int,
        weight: Floats | None,
        n_draws: int = 1,
        bits: int = WEIGHT_BITS,
    ) -> "DeepTarget":
        """Make targets of classes, with weights as integers of `bits` bits, such that no sum overflows."""
        none = np.empty((len(classes), 0), np.int64)
        dtype = np.uint8 if n_classes <= 256 else np.uint32
        own = np.empty(0, np.int64) if weight is None else _integers(_scaled(weight), bits, n_draws)
        return cls(classes.astype(dtype), none, none, own, n_classes, np.empty(0))

    @classmethod
    def of_numbers(
        cls, y: Floats, centre: Floats, rows: RowNumbers, n_draws: int, weight: Floats | None
    ) -> "DeepTarget":
        """Make targets of numbers (n, outputs), rounded so that no sum of `n_draws` of them overflows."""
        moved = np.zeros_like(y)
        moved[rows] = y[rows] - centre
        own = np.empty(0, np.int64)
        if weight is not None:
            weight = _scaled(weight)
            own = _integers(weight, WEIGHT_BITS)
            rounded = own / _steps(weight, WEIGHT_BITS)  # with the exact weights, means would be wrong
            moved *= rounded[:, np.newaxis]
        largest = float(np.abs(moved).max(initial=0.0))
        bits = _SUM_BITS - max(1, n_draws).bit_length()
        shift = 0 if largest == 0 else min(bits - math.frexp(largest)[1], 1000)
        numbers = np.rint(np.ldexp(moved, shift)).astype(np.int64)
        same, unit = numbers, math.ldexp(1.0, -shift)
        if weight is not None:
            _, positions = np.unique(y, axis=0, return_inverse=True)
            same = positions.reshape(-1, 1).astype(np.int64)
            unit *= _steps(weight, WEIGHT_BITS)  # targets are divided by sums of weights in these steps
        return cls(np.empty(0, np.uint8), numbers, same, own, y.shape[1], centre, unit, y)

    @property
    def is_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.classes.size > 0

    def values(self, raw: Floats) -> Floats:
        """Return leaf values from means in steps."""
        if self.is_classes:
            return raw
        raw *= self.unit
        raw += self.centre
        return raw


def _scaled(weight: Floats) -> Floats:
    """Scale weights by a power of two so that the largest is between 1/2 and 1."""
    scaled: Floats = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return scaled


def _steps(weight: Floats, bits: int) -> float:
    """Return the steps of a weight of 1, a power of two, such that the sum is about 2**bits."""
    return math.ldexp(1.0, bits - math.frexp(math.fsum(weight))[1])


def _integers(weight: Floats, bits: int, n_draws: int = 1) -> Integers:
    """Return weights as integers, at least 1 for a positive weight.

    The largest weight, just below 1, may occur `n_draws` times in a tree.
    """
    steps = min(_steps(weight, bits), math.ldexp(1.0, _SUM_BITS - max(1, n_draws).bit_length()))
    rounded = np.rint(weight * steps)
    return np.where(weight > 0, np.maximum(rounded, 1.0), 0.0).astype(np.int64)


class DeepGrower:
    """Grows trees on a table; every thread needs its own, see `for_thread`.

    A tree has at most `n_draws` rows. `direction` (columns,) is -1, 0 or 1, empty without constraints.
    With `class_factors`, class weights are passed for each tree; with `keep_rows`, the rows of the leaves are
    stored.
    """

    def __init__(
        self,
        table: BinnedTable,
        target: DeepTarget,
        options: DeepOptions,
        direction: NDArray[np.int8],
        n_draws: int,
        seed: int,
        *,
        class_factors: bool = False,
        keep_rows: bool = False,
    ) -> None:
        codes = table.codes
        self._codes = codes.by_row
        self._columns = DeepColumns(
            categorical=codes.categorical,
            direction=direction,
            n_bins=codes.n_bins,
            stored=table.stored,
            base=codes.stored_entries - codes.stored_offsets[table.stored],
            usual=codes.usual,
            shared=(np.bincount(table.stored) > 1).astype(np.uint8),
        )
        self.target, self.options, self.seed, self._keep_rows = target, options, seed, keep_rows
        self._writes_rows = keep_rows or (target.y is not None and not direction.size)
        weighted = target.own.size > 0 or class_factors
        has_no_minimum = options.min_leaf == 1 and options.min_split == 2  # any positive weight is enough
        self._counts_draws = weighted and not (target.is_classes and has_no_minimum)
        self._n_rows, self._most_rows = len(codes.by_row), min(len(codes.by_row), n_draws)
        if not target.own.all():
            self._most_rows = self._n_rows  # see `grow`: a tree may use all rows
        self._stride = target.n_outputs + (not target.is_classes) + self._counts_draws

    def for_thread(self) -> "DeepGrower":
        """Return a copy with its own memory."""
        other = object.__new__(DeepGrower)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("_memory", "_tree")})
        return other

    def grow(self, number: int, draws: Integers, factor: Integers | None = None) -> VotingTree:
        """Grow tree `number`.

        draws : int64 (n,), how often each row counts. factor : int64 (classes,), class weights of this tree.
        """
        target, memory, tree = self.target, self._memory, self._tree
        weight = draws if not target.own.size else draws * target.own
        if factor is not None:
            weight = weight * factor[target.classes]
        rows = np.flatnonzero(weight)
        if not rows.size:  # all drawn rows have weight zero: use all rows once
            return self.grow(number, np.ones_like(draws), factor)
        memory.rows[: len(rows)] = rows
        counted = draws if self._counts_draws else draws[:0]
        data = DeepRows(self._codes, weight, counted, target.classes, target.numbers, target.same)
        total = int(weight.sum())
        tree_input = TreeInput(data, self._columns, self._kernel_rules(total, number))
        grow_tree(tree_input, tree, memory, len(rows))
        n_nodes, n_values, n_sets = (int(memory.state[i]) for i in (N_NODES, N_VALUES, N_SETS))
        set_number = tree.set_number[:n_nodes].copy()
        tree.set_number[:n_nodes] = -1  # initial value for the next tree
        return VotingTree(
            nodes=tree.packed_nodes[:n_nodes].copy(),
            values=self._leaf_values(n_values, weight),
            sets=tree.sets[:n_sets].copy(),
            set_number=set_number,
            gains=tree.gains[0] + tree.gains[1],
            leaf_starts=tree.leaf_starts[: n_values + 1 if self._keep_rows else 0].copy(),
            leaf_rows=tree.leaf_rows[: len(rows) if self._keep_rows else 0].copy(),
        )

    def _leaf_values(self, n_values: int, weight: Integers) -> Floats:
        """Return class fractions, or means within the range of the targets of a leaf and monotonic bounds."""
        target, tree = self.target, self._tree
        if target.y is None or self._columns.direction.size:
            return target.values(tree.values[:n_values].copy())
        starts = tree.leaf_starts[: n_values + 1]
        rows = tree.leaf_rows[: starts[-1]]
        weights, means = weight[rows].astype(np.float64), np.empty((n_values, target.n_outputs))
        for output, numbers in enumerate(target.y.T):
            leaf_targets = numbers[rows]
            mean = leaf_means(leaf_targets, weights, starts)
            low, high = (bound.reduceat(leaf_targets, starts[:-1]) for bound in (np.minimum, np.maximum))
            means[:, output] = np.clip(mean, low, high)
        return means

    def _kernel_rules(self, total: int, number: int) -> DeepRules:
        options = self.options
        # the factor allows for rounding: 1/3 of three rows must be one row
        min_fraction = options.min_weight_fraction * (1.0 - 2.0**-40)
        unit = 1.0
        if not self.target.is_classes:  # impurity is the mean over the outputs
            unit = self.target.unit / self.target.n_outputs
        if options.criterion == "squared_error":
            unit = max(unit * self.target.unit, 5e-324)  # the square of 1e-170 is 0
        if options.criterion == "entropy":
            unit = 1.0 / math.log(2.0)  # in bits, as in scikit-learn
        return DeepRules(
            criterion=CRITERIA[options.criterion],
            max_depth=_UNLIMITED if options.max_depth is None else options.max_depth,
            max_leaves=_UNLIMITED if options.max_leaves is None else options.max_leaves,
            min_split=options.min_split,
            min_rows=options.min_leaf,
            min_weight=math.ceil(min_fraction * total),
            columns_per_node=options.columns_per_node,
            min_gain=options.min_gain * total / unit if options.min_gain > 0 else -math.inf,
            random_cuts=int(options.random_cuts),
            seed=self.seed,
            tree=number,
        )

    # --- memory for the largest tree

    @cached_property
    def _tree(self) -> DeepTree:
        n, n_columns = self._most_rows, len(self._columns.stored)
        by_set = bool(self._columns.categorical.any())
        tree = DeepTree(
            packed_nodes=np.empty(2 * n, np.uint64),
            values=np.empty((n, self.target.n_outputs)),
            sets=np.empty((n if by_set else 0, 4), np.uint64),
            set_number=np.empty(2 * n if by_set else 0, np.int32),
            leaf_starts=np.zeros(n + 1 if self._writes_rows else 0, np.int64),
            leaf_rows=np.empty(n if self._writes_rows else 0, np.uint32),
            gains=np.empty((2, n_columns)),
        )
        tree.set_number[:] = -1
        return tree

    @cached_property
    def _memory(self) -> DeepWorkspace:
        n, block, target = self._most_rows, min(_BLOCK_ROWS, self._most_rows), self.target
        n_slots = min(n, self.options.max_leaves or n) + 3
        return DeepWorkspace(
            rows=np.empty(n, np.uint32),
            buffer=np.empty(n, np.uint32),
            nodes=self._open(n_slots),
            heap=np.empty(n_slots, np.int64),
            free=np.empty(n_slots - 1, np.int64),  # the last slot holds a set of bytes
            deferred=np.empty((n, 4), np.int64),
            deferred_bounds=np.empty((n, 2)),
            deferred_key=np.empty(n, np.uint64),
            block=DeepRows(
                codes=np.zeros((block, self._codes.shape[1]), np.uint8),
                weight=np.empty(block, np.int64),
                draws=np.empty(block if self._counts_draws else 0, np.int64),
                classes=np.empty(block if target.is_classes else 0, target.classes.dtype),
                numbers=np.empty((block, target.numbers.shape[1]), np.int64),
                target_keys=np.empty((block, target.same.shape[1]), np.int64),
            ),
            block_rows=np.empty(block, np.uint32),
            scratch=self._scratch(),
            state=np.zeros(8, np.int64),
        )

    def _open(self, n_slots: int) -> OpenNodes:
        n_words = -(-len(self._columns.stored) // 64)
        return OpenNodes(
            extent=np.empty((n_slots, 4), np.int64),
            key=np.empty(n_slots, np.uint64),
            split=np.empty((n_slots, 4), np.int64),
            goes_left=np.empty((n_slots, 4), np.uint64),
            gain=np.empty(n_slots),
            sums=np.empty((n_slots, self._stride), np.int64),
            left=np.empty((n_slots, self._stride), np.int64),
            bounds=np.empty((n_slots, 4)),
            constant=np.empty((n_slots, n_words), np.uint64),
        )

    def _scratch(self) -> Scratch:
        stored, stride = self._columns.stored, self._stride
        n_columns, n_stored = len(stored), int(stored.max()) + 1
        at_once = max(1, min(n_stored, _HIST_BYTES // (256 * 8 * stride)))
        logs = np.zeros(_LOGS)
        if self.options.criterion == "entropy":
            log_into(np.arange(_LOGS, dtype=np.float64), logs)
            logs[0] = 0.0
            logs *= np.arange(_LOGS)
        return Scratch(
            order=np.empty(n_columns, np.int64),
            swapped=np.empty(n_columns, np.int64),
            chosen=np.empty(n_columns, np.int64),
            filled=np.empty(at_once, np.uintp),
            number=np.full(n_stored, -1, np.int64),
            hist=np.zeros(at_once * 256 * stride, np.int64),
            present=np.empty(at_once * 4, np.uint64),
            own=np.empty(256 * stride, np.int64),
            sorted=np.empty(256 * stride, np.int64),
            codes=np.empty(256, np.int64),
            positions=np.empty(256, np.int64),
            keys=np.empty(256),
            channels=np.empty(stride + 1, np.int64),
            local=np.empty(stride + 1, np.int64),
            sums=np.empty(stride + 1, np.int64),
            means=np.empty(stride + 1, np.int64),
            side=np.empty((2, stride), np.int64),
            float_side=np.empty((2, stride)),
            logs=logs,
        )


class ForestTask(Protocol):
    """What all trees of a forest are grown from; a tree is a function of its number."""

    @property
    def grower(self) -> DeepGrower: ...  # noqa: D102 - with the codes of all rows
    @property
    def n_rows(self) -> int: ...  # noqa: D102 - of the table

    def grow(self, grower: DeepGrower, tree: int) -> VotingTree:
        """Grow tree number `tree`, in the memory of `grower`."""


class ThreadedTreeGrower:
    """Grows trees in threads of this process, each with its own memory; see `backends.base.ForestGrower`."""

    def __init__(self, task: ForestTask, numbers: range, n_threads: int) -> None:
        n_threads = min(n_threads, len(numbers))
        self._task, self._numbers, self._thread_state = task, iter(numbers), local()
        self._pool = ThreadPoolExecutor(n_threads, "hedgerow") if n_threads > 1 else None
        self._pending: deque[Future[VotingTree]] = deque()
        self._window = n_threads * _TREES_PER_THREAD

    def fit(self, targets: int, iteration: int) -> VotingTree:
        """Return the next tree."""
        if self._pool is None:
            return self._grow(targets)
        while len(self._pending) < self._window:
            number = next(self._numbers, None)
            if number is None:
                break
            self._pending.append(self._pool.submit(self._grow, number))
        return self._pending.popleft().result()

    def _grow(self, number: int) -> VotingTree:
        if not hasattr(self._thread_state, "grower"):
            self._thread_state.grower = self._task.grower.for_thread()
        return self._task.grow(self._thread_state.grower, number)

    def close(self) -> Iterator[VotingTree]:
        """Stop; yield the trees that are grown but not collected."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        while self._pending and not self._pending[0].cancelled():
            yield self._pending.popleft().result()
