"""Parts: what a model is in a file, entries of its description and named arrays, of the whole or of a member.

    forest.left              an array of the model
    members.3.forest.left    the same of its member 3

A codec writes a model into a `Writer` and makes it again from a `Reader`. Members are parts within the part:
their entries are nested, their arrays have a longer name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.container import ModelFileError, entry

Arrays = dict[str, NDArray[Any]]

MOST_LEVELS = 8  # of models within models


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

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add an array."""
        self.arrays[self.prefix + name] = array

    def part(self, name: str) -> "Writer":
        """A part of this one, with no entries yet."""
        return Writer(self.write_model, self.arrays, f"{self.prefix}{name}.", self.level)

    def model(self, model: Any, name: str) -> dict[str, Any]:
        """Write a member; returns its entries."""
        inner = self.part(name)
        inner.level = _deeper(self.level)
        self.write_model(model, inner)
        return inner.entries


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
    """

    read_model: Callable[["Reader"], Any]
    entries: Mapping[str, Any]
    arrays: Arrays
    format: int
    prefix: str = ""
    level: int = 0
    taken: set[str] = field(default_factory=set)

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
        prefix = f"{self.prefix}{name}."
        return Reader(self.read_model, entries, self.arrays, self.format, prefix, self.level, self.taken)

    def model(self, name: str, entries: Any) -> Any:
        """The member that `Writer.model` wrote."""
        inner = self.part(name, entries)
        inner.level = _deeper(self.level)
        return self.read_model(inner)

    def refuse_rest(self) -> None:
        """Refuse arrays that belong to no part."""
        for name in self.arrays:
            if name not in self.taken:
                raise ModelFileError(f"the array {name!r} does not belong to the model")


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
