"""Infer the types of columns of texts: integers, numbers, booleans, dates, otherwise text.

A column becomes what all its values are.

- Leading and trailing spaces are ignored. Empty values and the markers of `ANYWHERE` are missing in any
  column (in a column of two-letter codes NA is a code: Namibia), those of `AMONG_NUMBERS` in columns of
  numbers and dates only.
- Integers of 64 bits, then numbers. If any value has a leading zero (01234, a postal code), the column
  stays text, because a number would lose the zero. Numbers in other forms, such as 1.234,50 €: see
  `number_texts`.
- true and false in upper or lower case are booleans.
- Whole numbers such as 20240517 are dates if all values are, and the name says so or there are ten of them.
- 14:05, 14:05:30 and 2:05 PM are times of day.
- 2024-05-17 and 2024-05-17 12:30[:59[.123456]] are dates, in UTC with an offset. Other forms: see
  `date_texts`.

Where a column leaves open how it was written (1,234 or 3/4/2024), the other columns of the file decide; if
they do not either, the separator of the file: with a semicolon, decimal commas and the day before the
month.
"""

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.column_types import InferredColumn, is_text, plain_numbers
from hedgerow.datafiles.date_texts import detect_dates, parse_dates
from hedgerow.datafiles.errors import DataFileError, format_value
from hedgerow.datafiles.findings import ReadOptions
from hedgerow.datafiles.number_texts import has_groups_of_three, read_numbers

