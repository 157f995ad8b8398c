"""Model files of cascades."""

import dataclasses
import json
import math

import numpy as np
import pytest

from cascade_files import make_model
from hedgerow.container import ModelFileError, pack, unpack
from hedgerow.vision.model import ARRAYS, LBP, MAX_BYTES, is_packed, pack_cascade, unpack_cascade
from hedgerow.vision.opencv import write_opencv

MODELS = {
    "haar": make_model(seed=11, stages=3, trees=5),
    "large window": make_model(seed=11, window=(400, 300)),
    "trees": make_model(seed=12, nodes=4),
    "tilted": make_model(seed=13, tilted=True),
    "negative zero": dataclasses.replace(
        make_model(seed=1, stages=1, trees=2), threshold=np.array([-0.0, -0.0], np.float32)
    ),
    "lbp": make_model(LBP, seed=15),
    "lbp trees": make_model(LBP, seed=16, nodes=3),
}


def bits(model):
    arrays = {name: (array.dtype, array.shape, array.tobytes()) for name, array in model.arrays().items()}
    return model.kind, model.window, arrays


def repacked(data, arrays=None, **entries):
    """A file with other arrays or entries and the digest that goes with them."""
    contents = unpack(data)
    text = json.dumps(json.loads(contents.text) | entries)
    changed = contents.arrays | (arrays or {})
    return pack(text, {name: array for name, array in changed.items() if array is not None})


@pytest.mark.parametrize("name", MODELS)
def test_cascades_are_unchanged_by_files(name):
    info = {"stages": [{"rate": 0.5, "n": 3}], "note": "grüße", "none": None, "flag": True, "big": 2**62}
    data = pack_cascade(MODELS[name], info)
    model, same = unpack_cascade(data)
    assert bits(model) == bits(MODELS[name])
    assert same == info
    assert type(same["flag"]) is bool
    assert pack_cascade(model, same) == data


def test_file_of_three_thousand_stumps_is_small():
    model = make_model(seed=2, stages=25, trees=120)
    assert len(pack_cascade(model)) < 50 * 3000
    assert len(pack_cascade(model)) < len(write_opencv(model)) / 2
    omitted = set(ARRAYS) - set(unpack(pack_cascade(model)).arrays)
    assert omitted == {"tilted", "subsets", "left", "right", "tree_starts"}


def test_description_of_the_file():
    content = json.loads(unpack(pack_cascade(MODELS["lbp"], {"a": 1})).text)
    assert set(content) == {"format", "kind", "hedgerow", "window", "features", "info"}
    assert (content["format"], content["kind"]) == (1, "cascade")
    assert (content["window"], content["features"], content["info"]) == ([24, 20], "LBP", {"a": 1})


def test_damaged_bytes_are_detected():
    data = pack_cascade(MODELS["haar"], {"note": "x"})
    for position in range(0, len(data), 17):
        broken = bytearray(data)
        broken[position] ^= 1
        with pytest.raises(ModelFileError):
            unpack_cascade(bytes(broken))
        with pytest.raises(ModelFileError):
            unpack_cascade(data[:position])


