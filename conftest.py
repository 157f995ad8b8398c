"""What all tests and examples in docstrings share."""

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

pytest_plugins = ["line_coverage"]  # `--measure`

# The first process that needs a kernel compiles it, and one that needs it meanwhile compiles it too. So files
# that compile different kernels come first; workers of clusters find theirs compiled.
FIRST = (
    *("test_check_estimator.py", "test_forests.py", "test_stage.py", "test_places.py"),
    *("test_weak_places.py", "test_same_bits.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files: some first, then clusters, which take long, then the others, large ones first."""
    sizes = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[int, int, str]:
        name, size = item.path.name, -sizes[item.path]
        if name in FIRST:
            return FIRST.index(name), size, str(item.path)
        return len(FIRST) + (item.path.parent.name != "distributed"), size, str(item.path)

    items.sort(key=place)


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close the figures that a test has opened: pyplot keeps them all, and warns after twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
