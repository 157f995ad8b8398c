"""Same bits: the digest of the model file for every number of threads, chunk size, dtype and memory order.

Each cell is a fit of its own on the same table, saved to a file; the SHA-256 of the file must be one and
the same everywhere. The exit code is 1 when it is not.
"""

import argparse
import hashlib
import itertools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from data import simulated

THREADS = (1, 2, 4)
CHUNKS = (1_000, 4_096, 65_536)
DTYPES = ("float32", "float64")
ORDERS = ("C", "F")

Digests = dict[tuple[int, int, str, str], str]


def digest(X: NDArray[np.floating], y: NDArray[np.int64], n_jobs: int, chunk_rows: int, rounds: int) -> str:
    """Fit, save, and return the SHA-256 of the file."""
    from hedgerow import GradientBoostingClassifier
    from hedgerow.io import save

    model = GradientBoostingClassifier(n_estimators=rounds, subsample=0.8, random_state=0, n_jobs=n_jobs)
    model._chunk_rows = chunk_rows  # noqa: SLF001 - no parameter, since no result depends on it
    with tempfile.TemporaryDirectory(prefix="hedgerow-bits-") as folder:
        path = Path(folder) / "model.safetensors"
        save(model.fit(X, y), path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def measure(rows: int, columns: int, rounds: int) -> Digests:
    """Return the digests of all fits."""
    X, y = simulated(rows, columns)
    cells = list(itertools.product(THREADS, CHUNKS, DTYPES, ORDERS))
    digests = {}
    for n_jobs, chunk_rows, dtype, order in track(cells, description="fits", transient=True):
        values = np.asarray(X, dtype=dtype, order=order)
        digests[n_jobs, chunk_rows, dtype, order] = digest(values, y, n_jobs, chunk_rows, rounds)
    return digests


def show(digests: Digests, title: str, markdown: bool) -> None:
    """Print a line for each number of threads and chunk size, a column for each dtype and order."""
    header = ["threads", "chunk", *(f"{dtype}, {order}" for dtype in DTYPES for order in ORDERS)]
    lines = [
        [
            str(n_jobs),
            f"{chunk:,}",
            *(digests[n_jobs, chunk, dtype, order][:16] for dtype in DTYPES for order in ORDERS),
        ]
        for n_jobs in THREADS
        for chunk in CHUNKS
    ]
    if markdown:
        for line in (header, ["---"] * len(header), *lines):
            print("| " + " | ".join(line) + " |")
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i < 2 else "left", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    Console(width=100).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit in every way, print the digests, and return 0 if they are equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e5)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    options = parser.parse_args(arguments)
    rows = int(options.rows)
    digests = measure(rows, options.columns, options.rounds)
    title = f"SHA-256 of the model file: {rows:,} × {options.columns}, {options.rounds} rounds, 31 leaves"
    show(digests, title, options.markdown)
    found = set(digests.values())
    if len(found) > 1:
        print(f"NOT EQUAL: {len(found)} different files from {len(digests)} fits")
        return 1
    print(f"equal: {len(digests)} fits, one file, SHA-256 {found.pop()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