def test_files_of_later_versions_are_rejected():
    data = repacked(pack_cascade(MODELS["haar"]), format=2, hedgerow="9.1", windows="unknown")
    with pytest.raises(
        ModelFileError, match=r"has format 2, and .* reads formats up to 1; Hedgerow '9.1' wrote it"
    ):
        unpack_cascade(data)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"format": 0}, "format 0; formats are numbered from 1"),
        ({"format": True}, "format must be int; got True"),
        ({"format": "1"}, "must be int"),
        ({"format": 10**400}, "reads formats up to 1"),
        ({"kind": "forest"}, "of kind 'forest', not 'cascade'"),
        ({"kind": None, "estimator": "GradientBoostingClassifier"}, "not 'cascade'"),
        ({"window": [24]}, r"window is \[24\]"),
        ({"window": [24, 20.0]}, r"it must be \[width, height\]"),
        ({"window": [24, True]}, r"it must be \[width, height\]"),
        ({"window": [24, 10**400]}, r"it must be \[width, height\]"),
        ({"window": [24, 2]}, "the window is 24 x 2"),
        ({"window": [1 << 20, 1 << 20]}, "the window is"),
        ({"window": {"w": 1}}, "must be list"),
        ({"window": [10, 10]}, "is not inside the 10 x 10 window"),
        ({"features": "HOG"}, "features is 'HOG'; it must be HAAR or LBP"),
        ({"features": "LBP"}, "subsets"),
        ({"features": None}, "must be str"),
        ({"info": []}, "must be dict"),
        ({"info": {"a": math.nan}}, r"NaN is not allowed"),
        ({"info": {"a": [1, math.inf]}}, r"Infinity is not allowed"),
    ],
)
def test_invalid_entries_are_named(entries, message):
    with pytest.raises(ModelFileError, match=message):
        unpack_cascade(repacked(pack_cascade(MODELS["haar"]), **entries))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"rects": None}, "the array rects is missing"),
        ({"feature": None}, "the array feature is missing"),
        ({"values": None}, "the array values is missing"),
        ({"weights": None, "more": np.zeros(1, np.uint8)}, "'more' is not an array of a cascade"),
        ({"rects": np.zeros((15, 3, 3), np.uint8)}, r"must be \(F, 3, 4\) and \(N,\)"),
        ({"rects": np.zeros((), np.int32)}, r"must be \(F, 3, 4\) and \(N,\)"),
        ({"rects": np.zeros((1 << 40, 0, 4), np.uint8)}, "the shape .* is not allowed"),
        ({"left": np.zeros((0, 1 << 40), np.uint8)}, "the shape .* is not allowed"),
        ({"left": np.zeros((1, 1, 1, 15), np.uint8)}, "the shape .* is not allowed"),
        (
            {"feature": np.arange(15, dtype=np.uint8)[::-1] + np.uint8(1)},
            "must be the index of one of the 15 features",
        ),
        ({"left": np.full(15, 1, np.uint8)}, "a later node of its tree"),
        ({"right": np.full(15, -2, np.int32)}, "a later node of its tree"),
        ({"values": np.full(30, np.nan, np.float32)}, "values: every number must be finite"),
        ({"values": np.zeros(30, np.float64)}, "values: float32"),
        ({"values": np.zeros(29, np.float32)}, "values: 30 entries are required"),
        ({"tilted": np.ones(15, np.uint8)}, "is not inside the 24 x 20 window"),
        (
            {"stage_starts": np.array([0, 5, 10, 16], np.uint8)},
            "stage_starts: must increase strictly from 0 to 15",
        ),
        ({"subsets": np.zeros((15, 8), np.uint32)}, "subsets: 0 entries are required"),
    ],
)
def test_invalid_arrays_are_named(arrays, message):
    with pytest.raises(ModelFileError, match=message):
        unpack_cascade(repacked(pack_cascade(MODELS["haar"]), arrays))


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ([1], "info must be a dict"),
        ({1: 2}, "info has the key 1"),
        ({"a": (1, 2)}, r"info\['a'\] is \(1, 2\), a tuple"),
        ({"a": np.float64(1)}, "allowed are finite numbers"),
        ({"a": np.zeros(2)}, "allowed are finite numbers"),
        ({"a": {"b": [0, b"x"]}}, r"info\['a'\]\['b'\]\[1\] is b'x', a bytes"),
        ({"a": math.nan}, "is nan; allowed are"),
        ({"a": "x" * (1 << 20)}, "at most 1,048,576 bytes"),
        (json.loads('{"a":' * 20 + "{}" + "}" * 20), "nested more than 16"),
    ],
)
def test_info_must_be_plain_json(info, message):
    with pytest.raises(ModelFileError, match=message):
        pack_cascade(MODELS["haar"], info)


def test_other_files_are_rejected():
    packed = [pack(text, {}) for text in ("{}", "[]", "[" * 9999)]
    for data in (b"", b"buy milk", b"<opencv_storage/>", *packed):
        with pytest.raises(ModelFileError):
            unpack_cascade(data)
    with pytest.raises(ModelFileError, match="bytes are too many"):
        unpack_cascade(bytes(MAX_BYTES + 1))


def test_is_packed_distinguishes_the_formats():
    assert is_packed(pack_cascade(MODELS["haar"]))
    assert not is_packed(write_opencv(MODELS["haar"]))
    assert not is_packed(b"")
