"""Files that are as files should be, in every form that read_data knows."""

import bz2
import csv
import gzip
import io
import lzma
import os
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from hedgerow.datafiles import DataFileError, delimited, files, read_data, write_data

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


def written(folder, data, name="data.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(folder, data):
    return read_data(written(folder, data)).to_pydict()


def packed_by_arrow(data, codec):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def parquet_bytes(table):
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def ipc_bytes(table, open_it):
    sink = pa.BufferOutputStream()
    with open_it(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.data
def test_the_accidents_are_read_in_spite_of_their_mark_and_line_ends():
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder:
        pytest.skip("HEDGEROW_DATA names no folder of data")
    table = read_data(Path(folder, "tabular", "us_accidents.csv.gz"))
    assert table.shape == (42183, 24)
    assert table.column_names[0] == "HOUR_I_R"
    assert table.column_names[-1] == "MAX_SEV_IR"
    assert set(table.schema.types) == {pa.int64()}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_every_kind_of_line_end_is_read(tmp_path, end, mark, last):
    text = mark + end.join(["a,b", "1,x", "2,y"]) + (end if last else "")
    assert read(tmp_path, text) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("separator", list(delimited.SEPARATORS))
def test_the_separator_is_found_out(tmp_path, separator):
    rows = [["first name", "size"], ["Ann", "1"], ["Bob", "2"]]
    text = "".join(separator.join(row) + "\n" for row in rows)
    assert read(tmp_path, text) == {"first name": ["Ann", "Bob"], "size": [1, 2]}


def test_the_separator_is_the_one_that_cuts_all_lines_alike(tmp_path):
    assert read(tmp_path, "a,b;c\n1,x;y\n2,z\n") == {"a": [1, 2], "b;c": ["x;y", "z"]}


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: packed_by_arrow(data, "zstd"),
        lambda data: packed_by_arrow(data, "lz4"),
        lambda data: gzip.compress(data[:4]) + gzip.compress(data[4:]),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "lz4", "two members"],
)
def test_compression_is_reported_by_content(tmp_path, pack):
    assert read(tmp_path, pack(b"a,b\n1,x\n2,\n3,z\n")) == {"a": [1, 2, 3], "b": ["x", None, "z"]}
    assert read(tmp_path, pack(parquet_bytes(TABLE))) == TABLE.to_pydict()


@pytest.mark.parametrize(
    "data",
    [
        parquet_bytes(TABLE),
        ipc_bytes(TABLE, ipc.new_file),
        ipc_bytes(TABLE, ipc.new_stream),
    ],
    ids=["parquet", "arrow file", "arrow stream"],
)
def test_table_files_are_reported_by_content(tmp_path, data):
    assert read_data(written(tmp_path, data)).equals(TABLE)


def test_compressed_feather_is_read(tmp_path):
    feather.write_feather(TABLE, tmp_path / "x.csv", compression="lz4")
    assert read_data(tmp_path / "x.csv").equals(TABLE)


@pytest.mark.parametrize(
    "suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".parquet", ".arrow", ".feather"]
)
def test_what_is_written_is_read_and_columns_can_be_chosen(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    write_data(TABLE, path)
    assert read_data(path).to_pydict() == TABLE.to_pydict()
    assert read_data(str(path), columns=["b", "a"]).column_names == ["b", "a"]
    assert read_data(path, columns=["b"]).to_pydict() == {"b": ["x", None, "z"]}
    with pytest.raises(DataFileError, match=r"there is no column 'A'; did you mean 'a'\?"):
        read_data(path, columns=["A"])
    first = path.read_bytes()
    write_data(TABLE, path)
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_quotes_hold_separators_line_ends_and_quotes(tmp_path):
    text = 'name,"long\nname"\n"Lee, Ann","one\ntwo"\n"say ""hi""",5" pipe\n'
    assert read(tmp_path, text) == {"name": ["Lee, Ann", 'say "hi"'], "long\nname": ["one\ntwo", '5" pipe']}


def test_empty_lines_do_not_count(tmp_path):
    assert read(tmp_path, "\n \na,b\n\n1,2\n\n\n3,4\n\n") == {"a": [1, 3], "b": [2, 4]}


def test_thousands_of_columns_are_read_though_a_row_is_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 1000)
    names = [f"{'column' * 60}{number}" for number in range(3000)]  # a header beyond what is sniffed
    row = ",".join(["some text"] * 3000)
    table = read_data(written(tmp_path, ",".join(names) + f"\n{row}\n{row}\n"))
    assert table.column_names == names
    assert table.column(2999).to_pylist() == ["some text"] * 2


def test_columns_without_a_name_are_called_by_their_place(tmp_path):
    assert read(tmp_path, ",a,column_4,\n0,1,2,\n1,3,4,\n") == {
        "column_1": [0, 1],
        "a": [1, 3],
        "column_4": [2, 4],
        "column_4_": [None, None],
    }


@pytest.mark.parametrize("header", ["0,1,2", "2019,2020,2021"])
def test_numbers_that_count_up_may_be_names(tmp_path, header):
    assert list(read(tmp_path, f"{header}\n5.1,3.5,1.4\n")) == header.split(",")


def test_types_do_not_depend_on_blocks(tmp_path, monkeypatch):
    rows = 5000
    late = ["1"] * (rows - 1) + ["x"]
    fraction = ["1"] * (rows - 1) + ["0.5"]
    first = ["", *["7"] * (rows - 1)]
    lines = [",".join(row) for row in zip(late, fraction, first, strict=True)]
    path = written(tmp_path, "a,b,c\n" + "\n".join(lines) + "\n")
    whole = read_data(path)
    assert [str(kind) for kind in whole.schema.types] == ["string", "double", "int64"]
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    assert read_data(path).equals(whole)


def test_numbers_are_preserved_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=20_000)
    table = pa.table({f"c{column}": values for column in range(5)})
    write_data(table, tmp_path / "x.csv")
    again = read_data(tmp_path / "x.csv")
    assert np.array_equal(again["c4"].to_numpy(), values)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = written(tmp_path, "old", "x.csv")
    nested = pa.table({"a": [[1], [2]]})
    with pytest.raises(DataFileError, match=r"x\.csv: the table cannot be written \(.*\)") as caught:
        write_data(nested, path)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    with pytest.raises(DataFileError, match=r"x\.txt: the name must end in \.csv"):
        write_data(TABLE, tmp_path / "x.txt")
    with pytest.raises(DataFileError, match=r"it cannot be written \(the folder .* does not exist\)"):
        write_data(TABLE, tmp_path / "no" / "x.csv")


# --- edges


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
def test_errors_of_the_system_begin_with_the_file(tmp_path, monkeypatch, error, words):
    path = tmp_path / "good.csv"
    path.write_text("a,b\n1,2\n")

    def fail(*_):
        raise error

    monkeypatch.setattr(files, "_content", fail)
    with pytest.raises(DataFileError, match=rf"good\.csv.*{words}"):
        read_data(path)
