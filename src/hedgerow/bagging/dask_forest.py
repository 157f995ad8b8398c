"""A forest grown by the workers of a Dask cluster, each of which gets the codes of all rows.

What a tree becomes is a function of the seed and its number, so that it does not matter which worker grows
it, nor whether it is grown again because a worker was lost. Trees are tasks, of which Dask itself repeats
those of a lost worker; if the codes were lost with the last worker that had them, they are sent once more.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from threading import local
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import aligned_rows
from hedgerow.distributed.cluster import (
    Client,
    Future,
    Waiting,
    as_one_line,
    library,
    refuse_lost,
    release,
    some_workers,
)
from hedgerow.distributed.settings import Settings
from hedgerow.growing.deep import DeepGrower
from hedgerow.voting import VotingTree

if TYPE_CHECKING:
    from hedgerow.bagging.forest import TreeTask

_AHEAD = 2  # trees a thread of a worker may be ahead of the loop
_STEP = 0.5  # seconds between two looks at what is waited for
_MOST_LOSSES = 20  # of the codes, without a tree in between
_LINE = 64  # bytes of a cache line
_ROW_BYTES = 60  # of a thread that grows trees, a row, and:
_SCRATCH = 3_000_000
_WHAT = "growing trees on the workers"
_SENDING = "sending codes to the workers"


class WorkerTreeTask:
    """A lesson as workers get it: with memory that kernels can write to, and a grower for every thread.

    Parameters
    ----------
    lesson : TreeTask
    """

    def __init__(self, lesson: "TreeTask") -> None:
        self.__setstate__(lesson)

    def __getstate__(self) -> "TreeTask":
        return self._lesson

    def __setstate__(self, lesson: "TreeTask") -> None:
        self._lesson: TreeTask = usable(lesson)
        self._own = local()

    def grow(self, number: int) -> VotingTree:
        """Tree number `number`."""
        if not hasattr(self._own, "grower"):
            self._own.grower = self._lesson.grower.for_thread()
        grower: DeepGrower = self._own.grower
        return self._lesson.grow(grower, number)


def grow_one(lesson: WorkerTreeTask, number: int) -> VotingTree:
    """The task."""
    return lesson.grow(number)


def usable(thing: Any) -> Any:
    """The same with arrays as kernels were compiled for; some that come over a network cannot be written to.

    Codes by row begin at a cache line once more.
    """
    if isinstance(thing, np.ndarray):
        return _usable_array(thing)
    if isinstance(thing, tuple):
        parts = [usable(part) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if not _has_fields(thing):
        return thing
    same = object.__new__(type(thing))
    same.__dict__.update({name: usable(value) for name, value in vars(thing).items()})
    return same


def _usable_array(array: NDArray[Any]) -> NDArray[Any]:
    by_row = array.dtype == np.uint8 and array.ndim == 2
    if array.flags.writeable and not (by_row and array.ctypes.data % _LINE):
        return array
    if by_row:
        rows = aligned_rows(*array.shape)
        if rows.shape == array.shape:
            rows[:] = array
            return rows
    return array if array.flags.writeable else array.copy()


def n_bytes(thing: Any) -> int:
    """The memory of all arrays of a lesson."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, tuple):
        return sum(map(n_bytes, thing))
    return sum(map(n_bytes, vars(thing).values())) if _has_fields(thing) else 0


def _has_fields(thing: Any) -> bool:
    """Whether it is an object of ours that holds others."""
    return hasattr(thing, "__dict__") and type(thing).__module__.startswith("hedgerow.")


