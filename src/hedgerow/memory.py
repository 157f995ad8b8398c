"""Memory estimates of fits: bytes by purpose, from the shapes of the arrays that a fit allocates.

Tables, targets and weights exist already and are not counted, nor is memory that is reserved but never
written. An estimate is close to the largest amount held at one time, a little above rather than below; tests
measure it. In the formulas n is the number of rows, C of columns, K of outputs or classes, T of trees or
members, and m of rows that are only evaluated (evaluation sets, rows held out for validation).
"""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hedgerow._typing import MAX_BINS
from hedgerow.binning import check_counts, row_stride
from hedgerow.growing.grower import slots_for
from hedgerow.growing.row_layout import value_bytes
from hedgerow.kernels.cpu.forest import MAX_NODES
from hedgerow.kernels.cpu.linear import MAX_TERMS
from hedgerow.kernels.cpu.records import NODE, SPLIT
from hedgerow.kernels.cpu.weak import COLUMNS_PER_BLOCK
from hedgerow.system_memory import ALWAYS_AVAILABLE, VARIABLE, Estimate, require_memory
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import CHUNK_ROWS, rows_per_block

_TERMS_BYTES = MAX_TERMS * 36  # of a linear leaf: a column and four numbers a term
_NODE_BYTES = 3 * NODE.itemsize  # while trees are joined: the record, its bytes, and the joined bytes
_MAX_ROUNDS = 10_000  # rounds that are counted; users who request more usually stop the fit in another way
_WITH_ROWS = ("codes", "gradients", "statistics", "rows")  # held by the workers of a cluster
_FIRST_MEDIANS = 16  # rounds that the arrays for evaluated medians are first allocated for
_THREAD_BYTES = 3_000_000  # of a thread that grows a forest: histograms, and the rows of a small node
_PURE = 4  # trees of classes have about a fourth of the leaves: nodes of one class are not split


@dataclass(frozen=True, kw_only=True)
class FitSize:
    """The numbers that the memory estimate of a fit depends on.

    Parameters
    ----------
    name : str
        Of the estimator, for the message.
    n_rows, n_columns, n_outputs : int
    n_threads, max_bins : int
    n_evaluated : int
        Rows of evaluation sets.
    n_held_out : int
        Training rows that are held out for validation.
    n_folds : int
        Models that are fitted at the same time.
    n_rounds : int
        1 if early stopping or a callback may end the fit.
    is_copied : bool
        Whether the table copies its rows to floats block by block, rather than return views.
    is_remote : bool
        Whether other processes hold the rows.
    codes_in_memory : callable or None
        For a table in files: the function from the number of bytes of codes, and of copies of them, to the
        number of bytes that are in memory, not in a file.
    is_central : bool
        Whether scores, gradients and statistics of remote rows are in this process.
    is_weighted : bool
        Whether this process multiplies gradients by factors of the rows, in every round.
    n_coded : int
        Columns of the table that are coded by target statistics.
    value_bytes : int
        The values of all numeric columns of a row.
    """

    name: str
    n_rows: int
    n_columns: int
    n_outputs: int = 1
    n_threads: int = 1
    max_bins: int = MAX_BINS
    n_evaluated: int = 0
    n_held_out: int = 0
    n_folds: int = 1
    linear_leaves: bool = False  # the values of all rows are used, not only their codes
    n_rounds: int = 1
    is_copied: bool = False
    is_remote: bool = False
    codes_in_memory: Callable[[int, int], int] | None = None
    is_central: bool = False
    is_weighted: bool = False
    n_coded: int = 0
    value_bytes: int = 0

    @classmethod
    def of(cls, table: Table, name: str, **more: Any) -> "FitSize":
        """Take the numbers of a table; `more` are the other fields."""
        more |= {"name": name, "n_rows": table.n_rows, "n_columns": table.n_columns}
        n_numeric = table.n_columns - len(table.schema.categorical_columns)
        more["value_bytes"] = n_numeric * table.dtype.itemsize
        if isinstance(table, RemoteTable):
            return cls(is_remote=True, codes_in_memory=getattr(table, "codes_in_memory", None), **more)
        return cls(is_copied=table.block(0, 1).base is None, **more)

    def require(self, *estimates: Estimate, advice: str = "use fewer rows or columns") -> None:
        """Raise MemoryError if the sum of the estimates is not available.

        The limits of the system are read for large fits only, or if HEDGEROW_MEMORY is set.
        """
        total = sum_estimates(estimates)
        if sum(total.values()) < ALWAYS_AVAILABLE and not os.environ.get(VARIABLE):
            return
        outputs = f" and {self.n_outputs:,} outputs" if self.n_outputs > 1 else ""
        what = f"fitting {self.name} to {self.n_rows:,} rows of {self.n_columns:,} columns{outputs}"
        require_memory(total, what, advice)

    @property
    def n_counted_rounds(self) -> int:
        """Rounds whose trees are counted."""
        return min(self.n_rounds, _MAX_ROUNDS)

    def in_this_process(self, estimate: dict[str, int], codes: int, n_copies: int = 1) -> dict[str, int]:
        """Return the entries that this process holds; codes : bytes of the codes in the layout of shards."""
        if not self.is_remote:
            return estimate
        if self.codes_in_memory is None:
            others = ("codes",) if self.is_central else _WITH_ROWS
            return {name: size for name, size in estimate.items() if name not in others}
        return estimate | {"codes": self.codes_in_memory(codes, n_copies)}

    def or_encoding(self, estimate: dict[str, int], width: int = 1) -> dict[str, int]:
        """Return the larger of two estimates: of the loop, and of encoding the table block by block."""
        if not self.is_copied:
            return estimate
        n_in_blocks = min(self.n_rows, self.n_threads * rows_per_block(self.n_columns, CHUNK_ROWS))
        codes, blocks = self.n_rows * self.n_columns * width, n_in_blocks * self.n_columns * 8
        if codes + blocks <= sum(estimate.values()):
            return estimate
        return {"codes": codes, "blocks of the table": blocks}


