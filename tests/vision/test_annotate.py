import json

import numpy as np
import pytest
from PIL import Image

from hedgerow.vision.annotate import detect_files, detections_as_json, draw_detections
from hedgerow.vision.detections import Detection
from hedgerow.vision.faces import Face
from hedgerow.vision.images import read_image


class Constant:
    """Detects the same objects in every image, and records its calls."""

    def __init__(self, *found):
        self.found, self.calls = found, []

    def detect(self, image, **options):
        self.calls.append((np.asarray(image), options))
        return list(self.found)


def found(x, y, width, height):
    return Detection(x, y, width, height, score=2.5, neighbors=4)


GREY = np.full((120, 160), 90, np.uint8)
FACE = found(40, 30, 60, 60)


def save(path, image=GREY):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(image).save(path)
    return path


# --------------------------------------------------------------------------------------- drawing
def test_draw_detections_draws_on_a_copy():
    before = GREY.copy()
    picture = draw_detections(GREY, [FACE], labels=False)
    pixels = np.asarray(picture)
    assert picture.mode == "RGB"
    assert pixels.shape == (120, 160, 3)
    assert np.array_equal(GREY, before)
    changed = np.argwhere((pixels != 90).any(axis=2))
    assert changed.min(axis=0).tolist() == [29, 39]  # with its dark edge
    assert changed.max(axis=0).tolist() == [90, 100]
    assert (pixels[40:80, 50:90] == 90).all()


def test_lines_are_wider_on_larger_pictures():
    def line(size):
        picture = np.asarray(
            draw_detections(np.zeros((size, size), np.uint8), [found(50, 50, 90, 90)], labels=False)
        )
        return int(picture[95, 20:95, 1].astype(bool).sum())

    assert line(200) < line(1000) < line(3000)


def test_each_pose_has_its_own_colour():
    colours = set()
    for pose in ("frontal", "left", "right"):
        pixels = np.asarray(draw_detections(GREY, [Face(40, 30, 60, 60, 1.0, 3, pose)], labels=False))
        colours.add(tuple(pixels[60, 40].tolist()))
    assert len(colours) == 3


def test_labels_are_inside_the_picture_and_omitted_on_narrow_rectangles():
    plain = np.asarray(draw_detections(GREY, [FACE], labels=False))
    assert not np.array_equal(np.asarray(draw_detections(GREY, [FACE])), plain)
    at_the_edge = [found(0, 0, 60, 60), found(130, 90, 60, 60)]
    assert draw_detections(GREY, at_the_edge).size == (160, 120)
    tiny = [found(40, 30, 8, 8)]
    with_label, without = (np.asarray(draw_detections(GREY, tiny, labels=on)) for on in (True, False))
    assert np.array_equal(with_label, without)


