"""The program itself: help, imports, extras, warnings, tracebacks, interrupts and exit codes."""

import subprocess
import sys
import warnings

import pytest

import hedgerow
from hedgerow.cli import errors, machine, main
from hedgerow.cli.app import COMMANDS
from hedgerow.cli.output import Output
from terminal import Terminal

HEAVY = ("typer", "rich", "pyarrow", "jinja2", "matplotlib", "PIL", "dask")


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_hedgerow_loads_no_package_of_an_extra():
    # Without pandas, which scikit-learn may import, and which imports pyarrow.
    code = (
        f"import sys; sys.modules['pandas'] = None; import hedgerow; print(set({HEAVY}) & set(sys.modules))"
    )
    done = run_python(code)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_no_module_of_a_command(arguments):
    code = (
        "import sys; from hedgerow.cli import main; main({}); print('|', *(name for name in sys.modules if "
        "name.startswith('hedgerow.cli.')))"
    )
    done = run_python(code.format(arguments))
    loaded = done.stdout.rpartition("|")[2].split()
    assert "hedgerow.cli.app" in loaded, done.stderr
    assert not {f"hedgerow.cli.{command.module}" for command in COMMANDS.values()} & set(loaded)


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_without_the_extra_one_line_names_what_to_install(package):
    code = "import sys; sys.modules['{}'] = None; from hedgerow.cli import main; sys.exit(main(['info']))"
    done = run_python(code.format(package))
    assert done.returncode == errors.FAILED
    assert done.stderr == (
        f"hedgerow: error: {package} is not installed; install it with: pip install 'hedgerow[cli]'\n"
    )


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, RuntimeError])
def test_an_internal_error_is_one_line_and_has_its_own_exit_code(error, monkeypatch, capsys):
    def fail():
        raise error("broken")

    monkeypatch.setattr(machine, "_jobs", fail)
    assert main(["warmup"]) == errors.INTERNAL
    message = capsys.readouterr().err
    assert message.startswith(f"hedgerow: error: internal error: {error.__name__}: ")
    assert f"{errors.TRACEBACK}=1" in message
    assert message.count("\n") == 1
    monkeypatch.setenv(errors.TRACEBACK, "1")
    assert main(["warmup"]) == errors.INTERNAL
    assert "Traceback" in capsys.readouterr().err


def test_memory_that_is_not_enough_is_one_line():
    assert errors.one_line(MemoryError()) == "not enough memory"
    assert (
        errors.one_line(MemoryError("3 GB for codes\nof rows")) == "not enough memory: 3 GB for codes of rows"
    )


def test_an_interrupt_ends_with_its_own_code(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "_jobs", interrupted)
    assert main(["warmup"]) == errors.INTERRUPTED
    assert capsys.readouterr().err == "hedgerow: error: interrupted\n"


def test_a_warning_is_a_note_of_one_line(monkeypatch, capsys):
    monkeypatch.setattr(
        machine, "_jobs", lambda: {"one": lambda: warnings.warn("of two\nlines", stacklevel=1)}
    )
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


def test_a_full_disk_behind_standard_output_is_printed():
    assert errors.one_line(OSError(28, "No space left on device")) == "the disk of the output is full"


def test_the_process_ends_with_the_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", "train", "none.csv", "--target", "y"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == errors.FAILED
    assert done.stdout == ""
    assert done.stderr.startswith("hedgerow: error: none.csv: ")
    assert done.stderr.count("\n") == 1


def test_progress_is_a_bar_on_a_terminal_that_is_removed_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Output().progress("choosing") as progress:
        progress(0, 4, "a forest")
        progress(4, 4, "done")
    assert "choosing  ░" in terminal.getvalue()
    assert "4/4  0:00  done" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
