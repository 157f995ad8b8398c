"""The face model that comes with the package."""

import importlib
import importlib.resources
import os
from pathlib import Path

import numpy as np
import pytest

from hedgerow.vision import FaceDetector, load_cascade
from hedgerow.vision.opencv import read_opencv, write_opencv

MODELS = importlib.resources.files("hedgerow.vision") / "models"


@pytest.fixture(scope="module")
def frontal():
    return load_cascade("frontalface")


@pytest.fixture(scope="module")
def astronaut():
    return pytest.importorskip("skimage.data", reason="scikit-image has the photograph").astronaut()


def test_the_model_is_small_and_has_a_card():
    assert len((MODELS / "frontalface.hedgerow").read_bytes()) < 1 << 20
    card = (MODELS / "frontalface.md").read_text(encoding="utf-8")
    assert "examples/train_frontalface.py" in card


def test_model_has_the_history_of_its_training(frontal):
    stages = frontal.info["stages"]
    assert [stage["stage"] for stage in stages] == list(range(1, frontal.n_stages + 1))
    trees = np.diff(frontal.model.stage_starts)
    assert [stage["n_learners"] for stage in stages] == trees.tolist()
    assert np.prod([s["hit_rate"] for s in stages]) == pytest.approx(stages[-1]["total_hit_rate"])
    assert np.array(frontal.info["mean"]).shape == (24, 24)


def test_model_detects_only_the_face_of_the_astronaut(frontal, astronaut):
    (face,) = frontal.detect(astronaut)
    assert abs(face.x + face.width / 2 - 223) < 15
    assert abs(face.y + face.height / 2 - 120) < 20
    assert 70 < face.width < 130
    (labelled,) = FaceDetector().detect(astronaut)
    assert labelled.pose == "frontal"
    assert tuple(labelled[:4]) == tuple(face[:4])


def test_model_is_unchanged_by_xml(frontal):
    again = read_opencv(write_opencv(frontal.model))
    for name, array in frontal.model.arrays().items():
        assert np.array_equal(array, again.arrays()[name]), name


@pytest.mark.compare
def test_opencv_finds_the_same_windows_with_the_written_xml(frontal, astronaut, tmp_path):
    cv2 = pytest.importorskip("cv2", reason="opencv-python-headless below 5 is needed")
    if not hasattr(cv2, "CascadeClassifier"):
        pytest.skip("this OpenCV has no cascades")
    frontal.save(tmp_path / "frontalface.xml")
    theirs = cv2.CascadeClassifier(str(tmp_path / "frontalface.xml"))
    grey = cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY)
    windows = {tuple(map(int, r)) for r in theirs.detectMultiScale(grey, 1.1, 0)}
    ours = frontal.detect(astronaut, min_neighbors=0).rectangles
    assert windows == set(map(tuple, ours.tolist()))
    assert len(windows) > 3


@pytest.mark.compare
@pytest.mark.data
@pytest.mark.slow
def test_model_is_at_least_as_good_as_opencv(monkeypatch):
    if "HEDGEROW_DATA" not in os.environ:
        pytest.skip("HEDGEROW_DATA is not set")
    cv2 = pytest.importorskip("cv2", reason="the other model comes with opencv-python-headless below 5")
    if not hasattr(cv2, "CascadeClassifier"):
        pytest.skip("this OpenCV has no cascades")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    face_quality = importlib.import_module("face_quality")
    photos = face_quality.load_photos()
    alt2 = str(Path(cv2.data.haarcascades) / "haarcascade_frontalface_alt2.xml")
    ours, theirs = (face_quality.measure(face_quality.finder(name), photos) for name in ("frontalface", alt2))
    for n in (10, 30, 90):
        assert ours.rate_at(n) >= theirs.rate_at(n)
