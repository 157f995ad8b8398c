"""Old names of `remote_input`, until all estimators use `validation`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.estimators.checkpoints import Fit
from hedgerow.estimators.remote_input import open_remote, predict_stream, require_in_memory
from hedgerow.table import Table, read_table
from hedgerow.table.remote import RemoteInput, RemoteTable
from hedgerow.threads import resolve_n_jobs


def given(
    X: Any, y: Any, sample_weight: Any, target: Any = None, *, n_jobs: int | None = None, verbose: int = 0
) -> tuple[Any, Any, Any]:
    """Open a remote X."""
    return open_remote(X, y, sample_weight, target, n_threads=resolve_n_jobs(n_jobs), verbose=verbose)


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


def refuse_elsewhere(X: Any, why: str, target: Any = None) -> None:
    """Raise an error if X is remote."""
    if type(X) is not np.ndarray or target is not None:
        require_in_memory(X, why, target)


def in_pieces(model: Any, X: Any, ask: Callable[[Any], NDArray[Any]], axis: int = 0) -> NDArray[Any] | None:
    """Predict rows in files."""
    return None if type(X) is np.ndarray else predict_stream(model, X, ask, axis)
