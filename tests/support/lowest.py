"""Print the lowest versions that pyproject.toml allows, for `make lowest`.

    "numba>=0.61"    becomes    "numba==0.61"    which pip reads as 0.61.0

The versions of all dependencies and of the extras in EXTRAS come from pyproject.toml; TOOLS names packages of
the extra `dev` that the tests use.

    python tests/support/lowest.py            prints the requirements, one per line
    python tests/support/lowest.py --tests    prints the arguments of pytest
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = ("plots", "vision", "cli", "dask", "skops")
TOOLS = ("pytest", "pytest-xdist", "pytest-cov", "hypothesis", "pandas", "polars", "html5lib")
# The docstring examples of `src` cover every package; the other tests depend most on other libraries.
# Not datafiles/test_reading.py: Arrow before 24 may not end its threads at exit after an error.
TESTS = (
    "src",
    "tests/io/test_save_load.py",  # safetensors
    "tests/io/test_kinds.py",
    "tests/docs/test_file_format.py",
    "tests/estimators/test_check_boosting.py",  # scikit-learn
    "tests/estimators/test_check_estimator.py",
    "tests/table/test_table.py",  # narwhals, pandas, polars
    "tests/table/test_categories.py",
    "tests/datafiles/test_round_trip.py",  # pyarrow
    "tests/plots/test_margins.py",  # matplotlib
    "tests/plots/test_shapes.py",
    "tests/report/test_page.py",  # jinja2
    "tests/cli/test_commands.py",  # typer, rich
    "tests/vision/test_images.py",  # pillow
    "tests/vision/test_cascade.py",
    "tests/test_threads.py",  # threadpoolctl, joblib
    "tests/estimators/test_bagging_jobs.py",
    "tests/estimators/test_same_bits.py",  # numba
    "tests/streams/test_fits.py",  # pyarrow
    "tests/distributed/test_dask_shards.py",  # dask, distributed
    "tests/distributed/test_fits.py",
)
DESELECTED = (
    # Bagging draws rows by hashes of their values, and older versions of scikit-learn scale this table
    # differently in the last bits.
    "src/hedgerow/estimators/bagging.py::hedgerow.estimators.bagging.BaggingRegressor",
    # For binary estimators the check of scikit-learn 1.6 derives the classes from the first row, once before
    # and once after shuffling: they differ.
    "tests/estimators/test_check_boosting.py::test_scikit_learn_accepts[AnyBoostClassifier",
)
_BOUND = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[a-z,]+\])?>=([0-9][0-9.]*)(?:,<[0-9.]+)?")


def project():
    """The table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(requirements):
    """Return names and lowest versions of requirements name>=version; extras of Hedgerow are skipped.

    >>> bounds(["numpy>=2.0", "opencv-python-headless>=4.10,<5", "hedgerow[cli]"])
    {'numpy': '2.0', 'opencv-python-headless': '4.10'}
    """
    found = {}
    for requirement in requirements:
        if requirement.startswith("hedgerow["):
            continue
        match = _BOUND.fullmatch(requirement.replace(" ", ""))
        if match is None:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lowest version: write name>=version")
        found[match[1]] = match[2]
    return found


def lowest():
    """Return the requirements, all at their lowest version."""
    stated = project()
    extras = {name: bounds(listed) for name, listed in stated["optional-dependencies"].items()}
    chosen = bounds(stated["dependencies"])
    for name in EXTRAS:
        chosen |= extras[name]
    chosen |= {name: extras["dev"][name] for name in TOOLS} | {"dmba": extras["demo"]["dmba"]}
    return [f"{name}=={version}" for name, version in chosen.items()]


def tests():
    """Arguments of pytest."""
    return [*TESTS, *(f"--deselect={name}" for name in DESELECTED)]


if __name__ == "__main__":
    lines = tests() if "--tests" in sys.argv[1:] else lowest()
    sys.stdout.write("\n".join(lines) + "\n")
