# ruff: noqa: INP001 - scripts of the site, not a package
r"""A Markdown extension for the site: formulas become MathML when it is built, so that pages need no script.

`pymdownx.arithmatex` finds the formulas and leaves `<span class="arithmatex">\(x\)</span>` or a div with
`\[x\]`. What is inside, LaTeX with HTML's escapes, is translated here.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

FOUND = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
LAST = -100  # after everything that puts parts of the page back into their places


def as_mathml(found: re.Match[str]) -> str:
    """A formula in its element."""
    tag = found["tag"]
    formula = html.unescape(found["formula"]).strip()
    mathml = convert(formula, display="block" if tag == "div" else "inline")
    return f'<{tag} class="formula">{mathml}</{tag}>'


class Formulas(Postprocessor):
    """Translate every formula of a page."""

    def run(self, text: str) -> str:
        """The page with MathML."""
        return FOUND.sub(as_mathml, text)


class FormulasExtension(Extension):
    """What is named in mkdocs.yml."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Add the step."""
        md.postprocessors.register(Formulas(md), "formulas", LAST)


def makeExtension(**settings: Any) -> FormulasExtension:  # noqa: N802 - Markdown's name
    """Make the extension, as Markdown asks for it."""
    return FormulasExtension(**settings)
