"""Card and certificate of a model file."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

import hedgerow
from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError, annotations, load, load_card, load_certificate, save
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.selection import FixedThresholdClassifier
from hedgerow.theory import Bound, Certificate, certify
from model_cases import changed, fit, fitted, plain

CARD = {
    "title": "Färben",
    "numbers": [1, -2.5, 2**63, True, None],
    "deeper": {"columns": ["a", "b"], "empty": {}, "": []},
}


def stump():
    return fitted("stump")[0]


@pytest.fixture
def small_cards(monkeypatch):
    monkeypatch.setattr(annotations, "MAX_BYTES", 20_000)


def test_card_is_restored(tmp_path):
    path = tmp_path / "model"
    converted = {"a": np.float32(0.5), "b": (np.int8(3), np.bool_(True)), "c": np.str_("x")}
    plain_copy = {"a": 0.5, "b": [3, True], "c": "x"}
    for card, expected in [(None, None), ({}, {}), (CARD, CARD), (converted, plain_copy)]:
        save(stump(), path, card=card)
        found = load_card(path)
        assert found == expected
        assert load(path).predict([[0.0] * 4]).shape == (1,)
    assert [type(value) for value in found["b"]] == [int, bool]
    assert "card" not in json.loads(unpack(to_bytes(stump())).text)


def test_order_of_a_card_does_not_change_the_bytes():
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
    ({"a": "x" * 30_000}, "card must take at most 20,000 bytes as JSON; it takes 30,009"),
]


@pytest.mark.parametrize(("card", "message"), BAD, ids=lambda value: str(value)[:30])
@pytest.mark.usefixtures("small_cards")
def test_save_rejects_cards_that_are_not_plain_data(card, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        save(stump(), tmp_path / "model", card=card)
    assert not list(tmp_path.iterdir())


def test_save_rejects_a_card_that_contains_itself():
    card = {}
    card["card"] = card
    with pytest.raises(ModelFileError, match="nested more than 64 deep"):
        to_bytes(stump(), card)


def test_load_rejects_wrong_cards(tmp_path):
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


def test_loaded_model_is_saved_without_its_card():
    assert to_bytes(from_bytes(to_bytes(stump(), CARD))) == to_bytes(stump())


CERTIFIED = ["adaboost", "adaboost gentle", "forest", "forest, categories", "bag", "three", "gradient"]


def certified(name="stump"):
    model, _, _ = fitted(name)
    return model, certify(model)


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificate_is_restored(name, tmp_path):
    model, certificate = certified(name)
    save(model, tmp_path / "model", certificate=certificate, card={"a": 1})
    assert load_certificate(tmp_path / "model") == certificate
    assert load_certificate(str(tmp_path / "model")) == certificate
    assert load_card(tmp_path / "model") == {"a": 1}
    same = load(tmp_path / "model")
    assert to_bytes(same) == to_bytes(model)
    assert to_bytes(same, certificate=certify(same)) == to_bytes(model, certificate=certificate)


@pytest.mark.parametrize("name", ["adaboost", "forest"])
def test_certificate_from_new_rows_is_restored(name, tmp_path):
    model, X, y = fitted(name)
    rng = np.random.default_rng(1)
    rows = X + rng.normal(size=X.shape) / 100
    new = ~np.isnan(rows).any(axis=1)
    certificate = certify(model, rows[new], np.asarray(y)[new], delta=0.1)
    assert "hold-out" in {bound.name for bound in certificate}
    save(model, tmp_path / "model", certificate=certificate)
    assert load_certificate(tmp_path / "model") == certificate


def test_certificate_of_foreign_members_is_restored(tmp_path):
    X, y = plain(2)
    X = np.nan_to_num(X)
    model = hedgerow.BaggingClassifier(GaussianNB(), n_estimators=3, random_state=0).fit(X[:100], y[:100])
    certificate = certify(model, X[100:], y[100:])
    save(model, tmp_path / "model", certificate=certificate)
    assert load_certificate(tmp_path / "model") == certificate


def test_model_without_a_certificate(tmp_path):
    save(certified()[0], tmp_path / "model")
    assert load_certificate(tmp_path / "model") is None


def test_save_rejects_other_types_of_certificates(tmp_path):
    model, certificate = certified()
    for wrong in ({}, certificate.to_dict(), "0.05", Certificate):
        with pytest.raises(TypeError, match=r"must be a hedgerow.theory.Certificate"):
            save(model, tmp_path / "model", certificate=wrong)
    assert not list(tmp_path.iterdir())


def test_save_rejects_certificates_of_other_models():
    model, certificate = certified()
    for other in ("adaboost", "tree of numbers"):
        with pytest.raises(
            ModelFileError, match="the certificate is for a 'DecisionStump', and the model is a"
        ):
            to_bytes(fitted(other)[0], certificate=certificate)
    boosted, X, y = fit("adaboost")
    certificate = certify(boosted)
    more = boosted.set_params(warm_start=True, n_estimators=9).fit(X, y)
    with pytest.raises(ModelFileError, match=r"for another AdaBoostClassifier"):
        to_bytes(more, certificate=certificate)
    fewer = hedgerow.AdaBoostClassifier(n_estimators=4).fit(X[:90], y[:90])
    with pytest.raises(ModelFileError, match="for another AdaBoostClassifier"):
        to_bytes(fewer, certificate=certificate)
    wrong = dataclasses.replace(certify(fewer), chance_error=0.1)
    with pytest.raises(ModelFileError, match="for another AdaBoostClassifier"):
        to_bytes(fewer, certificate=wrong)
    to_bytes(model, certificate=certified()[1])


def test_save_rejects_infinite_bounds():
    model, certificate = certified()
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
    "inapplicable": {"inapplicable": 3},
    "training": {"of_training": [["x", None]]},
    "pairs": {"of_training": [["x", 1.0, 2.0]]},
    "not finite": {"chance_error": float("nan")},
    "notes": {"notes": [1]},
    "more": {"more": 1},
    "another model": {"model": "AdaBoostClassifier"},
    "a number of 400 digits": {"of_training": [["x", 10**400]]},
    "long": {"notes": ["x" * 30_000]},
}


@pytest.mark.usefixtures("small_cards")
@pytest.mark.parametrize("name", DAMAGES)
def test_load_rejects_wrong_certificates(name, tmp_path):
    model, certificate = certified()
    wrong = DAMAGES[name]
    if isinstance(wrong, dict) and wrong:
        wrong = certificate.to_dict() | wrong
    path = tmp_path / "model"
    path.write_bytes(changed(to_bytes(model), certificate=wrong))
    for read in (load, load_certificate):
        with pytest.raises(ModelFileError, match=r"model: .*(certificate|NaN)") as error:
            read(path)
        assert len(str(error.value)) < 700


@pytest.mark.parametrize("read", [load_card, load_certificate])
def test_card_and_certificate_of_invalid_files_are_not_read(read, tmp_path):
    model, certificate = certified()
    data = bytearray(to_bytes(model, CARD, certificate))
    from_bytes(bytes(data))
    data[-1] ^= 1
    newer = changed(to_bytes(model), format=4)
    path = tmp_path / "model"
    for broken, message in [(data, "checksum"), (b"buy milk", "safetensors"), (newer, "has format 4")]:
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match=message):
            read(path)


# --- threshold


@pytest.fixture
def with_threshold():
    X, y = make_classification(200, random_state=0)
    return FixedThresholdClassifier(
        hedgerow.GradientBoostingClassifier(n_estimators=3), 0.2, pos_label=0
    ).fit(X, y), X


def test_a_threshold_is_stored_with_its_class(with_threshold, tmp_path):
    model, X = with_threshold
    new, labels = make_classification(100, random_state=1)
    certificate = certify(model, new, labels)
    save(model, tmp_path / "model", certificate=certificate)
    same = load(tmp_path / "model")
    assert (same.threshold, same.pos_label) == (0.2, 0)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert load_certificate(tmp_path / "model") == certificate
    assert certificate.model == "FixedThresholdClassifier"


@pytest.mark.parametrize(
    "content",
    [
        None,
        {"value": 0.2},
        {"value": 2.0, "positive": 1},
        {"value": 0.2, "positive": 2},
        {"value": "x", "positive": 1},
    ],
)
def test_a_damaged_threshold_is_refused(content, with_threshold):
    with pytest.raises(ModelFileError):
        annotations.read_threshold(content, with_threshold[0].estimator_)
    regressor = hedgerow.GradientBoostingRegressor(n_estimators=1).fit(
        *make_classification(50, random_state=0)
    )
    with pytest.raises(ModelFileError, match="it needs two classes"):
        annotations.read_threshold({"value": 0.2, "positive": 1}, regressor)


def test_a_certificate_of_a_model_fitted_to_fewer_rows_names_it(tmp_path):
    X, y = make_classification(200, random_state=0)
    first = hedgerow.GradientBoostingClassifier(n_estimators=3).fit(X[:150], y[:150])
    whole = hedgerow.GradientBoostingClassifier(n_estimators=3).fit(X, y)
    certificate = dataclasses.replace(
        certify(first, X[150:], y[150:]), subject="the model fitted to 75 % of the rows"
    )
    save(whole, tmp_path / "model", certificate=certificate)
    stored = load_certificate(tmp_path / "model")
    assert stored == certificate
    assert "the model fitted to 75 % of the rows" in str(stored)
