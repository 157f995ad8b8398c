"""Parts: what a model is in a file, entries of its description and named arrays, of the whole or of a member.

    forest.left              an array of the model
    members.3.forest.left    the same of its member 3
    skops.0                  an object of another library; the whole file counts them

A codec writes a model into a `Writer` and makes it again from a `Reader`. Members are parts within the part:
their entries are nested, their arrays have a longer name. Objects of other libraries are archives of bytes,
which stand in a file once however often they are named, as a learner is by many members.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError, entry
from hedgerow.io.foreign import UntrustedError, dumped, loaded, untrusted_types

Arrays = dict[str, NDArray[Any]]

MOST_LEVELS = 8  # of models within models
MOST_AGAIN = 1 << 26  # bytes of archives that are read more than once: a short name may stand for a long one


@dataclass(eq=False)
class Writer:
    """Where a codec puts entries and arrays.

    Parameters
    ----------
    write_model : callable
        Writes a member into a part of its own.
    arrays : dict
        Of the whole file, shared by all parts.
    prefix : str
        Of the names of this part's arrays.
    level : int
        How many models this one is within.

    Examples
    --------
    >>> out = Writer(lambda model, part: None)
    >>> out.part("members.3").put("x", np.zeros(2))
    >>> list(out.arrays)
    ['members.3.x']
    """

    write_model: Callable[[Any, "Writer"], None]
    arrays: Arrays = field(default_factory=dict)
    prefix: str = ""
    level: int = 0
    entries: dict[str, Any] = field(default_factory=dict)
    archives: dict[bytes, int] = field(default_factory=dict)

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add an array."""
        self.arrays[self.prefix + name] = array

    def part(self, name: str) -> "Writer":
        """A part of this one, with no entries yet."""
        prefix = f"{self.prefix}{name}."
        return Writer(self.write_model, self.arrays, prefix, self.level, archives=self.archives)

    def model(self, model: Any, name: str) -> dict[str, Any]:
        """Write a member; returns its entries."""
        inner = self.part(name)
        inner.level = _deeper(self.level)
        self.write_model(model, inner)
        return inner.entries

    def foreign(self, found: Any, name: str) -> dict[str, Any]:
        """Write an object of another library; returns its entry."""
        data = dumped(found, self.prefix + name)
        number = self.archives.setdefault(data, len(self.archives))
        self.arrays[f"skops.{number}"] = np.frombuffer(data, np.uint8)
        return {"skops": number}


@dataclass(eq=False)
class Reader:
    """Where a codec takes entries and arrays from; arrays that nobody takes do not belong.

    Parameters
    ----------
    read_model : callable
        Makes a member from a part of its own.
    entries : dict
        Of this part.
    arrays : dict
        Of the whole file.
    format : int
        Of the file.
    trusted : names of types
        That objects of other libraries may have, beside those known to be safe.
    """

    read_model: Callable[["Reader"], Any]
    entries: Mapping[str, Any]
    arrays: Arrays
    format: int
    prefix: str = ""
    level: int = 0
    taken: set[str] = field(default_factory=set)
    trusted: frozenset[str] = frozenset()
    again: list[int] = field(default_factory=lambda: [0])  # bytes of archives that were read once more

    def entry(self, name: str, *kinds: type) -> Any:
        """An entry of exactly one of these types."""
        return entry(self.entries, name, *kinds)

    def array(self, name: str, dtype: Any, n_axes: int = 1) -> NDArray[Any]:
        """An array of this dtype and so many axes."""
        whole = self.prefix + name
        array = self.arrays.get(whole)
        if array is None:
            raise ModelFileError(f"the array {whole!r} is missing")
        if array.dtype != dtype or array.ndim != n_axes:
            raise ModelFileError(
                f"{whole}: {n_axes} axes of {np.dtype(dtype)} are needed, found {array.ndim} of {array.dtype}"
            )
        self.taken.add(whole)
        return array

    def unsigned(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """An array of unsigned integers of any width, and one axis."""
        array = self.arrays.get(self.prefix + name)
        wide = array is None or array.dtype.kind != "u"
        return self.array(name, np.uint64 if wide else array.dtype)  # type: ignore[union-attr]

    def part(self, name: str, entries: Any) -> "Reader":
        """A part of this one."""
        if not isinstance(entries, dict):
            raise ModelFileError(f"{self.prefix}{name} is {type(entries).__name__}; a JSON object is needed")
        return replace(self, entries=entries, prefix=f"{self.prefix}{name}.")

    def model(self, name: str, entries: Any) -> Any:
        """The member that `Writer.model` wrote."""
        inner = self.part(name, entries)
        inner.level = _deeper(self.level)
        return self.read_model(inner)

    def foreign(self, name: str, entries: Any) -> Any:
        """The object that `Writer.foreign` wrote."""
        number = entry(entries, "skops", int)
        whole = f"skops.{number}"
        array = self.arrays.get(whole)
        if array is None or array.dtype != np.uint8 or array.ndim != 1:
            raise ModelFileError(f"{self.prefix}{name}: {whole[:50]!r} is no array of bytes in the file")
        if whole in self.taken:
            self.again[0] += len(array)
            if self.again[0] > MOST_AGAIN:
                raise ModelFileError(f"{self.prefix}{name}: the same objects are named too often")
        self.taken.add(whole)
        try:
            return loaded(array.tobytes(), self.prefix + name, self.trusted)
        except UntrustedError as error:
            raise UntrustedError("the file", self._untrusted().union(error.names)) from error

    def _untrusted(self) -> set[str]:
        """All types that the user would have to trust, so that one message names them all."""
        found: set[str] = set()
        for name, array in self.arrays.items():
            if name.startswith("skops.") and array.dtype == np.uint8:
                with contextlib.suppress(Exception):  # a damaged one has an error of its own
                    found |= untrusted_types(array.tobytes(), name)
        return found - self.trusted

    def refuse_rest(self) -> None:
        """Refuse arrays that belong to no part."""
        for name in self.arrays:
            if name not in self.taken:
                raise ModelFileError(f"the array {name!r} does not belong to the model")


def is_foreign(entries: Any) -> bool:
    """Whether an entry is that of an object of another library."""
    return isinstance(entries, dict) and set(entries) == {"skops"}


def _deeper(level: int) -> int:
    if level >= MOST_LEVELS:
        raise ModelFileError(f"members within members, {level + 1} deep: a model file holds {MOST_LEVELS}")
    return level + 1


def require(name: str, fine: Any, needed: str) -> None:
    """Refuse what is not fine, a truth value or an array of them."""
    if not np.all(fine):
        raise ModelFileError(f"{name}: {needed}")


def check_starts(name: str, starts: NDArray[np.integer[Any]], n_parts: int, size: int) -> None:
    """Starts of n_parts pieces that follow one another and cover `size` entries.

    >>> check_starts("starts", np.array([0, 2, 5]), 2, 5)
    """
    require(name, len(starts) == n_parts + 1, f"{n_parts + 1} entries are needed, found {len(starts)}")
    require(name, starts[0] == 0 and starts[-1] == size, f"it must go from 0 to {size}")
    require(name, starts[1:] >= starts[:-1], "it must not fall")


def short(error: ValueError) -> str:
    """What an error says, not at length: it may quote the file."""
    return str(error)[:300]
