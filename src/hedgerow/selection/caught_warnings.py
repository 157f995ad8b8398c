"""Collect warnings instead of showing them, separately for each thread.

The filters of warnings belong to the whole process. `warnings.catch_warnings` saves and restores them, which
is wrong if two threads do so at the same time: the one that ends last restores what the other had set. Here
they are set when the first thread enters the block, and restored when the last one leaves it.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_lists: dict[int, list[list[Warning]]] = {}  # for each thread that collects, innermost last
_saved: list["warnings.catch_warnings[None]"] = []  # the filters to restore


@contextmanager
def caught_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of a block; they are not shown.

    Warnings of a thread that does not collect itself, such as a helper thread, go to all lists.

    Examples
    --------
    >>> with caught_warnings() as caught:
    ...     warnings.warn("did not converge")
    >>> caught
    [UserWarning('did not converge')]
    """
    caught: list[Warning] = []
    thread = threading.get_ident()
    with _lock:
        if not _lists:
            _saved.append(warnings.catch_warnings())
            _saved[0].__enter__()
            warnings.simplefilter("always")
            warnings.showwarning = _record  # type: ignore[assignment] # it accepts all arguments
        _lists.setdefault(thread, []).append(caught)
    try:
        yield caught
    finally:
        with _lock:
            _lists[thread].pop()
            if not _lists[thread]:
                del _lists[thread]
            if not _lists:
                _saved.pop().__exit__(None, None, None)


def _record(message: Warning | str, *_more: object) -> None:
    """Append a warning to the innermost list of its thread."""
    warning = message if isinstance(message, Warning) else UserWarning(message)
    own = _lists.get(threading.get_ident())
    for lists in [own] if own else list(_lists.values()):
        lists[-1].append(warning)
