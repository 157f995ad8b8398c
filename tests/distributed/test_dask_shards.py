"""Shards on the workers of a cluster: calls, and errors of one line that leave nothing on the cluster."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import dask_cases
from dask_cases import (
    PATIENT,
    VALUES,
    Blocked,
    SummingFactory,
    check_sums,
    cluster_of,
    dask_array,
    fast_clock,
    interrupt_soon,
    make_shards,
    one_line,
    read_collection,
    tasks_left,
    uneven,
    wait_until,
)
from hedgerow.distributed import open_collection
from hedgerow.distributed import shards as dask_shards
from hedgerow.growing.shards import ShardsLost


def collection(n_partitions=1):
    return dask_array(VALUES, uneven(len(VALUES), n_partitions))


@pytest.mark.parametrize("n_partitions", [1, 17])
def test_every_row_is_in_one_shard_for_any_partitions(client, n_partitions):
    shards = make_shards(collection(n_partitions))
    assert len(shards.bounds) == 3
    assert check_sums(shards) == 0
    shards.call("add", 3)
    assert check_sums(shards) == 9
    results, sums = shards.call_each("add", [(n,) for n in range(3)])
    assert results == [start for start, _ in shards.bounds]
    assert sums == ()
    assert check_sums(shards) == 12
    shards.close()
    assert tasks_left(client) == []


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("option", "n_children"), [({"hedgerow.fan-out": 2}, [0, 1]), ({"hedgerow.direct": False}, [0, 0, 0])]
)
def test_actors_are_called_in_a_tree_or_by_the_scheduler(option, n_children):
    with dask.config.set(option):
        shards = make_shards(collection(5))
    assert [len(node.children) for node in shards.tree] == n_children
    assert shards.through_scheduler == ("hedgerow.direct" in option)
    shards.call_each("add", [(10**n,) for n in range(3)])
    assert check_sums(shards) == 111
    with pytest.raises(ValueError, match="this shard fails"):
        shards.call("fail")
    shards.close()


@pytest.mark.usefixtures("client")
def test_sums_may_be_wide_and_arrays_are_writable():
    shards = make_shards(collection())
    assert shards.call("wide")[1][0].tolist() == [3 * 2**40, -3]
    assert all(all(one) for one in shards.call("writable", np.arange(3))[0])
    with pytest.raises(ValueError, match="arguments for 9 shards were passed, but there are 3"):
        shards.call_each("add", [(1,)] * 9)
    assert check_sums(shards) == 0
    shards.close()


class Broken(SummingFactory):
    """Fails to create shards."""

    def __call__(self, codes, row_arrays, first):
        raise KeyError("no such array")


def test_shards_that_cannot_be_created_leave_nothing(client, monkeypatch):
    with pytest.raises(KeyError, match="no such array"):
        make_shards(collection(), Broken())
    assert tasks_left(client) == []
    monkeypatch.setattr(dask_shards, "_USABLE", 0.0)
    with pytest.raises(MemoryError, match=r"0 bytes of its memory limit of .* are free: use more workers"):
        make_shards(collection())
    assert tasks_left(client) == []


# --- limits of time


def test_a_task_that_does_not_end_raises(client, tmp_path):
    with Blocked(tmp_path / "tasks") as blocked:

        def block_task(block):
            Blocked(tmp_path / "tasks").wait()
            return block

        X = collection().map_blocks(block_task, dtype=float, meta=VALUES[:0])
        with dask.config.set({"hedgerow.patience": 0.3}), pytest.raises(TimeoutError) as error:
            read_collection(X, VALUES[:, 0])
        blocked.release()
    assert "no task has ended for 0.3 seconds (hedgerow.patience)" in one_line(error)
    del error
    assert tasks_left(client) == []


def test_a_call_that_does_not_return_raises(client, tmp_path):
    shards = make_shards(collection())
    shards.settings = replace(shards.settings, patience=0.3)
    with Blocked(tmp_path / "calls"), pytest.raises(TimeoutError) as error:
        shards.call("block", tmp_path / "calls")
    assert "have not replied for 0.3 seconds (hedgerow.patience)" in one_line(error)
    shards.close()
    assert tasks_left(client) == []


def test_an_interrupted_call_leaves_nothing(client, tmp_path):
    shards = make_shards(collection())
    with Blocked(tmp_path / "calls") as blocked:
        sender = interrupt_soon(blocked.arrived)
        with pytest.raises(KeyboardInterrupt):
            shards.call("block", blocked.folder)
        sender.join()
    shards.close()
    assert tasks_left(client) == []


# --- lost clusters


def call_until_error(shards):
    while True:
        with suppress(ShardsLost):
            shards.call("sums")


def test_open_collection_requires_a_client(monkeypatch):
    def no_client():
        raise ValueError("no client")

    monkeypatch.setattr("distributed.get_client", no_client)
    with dask.config.set(scheduler=None), pytest.raises(ValueError, match="there is no Client; create one"):
        open_collection(da.zeros((3, 2)), [0, 1, 1])


def test_a_cluster_without_workers_raises():
    with cluster_of(1) as client:
        shards = make_shards(collection())
        client.cluster.scale(0)
        wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.workers)))
        with fast_clock(), pytest.raises(TimeoutError) as error:
            call_until_error(shards)
        shards.close()
    assert "the Dask cluster has had no worker for 600 seconds (hedgerow.timeout)" in one_line(error)


_CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://") as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_lost_scheduler_raises():
    path = os.pathsep.join([str(Path(dask_cases.__file__).parent), *sys.path])
    with (
        dask.config.set(PATIENT),
        subprocess.Popen(
            [sys.executable, "-c", _CLUSTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path, "DASK_DISTRIBUTED__DASHBOARD__LINK": ""},
        ) as process,
        Client(process.stdout.readline().decode().strip()),
    ):
        one, other = make_shards(collection()), make_shards(collection())
        one.settings = replace(one.settings, timeout=0.5)
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(ConnectionError) as error:
            one.call("sums")
        assert "the connection to the Dask scheduler at tcp://" in one_line(error)
        process.kill()
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            for call in (lambda: call_until_error(other), lambda: make_shards(collection())):
                with pytest.raises(ConnectionError) as error:
                    call()
                assert "the connection to the Dask scheduler at tcp://" in one_line(error)
            other.close()
            one.close()
