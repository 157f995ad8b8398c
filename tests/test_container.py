"""The byte layout of model files, and writes that leave the old file or the new one, complete."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hedgerow import container
from hedgerow.container import ModelFileError, file_size, pack, unpack, write_atomically

UNNAMED = pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system has no unnamed files")


@pytest.fixture(params=["unnamed", "named"])
def way(request, monkeypatch):
    """Both ways to write a temporary file."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def test_arrays_and_text_are_restored():
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.zeros(0, np.uint8), "c": np.array([1.5], ">f8")}
    contents = unpack(pack('{"x": "é"}', arrays))
    assert contents.text == '{"x": "é"}'
    assert contents.intact
    for name, array in arrays.items():
        np.testing.assert_array_equal(contents.arrays[name], array)
        assert contents.arrays[name].dtype.isnative
        assert contents.arrays[name].flags.writeable
        assert contents.arrays[name].flags.aligned


def test_any_changed_byte_is_detected():
    data = pack("{}", {"a": np.arange(4)})
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with contextlib.suppress(ModelFileError):
            assert not unpack(bytes(changed)).intact, position


def test_messages_are_printable_and_short():
    message = str(ModelFileError("\x1b[2J" + "x" * 5000))
    assert message.isprintable()
    assert len(message) < 720


@pytest.mark.usefixtures("way")
def test_a_write_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "model"
    for data in (b"old", b"new" * 10_000):
        write_atomically(path, data)
        assert path.read_bytes() == data
        assert list(tmp_path.iterdir()) == [path]
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert path.stat().st_mode == ordinary.stat().st_mode


@pytest.mark.usefixtures("way")
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_atomically(path, b"old")

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("way")
def test_the_data_are_synced_before_the_rename(tmp_path, monkeypatch):
    order, sync, rename = [], os.fsync, Path.replace

    def record_sync(handle):
        order.append("sync")
        sync(handle)

    def record_replace(source, target):
        order.append("rename")
        assert source.parent == target.parent
        assert source.read_bytes() == b"new"
        return rename(source, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(Path, "replace", record_replace)
    write_atomically(tmp_path / "model", b"new")
    assert order[:2] == ["sync", "rename"]


KILLED = """
import os, signal, sys
from hedgerow.container import write_atomically
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(sys.argv[1], b"new" * 100_000)
"""


@UNNAMED
def test_a_killed_write_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "model"
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system has no unnamed files")
    write_atomically(path, b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_stale_temporary_files_are_removed_and_others_are_not(tmp_path):
    path = tmp_path / "mo[d]el"
    stale, fresh = tmp_path / f".mo[d]el.{'0' * 16}", tmp_path / f".mo[d]el.{'1' * 16}"
    others = [tmp_path / f".model.{'0' * 16}", tmp_path / ".mo[d]el.txt", tmp_path / f".mo[d]el.{'x' * 16}"]
    for file in (stale, fresh, *others):
        file.touch()
    long_ago = time.time() - 2 * container._STALE_SECONDS
    for file in (stale, *others):
        os.utime(file, (long_ago, long_ago))
    write_atomically(path, b"new")
    assert set(tmp_path.iterdir()) == {path, fresh, *others}


def test_targets_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        write_atomically(tmp_path / "nowhere" / "model", b"")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(tmp_path, b"")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_are_followed_and_pipes_are_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "model")
    write_atomically(str(link), b"new")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "model").read_bytes() == b"new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not an ordinary file"):
        write_atomically(pipe, b"new")
    with pytest.raises(OSError, match="not an ordinary file"):
        file_size(pipe)
    assert pipe.is_fifo()
