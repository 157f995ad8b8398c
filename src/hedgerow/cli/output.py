"""The output of a command: text for a reader, or one JSON object for a program.

With `--json`, standard output contains the object only. Progress and notes always go to standard error.
"""

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from hedgerow.progress import ProgressBar, ProgressCallback
from hedgerow.text_table import WIDTH, format_table, printable, wrap

_STYLES = {"bold": "\x1b[1m", "green": "\x1b[32m", "yellow": "\x1b[33m"}


class Output:
    """Standard output and standard error of a command.

    Parameters
    ----------
    as_json : bool
    """

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH

    def text(self, text: str, style: str = "") -> None:
        """Print a paragraph, wrapped to the width of the terminal."""
        if not self.as_json:
            for line in wrap(printable(text), max(self.width, 20)):
                sys.stdout.write(_styled(line, style, sys.stdout) + "\n")

    def page(self, page: Any) -> None:
        """Print an object whose method `text` formats it for a width."""
        if not self.as_json:
            sys.stdout.write(page.text(self.width) + "\n")

    def note(self, text: str) -> None:
        """Print a note to standard error."""
        sys.stderr.write(f"{_styled('note:', 'yellow', sys.stderr)} {printable(text)}\n")

    def table(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        left: Sequence[int] = (0,),
        title: str = "",
    ) -> None:
        """Print a table; the columns `left` hold text, the others numbers."""
        if not self.as_json:
            above = f"\n{title}\n" if title else "\n"
            sys.stdout.write(f"{above}{format_table(heads, rows, left, self.width)}\n\n")

    def result(self, value: dict[str, Any]) -> None:
        """Print the JSON object, if requested."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n")

    @contextmanager
    def progress(self, title: str) -> Iterator[ProgressCallback]:
        """Return a callback that shows progress(done, total, text): a bar on a terminal, lines in a log."""
        bar = ProgressBar(None, title, clear=sys.stderr.isatty(), elapsed=True)
        total = [-1]

        def show(done: int, n_steps: int, text: str) -> None:
            if n_steps != total[0]:
                total[0] = n_steps
                bar.restart(n_steps, title)
            bar.update(done, text)

        with bar:
            yield show


def _styled(text: str, style: str, stream: TextIO) -> str:
    coloured = style and stream.isatty() and not os.environ.get("NO_COLOR")
    return f"{_STYLES[style]}{text}\x1b[0m" if coloured else text


def plain(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become null.

    >>> plain({"rows": np.int64(3), "loss": float("nan"), "names": ("a", np.str_("b"))})
    {'rows': 3, 'loss': None, 'names': ['a', 'b']}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def format_duration(value: float) -> str:
    """Format a duration with three digits.

    >>> format_duration(0.01234), format_duration(2.345), format_duration(75.2)
    ('12.3 ms', '2.35 s', '75.2 s')
    """
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"
