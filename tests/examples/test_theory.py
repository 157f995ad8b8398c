"""The document of the theory and the script that makes its pictures and figures agree with each other."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
MADE = ROOT / "docs" / "theory"
MODULES = ("theory", "theory_bounds", "theory_practice", "theory_pictures", "bias_variance")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?!\w)")


@pytest.fixture(scope="module")
def example():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples"))
        yield importlib.import_module("theory")
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def quick_run(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("theory") / "pictures"
    example.main([str(folder), "--quick"])
    return folder


def pictures_of_the_document():
    return set(re.findall(r"!\[[^\]]+\]\(theory/(\w+)\.png\)", DOCUMENT))


def numbers(text):
    return {number.rstrip(",").replace(",", "") for number in NUMBER.findall(text)}


def measured():
    """The paragraphs that quote figures, each with the pictures of its section."""
    cases = []
    for section in re.split(r"^## ", DOCUMENT, flags=re.MULTILINE)[1:]:
        drawn = re.findall(r"theory/(\w+)\.png", section)
        for paragraph in section.split("\n\n"):
            if paragraph.startswith(("*Measured", "| what |")):
                name = f"{section.splitlines()[0]}, {paragraph.split('.')[0].strip('*')}"
                cases.append(pytest.param(paragraph, drawn, id=name))
    return cases


def lines_of(pictures):
    """Return the lines of figures.txt of some pictures; of all if there are none."""
    sections = re.split(
        r"^(\w+)\.png\n", (MADE / "figures.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return "".join(
        text
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
        if name in pictures or not pictures
    )


def test_the_script_makes_exactly_the_pictures_of_the_document(example, quick_run):
    made = {path.stem for path in quick_run.glob("*.png")}
    assert made == set(example.PICTURES) == pictures_of_the_document()


def test_the_pictures_of_the_document_exist_and_are_small():
    assert {path.stem for path in MADE.glob("*.png")} == pictures_of_the_document()
    assert not [path.name for path in MADE.glob("*.png") if not 5_000 < path.stat().st_size < 150_000]


def test_one_picture_can_be_made_alone(example, tmp_path, capsys):
    example.main([str(tmp_path), "--quick", "--only", "vc_dimension"])
    assert [path.name for path in tmp_path.iterdir()] == ["vc_dimension.png"]
    assert "at most, of votes of 100 stumps in 10 columns: 15,157" in capsys.readouterr().out


def test_an_unknown_picture_is_refused(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        example.main([str(tmp_path), "--only", "nothing"])
    assert "nothing" in capsys.readouterr().err


def test_the_stored_figures_have_the_lines_of_the_script(quick_run):
    def texts(folder):
        """Each line without its numbers, of which a quick run has others, and fewer."""
        lines = (folder / "figures.txt").read_text(encoding="utf-8").splitlines()
        return {re.sub(r"[\d.,]+|: .*", "", line).strip() for line in lines}

    quick, stored = texts(quick_run), texts(MADE)
    assert len(quick) > 40
    assert not {line for line in quick - stored if "no different" not in line}


@pytest.mark.parametrize(("paragraph", "pictures"), measured())
def test_quoted_figures_are_figures_of_the_script(paragraph, pictures):
    text = re.sub(r"\$[^$]*\$|sections? \d+(?: and \d+)?|1/m|\((?:19|20)\d\d\)", "", paragraph)
    assert numbers(text)
    assert not numbers(text) - numbers(lines_of(pictures))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(hedgerow(?:\.\w+)+)`", DOCUMENT))))
def test_code_names_of_the_document_can_be_imported(path):
    module, _, name = path.rpartition(".")
    try:
        found = importlib.import_module(path)
    except ModuleNotFoundError:
        found = getattr(importlib.import_module(module), name)
    assert found.__doc__


def test_every_section_names_its_code():
    sections = re.split(r"^## \d+\. ", DOCUMENT, flags=re.MULTILINE)[1:-1]  # the last one is a summary
    assert len(sections) == 12
    assert not [section.splitlines()[0] for section in sections if "*In the code.*" not in section]


def test_links_to_sections_have_targets():
    heads = re.findall(r"^## (.+)$", DOCUMENT, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    links = set(re.findall(r"\]\(#([^)]+)\)", DOCUMENT))
    assert len(links) == 13
    assert links <= anchors
