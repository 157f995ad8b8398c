"""A single tree in a file: its nodes once, and the values of its leaves, (outputs, nodes).

A tree for classes says a share for each of them. In memory it is a tree a class with the same splits; in the
file the splits stand once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.dtypes import MAX_WIDE_BINS
from hedgerow.estimators import DecisionTreeRegressor
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.checks import FOREST, check_model
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import read_bins, read_schema, read_target, write_bins, write_columns

_ONCE = [name for name in FOREST if name not in ("forest.output", "forest.value")]


def write_tree(model: Any, out: Writer) -> None:
    """A tree or a stump."""
    held: TreeModel = model.model_
    check_model(held, model.schema_, len(held.start), most_bins=MAX_WIDE_BINS)
    write_columns(out, model.schema_, getattr(model, "classes_", None))
    write_bins(out, held.bins)
    one = held.forest.select(range(1))
    for name in _ONCE:
        out.put(name, getattr(one, name.removeprefix("forest.")))
    out.put("forest.value", held.forest.value.reshape(len(held.start), -1))


def read_tree(part: Reader, estimator: Any) -> None:
    """Make the estimator the fitted one."""
    schema = read_schema(part)
    target = read_target(part, classes=not isinstance(estimator, DecisionTreeRegressor))
    n_outputs = 1 if target.n_classes is None else target.n_classes
    values = part.array("forest.value", np.float64, 2)
    once = {name.removeprefix("forest."): part.array(name, *FOREST[name]) for name in _ONCE}
    require("forest.starts", len(once["starts"]) == 2, "there must be one tree")
    require("forest.value", len(values) == n_outputs, f"values of {n_outputs} outputs are needed")
    first = Forest(**once, output=np.zeros(1, np.int32), value=values[0].copy())
    bins = read_bins(part)
    check_model(TreeModel(np.zeros(1), bins, first), schema, 1, most_bins=MAX_WIDE_BINS)
    require("forest.value", np.isfinite(values), "values must be finite")
    if target.classes is not None:
        require("forest.value", np.abs(values - 0.5) <= 0.5 + 1e-9, "shares of classes lie in 0..1")
    model = TreeModel(np.zeros(n_outputs), bins, _copies(first, values))
    estimator._keep(model, schema, target.classes)  # noqa: SLF001 - sets what fit would


def _copies(first: Forest, values: NDArray[np.float64]) -> Forest:
    """One tree many times, with the values of an output each; at once, since there may be many classes."""
    n, n_nodes = len(values), len(first.left)
    held = {name: np.tile(array, n) for name, array in first.arrays().items() if array.ndim == 1}
    moved = np.repeat(np.arange(n) * len(first.sets), n_nodes)
    held["starts"] = np.arange(n + 1) * n_nodes
    held["output"] = np.arange(n, dtype=np.int32)
    held["value"] = values.ravel()
    held["set_number"] = np.where(held["set_number"] < 0, -1, held["set_number"] + moved).astype(np.int32)
    return Forest(**held, sets=np.tile(first.sets, (n, 1)))
