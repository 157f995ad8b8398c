"""Model files of `train`: their card and certificate; pipes, copied rows, leaks and narrow terminals."""

import json
import os
import shutil
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hedgerow import AdaBoostClassifier
from hedgerow.cli import errors, main
from hedgerow.cli.evaluate import certify_model
from hedgerow.cli.output import Output, plain
from hedgerow.cli.table_model import read_model
from hedgerow.datafiles import inference
from hedgerow.datafiles.inference import infer_column
from hedgerow.datafiles.recipe import PlannedColumn
from hedgerow.datasets import make_gaussian
from hedgerow.io import load_card, load_certificate, save
from hedgerow.selection import Choice
from hedgerow.strict_json import to_plain

FAILED, WRONG_USAGE = errors.FAILED, errors.WRONG_USAGE


def small_table(n_rows=120, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    score = X[:, 0] + noise * rng.standard_normal(n_rows)
    return pa.table({"a b": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": np.where(score > 0, "p", "n")})


def train(*more):
    return main(["train", "t.csv", "--target", "y", "--method", "adaboost", *more])


def predict(*more):
    return main(["predict", "m.hedgerow", "t.csv", *more])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table and two models of it: of AdaBoost, and of the method that `auto` chooses."""
    folder = tmp_path_factory.mktemp("trained")
    csv.write_csv(small_table(), folder / "t.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert train("--out", "m.hedgerow") == 0
        assert main(["train", "t.csv", "--target", "y", "--budget", "0.5", "--out", "chosen.hedgerow"]) == 0
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy of that folder, and the working directory."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def chosen(trained):
    return trained / "chosen.hedgerow"


@pytest.mark.parametrize("command", ["train", "train-cascade"])
def test_a_pipe_is_not_replaced(command, folder, capsys):
    os.mkfifo(folder / "pipe")
    (folder / "images").mkdir()
    lines = {
        "train": ["train", "t.csv", "--target", "y", "--out", "pipe", "--force"],
        "train-cascade": ["train-cascade", "images", "images", "--out", "x.xml", "--checkpoint", "pipe"],
    }
    assert main(lines[command]) == FAILED
    assert "a device or a pipe" in capsys.readouterr().err
    assert (folder / "pipe").is_fifo()


def test_a_table_is_read_from_a_pipe(folder):
    os.mkfifo(folder / "pipe.csv")
    content = (folder / "t.csv").read_bytes()
    threading.Thread(target=(folder / "pipe.csv").write_bytes, args=(content,), daemon=True).start()
    assert main(["train", "pipe.csv", "--target", "y", "--method", "adaboost", "--out", "n.hedgerow"]) == 0
    assert load_card("n.hedgerow")["data"]["sha256"] is None


def test_the_model_file_does_not_depend_on_the_number_of_threads(folder):
    contents = []
    for more in (["--threads", "1"], ["--threads=2", "--force"]):
        assert train(*more, "--out", "n.hedgerow") == 0
        contents.append((folder / "n.hedgerow").read_bytes())
    assert contents[0] == contents[1]


def test_the_card_stores_no_seconds(chosen):
    choice = load_card(chosen)["choice"]
    assert choice["seconds"] is None
    assert {trial["fit_seconds"] for trial in [*choice["trials"], choice["best"]]} == {None}


def test_a_later_report_shows_how_the_method_was_chosen(folder, chosen, capsys):
    assert main(["report", str(chosen), "t.csv", "--out", "r.html"]) == 0
    assert "How the method was chosen" in (folder / "r.html").read_text()
    damaged = load_card(chosen)
    damaged["choice"]["best"]["status"] = "perfect"
    save(read_model(chosen).model, "d.hedgerow", card=damaged)
    capsys.readouterr()
    assert main(["report", "d.hedgerow", "t.csv", "--out", "d.html"]) == FAILED
    printed = capsys.readouterr().err
    assert "the card of the model is damaged: the choice: best.status must be one of" in printed
    assert not (folder / "d.html").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["train", "t.csv", "--target", "y", "--budget", "inf"], "--budget inf"),
        (["train", "t.csv", "--target", "y", "--metric", "rmse"], "--metric rmse"),
        (["train", "t.csv", "--target", "b", "--method", "logitboost"], "--method logitboost"),
        (["predict", "m.hedgerow", "t.csv", "--threads", "-3"], "--threads -3"),
        (["explain", "m.hedgerow", "--seed", "-5"], "--seed -5"),
    ],
)
def test_invalid_options_are_named(line, message, capsys):
    assert main(line) == WRONG_USAGE
    assert message in capsys.readouterr().err


def test_a_table_with_too_few_rows_is_refused(folder, capsys):
    csv.write_csv(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]}), folder / "four.csv")
    assert main(["train", "four.csv", "--target", "y"]) == FAILED
    assert "four.csv: 1 of 4 rows are held out; the remaining 3 are too few" in capsys.readouterr().err


def test_predict_writes_a_repeated_column_once_and_notes_training_rows(folder, capsys):
    assert main(["predict", "m.hedgerow", "t.csv", "--keep", "b", "--keep", "b", "--out", "p.csv"]) == 0
    assert csv.read_csv(folder / "p.csv").column_names[:2] == ["b", "predicted y"]
    assert "the model was fitted to most of its rows" in capsys.readouterr().err


def test_copied_rows_are_reported(folder, capsys):
    assert train("--out", "n.hedgerow") == 0
    assert "copies" not in capsys.readouterr().err
    csv.write_csv(pa.concat_tables([small_table()] * 3), folder / "t.csv")
    assert train("--out", "n.hedgerow", "--force") == 0
    assert "held-out rows are copies of training rows" in capsys.readouterr().err


def test_a_leaking_column_is_reported_and_quoted_for_the_shell(folder, capsys):
    assert train("--out", "n.hedgerow") == 0
    assert "alone predicts" not in capsys.readouterr().err
    csv.write_csv(small_table(noise=0.0), folder / "t.csv")
    assert train("--out", "n.hedgerow", "--force") == 0
    assert "--drop 'a b'" in capsys.readouterr().err


def test_a_leaking_date_is_reported_by_the_name_of_its_column(folder, capsys):
    days = np.arange("2024-01-01", "2024-04-30", dtype="datetime64[D]").repeat(2)
    late = np.where(days >= np.datetime64("2024-03-01"), "p", "n")
    noise = np.random.default_rng(0).standard_normal(len(days))
    csv.write_csv(pa.table({"sold on": days, "c": noise, "y": late}), folder / "t.csv")
    assert train("--out", "n.hedgerow") == 0
    printed = capsys.readouterr().err
    assert "alone predicts" in printed
    assert "--drop 'sold on'" in printed


@pytest.mark.usefixtures("folder")
def test_few_held_out_rows_report_no_leak(capsys):
    assert train("--hold-out", "0.0001", "--out", "n.hedgerow") == 0
    printed = capsys.readouterr()
    assert "alone predicts" not in printed.err
    assert "scores of the 1 held-out row" in printed.out


@pytest.mark.parametrize("width", [60, 80, 118])
def test_trials_and_certificates_fit_the_width(width, chosen, capsys):
    choice = Choice.from_dict(load_card(chosen)["choice"])
    output = Output()
    output.width = width
    for page in (choice, load_certificate(chosen)):
        output.page(page)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        assert page is not choice or any(choice.best.title in line for line in lines[3:])


def test_a_model_without_a_card_is_refused(folder, capsys):
    save(read_model(folder / "m.hedgerow").model, "bare.hedgerow")
    assert main(["predict", "bare.hedgerow", "t.csv"]) == FAILED
    assert "without the card" in capsys.readouterr().err


def test_a_leak_that_misses_a_rare_class_is_reported(folder, capsys):
    rng = np.random.default_rng(0)
    y = rng.choice(3, 2000, p=[0.49, 0.50, 0.01])
    table = pa.table({"x": rng.standard_normal(2000), "hurt": (y == 1).astype(np.int64), "y": y})
    csv.write_csv(table, folder / "t.csv")
    assert train("--out", "n.hedgerow") == 0
    assert "'hurt' alone predicts" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [to_plain(PlannedColumn("b", "number"))]},
        {"task": "regression", "labels_are": "number"},
    ],
)
def test_a_recipe_of_another_model_is_refused(change, folder, capsys):
    content = load_card("m.hedgerow")
    content["recipe"].update(change)
    save(read_model(folder / "m.hedgerow").model, "k.hedgerow", card=content)
    capsys.readouterr()
    assert main(["predict", "k.hedgerow", "t.csv"]) == FAILED
    printed = capsys.readouterr().err
    assert printed.startswith("hedgerow: error: k.hedgerow: the card of the model is damaged: its recipe")


@pytest.mark.usefixtures("folder")
def test_predict_refuses_options_that_contradict_the_table(folder, capsys):
    assert train("--out", "n.hedgerow") == 0
    (folder / "clash.csv").write_text("a b,b,c,predicted y\n1,2,3,x\n")
    capsys.readouterr()
    for more, message in (
        (["--json"], "pass --out FILE too"),
        (["--keep", "d"], "--keep d"),
        (["--keep-all", "--out", "p.txt"], "the name must end in .csv or"),
    ):
        assert predict(*more) == WRONG_USAGE
        assert message in capsys.readouterr().err
    assert main(["predict", "m.hedgerow", "clash.csv", "--keep-all"]) == WRONG_USAGE
    assert "the predictions also have a column 'predicted y'" in capsys.readouterr().err
    assert main(["explain", "m.hedgerow", "t.csv", "--top", "0"]) == WRONG_USAGE
    assert "--top 0 is not allowed" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_predictions_do_not_depend_on_the_number_of_threads(capsys):
    outputs = []
    for more in ([], ["--threads", "2"]):
        capsys.readouterr()
        assert predict(*more) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_rows_that_the_library_refuses_are_a_command_error(folder, capsys):
    other = small_table().set_column(3, "y", pa.array(["q"] * 120))
    csv.write_csv(other, folder / "other.csv")
    huge = pa.array(1e300 * np.random.default_rng(0).standard_normal(120))
    csv.write_csv(small_table().set_column(1, "b", huge), folder / "huge.csv")
    capsys.readouterr()
    assert main(["explain", "m.hedgerow", "other.csv"]) == FAILED
    assert "y holds 'q'" in capsys.readouterr().err
    assert main(["train", "huge.csv", "--target", "b", "--method", "gradient"]) == FAILED
    assert "scale" in capsys.readouterr().err


# --- certificates


@pytest.mark.usefixtures("folder")
def test_train_stores_the_certificate_that_certify_prints(capsys):
    assert train("--out", "n.hedgerow") == 0
    statement = capsys.readouterr().out.partition("certificate: ")[2].splitlines()[0]
    certificate = load_certificate("n.hedgerow")
    assert certificate.statement == statement
    assert certificate["hold-out"].n == 24
    assert main(["certify", "m.hedgerow"]) == 0
    assert statement in capsys.readouterr().out
    assert main(["certify", "m.hedgerow", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plain(certificate.to_dict())


@pytest.mark.usefixtures("folder")
def test_certify_without_rows_computes_another_delta_without_the_hold_out_bound(capsys):
    assert main(["certify", "m.hedgerow", "--delta", "0.1", "--json"]) == 0
    captured = capsys.readouterr()
    assert "hold-out" not in [bound["name"] for bound in json.loads(captured.out)["bounds"]]
    assert "the stored certificate has delta 0.05" in captured.err


@pytest.mark.usefixtures("folder")
def test_regression_models_store_no_certificate():
    assert main(["train", "t.csv", "--target", "b", "--method", "gradient", "--out", "n.hedgerow"]) == 0
    assert load_certificate("n.hedgerow") is None


def test_bounds_from_training_rows_have_a_proviso_if_auto_chose_the_method():
    data, labels = make_gaussian(400, random_state=0)
    model = AdaBoostClassifier(n_estimators=5).fit(data[:300], labels[:300])
    fixed, chosen = (
        certify_model(model, data[300:], labels[300:], is_chosen=is_chosen) for is_chosen in (False, True)
    )
    assert len(fixed.bounds) > 2
    for bound, with_proviso in zip(fixed.bounds, chosen.bounds, strict=True):
        assert bound.value == with_proviso.value
        assert ("validation chose it" in with_proviso.proviso) == (not bound.name.startswith("hold-out"))
        assert "validation" not in bound.proviso


@pytest.mark.usefixtures("folder")
def test_certify_gives_the_stored_provisos_of_a_chosen_model(chosen, capsys):
    stored = load_certificate(chosen)
    assert main(["certify", str(chosen), "t.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bounds"] == plain(stored.to_dict())["bounds"]
    assert all(bound.proviso for bound in stored.bounds if not bound.name.startswith("hold-out"))


# --- types


def test_the_type_of_a_column_is_inferred_once(folder, monkeypatch):
    calls = []

    def count(column, *args, **kwargs):
        calls.append(len(column))
        return infer_column(column, *args, **kwargs)

    monkeypatch.setattr(inference, "infer_column", count)
    text = pa.array(["red", "blue", "green", "red"] * 30)
    csv.write_csv(small_table().append_column("hue", text), folder / "t.csv")
    assert train("--out", "n.hedgerow") == 0
    assert len(calls) == 5
    parquet.write_table(small_table().append_column("hue", text), folder / "t.parquet")
    calls.clear()
    assert main(["train", "t.parquet", "--target", "y", "--method", "adaboost", "--out", "p.hedgerow"]) == 0
    assert len(calls) == 2  # the others are not text
