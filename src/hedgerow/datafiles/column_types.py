"""The kind of a column whose type is known.

| kind | meaning |
|---|---|
| number, boolean, date, time | by type; a time is one of day |
| category | dictionary columns; texts with few distinct values (see `is_category`) |
| text | other texts: names, comments, addresses |
| empty, constant | no known value; one value in every row |
| unsupported | lists, structures, bytes, durations |
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KINDS = ("number", "boolean", "category", "date", "time", "text", "empty", "constant", "unsupported")
MAX_CATEGORIES = 1000  # distinct texts, beyond which only short codes are categories
_FEW_CATEGORIES = 20  # up to this number they are categories even if half of the rows differ: small tables
_CODE_LENGTH = 8  # longest code: postal codes, stations, products
_MIN_NUMBERED = 50  # rows, from which identifiers are recognised
_NUMBERED_SHARE = 0.99  # distinct values per row
_LONG_NUMBER = 10_000
_UNIFORM_DISTANCE = 1.63  # of Kolmogorov's test at the level 0.01, times the square root of the rows
_IDENTIFIER_NAME = re.compile(
    r"(?:.*[\W_])?(?:id|key|nr|no|number|code|uid|account|customer|client|patient)|.*[a-z](?:ID|Id|Nr|No|Key)",
    re.ASCII,
)
_SHORT_NAME = 30  # letters; the values of a small table that are longer are comments


def plain_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimals and half-precision numbers as float64, and null for NaN; other columns unchanged.

    >>> plain_numbers(pa.chunked_array([[1.0, float("nan")]])).to_pylist()
    [1.0, None]
    """
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text of any layout.

    >>> is_text(pa.large_string()), is_text(pa.int8())
    (True, False)
    """
    view = getattr(pa.types, "is_string_view", None)  # missing in the oldest supported pyarrow
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view and view(kind)))


class InferredColumn(NamedTuple):
    """A column of its inferred type, and how its texts were written."""

    values: pa.ChunkedArray  # null where missing
    missing: Mapping[str, int] = {}  # markers that were replaced, with their numbers of rows
    kept: tuple[str, ...] = ()  # markers that are values of this column: NA among codes of two letters
    decimal: str = ""  # of numbers: "." or ","; "" if no value shows it
    thousands: str = ""  # the sign between groups of digits, or ""
    signs: tuple[str, ...] = ()  # removed from numbers: a currency, "%", "( )"
    formats: tuple[str, ...] = ()  # of dates, for strptime; () for those of ISO 8601
    order: str = ""  # "day" or "month" if it is certain which comes first
    ambiguous: str = ""  # "number" or "date" if the texts could be read in another way
    is_default: bool = False  # whether nothing in the file decided how to read an ambiguous column
    example: str = ""  # the first text


class ColumnKind(NamedTuple):
    """A column with its kind."""

    kind: str  # one of KINDS
    values: pa.ChunkedArray  # of the inferred type, null where missing
    base: str  # the kind of the values, also for empty and constant columns


def classify_values(column: pa.ChunkedArray) -> ColumnKind:
    """Find the kind of a column whose type was inferred.

    >>> classify_values(pa.chunked_array([[1, 2, None]])).kind
    'number'
    >>> classify_values(pa.chunked_array([["red", "blue", "red", "red"]])).kind
    'category'
    """
    values, base = _base_values(column)
    if values.null_count == len(values):
        return ColumnKind("empty", values, base)
    if values.null_count == 0 and base != "unsupported" and len(values) > 1 and _is_constant(values):
        return ColumnKind("constant", values, base)
    return ColumnKind(base, values, base)


def _base_values(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
    """Return the values without dictionary, null where missing, and their kind."""
    if pa.types.is_dictionary(column.type):
        values = column.cast(column.type.value_type)
        if is_text(values.type):
            texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
            return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts), "category"
        return plain_numbers(values), "category" if can_be_category(values.type) else "unsupported"
    if is_text(column.type):
        return column, "category" if is_category(column) else "text"
    return plain_numbers(column), _base(column.type)


def can_be_category(kind: pa.DataType) -> bool:
    """Return whether values of a type can be categories.

    >>> can_be_category(pa.int8()), can_be_category(pa.list_(pa.int8()))
    (True, False)
    """
    return _base(kind.value_type if pa.types.is_dictionary(kind) else kind) not in ("unsupported", "time")


def _base(kind: pa.DataType) -> str:
    """Return the kind of a type; "text" for all texts."""
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    if pa.types.is_time(kind):
        return "time"
    if is_text(kind):
        return "text"
    return "empty" if pa.types.is_null(kind) else "unsupported"


def _is_constant(values: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        return bool(ends["min"] == ends["max"])
    return bool(pc.all(pc.equal(values, values[0])).as_py())


def is_category(texts: pa.ChunkedArray) -> bool:
    """Return whether texts are categories rather than free text.

    They are if there are at most 1,000 distinct texts and at most half as many as known rows; in a small
    table, if there are at most 20 distinct short texts and at least two rows share one; and if they are short
    codes (at most 8 characters, no spaces, with a digit or all capitals), at most half as many as known rows.

    >>> is_category(pa.chunked_array([["a", "b", "a", "b"]]))
    True
    >>> is_category(pa.chunked_array([["Ann Lee", "Bob Ray", "Cy Orr"]]))
    False
    """
    known = len(texts) - texts.null_count
    distinct = pc.unique(texts).drop_null()
    if len(distinct) <= 1 and texts.null_count > 0:
        return len(distinct) == 1  # "Y" or nothing
    longest = pc.max(pc.utf8_length(distinct)).as_py()
    if len(distinct) <= MAX_CATEGORIES and 2 * len(distinct) <= known:
        return True
    if len(distinct) <= _FEW_CATEGORIES and len(distinct) < known and longest <= _SHORT_NAME:
        return True
    if longest > _CODE_LENGTH or 2 * len(distinct) > known:
        return False
    return bool(pc.all(pc.match_substring_regex(distinct, r"^(\S*\d\S*|[A-Z]+)$")).as_py())


def n_distinct(values: pa.ChunkedArray) -> int:
    """Count the distinct known values.

    >>> n_distinct(pa.chunked_array([[1, 1, None, 2]]))
    2
    """
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def counts_rows(values: pa.ChunkedArray) -> bool:
    """Return whether integers look like row numbers: none missing, increasing by less than 2 on average.

    >>> counts_rows(pa.chunked_array([list(range(10, 30))]))
    True
    """
    if not pa.types.is_integer(values.type) or values.null_count or len(values) < 20:
        return False
    numbers = values.to_numpy()
    rises = numbers[1:] > numbers[:-1]
    return bool(rises.all()) and float(np.mean(numbers[1:] - numbers[:-1])) < 2


def numbers_rows(name: str, values: pa.ChunkedArray) -> bool:
    """Return whether integers look like identifiers in any order.

    They are long and almost all different, and the column has the name of an identifier, or they are spread
    evenly between the lowest and the highest, as measured quantities are not.

    >>> numbers_rows("x", pa.chunked_array([[1_000_003 + 7919 * (37 * row % 600) for row in range(600)]]))
    True
    >>> numbers_rows("x", pa.chunked_array([[100_000 + row**3 for row in range(600)]]))
    False
    """
    known = values.drop_null()
    if not pa.types.is_integer(values.type) or len(known) < _MIN_NUMBERED:
        return False
    if n_distinct(known) < _NUMBERED_SHARE * len(known):
        return False
    numbers = np.sort(known.to_numpy()).astype(np.float64)
    if numbers[0] < 0 or numbers[-1] < _LONG_NUMBER:
        return False
    if _IDENTIFIER_NAME.fullmatch(name):
        return True
    shares = (numbers - numbers[0]) / (numbers[-1] - numbers[0])
    ranks = np.arange(len(numbers)) / (len(numbers) - 1)
    return bool(np.max(np.abs(shares - ranks)) < _UNIFORM_DISTANCE / np.sqrt(len(numbers)))
