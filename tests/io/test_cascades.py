"""`hedgerow.save` and `hedgerow.load` of cascades."""

import dataclasses

import numpy as np
import pytest

from cascade_files import make_model
from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.vision import Cascade, load_cascade
from hedgerow.vision.model import FORMAT, LBP
from model_cases import changed, fitted

MODELS = {
    "haar": make_model(seed=11, stages=3, trees=5),
    "trees": make_model(seed=12, nodes=4),
    "tilted": make_model(seed=13, tilted=True),
    "lbp": make_model(LBP, seed=15),
}
INFO = {"faces": 4916, "stages": [{"rate": 0.5}]}


def cascade(name="haar"):
    return Cascade(MODELS[name], INFO)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_cascade_equals_saved_cascade(name, tmp_path):
    model = cascade(name)
    save(model, tmp_path / "a.safetensors")
    same = load(tmp_path / "a.safetensors")
    assert isinstance(same, Cascade)
    assert same == model
    assert same.info == INFO
    for array, other in zip(model.model.arrays().values(), same.model.arrays().values(), strict=True):
        assert array.tobytes() == other.tobytes()
    image = np.random.default_rng(0).integers(0, 256, (60, 60), np.uint8)
    assert repr(same.detect(image, min_neighbors=0)) == repr(model.detect(image, min_neighbors=0))


def test_save_and_cascade_save_write_the_same_file(tmp_path):
    save(cascade(), tmp_path / "a")
    cascade().save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == to_bytes(cascade())
    assert load_cascade(tmp_path / "a") == load(tmp_path / "b") == from_bytes(to_bytes(cascade()))


def test_packaged_cascade_is_restored(tmp_path):
    save(load_cascade("frontalface"), tmp_path / "faces")
    same = load(str(tmp_path / "faces"))
    assert same == load_cascade("frontalface")
    assert same.info == load_cascade("frontalface").info


def test_cascade_has_no_card_and_no_certificate(tmp_path):
    path = tmp_path / "a"
    model = fitted("stump")[0]
    for arguments in ({"card": {}}, {"certificate": 3}):
        with pytest.raises(ModelFileError, match="use its info instead"):
            save(cascade(), path, **arguments)
    assert not path.exists()
    save(cascade(), path)
    assert load_card(path) is None
    assert load_certificate(path) is None
    save(model, path)
    with pytest.raises(ModelFileError, match="of kind 'DecisionStump', not 'cascade'"):
        load_cascade(path)


def test_save_and_load_reject_xml(tmp_path):
    path = tmp_path / "faces.xml"
    with pytest.raises(ModelFileError, match=r"cascade\.save\(path\) writes OpenCV's XML"):
        save(cascade(), path)
    assert not path.exists()
    cascade().save(path)
    for read in (load, load_card, load_certificate):
        with pytest.raises(ModelFileError, match=r"this is XML; hedgerow\.vision\.load_cascade reads"):
            read(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(ModelFileError, match="this is XML"):
        load(path)
    assert load_cascade(path) == cascade()


def test_save_rejects_a_cascade_without_stages(tmp_path):
    arrays = {name: array[:0] for name, array in MODELS["haar"].arrays().items()}
    arrays |= {"tree_starts": np.zeros(1, np.int32), "stage_starts": np.zeros(1, np.int32)}
    empty = Cascade(dataclasses.replace(MODELS["haar"], **arrays))
    with pytest.raises(ValueError, match="without stages"):
        save(empty, tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_load_rejects_damaged_cascades(tmp_path):
    path = tmp_path / "a"
    data = to_bytes(cascade())
    for position in range(0, len(data), len(data) // 40):
        broken = bytearray(data)
        broken[position] ^= 0x10
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match="a: "):
            load(path)
    later = changed(data, format=FORMAT + 1, hedgerow="9.0")
    path.write_bytes(later)
    with pytest.raises(ModelFileError, match=f"has format {FORMAT + 1}"):
        load(path)
    path.write_bytes(changed(to_bytes(fitted("stump")[0]), kind="cascade", format=1))
    with pytest.raises(ModelFileError, match="window must be list; got nothing"):
        load(path)
