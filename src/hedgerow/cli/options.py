"""Options that several commands share, and checks of options before any work starts."""

import os
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.errors import CommandError, UsageError
from hedgerow.datafiles.errors import nearest_names

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A table: CSV (also compressed), Parquet or Arrow.", show_default=False
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file of `hedgerow train`.", show_default=False)
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.", show_default=False)]
Task = Annotated[
    str, typer.Option(metavar="NAME", help="The kind of target: auto, classification or regression.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to leave out; can be repeated.", show_default=False),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="A column to use as categories; can be repeated.", show_default=False
    ),
]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="Seed of all random choices.")]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Number of threads; all cores by default. Results do not depend on it.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


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
    """Raise an error unless a file can be written; return whether it replaces one.

    Parameters
    ----------
    option : str
        The option that names the file, such as "--out".
    path : Path or None
        None if nothing will be written.
    force : bool
        Whether an existing file may be replaced.
    suffixes : tuple of str
        The allowed suffixes; all by default.
    others : tuple of Path or None
        Files that the same command reads or writes, which must be different.
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
    if any(other is not None and _is_same_file(path, other) for other in others):
        raise UsageError(f"{option} {path}: the same command reads or writes this file; pass another name")
    if path.exists() and not force:
        raise CommandError(f"{option} {path}: the file exists; pass another name, or --force to replace it")
    return path.exists()


def _is_same_file(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.normcase(path.resolve()) == os.path.normcase(other.resolve())


def describe_file(path: Path, *, replaced: bool) -> str:
    """Describe a file that was written.

    >>> describe_file(Path(__file__), replaced=True)
    '... (replaced, ... bytes)'
    """
    return f"{path} ({'replaced' if replaced else 'new'}, {path.stat().st_size:,} bytes)"
