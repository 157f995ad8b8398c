"""Wrong command lines and bad files: one line, the right exit code, nothing written."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from hedgerow import DecisionStump, save
from hedgerow.cli import errors, main

CARS = """colour,doors,power,bought,when,price
red,2,101,2020-01-31,yes,1000.5
blue,4,,2020-02-29,no,900
green,4,88,2021-03-01,yes,1200.25
red,5,75,2021-04-01,no,
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a good table, bad files of all kinds, and nothing else."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [CARS.splitlines()[1 + i % 4] for i in range(40)]
    (tmp_path / "cars.csv").write_text("\n".join([CARS.splitlines()[0], *rows]) + "\n")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "header.csv").write_text("a,b,c\n")
    (tmp_path / "ragged.csv").write_text("a,b,c\n1,2,3\n4,5,6,7\n6,7,8\n")
    (tmp_path / "twice.csv").write_text("a,b,a\n" + "1,2,3\n4,5,6\n" * 9)
    (tmp_path / "one_class.csv").write_text("a,y\n" + "".join(f"{i},same\n" for i in range(30)))
    (tmp_path / "no_label.csv").write_text("a,y\n" + "".join(f"{i},\n" for i in range(30)))
    (tmp_path / "latin.csv").write_bytes("a,y\ncaf\xe9,1\nth\xe9,0\n".encode("latin-1") * 20)
    (tmp_path / "page.csv").write_text("<!doctype html><html><body>404</body></html>\n")
    (tmp_path / "sheet.csv").write_bytes(b"PK\x03\x04" + bytes(rng.integers(0, 256, 400, dtype=np.uint8)))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CARS.encode() * 500)[:400])
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(300))
    (tmp_path / "model.hedgerow").write_bytes(b"not a model")
    save(DecisionStump().fit([[0.0], [1.0]], [0, 1]), tmp_path / "real.hedgerow")
    (tmp_path / "there.hedgerow").write_bytes(b"another file")
    remarks = [
        " ".join(rng.choice(["the", "car", "was", "red", "and", "fast", "so"], 9)) + f" {i}"
        for i in range(60)
    ]
    parquet.write_table(
        pa.table({"remark": remarks, "y": [i % 2 for i in range(60)]}), tmp_path / "text.parquet"
    )
    parquet.write_table(
        pa.table({"parts": [[1, 2], [3]] * 20, "a": range(40), "y": [0, 1] * 20}), tmp_path / "nested.parquet"
    )
    (tmp_path / "tiny.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "notes.txt").write_text("this is no image")
    (tmp_path / "inner").mkdir()
    return tmp_path


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


USAGE, FAILED = errors.WRONG_USAGE, errors.FAILED
TRAIN = ["train", "cars.csv", "--target", "when"]
BAD = {
    # --- the command line itself
    "unknown command": (["trian"], USAGE, ["'trian'", "'train'"]),
    "unknown option": (["train", "cars.csv", "--tarket", "when"], USAGE, ["--tarket", "--target"]),
    "no data": (["train", "--target", "when"], USAGE, ["DATA"]),
    "no target": (["train", "cars.csv"], USAGE, ["--target"]),
    "option without a value": (["train", "cars.csv", "--target"], USAGE, ["--target"]),
    "two tables": (["train", "cars.csv", "more.csv", "--target", "when"], USAGE, ["more.csv"]),
    "unknown method": ([*TRAIN, "--method", "forrest"], USAGE, ["'forest'"]),
    "unknown name": (
        ["compare", "cars.csv", "--target", "when", "--method", "xyz"],
        USAGE,
        ["one of gradient, adaboost"],
    ),
    "unknown task": ([*TRAIN, "--task", "class"], USAGE, ["'class'"]),
    "unknown metric": ([*TRAIN, "--metric", "acuracy"], USAGE, ["'accuracy'"]),
    "seed is not a number": ([*TRAIN, "--seed", "lucky"], USAGE, ["--seed"]),
    "negative seed": ([*TRAIN, "--seed", "-1"], USAGE, ["--seed -1"]),
    "no rows left": ([*TRAIN, "--hold-out", "1.5"], USAGE, ["--hold-out 1.5"]),
    "negative budget": ([*TRAIN, "--budget", "-5"], USAGE, ["--budget -5"]),
    "no threads": ([*TRAIN, "--threads", "0"], USAGE, ["--threads 0"]),
    "report of another kind": ([*TRAIN, "--report", "report.pdf"], USAGE, ["report.pdf", ".html"]),
    "model over its data": ([*TRAIN, "--out", "cars.csv", "--force"], USAGE, ["cars.csv", "reads"]),
    "model over the file of its sheet": (
        ["train", "cars.csv::Sheet", "--target", "y", "--out", "cars.csv", "--force"],
        USAGE,
        ["cars.csv", "reads"],
    ),
    "cascade over an image": (
        ["train-cascade", "inner", "negatives", "--out", "inner/a.xml", "--force"],
        USAGE,
        ["inner/a.xml", "is in the input folder inner"],
    ),
    "model and report in one file": (
        [*TRAIN, "--out", "new.html", "--report", "./new.html"],
        USAGE,
        ["--report new.html", "another name"],
    ),
    "cascade in another format": (
        ["train-cascade", "inner", "inner", "--out", "c.json"],
        USAGE,
        ["--out c.json", ".xml or .hedgerow"],
    ),
    "cascade over its objects": (
        ["train-cascade", "notes.txt", "inner", "--out", "notes.txt", "--force"],
        USAGE,
        ["notes.txt"],
    ),
    "cascade over its checkpoint": (
        ["train-cascade", "inner", "inner", "--out", "c.xml", "--checkpoint", "c.xml"],
        USAGE,
        ["c.xml"],
    ),
    "one fold": (["compare", "cars.csv", "--target", "when", "--folds", "1"], USAGE, ["--folds 1"]),
    "impossible delta": (["certify", "model.hedgerow", "--delta", "2"], USAGE, ["--delta 2"]),
    "not a size": (["detect", "notes.txt", "--min-size", "small"], USAGE, ["--min-size small", "24x24"]),
    "table and model exchanged": (
        ["predict", "cars.csv", "model.hedgerow"],
        FAILED,
        ["cars.csv, is a table", "`hedgerow predict MODEL TABLE`"],
    ),
    "model in place of a table": (["train", "real.hedgerow", "--target", "y"], FAILED, ["is a model file"]),
    # --- columns
    "column missing": (["train", "cars.csv", "--target", "wen"], FAILED, ["'wen'", "'when'"]),
    "dropped column missing": ([*TRAIN, "--drop", "color"], FAILED, ["'color'", "'colour'"]),
    "categorical column missing": ([*TRAIN, "--categorical", "door"], FAILED, ["'door'", "'doors'"]),
    "date as target": (["train", "cars.csv", "--target", "bought"], FAILED, ["bought", "date"]),
    "text as regression": (
        ["train", "cars.csv", "--target", "colour", "--task", "regression"],
        FAILED,
        ["colour"],
    ),
    "one class": (["train", "one_class.csv", "--target", "y"], FAILED, ["'y'", "same"]),
    "no label": (["train", "no_label.csv", "--target", "y"], FAILED, ["'y'"]),
    "free text": (["train", "text.parquet", "--target", "y"], FAILED, ["'remark'", "--categorical"]),
    "nested column": (
        ["train", "nested.parquet", "--target", "y", "--strict", "--force"],
        FAILED,
        ["'parts'", "This works: hedgerow train nested.parquet --target y --strict --force --drop parts"],
    ),
    "date format without a column": ([*TRAIN, "--date-format", "%Y"], USAGE, ["COLUMN=FORMAT"]),
    "unknown date directive": ([*TRAIN, "--date-format", "bought=%Q"], USAGE, ["%Q is unknown"]),
    "date format of no column": ([*TRAIN, "--date-format", "buoght=%Y"], FAILED, ["'bought'"]),
    "wrong date format": ([*TRAIN, "--date-format", "bought=%d.%m.%Y"], FAILED, ["'2020-01-31'", "row 1"]),
    "unknown decimal sign": ([*TRAIN, "--decimal", ";"], USAGE, ["--decimal ';'"]),
    "unknown encoding": ([*TRAIN, "--encoding", "latin-99"], USAGE, ["'latin-99'"]),
    "two rows": (["train", "tiny.csv", "--target", "y"], FAILED, ["y"]),
    # --- files
    "no such file": (["train", "cras.csv", "--target", "when"], FAILED, ["cras.csv"]),
    "a folder": (["train", "inner", "--target", "when"], FAILED, ["inner", "folder"]),
    "empty file": (["train", "empty.csv", "--target", "y"], FAILED, ["empty.csv", "empty"]),
    "header only": (["train", "header.csv", "--target", "a"], FAILED, ["header.csv"]),
    "ragged rows": (
        ["train", "ragged.csv", "--target", "a"],
        FAILED,
        ["line 3 has 4 fields", "This works: hedgerow train ragged.csv --target a --skip-bad-lines"],
    ),
    "a name twice": (["train", "twice.csv", "--target", "a", "--strict"], FAILED, ["twice.csv", "'a"]),
    "not UTF-8": (
        ["train", "latin.csv", "--target", "y", "--strict"],
        FAILED,
        ["latin.csv", "UTF-8", "--encoding cp1252"],
    ),
    "a web page": (["train", "page.csv", "--target", "y"], FAILED, ["page.csv", "web page"]),
    "a spreadsheet": (["train", "sheet.csv", "--target", "y"], FAILED, ["sheet.csv"]),
    "a gzip file cut short": (["train", "cut.csv.gz", "--target", "when"], FAILED, ["cut.csv.gz"]),
    "a Parquet file cut short": (["train", "cut.parquet", "--target", "when"], FAILED, ["cut.parquet"]),
    "model file exists": ([*TRAIN, "--out", "there.hedgerow"], FAILED, ["there.hedgerow", "--force"]),
    "folder does not exist": ([*TRAIN, "--out", "nowhere/m.hedgerow"], FAILED, ["nowhere"]),
    "model goes to a folder": ([*TRAIN, "--out", "inner"], FAILED, ["inner", "folder"]),
    "no such model": (["predict", "none.hedgerow", "cars.csv"], FAILED, ["none.hedgerow"]),
    "not a model": (["predict", "model.hedgerow", "cars.csv"], FAILED, ["model.hedgerow"]),
    "a table as model": (["explain", "cars.csv"], FAILED, ["cars.csv"]),
    "not a model to certify": (["certify", "model.hedgerow", "cars.csv"], FAILED, ["model.hedgerow"]),
    "not a model to report": (["report", "model.hedgerow", "cars.csv"], FAILED, ["model.hedgerow"]),
    "no such cascade": (["detect", "notes.txt", "--model", "frontalfaces"], FAILED, ["frontalfaces"]),
    "no such positives": (["train-cascade", "none", "inner", "--out", "c.xml"], FAILED, ["none"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_wrong_command_prints_one_line_and_writes_nothing(kind, folder, capsys):
    arguments, code, texts = BAD[kind]
    before = snapshot(folder)
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert printed.err.startswith("hedgerow: error: ")
    assert printed.err.count("\n") == 1
    assert printed.err.endswith("\n")
    assert "Traceback" not in printed.err
    assert len(printed.err) < 700
    for text in texts:
        assert text in printed.err
    assert snapshot(folder) == before


@pytest.mark.parametrize("kind", ["column missing", "unknown option", "no such file"])
@pytest.mark.usefixtures("folder")
def test_with_json_the_error_is_also_an_object(kind, capsys):
    arguments, code, texts = BAD[kind]
    assert main([*arguments, "--json"]) == code
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["exit_code"] == code
    assert all(text in found["error"] for text in texts)
    assert printed.err.count("\n") == 1


def test_an_image_that_cannot_be_read_does_not_stop_the_others(folder, capsys):
    Image.fromarray(np.zeros((60, 60), np.uint8)).save(folder / "grey.png")
    assert main(["detect", "notes.txt", "grey.png"]) == FAILED
    printed = capsys.readouterr()
    assert "grey.png: 60 x 60 pixels, 0 found" in printed.out
    assert "notes.txt" in printed.err
    assert "1 of 2 images" in printed.err
    assert main(["detect", "notes.txt", "grey.png", "--json"]) == FAILED
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == FAILED
    assert len(found["images"]) == 2


def test_an_interrupt_exits_with_130_and_writes_nothing(monkeypatch, capsys, folder):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    before = snapshot(folder)
    monkeypatch.setattr("hedgerow.cli.train.choose", interrupted)
    assert main(["train", "cars.csv", "--target", "when"]) == errors.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err
    assert snapshot(folder) == before
