"""The program: its commands, and the one place where errors become a line and an exit code."""

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

import hedgerow
from hedgerow.cli import errors
from hedgerow.cli.card import GIVEN
from hedgerow.cli.certify import certify
from hedgerow.cli.compare import compare
from hedgerow.cli.demo import demo
from hedgerow.cli.explain import explain
from hedgerow.cli.machine import info, warmup
from hedgerow.cli.predict import predict
from hedgerow.cli.report import report
from hedgerow.cli.train import train
from hedgerow.cli.vision import detect, train_cascade

app = typer.Typer(
    name="hedgerow",
    help="Weak learners into strong ones: give it a table, get an ensemble, a certificate and a report.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "train": train,
    "predict": predict,
    "compare": compare,
    "certify": certify,
    "explain": explain,
    "report": report,
    "detect": detect,
    "train-cascade": train_cascade,
    "demo": demo,
    "warmup": warmup,
    "info": info,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Weak learners into strong ones: give it a table, get an ensemble, a certificate and a report."""
    if version:
        sys.stdout.write(f"hedgerow {hedgerow.__version__}\n")
    elif context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Examples
    --------
    >>> main(["--version"])
    hedgerow ...
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.environ["MPLBACKEND"] = "Agg"  # pictures go to files; no window is opened
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # Pictures are SVG whose text stays text: the reader's fonts draw it, not those that warn here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            GIVEN.set(tuple(given))
            code = app(given, prog_name="hedgerow", standalone_mode=False)
        except (typer.Abort, KeyboardInterrupt):
            return _fail("interrupted", errors.INTERRUPTED, given)
        except Exception as error:  # noqa: BLE001 - the last place that can say it in a line
            if os.environ.get(errors.TRACEBACK):
                traceback.print_exc()
            words = errors.one_line(error)
            if errors.exit_code(error) == errors.WRONG_USAGE:
                words = f"{words.rstrip('.')} (see `{_command(given)} --help`)"
            return _fail(words, errors.exit_code(error), given, told=getattr(error, "told", False))
    if code == errors.INTERRUPTED:  # some versions of typer turn an interrupt into this code themselves
        return _fail("interrupted", errors.INTERRUPTED, given)
    return code if isinstance(code, int) else 0


def _command(given: Sequence[str]) -> str:
    """The part of the command line that is surely right.

    >>> _command(["train", "--tarket", "y"]), _command(["trian"])
    ('hedgerow train', 'hedgerow')
    """
    return f"hedgerow {given[0]}" if given and given[0] in COMMANDS else "hedgerow"


def _fail(words: str, code: int, given: Sequence[str], *, told: bool = False) -> int:
    if "--json" in given and not told:
        sys.stdout.write(json.dumps({"error": words, "exit_code": code}, ensure_ascii=False) + "\n")
    sys.stderr.write(f"hedgerow: error: {words}\n")
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"note: {' '.join(str(message).split())}\n")
