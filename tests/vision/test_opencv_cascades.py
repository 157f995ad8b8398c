"""Detections compared with OpenCV, bit by bit: its Haar cascades and the LBP cascade of scikit-image.

Windows of OpenCV come from detectMultiScale3 with minNeighbors=0, with the sum of the last stage. They are
compared as sets, because the threads of OpenCV return them in any order.
"""

import functools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hedgerow.vision.cascade import Cascade
from hedgerow.vision.detections import group_rectangles
from hedgerow.vision.images import as_grey
from hedgerow.vision.opencv import read_opencv, write_opencv
from hedgerow.vision.pyramid import level_image
from hedgerow.vision.scan import find_windows
from oracle_vision import random_model
from trainer_cases import fitted

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
skimage = pytest.importorskip("skimage", reason="scikit-image is not installed")
if not hasattr(cv2, "CascadeClassifier"):
    pytest.skip("this OpenCV has no cascades; version 4 has", allow_module_level=True)

pytestmark = pytest.mark.compare

PHOTOS = Path(skimage.__file__).parent / "data"
NAMES = (
    "astronaut.png", "camera.png", "coffee.png", "chelsea.png", "coins.png", "rocket.jpg", "page.png",
    "text.png", "motorcycle_left.png", "retina.jpg", "hubble_deep_field.jpg", "ihc.png",
)  # fmt: skip
LARGEST = 240  # pixels of the longer side
PHOTOS_PER_CASCADE = 3
HAAR_FILES = sorted(Path(cv2.data.haarcascades).glob("*.xml"))
LBP_FILE = PHOTOS / "lbpcascade_frontalface_opencv.xml"
DATA = os.environ.get("HEDGEROW_DATA")


def photo(path):
    grey = as_grey(path)
    factor = max(grey.shape) / LARGEST
    if factor > 1:
        size = (round(grey.shape[1] / factor), round(grey.shape[0] / factor))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(grey)


@pytest.fixture(scope="module")
def photos():
    return {name: photo(PHOTOS / name) for name in NAMES}


