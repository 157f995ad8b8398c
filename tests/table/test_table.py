"""Every kind of input with the same content gives the same blocks."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from hedgerow.table import read_table
from hedgerow.table.frames import _SMALL

NAN = np.nan
NAMES = ["a", "b", "c"]
# Floats with a missing value and an infinity, integers, booleans.
COLUMNS = {"a": [1.5, NAN, -np.inf, 0.0], "b": [7, 0, -3, 2], "c": [True, False, True, False]}
TRUTH = np.array([[1.5, 7, 1], [NAN, 0, 0], [-np.inf, -3, 1], [0, 2, 0]])


def objects(missing):
    return np.array([[1.5, 7, True], [missing, 0, False], [-np.inf, -3, True], [0.0, 2, False]], dtype=object)


def chunked(table):
    return pa.concat_tables([table[:1], table[1:1], table[1:]])


ARROW = pa.table({"a": [1.5, None, -np.inf, 0.0], "b": COLUMNS["b"], "c": COLUMNS["c"]})
PANDAS = pd.DataFrame(COLUMNS)
READ_ONLY = TRUTH.copy()
READ_ONLY.flags.writeable = False
MASKED = np.ma.masked_array(np.nan_to_num(TRUTH, nan=9.0, neginf=-np.inf), mask=np.isnan(TRUTH))

INPUTS = {
    "float64": TRUTH,
    "fortran": np.asfortranarray(TRUTH),
    "read-only": READ_ONLY,
    "strided": np.repeat(np.repeat(TRUTH, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": TRUTH[::-1][::-1],
    "byte-swapped": TRUTH.astype(">f8"),
    "float16": TRUTH.astype(np.float16),
    "float32": TRUTH.astype(np.float32),
    "longdouble": TRUTH.astype(np.longdouble),
    "objects with None": objects(None),
    "objects with NaN": objects(NAN),
    "objects with NA": objects(pd.NA),
    "objects with NaT": objects(pd.NaT),
    "lists": TRUTH.tolist(),
    "lists with None": objects(None).tolist(),
    "tuples": tuple(map(tuple, TRUTH.tolist())),
    "matrix": TRUTH.view(np.matrix),
    "masked": MASKED,
    "masked objects": MASKED.astype(object),
    "pandas": PANDAS,
    "pandas of one dtype": pd.DataFrame(TRUTH, columns=NAMES),
    "pandas objects": PANDAS.astype(object),
    "pandas nullable": PANDAS.convert_dtypes(),
    "pandas Arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas sparse": pd.DataFrame({n: pd.arrays.SparseArray(c) for n, c in COLUMNS.items()}),
    "pandas categories": PANDAS.astype({"b": "category"}),
    "polars": pl.DataFrame(COLUMNS),
    "polars with null": pl.from_arrow(ARROW),
    "polars decimal": pl.DataFrame(COLUMNS).with_columns(pl.col("b").cast(pl.Decimal(9, 2))),
    "polars 128 bits": pl.DataFrame(COLUMNS).with_columns(pl.col("b").cast(pl.Int128)),
    "arrow": ARROW,
    "arrow chunked": chunked(ARROW),
    "arrow batch": ARROW.to_batches()[0],
    "arrow decimal": ARROW.set_column(1, "b", ARROW["b"].cast(pa.decimal128(21, 2))),
    "csr matrix": sparse.csr_matrix(TRUTH),
    "csr array": sparse.csr_array(TRUTH),
    "csc array": sparse.csc_array(TRUTH),
    "coo array": sparse.coo_array(TRUTH),
    "coo matrix": sparse.coo_matrix(TRUTH),
    "bsr array": sparse.bsr_array(TRUTH),
    "lil array": sparse.lil_array(TRUTH),
    "dok array": sparse.dok_array(TRUTH),
    "dia array": sparse.dia_array(TRUTH),
    "csr float32": sparse.csr_array(TRUTH.astype(np.float32)),
    "csr longdouble": sparse.csr_array(TRUTH.astype(np.longdouble)),
    "csr long indices": sparse.csr_array(TRUTH),
}
INPUTS["csr long indices"].indices = INPUTS["csr long indices"].indices.astype(np.int64)
INPUTS["csr long indices"].indptr = INPUTS["csr long indices"].indptr.astype(np.int64)
SMALL_FLOATS = {"float16", "float32", "csr float32"}
NO_CATEGORIES = {"pandas categories": {"categorical_features": []}}


def check_blocks(table, truth):
    assert (table.n_rows, table.n_columns) == truth.shape
    everything = table.block(0, table.n_rows)
    np.testing.assert_array_equal(everything, truth)
    for start, stop in [(0, 1), (1, 3), (3, 4), (2, 2)]:
        np.testing.assert_array_equal(table.block(start, stop), truth[start:stop])
    for numbers in ([2], [3, 0, 0, 1], []):
        chosen = np.array(numbers, dtype=np.uint32)
        np.testing.assert_array_equal(table.rows(chosen), truth[chosen])
    for part in (everything, table.block(1, 3), table.rows(np.array([3, 0]))):
        assert part.dtype == table.dtype
        assert part.flags.carray  # C order, aligned, writable: one signature for the kernels


@pytest.mark.parametrize("kind", INPUTS)
def test_equal_content_gives_equal_blocks(kind):
    table = read_table(INPUTS[kind], **NO_CATEGORIES.get(kind, {}))
    assert table.dtype == (np.float32 if kind in SMALL_FLOATS else np.float64)
    assert table.schema.categories == (None, None, None)
    named = kind.startswith(("pandas", "polars", "arrow"))
    assert table.schema.names == (tuple(NAMES) if named else None)
    check_blocks(table, TRUTH)


@pytest.mark.parametrize("kind", INPUTS)
def test_schema_of_another_kind_gives_equal_blocks(kind):
    X = INPUTS[kind]
    named = kind.startswith(("pandas", "polars", "arrow"))
    schema = read_table(PANDAS if named else TRUTH).schema
    check_blocks(read_table(X, schema=schema), TRUTH)


def test_memory_mapped(tmp_path):
    np.save(tmp_path / "X.npy", TRUTH)
    for mode in ("r", "r+", "c"):
        check_blocks(read_table(np.load(tmp_path / "X.npy", mmap_mode=mode)), TRUTH)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_c_ordered_floats_are_not_copied(dtype):
    X = TRUTH.astype(dtype)
    schema = read_table(X).schema
    for table in (read_table(X), read_table(X, schema=schema)):
        assert np.shares_memory(table.block(1, 3), X)
        assert not np.shares_memory(table.rows(np.array([1, 2])), X)


def test_input_is_not_modified():
    for kind, X in INPUTS.items():
        if isinstance(X, np.ndarray):
            before = X.tobytes()
            table = read_table(X, categorical_features=[1])
            table.block(0, 4)
            table.rows(np.arange(4))
            assert X.tobytes() == before, kind


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ([np.float32, np.float32], np.float32),
        ([np.float16, np.float32], np.float32),
        ([np.float32, np.float64], np.float64),
        ([np.float32, np.int8], np.float64),
        ([np.float32, bool], np.float64),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dtype_is_float32_only_if_all_numeric_columns_are(frame, columns, dtype):
    data = {str(j): np.array([0, 1], dtype=d) for j, d in enumerate(columns)}
    table = read_table(frame(data))
    assert table.dtype == dtype
    np.testing.assert_array_equal(table.block(0, 2), [[0, 0], [1, 1]])


def test_categories_do_not_widen_float32():
    X = pd.DataFrame({"a": np.array([0.5, 1], dtype=np.float32), "b": pd.Categorical(["x", "y"])})
    table = read_table(X)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table.block(0, 2), [[0.5, 0], [1, 1]])
    assert read_table([[3], [5]], categorical_features=[0]).dtype == np.float32


def test_all_null_columns_are_missing_numbers():
    for X in (
        pa.table({"a": pa.nulls(2), "b": pa.array([None, None], pa.string())}),
        pl.DataFrame({"a": [None, None], "b": pl.Series([None, None], dtype=pl.String)}),
        pd.DataFrame({"a": [None, None], "b": pd.Series([None, None], dtype="str")}),
    ):
        np.testing.assert_array_equal(read_table(X).block(0, 2), np.full((2, 2), NAN))


def test_large_integers_are_rounded_to_float64():
    X = np.array([[2**63 - 1, -(2**53) - 1]])
    np.testing.assert_array_equal(read_table(X).block(0, 1), [[2.0**63, -(2.0**53)]])
    large = np.array([[2**200, 1]], dtype=object)
    np.testing.assert_array_equal(read_table(large).block(0, 1), [[2.0**200, 1]])


def test_longdouble_beyond_float64_becomes_infinite():
    big = np.array([[np.longdouble("1e400")]])
    if np.isinf(big[0, 0]):
        pytest.skip("longdouble is float64 here")
    assert read_table(big).block(0, 1)[0, 0] == np.inf


def test_sparse_zeros_are_zeros_and_stored_nan_is_missing():
    X = sparse.coo_array(([NAN, 2.0, 3.0], ([0, 1, 1], [0, 1, 1])), shape=(3, 2))
    truth = [[NAN, 0], [0, 5], [0, 0]]  # an entry stored twice counts as its sum
    np.testing.assert_array_equal(read_table(X).block(0, 3), truth)
    integers = sparse.csr_array(np.array([[0, 300], [2, 0]], dtype=np.int16))
    assert read_table(integers).dtype == np.float64
    np.testing.assert_array_equal(read_table(integers).block(0, 2), [[0, 300], [2, 0]])
    booleans = sparse.csr_array(np.array([[False, True]]))
    np.testing.assert_array_equal(read_table(booleans).block(0, 1), [[0, 1]])


def test_sparse_blocks_do_not_make_the_whole_matrix_dense():
    X = sparse.csr_array(([1.0], ([70_000], [70_000])), shape=(10**6, 10**5))  # 800 GB if dense
    block = read_table(X).block(69_999, 70_001)
    assert block.shape == (2, 10**5)
    assert block[1, 70_000] == block.max() == 1


def test_large_frame_is_read_in_strips():
    n_rows = 2 * _SMALL + 5
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)):
        table = read_table(frame)
        np.testing.assert_array_equal(table.block(0, n_rows), X)
        np.testing.assert_array_equal(table.block(7, _SMALL + 9), X[7 : _SMALL + 9])


def test_one_row_and_one_column():
    for X in (np.array([[2.0]]), [[2]], pd.DataFrame({"a": [2]}), sparse.csr_array([[2.0]])):
        np.testing.assert_array_equal(read_table(X).block(0, 1), [[2]])


def test_names_that_are_not_strings_are_ignored():
    assert read_table(pd.DataFrame(TRUTH)).schema.names is None
    tuples = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    assert read_table(pd.DataFrame(TRUTH, columns=tuples)).schema.names is None


def test_objects_with_an_array_method_are_arrays():
    class Container:
        def __array__(self, dtype=None, copy=None):
            return TRUTH if dtype is None else TRUTH.astype(dtype)

    np.testing.assert_array_equal(read_table(Container()).block(0, 4), TRUTH)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_arrays_of_any_dtype_order_and_strides(data):
    dtypes = st.one_of(
        hnp.floating_dtypes(endianness="?"),
        hnp.integer_dtypes(endianness="?"),
        hnp.unsigned_integer_dtypes(endianness="?"),
        hnp.boolean_dtypes(),
    )
    shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
    X = data.draw(hnp.arrays(data.draw(dtypes), data.draw(shapes)))
    X = np.array(X, order=data.draw(st.sampled_from("CF")))
    X = X[:: data.draw(st.sampled_from([1, 2, -1])), :: data.draw(st.sampled_from([1, 2, -1, -2]))]
    if data.draw(st.booleans()):
        X = X.T
    X.flags.writeable = data.draw(st.booleans())
    small = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    truth = X.astype(np.float32 if small else np.float64)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(X))] * 2)))
    fitted = read_table(X)
    for table in (fitted, read_table(X, schema=fitted.schema)):
        assert table.dtype == truth.dtype
        block = table.block(start, stop)
        np.testing.assert_array_equal(block, truth[start:stop])
        assert block.flags.carray or block.size == 0
        numbers = np.arange(len(X))[::-1]
        np.testing.assert_array_equal(table.rows(numbers), truth[::-1])


@settings(max_examples=25, deadline=None)
@given(X=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5)))
def test_frames_and_sparse_matrices_agree_with_numpy(X):
    names = [f"column {j}" for j in range(X.shape[1])]
    pandas = pd.DataFrame(X, columns=names)
    frames = [pandas, pl.DataFrame(X, schema=names), pa.Table.from_pandas(pandas)]
    for frame in (*frames, sparse.csc_array(X), sparse.coo_matrix(X)):
        np.testing.assert_array_equal(read_table(frame).block(0, len(X)), X)
