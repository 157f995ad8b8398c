"""Tables in files that cannot be read, that change, or that do not fit raise one line and leave nothing."""

import copy
import itertools
import re
import shutil
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hedgerow import DecisionStump, GradientBoostingClassifier
from hedgerow.binning import find_bins
from hedgerow.datafiles import DataFileError
from hedgerow.streams import Stream, open_stream, reader
from hedgerow.streams.table import CodeStorage
from stream_cases import TupleFactory, chosen, rows, scanned, write


def message_of(call, kind=ValueError):
    """The message of an error, which must be one line."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert message
    assert "\n" not in message
    return message


def put(folder, **columns):
    """Write a file of these columns; its name is the number of files before it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


# --- files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none.parquet", "none.parquet: there is no such file"),
        ("none-*.parquet", "none-*.parquet: no file matches"),
        ("empty", "empty: the folder has no Parquet or Arrow files"),
        ("rows.csv", "rows.csv: it is not a Parquet or Arrow file, and only these are read in batches;"),
        ("cut.parquet", "cut.parquet: it starts as a Parquet file but cannot be read"),
        ("", "cannot be the name of a file"),
        ("a,b\n" * 2000, "it cannot be read (File name too long)"),
    ],
)
def test_files_that_cannot_be_read_raise_with_their_name(tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    whole = put(tmp_path / "rows", x=np.zeros(1000), label=np.arange(1000)).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    assert text in message_of(lambda: scanned(name), DataFileError)


def test_a_file_with_damaged_pages_raises_with_its_name(tmp_path):
    path = put(tmp_path / "rows", x=np.random.default_rng(0).random(5000), label=np.arange(5000))
    whole = bytearray(path.read_bytes())
    whole[4:100] = b"\xff" * 96  # the head of a page
    path.write_bytes(whole)
    message = message_of(lambda: scanned(path), DataFileError)
    assert message.startswith(str(path))


# --- columns


def test_different_schemas_raise_with_file_column_and_types(tmp_path):
    folder = tmp_path / "rows"
    put(folder, x=[1.0], label=[0])
    second = put(folder, x=["a"], label=[1])
    types = f"column 'x' is string in {second} and double in {folder / '0.parquet'}"
    assert message_of(lambda: scanned(folder)) == f"{types}: write both with the same types"
    second.unlink()
    put(folder, label=[1])
    assert "1.parquet has no column 'x', which " in message_of(lambda: scanned(folder))
    second.unlink()
    put(folder, x=[1.0], label=[1], more=[2])
    assert "1.parquet has a column 'more', which " in message_of(lambda: scanned(folder))


def test_columns_may_have_another_order_in_later_files(tmp_path):
    folder = tmp_path / "rows"
    put(folder, x=[1.0], z=[2.0], label=[0])
    put(folder, label=[1], z=[4.0], x=[3.0])
    found = scanned(folder)
    np.testing.assert_array_equal(found.scan.sample, [[1.0, 2.0], [3.0, 4.0]])
    assert found.scan.y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": "labl"}, "target='labl': in .* there is no column 'labl'; did you mean 'label'?"),
        ({"sample_weight": "w"}, "sample_weight='w': in .* there is no column 'w'"),
        ({"sample_weight": "label"}, "sample_weight='label' is already the column of the target"),
        ({"columns": ["x", "label"]}, "columns must not contain 'label', which is the target"),
        ({"columns": ["x", "x"]}, r"columns must not contain a name twice; got \['x', 'x'\]"),
        ({"columns": ["y"]}, "columns='y': in .* there is no column 'y'"),
        ({}, "Column 'text' holds strings .for example 'a'.. If its values are categories"),
        ({"columns": ["nested"]}, "Column 'nested' has type List.*, which is not supported"),
        ({"columns": ["wait"]}, "Column 'wait' has type Duration.*, which is not supported"),
    ],
)
def test_missing_and_unsupported_columns_are_rejected(tmp_path, options, text):
    columns = {"x": [1.0], "text": ["a"], "label": [0]}
    others = {"nested": pa.array([[1]]), "wait": pa.array([0], pa.duration("s"))} if options else {}
    with pytest.raises(ValueError, match=text):
        scanned(put(tmp_path / "rows", **columns, **others), **{"target": "label"} | options)


