from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import oracle_vision as oracle
from cascade_files import make_model
from hedgerow.container import ModelFileError
from hedgerow.vision import cascade as cascade_module
from hedgerow.vision.cascade import Cascade, load_cascade
from hedgerow.vision.detections import Detection, Detections, group_rectangles
from hedgerow.vision.model import HAAR, LBP
from hedgerow.vision.scan import find_windows
from hedgerow.vision.stage import empty_cascade

IMAGE = np.arange(2400, dtype=np.uint8).reshape(40, 60)

SEED = 7  # finds several groups, and refuses most windows
SHAPE = {"window": (14, 12), "stages": (1, 2, 3)}


@pytest.fixture(scope="module")
def cascade():
    return Cascade(oracle.random_model(np.random.default_rng(SEED), **SHAPE), {"name": "test"})


@pytest.fixture(scope="module")
def image():
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:90, :120]
    waves = 128 + 80 * np.sin(x / 5) * np.sin(y / 7) + rng.normal(0, 20, (90, 120))
    return np.clip(waves, 0, 255).astype(np.uint8)


def test_detections_are_the_groups_of_the_windows(cascade, image):
    windows = find_windows(cascade.model, image)
    grouped = group_rectangles(windows.rectangles, 2, scores=windows.scores)
    found = cascade.detect(image, min_neighbors=2)
    assert len(found) == len(grouped.rectangles) > 1
    assert sorted(found.scores) == sorted(grouped.scores)
    assert (found.rectangles[:, :2] + found.rectangles[:, 2:] <= [120, 90]).all()
    inside = (grouped.rectangles[:, :2] + grouped.rectangles[:, 2:] <= [120, 90]).all(axis=1)
    assert set(map(tuple, grouped.rectangles[inside].tolist())) <= set(map(tuple, found.rectangles.tolist()))
    keys = [(-d.neighbors, -d.score, d.y, d.x, d.width) for d in found]
    assert keys == sorted(keys)


def test_detections_are_clipped_to_the_image(image):
    model = oracle.random_model(np.random.default_rng(0), kind=LBP, stages=(1,), window=(6, 6))
    model = replace(model, stage_thresholds=np.full(1, -100, np.float32))  # everything passes
    windows = find_windows(model, image[:29, :31])
    found = Cascade(model).detect(image[:29, :31], min_neighbors=0)
    assert (windows.rectangles[:, 0] + windows.rectangles[:, 2]).max() > 31
    assert (found.rectangles[:, 0] + found.rectangles[:, 2]).max() == 31
    assert (found.rectangles[:, 1] + found.rectangles[:, 3]).max() == 29


def test_without_neighbors_every_window_is_a_detection(cascade, image):
    windows = find_windows(cascade.model, image)
    found = cascade.detect(image, min_neighbors=0)
    assert len(found) == len(windows.scores)
    assert found.scores.tolist() == sorted(windows.scores, reverse=True)
    assert set(found.neighbors) == {1}


@pytest.mark.parametrize("n_jobs", [2, None, -1])
def test_detections_do_not_depend_on_n_jobs(cascade, image, n_jobs):
    assert cascade.detect(image, n_jobs=n_jobs) == cascade.detect(image, n_jobs=1)


def test_detect_accepts_all_kinds_of_images(cascade, image, tmp_path):
    expected = cascade.detect(image)
    assert len(expected) > 0
    colour = np.stack([image] * 3, axis=2)
    Image.fromarray(image).save(tmp_path / "image.png")
    wide = np.zeros((90, 240), np.uint8)
    wide[:, ::2] = image
    views = [
        colour, colour[:, :, ::-1], image[:, :, None], Image.fromarray(image), tmp_path / "image.png",
        wide[:, ::2], np.asfortranarray(image), image[::-1][::-1],
    ]  # fmt: skip
    for other in views:
        assert cascade.detect(other) == expected


