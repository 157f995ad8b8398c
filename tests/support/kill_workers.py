"""The same rows in memory, in files and on clusters, also with killed workers, must have the same model.

    python tests/support/kill_workers.py --kills 20 --seed 0

Fits a gradient boosting model in memory, then from Parquet files, then on clusters of 1, 2, 4 and 8 processes
with 3, 17 and 64 uneven partitions. Then one worker of a cluster of three is killed with SIGKILL at a random
moment of a fit, `--kills` times; a kill after the end of the fit does not count. The exit code is 1 if a
model differs by a byte.
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import hedgerow
from dask_cases import FEATURES, cluster_of, dask_frame, rows, uneven, worker_pids
from hedgerow.io.models import to_bytes
from kill_children import argument_parser, log

CLUSTERS, PARTITIONS = (1, 2, 4, 8), (3, 17, 64)
MAX_ATTEMPTS = 5  # per kill during a fit
FRAME = rows(30_000)[[*FEATURES, "text", "weight"]]


def fit(n_rounds: int, *args: Any, **options: Any) -> bytes:
    """Fit a model; return its bytes."""
    model = hedgerow.GradientBoostingClassifier(
        n_estimators=n_rounds, random_state=0, n_iter_no_change=n_rounds
    )
    return to_bytes(model.fit(*args, **options))


def fit_remote(X: Any, n_rounds: int) -> bytes:
    """Fit to remote rows; return the bytes of the model."""
    return fit(n_rounds, X, target="text", sample_weight="weight")


def fit_files(n_rounds: int) -> bytes:
    """Fit to rows in files; return the bytes of the model."""
    with tempfile.TemporaryDirectory() as folder:
        ends = np.cumsum(uneven(len(FRAME), 5)).tolist()
        for number, (start, stop) in enumerate(zip([0, *ends], ends, strict=False)):
            block = pa.Table.from_pandas(FRAME[start:stop], preserve_index=False)
            parquet.write_table(block, Path(folder) / f"{number}.parquet", row_group_size=1999)
        return fit_remote(folder, n_rounds)


def kill_once(client: Any, X: Any, n_rounds: int, moment: float, rng: random.Random) -> tuple[bytes, bool]:
    """Fit and kill a worker after `moment` seconds; the bytes, and whether the kill was during the fit."""
    ended = threading.Event()
    hit: list[bool] = []

    def kill() -> None:
        if not ended.is_set():
            os.kill(rng.choice(worker_pids(client)), signal.SIGKILL)
            hit.append(not ended.is_set())

    timer = threading.Timer(moment, kill)
    timer.start()
    try:
        found = fit_remote(X, n_rounds)
    finally:
        ended.set()
        timer.cancel()
        timer.join()
    return found, bool(hit and hit[0])


def killed(client: Any, kills: int, n_rounds: int, rng: random.Random) -> Iterator[tuple[str, bytes, bool]]:
    """Yield fits with one kill each: a description, the bytes, and whether the kill was during the fit."""
    X = dask_frame(FRAME, uneven(len(FRAME), 17))
    fit_remote(X, n_rounds)  # workers import and compile
    start = time.perf_counter()
    fit_remote(X, n_rounds)
    duration, done, tried = time.perf_counter() - start, 0, 0
    while done < kills and tried < MAX_ATTEMPTS * kills:
        client.wait_for_workers(3)
        moment, tried = rng.uniform(0, duration), tried + 1
        found, hit = kill_once(client, X, n_rounds, moment, rng)
        done += hit
        yield f"killed after {moment:.2f} of about {duration:.2f} s{'' if hit else ', too late'}", found, hit


def run(kills: int, seed: int, n_rounds: int) -> int:
    """Compare all models; return the exit code."""
    expected = fit(n_rounds, FRAME[FEATURES], FRAME["text"], sample_weight=FRAME["weight"])
    n_wrong = n_done = 0

    def compare(what: str, found: bytes) -> None:
        nonlocal n_wrong
        n_wrong += found != expected
        log(f"{what}: {'equal' if found == expected else 'DIFFERENT MODEL'}")

    compare("Parquet files", fit_files(n_rounds))
    for n_workers in CLUSTERS:
        with cluster_of(n_workers, processes=True):
            for n_partitions in PARTITIONS:
                X = dask_frame(FRAME, uneven(len(FRAME), n_partitions))
                compare(f"{n_workers} workers, {n_partitions} uneven partitions", fit_remote(X, n_rounds))
    with cluster_of(3, processes=True) as client:
        for what, found, hit in killed(client, kills, n_rounds, random.Random(seed)):
            n_done += hit
            compare(what, found)
    log(f"{n_done} kills during a fit; models that differ: {n_wrong}")
    return 1 if n_wrong or n_done < kills else 0


def main() -> int:
    """Read the command line and run."""
    parser = argument_parser(__doc__.splitlines()[0], kills=20)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    return run(options.kills, options.seed, options.rounds)


if __name__ == "__main__":
    sys.exit(main())
