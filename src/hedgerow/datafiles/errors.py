"""Errors of data files: one line that names the file or the column, with suggestions for misspelled names."""

import difflib
import os
from collections.abc import Iterable, Sequence

from hedgerow.text_table import listed

_LISTED = 8  # names listed in a message if no name is similar


class DataFileError(ValueError):
    """A data file cannot be read, or its table cannot become X and y.

    The message is one line that names the file or the column, with advice.

    Examples
    --------
    >>> from hedgerow.datafiles import DataFileError, read_data
    >>> try:
    ...     read_data("no-such-file.csv")
    ... except DataFileError as error:
    ...     print(error)
    no-such-file.csv: there is no such file
    """


def format_path(path: str | os.PathLike[str]) -> str:
    r"""Format a path for a message, on one line.

    >>> format_path("a.csv"), format_path("a\nb.csv")
    ('a.csv', "'a\\nb.csv'")
    """
    text = os.fspath(path)
    return text if text.isprintable() else repr(text)


def format_value(value: object, length: int = 40) -> str:
    """Format a value for a message: on one line, shortened.

    >>> format_value("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    if isinstance(value, str):
        text = repr(value[: length + 1])
        return text if len(text) <= length + 2 else text[: length - 2] + "..." + text[0]
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= length else text[: length - 3] + "..."


def one_line(error: BaseException, length: int = 160) -> str:
    r"""Return the message of another library on one line, without its full stop.

    >>> one_line(ValueError("bad\nthings."))
    'bad things'
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    text = text.rstrip(". ")
    return text if len(text) <= length else text[: length - 3] + "..."


def nearest_names(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return the names most similar to a name, the most similar first.

    Upper case, spaces and underscores matter little.

    Parameters
    ----------
    name : str
        The name to search for.
    names : iterable of str
        The existing names.
    n : int, default=3
        Maximum number of names to return.

    Returns
    -------
    list of str
        Empty if no name is similar.

    Examples
    --------
    >>> nearest_names("sevrity", ["Severity", "speed", "weather"])
    ['Severity']
    """
    wanted = _folded(name)
    scores = {}
    for candidate in dict.fromkeys(names):
        folded = _folded(candidate)
        matcher = difflib.SequenceMatcher(None, wanted, folded)
        # The upper bound is cheap, and there may be many columns.
        score = matcher.ratio() if matcher.real_quick_ratio() >= 0.6 else 0.0
        if len(wanted) >= 3 and (folded.startswith(wanted) or wanted in folded.split()):
            score = max(score, 0.75)  # "date" matches "date of birth"
        if score >= 0.6:
            scores[candidate] = score
    return sorted(scores, key=lambda candidate: -scores[candidate])[:n]


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").replace(".", " ").split())


def unknown_name(name: str, names: Iterable[str], what: str = "column") -> str:
    """Return a one-line message for a name that does not exist.

    Parameters
    ----------
    name : str
        The name that does not exist.
    names : iterable of str
        The existing names.
    what : str, default="column"
        What the names denote.

    Returns
    -------
    str
        A message that suggests the most similar names, or lists some of the existing ones.

    Examples
    --------
    >>> unknown_name("sevrity", ["severity", "speed"])
    "there is no column 'sevrity'; did you mean 'severity'?"
    >>> unknown_name("y", ["severity", "speed"])
    "there is no column 'y'; the columns are 'severity', 'speed'"
    """
    existing = list(dict.fromkeys(names))
    start = f"there is no {what} {format_value(name)}"
    near = nearest_names(name, existing)
    if near:
        return f"{start}; did you mean {_either(near)}?"
    if not existing:
        return start
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{start}; the {plural} are {listed([format_value(other) for other in existing], _LISTED)}"


def _either(names: list[str]) -> str:
    """Join names by commas and, before the last, "or"."""
    quoted = [format_value(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]


def check_distinct(names: Sequence[str]) -> None:
    """Raise DataFileError if two columns have the same name.

    >>> check_distinct(["a", "b"])
    """
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first:
            raise DataFileError(
                f"the columns {first[name]} and {number} have the same name {format_value(name)}; rename one"
            )
        first[name] = number


def check_columns(columns: Sequence[str] | None, names: Sequence[str]) -> None:
    """Raise DataFileError if a requested column does not exist, or a name occurs twice.

    >>> check_columns(["b"], ["a", "b"])
    """
    check_distinct(names)
    if isinstance(columns, str):
        raise DataFileError(f"columns={columns!r} is not allowed: it must be a list of names")
    for name in columns or ():
        if name not in names:
            raise DataFileError(unknown_name(name, names))
    check_distinct(columns or ())


def line_number(data: bytes, offset: int) -> int:
    r"""Return the number of the line, from 1, that contains a byte; line ends may be of any kind.

    >>> line_number(b"a\r\nb\nc", 5)
    3
    """
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
