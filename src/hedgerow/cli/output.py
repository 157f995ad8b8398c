"""What a command says: to a person on a terminal, or to a program as one JSON object.

With `--json` standard output holds the object and nothing else; whatever a person would read meanwhile is
left out, and progress and notes go to standard error as always.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

Told = Callable[[int, int, str], None]
PIPE_WIDTH = 118  # of a page for a file or another program; rich would take 80 columns for granted


class Output:
    """Standard output and standard error of a command.

    Parameters
    ----------
    as_json : bool
    """

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.page = _console(sys.stdout)
        self.notes = _console(sys.stderr)

    def say(self, words: str, style: str | None = None) -> None:
        """Words for a person."""
        if not self.as_json:
            self.page.print(Text(words, style=style or ""))

    def show(self, page: Any) -> None:
        """Something that prints itself as lines, whose lines are left as they are."""
        if not self.as_json:
            text = page.text(self.page.width) if hasattr(page, "text") else str(page)
            self.page.print(Text(text), soft_wrap=True)

    def note(self, words: str) -> None:
        """Something that a person should know, beside the result."""
        self.notes.print(Text.assemble(("note: ", "yellow"), words), soft_wrap=True)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
        """A table; all columns but the first are figures, unless their head ends in a space."""
        if self.as_json:
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
        for number, head in enumerate(heads):
            is_text = number == 0 or head.endswith(" ")
            table.add_column(head.rstrip(), justify="left" if is_text else "right", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.page.print(table)

    def result(self, value: dict[str, Any]) -> None:
        """The object for a program."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n")

    @contextmanager
    def progress(self, title: str) -> Iterator[Told]:
        """A bar on a terminal; the function that moves it."""
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[words]}"),
            console=self.notes,
            transient=True,
            disable=not self.notes.is_terminal,
        ) as bar:
            task = bar.add_task(title, total=None, words="")

            def told(done: int, total: int, words: str) -> None:
                bar.update(task, completed=done, total=total, words=words)

            yield told


def _console(stream: Any) -> Console:
    console = Console(file=stream, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def plain(value: Any) -> Any:
    """A value as JSON knows it; what is not finite becomes null.

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


def seconds(value: float) -> str:
    """A duration with three digits.

    >>> seconds(0.01234), seconds(2.345), seconds(75.2)
    ('12.3 ms', '2.35 s', '75.2 s')
    """
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def figure(value: float | None) -> str:
    """A score with four decimals, or as many digits when it is large.

    >>> figure(0.98765), figure(1234.5), figure(None)
    ('0.9877', '1234', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"
