"""Columns of tables: inferred types, kinds, summaries, and suggestions for misspelled names."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.datafiles import DataFileError, describe, nearest_names, unknown_name
from hedgerow.datafiles.column_types import KINDS, classify_values
from hedgerow.datafiles.conversion import encode_categories, to_timestamps
from hedgerow.datafiles.inference import infer_type

UTC = dt.UTC
NOON = dt.datetime(2024, 5, 17, 12, 30)  # noqa: DTZ001 - a moment without zone, as files have it


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", " 2", "+3"], "double", [1.0, 2.0, 3.0]),
        (["1", "-2 ", "NA"], "int64", [1, -2, None]),
        (["1", "2.5", "-"], "double", [1.0, 2.5, None]),
        (["1e3", "-nan", "?"], "double", [1000.0, None, None]),
        (["1", "N/A", "null", "None", ""], "int64", [1, None, None, None, None]),
        (["01234", "98765"], "string", ["01234", "98765"]),
        (["0x1F", "0x20"], "string", ["0x1F", "0x20"]),
        (["0", "0.5", "-0.25"], "double", [0.0, 0.5, -0.25]),
        (["1", "two"], "string", ["1", "two"]),
        (["True", "false", "TRUE"], "bool", [True, False, True]),
        (["0", "1"], "int64", [0, 1]),
        (["2024-05-17", "NA"], "date32[day]", [dt.date(2024, 5, 17), None]),
        (["2024-05-17T12:30", "-"], "timestamp[us]", [NOON, None]),
        (["2024-05-17", "2024-05-17 12:30:00"], "timestamp[us]", [dt.datetime(2024, 5, 17), NOON]),  # noqa: DTZ001
        (["2024-05-17 14:30+02:00"], "timestamp[us, tz=UTC]", [NOON.replace(tzinfo=UTC)]),
        (["17.05.2024"], "date32[day]", [dt.date(2024, 5, 17)]),
        ([" a ", "-", "?"], "string", ["a", "-", None]),
        (["yes", "NA", "no"], "string", ["yes", None, "no"]),
        (["DE", "NA", "FR"], "string", ["DE", "NA", "FR"]),
        (["NA", "", "?"], "null", [None, None, None]),
        (["-", "-"], "string", ["-", "-"]),
    ],
)
def test_the_type_is_inferred_from_the_whole_column(texts, kind, values):
    column = infer_type(pa.chunked_array([texts], pa.string()))
    assert str(column.type) == kind
    assert column.to_pylist() == values


def test_infer_type_converts_text_of_any_layout_only():
    column = pa.chunked_array([[1, 2]])
    assert infer_type(column) is column
    assert infer_type(pa.chunked_array([["1", "2"]], pa.large_string())).type == pa.int64()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        (pa.array([1, 2], pa.decimal128(6, 2)), "number"),
        (["1", "2.5"], "number"),
        ([True, False], "boolean"),
        (["true", "False"], "boolean"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], "date"),
        (["2024-01-01", "2024-01-02"], "date"),
        (["red", "blue"] * 5, "category"),
        (["Y", None, None], "category"),
        (["01234", "98765"] * 5, "category"),
        ([f"{code:05d}" for code in range(3000)] * 3, "category"),
        ([f"{number}th street" for number in range(3000)] * 3, "text"),
        ([f"Person {number}" for number in range(50)], "text"),
        ([f"u{number}@example.org" for number in range(50)], "text"),
        (["a", "b", "c", "a"], "category"),
        (pa.array([f"Person {number}" for number in range(50)]).dictionary_encode(), "category"),
        (pa.array([1, 2]).dictionary_encode(), "category"),
        ([None, None], "empty"),
        (["NA", ""], "empty"),
        ([float("nan")] * 2, "empty"),
        ([7, 7, 7], "constant"),
        (["kg", " kg"], "constant"),
        ([[1], [2]], "unsupported"),
        ([b"a", b"b"], "unsupported"),
        ([dt.time(1), dt.time(2)], "time"),
        ([{"a": 1}, {"a": 2}], "unsupported"),
    ],
)
def test_every_kind_of_column_is_recognised(values, kind):
    table = pa.table({"x": values})
    assert kind in KINDS
    assert classify_values(infer_type(table["x"])).kind == kind
    summary = describe(table)
    assert summary.columns[0].kind == kind
    json.dumps(summary.to_dict(), allow_nan=False)


def test_a_summary_of_numbers_agrees_with_numpy():
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=500)
    numbers[:7] = np.nan
    numbers[7] = np.inf
    column = describe(pa.table({"x": numbers})).columns[0]
    finite = numbers[np.isfinite(numbers)]
    assert column.n_missing == 7
    assert column.n_distinct == 493
    assert column.low == finite.min()
    assert column.high == finite.max()
    assert column.mean == pytest.approx(finite.mean(), rel=1e-12)
    assert list(column.histogram) == np.histogram(finite, 12)[0].tolist()


def test_a_summary_of_categories_dates_and_booleans():
    days = [dt.date(2024, 5, day) for day in (3, 1, 2, 2)]
    table = pa.table({"hue": ["b", "a", "a", "b"], "day": days, "on": [True, True, False, None]})
    hue, day, on = describe(table).columns
    assert hue.top == (("a", 2), ("b", 2))
    assert hue.example == "b"
    assert (day.low, day.high, day.n_distinct) == ("2024-05-01", "2024-05-03", 3)
    assert on.mean == pytest.approx(2 / 3)
    assert on.top == (("true", 2), ("false", 1))


def test_extreme_numbers_have_a_summary():
    column = describe(pa.table({"x": [-1.7e308, 0.0, 1.7e308]})).columns[0]
    assert column.mean == 0
    assert sum(column.histogram) == 3
    column = describe(pa.table({"x": [2**63 - 1, -(2**63)]})).columns[0]
    assert (column.low, column.high) == (-(2**63), 2**63 - 1)


def test_long_examples_are_shortened_to_one_line():
    column = describe(pa.table({"x": ["line\n" * 100, "b" * 500]})).columns[0]
    assert len(column.example) <= 70
    assert column.example.isprintable()


def test_categories_have_one_spelling_whatever_their_type():
    forms = [
        pa.chunked_array([[1, 0, None]]),
        pa.chunked_array([[1.0, 0.0, None]]),
        pa.chunked_array([["1.0", " 0", ""]]),
        pa.chunked_array([pa.array(["1", "0", None]).dictionary_encode()]),
    ]
    for form in forms:
        assert encode_categories(form).to_pylist() == ["1", "0", None]
    assert encode_categories(pa.chunked_array([[True, False]])).to_pylist() == ["true", "false"]
    assert encode_categories(pa.chunked_array([["True", "x"]])).to_pylist() == ["true", "x"]
    day = dt.date(2024, 5, 17)
    for values in ([day], ["2024-05-17T00:00:00Z"], [dt.datetime(2024, 5, 17)]):  # noqa: DTZ001
        assert encode_categories(pa.chunked_array([values])).to_pylist() == ["2024-05-17"]


def test_dictionaries_of_several_chunks_are_joined():
    chunks = [pa.array(letters).dictionary_encode() for letters in (["a", "b"], ["b", "c"])]
    joined = encode_categories(pa.chunked_array(chunks))
    assert joined.to_pylist() == ["a", "b", "b", "c"]
    assert sorted(joined.dictionary.to_pylist()) == ["a", "b", "c"]


def test_nearest_names_are_sorted_by_similarity():
    names = ["Severity", "SPEED_LIMIT", "date of birth", "weather"]
    assert nearest_names("severty", names) == ["Severity"]
    assert nearest_names("speed limit", names)[0] == "SPEED_LIMIT"
    assert nearest_names("date", names)[0] == "date of birth"
    assert nearest_names("qqq", names) == []
    assert nearest_names("ab", ["aba", "abb", "abc", "abd"], n=2) == ["aba", "abb"]


def test_unknown_name_lists_some_names_if_none_is_similar():
    many = [f"column {number}" for number in range(30)]
    message = unknown_name("qqq", many)
    assert message.endswith("'column 7' and 22 more")
    assert unknown_name("q", [], "file") == "there is no file 'q'"
    assert unknown_name("a\nb", ["x"]) == r"there is no column 'a\nb'; the columns are 'x'"


def test_dates_out_of_range_are_rejected_with_their_column():
    far = pa.chunked_array([pa.array([2**62], pa.timestamp("s"))])
    with pytest.raises(DataFileError, match=r"column 'born' holds dates out of range"):
        to_timestamps(far, "born")
