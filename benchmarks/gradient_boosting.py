"""Gradient boosting compared with peers: time to fit and predict, accuracy, memory; one table per size.

Every library runs alone in a separate process, so that the peak memory is its own; repeats
alternate between the libraries, so that a slow minute of the machine affects all of them. Every repeat
has rows of its own (another seed of the simulation, another split). A table shows the best time and the
largest memory over the repeats, the mean of the test scores with its standard error, and the mean of their
differences to Hedgerow's on the same rows, with its standard error.

The parent process stays small, and a child makes the data: a system may count the memory of a
parent at the start of a child as memory of the child.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from measure import Job
from peers import LIBRARIES, Task

HERE = Path(__file__).parent
SMALL_ROWS = 100_000  # below: several fits per process, and only the first number of leaves
SMALL_FITS = 5
SCORES = ("auc", "accuracy", "log_loss")


@dataclass(frozen=True)
class Size:
    """One table: so many rows and leaves of one data set."""

    data: str
    rows: int
    test_rows: int
    leaves: int
    rounds: int
    threads: int

    @property
    def title(self) -> str:
        """Describe the table in one line."""
        rows = "all" if self.data == "covtype" and self.rows >= 464_809 else f"{self.rows:,}"
        return (
            f"{self.data}, {rows} training rows, {self.leaves} leaves, "
            f"{self.rounds} rounds, {self.threads} threads"
        )


Measurements = dict[str, dict[str, float | None]]  # library -> figures; {} when it could not run


def run_child(script: str | Path, arguments: Sequence[str], threads: int, limit: float | None = None) -> str:
    """Run a script of this folder in a new process, with all thread pools of one size; return its output."""
    pools = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / script), *arguments],
            env={**os.environ, **dict.fromkeys(pools, str(threads))},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {limit:.0f} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(lines[-1])
    return done.stdout


def make_data(size: Size, folder: str, seed: int) -> int:
    """Save the arrays of one size and return the number of classes."""
    options = ["--data", size.data, "--rows", str(size.rows), "--test-rows", str(size.test_rows)]
    options += ["--seed", str(seed)]
    run_child("data.py", [folder, *options], size.threads)
    return 7 if size.data == "covtype" else 2


def fill_kernel_cache(folder: str, task: Task, log: Console) -> None:
    """Compile the kernels of Hedgerow in a separate process, since it uses memory.

    `cold_start.py` measures the time of compiling.
    """
    job = Job("hedgerow", folder, replace(task, n_rounds=2))
    try:
        run_child("measure.py", [job.to_json()], task.threads)
    except RuntimeError as error:
        log.print(f"[red]{LIBRARIES['hedgerow'].name}: {error}")


def measure_all(size: Size, libraries: Sequence[str], repeats: int, log: Console) -> Measurements:
    """Measure every library on the rows of `repeats` seeds, alternately."""
    runs: dict[str, list[dict[str, float | None]]] = {name: [] for name in libraries}
    fits = SMALL_FITS if size.rows < SMALL_ROWS else 1
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder:
            n_classes = make_data(size, folder, repeat)
            task = Task(n_classes, size.rounds, size.leaves, size.threads)
            if "hedgerow" in libraries and repeat == 0:
                fill_kernel_cache(folder, task, log)
            for name in libraries:
                job = Job(name, folder, task, fits)
                try:
                    output = run_child("measure.py", [job.to_json()], size.threads)
                except RuntimeError as error:
                    log.print(f"[red]{LIBRARIES[name].name}: {error}")
                    continue
                figures = json.loads(output.splitlines()[-1])
                runs[name].append(figures)
                log.print(
                    f"[dim]{repeat + 1}/{repeats} {LIBRARIES[name].name}: "
                    f"fit {figures['fit_s']:.3f} s, peak {figures['peak_mb']:.0f} MB"
                )
    return {name: combined(figures, runs.get("hedgerow", [])) for name, figures in runs.items()}


def combined(
    runs: list[dict[str, float | None]], reference: list[dict[str, float | None]]
) -> dict[str, float | None]:
    """Combine repeats: the shortest times, the largest memory, the means of the scores and their errors."""
    if not runs:
        return {}
    figures = dict(runs[-1])
    for key in ("fit_s", "predict_s", "one_row_us"):
        figures[key] = min(run[key] for run in runs)
    for key in ("peak_mb", "extra_mb"):
        figures[key] = max(run[key] for run in runs)
    for key in SCORES:
        if figures[key] is None:
            continue
        scores = [run[key] for run in runs]
        figures[key], figures[f"{key}_error"] = statistics.mean(scores), standard_error(scores)
        if len(reference) == len(runs):
            gained = [run[key] - other[key] for run, other in zip(runs, reference, strict=True)]
            figures[f"{key}_gained"] = statistics.mean(gained)
            figures[f"{key}_gained_error"] = standard_error(gained)
    return figures


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean; infinite for one value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def mean_and_error(figures: dict[str, float | None], key: str, signed: bool = False, digits: int = 5) -> str:
    """Format a mean and its standard error; only the mean if there is one value."""
    if figures.get(key) is None:
        return "–"
    error = figures[f"{key}_error"]
    text = f"{figures[key]:{'+' if signed else ''}.{digits}f}"
    return text if math.isinf(error) else f"{text} ± {error:.{digits}f}"


def rows_of_table(measurements: Measurements) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells of one table."""
    binary = any(figures.get("auc") is not None for figures in measurements.values())
    scores = ["auc"] if binary else ["accuracy", "log_loss"]
    quality = ["test AUC"] if binary else ["test accuracy", "test log-loss"]
    quality.append(f"{quality[0].removeprefix('test ')} − Hedgerow's")
    header = ["", "fit s", "× Hedgerow", *quality, "peak MB", "extra MB", "predict s", "one row µs"]
    reference = measurements.get("hedgerow", {}).get("fit_s")
    cells = []
    for name, figures in measurements.items():
        if not figures:
            cells.append([LIBRARIES[name].name, "did not run", *[""] * (len(header) - 2)])
            continue
        ratio = f"{figures['fit_s'] / reference:.2f}" if reference else "–"
        cells.append(
            [
                LIBRARIES[name].name,
                f"{figures['fit_s']:.3f}",
                ratio,
                *[mean_and_error(figures, score) for score in scores],
                "" if name == "hedgerow" else mean_and_error(figures, f"{scores[0]}_gained", signed=True),
                f"{figures['peak_mb']:.0f}",
                f"{figures['extra_mb']:.0f}",
                f"{figures['predict_s']:.3f}",
                f"{figures['one_row_us']:.0f}",
            ]
        )
    return header, cells


