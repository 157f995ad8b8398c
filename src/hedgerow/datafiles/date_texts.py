"""Read dates in all common forms, by whole columns.

A form is a format of `strptime`, such as %d.%m.%Y %H:%M. `detect_dates` finds the formats of a column: it
guesses the format of the first value, parses every value that fits, and continues with the rest. Each
format becomes a regular expression whose groups are converted as columns of integers.

Whether the day or the month comes first is decided by the whole column: a value above 12 is a day, and so is
a 1 that is the same in all rows of several years, because months are dated by their first day. If there is
neither, the order is ambiguous (except with points, 1.2.2024, where the day comes first), and the rest of
the file decides. Dates without a day, Jan-95 or 2024-05, are the first of the month.

Two-digit years are those from 1969 to 2068. Dates with a zone are converted to UTC.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow._typing import Integers
from hedgerow.datafiles.column_types import InferredColumn
from hedgerow.datafiles.errors import DataFileError, format_value

_SAMPLE = 1000  # values that reject most other columns
_MIN_FIRST_DAYS = 3  # distinct months from which 1/2, 1/3, 1/4 are taken as first days of months
_MAX_FORMATS = 12  # of one column: with and without time, 1st, 2nd, 3rd, 4th
_DAY = 86_400_000_000  # microseconds
_MONTHS = {  # the first letters of names, in English, German, French, Spanish, Italian, Portuguese and Dutch
    1: "jan jän ene gen",
    2: "feb fév fev",
    3: "mar mär mrt maa mrz",
    4: "apr avr abr",
    5: "may mai mei mag",
    6: "jun juin giu",
    7: "jul juil lug",
    8: "aug aoû aou ago",
    9: "sep set",
    10: "oct okt out ott",
    11: "nov",
    12: "dec dez déc dic",
}
_MONTH = {name: number for number, names in _MONTHS.items() for name in names.split()}
_MONTH_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_WEEKDAY = (  # English, German, French, Spanish and Italian, unless the letters begin a month
    r"mon|tue|wed|thu|fri|sat|sun|mo|dienstag|di\b|mi|do|fr|sa|so|lun|mardi|mercredi|mer\b|jeu|ven|dim|"
    r"mié|jue|vie|sáb|gio"
)
_GROUPS = {  # directive -> regular expression of RE2
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "j": r"(?P<j>\d{1,3})",
    "b": rf"(?P<b>(?i:{_MONTH_NAME})\pL*)",
    "a": rf"(?i:{_WEEKDAY})\pL*",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{2})",
    "S": r"(?P<S>\d{2})",
    "f": r"(?P<f>\d{1,9})",
    "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
    "z": r"(?P<z>[Zz]|UTC|GMT|[+-]\d{2}(?::?\d{2})?)",
}
_SAME = {"B": "%b", "A": "%a", "Z": "%z", "T": "%H:%M:%S", "F": "%Y-%m-%d", "R": "%H:%M", "D": "%m/%d/%y"}
_SEPARATOR = r"[-/. ]"
_NUMERIC = re.compile(rf"(\d{{1,2}})({_SEPARATOR})(\d{{1,2}})\2(\d{{4}}|\d{{2}})(?!\d)", re.ASCII)
_ORDER = (
    rf"^(?:(?i:{_WEEKDAY})\pL*\.?,?\s+)?(?P<a>\d{{1,2}}){_SEPARATOR}(?P<b>\d{{1,2}}){_SEPARATOR}"
    r"(?P<y>\d{4}|\d{2})(?:\D|$)"
)
_NAME = rf"(?P<b>(?:{_MONTH_NAME})[^\W\d_]*)"
_SHAPES = [  # the date; groups are named by their directives
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NAME}\s+(?P<d>\d\d?)\s+(?P<H>\d\d?):(?P<M>\d\d):(?P<S>\d\d)\s+(?:(?P<z>UTC|GMT)\s+)?(?P<Y>\d{{4}})$",
        r"(?P<Y>\d{4})年(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})日|$)",
        r"(?P<Y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?[- /]?{_NAME}\.?,?[- /]?(?P<Y>\d{{4}})(?!\d)",
        rf"(?P<d>\d{{1,2}})\.?[- /]?{_NAME}\.?,?[- /]?(?P<y>\d{{2}})(?!\d)",
        rf"{_NAME}\.?[- /]?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?[- /]+(?P<Y>\d{{4}})(?!\d)",
        rf"(?P<Y>\d{{4}})[- /]?{_NAME}\.?[- /]?(?P<d>\d{{1,2}})(?!\d)",
        rf"{_NAME}\.?,?[- /](?P<Y>\d{{4}})(?!\d)",
        rf"{_NAME}\.?[- /](?P<y>\d{{2}})$",
        r"(?P<Y>(?:19|20)\d{2})[-/](?P<m>\d{1,2})$",
        r"(?P<m>\d{1,2})[-/](?P<Y>(?:19|20)\d{2})$",
    )
]
_WEEKDAY_BEFORE = re.compile(rf"(?P<a>(?:{_WEEKDAY})[^\W\d_]*)\.?,?\s+", re.IGNORECASE)
_TIME = re.compile(
    r"(?:T|:|,?\s+)(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?"
    r"(?:\s?(?P<p>[ap]\.?m\.?))?(?:\s?(?P<z>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?(?:\s?(?:Uhr|h))?",
    re.IGNORECASE,
)


# --- detection


def detect_dates(texts: pa.ChunkedArray, *, day_first: bool = False) -> InferredColumn | None:
    """Convert texts to dates; None if not all of them are dates of known forms.

    They are date32, or timestamps in microseconds, in UTC if the texts have a zone.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray
        Without outer spaces, null where missing.
    day_first : bool
        The order of an ambiguous column.

    Examples
    --------
    >>> column = detect_dates(pa.chunked_array([["1/2/13 22:33", "1/31/13 7:05"]]))
    >>> str(column.values[0]), column.formats, column.order
    ('2013-01-02 22:33:00', ('%m/%d/%y %H:%M',), 'month')
    >>> detect_dates(pa.chunked_array([["17 May 2024"]])).values.to_pylist()
    [datetime.date(2024, 5, 17)]
    """
    known = texts.drop_null()
    if not len(known) or guess_format(known[0].as_py()) is None:
        return None
    if len(known) > _SAMPLE and _detect(known[:_SAMPLE], day_first) is None:
        return None
    found = _detect(known, day_first)
    if found is None:
        return None
    formats, order, ambiguous = found
    values = parse_dates(texts, formats)
    return (
        None if values is None else InferredColumn(values, formats=formats, order=order, ambiguous=ambiguous)
    )


def _detect(known: pa.ChunkedArray, day_first: bool) -> tuple[tuple[str, ...], str, str] | None:
    """Return the formats, the order if it is certain, and "date" if it is ambiguous."""
    rest = pc.unique(known)
    order = _order(rest)
    if order == "both":
        return None
    is_day_first = order == "day" or (order != "month" and day_first)
    formats: list[str] = []
    while len(rest) and len(formats) < _MAX_FORMATS:
        form = guess_format(rest[0].as_py(), day_first=is_day_first)
        if form is None or form in formats:
            return None
        formats.append(form)
        rest = rest.filter(pa.array(~_parse(rest, form)[1]))
    zoned = {"%z" in form for form in formats}
    if len(rest) or len(zoned) > 1:
        return None
    return (tuple(formats), "", "date") if order == "either" else (tuple(formats), order, "")


def find_odd_dates(texts: pa.Array, most: int) -> list[str]:
    """Return the few texts that are not dates, or do not exist, if all others are; [] if there are more.

    >>> dates = [f"{day}.2.2024" for day in range(1, 32)]
    >>> find_odd_dates(pa.array([*dates, "soon"]), 5)
    ['30.2.2024', '31.2.2024', 'soon']
    """
    order = _order(texts)
    if order == "both":  # the order of most dates
        found = pc.extract_regex(texts, _ORDER).drop_null()
        first, second = (pc.greater(found.field(name).cast(pa.int64()), 12) for name in ("a", "b"))
        n_day, n_month = (pc.sum(pc.and_not(*pair)).as_py() for pair in ((first, second), (second, first)))
        order = "day" if n_day > n_month else "month"
    odd: list[str] = []
    formats: list[str] = []
    while len(texts) and len(odd) <= most and len(formats) < _MAX_FORMATS:
        text = texts[0].as_py()
        form = guess_format(text, day_first=order == "day")
        if form is None or form in formats:
            odd.append(text)
            texts = texts[1:]
        else:
            formats.append(form)
            texts = texts.filter(pa.array(~_parse(texts, form)[1]))
    return odd if formats and not len(texts) and len(odd) <= most else []


def _order(texts: pa.Array) -> str:
    """Return "day", "month" or "both" first, "either", or "" without numeric dates."""
    found = pc.extract_regex(texts, _ORDER)
    numeric = texts.filter(found.is_valid())
    if not len(numeric):
        return ""
    found = found.drop_null()
    a, b = (found.field(name).cast(pa.int64()) for name in ("a", "b"))
    first, second = pc.max(a).as_py(), pc.max(b).as_py()
    if first > 12 and second > 12:
        return "both"
    if first > 12 or second > 12:
        return "day" if first > 12 else "month"
    if min(first, second) == 1 and len(pc.unique(found.field("y"))) > 1:
        n_first, n_second = len(pc.unique(a)), len(pc.unique(b))
        if max(n_first, n_second) >= _MIN_FIRST_DAYS:
            return "day" if n_first == 1 else "month"
    with_points = pc.all(pc.match_substring_regex(numeric, r"^\D*\d+\.")).as_py()
    return "day" if with_points else "either"


def guess_format(text: str, *, day_first: bool = False) -> str | None:
    """Return the format of a date; None if the text is not a date.

    >>> guess_format("Fri, 17 May 2024 10:00:00 GMT"), guess_format("3.4.2024", day_first=True)
    ('%a, %d %b %Y %H:%M:%S %z', '%d.%m.%Y')
    """
    if "%" in text:
        return None
    weekday = _WEEKDAY_BEFORE.match(text)
    start = weekday.end() if weekday else 0
    spans = _spans(weekday) if weekday else []
    numeric = _NUMERIC.match(text, start)
    if numeric:
        names = ("d", "m") if day_first else ("m", "d")
        year = "Y" if len(numeric[4]) == 4 else "y"
        spans += [(*numeric.span(group), name) for group, name in zip((1, 3, 4), (*names, year), strict=True)]
        end = numeric.end()
    else:
        found = [match for shape in _SHAPES if (match := shape.match(text, start))]
        if not found:
            return None
        spans += _spans(found[0])
        end = found[0].end()
    if end < len(text):
        time = _TIME.fullmatch(text, end)
        if time is None:
            return None
        spans += [(a, b, "I" if name == "H" and time["p"] else name) for a, b, name in _spans(time)]
    for first, last, name in sorted(spans, reverse=True):
        text = f"{text[:first]}%{name}{text[last:]}"
    return text


def _spans(match: "re.Match[str]") -> list[tuple[int, int, str]]:
    """Return the position of each directive that is a named group."""
    return [(*match.span(name), name) for name in match.re.groupindex if match[name] is not None]


# --- conversion


def format_pattern(form: str) -> str:
    """Return a format of strptime as a regular expression; DataFileError for directives it does not know.

    >>> format_pattern("%Y") == "^(?P<Y>" + chr(92) + "d{4})$"
    True
    """
    expanded = re.sub(r"%([BAZTFRD])", lambda match: _SAME[match[1]], form)
    patterns, used = [], set()
    items = re.findall(r"%.|\s+|.", expanded, re.DOTALL)
    for item, following in zip(items, [*items[1:], ""], strict=True):
        name = item[1:]
        if item[0] != "%" or item == "%%":
            patterns.append(r"\s+" if item.isspace() else re.escape(name or item))
            continue
        if name not in _GROUPS or name in used:
            what = "occurs twice" if name in used else f"is unknown; known are %{', %'.join(_GROUPS)}"
            raise DataFileError(f"the date format {format_value(form)}: %{name} {what}")
        used.add(name)
        pattern = _GROUPS[name]
        if following.startswith("%"):  # 20240517
            pattern = pattern.replace("{1,2}", "{2}").replace("{1,3}", "{3}")
        patterns.append(pattern)
    if not used & {"Y", "y"}:
        raise DataFileError(f"the date format {format_value(form)} has no year, %Y or %y")
    return f"^{''.join(patterns)}$"


def parse_dates(texts: pa.ChunkedArray, formats: Sequence[str]) -> pa.ChunkedArray | None:
    """Convert texts to dates of these formats, the first that fits each; None if some text fits none.

    >>> parse_dates(pa.chunked_array([["17.5.2024", None]]), ["%d.%m.%Y"]).to_pylist()
    [datetime.date(2024, 5, 17), None]
    """
    array = pa.concat_arrays(texts.chunks) if texts.num_chunks != 1 else texts.chunk(0)
    total, known = np.zeros(len(array), np.int64), array.is_null().to_numpy(zero_copy_only=False)
    missing = known.copy()
    for form in formats:
        if known.all():
            break
        moments, fits = _parse(array, form)
        new = fits & ~known
        total[new] = moments[new]
        known |= fits
    if not known.all():
        return None
    joined = "".join(formats)
    if not re.search(r"%[HITRzZ]", joined):
        return pa.chunked_array([pa.array((total // _DAY).astype("datetime64[D]"), mask=missing)])
    zone = "UTC" if re.search("%[zZ]", joined) else None
    return pa.chunked_array([pa.array(total, pa.int64(), mask=missing).cast(pa.timestamp("us", zone))])


def _parse(texts: pa.Array, form: str) -> tuple[Integers, NDArray[np.bool]]:
    """Return microseconds since 1970, and which texts are valid dates of this format."""
    found = pc.extract_regex(texts, format_pattern(form))
    fits: NDArray[np.bool] = found.is_valid().to_numpy(zero_copy_only=False)
    names = {field.name for field in found.type}

    def integers(name: str, default: int) -> Integers:
        if name not in names:
            return np.full(len(texts), default, np.int64)
        column = found.field(name).filter(pa.array(fits)).cast(pa.int64())
        return _spread(np.asarray(column), fits, default)

    year = integers("Y", 1970)
    if "y" in names:
        short = integers("y", 70)
        year = np.where(short < 69, 2000, 1900) + short
    month = _months(found, fits) if "b" in names else integers("m", 1)
    day = integers("d", 1)
    hour = integers("I", 12) % 12 if "I" in names else integers("H", 0)
    if "p" in names:
        afternoon = pc.utf8_lower(found.field("p").filter(pa.array(fits)))
        hour = hour + 12 * _spread(np.asarray(pc.equal(afternoon, "p")).astype(np.int64), fits, 0)
    minute, second = integers("M", 0), integers("S", 0)
    good = (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    if "I" in names:
        good &= (integers("I", 12) >= 1) & (integers("I", 12) <= 12)
    months = ((year - 1970) * 12 + np.where(good, month, 1) - 1).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    length = (months + 1).astype("datetime64[D]").astype(np.int64) - first
    good &= (day >= 1) & (day <= length)
    days = first + day - 1 + (integers("j", 1) - 1)
    moments = days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000
    moments += _fractions(found, fits) if "f" in names else 0
    moments -= _offsets(found, fits) if "z" in names else 0
    return moments, fits & good


def _spread(values: NDArray[Any], fits: NDArray[np.bool], default: int) -> Integers:
    """Return the values at the rows that fit, and a default at the others."""
    spread = np.full(len(fits), default, np.int64)
    spread[fits] = values
    return spread


def _months(found: pa.Array, fits: NDArray[np.bool]) -> Integers:
    names = found.field("b").filter(pa.array(fits)).dictionary_encode()
    numbers = np.array([_month_number(name) for name in names.dictionary.to_pylist()] or [0], np.int64)
    return _spread(numbers[names.indices.to_numpy()], fits, 0)


def _month_number(name: str) -> int:
    folded = name.casefold()
    return _MONTH.get(folded[:4]) or _MONTH.get(folded[:3], 0)


def _fractions(found: pa.Array, fits: NDArray[np.bool]) -> Integers:
    digits = pc.utf8_slice_codeunits(pc.utf8_rpad(found.field("f").filter(pa.array(fits)), 6, "0"), 0, 6)
    return _spread(np.asarray(digits.cast(pa.int64())), fits, 0)


def _offsets(found: pa.Array, fits: NDArray[np.bool]) -> Integers:
    zones = found.field("z").filter(pa.array(fits)).dictionary_encode()
    seconds = np.array([_offset(zone) for zone in zones.dictionary.to_pylist()] or [0], np.int64)
    return _spread(seconds[zones.indices.to_numpy()] * 1_000_000, fits, 0)


def _offset(zone: str) -> int:
    """Return the seconds of +02:00, +0200 or +02; 0 for Z, UTC and GMT."""
    digits = re.sub(r"\D", "", zone)
    if not digits:
        return 0
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    return -seconds if zone.startswith("-") else seconds
