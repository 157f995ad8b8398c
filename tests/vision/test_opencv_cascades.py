"""OpenCV's own detector, window by window: all of its Haar cascades and the LBP one of scikit-image.

Raw windows come from detectMultiScale3 with minNeighbors=0: the windows as a set, with the sum of the last
stage of each, since OpenCV's threads give them in any order. Everything is compared bit by bit.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hedgerow.vision.cascade import Cascade
from hedgerow.vision.detections import group_rectangles
from hedgerow.vision.images import as_grey
from hedgerow.vision.opencv import read_opencv, write_opencv
from hedgerow.vision.scan import find_windows, level_image, scan_factors
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
LARGEST = 240  # pixels of the longer side: keeps all photos, cascades and sizes within seconds
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


def both(path, folder):
    """The same cascade for both libraries; one file has a typing error that OpenCV does not forgive."""
    data = path.read_bytes().replace(b"featuhreParams", b"featureParams")
    copy = folder / path.name
    copy.write_bytes(data)
    theirs = cv2.CascadeClassifier(str(copy))
    assert not theirs.empty()
    return read_opencv(data), theirs


def rows(rectangles, scores):
    rectangles, scores = np.asarray(rectangles).reshape(-1, 4), np.asarray(scores, float).ravel()
    return sorted((*r, s) for r, s in zip(rectangles.tolist(), scores.tolist(), strict=True))


def our_windows(model, image, scale_factor, **sizes):
    found = Cascade(model).detect(image, scale_factor, 0, **sizes)
    return rows(found.rectangles, found.scores)


def their_windows(theirs, image, scale_factor, **sizes):
    rectangles, _, scores = theirs.detectMultiScale3(image, scale_factor, 0, outputRejectLevels=True, **sizes)
    return rows(rectangles, scores)


@pytest.mark.parametrize("path", [*HAAR_FILES, LBP_FILE], ids=lambda path: path.stem.split("_", 1)[1])
def test_every_cascade_finds_the_same_windows_and_groups_in_every_photo(path, photos, tmp_path):
    model, theirs = both(path, tmp_path)
    for number, (name, image) in enumerate(photos.items()):
        assert our_windows(model, image, 1.2) == their_windows(theirs, image, 1.2), name
        min_neighbors = (1, 3)[number % 2]
        found = Cascade(model).detect(image, 1.2, min_neighbors)
        expected, counts = theirs.detectMultiScale2(image, 1.2, min_neighbors)
        assert rows(found.rectangles, found.neighbors) == rows(expected, counts), name


def test_there_are_17_cascades_and_faces_are_among_what_is_found(photos, tmp_path):
    assert len(HAAR_FILES) == 17
    path = next(path for path in HAAR_FILES if path.stem.endswith("frontalface_alt2"))
    model, _ = both(path, tmp_path)
    assert len(Cascade(model).detect(photos["astronaut.png"])) == 1


@pytest.mark.parametrize("scale_factor", [1.05, 1.1, 1.5])
def test_scale_factors_and_sizes_are_those_of_opencv(scale_factor, photos, tmp_path):
    path = next(path for path in HAAR_FILES if path.stem.endswith("frontalface_default"))
    model, theirs = both(path, tmp_path)
    image = photos["astronaut.png"]
    for smallest, largest in ((30, 80), (50, 50), (51, 52), (24, 24), (1, 5000)):
        ours = our_windows(model, image, scale_factor, min_size=smallest, max_size=largest)
        sizes = {"minSize": (smallest, smallest), "maxSize": (largest, largest)}
        assert ours == their_windows(theirs, image, scale_factor, **sizes)


def test_scores_of_groups_are_the_largest_of_their_windows(photos, tmp_path):
    path = next(path for path in HAAR_FILES if path.stem.endswith("_eye"))
    model, theirs = both(path, tmp_path)
    image = photos["astronaut.png"]
    windows = find_windows(model, image)
    grouped = group_rectangles(windows.rectangles, 3, scores=windows.scores)
    rectangles, _, scores = theirs.detectMultiScale3(image, 1.1, 3, outputRejectLevels=True)
    # OpenCV groups by the stages passed, which are the same for all windows: every cluster is kept there
    theirs_by_rectangle = {tuple(r[:4]): r[4] for r in rows(rectangles, scores)}
    assert len(grouped.rectangles) > 0
    for rectangle, score in zip(grouped.rectangles.tolist(), grouped.scores.tolist(), strict=True):
        assert theirs_by_rectangle[tuple(rectangle)] == score


@pytest.mark.parametrize("name", ["astronaut.png", "text.png"])
def test_levels_are_resized_bit_by_bit_as_inter_linear_exact(name, photos):
    image = photos[name]
    for factor in scan_factors(image.shape, (20, 20), 1.07):
        level = level_image(image, (20, 20), factor)
        expected = cv2.resize(image, level.shape[::-1], interpolation=cv2.INTER_LINEAR_EXACT)
        assert np.array_equal(level, expected)


def test_random_sizes_are_resized_as_in_opencv():
    rng = np.random.default_rng(0)
    for _ in range(150):
        high, wide = rng.integers(8, 300, 2)
        image = rng.integers(0, 256, (high, wide), dtype=np.uint8)
        level = level_image(image, (2, 2), float(np.float32(rng.uniform(1, 4))))
        assert np.array_equal(
            level, cv2.resize(image, level.shape[::-1], interpolation=cv2.INTER_LINEAR_EXACT)
        )


def test_a_large_white_image_wraps_around_as_in_opencv(tmp_path):
    path = next(path for path in HAAR_FILES if path.stem.endswith("frontalface_alt2"))
    model, theirs = both(path, tmp_path)
    image = np.full((3000, 3100), 255, np.uint8)
    image[2600:2960, 2700:3060] = as_grey(PHOTOS / "astronaut.png")[:360, :360]
    expected = their_windows(theirs, image, 1.5, maxSize=(200, 200))
    assert len(expected) > 0
    assert our_windows(model, image, 1.5, max_size=200) == expected


@pytest.mark.data
@pytest.mark.skipif(not DATA, reason="HEDGEROW_DATA is not set")
@pytest.mark.parametrize("name", ["frontalface_alt2", "frontalface_default", "profileface"])
def test_photos_of_the_cmu_test_set_have_the_same_windows(name, tmp_path):
    path = next(path for path in HAAR_FILES if path.stem == f"haarcascade_{name}")
    model, theirs = both(path, tmp_path)
    files = sorted(
        p for p in (Path(DATA) / "detection" / "newtest").iterdir() if p.suffix in {".png", ".gif"}
    )
    for file in files[:12]:
        image = as_grey(file)
        assert our_windows(model, image, 1.25) == their_windows(theirs, image, 1.25), file.name


def _through_xml(model, path):
    path.write_bytes(write_opencv(model))
    theirs = cv2.CascadeClassifier(str(path))
    assert not theirs.empty()
    return theirs


def test_every_row_that_opencv_scans_is_scanned_and_no_other(tmp_path):
    """OpenCV's stripes leave out the last row of some levels, which depends on the size of the image."""
    rng = np.random.default_rng(3)
    some = random_model(rng, "LBP", (8, 8), stages=(1,))
    every = replace(some, stage_thresholds=np.full(1, -1e6, np.float32))  # lets every window pass
    theirs = _through_xml(every, tmp_path / "all.xml")
    for _ in range(80):
        image = rng.integers(0, 256, rng.integers(8, 90, 2)).astype(np.uint8)
        factor = float(rng.choice([1.05, 1.1, 1.3, 2.0]))
        ours = Cascade(every).detect(image, factor, 0).rectangles.tolist()
        assert sorted(ours) == sorted([*map(int, r)] for r in theirs.detectMultiScale(image, factor, 0))


