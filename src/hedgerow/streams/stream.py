"""Stream: a table in files as the user describes it.

Nothing is read here, and pyarrow is not imported, before the first pass of a fit.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.table.remote import RemoteInput
from hedgerow.table.table import Schema

if TYPE_CHECKING:
    from hedgerow.streams.table import StreamedTable

_SOURCES = (
    "a path, a glob, a folder or a list of paths of Parquet or Arrow files, a pyarrow Dataset, or a function "
    "that returns an iterator of record batches"
)


@dataclass(frozen=True, eq=False)
class Stream(RemoteInput):
    """A table that is read from files in batches; pass it to `fit` as X.

    Parameters
    ----------
    source : str, path, list of them, pyarrow.dataset.Dataset or callable
        Parquet or Arrow files, by a path, a glob, a folder (all such files in it) or a list of paths; the
        files of a glob or a folder are read in the order of their names. It may also be a dataset, or a
        function without arguments that returns an iterator of record batches: the function is called once for
        every pass over the rows and must return the same rows each time.
    target : str, optional
        The column of the target; ``fit(..., target=...)`` may name it instead.
    sample_weight : str, optional
        The column of weights.
    columns : sequence of str, optional
        The features, in this order; by default all columns but the two above, in the order of the files,
        without the index of a pandas DataFrame.
    memory_limit : float, optional
        Bytes of codes that may be in memory; larger codes are stored in a file. By default half of the
        available memory.
    folder : str or path, optional
        The folder of that file, by default the folder for temporary files. The file has no name: nothing of
        it is left when the process ends, however it ends.
    progress : bool, optional
        Show a progress bar for each pass, on terminals; by default if the estimator is verbose.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from hedgerow import DecisionStump
    >>> from hedgerow.streams import Stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in range(2):
    ...         rows = pa.table({"x": [number + 0.25, number + 0.75], "label": ["low", "high"]})
    ...         parquet.write_table(rows, pathlib.Path(folder, f"{number}.parquet"))
    ...     stump = DecisionStump().fit(Stream(folder, target="label", memory_limit=1e9))
    >>> stump.classes_.tolist(), stump.feature_names_in_.tolist()
    (['high', 'low'], ['x'])
    """

    source: Any
    target: str | None = None
    sample_weight: str | None = None
    columns: Iterable[str] | None = None
    memory_limit: float | None = None
    folder: str | os.PathLike[str] | None = None
    progress: bool | None = None
    n_threads: int = field(default=1, repr=False)  # of the fit, set by the estimator

    def __post_init__(self) -> None:
        if not (_is_stream(self.source) or _are_paths(self.source)):
            raise TypeError(f"source must be {_SOURCES}; got {self.source!r}")
        if isinstance(self.columns, str) or not isinstance(self.columns, Iterable | None):
            raise TypeError(f"columns must be a list of names or None; got {self.columns!r}")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
        for name in self.columns or ():
            if not isinstance(name, str):
                raise TypeError(f"columns must be names of columns; got {name!r}")
        for name in ("target", "sample_weight"):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise TypeError(
                    f"{name} must be the name of a column where X is a stream; got a {type(value).__name__}"
                )
        limit: Any = self.memory_limit
        folder: Any = self.folder
        is_number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
        if limit is not None and not (is_number and limit >= 0):
            raise ValueError(f"memory_limit must be a number of bytes, at least 0, or None; got {limit!r}")
        if folder is not None and not (isinstance(folder, str | os.PathLike) and Path(folder).is_dir()):
            raise ValueError(f"folder must be a folder that exists, or None; got {folder!r}")

    def with_columns(self, target: str | None, weight: str | None) -> "Stream":
        """Return the same stream with the target or the weights that `fit` names; raise if names differ."""
        passed = {"target": target, "sample_weight": weight}
        changes: dict[str, Any] = {name: value for name, value in passed.items() if value is not None}
        for name, value in changes.items():
            if (own := getattr(self, name)) not in (None, value):
                raise ValueError(f"{name}={value!r} was passed, but the Stream has {name}={own!r}")
        return replace(self, **changes)

    def for_fit(self, n_threads: int, *, shows: bool) -> "Stream":
        """Return the same stream with the number of threads of a fit, and whether it shows its progress."""
        return replace(self, n_threads=n_threads, progress=shows if self.progress is None else self.progress)

    def read(
        self, *, categorical_features: Any, schema: Schema | None, estimator_name: str
    ) -> "StreamedTable":
        """Scan all rows: the first pass."""
        from hedgerow.streams.scan import scan_stream  # noqa: PLC0415 - imports pyarrow

        return scan_stream(
            self, categorical_features=categorical_features, schema=schema, estimator_name=estimator_name
        )

    def tables(self, names: Sequence[str] | None) -> Iterator[Any]:
        """Yield all rows as Arrow tables of a few thousand, with these columns or those of the stream."""
        from hedgerow.streams.reader import StreamReader  # noqa: PLC0415 - imports pyarrow

        columns = names if self.columns is None else self.columns
        chosen = replace(self, columns=columns, target=None, sample_weight=None)
        reader = StreamReader.open(self if columns is None else chosen)
        chunks = reader.map_chunks(
            lambda chunk: chunk[1].select(reader.columns), "Rows", reader.source.n_rows
        )
        with closing(chunks) as tables:
            first = next(tables, None)
            if first is None:
                raise ValueError(f"{reader.source.name} has no rows")
            yield first
            yield from tables


def open_stream(X: Any, target: str | None = None, weight: str | None = None) -> Stream | None:
    """Return X as a `Stream`, or None if X is in memory.

    Parameters
    ----------
    X : anything that `fit` accepts
    target, weight : str or None
        Names of columns.

    Examples
    --------
    >>> open_stream([[1.0, 2.0]]) is None
    True
    >>> open_stream("rows/*.parquet", "label").target
    'label'
    """
    if isinstance(X, Stream):
        return X.with_columns(target, weight)
    if isinstance(X, Iterator):
        raise TypeError(
            f"X must be readable twice; got a {type(X).__name__}, which can be read once: pass a function "
            "that returns one"
        )
    return Stream(X, target, weight) if _is_stream(X) else None


def _is_stream(X: Any) -> bool:
    if isinstance(X, str | os.PathLike):
        return True
    dataset = sys.modules.get("pyarrow.dataset")  # if it is not imported, X has none of its types
    if dataset is not None and isinstance(X, dataset.Dataset):
        return True
    # tables of any library are not functions, but a class is callable too
    return callable(X) and not isinstance(X, type) and not hasattr(X, "shape")


def _are_paths(source: Any) -> bool:
    is_list = isinstance(source, list | tuple) and bool(source)
    return is_list and all(isinstance(path, str | os.PathLike) for path in source)
