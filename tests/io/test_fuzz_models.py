"""Mutated files of every format load and predict or are rejected; every other behaviour is detected."""

import faulthandler
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource", reason="processes are forked, and their memory is limited")

import fuzz_models
import fuzz_runner


@pytest.mark.parametrize("name", fuzz_models.FORMATS)
def test_mutated_files_load_and_predict_or_are_rejected(name, tmp_path):
    mutants = fuzz_models.FORMATS[name](7)
    mutants.folder = tmp_path
    mutants.warm_up()
    n = 500 if name in ("cascade", "opencv") else 150  # these are read faster
    found = [fuzz_models.outcome(mutants.make(number)) for number in range(n)]
    assert n / 2 < found.count("refused") < 0.95 * n


@pytest.mark.parametrize("name", fuzz_models.FORMATS)
def test_a_mutant_depends_only_on_seed_and_number(name):
    one, same, other = (fuzz_models.FORMATS[name](seed) for seed in (7, 7, 8))
    made = [[mutants.make(number).data for number in range(20)] for mutants in (one, same, other)]
    assert made[0] == made[1]
    assert made[0] != made[2]
    assert len(set(made[0])) > 16


def bad_trial(number):
    """Trials that fail in different ways; the others succeed."""
    if number == 2:
        raise IndexError("out of bounds")
    if number == 4:
        faulthandler.disable()  # its output is not of interest
        os.abort()
    if number == 6:
        while True:
            pass
    if number == 7:
        time.sleep(1000)
    if number == 8:
        return np.ones(2**28).sum() > 0  # 2 GB
    if number == 10:
        Path("scratch").write_bytes(b"")
    if number == 12:
        subprocess.run(["true"], check=True)  # noqa: S607
    if number == 14:
        __import__("antigravity")
    return "fine"


def test_forbidden_behaviour_of_a_trial_is_detected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzz_runner, "IDLE", 8)
    result = fuzz_runner.run(lambda number: number, bad_trial, 17, tmp_path, n_workers=2, seconds=0.2)
    kinds = {failure["number"]: failure["kind"] for failure in result.failures}
    assert kinds == {
        2: "IndexError",
        4: "crashed with exit code -6",
        6: "hung",
        7: "hung",
        8: "MemoryError",
        10: "ForbiddenError",
        12: "ForbiddenError",
        14: "ForbiddenError",
    }
    assert result.counts["fine"] == 9
    assert sum(result.counts.values()) == 17
    assert not (tmp_path / "scratch").exists()
    assert "failures: 8" in list(result.lines())


def test_files_of_failures_are_kept(tmp_path, monkeypatch):
    def fail(mutant):
        raise KeyError(len(mutant.data))

    monkeypatch.setattr(fuzz_models, "outcome", fail)
    monkeypatch.setattr(fuzz_models.Mutants, "warm_up", lambda _: None)
    result = fuzz_models.fuzz("1", 3, 4, tmp_path, n_workers=1)
    assert result.counts == {"failed: KeyError": 4}
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [f"format-1-seed-3-number-{number}" for number in range(4)]
    assert (tmp_path / kept[2]).read_bytes() == fuzz_models.FORMATS["1"](3).make(2).data
