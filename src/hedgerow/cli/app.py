"""The program: its commands, and the conversion of errors to one line and an exit code."""

import json
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hedgerow.cli import commands, errors, image_commands
from hedgerow.cli.options import ARGUMENTS
from hedgerow.optional import require_extra

HELP = "Boosting, bagging and forests for a table: a model, a certificate of its error, and a report."


# Options, the function that does the work, and an example, in the order of --help.
COMMANDS: dict[str, tuple[type[Any], str, str]] = {
    "train": (commands.Train, "train.train", "train houses.csv --target price --report houses.html"),
    "predict": (commands.Predict, "predict.predict", "predict houses.hedgerow new.csv --out predicted.csv"),
    "compare": (
        commands.Compare,
        "compare.compare",
        "compare houses.csv --target price --method gradient -m forest",
    ),
    "certify": (commands.Certify, "evaluate.certify", "certify houses.hedgerow new.csv --delta 0.01"),
    "explain": (commands.Explain, "explain.explain", "explain houses.hedgerow houses.csv --top 3"),
    "report": (commands.Report, "evaluate.report", "report houses.hedgerow new.csv --out new.html"),
    "detect": (image_commands.Detect, "vision.detect", "detect group.jpg --out marked"),
    "train-cascade": (
        image_commands.TrainCascade,
        "vision.train_cascade",
        "train-cascade stop_signs streets --out stop_sign.xml --window 20x20",
    ),
    "demo": (commands.Demo, "compare.demo", "demo --out demo.html"),
    "warmup": (commands.Warmup, "machine.warmup", "warmup"),
    "info": (commands.Info, "machine.info", "info --json"),
}


def _untyped(option: Any) -> Any:
    """Return the option --help without a type, which some versions of typer show: it has no value."""
    if option is not None:
        option.metavar = ""
    return option


class _Group(TyperGroup):
    def get_help_option(self, ctx: Any) -> Any:
        return _untyped(super().get_help_option(ctx))


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _untyped(super().get_help_option(ctx))


def build_app() -> typer.Typer:
    """Return the program."""
    app = typer.Typer(
        name="hedgerow",
        cls=_Group,
        help=HELP,
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(commands.root)
    for name, (kind, worker, example) in COMMANDS.items():
        epilog = f"Example: hedgerow {example}"
        app.command(name, cls=_Command, help=kind.__doc__, epilog=epilog)(_as_function(kind, worker))
    return app


def _as_function(kind: type[Any], worker: str) -> Callable[..., None]:
    """Return a function whose parameters are the fields of a dataclass; it calls the worker with one."""

    def run_command(**values: Any) -> None:
        require_extra("pyarrow", extra="cli")
        module, _, function = worker.partition(".")
        getattr(import_module(f"hedgerow.cli.{module}"), function)(_made(kind, values))

    run_command.__signature__ = Signature(list(_parameters(kind)))  # type: ignore[attr-defined]
    return run_command


def _parameters(kind: type[Any]) -> Iterator[Parameter]:
    """Yield the fields of a dataclass as parameters; a field that is a dataclass stands for its fields."""
    for one in fields(kind):
        if is_dataclass(one.type):
            yield from _parameters(one.type)  # type: ignore[arg-type] # a class
        else:
            default = Parameter.empty if one.default is MISSING else one.default
            info = one.metadata.get("typer")
            annotation: Any = Annotated[one.type, info] if info else one.type
            yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return the dataclass of these values."""
    pairs = [(one.name, one.type) for one in fields(kind)]
    return kind(**{name: _made(of, values) if is_dataclass(of) else values[name] for name, of in pairs})


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
            _check_command(arguments)
            code = build_app()(arguments, prog_name="hedgerow", standalone_mode=False)
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


def _check_command(arguments: Sequence[str]) -> None:
    """Raise UsageError if the first argument is a file in place of a command."""
    first = arguments[0] if arguments else ""
    if first and first not in COMMANDS and Path(first.split("::")[0]).is_file():
        is_model = first.endswith(".hedgerow")
        command = f"predict {first} TABLE" if is_model else f"train {first} --target COLUMN"
        raise errors.UsageError(f"{first} is a file, not a command; did you mean `hedgerow {command}`?")
    _check_target(arguments)


def _check_target(arguments: Sequence[str]) -> None:
    """Raise UsageError if the target is passed without its option, as the argument after the table."""
    has_target = any(one in ("--target", "-t") or one.startswith(("--target=", "-t")) for one in arguments)
    if len(arguments) < 3 or arguments[0] not in ("train", "compare") or has_target:
        return
    data, second = arguments[1:3]
    if second.startswith("-") or not Path(data.split("::")[0]).is_file():
        return
    from hedgerow.datafiles import DataFileError, read_typed  # noqa: PLC0415 - loads pyarrow

    with suppress(DataFileError):
        if second in read_typed(data).column_names:
            raise errors.UsageError(f"--target is missing; did you mean --target {shlex.quote(second)}?")


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
