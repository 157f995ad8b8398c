"""What the arrays of deep trees that vote must be, and of the targets in their leaves.

A node is one word: left child (or the number of a leaf), column, threshold, kind; see `kernels.cpu.votes`.
The kernels follow it without looking.
"""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from hedgerow.bagging.leaf_targets import LeafTargets
from hedgerow.binning import Bins
from hedgerow.dtypes import MAX_BINS
from hedgerow.files.checks import SET_WORDS
from hedgerow.files.parts import Reader, Writer, check_starts, require
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
from hedgerow.voting import VoteForest

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
_MOST_DRAWS = 2**52  # whole numbers that float64 adds exactly


# --- the trees


def write_votes(out: Writer, forest: VoteForest, bins: Bins) -> None:
    """The trees, checked."""
    check_votes(forest, bins, forest.n_outputs)
    for name in VOTES:
        out.put(name, getattr(forest, name.removeprefix("votes.")))


def read_votes(part: Reader, bins: Bins, n_outputs: int, n_pure: int) -> VoteForest:
    """Checked trees for so many classes or numbers."""
    held = {name.removeprefix("votes."): part.array(name, *kind) for name, kind in VOTES.items()}
    forest = VoteForest(**held, n_pure=n_pure)
    check_votes(forest, bins, n_outputs)
    return forest


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


# --- targets in the leaves


def write_leaves(out: Writer, leaves: LeafTargets | None) -> None:
    """The targets, if the forest keeps them."""
    out.entries["keeps_targets"] = leaves is not None
    if leaves is not None:
        for field in fields(leaves):
            array = getattr(leaves, field.name)
            # files have no integers of two bytes
            out.put(f"leaves.{field.name}", array.astype(np.uint32) if array.dtype == np.uint16 else array)


def read_leaves(part: Reader, forest: VoteForest) -> LeafTargets | None:
    """Targets for every leaf of the forest; unsigned integers as narrow as a fit would have them."""
    if not part.entry("keeps_targets", bool):
        return None
    starts, draws = part.unsigned("leaves.starts"), part.unsigned("leaves.draws")
    places = part.array("leaves.places", np.uint32)
    targets, weights = (part.array(f"leaves.{name}", np.float64) for name in ("targets", "weights"))
    n = len(places)
    check_starts("leaves.starts", starts, len(forest.values), n)
    require("leaves.starts", starts[1:] > starts[:-1], "every leaf needs a target")
    require("leaves.draws", len(draws) == n, "every target in a leaf needs draws")
    require("leaves.draws", (draws >= 1) & (draws < _MOST_DRAWS), "a target in a leaf was drawn")
    require("leaves.draws", float(draws.sum(dtype=np.float64)) < _MOST_DRAWS, "there are too many")
    require("leaves.places", places < len(targets), "there is no such target")
    require("leaves.targets", np.isfinite(targets), "targets must be finite")
    require("leaves.targets", targets[1:] >= targets[:-1], "targets must rise")
    require("leaves.targets", len(targets) < 2**32, "there are too many")
    first = np.zeros(n, bool)
    first[starts[:-1].astype(np.int64)] = True
    rising = places[1:] > places[:-1]
    require("leaves.places", rising | first[1:], "places must rise within a leaf")
    if len(weights):
        require("leaves.weights", len(weights) == len(targets), "every target needs a weight")
        require("leaves.weights", (weights >= 0) & (weights <= 1), "weights lie in 0..1")
        require("leaves.weights", weights[places] > 0, "a target in a leaf has a weight")
    narrow = draws.astype(np.min_scalar_type(int(draws.max())))
    wide = np.uint32 if n < 2**32 else np.uint64
    return LeafTargets(starts.astype(wide), places, narrow, targets, weights)
