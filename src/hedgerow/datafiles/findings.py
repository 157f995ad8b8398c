"""Findings about a file: statements for the user, and options that decide what was guessed."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hedgerow.datafiles.errors import DataFileError

ACCEPT_LAYOUT = ("--accept-layout", "")


class Finding(NamedTuple):
    """A statement about a file; a guess if the file could also be read in another way."""

    text: str  # a complete sentence
    is_guess: bool = True
    option: tuple[str, str] = ("", "")  # name and value of an option that makes it no guess; "" for none


@dataclass(frozen=True)
class ReadOptions:
    """What the user knows about a file.

    Parameters
    ----------
    encoding : str, optional
        The encoding of a text file.
    decimal : {".", ","}, optional
        The decimal sign of all numbers in texts.
    missing : tuple of str
        Texts that mean missing, besides those that are known.
    date_formats : mapping of str to str
        Formats of `strptime`, by column.
    skip_bad_lines : bool
        Leave out lines of a text file that have more fields than the header has names.

    Examples
    --------
    >>> ReadOptions(decimal=",").missing
    ()
    """

    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    date_formats: Mapping[str, str] = field(default_factory=dict)
    skip_bad_lines: bool = False


class UndecidedError(DataFileError):
    """All problems of a file at once; `options` are those of the command line that solve them.

    Parameters
    ----------
    problems : sequence of Finding
    message : str, optional
        The message; by default it lists the problems.

    Examples
    --------
    >>> print(UndecidedError([Finding("column 'a' is free text", option=("--drop", "a"))]))
    1 problem, solved by --drop a: column 'a' is free text
    """

    def __init__(self, problems: Sequence[Finding], message: str = "") -> None:
        self.options = format_options(problem.option for problem in problems)
        unsolved = sum(not problem.option[0] for problem in problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        solved = f", solved by {self.options}" if self.options else ""
        if unsolved:
            solved += f"{' except' if solved else ','} {unsolved} for which the file must be corrected"
        texts = "; ".join(problem.text.rstrip(".") for problem in problems)
        super().__init__(message or f"{count}{solved}: {texts}")
        self.is_solved = bool(self.options) and not unsolved


def format_options(options: Iterable[tuple[str, str]]) -> str:
    """Join options for a shell; columns to drop are one list.

    >>> format_options([("--drop", "a"), ("--missing", "not known"), ("--drop", "b")])
    "--drop a,b --missing 'not known'"
    """
    values: dict[str, list[str]] = {}
    for name, value in options:
        if name and value not in values.setdefault(name, []):
            values[name].append(value)
    texts = []
    for name, found in values.items():
        listed = [",".join(found)] if name == "--drop" and not any("," in one for one in found) else found
        texts += [f"{name} {shlex.quote(one)}" if one else name for one in listed]
    return " ".join(texts)
