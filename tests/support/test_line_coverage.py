"""What `make test` measures: a small package of two functions, whose tests run one of them or both."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "line_coverage.py"
SETTINGS = """
[tool.pytest.ini_options]
pythonpath = ["tests/support", "src"]
addopts = ["--import-mode=importlib", "-p", "no:cacheprovider"]

[tool.coverage.run]
source = ["src/hedgerow"]
data_file = ".cache/coverage/lines"

[tool.coverage.report]
fail_under = 95
exclude_lines = []
"""
PACKAGE = "def one():\n    return 1\n\n\ndef two():\n    return 2  # pragma: no cover\n"
BOTH = "from hedgerow.numbers import one, two\n\n\ndef test_both():\n    assert one() + two() == 3\n"
ONE = "from hedgerow.numbers import one\n\n\ndef test_one():\n    assert one() == 1\n"


def run(folder, test, *options):
    """Exit status and last lines of the tests of a package of four lines."""
    for name, text in {
        "pyproject.toml": SETTINGS,
        "conftest.py": 'pytest_plugins = ["line_coverage"]\n',
        "src/hedgerow/__init__.py": "",
        "src/hedgerow/numbers.py": PACKAGE,
        "tests/test_numbers.py": test,
        "tests/support/__init__.py": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(PLUGIN, folder / "tests" / "support")
    command = [sys.executable, "-m", "pytest", "-q", *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("processes", [["-p", "no:xdist"], ["-n", "1"]], ids=["one process", "a worker"])
def test_all_lines_are_counted_and_enough_of_them_ran(tmp_path, processes):
    status, lines = run(tmp_path, BOTH, "--measure", *processes)
    assert lines[-1] == "coverage: 100.0 % of 4 lines (kernels through their Python bodies)"
    assert status == 0
    assert (tmp_path / ".cache" / "coverage" / "lines").exists()


def test_too_few_lines_fail_and_no_comment_hides_one(tmp_path):
    status, lines = run(tmp_path, ONE, "--measure", "-p", "no:xdist")
    assert lines[-3:-1] == [
        "     1 of     4 lines did not run: src/hedgerow/numbers.py",
        "coverage: 75.0 % of 4 lines (kernels through their Python bodies)",
    ]
    assert "below 95 %" in lines[-1]
    assert status == 1


def test_a_test_that_fails_fails_though_all_lines_ran(tmp_path):
    status, lines = run(tmp_path, BOTH.replace("== 3", "== 4"), "--measure", "-p", "no:xdist")
    assert lines[-1].startswith("coverage: 100.0 %")
    assert status == 1


def test_nothing_is_measured_unless_asked_for(tmp_path):
    status, lines = run(tmp_path, ONE, "-p", "no:xdist")
    assert not any("coverage" in line for line in lines)
    assert status == 0
