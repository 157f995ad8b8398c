"""Writer and Reader: the entries and arrays of a model in a file, or of a member within it.

    forest.left              an array of the model
    members.3.forest.left    the same array of its member 3
    skops.0                  an object of another library; these are numbered over the whole file

A codec writes a model to a `Writer` and restores it from a `Reader`. A member is a section: its entries are
nested, and its arrays have a prefix. An object of another library is an archive of bytes. It is stored once,
however many members refer to it.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import JSON, ModelFileError
from hedgerow.io.foreign import UntrustedError, dumped, loaded, untrusted_types

Arrays = dict[str, NDArray[Any]]

MAX_LEVELS = 8  # of models within models
MAX_REPEATED = 1 << 26  # bytes of archives that are read again: a short reference may name a long archive


class ArrayField(NamedTuple):
    """One array: its attribute in memory, its dtype and its number of axes."""

    attribute: str
    dtype: Any
    n_axes: int = 1


@dataclass(eq=False)
class Writer:
    """Collects the entries and arrays of a model.

    >>> writer = Writer(lambda model, section: None)
    >>> writer.section("members.3").put("x", np.zeros(2))
    >>> list(writer.arrays)
    ['members.3.x']
    """

    write_model: Callable[[Any, "Writer"], None]  # writes a member to its own section
    arrays: Arrays = field(default_factory=dict)  # of the whole file, shared by all sections
    prefix: str = ""  # of the names of this section's arrays
    level: int = 0  # the number of models that this one is nested in
    entries: dict[str, Any] = field(default_factory=dict)
    archives: dict[bytes, int] = field(default_factory=dict)

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add an array."""
        self.arrays[self.prefix + name] = array

    def put_fields(self, table: Mapping[str, ArrayField], source: Any) -> None:
        """Add the arrays of a table, read from the attributes of an object."""
        for name, described in table.items():
            self.put(name, getattr(source, described.attribute))

    def section(self, name: str) -> "Writer":
        """Return a writer of a section within this one, without entries yet."""
        prefix = f"{self.prefix}{name}."
        return Writer(self.write_model, self.arrays, prefix, self.level, archives=self.archives)

    def model(self, model: Any, name: str) -> dict[str, Any]:
        """Write a member; return its entries."""
        inner = self.section(name)
        inner.level = _deeper(self.level)
        self.write_model(model, inner)
        return inner.entries

    def foreign(self, value: Any, name: str) -> dict[str, Any]:
        """Write an object of another library; return its entry."""
        data = dumped(value, self.prefix + name)
        number = self.archives.setdefault(data, len(self.archives))
        self.arrays[f"skops.{number}"] = np.frombuffer(data, np.uint8)
        return {"skops": number}


@dataclass(eq=False)
class Reader:
    """Returns checked entries and arrays of a model; records which arrays were read."""

    read_model: Callable[["Reader"], Any]  # restores a member from its own section
    entries: Mapping[str, Any]  # of this section
    arrays: Arrays  # of the whole file
    prefix: str = ""
    level: int = 0
    used: set[str] = field(default_factory=set)
    trusted: frozenset[str] = frozenset()  # types of other libraries beside the known safe ones
    repeated: list[int] = field(default_factory=lambda: [0])  # bytes of archives that were read again

    def entry(self, name: str, *types: type) -> Any:
        """Return an entry of exactly one of these types."""
        return JSON.entry(self.entries, name, *types)

    def array(self, name: str, dtype: Any, n_axes: int = 1) -> NDArray[Any]:
        """Return an array of this dtype and number of axes."""
        full_name = self.prefix + name
        array = self.arrays.get(full_name)
        if array is None:
            raise ModelFileError(f"the array {full_name!r} is missing")
        if array.dtype != dtype or array.ndim != n_axes:
            raise ModelFileError(
                f"{full_name} must have {n_axes} axes of {np.dtype(dtype)}; got {array.ndim} of {array.dtype}"
            )
        self.used.add(full_name)
        return array

    def fields(self, table: Mapping[str, ArrayField]) -> dict[str, NDArray[Any]]:
        """Return the arrays of a table by the names of their attributes."""
        return {one.attribute: self.array(name, one.dtype, one.n_axes) for name, one in table.items()}

    def unsigned(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """Return a vector of unsigned integers of any width."""
        array = self.arrays.get(self.prefix + name)
        return self.array(name, np.uint64 if array is None or array.dtype.kind != "u" else array.dtype)

    def section(self, name: str, entries: Any) -> "Reader":
        """Return a reader of a section within this one."""
        if not isinstance(entries, dict):
            raise ModelFileError(f"{self.prefix}{name} must be a JSON object; got {type(entries).__name__}")
        return replace(self, entries=entries, prefix=f"{self.prefix}{name}.")

    def model(self, name: str, entries: Any) -> Any:
        """Restore the member that `Writer.model` wrote."""
        inner = self.section(name, entries)
        inner.level = _deeper(self.level)
        return self.read_model(inner)

    def foreign(self, name: str, entries: Any) -> Any:
        """Restore the object that `Writer.foreign` wrote."""
        number = JSON.entry(entries, "skops", int)
        archive = f"skops.{number}"
        array = self.arrays.get(archive)
        if array is None or array.dtype != np.uint8 or array.ndim != 1:
            raise ModelFileError(f"{self.prefix}{name}: the file has no array of bytes {archive[:50]!r}")
        if archive in self.used:
            self.repeated[0] += len(array)
            if self.repeated[0] > MAX_REPEATED:
                raise ModelFileError(f"{self.prefix}{name}: too many references to the same objects")
        self.used.add(archive)
        try:
            return loaded(array.tobytes(), self.prefix + name, self.trusted)
        except UntrustedError as error:
            raise UntrustedError("the file", self._untrusted().union(error.names)) from error

    def _untrusted(self) -> set[str]:
        """Return all types that the user would have to trust, so that one message names them all."""
        names: set[str] = set()
        for name, array in self.arrays.items():
            if name.startswith("skops.") and array.dtype == np.uint8:
                with contextlib.suppress(Exception):  # a damaged archive raises its own error
                    names |= untrusted_types(array.tobytes(), name)
        return names - self.trusted

    def refuse_unused(self) -> None:
        """Refuse arrays that no section has read."""
        for name in self.arrays:
            if name not in self.used:
                raise ModelFileError(f"the array {name!r} does not belong to the model")


def is_foreign(entries: Any) -> bool:
    """Return whether an entry refers to an object of another library."""
    return isinstance(entries, dict) and set(entries) == {"skops"}


def _deeper(level: int) -> int:
    if level >= MAX_LEVELS:
        raise ModelFileError(
            f"members are nested {level + 1} deep; a model file holds at most {MAX_LEVELS} levels"
        )
    return level + 1


def require(name: str, valid: Any, rule: str) -> None:
    """Raise unless `valid`, a bool or an array of them, is all true."""
    if not np.all(valid):
        raise ModelFileError(f"{name}: {rule}")


def check_starts(name: str, starts: NDArray[np.integer[Any]], n: int, size: int) -> None:
    """Check the starts of n consecutive ranges that cover `size` entries.

    >>> check_starts("starts", np.array([0, 2, 5]), 2, 5)
    """
    require(name, len(starts) == n + 1, f"it must have {n + 1} entries; got {len(starts)}")
    require(name, starts[0] == 0 and starts[-1] == size, f"it must go from 0 to {size}")
    require(name, starts[1:] >= starts[:-1], "it must not decrease")
