"""Infer the type and the kind of a column.

Types. A column of texts becomes what all its values are: integers, numbers, booleans, dates, otherwise text.

- Leading and trailing spaces are ignored. Empty, NA, N/A, NaN, null, None and ? are missing in any column
  (in a column of two-letter codes NA is a code: Namibia); - is missing in columns of numbers and dates only.
- Integers of 64 bits, then numbers. If any value has a leading zero (01234, a postal code), the column stays
  text, because a number would lose the zero.
- true and false in upper or lower case are booleans.
- 2024-05-17 and 2024-05-17 12:30[:59[.123456]], with T or a space, are dates; with Z or an offset, in UTC.

Kinds.

| kind | meaning |
|---|---|
| number, boolean, date | by type |
| category | dictionary columns; texts with few distinct values (see `is_category`) |
| text | other texts: names, comments, addresses |
| empty, constant | no known value; one value in every row |
| unsupported | lists, structures, bytes, times of day, durations |
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING = ["", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "?"]  # in any column
_NA = "NA"
_DASH = "-"
_LEADING_ZERO = r"^[+-]?0[0-9xX]"  # 0x: Arrow would read 0x1F as 31
_COMMA_NUMBER = r"^[+-]?[0-9]*,?[0-9]+([eE][+-]?[0-9]+)?$"
_DECIMAL = r",([0-9]{1,2}|[0-9]{4,})([eE]|$)|^[+-]?0?,"  # a comma that cannot separate thousands
_SAMPLE = 1000  # values that distinguish most texts from numbers and dates
_SLICE = 1 << 13  # rows cast at once
_OTHER_TYPES = (pa.bool_(), pa.date32(), *map(pa.timestamp, ("us", "ns")), pa.timestamp("us", "UTC"))
KINDS = ("number", "boolean", "category", "date", "text", "empty", "constant", "unsupported")

MOST_CATEGORIES = 1000  # distinct texts, beyond which only short codes are categories
_FEW_CATEGORIES = 20  # so few are categories even if half of the rows differ: small tables
_CODE_LENGTH = 8  # longest code: postal codes, stations, products
_SHORT_NAME = 30  # letters; the values of a small table that are longer are comments


# --- types


def infer_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column of texts the type that all its values have; other columns are returned unchanged.

    >>> infer_type(pa.chunked_array([["1", "2"], [" 3", "NA"]])).to_pylist()
    [1, 2, 3, None]
    >>> infer_type(pa.chunked_array([["01", "2"]])).type
    DataType(string)
    """
    if not is_text(column.type):
        return column
    if column.type != pa.string():
        column = column.cast(pa.string())
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    typed = _typed(column)
    if typed is not None:
        return typed
    texts = _without(pc.utf8_trim_whitespace(column), MISSING)
    undashed = _without(texts, [_NA, _DASH])
    if undashed.null_count < len(undashed) and _typed(undashed.drop_null()[:_SAMPLE]) is not None:
        typed = _typed(undashed)
        if typed is not None:
            return typed
    texts = _without_na(texts)
    return texts if texts.null_count < len(texts) else pa.chunked_array([pa.nulls(len(texts))])


def parse_decimal_commas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read 3,14 as a number, in a file whose separator is not a comma; other columns stay unchanged.

    If three digits follow every comma (1,234), commas may separate thousands, and the column stays text.

    >>> parse_decimal_commas(pa.chunked_array([["3,14", "2", "-"]])).to_pylist()
    [3.14, 2.0, None]
    >>> parse_decimal_commas(pa.chunked_array([["1,234"]])).to_pylist()
    ['1,234']
    """
    if not is_text(column.type):
        return column
    texts = _without(column, [_NA, _DASH])
    sample = texts.drop_null()[:_SAMPLE]
    for some in (sample, texts):
        if not len(some) or pc.all(pc.match_substring_regex(some, _COMMA_NUMBER)).as_py() is not True:
            return column
    if not pc.any(pc.match_substring_regex(texts, _DECIMAL)).as_py():
        return column
    typed = _typed(pc.replace_substring(texts, ",", "."))
    return column if typed is None else typed


def clean_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without leading and trailing spaces, null where missing; they stay texts.

    >>> clean_text(pa.chunked_array([["1", " x", "NA", ""]])).to_pylist()
    ['1', 'x', None, None]
    """
    return _without_na(_without(pc.utf8_trim_whitespace(column.cast(pa.string())), MISSING))


def label_values(column: pa.ChunkedArray, *, cleaned: bool = False) -> pa.ChunkedArray:
    """Return the values of a target column without dictionary, null where missing; texts stay texts.

    >>> label_values(pa.chunked_array([[1.0, float("nan")]])).to_pylist()
    [1.0, None]
    """
    if pa.types.is_dictionary(column.type):
        column, cleaned = column.cast(column.type.value_type), False
    if is_text(column.type):
        return column if cleaned else clean_text(column)
    return plain_numbers(column)


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


