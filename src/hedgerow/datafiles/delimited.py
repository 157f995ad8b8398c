"""Parse delimited text, as bytes in memory, into an Arrow table of texts.

Python's csv module reads the first rows, among which `layout` finds the header; Arrow reads the rows, every
column as text, so that no type depends on the block of a value. `inference` then finds the types from whole
columns.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from hedgerow.datafiles.errors import DataFileError, check_columns, line_number, one_line
from hedgerow.datafiles.findings import Finding
from hedgerow.datafiles.layout import MAX_FOOTERS, find_layout, footer_finding, is_footer
from hedgerow.datafiles.uneven_rows import LINE, Header, LineReader, unclosed_quote, with_equal_rows

SEPARATORS = (",", ";", "\t", "|")
_SNIFFED_LINES = 50
_SNIFFED_BYTES = 1 << 20
_BLOCK = 1 << 23  # bytes parsed at once; a single row may be longer, see _parsed
_LARGEST_BLOCK = (1 << 31) - 1
_LAST_BYTES = 4096  # in which footers are searched
_BLANK = re.compile(rb"[ \t]*(?:\r\n|\r|\n)")
_INK = re.compile(rb"[^ \t\r\n]")
_SEPARATOR_LINE = re.compile(rb"\"?sep=(.)\"?[ \t]*(?:\r\n|\r|\n)", re.IGNORECASE)


class TextTable(NamedTuple):
    """A table of texts with its separator, and the findings."""

    table: pa.Table
    separator: str
    findings: list[Finding]


def read_delimited(
    data: bytes, columns: Sequence[str] | None = None, *, skip_bad_lines: bool = False
) -> TextTable:
    r"""Return the table of texts in these bytes of UTF-8; empty values are null.

    Fields that are missing at the end of a row are null too. Rows with more fields than the header has names
    are left out with `skip_bad_lines`, otherwise refused.

    >>> found = read_delimited(b"a;b\n1;x\n2;\n")
    >>> found.table.to_pydict(), found.separator
    ({'a': ['1', '2'], 'b': ['x', None]}, ';')
    """
    if b"\0" in data:
        line = line_number(data, data.index(b"\0"))
        raise DataFileError(f"line {line} holds a NUL byte; it is not a text file, or it is damaged")
    header = read_header(data)
    check_columns(columns, header.names)
    data = data[: header.stop]
    findings = header.findings
    wanted = list(header.names) if columns is None else list(columns)
    try:
        table = _parsed(data, header, wanted)
    except pa.ArrowInvalid as error:
        data, more = with_equal_rows(data, header, error, skip=skip_bad_lines)
        findings = [*findings, *more]
        try:
            table = _parsed(data, header, wanted)
        except pa.ArrowInvalid as other:
            raise DataFileError(f"its rows cannot be read ({one_line(other)})") from other
    if table.num_rows == 0:
        raise DataFileError(f"it holds a header of {len(header.names)} names but no rows")
    _check_last_quote(data, header, table)
    return TextTable(table, header.separator, findings)


def read_header(data: bytes) -> Header:
    r"""Read the names and the separator, and find the start and the end of the rows.

    Leading and trailing spaces of names are removed. A column without a name is called column_N, from 1.

    >>> read_header(b"a;b c\n1;2\n").names
    ('a', 'b c')
    """
    if not _INK.search(data):
        raise DataFileError("it is empty")
    start = lines = 0
    while blank := _BLANK.match(data, start):
        start, lines = blank.end(), lines + 1
    stated = _SEPARATOR_LINE.match(data, start)
    if stated:
        start, lines = stated.end(), lines + 1
    head = data[start : start + _SNIFFED_BYTES]
    text = head.decode(errors="ignore")  # the last character may be truncated
    whole = len(head) == len(data) - start
    separator = stated[1].decode() if stated else _separator(text, whole=whole)
    reader = LineReader(data, start)
    rows, ends, gaps = [], [], set()
    try:
        for row in csv.reader(reader, delimiter=separator):
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
                ends.append((reader.offset, reader.lines))
            else:
                gaps.add(len(rows))
            if len(rows) > _SNIFFED_LINES or reader.offset > start + _SNIFFED_BYTES:
                break
    except (csv.Error, UnicodeDecodeError) as error:
        if not rows:
            raise DataFileError(f"its first line is not a header of names ({one_line(error, 80)})") from error
    complete = reader.offset >= len(data)
    layout = find_layout(rows[: len(rows) - _n_footers(rows)] if complete else rows, gaps)
    first, above = ends[layout.first - 1]
    stop, findings = _without_footers(data, first, separator, len(layout.names))
    return Header(layout.names, separator, first, stop, lines + above, [*layout.findings, *findings])


def _n_footers(rows: list[list[str]]) -> int:
    """Count the last rows that are totals, so that they do not take part in the search of the header."""
    count = 0
    width = max(map(len, rows), default=0)
    while count < min(MAX_FOOTERS, len(rows) - 3) and is_footer(rows[-1 - count], width):
        count += 1
    return count


def _without_footers(data: bytes, start: int, separator: str, width: int) -> tuple[int, list[Finding]]:
    """Return the end of the rows, before totals and remarks below the table."""
    stop = len(data)
    left_out: list[str] = []
    tail_start = max(start, stop - _LAST_BYTES)
    tail = data[tail_start:]
    if b'"' in tail and len(tail) == _LAST_BYTES:
        return stop, []
    lines = [match for match in LINE.finditer(data, tail_start) if match.end() > match.start()]
    for match in reversed(lines[1 if tail_start > start else 0 :]):
        text = match.group().decode(errors="ignore")
        row = next(csv.reader([text.rstrip("\r\n")], delimiter=separator), [])
        if not any(cell.strip() for cell in row):
            continue
        if not is_footer(row, width) or len(left_out) == MAX_FOOTERS or text.count('"') % 2:
            break
        stop = match.start()
        left_out.append(text.strip())
    if not left_out or stop <= start:
        return len(data), []
    return stop, [footer_finding("line", len(left_out), left_out[-1])]


def _separator(text: str, *, whole: bool) -> str:
    """Return the separator that gives most lines equally many fields; then the most fields."""
    best, best_score = ",", (0.0, 1)
    for separator in SEPARATORS:
        counts = []
        try:
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
                if row:
                    counts.append(len(row))
                if len(counts) > _SNIFFED_LINES:
                    break
        except csv.Error:  # a field beyond the module's limit
            pass
        if not whole and len(counts) > 1:
            counts.pop()  # possibly truncated
        width = max(set(counts), key=lambda width: (counts.count(width), width), default=1)
        if width == 1:
            continue
        alike = counts.count(width) / len(counts)
        if (alike, width) > best_score:
            best, best_score = separator, (alike, width)
    return best


def _parsed(data: bytes, header: Header, columns: list[str]) -> pa.Table:
    """Parse the rows with Arrow; a row longer than a block needs a larger block."""
    size = len(data) - header.start
    if not _INK.search(data, header.start):
        return pa.table({name: pa.array([], pa.string()) for name in columns})
    block = _BLOCK
    while True:
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(pa.py_buffer(data).slice(header.start)),
                read_options=arrow_csv.ReadOptions(column_names=list(header.names), block_size=block),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=header.separator, newlines_in_values=b'"' in data
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(header.names, pa.string()),
                    include_columns=columns,
                    null_values=[""],  # for other markers the whole column decides
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block < min(size, _LARGEST_BLOCK):
                block = min(block * 8, _LARGEST_BLOCK)
                continue
            if "Empty CSV" in str(error):
                return pa.table({name: pa.array([], pa.string()) for name in columns})
            raise


def _check_last_quote(data: bytes, header: Header, table: pa.Table) -> None:
    """Refuse a quote that is never closed: Arrow would read the rest of the file as one value."""
    if data.count(b'"') % 2 == 0 or table.column_names[-1:] != list(header.names[-1:]):
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if last is not None and ("\n" in last or "\r" in last) and data.endswith(last.encode()):
        line = line_number(data, len(data) - len(last.encode()))
        raise unclosed_quote(line)
