"""Places where rows are: parts that each hold the codes of some rows, and can be asked.

A part is an object with verbs, run by one thread. Every verb returns two things: what it has to say for
itself, and integers (a tuple of int64 arrays) that are to be added up over all parts. Sums of integers do not
depend on who adds them, so that it does not matter how many parts there are, nor where: threads of this
process, or other machines, which add up what their parts say before they send it.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Sums = tuple[NDArray[np.int64], ...]
_MOST_LOSSES = 20
Leader = Any  # with methods of its own, whose arguments and results are picklable


class PartsLost(Exception):  # noqa: N818 - no error: the fit goes on
    """Some parts were lost and were made anew: whatever parts were told since must be told again.

    It holds for all of them, since nobody knows which of them heard the last question.
    """


class PartMaker(Protocol):
    """Makes a part; it is sent to where the rows are, and so must be picklable."""

    @property
    def by_row(self) -> bool:
        """Whether codes are (rows, stride) as `hedgerow.binning.aligned_rows`, or (columns, rows)."""

    @property
    def row_bytes(self) -> int:
        """Bytes that a part takes for a row, beside its codes and shares."""

    def __call__(self, codes: NDArray[Any], shares: dict[str, NDArray[Any]], first: int) -> Any:
        """The part of the rows from number `first` on, with its own slices of the shares."""


class Asked(Protocol):
    """Parts that can be asked: all that a leader needs of them."""

    def ask(self, verb: str, *args: Any) -> tuple[list[Any], Sums]:
        """Ask every part the same; what each says, in order, and the sums. May raise `PartsLost`."""


class Place(Asked, Protocol):
    """All parts, in the order of their rows."""

    @property
    def bounds(self) -> Sequence[tuple[int, int]]:
        """The first row of every part, and the one after its last."""

    def ask_each(self, verb: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Ask every part with arguments of its own."""

    def lead(self, task: Callable[[Asked], Leader]) -> Leader:
        """Have somebody do a task for which parts are asked again and again. May raise `PartsLost`."""

    def close(self) -> None:
        """Let go of the parts."""


class Losses:
    """How often parts were lost while one thing was tried; too often is no accident.

    >>> losses = Losses()
    >>> losses.count()
    >>> losses.forget()
    """

    def __init__(self) -> None:
        self._n = 0

    def count(self) -> None:
        """Parts were lost once more."""
        self._n += 1
        if self._n > _MOST_LOSSES:
            raise ConnectionError(
                f"workers were lost {_MOST_LOSSES} times before one tree was grown: look at their logs; if "
                "memory was short, use more workers, or workers with more memory"
            )

    def forget(self) -> None:
        """It was done."""
        self._n = 0


class LocalPlace:
    """Parts in this process, a thread for each.

    Parameters
    ----------
    parts : sequence of parts
    bounds : sequence of (first row, row after the last)
    on_close : callable, optional
        Called once, when the place is closed.

    Examples
    --------
    >>> class Counting:
    ...     def __init__(self, first, stop):
    ...         self.n = stop - first
    ...     def count(self, times):
    ...         return "here", (np.array([self.n * times]),)
    >>> bounds = [(0, 3), (3, 10)]
    >>> place = LocalPlace([Counting(*one) for one in bounds], bounds)
    >>> place.ask("count", 2)
    (['here', 'here'], (array([20]),))
    >>> place.close()
    """

    def __init__(
        self,
        parts: Sequence[Any],
        bounds: Sequence[tuple[int, int]],
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.parts, self.bounds, self._on_close = parts, bounds, on_close
        self._threads = ThreadPoolExecutor(len(parts)) if len(parts) > 1 else None

    def ask(self, verb: str, *args: Any) -> tuple[list[Any], Sums]:
        """Ask every part the same; see `Place.ask`."""
        return self.ask_each(verb, [args] * len(self.parts))

    def ask_each(self, verb: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Ask every part with arguments of its own; see `Place.ask_each`."""
        if self._threads is None:
            return added(getattr(part, verb)(*mine) for part, mine in zip(self.parts, args, strict=True))
        asked = [
            self._threads.submit(getattr(part, verb), *mine)
            for part, mine in zip(self.parts, args, strict=True)
        ]
        return added(one.result() for one in asked)

    def lead(self, task: Callable[[Asked], Leader]) -> Leader:
        """Somebody who asks from here; see `Place.lead`."""
        return task(self)

    def close(self) -> None:
        """Let go of the parts; see `Place.close`."""
        if self._threads is not None:
            self._threads.shutdown()
        self.parts = ()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None


def added(answers: Iterable[tuple[Any, Sums]]) -> tuple[list[Any], Sums]:
    """What each answer says, and the sums of their integers, of any width, as int64."""
    said: list[Any] = []
    total: Sums = ()
    for own, sums in answers:
        said.append(own)
        if not total:  # the answer is nobody else's: its own memory will do
            total = tuple(np.require(one, np.int64, "W") for one in sums)
            continue
        for whole, one in zip(total, sums, strict=True):
            np.add(whole, one, out=whole)
    return said, total
