"""`hedgerow warmup` and `hedgerow info`: the machine, and the kernels compiled for it."""

import importlib.metadata
import os
import platform
import sys
import time

import hedgerow
from hedgerow.cli.commands import Info, Warmup
from hedgerow.cli.output import Output, format_duration
from hedgerow.kernels.library import usable_levels
from hedgerow.kernels.native import code
from hedgerow.threads import resolve_n_jobs

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "narwhals", "matplotlib", "rich", "typer")
OPTIONAL = ("numba", "pandas", "polars", "dmba", "scikit-image")


def warmup(command: Warmup) -> None:
    """Compile the kernels of every method, so that the first fit is fast."""
    output, start = Output(command.as_json), time.perf_counter()
    n_compiled = code().compile_listed()
    seconds = time.perf_counter() - start
    if n_compiled:
        output.text(f"{n_compiled} kernels compiled in {format_duration(seconds)}")
    else:
        output.text("nothing to compile")
    output.text(f"kernels: {code().describe()}")
    output.result({"compiled": n_compiled, "seconds": seconds, "kernels": code().describe()})


def info(command: Info) -> None:
    """Show versions, the processor, threads and the kernel cache."""
    output = Output(command.as_json)
    versions = {name: _version(name) for name in (*PACKAGES, *OPTIONAL)}
    found = {
        "hedgerow": hedgerow.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": ", ".join(usable_levels()) or platform.processor(),
        "threads": str(resolve_n_jobs(None)),
        "kernels": code().describe(),
    }
    output.table(["", "value"], list(found.items()), left=(0, 1))
    rows = [[name, value or "not installed"] for name, value in versions.items()]
    output.table(["package", "version"], rows, left=(0, 1))
    output.result({**found, "threads": resolve_n_jobs(None), "packages": versions, "cores": os.cpu_count()})


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
