"""Matplotlib figures as inline SVG, with colours that follow the light or dark page.

The SVG of matplotlib is parsed and written again: text stays text in the font of the page, ids exist only
where something refers to them and begin with the name of the figure. The same figure gives the same bytes.
Colours become CSS variables. Those of `hedgerow.plots.style` have names and dark counterparts chosen by hand;
any other `#rrggbb` is `--c-rrggbb`, and its counterpart has the same hue and inverted lightness.
"""

import colorsys
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
from matplotlib.colors import to_hex

from hedgerow.plots import style

# name: (on white, on black)
NAMED = {
    "paper": ("#ffffff", "#15181c"),
    "ink": (style.INK.lower(), "#e3e6ea"),
    "faint": (style.FAINT.lower(), "#767f8a"),
    "blue": (style.BLUE.lower(), "#5aaee6"),
    "vermillion": (style.VERMILLION.lower(), "#f28b4e"),
    "green": ("#009e73", "#3ac79b"),
    "pink": ("#cc79a7", "#e29cc4"),
    "orange": ("#e69f00", "#f2b84a"),
    "sky": ("#56b4e9", "#8fd3f7"),
    "black": ("#000000", "#f4f5f7"),
    "soft": (style.SOFT.lower(), "#a4adb8"),
}
# Text needs a contrast of 4.5:1 on the page, lines only 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
TEXT_COLOURS = {
    "vermillion": ("#b34d00", "#f28b4e"),
    "green": ("#007a59", "#3ac79b"),
    "pink": ("#a94c80", "#e29cc4"),
    "orange": ("#946600", "#f2b84a"),
    "sky": ("#1f78ad", "#8fd3f7"),
    "faint": ("#6b6b6b", "#98a1ac"),
}
_NAMES = {on_white: name for name, (on_white, _) in NAMED.items()}
_FREE = re.compile(r"var\(--c-([0-9a-f]{6})\)")
_DARKEST, _LIGHTEST = 0.12, 0.95  # lightness of the paper and of black ink, on a dark page


def variable(colour: str, *, of_text: bool = False) -> str:
    """Return the CSS variable of a colour `#rrggbb`, for lines and areas or for text.

    >>> variable("#0072B2"), variable("#deebf7")
    ('var(--blue)', 'var(--c-deebf7)')
    >>> variable("#D55E00", of_text=True)
    'var(--vermillion-text)'
    """
    code = colour.lower()
    if code not in _NAMES:
        return f"var(--c-{code[1:]})"
    name = _NAMES[code]
    return f"var(--{name}-text)" if of_text and name in TEXT_COLOURS else f"var(--{name})"


def dark(colour: str) -> str:
    """Return the counterpart of a colour `#rrggbb` on a dark page.

    >>> dark("#0072b2"), dark("#eeeeee"), dark("#222222")
    ('#5aaee6', '#2d2d2d', '#d6d6d6')
    """
    code = colour.lower()
    if code in _NAMES:
        return NAMED[_NAMES[code]][1]
    hue, lightness, saturation = colorsys.rgb_to_hls(*(byte / 255 for byte in bytes.fromhex(code[1:])))
    inverted = _LIGHTEST - (_LIGHTEST - _DARKEST) * lightness
    return to_hex(colorsys.hls_to_rgb(hue, inverted, saturation))


def definitions(html: str, *, on_black: bool) -> str:
    """CSS that defines the named colours, and the others that some HTML uses.

    >>> definitions('<path style="fill: var(--c-eeeeee)"/>', on_black=True)[-19:]
    '--c-eeeeee: #2d2d2d'
    """
    free = sorted(set(_FREE.findall(html)))
    found = [(name, pair[on_black]) for name, pair in NAMED.items()]
    found += [(f"{name}-text", pair[on_black]) for name, pair in TEXT_COLOURS.items()]
    found += [(f"c-{code}", dark(f"#{code}") if on_black else f"#{code}") for code in free]
    return "; ".join(f"--{name}: {colour}" for name, colour in found)


_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"^font: (.*?)([\d.]+px) .*$")  # older versions of matplotlib write the short form
_PIXELS = 96 / 72  # CSS pixels in a point
_FEW_PANELS = 2  # beside each other on a phone
_SMALLEST = 0.6  # of its natural width, to which a drawing shrinks before its box scrolls

# Text is laid out with the font that comes with matplotlib: the same everywhere, and wider than system fonts.
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "hedgerow",
    "svg.image_inline": True,
    "font.family": ["DejaVu Sans"],
    "savefig.bbox": None,
    "text.parse_math": False,  # a column may be named $x$
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_LEFT_OUT = ("metadata", "style")  # a style element would be for the whole page


