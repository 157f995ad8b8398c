"""What a cascade is trained on: positives and images, each in two parts, to boost on and held out.

Positives are parted by their originals and images one by one, by a hash of the seed: a window that is held
out has no relative among those that are boosted on.
"""

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError
from hedgerow.estimators import parameters
from hedgerow.estimators.parameters import Allowed, nothing, one_of, real, whole
from hedgerow.kernels.cpu.random import HELD_OUT_WINDOWS, draw_rows
from hedgerow.progress import ProgressBar
from hedgerow.threads import Team
from hedgerow.vision.features import Features, HaarFeatures, LBPFeatures, check_window
from hedgerow.vision.images import Jitter
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.samples import Negatives, load_negatives, load_positives
from hedgerow.vision.scan import judge
from hedgerow.vision.stage import RULES, Stage

_POSITIVES, _IMAGES = 0, 1


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Windows, images and features.

    train, held : uint8 (n, height, width), positives to boost on and held out
    images : Negatives
    train_images, held_images : their numbers, to boost on and held out
    features : Features
        To choose from.
    seed : int
    key : str
        Of the data and the settings that a stage depends on.
    """

    train: NDArray[np.uint8]
    held: NDArray[np.uint8]
    images: Negatives
    train_images: NDArray[np.int64]
    held_images: NDArray[np.int64]
    features: Features
    seed: int
    key: str


def read_training_data(
    positives: Any, negatives: Any, groups: Any, parameters: Mapping[str, Any], settings: Mapping[str, Any]
) -> TrainingData:
    """Read and part the data.

    The parameters are those of `CascadeTrainer`, the seed for `random_state`; the settings go into the key.
    """
    window = check_window(parameters["window"])
    seed, share = parameters["random_state"], parameters["validation_fraction"]
    with _named("positives"):
        samples = load_positives(
            positives,
            window,
            jitter=parameters["jitter"],
            mirror=parameters["mirror"],
            group=groups,
            random_state=seed,
        )
    with _named("negatives"):
        images = load_negatives(negatives, window)
    kind = parameters["features"]
    features = LBPFeatures(window) if kind == "lbp" else HaarFeatures(window, kind)
    held = held_out(samples.group, share, seed, _POSITIVES)
    images_held = held_out(np.arange(len(images)), share, seed, _IMAGES)
    digest = hashlib.sha256(repr([seed, sorted(settings.items()), images.digest()]).encode())
    digest.update(samples.images.tobytes())
    digest.update(samples.group.tobytes())
    return TrainingData(
        samples.images[~held],
        samples.images[held],
        images,
        np.flatnonzero(~images_held),
        np.flatnonzero(images_held),
        features,
        seed,
        digest.hexdigest(),
    )


@contextmanager
def _named(parameter: str) -> Iterator[None]:
    """Errors of the loaders speak of their `source`: say which parameter of `fit` that is."""
    try:
        yield
    except (TypeError, ValueError) as error:  # ModelFileError, too; other kinds are made otherwise
        kind = type(error) if type(error) in {TypeError, ModelFileError} else ValueError
        raise kind(f"{parameter}: {error}") from error


def held_out(group: NDArray[Any], share: float, seed: int, purpose: int) -> NDArray[np.bool_]:
    """Which entries are held out: at least one of the groups, and at least one is not.

    >>> held_out(np.array([7, 7, 8, 8, 9]), 0.3, 0, 0).tolist()
    [False, False, True, True, False]
    """
    names, place = np.unique(group, return_inverse=True)
    if len(names) < 2:
        what = "image without the object" if purpose == _IMAGES else "original"
        raise ValueError(f"there is only {len(names)} {what}: at least 2 are needed, one to be held out")
    keys = np.empty(len(names), np.uint64)
    draw_rows(seed, HELD_OUT_WINDOWS, purpose, keys)
    n = min(len(names) - 1, max(1, math.floor(share * len(names) + 0.5)))
    held = np.zeros(len(names), bool)
    held[np.argsort(keys, kind="stable")[:n]] = True
    chosen: NDArray[np.bool_] = held[place]
    return chosen


def passes(model: CascadeModel, images: NDArray[np.uint8], team: Team) -> NDArray[np.bool_]:
    """Which windows pass all stages."""
    stages, _ = judge(model, images, team)
    passed: NDArray[np.bool_] = stages == model.n_stages
    return passed


LEAST_NEGATIVES = 20  # fewer say nothing about a false-alarm rate


def _each_stage(low: float, high: float, *, above: bool = False, below: bool = False) -> Allowed:
    """Allow a number for all stages, or a sequence with one for each."""
    one = real(low, high, above=above, below=below)

    def test(v: Any) -> bool:
        return one.test(v) or (isinstance(v, list | tuple) and len(v) > 0 and all(one.test(n) for n in v))

    return Allowed(test, f"{one.description}, or a list of such numbers, one a stage")


def _is_file_name(value: Any) -> bool:
    if not isinstance(value, str | os.PathLike):
        return False
    path = Path(value)
    return path.resolve().parent.is_dir() and not path.is_dir()


ALLOWED = {
    "features": one_of("basic", "core", "all", "lbp"),
    "algorithm": one_of(*RULES),
    "n_stages": whole(1, 1000),
    "min_hit_rate": _each_stage(0.5, 1.0),
    "max_false_alarm": _each_stage(0.0, 1.0, above=True, below=True),
    "target_false_alarm": real(0.0, 1.0, above=True, below=True) | nothing(),
    "max_learners": whole(1),
    "max_depth": whole(1, 8),
    "n_negatives": whole(LEAST_NEGATIVES),
    "validation_fraction": real(0.0, 1.0, above=True, below=True),
    "max_features": whole(1) | nothing(),
    "weight_trim": real(0.0, 0.5),
    "scale_factor": real(1.0, 2.0, above=True),
    "jitter": whole(0, 1000) | Allowed(lambda v: isinstance(v, Jitter), "a Jitter"),
    "mirror": parameters.flag(),
    "random_state": parameters.seed() | nothing(),
    "n_jobs": parameters.threads() | nothing(),
    "verbose": whole(0, 2),
    "checkpoint": nothing() | Allowed(_is_file_name, "the name of a file in a folder that exists"),
}


def plain(value: Any) -> Any:
    """Parameters as JSON knows them.

    >>> plain((np.float64(0.5), 1))
    [0.5, 1]
    """
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Jitter):
        return {name: plain(number) for name, number in asdict(value).items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def of_stage(value: Any, number: int) -> float:
    """The value for a stage: the last one of a list is for all that follow.

    >>> of_stage([0.9, 0.5], 7)
    0.5
    """
    return float(value[min(number, len(value) - 1)] if isinstance(value, list | tuple) else value)


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
