"""Calls, bytes and fits on clusters of local workers, for the model of `cost_terms.py`.

Calls and bytes: shards that reply immediately with the requested number of integers. Fits: gradient boosting
on rows that the workers create, and that are never in this process.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from cost_rows import (
    CORES,
    WARM_ROUNDS,
    Recording,
    Size,
    call_growth,
    client_costs,
    fit,
    recording,
    row_costs,
)
from cost_terms import EDGE_ROWS, Constants, Job, Shape, row_cost
from data import simulated
from hedgerow.binning import find_bins
from hedgerow.boosting import gradient_boosting
from hedgerow.distributed import open_collection
from hedgerow.distributed.input import DaskInput, DaskTable
from hedgerow.distributed.shards import DaskShards

ENTRIES = (1, 57_344, 229_376)  # of a reply: almost none, four histograms of 28 columns, sixteen
BLOCKS = 16  # of a table, whatever the number of workers: all of them fit the same rows

# --- calls and bytes


class EchoFactory:
    """Creates shards that work for some milliseconds and reply."""

    by_row = True
    layout = None
    row_bytes = 0

    def __call__(self, codes: NDArray[Any], row_arrays: dict[str, NDArray[Any]], first: int) -> "Echo":
        """Create a shard."""
        return Echo()


class Echo:
    """A shard that works, and returns as many integers as requested.

    Without work a call takes half as long as in a fit: no thread sleeps, and all caches are warm.
    """

    def __init__(self) -> None:
        self._memory = np.zeros(1 << 20)

    def echo(self, n_entries: int) -> tuple[float, tuple[NDArray[np.int64]]]:
        """The seconds of work, and `n_entries` integers."""
        start = time.perf_counter()
        np.cumsum(self._memory, out=self._memory)
        return time.perf_counter() - start, (np.ones(n_entries, np.int64),)


@dataclass(frozen=True)
class TimedCall:
    """Seconds of a call of so many workers at once, each of which replies with so many bytes."""

    workers: int
    n_bytes: int
    seconds: float


def time_calls(shards: DaskShards, workers: int, repeats: int) -> list[TimedCall]:
    """Time calls with replies of several sizes."""
    found = []
    for n in ENTRIES:
        for _ in range(5):
            shards.call("echo", n)
        times = [besides(shards, n) for _ in range(repeats)]
        found.append(TimedCall(workers, 4 * n, float(np.median(times))))
    return found


def besides(shards: DaskShards, n: int) -> float:
    """Seconds of a call less those that the slowest shard worked."""
    began = time.perf_counter()
    worked, _ = shards.call("echo", n)
    return time.perf_counter() - began - max(worked)


def call_costs(timed_calls: list[TimedCall]) -> dict[str, float]:
    """Fit: hop + message x workers + byte x workers x bytes, none below zero, nearest in proportion."""
    from scipy.optimize import nnls

    rows = np.array([[1.0, one.workers, one.workers * one.n_bytes] for one in timed_calls])
    times = np.array([one.seconds for one in timed_calls])
    scale = np.array([1e-3, 1e-3, 1e-9])
    (hop, message, byte), _ = nnls(rows * scale / times[:, np.newaxis], np.ones(len(times)))
    return {"hop_s": hop * 1e-3, "message_s": message * 1e-3, "byte_ns": float(byte)}


# --- clusters


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of so many workers of one thread, all called by this process, as if they were machines.

    They are counted: the first argument of LocalCluster without a name is not their number.
    """
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"hedgerow.fan-out": 8}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as local,
        Client(local) as client,
    ):
        client.wait_for_workers(workers, timeout=60)
        there = len(client.scheduler_info(n_workers=-1)["workers"])
        if there != workers:
            raise RuntimeError(f"the cluster has {there} workers, and {workers} were requested")
        yield client


