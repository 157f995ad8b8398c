"""What a cascade is trained on: positives and images, each in two parts, to boost on and held out.

Positives are parted by their originals and images one by one, by a hash of the seed: a window that is held
out has no relative among those that are boosted on.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError
from hedgerow.kernels.cpu.random import HELD_OUT_WINDOWS, draw_rows
from hedgerow.threads import Team
from hedgerow.vision.features import Features, HaarFeatures, LBPFeatures, check_window
from hedgerow.vision.model import CascadeModel
from hedgerow.vision.samples import Negatives, load_negatives, load_positives
from hedgerow.vision.scan import judge

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
