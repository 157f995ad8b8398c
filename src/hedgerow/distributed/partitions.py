"""The partitions of a collection: futures that the cluster keeps if they fit, and how to make them again.

Every pass over the rows is a task for each partition. While partitions are held they are read from their
source once; a collection that the memory of the workers has no room for is read again for every pass.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from hedgerow.distributed.cluster import Client, Future, library, release, results, some_workers
from hedgerow.distributed.settings import Settings

_HELD = 0.4  # of the memory of all workers, at the most, for partitions that are held


def given(value: Any) -> Any:
    """A value that many tasks need: as a task of its own it is sent to every worker once, and never lost."""
    return value


class Partitions:
    """The partitions of a collection, in order.

    Parameters
    ----------
    client : distributed.Client
    settings : Settings
    blocks : list of Delayed
    """

    def __init__(self, client: Client, settings: Settings, blocks: Sequence[Any]) -> None:
        self.client, self.settings, self._blocks = client, settings, list(blocks)
        self._held: list[Future] | None = client.compute(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def over(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        each: Sequence[tuple[Any, ...]],
        common: Any,
    ) -> list[Future]:
        """Run ``function(partition, common, *own)`` for some partitions; futures in their order."""
        if not numbers:
            return []
        client, name = self.client, f"hedgerow-{function.__name__}"
        shared = client.submit(given, common, pure=False, key=_unique("hedgerow-given"))
        if self._held is None:
            task = library("dask").delayed(function, pure=False)
            lazy = [
                task(self._blocks[number], shared, *own, dask_key_name=_unique(name))
                for number, own in zip(numbers, each, strict=True)
            ]
            futures: list[Future] = client.compute(lazy)
            return futures
        return [
            client.submit(function, self._held[number], shared, *own, pure=False, key=_unique(name))
            for number, own in zip(numbers, each, strict=True)
        ]

    def ask(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        each: Sequence[tuple[Any, ...]],
        common: Any,
        what: str,
    ) -> list[Any]:
        """The same, and wait for what comes of it."""
        futures = self.over(function, numbers, each, common)
        found = results(self.client, futures, self.settings, what)
        release(self.client, futures)
        return found

    def hold_if_room(self, n_bytes: int) -> None:
        """Let go of the partitions if all of them together take too much memory."""
        limits = [info.get("memory_limit") or 0 for info in some_workers(self.client, self.settings).values()]
        if all(limits) and n_bytes > _HELD * sum(limits):
            self.release()

    def release(self) -> None:
        """Let go of the partitions; if they are asked again, they are read again."""
        held, self._held = self._held, None
        release(self.client, held or [])


def _unique(name: str) -> str:
    return f"{name}-{uuid4().hex}"
