"""Commands at their edges: warming up, a demo, columns that clash, options that cannot be."""

import json
import warnings

import numpy as np
import pytest

from hedgerow import experiments
from hedgerow.cli import errors, leaks, machine, main


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table and a small model of it."""
    folder = tmp_path_factory.mktemp("trained")
    rng = np.random.default_rng(0)
    size = rng.normal(50, 10, 200)
    rows = [f"{one:.3f},{number % 7},{'yes' if one > 50 else 'no'}\n" for number, one in enumerate(size)]
    (folder / "data.csv").write_text("size,rooms,sold\n" + "".join(rows))
    (folder / "clash.csv").write_text("size,rooms,predicted sold\n50,3,x\n")
    model = str(folder / "model.hedgerow")
    given = [str(folder / "data.csv"), "--target", "sold", "--method", "adaboost", "--out", model]
    assert main(["train", *given]) == 0
    return folder


@pytest.fixture
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def refused(arguments, capsys):
    """The one line a wrong command line ends with."""
    assert main(arguments) == errors.WRONG_USAGE
    said = capsys.readouterr().err.strip().splitlines()
    return said[-1]


PREDICT = ["predict", "model.hedgerow", "data.csv"]


@pytest.mark.usefixtures("folder")
def test_predict_refuses_what_cannot_be(capsys):
    assert "pass --out FILE too" in refused([*PREDICT, "--json"], capsys)
    assert "--keep roms" in refused([*PREDICT, "--keep", "roms"], capsys)
    clash = ["predict", "model.hedgerow", "clash.csv", "--keep-all"]
    assert "the predictions also have a column 'predicted sold'" in refused(clash, capsys)


@pytest.mark.usefixtures("folder")
def test_predict_with_threads_says_the_same(capsys):
    assert main(PREDICT) == 0
    one = capsys.readouterr().out
    assert main([*PREDICT, "--threads", "2"]) == 0
    assert capsys.readouterr().out == one


@pytest.mark.usefixtures("folder")
def test_explain_refuses_no_columns(capsys):
    given = ["explain", "model.hedgerow", "data.csv", "--top", "0"]
    assert "--top 0 is not allowed" in refused(given, capsys)


def test_few_rows_tell_no_leak():
    """Thirty rows are told by chance; and rows of whole numbers are often alike by nature."""

    class Model:
        feature_importances_ = np.ones(1)

    class Problem:
        y = np.zeros(5)

    assert leaks.leaking_columns(Model(), Problem()) == []
    assert leaks.leaking_columns(object(), Problem()) == []


def test_warming_up_runs_every_job_and_says_where_the_code_is(monkeypatch, capsys):
    """The jobs themselves are small fits: each is made, and a few are run."""
    jobs = machine._jobs()
    assert len(jobs) > 10
    quick = ["tables with categories", "certificates", "cascades, detecting", "cascades, training"]
    ran = []
    chosen = {name: lambda name=name: (ran.append(name), jobs[name]()) for name in quick}
    fits = [name for name in jobs if name not in quick and name != "many rows"]
    chosen |= {name: lambda name=name: (ran.append(name), jobs[name]()) for name in fits[:2]}
    monkeypatch.setattr(machine, "_jobs", lambda: chosen)
    assert main(["warmup", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said["seconds"]) == list(chosen) == ran
    assert "cache" in said


def test_the_demo_shows_tables_and_findings_and_writes_its_page(tmp_path, monkeypatch, capsys):
    class Table:
        name, columns, formats, rows = "scores", ("method", "error"), ("", ".1f"), [["boosting", "2.5"]]

    class Made:
        tables, findings, left_out = [Table()], ["boosting was best"], ["accidents: not installed"]

        def save(self, out):
            out.write_text("<html></html>")

        def to_dict(self):
            return {"findings": self.findings}

    asked = {}

    def run(**given):
        asked.update(given)
        return Made()

    monkeypatch.setattr(experiments, "run_experiments", run)
    page = tmp_path / "demo.html"
    assert main(["demo", "--out", str(page), "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert "boosting was best" in said
    assert "accidents: not installed" in said
    assert asked["random_state"] == 3
    assert page.read_text() == "<html></html>"
    assert main(["demo", "--out", str(page)]) == errors.FAILED  # it is there
    assert main(["demo", "--out", str(page), "--force", "--json"]) == 0


def test_memory_that_is_not_enough_is_one_line():
    assert errors.one_line(MemoryError()) == "not enough memory"
    assert (
        errors.one_line(MemoryError("3 GB for codes\nof rows")) == "not enough memory: 3 GB for codes of rows"
    )


def test_an_interrupt_ends_with_its_own_code(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "_jobs", interrupted)
    assert main(["warmup"]) == errors.INTERRUPTED
    assert capsys.readouterr().err == "hedgerow: error: interrupted\n"


def test_a_traceback_is_shown_only_when_asked_for(monkeypatch, capsys):
    def broken():
        raise ValueError("broken")

    monkeypatch.setattr(machine, "_jobs", broken)
    assert main(["warmup"]) != 0
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv(errors.TRACEBACK, "1")
    assert main(["warmup"]) != 0
    assert "Traceback" in capsys.readouterr().err


def test_a_warning_is_a_note_of_one_line(monkeypatch, capsys):
    monkeypatch.setattr(
        machine, "_jobs", lambda: {"one": lambda: warnings.warn("of two\nlines", stacklevel=1)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["warmup"]) == 0
    assert "note: of two lines\n" in capsys.readouterr().err
