"""The program: its commands, and the conversion of errors to one line and an exit code.

A module of a command is imported only when the command runs, so that `hedgerow --help` is fast.
"""

import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Collection, Sequence
from typing import Annotated, Any, NamedTuple

import typer

import hedgerow
from hedgerow.cli import errors
from hedgerow.cli.options import ARGUMENTS

HELP = "Boosting, bagging and forests for a table: a model, a certificate of its error, and a report."


class Command(NamedTuple):
    """The module of `hedgerow.cli` and the function of a command, and its summary."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "train": Command("train", "train", "Fit the best ensemble to a table, and save it with its certificate."),
    "predict": Command("predict", "predict", "Predict the rows of a table."),
    "compare": Command("compare", "compare", "Cross-validate every method on the same folds, with times."),
    "certify": Command("evaluate", "certify", "Print every bound on the error on new rows that applies."),
    "explain": Command("explain", "explain", "Show which columns matter and how predictions depend on them."),
    "report": Command("evaluate", "report", "Write an HTML report of a model on rows that are new to it."),
    "detect": Command("vision", "detect", "Find faces, or the objects of a cascade, in images."),
    "train-cascade": Command("vision", "train_cascade", "Train a cascade that detects objects in images."),
    "demo": Command("compare", "demo", "Compare boosting with logistic regression on three data sets."),
    "warmup": Command("machine", "warmup", "Compile the kernels of every method."),
    "info": Command("machine", "info", "Show versions, the processor, threads and the kernel cache."),
}


def build_app(loaded: Collection[str] = tuple(COMMANDS)) -> typer.Typer:
    """Return the program; commands that are not `loaded` have a summary but no options."""
    app = typer.Typer(
        name="hedgerow",
        help=HELP,
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name, command in COMMANDS.items():
        function = _no_options
        if name in loaded:
            function = getattr(importlib.import_module(f"hedgerow.cli.{command.module}"), command.function)
        app.command(name, help=command.summary)(function)
    return app


def _no_options() -> None:
    """Stand for a command that is not loaded."""


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"hedgerow {hedgerow.__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code."""
    arguments = list(arguments)
    os.environ["MPLBACKEND"] = "Agg"  # figures are written to files; no window is opened
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # Figures are SVG files with text: the fonts of the reader are used, not those that warn.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            ARGUMENTS.set(tuple(arguments))
            app = build_app([name for name in arguments if name in COMMANDS])
            code = app(arguments, prog_name="hedgerow", standalone_mode=False)
        except (typer.Abort, KeyboardInterrupt):
            return _fail("interrupted", errors.INTERRUPTED, arguments)
        except Exception as error:  # noqa: BLE001 - the last handler: every error becomes one line
            if os.environ.get(errors.TRACEBACK):
                traceback.print_exc()
            message, code = errors.one_line(error), errors.exit_code(error)
            if code == errors.WRONG_USAGE:
                message = f"{message.rstrip('.')} (see `{_command(arguments)} --help`)"
            return _fail(message, code, arguments, in_json=getattr(error, "in_json", False))
    if code == errors.INTERRUPTED:  # some versions of typer convert an interrupt to this code themselves
        return _fail("interrupted", errors.INTERRUPTED, arguments)
    return code if isinstance(code, int) else 0


def _command(arguments: Sequence[str]) -> str:
    """Return the program and the command, if its name is valid.

    >>> _command(["train", "--tarket", "y"]), _command(["trian"])
    ('hedgerow train', 'hedgerow')
    """
    return f"hedgerow {arguments[0]}" if arguments and arguments[0] in COMMANDS else "hedgerow"


def _fail(message: str, code: int, arguments: Sequence[str], *, in_json: bool = False) -> int:
    """Print an error, also as JSON if requested and not printed before; return the exit code."""
    if "--json" in arguments and not in_json:
        sys.stdout.write(json.dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n")
    sys.stderr.write(f"hedgerow: error: {message}\n")
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"note: {' '.join(str(message).split())}\n")
