"""Input that read_table rejects, and its messages."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.table import read_table

DAY = dt.datetime(2020, 1, 2)  # noqa: DTZ001
HINT = "cast it to a categorical dtype or list it in categorical_features"


def objects(*values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


@pytest.mark.parametrize(
    "X",
    [
        np.arange(3.0),
        [1, 2, 3],
        pd.Series([1.0]),
        pl.Series([1.0]),
        pa.array([1.0]),
        pa.chunked_array([[1.0]]),
        sparse.coo_array(np.arange(3.0)),
        np.zeros((2, 2, 2)),
        np.float64(3),
        None,
        "text",
        [{"a": 1}],
    ],
    ids=lambda X: type(X).__name__,
)
def test_not_two_dimensional(X):
    with pytest.raises(ValueError, match=r"Expected 2D array, got (\dD|scalar) array instead"):
        read_table(X)
    with pytest.raises(ValueError, match="Reshape your data"):
        read_table(X, schema=read_table([[1.0]]).schema)


def test_ragged_lists():
    with pytest.raises(ValueError, match="the same number of values in every row"):
        read_table([[1, 2], [3]])


@pytest.mark.parametrize(
    "X",
    [
        np.empty((0, 3)),
        sparse.csr_array((0, 3)),
        pd.DataFrame({name: pd.Series(dtype=float) for name in "abc"}),
        pl.DataFrame({name: pl.Series([], dtype=pl.Float64) for name in "abc"}),
        pa.table({name: pa.array([], pa.float64()) for name in "abc"}),
        np.empty((0, 3), dtype=object),
    ],
    ids=lambda X: type(X).__name__,
)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_no_rows(X):
    message = re.escape(
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required by Stump."
    )
    with pytest.raises(ValueError, match=message):
        read_table(X, estimator_name="Stump")
    with pytest.raises(ValueError, match=message):
        read_table(X, estimator_name="Stump", schema=read_table(np.ones((1, 3))).schema)


@pytest.mark.parametrize(
    "X", [np.empty((2, 0)), sparse.csr_array((2, 0)), pd.DataFrame(index=[0, 1]), [[], []]]
)
def test_no_columns(X):
    message = r"Found array with 0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1"
    with pytest.raises(ValueError, match=message):
        read_table(X)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1j]]),
        sparse.csr_array(np.array([[1j]])),
        objects(1.0, 2j),
        objects(1.0, np.complex64(2)),
        [[1j]],
        pd.DataFrame({"a": [1j]}),
    ],
)
def test_complex(X):
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (pd.DataFrame({"n": [1.0], "c": ["red"]}), "Column 'c'"),
        (pd.DataFrame({"n": [1.0], "c": ["red"]}, dtype=object), "Column 'c'"),
        (pd.DataFrame({"n": [1.0], "c": ["red"]}).astype({"c": "string"}), "Column 'c'"),
        (pd.DataFrame({0: [1.0], 5: ["red"]}), "Column 5"),
        (pl.DataFrame({"n": [1.0], "c": ["red"]}), "Column 'c'"),
        (pa.table({"n": [1.0], "c": ["red"]}), "Column 'c'"),
        (np.array([["1.0", "red"]])[:, 1:], "Column 0"),
        (np.array([["red"]], dtype=np.dtypes.StringDType()), "Column 0"),
        (np.array([[1.0, "red"]], dtype=object), "Column 1"),
        ([[1.0, "red"]], "Column 1"),
    ],
)
def test_strings_outside_of_categorical_features(X, where):
    with pytest.raises(ValueError, match=f"^{where} holds strings .*'red'.*{HINT}"):
        read_table(X)


def test_strings_of_digits():
    for X in (np.array([["1.5"]]), objects(1.0, "1.5"), pl.DataFrame({"a": ["1.5"]})):
        with pytest.raises(ValueError, match="holds strings"):
            read_table(X)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(
    "X",
    [
        objects("red"),
        pl.DataFrame({"a": ["red"]}),
        pd.DataFrame({"a": pd.Categorical(["red"])}),
        pl.DataFrame({"a": pl.Series(["red"], dtype=pl.Categorical)}),
    ],
)
def test_strings_in_a_column_that_was_numeric(X):
    schema = read_table([[1.0]]).schema
    with pytest.raises(ValueError, match=r"Column .* holds strings .*It was numeric when the model"):
        read_table(X, schema=schema)


def test_string_categories_left_out_of_an_explicit_list():
    X = pd.DataFrame({"a": pd.Categorical(["red"]), "b": [1]})
    with pytest.raises(ValueError, match="Column 'a' holds strings"):
        read_table(X, categorical_features=["b"])


@pytest.mark.parametrize("value", [{"foo": "bar"}, [1], (1, 2), object(), DAY, dt.timedelta(1)])
@pytest.mark.parametrize("frame", [False, True])
def test_objects_that_are_not_numbers(value, frame):
    X = objects(1.0, value)
    if frame:
        X = pd.DataFrame({"a": pd.Series([1.0, value], dtype=object)})
    where = "Column 'a'" if frame else "Column 0"
    name = type(value).__name__
    with pytest.raises(TypeError, match=f"^{where} holds a {name}.*argument must be a string or a"):
        read_table(X)


@pytest.mark.parametrize("value", [np.arange(2), 10**400])
def test_numbers_that_are_not_float64(value):
    with pytest.raises(ValueError, match=r"^Column 0 must contain float64 numbers"):
        read_table(objects(1.0, value))


@pytest.mark.parametrize("value", [{"foo": "bar"}, [1]])
def test_unhashable_categories(value):
    for X in (objects("red", value), pd.DataFrame({0: pd.Series(["red", value], dtype=object)})):
        with pytest.raises(TypeError, match=r"^Column 0 is categorical but holds an unhashable"):
            read_table(X, categorical_features=[0])


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (pd.DataFrame({"when": [pd.Timedelta(1)]}), "Duration"),
        (pd.DataFrame({"when": pd.period_range("2020", periods=1)}), "period"),
        (pd.DataFrame({"when": pd.interval_range(0, 1)}), "interval"),
        (pl.DataFrame({"when": [DAY.time()]}), "Time"),
        (pl.DataFrame({"when": [dt.timedelta(1)]}), "Duration"),
        (pl.DataFrame({"when": [[1]]}), "List"),
        (pl.DataFrame({"when": [{"a": 1}]}), "Struct"),
        (pl.DataFrame({"when": [b"a"]}), "Binary"),
        (pa.table({"when": [dt.timedelta(1)]}), "Duration"),
        (pa.table({"when": [[1]]}), "List"),
        (pa.table({"when": [{"a": 1}]}), "Struct"),
    ],
)
def test_columns_of_other_types(X, kind):
    with pytest.raises(ValueError, match=f"^Column 'when' has type {kind}.*not supported"):
        read_table(X)


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_nested_columns_cannot_be_categorical(frame, value):
    with pytest.raises(ValueError, match=r"^Column 'c' has type (List|Struct).*cannot be categ"):
        read_table(frame({"c": [value]}), categorical_features=["c"])


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]", "V8", "f8,f8"])
def test_arrays_of_other_types(dtype):
    with pytest.raises(ValueError, match=r"^X has dtype .* not supported"):
        read_table(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"], dtype="float32"),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_duplicate_column_names(X):
    with pytest.raises(ValueError, match=r"Column names must be unique(.|\n)*'a'"):
        read_table(X)


def test_names_of_mixed_types():
    X = pd.DataFrame([[1, 2]], columns=["a", 1])
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        read_table(X)


def test_lazy_frames():
    with pytest.raises(TypeError, match=r"lazy frame \(polars.*collect"):
        read_table(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ("auto", ValueError, "categorical_features='auto' is not allowed; allowed are None"),
        (3, TypeError, "categorical_features=3 is not a list; allowed are None"),
        ([True], ValueError, "boolean mask of 1 entries, but X has 2 columns"),
        ([2], ValueError, r"positions \[2\], but X has 2 columns; .* in 0..1"),
        ([-1], ValueError, r"positions \[-1\]"),
        (["a", "z"], ValueError, r"columns \['z'\], which X does not have; .*\['a', 'b'\]"),
        (["a", 1], ValueError, "mixes types; allowed are"),
        ([0.5], ValueError, "mixes types; allowed are"),
        ([None], ValueError, "mixes types; allowed are"),
    ],
)
def test_wrong_categorical_features(chosen, error, message):
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(error, match=message):
        read_table(X, categorical_features=chosen)


def test_column_names_for_an_array_without_names():
    with pytest.raises(ValueError, match=r"names the columns \['a'\], but X has no column names"):
        read_table([[1.0]], categorical_features=["a"])


def test_categorical_features_beside_a_schema():
    X = np.ones((1, 1))
    with pytest.raises(ValueError, match="categorical_features must be None"):
        read_table(X, schema=read_table(X).schema, categorical_features=[0])


ABC = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["c", "b", "a"], "Feature names must be in the same order as they were in fit.\n"),
        (
            ["a", "b", "z"],
            "Feature names unseen at fit time:\n- z\nFeature names seen at fit time, yet now missing:\n- c\n",
        ),
        (["a", "b"], "Feature names seen at fit time, yet now missing:\n- c\n"),
        (list("abcdefghi"), "unseen at fit time:\n- d\n- e\n- f\n- g\n- h\n- ...\n"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_columns_than_in_fit(frame, names, message):
    X = frame({name: [1.0] for name in names})
    start = "The feature names should match those that were passed during fit.\n"
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_table(X, schema=read_table(ABC).schema)
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, list, pd.DataFrame])
def test_other_number_of_columns(kind):
    message = "X has 2 features, but Stump is expecting 3 features as input"
    with pytest.raises(ValueError, match=message):
        read_table(kind([[1.0, 2.0]]), schema=read_table(np.ones((1, 3))).schema, estimator_name="Stump")


def test_names_in_fit_or_predict_only_give_a_warning():
    named, nameless = read_table(ABC).schema, read_table(ABC.to_numpy()).schema
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Stump was fitt"):
        table = read_table(ABC.to_numpy(), schema=named, estimator_name="Stump")
    np.testing.assert_array_equal(table.block(0, 1), [[1, 2, 3]])
    with pytest.warns(UserWarning, match="X has feature names, but Stump was fitted without feat"):
        read_table(ABC, schema=nameless, estimator_name="Stump")
