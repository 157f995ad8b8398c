"""DaskShards: shards on the workers of a Dask cluster, created again when a worker dies.

partitions     |---- 0 ----|-- 1 --|-------- 2 --------|
actors         |------ worker A ------|--- worker B ---|     split by rows, in proportion to threads
shards         |   0    |    1     |  2  |      3      |     one for each thread of a worker

An actor holds the codes of consecutive rows on one worker. The codes come from tasks, which Dask can repeat,
and the row arrays from this process; all other state of the shards is set by calls. So lost shards can be
created again.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import Bins
from hedgerow.distributed import actor, cluster
from hedgerow.distributed.actor import ActorLost, ActorNode, Call, ShardActor, call_actor, dumps
from hedgerow.distributed.cluster import POLL_SECONDS, Future, Workers, list_workers, release, worker_id
from hedgerow.distributed.scan import CollectionRows
from hedgerow.growing.shards import Range, ShardFactory, ShardsLost, Sums, layout_of, split_range
from hedgerow.system_memory import format_bytes

ENCODING = "encoding the partitions of X"
_ATTEMPTS = 20  # to create shards, if workers die meanwhile
_CLOSE_SECONDS = 1.0  # to close actors, at the end of a fit
_CONNECT_SECONDS = 5.0  # to connect to a worker; otherwise the scheduler forwards all calls
_USABLE = 0.95  # of a worker's memory; above, Dask's nanny terminates it

Calls = Sequence[Callable[[], Coroutine[Any, Any, bytes]]]


@dataclass(eq=False)
class ActorHandle:
    """An actor, its worker, and its rows."""

    address: str
    worker: str  # its identity: another may start at the same address
    bounds: list[Range]
    actor: Future
    codes: list[Future]

    @property
    def rows(self) -> Range:
        """Its first row, and the one after its last."""
        return self.bounds[0][0], self.bounds[-1][1]


class DaskShards:
    """All shards of a table, on the workers; see `hedgerow.growing.shards.ShardedRows`."""

    def __init__(
        self, rows: CollectionRows, bins: Bins, factory: ShardFactory, row_arrays: dict[str, NDArray[Any]]
    ) -> None:
        self._rows, self._bins, self._factory, self._row_arrays = rows, bins, factory, row_arrays
        self._layout = layout_of(factory, bins.n_columns)
        self._client, self.settings = rows.partitions.client, rows.partitions.settings
        self.actors: list[ActorHandle] = []
        self.tree: tuple[ActorNode, ...] = ()
        self._n_calls = 0
        self._heartbeats = cluster.Heartbeats(self.settings)
        self.through_scheduler = self.settings.direct is False
        try:
            self._create([(0, rows.layout.n_rows)])
        except BaseException:
            self.close()
            raise

    @property
    def bounds(self) -> Sequence[Range]:
        """The rows of every shard; they change after `ShardsLost`."""
        return [bounds for handle in self.actors for bounds in handle.bounds]

    # --- calls

    def call(self, method: str, *args: Any) -> tuple[list[Any], Sums]:
        """Call a method of every shard; see `ShardedRows.call`."""
        return self.call_each(method, [args] * len(self.bounds))

    def call_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Call a method of every shard, with different arguments; see `ShardedRows.call_each`."""
        if len(args) != len(self.bounds):
            n_shards = len(self.bounds)
            raise ValueError(f"arguments for {len(args)} shards were passed, but there are {n_shards}")
        left = iter(args)
        by_actor = {index: list(islice(left, len(handle.bounds))) for index, handle in enumerate(self.actors)}
        self._n_calls += 1
        calls = []
        for node in self.tree:
            message = dumps(Call(method, actor.args_below(node, by_actor), self._n_calls))
            calls.append(partial(actor.call_node, self._client.rpc, node, message, self._proxy))
        try:
            replies = self._run(calls, self.actors)
        except ActorLost:
            self._recover()
            raise ShardsLost from None
        results, sums = actor.merge_replies(map(actor.loads, replies))
        return [result for index in range(len(self.actors)) for result in results[index]], sums

    @property
    def _proxy(self) -> Any:
        return self._client.scheduler.proxy if self.through_scheduler else None

    def _run(self, calls: Calls, actors: Sequence[ActorHandle]) -> list[bytes]:
        """Run calls concurrently; raise `ActorLost` if the worker of an actor is gone."""

        async def run() -> list[bytes]:
            tasks = [asyncio.ensure_future(call()) for call in calls]
            try:
                return await self._await(tasks, actors)
            finally:
                for task in tasks:
                    task.cancel()

        limit = self.settings.patience + 2 * self.settings.timeout
        try:
            replies: list[bytes] = self._client.sync(run, callback_timeout=limit)
        except (ActorLost, ConnectionError, TimeoutError):
            raise
        except Exception as error:
            raise cluster.translate_error(error, self._client, "calling the workers") from error
        return replies

    async def _await(
        self, tasks: Sequence["asyncio.Task[bytes]"], actors: Sequence[ActorHandle]
    ) -> list[bytes]:
        """Await replies, and check the workers meanwhile."""
        start = cluster.clock()
        while True:
            done, pending = await asyncio.wait(
                tasks, timeout=POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION
            )
            if not pending or any(task.exception() for task in done):
                return [task.result() for task in tasks if task.done()]
            if self._client.status != "running":
                raise ActorLost(-1, "the scheduler is lost")
            try:
                workers = await asyncio.wait_for(cluster.fetch_workers(self._client), self.settings.timeout)
            except (OSError, TimeoutError) as error:
                raise ConnectionError(cluster.scheduler_lost(self._client)) from error
            for index, handle in enumerate(actors):
                if worker_id(workers, handle.address) != handle.worker:
                    raise ActorLost(index, "its worker is gone")
            self._heartbeats.check(workers)
            if cluster.clock() - start > self.settings.patience:
                raise TimeoutError(
                    f"{len(pending)} workers of the Dask cluster have not replied for "
                    f"{self.settings.patience:g} seconds (hedgerow.patience): restart them and fit again"
                )

    # --- creating shards

    def _create(self, ranges: list[Range]) -> None:
        """Create actors for some rows on the present workers."""
        for _ in range(_ATTEMPTS):
            workers = cluster.require_workers(self._client, self.settings)
            threads = {address: int(info["nthreads"]) for address, info in workers.items()}
            plan = assign_rows(ranges, threads)
            n_columns, item_bytes = self._bins.n_columns, np.dtype(self._bins.code_dtype).itemsize
            codes = n_columns * item_bytes if self._layout is None else self._layout.width
            arrays = sum(array[:1].nbytes for array in self._row_arrays.values())
            # codes exist twice at first: those of tasks, and those of the actor
            require_memory_for_rows(plan, workers, codes + arrays + max(codes, self._factory.row_bytes))
            created = [self._start(workers, address, *rows) for address, *rows in plan]
            try:
                lost = self._wait(created)
            except BaseException:
                self._release(created)
                raise
            alive = [handle for handle in created if handle not in lost]
            self.actors = sorted([*self.actors, *alive], key=lambda handle: handle.rows)
            if not lost:
                nodes = self._nodes()
                fan_out = len(nodes) if self.through_scheduler else self.settings.fan_out
                self.tree = actor.call_tree(nodes, max(2, fan_out))
                return
            ranges = [handle.rows for handle in lost]
            self._release(lost)
        raise ConnectionError(
            f"{ENCODING}: workers of the Dask cluster died {_ATTEMPTS} times meanwhile: see their logs"
        )

    def _start(self, workers: Workers, address: str, start: int, stop: int) -> ActorHandle:
        codes = self._rows.submit_codes(self._bins, start, stop, self._layout)
        args = ShardActor, codes, self._layout
        started = self._client.submit(
            *args, actor=True, workers=[address], allow_other_workers=False, pure=False
        )
        bounds = split_range(start, stop, int(workers[address]["nthreads"]))
        return ActorHandle(address, str(worker_id(workers, address)), bounds, started, codes)

    def _wait(self, created: Sequence[ActorHandle]) -> list[ActorHandle]:
        """Wait until the actors exist and have created their shards; return those that were lost."""
        monitor = cluster.TaskMonitor(self._client, self.settings, ENCODING)
        lost: list[ActorHandle] = []
        left = list(created)
        while left:
            left = [handle for handle in left if handle.actor.status != "finished"]
            n_codes = sum(code.status != "finished" for handle in left for code in handle.codes)
            workers = monitor.check(len(left) + n_codes) if left else {}
            for handle in list(left):
                if worker_id(workers, handle.address) != handle.worker:
                    lost.append(handle)
                    left.remove(handle)
                elif handle.actor.status in ("error", "cancelled"):
                    cluster.raise_failed(self._client, [*handle.codes, handle.actor], ENCODING)
            if left:
                cluster.wait_with_timeout([handle.actor for handle in left])
        for handle in created:
            if handle not in lost and not self._make_shards(handle):
                lost.append(handle)
            self._rows.release_codes(handle.codes)
            handle.codes = []
        return lost

    def _make_shards(self, handle: ActorHandle) -> bool:
        """Call an actor to create its shards; return whether its worker is still there."""
        if not self.through_scheduler and self.settings.direct is None:
            self.through_scheduler = not self._can_connect(handle)
        start, stop = handle.rows
        row_arrays = {name: values[start:stop] for name, values in self._row_arrays.items()}
        node = ActorNode(handle.address, handle.actor.key, -1)
        message = dumps((self._factory, row_arrays, handle.bounds))
        make = partial(call_actor, self._client.rpc, node, "make_shards", [message], self._proxy)
        try:
            self._run([make], [handle])
        except ActorLost:
            return False
        return True

    def _can_connect(self, handle: ActorHandle) -> bool:
        """Return whether this process can connect to a worker; true if the worker is gone."""

        async def connect() -> None:
            await asyncio.wait_for(self._client.rpc(handle.address).identity(), _CONNECT_SECONDS)

        try:
            self._client.sync(connect)
        except (OSError, TimeoutError):
            workers = list_workers(self._client, self.settings.timeout)
            return worker_id(workers, handle.address) != handle.worker
        return True

    def _nodes(self) -> list[ActorNode]:
        return [ActorNode(handle.address, handle.actor.key, i) for i, handle in enumerate(self.actors)]

    # --- lost workers, and the end

    def _recover(self) -> None:
        """Create the shards again that were on workers that are gone."""
        lost = self._find_lost()
        self.actors = [handle for handle in self.actors if handle not in lost]
        self._release(lost)
        self._create([handle.rows for handle in lost])

    def _find_lost(self) -> list[ActorHandle]:
        """Return actors whose worker is gone; wait until the scheduler has noticed."""
        end = cluster.clock() + self.settings.timeout
        while True:
            workers = list_workers(self._client, self.settings.timeout)
            lost = [handle for handle in self.actors if worker_id(workers, handle.address) != handle.worker]
            if lost:
                return lost
            if cluster.clock() > end:
                raise ConnectionError(
                    f"a worker of the Dask cluster could not be reached for {self.settings.timeout:g} "
                    "seconds (hedgerow.timeout), but the scheduler still lists it: restart it and fit again"
                )
            time.sleep(POLL_SECONDS / 5)

    def _release(self, actors: Sequence[ActorHandle]) -> None:
        for handle in actors:
            release(self._client, [handle.actor])
            self._rows.release_codes(handle.codes)

    def close(self) -> None:
        """Release the shards and the partitions; see `ShardedRows.close`."""
        nodes, proxy = self._nodes(), self._proxy if self._client.status == "running" else None

        async def close_actors() -> None:
            pool = self._client.rpc
            calls = [asyncio.ensure_future(call_actor(pool, node, "close", [], proxy)) for node in nodes]
            await asyncio.wait(calls, timeout=_CLOSE_SECONDS)
            for task in calls:
                task.cancel()

        if nodes and self._client.status == "running":
            with suppress(Exception):  # some workers may be gone
                self._client.sync(close_actors, callback_timeout=_CONNECT_SECONDS)
        actors, self.actors, self.tree = self.actors, [], ()
        self._release(actors)
        self._rows.partitions.release()


