"""Options of train: hold-out, refit, parameters, weights, thresholds, groups, times, metrics, sizes."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

import hedgerow
from hedgerow.cli import main, train
from hedgerow.cli.errors import FAILED, WRONG_USAGE
from hedgerow.cli.train_options import parse_size
from hedgerow.datafiles import DataFileError
from hedgerow.io import load, load_card, load_certificate, save
from hedgerow.io.table_model import TableModel
from hedgerow.selection import FixedThresholdClassifier


def make_table(n_rows=240, seed=0):
    """Groups, a date, a category, weights, two targets."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(50, 10, n_rows), rng.choice(["red", "green", "blue"], n_rows)
    score = (size - 50) / 10 + 2.0 * (colour == "red") - 0.7 + rng.normal(size=n_rows)
    return pa.table(
        {
            "size": pa.array(np.where(rng.random(n_rows) < 0.1, np.nan, size), from_pandas=True),
            "colour": pa.array([None if rng.random() < 0.05 else str(one) for one in colour]),
            "day": pa.array(np.datetime64("2020-01-01") + rng.integers(0, 300, n_rows)),
            "patient": pa.array([f"P{one}" for one in rng.integers(0, 30, n_rows)]),
            "w": pa.array(rng.integers(1, 4, n_rows)),
            "sold": pa.array(np.where(score > 0, "yes", "no")),
            "price": pa.array(100 * score + 1000),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(make_table(), tmp_path / "t.csv")
    csv.write_csv(make_table(100, seed=1), tmp_path / "new.csv")
    return tmp_path


SOLD = ["train", "t.csv", "--target", "sold", "--drop", "price", "--out", "m.hedgerow"]
PRICE = ["train", "t.csv", "--target", "price", "--drop", "sold", "--drop", "patient", "--out", "m.hedgerow"]
FAST = ["--method", "gradient", "--param", "n_estimators=5"]


def run_json(arguments, capsys):
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


# --- hold-out and refit


@pytest.mark.usefixtures("folder")
def test_without_held_out_rows_there_are_no_scores(capsys):
    result = run_json([*SOLD, "--drop", "patient", *FAST, "--hold-out", "0"], capsys)
    assert result["hold_out"]["rows"] == 0
    assert result["scores"] == {}
    assert result["certificate"] is None
    assert main([*SOLD, "--drop", "patient", *FAST, "--hold-out", "0", "--force"]) == 0
    assert "held out: no rows; training rows: 240" in capsys.readouterr().out
    for command in ("certify", "report"):
        assert main([command, "m.hedgerow", "t.csv"]) == FAILED
        assert "was fitted to all of its rows (--hold-out 0)" in capsys.readouterr().err
    assert main(["explain", "m.hedgerow", "t.csv"]) == 0
    assert "the model was fitted to all rows of t.csv" in capsys.readouterr().err
    assert main(["certify", "m.hedgerow", "new.csv"]) == 0


@pytest.mark.usefixtures("folder")
def test_a_refitted_model_has_all_rows_and_the_certificate_of_the_other_model(capsys):
    line = [*SOLD, "--drop", "patient", *FAST]
    assert main([*line, "--refit"]) == 0
    printed = capsys.readouterr().out
    assert "refitted to all 240 rows" in printed
    assert "of the model fitted to 80 % of the rows" in printed
    whole, certificate = load("m.hedgerow"), load_certificate("m.hedgerow")
    assert certificate.subject == "the model fitted to 80 % of the rows"
    assert certificate.subject in certificate.statement
    assert main(["certify", "m.hedgerow"]) == 0
    assert "the model fitted to 80 % of the rows" in capsys.readouterr().out
    assert load_card("m.hedgerow")["refit"] is True
    assert main([*line, "--out", "part.hedgerow"]) == 0
    held_out = load("part.hedgerow")
    assert load_certificate("part.hedgerow")["hold-out"].value == certificate["hold-out"].value
    assert main([*line, "--hold-out", "0", "--out", "all.hedgerow"]) == 0
    frame = make_table(50, seed=2)
    np.testing.assert_array_equal(whole.predict_proba(frame), load("all.hedgerow").predict_proba(frame))
    assert not np.array_equal(whole.predict_proba(frame), held_out.predict_proba(frame))
    assert main([*SOLD, "--hold-out", "0", "--refit", "--force"]) == WRONG_USAGE


@pytest.mark.usefixtures("folder")
def test_refit_of_a_chosen_model_keeps_its_threshold(capsys):
    line = [
        *SOLD,
        "--drop",
        "patient",
        "--method",
        "gradient",
        "--threshold",
        "f1",
        "--refit",
        "--budget",
        "1",
    ]
    result = run_json(line, capsys)
    model = load("m.hedgerow").estimator
    assert isinstance(model, FixedThresholdClassifier)
    assert model.threshold == result["threshold"]["value"] == result["choice"]["threshold"]
    assert result["threshold"]["by"] == "f1"


# --- parameters, metrics, budgets


@pytest.mark.usefixtures("folder")
def test_parameters_reach_the_model(capsys):
    result = run_json(
        [*PRICE, "--method", "gradient", "-p", "n_estimators=7", "-p", "loss=absolute_error"], capsys
    )
    assert result["choice"] is None
    model = load("m.hedgerow").estimator
    assert (model.n_estimators, model.loss) == (7, "absolute_error")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("metric", "line"),
    [
        *((name, SOLD) for name in ("pr-auc", "f1", "f1-macro", "auc")),
        *((name, PRICE) for name in ("mae", "mape", "r2", "pinball:0.9")),
    ],
)
def test_a_metric_chooses_the_settings_of_a_method(metric, line, capsys):
    result = run_json([*line, "--method", "gradient", "--metric", metric, "--budget", "0.5"], capsys)
    assert result["choice"]["metric"] == metric
    assert metric in result["scores"]
    assert {trial["method"] for trial in result["choice"]["trials"]} == {"gradient"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("method", ["gradient", "adaboost", "logitboost", "forest", "bagging"])
def test_a_budget_is_used_with_every_method(method, capsys):
    result = run_json([*SOLD, "--drop", "patient", "--method", method, "--budget", "0.3"], capsys)
    assert result["choice"]["budget"] == 0.3


# --- weights, thresholds


@pytest.mark.usefixtures("folder")
def test_weights_are_a_column_and_not_a_feature(capsys):
    line = [*SOLD, "--drop", "patient", *FAST]
    assert main([*line, "--weight", "w"]) == 0
    printed = capsys.readouterr().out
    assert "left out: w (the weights of the rows)" in printed
    assert "weights: used in fitting; scores and certificate count every row once" in printed
    weighted = load("m.hedgerow")
    assert "w" not in weighted.columns
    assert main([*line, "--drop", "w", "--class-weight", "yes=5", "--force"]) == 0
    rare = load("m.hedgerow").predict_proba(make_table())[:, 1].mean()
    assert rare > weighted.predict_proba(make_table())[:, 1].mean()
    assert main([*line, "--drop", "w", "--class-weight", "balanced", "--force"]) == 0


@pytest.mark.usefixtures("folder")
def test_a_threshold_decides_in_predict_certify_and_report(folder, capsys):
    line = [*SOLD, "--drop", "patient", *FAST, "--threshold", "0.3", "--report", "r.html"]
    assert main(line) == 0
    assert "predicts 'yes' from a probability of 0.3 on" in capsys.readouterr().out
    assert main(["predict", "m.hedgerow", "new.csv", "--threads", "1", "--out", "p.csv"]) == 0
    predicted = csv.read_csv(folder / "p.csv")
    expected = predicted["probability yes"].to_numpy() >= 0.3
    np.testing.assert_array_equal(predicted["predicted sold"].to_numpy() == "yes", expected)
    actual = csv.read_csv(folder / "new.csv")["sold"].to_numpy() == "yes"
    capsys.readouterr()
    assert main(["certify", "m.hedgerow", "new.csv", "--json"]) == 0
    bound = next(one for one in json.loads(capsys.readouterr().out)["bounds"] if one["name"] == "hold-out")
    assert bound["found"].startswith(f"{np.sum(expected != actual)} errors in 100 rows")
    assert main(["report", "m.hedgerow", "new.csv", "--out", "new.html"]) == 0
    assert main(["explain", "m.hedgerow", "new.csv", "--top", "2"]) == 0


@pytest.mark.usefixtures("folder")
def test_costs_choose_a_threshold_of_the_positive_class(capsys):
    line = [*SOLD, "--drop", "patient", "--method", "gradient", "--budget", "0.5", "--force"]
    high = run_json([*line, "--cost", "fp=10,fn=1"], capsys)["threshold"]
    low = run_json([*line, "--cost", "fp=1,fn=10"], capsys)["threshold"]
    assert low["value"] < high["value"]
    other = run_json([*line, "--cost", "fp=1,fn=10", "--positive", "no"], capsys)["threshold"]
    assert other["positive"] == "no"


# --- groups and times


@pytest.mark.usefixtures("folder")
def test_groups_are_not_divided_and_the_certificate_says_so(capsys):
    assert main([*SOLD, *FAST, "--group", "patient"]) == 0
    assert "whole groups of 'patient' (" in capsys.readouterr().out
    certificate, card = load_certificate("m.hedgerow"), load_card("m.hedgerow")
    assert all("the rows of a group are independent" in bound.proviso for bound in certificate.bounds)
    assert card["hold_out"]["group"] == "patient"
    result = run_json(["certify", "m.hedgerow", "t.csv"], capsys)
    assert [bound["value"] for bound in result["bounds"]] == [bound.value for bound in certificate.bounds]


@pytest.mark.usefixtures("folder")
def test_later_rows_are_held_out_and_the_certificate_says_so(capsys):
    assert main([*SOLD, "--drop", "patient", *FAST, "--time", "day"]) == 0
    assert "the latest ones by 'day'" in capsys.readouterr().out
    assert "not exchangeable" in load_certificate("m.hedgerow").statement + str(
        load_certificate("m.hedgerow")
    )
    assert main(["report", "m.hedgerow", "t.csv", "--out", "r.html"]) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", [["--group", "patient"], ["--time", "day"]])
def test_compare_splits_by_groups_and_times(option, capsys):
    line = ["compare", "t.csv", "--target", "sold", "--drop", "price", "--method", "tree", "--folds", "3"]
    more = [] if option[0] == "--group" else ["--drop", "patient"]
    assert main([*line, *option, *more]) == 0
    assert "Folds: " in capsys.readouterr().out


# --- refused command lines


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ([*SOLD, "--param", "n_estimators=5"], WRONG_USAGE, "--param needs --method NAME"),
        ([*SOLD, "-m", "forest", "-p", "rounds=5"], WRONG_USAGE, "method 'forest' has no such parameter"),
        (
            [*SOLD, "-m", "forest", "-p", "n_estimators=0"],
            WRONG_USAGE,
            "--param n_estimators=0 is not allowed",
        ),
        ([*SOLD, "-m", "forest", "-p", "n_estimators"], WRONG_USAGE, "it must be NAME=VALUE"),
        ([*SOLD, "-m", "forest", "-p", "max_depth=1", "-p", "max_depth=2"], WRONG_USAGE, "passed twice"),
        ([*SOLD, "--threshold", "2"], WRONG_USAGE, "--threshold 2 is not allowed"),
        ([*SOLD, "--threshold", "f2"], WRONG_USAGE, "--threshold f2 is not allowed"),
        ([*SOLD, "--threshold", "0.3", "--cost", "fp=1,fn=2"], WRONG_USAGE, "cannot be combined"),
        ([*SOLD, "--cost", "fp=1"], WRONG_USAGE, "it must be fp=1,fn=10"),
        ([*SOLD, "--cost", "fp=x,fn=1"], WRONG_USAGE, "it must be fp=1,fn=10"),
        ([*SOLD, "--positive", "maybe"], WRONG_USAGE, "the classes of 'sold' are no, yes"),
        ([*SOLD, "--class-weight", "maybe=2"], WRONG_USAGE, "the classes of 'sold' are no, yes"),
        ([*SOLD, "--group", "patient", "--time", "day"], WRONG_USAGE, "cannot be combined"),
        ([*SOLD, "--group", "nobody"], WRONG_USAGE, "--group nobody: there is no column"),
        ([*SOLD, "--group", "sold"], WRONG_USAGE, "it is the target"),
        ([*SOLD, "--time", "patient"], FAILED, "neither dates nor numbers"),
        ([*SOLD, "--drop", "patient", "--weight", "colour"], FAILED, "missing in"),
        ([*SOLD, "--weight", "patient"], FAILED, "does not hold numbers"),
        ([*SOLD, "--time", "size"], FAILED, "the value is missing in"),
        ([*SOLD, "--max-size", "big"], WRONG_USAGE, "it must be a size such as 50MB"),
        ([*SOLD, "--hold-out", "1"], WRONG_USAGE, "--hold-out 1 is not allowed"),
        ([*SOLD, "--hold-out", "0", "--report", "r.html"], WRONG_USAGE, "a report needs held-out rows"),
        ([*SOLD, "--drop", "patient", "--metric", "mae"], WRONG_USAGE, "--metric mae is not allowed"),
        ([*PRICE, "--threshold", "0.5"], WRONG_USAGE, "--threshold 0.5 is not allowed: it needs two classes"),
        ([*PRICE, "--class-weight", "balanced"], WRONG_USAGE, "for classes"),
        ([*PRICE, "--metric", "pr-auc"], WRONG_USAGE, "--metric pr-auc is not allowed for regression"),
    ],
)
def test_a_wrong_option_is_refused_before_any_work(line, code, message, folder, capsys):
    assert main(line) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not (folder / "m.hedgerow").exists()