def on_workers(client: Any, size: Size) -> tuple[Any, Any]:
    """Rows made by the workers."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    lengths = [len(one) for one in np.array_split(np.arange(size.rows), BLOCKS)]
    made = [delayed(simulated)(n, size.columns, seed) for seed, n in enumerate(lengths)]
    blocks = [
        da.from_delayed(one[0], (n, size.columns), np.float32) for one, n in zip(made, lengths, strict=True)
    ]
    labels = [da.from_delayed(one[1], (n,), np.int64) for one, n in zip(made, lengths, strict=True)]
    kept = client.persist([da.concatenate(blocks), da.concatenate(labels)])
    wait(kept)
    return kept[0], kept[1]


@dataclass(frozen=True)
class Checked:
    """A fit on a cluster: seconds of a round and before the first, calls, bytes and memory."""

    job: Job
    round_s: float
    first_s: float  # until the first round has ended
    n_calls: float  # per tree
    n_bytes: float  # per tree
    client_row_bytes: float
    worker_row_bytes: float
    steps: dict[str, float]  # seconds before the first round: scan, edges, encoding, rest


def check(client: Any, size: Size, rows: tuple[Any, Any], workers: int) -> Checked:
    """Fit, and record it."""
    record = Recording()
    here: list[int] = []
    there: list[int] = []
    run = DaskShards._run  # noqa: SLF001 - counts the bytes of replies

    def counted(shards: DaskShards, calls: Any, actors: Any) -> list[bytes]:
        replies = run(shards, calls, actors)
        record.n_bytes += sum(map(len, replies)) * (len(record.ended) >= WARM_ROUNDS)
        return replies

    record.at_end = lambda: there.append(sum(client.run(_resident).values()))
    gc.collect()
    before = sum(client.run(_resident).values())
    began = time.perf_counter()
    steps: dict[str, float] = {}
    counting = patch.object(DaskShards, "_run", counted)
    with recording(DaskShards, record), counting, _most_memory(here), timing_steps(steps):
        fit(size, *rows, record)
    steps["rest"] = steps.pop("last began") - began - steps["scan"] - steps["edges"]
    trees = record.trees[WARM_ROUNDS:]
    if record.n_shards != workers:
        raise RuntimeError(f"the fit had {record.n_shards} shards on {workers} workers of one thread")
    return Checked(
        size.job(workers),
        record.round_seconds(),
        record.ended[0] - began,
        sum(len(tree.calls) for tree in trees) / len(trees),
        record.n_bytes / len(trees),
        here[0] / size.rows,
        (there[0] - before) / size.rows,
        steps,
    )


def _resident() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


@contextmanager
def _most_memory(out: list[int]) -> Iterator[None]:
    """Append the peak memory of this process within the context, beyond its memory before."""
    over, before, most = threading.Event(), _resident(), [0]

    def watch() -> None:
        while not over.wait(0.005):
            most[0] = max(most[0], _resident() - before)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        out.append(most[0])


def echoes(rows: tuple[Any, Any]) -> DaskShards:
    """Shards on all workers that reply at once."""
    source = open_collection(*rows)
    assert source is not None  # noqa: S101 - it is a collection
    table = source.read(categorical_features=None, schema=None, estimator_name="the benchmark")
    shards: DaskShards = table.make_shards(EchoFactory(), find_bins(table), {}, 1)
    return shards


# the steps before the first round: the functions that are timed
_STEPS = {
    "scan": (DaskInput, "read"),
    "edges": (gradient_boosting, "find_bins"),
    "encoding": (DaskTable, "make_shards"),
}


@contextmanager
def timing_steps(out: dict[str, float]) -> Iterator[None]:
    """Seconds of the steps before the first round, and when the last of them began."""

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            result = call(*args, **kwargs)
            out[name] = time.perf_counter() - began
            out["last began"] = began
            return result

        return measured

    with ExitStack() as stack:
        for name, (owner, attribute) in _STEPS.items():
            made = wrapped(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, made))
        yield


def set_up_costs(one: Checked) -> dict[str, float]:
    """The cost of the steps before the first round, from a fit on one worker."""
    cells, job = one.job.rows * one.job.columns, one.job
    edges = one.steps["edges"] / job.columns / min(1.0, job.rows / EDGE_ROWS)
    return {
        "scan_ns": one.steps["scan"] / cells * 1e9,
        "encode_ns": one.steps["encoding"] / cells * 1e9,
        "edges_ms": edges * 1e3,
        "prelude_ns": max(0.0, one.steps["rest"]) / job.rows * 1e9,
    }


# --- all measurements


def measure(size: Size, log: Callable[[str], None]) -> tuple[Constants, Shape, list[Checked]]:
    """Measure the constants and the shape of trees, and fit on clusters of all sizes."""
    log("rows, on one core")
    alone, record = row_costs(size, 1)
    log(f"rows, on {CORES} cores at once")
    crowd, _ = row_costs(size, CORES)
    shape = record.shape(size.leaves, call_growth(size))
    log("the client")
    found = alone | client_costs(size)
    one, all_cores = (row_cost(**costs, job=size.job(), shape=shape) for costs in (alone, crowd))
    found["crowded"] = max(1.0, all_cores / one)
    timed_calls: list[TimedCall] = []
    checked: list[Checked] = []
    for workers in size.workers:
        log(f"{workers} workers")
        with cluster(workers) as client:
            fits = [size, *(others(size) if workers == min(2, size.workers[-1]) else ())]
            for number, one in enumerate(fits):
                rows = on_workers(client, one)
                warm = Size(8_000, one.columns, one.leaves, 3)
                fit(
                    warm, *on_workers(client, warm), Recording()
                )  # loads the kernels before anything is timed
                if number == 0:
                    shards = echoes(rows)
                    timed_calls += time_calls(shards, workers, size.repeats)
                    shards.close()
                checked.append(check(client, one, rows, workers))
    return Constants(**found | set_up_costs(checked[0]) | call_costs(timed_calls)), shape, checked


def others(size: Size) -> list[Size]:
    """Fits that differ in one thing, which the model predicts from its formulas only."""
    return [
        replace(size, leaves=255, rounds=size.rounds // 2),
        replace(size, columns=100, rows=size.rows // 2),
        replace(size, rows=size.rows // 4),
    ]
