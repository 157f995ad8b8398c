"""AdaBoost compared with scikit-learn: time to fit and predict, accuracy, log-loss and memory.

Three tables with targets:

- 100 stumps on 100,000 × 30: scikit-learn, and Hedgerow's AdaBoost with several update rules and LogitBoost;
- 100 stumps on breast cancer, fitted many times in one warm process;
- 100 stumps on 1,000,000 × 30: only Hedgerow, since scikit-learn would take about ten minutes.

The simulated table is `hedgerow.datasets.make_gaussian`: ten of thirty normal columns matter, five by their
value and five by their square, in a sum. A sum of stumps, which use one column each, can represent it, but
not with few stumps: a square takes many steps, and no column determines the class alone. Columns are float64
with distinct values, the hardest case for a learner that sorts.

Every method runs in a separate process; repeats alternate between the methods. A process imports its library,
loads the training rows, fits once on a few of them, so that nothing is compiled or loaded later, and records
its memory. Then it measures fits. *Extra* is the peak of resident memory during the first of these fits minus
the memory before it. The parent process stays small: it imports neither library.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from gradient_boosting import machine, numbers, run_child
from measure import PREDICT_REPEATS, best_of, peak_since_mb, quality, reset_peak, resident_mb

N_COLUMNS = 30
WARM_ROWS = 70_000  # of the first fit of Hedgerow, before timing: many rows and two threads use other kernels
PEER_WARM_ROWS = 1000
PEER_ROWS = 200_000  # limit for scikit-learn
FASTER, FASTER_CANCER = 100.0, 30.0  # targets

Figures = dict[str, float]
Cells = list[list[str]]


@dataclass(frozen=True)
class Method:
    """A classifier to measure; `make` receives the numbers of rounds and threads."""

    name: str
    make: Callable[[int, int], Any]
    code_bytes: int = 0  # of a binned value; 0 for methods without bins


def peer(rounds: int, _threads: int) -> Any:
    """Make the classifier of scikit-learn, which uses one thread."""
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(n_estimators=rounds)


def ours(algorithm: str = "discrete", **stump: Any) -> Callable[[int, int], Any]:
    """Return a function that makes Hedgerow's AdaBoost with default stumps or with these parameters."""

    def make(rounds: int, threads: int) -> Any:
        from hedgerow import AdaBoostClassifier, DecisionStump

        learner = DecisionStump(**stump) if stump else None
        return AdaBoostClassifier(learner, n_estimators=rounds, algorithm=algorithm, n_jobs=threads)

    return make


def logit(rounds: int, threads: int) -> Any:
    """Make Hedgerow's LogitBoost."""
    from hedgerow import LogitBoostClassifier

    return LogitBoostClassifier(n_estimators=rounds, n_jobs=threads)


PEER, OURS, EXACT = "peer", "ours", "exact"
METHODS: dict[str, Method] = {
    PEER: Method("scikit-learn AdaBoost", peer),
    OURS: Method("Hedgerow AdaBoost", ours(), 1),
    EXACT: Method("Hedgerow, 65,535 bins", ours(max_bins=65_535), 2),
    # scikit-learn's stumps split by the Gini index between all distinct values: the nearest to its model.
    "gini": Method("Hedgerow, Gini, 65,535 bins", ours(criterion="gini", max_bins=65_535), 2),
    "real": Method("Hedgerow, real", ours("real"), 1),
    "gentle": Method("Hedgerow, gentle", ours("gentle"), 1),
    "logit": Method("Hedgerow LogitBoost", logit, 1),
}


@dataclass(frozen=True)
class Job:
    """The work of a child process: make the data, or measure a method on it or on breast cancer."""

    what: str  # "data", "table" or "cancer"
    method: str = OURS
    folder: str = ""
    rows: int = 0
    test_rows: int = 0
    rounds: int = 100
    threads: int = 2
    fits: int = 1


# ------------------------------------------------------------------------------------ in a child process


def make_data(job: Job) -> Figures:
    """Save training and test rows; the test rows are the same for every number of training rows."""
    from hedgerow.datasets import make_gaussian

    for part, rows, seed in (("train", job.rows, 0), ("test", job.test_rows, 1)):
        X, y = make_gaussian(rows, N_COLUMNS, random_state=seed)
        np.save(Path(job.folder) / f"X_{part}.npy", X)
        np.save(Path(job.folder) / f"y_{part}.npy", (y > 0).astype(np.int64))
    return {}


