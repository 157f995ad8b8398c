"""Time fits with the libraries of a platform wheel and with kernels compiled for this processor.

    make wheel
    python benchmarks/library_speed.py dist/hedgerow-0.1.0-py3-none-manylinux_2_17_x86_64.whl --threads 16

The wheel is unpacked, not installed: NumPy, scikit-learn, Numba and the other dependencies must be there. One
process for each build of the kernels fits every model once, so that nothing is loaded or compiled later; then
the processes take turns, one at a time. A cell shows the median over the turns of a library's time divided by
the time of the compiled kernels in the same turn, with the smallest and largest ratio. All builds must
predict the same bits.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

NATIVE = "jit"  # the value of HEDGEROW_KERNELS that compiles for this processor


def models(threads: int) -> dict[str, Any]:
    """Return the models by name."""
    import hedgerow as h

    common: dict[str, Any] = {"n_jobs": threads, "random_state": 0}
    return {
        "gradient boosting, 31 leaves": h.GradientBoostingClassifier(n_estimators=100, **common),
        "gradient boosting, 255 leaves": h.GradientBoostingClassifier(
            n_estimators=50, max_leaf_nodes=255, **common
        ),
        "AdaBoost, 200 stumps": h.AdaBoostClassifier(n_estimators=200, **common),
        "random forest, 50 trees": h.RandomForestClassifier(n_estimators=50, **common),
    }


def work(threads: int, n_rows: int) -> None:
    """Fit the models whose names are read; answer with the seconds and the checksum of predictions."""
    from hedgerow.kernels.native import code

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 28)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)
    known = models(threads)
    for line in sys.stdin:
        model = known[line.strip()]
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        digest = hashlib.sha256(np.ascontiguousarray(model.predict_proba(X[:2000])).tobytes()).hexdigest()
        source = code().library.level if code().library else NATIVE
        print(seconds, digest, source, flush=True)


class Build:
    """A process that fits with one build of the kernels."""

    def __init__(self, setting: str, folder: Path, arguments: list[str]) -> None:
        self.setting = setting
        environment = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "HEDGEROW_KERNELS": setting,
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fit(self, name: str) -> tuple[float, str]:
        """Fit a model; return the seconds and the checksum of its predictions."""
        to_process: Any = self.process.stdin
        from_process: Any = self.process.stdout
        to_process.write(name + "\n")
        to_process.flush()
        answer = from_process.readline().split()
        if len(answer) != 3 or answer[2] != self.setting:
            raise SystemExit(f"{name} with {self.setting}: {answer or 'the process ended'}")
        return float(answer[0]), answer[1]


def measure(builds: list[Build], rounds: int) -> None:
    """Print a table of the ratios, one row for each model."""
    libraries = [build.setting for build in builds if build.setting != NATIVE]
    print("| fit | compiled here | " + " | ".join(libraries) + " |")
    print("|---|---|" + "---|" * len(libraries))
    for name in models(1):
        if len({build.fit(name)[1] for build in builds}) != 1:
            raise SystemExit(f"{name}: the builds do not predict the same bits")
        turns: list[dict[str, float]] = []
        for turn in range(rounds):
            first = turn % len(builds)  # each build is first in some turns
            turns.append({b.setting: b.fit(name)[0] for b in [*builds[first:], *builds[:first]]})
        cells = [f"{statistics.median(turn[NATIVE] for turn in turns):.2f} s"]
        for library in libraries:
            ratios = [turn[library] / turn[NATIVE] for turn in turns]
            cells.append(f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, nargs="?", help="a wheel with compiled kernels")
    parser.add_argument("--levels", nargs="+", help="of the libraries; the two highest of this processor")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.threads, options.rows)
        return
    if options.wheel is None:
        parser.error("name a wheel")
    arguments = [f"--threads={options.threads}", f"--rows={options.rows}"]
    with tempfile.TemporaryDirectory(prefix="hedgerow-speed-") as temporary:
        folder = Path(temporary)
        with zipfile.ZipFile(options.wheel) as file:
            file.extractall(folder)
        sys.path.insert(0, temporary)
        from hedgerow.kernels.library import usable_levels

        levels = options.levels or usable_levels()[:2]
        builds = [Build(setting, folder, arguments) for setting in (NATIVE, *levels)]
        try:
            measure(builds, options.rounds)
        finally:
            for build in builds:
                build.process.kill()
                build.process.wait()


if __name__ == "__main__":
    main()
