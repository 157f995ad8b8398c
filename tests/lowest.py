"""The lowest versions that pyproject.toml allows, as pip wants them: `make lowest` installs and tests them.

    "numba>=0.61"    becomes    "numba==0.61"    which pip takes for 0.61.0

There is no second list. What the run itself needs beyond the dependencies is named in TOOLS; their versions
too come from pyproject.toml, from the extra `dev`.

    python tests/lowest.py            prints the requirements, one a line
    python tests/lowest.py --tests    prints the tests that are run with them, as pytest wants them
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest", "hypothesis", "pandas", "polars", "html5lib", "skops", "dmba", "dask", "distributed")
# Every docstring has an example, so `src` visits every room; the rest is what leans most on other packages.
# Not test_datafiles_reading.py: Arrow before 24 may not end its threads at exit after an error.
TESTS = (
    "src",
    "tests/unit/test_files.py",  # safetensors
    "tests/unit/test_files_kinds.py",
    "tests/unit/test_docs_files.py",
    "tests/unit/test_check_estimator.py",  # scikit-learn
    "tests/unit/test_table.py",  # narwhals, pandas, polars
    "tests/unit/test_table_categories.py",
    "tests/unit/test_datafiles_round_trip.py",  # pyarrow
    "tests/unit/test_plots_margins.py",  # matplotlib
    "tests/unit/test_plots_shapes.py",
    "tests/unit/test_report_page.py",  # jinja2
    "tests/unit/test_cli_commands.py",  # typer, rich
    "tests/unit/test_vision_images.py",  # pillow
    "tests/unit/test_vision_cascade.py",
    "tests/unit/test_threads.py",  # threadpoolctl, joblib
    "tests/unit/test_bagging_jobs.py",
    "tests/unit/test_same_bits.py",  # numba
    "tests/unit/test_streams_fits.py",  # pyarrow
    "tests/dask/test_dask_place.py",  # dask, distributed
    "tests/dask/test_dask_fits.py",
)
DESELECTED = (
    # Rows of a bag are drawn by hashes of what they hold, and scikit-learn had this table scaled otherwise
    # in the last bits.
    "src/hedgerow/estimators/bagging.py::hedgerow.estimators.bagging.BaggingRegressor",
    # For estimators of two classes the check of scikit-learn 1.6 makes these, by the first row, once before
    # and once after rows were shuffled: others.
    "tests/unit/test_check_estimator.py::test_scikit_learn_accepts[AnyBoostClassifier",
)
_BOUND = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[a-z,]+\])?>=([0-9][0-9.]*)(?:,<[0-9.]+)?")


def project():
    """The table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(requirements):
    """Name and lowest version of requirements, which all have the form name>=version.

    >>> bounds(["numpy>=2.0", "opencv-python-headless>=4.10,<5"])
    {'numpy': '2.0', 'opencv-python-headless': '4.10'}
    """
    found = {}
    for requirement in requirements:
        match = _BOUND.fullmatch(requirement.replace(" ", ""))
        if match is None:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lowest version: write name>=version")
        found[match[1]] = match[2]
    return found


def lowest():
    """Requirements of exactly the lowest versions: of the dependencies, and of TOOLS."""
    stated = project()
    tools = bounds(stated["optional-dependencies"]["dev"])
    chosen = bounds(stated["dependencies"]) | {name: tools[name] for name in TOOLS}
    return [f"{name}=={version}" for name, version in chosen.items()]


def tests():
    """Arguments of pytest."""
    return [*TESTS, *(f"--deselect={name}" for name in DESELECTED)]


if __name__ == "__main__":
    lines = tests() if "--tests" in sys.argv[1:] else lowest()
    sys.stdout.write("\n".join(lines) + "\n")
