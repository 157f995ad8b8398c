"""What a file is, told from its first bytes; names lie, bytes do not.

A data file is a text of separated values, a Parquet file or an Arrow file, each perhaps compressed. Anything
else that people call data (a workbook, a web page, a pickle) is named for what it is, and refused.
"""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable

import pyarrow as pa

from hedgerow.datafiles.errors import DataFileError, one_line

# what is read; the rest of a file decides later whether it is whole
PARQUET, ARROW_FILE, ARROW_STREAM, FEATHER_1, TEXT = "parquet", "arrow", "stream", "feather", "text"
_READ = {b"PAR1": PARQUET, b"ARROW1": ARROW_FILE, b"FEA1": FEATHER_1}

_AS_CSV = "save it as CSV or Parquet"
_FOREIGN = {
    b"PARE": "an encrypted Parquet file; decrypt it first",
    b"\xd0\xcf\x11\xe0": f"an old Excel or Office file; {_AS_CSV}",
    b"%PDF": f"a PDF document; {_AS_CSV}",
    b"\x93NUMPY": f"a NumPy array; {_AS_CSV} with named columns",
    b"\x89HDF": f"an HDF5 file; {_AS_CSV}",
    b"SQLite format 3": f"an SQLite database; {_AS_CSV}",
    b"Obj\x01": f"an Avro file; {_AS_CSV}",
    b"ORC": f"an ORC file; {_AS_CSV}",
    b"\x89PNG": "an image (PNG), not a table",
    b"\xff\xd8\xff": "an image (JPEG), not a table",
    b"GIF8": "an image (GIF), not a table",
    b"RDX": f"an R data file; {_AS_CSV}",
    b"RDA": f"an R data file; {_AS_CSV}",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
}
_PAGE = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|svg|table)\b", re.IGNORECASE)
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*([\[{"\]]|-?\d))')
_HEAD = 4096  # bytes looked at


def _by_arrow(codec: str) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
            unpacked: bytes = stream.read()
        return unpacked

    return unpack


# first bytes -> (name, how to unpack)
_PACKED: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ\x00": ("xz", lzma.decompress),
    b"\x28\xb5\x2f\xfd": ("Zstandard", _by_arrow("zstd")),
    b"\x04\x22\x4d\x18": ("LZ4", _by_arrow("lz4")),
}


def is_packed(head: bytes) -> bool:
    """Whether these first bytes are those of a compressed file.

    >>> is_packed(gzip.compress(b"a,b"))
    True
    """
    return head.startswith(tuple(_PACKED))


def unpacked(data: bytes) -> bytes:
    """The bytes without compression, whatever kind it was.

    >>> unpacked(gzip.compress(b"a,b")), unpacked(b"a,b")
    (b'a,b', b'a,b')
    """
    for magic, (name, unpack) in _PACKED.items():
        if data.startswith(magic):
            try:
                return unpack(data)
            except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
                raise DataFileError(
                    f"its {name} compression is damaged or cut short ({one_line(error, 80)}); "
                    "fetch or write the file again"
                ) from error
    return data


def what_it_is(data: bytes) -> str:
    """One of PARQUET, ARROW_FILE, ARROW_STREAM, FEATHER_1 and TEXT; DataFileError for what is none of them.

    >>> what_it_is(b"PAR1..."), what_it_is(b"a,b")
    ('parquet', 'text')
    """
    head = data[:_HEAD]
    for magic, kind in _READ.items():
        if head.startswith(magic):
            return kind
    if head.startswith(b"\xff\xff\xff\xff") and len(head) >= 8:
        return ARROW_STREAM
    foreign = _foreign(head)
    if foreign is not None:
        raise DataFileError(f"it is {foreign}")
    return TEXT


def _foreign(head: bytes) -> str | None:
    """What a file is that is not data we read; None where nothing is recognised."""
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            return name
    if head.startswith(b"PK\x03\x04"):
        return _zip(head)
    if re.match(rb"\x80[\x02-\x06][\x80-\x98\]}(cK\x95]", head):
        return f"a Python pickle, which is never opened here (it can run code); {_AS_CSV}"
    if b'{"__metadata__"' in head[8:32] and b'"hedgerow"' in head:
        return "a Hedgerow model, not data; give the model and the data in the order the command asks for"
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _PAGE.match(text):
        return "a web page or XML, not a table; perhaps a download that ended at a login or error page"
    if _JSON.match(text):
        return f"JSON; {_AS_CSV}"
    if text.lstrip()[:9].lower() == b"@relation":
        return f"an ARFF file; {_AS_CSV}"
    return _other_encoding(head)


def _zip(head: bytes) -> str:
    if b"xl/" in head or b"[Content_Types].xml" in head:
        return f"an Excel workbook or another Office file; {_AS_CSV}"
    if b".npy" in head:
        return f"a NumPy archive; {_AS_CSV} with named columns"
    return "a zip archive; unpack it first"


def _other_encoding(head: bytes) -> str | None:
    """UTF-16 and UTF-32, with a byte-order mark or told from the zeros between plain letters."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return _encoded("UTF-32")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _encoded("UTF-16")
    even, odd = head[::2], head[1::2]
    for zeros, letters in ((even, odd), (odd, even)):
        if len(zeros) >= 4 and zeros.count(0) > 0.7 * len(zeros) and letters.count(0) < 0.1 * len(zeros):
            return _encoded("UTF-16")
    return None


def _encoded(encoding: str) -> str:
    return f"text in {encoding}; save it as UTF-8 (for example iconv -f {encoding} -t UTF-8 OLD > NEW)"