def sum_estimates(estimates: Iterable[Estimate]) -> dict[str, int]:
    """Add estimates of work that runs at the same time.

    >>> sum_estimates([{"codes": 3, "scores": 4}, {"codes": 5}])
    {'codes': 8, 'scores': 4}
    """
    total: dict[str, int] = {}
    for estimate in estimates:
        for name, size in estimate.items():
            total[name] = total.get(name, 0) + size
    return total


# --- boosting


def estimate_gradient_boosting(
    size: FitSize, n_leaves: int = 31, *, is_complete: bool = False
) -> dict[str, int]:
    """Estimate gradient boosting with trees of at most `n_leaves` leaves; `is_complete` of symmetric trees.

    codes        n (C + stride) and m C
    scores       8 K (n + m)
    gradients    16 K n, gradient and hessian
    statistics   24 n: packed (8) and, for heavy tails, two channels (16)
    rows         16 n: row numbers of the fit and of the tree, two spare arrays; 4 K n for several outputs
    histograms   16 B a slot, B entries: slots up to 128 MB, of a complete tree half as many as leaves; two
                 more; 24 B a thread
    nodes        of the tree being grown: 2 leaves (184 bytes)
    trees        T * nodes * 528
    values       of linear leaves: 8 C (n + m), without those of a matrix of floats, and 8 C a row held out;
                 288 bytes a leaf in the trees. In shards they are behind the codes of a row, which are then
                 wider, also those of evaluation sets

    With folds, everything except the codes is multiplied by the number of folds; with target statistics, the
    codes too. Further entries:

    row factors  32 n: of sampling by gradients or with Bayesian weights
    statistics   of targets: 4 n S for the categories of S columns, 64 n while codes are computed, and K n S
                 for the codes that are sent to shards, with those of earlier folds
    leaves       40 n, of remote rows whose scores are in this process: their leaves, and their order
    """
    n, n_columns, n_outputs = size.n_rows, size.n_columns, size.n_outputs
    evaluated, in_shards = size.n_evaluated + size.n_held_out, size.is_remote and size.linear_leaves
    stride = row_stride(value_bytes(n_columns, size.value_bytes) if in_shards else n_columns)
    entries = n_columns * (min(size.max_bins, n) + 1)
    n_slots = slots_for(n_leaves, entries, is_complete=is_complete)
    histograms = 16 * entries * (n_slots + 2) + 24 * entries * size.n_threads
    estimate = {
        "codes": n * (n_columns + stride) + evaluated * n_columns + size.n_held_out * (n_columns + stride),
        "scores": 8 * n_outputs * (n + evaluated),
        "gradients": 16 * n_outputs * n,
        "statistics": 24 * n,
        "rows": (16 + (4 * n_outputs if n_outputs > 1 else 0)) * n,
        "histograms": histograms + 2 * n_columns * SPLIT.itemsize,
        "nodes": 2 * n_leaves * (NODE.itemsize + 16),
        "trees": size.n_counted_rounds * n_outputs * (2 * n_leaves - 1) * _NODE_BYTES,
    }
    n_codes = size.n_folds if size.n_coded else 1
    estimate = {
        name: bytes_ * (n_codes if name == "codes" else size.n_folds) for name, bytes_ in estimate.items()
    }
    if size.linear_leaves:
        estimate["trees"] += size.n_counted_rounds * size.n_folds * n_outputs * n_leaves * _TERMS_BYTES
    if size.linear_leaves and not in_shards:
        n_copied = n + size.n_evaluated if size.is_copied else 0
        n_held_out = n if size.n_folds > 1 else size.n_held_out
        estimate["values"] = 8 * n_columns * (n_copied + n_held_out)
    if size.is_weighted:
        estimate["row factors"] = 32 * n
    if size.n_coded:
        estimate["target statistics"] = (4 * size.n_coded + 64) * n
    estimate = size.or_encoding(estimate)
    if size.is_remote and size.n_coded:
        n_kept = size.n_folds if size.codes_in_memory is None else 1  # workers may have to receive them again
        estimate["target statistics"] += n_outputs * size.n_coded * n * n_kept
    if size.is_central:
        estimate["leaves"] = 40 * n
    elif size.is_remote:  # shards hold packed statistics only
        estimate |= {"gradients": 0, "statistics": 8 * n_outputs * n}
    n_wide = n + (size.n_evaluated if in_shards else 0)
    return size.in_this_process(estimate, n_wide * stride, n_codes)


