"""Categorical columns: their selection, their categories, and their numbers in predict."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow.table import Schema, read_table

NAN = np.nan
COLOURS = ["red", "blue", None, "green", "red"]
HEIGHTS = [0.5, 1.5, 2.5, NAN, 4.5]
TRUTH = np.array([[0.5, 2], [1.5, 0], [2.5, NAN], [NAN, 1], [4.5, 2]])

OBJECTS = np.array(list(zip(HEIGHTS, COLOURS, strict=True)), dtype=object)
STRINGS = pa.table({"height": HEIGHTS, "colour": COLOURS})
DICTIONARY = STRINGS.set_column(1, "colour", STRINGS["colour"].dictionary_encode())
PANDAS = pd.DataFrame({"height": HEIGHTS, "colour": COLOURS})
POLARS = pl.DataFrame({"height": HEIGHTS, "colour": COLOURS})


def chunks_with_other_dictionaries():
    parts = [STRINGS["colour"][:2], STRINGS["colour"][2:]]
    chunks = [chunk for part in parts for chunk in part.dictionary_encode().chunks]
    return STRINGS.set_column(1, "colour", pa.chunked_array(chunks))


def arrow_backed():
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    column = pd.Series(pd.arrays.ArrowExtensionArray(DICTIONARY["colour"]))
    assert column.dtype == dtype
    return PANDAS.assign(colour=column)


TYPED = {  # of a categorical dtype
    "pandas category": PANDAS.astype({"colour": "category"}),
    "pandas category of objects": PANDAS.assign(
        colour=pd.Categorical(COLOURS, pd.Index(["red", "green", "blue"], dtype=object))
    ),
    "pandas unused categories": PANDAS.assign(
        colour=pd.Categorical(COLOURS, ["zinc", "red", "amber", "green", "blue"])
    ),
    "pandas ordered": PANDAS.assign(colour=pd.Categorical(COLOURS, ["red", "green", "blue"], ordered=True)),
    "pandas Arrow dictionary": arrow_backed(),
    "polars categorical": POLARS.with_columns(pl.col("colour").cast(pl.Categorical)),
    "polars enum": POLARS.with_columns(pl.col("colour").cast(pl.Enum(["zinc", "red", "green", "blue"]))),
    "arrow dictionary": DICTIONARY,
    "arrow dictionary batch": DICTIONARY.to_batches()[0],
    "arrow chunks": chunks_with_other_dictionaries(),
    "arrow sliced": pa.concat_tables([DICTIONARY.slice(3, 1), DICTIONARY]).slice(1),
}
UNTYPED = {  # selected by categorical_features
    "objects": OBJECTS,
    "lists": OBJECTS.tolist(),
    "pandas str": PANDAS,
    "pandas object": PANDAS.astype({"colour": object}),
    "pandas string": PANDAS.astype({"colour": "string"}),
    "pandas Arrow string": PANDAS.astype({"colour": pd.ArrowDtype(pa.string())}),
    "polars strings": POLARS,
    "arrow strings": STRINGS,
    "arrow large strings": STRINGS.set_column(1, "colour", STRINGS["colour"].cast(pa.large_string())),
}
ALL = TYPED | UNTYPED


def is_named(X):
    return not isinstance(X, (np.ndarray, list))


@pytest.mark.parametrize("kind", ALL)
def test_equal_strings_have_equal_numbers(kind):
    chosen = None if kind in TYPED else [1]
    table = read_table(ALL[kind], categorical_features=chosen)
    assert table.schema.categories[0] is None
    assert table.schema.categories[1].tolist() == ["blue", "green", "red"]
    assert table.schema.categorical_columns == (1,)
    np.testing.assert_array_equal(table.block(0, 5), TRUTH)
    np.testing.assert_array_equal(table.block(1, 4), TRUTH[1:4])
    np.testing.assert_array_equal(table.rows(np.array([4, 0])), TRUTH[[4, 0]])


@pytest.mark.parametrize("kind", ALL)
def test_kind_of_table_may_differ_between_fit_and_predict(kind):
    fitted = read_table(
        TYPED["pandas category"] if is_named(ALL[kind]) else OBJECTS.tolist(),
        categorical_features=None if is_named(ALL[kind]) else [1],
    )
    table = read_table(ALL[kind], schema=fitted.schema)
    assert table.schema is fitted.schema
    np.testing.assert_array_equal(table.block(0, 5), TRUTH)


@pytest.mark.parametrize("kind", ALL)
def test_unknown_categories_are_missing(kind):
    categories = np.array(["amber", "blue", "green"], dtype=object)  # without red
    schema = Schema(2, ("height", "colour") if is_named(ALL[kind]) else None, (None, categories))
    block = read_table(ALL[kind], schema=schema).block(0, 5)
    np.testing.assert_array_equal(block[:, 1], [NAN, 1, NAN, 2, NAN])


INTEGERS = [30, 10, 20, 10]
NUMBERS = {
    "int8": np.array(INTEGERS, dtype=np.int8),
    "uint64": np.array(INTEGERS, dtype=np.uint64),
    "float32": np.array(INTEGERS, dtype=np.float32),
    "float64": np.array(INTEGERS, dtype=np.float64),
    "longdouble": np.array(INTEGERS, dtype=np.longdouble),
    "byte-swapped": np.array(INTEGERS, dtype=">i4"),
    "objects": np.array(INTEGERS, dtype=object),
    "mixed objects": np.array([30, 10.0, np.int8(20), Decimal(10)], dtype=object),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_equal_numbers_of_any_dtype_are_one_category(kind):
    schema = read_table(NUMBERS[kind][:, None], categorical_features=[True]).schema
    assert schema.categories[0].tolist() == [10, 20, 30]
    assert schema.categories[0].dtype == np.int64
    for values in NUMBERS.values():
        block = read_table(values[:, None], schema=schema).block(0, 4)
        np.testing.assert_array_equal(block[:, 0], [2, 0, 1, 0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numeric_columns_of_frames_can_be_categorical(frame):
    X = frame(
        {
            "id": [2**60 + 1, 2**60, 5],
            "flag": [True, False, True],
            "size": [0.5, NAN, -0.5],
            "x": [1.0, 2.0, 3.0],
        }
    )
    table = read_table(X, categorical_features=["size", "flag", "id"])
    identity, flag, size, x = table.schema.categories
    assert identity.tolist() == [5, 2**60, 2**60 + 1]  # equal as float64
    assert flag.dtype == bool
    assert flag.tolist() == [False, True]
    assert size.tolist() == [-0.5, 0.5]
    assert x is None
    truth = [[2, 1, 1, 1], [1, 0, NAN, 2], [0, 1, 0, 3]]
    np.testing.assert_array_equal(table.block(0, 3), truth)
    np.testing.assert_array_equal(read_table(X, schema=table.schema).block(0, 3), truth)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"id": pd.array([2**60 + 1, None, 2**60], dtype="Int64")}),
        pd.DataFrame({"id": pd.array([2**60 + 1, None, 2**60], dtype="int64[pyarrow]")}),
        pl.DataFrame({"id": [2**60 + 1, None, 2**60]}),
        pl.DataFrame({"id": pl.Series([2**60 + 1, None, 2**60], dtype=pl.Int128)}),
        pa.table({"id": [2**60 + 1, None, 2**60]}),
        pa.table({"id": pa.array([2**60 + 1, None, 2**60]).dictionary_encode()}),
    ],
    ids=["pandas", "pandas Arrow", "polars", "polars 128 bits", "arrow", "arrow dictionary"],
)
def test_large_integers_beside_nulls_are_distinct(X):
    table = read_table(X, categorical_features=["id"])
    assert table.schema.categories[0].tolist() == [2**60, 2**60 + 1]
    np.testing.assert_array_equal(table.block(0, 3)[:, 0], [1, NAN, 0])


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]"])
def test_booleans_with_nulls(dtype):
    X = pd.DataFrame({"flag": pd.array([True, None, True], dtype=dtype)})
    np.testing.assert_array_equal(read_table(X).block(0, 3)[:, 0], [1, NAN, 1])
    table = read_table(X, categorical_features=[0])
    assert table.schema.categories[0].tolist() == [True]  # False is only the filler
    np.testing.assert_array_equal(table.block(0, 3)[:, 0], [0, NAN, 0])


def test_sparse_columns_can_be_categorical():
    X = sparse.csc_array(np.array([[0.0, 4], [7, 0], [0, 4]]))
    table = read_table(X, categorical_features=[0])
    assert table.schema.categories[0].tolist() == [0, 7]
    np.testing.assert_array_equal(table.block(0, 3), [[0, 4], [1, 0], [0, 4]])
    np.testing.assert_array_equal(table.rows(np.array([1])), [[1, 0]])


@pytest.mark.parametrize(
    ("values", "expected", "dtype"),
    [
        (["b", "a", None, "a"], ["a", "b"], object),
        (["b\0", "b"], ["b", "b\0"], object),
        ([2.5, NAN, -1, np.inf], [-1, 2.5, np.inf], np.float64),
        ([True, None, False], [False, True], bool),
        ([True, 2, 0.0], [0, 1, 2], np.int64),
        ([2**63, 1], [1, 2**63], np.uint64),
        ([2**64, -1], [-1, 2**64], object),
        ([2**53 + 1, 0.5], [0.5, 2**53 + 1], object),
        (["b", 2, 1.5, True, 1, pd.NA], [1.5, 1, 2, "b"], object),
        ([-0.0, 0.0], [0], np.int64),
        ([b"red", "blue"], ["blue", "red"], object),
        ([("a", 1), ("a", 0)], ["('a', 0)", "('a', 1)"], object),
        ([dt.date(2020, 2, 1), pd.NaT], ["2020-02-01"], object),
        ([np.datetime64("2020-02-01", "ns"), np.datetime64("NaT")], None, object),
        ([Decimal("NaN"), Decimal("0.5")], [0.5], np.float64),
        ([None, NAN], [], np.int64),
    ],
)
def test_categories_are_sorted_and_plain_and_restored_from_json(values, expected, dtype):
    X = np.empty((len(values), 1), dtype=object)
    X[:, 0] = values
    table = read_table(X, categorical_features=[0])
    found = table.schema.categories[0]
    assert found.dtype == dtype
    if expected is not None:
        assert list(map(repr, found.tolist())) == list(map(repr, np.array(expected, dtype=dtype).tolist()))
    again = Schema.from_dict(json.loads(json.dumps(table.schema.to_dict(), allow_nan=False)))
    assert again == table.schema
    block = read_table(X, schema=again).block(0, len(X))
    np.testing.assert_array_equal(block, table.block(0, len(X)))
    assert np.nanmax(block, initial=-1) == len(found) - 1


def test_intervals_and_dates_become_text():
    cut = pd.DataFrame({"age": pd.cut([5.0, 15.0, 99.0, 5.0], [0, 10, 20])})
    table = read_table(cut)
    assert table.schema.categories[0].tolist() == ["(0, 10]", "(10, 20]"]
    np.testing.assert_array_equal(table.block(0, 4)[:, 0], [0, 1, NAN, 0])
    days = {"day": [dt.date(2021, 1, 2), None, dt.date(2020, 1, 2)]}
    for X in (pl.DataFrame(days), pa.table(days)):
        table = read_table(X, categorical_features=["day"])
        assert table.schema.categories[0].tolist() == ["2020-01-02", "2021-01-02"]
        np.testing.assert_array_equal(table.block(0, 3)[:, 0], [1, NAN, 0])


def test_strings_and_numbers_are_different_categories():
    schema = read_table([["1"], ["2"]], categorical_features=[0]).schema
    np.testing.assert_array_equal(read_table([[1], ["1"]], schema=schema).block(0, 2), [[NAN], [0]])


def test_column_without_categories_is_missing():
    table = read_table(pd.DataFrame({"c": pd.Categorical([None, None])}))
    assert table.schema.categories[0].tolist() == []
    np.testing.assert_array_equal(table.block(0, 2), [[NAN], [NAN]])


def test_explicit_list_replaces_the_dtypes():
    numbers = pd.DataFrame({"a": pd.Categorical([3, 1, None]), "b": pd.Categorical([1, 2, 2])})
    table = read_table(numbers, categorical_features=["b"])
    np.testing.assert_array_equal(table.block(0, 3), [[3, 0], [1, 1], [NAN, 1]])
    table = read_table(numbers, categorical_features=[])
    assert table.schema.categorical_columns == ()
    np.testing.assert_array_equal(table.block(0, 3), [[3, 1], [1, 2], [NAN, 2]])


@pytest.mark.parametrize(
    "chosen",
    [
        [1, 3],
        np.array([3, 1]),
        ["b", "d"],
        pd.Index(["d", "b"]),
        ("b", "b", "d"),
        [False, True, False, True],
        np.array([False, True, False, True]),
        {1, 3},
    ],
    ids=repr,
)
def test_forms_of_categorical_features(chosen):
    X = pd.DataFrame({name: [5.0, 4.0] for name in "abcd"})
    assert read_table(X, categorical_features=chosen).schema.categorical_columns == (1, 3)


def test_from_dtype_is_the_default():
    for chosen in (None, "from_dtype"):
        table = read_table(TYPED["polars enum"], categorical_features=chosen)
        assert table.schema.categorical_columns == (1,)
        assert read_table([[1.0]], categorical_features=chosen).schema.categorical_columns == ()


@settings(max_examples=40, deadline=None)
@given(
    train=st.lists(st.sampled_from(["a", "b", "", " ", "é", "zz", None]), min_size=1, max_size=8),
    new=st.lists(st.sampled_from(["a", "c", "", "é", "yy", None]), min_size=1, max_size=8),
)
def test_libraries_agree_with_a_plain_dictionary(train, new):
    known = sorted({value for value in train if value is not None})
    truth = [known.index(value) if value in known else NAN for value in new]
    schemas = []
    for frame in (
        lambda column: pd.DataFrame({"c": pd.Series(column, dtype="str")}),
        lambda column: pd.DataFrame({"c": pd.Categorical(column)}),
        lambda column: pl.DataFrame({"c": pl.Series(column, dtype=pl.Categorical)}),
        lambda column: pa.table({"c": pa.array(column, pa.string())}),
        lambda column: pa.table({"c": pa.array(column, pa.string()).dictionary_encode()}),
    ):
        table = read_table(frame(train), categorical_features=["c"])
        assert table.schema.categories[0].tolist() == known
        block = read_table(frame(new), schema=table.schema).block(0, len(new))
        np.testing.assert_array_equal(block[:, 0], truth)
        schemas.append(json.dumps(table.schema.to_dict()))
    if known:  # without values there is no type
        assert len(set(schemas)) == 1


def test_chunks_of_arrow_dictionaries_with_more_values_than_int8():
    words = [f"{number:03}" for number in range(200)]
    batches = [
        pa.record_batch({"word": pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), part)})
        for part in (words[:100], words[100:])
    ]
    table = read_table(pa.Table.from_batches(batches))
    plain = read_table(pa.table({"word": pa.array(words).dictionary_encode()}))
    assert table.schema.categories[0].tolist() == words
    np.testing.assert_array_equal(table.block(0, 200), plain.block(0, 200))


def test_pandas_index_in_an_arrow_table_is_not_a_feature():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 3, 5])
    arrow = pa.Table.from_pandas(frame)
    assert arrow.column_names == ["x", "__index_level_0__"]
    assert read_table(arrow).schema.names == read_table(frame).schema.names
    assert (
        read_table(arrow.replace_schema_metadata()).schema.n_columns == 2
    )  # without metadata it is a column
