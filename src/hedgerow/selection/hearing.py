"""Warnings that are collected and not shown, by the thread that they come up in.

What is done with warnings is a setting of the whole process. `warnings.catch_warnings` saves it and puts it
back: if two threads do so at once, the one that ends last may put back what the other had set. Here it is set
when the first thread begins to listen, and put back when the last one ends.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class _Listeners:
    """The lists of all threads that listen, innermost last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: dict[int, list[list[str]]] = {}
        self._before: warnings.catch_warnings[None] | None = None

    def begin(self) -> list[str]:
        """A new list for this thread."""
        notes: list[str] = []
        with self._lock:
            if not self._lists:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("always")
                warnings.showwarning = self._note  # type: ignore[assignment] # it takes all arguments
            self._lists.setdefault(threading.get_ident(), []).append(notes)
        return notes

    def end(self) -> None:
        """The innermost list of this thread gets no more."""
        this = threading.get_ident()
        with self._lock:
            self._lists[this].pop()
            if not self._lists[this]:
                del self._lists[this]
            if not self._lists and self._before is not None:
                self._before.__exit__(None, None, None)
                self._before = None

    def _note(self, message: Warning | str, *_more: object) -> None:
        """To the list of this thread; of a thread that does not listen, such as a helper, to all."""
        own = self._lists.get(threading.get_ident())
        for lists in [own] if own else list(self._lists.values()):
            lists[-1].append(str(message))


_LISTENERS = _Listeners()


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect warnings, unshown.

    Examples
    --------
    >>> with collected() as notes:
    ...     warnings.warn("so it is")
    >>> notes
    ['so it is']
    """
    notes = _LISTENERS.begin()
    try:
        yield notes
    finally:
        _LISTENERS.end()


__all__ = ["collected"]
