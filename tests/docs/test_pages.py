"""The documentation is consistent: links, navigation, and names of the code."""

import importlib
import inspect
import re

import pytest

import hedgerow
from documents import DOCS, PAGES, README, ROOT, anchors, links, name, read
from hedgerow import selection
from hedgerow.cli.app import build_app

CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
NAVIGATION = re.findall(r":\s+([\w/-]+\.md)\s*$", CONFIG, flags=re.MULTILINE)
REFERENCE = sorted(set((DOCS / "reference").glob("*.md")) - {DOCS / "reference" / "index.md"})
ESTIMATORS = {
    name: value
    for name, value in ((name, getattr(hedgerow, name)) for name in hedgerow.__all__)
    if inspect.isclass(value) and hasattr(value, "get_params")
}


def program():
    """Commands with their options, from typer."""
    from typer.main import get_command  # noqa: PLC0415

    group = get_command(build_app())
    return {
        command: [
            option for parameter in found.params for option in parameter.opts if option.startswith("--")
        ]
        for command, found in group.commands.items()
    }


@pytest.mark.parametrize("page", [README, *PAGES], ids=name)
def test_targets_of_links_and_images_exist(page):
    broken = []
    for target in links(page):
        path, _, place = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (place and found.suffix == ".md" and place not in anchors(found)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_do_not_link_out_of_the_site(page):
    places = {target: (page.parent / target.partition("#")[0]).resolve() for target in links(page)}
    outside = [target for target, place in places.items() if not place.is_relative_to(DOCS)]
    assert not outside, "the built site has no such file"


def test_every_page_is_in_the_navigation_once():
    assert sorted(NAVIGATION) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page_begins_with_its_title(page):
    assert re.match(r"# \S", read(page))


def test_pages_load_nothing_from_other_sites():
    assert "font: false" in CONFIG
    for page in PAGES:
        assert not re.search(r"<script|<link|!\[[^\]]*\]\(https?:", read(page)), name(page)


@pytest.mark.parametrize("page", REFERENCE, ids=name)
def test_reference_lists_every_public_name_in_order(page):
    listed = re.findall(r"^::: (\S+)\.(\w+)$", read(page), flags=re.MULTILINE)
    (module,) = {module for module, _ in listed}
    public = [one for one in importlib.import_module(module).__all__ if not one.startswith("_")]
    assert [one for _, one in listed] == sorted(public, key=str.lower)


def test_overview_of_the_reference_links_to_its_pages():
    linked = re.findall(r"\]\((\w+\.md)\)", read(DOCS / "reference" / "index.md"))
    assert sorted(linked) == sorted(page.name for page in REFERENCE)


def test_command_line_page_lists_exactly_the_commands_and_options():
    text = read(DOCS / "command-line.md")
    for command, options in program().items():
        part = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
        assert part, f"{command} has no section"
        missing = [option for option in options if f"`{option}" not in part and option != "--help"]
        assert not missing, f"{command}: {missing}"
        listed = re.findall(r"^\| `(--[\w-]+)", part, flags=re.MULTILINE)
        assert set(listed) <= set(options), command


def test_parameters_on_the_page_of_peers_exist():
    parts = read(DOCS / "peers.md").split("\n| here |")[1]
    rows = [line.split("|")[1] for line in parts.split("\n\n")[0].splitlines()[2:]]
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert len(named) > 15
    assert named <= set(inspect.signature(hedgerow.GradientBoostingClassifier).parameters)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_estimators_on_a_page_exist(page):
    named = set(re.findall(r"`(\w+(?:Classifier|Regressor|Stump))`", read(page)))
    ours = {one for one in named if not one.startswith(("KNeighbors", "HistGradient"))}
    assert ours <= {*ESTIMATORS, *selection.__all__}


def test_quoted_results_of_the_theory_are_results_of_its_script():
    printed = (DOCS / "theory" / "figures.txt").read_text(encoding="utf-8")
    text = read(DOCS / "choosing.md")
    quoted = re.findall(r"\b0\.\d{3}\b", text)
    assert len(quoted) > 25
    assert not [number for number in quoted if number not in printed]


def test_experiments_page_shows_the_output_of_its_script():
    printed = (DOCS / "experiments" / "figures.txt").read_text(encoding="utf-8")
    cells = re.findall(r"0\.\d{4} ± 0\.\d{4}", read(DOCS / "experiments.md"))
    assert len(cells) == 18
    assert all(cell in printed for cell in cells)
