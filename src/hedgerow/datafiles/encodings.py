"""Convert the bytes of a text file to UTF-8.

Byte-order marks and valid UTF-8 are certain. Other files are guessed: by zeros between letters (UTF-16
without a mark), else by charset-normalizer. It cannot distinguish the encodings of Western Europe from
those of Central Europe in a few names; then Windows-1252 is assumed if most letters are ASCII.
"""

import codecs
import re

from charset_normalizer import from_bytes

from hedgerow.datafiles.errors import DataFileError, format_value, line_number
from hedgerow.datafiles.findings import Finding

_MARKS = {  # the longer one first: that of UTF-32 begins with that of UTF-16
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_TITLES = {"cp1252": "Windows-1252", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
]
_SAMPLE = 20_000  # bytes of the lines that are not ASCII
_ASCII_LETTERS = 0.65  # least share of the letters in a text of Western Europe
_NOT_ASCII = re.compile(rb"[^\n\r]*[\x80-\xff][^\n\r]*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def to_utf8(data: bytes, encoding: str | None = None) -> tuple[bytes, list[Finding]]:
    r"""Return the bytes as UTF-8 without byte-order mark, and the finding if the encoding was guessed.

    >>> to_utf8("a,b\ncafé,1\n".encode("cp1252"))[0].decode()
    'a,b\ncafé,1\n'
    >>> to_utf8("a,b\n".encode("utf-16"))
    (b'a,b\n', [])
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return (data[3:] if name == "utf-8-sig" else _decoded(data, name)), []
    if encoding is not None:
        return _decoded(data, encoding), []
    if zeros := _utf_16(data):
        return _decoded(data, zeros), [_guess(zeros)]
    if data.isascii():
        return data, []
    try:
        data.decode()
    except UnicodeDecodeError as error:
        found = _detect(data, error.start)
        return _decoded(data, found), [_guess(found)]
    return data, []


def _guess(encoding: str) -> Finding:
    title = _TITLES.get(encoding, encoding)
    text = f"The text is read as {title}, because it is not UTF-8; --encoding NAME states another encoding."
    return Finding(text, option=("--encoding", encoding))


def check_encoding(name: str) -> None:
    """Raise DataFileError unless Python knows an encoding of texts.

    >>> check_encoding("latin-1")
    """
    try:
        is_text = codecs.lookup(name)._is_text_encoding  # noqa: SLF001 - there is no public way
    except LookupError:
        is_text = False
    if not is_text:
        raise DataFileError(
            f"the encoding {format_value(name)} is unknown; examples are utf-8, cp1252, latin-1 and utf-16"
        )


def _decoded(data: bytes, encoding: str) -> bytes:
    check_encoding(encoding)
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        raise DataFileError(
            f"line {line_number(data, start)} is not {_TITLES.get(encoding, encoding)} (byte "
            f"0x{data[start]:02X}); pass another --encoding"
        ) from error


def _utf_16(data: bytes) -> str | None:
    """Recognise UTF-16 without a mark by the zeros between ASCII letters."""
    even, odd = data[:4096:2], data[1:4096:2]
    for name, zeros, letters in (("utf-16-be", even, odd), ("utf-16-le", odd, even)):
        if len(zeros) >= 4 and zeros.count(0) > 0.7 * len(zeros) and letters.count(0) < 0.1 * len(zeros):
            return name
    return None


def _detect(data: bytes, start: int) -> str:
    """Guess the encoding of bytes that are not UTF-8 from `start`."""
    if _CONTROL.search(data, 0, 1 << 20):
        raise DataFileError("it is not text, and not a table of a known format")
    sample = b""
    for match in _NOT_ASCII.finditer(data):
        sample += match.group() + b"\n"
        if len(sample) > _SAMPLE:
            break
    valid = sum(len(match.group()) for match in _MULTIBYTE.finditer(sample))
    if valid > 0.5 * sum(byte > 127 for byte in sample):
        byte = data[start]
        raise DataFileError(
            f"line {line_number(data, start)} is not UTF-8 (byte 0x{byte:02X}), although others are: the "
            "file mixes encodings or is damaged; correct the line, or pass --encoding"
        )
    matches = list(from_bytes(sample, cp_isolation=_CANDIDATES))
    best = matches[0] if matches else None
    if best is None or "cp1252" in best.could_be_from_charset or (not best.coherence and _is_western(sample)):
        try:
            sample.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1" if best is None else best.encoding
        return "cp1252"
    return best.encoding


def _is_western(sample: bytes) -> bool:
    letters = [letter for letter in sample.decode("cp1252", "replace") if letter.isalpha()]
    return sum(map(str.isascii, letters)) >= _ASCII_LETTERS * len(letters)
