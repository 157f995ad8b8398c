"""Find the header of a table among its first rows: below titles, above a row of units, with repaired names.

Rows are lists of texts, from delimited text or from a sheet of a workbook. A title is a row above the
header with one text, or with fewer or more fields than the rows have; above an empty row, it may have several
texts, in at most half of the columns, or in all if the row below the empty one names columns of numbers. A
header may have two rows: the upper one names groups of columns. A row of units stands below the header: where
the other rows hold numbers, it holds (kg), m/s or %.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from hedgerow.datafiles.errors import DataFileError, format_value
from hedgerow.datafiles.findings import ACCEPT_LAYOUT, Finding
from hedgerow.text_table import listed

_MAX_TITLES = 30  # rows
MAX_FOOTERS = 5  # rows
_NUMBER = re.compile(
    r"[^\w]*\d[\d\s.,:/'\u2019%()+-]*(?:[eE][+-]?\d+)?\s?[€$£%]?(?:[TZ ]?[\d:.+-]*(?: ?[AaPp][Mm])?)?Z?"
)
_UNIT = re.compile(
    r"[\[(].{1,20}[\])]|[A-Za-zµΩ%°€$£]{1,3}|(?:[A-Za-zµΩ%°€$£]{0,5}[/²³%°^·*][A-Za-z0-9µ²³%°^·*/-]{0,10})|"
    r"USD|EUR|years?|days?|hours?|min(?:utes)?|sec(?:onds)?|persons?|count|number|units?|percent|m(?:et|il)(?:er|re|e)s?|"
    r"kWh|km/h|mmHg|rpm|ppm",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\s*(?:19|20)\d\d\s*")
_RULE = re.compile(r"[-=_+ ]{2,}")
_NO_UNITS = {"na", "n/a", "nan", "nil", "yes", "no", "-", "?", "", "null"}
_TOTAL = re.compile(
    r"(?:grand |sub)?(?:total|summe?|gesamt|insgesamt|totale?s?|somme|suma|totaal)\b.*|average|mean|sum",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"(?:source|quelle|notes?|stand|report|generated|exported|end of)\b.*|[*(©#-].*", re.IGNORECASE
)


class Layout(NamedTuple):
    """Where the table is among the rows."""

    header: int  # the position of the header
    first: int  # the position of the first row of values
    names: tuple[str, ...]  # of the columns, distinct
    findings: list[Finding]


def find_layout(rows: Sequence[Sequence[str]], gaps: Collection[int] = ()) -> Layout:
    """Find the header among the first rows of a table; `gaps` are positions of rows below empty lines.

    >>> layout = find_layout([["Sales 2024"], ["name", "kg", "kg"], ["Ann", "1", "2"], ["Bob", "3", "4"]])
    >>> layout.header, layout.names
    (1, ('name', 'kg', 'kg_2'))
    """
    findings: list[Finding] = []
    header = _header(rows, gaps)
    if header:
        shown = ", ".join(format_value(" ".join(filter(None, row))) for row in rows[:header][:2])
        lines = "line" if header == 1 else "lines"
        findings.append(_guess(f"{header} {lines} above the header left out: {shown}."))
    fields, first = [field.strip() for field in rows[header]], header + 1
    if _is_group_row(rows, header):
        fields = _joined(fields, rows[first])
        first += 1
        example = next(name for name in fields if " " in name)
        findings.append(_guess(f"The names of two rows are joined, such as {format_value(example)}."))
    fields = _fitted(fields, rows[first:], findings)
    names = _names(fields, findings)
    if _is_rule(rows, first) or _is_units(rows, first):
        shown = format_value(", ".join(filter(None, rows[first])))
        findings.append(_guess(f"The row below the header holds units, {shown}; it is left out."))
        first += 1
    return Layout(header, first, names, findings)


def _guess(text: str) -> Finding:
    return Finding(text, option=ACCEPT_LAYOUT)


def is_footer(row: Sequence[str], width: int) -> bool:
    """Return whether the last row of a table is a total or a remark, not a row of values.

    >>> is_footer(["Total", "", "12"], 3), is_footer(["Ann", "3", "12"], 3), is_footer(["source: census"], 3)
    (True, False, True)
    """
    filled = [cell.strip() for cell in row if cell.strip()]
    if width < 2 or not filled or len(row) > width:
        return False
    if len(filled) == 1 and row[0].strip():
        is_remark = bool(_REMARK.fullmatch(filled[0]))
        return is_remark or (len(row) == 1 < width - 1 and not is_number(filled[0]))
    return bool(_TOTAL.fullmatch(filled[0]))


def footer_finding(kind: str, count: int, first: str) -> Finding:
    """Return the finding about lines or rows below the table that are left out; `first` is the first of them.

    >>> footer_finding("line", 1, "Total,3").text
    "The last line, 'Total,3', is not part of the table; left out."
    """
    shown = format_value(first)
    what = f"The last {kind}, {shown}, is" if count == 1 else f"The last {count} {kind}s, {shown}, are"
    return _guess(f"{what} not part of the table; left out.")


def is_number(cell: str) -> bool:
    """Return whether a text is a number or a date rather than a name.

    >>> [is_number(cell) for cell in ("12", "$ 1,200.50", "17.5.2024", "2024-05-17T10:00Z", "kg", "x1", "")]
    [True, True, True, True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(cell.strip()))


