"""Load rejects other files; the memory and time of loading are bounded by the size of the file."""

import json
import os
import tracemalloc

import numpy as np
import pytest

from hedgerow.container import pack, unpack
from hedgerow.estimators import BaggingClassifier, DecisionTreeClassifier, RandomForestClassifier
from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
from hedgerow.io.models import from_bytes, to_bytes
from model_cases import changed, fitted, plain

READERS = pytest.mark.parametrize("read", [load, load_card, load_certificate])


@READERS
def test_load_rejects_missing_files_folders_and_other_types(read, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.safetensors: there is no such file"):
        read(tmp_path / "nothing.safetensors")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        read(tmp_path / "no" / "folder")
    with pytest.raises(IsADirectoryError, match="is a folder; pass the path of a file"):
        read(tmp_path)
    for wrong in (None, 3, b"model", np.zeros(2), ["model"]):
        with pytest.raises(TypeError, match=r"path must be a str or a path; got"):
            read(wrong)


@READERS
def test_load_rejects_empty_and_short_files(read, tmp_path):
    path = tmp_path / "model"
    path.touch()
    with pytest.raises(ModelFileError, match="model: the file is empty"):
        read(path)
    for data in (b"\0", b"\0" * 8, b"\xff" * 30, b"hello", b"PK\x03\x04" + bytes(60), bytes(1000)):
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="model: "):
            read(path)


@READERS
def test_load_rejects_huge_files(read, tmp_path, monkeypatch):
    path = tmp_path / "model"
    with path.open("wb") as file:  # a sparse file takes no space on the disk
        file.truncate(1 << 40)
    with pytest.raises(ModelFileError, match=r"not a safetensors file \(1\.1 TB\)"):
        read(path)
    with path.open("r+b") as file:
        file.write((1000).to_bytes(8, "little") + b'{"__metadata__"')
    with pytest.raises(MemoryError, match=r"loading .*model needs about 3\.3 TB"):
        read(path)
    save(fitted("stump")[0], path)
    monkeypatch.setenv("HEDGEROW_MEMORY", "1kB")
    with pytest.raises(MemoryError, match="close other programs"):
        read(path)


@READERS
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_load_rejects_pipes(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is not an ordinary file, and is not read"):
        read(tmp_path / "pipe")


def test_load_accepts_str_and_links(tmp_path):
    model, X, _ = fitted("stump")
    save(model, str(tmp_path / "model"))
    (tmp_path / "link").symlink_to(tmp_path / "model")
    for path in (str(tmp_path / "model"), tmp_path / "link"):
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def edited(data, edit):
    """The file after `edit` has changed its description."""
    contents = unpack(data)
    description = json.loads(contents.text)
    edit(description)
    return pack(json.dumps(description), contents.arrays)


def weighted_forest(**parameters):
    X, y = plain(2)
    weight = np.arange(len(y)) % 3 * 1.0
    return RandomForestClassifier(n_estimators=3, random_state=0, **parameters).fit(X, y, weight), X


def test_load_rejects_a_wrong_number_of_rows():
    def grow(description):
        description["bootstrap"]["n_rows"] = 2**32

    for model in (RandomForestClassifier(n_estimators=1), BaggingClassifier(n_estimators=1)):
        with pytest.raises(ModelFileError, match=r"bootstrap\.zero_weight_rows' is missing"):
            from_bytes(edited(to_bytes(model.fit(*plain(2))), grow))


def test_rows_without_weight_are_stored():
    model, X = weighted_forest()
    data = to_bytes(model)
    assert to_bytes(from_bytes(data)) == data
    np.testing.assert_array_equal(from_bytes(data).predict_proba(X), model.predict_proba(X))
    rest = unpack(data).arrays["bootstrap.zero_weight_rows"]
    assert rest.tolist() == list(range(0, len(X), 3))
    for wrong, message in [
        (rest[:-1], "150 rows are required; got 149"),
        (rest[[*range(len(rest) - 1), 0]], "every row must occur once"),
        (rest + np.uint32(150), "a row number is out of range"),
        (rest + np.uint32(1), "every row must occur once"),
    ]:
        with pytest.raises(ModelFileError, match=message):
            from_bytes(changed(data, arrays={"bootstrap.zero_weight_rows": wrong}))


def test_memory_of_labels_is_limited():
    X, y = plain(2)
    model = DecisionTreeClassifier(max_depth=1).fit(X, np.array(["a", "b"], "<U500")[y])
    assert from_bytes(to_bytes(model)).classes_.dtype == "<U500"

    def widen(description):
        description["classes"]["dtype"] = "<U9999999"

    data = edited(to_bytes(model), widen)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="classes cannot have the dtype"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_long_labels_are_restored():
    X, y = plain(2)
    labels = np.array(["a", "b" * 70_000])
    model = DecisionTreeClassifier(max_depth=1).fit(X, labels[y])
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).classes_, labels)


def test_nesting_of_estimators_is_limited():
    """Checking the parameters takes four times as long at every level."""

    def nest(description):
        spec = {"estimator": "DecisionTreeClassifier", "parameters": {}}
        for _ in range(60):
            spec = {"estimator": "BaggingClassifier", "parameters": {"estimator": spec}}
        description["parameters"]["estimator"] = spec

    data = to_bytes(BaggingClassifier(n_estimators=1).fit(*plain(2)))
    with pytest.raises(ModelFileError, match="estimators are nested more than 5 deep"):
        from_bytes(edited(data, nest))


def test_save_rejects_estimators_that_are_nested_too_deeply():
    model = DecisionTreeClassifier(max_depth=1)
    for _ in range(3):
        model = BaggingClassifier(model, n_estimators=1)
    model.fit(*plain(2))
    assert to_bytes(from_bytes(to_bytes(model))) == to_bytes(model)
    for _ in range(4):
        model.estimator = BaggingClassifier(model.estimator)
    with pytest.raises(ModelFileError, match="estimators are nested"):
        to_bytes(model)


def test_load_rejects_integers_beyond_float64():
    X, y = plain(2)
    data = to_bytes(RandomForestClassifier(n_estimators=1).fit(X, y))

    def huge(description):
        description["parameters"]["class_weight"] = {"items": [[0, 10**400], [1, 1.0]]}

    with pytest.raises(ModelFileError, match="parameters: "):
        from_bytes(edited(data, huge))


def test_tree_of_many_classes_is_read_without_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 40, 400)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    data = to_bytes(model)
    monkeypatch.setattr("hedgerow.forest.Forest.join", None)  # joining one by one takes the square of classes
    again = from_bytes(data)
    for name, array in model.model_.forest.arrays().items():
        found = getattr(again.model_.forest, name)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
