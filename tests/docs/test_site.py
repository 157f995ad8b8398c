"""The site is built from the pages, and its pages load nothing from other sites."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from documents import DOCS, PAGES, ROOT

pytest.importorskip("zensical", reason="the site is built by zensical (the extra `docs`)")
pytest.importorskip("latex2mathml", reason="formulas are made by latex2mathml (the extra `docs`)")

NAMES = {"http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2000/svg"}  # namespaces, never loaded


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built from a copy, as a user's `make docs` would do it."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    program = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    path = os.pathsep.join(["docs", *filter(None, [os.environ.get("PYTHONPATH")])])  # docs/formulas.py
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def pages(site):
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")
    }


def test_every_page_is_built(site):
    assert {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in PAGES} <= set(pages(site))
    assert not list(site.rglob("*.py"))


def test_nothing_is_loaded_from_other_sites(site):
    for name, text in pages(site).items():
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(https?:[^\"' >]+)", text)
        assert not loaded, name
        assert set(re.findall(r"https?://[^\"' )<]*", text)) <= NAMES, name


def test_formulas_are_mathml(site):
    text = pages(site)["theory.html"]
    assert text.count("<math") > 100
    assert "arithmatex" not in text
    assert not re.search(r"\\(?:frac|sum|prod|le)\b", text)


def test_targets_of_links_and_images_exist(site):
    for name, text in pages(site).items():
        if name == "404.html":
            continue
        for target in re.findall(r"<(?:a|img)[^>]+(?:src|href)=\"([^\"#:]+)", text):
            assert (site / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_search_index_has_every_page(site):
    index = (site / "search.json").read_text(encoding="utf-8")
    for page in PAGES:
        assert page.relative_to(DOCS).with_suffix(".html").as_posix() in index