@pytest.mark.parametrize("path", [*HAAR_FILES, LBP_FILE], ids=lambda path: path.stem.split("_", 1)[1])
def test_every_cascade_finds_the_same_in_crops_of_any_size(path, photos, tmp_path):
    model, theirs = both(path, tmp_path)
    rng = np.random.default_rng(11)
    for _ in range(12):
        image = photos[NAMES[rng.integers(len(NAMES))]]
        size = [int(rng.integers(20, min(n, 200))) for n in image.shape]
        y, x = (int(rng.integers(0, n - side + 1)) for n, side in zip(image.shape, size, strict=True))
        crop = np.ascontiguousarray(image[y : y + size[0], x : x + size[1]])
        factor = float(rng.choice([1.02, 1.05, 1.1, 1.15, 1.37, 2.0, 2.5]))
        smallest = int(rng.choice([0, 0, 25, 50]))
        assert our_windows(model, crop, factor, min_size=smallest or None) == their_windows(
            theirs, crop, factor, minSize=(smallest, smallest)
        )


def test_the_window_that_stripes_leave_out_is_left_out(tmp_path):
    """Found on a photo: without the stripes' rule there was a 287th window."""
    (path,) = (path for path in HAAR_FILES if path.stem.endswith("smile"))
    model, theirs = both(path, tmp_path)
    image = np.ascontiguousarray(as_grey(PHOTOS / "astronaut.png")[::-1][:211, :150])
    assert our_windows(model, image, 1.1) == their_windows(theirs, image, 1.1)


@pytest.mark.parametrize("kind", ["HAAR", "LBP"])
def test_random_cascades_find_the_same(kind, photos, tmp_path):
    for seed in range(20):
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
def test_what_is_trained_here_finds_the_same_in_opencv(recipe, photos, tmp_path):
    cascade = fitted(n_stages=1, **recipe).cascade_
    theirs = _through_xml(cascade.model, tmp_path / "trained.xml")
    image = photos["chelsea.png"]
    ours = cascade.detect(image, 1.2, 0).rectangles.tolist()
    assert sorted(ours) == sorted([*map(int, r)] for r in theirs.detectMultiScale(image, 1.2, 0))
    assert ours
