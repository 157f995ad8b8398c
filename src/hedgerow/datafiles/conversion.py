"""Convert columns of any file to the feature types that a recipe names: numbers, booleans, dates, categories.

A date becomes numbers that trees can split: year, month, day, weekday, hour, and days since 1970. Dates are
timestamps in microseconds without a time zone; dates with a zone are converted to UTC. `weekday` counts from
0, Monday. `days` are whole numbers if no date has a time of day, otherwise with the fraction of the day.

A category is a text with one spelling, whatever type a file stores it in. A column of the texts 1, 2 and x is
text, but a later file without the x has integers. Both must give the same categories: 1.0 and 1 are "1", True
is "true", 2024-05-17T00:00 is "2024-05-17". Texts with leading zeros are not numbers and stay unchanged.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.column_types import can_be_category, is_text, plain_numbers
from hedgerow.datafiles.date_texts import guess_format, parse_dates
from hedgerow.datafiles.errors import DataFileError, format_value, one_line
from hedgerow.datafiles.inference import AMONG_NUMBERS, clean_text, infer_column, infer_type
from hedgerow.datafiles.number_texts import read_numbers

PARTS = ("year", "month", "day", "weekday", "hour", "days")  # in this order
_MICROSECONDS = 86_400_000_000  # of a day
_NUMBER = re.compile(r"[+-]?(?!0\d)(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d)(:\d\d)?(:\d\d)?(?:\.(\d{1,9}))?Z?", re.ASCII)
_DATE = r"^\d{4}-\d\d-\d\d([T ].*)?$"
_PLURALS = {"number": "numbers", "boolean": "true or false", "date": "dates", "time": "times of day"}


# --- dates


def to_timestamps(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert dates and timestamps of any unit and zone to timestamps in microseconds, UTC.

    >>> import datetime
    >>> to_timestamps(pa.chunked_array([[datetime.date(2024, 5, 17)]]), "born").type
    TimestampType(timestamp[us])
    """
    kind = values.type
    try:
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            values = values.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        safe = not (pa.types.is_timestamp(kind) and kind.unit == "ns")  # nanoseconds are cut
        return values.cast(pa.timestamp("us"), safe=safe)
    except pa.ArrowInvalid as error:
        raise DataFileError(
            f"column {format_value(name)} holds dates out of range ({one_line(error)})"
        ) from error