# --- rows and memory


def assign_rows(ranges: Sequence[Range], workers: dict[str, int]) -> list[tuple[str, int, int]]:
    """Split ranges of rows among workers, in proportion to their threads: (address, first, after the last).

    >>> assign_rows([(0, 10)], {"a": 1, "b": 3, "c": 1})
    [('a', 0, 2), ('b', 2, 8), ('c', 8, 10)]
    >>> assign_rows([(0, 1), (7, 9)], {"a": 1, "b": 1})
    [('a', 0, 1), ('b', 7, 9)]
    """
    addresses = list(workers)
    threads = np.concatenate([[0], np.cumsum([workers[address] for address in addresses])])
    n_rows = sum(stop - start for start, stop in ranges)
    cuts = (n_rows * threads // threads[-1]).tolist()  # of the ranges concatenated, so that few are split
    plan, before = [], 0
    for start, stop in ranges:
        for address, first, last in zip(addresses, cuts[:-1], cuts[1:], strict=True):
            a, b = max(first, before), min(last, before + stop - start)
            if b > a:
                plan.append((address, start + a - before, start + b - before))
        before += stop - start
    return plan


def require_memory_for_rows(plan: Sequence[tuple[str, int, int]], workers: Workers, row_bytes: int) -> None:
    """Raise if a worker has too little memory for its rows of `row_bytes` each."""
    need: dict[str, int] = {}
    for address, start, stop in plan:
        need[address] = need.get(address, 0) + (stop - start) * row_bytes
    for address, n_bytes in need.items():
        info = workers[address]
        limit = info.get("memory_limit") or 0
        metrics = info.get("metrics", {})
        used = max(0, metrics.get("memory", 0) - metrics.get("managed_bytes", 0))  # and cannot be spilled
        if limit and n_bytes > _USABLE * limit - used:
            raise MemoryError(
                f"the Dask worker {address} needs about {format_bytes(n_bytes)} for its rows, and "
                f"{format_bytes(max(0, int(_USABLE * limit - used)))} of its memory limit of "
                f"{format_bytes(limit)} are free: use more workers, or workers with more memory"
            )
