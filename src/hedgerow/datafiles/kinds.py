"""What a column is: a number, a truth value, a date, a category, text, or of no use.

| kind | what it is |
|---|---|
| number, boolean, date | by type; texts that all are such are settled first |
| category | dictionary columns; texts with few values (see `is_category`) |
| text | other texts: names, comments, addresses |
| empty, constant | nothing known; one value in every row |
| unsupported | lists, structures, bytes, times of day, durations |
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.settling import is_text, settle

KINDS = ("number", "boolean", "category", "date", "text", "empty", "constant", "unsupported")

MOST_CATEGORIES = 1000  # distinct texts, beyond which only short codes are categories
_FEW_CATEGORIES = 20  # so few are categories even if half of the rows differ: small tables
_CODE_LENGTH = 8  # longest code: postal codes, stations, products
_SHORT_NAME = 30  # letters; the values of a small table that are longer are comments


class Look(NamedTuple):
    """A column after a look at it."""

    kind: str  # one of KINDS
    values: pa.ChunkedArray  # settled: of one type, null where missing
    base: str  # the kind without regard to empty and constant


def look_at(column: pa.ChunkedArray) -> Look:
    """Settle a column and say what it is.

    >>> look_at(pa.chunked_array([["1", "2", None]])).kind
    'number'
    >>> look_at(pa.chunked_array([["red", "blue", "red", "red"]])).kind
    'category'
    """
    values, base = _settled(column)
    if values.null_count == len(values):
        return Look("empty", values, base)
    if values.null_count == 0 and base != "unsupported" and len(values) > 1 and _is_constant(values):
        return Look("constant", values, base)
    return Look(base, values, base)


def _settled(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = column.cast(kind.value_type)
        if is_text(values.type):
            texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
            return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts), "category"
        return _settled(values)[0], "category" if _base(values.type) != "unsupported" else "unsupported"
    values = settle(column)
    kind = values.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        values = values.cast(pa.float64())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if is_text(values.type):
        return values, "category" if is_category(values) else "text"
    return values, _base(kind)


def _base(kind: pa.DataType) -> str:
    """The kind of a type that is not text."""
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    if is_text(kind):
        return "text"
    return "empty" if pa.types.is_null(kind) else "unsupported"


def _is_constant(values: pa.ChunkedArray) -> bool:
    first = values[0]
    if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        return bool(ends["min"] == ends["max"])
    return bool(pc.all(pc.equal(values, first)).as_py())


def is_category(texts: pa.ChunkedArray) -> bool:
    """Whether texts are categories rather than free text.

    They are if at most 1,000 differ and these are at most half of the known rows; in a small table, if at
    most 20 short ones differ and not all of them; and if they are short codes (at most 8 characters, no
    spaces, with a digit or all capitals), of which at most half of the rows differ.

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
    if len(distinct) <= MOST_CATEGORIES and 2 * len(distinct) <= known:
        return True
    if len(distinct) <= _FEW_CATEGORIES and len(distinct) < known and longest <= _SHORT_NAME:
        return True
    if longest > _CODE_LENGTH or 2 * len(distinct) > known:
        return False
    return bool(pc.all(pc.match_substring_regex(distinct, r"^(\S*\d\S*|[A-Z]+)$")).as_py())


def n_distinct(values: pa.ChunkedArray) -> int:
    """How many known values differ.

    >>> n_distinct(pa.chunked_array([[1, 1, None, 2]]))
    2
    """
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def counts_rows(values: pa.ChunkedArray) -> bool:
    """Whether integers look like the numbers of rows: none missing, each one more than the last.

    >>> counts_rows(pa.chunked_array([list(range(10, 30))]))
    True
    """
    if not pa.types.is_integer(values.type) or values.null_count or len(values) < 20:
        return False
    numbers = values.to_numpy()
    rises = numbers[1:] > numbers[:-1]
    return bool(rises.all()) and float(np.mean(numbers[1:] - numbers[:-1])) < 2
