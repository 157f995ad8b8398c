"""Quality of face detectors: detection rate and false positives on photographs outside of their training set.

The photographs are the 65 of `detection/newtest` in the folder named by HEDGEROW_DATA, part of the MIT+CMU
frontal face test set (H. Rowley, S. Baluja, T. Kanade, "Neural Network-Based Face Detection", 1998), with six
landmarks per face. Definitions:

- The box of a face is a square around eyes + 0.45 (mouth - eyes) of width max(2.3 e, 2.5 v), where e is the
  distance of the eyes and v that of their middle from the mouth.
- A detection *hits* a face when its centre is within 0.3 widths of the face's centre and its width within a
  factor of 1.6 of the face's. A face is found when at least one detection hits it. A detection that hits no
  face is a *false positive*; a second one on the same face is neither (OpenCV's two models have none on
  these photographs, so their figures are the same when it is counted as false).
- The windows of a detector are grouped by `group_rectangles` (`min_neighbors=1`), and single windows outside
  all groups are added as groups of one. Groups are ranked by their number of windows, and among equal
  numbers by the largest score. The groups above a position in this ranking are one point of the *curve*;
  the points after the last group of k + 1 windows are exactly those of `detect(min_neighbors=k)`.
  (Ranking the groups of two and more by score alone is worse for both of OpenCV's models.)
- The rate at n false positives is the best one among all points with at most n; nothing is interpolated.

All detectors use the same grey pixels, the same scales and the same grouping. `measure` is the whole
measurement for any function that finds groups in a grey image, for use in experiments.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from data import data_folder
from hedgerow.vision.detections import Grouped, group_rectangles
from hedgerow.vision.images import Grey, as_grey

AT_FALSE = (10, 30, 90)  # false positives at which rates are reported
NEIGHBORS = (1, 2, 3, 5, 8)
EYES, MOUTH, DOWN = 2.3, 2.5, 0.45  # of a face's box, see above
NEAR, FACTOR = 0.3, 1.6  # of a hit
PACKAGED = "frontalface"
OPENCV = ("haarcascade_frontalface_alt2.xml", "haarcascade_frontalface_default.xml")

Windows = Callable[[Grey], tuple[NDArray[Any], NDArray[Any]]]  # rectangles (n, 4) and scores (n,), ungrouped
Finder = Callable[[Grey], Any]  # has the arrays .rectangles, .neighbors and .scores


class Photo(NamedTuple):
    """A photograph and its faces: x and y of the centre, width."""

    name: str
    grey: Grey
    faces: NDArray[np.float64]  # (n, 3)


@dataclass(frozen=True)
class Curve:
    """The detections of a detector by group, in the order of their rank.

    `neighbors` and `scores` are (n,); after the first i groups `found[i]` faces are found and there are
    `false[i]` false positives, for i = 0..n.
    """

    n_faces: int
    neighbors: NDArray[np.int64]
    scores: NDArray[np.float64]
    found: NDArray[np.int64]
    false: NDArray[np.int64]

    def rate_at(self, n_false: int) -> float:
        """Return the best rate with at most this many false positives."""
        allowed = np.flatnonzero(self.false <= n_false)
        return float(self.found[allowed[-1]]) / self.n_faces

    def at_neighbors(self, min_neighbors: int) -> tuple[float, int]:
        """Return rate and false positives of the groups with more windows than this."""
        position = int((self.neighbors > min_neighbors).sum())
        return float(self.found[position]) / self.n_faces, int(self.false[position])

    @property
    def mean_rate(self) -> float:
        """The mean of `rate_at(n)` for n = 1..100: one number for experiments, less noisy than a point."""
        return float(np.mean([self.rate_at(n) for n in range(1, 101)]))


def face_box(landmarks: Sequence[float]) -> tuple[float, float, float]:
    """Return centre and width of a face from left eye, right eye, nose, and left, centre, right of the mouth.

    >>> face_box([10, 10, 20, 10, 15, 15, 12, 20, 15, 20, 18, 20])
    (15.0, 14.5, 25.0)
    """
    points = np.asarray(landmarks, np.float64).reshape(6, 2)
    eyes, mouth = (points[0] + points[1]) / 2, points[4]
    width = max(EYES * np.hypot(*(points[1] - points[0])), MOUTH * np.hypot(*(mouth - eyes)))
    x, y = eyes + DOWN * (mouth - eyes)
    return float(x), float(y), float(width)


def load_photos(folder: Path | None = None) -> list[Photo]:
    """Load the photographs of the test set, also those without faces."""
    root = folder or data_folder()
    if root is None:
        raise FileNotFoundError("set HEDGEROW_DATA to the folder that contains detection/newtest")
    root = root if folder else root / "detection" / "newtest"
    boxes: dict[str, list[tuple[float, float, float]]] = {}
    for line in (root / "groundtruth.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, *numbers = line.split()
            boxes.setdefault(name, []).append(face_box([float(number) for number in numbers]))
    missing = [name for name in boxes if not (root / name).exists()]
    if missing:
        raise FileNotFoundError(f"{root / 'groundtruth.txt'} names {missing[0]}, which does not exist")
    return [
        Photo(path.name, as_grey(path), np.array(boxes.get(path.name, [])).reshape(-1, 3))
        for path in sorted(root.glob("*.png"))
    ]


def hits(rectangles: NDArray[Any], faces: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of the n rectangles hit which of the m faces: (n, m)."""
    boxes = np.asarray(rectangles, np.float64).reshape(-1, 4)
    x, y, width = (faces[:, i] for i in range(3))
    dx = (boxes[:, 0] + boxes[:, 2] / 2)[:, None] - x
    dy = (boxes[:, 1] + boxes[:, 3] / 2)[:, None] - y
    ratio = boxes[:, 2][:, None] / width
    return (np.hypot(dx, dy) <= NEAR * width) & (ratio <= FACTOR) & (ratio >= 1 / FACTOR)