def _width(rows: Sequence[Sequence[str]]) -> int:
    counts = Counter(len(row) for row in rows)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _header(rows: Sequence[Sequence[str]], gaps: Collection[int]) -> int:
    """Return the position of the header: 0 unless the rows above another one are titles."""
    width = _width(rows)
    if below := _header_below_gap(rows, gaps, width):
        return below
    empty = _empty_row(rows[:_MAX_TITLES], width)
    has_long = False
    for position, row in enumerate(rows[: _MAX_TITLES + 1]):
        filled = [cell for cell in row if cell.strip()]
        if len(row) == width and _is_group_row(rows, position):
            return position
        if position and len(row) in (width, width - 1) and 2 * len(filled) > width:
            complete = width > 2 or len(filled) == width
            is_value = any(is_number(cell) and not (width > 2 and _YEAR.fullmatch(cell)) for cell in filled)
            is_header = complete and not is_value and (not has_long or _names_numbers(rows, position))
            return position if is_header else 0
        is_short = len(row) < width - 1 or (len(row) < width and width == 2)
        is_long = len(row) > width and bool(row[-1].strip())
        has_long |= is_long
        one_text = len(filled) == 1 and bool(row[0].strip())
        if width < 2 or not (is_short or is_long or one_text or not filled or position < empty):
            return 0
    return 0


def _header_below_gap(rows: Sequence[Sequence[str]], gaps: Collection[int], width: int) -> int:
    """Return the last row below a gap that names numbers, with at most one full row above, or 0."""
    found = n_full = 0
    for position, row in enumerate(rows[: _MAX_TITLES + 1]):
        cells = [cell.strip() for cell in row]
        is_below_gap = position in gaps or (position > 0 and not any(map(str.strip, rows[position - 1])))
        is_full = len(row) == width and all(cells)
        is_names = is_full and len(set(cells)) == width > 1 and not any(map(is_number, cells))
        if is_below_gap and position and is_names and n_full <= 1 and _names_numbers(rows, position):
            found = position
        n_full += is_full
    return found


def _names_numbers(rows: Sequence[Sequence[str]], position: int) -> bool:
    """Return whether a row holds texts, none of them a marker, and one above a column of numbers."""
    cells = [cell.strip() for cell in rows[position]]
    if any(cell and cell.casefold() in _NO_UNITS for cell in cells):
        return False
    columns = (_below(rows, position, column) for column in range(len(cells)))
    return any(
        cell and not is_number(cell) and known and all(map(is_number, known))
        for cell, known in zip(cells, columns, strict=True)
    )


def _below(rows: Sequence[Sequence[str]], position: int, column: int) -> list[str]:
    """Return the texts of a column below a row."""
    below = rows[position + 1 : position + 30]
    return [row[column] for row in below if column < len(row) and row[column].strip()]


def _is_group_row(rows: Sequence[Sequence[str]], position: int) -> bool:
    """Return whether a row names groups of columns, some wider than one, above another row of names."""
    if len(rows) < position + 3 or len(rows[position]) != len(rows[position + 1]):
        return False
    upper, lower = ([cell.strip() for cell in row] for row in rows[position : position + 2])
    filled, named = list(filter(None, upper)), list(filter(None, lower))
    pairs = list(zip(upper, lower, strict=True))
    if len(filled) == len(upper) or not all(map(any, pairs)) or not any(map(all, pairs)):
        return False
    repeats = len(set(named)) < len(named)
    starts = [column for column, cell in enumerate(upper) if cell]
    widths = [stop - start for start, stop in zip(starts, [*starts[1:], len(upper)], strict=True)]
    if max(widths) < 2 and len(set(filled)) == len(filled):
        return False
    if not repeats and (2 * len(filled) > len(upper) or (upper[0] and lower[0])):
        return False
    if any(is_number(cell) and not _YEAR.fullmatch(cell) for cell in (*filled, *named)):
        return False
    return _names_numbers(rows, position + 1) or (repeats and any(map(_YEAR.fullmatch, named)))


