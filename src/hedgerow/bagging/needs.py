"""What a forest or a bag will need: bytes by what they are for, from the shapes of the arrays it makes.

With n rows, C columns, K classes or outputs and T trees. See `hedgerow.boosting.needs` for what is counted.
Memory that is set aside but not written to, such as places for nodes that no tree opens, is not counted: the
system gives it out only when it is used.
"""

import math

from hedgerow.binning import codes_need
from hedgerow.boosting.needs import blocks_need
from hedgerow.kernels.cpu.forest import MOST_NODES
from hedgerow.memory import require

_DISTINCT = 1.0 - math.exp(-1.0)  # of n rows, when n are drawn
_SCRATCH = 3_000_000  # bytes of a thread: histograms, and the rows of a small node
_PURE = 4  # a tree of classes ends where all rows have one: it has a fourth of the leaves, say


def most_leaves(n_drawn: int, min_leaf: int, max_leaves: int | None, max_depth: int | None) -> int:
    """Leaves of a tree on so many rows, at the most."""
    by_depth = n_drawn if max_depth is None else 1 << min(max_depth, 40)
    return max(1, min(n_drawn // max(1, min_leaf), max_leaves or n_drawn, by_depth))


def check_leaves(n_leaves: int) -> None:
    """Refuse trees whose nodes cannot be numbered: a word has 28 bits for that.

    >>> check_leaves(200_000_000)
    Traceback (most recent call last):
    ValueError: a tree may come to 200,000,000 leaves, and 134,217,727 are allowed: set max_leaf_nodes,
    max_depth, min_samples_leaf or max_samples
    """
    most = MOST_NODES // 2 - 1
    if n_leaves > most:
        raise ValueError(
            f"a tree may come to {n_leaves:,} leaves, and {most:,} are allowed: set max_leaf_nodes, "
            "max_depth, min_samples_leaf or max_samples"
        )


def forest_need(
    n_rows: int,
    n_columns: int,
    n_outputs: int,
    *,
    n_trees: int = 100,
    n_drawn: int | None = None,
    n_leaves: int | None = None,
    classes: bool = True,
    n_threads: int = 1,
    oob: bool = False,
    keeps_rows: bool = False,
    copied: bool = False,
) -> dict[str, int]:
    """Needs of a forest.

    n_drawn : rows in the bag of a tree, without repeats; n_leaves : of a tree, at the most.

    codes        n (C + stride)
    rows         36 n: keys, their order, copies; targets as integers 4 n, or 24 K n for numbers
    growing      60 n and 3 MB a thread: draws, weights, row numbers and spare ones, nodes put off
    trees        T * leaves * (16 + 8 K), a word a node and the values of a leaf, where leaves of one class
                 have none; twice, while trees become a forest
    leaf rows    T * (12 rows of the bag), for quantiles; also twice
    votes        T n / 8, and 24 K n: sums out of bag, and their means
    """
    drawn = n_rows if n_drawn is None else n_drawn
    leaves = drawn if n_leaves is None else n_leaves
    leaves = max(1, leaves // _PURE) if classes else leaves
    need = {
        "codes": codes_need(n_rows, n_columns),
        "rows": (36 + (4 if classes else 24 * n_outputs)) * n_rows,
        "growing": (60 * n_rows + _SCRATCH) * min(n_threads, n_trees),
        "trees": 2 * n_trees * leaves * (16 + (0 if classes else 8 * n_outputs))
        + (2 * 8 * n_trees * leaves * n_outputs // _PURE if classes else 0),
        "rows of leaves": 2 * 12 * n_trees * drawn if keeps_rows else 0,
        "votes out of bag": n_trees * -(-n_rows // 8) + 24 * n_outputs * n_rows if oob else 0,
    }
    by_column = codes_need(n_rows, n_columns, for_growing=False)
    blocks = blocks_need(n_rows, n_columns, n_threads) if copied else 0
    if by_column + blocks > sum(need.values()):
        return {"codes": by_column, "blocks of the table": blocks}
    return need


def distinct_rows(n_rows: int, n_draws: int, *, replace: bool) -> int:
    """How many rows are among so many draws, about.

    >>> distinct_rows(1000, 1000, replace=True), distinct_rows(1000, 600, replace=False)
    (632, 600)
    """
    if not replace:
        return min(n_rows, n_draws)
    return max(1, round(n_rows * -math.expm1(-n_draws / n_rows)))


def bag_need(
    n_rows: int,
    n_outputs: int,
    *,
    n_members: int,
    n_drawn: int,
    n_chosen: int,
    n_jobs: int,
    item_bytes: int = 8,
    oob: bool = False,
) -> dict[str, int]:
    """Needs of bagging; those of the members are to be added, as far as they are known.

    rows         40 n: keys, their order, targets
    samples      drawn rows * chosen columns * bytes of a value, for every member that is fitted at a time,
                 and 24 a drawn row for their numbers and targets
    votes        32 K n and 2 T n: sums out of bag, means, and the losses of the members
    """
    at_once = min(n_jobs, n_members)
    return {
        "rows": 40 * n_rows,
        "samples": at_once * n_drawn * (n_chosen * item_bytes + 24),
        "votes out of bag": (32 * n_outputs + 2 * n_members) * n_rows if oob else 0,
    }


def pairs_need(n_voters: int, n_threads: int = 1) -> dict[str, int]:
    """Needs of the losses of all pairs of voters: 8 T^2 for three sums a thread and eight results.

    >>> pairs_need(1000)
    {'pairs of voters': 88000000}
    """
    return {"pairs of voters": 8 * n_voters * n_voters * (3 * n_threads + 8)}


def require_pairs(n_voters: int, n_threads: int = 1) -> None:
    """Refuse more voters than a table of their pairs has room for."""
    what = f"comparing all pairs of {n_voters:,} voters"
    require(pairs_need(n_voters, n_threads), what, "use fewer voters")
