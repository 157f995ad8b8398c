"""Input that is not in memory: tables in files and Dask collections.

`open_remote` makes a `RemoteInput` of a path, a glob, a pyarrow Dataset, a function that returns record
batches or a Dask collection. Target and weights are columns of it and known when it has been scanned.
`predict_stream` and `score_remote` predict and score such rows without holding all of them in memory.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.streams import Stream, open_stream
from hedgerow.table.remote import RemoteInput

Metric = Callable[..., float]


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
        if isinstance(X, list | tuple) and X and all(isinstance(one, str | os.PathLike) for one in X):
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
        own = X.source if isinstance(X, RemoteInput) else X
        kind = f"Dask {type(own).__name__}" if is_dask(own) else type(own).__name__
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
    """Return the score of rows of which something is in files or a Dask collection, else None."""
    if isinstance(y, str) and (stream := open_stream(X)) is not None:
        return _score_stream(model, metric, stream, y, sample_weight)
    if not any(is_dask(one) for one in (X, y, sample_weight)):
        return None
    predicted, labels, weights = (
        np.asarray(one.compute()) if is_dask(one) else one for one in (model.predict(X), y, sample_weight)
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
    found: list[list[Any]] = [[], [], []]
    for batch in batches:
        found[0].append(model.predict(batch.drop_columns(others)))
        for values, name in zip(found[1:], others, strict=False):
            values.append(batch[name].to_numpy())
    predicted, labels, *weights = (np.concatenate(values) for values in found if values)
    return float(metric(labels, predicted, sample_weight=weights[0] if weights else None))
