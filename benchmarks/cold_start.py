"""Cold start: what a newcomer waits for, in new environments with empty caches, beside other libraries.

    make wheel
    python benchmarks/cold_start.py dist/hedgerow-0.1.0-py3-none-manylinux_2_17_x86_64.whl
    python benchmarks/cold_start.py --checkout

The first form installs the wheel and each other library (with scikit-learn) into an environment of its own
and measures its size, the import, and import and first fit on breast cancer, in new processes, in turns.
The second form measures a checkout without compiled kernels: an empty cache, then a second process.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PEERS = {"scikit-learn": [], "LightGBM": ["lightgbm"], "XGBoost": ["xgboost-cpu"]}
IMPORTS = {
    "Hedgerow": "hedgerow",
    "scikit-learn": "sklearn.ensemble",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
}
FITS = {
    # 100 rounds of one model, as the defaults of the others
    ("Hedgerow", "gradient boosting"): (
        "from functools import partial; from hedgerow import GradientBoostingClassifier; "
        "M = partial(GradientBoostingClassifier, n_estimators=100)"
    ),
    ("Hedgerow", "gradient boosting, default"): "from hedgerow import GradientBoostingClassifier as M",
    ("Hedgerow", "AdaBoost"): "from hedgerow import AdaBoostClassifier as M",
    ("Hedgerow", "random forest"): "from hedgerow import RandomForestClassifier as M",
    ("scikit-learn", "gradient boosting"): "from sklearn.ensemble import HistGradientBoostingClassifier as M",
    ("scikit-learn", "AdaBoost"): "from sklearn.ensemble import AdaBoostClassifier as M",
    ("scikit-learn", "random forest"): "from sklearn.ensemble import RandomForestClassifier as M",
    ("LightGBM", "gradient boosting"): "from lightgbm import LGBMClassifier as M",
    ("XGBoost", "gradient boosting"): "from xgboost import XGBClassifier as M",
}
FAMILIES = ("gradient boosting", "gradient boosting, default", "AdaBoost", "random forest")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")


def save_data(folder: Path) -> None:
    """Write breast cancer as arrays and as a CSV file, so that no measured process imports a data set."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    table = np.column_stack([X, y])
    names = ",".join([*(f"x{i}" for i in range(X.shape[1])), "label"])
    np.savetxt(folder / "table.csv", table, delimiter=",", header=names, comments="", fmt="%.10g")


def seconds_of(command: Sequence[str | Path], folder: Path, cache: Path) -> float:
    """Run a new process and return its time, start and end of the interpreter included."""
    start = time.perf_counter()
    environment = {**os.environ, "HEDGEROW_CACHE": str(cache)}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.perf_counter() - start


def fit_code(line: str) -> str:
    """Return the program that imports a model and fits it."""
    return f"import numpy as np; {line}; M().fit(np.load('X.npy'), np.load('y.npy'))"