@pytest.mark.parametrize("shape", [(1, 1), (11, 14), (12, 13), (3, 500)])
def test_detect_returns_nothing_for_images_smaller_than_the_window(cascade, shape):
    found = cascade.detect(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))
    assert len(found) == 0
    assert list(found) == []
    assert found.rectangles.shape == (0, 4)
    assert repr(found) == "<0 detections>"


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_detect_batch_equals_detect_of_each_image(cascade, image, n_jobs):
    images = [image, image[:40], image[::-1], image[:5], image[:, ::-1]]
    expected = [cascade.detect(one, 1.2, 1) for one in images]
    assert cascade.detect_batch(images, 1.2, 1, n_jobs=n_jobs) == expected
    assert cascade.detect_batch(iter(images[:1]), 1.2, 1, n_jobs=n_jobs) == expected[:1]
    assert cascade.detect_batch([]) == []


def test_detect_batch_rejects_invalid_images(cascade, image):
    with pytest.raises(ValueError, match="shape"):
        cascade.detect_batch([image, np.zeros(3, np.uint8), image], n_jobs=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale_factor": 1.0}, r"scale_factor=1.0 is not allowed: it must be a number above 1"),
        ({"min_neighbors": -1}, r"min_neighbors=-1 is not allowed: it must be an integer, 0 or more"),
        ({"min_neighbors": 1.5}, r"min_neighbors=1.5 is not allowed"),
        ({"min_neighbors": True}, r"min_neighbors=True is not allowed"),
        ({"min_size": 0}, r"min_size=0 is not allowed: it must be a positive integer or \(width, height\)"),
        ({"max_size": (5, "b")}, r"max_size=\(5, 'b'\) is not allowed"),
        ({"min_size": (20, 30), "max_size": (30, 20)}, r"min_size=\(20, 30\) is not allowed: it is above"),
        ({"n_jobs": 0}, r"n_jobs must be a positive number"),
        ({"channels": "hsv"}, r"channels='hsv' is not allowed"),
    ],
)
def test_detect_rejects_invalid_settings(cascade, image, settings, message):
    with pytest.raises(ValueError, match=message):
        cascade.detect(image, **settings)
    with pytest.raises(ValueError, match=message):
        cascade.detect_batch([image], **settings)


def test_min_size_and_max_size_limit_detections(cascade, image):
    found = cascade.detect(image, min_neighbors=0, min_size=20, max_size=(40, 40))
    assert len(found) > 0
    assert found.rectangles[:, 2:].min() >= 20
    assert found.rectangles[:, 2:].max() <= 40


def test_scores_of_windows_are_those_of_the_oracle(cascade, image):
    windows = np.stack([image[y : y + 12, x : x + 14] for y in range(0, 78, 6) for x in range(0, 100, 6)])
    scores = cascade.score_windows(windows)
    expected = [oracle.evaluate_window(cascade.model, window) for window in windows]
    assert scores.tolist() == [score if stage == 3 else -np.inf for stage, score in expected]
    assert np.isfinite(scores).any()
    assert np.isinf(scores).any()
    with pytest.raises(ValueError, match=r"uint8 of shape \(n, 12, 14\)"):
        cascade.score_windows(windows.astype(float))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("model.hedgerow", HAAR), ("model.xml", HAAR), ("model.XML", LBP), ("model", LBP), ("model.xml", LBP)],
)
def test_a_saved_cascade_is_the_same_when_loaded(name, kind, tmp_path):
    cascade = Cascade(oracle.random_model(np.random.default_rng(0), kind=kind, tilted_share=0.5), {"a": [1]})
    cascade.save(tmp_path / name)
    again = load_cascade(str(tmp_path / name))
    image = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    assert again.detect(image, min_neighbors=0) == cascade.detect(image, min_neighbors=0)
    assert again == cascade
    assert again.info == ({} if name.lower().endswith("xml") else {"a": [1]})


