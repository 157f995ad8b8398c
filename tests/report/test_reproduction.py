"""The code of a report, pasted into Python, prints the key figures of its summary."""

import contextlib
import html
import io
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.linear_model import LogisticRegression

from hedgerow import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from hedgerow.cli import main
from hedgerow.datafiles import read_typed
from hedgerow.io import load
from hedgerow.report import Report, ReportData, sections_model
from hedgerow.report.reproduction import fit_code
from hedgerow.selection import WeightedEnsembleClassifier, hold_out, take_rows
from hedgerow.theory import certify
from hedgerow.theory.certificate import format_bound
from report_cases import case


def listings(page):
    """The listings of code of a page, without commands."""
    found = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    return [html.unescape(one) for one in found if "import" in one]


def tiles(page):
    """The values of the key figures, by name; those of the summary are first on the page."""
    found = re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>', page)
    return {name: html.unescape(value) for name, value in reversed(found)}


def printed(code, names=None):
    """What some code prints, by the words before the first number."""
    shown, names = io.StringIO(), {} if names is None else names
    with contextlib.redirect_stdout(shown):
        exec(compile(code, "report", "exec"), names)  # noqa: S102 - the code is what is tested
    lines = [re.match(r"(.*?) (-?[\d.].*)", line) for line in shown.getvalue().splitlines()]
    return {line[1]: line[2] for line in lines}


def close(value, tile, digits=3):
    """Whether a printed number rounds to that of a tile, of some digits."""
    number = float(re.sub(r"[ %,]", "", tile)) / (100 if "%" in tile else 1)
    return float(value) == pytest.approx(number, rel=10.0 ** (1 - digits), abs=6e-4)


def write_houses(path, seed):
    """Write a table of categories, missing values and a rare class."""
    rng = np.random.default_rng(seed)
    size = rng.normal(50, 10, 500).round(3)
    colour = rng.choice(["red", "green", "blue"], 500)
    score = (size - 50) / 10 + (colour == "red") + 0.3 * rng.standard_normal(500)
    target = {"sold": np.where(score > np.quantile(score, 0.94), "never", "soon"), "price": 100 * score}
    table = {
        "size": pa.array(size, mask=rng.random(500) < 0.1),
        "colour": pa.array(colour, mask=rng.random(500) < 0.1),
    }
    csv.write_csv(pa.table(table | target), path)


