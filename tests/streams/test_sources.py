"""Rows and columns of all kinds of sources, and sources that cannot be used."""

import decimal
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyarrow import feather, parquet

from hedgerow import DecisionStump, GradientBoostingClassifier
from hedgerow.datafiles import DataFileError
from hedgerow.io.models import to_bytes
from hedgerow.streams import Stream, reader
from hedgerow.streams.reader import StreamReader
from hedgerow.streams.table import StreamedTable
from stream_cases import check_scan, chosen, features, rows, scanned, write


def stump(source, **options):
    return DecisionStump().fit(source, target="label", **options)


# --- functions


def test_predict_reads_all_rows_of_an_iterator_that_can_be_read_once():
    table = chosen(rows(), "label")
    model = GradientBoostingClassifier(n_estimators=2).fit(features(table), table["label"])
    wanted = model.predict_proba(features(table))
    for once in (iter(table.to_batches(max_chunksize=100)), table.to_reader(max_chunksize=100)):
        np.testing.assert_array_equal(model.predict_proba(lambda once=once: once), wanted)


def test_a_function_is_called_once_for_each_pass_and_its_iterators_are_closed():
    table = chosen(rows(), "label")
    called = []

    def batches():
        called.append("open")
        try:
            yield from table.to_batches(max_chunksize=100)
        finally:
            called.append("closed")

    stump(batches)
    assert called == ["open", "closed"] * 2


def test_a_function_that_returns_the_same_iterator_again_is_rejected():
    once = iter(chosen(rows(), "label").to_batches(max_chunksize=100))
    with pytest.raises(ValueError, match="returns no batches when it is called again: it must return a new"):
        stump(lambda: once)


def test_a_list_of_paths_raises_with_advice(tmp_path):
    folder = write(chosen(rows(), "label"), tmp_path / "rows", cuts=(5,))
    with pytest.raises(ValueError, match=r"X is a list of paths: pass hedgerow.Stream\(X\)"):
        stump(sorted(folder.iterdir()))


# --- columns


def test_dictionaries_with_narrow_codes_may_differ_between_files(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):  # 100 categories each, 300 in all: the codes are of one byte
        words = pd.Categorical([f"{number}-{one}" for one in rng.permutation(100)])
        part = pd.DataFrame({"word": words, "label": rng.integers(0, 2, 100)})
        part.to_parquet(tmp_path / f"{number}.parquet")
        feather.write_feather(part, tmp_path / f"{number}.arrow")
    parts = [parquet.read_table(tmp_path / f"{number}.parquet") for number in range(3)]
    assert parts[0]["word"].type.index_type == pa.int8()
    words = pa.array([word for part in parts for word in part["word"].to_pylist()])
    X = pa.table({"word": words.dictionary_encode()})
    y = pa.concat_arrays([part["label"].combine_chunks() for part in parts])
    for source in (
        tmp_path / "*.parquet",
        tmp_path / "*.arrow",
        pyarrow.dataset.dataset([tmp_path / f"{number}.parquet" for number in range(3)]),
        lambda: parts,
    ):
        check_scan(scanned(source), X, y)
    model = GradientBoostingClassifier(n_estimators=2, min_samples_leaf=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(tmp_path / "*.arrow"), model.predict(X))
    # the target may be such a column too
    labels = scanned(lambda: [part.select(["word", "label"]) for part in parts], "word").scan.y
    assert labels.tolist() == words.to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 1, 1, 0], pa.int32()).cast(pa.date32()).dictionary_encode(),
        pa.array([decimal.Decimal(1), None, decimal.Decimal(2), None]).dictionary_encode(),
        pa.array(["a", "b", None, "a"], pa.string_view()),
    ],
    ids=["dates", "decimals", "views"],
)
def test_categories_of_types_that_arrow_cannot_join_without_rows(values):
    table = pa.table({"x": values, "label": [0, 1, 0, 1]})
    found = scanned(lambda: table.to_batches(max_chunksize=3), categorical_features=["x"])
    check_scan(found, table.select(["x"]), categorical_features=["x"])


