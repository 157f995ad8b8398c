"""The archive that skops makes of an object, in one form: a zip file of a schema and numbered arrays.

    schema.json    what the object is made of, as nested states
                   {"__module__": "numpy", "__class__": "ndarray", "__loader__": "NdArrayNode", "file": ...}
    0.npy, 1.npz   arrays and sparse matrices in NumPy's own form, in the order in which the schema names them

skops names arrays by their place in memory, numbers every state in the same way, and packs with the time of
the day. In the form of here equal objects give equal bytes: states have no numbers, equal arrays are there
once and have no bytes without a meaning, sets are sorted, nothing is compressed, and the time is a fixed one.

An archive is read only if it is of this form to the last byte. Nothing in it is larger than it looks, since
nothing is compressed; and no state stands for another one, which could make a small file an endless object.
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

from hedgerow.container import ModelFileError

SCHEMA = "schema.json"
MOST_ENTRIES = 100_000
MOST_SIDE = 1 << 16  # of an array without numbers, which could have any shape
_NAMES = re.compile(r"(0|[1-9][0-9]{0,5})\.(npy|npz|bin)")
_SUFFIXES = {"NdArrayNode": ".npy", "SparseMatrixNode": ".npz", "BytesNode": ".bin", "BytearrayNode": ".bin"}
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file knows

State = dict[str, Any]
Entries = dict[str, bytes]


def packed(entries: Entries) -> bytes:
    """The zip file of entries, in their order.

    >>> unpacked(packed({"a": b"12", "b": b""}))
    {'a': b'12', 'b': b''}
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, data in entries.items():
            place = zipfile.ZipInfo(name, _TIME)
            place.create_system = 3  # else it would tell which system wrote it
            file.writestr(place, data)
    return buffer.getvalue()


def unpacked(data: bytes) -> Entries:
    """The entries of a zip file, which must be just as `packed` makes it."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        places = file.infolist()
        names = [place.filename for place in places]
        if len(places) > MOST_ENTRIES or len(set(names)) < len(names):
            raise ModelFileError(f"an archive has at most {MOST_ENTRIES:,} entries, of different names")
        if any(place.compress_type != zipfile.ZIP_STORED or place.flag_bits & 1 for place in places):
            raise ModelFileError("the entries of an archive are neither compressed nor encrypted")
        if sum(place.file_size for place in places) > len(data):
            raise ModelFileError("the entries of an archive are larger than the archive")
        entries = {place.filename: file.read(place) for place in places}
    if packed(entries) != data:
        raise ModelFileError("the archive holds more than its entries")
    return entries


# --- writing


def in_one_form(data: bytes) -> bytes:
    """An archive of skops in the form of this module."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        given = {name: file.read(name) for name in file.namelist()}
    numbers: dict[tuple[str, bytes], str] = {}
    forms = {".npy": _without_gaps, ".npz": _uncompressed}

    def numbered(name: str) -> str:
        """The name that an array has here; equal ones have the same."""
        suffix = name[name.rindex(".") :]
        held = forms.get(suffix, bytes)(given[name])
        return numbers.setdefault((suffix, held), f"{len(numbers)}{suffix}")

    schema = _cleaned(json.loads(given[SCHEMA]), numbered)
    text = json.dumps(schema, separators=(",", ":"))
    return packed({SCHEMA: text.encode("ascii")} | {name: held for (_, held), name in numbers.items()})


def _uncompressed(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return packed({name: file.read(name) for name in file.namelist()})


def _without_gaps(data: bytes) -> bytes:
    """An array whose bytes between the fields of its entries, which may hold anything, are 0."""
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
    """States without their numbers, and with the names that arrays have here."""
    if isinstance(value, list):
        return [_cleaned(one, numbered) for one in value]
    if not isinstance(value, dict):
        return value
    if not _is_state(value):
        return {name: _cleaned(one, numbered) for name, one in value.items()}
    kept = {name: one for name, one in value.items() if name != "__id__"}
    if isinstance(kept.get("file"), str):
        kept["file"] = numbered(kept["file"])
    cleaned = {name: _cleaned(one, numbered) for name, one in kept.items()}
    if cleaned.get("__loader__") == "SetNode":  # whose order changes from run to run
        cleaned["content"].sort(key=json.dumps)
    return cleaned


# --- reading


def checked(data: bytes) -> tuple[Entries, list[State]]:
    """The entries and all states of an archive, outermost first; all is checked but the types they name."""
    entries = unpacked(data)
    if next(iter(entries), None) != SCHEMA:
        raise ModelFileError(f"an archive begins with {SCHEMA}")
    for name, held in list(entries.items())[1:]:
        if not _NAMES.fullmatch(name):
            raise ModelFileError(f"an archive has no entry {name!r:.50}")
        if name.endswith(".npy"):
            check_array(held)
        elif name.endswith(".npz"):
            _check_sparse(held)
    schema = json.loads(entries[SCHEMA])
    if not _is_state(schema):
        raise ModelFileError(f"{SCHEMA} describes no object")
    found, used = list(_states(schema)), set()
    for state in found:
        if isinstance(file := state.get("file"), str):
            used.add(file)
            suffix = _SUFFIXES.get(str(state.get("__loader__")), "?")
            if file not in entries or not file.endswith(suffix):
                raise ModelFileError(f"an object of the archive names the entry {file!r:.50}")
    if used != set(entries) - {SCHEMA}:
        raise ModelFileError("an entry of the archive belongs to no object")
    return entries, found


def check_array(data: bytes) -> None:
    """Refuse an array whose header does not say how many bytes follow, or that could hold objects."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ModelFileError(f"an array of NumPy's format {version} in an archive")
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[version](stream)
    n_bytes = math.prod(shape) * dtype.itemsize
    empty = n_bytes == 0 and (dtype.itemsize == 0 or max(shape) > MOST_SIDE)
    if dtype.hasobject or empty or min(shape, default=0) < 0 or n_bytes != len(data) - stream.tell():
        raise ModelFileError(f"an array of shape {shape!s:.50} and dtype {dtype!s:.50} in an archive")


def _check_sparse(data: bytes) -> None:
    """Refuse a sparse matrix with an index out of range: compiled loops follow them without looking."""
    for held in unpacked(data).values():
        check_array(held)
    matrix = sparse.load_npz(io.BytesIO(data))
    if matrix.format not in ("csr", "csc"):
        raise ModelFileError(
            f"a sparse matrix of the format {matrix.format} in an archive: csr and csc are known"
        )
    matrix.check_format(full_check=True)


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(n), str) for n in ("__class__", "__module__"))


def _states(value: Any) -> Iterator[State]:
    """All states of a schema; none of them stands for another one."""
    if isinstance(value, list):
        for one in value:
            yield from _states(one)
    elif isinstance(value, dict):
        if not isinstance(value.get("__id__", {}), dict):  # a user's dict may have that key too
            raise ModelFileError("the objects of an archive have no numbers")
        if _is_state(value):
            yield value
        for one in value.values():
            yield from _states(one)


def type_name(state: State) -> str:
    """The type of a state's object, with its module."""
    return f"{state['__module__']}.{state['__class__']}"
