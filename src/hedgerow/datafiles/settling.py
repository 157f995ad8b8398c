"""A column of texts becomes what it holds: integers, numbers, truth values, dates, or text after all.

The whole column decides, never a part of it. Rules:

- Outer spaces do not count. Empty, NA, N/A, NaN, null, None and ? are missing in any column (in a column of
  two-letter codes NA is a code: Namibia's); - is missing among numbers and dates only.
- Integers that fit 64 bits, then numbers; if any has a leading zero (01234: a postal code), the column stays
  text, for a number would lose it.
- true and false in any capitals are truth values.
- 2024-05-17 and 2024-05-17 12:30[:59[.123456]], with T or a space, are dates; with Z or an offset, in UTC.
"""

import pyarrow as pa
import pyarrow.compute as pc

_MARKERS = ["", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "?"]
_NA = "NA"
_DASH = "-"
_LEADING_ZERO = r"^[+-]?0[0-9xX]"  # 0x: Arrow would read 0x1F as 31
_COMMA_NUMBER = r"^[+-]?[0-9]*,?[0-9]+([eE][+-]?[0-9]+)?$"
_DECIMAL = r",([0-9]{1,2}|[0-9]{4,})([eE]|$)|^[+-]?0?,"  # a comma that cannot separate thousands
_SAMPLE = 1000  # values that tell most texts from numbers and dates
_SLICE = 1 << 13  # rows cast at once


def settle(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column of texts the type that all its values have; other columns come back as they are.

    >>> settle(pa.chunked_array([["1", "2"], [" 3", "NA"]])).to_pylist()
    [1, 2, 3, None]
    >>> settle(pa.chunked_array([["01", "2"]])).type
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
    texts = _without_markers(pc.utf8_trim_whitespace(column))
    undashed = _without(texts, [_NA, _DASH])
    if undashed.null_count < len(undashed) and _typed(undashed.drop_null()[:_SAMPLE]) is not None:
        typed = _typed(undashed)
        if typed is not None:
            return typed
    texts = _without_na(texts)
    return texts if texts.null_count < len(texts) else pa.chunked_array([pa.nulls(len(texts))])


def with_decimal_commas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read 3,14 as a number, in a file whose separator is no comma; other columns come back as they are.

    If every comma has three digits after it (1,234), it may separate thousands; then the column stays text.

    >>> with_decimal_commas(pa.chunked_array([["3,14", "2", "-"]])).to_pylist()
    [3.14, 2.0, None]
    >>> with_decimal_commas(pa.chunked_array([["1,234"]])).to_pylist()
    ['1,234']
    """
    if not is_text(column.type):
        return column
    texts = _without(column, [_NA, _DASH])
    sample = texts.drop_null()[:_SAMPLE]
    for part in (sample, texts):
        if not len(part) or pc.all(pc.match_substring_regex(part, _COMMA_NUMBER)).as_py() is not True:
            return column
    if not pc.any(pc.match_substring_regex(texts, _DECIMAL)).as_py():
        return column
    typed = _typed(pc.replace_substring(texts, ",", "."))
    return column if typed is None else typed


def settle_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts that stay texts: without outer spaces, null where missing.

    >>> settle_text(pa.chunked_array([["1", " x", "NA", ""]])).to_pylist()
    ['1', 'x', None, None]
    """
    return _without_na(_without_markers(pc.utf8_trim_whitespace(column.cast(pa.string()))))


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text of any layout.

    >>> is_text(pa.large_string()), is_text(pa.int8())
    (True, False)
    """
    view = getattr(pa.types, "is_string_view", None)  # younger than the oldest Arrow we take
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view and view(kind)))


def _without(texts: pa.ChunkedArray, markers: list[str]) -> pa.ChunkedArray:
    found = pc.is_in(texts, value_set=pa.array(markers))
    return pc.if_else(found, pa.scalar(None, pa.string()), texts)


def _without_markers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return _without(texts, _MARKERS)


def _without_na(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take NA for missing, unless all others are codes of two capitals."""
    others = pc.not_equal(texts, _NA)
    if pc.all(others).as_py():
        return texts
    codes = pc.match_substring_regex(texts, "^[A-Z]{2}$")
    if pc.all(codes).as_py() and pc.any(others).as_py():
        return texts
    return _without(texts, [_NA])


def _typed(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The column with another type, if all its texts have one."""
    texts = _in_slices(texts)
    numbers = _first(texts, (pa.int64(), pa.float64()))
    if numbers is None:
        return _first(texts, _OTHER_TYPES)
    if pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py():
        return None
    if pa.types.is_floating(numbers.type):  # "-nan" is a spelling too
        numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)
    return numbers


def _first(texts: pa.ChunkedArray, types: tuple[pa.DataType, ...]) -> pa.ChunkedArray | None:
    """The column cast to the first of these types that all texts can be cast to."""
    for kind in types:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _in_slices(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column in short chunks: a cast that fails goes on to the end of its chunk, slowly."""
    if all(len(chunk) <= _SLICE for chunk in texts.chunks):
        return texts
    slices = [
        chunk[start : start + _SLICE] for chunk in texts.chunks for start in range(0, len(chunk), _SLICE)
    ]
    return pa.chunked_array(slices, texts.type)


_OTHER_TYPES = (
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.timestamp("us", "UTC"),
)