def test_metrics_that_the_target_forbids_are_refused(folder, capsys):
    zero = make_table().set_column(6, "price", pa.array([0.0, *range(1, 240)]))
    csv.write_csv(zero, folder / "t.csv")
    assert main([*PRICE, "--metric", "mape"]) == WRONG_USAGE
    assert "--metric mape is not allowed: y holds 0" in capsys.readouterr().err
    colours = ["train", "t.csv", "--target", "colour", "--drop", "patient", "--metric", "pr-auc"]
    assert main(colours) == WRONG_USAGE
    assert "--metric pr-auc is not allowed: it needs two classes, and y has 3" in capsys.readouterr().err


# --- sizes, classes of one row


@pytest.mark.usefixtures("folder")
def test_the_size_of_a_model_file_is_limited(folder, capsys):
    line = [*SOLD, "--drop", "patient", "--method", "forest", "--hold-out", "0"]
    assert main([*line, "--max-size", "150kB"]) == 0
    assert (folder / "m.hedgerow").stat().st_size <= 150_000
    assert load("m.hedgerow").estimator.n_estimators < 200
    assert main([*line, "--max-size", "1kB", "--force"]) == FAILED
    assert "the size limit is 1.0 kB" in capsys.readouterr().err
    assert parse_size("2 GB") == 2_000_000_000


