"""Cascades at their edges: what is no model, no image, no file and no table of sums."""

import numpy as np
import pytest

from cascade_files import make_model
from hedgerow.container import ModelFileError
from hedgerow.vision import Cascade, FaceDetector, integral_image, load_cascade, opencv_xml
from hedgerow.vision import cascade as cascade_module
from hedgerow.vision.detections import Detections, group_rectangles
from hedgerow.vision.integral import rectangle_sum, squared_integral_image, tilted_integral_image
from hedgerow.vision.model import HAAR
from hedgerow.vision.samples import Samples, load_positives
from hedgerow.vision.stage import empty_cascade

IMAGE = np.arange(2400, dtype=np.uint8).reshape(40, 60)


def test_a_cascade_is_made_of_a_model_and_of_a_dictionary():
    with pytest.raises(TypeError, match=r"info is list: a dict or None is needed"):
        Cascade(make_model(), ["faces"])
    with pytest.raises(TypeError, match=r"a CascadeModel is needed"):
        Cascade("frontalface")


def test_one_image_is_no_list_of_images():
    cascade = Cascade(make_model())
    for one in (IMAGE, np.stack([IMAGE] * 3, axis=-1)):
        with pytest.raises(
            ValueError, match=r"a list of images is needed; for a single one there is `detect`"
        ):
            cascade.detect_batch(one)
    assert len(cascade.detect_batch(np.stack([IMAGE] * 5))) == 5


def test_what_is_no_cascade_is_not_written(tmp_path):
    cascade = Cascade(make_model())
    with pytest.raises(ValueError, match=r"cascades are written as \.xml or in our own format"):
        cascade.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"a cascade without stages finds everything everywhere"):
        Cascade(empty_cascade(HAAR, (24, 20))).save(tmp_path / "model.cascade")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_of_a_cascade_is_refused(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match=r"path_or_name=7 is not allowed"):
        load_cascade(7)
    with pytest.raises(IsADirectoryError, match=r"is a folder"):
        load_cascade(tmp_path)
    path = tmp_path / "model.cascade"
    path.write_bytes(b"not a cascade")
    with pytest.raises(ModelFileError, match=r"model\.cascade"):
        load_cascade(path)
    monkeypatch.setattr(cascade_module, "MOST_BYTES", 5)
    with pytest.raises(ModelFileError, match=r"has 13 bytes, which is too much for a cascade"):
        load_cascade(path)


def test_a_cascade_equals_only_a_cascade():
    cascade = Cascade(make_model())
    assert cascade == Cascade(make_model())
    assert cascade != "frontalface"
    found = cascade.detect(IMAGE)
    assert isinstance(found, Detections)
    assert found != [1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<a><b/>" + b"<c/>" * 30, r"tags are not allowed"),
        (b"<a " + b" ".join(b"b%d='1'" % i for i in range(30)) + b"/>", r"too many attributes"),
        (b"<opencv_storage><a>" + b"x" * 60 + b"</a></opencv_storage>", r"a text of more than 50 characters"),
    ],
)
def test_xml_that_is_too_much_is_refused(data, words, monkeypatch):
    monkeypatch.setattr(opencv_xml, "MOST_ELEMENTS", 10)
    monkeypatch.setattr(opencv_xml, "MOST_ATTRIBUTES", 10)
    monkeypatch.setattr(opencv_xml, "MOST_TEXT", 50)
    with pytest.raises(ModelFileError, match=words):
        opencv_xml.parse_storage(data)


def test_xml_of_too_many_elements_is_refused_though_its_tags_are_few(monkeypatch):
    monkeypatch.setattr(opencv_xml, "MOST_ELEMENTS", 5)
    with pytest.raises(ModelFileError, match=r"more than 5 elements are not allowed"):
        opencv_xml.parse_storage(b"<opencv_storage>" + b"<a/>" * 7 + b"</opencv_storage>")


def test_a_document_type_that_the_first_look_misses_is_refused_by_the_parser(monkeypatch):
    monkeypatch.setattr(opencv_xml, "_check_bytes", lambda _: None)
    with pytest.raises(ModelFileError, match=r"a document type or entity is not allowed"):
        opencv_xml.parse_storage(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")


def test_sums_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"the squares of pixels up to 2000000000"):
        squared_integral_image([[2_000_000_000] * 4])
    with pytest.raises(ValueError, match=r"the pixels must lie below"):
        integral_image(np.array([[2**62]]))
    assert tilted_integral_image(np.zeros((3, 0), int)).shape == (4, 1)
    sums = integral_image(IMAGE)
    with pytest.raises(ValueError, match=r"an integral image is needed"):
        rectangle_sum(np.zeros(4), 0, 0, 1, 1)
    with pytest.raises(ValueError, match=r"width is not allowed to be"):
        rectangle_sum(sums, 0, 0, 2**62, 1)


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"scores are not numbers"):
        group_rectangles(np.array([[1, 2, 3, 4]]), scores=["high"])


def test_samples_are_taken_as_they_are_and_mirror_is_a_truth_value():
    windows = np.random.default_rng(0).integers(0, 256, (5, 24, 24)).astype(np.uint8)
    samples = load_positives(windows, (24, 24), random_state=0)
    assert isinstance(samples, Samples)
    again = load_positives(samples, (24, 24), random_state=0)
    np.testing.assert_array_equal(again.images, samples.images)
    np.testing.assert_array_equal(again.group, samples.group)
    with pytest.raises(TypeError, match=r"mirror='yes' is not allowed"):
        load_positives(windows, (24, 24), mirror="yes")


def test_a_detector_of_faces_shows_what_it_is_made_of():
    frontal = Cascade(make_model())
    assert repr(FaceDetector(frontal, profile=None)) == f"FaceDetector({frontal!r}, profile=None)"
    shown = repr(FaceDetector(frontal, profile=frontal, profile_looks="left"))
    assert shown == f"FaceDetector({frontal!r}, profile={frontal!r}, profile_looks='left')"
