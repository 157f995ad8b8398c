"""Self-contained HTML pages of sections with a table of contents, light and dark, for screen and print.

The elements (`table`, `figure`, `bullets` ...) are safe HTML; texts within them are escaped. There is no
JavaScript, and nothing is loaded from other files.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import Any

from jinja2 import Environment, PackageLoader, Template
from markupsafe import Markup

from hedgerow.report.svg import definitions, inline_svg

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LONG = 20  # letters of a cell from which its column has a minimum width
_ID = re.compile(r'<[^<>]*?\sid="([^"]*)"')


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    id : str
        Target of links: lower-case letters, digits and hyphens.
    title : str
    body : Markup
        Safe HTML.

    Examples
    --------
    >>> print(Section("data", "The data", paragraph("ten rows")).body)
    <p>ten rows</p>
    """

    id: str
    title: str
    body: Markup

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.id):
            raise ValueError(
                f"id={self.id!r} is not allowed: it must be lower-case letters, digits and hyphens"
            )
        if not isinstance(self.body, Markup):
            raise TypeError(
                f"the body of section {self.id!r} must be Markup, made with the functions of page"
            )


def render_page(title: str, sections: Iterable[Section], *, lead: str = "") -> str:
    """Render a page.

    Parameters
    ----------
    title : str
    sections : iterable of Section
    lead : str
        A sentence under the title.

    Examples
    --------
    >>> html = render_page("Tea & cake", [Section("tea", "Tea", paragraph("<hot>"))])
    >>> "<h1>Tea &amp; cake</h1>" in html, "<p>&lt;hot&gt;</p>" in html
    (True, True)
    """
    items = list(sections)
    css = resources.files("hedgerow.report").joinpath("style.css").read_text("utf-8")
    body = "".join(section.body for section in items)
    html = _template("page").render(
        title=title,
        lead=lead,
        sections=items,
        css=Markup(css),  # noqa: S704 - our own file
        on_white=Markup(definitions(body, on_black=False)),  # noqa: S704 - names and numbers
        on_black=Markup(definitions(body, on_black=True)),  # noqa: S704
        version=metadata.version("hedgerow"),
    )
    twice = [name for name, times in Counter(_ID.findall(html)).items() if times > 1]
    if twice:
        raise ValueError(
            f"the id {twice[0]!r} is on the page more than once: sections and figures must have unique names"
        )
    return html


# --- elements


def join(*elements: str) -> Markup:
    """Concatenate elements; plain texts are escaped.

    >>> print(join(code("a"), " <b>"))
    <code>a</code> &lt;b&gt;
    """
    return Markup("").join(elements)


def paragraph(*elements: str, kind: str = "") -> Markup:
    """Return a paragraph; kind "small" is for notes, "statement" is emphasised.

    >>> print(paragraph("x < y", kind="small"))
    <p class="small">x &lt; y</p>
    """
    start_tag = Markup('<p class="{}">').format(kind) if kind else Markup("<p>")
    return start_tag + join(*elements) + Markup("</p>\n")


def heading(title: str) -> Markup:
    """Return a heading within a section.

    >>> print(heading("Rows & columns"))
    <h3>Rows &amp; columns</h3>
    """
    return Markup("<h3>{}</h3>\n").format(title)


def code(content: str) -> Markup:
    """Inline code.

    >>> code("a<b")
    Markup('<code>a&lt;b</code>')
    """
    return Markup("<code>{}</code>").format(content)


def listing(lines: Iterable[str]) -> Markup:
    """Return a block of code.

    >>> print(listing(["import hedgerow", "2 < 3"]))
    <pre tabindex="0"><code>import hedgerow
    2 &lt; 3</code></pre>
    """
    return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format("\n".join(lines))


def bullets(items: Iterable[str]) -> Markup:
    """Return a list.

    >>> print(bullets(["one"]))
    <ul>
    <li>one</li>
    </ul>
    """
    return _render("bullets", list(items))


def key_figures(items: Iterable[tuple[str, str, str]]) -> Markup:
    """Return a row of key figures, each a name, a value and a note, which may be empty.

    >>> '<dd class="value">97 %</dd>' in key_figures([("accuracy", "97 %", "")])
    True
    """
    return _render("key_figures", list(items))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[int] = (),
    marked: Iterable[int] = (),
) -> Markup:
    """Return a table, which scrolls if it is too wide; the first cell of a row is its name.

    `head` are the names of the columns, those of `numbers` are aligned right, the rows of `marked` are
    highlighted.

    >>> html = table("Heights", ["who", "cm"], [["Ann", "170"]], numbers=[1])
    >>> '<th scope="row">Ann</th><td class="number">170</td>' in html
    True
    """
    filled = [list(row) for row in rows]
    for row in filled:
        if len(row) != len(head):
            raise ValueError(f"table {caption!r} has {len(head)} columns, and a row of {len(row)} cells")
    long = {
        (i, j)
        for i, row in enumerate(filled)
        for j, cell in enumerate(row)
        if len(cell) > _LONG and not isinstance(cell, Markup)
    }
    return _render("table", caption, list(head), filled, set(numbers), set(marked), long)


def folded(summary: str, element: Markup) -> Markup:
    """Return a collapsed element with a summary; it is expanded in print.

    The element is written twice, since browsers print collapsed elements differently: it must have no ids.

    >>> print(folded("More & more", paragraph("all of it")))
    <details><summary>More &amp; more</summary>
    <p>all of it</p>
    </details>
    <div class="paper">
    <p>all of it</p>
    </div>
    """
    return Markup('<details><summary>{}</summary>\n{}</details>\n<div class="paper">\n{}</div>\n').format(
        summary, element, element
    )


def isolated(content: str) -> Markup:
    """Return a text of any script, whose direction does not affect its neighbours.

    >>> isolated("<x>")
    Markup('<bdi>&lt;x&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(content)


def figure(shown: Any, caption: str, alt: str, *, name: str = "") -> Markup:
    """Return a figure with its caption.

    Parameters
    ----------
    shown : display or matplotlib Figure
        The figure, which is closed.
    caption : str
    alt : str
        Description for screen readers.
    name : str
        Prefix of the ids, unique on a page. Empty for a digest of the figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> html = figure(Figure(figsize=(2, 1)), "Nothing", "an empty figure")
    >>> html.count("<svg"), "<figcaption>Nothing</figcaption>" in html
    (1, True)
    """
    if name and not _NAME.fullmatch(name):
        raise ValueError(f"name={name!r} is not allowed: it must be lower-case letters, digits and hyphens")
    drawing = inline_svg(getattr(shown, "figure_", shown), alt, name)
    return _render("figure", drawing, caption)


def side_by_side(*figures: Markup) -> Markup:
    """Figures side by side, if the page is wide enough.

    >>> print(side_by_side(paragraph("a")))
    <div class="pair">
    <p>a</p>
    </div>
    """
    return Markup('<div class="pair">\n') + join(*figures) + Markup("</div>\n")


def histogram(counts: Sequence[int], alt: str) -> Markup:
    """Return a histogram of the height of a line of text.

    >>> histogram([1, 2], "two bins").count("<rect")
    2
    """
    most = max(counts, default=0)
    return _render("histogram", [count / most if most else 0.0 for count in counts], alt)


def _render(name: str, *items: Any) -> Markup:
    macro = getattr(_template("elements").module, name)
    return Markup(str(macro(*items)).lstrip("\n"))  # noqa: S704 - the template escapes


@cache
def _template(name: str) -> Template:
    loader = PackageLoader("hedgerow.report", "")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(f"{name}.html.jinja")
