"""One cluster of worker threads and one of worker processes for all tests of this folder."""

import gc
from contextlib import ExitStack
from pathlib import Path

import pytest

from dask_cases import cluster_of, n_running, tasks_left, wait_until

_OPEN = ExitStack()
_CLIENTS = {}


def shared_client(*, processes):
    """The client of three workers without tasks."""
    if processes not in _CLIENTS:
        _CLIENTS[processes] = _OPEN.enter_context(cluster_of(3, processes=processes))
    client = _CLIENTS[processes]
    if processes:
        wait_until(lambda: n_running(client) == 3)  # those that were killed start again
    if client.futures:
        gc.collect()  # errors of the tests before may hold futures
    assert tasks_left(client) == []
    with client.as_current():
        yield client


@pytest.fixture
def client():
    """The client of a cluster of three threads."""
    yield from shared_client(processes=False)


@pytest.fixture
def processes():
    """The client of a cluster of three processes, for tests that kill or suspend them."""
    yield from shared_client(processes=True)


@pytest.hookimpl(trylast=True)  # after the fixtures: they make the client of before the current one again
def pytest_runtest_teardown(nextitem):
    """Close the clusters after the last test of this folder, whatever the files that share a process."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        _CLIENTS.clear()
        _OPEN.close()
