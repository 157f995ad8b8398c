"""The program: help, imports, extras, warnings, tracebacks, interrupts and exit codes."""

import subprocess
import sys
import warnings

import pytest

import hedgerow
from hedgerow import selection
from hedgerow.cli import errors, machine, main, options
from hedgerow.cli.app import COMMANDS
from hedgerow.cli.output import Output
from terminal import Terminal


def run_python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("line", [[], ["-h"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_library(line):
    """Modules are counted because seconds depend on the machine."""
    code = (
        f"import sys; from hedgerow.cli import main; assert main({line!r}) == 0; "
        "print('|', *(name.partition('.')[0] for name in sys.modules), sep='|')"
    )
    done = run_python("-c", code)
    loaded = set(done.stdout.split("|"))
    assert "typer" in loaded, done.stderr
    assert not {"numpy", "scipy", "sklearn", "pyarrow", "numba", "matplotlib"} & loaded


def test_names_in_help_are_those_of_the_library():
    assert options.METHODS == selection.AUTO
    assert tuple(selection.METHODS) == options.ALL_METHODS
    assert tuple(selection.METRICS) == options.METRICS


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["info"]) == errors.FAILED
    assert capsys.readouterr().err == (
        f"hedgerow: error: {package} is not installed; install it with: pip install 'hedgerow[cli]'\n"
    )


@pytest.mark.parametrize("error", [ValueError, KeyError])
def test_an_internal_error_is_one_line_with_its_own_exit_code(error, monkeypatch, capsys):
    def fail():
        raise error("broken")

    monkeypatch.setattr(machine, "code", fail)
    assert main(["warmup"]) == errors.INTERNAL
    message = capsys.readouterr().err
    assert message.startswith(f"hedgerow: error: internal error: {error.__name__}: ")
    assert f"{errors.TRACEBACK}=1" in message
    assert message.count("\n") == 1
    monkeypatch.setenv(errors.TRACEBACK, "1")
    assert main(["warmup"]) == errors.INTERNAL
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "not enough memory"),
        (MemoryError("3 GB for codes\nof rows"), "not enough memory: 3 GB for codes of rows"),
        (OSError(28, "No space left on device"), "the disk of the output is full"),
    ],
)
def test_errors_of_the_machine_are_one_line(error, line):
    assert errors.one_line(error) == line


def test_an_interrupt_has_its_own_exit_code(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "code", interrupted)
    assert main(["warmup"]) == errors.INTERRUPTED
    assert capsys.readouterr().err == "hedgerow: error: interrupted\n"


def test_a_warning_is_a_note_of_one_line(monkeypatch, capsys):
    code = machine.code

    def warning():
        warnings.warn("of two\nlines", stacklevel=1)
        return code()

    monkeypatch.setattr(machine, "code", warning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["warmup"]) == 0
    assert "note: of two lines\n" in capsys.readouterr().err


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hedgerow {hedgerow.__version__}\n"
    assert main([]) == 0


def test_the_option_help_has_no_type(capsys):
    for line in (["--help"], ["train", "--help"]):
        assert main(line) == 0
        assert "<bool>" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "command"),
    [("cars.csv", "train cars.csv --target COLUMN"), ("cars.hedgerow", "predict cars.hedgerow TABLE")],
)
def test_a_file_in_place_of_a_command_is_recognised(name, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("a,b\n")
    assert main([name, "--target", "b"]) == errors.WRONG_USAGE
    assert f"a file, not a command; did you mean `hedgerow {command}`?" in capsys.readouterr().err


def test_the_process_returns_the_exit_code(tmp_path):
    done = run_python("-m", "hedgerow", "train", "none.csv", "--target", "y", cwd=tmp_path)
    assert done.returncode == errors.FAILED
    assert done.stdout == ""
    assert done.stderr.startswith("hedgerow: error: none.csv: ")
    assert done.stderr.count("\n") == 1


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Output().progress("choosing") as progress:
        progress(0, 4, "a forest")
        progress(4, 4, "done")
    assert "choosing  ░" in terminal.getvalue()
    assert "4/4  0:00  done" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
