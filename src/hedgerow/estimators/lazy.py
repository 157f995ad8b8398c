"""Predictions of Dask collections: Dask Arrays, of which every chunk is made when somebody asks for it.

The rows of a partition are predicted where they are. The model goes there once, as an object of the graph,
without what predictions do not need; a task predicts with one thread, since a worker runs several at once.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.bagging.sampling import BootstrapSampler, SamplingPool
from hedgerow.distributed.cluster import library
from hedgerow.distributed.opening import blocks_of, kind_of
from hedgerow.estimators.elsewhere import is_collection
from hedgerow.table.columns import string_names
from hedgerow.table.reading import check_same_columns

Method = TypeVar("Method", bound=Callable[..., Any])

_NOT_NEEDED = (  # bytes for every row of the training set, which no method that is lazy looks at
    *("row_fingerprints_", "grid_hashes_", "sample_weights_", "training_margins_"),
    *("oob_votes_", "oob_decision_function_", "oob_prediction_", "oob_losses_"),
    *("_tree_sampler", "_leaves", "_residuals", "_residual_weight", "_ranks"),
)
_BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function")
_NOBODY = SamplingPool(0, np.empty(0, np.uint32), np.empty(0, np.int64), 0)


def lazily(method: Method) -> Method:
    """A method of rows that gives a Dask Array for a Dask collection, one entry or one row for each row.

    A Dask DataFrame gives an Array of unknown lengths, of the same partitions; a Dask Array one of the same
    chunks of rows. Columns are checked at once, values when they are computed.

    >>> class Doubling:
    ...     @lazily
    ...     def predict(self, X):
    ...         return [2 * x for x in X]
    >>> Doubling().predict([1, 2])
    [2, 4]
    """
    name = method.__name__

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is np.ndarray or not is_collection(X):  # the first is for the sake of single rows
            return method(self, X, *args, **kwargs)
        return _later(self, name, X, args, kwargs)

    return answer  # type: ignore[return-value]


def _later(model: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_is_fitted(model)
    kind = kind_of(X)
    if kind not in ("DataFrame", "Array"):
        raise TypeError(f"X is a Dask {kind}: give a Dask DataFrame, or a Dask Array of two dimensions")
    if kind == "Array" and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead (X is a Dask Array)")
    names = string_names(list(X.columns)) if kind == "DataFrame" else None
    place = "schema_" if hasattr(model, "schema_") else "_schema"
    schema = getattr(model, place)
    check_same_columns(names, X.shape[1], schema, type(model).__name__)
    sent, unnamed = _light(model), (names is None) != (schema.names is None)
    if unnamed:  # it has been said, once: neither the model nor the rows have names from here on
        setattr(sent, place, replace(schema, names=None))
    none = _of_no_rows(sent, name, args, kwargs)
    ask = partial(_answer, verb=name, none=none, unnamed=unnamed, args=args, kwargs=kwargs)
    lengths = (np.nan,) * X.npartitions if kind == "DataFrame" else X.chunks[0]
    return _array(
        X.rechunk({1: -1}) if kind == "Array" and X.numblocks[1] > 1 else X, sent, ask, lengths, none
    )


def _of_no_rows(model: Any, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NDArray[Any]:
    """What the model says of no rows: its dtype and its columns.

    Members of other libraries are not asked for it: they may want columns by name, or values they know.
    """
    classes, n_outputs = getattr(model, "classes_", None), getattr(model, "n_outputs_", 1)
    if verb == "predict" and not (args or kwargs):
        numbers = np.empty((0, n_outputs))
        return classes[:0] if classes is not None else numbers[:, 0] if n_outputs == 1 else numbers
    if verb in _BY_CLASS and classes is not None and not (args or kwargs):
        shares = np.empty((0, len(classes)))
        return shares[:, 0] if verb == "decision_function" and len(classes) == 2 else shares
    asked = copy.copy(model)
    asked.schema_ = replace(model.schema_, names=None)  # as the row has none
    found: NDArray[Any] = getattr(asked, verb)(np.zeros((1, model.n_features_in_)), *args, **kwargs)
    return found[:0]


def _array(X: Any, model: Any, ask: Callable[..., Any], lengths: tuple[Any, ...], none: NDArray[Any]) -> Any:
    """A Dask Array, a chunk ``ask(partition, model)`` for every partition."""
    there, blocks = library("dask").delayed(model), blocks_of(X)
    name = f"hedgerow-{type(model).__name__}-{uuid4().hex}"
    zeros = (0,) * (none.ndim - 1)
    graph = _graph_of([there, *blocks])
    graph |= {(name, number, *zeros): (ask, block.key, there.key) for number, block in enumerate(blocks)}
    whole = library("dask.highlevelgraph").HighLevelGraph.from_collections(name, graph)
    sizes = (lengths, *((n,) for n in none.shape[1:]))
    return library("dask.array").Array(whole, name, sizes, meta=none)


def _graph_of(delayed: list[Any]) -> dict[Any, Any]:
    """All tasks of some Delayed objects.

    Data frames made by `from_delayed` have aliases in their graphs that do not know their own names, and
    Arrays made of them cannot be computed: such aliases are made anew.
    """
    graphs = {id(graph): graph for graph in (one.__dask_graph__() for one in delayed)}
    tasks: dict[Any, Any] = {}
    for graph in graphs.values():
        for key, task in dict(graph).items():
            is_wrong = type(task).__name__ == "Alias" and task.key != key
            tasks[key] = type(task)(key, task.target) if is_wrong else task
    return tasks


def _light(model: Any) -> Any:
    """A copy of a model, of what predicting needs; it shares all arrays."""
    light = copy.copy(model)
    for name in _NOT_NEEDED:
        vars(light).pop(name, None)
    draws = vars(light).get("_sampler")
    if isinstance(draws, BootstrapSampler):  # columns are asked for, and rows not
        light._sampler = replace(draws, pool=_NOBODY)  # noqa: SLF001 - of the same package
    if hasattr(light, "n_jobs"):
        light.n_jobs = 1
    return light


def _answer(
    part: Any,
    model: Any,
    verb: str,
    none: NDArray[Any],
    unnamed: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> NDArray[Any]:
    """What the model says of the rows of a partition; `none` is what it says of no rows.

    Warnings are not silenced: filters are those of the process, and other tasks change them at the same time.
    """
    if not part.shape[0]:
        return none
    if unnamed and hasattr(part, "set_axis"):
        part = part.set_axis(range(part.shape[1]), axis=1)
    found: NDArray[Any] = getattr(model, verb)(part, *args, **kwargs)
    return found
