"""Time and memory of a fit streamed from Parquet files beside one in memory, each in its own process.

The rows are those of `data.simulated`, a million at a time with consecutive seeds, written once to
a folder (2.3 GB for 20,000,000 x 28). A process then fits 20 rounds of 31 leaves in three ways: streamed with
codes in memory, streamed with codes in a file that is mapped into memory, and with everything in memory.
Peak memory is that of the whole process, with Python and all libraries. Exit code 1 if a model differs by a
byte, or if a limit is exceeded: 1 GiB and 1.2 bytes per value, or 2 GiB with mapped codes.

    python benchmarks/streaming.py --folder DIR            20,000,000 x 28
    python benchmarks/streaming.py --folder DIR --rows 2e6
"""

import argparse
import hashlib
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data import simulated

COLUMNS, PIECE = 28, 1_000_000
WAYS = ("streamed", "streamed, codes mapped", "in memory")
GIB = 2**30


def write(folder: Path, n_rows: int) -> None:
    """Write the files that do not exist yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-n_rows // PIECE)):
        path = folder / f"part-{number:04}.parquet"
        size = min(PIECE, n_rows - number * PIECE)
        if path.exists() and pq.read_metadata(path).num_rows == size:
            continue
        X, y = simulated(size, COLUMNS, seed=number)
        columns = {f"x{j:02}": X[:, j] for j in range(COLUMNS)}
        table = pa.table({**columns, "label": y.astype(np.int8)})
        pq.write_table(table, path, row_group_size=250_000)


def fit(way: str, folder: Path, n_files: int, rounds: int) -> dict[str, Any]:
    """Fit in this process."""
    import hedgerow

    files = sorted(folder.glob("part-*.parquet"))[:n_files]
    settings: dict[str, Any] = {"early_stopping": False, "random_state": 0, "n_jobs": 2}
    few = pa.table({f"x{j:02}": column for j, column in enumerate(simulated(5_000, COLUMNS)[0].T)})
    warm = hedgerow.GradientBoostingClassifier(n_estimators=2, **settings)
    warm.fit(few, simulated(5_000, COLUMNS)[1])  # compile before anything is timed
    model = hedgerow.GradientBoostingClassifier(n_estimators=rounds, max_leaf_nodes=31, **settings)
    ends: list[float] = []

    def note(_done: object) -> None:
        ends.append(time.perf_counter())

    began = time.perf_counter()
    if way == "in memory":
        table = pq.ParquetDataset(files).read()
        model.fit(table.drop_columns(["label"]), table["label"].to_numpy(), callbacks=[note])
    else:
        limit = {"memory_limit": 0} if "mapped" in way else {}
        model.fit(hedgerow.Stream(files, target="label", **limit), callbacks=[note])
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    path = folder / f"model-{WAYS.index(way)}"
    hedgerow.save(model, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    path.unlink()
    a_round = (ends[-1] - ends[0]) / (rounds - 1)
    first = ends[0] - began
    return {"seconds": seconds, "first": first, "round": a_round, "peak": peak, "checksum": digest}


def measure(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit in a new process."""
    command = [sys.executable, __file__, "--folder", str(options.folder), "--rows", str(options.rows)]
    command += ["--rounds", str(options.rounds), "--child", way]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Read the command line, write the files, and start a process for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="for the Parquet files, which are kept")
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--child", choices=WAYS, help="fit this way, in this process")
    options = parser.parse_args()
    n_rows = int(options.rows)
    if options.child:
        print(json.dumps(fit(options.child, options.folder, -(-n_rows // PIECE), options.rounds)))
        return 0
    write(options.folder, n_rows)
    limits = {WAYS[0]: GIB + 1.2 * n_rows * COLUMNS, WAYS[1]: 2 * GIB, WAYS[2]: math.inf}
    print(f"{n_rows:,} x {COLUMNS}, {options.rounds} rounds of 31 leaves, 2 threads\n")
    print("| rows | seconds | until the first round ends | a round | peak memory | limit |")
    print("|---|---|---|---|---|---|")
    found = {}
    for way in options.ways:
        one = found[way] = measure(way, options)
        limit = "" if limits[way] == math.inf else f"{limits[way] / GIB:.2f} GiB"
        print(f"| {way} | {one['seconds']:.1f} | {one['first']:.1f} s | {one['round']:.2f} s", end=" | ")
        print(f"{one['peak'] / GIB:.2f} GiB | {limit} |", flush=True)
    same = len({one["checksum"] for one in found.values()}) == 1
    kept = all(one["peak"] < limits[way] for way, one in found.items())
    print(f"\nmodels the same to the byte: {same}; within the limits: {kept}")
    return 0 if same and kept else 1


if __name__ == "__main__":
    sys.exit(main())
