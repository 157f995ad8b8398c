"""Progress of long computations, as plain text on standard error.

On a terminal one line is redrawn in place:

    boosting  ████████████░░░░░░░░  61/100  0:04 left  train 0.23511

On other streams (a log file, a pipe, a notebook) a line without control characters is written for every tenth
of the steps, at least a second apart; a bar that is removed at the end writes nothing. `lines` requests a
line per update, on any stream:

    boosting  61/100  0:04 left  train 0.23511
    [61/100] 6.31 s  train 0.23511
"""

import io
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO, TypeAlias

ProgressCallback: TypeAlias = Callable[[int, int, str], Any]  # called with steps done, all steps, and a text

_BAR_WIDTH = 20
_ERASE = "\r\x1b[K"  # back to the first column, and clear the line
_REDRAW_SECONDS = (
    0.1  # seconds between updates; more would be unreadable, and delay the computation on a slow terminal
)
_LOG_FRACTION, _LOG_SECONDS = 0.1, 1.0  # fraction of the steps, and seconds, between two lines of a log


class ProgressBar:
    """A progress bar; a context manager.

    >>> with ProgressBar(2, "fitting", lines=True, stream=sys.stdout) as bar:
    ...     bar.update(1, "train 0.5")
    [1/2] 0... s  train 0.5
    """

    def __init__(
        self,
        total: int | None,  # number of steps, if known
        title: str,
        *,
        lines: bool = False,  # one line per update, on any stream, instead of a bar
        clear: bool = False,  # the bar is removed at the end
        elapsed: bool = False,  # show the elapsed time, not the remaining time: steps differ in length
        separator: str = "/",  # between the count and the total
        stream: TextIO | None = None,  # standard error by default
    ) -> None:
        self.stream = stream or sys.stderr or io.StringIO()  # programs without a console have no sys.stderr
        self._lines = lines
        self._clear = clear
        self._show_elapsed, self._separator = elapsed, separator
        self._is_terminal = not lines and self.stream.isatty()
        self._drawn = ""  # the line on the terminal
        self.restart(total, title)

    def restart(self, total: int | None, title: str) -> None:
        """Count from 0 again, under another title."""
        self._total, self._title = total, title
        self._started = time.perf_counter()
        self._first: int | None = None
        self._next_draw = self._next_step = 0.0
        self._pending = ""

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            last = f"{_ERASE if self._pending else ''}{self._pending}\n"
            self._write(_ERASE if self._clear else last)
        self._drawn = ""

    def update(self, done: int, text: str = "") -> None:
        """Show that `done` steps are complete, and `text` after the count."""
        elapsed = time.perf_counter() - self._started
        if self._lines:
            count = f"[{done}]" if self._total is None else f"[{done}/{self._total}]"
            self._write(f"{count} {elapsed:.2f} s  {text}".rstrip() + "\n")
        elif self._is_terminal:
            if self._first is None:  # a resumed computation does not start at 0
                self._first = done - 1
            line = self._line(done, elapsed, text)[: shutil.get_terminal_size().columns - 1]
            now = time.perf_counter()
            if now < self._next_draw and done != self._total:
                self._pending = line
                return
            self._next_draw, self._pending, self._drawn = now + _REDRAW_SECONDS, "", line
            self._write(_ERASE + line)
        elif not self._clear:
            self._log(done, elapsed, text)

    def _log(self, done: int, elapsed: float, text: str) -> None:
        """Write a line to a log if enough time and steps have passed since the last one."""
        if self._first is None:
            self._first = done - 1
        is_last = done == self._total
        steps = 1 if self._total is None else _LOG_FRACTION * self._total
        if is_last or (elapsed >= self._next_draw and done >= self._next_step):
            self._next_draw, self._next_step = elapsed + _LOG_SECONDS, done + steps
            self._write(self._line(done, elapsed, text, bar=False) + "\n")

    def write_line(self, text: str) -> None:
        """Write a line above the bar."""
        self._write(f"{_ERASE if self._drawn else ''}{text}\n{self._drawn}")

    def _line(self, done: int, elapsed: float, text: str, *, bar: bool = True) -> str:
        if self._total is None:
            return "  ".join(filter(None, (self._title, f"{done:,}", _clock(elapsed), text)))
        full = _BAR_WIDTH * min(done, self._total) // max(self._total, 1)
        shown = "█" * full + "░" * (_BAR_WIDTH - full) if bar else ""
        steps = done - (self._first or 0)
        left = f"{_clock(elapsed / max(steps, 1) * max(self._total - done, 0))} left"
        duration = _clock(elapsed) if self._show_elapsed else left
        count = f"{done:,}{self._separator}{self._total:,}"
        return "  ".join(filter(None, (self._title, shown, count, duration, text)))

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _clock(seconds: float) -> str:
    """Format a duration.

    >>> _clock(75), _clock(3671)
    ('1:15', '1:01:11')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
