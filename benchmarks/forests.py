"""Random forests compared with peers: time to fit and predict, accuracy, log-loss, memory and model size.

Five tables, each followed by its targets:

- `simulated`: 100 trees on 100,000 × 30 of `data.simulated`, two classes and much noise;
- `covtype-100k` and `covtype`: 100 trees on the first 100,000 and on all training rows of Covertype, seven
  classes; both require the folder named by HEDGEROW_DATA;
- `memory`: 50 trees on 1,000,000 × 28 by scikit-learn and Hedgerow, for the memory of a large fit;
  scikit-learn takes several minutes;
- `regression`: 20 trees on 100,000 × 30 by scikit-learn and Hedgerow; every node searches all columns.

Every forest runs in a separate process; repeats alternate between the forests, but fits of more than a minute
are not repeated (a time is the best of the number in the column *fits*). A process imports its library, loads
the training rows, fits a few trees on some of them, so that nothing is compiled or loaded later, and records
its memory. Then it measures a fit. *Extra* is the peak of resident memory during the fit minus the memory
before it. *Model* is the size of the stored forest: a pickle for scikit-learn and Hedgerow, the own format of
other libraries. Log-loss raises probabilities to at least 0.001: a forest predicts zero if no tree predicts a
class, and a few such rows would dominate the mean.
"""

import argparse
import gc
import json
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from adaboost import Cells, Figures, show
from data import PARTS, Split, benchmark_split, simulated
from forest_peers import FORESTS, Forest, Task
from gradient_boosting import machine, run_child
from measure import PREDICT_REPEATS, best_of, peak_since_mb, quality, reset_peak, resident_mb

WARM_ROWS, WARM_TREES = 25_000, 4  # of the first fit: many rows and two threads use other kernels
SLOW_S = 60.0  # a fit that takes longer is not repeated
FLOOR = 1e-3  # smallest probability in the log-loss
FASTER, POINTS = 8.0, 0.003  # targets: times scikit-learn's speed, accuracy below the best

OURS, SKLEARN = "hedgerow", "sklearn"
PAIR = (OURS, SKLEARN)


@dataclass(frozen=True)
class Plan:
    """One table: the rows of one data set, the forests, and their number of trees."""

    data: str  # "simulated", "covtype" or "friedman"
    rows: int
    test_rows: int
    columns: int
    trees: int = 100
    forests: tuple[str, ...] = tuple(FORESTS)

    @property
    def task_is_regression(self) -> bool:
        """Whether y holds numbers."""
        return self.data == "friedman"


PLANS: dict[str, Plan] = {
    "simulated": Plan("simulated", 100_000, 100_000, 30),
    "covtype-100k": Plan("covtype", 100_000, 200_000, 54),
    "covtype": Plan("covtype", 464_809, 200_000, 54),
    "memory": Plan("simulated", 1_000_000, 100_000, 28, 50, PAIR),
    "regression": Plan("friedman", 100_000, 100_000, 30, 20, PAIR),
}


@dataclass(frozen=True)
class Job:
    """The work of a child process: save the data of a plan, compile kernels, or measure a forest."""

    what: str  # "data", "warm" or "measure"
    folder: str
    forest_name: str = OURS
    plan: dict[str, Any] | None = None  # for "data"
    n_classes: int = 0
    trees: int = 100
    threads: int = 2


# ------------------------------------------------------------------------------------ in a child process


def friedman(rows: int, columns: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Make Friedman's (1991) first function of five uniform columns, with normal noise of variance one.

    y = 10 sin(π a b) + 20 (c - 1/2)² + 10 d + 5 e + noise; the other columns do not matter.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, columns)).astype(np.float32)
    a, b, c, d, e = X.T[:5].astype(np.float64)
    y = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    return X, y + rng.normal(size=rows)


def table(plan: Plan) -> Split:
    """Make training and test rows; the test rows are the same for every number of training rows."""
    if plan.data == "covtype":
        X, y, X_test, y_test = benchmark_split("covtype", plan.rows, plan.test_rows)
        return X, y, X_test[: plan.test_rows], y_test[: plan.test_rows]
    make = friedman if plan.task_is_regression else simulated
    return (*make(plan.rows, plan.columns, seed=0), *make(plan.test_rows, plan.columns, seed=1))


