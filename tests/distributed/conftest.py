"""One cluster of three worker processes for all tests of this folder."""

import gc
from contextlib import ExitStack
from pathlib import Path

import pytest

from dask_cases import cluster_of, restore_workers, tasks_left

_OPEN = ExitStack()
_CLUSTERS = []


@pytest.fixture
def client():
    """The client of a cluster with three running workers and no tasks."""
    if not _CLUSTERS:
        _CLUSTERS.append(_OPEN.enter_context(cluster_of(3)))
    found = _CLUSTERS[0]
    restore_workers(found, 3)
    gc.collect()  # errors of the tests before may hold futures
    assert tasks_left(found) == []
    return found


def pytest_runtest_teardown(nextitem):
    """Close the cluster after the last test of this folder, whatever the files that share a process."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        _CLUSTERS.clear()
        _OPEN.close()
