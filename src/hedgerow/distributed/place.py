"""Parts on the workers of a Dask cluster, asked all at once; made anew when a worker dies.

A holder is an actor on one worker with the codes of some rows that follow one another, cut into a part for
each thread of the worker. The codes come from tasks, which Dask can repeat, the shares from this process, and
all else that parts know they are told by whoever asks: so lost parts can be made again from what is left.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from hedgerow.distributed.cluster import (
    Future,
    Silence,
    Waiting,
    Workers,
    as_one_line,
    ask_for_workers,
    identity_of,
    lost_scheduler,
    refuse_failed,
    release,
    some_workers,
    wait_a_moment,
    workers_of,
)
from hedgerow.distributed.holder import Holder, ask_node, call
from hedgerow.distributed.rows import (
    Range,
    RowsOfPartitions,
    bytes_a_row,
    cut,
    refuse_without_room,
    share_out,
)
from hedgerow.distributed.wire import HolderLost, Node, Question, all_added, below, of_arrays, packed, tree
from hedgerow.growing.shards import ShardFactory, ShardsLost, Sums

_MAKING = "making codes of the partitions of X"
_STEP = 0.5  # seconds between two looks at what is waited for
_ATTEMPTS = 20  # to make parts, when workers die while they are made
_FAREWELL = 1.0  # seconds to tell holders that nobody waits for them
_REACHED = 5.0  # seconds in which a worker must be reached, or the scheduler passes everything on


@dataclass(eq=False)
class _Held:
    """A holder, and where it is."""

    address: str
    identity: str  # of the worker: another may come to be at the same address
    bounds: list[Range]
    actor: Future
    codes: list[Future]

    @property
    def rows(self) -> Range:
        return self.bounds[0][0], self.bounds[-1][1]


class DaskShards:
    """All parts of a table, on the workers; see `hedgerow.growing.shards.ShardedRows`.

    Parameters
    ----------
    rows : RowsOfPartitions
    make : ShardFactory
    shares : dict of arrays of n_rows
    """

    def __init__(self, rows: RowsOfPartitions, make: ShardFactory, shares: dict[str, NDArray[Any]]) -> None:
        self._rows, self._make, self._shares = rows, make, shares
        self._client, self._settings = rows.partitions.client, rows.partitions.settings
        self._held: list[_Held] = []
        self._nodes: tuple[Node, ...] = ()
        self._n_asked = 0
        self._silence = Silence(self._settings)
        self._through_scheduler = self._settings.direct is False
        try:
            self._build([(0, rows.n_rows)])
        except BaseException:
            self.close()
            raise

    @property
    def bounds(self) -> Sequence[Range]:
        """The rows of every part; others after `ShardsLost`."""
        return [one for held in self._held for one in held.bounds]

    # --- asking

    def call(self, method: str, *args: Any) -> tuple[list[Any], Sums]:
        """Ask every part the same; see `ShardedRows.call`."""
        return self._ask(Question(method, args, {}))

    def call_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Sums]:
        """Ask every part with arguments of its own; see `ShardedRows.call_each`."""
        own: dict[int, list[tuple[Any, ...]]] = {}
        first = 0
        for number, held in enumerate(self._held):
            own[number] = list(args[first : first + len(held.bounds)])
            first += len(held.bounds)
        if first != len(args):
            raise ValueError(f"{len(args)} parts are given arguments, but there are {first}")
        return self._ask(Question(method, None, own))

    def _ask(self, question: Question) -> tuple[list[Any], Sums]:
        self._n_asked += 1
        question = question._replace(turn=self._n_asked)
        if question.shared is None:
            questions = [packed(question._replace(own=below(node, question.own))) for node in self._nodes]
        else:
            questions = [packed(question)] * len(self._nodes)
        client, proxy = self._client, self._proxy
        calls = [
            partial(ask_node, client.rpc, node, one, proxy)
            for node, one in zip(self._nodes, questions, strict=True)
        ]
        said, sums = all_added(of_arrays(one) for one in self._heard(calls))
        return [one for number in range(len(self._held)) for one in said[number]], sums

    def _heard(self, calls: Sequence[Callable[[], Coroutine[Any, Any, bytes]]]) -> list[bytes]:
        """The answers to some calls; if a worker is lost its parts are made anew, and `ShardsLost` raised."""
        try:
            return self._together(calls, self._held)
        except HolderLost:
            self._recover()
            raise ShardsLost from None

    @property
    def _proxy(self) -> Any:
        return self._client.scheduler.proxy if self._through_scheduler else None

    def _together(
        self, calls: Sequence[Callable[[], Coroutine[Any, Any, bytes]]], asked: Sequence[_Held]
    ) -> list[bytes]:
        """Run calls at the same time; `HolderLost` if the worker of one who is asked is there no more."""

        async def run() -> list[bytes]:
            tasks = [asyncio.ensure_future(one()) for one in calls]
            try:
                return await self._watch(tasks, asked)
            finally:
                for task in tasks:
                    task.cancel()

        limit = self._settings.patience + 2 * self._settings.timeout
        try:
            found: list[bytes] = self._client.sync(run, callback_timeout=limit)
        except (HolderLost, ConnectionError, TimeoutError):
            raise
        except Exception as error:
            raise as_one_line(error, self._client, "asking the workers") from error
        return found

    async def _watch(self, tasks: Sequence["asyncio.Task[bytes]"], asked: Sequence[_Held]) -> list[bytes]:
        """Wait for answers, and look at the workers while none comes."""
        begun = time.monotonic()
        while True:
            done, pending = await asyncio.wait(tasks, timeout=_STEP, return_when=asyncio.FIRST_EXCEPTION)
            if not pending or any(task.exception() for task in done):
                return [task.result() for task in tasks if task.done()]
            if self._client.status != "running":
                raise HolderLost(-1, "the scheduler is lost")
            try:
                workers = await asyncio.wait_for(ask_for_workers(self._client), self._settings.timeout)
            except (OSError, TimeoutError) as error:
                raise ConnectionError(lost_scheduler(self._client)) from error
            for number, held in enumerate(asked):
                if identity_of(workers, held.address) != held.identity:
                    raise HolderLost(number, "its worker is gone")
            self._silence.refuse(workers)
            if time.monotonic() - begun > self._settings.patience:
                raise TimeoutError(
                    f"{len(pending)} workers of the Dask cluster have not answered for "
                    f"{self._settings.patience:g} seconds (hedgerow.patience): restart them and fit again"
                )

    def _say(self, function: str, args: list[Any]) -> None:
        """Call all holders, and wait for them only a moment."""
        holders = self._holders()

        async def say() -> None:
            calls = [
                asyncio.ensure_future(call(self._client.rpc, node, function, args, self._proxy))
                for node in holders
            ]
            await asyncio.wait(calls, timeout=_FAREWELL)
            for one in calls:
                one.cancel()

        if holders and self._client.status == "running":
            with suppress(Exception):
                self._client.sync(say, callback_timeout=_REACHED)

    # --- making parts

    def _build(self, ranges: list[Range]) -> None:
        """Make holders of some rows on the workers that there are."""
        for _ in range(_ATTEMPTS):
            workers = some_workers(self._client, self._settings)
            threads = {address: int(info["nthreads"]) for address, info in workers.items()}
            plan = share_out(ranges, threads)
            coded = self._rows.row_bytes
            own = bytes_a_row(self._shares) + max(
                coded, self._make.row_bytes
            )  # codes are there twice at first
            refuse_without_room(plan, workers, coded + own)
            made = [self._start(workers, address, *rows) for address, *rows in plan]
            try:
                lost = self._wait_for(made)
            except BaseException:
                for one in made:
                    release(self._client, [one.actor, *one.codes])
                raise
            self._held = sorted(
                [*self._held, *(one for one in made if one not in lost)], key=lambda one: one.rows
            )
            if not lost:
                self._nodes = self._tree()
                return
            ranges = [one.rows for one in lost]
            self._forget(lost)
        raise ConnectionError(
            f"{_MAKING}: workers of the Dask cluster died {_ATTEMPTS} times meanwhile: look into their logs"
        )

    def _start(self, workers: Workers, address: str, start: int, stop: int) -> _Held:
        codes = self._rows.codes(start, stop)
        bins = self._rows.bins
        actor = self._client.submit(
            Holder,
            codes,
            self._rows.by_row,
            bins.n_columns,
            actor=True,
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )
        bounds = cut(start, stop, int(workers[address]["nthreads"]))
        return _Held(address, str(identity_of(workers, address)), bounds, actor, codes)

    def _wait_for(self, made: Sequence[_Held]) -> list[_Held]:
        """Wait until the actors are there and have made their parts; those that were lost meanwhile."""
        waiting = Waiting(self._client, self._settings, _MAKING)
        lost: list[_Held] = []
        left = list(made)
        while left:
            left = [one for one in left if one.actor.status != "finished"]
            n_codes = sum(code.status != "finished" for one in left for code in one.codes)
            workers = waiting.look(len(left) + n_codes) if left else {}
            for one in list(left):
                if identity_of(workers, one.address) != one.identity:
                    lost.append(one)
                    left.remove(one)
                elif one.actor.status in ("error", "cancelled"):
                    self._refuse(one)
            if left:
                wait_a_moment([one.actor for one in left])
        there = [one for one in made if one not in lost]
        for one in there:
            if not self._begin(one):
                lost.append(one)
            release(self._client, one.codes)
            one.codes = []
        return lost

    def _refuse(self, held: _Held) -> None:
        """Raise what kept an actor from being made."""
        refuse_failed(self._client, held.codes, _MAKING)
        refuse_failed(self._client, [held.actor], _MAKING)

    def _begin(self, held: _Held) -> bool:
        """Have a holder make its parts; whether it is still there."""
        start, stop = held.rows
        node = Node(held.address, held.actor.key, -1)
        shares = {name: share[start:stop] for name, share in self._shares.items()}
        if not self._through_scheduler and self._settings.direct is None:
            self._through_scheduler = not self._reached(held)
        begin = partial(
            call, self._client.rpc, node, "begin", [packed((self._make, shares, held.bounds))], self._proxy
        )
        try:
            self._together([begin], [held])
        except HolderLost:
            return False
        return True

    def _reached(self, held: _Held) -> bool:
        """Whether this process can connect to a worker that the scheduler knows."""

        async def greet() -> None:
            await asyncio.wait_for(self._client.rpc(held.address).identity(), _REACHED)

        try:
            self._client.sync(greet)
        except (OSError, TimeoutError):
            known = workers_of(self._client, self._settings.timeout)
            return identity_of(known, held.address) != held.identity
        return True

    def _holders(self) -> list[Node]:
        return [Node(held.address, held.actor.key, number) for number, held in enumerate(self._held)]

    def _tree(self) -> tuple[Node, ...]:
        nodes = self._holders()
        fan_out = len(nodes) if self._through_scheduler else self._settings.fan_out
        return tree(nodes, max(2, fan_out))

    # --- losing parts

    def _recover(self) -> None:
        """Make the parts anew that were on workers that are gone."""
        lost = self._lost()
        ranges = [held.rows for held in lost]
        self._held = [held for held in self._held if held not in lost]
        self._forget(lost)
        self._build(ranges)

    def _lost(self) -> list[_Held]:
        """Holders whose worker is gone, once the scheduler knows; one that cannot be reached will be."""
        end = time.monotonic() + self._settings.timeout
        while True:
            workers = workers_of(self._client, self._settings.timeout)
            lost = [one for one in self._held if identity_of(workers, one.address) != one.identity]
            if lost:
                return lost
            if time.monotonic() > end:
                raise ConnectionError(
                    f"a worker of the Dask cluster could not be reached for {self._settings.timeout:g} "
                    "seconds (hedgerow.timeout), but the scheduler still knows it: restart it and fit again"
                )
            time.sleep(_STEP / 5)

    def _forget(self, held: Sequence[_Held]) -> None:
        for one in held:
            release(self._client, [one.actor, *one.codes])

    def close(self) -> None:
        """Let go of the parts and of the partitions; see `ShardedRows.close`."""
        self._say("close", [])
        held, self._held, self._nodes = self._held, [], ()
        self._forget(held)
        self._rows.partitions.release()