def test_load_cascade_detects_the_format_from_the_content(tmp_path):
    cascade = Cascade(oracle.random_model(np.random.default_rng(0)))
    cascade.save(tmp_path / "a.xml")
    (tmp_path / "a.xml").rename(tmp_path / "a.hedgerow")
    assert load_cascade(tmp_path / "a.hedgerow") == cascade


def test_load_cascade_names_the_file_in_errors(tmp_path):
    for text in ("buy milk", "<opencv_storage/>"):
        (tmp_path / "notes.xml").write_text(text)
        with pytest.raises(ModelFileError, match=r"notes\.xml: "):
            load_cascade(tmp_path / "notes.xml")
    with pytest.raises(FileNotFoundError, match=r"'other' is neither a file nor the name of a packaged"):
        load_cascade("other")


def test_cascades_are_equal_by_their_arrays(cascade):
    same = Cascade(oracle.random_model(np.random.default_rng(SEED), **SHAPE))
    other = Cascade(oracle.random_model(np.random.default_rng(SEED + 1), **SHAPE))
    assert same == cascade
    assert other != cascade
    assert cascade != "cascade"
    assert repr(cascade).startswith("<Cascade: HAAR, 14 x 12 window, 3 stages, 6 trees, 12 features>")
    assert (cascade.window, cascade.kind, cascade.n_stages, cascade.n_features) == ((14, 12), "HAAR", 3, 12)


def test_detections_are_a_sequence():
    rectangles = np.array([[1, 2, 20, 20], [5, 6, 30, 30], [9, 9, 24, 24]], np.int32)
    found = Detections(rectangles, np.array([0.5, 2.0, 1.0]), np.array([3, 3, 8], np.int32))
    assert found[0] == Detection(9, 9, 24, 24, 1.0, 8)
    assert found[-1] == Detection(1, 2, 20, 20, 0.5, 3)
    assert [d.neighbors for d in found] == [8, 3, 3]
    assert found[1:] == Detections(rectangles[:2], np.array([0.5, 2.0]), np.array([3, 3], np.int32))
    assert found != found[1:]
    assert found != [1, 2]
    assert Detection(9, 9, 24, 24, 1.0, 8) in found
    with pytest.raises(IndexError):
        found[3]
    assert repr(found[:1]) == "<1 detection: (9, 9, 24, 24) score 1, 8 neighbors>"


def test_cascade_rejects_wrong_types():
    with pytest.raises(TypeError, match=r"info is list: it must be a dict or None"):
        Cascade(make_model(), ["faces"])
    with pytest.raises(TypeError, match=r"it must be a CascadeModel; use load_cascade"):
        Cascade("frontalface")


def test_detect_batch_rejects_a_single_image():
    cascade = Cascade(make_model())
    for one in (IMAGE, np.stack([IMAGE] * 3, axis=-1)):
        with pytest.raises(
            ValueError, match=r"images must be a list of images; use `detect` for a single image"
        ):
            cascade.detect_batch(one)
    assert len(cascade.detect_batch(np.stack([IMAGE] * 5))) == 5


def test_save_rejects_other_formats_and_empty_cascades(tmp_path):
    cascade = Cascade(make_model())
    with pytest.raises(ValueError, match=r"a cascade is written as \.xml or \.hedgerow"):
        cascade.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"a cascade without stages accepts every window"):
        Cascade(empty_cascade(HAAR, (24, 20))).save(tmp_path / "model.cascade")
    assert list(tmp_path.iterdir()) == []


def test_load_cascade_rejects_other_files(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match=r"path_or_name=7 is not allowed"):
        load_cascade(7)
    with pytest.raises(IsADirectoryError, match=r"is a folder"):
        load_cascade(tmp_path)
    path = tmp_path / "model.cascade"
    path.write_bytes(b"not a cascade")
    monkeypatch.setattr(cascade_module, "MAX_BYTES", 5)
    with pytest.raises(ModelFileError, match=r"has 13 bytes, too many for a cascade"):
        load_cascade(path)
