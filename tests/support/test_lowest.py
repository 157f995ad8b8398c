"""Versions and packages of pyproject.toml agree with the code, the pages and the environment."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from functools import cache

import pytest

from documents import DOCS, README, ROOT, read
from lowest import DESELECTED, TESTS, bounds, lowest, project

PROJECT = project()
DEPENDENCIES = bounds(PROJECT["dependencies"])
EXTRAS = {name: bounds(listed) for name, listed in PROJECT["optional-dependencies"].items()}
MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # modules with another name than their package
USERS = ("plots", "vision", "cli", "dask", "skops")  # extras that the package imports
OPTIONAL = {name for extra in USERS for name in EXTRAS[extra]}
TRANSITIVE = {"llvmlite": "numba"}  # installed by another one, in the version that it needs
USER = {"pandas", "duckdb"}  # imported only where the user has it


def module_of(name):
    return MODULES.get(name, name.replace("-", "_"))


def numbers_of(version):
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]


@cache
def imported():
    """Modules of other packages that the source imports, each with a file that imports it."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
                names += [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
            found |= {name.partition(".")[0]: path.relative_to(ROOT).as_posix() for name in names}
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names | {"hedgerow"}}


def test_every_package_that_is_imported_is_a_dependency_or_in_an_extra():
    stated = {module_of(name) for name in [*DEPENDENCIES, *OPTIONAL]}
    unstated = {name: path for name, path in imported().items() if name not in stated | USER}
    assert {name for name in unstated if TRANSITIVE.get(name) not in stated} == set(), unstated


def test_every_dependency_and_optional_package_is_imported():
    stated = {module_of(name) for name in [*DEPENDENCIES, *OPTIONAL]}
    assert stated - set(imported()) <= {"dask", "distributed", "openpyxl"}  # imported by name


def test_importing_the_package_loads_no_optional_package():
    names = sorted({module_of(name) for name in OPTIONAL})
    program = (  # scikit-learn imports pandas, which imports pyarrow; Numba imports rich, if installed
        "import sys, sklearn.base, sklearn.metrics, numba; before = set(sys.modules); import hedgerow; "
        f"print([name for name in {names} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "version"), DEPENDENCIES.items())
def test_installed_versions_satisfy_the_bounds(name, version):
    assert numbers_of(importlib.metadata.version(name)) >= numbers_of(version)


def test_a_package_has_the_same_bound_wherever_it_is_named():
    named = {}
    for listed in [DEPENDENCIES, *EXTRAS.values()]:
        for name, version in listed.items():
            named.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in named.items() if len(versions) > 1} == {}


def test_upper_bounds_have_their_reason_beside_them():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    bounded = [line for line in lines if re.match(r'\s+"[\w-]+>=[\d.]+,<', line)]
    reasons = {line.partition('"')[2].partition(">")[0] for line in bounded if "# " in line}
    assert {line.partition('"')[2].partition(">")[0] for line in bounded} == reasons
    assert not any("<" in requirement for requirement in PROJECT["dependencies"])


def test_lowest_versions_are_those_of_pyproject():
    listed = dict(line.split("==") for line in lowest())
    stated = DEPENDENCIES | {name: version for extra in EXTRAS.values() for name, version in extra.items()}
    assert listed.items() <= stated.items()
    assert set(listed) >= set(DEPENDENCIES) | OPTIONAL
    files = [*TESTS, *(name.partition("::")[0] for name in DESELECTED)]
    assert [name for name in files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "requirement", ["numpy", "numpy==2.0", "numpy<3", "numpy>=2.0; python_version > '3'"]
)
def test_a_requirement_without_a_lowest_version_is_refused(requirement):
    with pytest.raises(ValueError, match="has no lowest version: write name>=version"):
        bounds([requirement])


def test_python_is_of_one_lowest_version_everywhere():
    lowest_python = PROJECT["requires-python"].removeprefix(">=")
    assert sys.version_info >= tuple(numbers_of(lowest_python))
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if " 3." in line]
    assert min(classified, key=numbers_of) == lowest_python
    pages = {page: read(page) for page in (README, DOCS / "getting-started.md", ROOT / "Makefile")}
    for page, text in pages.items():
        versions = set(re.findall(r"(?:Python |python3 \()(3\.\d+) or later", text))
        assert versions == {lowest_python}, page
    tools = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'python_version = "{lowest_python}"' in tools
    assert f'target-version = "py{lowest_python.replace(".", "")}"' in tools
