"""What cannot continue ends in an error of one line: no hang, and nothing is left on the cluster."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client

import dask_cases
from dask_cases import (
    PATIENT,
    Blocked,
    SummingFactory,
    array_in_parts,
    cluster_of,
    fast_clock,
    interrupt_soon,
    stopped,
    tasks_left,
    worker_pids,
)
from hedgerow.binning import find_bins
from hedgerow.distributed import cluster, open_collection
from hedgerow.distributed import shards as dask_shards
from hedgerow.growing.shards import ShardsLost

VALUES = np.random.default_rng(2).normal(size=(600, 3))
Y = np.arange(600)


def table_of(X):
    return open_collection(X, Y).read(categorical_features=None, schema=None, estimator_name="Model")


def make_shards(X=None):
    table = table_of(array_in_parts(VALUES, [600]) if X is None else X)
    return table.make_shards(SummingFactory(), find_bins(table), {"number": Y}, 1)


def call_until_error(shards):
    while True:
        with suppress(ShardsLost):
            shards.call("sums")


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_task_that_does_not_end(client, tmp_path):
    with Blocked(tmp_path / "tasks") as blocked:

        def block_task(block):
            Blocked(tmp_path / "tasks").wait()
            return block

        X = array_in_parts(VALUES, [300, 300]).map_blocks(block_task, dtype=float, meta=VALUES[:0])
        with dask.config.set({"hedgerow.patience": 0.3}), pytest.raises(TimeoutError) as error:
            table_of(X)
        blocked.release()
    assert "no task has ended for 0.3 seconds (hedgerow.patience)" in one_line(error)
    del error
    assert tasks_left(client) == []


def test_rows_that_were_scattered_are_lost_with_their_workers(client):
    parts = client.scatter([pd.DataFrame(VALUES[:300]), pd.DataFrame(VALUES[300:])])
    X = dd.from_delayed([delayed(part) for part in parts], meta=pd.DataFrame(VALUES[:0]), verify_meta=False)
    shards = make_shards(X)
    for pid in worker_pids(client):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ConnectionError) as error:
        shards.call("sums")
    assert "rows were lost with a worker and cannot be computed again" in one_line(error)
    shards.close()


def test_a_call_that_does_not_return(client, tmp_path):
    shards = make_shards()
    shards.settings = replace(shards.settings, patience=0.3)
    with Blocked(tmp_path / "calls"), pytest.raises(TimeoutError) as error:
        shards.call("block", tmp_path / "calls")
    assert "have not replied for 0.3 seconds (hedgerow.patience)" in one_line(error)
    shards.close()
    assert tasks_left(client) == []


def test_a_worker_that_is_silent(client, monkeypatch):
    shards = make_shards()
    monkeypatch.setattr(cluster, "clock", fast_clock)
    with stopped(worker_pids(client)[:1]), pytest.raises(TimeoutError) as error:
        shards.call("sums")
    assert "(hedgerow.timeout=600): restart it and fit again" in one_line(error)
    monkeypatch.undo()
    shards.close()


def test_a_call_that_is_interrupted_leaves_nothing(client, tmp_path):
    shards = make_shards()
    with Blocked(tmp_path / "calls") as blocked:
        sender = interrupt_soon(blocked.arrived)
        with pytest.raises(KeyboardInterrupt):
            shards.call("block", blocked.folder)
        sender.join()
    shards.close()
    assert tasks_left(client) == []


def test_memory_that_is_short_on_a_worker(client, monkeypatch):
    monkeypatch.setattr(dask_shards, "_USABLE", 0.0)
    with pytest.raises(MemoryError, match=r"0 bytes of its memory limit of .* are free: use more workers"):
        make_shards()
    assert tasks_left(client) == []


def test_without_a_client():
    with dask.config.set(scheduler=None), pytest.MonkeyPatch.context() as patch:
        patch.setattr("distributed.get_client", lambda: (_ for _ in ()).throw(ValueError("no client")))
        with pytest.raises(ValueError) as error:
            open_collection(da.zeros((3, 2)), [0, 1, 1])
    assert "there is no Client; create one first" in one_line(error)


def test_workers_that_do_not_come_back(monkeypatch):
    with cluster_of(1) as client:
        shards = make_shards()
        client.cluster.scale(0)
        monkeypatch.setattr(cluster, "clock", fast_clock)
        with pytest.raises(TimeoutError) as error:
            call_until_error(shards)
        monkeypatch.undo()
        shards.close()
    assert "the Dask cluster has had no worker for 600 seconds (hedgerow.timeout)" in one_line(error)


_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_scheduler_that_is_lost(tmp_path):
    script = tmp_path / "cluster.py"
    script.write_text(_CLUSTER)
    with (
        dask.config.set(PATIENT),
        subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(Path(dask_cases.__file__).parent), *sys.path])},
        ) as process,
        Client(process.stdout.readline().decode().strip()),
    ):
        one, other = make_shards(), make_shards()
        one.settings = replace(one.settings, timeout=0.5)
        os.kill(process.pid, signal.SIGSTOP)
        with Blocked(tmp_path / "calls") as blocked, pytest.raises(ConnectionError) as error:
            one.call("block", blocked.folder)
        assert "the connection to the Dask scheduler at tcp://" in one_line(error)
        process.kill()
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            for call in (lambda: call_until_error(other), make_shards):
                with pytest.raises(ConnectionError) as error:
                    call()
                assert "the connection to the Dask scheduler at tcp://" in one_line(error)
            other.close()
            one.close()
