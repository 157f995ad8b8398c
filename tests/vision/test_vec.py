"""Windows in OpenCV's .vec files."""

import struct

import numpy as np
import pytest

from hedgerow.container import ModelFileError
from hedgerow.vision.sources import read_vec, write_vec


def windows(n=3, height=4, width=4):
    return np.random.default_rng(0).integers(0, 256, (n, height, width), np.uint8)


def test_write_vec_bytes():
    data = write_vec(np.array([[[1, 2], [3, 255]]], np.uint8))
    assert data == struct.pack("<iihh", 1, 4, 0, 0) + b"\0" + struct.pack("<4h", 1, 2, 3, 255)


def test_read_vec_returns_square_windows(tmp_path):
    samples = windows()
    (tmp_path / "faces.vec").write_bytes(write_vec(samples))
    for source in (write_vec(samples), tmp_path / "faces.vec", str(tmp_path / "faces.vec")):
        found = read_vec(source)
        assert found.dtype == np.uint8
        assert found.flags.c_contiguous
        assert np.array_equal(found, samples)


def test_read_vec_requires_the_window_unless_square():
    samples = windows(5, 3, 8)
    assert np.array_equal(read_vec(write_vec(samples), window=(8, 3)), samples)
    with pytest.raises(ModelFileError, match=r"24 pixels, not a square: pass window=\(width, height\)"):
        read_vec(write_vec(samples))
    with pytest.raises(ModelFileError, match="a window has 24 pixels"):
        read_vec(write_vec(samples), window=(8, 4))
    for window in ((-8, -3), (24, 0), 24, (8.5, 3)):
        with pytest.raises(ValueError, match=r"window=.* is not allowed"):
            read_vec(write_vec(samples), window=window)


def test_a_file_without_windows_is_read():
    assert read_vec(write_vec(windows(0))).shape == (0, 4, 4)


def test_write_vec_rejects_other_arrays():
    for samples in (windows().astype(float), windows()[0], np.zeros((2, 0, 4), np.uint8)):
        with pytest.raises(ValueError, match="are not allowed"):
            write_vec(samples)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes are too few for a .vec file"),
        (b"GIF89a", "6 bytes are too few for a .vec file"),
        (struct.pack("<iii", 2**31 - 1, 2**31 - 1, 0), "not a .vec file"),
        (struct.pack("<iii", 2**31 - 1, 1 << 20, 0), "require 4503601772757003 bytes; the file has 12"),
        (struct.pack("<iii", -1, 4, 0), "not a .vec file: -1 windows"),
        (struct.pack("<iii", 1, 0, 0), "not a .vec file"),
        (struct.pack("<iii", 1, -4, 0), "not a .vec file"),
        (write_vec(windows())[:-1], "3 windows of 16 pixels require 111 bytes; the file has 110"),
        (write_vec(windows()) + b"\0", "the file has 112"),
        (struct.pack("<iiih", 1, 1, 0, 0) + b"\1", "outside 0..255"),
        (struct.pack("<iiib", 1, 1, 0, 0) + b"\xff\xff", "outside 0..255"),
    ],
)
def test_read_vec_rejects_damaged_files(data, message, tmp_path):
    (tmp_path / "bad.vec").write_bytes(data)
    with pytest.raises(ModelFileError, match=message):
        read_vec(data)
    with pytest.raises(ModelFileError, match="bad.vec: .*" + message):
        read_vec(tmp_path / "bad.vec")
