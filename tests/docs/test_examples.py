"""The examples of every page of the documentation run and print the output on the page."""

import dask
import matplotlib as mpl
import pytest
from distributed.utils import get_mp_context

from dask_cases import FORK_SERVER, PRELOADED
from documents import PAGES, README, blocks, commands, name, run
from hedgerow.kernels.native import code

REQUIRED = {"docs/cascades.md": "skimage"}  # imports beyond the dependencies
SLOW = {"docs/cascades.md", "docs/getting-started.md"}
WITH_CODE = [
    page
    for page in [README, *PAGES]
    if any(block.language in {"python", "console"} for block in blocks(page))
]


def cases():
    return [
        pytest.param(page, id=name(page), marks=[pytest.mark.slow] if name(page) in SLOW else [])
        for page in WITH_CODE
    ]


@pytest.fixture(scope="module", autouse=True)
def compiled_kernels():
    """The progress of compiling would be part of what a page prints."""
    code().compile_listed()


def write_page(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("page", cases())
def test_examples_of_a_page_print_its_output(page, tmp_path, monkeypatch):
    if name(page) in REQUIRED:
        pytest.importorskip(REQUIRED[name(page)], reason="the page's images come from scikit-image")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    with dask.config.set(FORK_SERVER):  # of docs/clusters.md
        get_mp_context().set_forkserver_preload(PRELOADED)
        for example in run(page):
            assert example.agrees, f"{name(page)}:{example.line} prints\n{example.printed}"


def test_pages_have_examples():
    names = {name(page) for page in WITH_CODE}
    assert len(names) > 12
    assert {
        f"docs/{page}.md" for page in ("getting-started", "writing-a-loss", "theory", "cascades")
    } <= names


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [("1\n", "1\n", True), ("1\n", "2\n", False), ("", "1\n", False), ("a ... c\n", "a b c\n", True)],
)
def test_output_is_compared_with_the_page(tmp_path, expected, printed, same):
    block = f"```text\n{expected}```\n" if expected else "Nothing follows.\n"
    page = write_page(tmp_path, f"Text.\n\n```python\nprint({printed.strip()!r})\n```\n\n{block}")
    (example,) = run(page)
    assert (example.line, example.printed, example.expected) == (4, printed, expected)
    assert example.agrees == same


def test_blocks_share_a_namespace_and_errors_are_raised(tmp_path):
    page = write_page(tmp_path, "```python\nx = 2\n```\n\n```python\nprint(x)\nx / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        list(run(page))


def test_command_lines_are_run_and_their_output_is_compared(tmp_path):
    page = write_page(
        tmp_path, "```console\n$ hedgerow --version\nhedgerow ...\n$ hedgerow trian\nnothing\n```\n"
    )
    assert commands(blocks(page)[0]) == [
        ("hedgerow --version", "hedgerow ...\n"),
        ("hedgerow trian", "nothing\n"),
    ]
    right, wrong = run(page)
    assert right.agrees
    assert not wrong.agrees
    assert wrong.printed.startswith("hedgerow: error: ")
