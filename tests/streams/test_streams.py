"""The passes over tables in files have the results of the same rows in memory, bit for bit."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

from hedgerow import binning
from hedgerow.binning import find_bins
from hedgerow.streams import scan
from hedgerow.streams.reader import split_chunks
from hedgerow.table import read_table
from stream_cases import TupleFactory, check_scan, chosen, codes_of, features, rows, scanned, write


def write_each(folder, tables):
    """Write tables of different schemas, one Arrow file each."""
    folder.mkdir()
    for number, table in enumerate(tables):
        feather.write_feather(table, folder / f"{number}.arrow", compression="uncompressed")
    return folder


@pytest.mark.parametrize(("kind", "n_threads"), [("parquet", 1), ("arrow", 3), ("stream", 3)])
def test_a_scan_of_files_is_that_of_the_rows_in_memory(tmp_path, kind, n_threads):
    table = chosen(rows(), "label", "weight")
    folder = write(table, tmp_path / "rows", cuts=(1, 400, 401), row_group=77, kind=kind)
    found = scanned(folder, sample_weight="weight", n_threads=n_threads)
    check_scan(found, features(table), table["label"], table["weight"])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None, 4], pa.int16()),
        pa.array([True, False, True, None]),
        pa.array(["a", None, "b", "a"]),
        pa.array(["b", "a", "b", "c"]).dictionary_encode(),
        pa.array([7, 7, 8, 9]).dictionary_encode(),
        pa.array([1.5, None, 2.5, 3.5], pa.float32()),
        pa.array([2**63 + 1, 1, 2, 3], pa.uint64()),
    ],
    ids=lambda values: f"{values.type}",
)
def test_targets_of_every_type_and_with_nulls_in_some_files_only(tmp_path, values):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "label": values})
    is_coded = pa.types.is_dictionary(values.type)
    for number, cuts in enumerate([(), (2,), (1, 2, 3)]):
        found = scanned(write(table, tmp_path / str(number), cuts=cuts))
        check_scan(found, table.select(["x"]), values.cast(values.type.value_type) if is_coded else values)


def test_all_kinds_of_sources_give_the_same_rows(tmp_path):
    table = chosen(rows(), "label")
    folder = write(table, tmp_path / "rows", cuts=(100, 600))
    files = sorted(folder.iterdir())
    sources = [
        folder,
        str(folder),
        f"{folder}/*.parquet",
        folder / "part-*",
        files,
        pyarrow.dataset.dataset(folder),
        lambda: iter(table.to_batches(max_chunksize=33)),
        lambda: [table.slice(0, 10), table.slice(10)],
    ]
    for source in sources:
        check_scan(scanned(source), features(table), table["label"])


def test_a_folder_is_its_parquet_and_arrow_files_in_the_order_of_their_names(tmp_path):
    table = chosen(rows(100), "label")
    folder = write(table.slice(50), tmp_path / "rows")
    (folder / "part-00.parquet").rename(folder / "b.parquet")
    write(table.slice(0, 50), folder, kind="arrow")
    (folder / "part-00.arrow").rename(folder / "a.anything")
    (folder / "README.md").write_text("what it is")
    (folder / "_SUCCESS").touch()
    check_scan(scanned(folder), features(table), table["label"])


def test_dictionaries_may_differ_between_files(tmp_path):
    words = ["c", "a", None, "a", "d", "b"]
    narrow = pa.DictionaryArray.from_arrays(pa.array([None, 0], pa.int8()), ["a"])
    columns = [pa.array(words[:2]).dictionary_encode(), narrow, pa.array(words[4:]).dictionary_encode()]
    folder = write_each(tmp_path / "rows", [pa.table({"word": one, "label": [0, 1]}) for one in columns])
    check_scan(scanned(folder), pa.table({"word": pa.array(words).dictionary_encode()}))


def test_an_unused_dictionary_value_is_not_a_category():
    word = pa.DictionaryArray.from_arrays(pa.array([0, 2, None], pa.int8()), ["a", "unused", "b"])
    table = pa.table({"word": word, "label": [0, 1, 0]})
    found = scanned(lambda: iter(table.to_batches()))
    check_scan(found, table.select(["word"]))
    assert found.schema.categories[0].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "columns", [["whole", "flag", "colour"], ["narrow", "x", "colour"], [0, 1, 2, 3, 4], []]
)
def test_categorical_features_may_be_named(tmp_path, columns):
    table = chosen(rows(), "label")
    if not columns:
        table = table.drop_columns(["colour"])
    folder = write(table, tmp_path / "rows", cuts=(500,))
    found = scanned(folder, categorical_features=columns)
    check_scan(found, features(table), categorical_features=columns)


def test_codes_of_categories_widen_with_their_number(tmp_path):
    numbers = np.random.default_rng(1).permutation(66_000)  # more than codes of 16 bits
    table = pa.table({"id": numbers, "label": numbers % 2})
    found = scanned(write(table, tmp_path / "rows", cuts=(10, 200, 300)), categorical_features=["id"])
    check_scan(found, table.select(["id"]), categorical_features=["id"])


def test_null_columns_of_some_files_have_the_type_of_the_others(tmp_path):
    nulls = pa.table({"x": pa.nulls(2), "word": pa.nulls(2), "label": [0, 1]})
    values = pa.table({"x": [1.5, 2.5], "word": pa.array(["a", "b"]).dictionary_encode(), "label": [0, 1]})
    folder = write_each(tmp_path / "rows", [nulls, values, nulls])
    x, word = [None, None, 1.5, 2.5, None, None], [None, None, "a", "b", None, None]
    check_scan(scanned(folder), pa.table({"x": x, "word": pa.array(word).dictionary_encode()}))


def test_a_null_column_is_missing_and_float32_stays_float32(tmp_path):
    table = pa.table({"nothing": pa.nulls(3), "x": np.float32([1, 2, 3]), "label": [0, 1, 0]})
    found = scanned(write(table, tmp_path / "rows"))
    check_scan(found, table.drop_columns(["label"]))
    assert found.dtype == np.float32


def test_columns_can_be_chosen_and_keep_their_order(tmp_path):
    table = rows(50)
    found = scanned(write(table, tmp_path / "rows"), columns=["narrow", "x"], sample_weight="weight")
    check_scan(found, table.select(["narrow", "x"]), table["label"], table["weight"])


def test_unknown_categories_are_missing_under_a_known_schema(tmp_path):
    train, test = chosen(rows(60), "label"), chosen(rows(200, seed=3), "label")
    schema = read_table(features(train.filter(pa.compute.not_equal(train["colour"], "red")))).schema
    found = scanned(write(test, tmp_path / "rows"), schema=schema)
    check_scan(found, features(test), test["label"], schema=schema)


# --- samples


def test_the_sample_of_many_rows_is_that_of_the_table_in_memory(tmp_path, monkeypatch):
    for module in (binning, scan):
        monkeypatch.setattr(module, "EDGE_SAMPLE_ROWS", 500)
    table = chosen(rows(8000), "label")
    folder = write(table, tmp_path / "rows", cuts=(3000,))

    def batches():  # how many there are is not known before
        return iter(table.to_batches(max_chunksize=700))

    monkeypatch.setattr("hedgerow.streams.reader.CHUNK_ROWS", 1000)
    whole = read_table(features(table))
    for source in (folder, batches):
        found = scanned(source)
        np.testing.assert_array_equal(found.scan.sample_rows, binning.edge_rows(0, 8000, 8000))
        assert 300 < len(found.scan.sample_rows) < 700
        check_scan(found, features(table))
        for copies in (None, np.arange(8000) % 3):
            first, second = (find_bins(one, copies=copies) for one in (whole, found))
            np.testing.assert_array_equal(first.edges, second.edges)
            np.testing.assert_array_equal(first.tables, second.tables)
        np.testing.assert_array_equal(codes_of(whole, first), codes_of(found, first))


# --- codes


@pytest.mark.parametrize(
    ("memory_limit", "by_row", "n_threads"), [(None, True, 2), (0, False, 5), (0, True, 1), (None, False, 1)]
)
def test_shards_hold_the_codes_and_arrays_of_their_rows(tmp_path, memory_limit, by_row, n_threads):
    table = chosen(rows(), "label")
    folder = write(table, tmp_path / "rows", cuts=(3, 500), row_group=100)
    found = scanned(folder, memory_limit=memory_limit, folder=tmp_path)
    whole = read_table(features(table))
    bins = find_bins(whole)
    numbers = np.arange(1000)
    shards = found.make_shards(TupleFactory(by_row), bins, {"numbers": numbers}, n_threads)
    assert len(shards.shards) == n_threads
    assert [first for _, _, first in shards.shards] == [first for first, _ in shards.bounds]
    np.testing.assert_array_equal(np.concatenate([one[1]["numbers"] for one in shards.shards]), numbers)
    codes = np.concatenate([one[0] if by_row else one[0].T for one in shards.shards])
    np.testing.assert_array_equal(codes[:, : whole.n_columns].T, codes_of(whole, bins))
    assert not codes[:, whole.n_columns :].any()  # rows are padded
    for one in shards.shards:
        assert one[0].flags.c_contiguous
        assert one[0].ctypes.data % 64 == 0
    shards.close()


@pytest.mark.parametrize("memory_limit", [None, 0])
def test_shards_of_the_same_bins_share_their_codes(tmp_path, memory_limit):
    table = chosen(rows(), "label")
    found = scanned(write(table, tmp_path / "rows"), memory_limit=memory_limit, folder=tmp_path)
    bins = find_bins(found)
    one, other = (found.make_shards(TupleFactory(by_row=True), bins, {}, 2) for _ in range(2))
    assert [a[0] is b[0] for a, b in zip(one.shards, other.shards, strict=True)] == [True, True]
    columns = found.make_shards(TupleFactory(by_row=False), bins, {}, 2)
    codes = one.shards[1][0]
    one.close()
    np.testing.assert_array_equal(other.shards[1][0], codes)
    assert codes.any()
    np.testing.assert_array_equal(codes[:, : found.n_columns].T, columns.shards[1][0])
    columns.close()
    other.close()
    again = found.make_shards(TupleFactory(by_row=True), bins, {}, 2)
    assert again.shards[0][0] is not codes
    again.close()


@pytest.mark.parametrize(("memory_limit", "max_bins"), [(None, 4), (0, 255), (0, 1000)])
def test_encoding_is_that_of_the_table_in_memory(tmp_path, memory_limit, max_bins):
    table = chosen(rows(), "label")
    found = scanned(write(table, tmp_path / "rows", cuts=(3,)), memory_limit=memory_limit)
    whole = read_table(features(table))
    bins = find_bins(found, max_bins)
    np.testing.assert_array_equal(bins.edges, find_bins(whole, max_bins).edges)
    for for_growing in (True, False):
        np.testing.assert_array_equal(
            codes_of(found, bins, for_growing=for_growing), codes_of(whole, bins, for_growing=for_growing)
        )


def test_no_more_shards_than_rows(tmp_path):
    table = chosen(rows(3), "label")
    found = scanned(write(table, tmp_path / "rows"))
    shards = found.make_shards(TupleFactory(by_row=True), find_bins(found), {}, 8)
    assert shards.bounds == [(0, 1), (1, 2), (2, 3)]
    shards.close()


def test_few_batches_are_in_memory_at_a_time():
    made = pa.record_batch({"x": np.zeros(60_000), "label": np.arange(60_000) % 2})
    n_batches = 30

    def batches(n=n_batches):
        for _ in range(n):
            yield pa.record_batch(
                [pa.array(np.array(column)) for column in made.columns], names=["x", "label"]
            )

    scanned(lambda: batches(2))  # kernels are compiled
    tracemalloc.start()
    try:
        found = scanned(batches, n_threads=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    kept = found.n_rows * (8 + 8 + 4)  # target, key, rounded key
    all_batches = n_batches * made.nbytes
    assert peak < 1.2 * kept + all_batches / 4


# --- batches of any size


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 40), st.integers(1, 3))
def test_the_scan_does_not_depend_on_the_sizes_of_batches(sizes, chunk, n_threads):
    n_rows = sum(sizes)
    table = chosen(rows(max(1, n_rows), seed=n_rows), "label")
    cuts = np.cumsum([0, *sizes])
    batches = [
        pa.RecordBatch.from_arrays(
            [column.combine_chunks() for column in part.columns], names=part.column_names
        )
        for part in (table.slice(start, size) for start, size in zip(cuts[:-1], sizes, strict=True))
        if part.num_columns
    ]
    made = list(split_chunks(batches, chunk))
    assert [start for start, _ in made] == list(range(0, n_rows, chunk))
    if n_rows:
        found = scanned(lambda: iter(batches), n_threads=n_threads)
        whole = check_scan(found, features(table), table["label"])
        bins = find_bins(whole)
        np.testing.assert_array_equal(codes_of(found, bins), codes_of(whole, bins))
