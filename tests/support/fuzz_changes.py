"""Small random changes of bytes, JSON values, arrays and model files.

All draws come from a `random.Random` argument: a seed and a number determine a mutated file. Most files get a
correct checksum: otherwise the reader would refuse them for their checksum only.
"""

import json
import re
import struct
from typing import Any, NamedTuple

import numpy as np

from hedgerow import container
from hedgerow.container import pack, unpack

NUMBER = re.compile(rb"-?[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?")
NAN, INF = float("nan"), float("inf")

# --- bytes


def _position(data, rng):
    """A random position in the data, which may be empty."""
    return rng.randrange(len(data) or 1)


def flip_bits(data, rng, _=b""):
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(data, rng, _=b""):
    """Overwrite some bytes with an extreme number."""
    new = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * rng.choice((1, 2, 4, 8))
    position = _position(data, rng)
    return data[:position] + new + data[position + len(new) :]


def insert_bytes(data, rng, _=b""):
    position = rng.randrange(len(data) + 1)
    return data[:position] + rng.randbytes(rng.choice((1, 2, 8, 64))) + data[position:]


def delete_bytes(data, rng, _=b""):
    position = _position(data, rng)
    return data[:position] + data[position + rng.choice((1, 1, 2, 10, 100)) :]


def truncate(data, rng, _=b""):
    return data[: _position(data, rng)]


def splice(data, rng, other):
    return data[: _position(data, rng)] + other[_position(other, rng) :]


def repeat_bytes(data, rng, _=b""):
    start = _position(data, rng)
    end = start + rng.choice((1, 8, 64, 1000))
    return data[:end] + data[start:end] * rng.choice((1, 1, 3)) + data[end:]


BYTES = (flip_bits, flip_bits, set_bytes, insert_bytes, delete_bytes, truncate, splice, repeat_bytes)


def sealed(data):
    """Return the bytes with a correct checksum."""
    changed = bytearray(data)
    changed[container._DIGEST] = container._digest(data)
    return bytes(changed)


# --- JSON values

TEXTS = (
    "", "x", "\0", "\ud800", "é" * 300, "nan", "inf", "1", "__class__", "os.system", "../../etc/passwd",
    "object", "<U1", "<U999999999", "|b1", "<i8", "<f8", "float64", "F64", "I32", "BF16", "constant", "weak",
    "squared_error", "log_loss", "huber", "samme", "gentle", "AnyRule", "LogitRule", "GentleRule", "linear",
    "DecisionStump", "BaggingClassifier", "GradientBoostingRegressor", "RandomForestRegressor", "sqrt",
)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 3, 255, 256, 65_536, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 10**30)
FLOATS = (0.0, -0.0, 1.0, 0.5, -1.0, 1e-320, 1e-30, 1e30, 1e300, -1e308, NAN, INF, -INF)
SHAPES = (
    *(None, True, False, [], {}, [[]], [None], [[[[1]]]]),
    *({"float": "nan"}, {"float": "inf"}, {"items": []}),
)


