"""Helpers of tests with Dask collections: clusters, a summing shard, rows, uneven partitions."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context
from numpy.typing import NDArray

from hedgerow.binning import find_bins
from hedgerow.distributed import cluster, open_collection
from hedgerow.table import read_table
from hedgerow.threads import Team

Returned = tuple[Any, tuple[NDArray[np.int64], ...]]

FORK_SERVER = {"distributed.worker.multiprocessing-method": "forkserver"}
PRELOADED = ["hedgerow", "hedgerow.distributed", "dask.dataframe"]  # workers start with these imported
PATIENT = FORK_SERVER | {  # no time limit affects a test on a busy machine
    "hedgerow.timeout": 600,
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    "distributed.deploy.lost-worker-timeout": "1h",  # else a LocalCluster removes a worker that died
    "distributed.scheduler.allowed-failures": 20,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
_LIMIT = 600.0  # seconds; on an idle machine conditions hold immediately


@contextmanager
def cluster_of(n_workers: int, threads: int = 1, *, processes: bool = False) -> Iterator[Any]:
    """A client of workers that are threads of this process, or processes; both communicate by TCP."""
    settings = {"dashboard_address": ":0", "silence_logs": 50, "protocol": "tcp://", "processes": processes}
    with dask.config.set(PATIENT):
        get_mp_context().set_forkserver_preload(PRELOADED)
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=threads, **settings) as local,
            Client(local) as client,
        ):
            yield client


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait for a condition, and return its value."""
    end = time.monotonic() + _LIMIT
    while not (found := condition()):
        assert time.monotonic() < end, "the condition does not hold in time"
        time.sleep(0.02)
    return found


def n_running(client: Any) -> int:
    """The number of workers that run and reply."""

    def replying(dask_scheduler: Any) -> list[str]:
        return [address for address, one in dask_scheduler.workers.items() if one.status.name == "running"]

    addresses: list[str] = client.run_on_scheduler(replying)
    with suppress(OSError, KeyError):  # one that was killed may be listed for a moment
        return len(client.run(os.getpid, workers=addresses, on_error="ignore")) if addresses else 0
    return 0


class SummingShard:
    """A shard that sums codes and a row array, and a number that calls add to."""

    def __init__(self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int) -> None:
        self.codes, self.row_arrays, self.first, self.total = codes, row_arrays, first, 0

    def sums(self) -> Returned:
        """The rows of the shard; sums of codes by column, of a row array, and of what was added."""
        by_column = self.codes.sum(axis=0, dtype=np.int64)
        numbers = np.array([int(self.row_arrays["number"].sum())], np.int64)
        return (self.first, len(self.codes)), (by_column, numbers, np.array([self.total]))

    def add(self, value: int) -> Returned:
        """Add to the total."""
        self.total += value
        return self.first, ()

    def wide(self) -> Returned:
        """Sums that do not fit into 32 bits."""
        return None, (np.array([2**40, -1]),)

    def writable(self, values: NDArray[Any]) -> Returned:
        """Whether arrays that came over the network can be written to, as compiled kernels require."""
        arrays = [values, self.codes, *self.row_arrays.values()]
        return [bool(one.flags.writeable and one.flags.c_contiguous) for one in arrays], ()

    def die(self, row: int) -> Returned:
        """End the process of the shard that holds a row, as a killed one ends."""
        if self.first <= row < self.first + len(self.codes):
            os.kill(os.getpid(), signal.SIGKILL)
        return None, ()

    def block(self, folder: Path) -> Returned:
        """Report that the call has arrived; return after `Blocked.release`."""
        Blocked(folder).wait()
        return None, ()

    def fail(self) -> Returned:
        """Fail."""
        raise ValueError("this shard fails")


class SummingFactory:
    """Creates `SummingShard` objects."""

    by_row = True
    layout = None
    row_bytes = 0

    def __call__(self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int) -> SummingShard:
        """Create a shard."""
        return SummingShard(codes, row_arrays, first)


def read_collection(X: Any, y: Any) -> Any:
    """The table of a collection."""
    return open_collection(X, y).read(categorical_features=None, schema=None, estimator_name="Model")


def make_shards(X: Any, factory: Any = None) -> Any:
    """Shards of a collection of known length, with the numbers of its rows as row array."""
    numbers = np.arange(len(X))
    table = read_collection(X, numbers)
    return table.make_shards(factory or SummingFactory(), find_bins(table), {"number": numbers}, 1)


VALUES = np.random.default_rng(2).normal(size=(1500, 3))


@cache
def _sums_of_codes() -> list[int]:
    table = read_table(VALUES)
    with Team(1) as team:
        codes = find_bins(table).encode(table, team).codes.by_column
    return codes.sum(axis=1, dtype=np.int64).tolist()