def test_a_class_of_one_row_is_trained_and_noted(folder, capsys):
    sold = make_table()["sold"].to_pylist()
    sold[3] = "once"
    csv.write_csv(make_table().set_column(5, "sold", pa.array(sold)), folder / "t.csv")
    assert main([*SOLD, "--drop", "patient", *FAST]) == 0
    assert "class 'once' has only one row; it is in the training set" in capsys.readouterr().err
    assert "once" in load("m.hedgerow").classes_


# --- raw data frames in Python


@pytest.fixture
def loaded(folder):
    assert main([*SOLD, "--drop", "patient", "--drop", "w", *FAST, "--threshold", "0.4"]) == 0
    return hedgerow.load(folder / "m.hedgerow")


def test_a_loaded_model_predicts_raw_data_frames(loaded, folder):
    assert isinstance(loaded, TableModel)
    assert loaded.columns == ["size", "colour", "day"]
    assert "sold" in repr(loaded)
    assert main(["predict", "m.hedgerow", "new.csv", "--out", "p.csv"]) == 0
    expected = csv.read_csv(folder / "p.csv")
    table = csv.read_csv(folder / "new.csv")
    text = table.set_column(2, "day", table["day"].cast(pa.string()))
    pandas = text.to_pandas()[["w", "colour", "day", "size"]]  # another order, no target, another column
    polars = pl.from_arrow(table).drop("sold")
    for frame in (pandas, pandas.astype({"colour": "category"}), polars, text):
        np.testing.assert_array_equal(loaded.predict(frame), expected["predicted sold"].to_numpy())
        np.testing.assert_allclose(
            loaded.predict_proba(frame)[:, 1], expected["probability yes"].to_numpy(), rtol=1e-12
        )
    assert 0.5 < loaded.score(pl.from_arrow(table))["accuracy"] <= 1.0


