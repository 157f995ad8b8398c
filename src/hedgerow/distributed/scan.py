"""The first passes over a collection: dtypes and lengths, then categories, then keys and the rows for edges.

pass 1   every partition:  how many rows, and a few of them, which tell the dtypes
pass 2   if there are categorical columns:  their categories
pass 3   keys of all rows, the target, the weights, and the rows that bin edges are taken from
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.distributed import pieces
from hedgerow.distributed.cluster import library
from hedgerow.distributed.partitions import Partitions
from hedgerow.distributed.pieces import Head, Layout, Look
from hedgerow.table.columns import CodedColumn, sorted_categories
from hedgerow.table.frames import FrameSource, as_frame
from hedgerow.table.reading import (
    ArraySource,
    SparseSource,
    check_not_empty,
    check_same_columns,
    chosen_columns,
)
from hedgerow.table.remote import TableScan
from hedgerow.table.table import FLOAT32, FLOAT64, Schema

_READING = "reading the partitions of X"


@dataclass(frozen=True)
class Columns:
    """What the partitions are, and which of their columns are no features."""

    is_frame: bool
    target: Any = None
    weight: Any = None


@dataclass(frozen=True, eq=False)
class Found:
    """A survey, how partitions are read, and how many rows each has."""

    scan: TableScan
    layout: Layout
    lengths: list[int]


def scan_partitions(
    partitions: Partitions,
    columns: Columns,
    categorical_features: Any,
    schema: Schema | None,
    estimator_name: str,
) -> Found:
    """Scan a collection; the parameters are those of `hedgerow.table.read_table`."""
    everyone = list(range(len(partitions)))
    heads: list[Head] = partitions.ask(pieces.head, everyone, [(i,) for i in everyone], None, _READING)
    layout = _layout(heads, columns, categorical_features, schema, estimator_name)
    partitions.hold_if_room(sum(one.n_bytes for one in heads))
    filled = [number for number in everyone if heads[number].n_rows]
    if schema is None and layout.categorical:
        layout = _with_categories(partitions, layout, filled)
    lengths = [one.n_rows for one in heads]
    starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    looks = partitions.ask(pieces.look, filled, [(i, starts[i]) for i in filled], layout, _READING)
    rows = [pieces.sampled(starts[i], lengths[i], layout.n_rows) for i in filled]
    return Found(_scan_of(looks, rows, layout), layout, lengths)


def _scan_of(looks: Sequence[Look], rows: Sequence[Any], layout: Layout) -> TableScan:
    dtype = FLOAT32 if all(one.dtype == FLOAT32 for one in looks) else FLOAT64
    schema = layout.schema or Schema(layout.n_columns, layout.strings, (None,) * layout.n_columns)
    return TableScan(
        n_rows=layout.n_rows,
        schema=schema,
        dtype=dtype,
        y=None if layout.target is None else joined([one.y for one in looks]),
        sample_weight=None if layout.weight is None else joined([one.weight for one in looks]),
        keys=np.concatenate([one.keys for one in looks]),
        rounded=np.concatenate([one.rounded for one in looks]),
        sample_rows=np.concatenate(rows),
        sample=np.concatenate([one.sample.astype(dtype, copy=False) for one in looks]),
    )


# --- dtypes


def _layout(
    heads: Sequence[Head],
    columns: Columns,
    categorical_features: Any,
    schema: Schema | None,
    estimator_name: str,
) -> Layout:
    """How every partition is read, and the checks that need no look at the rows."""
    numbers = [number for number, one in enumerate(heads) if one.n_rows] or [0]
    _refuse_other_columns(heads, numbers)
    few = [heads[number].rows for number in numbers]
    names: list[Any] | None = None
    dtypes: Any
    if columns.is_frame:
        own = [name for name in (columns.target, columns.weight) if name is not None]
        whole = _put_together(few, numbers)
        whole = whole[[name for name in whole.columns if name not in own]] if own else whole
    else:
        dtypes = np.result_type(*(part.dtype for part in few))
        whole = few[0].astype(dtypes)
    source = _source(whole)
    if columns.is_frame:
        names = list(whole.columns)
        dtypes = dict(whole.dtypes)
    n_rows = sum(one.n_rows for one in heads)
    if schema is None:
        check_not_empty((n_rows, source.shape[1]), estimator_name)
        chosen = chosen_columns(categorical_features, source.names, source.shape[1])
        categorical = sorted(source.categorical_by_dtype if chosen is None else chosen)
    else:
        check_same_columns(source.names, source.shape[1], schema, estimator_name)
        check_not_empty((n_rows, source.shape[1]), estimator_name)
        categorical = list(schema.categorical_columns)
    return Layout(
        columns.target,
        columns.weight,
        names,
        dtypes,
        categorical,
        n_rows,
        source.shape[1],
        schema,
        estimator_name,
    )


def _source(whole: Any) -> Any:
    """The columns of X, as `hedgerow.table` sees them."""
    if sparse.issparse(whole):
        return SparseSource(whole)
    frame = None if isinstance(whole, np.ndarray) else as_frame(whole)
    return ArraySource(whole, "") if frame is None else FrameSource(frame, "")


def _refuse_other_columns(heads: Sequence[Head], numbers: Sequence[int]) -> None:
    first = heads[numbers[0]].rows
    for number in numbers[1:]:
        other = heads[number].rows
        if type(other) is not type(first) and hasattr(first, "columns") != hasattr(other, "columns"):
            raise TypeError(
                f"partition {number} of X is a {type(other).__name__}, and partition {numbers[0]} a "
                f"{type(first).__name__}: they must be of one type"
            )
        same = list(first.columns) == list(other.columns) if hasattr(first, "columns") else True
        if not same or first.shape[1] != other.shape[1]:
            mine = list(other.columns) if hasattr(other, "columns") else other.shape[1]
            theirs = list(first.columns) if hasattr(first, "columns") else first.shape[1]
            raise ValueError(
                f"partition {number} of X has the columns {mine}, and partition {numbers[0]} has {theirs}: "
                "they must be the same"
            )


def _put_together(few: Sequence[Any], numbers: Sequence[int]) -> Any:
    """Rows of all partitions, with the dtypes that `X.compute()` would have."""
    concat = library("dask.dataframe.dispatch").concat
    try:
        return concat(list(few), uniform=True) if len(few) > 1 else few[0]
    except (AttributeError, TypeError, ValueError) as error:  # the first: of a category beside none
        for number, part in zip(numbers, few, strict=True):
            for name in part.columns:
                mine, theirs = part[name].dtype, few[0][name].dtype
                if mine != theirs:
                    raise TypeError(
                        f"partition {number} of X: column {name!r} has dtype {mine}, and {theirs} in "
                        f"partition {numbers[0]}; cast it to one dtype for all partitions ({error})"
                    ) from None
        raise


# --- categories


def _with_categories(partitions: Partitions, layout: Layout, filled: Sequence[int]) -> Layout:
    """The layout with a schema: the categories that occur in any partition."""
    found = partitions.ask(pieces.categories, filled, [(i,) for i in filled], layout, _READING)
    known: list[Any] = [None] * layout.n_columns
    for place, column in enumerate(layout.categorical):
        values = [value for one in found for value in one[place]]
        known[column] = sorted_categories(CodedColumn(np.arange(len(values)), values))
    return replace(layout, schema=Schema(layout.n_columns, layout.strings, tuple(known)))


# --- targets


def joined(parts: Sequence[Any]) -> Any:
    """Partitions of a target or of weights put together, as an array."""
    concat = library("dask.dataframe.dispatch").concat
    filled = [part for part in parts if len(part)] or list(parts[:1])
    if isinstance(filled[0], np.ndarray):
        masked = any(isinstance(part, np.ma.MaskedArray) for part in filled)
        together: Any = np.ma.concatenate if masked else np.concatenate
        return together(filled)
    return np.asarray(concat(filled, uniform=True) if len(filled) > 1 else filled[0])
