"""A team: a fixed number of threads that run the same compiled kernel together.

The calling thread is member 0. The kernels release the interpreter lock, and the members of one call
run at the same time, so that they may meet at barriers. A fit makes its own team and closes it: two fits
in two threads never wait for each other's members, and nothing survives into a forked process.
"""

import numbers
import os
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np

CHUNK_ROWS = 65_536  # rows a thread takes at a time, and the block of every floating-point sum


def available_threads() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Threads for an `n_jobs` in scikit-learn's convention, where None means all cores.

    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs is None:
        return available_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs={n_jobs!r} is not allowed: it must be an integer or None")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a positive number, -1 for all cores, or None")
    return n_jobs if n_jobs > 0 else max(1, available_threads() + 1 + n_jobs)


class Team:
    """Threads that run one kernel together.

    Parameters
    ----------
    n_members : int
        How many, the calling thread included.
    chunk_rows : int
        Rows handed to a member at a time by `over_rows`; no result depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.zeros(10)
    >>> def fill(start, stop):
    ...     seen[start:stop] = np.arange(start, stop)
    >>> with Team(2, chunk_rows=3) as team:
    ...     team.over_rows(10, fill)
    >>> int(seen.sum())
    45
    """

    def __init__(self, n_members: int, chunk_rows: int = CHUNK_ROWS) -> None:
        self.n_members = n_members
        self.chunk_rows = chunk_rows
        self.sync = np.zeros(16, np.int64)  # see kernels.cpu.intrinsics.barrier
        self._errors: list[BaseException] = []
        self._done = threading.Semaphore(0)
        self._tasks: list[queue.SimpleQueue[Callable[[int], Any] | None]] = []

    def _start(self, n_helpers: int) -> None:
        """Start threads, when there is something to do for them: a fit on little data needs none."""
        for member in range(len(self._tasks) + 1, n_helpers + 1):
            tasks: queue.SimpleQueue[Callable[[int], Any] | None] = queue.SimpleQueue()
            self._tasks.append(tasks)
            threading.Thread(
                target=self._work, args=(member, tasks), daemon=True, name=f"hedgerow-{member}"
            ).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tasks in self._tasks:
            tasks.put(None)
        self._tasks = []

    def _work(self, member: int, tasks: "queue.SimpleQueue[Callable[[int], Any] | None]") -> None:
        while (task := tasks.get()) is not None:
            try:
                task(member)
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                self._errors.append(error)
            del task  # with all that it holds, before the next one comes
            self._done.release()

    def together(self, task: Callable[[int], Any], n_members: int | None = None) -> Any:
        """Run `task(member)` on the first `n_members` members at once; returns member 0's result."""
        n_helpers = (n_members or self.n_members) - 1
        if n_helpers > len(self._tasks):
            self._start(n_helpers)
        helpers = self._tasks[:n_helpers]
        for tasks in helpers:
            tasks.put(task)
        try:
            return task(0)
        finally:
            for _ in helpers:
                self._done.acquire()
            errors, self._errors = self._errors, []
            if errors:
                raise errors[0]

    def over_rows(self, n_rows: int, task: Callable[[int, int], Any], size: int | None = None) -> None:
        """Run `task(start, stop)` for consecutive chunks that cover `n_rows`, shared by the members.

        `size` fixes the chunks, for sums of floats; else they are `chunk_rows` long.
        """
        size = size or self.chunk_rows
        if n_rows <= size:
            task(0, n_rows)
            return
        chunks = [(a, min(a + size, n_rows)) for a in range(0, n_rows, size)]
        n_members = min(self.n_members, len(chunks))

        def share(member: int) -> None:
            for start, stop in chunks[member::n_members]:
                task(start, stop)

        self.together(share, n_members)


def over_rows(n_rows: int, task: Callable[[int, int], Any], n_threads: int, chunk_rows: int) -> None:
    """Run `task(start, stop)` for chunks that cover `n_rows`, on a team of its own if there are several."""
    if n_rows <= chunk_rows:
        task(0, n_rows)
        return
    with Team(n_threads, chunk_rows) as team:  # of one: chunk by chunk, which bounds the memory of a task
        team.over_rows(n_rows, task)
