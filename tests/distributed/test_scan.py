"""A scan of a Dask collection has the result of reading `X.compute()`."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Lock, Variable
from scipy import sparse

from dask_cases import dask_array, dask_frame, from_frames, one_line, uneven
from hedgerow import binning
from hedgerow.binning import find_bins
from hedgerow.distributed import open_collection
from hedgerow.estimators.fingerprints import RowHashes, table_keys
from hedgerow.table import read_table
from hedgerow.threads import Team

pytestmark = pytest.mark.usefixtures("client")


def scan_of(X, y=None, *, target=None, weight=None, schema=None, categorical_features=None):
    source = open_collection(X, y, target, weight)
    return source.read(categorical_features=categorical_features, schema=schema, estimator_name="Model")


def assert_same(table, memory):
    """The scan of a table has the values of the whole table in memory."""
    found = table.scan
    assert (table.n_rows, table.n_columns, table.dtype) == (memory.n_rows, memory.n_columns, memory.dtype)
    assert table.schema == memory.schema
    assert np.array_equal(found.keys, table_keys(memory, 1)[0])
    assert np.array_equal(found.rounded, RowHashes.of(memory, 1).rounded)
    mine, theirs = find_bins(table), find_bins(memory)
    for name in ("edges", "edge_starts", "tables", "table_starts"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
    with Team(1) as team:
        assert np.array_equal(
            table.encode(mine, team).codes.by_column, theirs.encode(memory, team).codes.by_column
        )


def mixed_frame(n=600, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "real": rng.normal(size=n),
            "whole": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "single": rng.normal(size=n).astype(np.float32),
        }
    )
    frame.loc[rng.random(n) < 0.1, "real"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame


@pytest.mark.parametrize("n_partitions", [1, 17])
def test_a_data_frame_in_uneven_partitions_is_read_as_one(n_partitions):
    frame = mixed_frame()
    frame["y"] = np.where(frame["whole"] > 4, "yes", "no")
    frame["weight"] = np.arange(len(frame)) / 7
    X = dask_frame(frame, uneven(len(frame), n_partitions))
    table = scan_of(X, target="y", weight="weight")
    memory = X.compute()
    assert_same(table, read_table(memory.drop(columns=["y", "weight"])))
    assert np.array_equal(table.scan.y, np.asarray(memory["y"]))
    assert table.scan.y.dtype == np.asarray(memory["y"]).dtype
    assert np.array_equal(table.scan.sample_weight, frame["weight"])


def test_an_array_of_any_dtype_is_read_as_one():
    for dtype in (np.float32, np.float64, np.int16, bool):
        values = (np.random.default_rng(1).normal(size=(300, 3)) * 9).astype(dtype)
        X = dask_array(values, [100, 0, 1, 199])
        table = scan_of(X, da.from_array(np.arange(300.0), chunks=70))
        assert_same(table, read_table(values))
        assert np.array_equal(table.scan.y, np.arange(300.0))


def test_lengths_of_chunks_may_be_unknown_and_columns_in_several_chunks():
    values = np.random.default_rng(1).normal(size=(90, 4))
    X = da.from_array(values, chunks=(20, 4))
    known = scan_of(X[X[:, 0] > 0], X[:, 1][X[:, 0] > 0])
    assert_same(known, read_table(values[values[:, 0] > 0]))
    assert np.array_equal(known.scan.y, values[values[:, 0] > 0, 1])
    with pytest.warns(UserWarning, match="columns of X are in 2 chunks"):
        assert_same(scan_of(X.rechunk((30, 2)), values[:, 0]), read_table(values))


def test_edges_come_from_the_same_rows_of_a_large_table(monkeypatch):
    monkeypatch.setattr(binning, "EDGE_SAMPLE_ROWS", 2000)
    values = np.random.default_rng(5).normal(size=(5000, 2))
    table = scan_of(dask_array(values, uneven(len(values), 5)).persist(), values[:, 0])
    assert_same(table, read_table(values))
    assert 1800 < len(table.scan.sample_rows) < 2200


def test_categories_may_be_missing_in_some_partitions_or_unknown():
    colours = ["red", "green", "blue", "white"]
    parts = [pd.DataFrame({"c": pd.Categorical(colours[i : i + 2]), "x": [1.0, 2.0 + i]}) for i in range(3)]
    X = from_frames(parts)
    whole = X.compute()
    table = scan_of(X, [0, 1] * 3)
    assert_same(table, read_table(whole))
    assert table.schema.categories[0].tolist() == sorted(colours)
    unknown = dd.from_pandas(pd.DataFrame({"c": colours * 5, "x": range(20)}), npartitions=3).astype(
        {"c": "category"}
    )
    assert not unknown["c"].cat.known
    assert_same(scan_of(unknown, np.arange(20)), read_table(unknown.compute()))


def test_named_categories_are_found_over_all_partitions():
    frame = pd.DataFrame({"a": [3, 1, 2, 2, 7, 9], "b": list("xyzxyz"), "x": np.arange(6) / 2})
    X = dask_frame(frame, [2, 3, 1])
    names = ["a", "b"]
    table = scan_of(X, np.arange(6), categorical_features=names)
    assert_same(table, read_table(X.compute(), categorical_features=names))
    values = np.array([[3.0, 1.5], [1.0, np.nan], [3.0, 2.5]])
    table = scan_of(dask_array(values, [1, 2]), np.arange(3), categorical_features=[1])
    assert_same(table, read_table(values, categorical_features=[1]))


def test_dtypes_may_differ_between_partitions_if_all_are_numbers():
    parts = [
        pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}),
        pd.DataFrame({"a": pd.Series([], dtype=object), "b": pd.Series([], dtype=object)}),
        pd.DataFrame({"a": [0.25, np.nan], "b": np.array([1, 2], np.float32)}),
        pd.DataFrame({"a": np.array([3, None], object), "b": [True, False]}),
        pd.DataFrame({"a": pd.array([None, 4], "Int64"), "b": np.array([2**60, 1], np.uint64)}),
    ]
    for chosen in ([0, 2], [0, 1], [2, 3], [0, 4], [1, 0, 2], [0, 3, 4, 2, 1]):
        X = from_frames([parts[i] for i in chosen])
        assert_same(scan_of(X, np.zeros(len(X))), read_table(X.compute()))


def test_float32_stays_float32_only_if_all_partitions_are():
    parts = [pd.DataFrame({"a": np.arange(3, dtype=dtype)}) for dtype in (np.float32, np.float64)]
    for chosen, dtype in (([0, 0], np.float32), ([0, 1], np.float64)):
        assert scan_of(from_frames([parts[i] for i in chosen]), np.zeros(6)).dtype == dtype


def test_chunks_of_different_dtypes_are_concatenated_as_by_numpy():
    chunks = [np.array([[1, 2]]), np.array([[0.5, 1.5]])]
    lazy = [da.from_delayed(delayed(one), (1, 2), dtype=np.int64) for one in chunks]
    assert_same(scan_of(da.concatenate(lazy), [0, 1]), read_table(np.concatenate(chunks)))


def test_chunks_may_be_sparse_or_masked():
    values = sparse.random_array((40, 6), density=0.2, rng=np.random.default_rng(0), format="csr")
    dense = da.from_array(values.toarray(), chunks=(15, 6))
    assert_same(scan_of(dense.map_blocks(sparse.csr_matrix), np.zeros(40)), read_table(values))
    masked = np.ma.masked_less(values.toarray(), 0.3)
    X = da.from_array(masked, chunks=(15, 6), asarray=False)
    assert_same(scan_of(X, np.zeros(40)), read_table(masked))


def test_an_evaluation_set_is_read_with_the_schema_of_the_model():
    frame = mixed_frame()
    schema = read_table(frame).schema
    other = mixed_frame(50, seed=8)
    other["colour"] = other["colour"].cat.add_categories(["black"]).fillna("black")
    table = scan_of(dask_frame(other, [20, 0, 30]), np.zeros(50), schema=schema)
    memory = read_table(other, schema=schema)
    assert table.schema == schema
    assert np.array_equal(table.scan.rounded, RowHashes.of(memory, 1).rounded)
    with pytest.raises(ValueError, match="feature names should match"):
        scan_of(dask_frame(other.rename(columns={"real": "z"}), [50]), np.zeros(50), schema=schema)


def test_a_target_may_have_other_partitions():
    frame = mixed_frame(60)
    X = dask_frame(frame[["real", "whole"]], [10, 50])
    y = pd.Series(list("ab") * 30)
    for target in (
        dask_frame(y, [60]),
        dask_frame(y, [0, 1, 58, 1]),
        y.to_numpy(),
        list(y),
    ):
        assert list(scan_of(X, target).scan.y) == list(y)
    one_column = scan_of(X, dask_frame(y.to_frame("y"), [30, 30])).scan.y
    assert one_column.shape == (60, 1)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"a": [1, 2]}, {"a": ["x", "y"]}], "partition 1 of X: Column 'a' holds strings"),
        ([{"a": [1, 2]}, {"b": [1, 2]}], "partition 1 of X has the columns ['b'], and partition 0 has ['a']"),
        ([{"a": [1, 2]}, {"a": [1j, 2]}], "Complex data not supported: Column 'a'"),
        ([{"a": []}, {"a": []}], "Found array with 0 sample(s)"),
        (
            [{"a": pd.to_timedelta([1])}, {"a": pd.to_timedelta([None])}],
            "partition 0 of X: Column 'a'",
        ),
        (
            [{"a": pd.Categorical(["x"])}, {"a": [2]}],
            "partition 1 of X: column 'a' has dtype int64, and category in partition 0",
        ),
    ],
)
def test_an_error_of_a_partition_is_one_line_with_partition_and_column(parts, text):
    frames = [pd.DataFrame(part) for part in parts]
    X = from_frames(frames)
    with pytest.raises((TypeError, ValueError)) as error:
        scan_of(X, [0, 1])
    assert text in one_line(error)


def test_wrong_types_are_rejected_before_anything_is_computed():
    X = da.zeros((4, 2))
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)
    for arguments, text in [
        (((frame["a"],)), "X must be a Dask DataFrame or a Dask Array of two dimensions; got a Dask Series"),
        ((X, None, "label"), "target='label' names a column, but X is a Dask Array"),
        ((frame, None, "label"), "target='label' is not a column of X; its columns are ['a']"),
        ((frame, None, "a", "w"), "sample_weight='w' is not a column of X"),
        ((frame, [1, 2], "a"), "only one of y and target may be passed; got y and target='a'"),
        ((X, delayed(3)), "y must be a Dask Series or a Dask Array; got a Dask Delayed"),
        (([[1.0]], X), "y is a Dask Array, but X is in memory"),
    ]:
        with pytest.raises((TypeError, ValueError)) as error:
            open_collection(*arguments)
        assert text in one_line(error)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        scan_of(X[:, 0], [0] * 4)
    assert open_collection(np.zeros((2, 2)), [0, 1]) is None


def test_partitions_are_computed_once():
    def counted(n):
        with Lock("rows"):
            count = Variable("made")
            count.set(count.get() + 1)
        return pd.DataFrame({"a": np.arange(n) / 3, "c": pd.Categorical(["x", "y"] * (n // 2))})

    Variable("made").set(0)
    meta = pd.DataFrame({"a": [0.5], "c": pd.Categorical(["x"])}).iloc[:0]
    X = dd.from_delayed([delayed(counted)(n) for n in (4, 6, 8)], meta=meta, verify_meta=False)
    table = scan_of(X, np.arange(18))
    assert Variable("made").get() == 3
    del table
    Variable("made").delete()


@pytest.mark.parametrize("names", [[0, 1], ["self", "b"]])
def test_columns_of_any_name_get_the_dtype_that_all_partitions_have(names):
    whole, half = (pd.DataFrame(values, columns=names) for values in ([[1, 2], [3, 4]], [[0.5, 1], [1.5, 2]]))
    memory = read_table(pd.concat([whole, half], ignore_index=True))
    assert_same(scan_of(from_frames([whole, half]), np.arange(4)), memory)