def test_the_index_of_a_pandas_frame_is_not_a_feature(tmp_path):
    frame = chosen(rows(), "label").select(["x", "narrow", "label"]).to_pandas()
    mixed = frame.sample(frac=1, random_state=0)
    wanted = to_bytes(DecisionStump().fit(mixed[["x", "narrow"]], mixed["label"]))
    folder = tmp_path / "rows"
    folder.mkdir()
    mixed[:500].to_parquet(folder / "0.parquet")
    mixed[500:].reset_index(drop=True).to_parquet(folder / "1.parquet")  # this one has none
    assert "__index_level_0__" in parquet.read_schema(folder / "0.parquet").names
    for source in (folder, pyarrow.dataset.dataset(folder), lambda: [pa.RecordBatch.from_pandas(mixed)]):
        found = stump(source)
        assert found.feature_names_in_.tolist() == ["x", "narrow"]
        assert to_bytes(found) == wanted
    named = Stream(folder / "0.parquet", columns=["__index_level_0__", "x"])
    assert stump(named).feature_names_in_.tolist() == ["__index_level_0__", "x"]
    mixed.rename_axis("label_of_row").to_parquet(folder / "0.parquet")
    assert stump(folder / "0.parquet").feature_names_in_.tolist() == ["x", "narrow"]


@pytest.mark.parametrize("note", [b"", b"[]", b"null", b'{"index_columns": 3}', b'{"columns": []}'])
def test_invalid_pandas_metadata_are_ignored(note):
    table = pa.table({"x": [1.0, 2.0], "label": [0, 1]}).replace_schema_metadata({b"pandas": note})
    check_scan(scanned(table.to_batches), table.select(["x"]))


# --- files


@pytest.mark.parametrize(
    ("kind", "change", "text"),
    [
        ("parquet", lambda table: table.drop_columns(["z"]), "it has no column 'z' any more"),
        ("arrow", lambda table: table.set_column(1, "z", [["a"] * 100]), "column 'z' was double and is str"),
    ],
    ids=["parquet without a column", "arrow with another type"],
)
def test_a_file_with_other_columns_in_the_second_pass_raises(tmp_path, monkeypatch, kind, change, text):
    table = pa.table({"x": np.arange(100.0), "z": np.arange(100.0), "label": np.arange(100) % 2})
    folder = write(table, tmp_path / "rows", kind=kind)
    fill = StreamedTable._fill

    def changed(*args, **options):
        write(change(table), folder, kind=kind)
        fill(*args, **options)

    monkeypatch.setattr(StreamedTable, "_fill", changed)
    with pytest.raises(ValueError, match=f"part-00.{kind} was changed while it was read: {text}"):
        stump(folder)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda path: path.write_bytes(b""), "it is an empty file; download or write it again"),
        (lambda path: path.write_bytes(path.read_bytes()[9:]), "it is not a Parquet or Arrow file"),
        (lambda path: path.unlink() or path.symlink_to("nowhere"), "there is no such file"),
    ],
    ids=["empty", "without its head", "broken link"],
)
def test_a_broken_file_in_a_folder_raises(tmp_path, spoil, text):
    folder = write(chosen(rows(), "label"), tmp_path / "rows", cuts=(500,))
    spoil(folder / "part-01.parquet")
    with pytest.raises(DataFileError, match=f"part-01.parquet: {text}"):
        stump(folder)


