"""Tables that are too large, refused by their shape alone: before anything of them is read or copied.

An array may be broadcast and a sparse matrix may have few entries: both can have any shape and take no room.
What a fit will need in full is told by `hedgerow.boosting.needs` and `hedgerow.bagging.needs`; here is the
least of it, and what answers take.
"""

from typing import Any

from hedgerow.bagging.needs import bag_need, check_leaves, distinct_rows, forest_need, most_leaves
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import BootstrapSampler
from hedgerow.binning import check_counts
from hedgerow.boosting.needs import is_copied, tree_need
from hedgerow.dtypes import MOST_ROWS
from hedgerow.memory import added, require
from hedgerow.table import Table
from hedgerow.threads import resolve_n_jobs


def shape_of(X: Any) -> tuple[int, int] | None:
    """The shape of anything that has one of two numbers; None for lists and the like, which are read first.

    >>> shape_of([[1, 2]]), shape_of(__import__("numpy").zeros((3, 2)))
    (None, (3, 2))
    """
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return (int(shape[0]), int(shape[1])) if all(hasattr(part, "__index__") for part in shape) else None


def check_table(X: Any, name: str) -> None:
    """Refuse a table that trees of ours cannot be grown on, whatever it holds.

    A code of one byte for every value, and a number for the target of every row, are the least of a need.
    """
    shape = shape_of(X)
    if shape is None:
        return
    check_counts(*shape)
    require({"codes": shape[0] * shape[1], "targets": 8 * shape[0]}, _what("fitting", name, *shape))


def check_rows(X: Any, name: str) -> None:
    """Refuse a table of more rows than members can be drawn from: keys, order and target, 24 bytes a row."""
    shape = shape_of(X)
    if shape is None:
        return
    if shape[0] > MOST_ROWS:
        raise ValueError(f"X has {shape[0]:,} rows, and {MOST_ROWS:,} are allowed: take a sample of them")
    require({"rows": 24 * shape[0]}, _what("fitting", name, *shape), "use fewer rows")


def check_followed(X: Any) -> None:
    """Refuse an evaluation set whose targets and scores alone, 16 bytes a row, do not fit."""
    shape = shape_of(X)
    if shape is not None:
        what = f"following an eval_set of {shape[0]:,} rows and {shape[1]:,} columns"
        require({"targets and scores": 16 * shape[0]}, what, "use a smaller eval_set")


def _what(doing: str, name: str, n_rows: int, n_columns: int) -> str:
    return f"{doing} {name} to {n_rows:,} rows of {n_columns:,} columns"


def require_answer(name: str, n_rows: int, n_outputs: int, arrays: int = 1, item_bytes: int = 8) -> None:
    """Refuse an answer (rows, outputs) that there is no room for; `arrays` of its size are held at a time."""
    what = f"what {name} says of {n_rows:,} rows with {n_outputs:,} outputs"
    require(arrays * item_bytes * n_rows * n_outputs, what, "ask for fewer rows at a time")


def require_forest(forest: Any, table: Table, n_classes: int | None, n_outputs: int) -> None:
    """Refuse a forest that cannot fit into memory, given its estimator, or trees of too many nodes.

    n_classes : None for numbers, of which there are `n_outputs` a row.
    """
    n = table.n_rows
    n_draws = n
    if forest.bootstrap and forest.max_samples is not None:
        whole = isinstance(forest.max_samples, int)
        n_draws = min(n, forest.max_samples if whole else max(1, int(forest.max_samples * n)))
    drawn = distinct_rows(n, n_draws, replace=bool(forest.bootstrap))
    least = forest.min_samples_leaf
    min_leaf = int(least) if least >= 1 else max(1, int(least * n_draws))
    n_leaves = most_leaves(drawn, min_leaf, forest.max_leaf_nodes, forest.max_depth)
    check_leaves(n_leaves)
    need = forest_need(
        n, table.n_columns, n_classes or n_outputs, n_trees=int(forest.n_estimators), n_drawn=drawn,
        n_leaves=n_leaves, classes=n_classes is not None, n_threads=resolve_n_jobs(forest.n_jobs),
        oob=bool(forest.oob_score), keeps_rows=bool(getattr(forest, "keep_targets", False)),
        copied=is_copied(table),
    )  # fmt: skip
    advice = "use fewer rows, columns or trees, or smaller ones (min_samples_leaf, max_leaf_nodes)"
    require(need, _what("fitting", type(forest).__name__, n, table.n_columns), advice)


def require_bag(bag: Any, table: RawTable, n_outputs: int, draws: BootstrapSampler, n_jobs: int) -> None:
    """Refuse a bag whose samples cannot fit into memory, given its estimator."""
    item = getattr(getattr(table.X, "dtype", None), "itemsize", 8)
    filled = getattr(table.X, "nnz", None)  # of a sparse matrix: the values that are stored
    share = 1.0 if filled is None else 2.0 * filled / max(1, table.shape[0] * table.shape[1])
    need = bag_need(
        table.shape[0], n_outputs, n_members=int(bag.n_estimators), n_drawn=draws.n_draws,
        n_chosen=max(1, round(draws.n_chosen * min(1.0, share))), n_jobs=n_jobs, item_bytes=int(item),
        oob=bool(bag.oob_score),
    )  # fmt: skip
    learner = bag._learner()  # noqa: SLF001 - what it bags if no estimator is given
    if hasattr(learner, "weak_rules"):  # a tree of ours: others see for themselves
        member = tree_need(
            learner.weak_rules(), draws.n_draws, draws.n_chosen, None if n_outputs == 1 else n_outputs,
            max_bins=int(learner.max_bins), n_threads=1,
        )  # fmt: skip
        need = added([need] + [member] * min(n_jobs, int(bag.n_estimators)))
    advice = "use fewer rows, a smaller max_samples or max_features, or fewer n_jobs"
    require(need, _what("fitting", type(bag).__name__, *table.shape), advice)
