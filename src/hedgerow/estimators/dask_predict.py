"""Predictions of Dask collections: lazy Dask Arrays.

The rows of a partition are predicted on the worker that holds them. The graph contains the model once,
without attributes that predictions do not need. A task predicts with one thread, since a worker runs several.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool
from hedgerow.distributed.input import collection_type, delayed_blocks
from hedgerow.optional import require_extra
from hedgerow.table.columns import string_names
from hedgerow.table.reading import check_same_columns

_NOT_NEEDED = (  # arrays with an entry for every training row, which predictions do not use
    *("row_fingerprints_", "grid_hashes_", "sample_weights_", "training_margins_"),
    *("oob_votes_", "oob_decision_function_", "oob_prediction_", "oob_losses_"),
    *("_tree_sampler", "_leaf_targets", "_residuals", "_residual_weight", "_ranks"),
)
_BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function")
_NO_ROWS = SamplingPool(0, np.empty(0, np.uint32), np.empty(0, np.int64), 0)


def dask_predict(model: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the method `name` for a Dask collection as a Dask Array.

    A Dask DataFrame gives an Array of the same partitions with unknown lengths, a Dask Array one of the same
    chunks of rows. Columns are checked now, values when they are computed.
    """
    check_is_fitted(model)
    kind = collection_type(X)
    if kind not in ("DataFrame", "Array"):
        raise TypeError(f"X is a Dask {kind}: pass a Dask DataFrame, or a Dask Array of two dimensions")
    if kind == "Array" and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead (X is a Dask Array)")
    names = string_names(list(X.columns)) if kind == "DataFrame" else None
    schema = model.schema_
    check_same_columns(names, X.shape[1], schema, type(model).__name__)
    sent, unnamed = _light(model), (names is None) != (schema.names is None)
    if unnamed:  # the warning has been issued once: the tasks use neither names of the model nor of the rows
        sent.schema_ = replace(schema, names=None)
    empty = _predict_no_rows(sent, name, args, kwargs)
    task = partial(_predict_partition, method=name, empty=empty, unnamed=unnamed, args=args, kwargs=kwargs)
    lengths = (np.nan,) * X.npartitions if kind == "DataFrame" else X.chunks[0]
    return _array(
        X.rechunk({1: -1}) if kind == "Array" and X.numblocks[1] > 1 else X, sent, task, lengths, empty
    )


def _predict_no_rows(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NDArray[Any]:
    """Return the prediction of no rows: it has the dtype and the columns of the result.

    Members of other libraries are not called for it: they may need columns by name, or known values.
    """
    classes, n_outputs = getattr(model, "classes_", None), getattr(model, "n_outputs_", 1)
    if method == "predict" and not (args or kwargs):
        numbers = np.empty((0, n_outputs))
        return classes[:0] if classes is not None else numbers[:, 0] if n_outputs == 1 else numbers
    if method in _BY_CLASS and classes is not None and not (args or kwargs):
        shares = np.empty((0, len(classes)))
        return shares[:, 0] if method == "decision_function" and len(classes) == 2 else shares
    unnamed = copy.copy(model)
    unnamed.schema_ = replace(model.schema_, names=None)  # as the row has none
    found: NDArray[Any] = getattr(unnamed, method)(np.zeros((1, model.n_features_in_)), *args, **kwargs)
    return found[:0]


def _array(
    X: Any, model: Any, task: Callable[..., Any], lengths: tuple[Any, ...], empty: NDArray[Any]
) -> Any:
    """Make a Dask Array with a chunk ``task(partition, model)`` for every partition."""
    delayed, blocks = require_extra("dask", extra="dask").delayed(model), delayed_blocks(X)
    name = f"hedgerow-{type(model).__name__}-{uuid4().hex}"
    zeros = (0,) * (empty.ndim - 1)
    graph = _graph_of([delayed, *blocks])
    graph |= {(name, number, *zeros): (task, block.key, delayed.key) for number, block in enumerate(blocks)}
    whole = require_extra("dask.highlevelgraph", extra="dask").HighLevelGraph.from_collections(name, graph)
    sizes = (lengths, *((n,) for n in empty.shape[1:]))
    return require_extra("dask.array", extra="dask").Array(whole, name, sizes, meta=empty)


def _graph_of(delayed: list[Any]) -> dict[Any, Any]:
    """Return all tasks of Delayed objects.

    Graphs of data frames made by `from_delayed` have aliases with wrong keys, and Arrays made of them cannot
    be computed: such aliases are replaced.
    """
    graphs = {id(graph): graph for graph in (one.__dask_graph__() for one in delayed)}
    tasks: dict[Any, Any] = {}
    for graph in graphs.values():
        for key, task in dict(graph).items():
            is_wrong = type(task).__name__ == "Alias" and task.key != key
            tasks[key] = type(task)(key, task.target) if is_wrong else task
    return tasks


def _light(model: Any) -> Any:
    """Return a shallow copy of a model without attributes that predictions do not need."""
    light = copy.copy(model)
    for name in _NOT_NEEDED:
        vars(light).pop(name, None)
    draws = vars(light).get("_sampler")
    if isinstance(draws, BootstrapSampler):  # predictions need the columns only
        light._sampler = replace(draws, pool=_NO_ROWS)  # noqa: SLF001 - of the same package
    if hasattr(light, "n_jobs"):
        light.n_jobs = 1
    return light


def _predict_partition(
    rows: Any,
    model: Any,
    method: str,
    empty: NDArray[Any],
    unnamed: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> NDArray[Any]:
    """Return the prediction of the rows of a partition; `empty` is that of no rows.

    Warnings are not silenced: filters are those of the process, and other tasks change them at the same time.
    """
    if not rows.shape[0]:
        return empty
    if unnamed and hasattr(rows, "set_axis"):
        rows = rows.set_axis(range(rows.shape[1]), axis=1)
    found: NDArray[Any] = getattr(model, method)(rows, *args, **kwargs)
    return found
