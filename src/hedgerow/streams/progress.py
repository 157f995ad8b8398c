"""A bar of rows for each pass, on terminals; apart, so that a silent pass does not load rich."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Advance(Protocol):
    """Is told how many more rows have been read."""

    def __call__(self, n_rows: int) -> None:
        """Move the bar."""


@contextmanager
def rows_bar(title: str, n_rows: int | None, console: Console | None = None) -> Iterator[Advance]:
    """Show a bar while rows are read; nothing where standard error is no terminal."""
    console = console or Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    task = bar.add_task(title, total=n_rows)
    if bar.disable:  # else it would still write an empty line
        yield lambda _: None
        return
    with bar:
        yield lambda n_rows: bar.advance(task, n_rows)
