"""Data, parameters and log of the training of a cascade.

Positives and images are split into training and validation data by a hash of the seed. Positives are split by
their originals: no validation window shows the original of a training window.
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
from hedgerow.estimators.parameters import Allowed, integer, none, number, one_of
from hedgerow.kernels.cpu.random import HELD_OUT_WINDOWS, draw_rows
from hedgerow.progress import ProgressBar
from hedgerow.vision.features import Features, HaarFeatures, LBPFeatures, check_window
from hedgerow.vision.samples import Jitter, Negatives, load_negatives, load_positives
from hedgerow.vision.stage import RULES, Stage

_POSITIVES, _IMAGES = 0, 1


@dataclass(frozen=True, eq=False)
class CascadeData:
    """Windows, images and features."""

    train: NDArray[np.uint8]  # (n, height, width), positives
    validation: NDArray[np.uint8]  # likewise
    images: Negatives
    train_images: NDArray[np.int64]  # indices of images
    validation_images: NDArray[np.int64]
    features: Features  # candidates
    seed: int
    key: str  # checksum of the data and of the parameters that a stage depends on


def read_training_data(
    positives: Any, negatives: Any, groups: Any, parameters: Mapping[str, Any], settings: Mapping[str, Any]
) -> CascadeData:
    """Read and split the data.

    The parameters are those of `CascadeTrainer`, with the seed as `random_state`; `settings` are in the key.
    """
    window = check_window(parameters["window"])
    seed, fraction = parameters["random_state"], parameters["validation_fraction"]
    with _prefix_errors("positives"):
        samples = load_positives(
            positives,
            window,
            jitter=parameters["jitter"],
            mirror=parameters["mirror"],
            group=groups,
            random_state=seed,
        )
    with _prefix_errors("negatives"):
        images = load_negatives(negatives, window)
    kind = parameters["features"]
    features = LBPFeatures(window) if kind == "lbp" else HaarFeatures(window, kind)
    validation = validation_mask(samples.group, fraction, seed, _POSITIVES)
    images_validation = validation_mask(np.arange(len(images)), fraction, seed, _IMAGES)
    digest = hashlib.sha256(repr([seed, sorted(settings.items()), images.digest()]).encode())
    digest.update(samples.images.tobytes())
    digest.update(samples.group.tobytes())
    return CascadeData(
        samples.images[~validation],
        samples.images[validation],
        images,
        np.flatnonzero(~images_validation),
        np.flatnonzero(images_validation),
        features,
        seed,
        digest.hexdigest(),
    )


@contextmanager
def _prefix_errors(parameter: str) -> Iterator[None]:
    """Prefix errors of the loaders, which name their `source`, with the parameter of `fit`."""
    try:
        yield
    except (TypeError, ValueError) as error:  # constructors of other subclasses differ
        kind = type(error) if type(error) in {TypeError, ModelFileError} else ValueError
        raise kind(f"{parameter}: {error}") from error


def validation_mask(group: NDArray[Any], fraction: float, seed: int, purpose: int) -> NDArray[np.bool_]:
    """Return which entries are validation data: at least one of the groups, but not all.

    >>> validation_mask(np.array([7, 7, 8, 8, 9]), 0.3, 0, 0).tolist()
    [False, False, True, True, False]
    """
    names, index = np.unique(group, return_inverse=True)
    if len(names) < 2:
        what = "image without the object" if purpose == _IMAGES else "original"
        raise ValueError(f"there is only {len(names)} {what}: at least 2 are required, one for validation")
    keys = np.empty(len(names), np.uint64)
    draw_rows(seed, HELD_OUT_WINDOWS, purpose, keys)
    n = min(len(names) - 1, max(1, math.floor(fraction * len(names) + 0.5)))
    selected = np.zeros(len(names), bool)
    selected[np.argsort(keys, kind="stable")[:n]] = True
    chosen: NDArray[np.bool_] = selected[index]
    return chosen


MIN_NEGATIVES = 20  # too few for a false-alarm rate


def _per_stage(low: float, high: float, *, above: bool = False, below: bool = False) -> Allowed:
    """Allow a number for all stages, or a list with one number for each."""
    one = number(low, high, above=above, below=below)

    def test(v: Any) -> bool:
        return one.test(v) or (isinstance(v, list | tuple) and len(v) > 0 and all(one.test(n) for n in v))

    return Allowed(test, f"{one.description}, or a list of such numbers, one for each stage")


def _is_file_name(value: Any) -> bool:
    if not isinstance(value, str | os.PathLike):
        return False
    path = Path(value)
    return path.resolve().parent.is_dir() and not path.is_dir()


ALLOWED = {
    "features": one_of("basic", "core", "all", "lbp"),
    "algorithm": one_of(*RULES),
    "n_stages": integer(1, 1000),
    "min_hit_rate": _per_stage(0.5, 1.0),
    "max_false_alarm": _per_stage(0.0, 1.0, above=True, below=True),
    "target_false_alarm": number(0.0, 1.0, above=True, below=True) | none(),
    "max_learners": integer(1),
    "max_depth": integer(1, 8),
    "n_negatives": integer(MIN_NEGATIVES),
    "validation_fraction": number(0.0, 1.0, above=True, below=True),
    "max_features": integer(1) | none(),
    "weight_trim": number(0.0, 0.5),
    "scale_factor": number(1.0, 2.0, above=True),
    "jitter": integer(0, 1000) | Allowed(lambda v: isinstance(v, Jitter), "a Jitter"),
    "mirror": parameters.flag(),
    "random_state": parameters.seed() | none(),
    "n_jobs": parameters.threads() | none(),
    "verbose": integer(0, 2),
    "checkpoint": none() | Allowed(_is_file_name, "the path of a file in an existing folder"),
}


def to_json(value: Any) -> Any:
    """Convert the value of a parameter to plain JSON.

    >>> to_json((np.float64(0.5), 1))
    [0.5, 1]
    """
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    if isinstance(value, Jitter):
        return {name: to_json(number) for name, number in asdict(value).items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def stage_value(value: Any, number: int) -> float:
    """Return the value for a stage; the last value of a list also applies to all further stages.

    >>> stage_value([0.9, 0.5], 7)
    0.5
    """
    return float(value[min(number, len(value) - 1)] if isinstance(value, list | tuple) else value)


@dataclass(frozen=True)
class StageReport:
    """Statistics of one stage of a trained cascade.

    Parameters
    ----------
    stage : int
        Starts at 1.
    n_learners : int
    hit_rate, false_alarm : float
        d and f of the stage, on validation windows that pass all earlier stages.
    train_hit_rate, train_false_alarm : float
        The same on the training windows.
    total_hit_rate, total_false_alarm : float
        Products of d and of f over the stages so far.
    n_positives, n_negatives : int
        Training windows.
    pass_rate : float
        Fraction of the windows of images without the object that pass all earlier stages.
    n_images : int
        Images scanned for negatives, each orientation counted.
    seconds : float
        Not stored in files.

    Examples
    --------
    >>> report = StageReport(1, 5, 0.998, 0.45, 0.999, 0.4, 0.998, 0.45, 2000, 1000, 0.7, 12, seconds=3.2)
    >>> report.total_false_alarm, "seconds" in report.to_json()
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

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON without the seconds: equal training gives equal files."""
        record = asdict(self)
        del record["seconds"]
        return record


_COLUMNS = (  # of the log: name, width, format
    ("stage", 5, "{0.stage}"),
    ("trees", 5, "{0.n_learners}"),
    ("d", 7, "{0.hit_rate:.4f}"),
    ("f", 7, "{0.false_alarm:.4f}"),
    ("prod d", 7, "{0.total_hit_rate:.4f}"),
    ("prod f", 8, "{0.total_false_alarm:.1e}"),
    ("positives", 9, "{0.n_positives}"),
    ("negatives", 9, "{0.n_negatives}"),
    ("mined at", 9, "{0.pass_rate:.1e}"),
    ("seconds", 8, "{0.seconds:.1f}"),
)


def log_header() -> str:
    """Return the column names of `log_line`."""
    return "  ".join(name.rjust(width) for name, width, _ in _COLUMNS)


def log_line(report: StageReport) -> str:
    """Format one stage as a line."""
    return "  ".join(text.format(report).rjust(width) for _, width, text in _COLUMNS)


class TrainingLog:
    """The lines of the training log and a progress bar; a context manager.

    Parameters
    ----------
    verbose : int
        0: silent; 1: progress bar on terminals, and missed targets; 2: also one line per stage.
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
        """Store a line, and print it at this level of `verbose` or above."""
        self.lines.append(text)
        if self._verbose >= verbose:
            self._bar.write_line(text)

    def mining(self, stage: int, n_wanted: int) -> Callable[[int], None]:
        """Start a bar for mining; return the callback of `Miner.mine`."""
        self._bar.restart(n_wanted, f"stage {stage}: mining negatives")
        return self._show

    def boosting(self, stage: int, max_learners: int) -> Callable[[Stage], None]:
        """Start a bar for boosting; return the callback of `StageBooster.boost`."""
        self._bar.restart(max_learners, f"stage {stage}: boosting")
        return lambda stage: self._show(
            len(stage.trees), f"{len(stage.trees)} trees, d {stage.hit_rate:.4f}, f {stage.false_alarm:.3f}"
        )

    def _show(self, done: int, text: str = "") -> None:
        if self._verbose:
            self._bar.update(done, text)
