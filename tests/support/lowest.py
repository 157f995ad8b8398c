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

ROOT = Path(__file__).parents[2]
TOOLS = ("pytest", "hypothesis", "pandas", "polars", "html5lib", "skops", "dmba", "dask", "distributed")
# Every docstring has an example, so `src` visits every room; the rest is what leans most on other packages.
# Not datafiles/test_reading.py: Arrow before 24 may not end its threads at exit after an error.
TESTS = (
    "src",
    "tests/io/test_save_load.py",  # safetensors
    "tests/io/test_kinds.py",
    "tests/docs/test_file_format.py",
    "tests/estimators/test_check_estimator.py",  # scikit-learn
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
    "tests/distributed/test_dask_place.py",  # dask, distributed
    "tests/distributed/test_dask_fits.py",
)
DESELECTED = (
    # Rows of a bag are drawn by hashes of what they hold, and scikit-learn had this table scaled otherwise
    # in the last bits.
    "src/hedgerow/estimators/bagging.py::hedgerow.estimators.bagging.BaggingRegressor",
    # For estimators of two classes the check of scikit-learn 1.6 makes these, by the first row, once before
    # and once after rows were shuffled: others.
    "tests/estimators/test_check_estimator.py::test_scikit_learn_accepts[AnyBoostClassifier",
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