def check_sums(shards: Any) -> int:
    """Check that all rows of VALUES are in one shard each, in order; return the total of what was added."""
    results, (codes, numbers, total) = shards.call("sums")
    assert results == [(start, stop - start) for start, stop in shards.bounds]
    assert [0, *(stop for _, stop in shards.bounds)] == [*(start for start, _ in shards.bounds), len(VALUES)]
    assert codes[:3].tolist() == _sums_of_codes()
    assert numbers.tolist() == [sum(range(len(VALUES)))]
    return int(total[0])


class Blocked:
    """Tasks in other processes that wait for this process; they communicate by files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def wait(self) -> None:
        """Report the arrival of the task, and wait for the release."""
        (self.folder / f"arrived-{os.getpid()}-{threading.get_ident()}").touch()
        wait_until((self.folder / "released").exists)

    def arrived(self) -> bool:
        """Whether a task waits."""
        return any(self.folder.glob("arrived-*"))

    def release(self) -> None:
        """Release all tasks."""
        (self.folder / "released").touch()

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class KillOnce:
    """Kills the first process that calls it after `arm`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def arm(self) -> None:
        """Enable the next call."""
        self.path.touch()

    def __call__(self) -> None:
        """Kill this process if it is the first."""
        with suppress(FileNotFoundError):
            self.path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def has_killed(self) -> bool:
        """Whether a process was killed."""
        return not self.path.exists()


FEATURES = list("abcde")


def rows(n: int = 600, seed: int = 3) -> Any:
    """Features with missing values and a category, targets and weights."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame["number"] = frame["a"] + np.where(frame["e"] == "u", 1.0, -0.5) + rng.normal(size=n) * 0.3
    frame["label"] = np.digitize(frame["number"], [-0.5, 0.8])
    frame["text"] = np.where(frame["number"] > 0, "yes", "no")
    frame["weight"] = rng.integers(1, 3, n)
    return frame


def uneven(n_rows: int, n_partitions: int, seed: int = 0) -> list[int]:
    """Very different lengths of partitions that sum to n_rows."""
    cuts = np.sort(np.random.default_rng(seed).beta(0.5, 0.5, n_partitions - 1) * n_rows).astype(int)
    return np.diff([0, *cuts.tolist(), n_rows]).tolist()


def _identity(partition: Any) -> Any:
    """The task that creates a partition."""
    return partition


def dask_frame(frame: Any, lengths: Sequence[int]) -> Any:
    """A Dask DataFrame whose partitions have these lengths and are created by tasks."""
    ends = np.cumsum(lengths).tolist()
    return from_frames([frame.iloc[end - n : end] for end, n in zip(ends, lengths, strict=True)])


def from_frames(frames: Sequence[Any]) -> Any:
    """A Dask DataFrame of these partitions, whose dtypes may differ."""
    lazy = [delayed(_identity)(one) for one in frames]
    return dd.from_delayed(lazy, meta=frames[0].iloc[:0], verify_meta=False)


def dask_array(array: NDArray[Any], lengths: Sequence[int]) -> Any:
    """A Dask Array whose chunks have these lengths."""
    return da.from_array(array, chunks=(tuple(lengths), array.shape[1:]))


def worker_pids(client: Any) -> list[int]:
    """The processes of the workers."""
    return list(client.run(os.getpid).values())


def tasks_left(client: Any) -> list[str]:
    """Tasks and actors on the cluster after the removal of released ones."""

    def list_tasks(dask_scheduler: Any) -> list[str]:
        actors = [str(actor) for worker in dask_scheduler.workers.values() for actor in worker.actors]
        return [*map(str, dask_scheduler.tasks), *actors]

    with suppress(AssertionError):
        wait_until(lambda: not client.run_on_scheduler(list_tasks))
    left: list[str] = client.run_on_scheduler(list_tasks)
    return left


@contextmanager
def stopped(pids: Sequence[int]) -> Iterator[None]:
    """Suspend processes."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def interrupt_soon(condition: Callable[[], Any] = lambda: True) -> threading.Thread:
    """Send SIGINT to this thread once a condition holds."""
    main = threading.get_ident()

    def send() -> None:
        wait_until(condition)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@contextmanager
def fast_clock() -> Iterator[None]:
    """Let the time of all limits pass a thousand times as fast."""
    usual = cluster.clock
    cluster.clock = lambda: 1000 * time.monotonic()
    try:
        yield
    finally:
        cluster.clock = usual


def one_line(error: Any) -> str:
    """The message of an error that pytest caught, which must be one line."""
    message = str(error.value)
    assert message.isprintable()
    return message
