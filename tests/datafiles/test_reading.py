"""Files in every format that read_data reads and write_data writes."""

import bz2
import gzip
import itertools
import lzma
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from hedgerow.datafiles import DataFileError, delimited, read_data, write_data
from hedgerow.datafiles.writing import writer_of

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


def written(folder, data, name="data.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(folder, data):
    return read_data(written(folder, data)).to_pydict()


@pytest.mark.data
def test_a_file_with_a_byte_order_mark_and_carriage_returns_is_read():
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder:
        pytest.skip("HEDGEROW_DATA names no folder of data")
    table = read_data(Path(folder, "tabular", "us_accidents.csv.gz"))
    assert table.shape == (42183, 24)
    assert table.column_names[0] == "HOUR_I_R"
    assert table.column_names[-1] == "MAX_SEV_IR"
    assert set(table.schema.types) == {pa.int64()}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_read(tmp_path, end):
    for mark, last in itertools.product(("", "\ufeff"), ("", end)):
        text = mark + end.join(["a,b", "1,x", "2,y"]) + last
        assert read(tmp_path, text) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("separator", list(delimited.SEPARATORS))
def test_the_separator_is_detected(tmp_path, separator):
    rows = [["first name", "size"], ["Ann", "1"], ["Bob", "2"]]
    text = "".join(separator.join(row) + "\n" for row in rows)
    assert read(tmp_path, text) == {"first name": ["Ann", "Bob"], "size": [1, 2]}


def test_the_separator_gives_all_lines_equally_many_fields(tmp_path):
    assert read(tmp_path, "a,b;c\n1,x;y\n2,z\n") == {"a": [1, 2], "b;c": ["x;y", "z"]}


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: pa.compress(data, "zstd", asbytes=True),
        lambda data: pa.compress(data, "lz4", asbytes=True),
        lambda data: gzip.compress(data[:4]) + gzip.compress(data[4:]),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "lz4", "two members"],
)
def test_compression_is_detected_from_the_content(tmp_path, pack):
    assert read(tmp_path, pack(b"a,b\n1,x\n2,\n3,z\n")) == {"a": [1, 2, 3], "b": ["x", None, "z"]}
    assert read(tmp_path, pack(writer_of("x.parquet")(TABLE))) == TABLE.to_pydict()


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    "write",
    [parquet.write_table, write_stream, lambda *args: feather.write_feather(*args, compression="lz4")],
    ids=["parquet", "arrow stream", "compressed arrow file"],
)
def test_the_format_of_table_files_is_detected_from_their_content(tmp_path, write):
    write(TABLE, tmp_path / "x.csv")
    assert read_data(tmp_path / "x.csv").equals(TABLE)


@pytest.mark.parametrize(
    "suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".parquet", ".arrow", ".feather"]
)
def test_written_tables_are_read_and_columns_can_be_chosen(tmp_path, suffix):
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


def test_quoted_fields_may_contain_separators_line_ends_and_quotes(tmp_path):
    text = 'name,"long\nname"\n"Lee, Ann","one\ntwo"\n"say ""hi""",5" pipe\n'
    assert read(tmp_path, text) == {"name": ["Lee, Ann", 'say "hi"'], "long\nname": ["one\ntwo", '5" pipe']}


def test_empty_lines_are_ignored(tmp_path):
    assert read(tmp_path, "\n \na,b\n\n1,2\n\n\n3,4\n\n") == {"a": [1, 3], "b": [2, 4]}


def test_a_row_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 1000)
    names = [f"{'column' * 60}{number}" for number in range(3000)]  # a header of more bytes than are sniffed
    row = ",".join(["some text"] * 3000)
    table = read_data(written(tmp_path, ",".join(names) + f"\n{row}\n{row}\n"))
    assert table.column_names == names
    assert table.column(2999).to_pylist() == ["some text"] * 2


def test_columns_without_a_name_are_named_by_their_position(tmp_path):
    assert read(tmp_path, ",a,column_4,\n0,1,2,\n1,3,4,\n") == {
        "column_1": [0, 1],
        "a": [1, 3],
        "column_4": [2, 4],
        "column_4_": [None, None],
    }


@pytest.mark.parametrize("header", ["0,1,2", "2019,2020,2021"])
def test_consecutive_numbers_may_be_names(tmp_path, header):
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


def test_numbers_are_preserved_exactly(tmp_path):
    values = np.random.default_rng(0).normal(size=5000)
    table = pa.table({f"c{column}": values for column in range(5)})
    write_data(table, tmp_path / "x.csv")
    again = read_data(tmp_path / "x.csv")
    assert np.array_equal(again["c4"].to_numpy(), values)


def test_a_failed_write_keeps_the_old_file(tmp_path):
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


def test_the_inspected_bytes_may_end_within_a_letter(tmp_path):
    """The separator is inferred from the first bytes of a file, which may end within a letter."""
    path = tmp_path / "long.csv"
    head = "name,y\n"
    body = "a" + "é" * (delimited._SNIFFED_BYTES // 2 + 10)
    for shift in ("", "x"):
        path.write_text(f"{head}{shift}{body},1\nb,2\n", encoding="utf-8")
        assert read_data(path).num_rows == 2


@pytest.mark.filterwarnings("ignore:Feather V1")  # Arrow will not read it for ever
def test_feather_version_1_is_read(tmp_path):
    path = tmp_path / "old.feather"
    table = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})
    feather.write_feather(table, str(path), version=1)
    assert read_data(path).equals(table)
    assert read_data(path, columns=["b"]).column_names == ["b"]
    with pytest.raises(DataFileError, match=r"'c'"):
        read_data(path, columns=["c"])
