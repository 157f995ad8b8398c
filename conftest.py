"""Order of the tests, which of them count lines, and fixtures of all tests and docstring examples."""

import signal
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from numba.core import event

# Two processes that need the same kernel at the same time both compile it. So files that compile different
# kernels come first; the workers of clusters then find theirs compiled.
FIRST = (
    *("test_check_boosting.py", "test_check_estimator.py", "test_same_bits.py", "test_stage.py"),
    *("test_dask_shards.py", "test_weak_shards.py"),
)
COVERED_CASES = 1  # of a parametrised test: tracing slows Python down, and more cases run the same lines
NOT_COUNTED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the files and mark the tests whose lines are not counted."""
    sizes = Counter(item.path for item in items)

    def position(item: pytest.Item) -> tuple[int, int, str]:
        name, size = item.path.name, -sizes[item.path]
        if name in FIRST:
            return FIRST.index(name), size, str(item.path)
        return len(FIRST) + (item.path.parent.name != "distributed"), size, str(item.path)

    items.sort(key=position)
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        repeated = cases[test] > COVERED_CASES and "kernels/test_python" not in test
        random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        slow = any(item.get_closest_marker(name) for name in ("slow", "compare"))
        item.stash[NOT_COUNTED] = repeated or random or slow


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Switch tracing off for a test whose lines are not counted, its fixtures included."""
    tracer = sys.gettrace()
    if tracer is None or not item.stash[NOT_COUNTED]:
        return (yield)
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT interrupt, and stop counting lines while Numba compiles a kernel."""
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        and threading.current_thread() is threading.main_thread()
    ):
        # a process that a shell started in the background ignores it, and tests of interrupts would wait
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.pluginmanager.hasplugin("_cov"):
        event.register("numba:compile", PausedTracing())


class PausedTracing(event.Listener):  # type: ignore[misc]
    """Switches tracing off while a kernel of the package is compiled: Numba's own code is not measured."""

    def __init__(self) -> None:
        self.paused = threading.local()

    def on_start(self, event: event.Event) -> None:
        """Keep the trace function of this thread and remove it."""
        if event.data["dispatcher"].py_func.__module__.startswith("hedgerow."):
            self.paused.__dict__.setdefault("stack", []).append(sys.gettrace())
            sys.settrace(None)

    def on_end(self, event: event.Event) -> None:
        """Set the trace function again."""
        if event.data["dispatcher"].py_func.__module__.startswith("hedgerow."):
            sys.settrace(self.paused.stack.pop())


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures that a test opened: pyplot keeps them all, and warns after twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
