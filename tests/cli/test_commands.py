"""Every command: models, predictions, certificates and reports of small tables."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, parquet

import hedgerow
from hedgerow import experiments
from hedgerow.cli import errors, machine, main
from hedgerow.cli.train import leaking_columns
from hedgerow.io import load_card


def make_table(n_rows=400, seed=0):
    """Numbers, a category, a date, a boolean and missing values; the target follows from two of them."""
    rng = np.random.default_rng(seed)
    size = rng.normal(50, 10, n_rows)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    days = rng.integers(0, 700, n_rows)
    score = (size - 50) / 10 + 2.0 * (colour == "red") - 0.7 + 0.3 * rng.standard_normal(n_rows)
    return pa.table(
        {
            "size": pa.array(np.where(rng.random(n_rows) < 0.1, np.nan, size), from_pandas=True),
            "colour": pa.array([None if rng.random() < 0.05 else str(c) for c in colour]),
            "bought": pa.array((np.datetime64("2020-01-01") + days).astype("datetime64[D]")),
            "new": pa.array(rng.random(n_rows) < 0.5),
            "rooms": pa.array(rng.integers(1, 9, n_rows)),
            "sold": pa.array(np.where(score > 0, "yes", "no")),
            "price": pa.array(100 * score + 1000),
        }
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table, and a model of each kind trained on it by the program."""
    folder = tmp_path_factory.mktemp("trained")
    csv.write_csv(make_table(), folder / "houses.csv")
    parquet.write_table(make_table(100, seed=1), folder / "more.parquet")
    data = str(folder / "houses.csv")
    for name, target, method in (("sold", "sold", "adaboost"), ("price", "price", "gradient")):
        drop = "price" if target == "sold" else "sold"
        out = str(folder / f"{name}.hedgerow")
        assert (
            main(["train", data, "--target", target, "--drop", drop, "--method", method, "--out", out]) == 0
        )
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy, and the present folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_json(arguments, capsys):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


TRAIN = ["train", "houses.csv", "--target", "sold", "--drop", "price"]


@pytest.mark.parametrize("method", ["gradient", "adaboost", "logitboost", "forest", "bagging"])
def test_every_method_trains_saves_and_predicts(method, folder, capsys):
    result = run_json([*TRAIN, "--method", method, "--out", "m.hedgerow"], capsys)
    assert result["model"] == "m.hedgerow"
    assert result["scores"]["accuracy"] > 0.8
    assert result["hold_out"]["rows"] + result["hold_out"]["train_rows"] == 400
    assert result["certificate"]["bounds"]
    assert main(["predict", "m.hedgerow", "houses.csv", "--out", "p.parquet"]) == 0
    predicted = parquet.read_table(folder / "p.parquet")
    assert predicted.column_names == ["predicted sold", "probability no", "probability yes"]
    truth = make_table()["sold"].to_pylist()
    assert np.mean(np.array(predicted["predicted sold"].to_pylist()) == truth) > 0.85


def test_train_prints_the_inferred_columns_and_saves_under_the_name_of_the_table(folder, capsys):
    assert main([*TRAIN, "--method", "adaboost"]) == 0
    printed = capsys.readouterr().out
    assert "400 rows, 7 columns" in printed
    assert "classification, 2 classes (no: " in printed
    assert "'bought' holds dates" in printed
    assert "held out: 80 of 400 rows, drawn with seed 0" in printed
    assert "With probability at least 95 %" in printed
    assert "houses.hedgerow (new, " in printed
    assert load_card(folder / "houses.hedgerow")["data"]["name"] == "houses.csv"


@pytest.mark.usefixtures("folder")
def test_auto_explains_and_stores_its_choice(capsys):
    result = run_json([*TRAIN, "--out", "m.hedgerow", "--budget", "0.5"], capsys)
    assert result["choice"]["reason"]
    assert {trial["method"] for trial in result["choice"]["trials"]} >= {"gradient", "adaboost", "forest"}


@pytest.mark.usefixtures("folder")
def test_predict_of_regression_reads_another_format(capsys):
    assert main(["predict", "price.hedgerow", "more.parquet", "--keep", "rooms"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == '"rooms","predicted price"'
    assert len(lines) == 101
    assert "R²" in printed.err
    values = np.array([float(line.split(",")[1]) for line in lines[1:]])
    truth = make_table(100, seed=1)["price"].to_numpy()
    assert np.corrcoef(values, truth)[0, 1] > 0.85


@pytest.mark.usefixtures("folder")
def test_a_file_is_replaced_only_with_force(capsys):
    assert main([*TRAIN, "--method", "adaboost", "--out", "sold.hedgerow"]) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*TRAIN, "--method", "adaboost", "--out", "sold.hedgerow", "--force"]) == 0
    assert "sold.hedgerow (replaced, " in capsys.readouterr().out


def test_certify_uses_only_new_rows(folder, capsys):
    assert main(["certify", "sold.hedgerow", "houses.csv"]) == 0
    printed = capsys.readouterr().out
    assert "its 80 held-out rows are used" in printed
    assert "hold-out" in printed
    line = ["certify", "sold.hedgerow", "more.parquet", "--delta", "0.1", "--out", "c.json"]
    result = run_json(line, capsys)
    assert result["delta"] == 0.1
    assert next(bound for bound in result["bounds"] if bound["name"] == "hold-out")["n"] == 100
    assert json.loads((folder / "c.json").read_text())["model"] == "AdaBoostClassifier"


