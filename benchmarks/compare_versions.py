"""Time the same fits with two checkouts of the library, in alternating processes, and print the ratios.

    git worktree add ../before COMMIT
    python benchmarks/compare_versions.py ../before . --threads 2 --rounds 5

Each process loads one checkout, runs every fit once to compile and load its kernels, and then times it; the
checkouts take turns, so that both share a slow minute. A line shows the median time of both, their ratio
(second over first), and the smallest and largest ratio over the turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def work(threads: int, scale: float) -> dict[str, Callable[[], Any]]:
    """Return the timed calls by name."""
    import hedgerow as h

    rng = np.random.default_rng(0)
    n, m = int(1_000_000 * scale), int(100_000 * scale)
    X = rng.normal(size=(n, 28)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) > 0).astype(int)
    few = np.ascontiguousarray(X[:m], np.float64)
    common: dict[str, Any] = {"n_jobs": threads, "random_state": 0}
    boosted = h.GradientBoostingClassifier(n_estimators=20, **common).fit(X[:m], y[:m])
    forest = h.RandomForestClassifier(n_estimators=20, **common).fit(few, y[:m])
    stumps = h.AdaBoostClassifier(n_estimators=50, **common).fit(few, y[:m])
    deep = h.GradientBoostingClassifier(n_estimators=20, max_leaf_nodes=255, **common)
    numbers = h.GradientBoostingRegressor(loss="absolute_error", n_estimators=20, **common)
    return {
        f"gradient boosting fit, {n:,} rows, 31 leaves": lambda: h.GradientBoostingClassifier(
            n_estimators=50, **common
        ).fit(X, y),
        f"gradient boosting fit, {n:,} rows, 255 leaves": lambda: deep.fit(X, y),
        "gradient boosting fit, 500 rows": lambda: h.GradientBoostingClassifier(**common).fit(
            X[:500], y[:500]
        ),
        f"gradient boosting fit, {m:,} rows, absolute error": lambda: numbers.fit(few, few[:, 0]),
        f"AdaBoost fit, {m:,} rows, 100 stumps": lambda: h.AdaBoostClassifier(n_estimators=100, **common).fit(
            few, y[:m]
        ),
        f"AdaBoost.R2 fit, {m:,} rows": lambda: h.AdaBoostRegressor(n_estimators=10, **common).fit(
            few, few[:, 0] + few[:, 1]
        ),
        f"random forest fit, {m:,} rows, 50 trees": lambda: h.RandomForestClassifier(
            n_estimators=50, **common
        ).fit(few, y[:m]),
        "bagging fit, 5,000 rows": lambda: h.BaggingClassifier(n_estimators=10, **common).fit(
            few[:5000], y[:5000]
        ),
        f"gradient boosting predict, {m:,} rows": lambda: boosted.predict_proba(few),
        "gradient boosting predict, one row": lambda: [boosted.predict(few[:1]) for _ in range(200)],
        f"AdaBoost predict, {m:,} rows": lambda: stumps.predict(few),
        f"random forest predict, {m:,} rows": lambda: forest.predict(few),
    }


def measure(threads: int, scale: float) -> None:
    """Run every call twice, time the second run, and print the seconds as JSON."""
    seconds = {}
    for name, call in work(threads, scale).items():
        call()
        best = []
        for _ in range(2):
            start = time.perf_counter()
            call()
            best.append(time.perf_counter() - start)
        seconds[name] = min(best)
    print(json.dumps(seconds))


def main() -> None:
    """Let both checkouts take turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, help="two folders with src/hedgerow")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each checkout")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.threads, options.scale)
        return
    if len(options.checkouts) != 2:
        parser.error("pass two checkouts")
    found: list[list[dict[str, float]]] = [[], []]
    command = [
        sys.executable,
        __file__,
        "--measure",
        f"--threads={options.threads}",
        f"--scale={options.scale}",
    ]
    for _ in range(options.rounds):
        for runs, folder in zip(found, options.checkouts, strict=True):
            extra = os.environ.get("PYTHONPATH", "")
            environment = os.environ | {"PYTHONPATH": f"{folder.resolve() / 'src'}{os.pathsep}{extra}"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    print(f"{'call':52} {'first':>9} {'second':>9} {'ratio':>6}  smallest to largest")
    for name in found[0][0]:
        first, second = ([run[name] for run in runs] for runs in found)
        ratios = [b / a for a, b in zip(first, second, strict=True)]
        times = f"{statistics.median(first):8.4f}s {statistics.median(second):8.4f}s"
        middle = statistics.median(ratios)
        print(f"{name:52} {times} {middle:6.3f}  {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
