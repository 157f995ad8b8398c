"""Inline SVG: a matplotlib figure as a piece of HTML.

What matplotlib writes is read as a tree and written again: text stays text in the page's own font, colours
are CSS variables (see `colours`), ids exist only where something refers to them and begin with the figure's
name. The same figure gives the same bytes.
"""

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from markupsafe import Markup

from hedgerow.plots import style
from hedgerow.report.colours import variable

_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"^font: (.*?)([\d.]+px) .*$")  # older versions of matplotlib write the short form
_PIXELS = 96 / 72  # CSS pixels in a point
_SMALLEST = 0.6  # of its natural width, to which a drawing shrinks before its box scrolls

# Text is laid out with the font that comes with matplotlib: the same everywhere, and wider than system fonts.
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "hedgerow",
    "svg.image_inline": True,
    "font.family": ["DejaVu Sans"],
    "savefig.bbox": None,
    "text.parse_math": False,  # a column may be called $x$
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_LEFT_OUT = ("metadata", "style")  # a style element would be for the whole page


@contextmanager
def house_settings() -> Iterator[None]:
    """Settings of matplotlib under which a figure is the same for everybody.

    >>> import matplotlib
    >>> with house_settings():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    with style.mpl("style").context("default"), mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # Letters that matplotlib cannot draw stay text; the browser has them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def inline_svg(figure: Any, alt: str, name: str) -> Markup:
    """A figure as an `<svg>` element.

    Parameters
    ----------
    figure : matplotlib Figure
        It is closed: pyplot forgets it.
    alt : str
        What is seen, in words.
    name : str
        What the ids begin with; empty for a digest of what is drawn.

    Returns
    -------
    Markup

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(3, 2))
    >>> _ = figure.add_subplot().set_title("Ångström & co")
    >>> html = inline_svg(figure, "An empty plot", "empty")
    >>> str(html[:36]), "Ångström &amp; co</text>" in html, "http" in html
    ('<svg role="img" aria-label="An empty', True, False)
    """
    page = io.BytesIO()
    with house_settings():
        figure.savefig(page, format="svg", metadata=_NO_METADATA, facecolor="none", edgecolor="none")
    style.mpl("pyplot").close(figure)
    name = name or "f" + hashlib.sha256(page.getvalue() + alt.encode()).hexdigest()[:12]
    root = ET.fromstring(page.getvalue().decode("utf-8"))  # noqa: S314 - not a stranger's file
    used = {found for element in root.iter() for found in _references(element)}
    known = [element.attrib["id"] for element in root.iter() if element.attrib.get("id") in used]
    ids = {old: f"{name}-{number}" for number, old in enumerate(known, 1)}
    width, height = (_PIXELS * float(number) for number in root.attrib["viewBox"].split()[2:])
    opening = Markup(
        '<svg role="img" aria-label="{}" viewBox="{}" width="{:.0f}" height="{:.0f}" '
        'style="--least: {:.0f}px">'
    ).format(alt, root.attrib["viewBox"], width, height, _SMALLEST * width)
    inner = [part for child in root for part in _written(child, ids)]
    return Markup("").join([opening, *inner, Markup("</svg>")])


def _references(element: ET.Element) -> Iterator[str]:
    """The ids that an element refers to."""
    for key, value in element.attrib.items():
        if _local(key) == "href" and value.startswith("#"):
            yield value[1:]
        yield from _REFERENCE.findall(value)


def _local(name: str) -> str:
    """A name without its namespace, which HTML does not write."""
    return name.rpartition("}")[2]


def _written(element: ET.Element, ids: dict[str, str], *, is_words: bool = False) -> Iterator[Markup]:
    """The pieces of HTML of an element and all it holds; words may be drawn as paths in a group "text_1"."""
    tag = _local(str(element.tag))
    if tag in _LEFT_OUT:
        return
    is_words = is_words or tag == "text" or element.attrib.get("id", "").startswith("text_")
    attributes = dict(_attributes(element, ids, is_words=is_words))
    is_bare = tag == "g" and not attributes  # most groups only carried an id
    if not is_bare:
        yield Markup("<") + tag
        for key, value in attributes.items():
            yield Markup(' {}="{}"').format(key, value)
    if len(element) == 0 and not (element.text or "").strip():
        if not is_bare:
            yield Markup("/>")
        return
    if not is_bare:
        yield Markup(">")
    if (element.text or "").strip():
        yield Markup("{}").format(element.text)
    for child in element:
        yield from _written(child, ids, is_words=is_words)
        if tag in ("text", "tspan") and child.tail:
            yield Markup("{}").format(child.tail)
    if not is_bare:
        yield Markup("</{}>").format(tag)


def _attributes(element: ET.Element, ids: dict[str, str], *, is_words: bool) -> Iterator[tuple[str, str]]:
    for full_name, given in element.attrib.items():
        key, value = _local(full_name), given
        if key == "id":
            if value in ids:
                yield key, ids[value]
            continue
        if key == "href" and value.startswith("#"):
            value = "#" + ids[value[1:]]
        elif key == "style":
            value = "; ".join(_declarations(value, is_words=is_words))
        elif key == "d":
            value = " ".join(value.split())
        if key in ("d", "x", "y", "transform", "width", "height", "points"):
            value = _DECIMALS.sub(lambda found: f"{float(found[0]):.2f}", value)
        if key == "transform" and value.startswith("rotate(-0 "):
            continue  # turns nothing
        yield key, _REFERENCE.sub(lambda found: f"url(#{ids[found[1]]})", value)


def _declarations(given: str, *, is_words: bool) -> Iterator[str]:
    """The declarations of a style attribute: fonts are the page's, colours are variables."""
    for declaration in given.split("; "):
        short = _FONT.match(declaration)
        if short:
            yield f"font: {short[1]}{short[2]} var(--sans)"
        elif not declaration.startswith("font-family:"):
            yield _HEX.sub(lambda found: variable(found[0], of_words=is_words), declaration)