def show(size: Size, measurements: Measurements, console: Console, markdown: bool) -> None:
    """Print one table and a comparison of Hedgerow with the fastest peer."""
    header, cells = rows_of_table(measurements)
    if markdown:
        console.print(f"\n**{size.title}**\n", markup=False)
        lines = [header, ["---"] * len(header), *cells]
        for line in lines:
            console.print("| " + " | ".join(line) + " |", markup=False, soft_wrap=True)
    else:
        table = Table(title=size.title, box=box.SIMPLE_HEAD, title_justify="left")
        for i, name in enumerate(header):
            table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
        for line in cells:
            table.add_row(*line)
        console.print(table)
    peers = {n: f["fit_s"] for n, f in measurements.items() if f and n != "hedgerow"}
    own = measurements.get("hedgerow", {}).get("fit_s")
    if peers and own:
        fastest = min(peers, key=peers.__getitem__)
        console.print(f"\nFastest peer: {LIBRARIES[fastest].name}, {peers[fastest] / own:.2f} × Hedgerow.")


def machine() -> str:
    """Name the processor and the versions measured."""
    packages = dict.fromkeys([library.package for library in LIBRARIES.values()])
    versions = []
    for package in [*packages, "numba", "numpy"]:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    info = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if info.exists():
        named = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = named[0].split(":")[1].strip() if named else model
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}; {', '.join(versions)}"


def numbers(text: str) -> list[int]:
    """Read a list such as `1e6,10000`."""
    return [int(float(part)) for part in text.split(",")]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="simulated", choices=["simulated", "covtype"])
    parser.add_argument("--rows", type=numbers, help="training rows (simulated: 1e6,1e4,500)")
    parser.add_argument("--test-rows", type=float, default=2e5)
    parser.add_argument("--leaves", type=numbers, help="large tables only (simulated: 31,255)")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5, help="seeds of the rows")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="names of libraries, in order")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", type=Path, help="also save all figures to this file")
    parser.add_argument("--quick", action="store_true", help="small tables, to check that everything runs")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.libraries.split(",") if name not in LIBRARIES]
    if unknown:
        parser.error(f"--libraries {','.join(unknown)}: choose from {', '.join(LIBRARIES)}")
    return options


def sizes(options: argparse.Namespace) -> list[Size]:
    """List the tables to make, large ones first."""
    covtype = options.data == "covtype"
    rows = options.rows or ([581_012] if covtype else [1_000_000, 10_000, 500])
    leaves = options.leaves or ([31] if covtype else [31, 255])
    size = Size(
        data=options.data,
        rows=0,
        test_rows=int(options.test_rows),
        leaves=leaves[0],
        rounds=options.rounds,
        threads=options.threads,
    )
    if options.quick:
        return [replace(size, rows=n, test_rows=20_000, rounds=20) for n in (20_000, 500)]
    return [
        replace(size, rows=n, leaves=k) for n in rows for k in (leaves if n >= SMALL_ROWS else leaves[:1])
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print all selected tables."""
    options = parse(arguments)
    libraries = options.libraries.split(",")
    wide = None if sys.stdout.isatty() else 160  # a file has no width
    console, log = Console(width=wide), Console(stderr=True, width=wide)
    console.print(machine(), markup=False, highlight=False)
    saved = []
    for size in sizes(options):
        log.print(size.title)
        measurements = measure_all(size, libraries, 1 if options.quick else options.repeat, log)
        show(size, measurements, console, options.markdown)
        saved.append({**asdict(size), "measurements": measurements})
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "sizes": saved}, indent=1))


if __name__ == "__main__":
    main()
