"""The cluster as this process sees it: a client, workers, and tasks that are waited for but not for ever.

Everything that can go wrong with other machines ends here in one line: a `ConnectionError` if the scheduler
or data is lost, a `TimeoutError` if nobody answers, a `MemoryError` if a worker has no room.
"""

import importlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from hedgerow.distributed.settings import Settings

Client = Any
Future = Any
Workers = dict[str, dict[str, Any]]  # by address, as the scheduler describes them

_THERE = ("running", "paused")  # a paused worker has no memory for more tasks, but answers questions
_STEP = 0.5  # seconds between two looks at what is waited for


def library(name: str) -> Any:
    """A module of Dask, which is optional: imported when a collection is given, and not before."""
    return importlib.import_module(name)


def active_client(collection: Any) -> Client:
    """The client that holds the futures of a collection, or the one that was made last."""
    try:
        distributed = library("distributed")
    except ImportError as error:
        raise ImportError(
            "X is a Dask collection, and distributed is not installed: pip install 'hedgerow[dask]'"
        ) from error
    held = distributed.futures_of(collection)
    try:
        client = held[0].client if held else distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection, and there is no Client: make one first, client = distributed.Client(), "
            "or give X.compute(), which brings all rows to this process"
        ) from error
    if client.asynchronous:
        raise TypeError("the Client is asynchronous, and fit is not: make a Client(asynchronous=False)")
    refuse_lost(client)
    return client


def refuse_lost(client: Client) -> None:
    """Raise if the client has no scheduler any more."""
    if client.status != "running":
        raise ConnectionError(lost_scheduler(client))


def lost_scheduler(client: Client) -> str:
    """What to say when there is no scheduler."""
    address = getattr(client.scheduler, "address", None) or "unknown"
    return (
        f"the connection to the Dask scheduler at {address} is lost (the client is {client.status}): start "
        "the cluster anew and fit again; a checkpoint lets a fit go on"
    )


def workers_of(client: Client, timeout: float) -> Workers:
    """All workers that the scheduler knows, with what it knows of them."""
    refuse_lost(client)
    try:
        found: Workers = client.sync(ask_for_workers, client, callback_timeout=timeout)
    except (OSError, TimeoutError) as error:
        raise ConnectionError(lost_scheduler(client)) from error
    return found


def identity_of(workers: Workers, address: str) -> str | None:
    """What tells a worker from a later one at its address: a folder of its own; None if it is gone."""
    info = workers.get(address)
    return None if info is None else str(info.get("local_directory", info.get("id")))


async def ask_for_workers(client: Client) -> Workers:
    """The same, inside of the client's loop."""
    found: Workers = (await client.scheduler.identity())["workers"]
    return {address: info for address, info in found.items() if info.get("status") in _THERE}


def some_workers(client: Client, settings: Settings) -> Workers:
    """The workers that take tasks, of which there is at least one; waits for one if there is none."""
    end = time.monotonic() + settings.timeout
    while True:
        there = workers_of(client, settings.timeout)
        found = {address: info for address, info in there.items() if info["status"] == "running"}
        if found:
            return found
        if time.monotonic() > end and there:
            raise MemoryError(
                f"all {len(there)} workers of the Dask cluster have been paused for {settings.timeout:g} "
                "seconds (hedgerow.timeout), because their memory is short: use more workers, or workers "
                "with more memory"
            )
        if time.monotonic() > end:
            raise TimeoutError(no_worker(settings))
        time.sleep(_STEP)


def no_worker(settings: Settings) -> str:
    """What to say when there is no worker."""
    return (
        f"the Dask cluster has had no worker for {settings.timeout:g} seconds (hedgerow.timeout): start "
        "workers and fit again"
    )


class Waiting:
    """Waiting for tasks: as long as some of them end now and then, and there are workers.

    Parameters
    ----------
    client : distributed.Client
    settings : Settings
    what : str
        What the tasks do, as a message goes on: "reading the partitions".
    """

    def __init__(self, client: Client, settings: Settings, what: str) -> None:
        self.client, self.settings, self.what = client, settings, what
        self._left = -1  # tasks that had not ended at the last look
        self._moved = self._had_workers = time.monotonic()
        self._silence = Silence(settings)

    def look(self, n_left: int) -> Workers:
        """Refuse to wait on if the cluster is gone or nothing has ended for too long; the workers."""
        now = time.monotonic()
        if n_left != self._left:
            self._left, self._moved = n_left, now
        workers = workers_of(self.client, self.settings.timeout)
        if workers:
            self._had_workers = now
        elif now - self._had_workers > self.settings.timeout:
            raise TimeoutError(f"{self.what}: {no_worker(self.settings)}")
        self._silence.refuse(workers)
        if now - self._moved > self.settings.patience:
            raise TimeoutError(
                f"{self.what}: no task has ended for {self.settings.patience:g} seconds (hedgerow.patience), "
                f"and {n_left} are left: look for what they wait for on the dashboard of the cluster"
            )
        return workers


