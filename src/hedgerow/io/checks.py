"""Checks of the arrays of trees, made before any kernel reads them.

A kernel follows child numbers, columns, set numbers and starts without bounds checks: one wrong number would
make it read memory outside the arrays. A file is refused unless every number is within its range.

A node of a tree that votes is one 64-bit word: left child (or number of a leaf), column, threshold, kind;
see `kernels.cpu.votes`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MAX_BINS, Integers
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.reader import check_starts, require
from hedgerow.kernels.cpu.forest import (
    BY_SET,
    CHILD_SHIFT,
    COLUMN_SHIFT,
    MAX_COLUMNS,
    MAX_NODES,
    MISSING_RIGHT,
    THRESHOLD_SHIFT,
)
from hedgerow.kernels.cpu.linear import MAX_TERMS
from hedgerow.kernels.cpu.votes import LEAF
from hedgerow.linear_terms import LinearTerms
from hedgerow.table import Schema
from hedgerow.voting import VoteForest

SET_WORDS = 4  # of 64 bits: one bit for each code

MAX_SCORE = 2.0**1000
_NODES_PER_BLOCK = 1 << 20
_MAX_TREES = 2**22  # the capacity of the units of quantiles

_COLUMN_RANGE = "a column number is out of range"


# --- bins and trees whose values are added


def check_model(
    model: TreeModel, schema: Schema, n_outputs: int, *, max_bins: int = MAX_BINS, is_gradient: bool = False
) -> None:
    """Check everything that the kernels rely on.

    `is_gradient` allows what only gradient boosting has: columns coded by target statistics, linear leaves.
    """
    require("initial_scores", len(model.start) == n_outputs, f"{n_outputs} scores are required")
    require("initial_scores", np.isfinite(model.start), "the scores must be finite")
    _check_sources(model.bins, schema, n_outputs if is_gradient else 1)
    _check_columns(model.bins, _coded_categories(model.bins, schema), max_bins, statistics=is_gradient)
    _check_trees(model.forest, n_outputs)
    _check_splits(model.forest, model.bins)
    if model.forest.linear is not None:
        _check_linear(model.forest.linear, model.forest, schema)
    # Each value is finite. Sums must be finite too, also after a factor is applied to compute probabilities.
    if model.n_rounds:
        with np.errstate(over="ignore", invalid="ignore"):
            largest = model.max_scores[-1]
        require("forest.value", largest < MAX_SCORE, "the sum of the values of all trees is too large")


def check_bins(bins: Bins, schema: Schema) -> None:
    """Check the edges and codes of the columns."""
    _check_sources(bins, schema, 1)
    _check_columns(bins, schema.categories, MAX_BINS)


def _check_sources(bins: Bins, schema: Schema, n_outputs: int) -> None:
    """Check which columns of the table are repeated: categorical ones, once for each output."""
    sources, n_columns = bins.sources, schema.n_columns
    if sources is None:
        return
    require("bins.sources", n_outputs > 1, "no column may be repeated")
    require("bins.sources", len(sources) > n_columns, "a column must be repeated")
    require("bins.sources", sources[:n_columns] == np.arange(n_columns), "all columns must come first")
    added = sources[n_columns:]
    require("bins.sources", (added >= 0) & (added < n_columns), _COLUMN_RANGE)
    repeated = np.unique(added)
    require("bins.sources", added.tolist() == np.repeat(repeated, n_outputs - 1).tolist(), "it must increase")
    categorical = [schema.categories[column] is not None for column in repeated.tolist()]
    require("bins.sources", categorical, "only a categorical column may be repeated")


def _coded_categories(bins: Bins, schema: Schema) -> Sequence[NDArray[Any] | None]:
    """Return the categories of all coded columns."""
    if bins.sources is None:
        return schema.categories
    return [schema.categories[column] for column in bins.sources.tolist()]


def _check_columns(
    bins: Bins, categories: Sequence[NDArray[Any] | None], max_bins: int, *, statistics: bool = False
) -> None:
    """Check the edges and codes of columns with these categories, None for numbers."""
    edges, edge_starts, n_columns = bins.edges, bins.edge_starts, len(categories)
    check_starts("bins.edge_starts", edge_starts, n_columns, len(edges))
    check_starts("bins.category_starts", bins.table_starts, n_columns, len(bins.tables))
    categorical = np.array([values is not None for values in categories])
    n_edges = np.diff(edge_starts)
    require("bins.edge_starts", n_edges < max_bins, f"a column has at most {max_bins - 1} edges")
    if not statistics:
        require("bins.edge_starts", n_edges[categorical] == 0, "a categorical column has no edges")
    require("bins.edges", edges < np.inf, "edges must be numbers below infinity")  # -inf may be one
    within = np.ones(max(len(edges) - 1, 0), bool)  # whether an edge and the next are of one column
    inner = edge_starts[(edge_starts > 0) & (edge_starts < len(edges))]
    within[inner - 1] = False
    require("bins.edges", (edges[1:] > edges[:-1]) | ~within, "the edges of a column must increase")
    sizes = [0 if values is None else len(values) for values in categories]
    require("bins.category_starts", np.diff(bins.table_starts) == sizes, "every category must have one code")
    require("bins.category_codes", bins.tables > 0, "code 0 is reserved for missing values")
    most = np.repeat(np.where(n_edges > 0, n_edges + 1, MAX_BINS), sizes)
    require("bins.category_codes", bins.tables <= most, "a code is beyond the edges of its column")
    user_defined = bins.user_defined
    require("bins.user_edges", len(user_defined) == n_columns, f"{n_columns} entries are required")
    require(
        "bins.user_edges", user_defined <= ~categorical, "it must be 0 or 1, and 0 for a categorical column"
    )


def _check_trees(forest: Forest, n_outputs: int) -> None:
    """Check that the nodes of every tree are connected: children follow their parent, each has one."""
    n_nodes, starts, left = len(forest.left), forest.starts, forest.left
    for name, array in forest.arrays().items():
        if name not in ("starts", "output", "sets"):
            require(f"forest.{name}", len(array) == n_nodes, f"{n_nodes} entries are required, one per node")
    require("forest.left", n_nodes < MAX_NODES, f"there must be fewer than {MAX_NODES} nodes")
    require("forest.starts", len(starts) > 0, "at least one entry is required")
    n_trees = len(starts) - 1
    check_starts("forest.starts", starts, n_trees, n_nodes)
    require("forest.starts", starts[1:] > starts[:-1], "every tree must have a node")
    require("forest.starts", n_trees % n_outputs == 0, f"every round must have {n_outputs} trees")
    outputs = np.tile(np.arange(n_outputs), n_trees // n_outputs)
    require("forest.output", len(forest.output) == n_trees, f"{n_trees} entries are required, one per tree")
    require("forest.output", forest.output == outputs, f"it must count to {n_outputs - 1} in each round")
    tree = np.repeat(np.arange(n_trees), np.diff(starts))
    _check_children("forest.left", left, left != 0, starts, tree)


def _check_children(
    name: str, left: NDArray[np.integer[Any]], inner: NDArray[np.bool_], starts: Integers, tree: Integers
) -> None:
    """Check the left children of the inner nodes; a right child follows the left one. tree : of each node."""
    number, sizes = np.arange(len(left)) - starts[tree], np.diff(starts)  # number: of a node in its tree
    require(name, left[inner] > number[inner], "children must follow their parent")
    require(name, left[inner] < sizes[tree][inner] - 1, "children must be nodes of the same tree")
    first = (starts[tree] + left)[inner]
    parents = np.bincount(first, minlength=len(left)) + np.bincount(first + 1, minlength=len(left))
    require(name, parents == (number > 0), "every node but the root must have one parent")


def _check_splits(forest: Forest, bins: Bins) -> None:
    """Check columns, thresholds, sets and values of the nodes."""
    inner, by_set = forest.left > 0, forest.set_number >= 0
    column = forest.column
    n_columns = min(bins.n_columns, MAX_COLUMNS)
    require("forest.column", (column >= 0) & (column < n_columns), _COLUMN_RANGE)
    by_code = inner & ~by_set
    categorical = bins.categorical[column] == 1
    require("forest.set_number", by_set[inner] == categorical[inner], "sets are for categorical columns")
    require("forest.set_number", forest.set_number[~by_set] == -1, "it must be -1 without a set")
    numbers = np.arange(len(forest.sets))
    require("forest.sets", forest.sets.shape[1] == SET_WORDS, f"a set must have {SET_WORDS} words")
    require(
        "forest.set_number",
        by_set.sum() == len(numbers) and np.all(forest.set_number[by_set] == numbers),
        "every set must belong to one split, in order",
    )
    threshold, n_bins = forest.threshold[by_code], bins.n_bins[column[by_code]]
    require("forest.threshold", (threshold >= 1) & (threshold <= n_bins), "a bin is out of range")
    require("forest.threshold", forest.threshold[~by_code] == 0, "it must be 0 without a numeric split")
    require("forest.missing_left", forest.missing_left <= inner, "it must be 0 or 1, and 0 in a leaf")
    require("forest.column", column[~inner] == 0, "it must be 0 in a leaf")
    require("forest.set_number", inner[by_set], "it must be -1 in a leaf")
    # Gains are squares: those of a target of 1e200 overflow, which affects importances only.
    require("forest.gain", np.where(inner, forest.gain >= 0, forest.gain == 0), "gains must be positive")
    require("forest.value", np.isfinite(forest.value), "values must be finite")
    require("forest.count", forest.count >= 0, "counts must not be negative")


def _check_linear(linear: LinearTerms, forest: Forest, schema: Schema) -> None:
    """Check the linear functions of the leaves: of numeric columns of the table, and bounded."""
    counts, n_nodes, n_terms = linear.counts, len(forest.left), len(linear.column)
    require("linear.counts", len(counts) == n_nodes, f"{n_nodes} entries are required, one per node")
    require("linear.counts", (counts >= 0) & (counts <= MAX_TERMS), f"a leaf has 0 to {MAX_TERMS} terms")
    require("linear.counts", (counts == 0) | (forest.left == 0), "only a leaf may have terms")
    require("linear.counts", int(counts.sum(dtype=np.int64)) == n_terms, f"their sum must be {n_terms}")
    require("linear.column", (linear.column >= 0) & (linear.column < schema.n_columns), _COLUMN_RANGE)
    numeric = np.array([values is None for values in schema.categories])
    require("linear.column", numeric[linear.column], "the columns of terms must be numeric")
    for name in ("slope", "mean", "lower", "upper"):
        values = getattr(linear, name)
        require(f"linear.{name}", len(values) == n_terms, f"{n_terms} entries are required, one per term")
        require(f"linear.{name}", np.isfinite(values), "values must be finite")
    ordered = (linear.lower <= linear.mean) & (linear.mean <= linear.upper)
    require("linear.mean", ordered, "a mean must be between the lower and the upper bound")


def check_copies(forest: Forest, n_outputs: int) -> None:
    """Check the trees of a vote for one of several classes: one tree per class, all with the same splits."""
    if n_outputs == 1:
        return
    rule = "the trees of a round must have the same splits"
    sizes = np.diff(forest.starts).reshape(-1, n_outputs)
    require("forest.starts", sizes == sizes[:, :1], rule)
    starts = [np.repeat(forest.starts[k:-1:n_outputs], sizes[:, 0]) for k in range(n_outputs)]
    within = np.arange(int(sizes[:, 0].sum())) - np.repeat(np.cumsum(sizes[:, 0]) - sizes[:, 0], sizes[:, 0])
    for name in ("left", "column", "threshold", "missing_left", "set_number"):
        array = getattr(forest, name)
        if name == "set_number":
            array = array >= 0
        first = array[starts[0] + within]
        for start in starts[1:]:
            require(f"forest.{name}", array[start + within] == first, rule)


# --- trees that vote


def check_votes(forest: VoteForest, bins: Bins, n_outputs: int) -> None:
    """Check everything that the kernels rely on."""
    n_trees = len(forest.starts) - 1
    require("votes.starts", 1 <= n_trees < _MAX_TREES, f"there must be 1 to {_MAX_TREES - 1} trees")
    check_starts("votes.starts", forest.starts, n_trees, len(forest.nodes))
    check_starts("votes.value_starts", forest.value_starts, n_trees, len(forest.values))
    check_starts("votes.set_starts", forest.set_starts, n_trees, len(forest.sets))
    sizes = np.diff(forest.starts)
    require("votes.starts", (sizes > 0) & (sizes < MAX_NODES), f"a tree must have 1 to {MAX_NODES - 1} nodes")
    require("votes.values", forest.values.shape[1] == n_outputs, f"a leaf must have {n_outputs} numbers")
    require("votes.values", np.isfinite(forest.values), "values must be finite")
    if forest.n_pure:
        require("votes.values", np.abs(forest.values - 0.5) <= 0.5 + 1e-9, "class fractions must be in 0..1")
    require("votes.sets", forest.sets.shape[1] == SET_WORDS, f"a set must have {SET_WORDS} words")
    shape = (n_trees, bins.n_columns)
    require("votes.gains", forest.gains.shape == shape, f"the shape must be {shape}")
    require("votes.gains", (forest.gains >= 0) & np.isfinite(forest.gains), "gains must be positive")
    for trees in _blocks_of_trees(forest.starts):
        _check_nodes(forest, bins, trees)


def _blocks_of_trees(starts: Integers) -> Iterator[slice]:
    """Yield trees whose nodes are checked together: the memory for that does not grow with the forest."""
    first, n_trees = 0, len(starts) - 1
    while first < n_trees:
        last = int(np.searchsorted(starts, starts[first] + _NODES_PER_BLOCK))
        last = min(max(last, first + 1), n_trees)
        yield slice(first, last)
        first = last


def _check_nodes(forest: VoteForest, bins: Bins, trees: slice) -> None:
    starts = forest.starts[trees.start : trees.stop + 1]
    nodes, starts, sizes = forest.nodes[starts[0] : starts[-1]], starts - starts[0], np.diff(starts)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    kind = (nodes & np.uint64(3)).astype(np.int64)
    child = (nodes >> np.uint64(CHILD_SHIFT)).astype(np.int64)
    column = ((nodes >> np.uint64(COLUMN_SHIFT)) & np.uint64(MAX_COLUMNS - 1)).astype(np.int64)
    threshold = ((nodes >> np.uint64(THRESHOLD_SHIFT)) & np.uint64(0xFFFF)).astype(np.int64)
    leaf, by_set = kind == LEAF, kind == BY_SET
    inner, by_code = ~leaf, ~leaf & ~by_set
    _check_children("votes.nodes", child, inner, starts, tree)
    require("votes.nodes", column < bins.n_columns, _COLUMN_RANGE)
    categorical = bins.categorical[column] == 1
    require("votes.nodes", by_set[inner] == categorical[inner], "sets are for categorical columns")
    cut = threshold + (kind == MISSING_RIGHT)  # from 0, where only missing values go left, to all codes
    require("votes.nodes", cut[by_code] <= MAX_BINS, "a bin is out of range")
    require("votes.nodes", threshold[~by_code] == 0, "the threshold must be 0 without a numeric split")
    require("votes.nodes", column[leaf] == 0, "the column must be 0 in a leaf")
    n_values = forest.n_pure + np.diff(forest.value_starts[trees.start : trees.stop + 1])
    require("votes.nodes", child[leaf] < n_values[tree][leaf], "the number of a leaf is out of range")
    _check_sets(forest, trees, by_set, tree)


def _check_sets(forest: VoteForest, trees: slice, by_set: NDArray[np.bool_], tree: Integers) -> None:
    """Check that exactly the nodes that are split by sets have one, in their tree."""
    if not len(forest.set_number):
        require("votes.set_number", ~by_set, "every node must have an entry, since some are split by sets")
        return
    require("votes.set_number", len(forest.set_number) == len(forest.nodes), "every node must have an entry")
    numbers = forest.set_number[forest.starts[trees.start] : forest.starts[trees.stop]]
    n_sets = np.diff(forest.set_starts[trees.start : trees.stop + 1])[tree]
    valid = (numbers[by_set] >= 0) & (numbers[by_set] < n_sets[by_set])
    require("votes.set_number", valid, "the number of a set is out of range")
    require("votes.set_number", numbers[~by_set] == -1, "it must be -1 without a set")
