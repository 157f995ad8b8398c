"""Strict parser of the XML of OpenCV's FileStorage: a tree of elements, and their numbers.

    <opencv_storage>          an element contains elements or text, never both
      <cascade>               a record: its children have different names
        <width>24</width>     text: a string, or numbers separated by white space
        <stages>              a sequence: its children are all named _
          <_>...</_></stages></cascade></opencv_storage>

Attributes (`type_id`) and comments are ignored.

Files are untrusted. Parsing takes at most a few seconds and a few hundred megabytes, and returns a tree or
raises ModelFileError: the size, the depth, the number of elements and the length of texts are limited, and a
document type, which could declare entities, is rejected before parsing.
"""

import re
import reprlib
import sys
from typing import Any
from xml.parsers import expat

import numpy as np

from hedgerow.container import ModelFileError

MAX_BYTES = 16 << 20  # the largest file that OpenCV ships has 2.7 MB
MAX_ELEMENTS = 1 << 19  # that file has 61,000
MAX_DEPTH = 32  # cascades have 10
MAX_TEXT = 1 << 20  # characters of one element
MAX_ATTRIBUTES = 1 << 16  # cascades have one
_MAX_NUMBER_LETTERS = 64
_INT32 = 1 << 31
# The smallest double that becomes infinite in single precision: half a unit above the largest float32.
_OVERFLOW = float(np.finfo(np.float32).max) + 2.0**103

