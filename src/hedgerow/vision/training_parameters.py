"""What the parameters of `CascadeTrainer` may be, and what they are in a stage."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.estimators import parameters
from hedgerow.estimators.parameters import Allowed, nothing, one_of, real, whole
from hedgerow.vision.jitter import Jitter
from hedgerow.vision.stage import RULES

LEAST_NEGATIVES = 20  # fewer say nothing about a false-alarm rate


def _each_stage(low: float, high: float, *, above: bool = False, below: bool = False) -> Allowed:
    """Allow a number for all stages, or a sequence with one for each."""
    one = real(low, high, above=above, below=below)

    def test(v: Any) -> bool:
        return one.test(v) or (isinstance(v, list | tuple) and len(v) > 0 and all(one.test(n) for n in v))

    return Allowed(test, f"{one.words}, or a list of such numbers, one a stage")


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