def estimate_members(size: FitSize, *, evaluates: bool = False) -> dict[str, int]:
    """Estimate boosting of other libraries' estimators, without the memory of these estimators.

    scores       8 K n, or 8 K (n + m) if `evaluates`
    gradients    24 K n: targets and predictions
    rows of X    8 C n, when rows are held out
    """
    n, held_out = size.n_rows, size.n_held_out
    return {
        "scores": 8 * size.n_outputs * (n + (size.n_evaluated + held_out if evaluates else 0)),
        "gradients": 24 * size.n_outputs * n,
        "rows of X": 8 * size.n_columns * (n + held_out) if held_out else 0,
    }


def estimate_weak_trees(size: FitSize, n_channels: int, n_nodes: int = 0) -> dict[str, int]:
    """Estimate growing weak trees, on codes by column of one byte or, above 255 bins, of two.

    codes        n C width, and m C width
    edges        above 255 bins, where all rows are used: 16 n a thread, and 16 a bin and column
    weights      32 n: the distribution as floats and as integers, and two more while it is updated
    rows         12 n: row numbers, classes, leaves
    histograms   8 * columns at once * channels * (bins + 2) a thread, and 8 channels a column
    nodes        1,100 each as Python objects: sums, split, rows
    """
    n, n_columns, wide = size.n_rows, size.n_columns, size.max_bins > MAX_BINS
    width, columns_at_once = (2, 1) if wide else (1, COLUMNS_PER_BLOCK)
    bins = min(size.max_bins, n) + 2
    histograms = 8 * n_channels * (size.n_threads * columns_at_once * bins + n_columns)
    estimate = {
        "codes": (n + size.n_evaluated + size.n_held_out) * n_columns * width,
        "edges": 16 * (n * min(size.n_threads, n_columns) + n_columns * bins) if wide else 0,
        "weights": 32 * n,
        "rows": 12 * n,
        "histograms": histograms + n_columns * SPLIT.itemsize,
        "nodes": (1100 + 8 * n_channels) * n_nodes,
    }
    estimate = size.or_encoding(estimate, width)
    return size.in_this_process(estimate, estimate["codes"])


