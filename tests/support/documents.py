"""Pages of the documentation as data: code blocks, their output, links.

A page runs from top to bottom in one namespace and one folder. A Python block that prints is followed by a
text block with its output. A `console` block has command lines after "$ ", each followed by its output. In
both, "..." matches anything, as in a doctest. A `bash` block, or one without a language, has command lines;
those of `hedgerow` are run on request.
"""

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is the number of its first line on the page."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Example:
    """An example of a page that was run: its line, its output, and the output on the page."""

    line: int
    printed: str
    expected: str

    @property
    def agrees(self):
        return doctest.OutputChecker().check_output(self.expected, self.printed, _FLAGS)


def name(page):
    return page.relative_to(ROOT).as_posix()


def read(page):
    return page.read_text(encoding="utf-8")


def blocks(page):
    text = read(page)
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in _FENCE.finditer(text)
    ]


def run(page, *, command_lines=False):
    """Run the examples of a page, one after the other; with `command_lines` also those blocks."""
    namespace = {"__name__": "__page__"}
    listed = blocks(page)
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.language == "python":
            expected = following.text if following is not None and following.language == "text" else ""
            yield Example(
                block.line, _printed_by(lambda block=block: _execute(block, page, namespace)), expected
            )
        elif block.language == "console":
            for command, expected in commands(block):
                yield Example(block.line, _printed_by(lambda command=command: _call(command)), expected)
        elif command_lines:
            for command in shell_commands(block):
                code = []
                printed = _printed_by(lambda command=command, code=code: code.append(_call(command)))
                yield Example(block.line, f"{printed}exit code {code[0]}", "...exit code 0")


def shell_commands(block):
    """The command lines of `hedgerow` in a block of a shell, without comments."""
    if block.language not in {"bash", ""}:
        return []
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line.partition(" #")[0].strip() for line in lines if line.startswith("hedgerow ")]


def commands(block):
    """The command lines of a console block, each with its expected output."""
    texts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    pieces = [text.replace("\\\n", " ").partition("\n") for text in texts[1:]]
    return [(line, expected) for line, _, expected in pieces]


def _execute(block, page, namespace):
    code = "\n" * (block.line - 1) + block.text  # tracebacks show the line of the page
    exec(compile(code, str(page), "exec"), namespace)  # noqa: S102 - our own pages


def _call(command):
    from hedgerow.cli import main  # noqa: PLC0415 - only for pages with command lines

    program, *arguments = shlex.split(command)
    assert program == "hedgerow", command
    return main(arguments)


def _printed_by(call):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        call()
    return printed.getvalue()


def links(page):
    """Targets of links and images that are files or anchors, not other sites."""
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", read(page)))  # brackets in code are not links
    return [target for target in _LINK.findall(prose) if not re.match(r"[a-z]+:", target)]


def anchors(page):
    """The anchors of the headings of a page, as the site and GitHub create them."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", read(page)), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
