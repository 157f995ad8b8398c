"""Tables of the benchmarks: X is float32 (n_rows, n_columns), y int64 classes 0..K-1.

`simulated` makes its table from a seed, so that all machines use the same one. `covertype` and
`accidents` read files from the folder named by the environment variable HEDGEROW_DATA.

Run as a script it saves one benchmark's four arrays as .npy files: the processes that measure
memory then load only these arrays.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Table = tuple[NDArray[np.float32], NDArray[np.int64]]
Split = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]

PARTS = ("X_train", "y_train", "X_test", "y_test")

# Columns of the accident table that are only known after the outcome.
ACCIDENT_LEAKS = ("INJURY_CRASH", "NO_INJ_I", "PRPTYDMG_CRASH", "FATALITIES")


def simulated(n_rows: int, n_columns: int = 28, seed: int = 0) -> Table:
    """Make a binary problem of normal columns, nine of which matter, with logistic noise.

    The score is sin(2 a) + b c + |d| - e²/2 + f [g > 0] + tanh(h i)/2 over columns a..i, and
    y = [score + 0.7 logistic > 0]: nonlinear terms, steps and
    interactions; no column determines the class alone.
    """
    if n_columns < 9:
        raise ValueError(f"n_columns={n_columns}: the score uses nine columns, so it must be at least 9")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    a, b, c, d, e, f, g, h, i = X.T[:9]
    score = np.sin(2 * a) + b * c + np.abs(d) - 0.5 * e**2 + f * (g > 0) + 0.5 * np.tanh(h * i)
    y = score + 0.7 * rng.logistic(size=n_rows) > 0
    return X, y.astype(np.int64)


def data_folder() -> Path | None:
    """Return the folder named by HEDGEROW_DATA, or None when the variable is unset or empty."""
    name = os.environ.get("HEDGEROW_DATA", "")
    return Path(name) if name else None


def _file(name: str) -> Path:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"set HEDGEROW_DATA to the folder that holds {name}")
    path = folder / name
    if not path.exists():
        raise FileNotFoundError(f"HEDGEROW_DATA={folder} holds no {name}")
    return path


def covertype() -> Table:
    """Read Covertype: 581,012 forest cells, 54 columns, seven kinds of cover as classes 0..6."""
    import pyarrow.parquet as pq

    table = pq.read_table(_file("tabular/covtype.parquet"))
    names = [name for name in table.column_names if name != "Cover_Type"]
    X = np.column_stack([table[name].to_numpy().astype(np.float32) for name in names])
    return X, table["Cover_Type"].to_numpy().astype(np.int64) - 1


def accidents() -> Table:
    """Read 42,183 road accidents without the leaking columns; severity as classes 0..2."""
    import pandas as pd

    frame = pd.read_csv(_file("tabular/us_accidents.csv.gz"))
    y = frame["MAX_SEV_IR"].to_numpy().astype(np.int64)
    X = frame.drop(columns=["MAX_SEV_IR", *ACCIDENT_LEAKS]).to_numpy().astype(np.float32)
    return X, y


def split(table: Table, n_train: int, seed: int = 0) -> Split:
    """Shuffle the rows and cut them into the first `n_train` for training and the rest."""
    X, y = table
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def benchmark_split(name: str, n_train: int, n_test: int, seed: int = 0) -> Split:
    """Make the table of one benchmark, cut into training and test rows.

    The simulated test rows have their own seed, so they are the same for every `n_train`.
    Covertype is split 80/20 for any `n_train` and `n_test`, unless `n_train` is smaller.
    """
    if name == "simulated":
        return (*simulated(n_train, seed=2 * seed), *simulated(n_test, seed=2 * seed + 1))
    if name == "covtype":
        table = covertype()
        X, y, X_test, y_test = split(table, len(table[1]) * 4 // 5, seed)
        return X[:n_train], y[:n_train], X_test, y_test
    raise ValueError(f"name={name!r} is not one of 'simulated', 'covtype'")


def main(arguments: Sequence[str] | None = None) -> None:
    """Save X_train, y_train, X_test and y_test of one benchmark into a folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="simulated", choices=["simulated", "covtype"])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--test-rows", type=float, default=2e5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    parts = benchmark_split(options.data, int(options.rows), int(options.test_rows), options.seed)
    for part, array in zip(PARTS, parts, strict=True):
        np.save(options.folder / f"{part}.npy", np.ascontiguousarray(array))


if __name__ == "__main__":
    main()