@pytest.fixture
def houses(tmp_path, monkeypatch):
    """The present folder, with a table."""
    write_houses(tmp_path / "houses.csv", 4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(target, drop, method, *more):
    options = ["--drop", drop, "--method", method, "--param", "n_estimators=10", *more]
    options += ["--out", "a.hedgerow", "--report", "a.html"]
    assert main(["train", "houses.csv", "--target", target, *options]) == 0


def test_code_for_files_of_a_classifier_prints_the_key_figures(houses):
    train("sold", "price", "adaboost")
    page = (houses / "a.html").read_text(encoding="utf-8")
    evaluate, fit = listings(page)
    names, shown = {}, tiles(page)
    found = printed(evaluate, names)
    assert close(found["accuracy"], shown["accuracy"])
    assert found["errors"] == shown["errors"]
    assert close(found["most frequent class"], shown["most frequent class"])
    assert close(found["auc"], shown["area under ROC"].removeprefix("> "))
    assert close(found["log-loss"], shown["log-loss"])
    assert close(found["average precision"], shown["average precision"].removeprefix("> "))
    bound = format_bound(float(found["error bound"]))
    assert shown["error bound"] == f"≤ {bound}"
    assert f"at most {bound} (hold-out)" in page or f"the smallest bound is {bound} (" in page
    loaded = names["model"].predict_proba(names["X_test"])
    printed(fit, names)
    np.testing.assert_array_equal(names["model"].predict_proba(names["X_test"]), loaded)


def test_code_for_files_of_a_regressor_prints_the_key_figures(houses):
    train("price", "sold", "gradient")
    page = (houses / "a.html").read_text(encoding="utf-8")
    found, shown = printed(listings(page)[0]), tiles(page)
    titles = {"r2": "R²", "rmse": "root mean squared error", "mae": "mean absolute error"}
    same = ("median absolute error", "standard deviation of the target")
    for name, title in (*titles.items(), *zip(same, same, strict=True)):
        assert close(found[name], shown[title]), name


@pytest.mark.parametrize("split", ["--group", "--time"])
def test_code_for_files_uses_the_groups_or_times_of_the_split(houses, split):
    column = {"--group": "street", "--time": "day"}[split]
    table, number = csv.read_csv("houses.csv"), np.arange(500)
    csv.write_csv(table.append_column(column, [number % 40 if split == "--group" else number]), "houses.csv")
    train("sold", "price", "adaboost", split, column)
    page = (houses / "a.html").read_text(encoding="utf-8")
    assert f"RowColumns({split[2:]}={column!r})" in listings(page)[0]
    assert printed(listings(page)[0])["errors"] == tiles(page)["errors"]


def test_code_after_a_refit_fits_the_model_that_was_evaluated(houses):
    train("price", "sold", "gradient", "--refit")
    (code,) = listings((houses / "a.html").read_text(encoding="utf-8"))
    assert "model.fit(X_train, y_train)" in code
    found, shown = printed(code), tiles((houses / "a.html").read_text(encoding="utf-8"))
    assert close(found["rmse"], shown["root mean squared error"])


@pytest.mark.parametrize("refit", [[], ["--refit"]])
@pytest.mark.parametrize(
    "weights",
    [
        ["--weight", "w"],
        ["--class-weight", "never=5,soon=1"],
        ["--weight", "w", "--class-weight", "balanced"],
    ],
)
def test_code_fits_with_the_weights_of_the_training(houses, weights, refit):
    table, number = csv.read_csv("houses.csv"), np.arange(500)
    csv.write_csv(table.append_column("w", [number % 4 + 1]), "houses.csv")
    train("sold", "price", "adaboost", *weights, *refit)
    made = listings((houses / "a.html").read_text(encoding="utf-8"))
    names = {}
    for code in made:
        printed(code, names)
    assert "sample_weight=sample_weight" in made[-1]
    train("sold", "price", "adaboost", *weights, "--force")
    loaded = load("a.hedgerow").estimator
    np.testing.assert_array_equal(
        names["model"].predict_proba(names["X_test"]), loaded.predict_proba(names["X_test"])
    )


def test_code_fits_the_model_of_a_threshold(houses):
    train("sold", "price", "adaboost", "--threshold", "0.3", "--positive", "never")
    names = {}
    for code in listings((houses / "a.html").read_text(encoding="utf-8")):
        printed(code, names)
    loaded = load("a.hedgerow").estimator
    np.testing.assert_array_equal(names["model"].predict(names["X_test"]), loaded.predict(names["X_test"]))


def test_code_reads_the_member_of_an_archive(houses):
    with zipfile.ZipFile("iso.zip", "w") as archive:
        archive.write("houses.csv", "data/iso.csv")
        archive.writestr("other.csv", "a,b\n1,2\n")
    options = ["--drop", "price", "--method", "adaboost", "--param", "n_estimators=10", "--out", "a.hedgerow"]
    source = "iso.zip::data/iso.csv"
    assert main(["train", source, "--target", "sold", *options, "--report", "a.html"]) == 0
    page = (houses / "a.html").read_text(encoding="utf-8")
    assert f"<title>sold in {source}</title>" in page
    assert printed(listings(page)[0])["errors"] == tiles(page)["errors"]


def test_standard_input_has_no_code_that_reads_it(houses, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((houses / "houses.csv").read_bytes())))
    options = ["--drop", "price", "--method", "adaboost", "--param", "n_estimators=10", "--out", "a.hedgerow"]
    line = ["train", "-", "--target", "sold", *options, "--class-weight", "balanced", "--report", "a.html"]
    assert main(line) == 0
    page = (houses / "a.html").read_text(encoding="utf-8")
    assert "The table was read from standard input, so no code can read it again" in page
    (code,) = listings(page)
    assert "read_typed" not in code
    loaded = load("a.hedgerow")
    table = read_typed("houses.csv", options=loaded.recipe.read_options)
    X, y = loaded.recipe.features(table), loaded.recipe.labels(table)
    rows, test = hold_out(y, "classification", 0.2, 0)
    names = {
        "X_train": take_rows(X, rows),
        "y_train": y[rows],
        "X_test": take_rows(X, test),
        "y_test": y[test],
    }
    assert printed(code, names)["errors"] == tiles(page)["errors"]
    np.testing.assert_array_equal(names["model"].predict_proba(X), loaded.estimator.predict_proba(X))