def test_a_loaded_model_refuses_other_tables(loaded):
    with pytest.raises(DataFileError, match="there is no column 'size'; did you mean 'Size'"):
        loaded.predict(pd.DataFrame({"Size": [1.0], "colour": ["red"], "day": ["2020-01-01"]}))
    with pytest.raises(DataFileError, match="a data frame of pandas, polars or Arrow is needed"):
        loaded.predict(np.zeros((3, 3)))


@pytest.mark.usefixtures("folder")
def test_a_regression_model_predicts_raw_data_frames():
    assert main([*PRICE, *FAST]) == 0
    model = hedgerow.load("m.hedgerow")
    assert model.predict(make_table(5).to_pandas()).shape == (5,)
    with pytest.raises(AttributeError, match="no probabilities"):
        model.predict_proba(make_table(5))


def test_a_loaded_model_is_saved_with_its_card_certificate_and_threshold(loaded, folder):
    save(loaded, folder / "again.hedgerow")
    assert (folder / "again.hedgerow").read_bytes() == (folder / "m.hedgerow").read_bytes()
    assert load(folder / "again.hedgerow").estimator.threshold == 0.4
    assert load_certificate(folder / "again.hedgerow") == loaded.certificate


# --- what a newcomer meets


@pytest.mark.usefixtures("folder")
def test_the_fit_is_timed_after_a_first_small_fit(monkeypatch, capsys):
    fits = []
    for name in ("warm_up_method", "fit_method"):
        function = getattr(train, name)
        monkeypatch.setattr(
            train, name, lambda *a, f=function, n=name, **k: fits.append((n, len(a[1]))) or f(*a, **k)
        )
    assert main([*SOLD, "--drop", "patient", *FAST, "--weight", "w"]) == 0
    assert [name for name, _ in fits] == ["warm_up_method", "fit_method"]
    assert "fitted in" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_log_has_lines_of_progress(capsys):
    assert main([*SOLD, "--drop", "patient", *FAST]) == 0
    logged = capsys.readouterr().err
    assert "fitting gradient boosting  0/2  0:00  a first small fit, which compiles its kernels\n" in logged
    assert "\r" not in logged
    assert "\x1b" not in logged


