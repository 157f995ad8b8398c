"""Trees whose values are added: bins and nodes in a file, and the codec of a single tree.

The tables BINS, FOREST and LINEAR name the arrays of a file and the attributes that hold them in memory.

A classification tree returns a fraction for each class. In memory it is one tree per class with the same
splits; in the file the splits are stored once, and forest.value has the shape (outputs, nodes).
"""

from typing import Any

import numpy as np

from hedgerow._typing import MAX_BINS, MAX_WIDE_BINS, Floats
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.checks import check_model
from hedgerow.io.reader import ArrayField, Reader, Writer, require
from hedgerow.linear_terms import LinearTerms
from hedgerow.table import Schema

BINS = {
    "bins.edges": ArrayField("edges", np.float64),
    "bins.edge_starts": ArrayField("edge_starts", np.int64),
    "bins.category_codes": ArrayField("tables", np.uint8),
    "bins.category_starts": ArrayField("table_starts", np.int64),
}
SOURCES = "bins.sources"  # int64, only if columns are repeated: `Bins.sources`
USER_EDGES = "bins.user_edges"  # uint8, 1 for columns whose edges the user has passed: `Bins.user_defined`

FOREST = {  # trees whose values are added
    "forest.starts": ArrayField("starts", np.int64),
    "forest.output": ArrayField("output", np.int32),
    "forest.column": ArrayField("column", np.int32),
    "forest.threshold": ArrayField("threshold", np.int32),
    "forest.left": ArrayField("left", np.int32),
    "forest.set_number": ArrayField("set_number", np.int32),
    "forest.missing_left": ArrayField("missing_left", np.uint8),
    "forest.value": ArrayField("value", np.float64),
    "forest.gain": ArrayField("gain", np.float64),
    "forest.count": ArrayField("count", np.int64),
    "forest.sets": ArrayField("sets", np.uint64, 2),
}
LINEAR = {  # only if leaves have linear functions
    "linear.counts": ArrayField("counts", np.int32),
    "linear.column": ArrayField("column", np.int32),
    "linear.slope": ArrayField("slope", np.float64),
    "linear.mean": ArrayField("mean", np.float64),
    "linear.lower": ArrayField("lower", np.float64),
    "linear.upper": ArrayField("upper", np.float64),
}
_SHARED_FIELDS = {name: field for name, field in FOREST.items() if field.attribute not in ("output", "value")}


def write_bins(writer: Writer, bins: Bins) -> None:
    """Write edges, codes, and which edges the user has passed."""
    writer.put_fields(BINS, bins)
    writer.put(USER_EDGES, bins.user_defined)
    if bins.sources is not None:
        writer.put(SOURCES, bins.sources)


def read_bins(reader: Reader) -> Bins:
    """Read the bins, which are not checked yet."""
    sources = reader.array(SOURCES, np.int64) if reader.prefix + SOURCES in reader.arrays else None
    bins = Bins(**reader.fields(BINS), sources=sources)
    return bins.with_user_defined(reader.array(USER_EDGES, np.uint8))


def write_trees(
    writer: Writer,
    model: TreeModel,
    schema: Schema,
    n_outputs: int,
    *,
    max_bins: int = MAX_BINS,
    is_gradient: bool = False,
) -> None:
    """Check and write the bins and the forest; `is_gradient`: of gradient boosting, see `check_model`."""
    check_model(model, schema, n_outputs, max_bins=max_bins, is_gradient=is_gradient)
    write_bins(writer, model.bins)
    writer.put_fields(FOREST, model.forest)
    if model.forest.linear is not None:
        writer.put_fields(LINEAR, model.forest.linear)


def read_trees(
    reader: Reader,
    schema: Schema,
    start: Floats,
    n_outputs: int,
    *,
    max_bins: int = MAX_BINS,
    is_gradient: bool = False,
) -> TreeModel:
    """Read and check the bins and the forest; `is_gradient` as above."""
    linear = None
    if is_gradient and reader.prefix + "linear.counts" in reader.arrays:
        linear = LinearTerms(**reader.fields(LINEAR))
    model = TreeModel(start, read_bins(reader), Forest(**reader.fields(FOREST), linear=linear))
    check_model(model, schema, n_outputs, max_bins=max_bins, is_gradient=is_gradient)
    return model


# --- a single tree


def write_tree(model: Any, writer: Writer) -> None:
    """Write a tree or a stump."""
    fitted: TreeModel = model.model_
    check_model(fitted, model.schema_, len(fitted.start), max_bins=MAX_WIDE_BINS)
    write_bins(writer, fitted.bins)
    writer.put_fields(_SHARED_FIELDS, fitted.forest.select(range(1)))
    writer.put("forest.value", fitted.forest.value.reshape(len(fitted.start), -1))


def read_tree(reader: Reader, estimator: Any, schema: Schema, classes: Any) -> None:
    """Set the fitted attributes."""
    n_outputs = 1 if classes is None else len(classes)
    values, shared = reader.array("forest.value", np.float64, 2), reader.fields(_SHARED_FIELDS)
    require("forest.starts", len(shared["starts"]) == 2, "there must be one tree")
    require("forest.value", len(values) == n_outputs, f"values of {n_outputs} outputs are required")
    first = Forest(**shared, output=np.zeros(1, np.int32), value=values[0].copy(), linear=None)
    bins = read_bins(reader)
    check_model(TreeModel(np.zeros(1), bins, first), schema, 1, max_bins=MAX_WIDE_BINS)
    require("forest.value", np.isfinite(values), "values must be finite")
    if classes is not None:
        require("forest.value", np.abs(values - 0.5) <= 0.5 + 1e-9, "class fractions must be in 0..1")
    model = TreeModel(np.zeros(n_outputs), bins, _copies(first, values))
    estimator._set_model(model, schema, classes)  # noqa: SLF001 - as fit sets them


def _copies(first: Forest, values: Floats) -> Forest:
    """Repeat a tree for each output; without a loop, since there may be many classes."""
    n, n_nodes = len(values), len(first.left)
    arrays = {name: np.tile(array, n) for name, array in first.arrays().items() if array.ndim == 1}
    shift = np.repeat(np.arange(n) * len(first.sets), n_nodes)
    arrays["starts"] = np.arange(n + 1) * n_nodes
    arrays["output"] = np.arange(n, dtype=np.int32)
    arrays["value"] = values.ravel()
    numbers = arrays["set_number"]
    arrays["set_number"] = np.where(numbers < 0, -1, numbers + shift).astype(np.int32)
    return Forest(**arrays, sets=np.tile(first.sets, (n, 1)), linear=None)
