"""The first passes over a collection.

pass 1   the length of every partition, and a few rows, which show the dtypes
pass 2   the categories, if there are categorical columns
pass 3   keys of all rows, the target, the weights, and the rows that bin edges are computed from
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.binning import Bins, edge_rows
from hedgerow.distributed import partitions as tasks
from hedgerow.distributed.cluster import Future, release
from hedgerow.distributed.partitions import PartitionHead, PartitionLayout, Partitions, PartitionScan
from hedgerow.growing.row_layout import RowLayout
from hedgerow.optional import require_extra
from hedgerow.table import reading
from hedgerow.table.columns import CodedColumn, sorted_categories
from hedgerow.table.reading import check_not_empty
from hedgerow.table.remote import TableScan
from hedgerow.table.table import FLOAT32, FLOAT64, Schema

_READING = "reading the partitions of X"


@dataclass(frozen=True)
class CollectionColumns:
    """Whether partitions are data frames, and which of their columns are not features."""

    is_frame: bool
    target: Any = None
    weight: Any = None


@dataclass(eq=False)
class CollectionRows:
    """The rows of a scanned collection."""

    partitions: Partitions
    layout: PartitionLayout  # how the partitions are read
    lengths: list[int]  # rows of each
    _kept: dict[Any, list[Future]] | None = None  # codes, by what they were requested with

    @contextmanager
    def shared_codes(self) -> Iterator[None]:
        """Submit the same codes once while this is open, for the models of several folds."""
        self._kept = {}
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            release(self.partitions.client, list(chain.from_iterable(kept.values())))

    def submit_codes(self, bins: Bins, start: int, stop: int, rows: RowLayout | None) -> list[Future]:
        """Submit tasks that make the codes of some rows, in order; see `release_codes`.

        rows : the layout of codes by row; None for codes (columns, rows)
        """
        if self._kept is None:
            return self._submit_codes(bins, start, stop, rows)
        request = id(bins), start, stop, rows
        if request not in self._kept:
            self._kept[request] = self._submit_codes(bins, start, stop, rows)
        return self._kept[request]

    def release_codes(self, codes: Sequence[Future]) -> None:
        """Release what `submit_codes` returned, now or when `shared_codes` ends."""
        if self._kept is None:
            release(self.partitions.client, codes)

    def _submit_codes(self, bins: Bins, start: int, stop: int, rows: RowLayout | None) -> list[Future]:
        numbers, ranges = [], []
        ends = np.cumsum(self.lengths).tolist()
        for number, (length, end) in enumerate(zip(self.lengths, ends, strict=True)):
            first = end - length
            if length and first < stop and end > start:
                numbers.append(number)
                ranges.append((max(start, first) - first, min(stop, end) - first))
        return self.partitions.submit(tasks.encode_rows, numbers, ranges, (self.layout, bins, rows))


def scan_partitions(
    partitions: Partitions,
    columns: CollectionColumns,
    categorical_features: Any,
    schema: Schema | None,
    estimator_name: str,
) -> tuple[TableScan, CollectionRows]:
    """Scan a collection; the parameters are those of `hedgerow.table.read_table`."""
    numbers = list(range(len(partitions)))
    args = [(number,) for number in numbers]
    heads: list[PartitionHead] = partitions.run(_READING, tasks.read_head, numbers, args, None)
    layout = _layout(heads, columns, categorical_features, schema, estimator_name)
    partitions.release_if_large(sum(head.n_bytes for head in heads))
    filled = [number for number in numbers if heads[number].n_rows]
    if schema is None and layout.categorical:
        layout = _with_categories(partitions, layout, filled)
    lengths = [head.n_rows for head in heads]
    starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    scans = partitions.run(_READING, tasks.scan_partition, filled, [(i, starts[i]) for i in filled], layout)
    rows = [edge_rows(starts[i], starts[i] + lengths[i], layout.n_rows) for i in filled]
    return _table_scan(scans, rows, layout), CollectionRows(partitions, layout, lengths)


def _table_scan(scans: Sequence[PartitionScan], rows: Sequence[Any], layout: PartitionLayout) -> TableScan:
    dtype = FLOAT32 if all(scan.dtype == FLOAT32 for scan in scans) else FLOAT64
    return TableScan(
        n_rows=layout.n_rows,
        schema=layout.schema or Schema(layout.n_columns, layout.string_names, (None,) * layout.n_columns),
        dtype=dtype,
        y=None if layout.target is None else concatenate([scan.y for scan in scans]),
        sample_weight=None if layout.weight is None else concatenate([scan.weight for scan in scans]),
        keys=np.concatenate([scan.keys for scan in scans]),
        rounded=np.concatenate([scan.rounded for scan in scans]),
        sample_rows=np.concatenate(rows),
        sample=np.concatenate([scan.sample.astype(dtype, copy=False) for scan in scans]),
    )


# --- dtypes


def _layout(
    heads: Sequence[PartitionHead],
    columns: CollectionColumns,
    categorical_features: Any,
    schema: Schema | None,
    estimator_name: str,
) -> PartitionLayout:
    """Return how every partition is read, and the checks that need no pass over the rows."""
    numbers = [number for number, head in enumerate(heads) if head.n_rows] or [0]
    _check_same_columns(heads, numbers)
    few = [heads[number].rows for number in numbers]
    names: list[Any] | None = None
    dtypes: Any
    if columns.is_frame:
        others = [name for name in (columns.target, columns.weight) if name is not None]
        joined = _concatenate_heads(few, numbers)
        joined = joined[[name for name in joined.columns if name not in others]] if others else joined
        names, dtypes = list(joined.columns), dict(joined.dtypes)
    else:
        dtypes = np.result_type(*(head.dtype for head in few))
        joined = few[0].astype(dtypes)
    source = reading.open_source(joined, "")
    n_rows, n_columns = sum(head.n_rows for head in heads), source.shape[1]
    if schema is None:
        check_not_empty((n_rows, n_columns), estimator_name)
        chosen = reading.chosen_columns(categorical_features, source.names, n_columns)
        categorical = sorted(source.categorical_by_dtype if chosen is None else chosen)
    else:
        reading.check_same_columns(source.names, n_columns, schema, estimator_name)
        check_not_empty((n_rows, n_columns), estimator_name)
        categorical = list(schema.categorical_columns)
    return PartitionLayout(
        columns.target, columns.weight, names, dtypes, categorical, n_rows, n_columns, schema, estimator_name
    )


def _check_same_columns(heads: Sequence[PartitionHead], numbers: Sequence[int]) -> None:
    first = heads[numbers[0]].rows
    for number in numbers[1:]:
        other = heads[number].rows
        if type(other) is not type(first) and hasattr(first, "columns") != hasattr(other, "columns"):
            raise TypeError(
                f"partitions of X must have one type; partition {number} is a {type(other).__name__}, and "
                f"partition {numbers[0]} a {type(first).__name__}"
            )
        found, expected = (
            list(rows.columns) if hasattr(rows, "columns") else rows.shape[1] for rows in (other, first)
        )
        if found != expected:
            raise ValueError(
                f"partition {number} of X has the columns {found}, and partition {numbers[0]} has "
                f"{expected}: they must be the same"
            )


def _concatenate_heads(few: Sequence[Any], numbers: Sequence[int]) -> Any:
    """Return rows of all partitions, with the dtypes that `X.compute()` would have."""
    concat = require_extra("dask.dataframe.dispatch", extra="dask").concat
    try:
        return concat(list(few), uniform=True) if len(few) > 1 else few[0]
    except (
        AttributeError,
        TypeError,
        ValueError,
    ) as error:  # AttributeError: categories in some partitions only
        for number, one in zip(numbers, few, strict=True):
            for name in one.columns:
                found, expected = one[name].dtype, few[0][name].dtype
                if found != expected:
                    raise TypeError(
                        f"partition {number} of X: column {name!r} has dtype {found}, and {expected} in "
                        f"partition {numbers[0]}; cast it to one dtype for all partitions ({error})"
                    ) from None
        raise


# --- categories and targets


def _with_categories(
    partitions: Partitions, layout: PartitionLayout, filled: Sequence[int]
) -> PartitionLayout:
    """Return the layout with a schema: the categories of all partitions."""
    found = partitions.run(_READING, tasks.find_categories, filled, [(i,) for i in filled], layout)
    categories: list[Any] = [None] * layout.n_columns
    for position, column in enumerate(layout.categorical):
        values = [value for categories in found for value in categories[position]]
        categories[column] = sorted_categories(CodedColumn(np.arange(len(values)), values))
    return replace(layout, schema=Schema(layout.n_columns, layout.string_names, tuple(categories)))


def concatenate(values: Sequence[Any]) -> Any:
    """Return the partitions of a target or of weights as one array."""
    filled = [part for part in values if len(part)] or list(values[:1])
    if isinstance(filled[0], np.ndarray):
        masked = any(isinstance(part, np.ma.MaskedArray) for part in filled)
        return (np.ma.concatenate if masked else np.concatenate)(filled)
    concat = require_extra("dask.dataframe.dispatch", extra="dask").concat
    return np.asarray(concat(filled, uniform=True) if len(filled) > 1 else filled[0])
