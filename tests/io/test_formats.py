"""Files of format 1, made by tests/support/data/make_format_1.py, are read and predict the same."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow
from hedgerow.container import unpack
from hedgerow.io import load, load_card, load_certificate
from hedgerow.io.models import KINDS as CODECS
from hedgerow.io.models import from_bytes, to_bytes

DATA = Path(__file__).parents[1] / "support" / "data"
NAMES = sorted(path.stem.removeprefix("format_1_") for path in DATA.glob("format_1_*.safetensors"))
MODELS = [name for name in NAMES if name != "cascade"]
FOREIGN = ("foreign", "pipeline")  # whose numbers are scikit-learn's
OTHER_VERSION = pytest.mark.filterwarnings("ignore:the file holds objects of scikit-learn")


def path_of(name):
    return DATA / f"format_1_{name}.safetensors"


def expected_results(name):
    return json.loads((DATA / f"format_1_{name}.json").read_text(encoding="utf-8"))


def description(name):
    return json.loads(unpack(path_of(name).read_bytes()).text)


@OTHER_VERSION
@pytest.mark.parametrize("name", MODELS)
def test_files_of_format_1_predict_the_same(name):
    model, expected = load(path_of(name)), expected_results(name)
    X = np.array(expected["X"]) if isinstance(expected["X"], list) else pd.DataFrame(expected["X"])
    X = X.astype({"width": float}) if isinstance(X, pd.DataFrame) else X
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    if name in FOREIGN:
        np.testing.assert_allclose(scores, expected["scores"], rtol=1e-9)
    else:
        np.testing.assert_array_equal(scores, expected["scores"])
        assert model.predict(X).tolist() == expected["predictions"]
    assert [[one.X, one.y] for one in model.data_fingerprints_] == expected["data_fingerprints"]
    assert load_card(path_of(name)) == {"made": "by make_format_1.py", "rows": 60}


@OTHER_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_files_of_format_1_are_saved_with_the_same_bytes(name):
    card = load_card(path_of(name))
    model, certificate = load(path_of(name)), load_certificate(path_of(name))
    again = to_bytes(model, card, certificate)
    same = from_bytes(again)
    assert type(same) is type(model)
    if description(name)["hedgerow"] == hedgerow.__version__ and name not in FOREIGN:
        assert again == path_of(name).read_bytes()


def test_every_codec_has_a_file_of_format_1():
    found = {CODECS[getattr(hedgerow, description(name)["estimator"])] for name in MODELS}
    assert found == set(CODECS.values())
    assert {description(name)["format"] for name in MODELS} == {1}
    assert all("skops.0" in unpack(path_of(name).read_bytes()).arrays for name in FOREIGN)


def test_certificate_of_format_1_is_read():
    certificate = load_certificate(path_of("certified"))
    assert certificate.model == "RandomForestClassifier"
    assert "out-of-bag first order" in {bound.name for bound in certificate}
    assert load_certificate(path_of("forest")) is None


def test_cascade_of_format_1_is_read():
    cascade, expected = load(path_of("cascade")), expected_results("cascade")
    scores = cascade.score_windows(np.array(expected["X"], np.uint8))
    assert [float(score) if np.isfinite(score) else None for score in scores] == expected["scores"]
    assert cascade.info == {"made": "by make_format_1.py"}


def test_files_are_small():
    assert all(path_of(name).stat().st_size < 20_000 for name in NAMES)