def measure(find: Finder, photos: Iterable[Photo]) -> Curve:
    """Run a detector over photographs; `find` takes a grey image and returns groups, as `grouped` makes them.

    Its result has the arrays `rectangles` (n, 4), `neighbors` (n,) and `scores` (n,).
    """
    neighbors, scores, first_hit, false = [], [], [], []
    n_faces = 0
    for photo in photos:
        groups = find(photo.grey)
        hit = hits(groups.rectangles, photo.faces)
        neighbors.append(np.asarray(groups.neighbors, np.int64).reshape(-1))
        scores.append(np.asarray(groups.scores, np.float64).reshape(-1))
        false.append(~hit.any(axis=1))
        order = np.lexsort((-scores[-1], -neighbors[-1]))
        new = np.zeros(len(hit), np.int64)  # faces that no better group of this photograph hits
        for face in range(len(photo.faces)):
            ranks = order[hit[order, face]]
            if len(ranks):
                new[ranks[0]] += 1
        first_hit.append(new)
        n_faces += len(photo.faces)
    every = [
        np.concatenate(parts) if parts else np.empty(0) for parts in (neighbors, scores, first_hit, false)
    ]
    order = np.lexsort((-every[1], -every[0]))
    return Curve(
        n_faces,
        every[0][order],
        every[1][order],
        np.concatenate([[0], np.cumsum(every[2][order])]).astype(np.int64),
        np.concatenate([[0], np.cumsum(every[3][order])]).astype(np.int64),
    )


def grouped(rectangles: NDArray[Any], scores: NDArray[Any]) -> Grouped:
    """Return groups of two or more windows, as in a detector, and single windows outside all groups."""
    values = np.asarray(scores, np.float64).reshape(-1)
    groups = group_rectangles(rectangles, 1, scores=values)
    # with every window twice, a single one is a group of two, and is dropped inside any other group
    twice = group_rectangles(np.repeat(np.asarray(rectangles), 2, axis=0), 1, scores=np.repeat(values, 2))
    single = twice.neighbors == 2
    return Grouped(
        np.concatenate([groups.rectangles, twice.rectangles[single]]),
        np.concatenate([groups.neighbors, np.ones(int(single.sum()), np.int32)]),
        np.concatenate([groups.scores, twice.scores[single]]),
    )


