"""A forest grown by the workers of a Dask cluster, each of which holds the codes of all rows.

A tree is a function of the seed and its number: it does not matter which worker grows it, nor whether it is
grown again because a worker was lost. Trees are tasks; Dask itself repeats the tasks of a lost worker. If the
codes are lost with the last worker that held them, they are sent again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from threading import local
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import aligned_rows
from hedgerow.distributed.cluster import (
    Client,
    Future,
    Settings,
    TaskMonitor,
    check_connected,
    release,
    require_workers,
    translate_error,
)
from hedgerow.growing.deep import DeepGrower, ForestTask
from hedgerow.memory import forest_thread_bytes
from hedgerow.optional import require_extra
from hedgerow.voting import VotingTree

_TREES_PER_THREAD = 2  # trees per thread of a worker that may be grown before they are collected
_STEP = 0.5  # seconds between two checks of a pending tree
_MAX_LOSSES = 20  # how often the codes may be lost before another tree is grown
_LINE = 64  # bytes of a cache line
_GROWING = "growing trees on the workers"
_SENDING = "sending codes to the workers"


class WorkerTreeTask:
    """A task on a worker: in memory that kernels can write to, with a grower for every thread."""

    def __init__(self, task: ForestTask) -> None:
        self.__setstate__(task)

    def __getstate__(self) -> ForestTask:
        return self._task

    def __setstate__(self, task: ForestTask) -> None:
        self._task: ForestTask = writable(task)
        self._thread_state = local()

    def grow(self, number: int) -> VotingTree:
        """Grow tree number `number`."""
        if not hasattr(self._thread_state, "grower"):
            self._thread_state.grower = self._task.grower.for_thread()
        grower: DeepGrower = self._thread_state.grower
        return self._task.grow(grower, number)


def grow_tree(task: WorkerTreeTask, number: int) -> VotingTree:
    """Grow a tree; the task of the cluster."""
    return task.grow(number)


def writable(value: Any) -> Any:
    """Copy an object with arrays of the memory layout that kernels were compiled for.

    Arrays that arrive over a network may be read-only. Codes by row start at a cache line.
    """
    if isinstance(value, np.ndarray):
        return _writable_array(value)
    if isinstance(value, tuple):
        items = [writable(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not _has_attributes(value):
        return value
    copy = object.__new__(type(value))
    copy.__dict__.update({name: writable(item) for name, item in vars(value).items()})
    return copy


def _writable_array(array: NDArray[Any]) -> NDArray[Any]:
    by_row = array.dtype == np.uint8 and array.ndim == 2
    if array.flags.writeable and not (by_row and array.ctypes.data % _LINE):
        return array
    if by_row:
        rows = aligned_rows(*array.shape)
        if rows.shape == array.shape:
            rows[:] = array
            return rows
    return array if array.flags.writeable else array.copy()


def n_bytes(value: Any) -> int:
    """Return the memory of all arrays of a task."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple):
        return sum(map(n_bytes, value))
    return sum(map(n_bytes, vars(value).values())) if _has_attributes(value) else 0


def _has_attributes(value: Any) -> bool:
    """Return whether it is an object of this library with attributes."""
    return hasattr(value, "__dict__") and type(value).__module__.startswith("hedgerow.")