@functools.cache
def read(path):
    """A cascade of OpenCV for both libraries, without a typing error that OpenCV rejects."""
    data = path.read_bytes().replace(b"featuhreParams", b"featureParams")
    if path == LBP_FILE:
        storage = cv2.FileStorage(data.decode(), cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
        theirs = cv2.CascadeClassifier()
        assert theirs.read(storage.getFirstTopLevelNode())
    else:
        theirs = cv2.CascadeClassifier(str(path))
    assert not theirs.empty()
    return read_opencv(data), theirs


def haar(name):
    return read(next(path for path in HAAR_FILES if path.stem == f"haarcascade_{name}"))


every_cascade = pytest.mark.parametrize(
    "path", [*HAAR_FILES, LBP_FILE], ids=lambda path: path.stem.split("_", 1)[1]
)


def rows(rectangles, scores):
    rectangles, scores = np.asarray(rectangles).reshape(-1, 4), np.asarray(scores, float).ravel()
    return sorted((*r, s) for r, s in zip(rectangles.tolist(), scores.tolist(), strict=True))


def our_windows(model, image, scale_factor, **sizes):
    found = Cascade(model).detect(image, scale_factor, 0, **sizes)
    return rows(found.rectangles, found.scores)


def their_windows(theirs, image, scale_factor, **sizes):
    rectangles, _, scores = theirs.detectMultiScale3(image, scale_factor, 0, outputRejectLevels=True, **sizes)
    return rows(rectangles, scores)


@every_cascade
def test_windows_and_groups_equal_opencv(path, photos):
    model, theirs = read(path)
    first = [*HAAR_FILES, LBP_FILE].index(path)
    for number in range(first, first + PHOTOS_PER_CASCADE):  # all photographs are used
        name = NAMES[number % len(NAMES)]
        image, min_neighbors = photos[name], (0, 1, 3)[number % 3]
        assert our_windows(model, image, 1.2) == their_windows(theirs, image, 1.2), name
        if min_neighbors:
            found = Cascade(model).detect(image, 1.2, min_neighbors)
            expected, counts = theirs.detectMultiScale2(image, 1.2, min_neighbors)
            assert rows(found.rectangles, found.neighbors) == rows(expected, counts), name


def test_all_cascades_of_opencv_are_tested(photos):
    assert len(HAAR_FILES) == 17
    assert len(Cascade(haar("frontalface_alt2")[0]).detect(photos["astronaut.png"])) == 1


@pytest.mark.parametrize("scale_factor", [1.05, 1.5])
def test_scale_factors_and_sizes_equal_opencv(scale_factor, photos):
    model, theirs = haar("frontalface_default")
    image = photos["astronaut.png"][:160, 20:180].copy()
    for smallest, largest in ((30, 80), (50, 50), (51, 52), (24, 24), (1, 5000)):
        ours = our_windows(model, image, scale_factor, min_size=smallest, max_size=largest)
        sizes = {"minSize": (smallest, smallest), "maxSize": (largest, largest)}
        assert ours == their_windows(theirs, image, scale_factor, **sizes)


def test_scores_of_groups_are_the_largest_of_their_windows(photos):
    model, theirs = haar("eye")
    image = photos["astronaut.png"]
    windows = find_windows(model, image)
    grouped = group_rectangles(windows.rectangles, 3, scores=windows.scores)
    rectangles, _, scores = theirs.detectMultiScale3(image, 1.1, 3, outputRejectLevels=True)
    # OpenCV groups by the stages passed, which are the same for all windows: it keeps every cluster
    theirs_by_rectangle = {tuple(r[:4]): r[4] for r in rows(rectangles, scores)}
    assert len(grouped.rectangles) > 0
    for rectangle, score in zip(grouped.rectangles.tolist(), grouped.scores.tolist(), strict=True):
        assert theirs_by_rectangle[tuple(rectangle)] == score


def test_levels_of_random_sizes_equal_opencv():
    rng = np.random.default_rng(0)
    for _ in range(60):
        high, wide = rng.integers(8, 300, 2)
        image = rng.integers(0, 256, (high, wide), dtype=np.uint8)
        level = level_image(image, (2, 2), float(np.float32(rng.uniform(1, 4))))
        assert np.array_equal(
            level, cv2.resize(image, level.shape[::-1], interpolation=cv2.INTER_LINEAR_EXACT)
        )


def test_large_white_image_equals_opencv():
    model, theirs = haar("frontalface_alt2")
    image = np.full((3000, 3100), 255, np.uint8)
    image[2600:2960, 2700:3060] = as_grey(PHOTOS / "astronaut.png")[:360, :360]
    expected = their_windows(theirs, image, 1.5, maxSize=(200, 200))
    assert len(expected) > 0
    assert our_windows(model, image, 1.5, max_size=200) == expected


@pytest.mark.data
@pytest.mark.skipif(not DATA, reason="HEDGEROW_DATA is not set")
@pytest.mark.parametrize("name", ["frontalface_alt2", "frontalface_default", "profileface"])
def test_windows_of_cmu_photos_equal_opencv(name):
    model, theirs = haar(name)
    files = sorted(
        p for p in (Path(DATA) / "detection" / "newtest").iterdir() if p.suffix in {".png", ".gif"}
    )
    for file in files[:4]:
        image = as_grey(file)
        assert our_windows(model, image, 1.25) == their_windows(theirs, image, 1.25), file.name


def _through_xml(model, path):
    path.write_bytes(write_opencv(model))
    theirs = cv2.CascadeClassifier(str(path))
    assert not theirs.empty()
    return theirs


def test_scanned_rows_equal_opencv(tmp_path):
    """OpenCV's stripes omit the last row of some levels, depending on the size of the image."""
    rng = np.random.default_rng(3)
    some = random_model(rng, "LBP", (8, 8), stages=(1,))
    every = replace(some, stage_thresholds=np.full(1, -1e6, np.float32))  # every window passes
    theirs = _through_xml(every, tmp_path / "all.xml")
    for _ in range(30):
        image = rng.integers(0, 256, rng.integers(8, 90, 2)).astype(np.uint8)
        factor = float(rng.choice([1.05, 1.1, 1.3, 2.0]))
        ours = Cascade(every).detect(image, factor, 0).rectangles.tolist()
        assert sorted(ours) == sorted([*map(int, r)] for r in theirs.detectMultiScale(image, factor, 0))


@every_cascade
def test_windows_of_random_crops_equal_opencv(path, photos):
    model, theirs = read(path)
    rng = np.random.default_rng(11)
    for _ in range(5):
        image = photos[NAMES[rng.integers(len(NAMES))]]
        size = [int(rng.integers(20, min(n, 200))) for n in image.shape]
        y, x = (int(rng.integers(0, n - side + 1)) for n, side in zip(image.shape, size, strict=True))
        crop = np.ascontiguousarray(image[y : y + size[0], x : x + size[1]])
        factor = float(rng.choice([1.02, 1.05, 1.1, 1.15, 1.37, 2.0, 2.5]))
        smallest = int(rng.choice([0, 0, 25, 50]))
        assert our_windows(model, crop, factor, min_size=smallest or None) == their_windows(
            theirs, crop, factor, minSize=(smallest, smallest)
        )


def test_last_row_outside_all_stripes_is_not_scanned():
    """Without the stripes of OpenCV a 287th window passes."""
    model, theirs = haar("smile")
    image = np.ascontiguousarray(as_grey(PHOTOS / "astronaut.png")[::-1][:211, :150])
    assert our_windows(model, image, 1.1) == their_windows(theirs, image, 1.1)


@pytest.mark.parametrize("kind", ["HAAR", "LBP"])
def test_random_cascades_equal_opencv(kind, photos, tmp_path):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = random_model(rng, kind, (12, 10), stages=(1, 3, 4))
        theirs = _through_xml(model, tmp_path / f"{seed}.xml")
        image = np.ascontiguousarray(photos["coffee.png"][: 60 + seed, : 90 - seed])
        assert our_windows(model, image, 1.2) == their_windows(theirs, image, 1.2)


@pytest.mark.parametrize(
    "recipe",
    [
        {"features": "basic", "algorithm": "discrete"},
        {"features": "all", "max_depth": 2, "max_features": 400},
        {"features": "core", "algorithm": "real", "max_depth": 3},
        {"features": "lbp", "min_hit_rate": 0.8},
    ],
    ids=str,
)
def test_trained_cascades_equal_opencv(recipe, photos, tmp_path):
    cascade = fitted(n_stages=1, **recipe).cascade_
    theirs = _through_xml(cascade.model, tmp_path / "trained.xml")
    image = photos["chelsea.png"]
    ours = cascade.detect(image, 1.2, 0).rectangles.tolist()
    assert sorted(ours) == sorted([*map(int, r)] for r in theirs.detectMultiScale(image, 1.2, 0))
    assert ours
