"""A table in a few numbers a column: what a report shows and a user checks before anything is fitted."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.datafiles.errors import shown_value
from hedgerow.datafiles.kinds import look_at, n_distinct
from hedgerow.datafiles.spelling import as_categories

_BINS = 12
_TOP = 5


@dataclass(frozen=True)
class ColumnSummary:
    """What a column holds.

    Parameters
    ----------
    name, type : str
        Its name, and its Arrow type as text.
    kind : str
        "number", "boolean", "category", "date", "text", "empty", "constant" or "unsupported".
    n_missing, n_distinct : int
        Rows without a value; known values that differ (0 for unsupported types).
    low, high : int, float, str or None
        The least and the greatest finite number; the first and the last date, as text.
    mean : float or None
        Of the finite numbers; of truth values, the share of true.
    top : tuple of (str, int)
        The most frequent categories, at most 5, with the rows they have.
    histogram : tuple of int
        Of the finite numbers, in 12 bins of equal width from low to high.
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
    """What a table holds, column by column.

    Parameters
    ----------
    n_rows : int
        How many rows it has.
    columns : tuple of ColumnSummary
        In the order of the table.

    Examples
    --------
    >>> TableSummary(3, ()).to_dict()
    {'n_rows': 3, 'columns': []}
    """

    n_rows: int
    columns: tuple[ColumnSummary, ...]

    def to_dict(self) -> dict[str, Any]:
        """The summary as lists, texts, numbers and dictionaries, ready for JSON."""
        columns = []
        for column in self.columns:
            content = asdict(column)
            content["top"] = [list(pair) for pair in column.top]
            content["histogram"] = list(column.histogram)
            columns.append(content)
        return {"n_rows": self.n_rows, "columns": columns}


def describe(table: pa.Table) -> TableSummary:
    """Summarise a table.

    Parameters
    ----------
    table : pyarrow.Table
        Any table; `read_data` gives one.

    Returns
    -------
    TableSummary
        With a ColumnSummary for each column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.datafiles import describe
    >>> summary = describe(pa.table({"age": [20, 30, None]}))
    >>> summary.n_rows, summary.columns[0].mean, summary.columns[0].histogram
    (3, 25.0, (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    """
    columns = zip(table.column_names, table.columns, strict=True)
    return TableSummary(table.num_rows, tuple(_described(name, column) for name, column in columns))


def _described(name: str, column: pa.ChunkedArray) -> ColumnSummary:
    look = look_at(column)
    known = look.values.drop_null()
    facts: dict[str, Any] = {}
    if len(known) and look.base != "unsupported":
        facts = _FACTS[look.base](known)
    return ColumnSummary(
        name,
        str(column.type),
        look.kind,
        look.values.null_count,
        facts.pop("n_distinct", 0),
        example=_example(known),
        **facts,
    )


def _example(known: pa.ChunkedArray) -> str:
    if not len(known):
        return ""
    value = known[0].as_py()
    text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return shown_value(text, 60)[1:-1]


def _numbers(known: pa.ChunkedArray) -> dict[str, Any]:
    facts: dict[str, Any] = {"n_distinct": n_distinct(known)}
    numbers = known.to_numpy()
    finite = numbers[np.isfinite(numbers)]
    if len(finite):
        facts |= {"low": finite.min().item(), "high": finite.max().item()}
        facts["mean"] = _mean(finite)
        facts["histogram"] = histogram(finite)
    return facts


def _mean(finite: NDArray[Any]) -> float:
    """The mean, even of numbers whose sum is out of reach."""
    largest = float(max(abs(float(finite.min())), abs(float(finite.max()))))
    return (
        float(np.mean(finite / largest) * largest)
        if largest > 1e300
        else float(np.mean(finite, dtype=np.float64))
    )


def histogram(finite: NDArray[Any]) -> tuple[int, ...]:
    """Counts in 12 bins of equal width from the least number to the greatest.

    >>> histogram(np.array([0.0, 0.1, 12.0]))
    (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    """
    numbers = finite.astype(np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(high - low):  # beyond the largest number
        numbers, low, high = numbers / 4, low / 4, high / 4
    if not high > low:
        return (len(numbers), *([0] * (_BINS - 1)))
    places = np.minimum((numbers - low) / (high - low) * _BINS, _BINS - 1).astype(np.int64)
    return tuple(np.bincount(places, minlength=_BINS).tolist())


def _truths(known: pa.ChunkedArray) -> dict[str, Any]:
    return {"n_distinct": n_distinct(known), "mean": float(pc.mean(known).as_py()), "top": _top(known)}


def _dates(known: pa.ChunkedArray) -> dict[str, Any]:
    ends = pc.min_max(known)
    texts = [str(ends[key]).removesuffix(" 00:00:00") for key in ("min", "max")]
    return {"n_distinct": n_distinct(known), "low": texts[0], "high": texts[1]}


def _categories(known: pa.ChunkedArray) -> dict[str, Any]:
    return {"n_distinct": n_distinct(known), "top": _top(known)}


def _texts(known: pa.ChunkedArray) -> dict[str, Any]:
    return {"n_distinct": n_distinct(known)}


def _top(known: pa.ChunkedArray) -> tuple[tuple[str, int], ...]:
    """The most frequent values as texts; equally frequent ones by text."""
    codes = as_categories(known)
    counts = np.bincount(codes.indices.drop_null().to_numpy(), minlength=len(codes.dictionary))
    texts = codes.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=lambda place: (-counts[place], texts[place]))
    return tuple((texts[place], int(counts[place])) for place in order[:_TOP])


_FACTS = {"number": _numbers, "boolean": _truths, "date": _dates, "category": _categories, "text": _texts}
