"""A page: titled sections of HTML in one file that needs no other.

Every part (`table`, `figure`, `bullets` ...) is a piece of safe HTML; texts that go into one are escaped.
Parts are joined into sections, and sections into a page with a table of contents, in light and dark, for
screens of any width and for paper. There is no JavaScript, and nothing is loaded from anywhere.
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

from hedgerow.report.colours import definitions
from hedgerow.report.svg import inline_svg

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LONG = 20  # letters of a cell that is not squeezed into a column of single words
_ID = re.compile(r'<[^<>]*?\sid="([^"]*)"')


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading.

    Parameters
    ----------
    id : str
        What links point to: lower-case letters, digits and hyphens.
    title : str
    body : Markup
        Safe HTML; headings within it begin with `heading`.

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
            raise TypeError(f"the body of section {self.id!r} is no Markup: make it with the parts of page")


def render_page(title: str, sections: Iterable[Section], *, lead: str = "") -> str:
    """The page as a text.

    Parameters
    ----------
    title : str
    sections : iterable of Section
    lead : str
        A sentence under the title.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> html = render_page("Tea & cake", [Section("tea", "Tea", paragraph("<hot>"))])
    >>> "<h1>Tea &amp; cake</h1>" in html, "<p>&lt;hot&gt;</p>" in html
    (True, True)
    """
    given = list(sections)
    css = resources.files("hedgerow.report").joinpath("style.css").read_text("utf-8")
    body = "".join(section.body for section in given)
    html = (
        _templates()
        .get_template("page.html.jinja")
        .render(
            title=title,
            lead=lead,
            sections=given,
            css=Markup(css),  # noqa: S704 - our own file
            on_white=Markup(definitions(body, on_black=False)),  # noqa: S704 - names and numbers
            on_black=Markup(definitions(body, on_black=True)),  # noqa: S704
            version=metadata.version("hedgerow"),
        )
    )
    twice = [name for name, times in Counter(_ID.findall(html)).items() if times > 1]
    if twice:
        raise ValueError(
            f"the id {twice[0]!r} is on the page more than once: give sections and figures names"
        )
    return html


# --- parts


def join(*parts: str) -> Markup:
    """Parts one after the other; plain texts are escaped.

    >>> print(join(code("a"), " <b>"))
    <code>a</code> &lt;b&gt;
    """
    return Markup("").join(parts)


def paragraph(*pieces: str, kind: str = "") -> Markup:
    """A paragraph; kind "small" stands back, "statement" stands out.

    >>> print(paragraph("x < y", kind="small"))
    <p class="small">x &lt; y</p>
    """
    opening = Markup('<p class="{}">').format(kind) if kind else Markup("<p>")
    return opening + join(*pieces) + Markup("</p>\n")


def heading(words: str) -> Markup:
    """A heading within a section.

    >>> print(heading("Rows & columns"))
    <h3>Rows &amp; columns</h3>
    """
    return Markup("<h3>{}</h3>\n").format(words)


def code(words: str) -> Markup:
    """Words of a program within a sentence.

    >>> code("a<b")
    Markup('<code>a&lt;b</code>')
    """
    return Markup("<code>{}</code>").format(words)


def listing(lines: Iterable[str]) -> Markup:
    """Lines of a program.

    >>> print(listing(["import hedgerow", "2 < 3"]))
    <pre tabindex="0"><code>import hedgerow
    2 &lt; 3</code></pre>
    """
    return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format("\n".join(lines))


def bullets(items: Iterable[str]) -> Markup:
    """A list.

    >>> print(bullets(["one"]))
    <ul>
    <li>one</li>
    </ul>
    """
    return _part("bullets", list(items))


def key_figures(given: Iterable[tuple[str, str, str]]) -> Markup:
    """A row of figures that stand out, each a name, a value and a note (which may be empty).

    >>> '<dd class="value">97 %</dd>' in key_figures([("accuracy", "97 %", "")])
    True
    """
    return _part("key_figures", list(given))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[int] = (),
    marked: Iterable[int] = (),
    row_heads: bool = True,
) -> Markup:
    """A table in a box of its own, which scrolls if it is too wide.

    Parameters
    ----------
    caption : str
    head : sequence of str
        The names of the columns.
    rows : iterable of sequences of str
        Cells; Markup stays as it is.
    numbers : iterable of int
        Columns that are set flush right.
    marked : iterable of int
        Rows that stand out.
    row_heads : bool
        Whether the first cell of a row is its name.

    Returns
    -------
    Markup

    Examples
    --------
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
    return _part("table", caption, list(head), filled, set(numbers), row_heads, set(marked), long)


def folded(summary: str, part: Markup) -> Markup:
    """A part that is opened by a click on its summary; on paper, where nobody clicks, it is there.

    The part is written twice, for browsers do not agree on how to print what is folded: it must have no ids.

    >>> print(folded("More & more", paragraph("all of it")))
    <details><summary>More &amp; more</summary>
    <p>all of it</p>
    </details>
    <div class="paper">
    <p>all of it</p>
    </div>
    """
    return Markup('<details><summary>{}</summary>\n{}</details>\n<div class="paper">\n{}</div>\n').format(
        summary, part, part
    )


def isolated(words: str) -> Markup:
    """Words of any script, whose direction does not reach what stands beside them.

    >>> isolated("<x>")
    Markup('<bdi>&lt;x&gt;</bdi>')
    """
    return Markup("<bdi>{}</bdi>").format(words)


def figure(shown: Any, caption: str, alt: str, *, name: str = "") -> Markup:
    """A drawing with its caption.

    Parameters
    ----------
    shown : display or matplotlib Figure
        A display has its figure as `figure_`. pyplot forgets the figure.
    caption : str
        Stands below.
    alt : str
        What is seen, for those who do not see it.
    name : str
        What the ids within begin with: unique on a page. Empty for a digest of what is drawn.

    Returns
    -------
    Markup

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> html = figure(Figure(figsize=(2, 1)), "Nothing", "an empty picture")
    >>> html.count("<svg"), "<figcaption>Nothing</figcaption>" in html
    (1, True)
    """
    if name and not _NAME.fullmatch(name):
        raise ValueError(f"name={name!r} is not allowed: it must be lower-case letters, digits and hyphens")
    drawing = inline_svg(getattr(shown, "figure_", shown), alt, name)
    return _part("figure", drawing, caption)


def side_by_side(*figures: Markup) -> Markup:
    """Figures in one row, as far as there is room.

    >>> print(side_by_side(paragraph("a")))
    <div class="pair">
    <p>a</p>
    </div>
    """
    return Markup('<div class="pair">\n') + join(*figures) + Markup("</div>\n")


def histogram(counts: Sequence[int], words: str) -> Markup:
    """Bars as small as a line of text; the tallest is the most frequent.

    >>> histogram([1, 2], "two bins").count("<rect")
    2
    """
    most = max(counts, default=0)
    return _part("histogram", [count / most if most else 0.0 for count in counts], words)


def _part(name: str, *given: Any) -> Markup:
    module = _parts().module
    return Markup(str(getattr(module, name)(*given)).lstrip("\n"))  # noqa: S704 - the template escapes


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("hedgerow.report", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _parts() -> Template:
    return _templates().get_template("parts.html.jinja")
