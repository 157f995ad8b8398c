"""What the arrays of a tree model must be, checked before any kernel reads them.

A kernel follows `left`, `column`, `set_number` and the starts without looking: one wrong number would make
it read foreign memory. Hence a file is refused unless every number points where it may.
"""

import numpy as np

from hedgerow.binning import Bins
from hedgerow.boosting.model import TreeModel
from hedgerow.dtypes import MAX_BINS
from hedgerow.files.parts import check_starts, require
from hedgerow.forest import Forest
from hedgerow.kernels.cpu.forest import MOST_COLUMNS, MOST_NODES
from hedgerow.table import Schema

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
