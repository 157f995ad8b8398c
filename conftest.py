"""What all tests and examples in docstrings share."""

import sys
from collections.abc import Iterator

import pytest

pytest_plugins = ["line_coverage"]  # `--measure`


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close the figures that a test has opened: pyplot keeps them all, and warns after twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
