"""Train the packaged cascade for frontal faces.

    HEDGEROW_DATA=... python examples/train_frontalface.py [--out frontalface.hedgerow] [--checkpoint FILE]

HEDGEROW_DATA is a folder with

    faces/opencv_faces24.npz    `faces` (16520, 24, 24) uint8, `group`: ten jitters of each of 1,652 photos
    faces/lfw_faces48.npz       `images` (7701, 48, 48) uint8, aligned heads, one per person
    negatives/*.jpg             photographs, maps and drawings without faces

Faces are split by photograph and negatives by image: validation data, which set the thresholds of the stages,
show no photograph of the training data. Prints the log, the time and the memory, and writes the cascade.
"""

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hedgerow.vision import CascadeTrainer, load_negatives

WINDOW = 24
HEAD = (24.0, 24.4, 39.1)  # centre and side, in an image of 48 x 48, of a crop as in the other data set
COPIES = 2  # of each head
ROTATION, SCALE, SHIFT = 5.0, 0.06, 0.7  # standard deviations: degrees, logarithm of the size, pixels
RECIPE = {
    "features": "core",
    "algorithm": "gentle",
    "n_stages": 18,
    "min_hit_rate": 0.998,
    "max_false_alarm": 0.5,
    "max_learners": 300,
    "n_negatives": 12_000,
    "max_features": 20_000,
    "weight_trim": 0.05,
    "validation_fraction": 0.15,
    "random_state": 0,
}


def photographs(folder: Path, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the cropped faces, half of them mirrored, and the photographs they are from."""
    data = np.load(folder / "faces" / "opencv_faces24.npz")
    faces = data["faces"].copy()
    mirrored = rng.random(len(faces)) < 0.5
    faces[mirrored] = faces[mirrored][:, :, ::-1]
    return faces, data["group"].astype(np.int64)


def heads(folder: Path, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return faces cropped from aligned heads, shifted, rotated and scaled, half of them mirrored."""
    pictures = np.load(folder / "faces" / "lfw_faces48.npz")["images"]
    faces = np.empty((len(pictures) * COPIES, WINDOW, WINDOW), np.uint8)
    border = 16
    for number, picture in enumerate(np.repeat(pictures, COPIES, axis=0)):
        angle, log_scale, shift_x, shift_y = rng.normal(0.0, [ROTATION, SCALE, SHIFT, SHIFT])
        mirror = -1.0 if rng.random() < 0.5 else 1.0
        step = HEAD[2] * np.exp(log_scale) / WINDOW  # pixels of the image per pixel of the window
        cosine, sine = step * np.cos(np.deg2rad(angle)), step * np.sin(np.deg2rad(angle))
        x, y, half = HEAD[0] + border + shift_x, HEAD[1] + border + shift_y, WINDOW / 2
        affine = (
            *(mirror * cosine, -sine, x - (mirror * cosine - sine) * half),
            *(mirror * sine, cosine, y - (mirror * sine + cosine) * half),
        )
        wide = Image.fromarray(np.pad(picture, border, mode="edge"))
        face = wide.transform(
            (WINDOW, WINDOW), Image.Transform.AFFINE, affine, resample=Image.Resampling.BILINEAR
        )
        faces[number] = np.asarray(face)
    return faces, np.repeat(np.arange(len(pictures)), COPIES)


def main() -> None:
    """Train, print time and memory, and save the cascade."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="frontalface.hedgerow")
    parser.add_argument("--checkpoint")
    options = parser.parse_args()
    if "HEDGEROW_DATA" not in os.environ:
        parser.error("set HEDGEROW_DATA to the folder with faces/ and negatives/")
    folder = Path(os.environ["HEDGEROW_DATA"])
    first, first_group = photographs(folder, np.random.default_rng(1))
    second, second_group = heads(folder, np.random.default_rng(2))
    faces = np.concatenate([first, second])
    groups = np.concatenate([first_group, second_group + first_group.max() + 1])
    images = load_negatives(folder / "negatives", (WINDOW, WINDOW))
    trainer = CascadeTrainer((WINDOW, WINDOW), **RECIPE, checkpoint=options.checkpoint, verbose=2)
    began = time.perf_counter()
    trainer.fit(faces, images, groups=groups)
    seconds = time.perf_counter() - began
    cascade = trainer.cascade_
    cascade.save(options.out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(faces):,} faces of {len(np.unique(groups)):,} photographs, {len(images):,} other images")
    size = Path(options.out).stat().st_size
    print(f"{cascade.n_stages} stages, {cascade.model.n_trees:,} trees, {size:,} bytes")
    print(f"{seconds / 60:.1f} minutes, {peak:.2f} GiB at the peak")


if __name__ == "__main__":
    main()
