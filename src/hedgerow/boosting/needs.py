"""What a boosting fit will need: bytes by what they are for, from the shapes of the arrays it makes.

With n rows, C columns, K outputs and m rows that are only followed (evaluation sets, rows held out). Counted
is what is made after the rows were read: tables, targets and weights are there already. A need is close to
the largest amount held at one time, a little above rather than below; tests measure it.

Trees are counted only when nothing but the number of rounds ends the fit, and then of 10,000 rounds at most.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import codes_need, row_stride
from hedgerow.boosting.loop import FitOptions
from hedgerow.dtypes import MAX_BINS
from hedgerow.growing.grower import GrowthOptions, slots_for
from hedgerow.growing.weak_tree import WeakRules
from hedgerow.kernels.cpu.records import NODE, SPLIT
from hedgerow.kernels.cpu.weak import COLUMNS_AT_ONCE
from hedgerow.memory import added, require, rows_at_once
from hedgerow.table import Table
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import CHUNK_ROWS

_NODE = NODE.itemsize
_GATHERED = 3 * _NODE  # of a node when trees become a forest: the record, its bytes, and all bytes joined
_COUNTED_ROUNDS = 10_000
_WITH_ROWS = ("codes", "gradients", "statistics", "rows")  # where these are
_FIRST_ROUNDS = 16  # that followed medians have room for


class AnyRows(Protocol):
    """Rows of a fit, see `hedgerow.boosting.fit.Rows`."""

    table: Table
    y: NDArray[np.float64]
    sample_weight: NDArray[np.float64] | None


# --- parts that several fits have


def blocks_need(n_rows: int, n_columns: int, n_threads: int) -> int:
    """Blocks of floats that a table is read in: threads * rows of a block * C * 8."""
    return min(n_rows, n_threads * rows_at_once(n_columns, CHUNK_ROWS)) * n_columns * 8


def is_copied(table: Table) -> bool:
    """Whether a table makes its blocks, or gives views of what is there; one elsewhere has none."""
    return not isinstance(table, RemoteTable) and table.block(0, 1).base is None


def with_rows(need: Mapping[str, int], table: Table, codes: int) -> dict[str, int]:
    """What of a need is in this process, where the rows may be elsewhere.

    codes : bytes of the codes, in the one layout that parts are made with. Those of a table in files are in
        memory or in a file; on other machines is what belongs to a row, but for target and score.
    """
    if not isinstance(table, RemoteTable):
        return dict(need)
    in_memory = getattr(table, "codes_in_memory", None)
    if in_memory is None:
        return {name: size for name, size in need.items() if name not in _WITH_ROWS}
    return dict(need) | {"codes": in_memory(codes)}


def _rounds(plan: FitOptions) -> int:
    """Rounds that there will be, as far as can be told; who asks for very many means to end it otherwise."""
    return 1 if plan.patience is not None or plan.callbacks else min(plan.n_rounds, _COUNTED_ROUNDS)


def _what(plan: FitOptions, table: Table, n_outputs: int) -> str:
    outputs = f" and {n_outputs:,} outputs" if n_outputs > 1 else ""
    return f"fitting {plan.title} to {table.n_rows:,} rows of {table.n_columns:,} columns{outputs}"


def _with_blocks(need: dict[str, int], by_column: int, blocks: int) -> dict[str, int]:
    """The larger of two moments: the table being coded, and the loop."""
    if by_column + blocks <= sum(need.values()):
        return need
    return {"codes": by_column, "blocks of the table": blocks}


# --- gradient boosting


def gradient_need(
    n_rows: int,
    n_columns: int,
    n_outputs: int,
    *,
    n_leaves: int = 31,
    max_bins: int = MAX_BINS,
    n_threads: int = 1,
    n_trees: int = 0,
    n_followed: int = 0,
    n_held_out: int = 0,
    copied: bool = False,
) -> dict[str, int]:
    """Needs of gradient boosting with trees.

    codes        n (C + stride) and m C
    scores       8 K (n + m)
    gradients    16 K n, gradient and hessian
    statistics   24 n, packed (8) and, for heavy tails, two channels (16)
    rows         16 n: the rows that take part, those in the tree, two spare arrays; 4 K n for several outputs
    histograms   16 B a slot, B entries: slots up to 128 MB and two more; 24 B a thread
    nodes        of the tree being grown: 2 leaves (184 bytes)
    trees        trees * nodes * 528
    """
    n, followed = n_rows, n_followed + n_held_out
    entries = n_columns * (min(max_bins, n) + 1)
    slots = slots_for(n_leaves, entries) + 2
    by_column = codes_need(n, n_columns, for_growing=False)
    need = {
        "codes": codes_need(n, n_columns)
        + followed * n_columns
        + n_held_out * (n_columns + row_stride(n_columns)),
        "scores": 8 * n_outputs * (n + followed),
        "gradients": 16 * n_outputs * n,
        "statistics": 24 * n,
        "rows": (16 + (4 * n_outputs if n_outputs > 1 else 0)) * n,
        "histograms": 16 * entries * slots + 24 * entries * n_threads + 2 * n_columns * SPLIT.itemsize,
        "nodes": 2 * n_leaves * (_NODE + 8),
        "trees": n_trees * (2 * n_leaves - 1) * _GATHERED,
    }
    return _with_blocks(need, by_column, blocks_need(n, n_columns, n_threads) if copied else 0)


def require_gradient(
    train: AnyRows,
    evaluations: Sequence[AnyRows],
    plan: FitOptions,
    rules: GrowthOptions,
    n_outputs: int,
    max_bins: int,
) -> None:
    """Refuse a fit of gradient boosting that cannot fit into memory."""
    table, held = train.table, 0 if plan.validation_rows is None else len(plan.validation_rows)
    n_leaves = min(rules.max_leaves(table.n_rows), max(1, table.n_rows // rules.min_samples_leaf))
    n_followed = sum(rows.table.n_rows for rows in evaluations)
    if plan.estimator is None:
        need = gradient_need(
            table.n_rows, table.n_columns, n_outputs, n_leaves=n_leaves, max_bins=max_bins,
            n_threads=plan.n_threads, n_trees=_rounds(plan) * n_outputs, n_followed=n_followed,
            n_held_out=held, copied=is_copied(table),
        )  # fmt: skip
        if isinstance(table, RemoteTable):  # parts hold packed statistics only, for most losses
            need |= {"gradients": 0, "statistics": 8 * n_outputs * table.n_rows}
        need = with_rows(need, table, table.n_rows * row_stride(table.n_columns))
    else:
        need = member_need(table.n_rows, table.n_columns, n_outputs, n_followed=n_followed + held, taken=held)
    advice = "use fewer rows or columns, a smaller eval_set"
    if need.get("trees", 0) > sum(need.values()) // 4:
        advice += ", a smaller n_estimators or max_leaf_nodes"
    require(need, _what(plan, table, n_outputs), advice)


def member_need(
    n_rows: int, n_columns: int, n_outputs: int, *, n_followed: int = 0, taken: int = 0
) -> dict[str, int]:
    """Needs of boosting the members of another library, without what these need themselves.

    scores       8 K (n + m)
    gradients    24 K n: what is asked for, and what a member answers
    parts of X   8 C n, when some of the rows are taken out of it
    """
    return {
        "scores": 8 * n_outputs * (n_rows + n_followed),
        "gradients": 24 * n_outputs * n_rows,
        "parts of X": 8 * n_columns * (n_rows + taken) if taken else 0,
    }


# --- the AdaBoost family


def weak_need(
    n_rows: int,
    n_columns: int,
    n_channels: int,
    *,
    max_bins: int = MAX_BINS,
    n_threads: int = 1,
    n_followed: int = 0,
    n_nodes: int = 0,
    copied: bool = False,
) -> dict[str, int]:
    """Needs of growing weak trees, on codes by column of one byte or, above 255 bins, of two.

    codes        n C width, and m C width
    edges        above 255 bins, where they are taken from all rows: 16 n a thread, and 16 a bin and column
    weights      32 n: the distribution as floats and as integers, and two more while it moves
    rows         12 n: those that take part, classes, leaves
    histograms   8 * columns at once * channels * (bins + 2) a thread, and 8 channels a column
    nodes        1,100 each while they are Python's: sums, split, rows
    """
    wide = max_bins > MAX_BINS
    width, at_once = (2, 1) if wide else (1, COLUMNS_AT_ONCE)
    bins = min(max_bins, n_rows) + 2
    need = {
        "codes": codes_need(n_rows + n_followed, n_columns, width=width, for_growing=False),
        "edges": 16 * (n_rows * min(n_threads, n_columns) + n_columns * bins) if wide else 0,
        "weights": 32 * n_rows,
        "rows": 12 * n_rows,
        "histograms": 8 * n_channels * (n_threads * at_once * bins + n_columns) + n_columns * SPLIT.itemsize,
        "nodes": (1100 + 8 * n_channels) * n_nodes,
    }
    by_column = codes_need(n_rows, n_columns, width=width, for_growing=False)
    return _with_blocks(need, by_column, blocks_need(n_rows, n_columns, n_threads) if copied else 0)


def adaptive_need(
    n_rows: int, n_outputs: int, *, says: str = "classes", n_followed: int = 0, n_nodes: int = 0
) -> dict[str, int]:
    """Needs of the rules of the AdaBoost family, beside those of their learners.

    scores       8 K (n + m), and 8 K n once more for the margins at the end
    problems     of rules that ask one problem an output: responses, weights and integers, the old ones until
                 the new ones are there, 2 * 17 K n
    trees        nodes * 528, one copy of a tree for every output
    """
    return {
        "scores": 8 * n_outputs * (2 * n_rows + n_followed),
        "problems": 34 * n_outputs * n_rows if says == "numbers" else 0,
        "trees": n_nodes * n_outputs * _GATHERED,
    }


def require_adaptive(
    train: AnyRows,
    evaluations: Sequence[AnyRows],
    plan: FitOptions,
    weak: WeakRules | None,
    *,
    n_outputs: int,
    n_classes: int,
    says: str,
    max_bins: int,
) -> None:
    """Refuse a fit of the AdaBoost family that cannot fit into memory."""
    table, held = train.table, 0 if plan.validation_rows is None else len(plan.validation_rows)
    followed = held + sum(rows.table.n_rows for rows in evaluations)
    if weak is None:
        learners: Mapping[str, int] = member_need(table.n_rows, table.n_columns, n_outputs, taken=held)
        n_nodes = 0
    else:
        learners = weak_need(
            table.n_rows, table.n_columns, 2 if says == "numbers" else n_classes, max_bins=max_bins,
            n_threads=plan.n_threads, n_followed=followed, copied=is_copied(table),
        )  # fmt: skip
        learners = with_rows(learners, table, learners["codes"])
        n_nodes = _rounds(plan) * weak_nodes(weak, table.n_rows, classes=says != "numbers")
    rule = adaptive_need(table.n_rows, n_outputs, says=says, n_followed=followed, n_nodes=n_nodes)
    require(added([learners, rule]), _what(plan, table, n_outputs))


def weak_nodes(rules: WeakRules, n_rows: int, *, classes: bool) -> int:
    """Nodes of a weak tree, at the most; without limits, one of classes has a leaf for eight rows, say."""
    by_depth = n_rows if rules.max_depth is None else 1 << min(rules.max_depth, 40)
    by_rows = max(2, n_rows // 8) if classes else n_rows
    return 2 * min(by_depth, rules.max_leaf_nodes or n_rows, by_rows)


def r2_need(n_rows: int, *, n_followed: int = 0, n_rounds: int = 1) -> dict[str, int]:
    """Needs of AdaBoost.R2, beside those of its learners.

    weights      48 n: exponents, weights and losses, and what a member says, old and new
    followed     12 m a round (what every member said, and who), half as much again while the room is doubled
    """
    room = _FIRST_ROUNDS
    while room < n_rounds:
        room *= 2
    return {"weights": 48 * n_rows, "followed rows": 18 * n_followed * room}


def require_r2(
    train: AnyRows, evaluations: Sequence[AnyRows], plan: FitOptions, weak: WeakRules | None, max_bins: int
) -> None:
    """Refuse a fit of AdaBoost.R2 that cannot fit into memory."""
    table, held = train.table, 0 if plan.validation_rows is None else len(plan.validation_rows)
    others = sum(rows.table.n_rows for rows in evaluations)
    followed = others + held + (table.n_rows if plan.verbose else 0)
    if weak is None:
        learners: Mapping[str, int] = member_need(table.n_rows, table.n_columns, 1, taken=held)
    else:
        learners = weak_need(
            table.n_rows, table.n_columns, 2, max_bins=max_bins, n_threads=plan.n_threads,
            n_followed=others, copied=is_copied(table),
        )  # fmt: skip
        learners = with_rows(learners, table, learners["codes"])
    own = r2_need(table.n_rows, n_followed=followed, n_rounds=_rounds(plan))
    require(added([learners, own]), _what(plan, table, 1), "use fewer rows or columns, a smaller eval_set")


def tree_need(
    rules: WeakRules,
    n_rows: int,
    n_columns: int,
    n_classes: int | None,
    *,
    max_bins: int,
    n_threads: int,
    copied: bool = False,
) -> dict[str, int]:
    """Needs of one weak tree; n_classes : None for numbers."""
    return weak_need(
        n_rows, n_columns, n_classes or 2, max_bins=max_bins, n_threads=n_threads, copied=copied,
        n_nodes=weak_nodes(rules, n_rows, classes=n_classes is not None),
    )  # fmt: skip


def require_tree(
    rules: WeakRules, table: Table, n_classes: int | None, max_bins: int, n_threads: int, name: str
) -> None:
    """Refuse a weak tree that cannot fit into memory."""
    need = tree_need(
        rules, table.n_rows, table.n_columns, n_classes, max_bins=max_bins, n_threads=n_threads,
        copied=is_copied(table),
    )  # fmt: skip
    need = with_rows(need, table, need["codes"])
    require(
        need,
        _what(FitOptions(n_rounds=1, title=name), table, 1),
        "use fewer rows or columns, a smaller max_depth",
    )
