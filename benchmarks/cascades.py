"""Time of detection compared with OpenCV: the same cascades, photos and windows, two threads each.

A time is that of one call that detects objects in a grey image in memory, from the image pyramid to
grouping: `Cascade.detect` and OpenCV's `detectMultiScale`, both with a scale factor of 1.1 and 3 neighbours.
The two take turns, each repetition, and the table has the median of each; `ratio` is the quotient of the
medians. `same` is whether all raw windows, and the sums of their last stages, are equal.

The photos are those of scikit-image, enlarged or reduced to fill 640 x 480 and 1920 x 1080.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Grey = NDArray[np.uint8]

PACKAGED = "hedgerow frontalface"
CASCADES = (
    *("frontalface_alt2", "frontalface_default", "profileface", "eye", "frontalface_alt_tree", "lbp"),
    PACKAGED,
)
SIZES = ((640, 480), (1920, 1080))
PHOTOS = ("astronaut.png", "coffee.png", "motorcycle_left.png")
TARGET = 1.5  # times faster than OpenCV
THREADS = 2


def photo(name: str, size: tuple[int, int]) -> Grey:
    """Return a photo of scikit-image, scaled to fill width x height and cropped."""
    import cv2
    import skimage

    grey = cv2.imread(str(Path(skimage.__file__).parent / "data" / name), cv2.IMREAD_GRAYSCALE)
    wide, high = size
    factor = max(wide / grey.shape[1], high / grey.shape[0])
    kind = cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA
    whole = (int(np.ceil(grey.shape[1] * factor)), int(np.ceil(grey.shape[0] * factor)))
    return np.ascontiguousarray(cv2.resize(grey, whole, interpolation=kind)[:high, :wide])


def both(name: str) -> tuple[Any, Any]:
    """Load a cascade in both libraries."""
    import cv2
    import skimage

    from hedgerow.vision.cascade import Cascade, load_cascade
    from hedgerow.vision.opencv import read_opencv, write_opencv

    if name == PACKAGED:
        text = write_opencv(load_cascade("frontalface").model).decode()
    elif name == "lbp":
        path = Path(skimage.__file__).parent / "data" / "lbpcascade_frontalface_opencv.xml"
        # the file of scikit-image has a typing error that OpenCV rejects
        text = path.read_text().replace("featuhreParams", "featureParams")
    else:
        text = (Path(cv2.data.haarcascades) / f"haarcascade_{name}.xml").read_text()
    theirs = cv2.CascadeClassifier()
    storage = cv2.FileStorage(text, cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
    if not theirs.read(storage.getFirstTopLevelNode()):
        raise ValueError(f"OpenCV cannot read {name}")
    return Cascade(read_opencv(text.encode())), theirs


def same_windows(ours: Any, theirs: Any, image: Grey) -> bool:
    """Return whether all windows and scores are equal."""
    found = ours.detect(image, 1.1, 0)
    rectangles, _, scores = theirs.detectMultiScale3(image, 1.1, 0, outputRejectLevels=True)

    def rows(rectangles: Any, scores: Any) -> list[tuple[float, ...]]:
        sides = np.asarray(rectangles).reshape(-1, 4).tolist()
        return sorted((*r, s) for r, s in zip(sides, np.ravel(scores).tolist(), strict=True))

    return rows(found.rectangles, found.scores) == rows(rectangles, scores)


def times(ours: Any, theirs: Any, image: Grey, repeats: int) -> tuple[list[float], list[float]]:
    """Return the seconds of alternating repetitions, of Hedgerow and OpenCV."""
    mine, others = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        ours.detect(image, n_jobs=THREADS)
        middle = time.perf_counter()
        theirs.detectMultiScale(image, 1.1, 3)
        others.append(time.perf_counter() - middle)
        mine.append(middle - start)
    return mine, others


def main() -> int:
    """Print the table; exit code 1 if windows differ or the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cascades", default=",".join(CASCADES), help="names, separated by commas")
    parser.add_argument(
        "--repeats", type=int, default=15, help="of 640 x 480; a third as many of 1920 x 1080"
    )
    parser.add_argument("--quick", action="store_true", help="two repetitions of two cascades")
    options = parser.parse_args()
    import cv2

    cv2.setNumThreads(THREADS)
    names = CASCADES[:2] if options.quick else options.cascades.split(",")
    repeats = 2 if options.quick else options.repeats
    print(f"OpenCV {cv2.__version__}, {THREADS} threads each, median milliseconds\n")
    print("| cascade | photo | size | objects | OpenCV | Hedgerow | ratio | same |")
    print("|---|---|---|---|---|---|---|---|")
    ratios, all_same = [], True
    for name in names:
        ours, theirs = both(name)
        for size in SIZES:
            for picture in PHOTOS:
                image = photo(picture, size)
                same = same_windows(ours, theirs, image)
                n = repeats if size == SIZES[0] else max(2, repeats // 3)
                mine, others = (statistics.median(t) * 1e3 for t in times(ours, theirs, image, n))
                ratios.append(others / mine)
                all_same &= same
                print(
                    f"| {name} | {picture.split('.')[0]} | {size[0]} x {size[1]} | {len(ours.detect(image))} "
                    f"| {others:.1f} | {mine:.1f} | {others / mine:.2f} | {'yes' if same else 'NO'} |",
                    flush=True,
                )
    print(f"\nsmallest ratio {min(ratios):.2f}, geometric mean {np.exp(np.mean(np.log(ratios))):.2f}")
    print(f"target: {TARGET} times faster, the same windows")
    return 0 if all_same and min(ratios) >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
