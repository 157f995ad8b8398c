"""Order of the tests, which of them count lines, and fixtures of all tests and docstring examples."""

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator

import hypothesis
import pytest

# NumPy, SciPy and scikit-learn read these when they are imported. Their idle threads wait in a loop, which
# takes the cores from the other processes of the tests; Hedgerow's own threads do not read them.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

COVERED_CASES = 1  # of a parametrised test: tracing slows Python down, and more cases run the same lines
EVERY_CASE = ("kernels/test_python", "tests/datafiles/")  # tests whose cases run different lines
NOT_COUNTED = pytest.StashKey[bool]()
KERNELS = pytest.StashKey[list[str]]()

# An example may take long: kernels that no estimator calls from Python are compiled at their first call.
hypothesis.settings.register_profile("hedgerow", deadline=None)
hypothesis.settings.load_profile("hedgerow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the files and mark the tests whose lines are not counted."""
    sizes = Counter(item.path for item in items)

    def position(item: pytest.Item) -> tuple[bool, int, str]:
        return item.path.parent.name != "distributed", -sizes[item.path], str(item.path)

    items.sort(key=position)
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        repeated = cases[test] > COVERED_CASES and not any(name in test for name in EVERY_CASE)
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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """After a run of all tests: fail if they compiled kernels that should be listed."""
    config = session.config
    option, is_worker = config.option, hasattr(config, "workerinput")
    is_partial = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    if is_worker or is_partial or option.keyword or option.markexpr or option.collectonly:
        return
    # Imported here: lines of the package that run earlier are not counted.
    from hedgerow.kernels.cache import ObjectCache  # noqa: PLC0415
    from unlisted_kernels import report  # noqa: PLC0415

    config.stash[KERNELS], is_complete = report(ObjectCache(None).folder)
    if not is_complete and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the number of compiled kernels."""
    for line in config.stash.get(KERNELS, []):
        terminalreporter.write_line(line)


def pytest_configure() -> None:
    """Let SIGINT interrupt."""
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        and threading.current_thread() is threading.main_thread()
    ):
        # a process that a shell started in the background ignores it, and tests of interrupts would wait
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close the figures that a test opened: pyplot keeps them all, and warns after twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
