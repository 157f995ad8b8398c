"""Strict JSON: everything that a file may hold, and nothing else."""

import json
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pytest

from hedgerow import GradientBoostingRegressor
from hedgerow.io import ModelFileError
from hedgerow.io.models import to_bytes
from hedgerow.strict_json import JsonChecker, Limits, has_surrogate, to_plain

CHECK = JsonChecker()
PLAIN = {"max_depth": 4, "max_bytes": 1000}

BAD_TEXT = [
    ("", "is not valid JSON"),
    ("[1]", "must be a JSON object; got list"),
    ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
    ('{"a": [{"b": 1, "b": 2}]}', "the key 'b' occurs twice"),
    ('{"a": NaN}', "NaN is not allowed"),
    ('{"a": -Infinity}', "-Infinity is not allowed"),
    ('{"a": 1e999}', "the number '1e999' is too large for float64"),
    ('{"a": ' + "9" * 5000 + "}", "is not valid JSON"),
    ('{"a": ' + "[" * 100_000, "is not valid JSON"),
    (b'{"a": "\xff"}', "is not valid JSON"),
    ('{"a": {"b": ["x", "\\ud800"]}}', r"holds '\\ud800' at a.b\[1\]: a lone surrogate"),
    ('{"a\\udfff": 1}', r"holds 'a\\udfff' at a\\udfff: a lone surrogate"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXT, ids=lambda value: str(value)[:30])
def test_other_texts_are_refused(text, message):
    with pytest.raises(ValueError, match=message) as error:
        CHECK.parse(text, "the card")
    assert str(error.value).startswith("the card ")


def test_texts_are_read_and_written_in_one_form():
    content = {"b": [1, 2.5, True, None, "é"], "a": {"😀": "\x00"}}
    text = CHECK.dumps(content, "the card")
    assert text.isascii()
    assert text.startswith('{"a":')
    assert CHECK.parse(text, "the card") == CHECK.parse(text.encode(), "the card") == content
    assert CHECK.parse(json.dumps(content, ensure_ascii=False), "the card") == content


@dataclass(frozen=True)
class Inner:
    share: Annotated[float, Limits(0.0, 1.0)]


@dataclass(frozen=True)
class Outer:
    name: Annotated[str, Limits(printable=True)]
    kind: Annotated[str, Limits(choices=("a", "b"))]
    counts: dict[str, Annotated[int, Limits(0)]]
    pairs: tuple[tuple[str, float], ...]
    inner: Inner | None
    parts: Annotated[tuple[Inner, ...], Limits(max_length=2)]
    is_new: bool
    extra: str = ""

    def check_stored(self):
        if len(self.pairs) != len(self.counts):
            raise ValueError("as many pairs as counts are needed")


RECORD = Outer("é", "a", {"x": 3}, (("p", 0.5),), Inner(0.25), (Inner(1.0),), True)


def read_record(**changes):
    content = json.loads(json.dumps(to_plain(RECORD))) | changes
    del content["extra"]
    return CHECK.read(Outer, content, "it", extra="given")


def test_a_record_is_what_was_written():
    assert read_record() == replace(RECORD, extra="given")
    assert read_record(inner=None).inner is None


VALUES = [
    (lambda: read_record(more=1), "it must be a dict of name, kind, .*; 'more' is unknown"),
    (lambda: read_record(name="\n"), "it: name must be printable"),
    (lambda: read_record(kind="c"), "it: kind must be one of a, b; got 'c'"),
    (lambda: read_record(counts=[]), r"it: counts must be a dict; got \[\]"),
    (lambda: read_record(counts={"x": -1}), r"it: counts.x must be an integer in 0..9223372036854775807"),
    (lambda: read_record(counts={"x": 1.0}), r"it: counts.x must be an integer"),
    (lambda: read_record(pairs=[["p"]]), r"it: pairs\[0\] must have 2 entries; got \['p'\]"),
    (lambda: read_record(pairs=[["p", "q"]]), r"it: pairs\[0\]\[1\] must be a finite number; got 'q'"),
    (lambda: read_record(pairs=[]), "as many pairs as counts are needed"),
    (lambda: read_record(inner={"share": 1.5}), "it: inner.share must be at most 1; got 1.5"),
    (lambda: read_record(inner={}), "it: inner must be a dict of share; 'share' is missing"),
    (lambda: read_record(parts=None), "it: parts must be a list; got None"),
    (lambda: read_record(parts=[{"share": 0}] * 3), "it: parts must have at most 2 entries; got 3"),
    (lambda: read_record(is_new=1), "it: is_new must be true or false; got 1"),
    (lambda: CHECK.entry({"n": True}, "n", int), "n must be int; got True"),
    (lambda: CHECK.entry({}, "n", int, type(None)), "n must be int or null; got nothing"),
    (lambda: CHECK.fields([], ["a"], "trial"), r"trial must be a dict of a; got \[\]"),
    (lambda: CHECK.fields({"a": 1, "b": 2}, ["a"], "trial"), "trial must be a dict of a; 'b' is unknown"),
    (lambda: CHECK.fields({}, ["a"], "trial"), "'a' is missing"),
    (lambda: CHECK.items((1,), "list"), r"list must be a list; got \(1,\)"),
    (lambda: CHECK.items([1, 2], "list", max_length=1), "list must have at most 1 entries; got 2"),
    (lambda: CHECK.text(1, "note"), "note must be a string; got 1"),
    (lambda: CHECK.text("\ud800", "note"), r"note must be a string; got '\\ud800'"),
    (lambda: CHECK.text("a\nb", "note", printable=True), "note must be printable"),
    (lambda: CHECK.text("abc", "note", max_length=2), "note must have at most 2 characters; got 3"),
    (lambda: CHECK.choice("x", ["a", "b"], "task"), "task must be one of a, b; got 'x'"),
    (lambda: CHECK.number(True, "n"), "n must be a finite number; got True"),
    (lambda: CHECK.number(10**400, "n"), "n must be a finite number"),
    (lambda: CHECK.number(-1, "n", minimum=0), "n must be at least 0; got -1"),
    (lambda: CHECK.integer(4, "n", 0, 3), "n must be an integer in 0..3; got 4"),
    (lambda: CHECK.integer(1.0, "n", 0, 3), "n must be an integer in 0..3; got 1.0"),
    (lambda: CHECK.plain({"a": {1}}, "card", **PLAIN), r"card\['a'\] is \{1\}, a set; allowed are"),
    (lambda: CHECK.plain({"a": "x" * 1000}, "card", **PLAIN), "card must take at most 1,000 bytes"),
    (lambda: CHECK.plain({"a": [[[[[0]]]]]}, "card", **PLAIN), "card is nested more than 4 deep"),
    (lambda: CHECK.plain({"a": (1,)}, "info", exact=True, **PLAIN), r"info\['a'\] is \(1,\), a tuple"),
    (lambda: CHECK.plain({1: 2}, "card", **PLAIN), "card has the key 1: keys must be strings"),
]


@pytest.mark.parametrize(("check", "message"), VALUES, ids=[message[:40] for _, message in VALUES])
def test_other_values_are_refused(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_the_error_class_is_that_of_the_caller():
    class OwnError(ValueError):
        pass

    with pytest.raises(OwnError):
        JsonChecker(OwnError).number("1", "n")


def test_surrogates_are_found_among_other_characters():
    assert not any(map(has_surrogate, ("", "a", "é", "日本", "😀")))
    assert all(map(has_surrogate, ("\ud800", "é\udfff")))


def test_column_names_with_a_lone_surrogate_are_refused_when_saved():
    pandas = pytest.importorskip("pandas")
    names = pandas.Index(["a", "b\udc80"], dtype=object)
    X = pandas.DataFrame(np.arange(80.0).reshape(40, 2), columns=names)
    model = GradientBoostingRegressor(n_estimators=1).fit(X, X["a"])
    with pytest.raises(ModelFileError, match=r"the model holds 'b\\udc80' at schema.names\[1\]: a lone surr"):
        to_bytes(model)