def test_a_folder_of_partitions_raises_with_advice(tmp_path):
    table = chosen(rows(), "label").append_column("year", pa.array(np.arange(1000) // 500 + 2000))
    parquet.write_to_dataset(table, tmp_path / "rows", partition_cols=["year"])
    with pytest.raises(DataFileError, match=r"pass pyarrow.dataset.dataset\(path, partitioning='hive'\)"):
        stump(tmp_path / "rows")
    partitioned = pyarrow.dataset.dataset(tmp_path / "rows", partitioning="hive")
    assert stump(partitioned).feature_names_in_.tolist()[-1] == "year"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_pipe_raises_at_once(tmp_path):
    os.mkfifo(tmp_path / "rows.parquet")
    for source in (tmp_path / "rows.parquet", tmp_path / "*.parquet", tmp_path):
        with pytest.raises(DataFileError, match="it is a pipe or a device, which cannot be read twice"):
            stump(source)


def test_a_path_on_another_machine_raises_with_advice():
    with pytest.raises(DataFileError, match=r"for files on other machines pass a pyarrow.dataset"):
        stump("s3://bucket/rows.parquet")


def test_a_damaged_file_of_a_dataset_raises_one_line(tmp_path):
    folder = write(chosen(rows(), "label"), tmp_path / "rows", cuts=(500,))
    dataset, path = pyarrow.dataset.dataset(folder), folder / "part-01.parquet"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataFileError, match=r"^the dataset cannot be read .*part-01.parquet"):
        stump(dataset)


def test_batches_of_a_dataset_come_in_the_order_of_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "CHUNK_ROWS", 1000)
    sizes = [3, 5000, 1, 2000, 0, 500, 9000, 2]
    table = pa.table({"x": np.arange(sum(sizes)), "label": np.arange(sum(sizes)) % 2})
    folder = write(table, tmp_path / "rows", cuts=np.cumsum(sizes)[:-1].tolist(), row_group=900)
    check_scan(scanned(pyarrow.dataset.dataset(folder)), table.select(["x"]), table["label"])


def test_unused_columns_may_differ_between_files(tmp_path):
    table = chosen(rows(), "label")
    folder = write(table.append_column("note", [["a"] * 1000]), tmp_path / "rows", cuts=(500,))
    second = table.slice(500).append_column("note", [[1] * 500]).append_column("more", [[1] * 500])
    parquet.write_table(second, folder / "part-01.parquet")
    with pytest.raises(ValueError, match=r"part-01.parquet has a column 'more'"):
        scanned(folder)
    parts = [parquet.read_table(path) for path in sorted(folder.iterdir())]
    names = features(table).column_names
    for source in (folder, lambda: parts):
        check_scan(scanned(source, columns=names), features(table), table["label"])
    model = GradientBoostingClassifier(n_estimators=2).fit(features(table), table["label"])
    parquet.write_table(features(second), folder / "part-01.parquet")  # rows to predict have no label
    np.testing.assert_array_equal(model.predict(folder), model.predict(features(table)))
    parquet.write_table(second.drop_columns(["x"]), folder / "part-01.parquet")
    with pytest.raises(ValueError, match=r"part-01.parquet has no column 'x', which .*part-00.parquet has"):
        model.predict(folder)


def test_a_column_that_is_null_in_the_first_batch_only_raises():
    first = pa.table({"never": pa.nulls(2), "x": pa.nulls(2), "label": [0, 1]})
    second = pa.table({"never": pa.nulls(2), "x": [1.0, 2.0], "label": [0, 1]})
    with pytest.raises(ValueError, match="column 'x' is all null in batch 0 of the function"):
        scanned(lambda: [first, second])


def test_a_large_dictionary_is_not_read_for_every_chunk(monkeypatch):
    monkeypatch.setattr(reader, "CHUNK_ROWS", 100)
    words = pa.array([f"{number:05}" for number in range(5000)])
    codes = np.random.default_rng(0).integers(0, len(words), 1000)
    whole = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes % 10 == 0), words)
    table = pa.table({"word": whole, "other": whole, "label": codes % 2})
    opened = StreamReader.open(Stream(lambda: table.to_batches(max_chunksize=250), "label"))
    sizes = list(
        opened.map_chunks(lambda chunk: len(chunk[1]["word"].unify_dictionaries().chunk(0).dictionary), "", 0)
    )
    assert len(sizes) == 10
    assert max(sizes) <= 100
    check_scan(scanned(lambda: table.to_batches(max_chunksize=250)), features(table), table["label"])
