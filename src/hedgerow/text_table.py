"""Plain-text tables that fit a page."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 118  # of a page for a file; a terminal has its own
_GAP = 3  # spaces between columns
_MIN_WIDTH = 16  # of a text column that is wrapped
_TINY, _HUGE = 1e-5, 1e15  # numbers outside have an exponent
_MORE_DECIMALS = 2  # of a column with a smaller error


def listed(texts: Sequence[str], most: int, noun: str = "", separator: str = ", ", end: str = " and") -> str:
    """Join some texts, and count those beyond `most`.

    >>> listed(["a", "b", "c"], 2), listed(["a", "b", "c"], 1, " columns", end=", and")
    ('a, b and 1 more', 'a, and 2 more columns')
    """
    more = len(texts) - most
    return separator.join(texts[:most]) + (f"{end} {more} more{noun}" if more > 0 else "")


def format_page(
    paragraphs: Sequence[str],
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    order: Sequence[int],
    text: Sequence[int],
    width: int = WIDTH,
) -> str:
    """Format paragraphs followed by the columns of a table that fit a page, at least two; see `format_table`.

    `order` lists the columns by importance; `text` names those that hold text, which may be narrow.

    >>> rows = [["a forest", "0.1", "0.95"]]
    >>> print(format_page(["Scores."], ["method", "log-loss", "accuracy"], rows, [0, 2, 1], [0], 24))
    Scores.
    <BLANKLINE>
     method     accuracy
     ───────────────────
     a forest       0.95
    """
    shown, used = list[int](), 1
    for column in order:
        widest = max(display_width(row[column]) for row in (heads, *rows))
        used += _GAP + (min(widest, _MIN_WIDTH) if column in text and column > 0 else widest)
        if used > width and len(shown) > 1:
            break
        shown.append(column)
    shown.sort()
    width = max(width, 20)
    lines = [line for paragraph in paragraphs for line in wrap(paragraph, width)]
    left = [number for number, column in enumerate(shown) if column in text]
    body = [[row[column] for column in shown] for row in (heads, *rows)]
    return "\n".join([*lines, "", format_table(body[0], body[1:], left, width)])


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
    """Format a value with its error; see `format_means`.

    >>> format_mean((0.6051, 0.0039)), format_mean((542.03, 6.2)), format_mean((1613.4, 121.7))
    ('0.605 ± 0.004', '542 ± 6', '1,613 ± 122')
    >>> format_mean((0.75, 0.0)), format_mean(None)
    ('0.7500 ± 0', '–')
    """
    return format_means([value])[0]


def format_means(values: Sequence[tuple[float, float] | None]) -> list[str]:
    """Format the values of a column with their errors.

    All have the same decimals: those of the first digit of an error, the second after a 1, of the smallest
    error that is not far below the others.

    >>> format_means([(1048.7, 97.0), (1050.2, 113.0), None])
    ['1,049 ± 97', '1,050 ± 113', '–']
    >>> format_means([(0.6051, 0.0039), (0.6123, 0.031), (0.5, 0.0)])
    ['0.605 ± 0.004', '0.612 ± 0.031', '0.500 ± 0']
    """
    found = [_error_decimals(one[1]) for one in values if one is not None and _has_error(one)]
    decimals = min(max(found), min(found) + _MORE_DECIMALS) if found else None
    texts = []
    for one in values:
        if one is None:
            texts.append("–")
            continue
        mean, error = one
        if decimals is None or not math.isfinite(mean):
            texts.append(f"{format_score(mean)} ± {error:.2g}")
            continue
        shown = _fixed(error, decimals) if _has_error(one) else f"{error:.2g}"
        texts.append(f"{_fixed(mean, decimals)} ± {shown}")
    return texts


def _has_error(value: tuple[float, float]) -> bool:
    return math.isfinite(value[0]) and math.isfinite(value[1]) and value[1] > 0


def _error_decimals(error: float) -> int:
    exponent = math.floor(math.log10(error))
    return max(-exponent + (not 1.95 <= error / 10.0**exponent < 9.5), 0)


def format_column(values: Sequence[float | None], digits: int = 4, *, whole: bool = False) -> list[str]:
    """Format the numbers of a column with the same decimals: `digits` digits of the largest, commas.

    whole : whether numbers without fractions have no decimals

    >>> format_column([1.874, 0.0000875, None]), format_column([0.875, 0.87712])
    (['1.874', '0.000', '–'], ['0.8750', '0.8771'])
    >>> format_column([308644.0, 3800810.5]), format_column([5.0, 50.0], whole=True)
    (['308,644', '3,800,810'], ['5', '50'])
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    if whole and all(float(value).is_integer() and abs(value) < _HUGE for value in known):
        decimals = 0
    else:
        largest = max(map(abs, known), default=0.0)
        if largest and not _TINY <= largest < _HUGE:
            return ["–" if value is None else format_number(value, digits) for value in values]
        decimals = digits if 1e-4 <= largest <= 1 or not largest else _decimals(largest, digits)
    return ["–" if value is None or not math.isfinite(value) else _fixed(value, decimals) for value in values]


def format_score(value: float | None) -> str:
    """Format a score with four digits; from 0.0001 to 1 with four decimals; below 1 it is not rounded to 1.

    >>> format_score(0.98765), format_score(1.0), format_score(0.99998), format_score(9.03225)
    ('0.9877', '1.0000', '> 0.9999', '9.032')
    >>> format_score(14361.2), format_score(0.0000412345), format_score(None)
    ('14,361', '0.00004123', '–')
    """
    if value is not None and 0.99995 <= value < 1.0 - 1e-12:
        return "> 0.9999"
    return format_column([value])[0]


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with some digits, at least all before the point; with an exponent if tiny or huge.

    >>> format_number(0.0314159), format_number(1613.42), format_number(123.4, 2), format_number(1.2e-9, 2)
    ('0.03142', '1,613', '123', '1.2e-09')
    """
    if value == 0 or not _TINY <= abs(value) < _HUGE:
        return f"{value:.{digits}g}"
    return _fixed(value, _decimals(abs(value), digits))


def _decimals(size: float, digits: int) -> int:
    return max(digits - 1 - math.floor(math.log10(size)), 0)


def _fixed(value: float, decimals: int) -> str:
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
