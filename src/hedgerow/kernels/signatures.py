"""Types of the arguments of kernels, as text.

A signature is the list of the types of a kernel's arguments, for example

    gradients.loss_logistic(float64[::1], float64[::1], int64)

    type    = scalar | array | record | tuple | named
    scalar  = bool | int64 | uint64 | float32 | float64
    array   = dtype "[" ":" | "::1" | ":, ::1" | ... "]"     "::1": in C order; without it, any strides
    dtype   = uint8 | ... | records.NODE                     a dtype of a module of hedgerow.kernels.cpu
    record  = records.NODE                                   one record of such an array
    tuple   = "(" types ")"
    named   = records.Codes "(" types ")"                    a NamedTuple of such a module

`signatures.txt` lists, by family of estimators, the signatures that the package uses. A build compiles these
and nothing else. Names that Python and NumPy give to one machine type are one type here: a Python integer, an
np.int32 and an np.intp are int64.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "hedgerow.kernels.cpu"
RARE = "rare"  # the family of signatures that are compiled one by one
LIST = Path(__file__).with_name("signatures.txt")
_SCALARS = {
    "bool": np.bool_,
    "int64": np.int64,
    "uint64": np.uint64,
    "float32": np.float32,
    "float64": np.float64,
}


@dataclass(frozen=True)
class Scalar:
    """A number."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Record:
    """One record of an array."""

    dtype: str

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True)
class Array:
    """An array: its dtype, number of dimensions, and whether it must be in C order."""

    dtype: str
    ndim: int
    contiguous: bool

    def __str__(self) -> str:
        dims = [":"] * self.ndim
        if self.contiguous and dims:
            dims[-1] = "::1"
        return f"{self.dtype}[{', '.join(dims)}]"


@dataclass(frozen=True)
class Tuple:
    """A tuple, or the NamedTuple `name`."""

    name: str
    items: tuple["Type", ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.items))})"


Type = Scalar | Record | Array | Tuple
Signature = tuple[Type, ...]


# --- types of values


def describe(value: Any) -> Type:
    """Return the type of an argument.

    >>> import numpy as np
    >>> str(describe(np.zeros((2, 3)))), str(describe(np.zeros((2, 3)).T)), str(describe(3))
    ('float64[:, ::1]', 'float64[:, :]', 'int64')
    """
    if isinstance(value, np.ndarray):
        return Array(dtype_name(value.dtype), value.ndim, value.flags.c_contiguous)
    if isinstance(value, np.void):
        return Record(dtype_name(value.dtype))
    if isinstance(value, tuple):
        name = _qualified(type(value)) if hasattr(value, "_fields") else ""
        return Tuple(name, tuple(describe(item) for item in value))
    if isinstance(value, bool | np.bool_):
        return Scalar("bool")
    if isinstance(value, np.uint64 | np.float32):
        return Scalar(type(value).__name__)
    if isinstance(value, int | np.integer):
        return Scalar("int64")
    if isinstance(value, float):
        return Scalar("float64")
    raise TypeError(f"a kernel takes no argument of type {type(value).__name__}: {value!r:.80}")


def _qualified(kind: type) -> str:
    module = kind.__module__
    if not module.startswith(PACKAGE + "."):
        raise TypeError(f"{kind.__name__} is a NamedTuple outside of {PACKAGE}, which kernels do not take")
    return f"{module.removeprefix(PACKAGE + '.')}.{kind.__name__}"


@cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; of a record, the module and name of its constant."""
    if dtype.names is None:
        return dtype.newbyteorder("=").name if dtype.isnative else str(dtype)
    for path in sorted(Path(__file__).with_name("cpu").glob("*.py")):
        # Only modules that define a record are imported.
        if "np.dtype(" in path.read_text("utf-8"):
            for name, constant in vars(import_module(f"{PACKAGE}.{path.stem}")).items():
                if isinstance(constant, np.dtype) and constant == dtype:
                    return f"{path.stem}.{name}"
    raise TypeError(f"{dtype} is not a record of {PACKAGE}")


@cache
def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a name.

    >>> dtype_of("records.NODE").names[:3]
    ('left', 'start', 'stop')
    """
    if "." in name:
        return constant(name)  # type: ignore[no-any-return]
    return np.dtype(name)


def constant(name: str) -> Any:
    """Return a dtype or NamedTuple of a module of kernels."""
    module, constant = name.split(".")
    return getattr(import_module(f"{PACKAGE}.{module}"), constant)


