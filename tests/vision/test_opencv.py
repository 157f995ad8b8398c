"""Reading and writing of OpenCV's cascade files."""

import dataclasses
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from cascade_files import make_model, old_format
from hedgerow.vision.model import HAAR, LBP
from hedgerow.vision.opencv import read_opencv, write_opencv

SHIPPED = {  # window, stages, trees, features, tilted
    "eye": ((20, 20), 24, 1066, 1066, False),
    "eye_tree_eyeglasses": ((20, 20), 30, 851, 2553, True),
    "frontalcatface": ((24, 24), 20, 1275, 1056, False),
    "frontalcatface_extended": ((24, 24), 20, 1184, 997, True),
    "frontalface_alt": ((20, 20), 22, 2135, 2135, False),
    "frontalface_alt2": ((20, 20), 20, 1047, 2094, False),
    "frontalface_alt_tree": ((20, 20), 47, 8468, 8468, False),
    "frontalface_default": ((24, 24), 25, 2913, 2913, False),
    "fullbody": ((14, 28), 30, 1464, 1464, True),
    "lefteye_2splits": ((20, 20), 20, 366, 732, True),
    "license_plate_rus_16stages": ((64, 16), 16, 91, 91, False),
    "lowerbody": ((19, 23), 27, 1221, 1221, True),
    "profileface": ((20, 20), 26, 2609, 2609, False),
    "righteye_2splits": ((20, 20), 20, 368, 736, True),
    "russian_plate_number": ((60, 20), 20, 212, 208, True),
    "smile": ((36, 18), 20, 569, 569, True),
    "upperbody": ((22, 18), 30, 2423, 2423, True),
}
MODELS = {
    "haar": make_model(seed=11, stages=3, trees=5),
    "trees": make_model(seed=12, nodes=4),
    "tilted": make_model(seed=13, tilted=True, window=(20, 31)),
    "tilted trees": make_model(seed=14, tilted=True, nodes=3, window=(31, 20)),
    "lbp": make_model(LBP, seed=15),
    "lbp trees": make_model(LBP, seed=16, nodes=3, window=(18, 24)),
}
MINIMAL = b"""<opencv_storage><anything><stageType>BOOST</stageType><featureType>HAAR</featureType>
<height>9</height><width>12</width><stages><_><stageThreshold>-.5</stageThreshold><weakClassifiers><_>
<internalNodes>0 -1 0 1.5</internalNodes><leafValues>-1. 2</leafValues></_></weakClassifiers></_></stages>
<features><_><rects><_>1 2 3 4 -1.</_></rects></_></features></anything></opencv_storage>"""


def folder_of(package):
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent / "data"


def bits(model):
    arrays = {name: (array.dtype, array.shape, array.tobytes()) for name, array in model.arrays().items()}
    return model.kind, model.window, arrays


def lbp_file():
    return (folder_of("skimage") / "lbpcascade_frontalface_opencv.xml").read_bytes()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_cascades_are_read_and_written_unchanged(name):
    model = read_opencv((folder_of("cv2") / f"haarcascade_{name}.xml").read_bytes())
    found = model.window, model.n_stages, model.n_trees, model.n_features, model.has_tilted
    assert (model.kind, *found) == ("HAAR", *SHIPPED[name])
    if model.n_trees < 900:  # the others differ in size only
        assert bits(read_opencv(write_opencv(model))) == bits(model)


def test_numbers_of_a_shipped_file():
    model = read_opencv((folder_of("cv2") / "haarcascade_frontalface_default.xml").read_bytes())
    assert model.stage_thresholds[0] == np.float32(-5.0425500869750977e00)
    threshold = np.array([-3.1511999666690826e-02, 1.2396000325679779e-02], np.float32)
    assert model.threshold[:2].tolist() == threshold.tolist()
    leaves = [2.0875380039215088e00, -2.2172100543975830e00, -1.8633940219879150e00, 1.3272049427032471]
    assert model.values[:4].tolist() == np.array(leaves, np.float32).tolist()
    assert model.stage_starts[:2].tolist() == [0, 9]
    assert (model.left == 0).all()
    assert (model.right == -1).all()


