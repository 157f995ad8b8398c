"""The card and the certificate in a model file."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import hedgerow
from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError, load, load_card, load_certificate, save
from hedgerow.io.annotations import MAX_BYTES
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.theory import Bound, Certificate, certify
from model_cases import changed, fit, fitted, plain

CARD = {
    "title": "Färben",
    "numbers": [1, -2.5, 2**63, True, None],
    "deeper": {"columns": ["a", "b"], "empty": {}, "": []},
}


def stump():
    return fitted("stump")[0]


def test_a_card_comes_back(tmp_path):
    save(stump(), tmp_path / "model", card=CARD)
    assert load_card(tmp_path / "model") == CARD
    assert load(tmp_path / "model").predict([[0.0] * 4]).shape == (1,)


def test_a_model_without_a_card_has_none(tmp_path):
    save(stump(), tmp_path / "model")
    assert load_card(tmp_path / "model") is None
    assert "card" not in json.loads(unpack(to_bytes(stump())).text)


def test_an_empty_card_is_a_card(tmp_path):
    save(stump(), tmp_path / "model", card={})
    assert load_card(tmp_path / "model") == {}


def test_numbers_of_numpy_and_tuples_become_plain(tmp_path):
    given = {"a": np.float32(0.5), "b": (np.int8(3), np.bool_(True)), "c": np.str_("x")}
    save(stump(), tmp_path / "model", card=given)
    found = load_card(tmp_path / "model")
    assert found == {"a": 0.5, "b": [3, True], "c": "x"}
    assert [type(value) for value in found["b"]] == [int, bool]


def test_the_order_of_a_card_does_not_change_the_bytes():
    assert to_bytes(stump(), {"a": 1, "b": 2}) == to_bytes(stump(), {"b": 2, "a": 1})
    assert to_bytes(stump(), {"a": 1}) != to_bytes(stump(), {"a": 2})


BAD = [
    ([1], r"card must be a dict; got \[1\], a list"),
    ("text", "card must be a dict; got 'text', a str"),
    ({"a": {1: 2}}, r"card\['a'\] has the key 1: keys must be strings"),
    ({"a": [0, float("nan")]}, r"card\['a'\]\[1\] is nan; allowed are finite numbers"),
    ({"a": float("-inf")}, r"card\['a'\] is -inf"),
    ({"a": 2**64}, r"card\['a'\] is 18446744073709551616; allowed are finite numbers of up to 64 bits"),
    ({"a": {1, 2}}, r"card\['a'\] is \{1, 2\}, a set"),
    ({"a": np.zeros(2)}, r"card\['a'\] is array\(\[0., 0.\]\), a ndarray"),
    ({"a": b"x"}, "a bytes"),
    ({"a": ["\ud800"]}, r"card\['a'\]\[0\] must be a string; got '\\ud800'"),
    ({"\udfff": 1}, r"card has the key '\\udfff': keys must be strings"),
    ({"a": "x" * (MAX_BYTES + 1)}, "card must take at most 16,777,216 bytes as JSON; it takes 16,777,226"),
]


@pytest.mark.parametrize(("card", "message"), BAD, ids=lambda value: str(value)[:30])
def test_cards_that_are_no_plain_data_are_refused(card, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        save(stump(), tmp_path / "model", card=card)
    assert not list(tmp_path.iterdir())


def test_a_card_that_holds_itself_is_refused():
    card = {}
    card["card"] = card
    with pytest.raises(ModelFileError, match="nested more than 64 deep"):
        to_bytes(stump(), card)


def test_the_card_of_a_file_is_checked(tmp_path):
    path = tmp_path / "model"
    for card in (None, [], {"a": float("nan")}, {"a": 10**30}):
        path.write_bytes(changed(to_bytes(stump()), card=card))
        for read in (load, load_card):
            with pytest.raises(ModelFileError, match=r"model: (card|.*NaN)"):
                read(path)
    nested = json.dumps({"card": None}).replace("null", "[" * 5000 + "]" * 5000)
    contents = unpack(to_bytes(stump()))
    text = contents.text[:-1] + "," + nested[1:]
    for read in (load, load_card):
        path.write_bytes(pack(text, contents.arrays))
        with pytest.raises(ModelFileError):
            read(path)


def test_the_card_of_a_damaged_or_foreign_file_is_not_read(tmp_path):
    path = tmp_path / "model"
    data = bytearray(to_bytes(stump(), CARD))
    data[-1] ^= 1
    for broken, message in [(bytes(data), "checksum"), (b"buy milk", "safetensors")]:
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match=message):
            load_card(path)
    path.write_bytes(changed(to_bytes(stump()), format=4))
    with pytest.raises(ModelFileError, match="has format 4"):
        load_card(path)
    with pytest.raises(FileNotFoundError):
        load_card(tmp_path / "nothing")


def test_the_card_is_no_part_of_the_model():
    assert to_bytes(from_bytes(to_bytes(stump(), CARD))) == to_bytes(stump())
    assert hedgerow.save is save


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
