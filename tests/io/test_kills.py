"""Kills during saves and fits lose nothing; and a save that could lose something is found out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="processes are forked")

TESTS = Path(__file__).parents[1] / "support"

# A save as it must not be: the file is there, but not yet whole, for a while.
SAVED_IN_PLACE = """
import os, sys
import hedgerow.io.models

def write(path, data):
    with open(path, "wb") as file:
        for start in range(0, len(data), 4096):
            file.write(data[start : start + 4096])
            file.flush()
        os.fsync(file.fileno())

hedgerow.io.models.write_atomically = write
import kill_saves
sys.argv = ["kill_saves", "--kills", "40"]
sys.exit(kill_saves.main())
"""


def python(*arguments):
    paths = [str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_saves_that_are_killed_leave_the_old_file_or_the_new_one(tmp_path):
    ended = python(TESTS / "kill_saves.py", "--kills", "10", "--folder", tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"10 kills in \d+ s: \d+ within a save .* nothing was lost", ended.stdout)


def test_saves_in_place_are_found_out():
    ended = python("-c", SAVED_IN_PLACE)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "LOST" in ended.stdout


def test_fits_that_are_killed_and_go_on_give_the_same_bytes(tmp_path):
    ended = python(TESTS / "kill_fits.py", "--kills", "10", "--folder", tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.search(r"(\d+) kills of (\d+) fits .* the bytes of all models are the same", ended.stdout)
    assert found, ended.stdout
    assert int(found[1]) >= 10
    assert int(found[2]) >= 3
