"""The archive that skops writes of an object, in canonical form: a zip file of a schema and numbered arrays.

    schema.json    the object as nested states
                   {"__module__": "numpy", "__class__": "ndarray", "__loader__": "NdArrayNode", "file": ...}
    0.npy, 1.npz   arrays and sparse matrices in NumPy's format, in the order in which the schema names them

skops names arrays by their address in memory, numbers every state in the same way, and stores the time of
day. In canonical form equal objects give equal bytes: states have no numbers, equal arrays are stored once
and have no undefined bytes, sets are sorted, nothing is compressed, and the time is fixed.

An archive is read only if it is canonical to the last byte. Nothing in it expands, since nothing is
compressed; and no state refers to another one, which could make a small file an endless object.
"""

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.container import JSON, ModelFileError

SCHEMA = "schema.json"
MAX_ENTRIES = 100_000
MAX_SIDE = 1 << 16  # of an empty array, which could have any shape
_NAMES = re.compile(r"(0|[1-9][0-9]{0,5})\.(npy|npz|bin)")
_SUFFIXES = {"NdArrayNode": ".npy", "SparseMatrixNode": ".npz", "BytesNode": ".bin", "BytearrayNode": ".bin"}
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest of zip files

State = dict[str, Any]
Entries = dict[str, bytes]


def packed(entries: Entries) -> bytes:
    """Return the zip file of entries, in their order.

    >>> unpacked(packed({"a": b"12", "b": b""}))
    {'a': b'12', 'b': b''}
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.create_system = 3  # the same on every system
            file.writestr(info, data)
    return buffer.getvalue()


def unpacked(data: bytes) -> Entries:
    """Return the entries of a zip file, which must be as `packed` writes it."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        infos = file.infolist()
        names = [info.filename for info in infos]
        if len(infos) > MAX_ENTRIES or len(set(names)) < len(names):
            raise ModelFileError(f"an archive must have at most {MAX_ENTRIES:,} entries of distinct names")
        if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
            raise ModelFileError("the entries of an archive must be neither compressed nor encrypted")
        if sum(info.file_size for info in infos) > len(data):
            raise ModelFileError("the entries of an archive are larger than the archive")
        entries = {info.filename: file.read(info) for info in infos}
    if packed(entries) != data:
        raise ModelFileError("the archive holds more than its entries")
    return entries


# --- writing


def canonical(data: bytes) -> bytes:
    """Return an archive of skops in canonical form."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    numbers: dict[tuple[str, bytes], str] = {}
    forms = {".npy": _without_gaps, ".npz": _uncompressed}

    def numbered(name: str) -> str:
        """Return the canonical name of an array; equal arrays share it."""
        suffix = name[name.rindex(".") :]
        content = forms.get(suffix, bytes)(entries[name])
        return numbers.setdefault((suffix, content), f"{len(numbers)}{suffix}")

    schema = _cleaned(json.loads(entries[SCHEMA]), numbered)
    text = json.dumps(schema, separators=(",", ":"))
    return packed({SCHEMA: text.encode("ascii")} | {name: content for (_, content), name in numbers.items()})


def _uncompressed(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return packed({name: file.read(name) for name in file.namelist()})


def _without_gaps(data: bytes) -> bytes:
    """Return an array whose padding bytes between fields, which are undefined, are 0."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype.names is None:
        return data
    plain = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        plain[name] = array[name]
    buffer = io.BytesIO()
    np.save(buffer, plain, allow_pickle=False)
    return buffer.getvalue()


def _cleaned(value: Any, numbered: Any) -> Any:
    """Return states without their numbers, with canonical names of arrays."""
    if isinstance(value, list):
        return [_cleaned(item, numbered) for item in value]
    if not isinstance(value, dict):
        return value
    if not _is_state(value):
        return {name: _cleaned(item, numbered) for name, item in value.items()}
    fields = {name: one for name, one in value.items() if name != "__id__"}
    if isinstance(fields.get("file"), str):
        fields["file"] = numbered(fields["file"])
    cleaned = {name: _cleaned(item, numbered) for name, item in fields.items()}
    if cleaned.get("__loader__") == "SetNode":  # its order changes from run to run
        cleaned["content"].sort(key=json.dumps)
    return cleaned


# --- reading


def checked(data: bytes) -> tuple[Entries, list[State]]:
    """Return the entries and all states of an archive, outermost first; only types are not checked."""
    entries = unpacked(data)
    if next(iter(entries), None) != SCHEMA:
        raise ModelFileError(f"an archive must begin with {SCHEMA}")
    for name, content in list(entries.items())[1:]:
        if not _NAMES.fullmatch(name):
            raise ModelFileError(f"an archive cannot have the entry {name!r:.50}")
        if name.endswith(".npy"):
            check_array(content)
        elif name.endswith(".npz"):
            _check_sparse(content)
    schema = JSON.parse(entries[SCHEMA], SCHEMA)
    if not _is_state(schema):
        raise ModelFileError(f"{SCHEMA} must describe an object")
    states, used = list(_states(schema)), set()
    for state in states:
        if isinstance(file := state.get("file"), str):
            used.add(file)
            suffix = _SUFFIXES.get(str(state.get("__loader__")), "?")
            if file not in entries or not file.endswith(suffix):
                raise ModelFileError(
                    f"an object of the archive refers to the entry {file!r:.50}, which does not fit"
                )
    if used != set(entries) - {SCHEMA}:
        raise ModelFileError("an entry of the archive does not belong to any object")
    return entries, states


def check_array(data: bytes) -> None:
    """Refuse an array whose header does not match its size, or that could hold objects."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ModelFileError(
            f"an array in an archive has format {version} of NumPy; allowed are (1, 0) and (2, 0)"
        )
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[version](stream)
    n_bytes = math.prod(shape) * dtype.itemsize
    empty = n_bytes == 0 and (dtype.itemsize == 0 or max(shape) > MAX_SIDE)
    if dtype.hasobject or empty or min(shape, default=0) < 0 or n_bytes != len(data) - stream.tell():
        raise ModelFileError(
            f"an array in an archive cannot have shape {shape!s:.50} and dtype {dtype!s:.50}"
        )


def _check_sparse(data: bytes) -> None:
    """Refuse a sparse matrix with an index out of range: compiled loops do not check it."""
    for content in unpacked(data).values():
        check_array(content)
    matrix = sparse.load_npz(io.BytesIO(data))
    if matrix.format not in ("csr", "csc"):
        raise ModelFileError(
            f"a sparse matrix in an archive must have the format csr or csc; got {matrix.format}"
        )
    matrix.check_format(full_check=True)


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(n), str) for n in ("__class__", "__module__"))


def _states(value: Any) -> Iterator[State]:
    """Yield all states of a schema; refuse those that refer to another one."""
    if isinstance(value, list):
        for item in value:
            yield from _states(item)
    elif isinstance(value, dict):
        if not isinstance(value.get("__id__", {}), dict):  # a dict of the user may have that key too
            raise ModelFileError("the objects of an archive must have no numbers")
        if _is_state(value):
            yield value
        for item in value.values():
            yield from _states(item)


def type_name(state: State) -> str:
    """Return the type of a state's object, with its module."""
    return f"{state['__module__']}.{state['__class__']}"
