"""The XML of OpenCV's FileStorage as a small tree of elements, and its numbers, read strictly.

    <opencv_storage>          an element holds other elements or a text, never both
      <cascade>               a record: its children have different names
        <width>24</width>     a text: a word, or numbers with white space between them
        <stages>              a sequence: its children are all named _
          <_>...</_></stages></cascade></opencv_storage>

Attributes (`type_id`) and comments carry nothing that is needed, and are passed over.

A file may come from anyone. Whatever it holds, reading takes at most a few seconds and a few hundred
megabytes and ends in a tree or in ModelFileError: the size, the depth, the number of elements and the length
of a text are limited, and a document type, which could declare entities, is refused before parsing.
"""

import re
import reprlib
import sys
from typing import Any
from xml.parsers import expat

import numpy as np

from hedgerow.container import ModelFileError

MOST_BYTES = 16 << 20  # the largest file that OpenCV ships has 2.7 MB
MOST_ELEMENTS = 1 << 19  # the same file has 61,000
MOST_DEPTH = 32  # 10 are needed
MOST_TEXT = 1 << 20  # characters of one element
MOST_ATTRIBUTES = 1 << 16  # one is needed
_LONGEST_NUMBER = 64  # characters
_INT32 = 1 << 31
# The smallest double that becomes infinite in single precision: half a unit above the largest float32.
_OVERFLOW = float(np.finfo(np.float32).max) + 2.0**103

# As C's strtol and strtod read them where OpenCV calls these; a leading 0 would mean octal there.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,9})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Element:
    """An element: its name, the line it begins on, its children and its text."""

    __slots__ = ("children", "line", "name", "text")

    def __init__(self, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def error(self, message: str) -> ModelFileError:
        """An error that says where it is."""
        return ModelFileError(f"line {self.line}, <{shorten(self.name)}>: {message}")

    def find(self, name: str) -> "Element | None":
        """The child of this name, if there is one."""
        found = [child for child in self.children if child.name == name]
        if len(found) > 1:
            raise self.error(f"<{name}> is there {len(found)} times; once is allowed")
        return found[0] if found else None

    def get(self, name: str) -> "Element":
        """The child of this name; an error without it."""
        child = self.find(name)
        if child is None:
            raise self.error(f"the element <{name}> is missing")
        return child

    def items(self) -> "list[Element]":
        """The elements of a sequence, at least one."""
        for child in self.children:
            if child.name != "_":
                raise self.error(f"<{shorten(child.name)}> in a sequence; only <_> is allowed")
        if not self.children:
            raise self.error("the sequence is empty; at least one <_> is needed")
        return self.children

    def word(self) -> str:
        """The text as one word, without the quotes that FileStorage may write around it."""
        self._check_leaf()
        return self.text.strip('"')

    def words(self, n: int | None = None, every: int = 1) -> list[str]:
        """The words of the text: exactly n, or else a multiple of `every`, and not none."""
        self._check_leaf()
        words = self.text.split()
        if n is not None and len(words) != n:
            raise self.error(f"{len(words)} numbers are not allowed: {n} are needed")
        if not words or len(words) % every:
            raise self.error(f"{len(words)} numbers are not allowed: a multiple of {every} is needed")
        return words

    def the_integer(self) -> int:
        """The only whole number of the text."""
        return self.integer(self.words(1)[0])

    def the_number(self) -> float:
        """The only number of the text."""
        return self.number(self.words(1)[0])

    def integer(self, token: str) -> int:
        """A word of the text as a whole number of 32 bits."""
        if not _INTEGER.fullmatch(token):
            raise self.error(f"{reprlib.repr(token)} is not allowed: a whole number is needed")
        value = int(token)
        if not -_INT32 <= value < _INT32:
            raise self.error(f"{token} is not allowed: whole numbers have 32 bits")
        return value

    def number(self, token: str) -> float:
        """A word of the text as a number, finite in single precision."""
        if len(token) > _LONGEST_NUMBER or not _NUMBER.fullmatch(token):
            raise self.error(f"{reprlib.repr(token)} is not allowed: a number is needed")
        value = float(token)
        if abs(value) >= _OVERFLOW:
            raise self.error(f"{reprlib.repr(token)} is not allowed: it is too large for single precision")
        return value

    def _check_leaf(self) -> None:
        if self.children:
            raise self.error(f"<{shorten(self.children[0].name)}> in it is not allowed: a text is needed")


def shorten(text: str) -> str:
    """A part of a file, cut for a message."""
    return text if len(text) <= 40 else text[:37] + "..."


def parse_storage(data: bytes) -> Element:
    """The root of a FileStorage document in XML, `<opencv_storage>`.

    >>> root = parse_storage(b"<opencv_storage><a><size>24 20</size></a></opencv_storage>")
    >>> root.get("a").get("size").words(2)
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
    if len(data) > MOST_BYTES:
        raise ModelFileError(
            f"{len(data)} bytes are too many: at most {MOST_BYTES} are allowed in an XML file"
        )
    if data.count(b"<") > 2 * MOST_ELEMENTS:  # each begins and ends
        raise ModelFileError(f"more than {2 * MOST_ELEMENTS} tags are not allowed")
    if data.count(b"=") > MOST_ATTRIBUTES:  # the parser makes a dictionary of those of an element
        raise ModelFileError(f"the file has too many attributes: {MOST_ATTRIBUTES} '=' are allowed")
    if b"\0" in data:
        raise ModelFileError("the file holds null bytes: XML in UTF-8 is needed")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"byte {error.start} is not valid UTF-8, which is needed") from error
    # Refused even in a comment: then no reader of the rest can ever meet a declared entity.
    for forbidden in (b"<!DOCTYPE", b"<!ENTITY"):
        if forbidden in data:
            line = data.count(b"\n", 0, data.index(forbidden)) + 1
            raise ModelFileError(f"line {line}: {forbidden.decode()} is not allowed in a cascade file")


class _Builder:
    """The handlers of the parser and the elements that are open."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._pieces: list[str] = []  # of the text of the innermost open element
        self._length = 0
        self._n_elements = 0
        self._parser: Any = None

    def parse(self, data: bytes) -> None:
        # The encoding given here takes the place of the one the file declares: see _check_bytes.
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
            self._parser = None  # the parser and its handlers refer to one another

    def _start(self, name: str, _: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._n_elements += 1
        if self._n_elements > MOST_ELEMENTS:
            raise ModelFileError(f"line {line}: more than {MOST_ELEMENTS} elements are not allowed")
        if len(self._open) >= MOST_DEPTH:
            raise ModelFileError(f"line {line}: elements nested deeper than {MOST_DEPTH} are not allowed")
        element = Element(sys.intern(name) if len(name) <= 40 else name, line)
        if self._open:
            self._take_text(last=False)
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._take_text(last=True)
        self._open.pop()

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > MOST_TEXT:
            raise self._open[-1].error(f"a text of more than {MOST_TEXT} characters is not allowed")
        self._pieces.append(text)

    def _take_text(self, *, last: bool) -> None:
        """Give the text since the last tag to the innermost open element."""
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        self._length = 0
        element = self._open[-1]
        if not text:
            return
        if not last or element.children:
            raise element.error(f"the text {reprlib.repr(text)} stands beside elements; it is not allowed")
        if not text.isascii():  # str.split would take more than XML's white space for a gap
            raise element.error(f"{reprlib.repr(text)} is not allowed: ASCII is needed")
        element.text = text

    @staticmethod
    def _refuse(*_: Any) -> None:
        raise ModelFileError("a document type or entity is not allowed in a cascade file")
