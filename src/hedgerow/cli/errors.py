"""Exit codes, and errors as one line.

    0    success
    1    the command failed: a file that cannot be read, data that no model can be fitted to, a full disk
    2    the command line is wrong
    70   an internal error of this program
    130  interrupted

Every error is one line on standard error that begins with `hedgerow: error:`. The errors of users are classes
of their own; any other exception is an internal error.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from hedgerow.datafiles.errors import DataFileError

FAILED, WRONG_USAGE, INTERNAL, INTERRUPTED = 1, 2, 70, 130
TRACEBACK = "HEDGEROW_TRACEBACK"  # set this variable to see the traceback of an error

_MAX_LENGTH = 2000  # characters of a message; an error may quote the data at length, or list columns


class UsageError(Exception):
    """A wrong command line that the parser accepts."""


class CommandError(Exception):
    """A command that cannot do its work, with the reason.

    in_json : whether the JSON output of the command contains the error already.
    """

    def __init__(self, message: str, *, in_json: bool = False) -> None:
        super().__init__(message)
        self.in_json = in_json


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert the ValueError of a function that checks the user's data or options to a CommandError.

    >>> with input_errors():
    ...     raise ValueError("min_neighbors=-1 is not allowed")
    Traceback (most recent call last):
    hedgerow.cli.errors.CommandError: min_neighbors=-1 is not allowed
    """
    try:
        yield
    except ValueError as error:
        raise CommandError(str(error)) from error


def exit_code(error: BaseException) -> int:
    """Return the exit code of the process.

    >>> exit_code(UsageError("--seed")), exit_code(DataFileError("no rows")), exit_code(ValueError("y"))
    (2, 1, 70)
    """
    if isinstance(error, UsageError) or _is_of_parser(error):
        return WRONG_USAGE
    from hedgerow.container import ModelFileError  # noqa: PLC0415 - loads NumPy, which --help does not need

    expected = (CommandError, DataFileError, ModelFileError, OSError, MemoryError, ImportError)
    return FAILED if isinstance(error, expected) else INTERNAL


def _is_of_parser(error: BaseException) -> bool:
    # By its method: exceptions of typer's parser come from click or, in later versions, from a copy of it.
    return hasattr(error, "format_message")


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line.

    >>> one_line(CommandError("the file exists;   pass another name"))
    'the file exists; pass another name'
    >>> one_line(FileNotFoundError(2, "No such file or directory", "cars.csv"))
    'cars.csv: no such file or directory'
    >>> one_line(KeyError("y"))
    "internal error: KeyError: 'y' (set HEDGEROW_TRACEBACK=1 to see the traceback)"
    """
    if _is_of_parser(error):
        return _short(str(error.format_message()))  # type: ignore[attr-defined]
    if isinstance(error, MemoryError):
        return _short(f"not enough memory: {error}" if str(error) else "not enough memory")
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror.lower()
        return _short(f"{os.fspath(error.filename)}: {reason}")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk of the output is full"
    if exit_code(error) == INTERNAL:
        message = _short(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        return f"internal error: {message} (set {TRACEBACK}=1 to see the traceback)"
    return _short(str(error) or type(error).__name__)


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"
