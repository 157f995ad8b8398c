"""Input that is not in memory: tables in files and Dask collections.

`open_remote` makes a `RemoteInput` of a path, a glob, a pyarrow Dataset, a function that returns record
batches or a Dask collection. Target and weights are columns of it and known when it has been scanned.
`predict_stream` and `score_remote` predict and score such rows without holding all of them in memory.

`dask_predict` returns lazy Dask Arrays. The rows of a partition are predicted on the worker that holds them.
The graph contains the model once, without attributes that predictions do not need. A task predicts with one
thread, since a worker runs several.
"""

import copy
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool
from hedgerow.optional import require_extra
from hedgerow.streams import Stream, open_stream
from hedgerow.table.columns import string_names
from hedgerow.table.reading import check_same_columns
from hedgerow.table.remote import RemoteInput

Metric = Callable[..., float]

_OMITTED = (  # arrays with an entry for every training row, which predictions do not use
    *("row_fingerprints_", "grid_hashes_", "sample_weights_", "training_margins_"),
    *("oob_votes_", "oob_decision_function_", "oob_prediction_", "oob_losses_"),
    *("_tree_sampler", "_leaf_targets", "_residuals", "_residual_weight", "_ranks"),
)
_BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function")
_NO_ROWS = SamplingPool(0, np.empty(0, np.uint32), np.empty(0, np.int64), 0)


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, without importing Dask."""
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(X).__mro__)


def open_remote(
    X: Any, y: Any, sample_weight: Any, target: Any, *, n_threads: int = 1, verbose: int = 0
) -> tuple[Any, Any, Any]:
    """Return a `RemoteInput`, None and None where X is remote, else X, y and sample_weight unchanged.

    Where X is remote, y and sample_weight may be names of columns; `target` is the name of the target column.

    >>> open_remote([[1.0]], [2.0], None, None)
    ([[1.0]], [2.0], None)
    >>> open_remote("rows.parquet", None, None, "label")[1:]
    (None, None)
    """
    if is_dask(X):
        from hedgerow.distributed import open_collection  # noqa: PLC0415 - imports Dask

        opened = open_collection(X, y, target, sample_weight)
        if opened is not None:
            return opened, None, None
    stream = open_stream(X)
    if stream is None:
        _check_no_target(X, target)
        return X, y, sample_weight
    stream = stream.with_columns(_target_column(y, target), _column_name(sample_weight, "sample_weight"))
    if stream.target is None:
        raise ValueError("X is in files: name the column of its target, fit(X, target=...)")
    return stream.for_fit(n_threads, shows=bool(verbose)), None, None


def _check_no_target(X: Any, target: Any) -> None:
    if target is not None:
        if isinstance(X, list | tuple) and X and all(isinstance(path, str | os.PathLike) for path in X):
            raise ValueError(f"X is a {type(X).__name__} of paths: pass hedgerow.Stream(X)")
        raise ValueError(
            f"target={target!r} is for an X in files or on a cluster; X is a {type(X).__name__}: pass y"
        )


def _target_column(y: Any, target: Any) -> str | None:
    if y is None:
        return _column_name(target, "target")
    if target is not None:
        raise ValueError("y and target are both passed: where X is in files, target= names the column")
    return _column_name(y, "y")


def _column_name(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, and X is in files: it must be the name of a column")


def require_in_memory(X: Any, name: str, target: Any = None) -> None:
    """Raise an error if X is remote.

    >>> require_in_memory("rows.parquet", "estimator=SVC()")
    Traceback (most recent call last):
    TypeError: estimator=SVC() needs rows in memory: X must be an array or a data frame; got a str
    """
    if isinstance(X, RemoteInput) or is_dask(X) or open_stream(X) is not None:
        source = X.source if isinstance(X, RemoteInput) else X
        kind = f"Dask {type(source).__name__}" if is_dask(source) else type(source).__name__
        raise TypeError(f"{name} needs rows in memory: X must be an array or a data frame; got a {kind}")
    _check_no_target(X, target)


# --- predictions and scores


def predict_stream(
    model: Any, X: Any, predict: Callable[[Any], NDArray[Any]], axis: int = 0
) -> NDArray[Any] | None:
    """Return the predictions of rows in files, concatenated along an axis; None if X is in memory.

    Columns are selected by the names that the model was fitted with; the files may have others.
    """
    stream = open_stream(X)
    if stream is None:
        return None
    check_is_fitted(model, "schema_")
    return np.concatenate([predict(batch) for batch in stream.tables(model.schema_.names)], axis=axis)


def score_remote(model: Any, metric: Metric, X: Any, y: Any, sample_weight: Any) -> float | None:
    """Return the score if X, y or sample_weight is in files or a Dask collection, else None."""
    if isinstance(y, str) and (stream := open_stream(X)) is not None:
        return _score_stream(model, metric, stream, y, sample_weight)
    if not any(is_dask(value) for value in (X, y, sample_weight)):
        return None
    predicted, labels, weights = (
        np.asarray(value.compute()) if is_dask(value) else value
        for value in (model.predict(X), y, sample_weight)
    )
    return float(metric(labels, predicted, sample_weight=weights))


def _score_stream(model: Any, metric: Metric, stream: Stream, y: str, sample_weight: Any) -> float:
    """Return the score of rows in files, whose target and weights are columns."""
    check_is_fitted(model, "schema_")
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(
            f"sample_weight is a {type(sample_weight).__name__}, and y={y!r} a column: name a column of X"
        )
    others = [y] if sample_weight is None else [y, sample_weight]
    names = model.schema_.names if stream.columns is None else stream.columns
    batches = replace(stream, columns=None if names is None else [*names, *others]).tables(None)
    columns: list[list[Any]] = [[], [], []]
    for batch in batches:
        columns[0].append(model.predict(batch.drop_columns(others)))
        for values, name in zip(columns[1:], others, strict=False):
            values.append(batch[name].to_numpy())
    predicted, labels, *weights = (np.concatenate(values) for values in columns if values)
    return float(metric(labels, predicted, sample_weight=weights[0] if weights else None))


# --- predictions of Dask collections


def dask_predict(model: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the method `name` for a Dask collection as a Dask Array.

    A Dask DataFrame gives an Array of the same partitions with unknown lengths, a Dask Array one of the same
    chunks of rows. Columns are checked now, values when they are computed.
    """
    from hedgerow.distributed.input import collection_type  # noqa: PLC0415 - imports Dask

    check_is_fitted(model)
    kind = collection_type(X)
    if kind not in ("DataFrame", "Array"):
        raise TypeError(f"X is a Dask {kind}: pass a Dask DataFrame, or a Dask Array of two dimensions")
    if kind == "Array" and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead (X is a Dask Array)")
    names = string_names(list(X.columns)) if kind == "DataFrame" else None
    schema = model.schema_
    check_same_columns(names, X.shape[1], schema, type(model).__name__)
    sent, unnamed = _prediction_copy(model), (names is None) != (schema.names is None)
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
        probabilities = np.empty((0, len(classes)))
        return probabilities[:, 0] if method == "decision_function" and len(classes) == 2 else probabilities
    unnamed = copy.copy(model)
    unnamed.schema_ = replace(model.schema_, names=None)  # as the row has none
    prediction: NDArray[Any] = getattr(unnamed, method)(np.zeros((1, model.n_features_in_)), *args, **kwargs)
    return prediction[:0]


