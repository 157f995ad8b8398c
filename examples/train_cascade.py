"""Train a small cascade for faces in less than a minute, and detect the face of the astronaut.

All data are in scikit-image: the 100 faces and 100 patches without a face of `lfw_subset`, and photographs
without faces. A hundred faces are few, and the parameters were chosen with the image of the astronaut: the
example shows how training works, not how good a cascade can be. The packaged cascade is run for comparison.

`python examples/train_cascade.py FOLDER` writes there: the cascade as OpenCV's XML and in Hedgerow's format,
figures of its training and of the packaged cascade, the astronaut with the detections, and the printed text.
`--no-models` omits the cascades.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from hedgerow.plots import CascadeDisplay
from hedgerow.vision import (
    Cascade,
    CascadeTrainer,
    Detections,
    Jitter,
    Samples,
    draw_detections,
    load_cascade,
    load_positives,
)

try:
    from skimage import data
except ModuleNotFoundError:
    raise SystemExit("This example uses images of scikit-image: pip install scikit-image") from None

WINDOW = (24, 24)
# Without coins (they show heads), camera (a man), eagle and others that are not in the package.
# A cat is not a human face, and a useful negative.
PHOTOGRAPHS = (
    "brick", "grass", "gravel", "page", "text", "moon", "coffee", "chelsea", "rocket", "clock", "horse",
    "hubble_deep_field", "immunohistochemistry", "retina", "cell", "microaneurysms",
)  # fmt: skip
N_FACES = 100  # of lfw_subset, before the patches without a face
NEIGHBORS = 10  # above the default of 3, because the cascade is weak
DPI = 110


def load_data() -> tuple[Samples, list[np.ndarray]]:
    """Return faces of 24 x 24 cropped from 25 x 25, with jittered and mirrored copies, and negatives."""
    patches = data.lfw_subset()  # float64 (200, 25, 25)
    small = Jitter(copies=4, shift=0.5, scale=0.05, rotation=3.0)
    faces = load_positives(patches[:N_FACES], WINDOW, jitter=small, mirror=True, margin=-0.02, random_state=0)
    photographs = [getattr(data, name)() for name in PHOTOGRAPHS]
    photographs.append(data.stereo_motorcycle()[0])
    return faces, [*photographs, *patches[N_FACES:]]


def make_trainer(verbose: int = 1) -> CascadeTrainer:
    """Return the trainer with settings for few faces and little time."""
    return CascadeTrainer(
        WINDOW,
        n_stages=14,
        min_hit_rate=0.985,  # a stage may reject 3 of 250 validation windows
        max_false_alarm=0.5,
        max_learners=60,
        n_negatives=1500,
        validation_fraction=0.25,
        max_features=4000,  # of 162,336, sampled for each stage: nearly as good, and much faster
        random_state=0,
        verbose=verbose,
    )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function, and its time in seconds."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def detect(name: str, cascade: Cascade, image: np.ndarray, neighbors: int) -> tuple[Detections, list[str]]:
    """Return the detections of a cascade in an image, and a description of them."""
    usual = cascade.detect(image)  # the first call may compile kernels
    found, seconds = timed(lambda: cascade.detect(image, min_neighbors=neighbors))
    lines = [f"{name}: {cascade.n_stages} stages, {cascade.model.n_trees} trees, {1000 * seconds:.0f} ms"]
    lines += [f"  ({d.x}, {d.y}) {d.width} x {d.height}, {d.neighbors} windows agree" for d in found]
    if not found:
        lines.append("  nothing found")
    if len(usual) > len(found):
        lines.append(f"  {len(usual) - len(found)} more where {neighbors} windows or fewer agree")
    return found, lines


def picture(image: np.ndarray, results: dict[str, Detections]) -> Any:
    """Draw the detections of each cascade, side by side."""
    figure, axes = plt.subplots(1, len(results), figsize=(8.0, 4.3), layout="constrained")
    for ax, (name, found) in zip(axes, results.items(), strict=True):
        ax.imshow(draw_detections(image, found, labels=False))
        ax.set_title(f"{name}: {len(found)} found", fontsize=10)
        ax.set_axis_off()
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, detect, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", default="cascade", type=Path, help="folder for the files (default: cascade)"
    )
    parser.add_argument("--no-models", action="store_true", help="write pictures and text only")
    options = parser.parse_args(arguments)
    mpl.use("Agg")  # files, no windows
    options.folder.mkdir(parents=True, exist_ok=True)
    text: list[str] = []

    def report(*lines: str) -> None:
        print("\n".join(lines), flush=True)
        text.extend(lines)

    faces, images = load_data()
    report(f"{faces!r}; {len(images)} images without a face")
    trainer, seconds = timed(lambda: make_trainer(verbose=2).fit(faces.images, images, groups=faces.group))
    text.extend(trainer.log_)  # printed by the trainer
    report(f"{seconds:.0f} s for all; the first run on a machine compiles the kernels", "")
    cascades = {"trained here": (trainer.cascade_, NEIGHBORS), "packaged": (load_cascade("frontalface"), 3)}
    astronaut = data.astronaut()
    results = {}
    for name, (cascade, neighbors) in cascades.items():
        results[name], lines = detect(name, cascade, astronaut, neighbors)
        report(*lines)
    CascadeDisplay.from_estimator(trainer).figure_.savefig(options.folder / "training.png", dpi=DPI)
    packaged = CascadeDisplay.from_estimator(cascades["packaged"][0], n_features=12)
    packaged.figure_.savefig(options.folder / "frontalface.png", dpi=DPI)
    picture(astronaut, results).savefig(options.folder / "astronaut.png", dpi=DPI)
    plt.close("all")
    (options.folder / "figures.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    if not options.no_models:
        trainer.cascade_.save(options.folder / "faces.xml")
        trainer.cascade_.save(options.folder / "faces.hedgerow")
    print(f"\nThe files are in {options.folder}.")


if __name__ == "__main__":
    main()