class DaskTreeGrower:
    """Grows trees on the workers of a cluster, before the loop requests them; see `base.ForestGrower`."""

    def __init__(self, task: ForestTask, numbers: range, client: Client, settings: Settings) -> None:
        self._client, self._settings = client, settings
        self._sent, self._numbers = WorkerTreeTask(task), iter(numbers)
        self._pending: deque[tuple[int, Future]] = deque()
        self._n_left, self._n_losses, self._has_failed = len(numbers), 0, False
        workers = require_workers(client, settings)
        require_memory_for_codes(workers, n_bytes(task), task.n_rows)
        n_threads = sum(int(info.get("nthreads", 1)) for info in workers.values())
        self._window = _TREES_PER_THREAD * max(1, n_threads)
        self._task = self._scatter()

    def fit(self, targets: int, iteration: int) -> VotingTree:
        """Return the next tree."""
        while len(self._pending) < self._window:
            following = next(self._numbers, None)
            if following is None:
                break
            self._pending.append((following, self._submit(following)))
        self._monitor = TaskMonitor(self._client, self._settings, _GROWING)  # counts from this tree on
        try:
            tree = self._result()
        except Exception:
            self._has_failed = True
            raise
        self._n_left, self._n_losses = self._n_left - 1, 0
        return tree

    def close(self) -> Iterator[VotingTree]:
        """Release the cluster; yield the trees that are grown but not collected."""
        killed = require_extra("distributed", extra="dask").KilledWorker
        try:
            with suppress(OSError, RuntimeError, CancelledError, killed):  # the fit is over
                while not self._has_failed and self._pending and self._pending[0][1].status == "finished":
                    yield self._gather(self._pending.popleft()[1])
        finally:
            release(self._client, [future for _, future in self._pending])
            release(self._client, [self._task])
            self._pending.clear()

    def _scatter(self) -> Future:
        """Send the task to all workers; repeat if one of them is lost during the transfer."""
        for _ in range(_MAX_LOSSES):
            key = f"hedgerow-tree-task-{uuid4().hex}"
            try:
                direct, timeout = self._settings.direct, self._settings.timeout
                sent = {key: self._sent}
                return self._client.scatter(sent, broadcast=True, direct=direct, timeout=timeout)[key]
            except BaseException as error:  # some workers may hold the task
                release(self._client, [require_extra("distributed", extra="dask").Future(key, self._client)])
                translated = translate_error(error, self._client, _SENDING)
                if translated is not error:
                    raise translated from error
                if not isinstance(error, (OSError, KeyError)):
                    raise
            time.sleep(_STEP)  # until the scheduler has noticed the loss
            require_workers(self._client, self._settings)
        raise ConnectionError(
            f"{_SENDING}: workers were lost {_MAX_LOSSES} times during this; check their logs and fit again"
        )

    def _submit(self, number: int) -> Future:
        key = f"hedgerow-tree-{number}-{uuid4().hex}"
        return self._client.submit(grow_tree, self._task, number, key=key, pure=False)

    def _result(self) -> VotingTree:
        """Wait for the next tree; grow it again if it was lost with the codes."""
        while True:
            future = self._pending[0][1]
            if future.status == "finished":
                try:
                    tree = self._gather(future)
                except TimeoutError:
                    raise
                except Exception as error:
                    if not self._is_loss(error):
                        raise translate_error(error, self._client, _GROWING) from error
                    self._restart()
                    continue
                self._pending.popleft()
                future.release()
                return tree
            if future.status == "error":
                failure = future.exception(timeout=self._settings.timeout)
                raise translate_error(failure, self._client, _GROWING)
            if future.status in ("cancelled", "lost"):
                self._restart()
                continue
            self._wait(future)

    def _gather(self, future: Future) -> VotingTree:
        """Fetch a tree that is grown; its worker may be lost before it arrives."""

        async def gather() -> Any:
            return await self._client.gather(future, asynchronous=True)

        fetching = asyncio.run_coroutine_threadsafe(gather(), self._client.loop.asyncio_loop)
        try:
            while True:
                try:
                    tree: VotingTree = fetching.result(_STEP)
                except TimeoutError:
                    if fetching.done():
                        raise
                    self._monitor.check(self._n_left)
                else:
                    return tree
        finally:
            fetching.cancel()

    def _wait(self, future: Future) -> None:
        try:
            require_extra("distributed", extra="dask").wait([future], timeout=_STEP)
        except TimeoutError:
            self._monitor.check(self._n_left)
        except Exception as error:
            if not self._is_loss(error):
                raise translate_error(error, self._client, _GROWING) from error

    def _is_loss(self, error: BaseException) -> bool:
        return isinstance(translate_error(error, self._client, _GROWING), ConnectionError)

    def _restart(self) -> None:
        """Send the codes again and resubmit all pending trees."""
        check_connected(self._client)
        self._n_losses += 1
        if self._n_losses > _MAX_LOSSES:
            raise ConnectionError(
                f"{_GROWING}: all workers that held the codes were lost {_MAX_LOSSES} times without "
                "a new tree; check their logs and fit again"
            )
        require_workers(self._client, self._settings)
        release(self._client, [*(future for _, future in self._pending), self._task])
        self._task = self._scatter()
        self._pending = deque((number, self._submit(number)) for number, _ in self._pending)


def require_memory_for_codes(workers: dict[str, dict[str, Any]], task_bytes: int, n_rows: int) -> None:
    """Refuse workers whose memory cannot hold the codes of all rows and the trees that their threads grow.

    >>> worker = {"memory_limit": 4_000_000_000, "nthreads": 2}
    >>> require_memory_for_codes({"tcp://one:1": worker}, 5_000_000_000, 100_000_000)
    Traceback (most recent call last):
    MemoryError: every worker of a forest needs the codes of all 100,000,000 rows, 5.0 GB, and 12.0 GB for
    growing trees with 2 threads; the Dask worker tcp://one:1 may use 4.0 GB: increase its memory or use fewer
    threads
    """
    for address, info in workers.items():
        limit, n_threads = int(info.get("memory_limit") or 0), int(info.get("nthreads", 1))
        growing = n_threads * forest_thread_bytes(n_rows)
        if limit and task_bytes + growing > limit:
            raise MemoryError(
                f"every worker of a forest needs the codes of all {n_rows:,} rows, "
                f"{task_bytes / 1e9:.1f} GB, and {growing / 1e9:.1f} GB for growing trees with {n_threads} "
                f"threads; the Dask worker {address} may use {limit / 1e9:.1f} GB: increase its memory or "
                "use fewer threads"
            )
