"""The same rows in memory, in files and on clusters, also with killed workers, must have the same model.

    python tests/support/kill_workers.py --kills 20 --seed 0

Fits a gradient boosting model in memory, then from Parquet files, then on clusters of 1, 2, 4 and 8 processes
with 3, 17 and 64 uneven partitions. Then one worker of a cluster of three is killed with SIGKILL at a random
moment of a fit, `--kills` times; a kill after the end of the fit does not count. The exit code is 1 if a
model differs by a byte.
"""

import argparse
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
from dask_cases import cluster_of, frame_in_parts, uneven, worker_pids
from hedgerow.io.models import to_bytes

CLUSTERS, PARTITIONS = (1, 2, 4, 8), (3, 17, 64)
MOST = 5  # attempts per kill during a fit


def log(text: str) -> None:
    """Print a line and flush."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def table(n_rows: int = 30_000, seed: int = 0) -> Any:
    """Rows with missing values and a category."""
    import pandas as pd  # noqa: PLC0415 - a slow import

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8))
    X[rng.random(X.shape) < 0.02] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    kinds = rng.integers(0, 5, n_rows)
    frame["kind"] = pd.Categorical.from_codes(kinds, list("abcde"))
    signal_ = frame["x0"].fillna(0) * frame["x1"].fillna(0) + np.sin(kinds) + rng.normal(size=n_rows)
    frame["label"] = np.where(signal_ > 0, "yes", "no")
    frame["weight"] = rng.integers(1, 4, n_rows).astype(float)
    return frame


def model(n_rounds: int) -> Any:
    """The estimator."""
    return hedgerow.GradientBoostingClassifier(
        n_estimators=n_rounds, random_state=0, n_iter_no_change=n_rounds
    )


def fitted(X: Any, n_rounds: int) -> bytes:
    """Fit to remote rows; return the bytes of the model."""
    return to_bytes(model(n_rounds).fit(X, target="label", sample_weight="weight"))


def streamed(frame: Any, n_rounds: int) -> bytes:
    """Fit to rows in files; return the bytes of the model."""
    with tempfile.TemporaryDirectory() as folder:
        start = 0
        for number, length in enumerate(uneven(len(frame), 5)):
            block = pa.Table.from_pandas(frame[start : start + length], preserve_index=False)
            parquet.write_table(block, Path(folder) / f"{number}.parquet", row_group_size=1999)
            start += length
        return fitted(folder, n_rounds)


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
        found = fitted(X, n_rounds)
    finally:
        ended.set()
        timer.cancel()
        timer.join()
    return found, bool(hit and hit[0])


def killed(
    client: Any, X: Any, kills: int, n_rounds: int, rng: random.Random
) -> Iterator[tuple[str, bytes, bool]]:
    """Yield fits with one kill each: a description, the bytes, and whether the kill was during the fit."""
    fitted(X, n_rounds)  # workers import and compile
    start = time.perf_counter()
    fitted(X, n_rounds)
    duration, done, tried = time.perf_counter() - start, 0, 0
    while done < kills and tried < MOST * kills:
        client.wait_for_workers(3)
        moment, tried = rng.uniform(0, duration), tried + 1
        found, hit = kill_once(client, X, n_rounds, moment, rng)
        done += hit
        yield f"killed after {moment:.2f} of about {duration:.2f} s{'' if hit else ', too late'}", found, hit


def run(kills: int, seed: int, n_rounds: int) -> int:
    """Compare all models; return the exit code."""
    frame, rng, wrong = table(), random.Random(seed), 0
    features = frame.drop(columns=["label", "weight"])
    expected = to_bytes(model(n_rounds).fit(features, frame["label"], sample_weight=frame["weight"]))
    log(f"in memory: {len(expected):,} bytes")

    def compare(what: str, found: bytes) -> None:
        nonlocal wrong
        wrong += found != expected
        log(f"{what}: {'equal' if found == expected else 'DIFFERENT MODEL'}")

    compare("streamed from Parquet", streamed(frame, n_rounds))
    for n_workers in CLUSTERS:
        with cluster_of(n_workers):
            for n_parts in PARTITIONS:
                X = frame_in_parts(frame, uneven(len(frame), n_parts))
                compare(f"{n_workers} workers, {n_parts} uneven partitions", fitted(X, n_rounds))
    done = 0
    with cluster_of(3) as client:
        X = frame_in_parts(frame, uneven(len(frame), 17))
        for what, found, hit in killed(client, X, kills, n_rounds, rng):
            done += hit
            compare(what, found)
    log(f"\n{done} kills during a fit; models that differ: {wrong}")
    return 1 if wrong or done < kills else 0


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    return run(options.kills, options.seed, options.rounds)


if __name__ == "__main__":
    sys.exit(main())
