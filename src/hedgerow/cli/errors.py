"""Exit codes, and errors as one line.

    0    done
    1    the work failed: a file that cannot be read, data that no model can be fitted to, a full disk
    2    the command line is wrong
    70   a defect of this program
    130  interrupted

Whatever goes wrong, standard error gets one line that begins with `hedgerow: error:` and says what to do.
"""

import errno
import os

FAILED, WRONG_USAGE, DEFECT, INTERRUPTED = 1, 2, 70, 130
TRACEBACK = "HEDGEROW_TRACEBACK"  # set to see where an error comes from

_LONGEST = 600  # characters of a message; an error may quote the data at length


class UsageError(Exception):
    """A wrong command line that the parser cannot know to be wrong."""


class WorkError(Exception):
    """Work that cannot be done, with the reason.

    told : whether the JSON object of the command says so already; there must not be a second one.
    """

    def __init__(self, words: str, *, told: bool = False) -> None:
        super().__init__(words)
        self.told = told


def exit_code(error: BaseException) -> int:
    """What the process ends with.

    >>> exit_code(UsageError("--seed")), exit_code(ValueError("y")), exit_code(KeyError("y"))
    (2, 1, 70)
    """
    if isinstance(error, UsageError) or _is_of_parser(error):
        return WRONG_USAGE
    expected = (WorkError, ValueError, TypeError, OSError, MemoryError, ImportError)
    return FAILED if isinstance(error, expected) else DEFECT


def _is_of_parser(error: BaseException) -> bool:
    # By its method: typer brings its parser's exceptions from click or, later, from a copy of its own.
    return hasattr(error, "format_message")


def one_line(error: BaseException) -> str:
    """The message of an error without line ends.

    >>> one_line(ValueError("budget=-1 is not allowed:   it must be above 0"))
    'budget=-1 is not allowed: it must be above 0'
    >>> one_line(FileNotFoundError(2, "No such file or directory", "cars.csv"))
    'cars.csv: no such file or directory'
    """
    if _is_of_parser(error):
        return _short(str(error.format_message()))  # type: ignore[attr-defined]
    if isinstance(error, MemoryError):
        return _short(f"not enough memory: {error}" if str(error) else "not enough memory")
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        words = "the disk is full" if error.errno == errno.ENOSPC else error.strerror.lower()
        return _short(f"{os.fspath(error.filename)}: {words}")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk that the output goes to is full"
    words = str(error) or type(error).__name__
    if exit_code(error) == DEFECT:
        words = f"{type(error).__name__}: {words} (a defect of this program; set {TRACEBACK}=1 to see where)"
    return _short(words)


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
