"""A single tree in a file: its nodes once, and the values of its leaves, (outputs, nodes).

A classification tree returns a share for each class. In memory it is one tree per class with the same splits;
in the file the splits are stored once.
"""

from typing import Any

import numpy as np

from hedgerow._typing import Floats
from hedgerow.dtypes import MAX_WIDE_BINS
from hedgerow.estimators import DecisionTreeRegressor
from hedgerow.forest import Forest, TreeModel
from hedgerow.io.checks import check_model
from hedgerow.io.layout import FOREST
from hedgerow.io.reader import Reader, Writer, require
from hedgerow.io.sections import read_bins, read_schema, read_target, write_bins, write_columns

_ONCE = {name: field for name, field in FOREST.items() if field.attribute not in ("output", "value")}


def write_tree(model: Any, writer: Writer) -> None:
    """Write a tree or a stump."""
    fitted: TreeModel = model.model_
    check_model(fitted, model.schema_, len(fitted.start), max_bins=MAX_WIDE_BINS)
    write_columns(writer, model.schema_, getattr(model, "classes_", None))
    write_bins(writer, fitted.bins)
    writer.put_fields(_ONCE, fitted.forest.select(range(1)))
    writer.put("forest.value", fitted.forest.value.reshape(len(fitted.start), -1))


def read_tree(reader: Reader, estimator: Any) -> None:
    """Set the fitted attributes."""
    schema = read_schema(reader)
    target = read_target(reader, classes=not isinstance(estimator, DecisionTreeRegressor))
    n_outputs = 1 if target.n_classes is None else target.n_classes
    values, once = reader.array("forest.value", np.float64, 2), reader.fields(_ONCE)
    require("forest.starts", len(once["starts"]) == 2, "there must be one tree")
    require("forest.value", len(values) == n_outputs, f"values of {n_outputs} outputs are required")
    first = Forest(**once, output=np.zeros(1, np.int32), value=values[0].copy())
    bins = read_bins(reader)
    check_model(TreeModel(np.zeros(1), bins, first), schema, 1, max_bins=MAX_WIDE_BINS)
    require("forest.value", np.isfinite(values), "values must be finite")
    if target.classes is not None:
        require("forest.value", np.abs(values - 0.5) <= 0.5 + 1e-9, "class shares must be in 0..1")
    model = TreeModel(np.zeros(n_outputs), bins, _copies(first, values))
    estimator._set_model(model, schema, target.classes)  # noqa: SLF001 - as fit sets them


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
    return Forest(**arrays, sets=np.tile(first.sets, (n, 1)))