def _without(texts: pa.ChunkedArray, markers: list[str]) -> pa.ChunkedArray:
    found = pc.is_in(texts, value_set=pa.array(markers))
    return pc.if_else(found, pa.scalar(None, pa.string()), texts)


def _without_na(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace NA by null, unless all other values are codes of two capital letters."""
    others = pc.not_equal(texts, _NA)
    if pc.all(others).as_py():
        return texts
    codes = pc.match_substring_regex(texts, "^[A-Z]{2}$")
    if pc.all(codes).as_py() and pc.any(others).as_py():
        return texts
    return _without(texts, [_NA])


def _typed(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the column with another type, or None if not all of its texts can be converted."""
    texts = _in_slices(texts)
    numbers = _first(texts, (pa.int64(), pa.float64()))
    if numbers is None:
        return _first(texts, _OTHER_TYPES)
    if pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py():
        return None
    return plain_numbers(numbers)  # "-nan" is parsed as NaN


def _first(texts: pa.ChunkedArray, types: tuple[pa.DataType, ...]) -> pa.ChunkedArray | None:
    """Cast the column to the first of these types that all texts can be cast to."""
    for kind in types:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _in_slices(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Split the column into short chunks: a cast that fails still processes its whole chunk."""
    if all(len(chunk) <= _SLICE for chunk in texts.chunks):
        return texts
    slices = [
        chunk[start : start + _SLICE] for chunk in texts.chunks for start in range(0, len(chunk), _SLICE)
    ]
    return pa.chunked_array(slices, texts.type)


# --- kinds


class ColumnKind(NamedTuple):
    """A column with its kind."""

    kind: str  # one of KINDS
    values: pa.ChunkedArray  # of the inferred type, null where missing
    base: str  # the kind of the values, also for empty and constant columns


class TypedTable:
    """A table whose text columns are converted to their inferred types, each column once.

    Parameters
    ----------
    table : pyarrow.Table
    inferred : bool
        Whether the types of the text columns were inferred before.

    Examples
    --------
    >>> typed = TypedTable(pa.table({"age": ["1", "2"], "hue": ["red", "blue"]}))
    >>> typed.values("age").type, typed.table["age"].type
    (DataType(int64), DataType(string))
    """

    def __init__(self, table: pa.Table, *, inferred: bool = False) -> None:
        self.table = table
        self._inferred = inferred
        self._values: dict[str, pa.ChunkedArray] = {}
        self._labels: dict[str, pa.ChunkedArray] = {}

    @classmethod
    def of(cls, table: "pa.Table | TypedTable") -> "TypedTable":
        """Return a typed table; one that is typed already is returned unchanged."""
        return table if isinstance(table, TypedTable) else cls(table)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def values(self, name: str) -> pa.ChunkedArray:
        """Return a column of its inferred type."""
        if name not in self._values:
            column = self.table[name]
            self._values[name] = column if self._inferred else infer_type(column)
        return self._values[name]

    def labels(self, name: str) -> pa.ChunkedArray:
        """Return a target column without dictionary, null where missing; texts stay texts."""
        if name not in self._labels:
            self._labels[name] = label_values(self.table[name], cleaned=self._inferred)
        return self._labels[name]

    def filter(self, rows: pa.ChunkedArray) -> "TypedTable":
        """Return the rows for which a boolean array is true."""
        kept = TypedTable(self.table.filter(rows), inferred=self._inferred)
        kept._values = {name: values.filter(rows) for name, values in self._values.items()}
        kept._labels = {name: values.filter(rows) for name, values in self._labels.items()}
        return kept


def classify_values(column: pa.ChunkedArray) -> ColumnKind:
    """Find the kind of a column whose type was inferred.

    >>> classify_values(infer_type(pa.chunked_array([["1", "2", None]]))).kind
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
            return _without(pc.utf8_trim_whitespace(values.cast(pa.string())), [""]), "category"
        return plain_numbers(values), "category" if can_be_category(values.type) else "unsupported"
    if is_text(column.type):
        return column, "category" if is_category(column) else "text"
    return plain_numbers(column), _base(column.type)


def can_be_category(kind: pa.DataType) -> bool:
    """Return whether values of a type can be categories.

    >>> can_be_category(pa.int8()), can_be_category(pa.list_(pa.int8()))
    (True, False)
    """
    return _base(kind.value_type if pa.types.is_dictionary(kind) else kind) != "unsupported"


def _base(kind: pa.DataType) -> str:
    """Return the kind of a type; "text" for all texts."""
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
    if len(distinct) <= MOST_CATEGORIES and 2 * len(distinct) <= known:
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