def test_curves_and_key_figures_are_of_the_positive_class(houses, capsys):
    for positive, more in ((None, []), ("never", ["--positive", "never"]), ("soon", ["--positive", "soon"])):
        train("sold", "price", "adaboost", *more, "--force")
        printed_text = " ".join(capsys.readouterr().out.split())
        label = positive or "soon"
        assert f"the test set; F1 and average precision are of class {label!r}:" in printed_text
        for command in (None, ["report", "a.hedgerow", "houses.csv", "--out", "a.html", "--force"]):
            assert command is None or main(command) == 0
            page = (houses / "a.html").read_text(encoding="utf-8")
            drawn = positive or "never"  # without a positive class, the rare one
            assert f"Precision-recall curve, class {drawn}: " in page
            found, shown = printed(listings(page)[0]), tiles(page)
            assert close(found["average precision"], shown["average precision"].removeprefix("> "))
            assert f"of class {drawn}; " in page


def test_code_for_another_file_uses_all_its_rows(houses):
    train("sold", "price", "gradient")
    write_houses(houses / "new.csv", 5)
    assert main(["report", "a.hedgerow", "new.csv", "--out", "new.html"]) == 0
    page = (houses / "new.html").read_text(encoding="utf-8")
    (code,) = listings(page)
    assert printed(code)["errors"] == tiles(page)["errors"].replace(",", "")


def test_code_without_files_fits_and_evaluates():
    model, X, y, X_test, y_test = case("adaboost")
    made = Report.from_estimator(
        model, X_test, y_test, X_train=X, y_train=y, certificate=certify(model, X_test, y_test)
    )
    (code,) = listings(made.to_html())
    found = printed(code, {"X_train": X, "y_train": y, "X_test": X_test, "y_test": y_test})
    assert found["errors"] == f"{np.sum(model.predict(X_test) != y_test)} of {len(y_test)}"
    assert float(found["accuracy"]) == model.score(X_test, y_test)
    assert float(found["error bound"]) == certify(model, X_test, y_test).error_bound


def test_certificate_of_other_rows_is_not_computed_again():
    model, _, _, X_test, y_test = case("adaboost")
    other = certify(model, X_test[:50], y_test[:50])
    assert (
        "certify" not in sections_model.reproduce(ReportData(model, X_test, y_test, certificate=other)).body
    )


def test_model_files_without_a_recipe_are_not_loaded(tmp_path):
    model, _, _, X, y = case("adaboost")
    (tmp_path / "a.hedgerow").write_bytes(b"none")
    data = ReportData(model, X, y, recipe=object(), model_file=tmp_path / "a.hedgerow", data_file="a.csv")
    assert "model.fit(X_train, y_train)" in sections_model.reproduce(data).body


def test_code_of_nested_estimators_and_arrays_makes_the_same_model():
    edges = [np.array([0.5, 1.5]), np.array([2.0])]
    for model in (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=7, learning_rate=0.25),
        LogisticRegression(C=0.5, max_iter=1234, class_weight={0: 1.0, 1: 2.0}, solver="saga", tol=1e-3),
    ):
        code = "\n".join(fit_code(model)).replace("model.fit(X_train, y_train)", "")
        names = {}
        printed(code, names)
        assert repr(names["model"]) == repr(model)
    code = "\n".join(fit_code(LogisticRegression(class_weight=lambda y: y, C=edges[0])))
    assert "C=np.array([0.5, 1.5])" in code
    assert "# class_weight is left out: it has no code" in code


def test_code_of_an_ensemble_fits_the_same_model():
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 2
    members = [
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
        RandomForestClassifier(2, random_state=0),
    ]
    model = WeightedEnsembleClassifier.of([one.fit(X, y) for one in members], [0.3, 0.7])
    code = "\n".join(fit_code(model))
    names = {"X_train": X, "y_train": y}
    printed(code, names)
    np.testing.assert_array_equal(names["model"].predict_proba(X), model.predict_proba(X))
    stopped = GradientBoostingClassifier(n_iter_no_change=1).fit(X, y)
    assert stopped.n_estimators_ < 1000
    assert "model = GradientBoostingClassifier(n_iter_no_change=1)" in fit_code(stopped)
