"""Cascades and detections have the same bytes with any number of threads and on any processor."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from hedgerow.vision import load_cascade
from other_cpu import print_cpu, run_on_plain_cpu
from trainer_cases import NEGATIVES, fitted

RECIPES = {
    "gentle": {},
    "real": {"algorithm": "real", "features": "all", "max_depth": 2, "max_features": 300},
    "discrete": {"algorithm": "discrete", "features": "core", "weight_trim": 0.1},
    "lbp": {"features": "lbp", "min_hit_rate": 0.8},
}


def write_all(folder, **options):
    """Train every recipe, run the packaged model, and write all results."""
    for name, recipe in RECIPES.items():
        cascade = fitted(n_stages=1, **recipe, **options).cascade_
        cascade.save(folder / f"{name}.hedgerow")
        found = cascade.detect(NEGATIVES[0], 1.2, 0, n_jobs=options.get("n_jobs"))
        (folder / f"{name}.found").write_bytes(found.rectangles.tobytes() + found.scores.tobytes())
    noise = np.random.default_rng(0).integers(0, 256, (120, 160)).astype(np.uint8)
    scores = load_cascade("frontalface").score_windows(
        np.lib.stride_tricks.sliding_window_view(noise, (24, 24))[::5, ::5].reshape(-1, 24, 24)
    )
    (folder / "frontal.found").write_bytes(scores.tobytes())


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    write_all(folder, n_jobs=1)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_bytes_do_not_depend_on_n_jobs(usual, tmp_path):
    write_all(tmp_path, n_jobs=3)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == usual


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("HEDGEROW_LARGE"), reason="compiles all kernels once more: set HEDGEROW_LARGE"
)
def test_bytes_do_not_depend_on_the_processor(usual, tmp_path):
    run_on_plain_cpu(__file__, tmp_path)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert found == usual


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), n_jobs=1)
    print_cpu()
