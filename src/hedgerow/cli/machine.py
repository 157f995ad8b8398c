"""`hedgerow warmup` and `hedgerow info`: the machine, and the kernels compiled for it."""

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import pyarrow as pa

import hedgerow
from hedgerow.binning import EDGE_SAMPLE_ROWS
from hedgerow.cli import options
from hedgerow.cli.output import Output, format_duration
from hedgerow.selection import AUTO, METHODS, make_model
from hedgerow.theory import certify
from hedgerow.threads import resolve_n_jobs
from hedgerow.vision import CascadeTrainer, load_cascade

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "narwhals", "matplotlib", "rich", "typer")
OPTIONAL = ("pandas", "polars", "dmba", "scikit-image")


def warmup(as_json: options.AsJson = False) -> None:
    """Compile the kernels of every method, so that the first fit is fast."""
    output = Output(as_json)
    jobs = _jobs()
    times: dict[str, float] = {}
    with output.progress("compiling") as progress:
        for number, (name, job) in enumerate(jobs.items()):
            progress(number, len(jobs), name)
            start = time.perf_counter()
            job()
            times[name] = time.perf_counter() - start
    output.table(["", "time"], [[name, format_duration(value)] for name, value in times.items()])
    output.text(f"compiled in {format_duration(sum(times.values()))}; cached in {cache_folder()}")
    output.result({"seconds": times, "cache": str(cache_folder())})


def _jobs() -> dict[str, Callable[[], Any]]:
    """Return small fits and predictions that use every kernel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    two, three, number = (X[:, 0] > 0).astype(np.int64), np.digitize(X[:, 0], (-0.5, 0.5)), X[:, 0] + X[:, 1]
    targets = {"two classes": two, "three classes": three, "numbers": number}

    def fit(method: str, y: np.ndarray[Any, Any], task: str) -> Callable[[], Any]:
        return lambda: make_model(method, task, random_state=0).fit(X, y).predict(X)

    jobs: dict[str, Callable[[], Any]] = {}
    for method, described in METHODS.items():
        for name, y in targets.items():
            task = "regression" if name == "numbers" else "classification"
            n_classes = None if task == "regression" else len(np.unique(y))
            if method == "linear":  # scikit-learn's: nothing to compile
                continue
            if described.reason_against(task, n_classes) is None:
                jobs[f"{described.title_for(task)}, {name}"] = fit(method, y, task)
    jobs["tables with categories"] = lambda: _fit_frame(rng, X, two)
    jobs["certificates"] = lambda: _certify(X, two)
    many = rng.standard_normal((EDGE_SAMPLE_ROWS + 1, 1))  # for more rows, bin edges come from a sample
    jobs["many rows"] = lambda: make_model("gradient", "regression", n_estimators=2).fit(many, many[:, 0])
    image = rng.integers(0, 256, (80, 80)).astype(np.uint8)
    jobs["cascades, detecting"] = lambda: load_cascade("frontalface").detect(image)
    jobs["cascades, training"] = lambda: _train_cascade(rng)
    return jobs


def _fit_frame(rng: np.random.Generator, X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    """Fit columns of several types and a category, as `train` does."""
    names = pa.array(rng.choice(["a", "b", "c"], len(X))).dictionary_encode()
    table = pa.table({"number": X[:, 0], "narrow": X[:, 1].astype(np.float32), "name": names})
    for method in AUTO:
        make_model(method, "classification", n_estimators=2).fit(table, y).predict_proba(table)


def _certify(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    for method in AUTO:
        certify(make_model(method, "classification", n_estimators=2).fit(X[:200], y[:200]), X[200:], y[200:])


def _train_cascade(rng: np.random.Generator) -> None:
    objects = rng.integers(60, 120, (60, 12, 12)).astype(np.uint8)
    objects[:, 5:7, 1:11] += 100
    images = [rng.integers(0, 256, (60, 60)).astype(np.uint8) for _ in range(10)]
    CascadeTrainer((12, 12), n_stages=1, n_negatives=100, max_features=500, random_state=0, verbose=0).fit(
        objects, images
    )


def cache_folder() -> Path:
    """Return the folder of compiled kernels."""
    settings: Any = numba.config  # its attributes are created at import
    return Path(settings.CACHE_DIR or Path(hedgerow.__file__).parent / "kernels" / "cpu" / "__pycache__")


def info(as_json: options.AsJson = False) -> None:
    """Show versions, the processor, threads and the kernel cache."""
    output = Output(as_json)
    versions = {name: _version(name) for name in (*PACKAGES, *OPTIONAL)}
    folder = cache_folder()
    compiled = sum(1 for _ in folder.rglob("*.nbc")) if folder.is_dir() else 0
    found = {
        "hedgerow": hedgerow.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": str(llvm.get_host_cpu_name()),
        "threads": str(resolve_n_jobs(None)),
        "kernel cache": f"{folder} ({compiled} compiled functions)" if compiled else f"{folder} (empty)",
    }
    output.table(["", "value"], list(found.items()), left=(0, 1))
    rows = [[name, value or "not installed"] for name, value in versions.items()]
    output.table(["package", "version"], rows, left=(0, 1))
    if not compiled:
        output.text("The first fit compiles its kernels, 10 to 30 seconds; `hedgerow warmup` compiles all.")
    output.result({**found, "threads": resolve_n_jobs(None), "packages": versions, "cores": os.cpu_count()})


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
