"""Detect the format of a data file from its first bytes; the name of the file is not used.

A data file is delimited text, JSON objects, a Parquet or an Arrow file, each possibly compressed, a workbook
of Excel, a zip archive of one of them, or a database of SQLite or DuckDB. Other formats (an old workbook, a
web page, a pickle) are recognised and refused with a message that names them.
"""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable

from hedgerow.datafiles.errors import DataFileError, one_line

# Formats that can be read. Whether the rest of the file is complete is checked when it is read.
PARQUET, ARROW_FILE, ARROW_STREAM, FEATHER_1, TEXT = "parquet", "arrow", "stream", "feather", "text"
ZIP, SQLITE, DUCKDB, JSON = "zip", "sqlite", "duckdb", "json"
_READ = {  # magics of letters only also begin lines of names: see _is_binary
    b"PAR1": PARQUET,
    b"ARROW1": ARROW_FILE,
    b"FEA1": FEATHER_1,
    b"PK\x03\x04": ZIP,
    b"SQLite format 3": SQLITE,
}

_AS_CSV = "save it as CSV or Parquet"
_FOREIGN = {
    b"PARE": "an encrypted Parquet file; decrypt it first",
    b"\xd0\xcf\x11\xe0": f"an old Excel or Office file; {_AS_CSV}",
    b"%PDF-": f"a PDF document; {_AS_CSV}",
    b"\x93NUMPY": f"a NumPy array; {_AS_CSV} with named columns",
    b"\x89HDF": f"an HDF5 file; {_AS_CSV}",
    b"Obj\x01": f"an Avro file; {_AS_CSV}",
    b"ORC": f"an ORC file; {_AS_CSV}",
    b"\x89PNG": "an image (PNG), not a table",
    b"\xff\xd8\xff": "an image (JPEG), not a table",
    b"GIF87a": "an image (GIF), not a table",
    b"GIF89a": "an image (GIF), not a table",
    b"7z\xbc\xaf": "a 7z archive; decompress it first",
    b"Rar!": "a RAR archive; decompress it first",
}
_R_DATA = re.compile(rb"RD[XA][23]\n[XAB]\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # bytes that text does not hold
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_PAGE = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|svg|table)\b", re.IGNORECASE)
_JSON_OBJECTS = re.compile(rb'\s*(?:\[\s*)?\{\s*["}]')  # one on each line, or an array
_JSON = re.compile(rb'\s*\[\s*([\["\]]|-?\d)')
_HEAD = 4096  # bytes that are examined


def _by_arrow(codec: str) -> Callable[[bytes], bytes]:
    def decompress_stream(data: bytes) -> bytes:
        import pyarrow as pa  # noqa: PLC0415 - detecting a format does not need pyarrow

        try:
            with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
                return bytes(stream.read())
        except pa.ArrowException as error:
            raise ValueError(str(error)) from error

    return decompress_stream


# first bytes -> (name, function that decompresses)
_COMPRESSED: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ\x00": ("xz", lzma.decompress),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _by_arrow("zstd")),
    b"\x04\x22\x4d\x18": ("LZ4", _by_arrow("lz4")),
}


def _compression(head: bytes) -> tuple[str, Callable[[bytes], bytes]] | None:
    for magic, found in _COMPRESSED.items():
        if head.startswith(magic) and (magic != b"BZh" or _BZIP2.match(head)):
            return found
    return None


def _is_binary(head: bytes, magic: bytes) -> bool:
    """Return whether bytes that hold a magic are not text: PARENT,age begins as an encrypted Parquet file."""
    return len(head) <= len(magic) or bool(_CONTROL.search(head))


def is_compressed(head: bytes) -> bool:
    """Return whether the first bytes are those of a compressed file.

    >>> is_compressed(gzip.compress(b"a,b"))
    True
    """
    return _compression(head) is not None


def decompress(data: bytes) -> bytes:
    """Decompress bytes; bytes that are not compressed are returned unchanged.

    >>> decompress(gzip.compress(b"a,b")), decompress(b"a,b")
    (b'a,b', b'a,b')
    """
    found = _compression(data[:_HEAD])
    if found is None:
        return data
    name, function = found
    try:
        return function(data)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DataFileError(
            f"its {name} compression is damaged or truncated ({one_line(error, 80)}); "
            "download or write the file again"
        ) from error


def detect_format(data: bytes) -> str:
    r"""Return the format, one of the constants of this module; raise DataFileError for other formats.

    >>> detect_format(b"PAR1\x15\x04"), detect_format(b"PAR1,a,b")
    ('parquet', 'text')
    """
    head = data[:_HEAD]
    for magic, kind in _READ.items():
        if head.startswith(magic) and _is_binary(head, magic):
            return kind
    if head.startswith(b"\xff\xff\xff\xff") and len(head) >= 8:
        return ARROW_STREAM
    if head[8:12] == b"DUCK" and _is_binary(head, head[:12]):
        return DUCKDB
    if _JSON_OBJECTS.match(head.removeprefix(b"\xef\xbb\xbf")):
        return JSON
    if (foreign := _foreign(head)) is not None:
        raise DataFileError(f"it is {foreign}")
    return TEXT


def _foreign(head: bytes) -> str | None:
    """Return a description of a format that cannot be read; None if none is recognised."""
    for magic, name in _FOREIGN.items():
        if head.startswith(magic) and (magic == b"%PDF-" or _is_binary(head, magic)):
            return name
    if _R_DATA.match(head):
        return f"an R data file; {_AS_CSV}"
    if re.match(rb"\x80[\x02-\x06][\x80-\x98\]}(cK\x95]", head):
        return f"a Python pickle, which is never loaded because it can run code; {_AS_CSV}"
    if b'{"__metadata__"' in head[8:32] and b'"hedgerow"' in head:
        return "a Hedgerow model, not data; pass the model and the data in the order of the command's help"
    if head[257:262] == b"ustar" and _CONTROL.search(head):
        return "a tar archive; decompress it first"
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _PAGE.match(text):
        return "a web page or XML, not a table; possibly a download that returned a login or error page"
    if _JSON.match(text):
        return f"a JSON array, not of objects; write one object per row, or {_AS_CSV}"
    if re.match(rb"\s*@relation\s", text, re.IGNORECASE):
        return f"an ARFF file; {_AS_CSV}"
    return None
