"""Parse delimited text, as bytes in memory, into an Arrow table of texts.

Python's csv module reads the header; Arrow reads the rows, every column as text, so that no type depends on
the block of a value. `column_types` then infers the types from whole columns.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from hedgerow.datafiles.column_types import MISSING
from hedgerow.datafiles.errors import DataFileError, check_columns, check_distinct, format_value, one_line

SEPARATORS = (",", ";", "\t", "|")
_SNIFFED_LINES = 50
_SNIFFED_BYTES = 1 << 20
_BLOCK = 1 << 23  # bytes parsed at once; a single row may be longer, see _parsed
_LARGEST_BLOCK = (1 << 31) - 1
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BLANK = re.compile(rb"[ \t]*(?:\r\n|\r|\n)")
_INK = re.compile(rb"[^ \t\r\n]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
_BOM = b"\xef\xbb\xbf"


class Header(NamedTuple):
    """The header line of a text table."""

    names: tuple[str, ...]
    separator: str
    start: int  # offset of the rows, in bytes
    lines: int  # number of lines before the rows


def read_delimited(data: bytes, columns: Sequence[str] | None = None) -> tuple[pa.Table, str]:
    r"""Return the table of texts in these bytes, and the separator.

    Values that are missing in any column are null.

    >>> table, separator = read_delimited(b"a;b\n1;x\n2;\n")
    >>> table.to_pydict(), separator
    ({'a': ['1', '2'], 'b': ['x', None]}, ';')
    """
    if b"\0" in data:
        line = _line_of(data, data.index(b"\0"))
        raise DataFileError(f"line {line} holds a NUL byte; it is not a text file, or it is damaged")
    header = read_header(data)
    check_columns(columns, header.names)
    table = _parsed(data, header, list(header.names) if columns is None else list(columns))
    if table.num_rows == 0:
        raise DataFileError(f"it holds a header of {len(header.names)} names but no rows")
    _check_last_quote(data, header, table)
    return table, header.separator


def read_header(data: bytes) -> Header:
    r"""Read the names and the separator, and find the start of the rows.

    Leading and trailing spaces of names are removed. A column without a name is called column_N, from 1.

    >>> read_header(b"\xef\xbb\xbfa;b c\n1;2\n").names
    ('a', 'b c')
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    if not _INK.search(data, start):
        raise DataFileError("it is empty")
    lines = 0
    while blank := _BLANK.match(data, start):
        start, lines = blank.end(), lines + 1
    head = data[start : start + _SNIFFED_BYTES]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4 or len(head) == len(data) - start:  # not a truncated character
            raise _not_utf8(data, start + error.start) from error
        text = head[: error.start].decode()
    separator = _separator(text, whole=len(head) == len(data) - start)
    reader = _LineReader(data, start)
    try:
        fields = next(csv.reader(reader, delimiter=separator))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataFileError(f"its first line is not a header of names ({one_line(error, 80)})") from error
    return Header(_clean_names(fields), separator, reader.offset, lines + reader.lines)


class _LineReader:
    """An iterator over the lines of some bytes, with its offset."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data, self.offset, self.lines = data, start, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        match = _LINE.match(self.data, self.offset)
        if match is None or match.end() == match.start():
            raise StopIteration
        self.offset, self.lines = match.end(), self.lines + 1
        return match.group().decode()


def _separator(text: str, *, whole: bool) -> str:
    """Return the separator that gives most lines as many fields as the header; then the most fields."""
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
        if not counts or counts[0] == 1:
            continue
        alike = sum(count == counts[0] for count in counts) / len(counts)
        if (alike, counts[0]) > best_score:
            best, best_score = separator, (alike, counts[0])
    return best


def _clean_names(fields: list[str]) -> tuple[str, ...]:
    names = [field.strip() for field in fields]
    if all(_is_number(name) for name in names) and not _counts_up(names):
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise DataFileError(
            f"its first line holds only numbers ({format_value(shown)[1:-1]}); the first line must hold the "
            "names of the columns"
        )
    taken = set(names)
    for number, name in enumerate(names, start=1):
        if not name:
            new = f"column_{number}"
            while new in taken:
                new += "_"
            names[number - 1] = new
            taken.add(new)
    check_distinct(names)
    return tuple(names)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return not name[:1].isalpha()  # nan, inf


def _counts_up(names: list[str]) -> bool:
    """Return whether the names are 0, 1, 2, ... or consecutive years: numbers that are valid names."""
    if not all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names):
        return False
    numbers = [int(name) for name in names]
    return (len(numbers) >= 3 or numbers[0] == 0) and numbers == list(range(numbers[0], numbers[-1] + 1))


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
                    null_values=MISSING,  # for "NA" and "-" the whole column decides
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block < min(size, _LARGEST_BLOCK):
                block = min(block * 8, _LARGEST_BLOCK)
                continue
            if "Empty CSV" in str(error):
                return pa.table({name: pa.array([], pa.string()) for name in columns})
            raise _explained(data, header, error) from error


def _explained(data: bytes, header: Header, error: Exception) -> DataFileError:
    """Return an error that names the wrong line, which Arrow does not report."""
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return _not_utf8(data, wrong.start)
    n_names = len(header.names)
    unread = DataFileError(f"its rows cannot be read ({one_line(error)})")
    rows = _LineReader(data, header.start)
    reader = csv.reader(rows, delimiter=header.separator)
    before = 0
    try:
        for row in reader:
            if row and len(row) != n_names:
                line = header.lines + before + 1
                if reader.line_num > before + 1 and rows.offset == len(data) and data.count(b'"') % 2:
                    return _unclosed(line)
                fields = "field" if len(row) == 1 else "fields"
                return DataFileError(
                    f"line {line} has {len(row)} {fields}, but the header has {n_names} names "
                    f"(separator {header.separator!r}); correct that line, or quote fields that contain the "
                    "separator"
                )
            before = reader.line_num
    except csv.Error:  # a field beyond the module's limit: pyarrow's message remains
        return unread
    return unread


def _not_utf8(data: bytes, offset: int) -> DataFileError:
    if _CONTROL.search(data, 0, _SNIFFED_BYTES):
        return DataFileError("it is not text, and not a Parquet or Arrow file")
    byte = data[offset]
    letter = bytes([byte]).decode("cp1252", "replace")
    return DataFileError(
        f"line {_line_of(data, offset)} is not UTF-8 (byte 0x{byte:02X}, {letter!r} in Windows-1252): it "
        "looks like Latin-1 or Windows-1252; save it as UTF-8 (for example iconv -f WINDOWS-1252 -t UTF-8 "
        "OLD > NEW)"
    )


def _line_of(data: bytes, offset: int) -> int:
    """Return the number of the line, from 1, that contains a byte; line ends may be of any kind."""
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def _check_last_quote(data: bytes, header: Header, table: pa.Table) -> None:
    """Refuse a quote that is never closed: Arrow would read the rest of the file as one value."""
    if data.count(b'"') % 2 == 0 or table.column_names[-1:] != list(header.names[-1:]):
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if last is not None and ("\n" in last or "\r" in last) and data.endswith(last.encode()):
        line = _line_of(data, len(data) - len(last.encode()))
        raise _unclosed(line)


def _unclosed(line: int) -> DataFileError:
    return DataFileError(f'a double quote (") opened on line {line} is never closed')
