"""The client's view of a Dask cluster: settings, workers, and tasks that are awaited with time limits.

The settings hedgerow.timeout, patience, fan-out and direct are read at the start of a fit from the
configuration of Dask: `dask.config.set`, a file, or environment variables such as DASK_HEDGEROW__TIMEOUT.

Every failure of another machine becomes an error of one line: a `ConnectionError` if the scheduler or data is
lost, a `TimeoutError` if nothing responds, a `MemoryError` if a worker is short of memory.
"""

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hedgerow.datafiles.errors import one_line
from hedgerow.optional import require_extra

Client = Any
Future = Any
Workers = dict[str, dict[str, Any]]  # by address, as the scheduler describes them

POLL_SECONDS = 0.5  # between two checks of what is awaited
clock = time.monotonic  # of all limits; tests replace it
_ALIVE = ("running", "paused")  # a paused worker starts no tasks, but runs the methods of actors


# --- settings


@dataclass(frozen=True)
class Settings:
    """Settings of a fit on a cluster.

    Parameters
    ----------
    timeout : float
        Seconds without a heartbeat of a worker, or a reply of the scheduler, after which a fit ends with an
        error; also how long it waits for a first worker.
    patience : float
        Seconds that one task or one call of a worker may take.
    fan_out : int
        How many workers one process calls; with more, workers call other workers.
    direct : bool or None
        Whether this process connects to the workers, or the scheduler forwards calls; None to test whether
        it can connect.

    Examples
    --------
    >>> import dask
    >>> from hedgerow.distributed import settings
    >>> with dask.config.set({"hedgerow.timeout": 10}):
    ...     settings()
    Settings(timeout=10.0, patience=1800.0, fan_out=8, direct=None)
    """

    timeout: float = 60.0
    patience: float = 1800.0
    fan_out: int = 8
    direct: bool | None = None


def settings() -> Settings:
    """Read the settings from the configuration of Dask.

    Returns
    -------
    Settings

    Examples
    --------
    >>> settings().timeout
    60.0
    """
    config = require_extra("dask", extra="dask").config
    direct = config.get("hedgerow.direct", None)
    if direct is not None and not isinstance(direct, bool):
        raise ValueError(f"hedgerow.direct must be true, false or null; got {direct!r}")
    fan_out = _positive("fan-out", config.get("hedgerow.fan-out", 8))
    if fan_out < 2 or fan_out != int(fan_out):
        raise ValueError(f"hedgerow.fan-out must be a whole number of at least 2; got {fan_out:g}")
    return Settings(
        _positive("timeout", config.get("hedgerow.timeout", 60.0)),
        _positive("patience", config.get("hedgerow.patience", 1800.0)),
        int(fan_out),
        direct,
    )


def _positive(name: str, value: Any) -> float:
    try:
        number = float(require_extra("dask.utils", extra="dask").parse_timedelta(value, default="s"))
    except (TypeError, ValueError, KeyError):
        number = -1.0
    if not 0 < number < float("inf"):
        raise ValueError(f"hedgerow.{name} must be a number above 0; got {value!r}")
    return number


# --- the client


def client_of(collection: Any) -> Client:
    """Return the client that holds the futures of a collection, or the one that was created last."""
    distributed = require_extra("distributed", extra="dask")
    futures = distributed.futures_of(collection)
    try:
        client = futures[0].client if futures else distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection and there is no Client; create one first, client = distributed.Client(), "
            "or pass X.compute(), which loads all rows into this process"
        ) from error
    if client.asynchronous:
        raise TypeError("the Client must not be asynchronous: create a Client(asynchronous=False)")
    check_connected(client)
    return client


def check_connected(client: Client) -> None:
    """Raise if the client has lost its scheduler."""
    if client.status != "running":
        raise ConnectionError(scheduler_lost(client))


def scheduler_lost(client: Client) -> str:
    """Return the message for a lost scheduler."""
    address = getattr(client.scheduler, "address", None) or "unknown"
    return (
        f"the connection to the Dask scheduler at {address} is lost (the client is {client.status}): restart "
        "the cluster and fit again; a fit with a checkpoint resumes"
    )


# --- workers


def list_workers(client: Client, timeout: float) -> Workers:
    """Return all workers of the scheduler, with its description of each."""
    check_connected(client)
    try:
        workers: Workers = client.sync(fetch_workers, client, callback_timeout=timeout)
    except (OSError, TimeoutError) as error:
        raise ConnectionError(scheduler_lost(client)) from error
    return workers


async def fetch_workers(client: Client) -> Workers:
    """`list_workers` inside the event loop of the client."""
    workers: Workers = (await client.scheduler.identity())["workers"]
    return {address: info for address, info in workers.items() if info.get("status") in _ALIVE}


def worker_id(workers: Workers, address: str) -> str | None:
    """Return what identifies a worker and differs for a later one at its address; None if it is gone."""
    info = workers.get(address)
    return None if info is None else str(info.get("local_directory", info.get("id")))


def require_workers(client: Client, settings: Settings) -> Workers:
    """Return the workers that run tasks; wait for the first one if there is none."""
    end = clock() + settings.timeout
    while True:
        alive = list_workers(client, settings.timeout)
        running = {address: info for address, info in alive.items() if info["status"] == "running"}
        if running:
            return running
        if clock() > end and alive:
            raise MemoryError(
                f"all {len(alive)} workers of the Dask cluster have been paused for {settings.timeout:g} "
                "seconds (hedgerow.timeout), because their memory is short: use more workers, or workers "
                "with more memory"
            )
        if clock() > end:
            raise TimeoutError(no_workers(settings))
        time.sleep(POLL_SECONDS)


