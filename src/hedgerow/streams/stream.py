"""Stream: what the user says of a table in files, and where its codes may go.

Nothing is read here, and pyarrow is not loaded, until a fit asks for the first pass.
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
    "that gives an iterator of record batches"
)


@dataclass(frozen=True, eq=False)
class Stream(RemoteInput):
    """A table that is read from files batch by batch; give it to `fit` as X.

    Parameters
    ----------
    source : str, path, list of them, pyarrow.dataset.Dataset or callable
        Parquet or Arrow files, by a path, a glob, a folder (all such files in it) or a list of paths; the
        files of a glob or a folder are read in the order of their names. Or a dataset. Or a function without
        arguments that gives an iterator of record batches: it is called once for every pass over the rows and
        must give the same rows each time.
    target : str, optional
        The column that is learned; it may be named by ``fit(..., target=...)`` instead.
    sample_weight : str, optional
        The column of weights.
    columns : sequence of str, optional
        Columns that are features, in this order; by default all but the two above, as the files have them,
        without what pandas notes as the index of a DataFrame.
    memory_limit : float, optional
        Bytes that the codes of the rows may take in memory; above, they are put into a file. By default half
        of the memory that is available.
    folder : str or path, optional
        Where that file goes, by default the folder for temporary files. The file has no name: it is gone when
        the fit ends, however it ends.
    progress : bool, optional
        Show a bar for each pass, on terminals; by default as the estimator's `verbose` says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from hedgerow import DecisionStump
    >>> from hedgerow.streams import Stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         rows = pa.table({"x": [part + 0.25, part + 0.75], "label": ["low", "high"]})
    ...         parquet.write_table(rows, pathlib.Path(folder, f"part-{part}.parquet"))
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
            raise TypeError(f"source={self.source!r} is not allowed: it must be {_SOURCES}")
        if isinstance(self.columns, str) or not isinstance(self.columns, Iterable | None):
            raise TypeError(f"columns={self.columns!r} is not allowed: it must be a list of names or None")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
            for one in self.columns:
                if not isinstance(one, str):
                    raise TypeError(
                        f"columns holds {one!r}, which is not allowed: it must be names of columns"
                    )
        for name in ("target", "sample_weight"):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise TypeError(
                    f"{name} is a {type(value).__name__}, which is not allowed where X is a stream: it must "
                    "be the name of a column"
                )
        limit = self.memory_limit
        if not _is_size(limit):
            raise ValueError(f"memory_limit={limit!r} is not allowed: it must be bytes, at least 0, or None")
        if not _is_folder(self.folder):
            raise ValueError(
                f"folder={self.folder!r} is not allowed: it must be a folder that exists, or None"
            )

    def with_columns(self, target: str | None, weight: str | None) -> "Stream":
        """The same, where `fit` has named the target or the weights; refuses two different names."""
        for name, mine, told in (
            ("target", self.target, target),
            ("sample_weight", self.sample_weight, weight),
        ):
            if mine is not None and told is not None and mine != told:
                raise ValueError(f"{name}={told!r} is not allowed: the Stream already says {name}={mine!r}")
        return replace(
            self,
            target=self.target if target is None else target,
            sample_weight=self.sample_weight if weight is None else weight,
        )

    def for_fit(self, n_threads: int, *, shows: bool) -> "Stream":
        """The same, told how many threads there are and whether the fit shows its progress."""
        return replace(self, n_threads=n_threads, progress=shows if self.progress is None else self.progress)

    def read(
        self, *, categorical_features: Any, schema: Schema | None, estimator_name: str
    ) -> "StreamedTable":
        """Scan all rows: the first pass."""
        from hedgerow.streams.scan import scan_stream  # noqa: PLC0415 - loads pyarrow

        return scan_stream(
            self, categorical_features=categorical_features, schema=schema, estimator_name=estimator_name
        )

    def tables(self, names: Sequence[str] | None) -> Iterator[Any]:
        """All rows, as Arrow tables of some thousand each; with these columns, unless it has its own."""
        from hedgerow.streams.reading import Reading  # noqa: PLC0415 - loads pyarrow

        columns = names if self.columns is None else self.columns
        chosen = replace(self, columns=columns, target=None, sample_weight=None)
        reading = Reading.of(self if columns is None else chosen)
        found = reading.over(lambda chunk: chunk[1].select(reading.columns), "Rows", reading.source.n_rows)
        with closing(found) as pieces:
            first = next(pieces, None)
            if first is None:
                raise ValueError(f"{reading.source.name} holds no rows")
            yield first
            yield from pieces


def open_stream(X: Any, target: str | None = None, weight: str | None = None) -> Stream | None:
    """X as a `Stream`, None if it is none.

    Parameters
    ----------
    X : anything that `fit` is given
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
            f"X is a {type(X).__name__}, which can be read once only, and two passes are needed: give a "
            "function that makes one"
        )
    return Stream(X, target, weight) if _is_stream(X) else None


def _is_stream(X: Any) -> bool:
    if isinstance(X, str | os.PathLike):
        return True
    dataset = sys.modules.get("pyarrow.dataset")  # if nobody imported it, X is none of its types
    if dataset is not None and isinstance(X, dataset.Dataset):
        return True
    # tables of any library are no functions, but a class is callable too
    return callable(X) and not isinstance(X, type) and not hasattr(X, "shape")


def _are_paths(source: Any) -> bool:
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(one, str | os.PathLike) for one in source)
    )


def _is_size(limit: Any) -> bool:
    """Whether it is a number of bytes, or None."""
    if limit is None:
        return True
    return isinstance(limit, int | float | np.number) and not isinstance(limit, bool) and bool(limit >= 0)


def _is_folder(folder: Any) -> bool:
    """Whether it is a folder, or None."""
    return folder is None or (isinstance(folder, str | os.PathLike) and Path(folder).is_dir())