def measure_table(job: Job) -> Figures:
    """Fit the training rows, then score the test rows."""
    model = METHODS[job.method].make(job.rounds, job.threads)
    folder = Path(job.folder)
    X, y = np.load(folder / "X_train.npy"), np.load(folder / "y_train.npy")
    warm = WARM_ROWS if METHODS[job.method].code_bytes else PEER_WARM_ROWS
    model.fit(X[:warm], y[:warm]).predict_proba(X[:warm])
    reset_peak()
    before = resident_mb()
    first_s = best_of(1, model.fit, X, y)
    extra = peak_since_mb() - before
    more_s = [best_of(1, model.fit, X, y) for _ in range(job.fits - 1)]
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    scores = quality(model.predict_proba(X_test), y_test)
    return {
        "fit_s": min([first_s, *more_s]),
        "extra_mb": extra,
        "input_mb": X.nbytes / 2**20,
        "codes_mb": X.size * METHODS[job.method].code_bytes / 2**20,
        "predict_s": best_of(PREDICT_REPEATS, model.predict_proba, X_test),
        "accuracy": float(scores["accuracy"] or 0.0),
        "log_loss": float(scores["log_loss"] or 0.0),
        "fits": float(job.fits),
    }


def measure_cancer(job: Job) -> Figures:
    """Fit breast cancer many times after a first fit."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    model = METHODS[job.method].make(job.rounds, job.threads)
    model.fit(X, y)
    times = []
    for _ in range(job.fits):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    return {"fit_s": min(times), "median_s": statistics.median(times), "fits": float(job.fits)}


WORK: dict[str, Callable[[Job], Figures]] = {
    "data": make_data,
    "table": measure_table,
    "cancer": measure_cancer,
}


# ----------------------------------------------------------------------------------- in the parent process


def run(job: Job) -> Figures:
    """Run a job in a new process."""
    try:
        output = run_child(__file__, ["--child", json.dumps(asdict(job))], job.threads)
    except RuntimeError as error:
        raise RuntimeError(f"{METHODS[job.method].name}: {error}") from error
    figures: Figures = json.loads(output.splitlines()[-1])
    return figures


def best(runs: Sequence[Figures]) -> Figures:
    """Combine repeats: the shortest times, the largest memory, the number of all fits; the rest is equal."""
    combined = dict(runs[-1])
    combined.update({key: min(run[key] for run in runs) for key in ("fit_s", "predict_s")})
    combined["extra_mb"] = max(run["extra_mb"] for run in runs)
    combined["fits"] = sum(run["fits"] for run in runs)
    return combined


def measure_all(job: Job, names: Sequence[str], repeats: int, log: Console) -> dict[str, Figures]:
    """Measure methods on one simulated table; scikit-learn, which is slow, once."""
    runs: dict[str, list[Figures]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder:
        for rows, test_rows in ((WARM_ROWS, WARM_ROWS), (job.rows, job.test_rows)):
            run(Job("data", folder=folder, rows=rows, test_rows=test_rows))
            if rows == WARM_ROWS:  # compile kernels in separate processes: it uses memory
                for name in names:
                    if name != PEER:
                        run(Job("table", name, folder, rounds=2, threads=job.threads))
        for repeat in range(repeats):
            for name in names:
                if name == PEER and repeat > 0:
                    continue
                fits = 1 if name == PEER else job.fits
                fields = {**asdict(job), "method": name, "folder": folder, "fits": fits}
                figures = run(Job(**fields))
                runs[name].append(figures)
                log.print(
                    f"[dim]{METHODS[name].name}: fit {figures['fit_s']:.3f} s, "
                    f"extra {figures['extra_mb']:.1f} MB"
                )
    return {name: best(figures) for name, figures in runs.items()}


# ---------------------------------------------------------------------------------------- output


def speed_cells(measured: dict[str, Figures]) -> tuple[list[str], Cells]:
    """Return header and cells of times, quality and memory."""
    header = ["", "fit s", "× faster", "test accuracy", "test log-loss", "predict ms", "extra MB", "fits"]
    slow = measured.get(PEER, {}).get("fit_s")
    cells = [
        [
            METHODS[name].name,
            f"{figures['fit_s']:.3f}",
            f"{slow / figures['fit_s']:.1f}" if slow else "–",
            f"{figures['accuracy']:.4f}",
            f"{figures['log_loss']:.4f}",
            f"{1000 * figures['predict_s']:.1f}",
            f"{figures['extra_mb']:.1f}",
            f"{figures['fits']:.0f}",
        ]
        for name, figures in measured.items()
    ]
    return header, cells


def memory_and_limit(figures: Figures) -> tuple[float, float]:
    """Return input + extra and the target that it stays below, input + 2 × codes, in MB."""
    return figures["input_mb"] + figures["extra_mb"], figures["input_mb"] + 2 * figures["codes_mb"]


def memory_cells(measured: dict[str, Figures]) -> tuple[list[str], Cells]:
    """Return header and cells of the memory of the data; the limit is input + 2 × codes."""
    header = ["", "input MB", "codes MB", "extra MB", "input + extra", "input + 2 × codes", ""]
    cells = []
    for name, figures in measured.items():
        if not figures["codes_mb"]:
            continue
        memory, limit = memory_and_limit(figures)
        columns = (figures["input_mb"], figures["codes_mb"], figures["extra_mb"], memory, limit)
        cells.append([METHODS[name].name, *(f"{mb:.1f}" for mb in columns), verdict(memory < limit)])
    return header, cells


def cancer_cells(measured: dict[str, Figures]) -> tuple[list[str], Cells]:
    """Return header and cells of the warm fits of breast cancer."""
    header = ["", "best ms", "× faster", "median ms", "× faster", "fits"]
    slow = measured[PEER]
    cells = [
        [
            METHODS[name].name,
            f"{1000 * figures['fit_s']:.1f}",
            f"{slow['fit_s'] / figures['fit_s']:.1f}",
            f"{1000 * figures['median_s']:.1f}",
            f"{slow['median_s'] / figures['median_s']:.1f}",
            f"{figures['fits']:.0f}",
        ]
        for name, figures in measured.items()
    ]
    return header, cells


def target_cells(tables: dict[str, dict[str, Figures]], test_rows: int, cancer: dict[str, Figures]) -> Cells:
    """Return measurements of Hedgerow's defaults, the targets, and whether they are met."""
    cells = []
    for title, measured in tables.items():
        fast = measured[OURS]
        if slow := measured.get(PEER):
            ratio = slow["fit_s"] / fast["fit_s"]
            gain = fast["accuracy"] - slow["accuracy"]
            error = sum(run["accuracy"] * (1 - run["accuracy"]) / test_rows for run in (slow, fast)) ** 0.5
            cells.append(
                [f"{title}: times faster", f"{ratio:.1f}", f"{FASTER:.0f}", verdict(ratio >= FASTER)]
            )
            text = f"{gain:+.4f}, standard error below {error:.4f}"
            cells.append([f"{title}: accuracy gained", text, "0", verdict(gain >= 0)])
        memory, limit = memory_and_limit(fast)
        cells.append([f"{title}: MB for data", f"{memory:.1f}", f"< {limit:.1f}", verdict(memory < limit)])
    for key, name in (("fit_s", "best"), ("median_s", "median")):
        ratio = cancer[PEER][key] / cancer[OURS][key]
        met = verdict(ratio >= FASTER_CANCER)
        cells.append([f"breast cancer: times faster, {name}", f"{ratio:.1f}", f"{FASTER_CANCER:.0f}", met])
    return cells


