"""What goes wrong with a data file, always said in one line that names the file or the column."""

import os


class DataFileError(ValueError):
    """A data file that cannot be read, or a table that cannot become what a model needs.

    The message is one line and says what to do.

    Examples
    --------
    >>> from hedgerow.datafiles import DataFileError, read_data
    >>> try:
    ...     read_data("no-such-file.csv")
    ... except DataFileError as error:
    ...     print(error)
    no-such-file.csv: there is no such file
    """


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""A path as it stands in a message, on one line.

    >>> shown_path("a.csv"), shown_path("a\nb.csv")
    ('a.csv', "'a\\nb.csv'")
    """
    text = os.fspath(path)
    return text if text.isprintable() else repr(text)


def shown_value(value: object, length: int = 40) -> str:
    """A value as it stands in a message: on one line and not long.

    >>> shown_value("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    if isinstance(value, str):
        text = repr(value[: length + 1])
        return text if len(text) <= length + 2 else text[: length - 2] + "..." + text[0]
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= length else text[: length - 3] + "..."


def one_line(error: BaseException, length: int = 160) -> str:
    r"""The message of another library, brought to one line without its end stop.

    >>> one_line(ValueError("bad\nthings."))
    'bad things'
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    text = text.rstrip(". ")
    return text if len(text) <= length else text[: length - 3] + "..."
