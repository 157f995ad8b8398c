"""Later files whose texts are written in the way of the training file, or in another way."""

import sys

import pyarrow as pa
import pytest

from hedgerow.datafiles import DataFileError, ReadOptions, TypedTable, make_recipe
from hedgerow.datafiles.databases import read_duckdb
from hedgerow.datafiles.encodings import check_encoding, to_utf8

N = 40
TRAINING = TypedTable(
    pa.table(
        {
            "when": [f"{number % 28 + 1}/{number % 12 + 1}/2024" for number in range(N)],
            "price": [f"{number % 7 + 1}.234,5{number % 10}" for number in range(N)],
            "land": ["DE", "NA", "FR", "IT"] * 10,
            "y": [f"{number},5" for number in range(N)],
        }
    ),
    is_text_file=True,
)
RECIPE = make_recipe(TRAINING, "y")


def features(**columns):
    return RECIPE.features(
        pa.table({"when": ["1/2/2024"], "price": ["1,5"], "land": ["DE"]} | columns)
    ).to_pydict()


def test_a_single_row_is_read_as_the_training_file():
    found = features(when=["3/4/2024"], price=["1.234"], land=["NA"])
    assert (found["when.day"], found["when.month"]) == ([3.0], [4.0])
    assert found["price"] == [1234.0]
    assert found["land"] == ["NA"]  # a code of two letters in training
    assert RECIPE.labels(pa.table({"y": ["1,234"]})).tolist() == [1.234]


def test_other_forms_of_dates_keep_the_order_of_training():
    found = features(when=["3/4/24 10:00"])
    assert (found["when.day"], found["when.month"], found["when.year"]) == ([3.0], [4.0], [2024.0])
    assert features(when=["2024-04-03"])["when.day"] == [3.0]
    assert features(when=["-"])["when.day"] == [None]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"when": ["soon"]}, "column 'when' must hold dates, as in training, but row 1 holds 'soon'"),
        ({"price": ["3.14"]}, "column 'price' must hold numbers, as in training, but row 1 holds '3.14'"),
    ],
)
def test_texts_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(DataFileError, match=message):
        features(**columns)


def test_columns_are_copied_as_they_were_written_unless_their_type_is_certain():
    table = TypedTable(pa.table({"a": ["1", "2"], "b": ["1,5", "2,5"], "c": ["x", "y"], "d": [1, 2]}))
    assert table.kept_values("a").to_pylist() == [1, 2]
    assert table.kept_values("b").to_pylist() == ["1,5", "2,5"]
    assert table.kept_values("c").to_pylist() == ["x", "y"]
    assert table.kept_values("d").to_pylist() == [1, 2]


def test_filtered_tables_keep_what_was_inferred():
    table = TypedTable(pa.table({"a": ["1,5", "2,500"], "y": ["x", None]}))
    assert table.labels("y").null_count == 1
    assert table.values("a").to_pylist() == [1.5, 2.5]
    kept = table.filter(pa.chunked_array([[False, True]]))
    assert kept.values("a").to_pylist() == [2.5]
    assert kept.labels("y").to_pylist() == [None]


def test_a_date_format_that_does_not_fit_names_the_row():
    table = TypedTable(pa.table({"a": ["1.2.2024", "soon"]}), ReadOptions(date_formats={"a": "%d.%m.%Y"}))
    with pytest.raises(
        DataFileError, match=r"column 'a': row 2 holds 'soon', which is not a date of the format"
    ):
        table.values("a")


def test_without_duckdb_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DataFileError, match="pip install duckdb"):
        read_duckdb(tmp_path / "x.duckdb", None)


@pytest.mark.parametrize("name", ["latin-99", "base64", "rot13"])
def test_unknown_encodings_are_refused(name):
    with pytest.raises(DataFileError, match=f"the encoding '{name}' is unknown"):
        check_encoding(name)


def test_bytes_that_windows_1252_does_not_define_are_read_as_another_encoding():
    text, (finding,) = to_utf8(b"name,y\ncaf\x81\xe9,1\n")
    assert text.startswith(b"name,y\n")
    assert "--encoding" in finding.option
