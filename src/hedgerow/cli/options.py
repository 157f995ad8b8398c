"""Options that several commands share, and checks of options before any work starts."""

import dataclasses
import os
import shlex
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.errors import CommandError, UsageError
from hedgerow.datafiles.errors import nearest_names

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())  # of the running command


_NO_RESULT = ("--threads", "--force", "-f", "--json")  # options that do not change the result

# Names of `hedgerow.selection`, which `--help` does not load; a test compares them.
METHODS = ("gradient", "adaboost", "logitboost", "forest", "bagging")
ALL_METHODS = (
    *METHODS,
    *("extra-trees", "adaboost-real", "adaboost-gentle", "anyboost", "schapire", "tree", "stump", "linear"),
)
METRICS = (
    *("accuracy", "balanced-accuracy", "f1", "f1-macro", "log-loss", "brier", "auc", "pr-auc"),
    *("r2", "rmse", "mae", "mape", "pinball"),
)


def option(metavar: str, text: str, *names: str) -> Any:
    """Return an option with a value; its name is that of the parameter unless there are `names`."""
    return typer.Option(*names, metavar=metavar, help=text)


def flag(text: str, *names: str) -> Any:
    """Return an option without a value."""
    return typer.Option(*names, help=text, metavar="", show_default=False)


def field(default: Any, metavar: str, text: str, *names: str) -> Any:
    """Return a field of a dataclass of options: an option with a value; ... if it has no default."""
    return _field(default, option(metavar, text, *names))


def flag_field(text: str, *names: str) -> Any:
    """Return such a field for an option without a value."""
    return _field(False, flag(text, *names))


def argument_field(metavar: str, text: str, default: Any = ...) -> Any:
    """Return such a field for an argument."""
    return _field(default, argument(metavar, text))


def _field(default: Any, info: Any) -> Any:
    return dataclasses.field(
        default=dataclasses.MISSING if default is ... else default, metadata={"typer": info}
    )


def argument(metavar: str, text: str) -> Any:
    """Return an argument; its default is None, if any, and is not shown."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


Data = Annotated[
    Path,
    argument(
        "DATA",
        "A table: CSV, JSON, Parquet or Arrow (also compressed), Excel (book.xlsx::Sheet), a database "
        "(file.db::table), or - for standard input.",
    ),
]
Model = Annotated[Path, argument("MODEL", "A model file of `hedgerow train`.")]
Target = Annotated[str, option("COLUMN", "The column to predict.", "--target", "-t")]
Task = Annotated[str, option("NAME", "The kind of target: auto, classification or regression.")]
SkipBadLines = Annotated[
    bool, flag("Leave out lines that have more fields than the header has names.", "--skip-bad-lines")
]
Group = Annotated[
    str | None,
    option("COLUMN", "Groups of rows, such as patients, that are never divided by a split.", "--group", "-g"),
]
Time = Annotated[
    str | None, option("COLUMN", "Times of the rows: the rows to test on are later than those to train on.")
]
Weight = Annotated[str | None, option("COLUMN", "Weights of the rows in fitting.", "--weight", "-w")]
Seed = Annotated[int, option("NUMBER", "Seed of all random choices.", "--seed", "-s")]
Threads = Annotated[
    int | None,
    option(
        "NUMBER", "Number of threads; all cores by default. Results do not depend on it.", "--threads", "-j"
    ),
]
Force = Annotated[bool, flag("Replace existing files.", "--force", "-f")]
AsJson = Annotated[bool, flag("Print one JSON object instead of text.", "--json")]


def command_line(*, complete: bool = False) -> str:
    """Return the running command for a shell, without options that do not change the result.

    `complete` keeps them.

    >>> token = ARGUMENTS.set(("train", "a b.csv", "--threads", "2", "--json"))
    >>> command_line()
    "hedgerow train 'a b.csv'"
    >>> ARGUMENTS.reset(token)
    """
    kept, is_value = [], False
    for argument in ARGUMENTS.get():
        ignored = argument in _NO_RESULT or argument.startswith(("--threads=", "-j"))
        if complete or not (is_value or ignored):
            kept.append(argument)
        is_value = argument in ("--threads", "-j")
    return shlex.join(["hedgerow", *kept])


def check_choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError unless a value is one of those allowed."""
    if value not in allowed:
        near = nearest_names(value, allowed, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f": it must be one of {', '.join(allowed)}"
        raise UsageError(f"{option} {value!r} is not allowed{hint}")


def check_numbers(seed: int, threads: int | None) -> None:
    """Raise UsageError for an invalid seed or number of threads."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed {seed} is not allowed: it must be a whole number from 0 to 4294967295")
    if threads is not None and threads < 1:
        raise UsageError(f"--threads {threads} is not allowed: it must be a whole number above 0")


def check_output_file(
    option: str,
    path: Path | None,
    *,
    force: bool,
    suffixes: tuple[str, ...] = (),
    others: tuple[Path | None, ...] = (),
) -> bool:
    """Raise an error unless the file of an option can be written; return whether it replaces one.

    All suffixes are allowed by default. `others` are what the same command reads or writes: files, parts of
    files such as book.xlsx::Sheet, and input folders.
    """
    if path is None:
        return False
    if suffixes and not str(path).lower().endswith(suffixes):
        raise UsageError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise CommandError(f"{option} {path}: this is a folder; pass the name of a file")
    if path.exists() and not path.is_file():  # a rename would put a file in place of the device itself
        raise CommandError(f"{option} {path}: this is a device or a pipe; pass the name of a file")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(f"{option} {path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{option} {path}: the folder {folder} is not writable")
    for other in others:
        if other is None:
            continue
        if _is_same_file(path, other):
            raise UsageError(
                f"{option} {path}: the same command reads or writes this file; pass another name"
            )
        if other.is_dir() and path.resolve().is_relative_to(other.resolve()):
            raise UsageError(f"{option} {path}: the file is in the input folder {other}; pass another folder")
    if path.exists() and not force:
        raise CommandError(f"{option} {path}: the file exists; pass another name, or --force to replace it")
    return path.exists()


def _is_same_file(path: Path, other: Path) -> bool:
    from hedgerow.datafiles.files import split_source  # noqa: PLC0415 - loads pyarrow, unlike --help

    other = split_source(other)[0]
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.normcase(path.resolve()) == os.path.normcase(other.resolve())


def describe_file(path: Path, *, replaced: bool) -> str:
    """Describe a file that was written.

    >>> describe_file(Path(__file__), replaced=True)
    '... (replaced, ... bytes)'
    """
    return f"{path} ({'replaced' if replaced else 'new'}, {path.stat().st_size:,} bytes)"
