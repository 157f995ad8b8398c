"""What the training of a cascade tells: a record a stage, lines to read, and a bar on a terminal."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self, TextIO

from hedgerow.progress import ProgressBar
from hedgerow.vision.stage import Stage


@dataclass(frozen=True)
class StageReport:
    """One stage of a trained cascade.

    Parameters
    ----------
    stage : int
        From 1.
    n_learners : int
    hit_rate, false_alarm : float
        d and f of the stage, on held-out windows that pass all earlier stages.
    train_hit_rate, train_false_alarm : float
        The same on the windows it was boosted on.
    total_hit_rate, total_false_alarm : float
        Products of d and of f over the stages so far.
    n_positives, n_negatives : int
        Windows it was boosted on.
    pass_rate : float
        Share of the windows of the images without the object that all earlier stages let pass.
    n_images : int
        Images looked at for negatives, each turn counted.
    seconds : float
        Not kept in files.

    Examples
    --------
    >>> report = StageReport(1, 5, 0.998, 0.45, 0.999, 0.4, 0.998, 0.45, 2000, 1000, 0.7, 12, seconds=3.2)
    >>> report.total_false_alarm, "seconds" in report.plain()
    (0.45, False)
    """

    stage: int
    n_learners: int
    hit_rate: float
    false_alarm: float
    train_hit_rate: float
    train_false_alarm: float
    total_hit_rate: float
    total_false_alarm: float
    n_positives: int
    n_negatives: int
    pass_rate: float
    n_images: int
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        """As plain data, but for the seconds: equal training gives equal files."""
        record = asdict(self)
        del record["seconds"]
        return record


_HEADS = ("stage", "trees", "d", "f", "prod d", "prod f", "positives", "negatives", "mined at", "seconds")
_WIDTHS = (5, 5, 7, 7, 7, 8, 9, 9, 9, 8)


def heading() -> str:
    """The names of the columns that `line` prints."""
    return "  ".join(head.rjust(width) for head, width in zip(_HEADS, _WIDTHS, strict=True))


def line(report: StageReport) -> str:
    """One stage in one line."""
    cells = (
        f"{report.stage}",
        f"{report.n_learners}",
        f"{report.hit_rate:.4f}",
        f"{report.false_alarm:.4f}",
        f"{report.total_hit_rate:.4f}",
        f"{report.total_false_alarm:.1e}",
        f"{report.n_positives}",
        f"{report.n_negatives}",
        f"{report.pass_rate:.1e}",
        f"{report.seconds:.1f}",
    )
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=True))


class TrainingLog:
    """Lines that are kept, printed if asked for, and a bar while a stage is under way; a context manager.

    Parameters
    ----------
    verbose : int
        0: silent; 1: a bar on terminals, and targets that are missed; 2: a line a stage as well.
    stream : text stream, optional
        Standard error by default.
    """

    def __init__(self, verbose: int, stream: TextIO | None = None) -> None:
        self.lines: list[str] = []
        self._verbose = verbose
        self._bar = ProgressBar(None, "", clear=True, stream=stream)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def write(self, text: str, verbose: int = 2) -> None:
        """Keep a line, and print it if so much is asked for."""
        self.lines.append(text)
        if self._verbose >= verbose:
            self._bar.write_line(text)

    def note(self, text: str) -> None:
        """Keep a line that should not be missed, and print it unless nothing is to be printed."""
        self.write(text, verbose=1)

    def mining(self, stage: int, n_wanted: int) -> Callable[[int], None]:
        """A function to be told how many negatives there are."""
        self._bar.restart(n_wanted, f"stage {stage}: looking for negatives")
        return self._show

    def boosting(self, stage: int, max_learners: int) -> Callable[[Stage], None]:
        """A function to be shown the stage after every tree."""
        self._bar.restart(max_learners, f"stage {stage}: boosting")
        return lambda stage: self._show(
            len(stage.trees), f"{len(stage.trees)} trees, d {stage.hit_rate:.4f}, f {stage.false_alarm:.3f}"
        )

    def _show(self, done: int, text: str = "") -> None:
        if self._verbose:
            self._bar.update(done, text)
