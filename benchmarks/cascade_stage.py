"""Time and memory of one large stage of a cascade: all basic features of 24 x 24 windows.

    python benchmarks/cascade_stage.py [--windows 10000] [--learners 200] [--threads 2]

The windows are faces and crops of photographs of HEDGEROW_DATA or, without it, patterns and noise, which take
the same time. Every weak classifier searches all features of all windows; weights are not trimmed.
"""

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np

from hedgerow.threads import Team
from hedgerow.vision.features import HaarFeatures, WindowSet
from hedgerow.vision.stage import StageBooster, StageOptions


def make_windows(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return windows (n, 24, 24), half of them faces, their classes, and their source."""
    rng = np.random.default_rng(0)
    half = n // 2
    classes = np.repeat(np.array([1, 0], np.uint8), [half, n - half])
    folder = os.environ.get("HEDGEROW_DATA")
    if folder:
        from hedgerow.vision import load_negatives

        faces = np.load(Path(folder) / "faces" / "opencv_faces24.npz")["faces"]
        faces = faces[rng.permutation(len(faces))[:half]]
        images = list(load_negatives(Path(folder) / "negatives", (24, 24))[:100])
        others = []
        for i in range(n - half):
            image = images[i % len(images)]
            y, x = (int(rng.integers(0, side - 24)) for side in image.shape)
            others.append(image[y : y + 24, x : x + 24])
        return np.concatenate([faces, np.stack(others)]), classes, "HEDGEROW_DATA"
    windows = rng.integers(0, 256, (n, 24, 24)).astype(np.uint8)
    windows[:half, 6:10, 4:20] //= 3
    return windows, classes, "patterns and noise"


def main() -> None:
    """Boost one stage, and print time and memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=10_000)
    parser.add_argument("--learners", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    windows, classes, source = make_windows(options.windows)
    features = HaarFeatures((24, 24), "basic")
    stage_options = StageOptions(
        "gentle", min_hit_rate=0.995, max_false_alarm=-1.0, max_learners=options.learners
    )
    with Team(options.threads) as team:
        warm = WindowSet(windows[:: max(1, len(windows) // 64)], team), classes[:: max(1, len(windows) // 64)]
        few = features.take(np.arange(0, len(features), 1000))
        StageBooster(warm, warm, few, StageOptions(max_learners=2, max_false_alarm=-1.0), team).boost()
        began = time.perf_counter()
        train = WindowSet(windows, team), classes
        booster = StageBooster(train, warm, features, stage_options, team)
        coded = time.perf_counter()
        stage = booster.boost()
        ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(windows):,} windows ({source}), {len(features):,} features, {options.threads} threads")
    gigabytes, each = booster.coded.by_column.nbytes / 2**30, (ended - coded) / len(stage.trees)
    print(f"codes of all features    {coded - began:7.1f} s   {gigabytes:.2f} GiB")
    print(f"{len(stage.trees)} stumps               {ended - coded:7.1f} s   {each:.2f} s each")
    rates = f"{stage.train_false_alarm:.4f} at hit rate {stage.train_hit_rate:.4f}"
    print(f"false alarm on the training windows {rates}")
    print(f"peak memory              {peak:7.2f} GiB")


if __name__ == "__main__":
    main()