@pytest.mark.usefixtures("folder")
def test_certify_refuses_regression_models(capsys):
    assert main(["certify", "price.hedgerow", "more.parquet"]) == 1
    assert "certificates are for classifiers" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_explain_finds_the_important_columns(capsys):
    result = run_json(["explain", "sold.hedgerow"], capsys)
    assert {row["column"] for row in result["importances"][:2]} == {"size", "colour"}
    result = run_json(["explain", "price.hedgerow", "more.parquet"], capsys)
    assert {row["column"] for row in result["permutation"][:2]} == {"size", "colour"}


@pytest.mark.usefixtures("folder")
def test_compare_lists_every_method_and_a_linear_model(capsys):
    result = run_json(
        ["compare", "more.parquet", "--target", "sold", "--drop", "price", "--folds", "2"], capsys
    )
    methods = {row["method"] for row in result["rows"]}
    assert methods >= {"gradient", "adaboost", "logitboost", "forest", "bagging", "linear"}
    assert main(["compare", "houses.csv", "--target", "price", "--drop", "sold", "--folds", "2",
                 "--method", "forest", "--method", "linear"]) == 0  # fmt: skip
    assert "±" in capsys.readouterr().out


def test_train_and_report_write_reports(folder):
    assert main([*TRAIN, "--method", "adaboost", "--out", "m.hedgerow", "--report", "r.html"]) == 0
    page = (folder / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "hedgerow train houses.csv --target sold" in page
    assert main(["report", "price.hedgerow", "more.parquet"]) == 0
    assert (folder / "price.html").is_file()


def test_predict_requires_the_columns_of_the_model(folder, capsys):
    parquet.write_table(make_table().drop_columns(["colour"]), folder / "less.parquet")
    assert main(["predict", "sold.hedgerow", "less.parquet"]) == 1
    assert "'colour'" in capsys.readouterr().err


def test_info_prints_versions(capsys):
    result = run_json(["info"], capsys)
    assert result["hedgerow"] == hedgerow.__version__
    assert result["packages"]["numpy"] == np.__version__


def test_detect_finds_the_astronaut(folder, capsys):
    data = pytest.importorskip("skimage.data")
    Image.fromarray(data.astronaut()).save(folder / "astronaut.png")
    result = run_json(["detect", "astronaut.png", "--out", "drawn"], capsys)
    [image] = result["images"]
    assert len(image["detections"]) == 1
    assert (folder / "drawn" / "astronaut.detected.png").is_file()


def test_train_cascade_writes_a_file_that_detect_reads(folder, capsys):
    rng = np.random.default_rng(0)
    for kind, n in (("objects", 60), ("others", 10)):
        (folder / kind).mkdir()
        for number in range(n):
            side = 12 if kind == "objects" else 60
            image = rng.integers(60, 120, (side, side)).astype(np.uint8)
            if kind == "objects":
                image[5:7, 1:11] += 100
            Image.fromarray(image).save(folder / kind / f"{number}.png")
    arguments = ["train-cascade", "objects", "others", "--out", "c.xml", "--window", "12x12", "--stages", "2",
                 "--n-negatives", "100", "--max-features", "500"]  # fmt: skip
    result = run_json(arguments, capsys)
    assert 1 <= len(result["stages"]) <= 2
    assert main(["detect", "others/0.png", "--model", "c.xml"]) == 0


def test_explain_notes_training_rows_in_another_format(folder, capsys):
    parquet.write_table(csv.read_csv(folder / "houses.csv"), folder / "same.parquet")
    assert main(["explain", "sold.hedgerow", "same.parquet"]) == 0
    assert "of the 400 rows have the values of rows that the model was fitted to" in capsys.readouterr().err
    assert main(["explain", "sold.hedgerow", "more.parquet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "size" in printed.out


def test_few_rows_report_no_leak():
    """With few rows a column predicts the target by chance."""

    class Model:
        feature_importances_ = np.ones(1)

    class Problem:
        y = np.zeros(5)

    assert leaking_columns(Model(), Problem()) == []
    assert leaking_columns(object(), Problem()) == []


def test_warmup_compiles_and_prints_where_the_kernels_are(monkeypatch, capsys):
    compiled = [3, 0]
    monkeypatch.setattr(type(machine.code()), "compile_listed", lambda _self: compiled.pop(0))
    assert main(["warmup", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["compiled"] == 3
    assert "entry points" in printed["kernels"]
    assert main(["warmup"]) == 0
    assert "nothing to compile" in capsys.readouterr().out


def test_demo_prints_tables_and_findings_and_writes_a_report(tmp_path, monkeypatch, capsys):
    class Table:
        name, columns, formats, rows = "scores", ("method", "error"), ("", ".1f"), [["boosting", "2.5"]]

    class Experiments:
        tables, findings, left_out = [Table()], ["boosting was best"], ["accidents: not installed"]

        def save(self, out):
            out.write_text("<html></html>")

        def to_dict(self):
            return {"findings": self.findings}

    received = {}

    def run(**options):
        received.update(options)
        return Experiments()

    monkeypatch.setattr(experiments, "run_experiments", run)
    page = tmp_path / "demo.html"
    assert main(["demo", "--out", str(page), "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert "boosting was best" in printed
    assert "accidents: not installed" in printed
    assert received["random_state"] == 3
    assert page.read_text() == "<html></html>"
    assert main(["demo", "--out", str(page)]) == errors.FAILED  # the file exists
    assert main(["demo", "--out", str(page), "--force", "--json"]) == 0


@pytest.mark.usefixtures("folder")
def test_top_limits_every_table_of_explain(capsys):
    found = run_json(["explain", "sold.hedgerow", "houses.csv", "--top", "3"], capsys)
    assert [len(found[name]) for name in ("importances", "stumps", "permutation", "dependence")] == [3] * 4