ANYWHERE = (
    *("", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "?", "<NA>", "\\N", "(null)"),
    *("#N/A", "#N/A N/A", "#NA", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"),
    *("#NV", "#WERT!", "#BEZUG!", "#ZAHL!", "#NOM?", "#NOMBRE!", "#VALEUR!", "#¡VALOR!", "#VALOR!"),
    *("#" * width for width in range(2, 16)),  # numbers wider than their column
)
NA = "NA"
AMONG_NUMBERS = (
    *("-", "--", "—", "–", ".", "..", "na", "N.A.", "n.a.", "nil", "k.A.", "k. A."),
    *("0000-00-00", "0000-00-00 00:00:00", "00.00.0000", "00/00/0000"),  # dates of databases
)
_LEADING_ZERO = r"^[+-]?0[0-9xX]"  # 0x: Arrow would read 0x1F as 31
_DAY_NUMBERS = (19_000_101, 20_991_231)
_DAY_NUMBER_FORMAT = "%Y%m%d"
_MIN_DAY_NUMBERS = 10  # distinct dates, of which one in 28 would be valid by chance
_DAY_NAME = re.compile(
    r"(?:.*[\W_\d])?(?:date|datum|day|tag|fecha|data|jour|dt)(?:[\W_\d].*)?|.*(?:date|datum)", re.IGNORECASE
)
_SAMPLE = 1000  # values that distinguish most texts from numbers and dates
_TIME = r"^\d{1,2}:\d\d"
_ROWS_PER_CAST = 1 << 13
_OTHER_TYPES = (pa.bool_(), pa.date32(), *map(pa.timestamp, ("us", "ns")), pa.timestamp("us", "UTC"))


def infer_columns(
    table: pa.Table, options: ReadOptions | None = None, *, comma_file: bool = False
) -> dict[str, InferredColumn]:
    """Infer the types of all columns of texts of a file.

    Parameters
    ----------
    table : pyarrow.Table
        Columns that are not text are left out of the result.
    options : ReadOptions, optional
    comma_file : bool
        Whether decimal commas are likely, because the separator is a semicolon.

    Examples
    --------
    >>> table = pa.table({"price": ["1,234", "5,678"], "share": ["0,5", "0,25"]})
    >>> found = infer_columns(table)  # the second column shows that commas are decimal
    >>> found["price"].values.to_pylist()
    [1.234, 5.678]
    """
    options = options or ReadOptions()
    known: dict[str, Any] = {"decimal": options.decimal, "missing": options.missing}
    found = {
        name: infer_column(column, name, date_format=options.date_formats.get(name), **known)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if is_text(column.type)
    }
    found = {name: _as_day_numbers(column, name) for name, column in found.items()}
    ambiguous = [name for name, column in found.items() if column.ambiguous == "number"]
    commas = any(column.decimal == "," and not column.ambiguous for column in found.values())
    if not options.decimal and (ambiguous or commas or comma_file):
        plain = [name for name, column in found.items() if _is_plain_float(column)]
        # whose points may separate thousands
        grouped = [name for name in plain if has_groups_of_three(_known_texts(table[name], found[name]))]
        points = len(grouped) < len(plain)
        points |= any(column.decimal == "." and not column.ambiguous for column in found.values())
        decided = commas != points
        decimal = "," if (commas and not points) or (not decided and comma_file) else "."
        if decimal == ",":
            ambiguous += grouped
        for name in ambiguous:
            again = infer_column(table[name], name, decimal=decimal, missing=options.missing)
            found[name] = again._replace(ambiguous="number", is_default=not decided)
    orders = {column.order for column in found.values() if column.order}
    day_first = orders == {"day"} or (not orders and (commas or comma_file))
    for name, column in found.items():
        if column.ambiguous == "date":
            again = infer_column(table[name], name, day_first=day_first, **known) if day_first else column
            found[name] = again._replace(is_default=len(orders) != 1)
    return found


def _as_day_numbers(column: InferredColumn, name: str) -> InferredColumn:
    """Return integers such as 20240517 as dates, if all are; other columns unchanged."""
    if not pa.types.is_integer(column.values.type):
        return column
    ends = pc.min_max(column.values).as_py()
    if ends["min"] < _DAY_NUMBERS[0] or ends["max"] > _DAY_NUMBERS[1]:
        return column
    days = pc.unique(column.values).drop_null()
    if len(days) < _MIN_DAY_NUMBERS and not _DAY_NAME.fullmatch(name):
        return column
    values = parse_dates(column.values.cast(pa.string()), [_DAY_NUMBER_FORMAT])
    if values is None:
        return column
    return column._replace(values=values, formats=(_DAY_NUMBER_FORMAT,), example=str(days[0]))


def _is_plain_float(column: InferredColumn) -> bool:
    return pa.types.is_floating(column.values.type) and not column.decimal


def _known_texts(texts: pa.ChunkedArray, column: InferredColumn) -> pa.ChunkedArray:
    return pc.utf8_trim_whitespace(texts.cast(pa.string())).filter(column.values.is_valid())


def infer_column(
    column: pa.ChunkedArray,
    name: str = "",
    *,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    date_format: str | None = None,
    day_first: bool = False,
) -> InferredColumn:
    """Infer the type of one column of texts.

    >>> infer_column(pa.chunked_array([["1", "2"], [" 3", "NA"]])).values.to_pylist()
    [1, 2, 3, None]
    >>> infer_column(pa.chunked_array([["01", "2"]])).values.type
    DataType(string)
    """
    if column.type != pa.string():
        column = column.cast(pa.string())
    if column.null_count == len(column):
        return InferredColumn(pa.chunked_array([pa.nulls(len(column))]))
    if date_format is None:
        typed = _plain(column, decimal) if not missing else None
        if typed is not None:
            return InferredColumn(typed)
    texts = pc.utf8_trim_whitespace(column)
    bare, found = _replace_markers(texts, {*ANYWHERE, NA, *AMONG_NUMBERS, *missing})
    if bare.null_count < len(bare):
        if date_format is not None:
            return _dates_of_format(bare, name, date_format)._replace(missing=found)
        typed_column = _typed(bare, decimal, day_first)
        if typed_column is not None:
            return typed_column._replace(missing=found)
    texts, found, kept = _text_values(texts, missing)
    values = texts if texts.null_count < len(texts) else pa.chunked_array([pa.nulls(len(texts))])
    return InferredColumn(values, found, kept)


def infer_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column of texts the type that all its values have; other columns are returned unchanged.

    >>> infer_type(pa.chunked_array([["1", "2"], [" 3", "NA"]])).to_pylist()
    [1, 2, 3, None]
    """
    return infer_column(column).values if is_text(column.type) else column


def clean_text(
    column: pa.ChunkedArray, missing: Sequence[str] = (), kept: Sequence[str] | None = None
) -> pa.ChunkedArray:
    """Return texts without leading and trailing spaces, null where missing; they stay texts.

    `missing` are further markers, `kept` those that are values; by default the column decides.

    >>> clean_text(pa.chunked_array([["1", " x", "NA", ""]])).to_pylist()
    ['1', 'x', None, None]
    """
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    if kept is None:
        return _text_values(texts, missing)[0]
    return _replace_markers(texts, {*ANYWHERE, NA, *missing} - set(kept))[0]


def label_values(
    column: pa.ChunkedArray, inferred: InferredColumn | None, missing: Sequence[str]
) -> pa.ChunkedArray:
    """Return the values of a target column without dictionary, null where missing.

    Texts have the type that was inferred, if it was; otherwise they stay texts.

    >>> label_values(pa.chunked_array([[1.0, float("nan")]]), None, ()).to_pylist()
    [1.0, None]
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    elif inferred is not None:
        return plain_numbers(inferred.values)
    return clean_text(column, missing) if is_text(column.type) else plain_numbers(column)


# --- missing values


def _replace_markers(texts: pa.ChunkedArray, markers: set[str]) -> tuple[pa.ChunkedArray, dict[str, int]]:
    """Replace markers by null; return also the number of rows of each, except the empty text."""
    is_marker = pc.is_in(texts, value_set=pa.array(sorted(markers)))
    if not pc.any(is_marker).as_py():
        return texts, {}
    counts = pc.value_counts(texts.filter(is_marker))
    found = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    found.pop("", None)
    return pc.if_else(is_marker, pa.scalar(None, pa.string()), texts), found


def _text_values(
    texts: pa.ChunkedArray, missing: Sequence[str]
) -> tuple[pa.ChunkedArray, dict[str, int], tuple[str, ...]]:
    """Replace markers in a column of text; NA stays if all other values are codes of two capital letters."""
    texts, found = _replace_markers(texts, {*ANYWHERE, *missing})
    others = pc.not_equal(texts, NA)
    if pc.all(others).as_py() is not False:
        return texts, found, ()
    codes = pc.match_substring_regex(texts, "^[A-Z]{2}$")
    if pc.all(codes).as_py() and pc.any(others).as_py():
        return texts, found, (NA,)
    texts, more = _replace_markers(texts, {NA})
    return texts, found | more, ()


# --- types


def _typed(texts: pa.ChunkedArray, decimal: str | None, day_first: bool) -> InferredColumn | None:
    """Convert texts without markers to numbers, booleans or dates; None if some are others."""
    example = texts.drop_null()[0].as_py()
    if _plain(texts.drop_null()[:_SAMPLE], decimal) is not None:
        typed = _plain(texts, decimal)
        if typed is not None:
            return InferredColumn(typed, example=example)
    numbers = read_numbers(texts, decimal)
    if numbers is not None:
        return numbers._replace(example=_first_formatted_number(texts, example))
    dates = detect_dates(texts, day_first=day_first)
    return _times(texts, example) if dates is None else dates._replace(example=example)


def _times(texts: pa.ChunkedArray, example: str) -> InferredColumn | None:
    """Convert texts to times of day, by way of moments of one day; None if some are others."""
    if not pc.all(pc.match_substring_regex(texts.drop_null()[:_SAMPLE], _TIME)).as_py():
        return None
    moments = detect_dates(pc.binary_join_element_wise("2000-01-01", texts, " "))
    if moments is None or moments.values.type != pa.timestamp("us"):  # a date alone, or a zone
        return None
    return InferredColumn(moments.values.cast(pa.time64("us")), example=example)


def _first_formatted_number(texts: pa.ChunkedArray, example: str) -> str:
    """Return the first number that is not only digits, nor $ -, or the example if there is none."""
    is_plain = pc.fill_null(pc.match_substring_regex(texts, r"^(\d*|\D*)$"), fill_value=True)
    found = pc.index(is_plain, value=False).as_py()
    return example if found < 0 else str(texts[found].as_py())


def _dates_of_format(texts: pa.ChunkedArray, name: str, form: str) -> InferredColumn:
    values = parse_dates(texts, [form])
    if values is not None:
        return InferredColumn(values, formats=(form,), example=texts.drop_null()[0].as_py())
    for row, text in enumerate(texts.to_pylist()):
        if text is not None and parse_dates(pa.chunked_array([[text]]), [form]) is None:
            raise DataFileError(
                f"column {format_value(name)}: row {row + 1} holds {format_value(text)}, which is not a date "
                f"of the format {form}"
            )
    raise AssertionError("one of the texts is not a date")


def _plain(texts: pa.ChunkedArray, decimal: str | None) -> pa.ChunkedArray | None:
    """Cast texts that Arrow reads; None if there are others, or if their points may separate thousands."""
    texts = _in_slices(texts)
    numbers = _cast_to_first(texts, (pa.int64(),) if decimal == "," else (pa.int64(), pa.float64()))
    if numbers is None:
        return _cast_to_first(texts, _OTHER_TYPES)
    if pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py():
        return None
    return plain_numbers(numbers)  # "-nan" is parsed as NaN


def _cast_to_first(texts: pa.ChunkedArray, types: tuple[pa.DataType, ...]) -> pa.ChunkedArray | None:
    """Cast the column to the first of these types that all texts can be cast to."""
    for kind in types:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _in_slices(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Split the column into short chunks: a cast that fails still processes its whole chunk."""
    if all(len(chunk) <= _ROWS_PER_CAST for chunk in texts.chunks):
        return texts
    slices = [
        chunk[start : start + _ROWS_PER_CAST]
        for chunk in texts.chunks
        for start in range(0, len(chunk), _ROWS_PER_CAST)
    ]
    return pa.chunked_array(slices, texts.type)
