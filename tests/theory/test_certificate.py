"""A certificate as text, as an HTML page and as a file."""

import json
import math
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from hedgerow import AdaBoostClassifier, RandomForestClassifier
from hedgerow.theory import Bound, Certificate, InapplicableBound, certify
from hedgerow.theory.certificate import ALWAYS, format_bound

HOLD_OUT = Bound("hold-out", 0.12341, 0.025, 1200, "96 errors in 1,200 rows", "the rows are new")
TANDEM = Bound("tandem", 0.7, 0.0125, 90, "joint loss 0.1", "parameters came first", "if edges came first")
LARGE = Bound("growth function", 3.25, 0.05, 2000, "training error 0.05", "rounds came first")


def certificate(bounds=(TANDEM, HOLD_OUT, LARGE), **changes):
    given = {
        "model": "RandomForestClassifier",
        "delta": 0.05,
        "chance_error": 0.4,
        "bounds": tuple(bounds),
        "inapplicable": (
            InapplicableBound("margins", "there are no edges"),
            InapplicableBound("C-bound", "there are no edges"),
        ),
        "of_training": (("training error", 0.05),),
        "notes": ("2 of the rows are old",),
    }
    return Certificate(**given | changes)


# --- values


def test_the_smallest_bound_is_the_certificate():
    found = certificate()
    assert found.best is HOLD_OUT
    assert found.error_bound == 0.12341
    assert [bound.name for bound in found] == ["tandem", "hold-out", "growth function"]
    assert found["tandem"] is TANDEM
    assert [found.is_vacuous(bound) for bound in found] == [True, False, True]
    assert certificate([LARGE]).error_bound == 1.0


def test_a_bound_at_the_error_of_the_most_frequent_class_is_vacuous():
    assert certificate(chance_error=0.12341).is_vacuous(HOLD_OUT)
    assert not certificate(chance_error=0.12342).is_vacuous(HOLD_OUT)


def test_a_name_without_a_bound_raises_key_error():
    with pytest.raises(KeyError, match="'margins' does not apply: there are no edges"):
        _ = certificate()["margins"]
    with pytest.raises(KeyError, match="'Markov' is not one of the bounds"):
        _ = certificate()["Markov"]


def test_the_statement_has_the_bound_and_its_proviso():
    assert certificate().statement == (
        "With probability at least 95 %, the error on new rows is at most 0.1235 (hold-out)."
    )
    given = certificate([TANDEM], chance_error=0.8).statement
    assert given.endswith("at most 0.7000 (tandem), if edges came first.")
    assert "99.9 %" in certificate(delta=0.001).statement


def test_the_statement_of_a_vacuous_certificate_does_not_claim_anything():
    text = certificate([TANDEM, LARGE]).statement
    assert "No bound is below the error of always predicting the most frequent class" in text
    assert "0.4000" in text
    assert "0.7000 (tandem)" in text
    assert "With probability" not in text


def test_a_certificate_without_bounds():
    empty = certificate([])
    assert empty.best is None
    assert empty.error_bound == 1.0
    assert empty.statement == "No bound applies."
    assert "No bound applies" in str(empty)
    assert "No bound applies" in empty.to_html()
    assert "Bounds that do not apply" in empty.to_html()


def test_formatted_bounds_are_rounded_up():
    rng = np.random.default_rng(0)
    for value in [*rng.random(500), *(10.0 ** rng.uniform(-9, 0, 500)), *(np.arange(100) / 100)]:
        shown = float(format_bound(value))
        assert value - 1e-12 <= shown <= value + 1.0000001e-4
    assert format_bound(1.0) == "1.0000"
    assert format_bound(1.0000001) == format_bound(math.inf) == "> 1"
    assert format_bound(0.25) == "0.2500"


# --- as a table


def test_the_table_lists_bounds_from_small_to_large():
    text = str(certificate())
    places = [text.index(name) for name in ("hold-out  ", "tandem *", "growth function")]
    assert places == sorted(places)
    for part in ("0.1235", "0.7000 vacuous", "> 1 vacuous", "1,200", "96 errors", "the rows are new"):
        assert part in text
    assert "*  if edges came first" in text
    assert "a  if the rows are new" in text
    assert "margins, C-bound: there are no edges" in text
    assert "Note: 2 of the rows are old" in text
    assert "training error: 0.05" in text
    assert ALWAYS[1:] in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_footnotes_are_numbered_by_stars():
    other = Bound("first order", 0.6, 0.0125, 90, "mean loss 0.1", "parameters came first", "if they are")
    text = str(certificate([TANDEM, other, HOLD_OUT]))
    assert "tandem *" in text
    assert "first order **" in text
    assert "**  if they are" in text


# --- as a page


