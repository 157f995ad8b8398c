"""Train the frontal-face model that comes with the package.

    HEDGEROW_DATA=... python examples/train_frontalface.py [--out frontalface.hedgerow] [--checkpoint FILE]

HEDGEROW_DATA names a folder with

    faces/opencv_faces24.npz    `faces` (16520, 24, 24) uint8, `group`: ten jitters of each of 1,652 photos
    faces/lfw_faces48.npz       `images` (7701, 48, 48) uint8, aligned heads, one a person
    negatives/*.jpg             photographs, maps and drawings without faces

The faces are parted by photograph and the negatives by image: what is held out to set the thresholds of the
stages shows nobody the stages were boosted on. Prints the log, the time and the memory, and writes the model.
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
HEAD = (
    24.0,
    24.4,
    39.1,
)  # centre and side, in a picture of 48 x 48, of the square that shows what the other set does
COPIES = 2  # of each head
TURN, SCALE, SHIFT = (
    5.0,
    0.06,
    0.7,
)  # standard deviations: degrees, logarithm of the size, pixels of the picture
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
    """The faces that are cut out already, half of them mirrored, and their photographs."""
    data = np.load(folder / "faces" / "opencv_faces24.npz")
    faces = data["faces"].copy()
    mirrored = rng.random(len(faces)) < 0.5
    faces[mirrored] = faces[mirrored][:, :, ::-1]
    return faces, data["group"].astype(np.int64)


def heads(folder: Path, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Faces cut out of aligned heads, each a little moved, turned and scaled, half of them mirrored."""
    pictures = np.load(folder / "faces" / "lfw_faces48.npz")["images"]
    faces = np.empty((len(pictures) * COPIES, WINDOW, WINDOW), np.uint8)
    border = 16
    for number, picture in enumerate(np.repeat(pictures, COPIES, axis=0)):
        turn, larger, right, down = rng.normal(0.0, [TURN, SCALE, SHIFT, SHIFT])
        mirror = -1.0 if rng.random() < 0.5 else 1.0
        step = HEAD[2] * np.exp(larger) / WINDOW  # pixels of the picture to a pixel of the window
        cosine, sine = step * np.cos(np.deg2rad(turn)), step * np.sin(np.deg2rad(turn))
        x, y, half = HEAD[0] + border + right, HEAD[1] + border + down, WINDOW / 2
        affine = (
            *(mirror * cosine, -sine, x - (mirror * cosine - sine) * half),
            *(mirror * sine, cosine, y - (mirror * sine + cosine) * half),
        )
        wide = Image.fromarray(np.pad(picture, border, mode="edge"))
        cut = wide.transform(
            (WINDOW, WINDOW), Image.Transform.AFFINE, affine, resample=Image.Resampling.BILINEAR
        )
        faces[number] = np.asarray(cut)
    return faces, np.repeat(np.arange(len(pictures)), COPIES)


def main() -> None:
    """Train, print what it took, and save."""
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
