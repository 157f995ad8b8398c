"""Progress on a terminal: a bar, or a line a round.

Apart from the other callbacks, so that a silent fit does not load rich.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hedgerow.boosting.loop import Round


class ProgressBar:
    """A bar with the losses beside it, on terminals only; a context manager.

    Parameters
    ----------
    n_rounds : int
    title : str
    console : rich.console.Console, optional
        Where to draw; standard error by default.
    """

    def __init__(self, n_rounds: int, title: str, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[losses]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=n_rounds, losses="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._bar.disable:  # else it would still write an empty line
            self._bar.stop()

    def __call__(self, done: Round) -> None:
        """Look at a round."""
        self._bar.update(self._task, completed=done.number + 1, losses=_losses(done))


class Printer:
    """Print a line every `every` rounds."""

    def __init__(self, every: int = 1, console: Console | None = None) -> None:
        self.every = every
        self.console = console or Console(stderr=True)

    def __call__(self, done: Round) -> None:
        """Look at a round."""
        if (done.number + 1) % self.every == 0 or done.number + 1 == done.n_rounds:
            line = f"[{done.number + 1}/{done.n_rounds}] {done.seconds:.2f} s  {_losses(done)}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _losses(done: Round) -> str:
    parts: Sequence[tuple[str, float | None]] = [
        ("train", done.train_loss),
        *(("validation", loss) for loss in done.validation_loss),
    ]
    return "  ".join(f"{name} {loss:.5f}" for name, loss in parts if loss is not None)