@pytest.mark.usefixtures("folder")
def test_a_pinball_loss_fits_the_quantile_and_skips_other_methods(capsys):
    line = [*PRICE, "--metric", "pinball:0.9", "--budget", "0.5", "--single"]
    result = run_json(line, capsys)
    model = load("m.hedgerow").estimator
    assert (model.loss, model.quantile) == ("quantile", 0.9)
    tried = [one for one in result["choice"]["trials"] if one["scores"]]
    assert {(one["method"], one["parameters"]["quantile"]) for one in tried} == {("gradient", 0.9)}
    assert "random forest, it is not fitted to quantiles" in result["choice"]["reason"]


@pytest.mark.usefixtures("folder")
def test_classes_of_later_rows_are_noted(capsys):
    table = make_table()
    days = table["day"].to_pylist()
    last = sorted(days)[-10]
    phases = zip(days, table["sold"].to_pylist(), strict=True)
    late = pa.array(["new" if day >= last else sold for day, sold in phases])
    csv.write_csv(table.append_column("phase", [late]), "late.csv")
    line = ["train", "late.csv", "--target", "phase", "--time", "day", *FAST, "--drop", "sold,patient"]
    assert main(line) == 0
    note = "class 'new' of 'phase': in held-out rows only, "
    assert note in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_target_without_its_option_is_recognised(capsys):
    assert main(["train", "t.csv", "sold"]) == WRONG_USAGE
    assert "did you mean --target sold?" in capsys.readouterr().err
    assert main(["train", "t.csv", "solt"]) == WRONG_USAGE
    assert "did you mean --target" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_numbers_of_the_terminal_have_commas_and_no_exponents(capsys):
    table = make_table()
    prices = pa.array([value * 1000.0 for value in table["price"].to_pylist()])
    csv.write_csv(table.set_column(6, "price", [prices]), "t.csv")
    assert main([*PRICE, *FAST]) == 0
    assert main(["explain", "m.hedgerow", "t.csv"]) == 0
    assert main([*PRICE, "--method", "gradient", "--budget", "0.3", "--force"]) == 0
    printed = capsys.readouterr().out
    assert "e+0" not in printed
    assert f"mean {np.mean(prices.to_numpy()):,.0f}" in printed


@pytest.mark.usefixtures("folder")
def test_a_threshold_is_printed_with_four_digits(capsys):
    assert main([*SOLD, "--drop", "patient", *FAST, "--threshold", "0.43409203105699046"]) == 0
    assert main(["explain", "m.hedgerow"]) == 0
    printed = capsys.readouterr().out
    assert "threshold=0.4341" in printed
    assert "0.43409" not in printed
