"""Strict JSON: the only reader, writer and checker of JSON that comes from files.

Files may come from unknown sources. `JsonChecker` refuses, with an error of one line that names the entry,
the value and what is allowed:

    duplicate keys, NaN, infinities, numbers that overflow float64, lone surrogates, deep nesting
    entries that are missing, unknown, of another type, too long, or not printable

All checks compare types exactly: a bool is not an int, and a subclass of str is not a str.
"""

import json
import math
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

_MAX_INTEGER = 2**64  # in a card or another object of the user
_MAX_INT64 = 2**63 - 1
_PLAIN_TYPES = (type(None), bool, int, float, str, list, dict)
_PLAIN = "finite numbers of up to 64 bits, strings, True, False, None, and lists and dicts of them"


Record = TypeVar("Record")


@dataclass(frozen=True)
class Limits:
    """What a field of a dataclass allows besides its type, for `JsonChecker.read`: Annotated[int, Limits(0)].

    Those of a list or a dict are also those of its entries.
    """

    minimum: float = -math.inf
    maximum: float = math.inf
    choices: Sequence[str] | None = None
    printable: bool = False
    max_length: int | None = None


@dataclass(frozen=True)
class JsonChecker:
    """Checks of JSON values, which raise `error`.

    >>> checker = JsonChecker()
    >>> checker.parse('{"rows": 3}', "the card")
    {'rows': 3}
    >>> checker.parse('{"rows": 3, "rows": 4}', "the card")
    Traceback (most recent call last):
    ValueError: the card is not valid JSON: the key 'rows' occurs twice
    """

    error: type[ValueError] = ValueError

    # --- text

    def parse(self, text: str | bytes, what: str) -> dict[str, Any]:
        """Parse a JSON object."""
        try:
            if isinstance(text, bytes):
                text = text.decode("utf-8")
            parsed = json.loads(
                text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
            raise self.error(f"{what} is not valid JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise self.error(f"{what} must be a JSON object; got {type(parsed).__name__}")
        if not text.isascii() or "\\u" in text:
            self._refuse_surrogates(parsed, what)
        return parsed

    def dumps(self, content: Mapping[str, Any], what: str) -> str:
        """Write a JSON object in the one form that equal objects share: sorted keys, no spaces, ASCII."""
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if "\\u" in text:
            self._refuse_surrogates(content, what)
        return text

    def _refuse_surrogates(self, content: Any, what: str) -> None:
        for path, text in strings(content):
            if has_surrogate(text):
                shown = f"{ascii(text)[:200]} at {ascii(path)[1:-1][:200]}"
                raise self.error(f"{what} holds {shown}: a lone surrogate, which files cannot hold")

    # --- values

    def entry(self, content: Mapping[str, Any], name: str, *types: type) -> Any:
        """Return an entry of exactly one of these types.

        >>> JsonChecker().entry({"format": 1}, "format", int)
        1
        """
        value = content.get(name)
        if name not in content or type(value) not in types:
            allowed = " or ".join("null" if kind is type(None) else kind.__name__ for kind in types)
            found = reprlib.repr(value) if name in content else "nothing"
            raise self.error(f"{name} must be {allowed}; got {found}")
        return value

    def fields(self, content: Any, keys: Collection[str], what: str) -> dict[str, Any]:
        """Return a dict that has exactly these keys.

        >>> JsonChecker().fields({"a": 1}, ["a"], "the trial")
        {'a': 1}
        """
        required = f"{what} must be a dict of {', '.join(keys)}"
        if type(content) is not dict:
            raise self.error(f"{required}; got {reprlib.repr(content)}")
        for key in (*content, *keys):
            if key not in keys or key not in content:
                state = "is missing" if key in keys else "is unknown"
                raise self.error(f"{required}; {reprlib.repr(key)} {state}")
        return content

    def items(self, value: Any, what: str, *, max_length: int | None = None) -> list[Any]:
        """Return a list."""
        if type(value) is not list:
            raise self.error(f"{what} must be a list; got {reprlib.repr(value)}")
        if max_length is not None and len(value) > max_length:
            raise self.error(f"{what} must have at most {max_length:,} entries; got {len(value):,}")
        return value

    def text(self, value: Any, what: str, *, printable: bool = False, max_length: int | None = None) -> str:
        """Return a string; with `printable`, one without control characters.

        >>> JsonChecker().text("a note", "note", printable=True)
        'a note'
        """
        if type(value) is not str or has_surrogate(value):
            raise self.error(f"{what} must be a string; got {reprlib.repr(value)}")
        if printable and not value.isprintable():
            raise self.error(f"{what} must be printable; got {reprlib.repr(value)}")
        if max_length is not None and len(value) > max_length:
            raise self.error(f"{what} must have at most {max_length:,} characters; got {len(value):,}")
        return value

    def choice(self, value: Any, allowed: Sequence[str], what: str) -> str:
        """Return one of some strings.

        >>> JsonChecker().choice("done", ["done", "failed"], "status")
        'done'
        """
        if type(value) is not str or value not in allowed:
            raise self.error(f"{what} must be one of {', '.join(allowed)}; got {reprlib.repr(value)}")
        return value

    def number(
        self, value: Any, what: str, *, minimum: float = -math.inf, maximum: float = math.inf
    ) -> float:
        """Return a finite number as a float.

        >>> JsonChecker().number(1, "spread")
        1.0
        """
        if type(value) not in (int, float) or abs(value) > 1e308 or not math.isfinite(value):
            raise self.error(f"{what} must be a finite number; got {reprlib.repr(value)}")
        if value < minimum:
            raise self.error(f"{what} must be at least {minimum:g}; got {value!r}")
        if value > maximum:
            raise self.error(f"{what} must be at most {maximum:g}; got {value!r}")
        return float(value)

    def integer(self, value: Any, what: str, minimum: int, maximum: int) -> int:
        """Return an integer within bounds."""
        if type(value) is not int or not minimum <= value <= maximum:
            raise self.error(f"{what} must be an integer in {minimum}..{maximum}; got {reprlib.repr(value)}")
        return value

    # --- dataclasses

    def read(self, kind: type[Record], content: Any, what: str, **extra_fields: Any) -> Record:
        """Return the dataclass that `to_plain` has written; its types define what a field may hold.

        Parameters
        ----------
        kind : type
            A dataclass of str, int, float and bool, other dataclasses, tuples and dicts of them, and None,
            possibly with `Limits`. If it has a method `check_stored`, that is called; it raises ValueError
            for values that contradict each other.
        content : dict
            It must have all fields except the extra ones, and no others.
        what : str
            For messages.
        **extra_fields
            Values of fields that are not in the content.

        Examples
        --------
        >>> @dataclass
        ... class Point:
        ...     name: str
        ...     place: tuple[float, ...]
        >>> JsonChecker().read(Point, {"name": "a", "place": [1, 2.5]}, "the point")
        Point(name='a', place=(1.0, 2.5))
        >>> JsonChecker().read(Point, {"name": "a", "place": [1, "2"]}, "the point")
        Traceback (most recent call last):
        ValueError: the point: place[1] must be a finite number; got '2'
        """
        return self._read(kind, content, what, ": ", extra_fields)

    def _read(
        self, kind: type[Record], content: Any, path: str, separator: str, extra_fields: Mapping[str, Any]
    ) -> Record:
        names = [field.name for field in fields(kind) if field.name not in extra_fields]  # type: ignore[arg-type]
        self.fields(content, names, path)
        types = get_type_hints(kind, include_extras=True)
        values = {
            name: self._value(types[name], content[name], f"{path}{separator}{name}", Limits())
            for name in names
        }
        record = kind(**values, **extra_fields)
        if hasattr(record, "check_stored"):
            record.check_stored()
        return record

    def _value(self, kind: Any, value: Any, path: str, limits: Limits) -> Any:
        """Check a value of a type; lists become tuples."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._value(inner[0], value, path, inner[1])
        if origin in (UnionType, Union):
            others = [option for option in inner if option is not NoneType]
            return None if value is None else self._value(others[0], value, path, limits)
        if origin is tuple:
            return self._entries(inner, value, path, limits)
        if origin is dict:
            if type(value) is not dict:
                raise self.error(f"{path} must be a dict; got {reprlib.repr(value)}")
            names = [self.text(name, f"a name of {path}", printable=limits.printable) for name in value]
            return {name: self._value(inner[1], value[name], f"{path}.{name}", limits) for name in names}
        if is_dataclass(kind):
            return self._read(kind, value, path, ".", {})  # type: ignore[arg-type] # a class
        if kind is str and limits.choices is not None:
            return self.choice(value, limits.choices, path)
        if kind is str:
            return self.text(value, path, printable=limits.printable, max_length=limits.max_length)
        if kind is int:
            return self.integer(
                value, path, int(max(limits.minimum, -_MAX_INT64)), int(min(limits.maximum, _MAX_INT64))
            )
        if kind is float:
            return self.number(value, path, minimum=limits.minimum, maximum=limits.maximum)
        if kind is bool and type(value) is not bool:
            raise self.error(f"{path} must be true or false; got {reprlib.repr(value)}")
        return value

    def _entries(self, kinds: tuple[Any, ...], value: Any, path: str, limits: Limits) -> tuple[Any, ...]:
        items = self.items(value, path, max_length=limits.max_length)
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(items)
        if len(items) != len(kinds):
            raise self.error(f"{path} must have {len(kinds)} entries; got {reprlib.repr(items)}")
        pairs = enumerate(zip(kinds, items, strict=True))
        return tuple(self._value(kind, item, f"{path}[{i}]", limits) for i, (kind, item) in pairs)

    # --- objects of the user

    def plain(
        self, value: Any, what: str, *, max_depth: int, max_bytes: int, exact: bool = False
    ) -> dict[str, Any]:
        """Return a copy of a dict as plain data: tuples become lists, NumPy numbers become Python's.

        With `exact`, values that the copy would change are refused.

        >>> JsonChecker().plain({"a": np.float32(0.5), "b": (1, 2)}, "card", max_depth=9, max_bytes=99)
        {'a': 0.5, 'b': [1, 2]}
        """
        if not isinstance(value, Mapping):
            raise self.error(f"{what} must be a dict; got {reprlib.repr(value)}, a {type(value).__name__}")
        copied: dict[str, Any] = self._copied(value, what, (what, max_depth, exact), 0)
        size = len(json.dumps(copied))
        if size > max_bytes:
            raise self.error(f"{what} must take at most {max_bytes:,} bytes as JSON; it takes {size:,}")
        return copied

    def _copied(self, value: Any, path: str, limits: tuple[str, int, bool], depth: int) -> Any:
        """Copy the value at a path, such as card['columns'][3]."""
        what, max_depth, exact = limits
        if depth > max_depth:
            raise self.error(f"{what} is nested more than {max_depth} deep")
        if exact and type(value) not in _PLAIN_TYPES:
            raise self.error(
                f"{path} is {reprlib.repr(value)}, a {type(value).__name__}; allowed are {_PLAIN}"
            )
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(str(value), path)
        if isinstance(value, int) and abs(value) < _MAX_INTEGER:
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        if isinstance(value, list | tuple):
            return [self._copied(item, f"{path}[{i}]", limits, depth + 1) for i, item in enumerate(value)]
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str) or has_surrogate(key):
                    raise self.error(f"{path} has the key {reprlib.repr(key)}: keys must be strings")
            return {
                str(key): self._copied(item, f"{path}[{reprlib.repr(key)}]", limits, depth + 1)
                for key, item in value.items()
            }
        kind = "" if isinstance(value, int | float) else f", a {type(value).__name__}"
        raise self.error(f"{path} is {reprlib.repr(value)}{kind}; allowed are {_PLAIN}")


class StoredRecord:
    """A dataclass that is stored in files as JSON of its fields; messages name its class."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as numbers, texts, lists and dicts, ready for JSON."""
        content: dict[str, Any] = to_plain(self)
        return content

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Read the result of `to_dict`; every value is checked.

        Parameters
        ----------
        content : dict
            Possibly from an untrusted file.

        Returns
        -------
        record
            Equal to the stored one.

        Raises
        ------
        ValueError
            In one line, if a value is not one that `to_dict` returns.
        """
        return JsonChecker().read(cls, content, f"the {cls.__name__.lower()}")


def to_plain(record: Any) -> Any:
    """Return a dataclass, and those in it, as dicts; tuples become lists.

    >>> to_plain((Limits(minimum=0), 1))[0]["minimum"]
    0
    """
    if is_dataclass(record):
        return {field.name: to_plain(getattr(record, field.name)) for field in fields(record)}
    if isinstance(record, dict):
        return {name: to_plain(value) for name, value in record.items()}
    return [to_plain(item) for item in record] if isinstance(record, list | tuple) else record


def has_surrogate(text: str) -> bool:
    r"""Return whether a string holds a lone surrogate, which UTF-8 cannot encode.

    >>> has_surrogate("caf\u00e9"), has_surrogate("\ud800")
    (False, True)
    """
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield all strings of a value, keys included, each with its path.

    >>> list(strings({"a": ["b", 1]}))
    [('a', 'a'), ('a[0]', 'b')]
    """
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from strings(item, f"{path}[{number}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else str(key)
            yield inner, str(key)
            yield from strings(item, inner)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {reprlib.repr(double)} occurs twice")
    return content


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {reprlib.repr(digits)} is too large for float64")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not allowed")
