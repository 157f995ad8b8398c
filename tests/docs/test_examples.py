"""Every page of the documentation runs from top to bottom and prints what it says."""

import matplotlib as mpl
import pytest

from documents import PAGES, README, blocks, commands, name, run

NEEDS = {"docs/cascades.md": "skimage"}  # what a page imports beyond the dependencies
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


def write_page(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("page", cases())
def test_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    if name(page) in NEEDS:
        pytest.importorskip(NEEDS[name(page)], reason="the page's images come from scikit-image")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    for example in run(page):
        assert example.agrees, f"{name(page)}:{example.line} prints\n{example.printed}"


def test_all_kinds_of_pages_have_examples():
    names = {name(page) for page in WITH_CODE}
    assert len(names) > 12
    assert {
        "docs/getting-started.md",
        "docs/writing-a-loss.md",
        "docs/theory.md",
        "docs/cascades.md",
    } <= names


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("1.0\n", "1.0\n", True),
        ("1.0\n", "1.1\n", False),
        ("", "1.0\n", False),
        ("a ... c\n", "a b c\n", True),
    ],
)
def test_what_is_printed_is_compared(tmp_path, said, printed, same):
    answer = f"```text\n{said}```\n" if said else "Nothing follows.\n"
    page = write_page(tmp_path, f"Words.\n\n```python\nprint({printed.strip()!r})\n```\n\n{answer}")
    (example,) = run(page)
    assert (example.line, example.printed, example.expected) == (4, printed, said)
    assert example.agrees == same


def test_blocks_share_a_namespace_and_errors_come_through(tmp_path):
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
