"""The byte layout of a model file: named arrays and one text, in the safetensors format.

    8 bytes   length of the header, little-endian
    header    {"__metadata__": {"sha256": "...", "hedgerow": "<the text>"},
               "forest.column": {"dtype": "I32", "shape": [61], "data_offsets": [0, 244]}, ...}
    data      the arrays, one after the other, little-endian

`sha256` is the digest of the file without the 64 characters of the digest itself. It detects accidental
damage anywhere in the file. It does not protect against manipulation; the checks of `hedgerow.io` do.

Any safetensors reader reads these files. The safetensors package does not write them, because it orders the
metadata differently in every call, and equal models must give equal bytes.
"""

import contextlib
import glob
import hashlib
import json
import os
import reprlib
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from hedgerow.strict_json import JsonChecker
from hedgerow.text_table import printable

_WIDE = {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for size in (8, 4) for kind in "FIU"}
DTYPES = {**_WIDE, "U8": "|u1"}  # by their names in the header
_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}

_ALIGNMENT = 8  # the data begin at a multiple of this, and wide dtypes come first: every array is aligned
_OPENING = b'{"__metadata__":{"sha256":"'
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + 64)  # position of the digest in the file

_MAX_MESSAGE = 700  # characters
_STALE_SECONDS = 24 * 3600  # no save takes as long: an older temporary file was left by a killed process


class ModelFileError(ValueError):
    """Raised for a file that is not a model or is damaged, and for a model that cannot be saved.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hedgerow.io import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.txt")
    ...     _ = path.write_text("buy milk")
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print(str(error).partition("notes.txt: ")[2])
    not a safetensors file: ...
    """

    def __init__(self, message: object = "") -> None:
        # The message may quote the file, which can hold control characters and strings of any length.
        full_text = str(message)
        text = printable(full_text[:_MAX_MESSAGE])
        fits = len(full_text) <= _MAX_MESSAGE and len(text) <= _MAX_MESSAGE
        super().__init__(text if fits else f"{text[:_MAX_MESSAGE]}...")


JSON = JsonChecker(ModelFileError)


class Contents(NamedTuple):
    """The text and the arrays of a file; `intact` is True if its digest is right."""

    text: str
    arrays: dict[str, NDArray[Any]]
    intact: bool


def pack(text: str, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file.

    >>> data = pack("{}", {"a": np.arange(3), "b": np.zeros(2, np.uint8)})
    >>> unpack(data).arrays["a"], unpack(data).intact
    (array([0, 1, 2]), True)
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"sha256": "0" * 64, "hedgerow": text}}
    chunks, offset = [], 0
    for name in order:
        array = arrays[name]
        dtype = _NAMES[array.dtype.newbyteorder("<")]
        chunk = array.astype(DTYPES[dtype], order="C", copy=False).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        chunks.append(chunk)
        offset += len(chunk)
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    head += b" " * (-len(head) % _ALIGNMENT)
    data = bytearray(b"".join([len(head).to_bytes(8, "little"), head, *chunks]))
    data[_DIGEST] = _digest(data)
    return bytes(data)


def _digest(data: bytes | bytearray) -> bytes:
    view = memoryview(data)
    digest = hashlib.sha256(view[: _DIGEST.start])
    digest.update(view[_DIGEST.stop :])
    return digest.hexdigest().encode("ascii")