def no_workers(settings: Settings) -> str:
    """Return the message for a cluster without workers."""
    return (
        f"the Dask cluster has had no worker for {settings.timeout:g} seconds (hedgerow.timeout): start "
        "workers and fit again"
    )


class Heartbeats:
    """Detects workers that stop sending heartbeats, by the clock of this process.

    >>> heartbeats = Heartbeats(Settings(timeout=60.0))
    >>> heartbeats.check({"tcp://10.0.0.1:80": {"last_seen": 7.0}})
    """

    def __init__(self, settings: Settings) -> None:
        self._limit = settings.timeout
        self._last: dict[str, tuple[float, float]] = {}  # by address: the heartbeat, and when it was new here

    def check(self, workers: Workers) -> None:
        """Raise if a worker has been silent for longer than the limit."""
        now = clock()
        for address, info in workers.items():
            heartbeat = float(info.get("last_seen") or 0.0)
            if self._last.get(address, (None,))[0] != heartbeat:
                self._last[address] = heartbeat, now
            silence = now - self._last[address][1]
            if silence > self._limit:
                raise TimeoutError(
                    f"the Dask worker {address} has been silent for {silence:.0f} seconds (hedgerow.timeout="
                    f"{self._limit:g}): restart it and fit again"
                )


class TaskMonitor:
    """Limits how long tasks are awaited: there must be workers, and a task must end within `patience`.

    `what` describes the tasks at the start of messages: "reading the partitions".
    """

    def __init__(self, client: Client, settings: Settings, what: str) -> None:
        self.client, self.settings, self.what = client, settings, what
        self._n_left = -1
        self._last_progress = self._last_worker = clock()
        self._heartbeats = Heartbeats(settings)

    def check(self, n_left: int) -> Workers:
        """Raise if the cluster is gone or no task has ended for too long; return the workers."""
        now = clock()
        if n_left != self._n_left:
            self._n_left, self._last_progress = n_left, now
        workers = list_workers(self.client, self.settings.timeout)
        if workers:
            self._last_worker = now
        elif now - self._last_worker > self.settings.timeout:
            raise TimeoutError(f"{self.what}: {no_workers(self.settings)}")
        self._heartbeats.check(workers)
        if now - self._last_progress > self.settings.patience:
            raise TimeoutError(
                f"{self.what}: no task has ended for {self.settings.patience:g} seconds (hedgerow.patience), "
                f"and {n_left} are left: see the dashboard of the cluster for what they wait for"
            )
        return workers


# --- tasks


def gather_results(client: Client, futures: Sequence[Future], settings: Settings, what: str) -> list[Any]:
    """Return the results of tasks in order, or the error of the first that fails; release the futures."""
    monitor = TaskMonitor(client, settings, what)

    async def gather() -> Any:
        return await client.gather(list(futures), direct=settings.direct is not False, asynchronous=True)

    try:
        while True:
            wait_with_timeout(futures)
            raise_failed(client, futures, what)
            n_left = sum(future.status != "finished" for future in futures)
            if not n_left:
                break
            monitor.check(n_left)
        try:
            return list(client.sync(gather, callback_timeout=settings.timeout + settings.patience))
        except Exception as error:
            raise translate_error(error, client, what) from error
    finally:
        release(client, futures)


def wait_with_timeout(futures: Sequence[Future]) -> None:
    """Wait until all tasks have ended, for `POLL_SECONDS` at most."""
    with suppress(Exception):
        require_extra("distributed", extra="dask").wait(list(futures), timeout=POLL_SECONDS)


def raise_failed(client: Client, futures: Sequence[Future], what: str) -> None:
    """Raise the error of the first task that failed."""
    for future in futures:
        if future.status == "error":
            raise translate_error(future.exception(timeout=10), client, what)
        if future.status == "cancelled":  # Dask runs a task that is "lost" again
            check_connected(client)
            raise ConnectionError(_data_lost(what))


def translate_error(error: BaseException, client: Client, what: str) -> BaseException:
    """Return the error to raise for an error of a task or of the cluster; that of a user is unchanged."""
    if type(error).__name__ == "KilledWorker":
        return MemoryError(
            f"{what}: workers of the Dask cluster died repeatedly in one task; if their logs show that "
            "memory was short, use smaller partitions, or workers with more memory"
        )
    if isinstance(error, CancelledError) or "CancelledError" in type(error).__name__:
        lost = client.status != "running"
        return ConnectionError(scheduler_lost(client) if lost else _data_lost(what))
    if isinstance(error, MemoryError):
        return MemoryError(f"{what}: memory is short on a worker of the Dask cluster ({one_line(error)})")
    if isinstance(error, TimeoutError):
        return TimeoutError(f"{what}: the Dask cluster does not respond ({one_line(error)})")
    if isinstance(error, OSError) and client.status != "running":
        return ConnectionError(scheduler_lost(client))
    return error


def _data_lost(what: str) -> str:
    return (
        f"{what}: rows were lost with a worker and cannot be computed again, because they were scattered or "
        "their tasks were cancelled: create the collection from files or by tasks, and fit again"
    )


def release(client: Client, futures: Sequence[Future]) -> None:
    """Release futures, so that the cluster drops tasks without other futures; ignore a lost cluster.

    They are not cancelled: that would end the tasks of another fit, or of the user, on the same rows.
    """
    with suppress(Exception):
        for future in futures if client.status != "closed" else ():
            future.release()
