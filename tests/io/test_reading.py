"""What `load`, `load_card` and `load_certificate` say of what is no file, and of files of other kinds."""

import os

import numpy as np
import pytest

from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
from model_cases import fitted

READERS = pytest.mark.parametrize("read", [load, load_card, load_certificate])


@READERS
def test_what_is_no_file_is_told_in_a_line(read, tmp_path):
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
def test_empty_and_short_files_are_refused(read, tmp_path):
    path = tmp_path / "model"
    path.touch()
    with pytest.raises(ModelFileError, match="model: the file is empty"):
        read(path)
    for data in (b"\0", b"\0" * 8, b"\xff" * 30, b"hello", b"PK\x03\x04" + bytes(60), bytes(1000)):
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="model: "):
            read(path)


@READERS
def test_huge_files_are_not_read(read, tmp_path, monkeypatch):
    path = tmp_path / "model"
    with path.open("wb") as file:  # takes no room on the disk
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
def test_pipes_are_not_waited_for(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is not an ordinary file, and is not read"):
        read(tmp_path / "pipe")


def test_names_and_links_are_followed(tmp_path):
    model, X, _ = fitted("stump")
    save(model, str(tmp_path / "model"))
    (tmp_path / "link").symlink_to(tmp_path / "model")
    for path in (str(tmp_path / "model"), tmp_path / "link"):
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
