"""Names that were meant: of a column that is not there, the nearest ones that are."""

import difflib
from collections.abc import Iterable, Sequence

from hedgerow.datafiles.errors import DataFileError, shown_value

_LISTED = 8  # names in a message that has no near ones to offer


def nearest_names(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """The names most like this one, the nearest first; capitals, spaces and underscores count for little.

    Parameters
    ----------
    name : str
        What was asked for.
    names : iterable of str
        What there is.
    n : int, default=3
        How many are wanted at most.

    Returns
    -------
    list of str
        Perhaps empty: names that share little are left out.

    Examples
    --------
    >>> nearest_names("sevrity", ["Severity", "speed", "weather"])
    ['Severity']
    """
    there = list(dict.fromkeys(names))
    wanted = _folded(name)
    scores = {}
    for candidate in there:
        folded = _folded(candidate)
        matcher = difflib.SequenceMatcher(None, wanted, folded)
        # the upper bound costs nothing; columns may be many
        score = matcher.ratio() if matcher.real_quick_ratio() >= 0.6 else 0.0
        if len(wanted) >= 3 and (folded.startswith(wanted) or wanted in folded.split()):
            score = max(score, 0.75)  # "date" means "date of birth"
        if score >= 0.6:
            scores[candidate] = score
    return sorted(scores, key=lambda candidate: -scores[candidate])[:n]


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").replace(".", " ").split())


def unknown_name(name: str, names: Iterable[str], what: str = "column") -> str:
    """The one-line message for a name that is not there.

    Parameters
    ----------
    name : str
        What was asked for.
    names : iterable of str
        What there is.
    what : str, default="column"
        What the names are names of.

    Returns
    -------
    str
        It offers the nearest names, else some of those there are.

    Examples
    --------
    >>> unknown_name("sevrity", ["severity", "speed"])
    "there is no column 'sevrity'; did you mean 'severity'?"
    >>> unknown_name("y", ["severity", "speed"])
    "there is no column 'y'; the columns are 'severity', 'speed'"
    """
    there = list(dict.fromkeys(names))
    start = f"there is no {what} {shown_value(name)}"
    near = nearest_names(name, there)
    if near:
        return f"{start}; did you mean {_either(near)}?"
    if not there:
        return start
    listed = ", ".join(shown_value(other) for other in there[:_LISTED])
    more = f" and {len(there) - _LISTED} more" if len(there) > _LISTED else ""
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{start}; the {plural} are {listed}{more}"


def _either(names: list[str]) -> str:
    """Names joined by commas and, before the last, "or"."""
    quoted = [shown_value(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]


def check_distinct(names: Sequence[str]) -> None:
    """Refuse two columns of one name.

    >>> check_distinct(["a", "b"])
    """
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in first:
            raise DataFileError(
                f"the columns {first[name]} and {place} have the same name {shown_value(name)}; rename one"
            )
        first[name] = place


def check_columns(columns: Sequence[str] | None, names: Sequence[str]) -> None:
    """Refuse columns asked for that are not there, and names that occur twice.

    >>> check_columns(["b"], ["a", "b"])
    """
    check_distinct(names)
    if isinstance(columns, str):
        raise DataFileError(f"columns={columns!r} is not allowed: it must be a list of names")
    for name in columns or ():
        if name not in names:
            raise DataFileError(unknown_name(name, names))
    check_distinct(columns or ())
