"""One cluster of three worker processes for all tests of this folder."""

import gc
import signal

import pytest

from dask_cases import cluster_of, restore_workers, tasks_left


@pytest.fixture(scope="package")
def dask_cluster():
    with cluster_of(3) as client:
        yield client


@pytest.fixture
def client(dask_cluster):
    """The client of a cluster with three running workers and no tasks."""
    restore_workers(dask_cluster, 3)
    gc.collect()  # errors of the tests before may hold futures
    assert tasks_left(dask_cluster) == []
    return dask_cluster


@pytest.fixture
def default_sigint():
    """Let SIGINT interrupt: a process that a shell started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