def test_rows_features_and_a_target_are_required(tmp_path):
    path = put(tmp_path / "rows", x=np.empty(0), label=np.empty(0))
    assert "0 sample(s)" in message_of(lambda: scanned(path))
    assert "0 feature(s)" in message_of(lambda: scanned(put(tmp_path / "rows", label=[0, 1])))
    batch = pa.record_batch({"x": pa.array([], pa.float64()), "label": pa.array([], pa.int64())})
    assert "0 sample(s)" in message_of(lambda: scanned(lambda: [batch]))
    assert "returns no batches" in message_of(lambda: scanned(lambda: iter(())))
    full = put(tmp_path / "rows", x=[0.0, 1.0], label=[0, 1])
    message = message_of(lambda: DecisionStump().fit(full))
    assert message == "X is in files: name the column of its target, fit(X, target=...)"


def test_missing_targets_and_negative_weights_are_rejected_as_in_memory(tmp_path):
    path = put(tmp_path / "rows", x=[0.0, 1.0], label=["a", None], weight=[1.0, 1.0])
    message = message_of(lambda: DecisionStump().fit(path, target="label", sample_weight="weight"))
    assert message == "y has a missing label: row 1 is None; every row needs a class"
    path = put(tmp_path / "rows", x=[0.0, 1.0], label=["a", "b"], weight=[1.0, -1.0])
    message = message_of(lambda: DecisionStump().fit(path, target="label", sample_weight="weight"))
    assert message == "sample_weight[1] is -1.0; weights must be finite and >= 0"


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"target": 3}, TypeError, "target must be the name of a column where X is a stream; got a int"),
        ({"memory_limit": -1}, ValueError, "memory_limit must be a number of bytes, at least 0, .*; got -1"),
        ({"memory_limit": float("nan")}, ValueError, "memory_limit must be .*; got nan"),
        ({"memory_limit": "2GB"}, ValueError, "memory_limit must be .*; got '2GB'"),
        ({"folder": "no folder"}, ValueError, "folder must be a folder that exists, or None; got 'no "),
        ({"columns": "x"}, TypeError, "columns must be a list of names or None; got 'x'"),
        ({"columns": [0, 1]}, TypeError, "columns must be names of columns; got 0"),
        ({"source": 5}, TypeError, "source must be a path, a glob, .*; got 5"),
        ({"source": []}, TypeError, r"source must be .*; got \[\]"),
    ],
)
def test_parameters_of_a_stream_are_checked(options, kind, text):
    with pytest.raises(kind, match=text):
        Stream(**{"source": "rows.parquet"} | options)


def test_contradictory_names_of_columns_are_rejected():
    stream = Stream("rows.parquet", "label")
    assert "but the Stream has target='label'" in message_of(lambda: open_stream(stream, "other"))
    assert open_stream(stream, "label", "w").sample_weight == "w"
    message = message_of(lambda: DecisionStump().fit("rows.parquet", [0, 1]), TypeError)
    assert message == "y is a list, and X is in files: it must be the name of a column"
    message = message_of(lambda: DecisionStump().fit("rows.parquet", "a", target="b"))
    assert message.startswith("y and target are both passed")


def test_an_iterator_that_can_be_read_once_is_rejected():
    table = pa.table({"x": [1.0]})
    for once in (table.to_reader(), (batch for batch in table.to_batches())):
        message = message_of(lambda once=once: DecisionStump().fit(once, target="x"), TypeError)
        assert re.search(r"X must be readable twice; got a \w+, .* pass a function that returns one", message)


# --- functions


def test_a_function_must_return_batches():
    message = message_of(lambda: scanned(lambda: 3), TypeError)
    assert message == "the function <lambda> must return an iterator of pyarrow record batches; got a int"
    message = message_of(lambda: scanned(lambda: [1]), TypeError)
    assert message == "batch 0 of the function <lambda> must be a pyarrow RecordBatch; got a int"
    batches = [pa.record_batch({"x": [1.0], "label": [0]}), pa.record_batch({"x": ["a"], "label": [0]})]
    message = message_of(lambda: scanned(lambda: batches))
    assert message.startswith(
        "column 'x' is string in batch 1 of the function <lambda> and double in batch 0 of"
    )
    batches = [pa.record_batch({"x": pa.nulls(1), "label": [0]}), pa.record_batch({"x": [1.0], "label": [0]})]
    assert "the first batch must have the type of the others" in message_of(lambda: scanned(lambda: batches))