def windows_of(cascade: str, scale_factor: float, library: str) -> Windows:
    """Return a function that finds the ungrouped windows of a cascade with `library`."""
    from hedgerow.vision.cascade import load_cascade

    if library == "opencv":
        import cv2

        with tempfile.TemporaryDirectory() as folder:  # converted to XML
            path = Path(folder) / "cascade.xml"
            load_cascade(cascade).save(path)
            detector = cv2.CascadeClassifier(str(path))

        def by_opencv(grey: Grey) -> tuple[NDArray[Any], NDArray[Any]]:
            found, _, scores = detector.detectMultiScale3(grey, scale_factor, 0, outputRejectLevels=True)
            return np.reshape(found, (-1, 4)), np.ravel(scores)

        return by_opencv
    ours = load_cascade(cascade)

    def by_hedgerow(grey: Grey) -> tuple[NDArray[Any], NDArray[Any]]:
        found = ours.detect(grey, scale_factor=scale_factor, min_neighbors=0)
        return found.rectangles, found.scores

    return by_hedgerow


def finder(cascade: str, scale_factor: float = 1.1, library: str = "hedgerow") -> Finder:
    """Return the `find` of `measure` for a cascade file or a packaged cascade."""
    windows = windows_of(cascade, scale_factor, library)
    return lambda grey: grouped(*windows(grey))


def all_detectors(extra: Sequence[str]) -> dict[str, str]:
    """Names and paths of detectors: the packaged one, OpenCV's two, and those of the command line."""
    found = {}
    try:
        from hedgerow.vision.cascade import load_cascade

        load_cascade(PACKAGED)
        found[f"hedgerow {PACKAGED}"] = PACKAGED
    except (ImportError, OSError, ValueError) as error:
        print(f"the packaged {PACKAGED} is skipped: {error}", file=sys.stderr)
    try:
        import cv2

        folder = Path(cv2.data.haarcascades)
        found |= {
            name.removeprefix("haarcascade_").removesuffix(".xml"): str(folder / name) for name in OPENCV
        }
    except (ImportError, AttributeError):
        print(
            "OpenCV's cascades are skipped: opencv-python-headless below 5 is not installed", file=sys.stderr
        )
    return found | {Path(path).stem: path for path in extra}


def show(curves: dict[str, Curve], neighbors: Sequence[int], console: Console) -> None:
    """Print the table."""
    table = Table(title="Detection rate, and false positives (FP), by min_neighbors")
    table.add_column("detector", no_wrap=True)
    for n in AT_FALSE:
        table.add_column(f"at {n} FP", justify="right")
    for k in neighbors:
        table.add_column(f"{k}", justify="right", no_wrap=True)
    table.add_column("mean, 1-100 FP", justify="right")
    for name, curve in curves.items():
        rates = [f"{curve.rate_at(n):.3f}" for n in AT_FALSE]
        points = ["{:.3f} / {} FP".format(*curve.at_neighbors(k)) for k in neighbors]
        table.add_row(name, *rates, *points, f"{curve.mean_rate:.3f}")
    console.print(table)


def main() -> None:
    """Measure all detectors on all photographs and print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--cascade", action="append", default=[], metavar="PATH", help="measure this file too"
    )
    parser.add_argument("--only", action="store_true", help="measure only the files of --cascade")
    parser.add_argument("--scale-factor", type=float, default=1.1)
    parser.add_argument("--min-neighbors", type=int, nargs="+", default=list(NEIGHBORS), metavar="K")
    parser.add_argument(
        "--library", choices=("hedgerow", "opencv"), default="hedgerow", help="finds the windows"
    )
    options = parser.parse_args()
    photos = load_photos()
    named = (
        {Path(path).stem: path for path in options.cascade}
        if options.only
        else all_detectors(options.cascade)
    )
    curves = {
        name: measure(finder(path, options.scale_factor, options.library), photos)
        for name, path in named.items()
    }
    n_faces = sum(len(photo.faces) for photo in photos)
    console = Console(width=max(Console().width, 160))
    console.print(
        f"{len(photos)} photographs, {n_faces} faces; scale factor {options.scale_factor:g}, windows "
        f"found by {options.library}. Groups are ranked by windows, then score; second hits do not count."
    )
    show(curves, options.min_neighbors, console)


if __name__ == "__main__":
    main()