class Page(HTMLParser):
    """What tags there are, whether they close, and the text."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page


@pytest.mark.parametrize("bounds", [(TANDEM, HOLD_OUT, LARGE), (LARGE,), ()])
def test_the_page_is_valid_and_self_contained(bounds):
    html = certificate(bounds).to_html()
    page = read(html)
    assert page.tags.count("tr") == (len(bounds) + 1 if bounds else 0)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name in ("src", "href") or name.startswith("on")]
    assert "http" not in html
    assert "url(" not in html
    assert certificate(bounds)._repr_html_() == html


def test_the_page_has_the_content_of_the_table():
    text = " ".join(" ".join(read(certificate().to_html()).text).split())
    for part in (
        *("RandomForestClassifier", "0.1235", "0.7000", "> 1", "1,200", "vacuous", "if edges came first"),
        *("margins, C-bound", "2 of the rows are old", "training error", "95 %", ALWAYS),
    ):
        assert part in text


def test_bars_are_as_long_as_the_bounds_and_end_at_1():
    widths = re.findall(r'style="width: ([0-9.]+)%"', certificate().to_html())
    assert widths == ["12.3", "70.0", "100.0"]


def test_html_in_texts_is_escaped():
    nasty = "<script>alert('1')</script>&\"'"
    bound = Bound(nasty, 0.1, 0.05, 10, nasty, nasty, nasty)
    html = certificate(
        [bound], model=nasty, inapplicable=(InapplicableBound(nasty, nasty),), notes=(nasty,)
    ).to_html()
    assert "<script" not in html
    page = read(html)
    assert "script" not in page.tags
    assert "".join(page.text).count(nasty) >= 6


# --- as a file


@pytest.mark.parametrize("bounds", [(TANDEM, HOLD_OUT, LARGE), ()])
def test_a_saved_certificate_can_be_loaded(bounds, tmp_path):
    given = certificate(bounds)
    given.save(tmp_path / "a.json")
    assert Certificate.load(tmp_path / "a.json") == given
    assert Certificate.load(str(tmp_path / "a.json")) == given
    assert Certificate.from_dict(given.to_dict()) == given
    kept = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert kept["format"] == 1
    assert kept["condition of all bounds"] == ALWAYS


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_save_refuses_numbers_that_are_not_finite(value, tmp_path):
    for given in (
        certificate([Bound("endless", value, 0.05, 3, "", "")]),
        certificate(of_training=(("training error", value),)),
    ):
        with pytest.raises(ValueError, match="JSON"):
            given.save(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "true", "null", '"0.1"'])
def test_load_refuses_values_that_are_not_numbers(value, tmp_path):
    certificate([HOLD_OUT]).save(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text("utf-8")
    assert '"value": 0.12341' in text
    (tmp_path / "a.json").write_text(text.replace('"value": 0.12341', f'"value": {value}'))
    with pytest.raises(ValueError, match=r"not a (valid )?certificate"):
        Certificate.load(tmp_path / "a.json")


def test_numbers_are_stored_exactly(tmp_path):
    for value in (0.1 + 0.2, 1 / 3, 5e-324, 1e300):
        given = certificate([Bound("x", value, 0.05, 3, "", "")])
        given.save(tmp_path / "a.json")
        assert Certificate.load(tmp_path / "a.json").bounds[0].value.hex() == value.hex()


def test_unicode_text_is_stored(tmp_path):
    given = certificate(model="Wäldchen 森", notes=("±½ – «σ»",))
    given.save(tmp_path / "a.json")
    given.save(tmp_path / "a.html")
    assert Certificate.load(tmp_path / "a.json") == given
    assert "Wäldchen 森" in (tmp_path / "a.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.pdf", "json", ".json.gz"])
def test_other_suffixes_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .json or .html"):
        certificate().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


OTHER_FILES = [b"", b"{", b"[]", b"null", b"3", b'"x"', b"{}", b'{"format": 2}', b'{"format": 1}']
OTHER_FILES += [b"[" * 100_000, b"\xff\xfe\x00", b'{"format": 1, "delta": ' + b"9" * 5000 + b"}"]


@pytest.mark.parametrize("content", OTHER_FILES, ids=lambda content: repr(content[:16]))
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"not a (valid )?certificate"):
        Certificate.load(tmp_path / "a.json")


@pytest.mark.parametrize(
    "name", ["model", "delta", "chance_error", "bounds", "inapplicable", "of_training", "notes"]
)
def test_a_missing_field_is_refused(name):
    given = certificate().to_dict()
    del given[name]
    with pytest.raises(ValueError, match="not a valid certificate"):
        Certificate.from_dict(given)


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": None},
        {"bounds": [5]},
        {"bounds": "abc"},
        {"bounds": [{"name": "x"}]},
        {"bounds": [{**HOLD_OUT.__dict__, "more": 1}]},
        {"inapplicable": {"name": "x", "reason": "y"}},
        {"of_training": [["a"]]},
        {"of_training": [["a", "b"]]},
        {"notes": 5},
        {"more": 1},
        {"format": True},
        {"bounds": [HOLD_OUT.__dict__ | {"value": "abc"}]},
        {"bounds": [HOLD_OUT.__dict__ | {"value": None}]},
        {"bounds": [HOLD_OUT.__dict__ | {"value": math.nan}]},
        {"bounds": [HOLD_OUT.__dict__ | {"name": ["a"]}]},
        {"bounds": [HOLD_OUT.__dict__ | {"n": "3"}]},
        {"chance_error": "x"},
        {"delta": None},
        {"delta": 7},
        {"model": {"a": 1}},
    ],
)
def test_fields_of_another_type_are_refused(change):
    with pytest.raises(ValueError, match=r"not a (valid )?certificate"):
        Certificate.from_dict(certificate().to_dict() | change)


# --- of real models


def test_certificates_of_models_can_be_printed_saved_and_pickled(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=600) > 0, "yes", "no")
    forest = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X[:400], y[:400])
    for found in (
        certify(forest),
        certify(forest, X[400:], y[400:]),
        certify(AdaBoostClassifier(n_estimators=5).fit(X, y)),
    ):
        found.save(tmp_path / "a.json")
        assert Certificate.load(tmp_path / "a.json") == found
        assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own bytes
        assert found.model in str(found)
        assert read(found.to_html()).tags.count("table") == 1
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == json.loads(
            json.dumps(found.to_dict())
        )