class Silence:
    """How long workers have not been heard of, by the clock of this process: others may go wrong.

    >>> silence = Silence(Settings(timeout=60.0))
    >>> silence.refuse({"tcp://10.0.0.1:80": {"last_seen": 7.0}})
    """

    def __init__(self, settings: Settings) -> None:
        self._limit = settings.timeout
        self._heard: dict[
            str, tuple[float, float]
        ] = {}  # by address: what the scheduler said, and since when

    def refuse(self, workers: Workers) -> None:
        """Raise if a worker has not been heard of; it is not known whether it will be."""
        now = time.monotonic()
        for address, info in workers.items():
            seen = float(info.get("last_seen") or 0.0)
            if self._heard.get(address, (None,))[0] != seen:
                self._heard[address] = seen, now
            silence = now - self._heard[address][1]
            if silence > self._limit:
                raise TimeoutError(
                    f"the Dask worker {address} has been silent for {silence:.0f} seconds (hedgerow.timeout="
                    f"{self._limit:g}): restart it and fit again"
                )


def results(client: Client, futures: Sequence[Future], settings: Settings, what: str) -> list[Any]:
    """What tasks give, in order, or the error of the first that fails; then all are let go of."""
    try:
        wait_for(client, futures, Waiting(client, settings, what))

        async def gather() -> Any:
            return await client.gather(list(futures), direct=settings.direct is not False, asynchronous=True)

        try:
            return list(client.sync(gather, callback_timeout=settings.timeout + settings.patience))
        except Exception as error:
            raise as_one_line(error, client, what) from error
    except BaseException:
        release(client, futures)
        raise


def wait_for(
    client: Client,
    futures: Sequence[Future],
    waiting: Waiting,
    on_look: Callable[[Workers], None] | None = None,
) -> None:
    """Wait until all tasks have ended well; `on_look` is told now and then which workers there are."""
    while True:
        wait_a_moment(futures)
        refuse_failed(client, futures, waiting.what)
        left = sum(future.status != "finished" for future in futures)
        if not left:
            return
        workers = waiting.look(left)
        if on_look is not None:
            on_look(workers)


def wait_a_moment(futures: Sequence[Future]) -> None:
    """Wait until all tasks have ended, but not for long; whether they have, their status tells."""
    with suppress(Exception):
        library("distributed").wait(list(futures), timeout=_STEP)


def refuse_failed(client: Client, futures: Sequence[Future], what: str) -> None:
    """Raise the error of the first task that failed."""
    for future in futures:
        if future.status == "error":
            raise as_one_line(future.exception(timeout=10), client, what)
        if future.status == "cancelled":  # one that is "lost" is on its way again
            refuse_lost(client)
            raise ConnectionError(_lost_data(what))


def as_one_line(error: BaseException, client: Client, what: str) -> BaseException:
    """An error of a task or of the cluster as one that is to be raised here."""
    if type(error).__name__ == "KilledWorker":
        return MemoryError(
            f"{what}: workers of the Dask cluster died again and again at one task; if their logs say that "
            "memory was short, use smaller partitions, or workers with more memory"
        )
    if isinstance(error, CancelledError) or "CancelledError" in type(error).__name__:
        lost = client.status != "running"
        return ConnectionError(lost_scheduler(client) if lost else _lost_data(what))
    if isinstance(error, MemoryError):
        return MemoryError(f"{what}: memory is short on a worker of the Dask cluster ({_line(error)})")
    if isinstance(error, TimeoutError):
        return TimeoutError(f"{what}: the Dask cluster does not answer ({_line(error)})")
    if isinstance(error, OSError) and client.status != "running":
        return ConnectionError(lost_scheduler(client))
    return error


def _lost_data(what: str) -> str:
    return (
        f"{what}: rows were lost with a worker and cannot be made again, because they were scattered, or "
        "their tasks were cancelled: make the collection from files or by tasks, and fit again"
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def release(client: Client, futures: Sequence[Future]) -> None:
    """Let go of futures; tasks that nobody else wants are then not done. Quiet if the cluster is gone.

    They are not cancelled: that would end the tasks of another fit, or of the user, to the same rows.
    """
    with suppress(Exception):  # whatever the cluster still says, it is over
        for future in futures if client.status != "closed" else ():
            future.release()