def test_lbp_subsets_are_read_from_signed_integers():
    model = read_opencv(lbp_file())
    assert (model.kind, model.window, model.n_stages, model.n_trees) == ("LBP", (24, 24), 20, 139)
    first = [-67130709, -21569, -1426120013, -1275125205, -21585, -16385, 587145899, -24005]
    assert model.subsets[0].astype(np.int64).tolist() == [word % 2**32 for word in first]
    assert model.feature[:3].tolist() == [46, 13, 2]
    assert bits(read_opencv(write_opencv(model))) == bits(model)


@pytest.mark.parametrize("name", MODELS)
def test_written_cascades_are_read_unchanged(name):
    data = write_opencv(MODELS[name])
    same = read_opencv(data)
    assert bits(same) == bits(MODELS[name])
    assert write_opencv(same) == data


def test_all_floats_are_written_exactly():
    model = make_model(seed=3, stages=5, trees=40)
    rng = np.random.default_rng(0)
    floats = rng.integers(0, 1 << 32, len(model.values), np.uint32).view(np.float32)
    floats = np.where(np.isfinite(floats), floats, np.float32(1))
    limits = np.finfo(np.float32)
    odd = [0.0, -0.0, limits.max, limits.min, limits.smallest_subnormal, -limits.tiny, 16777217, 1e10]
    floats[: len(odd)] = np.array(odd, np.float32)
    model = dataclasses.replace(model, values=floats)
    assert bits(read_opencv(write_opencv(model))) == bits(model)


def test_empty_rectangle_before_a_used_one_is_kept():
    model = make_model(seed=5, stages=1, trees=1)
    rects = np.array([[[1, 1, 4, 4], [0, 0, 0, 0], [2, 2, 3, 3]]], np.int32)
    model = dataclasses.replace(model, rects=rects, weights=np.array([[-1, 0, 2]], np.float32))
    assert bits(read_opencv(write_opencv(model))) == bits(model)


@pytest.mark.parametrize("name", ["haar", "trees", "tilted", "tilted trees"])
def test_the_old_format_gives_the_same_cascade(name):
    model, old = MODELS[name], read_opencv(old_format(MODELS[name]))
    for array in ("threshold", "tree_starts", "stage_starts", "stage_thresholds"):
        assert np.array_equal(getattr(old, array), getattr(model, array)), array
    for array in ("rects", "weights", "tilted"):  # every node has a feature of its own
        assert np.array_equal(getattr(old, array), getattr(model, array)[model.feature]), array
    assert old.feature.tolist() == list(range(len(model.feature)))
    for side in ("left", "right"):  # leaves may be numbered in another order
        for tree in range(model.n_trees):
            for node in range(*model.tree_starts[tree : tree + 2]):
                a, b = (int(getattr(m, side)[node]) for m in (model, old))
                leaf = model.tree_starts[tree] + tree
                assert (a == b) if a > 0 else (model.values[leaf - a] == old.values[leaf - b])


def test_parent_and_next_of_the_old_format_are_dropped():
    data = old_format(MODELS["haar"])
    other = data.replace(b"<parent>0</parent>", b"<parent>-1</parent>").replace(b"<next>-1", b"<next>2")
    assert other != data
    assert bits(read_opencv(other)) == bits(read_opencv(data))