def date_parts(moments: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the parts of a date that become features; `hour` only if a date has a time of day.

    >>> import datetime
    >>> date_parts(to_timestamps(pa.chunked_array([[datetime.date(2024, 5, 17)]]), "born"))
    ('year', 'month', 'day', 'weekday', 'days')
    """
    has_times = pc.any(pc.not_equal(moments, pc.floor_temporal(moments, unit="day"))).as_py()
    return PARTS if has_times else tuple(part for part in PARTS if part != "hour")


def expand_dates(moments: pa.ChunkedArray, parts: tuple[str, ...]) -> list[pa.ChunkedArray]:
    """Return one float64 column for each part of a date.

    >>> import datetime
    >>> moments = to_timestamps(pa.chunked_array([[datetime.date(1970, 1, 2)]]), "born")
    >>> [column.to_pylist() for column in expand_dates(moments, ("year", "weekday", "days"))]
    [[1970.0], [4.0], [1.0]]
    """
    columns = []
    for part in parts:
        if part == "days":
            since = moments if "hour" in parts else pc.floor_temporal(moments, unit="day")
            column = pc.divide(since.cast(pa.int64()).cast(pa.float64(), safe=False), float(_MICROSECONDS))
        else:
            column = getattr(pc, "day_of_week" if part == "weekday" else part)(moments).cast(pa.float64())
        columns.append(column)
    return columns


# --- categories


def canonical_text(value: str) -> str:
    """Return the canonical spelling of a category.

    >>> [canonical_text(value) for value in ("1.0", "+5", "01", "TRUE", " red ", "2024-05-17T00:00", "1e400")]
    ['1', '5', '01', 'true', 'red', '2024-05-17', '1e400']
    """
    value = value.strip()
    if value[:1] in "+-.0123456789" and _NUMBER.fullmatch(value):
        if _INTEGER.fullmatch(value):
            return str(int(value))
        number = float(value)
        if not math.isfinite(number):
            return value
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if value.lower() in ("true", "false"):
        return value.lower()
    moment = _MOMENT.fullmatch(value)
    if moment:
        day, hour, minute, second, fraction = moment.groups(default="")
        time = f"{hour}{minute or ':00'}{second or ':00'}"
        fraction = fraction.rstrip("0")
        whole = f"{day} {time}.{fraction}" if fraction else f"{day} {time}"
        return whole.removesuffix(" 00:00:00")
    return value


def encode_categories(column: pa.ChunkedArray, *, cleaned: bool = False) -> pa.DictionaryArray:
    """Encode a column whose type can_be_category as dictionary<string> of canonical spellings.

    `cleaned` states that texts have no outer spaces and are null where missing.

    >>> encode_categories(pa.chunked_array([[1.0, 2.5, None]])).to_pylist()
    ['1', '2.5', None]
    """
    if is_text(column.type) and not cleaned:
        column = clean_text(column)
    if pa.types.is_floating(column.type):  # decimals are converted below, which rounds correctly
        column = plain_numbers(column)
    if pa.types.is_null(column.type):
        return pa.DictionaryArray.from_arrays(pa.nulls(len(column), pa.int32()), pa.array([], pa.string()))
    encoded = column.dictionary_encode()  # unchanged if the type is dictionary already
    encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # the result for zero chunks in some versions of pyarrow
        encoded = pa.concat_arrays(encoded.chunks)
    texts = _texts(encoded.dictionary)
    new_codes: dict[str, int] = {}
    # the new code of each old code, -1 for missing
    table = np.array(
        [-1 if text is None else new_codes.setdefault(text, len(new_codes)) for text in texts] or [-1],
        np.int32,
    )
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    new = np.where(codes >= 0, table[codes], np.int32(-1))
    return pa.DictionaryArray.from_arrays(pa.array(new, mask=new < 0), pa.array(list(new_codes), pa.string()))


def _texts(values: pa.Array) -> list[str | None]:
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):  # of a dictionary, NaN too
        plain = [
            None if value is None or math.isnan(value) else repr(float(value)) for value in values.to_pylist()
        ]
    else:
        plain = values.cast(pa.string()).to_pylist()
    return [None if text is None or not text.strip() else canonical_text(text) for text in plain]


# --- columns of a recipe


def read_texts(column: pa.ChunkedArray, planned: Any, missing: Sequence[str]) -> pa.ChunkedArray:
    """Convert texts as a `PlannedColumn` states; texts that do not fit stay texts, except for dates.

    `missing` are further markers of missing values.
    """
    if planned.kind == "category":
        return clean_text(column, missing, planned.kept)
    if planned.kind != "date" or not planned.formats:
        values = infer_column(column, decimal=planned.decimal or None, missing=missing).values
        if planned.decimal == "," and is_text(values.type):  # 3.14 is not a number in such a column
            raise _kind_error(values, planned.name, "number", _first_row(values, _is_decimal_comma_number))
        return values
    texts = clean_text(column, [*missing, *AMONG_NUMBERS], ())
    values = parse_dates(texts, planned.formats)
    if values is None:  # in another form, but with the day or the month first as in training
        day_first = any(re.search("%d.*%m", form) for form in planned.formats)
        values = infer_column(texts, missing=missing, day_first=day_first).values
        if is_text(values.type):
            is_date = partial(_is_date, formats=planned.formats, day_first=day_first)
            raise _kind_error(texts, planned.name, "date", _first_row(texts, is_date))
    return values


def digits_as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whole numbers as texts; other columns unchanged.

    >>> digits_as_texts(pa.chunked_array([[20240517.0, None]])).to_pylist()
    ['20240517', None]
    """
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        return column
    try:
        return plain_numbers(column).cast(pa.int64()).cast(pa.string())
    except pa.ArrowInvalid:
        return column


def _first_row(texts: pa.ChunkedArray, is_valid: Callable[[str], bool]) -> int | None:
    """Return the row of the first text that is not valid."""
    for text in pc.unique(texts).drop_null().to_pylist():
        if not is_valid(text):
            return int(pc.index(texts, pa.scalar(text, texts.type)).as_py())
    return None


def _is_decimal_comma_number(text: str) -> bool:
    return read_numbers(pa.chunked_array([[text]]), ",") is not None


def _is_date(text: str, formats: Sequence[str], *, day_first: bool) -> bool:
    guess = guess_format(text, day_first=day_first)
    return parse_dates(pa.chunked_array([[text]]), [*formats, *([guess] if guess else [])]) is not None


def to_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert numbers, booleans and texts of numbers to float64, null where missing.

    The type of the column must have been inferred, here and in the functions below.

    >>> to_numbers(infer_type(pa.chunked_array([["1", " 2.5", "NA"]])), "age").to_pylist()
    [1.0, 2.5, None]
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_float64(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64())
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return values.cast(pa.float64(), safe=False)  # unsafe: integers beyond 2**53 are rounded
    if is_text(kind):
        try:  # 01234, which stays text when types are inferred
            return values.cast(pa.float64())
        except pa.ArrowInvalid:
            raise _kind_error(values, name, "number", _first_row(values, _is_float)) from None
    raise _kind_error(values, name, "number")


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_booleans(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert booleans, 0 and 1, and texts of true and false to booleans, null where missing.

    >>> to_booleans(pa.chunked_array([[1, 0, None]]), "smoker").to_pylist()
    [True, False, None]
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return values.cast(pa.bool_())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = plain_numbers(to_numbers(values, name))
        fits = pc.fill_null(pc.or_(pc.equal(numbers, 0.0), pc.equal(numbers, 1.0)), fill_value=True)
        if pc.all(fits).as_py() is not False:
            return pc.equal(numbers, 1.0)
        raise _kind_error(values, name, "boolean", pc.index(fits, value=False).as_py())
    if is_text(kind):
        known = pc.is_in(pc.utf8_lower(values), value_set=pa.array(["true", "false", "0", "1"]))
        fits = pc.or_(known, pc.is_null(values))
        raise _kind_error(values, name, "boolean", max(pc.index(fits, value=False).as_py(), 0))
    raise _kind_error(values, name, "boolean")


def to_minutes(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert times of day to minutes since midnight, float64, null where missing.

    >>> to_minutes(infer_type(pa.chunked_array([["14:05", "00:00:30", None]])), "start").to_pylist()
    [845.0, 0.5, None]
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_null(kind):
        return values.cast(pa.float64())
    if pa.types.is_time(kind):
        microseconds = values.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return pc.divide(microseconds.cast(pa.float64()), 60e6)
    row = _first_row(values, _is_time) if is_text(kind) else None
    raise _kind_error(values, name, "time", row)


def _is_time(text: str) -> bool:
    return bool(pa.types.is_time(infer_type(pa.chunked_array([[text]])).type))


def to_dates(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert dates to timestamps in microseconds, null where missing.

    >>> to_dates(infer_type(pa.chunked_array([["2024-05-17", None]])), "born").null_count
    1
    """
    values = _decoded(column)
    kind = values.type
    if pa.types.is_null(kind):
        return values.cast(pa.timestamp("us"))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return to_timestamps(values, name)
    if is_text(kind):
        fits = pc.fill_null(pc.match_substring_regex(values, _DATE), fill_value=True)
        raise _kind_error(values, name, "date", max(int(pc.index(fits, value=False).as_py()), 0))
    raise _kind_error(values, name, "date")


def to_categories(column: pa.ChunkedArray, name: str, *, cleaned: bool = False) -> pa.DictionaryArray:
    """Convert a column to categories of canonical spelling, dictionary<string>.

    >>> to_categories(pa.chunked_array([[1, 2]]), "zone").to_pylist()
    ['1', '2']
    """
    if not can_be_category(column.type):
        raise DataFileError(
            f"column {format_value(name)} has the type {format_value(column.type)}; it cannot be categories"
        )
    return encode_categories(column, cleaned=cleaned)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a dictionary column with their inferred type; other columns unchanged."""
    if pa.types.is_dictionary(column.type):
        return infer_type(column.cast(column.type.value_type))
    return column


def _kind_error(values: pa.ChunkedArray, name: str, kind: str, row: int | None = None) -> DataFileError:
    """Return the error for a column whose values do not have the planned kind, with an example."""
    if row is None:
        row = int(pc.index(pc.is_valid(values), value=True).as_py())
    return DataFileError(
        f"column {format_value(name)} must hold {_PLURALS[kind]}, as in training, but row {row + 1} holds "
        f"{format_value(values[row].as_py())}"
    )
