"""Rules of the project that no linter checks: the content of files and the exported names."""

import ast
import importlib.metadata
import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import hedgerow
import hedgerow.estimators

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs")
SUFFIXES = {".py", ".md", ".toml", ".txt", ".html", ".cfg", ".yaml", ".yml", ".json"}

# Written in pieces, so that this file passes its own test.
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|home|root|tmp)" + "/"),
    "a folder beside the checkout": re.compile(r"\bshared" + r"/\w"),
    "a package registry": re.compile(r"\b(?:py" + r"pi|conda|anaconda)\." + r"(?:org|com)"),
    "a note of how the work is organised": re.compile(
        r"\b(?:DESIGN|SOURCES|PEERS|STYLE|CONTRACT)\." + r"md|\bSOURCES" + r" #|\bissue #?\d"
    ),
}
MAX_FUNCTION_LINES = 60  # without its docstring


def product_files():
    files = [path for path in ROOT.iterdir() if path.suffix in SUFFIXES or path.name == "Makefile"]
    for folder in FOLDERS:
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return [path for path in files if path.is_file()]


def source_files():
    return sorted((ROOT / "src").rglob("*.py"))


def function_lengths(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node, clean=False) or ""
            yield node.name, node.end_lineno - node.lineno + 1 - doc.count("\n")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_product_files_name_only_the_product(what):
    files = product_files()
    assert any(path.name == "pyproject.toml" for path in files)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FORBIDDEN[what].search(line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of one machine", "see /" + "work/notes"),
        ("a folder beside the checkout", "../shared" + "/data"),
        ("a package registry", "https://py" + "pi.org/simple"),
        ("a note of how the work is organised", "as in SOURCES" + " #7"),
        ("a note of how the work is organised", "asked for in issue" + " 2"),
    ],
)
def test_the_patterns_match_their_examples(what, text):
    assert FORBIDDEN[what].search(text)


def test_public_names_are_exactly_those_in_all():
    found = {name for name in dir(hedgerow) if not inspect.ismodule(getattr(hedgerow, name))}
    assert found == set(hedgerow.__all__) - {"__version__"}
    assert all(hasattr(hedgerow, name) for name in hedgerow.__all__)
    with pytest.raises(AttributeError, match="module 'hedgerow' has no attribute 'nothing'"):
        _ = hedgerow.nothing
    assert len(hedgerow.__all__) == len(set(hedgerow.__all__))


@pytest.mark.parametrize("package", [hedgerow, hedgerow.estimators])
def test_names_for_type_checkers_are_those_that_are_loaded_on_demand(package):
    (block,) = (
        node for node in ast.parse(Path(package.__file__).read_text("utf-8")).body if type(node) is ast.If
    )
    imported = {alias.name: line.module for line in block.body for alias in line.names}
    star = imported.pop("*", None)
    imported |= dict.fromkeys(import_module(star).__all__ if star else (), star)
    assert set(imported) == set(package.__all__) - {"__version__"}
    for name, module in imported.items():
        assert getattr(package, name) is getattr(import_module(module), name)


def test_every_public_name_is_documented_with_an_example():
    bare = [
        name
        for name in hedgerow.__all__
        if not name.startswith("_") and ">>>" not in (inspect.getdoc(getattr(hedgerow, name)) or "")
    ]
    assert not bare, f"public names without an example in their docstring: {bare}"


def test_the_estimators_are_exported():
    assert {"GradientBoostingClassifier", "GradientBoostingRegressor"} <= set(hedgerow.__all__)


def test_functions_have_at_most_60_lines():
    long = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in source_files()
        for name, lines in function_lengths(path)
        if lines > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def test_every_ignored_lint_rule_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.mypy]")]
    rules = [line for line in section.splitlines() if re.match(r'\s+"[A-Z]+\d*",', line)]
    assert len(rules) > 20
    assert not [line for line in rules if not re.search(r"# \S", line)]


def test_installed_metadata_is_that_of_this_checkout():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = importlib.metadata.metadata("hedgerow")
    assert installed["Version"] == project["version"]
    assert installed["License-Expression"] == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")
