"""The file of a cascade in Hedgerow's own format."""

import dataclasses
import json
import math

import numpy as np
import pytest

from cascade_files import make_model
from hedgerow.container import ModelFileError, pack, unpack
from hedgerow.vision.model import ARRAYS, LBP
from hedgerow.vision.opencv import write_opencv
from hedgerow.vision.storage import MAX_BYTES, is_packed, pack_cascade, unpack_cascade

MODELS = {
    "haar": make_model(seed=11, stages=3, trees=5),
    "large window": make_model(seed=11, window=(400, 300)),
    "trees": make_model(seed=12, nodes=4),
    "tilted": make_model(seed=13, tilted=True),
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
def test_a_cascade_comes_back_bit_for_bit(name):
    info = {"stages": [{"rate": 0.5, "n": 3}], "note": "grüße", "none": None, "flag": True, "big": 2**62}
    data = pack_cascade(MODELS[name], info)
    model, same = unpack_cascade(data)
    assert bits(model) == bits(MODELS[name])
    assert same == info
    assert type(same["flag"]) is bool
    assert pack_cascade(model, same) == data


def test_the_sign_of_zero_comes_back():
    model = make_model(seed=1, stages=1, trees=2)
    model = dataclasses.replace(model, threshold=np.array([-0.0, -0.0], np.float32))
    assert bits(unpack_cascade(pack_cascade(model))[0]) == bits(model)


def test_the_arrays_can_be_used_by_kernels_at_once():
    for array in unpack_cascade(pack_cascade(MODELS["haar"]))[0].arrays().values():
        assert array.flags.c_contiguous
        assert array.flags.aligned


def test_the_file_of_three_thousand_stumps_is_small():
    model = make_model(seed=2, stages=25, trees=120)
    assert len(pack_cascade(model)) < 50 * 3000
    assert len(pack_cascade(model)) < len(write_opencv(model)) / 2
    left_out = set(ARRAYS) - set(unpack(pack_cascade(model)).arrays)
    assert left_out == {"tilted", "subsets", "left", "right", "tree_starts"}


def test_the_text_says_what_the_file_is():
    content = json.loads(unpack(pack_cascade(MODELS["lbp"], {"a": 1})).text)
    assert set(content) == {"format", "kind", "hedgerow", "window", "features", "info"}
    assert (content["format"], content["kind"]) == (1, "cascade")
    assert (content["window"], content["features"], content["info"]) == ([24, 20], "LBP", {"a": 1})


def test_damage_anywhere_is_found():
    data = pack_cascade(MODELS["haar"], {"note": "x"})
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 1
        with pytest.raises(ModelFileError):
            unpack_cascade(bytes(broken))
        with pytest.raises(ModelFileError):
            unpack_cascade(data[:place])


def test_a_file_of_a_later_version_is_refused_with_its_version():
    data = repacked(pack_cascade(MODELS["haar"]), format=2, hedgerow="9.1", windows="unheard of")
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
def test_a_bad_entry_is_named(entries, message):
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
def test_a_bad_array_is_named(arrays, message):
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
    ],
)
def test_info_that_json_would_change_is_refused(info, message):
    with pytest.raises(ModelFileError, match=message):
        pack_cascade(MODELS["haar"], info)


def test_info_nested_too_deeply_is_refused():
    deep = {}
    for _ in range(20):
        deep = {"a": deep}
    with pytest.raises(ModelFileError, match="nested more than 16"):
        pack_cascade(MODELS["haar"], deep)


def test_other_files_are_refused():
    for data in (
        b"",
        b"buy milk",
        b"<opencv_storage/>",
        pack("{}", {}),
        pack("[]", {}),
        pack("[" * 9999, {}),
    ):
        with pytest.raises(ModelFileError):
            unpack_cascade(data)
    with pytest.raises(ModelFileError, match="bytes are too many"):
        unpack_cascade(bytes(MAX_BYTES + 1))


def test_the_two_formats_are_told_apart_by_content():
    assert is_packed(pack_cascade(MODELS["haar"]))
    assert not is_packed(write_opencv(MODELS["haar"]))
    assert not is_packed(b"")
