"""X that is elsewhere: in files, or on other machines. The door that `fit` and evaluation sets go through.

Ordinary input passes as it is. A path, a glob, a dataset or a function becomes a `hedgerow.streams.Stream`, a
Dask collection what `hedgerow.distributed` makes of it; target and weights are then columns of it, and are
known only when it has been read.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.checkpoints import Fit
from hedgerow.streams import Stream, open_stream
from hedgerow.table import Table, read_table
from hedgerow.table.remote import RemoteInput, RemoteTable
from hedgerow.threads import resolve_n_jobs


def given(
    X: Any,
    y: Any,
    sample_weight: Any,
    target: Any = None,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Any, Any, Any]:
    """X, y and the weights; a `RemoteInput` and None, None where X is not in memory.

    Parameters
    ----------
    X, y, sample_weight : as `fit` is given them
        Where X is elsewhere, y and sample_weight may be names of columns.
    target : str or None
        The name of the target's column.
    n_jobs, verbose
        Of the estimator: how rows are read.

    Examples
    --------
    >>> given([[1.0]], [2.0], None)
    ([[1.0]], [2.0], None)
    >>> given("rows.parquet", None, None, "label")[1:]
    (None, None)
    """
    if is_collection(X):
        from hedgerow.distributed import open_collection  # noqa: PLC0415 - loads Dask

        found = open_collection(X, y, target, sample_weight)
        if found is not None:
            return found, None, None
    stream = open_stream(X)
    if stream is None:
        _refuse_target(X, target)
        return X, y, sample_weight
    stream = stream.with_columns(_name_of_target(y, target), _name(sample_weight, "sample_weight"))
    if stream.target is None:
        raise ValueError("X is in files: name the column of its target, fit(X, target=...)")
    return _told(stream, n_jobs, verbose), None, None


def _refuse_target(X: Any, target: Any) -> None:
    if target is not None:
        if isinstance(X, list | tuple) and X and all(isinstance(one, str | os.PathLike) for one in X):
            raise ValueError(f"X is a {type(X).__name__} of paths: give hedgerow.Stream(X)")
        raise ValueError(
            f"target={target!r} is for an X in files or on a cluster; X is a {type(X).__name__}: give y"
        )


def is_collection(X: Any) -> bool:
    """Whether X is of Dask, which is not loaded to find out."""
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(X).__mro__)


def _told(stream: Stream, n_jobs: int | None, verbose: int) -> Stream:
    return stream.for_fit(resolve_n_jobs(n_jobs), shows=bool(verbose))


def _name_of_target(y: Any, target: Any) -> str | None:
    if y is None:
        return _name(target, "target")
    if target is not None:
        raise ValueError("y and target are both given: where X is in files, target= names the column")
    return _name(y, "y")


def _name(given: Any, what: str) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise TypeError(
        f"{what} is a {type(given).__name__}, and X is in files: it must be the name of a column there"
    )


@contextmanager
def let_go_of(X: Any) -> Iterator[None]:
    """Whatever becomes of the fit, have nothing kept elsewhere for it."""
    try:
        yield
    finally:
        if isinstance(X, RemoteInput):
            X.close()


def read_rows(
    X: Any, y: Any, sample_weight: Any, under_way: Fit, estimator_name: str, **known: Any
) -> tuple[Table, Any, Any]:
    """The table, target and weights of a fit; names and labels are compared with those of its checkpoint.

    known : schema or categorical_features, as `read_table` takes them.
    """
    if not isinstance(X, RemoteInput):
        under_way.compare_names(X, y)
    table = read_table(X, estimator_name=estimator_name, **known)
    y, sample_weight = survey_of(table, y, sample_weight)
    if isinstance(X, RemoteInput):
        under_way.compare_names(table, y)
    return table, y, sample_weight


def survey_of(table: Table, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Target and weights: as they were given, or, of a table elsewhere, as they were found."""
    if isinstance(table, RemoteTable):
        return table.scan.y, table.scan.sample_weight
    return y, sample_weight


def forget(table: Table) -> None:
    """Let go of what only the beginning of a fit needs of a table elsewhere."""
    if isinstance(table, RemoteTable):
        table.discard_targets()


def refuse_elsewhere(X: Any, why: str, target: Any = None) -> None:
    """Refuse rows that are not in memory.

    >>> refuse_elsewhere("rows.parquet", "estimator=SVC()")
    Traceback (most recent call last):
    TypeError: estimator=SVC() needs rows in memory: X must be an array or a data frame, and is a str
    """
    if type(X) is np.ndarray and target is None:  # first, for the sake of single rows
        return
    if isinstance(X, RemoteInput) or is_collection(X) or open_stream(X) is not None:
        own = X.source if isinstance(X, RemoteInput) else X
        kind = f"Dask {type(own).__name__}" if is_collection(own) else type(own).__name__
        raise TypeError(f"{why} needs rows in memory: X must be an array or a data frame, and is a {kind}")
    _refuse_target(X, target)


# --- after fitting


def in_pieces(model: Any, X: Any, ask: Callable[[Any], NDArray[Any]], axis: int = 0) -> NDArray[Any] | None:
    """What `ask` says of rows in files, read piece by piece, joined along an axis; None if X is in memory.

    Columns are found by the names that the model knows; files may hold others beside them.
    """
    if type(X) is np.ndarray:  # first, for the sake of single rows
        return None
    stream = open_stream(X)
    if stream is None:
        return None
    check_is_fitted(model, "schema_")
    return np.concatenate([ask(piece) for piece in stream.tables(model.schema_.names)], axis=axis)