def _joined(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Return the names of groups and columns in one: 2023 a."""
    names, group = [], ""
    for above, below in zip(upper, lower, strict=True):
        group = above or group
        names.append(f"{group} {below.strip()}".strip() if below.strip() else above)
        group = group if below.strip() else ""
    return names


def _empty_row(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the position of the first empty row if those above fill at most half of the columns, else 0."""
    for position, row in enumerate(rows):
        n_filled = sum(bool(cell.strip()) for cell in row)
        if not n_filled:
            return position
        if 2 * n_filled > width:
            break
    return 0


def _fitted(fields: list[str], rows: Sequence[Sequence[str]], findings: list[Finding]) -> list[str]:
    """Add or remove the name of a trailing separator; add a name for the names of rows that R writes."""
    width = _width(rows)
    if width == len(fields) - 1 and not fields[-1]:
        return fields[:-1]
    if width != len(fields) + 1:
        return fields
    wide = [row for row in rows if len(row) == width]
    if not any(row[-1].strip() for row in wide):
        return [*fields, ""]
    starts = [row[0].strip() for row in wide]
    if len(wide) >= 3 and len(set(starts)) == len(starts) and all(starts):
        findings.append(_guess("The rows have one field more than the header; the first names the row."))
        return ["", *fields]
    return fields


def _names(fields: list[str], findings: list[Finding]) -> tuple[str, ...]:
    """Return distinct names; DataFileError for a header of numbers."""
    if all(_is_float(name) for name in fields) and not _counts_up(fields):
        shown = ", ".join(fields[:3]) + (", ..." if len(fields) > 3 else "")
        raise DataFileError(
            f"its first line holds only numbers ({format_value(shown)[1:-1]}); the first line must hold the "
            "names of the columns"
        )
    names: list[str] = []
    taken = set(fields)
    for number, field in enumerate(fields, start=1):
        name = field or f"column_{number}"
        if field and field not in names:
            names.append(field)
            continue
        copy = 2
        while name in taken or name in names:
            name, copy = (f"{field}_{copy}", copy + 1) if field else (name + "_", copy)
        names.append(name)
    doubled = [f"{new!r}" for old, new in zip(fields, names, strict=True) if old and old != new]
    if doubled:
        findings.append(
            _guess(f"Some columns have the same name; the later ones are called {listed(doubled, 5)}.")
        )
    unnamed = [f"{new!r}" for old, new in zip(fields, names, strict=True) if not old]
    if unnamed:
        what = "A column has no name; it is" if len(unnamed) == 1 else "Some columns have no name; they are"
        findings.append(_guess(f"{what} called {listed(unnamed, 5)}."))
    return tuple(names)


def _is_float(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return not name[:1].isalpha()  # nan, inf


def _counts_up(names: Sequence[str]) -> bool:
    """Return whether the names are 0, 1, 2, ... or consecutive years: numbers that are valid names."""
    if not all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names):
        return False
    numbers = [int(name) for name in names]
    return (len(numbers) >= 3 or numbers[0] == 0) and numbers == list(range(numbers[0], numbers[-1] + 1))


def _is_rule(rows: Sequence[Sequence[str]], first: int) -> bool:
    """Return whether a row is a rule, as databases print it below the names: ----, ------."""
    return len(rows) > first + 1 and all(_RULE.fullmatch(cell) for cell in rows[first])


def _is_units(rows: Sequence[Sequence[str]], first: int) -> bool:
    """Return whether a row holds units: texts where all other rows hold numbers."""
    if len(rows) < first + 3 or any(map(is_number, rows[first])):
        return False
    units = 0
    for column, text in enumerate(cell.strip() for cell in rows[first]):
        known = _below(rows, first, column)
        if text and known and all(map(is_number, known)):
            if text.casefold() in _NO_UNITS or not _UNIT.fullmatch(text):
                return False
            units += 1
    return units > 0
