"""Weighted ensembles of train: every command works with the model file; --single keeps one model."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from hedgerow.cli import main
from hedgerow.cli.errors import WRONG_USAGE
from hedgerow.io import load, load_card, load_certificate
from hedgerow.selection import (
    Choice,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
    ensemble_selection,
    search,
)
from hedgerow.selection.settings import settings_for


def make_table(n_rows, seed):
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(50, 10, n_rows), rng.choice(["red", "green", "blue"], n_rows)
    score = (size - 50) / 10 + 2.0 * (colour == "red") - 0.7 + rng.normal(size=n_rows)
    sold = pa.array(np.where(score > 0, "yes", "no"))
    return pa.table({"size": size, "colour": pa.array(colour), "sold": sold, "price": 100 * score})


def _short(method, task, n_rows, *_):
    return [settings_for(method, task, n_rows)[0].shortened(8)]


@pytest.fixture(autouse=True)
def ensembles(monkeypatch):
    """Few rounds, and an ensemble is always chosen."""
    monkeypatch.setattr(search, "settings_for", _short)
    monkeypatch.setattr(ensemble_selection, "MIN_ADVANTAGE", -1e9)


SOLD = ["train", "t.csv", "--target", "sold", "--drop", "price", "--out", "m.hedgerow"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables, a model, its report, and what the command printed."""
    folder = tmp_path_factory.mktemp("trained")
    csv.write_csv(make_table(240, 0), folder / "t.csv")
    csv.write_csv(make_table(80, 1), folder / "new.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "settings_for", _short)
        patch.setattr(ensemble_selection, "MIN_ADVANTAGE", -1e9)
        patch.chdir(folder)
        assert main([*SOLD, "--report", "r.html"]) == 0
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_file_has_the_ensemble_its_choice_and_its_certificate():
    model, card = load("m.hedgerow"), load_card("m.hedgerow")
    assert isinstance(model.estimator, WeightedEnsembleClassifier)
    choice = Choice.from_dict(card["choice"])
    assert card["estimator"] == "WeightedEnsembleClassifier"
    assert [weight for _, weight in choice.members] == model.estimator.weights_.tolist()
    assert load_certificate("m.hedgerow").best.name == "hold-out"
    rows = make_table(80, 1).to_pandas()
    assert set(model.predict(rows)) == {"yes", "no"}


def test_the_report_lists_the_members_and_how_they_were_chosen(folder):
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Members of the ensemble, with their weights" in page
    assert "weighted ensemble of " in page
    assert "cross-fitted" in page
    assert "WeightedEnsembleClassifier(" in page  # the code that fits it again


@pytest.mark.usefixtures("folder")
def test_every_command_takes_the_model(capsys):
    assert main(["predict", "m.hedgerow", "new.csv", "--out", "p.csv", "--threads", "1"]) == 0
    predicted = csv.read_csv("p.csv")
    assert predicted.column_names == ["predicted sold", "probability no", "probability yes"]
    raw = load("m.hedgerow").predict_proba(make_table(80, 1).to_pandas())
    np.testing.assert_allclose(predicted["probability yes"].to_numpy(), raw[:, 1], rtol=1e-12)
    capsys.readouterr()
    assert main(["explain", "m.hedgerow"]) == 0
    printed = capsys.readouterr().out
    assert "WeightedEnsembleClassifier of " in printed
    assert "share of the gain of the splits" in printed
    assert main(["certify", "m.hedgerow", "t.csv"]) == 0
    assert "Certificate of WeightedEnsembleClassifier" in capsys.readouterr().out
    assert main(["report", "m.hedgerow", "new.csv", "--out", "again.html"]) == 0


@pytest.mark.usefixtures("folder")
def test_training_rows_do_not_certify(capsys):
    rows = csv.read_csv("t.csv")
    csv.write_csv(rows.slice(0, 200), "copy.csv")
    assert main(["certify", "m.hedgerow", "copy.csv"]) == 1
    assert "rows that the model was fitted to" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_the_terminal_shows_the_members(capsys):
    assert main([*SOLD, "--force", "--refit", "--threshold", "f1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "The model is a weighted ensemble of " in printed
    assert "WeightedEnsembleClassifier of " in printed
    assert "refitted to all 240 rows" in printed
    model = load("m.hedgerow").estimator
    assert model.estimator_.row_fingerprints_.n_rows == 240
    card = load_card("m.hedgerow")
    assert model.threshold == card["choice"]["threshold"]


@pytest.mark.usefixtures("folder")
def test_single_keeps_one_model(capsys):
    assert main([*SOLD, "--single", "--force", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["choice"]["ensemble"] is None
    assert not isinstance(load("m.hedgerow").estimator, WeightedEnsembleClassifier)
    assert main([*SOLD, "--single", "--force", "--method", "forest"]) == WRONG_USAGE
    assert "--single is not allowed with --method forest" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_an_ensemble_of_regressors_is_saved_and_predicts(capsys):
    line = ["train", "t.csv", "--target", "price", "--drop", "sold", "--out", "p.hedgerow"]
    assert main([*line, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["choice"]["ensemble"]["scores"].keys() >= {"r2", "rmse", "mae"}
    model = load("p.hedgerow")
    assert isinstance(model.estimator, WeightedEnsembleRegressor)
    assert model.score(make_table(80, 1).to_pandas())["r2"] > 0.3