def verdict(met: bool) -> str:
    """Describe whether a target is met."""
    return "met" if met else "missed"


def show(title: str, header: Sequence[str], cells: Cells, console: Console, markdown: bool) -> None:
    """Print one table."""
    if markdown:
        console.print(f"\n**{title}**\n", markup=False)
        for line in (header, ["---"] * len(header), *cells):
            console.print("| " + " | ".join(line) + " |", markup=False, soft_wrap=True)
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for line in cells:
        table.add_row(*line)
    console.print(table)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=numbers, help=f"numbers of rows (1e5,1e6); above {PEER_ROWS:,} only Hedgerow"
    )
    parser.add_argument("--test-rows", type=float, default=5e4)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2, help="processes per method; one for scikit-learn")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", type=Path, help="also save all figures to this file")
    parser.add_argument("--quick", action="store_true", help="small tables, to check that everything runs")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rows, options.test_rows, options.rounds = options.rows or [5_000, 210_000], 5_000, 20
        options.repeat = 1
    options.rows = options.rows or [100_000, 1_000_000]
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables and the targets."""
    options = parse(arguments)
    if options.child:
        job = Job(**json.loads(options.child))
        print(json.dumps(WORK[job.what](job)))
        return
    wide = None if sys.stdout.isatty() else 140  # a file has no width
    console, log = Console(width=wide), Console(stderr=True, width=wide)
    console.print(machine(), markup=False, highlight=False)
    settings = f"{options.rounds} stumps, {options.threads} threads"
    common = {"rounds": options.rounds, "threads": options.threads}
    cancer = {
        name: run(Job("cancer", name, fits=fits // (10 if options.quick else 1), **common))
        for name, fits in ((PEER, 30), (OURS, 300), (EXACT, 300))
    }
    tables: dict[str, dict[str, Figures]] = {}
    for rows in options.rows:
        title = f"{rows:,} × {N_COLUMNS}"
        log.print(title)
        job = Job("table", rows=rows, test_rows=int(options.test_rows), fits=3, **common)
        names = list(METHODS) if rows <= PEER_ROWS else [OURS]
        measured = tables[title] = measure_all(job, names, options.repeat, log)
        show(f"{title}, {settings}", *speed_cells(measured), console, options.markdown)
        show(f"{title}: memory", *memory_cells(measured), console, options.markdown)
        if PEER not in measured:
            console.print("Only Hedgerow: scikit-learn would take about ten minutes for a million rows.\n")
    show(f"breast cancer, {settings}, warm", *cancer_cells(cancer), console, options.markdown)
    aims = target_cells(tables, int(options.test_rows), cancer)
    small = " (meant for 100,000 and more rows and 100 stumps)" if options.quick else ""
    header = ["", "measured", "target", ""]
    show(f"Targets of Hedgerow AdaBoost{small}", header, aims, console, options.markdown)
    if options.json:
        saved = {"machine": machine(), "settings": settings, "tables": tables, "breast cancer": cancer}
        options.json.write_text(json.dumps(saved, indent=1))


if __name__ == "__main__":
    main()