def make_data(job: Job) -> Figures:
    """Save the arrays of a plan; return their sizes."""
    plan = Plan(**(job.plan or {}))
    parts = dict(zip(PARTS, table(plan), strict=True))
    for part, array in parts.items():
        np.save(Path(job.folder) / f"{part}.npy", np.ascontiguousarray(array))
    n_classes = 0 if plan.task_is_regression else int(parts["y_train"].max()) + 1
    return {"n_classes": n_classes, "rows": len(parts["y_train"]), "test_rows": len(parts["y_test"])}


def warm_up(job: Job, X: NDArray[np.float32], y: NDArray[Any]) -> None:
    """Grow a few trees on rows with every class, and predict these rows."""
    _, first = np.unique(y, return_index=True) if job.n_classes else (None, np.arange(1))
    rows = np.union1d(first, np.arange(min(WARM_ROWS, len(y))))
    forest = FORESTS[job.forest_name](Task(job.n_classes, min(WARM_TREES, job.trees), job.threads))
    forest.fit(X[rows], y[rows])
    forest.predict(X[rows])
    forest.predict(X[:1])


def scores(forest: Forest, X: NDArray[np.float32], y: NDArray[Any]) -> Figures:
    """Score predictions: accuracy and log-loss for classes, R² and root mean squared error for numbers."""
    predicted = forest.predict(X)
    if forest.task.n_classes:
        found = quality(np.clip(predicted, FLOOR, 1 - FLOOR), y)
        return {key: float(found[key] or 0.0) for key in ("accuracy", "log_loss")}
    error = float(np.mean((y - predicted) ** 2))
    return {"r2": 1 - error / float(np.var(y)), "rmse": math.sqrt(error)}


def measure(job: Job) -> Figures:
    """Fit the training rows once, then predict and score the test rows; warm-up jobs only compile."""
    folder = Path(job.folder)
    X, y = np.load(folder / "X_train.npy"), np.load(folder / "y_train.npy")
    forest = FORESTS[job.forest_name](Task(job.n_classes, job.trees, job.threads))
    warm_up(job, X, y)
    if job.what == "warm":
        return {}
    gc.collect()
    reset_peak()
    before = resident_mb()
    fit_s = best_of(1, forest.fit, X, y)
    extra = peak_since_mb() - before
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    return {
        "fit_s": fit_s,
        "predict_s": best_of(PREDICT_REPEATS, forest.predict, X_test),
        **scores(forest, X_test, y_test),
        "extra_mb": extra,
        "model_mb": forest.model_bytes() / 2**20,
    }


# ----------------------------------------------------------------------------------- in the parent process


def run(job: Job, limit: float) -> Figures:
    """Run a job in a new process with a limit of seconds."""
    output = run_child(__file__, ["--child", json.dumps(asdict(job))], job.threads, limit)
    figures: Figures = json.loads(output.splitlines()[-1])
    return figures


def best(runs: Sequence[Figures]) -> Figures:
    """Combine repeats: the shortest times, the largest memory; the rest is equal."""
    combined = dict(runs[-1])
    combined.update({key: min(run[key] for run in runs) for key in ("fit_s", "predict_s")})
    combined["extra_mb"] = max(run["extra_mb"] for run in runs)
    combined["fits"] = float(len(runs))
    return combined


def measure_all(plan: Plan, options: argparse.Namespace, log: Console) -> tuple[Figures, dict[str, Figures]]:
    """Measure the forests of a plan alternately; return the sizes of the data and the measurements."""
    runs: dict[str, list[Figures]] = {name: [] for name in plan.forests}
    failed: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder:
        sizes = run(Job("data", folder, plan=asdict(plan), threads=options.threads), options.limit)
        job = Job("measure", folder, OURS, None, int(sizes["n_classes"]), plan.trees, options.threads)
        # Compile kernels in separate processes: it uses memory.
        jobs = [replace(job, what="warm", forest_name=name) for name in plan.forests if FORESTS[name].ours]
        jobs += [replace(job, forest_name=name) for _ in range(options.fits) for name in plan.forests]
        for job in jobs:
            done = runs[job.forest_name]
            if job.forest_name in failed or (done and done[0]["fit_s"] > SLOW_S):
                continue
            try:
                figures = run(job, options.limit)
            except RuntimeError as error:
                log.print(f"{FORESTS[job.forest_name].name}: {error}", style="red", markup=False)
                failed.add(job.forest_name)
                continue
            if job.what == "measure":
                done.append(figures)
                text = f"fit {figures['fit_s']:.3f} s, extra {figures['extra_mb']:.0f} MB"
                log.print(f"{FORESTS[job.forest_name].name}: {text}", style="dim")
    return sizes, {name: best(figures) if figures else {} for name, figures in runs.items()}


