"""A team: a fixed number of threads that run the same compiled kernel together; and what threads share.

The calling thread is member 0. The kernels release the interpreter lock, and the members of one call
run at the same time, so that they may meet at barriers. A fit makes its own team and closes it: two fits
in two threads never wait for each other's members. A process that is forked has no threads but the one that
forked it: a team starts new ones there.

What a process has only once is here too: the threads of linear algebra (`one_library_thread`), and the lock
of the compiler, which no other thread may hold while the process is forked.
"""

import numbers
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from threadpoolctl import threadpool_limits

CHUNK_ROWS = 65_536  # rows a thread takes at a time, and the block of every floating-point sum
_LIMIT = "NUMBA_NUM_THREADS"  # set by users of Numba, and by joblib for its worker processes


# --- how many


def available_threads() -> int:
    """The cores this process may use: of its affinity, a container's quota, and NUMBA_NUM_THREADS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_within_quota(cores, os.environ.get("LOKY_MAX_CPU_COUNT")), _limit() or cores)


@cache
def _within_quota(cores: int, _setting: str | None) -> int:
    """As joblib counts; it opens files to find out, which takes longer than to predict a row."""
    return max(1, min(cores, int(joblib.cpu_count())))


def _limit() -> int | None:
    """NUMBA_NUM_THREADS, if it is a number above 0."""
    given = os.environ.get(_LIMIT, "")
    return int(given) if given.isdecimal() and int(given) else None


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Threads for an `n_jobs` in scikit-learn's convention, where None means all cores.

    In a worker of joblib None means this worker's share: what joblib has set NUMBA_NUM_THREADS to, or else 1.
    So a search over settings on all cores does not start all cores' threads for each of its fits.

    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs is None:
        is_worker = (get_active_backend()[0].nesting_level or 0) > 0
        return 1 if is_worker and _limit() is None else available_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs={n_jobs!r} is not allowed: it must be an integer or None")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a positive number, -1 for all cores, or None")
    return n_jobs if n_jobs > 0 else max(1, available_threads() + 1 + n_jobs)


# --- a team

Task = Callable[[int], Any]
Reports = queue.SimpleQueue["BaseException | None"]  # one from every helper of a call: its error, or None


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
        self._tasks: list[queue.SimpleQueue[tuple[Task, Reports] | None]] = []  # one for every helper
        self._process, self._starting = os.getpid(), threading.Lock()

    def _start(self, n_helpers: int) -> None:
        """Start threads, when there is something to do for them: a fit on little data needs none."""
        for member in range(len(self._tasks) + 1, n_helpers + 1):
            tasks: queue.SimpleQueue[tuple[Task, Reports] | None] = queue.SimpleQueue()
            helper = threading.Thread(
                target=_help, args=(member, tasks), daemon=True, name=f"hedgerow-{member}"
            )
            try:
                helper.start()
            except RuntimeError as error:
                raise RuntimeError(
                    f"n_jobs={self.n_members}: the system starts no more than {member} threads for this fit; "
                    "give a smaller n_jobs"
                ) from error
            self._tasks.append(tasks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget_if_forked()
        for tasks in self._tasks:
            tasks.put(None)
        self._tasks = []

    def _forget_if_forked(self) -> None:
        """In a forked process: helpers, and what they had at barriers, are the parent's."""
        if self._process != os.getpid():
            self._process, self._starting, self._tasks = os.getpid(), threading.Lock(), []
            self.sync[:] = 0

    def together(self, task: Task, n_members: int | None = None) -> Any:
        """Run `task(member)` on the first `n_members` members at once; returns member 0's result."""
        self._forget_if_forked()
        n_helpers = (n_members or self.n_members) - 1
        if n_helpers > len(self._tasks):
            with self._starting:
                self._start(n_helpers)
        helpers = self._tasks[:n_helpers]
        # Of this call alone: one that an interrupt ends before its helpers are done leaves no reports behind.
        reports: Reports = queue.SimpleQueue()
        for tasks in helpers:
            tasks.put((task, reports))
        try:
            return task(0)
        finally:
            errors = [error for error in [reports.get() for _ in helpers] if error is not None]
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


def _help(member: int, tasks: "queue.SimpleQueue[tuple[Task, Reports] | None]") -> None:
    """What a helper does until it is told to end."""
    while (given := tasks.get()) is not None:
        task, reports = given
        failure: BaseException | None = None
        try:
            task(member)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            failure = error
        del given, task  # with all that it holds, before the next one comes
        reports.put(failure)
        del failure, reports


def over_rows(n_rows: int, task: Callable[[int, int], Any], n_threads: int, chunk_rows: int) -> None:
    """Run `task(start, stop)` for chunks that cover `n_rows`, on a team of its own if there are several."""
    if n_rows <= chunk_rows:
        task(0, n_rows)
        return
    with Team(n_threads, chunk_rows) as team:  # of one: chunk by chunk, which bounds the memory of a task
        team.over_rows(n_rows, task)


# --- what a process has only once

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414 - handed on
else:

    class cached_property:  # noqa: N801 - it stands for that of Python 3.12
        """A property that is computed once for every object and then kept in its `__dict__`.

        That of Python 3.11 holds one lock for all objects of a class while it computes: two fits would wait
        for each other, and a process that is forked meanwhile for ever. What is computed depends on its
        object alone, so that it does no harm if two threads compute it.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return vars(instance).setdefault(self.name, self.function(instance))


class Lean:
    """A base of objects that are pickled and copied without what their cached properties have computed.

    >>> class Square(Lean):
    ...     side = 3
    ...     @cached_property
    ...     def area(self):
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, vars(square), square.__getstate__()
    (9, {'area': 9}, {})
    """

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }


class _LibraryTurn:
    """Whose turn it is to say how many threads linear algebra may use, a setting of the whole process.

    If two threads limited it at once, the one that ends first would lift the limit of the other, and the last
    bits of its products would depend on the number of cores.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a process just forked, where whoever had the turn may be missing."""
        self.lock = threading.RLock()


_LIBRARY_TURN = _LibraryTurn()


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Keep linear algebra to one thread meanwhile; other threads that want to do so wait.

    >>> with one_library_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    with _LIBRARY_TURN.lock, threadpool_limits(1):
        yield


_COMPILER_LOCKS: tuple[Any, ...] = (global_compiler_lock, getattr(ffi.lib, "_lock", nullcontext()))


def _hold_compiler() -> None:
    for lock in _COMPILER_LOCKS:
        lock.__enter__()


def _release_compiler() -> None:
    for lock in reversed(_COMPILER_LOCKS):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    # A kernel is compiled, or loaded, under locks of Numba. Held by another thread at a fork, they would
    # stay locked in the child: so a fork waits until the kernel is there.
    os.register_at_fork(
        before=_hold_compiler, after_in_parent=_release_compiler, after_in_child=_release_compiler
    )
    os.register_at_fork(after_in_child=_LIBRARY_TURN.renew)