def test_rows_that_change_between_the_passes_raise():
    first = pa.table({"x": np.arange(100.0), "label": np.arange(100) % 2})
    changed = first.set_column(0, "x", pa.array(np.arange(100.0)[::-1]))
    for second, text in (
        (first.slice(0, 99), "it had 100 rows, and now has 99"),
        (pa.concat_tables([first, first]), "it had 100 rows, and now has more"),
        (changed, "row 0 has another value in column 'x'"),
    ):
        passes = [first, second]

        def batches(passes=passes):
            return iter(passes.pop(0).to_batches())

        message = message_of(lambda batches=batches: DecisionStump().fit(batches, target="label"))
        assert message == f"the function batches must return the same rows in both passes: {text}"


def test_an_error_of_the_function_is_raised_and_its_threads_end():
    before = threading.active_count()
    table = chosen(rows(2000), "label")

    def batches():
        yield from table.to_batches(max_chunksize=100)
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        scanned(batches)
    assert threading.active_count() == before


# --- storage


@pytest.fixture
def table_in_files(tmp_path):
    """Give a table in files, its bins, and a folder for codes."""
    folder = write(chosen(rows(), "label"), tmp_path / "rows")
    (tmp_path / "codes").mkdir()
    found = scanned(folder, memory_limit=0, folder=tmp_path / "codes")
    return found, find_bins(found), tmp_path / "codes"


def test_a_full_disk_raises_before_rows_are_read(table_in_files, monkeypatch):
    found, bins, folder = table_in_files
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 100))
    monkeypatch.setattr(type(found._reader), "map_chunks", lambda *_: pytest.fail("rows were read"))
    message = message_of(lambda: found.make_shards(TupleFactory(by_row=True), bins, {}, 1), OSError)
    assert message == (
        f"folder={str(folder)!r} has 100 bytes free, and the codes of the rows need 8.0 kB: pass another "
        "one, Stream(folder=...), or raise Stream(memory_limit=...)"
    )


def test_a_folder_that_cannot_be_written_is_named(table_in_files, monkeypatch):
    found, bins, folder = table_in_files

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    message = message_of(lambda: found.make_shards(TupleFactory(by_row=True), bins, {}, 1), OSError)
    assert message.startswith(
        f"folder={str(folder)!r} cannot store the codes of the rows (Permission denied)"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_pass_frees_its_storage(table_in_files, monkeypatch, error):
    found, bins, folder = table_in_files
    storages = []
    make = CodeStorage.__init__

    def made(storage, *args):
        make(storage, *args)
        storages.append(storage)

    monkeypatch.setattr(CodeStorage, "__init__", made)
    monkeypatch.setattr(reader, "CHUNK_ROWS", 100)
    calls = itertools.count()

    def stopped(*_):
        if next(calls) == 3:
            raise error

    monkeypatch.setattr(type(found), "_compare", stopped)
    with pytest.raises(error):
        found.make_shards(TupleFactory(by_row=True), bins, {}, 2)
    (storage,) = storages
    assert storage.is_file
    assert storage._memory is None
    assert not list(folder.iterdir())


def test_a_factory_that_fails_frees_the_storage(table_in_files):
    found, bins, folder = table_in_files

    class Failing(TupleFactory):
        def __call__(self, *_):
            raise ValueError("no shard")

    with pytest.raises(ValueError, match="no shard"):
        found.make_shards(Failing(by_row=True), bins, {}, 2)
    assert not list(folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="a file without a name is Linux's")
def test_the_mapped_file_has_no_name_and_its_space_is_freed(table_in_files):
    """Without a name nothing of it is left, however the process ends."""
    found, bins, folder = table_in_files
    shards = found.make_shards(TupleFactory(by_row=True), bins, {}, 2)
    assert not list(folder.iterdir())
    codes = shards.shards[0][0]
    assert codes.any()
    shards.close()
    assert not codes.any()  # the pages are gone, although the array is still referenced


@pytest.mark.parametrize(
    ("n_bytes", "limit", "is_file"),
    [(100, 128, False), (129, 128, True), (100, np.inf, False), (448, None, False), (640, None, True)],
)
def test_codes_above_the_limit_or_half_of_the_memory_are_in_a_file(monkeypatch, n_bytes, limit, is_file):
    monkeypatch.setenv("HEDGEROW_MEMORY", "1000b")
    assert CodeStorage([n_bytes], limit, None).is_file == is_file


def test_a_model_of_rows_in_files_can_be_copied_and_no_longer_needs_them(tmp_path):
    table = chosen(rows(), "label")
    model = GradientBoostingClassifier(n_estimators=2).fit(write(table, tmp_path / "rows"), target="label")
    shutil.rmtree(tmp_path / "rows")
    X = table.drop_columns(["label"])
    np.testing.assert_array_equal(copy.deepcopy(model).predict(X), model.predict(X))