def weak_tree_nodes(n_rows: int, max_depth: int | None, max_leaf_nodes: int | None, *, classes: bool) -> int:
    """Return the most nodes of a weak tree; without limits, one of classes has a leaf for eight rows."""
    by_depth = n_rows if max_depth is None else 1 << min(max_depth, 40)
    by_rows = max(2, n_rows // 8) if classes else n_rows
    return 2 * min(by_depth, max_leaf_nodes or n_rows, by_rows)


def estimate_adaboost(size: FitSize, *, regression_trees: bool = False, n_nodes: int = 0) -> dict[str, int]:
    """Estimate the update rules of the AdaBoost family, without their learners.

    scores       8 K (n + m), and 8 K n once more for the margins at the end
    problems     of rules that fit a regression tree for each output: responses, weights and integers, the
                 old ones until the new ones exist, 2 * 17 K n
    trees        T * nodes * 528, one copy of a tree for every output
    """
    n, n_outputs = size.n_rows, size.n_outputs
    return {
        "scores": 8 * n_outputs * (2 * n + size.n_evaluated + size.n_held_out),
        "problems": 34 * n_outputs * n if regression_trees else 0,
        "trees": size.n_counted_rounds * n_nodes * n_outputs * _NODE_BYTES,
    }


def estimate_adaboost_r2(size: FitSize, n_evaluated: int) -> dict[str, int]:
    """Estimate the update rule of AdaBoost.R2, without its learners.

    weights          48 n: exponents, weights, losses, and predictions, old and new
    evaluated rows   12 m a round (the prediction and number of every member), half as much again while the
                     arrays double
    """
    capacity = _FIRST_MEDIANS
    while capacity < size.n_counted_rounds:
        capacity *= 2
    return {"weights": 48 * size.n_rows, "evaluated rows": 18 * n_evaluated * capacity}


# --- forests and bagging


def estimate_forest(
    size: FitSize,
    *,
    n_drawn: int,
    n_leaves: int,
    classes: bool = True,
    oob: bool = False,
    keep_rows: bool = False,
) -> dict[str, int]:
    """Estimate a forest of `size.n_rounds` trees.

    n_drawn : distinct rows in the sample of a tree; n_leaves : the most of a tree.

    codes              n (C + stride)
    rows               36 n: keys, their order, copies; targets as integers 4 n, or 24 K n for numbers
    growing            60 n and 3 MB a thread: draws, weights, row numbers and spare ones, open nodes
    trees              T * leaves * (16 + 8 K): a word a node and the values of a leaf, which leaves of one
                       class do not have; twice, while trees become a forest
    rows of leaves     T * (12 sampled rows), for quantiles; also twice
    votes out of bag   T n / 8, and 24 K n: sums and means
    """
    n, n_outputs, n_trees = size.n_rows, size.n_outputs, size.n_rounds
    leaves = max(1, n_leaves // _PURE) if classes else n_leaves
    values = 8 * n_outputs * leaves // (_PURE if classes else 1)
    estimate = {
        "codes": n * (size.n_columns + row_stride(size.n_columns)),
        "rows": (36 + (4 if classes else 24 * n_outputs)) * n,
        "growing": forest_thread_bytes(n) * min(size.n_threads, n_trees),
        "trees": 2 * n_trees * (16 * leaves + values),
        "rows of leaves": 2 * 12 * n_trees * n_drawn if keep_rows else 0,
        "votes out of bag": n_trees * -(-n // 8) + 24 * n_outputs * n if oob else 0,
    }
    return size.or_encoding(estimate)


def forest_thread_bytes(n_rows: int) -> int:
    """Return the memory of a thread that grows a forest: draws, weights, row numbers, nodes, histograms."""
    return 60 * n_rows + _THREAD_BYTES


def forest_tree_leaves(
    n_drawn: int, min_samples_leaf: int, max_leaf_nodes: int | None, max_depth: int | None
) -> int:
    """Return the largest number of leaves of a tree on `n_drawn` rows; raise ValueError if it is too large.

    >>> forest_tree_leaves(1000, 5, None, 3)
    8
    >>> forest_tree_leaves(200_000_000, 1, None, None)
    Traceback (most recent call last):
    ValueError: a tree may have 200,000,000 leaves; at most 134,217,727 are allowed: set max_leaf_nodes,
    max_depth, min_samples_leaf or max_samples
    """
    by_depth = n_drawn if max_depth is None else 1 << min(max_depth, 40)
    n_leaves = max(1, min(n_drawn // max(1, min_samples_leaf), max_leaf_nodes or n_drawn, by_depth))
    most = MAX_NODES // 2 - 1  # a node number has 28 bits
    if n_leaves > most:
        raise ValueError(
            f"a tree may have {n_leaves:,} leaves; at most {most:,} are allowed: set max_leaf_nodes, "
            "max_depth, min_samples_leaf or max_samples"
        )
    return n_leaves


def distinct_rows(n_rows: int, n_draws: int, *, replace: bool) -> int:
    """Return about how many distinct rows a sample has.

    >>> distinct_rows(1000, 1000, replace=True), distinct_rows(1000, 600, replace=False)
    (632, 600)
    """
    if not replace:
        return min(n_rows, n_draws)
    return max(1, round(n_rows * -math.expm1(-n_draws / n_rows)))


def estimate_bagging(
    size: FitSize, *, n_drawn: int, n_chosen: int, n_jobs: int, item_bytes: int = 8, oob: bool = False
) -> dict[str, int]:
    """Estimate bagging of `size.n_rounds` members, without the memory of the members.

    rows               40 n: keys, their order, targets
    samples            sampled rows * sampled columns * bytes of a value, for every member that is fitted at
                       a time, and 24 a sampled row for row numbers and targets
    votes out of bag   32 K n and 2 T n: sums, means, and the losses of the members
    """
    n, n_members = size.n_rows, size.n_rounds
    return {
        "rows": 40 * n,
        "samples": min(n_jobs, n_members) * n_drawn * (n_chosen * item_bytes + 24),
        "votes out of bag": (32 * size.n_outputs + 2 * n_members) * n if oob else 0,
    }


def estimate_pairs(n_voters: int, n_threads: int = 1) -> dict[str, int]:
    """Estimate the losses of all pairs of voters: 8 T^2 for three sums a thread and eight results.

    >>> estimate_pairs(1000)
    {'pairs of voters': 88000000}
    """
    return {"pairs of voters": 8 * n_voters * n_voters * (3 * n_threads + 8)}


# --- checks by shape, before anything is read: broadcast arrays and sparse matrices can have any shape


def shape_of(X: Any) -> tuple[int, int] | None:
    """Return the shape of an object with two dimensions; None for lists, which are read first.

    >>> shape_of([[1, 2]]), shape_of(__import__("numpy").zeros((3, 2)))
    (None, (3, 2))
    """
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return (int(shape[0]), int(shape[1])) if all(hasattr(length, "__index__") for length in shape) else None


def require_input_memory(X: Any, name: str, *, encoded: bool = True) -> None:
    """Raise an error for a table that is too large for any fit.

    encoded : whether trees are grown on its codes, a byte a value; otherwise members are fitted to samples
        of its rows, which needs 24 bytes a row.
    """
    shape = shape_of(X)
    if shape is None:
        return
    n_rows, n_columns = shape
    size = FitSize(name=name, n_rows=n_rows, n_columns=n_columns)
    check_counts(n_rows, n_columns if encoded else 0)
    if encoded:
        size.require({"codes": n_rows * n_columns, "targets": 8 * n_rows})
    else:
        size.require({"rows": 24 * n_rows}, advice="use fewer rows")


def require_evaluation_memory(X: Any) -> None:
    """Raise MemoryError for an evaluation set whose targets and scores, 16 bytes a row, are too large."""
    shape = shape_of(X)
    if shape is not None:
        what = f"evaluating an eval_set of {shape[0]:,} rows and {shape[1]:,} columns"
        require_memory({"targets and scores": 16 * shape[0]}, what, "use a smaller eval_set")