# ---------------------------------------------------------------------------------------- output


def table_cells(measured: dict[str, Figures]) -> tuple[list[str], Cells]:
    """Return header and cells of one table."""
    numbers = any("r2" in figures for figures in measured.values())
    kinds = {"r2": "test R²", "rmse": "RMSE"} if numbers else {"accuracy": "accuracy", "log_loss": "log-loss"}
    header = ["", "fit s", "× Hedgerow", "predict s", "× Hedgerow", *kinds.values()]
    header += ["extra MB", "model MB", "fits"]
    own = measured.get(OURS) or {}
    cells = []
    for name, figures in measured.items():
        if not figures:
            cells.append([FORESTS[name].name, "did not run", *[""] * (len(header) - 2)])
            continue
        line = [FORESTS[name].name]
        for key in ("fit_s", "predict_s"):
            line += [f"{figures[key]:.3f}", f"{figures[key] / own[key]:.2f}" if own else "–"]
        line += [f"{figures[kind]:.4f}" for kind in kinds]
        cells.append(
            [*line, f"{figures['extra_mb']:.0f}", f"{figures['model_mb']:.1f}", f"{figures['fits']:.0f}"]
        )
    return header, cells


def verdict(met: bool) -> str:
    """Describe whether a target is met."""
    return "met" if met else "MISSED"


def compare_sklearn(measured: dict[str, Figures], memory: bool) -> Cells:
    """Compare Hedgerow with the same forest of scikit-learn; `memory` adds the target of memory."""
    cells = []
    for ours, theirs, kind in ((OURS, SKLEARN, ""), ("hedgerow-extra", "sklearn-extra", "ExtraTrees: ")):
        own, other = measured.get(ours), measured.get(theirs)
        if not own or not other:
            continue
        ratio = other["fit_s"] / own["fit_s"]
        text = [f"{ratio:.1f}", f"{FASTER:.0f}", verdict(ratio >= FASTER)]
        cells.append([f"{kind}fit, times faster than scikit-learn", *text])
        aims = [("model_mb", "size of the model"), *([("extra_mb", "memory of the fit")] if memory else [])]
        for key, what in aims:
            text = [f"{own[key]:.1f} MB", f"< {other[key]:.1f} MB", verdict(own[key] < other[key])]
            cells.append([f"{kind}{what}, below scikit-learn's", *text])
    return cells


def compare_peers(measured: dict[str, Figures], test_rows: int) -> Cells:
    """Compare accuracy and speed of Hedgerow with the best peers.

    Speed is compared with all peers, and with peers whose accuracy is at most `POINTS` below the best: a
    shallow forest may be fast and inaccurate.
    """
    own = measured.get(OURS) or {}
    peers = {name: f for name, f in measured.items() if f and not FORESTS[name].ours}
    score = "r2" if "r2" in own else "accuracy"
    if not own or not peers:
        return []
    top = max(peers, key=lambda name: peers[name][score])
    gap = own[score] - peers[top][score]
    text = f"{gap:+.4f}: {own[score]:.4f}, {FORESTS[top].name} {peers[top][score]:.4f}"
    if score == "accuracy":
        # An upper bound: the two are treated as independent, but err mostly on the same rows.
        error = math.sqrt(sum(p * (1 - p) / test_rows for p in (own[score], peers[top][score])))
        text += f", standard error below {error:.4f}"
    kind = "R²" if score == "r2" else score
    cells = [[f"{kind} compared with the best peer", text, f"≥ -{POINTS}", verdict(gap >= -POINTS)]]
    level = max(own[score], peers[top][score]) - POINTS
    accurate = {name: figures for name, figures in peers.items() if figures[score] >= level}
    groups = [(peers, "every peer"), (accurate, "every peer of this accuracy")]
    for key, what in (("fit_s", "fit"), ("predict_s", "predict")):
        for group, who in groups if len(peers) > 1 else groups[:1]:
            if not group:
                cells.append([f"{what}, times faster than {who}", "no such peer", "1", verdict(True)])
                continue
            quickest = min(group, key=lambda name: group[name][key])
            ratio = group[quickest][key] / own[key]
            text = f"{ratio:.2f}, {FORESTS[quickest].name}"
            cells.append([f"{what}, times faster than {who}", text, "1", verdict(ratio > 1)])
    return cells


