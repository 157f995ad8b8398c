"""A model from a file is certified and drawn as the one that was saved."""

import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from hedgerow import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from hedgerow.io import load, load_card
from hedgerow.io.models import KINDS as CODECS
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.plots import ErrorRoundsDisplay, MarginDistributionDisplay, ShapeFunctionDisplay
from hedgerow.theory import certify
from model_cases import assert_same, fitted, numbers, plain, reweighted

DATA = Path(__file__).parents[1] / "support" / "data"
FORMAT_2 = sorted(path.stem.removeprefix("format_2_") for path in DATA.glob("format_2_*.safetensors"))

CERTIFIED = [
    "adaboost", "adaboost m1, three classes", "adaboost real", "adaboost on a grid", "adaboost, weighed",
    "logitboost", "anyboost sigmoid", "three", "forest", "forest on a grid", "forest, weighed", "extra trees",
    "bag", "bag, soft", "bag of boosters", "gradient",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_windows():
    mpl.use("Agg")
    yield
    plt.close("all")


def new_rows(X):
    """Rows that no model has seen; of a frame, with its columns."""
    other, _ = numbers(80, 4 if isinstance(X, np.ndarray) else 3, seed=9)
    if isinstance(X, np.ndarray):
        return other
    return pd.DataFrame(other, columns=X.columns[:3]).assign(colour=X["colour"][:80])


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_is_that_of_the_saved_model(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert certify(same).chance_error < 1.0
    rows, labels = new_rows(X), y[:80]
    assert str(certify(same, rows, labels)) == str(certify(model, rows, labels))


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_loaded_model_refuses_its_own_training_rows(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    with pytest.raises(ValueError, match="hold the same values as rows that the model was fitted to"):
        certify(same, X, y)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, RandomForestClassifier, BaggingClassifier])
def test_rows_of_float32_give_the_same_file_as_float64(kind):
    X, y = plain(2)
    narrow = X.astype(np.float32)
    wide = kind(n_estimators=2, random_state=0).fit(narrow.astype(np.float64), y)
    assert to_bytes(kind(n_estimators=2, random_state=0).fit(narrow, y)) == to_bytes(wide)
    same = from_bytes(to_bytes(wide))
    for rows in (narrow, narrow.astype(np.float64), X):  # X is what they were rounded from
        assert same.is_training_row(rows).all()
        with pytest.raises(ValueError, match="hold the same values"):
            certify(same, rows, y)


def test_rows_that_weights_were_chosen_with_are_refused():
    model, X, y = reweighted()
    same = from_bytes(to_bytes(model))
    assert str(certify(same)) == str(certify(model))
    assert "calibration" in str(certify(same))
    with pytest.raises(ValueError, match="weights were chosen with"):
        certify(same, X[100:], y[100:])


@pytest.mark.parametrize("name", ["adaboost on a grid", "forest on a grid"])
def test_rows_of_a_grid_are_refused_even_after_going_on(name):
    model, _, _ = fitted(name)
    X, y = plain(2)
    same = from_bytes(to_bytes(model))
    for _ in range(2):
        with pytest.raises(ValueError, match="bin_edges of the model were found on"):
            certify(same, X[:50], y[:50])
        same.set_params(warm_start=True, n_estimators=same.n_estimators + 1).fit(X[50:], y[50:])


def test_a_model_of_format_1_says_why_less_is_known():
    model = load(DATA / "format_1_classifier.safetensors")
    with pytest.raises(AttributeError, match="has no row_fingerprints_"):
        model.is_training_row(pd.DataFrame({"height": [1.0], "width": [0.0], "colour": ["red"]}))
    assert certify(model).chance_error == 1.0
    rows = pd.DataFrame({"height": [0.5, 1.5], "width": [0.0, 1.0], "colour": ["red", "blue"]})
    notes = certify(model, rows, ["low", "top"]).notes
    assert any("keeps no fingerprints" in note for note in notes)


@pytest.mark.parametrize("name", ["adaboost", "adaboost gentle", "logitboost", "anyboost sigmoid"])
def test_plots_of_a_loaded_model_are_those_of_the_saved_one(name):
    model, X, y = fitted(name)
    same = from_bytes(to_bytes(model))
    drawn = []
    for one in (model, same):
        rounds = ErrorRoundsDisplay.from_estimator(one, X, y)
        margins = MarginDistributionDisplay.from_estimator(one, X, y)
        drawn.append([line.get_xydata() for shown in (rounds, margins) for line in shown.ax_.lines])
    assert len(drawn[0]) == len(drawn[1]) > 2
    for mine, theirs in zip(*drawn, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_shape_functions_of_a_loaded_model_are_drawn():
    model, X, _ = fitted("logitboost")
    same = from_bytes(to_bytes(model))
    display = ShapeFunctionDisplay.from_estimator(same, X)
    assert display.figure_ is not None
    assert_same(list(model.shape_functions()), list(same.shape_functions()))


@pytest.mark.parametrize("name", FORMAT_2)
def test_files_of_format_2_are_read_for_ever(name):
    path = DATA / f"format_2_{name}.safetensors"
    model = load(path)
    expected = json.loads((DATA / f"format_2_{name}.json").read_text(encoding="utf-8"))
    X = np.array(expected["X"]) if isinstance(expected["X"], list) else pd.DataFrame(expected["X"])
    X = X.astype({"width": float}) if isinstance(X, pd.DataFrame) else X
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    np.testing.assert_array_equal(scores, expected["scores"])
    assert model.predict(X).tolist() == expected["predictions"]
    assert load_card(path) == {"made": "by make_format_2.py", "rows": 120}


def test_every_codec_has_a_file_of_format_2():
    found = {CODECS[type(load(DATA / f"format_2_{name}.safetensors"))].read for name in FORMAT_2}
    missing = {codec.read.__name__ for codec in CODECS.values()} - {read.__name__ for read in found}
    assert missing == {"read_tree"}  # within the bag
