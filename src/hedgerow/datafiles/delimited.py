"""Text of separated values, as bytes in memory, becomes an Arrow table of texts.

The header is read here, with Python's csv module; the rows by Arrow, every column as text, so that no type
depends on the block a value happens to stand in. `settling` finds the types afterwards, of whole columns.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from hedgerow.datafiles.errors import DataFileError, one_line, shown_value
from hedgerow.datafiles.names import check_columns, check_distinct

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
# Missing in every column, whatever its type; "NA" and "-" need a look at the rest of the column.
_NULLS = ["", "N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "?"]


class Header(NamedTuple):
    """The first line of a text table."""

    names: tuple[str, ...]
    separator: str
    start: int  # where the rows begin, in bytes
    lines: int  # how many lines stand before them


def read_delimited(data: bytes, columns: Sequence[str] | None = None) -> tuple[pa.Table, str]:
    r"""The table of texts in these bytes, and the separator.

    Missing values are null already where that needs no look at the column.

    >>> table, separator = read_delimited(b"a;b\n1;x\n2;\n")
    >>> table.to_pydict(), separator
    ({'a': ['1', '2'], 'b': ['x', None]}, ';')
    """
    if b"\0" in data:
        place = data.index(b"\0")
        raise DataFileError(f"line {_line_of(data, place)} holds a NUL byte; it is no text file, or damaged")
    header = read_header(data)
    check_columns(columns, header.names)
    table = _parsed(data, header, list(header.names) if columns is None else list(columns))
    if table.num_rows == 0:
        raise DataFileError(f"it holds a header of {len(header.names)} names but no rows")
    _check_last_quote(data, header, table)
    return table, header.separator


def read_header(data: bytes) -> Header:
    r"""The names, the separator and where the rows begin.

    Outer spaces of names do not count. A column without a name is called column_N by its place, from 1.

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
        if error.start < len(head) - 4 or len(head) == len(data) - start:  # not a letter cut in two
            raise _not_utf8(data, start + error.start) from error
        text = head[: error.start].decode()
    separator = _separator(text, whole=len(head) == len(data) - start)
    counted = _Counted(data, start)
    try:
        fields = next(csv.reader(counted, delimiter=separator))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataFileError(f"its first line is no header of names ({one_line(error, 80)})") from error
    return Header(_clean_names(fields), separator, counted.place, lines + counted.lines)


class _Counted:
    """The lines of some bytes as texts, one at a time; knows how far it has read."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data, self.place, self.lines = data, start, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        match = _LINE.match(self.data, self.place)
        if match is None or match.end() == match.start():
            raise StopIteration
        self.place, self.lines = match.end(), self.lines + 1
        return match.group().decode()


def _separator(text: str, *, whole: bool) -> str:
    """The separator that cuts the header, and then most lines alike, into the most fields."""
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
            counts.pop()  # perhaps cut
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
            f"its first line holds only numbers ({shown_value(shown)[1:-1]}); a line with the names of the "
            "columns is needed first"
        )
    taken = set(names)
    for place, name in enumerate(names, start=1):
        if not name:
            new = f"column_{place}"
            while new in taken:
                new += "_"
            names[place - 1] = new
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
    """Whether the names are 0, 1, 2, ... or years: numbers, but names all the same."""
    if not all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names):
        return False
    numbers = [int(name) for name in names]
    return (len(numbers) >= 3 or numbers[0] == 0) and numbers == list(range(numbers[0], numbers[-1] + 1))


def _parsed(data: bytes, header: Header, columns: list[str]) -> pa.Table:
    """Let Arrow cut the rows; a row longer than a block needs a larger one."""
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
                    null_values=_NULLS,
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
    """Arrow names no line; look again, slowly, for the one that is wrong."""
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return _not_utf8(data, wrong.start)
    n_names = len(header.names)
    unread = DataFileError(f"its rows cannot be read ({one_line(error)})")
    rows = _Counted(data, header.start)
    reader = csv.reader(rows, delimiter=header.separator)
    before = 0
    try:
        for row in reader:
            if row and len(row) != n_names:
                line = header.lines + before + 1
                if reader.line_num > before + 1 and rows.place == len(data) and data.count(b'"') % 2:
                    return _unclosed(line)
                fields = "field" if len(row) == 1 else "fields"
                return DataFileError(
                    f"line {line} has {len(row)} {fields}, but the header has {n_names} names "
                    f"(separator {header.separator!r}); mend that line, or put fields that hold the "
                    "separator in double quotes"
                )
            before = reader.line_num
    except csv.Error:  # a field beyond the module's limit: what pyarrow said must do
        return unread
    return unread


def _not_utf8(data: bytes, place: int) -> DataFileError:
    if _CONTROL.search(data, 0, _SNIFFED_BYTES):
        return DataFileError("it is no text, nor a Parquet or Arrow file")
    byte = data[place]
    letter = bytes([byte]).decode("cp1252", "replace")
    return DataFileError(
        f"line {_line_of(data, place)} is not UTF-8 (byte 0x{byte:02X}, {letter!r} in Windows-1252): it "
        "looks like Latin-1 or Windows-1252; save it as UTF-8 (for example iconv -f WINDOWS-1252 -t UTF-8 "
        "OLD > NEW)"
    )


def _line_of(data: bytes, place: int) -> int:
    """The number of the line, from 1, that holds a byte; line ends may be of any kind."""
    before = data[:place]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def _check_last_quote(data: bytes, header: Header, table: pa.Table) -> None:
    """Refuse a quote that is never closed: Arrow would take the rest of the file for one value."""
    if data.count(b'"') % 2 == 0 or table.column_names[-1:] != list(header.names[-1:]):
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if last is not None and ("\n" in last or "\r" in last) and data.endswith(last.encode()):
        line = _line_of(data, len(data) - len(last.encode()))
        raise _unclosed(line)


def _unclosed(line: int) -> DataFileError:
    return DataFileError(f'a double quote (") opened on line {line} is never closed')