def names(known: Sequence[str]) -> Any:
    """Return a parser of lists of these names."""

    def read(text: str) -> list[str]:
        found = [part.strip() for part in text.split(",") if part.strip()]
        if unknown := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(known)}")
        return found

    return read


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=names(list(PLANS)), default=list(PLANS), help=",".join(PLANS))
    parser.add_argument("--skip", type=names(list(FORESTS)), default=[], help=",".join(FORESTS))
    parser.add_argument("--fits", type=int, help="processes per forest, unless a fit takes a minute (3)")
    parser.add_argument("--trees", type=int, help="number of trees, instead of those of the tables")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=3600.0, help="limit of seconds per process")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", type=Path, help="also save all figures to this file")
    parser.add_argument("--quick", action="store_true", help="small tables, to check that everything runs")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.fits = options.fits or (1 if options.quick else 3)
    return options


def selected_plans(options: argparse.Namespace, console: Console) -> dict[str, Plan]:
    """Return the selected plans with the installed forests; print what is left out."""
    absent = [name for name, forest in FORESTS.items() if util.find_spec(forest.module.split(".")[0]) is None]
    out = {*absent, *options.skip}
    if absent:
        console.print(f"Not installed, so left out: {', '.join(FORESTS[name].name for name in absent)}.")
    plans = {}
    for key in options.tables:
        plan = PLANS[key]
        if plan.data == "covtype" and not os.environ.get("HEDGEROW_DATA"):
            console.print(f"Table {key} left out: it requires the folder named by HEDGEROW_DATA.")
            continue
        if options.quick:
            rows = {"memory": 50_000, "covtype": 20_000}.get(key, 10_000)
            plan = replace(plan, rows=rows, test_rows=10_000, trees=max(5, plan.trees // 5))
        forests = tuple(name for name in plan.forests if name not in out)
        plans[key] = replace(plan, trees=options.trees or plan.trees, forests=forests)
    return plans


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the selected tables, each with its targets."""
    options = parse(arguments)
    if options.child:
        job = Job(**json.loads(options.child))
        print(json.dumps(make_data(job) if job.what == "data" else measure(job)))
        return
    wide = None if sys.stdout.isatty() else 140  # a file has no width
    console, log = Console(width=wide), Console(stderr=True, width=wide)
    plans = selected_plans(options, console)
    ydf = f"ydf {metadata.version('ydf')}" if util.find_spec("ydf") else "ydf not installed"
    where = f"{machine()}, {ydf}"
    console.print(where, markup=False, highlight=False)
    saved = {}
    for key, plan in plans.items():
        log.print(f"{key}: {plan.rows:,} rows, {plan.trees} trees")
        sizes, measured = measure_all(plan, options, log)
        settings = f"{plan.trees} trees, {options.threads} threads, {sizes['test_rows']:,.0f} test rows"
        title = f"{key}: {sizes['rows']:,.0f} × {plan.columns}, {settings}"
        show(title, *table_cells(measured), console, options.markdown)
        aims = [
            *compare_sklearn(measured, key == "memory"),
            *compare_peers(measured, int(sizes["test_rows"])),
        ]
        small = " (defined for the full tables)" if options.quick or options.trees else ""
        if aims:
            header = ["", "measured", "target", ""]
            show(f"{key}: targets of Hedgerow's forest{small}", header, aims, console, options.markdown)
        else:
            console.print("No targets: Hedgerow or all its peers did not run.\n")
        saved[key] = {"settings": settings, "sizes": sizes, "measured": measured}
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "tables": saved}, indent=1))


if __name__ == "__main__":
    main()
