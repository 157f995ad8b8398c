"""The certificate of a model in its file: it comes back as it was, and is of this model."""

import dataclasses

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import hedgerow
from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
from hedgerow.io.card import MAX_BYTES
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.theory import Bound, Certificate, certify
from model_cases import changed, fit, fitted, plain

CERTIFIED = [
    "adaboost",
    "adaboost gentle",
    "forest",
    "forest, categories",
    "bag",
    "three",
    "stump",
    "gradient",
]


def made(name="stump"):
    model, _, _ = fitted(name)
    return model, certify(model)


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_comes_back(name, tmp_path):
    model, certificate = made(name)
    save(model, tmp_path / "model", certificate=certificate, card={"a": 1})
    assert load_certificate(tmp_path / "model") == certificate
    assert load_certificate(str(tmp_path / "model")) == certificate
    assert load_card(tmp_path / "model") == {"a": 1}
    same = load(tmp_path / "model")
    assert to_bytes(same) == to_bytes(model)
    assert to_bytes(same, certificate=certify(same)) == to_bytes(model, certificate=certificate)


@pytest.mark.parametrize("name", ["adaboost", "forest", "gradient"])
def test_a_certificate_by_new_rows_comes_back(name, tmp_path):
    model, X, y = fitted(name)
    rng = np.random.default_rng(1)
    rows = X.copy()
    if hasattr(rows, "columns"):
        rows[["a", "b", "c"]] += rng.normal(size=(len(X), 3)) / 100
    else:
        rows = rows + rng.normal(size=X.shape) / 100
    new = (~np.isnan(rows if not hasattr(rows, "columns") else rows[["a", "b", "c"]].to_numpy())).all(axis=1)
    certificate = certify(model, rows[new], np.asarray(y)[new], delta=0.1)
    assert "hold-out" in {bound.name for bound in certificate}
    save(model, tmp_path / "model", certificate=certificate)
    assert load_certificate(tmp_path / "model") == certificate


def test_a_certificate_of_members_of_another_library_comes_back(tmp_path):
    X, y = plain(2)
    X = np.nan_to_num(X)
    model = hedgerow.BaggingClassifier(GaussianNB(), n_estimators=3, random_state=0).fit(X[:100], y[:100])
    certificate = certify(model, X[100:], y[100:])
    save(model, tmp_path / "model", certificate=certificate)
    assert load_certificate(tmp_path / "model") == certificate


def test_a_model_without_a_certificate_has_none(tmp_path):
    save(made()[0], tmp_path / "model")
    assert load_certificate(tmp_path / "model") is None


def test_a_certificate_is_what_certify_gives(tmp_path):
    model, certificate = made()
    for wrong in ({}, certificate.to_dict(), "0.05", Certificate):
        with pytest.raises(TypeError, match=r"must be a hedgerow.theory.Certificate"):
            save(model, tmp_path / "model", certificate=wrong)
    assert not list(tmp_path.iterdir())


def test_the_certificate_of_another_model_is_refused():
    model, certificate = made()
    for other in ("adaboost", "tree of numbers"):
        with pytest.raises(
            ModelFileError, match="the certificate is of a 'DecisionStump', and the model is a"
        ):
            to_bytes(fitted(other)[0], certificate=certificate)
    boosted, X, y = fit("adaboost")
    certificate = certify(boosted)
    more = boosted.set_params(warm_start=True, n_estimators=9).fit(X, y)
    with pytest.raises(ModelFileError, match=r"of another AdaBoostClassifier"):
        to_bytes(more, certificate=certificate)
    fewer = hedgerow.AdaBoostClassifier(n_estimators=4).fit(X[:90], y[:90])
    with pytest.raises(ModelFileError, match="of another AdaBoostClassifier"):
        to_bytes(fewer, certificate=certificate)
    wrong = dataclasses.replace(certify(fewer), chance_error=0.1)
    with pytest.raises(ModelFileError, match="of another AdaBoostClassifier"):
        to_bytes(fewer, certificate=wrong)
    to_bytes(model, certificate=made()[1])


def test_a_certificate_that_no_file_holds_is_refused():
    model, certificate = made()
    wrong = dataclasses.replace(certificate, bounds=(Bound("x", float("inf"), 0.1, 3, "", ""),))
    with pytest.raises(ModelFileError, match="the certificate cannot be saved"):
        to_bytes(model, certificate=wrong)


DAMAGES = {
    "nothing": None,
    "a text": "proven",
    "a list": [],
    "empty": {},
    "another format": {"format": 2},
    "delta": {"delta": 2.0},
    "no number": {"delta": "0.05"},
    "bounds": {"bounds": [{"name": "x"}]},
    "bounds of bounds": {"bounds": [[]]},
    "unmet": {"unmet": 3},
    "training": {"of_training": [["x", None]]},
    "pairs": {"of_training": [["x", 1.0, 2.0]]},
    "not finite": {"chance_error": float("nan")},
    "notes": {"notes": [1]},
    "more": {"more": 1},
    "another model": {"model": "AdaBoostClassifier"},
    "a number of 400 digits": {"of_training": [["x", 10**400]]},
    "long": {"notes": ["x" * (MAX_BYTES + 1)]},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_the_certificate_of_a_file_is_checked(name, tmp_path):
    model, certificate = made()
    wrong = DAMAGES[name]
    if isinstance(wrong, dict) and wrong:
        wrong = certificate.to_dict() | wrong
    path = tmp_path / "model"
    path.write_bytes(changed(to_bytes(model), certificate=wrong))
    for read in (load, load_certificate):
        with pytest.raises(ModelFileError, match=r"model: .*(certificate|NaN)") as error:
            read(path)
        assert len(str(error.value)) < 700


def test_the_certificate_of_a_damaged_file_is_not_read(tmp_path):
    model, certificate = made()
    data = bytearray(to_bytes(model, certificate=certificate))
    from_bytes(bytes(data))
    data[-1] ^= 1
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="checksum"):
        load_certificate(path)
    path.write_bytes(changed(to_bytes(model), format=4))
    with pytest.raises(ModelFileError, match="has format 4"):
        load_certificate(path)