def _array(
    X: Any, model: Any, task: Callable[..., Any], lengths: tuple[Any, ...], empty: NDArray[Any]
) -> Any:
    """Make a Dask Array with a chunk ``task(partition, model)`` for every partition."""
    from hedgerow.distributed.input import delayed_blocks  # noqa: PLC0415 - imports Dask

    delayed, blocks = require_extra("dask", extra="dask").delayed(model), delayed_blocks(X)
    name = f"hedgerow-{type(model).__name__}-{uuid4().hex}"
    zeros = (0,) * (empty.ndim - 1)
    graph = _graph_of([delayed, *blocks])
    graph |= {(name, number, *zeros): (task, block.key, delayed.key) for number, block in enumerate(blocks)}
    layers = require_extra("dask.highlevelgraph", extra="dask").HighLevelGraph.from_collections(name, graph)
    sizes = (lengths, *((n,) for n in empty.shape[1:]))
    return require_extra("dask.array", extra="dask").Array(layers, name, sizes, meta=empty)


def _graph_of(delayed: list[Any]) -> dict[Any, Any]:
    """Return all tasks of Delayed objects.

    Graphs of data frames made by `from_delayed` have aliases with wrong keys, and Arrays made of them cannot
    be computed: such aliases are replaced.
    """
    graphs = {id(graph): graph for graph in (value.__dask_graph__() for value in delayed)}
    tasks: dict[Any, Any] = {}
    for graph in graphs.values():
        for key, task in dict(graph).items():
            is_wrong = type(task).__name__ == "Alias" and task.key != key
            tasks[key] = type(task)(key, task.target) if is_wrong else task
    return tasks


def _prediction_copy(model: Any) -> Any:
    """Return a shallow copy of a model without attributes that predictions do not need."""
    reduced = copy.copy(model)
    for name in _OMITTED:
        vars(reduced).pop(name, None)
    sampler = vars(reduced).get("_sampler")
    if isinstance(sampler, BootstrapSampler):  # predictions need the columns only
        reduced._sampler = replace(sampler, pool=_NO_ROWS)  # noqa: SLF001 - of the same package
    if hasattr(reduced, "n_jobs"):
        reduced.n_jobs = 1
    return reduced


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
    prediction: NDArray[Any] = getattr(model, method)(rows, *args, **kwargs)
    return prediction
