"""Pages: sentences and a table as plain text, of a given width."""

from collections.abc import Iterable, Sequence
from io import StringIO

WIDTH = 118  # of a page for a file; a terminal gives its own
_GAP = 3  # between columns
_LEAST = 16  # of a column whose words may go over several lines


def that_fit(columns: Sequence[Sequence[str]], folding: Sequence[int], width: int) -> list[int]:
    """The columns that a page is wide enough for, those listed first being the most important.

    Parameters
    ----------
    columns : sequence of sequences of str
        Heads and cells.
    folding : sequence of int
        Columns of words, which may be narrow.
    width : int

    Returns
    -------
    list of int
        At least two columns, in their order.

    Examples
    --------
    >>> that_fit([["method", "a forest"], ["log-loss", "0.1"], ["accuracy", "0.95"]], [], 24)
    [0, 1]
    """
    kept: list[int] = []
    used = 1
    for number, cells in enumerate(columns):
        widest = max(map(len, cells))
        used += _GAP + (min(widest, _LEAST) if number in folding else widest)
        if used > width and number > 1:
            break
        kept.append(number)
    return kept


def page(
    lines: Sequence[str],
    heads: Sequence[str],
    body: Iterable[Sequence[str]],
    left: Sequence[int],
    width: int = WIDTH,
) -> str:
    """Sentences and a table; the columns `left` hold words, the others figures, which are never broken.

    Examples
    --------
    >>> print(page(["Two."], ["name", "n"], [["a", "1"], ["b", "20"]], (0,)))
    Two.
    <BLANKLINE>
     name    n
     ─────────
     a       1
     b      20
    """
    from rich import box  # noqa: PLC0415 - loads 0.1 s of modules
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    written = StringIO()
    console = Console(file=written, width=max(width, 20), color_system=None, legacy_windows=False)
    for line in lines:
        console.print(line, markup=False, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        is_left = number in left
        table.add_column(head, justify="left" if is_left else "right", no_wrap=not is_left)
    for row in body:
        table.add_row(*map(Text, row))  # no text of a stranger's file is taken for markup
    console.print(table)
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip().splitlines())


def pair(given: tuple[float, float] | None) -> str:
    """A mean with its deviation.

    >>> pair((0.6051, 0.0039)), pair(None)
    ('0.605 ± 0.0039', '–')
    """
    return "–" if given is None else f"{given[0]:#.3g} ± {given[1]:#.2g}"


def seconds(given: float | None) -> str:
    """Three digits.

    >>> seconds(0.0537), seconds(120.4)
    ('0.0537', '120')
    """
    return "–" if given is None else f"{given:#.3g}" if given < 100 else f"{given:.0f}"
