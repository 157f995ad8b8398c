"""How many lines of the package the tests run: `pytest --measure`, which is what `make test` does.

Every process that runs tests measures its own and leaves a data file; the one that started them adds them up,
prints the files with the most lines that never ran, and fails below the share that pyproject.toml asks for.
Kernels count by their Python bodies: what Numba has compiled runs unseen, see `python_bodies`.

Tracing slows all Python down, by half or more. So it is on only while a test runs, and off while Numba
compiles a kernel, in tests of hundreds of random examples, in slow ones, and in all but the first cases of a
test with many: what only these would run counts as not run.
"""

import contextlib
import importlib
import math
import pkgutil
import sys
import threading
from pathlib import Path

import pytest
from numba.core import event

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "coverage"
WORST = 12  # files that are printed
FEW = 2  # cases of a test that are traced; the others run the same lines, but for those of kernels


def pytest_addoption(parser):
    parser.addoption("--measure", action="store_true", help="count the lines of the package that tests run")


def pytest_configure(config):
    if not config.getoption("--measure"):
        return
    worker = hasattr(config, "workerinput")  # started by another process, for a share of the tests
    if not worker:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for old in FOLDER.iterdir():
            old.unlink()
        config.pluginmanager.register(Adding())
    if worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Measuring())


def new_coverage(**options):
    import coverage  # noqa: PLC0415 - tests run without it when they are not measured

    return coverage.Coverage(str(FOLDER / "lines"), config_file=str(ROOT / "pyproject.toml"), **options)


class Measuring:
    """The lines that the tests of this process run."""

    def __init__(self):
        self.coverage = new_coverage(data_suffix=True)
        self.coverage.start()
        self.cases = {}  # of every test, the numbers of its cases
        self.tracer = sys.gettrace()
        sys.settrace(None)
        event.register("numba:compile", Pause())

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """Import the package here, where pytest has set the warnings and no test has imported it yet."""
        with self.tracing():
            import hedgerow  # noqa: PLC0415 - not before tracing is on

            for _, name, _ in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
                if not name.endswith("__main__"):
                    importlib.import_module(name)
        return (yield)

    @contextlib.contextmanager
    def tracing(self, item=None):
        if item is None or (self.is_among_few(item) and not is_long(item)):
            sys.settrace(self.tracer)
        try:
            yield
        finally:
            sys.settrace(None)

    def is_among_few(self, item):
        """Whether a case is one of the first of its test, or the test is one of kernels."""
        cases = self.cases.setdefault(item.nodeid.partition("[")[0], {})
        return cases.setdefault(item.nodeid, len(cases)) < FEW or "python_kernels" in item.nodeid

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        with self.tracing(item):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        with self.tracing(item):
            return (yield)

    def pytest_sessionfinish(self):
        sys.settrace(self.tracer)  # it wants to be the one that ends it
        self.coverage.stop()
        self.coverage.save()


def is_long(item):
    """Whether a test would take too long when it is traced."""
    random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return random or any(item.get_closest_marker(name) for name in ("slow", "compare"))


class Pause(event.Listener):
    """No tracing while Numba compiles a kernel of the package; what tests compile themselves is measured."""

    def __init__(self):
        self.paused = threading.local()

    def on_start(self, event):
        if event.data["dispatcher"].py_func.__module__.startswith("hedgerow."):
            stack = self.paused.__dict__.setdefault("stack", [])
            stack.append(sys.gettrace())
            sys.settrace(None)

    def on_end(self, event):
        if event.data["dispatcher"].py_func.__module__.startswith("hedgerow."):
            sys.settrace(self.paused.stack.pop())


class Adding:
    """What all processes together have run."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        result = yield
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        share, wanted, lines = summary()
        for line in lines:
            terminal.write_line(line, red=share < wanted)
        if share < wanted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result


def summary():
    """The share of lines that have run in percent, the least that is asked for, and both in words."""
    measured = new_coverage()
    wanted = measured.get_option("report:fail_under")
    if not any(FOLDER.iterdir()):
        return 0.0, wanted, ["coverage: nothing was measured"]
    measured.combine([str(FOLDER)])
    files = []
    for path in sorted(measured.get_data().measured_files()):
        _, statements, _, missing, _ = measured.analysis2(path)
        files.append((len(missing), len(statements), Path(path).relative_to(ROOT)))
    missing, n_lines = (sum(part) for part in list(zip(*files, strict=True))[:2])
    share = 100 - 100 * missing / n_lines
    worst = [file for file in sorted(files, reverse=True)[:WORST] if file[0]]
    lines = [f"{n:6,} of {total:5,} lines did not run: {name}" for n, total, name in worst]
    shown = math.floor(10 * share) / 10  # 94.96 is not 95
    lines.append(f"coverage: {shown} % of {n_lines:,} lines (kernels through their Python bodies)")
    if share < wanted:
        lines.append(f"that is below {wanted:g} %; `.venv/bin/coverage report --show-missing` names them")
    return share, wanted, lines
