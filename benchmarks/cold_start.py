"""Cold start: seconds of the first import and the first fit, before and after kernels are cached.

Numba compiles a kernel at its first call and caches it on disk. Each run starts with an empty cache
folder: "first fit ever" is the time of a new user, and "second process" the time of later
processes. All times are measured in new processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

WARM_FITS = 30
ESTIMATORS = ("classifier", "regressor", "adaboost")


def child(estimator: str) -> dict[str, float]:
    """Time, in this process: the import, a first fit, and fits of 100 stumps once warm."""
    start = time.perf_counter()
    import hedgerow

    imported = time.perf_counter()
    from sklearn.datasets import load_breast_cancer, load_diabetes

    make = {
        "classifier": hedgerow.GradientBoostingClassifier,
        "regressor": hedgerow.GradientBoostingRegressor,
        "adaboost": hedgerow.AdaBoostClassifier,
    }[estimator]
    load = load_diabetes if estimator == "regressor" else load_breast_cancer
    X, y = load(return_X_y=True)
    before = time.perf_counter()
    make(random_state=0).fit(X, y)
    first = time.perf_counter()
    one_split = {} if estimator == "adaboost" else {"max_leaf_nodes": 2}
    stumps = make(n_estimators=100, random_state=0, **one_split)
    stumps.fit(X, y)
    times = []
    for _ in range(WARM_FITS):
        begin = time.perf_counter()
        stumps.fit(X, y)
        times.append(time.perf_counter() - begin)
    return {
        "import": imported - start,
        "first_fit": first - before,
        "stumps": min(times),
        "stumps_median": statistics.median(times),
    }


def run_child(estimator: str, cache: str) -> dict[str, float]:
    """Run `child` in a new process whose compiled kernels are in the folder `cache`."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", "--estimator", estimator],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(estimator: str, repeats: int) -> list[tuple[str, float, float | None]]:
    """Return rows (what, seconds, target in seconds); the best of `repeats` empty caches."""
    colds, laters = [], []
    for _ in track(range(repeats), description="empty cache, then a second process", transient=True):
        with tempfile.TemporaryDirectory(prefix="hedgerow-cold-") as cache:
            colds.append(run_child(estimator, cache))
            laters.append(run_child(estimator, cache))
    cold_fit = min(run["first_fit"] for run in colds)
    later = min(laters, key=lambda run: run["import"] + run["first_fit"])
    stumps = min(run["stumps"] for run in laters)
    median = min(run["stumps_median"] for run in laters)
    return [
        ("first process: import", min(run["import"] for run in colds), None),
        ("first process: first fit ever, compiling", cold_fit, 20.0),
        ("second process: import", later["import"], None),
        ("second process: first fit", later["first_fit"], None),
        ("second process: import and first fit", later["import"] + later["first_fit"], 1.5),
        ("warm: 100 stumps, best", stumps, 0.010),
        ("warm: 100 stumps, median", median, None),
    ]


def duration(seconds: float) -> str:
    """Write seconds in s, or in ms when they are few."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"


def show(rows: list[tuple[str, float, float | None]], title: str, markdown: bool) -> None:
    """Print the table."""
    cells = []
    for what, seconds, target in rows:
        if target is None:
            cells.append((what, duration(seconds), "", ""))
        else:
            verdict = "met" if seconds <= target else "missed"
            cells.append((what, duration(seconds), duration(target), verdict))
    header = ("", "time", "target", "")
    if markdown:
        for line in (header, ("---",) * 4, *cells):
            print("| " + " | ".join(line) + " |")
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i in {0, 3} else "right")
    for line in cells:
        table.add_row(*line)
    Console().print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one estimator's cold start and print it beside the targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimator", default="classifier", choices=ESTIMATORS)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(child(options.estimator)))
        return
    data = "diabetes" if options.estimator == "regressor" else "breast cancer"
    rows = measure(options.estimator, options.repeat)
    show(rows, f"Cold start of the {options.estimator} on {data}", options.markdown)


if __name__ == "__main__":
    main()