@contextmanager
def figure_settings() -> Iterator[None]:
    """Settings of matplotlib that make figures independent of the user's settings.

    >>> import matplotlib
    >>> with figure_settings():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    with style.mpl("style").context("default"), mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # Letters that matplotlib cannot draw stay text; the browser has them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def inline_svg(figure: Any, alt: str, name: str) -> Markup:
    """Write a figure as an `<svg>` element, and close it; see `page.figure`.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(3, 2))
    >>> _ = figure.add_subplot().set_title("Ångström & co")
    >>> html = inline_svg(figure, "An empty plot", "empty")
    >>> str(html[:36]), "Ångström &amp; co</text>" in html, "http" in html
    ('<svg role="img" aria-label="An empty', True, False)
    """
    page = io.BytesIO()
    n_panels = len(figure.axes)
    with figure_settings():
        figure.savefig(page, format="svg", metadata=_NO_METADATA, facecolor="none", edgecolor="none")
    style.mpl("pyplot").close(figure)
    name = name or "f" + hashlib.sha256(page.getvalue() + alt.encode()).hexdigest()[:12]
    root = ET.fromstring(page.getvalue().decode("utf-8"))  # noqa: S314 - written by matplotlib
    used = {found for element in root.iter() for found in _references(element)}
    known = [element.attrib["id"] for element in root.iter() if element.attrib.get("id") in used]
    ids = {old: f"{name}-{number}" for number, old in enumerate(known, 1)}
    width, height = (_PIXELS * float(number) for number in root.attrib["viewBox"].split()[2:])
    kind = Markup(' class="panels"') if n_panels > _FEW_PANELS else ""  # on a phone their text is larger
    start_tag = Markup(
        '<svg role="img" aria-label="{}"{} viewBox="{}" width="{:.0f}" height="{:.0f}" '
        'style="--least: {:.0f}px">'
    ).format(alt, kind, root.attrib["viewBox"], width, height, _SMALLEST * width)
    inner = [text for child in root for text in _written(child, ids)]
    return Markup("").join([start_tag, *inner, Markup("</svg>")])


def _references(element: ET.Element) -> Iterator[str]:
    """Yield the ids that an element refers to."""
    for key, value in element.attrib.items():
        if _local(key) == "href" and value.startswith("#"):
            yield value[1:]
        yield from _REFERENCE.findall(value)


def _local(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition("}")[2]


def _written(element: ET.Element, ids: dict[str, str], *, is_text: bool = False) -> Iterator[Markup]:
    """Yield the HTML of an element and its children; text may be drawn as paths in a group "text_1"."""
    tag = _local(str(element.tag))
    if tag in _LEFT_OUT:
        return
    is_text = is_text or tag == "text" or element.attrib.get("id", "").startswith("text_")
    attributes = dict(_attributes(element, ids, is_text=is_text))
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
        yield from _written(child, ids, is_text=is_text)
        if tag in ("text", "tspan") and child.tail:
            yield Markup("{}").format(child.tail)
    if not is_bare:
        yield Markup("</{}>").format(tag)


def _attributes(element: ET.Element, ids: dict[str, str], *, is_text: bool) -> Iterator[tuple[str, str]]:
    for full_name, raw in element.attrib.items():
        key, value = _local(full_name), raw
        if key == "id":
            if value in ids:
                yield key, ids[value]
            continue
        if key == "href" and value.startswith("#"):
            value = "#" + ids[value[1:]]
        elif key == "style":
            value = "; ".join(_declarations(value, is_text=is_text))
        elif key == "d":
            value = " ".join(value.split())
        if key in ("d", "x", "y", "transform", "width", "height", "points"):
            value = _DECIMALS.sub(lambda found: f"{float(found[0]):.2f}", value)
        if key == "transform" and value.startswith("rotate(-0 "):
            continue  # turns nothing
        yield key, _REFERENCE.sub(lambda found: f"url(#{ids[found[1]]})", value)


def _declarations(raw: str, *, is_text: bool) -> Iterator[str]:
    """Yield the declarations of a style attribute, with the font of the page and variables as colours."""
    for declaration in raw.split("; "):
        short = _FONT.match(declaration)
        if short:
            yield f"font: {short[1]}{short[2]} var(--sans)"
        elif not declaration.startswith("font-family:"):
            yield _HEX.sub(lambda found: variable(found[0], of_text=is_text), declaration)
