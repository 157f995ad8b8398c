"""The outer form of a model file: named arrays and one text, in the safetensors format.

    8 bytes   length of the header, little-endian
    header    {"__metadata__": {"sha256": "...", "hedgerow": "<the text>"},
               "forest.column": {"dtype": "I32", "shape": [61], "data_offsets": [0, 244]}, ...}
    data      the arrays, one after the other, little-endian

`sha256` is the digest of the file without the 64 characters of the digest itself, so that damage is found
wherever it is. It keeps out accidents, not enemies; those meet the checks of `checks` and `models`.

Any safetensors reader reads these files. They are written here, not by the safetensors package, because its
metadata come in another order in every call, and a model must give the same bytes every time.
"""

import contextlib
import hashlib
import json
import os
import reprlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

DTYPES = {
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
    "F32": "<f4",
    "I32": "<i4",
    "U32": "<u4",
    "U8": "|u1",
}
_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}

_ALIGNMENT = 8  # the data begin at a multiple of this, and wide dtypes come first: every array is aligned
_OPENING = b'{"__metadata__":{"sha256":"'
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + 64)  # where the digest stands in the file

_MOST_SAID = 700  # characters of a message


class ModelFileError(ValueError):
    """A file that is not a model, or is damaged, or is not for this version; or a model no file can hold.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hedgerow.io import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.txt")
    ...     _ = path.write_text("buy milk")
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print("refused:", str(error)[-40:])
    refused: ...
    """

    def __init__(self, message: object = "") -> None:
        # it may quote the file, which can hold anything: signs that move the cursor, texts without end
        whole = str(message)
        text = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in whole[:_MOST_SAID])
        fits = len(whole) <= _MOST_SAID and len(text) <= _MOST_SAID
        super().__init__(text if fits else f"{text[:_MOST_SAID]}...")


class Contents(NamedTuple):
    """What a file holds; `intact` says whether its digest is right."""

    text: str
    arrays: dict[str, NDArray[Any]]
    intact: bool


def pack(text: str, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file.

    >>> data = pack("{}", {"a": np.arange(3), "b": np.zeros(2, np.uint8)})
    >>> unpack(data).arrays["a"], unpack(data).intact
    (array([0, 1, 2]), True)
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"sha256": "0" * 64, "hedgerow": text}}
    parts, place = [], 0
    for name in order:
        array = arrays[name]
        dtype = _NAMES[array.dtype.newbyteorder("<")]
        part = array.astype(DTYPES[dtype], order="C", copy=False).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [place, place + len(part)],
        }
        parts.append(part)
        place += len(part)
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    head += b" " * (-len(head) % _ALIGNMENT)
    data = bytearray(b"".join([len(head).to_bytes(8, "little"), head, *parts]))
    data[_DIGEST] = _digest(data)
    return bytes(data)


def _digest(data: bytes | bytearray) -> bytes:
    whole = memoryview(data)
    digest = hashlib.sha256(whole[: _DIGEST.start])
    digest.update(whole[_DIGEST.stop :])
    return digest.hexdigest().encode("ascii")


def unpack(data: bytes) -> Contents:
    """The contents of a file; the arrays are copies, aligned and writable, as compiled kernels want them."""
    try:
        # checks the header, the shapes and that the data are all there
        tensors = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"not a safetensors file: {error}") from error
    arrays = {}
    for name, tensor in tensors:
        if tensor["dtype"] not in DTYPES:
            raise ModelFileError(f"the array {name!r} has the unknown dtype {tensor['dtype']!r}")
        flat = np.frombuffer(tensor["data"], DTYPES[tensor["dtype"]])
        try:
            shaped = flat.reshape(tensor["shape"])
        except ValueError as error:  # more axes than NumPy has, or a side beyond its integers
            raise ModelFileError(f"the array {name!r} has the impossible shape {tensor['shape']}") from error
        arrays[name] = shaped.astype(flat.dtype.newbyteorder("="), copy=True)
    length = int.from_bytes(data[:8], "little")
    metadata = parse(data[8 : 8 + length], "the header").get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("hedgerow"), str):
        raise ModelFileError("a safetensors file, but not a model of Hedgerow")
    text: str = metadata["hedgerow"]
    return Contents(text, arrays, data[_DIGEST] == _digest(data))


def parse(text: str | bytes, what: str) -> dict[str, Any]:
    """A JSON object; ModelFileError for anything else."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:  # brackets nested by the thousand end the recursion
        raise ModelFileError(f"{what} is not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ModelFileError(f"{what} is {type(parsed).__name__}; a JSON object is needed")
    return parsed


def entry(content: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """An entry of exactly one of these types (a bool is no int).

    >>> entry({"format": 1}, "format", int)
    1
    """
    value = content.get(name)
    if name not in content or type(value) not in kinds:
        needed = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ModelFileError(f"{name} is {reprlib.repr(value)}; {needed} is needed")
    return value


def check_format(content: Mapping[str, Any], newest: int, version: str) -> None:
    """Refuse a format that this version, which reads those up to `newest`, does not know.

    >>> check_format({"format": 1}, 1, "0.1.0")
    """
    number = entry(content, "format", int)
    shown = reprlib.repr(number)  # it may have thousands of digits
    if number > newest:
        writer = reprlib.repr(content.get("hedgerow"))
        raise ModelFileError(
            f"format {shown} is newer than format {newest}, the newest that Hedgerow {version} reads; it was "
            f"written by Hedgerow {writer}: load it with that version"
        )
    if number < 1:
        raise ModelFileError(f"format {shown} does not exist; formats are numbered from 1")


def file_size(path: str | os.PathLike[str]) -> int:
    """The bytes of a file that can be read; an error in a line for anything else."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={path!r:.200} is not allowed: give the name of a file")
    place, name = Path(path), os.fspath(path)
    if place.is_dir():
        raise IsADirectoryError(f"{name} is a folder; give the name of a file")
    if not place.exists():
        raise FileNotFoundError(f"{name}: there is no such file")
    if not place.is_file():  # a device or a pipe, which may have no end
        raise OSError(f"{name} is no ordinary file, and is not read")
    size = place.stat().st_size
    if not size:
        raise ModelFileError(f"{name}: the file is empty")
    return size


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that, whenever the process ends, the old file or the new one is there, whole."""
    target = Path(path).resolve()  # of a link, the file it stands for
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file")
    if (
        target.exists() and not target.is_file()
    ):  # a device or a pipe: the rename would put a file in its place
        raise OSError(f"{target} is no ordinary file, and is not replaced")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")  # same folder: same file system
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk too, where the system can (Windows opens no folders)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
