"""Plain-text tables that fit a page."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 118  # of a page for a file; a terminal has its own
_GAP = 3  # spaces between columns
_MIN_WIDTH = 16  # of a text column that is wrapped


def fitting_columns(columns: Sequence[Sequence[str]], wrapped: Sequence[int], width: int) -> list[int]:
    """Return the leading columns that fit a page, at least two; each is a head and its values.

    The caller lists the most important ones first; those in `wrapped` hold text and may be narrow.

    >>> fitting_columns([["method", "a forest"], ["log-loss", "0.1"], ["accuracy", "0.95"]], [], 24)
    [0, 1]
    """
    kept: list[int] = []
    used = 1
    for number, texts in enumerate(columns):
        widest = max(map(display_width, texts))
        used += _GAP + (min(widest, _MIN_WIDTH) if number in wrapped else widest)
        if used > width and number > 1:
            break
        kept.append(number)
    return kept


def format_page(
    paragraphs: Sequence[str],
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Sequence[int] = (0,),
    width: int = WIDTH,
) -> str:
    """Format paragraphs followed by a table; see `format_table`."""
    width = max(width, 20)
    lines = [line for paragraph in paragraphs for line in wrap(paragraph, width)]
    return "\n".join([*lines, "", format_table(heads, rows, left, width)])


def format_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), width: int = WIDTH
) -> str:
    """Format a table as text.

    The columns `left` hold text: they are aligned left, and wrapped if the table is wider than the page. The
    others hold numbers: they are aligned right and never wrapped.

    >>> print(format_table(["name", "n"], [["a", "1"], ["b", "20"]]))
     name    n
     ─────────
     a       1
     b      20
    """
    body = [[printable(value) for value in row] for row in [heads, *rows]]
    widths = [max(display_width(row[column]) for row in body) for column in range(len(heads))]
    while left and 1 + sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max(left, key=lambda column: widths[column])
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    lines = [line for row in body for line in _row_lines(row, widths, left)]
    n_head_lines = len(list(_row_lines(body[0], widths, left)))
    rule = " " + "─" * (sum(widths) + _GAP * (len(widths) - 1))
    return "\n".join([*lines[:n_head_lines], rule, *lines[n_head_lines:]])


def _row_lines(row: Sequence[str], widths: Sequence[int], left: Sequence[int]) -> Iterator[str]:
    wrapped = [
        wrap(value, width) if column in left else [value]
        for column, (value, width) in enumerate(zip(row, widths, strict=True))
    ]
    for number in range(max(map(len, wrapped))):
        line = []
        for column, width in enumerate(widths):
            text = wrapped[column][number] if number < len(wrapped[column]) else ""
            space = " " * (width - display_width(text))
            line.append(text + space if column in left else space + text)
        yield " " + (" " * _GAP).join(line).rstrip()


def wrap(text: str, width: int) -> list[str]:
    """Break text into lines at spaces, and words that are longer than a line anywhere.

    >>> wrap("a forest of a hundred", 9)
    ['a forest', 'of a', 'hundred']
    """
    if display_width(text) <= width:
        return [text]
    lines = [text[: len(text) - len(text.lstrip())]]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if display_width(longer) <= width:
            lines[-1] = longer
            continue
        if lines[-1].strip():
            lines.append("")
        for character in word:
            if lines[-1] and display_width(lines[-1] + character) > width:
                lines.append("")
            lines[-1] += character
    return lines


def display_width(text: str) -> int:
    """Count the columns that a terminal needs for a text.

    >>> display_width("été"), display_width("森")
    (3, 2)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def printable(text: str) -> str:
    r"""Escape control characters, which a name in a file may hold.

    >>> printable("a\x1b[31m\n")
    'a\\x1b[31m\\n'
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def format_mean(value: tuple[float, float] | None) -> str:
    """Format a value with its error, both rounded to the first digit of the error, the second after a 1.

    >>> format_mean((0.6051, 0.0039)), format_mean((542.03, 6.2)), format_mean((1613.4, 121.7))
    ('0.605 ± 0.004', '542 ± 6', '1610 ± 120')
    >>> format_mean((0.75, 0.0)), format_mean(None)
    ('0.7500 ± 0', '–')
    """
    if value is None:
        return "–"
    mean, error = value
    if not (math.isfinite(mean) and math.isfinite(error) and error > 0):
        return f"{format_number(mean)} ± {error:.2g}"
    exponent = math.floor(math.log10(error))
    first = error / 10.0**exponent
    decimals = -exponent + (not 1.95 <= first < 9.5)
    return f"{_rounded(mean, decimals)} ± {_rounded(error, decimals)}"


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with some significant digits, without an exponent unless it is tiny or huge.

    >>> format_number(0.0314159), format_number(1613.42), format_number(123.4, 2), format_number(1.2e-9, 2)
    ('0.03142', '1613', '120', '1.2e-09')
    """
    if value == 0 or not 1e-5 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    return _rounded(value, digits - 1 - math.floor(math.log10(abs(value))))


def _rounded(value: float, decimals: int) -> str:
    """Round to a number of decimals, which may be negative."""
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"


def format_seconds(value: float | None) -> str:
    """Format seconds with three digits.

    >>> format_seconds(0.0537), format_seconds(120.4)
    ('0.0537', '120')
    """
    return "–" if value is None else f"{value:#.3g}" if value < 100 else f"{value:.0f}"
