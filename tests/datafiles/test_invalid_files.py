"""Files that cannot be read: each raises one line that names the file and the reason."""

import bz2
import csv
import gzip
import io
import lzma
import pickle
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from hedgerow.datafiles import DataFileError, read_data
from hedgerow.datafiles.writing import writer_of

parquet_bytes = writer_of("x.parquet")
ROWS = b"a,b\n" + b"1,2\n" * 1000
TABLE = pa.table({"a": list(range(1000)), "b": ["x", "y"] * 500})


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return file.getvalue()


def zip_of(name, data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


def compressed(codec):
    return pa.compress(ROWS, codec, asbytes=True)


def stream_bytes(table):
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


CUT = "compression is damaged or truncated"
DAMAGED = "damaged or truncated"
BAD = {
    "empty": (b"", "it is empty"),
    "only spaces": (b" \n\n\t\r\n", "it is empty"),
    "only a mark": (b"\xef\xbb\xbf", "it is empty"),
    "header only": (b"a,b\n", "a header of 2 names but no rows"),
    "header without end": (b"a,b", "a header of 2 names but no rows"),
    "no header": (b"5.1,3.5\n4.9,3.0\n", r"holds only numbers \(5\.1, 3\.5\)"),
    "short row": (b"a,b\n\n3\n", "line 3 has 1 field, but the header has 2 names"),
    "long row": (b'a,b\n"1\n2",2\n3,4,5\n', "line 4 has 3 fields, but the header has 2 names"),
    "long row after returns": (b"a,b\r1,2\r3,4,5\r", "line 3 has 3 fields"),
    "row names of R": (b"a,b\nr1,1,2\n", "line 2 has 3 fields"),
    "open quote in the last column": (b'a,b\n1,"2\n3,4\n5,6\n', "quote .* line 2 is never closed"),
    "open quote in the first column": (b'a,b\n1,2\n"1,2\n3,4\n', "quote .* line 3 is never closed"),
    "zero byte": (b"a,b\n1,2\n1,\x002\n", "line 3 holds a NUL byte"),
    "web page": (b"\n<!DOCTYPE html><html></html>", "it is a web page"),
    "packed web page": (gzip.compress(b"<html>"), "it is a web page"),
    "old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "it is an old Excel"),
    "tar": (b"a.csv".ljust(257, b"\0") + b"ustar", "it is a tar archive; decompress it first"),
    "ARFF": (b"@RELATION iris\n@ATTRIBUTE x NUMERIC\n@DATA\n1\n", "it is an ARFF file"),
    "long field in the header": (b"x" * (csv.field_size_limit() + 10) + b",y\n1,2\n", "is not a header of"),
    "NumPy archive": (zipped("a.npy"), "it is a NumPy archive"),
    "pickle": (pickle.dumps([1, 2]), "it is a Python pickle"),
    "pickled array": (pickle.dumps(np.arange(3)), "it is a Python pickle"),
    "JSON": (b'[["a", 1]]', "it is a JSON array, not of objects"),
    "JSON cut": (b'[{"a": 1}, {"a": 2', "it is JSON, but not JSON lines"),
    "JSON of other rows": (b'[{"a": 1}, [2]]', "it is JSON, but its row 2 is not an object"),
    "JSON of objects and lists": (b'{"a": [1]}\n{"a": "x"}\n{"a": {}}\n', "column 'a' holds Python objects"),
    "JSON of numbers that are too large": (
        b'[{"a": 1}, {"a": 123456789012345678901234567890}]',
        "column 'a'",
    ),
    "model": (b'\x40\0\0\0\0\0\0\0{"__metadata__":{"sha256":"0","hedgerow":"{}"}}', "it is a Hedgerow model"),
    "database": (b"SQLite format 3\0", "begins as an SQLite database but cannot be read"),
    "DuckDB database": (b"12345678DUCK", "begins as a DuckDB database but cannot be read"),
    "packed database": (gzip.compress(b"SQLite format 3\0"), "it is a database inside another file"),
    "workbook without content": (
        zipped("[Content_Types].xml", "xl/workbook.xml"),
        "begins as a workbook but",
    ),
    "zip of two files": (zipped("a.csv", "b.csv"), r"zip archive of 2 files \('a.csv', 'b.csv'\); name one"),
    "zip of nothing": (zipped("folder/"), "it is a zip archive without files"),
    "zip of a zip": (zip_of("a.zip", zipped("b.csv")), "it is a zip archive inside another one"),
    "zip cut": (zip_of("a.csv", ROWS)[:-30], "begins as a zip archive or workbook but is damaged"),
    "mixed encodings": (
        "Zoë,1\nJosé,2\n".encode() * 9 + b"caf\xe9,3\n",
        "line 19 is not UTF-8 .*mixes encodings",
    ),
    "JSON of several lines": (b'{\n "a": [1,\n 2]\n', "it is JSON, but not JSON lines"),
    "image": (b"\x89PNG\r\n\x1a\n", "it is an image"),
    "GIF": (b"GIF89a\x01\0\x01\0", "it is an image"),
    "ORC": (b"ORC\x0a\x12", "it is an ORC file"),
    "encrypted Parquet": (b"PARE\x15\x02", "it is an encrypted Parquet file"),
    "PDF": (b"%PDF-1.4\n1 0 obj\n", "it is a PDF document"),
    "R data": (b"RDX3\nX\n\0\0\0\3", "it is an R data file"),
    "R data in ASCII": (b"RDA3\nA\n3\n263169\n", "it is an R data file"),
    "junk": (bytes(range(1, 256)) * 4, "it is not text"),
    "gzip cut": (gzip.compress(ROWS)[:-12], f"its gzip {CUT}"),
    "gzip damaged": (gzip.compress(ROWS)[:-6] + b"abcdef", f"its gzip {CUT}"),
    "gzip head only": (b"\x1f\x8b", f"its gzip {CUT}"),
    "bzip2 cut": (bz2.compress(ROWS)[:-5], f"its bzip2 {CUT}"),
    "xz cut": (lzma.compress(ROWS)[:-9], f"its xz {CUT}"),
    "zstd cut": (compressed("zstd")[:-6], f"its Zstandard {CUT}"),
    "lz4 cut": (compressed("lz4")[:-6], f"its LZ4 {CUT}"),
    "packed nothing": (gzip.compress(b""), "it is empty"),
    "packed twice": (gzip.compress(gzip.compress(ROWS)), "compressed twice"),
    "Parquet cut": (parquet_bytes(TABLE)[:-20], f"begins as a Parquet file but is {DAMAGED}"),
    "Parquet head only": (b"PAR1", f"begins as a Parquet file but is {DAMAGED}"),
    "Parquet without rows": (parquet_bytes(TABLE[:0]), "it holds no rows"),
    "Parquet without columns": (parquet_bytes(pa.table({})), "it holds no"),
    "Arrow cut": (stream_bytes(TABLE)[:-1000], f"begins as an Arrow file but is {DAMAGED}"),
    "Arrow head only": (b"ARROW1\0\0", f"begins as an Arrow file but is {DAMAGED}"),
}


def test_read_data_rejects_bad_files_in_one_line(tmp_path):
    path = tmp_path / "data.csv"
    for what, (data, message) in BAD.items():
        path.write_bytes(data)
        with pytest.raises(DataFileError) as caught:
            read_data(path)
        text = str(caught.value)
        assert text.startswith(f"{path}: "), what
        assert text.isprintable(), what
        assert re.search(message, text), what


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acidents.csv", r"acidents\.csv: there is no such file; did you mean 'accidents\.csv\.gz'"),
        ("zzz.csv", r"zzz\.csv: there is no such file$"),
        ("no/accidents.csv", "there is no folder"),
        (".", "it is a folder; pass the name of a file"),
        ("a\0b", r"a\\x00b': no file can have that name$"),
        ("a\nb", r"a\\nb': there is no such file$"),
    ],
)
def test_read_data_rejects_paths_that_are_not_files(tmp_path, name, message):
    (tmp_path / "accidents.csv.gz").write_bytes(b"x")
    with pytest.raises(DataFileError, match=message):
        read_data(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied"), r"it may not be read \(permission denied\)"),
        (MemoryError(), "it does not fit into memory; read fewer columns or rows"),
        (OSError(5, "Input/output error"), r"it cannot be read \(.*Input/output error"),
    ],
)
def test_errors_of_the_system_start_with_the_path(tmp_path, monkeypatch, error, message):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(type(tmp_path), "open", fail)
    with pytest.raises(DataFileError, match=rf"data\.csv: {message}"):
        read_data(tmp_path / "data.csv")


CSV = b'name,size,"when"\n' + b'"Lee, ""Ann""",1.5,2024-01-01\nBob,,2024-01-02\n' * 5


@pytest.mark.parametrize(
    ("whole", "replacements"),
    [
        (parquet_bytes(TABLE[:50]), bytes(range(256))),
        (stream_bytes(TABLE[:50]), bytes(range(256))),
        (CSV, b'",;\n\r\t|0a\xe9 \0'),
    ],
    ids=["parquet", "arrow", "csv"],
)
def test_a_damaged_file_raises_one_line_or_gives_a_valid_table(tmp_path, whole, replacements):
    rng = np.random.default_rng(5)
    path = tmp_path / "data"
    for _ in range(150):
        data = bytearray(whole)
        for position in rng.integers(0, len(data), 4):
            data[position] = rng.choice(list(replacements))
        path.write_bytes(data)
        try:
            table = read_data(path)
        except DataFileError as error:
            assert str(error).isprintable()  # noqa: PT017 - either outcome is right
        else:
            table.validate(full=True)
            assert table.num_rows > 0