class DaskTreeGrower:
    """The learner of the loop: hands over trees that workers grow ahead.

    Parameters
    ----------
    lesson : TreeTask
    numbers : range
        Of the trees, in their order.
    client : distributed.Client
    settings : hedgerow.distributed.Settings
    """

    def __init__(self, lesson: "TreeTask", numbers: range, client: Client, settings: Settings) -> None:
        self._client, self._settings = client, settings
        self._sent, self._numbers = WorkerTreeTask(lesson), iter(numbers)
        self._waiting: deque[tuple[int, Future]] = deque()
        self._n_left, self._n_losses, self._has_failed = len(numbers), 0, False
        workers = some_workers(client, settings)
        n_rows = lesson.sampling.draws.pool.n_rows
        require_room(workers, n_bytes(lesson), n_rows)
        self._window = _AHEAD * max(1, sum(int(info.get("nthreads", 1)) for info in workers.values()))
        self._lesson = self._scatter()

    def fit(self, targets: int, iteration: int) -> VotingTree:
        """The next tree."""
        while len(self._waiting) < self._window:
            following = next(self._numbers, None)
            if following is None:
                break
            self._waiting.append((following, self._submit(following)))
        self._look = Waiting(self._client, self._settings, _WHAT)  # from now on, not since the last trouble
        try:
            tree = self._result()
        except Exception:
            self._has_failed = True
            raise
        self._n_left, self._n_losses = self._n_left - 1, 0
        return tree

    def close(self) -> Iterator[VotingTree]:
        """Let go of the cluster; the trees that are done, of which there are some after an interrupt only."""
        try:
            while not self._has_failed and self._waiting and self._waiting[0][1].status == "finished":
                yield self._brought(self._waiting.popleft()[1])
        except Exception:  # noqa: BLE001, S110 - the cluster may be gone, and the fit is over
            pass
        finally:
            release(self._client, [future for _, future in self._waiting])
            release(self._client, [self._lesson])
            self._waiting.clear()

    def _scatter(self) -> Future:
        """Send the lesson to all workers; once more if one of them dies meanwhile."""
        for _ in range(_MOST_LOSSES):
            key = f"hedgerow-lesson-{uuid4().hex}"
            try:
                return self._client.scatter(
                    {key: self._sent},
                    broadcast=True,
                    direct=self._settings.direct,
                    timeout=self._settings.timeout,
                )[key]
            except BaseException as error:
                part = library("distributed").Future(key, self._client)  # some of it may be there
                release(self._client, [part])
                told = as_one_line(error, self._client, _SENDING)
                if told is not error:
                    raise told from error
                if not isinstance(error, (OSError, KeyError)):
                    raise
            time.sleep(_STEP)  # until the scheduler knows who is gone
            some_workers(self._client, self._settings)
        raise ConnectionError(
            f"{_SENDING}: workers were lost {_MOST_LOSSES} times meanwhile; look at their logs, and fit again"
        )

    def _submit(self, number: int) -> Future:
        key = f"hedgerow-tree-{number}-{uuid4().hex}"
        return self._client.submit(grow_one, self._lesson, number, key=key, pure=False)

    def _result(self) -> VotingTree:
        """The tree that is next; waits for it, and has it grown anew if it was lost with the codes."""
        while True:
            future = self._waiting[0][1]
            if future.status == "finished":
                try:
                    tree = self._brought(future)
                except TimeoutError:
                    raise
                except Exception as error:
                    if not self._is_loss(error):
                        raise as_one_line(error, self._client, _WHAT) from error
                    self._begin_anew()
                    continue
                self._waiting.popleft()
                future.release()
                return tree
            if future.status == "error":
                raise as_one_line(future.exception(timeout=self._settings.timeout), self._client, _WHAT)
            if future.status in ("cancelled", "lost"):
                self._begin_anew()
                continue
            self._wait(future)

    def _brought(self, future: Future) -> VotingTree:
        """A tree that is done; its worker may fall silent or die before it is here."""

        async def bring() -> Any:
            return await self._client.gather(future, asynchronous=True)

        coming = asyncio.run_coroutine_threadsafe(bring(), self._client.loop.asyncio_loop)
        try:
            while True:
                try:
                    tree: VotingTree = coming.result(_STEP)
                except TimeoutError:
                    if coming.done():
                        raise
                    self._look.look(self._n_left)
                else:
                    return tree
        finally:
            coming.cancel()

    def _wait(self, future: Future) -> None:
        try:
            library("distributed").wait([future], timeout=_STEP)
        except TimeoutError:
            self._look.look(self._n_left)
        except Exception as error:
            if not self._is_loss(error):
                raise as_one_line(error, self._client, _WHAT) from error

    def _is_loss(self, error: BaseException) -> bool:
        return isinstance(as_one_line(error, self._client, _WHAT), ConnectionError)

    def _begin_anew(self) -> None:
        """Send the codes once more, and ask for all trees that are waited for."""
        refuse_lost(self._client)
        self._n_losses += 1
        if self._n_losses > _MOST_LOSSES:
            raise ConnectionError(
                f"{_WHAT}: all workers that had the codes of the rows were lost {_MOST_LOSSES} times without "
                "a tree in between; look at their logs, and fit again"
            )
        some_workers(self._client, self._settings)
        release(self._client, [*(future for _, future in self._waiting), self._lesson])
        self._lesson = self._scatter()
        self._waiting = deque((number, self._submit(number)) for number, _ in self._waiting)


def require_room(workers: dict[str, dict[str, Any]], lesson_bytes: int, n_rows: int) -> None:
    """Refuse workers that cannot hold the codes of all rows and what threads grow trees in.

    >>> worker = {"memory_limit": 4_000_000_000, "nthreads": 2}
    >>> require_room({"tcp://one:1": worker}, 5_000_000_000, 100_000_000)
    Traceback (most recent call last):
    MemoryError: every worker of a forest needs the codes of all 100,000,000 rows, 5.0 GB, and 12.0 GB for
    growing trees with 2 threads; the Dask worker tcp://one:1 may use 4.0 GB: give it more memory or fewer
    threads
    """
    for address, info in workers.items():
        limit, n_threads = int(info.get("memory_limit") or 0), int(info.get("nthreads", 1))
        growing = n_threads * (_ROW_BYTES * n_rows + _SCRATCH)
        if limit and lesson_bytes + growing > limit:
            raise MemoryError(
                f"every worker of a forest needs the codes of all {n_rows:,} rows, "
                f"{lesson_bytes / 1e9:.1f} GB, and {growing / 1e9:.1f} GB for growing trees with {n_threads} "
                f"threads; the Dask worker {address} may use {limit / 1e9:.1f} GB: give it more memory or "
                "fewer threads"
            )
