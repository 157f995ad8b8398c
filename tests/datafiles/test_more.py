"""Data files at their edges: letters cut in two, archives, dates out of range, old files, no columns."""

import csv
import io
import tarfile

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from hedgerow.datafiles import DataFileError, delimited, files, read_data
from hedgerow.datafiles.conversion import to_timestamps


def test_a_letter_cut_in_two_where_the_sniffing_ends_is_no_error(tmp_path):
    """The beginning of a file is looked at for its separator; it may end within a letter of two bytes."""
    path = tmp_path / "long.csv"
    head = "name,y\n"
    body = "a" + "é" * delimited._SNIFFED_BYTES
    for shift in ("", "x"):
        path.write_text(f"{head}{shift}{body},1\nb,2\n", encoding="utf-8")
        assert read_data(path).num_rows == 2


def test_a_header_beyond_the_limit_of_a_field_is_refused(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("x" * (csv.field_size_limit() + 10) + ",y\n1,2\n")
    with pytest.raises(DataFileError, match=r"its first line is not a header of names"):
        read_data(path)


def test_a_late_byte_that_is_not_utf8_names_its_line(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"name,y\n" + b"abc,1\n" * 300_000 + b"caf\xe9,1\n")
    with pytest.raises(DataFileError, match=r"UTF-8"):
        read_data(path)


def test_an_archive_and_an_arff_file_are_called_by_their_names(tmp_path):
    path = tmp_path / "data.csv"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("a.csv")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"a,b\n"))
    path.write_bytes(packed.getvalue())
    with pytest.raises(DataFileError, match=r"a tar archive; decompress_one it first"):
        read_data(path)
    path.write_text("@RELATION iris\n@ATTRIBUTE x NUMERIC\n@DATA\n1\n")
    with pytest.raises(DataFileError, match=r"an ARFF file"):
        read_data(path)


def test_dates_out_of_reach_are_refused_with_their_column():
    far = pa.chunked_array([pa.array([2**62], pa.timestamp("s"))])
    with pytest.raises(DataFileError, match=r"column 'born' holds dates out of range"):
        to_timestamps(far, "born")


def test_a_table_without_columns_is_refused(tmp_path):
    path = tmp_path / "none.parquet"
    parquet.write_table(pa.table({"a": [1, 2]}).select([]), path)
    with pytest.raises(DataFileError, match=r"it holds no (columns|rows)"):
        read_data(path)


@pytest.mark.filterwarnings("ignore:Feather V1")  # Arrow will not read it for ever
def test_a_feather_file_of_the_first_version_is_read(tmp_path):
    path = tmp_path / "old.feather"
    table = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})
    feather.write_feather(table, str(path), version=1)
    assert read_data(path).equals(table)
    assert read_data(path, columns=["b"]).column_names == ["b"]
    with pytest.raises(DataFileError, match=r"'c'"):
        read_data(path, columns=["c"])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), r"it does not fit into memory; read fewer columns or rows"),
        (OSError(5, "Input/output error"), r"it cannot be read \(.*Input/output error"),
    ],
)
def test_what_the_machine_refuses_begins_with_the_file(tmp_path, monkeypatch, error, words):
    path = tmp_path / "good.csv"
    path.write_text("a,b\n1,2\n")

    def fail(*_):
        raise error

    monkeypatch.setattr(files, "_content", fail)
    with pytest.raises(DataFileError, match=rf"good\.csv.*{words}"):
        read_data(path)
