"""Summarise the columns of a table: what a report shows, and what users check before a fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.datafiles.column_types import classify_values, n_distinct
from hedgerow.datafiles.conversion import encode_categories
from hedgerow.datafiles.errors import format_value
from hedgerow.datafiles.typed_table import TypedTable
from hedgerow.strict_json import to_plain

_BINS = 12
_TOP = 5


@dataclass(frozen=True)
class ColumnSummary:
    """The summary of a column.

    Parameters
    ----------
    name, type : str
        The name and the Arrow type of the column.
    kind : str
        "number", "boolean", "category", "date", "time", "text", "empty", "constant" or "unsupported".
    n_missing, n_distinct : int
        Number of rows without a value and of distinct known values (0 for unsupported types).
    low, high : int, float, str or None
        The smallest and the largest finite number; the first and the last date, as text.
    mean : float or None
        The mean of the finite numbers; for booleans, the share of true.
    top : tuple of (str, int)
        The most frequent categories, at most 5, with their numbers of rows.
    histogram : tuple of int
        Counts of the finite numbers in 12 bins of equal width from low to high.
    example : str
        The first known value, shortened.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import describe
    >>> summary = describe(pa.table({"hue": ["red", "blue", "red", None]})).columns[0]
    >>> summary.kind, summary.n_missing, summary.top
    ('category', 1, (('red', 2), ('blue', 1)))
    """

    name: str
    type: str
    kind: str
    n_missing: int
    n_distinct: int
    low: int | float | str | None = None
    high: int | float | str | None = None
    mean: float | None = None
    top: tuple[tuple[str, int], ...] = ()
    histogram: tuple[int, ...] = ()
    example: str = ""


@dataclass(frozen=True)
class TableSummary:
    """The summary of a table, column by column.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    columns : tuple of ColumnSummary
        The columns, in the order of the table.

    Examples
    --------
    >>> TableSummary(3, ()).to_dict()
    {'n_rows': 3, 'columns': []}
    """

    n_rows: int
    columns: tuple[ColumnSummary, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as lists, texts, numbers and dictionaries, ready for JSON."""
        content: dict[str, Any] = to_plain(self)
        return content


def describe(table: pa.Table | TypedTable) -> TableSummary:
    """Summarise a table.

    Parameters
    ----------
    table : pyarrow.Table or TypedTable
        Any table, for example a result of `read_data`.

    Returns
    -------
    TableSummary
        A ColumnSummary for each column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import describe
    >>> summary = describe(pa.table({"age": [20, 30, None]}))
    >>> summary.n_rows, summary.columns[0].mean, summary.columns[0].histogram
    (3, 25.0, (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    """
    typed = TypedTable.of(table)
    return TableSummary(typed.num_rows, tuple(_describe_column(typed, name) for name in typed.column_names))


def _describe_column(table: TypedTable, name: str) -> ColumnSummary:
    column = classify_values(table.values(name))
    known = column.values.drop_null()
    facts: dict[str, Any] = {"n_distinct": 0}
    if len(known):
        value = known[0].as_py()
        text = str(value).lower() if isinstance(value, bool) else str(value)
        facts["example"] = format_value(text, 60)[1:-1]
        if column.base != "unsupported":
            facts |= {"n_distinct": n_distinct(known)} | _FACTS[column.base](known)
    kind = str(table.table[name].type)
    return ColumnSummary(name, kind, column.kind, n_missing=column.values.null_count, **facts)


def _numbers(known: pa.ChunkedArray) -> dict[str, Any]:
    numbers = known.to_numpy()
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return {}
    low, high = finite.min().item(), finite.max().item()
    return {"low": low, "high": high, "mean": _mean(finite), "histogram": histogram(finite)}


def _mean(finite: NDArray[Any]) -> float:
    """Return the mean, also of numbers whose sum overflows."""
    largest = max(abs(float(finite.min())), abs(float(finite.max())))
    if largest > 1e300:
        return float(np.mean(finite / largest) * largest)
    return float(np.mean(finite, dtype=np.float64))


def histogram(finite: NDArray[Any]) -> tuple[int, ...]:
    """Count numbers in 12 bins of equal width from the smallest to the largest.

    >>> histogram(np.array([0.0, 0.1, 12.0]))
    (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    """
    numbers = finite.astype(np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(high - low):  # the difference overflows
        numbers, low, high = numbers / 4, low / 4, high / 4
    if not high > low:
        return (len(numbers), *([0] * (_BINS - 1)))
    bins = np.minimum((numbers - low) / (high - low) * _BINS, _BINS - 1).astype(np.int64)
    return tuple(np.bincount(bins, minlength=_BINS).tolist())


def _dates(known: pa.ChunkedArray) -> dict[str, Any]:
    ends = pc.min_max(known)
    low, high = (str(ends[key]).removesuffix(" 00:00:00") for key in ("min", "max"))
    return {"low": low, "high": high}


def _top(known: pa.ChunkedArray) -> tuple[tuple[str, int], ...]:
    """Return the most frequent values as texts; equally frequent ones in the order of their texts."""
    codes = encode_categories(known)
    counts = np.bincount(codes.indices.drop_null().to_numpy(), minlength=len(codes.dictionary))
    texts = codes.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=lambda code: (-counts[code], texts[code]))
    return tuple((texts[code], int(counts[code])) for code in order[:_TOP])


_FACTS: dict[str, Callable[[pa.ChunkedArray], dict[str, Any]]] = {
    "number": _numbers,
    "boolean": lambda known: {"mean": float(pc.mean(known).as_py()), "top": _top(known)},
    "date": _dates,
    "time": _dates,
    "category": lambda known: {"top": _top(known)},
    "text": lambda _: {},
}