# --- text


def parse(text: str) -> Signature:
    """Read the types of a list, separated by commas.

    >>> [str(kind) for kind in parse("int64, (float64[:, ::1], bool), records.SPLIT[:]")]
    ['int64', '(float64[:, ::1], bool)', 'records.SPLIT[:]']
    """
    reader = _Reader(text)
    types = reader.types()
    if reader.rest:
        raise ValueError(f"not a signature: {text!r}, at {reader.rest!r}")
    return types


class _Reader:
    """What is left of the text of a signature."""

    def __init__(self, text: str) -> None:
        self.rest = text.strip()

    def types(self) -> Signature:
        found: list[Type] = []
        while self.rest and not self.rest.startswith(")"):
            found.append(self._type())
            self.rest = self.rest.removeprefix(",").lstrip()
        return tuple(found)

    def _type(self) -> Type:
        end = next((i for i, letter in enumerate(self.rest) if letter in "[(),"), len(self.rest))
        name, self.rest = self.rest[:end], self.rest[end:]
        if self.rest.startswith("["):
            dims, self.rest = self.rest[1:].split("]", 1)
            return Array(name, 0 if not dims else dims.count(",") + 1, dims.endswith("::1"))
        if self.rest.startswith("("):
            self.rest = self.rest[1:]
            items = self.types()
            self.rest = self.rest[1:].lstrip()
            return Tuple(name, items)
        if name not in _SCALARS and not re.fullmatch(r"\w+\.\w+", name):
            raise ValueError(f"not a signature: {name!r} is neither a number nor a record")
        return Scalar(name) if name in _SCALARS else Record(name)


def text_of(signature: Signature) -> str:
    """Return the text that `parse` reads."""
    return ", ".join(map(str, signature))


@cache
def listed() -> dict[str, dict[str, tuple[Signature, ...]]]:
    """Return the list: family -> kernel -> its signatures.

    >>> sorted(listed())[:2]
    ['adaboost', 'binning']
    """
    families: dict[str, dict[str, list[Signature]]] = {}
    family = ""
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("["):
            family = line.strip("[]")
        elif line and not line.startswith("#"):
            kernel, arguments = _split(line)
            families.setdefault(family, {}).setdefault(kernel, []).append(parse(arguments))
    return {
        family: {kernel: tuple(found) for kernel, found in kernels.items()}
        for family, kernels in families.items()
    }


def _split(line: str) -> tuple[str, str]:
    """Split `kernel(arguments)`."""
    kernel, rest = line.split("(", 1)
    return kernel, rest.removesuffix(")")


# --- conversion


def accepts(wanted: Type, actual: Type) -> bool:
    """Whether a value of type `actual` can be passed as `wanted` without changing a result.

    >>> accepts(*parse("float64[:, :], float64[:, ::1]")), accepts(*parse("int64, float64"))
    (True, False)
    """
    if wanted == actual:
        return True
    if isinstance(wanted, Array) and isinstance(actual, Array):
        return not wanted.contiguous and (wanted.dtype, wanted.ndim) == (actual.dtype, actual.ndim)
    if isinstance(wanted, Tuple) and isinstance(actual, Tuple):
        return (
            wanted.name == actual.name
            and len(wanted.items) == len(actual.items)
            and all(map(accepts, wanted.items, actual.items))
        )
    numbers = {("float64", "int64"), ("float64", "float32"), ("int64", "bool"), ("uint64", "int64")}
    return isinstance(wanted, Scalar) and isinstance(actual, Scalar) and (wanted.name, actual.name) in numbers


def convert(value: Any, wanted: Type) -> Any:
    """Return a value that `accepts` allows in the form that an entry point takes.

    Numbers get their type; equal dtypes (those of unpickled records, C's long long) become the same object.
    """
    if isinstance(wanted, Array):
        dtype = dtype_of(wanted.dtype)
        plain = value if type(value) is np.ndarray else value.view(np.ndarray)  # a memory map is a subclass
        return plain if plain.dtype is dtype else plain.view(dtype)
    if isinstance(wanted, Tuple):
        items = [convert(item, kind) for item, kind in zip(value, wanted.items, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(wanted, Record):
        return value
    return _SCALARS[wanted.name](value)


@cache
def of_kernel(kernel: str) -> tuple[Signature, ...]:
    """Return the listed signatures of a kernel."""
    return tuple(s for kernels in listed().values() for s in kernels.get(kernel, ()))