def test_colours_of_the_picture_are_kept():
    colour = np.dstack([GREY, GREY // 2, GREY // 3])
    drawn = np.asarray(draw_detections(colour[:, :, ::-1], [FACE], channels="bgr"))
    assert drawn[0, 0].tolist() == [90, 45, 30]


def test_json_has_plain_numbers():
    one = Detection(np.int32(1), np.int32(2), np.int32(3), np.int32(4), np.float64(0.5), np.int32(6))
    rows = detections_as_json([one, Face(1, 2, 3, 4, 0.5, 6, "left")])
    plain = {"x": 1, "y": 2, "width": 3, "height": 4, "score": 0.5, "neighbors": 6}
    assert json.loads(json.dumps(rows)) == [plain, plain | {"pose": "left"}]


# ----------------------------------------------------------------------------------------- files
def test_detect_files_writes_annotated_copies_and_json(tmp_path):
    one, two = save(tmp_path / "a.png"), save(tmp_path / "b.jpg", np.dstack([GREY[:50]] * 3))
    detector = Constant(FACE)
    results = detect_files(
        [one, str(two)],
        detector,
        out_dir=tmp_path / "new" / "out",
        json_path=tmp_path / "all.json",
        scale_factor=np.float64(1.2),
        min_neighbors=np.int64(2),
        min_size=(np.int64(30), 30),
    )
    assert [result.path.name for result in results] == ["a.png", "b.jpg"]
    assert [(result.width, result.height) for result in results] == [(160, 120), (160, 50)]
    assert all(result.detections == [FACE] and result.error is None for result in results)
    settings = {"scale_factor": 1.2, "min_neighbors": 2, "min_size": (30, 30), "max_size": None}
    assert detector.calls[0][1] == settings
    for result, image in zip(results, (one, two), strict=True):
        drawn = np.asarray(read_image(result.annotated))
        assert np.array_equal(drawn, np.asarray(draw_detections(image, [FACE])))
    assert results[1].annotated == tmp_path / "new" / "out" / "b.detected.png"
    whole = json.loads((tmp_path / "all.json").read_text())
    assert whole["format"] == "hedgerow detections 1"
    assert whole["settings"]["min_size"] == [30, 30]
    assert whole["images"][0] == {
        "file": str(one),
        "width": 160,
        "height": 120,
        "annotated": str(results[0].annotated),
        "detections": [FACE._asdict()],
    }


def test_detect_files_writes_nothing_by_default(tmp_path):
    path = save(tmp_path / "a.png")
    [result] = detect_files(path, Constant())
    assert result.annotated is None
    assert [one.name for one in tmp_path.iterdir()] == ["a.png"]


def test_detect_files_continues_after_unreadable_files(tmp_path):
    good = save(tmp_path / "good.png")
    (tmp_path / "notes.txt").write_text("milk")
    paths = [tmp_path / "none.png", tmp_path / "notes.txt", tmp_path, good]
    results = detect_files(paths, Constant(FACE), out_dir=tmp_path / "out", json_path=tmp_path / "all.json")
    assert "none.png: no such image file" in results[0].error
    assert "notes.txt: not an image file" in results[1].error
    assert "a folder" in results[2].error
    assert results[3].error is None
    entries = json.loads((tmp_path / "all.json").read_text())["images"]
    assert [sorted(entry) for entry in entries[:3]] == [["error", "file"]] * 3
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["good.detected.png"]


def test_exif_orientation_is_applied_before_annotation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(GREY).save(tmp_path / "a.png", exif=exif)
    detector = Constant()
    [result] = detect_files([tmp_path / "a.png"], detector, out_dir=tmp_path)
    assert (result.width, result.height) == read_image(result.annotated).size == (120, 160)
    assert detector.calls[0][0].shape == (160, 120)


def test_existing_files_are_replaced_only_with_overwrite(tmp_path):
    path, detector = save(tmp_path / "a.png"), Constant(FACE)
    (tmp_path / "a.detected.png").write_text("mine")
    (tmp_path / "all.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.detected\.png exists"):
        detect_files([path], detector, out_dir=tmp_path)
    with pytest.raises(FileExistsError, match=r"all\.json exists"):
        detect_files([path], detector, json_path=tmp_path / "all.json")
    assert detector.calls == []
    assert (tmp_path / "a.detected.png").read_text() == (tmp_path / "all.json").read_text() == "mine"
    detect_files([path], detector, out_dir=tmp_path, json_path=tmp_path / "all.json", overwrite=True)
    assert read_image(tmp_path / "a.detected.png").size == (160, 120)
    assert json.loads((tmp_path / "all.json").read_text())["images"]


def test_detect_files_continues_after_a_detector_error(tmp_path):
    class RejectsWide:
        def detect(self, image, **options):
            if image.size == (60, 20):
                raise ValueError("this image is too wide")
            return []

    paths = [save(tmp_path / "a.png"), tmp_path / "wide.png"]
    Image.new("L", (60, 20)).save(paths[1])
    results = detect_files(
        paths, RejectsWide(), out_dir=tmp_path / "out", json_path=tmp_path / "out" / "all.json"
    )
    assert [result.error for result in results] == [None, "this image is too wide"]
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["a.detected.png", "all.json"]
    assert json.loads((tmp_path / "out" / "all.json").read_text())["images"][1]["error"]


@pytest.mark.parametrize(
    "options", [{"scale_factor": 1.0}, {"min_neighbors": -1}, {"min_size": (0, 3)}, {"max_size": "large"}]
)
def test_detect_files_rejects_invalid_settings_before_reading(tmp_path, options):
    path, detector = save(tmp_path / "a.png"), Constant()
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        detect_files([path], detector, out_dir=tmp_path / "out", **options)
    assert detector.calls == []
    assert [one.name for one in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out_dir": "in/a.png"}, r"out_dir=.*a\.png is a file"),
        ({"json_path": "in"}, "json_path=.*in is a folder"),
        ({"json_path": "none/all.json"}, r"json_path=.*all\.json: the folder .*none does not exist"),
        ({"json_path": "in/a.png", "overwrite": True}, r"a\.png is one of the images"),
        ({"json_path": "out/a.detected.png", "out_dir": "out"}, "the path of an annotated copy"),
        ({"paths": ["in/a.png", "other/a.png"], "out_dir": "out"}, r"both be written to .*a\.detected\.png"),
        ({"paths": []}, "paths is empty"),
        ({"detector": 7}, "detector of type int"),
    ],
)
def test_detect_files_rejects_invalid_paths_before_reading(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "in" / "a.png")
    save(tmp_path / "other" / "a.png")
    detector = Constant()
    with pytest.raises((ValueError, OSError, TypeError), match=message):
        detect_files(**{"paths": ["in/a.png"], "detector": detector} | options)
    assert detector.calls == []
    assert not (tmp_path / "out").exists()
