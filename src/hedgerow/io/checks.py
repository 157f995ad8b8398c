"""What the arrays of a tree model must be, checked before any kernel reads them.

A kernel follows `left`, `column`, `set_number` and the starts without looking: one wrong number would make
it read foreign memory. Hence a file is refused unless every number points where it may.


What the arrays of deep trees that vote must be, and of the targets in their leaves.

A node is one word: left child (or the number of a leaf), column, threshold, kind; see `kernels.cpu.votes`.
The kernels follow it without looking.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import Bins
from hedgerow.dtypes import MAX_BINS
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.reader import check_starts, require
from hedgerow.kernels.cpu.forest import (
    BY_SET,
    CHILD_SHIFT,
    COLUMN_SHIFT,
    MISSING_RIGHT,
    MOST_COLUMNS,
    MOST_NODES,
    THRESHOLD_SHIFT,
)
from hedgerow.kernels.cpu.votes import LEAF
from hedgerow.table import Schema
from hedgerow.voting import VoteForest

# dtype and number of axes of every array of bins, and of a forest of trees that add up
BINS = {
    "bins.edges": (np.float64, 1),
    "bins.edge_starts": (np.int64, 1),
    "bins.tables": (np.uint8, 1),
    "bins.table_starts": (np.int64, 1),
}
FOREST = {
    "forest.starts": (np.int64, 1),
    "forest.output": (np.int32, 1),
    "forest.column": (np.int32, 1),
    "forest.threshold": (np.int32, 1),
    "forest.left": (np.int32, 1),
    "forest.set_number": (np.int32, 1),
    "forest.missing_left": (np.uint8, 1),
    "forest.value": (np.float64, 1),
    "forest.gain": (np.float64, 1),
    "forest.count": (np.int64, 1),
    "forest.sets": (np.uint64, 2),
}
SET_WORDS = 4  # of 64 bits: one bit for each code

_MOST_SCORE = 2.0**1000


def check_model(model: TreeModel, schema: Schema, n_outputs: int, *, most_bins: int = MAX_BINS) -> None:
    """Everything that the kernels take for granted."""
    require("start", len(model.start) == n_outputs, f"{n_outputs} scores are needed, one an output")
    require("start", np.isfinite(model.start), "the scores must be finite")
    check_bins(model.bins, schema, most_bins)
    _check_trees(model.forest, n_outputs)
    _check_splits(model.forest, model.bins)
    # each value is finite; so must be what they add up to, with room for a factor on the way to probabilities
    if model.n_rounds:
        with np.errstate(over="ignore"):
            reach = model.reaches[-1]
        require("forest.value", reach < _MOST_SCORE, "the values of all trees add up to too much")


def check_bins(bins: Bins, schema: Schema, most_bins: int = MAX_BINS) -> None:
    """Edges and codes of the columns; `most_bins` is what codes have room for."""
    edges, edge_starts = bins.edges, bins.edge_starts
    check_starts("bins.edge_starts", edge_starts, schema.n_columns, len(edges))
    check_starts("bins.table_starts", bins.table_starts, schema.n_columns, len(bins.tables))
    categorical = np.array([values is not None for values in schema.categories])
    n_edges = np.diff(edge_starts)
    require("bins.edge_starts", n_edges < most_bins, f"a column has at most {most_bins - 1} edges")
    require("bins.edge_starts", n_edges[categorical] == 0, "a categorical column has no edges")
    require("bins.edges", edges < np.inf, "edges must be numbers below infinity")  # -inf may be one
    within = np.ones(max(len(edges) - 1, 0), bool)  # whether an edge and the next are of one column
    inner = edge_starts[(edge_starts > 0) & (edge_starts < len(edges))]
    within[inner - 1] = False
    require("bins.edges", (edges[1:] > edges[:-1]) | ~within, "the edges of a column must rise")
    sizes = [0 if values is None else len(values) for values in schema.categories]
    require("bins.table_starts", np.diff(bins.table_starts) == sizes, "every category needs one code")
    require("bins.tables", bins.tables > 0, "code 0 is for missing values only")
    given = bins.given
    require("bins.given", len(given) == schema.n_columns, f"{schema.n_columns} entries are needed")
    require("bins.given", given <= ~categorical, "it must be 0 or 1, for a categorical column 0")


def _check_trees(forest: Forest, n_outputs: int) -> None:
    """The nodes of every tree hang together: children follow their parent, each has one."""
    n_nodes, starts, left = len(forest.left), forest.starts, forest.left
    for name, array in forest.arrays().items():
        if name not in ("starts", "output", "sets"):
            require(f"forest.{name}", len(array) == n_nodes, f"{n_nodes} entries are needed, one a node")
    require("forest.left", n_nodes < MOST_NODES, f"fewer than {MOST_NODES} nodes are possible")
    require("forest.starts", len(starts) > 0, "at least one entry is needed")
    n_trees = len(starts) - 1
    check_starts("forest.starts", starts, n_trees, n_nodes)
    require("forest.starts", starts[1:] > starts[:-1], "every tree needs a node")
    require("forest.starts", n_trees % n_outputs == 0, f"every round needs {n_outputs} trees")
    outputs = np.tile(np.arange(n_outputs), n_trees // n_outputs)
    require("forest.output", len(forest.output) == n_trees, f"{n_trees} entries are needed, one a tree")
    require("forest.output", forest.output == outputs, f"it must count to {n_outputs - 1} in each round")
    tree = np.repeat(np.arange(n_trees), np.diff(starts))
    number = np.arange(n_nodes) - starts[tree]  # of a node in its tree
    inner = left != 0
    require("forest.left", left[inner] > number[inner], "children must come after their parent")
    last = starts[tree + 1] - starts[tree] - 1
    require("forest.left", left[inner] < last[inner], "children must lie in their tree")
    first_child = (starts[tree] + left)[inner]
    parents = np.bincount(first_child, minlength=n_nodes) + np.bincount(first_child + 1, minlength=n_nodes)
    require("forest.left", parents == (number > 0), "every node but the root needs one parent")


def _check_splits(forest: Forest, bins: Bins) -> None:
    """Columns, thresholds, sets and values of the nodes."""
    inner, by_set = forest.left > 0, forest.set_number >= 0
    column = forest.column
    most = min(bins.n_columns, MOST_COLUMNS)
    require("forest.column", (column >= 0) & (column < most), "there is no such column")
    by_code = inner & ~by_set
    categorical = bins.categorical[column] == 1
    require("forest.set_number", by_set[inner] == categorical[inner], "sets are for categorical columns")
    require("forest.set_number", forest.set_number[~by_set] == -1, "it is -1 without a set")
    numbers = np.arange(len(forest.sets))
    require("forest.sets", forest.sets.shape[1] == SET_WORDS, f"{SET_WORDS} words are needed in a set")
    require(
        "forest.set_number",
        by_set.sum() == len(numbers) and np.all(forest.set_number[by_set] == numbers),
        "every set needs one split, in order",
    )
    threshold, n_bins = forest.threshold[by_code], bins.n_bins[column[by_code]]
    require("forest.threshold", (threshold >= 1) & (threshold <= n_bins), "there is no such bin")
    require("forest.threshold", forest.threshold[~by_code] == 0, "only numeric splits have one")
    require("forest.missing_left", forest.missing_left <= inner, "it must be 0 or 1, in a leaf 0")
    require("forest.column", column[~inner] == 0, "a leaf has none")
    require("forest.set_number", inner[by_set], "a leaf has none")
    # Gains are squares: those of a target of 1e200 overflow, and nothing but importances suffers.
    require("forest.gain", np.where(inner, forest.gain >= 0, forest.gain == 0), "gains must be positive")
    require("forest.value", np.isfinite(forest.value), "values must be finite")
    require("forest.count", forest.count >= 0, "counts must not be negative")


VOTES = {  # dtype and number of axes
    "votes.starts": (np.int64, 1),
    "votes.words": (np.uint64, 1),
    "votes.value_starts": (np.int64, 1),
    "votes.values": (np.float64, 2),
    "votes.set_starts": (np.int64, 1),
    "votes.sets": (np.uint64, 2),
    "votes.set_number": (np.int32, 1),
    "votes.gains": (np.float64, 2),
}
_NODES_AT_ONCE = 1 << 20
_MOST_TREES = 2**22  # what the units of quantiles have room for


# --- trees that vote


def check_votes(forest: VoteForest, bins: Bins, n_outputs: int) -> None:
    """Everything that the kernels take for granted."""
    n_trees = len(forest.starts) - 1
    require("votes.starts", 1 <= n_trees < _MOST_TREES, "there must be a tree")
    check_starts("votes.starts", forest.starts, n_trees, len(forest.words))
    check_starts("votes.value_starts", forest.value_starts, n_trees, len(forest.values))
    check_starts("votes.set_starts", forest.set_starts, n_trees, len(forest.sets))
    sizes = np.diff(forest.starts)
    require("votes.starts", (sizes > 0) & (sizes < MOST_NODES), "every tree needs a node, and not too many")
    require("votes.values", forest.values.shape[1] == n_outputs, f"{n_outputs} numbers a leaf are needed")
    require("votes.values", np.isfinite(forest.values), "values must be finite")
    if forest.n_pure:
        require("votes.values", np.abs(forest.values - 0.5) <= 0.5 + 1e-9, "shares of classes lie in 0..1")
    require("votes.sets", forest.sets.shape[1] == SET_WORDS, f"{SET_WORDS} words are needed in a set")
    shape = (n_trees, bins.n_columns)
    require("votes.gains", forest.gains.shape == shape, f"the shape {shape} is needed")
    require("votes.gains", (forest.gains >= 0) & np.isfinite(forest.gains), "gains must be positive")
    for trees in _batches(forest.starts):
        _check_words(forest, bins, trees)


def _batches(starts: NDArray[np.int64]) -> Iterator[slice]:
    """Trees whose nodes are checked together: the memory for that does not grow with the forest."""
    first, n_trees = 0, len(starts) - 1
    while first < n_trees:
        last = int(np.searchsorted(starts, starts[first] + _NODES_AT_ONCE))
        last = min(max(last, first + 1), n_trees)
        yield slice(first, last)
        first = last


def _check_words(forest: VoteForest, bins: Bins, trees: slice) -> None:
    starts = forest.starts[trees.start : trees.stop + 1]
    words, starts, sizes = forest.words[starts[0] : starts[-1]], starts - starts[0], np.diff(starts)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(len(words)) - starts[tree]  # of a node in its tree
    kind = (words & np.uint64(3)).astype(np.int64)
    child = (words >> np.uint64(CHILD_SHIFT)).astype(np.int64)
    column = ((words >> np.uint64(COLUMN_SHIFT)) & np.uint64(MOST_COLUMNS - 1)).astype(np.int64)
    threshold = ((words >> np.uint64(THRESHOLD_SHIFT)) & np.uint64(0xFFFF)).astype(np.int64)
    leaf, by_set = kind == LEAF, kind == BY_SET
    inner, by_code = ~leaf, ~leaf & ~by_set
    require("votes.words", child[inner] > number[inner], "children must come after their parent")
    require("votes.words", child[inner] < sizes[tree][inner] - 1, "children must lie in their tree")
    first = (starts[tree] + child)[inner]
    parents = np.bincount(first, minlength=len(words)) + np.bincount(first + 1, minlength=len(words))
    require("votes.words", parents == (number > 0), "every node but the root needs one parent")
    require("votes.words", column < bins.n_columns, "there is no such column")
    categorical = bins.categorical[column] == 1
    require("votes.words", by_set[inner] == categorical[inner], "sets are for categorical columns")
    cut = threshold + (kind == MISSING_RIGHT)  # from 0, where missing alone goes left, to all codes
    require("votes.words", cut[by_code] <= MAX_BINS, "there is no such bin")
    require("votes.words", threshold[~by_code] == 0, "only numeric splits have a threshold")
    require("votes.words", column[leaf] == 0, "a leaf has no column")
    n_answers = forest.n_pure + np.diff(forest.value_starts[trees.start : trees.stop + 1])
    require("votes.words", child[leaf] < n_answers[tree][leaf], "there is no such leaf")
    _check_sets(forest, trees, by_set, tree)


def _check_sets(forest: VoteForest, trees: slice, by_set: NDArray[np.bool_], tree: NDArray[np.int64]) -> None:
    """Nodes that are split by sets have them, in their tree; the others have none."""
    if not len(forest.set_number):
        require("votes.set_number", ~by_set, "every node needs an entry, since there are sets")
        return
    require("votes.set_number", len(forest.set_number) == len(forest.words), "every node needs an entry")
    numbers = forest.set_number[forest.starts[trees.start] : forest.starts[trees.stop]]
    n_sets = np.diff(forest.set_starts[trees.start : trees.stop + 1])[tree]
    fine = (numbers[by_set] >= 0) & (numbers[by_set] < n_sets[by_set])
    require("votes.set_number", fine, "there is no such set")
    require("votes.set_number", numbers[~by_set] == -1, "it is -1 without a set")
