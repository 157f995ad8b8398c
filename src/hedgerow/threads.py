"""Team: a fixed number of threads that run the same compiled kernel; and state that all threads share.

The calling thread has number 0. Kernels release the interpreter lock, and all threads of one call run at the
same time, so that they may use barriers. A fit makes its own team and closes it: two fits in two threads
never wait for each other. A forked process has only the thread that called fork, so a team starts new ones.

State of the whole process: the number of threads of linear algebra (`one_blas_thread`).
"""

import numbers
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

CHUNK_ROWS = 65_536  # rows that a thread processes at a time, and the block of every floating-point sum
_BLOCK_BYTES = 64_000_000  # of a block of rows as float64
Result = TypeVar("Result")
_LIMIT = "NUMBA_NUM_THREADS"  # set by users of Numba, and by joblib for its worker processes


# --- number of threads


def available_threads() -> int:
    """Return the number of usable cores: the least of affinity, container quota and NUMBA_NUM_THREADS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_within_quota(cores, os.environ.get("LOKY_MAX_CPU_COUNT")), _limit() or cores)


@cache
def _within_quota(cores: int, _setting: str | None) -> int:
    """Apply the quota that joblib reads; cached, since it reads files, which is slower than a prediction."""
    return max(1, min(cores, int(joblib.cpu_count())))


def _limit() -> int | None:
    """Return NUMBA_NUM_THREADS if it is a number above 0."""
    value = os.environ.get(_LIMIT, "")
    return int(value) if value.isdecimal() and int(value) else None


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for an `n_jobs` in scikit-learn's convention; None means all cores.

    In a joblib worker None means the number of threads that joblib sets in NUMBA_NUM_THREADS, or 1. A grid
    search on all cores thus does not start a thread per core in each of its fits.

    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs is None:
        is_worker = (get_active_backend()[0].nesting_level or 0) > 0
        return 1 if is_worker and _limit() is None else available_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs must be an integer or None; got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must be a positive number, -1 for all cores, or None; got 0")
    return n_jobs if n_jobs > 0 else max(1, available_threads() + 1 + n_jobs)


# --- teams

Task = Callable[[int], Any]
Reports = queue.SimpleQueue[
    "BaseException | None"
]  # one entry for each helper thread of a call: its error, or None


class Team:
    """Threads that run one kernel together.

    Parameters
    ----------
    n_threads : int
        The number of threads, the calling one included.
    chunk_rows : int
        Rows per task of `over_rows`; no result depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.arange(10)
    >>> with Team(2, chunk_rows=4) as team:
    ...     team.over_rows(10, lambda start, stop: int(values[start:stop].sum()))
    [6, 22, 17]
    """

    def __init__(self, n_threads: int, chunk_rows: int = CHUNK_ROWS) -> None:
        self.n_threads = n_threads
        self.chunk_rows = chunk_rows
        self.sync = np.zeros(16, np.int64)  # see kernels.cpu.grow.barrier
        self._tasks: list[queue.SimpleQueue[tuple[Task, Reports] | None]] = []  # one for every helper
        self._process, self._starting = os.getpid(), threading.Lock()

    def _start(self, n_helpers: int) -> None:
        """Start threads when they are first used: a fit of few rows needs none."""
        for number in range(len(self._tasks) + 1, n_helpers + 1):
            tasks: queue.SimpleQueue[tuple[Task, Reports] | None] = queue.SimpleQueue()
            helper = threading.Thread(
                target=_run_tasks, args=(number, tasks), daemon=True, name=f"hedgerow-{number}"
            )
            try:
                helper.start()
            except RuntimeError as error:
                raise RuntimeError(
                    f"n_jobs={self.n_threads} is too large: the system starts no more than {number} threads"
                ) from error
            self._tasks.append(tasks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reset_after_fork()
        for tasks in self._tasks:
            tasks.put(None)
        self._tasks = []

    def _reset_after_fork(self) -> None:
        """In a forked process, discard the threads and barriers of the parent."""
        if self._process != os.getpid():
            self._process, self._starting, self._tasks = os.getpid(), threading.Lock(), []
            self.sync[:] = 0

    def together(self, task: Task, n_threads: int | None = None) -> Any:
        """Run `task(thread)` on the first `n_threads` threads at once; return the result of thread 0."""
        self._reset_after_fork()
        n_helpers = (n_threads or self.n_threads) - 1
        if n_helpers > len(self._tasks):
            with self._starting:
                self._start(n_helpers)
        helpers = self._tasks[:n_helpers]
        # One queue per call: after an interrupt, late reports do not reach the next call.
        reports: Reports = queue.SimpleQueue()
        for tasks in helpers:
            tasks.put((task, reports))
        try:
            return task(0)
        finally:
            errors = [error for error in [reports.get() for _ in helpers] if error is not None]
            if errors:
                raise errors[0]

    def over_rows(
        self, n_rows: int, task: Callable[[int, int], Result], size: int | None = None
    ) -> list[Result]:
        """Run `task(start, stop)` for consecutive chunks of `n_rows`, distributed over the threads.

        Return the results in the order of the chunks. `size` fixes the size of chunks, for sums of floats; by
        default it is `chunk_rows`.
        """
        size = size or self.chunk_rows
        if n_rows <= size:
            return [task(0, n_rows)]
        chunks = [(a, min(a + size, n_rows)) for a in range(0, n_rows, size)]
        n_threads = min(self.n_threads, len(chunks))

        def run_chunks(thread: int) -> None:
            for number in range(thread, len(chunks), n_threads):
                results[number] = task(*chunks[number])

        results: list[Any] = [None] * len(chunks)
        self.together(run_chunks, n_threads)
        return results


def _run_tasks(number: int, tasks: "queue.SimpleQueue[tuple[Task, Reports] | None]") -> None:
    """Run tasks in a helper thread until None is received."""
    while (received := tasks.get()) is not None:
        task, reports = received
        failure: BaseException | None = None
        try:
            task(number)
        except BaseException as error:  # noqa: BLE001 - raised in the calling thread
            failure = error
        del received, task  # release its arrays before waiting for the next one
        reports.put(failure)
        del failure, reports


def over_rows(n_rows: int, task: Callable[[int, int], Any], n_threads: int, chunk_rows: int) -> None:
    """Run `task(start, stop)` for chunks of `n_rows`, on a new team if there are several."""
    if n_rows <= chunk_rows:
        task(0, n_rows)
        return
    with Team(n_threads, chunk_rows) as team:  # also with one thread: chunks bound the memory of a task
        team.over_rows(n_rows, task)


def rows_per_block(n_columns: int, most: int) -> int:
    """Return the number of rows that are read as floats at a time: `most`, or fewer of a wide table.

    >>> rows_per_block(28, 65_536), rows_per_block(100_000, 65_536)
    (65536, 80)
    """
    return max(1, min(most, _BLOCK_BYTES // (8 * max(1, n_columns))))


# --- state of objects and of the process

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414 - re-exported
else:

    class cached_property:  # noqa: N801 - the name of Python 3.12
        """A property that is computed once for every object and stored in its `__dict__`.

        That of Python 3.11 holds one lock for all objects of a class: two fits would wait for each other, and
        a process forked meanwhile would wait forever. Two threads may compute the same value; that is safe.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return vars(instance).setdefault(self.name, self.function(instance))


class PickledWithoutCache:
    """Base of objects whose pickles and copies leave out the values of cached properties.

    >>> class Square(PickledWithoutCache):
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


class _BlasLock:
    """Lock around the number of threads of linear algebra, which is a setting of the whole process.

    Without it, the thread that ends first would reset the limit of another one, and the last bits of its
    products would depend on the number of cores.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Replace the lock after a fork: the thread that held it may not exist any more."""
        self.lock = threading.RLock()


_BLAS_LOCK = _BlasLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread; other threads that do the same wait.

    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    with _BLAS_LOCK.lock, threadpool_limits(1):
        yield


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS_LOCK.renew)