def unpack(data: bytes) -> Contents:
    """Return the contents of a file; the arrays are copies, aligned and writable, as kernels require."""
    try:
        # checks the header, the shapes and the size of the data
        tensors = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"not a safetensors file: {error}") from error
    arrays = {}
    for name, tensor in tensors:
        if tensor["dtype"] not in DTYPES:
            raise ModelFileError(
                f"the array {name!r} has the dtype {tensor['dtype']!r}; allowed are {', '.join(DTYPES)}"
            )
        flat = np.frombuffer(tensor["data"], DTYPES[tensor["dtype"]])
        try:
            shaped = flat.reshape(tensor["shape"])
        except ValueError as error:  # more axes than NumPy has, or a side beyond its integers
            raise ModelFileError(f"the array {name!r} has the invalid shape {tensor['shape']}") from error
        arrays[name] = shaped.astype(flat.dtype.newbyteorder("="), copy=True)
    length = int.from_bytes(data[:8], "little")
    metadata = JSON.parse(data[8 : 8 + length], "the header").get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("hedgerow"), str):
        raise ModelFileError("a safetensors file, but not a model of Hedgerow")
    text: str = metadata["hedgerow"]
    return Contents(text, arrays, data[_DIGEST] == _digest(data))


def check_format(content: Mapping[str, Any], newest: int, version: str) -> None:
    """Refuse a format above `newest`, the newest that this version reads.

    >>> check_format({"format": 1}, 1, "0.1.0")
    """
    number = JSON.entry(content, "format", int)
    shown = reprlib.repr(number)  # it may have thousands of digits
    if number > newest:
        writer = content.get("hedgerow")
        advice = (
            "a development version wrote it: fit and save the model again"
            if writer == version
            else f"Hedgerow {reprlib.repr(writer)} wrote it: load it with that version"
        )
        raise ModelFileError(
            f"the file has format {shown}, and Hedgerow {version} reads formats up to {newest}; {advice}"
        )
    if number < 1:
        raise ModelFileError(f"the file has format {shown}; formats are numbered from 1")


def file_size(path: str | os.PathLike[str]) -> int:
    """Return the size of an ordinary file in bytes; raise for anything else."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a path; got {path!r:.200}")
    file, name = Path(path), os.fspath(path)
    if file.is_dir():
        raise IsADirectoryError(f"{name} is a folder; pass the path of a file")
    if not file.exists():
        raise FileNotFoundError(f"{name}: there is no such file")
    if not file.is_file():  # a device or a pipe may have no end
        raise OSError(f"{name} is not an ordinary file, and is not read")
    size = file.stat().st_size
    if not size:
        raise ModelFileError(f"{name}: the file is empty")
    return size


# --- writing


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace a file: whenever the process ends, the old file or the new one exists, complete.

    Where the system can (Linux), the data are written to a file without a name, which vanishes with a killed
    process. On other systems a killed process leaves a temporary file; a later save removes it after a day.
    """
    target = Path(path).resolve()  # of a link, the file it points to
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; pass the path of a file")
    if target.exists() and not target.is_file():  # the rename would replace a device or a pipe by a file
        raise OSError(f"{target} is not an ordinary file, and is not replaced")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist")
    _remove_stale(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")  # same folder: same file system
    try:
        if not _write_unnamed(temporary, data):
            with temporary.open("xb") as file:
                _write_synced(file.fileno(), data)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _write_unnamed(path: Path, data: bytes) -> bool:
    """Write a file that gets its name when it is complete; return False where the system cannot."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # a folder with permission to write, but not to read
        return False
    try:
        file = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:  # the file system has no unnamed files
        os.close(folder)
        return False
    try:
        _write_synced(file, data)
        # With dst_dir_fd Python calls linkat, which follows the link in /proc to the open file.
        os.link(f"/proc/self/fd/{file}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileNotFoundError:  # /proc is not mounted
        return False
    finally:
        os.close(file)
        os.close(folder)
    return True


def _write_synced(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    os.fsync(file)


def _remove_stale(target: Path) -> None:
    """Remove temporary files of saves to this target that were killed long ago."""
    pattern = f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}"
    for stale in target.parent.glob(pattern):
        with contextlib.suppress(OSError):  # another process may have removed it
            if time.time() - stale.stat().st_mtime > _STALE_SECONDS:
                stale.unlink()


def _sync_folder(folder: Path) -> None:
    """Sync the new name to the disk too, where the system can (Windows opens no folders)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