def changed_value(value, rng, other=None):
    """Change one item of a JSON value; items of `other`, a similar value, may replace it."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        return _changed_dict(value, rng, other if isinstance(other, dict) else {})
    if isinstance(value, list) and value and rng.random() < 0.9:
        return _changed_list(value, rng, other if isinstance(other, list) else [])
    return _other_leaf(value, rng, other)


def _changed_dict(value, rng, other):
    key, what = rng.choice(sorted(value)), rng.random()
    if what < 0.06:
        return {name: item for name, item in value.items() if name != key}
    if what < 0.09:
        return {(rng.choice(TEXTS) if name == key else name): item for name, item in value.items()}
    if what < 0.14:
        return value | {key: value[rng.choice(sorted(value))]}
    if what < 0.20 and other:
        name = key if key in other else rng.choice(sorted(other))
        return value | {rng.choice((key, name)): other[name]}
    if what < 0.22:
        return value | {rng.choice(TEXTS): rng.choice((*SHAPES, value[key]))}
    return value | {key: changed_value(value[key], rng, other.get(key))}


def _changed_list(value, rng, other):
    position, what = rng.randrange(len(value)), rng.random()
    if what < 0.08:
        return value[:position] + value[position + 1 :]
    if what < 0.12:
        return value[:position]
    if what < 0.18:
        return value[:position] + [value[position]] * rng.choice((2, 3, 30)) + value[position + 1 :]
    if what < 0.22:
        return (
            [value] if rng.random() < 0.5 else [*value[:position], [value[position]], *value[position + 1 :]]
        )
    if what < 0.27:
        return rng.sample(value, len(value))
    if what < 0.32:
        return [*value[:position], value[rng.randrange(len(value))], *value[position + 1 :]]
    if what < 0.35 and other:
        return other
    near = other[position] if position < len(other) else None
    return [*value[:position], changed_value(value[position], rng, near), *value[position + 1 :]]


def _other_leaf(value, rng, other):
    """Return another value, mostly of the same type: other types are easily refused."""
    what = rng.random()
    if what < 0.1:
        return rng.choice(SHAPES)
    if what < 0.15:
        return other
    if what < 0.2:
        return rng.choice((rng.choice(TEXTS), rng.choice(INTEGERS), rng.choice(FLOATS)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = value + rng.choice((-2, -1, 1, 2))
        as_float = float(value) if abs(value) < 2**900 else 0
        return rng.choice((near, near, -value, 2 * value, as_float, rng.choice(INTEGERS)))
    if isinstance(value, float):
        near = value * rng.choice((1 + 1e-15, 0.5, 2.0, -1.0, 1e10))
        return rng.choice((near, near, rng.random(), rng.choice(FLOATS), 7))
    if isinstance(value, str):
        return rng.choice((value[:-1], value + "x", value.upper(), *(rng.choice(TEXTS) for _ in range(4))))
    return rng.choice((*SHAPES, *INTEGERS[:4]))


def changed_text(text, rng):
    """Change the text of some JSON without parsing it."""
    data = text.encode("utf-8", "surrogatepass")
    what = rng.random()
    if what < 0.5:
        found = list(NUMBER.finditer(data))
        new = (b"9" * 5000, b"1" * 400, *b"-0 1e999 -1E400 1.0 NaN -Infinity 0x1 01".split())
        if found:
            match = rng.choice(found)
            data = data[: match.start()] + rng.choice(new) + data[match.end() :]
    elif what < 0.9:
        data = rng.choice(BYTES)(data, rng, data)
    else:
        position, n = rng.randrange(len(data)), rng.choice((10, 900, 100_000))
        data = data[:position] + rng.choice((b"[" * n, b'{"a":' * n, b"[" * n + b"]" * n)) + data[position:]
    return data.decode("utf-8", "replace")


# --- arrays

DTYPES = (np.float64, np.int64, np.uint64, np.float32, np.int32, np.uint32, np.uint8)


def extremes(dtype):
    if dtype.kind == "f":
        return (*FLOATS, float(np.finfo(dtype).max), 1 + 1e-7, 3.5)
    limits = np.iinfo(dtype)
    found = (*INTEGERS, limits.max, limits.max - 1, limits.min)
    return tuple(n for n in found if limits.min <= n <= limits.max)


def changed_array(array, rng):
    """Change some numbers of an array, or its length, shape or dtype."""
    what = rng.random()
    if what < 0.6 and array.size:
        return _other_numbers(array.copy(), rng)
    if what < 0.70:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
    if what < 0.78 and array.ndim:
        return np.concatenate([array, array[: rng.choice((1, 1, 2, 100))]] * rng.choice((1, 1, 5)))
    if what < 0.83:
        return array.reshape(rng.choice(((-1,), (1, *array.shape), (*array.shape, 1), array.shape[::-1])))
    if what < 0.90:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(DTYPES))
    if what < 0.95:
        return np.ascontiguousarray(np.flip(array))
    return np.zeros(rng.choice(((0,), (0, 4), (2**20, 0), (3,), (2, 3, 4), ())), array.dtype)


def _other_numbers(array, rng):
    flat, choices = array.reshape(-1), extremes(array.dtype)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        position, what = rng.randrange(len(flat)), rng.random()
        if what < 0.3:
            flat[position] = flat[rng.randrange(len(flat))]
        elif what < 0.6 and array.dtype.kind != "f":
            top = 2 ** (8 * array.dtype.itemsize)  # the nearest numbers, wrapped at the end of the range
            step = rng.choice((-1, 1, 1, 2, 1 << rng.randrange(8 * array.dtype.itemsize)))
            flat[position] = np.array((int(flat[position]) + step) % top, np.uint64).astype(array.dtype)
        elif what < 0.6:
            with np.errstate(all="ignore"):
                flat[position] *= rng.choice((0.5, -1, 1 + 1e-9, 1e5, 1e200))
        else:
            with np.errstate(all="ignore"):
                flat[position] = rng.choice(choices)
    return array


def changed_arrays(arrays, rng, other, changed_array=changed_array):
    """Change, remove or rename one of the named arrays, or replace it by one of another file."""
    if not arrays:
        return arrays
    name, what = rng.choice(sorted(arrays)), rng.random()
    if what < 0.78:
        return arrays | {name: changed_array(arrays[name], rng)}
    if what < 0.81:
        return {one: array for one, array in arrays.items() if one != name}
    if what < 0.88:
        alike = [one for one in sorted(arrays) if arrays[one].dtype == arrays[name].dtype]
        return arrays | {name: arrays[rng.choice(alike)]}
    if what < 0.97 and other:
        like = name if name in other else rng.choice(sorted(other))
        return arrays | {name: other[like]}
    return arrays | {rng.choice(("x", "forest.left", "members.9.bins.edges", "a" * 300)): arrays[name]}


# --- model files


class Opened(NamedTuple):
    """A valid file, unpacked once."""

    data: bytes
    text: str
    content: dict[str, Any]
    arrays: dict[str, Any]


def opened(data):
    contents = unpack(data)
    return Opened(data, contents.text, json.loads(contents.text), contents.arrays)


def changed_file(file, rng, other, changed_array=changed_array):
    """Mutate a model file; contents may come from `other`. 19 of 20 files have a correct checksum."""
    what = rng.random()
    if what < 0.05:
        return rng.choice(BYTES)(file.data, rng, other.data)
    if what < 0.20:
        data = file.data
        for _ in range(rng.choice((1, 1, 2))):
            data = _after_checksum(rng.choice(BYTES), data, rng, other.data)
        return sealed(data)
    if what < 0.28:
        return changed_header(file.data, rng)
    text, content, arrays = file.text, file.content, file.arrays
    if what < 0.33:
        return pack(changed_text(text, rng), arrays)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.5:
            content = changed_value(content, rng, other.content)
        else:
            arrays = changed_arrays(arrays, rng, other.arrays, changed_array)
    if content is not file.content:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return pack(text, arrays)


def _after_checksum(change, data, rng, other):
    """Change bytes after the checksum, in one of 20 cases also before."""
    keep = 0 if rng.random() < 0.05 else container._DIGEST.stop
    return data[:keep] + change(data[keep:] or b"\n", rng, other[keep:])


def changed_header(data, rng):
    """Change a dtype, shape, offset or name in the table of arrays; the checksum is correct."""
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    first = {"__metadata__": header.pop("__metadata__")}
    changed = changed_value(first, rng) if rng.random() < 0.1 else changed_value(header, rng)
    new = first | header | changed if isinstance(changed, dict) else changed
    head = json.dumps(new, separators=(",", ":")).encode()
    head += b" " * rng.choice((-len(head) % 8, 0, 1))
    length = rng.choice((len(head),) * 20 + (0, 1, len(head) - 1, len(head) + 8, 2**31, 2**63, 2**64 - 1))
    return sealed(struct.pack("<Q", length) + head + body)
