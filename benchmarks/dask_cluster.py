"""Gradient boosting on a local Dask cluster beside xgboost.dask and lightgbm.dask, in one run.

Every library fits the same Dask Array, whose blocks are on the workers already, with 100 rounds, 31 leaves
grown best first, a learning rate of 0.1 and 255 bins. Hedgerow is also timed in one process with as many
threads as there are workers, from the same rows in memory: the difference is the overhead of the cluster. All
fit once on few rows before. Repeats alternate between the libraries, and the best of each counts. Exit code 1
if a model of Hedgerow differs by a byte from the one that was fitted in memory.

    python benchmarks/dask_cluster.py                                    2,000,000 x 28, 2 workers
    python benchmarks/dask_cluster.py --workers 1,2,4,8 --only hedgerow  several sizes
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import hedgerow
from data import simulated

ROUNDS, LEAVES, RATE, BINS = 100, 31, 0.1, 255
WARM_ROWS = 8_000

Predict = Callable[[NDArray[Any]], NDArray[Any]]
Fit = Callable[[Any, Any], Predict]


def fit_hedgerow(models: dict[str, Any], key: str, n_jobs: int | None) -> Fit:
    """Hedgerow; the model is stored in `models`."""

    def fit(X: Any, y: Any) -> Predict:
        models[key] = hedgerow.GradientBoostingClassifier(
            n_estimators=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, max_bins=BINS,
            early_stopping=False, n_jobs=n_jobs, random_state=0,
        ).fit(X, y)  # fmt: skip
        return lambda rows: models[key].predict_proba(rows)[:, 1]

    return fit


def fit_xgboost(client: Any) -> Fit:
    """xgboost.dask, histograms and best-first growth."""
    from xgboost import dask as dxgb

    params = {
        "objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0,
        "max_leaves": LEAVES, "learning_rate": RATE, "max_bin": BINS,
    }  # fmt: skip

    def fit(X: Any, y: Any) -> Predict:
        made = dxgb.train(client, params, dxgb.DaskQuantileDMatrix(client, X, y, max_bin=BINS), ROUNDS)
        return lambda rows: np.asarray(made["booster"].inplace_predict(rows))

    return fit


def fit_lightgbm(client: Any) -> Fit:
    """lightgbm.dask, data parallel."""
    import lightgbm

    def fit(X: Any, y: Any) -> Predict:
        model = lightgbm.DaskLGBMClassifier(
            client=client, n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=RATE, max_bin=BINS,
            tree_learner="data", verbose=-1,
        ).fit(X, y)  # fmt: skip
        local = model.to_local()
        return lambda rows: np.asarray(local.predict_proba(rows))[:, 1]

    return fit


def checksum(model: Any) -> str:
    """Of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        hedgerow.save(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def measure(name: str, fit: Fit, rows: tuple[Any, Any], test: tuple[NDArray[Any], NDArray[Any]]) -> float:
    """Seconds of one fit; prints them with the area under its curve."""
    began = time.perf_counter()
    predict = fit(*rows)
    seconds = time.perf_counter() - began
    auc = float(roc_auc_score(test[1], predict(test[0])))
    print(f"  {name:<34} {seconds:8.2f} s   AUC {auc:.4f}", flush=True)
    return seconds


def run(n_rows: int, n_workers: int, repeats: int, *, peers: bool) -> dict[str, Any]:
    """Time all libraries on a cluster of so many workers of one thread."""
    from distributed import Client, LocalCluster

    X, y = simulated(n_rows + 100_000)
    test, here = (X[n_rows:], y[n_rows:]), (X[:n_rows], y[:n_rows])
    models: dict[str, Any] = {}
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        there, few = (on_workers(client, *(one[:n] for one in here), n_workers) for n in (n_rows, WARM_ROWS))
        fits: dict[str, tuple[Fit, Any]] = {
            f"Hedgerow, one process, {n_workers} threads": (fit_hedgerow(models, "here", n_workers), here),
            f"Hedgerow, Dask, {n_workers} workers": (fit_hedgerow(models, "there", None), there),
        }
        if peers:
            fits[f"xgboost.dask, {n_workers} workers"] = fit_xgboost(client), there
            fits[f"lightgbm.dask, {n_workers} workers"] = fit_lightgbm(client), there
        for fit, rows in fits.values():  # compile and load before anything is timed
            fit(*(few if rows is there else (one[:WARM_ROWS] for one in here)))
        times: dict[str, list[float]] = {name: [] for name in fits}
        for _ in range(repeats):
            for name, (fit, rows) in fits.items():
                times[name].append(measure(name, fit, rows, test))
    sums = {key: checksum(model) for key, model in models.items()}
    return {"times": {name: min(values) for name, values in times.items()}, "checksums": sums}


def on_workers(client: Any, X: NDArray[Any], y: NDArray[Any], n_workers: int) -> tuple[Any, Any]:
    """The rows as persisted Dask Arrays, two blocks per worker."""
    import dask.array as da
    from distributed import wait

    size = -(-len(X) // (2 * n_workers))
    made = client.persist([da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)])
    wait(made)
    return made[0], made[1]


def show(found: dict[str, Any]) -> bool:
    """Print the table; whether all models of Hedgerow are the same."""
    times = found["times"]
    one_process, cluster, *others = times
    print("\n| library | seconds | relative to Hedgerow on Dask |\n|---|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds:.2f} | {seconds / times[cluster]:.2f} |")
    print(f"\noverhead of the cluster over one process: {times[cluster] / times[one_process]:.2f}")
    if others:
        fastest = min(times[one] for one in others)
        print(f"the faster peer, relative to Hedgerow on Dask: {fastest / times[cluster]:.2f}")
    same = len(set(found["checksums"].values())) == 1
    print(f"models of Hedgerow the same to the byte: {same}")
    return same


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--workers", default="2", help="numbers of workers, with commas between")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["hedgerow"])
    parser.add_argument("--json", type=Path, help="file for the measurements")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # of peers and Dask, about sizes and ports
    found = {}
    for n_workers in map(int, options.workers.split(",")):
        print(f"\n{int(options.rows):,} x 28, {n_workers} workers of one thread")
        found[n_workers] = run(int(options.rows), n_workers, options.repeats, peers=options.only is None)
    same = [show(one) for one in found.values()]
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