def test_minimal_file_is_read():
    model = read_opencv(MINIMAL)
    assert model.window == (12, 9)
    assert model.values.tolist() == [-1, 2]
    assert model.weights.tolist() == [[-1, 0, 0]]
    assert model.stage_thresholds.tolist() == [-0.5]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"-.5", b" \n -5.e-01\t"),
        (b"-.5", b"-0.5<!-- half -->"),
        (b"-.5", b"-5e-001"),
        (b"-.5", b"<![CDATA[-.5]]>"),
        (b"-.5", b"-&#46;5"),
        (b"<height>9<", b"<height>+9<"),
        (b"HAAR", b'"HAAR"'),
        (b"\n", b"\r\n"),
        (b"<opencv", b"\xef\xbb\xbf<opencv"),
        (b"<opencv", b"<?xml version='1.0'?>\n<!-- \xc3\xa9 licence -->\n<opencv"),
        (b"<anything>", b'<cascade type_id="opencv-cascade-classifier">'),
        (b"</anything>", b"</anything><other>1</other>"),
        (b"<stages>", b"<featureParams><maxCatCount>0</maxCatCount><mode>ALL</mode></featureParams><stages>"),
        (b"<stages>", b"<stageNum>99</stageNum><stageParams><maxDepth>x</maxDepth></stageParams><stages>"),
        (b"</rects>", b"</rects><tilted>0</tilted>"),
    ],
)
def test_variants_of_filestorage_are_read(old, new):
    data = MINIMAL.replace(old, new)
    if b"<cascade" in new:
        data = data.replace(b"</anything>", b"</cascade>")
    assert data != MINIMAL
    assert bits(read_opencv(data)) == bits(read_opencv(MINIMAL))


def raw_windows(cv2, data, image, folder):
    path = folder / "cascade.xml"
    path.write_bytes(data)
    classifier = cv2.CascadeClassifier(str(path))
    assert not classifier.empty()
    found, _, scores = classifier.detectMultiScale3(image, minNeighbors=0, outputRejectLevels=True)
    return sorted((*rect.tolist(), float(score)) for rect, score in zip(found, scores, strict=True))


def photograph():
    return np.ascontiguousarray(pytest.importorskip("skimage.data").astronaut()[:200, 120:320, 1])


@pytest.mark.parametrize("name", ["lefteye_2splits", "frontalface_alt2", "smile"])
def test_opencv_finds_the_same_windows_with_written_files(name, tmp_path):
    cv2 = pytest.importorskip("cv2")
    data = (folder_of("cv2") / f"haarcascade_{name}.xml").read_bytes()
    wanted = raw_windows(cv2, data, photograph(), tmp_path)
    assert wanted
    assert raw_windows(cv2, write_opencv(read_opencv(data)), photograph(), tmp_path) == wanted


def test_opencv_finds_the_same_windows_with_the_written_lbp_file(tmp_path):
    cv2 = pytest.importorskip("cv2")
    data = lbp_file().replace(
        b"featuhreParams", b"featureParams"
    )  # OpenCV rejects the file for this typing error
    wanted = raw_windows(cv2, data, photograph(), tmp_path)
    assert wanted
    assert raw_windows(cv2, write_opencv(read_opencv(lbp_file())), photograph(), tmp_path) == wanted


@pytest.mark.parametrize("name", ["haar", "tilted trees"])
def test_old_files_are_read_as_by_opencv(name, tmp_path):
    cv2 = pytest.importorskip("cv2")
    model = MODELS[name]
    model = dataclasses.replace(model, stage_thresholds=np.full(model.n_stages, -0.3, np.float32))
    wanted = raw_windows(cv2, old_format(model), photograph(), tmp_path)
    assert wanted
    assert raw_windows(cv2, write_opencv(model), photograph(), tmp_path) == wanted
    assert raw_windows(cv2, write_opencv(read_opencv(old_format(model))), photograph(), tmp_path) == wanted


def test_leaves_of_stumps_are_written_in_order():
    model = make_model(HAAR, nodes=1)
    swapped = dataclasses.replace(
        model,
        left=np.full_like(model.left, -1),
        right=np.zeros_like(model.right),
        values=model.values.reshape(-1, 2)[:, ::-1].ravel().copy(),
    )
    assert write_opencv(swapped) == write_opencv(model)


def test_children_of_stumps_are_ignored_as_in_opencv():
    text = write_opencv(make_model(HAAR, nodes=1))
    swapped = re.sub(rb"(<internalNodes>\s*)0 -1 ", rb"\g<1>-1 0 ", text)
    assert swapped != text
    assert write_opencv(read_opencv(swapped)) == text
