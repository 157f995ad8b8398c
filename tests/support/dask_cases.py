"""What tests of Dask collections share: a cluster of processes, a part that counts, uneven partitions."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster
from numpy.typing import NDArray


@contextmanager
def cluster_of(n_workers: int, threads: int = 1, **options: Any) -> Iterator[Any]:
    """A client of worker processes of this machine."""
    settings = {"dashboard_address": ":0", "silence_logs": 50, "processes": True} | options
    with (
        # Else a LocalCluster lets go of a worker for good that is dead 15 seconds after any of its deaths.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=n_workers, threads_per_worker=threads, **settings) as cluster,
        Client(cluster) as client,
    ):
        yield client


class SummingPart:
    """A part that adds up codes and shares, and remembers what it was told."""

    def __init__(self, codes: NDArray[Any], shares: dict[str, NDArray[Any]], first: int) -> None:
        self.codes, self.shares, self.first, self.told = codes, shares, first, 0

    def look(self) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """The part's rows; sums of codes by column, of a share, and of what it was told."""
        by_column = self.codes.sum(axis=0, dtype=np.int64)
        share = np.array([int(self.shares["number"].sum())], np.int64)
        return (self.first, len(self.codes)), (by_column, share, np.array([self.told]))

    def tell(self, value: int) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """Add to what it was told."""
        self.told += value
        return self.first, ()

    def wide(self) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """Sums that do not fit into 32 bits."""
        return None, (np.array([2**40, -1]),)

    def writable(self, values: NDArray[Any]) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """Whether arrays that come over the wire can be written to, as compiled kernels ask."""
        arrays = [values, self.codes, *self.shares.values()]
        return [bool(one.flags.writeable and one.flags.c_contiguous) for one in arrays], ()

    def die(self, first: int) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """End the process of the part that holds a row, as a killed one ends."""
        if self.first <= first < self.first + len(self.codes):
            os.kill(os.getpid(), signal.SIGKILL)
        return None, ()

    def sleep(self, seconds: float) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """Take long."""
        time.sleep(seconds)
        return None, ()

    def fail(self) -> tuple[Any, tuple[NDArray[np.int64], ...]]:
        """Fail."""
        raise ValueError("this part fails")


class MakeSumming:
    """Makes them."""

    by_row = True
    row_bytes = 0

    def __call__(self, codes: NDArray[Any], shares: dict[str, NDArray[Any]], first: int) -> SummingPart:
        """Make one."""
        return SummingPart(codes, shares, first)


def uneven(n_rows: int, n_parts: int, seed: int = 0) -> list[int]:
    """Lengths of partitions that add up to n_rows, very different ones."""
    cuts = np.sort(np.random.default_rng(seed).beta(0.5, 0.5, n_parts - 1) * n_rows).astype(int)
    return np.diff([0, *cuts.tolist(), n_rows]).tolist()


def _made(part: Any) -> Any:
    """The task that makes a partition."""
    return part


def frame_in_parts(frame: Any, lengths: Sequence[int]) -> Any:
    """A Dask DataFrame whose partitions have these lengths and are made by tasks."""
    ends = np.cumsum(lengths).tolist()
    parts = [frame.iloc[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    return dd.from_delayed([delayed(_made)(part) for part in parts], meta=frame.iloc[:0], verify_meta=False)


def array_in_parts(array: NDArray[Any], lengths: Sequence[int]) -> Any:
    """A Dask Array whose chunks have these lengths."""
    return da.from_array(array, chunks=(tuple(lengths), array.shape[1:]))


def worker_pids(client: Any) -> list[int]:
    """The processes of the workers."""
    return list(client.run(os.getpid).values())


def tasks_left(client: Any) -> list[str]:
    """What is on the cluster: tasks and actors; waits a moment for it to be let go of."""

    def look(dask_scheduler: Any) -> list[str]:
        actors = [str(actor) for worker in dask_scheduler.workers.values() for actor in worker.actors]
        return [*map(str, dask_scheduler.tasks), *actors]

    for _ in range(100):
        left: list[str] = client.run_on_scheduler(look)
        if not left:
            break
        time.sleep(0.1)
    return left
