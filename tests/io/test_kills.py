"""Kills during saves and fits lose nothing; a save that could lose a model is detected."""

import os
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="processes are forked")

import kill_fits
import kill_saves


def test_killed_saves_leave_the_old_file_or_the_new_one(tmp_path):
    counts = kill_saves.kill_saves(10, 0, tmp_path)
    assert counts["kills"] == 10
    assert counts["old"] + counts["new"] + counts["between saves"] == 10


def write_in_place(path, data):
    """A wrong save: for a while the file exists but is not complete."""
    with Path(path).open("wb") as file:
        for start in range(0, len(data), 4096):
            file.write(data[start : start + 4096])
            file.flush()
        os.fsync(file.fileno())


def test_saves_in_place_are_detected(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.io.models.write_atomically", write_in_place)
    with pytest.raises(AssertionError, match="the file is not an expected model"):
        kill_saves.kill_saves(40, 0, tmp_path)


def test_killed_fits_resume_to_the_same_bytes(tmp_path):
    lines = []
    total, failed = kill_fits.kill_fits(6, 0, tmp_path, lines.append)
    assert not failed, lines
    assert total["kills"] >= 6
    assert total["fits"] >= 2