def make_environment(folder: Path, packages: list[str]) -> Path:
    """Create an environment; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, *PIP, *packages], check=True)
    # A package is compiled to bytecode by pip; the interpreter's own modules are warmed here.
    subprocess.run([python, "-c", "import numpy, sklearn"], check=True)
    return python


def size_of(python: Path) -> float:
    """Return the size of installed packages in MB, without pip and setuptools."""
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    tools = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence")
    files = (path for path in site.rglob("*") if path.is_file())
    return sum(p.stat().st_size for p in files if not p.relative_to(site).parts[0].startswith(tools)) / 1e6


def measure_wheel(wheel: Path, repeats: int) -> dict[str, Any]:
    """Measure the wheel and the other libraries; they take turns."""
    with tempfile.TemporaryDirectory(prefix="hedgerow-cold-") as temporary:
        folder = Path(temporary)
        save_data(folder)
        pythons = {
            name: make_environment(folder / name, [*packages, "scikit-learn"])
            for name, packages in PEERS.items()
        }
        pythons["Hedgerow"] = make_environment(folder / "Hedgerow", [str(wheel)])
        sizes = {name: size_of(python) for name, python in pythons.items()}
        programs: dict[tuple[str, str], str] = {
            (name, "import"): f"import {IMPORTS[name]}" for name in pythons
        }
        programs |= {key: fit_code(line) for key, line in FITS.items()}
        times: dict[tuple[str, str], list[float]] = {key: [] for key in programs}
        for _ in range(repeats):
            for (name, what), program in programs.items():
                cache = folder / "cache"
                times[name, what].append(seconds_of([pythons[name], "-c", program], folder, cache))
        train = measure_train(pythons["Hedgerow"], wheel, folder)
        compiled = (folder / "cache").exists()
    return {"sizes": sizes, "times": times, "train": train, "compiled": compiled}


def measure_train(python: Path, wheel: Path, folder: Path) -> float:
    """Return the seconds of `hedgerow train` with report, with the extra `cli`."""
    subprocess.run([python, *PIP, f"{wheel}[cli]"], check=True)
    train = ("train", "table.csv", "--target", "label", "--budget", "5", "--report", "report.html")
    command = [python.parent / "hedgerow", *train]
    return seconds_of(command, folder, folder / "cache")


def show_wheel(found: dict[str, Any]) -> None:
    """Print the tables in Markdown."""
    times, sizes = found["times"], found["sizes"]
    whats = ("import", *FAMILIES)
    print("| | installed | import | import + first fit: " + " | ".join(FAMILIES) + " |")
    print("|---|---|" + "---|" * len(whats))
    for name in ("Hedgerow", *PEERS):
        cells = []
        for what in whats:
            values = times.get((name, what))
            spread = f" ({min(values):.2f}–{max(values):.2f})" if values else ""
            cells.append(f"{statistics.median(values):.2f} s{spread}" if values else "")
        print(f"| {name} | {sizes[name]:.0f} MB | " + " | ".join(cells) + " |")
    extra = sizes["Hedgerow"] - sizes["scikit-learn"]
    ours, theirs = (
        statistics.median(times[name, "gradient boosting"]) for name in ("Hedgerow", "scikit-learn")
    )
    print(f"\nimport + first fit over scikit-learn's: {ours / theirs:.2f} (target 1.3)")
    print(f"beyond scikit-learn and its dependencies: {extra:.1f} MB (target 20)")
    print(f"hedgerow train --budget 5 --report: {found['train']:.1f} s (target 12)")
    print(f"compiled anything: {'yes' if found['compiled'] else 'no'}")


def measure_checkout() -> None:
    """Print the first fits of a checkout, with an empty cache and again."""
    with tempfile.TemporaryDirectory(prefix="hedgerow-cold-") as temporary:
        folder = Path(temporary)
        save_data(folder)
        steps: dict[str, Callable[[], list[str | Path]]] = {
            f"first fit of {family}": lambda line=FITS["Hedgerow", family]: [
                sys.executable,
                "-c",
                fit_code(line),
            ]
            for family in FAMILIES
        }
        steps["hedgerow warmup"] = lambda: [Path(sys.executable).parent / "hedgerow", "warmup"]
        for what, command in steps.items():
            cold = seconds_of(command(), folder, folder / what)
            again = seconds_of(command(), folder, folder / what)
            print(f"{what}: {cold:.1f} s with an empty cache, then {again:.2f} s")
            shutil.rmtree(folder / what)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, nargs="?", help="a wheel with compiled kernels")
    parser.add_argument("--checkout", action="store_true", help="measure this checkout instead")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the times to a file")
    options = parser.parse_args()
    if options.checkout:
        measure_checkout()
        return
    if options.wheel is None:
        parser.error("name a wheel, or --checkout")
    found = measure_wheel(options.wheel.resolve(), options.repeat)
    show_wheel(found)
    if options.json:
        plain = {f"{name}, {what}": values for (name, what), values in found["times"].items()}
        options.json.write_text(json.dumps({**found, "times": plain}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
