"""The card beside a model in its file."""

import json

import numpy as np
import pytest

import hedgerow
from hedgerow.container import pack, unpack
from hedgerow.io import ModelFileError, load, load_card, save
from hedgerow.io.card import MAX_BYTES
from hedgerow.io.models import from_bytes, to_bytes
from model_cases import changed, fitted

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