# As read by strtol and strtod of C, which OpenCV calls; a leading 0 would mean octal.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,9})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Element:
    """An element: its name, first line, children and text."""

    __slots__ = ("children", "line", "name", "text")

    def __init__(self, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def error(self, message: str) -> ModelFileError:
        """Return an error that names the line and the element."""
        return ModelFileError(f"line {self.line}, <{shorten(self.name)}>: {message}")

    def find(self, name: str) -> "Element | None":
        """Return the child of this name, or None."""
        found = [child for child in self.children if child.name == name]
        if len(found) > 1:
            raise self.error(f"<{name}> occurs {len(found)} times; it must occur once")
        return found[0] if found else None

    def get(self, name: str) -> "Element":
        """Return the child of this name; raise if it is missing."""
        child = self.find(name)
        if child is None:
            raise self.error(f"the element <{name}> is missing")
        return child

    def items(self) -> "list[Element]":
        """Return the elements of a sequence, at least one."""
        for child in self.children:
            if child.name != "_":
                raise self.error(f"<{shorten(child.name)}> in a sequence; only <_> is allowed")
        if not self.children:
            raise self.error("the sequence is empty; at least one <_> is required")
        return self.children

    def string(self) -> str:
        """Return the text as one string, without the quotes that FileStorage may add."""
        self._check_leaf()
        return self.text.strip('"')

    def tokens(self, n: int | None = None, every: int = 1) -> list[str]:
        """Return the tokens of the text: exactly n, or a multiple of `every`, at least one."""
        self._check_leaf()
        tokens = self.text.split()
        if n is not None and len(tokens) != n:
            raise self.error(f"{len(tokens)} numbers are not allowed: there must be {n}")
        if not tokens or len(tokens) % every:
            raise self.error(f"{len(tokens)} numbers are not allowed: there must be a multiple of {every}")
        return tokens

    def as_integer(self) -> int:
        """Return the text as one integer."""
        return self.integer(self.tokens(1)[0])

    def as_number(self) -> float:
        """Return the text as one number."""
        return self.number(self.tokens(1)[0])

    def integer(self, token: str) -> int:
        """Parse a token as an integer of 32 bits."""
        if not _INTEGER.fullmatch(token):
            raise self.error(f"{reprlib.repr(token)} is not allowed: it must be an integer")
        value = int(token)
        if not -_INT32 <= value < _INT32:
            raise self.error(f"{token} is not allowed: integers must fit into 32 bits")
        return value

    def number(self, token: str) -> float:
        """Parse a token as a number that is finite in single precision."""
        if len(token) > _MAX_NUMBER_LETTERS or not _NUMBER.fullmatch(token):
            raise self.error(f"{reprlib.repr(token)} is not allowed: it must be a number")
        value = float(token)
        if abs(value) >= _OVERFLOW:
            raise self.error(f"{reprlib.repr(token)} is not allowed: it is too large for single precision")
        return value

    def _check_leaf(self) -> None:
        if self.children:
            raise self.error(f"<{shorten(self.children[0].name)}> in it is not allowed: it must contain text")


def shorten(text: str) -> str:
    """Shorten a text of a file for a message."""
    return text if len(text) <= 40 else text[:37] + "..."


def parse_storage(data: bytes) -> Element:
    """Parse a FileStorage document in XML and return its root, `<opencv_storage>`.

    >>> root = parse_storage(b"<opencv_storage><a><size>24 20</size></a></opencv_storage>")
    >>> root.get("a").get("size").tokens(2)
    ['24', '20']
    """
    _check_bytes(data)
    builder = _Builder()
    builder.parse(data)
    if builder.root is None:
        raise ModelFileError("the XML holds no element")
    if builder.root.name != "opencv_storage":
        raise builder.root.error("not a file of OpenCV: its first element must be <opencv_storage>")
    return builder.root


def _check_bytes(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"{len(data)} bytes are too many: an XML file may have at most {MAX_BYTES}")
    if data.count(b"<") > 2 * MAX_ELEMENTS:  # start and end tags
        raise ModelFileError(f"more than {2 * MAX_ELEMENTS} tags are not allowed")
    if data.count(b"=") > MAX_ATTRIBUTES:  # the parser makes a dictionary for each element
        raise ModelFileError(f"the file has too many attributes: {MAX_ATTRIBUTES} '=' are allowed")
    if b"\0" in data:
        raise ModelFileError("the file has null bytes; it must be XML in UTF-8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"byte {error.start} is not valid UTF-8") from error
    # Rejected even in a comment, so that no entity can be declared.
    for forbidden in (b"<!DOCTYPE", b"<!ENTITY"):
        if forbidden in data:
            line = data.count(b"\n", 0, data.index(forbidden)) + 1
            raise ModelFileError(f"line {line}: {forbidden.decode()} is not allowed in a cascade file")


class _Builder:
    """Handlers of the parser, and the stack of open elements."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._pieces: list[str] = []  # of the text of the innermost element
        self._length = 0
        self._n_elements = 0
        self._parser: Any = None

    def parse(self, data: bytes) -> None:
        # This encoding overrides the one that the file declares; see _check_bytes.
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise ModelFileError(f"not valid XML: {error}") from error
        finally:
            self._parser = None  # breaks the reference cycle of parser and handlers

    def _start(self, name: str, _: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._n_elements += 1
        if self._n_elements > MAX_ELEMENTS:
            raise ModelFileError(f"line {line}: more than {MAX_ELEMENTS} elements are not allowed")
        if len(self._open) >= MAX_DEPTH:
            raise ModelFileError(f"line {line}: elements nested deeper than {MAX_DEPTH} are not allowed")
        element = Element(sys.intern(name) if len(name) <= 40 else name, line)
        if self._open:
            self._store_text(last=False)
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._store_text(last=True)
        self._open.pop()

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise self._open[-1].error(f"a text of more than {MAX_TEXT} characters is not allowed")
        self._pieces.append(text)

    def _store_text(self, *, last: bool) -> None:
        """Store the text since the last tag in the innermost element."""
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        self._length = 0
        element = self._open[-1]
        if not text:
            return
        if not last or element.children:
            raise element.error(f"the text {reprlib.repr(text)} is beside elements; it is not allowed")
        if not text.isascii():  # str.split also splits at white space that is not XML's
            raise element.error(f"{reprlib.repr(text)} is not allowed: it must be ASCII")
        element.text = text

    @staticmethod
    def _refuse(*_: Any) -> None:
        raise ModelFileError("a document type or entity is not allowed in a cascade file")
