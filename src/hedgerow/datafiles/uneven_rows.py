"""Rows of delimited text with fewer or more fields than the header has names, which Arrow refuses.

Spreadsheets and programs omit empty fields at the end of a row: these rows are filled up. A row with more
fields usually holds a separator that is not quoted, so that its values are in the wrong columns.
"""

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from hedgerow.datafiles.errors import DataFileError, one_line
from hedgerow.datafiles.findings import ACCEPT_LAYOUT, Finding, UndecidedError

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_NAMED = 5  # lines that a message lists
_SKIP = ("--skip-bad-lines", "")


class Header(NamedTuple):
    """The header of a text table."""

    names: tuple[str, ...]
    separator: str
    start: int  # offset of the rows, in bytes
    stop: int  # offset after the last row
    lines: int  # number of lines before the rows
    findings: list[Finding]


class LineReader:
    """An iterator over the lines of some bytes, with its offset."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data, self.offset, self.lines = data, start, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        match = LINE.match(self.data, self.offset)
        if match is None or match.end() == match.start():
            raise StopIteration
        self.offset, self.lines = match.end(), self.lines + 1
        return match.group().decode()


class _UnevenRow(NamedTuple):
    line: int
    n_fields: int
    start: int  # offset in bytes
    stop: int


def with_equal_rows(
    data: bytes, header: Header, error: Exception, *, skip: bool
) -> tuple[bytes, list[Finding]]:
    r"""Fill up short rows, and leave out long ones with `skip`; UndecidedError for long rows otherwise.

    `error` is that of Arrow, for data whose rows are equally long but cannot be read.

    >>> header = Header(("a", "b", "c"), ",", 6, 17, 1, [])
    >>> data, findings = with_equal_rows(b"a,b,c\n1,2\n3,4,5\n", header, ValueError(), skip=False)
    >>> data, findings[0].text
    (b'a,b,c\n1,2,\n3,4,5\n', 'Line 2 has 2 of 3 fields; the others are read as missing.')
    """
    width = len(header.names)
    unread = DataFileError(f"its rows cannot be read ({one_line(error)})")
    uneven: list[_UnevenRow] = []
    rows = LineReader(data, header.start)
    reader = csv.reader(rows, delimiter=header.separator)
    before, start, n_rows = 0, header.start, 0
    try:
        for row in reader:
            line = header.lines + before + 1
            is_filled = any(cell.strip() for cell in row)
            n_rows += is_filled
            if row and len(row) != width:
                if reader.line_num > before + 1 and rows.offset == len(data) and data.count(b'"') % 2:
                    raise unclosed_quote(line)
                uneven.append(_UnevenRow(line, len(row) if is_filled else 0, start, rows.offset))
            before, start = reader.line_num, rows.offset
    except csv.Error:  # a field beyond the module's limit: pyarrow's message remains
        raise unread from error
    if not uneven:
        raise unread from error
    long = [row for row in uneven if row.n_fields > width]
    short = [row for row in uneven if 0 < row.n_fields < width]
    if (long and not skip) or 0 < n_rows == len(long) + len(short):
        raise _refusal(long or short, header, is_few=2 * len(long) < n_rows) from error
    findings = []
    if short:
        text = f"{_some_lines(short, f'of {width} fields')}; the others are read as missing"
        findings.append(Finding(f"{text[0].upper()}{text[1:]}.", option=ACCEPT_LAYOUT))
    if long:
        what = "1 line is" if len(long) == 1 else f"{len(long):,} lines are"
        text = f"{what} left out: {_some_lines(long, f'fields, the header {width}')}."
        findings.append(Finding(text, is_guess=False))
    return _rewritten(data, uneven, header), findings


def _some_lines(rows: list[_UnevenRow], what: str) -> str:
    """Return "line 3 has 2 fields, line 5 has 1", for at most five lines."""
    first, *others = rows[:_NAMED]
    text = f"line {first.line} has {first.n_fields} {what}"
    text += "".join(f", line {row.line} has {row.n_fields}" for row in others)
    return text + (f" and {len(rows) - _NAMED:,} more lines" if rows[_NAMED:] else "")


def _refusal(rows: list[_UnevenRow], header: Header, *, is_few: bool) -> DataFileError:
    width = len(header.names)
    is_long = rows[0].n_fields > width
    fields = "field" if rows[0].n_fields == 1 else "fields"
    lines = "that line" if len(rows) == 1 else "these lines"
    count = f"{len(rows):,} lines have {'more' if is_long else 'fewer'} fields than the header: "
    text = (
        f"{count if len(rows) > 1 else ''}{_some_lines(rows, fields)}, but the header has {width} names "
        f"(separator {header.separator!r}); correct {lines}, or quote fields that contain the separator"
    )
    return UndecidedError([Finding(text, option=_SKIP)], text) if is_long and is_few else DataFileError(text)


def _rewritten(data: bytes, uneven: list[_UnevenRow], header: Header) -> bytes:
    """Return the data with filled rows, without long and empty ones."""
    kept, done = [], 0
    width, separator = len(header.names), header.separator.encode()
    for row in uneven:
        kept.append(data[done : row.start])
        if 0 < row.n_fields < width:
            filled = data[row.start : row.stop].rstrip(b"\r\n") + separator * (width - row.n_fields)
            kept.append(filled + b"\n")
        done = row.stop
    return b"".join([*kept, data[done:]])


def unclosed_quote(line: int) -> DataFileError:
    """Return the error for a quote that is opened on a line and never closed."""
    return DataFileError(f'a double quote (") opened on line {line} is never closed')
