"""What cannot go on ends in one line within a stated time: no hang, and nothing is left on the cluster."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
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
from dask_cases import MakeSumming, array_in_parts, cluster_of, tasks_left, worker_pids
from hedgerow.binning import find_bins
from hedgerow.distributed import open_collection, partitions
from hedgerow.growing.shards import ShardsLost

VALUES = np.random.default_rng(2).normal(size=(600, 3))
Y = np.arange(600)


def table_of(X):
    return open_collection(X, Y).read(categorical_features=None, schema=None, estimator_name="Model")


def placed(X):
    table = table_of(X)
    return table.make_shards(MakeSumming(), find_bins(table), {"number": Y}, 1)


def ask_on(shards):
    for _ in range(10_000):
        with suppress(ShardsLost):
            shards.call("look")


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_without_a_client_there_is_a_line_that_says_so():
    with pytest.raises(ValueError) as error:
        open_collection(da.zeros((3, 2)), [0, 1, 1])
    assert "there is no Client: make one first" in one_line(error)


@pytest.fixture
def client():
    with cluster_of(2) as found:
        yield found


def test_a_task_that_is_stuck_or_many_that_are_not_and_rows_that_were_scattered(client, monkeypatch):
    def stuck(block):
        time.sleep(4)
        return block

    with dask.config.set({"hedgerow.patience": 1.5}), pytest.raises(TimeoutError) as error:
        table_of(array_in_parts(VALUES, [300, 300]).map_blocks(stuck, dtype=float, meta=VALUES[:0]))
    assert "no task has ended for 1.5 seconds (hedgerow.patience)" in one_line(error)

    def slow(block):
        time.sleep(0.5)
        return block

    X = array_in_parts(VALUES, [50] * 12).map_blocks(slow, dtype=float, meta=VALUES[:0])
    placed(X).close()  # workers load what they need
    monkeypatch.setattr(partitions, "_HELD", 0.0)  # rows are read again for every pass
    with dask.config.set({"hedgerow.patience": 2}):
        placed(X).close()  # takes longer, but tasks end all the time

    parts = client.scatter([pd.DataFrame(VALUES[:300]), pd.DataFrame(VALUES[300:])])
    X = dd.from_delayed([delayed(part) for part in parts], meta=pd.DataFrame(VALUES[:0]), verify_meta=False)
    shards = placed(X)
    for pid in worker_pids(client):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ConnectionError) as error:
        shards.call("look")
    assert "rows were lost with a worker and cannot be made again" in one_line(error)
    shards.close()


def test_an_answer_that_does_not_come_and_a_worker_that_is_silent(client):
    placed(array_in_parts(VALUES, [600])).close()  # workers load what they need
    with dask.config.set({"hedgerow.patience": 1}):
        shards = placed(array_in_parts(VALUES, [600]))
    with pytest.raises(TimeoutError) as error:
        shards.call("sleep", 4)
    assert "have not answered for 1 seconds (hedgerow.patience)" in one_line(error)
    shards.close()
    assert tasks_left(client) == []
    with dask.config.set({"hedgerow.timeout": 3}):
        shards = placed(array_in_parts(VALUES, [600]))
    pid = worker_pids(client)[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError) as error:
            shards.call("look")
        assert "(hedgerow.timeout=3): restart it and fit again" in one_line(error)
    finally:
        os.kill(pid, signal.SIGCONT)
    shards.close()


def test_a_question_that_is_interrupted_leaves_nothing(client):
    shards = placed(array_in_parts(VALUES, [600]))
    main = threading.get_ident()
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        shards.call("sleep", 5)
    timer.join()
    shards.close()
    assert tasks_left(client) == []


def test_memory_that_is_short_on_a_worker():
    with cluster_of(1, memory_limit="1GB") as client:
        table = table_of(array_in_parts(VALUES, [600]))
        shares = {"number": np.lib.stride_tricks.as_strided(Y, (600, 200_000), (8, 0))}
        with pytest.raises(MemoryError) as error:
            table.make_shards(MakeSumming(), find_bins(table), shares, 1)
        assert "of its memory limit of 1.0 GB are free: use more workers" in one_line(error)
        del table
        assert tasks_left(client) == []


def test_workers_that_do_not_come_back(client):
    placed(array_in_parts(VALUES, [600])).close()  # workers load what they need
    with dask.config.set({"hedgerow.timeout": 2}):
        shards = placed(array_in_parts(VALUES, [600]))
    client.cluster.scale(0)
    with pytest.raises(TimeoutError) as error:
        ask_on(shards)
    assert "the Dask cluster has had no worker for 2 seconds (hedgerow.timeout)" in one_line(error)
    shards.close()


_CLUSTER = """
import sys, time
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
        dask.config.set({"hedgerow.timeout": 5, "distributed.comm.timeouts.connect": "2s"}),
        subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(dask_cases.__file__).parent)},
        ) as process,
        Client(process.stdout.readline().decode().strip()),
    ):
        with dask.config.set({"hedgerow.timeout": 60}):
            placed(array_in_parts(VALUES, [600])).close()  # the worker loads what it needs
        shards = placed(array_in_parts(VALUES, [600]))
        with dask.config.set({"hedgerow.timeout": 1}):
            stopped = placed(array_in_parts(VALUES, [600]))
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(ConnectionError) as error:
            stopped.call("sleep", 4)
        assert "the connection to the Dask scheduler at tcp://" in one_line(error)
        process.kill()
        with pytest.raises(ConnectionError) as error:
            ask_on(shards)
        assert "the connection to the Dask scheduler at tcp://" in one_line(error)
        shards.close()
        with pytest.raises(ConnectionError) as error:
            placed(array_in_parts(VALUES, [600]))
        assert "the connection to the Dask scheduler at tcp://" in one_line(error)
